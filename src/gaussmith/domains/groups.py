"""Groups: the same domain once per declared key, with a limit on the groups per person."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_text, check_whole, checks_arguments, is_number
from gaussmith.domains.domain import Domain
from gaussmith.errors import DomainError, nearest
from gaussmith.notations import setting

# How much the errors of each declared group matter, as it is said in a request or in `Groups`.

MAX_WEIGHTS = 12
"""Limit on the different weights of the groups of one question."""


def read_group_weights(
    weights: Any, columns: Sequence[str], labels: Sequence[tuple[Any, ...]]
) -> tuple[float, ...] | None:
    """A weight for each group, 1 on average; None where all weigh the same.

    Where each key column has weights, those of a group are multiplied. Keys are matched as text, as TOML has them.

    >>> read_group_weights({"north": 3}, ("region",), [("north",), ("south",)])
    (1.5, 0.5)
    """
    if weights is None or (isinstance(weights, Mapping) and not weights):
        return None
    found = _by_key(weights, columns, labels) if isinstance(weights, Mapping) else _in_order(weights, len(labels))
    different = len(set(found))
    if different > MAX_WEIGHTS:
        what, rule = f"{different} different group weights", f"the groups of a question may have at most {MAX_WEIGHTS}"
        raise DomainError(what, rule, "round them", code="too-many-group-weights")
    try:
        mean = math.fsum(found) / len(found)
    except OverflowError:  # each is a double, and their sum is not
        mean = math.inf
    mean = 1.0 if abs(mean - 1.0) < 1e-9 else mean  # as they were saved
    shares = tuple(each / mean for each in found)
    if not all(0 < share < math.inf for share in shares):
        raise _not_positive(weights)
    return shares if different > 1 else None


def _by_key(weights: Mapping[Any, Any], columns: Sequence[str], labels: Sequence[tuple[Any, ...]]) -> list[float]:
    """The product of the weights of a group's keys; a key that is not named weighs 1."""
    by_column = all(isinstance(each, Mapping) for each in weights.values())
    if not by_column and len(columns) > 1:
        what, rule = "group weights without key columns", f"the groups have several: {', '.join(columns)}"
        remedy = f"write {setting('group_weights', {columns[0]: {'north': 4}})}"
        raise DomainError(what, rule, remedy, code="group-weights-without-columns")
    found = [1.0] * len(labels)
    for column, keys in weights.items() if by_column else [(columns[0], weights)]:
        if column not in columns:
            what, rule = f"group weights of {column!r}", "groups have no such column"
            raise DomainError(
                what, rule, nearest(str(column), columns), code="group-weights-of-other-column", column=column
            )
        own = [_text(label[columns.index(column)]) for label in labels]
        numbers = {_text(key): _positive_of(key, weight, own) for key, weight in keys.items()}
        found = [each * numbers.get(key, 1.0) for each, key in zip(found, own, strict=True)]
    return found


def _positive_of(key: Any, weight: Any, known: Sequence[str]) -> float:
    """The weight of a key; refuses a key that is not declared."""
    if _text(key) not in known:
        rule, remedy = "it is not a declared key", nearest(str(key), list(dict.fromkeys(known)))
        raise DomainError(f"group weight of {key!r}", rule, remedy, code="group-weight-of-no-group", key=key)
    return _positive(weight)


def _in_order(weights: Any, size: int) -> list[float]:
    if isinstance(weights, str) or not isinstance(weights, Sequence) or len(weights) != size:
        what, rule = f"group_weights={weights!r}"[:120], f"it names keys, or lists a number for each of {size} groups"
        raise DomainError(what, rule, f"write {setting('group_weights', {'north': 4})}", code="group-weights-malformed")
    return [_positive(each) for each in weights]


def _positive(weight: Any) -> float:
    if not (is_number(weight) and 0 < float(weight) < math.inf):
        raise _not_positive(weight)
    return float(weight)


