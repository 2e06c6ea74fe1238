"""Accuracy first: the least guarantee at which stated errors are kept. Solved from the plan, without data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from gaussmith.checks import is_number
from gaussmith.errors import GuaranteeError, RequestError, nearest
from gaussmith.guarantee import Guarantee
from gaussmith.requests.question import Question

if TYPE_CHECKING:
    from gaussmith.requests.request import Request

MAX_ROUNDS = 20
"""Limit on the plans that are made to close in on the least guarantee."""

CLOSE = 1e-6
"""How close the guarantee comes to the least one, as a share of μ."""


class AccuracyFirst:
    """What a request says when accuracy is stated first."""

    def guarantee_for(self, targets: Mapping[str, float], rows: int | None = None) -> Guarantee:
        """The least ε at the stated δ (or μ, or ρ) at which no standard error exceeds its target.

        Targets are standard errors in the units of the answers, as `plan.errors` states them (± at 95 % is 1.96 times
        as much); means need an estimate of the number of rows. An answer of several questions keeps it in all.

        >>> import gaussmith as gm
        >>> request = gm.Request("people.csv", means={"age": (0, 100)}, guarantee=gm.Guarantee(epsilon=1, delta=1e-6))
        >>> least = request.guarantee_for({"age_mean": 0.5}, rows=1_000)
        >>> round(least.epsilon, 2), least.delta
        (0.87, 1e-06)
        """
        return least_guarantee(cast("Request", self), targets, rows)

    def cost_of_missing(self) -> float:
        """By which factor the total squared error is larger because missing values are left out: 1 where none can be.

        Without it, `complete` would have to name every column. The same request is planned with that promise.
        """
        request = cast("Request", self)
        plan = request.plan
        asked = dict.fromkeys(name for draw in plan.draws if draw.row_rule for name in draw.row_rule.present)
        if not asked:
            return 1.0
        promised = [*request.complete, *(name for name in asked if name not in request.complete)]
        questions = [dict(each.given() if isinstance(each, Question) else each) for each in request.questions]
        for each in questions:
            each.pop("complete", None)
        return plan.total_variance / replace(request, complete=promised, questions=questions).plan.total_variance


def least_guarantee(request: Request, targets: Mapping[str, float], rows: int | None) -> Guarantee:
    """The least guarantee, in the form that the request states, at which no standard error exceeds its target.

    Errors fall as 1/μ, so one plan nearly tells it; plans are made anew until the errors are kept and hardly more.
    """
    wanted = _check_targets(targets)
    if request.plan.staging is not None:
        if request.keys_first:
            raise RequestError(
                "targets beside keys_first",
                "errors follow from the keys that are shown, which are not known before the release",
                "leave keys_first out, or state a guarantee",
                code="targets-beside-keys-first",
            )
        raise RequestError(
            "targets beside private bounds",
            "errors follow from bounds, which are not known before the release",
            "give bounds, or state a guarantee",
            code="targets-beside-private-bounds",
        )
    if any(limit is not None for limit in _limits(request)):
        raise RequestError(
            "targets beside error_at_most",
            "both say how large an error may be",
            "leave error_at_most out of the questions",
            code="targets-beside-error-limits",
        )
    mu = request.guarantee.mu * _excess(request, wanted, rows)
    for _ in range(MAX_ROUNDS):
        stated = _as_stated(request.guarantee, mu * (1 + CLOSE / 2), wanted)
        excess = _excess(replace(request, guarantee=stated), wanted, rows)
        if 1 - CLOSE <= excess <= 1:
            return stated
        mu *= excess
    raise _out_of_reach(wanted)


def _limits(request: Request) -> list[Any]:
    return [
        question.get("error_at_most") if isinstance(question, Mapping) else question.error_at_most
        for question in request.questions
    ]


def _check_targets(targets: Any) -> dict[str, float]:
    if not isinstance(targets, Mapping) or not targets:
        raise RequestError(
            f"targets={targets!r}"[:120],
            "they must map answers to standard errors",
            'write {"age_mean": 0.5}',
            code="targets-not-a-mapping",
        )
    for name, target in targets.items():
        if not (is_number(target) and 0 < target < math.inf):
            rule, remedy = "a target is a standard error above 0, in the units of the answer", "write 0.5"
            raise RequestError(f"target of {name!r} = {target!r}", rule, remedy, code="target-not-positive", name=name)
    return {str(name): float(target) for name, target in targets.items()}


def _excess(request: Request, targets: Mapping[str, float], rows: int | None) -> float:
    """The largest standard error over its target; refuses answers that are not asked for."""
    stated: dict[str, list[float]] = {}
    for question in request.plan:
        needs_rows = any(
            divided and str(name) in targets
            for piece in question.pieces
            for divided, name in zip(piece.answers.divided.tolist(), piece.names, strict=True)
        )
        errors = question.errors(rows if needs_rows or rows else 1)  # others do not depend on it
        for name, error in errors.items():
            stated.setdefault(str(name), []).append(float(error))
    for name in targets:
        if name not in stated:
            rule, remedy = "the request does not ask for it", nearest(name, list(stated))
            raise RequestError(f"target of {name!r}", rule, remedy, code="target-of-unasked-answer", name=name)
    found = max(max(stated[name]) / target for name, target in targets.items())
    if found == 0:
        rule, remedy = "it is public and has no error", "leave it out"
        raise RequestError("targets of public answers", rule, remedy, code="target-of-public-answer")
    return found


def _as_stated(guarantee: Guarantee, mu: float, targets: Mapping[str, float]) -> Guarantee:
    """A guarantee of at least this μ in the form that was stated: ε at the same δ, ρ, or μ itself."""
    try:
        least = Guarantee(mu=mu)
        if guarantee.stated_rho is not None:
            return Guarantee(rho=least.rho)
        if guarantee.epsilon is None or guarantee.delta is None:
            return least
        epsilon = least.epsilon_at(guarantee.delta)
        if epsilon > 0:
            return Guarantee(epsilon=epsilon, delta=guarantee.delta)
    except GuaranteeError:
        raise _out_of_reach(targets) from None
    raise RequestError(
        "targets that need no ε at this δ",
        f"δ = {guarantee.delta:g} alone already allows smaller errors",
        "state a smaller δ, or state the guarantee as μ",
        code="targets-met-by-delta",
    )


def _out_of_reach(targets: Mapping[str, float]) -> RequestError:
    return RequestError(
        f"targets {dict(targets)!r}"[:120],
        "no guarantee that can be stated keeps them",
        "allow larger errors, or ask about more rows",
        code="targets-out-of-reach",
    )
