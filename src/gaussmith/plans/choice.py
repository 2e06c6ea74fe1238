"""The choice of the noise of one block: every shape that fits, and the cheapest of them. Never sees data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import numpy as np

from gaussmith.answers import Answers
from gaussmith.codes import centre_of, nearest_to_zero
from gaussmith.domains import (
    Box,
    Cells,
    Counts,
    Domain,
    GaussianData,
    People,
    Points,
    SparseSum,
    Tallied,
    Votes,
)
from gaussmith.errors import PlanError, nearest
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array
from gaussmith.plans.block import Block
from gaussmith.plans.standard_gaussian import largest_change
from gaussmith.shapes import Candidate, price, total
from gaussmith.shapes.lifted import lifted
from gaussmith.shapes.straight import elliptical, isotropic
from gaussmith.workloads import Marginals

Progress = Callable[[int, float], None]

MAX_SOLVED_CORNERS = 1024
"""Boxes with more corners than this get the closed form, whose distance from the optimum is certified instead."""

_NAMED = {"isotropic": isotropic, "elliptical": elliptical, "lifted": lifted}


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
    """The block for answers already spelled out."""
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
    stand_ins = substitutes(domain, answers, missing or {})
    if isinstance(domain, GaussianData):
        return _plan_gaussian(domain, guarantee, answers, neighbours, stand_ins, shape)
    find = _candidates if shape == "best" else partial(_by_name, shape)
    candidates = find(domain, answers, neighbours, gap, progress)
    law = max((c.law for c in candidates if c.law is not None), key=lambda law: law.lower, default=None)
    shapes = [c.shape for c in candidates if shape == "best" or len(candidates) == 1 or c.shape.name == shape]
    priced = [(price(s, answers, domain.spread), s) for s in shapes]
    _, best = min(priced, key=lambda pair: pair[0])
    others = tuple((s.name, cost) for cost, s in priced if s is not best)
    if shape == "best" and isinstance(domain, Tallied) and "isotropic" not in dict(others) and answers.targets is None:
        reach = largest_change(domain, answers, neighbours)
        noisy = answers.size + (answers.count and neighbours == ADD_REMOVE)
        others = (*others, *([("isotropic", reach * reach * noisy)] if reach else []))
    return Block(domain, guarantee, neighbours, answers, best, stand_ins, others, law)


def _plan_gaussian(
    domain: GaussianData, guarantee: Guarantee, answers: Answers, neighbours: str, stand_ins: Array, shape: str
) -> Block:
    """Scale and clip, then noise of the ellipsoid's shape; the standard Gaussian clips the plain norm instead."""
    from gaussmith.shapes.clipped import clipped

    ways = {"best": None, "clipped": None, "lifted": None, "isotropic": "round"}
    if shape not in ways:
        raise PlanError(f"shape={shape!r}", "it names a shape that fits Gaussian data", nearest(shape, ways))
    chosen, found = clipped(domain, answers, neighbours, guarantee.mu, ways[shape])
    others: tuple[tuple[str, float], ...] = ()
    if shape == "best":
        plain, standard = clipped(domain, answers, neighbours, guarantee.mu, "round")
        others = (("isotropic", total(standard, answers, plain.spread)),)
    return Block(chosen, guarantee, neighbours, answers, found, stand_ins, others, None)


