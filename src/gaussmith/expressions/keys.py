"""Declared groups: which keys a request names, and how a column's values are matched with them.

Keys are declared, never taken from the data, and every declared group is answered, even an empty one. A value belongs
to a key when they are equal: texts as texts, numbers as doubles, truths as truths, dates by their day. A text column
matches numbers, truths and dates by what it reads as; Python objects are matched by `identity.object_code`, where a
text is never a number. Everything else, missing values included, is outside all groups.
"""

from __future__ import annotations

import bisect
import datetime
import itertools
import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gaussmith.checks import repeated
from gaussmith.errors import RequestError, damaged_plan, nearest_column
from gaussmith.expressions.identity import LONGEST_DATE, date_number, object_code
from gaussmith.expressions.spelling import as_date, as_number
from gaussmith.notations import setting

if TYPE_CHECKING:
    import narwhals as nw


# Cuts: the line divided into cells by declared edges, and the cell that each value of a column is in.
#
# Cell i holds the values from edge i − 1 (included) up to edge i (not included); the first and the last have no end.
# So every number is in one cell, ±inf included. A value that is missing, NaN or no number (no date) is in none.
#
# A value is compared with the edges as a double, never divided or taken the logarithm of: engines round these
# differently near an edge. Dates are compared by the numbers year·10000 + month·100 + day.

NUMBER, DATE = "number", "date"

OBJECT_DATE = "date of objects"
"""As DATE, of a column that holds codes of Python objects; `fitted_cut` says so."""

_ACCEPTED_EDGES = {
    NUMBER: ("number", "long number", "text", "truth"),
    DATE: ("date", "text", "object"),
    OBJECT_DATE: ("object",),
}
"""The kinds of columns that numbers and dates are read from. Of Python objects, dates, times and texts of dates are."""


@dataclass(frozen=True)
class Cut:
    """Cells by their inner edges, in order: one cell more than edges. Of dates, the edges are their numbers.

    `ends` are the lowest and the highest value where values beyond count as these; None: the outer cells are open.

    >>> delays = Cut((-60.0, 0.0, 60.0))
    >>> delays.cells, [delays.place(x) for x in (-61.0, -60.0, 59.9, 60.0)]
    (4, [0, 1, 2, 3])
    """

    edges: tuple[float, ...]
    kind: str = NUMBER
    ends: tuple[float, float] | None = None

    @property
    def cells(self) -> int:
        return len(self.edges) + 1

    @property
    def limits(self) -> tuple[float, ...]:
        """The edges of all cells in order, the outer ones included: infinite where a cell is open."""
        low, high = (-math.inf, math.inf) if self.ends is None else self.ends
        return (low, *self.edges, high)

    def place(self, value: float) -> int:
        """The cell of one number: how many edges are at most as large."""
        return bisect.bisect_right(self.edges, value)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "edges": list(self.edges), "ends": None if self.ends is None else list(self.ends)}

    @classmethod
    def from_dict(cls, fields: Any) -> Cut:
        """The cut that `to_dict` described; refuses edges that are not in order."""
        edges = tuple(float(edge) for edge in fields["edges"])
        ends = None if fields["ends"] is None else (float(fields["ends"][0]), float(fields["ends"][1]))
        made = cls(edges, str(fields["kind"]), ends)
        inner = made.limits if ends is not None else edges
        ordered = all(map(math.isfinite, inner)) and all(a < b for a, b in itertools.pairwise(inner))
        if made.kind not in _ACCEPTED_EDGES or not ordered:
            raise damaged_plan("cells whose edges are not finite and in order")
        return made


def fitted_cut(column: str, cut: Cut, kinds: Mapping[str, str]) -> Cut:
    """The cut as this column is read; refuses one whose type holds no numbers, or no dates. Reads no data."""
    kind = kinds[column]
    if kind not in _ACCEPTED_EDGES[cut.kind]:
        wanted, found = "numbers" if cut.kind == NUMBER else "dates", kind
        remedy = {
            "date": f"write {setting('', {'by': 'month', 'between': ['2024-01', '2024-12']})}",
            "number": f"write {setting('', {'bins': [0, 10, 20]})}",
        }.get(kind.removeprefix("long "), "ask for another column, or convert it in the source")
        what, rule = f"cells of column {column!r}", f"it must hold {wanted}"
        raise RequestError(what, rule, remedy, code="column-does-not-fit-cells", column=column, kind=found)
    return replace(cut, kind=OBJECT_DATE) if cut.kind == DATE and kind == "object" else cut


def cell_of(column: str, cut: Cut, kind: str) -> nw.Expr:
    """The cell of each value of a column as a double (0, 1, …), null where the value is in none."""
    return place_among(value_of(column, cut, kind), cut.edges)


