"""How many groups or values a person counts in: a choice that must be made, with what each choice costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gaussmith.errors import GaussmithError, RequestError
from gaussmith.plans import Plan
from gaussmith.requests.question import Question

SHOWN = (1, 2, 5)
"""The limits whose cost is told, beside that of all."""

ROWS = 10_000
"""How many rows a group has for which the error of a mean is told."""

PlanOf = Callable[[Sequence[Question]], Plan]


def check_limits(questions: Sequence[Question], plan_of: PlanOf) -> None:
    """Refuse groups, or a histogram, of people with many rows that do not say how many of them a person counts in.

    The error tells what each choice costs in this very request; `plan_of` is its plan with other limits.
    """
    for place, question in enumerate(questions):
        if question.person_columns:
            continue
        if question.finds and question.groups_per_unit is None:
            raise RequestError(
                "found keys with a unit, without groups_per_unit",
                "a person may have several keys, and counts in at most so many: those with the most of their rows",
                "write groups_per_unit = 1, or more: errors and the threshold grow with its square root",
                code="found-limit-not-given",
            )
        if _lacks_groups(question):
            lists = question.by.values() if isinstance(question.by, Mapping) else [question.by]
            size = math.prod(map(len, lists))
            raise _refusal("by", "groups_per_unit", "be in several groups", size, questions, place, plan_of)
        if _lacks_values(question):
            size = max(map(len, [*question.histograms.values(), *question.proportions.values()]))
            raise _refusal("a histogram", "values_per_unit", "have several values", size, questions, place, plan_of)


def _lacks_groups(question: Question) -> bool:
    return bool(question.by) and question.groups_per_unit is None


def _lacks_values(question: Question) -> bool:
    counts = bool(question.histograms or question.proportions)
    return counts and question.values_per_unit is None and not question.by


def _refusal(
    what: str, limit: str, may: str, size: int, questions: Sequence[Question], place: int, plan_of: PlanOf
) -> RequestError:
    choices = [m for m in dict.fromkeys((*SHOWN, size)) if m <= size]
    prices = [_price(_limited(questions, place, limit, m), place, plan_of) for m in choices]
    shown = [
        f"{m}{' for all' if m == size and m > 1 else ''}{_told(price, is_first=i == 0)}"
        for i, (m, price) in enumerate(zip(choices, prices, strict=True))
    ]
    told = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
    return RequestError(
        f"{what} with a unit, without {limit}",
        f"a person may {may}, and counts in at most so many: those with the most of their rows",
        f"write {limit} = {told}",
        code="limit-not-given",
        limit=limit,
        size=size,
    )


def _limited(questions: Sequence[Question], place: int, limit: str, most: int) -> list[Question]:
    """The questions with this limit in one of them, and 1 wherever else a limit is not given."""
    found = []
    for i, question in enumerate(questions):
        lacking: dict[str, Any] = {"groups_per_unit": 1} if _lacks_groups(question) else {}
        lacking |= {"values_per_unit": 1} if _lacks_values(question) else {}
        found.append(replace(question, **lacking | ({limit: most} if i == place else {})))
    return found


def _price(questions: Sequence[Question], place: int, plan_of: PlanOf) -> tuple[str, float] | None:
    """What an answer of one question is, and its standard error; None where there is no such plan."""
    question = questions[place]
    try:
        plan = plan_of(questions)
    except GaussmithError:  # the refusal that is being made comes first
        return None
    errors = (plan[question.name] if len(plan) > 1 else plan).errors(ROWS)
    name = "count" if "count" in errors else next(iter(errors))
    if name == "count" or question.histograms or question.proportions:
        return "each count", errors[name]
    if name in {f"{column}_sum" for column in question.sums}:
        return name, errors[name]
    return (f"ranks of {name}" if question.quantiles else f"{name} of {ROWS:,} rows"), errors[name]


def _told(price: tuple[str, float] | None, is_first: bool) -> str:
    if price is None:
        return ""
    return f" (± {price[1]:.3g}{f' in {price[0]}' if is_first else ''})"
