"""What is written in the form, as text: kept as typed, so that a page can show it again beside what is wrong."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from gaussmith.errors import RequestError
from gaussmith.requests.fields import ENTRIES

MAX_LINES = 200
"""Limit on the lines of one kind in a form: a request with more is written as a file."""

KINDS = {
    **{name: each.line for name, each in ENTRIES.items() if each.line},
    "regression_of": "predicted by regression",
    "regression_on": "predictor in regression",
}
"""What a line can ask for, and what the form calls it: fields of a request, and the two sides of a regression."""

BOUNDED = ("sums", "means", "medians", "quantiles", "variances", "covariance", "regression_of", "regression_on")
"""Those that need bounds."""

IN_BOUNDS = ("quantiles", "regression_of", "regression_on")
"""Those whose bounds stand in the field `bounds` of a request."""

COUNTED = ("histograms", "proportions", "marginals")
"""Those that count values."""


@dataclass(frozen=True)
class Ask:
    """One line of "What": a statistic of a column.

    how:      "known" or "private" bounds
    cells:    "listed" values, "bins" with edges, or values "found" in the data
    listed:   levels of quantiles, values or edges of cells
    missing:  "skip", "complete", or "replace" by `stand_in`
    tables:   of a cross table: in which ones the column is; empty for the only one
    question: the key of the question that it belongs to; empty for all
    """

    kind: str = "sums"
    column: str = ""
    low: str = ""
    high: str = ""
    how: str = "known"
    cells: str = "listed"
    listed: str = ""
    missing: str = "skip"
    stand_in: str = ""
    reason: str = ""
    tables: str = ""
    question: str = ""


@dataclass(frozen=True)
class By:
    """One column of groups: keys that are listed, cells of numbers, or keys found in the data."""

    column: str = ""
    how: str = "listed"
    keys: str = ""
    question: str = ""


@dataclass(frozen=True)
class Derived:
    """One derived column."""

    name: str = ""
    formula: str = ""


@dataclass(frozen=True)
class DraftPart:
    """One of several questions. Lines name it by its key, which stays when it is renamed."""

    key: str = ""
    name: str = ""
    where: str = ""
    count: str = ""


@dataclass(frozen=True)
class Draft:
    """All that the form holds. `commented` are the reasons for bounds that the opened request file had as comments."""

    source: str = ""
    ids: str = ""
    promises: str = ""
    unit: str = ""
    rows_per_unit: str = ""
    groups_per_unit: str = ""
    values_per_unit: str = ""
    mean_of: str = "rows"
    count: str = "people"
    asks: tuple[Ask, ...] = ()
    by: tuple[By, ...] = ()
    where: str = ""
    derived: tuple[Derived, ...] = ()
    questions: tuple[DraftPart, ...] = ()
    weights: str = "relative"
    more: str = ""
    protection: str = "epsilon"
    epsilon: str = "1"
    delta: str = "1e-6"
    mu: str = ""
    rho: str = ""
    guess: str = ""
    target: str = ""
    target_error: str = ""
    neighbours: str = "add-remove"
    rows: str = ""
    commented: str = ""
    first: str = ""
    second: str = ""

    @property
    def is_over_rows(self) -> bool:
        """Whether answers are divided by a number of rows, of which a person can have several."""
        divided = any(ask.kind not in ("sums", "medians", "quantiles", *COUNTED) for ask in self.asks if ask.column)
        return bool(self.unit) and self.mean_of == "rows" and divided


LINES: dict[str, type[Any]] = {"asks": Ask, "by": By, "derived": Derived, "questions": DraftPart}
"""The fields of a draft that are lists of lines."""

_NAME = re.compile(rf"({'|'.join(LINES)})-(\d{{1,4}})-([a-z_]+)")


def read_form(pairs: Sequence[tuple[str, str]]) -> Draft:
    """The draft that a form holds; fields that it does not know are dropped.

    >>> read_form([("unit", "person"), ("asks-0-kind", "means"), ("asks-0-column", "age")]).asks[0].kind
    'means'
    """
    plain = {each.name for each in fields(Draft)} - set(LINES)
    said: dict[str, Any] = {}
    lines: dict[str, dict[int, dict[str, str]]] = {name: {} for name in LINES}
    for name, value in pairs:
        value = value.replace("\r\n", "\n").strip()
        if name in plain:
            said[name] = value
        elif (match := _NAME.fullmatch(name)) and match[3] in {each.name for each in fields(LINES[match[1]])}:
            lines[match[1]].setdefault(int(match[2]), {})[match[3]] = value
    for name, found in lines.items():
        said[name] = tuple(LINES[name](**found[i]) for i in sorted(found)[:MAX_LINES])
    if not pairs:
        return Draft()
    return Draft(**({"count": ""} | said))


def write_form(draft: Draft) -> list[tuple[str, str]]:
    """The pairs of a form that holds this draft: `read_form` reads them back.

    >>> draft = Draft(unit="person", asks=(Ask("means", "age", "0", "100"),))
    >>> read_form(write_form(draft)) == draft
    True
    """
    pairs: list[tuple[str, str]] = []
    for each in fields(draft):
        value = getattr(draft, each.name)
        if each.name not in LINES:
            pairs.append((each.name, value))
            continue
        for i, line in enumerate(value):
            pairs += [(f"{each.name}-{i}-{part.name}", getattr(line, part.name)) for part in fields(line)]
    return pairs


def write_reasons(asks: Sequence[Ask]) -> str:
    """The reasons for bounds as one text, for `[about]` of a request.

    >>> write_reasons([Ask("means", "age", reason="the law"), Ask("sums", "days", reason="a year"), Ask("sums", "b")])
    'age: the law; days: a year'
    """
    given = dict.fromkeys(f"{ask.column}: {ask.reason}" for ask in asks if ask.reason and ask.kind in BOUNDED)
    return "".join(sign if sign.isprintable() else " " for sign in "; ".join(given)).strip()


WRITTEN = {
    "asks": ("column", "low", "high", "listed"),
    "by": ("column", "keys"),
    "derived": ("name", "formula"),
}
"""The fields of a line without which it says nothing."""


def written(draft: Draft, kind: str) -> list[tuple[int, Any]]:
    """The lines of a kind in which something is written, with their places in the form."""
    return [(i, line) for i, line in enumerate(getattr(draft, kind)) if any(getattr(line, w) for w in WRITTEN[kind])]


def add_line(draft: Draft, kind: str) -> Draft:
    """The same with one more empty line of a kind; a question gets a key of its own.

    >>> add_line(Draft(), "questions").questions
    (DraftPart(key='q1', name='', where='', count=''),)
    """
    lines = getattr(draft, kind)
    known = {part.key for part in draft.questions} | {line.question for line in draft.asks}
    known |= {line.question for line in draft.by}
    fresh = next(key for i in range(1, 3 * MAX_LINES + 2) if (key := f"q{i}") not in known)
    return replace_lines(
        draft, {kind: (*lines, DraftPart(fresh) if kind == "questions" else LINES[kind]())[:MAX_LINES]}
    )


def drop_line(draft: Draft, kind: str, number: int) -> Draft:
    """The same without one line."""
    return replace_lines(draft, {kind: tuple(line for i, line in enumerate(getattr(draft, kind)) if i != number)})


def replace_lines(draft: Draft, lines: Mapping[str, tuple[Any, ...]]) -> Draft:
    """The same draft with other lines."""
    return Draft(**({each.name: getattr(draft, each.name) for each in fields(draft)} | dict(lines)))


# Lists in one field of a form: words, numbers and true or false, separated by commas or lines.

_ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,\n"]*))\s*(,|\n|$)')
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_list(field: str, text: str) -> list[Any]:
    r"""The items of a list; a word in quotes is a text whatever it looks like.

    >>> read_list("values", 'north, south\n3, 1.5, true, "3", "a, b"')
    ['north', 'south', 3, 1.5, True, '3', 'a, b']
    """
    items: list[Any] = []
    at = 0
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None:
            rule = "items are separated by commas, and quotes come in pairs"
            remedy = 'write north, south, or "a, b" for a text with a comma'
            raise RequestError(f"the list {text[at:][:40]!r}", rule, remedy, code="list-field-malformed", field=field)
        quoted, bare = match[1], (match[2] or "").strip()
        if quoted is not None:
            items.append(re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], quoted))
        elif ";" in bare:
            rule = "items are separated by commas, not by semicolons"
            remedy = 'write north, south, or "a; b" for a text with a semicolon'
            raise RequestError(f"the list {bare[:40]!r}", rule, remedy, code="list-field-semicolon", field=field)
        elif bare:
            items.append(read_item(bare))
        at = match.end()
    return items


def read_item(word: str) -> Any:
    """A word as what it looks like: true or false, a whole number, a number, or text.

    >>> read_item("7"), read_item("1e3"), read_item("false"), read_item("north")
    (7, 1000.0, False, 'north')
    """
    if word in ("true", "false"):
        return word == "true"
    if _WHOLE.fullmatch(word):
        return int(word)
    return float(word) if _NUMBER.fullmatch(word) else word


def write_list(items: Sequence[Any]) -> str:
    """The text that `read_list` reads as these items.

    >>> write_list(["north", 3, "3", True, "a, b"])
    'north, 3, "3", true, "a, b"'
    """
    return ", ".join(map(_item, items))


def _item(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return repr(item)
    text = item.isoformat()[:10] if isinstance(item, datetime.date) else str(item)
    plain = text and text == text.strip() and not re.search(r'[",;\n\\]', text)
    if plain and read_item(text) == text:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


# One field of the form: a number, or a refusal that stands beside it.


def read_whole(field: str, text: str) -> int:
    number = read_number(field, text)
    if not abs(number) < 1e18 or number != int(number):
        raise refused_field(field, text, "it must be a whole number", "write 1, or more")
    return int(number)


def read_number(field: str, text: str) -> float:
    number = read_item(text.replace("−", "-").replace("_", ""))
    if isinstance(number, bool | str):
        name = field.rpartition("-")[2]
        raise refused_field(field, text, "it must be a number", f"write {_EXAMPLES.get(name, '1')}")
    return float(number) if isinstance(number, float) else int(number)


_EXAMPLES = {
    "delta": "1e-6",
    "low": "0",
    "high": "100",
    "rows": "10000",
    "mu": "0.5",
    "rho": "0.1",
    "guess": "0.55",
    "target_error": "5",
}


_WORDS = {
    "target_error": "the error", "target": "the answer", "stand_in": "the stand-in", "rows": "the guess",
    "low": "smallest", "high": "largest", "listed": "the list", "keys": "the list of groups", "cells": "count by",
    "rows_per_unit": "rows per person", "groups_per_unit": "groups per person", "values_per_unit": "values per person",
    "source": "data", "epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ", "guess": "the guess", "kind": "statistic",
}  # fmt: skip
"""Fields as the form calls them."""


def refused_field(field: str, text: str, rule: str, remedy: str) -> RequestError:
    name = field.rpartition("-")[2]
    what = f"{_WORDS.get(name, name)} = {text!r}"[:80] if text else f"{_WORDS.get(name, name)} is empty"
    if name == "more" and not text:
        what = "the text of the request"
    return RequestError(what, rule, remedy, code="form-field-refused", field=field)
