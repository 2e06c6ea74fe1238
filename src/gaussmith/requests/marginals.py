"""Marginals of a request: tables over some columns each, planned together so that they add up.

    marginals = [["age", "sex"], ["region"]]
    values    = { sex = ["f", "m"], region = ["north", "south"] }
    bins      = { age = [18, 40, 65] }

Every column has declared values, or bins. One more cell of each column is for what is missing or not declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gaussmith.errors import RequestError
from gaussmith.expressions.cuts import Cut
from gaussmith.requests.bins import Bins

Tables = tuple[tuple[str, ...], ...]


class Settled(NamedTuple):
    """The tables, and for each column its declared values or the names of its cells, and these."""

    tables: Tables
    declared: tuple[tuple[str, tuple[Any, ...], Cut | None], ...]


EXAMPLE = 'write marginals = [["age", "sex"], ["region"]]'


def read_marginals(which: str, given: Any) -> Tables | Settled:
    """Tables by their columns, in order; refuses all else in words of its own."""
    if isinstance(given, Settled) or given == {}:
        return given or ()
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        rule = "it must list tables, each a list of columns"
        raise RequestError(f"{which}={given!r}"[:120], rule, EXAMPLE, code="marginals-not-listed", marginals=given)
    found: list[tuple[str, ...]] = []
    for table in given:
        if isinstance(table, str) or not isinstance(table, Sequence) or not all(isinstance(c, str) for c in table):
            what, rule = f"marginal {table!r}"[:120], "a table is a list of columns"
            remedy = f"write marginals = [[{table!r}]]" if isinstance(table, str) else EXAMPLE
            raise RequestError(what, rule, remedy, code="marginal-not-a-list", marginal=table)
        if not table:
            what, rule = "a marginal of no columns", "a table has at least one column"
            raise RequestError(what, rule, "ask for count = true instead", code="marginal-without-columns")
        if len({*table}) < len(table):
            what, rule = f"marginal {list(table)!r}"[:120], "a column is in a table once"
            raise RequestError(what, rule, "leave one out", code="marginal-column-twice", marginal=table)
        if any({*table} == {*other} for other in found):
            what, rule = f"marginal {list(table)!r} twice"[:120], "each table is asked once"
            raise RequestError(what, rule, "leave one out", code="table-twice", marginal=table)
        found.append(tuple(table))
    return tuple(found)


def settle_marginals(tables: Any, values: Mapping[str, Any], bins: Mapping[str, Bins]) -> Tables | Settled:
    """The tables with the values or bins of their columns; refuses a column that has none, or both."""
    if not tables or isinstance(tables, Settled):
        return tables or ()
    declared: list[tuple[str, tuple[Any, ...], Cut | None]] = []
    for column in dict.fromkeys(column for table in tables for column in table):
        if column in values and column in bins:
            what, rule = f"column {column!r} has values and bins", "its cells in a table are the ones or the others"
            raise RequestError(what, rule, "leave one out", code="marginal-with-values-and-bins", column=column)
        if column not in values and column not in bins:
            raise RequestError(
                f"column {column!r} of a marginal has no values",
                "every column of a table needs declared values, or bins of its numbers or dates",
                f'write values = {{ {column} = ["a", "b"] }}, or bins = {{ {column} = [0, 10, 20] }}',
                code="marginal-without-values",
                column=column,
            )
        if column in bins:
            declared.append((column, bins[column].labels, bins[column].cut))
        else:
            declared.append((column, tuple(values[column]), None))
    return Settled(tables, tuple(declared))
