"""A row rule in plain words: the notes below a table of answers. They depend on names and limits, never on data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gaussmith.errors import ExpressionError
from gaussmith.expressions import parse, written
from gaussmith.expressions.functions import TEXT_TESTS
from gaussmith.expressions.nodes import Column, Node, Operation
from gaussmith.problem.features import MEAN, OWN_MEAN, OWN_TOTAL, TABLED, TOTAL
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.plans.row_rule import RowRule

MAX_LISTED = 8
"""Limit on the stand-ins listed in a note."""

LONGEST_KEY = 1000
"""Characters of a found key that is text; rows with longer ones are left out."""

COMPARED = {
    "as text": 'are text: 17 and 017 are two people (ids = "integer": one)',
    "text": 'are text (ids = "text"): the same characters are the same person',
    "integer": "are whole numbers: 17, 017 and 17.0 are one person; rows with other ids are dropped",
}
PROMISED = {"rows": "", "promised": ", each promised to depend on the rows of one person only"}

NO_NUMBERS = "such as n/a, 45%, $5 or 1,5"
"""Texts that are no plain numbers."""

_TESTS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", *TEXT_TESTS)
_LOGIC = ("and", "or", "not", "is_null")
_FILLING = ("coalesce", "if", "is_null")


@dataclass(frozen=True)
class Truth:
    """A derived column that is a condition: true or false, never missing.

    columns:  those of which a missing value makes it false; none where it may then be true
    numbers:  those of them that are read as numbers from text, where other text is missing too
    """

    columns: tuple[str, ...]
    numbers: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """What a missing value does, in a few words."""
        if not self.columns:
            return ""
        odd = " or no plain number" if self.numbers else ""
        return f"false where {' or '.join(self.columns)} is missing{odd}"

    @property
    def remedy(self) -> str:
        """The filter that leaves out the rows where it is false for want of a value."""
        return written(parse(" and ".join(f"not is_null({self._read(name)})" for name in self.columns)).tree)

    def _read(self, name: str) -> str:
        column = written(Column(name))
        return f"number({column})" if name in self.numbers else column


def truth_of(rule: RowRule, column: str) -> Truth | None:
    """What is known of a derived column that is a condition; None for any other column.

    A comparison with a missing value is false, so that its row counts as one where it does not hold.
    """
    text = dict(rule.columns).get(column)
    tree = None if text is None else _tree(text)
    if not isinstance(tree, Operation) or tree.name not in (*_TESTS, *_LOGIC):
        return None
    if not all(_is_false_of_missing(each) for each in tree.conditions):
        return Truth(())
    where = None if rule.where is None else _tree(rule.where)
    filtered = set() if where is None else {written(each) for each in where.conditions}
    numbers = _numbers(tree, dict(rule.columns)) if rule.is_text else ()
    known = [name for name in tree.columns_used if Truth((name,), numbers).remedy not in filtered]
    return Truth(tuple(known), tuple(name for name in numbers if name in known))


def _tree(text: str) -> Node | None:
    """The tree of an expression; None where a saved record has one that is not of the language."""
    try:
        return parse(text).tree
    except ExpressionError:
        return None


def _is_false_of_missing(tree: Node) -> bool:
    """Whether it is a comparison that is false as soon as one of its columns has no value."""
    if not isinstance(tree, Operation) or tree.name not in _TESTS:
        return False
    truths = any(isinstance(each.constant, bool) for each in tree.arguments)  # a missing truth counts as false
    return not truths and not any(map(_fills, tree.arguments))


def _fills(tree: Node) -> bool:
    return isinstance(tree, Operation) and (tree.name in (*_FILLING, *_LOGIC) or any(map(_fills, tree.arguments)))


def _numbers(tree: Operation, derived: dict[str, str]) -> tuple[str, ...]:
    """The columns of the source that are compared with numbers as they stand."""
    own = [each for each in tree.conditions if isinstance(each, Operation)]
    return tuple(
        dict.fromkeys(
            argument.column
            for each in own
            for argument in each.arguments
            if argument.column is not None and argument.column not in derived
            if any(isinstance(other.constant, float) for other in each.arguments)
        )
    )


def columns_needed(rule: RowRule, columns: Iterable[str]) -> set[str]:
    """These columns, those that every row is read by, and all that they are derived from."""
    where = None if rule.where is None else _tree(rule.where)
    needed = {*columns, *rule.by, *rule.present, *([rule.unit] if rule.unit else [])}
    needed |= set() if where is None else set(where.columns_used)
    for name, text in reversed(rule.columns):  # a derived column may use those before it
        tree = _tree(text) if name in needed else None
        needed |= set() if tree is None else set(tree.columns_used)
    return needed


def notes_of(rule: RowRule, groups: int | None = None, values: int | None = None) -> list[str]:
    """The rules in plain words, one a line; `groups` and `values` are how many are declared, where that is known."""
    lines = []
    if rule.unit is None:
        lines.append("each row is one person")
    else:
        lines.append(f"a person is all rows with the same {rule.unit}; rows without one are dropped")
    if rule.ids:
        lines.append(f"ids in {rule.unit} {COMPARED[rule.ids]}")
    if rule.rows_per_unit is not None:
        within = " in each group" if rule.by else ""
        k = "1 row per person counts" if rule.rows_per_unit == 1 else f"{rule.rows_per_unit} rows per person count"
        lines.append(f"at most {k}{within}; people with more are scaled down")
    lines += _grouped(rule, groups)
    lines += _counted(rule)
    if _has_several(rule):
        lines += _added(rule)
    lines += _histogram(rule, values)
    lines += _derived(rule)
    lines += _missing(rule)
    if rule.zoned:
        lines.append(f"times in {', '.join(rule.zoned)} have a time zone and are read in UTC")
    if rule.query:
        lines.append(f"the table is the result of a query: the guarantee is about its rows{PROMISED[rule.query]}")
    return lines


def _has_several(rule: RowRule) -> bool:
    """Whether a person may have several rows."""
    return rule.unit is not None and not rule.person_columns


def _grouped(rule: RowRule, groups: int | None) -> list[str]:
    lines = []
    if rule.found:
        names = ", ".join(rule.found)
        lines.append(
            f"groups are the keys found in {names}; rows where {_listed(rule.found)} missing or longer than "
            f"{LONGEST_KEY:,} characters are dropped"
        )
    if len(rule.by) > len(rule.found):
        lines.append("rows with keys that are not declared are dropped")
    m = rule.groups_per_unit
    if rule.by and _has_several(rule) and groups is not None and groups <= m:
        lines += ["a person counts in every group that they have rows in"] if groups > 1 else []
    elif rule.by and _has_several(rule):
        more = "1 group keeps the one" if m == 1 else f"{m} groups keeps the {m}"
        ties = "by a hash of person and key" if rule.found else "the first"
        lines.append(f"a person in more than {more} with most rows (ties: {ties})")
    return lines


def _counted(rule: RowRule) -> list[str]:
    """How people are counted in cells."""
    if not rule.is_counted:
        return []
    (kind, column), *_ = rule.features
    if kind == TABLED:
        own = [column for _, column in rule.features]
        lines = [f"a value of {', '.join(own)} that is missing or not declared has a cell of its own"]
        if rule.unit is not None:
            lines.append("a person with several combinations of values keeps the one with the most rows")
        return lines
    of = {OWN_MEAN: "the mean of", OWN_TOTAL: "the total of"}.get(kind)
    skipped = column not in rule.present and column not in dict(rule.stand_ins)
    lines = [f"rows where {column} is missing are left out"] if skipped else []
    within = " in each group" if rule.by else ""
    mine = f"each person has one value{within}: {of} their own {column} over all rows that count"
    lines += [] if of is None else [mine]
    cut = rule.cut_of(column)
    if cut is not None and cut.ends is not None:
        low, high = cut.ends
        what, then = {
            OWN_MEAN: ("a row's value", ", before the mean of the person's rows is taken"),
            OWN_TOTAL: ("a person's total", ""),
        }.get(kind, ("a value", ""))
        lines.append(f"{what} of {column} below {low:,.12g} or above {high:,.12g} counts as that bound{then}")
    return lines


def _added(rule: RowRule) -> list[str]:
    """What of their rows people with several add to sums and means."""
    lines = []
    rows = "all rows in a group" if rule.by else "all rows"
    if added := tuple(column for kind, column in rule.features if kind == TOTAL and column):
        lines.append(f"the bounds of {_some(added)} are for the total of a person over {rows}, not for one row")
    if means := tuple(dict.fromkeys(column for kind, column in rule.features if kind == MEAN)):
        within = " in a group" if rule.by else ""
        lines.append(
            f"every person has the same weight{within}: with the mean of {_some(means)} over their own rows, each "
            "within the bounds"
        )
    return lines


def _histogram(rule: RowRule, values: int | None) -> list[str]:
    """How people are counted by declared values or ranges."""
    column = rule.histogram
    if column is None:
        return []
    is_cut = rule.cut_of(column) is not None
    lines = [
        f"a row without a value of {column} is in no cell"
        if is_cut
        else f"values of {column} that are not declared are dropped"
    ]
    if not _has_several(rule):
        return lines
    m, what = rule.values_per_unit, "range" if is_cut else "value"
    if m == 1:
        within = " in a group" if rule.by else ""
        most = f"the {what} of {column} that most of their rows {'are in' if is_cut else 'have'}"
        return [*lines, f"each person counts once{within}: for {most} (ties: the {what} listed first in the request)"]
    has = "that a row of theirs is in" if is_cut else "in their rows"
    lines.append(f"counts are of people, once for each {what} of {column} {has}")
    if values is None or m < values:
        ties = f"the {what} listed first in the request"
        lines.append(f"a person with more than {m} {what}s keeps the {m} with most rows (ties: {ties})")
    return lines


Definitions = Mapping[str, tuple[str, str]]
"""What each derived column is, and what a missing value does to it; "" where that is not told."""


def definitions_of(rule: RowRule) -> dict[str, tuple[str, str]]:
    """The derived columns of a rule."""
    return {name: (f"{name} is {text}", _where_false(rule, name)) for name, text in rule.columns}


def told_definitions(definitions: Definitions) -> list[str]:
    """The same, one a line; those of which the same is told together."""
    together: dict[str, list[str]] = {}
    for name, (made, then) in definitions.items():
        together.setdefault(then or name, []).append(made)
    alone = {name for name, (_, then) in definitions.items() if not then}
    return [f"{', '.join(made)}{'' if then in alone else then}" for then, made in together.items()]


def _derived(rule: RowRule) -> list[str]:
    lines = told_definitions(definitions_of(rule))
    if rule.where is not None:
        lines.append(f"only rows where {rule.where}")
    if rule.person_columns:
        made = ", ".join(f"{name} is {text}" for name, text in rule.person_columns)
        lines.append(f"each person is one row, made of their own rows: {made}")
    if rule.person_where is not None:
        lines.append(f"only people where {rule.person_where}")
    return lines


def _where_false(rule: RowRule, name: str) -> str:
    """That a row counts where a condition is false for want of a value; "" where nothing is asked of it."""
    truth = truth_of(rule, name) if name in rule.names else None
    if truth is None or not truth.columns:
        return ""
    return f': {truth.told}, and the row counts (where = "{truth.remedy}" leaves it out)'


def _missing(rule: RowRule) -> list[str]:
    lines = []
    if present := tuple(name for name in rule.present if truth_of(rule, name) is None and not _is_full(rule, name)):
        text = f" or no plain number ({NO_NUMBERS})" if rule.is_text else ""
        which = "people" if rule.person_columns else "rows"
        each = "" if len(present) == 1 else "one of "
        lines.append(f"{which} where {each}{_some(present)} is missing{text} are left out")
    if rule.complete:
        lines.append(f"{_listed(rule.complete)} promised to have a value in every row")
    if rule.complete_by_type:
        types = "its type" if len(rule.complete_by_type) == 1 else "their types"
        lines.append(f"{_some(rule.complete_by_type)} cannot be missing by {types}")
    if rule.stand_ins:
        what = "a missing value"
        what += f", or text that is not a plain number ({NO_NUMBERS})," if rule.is_text else ""
        shown = [f"{value:,.12g} in {column}" for column, value in rule.stand_ins[:MAX_LISTED]]
        lines.append(f"{what} counts as {', '.join(shown)}{', …' if rule.stand_ins[MAX_LISTED:] else ''}")
    return lines


def _is_full(rule: RowRule, name: str) -> bool:
    """Whether a person column has a value for everybody, such as a number of rows.

    >>> from gaussmith.plans.row_rule import RowRule
    >>> rule = RowRule((), person_columns=(("n", "count()"), ("late", "n - count(days > 9)"), ("age", "max(age)")))
    >>> [_is_full(rule, name) for name in ("n", "late", "age", "days")]
    [True, True, False, False]
    """
    made = dict(rule.person_columns)
    try:
        tree = parse(made[name], of_people=True).tree if name in made else None
    except ExpressionError:
        return False
    return tree is not None and _is_never_missing(tree, rule)


def _is_never_missing(tree: Node, rule: RowRule) -> bool:
    if tree.column is not None:
        return _is_full(rule, tree.column)
    if not isinstance(tree, Operation):
        return tree.constant is not None
    if tree.name in ("count", "any", "all", "sum"):
        return True
    return tree.name in ("+", "-", "*") and all(_is_never_missing(each, rule) for each in tree.arguments)


def _listed(names: tuple[str, ...]) -> str:
    """Names with their verb."""
    return f"{_some(names)} {'is' if len(names) == 1 else 'are'}"


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:MAX_LISTED]) + (", …" if names[MAX_LISTED:] else "")
