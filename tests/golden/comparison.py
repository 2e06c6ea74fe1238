"""What is kept of a release, and when another is the same. Only the public face of a release is looked at."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("golden.json")

SHOWN = 24
"""Of longer lists this many are kept one by one, and all of them as a hash or a sum."""

NOT_KEYS = ("question", "answer", "value", "standard_error", "lower", "upper", "status", "note")

TOLERANCE = 1e-12
"""Of what is computed from the noisy integers in doubles, relative to its size or its standard error."""

FOUND_TOLERANCE = 1e-6
"""Of the total that a solver finds on any processor, relative to the recorded one."""

NUMBERS = ("value", "standard_error", "lower", "upper")
"""Columns of numbers in the table of a release."""

Kept = dict[str, Any]


def keep(release: Any, integers: list[int]) -> Kept:
    """The extract of a release: its guarantee, the noisy integers, and every row of its table."""
    stated = release.guarantee
    said = {"epsilon": stated.epsilon.hex()} if stated.is_pure else {"mu": stated.mu.hex()}
    return {**said, "integers": _shorten_exact(list(integers)), **keep_rows(release.rows())}


def keep_rows(rows: list[dict[str, Any]]) -> Kept:
    """The extract of a table of answers."""
    found: Kept = {
        "names": _shorten_exact([" / ".join(str(row[column]) for column in _labels(row)) for row in rows]),
    }
    for column in NUMBERS:
        found[column] = _shorten([float(row[column]) for row in rows])
    return found


def keep_numbers(numbers: list[float]) -> Kept:
    """The extract of numbers that have no names."""
    return {"numbers": _shorten(numbers)}


def keep_errors(errors: dict[str, Any]) -> Kept:
    """The extract of a plan's errors: {answer: error}, or {question: {answer: error}}."""
    flat = {
        (name if inner is None else f"{name} / {inner}"): float(error)
        for name, each in errors.items()
        for inner, error in (each.items() if isinstance(each, dict) else [(None, each)])
    }
    return {"names": _shorten_exact(list(flat)), "numbers": _shorten(list(flat.values()))}


def _labels(row: dict[str, Any]) -> list[str]:
    """The columns that tell a row from the others: question, keys, answer, as far as they are there."""
    keys = [name for name, value in row.items() if name not in NOT_KEYS and value is not None]
    return [*(["question"] if row.get("question") else []), *keys, "answer"]


def _shorten_exact(values: list[Any]) -> list[Any]:
    if len(values) <= SHOWN:
        return values
    return [*values[:4], f"{len(values)}: {hashlib.sha256(json.dumps(values).encode()).hexdigest()}"]


def _shorten(values: list[float]) -> list[str]:
    """Some values, and a weighted sum of all: it may round, so that a hash would not do."""
    if len(values) > SHOWN:
        weighted = math.fsum(v / (7 + i % 11) for i, v in enumerate(values) if math.isfinite(v))
        values = [*values[:8], float(len(values)), weighted]
    return [v.hex() for v in values]


def differences(golden: Kept, found: Kept) -> list[str]:
    """The fields in which two extracts differ: guarantee, names and noisy integers in any bit, numbers by rounding."""
    if set(golden) != set(found):
        return [f"fields {sorted(set(golden) ^ set(found))}"]
    wrong = [name for name in ("mu", "epsilon", "names", "integers") if golden.get(name) != found.get(name)]
    sizes = [] if "numbers" in golden else golden["standard_error"]
    for name in ("numbers", *NUMBERS):
        if not _alike(golden.get(name, []), found.get(name, []), sizes):
            wrong.append(name)
    return wrong


def _alike(one: list[str], other: list[str], sizes: list[str]) -> bool:
    """Whether numbers agree to a part of their size, or of the standard error beside them if that is larger."""
    if len(one) != len(other):
        return False
    for *pair, size in zip(one, other, sizes or itertools.repeat("0x0p+0"), strict=False):
        a, b = map(float.fromhex, pair)
        room = TOLERANCE * max(abs(a), abs(b), float.fromhex(size))
        if not (a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= room):
            return False
    return True


def is_as_good(golden: Kept, price: float) -> bool:
    """Whether a solver found noise as good as the recorded one."""
    recorded = float.fromhex(golden["price"])
    return abs(price - recorded) <= FOUND_TOLERANCE * recorded


def keep_price(plan: Any) -> Kept:
    """What was made small: the total variance, or the worst."""
    return {"price": float(plan.price).hex()}


def read_golden() -> dict[str, dict[str, Kept]]:
    """The golden file: {"found": {plan: its price}, "cases": {name: extract}}."""
    found: dict[str, dict[str, Kept]] = json.loads(FILE.read_text("utf-8"))
    return found
