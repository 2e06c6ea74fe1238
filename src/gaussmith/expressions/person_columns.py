"""A person's own numbers: what the rows of one person are put together to, so that each person becomes one row.

    person_columns = { spent_total = "sum(spent)", visits = "count()", regular = "visits >= 12" }

    count()       the rows of the person              count(c)          those where a condition holds
    any(c)        whether it holds in some row        all(c)            whether it holds in all
    sum(x)        of the values that are there; 0 without any            mean(x)    their mean
    min(x)        the smallest value that is there    max(x)            the largest
    only(x)       the value, where all rows that have one have the same; else missing

**Exact, in any order of the rows.** Floats that are added in another order differ in the last bit, so sum and mean add
integers: each value is rounded to a multiple of 10^-6, sum(x, 2) to one of 10^-2, and values beyond ±2^52 such
steps are clipped. The integers are added exactly and divided once. All others compare and count.

Each number depends on the rows of one person alone, and is computed for any rows: nothing here can fail on data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gaussmith.errors import ExpressionError, nearest_column
from gaussmith.expressions.formulas import Formula, check
from gaussmith.expressions.grammar import AGGREGATES, Column, Expression, Node, Operation, described, parse, refuse
from gaussmith.expressions.spelling import Derivation, derive, plan_derivation, to_narwhals

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.LazyFrame[Any]

DIGITS, MOST_DIGITS = 6, 12
"""Decimal places in which sums are added, unless others are asked for, and the limit on them."""

LIMB = 26
"""Bits of the lower part of a row's integer; the upper has as many, so that 2^36 rows of a person add up in 64."""


@dataclass(frozen=True)
class Aggregate:
    """One function of all rows of a person: its name, the kind of what comes out, and the formula of a row."""

    function: str
    kind: str
    formula: Formula | None
    digits: int = DIGITS


@dataclass(frozen=True)
class PersonColumns:
    """The numbers of a person, checked against the kinds of the columns of rows.

    aggregates: what is put together, under names of their own
    plain:      person columns that are one aggregate just as it is
    derivation: the other person columns and the filter of people, over those
    """

    aggregates: Mapping[str, Aggregate]
    plain: Mapping[str, str]
    derivation: Derivation
    names: tuple[str, ...]

    @property
    def objects(self) -> frozenset[str]:
        """The person columns that hold codes of Python objects."""
        return frozenset(name for name in self.names if self.derivation.kinds[name] == "object")


def plan_person_columns(columns: Mapping[str, str], where: str | None, kinds: Mapping[str, str]) -> PersonColumns:
    """The checked person columns over rows whose columns have these kinds; reads no data.

    A person column may use those before it, and the filter of people uses person columns.

    >>> found = plan_person_columns({"visits": "count()", "often": "visits >= 3"}, "often", {"spent": "number"})
    >>> found.names, found.derivation.kinds["often"]
    (('visits', 'often'), 'truth')
    """
    prefix = "number of a person "
    while any(name.casefold().startswith(prefix) for name in columns):
        prefix += "_"
    planner = _Planner(kinds, prefix)
    known: dict[str, str] = {}
    plain: dict[str, str] = {}
    formulas: list[tuple[str, Formula]] = []
    folded = {name.casefold(): name for name in kinds}
    for name, text in columns.items():
        if name.casefold() in folded:
            what, rule = f"person_columns: {name!r}", f"there is a column {folded[name.casefold()]!r} already"
            raise ExpressionError(what, rule, "choose another name", code="person-column-name-taken", column=name)
        folded[name.casefold()] = name
        expression = parse(text, of_people=True)
        tree = planner.without_rows(expression, expression.tree, known)
        kinds_here = {**planner.made_kinds, **known}
        if tree.column is not None and tree.column in planner.made:
            plain[name], known[name] = tree.column, kinds_here[tree.column]
            continue
        formula = check(Expression(text, tree), kinds_here)
        if formula.kind == "date" or (formula.kind == "text" and not formula.tree.arguments[1:]):
            rule = "it must be a function of rows, or a number or a boolean computed from such"
            what = f"person_columns: {name!r} is {described(formula.kind)}"
            raise ExpressionError(what, rule, "use the column itself", code="person-column-is-another", column=name)
        formulas.append((name, formula))
        known[name] = formula.kind
    tested = plan_derivation({}, where, known).where
    derivation = Derivation(tuple(formulas), tested, {**planner.made_kinds, **known})
    return PersonColumns(planner.made, plain, derivation, tuple(columns))


