"""Shapes of the noise, one file per method of choosing it. A shape never looks at data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gaussmith.domains.domain import Domain, Problem, WorstCase, free_marks
from gaussmith.domains.features import Features
from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.doubles import within_doubles
from gaussmith.numerics.exact import Array
from gaussmith.numerics.intervals import largest_of_runs
from gaussmith.numerics.matrices import Bordered, Dense, Diagonal, Matrix, matrix_from_dict
from gaussmith.numerics.packed_arrays import pack, unpack


@dataclass(frozen=True, eq=False)
class Strategy:
    """A shape at μ = 1: the lift that receives unit noise, and the features read back from it.

        y = lift · core + N(0, I),   feature = features · y  (+ n · public if the number of records is public)

    One row per feature of the problem; if `counted`, the number of records last.
    Requires ‖lift · s‖ ≤ 1 for every difference s of neighbours: certified again before every release.

    A shape around a centre lifts core − centre for everybody who is counted, and its features add the centre times a
    noisy number of everybody that another noise has: `people` has what each feature adds, `absent` what is lifted for
    somebody who is counted and not among the records. Once that noise is known, `features` has one more column, for it.
    """

    name: str
    lift: Matrix
    features: Matrix
    counted: bool
    public: Array | None = None
    people: Array | None = None
    absent: Array | None = None

    @property
    def is_lent(self) -> bool:
        """Whether the last column of the features is that of a noisy number which another noise has."""
        return self.people is not None and self.features.shape[1] > self.lift.shape[0]

    def variances(self) -> Array:
        """Of each feature, at μ = 1."""
        return self._variances

    @cached_property
    def _variances(self) -> Array:
        norms = self.features.row_norms()
        return norms * norms

    def to_dict(self) -> dict[str, Any]:
        """All but what another noise lends."""
        features = self.features.without_last() if self.is_lent else self.features
        fields = {
            "name": self.name,
            "lift": self.lift.to_dict(),
            "features": features.to_dict(),
            "counted": self.counted,
            "public": None if self.public is None else pack(self.public),
        }
        told = {name: value for name, value in (("people", self.people), ("absent", self.absent)) if value is not None}
        return fields | {name: value.tolist() for name, value in told.items()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Strategy:
        public = fields["public"]
        return cls(
            str(fields["name"]),
            matrix_from_dict(fields["lift"]),
            matrix_from_dict(fields["features"]),
            bool(fields["counted"]),
            None if public is None else unpack(public),
            *(np.array(fields[name], float) if name in fields else None for name in ("people", "absent")),
        )


def price(shape: Strategy, problem: Problem[Domain]) -> float:
    """What a shape is chosen by, at μ = 1: the weighted total, or the largest variance over a squared target."""
    return price_of(shape.variances(), shape.counted, problem.features)


def price_of(variances: Array, counted: bool, features: Features) -> float:
    """The same from the variance of each feature; that of the number of records is the last, if it is counted."""
    if features.targets is None:
        return total_of(variances, counted, features)
    count = features.count_weight * float(variances[-1]) if counted else 0.0
    return max(float((variances[: features.size] / features.targets**2).max()), count)


def total_of(variances: Array, counted: bool, features: Features) -> float:
    """The weighted total, whatever was made small."""
    count = features.count_weight * float(variances[-1]) if counted else 0.0
    return float(features.weights @ variances[: features.size]) + count


# Candidates: the shapes of noise that fit a problem, all of them or one by name.

Progress = Callable[[int, float], None]

BEST = "best"

_MADE_FOR = {
    "lifted": "this shape is for boxes, balls and Gaussian data",
    "elliptical": "this shape is for sums and means of the columns of a box",
    "isotropic": "this shape is for sums and means of columns, and for single entries of counts and sparse vectors",
    "solved": "this shape is for boxes under add-remove, for a matrix of answers of a box under "
    "replace-one, and for points, cells and counts without a closed form",
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

    shape: Strategy
    law: WorstCase | None = None
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
        what, rule = f"shape={name!r}", "the rank-one singular mechanism is not private as claimed (docs/errata.md)"
        remedy = "leave out shape=; gaussmith.papers.rank_one is there to study it"
        raise PlanError(what, rule, remedy, code="shape-not-private", shape=name)


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


# The lifted shape: noise on each record's offset from the centre and on a constant that counts it.
#
# Under add-remove a box [l, u] is not centred at zero; noise around its centre does not depend on where the box lies.
# With centre c, half ranges r, weights ω and E the weight of the count,
#
#     T = Σ √ω_j r_j + √E,   lift_j² = √ω_j r_j / T,   lift_count² = √E / T,   total variance T².
#
# [0, 1]^d gives correlated noise of (√d + 1)/2 per sum; a box around zero gives the elliptical mechanism; for means
# T² is the optimum. Under replace-one the number of records is public, E = 0, and differences are twice as long.


def lifted(problem: Problem[Domain], name: str) -> Strategy:
    """The lifted shape of a box."""
    parts = np.sqrt(problem.coordinate_weights) * problem.domain.radius
    return _lifted(problem, name, parts, parts.sum())


def lifted_round(problem: Problem[Domain], name: str) -> Strategy:
    """The lifted shape of a ball or an ellipsoid.

    Cores fill the unit ball, so noise on them is round for any weights: only its share relative to the count depends
    on them.
    """
    parts = np.full(problem.domain.dimension, np.sqrt(problem.coordinate_weights @ problem.domain.radius**2))
    return _lifted(problem, name, parts, parts[0])


def _lifted(problem: Problem[Domain], name: str, parts: Array, whole: float) -> Strategy:
    E = problem.offset_weight if problem.secret_count else 0.0
    T = whole + np.sqrt(E)
    entries = np.sqrt(parts / T)
    if not problem.secret_count:
        half = entries / 2
        return Strategy(name, Diagonal(half), *read_features(problem, half, None))
    last = np.sqrt(np.sqrt(E) / T)
    return Strategy(name, Diagonal(np.append(entries, last)), *read_features(problem, entries, float(last)))


def read_features(problem: Problem[Domain], entries: Array, last: float | None) -> tuple[Matrix, bool, Array | None]:
    """What reads the features back, whether the count is among them, and the public part."""
    asked, radius = problem.features, problem.domain.coded[1]
    beta = np.divide(radius, entries, out=np.zeros_like(radius), where=entries > 0)
    if last is None:
        if asked.matrix is not None:
            return Dense(asked.matrix * beta), False, problem.coded_offsets
        rows = Bordered(asked.index, beta[asked.index], np.zeros(asked.size), len(entries))
        return rows, False, problem.coded_offsets
    columns = len(entries) + 1
    per_count = 1.0 / last if last > 0 else 0.0
    counted = last > 0
    border = problem.coded_offsets * per_count
    if asked.matrix is not None:
        dense = np.column_stack([asked.matrix * beta, border])
        tail = np.zeros((1, columns))
        tail[0, -1] = per_count
        return Dense(np.vstack([dense, tail]) if counted else dense), counted, None
    index, inner = asked.index, beta[asked.index]
    if counted:
        index = np.append(index, columns - 1)
        inner, border = np.append(inner, per_count), np.append(border, 0.0)
    return Bordered(index, inner, border, columns), counted, None


# Shapes with independent noise on each coordinate: isotropic (the standard Gaussian mechanism) and elliptical.
#
# With b_j the largest absolute value of coordinate j (of its distance from the centre for means) and a row for the
# count if means or the count need it,
#
#     isotropic:   σ_j² = S/ω_j,          S = Σ ω_j b_j²    (equal noise on every answer once scaled to its weight)
#     elliptical:  σ_j² = b_j T/√ω_j,     T = Σ √ω_j b_j    (Pagh–Lebeda)

_KNOWN: WeakKeyDictionary[Problem[Domain], Strategy] = WeakKeyDictionary()


def isotropic(problem: Problem[Domain]) -> Strategy:
    """The standard Gaussian mechanism: equal noise on every coordinate, measured in units of its weight."""
    found = _KNOWN.get(problem)  # a plan is compared with it again
    if found is None:
        omega, offset, extra = _coordinates(problem)
        found = _KNOWN[problem] = _isotropic(problem, float(omega @ _reach(problem, offset) ** 2) + extra)
    return found


def isotropic_round(problem: Problem[Domain]) -> Strategy:
    """The standard Gaussian mechanism in a ball."""
    omega, offset, extra = _coordinates(problem)
    root, radius = np.sqrt(omega), float(problem.domain.radius[0])
    if problem.secret_count:
        return _isotropic(problem, (np.linalg.norm(root * offset) + radius * root.max()) ** 2 + extra)
    return _isotropic(problem, (2 * radius * root.max()) ** 2)


def isotropic_uncentred(problem: Problem[Domain]) -> Strategy:
    """The standard Gaussian mechanism for records counted as they are, with the largest norm from the domain."""
    omega, _, extra = _coordinates(problem)
    domain = problem.domain
    entries = np.sqrt(omega) * domain.radius
    plain = Diagonal(np.append(entries, np.sqrt(extra)) if extra else entries)
    S = domain.sensitivity(plain, problem.neighbours)
    last = float(np.sqrt(extra) / S) if extra else None
    return Strategy("isotropic", Diagonal(plain.entries / S), *read_features(problem, entries / S, last))


def elliptical(problem: Problem[Domain]) -> Strategy:
    """Noise on each coordinate in proportion to the square root of its range (Pagh–Lebeda), for boxes."""
    omega, offset, extra = _coordinates(problem)
    reach = _reach(problem, offset)
    T = float(np.sqrt(omega) @ reach) + np.sqrt(extra)
    sigma = np.sqrt(reach * T / np.sqrt(omega))
    return _coordinatewise("elliptical", problem, sigma, offset, extra, np.sqrt(T * np.sqrt(extra)))


def has_standard_shape(problem: Problem[Domain]) -> bool:
    """Whether the standard Gaussian mechanism is a shape over the coordinates, and not noise on each answer."""
    domain = problem.domain
    if domain.compared_by_norm or (domain.has_products and not problem.secret_count):
        return False
    return problem.features.matrix is None or domain.shape_follows_mu


def standard_reach(problem: Problem[Domain]) -> float | None:
    """Δ: the largest norm of all answers together, each scaled to its weight; None where it is not known."""
    if problem.domain.has_products:
        return None
    try:
        square = _square_of_marks(problem) if problem.domain.compared_by_norm else _square_of_bounds(problem)
    except PlanError:  # too many records to visit
        return None
    return float(np.sqrt(square + problem.secret_count_weight))


def _square_of_bounds(problem: Problem[Domain]) -> float:
    W, domain = problem.rows, problem.domain
    reach = np.abs(W) @ domain.radius
    reach = np.abs(W @ domain.centre) + reach if problem.secret_count else 2 * reach
    return float(problem.features.weights @ (reach * reach))


def _square_of_marks(problem: Problem[Domain]) -> float:
    domain, features, secret = problem.domain, problem.features, problem.secret_count
    if (work := features.marginals) is not None:  # a record is in one cell of each
        asked = [(way, float(features.weights[at])) for way, at in zip(work.ways, work.offsets, strict=True)]
        return sum(w * (1.0 if secret else 2.0 * (way != ())) for way, w in asked)
    if (runs := features.runs) is not None:
        alone = secret or free_marks(domain) is not None
        return largest_of_runs(*runs.places, runs.cells, features.weights, pairs=not secret, alone=alone)
    return domain.sensitivity(_answers_of_core(problem), problem.neighbours) ** 2


def _answers_of_core(problem: Problem[Domain]) -> Matrix:
    """What the answers take from the core, each scaled to its weight."""
    domain = problem.domain
    if domain.core_map is not None:
        return Dense(problem.rows * problem.root_weights)
    if problem.features.matrix is None:
        return Diagonal(np.sqrt(problem.coordinate_weights) * domain.radius)
    return Dense(problem.rows * problem.root_weights * domain.radius)


def _isotropic(problem: Problem[Domain], S: float) -> Strategy:
    omega, offset, extra = _coordinates(problem)
    return _coordinatewise("isotropic", problem, np.sqrt(S / omega), offset, extra, np.sqrt(S))


def _coordinates(problem: Problem[Domain]) -> tuple[Array, Array, float]:
    """Weight of each coordinate, where it is measured from, and the weight of the count (0: no row for it)."""
    asked, d = problem.features, problem.domain.dimension
    if asked.matrix is not None:
        what, rule = "noise on each coordinate for a matrix of answers", "this shape needs sums or means"
        raise PlanError(what, rule, "leave out shape=", code="coordinatewise-matrix")
    omega = problem.coordinate_weights
    if not problem.secret_count:
        return omega, np.zeros(d), 0.0
    summed = np.zeros(d, bool)
    summed[asked.index[~asked.centred]] = True
    return omega, np.where(summed, problem.domain.centre, 0.0), problem.count_weight


def _reach(problem: Problem[Domain], offset: Array) -> Array:
    """b: the largest difference of each coordinate."""
    radius = problem.domain.radius
    return radius + np.abs(offset) if problem.secret_count else 2 * radius


def _coordinatewise(
    name: str, problem: Problem[Domain], sigma: Array, offset: Array, extra: float, extra_scale: float
) -> Strategy:
    asked, d = problem.features, problem.domain.dimension
    centre, radius = problem.domain.coded
    index = np.arange(d)
    if not problem.secret_count:
        lift = Bordered(index, radius / sigma, np.zeros(d), d)
        features: Matrix = Bordered(asked.index, sigma[asked.index], np.zeros(asked.size), d)
        return Strategy(name, lift, features, False, problem.coded_offsets)
    inner, border = radius / sigma, np.where(offset != 0, centre, 0.0) / sigma
    if not extra:
        lift = Bordered(index, inner, border, d + 1)
        return Strategy(name, lift, Bordered(asked.index, sigma[asked.index], np.zeros(asked.size), d), False)
    count_sigma = extra_scale / np.sqrt(extra)
    lift = Bordered(np.append(index, d), np.append(inner, 1 / count_sigma), np.append(border, 0.0), d + 1)
    minus = np.where(asked.centred & (offset[asked.index] != 0), -centre[asked.index] * count_sigma, 0.0)
    features = Bordered(
        np.append(asked.index, d),
        np.append(sigma[asked.index], count_sigma),
        np.append(minus, 0.0),
        d + 1,
    )
    return Strategy(name, lift, features, True)
