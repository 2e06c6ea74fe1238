"""A made-up table for a request: columns of the kinds and within the bounds that it names. It reads no data.

Values are spread evenly by fixed sequences, so that the same request always has the same made-up table. They resemble
no data: what a rehearsal shows is whether a request runs, what its answers look like and how large their noise is.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import is_number
from gaussmith.domains.features import CHECKED, OWN_TOTAL, ROWS, TABLED, TOTAL, VALUES
from gaussmith.domains.groups import FoundGroups
from gaussmith.errors import ExpressionError, RequestError
from gaussmith.expressions.formulas import columns_used
from gaussmith.expressions.grammar import parse
from gaussmith.expressions.keys import DATE, Cut
from gaussmith.expressions.person_columns import plan_person_columns
from gaussmith.expressions.spelling import plan_derivation
from gaussmith.numerics.exact import Array
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import Query
from gaussmith.planning.row_rule import RowRule

if TYPE_CHECKING:
    import polars as pl

KINDS = ("number", "date", "text", "truth")
"""The kinds of columns that are tried, in this order."""

MAX_TRIED = 6
"""Limit on the columns of expressions whose kinds are found by trying."""

USUAL_ROWS_PER_PERSON = 3
MAX_ROWS = 5_000_000
"""Limit on the rows that are made up."""

MADE_UP_KEYS = [f"key {i}" for i in range(1, 6)]
"""Keys where they are found in the data."""

FIRST_DAY = datetime.date(2020, 1, 1)
DAYS = 1461


def made_up_table(plan: Plan, rows: int, kinds: Mapping[str, str] | None = None) -> pl.DataFrame:
    """A table of so many rows that a plan of a request can be released from; `kinds` of the real source, if known."""
    import polars as pl

    _check_rows(rows)
    rules = [query.row_rule for query in plan.queries if query.row_rule is not None]
    limits = [rule.rows_per_unit or USUAL_ROWS_PER_PERSON for rule in rules if rule.unit is not None]
    each = min(max(limits), rows) if limits else 1
    table = _Table(_Spread(rows), {name for rule in rules for name, _ in (*rule.columns, *rule.person_columns)})
    for query in plan.queries:
        table.declare_groups(query)
    bounded: dict[str, tuple[float, float]] = {}
    for query in plan.queries:
        bounded = {**bounds_of(query, each), **bounded}
        table.declare_cells(query)
    for name, (low, high) in bounded.items():
        table.add_within(name, low, high)
    for unit in (rule.unit for rule in rules if rule.unit is not None):
        table.add(unit, lambda: np.arange(rows) % math.ceil(rows / each))
    for name, kind in _other_kinds(rules, table, kinds or {}).items():
        table.columns[name] = _column(kind, _compared(rules, name), table.spread)
    return pl.DataFrame(table.columns or {"row": np.arange(rows)}, strict=False)


class _Spread:
    """Sequences of numbers between 0 and 1, each evenly spread, and apart from each other."""

    def __init__(self, rows: int) -> None:
        self.at = np.arange(1, rows + 1, dtype=float)
        self._roots = (math.sqrt(p) for p in _primes())

    def next(self) -> Array:
        return np.asarray((self.at * next(self._roots)) % 1.0)

    def picked(self, values: Sequence[Any]) -> list[Any]:
        return [values[int(at)] for at in self.next() * len(values)]


def _primes() -> Iterator[int]:
    found: list[int] = []
    for n in itertools.count(2):
        if all(n % p for p in found):
            found.append(n)
            yield n


def _check_rows(rows: Any) -> None:
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MAX_ROWS:
        rule = f"a rehearsal makes up a whole number of rows, from 1 to {MAX_ROWS:,}"
        raise RequestError(f"rows={rows!r}", rule, "write rows=10_000", code="rehearsal-rows-out-of-range")


class _Table:
    """The columns that were made up so far; a column that was declared before stays as it is."""

    def __init__(self, spread: _Spread, derived: set[str]) -> None:
        self.spread, self.derived = spread, derived
        self.columns: dict[str, Any] = {}

    def add(self, name: str, make: Callable[[], Any]) -> None:
        if name not in self.columns and name not in self.derived:
            self.columns[name] = make()

    def add_within(self, name: str, low: float, high: float) -> None:
        self.add(name, lambda: low + (high - low) * self.spread.next())

    def declare_groups(self, query: Query) -> None:
        """Columns of keys, with every declared combination."""
        groups = query.groups
        if groups is None:
            return
        if isinstance(groups, FoundGroups):
            declared = dict(groups.declared)
            for column in groups.columns:
                if column not in self.columns:
                    self.columns[column] = self.spread.picked(declared.get(column, MADE_UP_KEYS))
            return
        labels = self.spread.picked(groups.labels)
        cuts = dict(query.row_rule.by_cuts) if query.row_rule is not None else {}
        for i, column in enumerate(groups.columns):
            if column not in self.columns:
                own = _of_cut(cuts[column], self.spread) if column in cuts else [label[i] for label in labels]
                self.columns[column] = own

    def declare_cells(self, query: Query) -> None:
        """Columns whose cells are counted, with values in all cells; those within bounds are spread over them."""
        rule, domain = query.row_rule, query.block.domain
        if rule is None:
            return
        for column, cut in rule.cuts:
            if cut.ends is None:
                self.add(column, partial(_of_cut, cut, self.spread))
        for (kind, column), values in zip(rule.features, domain.input.labels, strict=False):
            if kind == TABLED:
                self.add(column, partial(self.spread.picked, values if rule.histogram is not None else values[:-1]))
        if rule.histogram is not None and domain.input.values is not None:
            self.add(rule.histogram, partial(self.spread.picked, list(domain.input.values)))


def _of_cut(cut: Cut, spread: _Spread) -> list[Any]:
    """Values in all cells of a column."""
    if cut.kind == DATE:
        days = [datetime.date(int(e) // 10000, int(e) // 100 % 100, int(e) % 100) for e in cut.edges]
        return spread.picked([days[0] - datetime.timedelta(days=1), *days])
    return spread.picked([cut.edges[0] - 1.0, *cut.edges])


def bounds_of(query: Query, each: int) -> dict[str, tuple[float, float]]:
    """The bounds of a row's values, by column; of a person's total those of one of its rows."""
    rule, domain = query.row_rule, query.block.domain
    if rule is None:
        return {}
    means = domain.means
    low, high = means.middles - means.distances, means.middles + means.distances
    found = {}
    for j, (kind, column) in enumerate(rule.features):
        if kind not in (ROWS, VALUES, TABLED, *CHECKED):
            parts = each if kind in (TOTAL, OWN_TOTAL) and rule.unit is not None else 1
            cut = rule.cut_of(column)
            ends = (float(low[j]), float(high[j])) if cut is None else cut.ends
            if ends is not None:
                found[column] = (ends[0] / parts, ends[1] / parts)
    return found


def _kind(column: Any) -> str:
    first = column[0]
    if isinstance(first, bool | np.bool_):
        return "truth"
    return "text" if isinstance(first, str) else "number"


def _other_kinds(rules: Sequence[RowRule], table: _Table, told: Mapping[str, str]) -> dict[str, str]:
    """The kinds of the columns that only expressions name: those of the source, or the first that fit."""
    known = {name: _kind(column) for name, column in table.columns.items()}
    named = dict.fromkeys(name for rule in rules for name in _read_by(rule))
    other = [name for name in named if name not in known and name not in table.derived]
    found = {name: told[name] for name in other if told.get(name) in KINDS}
    unknown = [name for name in other if name not in found]
    if len(unknown) > MAX_TRIED:
        return {**found, **dict.fromkeys(unknown, "number")}
    errors = []
    for kinds in itertools.product(KINDS, repeat=len(unknown)):
        tried = {**found, **dict(zip(unknown, kinds, strict=True))}
        try:
            _plan_expressions(rules, {**known, **tried})
            return tried
        except ExpressionError as error:
            errors.append(error)
    raise errors[0]


def _read_by(rule: RowRule) -> Iterator[str]:
    """The columns of rows that the expressions of a rule read, and those that a person's own numbers are made of."""
    for text in _texts(rule.columns, rule.where):
        yield from columns_used(parse(text))
    own = dict(rule.person_columns)
    for text in own.values():
        yield from (name for name in columns_used(parse(text, of_people=True)) if name not in own)


