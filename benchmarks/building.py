"""How easily the source is read: its size, its shape, and three walks through it.

`./run bench building` prints the table of docs/architecture.md; `./run python benchmarks/building.py --write` puts it
there; `--list` names what was counted. No module is listed here: they are found, so they may move and be renamed.

A walk is one release on the command line in a process of its own. All modules are imported and one count is released
before, so that nothing is counted that only the first release does. Every call of a function of ours counts (not
lambdas, comprehensions and module bodies), and so does every call from one folder into another. A folder is one of
those right below src/gaussmith, or a file there.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import io
import json
import os
import pkgutil
import re
import runpy
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gaussmith"
PAGE = ROOT / "docs" / "architecture.md"
MEND = "./run python benchmarks/building.py --write"

APART = {"papers", "audit", "workbench"}
"""Folders that do not belong to the core; some names are those of today, some those of tomorrow."""

WALKS = {
    "a plain sum": ["--sum", "a:0:1"],
    "a mean by group": "--mean a:0:1 --unit person --rows-per-unit 3 --groups-per-unit 1 --by region=a,b".split(),
    "private bounds of a sum": ["--sum", "a:private", "--unit", "person"],
}
STEPS = {
    "plan certified": "Plan.certify",
    "answers computed": "answer_columns",
    "requests planned": "Request._plan",
}
"""What a walk should do once, and the function that does it; a rename needs a change here, and a test says so."""

OPENS = "scan_parquet"
"""The function of Polars that opens the file of a walk."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

WAYS: dict[type, Callable[[Any], int]] = {
    **dict.fromkeys([ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While], lambda _: 1),
    **dict.fromkeys([ast.ExceptHandler, ast.match_case, ast.Assert], lambda _: 1),
    ast.BoolOp: lambda node: len(node.values) - 1,
    ast.comprehension: lambda node: 1 + len(node.ifs),
}
"""How many more ways through a function a node makes (McCabe)."""


@dataclass
class Function:
    name: str
    lines: int
    complexity: int = 1
    """1 + every if, elif, loop, except, case, assert, and, or, conditional expression, and every loop and condition of
    a comprehension. A function within another one counts for itself. C901 of ruff leaves out expressions and asserts.
    """


@dataclass
class Module:
    name: str
    path: str
    text: list[str]
    imports: set[str] = field(default_factory=set)
    """Modules of ours that it imports at its top, not for types alone."""
    functions: list[Function] = field(default_factory=list)
    classes: list[ast.ClassDef] = field(default_factory=list)
    checks: list[set[str]] = field(default_factory=list)
    """The names in the second argument of every isinstance."""
    levels: int = 0
    """Literals 0.95."""
    unread: set[int] = field(default_factory=set)
    """Lines of docstrings and imports."""

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    @property
    def is_apart(self) -> bool:
        return self.path.split("/")[0] in APART

    @property
    def code_lines(self) -> int:
        """Lines without docstrings, comments, blank lines and imports."""
        lines = (line.strip() for number, line in enumerate(self.text, 1) if number not in self.unread)
        return sum(line != "" and not line.startswith("#") for line in lines)


# What the source holds


