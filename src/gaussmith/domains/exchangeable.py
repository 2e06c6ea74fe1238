"""Shapes for records that are symmetric in all coordinates: counts of items, rankings.

One noise size along the sum of all coordinates and another orthogonal to it; if the number of records is asked for and
secret, a third coordinate for it. Optimal if all answers have the same weight. For other answers the same noise is
decoded differently, in addition to a solved shape if the records can be listed.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.box_strategies import check_lost
from gaussmith.domains.domain import Domain, Problem, WorstCase, even_moment, free_marks
from gaussmith.domains.strategies import Candidate, Strategy
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Dense, Exchangeable, Matrix
from gaussmith.numerics.trace_roots import root_of
from gaussmith.numerics.two_level import TwoLevel, cells, counts, votes

if TYPE_CHECKING:
    from gaussmith.domains.uncentred import Listed


# The solved shape for records that can be listed: any answers, at the optimum to a stated gap.

GAP = 1e-4
"""Relative gap to the certified optimum for listed records."""

MAX_SOLVED = 1024
"""Limit on records for the numerical solver; beyond it, closed forms with a certified distance are used."""

MAX_ANSWERS = 256
"""Limit on answers for the numerical solver."""


def solved_records(problem: Problem[Listed], gap: float | None) -> list[Candidate]:
    """The solved shape, if there are few records and the solver can decode every answer; otherwise nothing."""
    listed = problem.domain.records(MAX_SOLVED)
    if listed is None or problem.features.size > MAX_ANSWERS:
        return []
    with suppress(PlanError):  # scales too far apart for doubles: the closed forms do not have this problem
        return [_solved(problem, listed, GAP if gap is None else gap)]
    return []


def _solved(problem: Problem[Listed], listed: Array, gap: float) -> Candidate:
    from gaussmith.numerics.solver import solve

    size, root, counted = problem.features.size, problem.root_weights, problem.asks_secret_count
    rows = problem.rows * problem.domain.coded[1] * root
    if counted:
        rows = np.pad(rows, ((0, 1), (0, 1)))
        rows[-1, -1] = problem.root_count_weight
        listed = np.hstack([listed, np.ones((len(listed), 1))])
    best = solve(listed @ rows.T, pairs=not problem.secret_count, gap=gap)
    lift = best.lift @ rows
    decoded = best.decode @ lift
    public = None
    if not problem.secret_count:
        # The part that is the same in every record needs no noise: it comes from the public number of records.
        middle = listed.mean(axis=0)
        public = (rows @ middle - decoded @ middle) / root[:, 0]
        check_lost(best.decode, (decoded - rows) @ (listed - middle).T)
    else:
        check_lost(best.decode, (decoded - rows) @ listed.T)
    features = best.decode / np.vstack([root, [[problem.root_count_weight]]])[: len(rows)]
    assert len(features) == size + counted
    law = WorstCase("listed", best.lower, {"weights": best.weights / best.weights.sum()})
    return Candidate(Strategy("solved", Dense(lift), Dense(features), counted, public), law)


NAME = "two-level"

MAX_DENSE = 1500
"""Limit on coordinates and answers for an explicit moment matrix."""


@dataclass(frozen=True, eq=False)
class EvenNoise:
    """Noise for answers of equal weight: the lift of records, and its inverse to coordinates (and their number).

    `mean` is the average of each coordinate over records, if all records have the same sum and it is public.
    """

    lift: Exchangeable
    decode: Exchangeable
    counted: bool
    law: WorstCase
    mean: float | None = None


def exchangeable(problem: Problem[Any], even: EvenNoise, gap: float | None = None) -> list[Candidate]:
    """The shapes that fit, given the best noise at equal weights (of `common_weight`, or 1): that one comes first."""
    weight = problem.common_weight
    law = even.law if weight else _bound(problem, even.law)
    found = [Candidate(Strategy(NAME, even.lift, *_read(problem, even)), law)]
    if weight is None:
        found += solved_records(problem, gap)
    return found


def even_marks(problem: Problem[Domain]) -> EvenNoise:
    """The best noise for marks of equal weight. The number of records, if it is secret and asked, has its own noise, or
    is the sum of all marks where each record has one."""
    domain, neighbours, weight = problem.domain, problem.neighbours, problem.common_weight or 1.0
    d, most, asked = domain.dimension, free_marks(domain), problem.asks_secret_count
    if most is not None and asked:
        best = counted_levels(d, most, problem.count_weight / weight)
        norm = domain.sensitivity(best.lift, neighbours)
        levels = np.column_stack([best.levels, np.zeros_like(best.levels), best.shares])
        law = WorstCase("levels", weight * best.lower, {"levels": levels[best.shares > 0]})
        return EvenNoise(
            best.lift.scaled(np.full(d + 1, 1 / norm)), best.decode.scaled(np.full(d + 1, norm)), True, law
        )
    if most is not None:
        level, mean = counts(d, most, neighbours), None
    else:
        level = cells(d, neighbours, 1.0 + d * problem.count_weight / weight if asked else 1.0)
        mean = None if problem.secret_count else 1.0 / d
    rows = [((t + delta) // 2, (t - delta) // 2, share) for (t, delta), share in level.law]
    law = WorstCase("levels", weight * level.lower, {"levels": np.array(rows, float)})
    return EvenNoise(*_pair(level, 1.0 if asked else None), asked, law, mean)


def even_rankings(problem: Problem[Domain]) -> EvenNoise:
    """The best noise for rankings, whose points always have the same sum."""
    d, weight, asked = problem.domain.dimension, problem.common_weight or 1.0, problem.asks_secret_count
    per_record = d * (d - 1) / 2
    level = votes(d, problem.neighbours, 1.0 + d * problem.count_weight / (weight * per_record**2) if asked else 1.0)
    law = WorstCase("rankings", weight * level.lower)
    mean = None if problem.secret_count else (d - 1) / 2
    return EvenNoise(*_pair(level, per_record if asked else None), asked, law, mean)


def _pair(level: TwoLevel, per_record: float | None) -> tuple[Exchangeable, Exchangeable]:
    """The lift and its inverse; with `per_record` the number of records too, read from the sum of all coordinates."""
    d = level.dimension
    a, b = level.lift()
    along = 1.0 / level.a1 if level.a1 else 0.0
    lift = Exchangeable(d, a, b)
    shared = ((1.0 / along if along else 0.0) - 1.0 / a) / d if d > 1 else 0.0
    tail = None if per_record is None else (1.0 / (per_record * along), 0.0)
    return lift, Exchangeable(d, 1.0 / a, shared, None, tail)


def _read(problem: Problem[Domain], even: EvenNoise) -> tuple[Matrix, bool, Array | None]:
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


def _bound(problem: Problem[Domain], law: WorstCase) -> WorstCase:
    """The bound for other answers proved by the law of equal weights."""
    d = problem.domain.dimension
    if max(d, problem.features.size) > MAX_DENSE:
        return WorstCase(law.kind, 0.0, law.numbers)
    rows = problem.weighted_rows
    root = root_of(rows @ even_moment(law, d, problem.secret_count, rows.shape[1] > d) @ rows.T)
    return WorstCase(law.kind, root * root, law.numbers)


# Counts of at most k ones together with a secret number of records: symmetric in all coordinates but the last.
#
# A record is (x, 1) with x in {0,1}^d, j ≤ k ones. Swapping coordinates changes nothing, so the best shape is
#
#     a₂² (I − 11ᵀ/d)   across,   and a 2 × 2 block for (Σx/√d, √e·1),
#
# e being the weight of the number of records. By its level j a record has squared size j(d−j)/d across, and the point
# (j/√d, √e) in the block. The same problem, with every record of a level as one, has three coordinates:
#
#     (± √((d−1) j(d−j)/d),  j/√d,  √e),      j = 0 … k,
#
# and is solved as such: the first coordinate stands for the d−1 directions across, and its sign is free.

LEVEL_GAP = 1e-6
"""Relative gap to the certified optimum for the three coordinates."""


@dataclass(frozen=True, eq=False)
class CountedLevels:
    """A shape at μ = 1 up to its last rounding: the caller certifies the largest norm of the lift and scales it.

    `lift` acts on (Σx, n) and `decode` takes lifted coordinates back to (Σx, n); `levels` and `shares` are the law that
    proves that no Gaussian noise has a total below `lower`.
    """

    lift: Exchangeable
    decode: Exchangeable
    levels: Array
    shares: Array
    lower: float


def counted_levels(dimension: int, at_most: int, extra: float) -> CountedLevels:
    """The best shape for d counts and the number of records, whose squared error counts `extra` times, add-remove.

    Requires (owed): 1 ≤ at_most ≤ dimension, extra > 0.

    >>> best = counted_levels(2, 2, 1.0)
    >>> round(best.lower, 3)                            # all four records (x, 1), solved one by one
    4.949
    """
    d, k = dimension, at_most
    j = np.arange(k + 1.0)
    z, u = np.sqrt((d - 1) * j * (d - j) / d), j / math.sqrt(d)
    t = np.full(k + 1, math.sqrt(extra))
    both = z > 0
    points = np.vstack([np.column_stack([z, u, t]), np.column_stack([-z, u, t])[both]])
    from gaussmith.numerics.solver import solve

    best = solve(points, gap=LEVEL_GAP)
    share = best.weights[: k + 1].copy()
    share[both] += best.weights[k + 1 :]
    share /= share.sum()
    return _shape(d, extra, j, share)


def _shape(d: int, extra: float, j: Array, share: Array) -> CountedLevels:
    across = float(share @ ((d - 1) * j * (d - j) / d))
    first, second = float(share @ j), float(share @ (j * j))
    B = np.array([[second / d, first * math.sqrt(extra / d)], [first * math.sqrt(extra / d), extra]])
    # √B = (B + √det·I)/√(tr B + 2√det), and det = e·Var(j)/d without cancellation.
    variance = float(share @ ((j - first) ** 2))
    det = math.sqrt(extra * variance / d)
    trace_block = math.sqrt(B[0, 0] + B[1, 1] + 2 * det)
    trace = math.sqrt(across) + trace_block
    inverse = np.array([[B[1, 1] + det, -B[0, 1]], [-B[0, 1], B[0, 0] + det]]) / (det * trace_block * trace)
    g1 = math.sqrt(inverse[0, 0])
    g2 = inverse[0, 1] / g1
    # The corner of the triangular factor from the determinant: subtracting squares would lose digits.
    h = 1.0 / (math.sqrt(det) * trace * g1)
    a = math.sqrt((d - 1) / (trace * math.sqrt(across))) if across > 0 else g1
    c, f = g2 * math.sqrt(extra / d), h * math.sqrt(extra)
    lift = Exchangeable(d, a, (g1 - a) / d, c, (0.0, f))
    decode = Exchangeable(d, 1 / a, (1 / g1 - 1 / a) / d, -c / (g1 * f), (0.0, 1 / f))
    return CountedLevels(lift, decode, j, share, trace * trace * (1.0 - 2.0**-40))
