"""Attacks on outputs: each guesses from which of two neighbours an output came, and bounds μ by how often it is right.

An attack learns on one half of the outputs and is judged on the other, so that looking for a good rule costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaussmith.audit.bounds import EarlyLook, mu_from_event, mu_from_guesses
from gaussmith.audit.verdict import SAMPLED, Attempt, Effort
from gaussmith.numerics.exact import Array

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
