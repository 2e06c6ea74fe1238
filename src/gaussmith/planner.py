"""Chooses the shape of the noise. Sees the domain, the question and the guarantee; never data."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from gaussmith.answers import Answers, aim, ask
from gaussmith.codes import centre_of, nearest_to_zero
from gaussmith.domains import (
    Ball,
    Box,
    Domain,
    GaussianData,
    Groups,
    Records,
    Tallied,
)
from gaussmith.errors import PlanError, nearest
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, choose
from gaussmith.numerics.doubles import TOO_FAR, require_finite, within_doubles
from gaussmith.numerics.linear import Array
from gaussmith.plans import Plan
from gaussmith.shapes import price, total, weighted_variances
from gaussmith.shapes.fitting import Progress, refuse_shape, shape_named, shapes_that_fit
from gaussmith.standards import largest_change

if TYPE_CHECKING:
    from gaussmith.group_plans import GroupPlan


@overload
def plan(
    domain: Groups,
    guarantee: Guarantee,
    *,
    neighbours: str = ...,
    neighbors: str | None = ...,
    answers: Any = ...,
    count: bool = ...,
    weights: Any = ...,
    missing: Mapping[str, float] | None = ...,
    shape: str = ...,
    objective: str = ...,
    targets: Any = ...,
    gap: float | None = ...,
    progress: Progress | None = ...,
) -> GroupPlan: ...


@overload
def plan(
    domain: Domain,
    guarantee: Guarantee,
    *,
    neighbours: str = ...,
    neighbors: str | None = ...,
    answers: Any = ...,
    count: bool = ...,
    weights: Any = ...,
    missing: Mapping[str, float] | None = ...,
    shape: str = ...,
    objective: str = ...,
    targets: Any = ...,
    gap: float | None = ...,
    progress: Progress | None = ...,
) -> Plan: ...


def plan(
    domain: Domain | Groups,
    guarantee: Guarantee,
    *,
    neighbours: str = ADD_REMOVE,
    neighbors: str | None = None,
    answers: Any = "sums",
    count: bool = False,
    weights: Any = "equal",
    missing: Mapping[str, float] | None = None,
    shape: str = "best",
    objective: str = "total",
    targets: Any = None,
    gap: float | None = None,
    progress: Progress | None = None,
) -> Plan | GroupPlan:
    """The most accurate plan for these answers under this guarantee.

    neighbours: "add-remove" (the number of people is secret) or "replace-one" (it is public); neighbors is the same.
    answers:    "sums", "means", a matrix with one column per coordinate and one row per answer, or, over cells, a
                workload such as gaussmith.workloads.prefix(n).
    count:      True: the number of records is an answer too, with weight 1.
    weights:    "equal", "relative" (to each answer's range), or one positive number per answer.
    missing:    what stands in for a missing value, by column; else the point of the bounds nearest zero for sums,
                their centre for means.
    shape:      "best", or one by name, for comparison: "isotropic", "elliptical", "lifted", "solved".
    objective:  over cells and points: "total", the weighted sum of squared errors, or "worst", the largest error in
                units of its target (`targets`: one standard error per answer; 1 unless given).
    gap:        how close to the certified optimum noise is solved where it is solved, such as 1e-6.
    progress:   told the round and the gap reached, while noise is solved.

    >>> import gaussmith as gm
    >>> p = gm.plan(gm.Box([0] * 16, [1] * 16), gm.Guarantee(epsilon=1, delta=1e-6))
    >>> float(p.standard_errors[0].round(2))
    10.56
    """
    if not isinstance(guarantee, Guarantee):
        raise PlanError(
            f"guarantee of type {type(guarantee).__name__}",
            "a plan needs a guarantee",
            "write gaussmith.Guarantee(epsilon=1, delta=1e-6)",
        )
    if isinstance(domain, Groups):
        from gaussmith.group_plans import plan_groups

        with within_doubles():
            asked = aim(ask(domain.domain, answers, count, weights), objective, targets)
        return plan_groups(domain, guarantee, asked, choose(neighbours, neighbors), missing, shape)
    if not isinstance(domain, Box | Ball | Records | GaussianData | Tallied):
        if hasattr(domain, "refusal"):  # an entry of the catalogue that says why it must not be used
            raise PlanError(*domain.refusal)
        raise PlanError(
            f"domain of type {type(domain).__name__}",
            "a plan starts from what one record can be",
            "give a domain such as gaussmith.Box, gaussmith.Ball or gaussmith.Counts",
        )
    with within_doubles():
        asked = aim(ask(domain, answers, count, weights), objective, targets)
    return plan_answers(domain, guarantee, asked, choose(neighbours, neighbors), missing, shape, gap, progress)


def plan_answers(
    domain: Domain,
    guarantee: Guarantee,
    answers: Answers,
    neighbours: str,
    missing: Mapping[str, float] | None = None,
    shape: str = "best",
    gap: float | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The plan for answers already spelled out; refused where doubles cannot hold it."""
    with within_doubles():
        require_finite(answers.weights, 1 / answers.weights)
        made = _plan_answers(domain, guarantee, answers, neighbours, missing or {}, shape, gap, progress)
        _check_sizes(made)
        return made


def _plan_answers(
    domain: Domain,
    guarantee: Guarantee,
    answers: Answers,
    neighbours: str,
    missing: Mapping[str, float],
    shape: str,
    gap: float | None,
    progress: Progress | None,
) -> Plan:
    if domain.dimension == 0 and neighbours != ADD_REMOVE:
        raise PlanError(
            "a count alone under replace-one",
            "the number of records is public there, and needs no noise",
            "ask for sums or means too, or choose add-remove",
        )
    if isinstance(domain, Tallied) and answers.any_mean:
        raise PlanError(
            "means of records that are counted",
            "counts, points and sparse vectors are added up",
            "ask for the sums and count=True, and divide",
        )
    if gap is not None:
        from gaussmith.numerics.optimum import check_gap

        check_gap(gap)
    stand_ins = substitutes(domain, answers, missing)
    if isinstance(domain, GaussianData):
        return _plan_gaussian(domain, guarantee, answers, neighbours, stand_ins, shape)
    find = shapes_that_fit if shape == "best" else partial(shape_named, shape)
    candidates = find(domain, answers, neighbours, gap, progress)
    law = max((c.law for c in candidates if c.law is not None), key=lambda law: law.lower, default=None)
    shapes = [c.shape for c in candidates if shape == "best" or len(candidates) == 1 or c.shape.name == shape]
    priced = [(price(s, answers, domain.spread), s) for s in shapes]
    priced = [(cost, s) for cost, s in priced if np.isfinite(cost)]
    if not priced:
        raise PlanError(*TOO_FAR)
    _, best = min(priced, key=lambda pair: pair[0])
    others = tuple((s.name, cost) for cost, s in priced if s is not best)
    if shape == "best" and isinstance(domain, Tallied) and "isotropic" not in dict(others) and answers.targets is None:
        reach = largest_change(domain, answers, neighbours)
        noisy = answers.size + (answers.count and neighbours == ADD_REMOVE)
        others = (*others, *([("isotropic", reach * reach * noisy)] if reach and reach < LARGEST else []))
    return Plan(domain, guarantee, neighbours, answers, best, stand_ins, others, law)


LARGEST = 1e150
"""An error above this, or below its inverse, has a square that doubles may not hold."""


def _check_sizes(plan: Plan) -> None:
    """Refuse a plan whose errors, total or bound doubles cannot hold; where they come near, all of it is checked."""
    variances, count = weighted_variances(plan.shape, plan.answers, plan.domain.spread)
    sizes = np.append(variances, count) / plan.guarantee.mu**2
    require_finite(sizes, price(plan.shape, plan.answers, plan.domain.spread) / plan.guarantee.mu**2)
    noisy = sizes[sizes > 0]
    if len(noisy) and (noisy.max() > 1e60 or noisy.min() < 1e-60):
        plan.certify()
        require_finite(plan.standard_errors, plan.price, plan.lower_bound)
        if plan.price > 0 and not plan.lower_bound > 0:
            raise PlanError(*TOO_FAR)


def _plan_gaussian(
    domain: GaussianData, guarantee: Guarantee, answers: Answers, neighbours: str, stand_ins: Array, shape: str
) -> Plan:
    """Scale and clip, then noise of the ellipsoid's shape; the standard Gaussian clips the plain norm instead."""
    from gaussmith.shapes.clipped import clipped

    ways = {"best": None, "clipped": None, "lifted": None, "isotropic": "round"}
    if shape not in ways:
        raise refuse_shape(shape, domain, neighbours, list(ways))
    chosen, found = clipped(domain, answers, neighbours, guarantee.mu, ways[shape])
    others: tuple[tuple[str, float], ...] = ()
    if shape == "best":
        with suppress(PlanError):  # its errors may be too large for doubles where those of the other are not
            plain, standard = clipped(domain, answers, neighbours, guarantee.mu, "round")
            cost = total(standard, answers, plain.spread)
            others = (("isotropic", cost),) if np.isfinite(cost) else ()
    return Plan(chosen, guarantee, neighbours, answers, found, stand_ins, others, None)


def substitutes(domain: Domain, answers: Answers, missing: Mapping[str, float]) -> Array:
    """What stands in for a missing value of each coordinate.

    The point of the bounds nearest zero where sums are asked, the centre where means are; a coordinate asked both ways
    needs its own word in `missing`.
    """
    if not isinstance(domain, Box):
        if missing:
            raise PlanError(
                f"missing={dict(missing)!r}",
                "in a ball a record with a missing value becomes the centre; counts have rules of their own",
                "leave out missing=",
            )
        return np.zeros(0) if isinstance(domain, Tallied) else domain.centre
    known = [domain.name(j) for j in range(domain.dimension)] if missing else []
    for name in missing:
        if name not in known:
            raise PlanError(f"missing={{{name!r}: …}}", "it must name a column of the domain", nearest(name, known))
    summed = np.zeros(domain.dimension, bool)
    averaged = np.zeros(domain.dimension, bool)
    if answers.matrix is not None:
        summed[:] = True
    summed[answers.index[~answers.means]] = True
    averaged[answers.index[answers.means]] = True
    for j in np.flatnonzero(summed & averaged):
        if domain.name(int(j)) not in missing:
            raise PlanError(
                f"column {domain.name(int(j))!r} is asked both as a sum and as a mean",
                "a missing value has a different stand-in for each",
                f"say which: missing={{{domain.name(int(j))!r}: 0}}",
            )
    values = np.where(averaged, centre_of(domain.lower, domain.upper), nearest_to_zero(domain.lower, domain.upper))
    for name, value in missing.items():
        at = known.index(name)
        low, high = domain.lower[at], domain.upper[at]
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise PlanError(
                f"missing={{{name!r}: {value!r}}}",
                f"a stand-in lies between the bounds {low:g} and {high:g}",
                "choose a value inside them",
            )
        values[at] = float(value)
    return np.asarray(values)
