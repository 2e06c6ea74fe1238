"""What pure noise is added to, and how far one person moves it: strategies and sensitivities in the 1- and ∞-norm.

Under add-remove, with a person's numbers within ±1 and its 1 for the number of people (docs/decisions.md, 17):

    numbers within bounds   each number by itself, in the ∞-norm; with the number of people where a centre needs it
    squares z²              2z² − 1, whose ends are ±1
    values                  the counts as they are, in the 1-norm; with the number of people one more: those in none

In the ∞-norm a person reaches 1 in every number at once, so more numbers cost noise by their number alone. In the
1-norm a person reaches as many counts as it has values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gaussmith.domains.domain import Domain, Problem
from gaussmith.domains.extremes import Extremes, Marks, PersonRows, Product, Signs
from gaussmith.domains.strategies import Strategy, price
from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array
from gaussmith.numerics.marginals import TableCounts
from gaussmith.numerics.matrices import Bordered, Dense, Diagonal, Exchangeable, Matrix
from gaussmith.privacy.neighbours import ADD_REMOVE

Truths = npt.NDArray[np.bool_]

ONE_NORM, MAX_NORM = "1", "max"

MAX_CELLS = 1 << 11
"""Limit on the cells whose sums are read from a matrix that is written down."""


@dataclass(frozen=True, eq=False)
class PureStrategy:
    """A strategy, the norm in which it moves, and whether all that is lifted are whole numbers of people."""

    strategy: Strategy
    norm: str
    is_whole: bool

    @property
    def numbers(self) -> int:
        """How many numbers receive noise."""
        return self.strategy.lift.shape[0]


def pure_strategies(problem: Problem[Domain]) -> list[PureStrategy]:
    """The strategies that fit; refuses what has none."""
    if problem.neighbours != ADD_REMOVE:
        raise PlanError(
            "pure ε under replace-one",
            "pure noise is planned for add-remove only",
            "use add-remove, or a guarantee with δ",
            code="pure-under-replace-one",
        )
    extremes = problem.domain.extremes()
    if isinstance(extremes, Marks):
        return [_counts(problem, extremes)]
    if problem.features.matrix is None and problem.features.workload is None and reaches_one(extremes):
        return _numbers(problem)
    raise refused(problem)


def refused(problem: Problem[Domain]) -> PlanError:
    """The reason for refusing what no pure noise is planned for."""
    return PlanError(
        f"pure ε for answers over {problem.domain.kind}",
        "pure noise is planned for sums, means, counts, variances, histograms and tables",
        "state a guarantee with δ, which Gaussian noise meets",
        code="pure-not-for-these-answers",
        kind=problem.domain.kind,
    )


def reaches_one(extremes: Extremes) -> bool:
    """Whether every number of a unit lies within ±1, as bounds in the ∞-norm assume."""
    from gaussmith.domains.moments import ValueProducts

    if isinstance(extremes, Product):
        return all(map(reaches_one, extremes.factors))
    return isinstance(extremes, Signs | Marks | PersonRows | ValueProducts)


def _numbers(problem: Problem[Domain]) -> list[PureStrategy]:
    """Each number by itself: around the middle of its bounds beside the number of people, or around 0 without it."""
    size = problem.domain.dimension
    if not size:
        count = Diagonal(np.ones(1))
        features = Bordered(np.zeros(1, np.int64), np.ones(1), np.zeros(1), 1)
        return [PureStrategy(Strategy("count", count, features, True), MAX_NORM, True)]
    offsets, used = problem.coded_offsets, problem.coordinate_weights > 0
    needs_count = bool(problem.count_weight or offsets.any())
    found = [_centred(problem, used, needs_count)]
    plain = not problem.features.centred.any() and problem.asks_no_coordinate_twice
    if needs_count and not problem.count_weight and plain:
        found.append(_around_zero(problem, used))
    return found


def _centred(problem: Problem[Domain], used: Truths, needs_count: bool) -> PureStrategy:
    """y_j = a_j·core_j + b_j·n and, where it is needed, y_last = n; every |y| of a person is at most 1."""
    domain, asked = problem.domain, problem.features
    squares = squares_of(domain.extremes()) & needs_count
    a, b = np.where(squares, 2.0, 1.0), np.where(squares, -1.0, 0.0)
    rows = np.flatnonzero(used)
    place = np.cumsum(used) - 1
    columns = domain.dimension + needs_count
    radius = domain.coded[1]
    index, lines = asked.index, len(rows) + needs_count
    inner = radius[index] / a[index]
    border = problem.coded_offsets - inner * b[index]
    at = place[index]
    if not needs_count:
        lift: Matrix = Bordered(rows, a[rows], np.zeros(len(rows)), columns)
        features: Matrix = Bordered(at, inner, np.zeros(len(at)), lines)
        return PureStrategy(Strategy("cube", lift, features, False), MAX_NORM, False)
    lift = Bordered(np.append(rows, 0), np.append(a[rows], 0.0), np.append(b[rows], 1.0), columns)
    features = Bordered(np.append(at, lines - 1), np.append(inner, 1.0), np.append(border, 0.0), lines)
    return PureStrategy(Strategy("cube", lift, features, True), MAX_NORM, False)


def _around_zero(problem: Problem[Domain], used: Truths) -> PureStrategy:
    """x_j over the larger of its bounds' sizes, without the number of people."""
    centre, radius = problem.domain.coded
    largest, rows = np.abs(centre) + radius, np.flatnonzero(used)
    place = np.cumsum(used) - 1
    lift = Bordered(rows, radius[rows] / largest[rows], centre[rows] / largest[rows], len(centre) + 1)
    index = problem.features.index
    features = Bordered(place[index], largest[index], np.zeros(len(index)), len(rows))
    return PureStrategy(Strategy("around zero", lift, features, False), MAX_NORM, False)


