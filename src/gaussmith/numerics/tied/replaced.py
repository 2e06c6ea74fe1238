"""Replace-one: the best noise of each part by itself; a request's totals have additive roots (theorem B).

The differences of two people are independent from part to part and symmetric, so that nothing is gained by tying parts:
the least total of the request is (Σ √T_q)². Beyond what types can list, the closed form: column j of a group is noised
as x_ij − α_j a_i, its count two-level. With c groups in both, b in one of the two, δ the gained less the lost,

    √T(α) = max over laws of Σ_j √(g w_j E[4c r_j² + b (r_j + |mid_j − α_j|)²]) + √Ω (√(E δ²/g) + √((g−1) E(b − δ²/g)))

is convex in α, Ω = Σ w_j α_j² + w₀.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from gaussmith.numerics.interior import View, climb
from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.blocks import Block, side_by_side
from gaussmith.numerics.tied.exact import solve_types
from gaussmith.numerics.tied.largest import add_spent, largest_by_groups
from gaussmith.numerics.tied.lift import TiedLift
from gaussmith.numerics.tied.parts import Body, Family, Part
from gaussmith.numerics.tied.reduced import Reduced
from gaussmith.numerics.tied.uniform import find_weights, make_rows
from gaussmith.numerics.tied.worst_law import WorstLaw, root_of_moment
from gaussmith.values import dataclass

MOST_TYPES = 20_000
"""Types of a part that are listed."""

MOST_COLUMNS = 4
"""Columns of a part whose pairs of corners are listed."""

MOST_CERTIFIED = 150_000
"""The same of a lone sum, whose noise is found from few of them (rule Z): certifying it takes them all."""


def solve_replaced(part: Part, member: int = 0) -> tuple[Block, WorstLaw | None]:
    """The best noise of one part under replace-one, and the law that proves it where types were listed."""
    reduced = Reduced(part, True)
    if reduced.size <= (MOST_CERTIFIED if reduced.lone else MOST_TYPES):
        solved = solve_types([member], [part], 0.0, replaced=True)
        return solved.block, solved.law
    found = [_closed_form(part, member)]
    if 2 <= len(reduced.moving) <= MOST_COLUMNS and not part.always:
        found.append(_uniform(reduced, member))
    return min(found, key=lambda block: block.root), None


def solve_replaced_family(members: Sequence[int], parts: Sequence[Part], most: int) -> tuple[Block, WorstLaw | None]:
    """The best noise of a family under replace-one, and the law that proves it where types were listed.

    Beyond what types can list every part has noise of its own, and its share of privacy is what it is worth at the
    number of groups that is worst for all together.
    """
    family = Family(tuple(range(len(parts))), most)
    size = math.prod(float(Reduced(part, True, limited=True).size) for part in parts)
    if size <= MOST_TYPES:
        solved = solve_types(members, parts, 0.0, replaced=True, families=[family])
        return solved.block, solved.law
    blocks = [solve_replaced(part, q)[0] for q, part in enumerate(parts)]
    spent = [_largest_by_groups(part, block, most) for part, block in zip(parts, blocks, strict=True)]
    worth = np.array([block.root for block in blocks])
    both = [np.maximum.accumulate(np.diagonal(each)) for each in spent]
    held = np.zeros(len(parts), int)  # groups of each part, one after the other where the next is worth most
    for _ in range(most):
        gain = [
            root * (math.sqrt(each[k + 1]) - math.sqrt(each[k])) if k < part.most else -1.0
            for root, each, k, part in zip(worth, both, held, parts, strict=True)
        ]
        if max(gain) <= 0.0:
            break
        held[int(np.argmax(gain))] += 1
    at = np.array([each[max(k, 1)] for each, k in zip(both, held, strict=True)])
    shares = worth / np.sqrt(at)
    norm: Array | None = None
    for each, share in zip(spent, shares, strict=True):
        norm = each * share if norm is None else add_spent(norm, each * share)
    assert norm is not None
    apart = side_by_side(members, blocks, np.sqrt(shares / float(norm.max())))
    return min(apart, _alike(members, parts, most), key=lambda block: block.root), None


def _alike(members: Sequence[int], parts: Sequence[Part], most: int) -> Block:
    """The noise of groups of the same weight, for groups that weigh differently."""
    groups = [part.groups for part in parts]
    total = sum(groups)
    mean = np.sum([part.weights * part.groups for part in parts], axis=0) / total
    count = sum(part.count_weight * part.groups for part in parts) / total
    block, _ = solve_replaced(replace(parts[0], groups=total, most=most, weights=mean, count_weight=count))
    (own,) = block.own
    ties = np.tile(block.ties, (len(parts), len(parts)))
    return Block(tuple(members), (own,) * len(parts), ties, np.zeros(len(ties)), block.root, 0.0)


def _largest_by_groups(part: Part, block: Block, most: int) -> Array:
    """The largest squared norm of a part's lift by how many groups each of two people takes."""
    lift = TiedLift((part.groups,), block.own, block.ties, None)
    return largest_by_groups(lift, Body((part,), families=(Family((0,), most),)), "replace-one")


