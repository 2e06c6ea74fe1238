"""Small changes of a module's source, one at a time: what a mutant is, how it is named, and how its code is made.

Changed are arithmetic (+, −, ·, /, //, %, powers, shifts, bits, min and max, rounding down and up), comparisons (the
boundary and the direction), constants (numbers, True and False) and conditions (and, or, not; a condition is inverted,
a check that only raises is left out). Left alone are strings, annotations, decorators, assertions (`zip(strict=True)`
is one), what is raised, and functions that only make text.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ARITHMETIC: dict[type, tuple[str, str, type]] = {
    ast.Add: ("+", "-", ast.Sub),
    ast.Sub: ("-", "+", ast.Add),
    ast.Mult: ("*", "/", ast.Div),
    ast.Div: ("/", "*", ast.Mult),
    ast.FloorDiv: ("//", "*", ast.Mult),
    ast.Mod: ("%", "*", ast.Mult),
    ast.Pow: ("**", "*", ast.Mult),
    ast.LShift: ("<<", ">>", ast.RShift),
    ast.RShift: (">>", "<<", ast.LShift),
    ast.BitAnd: ("&", "|", ast.BitOr),
    ast.BitOr: ("|", "&", ast.BitAnd),
    ast.BitXor: ("^", "&", ast.BitAnd),
}
COMPARISONS: dict[type, tuple[str, tuple[tuple[str, type], ...]]] = {
    ast.Lt: ("<", (("<=", ast.LtE), (">=", ast.GtE))),
    ast.LtE: ("<=", (("<", ast.Lt), (">", ast.Gt))),
    ast.Gt: (">", ((">=", ast.GtE), ("<=", ast.LtE))),
    ast.GtE: (">=", ((">", ast.Gt), ("<", ast.Lt))),
    ast.Eq: ("==", (("!=", ast.NotEq),)),
    ast.NotEq: ("!=", (("==", ast.Eq),)),
    ast.Is: ("is", (("is not", ast.IsNot),)),
    ast.IsNot: ("is not", (("is", ast.Is),)),
    ast.In: ("in", (("not in", ast.NotIn),)),
    ast.NotIn: ("not in", (("in", ast.In),)),
}
CALLS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "floor": "ceil", "ceil": "floor"}
TEXTS = {"__repr__", "__str__", "_repr_html_", "describe", "__format__"}
"""Functions that only make text."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutant:
    """One change: the number of its node in the walk of the module's tree, and which change of that node."""

    module: str
    scope: str
    """The function, as `Class.method` or `function.<locals>.inner`; empty for what runs when the module is imported."""
    text: str
    change: str
    line: int
    """The first line of the statement that is changed."""
    node: int
    choice: int
    again: int = 0
    """How many mutants of the same text and change stand above it in the function."""
    sets: str = ""
    """Outside of functions the name of what is made: a constant, a class, a function with a default."""
    code: str = ""
    """A digest of the function, or of the statement outside of functions, without its texts."""

    @property
    def key(self) -> str:
        """A name that stays when lines move."""
        again = f" #{self.again + 1}" if self.again else ""
        return f"{self.module} {self.scope or '<module>'}: {self.text} [{self.change}]{again}"

    @property
    def place(self) -> float:
        """A number in [0, 1) that depends on the name alone: those below a rate are a sample."""
        return int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:8], "big") / 2**64

    @property
    def outermost(self) -> str:
        """The function to be replaced, whose inner functions are made anew with it."""
        return self.scope.split(".<locals>.")[0]


