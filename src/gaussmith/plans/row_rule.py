"""The rule by which the rows of a table become the records of a plan: which rows, whose they are, what each adds.

A rule is public. It names columns and holds nothing of the data; every release carries the one it used.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import asdict, replace
from dataclasses import fields as dataclass_fields
from functools import cached_property
from typing import Any

from gaussmith.expressions.cuts import Cut
from gaussmith.plans.row_notes import COMPARED, PROMISED, notes_of, truth_of
from gaussmith.problem.features import (
    CHECKED,
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
from gaussmith.values import dataclass

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
            (f"the {'sum' if kind == TOTAL else 'mean'} of {column}" if len(values[column]) > 1 else column, value)
            for kind, column, value in read
        ]
        return replace(self, source=source, is_text=True, stand_ins=tuple(dict.fromkeys((*self.stand_ins, *told))))

    def identified(self, ids: str, query: str) -> RowRule:
        """The same of a source whose ids are compared so, and whose rows come from such a query."""
        return replace(self, ids=ids if self.unit is not None else "", query=query)

    def about(self, columns: Container[str]) -> RowRule:
        """The same as far as some columns go."""
        kept = [
            (of, v) for of, v in self.stand_ins if re.sub("^the (sum|mean) of ", "", of) in columns or of in columns
        ]
        return replace(self, stand_ins=tuple(kept))

    def notes(self) -> list[str]:
        """The rules in plain words, one a line."""
        return notes_of(self)

    def missing_rule(self, kind: str, column: str) -> str:
        """What a missing value of a column does to an answer made of such a coordinate; in a few words."""
        told = {re.sub("^the (sum|mean) of ", "", of): value for of, value in self.stand_ins}
        if kind == VECTOR:
            return "a row with a missing value counts as the centre that was found"
        if column in dict(self.columns) and (truth := truth_of(self, column)) is not None:
            return truth.told
        if column in self.present:
            return "missing values left out"
        if column in told:
            return f"missing counts as {told[column]:,.12g}"
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
