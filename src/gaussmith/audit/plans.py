"""The audit of a plan or a request: exact attempts first, then samples of what it would release."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from gaussmith.audit import exact
from gaussmith.audit.effort import Effort
from gaussmith.audit.plan_samples import sample_plan
from gaussmith.audit.recording import watch
from gaussmith.audit.scenes import Pair, scene_of, worst_pair
from gaussmith.audit.verdict import UNTRIED, Attempt
from gaussmith.errors import GaussmithError
from gaussmith.plans import Plan


def audit_plan(
    plan: Plan, error: float, effort: Effort, made: Callable[[Any], Any] | None = None
) -> tuple[list[Attempt], float]:
    """All attempts on a plan, and the largest lower bound on μ."""
    attempts = [exact.check_guarantee(plan), exact.check_certificate(plan), *exact.check_keys(plan)]
    effort.report(0.05)
    try:
        scene = scene_of(plan, made)
        watch(lambda: scene.make(scene.others), zero=True)
    except GaussmithError as refusal:
        return [*attempts, Attempt("tables", UNTRIED, False, f"no table could be made up ({refusal})")], 0.0
    if made is not None:
        attempts.append(exact.check_stages(plan, scene))
        attempts += exact.check_replay(scene, Pair(scene.others, scene.others, Fraction(0), 0))
        first = plan.staging.first if plan.staging is not None else plan
        inner, bound = audit_plan(first, error, effort)
        return [*attempts, *inner], bound
    pair = worst_pair(scene)
    effort.report(0.2)
    attempts += [exact.check_worst(pair), *exact.check_replay(scene, pair)]
    effort.report(0.3)
    if any(each.refutes for each in attempts):
        return attempts, pair.ratio * plan.spends.mu
    sampled, bound = sample_plan(plan, scene, pair, error, effort)
    return [*attempts, *sampled], max(bound, min(1.0, pair.ratio) * plan.spends.mu)
