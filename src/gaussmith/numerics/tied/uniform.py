"""The same noise in every group, of any shape, around a centre: for parts of a few columns and many types.

Column by column, as in `centred`, two or three sums lose up to some percent; types of many groups cannot be listed.
With noise N on v_i − c·n in each group, v_i the answers of group i and k the number of groups of a person,

    √T(c) = √g · max over laws of tr √(E[k (v−c)(v−c)ᵀ + (g−k) c cᵀ]),     N = √T · √(E[…]/g),     ‖c‖² counts g times

and the worst people hold one corner in all of their groups, or are in none.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from gaussmith.numerics.interior import View, climb
from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.blocks import Block
from gaussmith.numerics.tied.exact import answer_rows
from gaussmith.numerics.tied.parts import Part
from gaussmith.numerics.tied.reduced import Reduced
from gaussmith.numerics.tied.worst_law import look_at_moments, root_of_moment
from gaussmith.values import dataclass

MOST_COLUMNS = 6
"""Columns that are not centred at 0, at most: their corners are listed."""


@dataclass(frozen=True, eq=False)
class _Shape:
    """The worst law at a centre, its root √T, √M and the weighted sum E[k v]."""

    centre: Array
    root: float
    moment: tuple[Array, Array]
    weights: Array
    shift: Array


@dataclass(frozen=True, eq=False)
class _Problem:
    part: Reduced

    @cached_property
    def held(self) -> Array:
        """The answers of a group at every corner."""
        p = len(self.part.moving)
        signs = np.indices([2] * p).reshape(p, -1).T * 2.0 - 1.0
        return np.asarray(np.hstack([signs, np.ones((len(signs), 1))]) @ self.part.asked.T)

    @cached_property
    def turned(self) -> Array:
        """For every kind of person, what the columns centred at 0 take the root of."""
        g, m = self.part.part.groups, self.part.part.most
        return np.append(np.full(len(self.held), self.part.spread**2 * g * m), 0.0)

    def moments(self, centre: Array) -> Array:
        """g times k (v−c)(v−c)ᵀ + (g−k) c cᵀ for every corner at the most groups; last, for a person in none."""
        g, m = self.part.part.groups, self.part.part.most
        away = self.held - centre
        there = m * away[:, :, None] * away[:, None, :] + (g - m) * np.outer(centre, centre)
        return g * np.concatenate([there, g * np.outer(centre, centre)[None]])

    def solve(self, centre: Array, start: Array | None) -> _Shape:
        moments = self.moments(centre)
        weights = find_weights(moments, self.turned, start)
        moment = root_of_moment(np.tensordot(weights, moments, 1))
        root = float(moment[0].sum()) + math.sqrt(float(weights @ self.turned))
        return _Shape(centre, root, moment, weights, self.part.part.most * (weights[:-1] @ self.held))


def find_weights(moments: Array, turned: Array, start: Array | None = None) -> Array:
    """The weights, of sum 1, with the largest tr √(E X) + √(E t), X one of `moments` and t of `turned`."""

    def look(weights: Array) -> View | None:
        root = root_of_moment(np.tensordot(weights, moments, 1))
        if not (root[0] > 1e-12 * root[0].max()).all():
            return None
        gradient, features = look_at_moments(moments, root, 1.0)
        S = float(root[0].sum())
        if turned.any():
            free = math.sqrt(float(weights @ turned))
            gradient = gradient + turned / free
            features = np.hstack([features, (turned / math.sqrt(2.0 * free**3))[:, None]])
            S += free
        size = float(weights.sum())
        Phi = np.sqrt(weights)[:, None] * features
        return View(gradient, Phi, float(gradient.max()) * size / S - 1.0, (S / size) ** 2)

    n = len(moments)
    start = np.full(n, 1.0 / n) if start is None else np.maximum(start, 1e-4 / n)
    weights = climb(start / start.sum(), look, lambda _, gap: gap <= 1e-8)
    return np.asarray(weights / weights.sum())


def solve_uniform(member: int, part: Part, outside: float) -> Block:
    """The best block of this form beside a constant that weighs `outside` elsewhere."""
    from scipy.optimize import minimize

    problem = _Problem(Reduced(part, False))
    g = part.groups
    size = np.maximum(np.abs(problem.held).max(axis=0), 1e-300)
    found: list[tuple[float, _Shape]] = []

    def value(x: Array) -> tuple[float, Array]:
        shape = problem.solve(x * size, found[-1][1].weights if found else None)
        constant = math.sqrt(g * float(shape.centre @ shape.centre) + outside)
        m, V = shape.moment
        slope = g * (V / m) @ (V.T @ (g * shape.centre - shape.shift))
        slope = slope + g * shape.centre / max(constant, 1e-150)
        found.append((shape.root + constant, shape))
        return shape.root + constant, slope * size

    start = 0.5 * part.most / g * problem.held.mean(axis=0) / size
    minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 40, "ftol": 1e-8})
    if outside == 0:
        value(np.zeros(len(size)))
    return _make_block(member, problem, min(found, key=lambda each: each[0])[1])


def _make_block(member: int, problem: _Problem, shape: _Shape) -> Block:
    reduced, part = problem.part, problem.part.part
    free = math.sqrt(float(shape.weights @ problem.turned))
    own, L, spread = make_rows(reduced, shape.root, shape.moment, free)
    constant = np.zeros(len(own))
    constant[answer_rows(reduced)] = -(L @ shape.centre)
    active = float((((problem.held - shape.centre) @ L) ** 2).sum(axis=1).max()) + spread
    idle = float(((L @ shape.centre) ** 2).sum())
    norm = max(k * active + (part.groups - k) * idle for k in (part.fewest, part.most))
    scale = 1.0 / math.sqrt(norm)
    energy = part.groups * float(shape.centre @ shape.centre)
    return Block((member,), (own * scale,), 0.0 * own, constant * scale, shape.root * math.sqrt(norm), energy)


def make_rows(reduced: Reduced, root: float, moment: tuple[Array, Array], free: float) -> tuple[Array, Array, float]:
    """The rows of a group, the lift of its answers, and what its columns centred at 0 add to the squared norm.

    `moment` is √(g E[…]), `free` the root of the columns set aside, and √T, the sum of all, is `root`.
    """
    part, (m, V) = reduced.part, moment
    L = (V / np.sqrt(root * m / part.groups)) @ V.T  # N = √T · √(E[…]/g)
    asked = np.zeros((reduced.answers, part.width))
    asked[:, reduced.moving] = reduced.asked[:, :-1]
    asked[:, -1] = reduced.asked[:, -1]
    own = np.zeros((part.columns + reduced.counted, part.width))
    own[answer_rows(reduced)] = L @ asked
    if not reduced.spread:
        return own, L, 0.0
    roots = np.sqrt(part.weights) * part.radius
    variance = root * free / (part.groups * reduced.spread)
    own[reduced.turning, reduced.turning] = np.sqrt(roots / variance)[reduced.turning]
    return own, L, reduced.spread / variance
