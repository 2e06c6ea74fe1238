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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from gaussmith.errors import nearest_column
from gaussmith.expressions.grammar import (
    COMPARISONS,
    DATE_FUNCTIONS,
    TEXT_TESTS,
    Column,
    Expression,
    Literal,
    Node,
    Operation,
    described,
    parse,
    refuse,
)
from gaussmith.expressions.identity import (
    DATE_PARTS,
    DATE_PATTERN,
    HOUR,
    LONGEST_DATE,
    TIME_PATTERN,
    date_number,
    existing_day,
    read_number,
)

if TYPE_CHECKING:
    import narwhals as nw


# The value of a formula on one row, in plain Python: the reference that every engine must equal.

COMPARE: dict[str, Callable[[Any, Any], Any]] = dict(
    zip(COMPARISONS, (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), strict=True)
)

_CALENDAR: dict[str, Callable[[datetime.date], int]] = {
    "serial": datetime.date.toordinal,
    "weekday": datetime.date.isoweekday,
    "week": lambda day: day.isocalendar().week,
}


def value_of(node: Node, row: Mapping[str, object]) -> Any:
    """The value of a checked tree on one row, None when missing."""
    if node.constant is not None:
        return node.constant
    if node.column is not None:
        return row[node.column]
    name = node.name
    if (column := node.arguments[0].column) is not None:
        return _leaf(name, row[column])
    if name in ("if", "text if"):
        condition, first, second = node.arguments
        return value_of(first if value_of(condition, row) else second, row)
    return _PLAIN[name.removeprefix("text ")](*(value_of(argument, row) for argument in node.arguments))


def finite(value: Any) -> float | None:
    """A number as a finite double; None for all else."""
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
        return finite(value)
    if name == "read":
        return finite(read_number(value))
    part, _, kind = name.partition(" of ")
    return _part_of_text(part, value) if kind == "text" else _part_of_date(part, value)