class _Planner:
    """Takes functions of rows out of trees: each becomes a column of people; `made` holds them by name."""

    def __init__(self, kinds: Mapping[str, str], prefix: str) -> None:
        self.kinds, self.prefix = kinds, prefix
        self.made: dict[str, Aggregate] = {}

    @property
    def made_kinds(self) -> dict[str, str]:
        return {name: made.kind for name, made in self.made.items()}

    def without_rows(self, expression: Expression, tree: Node, known: Mapping[str, str]) -> Node:
        """The tree over columns of people alone."""
        if tree.constant is not None:
            return tree
        if tree.column is not None:
            if tree.column not in known and tree.column in self.kinds:
                rule = f"{tree.column} has a value in every row of a person, and one number is needed"
                remedy = f"write sum({tree.column}), mean, min, max, or only({tree.column})"
                problem = f"column {tree.column!r} outside of a function of rows"
                refuse(expression.text, tree.at, problem, rule, remedy, code="row-column-of-person", column=tree.column)
            if tree.column not in known:
                problem, rule = f"there is no column {tree.column!r}", "a person column uses rows, and those before it"
                remedy = nearest_column(tree.column, [*known, *self.kinds])
                code = "unknown-column-in-person-column"
                refuse(expression.text, tree.at, problem, rule, remedy, code=code, column=tree.column)
            return tree
        if tree.name in AGGREGATES and len(tree.arguments) <= (1 if tree.name in ("min", "max") else 2):
            return Column(self.aggregate(expression, tree), tree.at)
        inner = tuple(self.without_rows(expression, argument, known) for argument in tree.arguments)
        return Operation(tree.name, inner, tree.at)

    def aggregate(self, expression: Expression, node: Operation) -> str:
        """The name of the column that holds a function of rows."""
        made = self.read(expression, node)
        found = next((name for name, other in self.made.items() if other == made), None)
        name = f"{self.prefix}{len(self.made)}" if found is None else found
        self.made[name] = made
        return name

    def read(self, expression: Expression, node: Operation) -> Aggregate:
        name, text = node.name, expression.text
        if not node.arguments:
            return Aggregate(name, "number", None)
        inner = node.arguments[0]
        if any(map(_has_aggregate, node.arguments)):
            rule, remedy = "a function of rows takes a value of each row", "make it a person column of its own"
            refuse(text, inner.at, f"a function of rows inside {name}", rule, remedy, code="aggregate-in-aggregate")
        digits = _digits_of(text, node)
        formula = check(Expression(text, inner), self.kinds)
        if name in ("count", "any", "all"):
            if formula.kind != "truth":
                problem, rule = f"{described(formula.kind)} in {name}", f"{name} takes a condition"
                remedy = f"write {name}(not is_null(x))"
                refuse(text, inner.at, problem, rule, remedy, code="aggregate-takes-condition", function=name)
            return Aggregate(name, "number" if name == "count" else "truth", formula)
        if formula.kind == "date" and name not in ("min", "max", "only"):
            problem, rule = f"a date in {name}", "dates are compared: min, max and only take them"
            refuse(text, inner.at, problem, rule, "take a number of it", code="date-in-aggregate", function=name)
        if formula.kind == "date" or name == "only":
            kind = formula.kind if inner.column is None else self.kinds[inner.column]
            return Aggregate(name, kind.removeprefix("long "), formula)
        number = check(Expression(text, Operation("number", (inner,), inner.at)), self.kinds)
        return Aggregate(name, "number", number, digits if name in _ADDED else DIGITS)


def _digits_of(text: str, node: Operation) -> int:
    """The decimal places in which a sum or a mean is added."""
    if len(node.arguments) < 2:
        return DIGITS
    places = node.arguments[1]
    if type(places.constant) is not float or places.constant not in range(MOST_DIGITS + 1):
        rule = f"the second value of {node.name} is the number of decimal places, 0 to {MOST_DIGITS}"
        refuse(text, places.at, "other decimal places", rule, f"write {node.name}(x, 2)", code="decimal-places")
    return int(places.constant)


def _has_aggregate(tree: Node) -> bool:
    own = isinstance(tree, Operation) and tree.name in AGGREGATES
    if own and isinstance(tree, Operation) and tree.name in ("min", "max") and len(tree.arguments) > 1:
        own = False
    return own or any(_has_aggregate(argument) for argument in tree.arguments)


# ── on an engine ──


