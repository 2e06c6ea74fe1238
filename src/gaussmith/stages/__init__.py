"""Adaptive rules: what a later stage asks, from the noisy outputs of earlier ones. No rule sees data or noise."""

from gaussmith.stages.registry import RULES, read_rule
from gaussmith.stages.rule import ANSWERS, NOTHING, Rule, Seen, Step

__all__ = ["ANSWERS", "NOTHING", "RULES", "Rule", "Seen", "Step", "read_rule"]
