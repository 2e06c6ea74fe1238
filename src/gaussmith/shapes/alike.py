"""Shapes for records that look alike from every coordinate: counts of items, rankings.

Noise of one size along the sum of all coordinates and of another across it; where the number of records is asked and
secret, a third coordinate for it. Optimal when all answers weigh the same. For other answers the same noise is read
out otherwise, beside a solved shape where the records are few enough to be listed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussmith.answers import Answers
from gaussmith.domains import Counts, Votes
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.levels import counted
from gaussmith.numerics.linear import Array, Dense, Exchangeable, Matrix
from gaussmith.numerics.two_level import TwoLevel, counts, votes
from gaussmith.shapes import Candidate, Shape
from gaussmith.shapes.laws import Law, root_of
from gaussmith.shapes.listed import solved_records

NAME = "two-level"
_DENSE = 1500


@dataclass(frozen=True, eq=False)
class _Even:
    """Noise for answers that all weigh 1: what takes the records to it, and back to coordinates (and their number)."""

    lift: Exchangeable
    decode: Exchangeable
    counted: bool
    law: Law


def alike(domain: Counts | Votes, answers: Answers, neighbours: str, gap: float | None = None) -> list[Candidate]:
    """The shapes that fit, the best closed form first."""
    weight = _common_weight(domain, answers)
    base = _even(domain, neighbours, answers.count, weight or 1.0)
    law = base.law if weight else _bound(domain, answers, neighbours, base.law)
    shape = Shape(NAME, base.lift, *_read(domain, answers, neighbours, base))
    found = [Candidate(shape, law)]
    if weight is None:
        found += solved_records(domain, answers, neighbours, gap)
    return found


def _common_weight(domain: Counts | Votes, answers: Answers) -> float | None:
    """The weight of every coordinate, if each is asked once and all weigh the same."""
    d = domain.dimension
    if answers.matrix is not None or answers.size != d or not np.array_equal(answers.index, np.arange(d)):
        return None
    return float(answers.weights[0]) if (answers.weights == answers.weights[0]).all() else None


def _even(domain: Counts | Votes, neighbours: str, count: bool, weight: float) -> _Even:
    """The best noise when every coordinate weighs `weight` and the number of records, if it is secret and asked, 1."""
    d = domain.dimension
    asked = count and neighbours == ADD_REMOVE
    if isinstance(domain, Counts) and asked:
        best = counted(d, domain.at_most, 1.0 / weight)
        norm = domain.largest(best.lift, neighbours)
        levels = np.column_stack([best.levels, np.zeros_like(best.levels), best.shares])
        law = Law("levels", weight * best.lower, {"levels": levels[best.shares > 0]})
        return _Even(best.lift.scaled(np.full(d + 1, 1 / norm)), best.decode.scaled(np.full(d + 1, norm)), True, law)
    if isinstance(domain, Counts):
        level = counts(d, domain.at_most, neighbours)
        rows = [((t + delta) // 2, (t - delta) // 2, share) for (t, delta), share in level.law]
        if neighbours == ADD_REMOVE:
            rows = [(t, 0, share) for (t, _), share in level.law]
        law = Law("levels", weight * level.lower, {"levels": np.array(rows, float)})
        return _Even(*_pair(level, None), False, law)
    per_record = float(domain.points)
    level = votes(d, neighbours, 1.0 + d / (weight * per_record**2) if asked else 1.0)
    law = Law("rankings", weight * level.lower)
    return _Even(*_pair(level, per_record if asked else None), asked, law)


def _pair(level: TwoLevel, per_record: float | None) -> tuple[Exchangeable, Exchangeable]:
    """The lift and its inverse; with `per_record` the number of records too, read from the sum of all coordinates."""
    d = level.dimension
    a, b = level.lift()
    along = 1.0 / level.a1 if level.a1 else 0.0
    lift = Exchangeable(d, a, b)
    shared = ((1.0 / along if along else 0.0) - 1.0 / a) / d if d > 1 else 0.0
    tail = None if per_record is None else (1.0 / (per_record * along), 0.0)
    return lift, Exchangeable(d, 1.0 / a, shared, None, tail)


def _read(domain: Counts | Votes, answers: Answers, neighbours: str, base: _Even) -> tuple[Matrix, bool, Array | None]:
    """What reads the answers back, whether the count is among them, and the public part."""
    public = None
    if isinstance(domain, Votes) and neighbours != ADD_REMOVE:  # all ballots have the same points together
        mean = (domain.dimension - 1) / 2
        public = np.full(answers.size, mean) if answers.matrix is None else answers.matrix.sum(axis=1) * mean
    d = domain.dimension
    if answers.matrix is None and np.array_equal(answers.index, np.arange(d)):
        return base.decode, base.counted, public
    D = base.decode.dense()
    rows = answers.matrix @ D[:d] if answers.matrix is not None else D[answers.index]
    return Dense(np.vstack([rows, D[d:]]) if base.counted else rows), base.counted, public


def _bound(domain: Counts | Votes, answers: Answers, neighbours: str, law: Law) -> Law:
    """The bound that the law of equal weights proves for other answers."""
    if max(domain.dimension, answers.size) > _DENSE:
        return Law(law.kind, 0.0, law.numbers)
    rows = scaled_rows(answers, domain.dimension, neighbours)
    root = root_of(rows @ even_moment(domain, law, neighbours, rows.shape[1] > domain.dimension) @ rows.T)
    return Law(law.kind, root * root, law.numbers)


def scaled_rows(answers: Answers, dimension: int, neighbours: str) -> Array:
    """What each answer takes from a record; and, where the count is asked and secret, from a last coordinate, 1."""
    root = np.sqrt(answers.weights)[:, None]
    rows = answers.matrix if answers.matrix is not None else np.eye(dimension)[answers.index]
    rows = rows * root
    if answers.count and neighbours == ADD_REMOVE:
        rows = np.pad(rows, ((0, 1), (0, 1)))
        rows[-1, -1] = 1.0
    return np.asarray(rows)


def even_moment(domain: Counts | Votes, law: Law, neighbours: str, counted: bool) -> Array:
    """E[s sᵀ] of a law that is alike in all coordinates; with the number of records as one more coordinate if asked."""
    d = domain.dimension
    if law.kind == "rankings":
        size, total = (d - 1) * (2 * d - 1) / 6, d * (d - 1) / 2  # E x_j², Σ x_j
        own, other = size, (total * total - d * size) / (d * (d - 1))
        if neighbours != ADD_REMOVE:  # s = 2 (x − mean)
            own, other = 4 * (size - (total / d) ** 2), 4 * (other - (total / d) ** 2)
        first = total / d
    else:
        p, q, share = law.numbers["levels"].T
        own = float(share @ (p + q)) / d
        other = float(share @ ((p - q) ** 2 - (p + q))) / (d * (d - 1)) if d > 1 else 0.0
        first = float(share @ p) / d
    M = np.full((d, d), other)
    np.fill_diagonal(M, own)
    if counted:
        M = np.pad(M, ((0, 1), (0, 1)))
        M[-1, :d] = M[:d, -1] = first
        M[-1, -1] = 1.0
    return M