def _candidates(
    domain: Domain, answers: Answers, neighbours: str, gap: float | None, progress: Progress | None = None
) -> list[Candidate]:
    """Every shape that fits, with a law that bounds all shapes where one comes for free; in order of preference."""
    if isinstance(domain, Tallied):
        return [*_tallied(domain, answers, neighbours, gap, progress), *_standard(domain, answers, neighbours)]
    if answers.targets is not None:
        raise _worst_refused(domain)
    if isinstance(domain, People):
        from gaussmith.shapes.people import lifted_people

        found = [Candidate(lifted_people(domain, answers, neighbours))]
    else:
        found = [Candidate(lifted(domain, answers, neighbours))]
    if neighbours == ADD_REMOVE and _worth_solving(domain, answers):
        assert isinstance(domain, Box | People)
        from gaussmith.shapes.solved import solved

        with suppress(PlanError):  # scales too far apart for doubles: the closed form has no such trouble
            found.append(solved(domain, answers, gap))
    if neighbours != ADD_REMOVE and isinstance(domain, Box) and answers.is_linear and _worth_solving(domain, answers):
        from gaussmith.shapes.solved import solved_replaced

        with suppress(PlanError):
            found.append(solved_replaced(domain, answers, gap))
    if isinstance(domain, Box) and answers.matrix is None:
        found.append(Candidate(elliptical(domain, answers, neighbours)))
    return [*found, *_standard(domain, answers, neighbours)]


def _tallied(
    domain: Domain, answers: Answers, neighbours: str, gap: float | None, progress: Progress | None
) -> list[Candidate]:
    """The shapes of domains whose records are counted as they are."""
    if isinstance(domain, Cells) and isinstance(answers.workload, Marginals):
        from gaussmith.shapes.marginals import of_marginals

        return of_marginals(domain, answers, neighbours)
    if isinstance(domain, Cells | Points):
        from gaussmith.shapes.cells import in_cells

        return in_cells(domain, answers, neighbours, gap, progress)
    if answers.targets is not None:
        raise _worst_refused(domain)
    if isinstance(domain, Counts | Votes):
        from gaussmith.shapes.alike import alike

        return alike(domain, answers, neighbours, gap)
    assert isinstance(domain, SparseSum)
    from gaussmith.shapes.few import few

    return few(domain, answers, neighbours, gap)


def _worst_refused(domain: Domain) -> PlanError:
    return PlanError(
        f"objective='worst' for {type(domain).__name__}",
        "the worst answer is planned over cells and points",
        "leave it out, or give weights",
    )


def _standard(domain: Domain, answers: Answers, neighbours: str) -> list[Candidate]:
    """The standard Gaussian mechanism, where it is a shape over the coordinates."""
    if answers.is_linear or answers.targets is not None or not domain.dimension or isinstance(domain, Points):
        return []
    return [Candidate(isotropic(domain, answers, neighbours))]


def _worth_solving(domain: Domain, answers: Answers) -> bool:
    """Few corners, and not a case where the closed form is already the optimum (means, or a single coordinate)."""
    few = 1 < domain.dimension and 2 ** min(domain.dimension, 60) <= MAX_SOLVED_CORNERS
    if not isinstance(domain, Box | People) or not few:
        return False
    if answers.matrix is not None:
        return len(answers.matrix) <= 64
    return not answers.means.all() and bool(domain.centre[answers.index[~answers.means]].any())


def _by_name(
    name: str, domain: Domain, answers: Answers, neighbours: str, gap: float | None, progress: Progress | None = None
) -> list[Candidate]:
    """The shape of this name, and laws that bound all shapes."""
    if name.replace("-", "_") in ("rank_one", "r1smg"):
        raise PlanError(
            f"shape={name!r}",
            "the rank-one singular mechanism is not private as claimed (docs/errata.md)",
            "leave out shape=; gaussmith.catalogue.rank_one is there to study it",
        )
    if isinstance(domain, Tallied):
        found = _candidates(domain, answers, neighbours, gap, progress)
        names = {candidate.shape.name for candidate in found}
        if name in names:
            return found
        raise PlanError(f"shape={name!r}", "it names a shape that fits the domain", nearest(name, ["best", *names]))
    if name == "solved" and isinstance(domain, Box) and neighbours == ADD_REMOVE:
        from gaussmith.shapes.solved import solved

        return [solved(domain, answers, gap)]
    if name not in _NAMED:
        raise PlanError(
            f"shape={name!r}", "it names a shape that fits the domain", nearest(name, ["best", "solved", *_NAMED])
        )
    return [Candidate(_NAMED[name](domain, answers, neighbours))]


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
