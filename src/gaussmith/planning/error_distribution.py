"""How large the errors of a plan will be: of all answers together, of the largest one, and how many rows are needed.

Noise is Gaussian, so the squared error Σ e_i² is a weighted sum of squares whose weights are the eigenvalues of the
covariance (`numerics.quadratic_forms`), and the largest error has the law

    P(max |e_i| ≤ m) = E_t ∏_i [ Φ((m − s_i t)/o_i) − Φ((−m − s_i t)/o_i) ],    e_i = o_i Z_i + s_i t,

where the noise of each answer is its own part o and a share s of one draw t common to all (the lifted shapes, and every
independent noise with s = 0): exact. For any other noise ∏ (2Φ(m/σ_i) − 1) is a lower bound of it (Šidák), so that the
errors named here are never too small.

A mean is divided by a noisy number, so what is Gaussian is its error times that number. Its law is that of a mean where
the error is largest (`plans.promised_errors`): what is stated holds wherever the means lie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.checks import CONFIDENCE, check_number, check_probability, checks_arguments
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Matrix

MAX_DISTINCT = 1500
"""Limit on different variances whose eigenvalues are found one by one; more are rounded up to as many."""

_MAX_WORK = 6_000_000
"""Limit on nodes times answers in the integral over the common draw; beyond, Šidák's bound is used."""


def normal_width(confidence: float, answers: int = 1) -> float:
    """Half the width, in standard errors, of central intervals that hold for all `answers` at once with `confidence`.

    For one answer exact. For several by Šidák's inequality: the chance that all centred intervals of a Gaussian vector
    hold is at least the product of the single chances, whatever the correlations; exact where the noise is independent.

    >>> round(normal_width(0.95), 3), round(normal_width(0.95, answers=10), 3)
    (1.96, 2.8)
    """
    confidence = check_probability("confidence", confidence, error=PlanError)
    # 1 − (1−confidence…) in a form that keeps its digits when the confidence is close to 1
    miss = -math.expm1(math.log(confidence) / answers)
    return -NormalDist().inv_cdf(miss / 2)


def width_together(confidence: float, answers: int, is_pure: bool) -> float:
    """The same, also of pure noise: there failures are added up, because Šidák's inequality is about normal noise.

    >>> round(width_together(0.95, 10, is_pure=False), 3), round(width_together(0.95, 10, is_pure=True), 3)
    (2.8, 2.807)
    """
    return normal_width(1 - (1 - confidence) / answers) if is_pure else normal_width(confidence, answers)


