"""Moments: values of a record within bounds, and the squares and products of these."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_number
from gaussmith.domains.box import ODD_VALUES, Box
from gaussmith.domains.lift_norms import check_columns
from gaussmith.domains.moment_codes import MomentCodes, Pairs, coarse_codes
from gaussmith.domains.moment_norms import largest_moment, largest_replaced
from gaussmith.errors import DomainError, PlanError, nearest
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.headed import Headed
from gaussmith.numerics.linear import Array, Matrix
from gaussmith.problem import Domain, Law, Problem
from gaussmith.problem.domain import BoundsTable
from gaussmith.proofs.moments import proven_moments
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate, Candidates, Search, Way, try_ways
from gaussmith.shapes.moments import isotropic_moments, solved_moments
from gaussmith.shapes.moments_replaced import solved_replaced_moments
from gaussmith.values import dataclass
from gaussmith.workloads import Workload

if TYPE_CHECKING:
    from gaussmith.problem.features import Features

MAX_COLUMNS = 64
"""Limit on the columns whose squares and products are released together: 2 144 numbers."""

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, init=False)
class Moments(Domain):
    """Records x within bounds, with the products of two columns that `products` names.

    products: "all", "squares", or pairs of columns: [("age", "age"), ("age", "bmi")].
    around:   squares are measured from this share of the largest square: 0.15 is where those of data with a standard
              deviation of 0.3 of the half range lie, half of it away from the middle.

    With u = x − middle of the bounds the coordinates are every x, then u_i u_j of every pair, squares less `around` r².

    >>> Moments({"age": (0, 110), "bmi": (10, 70)})
    Moments(age: 0 to 110, bmi: 10 to 70; 2 squares, 1 product)
    """

    kind = "moments"

    box: Box
    pairs: Pairs
    around: float

    def __init__(
        self,
        bounds: Mapping[str, tuple[float, float]] | Box,
        products: str | Sequence[tuple[str | int, str | int]] = "all",
        around: float = 0.0,
    ) -> None:
        box = bounds if isinstance(bounds, Box) else Box(bounds)
        if box.dimension > MAX_COLUMNS:
            raise DomainError(
                f"moments of {box.dimension} columns",
                f"at most {MAX_COLUMNS} columns have their squares and products released together",
                "ask for fewer columns, or in several questions",
                code="too-many-columns-of-moments",
                columns=box.dimension,
            )
        rule, remedy = "squares are measured from a share of the largest one", "write around=0.15"
        around = check_number("around", around, low=0, high=1, rule=rule, remedy=remedy, error=DomainError)
        object.__setattr__(self, "box", box)
        object.__setattr__(self, "pairs", _pairs(products, box))
        object.__setattr__(self, "around", float(around))
        object.__setattr__(self, "_coarse", coarse_codes(box.lower, box.upper, box.centre, box.names))

    # -- coordinates ------------------------------------------------------------------------------------------------

    @cached_property
    def dimension(self) -> int:
        return self.box.dimension + len(self.pairs)

    @property
    def columns_count(self) -> int:
        """d: how many columns are read."""
        return self.box.dimension

    @cached_property
    def squares(self) -> Places:
        """The coordinates that are squares."""
        return self._places(lambda i, j: i == j)

    @cached_property
    def crossed(self) -> Places:
        """The coordinates that are products of two different columns."""
        return self._places(lambda i, j: i != j)

    def _places(self, wanted: Any) -> Places:
        d = self.columns_count
        return np.array([d + at for at, pair in enumerate(self.pairs) if wanted(*pair)], np.int64)

    @cached_property
    def ends(self) -> tuple[Places, Places]:
        """The two columns of every product."""
        first, second = np.array(self.pairs, np.int64).reshape(-1, 2).T
        return first, second

    @cached_property
    def names(self) -> tuple[str, ...]:
        own = [self.box.name(j) for j in range(self.columns_count)]
        return (*own, *(f"{own[i]}²" if i == j else f"{own[i]}·{own[j]}" for i, j in self.pairs))

    @property
    def columns(self) -> Sequence[str] | None:
        return self.box.names

    @property
    def substitutes_size(self) -> int:
        return self.columns_count

    @property
    def product_pairs(self) -> Pairs:
        return self.pairs

    def read_from(self, j: int) -> tuple[int, ...]:
        """The columns that a coordinate is made of."""
        return (j,) if j < self.columns_count else self.pairs[j - self.columns_count]

    @cached_property
    def centre(self) -> Array:
        return self._moved(self.box.centre, self.box.radius)

    @cached_property
    def radius(self) -> Array:
        return self._multiplied(self.box.radius)

    @cached_property
    def spread(self) -> Array:
        return self._multiplied(self.box.radius) ** 2 / 3

    @cached_property
    def coded(self) -> tuple[Array, Array]:
        codes = self._coarse_codes
        half = codes.steps / 2 / codes.scale
        return self._moved(codes.low + half, half), self._multiplied(half)

    @property
    def _coarse_codes(self) -> Any:
        return self.__dict__["_coarse"]

    def _multiplied(self, radius: Array) -> Array:
        first, second = self.ends
        return np.concatenate([radius, radius[first] * radius[second]])

    def _moved(self, middle: Array, radius: Array) -> Array:
        """Where coordinates have core 0: values at the middle of their bounds, squares `around` below 0."""
        first, second = self.ends
        shifts = np.where(first == second, -self.around * radius[first] * radius[second], 0.0)
        return np.concatenate([middle, shifts + 0.0])

    def cores(self, values: Array) -> Array:
        """The cores of records, one a row, from those of their values."""
        first, second = self.ends
        return np.hstack([values, values[:, first] * values[:, second]])

    def pair_cores(self, kinds: Array, near: float) -> Array:
        """Sizes of the core of z − z′ for kinds of pairs: each column at both ends (0), `near` apart from one end (1),
        or at one end in both (2). Signs can be chosen independently: only sizes count."""
        apart = np.array([2.0, near, 0.0])[kinds]
        middle = np.array([0.0, 1 - near / 2, 1.0])[kinds]
        first, second = self.ends
        crossed = middle[:, first] * apart[:, second] + middle[:, second] * apart[:, first]
        return np.hstack([apart, crossed])

    # -- from records to integers -----------------------------------------------------------------------------------

    def codes(self, substitutes: Array, workload: Workload | None = None) -> MomentCodes:
        base = coarse_codes(self.box.lower, self.box.upper, substitutes, self.box.names)
        return MomentCodes(base, self.pairs)

    def substitutes(self, features: Features, missing: Mapping[str, float]) -> Array:
        """The middle of the bounds, or what `missing` says."""
        values = self.box.centre.copy()
        known = [self.box.name(j) for j in range(self.columns_count)]
        for name, value in missing.items():
            if name not in known:
                what, rule = f"missing={{{name!r}: …}}", "it must name a column of the domain"
                raise PlanError(what, rule, nearest(name, known), code="missing-names-no-column", column=name)
            j = known.index(name)
            low, high = float(self.box.lower[j]), float(self.box.upper[j])
            rule, remedy = f"it must lie within the bounds {low:g} and {high:g}", "choose a value inside them"
            what = f"missing={{{name!r}}}"
            values[j] = check_number(what, value, low=low, high=high, rule=rule, remedy=remedy, error=PlanError)
        return values

    # -- privacy ----------------------------------------------------------------------------------------------------

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound on ‖lift · s‖ over all differences s of neighbours, rounded up.

        Add-remove: s = (z, products, 1). A lift whose rows see one value, one product of two columns, or squares and
        the number of records has a squared norm that is convex in each z_j²: it is largest where each is 0 or 1.
        Replace-one: of one column the exact maximum over all pairs; else twice the distance from a common middle.
        """
        extent = np.ones(self.dimension) if extent is None else extent
        private = neighbours == ADD_REMOVE
        check_columns(lift, self.dimension + private)
        bound = largest_moment if private else largest_replaced
        return bound(_written(lift), self.columns_count, self.pairs, extent)

    def largest_change(self, lift: Matrix) -> float:
        """An upper bound on ‖lift · (s − s′)‖ over two records, with an add-remove lift; rounded up."""
        return largest_replaced(_written(lift)[:, :-1], self.columns_count, self.pairs, np.ones(self.dimension))

    # -- noise and its limit ----------------------------------------------------------------------------------------

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        ways = [Way("solved", lambda: self._solved(problem, search.gap))]
        if problem.secret_count:
            ways.append(Way("isotropic", lambda: Candidate(isotropic_moments(problem))))
        return try_ways(ways, problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Shape]:
        return self, isotropic_moments(problem)

    def has_standard_shape(self, problem: Problem[Any]) -> bool:
        return problem.secret_count

    def standard_reach(self, problem: Problem[Any]) -> float | None:
        return None

    def bounding_law(self, problem: Problem[Any]) -> Law:
        law = self._solved(problem).law
        assert law is not None
        return law

    def _solved(self, problem: Problem[Moments], gap: float | None = None) -> Candidate:
        """The best shape, with a law whose bound is proven for all that is asked."""
        solve = solved_moments if problem.secret_count else solved_replaced_moments
        found = solve(problem, gap)
        assert found.law is not None
        return replace(found, law=replace(found.law, lower=proven_moments(problem, found.law)))

    def proven(self, problem: Problem[Any], law: Law) -> float:
        return proven_moments(problem, law)

    # -- words ------------------------------------------------------------------------------------------------------

    @property
    def reading(self) -> str:
        return (
            "Values outside their bounds are clipped to the nearer bound. Squares and products are taken around the "
            "middle of the bounds."
        )

    def bounds_table(self, problem: Problem[Any], places: Sequence[int], substitutes: Array) -> BoundsTable:
        read = sorted({i for j in places for i in self.read_from(j)})
        numbers = (self.box.lower, self.box.upper, substitutes)
        rows = [(self.box.name(j), [float(each[j]) for each in numbers]) for j in read]
        return BoundsTable(("column", "from", "to", "a missing value becomes"), rows, ODD_VALUES)

    def to_dict(self) -> dict[str, Any]:
        pairs = [list(pair) for pair in self.pairs]
        return {"kind": self.kind, "box": self.box.to_dict(), "pairs": pairs, "around": self.around}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Moments:
        pairs = [(int(i), int(j)) for i, j in fields["pairs"]]
        return cls(Box.from_dict(fields["box"]), pairs, fields["around"])

    def __hash__(self) -> int:
        return hash((self.box, self.pairs, self.around))

    def __repr__(self) -> str:
        squares, crossed = len(self.squares), len(self.crossed)
        told = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in ((squares, "square"), (crossed, "product")) if n]
        return f"Moments({repr(self.box)[4:-1]}; {', '.join(told) or 'no products'})"


