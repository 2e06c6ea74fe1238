"""Questions about groups that are found in the data: their draws, and what noise and keys each may spend.

Such a question never shares its noise with others. One of its draws decides which groups are shown: the one that
counts people, with all answers that are read from the same rows. The others tell more about the groups that are shown.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from gaussmith.domains import FOUND, Domain, FoundGroups
from gaussmith.errors import RequestError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.plans import Draw
from gaussmith.requests.bins import Bins
from gaussmith.requests.fields import is_found, is_plain
from gaussmith.requests.parts import Part, count_alone, parts_of
from gaussmith.requests.question import Question
from gaussmith.requests.translation import plan_part
from gaussmith.statistics.registry import STATISTICS, asked_by_field
from gaussmith.statistics.statistic import NUMBERS


def check_found(questions: Sequence[Question], neighbours: str, keys_delta: float | None, first: bool = False) -> None:
    """Refuse what cannot be asked of found keys; where they are found first, answers are those of declared groups."""
    finding = [question for question in questions if question.finds]
    if finding and neighbours != ADD_REMOVE:
        raise RequestError(
            "found keys under replace-one",
            "the number of people is public there, so that a person's key would show by its absence",
            'declare the keys, or use neighbours = "add-remove"',
            code="request-found-keys-under-replace-one",
        )
    if keys_delta is not None and not finding:
        raise RequestError(
            "keys_delta without found keys",
            "it is the part of δ that is spent on finding keys",
            'leave it out, or ask for found keys: by = { airport = "found" }',
            code="keys-delta-without-found-keys",
        )
    if keys_delta is not None:
        from gaussmith.plans.threshold import LARGEST_KAPPA

        if not (is_plain(keys_delta) and 0 < keys_delta <= LARGEST_KAPPA):
            raise RequestError(
                f"keys_delta={keys_delta!r}",
                f"it is a probability above 0, and at most {float(LARGEST_KAPPA):g}",
                "write keys_delta = 1e-7: far below 1 / (number of people)",
                code="keys-delta-not-a-probability",
                keys_delta=keys_delta,
            )
    for question in questions:
        for name, usual in (("keys_at_least", 1), ("top", None)):
            if getattr(question, name) != usual and not question.finds:
                raise RequestError(
                    f"{name} without found keys",
                    "declared groups are always shown",
                    'leave it out, or ask for found keys: by = { airport = "found" }',
                    code="found-limit-without-found-keys",
                    name=name,
                )
    for question in finding:
        if question.group_weights:
            raise RequestError(
                "group_weights of found groups",
                "which groups there are is not known beforehand",
                "leave them out, or declare the keys",
                code="group-weights-of-found-keys",
            )
        if any(isinstance(keys, Bins) for keys in question.by.values()):
            raise RequestError(
                "bins beside found keys",
                "cells are groups only where all groups are declared",
                'derive a column of the cells, such as columns = { decade = "floor(age / 10)" }',
                code="bins-beside-found-keys",
            )
        cells = ("histograms", "proportions", "marginals")
        asked = next((name for name in cells if getattr(question, name)), None)
        if asked is not None and not first:
            raise RequestError(
                f"{asked} of found groups",
                "people are counted by their values only in groups that are declared, or found first",
                "write keys_first = true, declare the groups, or ask in a question without by",
                code="cells-of-found-groups",
                asked=asked,
            )
        if question.error_at_most is not None:
            raise RequestError(
                "error_at_most of found groups",
                "their threshold needs a noise of its own",
                "choose a share instead",
                code="error-limit-of-found-keys",
            )


def ask_found_values(fields: dict[str, Any], unit: str | None) -> dict[str, Any]:
    """A question with its histogram of found values as what it is: people counted in groups whose keys are found."""
    counted = fields.get("histograms")
    found = [name for name, keys in counted.items() if is_found(keys)] if isinstance(counted, Mapping) else []
    if not found:
        return fields
    others = [name for name in (*asked_by_field(), "medians", "by", "count") if name != "histograms" and fields[name]]
    if others or len(counted or ()) > 1:
        raise RequestError(
            f"a histogram of found values beside {others[0] if others else 'another'} in one question",
            "it counts people in groups of its own, and each is a question",
            "write a [[question]] for each, or ask for them outside the questions",
            code="found-histogram-beside-other-answers",
        )
    limit = fields["values_per_unit"]
    if unit is not None and not fields["person_columns"] and limit is None:
        raise RequestError(
            "a histogram of found values with a unit, without values_per_unit",
            "a person may have several values, and counts in at most so many: those with the most of their rows",
            "write values_per_unit = 1, or more: errors and the threshold grow with its square root",
            code="found-values-limit-not-given",
        )
    by = {found[0]: FOUND}
    return {**fields, "histograms": {}, "by": by, "count": True, "groups_per_unit": limit, "values_per_unit": None}


def found_parts(question: Question, unit: str | None, never_missing: Container[str] = ()) -> list[Part]:
    """The parts of a question about found keys; the one that decides comes first, and counts people.

    Sums and means over people ride along with the count in one noise. Other answers have noise of their own: what
    would serve both would count people twice, and intervals would have to know of the choice.
    """
    counting = question if question.count is True else replace(question, count=True)
    parts = parts_of(question if question.count else counting, never_missing)
    first = next((i for i, part in enumerate(parts) if not part.present and part.count), None)
    assert first is not None, "the count is in a part that leaves out no rows"
    if parts[first].over != NUMBERS or (unit is not None and _is_over_rows(parts[first])):
        others = [part if part.count == "rows" else replace(part, count=False) for part in parts]
        return [count_alone(counting, True), *others]
    return [parts[first], *parts[:first], *parts[first + 1 :]]


def _is_over_rows(part: Part) -> bool:
    """Whether the rows of people are counted or divided by."""
    means = any(STATISTICS[asked.kind].divided for asked in part.asked)
    return not part.person_columns and (part.count == "rows" or (means and part.mean_of == "rows"))


def split_found(
    guarantee: Guarantee, shares: Sequence[float], others: float, keys_delta: float | None
) -> tuple[list[Guarantee], Guarantee | None, list[Fraction]]:
    """Guarantees and κ of questions about found keys, and the guarantee of all others (None: there are none)."""
    from gaussmith.plans.found_draws import split_with_keys

    stated = None if keys_delta is None else Fraction(keys_delta)
    return split_with_keys(guarantee, shares, others, stated)


def plan_found(
    question: Question, parts: Sequence[Part], unit: str | None, guarantee: Guarantee, kappa: Fraction, which: int
) -> list[Draw]:
    """The draws of a question about found keys, the one that decides first."""
    alone = [_draw(question, part, unit, guarantee, kappa if i == 0 else None, which) for i, part in enumerate(parts)]
    if len(alone) == 1:
        return alone
    roots = [math.sqrt(draw.total_variance) * guarantee.mu for draw in alone]
    roots[0] = max(roots[0], sum(roots[1:]))  # at least half of μ² decides
    shares = guarantee.split(roots)
    return [
        _draw(question, part, unit, share, kappa if i == 0 else None, which)
        for i, (part, share) in enumerate(zip(parts, shares, strict=True))
    ]


def _draw(
    question: Question, part: Part, unit: str | None, guarantee: Guarantee, kappa: Fraction | None, which: int
) -> Draw:
    def find(domain: Domain) -> FoundGroups:
        return FoundGroups(
            tuple(part.by),
            domain,
            part.groups_per_unit,
            declared={name: keys for name, keys in part.by.items() if keys != FOUND},
            at_least=question.keys_at_least,
            which=which,
            kappa=kappa,
            top=question.top,
        )

    return plan_part(part, unit, guarantee, ADD_REMOVE, find)
