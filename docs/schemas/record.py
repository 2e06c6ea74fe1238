"""Write the JSON Schemas of this folder from the fields of the code: `./run python docs/schemas/record.py`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gaussmith.releases.record_schemas import certificate_schema, plan_schema, release_schema
from gaussmith.requests.request_schema import request_schema

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
