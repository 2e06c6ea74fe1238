"""From a tree to a formula: kinds are checked against the columns, then a row, or an engine, can compute it.

**One rule for odd values.** A number is a finite double. Everything else is *missing*: null, NaN, ±infinity, a text
that does not read as a number, a division by zero, a result beyond all doubles, and whatever is computed from a missing
number. A comparison (also `in`, `not in`, `!=`) with something missing is false; `and`, `or`, `not` then work on plain
true and false, so `not (age >= 18)` is true where age is missing and `age < 18` is not. `is_null` asks.

**The same bits everywhere.** `+ − ·` never turn a number that is not finite into a finite one, so it is enough to look
at the end; divisors are looked at on their own. Polars multiplies by the reciprocal when it divides a column by what
it holds as one repeated value (a literal, a partition column, a branch that every row of a chunk took), which would
let a row's value depend on other rows: x / y is therefore spelled x / (x·0 + y), equal for every number x and y ≠ 0.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from gaussmith.errors import nearest_column
from gaussmith.expressions.grammar import COMPARISONS, Expression, refuse
from gaussmith.expressions.nodes import Column, Literal, Node, Operation

if TYPE_CHECKING:
    import narwhals as nw

NUMBER_PATTERN = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[Ii][Nn][Ff](?:[Ii][Nn][Ii][Tt][Yy])?)"
"""Text that is a number once blanks around it are removed. All engines accept these and round them the same way."""

TRUTH_PATTERNS = {"1": "[Tt][Rr][Uu][Ee]", "0": "[Ff][Aa][Ll][Ss][Ee]"}
"""Text that counts as 1 and 0."""

BLANKS = " \t"

DATE_PATTERN = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?:[T ][0-9:.]{0,30})?"
"""Text that is a date: year-month-day, optionally followed by a time."""

LONGEST_DATE = len("2024-05-31")
"""Length of a date without a time."""

HEAVIEST = 2000
"""Limit on the terms of a formula for an engine (a divisor is written three times)."""

DATE_PARTS = {"year": (0, 4), "month": (5, 2), "day": (8, 2)}
COMPARE: dict[str, Callable[[Any, Any], Any]] = dict(
    zip(COMPARISONS, (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), strict=True)
)
_READINGS = {
    "number": "double",
    "long number": "long",
    "text": "text",
    "object": "text",
    "truth": "holds",
    "date": "date of date",
}


@dataclass(frozen=True)
class Formula:
    """An expression whose kinds fit the columns: `kind` is "number" or "truth"; "text" and "date" only inside."""

    text: str
    kind: str
    tree: Node


def columns_used(expression: Expression | Formula) -> tuple[str, ...]:
    """The names of the columns in an expression, in order of first use.

    >>> from gaussmith.expressions.grammar import parse
    >>> columns_used(parse("weight / (height * height)"))
    ('weight', 'height')
    """
    return expression.tree.columns_used


def kind_of(dtype: nw.dtypes.DType) -> str:
    """The kind of a column of this type: "number", "long number", "text", "truth", "date", or "other": of no use here.

    Long numbers (more than 15 digits of a decimal, 128 bits) become doubles by way of their text, which every engine
    rounds once. Times with a zone are "other": engines disagree on the day they fall on. A column of Python objects,
    held as the texts of `identity.object_code`, is of the kind "object", which its source tells.
    """
    import narwhals as nw

    if isinstance(dtype, nw.Int128 | nw.UInt128) or (isinstance(dtype, nw.Decimal) and _digits(dtype) > 15):
        return "long number"
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "truth"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    if dtype == nw.Date or (dtype == nw.Datetime and getattr(dtype, "time_zone", None) is None):
        return "date"
    return "other"


def _digits(decimal: object) -> int:
    return int(getattr(decimal, "precision", None) or 38)


def check(expression: Expression, kinds: Mapping[str, str]) -> Formula:
    """The formula of an expression over columns of these kinds; refuses unknown columns and kinds that do not fit.

    >>> from gaussmith.expressions.grammar import parse
    >>> check(parse("ages >= 18"), {"age": "number"})
    Traceback (most recent call last):
    gaussmith.errors.ExpressionError: in the expression
        ages >= 18
        ^
    there is no column 'ages' · an expression uses columns of the source · did you mean 'age'?
    """
    checker = _Checker(expression.text, kinds)
    kind, tree = checker.kind(expression.tree)
    if _weight(tree) > HEAVIEST:
        rule = f"an engine is given at most {HEAVIEST} terms (each divisor counts three times)"
        refuse(expression.text, 0, "too long", rule, "cut it into derived columns", code="too-many-terms")
    return Formula(expression.text, kind, tree)


@dataclass(frozen=True)
class _Checker:
    """Gives every node its kind and writes the conversions into the tree.

    Columns end up below a reading: `double` and `long` (a number), `read` (a text as a number), `text`, `holds` (a
    truth, false when null), `year of date`, `date of text` …; comparisons of texts are named `text ==`, `text in` …
    """

    text: str
    kinds: Mapping[str, str]

    def refuse(self, node: Node, problem: str, rule: str, remedy: str, *, code: str, **fields: object) -> NoReturn:
        refuse(self.text, node.at, problem, rule, remedy, code=code, **fields)

    def make(self, name: str, node: Node, *arguments: Node) -> Node:
        """An operation, or its value when it has no columns: what is constant is computed here, not on engines."""
        made = Operation(name, arguments, node.at)
        if any(argument.constant is None for argument in arguments):
            return made
        value = _value(made, {})
        if value is None:
            problem, rule = "this constant is not a number", "constants are computed before any data is read"
            self.refuse(node, problem, rule, "mend it, or leave it out", code="constant-without-value")
        return Literal(value, node.at)

    def kind(self, node: Node) -> tuple[str, Node]:
        """The natural kind of a node, and its tree in that kind (truth columns stay as they are)."""
        if node.constant is not None:
            value = node.constant
            return ("truth" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"), node
        return self.column(node) if node.column is not None else self.operation(node)

    def column(self, node: Column) -> tuple[str, Node]:
        name = node.name
        kind = self.kinds.get(name)
        if kind is None:
            rule = "an expression uses columns of the source"
            problem, remedy = f"there is no column {name!r}", nearest_column(name, self.kinds)
            self.refuse(node, problem, rule, remedy, code="unknown-column-in-expression", column=name)
        if kind == "other":
            rule = "it holds neither numbers, texts, truths nor dates (times with a zone are none of these)"
            problem, remedy = f"column {name!r} cannot be used", "convert it in the source"
            self.refuse(node, problem, rule, remedy, code="column-kind-not-usable", column=name)
        shown = "text" if kind == "object" else str(kind).removeprefix("long ")
        return shown, Operation(_READINGS[str(kind)], (node,), node.at)

    def operation(self, node: Operation) -> tuple[str, Node]:
        name, arguments = node.name, node.arguments
        if name in ("and", "or", "not"):
            return "truth", self.make(name, node, *(self.truth(argument) for argument in arguments))
        if name in COMPARISONS:
            return "truth", self.comparison(node)
        if name in ("in", "not in"):
            return "truth", self.membership(node)
        if name == "is_null":
            kind, tree = self.kind(arguments[0])
            if kind == "truth":
                tree = self.number(arguments[0])
            return "truth", self.make("text is_null" if kind == "text" else "is_null", node, tree)
        if name == "number":
            return "number", self.number(arguments[0])
        if name in DATE_PARTS:
            kind, _ = self.kind(arguments[0])
            if kind not in ("date", "text") or arguments[0].column is None:
                problem, remedy = f"{name} of a {kind}", "give it such a column"
                rule = f"{name} takes a column of dates, or of texts such as 2024-05-31"
                self.refuse(arguments[0], problem, rule, remedy, code="not-a-date-column", function=name, kind=kind)
            return "number", Operation(f"{name} of {kind}", arguments, node.at)
        numbers = [self.number(argument) for argument in arguments]
        if name == "/" and numbers[1].constant == 0 and numbers[0].constant is None:
            problem, rule = "a division by the constant 0", "it has no value on any row"
            self.refuse(node, problem, rule, "fix the divisor", code="division-by-zero")
        return "number", self.make(name, node, *numbers)

    def number(self, node: Node) -> Node:
        kind, tree = self.kind(node)
        if kind == "number":
            return tree
        if kind == "truth":
            read = node.column is not None
            return Operation("double", (node,), node.at) if read else self.make("from truth", node, tree)
        if kind == "text" and node.column is not None:
            return Operation("read", (node,), node.at)
        rule = "arithmetic takes numbers (and columns that read as numbers)"
        problem = f"a {kind} where a number is needed"
        self.refuse(node, problem, rule, "compare it, or take it out", code="number-needed", kind=kind)

    def truth(self, node: Node) -> Node:
        kind, tree = self.kind(node)
        if kind == "truth":
            return tree
        problem, rule = f"a {kind} where a truth is needed", "filters, and, or, not take something true or false"
        self.refuse(node, problem, rule, "compare it with something", code="boolean-needed", kind=kind)

    def date(self, node: Node) -> Node:
        """A date as the number year·10000 + month·100 + day, which keeps its order."""
        kind, tree = self.kind(node)
        if kind == "date":
            return tree
        if kind == "text" and node.column is not None:
            return Operation("date of text", (node,), node.at)
        if isinstance(text := node.constant, str):
            number, day = date_number(text), text[:LONGEST_DATE]
            if number is not None and text != day:
                rule = "dates are compared by their day"
                self.refuse(node, "a date with a time of day", rule, f"write {day!r}", code="date-with-time", day=day)
            if number is not None:
                return Literal(number, node.at)
        rule = "a date is compared with a date, such as '2024-05-31'"
        self.refuse(node, f"this {kind} is not a date", rule, "write year-month-day", code="date-needed", kind=kind)

    def comparison(self, node: Operation) -> Node:
        self.check_quotes(node)
        kinds = {self.kind(argument)[0] for argument in node.arguments}
        ordered = node.name not in ("==", "!=")
        dates = "date" in kinds or (ordered and any(_date_of(argument) is not None for argument in node.arguments))
        if kinds == {"text"} and not dates:
            if ordered:
                rule = "texts are compared with ==, != and in only"
                remedy = "compare with a date such as '2024-05-31', or write number(…) on one side to compare numbers"
                problem = f"texts compared with {node.name}"
                self.refuse(node, problem, rule, remedy, code="texts-ordered", operator=node.name)
            return self.make("text " + node.name, node, *(self.kind(argument)[1] for argument in node.arguments))
        convert = self.date if dates else self.number
        return self.make(node.name, node, *(convert(argument) for argument in node.arguments))

    def check_quotes(self, node: Operation) -> None:
        """Refuse an unknown name compared with a text column: its quotes are missing."""
        for side, other in zip(node.arguments, reversed(node.arguments), strict=True):
            if side.column is None or side.column in self.kinds or other.column is None:
                continue
            if self.kinds.get(other.column) == "text":
                problem, rule = f"there is no column {side.name!r}", f"a text is written in quotes: {side.name!r}"
                remedy = f"add quotes; or is it a column? {nearest_column(side.name, self.kinds)}"
                self.refuse(side, problem, rule, remedy, code="text-without-quotes", column=side.name)

    def membership(self, node: Operation) -> Node:
        left, *members = node.arguments
        kind, kinds = self.kind(left)[0], {self.kind(member)[0] for member in members}
        if len(kinds) > 1:
            rule = "a list holds constants of one kind"
            self.refuse(members[0], "a list of several kinds", rule, "cut it in two", code="list-of-several-kinds")
        if kind == "text" and kinds == {"text"}:
            return self.make("text " + node.name, node, self.kind(left)[1], *members)
        if kind != "truth" and kinds == {"truth"}:
            problem, rule = f"truths in a list for a {kind}", "a list holds what the left side is"
            self.refuse(members[0], problem, rule, "mend the list", code="list-of-another-kind", kind=kind)
        convert = self.date if kind == "date" else self.number
        return self.make(node.name, node, *(convert(argument) for argument in node.arguments))


def _date_of(node: Node) -> float | None:
    """The number of a date that is written in the expression, perhaps with a time; None for anything else."""
    return date_number(node.constant) if isinstance(node.constant, str) else None


def _weight(node: Node) -> int:
    """An upper bound of the number of terms in the engine's spelling of a tree."""
    if node.constant is not None or node.column is not None:
        return 1
    inner = sum(_weight(argument) for argument in node.arguments)
    if node.name in ("/", "floor", "min", "max"):
        return 4 * inner + 4
    return 2 * inner + 2 if node.name in (*COMPARISONS, "in", "not in", "is_null", "read") else inner + 1


