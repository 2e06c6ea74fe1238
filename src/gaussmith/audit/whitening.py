"""White-box tests: errors in coordinates where the claim says "independent, standard normal", each test exact.

Errors arrive in blocks, and only sums of them are kept, so that there may be any number of them. Every test gives a
p-value with Bonferroni over the directions it looks at. Tests are two-sided: too much noise is no leak, but then stated
errors are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gaussmith.numerics.linear import Array

MAX_DIRECTIONS = 64
"""Directions that pairs are tested of; more are tested alone."""

FORM = 1_000_000
"""Numbers of which the form is tested, the first ones: they are kept and sorted."""

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
    kept: list[Array] = field(default_factory=list)
    """The first numbers, for their form."""

    def __post_init__(self) -> None:
        few = min(self.directions, MAX_DIRECTIONS)
        self.squares, self.sums = np.zeros(self.directions), np.zeros(self.directions)
        self.products = np.zeros((few, few))

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


TESTS = {
    "scale of all noise": p_scale,
    "scale in every direction": p_directions,
    "correlations": p_correlations,
    "bias": p_mean,
    "freshness": p_fresh,
    "form": p_form,
}


def _two_sided(squares: Array, degrees: float) -> Array:
    from scipy.special import chdtr, chdtrc

    return np.asarray(2 * np.minimum(chdtr(degrees, squares), chdtrc(degrees, squares)))
