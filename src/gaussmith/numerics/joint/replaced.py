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
from dataclasses import dataclass, replace

import numpy as np

from gaussmith.numerics.exact import Array
from gaussmith.numerics.joint.centred import LiftBlock, side_by_side
from gaussmith.numerics.joint.lift import TiedLift
from gaussmith.numerics.joint.parts import Body, Family, JointPart
from gaussmith.numerics.joint.reduced import Index, Reduced, ReducedPeople, WorstLaw, find_worst_law, root_of_moment
from gaussmith.numerics.joint.sensitivity import add_spent, largest_by_groups
from gaussmith.numerics.solver import SolverView, climb

# Blocks solved by types: the best noise of several parts together, whatever the number of their groups (theorem A).
#
# With a constant of weight w the best noise is around a centre c: what is left of it, given the noise of the
# constant, is the best noise of y − c·n, so that √T(c) + √(‖c‖² + w) is as small as it can be. Other blocks are felt
# through w alone.


@dataclass(frozen=True, eq=False)
class Solved:
    """A block with the law that proves it best, for the weight of the constant it was solved with."""

    block: LiftBlock
    law: WorstLaw


_STIFF = 2.0**22
"""How much more precise than any other a sum is known that is the same for everybody."""


def solve_types(
    members: Sequence[int],
    parts: Sequence[JointPart],
    weight: float,
    *,
    replaced: bool = False,
    gap: float = 1e-6,
    families: Sequence[Family] = (),
) -> Solved:
    """The best block of these parts beside a constant of this weight; all combinations of types are listed.

    `families` are those of the parts, by their places in the list.
    """
    extra = 0.0 if replaced else sum(part.count_weight for part in parts if part.always)
    shared = {q for family in families for q in family.members}
    reduced = [Reduced(part, replaced, limited=q in shared) for q, part in enumerate(parts)]
    law = find_worst_law(ReducedPeople(reduced, math.sqrt(weight + extra), families), gap)
    return Solved(_block(tuple(members), reduced, weight + extra, extra, law), law)


def _block(
    members: tuple[int, ...], reduced: Sequence[Reduced], weight: float, extra: float, law: WorstLaw
) -> LiftBlock:
    S = law.roots.total
    m, V = law.roots.along
    answers = sum(part.answers for part in reduced)
    if law.people.basis is not None:
        V = law.people.basis @ V
    inverse = (V / (S * m)) @ V.T
    if law.people.basis is not None:  # what nobody moves has next to no noise
        inverse += _STIFF * float(np.abs(1.0 / (S * m)).max()) * (np.eye(len(V)) - V @ V.T)
    e, U = root_of_moment(inverse[:answers, :answers])
    L, back = (U * e) @ U.T, (U / e**2) @ U.T  # of y given the constant: ‖L(y − c n)‖, covariance `back`
    centre, share = np.zeros(answers), 0.0
    if weight > 0:
        coupling = inverse[:answers, -1]
        centre = -(back @ coupling) * math.sqrt(weight)
        share = weight * float(inverse[-1, -1] - coupling @ back @ coupling)
    cost = float(np.trace(back)) if answers else 0.0
    across = iter(zip(law.people.scattered, law.roots.across, strict=True))
    lifts: list[Array] = []
    turned = {
        (q, rows): root
        for (q, _), rows, root in zip(law.people.turning, law.people.of_rows, law.roots.turned, strict=True)
    }
    for part in reduced:
        if part.part.groups > 1 and part.answers:
            _, (m, V) = next(across)
            cost += (part.part.groups - 1) * S * float(m.sum())
            lifts.append((V / np.sqrt(S * m)) @ V.T)
        else:
            lifts.append(np.zeros((part.answers, part.answers)))
    cost += S * sum(turned.values())
    own, ties, constant = _rows(reduced, lifts, L, centre, {at: S * root for at, root in turned.items()})
    norm = law.excess - share  # the constant's own row is the same for everybody
    scale = 1.0 / math.sqrt(norm)
    return LiftBlock(
        members,
        tuple(each * scale for each in own),
        ties * scale,
        constant * scale,
        math.sqrt(cost * norm),
        float(centre @ centre) + extra,
    )


