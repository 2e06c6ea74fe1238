"""A box: every number of a record lies between its own two bounds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_coordinate_names, is_number
from gaussmith.domains.lift_norms import largest_vertex
from gaussmith.domains.outlines import centred_outlines, zonotope
from gaussmith.errors import DomainError, PlanError, nearest
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import norm_upward
from gaussmith.numerics.linear import Array, Bordered, Diagonal, Matrix, NormBounds
from gaussmith.numerics.norms import largest_norm
from gaussmith.problem import Domain, Law, Problem
from gaussmith.problem.codes import BoxCodes, centre_of, nearest_to_zero
from gaussmith.problem.domain import BoundsTable, Differences
from gaussmith.problem.law import check_law
from gaussmith.proofs.box import box_bound, box_differences, box_law, proven_signs
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate, Candidates, Search, Way, try_ways
from gaussmith.shapes.coordinatewise import elliptical, isotropic
from gaussmith.shapes.few_answers import has_few_vertices, solved_few
from gaussmith.shapes.lifted import lifted
from gaussmith.shapes.solved import is_worth_solving, solved, solved_replaced
from gaussmith.shapes.wide import is_dominated, wide
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.numerics.headed import Headed
    from gaussmith.problem.features import Features
    from gaussmith.workloads import Workload

MAX_CORNERS = 1 << 12
"""Limit on the corners checked to certify a dense lift."""

ODD_VALUES = (
    "Infinite values count as the nearer bound. Empty cells, values that are not numbers, and text that "
    "is not a number become the value in the last column. These rules do not depend on the data."
)


@dataclass(frozen=True, eq=False, init=False)
class Box(Domain):
    """The records x with lower ≤ x ≤ upper, coordinate by coordinate.

    >>> Box({"age": (0, 100), "income": (0, 2e5)})
    Box(age: 0 to 100, income: 0 to 200000)
    >>> Box([0, 0], [1, 1]).dimension
    2
    """

    kind = "box"
    columns_vary_alone = True

    lower: Array
    upper: Array
    names: tuple[str, ...] | None
    _codes: BoxCodes = field(repr=False)

    def __init__(
        self,
        lower: Mapping[str, tuple[float, float]] | Sequence[float] | npt.ArrayLike,
        upper: Sequence[float] | npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if isinstance(lower, Mapping):
            if upper is not None:
                raise DomainError(
                    "upper given together with a mapping",
                    "a mapping holds both bounds of each column",
                    "write Box({'age': (0, 100)})",
                    code="upper-beside-mapping",
                )
            names = [str(name) for name in lower]
            low, high = _pairs(lower)
        else:
            if upper is None:
                raise DomainError(
                    "upper bounds are missing",
                    "a box needs two bounds for every coordinate",
                    "write Box(lower, upper) or Box({'age': (0, 100)})",
                    code="upper-missing",
                )
            low, high = _numbers("lower", lower), _numbers("upper", upper)
        if low.shape != high.shape:
            raise DomainError(
                f"{low.size} lower and {high.size} upper bounds",
                "every coordinate needs one of each",
                "give lists of the same length",
                code="lower-and-upper-differ-in-number",
                lower=low.size,
                upper=high.size,
            )
        if low.size == 0:
            what, rule = "a box without coordinates", "there must be at least one"
            raise DomainError(what, rule, "name the columns you want", code="box-without-coordinates")
        names = check_coordinate_names(names, low.size)
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "names", names)
        self._check()
        low.flags.writeable = high.flags.writeable = False
        codes = BoxCodes.for_bounds(low, high, low, self.names)  # refuses bad bounds right away
        object.__setattr__(self, "_codes", codes)

    def _check(self) -> None:
        finite = np.isfinite(self.lower) & np.isfinite(self.upper)
        self._refuse_where(~finite, "both bounds must be finite numbers", code="bounds-not-finite")
        rule = "the lower bound must be below the upper bound"
        self._refuse_where(self.lower > self.upper, rule, code="bounds-reversed")
        constant = "the bounds must differ: a constant needs no release"
        self._refuse_where(self.lower == self.upper, constant, code="bounds-equal")
        far = (np.maximum(np.abs(self.lower), np.abs(self.upper)) >= 1e100) | (self.upper / 2 - self.lower / 2 < 5e-101)
        # squared errors must fit in doubles too
        rule = "bounds must lie within 1e100 of zero and at least 1e-100 apart"
        self._refuse_where(far, rule, "rescale the column to ordinary units", code="bounds-out-of-scale")

    def _refuse_where(self, wrong: npt.NDArray[np.bool_], rule: str, remedy: str = "", *, code: str) -> None:
        """Refuse the bounds of the first column that is wrong."""
        if wrong.any():
            j = int(np.argmax(wrong))
            low, high = self.lower[j], self.upper[j]
            what = f"bounds of {self.name(j)!r} = [{low:g}, {high:g}]"
            remedy = remedy or "give limits that are known without looking at the data (docs/bounds.md)"
            if code == "bounds-reversed":
                remedy = f"did you mean [{high:.15g}, {low:.15g}]? {remedy}"
            raise DomainError(what, rule, remedy, code=code, column=self.name(j), lower=low, upper=high)

    @cached_property
    def dimension(self) -> int:
        return len(self.lower)

    @cached_property
    def centre(self) -> Array:
        return self.lower / 2 + self.upper / 2

    @cached_property
    def radius(self) -> Array:
        """Half of each range."""
        return self.upper / 2 - self.lower / 2

    @property
    def spread(self) -> Array:
        """The mean squared distance of a mean from the centre, if it is uniform between the bounds."""
        return self.radius * self.radius / 3

    @property
    def reading(self) -> str:
        """The treatment of records, in plain words."""
        return "Values outside their bounds are clipped to the nearer bound."

    def codes(self, substitutes: Array, workload: Workload | None = None) -> BoxCodes:
        """The encoding of records of this box as integers."""
        return replace(self._codes, substitute=np.clip(substitutes, self.lower, self.upper))

    @cached_property
    def coded(self) -> tuple[Array, Array]:
        """Centre and half range of the points that codes represent: those of the bounds up to one part in 2^41."""
        half = self._codes.steps / 2 / self._codes.scale
        return self.lower + half, half

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound on ‖lift · s‖ over all differences s, rounded up.

        `extent` is the largest absolute value of each varying core coordinate of one record (1 by default).
        Under add-remove s = ±(z, 1) with |z_j| ≤ extent_j; under replace-one s = z with |z_j| ≤ 2·extent_j.
        """
        d = self.dimension
        extent = np.ones(d) if extent is None else extent
        if neighbours == ADD_REMOVE:
            bounds = np.append(extent, 1.0)
        else:
            bounds = 2.0 * extent
        if lift.shape[1] != len(bounds):
            raise PlanError(
                f"a lift of {lift.shape[1]} columns",
                f"the domain has {len(bounds)} coordinates",
                "plan again",
                code="lift-does-not-match-domain",
                columns=lift.shape[1],
                coordinates=len(bounds),
            )
        return lift.largest(
            NormBounds(
                dense=lambda matrix: _largest_corner(matrix, bounds, fixed=neighbours == ADD_REMOVE),
                diagonal=lambda lift: _largest_diagonal(lift, bounds),
                bordered=lambda lift: _largest_bordered(lift, bounds),
                factored=lambda lift: largest_vertex(lift, bounds, fixed=neighbours == ADD_REMOVE),
                headed=lambda lift: _largest_beside_head(lift, bounds, fixed=neighbours == ADD_REMOVE),
            )
        )

    def largest_change(self, lift: Matrix) -> float:
        """An upper bound on ‖lift · (s − s′)‖ over two records, with an add-remove lift; rounded up."""
        bounds = np.append(np.full(self.dimension, 2.0), 0.0)
        rows = lift.as_bordered()
        if rows is not None:
            return norm_upward(np.nextafter(np.abs(rows.inner) * bounds[rows.index], np.inf))
        return lift.largest(
            NormBounds(
                dense=lambda matrix: _largest_corner(matrix[:, :-1], bounds[:-1], fixed=False),
                factored=lambda lift: largest_vertex(lift.without_last(), bounds[:-1], fixed=False),
                headed=lambda lift: _largest_beside_head(lift, bounds, fixed=True),
            )
        )

    def corners(self) -> Array:
        """All 2^d corners of the centred cube {−1, 1}^d, one per row."""
        if 2**self.dimension > MAX_CORNERS:
            what, rule = f"a box of {self.dimension} coordinates", "it has too many corners to visit"
            raise PlanError(what, rule, "use a closed form", code="too-many-corners-of-box", dimension=self.dimension)
        return np.array(list(itertools.product((-1.0, 1.0), repeat=self.dimension)))

    # -- noise and its limit ----------------------------------------------------------------------------------------

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        off_centre = problem.secret_count and self.centre.any()
        name = "lifted box" if off_centre else "elliptical"
        ways = [Way("lifted", lambda: Candidate(lifted(problem, name)))]
        if has_few_vertices(problem):
            ways.append(Way("solved", lambda: solved_few(problem, search.gap)))
        elif problem.secret_count:
            ways.append(Way("solved", lambda: solved(problem, search.gap), is_worth_solving(problem)))
        elif problem.features.is_linear:
            ways.append(Way("solved", lambda: solved_replaced(problem, search.gap), is_worth_solving(problem)))
        if is_dominated(problem):
            ways.append(Way("wide", lambda: wide(problem, search.gap)))
        if problem.features.matrix is None:
            ways.append(Way("elliptical", lambda: Candidate(elliptical(problem))))
            ways.append(Way("isotropic", lambda: Candidate(isotropic(problem))))
        return try_ways(ways, problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Shape]:
        return self, isotropic(problem)

    def closed_bound(self, problem: Problem[Any]) -> float:
        return box_bound(problem)

    def bounding_law(self, problem: Problem[Any]) -> Law:
        return box_law(problem)

    def differences(self, problem: Problem[Any], law: Law) -> Differences | None:
        return box_differences(problem, law)

    def proven(self, problem: Problem[Any], law: Law) -> float:
        check_law(law.kind == "gaussian signs")
        return proven_signs(problem)

    # -- missing values, pictures and words -------------------------------------------------------------------------

    def substitutes(self, features: Features, missing: Mapping[str, float]) -> Array:
        """The point of the bounds nearest zero where sums are asked, the centre where means are.

        A coordinate used in both a sum and a mean needs an entry in `missing`.
        """
        known = [self.name(j) for j in range(self.dimension)] if missing else []
        for name in missing:
            if name not in known:
                what, rule = f"missing={{{name!r}: …}}", "it must name a column of the domain"
                raise PlanError(what, rule, nearest(name, known), code="missing-names-no-column", column=name)
        summed = np.zeros(self.dimension, bool)
        averaged = np.zeros(self.dimension, bool)
        if features.matrix is not None:
            summed[:] = True
        summed[features.index[~features.centred]] = True
        averaged[features.index[features.centred]] = True
        for j in np.flatnonzero(summed & averaged):
            if self.name(int(j)) not in missing:
                raise PlanError(
                    f"column {self.name(int(j))!r} is asked for both as a sum and as a mean",
                    "missing values are replaced differently in sums and means",
                    f"choose one value: missing={{{self.name(int(j))!r}: 0}}",
                    code="sum-and-mean-without-missing",
                    column=self.name(int(j)),
                )
        values = np.where(averaged, centre_of(self.lower, self.upper), nearest_to_zero(self.lower, self.upper))
        for name, value in missing.items():
            at = known.index(name)
            low, high = self.lower[at], self.upper[at]
            if not (is_number(value) and low <= value <= high):
                raise PlanError(
                    f"missing={{{name!r}: {value!r}}}",
                    f"a value that replaces missing ones must lie within the bounds {low:g} and {high:g}",
                    "choose a value inside them",
                    code="missing-outside-bounds",
                    column=name,
                    value=value,
                    low=low,
                    high=high,
                )
            values[at] = float(value)
        return np.asarray(values)

    def outlines(self, problem: Problem[Any], first: int, second: int) -> list[Array]:
        return centred_outlines(problem, zonotope, first, second)

    @property
    def largest_values(self) -> Array:
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    def bounds_table(self, problem: Problem[Any], places: Sequence[int], substitutes: Array) -> BoundsTable:
        numbers = (self.lower, self.upper, substitutes)
        rows = [(self.name(j), [float(each[j]) for each in numbers]) for j in places]
        return BoundsTable(("column", "from", "to", "a missing value becomes"), rows, ODD_VALUES)

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"kind": self.kind, "lower": self.lower.tolist(), "upper": self.upper.tolist()}
        if self.names is not None:
            fields["names"] = list(self.names)
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Box:
        return cls(fields["lower"], fields["upper"], fields.get("names"))

    def __hash__(self) -> int:
        return hash((self.lower.tobytes(), self.upper.tobytes(), self.names))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{self.name(j)}: {self.lower[j]:.6g} to {self.upper[j]:.6g}" for j in range(min(6, self.dimension))
        )
        return f"Box({shown}{', …' if self.dimension > 6 else ''})"