def _written(lift: Matrix) -> Array:
    """The entries of a lift, each exact; refuses kinds whose entries would be rounded where they are written out."""
    apart = lift.rest if isinstance(lift, Headed) else lift.as_bordered()
    if apart is None:
        return lift.exact_entries()
    if (apart.inner * apart.border)[apart.index == apart.columns - 1].any():
        what, rule = "a lift with two entries in its last column", "they would be added up, and rounded"
        raise PlanError(what, rule, "plan again", code="lift-of-moments-adds-entries")
    return lift.dense()


def _pairs(products: Any, box: Box) -> Pairs:
    """Pairs of places, each once, the smaller place first, in order."""
    d, names = box.dimension, [box.name(j) for j in range(box.dimension)]
    if products == "all":
        return tuple(itertools.combinations_with_replacement(range(d), 2))
    if products == "squares":
        return tuple((j, j) for j in range(d))
    found: set[tuple[int, int]] = set()
    listed = [] if isinstance(products, str) or not isinstance(products, Sequence) else list(products)
    if not listed:
        raise DomainError(
            f"products={products!r}"[:120],
            'it is "all", "squares" or a list of pairs of columns',
            'write products="all", or [("age", "bmi")]',
            code="products-not-listed",
            products=products,
        )
    for pair in listed:
        named = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        places = [_place(each, names) for each in pair] if named else [-1]
        if min(places) < 0:
            raise DomainError(
                f"product {pair!r}"[:120],
                f"it must be two of the columns {', '.join(names[:8])}",
                "name two columns; a column and itself for its square",
                code="product-of-unknown-columns",
                pair=pair,
            )
        found.add((min(places), max(places)))
    return tuple(sorted(found))


def _place(given: Any, names: Sequence[str]) -> int:
    if isinstance(given, str):
        return names.index(given) if given in names else -1
    return int(given) if isinstance(given, int) and 0 <= given < len(names) else -1
