"""Records that are only counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array, Matrix, NormBounds
from gaussmith.numerics.trace_roots import square_with_slack
from gaussmith.problem import Domain, Problem
from gaussmith.problem.codes import BoxCodes
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate, Candidates, Search, Way, try_ways
from gaussmith.shapes.coordinatewise import isotropic
from gaussmith.shapes.lifted import lifted
from gaussmith.values import dataclass
from gaussmith.workloads import Workload


@dataclass(frozen=True)
class Records(Domain):
    """The domain of a private count alone.

    >>> import gaussmith as gm
    >>> round(gm.plan(gm.Records(), gm.Guarantee(mu=1), count=True).errors()["count"], 9)
    1.0
    """

    kind = "records"
    columns_vary_alone = True

    @property
    def dimension(self) -> int:
        return 0

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    @property
    def centre(self) -> Array:
        return np.zeros(0)

    radius = spread = centre

    @property
    def reading(self) -> str:
        """The treatment of records, in plain words."""
        return "Only the number of records is asked for: no column is read."

    def codes(self, substitutes: Array, workload: Workload | None = None) -> BoxCodes:
        return BoxCodes.for_bounds([], [], [])

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """One record more or less changes the number by one."""
        if lift.shape[1] != (neighbours == ADD_REMOVE):
            what, rule = "a lift that does not fit a count", "a count has one coordinate"
            raise PlanError(what, rule, "plan again", code="lift-does-not-fit-count")
        return lift.largest(NormBounds(diagonal=lambda lift: float(np.abs(lift.entries).sum())))

    def largest_change(self, lift: Matrix) -> float:
        """Only the presence of a record can change."""
        return 0.0

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        return try_ways([Way("lifted", lambda: Candidate(lifted(problem, "count")))], problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Shape]:
        return self, isotropic(problem)

    def closed_bound(self, problem: Problem[Any]) -> float:
        return square_with_slack(float(np.sqrt(problem.offset_weight))) if problem.secret_count else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Records:
        return cls()