def value_of(column: str, cut: Cut, kind: str) -> nw.Expr:
    """The values of a column as doubles without −0.0, or the numbers of its dates; null where there is none.

    Beside many edges it is selected first, and compared as a column: every comparison would else hold all of it again.
    """
    import narwhals as nw

    kind = "object" if cut.kind == OBJECT_DATE else kind
    x = as_number(column, kind) if cut.kind == NUMBER else as_date(column, kind)
    known = nw.when(~x.is_null() & ~x.is_nan()).then(x)
    return nw.when(known == 0).then(nw.lit(0.0)).otherwise(known)


def place_among(x: nw.Expr, edges: Sequence[float] | Sequence[int]) -> nw.Expr:
    """How many of the edges each number is at least as large as, as a double; null of null. A tree of comparisons."""
    import narwhals as nw

    def tree(first: int, last: int) -> nw.Expr:
        if first == last:
            return nw.lit(float(first))
        middle = (first + last) // 2
        return nw.when(x >= edges[middle]).then(tree(middle + 1, last)).otherwise(tree(first, middle))

    return nw.when(~x.is_null()).then(tree(0, len(edges)))


Key = str | bool | int | float | datetime.date

_KINDS = {str: "text", bool: "truth", int: "number", float: "number", datetime.date: "date", datetime.datetime: "date"}
_ACCEPTED = {
    "text": ("text", "date"),
    "number": ("number", "text"),
    "truth": ("truth", "text"),
    "date": ("date", "text"),
}
"""Kinds of keys, and the kinds of columns they can be matched with."""
SMALL_INTEGERS = {"UInt8", "UInt16", "UInt32", *(f"Int{bits}" for bits in (8, 16, 32, 64))}
"""Types of columns whose values are integers of 64 bits with a sign."""
_NAMES = {
    "number": "numbers",
    "truth": "booleans",
    "date": "dates",
    "time": "times of a day",
    "other": "values of another type",
}


@dataclass(frozen=True)
class Numbers(Sequence[tuple[float]]):
    """The codes (0.0,), (1.0,) … of values that are told by their number alone; none is written down.

    >>> list(Numbers(3)), Numbers(3)[-1]
    ([(0.0,), (1.0,), (2.0,)], (2.0,))
    """

    size: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: Any) -> Any:
        return (float(range(self.size)[i]),)


@dataclass(frozen=True)
class Singles(Sequence[tuple[Any]]):
    """The codes (a,), (b,) … of one column. None is written down: a hundred thousand tuples take 10 ms.

    >>> list(Singles((7.0, 8.0))), Singles((7.0, 8.0))[1:]
    ([(7.0,), (8.0,)], Singles(values=(8.0,)))
    """

    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[tuple[Any]]:
        return zip(self.values, strict=True)

    def __getitem__(self, i: Any) -> Any:
        return Singles(self.values[i]) if isinstance(i, slice) else (self.values[i],)


@dataclass(frozen=True)
class GroupKeys:
    """The declared groups in their order: `keys` as they were written, `codes` as what columns are matched with.

    `kinds` says for each column how its values are compared: as "text", "object" (a text too), "number" or "date". Of a
    column with `cuts` the cell is compared, as a number.
    """

    columns: tuple[str, ...]
    keys: Sequence[tuple[Key, ...]]
    kinds: tuple[str, ...]
    codes: Sequence[tuple[str | float, ...]]
    cuts: tuple[tuple[str, Cut], ...] = ()


def declare_cells(column: str, cut: Cut, labels: Sequence[Any], kinds: Mapping[str, str]) -> GroupKeys:
    """The cells of one column as groups, under these names; refuses a column that holds no such values."""
    if column not in kinds:
        what, rule = f"cells of column {column!r}", "the source has no such column"
        raise RequestError(what, rule, nearest_column(column, kinds), code="no-such-cell-column", column=column)
    cut = fitted_cut(column, cut, kinds)
    codes = tuple((float(i),) for i in range(cut.cells))
    return GroupKeys((column,), tuple((label,) for label in labels), ("number",), codes, ((column, cut),))


def declare_numbers(column: str, size: int) -> GroupKeys:
    """The numbers 0, 1 … below `size` as the declared values of a column of numbers."""
    return GroupKeys((column,), Numbers(size), ("number",), Numbers(size))