def combine_people(rows: Frame, person: nw.Expr, columns: PersonColumns) -> Frame:
    """One row for each person: its person columns, after the filter of people. Runs nothing yet.

    `person` is the id, null where it names nobody: such rows are dropped. Guarantee: a row of the result depends on the
    rows of one person alone, not on their order or the engine.
    """
    import narwhals as nw

    made = list(enumerate(columns.aggregates.values()))
    inputs = [expr.alias(f"{part}{j}") for j, each in made for part, expr in _inputs(each).items()]
    one = nw.lit(1).cast(nw.Int64).alias("n")
    frame = rows.select(person.alias("u"), one, *inputs).filter(~nw.col("u").is_null())
    added = [j for j, each in made if each.function in _ADDED]
    if added:  # the integer is made in a step of its own, so that it is computed once for both parts
        frame = frame.with_columns(*(expr.alias(f"{part}{j}") for j in added for part, expr in _limbs(j)))
    sums = ["n", *(f"{part}{j}" for j, each in made for part in _summed(each))]
    extremes = [_extreme(part, j) for j, each in made for part in _compared(each)]
    people = frame.group_by("u").agg(*(nw.col(name).sum() for name in sums), *extremes)
    people = people.with_columns(*(nw.col(name).cast(nw.Int64) for name in sums))  # DuckDB adds up in 128 bits
    named = zip(columns.aggregates, made, strict=True)
    numbers = people.select(*(_result(each, j).alias(name) for name, (j, each) in named))
    plain = [nw.col(inner).alias(name) for name, inner in columns.plain.items()]
    found = derive(numbers.with_columns(*plain) if plain else numbers, columns.derivation)
    return found.select(*columns.names)


def _extreme(part: str, j: int) -> nw.Expr:
    import narwhals as nw

    column = nw.col(f"{part}{j}")
    return column.min() if part == "a" else column.max()


_ADDED = ("sum", "mean")


def _inputs(each: Aggregate) -> dict[str, nw.Expr]:
    """What is read of a row, by the letter of its column."""
    import narwhals as nw

    if each.formula is None:
        return {}
    value = _native(each) if each.kind in ("date", "object") or each.function == "only" else to_narwhals(each.formula)
    if each.function in ("count", "any", "all"):
        return {"b": nw.when(value).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64)}
    if each.function in _ADDED:
        scale = 10.0**each.digits
        reach = 2.0**52 / scale
        known = nw.when(~value.is_null()).then(value).otherwise(nw.lit(0.0))
        present = nw.when(~value.is_null()).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64)
        return {"r": (known.clip(-reach, reach) * scale + 0.5).floor().cast(nw.Float64), "b": present}
    return dict.fromkeys(_compared(each), value)


def _native(each: Aggregate) -> nw.Expr:
    """A value that is compared as it is: dates and texts; booleans as numbers that may be missing."""
    import narwhals as nw

    assert each.formula is not None
    if each.kind in ("date", "object"):
        return nw.col(*each.formula.tree.columns_used)
    if each.kind == "truth" and each.formula.tree.arguments and each.formula.tree.arguments[0].column is not None:
        return nw.col(*each.formula.tree.columns_used).cast(nw.Float64)
    value = to_narwhals(each.formula)
    return nw.when(value).then(nw.lit(1.0)).otherwise(nw.lit(0.0)) if each.kind == "truth" else value


def _limbs(j: int) -> list[tuple[str, nw.Expr]]:
    """The integer of a row in two parts, so that they add up in 64 bits."""
    import narwhals as nw

    high = (nw.col(f"r{j}") * 2.0**-LIMB).floor()
    low = nw.col(f"r{j}") - high.cast(nw.Float64) * 2.0**LIMB
    return [("h", high.cast(nw.Int64)), ("l", low.cast(nw.Int64))]


def _summed(each: Aggregate) -> tuple[str, ...]:
    if each.function in _ADDED:
        return ("h", "l", "b")
    return ("b",) if each.function in ("count", "any", "all") and each.formula is not None else ()


def _compared(each: Aggregate) -> tuple[str, ...]:
    return {"min": ("a",), "max": ("z",), "only": ("a", "z")}.get(each.function, ())


def _result(each: Aggregate, j: int) -> nw.Expr:
    """The number of a person: a double that is null where missing, or a truth, a text, a date."""
    import narwhals as nw

    n, b = nw.col("n"), nw.col(f"b{j}")
    if each.function == "count":
        return (n if each.formula is None else b).cast(nw.Float64)
    if each.function in ("any", "all"):
        return b > 0 if each.function == "any" else b == n
    if each.function in ("min", "max"):
        return nw.col(f"{'a' if each.function == 'min' else 'z'}{j}")
    if each.function == "only":
        low, high = nw.col(f"a{j}"), nw.col(f"z{j}")
        value = low == 1.0 if each.kind == "truth" else low
        return nw.when(low == high).then(value)
    carry = (nw.col(f"l{j}").cast(nw.Float64) * 2.0**-LIMB).floor().cast(nw.Int64)
    low = nw.col(f"l{j}") - carry * (1 << LIMB)
    steps = (nw.col(f"h{j}") + carry).cast(nw.Float64) * 2.0**LIMB + low.cast(nw.Float64)
    divisor = steps * 0.0 + 10.0**each.digits  # a column: Polars multiplies by the reciprocal of a constant
    if each.function == "sum":
        return steps / divisor
    return steps / nw.when(b > 0).then(divisor * b.cast(nw.Float64))
