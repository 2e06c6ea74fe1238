"""The solved shape of a few answers over many columns: the optimum itself, to a stated gap.

A box of d columns has 2^d corners, but in k linear answers they fill a zonotope with 2 Σ_{i<k} C(d−1, i) vertices at
most (docs/theory.md, 30). Noise that hides these hides every record: the solver sees the vertices alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gaussmith.domains.domain import Domain, Problem, WorstCase
from gaussmith.domains.strategies import Candidate, Strategy
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Dense

if TYPE_CHECKING:
    from gaussmith.domains.box import Box
    from gaussmith.domains.people import People
    from gaussmith.numerics.solver import Optimum
    from gaussmith.numerics.zonotopes import Vertices


# The solved shape: the numerical optimum to a stated gap, for boxes and people with few enough corners.

MAX_LOSS = 1e-12
"""Limit on the decoding error of one record, in standard errors of the answer at μ = 1."""

MAX_CORNERS = 1024
"""Limit on corners for the numerical solver; larger boxes get the closed form with a certified distance."""

MAX_ANSWERS = 64
"""Limit on linear answers for the numerical solver, unless it is requested by name."""

GAP = 1e-4
"""Relative gap to the certified optimum for small boxes."""


def is_worth_solving(problem: Problem[Domain]) -> bool:
    """Few corners, and not a case where the closed form is already the optimum (means, or a single coordinate)."""
    d, asked = problem.domain.dimension, problem.features
    if d <= 1 or 2 ** min(d, 60) > MAX_CORNERS:
        return False
    if asked.matrix is not None:
        return asked.size <= MAX_ANSWERS
    return bool(problem.offsets.any())


def solved(problem: Problem[Box | People], gap: float | None = None) -> Candidate:
    """The solved shape of a box, or of people with rows, under add-remove; and the law on corners that bounds any."""
    from gaussmith.numerics.solver import solve

    domain, W = problem.domain, problem.lifted_rows
    signs = np.hstack([domain.corners(), np.ones((2**domain.dimension, 1))])
    best = solve(signs @ W.T, gap=GAP if gap is None else gap)
    rows = best.decode
    check_lost(rows, rows @ (best.lift @ W) - W)
    size = problem.features.size
    counted = len(W) > size
    features = rows[:size] / problem.root_weights
    if counted:
        features = np.vstack([features, rows[size:] / W[size, -1]])
    law = WorstCase("listed", best.lower, {"weights": best.weights / best.weights.sum()})
    return Candidate(Strategy("solved", Dense(best.lift @ W), Dense(features), counted), law)


def solved_replaced(problem: Problem[Box], gap: float | None = None) -> Candidate:
    """The solved shape of linear answers of a box under replace-one, where differences are twice its signed corners."""
    from gaussmith.numerics.solver import solve

    domain, W = problem.domain, problem.core_rows
    best = solve(2.0 * domain.corners() @ W.T, gap=GAP if gap is None else gap)
    lift = best.lift @ W
    check_lost(best.decode, best.decode @ lift - W)
    features = best.decode / problem.root_weights
    public = problem.coded_offsets
    law = WorstCase("listed", best.lower, {"weights": best.weights / best.weights.sum()})
    return Candidate(Strategy("solved", Dense(lift), Dense(features), False, public), law)


def check_lost(decode: Array, errors: Array) -> None:
    """Refuse a shape whose decoding does not invert the lift, up to rounding far below the noise.

    `errors` has one row per answer: its error in each coordinate, or for each record. Over 10^10 records this must not
    add up to a visible bias.
    """
    sizes = np.linalg.norm(decode, axis=1)
    lost = np.abs(errors).sum(axis=1) if errors.shape[1] <= 64 else np.abs(errors).max(axis=1)
    if (lost > MAX_LOSS * sizes).any():
        what = "records whose answers differ too much in scale"
        rule = "the solved noise must be accurate to one part in 10^12"
        remedy = "leave out shape=, or ask for answers of one unit at a time"
        raise PlanError(what, rule, remedy, code="solved-scales-too-far-apart")


MAX_NUMBERS = 1 << 17
"""Limit on the numbers of a matrix whose vertices are looked for."""

_CLOSE = 1e-5
"""How close to the best law the short one of a certificate is."""

_DROPPED = 1e-7
"""How much of a law may be left out of a certificate: vertices that hardly count."""

Places = npt.NDArray[np.int64]


def has_few_vertices(problem: Problem[Box]) -> bool:
    """A matrix of answers over too many columns to visit their corners, but with few vertices in the answers."""
    matrix = problem.features.matrix
    if matrix is None or 2 ** min(matrix.shape[1], 60) <= MAX_CORNERS:
        return False
    from gaussmith.numerics.zonotopes import is_within_reach

    return len(matrix) <= MAX_ANSWERS and matrix.size <= MAX_NUMBERS and is_within_reach(matrix)


def solved_few(problem: Problem[Box], gap: float | None = None) -> Candidate:
    """The solved shape of a few linear answers of a box, and the law on vertices that bounds any shape.

        lift = L · [W 0; 0 1] · diag(r, 1),      ‖lift·(z, 1)‖ ≤ 1 at every vertex, hence for every record

    Guarantee: private whatever the solver found; `Box.sensitivity` visits all vertices again. Total within `gap` of the
    optimum. Under replace-one differences are twice the centred records, and the number of records is public.

    >>> import gaussmith as gm
    >>> W = np.array([[1.0] * 20, range(20)])
    >>> plan = gm.plan(gm.Box([0] * 20, [1] * 20), gm.Guarantee(mu=1), answers=W)
    >>> plan.block.shape.name, plan.optimality < 1.0002
    ('solved', True)
    """
    from gaussmith.numerics.matrices import Factored
    from gaussmith.numerics.solver import solve
    from gaussmith.numerics.zonotopes import find_vertices

    asked, domain = problem.features, problem.domain
    assert asked.matrix is not None
    centre, radius = domain.coded
    root, k = problem.root_weights, asked.size
    vertices = find_vertices(asked.matrix)
    points, rows = _differences(problem, vertices)
    best = solve(points, gap=GAP if gap is None else gap)
    lost = np.abs(best.decode @ (best.lift @ rows) - rows).sum(axis=1, keepdims=True)
    check_lost(best.decode, lost)
    features = best.decode[:k] / root
    law = _law(vertices, points, best)
    if not problem.secret_count:
        lift = Factored(best.lift * root[:, 0], asked.matrix, radius)
        return Candidate(Strategy("solved", lift, Dense(features), False, asked.matrix @ centre), law)
    counted = len(rows) > k
    weigh = np.zeros((len(rows), k + 1))  # from the answers and the number of records to the answers around the centre
    weigh[:k, :k] = np.diag(root[:, 0])
    weigh[:k, k] = root[:, 0] * (asked.matrix @ centre)
    if counted:
        weigh[k, k] = np.sqrt(problem.count_weight)
        features = np.vstack([features, best.decode[k:] / weigh[k, k]])
    inner = np.pad(asked.matrix, ((0, 1), (0, 1)))
    inner[-1, -1] = 1.0
    lift = Factored(best.lift @ weigh, inner, np.append(radius, 1.0))
    return Candidate(Strategy("solved", lift, Dense(features), counted), law)


def _differences(problem: Problem[Box], vertices: Vertices) -> tuple[Array, Array]:
    """The extreme differences in answers scaled to their weights, and the rows that take a core there."""
    if not problem.secret_count:
        rows = problem.core_rows
        return 2.0 * vertices.points(rows), rows
    rows = problem.lifted_rows
    half = vertices.points(rows[:, :-1])
    return np.concatenate([half, -half]) + rows[:, -1], rows


def _law(vertices: Vertices, points: Array, best: Optimum) -> WorstCase:
    """The law on the vertices that count, and what it proves.

    The search leaves weight on many vertices beside the few that a best law needs: those with the most weight are
    weighed again by themselves, twice as many each time, until they prove nearly as much. A certificate stays short.
    """
    from gaussmith.numerics.solver import solve
    from gaussmith.numerics.trace_roots import square_down, weighted_lower

    order, few = np.argsort(-best.weights), 8 * points.shape[1] ** 2
    while True:
        chosen = order[:few]
        weights = best.weights[chosen]
        if few < len(order):
            weights = solve(points[chosen], gap=_CLOSE).weights
        chosen, weights = _heaviest(chosen, weights)
        lower = square_down(weighted_lower(points[chosen], weights))
        if few >= len(order) or lower >= best.lower * (1 - 2 * _CLOSE):
            break
        few *= 2
    half = len(vertices.packed)
    z = vertices.signs(chosen % half) * np.where(chosen < half, 1.0, -1.0)[:, None]
    # What is proven is computed from the signs, whose products with the answers are not rounded as the points are.
    return WorstCase("corners", lower * (1 - 1e-12), {"corners": z, "weights": weights})


def _heaviest(chosen: Places, weights: Array) -> tuple[Places, Array]:
    """All but those that together hardly count, with chances that add up to 1."""
    order = np.argsort(-weights)
    share = np.cumsum(weights[order]) / weights.sum()
    kept = np.sort(order[: int(np.searchsorted(share, 1 - _DROPPED)) + 1])
    return chosen[kept], weights[kept] / weights[kept].sum()
