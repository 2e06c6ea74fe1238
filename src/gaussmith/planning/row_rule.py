"""The rule by which the rows of a table become the records of a plan: which rows, whose they are, what each adds.

A rule is public. It names columns and holds nothing of the data; every release carries the one it used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from dataclasses import fields as dataclass_fields
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from gaussmith.domains.features import (
    CHECKED,
    CHECKED_GROUPS,
    CHECKED_ROWS,
    CHECKED_TOTAL,
    MEAN,
    OWN_MEAN,
    OWN_TOTAL,
    OWN_VALUE,
    ROWS,
    TABLED,
    TOTAL,
    VALUES,
    VECTOR,
)
from gaussmith.errors import ExpressionError, counted
from gaussmith.expressions.formulas import columns_used
from gaussmith.expressions.grammar import TEXT_TESTS, Column, Node, Operation, parse, written
from gaussmith.expressions.keys import Cut
from gaussmith.notations import setting

# A row rule in plain words: the notes below a table of answers. They depend on names and limits, never on data.

MAX_LISTED = 8
"""Limit on the stand-ins listed in a note."""

LONGEST_KEY = 1000
"""Characters of a found key that is text; rows with longer ones are left out."""

COMPARED = ("as text", "text", "integer")
"""How ids are compared: as text because nothing is declared, or as declared."""

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
        lines.append(f"ids in {rule.unit} {_compared(rule.ids)}")
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
    known = (*rule.present, *rule.complete, *rule.complete_by_type, *dict(rule.stand_ins))
    skipped = column not in known
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


def _compared(ids: str) -> str:
    if ids == "as text":
        return f"are text: 17 and 017 are two people ({setting('ids', 'integer')}: one)"
    if ids == "text":
        return f"are text ({setting('ids', 'text')}): the same characters are the same person"
    return "are whole numbers: 17, 017 and 17.0 are one person; rows with other ids are dropped"


def _where_false(rule: RowRule, name: str) -> str:
    """That a row counts where a condition is false for want of a value; "" where nothing is asked of it."""
    truth = truth_of(rule, name) if name in rule.names else None
    if truth is None or not truth.columns:
        return ""
    return f": {truth.told}, and the row counts ({setting('where', truth.remedy)} leaves it out)"


def _missing(rule: RowRule) -> list[str]:
    lines = []
    if present := tuple(name for name in rule.present if truth_of(rule, name) is None and not _is_full(rule, name)):
        text = f" or no plain number ({NO_NUMBERS})" if rule.is_text else ""
        which = "people" if rule.person_columns else "rows"
        each = "" if len(present) == 1 else "one of "
        chosen = rule.by and rule.unit is not None and not rule.person_columns
        still = ", but count when groups are chosen" if chosen else ""
        lines.append(f"{which} where {each}{_some(present)} is missing{text} are left out{still}")
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

    >>> from gaussmith.planning.row_rule import RowRule
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


NUMBERS, CATEGORIES, ORDER, PAIRS = "numbers", "categories", "order", "pairs"
"""The forms of plain data, of which each row is a record, or in pairs an item of one.

    numbers     one column of numbers per coordinate: 0/1 marks, ranks, sparse vectors, points
    categories  one category column per attribute of the cells
    order       ballots as lists: the first choice, the second, …
    pairs       a long table of persons and items, any number of rows each
