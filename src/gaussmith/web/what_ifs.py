"""What would change: without a question, with half a bound or limit; and how close to the best. No data is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gaussmith.errors import GaussmithError
from gaussmith.values import dataclass
from gaussmith.web.drafts import BOUNDED, KINDS, Draft
from gaussmith.web.entries import read_whole
from gaussmith.words.blocks import describe_factor

if TYPE_CHECKING:
    from gaussmith.plans import Plan
    from gaussmith.requests.request import Request

Errors = dict[tuple[str, str], float]

LIMITS = {"rows_per_unit": "rows", "groups_per_unit": "groups", "values_per_unit": "values"}
"""Limits on what one person can have."""

SECONDS = 1.5
"""Limit on the time that other plans are made for."""


@dataclass(frozen=True)
class Halved:
    """The errors of a line if the width of its bounds were half."""

    line: str
    high: float
    before: float
    after: float


@dataclass(frozen=True)
class Fewer:
    """The errors, in percent of what they are, if a person could have so many rows, groups or values instead."""

    what: str
    now: int
    instead: int
    percent: float


@dataclass(frozen=True)
class WhatIfs:
    """limit: how close to the certified limit; costs: how much smaller other errors were without a line, in percent."""

    limit: str
    costs: tuple[tuple[str, float], ...]
    halved: tuple[Halved, ...]
    fewer: tuple[Fewer, ...] = ()


def what_ifs(
    draft: Draft, request: Request, read: Callable[[Draft], Request], is_wanted: Callable[[], bool] = lambda: True
) -> WhatIfs:
    """Plans of the same request with one line changed; `read` makes a request of a draft.

    It ends early where it takes long, or is not wanted any more.
    """
    stated = _with_guarantee(draft, request)
    end = time.monotonic() + SECONDS
    now = _errors(request.plan)
    costs: list[tuple[str, float]] = []
    halved: list[Halved] = []
    fewer = [found for name in LIMITS if is_wanted() and (found := _fewer(stated, name, now, read)) is not None]
    for i, ask in enumerate(draft.asks):
        if time.monotonic() > end or not is_wanted():
            break
        if not ask.column:
            continue
        name = f"{KINDS.get(ask.kind, ask.kind)} of {ask.column}"
        if others := _plan_of(replace(stated, asks=draft.asks[:i] + draft.asks[i + 1 :]), read):
            ratio = _ratio(_errors(others), now)
            if ratio is not None:
                costs.append((name, 100 * (1 - ratio)))
        if ask.kind in BOUNDED and ask.how == "known" and ask.low and ask.high:
            high = float(ask.low) + (float(ask.high) - float(ask.low)) / 2
            lines = (*draft.asks[:i], replace(ask, high=repr(high)), *draft.asks[i + 1 :])
            if made := _plan_of(replace(stated, asks=lines), read):
                errors = _errors(made)
                own = [key for key in errors if key[1].startswith(f"{ask.column}_") and now.get(key)]
                if own and ask.kind in ("sums", "means", "variances"):
                    halved.append(Halved(name, high, now[own[0]], errors[own[0]]))
    costs.sort(key=lambda each: -each[1])
    return WhatIfs(describe_factor(request.plan.optimality), tuple(costs), tuple(halved), tuple(fewer))


def _fewer(draft: Draft, name: str, now: Errors, read: Callable[[Draft], Request]) -> Fewer | None:
    """The errors with half of a limit; None where there is none, or it is 1."""
    value = getattr(draft, name)
    limit = read_whole(name, value) if value else 1
    lower: dict[str, Any] = {name: str(limit // 2)}
    made = None if limit < 2 else _plan_of(replace(draft, **lower), read)
    ratio = None if made is None else _ratio(_errors(made), now)
    return None if ratio is None else Fewer(LIMITS[name], limit, limit // 2, 100 * ratio)


def _ratio(errors: Errors, now: Errors) -> float | None:
    """How large errors are on average, against what they are now."""
    ratios = [errors[key] / now[key] for key in errors if now.get(key)]
    return sum(ratios) / len(ratios) if ratios else None


def _with_guarantee(draft: Draft, request: Request) -> Draft:
    """The draft with the guarantee of its request, also where that was solved for."""
    guarantee = request.guarantee.to_dict()
    way = next((name for name in ("mu", "rho") if name in guarantee), "epsilon")
    said: dict[str, Any] = {"target": "", "target_error": "", "protection": way}
    said |= {name: repr(value) for name, value in guarantee.items()}
    return replace(draft, **said)


def _plan_of(draft: Draft, read: Callable[[Draft], Request]) -> Plan | None:
    try:
        return read(draft).plan
    except GaussmithError:
        return None


def _errors(plan: Plan) -> Errors:
    """The standard errors by question and answer, of means n times as large."""
    return {
        (question.questions[0], str(name)): float(error)
        for question in plan
        for name, error in zip(question.names, question.standard_errors, strict=True)
        if error
    }
