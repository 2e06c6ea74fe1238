"""The report's algorithm 3 for Gaussian data: scale, clip the norm, add round noise, scale back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussmith.checks import checks_arguments
from gaussmith.errors import DomainError, nearest
from gaussmith.numerics import quadratic_forms
from gaussmith.numerics.exact import Array
from gaussmith.papers import quadratic_tails as tail_bounds
from gaussmith.papers import scaling as scalings
from gaussmith.papers.entry import UP, GaussianEntry, check_dimension, check_positive, check_vector, claim
from gaussmith.papers.gaussian_mechanisms import classic
from gaussmith.papers.laws import Independent
from gaussmith.privacy.neighbours import ADD_REMOVE, check

SCALINGS = ("report", "chebyshev", "improved", "round")
LEVELS = {
    "exact": quadratic_forms.quantile,
    "bernstein": tail_bounds.bernstein,
    "laurent-massart": tail_bounds.laurent_massart,
    "hanson-wright": tail_bounds.hanson_wright,
    "chebyshev": tail_bounds.chebyshev,
    "truncated-bernstein": tail_bounds.truncated_bernstein,
}
"""Methods to find an α with P(‖x̃‖² > α) ≤ 1/n; all but the first are bounds, each with its own range."""


@dataclass(frozen=True, eq=False)
class GaussianDataEntry(GaussianEntry):
    """Algorithm 3 with its numbers: what is clipped, and what that costs in addition to the noise."""

    sd: Array
    rows: float
    shares: Array
    """λ_j = b_j²σ_j², adding up to 1."""
    level: float
    """α: squared norms above it are clipped."""

    @property
    def multipliers(self) -> Array:
        """b_j = √λ_j/σ_j, by which coordinates are multiplied (theorem 4's b)."""
        return np.sqrt(self.shares) / self.sd

    @property
    def clipped_fraction(self) -> float:
        """The fraction of records that are clipped if they are normal as stated."""
        return quadratic_forms.tail(self.shares, self.level)

    @property
    def clipping_loss(self) -> float:
        """n · E‖x − clipped x‖²: the part of the error that the report leaves out (errata, 3)."""
        from gaussmith.papers.scaling import ClippingLoss

        per_record = ClippingLoss(self.shares, self.sd**2).at(np.array([self.level]))[0]
        return self.rows * float(per_record)

    @property
    def expected_error(self) -> float:
        """Noise and clipping together, as the report defines the error: relative to the true sum."""
        return self.total_variance + self.clipping_loss


@checks_arguments
def gaussian_data(
    *,
    sd: Any,
    epsilon: float,
    delta: float,
    rows: float,
    neighbours: str = "replace-one",
    scaling: str = "report",
    bound: str = "exact",
    as_published: bool = False,
) -> GaussianDataEntry:
    """Algorithm 3 on records with independent N(0, σ_j²) coordinates; private for any data, since it clips.

        b_j = 1/√(σ_j Σσ),   α: P(Σ (σ_j/Σσ) Z_j² > α) = 1/n,   total noise α (Σσ)²/μ² × (1 add-remove, 4 replace-one)

    scaling: "report" (theorem 4), "chebyshev" (its alternative), "improved" (least true noise), "round" (none).
    bound:   how α is found: "exact", or by a published bound, "bernstein" (refused outside its range),
             "laurent-massart", "hanson-wright", "chebyshev", "truncated-bernstein".
    as_published: the report's noise for its own neighbours, replacement: half of what is needed (errata, 1).

    >>> entry = gaussian_data(sd=[1, 0.5], epsilon=1, delta=1e-5, rows=10_000, neighbours="add-remove")
    >>> round(entry.clipped_fraction * 10_000, 6), entry.sound, entry.holds
    (1.0, 'corrected', True)
    """
    sigma = check_vector("sd", sd)
    n = check_positive("rows", rows)
    if n <= 1:
        rule = "a clip of one record in n needs n above 1"
        raise DomainError(f"rows={n:g}", rule, "give the number of records", code="too-few-rows-for-clip", rows=n)
    for name, value, known in (("scaling", scaling, SCALINGS), ("bound", bound, tuple(LEVELS))):
        if value not in known:
            rule, remedy = f"it must be {' or '.join(known)}", nearest(str(value), known)
            raise DomainError(f"{name}={value!r}", rule, remedy, code="unknown-gaussian-option", name=name, value=value)
    neighbours = "replace-one" if as_published else check(neighbours)
    claimed = claim(epsilon, delta)
    shares, level = _shares(sigma, 1 / n, scaling)
    if level is None:
        level = LEVELS[bound](shares, 1 / n)
    reach = math.sqrt(level) * (1 if neighbours == ADD_REMOVE else 2)
    noise = (math.sqrt(level) if as_published else reach) / claimed.mu * UP
    return GaussianDataEntry(
        name="Gaussian data" + (" as published" if as_published else ""),
        reference="Poulsen, Differentially private vector aggregation in the case of multivariate Gaussian data "
        "(2022), algorithm 3, theorems 4 and 5",
        theorem="Scaling by b_j = 1/√(σ_j Σσ), clipping the squared norm at α with P(‖x̃‖² > α) < 1/n and adding noise "
        "for sensitivity √α is (ε, δ)-DP, with expected squared error σ²α(Σσ)².",
        claimed=claimed,
        neighbours=neighbours,
        sound="no" if as_published else "corrected",
        noise=Independent(noise * sigma / np.sqrt(shares)),
        true_mu=reach / noise,
        sd=sigma,
        rows=n,
        shares=shares,
        level=level,
    )


def _shares(sd: Array, tail: float, way: str) -> tuple[Array, float | None]:
    """Shares with sum 1, and the level if the scaling method defines one."""
    values = sd * sd
    if way == "chebyshev":
        return scalings.chebyshev_shares(values)
    if way == "improved":
        return scalings.improved_shares(values, tail)
    return (scalings.report_shares(values) if way == "report" else values / values.sum()), None


@checks_arguments
def theorem_five_bound(sd: Any, rows: float) -> float:
    """The report's bound on the noise at σ_{ε,δ} = 1: Σσ (√(8 ln n Σσ²) + Σσ); refused outside its true range.

    Holds for ln n ≤ Σσ²/(8 max σ²); neither condition printed in the report is correct (errata, 3).

    >>> round(theorem_five_bound([1.0] * 100, 1000) / 100**2, 4)
    1.7434
    """
    sigma = check_vector("sd", sd)
    shares = sigma / sigma.sum()
    return tail_bounds.bernstein(shares, 1 / rows) * float(sigma.sum()) ** 2


# The clipped sum: records clipped to norm C, equal noise on every coordinate.

CALIBRATIONS = ("analytic", "classic")


@checks_arguments
def clipped(
    *,
    dimension: int,
    radius: float,
    epsilon: float,
    delta: float,
    neighbours: str = "add-remove",
    calibration: str = "analytic",
    as_published: bool = False,
) -> GaussianEntry:
    """Noise on a sum of records clipped to norm C, rounded up.

        σ = C/μ under add-remove, 2C/μ under replace-one;   `as_published`: C/μ under replace-one, which is half of it

    `calibration="classic"` has the report's own noise, √(2 ln(1.25/δ))/ε in place of 1/μ, refused for ε ≥ 1. The report
    defines neighbours by replacement and uses C as the sensitivity, but two records clipped to C can differ by 2C
    (errata, 1).

    >>> right = clipped(dimension=3, radius=2, epsilon=1, delta=1e-5, neighbours="replace-one")
    >>> wrong = clipped(dimension=3, radius=2, epsilon=1, delta=1e-5, as_published=True)
    >>> right.sound, right.holds, wrong.sound, wrong.holds, round(wrong.true_mu / wrong.claimed.mu, 6)
    ('corrected', True, 'no', False, 2.0)
    >>> report = clipped(dimension=3, radius=2, epsilon=0.5, delta=1e-5, calibration="classic", as_published=True)
    >>> report.standard_errors.round(2), report.holds
    (array([19.38, 19.38, 19.38]), False)
    """
    d, C = check_dimension(dimension), check_positive("radius", radius)
    neighbours = "replace-one" if as_published else check(neighbours)
    claimed = claim(epsilon, delta)
    reach = C if neighbours == ADD_REMOVE else 2 * C
    if calibration not in CALIBRATIONS:
        what, rule = f"calibration={calibration!r}", "it must be analytic or classic"
        remedy = nearest(str(calibration), CALIBRATIONS)
        raise DomainError(what, rule, remedy, code="unknown-calibration", calibration=calibration)
    of_one = UP / claimed.mu
    if calibration == "classic":
        of_one = float(classic(dimension=1, epsilon=epsilon, delta=delta).standard_errors[0])
    sigma = (C if as_published else reach) * of_one
    return GaussianEntry(
        name="clipped sum"
        + (", classic" if calibration == "classic" else "")
        + (" as published" if as_published else ""),
        reference="Poulsen, Differentially private vector aggregation in the case of multivariate Gaussian data "
        "(2022), section 3",
        theorem="Clipping every record to norm C makes the sensitivity of the sum C, so that noise for sensitivity C "
        "is (ε, δ)-DP.",
        claimed=claimed,
        neighbours=neighbours,
        sound="no" if as_published else "yes" if neighbours == ADD_REMOVE else "corrected",
        noise=Independent(np.full(d, sigma)),
        true_mu=reach / sigma,
    )
