"""A draft as a request: what is written in the form, in the words of a request file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gaussmith.notations import write_toml
from gaussmith.requests.fields import KEYS
from gaussmith.requests.request import Request
from gaussmith.workbench.drafts import (
    BOUNDED,
    COUNTED,
    IN_BOUNDS,
    KINDS,
    Ask,
    Draft,
    read_item,
    read_list,
    read_number,
    read_whole,
    refused_field,
    write_reasons,
    written,
)

# What the lines of the form ask for, in the words of a request file.

Lines = Sequence[tuple[int, Ask]]
"""Lines with their places in the form."""


def read_derived(draft: Draft) -> dict[str, str]:
    """The derived columns, by name."""
    found: dict[str, str] = {}
    for i, each in written(draft, "derived"):
        if not each.name:
            raise refused_field(f"derived-{i}-name", "", "a derived column needs a name", "write a name, such as bmi")
        found[each.name] = each.formula
    return found


def read_lines(draft: Draft, question: str = "") -> dict[str, Any]:
    """What the lines of a question, and those of every question, ask for, by field of a request.

    >>> read_lines(Draft(asks=(Ask("regression_of", "wage", "0", "90"), Ask("regression_on", "age", "0", "99"))))
    {'bounds': {'wage': [0, 90], 'age': [0, 99]}, 'regression': {'of': 'wage', 'on': ['age']}}
    """
    found: dict[str, Any] = {}
    for i, by in written(draft, "by"):
        if by.question in ("", question):
            groups = found.setdefault("by", {})
            _check_column(f"by-{i}-column", by.column, groups)
            groups[by.column] = _counted(f"by-{i}-keys", by.how, by.keys, "north, south")
    lines = [(i, ask) for i, ask in written(draft, "asks") if ask.question in ("", question)]
    seen: dict[str, list[str]] = {}
    for i, ask in lines:
        if ask.kind not in KINDS:
            raise refused_field(f"asks-{i}-kind", ask.kind, "there is no such statistic", "choose one of the list")
        _check_column(f"asks-{i}-column", ask.column, seen.setdefault(ask.kind, []))
        seen[ask.kind].append(ask.column)
        _add_line(found, i, ask)
    _add_regression(found, lines)
    _add_tables(found, lines)
    _check_bounds(found, draft, lines)
    return found


def check_questions(draft: Draft) -> None:
    """Refuse lines of a question that is not there any more."""
    known = {"", *(part.key for part in draft.questions)}
    for kind in ("asks", "by"):
        for i, line in written(draft, kind):
            if line.question not in known:
                rule = "the question of this line was removed"
                raise refused_field(f"{kind}-{i}-question", "", rule, "choose another question, or remove the line")


def _add_line(found: dict[str, Any], i: int, ask: Ask) -> None:
    """What one line adds, but for what lines say together: regressions and cross tables."""
    if ask.kind in COUNTED:
        cells = _counted(f"asks-{i}-listed", ask.cells, ask.listed, "good, fair, poor")
        if ask.kind == "marginals":
            _add_cells(found, i, ask, cells)
        else:
            found.setdefault(ask.kind, {})[ask.column] = cells
        return
    pair = _bounds(i, ask)
    if ask.kind == "quantiles":
        levels = read_list(f"asks-{i}-listed", ask.listed) or [0.25, 0.5, 0.75]
        found.setdefault("quantiles", {})[ask.column] = levels
    if ask.kind not in IN_BOUNDS:
        found.setdefault(ask.kind, {})[ask.column] = pair
    elif pair is not None and found.setdefault("bounds", {}).setdefault(ask.column, pair) != pair:
        rule = "another line has other bounds of this column"
        raise refused_field(f"asks-{i}-low", ask.low, rule, "write the same bounds in both lines")
    _add_missing(found, i, ask)


def _add_cells(found: dict[str, Any], i: int, ask: Ask, cells: Any) -> None:
    """The values or the edges of a column of a cross table."""
    if cells == "found":
        rule = "the cells of a cross table are chosen without looking at the data"
        raise refused_field(f"asks-{i}-cells", "found in data", rule, "list the values, or the edges of cells")
    if isinstance(cells, dict):
        found.setdefault("bins", {})[ask.column] = cells["bins"] if set(cells) == {"bins"} else cells
    else:
        found.setdefault("values", {})[ask.column] = cells


def _add_regression(found: dict[str, Any], lines: Lines) -> None:
    of, on = ([(i, ask.column) for i, ask in lines if ask.kind == f"regression_{side}"] for side in ("of", "on"))
    if not of and not on:
        return
    if len(of) != 1 or not on:
        rule = "a regression predicts one column from one or more others"
        remedy = "add a line “predictor in regression”" if of and not on else "have one line “predicted by regression”"
        raise refused_field(f"asks-{(of[1:] or on or of)[0][0]}-kind", "regression", rule, remedy)
    found["regression"] = {"of": of[0][1], "on": [column for _, column in on]}


def _add_tables(found: dict[str, Any], lines: Lines) -> None:
    """The cross tables: columns that name the same table are in it; those that name none are in all."""
    named = [(ask.column, [w.strip() for w in ask.tables.split(",") if w.strip()]) for _, ask in lines
             if ask.kind == "marginals"]  # fmt: skip
    if not named:
        return
    labels = sorted({label for _, own in named for label in own} or {""}, key=lambda label: (len(label), label))
    found["marginals"] = [[column for column, own in named if label in own or not own] for label in labels]


def _check_bounds(found: dict[str, Any], draft: Draft, lines: Lines) -> None:
    """Refuse a line without bounds, unless those of all columns of its kind are written below the form."""
    for i, ask in lines:
        if ask.kind not in BOUNDED or ask.low or ask.high or ask.how == "private":
            continue
        pairs = () if ask.kind in IN_BOUNDS else found.get(ask.kind, {}).values()
        if "bounds" not in draft.more or any(pair is not None for pair in pairs):
            rule = "every column needs two numbers, known without looking at the data"
            remedy = "write the smallest and the largest value that can be, such as 0 and 100"
            raise refused_field(f"asks-{i}-low", "", rule, remedy)
    for kind in {*BOUNDED} - {*IN_BOUNDS}:
        if None in found.get(kind, {}).values():
            found[kind] = list(found[kind])


def _bounds(i: int, ask: Ask) -> Any:
    """The bounds of a line; None where both are empty: they may be written below the form."""
    if ask.how == "private":
        return "private"
    if not ask.low and not ask.high:
        return None
    return [read_number(f"asks-{i}-low", ask.low), read_number(f"asks-{i}-high", ask.high)]


def _counted(field: str, how: str, text: str, example: str) -> Any:
    if how == "found":
        return "found"
    if text.startswith("{"):  # cells in words of a request file: { equal = 20, between = [0, 100] }
        try:
            return tomllib.loads(f"cells = {text}")["cells"]
        except tomllib.TOMLDecodeError as error:
            raise refused_field(
                field, text, f"it is not TOML: {error}", "write { equal = 20, between = [0, 100] }"
            ) from None
    items = read_list(field, text)
    if not items:
        rule = "list them, chosen without looking at the data"
        raise refused_field(field, "", rule, f"write {'18, 40, 65' if how == 'bins' else example}")
    return {"bins": items} if how == "bins" else items


def _add_missing(found: dict[str, Any], i: int, ask: Ask) -> None:
    """What a line says about missing values; every line of a column says the same."""
    if ask.missing == "complete" and ask.column not in found.setdefault("complete", []):
        found["complete"].append(ask.column)
    if ask.missing == "replace":
        value = read_number(f"asks-{i}-stand_in", ask.stand_in)
        known = found.setdefault("missing", {}).setdefault(ask.column, value)
        if known != value:
            rule = f"another line replaces missing values of this column by {known:g}"
            raise refused_field(f"asks-{i}-stand_in", ask.stand_in, rule, "write the same number in both")


def _check_column(field: str, column: str, known: Any) -> None:
    if not column:
        raise refused_field(field, "", "name a column", "choose a column, or empty the line")
    if column in known:
        raise refused_field(field, column, "each column is asked once", "leave one of the two lines out")


OWN = ("source", "unit", "guarantee", "neighbours", "neighbors")
"""Keys that have a field of their own and may not stand in the text below the form."""

COUNTS = {"people": True, "rows": "rows", "none": False}
"""What can be counted, as a request says it."""

STATED = {
    "epsilon": ("epsilon", "delta"), "pure": ("epsilon",), "mu": ("mu",), "rho": ("rho",), "guess": ("guess",),
    "target": ("delta",),
}  # fmt: skip
"""Which numbers each way of stating the protection needs."""


def way_of(stated: Mapping[str, Any]) -> str:
    """The way in which a guarantee is stated."""
    return next((way for way, names in STATED.items() if set(names) == set(stated) and way != "target"), "epsilon")


USUAL = {"mean_of": "rows", "where": "", "weights": "relative"}
"""Fields that a request has where the form says something else."""


def read_fields(draft: Draft, guarantee: Mapping[str, float] | None = None) -> dict[str, Any]:
    """The fields of the request file that says the same; `guarantee` stands for that of the form.

    >>> from gaussmith.workbench.drafts import Ask, Draft
    >>> read_fields(Draft(source="a.csv", asks=(Ask("means", "age", "0", "100"),)))["means"]
    {'age': [0, 100]}
    """
    fields: dict[str, Any] = {"source": read_declared(draft)}
    if draft.unit:
        fields["unit"] = draft.unit
    fields["guarantee"] = dict(guarantee or read_guarantee(draft))
    if draft.neighbours != "add-remove":
        fields["neighbours"] = draft.neighbours
    if COUNTS.get(draft.count) and not draft.questions:
        fields["count"] = COUNTS[draft.count]
    for name in ("rows_per_unit", "groups_per_unit", "values_per_unit"):
        if getattr(draft, name):
            fields[name] = read_whole(name, getattr(draft, name))
    plain = {name: getattr(draft, name) for name in USUAL}
    fields |= {name: text for name, text in plain.items() if text != USUAL[name]}
    check_questions(draft)
    if columns := read_derived(draft):
        fields["columns"] = columns
    if draft.questions:
        fields["question"] = [_question(draft, i) for i in range(len(draft.questions))]
    else:
        fields |= read_lines(draft)
    return _with_reasons(_joined(fields, read_more(draft.more)), draft)


def read_guarantee(draft: Draft) -> dict[str, float]:
    """The guarantee of the form; where an error is wanted instead, the one that the search for it starts from."""
    start = {"epsilon": 1.0} if draft.protection == "target" else {}
    stated = {
        name: read_number(name, getattr(draft, name)) for name in STATED.get(draft.protection, ("epsilon", "delta"))
    }
    return start | stated


def read_rows(draft: Draft) -> int | None:
    """The guess of how many rows or people there are; None where none is written."""
    text = draft.rows.replace(",", "").replace("_", "").replace(" ", "")
    if not text:
        return None
    number = read_item(text)
    if isinstance(number, bool | str) or not 1 <= number < 1e18 or number != int(number):
        raise refused_field("rows", text, "it must be a whole number, 1 or more", "give an estimate, such as 10000")
    return int(number)


def read_targets(draft: Draft) -> dict[str, float]:
    """The error that is wanted; nothing where ε, μ or ρ is stated."""
    if draft.protection != "target":
        return {}
    if not draft.target:
        raise refused_field("target", "", "say which answer the error is of", "choose an answer, such as count")
    return {draft.target: read_number("target_error", draft.target_error)}


def read_request(draft: Draft, beside: Path | None = None) -> Request:
    """The request of a draft, with the least guarantee that keeps the wanted error where one is stated."""
    targets, rows = read_targets(draft), read_rows(draft)
    request = Request.from_dict(read_fields(draft), beside=beside)
    if not targets:
        return request
    solved = request.guarantee_for(targets, rows)
    return Request.from_dict(read_fields(draft, solved.to_dict()), beside=beside)


def request_toml(draft: Draft, request: Request) -> str:
    """The request file of a draft, with the reasons for its bounds as comments too; reads back to the same plan."""
    fields = read_fields(draft, request.guarantee.to_dict()) | {"source": _written_source(request.source)}
    reasons: dict[str, dict[str, str]] = {}
    for ask in draft.asks:
        if ask.reason and ask.column:
            table = "bounds" if ask.kind in IN_BOUNDS else ask.kind
            reasons.setdefault(table, {})[ask.column] = ask.reason
    return write_toml(fields, reasons)


def read_more(text: str) -> dict[str, Any]:
    """The rest of a request, written as TOML."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise refused_field("more", "", f"it is not TOML: {error}", "fix that line") from None
    for key in found:
        if key in OWN or key not in KEYS:
            rule = "this has a field of its own above" if key in OWN else "a request has no such key"
            raise refused_field("more", key, rule, "leave it out here")
    return found


