"""What a page cites: functions by their dotted names, tests by file and name."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def functions_of(path: str) -> set[str]:
    """The names of the functions in a file of this repository."""
    return {n.name for n in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))) if isinstance(n, ast.FunctionDef)}


def find(name: str) -> object:
    """What a dotted name stands for: a function, a class, a method or a field of a dataclass."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: object = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[part] if part in fields and not hasattr(found, part) else getattr(found, part)
        return found
    raise AssertionError(name)