class Tree:
    """A module's tree, with the parent of every node."""

    def __init__(self, source: str) -> None:
        self.module = ast.parse(source)
        shared = ast.operator | ast.cmpop | ast.boolop | ast.unaryop | ast.expr_context
        self.nodes = [node for node in ast.walk(self.module) if not isinstance(node, shared)]
        self.digests: dict[ast.AST, str] = {}
        self.parents: dict[ast.AST, tuple[ast.AST, str, int | None]] = {}
        for parent in self.nodes:
            for field, value in ast.iter_fields(parent):
                for i, child in enumerate(value if isinstance(value, list) else [value]):
                    if isinstance(child, ast.AST):
                        self.parents[child] = (parent, field, i if isinstance(value, list) else None)

    def replace(self, node: ast.AST, made: ast.AST) -> None:
        parent, field, i = self.parents[node]
        if i is None:
            setattr(parent, field, made)
        else:
            getattr(parent, field)[i] = made

    def above(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, str]]:
        """Each ancestor, the child on the way to it, and the field that holds the child."""
        while node in self.parents:
            parent, field, _ = self.parents[node]
            yield parent, node, field
            node = parent

    def scope(self, node: ast.AST) -> tuple[str, ast.stmt]:
        """The function that runs the node, by its qualified name, and the statement that holds it."""
        names: list[str] = []
        statement: ast.stmt | None = node if isinstance(node, ast.stmt) else None
        inside = False
        for parent, child, field in self.above(node):
            if statement is None and isinstance(child, ast.stmt):
                statement = child
            if isinstance(parent, Function) and field == "body":
                names = [parent.name, *(["<locals>"] if names else []), *names]
                inside = True
            elif isinstance(parent, ast.ClassDef) and field == "body" and inside:
                names = [parent.name, *names]
            elif isinstance(parent, Function | ast.ClassDef) and not inside:
                statement = parent  # a default, a decorator, a field of a class: made when the module is imported
        assert statement is not None
        return ".".join(names), statement

    def digest(self, node: ast.AST) -> str:
        """Of the code around a node, its function or else its statement, without texts and positions."""
        whole = node
        for parent, child, _ in self.above(node):
            if isinstance(child, Function) or not isinstance(whole, Function | ast.stmt):
                whole = child
            if isinstance(parent, Function):
                whole = parent
        if whole not in self.digests:
            made = copy.deepcopy(whole)
            for each in ast.walk(made):
                if isinstance(each, ast.JoinedStr):
                    each.values = []
                elif isinstance(each, ast.Constant) and isinstance(each.value, str):
                    each.value = ""
            self.digests[whole] = hashlib.sha256(ast.dump(made).encode()).hexdigest()[:16]
        return self.digests[whole]

    def is_left_alone(self, node: ast.AST) -> bool:
        """Whether the node is in an annotation, a message, a text or an assertion."""
        for parent, _, field in self.above(node):
            if field in ("annotation", "returns", "decorator_list", "type_params"):
                return True
            if isinstance(parent, ast.Raise | ast.Assert | ast.JoinedStr):
                return True
            if isinstance(parent, Function) and parent.name in TEXTS:
                return True
            if isinstance(parent, ast.Call) and _called(parent).endswith(("Error", "refuse", "isinstance", "TypeVar")):
                return not (_called(parent) == "isinstance" and field == "func")
            if isinstance(parent, ast.keyword) and parent.arg in ("strict", "repr"):
                return True
            if isinstance(parent, ast.If) and ast.unparse(parent.test) == "TYPE_CHECKING":
                return True
            if isinstance(parent, ast.Assign) and _is_type(parent):
                return True
        return False


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_type(node: ast.Assign) -> bool:
    """An alias of a type at the head of a module: Words = Callable[…], Array = A | B."""
    name = node.targets[0]
    return (
        isinstance(name, ast.Name)
        and name.id.lstrip("_")[:1].isupper()
        and not name.id.isupper()
        and isinstance(node.value, ast.Subscript | ast.BinOp)
    )


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


Change = tuple[str, Callable[[Tree], None]]
"""How a change is told, and what makes it in the tree."""


def _changes(node: ast.AST) -> list[Change]:
    """Every change of one node."""
    made: list[Change] = []
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        if not any(map(_is_text, sides)):
            before, after, new = ARITHMETIC[type(node.op)]
            made.append((f"{before} → {after}", partial(_set, node, new())))
    elif isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            before, others = COMPARISONS[type(op)]
            made += [(f"{before} → {after}", partial(_set_comparison, node, i, new())) for after, new in others]
    elif isinstance(node, ast.BoolOp):
        before, after, new = ("and", "or", ast.Or) if isinstance(node.op, ast.And) else ("or", "and", ast.And)
        made.append((f"{before} → {after}", partial(_set, node, new())))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        sign = {ast.USub: "-", ast.Not: "not", ast.Invert: "~"}[type(node.op)]
        made.append((f"{sign} left out", partial(Tree.replace, node=node, made=node.operand)))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        other = _other(node.value)
        made.append((f"{node.value!r} → {other!r}", partial(Tree.replace, node=node, made=ast.Constant(other))))
    elif isinstance(node, ast.Call) and _called(node) in CALLS and _is_plain(node.func):
        other = CALLS[_called(node)]
        made.append((f"{_called(node)} → {other}", partial(_rename, node.func, other)))
    return made + _conditions(node)


