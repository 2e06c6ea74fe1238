"""Adaptive rules: what a later stage asks, from the noisy outputs of earlier ones. No rule sees data or noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussmith.later import found_later
from gaussmith.stages.rule import ANSWERS, NOTHING, Rule, Seen, Step

if TYPE_CHECKING:
    from gaussmith.stages.registry import RULES, read_rule
else:
    __getattr__ = found_later(__name__, {"registry": ["RULES", "read_rule"]})

__all__ = ["ANSWERS", "NOTHING", "RULES", "Rule", "Seen", "Step", "read_rule"]
