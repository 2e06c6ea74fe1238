"""Bins: the declared cells of a column of numbers or dates, and what each of them is called.

    bins = [-60, -30, 0, 30, 60]                          these edges
    { equal = 20, between = [0, 100] }                    20 cells of one width
    { log = 10, between = [1, 1000000] }                  each edge 10 times the one before
    { by = "month", between = ["2024-01", "2024-12"] }    dates: by day, week, month, quarter or year

A cell holds its lower edge and not its upper one. What lies below the first edge is a cell of its own, and so is what
lies at or above the last one. Edges are worked out in fractions, from numbers as they are written, and rounded once.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from gaussmith.checks import is_list, is_number, is_whole
from gaussmith.domains.box import Box
from gaussmith.domains.features import OWN_MEAN, OWN_TOTAL, OWN_VALUE
from gaussmith.errors import DomainError, RequestError, nearest
from gaussmith.expressions.keys import DATE, Cut
from gaussmith.notations import setting
from gaussmith.requests.fields import PERIODS, PRIVATE
from gaussmith.statistics.quantile import MEDIAN, Quantiles

MAX_BINS = 100_000
"""Limit on the cells of one column."""

WAYS = ("bins", "equal", "log", "by")
"""How cells are declared; the last three between two numbers or dates."""


@dataclass(frozen=True)
class Bins:
    """The cells of a column, and their names in order.

    >>> read_bins("delay", {"bins": [-60, 0, 60]}).labels
    ('< -60', '-60 to 0', '0 to 60', '≥ 60')
    >>> read_bins("share", {"equal": 4, "between": [0, 0.1]}).cut.edges
    (0.0, 0.025, 0.05, 0.075, 0.1)
    >>> read_bins("day", {"by": "quarter", "between": ["2023-10", "2024-03"]}).labels
    ('< 2023-10-01', '2023-Q4', '2024-Q1', '≥ 2024-04-01')
    """

    cut: Cut
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


def is_binned(given: Any) -> bool:
    """Whether cells were declared, and not values."""
    return isinstance(given, Bins | Mapping)


def read_bins(column: str, given: Any) -> Bins:
    """The cells that were declared for a column: a list of edges, or a table; refuses all else in words of its own."""
    if isinstance(given, Bins):
        return given
    if isinstance(given, str) and given == PRIVATE:
        rule = "cells are found in stages for quantiles alone, in a request without questions"
        remedy = f"write {setting('bins', {column: PRIVATE})} above, beside {setting('quantiles', {column: [0.5]})}"
        raise _wrong(column, "private bins", rule, remedy, "private-bins-in-a-question")
    if not isinstance(given, Mapping):
        return _of_edges(column, given)
    way = _way_of(column, given)
    if way == "bins":
        return _of_edges(column, given["bins"])
    if way == "by":
        return _of_dates(column, given["by"], given["between"])
    return _of_edges(column, (_equal if way == "equal" else _log)(column, given[way], given["between"]))


def _way_of(column: str, given: Mapping[str, Any]) -> str:
    """The one way in which a table declares cells."""
    for key in given:
        if key not in (*WAYS, "between"):
            what, rule = f"unknown key {key!r}", "cells are declared by bins, equal, log or by"
            raise _wrong(column, what, rule, nearest(str(key), [*WAYS, "between"]), "unknown-bins-key")
    ways = [way for way in WAYS if way in given]
    if len(ways) != 1:
        what, rule = "cells declared in several ways" if ways else "cells without edges", "choose one way"
        raise _wrong(column, what, rule, f"write {setting('', {'bins': [0, 10, 20]})}", "bins-not-given-in-one-way")
    (way,) = ways
    if way == "bins" and "between" in given:
        rule = "a list of edges says where it begins and ends"
        raise _wrong(column, "between beside bins", rule, "leave between out", "between-beside-bins")
    if way != "bins" and "between" not in given:
        rule = "cells need a beginning and an end"
        remedy = f"add {setting('between', ['2024-01', '2024-12'] if way == 'by' else [0, 100])}"
        raise _wrong(column, f"{way} without between", rule, remedy, "bins-without-between")
    return way


def plain_keys(by: Any) -> Any:
    """Declared groups, cells by their names."""
    if not isinstance(by, Mapping):
        return by
    return {column: list(keys.labels) if isinstance(keys, Bins) else keys for column, keys in by.items()}


def cuts_of(by: Any) -> tuple[tuple[str, Cut], ...]:
    """The cells of the columns of groups that have some."""
    if not isinstance(by, Mapping):
        return ()
    return tuple((column, keys.cut) for column, keys in by.items() if isinstance(keys, Bins))


def equal_cells(low: float, high: float, cells: int) -> Cut:
    """Cells of one width within bounds; values beyond the bounds count as these.

    >>> equal_cells(0, 1, 4)
    Cut(edges=(0.25, 0.5, 0.75), kind='number', ends=(0.0, 1.0))
    """
    a, b = _exact(low), _exact(high)
    edges = (float(a + (b - a) * i / cells) for i in range(1, cells))
    distinct = dict.fromkeys(edge for edge in edges if float(low) < edge < float(high))
    return Cut(tuple(distinct), ends=(float(low), float(high)))


def _of_edges(column: str, edges: Any) -> Bins:
    if not is_list(edges):
        what, rule = f"bins={edges!r}"[:80], "bins are a list of numbers, the edges of cells"
        raise _wrong(column, what, rule, _edges_of(column, [0, 10, 20]), "bins-not-listed")
    if not edges:
        raise _wrong(column, "no bins", "there must be at least one edge", _edges_of(column, [0, 10, 20]), "no-bins")
    if len(edges) >= MAX_BINS:
        raise _wrong(column, f"{len(edges)} bins", f"at most {MAX_BINS:,} cells", "use fewer", "too-many-bins")
    numbers = [_edge(column, edge) for edge in edges]
    for one, two in itertools.pairwise(numbers):
        if one == two:
            what, rule = f"edge {_written(one)} twice", "every edge is given once"
            raise _wrong(column, what, rule, "leave one out", "bin-twice")
        if one > two:
            what = f"edge {_written(two)} after {_written(one)}"
            raise _wrong(column, what, "edges go up", _edges_of(column, sorted(set(edges))), "bins-not-sorted")
    return _named(tuple(numbers), [_written(edge) for edge in numbers], None, "number")


def _edge(column: str, edge: Any) -> float:
    """One edge, without −0.0."""
    if isinstance(edge, bool) or not isinstance(edge, int | float):
        rule = "the edges of cells are numbers"
        remedy = f"write numbers; of dates {setting('', {'by': 'month', 'between': ['2024-01', '2024-12']})}"
        raise _wrong(column, f"edge {edge!r}"[:80], rule, remedy, "bin-not-a-number")
    if not -sys.float_info.max <= edge <= sys.float_info.max:
        remedy = "leave it out: what lies beyond the outer edges has cells of its own"
        raise _wrong(column, f"edge {edge!r}"[:80], "edges are finite numbers", remedy, "bin-not-finite")
    return float(edge) + 0.0


def _edges_of(column: str, edges: Sequence[Any]) -> str:
    """How the edges of a column are written."""
    return f"write {setting('bins', {column: [*edges[:6], *([...] if edges[6:] else [])]})}"


def _equal(column: str, cells: Any, between: Any) -> list[float]:
    a, b = _ends(column, between)
    if not (is_whole(cells) and 1 <= cells < MAX_BINS):
        rule = f"the number of cells is a whole number from 1 to {MAX_BINS - 1:,}"
        remedy = f"write {setting('equal', 20)}"
        raise _wrong(column, f"equal={cells!r}"[:80], rule, remedy, "equal-not-a-number-of-cells")
    return [float(a + (b - a) * i / cells) for i in range(int(cells) + 1)]


def _log(column: str, factor: Any, between: Any) -> list[float]:
    a, b = _ends(column, between)
    if isinstance(factor, bool) or not is_number(factor) or not 1 < factor < math.inf:
        rule, remedy = "it is by how much each edge is larger than the one before", f"write {setting('log', 10)}"
        raise _wrong(column, f"log={factor!r}"[:80], rule, remedy, "log-not-above-1")
    if a <= 0:
        what, rule = f"log bins from {_written(float(a))}", "they begin above 0"
        remedy = "begin at a small number, such as 1: what lies below is a cell of its own"
        raise _wrong(column, what, rule, remedy, "log-bins-from-0")
    edges, step = [a], _exact(factor)
    while edges[-1] < b and len(edges) <= MAX_BINS:
        edges.append(edges[-1] * step)
        if len(edges) > 5000:
            raise _wrong(
                column, f"log={factor!r}", "at most 5,000 log bins", "choose a larger factor", "too-many-log-bins"
            )
    if edges[-1] != b:
        what = f"log={factor!r} between {_written(float(a))} and {_written(float(b))}"
        ends = f"end at {_written(float(edges[-2]))} or {_written(float(edges[-1]))}"
        raise _wrong(column, what, "the last edge must be reached in whole steps", ends, "log-bins-miss-the-end")
    return [float(edge) for edge in edges]


def _ends(column: str, between: Any) -> tuple[Fraction, Fraction]:
    """The first and the last edge, as they are written."""
    pair = between if is_list(between) else ()
    plain = len(pair) == 2 and all(isinstance(x, int | float) and is_number(x) and math.isfinite(x) for x in pair)
    if not (plain and pair[0] < pair[1]):
        what, rule = f"between={between!r}"[:80], "it is two finite numbers, the smaller one first"
        raise _wrong(column, what, rule, f"write {setting('between', [0, 100])}", "between-not-two-numbers")
    return _exact(pair[0]), _exact(pair[1])


def _exact(number: float) -> Fraction:
    """A number as it is written: 0.1 is one tenth."""
    return Fraction(repr(float(number))) if isinstance(number, float) else Fraction(int(number))


def _written(number: float) -> str:
    """A double in its shortest digits, no two alike; a whole number as such."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def _named(edges: tuple[float, ...], written: Sequence[str], inner: Sequence[str] | None, kind: str) -> Bins:
    between = inner or [f"{one} to {two}" for one, two in itertools.pairwise(written)]
    return Bins(Cut(edges, kind), (f"< {written[0]}", *between, f"≥ {written[-1]}"))


