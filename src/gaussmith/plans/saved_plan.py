"""The saved form of plans: its version, and what is refused before anything of it is read."""

from __future__ import annotations

import json
from typing import Any

from gaussmith.errors import PlanError

FORMAT = 4
"""The version of the JSON form."""

FIELDS = {"format", "kind", "guarantee", "neighbours", "draws", "ties", "questions"}

OPTIONAL = {"stages", "about", "keys_before"}
"""Fields of plans with stages, and of those about which something was said."""


def check_saved(fields: Any) -> None:
    """Refuse what is not a plan of this version, by its outermost fields."""
    kind = fields.get("kind") if isinstance(fields, dict) else None
    if kind == "certificate":
        what = "a certificate where a plan is expected"
        raise PlanError(what, "the plan comes first", "swap the two files", code="certificate-instead-of-plan")
    if kind == "release":
        what, rule = "a release where a plan is expected", "its plan is one of its fields"
        raise PlanError(what, rule, "save that: release.plan", code="release-instead-of-plan")
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        seen = fields.get("format") if isinstance(fields, dict) else None
        what, rule = f"plan format = {seen!r}", f"this version reads format {FORMAT}"
        raise PlanError(what, rule, "plan again with this version", code="unknown-plan-format", format=seen)
    if set(fields) - OPTIONAL != FIELDS:
        odd = sorted((set(fields) - OPTIONAL) ^ FIELDS)
        rule = "a plan must have exactly the fields it was saved with"
        raise PlanError(f"plan fields {odd}", rule, "plan again", code="plan-fields-differ", fields=odd)


def parse_saved(text: str | bytes) -> Any:
    """The JSON of a plan; refuses what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise PlanError(
            "a plan that is not JSON", "plans are saved by plan.to_json()", "check the file", code="plan-not-json"
        ) from None
