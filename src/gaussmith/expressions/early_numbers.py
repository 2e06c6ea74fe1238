"""Texts that are read as numbers and as nothing else: a reader may hand doubles over in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from gaussmith.expressions.formulas import Formula
from gaussmith.expressions.nodes import Node, Operation
from gaussmith.expressions.spelling import Derivation


def read_as_numbers(derivation: Derivation) -> frozenset[str]:
    """The columns that are read as numbers, and as nothing else.

    >>> from gaussmith.expressions import plan_derivation
    >>> kinds = dict.fromkeys(["age", "name", "day"], "text")
    >>> sorted(read_as_numbers(plan_derivation({"old": "age > 60"}, "name == 'Ada' and day > '2024-01-31'", kinds)))
    ['age']
    """
    uses = [use for formula in _formulas(derivation) for use in _uses(formula.tree)]
    uses += [(name, True) for name in derivation.present]
    return frozenset(name for name, _ in uses) - other_uses(derivation)


def other_uses(derivation: Derivation) -> frozenset[str]:
    """The columns of which something else is read: texts, dates, truths."""
    return frozenset(
        name for formula in _formulas(derivation) for name, as_number in _uses(formula.tree) if not as_number
    )


def with_numbers(derivation: Derivation, columns: Collection[str]) -> Derivation:
    """The same derivation of a source in which these columns are numbers already.

    Requires: columns of text of which nothing but numbers is read.
    """

    def changed(node: Node) -> Node:
        if not isinstance(node, Operation):
            return node
        if node.name == "read" and node.arguments[0].column in columns:
            return Operation("double", node.arguments, node.at)
        return Operation(node.name, tuple(map(changed, node.arguments)), node.at)

    def rewritten(formula: Formula) -> Formula:
        return replace(formula, tree=changed(formula.tree))

    where = None if derivation.where is None else rewritten(derivation.where)
    made = tuple((name, rewritten(formula)) for name, formula in derivation.columns)
    kinds = {**derivation.kinds, **dict.fromkeys(columns, "number")}
    return replace(derivation, columns=made, where=where, kinds=kinds)


def _formulas(derivation: Derivation) -> list[Formula]:
    return [formula for _, formula in derivation.columns] + ([] if derivation.where is None else [derivation.where])


def _uses(node: Node) -> Iterator[tuple[str, bool]]:
    """Each column below a node, and whether it is read as a number there."""
    if node.column is not None:
        yield node.column, False
    elif isinstance(node, Operation) and node.name == "read":
        yield from ((name, True) for name in node.columns_used)
    else:
        for argument in node.arguments:
            yield from _uses(argument)