def _wrong(column: str, what: str, rule: str, remedy: str, code: str) -> DomainError:
    return DomainError(f"cells of {column!r}: {what}", rule, remedy, code=code, column=column)


# -- dates ------------------------------------------------------------------------------------------------------------


def _of_dates(column: str, by: Any, between: Any) -> Bins:
    if by not in PERIODS:
        what, rule = f"by={by!r}"[:80], "dates are cut by day, week, month, quarter or year"
        raise _wrong(column, what, rule, nearest(str(by), PERIODS), "unknown-period")
    first, last = _between_days(column, between)
    start = _start(first, by)
    if start != first:
        what = f"by={by!r} from {first.isoformat()}"
        rule, remedy = f"it must begin with a whole {by}", f"begin at {start.isoformat()}"
        raise _wrong(column, what, rule, remedy, "dates-begin-inside-a-period")
    starts = [start]
    while starts[-1] <= last:
        if len(starts) >= MAX_BINS:
            raise _wrong(column, f"by={by!r}", f"at most {MAX_BINS:,} cells", "cut it less finely", "too-many-bins")
        starts.append(_next(column, starts[-1], by))
    if starts[-1] != last + DAY:
        what, rule = f"by={by!r} up to {last.isoformat()}", f"it must end with a whole {by}"
        remedy = f"end at {(starts[-1] - DAY).isoformat()}"
        raise _wrong(column, what, rule, remedy, "dates-end-inside-a-period")
    edges = tuple(float(day.year * 10000 + day.month * 100 + day.day) for day in starts)
    return _named(edges, [day.isoformat() for day in starts], [_called(day, by) for day in starts[:-1]], DATE)


