"""Shapes for marginals of a product of categories: noise on residuals, with a separate size for each; the optimum.

A marginal splits into residuals, one for each subset of its attributes: what it adds to all smaller marginals.
With p_A the squared norm of a record's residual and v_A the cost over all marginals of a unit of noise there,

    σ_A² = √(p_A T / v_A),    T = (Σ √(v_A p_A))² the least total.

The product of all attributes is never formed. Under replace-one the number of records is public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.residual_maps import ResidualDecode, ResidualLift, Residuals
from gaussmith.numerics.residuals import plan_marginals
from gaussmith.problem import Law, Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate
from gaussmith.workloads import Marginals

if TYPE_CHECKING:
    from gaussmith.domains import Cells

NAME = "residuals"


def of_marginals(problem: Problem[Cells], work: Marginals) -> list[Candidate]:
    """The best shape for the requested marginals; the count, if asked for and secret, is one more marginal."""
    _check(problem)
    asked = problem.asks_secret_count
    ways, weights = work.weighted_ways(problem.features.weights, problem.secret_count_weight)
    best = plan_marginals(work.shape, ways, weights, problem.neighbours)
    residuals = Residuals(work.shape, work.ways, best.subsets, best.variances)
    public = None
    if not problem.secret_count:
        public = np.repeat([1.0 / size for size in work.sizes], work.sizes)
    law = Law("even", best.lower)
    if best.patterns is not None:
        law = Law("patterns", best.lower, dict(zip(("differs", "weights"), best.patterns, strict=True)))
    return [Candidate(Shape(NAME, ResidualLift(residuals), ResidualDecode(residuals, asked), asked, public), law)]


def _check(problem: Problem[Cells]) -> None:
    if problem.features.targets is not None:
        raise PlanError(
            "marginals with objective='worst'",
            "they are planned for the least total",
            "give weights, one per marginal",
            code="marginals-with-objective-worst",
        )
    if problem.domain.or_none and (not problem.secret_count or problem.count_weight > 0):
        raise PlanError(
            "marginals of records that need not be in a cell",
            "under replace-one, and with the count, every record is in one",
            "declare a value for all others, and leave out or_none=True",
            code="marginals-with-or-none",
        )
