"""White-box tests of a noise while it is drawn: looked at early, so that gross errors stop the drawing."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import get_context
from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from gaussmith import mechanism
from gaussmith.audit.bounds import scale_detected
from gaussmith.audit.verdict import EXACT, LOCK, SAMPLED, Attempt, shares
from gaussmith.numerics.exact import Array, Integers, Words
from gaussmith.numerics.matrices import Bordered, Dense, Diagonal
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.joint_noise import JointNoise
from gaussmith.planning.lending import number_unit
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import AnyTie, Query

if TYPE_CHECKING:
    from gaussmith.engines.engine import Totals


# White-box tests: errors in coordinates where the claim says "independent, standard normal", each test exact.
#
# Errors arrive in blocks, and only sums of them are kept, so that there may be any number of them. Every test gives a
# p-value with Bonferroni over the directions it looks at. Tests are two-sided: too much noise is no leak, but then
# stated errors are wrong.

MAX_DIRECTIONS = 64
"""Directions that pairs are tested of; more are tested alone."""

FORM = 1_000_000
"""Numbers of which the form is tested, the first ones: they are kept and sorted."""

CUTS = np.array([2.0, 3.0, 3.5, 4.0, 4.5, 5.0])
"""How far in the tails numbers are counted, in standard deviations: of 400,000 numbers 25 lie beyond 4."""

ROOM = 1e-3
"""How much noise, in units of the largest, may show where none was claimed: what rounding leaves."""


class Whitener:
    """The claimed covariance, as directions in which errors are independent and have variance 1."""

    def __init__(self, covariance: Array) -> None:
        sizes = np.sqrt(np.diag(covariance))
        self._silent = sizes == 0
        kept = ~self._silent
        self._sizes = sizes[kept]  # in their own units large answers would hide small ones from the eigenvectors
        values, vectors = np.linalg.eigh(covariance[np.ix_(kept, kept)] / np.outer(self._sizes, self._sizes))
        noisy = values > values.max(initial=0.0) * 1e-9
        self._still = vectors[:, ~noisy]
        self._rows = vectors[:, noisy] / np.sqrt(values[noisy])

    @property
    def directions(self) -> int:
        return int(self._rows.shape[1])

    def stray(self, errors: Array) -> str:
        """What was found where no noise was claimed; "" where nothing was."""
        if (errors[:, self._silent] != 0).any():
            return "noise where none was claimed"
        if np.abs(errors[:, ~self._silent] / self._sizes @ self._still).max(initial=0.0) > ROOM:
            return "noise in a direction that was claimed to have none"
        return ""

    def units(self, errors: Array) -> Array:
        """Errors in claimed units, one row per draw."""
        return np.asarray(errors[:, ~self._silent] / self._sizes @ self._rows)


@dataclass(eq=False)
class Tally:
    """What the tests need of errors in claimed units, added up."""

    directions: int
    draws: int = 0
    squares: Array = field(init=False)
    sums: Array = field(init=False)
    products: Array = field(init=False)
    pairs: int = 0
    paired: float = 0.0
    far: Array = field(init=False)
    kept: list[Array] = field(default_factory=list)
    """The first numbers, for their form."""

    def __post_init__(self) -> None:
        few = min(self.directions, MAX_DIRECTIONS)
        self.squares, self.sums = np.zeros(self.directions), np.zeros(self.directions)
        self.products = np.zeros((few, few))
        self.far = count_far(np.zeros(0))

    @classmethod
    def of(cls, units: Array) -> Tally:
        """Of errors that are all there."""
        tally = cls(units.shape[1])
        tally.see(units)
        return tally

    def see(self, units: Array) -> None:
        """Take in further draws."""
        self.draws += len(units)
        self.squares += (units * units).sum(axis=0)
        self.sums += units.sum(axis=0)
        few = units[:, :MAX_DIRECTIONS]
        self.products += few.T @ few
        half = len(units) // 2
        both = (units[0 : 2 * half : 2] + units[1 : 2 * half : 2]) / np.sqrt(2)
        self.pairs, self.paired = self.pairs + both.size, self.paired + float((both * both).sum())
        self.far += count_far(units)
        room = FORM - sum(map(len, self.kept))
        if room > 0:
            self.kept.append(units.ravel()[:room].copy())


def p_scale(tally: Tally) -> float:
    """All directions together: Σ‖u‖² is χ² with as many degrees as there are numbers."""
    return float(_two_sided(tally.squares.sum()[None], tally.draws * tally.directions)[0])


def p_directions(tally: Tally) -> float:
    """Every claimed eigendirection, each an exact χ²."""
    return float(tally.directions * _two_sided(tally.squares, tally.draws).min())


def p_correlations(tally: Tally) -> float:
    """The sum and the difference of every two directions, each an exact χ²: neither is larger than the other."""
    gram = tally.products
    if len(gram) < 2:
        return 1.0
    i, j = np.triu_indices(len(gram), 1)
    both = np.concatenate([(gram[i, i] + gram[j, j] + sign * 2 * gram[i, j]) / 2 for sign in (1.0, -1.0)])
    return float(_two_sided(both, tally.draws).min()) * len(both)


def p_mean(tally: Tally) -> float:
    """No bias: n‖mean‖² is χ² with k degrees."""
    from scipy.special import chdtrc

    return float(chdtrc(tally.directions, float((tally.sums**2).sum()) / tally.draws))


def p_fresh(tally: Tally) -> float:
    """Consecutive draws are independent: (u_i + u_{i+1})/√2 over disjoint pairs has variance 1, exactly."""
    return float(_two_sided(np.array([tally.paired]), tally.pairs)[0]) if tally.pairs else 1.0


def p_form(tally: Tally) -> float:
    """Normal: Kolmogorov–Smirnov on the first numbers, by Massart's bound 2 e^(−2 n D²), which never errs downward."""
    from scipy.special import ndtr

    x = np.sort(ndtr(np.concatenate(tally.kept)))
    n = len(x)
    steps = np.arange(n + 1) / n
    distance = max(float((steps[1:] - x).max()), float((x - steps[:-1]).max()))
    return min(1.0, 2.0 * float(np.exp(-2.0 * n * distance * distance)))


