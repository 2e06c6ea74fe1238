"""Candidates: the shapes of noise that fit a problem, all of them or one by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.doubles import within_doubles
from gaussmith.problem import Domain, Law, Problem
from gaussmith.shapes import Shape

Progress = Callable[[int, float], None]

BEST = "best"

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


@dataclass(frozen=True)
class Search:
    """What is looked for: the best shape or one by its name, at this μ, solved to this gap where it is solved."""

    shape: str
    mu: float
    gap: float | None = None
    progress: Progress | None = None


@dataclass(frozen=True, eq=False)
class Candidate:
    """A shape that fits, and a law that bounds every shape where one comes with it."""

    shape: Shape
    law: Law | None = None
    domain: Domain | None = None
    """The domain that the shape is for, where it is chosen with the shape; else that of the problem."""

    def fitted(self, problem: Problem[Domain]) -> Problem[Domain]:
        """The problem with the domain that the shape is for."""
        return problem if self.domain is None else problem.over(self.domain)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The shapes that fit, in order of preference; and the prices of others that are but compared with them."""

    found: list[Candidate]
    compared: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Way:
    """A way of making a candidate: the name it can be asked for by, and whether it is tried unless it is."""

    name: str
    make: Callable[[], Candidate]
    tried: bool = True


def try_ways(ways: Sequence[Way], problem: Problem[Domain], search: Search) -> Candidates:
    """What these ways make: those that are tried, but for what doubles cannot hold, or the one that is asked for."""
    if search.shape == BEST:
        return Candidates(_those_that_fit([way for way in ways if way.tried]))
    for way in ways:
        if way.name == search.shape:
            return Candidates([way.make()])
    raise refuse_shape(search.shape, problem, [way.name for way in ways])


def _those_that_fit(ways: Sequence[Way]) -> list[Candidate]:
    """What these make, without those whose numbers doubles cannot hold; the first refusal where none is left."""
    found: list[Candidate] = []
    problem: PlanError | None = None
    for way in ways:
        try:
            with within_doubles():
                found.append(way.make())
        except PlanError as refused:
            problem = problem or refused
    if problem is not None and not found:
        raise problem
    return found


def check_name(name: str) -> None:
    """Refuse the name of a shape that is not private as claimed."""
    if name.replace("-", "_") in ("rank_one", "r1smg"):
        raise PlanError(
            f"shape={name!r}",
            "the rank-one singular mechanism is not private as claimed (docs/errata.md)",
            "leave out shape=; gaussmith.catalogue.rank_one is there to study it",
            code="shape-not-private",
            shape=name,
        )


def refuse_shape(name: str, problem: Problem[Domain], names: Sequence[str]) -> PlanError:
    """Why a shape cannot be had here, and which can: a name that no shape has, or one that does not fit."""
    usable = list(dict.fromkeys([BEST, *names]))
    if name in _MADE_FOR:
        what = f"shape={name!r} for {type(problem.domain).__name__} under {problem.neighbours}"
        return PlanError(
            what, _MADE_FOR[name], f"choose one of: {', '.join(usable)}", code="shape-not-for-this-problem", shape=name
        )
    rule = "it names a shape that fits the domain"
    return PlanError(f"shape={name!r}", rule, nearest(name, usable), code="unknown-shape", shape=name)
