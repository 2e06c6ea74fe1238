"""Reads every error that the source can raise, without running it: code, class and the three parts as templates.

An error is a call with `code=`. Where a function makes it for others (`refuse`, `broken`, `check_whole`), each call of
that function is a place of its own. A part that is a name is looked up where it was assigned; what cannot be known
without running stays in braces, as in an f-string, and alternatives stand between ⟨ and ⟩.
"""

from __future__ import annotations

import ast
import copy
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "gaussmith"
PAGE = Path(__file__).parent / "errors.md"
HEAD = """# What every error says

Written by `./run python tests/sentences/record.py` from the source: by code, its class, then *what · rule · remedy* for
each place that raises it. Braces hold what is known only when it happens, ⟨ | ⟩ alternatives. Review changes here.
"""
TEXT_METHODS = ("rstrip", "strip", "removeprefix", "removesuffix")

Function = ast.FunctionDef
Texts = list[str]
Arguments = Mapping[str, tuple[ast.expr, "Scope"]]


@dataclass(frozen=True, order=True)
class Sentence:
    """One place where an error is made."""

    code: str
    error: str
    what: str
    rule: str
    remedy: str


@dataclass(frozen=True)
class Scope:
    """Where names are looked up: a module, and what the parameters of a function are in one call of it."""

    module: Module
    arguments: Arguments = field(default_factory=dict)


