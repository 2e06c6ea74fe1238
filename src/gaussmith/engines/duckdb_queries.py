"""What a query of DuckDB does, from its plan: whether each row it returns comes from one row of one table.

Only scans of tables, filters and projections pass (and an order, and names for parts of the query). All else, such as
aggregates, windows, limits, joins, sets and samples, can make one person change every row: it needs the user's promise.
So do `rowid` and functions whose value is not decided by their arguments: they depend on other rows, or on chance.

The plan is made without DuckDB's optimizer, which looks at statistics of the data: what is refused must not depend on
the data. Views are part of the plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

ROW_BY_ROW = frozenset({"SEQ_SCAN", "TABLE_SCAN", "FILTER", "PROJECTION", "ORDER_BY", "CTE", "CTE_SCAN", "DUMMY_SCAN"})
"""Operators that look at one row at a time."""


def is_row_by_row(connection: Any, query: str) -> bool:
    """Whether each row of a query depends on one row of a table alone. Requires a connection without an optimizer.

    Nothing is read but the plan; a query that cannot be planned, or whose plan cannot be read, is not row by row.
    """
    told = connection.execute(f"explain (format json) {query}").fetchall()
    plan = json.loads(told[0][1])
    if not {name.strip().upper() for name in _operators(plan)} <= ROW_BY_ROW:
        return False
    volatile = "select function_name from duckdb_functions() where stability = 'VOLATILE'"
    names = {str(name).lower() for (name,) in connection.execute(volatile).fetchall()} | {"stats"}
    calls = "|".join(re.escape(name) for name in sorted(names))
    text = _expanded(connection, query).lower()
    return re.search(rf"\browid\b|\b(?:{calls})\b\"?\s*(?:/\*.*?\*/\s*|--[^\n]*\n\s*)*\(", text, re.DOTALL) is None


def _operators(plan: Any) -> Iterator[str]:
    for node in plan if isinstance(plan, list) else [plan]:
        yield str(node["name"])
        yield from _operators(node.get("children", []))


def _expanded(connection: Any, query: str) -> str:
    """The query with the definitions of all views and macros that it may use, and those that these may use."""
    views = "select view_name, sql from duckdb_views() where not internal"
    macros = (
        "select function_name, macro_definition from duckdb_functions() "
        "where function_type in ('macro', 'table_macro') and not internal"
    )
    defined = [*connection.execute(views).fetchall(), *connection.execute(macros).fetchall()]
    text = query
    while found := [each for each in defined if re.search(rf"(?<!\w){re.escape(str(each[0]))}(?!\w)", text, re.I)]:
        defined = [each for each in defined if each not in found]
        text += "".join(f"\n{definition}" for _, definition in found)
    return text
