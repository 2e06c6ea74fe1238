"""Which answers of a release a contrast is about: by question, group, answer, or as a narrowed release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaussmith.domains.groups import FoundGroups
from gaussmith.errors import PlanError, nearest
from gaussmith.releases.quantities import Quantity, quantities_of
from gaussmith.releases.release import Release, shown_labels

Cell = tuple[tuple[Any, ...], str]
"""The key of a group (empty without groups) and the name of an answer."""


def narrowed(release: Release, key: Any, answer: str | None = None) -> Release:
    """The part of a release that a key names: a question, a group, an answer, several of them in a row, or itself."""

    if isinstance(key, Release):
        if key.noisy is not release.noisy:
            raise PlanError(
                "an answer of another release",
                "differences and ratios are of the answers of one release",
                "ask for both in one request; or take one.value - other.value: the noise of two releases is "
                "independent, so its standard error is (one.standard_error ** 2 + other.standard_error ** 2) ** 0.5",
                code="contrast-of-other-release",
            )
        found = key
    else:
        found = _step(release, key)
    return found if answer is None or found.view.answer is not None else found_answer(found, answer)


def found_answer(release: Release, answer: str) -> Release:
    """A release of one question, with or without a group chosen, narrowed to one answer in all its groups."""
    if len(release.plan) > 1:
        release.plan.slot  # noqa: B018 (refuses, with the names of the questions)
    if answer not in release.names:
        rule, remedy = "the release has no such answer", nearest(str(answer), release.names)
        raise PlanError(f"answer {answer!r}", rule, remedy, code="no-such-answer", answer=answer)
    return release.of_answer(answer)


def _step(release: Release, key: Any) -> Release:
    if len(release.plan) > 1:
        return _in_question(release, key)
    if (group := release.group_of(key)) is not None:
        return group
    if isinstance(key, tuple) and len(key) > 1:
        return _step(_step(release, key[0]), key[1] if len(key) == 2 else key[1:])
    names = release.names
    if isinstance(key, str) and key in names:
        return found_answer(release, key)
    known = [*shown_labels(release.labels), *names[:12]]
    raise _unknown(key, known)


def _in_question(release: Release, key: Any) -> Release:
    """A question by its name, first of a path; or what only one question has."""
    first = key[0] if isinstance(key, tuple) and key else key
    if first in release.questions:
        found = release[first]
        if not isinstance(key, tuple):
            return found
        rest = key[1:]
        return found if not rest else _step(found, rest[0] if len(rest) == 1 else rest)
    having = [question for question in release if _has(question, key)]
    if len(having) == 1:
        return _step(having[0], key)
    known = [*release.questions]
    if having:
        names = ", ".join(question.questions[0] for question in having)
        raise PlanError(
            f"{key!r} in a contrast",
            f"several questions have it: {names}",
            f"choose one: ({having[0].questions[0]!r}, {key!r})",
            code="contrast-of-several-questions",
            key=str(key),
        )
    raise _unknown(key, known)


def _unknown(key: Any, known: Sequence[str]) -> PlanError:
    return PlanError(
        f"{key!r} in a contrast",
        "it is no group, answer or question of this release",
        nearest(str(key), known),
        code="contrast-of-unknown",
        key=str(key),
    )


def _has(question: Release, key: Any) -> bool:
    return question.group_of(key) is not None or key in question.names


def cells(release: Release) -> dict[Cell, Quantity]:
    """The answers in view, by group and name; a chosen group has an empty key, so that groups can be compared."""
    found: dict[Cell, Quantity] = {}
    if not release.in_groups:
        known = quantities_of(release)
        found = {((), str(name)): known[name] for name in release.names}
    for label, group in zip(release.labels, release, strict=False):
        known = quantities_of(group)
        found |= {(label, str(name)): known[name] for name in release.names}
    for quantity in found.values():
        groups = quantity.release.plan.query.groups
        if isinstance(groups, FoundGroups) and groups.kappa is not None:
            raise PlanError(
                f"a contrast of {quantity.name!r} in found groups",
                "the same noise decided which groups are shown, and the intervals of contrasts would forget it",
                "compare the groups' own intervals: release[group][answer].interval()",
                code="contrast-of-found-groups",
                answer=quantity.name,
            )
    return found


def aligned(parts: Sequence[Release]) -> list[tuple[Cell, list[Quantity]]]:
    """The answers that all parts have, side by side: by group where groups were not chosen, and by name."""
    found = [cells(part) for part in parts]
    if all(len(each) == 1 for each in found):
        quantities = [quantity for each in found for quantity in each.values()]
        names = dict.fromkeys(quantity.name for quantity in quantities)
        labels = {label for each in found for label, _ in each}
        return [((labels.pop() if len(labels) == 1 else (), " · ".join(names)), quantities)]
    answers, labels_of = [part.view.answer for part in parts], [[label for label, _ in each] for each in found]
    if None not in answers and len({*answers}) > 1 and all(labels == labels_of[0] for labels in labels_of):
        return [
            ((label, ""), [each[label, str(answer)] for each, answer in zip(found, answers, strict=True)])
            for label in labels_of[0]
        ]
    common = [cell for cell in found[0] if all(cell in each for each in found)]
    if not common:
        raise PlanError(
            "a contrast of parts without an answer in common",
            "parts are compared answer by answer and group by group",
            "choose one answer of each: release[…][…]",
            code="contrast-without-common-answer",
        )
    return [(cell, [each[cell] for each in found]) for cell in common]
