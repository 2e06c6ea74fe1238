"""Write the JSON Schemas of this folder from the fields of the code: `./run python docs/schemas/record.py`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gaussmith.planning.answer_notes import CHOICES, DATES, LISTS, MEANINGS
from gaussmith.releases.record_schemas import certificate_schema, plan_schema, release_schema
from gaussmith.requests.fields import TEXT, Fields, QuestionFields, RequestFields, Schema, either, entries_of, table

DIALECT = "http://json-schema.org/draft-07/schema#"
"""What editors read."""


def request_schema() -> Schema:
    """The schema of a TOML request; every field of the code is in it, and no other."""
    properties = _properties(RequestFields)
    properties["neighbors"] = {**properties["neighbours"], "description": "the same as neighbours"}
    properties["question"] = {**properties.pop("questions"), "items": table(_properties(QuestionFields))}
    properties["about"]["properties"] = {name: _about(name, meaning) for name, meaning in MEANINGS.items()}
    return {
        "$schema": DIALECT,
        "title": "A request of Gaussmith",
        "description": "Which statistics to release of which table, under which guarantee.",
        **table(properties, ["source", "guarantee"]),
    }


def _properties(owner: type[Fields]) -> dict[str, Schema]:
    return {name: {"description": each.help, **each.schema} for name, each in entries_of(owner).items()}


def _about(name: str, meaning: str) -> Schema:
    form: Schema = {**TEXT, "maxLength": 4000}
    if name in LISTS:
        form = either(TEXT, {"type": "array", "items": TEXT})
    elif name in DATES:
        form = {"type": "string", "format": "date"}
    elif name in CHOICES:
        form = {"enum": [each for known in CHOICES[name] for each in (known, known.capitalize())]}
    return {"description": meaning, **form}


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "request": request_schema,
    "release": release_schema,
    "plan": plan_schema,
    "certificate": certificate_schema,
}

PACKAGED = Path(__file__).parents[2] / "src" / "gaussmith" / "data" / "request.schema.json"
"""The copy that is installed: what `gaussmith suggest` writes names it, so that editors need no network."""


def text_of(name: str) -> str:
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in SCHEMAS:
        (Path(__file__).parent / f"{name}.schema.json").write_text(text_of(name), encoding="utf-8")
    PACKAGED.write_text(text_of("request"), encoding="utf-8")
