"""Trees written as text again, which parses to the same tree; and filters split between rows and people."""

from __future__ import annotations

import re
from collections.abc import Container

from gaussmith.errors import RequestError
from gaussmith.expressions.grammar import MINUS, NOT, POWERS, WORDS, parse
from gaussmith.expressions.nodes import Literal, Node, Operation

_ATOM = 100
_AND = POWERS["and"]


def written(tree: Node) -> str:
    """A tree as text, with as few brackets as it needs.

    >>> written(parse("(a + b) * -c >= 2 and not (x in ['it''s', 'b'] or `y z`)").tree)
    "(a + b) * -c >= 2 and not (x in ('it''s', 'b') or `y z`)"
    """
    if tree.constant is not None:
        return _constant(tree)
    if tree.column is not None:
        plain = re.fullmatch(r"[^\W\d]\w*", tree.column) and tree.column.lower() not in (*WORDS, "null", "none", "nan")
        return tree.column if plain else "`" + tree.column.replace("`", "``") + "`"
    name, arguments = tree.name, tree.arguments
    if name == "not":
        return f"not {_within(arguments[0], NOT)}"
    if name == "negative":
        return f"-{_within(arguments[0], MINUS - 1)}"
    if name in ("in", "not in"):
        return f"{_within(arguments[0], POWERS['in'])} {name} ({', '.join(map(written, arguments[1:]))})"
    if name in POWERS:
        power = POWERS[name]
        left = power if power == POWERS["=="] else power - 1  # others are read from the left
        return f"{_within(arguments[0], left)} {name} {_within(arguments[1], power)}"
    return f"{name}({', '.join(map(written, arguments))})"


def _constant(tree: Literal) -> str:
    value = tree.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 and str(value) != "-0.0" else repr(value)


def _within(tree: Node, power: int) -> str:
    """A part of a tree, in brackets unless it binds more tightly than this."""
    binds = _ATOM
    if isinstance(tree, Operation):
        own = {"not": NOT, "negative": MINUS, "not in": POWERS["in"]}
        binds = own.get(tree.name, POWERS.get(tree.name, _ATOM))
    return written(tree) if binds > power else f"({written(tree)})"


def split_filter(where: str | None, people: Container[str]) -> tuple[str | None, str | None]:
    """A filter as one of rows and one of people: its conditions joined by "and", by the columns that they use.

    >>> split_filter("age >= 18 and visits >= 3", {"visits"}), split_filter("age >= 18", {"visits"})
    (('age >= 18', 'visits >= 3'), ('age >= 18', None))
    """
    if where is None:
        return None, None
    parts: dict[bool, list[Node]] = {False: [], True: []}
    for condition in parse(where).tree.conditions:
        used = {name in people for name in condition.columns_used}
        if len(used) > 1:
            what = f"where: the condition {written(condition)}"
            rule = "it compares numbers of rows with numbers of people, and rows are filtered first"
            remedy = "use either columns of rows or person_columns in each condition, joined by and"
            raise RequestError(what, rule, remedy, code="filter-of-rows-and-people")
        parts[True in used].append(condition)
    rows, persons = parts[False], parts[True]
    if not (rows and persons):
        return (where, None) if rows else (None, where)
    return _joined(rows), _joined(persons)


def _joined(conditions: list[Node]) -> str:
    return " and ".join(_within(condition, _AND) for condition in conditions)