class Module:
    """A file of the source, with the parent of every node."""

    def __init__(self, path: Path) -> None:
        self.tree = ast.parse(path.read_text("utf-8"))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.functions = {node.name: node for node in ast.walk(self.tree) if isinstance(node, Function)}
        self.imported = [node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom)]

    def imports(self, name: str) -> bool:
        """Whether it takes this name from another module."""
        return any(each.name == name for node in self.imported for each in node.names)

    def function_of(self, node: ast.AST) -> Function | None:
        """The function around a node."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, Function):
                return node
        return None

    def assigned(self, name: str, node: ast.AST) -> list[ast.expr]:
        """What the name can hold at that node, by the assignments before it; empty if there is none in sight."""
        found: list[ast.expr] = []
        while node in self.parents:
            parent = self.parents[node]
            for _, block in ast.iter_fields(parent):
                if not isinstance(block, list) or node not in block:
                    continue
                for before in reversed(block[: block.index(node)]):
                    sure = _values(before, name)
                    if sure:
                        return [*found, *sure]
                    if not isinstance(before, Function | ast.ClassDef):
                        found += [value for inner in ast.walk(before) for value in _values(inner, name)]
            if isinstance(parent, ast.For) and (looped := _looped(parent, name)):
                return [*found, *looped]
            if isinstance(parent, Function) and name in _parameters(parent):
                return found
            node = parent
        return found


def _values(node: ast.AST, name: str) -> list[ast.expr]:
    """The value that this very statement assigns to the name."""
    if isinstance(node, ast.AnnAssign) and node.value is not None and ast.unparse(node.target) == name:
        return [node.value]
    if not isinstance(node, ast.Assign):
        return []
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=True)
        return [given for each, given in pairs if isinstance(each, ast.Name) and each.id == name]
    return [value] if isinstance(target, ast.Name) and target.id == name else []


def _looped(loop: ast.For, name: str) -> list[ast.expr]:
    """What a loop over written tuples gives the name."""
    if not isinstance(loop.target, ast.Tuple) or not isinstance(loop.iter, ast.Tuple | ast.List):
        return []
    names = [ast.unparse(each) for each in loop.target.elts]
    rows = [row.elts for row in loop.iter.elts if isinstance(row, ast.Tuple)]
    return [row[names.index(name)] for row in rows] if name in names else []


def _parameters(function: Function) -> list[str]:
    return [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]


def _defaults(function: Function) -> dict[str, ast.expr]:
    spec = function.args
    last = [each.arg for each in spec.args][len(spec.args) - len(spec.defaults) :]
    named = {each.arg: given for each, given in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if given}
    return {**dict(zip(last, spec.defaults, strict=True)), **named}


def read_texts(node: ast.expr, scope: Scope, within: bool = False) -> Texts:
    """The texts that an expression can be; `within` an f-string only names that hold words are looked up."""
    match node:
        case ast.Constant(str() as text):
            return [text]
        case ast.Constant(int() | float() as number) if within:
            return [f"{number:g}"]
        case ast.JoinedStr(parts):
            read = [read_texts(part, scope) for part in parts]
            return ["".join(each) for each in itertools.product(*read)]
        case ast.FormattedValue(value, conversion):
            texts = read_texts(value, scope, within=True)
            sign = "!r" if conversion == ord("r") else ""
            return [f"{{{text[1:-1]}{sign}}}" if re.fullmatch(r"\{[^{}]*\}", text) else text for text in texts]
        case ast.BinOp(left, ast.Add(), right):
            return ["".join(each) for each in itertools.product(read_texts(left, scope), read_texts(right, scope))]
        case ast.IfExp(ast.Compare(ast.Name(name), [ast.Is()]), yes, no) if name in scope.arguments:
            return read_texts(yes if ast.unparse(scope.arguments[name][0]) == "None" else no, scope, within)
        case ast.IfExp(_, yes, no):
            return [*read_texts(yes, scope, within), *read_texts(no, scope, within)]
        case ast.BoolOp(ast.Or(), [first, second]):
            given = read_texts(first, scope)
            return read_texts(second, scope) if given == [""] else given
        case ast.Subscript(value, ast.Slice()):
            return read_texts(value, scope, within)
        case ast.Subscript(ast.Name(name), _) | ast.Call(ast.Attribute(ast.Name(name), "get"), _):
            tables = scope.module.assigned(name, node)
            if len(tables) == 1 and isinstance(tables[0], ast.Dict) and tables[0].values:
                more = node.args[1:] if isinstance(node, ast.Call) else []
                return [text for value in (*tables[0].values, *more) for text in read_texts(value, scope)]
        case ast.Call(ast.Attribute(value, method), _) if method in TEXT_METHODS and not isinstance(value, ast.Name):
            return read_texts(value, scope, within)
        case ast.Name(name):
            found = scope.module.assigned(name, node)
            if found:
                texts = [text for value in found for text in read_texts(value, scope)]
                if not within or all(re.search("[a-z]{2}", re.sub(r"\{.*?\}", "", text)) for text in texts):
                    return texts
            elif name in scope.arguments:
                given_node, outside = scope.arguments[name]
                return read_texts(given_node, outside, within)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "setting":
        node = _Filled(scope).visit(copy.deepcopy(node))
    return [f"{{{ast.unparse(node)}}}"]


class _Filled(ast.NodeTransformer):
    """Puts what a function was given in place of the names of its parameters."""

    def __init__(self, scope: Scope) -> None:
        self.arguments = scope.arguments

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.arguments:
            return node
        given, outside = self.arguments[node.id]
        found = outside.module.assigned(given.id, given) if isinstance(given, ast.Name) else []
        return found[0] if len(found) == 1 else given


def _part(texts: Texts) -> str:
    shown = [text.replace("\n", "\\n") for text in dict.fromkeys(texts)]
    return shown[0] if len(shown) == 1 else f"⟨{' | '.join(shown)}⟩"


def _positional(call: ast.Call, scope: Scope) -> Iterator[Texts]:
    """The texts of each positional argument; one with a star stands for those it holds."""
    for argument in call.args:
        if not isinstance(argument, ast.Starred):
            yield read_texts(argument, scope)
            continue
        tuples: list[ast.expr] = [argument.value]
        if isinstance(argument.value, ast.Call) and isinstance(argument.value.func, ast.Name):
            function = scope.module.functions[argument.value.func.id]
            tuples = [each.value for each in ast.walk(function) if isinstance(each, ast.Return) and each.value]
        members = [each.elts for each in tuples if isinstance(each, ast.Tuple)]
        if not members:
            raise ValueError(f"{ast.unparse(call)}: cannot be read without running it")
        for column in zip(*members, strict=True):
            yield [text for each in column for text in read_texts(each, scope)]


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


class Package:
    """All files of the source, and who calls whom."""

    def __init__(self, folder: Path = SOURCE) -> None:
        self.modules = [Module(path) for path in sorted(folder.rglob("*.py"))]
        classes = ast.walk(ast.parse((folder / "errors.py").read_text("utf-8")))
        self.errors = {node.name for node in classes if isinstance(node, ast.ClassDef)}

    def sentences(self) -> list[Sentence]:
        """Every error, sorted by its code."""
        found = set()
        for module in self.modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _keyword(node, "code"):
                    if node.func.id in self.errors or node.func.id == "error":
                        found |= set(self._made(node, Scope(module)))
        return sorted(found)

    def _made(self, call: ast.Call, scope: Scope) -> Iterator[Sentence]:
        """The errors that one call makes: several if it stands in a function that is told the code or the class."""
        code, error = _keyword(call, "code"), call.func
        assert code is not None and isinstance(error, ast.Name)
        if ast.unparse(code).endswith(".code"):
            return  # another error, passed on
        function = scope.module.function_of(call)
        told = {ast.unparse(code), error.id} & set(_parameters(function) if function else [])
        for inner in self._calls(function, scope.module) if told and function else [scope]:
            codes, classes = read_texts(code, inner), read_texts(error, inner)
            if len(codes) != 1 or len(classes) != 1:
                raise ValueError(f"{ast.unparse(call)}: one code, one class")
            parts = [_part(texts) for texts in _positional(call, inner)]
            what, rule, remedy = [*parts, "", "", ""][:3]
            yield Sentence(codes[0].strip("{}"), classes[0].strip("{}"), what, rule, remedy)

    def _calls(self, function: Function, home: Module) -> Iterator[Scope]:
        """One scope for each call of a function, in which its parameters are what it was given."""
        method = isinstance(home.parents[function], ast.ClassDef)
        for module in self.modules:
            for node in ast.walk(module.tree):
                if not isinstance(node, ast.Call):
                    continue
                if method:
                    meant = module is home and ast.unparse(node.func) == f"self.{function.name}"
                else:
                    meant = ast.unparse(node.func) == function.name and (
                        module is home or module.imports(function.name)
                    )
                if meant:
                    yield from self._bound(function, home, node, module, method)

    def _bound(self, function: Function, home: Module, call: ast.Call, module: Module, method: bool) -> Iterator[Scope]:
        around = module.function_of(call)
        outside = [Scope(module)]
        passed = {ast.unparse(each.value) for each in call.keywords if each.arg in ("code", "error")}
        if around is not None and passed & set(_parameters(around)) and around is not function:
            outside = list(self._calls(around, module))
        names = _parameters(function)[1 if method else 0 :]
        for scope in outside:
            given: dict[str, tuple[ast.expr, Scope]] = {
                name: (value, Scope(home)) for name, value in _defaults(function).items()
            }
            given |= {name: (value, scope) for name, value in zip(names, call.args, strict=False)}
            given |= {each.arg: (each.value, scope) for each in call.keywords if each.arg}
            yield Scope(home, given)


def describe(sentences: Iterable[Sentence]) -> str:
    """The page."""
    lines = [HEAD]
    for code, group in itertools.groupby(sentences, key=lambda each: each.code):
        lines.append(f"## {code}\n")
        for each in group:
            said = " · ".join(part for part in (each.what, each.rule, each.remedy) if part)
            lines.append(f"- {each.error}: {said}")
        lines.append("")
    return "\n".join(lines)