def _texts(columns: Sequence[tuple[str, str]], where: str | None) -> list[str]:
    """The expressions of derived columns and of a filter."""
    return [text for _, text in columns] + ([] if where is None else [where])


def _plan_expressions(rules: Sequence[RowRule], kinds: Mapping[str, str]) -> None:
    """Refuse expressions over columns of kinds that do not fit them."""
    for rule in rules:
        derivation = plan_derivation(dict(rule.columns), rule.where, kinds)
        if rule.person_columns:
            plan_person_columns(dict(rule.person_columns), rule.person_where, derivation.kinds)


def _compared(rules: Sequence[RowRule], name: str) -> list[Any]:
    """The constants that expressions compare a column with."""
    found: list[Any] = []

    def walk(node: Any) -> None:
        if any(argument.column == name for argument in node.arguments):
            found.extend(argument.constant for argument in node.arguments if argument.constant is not None)
        for argument in node.arguments:
            walk(argument)

    for rule in rules:
        for text in _texts((*rule.columns, *rule.person_columns), rule.where):
            walk(parse(text, of_people=True).tree)
    return list(dict.fromkeys(found))


def _column(kind: str, compared: Sequence[Any], spread: _Spread) -> Any:
    """Values of one kind around what they are compared with, so that a filter keeps some rows and drops others."""
    if kind == "truth":
        return spread.picked([True, False])
    if kind == "text":
        texts = [value for value in compared if isinstance(value, str)]
        return spread.picked([*texts, "other"] if texts else ["a", "b", "c"])
    if kind == "date":
        return [FIRST_DAY + datetime.timedelta(days=int(at)) for at in spread.next() * DAYS]
    numbers = [float(value) for value in compared if is_number(value)]
    if not numbers:
        return 1.0 + 99.0 * spread.next()
    low, high = min(numbers), max(numbers)
    room = max(high - low, abs(high), 1.0) / 2
    return low - room + (high - low + 2 * room) * spread.next()
