"""Labels of coordinates: the names of items, candidates and cells, or only their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gaussmith.checks import check_whole, is_whole
from gaussmith.errors import DomainError

Label = str | int | float | bool

MAX_LABELS = 100_000_000
"""Limit on the number of declared coordinates of one kind."""


def read_labels(what: str, given: Any) -> tuple[int, tuple[Label, ...] | None]:
    """The number of coordinates and their labels in order (None if only a number was given).

    `what` names one of them in messages: item, candidate, cell.

    >>> read_labels("item", 3), read_labels("item", ["bread", "milk"])
    ((3, None), (2, ('bread', 'milk')))
    """
    if is_whole(given):
        if not 1 <= given <= MAX_LABELS:
            rule, remedy = f"there must be 1 to {MAX_LABELS:,} {what}s", f"list the {what}s"
            raise DomainError(f"{given} {what}s", rule, remedy, code="too-many-labels", number=given, kind=what)
        return int(given), None
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        rule, remedy = f"give a number of {what}s or a list of labels", 'write ["a", "b", "c"]'
        raise DomainError(f"{what}s = {given!r}"[:120], rule, remedy, code="labels-not-listed", labels=given, kind=what)
    labels = tuple(x.item() if isinstance(x, np.generic) else x for x in given)
    if not labels:
        raise DomainError(
            f"no {what}s", f"there must be at least one {what}", f"list the {what}s", code="no-labels", kind=what
        )
    for label in labels:
        if not isinstance(label, str | int | float) or label != label:
            raise DomainError(
                f"{what} {label!r}"[:120],
                "a label must be text, a number or a boolean",
                "write it as text",
                code="label-of-unknown-type",
                label=label,
                kind=what,
            )
        check_text(what, label)
    if len({(isinstance(x, str), x) for x in labels}) < len(labels):
        double = next(x for i, x in enumerate(labels) if x in labels[:i])
        raise DomainError(
            f"{what} {double!r} is declared twice",
            f"every {what} needs its own label",
            "leave one out",
            code="label-twice",
            label=double,
            kind=what,
        )
    return len(labels), labels


def check_text(what: str, label: object) -> None:
    """Refuse text that no engine can hold: lone surrogates."""
    if isinstance(label, str) and not label.isascii() and any("\ud800" <= letter <= "\udfff" for letter in label):
        raise DomainError(
            f"{what} {label!r}"[:120],
            "text must consist of valid characters",
            "fix the text",
            code="label-with-broken-characters",
            label=label,
            kind=what,
        )


def names_of(labels: tuple[Label, ...] | None) -> tuple[str, ...] | None:
    """Labels as names of answers."""
    return None if labels is None else tuple(map(str, labels))


def check_at_most(what: str, at_most: Any, dimension: int) -> int:
    """The largest number of non-zero coordinates of a record; refuses values outside 1 to the dimension."""
    rule = f"a record has a whole number of {what}s, from 1 to all {dimension}"
    remedy = f"write at_most={min(3, dimension)}, or a limit known without looking at the data"
    return check_whole("at_most", at_most, 1, dimension, rule=rule, remedy=remedy, error=DomainError)
