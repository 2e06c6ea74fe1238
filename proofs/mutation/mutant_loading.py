"""How changed code gets into a process: an import hook for whole modules, new code for functions already there.

The hook serves probes (each statement of a function marks that it was reached) and mutants of what a module does when
it is imported. A mutant of a function's body is put in place by replacing the function's `__code__`, so every module
that imported the function runs the changed one; a constant is set wherever it was imported.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import sys
import types
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

from mutants import Function, Mutant, Tree, mutate

PROBES = "__probes__"


class _Loader(SourceFileLoader):
    """Loads a module from a changed tree, never from cached code."""

    def __init__(self, fullname: str, path: str, change: Callable[[str], ast.Module], names: dict[str, Any]) -> None:
        super().__init__(fullname, path)
        self.change, self.names = change, names

    def get_code(self, fullname: str) -> types.CodeType:
        return compile(self.change(Path(self.path).read_text("utf-8")), self.path, "exec")

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__.update(self.names)
        super().exec_module(module)


class Hook(MetaPathFinder):
    """Finds the modules it has a change for; all others are left to Python."""

    def __init__(self, changes: dict[str, Callable[[str], ast.Module]], names: dict[str, Any] | None = None) -> None:
        self.changes, self.names = changes, names or {}

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if fullname not in self.changes:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None and spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin, self.changes[fullname], self.names)
        return spec

    def install(self) -> None:
        assert not any(name in sys.modules for name in self.changes), "a module to be changed was imported already"
        sys.meta_path.insert(0, self)


def with_probes(source: str, numbers: dict[int, int]) -> ast.Module:
    """The module, in which each statement of a function marks the number of its line before it runs."""
    tree = Tree(source)
    for node in tree.nodes:
        if isinstance(node, Function):
            for each in ast.walk(node):
                for field in ("body", "orelse", "finalbody"):
                    held = getattr(each, field, None)
                    if isinstance(held, list) and held and isinstance(held[0], ast.stmt):
                        setattr(each, field, _probed(held, numbers))
    return ast.fix_missing_locations(tree.module)


def _probed(statements: list[ast.stmt], numbers: dict[int, int]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for each in statements:
        number = numbers.get(each.lineno)
        if number is not None and not getattr(each, "probed", False) and not _is_docstring(each):
            probe = ast.parse(f"{PROBES}[{number}] = 1").body[0]
            ast.copy_location(probe, each)
            probe.probed = each.probed = True  # type: ignore[attr-defined]
            made.append(probe)
        made.append(each)
    return made


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def find_plant(mutant: Mutant, source: str, package: str) -> Callable[[], None] | None:
    """What puts the mutant in place in a process that has imported the package; None where that takes a new import."""
    if mutant.scope:
        function = find_function(mutant, package)
        return None if function is None else functools.partial(replace_code, function, source, mutant)
    at = _find_assignment(mutant, source)
    return None if at is None else functools.partial(replace_constant, mutant, source, package, at)


def _find_assignment(mutant: Mutant, source: str) -> int | None:
    """Which statement of the module sets the constant that is changed; None where anything else is changed."""
    tree = Tree(source)
    inside = [i for i, each in enumerate(tree.module.body) if tree.nodes[mutant.node] in ast.walk(each)]
    return inside[0] if inside and _target(tree.module.body[inside[0]]) else None


def _target(node: ast.stmt) -> str:
    """The one name that an assignment sets."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""


def replace_constant(mutant: Mutant, source: str, package: str, at: int) -> None:
    """Set the constant anew, those of the module that are computed from it, and all in modules that imported them."""
    home = vars(sys.modules[f"{package}.{mutant.module}"])
    body = mutate(source, mutant).body
    changed: set[str] = set()
    for node in body[at:]:
        name = _target(node)
        if name and (node is body[at] or changed & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}):
            old = home[name]
            exec(compile(ast.Module([node], []), "<mutant>", "exec"), home)
            changed.add(name)
            for module in list(sys.modules.values()):
                held = getattr(module, "__dict__", {})
                if held.get(name) is old:
                    held[name] = home[name]


def find_function(mutant: Mutant, package: str) -> types.FunctionType | None:
    """The live function whose code the mutant changes; None where it cannot be replaced for sure."""
    if not mutant.scope:
        return None
    found: Any = importlib.import_module(f"{package}.{mutant.module}" if mutant.module else package)
    for part in mutant.outermost.split("."):
        held = vars(found).get(part) if isinstance(found, type | types.ModuleType) else None
        if held is None:
            return None
        found = held
    found = _unwrap(found)
    right = isinstance(found, types.FunctionType) and found.__code__.co_qualname == mutant.outermost
    return found if right else None


def _unwrap(found: Any) -> Any:
    for _ in range(5):
        if isinstance(found, functools.cached_property):
            found = found.func
        elif isinstance(found, property):
            found = found.fget
        elif isinstance(found, classmethod | staticmethod) or hasattr(found, "__wrapped__"):
            found = found.__wrapped__
    return found


def replace_code(function: types.FunctionType, source: str, mutant: Mutant) -> None:
    """Let the function run the mutant's code from now on."""
    code = compile(mutate(source, mutant), function.__code__.co_filename, "exec")
    first = function.__code__.co_firstlineno
    fitting = [each for each in _codes(code) if each.co_qualname == mutant.outermost and each.co_firstlineno == first]
    (function.__code__,) = fitting


def _codes(code: types.CodeType) -> list[types.CodeType]:
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return [code, *(found for each in inner for found in _codes(each))]


def clear_caches() -> None:
    """Forget what functions with a cache have found: it was found by the code as it is."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper):
            each.cache_clear()
