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

GRADES = ("exact", "near", "turned")
"""How a case is compared.

exact   the noisy integers and the values bit by bit; standard errors and ends of intervals, which are no released
        integers, to 1e-12 of their size
near    noise that is solved, where other kernels of the linear algebra round last bits otherwise: values to a millionth
        of their standard error
turned  solved noise of which several factors are as good (signs and rotations of eigenvectors are free): the same law,
        but fixed integers come out elsewhere. Guarantee and names exactly, planned errors to 1e-3, values as far as
        bounded noise can move them
"""

TOLERANCE = {"exact": 1e-12, "near": 1e-6, "turned": 1e-3}

FARTHEST = 32.0
"""Fixed noise lies within two deviations on each of some tens of coordinates, so values within so many errors."""

Kept = dict[str, Any]


def keep(release: Any, integers: list[int]) -> Kept:
    """The extract of a release: its guarantee, the noisy integers, and every row of its table."""
    return {"mu": release.guarantee.mu.hex(), "integers": _shorten_exact(list(integers)), **keep_rows(release.rows())}


def keep_rows(rows: list[dict[str, Any]]) -> Kept:
    """The extract of a table of answers."""
    found: Kept = {
        "names": _shorten_exact([" / ".join(str(row[column]) for column in _labels(row)) for row in rows]),
        "values": _shorten_exact([float(row["value"]).hex() for row in rows]),
    }
    for column in ("standard_error", "lower", "upper"):
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


def differences(golden: Kept, found: Kept, grade: str = "exact") -> list[str]:
    """Where two extracts are not the same, as far as cases of this grade can be compared."""
    if set(golden) != set(found):
        return [f"fields {sorted(set(golden) ^ set(found))}"]
    fields = ["mu", "names", *(["integers", "values"] if grade == "exact" else [])]
    wrong = [name for name in fields if golden.get(name) != found.get(name)]
    sizes = [] if "numbers" in golden else golden["standard_error"]
    for name in ["numbers"] if grade == "turned" else ["numbers", "standard_error", "lower", "upper"]:
        if not _alike(golden.get(name, []), found.get(name, []), sizes, TOLERANCE[grade]):
            wrong.append(name)
    if grade != "exact" and "values" in golden:
        wrong += _apart(golden, found, FARTHEST if grade == "turned" else TOLERANCE[grade])
    return wrong


def _alike(one: list[str], other: list[str], sizes: list[str], tolerance: float) -> bool:
    """Whether numbers agree to a part of their size, or of the standard error beside them if that is larger."""
    if len(one) != len(other):
        return False
    for *pair, size in zip(one, other, sizes or itertools.repeat("0x0p+0"), strict=False):
        a, b = map(float.fromhex, pair)
        room = tolerance * max(abs(a), abs(b), float.fromhex(size))
        if not (a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= room):
            return False
    return True


def _apart(golden: Kept, found: Kept, reach: float) -> list[str]:
    """Values further apart than so many standard errors; of long lists the first ones."""
    if len(golden["values"]) != len(found["values"]) or len(golden.get("integers", [])) != len(
        found.get("integers", [])
    ):
        return ["number of values"]
    errors = [
        max(map(float.fromhex, pair)) for pair in zip(golden["standard_error"], found["standard_error"], strict=True)
    ]
    several = zip(golden["values"], found["values"], errors, strict=False)
    apart = [abs(float.fromhex(a) - float.fromhex(b)) > reach * e for a, b, e in several if ":" not in a + b]
    return ["values"] if any(apart) else []


def read_golden() -> dict[str, Any]:
    """The golden file: {"near": names, "turned": names, "cases": {name: extract}}."""
    found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return found


def grade_of(golden: dict[str, Any], name: str) -> str:
    """How a case of the golden file is compared."""
    return next((grade for grade in GRADES[1:] if name in golden[grade]), "exact")
