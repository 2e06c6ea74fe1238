"""A box: every number of a record lies between its own two bounds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_coordinate_names, checks_arguments, is_number
from gaussmith.domains.box_bounds import box_bound, box_differences, box_law, proven_signs
from gaussmith.domains.box_strategies import has_few_vertices, is_worth_solving, solved, solved_few, solved_replaced
from gaussmith.domains.domain import (
    BoundsTable,
    Differences,
    Domain,
    DomainWords,
    Problem,
    WorstCase,
    check_law,
)
from gaussmith.domains.encoding import BoxEncoding, centre_of, nearest_to_zero
from gaussmith.domains.extremes import MAX_LISTED, Signs
from gaussmith.domains.strategies import (
    Candidate,
    Candidates,
    Search,
    Strategy,
    Way,
    elliptical,
    isotropic,
    lifted,
    try_ways,
)
from gaussmith.domains.workloads import Workload
from gaussmith.errors import DomainError, PlanError, nearest
from gaussmith.numerics.exact import Array
from gaussmith.numerics.trace_roots import square_with_slack

if TYPE_CHECKING:
    from gaussmith.domains.features import Features


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

    lower: Array
    upper: Array
    names: tuple[str, ...] | None
    _codes: BoxEncoding = field(repr=False)

    @checks_arguments
    def __init__(
        self,
        lower: Mapping[str, tuple[float, float]] | Sequence[float] | npt.ArrayLike,
        upper: Sequence[float] | npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if isinstance(lower, Mapping):
            if upper is not None:
                what, rule = "upper given together with a mapping", "a mapping holds both bounds of each column"
                raise DomainError(what, rule, "write Box({'age': (0, 100)})", code="upper-beside-mapping")
            names = [str(name) for name in lower]
            low, high = _pairs(lower)
        else:
            if upper is None:
                what, rule = "upper bounds are missing", "a box needs two bounds for every coordinate"
                raise DomainError(what, rule, "write Box(lower, upper) or Box({'age': (0, 100)})", code="upper-missing")
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
        codes = BoxEncoding.for_bounds(low, high, low, self.names)  # refuses bad bounds right away
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
    def words(self) -> DomainWords:
        return DomainWords("Values outside their bounds are clipped to the nearer bound.")

    def codes(self, substitutes: Array, workload: Workload | None = None) -> BoxEncoding:
        """The encoding of records of this box as integers."""
        return replace(self._codes, substitute=np.clip(substitutes, self.lower, self.upper))

    @cached_property
    def coded(self) -> tuple[Array, Array]:
        """Centre and half range of the points that codes represent: those of the bounds up to one part in 2^41."""
        half = self._codes.steps / 2 / self._codes.scale
        return self.lower + half, half

    def extremes(self) -> Signs:
        return Signs(self.dimension)

    def corners(self) -> Array:
        """All 2^d corners of the centred cube {−1, 1}^d, one per row."""
        if 2**self.dimension > MAX_LISTED:
            what, rule = f"a box of {self.dimension} coordinates", "it has too many corners to visit"
            raise PlanError(what, rule, "use a closed form", code="too-many-corners-of-box", dimension=self.dimension)
        return np.array(list(itertools.product((-1.0, 1.0), repeat=self.dimension)))

    # -- noise and its limit ----------------------------------------------------------------------------------------

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        off_centre = problem.secret_count and self.centre.any()
        name = "lifted box" if off_centre else "elliptical"
        ways = [Way("lifted", lambda: Candidate(lifted(problem, name)))]
        several = self.dimension > 1  # of one coordinate the closed form is the best
        if problem.features.matrix is not None and has_few_vertices(problem):
            ways.append(Way("solved", lambda: solved_few(problem, search.gap)))
        elif problem.secret_count:
            ways.append(Way("solved", lambda: solved(problem, search.gap), several and is_worth_solving(problem)))
        elif problem.features.is_linear:
            tried = several and is_worth_solving(problem)
            ways.append(Way("solved", lambda: solved_replaced(problem, search.gap), tried))
        if problem.features.matrix is None:
            ways.append(Way("elliptical", lambda: Candidate(elliptical(problem))))
            ways.append(Way("isotropic", lambda: Candidate(isotropic(problem))))
        return try_ways(ways, problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Strategy]:
        return self, isotropic(problem)

    def bounding_law(self, problem: Problem[Any]) -> WorstCase:
        return box_law(problem)

    def differences(self, problem: Problem[Any], law: WorstCase) -> Differences | None:
        return box_differences(problem, law)

    def proven(self, problem: Problem[Any], law: WorstCase) -> float:
        check_law(law.kind in ("closed", "gaussian signs"))
        return box_bound(problem) if law.kind == "closed" else proven_signs(problem)

    # -- missing values, pictures and words -------------------------------------------------------------------------

    def substitutes(self, features: Features, missing: Mapping[str, float]) -> Array:
        """The point of the bounds nearest zero where sums are asked, the centre where means are.

        A coordinate used in both a sum and a mean needs an entry in `missing`.
        """
        summed = np.full(self.dimension, features.matrix is not None)
        averaged = np.zeros(self.dimension, bool)
        summed[features.index[~features.centred]] = True
        averaged[features.index[features.centred]] = True
        for name in (self.name(int(j)) for j in np.flatnonzero(summed & averaged)):
            if name not in missing:
                what, rule = (
                    f"column {name!r} is asked for both as a sum and as a mean",
                    ("missing values are replaced differently in sums and means"),
                )
                remedy = f"choose one value: missing={{{name!r}: 0}}"
                raise PlanError(what, rule, remedy, code="sum-and-mean-without-missing", column=name)
        return self.replaced(
            np.where(averaged, centre_of(self.lower, self.upper), nearest_to_zero(self.lower, self.upper)), missing
        )

    def replaced(self, values: Array, missing: Mapping[str, float]) -> Array:
        """These substitutes, but for columns that `missing` names; refuses values outside their bounds."""
        values, known = np.array(values), [self.name(j) for j in range(self.dimension)] if missing else []
        for name, value in missing.items():
            if name not in known:
                what, rule = f"missing={{{name!r}: …}}", "it must name a column of the domain"
                raise PlanError(what, rule, nearest(name, known), code="missing-names-no-column", column=name)
            at = known.index(name)
            low, high = self.lower[at], self.upper[at]
            if not (is_number(value) and low <= value <= high):
                what = f"missing={{{name!r}: {value!r}}}"
                rule = f"a value that replaces missing ones must lie within the bounds {low:g} and {high:g}"
                fields = {"column": name, "value": value, "low": low, "high": high}
                raise PlanError(what, rule, "choose a value inside them", code="missing-outside-bounds", **fields)
            values[at] = float(value)
        return values

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

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{self.name(j)}: {self.lower[j]:.6g} to {self.upper[j]:.6g}" for j in range(min(6, self.dimension))
        )
        return f"Box({shown}{', …' if self.dimension > 6 else ''})"


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


# Records that are only counted.


@dataclass(frozen=True)
class Records(Domain):
    """The domain of a private count alone.

    >>> import gaussmith as gm
    >>> round(gm.plan(gm.Records(), gm.Guarantee(mu=1), count=True).errors()["count"], 9)
    1.0
    """

    kind = "records"

    @property
    def dimension(self) -> int:
        return 0

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    @property
    def centre(self) -> Array:
        return np.zeros(0)

    radius = centre

    @property
    def words(self) -> DomainWords:
        return DomainWords("Only the number of records is asked for.")

    def codes(self, substitutes: Array, workload: Workload | None = None) -> BoxEncoding:
        return BoxEncoding.for_bounds([], [], [])

    def extremes(self) -> Signs:
        """One record more or less changes the number by one, and nothing else can change."""
        return Signs(0)

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        return try_ways([Way("lifted", lambda: Candidate(lifted(problem, "count")))], problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Strategy]:
        return self, isotropic(problem)

    def bounding_law(self, problem: Problem[Any]) -> WorstCase:
        secret = problem.secret_count
        return WorstCase("closed", square_with_slack(float(np.sqrt(problem.offset_weight))) if secret else 0.0)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Records:
        return cls()
