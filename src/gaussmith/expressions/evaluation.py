"""The value of a formula on one row, in plain Python: the reference that every engine must equal."""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from gaussmith.expressions.functions import TEXT_TESTS
from gaussmith.expressions.grammar import COMPARISONS
from gaussmith.expressions.nodes import Node
from gaussmith.expressions.readings import (
    DATE_PARTS,
    DATE_PATTERN,
    HOUR,
    TIME_PATTERN,
    date_number,
    existing_day,
    read_number,
)

COMPARE: dict[str, Callable[[Any, Any], Any]] = dict(
    zip(COMPARISONS, (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), strict=True)
)

_CALENDAR: dict[str, Callable[[datetime.date], int]] = {
    "serial": datetime.date.toordinal,
    "weekday": datetime.date.isoweekday,
    "week": lambda day: day.isocalendar().week,
}


def value_of(node: Node, row: Mapping[str, object]) -> Any:
    """The value of a checked tree on one row, None when missing."""
    if node.constant is not None:
        return node.constant
    if node.column is not None:
        return row[node.column]
    name = node.name
    if (column := node.arguments[0].column) is not None:
        return _leaf(name, row[column])
    if name in ("if", "text if"):
        condition, first, second = node.arguments
        return value_of(first if value_of(condition, row) else second, row)
    values = [value_of(argument, row) for argument in node.arguments]
    if name in ("coalesce", "text coalesce"):
        return next((value for value in values if value is not None), None)
    if name in ("is_null", "text is_null"):
        return values[0] is None
    if name in ("and", "or"):
        return all(values) if name == "and" else any(values)
    if name in ("not", "from truth"):
        return not values[0] if name == "not" else float(values[0])
    name = name.removeprefix("text ")
    if None in values:
        return None if name in _ARITHMETIC else False
    if name in ("in", "not in"):
        return (values[0] in values[1:]) == (name == "in")
    if name in COMPARISONS:
        return bool(COMPARE[name](values[0], values[1]))
    return _TEXT_TESTS[name](*values) if name in TEXT_TESTS else finite(_ARITHMETIC[name](*values))


def finite(value: Any) -> float | None:
    """A number as a finite double; None for all else."""
    if value is None:
        return None
    value = float(value)
    return value if math.isfinite(value) else None


def _leaf(name: str, value: Any) -> Any:
    """The value of a column, read as `name` says."""
    if name == "text":
        return None if value is None else str(value)
    if name == "holds":
        return value is True
    if name in ("double", "long"):
        return finite(value)
    if name == "read":
        return finite(read_number(value))
    part, _, kind = name.partition(" of ")
    return _part_of_text(part, value) if kind == "text" else _part_of_date(part, value)


def _part_of_text(part: str, text: str | None) -> float | None:
    if part == "date":
        return date_number(text)
    if part in _CALENDAR:
        day = existing_day(text)
        return None if day is None else float(_CALENDAR[part](day))
    if text is None or re.fullmatch(TIME_PATTERN if part == "hour" else DATE_PATTERN, text) is None:
        return None
    start, length = HOUR if part == "hour" else DATE_PARTS["month" if part == "quarter" else part]
    number = int(text[start : start + length])
    return float((number + 2) // 3 if part == "quarter" else number)


def _part_of_date(part: str, value: Any) -> float | None:
    if not isinstance(value, datetime.date):
        return None
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        try:
            value = value.astimezone(datetime.UTC)
        except OverflowError:  # outside the years 1 to 9999
            return None
    if part in _CALENDAR:
        return float(_CALENDAR[part](value))
    if part == "hour":
        return float(value.hour) if isinstance(value, datetime.datetime) else 0.0
    if part == "quarter":
        return float((value.month + 2) // 3)
    return float(value.year * 10000 + value.month * 100 + value.day) if part == "date" else float(getattr(value, part))


_TEXT_TESTS: dict[str, Callable[[str, str], bool]] = {
    "contains": lambda text, part: part in text,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
}

_ARITHMETIC: dict[str, Callable[..., float | None]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda x, y: x / y if y != 0 else None,
    "negative": operator.neg,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else None,
    "min": min,
    "max": max,
}