@cache
def read_modules(source: Path = SOURCE) -> dict[str, Module]:
    """Every module of a package by its dotted name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        name = ".".join(path.relative_to(source.parent).with_suffix("").parts).removesuffix(".__init__")
        found[name] = Module(name, path.relative_to(source).as_posix(), path.read_text("utf-8").splitlines())
    for module in found.values():
        _read(module, found.keys())
    return found


def _read(module: Module, names: Iterable[str]) -> None:
    """Fill a module in one pass over its tree; a node waits with the function around it, if there is one."""
    tree = ast.parse("\n".join(module.text))
    waiting: list[tuple[ast.AST, Function | None]] = [(tree, None)]
    while waiting:
        node, function = waiting.pop()
        kind = type(node)
        if function is not None and kind in WAYS:
            function.complexity += WAYS[kind](node)
        if isinstance(node, ast.Constant):
            module.levels += node.value == 0.95
            continue
        if isinstance(node, ast.Name):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.Expr) and _is_text(node.value)):
            module.unread.update(range(node.lineno, (node.end_lineno or 0) + 1))
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            module.checks.append(set(re.findall(r"\w+", ast.unparse(node.args[1]))))
        elif isinstance(node, ast.ClassDef):
            module.classes.append(node)
            function = None
        elif isinstance(node, FUNCTIONS):
            function = Function(f"{module.path}:{node.name}", (node.end_lineno or 0) - node.lineno + 1)
            module.functions.append(function)
        for child in ast.iter_child_nodes(node):
            waiting.append((child, function))
    module.imports = {name for node in _top_imports(tree.body) for name in _imported(node, module, names)}


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _top_imports(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when a module is imported."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _top_imports(node.orelse)
        elif not isinstance(node, FUNCTIONS):
            for part in ("body", "orelse", "handlers", "finalbody"):
                yield from _top_imports(getattr(node, part, []))


def _imported(node: ast.Import | ast.ImportFrom, module: Module, names: Iterable[str]) -> Iterator[str]:
    """The modules of ours that an import names: `from package import module` names the module."""
    if isinstance(node, ast.Import):
        asked = [alias.name for alias in node.names]
    else:
        above = module.name.split(".")
        above = above[: len(above) - node.level + module.is_package] if node.level else []
        start = ".".join([*above, *([node.module] if node.module else [])])
        asked = [inner if (inner := f"{start}.{alias.name}") in names else start for alias in node.names]
    yield from (name for name in asked if name in names and name != module.name)


def single_importers(modules: dict[str, Module]) -> list[str]:
    """Modules that one other module imports. What a package's __init__ imports to show it again does not count."""
    importers = Counter(name for module in modules.values() if not module.is_package for name in module.imports)
    return [name for name, count in importers.items() if count == 1]


def deepest_chain(modules: dict[str, Module]) -> list[str]:
    """The longest chain of imports, where modules that import each other in a circle are one link."""
    links = _circles(modules)
    longest: dict[str, list[str]] = {}
    for link in dict.fromkeys(links.values()):  # what a link imports comes before it
        below = {links[name] for each in link for name in modules[each].imports} - {link}
        best = max((longest[" ".join(other)] for other in below), key=len, default=[])
        longest[" ".join(link)] = [" ".join(link), *best]
    return max(longest.values(), key=len)


def _circles(modules: dict[str, Module]) -> dict[str, tuple[str, ...]]:
    """The circle that each module is in, most often it alone; a circle follows those that it imports (Tarjan)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    circles: dict[str, tuple[str, ...]] = {}
    path: list[str] = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        path.append(name)
        for other in modules[name].imports:
            if other not in number:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other not in circles:
                lowest[name] = min(lowest[name], number[other])
        if lowest[name] == number[name]:
            start = path.index(name)
            circles.update(dict.fromkeys(path[start:], tuple(path[start:])))
            del path[start:]

    for name in modules:
        if name not in number:
            visit(name)
    return circles


def count_layers() -> int:
    """The layers of the contract that holds the whole package."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    return max(len(contract["layers"]) for contract in contracts if contract["type"] == "layers")