@dataclass(frozen=True, eq=False)
class ErrorLaw:
    """The law of the errors of several answers: `own` and `shares` as above, or a covariance where neither fits.

    >>> law = ErrorLaw(np.array([3.0, 4.0]), np.zeros(2))
    >>> law.expected_squared_error, round(law.maximum_error(0.95), 3)
    (25.0, 8.085)
    """

    own: Array
    shares: Array
    covariance: Array | None = None
    spectrum: Array | None = None
    """The eigenvalues, or upper bounds of them, where they are known although `shares` could not say them."""
    divisors: Array | None = None
    """The share of the same draw in the number that each answer is divided by; 0 where it is not divided."""
    alone: Array | None = None
    """The largest share of each answer, where they cannot all have it at once."""
    common: bool = True
    """Whether all shares are of one draw; if not, own and shares describe each answer by itself."""

    @cached_property
    def variances(self) -> Array:
        if self.covariance is not None:
            return np.diag(self.covariance).copy()
        return self.own * self.own + self.shares * self.shares

    @property
    def expected_squared_error(self) -> float:
        """E Σ e_i²: the trace of the covariance."""
        return float(self.variances.sum())

    @cached_property
    def eigenvalues(self) -> Array:
        """Of the covariance; for very many different variances rounded up, by less than their spread over 1500."""
        if self.spectrum is not None:
            return self.spectrum
        if self.covariance is not None:
            return np.clip(np.linalg.eigvalsh(self.covariance), 0.0, None)
        return _rank_one_eigenvalues(self.own * self.own, self.shares)

    def squared_error_quantile(self, probability: float) -> float:
        """The value that Σ e_i² stays below with this probability.

        >>> round(ErrorLaw(np.ones(2), np.zeros(2)).squared_error_quantile(0.95), 6)
        5.991465
        """
        from gaussmith.numerics import quadratic_forms

        probability = check_probability("probability", probability, error=PlanError)
        if not self.variances.any():
            return 0.0
        return quadratic_forms.quantile(self.eigenvalues, 1 - probability)

    def maximum_error(self, confidence: float = CONFIDENCE) -> float:
        """The m with P(max |e_i| ≤ m) = confidence: exact where one draw at most is shared, else not too small.

        >>> one, ten = (ErrorLaw(np.ones(k), np.zeros(k)).maximum_error(0.95) for k in (1, 10))
        >>> round(one, 3), round(ten, 3)
        (1.96, 2.8)
        """
        confidence = check_probability("confidence", confidence, error=PlanError)
        sigma = np.sqrt(self.variances)
        top = float(sigma.max(initial=0.0))
        if not top:
            return 0.0
        low, high = 0.0, top
        while self.chance_within(high) < confidence:
            low, high = high, 2 * high
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if self.chance_within(middle) < confidence else (low, middle)
            if high - low <= 1e-9 * high:
                break
        return high

    def expected_maximum_error(self) -> float:
        """E max |e_i| = ∫ P(max |e_i| > m) dm; never too small.

        >>> round(ErrorLaw(np.ones(1), np.zeros(1)).expected_maximum_error(), 6) == round(math.sqrt(2 / math.pi), 6)
        True
        """
        far = self.maximum_error(1 - 1e-12) if self.variances.any() else 0.0
        x, w = np.polynomial.legendre.leggauss(80)
        return float(
            sum(far * wi / 2 * (1 - self.chance_within(far * (xi + 1) / 2)) for xi, wi in zip(x, w, strict=True))
        )

    def chance_within(self, bound: float) -> float:
        """P(max |e_i| ≤ bound); a lower bound of it for noise that shares more than one draw."""
        from scipy.special import log_ndtr

        if (found := self._integral(bound, 0.0, 0.2)) is not None:
            return found
        sigma = self._alone(0.0)
        # ln(2Φ(x) − 1) = ln(1 − 2Φ(−x)), which keeps its digits far out
        return math.exp(float(np.log1p(-2 * np.exp(log_ndtr(-bound / sigma))).sum())) if bound > 0 else 0.0

    def chance_over(self, rows: float, error: float) -> float:
        """P(every answer over `rows` is within `error`), a lower bound of it where `chance_within` is one.

        A mean with error e/(n + b) is within `error` if |e| ≤ error · (n + b). By itself this fails with probability
        at most 2Φ(−error · n/s), where s² = own² + (share + error · divisor)²; these bounds are added up where the
        integral over the common draw cannot be done.
        """
        from scipy.special import ndtr

        if self.divisors is None:
            return self.chance_within(rows * error)
        if (found := self._integral(rows * error, error, 0.05)) is not None:
            return found
        return float(1 - 2 * ndtr(-rows * error / self._alone(error)).sum())

    def _integral(self, bound: float, slope: float, step: float) -> float | None:
        """P(|e_i| ≤ bound + slope · divisor_i · t for all i) over the common draw t; None where that cannot be done."""
        from scipy.special import ndtr

        own, shares, divisors, counts = self._distinct
        steep = np.abs(shares) + slope * divisors
        ratios = np.divide(own, steep, out=np.full_like(own, np.inf), where=steep != 0)
        step = min(step, float(np.min(ratios, initial=np.inf)) / 3)
        if self.covariance is not None or not (self.common and steep.any() and 18 * len(own) <= _MAX_WORK * step):
            return None
        t = np.arange(-9.0, 9.0 + step / 2, step)
        weights = np.exp(-t * t / 2)
        at, bounds = np.outer(t, shares), bound + slope * np.outer(t, divisors)
        inside = ndtr((bounds - at) / own) - ndtr((-bounds - at) / own)
        with np.errstate(divide="ignore"):
            product = np.exp((counts * np.log(np.maximum(inside, 0.0))).sum(axis=1))
        return float((weights * product).sum() / weights.sum())

    def _alone(self, slope: float) -> Array:
        """The standard deviation of each answer by itself, its divisor taken in by `slope`; those that have noise."""
        if self.covariance is not None:
            sigma = np.sqrt(self.variances)
        else:
            shares = np.abs(self.shares if self.alone is None else self.alone)
            sigma = np.sqrt(self.own**2 + (shares + slope * (0.0 if self.divisors is None else self.divisors)) ** 2)
        return np.asarray(sigma[sigma > 0])

    @cached_property
    def _distinct(self) -> tuple[Array, Array, Array, Array]:
        """Own parts, shares and divisors that occur together, and how often."""
        noisy = self.variances > 0 if self.covariance is None else np.zeros(len(self.own), bool)
        divisors = np.zeros_like(self.own) if self.divisors is None else self.divisors
        rows = np.column_stack([self.own[noisy], self.shares[noisy], divisors[noisy]])
        found, counts = np.unique(rows, axis=0, return_counts=True)
        return found[:, 0], found[:, 1], found[:, 2], counts.astype(float)


def rows_needed(law: ErrorLaw, error: float, confidence: float = CONFIDENCE) -> int:
    """The least n for which all answers divided by n are within `error` of the truth with this confidence.

    Sums over n are averages of the clamped records, counts over n are fractions. Means are over the noisy n.

    >>> rows_needed(ErrorLaw(np.ones(10), np.zeros(10)), error=0.01)
    280
    """
    rule = "the error must be a finite number above 0"
    error = check_number("error", error, above=0, rule=rule, remedy="write error=0.01", error=PlanError)
    if law.divisors is None:
        return max(1, math.ceil(law.maximum_error(confidence) / error))
    confidence = check_probability("confidence", confidence, error=PlanError)
    low, high = 0, max(1, math.ceil(law.maximum_error(confidence) / error))
    while law.chance_over(high, error) < confidence:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if law.chance_over(middle, error) < confidence else (low, middle)
    return high


