"""Shapes for marginals of a product of categories: noise on residuals, each of its own size; the optimum.

A marginal splits into residuals, one for each subset of its attributes: what it says that no smaller marginal says.
With p_A the squared norm of a record's residual and v_A what a unit of noise there costs all marginals together,

    σ_A² = √(p_A T / v_A),    T = (Σ √(v_A p_A))² the least total.

The product of all attributes is never formed. Under replace-one the number of records is public.
"""

from __future__ import annotations

import numpy as np

from gaussmith.answers import Answers
from gaussmith.domains import Cells
from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array
from gaussmith.numerics.residual_maps import ResidualDecode, ResidualLift, Residuals
from gaussmith.numerics.residuals import plan_marginals
from gaussmith.shapes import Candidate, Shape
from gaussmith.shapes.laws import Law
from gaussmith.workloads import Marginals, Way

NAME = "residuals"


def of_marginals(domain: Cells, answers: Answers, neighbours: str) -> list[Candidate]:
    """The best shape for the marginals asked; the count, where asked and secret, is one more of them."""
    work = answers.workload
    assert isinstance(work, Marginals)
    private = neighbours == ADD_REMOVE
    _check(domain, answers, private)
    asked = answers.count and private
    ways, weights = asked_ways(answers, work, neighbours)
    best = plan_marginals(work.shape, ways, weights, neighbours)
    residuals = Residuals(work.shape, work.ways, best.subsets, best.variances)
    public = None
    if not private:
        public = np.repeat([1.0 / size for size in work.sizes], work.sizes)
    law = Law("even", best.lower)
    if best.patterns is not None:
        law = Law("patterns", best.lower, dict(zip(("differs", "weights"), best.patterns, strict=True)))
    return [Candidate(Shape(NAME, ResidualLift(residuals), ResidualDecode(residuals, asked), asked, public), law)]


def asked_ways(answers: Answers, work: Marginals, neighbours: str) -> tuple[list[Way], Array]:
    """The marginals and the weight of each; the count, where asked and secret, is one more of them."""
    ways, weights = list(work.ways), np.array([float(answers.weights[start]) for start in work.offsets])
    if answers.count and neighbours == ADD_REMOVE:
        if () in ways:
            weights[ways.index(())] += 1.0  # asked as a marginal and as the count: its error matters twice
        else:
            ways, weights = [*ways, ()], np.append(weights, 1.0)
    return ways, weights


def _check(domain: Cells, answers: Answers, private: bool) -> None:
    if answers.targets is not None:
        raise PlanError(
            "marginals with objective='worst'", "they are planned for the least total", "give weights, one per marginal"
        )
    if domain.or_none and (not private or answers.count):
        raise PlanError(
            "marginals of records that need not be in a cell",
            "under replace-one, and with the count, every record is in one",
            "declare a value for all others, and leave out or_none=True",
        )
