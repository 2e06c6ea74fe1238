"""Shapes for records that are symmetric in all coordinates: counts of items, rankings.

One noise size along the sum of all coordinates and another orthogonal to it; if the number of records is asked for and
secret, a third coordinate for it. Optimal if all answers have the same weight. For other answers the same noise is
decoded differently, in addition to a solved shape if the records can be listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.levels import counted
from gaussmith.numerics.linear import Array, Dense, Exchangeable, Matrix
from gaussmith.numerics.trace_roots import root_of
from gaussmith.numerics.two_level import TwoLevel, counts, votes
from gaussmith.problem import Domain, Law, Problem
from gaussmith.problem.law import even_moment
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate
from gaussmith.shapes.solved_records import solved_records
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.domains import Counts
    from gaussmith.domains.uncentred import Listed

NAME = "two-level"

MAX_DENSE = 1500
"""Limit on coordinates and answers for an explicit moment matrix."""


@dataclass(frozen=True, eq=False)
class Even:
    """Noise for answers of equal weight: the lift of records, and its inverse to coordinates (and their number).

    `mean` is the average of each coordinate over records, if all records have the same sum and it is public.
    """

    lift: Exchangeable
    decode: Exchangeable
    counted: bool
    law: Law
    mean: float | None = None


def exchangeable(problem: Problem[Listed], even: Even, gap: float | None = None) -> list[Candidate]:
    """The shapes that fit, given the best noise at equal weights (of `common_weight`, or 1): that one comes first."""
    weight = problem.common_weight
    law = even.law if weight else _bound(problem, even.law)
    found = [Candidate(Shape(NAME, even.lift, *_read(problem, even)), law)]
    if weight is None:
        found += solved_records(problem, gap)
    return found


def even_counts(problem: Problem[Counts]) -> Even:
    """The best noise for counts of equal weight; the number of records, if it is secret and asked, has its own."""
    domain, neighbours, weight = problem.domain, problem.neighbours, problem.common_weight or 1.0
    d = domain.dimension
    if problem.asks_secret_count:
        best = counted(d, domain.at_most, problem.count_weight / weight)
        norm = domain.largest(best.lift, neighbours)
        levels = np.column_stack([best.levels, np.zeros_like(best.levels), best.shares])
        law = Law("levels", weight * best.lower, {"levels": levels[best.shares > 0]})
        return Even(best.lift.scaled(np.full(d + 1, 1 / norm)), best.decode.scaled(np.full(d + 1, norm)), True, law)
    level = counts(d, domain.at_most, neighbours)
    rows = [((t + delta) // 2, (t - delta) // 2, share) for (t, delta), share in level.law]
    if problem.secret_count:
        rows = [(t, 0, share) for (t, _), share in level.law]
    law = Law("levels", weight * level.lower, {"levels": np.array(rows, float)})
    return Even(*_pair(level, None), False, law)


def even_rankings(problem: Problem[Domain]) -> Even:
    """The best noise for rankings, whose points always have the same sum."""
    d, weight, asked = problem.domain.dimension, problem.common_weight or 1.0, problem.asks_secret_count
    per_record = d * (d - 1) / 2
    level = votes(d, problem.neighbours, 1.0 + d * problem.count_weight / (weight * per_record**2) if asked else 1.0)
    law = Law("rankings", weight * level.lower)
    mean = None if problem.secret_count else (d - 1) / 2
    return Even(*_pair(level, per_record if asked else None), asked, law, mean)


def _pair(level: TwoLevel, per_record: float | None) -> tuple[Exchangeable, Exchangeable]:
    """The lift and its inverse; with `per_record` the number of records too, read from the sum of all coordinates."""
    d = level.dimension
    a, b = level.lift()
    along = 1.0 / level.a1 if level.a1 else 0.0
    lift = Exchangeable(d, a, b)
    shared = ((1.0 / along if along else 0.0) - 1.0 / a) / d if d > 1 else 0.0
    tail = None if per_record is None else (1.0 / (per_record * along), 0.0)
    return lift, Exchangeable(d, 1.0 / a, shared, None, tail)


def _read(problem: Problem[Domain], even: Even) -> tuple[Matrix, bool, Array | None]:
    """What reads the answers back, whether the count is among them, and the public part."""
    wanted, d = problem.features, problem.domain.dimension
    public = None
    if even.mean is not None:
        public = np.full(wanted.size, even.mean) if wanted.matrix is None else wanted.matrix.sum(axis=1) * even.mean
    if problem.asks_each_once:
        return even.decode, even.counted, public
    D = even.decode.dense()
    rows = wanted.matrix @ D[:d] if wanted.matrix is not None else D[wanted.index]
    return Dense(np.vstack([rows, D[d:]]) if even.counted else rows), even.counted, public


def _bound(problem: Problem[Domain], law: Law) -> Law:
    """The bound for other answers proved by the law of equal weights."""
    d = problem.domain.dimension
    if max(d, problem.features.size) > MAX_DENSE:
        return Law(law.kind, 0.0, law.numbers)
    rows = problem.weighted_rows
    root = root_of(rows @ even_moment(law, d, problem.secret_count, rows.shape[1] > d) @ rows.T)
    return Law(law.kind, root * root, law.numbers)