def squares_of(extremes: Extremes) -> Truths:
    """Which numbers of a unit are squares, which are not below 0."""
    from gaussmith.domains.moments import ValueProducts

    found = np.zeros(extremes.size, bool)
    if isinstance(extremes, ValueProducts):
        for k, (first, second) in enumerate(extremes.pairs):
            found[extremes.columns + k] = first == second
    return found


def _counts(problem: Problem[Domain], marks: Marks) -> PureStrategy:
    """The counts as they are."""
    asked, size = problem.features, marks.size
    counted = problem.count_weight > 0
    if asked.marginals is not None:
        width = sum(asked.marginals.sizes)
        lift: Matrix = TableCounts(asked.marginals.ways, width, counted)
        return PureStrategy(Strategy("counts", lift, Diagonal(np.ones(width + counted)), counted), ONE_NORM, True)
    if counted and marks.at_most == 1:
        lift = Exchangeable(size, 1.0, 0.0, 0.0, (-1.0, 1.0))  # the last one is the number of people in no cell
        features: Matrix = Exchangeable(size, 1.0, 0.0, 0.0, (1.0, 1.0))
    else:
        lift = features = Diagonal(np.ones(size + counted))
    if asked.is_linear:
        features = _sums_of_cells(problem, features.dense())
    elif not problem.asks_each_once:
        raise refused(problem)
    return PureStrategy(Strategy("counts", lift, features, counted), ONE_NORM, True)


def _sums_of_cells(problem: Problem[Domain], cells: Array) -> Dense:
    """Sums of cells, read from noisy cells."""
    size = problem.domain.dimension
    if size > MAX_CELLS:
        raise refused(problem)
    rows = problem.features.rows(size) @ cells[:size]
    return Dense(np.vstack([rows, cells[size:]]))


# How far a person moves what is lifted, in exact numbers.


