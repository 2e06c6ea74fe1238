"""A ball: records within a radius of a centre; records outside are clipped to its surface."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_coordinate_names, check_number, check_whole
from gaussmith.domains.outlines import centred_outlines, ellipse
from gaussmith.errors import DomainError, PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import norm_upward, product_upward, sqrt_upward, sum_upward
from gaussmith.numerics.linear import Array, Bordered, Matrix
from gaussmith.problem import Domain, Problem
from gaussmith.problem.codes import BallCodes
from gaussmith.proofs.ball import round_bound
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate, Candidates, Search, Way, try_ways
from gaussmith.shapes.coordinatewise import isotropic_round
from gaussmith.shapes.lifted import lifted_round
from gaussmith.values import dataclass
from gaussmith.workloads import Workload


@dataclass(frozen=True, eq=False, init=False)
class Ball(Domain):
    """The records x with ‖x − centre‖ ≤ radius.

    >>> Ball(3, radius=2)
    Ball(3 coordinates, radius 2)
    """

    kind = "ball"

    centre: Array
    ball_radius: float
    names: tuple[str, ...] | None

    def __init__(
        self,
        dimension: int,
        radius: float,
        centre: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        rule = "a ball has a whole number of coordinates, at least one"
        dimension = check_whole("dimension", dimension, 1, rule=rule, remedy="write Ball(3, 1)", error=DomainError)
        rule = "the radius must be a positive number below 1e150"
        remedy = "give the longest record you want to count in full"
        radius = check_number("radius", radius, above=0, below=1e150, rule=rule, remedy=remedy, error=DomainError)
        if radius < 1e-150:
            rule = "the radius must be at least 1e-150"
            raise DomainError(f"radius={radius!r}", rule, "rescale the columns", code="radius-too-small", radius=radius)
        try:
            middle = np.zeros(dimension) if centre is None else np.array(centre, float)
        except (TypeError, ValueError, OverflowError):
            middle = np.zeros((0, 0))
        if middle.shape != (dimension,) or not (np.abs(middle) < 1e150).all():
            raise DomainError(
                f"centre of shape {middle.shape}",
                f"it must hold {dimension} finite numbers below 1e150",
                "give one number per coordinate",
                code="centre-does-not-match-dimension",
                shape=middle.shape,
                dimension=dimension,
            )
        names = check_coordinate_names(names, dimension)
        middle.flags.writeable = False
        object.__setattr__(self, "centre", middle)
        object.__setattr__(self, "ball_radius", radius)
        object.__setattr__(self, "names", names)

    @cached_property
    def dimension(self) -> int:
        return len(self.centre)

    @cached_property
    def radius(self) -> Array:
        """The radius, once per coordinate: the value of one unit of the core."""
        return np.full(self.dimension, self.ball_radius)

    @property
    def spread(self) -> Array:
        """The mean squared distance of a mean from the centre, per coordinate, if it is uniform in the ball."""
        return np.full(self.dimension, self.ball_radius**2 / (self.dimension + 2))

    @property
    def means_vary_alone(self) -> bool:
        """No: a mean of records lies in the ball too."""
        return False

    @property
    def means_lie(self) -> str:
        return "anywhere in the ball"

    @property
    def reading(self) -> str:
        """The treatment of records, in plain words."""
        return (
            f"Records are vectors of {self.dimension} numbers within {self.ball_radius:.6g} of their centre; longer "
            "ones are clipped to that length. A record with a value that is missing or not finite becomes the centre."
        )

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> BallCodes:
        """The encoding of records as integers. A record with an odd value always becomes the centre."""
        return BallCodes(self.centre, self.ball_radius)

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound on ‖lift · s‖ over all differences s, rounded up.

        Under add-remove s = ±(z, 1) with ‖z‖ ≤ extent; under replace-one s = z with ‖z‖ ≤ 2·extent.
        """
        reach = 1.0 if extent is None else float(np.max(extent))
        private = neighbours == ADD_REMOVE
        expected = self.dimension + private
        if lift.shape[1] != expected:
            raise PlanError(
                f"a lift of {lift.shape[1]} columns",
                f"the domain has {expected} coordinates",
                "plan again",
                code="lift-does-not-match-domain",
                columns=lift.shape[1],
                coordinates=expected,
            )
        lift = _row_by_row(lift)
        varying = lift.index < self.dimension
        inner, border = np.abs(lift.inner[varying]), np.abs(lift.border[varying])
        last = np.abs(lift.inner[~varying]) + np.abs(lift.border[~varying])
        if not private and border.any():
            what = "a ball with a border under replace-one"
            raise PlanError(
                what, "it is used only with a private count", "plan again", code="ball-border-under-replace-one"
            )
        largest = product_upward(float(inner.max(initial=0.0)), _repeats(lift, self.dimension), reach)
        if not private:
            return 2.0 * largest
        # ‖lift·(z, 1)‖² ≤ (max inner · √repeats · ‖z‖ + ‖border‖)² + last²
        round_part = sum_upward([largest, norm_upward(border)])
        return norm_upward(np.append(last, round_part))

    def largest_change(self, lift: Matrix) -> float:
        """An upper bound on ‖lift · (s − s′)‖ over two records, with an add-remove lift; rounded up."""
        lift = _row_by_row(lift)
        inner = lift.inner[lift.index < self.dimension]
        return 2.0 * product_upward(float(np.abs(inner).max(initial=0.0)), _repeats(lift, self.dimension))

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        name = "lifted ball" if problem.secret_count and self.centre.any() else "round"
        ways = [Way("lifted", lambda: Candidate(lifted_round(problem, name)))]
        if problem.features.matrix is None:
            ways.append(Way("isotropic", lambda: Candidate(isotropic_round(problem))))
        return try_ways(ways, problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Shape]:
        return self, isotropic_round(problem)

    def closed_bound(self, problem: Problem[Any]) -> float:
        return round_bound(problem)

    def outlines(self, problem: Problem[Any], first: int, second: int) -> list[Array]:
        return centred_outlines(problem, lambda rows: ellipse(rows @ rows.T), first, second)

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"kind": self.kind, "radius": self.ball_radius, "centre": self.centre.tolist()}
        if self.names is not None:
            fields["names"] = list(self.names)
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Ball:
        return cls(len(fields["centre"]), fields["radius"], fields["centre"], fields.get("names"))

    def __hash__(self) -> int:
        return hash((self.centre.tobytes(), self.ball_radius, self.names))

    def __repr__(self) -> str:
        around = ", around a centre" if self.centre.any() else ""
        plural = "s" if self.dimension > 1 else ""
        return f"Ball({self.dimension} coordinate{plural}, radius {self.ball_radius:.6g}{around})"


def _row_by_row(lift: Matrix) -> Bordered:
    """A lift whose rows depend on one coordinate each; refuses others."""
    rows = lift.as_bordered()
    if rows is None:
        raise PlanError(
            "a ball with a dense lift", "a ball is lifted row by row", "plan again", code="dense-lift-of-ball"
        )
    return rows


def _repeats(lift: Bordered, dimension: int) -> float:
    """The square root of the largest number of rows that depend on one coordinate; 1 for every shape planned here."""
    varying = lift.index[lift.index < dimension]
    return sqrt_upward(float(np.bincount(varying).max())) if varying.size else 1.0
