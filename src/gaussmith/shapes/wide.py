"""The shape for a few wide columns beside many narrow ones: the wide are solved together, the narrow in closed form.

The closed form of a box loses most where a few columns make up most of the noise. With the wide columns as one block
around a centre c of its own, T(c) its optimum there, and every narrow column around its middle (docs/theory.md, 31),

    F = √T(c) + Σ_narrow √w_j r_j + √E,   E = ‖c‖² + Σ_narrow w_j mid_j² + what the count is worth,   total F².

At c = 0 the wide columns do without the count, at c = mid this is the closed form; the best c lies between.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.linear import Array, Bordered
from gaussmith.problem import Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate
from gaussmith.shapes.solved import GAP, MAX_CORNERS
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.domains import Box
    from gaussmith.numerics.headed import Headed
    from gaussmith.numerics.optimum import Optimum

MAX_WIDE = 10
"""Limit on the columns that are solved together."""

MAX_COLUMNS = 1024
"""Limit on all columns: answers share more than one draw of noise here, and the law of all errors is written down."""

MAX_FREE = 4
"""Limit on wide columns whose centres are searched one by one, and not along one line."""

_WIDE = 0.25
"""A column is wide that adds at least so much of what the widest one adds to the noise."""

Places = npt.NDArray[np.int64]


def is_dominated(problem: Problem[Box]) -> bool:
    """Whether there are too many columns to be solved, and a few of them, away from zero, that are wider than most."""
    d = problem.domain.dimension
    if not MAX_CORNERS < 2 ** min(d, 60) or d > MAX_COLUMNS:
        return False
    if not problem.secret_count or not problem.asks_no_coordinate_twice:
        return False
    return 2 <= len(_wide(problem)) <= MAX_WIDE


def wide(problem: Problem[Box], gap: float | None = None) -> Candidate:
    """The shape with the widest columns solved as one block.

        lift = (√(√T/F)·L(y − c) ; √(√w_j r_j/F)·z_j ; √(√E/F))

    Guarantee: ‖lift·(z, 1)‖² ≤ (√T + Σ√w_j r_j + √E)/F = 1 for every record, certified again before every release.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Box([0] * 12, [1, 1] + [0.01] * 10), gm.Guarantee(mu=1), weights="equal")
    >>> plan.block.shape.name, plan.optimality < 1.02
    ('wide', True)
    """
    body = _Body.of(problem)
    centre, best = _centred(body, GAP / 10 if gap is None else gap)
    root_T, E = np.sqrt(best.upper), body.worth(centre)
    F = root_T + body.narrow.sum() + np.sqrt(E)
    lift = _lift(problem, body, centre, best, np.sqrt(root_T / F), F, E)
    return Candidate(Shape("wide", *lift))


@dataclass(frozen=True, eq=False)
class _Body:
    """A box as a block of wide columns and others, each scaled to its weight; a mean is measured from its middle."""

    at: Places
    """The wide columns."""
    radius: Array
    middle: Array
    narrow: Array
    """√w_j r_j of the other columns; 0 at the wide ones."""
    signs: Array
    offset: float
    """What the number of records is worth apart from the wide columns."""

    @classmethod
    def of(cls, problem: Problem[Box]) -> _Body:
        at = _wide(problem)
        parts, middles = _parts(problem)
        others = np.ones(len(parts), bool)
        others[at] = False
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(at))))
        offset = problem.count_weight + float((middles[others] ** 2).sum())
        return cls(at, parts[at], middles[at], np.where(others, parts, 0.0), signs, offset)

    def points(self, centre: Array) -> Array:
        """The corners of the wide block around a centre."""
        return self.signs * self.radius + (self.middle - centre)

    def worth(self, centre: Array) -> float:
        """E: what the squared error of the number of records matters."""
        return self.offset + float(centre @ centre)


def _parts(problem: Problem[Box]) -> tuple[Array, Array]:
    """√w_j r_j and √w_j mid_j of every column; of a mean the second is 0."""
    asked, domain = problem.features, problem.domain
    root = np.sqrt(problem.coordinate_weights)
    summed = np.zeros(domain.dimension, bool)
    summed[asked.index[~asked.centred]] = True
    return root * domain.radius, np.where(summed, root * domain.centre, 0.0)


def _wide(problem: Problem[Box]) -> Places:
    """The columns, away from zero, that add nearly as much to the noise as the widest; the two widest at least."""
    parts, middles = _parts(problem)
    away = np.where(middles != 0, parts, 0.0)
    least = min(_WIDE * parts.max(), float(np.partition(away, -2)[-2]))
    return np.flatnonzero((away >= least) & (away > 0))


def _centred(body: _Body, gap: float) -> tuple[Array, Optimum]:
    """The centre of the wide block with the least total found, and the block solved there.

    F is convex in the centre: first along the line from 0 to the middle, then, of few columns, each by itself. A search
    that stops early costs accuracy, never privacy.
    """
    from gaussmith.numerics.optimum import solve

    def total(centre: Array) -> float:
        return float(np.sqrt(solve(body.points(centre), gap=gap).upper) + np.sqrt(body.worth(centre)))

    scale = least_on_interval(lambda s: total(s * body.middle), 0.0, 1.0)
    tried = [scale * body.middle]
    if len(body.at) <= MAX_FREE:
        centre = 0.9 * tried[0]  # away from the middle, where F has a kink on which the search would stay
        for j in [*range(len(centre))] * 2:
            centre = _moved(total, centre, j, float(body.middle[j]))
        tried.append(centre)
    centre = min(tried, key=total)
    return centre, solve(body.points(centre), gap=gap)


def _moved(total: Callable[[Array], float], centre: Array, j: int, middle: float) -> Array:
    """The centre with one coordinate where the total is least: between 0 and the middle, a quarter of it away."""

    def at(share: float) -> Array:
        moved = centre.copy()
        moved[j] = share * middle
        return moved

    now = float(centre[j]) / middle
    return at(least_on_interval(lambda s: total(at(s)), max(0.0, now - 0.25), min(1.0, now + 0.25), steps=8))


def least_on_interval(f: Callable[[float], float], low: float, high: float, steps: int = 14) -> float:
    """Where a convex function is about least: golden sections, and the two ends.

    >>> abs(least_on_interval(lambda x: (x - 0.3) ** 2, 0.0, 1.0) - 0.3) < 0.01, least_on_interval(abs, 0.0, 1.0)
    (True, 0.0)
    """
    golden = (5**0.5 - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    ends = ((f(low), low), (f(high), high))
    at_a, at_b = f(a), f(b)
    for _ in range(steps):
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = f(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = f(b)
    return min((at_a, a), (at_b, b), *ends)[1]


def _lift(
    problem: Problem[Box], body: _Body, centre: Array, best: Optimum, share: float, F: float, E: float
) -> tuple[Headed, Headed, bool]:
    """The lift, what reads the answers back, and whether the number of records is among them."""
    from gaussmith.numerics.headed import Headed

    asked, domain = problem.features, problem.domain
    middle, radius = domain.coded
    root = np.sqrt(problem.coordinate_weights)
    summed = body.middle != 0
    held, others = len(best.lift), np.setdiff1d(np.arange(domain.dimension), body.at)
    entries, last = np.sqrt(body.narrow[others] / F), np.sqrt(np.sqrt(E) / F)
    counted = bool(last > 0)
    wide_root = root[body.at]
    away = np.where(summed, wide_root * middle[body.at], 0.0) - centre
    # Rows: the block's, one for each other column, and the number of records where it is worth something.
    index = np.concatenate([np.zeros(held), others, [domain.dimension] * counted]).astype(np.int64)
    inner = np.concatenate([np.zeros(held), entries, [last] * counted])
    border = np.concatenate([share * (best.lift @ away), np.zeros(len(others) + counted)])
    rest = Bordered(index, inner, border, domain.dimension + 1)
    lift = Headed(rest, np.arange(held), body.at, share * best.lift * (wide_root * radius[body.at]))
    # Features: one for each answer in its order, from the rows above; the last of these tells the number of records.
    rows, per_count = len(index), 1.0 / last if counted else 0.0
    place = np.zeros(domain.dimension, np.int64)
    place[others] = held + np.arange(len(others))
    beta = np.zeros(domain.dimension)
    beta[others] = np.divide(radius[others], entries, out=np.zeros(len(others)), where=entries > 0)
    from_centre = np.where(asked.centred, 0.0, middle[asked.index])
    of_wide = {j: i for i, j in enumerate(body.at.tolist())}
    at = np.array([i for i, j in enumerate(asked.index.tolist()) if j in of_wide], np.int64)
    which = np.array([of_wide[j] for j in asked.index[at].tolist()], np.int64)
    from_centre[at] = centre[which] / wide_root[which]
    head = best.decode[which] / (share * wide_root[which])[:, None]
    features = Bordered(
        np.append(place[asked.index], [rows - 1] * counted).astype(np.int64),
        np.append(beta[asked.index], [per_count] * counted),
        np.append(from_centre * per_count, [0.0] * counted),
        rows,
    )
    return lift, Headed(features, at, np.arange(held), head), counted
