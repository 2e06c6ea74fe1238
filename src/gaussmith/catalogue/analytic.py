"""The analytic Gaussian mechanism: noise exactly as large as (ε, δ) needs."""

from __future__ import annotations

import numpy as np

from gaussmith.catalogue.entry import UP, GaussianEntry, check_dimension, check_positive
from gaussmith.catalogue.laws import Independent
from gaussmith.guarantee import Guarantee


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
    claimed = Guarantee(epsilon=epsilon, delta=delta)
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
