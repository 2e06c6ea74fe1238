"""A release in stages: each an ordinary release of a certified plan, and between them a rule that sees no data.

    stage 1 ──noisy──▶ rule ──▶ plan, certify ──▶ stage 2 ──▶ … ──▶ answers

Nothing is shown or stored before the end, so a crash leaves the charge of the whole and no output. Trying again queries
everything afresh under that one charge: what the crashed run drew was seen by nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gaussmith import mechanism
from gaussmith.errors import DataError, PlanError, RequestError, damaged_plan
from gaussmith.mechanism import Prepared
from gaussmith.planning.plan import Plan
from gaussmith.planning.staging import ANSWERS, NOTHING, KeysFirst, Planner, StageStep, Staging, share_of
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.releases.diagnosis import is_diagnosis
from gaussmith.releases.path import Path, Stage, seen_of
from gaussmith.releases.release import Release
from gaussmith.requests.keys_first import example_key

Open = Callable[[Plan], Prepared]
"""Opens the source of a plan, which it certifies first; reads no data value."""

Progress = Callable[[float | None], None]


def release_stages(plan: Plan, first: Prepared, open_source: Open, progress: Progress | None = None) -> Release:
    """The answers of a staged plan. `first` is the opened first stage.

        Σ μ_i² ≤ μ²   on every path, in exact fractions

    Guarantee: exactly μ-GDP, μ the plan's guarantee, although later stages depend on earlier noisy outputs; where keys
    are found first, what `numerics.found_keys` makes of μ and κ. Requires:
    a planner that sees nothing of the data but those (owed: the rule gives it a step, and a step is all that it gets).
    Rounding: every share of μ down. Proof: docs/theory.md, adaptive stages.
    """
    staging = plan.staging
    assert staging is not None
    planner = _planner(staging)
    asked = tuple((name, tuple(plan[name].names)) for name in plan.questions if not is_diagnosis(plan[name]))
    left = plan.guarantee.mu_squared
    stages: list[Stage] = []
    while True:
        seen = [seen_of(stage.step.stage, stage.release) for stage in stages]
        step = staging.rule.step(seen, left)
        path = Path(staging.rule, tuple(stages), step, plan.hash, asked)
        if step.stage == NOTHING:
            return replace(_nothing(plan, stages), path=path)
        share = share_of(plan.guarantee, step, left)
        own = staging.first if not stages else _plan_later(planner, step, share)
        if own is None:
            return replace(_unknown(plan), path=replace(path, last=replace(step, stage=NOTHING)))
        if own.spent > share.mu_squared or own.neighbours != plan.neighbours:
            raise damaged_plan(f"stage {step.stage!r} that spends too much")
        left -= own.spent
        prepared = first if not stages else _open_later(open_source, own, step)
        made = mechanism.release(prepared, progress)
        if step.is_last:
            keys = staging.first.keys_found
            whole = replace(made.plan, guarantee=plan.guarantee, about=plan.about, keys_before=keys)
            return replace(made, plan=whole, path=path)
        stages.append(Stage(step, made))


def _plan_later(planner: Planner, step: StageStep, share: Guarantee) -> Plan | None:
    """The plan of a stage after the first; None where no noise can be planned for what was learned.

    Learned bounds may lie too far from the scale of other columns. Then answers are unknown, but there is a release:
    else one record could decide, by way of the noisy bounds, whether there is one. No plan at extreme bounds has to be
    tried beforehand. It costs no privacy, because the plan follows from noisy outputs alone.
    """
    try:
        return planner(step, share)
    except RequestError as error:
        if isinstance(error, PlanError) and step.stage == ANSWERS and "keys" not in step.asks:
            return None
        raise _failed(step, error) from None


def _open_later(open_source: Open, own: Plan, step: StageStep) -> Prepared:
    """The opened source of a stage after the first; whatever fails now fails after the charge."""
    try:
        return open_source(own)
    except RequestError as error:
        raise _failed(step, error) from None


def _failed(step: StageStep, error: RequestError) -> DataError:
    return DataError(
        f"stage {step.stage!r} could not be released",
        "the source no longer fits the request, or what was learned cannot be planned",
        "check that the source did not change; a charge stays, and with the same id nothing is charged again",
        code="later-stage-failed",
        stage=step.stage,
        cause=error.code,
    )


def _planner(staging: Staging) -> Planner:
    if staging.planner is None:
        raise PlanError(
            "a plan with stages that was read from a file",
            "its later stages are planned by the request it came from",
            "release that request: gaussmith.release(request)",
            code="staged-plan-without-request",
        )
    return staging.planner


def last_plan(plan: Plan, first: Prepared) -> Plan:
    """The plan whose source is opened before the charge, to see what the last stage reads; `first` is the opened first.

    Its queries are guessed. Of keys that are found first it has one of each question, of the type that the column
    holds.
    """
    staging = plan.staging
    assert staging is not None
    if not isinstance(staging.rule, KeysFirst):
        return plan
    names, kinds = first.plan.questions, mechanism.kinds_of_keys(first)
    keys = {name: example_key(first.plan[name], kinds[first.plan[name].slot.queries[0]]) for name in names}
    share = share_of(plan.guarantee, StageStep(ANSWERS, staging.rule.answers), plan.guarantee.mu_squared)
    return _planner(staging)(staging.rule.example(keys), share)


def _nothing(plan: Plan, stages: list[Stage]) -> Release:
    """The release where stages found too little: no group if keys were sought, else answers that are unknown."""
    if not plan.pays_for_keys:
        return _unknown(plan)
    (stage,) = stages
    return replace(stage.release, plan=replace(stage.release.plan, guarantee=plan.guarantee, about=plan.about))


def _unknown(plan: Plan) -> Release:
    """The release of a plan whose stages found too little: every answer is unknown, and no more was spent."""
    slots = tuple(slot for slot in plan.slots if not is_diagnosis(plan[slot.name]))  # nobody was clipped
    plan = replace(plan, staging=None, slots=slots)
    shapes = ((query.size, query.block.width) for query in plan.queries)
    noisy = tuple(np.full(shape, np.nan) for shape in shapes)
    none = (None,) * len(plan.queries)
    return Release(plan, noisy, none, tuple(query.row_rule for query in plan.queries))
