"""Moments: values of a record within bounds, and the squares and products of these."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_number, checks_arguments
from gaussmith.domains.box import ODD_VALUES, Box
from gaussmith.domains.domain import BoundsTable, Domain, DomainWords, Problem, RecordInput, WorstCase
from gaussmith.domains.encoding import BITS, BoxEncoding, Encoding, Step
from gaussmith.domains.extremes import Extremes, check_columns
from gaussmith.domains.moment_bounds import proven_moments
from gaussmith.domains.moment_strategies import isotropic_moments, solved_moments, solved_replaced_moments
from gaussmith.domains.strategies import Candidate, Candidates, Search, Strategy, Way, try_ways
from gaussmith.domains.workloads import Workload
from gaussmith.errors import DomainError, damaged_plan
from gaussmith.numerics.exact import Array, Integers, Words, fraction_up, norm_upward, sqrt_downward, sqrt_upward
from gaussmith.numerics.matrices import Dense, Matrix
from gaussmith.numerics.norms import largest_norm
from gaussmith.privacy.neighbours import ADD_REMOVE, REPLACE_ONE

if TYPE_CHECKING:
    from gaussmith.domains.features import Features


# Codes of squares and products: columns are cut into 2^20 to 2^21 steps, and squares and products are of those codes.
#
# A product of two codes has at most 42 bits. The sums beside them add up the same codes, so that a record is one
# point (c, c_i c_j) of a grid, and what it adds around the middle is exact: with v = 2c − steps
#
#     v_i v_j = 4 c_i c_j − 2 steps_j c_i − 2 steps_i c_j + steps_i steps_j.

MOMENT_BITS = 20
"""At least 2^20 steps lie between the bounds of a column, and at most 2^21."""

EXACT_ROWS = 1 << 11
"""Limit on the products that add up exactly in doubles: 2^11 · 2^42 = 2^53."""

Pairs = tuple[tuple[int, int], ...]


def coarse_codes(lower: Array, upper: Array, substitute: Array, names: Sequence[str] | None) -> BoxEncoding:
    """The codes of a box, in 2^21 times wider steps."""
    fine = BoxEncoding.for_bounds(lower, upper, substitute, names)
    wider = 2.0 ** (BITS - MOMENT_BITS)
    scale, steps = fine.scale / wider, np.floor(fine.steps / wider)
    top = np.minimum(fine.top, np.nextafter(fine.low + steps / scale, np.inf))
    for _ in range(4):
        over = np.floor((top - fine.low) * scale + 0.5) > steps
        top = np.where(over, np.nextafter(top, fine.low), top)
    return replace(fine, top=top, scale=scale, steps=steps.astype(np.int64))


@dataclass(frozen=True, eq=False)
class MomentEncoding(Encoding):
    """The coding of values, and of products of two values: `pairs` says of which; a square is a pair of one column.

    >>> codes = MomentEncoding(coarse_codes(np.zeros(1), np.full(1, 64.0), np.zeros(1), None), ((0, 0),))
    >>> codes.encode(np.array([[3.0]])) / codes.base.scale ** [1, 2]
    array([[3., 9.]])
    """

    base: BoxEncoding
    pairs: Pairs

    @property
    def columns(self) -> int:
        return self.base.columns

    @property
    def width(self) -> int:
        return self.base.columns + len(self.pairs)

    @cached_property
    def _ends(self) -> tuple[Words, Words]:
        first, second = np.array(self.pairs, np.int64).reshape(-1, 2).T
        return first, second

    @property
    def extents(self) -> Array:
        """The largest absolute core integer of one record; a product has at most 42 bits, which a double holds."""
        steps = self.base.steps.astype(float)
        first, second = self._ends
        return np.concatenate([steps, steps[first] * steps[second]])

    def centred(self, sums: Integers, records: int) -> list[int]:
        """The summed core: values and products measured from the middle of the bounds."""
        whole, steps, d = [int(s) for s in sums], self.base.steps.tolist(), self.columns
        found = [2 * whole[j] - records * steps[j] for j in range(d)]
        for at, (i, j) in enumerate(self.pairs, start=d):
            crossed = 2 * (steps[j] * whole[i] + steps[i] * whole[j])
            found.append(4 * whole[at] - crossed + records * steps[i] * steps[j])
        return found

    def encode(self, rows: Array) -> Words:
        codes = self.base.encode(rows)
        first, second = self._ends
        return np.hstack([codes, codes[:, first] * codes[:, second]])

    def sum_rows(self, rows: Array) -> Words:
        """The summed integers of an array of records: whole doubles below 2^53, exact in any order."""
        codes = self.base.encode(rows).astype(float)
        values, table = np.zeros(self.columns, np.int64), np.zeros((self.columns,) * 2, np.int64)
        for start in range(0, len(codes), EXACT_ROWS):
            piece = codes[start : start + EXACT_ROWS]
            values += piece.sum(axis=0).astype(np.int64)
            table += (piece.T @ piece).astype(np.int64)
        return np.concatenate([values, table[self._ends]])

    def spell(self, which: range) -> list[Step]:
        """As `encode`: the codes of all columns that are needed, then products of whole doubles below 2^42."""
        d = self.columns
        ends = {j: (j,) if j < d else self.pairs[j - d] for j in which}
        needed = sorted({i for pair in ends.values() for i in pair})
        known, coded = zip(*(self.base.spell(range(i, i + 1)) for i in needed), strict=True)
        renamed = [f"{text[0].rpartition(' ')[0]} v{i}" for i, text in zip(needed, coded, strict=True)]
        made = [f"cast({' * '.join(f'cast(v{i} as double)' for i in pair)} as bigint) c{j}" for j, pair in ends.items()]
        return [[text[0] for text in known], renamed, made]


# The largest norm of lifted moments, rounded up: the number on which their privacy depends.
#
# Rows of a lift are of three kinds: over one value, over one product of two columns, or over squares and the number
# of records. Then the squared norm is a function of y_j = z_j² alone,
#
#     Σ a_j y_j + Σ b_ij y_i y_j + ‖R(y, 1)‖²,
#
# linear or convex in each y_j while the others are fixed: its maximum over [0, 1]^d is at a vertex. Other lifts are
# refused. The records that are coded are points of this set, so the bound holds for the integers too.

MAX_VERTICES = 1 << 12
"""Limit on the vertices that are visited; beyond it they are bounded by the number of their ones."""


def largest_moment(lift: Array, columns: int, pairs: Pairs, extent: Array) -> float:
    """max ‖lift · (z, products, 1)‖ over |z_j| ≤ 1 in units of `extent`, at least the true value."""
    _check_kinds(lift, columns, pairs)
    if 2**columns <= MAX_VERTICES:
        y = np.array([[(v >> j) & 1 for j in range(columns)] for v in range(2**columns)], float).reshape(-1, columns)
        points = np.hstack([y, *(y[:, [i]] * y[:, [j]] for i, j in pairs)]) * extent
        return largest_norm(lift, np.hstack([points, np.ones((len(y), 1))]))
    return _by_levels(lift, columns, pairs, extent)


def _by_levels(lift: Array, columns: int, pairs: Pairs, extent: Array) -> float:
    """The same by the number k of ones, for lifts that treat all columns nearly alike; never too small for others.

    With R the rows over squares and the number, R̄ one that does not change when columns are swapped, and R − R̄ of norm
    e at most, ‖R(y, 1)‖ ≤ ‖R̄(y, 1)‖ + e·√(q + 1). The rest is at most its largest entry times what k ones make of it.
    """
    square = [columns + at for at, (i, j) in enumerate(pairs) if i == j]
    crossed = [columns + at for at, (i, j) in enumerate(pairs) if i != j]
    a, b = (_largest_square(lift, at, extent) for at in (list(range(columns)), crossed))
    inside = [*square, lift.shape[1] - 1]
    R = lift[lift[:, inside].any(axis=1)][:, inside] * np.append(extent[square], 1.0)
    alike = _Alike.nearest(R)
    doubt = np.abs(R - alike.matrix(R.shape)) + np.abs(R) * 2.0**-50  # R̄ is a projection: this covers 4 roundings
    e = Fraction(norm_upward(doubt)) * Fraction(sqrt_upward(float(len(inside))))
    found = Fraction(0)
    for k in range(columns + 1):
        head = Fraction(sqrt_upward(alike.square(min(k, len(square)), len(square)))) + e
        found = max(found, k * a + min(k * (k - 1) // 2, len(crossed)) * b + head * head)
    return sqrt_upward(found)


def _largest_square(lift: Array, at: list[int], extent: Array) -> Fraction:
    """The largest squared norm of these columns, in units; rounded up."""
    reach = np.where(lift[:, at] == 0, 0.0, np.nextafter(np.abs(lift[:, at]) * extent[at], np.inf))
    return max((Fraction(norm_upward(column)) ** 2 for column in reach.T), default=Fraction(0))


@dataclass(frozen=True)
class _Alike:
    """A block that does not change when squares are swapped: q rows, and one more that sees Σy and the number."""

    own: float = 0.0
    shared: float = 0.0
    border: float = 0.0
    tail: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def nearest(cls, R: Array) -> _Alike:
        """The one nearest to a block; that of zeros where the block has another form."""
        q = R.shape[1] - 1
        if len(R) not in (q, q + 1) or not q:
            return cls()
        top = R[:q, :q]
        shared = float(top[~np.eye(q, dtype=bool)].mean()) if q > 1 else 0.0
        tail = (float(R[q, :q].mean()), float(R[q, q])) if len(R) > q else (0.0, 0.0)
        return cls(float(np.diag(top).mean()) - shared, shared, float(R[:q, q].mean()), tail)

    def matrix(self, shape: tuple[int, ...]) -> Array:
        rows, width = shape
        q, found = width - 1, np.zeros(shape)
        if rows in (q, q + 1) and q:
            found[:q, :q] = self.shared
            found[np.arange(q), np.arange(q)] = float(self.own + self.shared)
            found[:q, q] = self.border
            if rows > q:
                found[q, :q], found[q, q] = self.tail
        return found

    def square(self, k: int, q: int) -> Fraction:
        """Its squared norm with k ones among q squares, of the doubles in `matrix`."""
        own, shared, border = Fraction(self.own + self.shared), Fraction(self.shared), Fraction(self.border)
        at_ones = own + shared * (k - 1) + border
        last = Fraction(self.tail[0]) * k + Fraction(self.tail[1])
        return k * at_ones**2 + (q - k) * (shared * k + border) ** 2 + last**2


def _check_kinds(lift: Array, columns: int, pairs: Pairs) -> None:
    """Refuse a lift with a row that sees what changes its sign together with anything else."""
    odd = [*range(columns)] + [columns + at for at, (i, j) in enumerate(pairs) if i != j]
    seen = lift[:, odd] != 0
    even = np.delete(lift, odd, axis=1) != 0
    if (seen.sum(axis=1) > 1).any() or (seen.any(axis=1) & even.any(axis=1)).any():
        raise damaged_plan("a lift of moments that mixes values and squares")


def largest_replaced(lift: Array, columns: int, pairs: Pairs, extent: Array) -> float:
    """max ‖lift · (s − s′)‖ over two records, at least the true value; the lift does not see the number of records."""
    _check_kinds(lift, columns, pairs)
    each = [[j, *(columns + at for at, pair in enumerate(pairs) if pair == (j, j))] for j in range(columns)]
    sees = np.array([(lift[:, own] != 0).any(axis=1) for own in each])
    if sum(map(len, each)) == lift.shape[1] and (sees.sum(axis=0) <= 1).all():  # columns move rows of their own
        found = [_largest_of_one(lift[:, own], len(own) > 1, extent[own]) for own in each]
        return norm_upward(np.array(found)) if columns > 1 else found[0]
    return _twice_from_middle(lift, columns, pairs, extent)


def _largest_of_one(lift: Array, squared: bool, extent: Array) -> float:
    """Of one column, exactly: a t² + b t²(2 − t)², t = |z − z′| in [0, 2], is largest at 2 or at the smaller root of
    t² − 3t + 2 + a/2b = 0 (docs/theory.md, 48)."""
    a = Fraction(norm_upward(np.nextafter(np.abs(lift[:, 0]) * extent[0], np.inf))) ** 2
    b = Fraction(norm_upward(np.nextafter(np.abs(lift[:, 1]) * extent[1], np.inf))) ** 2 if squared else Fraction(0)

    def size(t: Fraction) -> Fraction:
        return a * t * t + b * t * t * (2 - t) ** 2

    found = size(Fraction(2))
    if 2 * a <= b:  # a is above 0, as it is rounded up: so is b
        inner = 1 - 2 * a / b
        low, high = ((3 - Fraction(root(inner))) / 2 for root in (sqrt_upward, sqrt_downward))
        found = max(found, size(low) + (4 * a + 16 * b) * (high - low))  # the slope is 4a + 16b at most
    return sqrt_upward(found)


def _twice_from_middle(lift: Array, columns: int, pairs: Pairs, extent: Array) -> float:
    """2 max ‖lift · s − middle‖: no two records are farther apart. The middle has all squares at one share c."""
    square = [columns + at for at, (i, j) in enumerate(pairs) if i == j]
    middle = (lift[:, square] * extent[square]).sum(axis=1)

    def from_middle(share: float) -> float:
        return largest_moment(np.column_stack([lift, -share * middle]), columns, pairs, extent)

    low, high = 0.0, 1.0
    for _ in range(30):  # the bound holds for any share: the search only makes it small
        first, second = low + (high - low) * 0.382, low + (high - low) * 0.618
        if from_middle(first) < from_middle(second):
            high = second
        else:
            low = first
    return 2.0 * from_middle((low + high) / 2)


@dataclass(frozen=True)
class ValueProducts(Extremes):
    """Numbers within ±1 and the products of some pairs of them; of at most so many rows.

    T rows are T times their mean, and a norm is convex: no unit adds more than `rows` times what one row can.
    `rounding` is the share by which it may be more, where a mean row is rounded to codes.
    """

    columns: int
    pairs: Pairs
    rows: int = 1
    rounding: Fraction = Fraction(0)

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.columns + len(self.pairs)

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound on ‖lift · s‖ over all differences s of neighbours, rounded up.

        Add-remove: s = (z, products, 1). A lift whose rows see one value, one product of two columns, or squares and
        the number of records has a squared norm that is convex in each z_j²: it is largest where each is 0 or 1.
        Replace-one: of one column the exact maximum over all pairs; else twice the distance from a common middle.
        """
        extent = np.ones(self.size) if extent is None else extent
        private = neighbours == ADD_REMOVE
        check_columns(lift, self.size + private)
        bound = largest_moment if private else largest_replaced
        found = bound(lift.exact_entries(), self.columns, self.pairs, extent)
        return found if self.rows == 1 else fraction_up(Fraction(found) * self.rows * (1 + self.rounding))

    def replacement_sensitivity(self, lift: Matrix) -> float:
        """Of two units with several rows the norms are added, as they may have any numbers of rows."""
        if self.rows > 1:
            return 2.0 * self.sensitivity(lift, ADD_REMOVE)
        return self.sensitivity(Dense(lift.exact_entries()[:, :-1]), REPLACE_ONE)


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
    has_products = True

    box: Box
    pairs: Pairs
    around: float

    @checks_arguments
    def __init__(
        self,
        bounds: Mapping[str, tuple[float, float]] | Box,
        products: str | Sequence[tuple[str | int, str | int]] = "all",
        around: float = 0.0,
    ) -> None:
        box = bounds if isinstance(bounds, Box) else Box(bounds)
        if box.dimension > MAX_COLUMNS:
            what = f"moments of {box.dimension} columns"
            rule = f"at most {MAX_COLUMNS} columns have their squares and products released together"
            remedy = "ask for fewer columns, or in several questions"
            raise DomainError(what, rule, remedy, code="too-many-columns-of-moments", columns=box.dimension)
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
    def input(self) -> RecordInput:
        return RecordInput(self.box.names, made_of=self._made_of)

    def _made_of(self, j: int) -> tuple[int, ...]:
        return (j,) if j < self.columns_count else self.pairs[j - self.columns_count]

    @cached_property
    def centre(self) -> Array:
        return self._moved(self.box.centre, self.box.radius)

    @cached_property
    def radius(self) -> Array:
        return self._multiplied(self.box.radius)

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

    def codes(self, substitutes: Array, workload: Workload | None = None) -> MomentEncoding:
        base = coarse_codes(self.box.lower, self.box.upper, substitutes, self.box.names)
        return MomentEncoding(base, self.pairs)

    def substitutes(self, features: Features, missing: Mapping[str, float]) -> Array:
        """The middle of the bounds, or what `missing` says."""
        return self.box.replaced(self.box.centre, missing)

    # -- privacy ----------------------------------------------------------------------------------------------------

    def extremes(self) -> ValueProducts:
        return ValueProducts(self.columns_count, self.pairs)

    # -- noise and its limit ----------------------------------------------------------------------------------------

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        ways = [Way("solved", lambda: self._solved(problem, search.gap))]
        if problem.secret_count:
            ways.append(Way("isotropic", lambda: Candidate(isotropic_moments(problem))))
        return try_ways(ways, problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Strategy]:
        return self, isotropic_moments(problem)

    def bounding_law(self, problem: Problem[Any]) -> WorstCase:
        law = self._solved(problem).law
        assert law is not None
        return law

    def _solved(self, problem: Problem[Moments], gap: float | None = None) -> Candidate:
        """The best shape, with a law whose bound is proven for all that is asked."""
        solve = solved_moments if problem.secret_count else solved_replaced_moments
        found = solve(problem, gap)
        assert found.law is not None
        return replace(found, law=replace(found.law, lower=proven_moments(problem, found.law)))

    def proven(self, problem: Problem[Any], law: WorstCase) -> float:
        return proven_moments(problem, law)

    # -- words ------------------------------------------------------------------------------------------------------

    @property
    def words(self) -> DomainWords:
        return DomainWords(
            "Values outside their bounds are clipped to the nearer bound. Squares and products are taken around the "
            "middle of the bounds."
        )

    def bounds_table(self, problem: Problem[Any], places: Sequence[int], substitutes: Array) -> BoundsTable:
        read = sorted({i for j in places for i in self._made_of(j)})
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

    def __repr__(self) -> str:
        squares, crossed = len(self.squares), len(self.crossed)
        told = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in ((squares, "square"), (crossed, "product")) if n]
        return f"Moments({repr(self.box)[4:-1]}; {', '.join(told) or 'no products'})"


