"""Candidates: the shapes of noise that fit a problem, all of them or one by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.doubles import within_doubles
from gaussmith.problem import Domain, Law, Problem
from gaussmith.shapes import Shape, price
from gaussmith.values import dataclass

Progress = Callable[[int, float], None]

BEST = "best"

_MADE_FOR = {
    "lifted": "this shape is for boxes, balls and Gaussian data",
    "elliptical": "this shape is for sums and means of the columns of a box",
    "isotropic": "this shape is for sums and means of columns, and for single entries of counts and sparse vectors",
    "solved": "this shape is for boxes under add-remove, for a matrix of answers of a box under "
    "replace-one, and for points, cells and counts without a closed form",
    "wide": "this shape is for sums of many columns under add-remove, at most ten of them much wider than the others",
    "clipped": "this shape is for Gaussian data",
    "two-level": "this shape is for counts, votes and cells that all have the same weight",
    "water-filled": "this shape is for sparse vectors",
    "even": "this shape is for counts of single cells",
    "residuals": "this shape is for marginals of cells",
    "reflected": "this shape is for prefix sums and ranges of more than 512 cells",
    "levelled": "this shape is for trees of more than 512 cells",
}
"""The names of shapes, and where each can be used."""


@dataclass(frozen=True)
class Search:
    """What to look for: the best shape or one by name, at this μ; solved shapes are solved to this gap."""

    shape: str
    mu: float
    gap: float | None = None
    progress: Progress | None = None


@dataclass(frozen=True, eq=False)
class Candidate:
    """A shape that fits, and optionally a law that bounds every shape."""

    shape: Shape
    law: Law | None = None
    domain: Domain | None = None
    """The domain of the shape, if it is chosen with the shape; otherwise that of the problem."""

    def fitted(self, problem: Problem[Domain]) -> Problem[Domain]:
        """The problem with the domain of the shape."""
        return problem if self.domain is None else problem.over(self.domain)

    def price(self, problem: Problem[Domain]) -> float:
        """What the shape is chosen by, for the problem that it fits."""
        return price(self.shape, self.fitted(problem))


@dataclass(frozen=True, eq=False)
class Candidates:
    """The shapes that fit, in order of preference; and the total errors of others, for comparison only."""

    found: list[Candidate]
    compared: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Way:
    """A method of making a candidate: its name, and whether it is tried by default."""

    name: str
    make: Callable[[], Candidate]
    tried: bool = True


def try_ways(ways: Sequence[Way], problem: Problem[Domain], search: Search) -> Candidates:
    """The candidates of these methods: all default ones that fit in doubles, or the one requested by name."""
    if search.shape == BEST:
        return Candidates(_those_that_fit([way for way in ways if way.tried]))
    for way in ways:
        if way.name == search.shape:
            return Candidates([way.make()])
    raise refuse_shape(search.shape, problem, [way.name for way in ways])


def _those_that_fit(ways: Sequence[Way]) -> list[Candidate]:
    """The results of these calls, without those that overflow doubles; the first refusal if none is left."""
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
    """The error for an unknown shape or one that does not fit, with the shapes that do."""
    usable = list(dict.fromkeys([BEST, *names]))
    if name in _MADE_FOR:
        what = f"shape={name!r} for {type(problem.domain).__name__} under {problem.neighbours}"
        return PlanError(
            what, _MADE_FOR[name], f"choose one of: {', '.join(usable)}", code="shape-not-for-this-problem", shape=name
        )
    rule = "it must be a shape that fits the domain"
    return PlanError(f"shape={name!r}", rule, nearest(name, usable), code="unknown-shape", shape=name)