# ── one row, in plain Python: the reference that every engine must equal ──


def evaluate(formula: Formula, row: Mapping[str, object]) -> float | bool | str | None:
    """The value of a formula on one row, None when missing. The reference for the engines, and for tests.

    >>> from gaussmith.expressions.grammar import parse
    >>> bmi = check(parse("weight / (height * height)"), {"weight": "number", "height": "number"})
    >>> evaluate(bmi, {"weight": 81.0, "height": 1.8}), evaluate(bmi, {"weight": 81.0, "height": 0.0})
    (25.0, None)
    """
    value: float | bool | str | None = _value(formula.tree, row)
    return value


def read_number(text: str | None) -> float | None:
    """The number that a text reads as, else None. Infinite ones are missing in expressions and clamp in columns.

    >>> read_number(" 2.5e1 "), read_number("TRUE"), read_number("-inf"), read_number("1_000"), read_number("nan")
    (25.0, 1.0, -inf, None, None)
    """
    trimmed = "" if text is None else text.strip(BLANKS)
    for number, pattern in TRUTH_PATTERNS.items():
        if re.fullmatch(pattern, trimmed):
            return float(number)
    return float(trimmed) if re.fullmatch(NUMBER_PATTERN, trimmed) else None


def date_number(text: str | None) -> float | None:
    """The number year·10000 + month·100 + day of a text that reads as a date, else None.

    >>> date_number("2024-05-31T10:00"), date_number("31.5.2024")
    (20240531.0, None)
    """
    if text is None or re.fullmatch(DATE_PATTERN, text) is None:
        return None
    return float(int(text[0:4]) * 10000 + int(text[5:7]) * 100 + int(text[8:10]))


