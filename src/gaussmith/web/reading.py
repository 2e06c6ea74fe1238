"""A draft as a request: what is written in the form, in the words of a request file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gaussmith.requests.request import KEYS, Request
from gaussmith.requests.toml_text import write_toml
from gaussmith.web.drafts import IN_BOUNDS, Draft, write_reasons
from gaussmith.web.entries import read_number, read_whole, refused_field
from gaussmith.web.lines import check_questions, read_derived, read_lines
from gaussmith.web.lists import read_item

OWN = ("source", "unit", "guarantee", "neighbours", "neighbors")
"""Keys that have a field of their own and may not stand in the text below the form."""

COUNTS = {"people": True, "rows": "rows", "none": False}
"""What can be counted, as a request says it."""

STATED = {"epsilon": ("epsilon", "delta"), "mu": ("mu",), "rho": ("rho",), "target": ("delta",)}
"""Which numbers each way of stating the protection needs."""


def read_fields(draft: Draft, guarantee: Mapping[str, float] | None = None) -> dict[str, Any]:
    """The fields of the request file that says the same; `guarantee` stands for that of the form.

    >>> from gaussmith.web.drafts import Ask, Draft
    >>> read_fields(Draft(source="a.csv", asks=(Ask("means", "age", "0", "100"),)))["means"]
    {'age': [0, 100]}
    """
    fields: dict[str, Any] = {"source": _source(draft)}
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
    if draft.mean_of != "rows":
        fields["mean_of"] = draft.mean_of
    if draft.where:
        fields["where"] = draft.where
    if draft.weights != "relative":
        fields["weights"] = draft.weights
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


def _source(draft: Draft) -> Any:
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
