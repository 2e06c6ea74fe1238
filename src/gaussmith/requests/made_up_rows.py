"""A made-up table for a request: columns of the kinds and within the bounds that it names. It reads no data.

Values are spread evenly by fixed sequences, so that the same request always has the same made-up table. They resemble
no data: what a rehearsal shows is whether a request runs, what its answers look like and how large their noise is.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

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


@dataclass
class _Column:
    """What is known of a column: bounds, declared values, or what expressions compare it with."""

    bounds: tuple[float, float] | None = None
    values: list[Any] = field(default_factory=list)


def made_up_table(plan: Plan, rows: int, kinds: Mapping[str, str] | None = None) -> pl.DataFrame:
    """A table of so many rows that a plan of a request can be released from; `kinds` of the real source, if known."""
    import polars as pl

    _check_rows(rows)
    rules = [query.row_rule for query in plan.queries if query.row_rule is not None]
    limits = [rule.rows_per_unit or USUAL_ROWS_PER_PERSON for rule in rules if rule.unit is not None]
    each = min(max(limits), rows) if limits else 1
    spread = _Spread(rows)
    found: dict[str, Any] = {}
    derived = {name for rule in rules for name, _ in (*rule.columns, *rule.person_columns)}
    for query in plan.queries:
        _declare_groups(query, found, spread)
    bounded: dict[str, tuple[float, float]] = {}
    for query in plan.queries:
        bounded = {**bounds_of(query, each), **bounded}
        _declare_cells(query, found, spread, derived)
        values = _histogram_of(query)
        if values is not None and values[0] not in found and values[0] not in derived:
            found[values[0]] = spread.picked(values[1])
    for name, (low, high) in bounded.items():
        if name not in derived and name not in found:
            found[name] = low + (high - low) * spread.next()
    for rule in rules:
        if rule.unit is not None and rule.unit not in found and rule.unit not in derived:
            found[rule.unit] = np.arange(rows) % math.ceil(rows / each)
    known = {name: _kind(column) for name, column in found.items()}
    for name, kind in _other_kinds(rules, known, derived, kinds or {}).items():
        found[name] = _column(kind, _compared(rules, name), spread)
    return pl.DataFrame(found if found else {"row": np.arange(rows)}, strict=False)


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


def _declare_groups(query: Query, found: dict[str, Any], spread: _Spread) -> None:
    """Columns of keys, with every declared combination; a column that another query declared stays as it is."""
    if query.groups is None:
        return
    if isinstance(query.groups, FoundGroups):
        declared = dict(query.groups.declared)
        for column in query.groups.columns:
            if column not in found:
                found[column] = spread.picked(declared.get(column, MADE_UP_KEYS))
        return
    labels = spread.picked(query.groups.labels)
    cuts = dict(query.row_rule.by_cuts) if query.row_rule is not None else {}
    for i, column in enumerate(query.groups.columns):
        if column not in found:
            found[column] = _of_cut(cuts[column], spread) if column in cuts else [label[i] for label in labels]


def _declare_cells(query: Query, found: dict[str, Any], spread: _Spread, derived: set[str]) -> None:
    """Columns whose cells are counted, with values in all cells; those within bounds are spread over them."""
    rule = query.row_rule
    if rule is None:
        return
    for column, cut in rule.cuts:
        if column not in found and column not in derived and cut.ends is None:
            found[column] = _of_cut(cut, spread)
    for (kind, column), values in zip(rule.features, query.block.domain.input.labels, strict=False):
        if kind == TABLED and column not in found and column not in derived:
            found[column] = spread.picked(values if rule.histogram is not None else values[:-1])


def _of_cut(cut: Cut, spread: _Spread) -> list[Any]:
    """Values in all cells of a column."""
    if cut.kind == DATE:
        days = [datetime.date(int(e) // 10000, int(e) // 100 % 100, int(e) % 100) for e in cut.edges]
        return spread.picked([days[0] - datetime.timedelta(days=1), *days])
    return spread.picked([cut.edges[0] - 1.0, *cut.edges])


def _histogram_of(query: Query) -> tuple[str, Sequence[Any]] | None:
    rule, values = query.row_rule, query.block.domain.input.values
    if rule is None or rule.histogram is None or values is None:
        return None
    return rule.histogram, list(values)


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


def _other_kinds(
    rules: Sequence[Any], known: Mapping[str, str], derived: set[str], told: Mapping[str, str]
) -> dict[str, str]:
    """The kinds of the columns that only expressions name: those of the source, or the first that fit."""
    texts = [text for rule in rules for text in (*(t for _, t in rule.columns), rule.where) if text is not None]
    named = dict.fromkeys(name for text in texts for name in columns_used(parse(text)))
    named |= dict.fromkeys(name for rule in rules for name in _own_columns(rule))
    other = [name for name in named if name not in known and name not in derived]
    told_kinds = {name: told[name] for name in other if told.get(name) in KINDS}
    unknown = [name for name in other if name not in told_kinds]
    if len(unknown) > MAX_TRIED:
        return {**told_kinds, **dict.fromkeys(unknown, "number")}
    first_error: ExpressionError | None = None
    for kinds in itertools.product(KINDS, repeat=len(unknown)):
        tried = {**told_kinds, **dict(zip(unknown, kinds, strict=True))}
        try:
            for rule in rules:
                derivation = plan_derivation(dict(rule.columns), rule.where, {**known, **tried})
                if rule.person_columns:
                    plan_person_columns(dict(rule.person_columns), rule.person_where, derivation.kinds)
        except ExpressionError as error:
            first_error = first_error or error
            continue
        return tried
    assert first_error is not None
    raise first_error


def _own_columns(rule: Any) -> list[str]:
    """The columns of rows that a person's own numbers are made of."""
    own = dict(rule.person_columns)
    return [name for text in own.values() for name in columns_used(parse(text, of_people=True)) if name not in own]


def _compared(rules: Sequence[Any], name: str) -> list[Any]:
    """The constants that expressions compare a column with."""
    found: list[Any] = []

    def walk(node: Any) -> None:
        if any(argument.column == name for argument in node.arguments):
            found.extend(argument.constant for argument in node.arguments if argument.constant is not None)
        for argument in node.arguments:
            walk(argument)

    for rule in rules:
        for text in (*(t for _, t in (*rule.columns, *rule.person_columns)), rule.where):
            if text is not None:
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
    numbers = [float(value) for value in compared if isinstance(value, int | float) and not isinstance(value, bool)]
    low, high = (min(numbers), max(numbers)) if numbers else (1.0, 100.0)
    room = max(high - low, abs(high), 1.0) / 2 if numbers else 0.0
    return low - room + (high - low + 2 * room) * spread.next()
