"""Second moments of a ball: the squares and products of records x with ‖x‖ ≤ radius, Σ xxᵀ.

With z = x / radius a record is v = (z_i z_j), i ≤ j, and ‖zzᵀ‖ = ‖z‖² ≤ 1 in the norm of matrices (Frobenius). All
rotations keep this set, so the best noise has one variance on the trace and one on all that is orthogonal to it:

    ‖lift v‖² = (β + γ) ‖z‖⁴   for a lift with   liftᵀ lift = β·(1 for squares, 2 for products) + γ·(trace)(trace)ᵀ.

The difference of two records has ‖zzᵀ − z′z′ᵀ‖² ≤ ‖z‖⁴ + ‖z′‖⁴, and is longest where both have length 0 or 1:
‖lift (v − v′)‖² ≤ max(2β, β + γ). Other lifts are bounded by what they differ from such a one (docs/theory.md, 59).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.checks import check_coordinate_names
from gaussmith.domains.ball import Ball
from gaussmith.domains.ball_moment_codes import BallMomentCodes
from gaussmith.domains.lift_norms import check_columns
from gaussmith.errors import DomainError, PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import norm_upward, sqrt_upward
from gaussmith.numerics.linear import Array, Matrix
from gaussmith.problem import Domain, Problem
from gaussmith.proofs.ball_moments import ball_moment_bound
from gaussmith.shapes import Shape
from gaussmith.shapes.ball_moments import invariant_shape, isotropic_invariant
from gaussmith.shapes.candidates import Candidate, Candidates, Search, Way, try_ways
from gaussmith.values import dataclass
from gaussmith.workloads import Workload

MAX_COLUMNS = 32
"""Limit on the columns: 528 squares and products, whose lift is written down."""


@dataclass(frozen=True, eq=False, init=False)
class BallMoments(Domain):
    """Records x with ‖x‖ ≤ radius, of which x_i x_j is added up for all i ≤ j: the matrix Σ xxᵀ.

    "relative" weights count every entry of the symmetric matrix: a product of two columns stands there twice.

    >>> import gaussmith as gm
    >>> plan = gm.plan(BallMoments(10, radius=1), gm.Guarantee(mu=1), weights="relative")
    >>> round(plan.total_variance, 1), plan.names[:2]                # round noise: 55
    (53.1, ('0²', '0·1'))
    """

    kind = "ball moments"

    ball: Ball

    def __init__(self, dimension: int, radius: float, names: Sequence[str] | None = None) -> None:
        ball = Ball(dimension, radius, names=check_coordinate_names(names, dimension) if names is not None else None)
        if ball.dimension > MAX_COLUMNS:
            raise DomainError(
                f"moments of {ball.dimension} columns of a ball",
                f"at most {MAX_COLUMNS} columns have their squares and products released together",
                "ask for fewer columns",
                code="too-many-columns-of-ball-moments",
                columns=ball.dimension,
            )
        if not 1e-70 <= ball.ball_radius <= 1e70:
            what, rule = f"radius={ball.ball_radius!r} of moments", "the fourth power of the radius must be a double"
            raise DomainError(what, rule, "rescale the columns", code="radius-of-moments-out-of-range")
        object.__setattr__(self, "ball", ball)

    # -- coordinates ------------------------------------------------------------------------------------------------

    @property
    def columns_count(self) -> int:
        """d: how many columns are read."""
        return self.ball.dimension

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The two columns of every coordinate."""
        return tuple(itertools.combinations_with_replacement(range(self.columns_count), 2))

    @cached_property
    def is_square(self) -> Any:
        """Which coordinates are squares."""
        return np.array([i == j for i, j in self.pairs])

    @property
    def basis(self) -> tuple[Array, Array]:
        """By what coordinates are multiplied to be orthonormal among matrices, and the unit vector of the trace."""
        d = self.columns_count
        return np.where(self.is_square, 1.0, math.sqrt(2)), np.where(self.is_square, 1 / math.sqrt(d), 0.0)

    @property
    def dimension(self) -> int:
        return len(self.pairs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        own = [self.ball.name(j) for j in range(self.columns_count)]
        return tuple(f"{own[i]}²" if i == j else f"{own[i]}·{own[j]}" for i, j in self.pairs)

    @property
    def columns(self) -> Sequence[str] | None:
        return self.ball.names

    def read_from(self, j: int) -> tuple[int, ...]:
        return self.pairs[j]

    @cached_property
    def centre(self) -> Array:
        return np.zeros(self.dimension)

    @cached_property
    def radius(self) -> Array:
        return np.full(self.dimension, self.ball.ball_radius**2)

    @cached_property
    def coded(self) -> tuple[Array, Array]:
        return self.centre, self.radius * self.codes(self.centre).stretch

    @property
    def spread(self) -> Array:
        return self.radius**2 / 3

    @property
    def means_vary_alone(self) -> bool:
        return False

    @property
    def means_lie(self) -> str:
        return "anywhere in the ball"

    @property
    def ranges(self) -> Array:
        """What weights are relative to: a product of two columns stands twice in the matrix."""
        return np.where(self.is_square, self.radius, self.radius / math.sqrt(2))

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> BallMomentCodes:
        return BallMomentCodes(self.ball.codes(), self.pairs)

    # -- privacy ----------------------------------------------------------------------------------------------------

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound on ‖lift · s‖ over all differences s of neighbours, rounded up; s has no constant to see."""
        private = neighbours == ADD_REMOVE
        check_columns(lift, self.dimension + private)
        entries = lift.exact_entries()
        if private and entries[:, -1].any():
            what, rule = "a lift of ball moments that counts", "the number of records has no noise with them"
            raise PlanError(what, rule, "plan again", code="lift-of-ball-moments-counts")
        reach = Fraction(1 if extent is None else float(np.max(extent)))
        return self._bounded(entries[:, : self.dimension], reach, two=not private)

    def largest_change(self, lift: Matrix) -> float:
        return self._bounded(lift.exact_entries()[:, : self.dimension], Fraction(1), two=True)

    def _bounded(self, L: Array, reach: Fraction, two: bool) -> float:
        """√(β + γ + doubt), or √(max(2β, β + γ) + 2·doubt) for two records, times the reach; rounded up."""
        scale = float(np.abs(L).max(initial=0.0))
        if scale == 0:
            return 0.0
        unit = 2.0 ** math.floor(math.log2(scale))
        A = L / unit  # exact: a power of two
        G = A.T @ A
        doubt = (len(A) + 8) * 2.0**-52 * (np.abs(A).T @ np.abs(A)) * 1.01
        square = self.is_square
        d = int(square.sum())
        beta = float(np.diag(G)[~square].mean()) / 2 if d > 1 else 0.0
        beside = G[np.ix_(square, square)]
        gamma = float(beside[~np.eye(d, dtype=bool)].mean()) if d > 1 else float(beside[0, 0])
        model = np.diag(np.where(square, beta, 2 * beta)) + gamma * np.outer(square, square)
        rest = (np.abs(G - model) + doubt + 2.0**-50 * (np.abs(G) + np.abs(model))) * (1 + 2.0**-40)
        most = Fraction(beta) + Fraction(gamma)
        most = max(2 * Fraction(beta), most) if two else most
        found = max(most, Fraction(0)) + (2 if two else 1) * Fraction(norm_upward(rest.ravel()))
        return sqrt_upward(found * (Fraction(unit) * reach) ** 2)

    # -- noise and its limit ----------------------------------------------------------------------------------------

    def check(self, problem: Problem[Any]) -> None:
        super().check(problem)
        if problem.count_weight or problem.features.centred.any():
            raise PlanError(
                "the number of records, or means, with the moments of a ball",
                "their sums are released alone",
                "ask for sums; count in a plan of its own, or use gaussmith.Moments",
                code="ball-moments-with-count",
            )

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        ways = [Way("invariant", lambda: Candidate(invariant_shape(problem)))]
        ways.append(Way("isotropic", lambda: Candidate(isotropic_invariant(problem))))
        return try_ways(ways, problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Shape]:
        return self, isotropic_invariant(problem)

    def closed_bound(self, problem: Problem[Any]) -> float:
        return ball_moment_bound(problem)

    # -- words ------------------------------------------------------------------------------------------------------

    @property
    def reading(self) -> str:
        return f"{self.ball.reading} What is added up is the square of every number and the product of every two."

    def to_dict(self) -> dict[str, Any]:
        names = None if self.ball.names is None else list(self.ball.names)
        return {"kind": self.kind, "columns": self.columns_count, "radius": self.ball.ball_radius, "names": names}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> BallMoments:
        return cls(fields["columns"], fields["radius"], fields["names"])

    def __hash__(self) -> int:
        return hash((self.kind, self.ball))

    def __repr__(self) -> str:
        return f"BallMoments({self.columns_count} columns, radius {self.ball.ball_radius:.6g})"
