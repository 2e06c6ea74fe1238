"""A request as a draft: what a request file says, in the fields of the form; what has no field stays TOML below it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gaussmith.checks import is_list
from gaussmith.engines.addresses import read_source
from gaussmith.notations import write_toml
from gaussmith.requests.readers import named_in, without
from gaussmith.workbench.drafts import (
    BOUNDED,
    COUNTED,
    KINDS,
    Ask,
    By,
    Derived,
    Draft,
    DraftPart,
    read_list,
    write_list,
    write_reasons,
)
from gaussmith.workbench.reading import way_of

# The lines of the form that ask what a request file asks; what has no line stays where it is.


def fill_groups(rest: dict[str, Any]) -> tuple[By, ...]:
    by = rest.get("by")
    if not isinstance(by, Mapping):
        return ()
    found = [(str(column), _counted(keys)) for column, keys in by.items()]
    if any(how is None for _, how in found):
        return ()
    del rest["by"]
    return tuple(By(column, *how) for column, how in found if how is not None)


def fill_asks(rest: dict[str, Any], reasons: Mapping[str, str]) -> tuple[Ask, ...]:
    """The lines of what is asked; a field is taken whole out of `rest`, or left there."""
    shared = dict(rest["bounds"]) if isinstance(rest.get("bounds"), Mapping) else {}
    lines: list[Ask] = []
    for kind in KINDS:
        found = _lines_of(kind, rest, shared, reasons)
        if found is not None:
            del rest[kind]
            lines += found
    if "question" not in rest:
        lines += [*_regression(rest, shared, reasons), *_tables(rest)]
    if shared and not any(kind in rest for kind in (*KINDS, "regression", "question")):
        taken = {line.column for line in lines if line.kind not in ("sums", *COUNTED)}
        taken -= {line.column for line in lines if line.kind in BOUNDED and not line.low and line.how == "known"}
        _leave(rest, "bounds", without(shared, taken))
    return tuple(_with_missing(rest, lines))


def _lines_of(kind: str, rest: Mapping[str, Any], shared: Mapping[str, Any], reasons: Any) -> list[Ask] | None:
    """The lines of one field; None where the form has no place for all of it."""
    own = rest.get(kind)
    if is_list(own) and kind != "quantiles" and kind not in COUNTED:
        own = dict.fromkeys(map(str, own))
    if not isinstance(own, Mapping):
        return None
    made = [_line(kind, str(column), given, shared, reasons, rest) for column, given in own.items()]
    found = [line for line in made if line is not None]
    bare = {line.low == "" and line.how == "known" for line in found}
    return found if len(found) == len(own) and (len(bare) < 2 or kind not in BOUNDED) else None


def _leave(rest: dict[str, Any], field: str, kept: Mapping[str, Any]) -> None:
    """Leave this much of a field."""
    rest.pop(field, None)
    if kept:
        rest[field] = dict(kept)


def _regression(rest: dict[str, Any], shared: Mapping[str, Any], reasons: Mapping[str, str]) -> list[Ask]:
    """The lines of a regression; none where the bounds of its columns stand elsewhere."""
    asked = rest.get("regression")
    names = named_in(asked) if isinstance(asked, Mapping) and {*asked} == {"of", "on"} else []
    sides = zip(["regression_of", *["regression_on"] * len(names)], names, strict=False)
    made = [_line(kind, name, shared[name], shared, reasons, rest) for kind, name in sides if name in shared]
    found = [line for line in made if line is not None]
    if not found or len(found) < len(names):
        return []
    del rest["regression"]
    return found


def _tables(rest: dict[str, Any]) -> list[Ask]:
    """The lines of cross tables; none where their columns have no cells, or another order in each."""
    tables = rest.get("marginals")
    if not is_list(tables) or not all(is_list(table) and table for table in tables):
        return []
    order = list(dict.fromkeys(column for table in tables for column in table))
    if any([column for column in order if column in table] != list(table) for table in tables):
        return []
    found = []
    for column in order:
        own = _declared(column, rest.get("values", {}), rest.get("bins", {}))
        if own is None:
            return []
        found.append(Ask("marginals", column, cells=own[0], listed=own[1], tables=_labels(column, tables)))
    del rest["marginals"]
    if not any(rest.get(name) for name in ("histograms", "proportions", "by")):
        for name in ("values", "bins"):
            _leave(rest, name, without(rest.get(name, {}), order))
    return found


def _declared(column: str, values: Any, bins: Any) -> tuple[str, str] | None:
    """The values or the cells of a column of a cross table; None where it has none, or both."""
    if not (isinstance(values, Mapping) and isinstance(bins, Mapping)) or (column in values) == (column in bins):
        return None
    if column in values:
        return _counted(values[column])
    return _counted(bins[column] if isinstance(bins[column], Mapping) else {"bins": bins[column]})


def _labels(column: str, tables: Sequence[Any]) -> str:
    """In which tables a column is; empty for the only one."""
    return "" if len(tables) == 1 else ", ".join(str(k) for k, table in enumerate(tables, start=1) if column in table)


def fill_questions(
    rest: dict[str, Any], reasons: Mapping[str, str]
) -> tuple[tuple[DraftPart, ...], tuple[Ask, ...], tuple[By, ...]]:
    """Several questions and their lines, taken out of `rest`; nothing where the form has no place for one of them."""
    questions = rest.get("question")
    parts: list[DraftPart] = []
    asks: list[Ask] = []
    groups: list[By] = []
    for i, question in enumerate(questions if is_list(questions) else (), start=1):
        key, own = f"q{i}", dict(question) if isinstance(question, Mapping) else {"": question}
        count = own.pop("count", None)
        words = {"None": "", "rows": "rows", "False": "none"}.get(str(count), "people")
        parts.append(DraftPart(key, str(own.pop("name", "")), str(own.pop("where", "")), words))
        groups += [replace(line, question=key) for line in fill_groups(own)]
        asks += [replace(line, question=key) for line in fill_asks(own, reasons)]
        if own or not parts[-1].name:
            return (), (), ()
    rest.pop("question", None)
    return tuple(parts), tuple(asks), tuple(groups)


def _line(
    kind: str,
    column: str,
    given: Any,
    shared: Mapping[str, Any],
    reasons: Mapping[str, str],
    rest: Mapping[str, Any],
) -> Ask | None:
    """One line; None where the form has no place for it."""
    reason = reasons.get(column, "")
    if kind in COUNTED:
        counted = _counted(given)
        return None if counted is None else Ask(kind, column, cells=counted[0], listed=counted[1])
    listed = ""
    if kind == "quantiles":
        levels = [given] if isinstance(given, int | float) else given
        if not is_list(levels):
            return None
        listed, given = write_list(levels), shared.get(column)
    elif kind != "sums" and given is None:  # bounds of one row: a sum over rows of a person has others
        given = shared.get(column)
    if given is None:
        return Ask(kind, column, listed=listed, reason=reason)
    if given == "private":
        return Ask(kind, column, how="private", listed=listed, reason=reason)
    if not _is_pair(given) or "question" in rest:
        return None
    return Ask(kind, column, write_number(given[0]), write_number(given[1]), listed=listed, reason=reason)


def _is_pair(given: Any) -> bool:
    return is_list(given) and len(given) == 2 and all(isinstance(end, int | float) for end in given)


def _with_missing(rest: dict[str, Any], lines: Sequence[Ask]) -> list[Ask]:
    """The lines with what is said of missing values, where each such column has a line."""
    asked = {line.column for line in lines if line.kind in BOUNDED}
    if rest.get("missing") == "skip":
        del rest["missing"]
    complete = _of_lines(rest, "complete", asked) if is_list(rest.get("complete")) else ()
    missing = _of_lines(rest, "missing", asked) if isinstance(rest.get("missing"), Mapping) else {}
    replaced = {column: value for column, value in missing.items() if value != "skip"}

    def told(line: Ask) -> Ask:
        if line.kind in BOUNDED and line.column in complete:
            return replace(line, missing="complete")
        if line.kind in BOUNDED and line.column in replaced:
            return replace(line, missing="replace", stand_in=write_number(replaced[line.column]))
        return line

    return list(map(told, lines))


def _of_lines(rest: dict[str, Any], field: str, columns: set[str]) -> Any:
    """A field, taken out where it speaks of these columns alone; else empty, and left there."""
    return rest.pop(field) if set(map(str, rest[field])) <= columns else {}


def _counted(given: Any) -> tuple[str, str] | None:
    """How values are given, and their text; None where the form has no place for it."""
    if given == "found":
        return "found", ""
    if isinstance(given, Mapping):
        text = write_list(given["bins"]) if set(given) == {"bins"} else write_toml({"guarantee": given})[12:].strip()
        return "bins", text
    if is_list(given) and given:
        text = write_list(given)
        return ("listed", text) if read_list("values", text) == _plain(given) else None
    return None


def _plain(items: Sequence[Any]) -> list[Any]:
    return [item.isoformat()[:10] if hasattr(item, "isoformat") else item for item in items]


def write_number(value: Any) -> str:
    """A number as the form shows it."""
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


_WORDS = {"mean_of": ("rows", "units"), "weights": ("relative", "equal")}
"""Fields that hold one of some words."""

_LIMITS = ("rows_per_unit", "groups_per_unit", "values_per_unit")


def fill(fields: Mapping[str, Any], reasons: Mapping[str, str] | None = None, source: str | None = None) -> Draft:
    """The draft of a request file; `reasons` are comments behind bounds, by column; `source` is its path.

    >>> fill({"source": "a.csv", "guarantee": {"mu": 1.0}, "means": {"age": [0, 100]}, "count": True}).asks[0].high
    '100'
    """
    rest = dict(fields)
    told = read_source(rest.pop("source", ""))
    path = os.fspath(told.data) if source is None else source
    said: dict[str, Any] = {"source": path, "ids": told.ids or "", "unit": rest.pop("unit", "")}
    said["promises"] = " ".join(name for name in told.said if name != "ids")
    said |= _protection(rest.pop("guarantee", {"epsilon": 1, "delta": 1e-6}))
    said["neighbours"] = rest.pop("neighbors", rest.pop("neighbours", "add-remove"))
    said["count"] = {"rows": "rows", "False": ""}.get(str(rest.pop("count", False)), "people")
    said |= {name: str(rest.pop(name)) for name in _LIMITS if isinstance(rest.get(name), int)}
    said |= {name: rest.pop(name) for name, words in _WORDS.items() if rest.get(name) in words}
    if isinstance(rest.get("where"), str):
        said["where"] = rest.pop("where")
    said["derived"] = _derived(rest)
    questions, asks, by = fill_questions(rest, reasons or {})
    said["questions"] = questions
    said["by"] = fill_groups(rest) + by
    said["asks"] = fill_asks(rest, reasons or {}) + asks
    said["commented"] = _reasons_left(rest, said["asks"])
    said["more"] = write_toml(rest) if rest else ""
    return Draft(**said)


def read_reasons(text: str) -> dict[str, str]:
    """The comments behind the keys of a request file.

    >>> read_reasons("[sums]\\nmdvis = [0, 80]      # visits to a doctor in a year")
    {'mdvis': 'visits to a doctor in a year'}
    """
    found = re.findall(r'^\s*(?:"([^"]+)"|([\w-]+))\s*=\s*\[[^#\n]*\]\s*#\s*(.+?)\s*$', text, re.MULTILINE)
    return {quoted or bare: comment for quoted, bare, comment in found}


def _reasons_left(rest: dict[str, Any], asks: Sequence[Ask]) -> str:
    """The reasons of these lines, if the file has them as comments alone; `[about]` is rid of what the lines say."""
    text, about = write_reasons(asks), rest.get("about")
    if not isinstance(about, Mapping) or about.get("rationale_bounds") != text:
        return text
    rest["about"] = {name: value for name, value in about.items() if name != "rationale_bounds"}
    if not rest["about"]:
        del rest["about"]
    return ""


def _protection(guarantee: Any) -> dict[str, str]:
    stated = dict(guarantee) if isinstance(guarantee, Mapping) else guarantee.to_dict()
    way = way_of(stated)
    return {"protection": way, **{name: write_number(value) for name, value in stated.items()}}


def _derived(rest: dict[str, Any]) -> tuple[Derived, ...]:
    texts = rest.get("columns")
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        return ()
    del rest["columns"]
    return tuple(Derived(str(name), text.strip()) for name, text in texts.items())
