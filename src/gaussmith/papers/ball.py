"""A ball: records within a radius of a centre; records outside are clipped to its surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_coordinate_names, check_number, check_whole, checks_arguments
from gaussmith.domains.domain import Domain, DomainWords, MeanRange, Problem, WorstCase
from gaussmith.domains.encoding import BallEncoding
from gaussmith.domains.extremes import Sphere
from gaussmith.domains.strategies import (
    Candidate,
    Candidates,
    Search,
    Strategy,
    Way,
    isotropic_round,
    lifted_round,
    try_ways,
)
from gaussmith.domains.workloads import Workload
from gaussmith.errors import DomainError, counted
from gaussmith.numerics.exact import Array
from gaussmith.numerics.trace_roots import square_down

if TYPE_CHECKING:
    from gaussmith.papers.gaussian import GaussianData


# The optimum in balls and ellipsoids, which a law on the sphere attains whatever is asked (docs/theory.md, 29).
#
# A record adds s = Bz + v with ‖z‖ ≤ 1, each answer scaled to the root of its weight: B takes what varies, v what
# every record adds through the centre and the count. With S = ‖B‖² (the sum of squares) and E = ‖v‖² a law on the
# sphere has
#
#     E zzᵀ = BᵀB/S,   E z = Bᵀv/√(SE),   so that   M = (BBᵀ/√S + vvᵀ/√E)²,   tr M^{1/2} = √S + √E.
#
# Where a record is replaced v drops out and z is twice as long: tr M^{1/2} = 2√S.

_UNIT = 2.0**-53


def round_bound(problem: Problem[Ball | GaussianData]) -> float:
    """(√S + √E)², or 4S under replace-one: no Gaussian noise at μ = 1 has a smaller weighted total; rounded down.

    Guarantee: at most the optimum in real arithmetic. Rounding: below it by some (d + answers)·2⁻⁵² of it.

    >>> import gaussmith as gm
    >>> ball = gm.domains.Ball(4, radius=3, centre=[1, 0, 0, 0])
    >>> problem = gm.plan(ball, gm.Guarantee(mu=1), count=True, weights="equal").block.problem
    >>> 0 < 1 - round_bound(problem) / (3 * 4**0.5 + 2**0.5) ** 2 < 1e-12
    True
    """
    root = np.sqrt(_spread_down(problem))
    root = root + np.sqrt(_offset_down(problem)) if problem.secret_count else 2.0 * root
    return square_down(float(root) * (1.0 - 8.0 * _UNIT))


def _spread_down(problem: Problem[Ball | GaussianData]) -> float:
    """S = Σ ω_j a_j² with every rounding given away; no term is negative."""
    squares = problem.coordinate_weights * problem.domain.radius**2
    return _down(float(squares.sum()), problem)


def _offset_down(problem: Problem[Ball | GaussianData]) -> float:
    """E = Σ w_i v_i² + e with every rounding given away: parts of a centre may cancel in an answer."""
    asked, centre = problem.features, problem.domain.centre
    if asked.matrix is None:
        at_centre = np.where(asked.centred, 0.0, np.abs(centre[asked.index]))
    else:
        doubt = 2.0 * (len(centre) + 4) * _UNIT * (np.abs(asked.matrix) @ np.abs(centre))
        at_centre = np.maximum(np.abs(asked.matrix @ centre) - doubt, 0.0)
    return _down(float((asked.weights * at_centre**2).sum()) + problem.count_weight, problem)


def _down(total: float, problem: Problem[Ball | GaussianData]) -> float:
    """A sum of terms that are not negative, less what a few roundings per coordinate and answer can add."""
    terms = problem.domain.dimension + problem.features.size + 16
    return max(0.0, total * (1.0 - 4.0 * terms * _UNIT) - terms * float(np.finfo(float).tiny))


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

    @checks_arguments
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
    def means(self) -> MeanRange:
        """A mean of records lies in the ball too."""
        squares = np.full(self.dimension, self.ball_radius**2 / (self.dimension + 2))
        return MeanRange(self.centre, self.radius, squares, vary_alone=False, words="anywhere in the ball")

    @property
    def words(self) -> DomainWords:
        return DomainWords(
            f"Records are vectors of {counted(self.dimension, 'number')} within {self.ball_radius:.6g} of their "
            "centre; longer ones are clipped to that length. A record with a value that is missing or not finite "
            "becomes the centre."
        )

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> BallEncoding:
        """The encoding of records as integers. A record with an odd value always becomes the centre."""
        return BallEncoding(self.centre, self.ball_radius)

    def extremes(self) -> Sphere:
        return Sphere(self.dimension)

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        name = "lifted ball" if problem.secret_count and self.centre.any() else "round"
        ways = [Way("lifted", lambda: Candidate(lifted_round(problem, name)))]
        if problem.features.matrix is None:
            ways.append(Way("isotropic", lambda: Candidate(isotropic_round(problem))))
        return try_ways(ways, problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Strategy]:
        return self, isotropic_round(problem)

    def bounding_law(self, problem: Problem[Any]) -> WorstCase:
        return WorstCase("closed", round_bound(problem))

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"kind": self.kind, "radius": self.ball_radius, "centre": self.centre.tolist()}
        if self.names is not None:
            fields["names"] = list(self.names)
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Ball:
        return cls(len(fields["centre"]), fields["radius"], fields["centre"], fields.get("names"))

    def __repr__(self) -> str:
        around = ", around a centre" if self.centre.any() else ""
        return f"Ball({counted(self.dimension, 'coordinate')}, radius {self.ball_radius:.6g}{around})"