def p_far(tally: Tally) -> float:
    """How many numbers lie beyond 2 to 5 standard deviations, each an exact binomial."""
    return p_tails(tally.far, tally.draws * tally.directions)


TESTS = {
    "scale of all noise": p_scale,
    "scale in every direction": p_directions,
    "correlations": p_correlations,
    "bias": p_mean,
    "freshness": p_fresh,
    "form": p_form,
    "tails": p_far,
}


def count_far(numbers: Array) -> Array:
    """How many numbers lie above each cut, and how many below each negative one.

    >>> count_far(np.array([4.2, -3.2])).tolist()
    [[1.0, 1.0, 1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]]
    """
    sides = (side[side > CUTS[0]] for side in (numbers, -numbers))
    return np.array([[(side > cut).sum() for cut in CUTS] for side in sides], float)


def p_tails(far: Array, numbers: int) -> float:
    """The smallest p-value of the upper, the lower and both tails beyond every cut, with Bonferroni over them."""
    from scipy.special import bdtr, bdtrc, ndtr

    counts, chances = np.vstack([far, far.sum(axis=0)]), ndtr(-CUTS) * np.array([[1.0], [1.0], [2.0]])
    above = np.where(counts > 0, bdtrc(counts - 1, numbers, chances), 1.0)
    return min(1.0, float(np.minimum(bdtr(counts, numbers, chances), above).min()) * 2 * counts.size)


def _two_sided(squares: Array, degrees: float) -> Array:
    from scipy.special import chdtr, chdtrc

    return np.asarray(2 * np.minimum(chdtr(degrees, squares), chdtrc(degrees, squares)))


EARLY = (0.01, 0.1)
"""The parts of the draws after which all tests are made; then once more at the end."""

WEIGHTS = (1.0, 1.0, 8.0)
"""How the error probability is split over the looks: the early ones stop gross errors alone."""


def check_noise(
    name: str, errors: Iterable[Array], covariance: Array, error: float, draws: int,
    report: Callable[[float], None] | None = None,
) -> Attempt:  # fmt: skip
    """All tests of errors that arrive in blocks, so many draws in all; stops where an early look refutes the claim.

    Every look has its own share of the error probability, so however often it looks, a true claim is refuted with
    probability at most `error`.
    """
    whitener = Whitener(covariance)
    k = whitener.directions
    looks = [*(max(200, int(draws * part)) for part in EARLY), draws]
    limits = [share / len(TESTS) for share in shares(error, WEIGHTS)]
    tally = Tally(k)
    at = 0
    for block in errors:
        if stray := whitener.stray(block):
            return Attempt(name, EXACT, True, stray, samples=tally.draws + len(block))
        if not k:
            return Attempt(name, EXACT, False, "nothing here has noise, and nothing is claimed to")
        tally.see(whitener.units(block))
        if report is not None:
            report(min(1.0, tally.draws / draws))
        passed = bisect_right(looks[:-1], tally.draws)
        if at < passed and tally.draws < draws:
            found = _look(name, tally, limits[at], error)
            if found.refutes:
                return found
            at = passed
    return _look(name, tally, limits[-1], error)


