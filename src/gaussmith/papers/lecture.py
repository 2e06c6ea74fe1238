"""The Gaussian mechanism of the lecture slides: noise Δ₂²/ρ, an ε from a tail bound, and what it means for queries."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gaussmith.checks import check_probability, check_whole, checks_arguments
from gaussmith.errors import DomainError, GuaranteeError, PlanError
from gaussmith.papers.entry import UP, GaussianEntry, check_dimension, check_positive, claim
from gaussmith.papers.laws import Independent
from gaussmith.privacy.guarantee import Guarantee


@checks_arguments
def slides(
    *,
    dimension: int,
    delta: float,
    epsilon: float | None = None,
    rho: float | None = None,
    sensitivity: float = 1.0,
    neighbours: str = "replace-one",
) -> GaussianEntry:
    """Noise of variance Δ₂²/ρ, for any ρ; sound, because its ε comes from a Gaussian tail bound.

        ε = ρ/2 + √(2ρ ln(1/δ));     given ε instead:  √ρ = √(2 ln(1/δ) + 2ε) − √(2 ln(1/δ))

    The slides' ρ is μ², twice the ρ of zero-concentrated privacy.

    >>> entry = slides(dimension=2, rho=0.04, delta=1e-5)
    >>> round(entry.claimed.epsilon, 4), entry.standard_errors.round(3), entry.true_delta(entry.claimed.epsilon) < 1e-5
    (0.9797, array([5., 5.]), True)
    """
    d = check_dimension(dimension)
    sensitivity = check_positive("sensitivity", sensitivity)
    if (epsilon is None) == (rho is None):
        rule = "the slides take one of the two"
        raise GuaranteeError("epsilon and rho", rule, "give rho=, or epsilon=, not both", code="epsilon-and-rho")
    if rho is None:
        assert epsilon is not None
        claimed = claim(epsilon, delta)
        rho = rho_for(epsilon, delta)
    else:
        rho = check_positive("rho", rho)
        claim(1, delta)  # checks δ
        claimed = Guarantee(epsilon=epsilon_of(rho, delta), delta=delta)
    sigma = sensitivity / math.sqrt(rho) * UP
    return GaussianEntry(
        name="slides Gaussian",
        reference="Gaussian Noise Mechanism, lecture slides: privacy of the Gaussian noise mechanism",
        theorem="For every ρ and δ, noise of variance Δ₂²/ρ is (ρ/2 + √(2ρ ln(1/δ)), δ)-DP.",
        claimed=claimed,
        neighbours=neighbours,
        sound="yes",
        noise=Independent(np.full(d, sigma)),
        true_mu=sensitivity / sigma,
    )


@checks_arguments
def epsilon_of(rho: float, delta: float) -> float:
    """The slides' ε for noise of variance Δ₂²/ρ: ρ/2 + √(2ρ ln(1/δ))."""
    return rho / 2 + math.sqrt(-2 * rho * math.log(delta))


@checks_arguments
def rho_for(epsilon: float, delta: float) -> float:
    """The ρ with the given ε: the root of ρ/2 + √(2ρ ln(1/δ)) = ε, without cancellation."""
    L = -2 * math.log(delta)
    return (2 * epsilon / (math.sqrt(L + 2 * epsilon) + math.sqrt(L))) ** 2


@checks_arguments
def approximate_rho(epsilon: float, delta: float) -> float:
    """The slides' approximation ρ ≈ ε²/ln(1/δ): twice too large (errata, 8)."""
    return epsilon * epsilon / -math.log(delta)


@dataclass(frozen=True)
class CountingQueries:
    """k counting queries (fractions of n rows) under replace-one: the exact error distribution and the slides' bounds.

    `maximum_error` is the exact quantile of the largest error over all queries with the best calibration;
    `union_bound` what 2k·e^{−t²/2σ²} ≤ β gives with the slides' ρ.
    """

    queries: int
    rows: int
    epsilon: float
    delta: float
    failure: float
    standard_error: float
    maximum_error: float
    slides_standard_error: float
    union_bound: float


@checks_arguments
def counting_queries(*, queries: int, rows: int, epsilon: float, delta: float, failure: float) -> CountingQueries:
    """The error of k counting queries over n rows: exactly, and by the slides' bounds.

        Δ₂ ≤ √k/n,    exact: (2Φ(t/σ) − 1)^k = 1 − β, σ = Δ₂/μ,    slides: t = σ′√(2 ln(2k/β)), σ′ = Δ₂/√ρ

    >>> c = counting_queries(queries=100, rows=10_000, epsilon=1, delta=1e-6, failure=0.05)
    >>> round(c.maximum_error, 5), round(c.union_bound, 5)
    (0.01468, 0.02179)
    """
    from gaussmith.planning.error_distribution import normal_width

    k = check_whole("queries", queries, 1, error=DomainError)
    n = check_whole("rows", rows, 1, error=DomainError)
    rule = "the probability of failure must lie between 0 and 1"
    failure = check_probability("failure", failure, rule=rule, remedy="write failure=0.05", error=PlanError)
    sensitivity = counting_sensitivity(k, n)
    sigma = sensitivity / claim(epsilon, delta).mu
    sigma_slides = sensitivity / math.sqrt(rho_for(epsilon, delta))
    return CountingQueries(
        k,
        n,
        float(epsilon),
        float(delta),
        float(failure),
        sigma,
        sigma * normal_width(1 - failure, k),
        sigma_slides,
        sigma_slides * math.sqrt(2 * math.log(2 * k / failure)),
    )


@checks_arguments
def counting_sensitivity(queries: int, rows: int) -> float:
    """Δ₂ of k counting queries, each the fraction of n rows with some property, when one row is replaced: √k/n."""
    return math.sqrt(queries) / rows


@checks_arguments
def rows_needed(
    *, queries: int, error: float, epsilon: float, delta: float, failure: float, bound: str = "exact"
) -> int:
    """The least n with P(largest error ≥ error) ≤ failure; by the exact law, or by the slides' corrected bounds.

        exact: n = √k · w/(μ·error), w the simultaneous width      slides: n = √(2k ln(2k/β)) / (√ρ·error)

    >>> exact = rows_needed(queries=100, error=0.01, epsilon=1, delta=1e-6, failure=0.05)
    >>> exact, rows_needed(queries=100, error=0.01, epsilon=1, delta=1e-6, failure=0.05, bound="slides")
    (14677, 21790)
    """
    error = check_positive("error", error)
    if bound not in ("exact", "slides"):
        rule = 'it must be "exact" or "slides"'
        raise PlanError(f"bound={bound!r}", rule, 'write bound="exact"', code="unknown-slides-bound", bound=bound)
    at_one = counting_queries(queries=queries, rows=1, epsilon=epsilon, delta=delta, failure=failure)
    return math.ceil((at_one.maximum_error if bound == "exact" else at_one.union_bound) / error)