def count_methods(modules: dict[str, Module], name: str) -> int:
    """The methods of a class of ours, with those of its bases of ours; the private ones count too."""
    classes = {each.name: each for module in modules.values() for each in module.classes}
    assert name in classes, f"there is no class {name} any more · write its new name in shape_rows of {__file__}"
    methods: set[str] = set()
    waiting = [name]
    while waiting:
        each = classes[waiting.pop()]
        methods.update(node.name for node in each.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        waiting += [base.id for base in each.bases if isinstance(base, ast.Name) and base.id in classes]
    return len(methods)


def shared_names(modules: dict[str, Module]) -> list[str]:
    """Names that stand for several classes."""
    counts = Counter(each.name for module in modules.values() for each in module.classes)
    return sorted(name for name, count in counts.items() if count > 1)


def holders(modules: dict[str, Module], name: str) -> list[str]:
    """Classes that declare a field of this name."""
    return [
        f"{module.path}:{each.name}"
        for module in modules.values()
        for each in module.classes
        for node in each.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name
    ]


def defined_names(modules: dict[str, Module]) -> set[str]:
    """Functions, and methods such as Plan.certify."""
    methods = {
        f"{each.name}.{node.name}"
        for module in modules.values()
        for each in module.classes
        for node in each.body
        if isinstance(node, ast.FunctionDef)
    }
    return methods | {each.name.split(":")[1] for module in modules.values() for each in module.functions}


# The table


def shape_rows(modules: dict[str, Module]) -> list[tuple[str, str, str]]:
    """What is counted in the source: figure, value, aim. Lines are rounded to hundreds, what changes daily to tens."""
    core = [module for module in modules.values() if not module.is_apart]
    apart = [module for module in modules.values() if module.is_apart]
    functions = [each for module in modules.values() for each in module.functions]
    winding = [each for each in functions if each.complexity > 10]
    own = {each.name for module in modules.values() for each in module.classes}
    checks = sum(bool(names & own) for module in modules.values() for names in module.checks)
    levels = [module.levels for module in modules.values() if module.levels]
    small = [each for each in modules.values() if len(each.text) < 60 and not each.is_package]
    return [
        ("modules: all (core + apart)", f"{len(modules)} ({len(core)} + {len(apart)})", "≤ 260"),
        ("lines: core + apart", f"{_lines(core)} + {_lines(apart)}", "≤ 55 000 + 13 000"),
        (
            "of them code, without docstrings, comments, blank lines, imports: all (core + apart)",
            f"{_hundreds(sum(each.code_lines for each in modules.values()))} "
            f"({_hundreds(sum(each.code_lines for each in core))} + "
            f"{_hundreds(sum(each.code_lines for each in apart))})",
            "≤ 42 000",
        ),
        ("modules with one importer", str(len(single_importers(modules))), "≤ 40"),
        ("modules under 60 lines", str(len(small)), "≤ 15"),
        ("the largest module", f"{_hundreds(max(len(each.text) for each in modules.values()))} lines", "one idea"),
        (
            "depth of module imports (declared layers)",
            f"{len(deepest_chain(modules))} ({count_layers()})",
            "≤ 14 (10)",
        ),
        ("functions", _hundreds(len(functions)), ""),
        (
            "of them of complexity > 10; the worst",
            f"{100 * len(winding) / len(functions):.1f} %; {max(each.complexity for each in functions)}",
            "≤ 3 %; ≤ 25",
        ),
        ("of them over 90 lines", str(sum(each.lines > 90 for each in functions)), "0"),
        (
            "methods of `Domain`; of `Statistic`",
            f"{count_methods(modules, 'Domain')}; {count_methods(modules, 'Statistic')}",
            "≤ 20; ≤ 20",
        ),
        ("names that stand for several classes", str(len(shared_names(modules))), "0"),
        ("classes with a field `rows_per_unit`", str(len(holders(modules, "rows_per_unit"))), "1"),
        ("literals 0.95 (in modules)", f"{sum(levels)} ({len(levels)})", "1"),
        ("`isinstance` on own types", f"{10 * round(checks / 10)}", ""),
    ]


def _lines(modules: list[Module]) -> str:
    return _hundreds(sum(len(each.text) for each in modules))


def _hundreds(count: int) -> str:
    return _thousands(100 * round(count / 100))


def _thousands(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def walk_rows(found: dict[str, dict[str, Any]]) -> list[tuple[str, str, str]]:
    plain, grouped, private = found.values()
    steps = "; ".join(str(plain[name]) for name in ["source opened", *list(STEPS)[:2]])
    return [
        (
            "a plain sum: modules visited; changes of folder",
            f"{len(plain['modules'])}; {plain['changes']}",
            "≤ 60; ≤ 200",
        ),
        ("a plain sum: modules visited in vain", str(len(plain["vain"])), "0"),
        ("a plain sum: source opened; plan certified; answers computed", steps, "1; 1; 1"),
        ("a mean by group: changes of folder", _thousands(grouped["changes"]), "≤ 350"),
        (
            "private bounds of a sum: changes of folder; requests planned",
            f"{_thousands(private['changes'])}; {private['requests planned']}",
            "≤ 1 000; 3",
        ),
    ]


def table_of(rows: list[tuple[str, str, str]]) -> str:
    lines = [f"| {what} | {value} | {aim} |" for what, value, aim in rows]
    return "\n".join(["| | now | aim |", "|---|---:|---:|", *lines])


def write_page(table: str) -> None:
    text = PAGE.read_text("utf-8")
    pattern = r"(<!-- building: made by benchmarks/building.py -->\n).*?(\n<!-- end -->)"
    written, places = re.subn(pattern, lambda marks: marks[1] + table + marks[2], text, flags=re.S)
    assert places == 1, f"{PAGE.name} has {places} places for the table of the building"
    PAGE.write_text(written, "utf-8")


# Walks


class Walk:
    """Counts calls of our functions, those that lead from one folder into another, and those that were in vain.

    A module is visited in vain if every call into it from other modules brought back None, False or something empty,
    from a function that can return more. Functions that never return anything do not count for it.
    """

    def __init__(self, modules: dict[str, Module], source: Path = SOURCE) -> None:
        self.start = f"{source}/"
        self.calls: Counter[str] = Counter()
        self.changes = self.opened = 0
        self.brought: dict[str, set[bool]] = defaultdict(set)
        self.returning = _returning_functions(modules)

    def watch(self, frame: FrameType, event: str, value: Any) -> None:
        if event not in ("call", "return") or frame.f_code.co_name.startswith("<"):
            return
        here, above = self._place(frame), frame.f_back
        if here is None:
            self.opened += event == "call" and frame.f_code.co_name == OPENS and "polars" in frame.f_code.co_filename
            return
        while above is not None and self._place(above) is None:
            above = above.f_back
        there = None if above is None else self._place(above)
        if event == "call":
            self.calls[f"{here}:{frame.f_code.co_qualname}"] += 1
            self.changes += there not in (None, "__main__.py") and _folder(str(there)) != _folder(here)
        elif there != here and (here, frame.f_code.co_firstlineno) in self.returning:
            empty = isinstance(value, str | tuple | list | dict | set | frozenset) and not value
            self.brought[here].add(not (value is None or value is False or empty))

    def _place(self, frame: FrameType) -> str | None:
        """The module of ours that a frame is in; None for all others."""
        path = frame.f_code.co_filename
        return path.removeprefix(self.start) if path.startswith(self.start) else None

    def counts(self) -> dict[str, Any]:
        steps = {
            step: sum(count for name, count in self.calls.items() if name.split(":")[1] == function)
            for step, function in STEPS.items()
        }
        return {
            "modules": sorted({name.split(":")[0] for name in self.calls}),
            "vain": sorted(module for module, brought in self.brought.items() if brought == {False}),
            "calls": self.calls.total(),
            "changes": self.changes,
            "source opened": self.opened,
            **steps,
        }


def _folder(path: str) -> str:
    return path.split("/")[0]


def _returning_functions(modules: dict[str, Module]) -> set[tuple[str, int]]:
    """Functions with a return that has a value, by module and first line."""
    found = set()
    for module in modules.values():
        for node in ast.walk(ast.parse("\n".join(module.text))):
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(each, ast.Return | ast.Yield | ast.YieldFrom) and each.value for each in _own_nodes(node)
            ):
                found.add((module.path, min([node.lineno, *(each.lineno for each in node.decorator_list)])))
    return found


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions within it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def take_walk(words: list[str]) -> dict[str, Any]:
    """One watched release in this process, after everything was imported and a count was released."""
    import polars as pl

    import gaussmith

    for each in pkgutil.walk_packages(gaussmith.__path__, "gaussmith."):
        if not each.name.endswith("__main__"):
            importlib.import_module(each.name)
    counted = Walk(read_modules())
    with tempfile.TemporaryDirectory() as folder:
        # enough of them that no noise decides how often private bounds are narrowed
        people = {"person": [*range(4_000)] * 2, "region": ["a", "b"] * 4_000, "a": [0.1, 0.3, 0.5, 1.0] * 2_000}
        table = Path(folder) / "x.parquet"
        pl.DataFrame(people).write_parquet(table)
        _release([str(table), "--count"], None)
        printed = _release([str(table), *words], counted)
    assert "±" in printed, f"the release printed no answers: {printed}"
    return counted.counts()


def _release(words: list[str], counted: Walk | None) -> str:
    sys.argv = ["gaussmith", "release", *words, "--epsilon", "1", "--delta", "1e-6"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        sys.setprofile(None if counted is None else counted.watch)
        try:
            runpy.run_module("gaussmith", run_name="__main__")
        except SystemExit as left:
            assert not left.code, f"the release ended with {left.code}"
        finally:
            sys.setprofile(None)
    return printed.getvalue()


def take_walks() -> dict[str, dict[str, Any]]:
    """Each walk in a process of its own, with a home of its own, so that nothing is remembered from another one."""
    found = {}
    for name, words in WALKS.items():
        with tempfile.TemporaryDirectory() as home:
            run = subprocess.run(
                [sys.executable, __file__, "--walk", *words],
                env={**os.environ, "HOME": home, "XDG_CACHE_HOME": home},
                capture_output=True,
                text=True,
            )
        if run.returncode:
            raise SystemExit(f"{name}: {run.stderr}")
        found[name] = json.loads(run.stdout.splitlines()[-1])
    return found


def print_lists(modules: dict[str, Module], walks: dict[str, dict[str, Any]]) -> None:
    functions = [each for module in modules.values() for each in module.functions]
    winding = sorted((each for each in functions if each.complexity > 10), key=lambda each: -each.complexity)
    lists = {
        "modules with one importer": sorted(single_importers(modules)),
        "the deepest chain": deepest_chain(modules),
        "modules under 60 lines": [each.path for each in modules.values() if len(each.text) < 60],
        "the largest modules": [
            f"{len(each.text)} {each.path}" for each in sorted(modules.values(), key=lambda each: -len(each.text))[:10]
        ],
        f"functions of complexity > 10: {len(winding)}": [f"{each.complexity} {each.name}" for each in winding],
        "the longest functions": [
            f"{each.lines} {each.name}" for each in sorted(functions, key=lambda each: -each.lines)[:10]
        ],
        "names that stand for several classes": shared_names(modules),
        "classes with a field rows_per_unit": holders(modules, "rows_per_unit"),
        "modules with a literal 0.95": [each.path for each in modules.values() if each.levels],
        **{f"{name}: visited in vain": walk["vain"] for name, walk in walks.items()},
    }
    for title, names in lists.items():
        print(f"\n{title}", *names, sep="\n  ")
    for name, walk in walks.items():
        figures = {key: len(value) if isinstance(value, list) else value for key, value in walk.items()}
        print(f"\n{name}", *(f"{key}: {value}" for key, value in figures.items()), sep="\n  ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--list", action="store_true", help="name what was counted too")
    parser.add_argument("--walk", nargs=argparse.REMAINDER, help="the flags of one release to walk through, as JSON")
    asked = parser.parse_args()
    if asked.walk is not None:
        print(json.dumps(take_walk(asked.walk)))
        return
    modules, walks = read_modules(), take_walks()
    table = table_of(shape_rows(modules) + walk_rows(walks))
    print(table)
    if asked.list:
        print_lists(modules, walks)
    if asked.write:
        write_page(table)


if __name__ == "__main__":
    main()