def _look(name: str, tally: Tally, limit: float, error: float) -> Attempt:
    values = {test: p(tally) for test, p in TESTS.items()}
    n, k, least = tally.draws, tally.directions, min(values.values())
    wrong = [f"{test} (p={p:.2g})" for test, p in values.items() if p < limit]
    if wrong:
        said = f"{n:,} draws contradict the claimed covariance: {', '.join(wrong)}"
        return Attempt(name, SAMPLED, True, said, limit, least, error, n)
    said = f"{n:,} draws of {k} directions agree with the claimed covariance (smallest p={least:.2g})"
    detects = f"noise {100 * scale_detected(n, k, limit):.2g} % too small in all directions, or "
    detects += f"{100 * scale_detected(n, 1, limit / k):.2g} % in one of {k}"
    return Attempt(name, SAMPLED, False, said, limit, least, error, n, detects)


def evenly(count: int, most: int) -> npt.NDArray[np.int64]:
    """The places of at most so many of a count, evenly chosen.

    >>> evenly(10, 4).tolist(), evenly(3, 4).tolist()
    ([0, 2, 5, 7], [0, 1, 2])
    """
    few = min(count, most)
    return np.arange(few, dtype=np.int64) * count // max(1, few)


# The true δ(ε) of noise that is the same in every direction, by quadrature over its length and one angle.
#
#     δ(ε) = E[(1 − e^{ε−L})₊],     L = ln p(y) − ln p(y − s),     p(y) = g(‖y‖)/‖y‖^{M−1} up to a constant
#
# where g is the density of the length. Nothing here is shared with the catalogue: both must find the same.

LENGTHS, ANGLES = 3000, 1200
"""Points of the quadrature: enough for three digits, which docs/audit.md shows against more."""


def half_normal(sigma: float) -> Callable[[Array], Array]:
    """ln of the density of |N(0, σ²)|, up to a constant: the length of the rank-one mechanism."""
    return lambda r: -(r * r) / (2 * sigma * sigma)


def gaussian_length(sigma: float, dimension: int) -> Callable[[Array], Array]:
    """ln of the density of ‖N(0, σ² I)‖, up to a constant."""
    return lambda r: (dimension - 1) * np.log(r) - (r * r) / (2 * sigma * sigma)