def _rows(
    reduced: Sequence[Reduced], lifts: Sequence[Array], L: Array, centre: Array, turned: dict[tuple[int, bool], float]
) -> tuple[list[Array], Array, Array]:
    """From lifts of answers, across groups and along them, to rows over cores, sums of cores and the constant."""
    widths = [part.part.width for part in reduced]
    heights = [part.part.columns + part.counted for part in reduced]
    columns = np.cumsum([0, *widths])
    places = np.cumsum([0, *heights])
    starts = np.cumsum([0, *(part.answers for part in reduced)])
    # What the answers, summed over groups and over √groups, are of the sums and of the constant.
    seen = np.zeros((starts[-1], columns[-1] + 1))
    own: list[Array] = []
    for q, part in enumerate(reduced):
        asked = np.zeros((part.answers, widths[q] + 1))  # a last column for the constant
        asked[:, part.moving] = part.asked[:, :-1]
        asked[:, part.part.columns] = part.asked[:, -1]
        seen[starts[q] : starts[q + 1], columns[q] : columns[q + 1]] = asked[:, :-1] / math.sqrt(part.part.groups)
        seen[starts[q] : starts[q + 1], -1] += asked[:, -1]
        own.append(np.zeros((heights[q], widths[q])))
        rows = answer_rows(part)
        inner = slice(starts[q], starts[q + 1])
        own[q][rows] = (lifts[q] if part.part.groups > 1 else L[inner, inner]) @ asked[:, :-1]
        for over_rows, spread in ((False, part.spread), (True, part.row_spread)):
            if (q, over_rows) in turned:  # lifted by 1/√variance: √w r · √(root of all columns / (S · Σ√w r))
                roots = np.sqrt(part.part.weights) * part.part.radius
                variance = turned[q, over_rows] / (part.part.groups * spread)
                at = part.turning[part.of_rows == over_rows]
                own[q][at, at] = np.sqrt(roots / variance)[at]
    seen[:, -1] -= centre
    ties = np.zeros((places[-1], columns[-1] + 1))
    for q, part in enumerate(reduced):
        rows = places[q] + answer_rows(part)
        g = part.part.groups
        ties[rows] = L[starts[q] : starts[q + 1]] @ seen / math.sqrt(g)
        at = slice(columns[q], columns[q + 1])
        ties[rows, at] = ties[rows, at] - own[q][answer_rows(part)] / g if g > 1 else 0.0
    return own, ties[:, :-1], ties[:, -1]


def answer_rows(part: Reduced) -> Index:
    """The rows of a part's answers among all of its rows: the moving columns, then the count."""
    return np.append(part.moving, [part.part.columns] * part.counted).astype(int)


MOST_TYPES = 20_000
"""Types of a part that are listed."""


def solve_replaced(part: JointPart, member: int = 0) -> tuple[LiftBlock, WorstLaw | None]:
    """The best noise of one part under replace-one, and the law that proves it where types were listed."""
    if Reduced(part, True).size <= MOST_TYPES:
        solved = solve_types([member], [part], 0.0, replaced=True)
        return solved.block, solved.law
    return _closed_form(part, member), None


def solve_replaced_family(
    members: Sequence[int], parts: Sequence[JointPart], most: int
) -> tuple[LiftBlock, WorstLaw | None]:
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


def _alike(members: Sequence[int], parts: Sequence[JointPart], most: int) -> LiftBlock:
    """The noise of groups of the same weight, for groups that weigh differently."""
    groups = [part.groups for part in parts]
    total = sum(groups)
    mean = np.sum([part.weights * part.groups for part in parts], axis=0) / total
    count = sum(part.count_weight * part.groups for part in parts) / total
    block, _ = solve_replaced(replace(parts[0], groups=total, most=most, weights=mean, count_weight=count))
    (own,) = block.own
    ties = np.tile(block.ties, (len(parts), len(parts)))
    return LiftBlock(tuple(members), (own,) * len(parts), ties, np.zeros(len(ties)), block.root, 0.0)


def _largest_by_groups(part: JointPart, block: LiftBlock, most: int) -> Array:
    """The largest squared norm of a part's lift by how many groups each of two people takes."""
    lift = TiedLift((part.groups,), block.own, block.ties, None)
    return largest_by_groups(lift, Body((part,), families=(Family((0,), most),)), "replace-one")


@dataclass(frozen=True, eq=False)
class _States:
    """How many groups two people share (c), how many one of them has alone (b), and by how many they differ (δ)."""

    part: JointPart
    kept: Array
    changed: Array
    net: Array

    @classmethod
    def of(cls, part: JointPart, most: int = 10**9) -> _States:
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

    def look(weights: Array) -> SolverView | None:
        roots = np.sqrt(weights @ f)
        if not (roots > 0).all():
            return None
        gradient = (f / roots).sum(axis=1)
        size, S = float(weights.sum()), float(roots.sum())
        Phi = np.sqrt(weights)[:, None] * f / np.sqrt(2.0 * roots**3)
        return SolverView(gradient, Phi, float(gradient.max()) * size / S - 1.0, (S / size) ** 2)

    uniform = np.full(len(f), 1.0 / len(f))
    weights = climb(uniform if start is None else np.maximum(start, 1e-6 / len(f)), look, _close)
    weights = weights / weights.sum()
    return weights, np.sqrt(weights @ features)


_close: Callable[[Array, float], bool] = lambda _, gap: gap <= 1e-9  # noqa: E731


def _closed_form(part: JointPart, member: int) -> LiftBlock:
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


def _make_block(part: JointPart, member: int, states: _States, alpha: Array) -> LiftBlock:
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
    return LiftBlock((member,), (own * scale,), ties * scale, np.zeros(p + counted), math.sqrt(cost * norm), 0.0)