def declare_groups(
    columns: Sequence[str], labels: Sequence[tuple[Any, ...]], kinds: Mapping[str, str], integers: Container[str] = ()
) -> GroupKeys:
    """The declared groups over columns of these kinds; refuses keys that do not fit. Reads no data.

    Columns of `integers` hold integers of a fixed size: keys that no double holds are compared by their digits there.
    Requires: one key per column in each label, as `gaussmith.Groups` lists them.

    >>> declare_groups(["year", "sex"], [(2023, "f"), (2024, "m")], {"year": "text", "sex": "text"}).codes
    ((2023.0, 'f'), (2024.0, 'm'))
    """
    columns, labels = tuple(columns), tuple(map(tuple, labels))
    compared, owned = [], []
    for j, name in enumerate(columns):
        _check_there(name, kinds)
        owned.append(own := [key[j] for key in labels])
        whole = name in integers and kinds[name] == "number" and set(map(type, own)) == {int}
        long = whole and max(max(own), -min(own)) >= 2**53
        compared.append("text" if long else _compared_as(name, kinds[name], own))
    coded = list(map(_codes, columns, owned, compared))
    codes = _together(coded)
    if len(set(coded[0] if len(coded) == 1 else codes)) < len(codes):
        twice = repeated(codes)
        key = [key for key, code in zip(labels, codes, strict=True) if code == twice][1]
        what = f"by: key {', '.join(map(repr, key))}"
        raise RequestError(what, "it is declared twice", "name each group once", code="key-twice", key=key)
    return GroupKeys(columns, labels, tuple(compared), codes)


def _check_there(name: str, kinds: Mapping[str, str]) -> None:
    if name not in kinds:
        what, rule = f"by: column {name!r}", "the source has no such column"
        raise RequestError(what, rule, nearest_column(name, kinds), code="no-such-key-column", column=name)


def _together(columns: Sequence[Sequence[Any]]) -> Sequence[tuple[Any, ...]]:
    """The codes of groups from those of their columns."""
    return Singles(tuple(columns[0])) if len(columns) == 1 else tuple(zip(*columns, strict=True))


def columns_of_keys(groups: GroupKeys) -> list[Sequence[Any]]:
    """The codes of each column, of all groups in order."""
    if isinstance(groups.codes, Singles):
        return [groups.codes.values]
    return list(zip(*groups.codes, strict=True)) or [() for _ in groups.columns]


def declare_keys(
    columns: Sequence[str],
    labels: Sequence[tuple[Any, ...]],
    kinds: Mapping[str, str],
    cuts: Sequence[tuple[str, Cut]] = (),
    integers: Container[str] = (),
) -> GroupKeys:
    """The same, where the keys of some columns are names of their cells, in the order of these.

    >>> ages = declare_keys(["age"], [("< 18",), ("≥ 18",)], {"age": "number"}, [("age", Cut((18.0,)))])
    >>> ages.keys, list(ages.codes)
    ((('< 18',), ('≥ 18',)), [(0.0,), (1.0,)])
    """
    if not cuts:
        return declare_groups(columns, labels, kinds, integers)
    known = dict(cuts)
    for name, cut in cuts:
        _check_there(name, kinds)
        known[name] = fitted_cut(name, cut, kinds)
    places = [{key: float(i) for i, key in enumerate(dict.fromkeys(own))} for own in zip(*labels, strict=True)]
    cut_at = [name in known for name in columns]
    numbered = [
        tuple(places[j][key] if cut_at[j] else key for j, key in enumerate(label)) for label in map(tuple, labels)
    ]
    read = {**kinds, **dict.fromkeys(known, "number")}
    found = declare_groups(columns, numbered, read)
    return replace(found, keys=tuple(map(tuple, labels)), cuts=tuple(known.items()))


def _compared_as(name: str, kind: str, values: Sequence[Any]) -> str:
    """How the values of a column are read to be matched with these keys."""
    if kind == "object":  # a text is never a number there, but answers are named alike
        if len({str(value) for value in values}) < len({*values}):
            what, rule = f"by: keys of {name!r}", "two keys are spelled the same"
            raise RequestError(what, rule, "ask for one of them at a time", code="keys-written-alike", column=name)
        return "object"
    kinds = {_KINDS.get(kind, "other") for kind in set(map(type, values))}
    if len(kinds) > 1 or "other" in kinds:
        rule = "the keys of a column must be all text, all numbers, all booleans or all dates"
        raise RequestError(f"by: keys of {name!r}", rule, "fix the list", code="keys-of-several-kinds", column=name)
    wanted = kinds.pop()
    kind = kind.removeprefix("long ")
    if kind not in _ACCEPTED[wanted]:
        key = values[0]
        if kind == "number" and wanted == "text":
            key = next((value for value in values if re.fullmatch("-?[0-9]+", value) is None), key)
        what, code = f"by: column {name!r} holds {_NAMES.get(kind, kind)}", "keys-do-not-fit-column"
        raise RequestError(what, *_misfit(kind, wanted, key), code=code, column=name, kind=kind, key=key)
    return "date" if kind == "date" else {"date": "date", "text": "text"}.get(wanted, "number")


