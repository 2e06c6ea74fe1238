"""Samples of pure noise: exact tests of its law, and guesses at the worst neighbours that bound ε.

    values     how often each whole number comes, or how many lie beyond some ends: exact binomials on either side
    sizes      the norm of a block: Gamma on a fine lattice; of a cube how often the largest number is below some ends
    radius     two numbers of a cube are both large more often than independent ones
    low bits   on a fine lattice each is 1 half of the time, and unrelated to the next
    rests      numbers that the sampler draws again, by which its uniform low part gets the law

Only whole counts of events are judged, and sums whose law is known, so every p-value is exact or too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from threading import get_ident
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith import mechanism as _mechanism
from gaussmith.audit.bounds import bonferroni, epsilon_from_event, quantile
from gaussmith.audit.scenes import Pair, Scene
from gaussmith.audit.verdict import LOCK, SAMPLED, Attempt, Effort, shares
from gaussmith.domains.pure_strategies import ONE_NORM
from gaussmith.noise import geometric
from gaussmith.noise.geometric import Split
from gaussmith.noise.law import Law
from gaussmith.noise.reals import Integers
from gaussmith.numerics.exact import Array
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.plan import Plan
from gaussmith.planning.pure_intervals import COARSE
from gaussmith.planning.pure_noise import PureNoise

mechanism: Any = _mechanism
"""As anything: the function that adds pure noise is replaced while integers are looked at."""

RELEASES = 1_500
"""Whole releases that are made of a table, at most."""

NUMBERS = 2_000_000
"""Numbers that are looked at in whole releases, at most."""

BLOCK = 1_000_000
"""Numbers that are drawn at once."""

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999)
"""Ends that are looked at: so many numbers of the claimed law lie within."""

LOW = 16
"""Low bits that are tested: modulo 2^16 a number of spread 2^40 is uniform, up to 2^−24."""

RESTS = 1_000_000

POWER = 0.842
"""The normal quantile of 0.8."""

COUNTS = 1.5
"""By how much more a noise must be off where counts beyond an end are looked at: for every ε from 0.1 to 4."""

Flags = npt.NDArray[np.bool_]


def sample_pure(plan: Plan, scene: Scene, pair: Pair, error: float, effort: Effort) -> tuple[list[Attempt], float]:
    """Tests of the law of every noise, alone and in whole releases, then an attack on the worst pair."""
    noises = plan.pure_noises
    law_share, released, attack = shares(error, (5, 2, 4))
    attempts = []
    totals = [mechanism.add_up(scene.prepare(rows)) for rows in (pair.one, pair.other)]
    for at, (noise, share) in enumerate(zip(noises, shares(law_share, [1.0] * len(noises)), strict=True)):
        blocks = max(1_000, effort.samples // len(noises) // noise.law.numbers)
        attempts.append(judge(_named(plan, "noise", noise), noise.law, _drawn(noise.law, blocks), share))
        effort.report(0.3 + 0.3 * (at + 1) / len(noises))
    seen = release_often(plan, totals[0])
    for noise, found, share in zip(noises, seen, shares(released, [1.0] * len(noises)), strict=True):
        attempts.append(judge(_named(plan, "releases", noise), noise.law, found, share))
    effort.report(0.75)
    if any(each.refutes for each in attempts):
        return attempts, 0.0
    guessed, bound = guess(plan, totals, attack, effort)
    effort.report(1.0)
    return [*attempts, *guessed], bound


def _named(plan: Plan, of: str, noise: PureNoise) -> str:
    law = "geometric noise" if noise.law.norm == ONE_NORM else "cube noise"
    if len(plan.queries) == 1:
        return f"{law}, {of}"
    return f"{law} of {', '.join(f'query {i + 1}' for i in noise.members)}, {of}"


def _drawn(law: Law, blocks: int) -> Integers:
    """So many blocks by the function that releases call."""
    step = max(1, BLOCK // law.numbers)
    return np.concatenate([mechanism.pure_integers(law, min(step, blocks - at)) for at in range(0, blocks, step)])


def release_often(plan: Plan, totals: Any) -> list[Integers]:
    """What whole releases add to their integers: of every noise one row for each copy of each release."""
    noises, own = plan.pure_noises, get_ident()
    times = max(2, min(RELEASES, NUMBERS // max(1, sum(each.copies * each.law.numbers for each in noises))))
    added: list[Integers] = []
    with LOCK:
        add = mechanism.add_pure

        def seen(lifted: Any, noise: Integers) -> Integers:
            noisy: Integers = add(lifted, noise)
            if get_ident() == own:
                added.append(noisy - np.array([list(map(int, each)) for each in lifted], object).reshape(noisy.shape))
            return noisy

        mechanism.add_pure = seen
        try:
            for _ in range(times):
                mechanism.release_totals(plan, totals)
        finally:
            mechanism.add_pure = add
    each = len(added) // times
    found, at = [], 0
    for noise in noises:
        size = len(noise.members)
        found.append(np.vstack([np.hstack(added[k * each + at : k * each + at + size]) for k in range(times)]))
        at += size
    return [_in_words(numbers) for numbers in found]


def _in_words(numbers: Integers) -> Integers:
    """As words, where all of them are."""
    is_small = int(np.abs(numbers).max(initial=0)) < 1 << 62
    found: Integers = numbers.astype(np.int64) if is_small else numbers
    return found


# -- tests of a law ----------------------------------------------------------------------------------------------------


def judge(name: str, law: Law, blocks: Integers, error: float) -> Attempt:
    """All tests of blocks against the law that is claimed; a right one is refuted with probability at most `error`."""
    values = {test: p(law, blocks) for test, p in TESTS.items()}
    limit, least, count = error / len(TESTS), min(values.values()), blocks.size
    wrong = [f"{test} (p={p:.2g})" for test, p in values.items() if p < limit]
    if wrong:
        said = f"{count:,} numbers do not have the claimed law: {', '.join(wrong)}"
        return Attempt(name, SAMPLED, True, said, limit, least, error, count)
    said = f"{count:,} numbers agree with the claimed law (smallest p={least:.2g})"
    return Attempt(
        name, SAMPLED, False, said, limit, least, error, count, f"noise {detected(law, blocks, limit):.2g} % too small"
    )


def detected(law: Law, blocks: Integers, limit: float) -> float:
    """How many percent too small a noise must be to be noticed with probability 0.8.

    On a fine lattice the sum of all sizes has a relative spread of 1/√(numbers). Of whole numbers one count of those
    beyond an end tells nearly as much; `COUNTS` is what it lacks.
    """
    if _is_fine(law):
        return 100 * float((POWER - quantile(limit / 4)) / blocks.size**0.5)
    size = blocks.size if law.norm == ONE_NORM else len(blocks)
    return 100 * COUNTS * float((POWER - quantile(limit / 400)) / size**0.5)


def counted(hits: int, trials: int, chance: float) -> float:
    """Two-sided, of an exact binomial."""
    from scipy.special import bdtr, bdtrc

    chance = min(1.0, max(0.0, chance))
    above = float(bdtrc(hits - 1, trials, chance)) if hits else 1.0
    return min(1.0, 2 * min(float(bdtr(hits, trials, chance)), above))


def _is_fine(law: Law) -> bool:
    return law.sensitivity > COARSE


def p_values(law: Law, blocks: Integers) -> float:
    """How many of the first, of the last and, where they are independent, of all numbers lie beyond some ends."""
    columns = [blocks.ravel()] if law.norm == ONE_NORM else [blocks[:, 0], blocks[:, -1]]
    found = []
    for column in columns:
        sizes = np.abs(column)
        for end, chance in _ends(law):
            beyond = sizes > end
            found.append(counted(int(beyond.sum()), len(column), chance))
            found += [counted(int((beyond & side).sum()), len(column), chance / 2) for side in (column > 0, column < 0)]
    return bonferroni(found)


@lru_cache(maxsize=16)
def _ends(law: Law) -> list[tuple[int, float]]:
    """Ends that are looked at, and how many numbers lie beyond; of whole numbers the first ones too."""
    ends = {int(law.quantile(level).half) for level in LEVELS}
    if not _is_fine(law):
        ends |= set(range(min(max(ends), 24)))
    return [(end, float(law.tail(end))) for end in sorted(ends)]


@lru_cache(maxsize=16)
def _largest_law(law: Law) -> Array:
    """P(max|z| ≤ m), m = 0 … of a cube on whole numbers: the points of its surface, ((2m+1)^D − (2m−1)^D) q^m."""
    most = int((law.numbers + 80) / law.rate) + 2
    m = np.arange(most)
    logs = law.numbers * np.log(2 * m + 1.0) - float(law.rate) * m
    inner = np.where(m > 0, law.numbers * np.log(np.maximum(2 * m - 1.0, 1e-300) / (2 * m + 1.0)), -np.inf)
    weights = np.exp(logs - logs.max()) * -np.expm1(inner)
    return np.asarray(np.cumsum(weights) / weights.sum())


def p_sizes(law: Law, blocks: Integers) -> float:
    """The norm of a block: λ·N is Gamma(D) on a fine lattice; else how often the largest number is below some ends."""
    from scipy.special import gammainc, gammaincc

    sizes = np.abs(blocks)
    norms = sizes.sum(axis=1, dtype=sizes.dtype) if law.norm == ONE_NORM else sizes.max(axis=1)
    n, d = len(norms), law.numbers
    if _is_fine(law):
        scaled = norms.astype(float) * float(law.rate)
        shape, total = float(n * d), float(scaled.sum())
        found = [2 * min(float(gammainc(shape, total)), float(gammaincc(shape, total)))]
        sorted_ = gammainc(d, np.sort(scaled))
        steps = np.arange(n + 1) / n
        distance = max(float((steps[1:] - sorted_).max()), float((sorted_ - steps[:-1]).max()))
        return bonferroni([*found, min(1.0, 2 * float(np.exp(-2.0 * n * distance * distance)))])
    if law.norm == ONE_NORM:
        return 1.0  # its numbers are independent, and each was looked at
    up_to = _largest_law(law)
    ends = [m for m in range(len(up_to)) if up_to[m] < 1 - 1e-5]
    ends = ends[:: max(1, len(ends) // 40)]
    return bonferroni([counted(int((norms <= m).sum()), n, float(up_to[m])) for m in ends])


def p_radius(law: Law, blocks: Integers) -> float:
    """Two numbers of a cube share its radius: both are large with probability Σ w(K) (2(K−t)/(2K+1))²."""
    if law.norm == ONE_NORM or law.numbers < 2:
        return 1.0
    sizes = np.abs(blocks[:, :2])
    t = int(law.quantile(0.8).half)
    return counted(int((sizes > t).all(axis=1).sum()), len(blocks), _both_beyond(law, t))


@lru_cache(maxsize=16)
def _both_beyond(law: Law, t: int) -> float:
    if _is_fine(law):  # K·λ is Gamma(D + 1)
        at = t * float(law.rate)
        x, w = np.polynomial.legendre.leggauss(400)
        radius = at + (x + 1) * (law.numbers + 60) / 2
        logs = law.numbers * np.log(radius) - radius
        from scipy.special import gammaln

        density = np.exp(logs - gammaln(law.numbers + 1))
        return float((w * density * (1 - at / radius) ** 2).sum() * (law.numbers + 60) / 2)
    k = np.arange(int((law.numbers + 80) / law.rate) + 2)
    logs = law.numbers * np.log(2 * k + 1.0) - float(law.rate) * k
    weights = np.exp(logs - logs.max())
    return float(weights @ (2 * np.maximum(k - t, 0) / (2 * k + 1)) ** 2 / weights.sum())


def p_bits(law: Law, blocks: Integers) -> float:
    """On a fine lattice each low bit is 1, and differs from the next, half of the time; and so do signs of blocks."""
    first = blocks[:, 0]
    plus = first > 0
    events = [plus[1::2] ^ plus[:-1:2]] if _is_fine(law) else []
    if _is_fine(law):
        low = (blocks.ravel()[:BLOCK] & ((1 << LOW + 1) - 1)).astype(np.int64)
        bits = [(low >> i & 1).astype(bool) for i in range(LOW + 1)]
        events += [*bits, *(a ^ b for a, b in zip(bits[1:], bits[:-1], strict=True))]
    return bonferroni([counted(int(each.sum()), len(each), 0.5) for each in events if len(each)])


def p_fresh(law: Law, blocks: Integers) -> float:
    """Pairs of consecutive blocks, which are independent: how often both first numbers are beyond an end, or 0."""
    t = int(law.quantile(0.5).half)
    beyond: Flags = np.asarray(np.abs(blocks[:, 0]) > t)
    half = len(beyond) // 2
    both = beyond[: 2 * half : 2] & beyond[1 : 2 * half : 2]
    chance = float(law.tail(t))
    found = [counted(int(both.sum()), half, chance * chance)]
    if _is_fine(law):
        sizes = np.abs(blocks.ravel()[: 1 << 12])
        n, repeated = len(sizes), len(sizes) - len(np.unique(sizes))
        mean = n * n / 2 * float(law.rate)  # no size is more likely than λ, in a cube less so
        found.append(1.0 if not repeated else min(1.0, float(np.exp(repeated * (1 + np.log(mean / repeated))))))
    return bonferroni(found)


def p_rests(law: Law, blocks: Integers) -> float:
    """The sampler draws so many numbers again, a binomial count: rests L < 2^b are kept with probability e^−λL."""
    split = Split(law.rate)
    if not split.bits:
        return 1.0
    kept = len(geometric._draw(RESTS, split, _words, signed=False))
    chance = np.expm1(-float(split.of_quotient)) / np.expm1(-float(split.rate)) * 2.0**-split.bits
    return counted(RESTS - kept, RESTS, 1 - float(chance))


def _words(size: int) -> npt.NDArray[np.uint64]:
    """Uniform words: the low halves of normal integers, whose sampler is another one."""
    high, low = (mechanism.normal_integers(2 * size, NOISE_BITS) & (1 << 32) - 1).astype(np.uint64).reshape(2, size)
    return np.asarray(high << np.uint64(32) | low)


TESTS: dict[str, Callable[[Law, Integers], float]] = {
    "values and tails": p_values,
    "sizes of blocks": p_sizes,
    "one radius": p_radius,
    "low bits": p_bits,
    "freshness": p_fresh,
    "rests": p_rests,
}


# -- an attack ---------------------------------------------------------------------------------------------------------

EVENTS = 24
"""Events that the attack chooses from, on the first half of its outputs."""


@dataclass(frozen=True, eq=False)
class _Told:
    """A noise that tells two neighbours apart: its law, and the exact integers below it on either table."""

    law: Law
    one: Integers
    other: Integers

    def loss(self, noise: Integers, is_other: bool) -> Array:
        """ln P(output)/P′(output) of outputs of one table: λ (N(y − f′) − N(y − f)), copies added."""
        shift = (self.one - self.other) * (-1 if is_other else 1)
        far = self._norm(noise + shift[None]) - self._norm(noise)
        found = far.sum(axis=1).astype(float) * float(self.law.rate)
        return np.asarray(-found if is_other else found)

    def _norm(self, numbers: Integers) -> Integers:
        sizes = np.abs(numbers)
        return np.asarray(sizes.sum(axis=2) if self.law.norm == ONE_NORM else sizes.max(axis=2))


def guess(plan: Plan, totals: Any, error: float, effort: Effort) -> tuple[list[Attempt], float]:
    """Guesses from which of the worst neighbours an output came: an event chosen on one half bounds ε on the other."""
    told = [each for each in _tell(plan, totals) if (each.one != each.other).any()]
    if not told:
        return [], 0.0
    each = max(1, sum(one.one.size for one in told))
    half = max(500, min(effort.samples // 2, 40 * effort.samples // each) // 2)
    losses = [[_losses(told, half, which) for which in (False, True)] for _ in range(2)]
    (learn, learn_other), (one, other) = losses
    cuts = np.unique(np.quantile(np.concatenate([learn, learn_other]), np.linspace(0.02, 0.98, EVENTS)).round(12))
    room = 1e-9
    best = max(
        ((epsilon_from_event(*_hits(learn, learn_other, cut - room), half, 0.0, error), cut) for cut in cuts.tolist()),
    )
    hits = _hits(one, other, best[1] - room)
    found, limit = epsilon_from_event(*hits, half, 0.0, error), float(plan.guarantee.pure_epsilon)
    said = f"an event came {hits[0]:,} times on one and {hits[1]:,} times on the other, of {half:,} outputs each: "
    said += f"ε is at least {found:.4g}" if found > 0 else "no evidence against the claim"
    name = "likelihood ratio at the worst neighbours"
    return [Attempt(name, SAMPLED, found > limit, said, limit, found, error, 4 * half)], found


def _hits(one: Array, other: Array, cut: float) -> tuple[int, int]:
    return int((one >= cut).sum()), int((other >= cut).sum())


def _tell(plan: Plan, totals: Any) -> Iterator[_Told]:
    for noise in plan.pure_noises:
        both = []
        for found in totals:
            lifted = [
                mechanism.lift_groups(query, found[i]) for i, query in zip(noise.members, noise.queries, strict=True)
            ]
            parts = [np.array([list(map(int, each)) for each in groups], object) for groups in lifted]
            both.append(np.hstack([part.reshape(noise.copies, -1) for part in parts]))
        kept = (both[0] != both[1]).any(axis=1)
        yield _Told(noise.law, both[0][kept], both[1][kept])


def _losses(told: list[_Told], times: int, is_other: bool) -> Array:
    total = np.zeros(times)
    for each in told:
        copies, numbers = each.one.shape
        noise = _drawn(each.law, times * copies).reshape(times, copies, numbers)
        shift = each.one - each.other
        if int(np.abs(shift).max()) < 1 << 61:
            each = _Told(each.law, shift.astype(noise.dtype), np.zeros_like(shift).astype(noise.dtype))
        total += each.loss(noise, is_other)
    return total
