"""Questions about groups that are found in the data: their draws, and what noise and keys each may spend.

Such a question never shares its noise with others. One of its draws decides which groups are shown: the one that
counts people, with all answers that are read from the same rows. The others tell more about the groups that are shown.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import replace
from fractions import Fraction

from gaussmith.domains import FOUND, Domain, FoundGroups
from gaussmith.errors import RequestError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.plans import Draw
from gaussmith.plans.found_draws import split_with_keys
from gaussmith.requests.parts import Part, parts_of
from gaussmith.requests.question import Question
from gaussmith.requests.translation import plan_part


def check_found(questions: Sequence[Question], neighbours: str, keys_delta: float | None) -> None:
    """Refuse what cannot be asked of found keys."""
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
        if question.error_at_most is not None:
            raise RequestError(
                "error_at_most of found groups",
                "their threshold needs a noise of its own",
                "choose a share instead",
                code="error-limit-of-found-keys",
            )


def found_parts(question: Question, never_missing: Container[str] = ()) -> list[Part]:
    """The parts of a question about found keys; the one that decides comes first, and counts people."""
    counting = question if question.count is True else replace(question, count=True)
    parts = parts_of(question if question.count else counting, never_missing)
    first = next((i for i, part in enumerate(parts) if not part.present and part.count), None)
    assert first is not None, "the count is in a part that leaves out no rows"
    return [parts[first], *parts[:first], *parts[first + 1 :]]


def split_found(
    guarantee: Guarantee, shares: Sequence[float], others: float, keys_delta: float | None
) -> tuple[list[Guarantee], Guarantee | None, list[Fraction]]:
    """Guarantees and κ of questions about found keys, and the guarantee of all others (None: there are none)."""
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
