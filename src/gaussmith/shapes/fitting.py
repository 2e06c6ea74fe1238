"""Which shapes of noise fit a domain and what is asked of it: all of them, or one by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gaussmith.answers import Answers
from gaussmith.domains import Box, Cells, Counts, Domain, People, Points, SparseSum, Tallied, Votes
from gaussmith.errors import PlanError, nearest
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.doubles import within_doubles
from gaussmith.shapes import Candidate
from gaussmith.shapes.lifted import lifted
from gaussmith.shapes.straight import elliptical, isotropic
from gaussmith.workloads import Marginals

Progress = Callable[[int, float], None]

MOST_SOLVED_CORNERS = 1024
"""Boxes with more corners than this get the closed form, whose distance from the optimum is certified instead."""

_NAMED = {"isotropic": isotropic, "elliptical": elliptical, "lifted": lifted}

_MADE_FOR = {
    "lifted": "it is made for boxes, balls and Gaussian data",
    "elliptical": "it is made for sums and means of the columns of a box",
    "isotropic": "it is made for sums and means of columns, and for counts and sparse vectors as they are",
    "solved": "noise is solved for boxes under add-remove, for a matrix of answers of a box under "
    "replace-one, and for points, cells and counts without a closed form",
    "clipped": "it is made for Gaussian data",
    "two-level": "it is made for counts, votes and cells that are all asked alike",
    "water-filled": "it is made for sparse vectors",
    "even": "it is made for cells, each asked as it is",
    "residuals": "it is made for marginals of cells",
}
"""Shapes that can be named, and where each can be used."""


def shapes_that_fit(
    domain: Domain, answers: Answers, neighbours: str, gap: float | None, progress: Progress | None = None
) -> list[Candidate]:
    """Every shape that fits, with a law that bounds all shapes where one comes for free; in order of preference."""
    if isinstance(domain, Tallied):
        standard = [lambda: Candidate(isotropic(domain, answers, neighbours))] if _has_standard(domain, answers) else []
        return [*_tallied(domain, answers, neighbours, gap, progress), *_those_that_fit(standard)]
    if answers.targets is not None:
        raise _worst_refused(domain)
    ways: list[Callable[[], Candidate]] = []
    if isinstance(domain, People):
        from gaussmith.shapes.people import lifted_people

        ways.append(lambda: Candidate(lifted_people(domain, answers, neighbours)))
    else:
        ways.append(lambda: Candidate(lifted(domain, answers, neighbours)))
    if _worth_solving(domain, answers):
        ways += _solvers(domain, answers, neighbours, gap)
    if isinstance(domain, Box) and answers.matrix is None:
        ways.append(lambda: Candidate(elliptical(domain, answers, neighbours)))
    if _has_standard(domain, answers):
        ways.append(lambda: Candidate(isotropic(domain, answers, neighbours)))
    return _those_that_fit(ways)


def _those_that_fit(ways: Sequence[Callable[[], Candidate]]) -> list[Candidate]:
    """What these make, without those whose numbers doubles cannot hold; the first refusal where none is left."""
    found: list[Candidate] = []
    problem: PlanError | None = None
    for make in ways:
        try:
            with within_doubles():
                found.append(make())
        except PlanError as refused:
            problem = problem or refused
    if problem is not None and not found:
        raise problem
    return found


def _solvers(domain: Domain, answers: Answers, neighbours: str, gap: float | None) -> list[Callable[[], Candidate]]:
    """What solves for the best noise here: boxes and people under add-remove, sums of boxes under replace-one."""
    from gaussmith.shapes.solved import solved, solved_replaced

    if neighbours == ADD_REMOVE and isinstance(domain, Box | People):
        return [lambda: solved(domain, answers, gap)]
    if neighbours != ADD_REMOVE and isinstance(domain, Box) and answers.is_linear:
        return [lambda: solved_replaced(domain, answers, gap)]
    return []


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


def _has_standard(domain: Domain, answers: Answers) -> bool:
    """Whether the standard Gaussian mechanism is a shape over the coordinates."""
    return not (answers.is_linear or answers.targets is not None or not domain.dimension or isinstance(domain, Points))


def _worth_solving(domain: Domain, answers: Answers) -> bool:
    """Few corners, and not a case where the closed form is already the optimum (means, or a single coordinate)."""
    few = 1 < domain.dimension and 2 ** min(domain.dimension, 60) <= MOST_SOLVED_CORNERS
    if not isinstance(domain, Box | People) or not few:
        return False
    if answers.matrix is not None:
        return len(answers.matrix) <= 64
    return not answers.means.all() and bool(domain.centre[answers.index[~answers.means]].any())


def shape_named(
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
        found = shapes_that_fit(domain, answers, neighbours, gap, progress)
        names = [candidate.shape.name for candidate in found]
        if name in names:
            return found
        raise refuse_shape(name, domain, neighbours, ["best", *names])
    solvers = _solvers(domain, answers, neighbours, gap)
    if name == "solved" and solvers:
        return [solvers[0]()]
    straight = domain.dimension > 0 and answers.matrix is None
    usable = ["best", "lifted", *(["solved"] if solvers else []), *(["isotropic"] if straight else [])]
    usable += ["elliptical"] if straight and isinstance(domain, Box) else []
    if name not in usable:
        raise refuse_shape(name, domain, neighbours, usable)
    return [Candidate(_NAMED[name](domain, answers, neighbours))]


def refuse_shape(name: str, domain: Domain, neighbours: str, usable: Sequence[str]) -> PlanError:
    """Why a shape cannot be had here, and which can: a name that no shape has, or one that does not fit."""
    usable = list(dict.fromkeys(usable))
    if name in _MADE_FOR:
        what = f"shape={name!r} for {type(domain).__name__} under {neighbours}"
        return PlanError(what, _MADE_FOR[name], f"choose one of: {', '.join(usable)}")
    return PlanError(f"shape={name!r}", "it names a shape that fits the domain", nearest(name, usable))