def true_delta(
    dimension: int, epsilon: float, log_length: Callable[[Array], Array], sigma: float, shift: float = 1.0
) -> float:
    """The smallest δ for which such noise hides a shift at ε, to about three digits.

    >>> round(true_delta(10, 1.0, half_normal(49.183052236101155**0.5), 49.183052236101155**0.5), 4)
    0.1814
    """
    M = dimension
    x, w = np.polynomial.legendre.leggauss(6)
    edges = np.linspace(math.log(shift) - 40.0, math.log(12 * sigma + shift), LENGTHS // 6 + 1)
    log_r, w_r = _pieces(edges, x, w)
    r = np.exp(log_r)
    height = log_length(r) + log_r
    mass = np.exp(height - height.max()) * w_r
    mass /= mass.sum()
    angle, w_a = _pieces(np.linspace(0.0, math.pi, ANGLES // 6 + 1), x, w)
    part = np.sin(angle) ** (M - 2) * w_a
    part /= part.sum()

    def log_p(length: Array) -> Array:
        return np.asarray(log_length(length) - (M - 1) * np.log(length))

    kept = mass > mass.max() * 1e-25
    r, mass = r[kept], mass[kept]
    far = np.sqrt(np.maximum(r[:, None] ** 2 + shift**2 - 2 * r[:, None] * shift * np.cos(angle), 1e-300))
    loss = log_p(r)[:, None] - log_p(far)
    lost = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return float(mass @ (lost @ part))


def _pieces(edges: Array, x: Array, w: Array) -> tuple[Array, Array]:
    half = np.diff(edges)[:, None] / 2
    middle = (edges[1:] + edges[:-1])[:, None] / 2
    return np.asarray((middle + half * x).ravel()), np.asarray((half * w).ravel())


# Noisy samples of a plan, drawn and added by the mechanism itself, in one process or in several.
#
# Totals are lifted once for all samples; noise is drawn, added and read anew for each. The noise of draws that share
# it, and of tables, is read by a matrix: the mechanism's own reading of one unit of each noise at a time, which is
# linear.

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
    own = [(i, g) for i in tie.members for g in range(plan.queries[i].size)]
    return Noise((*own, *((i, g) for i in tie.lent_to for g in range(plan.queries[i].size))), at)


def width_of(plan: Plan, noise: Noise) -> int:
    """How many numbers are read of it."""
    return sum(int(plan.queries[i].block.shape.features.shape[0]) for i, _ in noise.read)


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
        draw = self.plan.queries[i]
        totals = mechanism.total_in_the_middle(draw, self.tables[table][i][group])
        if not isinstance(draw.block.shape.features, QUICK):
            return self._reader(noise, table, lambda: read_draw(draw, totals))(times)
        return mechanism.sample_query(draw, totals, times)

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
    each = [_read_once(plan, tie, mechanism.totals_in(plan, tie, totals, k)) for k in range(tie.copies)]

    def draw(times: int) -> Array:
        found = [read(times) for read in each]
        return np.hstack([part for parts in zip(*found, strict=True) for part in parts])

    return draw


def _read_once(plan: Plan, tie: AnyTie, totals: Mapping[int, Sequence[Totals]]) -> Callable[[int], list[Array]]:
    """The same for each draw by itself, of noise that is drawn once: in one group where it is drawn anew in each."""
    draws = [tie.seen(plan.queries[i]) for i in tie.members]
    lifted = mechanism.lift_members(tie, [(draw, totals[i]) for i, draw in zip(tie.members, draws, strict=True)])
    units = np.eye(len(lifted))
    read = [tie.features(draws, unit) for unit in units]
    rows = [np.array([each[k].ravel() for each in read]) for k in range(len(draws))]
    lent = []
    if isinstance(tie, JointNoise) and tie.borrowers:
        assert tie.people is not None
        numbers = np.array([tie.number(unit) for unit in units])
        everybody = totals[tie.members[tie.people]][0].records
        for i in tie.borrowers:
            block = plan.queries[i].block
            own = mechanism.lift_centred(tie.seen(plan.queries[i]), totals[i][0], everybody)
            matrix = block.shape.features.dense()
            lent.append((own, block.grid.scale, matrix[:, :-1], np.outer(numbers, matrix[:, -1] * number_unit(block))))

    def draw(times: int) -> list[Array]:
        shared = mechanism.sample_lifted(lifted, tie.grid[1], times)
        found = [shared @ each for each in rows]
        for own, scale, matrix, people in lent:
            found.append(mechanism.sample_lifted(own, scale, times) @ matrix.T + shared @ people)
        return found

    return draw


def read_draw(draw: Query, totals: Totals) -> Callable[[int], Array]:
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


# A noise may have the right variance in every direction and still be broken: cut off beyond 4 σ, or a multiple of
# 2^30. Such faults show in exact integers alone. Every integer that the mechanism adds noise to is seen, with the sum
# below it.

LOW = 48
"""Low bits that are tested: modulo 2^48 a normal integer of spread 2^52 is uniform, up to e^(−5000)."""

TOGETHER = 1 << 12

MOST = 1 << 62
"""Noise beyond this, 1024 σ, counts as this much."""


@dataclass(eq=False)
class SeenIntegers:
    """What the tests need of the integers of releases, added up."""

    count: int = 0
    positive: int = 0
    """How many noises are above 0."""
    far: Array = field(default_factory=lambda: count_far(np.zeros(0)))
    ones: Array = field(default_factory=lambda: np.zeros((2, LOW)))
    """How often each low bit is 1, and how often it differs from the next one."""
    kept: list[Words] = field(default_factory=list)
    """The sizes of the first noises, in which repetitions are sought."""

    waiting: list[tuple[Integers, Sequence[Any]]] = field(default_factory=list)
    """What is looked at together: one look at few integers takes as long as at many."""

    def see(self, lifted: Integers, noisy: Sequence[Any]) -> None:
        """Take in exact integers and what was released in their place."""
        self.count += len(noisy)
        self.waiting.append((lifted, noisy))
        if len(noisy) >= TOGETHER or len(self.waiting) >= TOGETHER:
            self.look()

    def look(self) -> None:
        """Add up what waits."""
        for kind in (True, False):
            alike = [both for both in self.waiting if all(_is_words(each) for each in both) is kind]
            if alike:
                of = None if kind else object
                sides = ([np.asarray(each, of) for each in side] for side in zip(*alike, strict=True))
                self._add_up(*map(np.concatenate, sides))
        self.waiting.clear()

    def _add_up(self, lifted: Any, noisy: Any) -> None:
        low, noise = _low_bits(noisy), _words(noisy - lifted)
        self.positive += int((noise > 0).sum())
        self.far += count_far(noise.astype(float) / 2.0**NOISE_BITS)
        self.ones += [_count_ones(low), _count_ones(low ^ (low >> np.uint64(1)))]
        if (room := FORM - sum(map(len, self.kept))) > 0:
            self.kept.append(np.abs(noise[:room]))


def _is_words(numbers: Any) -> bool:
    return isinstance(numbers, np.ndarray) and numbers.dtype == np.int64


def _low_bits(noisy: Any) -> Any:
    mask = (1 << LOW) - 1
    if _is_words(noisy):
        return (noisy & mask).astype(np.uint64)
    return np.array([int(each) & mask for each in noisy], np.uint64)


def _words(noise: Any) -> Words:
    if _is_words(noise):
        return np.asarray(noise)
    return np.array([max(-MOST, min(MOST, int(each))) for each in noise], np.int64)


def _count_ones(words: Any) -> Array:
    bits = np.unpackbits(words.astype("<u8").view(np.uint8).reshape(len(words), 8), axis=1, bitorder="little")
    return np.asarray(bits[:, :LOW].sum(axis=0, dtype=float))


def p_sign(seen: SeenIntegers) -> float:
    """As many noises above 0 as below, an exact binomial."""
    return float(_fair(np.array([seen.positive]), seen.count)[0])


def p_far_integers(seen: SeenIntegers) -> float:
    """How many noises lie beyond 2 to 5 σ, each an exact binomial."""
    return p_tails(seen.far, seen.count)


def p_low(seen: SeenIntegers) -> float:
    """Integers are uniform modulo 2^k: each low bit is 1, and differs from the next one, half of the time."""
    ones = np.append(seen.ones[0], seen.ones[1, :-1])  # the last one is not compared: its neighbour was cut off
    return float(_fair(ones, seen.count).min()) * len(ones)


def p_repeated(seen: SeenIntegers) -> float:
    """No noise occurs twice, with either sign.

    Given all before it, the i-th of n noises repeats one with probability at most i · q, where q = 2 φ(0) / 2^52. So
    the number of repetitions is at most a sum of independent trials with mean λ = n² q / 2, and Chernoff's bound
    (e λ / r)^r holds for r of them.
    """
    sizes = np.concatenate(seen.kept)
    found, n = len(sizes) - len(np.unique(sizes)), len(sizes)
    mean = n * n * 0.4 * 2.0**-NOISE_BITS
    return 1.0 if found <= mean else min(1.0, float(np.exp(found * (1 + np.log(mean / found)))))


INTEGER_TESTS = {"signs": p_sign, "tails": p_far_integers, "integers modulo 2^k": p_low, "repetitions": p_repeated}


def judge_integers(name: str, seen: SeenIntegers, error: float) -> Attempt:
    """All tests; a true claim is refuted with probability at most `error`."""
    seen.look()
    limit = error / len(INTEGER_TESTS)
    values = {test: p(seen) for test, p in INTEGER_TESTS.items()}
    least, wrong = min(values.values()), [f"{test} (p={p:.2g})" for test, p in values.items() if p < limit]
    if wrong:
        said = f"{seen.count:,} integers do not have the law of the noise: {', '.join(wrong)}"
        return Attempt(name, SAMPLED, True, said, limit, least, error, seen.count)
    said = f"{seen.count:,} integers have the signs, tails and low bits of the noise, and none twice"
    return Attempt(name, SAMPLED, False, f"{said} (smallest p={least:.2g})", limit, least, error, seen.count)


@contextmanager
def seen_integers() -> Iterator[tuple[SeenIntegers, SeenIntegers]]:
    """While this is open, every integer that this thread's releases add noise to is seen: of sums, and of the people
    with a found key."""
    seen, people, own = SeenIntegers(), SeenIntegers(), get_ident()

    def also_see(make: Callable[..., Any], see: Callable[..., None]) -> Callable[..., Any]:
        def made(*given: Any) -> Any:
            found = make(*given)
            if get_ident() == own:
                see(found, *given)
            return found

        return made

    def see_counts(passed: Any, draw: Any, threshold: Any, opened: Any) -> None:
        if len(passed.noisy):
            people.see([threshold.people(int(n)) for n in passed.people], passed.noisy)

    with LOCK:
        replaced: Any = mechanism
        add, decide = replaced.add, replaced._pass
        replaced.add = also_see(add, lambda noisy, lifted, noise: seen.see(lifted, noisy))
        replaced._pass = also_see(decide, see_counts)
        try:
            yield seen, people
        finally:
            replaced.add, replaced._pass = add, decide


def _fair(counts: Array, trials: int) -> Array:
    """Two-sided, of counts among trials that succeed half of the time."""
    from scipy.special import bdtr

    return np.asarray(np.minimum(1.0, 2 * bdtr(np.minimum(counts, trials - counts), trials, 0.5)))
