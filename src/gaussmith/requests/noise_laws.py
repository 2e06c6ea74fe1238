"""Which law the noise of a request has: Gaussian, pure, or whichever has less error under the stated (ε, δ).

    noise not given     Gaussian under (ε, δ), μ, ρ and a guess; pure under ε alone
    "gaussian"          Gaussian; refused under ε alone
    "pure"              pure at the stated ε, so that δ is 0
    "least"             the one with the smaller weighted total of squared errors

The choice sees the request alone, never data. Under μ and ρ Gaussian noise is the best unbiased noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gaussmith.errors import PlanError, RequestError
from gaussmith.notations import setting
from gaussmith.planning.plan import Plan
from gaussmith.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from gaussmith.requests.request import Request

GAUSSIAN, PURE, LEAST = "gaussian", "pure", "least"


def plan_by_law(request: Request, planned: Callable[[Guarantee], Plan]) -> Plan:
    """The plan with the law that the request asks for; `planned` makes it under a guarantee."""
    stated = request.guarantee
    if request.noise == GAUSSIAN and stated.is_pure:
        raise RequestError(
            f"{setting('noise', GAUSSIAN)} under ε alone",
            "Gaussian noise has no guarantee with δ = 0",
            f"leave noise out, or add {setting('delta', 1e-6)}",
            code="gaussian-noise-under-pure-epsilon",
        )
    if request.noise not in (PURE, LEAST) or stated.is_pure:
        return planned(stated)
    if stated.epsilon is None:
        if request.noise == LEAST:
            return planned(stated)  # no unbiased noise with this μ is better by more than the certificate says
        raise RequestError(
            f"{setting('noise', PURE)} without ε",
            "pure noise is drawn at a stated ε",
            f"state {setting('epsilon', 1)}, with or without δ",
            code="pure-noise-without-epsilon",
        )
    pure = Guarantee(epsilon=stated.epsilon)
    if request.noise == PURE:
        return planned(pure)
    made, refusals = [], []
    for guarantee in (stated, pure):
        try:
            made.append(planned(guarantee))
        except (PlanError, RequestError) as error:  # what has no pure plan, or keeps no limit, is no choice
            refusals.append(error)
    if not made:
        raise refusals[0]
    return min(made, key=weighted_total)


def weighted_total(plan: Plan) -> float:
    """Σ weight · squared error over the answers of all queries, whatever noise they share."""
    asked = dict.fromkeys(piece.query for slot in plan.slots for piece in slot.pieces)
    queries = [plan.queries[i] for i in asked]
    scales = [query.scale if query.place is None else query.place.scale for query in queries]
    return sum(scale * query.total_variance for scale, query in zip(scales, queries, strict=True))


def refuse_found(guarantee: Guarantee) -> None:
    """Refuse found groups under ε alone: which are shown is decided with Gaussian noise, and takes a part of δ."""
    if guarantee.is_pure:
        raise RequestError(
            "found groups under pure ε",
            "which groups are shown is decided with Gaussian noise",
            "declare the groups, or state a guarantee with δ",
            code="found-groups-under-pure-epsilon",
        )


def refuse_stages(request: Request) -> None:
    """Refuse stages under ε alone: what they learn is learned with Gaussian noise."""
    if request.guarantee.is_pure or request.noise == PURE:
        raise RequestError(
            "bounds, bins or keys that are learned, under pure ε",
            "they are learned in stages with Gaussian noise",
            "declare them, or state a guarantee with δ",
            code="stages-under-pure-epsilon",
        )