def _largest_diagonal(lift: Diagonal, bounds: Array) -> float:
    """max ‖lift·s‖ over all |s| ≤ bounds, rounded up."""
    return norm_upward(np.nextafter(np.abs(lift.entries) * bounds, np.inf))


def _largest_bordered(lift: Bordered, bounds: Array) -> float:
    """max ‖lift·s‖ over all |s| ≤ bounds, rounded up: each row sees one varying coordinate and the last one."""
    inner = np.nextafter(np.abs(lift.inner) * bounds[lift.index], np.inf)
    border = np.nextafter(np.abs(lift.border) * bounds[-1], np.inf)
    return norm_upward(np.nextafter(inner + border, np.inf))


def _largest_corner(lift: Array, bounds: Array, fixed: bool) -> float:
    """max ‖lift·s‖ over the corners s of ±bounds (the last one fixed if `fixed`), rounded up."""
    q = len(bounds)
    free = q - 1 if fixed else q
    if 2**free > MAX_CORNERS:
        what, rule = "a dense lift over many corners", f"at most {MAX_CORNERS} can be visited"
        raise PlanError(what, rule, "use a closed form", code="too-many-corners-for-dense-lift")
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=free))).reshape(-1, free)
    if fixed:
        signs = np.hstack([signs, np.ones((len(signs), 1))])
    return largest_norm(lift, signs * bounds)