def _uniform(reduced: Reduced, member: int) -> Block:
    """The same noise in every group, of any shape, as in `uniform`: better for a few sums without a count."""
    part = reduced.part
    g, m, p = part.groups, part.most, len(reduced.moving)
    signs = np.indices([2] * p).reshape(p, 2**p).T * 2.0 - 1.0
    changed = np.hstack([signs, np.ones((2**p, 1))]) @ reduced.asked.T
    kept = np.hstack([2.0 * signs, np.zeros((2**p, 1))])[: 2 ** (p - 1)] @ reduced.asked.T  # up to sign
    both = max(0, 2 * m - g)
    numbers = np.array([(c, min(g - c, 2 * m - 2 * c)) for c in sorted({0, both, m})], float)
    scatter = [each[:, :, None] * each[:, None, :] for each in (kept, changed)]
    state, one, other = np.indices([len(numbers), len(kept), len(changed)]).reshape(3, -1)
    c, b = numbers[state].T[:, :, None, None]
    moments = g * (c * scatter[0][one] + b * scatter[1][other])
    turned = reduced.spread**2 * g * (4.0 * numbers[state, 0] + numbers[state, 1])
    weights = find_weights(moments, turned)
    moment = root_of_moment(np.tensordot(weights, moments, 1))
    free = math.sqrt(float(weights @ turned))
    root = float(moment[0].sum()) + free
    own, L, spread = make_rows(reduced, root, moment, free)
    most = [float(((each @ L) ** 2).sum(axis=1).max()) for each in (kept, changed)]
    norm = float((numbers @ [most[0] + 4.0 * spread, most[1] + spread]).max())
    return Block((member,), (own / math.sqrt(norm),), 0.0 * own, np.zeros(len(own)), root * math.sqrt(norm), 0.0)