def _pairs(products: Any, box: Box) -> Pairs:
    """Pairs of places, each once, the smaller place first, in order."""
    d, names = box.dimension, [box.name(j) for j in range(box.dimension)]
    if products == "all":
        return tuple(itertools.combinations_with_replacement(range(d), 2))
    if products == "squares":
        return tuple((j, j) for j in range(d))
    if isinstance(products, str) or not isinstance(products, Sequence) or not products:
        what, rule = f"products={products!r}"[:120], 'it is "all", "squares" or a list of pairs of columns'
        remedy = 'write products="all", or [("age", "bmi")]'
        raise DomainError(what, rule, remedy, code="products-not-listed", products=products)
    return tuple(sorted({_pair(each, names) for each in products}))


def _pair(pair: Any, names: Sequence[str]) -> tuple[int, int]:
    named = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
    places = sorted(_place(each, names) for each in pair) if named else [-1]
    if places[0] < 0:
        what, rule = f"product {pair!r}"[:120], f"it must be two of the columns {', '.join(names[:8])}"
        remedy = "name two columns; a column and itself for its square"
        raise DomainError(what, rule, remedy, code="product-of-unknown-columns", pair=pair)
    return places[0], places[1]


def _place(given: Any, names: Sequence[str]) -> int:
    if isinstance(given, str):
        return names.index(given) if given in names else -1
    return int(given) if isinstance(given, int) and 0 <= given < len(names) else -1
