"""The JSON Schema of a request file, made from the fields that a request and a question have.

Editors complete and check a request with it (docs/requests.md). `docs/schemas/record.py` writes the file; a test says
when it is out of date, and this module refuses to make it while a field has no form here.
"""

from __future__ import annotations

import re
from typing import Any

from gaussmith.engines.source_description import IDS
from gaussmith.engines.source_description import KEYS as SOURCE_KEYS
from gaussmith.neighbours import NEIGHBOURS
from gaussmith.plans.about import CHOICES, DATES, LISTS, About
from gaussmith.plans.about import NAMES as ABOUT
from gaussmith.requests.bins import PERIODS
from gaussmith.requests.question import MEANS_OF, Question
from gaussmith.requests.request import KEYS, SHARED
from gaussmith.requests.vector_means import KEYS as VECTOR_KEYS

DIALECT = "http://json-schema.org/draft-07/schema#"
"""What editors read."""

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer", "minimum": 1}
NAMES: Schema = {"type": "array", "items": NAME, "uniqueItems": True}
PAIR: Schema = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
PRIVATE: Schema = {"const": "private"}
FOUND: Schema = {"const": "found"}
VALUES: Schema = {"type": "array", "minItems": 1}
ENDS: Schema = {"type": "array", "minItems": 2, "maxItems": 2}
CELLS: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "bins": {"type": "array", "minItems": 1},
        "equal": WHOLE,
        "log": {"type": "number", "exclusiveMinimum": 1},
        "by": {"enum": list(PERIODS)},
        "between": ENDS,
    },
}


def mapped(*forms: Schema) -> Schema:
    """A table from columns to one of these."""
    return {"type": "object", "additionalProperties": either(*forms)}


def either(*forms: Schema) -> Schema:
    return forms[0] if len(forms) == 1 else {"anyOf": list(forms)}


BOUNDED = either(NAMES, mapped(PAIR, PRIVATE))
COUNTED = either(NAMES, mapped(VALUES, CELLS))

FORMS: dict[str, Schema] = {
    "bounds": either(PRIVATE, mapped(PAIR, PRIVATE)),
    "total_bounds": either(PRIVATE, mapped(PAIR, PRIVATE)),
    "values": mapped(VALUES),
    "bins": mapped(VALUES, CELLS),
    "sums": BOUNDED,
    "means": BOUNDED,
    "variances": BOUNDED,
    "covariance": BOUNDED,
    "medians": BOUNDED,
    "regression": {
        "type": "object",
        "additionalProperties": False,
        "required": ["of", "on"],
        "properties": {"of": NAME, "on": either(NAME, NAMES)},
    },
    "count": {"enum": [True, False, "rows"]},
    "by": either(NAME, NAMES, mapped(VALUES, FOUND, CELLS), {"type": "array", "items": {"type": "object"}}),
    "rows_per_unit": WHOLE,
    "groups_per_unit": WHOLE,
    "values_per_unit": WHOLE,
    "group_weights": either(mapped(NUMBER, mapped(NUMBER)), {"type": "array", "items": NUMBER}),
    "mean_of": {"enum": list(MEANS_OF)},
    "where": TEXT,
    "columns": mapped(TEXT),
    "person_columns": mapped(TEXT),
    "missing": either({"const": "skip"}, mapped(NUMBER, {"const": "skip"})),
    "complete": NAMES,
    "mean_within": either(NUMBER, mapped(PAIR, NUMBER)),
    "weights": either({"enum": ["relative", "equal"]}, {"type": "array", "items": NUMBER}),
    "quantiles": mapped(NUMBER, {"type": "array", "items": NUMBER, "minItems": 1}),
    "histograms": either(NAMES, mapped(VALUES, CELLS, FOUND)),
    "proportions": COUNTED,
    "marginals": {"type": "array", "items": {"type": "array", "items": NAME, "minItems": 1}},
    "keys_at_least": WHOLE,
    "top": WHOLE,
    "name": TEXT,
    "share": {"type": "number", "exclusiveMinimum": 0},
    "error_at_most": {"type": "number", "exclusiveMinimum": 0},
    "source": either(
        NAME,
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["path"],
            "properties": {
                name: {"path": NAME, "ids": {"enum": list(IDS)}}.get(name, {"type": "boolean"}) for name in SOURCE_KEYS
            },
        },
    ),
    "unit": NAME,
    "keys_delta": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    "keys_first": {"type": "boolean"},
    "diagnose": either({"type": "boolean"}, NAMES),
    "budget": mapped(NUMBER),
    "vector_means": either(
        NAMES,
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["columns"],
            "properties": {
                name: {"columns": NAMES, "rows": WHOLE}.get(name, {"type": "boolean"}) for name in VECTOR_KEYS
            },
        },
    ),
    "guarantee": {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"type": "number", "exclusiveMinimum": 0} for name in ("epsilon", "delta", "mu", "rho")},
        "oneOf": [{"required": ["epsilon", "delta"]}, {"required": ["mu"]}, {"required": ["rho"]}],
    },
    "neighbours": {"enum": list(NEIGHBOURS)},
}
"""The form of each field; what a field means is in the docstrings of `Question`, `Request` and `About`."""

