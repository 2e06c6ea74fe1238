"""What a page cites: public names as they are typed, other functions and tests by file and name."""

from __future__ import annotations

import ast
import inspect
from functools import cache, reduce
from importlib import import_module
from pathlib import Path

import gaussmith as gm

ROOT = Path(__file__).parents[2]


@cache
def functions_of(path: str) -> set[str]:
    """The names of the functions in a file of this repository."""
    return {n.name for n in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))) if isinstance(n, ast.FunctionDef)}


def find(name: str) -> object:
    """What a name on a page stands for: `gm.…` as a user types it, `file.py::name` in that file of the package."""
    first, *parts = name.split(".")
    if first == "gm":
        return reduce(getattr, parts, gm)
    path, _, inner = name.partition("::")
    module = import_module("gaussmith." + path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    return reduce(getattr, inner.split(".") if inner else (), module)


def home_of(name: str) -> str:
    """The module in which a name on a page is defined."""
    module = inspect.getmodule(getattr(find(name), "fget", None) or find(name))
    assert module, name
    return module.__name__
