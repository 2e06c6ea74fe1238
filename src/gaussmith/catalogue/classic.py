"""The classic Gaussian mechanism: the textbook calibration, proved for ε below 1."""

from __future__ import annotations

import math

import numpy as np

from gaussmith.catalogue.entry import UP, GaussianEntry, check_dimension, check_positive
from gaussmith.catalogue.laws import Independent
from gaussmith.errors import GuaranteeError
from gaussmith.guarantee import Guarantee


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
    claimed = Guarantee(epsilon=epsilon, delta=delta)
    if epsilon >= 1:
        raise GuaranteeError(
            f"epsilon={epsilon:g}",
            "the classic theorem is proved for ε < 1 only",
            "use gaussmith.catalogue.analytic, which is exact for every ε and never noisier",
            code="epsilon-beyond-classic-theorem",
            epsilon=epsilon,
        )
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
