"""Groups: the same domain once per declared key, with a limit on the groups per person."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_whole
from gaussmith.domains.group_weights import read_group_weights
from gaussmith.domains.labels import check_text
from gaussmith.errors import DomainError
from gaussmith.problem import Domain
from gaussmith.values import dataclass

Key = str | int | bool
TypedKey = tuple[type, Any]
"""A key and its type: true and 1 are two keys."""

MAX_GROUPS = 10_000_000
"""Limit on the number of declared groups."""

RESERVED = ("question", "answer", "value", "standard_error", "lower", "upper", "status", "note")
"""Column names that a table of answers has in addition to the keys."""


@dataclass(frozen=True, init=False)
class Groups:
    """All declared keys, in order, and what one person adds to each of at most `at_most` of them.

    Keys are declared, never taken from the data: an empty group is released too, with fresh noise.

    >>> import gaussmith as gm
    >>> by = gm.Groups({"region": ["north", "south"], "sex": ["f", "m"]}, gm.Box({"visits": (0, 80)}), at_most=1)
    >>> len(by.labels), by.labels[0]
    (4, ('north', 'f'))

    `weights` says how much the errors of a group matter: `{"region": {"north": 4}}`, with one key column also
    `{"north": 4}`, or one number per group. Groups that are not named weigh 1.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Key, ...], ...]
    domain: Domain
    at_most: int
    weights: tuple[float, ...] | None
    """What the squared errors of each group are worth, 1 on average; None where all weigh the same."""

    def __init__(
        self,
        keys: Mapping[str, Sequence[Key]] | Sequence[Mapping[str, Key]],
        domain: Domain,
        at_most: int = 1,
        weights: Any = None,
    ) -> None:
        columns, labels = _labels(keys)
        check_columns(columns)
        rule = "a person is in a whole number of groups, at least one"
        at_most = check_whole("at_most", at_most, 1, rule=rule, error=DomainError)
        if at_most > len(labels):
            what = f"at_most={at_most}"
            rule = f"the number of groups is {len(labels)}"
            remedy = f"write {len(labels)} or less"
            raise DomainError(what, rule, remedy, code="at-most-exceeds-groups", at_most=at_most, groups=len(labels))
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "at_most", at_most)
        object.__setattr__(self, "weights", read_group_weights(weights, columns, labels))

    @property
    def size(self) -> int:
        """The number of declared groups."""
        return len(self.labels)

    @property
    def is_found(self) -> bool:
        """Whether keys come from the data."""
        return False

    @cached_property
    def places(self) -> tuple[list[list[TypedKey]], npt.NDArray[np.int64]]:
        """The distinct keys of each column, in the order in which they are declared; and their places in each group."""
        return places_of(self.labels, len(self.columns))

    @cached_property
    def classes(self) -> tuple[tuple[float, tuple[int, ...]], ...]:
        """The different weights, and which groups have each; in the order of the groups."""
        found: dict[float, list[int]] = {}
        for i, weight in enumerate(self.weights or [1.0] * self.size):
            found.setdefault(weight, []).append(i)
        return tuple((weight, tuple(places)) for weight, places in found.items())

    def to_dict(self) -> dict[str, Any]:
        """A dictionary without the domain, which a plan stores separately."""
        fields: dict[str, Any] = {
            "columns": list(self.columns),
            "labels": [list(label) for label in self.labels],
            "at_most": self.at_most,
        }
        return fields if self.weights is None else fields | {"weights": list(self.weights)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any], domain: Domain) -> Groups:
        rows = [dict(zip(fields["columns"], label, strict=True)) for label in fields["labels"]]
        return cls(rows, domain, fields["at_most"], fields.get("weights"))


def places_of(labels: Sequence[Sequence[Any]], columns: int) -> tuple[list[list[TypedKey]], npt.NDArray[np.int64]]:
    """The distinct keys of each column, in order; and for each label the places of its keys among them."""
    known: list[dict[TypedKey, int]] = [{} for _ in range(columns)]
    found = [
        [at.setdefault((type(key), key), len(at)) for at, key in zip(known, label, strict=True)] for label in labels
    ]
    return [list(at) for at in known], np.array(found, np.int64).reshape(len(labels), columns)


def check_columns(columns: Sequence[str]) -> None:
    """Refuse key columns that a table of answers could not show."""
    for column in columns:
        if column in RESERVED:
            raise DomainError(
                f"key column {column!r}",
                f"tables of answers use these column names: {', '.join(RESERVED)}",
                "rename the column in the source",
                code="key-column-reserved",
                column=column,
            )


def _labels(
    keys: Mapping[str, Sequence[Key]] | Sequence[Mapping[str, Key]],
) -> tuple[tuple[str, ...], tuple[tuple[Key, ...], ...]]:
    """Key columns and all declared keys in order: a cross product, or the combinations as listed."""
    if isinstance(keys, Mapping):
        columns = tuple(str(column) for column in keys)
        for column, values in keys.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise DomainError(
                    f"keys of {column!r} = {values!r}"[:120],
                    "its keys are a list of at least one",
                    f'write {{ {column} = ["north", "south"] }}',
                    code="keys-not-listed",
                    column=column,
                    values=values,
                )
        if math.prod(len(values) for values in keys.values()) > MAX_GROUPS:
            rule = f"at most {MAX_GROUPS} can be declared"
            raise DomainError("too many groups", rule, "list only the combinations you need", code="too-many-groups")
        labels = tuple(itertools.product(*keys.values()))
    else:
        rows = list(keys)
        if not all(isinstance(row, Mapping) for row in rows):
            raise DomainError(
                f"groups {rows!r}"[:120],
                "keys must be listed by column, or in combinations",
                'write {"region": ["north", "south"]}, or [{"region": "north", "sex": "f"}, …]',
                code="groups-malformed",
                groups=rows,
            )
        columns = tuple(str(column) for column in rows[0]) if rows else ()
        for row in rows:
            if tuple(row) != columns:
                raise DomainError(
                    f"group {row!r}"[:120],
                    f"every listed group must name the same columns: {', '.join(columns)}",
                    'write [{"region": "north", "sex": "f"}, …]',
                    code="group-with-other-columns",
                    group=row,
                )
        labels = tuple(tuple(row.values()) for row in rows)
    if not columns or not labels:
        raise DomainError(
            "no groups",
            "keys must be declared; they are never taken from the data",
            'write {"region": ["n", "s"]}',
            code="no-groups",
        )
    for label in labels:
        for key in label:
            if not isinstance(key, str | int):
                rule = "a key must be text, a whole number or a boolean"
                raise DomainError(
                    f"key {key!r}",
                    rule,
                    "round it to a whole number, or write it as text",
                    code="key-of-unknown-type",
                    key=key,
                )
            check_text("key", key)
    seen: set[tuple[tuple[type, Key], ...]] = set()
    for label in labels:
        typed = tuple((type(key), key) for key in label)
        if typed in seen:
            what = f"group {label!r} is declared twice"
            raise DomainError(what, "every group needs its own key", "leave one out", code="group-twice", group=label)
        seen.add(typed)
    return columns, labels
