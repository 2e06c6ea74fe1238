"""The choice of the noise of one block: every shape that fits, and the cheapest of them. Never sees data."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import numpy as np

from gaussmith.answers import Answers
from gaussmith.codes import centre_of, nearest_to_zero
from gaussmith.domains import Box, Domain, GaussianData, Tallied
from gaussmith.errors import PlanError, nearest
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.doubles import TOO_FAR, require_finite, within_doubles
from gaussmith.numerics.linear import Array
from gaussmith.plans.block import Block
from gaussmith.plans.standard_gaussian import largest_change
from gaussmith.shapes import price, total, weighted_variances
from gaussmith.shapes.fitting import Progress, refuse_shape, shape_named, shapes_that_fit


def plan_answers(
    domain: Domain,
    guarantee: Guarantee,
    answers: Answers,
    neighbours: str,
    missing: Mapping[str, float] | None = None,
    shape: str = "best",
    gap: float | None = None,
    progress: Progress | None = None,
) -> Block:
    """The block for answers already spelled out; refused where doubles cannot hold it."""
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
) -> Block:
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
        others = (*others, *([("isotropic", reach * reach * noisy)] if reach and reach < MAX_ERROR else []))
    return Block(domain, guarantee, neighbours, answers, best, stand_ins, others, law)


MAX_ERROR = 1e150
"""An error above this, or below its inverse, has a square that doubles may not hold."""


def _check_sizes(block: Block) -> None:
    """Refuse a plan whose errors, total or bound doubles cannot hold; where they come near, all of it is checked."""
    variances, count = weighted_variances(block.shape, block.answers, block.domain.spread)
    sizes = np.append(variances, count) / block.guarantee.mu**2
    require_finite(sizes, price(block.shape, block.answers, block.domain.spread) / block.guarantee.mu**2)
    noisy = sizes[sizes > 0]
    if len(noisy) and (noisy.max() > 1e60 or noisy.min() < 1e-60):
        block.certify()
        require_finite(block.standard_errors, block.price, block.lower_bound)
        if block.price > 0 and not block.lower_bound > 0:
            raise PlanError(*TOO_FAR)


def _plan_gaussian(
    domain: GaussianData, guarantee: Guarantee, answers: Answers, neighbours: str, stand_ins: Array, shape: str
) -> Block:
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
    return Block(chosen, guarantee, neighbours, answers, found, stand_ins, others, None)


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