def _rank_one_eigenvalues(diagonal: Array, vector: Array) -> Array:
    """Eigenvalues of diag(a) + v vᵀ: equal a are kept but one, and between two different a lies one root of

        1 + Σ v_i²/(a_i − λ) = 0,

    found by halving for all at once.
    """
    squares = vector * vector
    if not squares.any():
        return diagonal
    if len(np.unique(diagonal)) > MAX_DISTINCT:
        diagonal = _rounded_up(diagonal)
    a, where, counts = np.unique(diagonal, return_inverse=True, return_counts=True)
    b = np.bincount(where, weights=squares, minlength=len(a))
    kept = np.repeat(a, np.where(b > 0, counts - 1, counts))
    a, b = a[b > 0], b[b > 0]
    width = np.append(np.diff(a), b.sum())
    low, high = np.zeros(len(a)), np.ones(len(a))  # λ = a + position · width, so that nothing is lost close to a
    for _ in range(60):
        middle = (low + high) / 2
        gaps = a[None, :] - a[:, None] - (middle * width)[:, None]
        with np.errstate(divide="ignore"):
            above = 1 + (b / gaps).sum(axis=1) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.concatenate([kept, a + high * width])


def _rounded_up(diagonal: Array) -> Array:
    """At most MAX_DISTINCT different values, none below the one it stands for: an upper bound of every eigenvalue."""
    edges = np.quantile(diagonal, np.linspace(0, 1, MAX_DISTINCT), method="higher")
    return np.asarray(edges[np.searchsorted(edges, diagonal)])


def law_of_features(features: Matrix, size: int, unit: float) -> ErrorLaw | None:
    """The law of the first `size` features' errors by their structure, or None."""
    bordered = features.as_bordered()
    if bordered is not None:
        index, inner, border = bordered.index[:size], bordered.inner[:size], bordered.border[:size]
        apart = len(np.unique(index)) == size
        if apart and not (border.any() and (index == features.shape[1] - 1).any()):
            return ErrorLaw(np.sqrt(inner * inner) * unit, border * unit)
    alike = features.as_exchangeable()
    if alike is None:
        return None
    c = alike.size * alike.shared**2 + 2 * alike.inner * alike.shared + (alike.border or 0.0) ** 2  # inner² I + c 11ᵀ
    if c >= 0:
        return ErrorLaw(np.full(size, abs(alike.inner) * unit), np.full(size, np.sqrt(c) * unit))
    across, along = alike.inner**2, max(alike.inner**2 + size * c, 0.0)
    own = np.full(size, np.sqrt(alike.inner**2 + c) * unit)
    return ErrorLaw(own, np.zeros(size), None, np.append(np.full(size - 1, across), along) * unit**2)


class StatedErrors:
    """What a plan says about the errors of all answers together, from their law.

    Of a mean: about its error times the released number of records (or rows), wherever within its bounds the mean lies
    (or where `mean_within` says). Except `rows_needed`, which is about the means themselves.
    """

    if TYPE_CHECKING:

        @property
        def error_law(self) -> ErrorLaw: ...  # each kind of plan has its own

    @property
    def expected_squared_error(self) -> float:
        """E Σ (error of answer i)², not weighted, the count left out; of means: the largest it can be."""
        return self.error_law.expected_squared_error

    @checks_arguments
    def squared_error_quantile(self, probability: float = CONFIDENCE) -> float:
        """What the sum of squared errors stays below with this probability: a quantile of a weighted χ² sum.

        >>> import gaussmith as gm
        >>> plan = gm.plan(gm.domains.Ball(2, 1), gm.Guarantee(mu=1))
        >>> round(plan.squared_error_quantile(0.95), 4), round(plan.maximum_error(0.95), 4)
        (5.9915, 2.2365)
        """
        return self.error_law.squared_error_quantile(probability)

    @checks_arguments
    def maximum_error(self, confidence: float = CONFIDENCE) -> float:
        """What the largest error stays below with this confidence; exact unless answers share more than one draw."""
        return self.error_law.maximum_error(confidence)

    def expected_maximum_error(self) -> float:
        """The expectation of the largest error; never too small."""
        return self.error_law.expected_maximum_error()

    @checks_arguments
    def rows_needed(self, error: float, confidence: float = CONFIDENCE) -> int:
        """The least number of rows for which all averages (sums over n, or means) are within `error`, this confident.

        For means it holds wherever within their bounds they lie, and also when it is a small number.

        >>> import gaussmith as gm
        >>> gm.plan(gm.Box([0] * 10, [1] * 10), gm.Guarantee(epsilon=1, delta=1e-6)).rows_needed(error=0.01)
        2455
        """
        return rows_needed(self.error_law, error, confidence)