def _not_positive(weight: Any) -> DomainError:
    what, rule = f"group weight {weight!r}"[:120], "it must be a number above 0"
    remedy = f"write {setting('group_weights', {'north': 4})}"
    return DomainError(what, rule, remedy, code="group-weight-not-positive")


def _text(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


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

    @checks_arguments
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

    def over(self, domain: Domain) -> Groups:
        """The same groups over another domain."""
        made = copy(self)  # with what was found of the keys
        object.__setattr__(made, "domain", domain)
        return made

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
    def typed_keys(self) -> tuple[tuple[type, ...], tuple[Key, ...]]:
        """All keys, group by group, and their types: by what groups are the same as others of these columns."""
        keys = tuple(itertools.chain.from_iterable(self.labels))
        return tuple(map(type, keys)), keys

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
            what, rule = f"key column {column!r}", f"tables of answers use these column names: {', '.join(RESERVED)}"
            raise DomainError(what, rule, "rename the column in the source", code="key-column-reserved", column=column)


def _labels(
    keys: Mapping[str, Sequence[Key]] | Sequence[Mapping[str, Key]],
) -> tuple[tuple[str, ...], tuple[tuple[Key, ...], ...]]:
    """Key columns and all declared keys in order: a cross product, or the combinations as listed."""
    columns, labels = _crossed(keys) if isinstance(keys, Mapping) else _listed(list(keys))
    if not columns or not labels:
        what, rule = "no groups", "keys must be declared; they are never taken from the data"
        raise DomainError(what, rule, 'write {"region": ["n", "s"]}', code="no-groups")
    for key in itertools.chain.from_iterable(labels):
        if not isinstance(key, str | int):
            rule, remedy = (
                "a key must be text, a whole number or a boolean",
                "round it to a whole number, or write it as text",
            )
            raise DomainError(f"key {key!r}", rule, remedy, code="key-of-unknown-type", key=key)
        check_text("key", key)
    seen: set[tuple[TypedKey, ...]] = set()
    for label in labels:
        typed = tuple((type(key), key) for key in label)
        if typed in seen:
            what = f"group {label!r} is declared twice"
            raise DomainError(what, "every group needs its own key", "leave one out", code="group-twice", group=label)
        seen.add(typed)
    return columns, labels


def _crossed(keys: Mapping[str, Sequence[Key]]) -> tuple[tuple[str, ...], tuple[tuple[Key, ...], ...]]:
    for column, values in keys.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            what, rule = f"keys of {column!r} = {values!r}"[:120], "its keys are a list of at least one"
            remedy = f"write {setting('', {column: ['north', 'south']})}"
            raise DomainError(what, rule, remedy, code="keys-not-listed", column=column, values=values)
    if math.prod(map(len, keys.values())) > MAX_GROUPS:
        rule = f"at most {MAX_GROUPS} can be declared"
        raise DomainError("too many groups", rule, "list only the combinations you need", code="too-many-groups")
    return tuple(map(str, keys)), tuple(itertools.product(*keys.values()))


def _listed(rows: list[Mapping[str, Key]]) -> tuple[tuple[str, ...], tuple[tuple[Key, ...], ...]]:
    if not all(isinstance(row, Mapping) for row in rows):
        what, rule = f"groups {rows!r}"[:120], "keys must be listed by column, or in combinations"
        remedy = 'write {"region": ["north", "south"]}, or [{"region": "north", "sex": "f"}, …]'
        raise DomainError(what, rule, remedy, code="groups-malformed", groups=rows)
    columns = tuple(map(str, rows[0])) if rows else ()
    for row in rows:
        if tuple(row) != columns:
            rule = f"every listed group must name the same columns: {', '.join(columns)}"
            remedy = 'write [{"region": "north", "sex": "f"}, …]'
            raise DomainError(f"group {row!r}"[:120], rule, remedy, code="group-with-other-columns", group=row)
    return columns, tuple(tuple(row.values()) for row in rows)


# Groups whose keys are found in the data: what is public of them before a release, and which were shown after it.

FOUND = "found"
"""What stands in place of a list of keys."""


@dataclass(frozen=True, init=False)
class FoundGroups(Groups):
    """One group for each key that somebody has; only groups with enough people are shown.

    declared:   the key columns whose values are declared, with their values; the others are found
    at_least:   keys with fewer people are left out before noise
    which:      the number of the question among those of a plan that find keys: its draws show the same groups
    kappa:      the probability that is spent on keys, where this draw decides which are shown; None: another does
    top:        at most so many groups are shown, those with the largest noisy counts; None: all that pass

    `labels` are the keys that were shown: none before a release.
    """

    declared: tuple[tuple[str, tuple[Key, ...]], ...]
    at_least: int
    which: int
    kappa: Fraction | None
    top: int | None

    def __init__(
        self,
        columns: Sequence[str],
        domain: Domain,
        at_most: int = 1,
        *,
        declared: Mapping[str, Sequence[Key]] | None = None,
        at_least: int = 1,
        which: int = 0,
        kappa: Fraction | None = None,
        top: int | None = None,
        labels: Sequence[tuple[Key, ...]] = (),
    ) -> None:
        check_columns(columns)
        rule = "a person is in a whole number of groups, at least one"
        at_most = check_whole("at_most", at_most, 1, rule=rule, error=DomainError)
        rule = "it is a whole number of people, at least one"
        at_least = check_whole("keys_at_least", at_least, 1, 1 << 40, rule=rule, error=DomainError)
        if top is not None:
            top = check_whole("top", top, 1, rule="it is a whole number of groups", error=DomainError)
        values = {
            "columns": tuple(columns),
            "labels": tuple(labels),
            "domain": domain,
            "at_most": at_most,
            "weights": None,
            "declared": tuple((name, tuple(keys)) for name, keys in (declared or {}).items()),
            "at_least": at_least,
            "which": which,
            "kappa": kappa,
            "top": top,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """The number of groups that were shown; before a release errors and prices are those of one group."""
        return max(1, len(self.labels))

    @property
    def is_found(self) -> bool:
        """Whether keys come from the data."""
        return True

    def showing(self, labels: Sequence[tuple[Key, ...]]) -> FoundGroups:
        """The same with the keys that were shown."""
        return self._with(labels=tuple(labels))

    def deciding(self, kappa: Fraction) -> FoundGroups:
        """The same where this draw decides, at this probability."""
        return self._with(kappa=kappa)

    def _with(self, **changes: Any) -> FoundGroups:
        made = object.__new__(FoundGroups)
        for name in self.__dataclass_fields__:
            object.__setattr__(made, name, changes.get(name, getattr(self, name)))
        return made

    def to_dict(self) -> dict[str, Any]:
        """A dictionary without the domain, which a plan stores separately, and without shown keys."""
        kappa = None if self.kappa is None else [self.kappa.numerator, self.kappa.denominator]
        return {
            "found": True,
            "columns": list(self.columns),
            "declared": {name: list(keys) for name, keys in self.declared},
            "at_most": self.at_most,
            "at_least": self.at_least,
            "which": self.which,
            "kappa": kappa,
            "top": self.top,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any], domain: Domain) -> FoundGroups:
        kappa = None
        if fields["kappa"] is not None:
            over, under = map(int, fields["kappa"])
            if under < 1:
                raise ValueError("a probability has a denominator above 0")
            kappa = Fraction(over, under)
        return cls(
            fields["columns"],
            domain,
            fields["at_most"],
            declared=fields["declared"],
            at_least=fields["at_least"],
            which=int(fields["which"]),
            kappa=kappa,
            top=fields["top"],
        )


def largest_few(top: int) -> str:
    """What is said of the limit on the groups that are shown."""
    if top == 1:
        return "at most 1 group is shown: the one with the largest noisy count"
    return f"at most {top:,} groups are shown: those with the largest noisy counts, largest first"
