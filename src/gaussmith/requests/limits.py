"""How many groups or values a person counts in: a choice that must be made, with what each choice costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from gaussmith.errors import RequestError
from gaussmith.requests.question import Question

SHOWN = (1, 2, 5)
"""The limits whose cost is told, beside that of all."""


def check_limits(question: Question, error_of: Callable[[Question], float]) -> None:
    """Refuse groups, or a histogram, of people with many rows that do not say how many of them a person counts in.

    `error_of` is the standard error of a count of a question, if nothing else were asked.
    """
    if question.finds and question.groups_per_unit is None:
        raise RequestError(
            "found keys with a unit, without groups_per_unit",
            "a person may have several keys, and counts in at most so many: those with the most of their rows",
            "write groups_per_unit = 1, or more: errors and the threshold grow with its square root",
            code="found-limit-not-given",
        )
    if question.by and question.groups_per_unit is None:
        lists = question.by.values() if isinstance(question.by, Mapping) else [question.by]
        size = math.prod(map(len, lists))
        _refuse("by", "groups_per_unit", "group", size, lambda m: Question(
            count=True, by=question.by, where=question.where, columns=question.columns, groups_per_unit=m
        ), error_of)  # fmt: skip
    counted = {**question.histograms, **question.proportions}
    if counted and question.values_per_unit is None and not question.by:
        column, values = max(counted.items(), key=lambda pair: len(pair[1]))
        _refuse("a histogram", "values_per_unit", "value", len(values), lambda m: Question(
            histograms={column: values}, where=question.where, columns=question.columns, values_per_unit=m
        ), error_of)  # fmt: skip


def _refuse(
    what: str, limit: str, of: str, size: int, asking: Callable[[int], Question], error_of: Callable[[Question], float]
) -> None:
    choices = [m for m in dict.fromkeys((*SHOWN, size)) if m <= size]
    shown = [
        f"{m}{' for all' if m == size and m > 1 else ''} (± {error_of(asking(m)):.3g}{'' if i else ' in each count'})"
        for i, m in enumerate(choices)
    ]
    told = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
    raise RequestError(
        f"{what} with a unit, without {limit}",
        f"a person may be in several {of}s, and counts in at most so many: those with the most of their rows",
        f"write {limit} = {told}",
        code="limit-not-given",
        limit=limit,
        size=size,
    )
