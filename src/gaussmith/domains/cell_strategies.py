"""Shapes for records that fall into one cell each: histograms, workloads over their cells, and finite sets of points.

With W the answers (a column per cell, each row scaled to its weight) the differences are the columns of W under
add-remove and their pairs under replace-one; the solver works in the space of answers, where W may have a kernel. The
total depends on WᵀW alone, so half a million ranges over a thousand cells are solved as a thousand columns.

Under replace-one the number of records is public: the part common to all cells needs no noise and gets none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gaussmith.domains.box_strategies import check_lost
from gaussmith.domains.domain import Problem, WorstCase
from gaussmith.domains.exchangeable import even_marks, exchangeable
from gaussmith.domains.long_runs import fits_long_runs, long_runs
from gaussmith.domains.strategies import Candidate, Search, Strategy
from gaussmith.domains.workloads import Marginals
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array
from gaussmith.numerics.exact import Words as ExactWords
from gaussmith.numerics.intervals import Intervals, gram
from gaussmith.numerics.marginals import ResidualDecode, ResidualLift, Residuals, plan_marginals
from gaussmith.numerics.matrices import Dense, Diagonal, Exchangeable, Matrix
from gaussmith.numerics.solver import Optimum, PairDifferences, Progress, certify_shape, solve
from gaussmith.numerics.stored import solve_once

if TYPE_CHECKING:
    from gaussmith.domains.cells import Cells


# The best shape that hides the differences of all pairs of many points: found on the few points that matter.
#
# Only pairs that are far apart, as the noise measures it, carry weight. So the search runs on some points, all pairs
# of which are solved; then all points are measured with the shape found, those of the farthest pairs are added, and
# so on until no pair is farther than the gap allows. What comes out is scaled, and certified, over all points.

Words = npt.NDArray[np.int64]

MANY = 300
"""Points above which pairs are not all searched."""

_ROUNDS = 60
_CHUNK = 1 << 21


def has_few_far(points: Array) -> bool:
    """Whether there are many points of few numbers each, so that most pairs do not matter."""
    return len(points) > MANY and 8 * points.shape[1] <= len(points)


def solve_far(
    points: Array,
    *,
    objective: Literal["total", "worst"] = "total",
    targets: Array | None = None,
    gap: float = 1e-3,
    progress: Progress | None = None,
) -> tuple[Optimum, Words]:
    """As `solve(points, pairs=True)`, with the points whose pairs have the weights, in the order of those.

    Guarantee: that of `solve`, for all pairs of all points.
    """
    chosen = _first(points)
    for _ in range(_ROUNDS):
        found = solve(points[chosen], pairs=True, objective=objective, targets=targets, gap=gap / 2, progress=progress)
        far, largest = _farthest(points @ found.lift.T, chosen)
        if largest <= 1.0 + gap / 4 or not len(far):
            break
        chosen = np.union1d(_kept(found, chosen), far)
    aims = np.zeros(0) if targets is None and objective == "total" else targets
    if aims is None:
        aims = np.ones(points.shape[1])
    lower = found.lower  # some differences bound the price of all
    whole = certify_shape(PairDifferences(points), found.lift, found.decode, found.weights, found.rounds, lower, aims)
    return replace(whole, shares=found.shares), chosen


def _first(points: Array) -> Words:
    """Points at the ends of some directions: those in which all points vary, and of every answer."""
    centred = points - points.mean(axis=0)
    scale = np.abs(centred).max(axis=0)
    centred = centred / np.where(scale > 0, scale, 1.0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    kept = directions[sizes > 1e-13 * sizes[0]]
    sides = centred @ np.vstack([kept, np.eye(points.shape[1])]).T
    return np.unique(np.concatenate([sides.argmax(axis=0), sides.argmin(axis=0)]).astype(np.int64))


def _kept(found: Optimum, chosen: Words) -> Words:
    """The points that have a weight, or are near it."""
    size = len(chosen)
    first, second = np.triu_indices(size, 1)
    used = found.weights > 1e-6 * found.weights.max()
    return chosen[np.union1d(first[used], second[used])] if size > MANY else chosen


def _farthest(Y: Array, chosen: Words) -> tuple[Words, float]:
    """Points of the pairs that are farther apart than 1, the farthest first and not all of them; and that distance."""
    Y = Y - Y[chosen].mean(axis=0)
    radii = np.sqrt(np.einsum("ij,ij->i", Y, Y))
    # A pair farther apart than 1 has both ends farther from the middle than 1 less the largest radius.
    near = np.flatnonzero(radii > 1.0 - radii.max())
    Z, squares = Y[near], radii[near] ** 2
    most, other = np.empty(len(near)), np.empty(len(near), np.int64)
    step = max(1, _CHUNK // max(1, len(near)))
    for start in range(0, len(near), step):
        at = slice(start, start + step)
        apart = squares[at, None] + squares - 2.0 * (Z[at] @ Z.T)
        other[at] = apart.argmax(axis=1)
        most[at] = apart[np.arange(len(apart)), other[at]]
    if not len(near):
        return np.zeros(0, np.int64), 0.0
    order = np.argsort(-most)[: max(16, 2 * Y.shape[1])]
    order = order[most[order] > 1.0]
    ends = near[np.unique(np.append(order, other[order]))]
    return np.setdiff1d(ends, chosen), float(np.sqrt(max(most.max(), 0.0)))


GAP = 1e-3
"""Relative gap to the certified optimum for cells."""

MAX_SOLVED = 2048
"""Limit on cells for the numerical solver."""

MAX_SLOW = 512
"""Cells above which prefix sums, ranges and trees are solved only if that is asked for: it gains 1 %, 3 % of pairs."""

MAX_POINTS = 100_000
"""Limit on points for the numerical solver."""


def in_cells(problem: Problem[Cells], search: Search) -> list[Candidate]:
    """The shapes that fit cells, a closed form first where there is one."""
    runs, many = problem.features.runs, problem.domain.dimension > MAX_SOLVED
    slow = problem.domain.dimension > MAX_SLOW and search.gap is None and search.shape != "solved"
    if runs is not None and fits_long_runs(problem) and (many or slow):
        return long_runs(problem, runs)
    if problem.features.targets is not None or problem.features.is_linear:
        return one_of_many(problem, search, MAX_SOLVED)
    if problem.common_weight is not None:
        return _even(problem)
    found = _unit(problem)
    return found if found and many else [*found, *one_of_many(problem, search, MAX_SOLVED)]


def one_of_many(problem: Problem[Any], search: Search, most: int) -> list[Candidate]:
    """The solved shape for records that are one of a limited number of values."""
    d = problem.domain.extremes().size
    if d > most:
        what, rule = f"{d} cells for the numerical solver", f"it takes at most {most}"
        raise PlanError(what, rule, "use fewer cells, or marginals", code="too-many-cells-to-solve", cells=d, most=most)
    gap = GAP if search.gap is None else search.gap
    return [(_solved if problem.features.targets is None else _least_worst)(problem, gap, search)]


# -- closed forms -----------------------------------------------------------------------------------------------------


def _even(problem: Problem[Cells]) -> list[Candidate]:
    """The shape for cells of equal weight: two sizes of noise, or three with a secret number of records."""
    if problem.domain.dimension == 1 and not problem.secret_count and not problem.domain.or_none:
        rule = "every record is in it: its count is public"
        raise PlanError("one cell under replace-one", rule, "declare more cells", code="one-cell-under-replace-one")
    return exchangeable(problem, even_marks(problem))


def _unit(problem: Problem[Cells]) -> list[Candidate]:
    """Equal noise on every cell, whatever the weights: the optimum for cells alone under add-remove."""
    d = problem.domain.dimension
    private, asked = problem.secret_count, problem.asks_secret_count
    if asked and problem.domain.or_none:
        return []  # their number is not the sum of the cells
    size = 1.0 if private else np.sqrt(2.0) * (1.0 + 2.0**-52)
    lift = Diagonal(np.full(d, 1.0 / size))
    decode: Matrix = Exchangeable(d, 1.0, 0.0, None, (1.0, 0.0)) if asked else Diagonal(np.full(d, size))
    if not problem.asks_each_once:
        decode = decode.picked([*problem.features.index.tolist(), *([d] if asked else [])])
    law = None
    if private:
        # Cell i with probability w_i/Σw: M = diag(w_i²/Σw), and (tr M^{1/2})² = Σw.
        omega = problem.coordinate_weights
        law = WorstCase("cells", float(omega.sum()) * (1.0 - 2.0**-40), {"weights": omega / omega.sum()})
    return [Candidate(Strategy("even", lift, decode, asked), law)]


# -- solved -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Question:
    """R with RᵀR = WᵀW (r × cells), W the answers scaled to their weights; what decodes them; what each takes from n.

    `read` turns X, the way back to cells (cells × m), into features of the answers (not scaled).
    """

    rows: Array
    read: Callable[[Array], Matrix]
    even: Array
    """The contribution to each answer of a record spread evenly over all cells."""


def _solved(problem: Problem[Any], gap: float, search: Search) -> Candidate:
    private, asked, apart = problem.secret_count, problem.asks_secret_count, problem.domain.or_none
    closed, own = not (private or apart), asked and apart  # own: the number of records is no sum of cells
    question = question_of(problem, asked and not apart, closed)
    points = _records(question.rows, apart)
    if own:
        points = np.hstack([points, np.full((len(points), 1), problem.root_count_weight)])
    best, chosen = _solve(points, not private, gap=gap, progress=search.progress)
    r = len(question.rows)
    features = question.read(way_back(question.rows, best.decode[:r]))
    lift = best.lift[:, :r] @ question.rows
    if own:
        lift = np.hstack([lift, best.lift[:, r:] * problem.root_count_weight])
        features = Dense(np.vstack([features.dense(), best.decode[r:] / problem.root_count_weight]))
    # R(K − n/d) is lifted and read back; the common part of all cells comes from the public number of records.
    public = _public(question.even, features, lift) if closed else None
    _check_read(question, best.decode, best.lift, not closed)
    law = _law(best, private, _weights(best.weights, chosen))
    return Candidate(Strategy("solved", Dense(lift), features, asked, public), law)


def _records(rows: Array, apart: bool) -> Array:
    """What a record in each cell makes of these rows; if `apart`, last one in no cell."""
    return np.vstack([rows.T, np.zeros((1, len(rows)))]) if apart else rows.T


def _public(even: Array, features: Matrix, lift: Array) -> Array:
    """What each answer takes from the public number of records: what is not lifted of a record spread evenly."""
    d = lift.shape[1]
    return np.asarray(even - features.times(lift @ np.full(d, 1.0 / d)))


def _law(best: Optimum, private: bool, numbers: dict[str, Array]) -> WorstCase:
    return WorstCase("cells" if private else "pairs", best.lower, numbers)


def question_of(problem: Problem[Any], with_count: bool, closed: bool) -> _Question:
    asked, d, e = problem.features, problem.domain.extremes().size, problem.count_weight
    if asked.runs is not None:
        starts, stops = asked.runs.places
        weights = asked.weights
        if with_count:
            starts, stops, weights = np.append(starts, 0), np.append(stops, d), np.append(weights, e)
        return _Question(
            _root(gram(starts, stops, d, weights)),
            lambda X: Intervals(starts, stops, X, closed),
            (stops - starts)[: asked.size] / d,
        )
    W, root = problem.rows, problem.root_weights
    full = np.vstack([W * root, np.full((1, d), problem.root_count_weight)]) if with_count else W * root
    plain = np.vstack([W, np.ones((1, d))]) if with_count else W
    R = np.asarray(np.linalg.qr(full, mode="r"), float) if len(full) > d else full
    moving = np.ptp(plain, axis=1) > 0 if closed else np.ones(len(plain), bool)  # the others are public
    return _Question(R, lambda X: Dense((plain @ X) * moving[:, None]), W.mean(axis=1))


def _root(G: Array) -> Array:
    """R with RᵀR = G."""
    try:
        return np.ascontiguousarray(np.linalg.cholesky(G).T)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(G)
        kept = values > 1e-12 * values.max()
        return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)


def way_back(R: Array, decode: Array) -> Array:
    """The smallest X with R X = decode."""
    diagonal = np.abs(np.diag(R))
    if R.shape[0] == R.shape[1] and not np.tril(R, -1).any() and diagonal.min() > 1e-9 * diagonal.max():
        return np.asarray(np.linalg.solve(R, decode))
    return np.asarray(np.linalg.lstsq(R, decode, rcond=None)[0], float)


def _check_read(question: _Question, decode: Array, lift: Array, whole: bool) -> None:
    """Check that decoding inverts the lift, to 10^−12 of the noise, for every possible record."""
    R = question.rows
    r = len(R)
    moved = R if whole else R - R.mean(axis=1, keepdims=True)
    back = decode[:r] @ (lift[:, :r] @ moved)
    check_lost(decode[:r], back - moved)


def _solve(points: Array, pairs: bool, **more: Any) -> tuple[Optimum, ExactWords | None]:
    """The solved shape, and the points whose pairs have the weights; None: each point has one."""
    if not pairs:
        return solve_once(points, pairs=False, **more), None
    if has_few_far(points):
        return solve_far(points, **more)
    return solve_once(points, pairs=True, **more), np.arange(len(points))


def _weights(weights: Array, chosen: ExactWords | None) -> dict[str, Array]:
    """The weights of a law; for pairs of chosen points only the non-negligible ones, with their ends."""
    if chosen is None:
        return {"weights": weights / weights.sum()}
    first, second = (chosen[ends] for ends in np.triu_indices(len(chosen), 1))
    kept = weights > 1e-9 * weights.max()
    share = weights[kept] / weights[kept].sum()
    return {"first": first[kept].astype(float), "second": second[kept].astype(float), "weights": share}


def _least_worst(problem: Problem[Any], gap: float, search: Search) -> Candidate:
    """The shape whose worst answer, in units of its target, is best."""
    W, targets = problem.rows, problem.features.targets
    assert targets is not None
    private, asked, apart = problem.secret_count, problem.asks_secret_count, problem.domain.or_none
    if asked and apart:
        what, rule = "the worst answer of cells with or_none=True and their count", "every record must be in a cell"
        raise PlanError(what, rule, "leave out count=True, or or_none=True", code="worst-cells-with-count")
    if asked:
        W, targets = np.vstack([W, np.ones((1, W.shape[1]))]), np.append(targets, 1 / problem.root_count_weight)
    closed = not (private or apart)
    moving = np.ptp(W, axis=1) > 0 if closed else np.ones(len(W), bool)  # the others are public
    if not moving.any():
        what, rule = "answers that never change", "the number of records is public"
        raise PlanError(what, rule, "ask for something else", code="answers-never-change")
    points, aims = _records(W[moving], apart), targets[moving]
    best, chosen = _solve(points, not private, objective="worst", targets=aims, gap=gap, progress=search.progress)
    lift = best.lift @ W[moving]
    features = np.zeros((len(W), len(best.lift)))
    features[moving] = best.decode
    back = W[moving] - W[moving].mean(axis=1, keepdims=True) if closed else W[moving]
    check_lost(best.decode, best.decode @ (best.lift @ back) - back)
    read = Dense(features)
    public = _public(W.mean(axis=1), read, lift) if closed else None
    law = _law(best, private, _weights(best.weights, chosen) | {"shares": _spread_shares(best.shares, moving)})
    return Candidate(Strategy("solved", Dense(lift), read, asked, public), law)


def _spread_shares(shares: Array, moving: Array) -> Array:
    full = np.zeros(len(moving))
    full[moving.astype(bool)] = shares / shares.sum()
    return full


# Shapes for marginals of a product of categories: noise on residuals, with a separate size for each; the optimum.
#
# A marginal splits into residuals, one for each subset of its attributes: what it adds to all smaller marginals. With
# p_A the squared norm of a record's residual and v_A the cost over all marginals of a unit of noise there,
#
#     σ_A² = √(p_A T / v_A),    T = (Σ √(v_A p_A))² the least total.
#
# The product of all attributes is never formed. Under replace-one the number of records is public.

NAME = "residuals"


def of_marginals(problem: Problem[Cells], work: Marginals) -> list[Candidate]:
    """The best shape for the requested marginals; the count, if asked for and secret, is one more marginal."""
    _check(problem)
    asked = problem.asks_secret_count
    ways, weights = work.weighted_ways(problem.features.weights, problem.secret_count_weight)
    best = plan_marginals(work.shape, ways, weights, problem.neighbours)
    residuals = Residuals(work.shape, work.ways, best.subsets, best.variances)
    public = None
    if not problem.secret_count:
        public = np.repeat([1.0 / size for size in work.sizes], work.sizes)
    law = WorstCase("even", best.lower)
    if best.patterns is not None:
        law = WorstCase("patterns", best.lower, dict(zip(("differs", "weights"), best.patterns, strict=True)))
    return [Candidate(Strategy(NAME, ResidualLift(residuals), ResidualDecode(residuals, asked), asked, public), law)]


def _check(problem: Problem[Cells]) -> None:
    if problem.features.targets is not None:
        what, rule = "marginals with objective='worst'", "marginals are planned for the smallest total"
        raise PlanError(what, rule, "give weights, one per marginal", code="marginals-with-objective-worst")
    if problem.domain.or_none and (not problem.secret_count or problem.count_weight > 0):
        what = "marginals of records that may be in no cell"
        rule = "under replace-one, and with the count, every record must be in a cell"
        remedy = "declare a value for all others, and leave out or_none=True"
        raise PlanError(what, rule, remedy, code="marginals-with-or-none")