def _question(draft: Draft, i: int) -> dict[str, Any]:
    """One of several questions, with the lines of every question."""
    part = draft.questions[i]
    if not part.name:
        raise refused_field(
            f"questions-{i}-name", "", "every question needs a name", "write a short name, such as adults"
        )
    found: dict[str, Any] = {"name": part.name}
    if part.where:
        found["where"] = part.where
    if COUNTS.get(part.count or draft.count):
        found["count"] = COUNTS[part.count or draft.count]
    return found | read_lines(draft, part.key)


def read_declared(draft: Draft) -> Any:
    """The source of a draft with what is declared about it."""
    if not draft.source:
        raise refused_field("source", "", "a request must name its data", "write a path, such as people.parquet")
    said: dict[str, Any] = {"ids": draft.ids} if draft.ids else {}
    said |= dict.fromkeys(draft.promises.split(), True)
    return {"path": draft.source, **said} if said else draft.source


def _written_source(source: Any) -> Any:
    return (
        {key: str(value) if key == "path" else value for key, value in source.items()}
        if isinstance(source, Mapping)
        else str(source)
    )


def _joined(fields: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the form and those below it; both may add columns to one field."""
    for key, value in more.items():
        own = fields.get(key)
        if own is None:
            fields[key] = value
        elif isinstance(own, Mapping) and isinstance(value, Mapping) and _agree(own, value):
            fields[key] = {**own, **value}
        elif isinstance(own, list) and isinstance(value, list):
            fields[key] = [*own, *(each for each in value if each not in own)]
        else:
            raise refused_field("more", key, "the form above says it too", "leave one out")
    return fields


def _with_reasons(fields: dict[str, Any], draft: Draft) -> dict[str, Any]:
    """The fields with the reasons for bounds in `[about]`, where the report shows them.

    Comments of an opened file stay comments until one is changed: the request stays the one that the file makes.
    """
    text, about = write_reasons(draft.asks), fields.get("about", {})
    if not text or text == draft.commented or not isinstance(about, Mapping):
        return fields
    said = str(about.get("rationale_bounds", ""))
    if text in said:
        return fields
    return fields | {"about": {**about, "rationale_bounds": f"{said} {text}".strip()}}


def _agree(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one[key] == other[key] for key in set(one) & set(other))
