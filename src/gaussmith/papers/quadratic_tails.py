"""Published bounds on Q = Σ λ_j Z_j²: each gives an α with P(Q > α) ≤ tail, in the range in which it was proved.

`quadratic_forms.quantile` gives the smallest such α and is what plans use. These are for comparison. With
m = Σ λ_j, V = Var Q = 2 Σ λ_j², Λ = max λ_j and L = ln(1/tail):

    chebyshev             m + √(V/tail)                          any tail
    bernstein             m + 2√(V L)                            L ≤ V/(16 Λ²)            (lemma 3.2 of the report)
    laurent_massart       m + √(2 V L) + 2 Λ L                   any tail
    hanson_wright         m + max(√(4 V L), 8 Λ L)               any tail
    truncated_bernstein   m + (C L' + √(C² L'² + 18 V L'))/3     any tail (see there); C = 16 Λ, L' = ln(2/tail)
    uncentred_bernstein   4√(V L)                                false in general (see there); L ≤ 2V/m²
    square_tail           the law of a single λZ² itself         (lemma 3.1 of the report)

They are computed in doubles and rounded to nearest, not to a side.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gaussmith.errors import DomainError
from gaussmith.numerics import quadratic_forms


def chebyshev(weights: npt.ArrayLike, tail: float) -> float:
    """A value that Q exceeds with probability at most `tail`, from its variance alone: m + √(V/tail).

    Guarantee: P(Q > result) ≤ P(|Q − m| ≥ √(V/tail)) ≤ tail. Requires (checked): 0 < tail < 1.

    >>> round(chebyshev([1.0], 0.02), 9)
    11.0
    """
    m, V, _ = _moments(weights)
    return m + math.sqrt(V / quadratic_forms.check_tail(tail))


def bernstein(weights: npt.ArrayLike, tail: float) -> float:
    """A value that Q exceeds with probability at most `tail`, by the report's lemma 3.2: m + 2√(V ln(1/tail)).

    Guarantee: P(Q > result) ≤ tail. Requires (checked): ln(1/tail) ≤ V/(16 Λ²), which asks for many weights of similar
    size; beyond it the formula can lie below the true quantile, and is refused.

    >>> round(bernstein([1.0] * 100, 0.01), 6)
    160.697085
    """
    m, V, top = _moments(weights)
    L = -math.log(quadratic_forms.check_tail(tail))
    limit = V / (16 * top * top)
    if L > limit:
        what = f"tail={tail:g} for Bernstein's bound"
        rule = f"with these weights lemma 3.2 holds for tails from {math.exp(-limit):.3g}: ln(1/tail) ≤ Σλ²/(8 max λ²)"
        remedy = "use Laurent–Massart's bound (laurent_massart), which holds for any tail, or the exact quantile"
        raise DomainError(what, rule, remedy, code="tail-below-bernstein", tail=tail)
    return m + 2 * math.sqrt(V * L)


def laurent_massart(weights: npt.ArrayLike, tail: float) -> float:
    """A value that Q exceeds with probability at most `tail`: m + 2‖λ‖₂√x + 2‖λ‖_∞ x, x = ln(1/tail).

    Guarantee: P(Q ≥ result) ≤ tail for any weights and any tail (Laurent and Massart 2000, lemma 1).

    >>> round(laurent_massart([1.0], math.exp(-1)), 9)
    5.0
    """
    m, V, top = _moments(weights)
    x = -math.log(quadratic_forms.check_tail(tail))
    return m + math.sqrt(2 * V * x) + 2 * top * x


def hanson_wright(weights: npt.ArrayLike, tail: float) -> float:
    """A value that Q exceeds with probability at most `tail`, in the form of Hanson and Wright (1971), constant ⅛.

        P(Q − m > t) ≤ exp(−⅛ min(t²/‖λ‖₂², t/‖λ‖_∞))

    Guarantee: P(Q > result) ≤ tail for any weights and any tail. The paper leaves its constants open; ⅛ is proved in
    theory, statement 64.

    >>> round(hanson_wright([1.0], math.exp(-1)), 9)
    9.0
    """
    m, V, top = _moments(weights)
    L = -math.log(quadratic_forms.check_tail(tail))
    return m + max(math.sqrt(4 * V * L), 8 * top * L)


def truncated_bernstein(weights: npt.ArrayLike, tail: float) -> float:
    """The report's m + t with 2 exp(−(t²/2)/(V + C t/3)) = tail: Bernstein's inequality as if the terms were bounded.

    A heuristic as it was derived: the terms λ_j Z_j² are taken to stay below C = 16 Λ, which one in 15 787 does not, so
    that the inequality used does not apply. Its conclusion is nevertheless true, because the terms satisfy Bernstein's
    moment condition with 2Λ in place of C/3, and 2Λ < 16Λ/3; it is merely larger than need be.

    >>> truncated_bernstein([1.0], 1e-4) > laurent_massart([1.0], 1e-4)
    True
    """
    m, V, top = _moments(weights)
    C, L = 16 * top, math.log(2 / quadratic_forms.check_tail(tail))
    return m + (C * L + math.sqrt((C * L) ** 2 + 18 * V * L)) / 3


def uncentred_bernstein(weights: npt.ArrayLike, tail: float) -> float:
    """The level that the report's rule after theorem 5 clips at: 2t√(8Σλ²) with e^{−t²} = tail. Not a bound in general.

    Bernstein's inequality is for terms with mean 0, and these have mean λ_j: with many equal weights the level lies
    below the mean of Q, and nearly everything is clipped. Requires (checked): t ≤ 2√(Σλ²)/Σλ, the condition as printed.
    That allows tails from e^{−4} only; those of ¹⁄₁₀ and less kept to it wherever they were tried (errata, 12).

    >>> round(uncentred_bernstein([1.0], 0.1), 6)
    8.583864
    """
    m, V, _ = _moments(weights)
    L = -math.log(quadratic_forms.check_tail(tail))
    limit = 2 * V / (m * m)
    if L > limit:
        what = f"tail={tail:g} for the uncentred rule"
        rule = f"with these weights the condition printed in the report asks for tails from {math.exp(-limit):.3g}"
        remedy = "use bernstein, laurent_massart, or the exact quantile"
        raise DomainError(what, rule, remedy, code="tail-below-uncentred-rule", tail=tail)
    return 4 * math.sqrt(V * L)


def square_tail(variance: float, value: float) -> float:
    """P(X² > value) for X ~ N(0, variance), exactly: 2(1 − Φ(√(value/variance))), the report's lemma 3.1.

    >>> square_tail(4.0, 4.0 * 16) < 1e-4
    True
    """
    (checked,) = quadratic_forms.check_weights([variance])
    return math.erfc(math.sqrt(max(value, 0.0) / (2 * checked)))


def square_quantile(variance: float, tail: float) -> float:
    """The value that X² exceeds with probability `tail`, X ~ N(0, variance).

    >>> round(square_quantile(1.0, 0.05), 9)
    3.841458821
    """
    return quadratic_forms.quantile([variance], tail)


def _moments(weights: npt.ArrayLike) -> tuple[float, float, float]:
    """The mean and the variance of Q, and the largest weight."""
    lam = quadratic_forms.check_weights(weights)
    return float(lam.sum()), 2 * float((lam * lam).sum()), float(lam.max())


# Imhof's integral (1961) for the tail of Q = Σ λ_j Z_j², as the literature on quadratic forms evaluates it.
#
#     P(Q > q) = ½ + (1/π) ∫₀^∞ sin θ(u) / (u ρ(u)) du,   θ = ½ Σ arctan(λ_j u) − ½ q u,   ρ = ∏ (1 + λ_j² u²)^{1/4}
#
# It is cut off at U, where what is left is at most 1/(π k U^k ∏ √λ_j), k = d/2, and taken by the midpoint rule with
# step h, whose error is at most the probability that Q lies 4π/h away from q (Davies 1973). So the error is known
# beforehand, but it is absolute: a tail far below it has no correct digit. `quadratic_forms.tail`, which plans use,
# has a relative error instead. This one is for comparison.

MAX_NODES = 1 << 22
_CHUNK = 1 << 14


def imhof_tail(weights: npt.ArrayLike, value: float, error: float = 1e-6) -> float:
    """P(Σ λ_j Z_j² > value) by Imhof's integral, to an absolute error of `error` (and of rounding, about 1e-13).

    Requires (checked): weights finite, 0 or more, one above 0; `value` above 0; 1e-12 ≤ error ≤ 1. Refused where the
    integrand falls too slowly: for one weight, and for two or three where the error is to be small.

    >>> round(imhof_tail([1.0, 1.0, 1.0, 1.0], 9.487729036781154), 5)
    0.05
    """
    lam = quadratic_forms.check_weights(weights)
    lam = lam[lam > 0]
    if not (0 < value < math.inf and 1e-12 <= error <= 1):
        what, rule = f"value={value:g} and error={error:g}", "the value must be above 0, the error from 1e-12 to 1"
        raise DomainError(what, rule, "give the threshold, and say error=1e-6", code="imhof-out-of-range")
    q = float(value)
    k = len(lam) / 2
    log_end = (math.log(2 / (math.pi * k * error)) - float(np.log(lam).sum()) / 2) / k
    step = 4 * math.pi / max(q, laurent_massart(lam, error / 2))
    nodes = math.exp(min(log_end - math.log(step), 60.0))
    if nodes > MAX_NODES:
        what = f"{len(lam)} weights and error={error:g}"
        rule = f"Imhof's integral would take {nodes:.2g} nodes: its integrand falls like u^−{1 + k:g}"
        remedy = "use gaussmith.numerics.quadratic_forms.tail, which takes about sixty"
        raise DomainError(what, rule, remedy, code="imhof-too-slow")
    total = 0.0
    for first in range(0, math.ceil(nodes) + 1, _CHUNK):
        u = step * (np.arange(first, min(first + _CHUNK, math.ceil(nodes) + 1)) + 0.5)
        theta, log_rho = -q * u / 2, np.zeros_like(u)
        for weight in lam:
            theta += np.arctan(weight * u) / 2
            log_rho += np.log1p((weight * u) ** 2) / 4
        total += float((np.sin(theta) / u * np.exp(-log_rho)).sum())
    return 0.5 + step * total / math.pi
