"""How much the errors of each declared group matter, as it is said in a request or in `Groups`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gaussmith.checks import is_number
from gaussmith.errors import DomainError, nearest

MAX_WEIGHTS = 12
"""Limit on the different weights of the groups of one question."""

_EXAMPLE = "write group_weights = { north = 4 }"


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
    if len(set(found)) > MAX_WEIGHTS:
        raise DomainError(
            f"{len(set(found))} different group weights",
            f"the groups of a question may have at most {MAX_WEIGHTS}",
            "round them",
            code="too-many-group-weights",
        )
    try:
        mean = math.fsum(found) / len(found)
    except OverflowError:  # each is a double, and their sum is not
        raise _not_positive(weights) from None
    mean = 1.0 if abs(mean - 1.0) < 1e-9 else mean  # as they were saved
    if not (math.isfinite(mean) and all(0 < each / mean < math.inf for each in found)):
        raise _not_positive(weights)
    return tuple(each / mean for each in found) if len(set(found)) > 1 else None


def _by_key(weights: Mapping[Any, Any], columns: Sequence[str], labels: Sequence[tuple[Any, ...]]) -> list[float]:
    """The product of the weights of a group's keys; a key that is not named weighs 1."""
    by_column = all(isinstance(each, Mapping) for each in weights.values())
    if not by_column and len(columns) > 1:
        raise DomainError(
            "group weights without key columns",
            f"the groups have several: {', '.join(columns)}",
            f"write group_weights = {{ {columns[0]} = {{ … = 4 }} }}",
            code="group-weights-without-columns",
        )
    found = [1.0] * len(labels)
    for column, keys in weights.items() if by_column else [(columns[0], weights)]:
        if column not in columns:
            rule, remedy = "groups have no such column", nearest(str(column), columns)
            raise DomainError(
                f"group weights of {column!r}", rule, remedy, code="group-weights-of-other-column", column=column
            )
        at = columns.index(column)
        known = {_text(label[at]): label[at] for label in labels}
        for key, weight in keys.items():
            if _text(key) not in known:
                rule, remedy = "it is not a declared key", nearest(str(key), list(known))
                raise DomainError(f"group weight of {key!r}", rule, remedy, code="group-weight-of-no-group", key=key)
            number = _positive(weight)
            found = [
                each * number if _text(label[at]) == _text(key) else each
                for each, label in zip(found, labels, strict=True)
            ]
    return found


def _in_order(weights: Any, size: int) -> list[float]:
    if isinstance(weights, str) or not isinstance(weights, Sequence) or len(weights) != size:
        raise DomainError(
            f"group_weights={weights!r}"[:120],
            f"it names keys, or lists a number for each of {size} groups",
            _EXAMPLE,
            code="group-weights-malformed",
        )
    return [_positive(each) for each in weights]


def _positive(weight: Any) -> float:
    if not (is_number(weight) and 0 < float(weight) < math.inf):
        raise _not_positive(weight)
    return float(weight)


def _not_positive(weight: Any) -> DomainError:
    rule = "it must be a number above 0"
    return DomainError(f"group weight {weight!r}"[:120], rule, _EXAMPLE, code="group-weight-not-positive")


def _text(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
