"""How easily the source is seen: its size, its heights, what is spread over many modules, and two walks through it.

A walk is a release on the command line. Every call of a function of ours is counted, and every call from one room into
another, a room being a folder or a file at the top. Imports, comprehensions and lambdas are no calls; what was imported
stays so, and no progress is shown.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import re
import runpy
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gaussmith"

WALKS: dict[str, list[str]] = {
    "gaussmith release x.parquet --sum a:0:1": ["--sum", "a:0:1"],
    "a grouped request": "--mean a:0:1 --unit person --rows-per-unit 3 --by region=north,south".split(),
}


def trees() -> dict[str, ast.Module]:
    """Every module of the source, by its path."""
    return {str(path.relative_to(SOURCE)): ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def count_lines() -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in SOURCE.rglob("*.py"))


def count_heights() -> int:
    """The layers that hold the whole package."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    return max(len(contract["layers"]) for contract in contracts if contract["type"] == "layers")


def find_checks(modules: dict[str, ast.Module]) -> Iterator[set[str]]:
    """For every isinstance the names of the types that are asked for."""
    for tree in modules.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                names = [each for each in ast.walk(node.args[1]) if isinstance(each, ast.Name | ast.Attribute)]
                yield {each.id if isinstance(each, ast.Name) else each.attr for each in names}


def own_types(modules: dict[str, ast.Module]) -> dict[str, str]:
    """Every class of ours, and the room it is in."""
    return {
        node.name: room_of(path)
        for path, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def room_of(path: str) -> str:
    """The folder or file at the top that a module is in."""
    return Path(path).parts[0].removesuffix(".py")


def words_of(node: ast.AST) -> Iterator[str]:
    """Every word that a piece of code uses: names, attributes, keywords, arguments, texts; docstrings left out."""
    for child in ast.walk(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            child.value = ast.Constant(None)  # a docstring
    for child in ast.walk(node):
        for field in ("id", "attr", "arg", "name", "value"):
            word = getattr(child, field, None)
            if isinstance(word, str):
                yield word


def find_modules(modules: dict[str, ast.Module], pattern: str) -> list[str]:
    """The modules whose code names something."""
    return [path for path, tree in modules.items() if any(re.search(pattern, word) for word in words_of(tree))]


def find_places(modules: dict[str, ast.Module], pattern: str) -> list[str]:
    """The functions, and else the classes and modules, whose own code names something."""
    found = []
    for path, tree in modules.items():
        for name, node in _scopes(tree, ""):
            own = [
                child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.ClassDef | ast.FunctionDef)
            ]
            if any(re.search(pattern, word) for child in own for word in words_of(child)):
                found.append(f"{path}:{name}")
    return found


def _scopes(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    yield name, node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from _scopes(child, f"{name}.{child.name}".lstrip("."))


class Walk:
    """Counts calls of our functions, and those that lead from one room into another."""

    def __init__(self) -> None:
        self.calls = self.changes = 0
        self.modules: set[str] = set()

    def watch(self, frame: FrameType, event: str, _: Any) -> None:
        here = _place(frame)
        if event != "call" or here is None or frame.f_code.co_name.startswith("<"):
            return
        self.calls += 1
        self.modules.add(here)
        above = frame.f_back
        while above is not None and _place(above) is None:
            above = above.f_back
        there = None if above is None else _place(above)
        self.changes += there not in (None, "__main__.py") and room_of(str(there)) != room_of(here)


def _place(frame: FrameType) -> str | None:
    """The module of ours that a frame is in; None for all others."""
    path = frame.f_code.co_filename
    return path.removeprefix(f"{SOURCE}/") if path.startswith(f"{SOURCE}/") else None


def walk(words: list[str]) -> Walk:
    """One release on the command line, after another one that imports what is needed."""
    import polars as pl

    counted = Walk()
    with tempfile.TemporaryDirectory() as folder:
        people = {
            "person": [1, 1, 2],
            "region": ["north", "south", "north"],
            "a": [0.1, 0.5, 1.0],
            "b": [0.0, 1.0, 0.5],
        }
        pl.DataFrame(people).write_parquet(Path(folder) / "x.parquet")
        asked = ["gaussmith", "release", str(Path(folder) / "x.parquet"), *words, "--epsilon", "1", "--delta", "1e-6"]
        for watched in (False, True):
            with mock.patch.object(sys, "argv", asked), contextlib.redirect_stdout(io.StringIO()) as printed:
                sys.setprofile(counted.watch if watched else None)
                try:
                    runpy.run_module("gaussmith", run_name="__main__")
                except SystemExit as left:
                    assert not left.code, f"the release failed: {left.code}"
                finally:
                    sys.setprofile(None)
            assert "±" in printed.getvalue() or "a_sum" in printed.getvalue()
    return counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="name the modules and places too")
    listed = parser.parse_args().list
    modules = trees()
    own = own_types(modules)
    checks = list(find_checks(modules))
    lines = count_lines()
    domain, field = find_modules(trees(), "Vote"), find_places(trees(), "rows_per_unit")
    print(f"files at the top: {len(list(SOURCE.glob('*.py')))}")
    print(f"modules: {len(modules)}")
    print(f"lines: {lines}")
    print(f"heights: {count_heights()}")
    print(f"isinstance: {len(checks)} ({1000 * len(checks) / lines:.1f} per 1 000 lines)")
    rooms = Counter(room for names in checks for room in {own[name] for name in names & own.keys()})
    by_room = ", ".join(f"{room} {count}" for room, count in rooms.most_common(6))
    print(f"isinstance on own types: {sum(bool(names & own.keys()) for names in checks)} (of {by_room}, …)")
    print(f"modules that name Votes: {len(domain)}")
    print(f"places that name rows_per_unit: {len(field)} in {len({place.split(':')[0] for place in field})} modules")
    if listed:
        print(*(f"  {each}" for each in [*domain, *field]), sep="\n")
    for name, words in WALKS.items():
        found = walk(words)
        print(f"{name}: {found.calls} calls through {len(found.modules)} modules, {found.changes} changes of room")


if __name__ == "__main__":
    main()
