"""Noisy samples of a plan, drawn and added by the mechanism itself, in one process or in several.

Totals are lifted once for all samples; noise is drawn, added and read anew for each. The noise of draws that share it,
and of tables, is read by a matrix: the mechanism's own reading of one unit of each noise at a time, which is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import get_context
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gaussmith import mechanism
from gaussmith.numerics.linear import Array, Bordered, Dense, Diagonal
from gaussmith.plans import Plan
from gaussmith.plans.draw import AnyTie, Draw
from gaussmith.plans.lending import number_unit
from gaussmith.plans.tie import Tie

if TYPE_CHECKING:
    from gaussmith.engines.engine import Totals

BLOCK = 20_000
NUMBERS = 1_000_000
"""Samples, and numbers of them, that are drawn at once."""

QUICK = (Diagonal, Bordered, Dense)
"""Matrices by which features of many releases are read together."""


@dataclass(frozen=True)
class Noise:
    """One noise of a plan: that of one group of a draw, or one that several draws share, by its place among the ties.

    `read` names the features that are read of it, as (draw, group) and in this order.
    """

    read: tuple[tuple[int, int], ...]
    tie: int | None = None


def tied_noise(plan: Plan, at: int) -> Noise:
    """The noise of a tie, read by all groups of its members and by those that take the number of people from it."""
    tie = plan.ties[at]
    own = [(i, g) for i in tie.members for g in range(plan.draws[i].size)]
    return Noise((*own, *((i, 0) for i in tie.lent_to)), at)


def width_of(plan: Plan, noise: Noise) -> int:
    """How many numbers are read of it."""
    return sum(int(plan.draws[i].block.shape.features.shape[0]) for i, _ in noise.read)


@dataclass(eq=False)
class Sampler:
    """Samples of the noises of a plan on the exact totals of one or several tables, of each draw those of its groups.

    With several processes it has to be closed: `with Sampler(…) as sampler`.
    """

    plan: Plan
    tables: Sequence[Sequence[Sequence[Totals]]] = field(repr=False)
    processes: int = 1

    def blocks(self, noise: Noise, times: int, table: int = 0) -> Iterator[Array]:
        """The noisy features of so many releases, one per row, in blocks."""
        size = max(1, min(BLOCK, NUMBERS // max(1, width_of(self.plan, noise))))
        sizes = [min(size, times - at) for at in range(0, times, size)]
        if self.processes <= 1 or times < 2 * size:
            for each in sizes:
                yield self.take(noise, each, table)
            return
        waiting = [self._pool.submit(_take, noise, each, table) for each in sizes[: 2 * self.processes]]
        for each in [*sizes[len(waiting) :], *[0] * len(waiting)]:
            made = waiting.pop(0).result()
            if each:
                waiting.append(self._pool.submit(_take, noise, each, table))
            yield made

    def sample(self, noise: Noise, times: int, table: int = 0) -> Array:
        """The same at once."""
        return np.concatenate(list(self.blocks(noise, times, table)))

    def take(self, noise: Noise, times: int, table: int = 0) -> Array:
        """So many samples, in this process."""
        if noise.tie is not None:
            tie = self.plan.ties[noise.tie]
            return self._reader(noise, table, lambda: read_tie(self.plan, tie, self.tables[table]))(times)
        ((i, group),) = noise.read
        draw, totals = self.plan.draws[i], self.tables[table][i][group]
        if not isinstance(draw.block.shape.features, QUICK):
            return self._reader(noise, table, lambda: read_draw(draw, totals))(times)
        return mechanism.sample_draw(draw, totals, times)

    def _reader(self, noise: Noise, table: int, make: Callable[[], Callable[[int], Array]]) -> Callable[[int], Array]:
        if (noise, table) not in self._readers:
            self._readers[noise, table] = make()
        return self._readers[noise, table]

    @cached_property
    def _readers(self) -> dict[tuple[Noise, int], Callable[[int], Array]]:
        return {}

    @cached_property
    def _pool(self) -> ProcessPoolExecutor:
        told = self.plan.to_json(), self.tables
        return ProcessPoolExecutor(self.processes, get_context("spawn"), initializer=_begin, initargs=told)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if "_pool" in self.__dict__:
            self._pool.shutdown(cancel_futures=True)
            del self.__dict__["_pool"]


_OWN: list[Sampler] = []
"""The sampler of a process that draws for another."""


def _begin(text: str, tables: Any) -> None:
    _OWN[:] = [Sampler(Plan.from_json(text), tables)]


def _take(noise: Noise, times: int, table: int) -> Array:
    return _OWN[0].take(noise, times, table)


def read_tie(plan: Plan, tie: AnyTie, totals: Sequence[Sequence[Totals]]) -> Callable[[int], Array]:
    """A function that draws so many samples of a shared noise: all features of its members, then of its borrowers."""
    draws = [plan.draws[i] for i in tie.members]
    lifted = mechanism.lift_members(tie, [(draw, totals[i]) for i, draw in zip(tie.members, draws, strict=True)])
    units = np.eye(len(lifted))
    rows = np.array([np.concatenate([each.ravel() for each in tie.features(draws, unit)]) for unit in units])
    lent = []
    if isinstance(tie, Tie) and tie.borrowers:
        assert tie.people is not None
        numbers = np.array([tie.number(unit) for unit in units])
        everybody = totals[tie.members[tie.people]][0].records
        for i in tie.borrowers:
            block = plan.draws[i].block
            own = mechanism.lift_centred(plan.draws[i], totals[i][0], everybody)
            matrix = block.shape.features.dense()
            lent.append((own, block.grid.scale, matrix[:, :-1], np.outer(numbers, matrix[:, -1] * number_unit(block))))

    def draw(times: int) -> Array:
        shared = mechanism.sample_lifted(lifted, tie.grid[1], times)
        found = [shared @ rows]
        for own, scale, matrix, people in lent:
            found.append(mechanism.sample_lifted(own, scale, times) @ matrix.T + shared @ people)
        return np.hstack(found)

    return draw


def read_draw(draw: Draw, totals: Totals) -> Callable[[int], Array]:
    """The same for a draw whose features are read one release at a time, which takes long."""
    block = draw.block
    lifted = block.grid.lifted(block.codes, totals.sums, totals.records)
    units = np.eye(len(lifted))
    rows = np.array([block.shape.features.times(unit) for unit in units])
    public = block.public_count and not draw.hides_membership and block.shape.public is not None
    constant = totals.records * block.shape.public if public else 0.0  # type: ignore[operator]
    return lambda times: np.asarray(mechanism.sample_lifted(lifted, block.grid.scale, times) @ rows + constant)


def release_often(
    plan: Plan, totals: Sequence[Sequence[Totals]], times: int, read: Callable[[Any], dict[int, Array]]
) -> list[dict[int, Array]]:
    """What `read` keeps of the noisy features in so many releases, each along the whole path from sums to a release."""
    return [read(mechanism.release_totals(plan, totals).noisy) for _ in range(times)]