def _part_of_text(part: str, text: str | None) -> float | None:
    if part == "date":
        return date_number(text)
    if part in _CALENDAR:
        day = existing_day(text)
        return None if day is None else float(_CALENDAR[part](day))
    if text is None or re.fullmatch(TIME_PATTERN if part == "hour" else DATE_PATTERN, text) is None:
        return None
    start, length = HOUR if part == "hour" else DATE_PARTS["month" if part == "quarter" else part]
    number = int(text[start : start + length])
    return float((number + 2) // 3 if part == "quarter" else number)


def _part_of_date(part: str, value: Any) -> float | None:
    if not isinstance(value, datetime.date):
        return None
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        try:
            value = value.astimezone(datetime.UTC)
        except OverflowError:  # outside the years 1 to 9999
            return None
    if part in _CALENDAR:
        return float(_CALENDAR[part](value))
    if part == "hour":
        return float(value.hour) if isinstance(value, datetime.datetime) else 0.0
    if part == "quarter":
        return float((value.month + 2) // 3)
    return float(value.year * 10000 + value.month * 100 + value.day) if part == "date" else float(getattr(value, part))


def _of_known(otherwise: Any, compute: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with this value where something is missing."""
    return lambda *values: otherwise if None in values else compute(*values)


def _arithmetic(compute: Callable[..., Any]) -> Callable[..., float | None]:
    return _of_known(None, lambda *values: finite(compute(*values)))


_PLAIN: dict[str, Callable[..., Any]] = {
    "and": lambda *values: all(values),
    "or": lambda *values: any(values),
    "not": operator.not_,
    "from truth": float,
    "is_null": lambda value: value is None,
    "coalesce": lambda *values: next((value for value in values if value is not None), None),
    "in": _of_known(False, lambda value, *members: value in members),
    "not in": _of_known(False, lambda value, *members: value not in members),
    **{name: _of_known(False, compare) for name, compare in COMPARE.items()},
    "contains": _of_known(False, operator.contains),
    "starts_with": _of_known(False, str.startswith),
    "ends_with": _of_known(False, str.endswith),
    "+": _arithmetic(operator.add),
    "-": _arithmetic(operator.sub),
    "*": _arithmetic(operator.mul),
    "/": _arithmetic(lambda x, y: x / y if y != 0 else None),
    "negative": _arithmetic(operator.neg),
    "abs": _arithmetic(abs),
    "floor": _arithmetic(math.floor),
    "ceil": _arithmetic(math.ceil),
    "sqrt": _arithmetic(lambda x: math.sqrt(x) if x >= 0 else None),
    "min": _arithmetic(min),
    "max": _arithmetic(max),
}
"""What each operation makes of the values of its arguments."""


HEAVIEST = 2000
"""Limit on the terms of a formula for an engine (a divisor is written three times)."""

_TERMS = {"hour": 4, "quarter": 6, "serial": 30, "weekday": 60, "week": 150}
"""Upper bounds on the terms of functions of dates; of texts twice as many."""

_KINDS = {
    "Boolean": "truth",
    "Categorical": "text",
    "Date": "date",
    "Datetime": "date",
    "Enum": "text",
    "String": "text",
    "Time": "time",
}
"""The kinds of types that hold no numbers, by their names."""

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
    """An expression whose kinds fit the columns: `kind` is "number", "truth" or "text"; "date" only inside."""

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
    """The kind of a column of this type: "number", "long number", "text", "truth", "date", "time" of
    a day, which is of use as an id alone, or "other": of no use here.

    Types of Polars and of narwhals go by the same names; narwhals need not be imported to look at those of Polars.

    Long numbers (more than 15 digits of a decimal, 128 bits) become doubles by way of their text, which every engine
    rounds once. Times with a zone are dates in UTC: engines disagree on the day they fall on elsewhere. A column of
    Python objects, held as the texts of `identity.object_code`, is of the kind "object", which its source tells.
    """
    name = type(dtype).__name__
    if name in ("Int128", "UInt128") or (name == "Decimal" and _digits(dtype) > 15):
        return "long number"
    if dtype.is_numeric():
        return "number"
    return _KINDS.get(name, "other")


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
        rule = f"an engine receives at most {HEAVIEST} terms (each divisor counts three times)"
        refuse(expression.text, 0, "too long", rule, "split it into derived columns", code="too-many-terms")
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
        value = value_of(made, {})
        if value is None:
            problem, rule = "this constant is not a number", "constants are computed before any data is read"
            self.refuse(node, problem, rule, "fix it, or leave it out", code="constant-without-value")
        return Literal(value, node.at)

    def kind(self, node: Node) -> tuple[str, Node]:
        """The natural kind of a node, and its tree in that kind (truth columns stay as they are)."""
        if node.constant is not None:
            return {bool: "truth", str: "text"}.get(type(node.constant), "number"), node
        return self.column(node) if node.column is not None else self.operation(node)

    def column(self, node: Column) -> tuple[str, Node]:
        name = node.name
        kind = self.kinds.get(name)
        if kind is None:
            rule = "an expression uses columns of the source"
            problem, remedy = f"there is no column {name!r}", nearest_column(name, self.kinds)
            self.refuse(node, problem, rule, remedy, code="unknown-column-in-expression", column=name)
        if kind in ("time", "other"):
            rule = "it must hold numbers, text, booleans or dates"
            problem, remedy = f"column {name!r} cannot be used", "convert it in the source"
            self.refuse(node, problem, rule, remedy, code="column-kind-not-usable", column=name)
        shown = "text" if kind == "object" else str(kind).removeprefix("long ")
        return shown, Operation(_READINGS[str(kind)], (node,), node.at)

    def operation(self, node: Operation) -> tuple[str, Node]:
        return _CHECKS.get(node.name, _Checker.arithmetic)(self, node)

    def logic(self, node: Operation) -> tuple[str, Node]:
        return "truth", self.make(node.name, node, *map(self.truth, node.arguments))

    def days_between(self, node: Operation) -> tuple[str, Node]:
        first, last = map(self.serial, node.arguments)
        return "number", self.make("-", node, last, first)

    def is_null(self, node: Operation) -> tuple[str, Node]:
        (argument,) = node.arguments
        kind, tree = self.kind(argument)
        if kind == "text":
            return "truth", self.make("text is_null", node, tree)
        return "truth", self.make("is_null", node, self.number(argument) if kind == "truth" else tree)

    def date_part(self, node: Operation) -> tuple[str, Node]:
        (column,) = node.arguments
        kind, _ = self.kind(column)
        if kind not in ("date", "text") or column.column is None:
            problem, remedy = f"{node.name} of {described(kind)}", "give it such a column"
            rule = f"{node.name} takes a column of dates, or of text such as 2024-05-31"
            self.refuse(column, problem, rule, remedy, code="not-a-date-column", function=node.name, kind=kind)
        return "number", Operation(f"{node.name} of {kind}", node.arguments, node.at)

    def arithmetic(self, node: Operation) -> tuple[str, Node]:
        numbers = [self.number(argument) for argument in node.arguments]
        if node.name == "/" and numbers[1].constant == 0 and numbers[0].constant is None:
            problem, rule = "a division by the constant 0", "it has no value on any row"
            self.refuse(node, problem, rule, "fix the divisor", code="division-by-zero")
        return "number", self.make(node.name, node, *numbers)

    def as_number(self, node: Operation) -> tuple[str, Node]:
        return "number", self.number(node.arguments[0])

    def choice(self, node: Operation) -> tuple[str, Node]:
        """if(condition, value, other value), whose values are of one kind."""
        kind = self.common_kind(node, node.arguments[1:])
        condition, *values = node.arguments
        chosen = self.truth(condition)
        if kind == "truth":
            yes, no = map(self.truth, values)
            held = self.make("and", node, chosen, yes)
            return "truth", self.make("or", node, held, self.make("and", node, self.make("not", node, chosen), no))
        first, second = (self.kind(value)[1] if kind == "text" else self.number(value) for value in values)
        if chosen.constant is not None:
            return kind, first if chosen.constant else second
        return kind, Operation("text if" if kind == "text" else "if", (chosen, first, second), node.at)

    def coalesce(self, node: Operation) -> tuple[str, Node]:
        """coalesce(value, …), whose values are of one kind."""
        kind = self.common_kind(node, node.arguments)
        trees = [self.kind(value)[1] if kind == "text" else self.number(value) for value in node.arguments]
        name = "text coalesce" if kind == "text" else "coalesce"
        made = trees[0] if trees[0].constant is not None else Operation(name, tuple(trees), node.at)
        return kind, self.make("!=", node, made, Literal(0.0, node.at)) if kind == "truth" else made

    def common_kind(self, node: Operation, values: Sequence[Node]) -> str:
        """The kind of a choice between these values: text columns are read as numbers where others are numbers."""
        kinds = [self.kind(value)[0] for value in values]
        for value, kind in zip(values, kinds, strict=True):
            if kind == "date":
                rule = f"{node.name} takes numbers, booleans or text"
                remedy = "compare the date, or take a number of it such as year(…)"
                self.refuse(value, f"a date in {node.name}", rule, remedy, code="date-in-a-choice", function=node.name)
        if len({*kinds}) == 1:
            return kinds[0]
        for value, kind in zip(values, kinds, strict=True):
            if kind == "text" and value.column is None:
                rule, remedy = f"the values of {node.name} must be of one type", "give them one type"
                problem = f"text beside numbers in {node.name}"
                self.refuse(value, problem, rule, remedy, code="choice-of-several-kinds", function=node.name)
        return "number"

    def text_test(self, node: Operation) -> tuple[str, Node]:
        text, part = node.arguments
        kind, tree = self.kind(text)
        if kind != "text":
            problem, rule = f"{node.name} of {described(kind)}", f"{node.name} takes text"
            self.refuse(text, problem, rule, "compare it with ==", code="text-needed", function=node.name, kind=kind)
        if not isinstance(part.constant, str):
            problem, rule = f"{node.name} without a text to look for", "its second value must be text in quotes"
            remedy = f"write {node.name}(name, 'north')"
            self.refuse(part, problem, rule, remedy, code="text-to-look-for-needed", function=node.name)
        return "truth", self.make(node.name, node, tree, part)

    def serial(self, node: Node) -> Node:
        """A date as the number of its day."""
        kind = self.kind(node)[0]
        if node.column is not None and kind in ("date", "text"):
            return Operation(f"serial of {kind}", (node,), node.at)
        constant = node.constant
        day = existing_day(constant) if isinstance(constant, str) and len(constant) == LONGEST_DATE else None
        if day is not None:
            return Literal(float(day.toordinal()), node.at)
        rule = "days_between takes columns of dates, or dates in quotes such as '2024-05-31'"
        problem = f"{described(kind)} where a date is needed"
        self.refuse(node, problem, rule, "give it a date", code="day-needed", kind=kind)

    def number(self, node: Node) -> Node:
        kind, tree = self.kind(node)
        if kind == "number":
            return tree
        if kind == "truth":
            read = node.column is not None
            return Operation("double", (node,), node.at) if read else self.make("from truth", node, tree)
        if kind == "text" and node.column is not None:
            return Operation("read", (node,), node.at)
        rule = "arithmetic takes numbers (and columns that can be read as numbers)"
        problem = f"{described(kind)} where a number is needed"
        self.refuse(node, problem, rule, "compare it, or take it out", code="number-needed", kind=kind)

    def truth(self, node: Node) -> Node:
        kind, tree = self.kind(node)
        if kind == "truth":
            return tree
        problem, rule = f"{described(kind)} where a boolean is needed", "filters, and, or and not take booleans"
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
                rule = "dates are compared without a time of day"
                self.refuse(node, "a date with a time of day", rule, f"write {day!r}", code="date-with-time", day=day)
            if number is not None:
                return Literal(number, node.at)
        problem, rule = (
            f"{described(kind)} where a date is needed",
            "dates are compared with dates, such as '2024-05-31'",
        )
        self.refuse(node, problem, rule, "write year-month-day", code="date-needed", kind=kind)

    def comparison(self, node: Operation) -> tuple[str, Node]:
        self.check_quotes(node)
        read = [self.kind(argument) for argument in node.arguments]
        kinds = {kind for kind, _ in read}
        ordered = node.name not in ("==", "!=")
        if "date" in kinds or (ordered and any(map(_is_date, node.arguments))):
            return "truth", self.make(node.name, node, *map(self.date, node.arguments))
        if kinds != {"text"}:
            return "truth", self.make(node.name, node, *map(self.number, node.arguments))
        if ordered:
            problem, rule = f"text compared with {node.name}", "text can be compared only with ==, != and in"
            remedy = "compare with a date such as '2024-05-31', or write number(…) on one side to compare numbers"
            self.refuse(node, problem, rule, remedy, code="texts-ordered", operator=node.name)
        return "truth", self.make("text " + node.name, node, *(tree for _, tree in read))

    def check_quotes(self, node: Operation) -> None:
        """Refuse an unknown name compared with a text column: its quotes are missing."""
        for side, other in zip(node.arguments, reversed(node.arguments), strict=True):
            if side.column is None or side.column in self.kinds or other.column is None:
                continue
            if self.kinds.get(other.column) == "text":
                problem, rule = f"there is no column {side.name!r}", f"text is written in quotes: {side.name!r}"
                remedy = f"add quotes; or is it a column? {nearest_column(side.name, self.kinds)}"
                self.refuse(side, problem, rule, remedy, code="text-without-quotes", column=side.name)

    def membership(self, node: Operation) -> tuple[str, Node]:
        left, *members = node.arguments
        kind, kinds = self.kind(left)[0], {self.kind(member)[0] for member in members}
        if len(kinds) > 1:
            rule = "a list must hold constants of one type"
            self.refuse(members[0], "a list of several types", rule, "split it in two", code="list-of-several-kinds")
        if kind == "text" and kinds == {"text"}:
            return "truth", self.make("text " + node.name, node, self.kind(left)[1], *members)
        if kind != "truth" and kinds == {"truth"}:
            problem, rule = f"booleans in a list for {described(kind)}", "a list must have the type of the left side"
            self.refuse(members[0], problem, rule, "fix the list", code="list-of-another-kind", kind=kind)
        convert = self.date if kind == "date" else self.number
        return "truth", self.make(node.name, node, *map(convert, node.arguments))


_CHECKS: dict[str, Callable[[_Checker, Operation], tuple[str, Node]]] = {
    **dict.fromkeys(("and", "or", "not"), _Checker.logic),
    **dict.fromkeys(COMPARISONS, _Checker.comparison),
    **dict.fromkeys(("in", "not in"), _Checker.membership),
    **dict.fromkeys(TEXT_TESTS, _Checker.text_test),
    **dict.fromkeys(DATE_FUNCTIONS, _Checker.date_part),
    "if": _Checker.choice,
    "coalesce": _Checker.coalesce,
    "days_between": _Checker.days_between,
    "is_null": _Checker.is_null,
    "number": _Checker.as_number,
}
"""What checks each operation; all others are arithmetic."""


def _is_date(node: Node) -> bool:
    """Whether this is a date that is written in the expression, perhaps with a time."""
    return isinstance(node.constant, str) and date_number(node.constant) is not None


def _weight(node: Node) -> int:
    """An upper bound of the number of terms in the engine's spelling of a tree."""
    if node.constant is not None or node.column is not None:
        return 1
    inner = sum(_weight(argument) for argument in node.arguments)
    if node.name in ("/", "floor", "ceil", "min", "max"):
        return 4 * inner + 4
    part, _, kind = node.name.partition(" of ")
    if part in _TERMS:
        return _TERMS[part] * (2 if kind == "text" else 1)
    twice = (*COMPARISONS, "in", "not in", "is_null", "read", "sqrt", "coalesce", "text coalesce")
    return 2 * inner + 2 if node.name in twice else inner + 1


def evaluate(formula: Formula, row: Mapping[str, object]) -> float | bool | str | None:
    """The value of a formula on one row, None when missing. The reference for the engines, and for tests.

    >>> from gaussmith.expressions.grammar import parse
    >>> bmi = check(parse("weight / (height * height)"), {"weight": "number", "height": "number"})
    >>> evaluate(bmi, {"weight": 81.0, "height": 1.8}), evaluate(bmi, {"weight": 81.0, "height": 0.0})
    (25.0, None)
    """
    value: float | bool | str | None = value_of(formula.tree, row)
    return value


# Filters that hold others: whether every row that passes one filter passes another, seen from their text alone.


def common_filter(common: str | None, own: str | None, columns: Sequence[Mapping[str, str]]) -> bool:
    """Whether rows that pass `own` pass `common`, which means the same wherever these derived columns are.

    It does where all terms of `common`, joined by "and", are terms of `own`; nothing else is looked for.

    >>> common_filter("age >= 18", "(age >= 18) and (region == 'north')", [{}, {}])
    True
    >>> common_filter("age >= 18", "(age >= 18) and (a == 1) or (b == 2)", [{}])
    False
    >>> common_filter("adult", "adult", [{"adult": "age >= 18"}, {"adult": "age >= 21"}])
    False
    """
    if common is None:
        return True
    if own is None or not _terms(parse(common).tree) <= _terms(parse(own).tree):
        return False
    return same_meaning(columns_used(parse(common)), columns)


def same_meaning(names: Iterable[str], columns: Sequence[Mapping[str, str]]) -> bool:
    """Whether columns mean the same wherever these derived columns are, and so do all that they are made of.

    >>> same_meaning(["who"], [{"who": "card"}, {"who": "phone"}]), same_meaning(["who"], [{}, {"other": "phone"}])
    (False, True)
    """
    waiting, seen = set(names), set[str]()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        meanings = {each.get(name) for each in columns}
        if len(meanings) > 1:
            return False
        (text,) = meanings
        if text is not None:
            waiting |= set(columns_used(parse(text))) - seen
    return True


def _terms(tree: Node) -> set[Node]:
    """What is joined by "and"."""
    if getattr(tree, "name", None) == "and" and hasattr(tree, "arguments"):
        return {term for each in tree.arguments for term in _terms(each)}
    return {tree}
