"""From a formula to an engine: one narwhals spelling that gives the same bits on Polars, DuckDB and Spark."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gaussmith.errors import ExpressionError, nearest_column
from gaussmith.expressions.formulas import COMPARE, Formula, check, columns_used, evaluate, kind_of
from gaussmith.expressions.grammar import TEXT_TESTS, Node, Operation, described, parse
from gaussmith.expressions.identity import (
    BLANKS,
    DATE_PARTS,
    DATE_PATTERN,
    EXISTING_PATTERN,
    HOUR,
    LONGEST_DATE,
    NUMBER_PATTERN,
    TIME_PATTERN,
    TRUTH_PATTERNS,
)

if TYPE_CHECKING:
    import narwhals as nw


# Days, weekdays and ISO weeks from a year and the number of a day in it: in doubles, exact, the same on all engines.
#
# The serial of a day is its number from 1 January of the year 1, which is day 1 and a Monday. All numbers here are
# whole and below 2^22; a quotient by n is floor((x + ½)·(1/n)), whose distance from a whole number is more than any
# rounding.


def quotient(x: nw.Expr, n: int) -> nw.Expr:
    """floor(x / n) of a whole number that is not negative."""
    import narwhals as nw

    return ((x + 0.5) * (1.0 / n)).floor().cast(nw.Float64)


def days_before(year: nw.Expr) -> nw.Expr:
    """The number of days before a year."""
    y = year - 1.0
    return y * 365.0 + quotient(y, 4) - quotient(y, 100) + quotient(y, 400)


def leap_day(year: nw.Expr) -> nw.Expr:
    """1 in a leap year, else 0; null where the year is."""
    import narwhals as nw

    remainders = {n: year - quotient(year, n) * float(n) for n in (4, 100, 400)}
    leap = (remainders[4] == 0.0) & ((remainders[100] != 0.0) | (remainders[400] == 0.0))
    return nw.when(~year.is_null()).then(nw.when(leap).then(nw.lit(1.0)).otherwise(nw.lit(0.0)))


def weekday_of(serial: nw.Expr) -> nw.Expr:
    """1 for a Monday, up to 7 for a Sunday."""
    before = serial - 1.0
    return before - quotient(before, 7) * 7.0 + 1.0


def week_of(year: nw.Expr, number: nw.Expr) -> nw.Expr:
    """The ISO week of the day with this number in its year: that of its Thursday, counted in its year."""
    import narwhals as nw

    thursday = number - weekday_of(days_before(year) + number) + 4.0
    length = leap_day(year) + 365.0
    later = nw.when(thursday > length).then(thursday - length).otherwise(thursday)
    in_year = nw.when(thursday < 1.0).then(thursday + leap_day(year - 1.0) + 365.0).otherwise(later)
    return quotient(in_year - 1.0, 7) + 1.0


def to_narwhals(formula: Formula) -> nw.Expr:
    """A formula as a narwhals expression: Float64 with null for missing, or a Boolean that is never null.

    Guarantee: on every engine the value of a row is that of `evaluate`, and depends on that row alone.
    """
    import narwhals as nw

    if formula.kind == "truth":
        return _truth(formula.tree)
    if formula.kind == "text":
        return _text(formula.tree)
    value = _number(formula.tree)
    return nw.when(value.is_finite()).then(value) if formula.tree.arguments else value


def as_number(column: str, kind: str) -> nw.Expr:
    """A column as doubles: texts are read, truths are 0 and 1, and what is missing is null or NaN.

    Infinities stay: outside expressions they clamp.
    """
    import narwhals as nw

    return _double("read" if kind == "text" else "long" if kind == "long number" else "double", nw.col(column))


def as_date(column: str, kind: str) -> nw.Expr:
    """A column of dates or texts as the numbers year·10000 + month·100 + day; null where there is no date."""
    import narwhals as nw

    if kind != "object":
        return _part("date", kind, nw.col(column))
    text = nw.col(column).cast(nw.String)
    days = _days_of_objects(text)
    coded = _part("date", "date", days.cast(nw.Int32).cast(nw.Date))
    return nw.when(~days.is_null()).then(coded).otherwise(_part("date", "text", text))


def _days_of_objects(code: nw.Expr) -> nw.Expr:
    """The day, from 1970, of a date or a time among the codes of Python objects (`identity.object_code`); else null.

    A date has its ordinal, a time its nanoseconds, of which nine digits are cut: they can be more than 64 bits hold.
    """
    import narwhals as nw

    ordinal = nw.when(code.str.contains(r"\A\x00d[0-9]+\z")).then(code.str.replace_all(r"\A\x00d", ""))
    nanoseconds = nw.when(code.str.contains(r"\A\x00[iz]-?[0-9]+\z")).then(code.str.replace_all(r"\A\x00[iz]", ""))
    long = nanoseconds.str.contains(r"[0-9]{10}\z")
    seconds = (
        nw.when(long)
        .then(nanoseconds.str.replace_all(r"[0-9]{9}\z", ""))
        .otherwise(nw.when(~nanoseconds.is_null()).then(nw.lit("0")))
    )
    before = nanoseconds.str.starts_with("-") & ~nanoseconds.str.contains(r"0{9}\z")  # cutting went towards 1970
    whole = seconds.cast(nw.Int64) - nw.when(before).then(nw.lit(1)).otherwise(nw.lit(0))
    of_date = ordinal.cast(nw.Int64) - datetime.date(1970, 1, 1).toordinal()
    return nw.when(~ordinal.is_null()).then(of_date).otherwise(whole // 86_400)


def _double(reading: str, column: nw.Expr) -> nw.Expr:
    import narwhals as nw

    if reading == "double":
        return column.cast(nw.Float64)
    text = column.cast(nw.String)
    if reading == "long":
        return text.cast(nw.Float64)
    trimmed = text.str.strip_chars(BLANKS)
    # The input of the cast is guarded, not its output: engines may compute branches that no row takes.
    number: nw.Expr = nw.when(trimmed.str.contains(_whole(NUMBER_PATTERN))).then(trimmed)
    for digit, pattern in TRUTH_PATTERNS.items():
        number = nw.when(trimmed.str.contains(_whole(pattern))).then(nw.lit(digit)).otherwise(number)
    return number.cast(nw.Float64)


def _whole(pattern: str) -> str:
    return rf"\A(?:{pattern})\z"  # not $, which Java lets stand before a last line break


def _text(node: Node) -> nw.Expr:
    import narwhals as nw

    if node.constant is not None:
        return nw.lit(str(node.constant))
    if node.name == "text if":
        condition, first, second = node.arguments
        return nw.when(_truth(condition)).then(_text(first)).otherwise(_text(second))
    if node.name == "text coalesce":
        *earlier, found = map(_text, node.arguments)
        for text in reversed(earlier):
            found = nw.when(~text.is_null()).then(text).otherwise(found)
        return found
    (column,) = node.columns_used
    return nw.col(column).cast(nw.String)


def _part(part: str, kind: str, column: nw.Expr) -> nw.Expr:
    """The year, month, day, hour … of a column of dates or texts, as doubles."""
    import narwhals as nw

    if part == "quarter":
        return quotient(_part("month", kind, column) + 2.0, 3)
    if part == "date":
        year, month, day = (_part(name, kind, column) for name in DATE_PARTS)
        return year * 10000.0 + month * 100.0 + day
    if part in _CALENDAR:
        return _CALENDAR[part](column if kind == "date" else _existing_day(column))
    if kind == "date":
        if part == "hour":  # a date without a time begins its day
            column = column.cast(nw.Datetime("us"))
        found: nw.Expr = getattr(column.dt, part)()
        return found.cast(nw.Float64)
    text = column.cast(nw.String)
    start, length = HOUR if part == "hour" else DATE_PARTS[part]
    pattern = TIME_PATTERN if part == "hour" else DATE_PATTERN
    return nw.when(text.str.contains(_whole(pattern))).then(text.str.slice(start, length)).cast(nw.Float64)


def _year_and_number(day: nw.Expr) -> tuple[nw.Expr, nw.Expr]:
    import narwhals as nw

    return day.dt.year().cast(nw.Float64), day.dt.ordinal_day().cast(nw.Float64)


def _serial(day: nw.Expr) -> nw.Expr:
    year, number = _year_and_number(day)
    return days_before(year) + number


_CALENDAR: dict[str, Callable[[nw.Expr], nw.Expr]] = {
    "serial": _serial,
    "weekday": lambda day: weekday_of(_serial(day)),
    "week": lambda day: week_of(*_year_and_number(day)),
}


def _existing_day(column: nw.Expr) -> nw.Expr:
    """A column of texts as dates; null where the calendar has no such day."""
    import narwhals as nw

    text = column.cast(nw.String)
    known = nw.when(text.str.contains(_whole(EXISTING_PATTERN))).then(text.str.slice(0, LONGEST_DATE))
    return known.str.to_date(format="%Y-%m-%d")


def _number(node: Node) -> nw.Expr:
    """Doubles in which all that is not finite means missing."""
    import narwhals as nw

    if node.constant is not None:
        return nw.lit(float(node.constant))
    name, first = node.name, node.arguments[0]
    if first.column is not None:
        if name in ("double", "long", "read"):
            return _double(name, nw.col(first.column))
        part, _, kind = name.partition(" of ")
        return _part(part, kind, nw.col(first.column))
    if name == "from truth":
        return nw.when(_truth(first)).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    if name == "if":
        return nw.when(_truth(first)).then(_number(node.arguments[1])).otherwise(_number(node.arguments[2]))
    return _ARITHMETIC[name](*map(_number, node.arguments))


def _coalesce(*values: nw.Expr) -> nw.Expr:
    import narwhals as nw

    *earlier, found = values
    for value in reversed(earlier):
        found = nw.when(value.is_finite()).then(value).otherwise(found)
    return found


def _divide(x: nw.Expr, y: nw.Expr) -> nw.Expr:
    import narwhals as nw

    return x / (x * 0.0 + nw.when(y.is_finite() & (y != 0.0)).then(y))


def _root(x: nw.Expr) -> nw.Expr:
    """Of a negative number DuckDB fails; roots are rounded correctly on every engine."""
    import narwhals as nw

    return nw.when(x.is_finite() & (x >= 0.0)).then(x).sqrt()


def _floor(x: nw.Expr) -> nw.Expr:
    import narwhals as nw

    small = x.is_finite() & (x.abs() < 2.0**52)  # from there on all doubles are whole; Spark's floor is an integer
    return nw.when(small).then(nw.when(small).then(x).otherwise(nw.lit(0.0)).floor().cast(nw.Float64)).otherwise(x)


def _extreme(wins: Callable[[nw.Expr, nw.Expr], Any], *values: nw.Expr) -> nw.Expr:
    import narwhals as nw

    best = values[0]
    for value in values[1:]:
        both = best.is_finite() & value.is_finite()
        best = nw.when(both & wins(best, value)).then(best).otherwise(nw.when(both).then(value))
    return best


_ARITHMETIC: dict[str, Callable[..., nw.Expr]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "negative": lambda x: x * -1.0,
    "abs": lambda x: x.abs(),
    "floor": _floor,
    "ceil": lambda x: _floor(x * -1.0) * -1.0,
    "sqrt": _root,
    "min": partial(_extreme, operator.le),
    "max": partial(_extreme, operator.ge),
    "coalesce": _coalesce,
}


def _truth(node: Node) -> nw.Expr:
    """True or false, never null: each question that could be null is asked inside `when`."""
    import narwhals as nw

    if node.constant is not None:
        return nw.lit(bool(node.constant))
    name, arguments = node.name, node.arguments
    if name == "holds":
        return _decide(nw.col(*node.columns_used))
    if name in _LOGIC:
        return _LOGIC[name](*map(_truth, arguments))
    if name == "text is_null":
        return _text(arguments[0]).is_null()
    if name == "is_null":
        return ~_decide(_number(arguments[0]).is_finite())
    if name in TEXT_TESTS:
        return _decide(_TEXT_TESTS[name](_text(arguments[0]).str, str(arguments[1].constant)))
    is_text = name.startswith("text ")
    name = name.removeprefix("text ")
    if name in ("in", "not in"):
        return _membership(arguments, is_text, name == "in")
    values = [_text(argument) if is_text else _number(argument) for argument in arguments]
    question = COMPARE[name](*values)
    for argument, value in zip(arguments, values, strict=True):
        if not is_text and argument.constant is None:  # a comparison with NaN is true on some engines
            question = question & value.is_finite()
    return _decide(question)


_LOGIC: dict[str, Callable[..., nw.Expr]] = {"and": operator.and_, "or": operator.or_, "not": operator.invert}

_TEXT_TESTS: dict[str, Callable[[Any, str], nw.Expr]] = {
    "contains": lambda text, part: text.contains(part, literal=True),
    "starts_with": lambda text, part: text.starts_with(part),
    "ends_with": lambda text, part: text.ends_with(part),
}


def _membership(arguments: Sequence[Node], is_text: bool, wanted: bool) -> nw.Expr:
    left, *members = arguments
    constants = [each for member in members if (each := member.constant) is not None]
    if is_text:
        value = _text(left)
        inside, known = value.is_in(constants), ~value.is_null()
    else:
        value = _number(left)
        inside, known = value.is_in([float(each) for each in constants]), value.is_finite()
    return _decide(known & (inside if wanted else ~inside))


def _decide(question: Any) -> nw.Expr:
    import narwhals as nw

    return nw.when(question).then(nw.lit(True)).otherwise(nw.lit(False))


@dataclass(frozen=True)
class Derivation:
    """Derived columns in their order and a filter, checked against the kinds of the source's columns.

    `kinds` holds the columns of the source and the derived ones; `columns_used` those of the source that are read. In
    the columns `present` a row must have a value.
    """

    columns: tuple[tuple[str, Formula], ...]
    where: Formula | None
    kinds: Mapping[str, str]
    present: tuple[str, ...] = ()

    @property
    def columns_used(self) -> tuple[str, ...]:
        """The columns of the source that the derived columns and the filter read."""
        formulas = [formula for _, formula in self.columns] + ([self.where] if self.where else [])
        derived = {name for name, _ in self.columns}
        used = dict.fromkeys([*(name for formula in formulas for name in columns_used(formula)), *self.present])
        return tuple(name for name in used if name not in derived)


def plan_derivation(columns: Mapping[str, str], where: str | None, kinds: Mapping[str, str]) -> Derivation:
    """The checked derivation of `columns` and `where` over a source whose columns have these kinds; reads no data.

    A derived column may use those before it, and the filter may use all.

    >>> kinds = {"weight": "number", "height": "text"}
    >>> derivation = plan_derivation({"bmi": "weight / (height * height)"}, "bmi < 30", kinds)
    >>> derivation.columns_used, derivation.kinds["bmi"]
    (('weight', 'height'), 'number')
    """
    known = dict(kinds)
    folded = {name.casefold(): name for name in kinds}
    formulas: list[tuple[str, Formula]] = []
    for name, text in columns.items():
        _check_name(name, kinds, folded)
        formula = check(parse(text), known)
        if formula.kind == "date" or (formula.kind == "text" and not formula.tree.arguments[1:]):
            what = f"columns: {name!r} is {described(formula.kind)}"
            rule = "a derived column must be a number, a boolean, or text that if or coalesce chooses"
            code, remedy = "derived-column-not-a-number", "use the column itself"
            raise ExpressionError(what, rule, remedy, code=code, column=name, kind=formula.kind)
        formulas.append((name, formula))
        known[name] = formula.kind
        folded[name.casefold()] = name
    test = None if where is None else check(parse(where), known)
    if test is not None and test.kind != "truth":
        what, rule = f"where={where!r} is {described(test.kind)}", "a filter must be a boolean"
        remedy = "compare it with something, such as age >= 18"
        raise ExpressionError(what, rule, remedy, code="filter-not-boolean", where=where, kind=test.kind)
    return Derivation(tuple(formulas), test, known)


def _check_name(name: str, kinds: Container[str], folded: Mapping[str, str]) -> None:
    """Refuse the name of a derived column that is taken; `folded` has the names that are, in small letters."""
    remedy = "choose another name"
    if name in kinds:
        what, rule = f"columns: {name!r}", "the source already has a column of this name"
        raise ExpressionError(what, rule, remedy, code="derived-name-taken", column=name)
    if (other := folded.get(name.casefold())) is not None:
        what, rule = f"columns: {name!r}", f"there is a column {other!r}, and some engines ignore case"
        code = "derived-name-differs-only-in-case"
        raise ExpressionError(what, rule, remedy, code=code, column=name, other=other)


def derive(frame: nw.LazyFrame[Any], derivation: Derivation) -> nw.LazyFrame[Any]:
    """The frame with the derived columns added and the rows that fail the filter dropped; runs nothing yet."""
    for name, formula in derivation.columns:  # one step each: a formula that is used often is computed once
        frame = frame.with_columns(to_narwhals(formula).alias(name))
    frame = _filter(frame, derivation)
    for name in derivation.present:
        frame = frame.filter(is_present(name, derivation.kinds[name]))
    return frame


def is_present(column: str, kind: str) -> nw.Expr:
    """Whether a row has a value of a column: a date, or a number as `as_number` reads it that is not NaN."""
    import narwhals as nw

    if kind == "date":
        return ~nw.col(column).is_null()
    number = as_number(column, kind)
    return ~(number.is_null() | number.is_nan())


def _filter(frame: nw.LazyFrame[Any], derivation: Derivation) -> nw.LazyFrame[Any]:
    import narwhals as nw

    if derivation.where is None:
        return frame
    if columns_used(derivation.where):
        return frame.filter(to_narwhals(derivation.where))
    if evaluate(derivation.where, {}):  # engines do not filter by a constant
        return frame
    some = nw.col(frame.collect_schema().names()[0]).is_null()
    return frame.filter(some & ~some)


def kinds_of(schema: Mapping[str, Any], wanted: Sequence[str] = ()) -> dict[str, str]:
    """The kind of every column of a narwhals schema; refuses when a wanted one is not there."""
    for name in wanted:
        if name not in schema:
            rule, remedy = "the source has no such column", nearest_column(name, schema)
            raise ExpressionError(f"column {name!r}", rule, remedy, code="no-such-column-for-expression", column=name)
    return {name: kind_of(dtype) for name, dtype in schema.items()}


# Texts that are read as numbers and as nothing else: a reader may hand doubles over in their place.


def read_as_numbers(derivation: Derivation) -> frozenset[str]:
    """The columns that are read as numbers, and as nothing else.

    >>> from gaussmith.expressions.spelling import plan_derivation
    >>> kinds = dict.fromkeys(["age", "name", "day"], "text")
    >>> sorted(read_as_numbers(plan_derivation({"old": "age > 60"}, "name == 'Ada' and day > '2024-01-31'", kinds)))
    ['age']
    """
    uses = [use for formula in _formulas(derivation) for use in _uses(formula.tree)]
    uses += [(name, True) for name in derivation.present]
    return frozenset(name for name, _ in uses) - other_uses(derivation)


def other_uses(derivation: Derivation) -> frozenset[str]:
    """The columns of which something else is read: texts, dates, truths."""
    return frozenset(
        name for formula in _formulas(derivation) for name, as_number in _uses(formula.tree) if not as_number
    )


def with_numbers(derivation: Derivation, columns: Collection[str]) -> Derivation:
    """The same derivation of a source in which these columns are numbers already.

    Requires: columns of text of which nothing but numbers is read.
    """

    def changed(node: Node) -> Node:
        if not isinstance(node, Operation):
            return node
        if node.name == "read" and node.arguments[0].column in columns:
            return Operation("double", node.arguments, node.at)
        return Operation(node.name, tuple(map(changed, node.arguments)), node.at)

    def rewritten(formula: Formula) -> Formula:
        return replace(formula, tree=changed(formula.tree))

    where = None if derivation.where is None else rewritten(derivation.where)
    made = tuple((name, rewritten(formula)) for name, formula in derivation.columns)
    kinds = {**derivation.kinds, **dict.fromkeys(columns, "number")}
    return replace(derivation, columns=made, where=where, kinds=kinds)


def _formulas(derivation: Derivation) -> list[Formula]:
    return [formula for _, formula in derivation.columns] + ([] if derivation.where is None else [derivation.where])


def _uses(node: Node) -> Iterator[tuple[str, bool]]:
    """Each column below a node, and whether it is read as a number there."""
    if node.column is not None:
        yield node.column, False
    elif isinstance(node, Operation) and node.name == "read":
        yield from ((name, True) for name in node.columns_used)
    else:
        for argument in node.arguments:
            yield from _uses(argument)
