"""Shapes around a centre: noise for what a person adds less a centre, where everybody who is counted adds the centre.

The centre comes back times a noisy number of everybody, which another noise has. What that number is worth outside
decides where the best centre is: the best noise for the features and √outside · 1 together has it, since every
person adds the same 1. In a triangular lift the last row sees that 1 alone; the other rows are the lift around the
centre (docs/theory.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from gaussmith.domains.box_strategies import check_lost
from gaussmith.domains.cell_strategies import GAP, MAX_SOLVED, question_of, way_back
from gaussmith.domains.cells import Cells
from gaussmith.domains.domain import Domain, Problem, WorstCase, records_are_rows
from gaussmith.domains.moment_strategies import Types, coded_rows, root_rows, solve_types, subsets, worths_of
from gaussmith.domains.moments import Moments
from gaussmith.domains.strategies import Strategy
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array, norm_upward
from gaussmith.numerics.intervals import Intervals
from gaussmith.numerics.marginals import ResidualDecode, ResidualLift, Residuals, plan_marginals
from gaussmith.numerics.matrices import Dense, Extended, Matrix
from gaussmith.numerics.stored import solve_once
from gaussmith.privacy.neighbours import ADD_REMOVE

if TYPE_CHECKING:
    pass


NAME = "centred"
"""What noise around a centre is called."""

MAX_TABLED = 4096
"""Limit on the cells of tables whose number of records comes from elsewhere: their covariances are written down."""

MAX_COLUMNS = 6
"""Limit on the columns whose squares and products are measured from a centre: all their vertices are visited."""


@dataclass(frozen=True, eq=False)
class Centred:
    """A shape around a centre at μ = 1, and a law on people, those who are counted and absent included.

    total:  of the noise of its own, weighted
    energy: what the squared error of the noisy number of everybody is worth because of it
    """

    shape: Strategy
    law: WorstCase
    total: float
    energy: float


def can_be_centred(problem: Problem[Domain]) -> bool:
    """Whether features of this domain are measured from a centre."""
    domain, features = problem.domain, problem.features
    if not problem.secret_count or features.targets is not None:
        return False
    if isinstance(domain, Cells) and features.marginals is not None:
        sizes = features.marginals.sizes
        return not domain.or_none and not features.count_weight and len(sizes) > 0 and sum(sizes) <= MAX_TABLED
    if isinstance(domain, Cells):
        one = domain.or_none and len(domain.sizes) == 1 and not features.count_weight
        return one and problem.common_weight is None and domain.dimension <= MAX_SOLVED
    if records_are_rows(domain):  # a person may be several of them, and the number of everybody counts people
        return False
    return isinstance(domain, Moments) and domain.columns_count <= MAX_COLUMNS


def centred_shape(problem: Problem[Domain], outside: float, everybody: bool) -> Centred:
    """The best shape around a centre, where the number of everybody is worth `outside` to others.

    `everybody`: whether all people who are counted are among the records; else some of them may be absent.
    Guarantee: private whatever the solver found, ‖lift · s‖ ≤ 1 for every difference and for somebody who is absent.
    """
    if problem.features.marginals is not None:
        return _of_tables(cast("Problem[Cells]", problem), everybody)
    if isinstance(problem.domain, Cells):
        return _of_cells(cast("Problem[Cells]", problem), outside, everybody)
    return _of_moments(cast("Problem[Moments]", problem), outside, everybody)


def _of_cells(problem: Problem[Cells], outside: float, everybody: bool) -> Centred:
    question = question_of(problem, False, closed=False)
    R, root = question.rows, np.sqrt(outside)
    points = np.vstack([R.T, np.zeros((1, len(R)))])
    points = np.hstack([points, np.full((len(points), 1), root)])
    best = solve_once(points, gap=GAP)
    r = len(R)
    if best.lift.shape != (r + 1, r + 1):
        raise _uncentred()
    T = np.linalg.qr(best.lift)[1][:r]
    lift = np.hstack([T[:, :r] @ R, T[:, r:] * root])
    norm = problem.domain.sensitivity(Dense(lift), ADD_REMOVE)
    lift, T = lift / norm, T / norm
    decode = np.asarray(np.linalg.inv(T[:, :r]), float)
    features = question.read(way_back(R, decode))
    check_lost(decode, decode @ (T[:, :r] @ R) - R)
    law = WorstCase("cells", 0.0, {"weights": best.weights / best.weights.sum()})
    return _made(problem, Dense(lift), features, -features.times(lift[:, -1]), everybody, law, lift[:, -1])


def _of_tables(problem: Problem[Cells], everybody: bool) -> Centred:
    """Tables of several columns, where everybody is in a cell: all residuals but the number of records.

    The uniform law is the best whatever that number is worth, and the others have mean 0 in it.
    """
    work = problem.features.marginals
    if work is None or not everybody:
        raise _uncentred()
    ways, weights = work.weighted_ways(problem.features.weights, 0.0)
    best = plan_marginals(work.shape, ways, weights, ADD_REMOVE)
    kept = [i for i, subset in enumerate(best.subsets) if subset != ()]
    residuals = Residuals(work.shape, work.ways, tuple(best.subsets[i] for i in kept), best.variances[kept])
    norm = ResidualLift(residuals).largest_norm(ADD_REMOVE)
    residuals = replace(residuals, variances=residuals.variances * (norm * norm * (1.0 + 2.0**-40)))
    people = np.repeat([1.0 / size for size in work.sizes], work.sizes)
    lift, features = ResidualLift(residuals), ResidualDecode(residuals, False)
    return _made(problem, lift, features, people, True, WorstCase("even", 0.0), people)


def _of_moments(problem: Problem[Moments], outside: float, everybody: bool) -> Centred:
    domain, worths = problem.domain, worths_of(problem)
    K, squares = subsets(domain.columns_count, 2**MAX_COLUMNS), domain.squares
    core, asked, q = domain.cores(K), np.flatnonzero(worths.alone), len(domain.squares)
    B = root_rows(worths.rows)
    # The block: squares, the record's own 1, and everybody's 1; where all are among the records the last two are one.
    columns = q + (1 if everybody else 2)
    block = np.zeros((len(B) + 1, columns))
    block[: len(B), : q + 1] = B
    block[-1, -1] = np.sqrt(outside)
    points = np.column_stack([core[:, squares], np.ones((len(K), columns - q))])
    alone = core[:, asked] ** 2 * worths.alone[asked]
    if not everybody:
        points = np.vstack([points, np.append(np.zeros(q + 1), 1.0)])
        alone = np.vstack([alone, np.zeros(len(asked))])
    block = root_rows(block)
    found = solve_types(Types(alone, points @ block.T), GAP / 10)
    T = np.linalg.qr((found.directions / np.sqrt(found.roots * found.trace)).T @ block)[1]
    if T.shape != (columns, columns):
        raise _uncentred()
    T, own = T[:-1], np.sqrt(worths.alone[asked] / (found.alone * found.trace))
    present = T[:, q:].sum(axis=1) if not everybody else T[:, q]
    lift = np.zeros((len(asked) + len(T), domain.dimension + 1))
    lift[np.arange(len(asked)), asked] = own
    lift[len(asked) :, squares], lift[len(asked) :, -1] = T[:, :q], present
    gone = np.append(np.zeros(len(asked)), T[:, -1])
    norm = domain.sensitivity(Dense(lift), ADD_REMOVE)
    norm = norm if everybody else max(norm, norm_upward(gone))
    lift, gone, T, own = lift / norm, gone / norm, T / norm, own / norm
    rows = coded_rows(problem)
    inside = [*squares] if everybody else [*squares, domain.dimension]
    decode = np.hstack([rows[:, asked] / own, rows[:, inside] @ np.linalg.inv(T[:, : len(inside)])])
    people = -decode @ gone + (rows[:, -1] if everybody else 0.0)
    back = decode @ lift
    back[:, -1] += people
    check_lost(decode, back - rows)
    vertices = K if everybody else np.vstack([K, np.zeros((1, domain.columns_count))])
    numbers = {"vertices": vertices, "weights": found.weights}
    if not everybody:
        numbers["present"] = np.append(np.ones(len(K)), 0.0)
    return _made(problem, Dense(lift), Dense(decode), people, everybody, WorstCase("moments", 0.0, numbers), gone)


def _made(
    problem: Problem[Domain],
    lift: Matrix,
    features: Matrix,
    people: Array,
    everybody: bool,
    law: WorstCase,
    gone: Array,
) -> Centred:
    counted = features.shape[0] > problem.features.size
    shape = Strategy(NAME, lift, features, counted, people=people, absent=None if everybody else gone)
    weights = problem.features.weights
    weights = np.append(weights, problem.count_weight) if counted else weights
    return Centred(shape, law, float(weights @ shape.variances()), float(weights @ (people * people)))


def lent(shape: Strategy, ratio: float) -> Strategy:
    """The shape with a column for the noisy number of everybody, whose noise is `ratio` times that of a lifted row."""
    assert shape.people is not None and not shape.is_lent
    if isinstance(shape.features, Intervals):
        each = shape.features
        last = -(each.inner @ shape.lift.dense()[:, -1]) * ratio
        features: Matrix = Intervals(each.starts, each.stops, np.column_stack([each.inner, last]), each.closed)
    else:
        features = Extended(shape.features, shape.people * ratio)
    return Strategy(shape.name, shape.lift, features, shape.counted, shape.public, shape.people, shape.absent)


def _uncentred() -> PlanError:
    what, rule = "features that cannot be measured from a centre", "some of them never change"
    return PlanError(what, rule, "plan it apart", code="features-without-centre")