"""

_SPARED = (
    "present", "complete", "stand_ins", "source", "is_text", "ids", "query", "form", "person_columns", "person_where",
    "cuts", "keys", "by_cuts", "zoned", "found", "complete_by_type",
)  # fmt: skip
"""Fields that are saved only where they say something."""


@dataclass(frozen=True)
class RowRule:
    """The table as a plan sees it.

    features:        for each coordinate of the plan what it is made of and the column it is about
    unit:            the column that names the person; None: each row is a person
    rows_per_unit:   how many rows of a person count; None: all do, and what they add up to is clamped
    by:              the columns that hold the keys of groups
    groups_per_unit: how many groups a person counts in
    columns, where:  derived columns and the filter, in the language of docs/expressions.md
    present:         columns in which a row must have a value; null, NaN and text that is no number are none
    complete:        columns that are promised to have a value in every row
    complete_by_type: columns of the source whose type cannot hold a missing value, which a plan relied on
    values_per_unit: how many declared values of a histogram's column a person counts in
    stand_ins:       what a missing value counts as, by column, where that was said or may surprise: in text
    source, is_text: once a source was opened, its name without folders and secrets, and whether its numbers are text
    ids:             how ids are compared: "text" or "integer" as was said, "as text" in a file of text; else ""
    query:           "rows" where the source is a query, view or lazy frame, "promised" if row by row; else ""
    person_columns:  numbers of a person, made of the rows that pass the filter: then each person is one row of these
    person_where:    the filter of people, by their person columns
    cuts:            the cells that a column's values are counted in, by column
    keys:            the declared groups, where a person is compared with the limits of all groups together
    by_cuts:         the cells that are groups, by column
    zoned:           once a source was opened, the columns of times with a time zone, which are read in UTC
    found:           those of the columns in `by` whose keys are found in the data
    form:            the form of plain data; "" for a table of which the rest of the rule says what a person adds

    >>> print(RowRule(((TOTAL, "visits"),), unit="person", where="age >= 18"))
    a person is all rows with the same person; rows without one are dropped
    the bounds of visits are for the total of a person over all rows, not for one row
    only rows where age >= 18
    """

    features: tuple[tuple[str, str], ...]
    unit: str | None = None
    rows_per_unit: int | None = None
    by: tuple[str, ...] = ()
    groups_per_unit: int = 1
    columns: tuple[tuple[str, str], ...] = ()
    where: str | None = None
    present: tuple[str, ...] = ()
    values_per_unit: int = 1
    complete: tuple[str, ...] = ()
    stand_ins: tuple[tuple[str, float], ...] = ()
    source: str | None = None
    is_text: bool = False
    ids: str = ""
    query: str = ""
    form: str = ""
    person_columns: tuple[tuple[str, str], ...] = ()
    person_where: str | None = None
    cuts: tuple[tuple[str, Cut], ...] = ()
    keys: tuple[tuple[Any, ...], ...] = ()
    by_cuts: tuple[tuple[str, Cut], ...] = ()
    zoned: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    complete_by_type: tuple[str, ...] = ()

    @property
    def histogram(self) -> str | None:
        """The column whose declared values are counted; None where numbers are added up."""
        return self.features[0][1] if self.features and self.features[0][0] == VALUES else None

    @cached_property
    def columns_read(self) -> tuple[str, ...]:
        """The columns of the source that it names, in features, filters, derived columns, unit and keys.

        >>> from gaussmith.domains.features import TOTAL
        >>> derived = (("bmi", "weight / 2"),)
        >>> RowRule(((TOTAL, "bmi"),), unit="person", columns=derived, where="age >= 18").columns_read
        ('weight', 'age', 'person')
        """
        derived = {name for name, _ in (*self.columns, *self.person_columns)}
        formulas = [parse(text) for _, text in self.columns] + ([] if self.where is None else [parse(self.where)])
        formulas += [parse(text, of_people=True) for _, text in self.person_columns]
        named = [*self.names, *(name for formula in formulas for name in columns_used(formula))]
        named += [*self.present, *self.by, *([] if self.unit is None else [self.unit])]
        return tuple(dict.fromkeys(name for name in named if name not in derived))

    @property
    def is_plain(self) -> bool:
        """Whether every row of the table is a record of numbers just as it stands."""
        own = self.unit is None and not self.by and not self.columns and not self.is_filtered
        return own and self.histogram is None and not self.is_counted and not self.is_checked

    @property
    def is_counted(self) -> bool:
        """Whether people are counted in cells, by a number of theirs or by the values of several columns."""
        return bool(self.features) and self.features[0][0] in (OWN_VALUE, OWN_MEAN, OWN_TOTAL, TABLED)

    @property
    def is_checked(self) -> bool:
        """Whether people are compared with the limits of a question."""
        return bool(self.features) and self.features[0][0] in CHECKED

    @property
    def counts_marks(self) -> bool:
        """Whether each coordinate is a cell or value that people are counted in, not a number of theirs."""
        return self.histogram is not None or self.is_checked

    def cut_of(self, column: str) -> Cut | None:
        """The cells of a column; None where its values are declared."""
        return dict(self.cuts).get(column)

    @property
    def is_filtered(self) -> bool:
        """Whether some rows or people may be left out, so that who is in the records is secret."""
        return self.where is not None or bool(self.present) or self.person_where is not None

    @property
    def of_one_row(self) -> RowRule:
        """The rule of the rows that people become where there are person columns."""
        return replace(self, unit=None, columns=(), where=None, person_columns=(), person_where=None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column of each coordinate; the number of rows has none."""
        return tuple(column for _, column in self.features if column)

    def opened(self, source: str | None, is_text: bool, stand_ins: Iterable[float]) -> RowRule:
        """The same of a source that was opened; `stand_ins` has one for each coordinate."""
        if not is_text:
            return replace(self, source=source)
        derived = {name for name, _ in self.columns}
        read = dict.fromkeys(
            (kind, column, float(value))
            for (kind, column), value in zip(self.features, stand_ins, strict=False)
            if kind not in (ROWS, VALUES, VECTOR, OWN_VALUE, OWN_MEAN, OWN_TOTAL, TABLED, *CHECKED)
            and column not in derived
            and column not in self.present
        )
        values = {column: {v for _, other, v in read if other == column} for _, column, _ in read}
        told = [
            (_stand_in_names(column)[1 if kind == TOTAL else 2] if len(values[column]) > 1 else column, value)
            for kind, column, value in read
        ]
        return replace(self, source=source, is_text=True, stand_ins=tuple(dict.fromkeys((*self.stand_ins, *told))))

    def identified(self, ids: str, query: str) -> RowRule:
        """The same of a source whose ids are compared so, and whose rows come from such a query."""
        return replace(self, ids=ids if self.unit is not None else "", query=query)

    def about(self, columns: Iterable[str]) -> RowRule:
        """The same as far as some columns go."""
        kept = {name for column in columns for name in _stand_in_names(column)}
        return replace(self, stand_ins=tuple((of, value) for of, value in self.stand_ins if of in kept))

    def notes(self) -> list[str]:
        """The rules in plain words, one a line."""
        return notes_of(self)

    def missing_rule(self, kind: str, column: str) -> str:
        """What a missing value of a column does to an answer made of such a coordinate; in a few words."""
        told = [value for of, value in self.stand_ins if of in _stand_in_names(column)]
        if kind == VECTOR:
            return "a row with a missing value counts as the centre that was found"
        if column in dict(self.columns) and (truth := truth_of(self, column)) is not None:
            return truth.told
        if column in self.present:
            return "missing values left out"
        if told:
            return f"missing counts as {told[-1]:,.12g}"
        if column in self.complete:
            return "no value missing, by promise"
        if column in self.complete_by_type:
            return "cannot be missing by its type"
        if kind in (OWN_VALUE, OWN_MEAN, OWN_TOTAL):
            return "missing values left out"
        return "missing adds 0" if kind == TOTAL else ""

    @property
    def own_values(self) -> str:
        """Of which numbers of people the answers are, where each person has one made of their rows; else ""."""
        kind = self.features[0][0] if self.is_counted else ""
        own_mean = "of each person's own mean of clipped rows"
        return {OWN_MEAN: own_mean, OWN_TOTAL: "of each person's own total"}.get(kind, "")

    def weight_rule(self, kind: str) -> str:
        """How much a person weighs in an answer made of such a coordinate, where it is not by rows; else ""."""
        return "every person with the same weight" if kind == MEAN and self.unit and not self.person_columns else ""

    def __str__(self) -> str:
        return "\n".join(self.notes())

    def to_dict(self) -> dict[str, Any]:
        fields = asdict(self)
        for name in _SPARED:
            if not fields[name]:
                del fields[name]
        for name in ("present", "complete", "complete_by_type", "zoned", "found"):
            if name in fields:
                fields[name] = list(fields[name])
        if self.cuts:
            fields["cuts"] = {column: cut.to_dict() for column, cut in self.cuts}
        if self.by_cuts:
            fields["by_cuts"] = {column: cut.to_dict() for column, cut in self.by_cuts}
        if self.stand_ins:
            fields["stand_ins"] = [list(pair) for pair in self.stand_ins]
        if self.keys:
            fields["keys"] = [list(label) for label in self.keys]
        if self.person_columns:
            fields["person_columns"] = dict(self.person_columns)
        return fields | {"features": [list(pair) for pair in self.features], "columns": dict(self.columns)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> RowRule:
        """The rule that `to_dict` described."""
        empty: dict[str, Any] = {
            "present": (),
            "complete": (),
            "found": (),
            "complete_by_type": (),
            "stand_ins": (),
            "cuts": {},
            "keys": (),
            "zoned": (),
            "by_cuts": {},
            "source": None,
            "values_per_unit": 1,
        }
        spared: dict[str, Any] = {**dict.fromkeys(_SPARED, ""), **empty}
        spared |= {"person_columns": {}, "person_where": None}
        names = [each.name for each in dataclass_fields(cls)]
        given = spared | {name: fields[name] for name in names if name in fields or name not in spared}
        return cls(
            **given
            | {
                "features": tuple((str(kind), str(column)) for kind, column in given["features"]),
                "by": tuple(given["by"]),
                "present": tuple(map(str, given["present"])),
                "complete": tuple(map(str, given["complete"])),
                "zoned": tuple(map(str, given["zoned"])),
                "found": tuple(map(str, given["found"])),
                "complete_by_type": tuple(map(str, given["complete_by_type"])),
                "groups_per_unit": int(given["groups_per_unit"]),
                "columns": tuple((str(name), str(text)) for name, text in given["columns"].items()),
                "values_per_unit": int(given["values_per_unit"]),
                "stand_ins": tuple((str(column), float(value)) for column, value in given["stand_ins"]),
                "is_text": bool(given["is_text"]),
                "ids": str(given["ids"]) if given["ids"] in COMPARED else "",
                "query": str(given["query"]) if given["query"] in PROMISED else "",
                "form": str(given["form"]),
                "keys": tuple(tuple(label) for label in given["keys"]),
                "person_columns": tuple((str(name), str(text)) for name, text in given["person_columns"].items()),
                "cuts": tuple((str(column), Cut.from_dict(cut)) for column, cut in given["cuts"].items()),
                "by_cuts": tuple((str(column), Cut.from_dict(cut)) for column, cut in given["by_cuts"].items()),
            }
        )


# The cells by which people are compared with the limits of a question, and what these are called.
#
# A value or total between its bounds is in one of five parts: the lowest tenth of the bounds, up to 45 %, the tenth
# in the middle, up to 90 %, the highest tenth. A bound that is too small shows in the people beyond it; one ten times
# too large shows in that (nearly) everybody is in one tenth. Under add-remove more cells cost no more noise.

PARTS = (Fraction(1, 10), Fraction(45, 100), Fraction(55, 100), Fraction(9, 10))
"""The edges inside the bounds, as shares of their width."""

BELOW, ABOVE = 0, len(PARTS) + 2
MIXED, BOTH = ABOVE + 1, ABOVE + 2
"""Places of the other cells; the last two are for people with several rows or groups."""


def few_rows(limit: int) -> int:
    """The most rows that are few: a tenth of the limit."""
    return max(1, limit // 10)


def most_in_cells(kind: str, limit: int) -> tuple[int, ...]:
    """The most rows or groups in each cell but the last: few, and as many as the limit."""
    return tuple(sorted({few_rows(limit) if kind == CHECKED_ROWS else 1, limit}))


def part_edges(low: float, high: float) -> list[float]:
    """The edges of the parts that bounds are cut into."""
    return [low, *(low + float(part) * (high - low) for part in PARTS), high]


def cell_names(kind: str, column: str, ends: tuple[float, float] | None, limit: int, several: bool) -> list[str]:
    """What the cells are called; `several`: a person has several rows, or counts in several groups.

    >>> from gaussmith.domains.features import CHECKED_ROWS, CHECKED_VALUE
    >>> cell_names(CHECKED_VALUE, "age", (0, 120), 0, False)[:3]
    ['age below 0', 'age 0 to 12', 'age 12 to 54']
    >>> cell_names(CHECKED_ROWS, "", None, 20, False)
    ['at most 2 rows', '3 to 20 rows', 'more than 20 rows']
    """
    if ends is None:
        noun = "row" if kind == CHECKED_ROWS else "group"
        few, most = most_in_cells(kind, limit)[0], counted(limit, noun)
        within = [f"{few + 1:,} to {most}" if few + 1 < limit else most] if few < limit else []
        return [f"at most {counted(few, noun)}" if few > 1 else f"1 {noun}", *within, f"more than {most}"]
    what = f"total of {column}" if kind == CHECKED_TOTAL else column
    edges = [f"{edge:.12g}" for edge in part_edges(*ends)]
    below, above = f"below {edges[0]}", f"above {edges[-1]}"
    inside = [f"{what} {low} to {high}" for low, high in pairwise(edges)]
    mixed = [f"{what} in several ranges", f"{what} {below} and {above}"] if several else []
    return [f"{what} {below}", *inside, f"{what} {above}", *mixed]


def number_of_cells(kind: str, limit: int, several: bool) -> int:
    """How many cells a person may be in."""
    if kind in (CHECKED_ROWS, CHECKED_GROUPS):
        return len(most_in_cells(kind, limit)) + 1
    return 1 + (BOTH if several else ABOVE)


def _stand_in_names(column: str) -> tuple[str, str, str]:
    """What a stand-in may be of: a column, or its sum and its mean where they have different ones."""
    return column, f"the sum of {column}", f"the mean of {column}"
