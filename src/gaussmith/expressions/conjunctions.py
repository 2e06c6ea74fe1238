"""Filters that hold others: whether every row that passes one filter passes another, seen from their text alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gaussmith.expressions.formulas import columns_used
from gaussmith.expressions.grammar import parse
from gaussmith.expressions.nodes import Node


def common_filter(common: str | None, own: str | None, columns: Sequence[Mapping[str, str]]) -> bool:
    """Whether rows that pass `own` pass `common`, which means the same wherever these derived columns are.

    It does where all terms of `common`, joined by "and", are terms of `own`; nothing else is looked for.

    >>> common_filter("age >= 18", "(age >= 18) and (region == 'north')", [{}, {}])
    True
    >>> common_filter("age >= 18", "(age >= 18) and (a == 1) or (b == 2)", [{}])
    False
    >>> common_filter("adult", "adult", [{"adult": "age >= 18"}, {"adult": "age >= 21"}])
    False
    """
    if common is None:
        return True
    if own is None or not _terms(parse(common).tree) <= _terms(parse(own).tree):
        return False
    return same_meaning(columns_used(parse(common)), columns)


def same_meaning(names: Iterable[str], columns: Sequence[Mapping[str, str]]) -> bool:
    """Whether columns mean the same wherever these derived columns are, and so do all that they are made of.

    >>> same_meaning(["who"], [{"who": "card"}, {"who": "phone"}]), same_meaning(["who"], [{}, {"other": "phone"}])
    (False, True)
    """
    waiting, seen = set(names), set[str]()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        meanings = {each.get(name) for each in columns}
        if len(meanings) > 1:
            return False
        (text,) = meanings
        if text is not None:
            waiting |= set(columns_used(parse(text))) - seen
    return True


def _terms(tree: Node) -> set[Node]:
    """What is joined by "and"."""
    if getattr(tree, "name", None) == "and" and hasattr(tree, "arguments"):
        return {term for each in tree.arguments for term in _terms(each)}
    return {tree}
