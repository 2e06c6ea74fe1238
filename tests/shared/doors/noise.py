"""The one place that touches the inside of Gaussmith: noise is set to one standard deviation and read back.

Every coordinate gets noise of one standard deviation (and a distinct small number more). What reaches the sums is
measured, so that noise that is scaled down, left out or used twice is noticed too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaussmith import mechanism
from gaussmith.domains.groups import FoundGroups
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.discovered_groups import threshold_of
from gaussmith.totals.cell_counts import FoundCells
from gaussmith.totals.found_keys import codes_of, keys_of
from gaussmith.totals.people import FoundPeople

SMALL_BITS = 20
"""The distinct numbers stay below 2^SMALL_BITS; a standard deviation is read without these bits."""


@dataclass(frozen=True)
class Query:
    """One addition of noise: the exact integers below it, and the noise that reached them."""

    lifted: tuple[int, ...]
    noise: tuple[int, ...]

    @property
    def deviation(self) -> int:
        """The smallest standard deviation of a coordinate, in grid units."""
        return min((abs(z) for z in self.noise), default=0) >> SMALL_BITS << SMALL_BITS


@dataclass(frozen=True)
class FoundDraw:
    """A draw over found keys: all integers of every key that noise is added to, whether it is shown or not."""

    by_key: Mapping[tuple[Any, ...], tuple[int, ...]]
    deviation: int
    lifted: tuple[int, ...] = ()
    """None that all neighbours have: keys come and go."""
    noise: tuple[int, ...] = ()


def found_draws(prepared: mechanism.Prepared) -> list[FoundDraw]:
    """Of each draw over found keys what one release adds noise to: features, people and spare number of every key."""
    made = []
    for draw, opened in zip(prepared.plan.queries, prepared.sources, strict=True):
        if not isinstance(draw.groups, FoundGroups):
            continue
        threshold, own = threshold_of(draw), opened.summation
        added = replace(own.cells.added, features=()) if isinstance(own, FoundCells) else own.added
        derivation = own.cells.derivation if isinstance(own, FoundCells) else own.derivation
        people = FoundPeople(added, derivation, own.keys, opened.rule.groups_per_unit)
        by_key: dict[tuple[Any, ...], tuple[int, ...]] = {}
        # One query after the other, as a release does: DuckDB closes what is open when the next one begins.
        for batch in list(people.stream(opened.source, () if threshold is None else threshold.spares, 1)):
            totals = own.shown(opened.source, opened.codes, codes_of(batch, own.keys))
            for key, n, spare, each in zip(keys_of(batch, own.keys), batch["n"], batch["s"], totals, strict=True):
                block = draw.block
                lifted = [int(y) for y in block.grid.lifted(block.codes, each.sums, each.records)]
                if threshold is not None:
                    assert lifted[-1] == threshold.people(n), "other people than were counted"
                    lifted.append(spare * (threshold.step if threshold.has_spare else 1))
                by_key[key] = tuple(lifted)
        made.append(FoundDraw(by_key, 1 << NOISE_BITS))
    return made


@contextmanager
def known_noise() -> Iterator[list[Query | FoundDraw]]:
    """Within it releases have known noise; the list fills with what was added, in order."""
    draws: list[Query | FoundDraw] = []
    drawn = [0]
    draw_integers, add = mechanism.normal_integers, mechanism.add
    release_with_keys, release_shown = mechanism._release_with_keys, mechanism._release_shown

    def one_deviation(size: int, bits: int) -> Any:
        first = drawn[0]
        drawn[0] += size
        return (1 << bits) + np.arange(first, first + size, dtype=np.int64)

    def watched(lifted: Any, noise: Any) -> Any:
        noisy = add(lifted, noise)
        exact = tuple(int(y) for y in lifted)
        draws.append(Query(exact, tuple(int(z) - y for z, y in zip(noisy, exact, strict=True))))
        return noisy

    def with_keys(prepared: Any, totals: Any) -> Any:
        draws.extend(found_draws(prepared))
        return release_with_keys(prepared, totals)

    def unwatched(*arguments: Any) -> Any:
        """Groups that are shown are among all keys: their integers were noted."""
        mechanism.add = add
        try:
            return release_shown(*arguments)
        finally:
            mechanism.add = watched

    mechanism.normal_integers, mechanism.add = one_deviation, watched  # type: ignore[assignment]
    mechanism._release_with_keys, mechanism._release_shown = with_keys, unwatched
    try:
        yield draws
    finally:
        mechanism.normal_integers, mechanism.add = draw_integers, add
        mechanism._release_with_keys, mechanism._release_shown = release_with_keys, release_shown
