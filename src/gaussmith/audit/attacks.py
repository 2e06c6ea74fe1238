"""Attacks on outputs: each guesses from which of two neighbours an output came, and bounds μ by how often it is right.

An attack learns on one half of the outputs and is judged on the other, so that looking for a good rule costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith import mechanism as _mechanism
from gaussmith.audit.bounds import EarlyLook, mu_from_event, mu_from_guesses
from gaussmith.audit.noise_tests import FORM, count_far, p_tails
from gaussmith.audit.scenes import LOCK
from gaussmith.audit.verdict import SAMPLED, Attempt, Effort
from gaussmith.numerics.exact import Array, Integers, Words
from gaussmith.planning.certified_grid import NOISE_BITS

FIRST_LOOK, LARGEST_LOOK = 500, 20_000
"""Outputs of each neighbour in the first block that an attack takes in, and in the largest."""

CUTS = 40
"""Events that an attack on low bits chooses from, at most."""


@dataclass(frozen=True)
class FoundLoss:
    """A lower bound on μ, and how often the attack was right."""

    mu: float
    right: float
    trials: int
    hits: tuple[int, int] = (0, 0)


@dataclass(eq=False)
class Guesser:
    """Guesses from which of two neighbours outputs came, counted while they arrive.

    Along a direction, the likelihood ratio of Gaussian noise: on which side of the middle an output lies. And by the
    nearer of two centres, the best guess for noise that is the same in every direction and falls with length. A bet
    (`look`) on pairs of outputs may stop it at any time.
    """

    look: EarlyLook
    direction: Array
    middle: float
    centres: tuple[Array, Array]
    outputs: int = 0
    """Of each neighbour."""
    right: int = 0
    close: int = 0
    above: tuple[int, int] = (0, 0)
    """How many outputs of each lay beyond the middle."""

    def see(self, one: Array, other: Array) -> bool:
        """Take in equally many outputs of both neighbours; returns whether the bet refutes the claim by now."""
        a, b = one @ self.direction, other @ self.direction
        self.outputs += len(a)
        self.above = self.above[0] + int((a > self.middle).sum()), self.above[1] + int((b > self.middle).sum())
        self.right += int((a < self.middle).sum() + (b > self.middle).sum())
        self.close += int(self._nearer(one).sum() + (~self._nearer(other)).sum())
        return self.look.see(a < b)

    def run(self, sample: Callable[[int], tuple[Array, Array]], half: int, effort: Effort, of: str) -> Attempt:
        """Take in up to `half` outputs of both neighbours in growing blocks; stops where the bet refutes the claim."""
        block, broken = FIRST_LOOK, False
        while self.outputs < half and not broken:
            broken = self.see(*sample(min(block, half - self.outputs)))
            effort.report(self.outputs / half)
            block = min(2 * block, LARGEST_LOOK)
        said = f"{self.look.right:,} of {self.look.pairs:,} pairs {of}told apart"
        return Attempt("early look", SAMPLED, broken, said, error=self.look.error, samples=2 * self.outputs)

    def _nearer(self, outputs: Array) -> npt.NDArray[np.bool_]:
        a, b = (((outputs - centre) ** 2).sum(axis=1) for centre in self.centres)
        return np.asarray(a < b)

    def by_direction(self, error: float) -> FoundLoss:
        """What the guesses along the direction show."""
        return _found(self.right, 2 * self.outputs, error)

    def by_centre(self, error: float) -> FoundLoss:
        """What the guesses by the nearer centre show."""
        return _found(self.close, 2 * self.outputs, error)


def nearest_centre(one: Array, other: Array, centres: tuple[Array, Array], error: float) -> FoundLoss:
    """The nearer of two centres, on outputs that are all there."""
    n, width = min(len(one), len(other)), one.shape[1]
    guesser = Guesser(EarlyLook(1.0, error), np.zeros(width), 0.0, centres)
    guesser.see(one[:n], other[:n])
    return guesser.by_centre(error)


def _found(right: int, trials: int, error: float) -> FoundLoss:
    return FoundLoss(mu_from_guesses(right, trials, error), right / trials, trials)


def lowest_bits(values: Array) -> npt.NDArray[np.int64]:
    """The exponent of the lowest set bit of each double; a large number for 0."""
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    low = np.log2(np.maximum(whole & -whole, 1).astype(float)).astype(np.int64)
    return np.where(whole == 0, 2000, exponent - 53 + low)


def low_bits(one: Array, other: Array, error: float) -> FoundLoss:
    """How fine the doubles are that came out: noise added in floating point keeps bits of what it was added to.

    The event is "the lowest set bit is below a cut" in one coordinate: the cut and the coordinate are chosen on the
    first half. Its bound is that of an event, which may be rare on one side.
    """
    one, other = (np.where(np.isfinite(each), each, 0.0) for each in (one, other))
    n = min(len(one), len(other)) // 2
    best: tuple[float, int, int] = (-1.0, 0, 0)
    for j in range(one.shape[1]):
        a, b = lowest_bits(one[:n, j]), lowest_bits(other[:n, j])
        cuts = np.unique(np.concatenate([a, b]))
        cuts = cuts[:: max(1, len(cuts) // CUTS)]
        for cut in cuts.tolist():
            mu = mu_from_event(int((a < cut).sum()), int((b < cut).sum()), n, error)
            if mu > best[0]:
                best = mu, j, cut
    _, j, cut = best
    a, b = lowest_bits(one[n : 2 * n, j]), lowest_bits(other[n : 2 * n, j])
    hits = int((a < cut).sum()), int((b < cut).sum())
    return FoundLoss(mu_from_event(*hits, n, error), (1 + abs(hits[0] - hits[1]) / n) / 2, 2 * n, hits)


def odd_values(one: Array, other: Array, error: float) -> FoundLoss:
    """Which outputs have a number that is not finite: noise cannot hide that one is missing."""
    odd = [np.array(~np.isfinite(each).all(axis=1), bool) for each in (one, other)]
    return _event(odd[0], odd[1], error)


def repeated_values(one: Array, other: Array, error: float) -> FoundLoss:
    """Which outputs were seen before, on one neighbour and not on the other: noise that is used again shows its sums.

    Learned on the first half, judged on the second.
    """
    n = min(len(one), len(other)) // 2
    keys = [[row.tobytes() for row in np.ascontiguousarray(each[: 2 * n])] for each in (one, other)]
    only = set(keys[0][:n]) - set(keys[1][:n])
    seen = [np.array([key in only for key in each[n:]], bool) for each in keys]
    return _event(seen[0], seen[1], error)


def _event(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_], error: float) -> FoundLoss:
    n = min(len(one), len(other))
    hits = int(one[:n].sum()), int(other[:n].sum())
    return FoundLoss(mu_from_event(*hits, n, error), (1 + abs(hits[0] - hits[1]) / n) / 2, 2 * n, hits)


def fisher_direction(one: Array, other: Array) -> Array:
    """The direction along which two samples differ most, in units of their spread."""
    shift = other.mean(axis=0) - one.mean(axis=0)
    spread = np.atleast_2d(np.cov(np.concatenate([one - one.mean(axis=0), other - other.mean(axis=0)]).T))
    return np.asarray(np.linalg.pinv(spread, rcond=1e-12, hermitian=True) @ shift)


# Tests of the integers that releases are made of, before they are decoded: their tails, low bits and repetitions.
#
# A noise may have the right variance in every direction and still be broken: cut off beyond 4 σ, or a multiple of
# 2^30. Such faults show in exact integers alone. Every integer that the mechanism adds noise to is seen, with the sum
# below it.

LOW = 48
"""Low bits that are tested: modulo 2^48 a normal integer of spread 2^52 is uniform, up to e^(−5000)."""

TOGETHER = 1 << 12

MOST = 1 << 62
"""Noise beyond this, 1024 σ, counts as this much."""

mechanism: Any = _mechanism
"""As anything: two of its functions are replaced while integers are looked at."""


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


def p_far(seen: SeenIntegers) -> float:
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


TESTS = {"signs": p_sign, "tails": p_far, "integers modulo 2^k": p_low, "repetitions": p_repeated}


def judge_integers(name: str, seen: SeenIntegers, error: float) -> Attempt:
    """All tests; a true claim is refuted with probability at most `error`."""
    seen.look()
    limit = error / len(TESTS)
    values = {test: p(seen) for test, p in TESTS.items()}
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
        add, decide = mechanism.add, mechanism._pass
        mechanism.add = also_see(add, lambda noisy, lifted, noise: seen.see(lifted, noisy))
        mechanism._pass = also_see(decide, see_counts)
        try:
            yield seen, people
        finally:
            mechanism.add, mechanism._pass = add, decide


def _fair(counts: Array, trials: int) -> Array:
    """Two-sided, of counts among trials that succeed half of the time."""
    from scipy.special import bdtr

    return np.asarray(np.minimum(1.0, 2 * bdtr(np.minimum(counts, trials - counts), trials, 0.5)))
