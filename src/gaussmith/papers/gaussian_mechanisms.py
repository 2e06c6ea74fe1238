"""The Gaussian mechanism: the textbook calibration (proved for ε below 1), the exact one, and noise by column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gaussmith.checks import checks_arguments
from gaussmith.errors import DomainError, GuaranteeError
from gaussmith.numerics.exact import norm_upward
from gaussmith.papers.entry import UP, GaussianEntry, check_dimension, check_positive, check_vector, claim
from gaussmith.papers.laws import Independent


@checks_arguments
def classic(
    *, dimension: int, epsilon: float, delta: float, sensitivity: float = 1.0, neighbours: str = "add-remove"
) -> GaussianEntry:
    """Noise of the classic theorem; sound, but larger than necessary.

        σ = Δ₂ √(2 ln(1.25/δ)) / ε,   0 < ε < 1

    Requires (checked): ε < 1, which its proof needs (at δ = 1e-5 the formula itself first fails at ε = 8.42).

    >>> entry = classic(dimension=3, epsilon=0.5, delta=1e-5)
    >>> entry.standard_errors.round(2), entry.true_delta(0.5) < 1e-5
    (array([9.69, 9.69, 9.69]), True)
    """
    d = check_dimension(dimension)
    sensitivity = check_positive("sensitivity", sensitivity)
    claimed = claim(epsilon, delta)
    if epsilon >= 1:
        what, rule = f"epsilon={epsilon:g}", "the classic theorem is proved for ε < 1 only"
        remedy = "use gaussmith.papers.classic, which is exact for every ε and never noisier"
        raise GuaranteeError(what, rule, remedy, code="epsilon-beyond-classic-theorem", epsilon=epsilon)
    sigma = sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon * UP
    return GaussianEntry(
        name="classic Gaussian",
        reference="Dwork and Roth, The Algorithmic Foundations of Differential Privacy (2014), theorem A.1",
        theorem="For 0 < ε < 1, noise of standard deviation Δ₂√(2 ln(1.25/δ))/ε is (ε, δ)-DP.",
        claimed=claimed,
        neighbours=neighbours,
        sound="yes",
        noise=Independent(np.full(d, sigma)),
        true_mu=sensitivity / sigma,
    )


def unchecked_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The formula of the theorem at any ε, even where it is not proved, to show where it fails."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


# The analytic Gaussian mechanism: noise exactly as large as (ε, δ) needs.


@checks_arguments
def analytic(
    *, dimension: int, epsilon: float, delta: float, sensitivity: float = 1.0, neighbours: str = "add-remove"
) -> GaussianEntry:
    """The least noise of equal size that is (ε, δ)-DP, rounded up.

        σ = Δ₂/μ,   μ the largest with Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) ≤ δ

    >>> entry = analytic(dimension=3, epsilon=1, delta=1e-5)
    >>> entry.standard_errors.round(4), 0.999999e-5 < entry.true_delta(1) <= 1e-5
    (array([3.7306, 3.7306, 3.7306]), True)
    """
    d = check_dimension(dimension)
    sensitivity = check_positive("sensitivity", sensitivity)
    claimed = claim(epsilon, delta)
    sigma = sensitivity / claimed.mu * UP
    return GaussianEntry(
        name="analytic Gaussian",
        reference="Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy (2018), theorem 8",
        theorem="Noise of standard deviation σ is (ε, δ)-DP if and only if Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ) ≤ δ.",
        claimed=claimed,
        neighbours=neighbours,
        sound="yes",
        noise=Independent(np.full(d, sigma)),
        true_mu=sensitivity / sigma,
    )


# The elliptical Gaussian mechanism: more noise on wide coordinates, less on narrow ones.


@checks_arguments
def elliptical(
    *,
    sensitivity: Any,
    epsilon: float,
    delta: float,
    dimension: int | None = None,
    neighbours: str = "replace-one",
) -> GaussianEntry:
    """Noise proportional to the square root of each coordinate's sensitivity; sound, rounded up.

        σ_j² = Δ_j ‖Δ‖₁ / μ²,    total ‖Δ‖₁²/μ²   (equal noise: d ‖Δ‖₂²/μ²)

    `sensitivity` is Δ_j, the most that coordinate j of the sum changes: the width of its bounds under replace-one, the
    largest absolute value under add-remove. One number with `dimension=` applies to all coordinates.

    >>> entry = elliptical(sensitivity=[9, 1], epsilon=1, delta=1e-5)
    >>> (entry.standard_errors * entry.claimed.mu).round(3), round(entry.total_variance * entry.claimed.mu**2, 6)
    (array([9.487, 3.162]), 100.0)
    """
    widths = check_vector("sensitivity", sensitivity)
    if dimension is not None:
        d = check_dimension(dimension)
        if len(widths) not in (1, d):
            raise DomainError(
                f"dimension={d} for {len(widths)} sensitivities",
                "they must agree",
                "leave out dimension=",
                code="dimension-differs-from-sensitivities",
                dimension=d,
                sensitivities=len(widths),
            )
        widths = np.full(d, widths[0]) if len(widths) == 1 else widths
    claimed = claim(epsilon, delta)
    sigma = np.sqrt(widths * math.fsum(widths)) / claimed.mu * UP
    # The largest difference has every coordinate at its bound: sᵀΣ⁻¹s = Σ Δ_j²/σ_j².
    true_mu = norm_upward(widths / sigma)
    return GaussianEntry(
        name="elliptical Gaussian",
        reference="Pagh and Lebeda, Private Vector Aggregation when Coordinates have Different Sensitivity (2022)",
        theorem="If coordinate j changes by at most Δ_j, noise of variance Δ_j‖Δ‖₁σ² is as private as noise σ² on "
        "a sum of sensitivity 1, and no other independent noise has a smaller total.",
        claimed=claimed,
        neighbours=neighbours,
        sound="yes",
        noise=Independent(sigma),
        true_mu=true_mu,
    )