OF_REQUEST = {
    "source": "the data: a path relative to this file, an address, or a table with the path and what is known of it",
    "unit": "the column that identifies the person; without it each row is one person",
    "guarantee": "how well people are protected: epsilon and delta, or mu, or rho",
    "neighbours": "add-remove: the number of people is secret; replace-one: it is public",
    "question": "several questions under one guarantee",
    "about": "who publishes this, for which purpose, and why with these numbers",
    "keys_delta": "the part of delta spent on keys found in the data",
    "keys_first": "find keys in a stage of its own, and answer about the keys that were shown",
    "diagnose": "also say how many people are beyond bounds and limits, of all or of some columns",
    "budget": "shares of the stages that learn private bounds or find keys first",
    "vector_means": "means of columns of which nothing is known",
}


def request_schema() -> Schema:
    """The schema of a TOML request; every field of the code is in it, and no other."""
    questions = {name: _field(name) for name in Question.field_names()}
    properties = {name: _field(name) for name in KEYS if name not in ("question", "about")}
    properties["neighbors"] = {**properties["neighbours"], "description": "the same as neighbours"}
    properties["about"] = {
        "description": OF_REQUEST["about"],
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _about(name) for name in ABOUT},
    }
    properties["question"] = {
        "description": OF_REQUEST["question"],
        "type": "array",
        "items": {"type": "object", "additionalProperties": False, "properties": questions},
    }
    assert set(SHARED) <= set(properties), "what a question has, a request has too"
    return {
        "$schema": DIALECT,
        "title": "A request of Gaussmith",
        "description": "Which statistics to release of which table, under which guarantee.",
        "type": "object",
        "additionalProperties": False,
        "required": ["source", "guarantee"],
        "properties": properties,
    }


def _field(name: str) -> Schema:
    told = OF_REQUEST.get(name) or _told(Question.__doc__ or "", name)
    return {**({"description": told} if told else {}), **FORMS[name]}


def _about(name: str) -> Schema:
    told = _told(About.__doc__ or "", name)
    form: Schema = {**TEXT, "maxLength": 4000}
    if name in LISTS:
        form = either(TEXT, {"type": "array", "items": TEXT})
    elif name in DATES:
        form = {"type": "string", "format": "date"}
    elif name in CHOICES:
        form = {"enum": [each for known in CHOICES[name] for each in (known, known.capitalize())]}
    return {**({"description": told} if told else {}), **form}


def _told(text: str, name: str) -> str:
    """What a docstring says of a field: its line `name, other: …` with those that continue it."""
    found = re.search(rf"^ *(?:\w+, )*{name}(?:, \w+)*: +(.*(?:\n {{8,}}.*)*)", text, flags=re.MULTILINE)
    return " ".join(found[1].split()) if found else ""
