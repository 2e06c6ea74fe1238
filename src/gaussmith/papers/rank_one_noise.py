"""R1SMG, the rank-one singular mechanism: a random length in one random direction. Not private as claimed.

It is included to be studied, compared and attacked. Nothing can be released with it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from gaussmith.checks import check_number, checks_arguments
from gaussmith.errors import DomainError, PlanError
from gaussmith.numerics.exact import Array
from gaussmith.papers.entry import Sound, check_dimension, check_positive, check_size, claim_holds
from gaussmith.papers.laws import normals
from gaussmith.privacy.guarantee import Guarantee

# The law of a random length in a random direction, z·u with z ~ N(0, σ²) and u uniform on the sphere of R^M.
#
# Averaged over u it has the density p(y) ∝ e^{−‖y‖²/2σ²} / ‖y‖^{M−1}. Seen from a shift s, ‖s‖ = Δ, the loss is
#
#     L(y) = ln p(y)/p(y−s) = h(‖y−s‖) − h(‖y‖),      h(r) = r²/2σ² + (M−1) ln r,
#
# and δ(ε) = E[(1 − e^{ε−L})₊]. Given the length r of y the loss falls with the cosine of the angle between y and s,
# so V = 1 − e^{ε−L} exceeds v exactly where the cosine is below a threshold c(r, v), and
#
#     E[V₊ | r] = ∫₀^1 F(c(r, v)) dv,      F(c) = P(cosine ≤ c) = I_{(1+c)/2}((M−1)/2, (M−1)/2).
#
# Nothing is subtracted, so that δ keeps its digits at every ε (the difference of two tails, P(L > ε) − e^ε Q(L > ε),
# does not: at M = 5 and ε = 90 the second lives in a ball of radius 1e-10 around the other centre). Solving h(r′) =
# h(r) + t for the threshold takes Wright's ω. Lengths run over many powers of ten, so the integral over the half-
# normal length is taken over ln r, in pieces that end where a threshold leaves [−1, 1].

_PIECES = 20
_NODES = 16
_LEVELS = 48


def true_delta(dimension: int, epsilon: float, sigma: float, shift: float = 1.0) -> float:
    """The smallest δ for which z·u hides a shift of length `shift` at `epsilon`; to about 1e-9 of itself.

        δ(ε) = E[(1 − e^{ε−L})₊]

    Requires (owed): dimension ≥ 2, epsilon ≥ 0, sigma and shift above 0. Rounding: nearest.

    >>> round(true_delta(10, 1.0, 49.183052236101155**0.5), 5)
    0.18141
    """
    M, scale = dimension, sigma / shift
    # Below the first length the loss is so large that nothing is left out; beyond the last the density is 0.
    ends = min(0.0, math.log(scale)) - epsilon / (M - 1) - 60.0, math.log(40 * scale + 40)
    with np.errstate(divide="ignore", over="ignore"):
        cuts = [*ends, *_crossings(ends, M, epsilon, scale)]
        u, weights = _crowded(_PIECES, _NODES)
        total = 0.0
        for low, high in itertools.pairwise(sorted(cuts)):
            r = np.exp(low + (high - low) * u)
            density = r * np.exp(-((r / scale) ** 2) / 2) * math.sqrt(2 / math.pi) / scale
            total += float((high - low) * (weights @ (density * _excess(r, M, epsilon, scale))))
    return min(1.0, total)


def nearest_centre_success(dimension: int, sigma: float, shift: float = 1.0) -> float:
    """How often guessing the nearer of the two centres is right: P(cosine < Δ/2r), the best any guess can do.

    >>> nearest_centre_success(100, 2.6632582336176043**0.5).__round__(3)
    0.991
    """
    return (1 + true_delta(dimension, 0.0, sigma, shift)) / 2


def _excess(r: Array, M: int, epsilon: float, scale: float) -> Array:
    """E[(1 − e^{ε−L})₊ | r]: the part that every direction has, and ∫ F(c(r, v)) dv over the rest."""
    from scipy.special import betainc

    own = _height(r, M, scale)
    least, most = (-np.expm1(np.minimum(epsilon + own - _height(far, M, scale), 0.0)) for far in (np.abs(1 - r), 1 + r))
    some = most > 0
    r, least, most = r[some, None], least[some, None], most[some, None]
    u, weights = _crowded(1, _LEVELS)
    v = least + (most - least) * u
    F = betainc((M - 1) / 2, (M - 1) / 2, np.clip((1 + _threshold(r, M, epsilon - np.log1p(-v), scale)) / 2, 0.0, 1.0))
    excess = np.zeros_like(own)
    excess[some] = least[:, 0] + (most - least)[:, 0] * (F @ weights)
    return excess


def _crowded(pieces: int, nodes: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1] that crowd towards the ends, where F may leave 0 or 1 like a half-integer power."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    u = (np.arange(pieces)[:, None] / pieces + (x + 1) / 2 / pieces).ravel()
    return u**3 * (10 - 15 * u + 6 * u * u), np.tile(w / 2 / pieces, pieces) * 30 * (u * (1 - u)) ** 2


def _height(r: Array, M: int, scale: float) -> Array:
    return np.asarray(r * r / (2 * scale * scale) + (M - 1) * np.log(r))


def _length(height: Array, M: int, scale: float) -> Array:
    """The inverse of h: with x = r²/((M−1)σ²) it reads x + ln x = 2h/(M−1) − ln((M−1)σ²)."""
    from scipy.special import wrightomega

    k = M - 1
    return np.asarray(scale * np.sqrt(k * wrightomega(2 * height / k - math.log(k * scale * scale))))


def _threshold(r: Array, M: int, loss: float | Array, scale: float) -> Array:
    """The cosine below which a point at distance r from its own centre loses more than `loss` (the shift is 1)."""
    other = _length(_height(r, M, scale) + loss, M, scale)
    return np.asarray(((r - other) * (r + other) + 1) / (2 * r))  # r² − r′², without cancelling squares


def _crossings(ends: tuple[float, float], M: int, epsilon: float, scale: float) -> list[float]:
    """The ln r where the threshold of ε crosses −1 or 1."""
    grid = np.linspace(*ends, 2001)
    inside = _threshold(np.exp(grid), M, epsilon, scale)
    found = []
    for edge in (-1.0, 1.0):
        side = inside > edge
        for i in np.flatnonzero(side[1:] != side[:-1]):
            low, high = float(grid[i]), float(grid[i + 1])
            for _ in range(60):
                middle = (low + high) / 2
                crossed = _threshold(np.exp(np.array([middle])), M, epsilon, scale)[0] > edge
                low, high = (middle, high) if crossed == side[i] else (low, middle)
            found.append((low + high) / 2)
    return found


@checks_arguments
def rank_one(*, dimension: int, epsilon: float, delta: float, sensitivity: float = 1.0) -> RankOne:
    """Noise z·u of the claimed variance, with its true δ; the claim is false at the usual (ε, δ) from M = 4 on.

        z ~ N(0, σ²), u uniform on the sphere,  σ² = 2Δ²/(εψ),  ψ = (δ Γ((M−1)/2) / (√π Γ(M/2)))^{2/(M−2)}

    With M = 3 the claim held wherever it was tried. With M ≥ 4 it holds at guarantees that protect nobody, or that no
    release can use: at δ = 1e-5 from ε = 18 on for M = 4, from 34 for M = 5, and not up to 100 for M = 10; for M = 4
    also at any ε if δ ≥ 0.09, and at δ = 1e-5 below ε = 1e-7. `holds` tells for given numbers.

    Requires (checked): M > 2.

    >>> entry = rank_one(dimension=10, epsilon=1, delta=1e-5)
    >>> round(entry.total_variance, 4), round(entry.true_delta(1), 4), entry.holds
    (49.1831, 0.1814, False)
    >>> rank_one(dimension=4, epsilon=30, delta=1e-5).holds, rank_one(dimension=4, epsilon=3, delta=1e-5).holds
    (True, False)
    """
    M = check_dimension(dimension)
    if M <= 2:
        what = f"dimension={M}"
        rule = "the rank-one mechanism is defined for more than 2 coordinates: its exponent is 2/(M−2)"
        remedy = "use gaussmith.papers.classic, which has no such limit"
        raise DomainError(what, rule, remedy, code="rank-one-dimension-too-small")
    sensitivity = check_positive("sensitivity", sensitivity)
    claimed = Guarantee(epsilon=epsilon, delta=delta)
    variance = sensitivity**2 * claimed_factor(M, float(epsilon), float(delta))
    return RankOne(M, claimed, sensitivity, variance)


@checks_arguments
def claimed_factor(dimension: int, epsilon: float, delta: float) -> float:
    """C_R = 2/(εψ), the variance claimed for sensitivity 1; falls towards 2/ε as M grows.

    >>> round(claimed_factor(4, 1, 1e-5)), round(claimed_factor(10**6, 1, 1e-5), 3)
    (400000, 2.0)
    """
    M = dimension
    log_base = math.log(delta) + math.lgamma((M - 1) / 2) - math.log(math.pi) / 2 - math.lgamma(M / 2)
    exponent = -2 / (M - 2) * log_base
    if exponent > 600:
        what = f"delta={delta:g} for {M} coordinates"
        rule = "the variance that the rank-one mechanism claims is too large for a double"
        remedy = "use a larger δ, or gaussmith.papers.classic"
        raise DomainError(what, rule, remedy, code="rank-one-variance-too-large", delta=delta)
    return 2 / epsilon * math.exp(exponent)


@dataclass(frozen=True, eq=False)
class RankOne:
    """The rank-one singular mechanism with a given variance of its length."""

    dimension: int
    claimed: Guarantee
    sensitivity: float
    variance: float
    sound: Sound = "no"

    name = "rank-one singular (R1SMG)"
    reference = "Ji and Li, Less is More: Revisiting the Gaussian Mechanism for Differential Privacy (2024)"
    theorem = (
        "For M > 2, noise z·u with z ~ N(0, 2Δ₂²/(εψ)) and u uniform on the sphere is (ε, δ)-DP, with expected squared "
        "error C_R Δ₂², C_R = 2/(εψ), which falls towards 2/ε as M grows."
    )
    neighbours = "add-remove"  # the paper does not define them: it only has a sensitivity

    @property
    def sigma(self) -> float:
        """The standard deviation of the length."""
        return math.sqrt(self.variance)

    @property
    def total_variance(self) -> float:
        """E‖z·u‖² = σ²: for the whole vector, not for one coordinate."""
        return self.variance

    @property
    def standard_errors(self) -> Array:
        """Each coordinate has variance σ²/M (uncorrelated, but far from independent)."""
        return np.full(self.dimension, math.sqrt(self.variance / self.dimension))

    def covariance(self) -> Array:
        """σ²/M · I, averaged over directions."""
        return np.eye(self.dimension) * self.variance / self.dimension

    def true_delta(self, epsilon: float) -> float:
        """The smallest δ that truly holds at ε, by quadrature, to a relative error below 1e-9 (theory, statement 17).

        δ(ε) = E[(1 − e^{ε−L})₊],   L = (‖y−s‖² − ‖y‖²)/2σ² + (M−1) ln(‖y−s‖/‖y‖)
        """
        rule = "ε must be from 0 to 700"
        epsilon = check_number(
            "epsilon", epsilon, low=0, high=700, rule=rule, remedy="give a number in this range", error=DomainError
        )
        return true_delta(self.dimension, epsilon, self.sigma, self.sensitivity)

    @cached_property
    def holds(self) -> bool:
        """Whether the claim is true with these numbers: with three coordinates, and at extreme ε or δ with more."""
        return claim_holds(self)

    def sample(self, size: int) -> Array:
        """`size` samples of the noise, one per row."""
        draws = normals(check_size(size), self.dimension + 1)
        directions = draws[:, :-1] / np.linalg.norm(draws[:, :-1], axis=1, keepdims=True)
        return np.asarray(self.sigma * draws[:, -1:] * directions)

    def calibrated(self) -> RankOne:
        """The same mechanism with the variance that its claim actually needs.

        >>> true = rank_one(dimension=10, epsilon=1, delta=1e-5).calibrated()
        >>> 0.999e-5 < true.true_delta(1) <= 1e-5, true.sound
        (True, 'corrected')
        """
        epsilon, delta = self.claimed.epsilon, self.claimed.delta
        assert epsilon is not None
        assert delta is not None
        low = high = math.log(self.sigma / self.sensitivity)
        while self._delta(epsilon, high) > delta:
            high += 2.0
        while self._delta(epsilon, low) <= delta:
            low -= 2.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._delta(epsilon, middle) > delta else (low, middle)
            if high - low < 1e-12:
                break
        sigma = self.sensitivity * math.exp(high) * (1 + 1e-9)  # more than the error of the quadrature
        return replace(self, variance=sigma * sigma, sound="corrected")

    def _delta(self, epsilon: float, log_scale: float) -> float:
        return true_delta(self.dimension, epsilon, math.exp(log_scale))

    # -- its law compared with the Gaussian's, which the abstract argues with ---------------------------------------

    def error_law(self, tails: tuple[float, ...] = (0.5, 0.1, 0.01, 0.001)) -> dict[str, SquaredErrorLaw]:
        """The law of ‖noise‖²: σ²χ²₁ here, σ_a²χ²_M for the analytic Gaussian; mean, quantiles, skewness, kurtosis."""
        analytic = (self.sensitivity / self.claimed.mu) ** 2
        return {
            "rank-one": SquaredErrorLaw.of_chi_square(self.variance, 1, tails),
            "analytic Gaussian": SquaredErrorLaw.of_chi_square(analytic, self.dimension, tails),
        }

    # -- the attack ---------------------------------------------------------------------------------------------------

    @property
    def attack_success(self) -> float:
        """How often the nearest-centre guess is right, exactly: (1 + δ(0))/2, the best any guess can be.

        >>> round(rank_one(dimension=100, epsilon=1, delta=1e-5).attack_success, 3)
        0.991
        """
        return nearest_centre_success(self.dimension, self.sigma, self.sensitivity)

    def attack(self, size: int) -> float:
        """The share of `size` tries in which the nearest-centre guess is right, half of them with each answer."""
        noise = self.sample(check_size(size))
        centres = np.zeros((2, self.dimension))
        centres[1, 0] = self.sensitivity
        truth = np.arange(size) % 2
        released = centres[truth] + noise
        apart = ((released[:, None, :] - centres[None]) ** 2).sum(axis=2)
        return float((apart.argmin(axis=1) == truth).mean())

    # -- no release ---------------------------------------------------------------------------------------------------

    @property
    def refusal(self) -> PlanError:
        """The error for attempts to release with it; the planner raises it too."""
        return PlanError(
            "the rank-one singular mechanism is not private as claimed",
            "its noise, averaged over directions, is so peaked that the nearer of two candidate answers is almost "
            "surely the true one in high dimension; at its claimed (1, 1e-5) the true δ is 0.18 for 10 coordinates and "
            "0.97 for 100",
            "use gaussmith.plan(domain, guarantee): calibrated correctly, this mechanism has millions of times more "
            "error",
            code="rank-one-not-private",
        )

    def release(self, *data: Any, **options: Any) -> NoReturn:
        """Refuse, with the reason."""
        raise self.refusal


@dataclass(frozen=True)
class SquaredErrorLaw:
    """The law of a squared error that is `scale` times χ² with so many degrees of freedom."""

    mean: float
    skewness: float
    kurtosis: float
    """Excess over the normal distribution, which has 0."""
    relative_spread: float
    quantiles: dict[float, float]
    """Quantiles by the probability of exceeding them."""

    @classmethod
    def of_chi_square(cls, scale: float, degrees: int, tails: tuple[float, ...]) -> SquaredErrorLaw:
        """mean k, variance 2k, skewness √(8/k), excess kurtosis 12/k, all of χ²_k.

        >>> law = SquaredErrorLaw.of_chi_square(2.0, 1, (0.5,))
        >>> law.mean, round(law.skewness, 3), law.kurtosis, round(law.quantiles[0.5], 4)
        (2.0, 2.828, 12.0, 0.9099)
        """
        from scipy.special import chdtri

        k = degrees
        quantiles = {tail: float(scale * chdtri(k, tail)) for tail in tails}
        return cls(scale * k, math.sqrt(8 / k), 12 / k, math.sqrt(2 / k), quantiles)