def _finite(value: Any) -> float | None:
    if value is None:
        return None
    value = float(value)
    return value if math.isfinite(value) else None


def _leaf(name: str, value: Any) -> Any:
    """The value of a column, read as `name` says."""
    if name == "text":
        return None if value is None else str(value)
    if name == "holds":
        return value is True
    if name in ("double", "long"):
        return _finite(value)
    if name == "read":
        return _finite(read_number(value))
    part, _, kind = name.partition(" of ")
    if kind == "text":
        if part == "date" or value is None or re.fullmatch(DATE_PATTERN, value) is None:
            return date_number(value) if part == "date" else None
        start, length = DATE_PARTS[part]
        return float(int(value[start : start + length]))
    if not isinstance(value, datetime.date):
        return None
    return float(value.year * 10000 + value.month * 100 + value.day) if part == "date" else float(getattr(value, part))


def _value(node: Node, row: Mapping[str, object]) -> Any:
    if node.constant is not None:
        return node.constant
    if node.column is not None:
        return row[node.column]
    name = node.name
    if (column := node.arguments[0].column) is not None:
        return _leaf(name, row[column])
    values = [_value(argument, row) for argument in node.arguments]
    if name in ("is_null", "text is_null"):
        return values[0] is None
    if name in ("and", "or"):
        return all(values) if name == "and" else any(values)
    if name in ("not", "from truth"):
        return not values[0] if name == "not" else float(values[0])
    name = name.removeprefix("text ")
    if None in values:
        return None if name in _ARITHMETIC else False
    if name in ("in", "not in"):
        return (values[0] in values[1:]) == (name == "in")
    if name in COMPARISONS:
        return bool(COMPARE[name](values[0], values[1]))
    return _finite(_ARITHMETIC[name](*values))


_ARITHMETIC: dict[str, Callable[..., float | None]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda x, y: x / y if y != 0 else None,
    "negative": operator.neg,
    "abs": abs,
    "floor": math.floor,
    "min": min,
    "max": max,
}
