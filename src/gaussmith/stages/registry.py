"""The kinds of adaptive rules: one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussmith.errors import PlanError, nearest
from gaussmith.stages.bounds import LearnBounds
from gaussmith.stages.keys import KeysFirst
from gaussmith.stages.quantile_cells import FindCells
from gaussmith.stages.rule import Rule
from gaussmith.stages.vector_means import VectorRule

RULES: dict[str, type[Rule]] = {rule.kind: rule for rule in (LearnBounds, VectorRule, FindCells, KeysFirst)}
"""By what they are called in saved plans."""


def read_rule(fields: Mapping[str, Any]) -> Rule:
    """The rule that its `to_dict` described; refuses one that this version does not know."""
    kind = fields["kind"]
    if kind not in RULES:
        what, why = f"rule {kind!r} of stages", "this version has no such rule"
        raise PlanError(what, why, nearest(str(kind), list(RULES)), code="unknown-rule-of-stages", kind=kind)
    return RULES[kind].from_dict(fields)