def _misfit(kind: str, wanted: str, key: Any) -> tuple[str, str]:
    """The rule that a key breaks which does not fit a column of this kind, and what to do."""
    if kind == "number" and wanted == "text":
        remedy = "write whole numbers, without quotes; if the column holds fractions, derive a column: floor(…)"
        return f"its keys must be numbers, and {key!r} is text", remedy
    said = {"number": "numbers", "truth": "true and false", "date": "dates such as '2024-05-31'"}
    if kind not in said:
        return "it must hold numbers, text, booleans or dates", "convert it in the source"
    return f"its keys must be {said[kind]}, not {key!r}", "fix the keys"


def _codes(name: str, values: Sequence[Any], kind: str) -> Sequence[str | float]:
    """The codes of a column's keys; those of many plain texts or integers are found together."""
    types = set(map(type, values))
    if kind == "text" and types == {str}:
        return values
    if kind == "number" and types == {int} and -(2**53) < min(values) and max(values) < 2**53:
        return list(map(float, values))
    return [_code(name, value, kind) for value in values]


def _code(name: str, value: Any, kind: str) -> str | float:
    """A key as what the column's values are compared with."""
    if kind == "object":
        code = object_code(value)
        if code is None:
            what, rule = f"by: key {value!r} of {name!r}", "a key must be text or a number"
            raise RequestError(what, rule, "use text and numbers", code="key-names-nothing", key=value, column=name)
        return code
    if kind == "text":
        return str(value)
    if kind == "date":
        return _date_code(name, value)
    if not math.isfinite(value) or abs(value) >= 2**53:
        what, rule = f"by: key {value!r} of {name!r}", "numeric keys must be below 2^53"
        raise RequestError(what, rule, "write longer ones as text", code="key-too-large", key=value, column=name)
    return float(value) + 0.0


def _date_code(name: str, value: Any) -> float:
    text = value if isinstance(value, str) else value.isoformat()[:LONGEST_DATE]
    number = date_number(text)
    if number is None or len(text) > LONGEST_DATE:
        rule = "it is not a date" if number is None else "dates are compared without a time of day"
        what = f"by: key {value!r} of {name!r}"
        raise RequestError(what, rule, "write it as 2024-05-31", code="key-not-a-date", key=value, column=name)
    return number


def with_integers(groups: GroupKeys, schema: Mapping[str, Any]) -> GroupKeys:
    """The same keys, compared as integers where a column holds integers of at most 64 bits: engines match these faster.

    Keys are below 2^53, where an integer and its double are equal to the same keys.

    >>> import narwhals as nw
    >>> years = declare_groups(["year"], [(2023,), (2024,)], {"year": "number"})
    >>> list(with_integers(years, {"year": nw.Int16()}).codes), with_integers(years, {"year": nw.Float64()}) is years
    ([(2023,), (2024,)], True)
    """
    columns, kinds = columns_of_keys(groups), list(groups.kinds)
    for j in range(len(kinds)):
        if holds_integers(groups, j, schema) and groups.codes and all(map(float.is_integer, columns[j])):
            columns[j], kinds[j] = list(map(int, columns[j])), "integer"
    if "integer" not in kinds:
        return groups
    return replace(groups, kinds=tuple(kinds), codes=_together(columns))


def holds_integers(groups: GroupKeys, j: int, schema: Mapping[str, Any]) -> bool:
    """Whether the keys of a column are numbers, and its values integers of at most 64 bits."""
    name = groups.columns[j]
    cut = any(name == other for other, _ in groups.cuts)
    return groups.kinds[j] == "number" and not cut and str(schema[name]) in SMALL_INTEGERS


def match_keys(groups: GroupKeys, kinds: Mapping[str, str]) -> dict[str, nw.Expr]:
    """The columns of the groups as k0, k1 …: texts, or doubles without −0.0; null where a value can match no key."""
    import narwhals as nw

    matched: dict[str, nw.Expr] = {}
    cuts = dict(groups.cuts)
    for j, (name, kind) in enumerate(zip(groups.columns, groups.kinds, strict=True)):
        if name in cuts:
            matched[f"k{j}"] = cell_of(name, cuts[name], kinds[name])
            continue
        if kind in ("text", "object"):
            matched[f"k{j}"] = nw.col(name).cast(nw.String)
            continue
        if kind == "integer":
            matched[f"k{j}"] = nw.col(name).cast(nw.Int64)
            continue
        number = as_date(name, kinds[name]) if kind == "date" else as_number(name, kinds[name])
        known = nw.when(number.is_finite()).then(number)
        matched[f"k{j}"] = nw.when(number == 0).then(nw.lit(0.0)).otherwise(known)
    return matched