def pure_sensitivity(lift: Matrix, norm: str, extremes: Extremes, extents: Array) -> Fraction:
    """At least N(lift · s) for what every unit s adds, or removes; `extents` are the integers for core 1.

    Guarantee: exact rationals of the doubles that are used; a bound from above for every kind of unit.
    """
    from gaussmith.domains.moments import ValueProducts

    if not reaches_one(extremes):
        raise damaged_plan("pure noise for units of another kind")
    if norm == MAX_NORM:
        if not isinstance(extremes, ValueProducts):
            return _largest_row(lift, extents, np.zeros(len(extents), bool))
        return extremes.rows * (1 + extremes.rounding) * _largest_row(lift, extents, squares_of(extremes))
    if norm == ONE_NORM and isinstance(extremes, Marks) and (extents == 1.0).all():
        return _largest_marks(lift, extremes)
    raise damaged_plan(f"pure noise in the norm {norm!r}")


def _largest_row(lift: Matrix, extents: Array, squares: Truths) -> Fraction:
    """max over rows of |a·x + b| for |x| ≤ extent, or 0 ≤ x ≤ extent where x is a square, and 1 or 0 unit beside it."""
    rows = lift.as_bordered()
    if rows is None:
        raise damaged_plan("pure noise for a lift of another kind")
    highest, lowest = np.asarray(extents, float), np.where(squares, 0.0, -np.asarray(extents, float))
    if rows.columns == len(highest) + 1:
        highest, lowest = np.append(highest, 1.0), np.append(lowest, 1.0)
    elif rows.columns != len(highest) or rows.border.any():
        raise damaged_plan(f"a lift of {rows.columns} columns")
    found = Fraction(0)
    for ends in (lowest, highest):
        products = rows.inner * ends[rows.index]
        near, errors = np.abs(products + rows.border), (np.abs(products) + np.abs(rows.border)) * 2.0**-50
        largest = near >= near.max(initial=0.0) - 2 * errors.max(initial=0.0)  # no other row can be, rounded or not
        triples = np.column_stack([rows.inner, ends[rows.index], rows.border])[largest]
        for a, end, b in np.unique(triples, axis=0).tolist():
            found = max(found, abs(Fraction(a) * Fraction(end) + Fraction(b)))
    return found


def _largest_marks(lift: Matrix, marks: Marks) -> Fraction:
    """max over units of Σ_r |(lift · s)_r|, for units with at most so many ones and the number 1."""
    n, k = marks.size, marks.at_most
    if isinstance(lift, TableCounts):
        return Fraction(len(lift.tables) + (lift.shape[0] > _cells_of(lift, marks)))
    alike = lift.as_exchangeable()
    if alike is not None:
        if alike.size != n or k != 1 or alike.tail is None:
            raise damaged_plan("pure noise for a lift of other counts")
        a, b, c, e, f = (
            Fraction(float(each)) for each in (alike.inner, alike.shared, alike.border or 0.0, *alike.tail)
        )
        ones = [abs(a + b + c) + (n - 1) * abs(b + c) + abs(e + f)]
        none = [] if marks.at_least else [n * abs(c) + abs(f)]
        return max(ones + none)
    if not isinstance(lift, Diagonal):
        raise damaged_plan("pure noise for a lift of another kind")
    if len(lift.entries) not in (n, n + 1):
        raise damaged_plan(f"a lift of {len(lift.entries)} columns")
    marked = np.sort(np.abs(lift.entries[:n]))[n - k :]
    return sum(map(Fraction, [*marked.tolist(), *np.abs(lift.entries[n:]).tolist()]), Fraction(0))


def _cells_of(lift: TableCounts, marks: Marks) -> int:
    from gaussmith.domains.cells import CellMarks

    if not isinstance(marks, CellMarks):
        raise damaged_plan("tables of other records")
    return sum(int(np.prod([marks.sizes[i] for i in table])) for table in lift.tables)


def price_of_one(strategy: PureStrategy, problem: Problem[Domain]) -> float:
    """The weighted total of squared errors where each number has noise of variance 1."""
    return price(strategy.strategy, problem)