# Operators of a tree are shared by all nodes that have them: they are set where they are held, never replaced.
def _set(node: Any, op: ast.AST, tree: Tree) -> None:
    node.op = op


def _set_comparison(node: ast.Compare, i: int, op: ast.cmpop, tree: Tree) -> None:
    node.ops[i] = op


def _rename(function: Any, name: str, tree: Tree) -> None:
    setattr(function, "id" if isinstance(function, ast.Name) else "attr", name)


def _is_plain(function: ast.expr) -> bool:
    """A function of Python, numpy or math, not a method."""
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id in ("np", "math")
    return isinstance(function, ast.Name)


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) or value == 0 else value * 2


def _conditions(node: ast.AST) -> list[Change]:
    """A check that only raises is left out; any other condition that no change above inverts is inverted."""
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise) and not node.orelse:
        return [("check left out", partial(Tree.replace, node=node.test, made=ast.Constant(False)))]
    tests = [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp) else []
    if isinstance(node, ast.comprehension):
        tests = node.ifs
    return [
        ("condition inverted", partial(Tree.replace, node=test, made=ast.UnaryOp(ast.Not(), test)))
        for test in tests
        if not isinstance(test, ast.Constant)
        and not (isinstance(test, ast.Compare) and len(test.ops) == 1)
        and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))
    ]


def _text(tree: Tree, node: ast.AST) -> str:
    """The expression that is changed; of a constant what it is part of."""
    if isinstance(node, ast.If | ast.While):
        shown: ast.AST = node.test
    elif isinstance(node, ast.comprehension):
        shown = node.ifs[0]
    else:
        shown = node
        while isinstance(shown, ast.Constant | ast.UnaryOp):
            parent = tree.parents[shown][0]
            if not isinstance(parent, ast.expr | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.keyword):
                break
            shown = parent
    text = " ".join(ast.unparse(shown).split())
    return text if len(text) <= 90 else text[:60] + " … " + text[-27:]


def find_mutants(module: str, source: str) -> list[Mutant]:
    """Every mutant of a module, from its head to its end."""
    tree, seen, found = Tree(source), Counter[tuple[str, str, str]](), []
    numbers = {id(node): i for i, node in enumerate(tree.nodes)}
    inside = [node for node in tree.nodes if _changes(node) and not tree.is_left_alone(node)]
    for node in sorted(inside, key=lambda each: (_line(tree, each), getattr(each, "col_offset", 0))):
        scope, statement = tree.scope(node)
        text = _text(tree, node)
        for choice, (change, _) in enumerate(_changes(node)):
            again = seen[scope, text, change]
            seen[scope, text, change] += 1
            sets = "" if scope else _name(statement)
            code = tree.digest(node)
            made = Mutant(module, scope, text, change, statement.lineno, numbers[id(node)], choice, again, sets, code)
            found.append(made)
    return found


def _name(statement: ast.stmt) -> str:
    if isinstance(statement, Function | ast.ClassDef):
        return statement.name
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def _line(tree: Tree, node: ast.AST) -> int:
    return node.lineno if hasattr(node, "lineno") else tree.scope(node)[1].lineno


def mutate(source: str, mutant: Mutant) -> ast.Module:
    """The tree of the module with this one change."""
    tree = Tree(source)
    node = tree.nodes[mutant.node]
    change, make = _changes(node)[mutant.choice]
    assert change == mutant.change
    make(tree)
    return ast.fix_missing_locations(tree.module)


def name_of(file: Path, root: Path) -> str:
    """The module of a file below src/gaussmith, without the name of the package."""
    parts = list(file.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