@dataclass(frozen=True, eq=False)
class _States:
    """How many groups two people share (c), how many one of them has alone (b), and by how many they differ (δ)."""

    part: Part
    kept: Array
    changed: Array
    net: Array

    @classmethod
    def of(cls, part: Part, most: int = 10**9) -> _States:
        """Those that can be worst for a value linear in c, b and δ²: the ends, and where the groups run out; for about
        `most` values of δ."""
        g, m = part.groups, part.most
        net = np.repeat(np.unique(np.append(np.arange(0, m + 1, -(-m // most)), m)), 3)
        end = np.minimum(m - net, (g - net) // 2)
        lost = np.where(
            np.arange(len(net)) % 3 == 0, 0, np.minimum(end, np.where(np.arange(len(net)) % 3 == 1, m, g - m))
        )
        kept = np.minimum(m - net - lost, g - net - 2 * lost)
        rows = np.unique(np.stack([kept, net + 2 * lost, net], axis=1), axis=0).astype(float)
        return cls(part, *rows[rows[:, :2].any(axis=1)].T)

    def features(self, alpha: Array) -> Array:
        """A column for each column of the part, then across and along: what the roots are taken of, costs included."""
        part, g = self.part, self.part.groups
        reach = (part.radius + np.abs(part.centre - alpha)) ** 2
        columns = 4.0 * self.kept[:, None] * part.radius**2 + self.changed[:, None] * reach
        omega = float((part.weights * alpha**2).sum() + part.count_weight)
        along = self.net**2 / g
        counts = [omega * (g - 1) * (self.changed - along), omega * along]
        return np.column_stack([g * part.weights * columns, *counts])


def _worst(features: Array, start: Array | None = None) -> tuple[Array, Array]:
    """The law on states with the largest sum of roots of mean features, and those roots."""
    live = features.any(axis=0)
    f = features[:, live]

    def look(weights: Array) -> View | None:
        roots = np.sqrt(weights @ f)
        if not (roots > 0).all():
            return None
        gradient = (f / roots).sum(axis=1)
        size, S = float(weights.sum()), float(roots.sum())
        Phi = np.sqrt(weights)[:, None] * f / np.sqrt(2.0 * roots**3)
        return View(gradient, Phi, float(gradient.max()) * size / S - 1.0, (S / size) ** 2)

    uniform = np.full(len(f), 1.0 / len(f))
    weights = climb(uniform if start is None else np.maximum(start, 1e-6 / len(f)), look, _close)
    weights = weights / weights.sum()
    return weights, np.sqrt(weights @ features)


_close: Callable[[Array, float], bool] = lambda _, gap: gap <= 1e-9  # noqa: E731


def _closed_form(part: Part, member: int) -> Block:
    from scipy.optimize import minimize

    states = _States.of(part, 100)
    free = np.flatnonzero(part.centre)

    def spread(x: Array) -> Array:
        alpha = np.zeros(part.columns)
        alpha[free] = x * part.centre[free]
        return alpha

    def value(x: Array) -> tuple[float, Array]:
        alpha = spread(x)
        weights, roots = _worst(states.features(alpha))
        omega = math.sqrt(float((part.weights * alpha**2).sum() + part.count_weight))
        b = float(weights @ states.changed)
        away = np.abs(part.centre - alpha)
        slope = -part.groups * part.weights * b * (part.radius + away) * np.sign(part.centre - alpha)
        slope = slope / roots[: part.columns]
        slope += part.weights * alpha * float(roots[-2:].sum()) / max(omega, 1e-150) ** 2
        return float(roots.sum()), (slope * part.centre)[free]

    best: tuple[float, Array] | None = None
    for start in (0.6, 0.0) if len(free) else (0.0,):
        x = np.full(len(free), start)
        options = {"maxiter": 60, "ftol": 1e-9}
        tried = [x]
        if len(free):
            tried.append(
                minimize(value, x, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * len(free), options=options).x
            )
        for each in tried:
            root = value(each)[0]
            if best is None or root < best[0]:
                best = root, each
    assert best is not None
    return _make_block(part, member, states, spread(best[1]))


def _make_block(part: Part, member: int, states: _States, alpha: Array) -> Block:
    g, p = part.groups, part.columns
    features = states.features(alpha)
    _, roots = _worst(features)
    omega = float((part.weights * alpha**2).sum() + part.count_weight)
    root = float(roots.sum())
    variances = root * roots[:p] / (g * part.weights)
    counted = omega > 0
    across, along = (root * float(each) / max(omega, 1e-300) for each in roots[-2:])
    across /= max(g - 1, 1)
    own = np.zeros((p + counted, p + 1))
    own[np.arange(p), np.arange(p)] = part.radius / np.sqrt(variances)
    own[:p, p] = (part.centre - alpha) / np.sqrt(variances)
    ties = np.zeros_like(own)
    if counted:
        s = 1.0 / math.sqrt(across if g > 1 else along)
        own[p, p], ties[p, p] = s, (1.0 / math.sqrt(along) - s) / g
    used = features.any(axis=0)
    features = _States.of(part).features(alpha)
    norm = float((features[:, used] / (root * roots[used])).sum(axis=1).max())
    cost = root**2
    scale = 1.0 / math.sqrt(norm)
    return Block((member,), (own * scale,), ties * scale, np.zeros(p + counted), math.sqrt(cost * norm), 0.0)