def _largest_beside_head(lift: Headed, bounds: Array, fixed: bool) -> float:
    """An upper bound of ‖lift·s‖: the largest of the head over its corners, and of every other row by itself."""
    if not fixed:
        what, rule = "a headed lift under replace-one", "it is used only with a private count"
        raise PlanError(what, rule, "plan again", code="headed-lift-under-replace-one")
    others = lift.others
    inner = np.nextafter(np.abs(others.inner) * bounds[others.index], np.inf)
    border = np.nextafter(np.abs(others.border) * bounds[-1], np.inf)
    beside = np.nextafter(inner + border, np.inf)
    block = _largest_corner(lift.block.matrix, np.append(bounds[lift.over], bounds[-1]), fixed=True)
    return norm_upward(np.append(beside, block))


def _numbers(which: str, values: Any) -> Array:
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        what = f"{which} = {values!r}"[:120]
        rule = "bounds must be numbers, one per coordinate"
        remedy = "give a list or array of numbers"
        raise DomainError(what, rule, remedy, code="bounds-not-numbers", which=which, values=values) from None
    if array.ndim > 1:
        what = f"{which} has {array.ndim} dimensions"
        rule = "bounds must be a one-dimensional list"
        remedy = "give one number per coordinate"
        raise DomainError(what, rule, remedy, code="bounds-not-one-list", which=which, dimensions=array.ndim)
    return np.atleast_1d(array)


def _pairs(bounds: Mapping[str, tuple[float, float]]) -> tuple[Array, Array]:
    low, high = [], []
    for name, pair in bounds.items():
        try:
            below, above = pair
            low.append(float(below))
            high.append(float(above))
        except (TypeError, ValueError, OverflowError):
            what = f"bounds of {name!r} = {pair!r}"
            rule = "every column needs two numbers"
            remedy = f"write {{{name!r}: (0, 100)}}; only a gaussmith.Request learns bounds"
            raise DomainError(what, rule, remedy, code="bounds-not-two-numbers", column=name, bounds=pair) from None
    return np.array(low, float), np.array(high, float)