DAY = datetime.timedelta(days=1)


def _between_days(column: str, between: Any) -> tuple[datetime.date, datetime.date]:
    """The first and the last day."""
    days = [_days(each) for each in between] if is_list(between) else []
    if len(days) != 2 or days[0] is None or days[1] is None:
        what, rule = f"between={between!r}"[:80], "it is two dates, months or years, the earlier one first"
        remedy = f'write {setting("between", ["2024-01", "2024-12"])}, or ["2024-01-01", "2024-12-31"]'
        raise _wrong(column, what, rule, remedy, "between-not-two-dates")
    first, last = days[0][0], days[1][1]
    if first > last:
        what, rule = f"between={list(between)!r}"[:80], "the earlier date comes first"
        raise _wrong(column, what, rule, "swap them", "dates-not-in-order")
    return first, last


def _days(given: Any) -> tuple[datetime.date, datetime.date] | None:
    """The first and the last day of what was written: a date, a month or a year."""
    if isinstance(given, datetime.datetime):
        given = given.date()
    if isinstance(given, datetime.date):
        return given, given
    text = str(given) if isinstance(given, str) or is_whole(given) else ""
    if re.fullmatch(r"[0-9]{4}(-[0-9]{2}){0,2}", text) is None:
        return None
    try:
        first = datetime.date.fromisoformat(text + "-01" * ((10 - len(text)) // 3))
        period = {10: "day", 7: "month", 4: "year"}[len(text)]
        return first, first if period == "day" else _next("", first, period) - DAY
    except (ValueError, OverflowError, DomainError):
        return None


def _start(day: datetime.date, by: str) -> datetime.date:
    """The first day of the period that a day is in; weeks begin on Monday."""
    if by == "week":
        return day - datetime.timedelta(days=day.weekday())
    month = {"year": 1, "quarter": day.month - (day.month - 1) % 3}.get(by, day.month)
    return day if by == "day" else day.replace(month=month, day=1)


def _next(column: str, day: datetime.date, by: str) -> datetime.date:
    """The first day of the next period."""
    try:
        if by in ("day", "week"):
            return day + (DAY if by == "day" else 7 * DAY)
        months = day.year * 12 + day.month - 1 + {"month": 1, "quarter": 3, "year": 12}[by]
        return datetime.date(months // 12, months % 12 + 1, 1)
    except (ValueError, OverflowError):
        what, rule = "dates after the year 9998", "dates are those of the years 1 to 9998"
        raise _wrong(column, what, rule, "end earlier", "dates-too-late") from None


def _called(day: datetime.date, by: str) -> str:
    names = {"week": f"week of {day.isoformat()}", "month": day.isoformat()[:7], "year": day.isoformat()[:4]}
    quarter = f"{day.year:04d}-Q{math.ceil(day.month / 3)}"
    return quarter if by == "quarter" else names.get(by, day.isoformat())


# Marginals of a request: tables over some columns each, planned together so that they add up.
#
#     marginals = [["age", "sex"], ["region"]]
#     values    = { sex = ["f", "m"], region = ["north", "south"] }
#     bins      = { age = [18, 40, 65] }
#
# Every column has declared values, or bins. One more cell of each column is for what is missing or not declared.

Tables = tuple[tuple[str, ...], ...]


class SettledTables(NamedTuple):
    """The tables, and for each column its declared values or the names of its cells, and these."""

    tables: Tables
    declared: tuple[tuple[str, tuple[Any, ...], Cut | None], ...]


def settle_marginals(tables: Any, values: Mapping[str, Any], bins: Mapping[str, Bins]) -> Tables | SettledTables:
    """The tables with the values or bins of their columns; refuses a column that has none, or both."""
    if not tables or isinstance(tables, SettledTables):
        return tables or ()
    columns = dict.fromkeys(column for table in tables for column in table)
    return SettledTables(tables, tuple((column, *_declared(column, values, bins)) for column in columns))


def _declared(column: str, values: Mapping[str, Any], bins: Mapping[str, Bins]) -> tuple[tuple[Any, ...], Cut | None]:
    """The values of a column, or the names of its cells and these."""
    if column in values and column in bins:
        what, rule = f"column {column!r} has values and bins", "its cells in a table are the ones or the others"
        raise RequestError(what, rule, "leave one out", code="marginal-with-values-and-bins", column=column)
    if column in values:
        return tuple(values[column]), None
    if column in bins:
        return bins[column].labels, bins[column].cut
    what = f"column {column!r} of a marginal has no values"
    rule = "every column of a table needs declared values, or bins of its numbers or dates"
    remedy = f"write {setting('values', {column: ['a', 'b']})}, or {setting('bins', {column: [0, 10, 20]})}"
    raise RequestError(what, rule, remedy, code="marginal-without-values", column=column)


# Quantiles and medians of a request: which levels of which columns, over which cells, of which number of a person.
#
#     quantiles = { income = [0.1, 0.5, 0.9] }      levels; the cells come from bins or bounds of the column
#     medians   = ["income"]                        the same at 0.5, under the name income_median
#     medians   = { income = [0, 200000] }          with the bounds beside it
#
# Without `bins` the bounds are cut into cells of one width, and values beyond the bounds count as these. With bins
# and no unit the outer cells are open, and a quantile in one of them is unknown.

CELLS = 256
"""Cells within bounds, where no bins are declared: half a cell is 0.2 % of the bounds."""

MAX_CELLS = 2048
"""Limit on the cells of a quantile: the noise for them is solved for."""


class SettledQuantiles(NamedTuple):
    """The quantiles of one column: names and levels, the cells, and which number of a person is meant."""

    levels: tuple[tuple[str, float], ...]
    cut: Cut
    made: str


def settle_quantiles(
    quantiles: Mapping[str, Any],
    medians: Mapping[str, Any],
    bounds: Mapping[str, tuple[float, float]],
    total_bounds: Mapping[str, tuple[float, float]],
    bins: Mapping[str, Bins],
    unit: str | None,
) -> dict[str, SettledQuantiles]:
    """The quantiles and medians of each column with its cells; refuses a column of which these are not known."""
    if any(isinstance(each, SettledQuantiles) for each in quantiles.values()):
        return dict(quantiles)
    found: dict[str, SettledQuantiles] = {}
    for column in dict.fromkeys([*quantiles, *medians]):
        levels = [(Quantiles.label(column, level), level) for level in quantiles.get(column, ())]
        levels += [(f"{column}_{MEDIAN}", 0.5)] if column in medians else []
        beside = medians.get(column)
        own = bounds if beside is None else {**bounds, column: beside}
        made, within = _whose(column, own, {} if beside is not None else total_bounds, unit)
        found[column] = SettledQuantiles(tuple(levels), _cells(column, within, bins.get(column), unit), made)
    return found


def _whose(
    column: str, bounds: Mapping[str, Any], total_bounds: Mapping[str, Any], unit: str | None
) -> tuple[str, tuple[float, float] | None]:
    """Which number of a person is meant, and the bounds of it."""
    if unit is None:
        return OWN_VALUE, bounds.get(column, total_bounds.get(column))
    if column in bounds and column in total_bounds:
        what = f"quantiles of {column!r} with bounds and total_bounds"
        rule = "a person has one value: the total of its rows, or their mean"
        remedy = f"ask in a question of its own, with bounds (for the mean) or total_bounds (for the total) of {column}"
        raise RequestError(what, rule, remedy, code="quantile-of-totals-or-means", column=column)
    return (OWN_TOTAL, total_bounds[column]) if column in total_bounds else (OWN_MEAN, bounds.get(column))


def _cells(column: str, within: tuple[float, float] | None, bins: Bins | None, unit: str | None) -> Cut:
    if bins is not None and bins.cut.kind == DATE:
        what, rule = f"quantiles of {column!r}, which has bins of dates", "quantiles are of numbers"
        remedy = f"derive a number, such as year({column})"
        raise RequestError(what, rule, remedy, code="quantile-of-dates", column=column)
    if within is None and (bins is None or unit is not None):
        raise _without_bounds(column, unit)
    if within is not None:
        Box({column: within})  # refuses bounds that are not in order
    cut = _cut_of(within, bins, unit)
    if not 2 <= cut.cells <= MAX_CELLS:
        what, rule = f"quantiles of {column!r} over {cut.cells} cells", f"there must be 2 to {MAX_CELLS:,} of them"
        remedy = "declare fewer bins" if cut.cells > 2 else "declare bins inside the bounds"
        raise RequestError(what, rule, remedy, code="quantile-cells-too-many-or-few", column=column, cells=cut.cells)
    return cut


def _cut_of(within: tuple[float, float] | None, bins: Bins | None, unit: str | None) -> Cut:
    if bins is not None and unit is None:
        return bins.cut
    assert within is not None
    if bins is None:
        return equal_cells(*within, CELLS)
    return Cut(tuple(edge for edge in bins.cut.edges if within[0] < edge < within[1]), ends=within)


def _without_bounds(column: str, unit: str | None) -> RequestError:
    person = " of one row, or total_bounds of a person's total" if unit is not None else ""
    rule = f"they are found among cells, which need bounds{person}: known without looking at the data, or learned"
    bins = "" if unit is not None else f", or {setting('bins', {column: [0, 10, 20]})}"
    learned = setting("bounds" if unit is not None else "bins", {column: PRIVATE})
    remedy = f"write {setting('bounds', {column: [0, 100]})}{bins}, or {learned} to learn them at a price"
    return RequestError(
        f"quantiles of {column!r} without bounds", rule, remedy, code="quantile-without-bounds", column=column
    )
