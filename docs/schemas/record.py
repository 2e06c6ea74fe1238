"""Write the JSON Schemas of this folder from the fields of the code: `./run python docs/schemas/record.py`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gaussmith.planning.answer_notes import CHOICES, DATES, LISTS, MEANINGS
from gaussmith.planning.certificate import FORMAT as CERTIFICATE_FORMAT
from gaussmith.planning.plan import FIELDS, OPTIONAL
from gaussmith.planning.plan import FORMAT as PLAN_FORMAT
from gaussmith.privacy.neighbours import NEIGHBOURS
from gaussmith.releases.saved import FORMAT
from gaussmith.releases.table import EXACT, NOISY, UNKNOWN
from gaussmith.requests.fields import (
    NUMBER,
    TEXT,
    Fields,
    QuestionFields,
    RequestFields,
    Schema,
    either,
    entries_of,
    table,
)

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


# The records: release, plan and certificate. Their schemas hold what other programs may rely on: what is inside a query
# or a proof is for this program alone, and may grow.

HASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
SOME_TEXT: Schema = {"type": ["string", "null"]}
SOME_NUMBER: Schema = {"type": ["number", "null"]}
TABLE: Schema = {"type": "object"}
TABLES: Schema = {"type": "array", "items": {"type": "object"}}
STATED: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": dict.fromkeys(("epsilon", "delta", "mu", "rho", "guess"), NUMBER),
}
NOT_KNOWN = "a number, or null where it is not known or has no end"


def plan_schema() -> Schema:
    """The schema of a saved plan."""
    forms: Schema = {
        "format": {"const": PLAN_FORMAT},
        "kind": {"const": "plan"},
        "guarantee": {**STATED, "description": "the guarantee as it was stated"},
        "neighbours": {"enum": list(NEIGHBOURS)},
        "queries": {**TABLES, "description": "each query, with the strategy of its noise"},
        "ties": {**TABLES, "description": "queries that share one noise"},
        "questions": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "required": ["name", "pieces"], "properties": {"name": TEXT}},
        },
        "stages": {**TABLE, "description": "what is learned before the answers"},
        "about": {**TABLE, "description": "what the curator says; see [about] of a request"},
        "keys_before": {"type": "array", "description": "what finding keys in a stage before cost: pairs of μ and κ"},
    }
    assert set(forms) == FIELDS | OPTIONAL, "the fields of a saved plan"
    return _record(
        "plan", "A plan: how much noise, of which shape, for which answers. Made without data.", forms, FIELDS
    )


def release_schema() -> Schema:
    """The schema of a record of a release."""
    answer: Schema = {
        "type": "object",
        "required": ["answer", "value", "standard_error", "lower", "upper", "status", "note"],
        "properties": {
            "question": SOME_TEXT,
            "answer": TEXT,
            **{
                name: {**SOME_NUMBER, "description": NOT_KNOWN}
                for name in ("value", "standard_error", "lower", "upper")
            },
            "status": {"enum": [NOISY, EXACT, UNKNOWN]},
            "note": TEXT,
        },
    }
    required: Schema = {
        "format": {"const": FORMAT},
        "kind": {"const": "release"},
        "gaussmith": {**TEXT, "description": "the version that made it"},
        "plan_hash": HASH,
        "protects": {**TEXT, "description": "what is protected, in plain words"},
        "guarantee": {
            "type": "object",
            "properties": dict.fromkeys(("epsilon", "delta", "mu", "rho", "mu_of_noise", "keys_delta"), SOME_NUMBER),
        },
        "shares": {"type": "object", "additionalProperties": NUMBER},
        "answers": {
            "description": "the table: rows, or columns where there are many",
            "anyOf": [
                {"type": "array", "items": answer},
                {"type": "object", "additionalProperties": {"type": "array"}},
            ],
        },
        "confidence": NUMBER,
        "intervals_cover": TEXT,
        "queries": {
            "type": "array",
            "items": {"type": "object", "required": ["features", "records", "row_rule"]},
            "description": "the noisy numbers of each query",
        },
        "view": TABLE,
        "id": SOME_TEXT,
        "receipt": SOME_TEXT,
        "plan": {"$ref": "#/definitions/plan"},
    }
    optional: Schema = {
        "versions": {"type": "object", "additionalProperties": TEXT},
        "ledger": {**TABLE, "description": "what all releases of its ledger, up to this one, took together"},
        "made_up": {"const": True},
        "learned": {"type": "array", "items": TEXT},
        "stages": TABLE,
    }
    text = "A release: noisy answers with their errors, the guarantee, and the plan they were made by."
    plan = {key: value for key, value in plan_schema().items() if key != "$schema"}
    return {**_record("release", text, {**required, **optional}, set(required)), "definitions": {"plan": plan}}


def certificate_schema() -> Schema:
    """The schema of a certificate."""
    proof: Schema = {
        "type": "object",
        "required": ["neighbours", "protects", "mu", "objective", "law", "lower_bound", "price", "evidence"],
        "properties": {
            "neighbours": {"enum": list(NEIGHBOURS)},
            "protects": TEXT,
            "mu": NUMBER,
            "objective": TEXT,
            "law": TABLE,
            "lower_bound": NUMBER,
            "price": NUMBER,
            "evidence": TABLE,
        },
    }
    forms: Schema = {
        "format": {"const": CERTIFICATE_FORMAT},
        "kind": {"const": "certificate"},
        "plan_hash": HASH,
        "proofs": {"type": "array", "minItems": 1, "items": proof},
        "together": TABLE,
        "assumed": TEXT,
    }
    text = "A certificate: how close to the least possible noise a plan is, with what proves it (docs/certificate.md)."
    return _record("certificate", text, forms, {"format", "kind", "plan_hash", "proofs"})


def _record(name: str, told: str, forms: Schema, required: set[str]) -> Schema:
    return {
        "$schema": DIALECT,
        "title": f"A {name} of Gaussmith",
        "description": told,
        "type": "object",
        "additionalProperties": False,
        "required": sorted(required),
        "properties": forms,
    }


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
