"""The closed form of a part: noise around a centre, found without listing types, whatever the groups and columns.

Column j of a group is noised as x_ij − α_j a_i − γ_j n, the count a_i of the group two-level around κ/g · n, with
α_j = mid_j − γ_j: to the person it costs, with k the number of its groups,

    √T(κ, γ) = max over laws on k of Σ_j √(g w_j E_j) + √Ω (√((g−1) E_ac) + √E_al),     Ω = Σ w_j α_j² + w₀,
    E_j = κ₁ r_j² + (g−κ₁) γ_j²,   E_ac = κ₁ − κ₂/g,   E_al = (κ₂ − 2κκ₁ + κ²)/g,       κ₁ = E k,  κ₂ = E k².

Only the two moments of k matter. For given κ₁ the best κ₂ is known, and what is left is concave in κ₁. All parts are
searched at once: F = Σ_q √T_q + √E is smooth in the centres nearly everywhere, its gradient that of the worst law.
Columns centred at 0 have γ = 0 and count together, as in `reduced`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.exact import Array
from gaussmith.numerics.joint.lift import TiedLift
from gaussmith.numerics.joint.parts import Body, JointPart
from gaussmith.numerics.joint.reduced import Index
from gaussmith.numerics.kept import recall

# Blocks of a request: parts whose noise was found together, around a centre; joined by one shared constant.
#
# Every block has noise on y_b − c_b · n of least total T_b at μ = 1, n the number of people, c_b its centre. With
# noise on n and the blocks' shares of privacy in the right proportion the whole request has the total (theorem C)
#
#     F²,     F = Σ_b √T_b + √E,     E = Σ_b ‖c_b‖² + weight of n.


@dataclass(frozen=True, eq=False)
class LiftBlock:
    """The lift of some parts at μ = 1 (`members` are their places in the body), without a row for the constant.

    `ties` is over the sums of the members, in order; `constant` is what the rows see of n.
    """

    members: tuple[int, ...]
    own: tuple[Array, ...]
    ties: Array
    constant: Array
    root: float
    """√T_b."""
    energy: float
    """‖c_b‖², in answers scaled to the roots of their weights."""


def unboxed(block: LiftBlock, part: JointPart) -> LiftBlock:
    """The block of a part, from that of the part with its rows boxed."""
    if not part.counts_rows:
        return block
    (own,), ties, width = block.own, block.ties, part.width
    there, everywhere = (part.unboxed(np.hstack([each, np.zeros((len(each), 1))])) for each in (own, ties))
    constant = block.constant + there[:, width] + everywhere[:, width]
    return replace(block, own=(there[:, :width],), ties=everywhere[:, :width], constant=constant)


def side_by_side(members: Sequence[int], blocks: Sequence[LiftBlock], scales: Array) -> LiftBlock:
    """One block of several that are tied to nothing but the constant, each lift times a factor."""
    heights, widths = [len(b.constant) for b in blocks], [b.ties.shape[1] for b in blocks]
    ties = np.zeros((sum(heights), sum(widths)))
    for i, (b, scale) in enumerate(zip(blocks, scales, strict=True)):
        above, left = sum(heights[:i]), sum(widths[:i])
        ties[above : above + heights[i], left : left + widths[i]] = b.ties * scale
    return LiftBlock(
        tuple(members),
        tuple(own * scale for b, scale in zip(blocks, scales, strict=True) for own in b.own),
        ties,
        np.concatenate([b.constant * scale for b, scale in zip(blocks, scales, strict=True)]),
        math.sqrt(sum((b.root / scale) ** 2 for b, scale in zip(blocks, scales, strict=True))),
        sum(b.energy for b in blocks),
    )


def root_of_total(blocks: Sequence[LiftBlock], people_weight: float) -> float:
    """F: the total of the joined blocks is its square."""
    return sum(b.root for b in blocks) + math.sqrt(sum(b.energy for b in blocks) + people_weight)


def join(body: Body, blocks: Sequence[LiftBlock]) -> TiedLift:
    """The lift of the whole request: every block at its share of privacy, and the constant."""
    energy = sum(b.energy for b in blocks) + body.people_weight
    F = root_of_total(blocks, body.people_weight)
    counted = energy > 0 or any(b.constant.any() for b in blocks)
    place = {q: (b, i) for b in blocks for i, q in enumerate(b.members)}
    assert len(place) == len(body.parts) == sum(len(b.members) for b in blocks)
    own: list[Array] = []
    ties = []
    for q in range(len(body.parts)):
        block, i = place[q]
        scale = math.sqrt(block.root / F) if F else 0.0
        own.append(block.own[i] * scale)
        start = sum(len(each) for each in block.own[:i])
        rows = slice(start, start + len(own[-1]))
        line = np.zeros((len(own[-1]), body.width + counted))
        at = 0
        for member, each in zip(block.members, block.own, strict=True):
            width = each.shape[1]
            line[:, body.starts[member] : body.starts[member + 1]] = block.ties[rows, at : at + width] * scale
            at += width
        if counted:
            line[:, -1] = block.constant[rows] * scale
        ties.append(line)
    last = None
    if energy > 0:
        last = np.zeros(body.width + 1)
        last[-1] = math.sqrt(math.sqrt(energy) / F)
    return TiedLift(
        tuple(part.groups for part in body.parts), tuple(own), np.vstack(ties or [np.zeros((0, int(counted)))]), last
    )


_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Batch:
    """Parts side by side as arrays, a row each; columns are padded with weight 0. None of them is everybody's."""

    parts: Sequence[JointPart]

    @cached_property
    def g(self) -> Array:
        return np.array([part.groups for part in self.parts], float)

    @cached_property
    def m(self) -> Array:
        return np.array([part.most for part in self.parts], float)

    @cached_property
    def fewest(self) -> Array:
        return np.array([part.fewest for part in self.parts], float)

    @cached_property
    def w0(self) -> Array:
        return np.array([part.count_weight for part in self.parts], float)

    @cached_property
    def spread(self) -> Array:
        """Σ √w_j r_j of the columns centred at 0."""
        found = [np.sqrt(p.weights) * p.radius * (p.centre == 0) for p in self.parts]
        return np.array([each.sum() for each in found])

    @cached_property
    def moving(self) -> list[Index]:
        return [np.flatnonzero(part.centre) for part in self.parts]

    def _columns(self, name: str, empty: float) -> Array:
        width = max((len(at) for at in self.moving), default=0)
        found = np.full((len(self.parts), width), empty)
        for row, part, at in zip(found, self.parts, self.moving, strict=True):
            row[: len(at)] = getattr(part, name)[at]
        return found

    @cached_property
    def w(self) -> Array:
        return self._columns("weights", 0.0)

    @cached_property
    def r(self) -> Array:
        return self._columns("radius", 1.0)

    @cached_property
    def mid(self) -> Array:
        return self._columns("centre", 0.0)

    @cached_property
    def content(self) -> Hashable:
        """All that laws depend on."""
        arrays = (self.g, self.m, self.fewest, self.w0, self.spread, self.w, self.r, self.mid)
        return tuple(map(len, self.moving)), tuple(each.tobytes() for each in arrays)

    # -- the worst law on the number of groups ----------------------------------------------------------------------

    def law(self, kappa: Array, gamma: Array, bend: float = 0.0) -> CentredLaw:
        """The worst κ₁, κ₂ for these centres: where the slope in κ₁ is 0, on ever finer grids.

        `bend` (of √T, relative) rounds the corners off: the worst law is then unique, and √T smooth in the centres.
        """
        curve = bend * self.sizes

        def slopes(first: Array) -> Array:
            return self.slopes(first, kappa, gamma, curve)

        end = slopes(self.m[:, None] * (1.0 - 1e-12))[:, 0]
        first = self.m.copy()
        falls = end < 0
        if falls.any():
            low, top = self.fewest, first.copy()
            grid = np.arange(1.0, _GRID) / _GRID
            for _ in range(_ROUNDS):
                places = low[:, None] + (top - low)[:, None] * grid
                step = (top - low) / _GRID
                low = low + step * (slopes(places) > 0).sum(axis=1)
                top = low + step
            whole = np.round(top)  # the slope jumps at whole numbers: a law on one number of groups
            hit = (whole >= low - 1e-9 * self.m) & (whole <= top + 1e-9 * self.m) & (whole >= 1)
            first = np.where(falls, np.where(hit, whole, 0.5 * (low + top)), first)
        return self.law_at(kappa, gamma, first, curve)

    def slopes(self, first: Array, kappa: Array, gamma: Array, curve: Array) -> Array:
        """Of the sum of roots in κ₁, at a row of places for every part."""
        roots = np.sqrt(self.omega(gamma))[:, None]
        kappa1, gamma2, g, m = kappa[:, None], gamma[:, None, :] ** 2, self.g[:, None], self.m[:, None]
        second, change = self._second(first, kappa1)
        found = (0.5 * self.spread * np.sqrt(self.g))[:, None] / np.sqrt(first)
        if gamma.size:
            E = first[:, :, None] * self.r[:, None] ** 2 + (g - first)[:, :, None] * gamma2
            steep = 0.5 * np.sqrt(self.g[:, None] * self.w)[:, None] * (self.r[:, None] ** 2 - gamma2)
            found += (steep / np.sqrt(np.maximum(E, _TINY))).sum(axis=2)
        across, along = self.levels(first, second, kappa1)
        inside = np.sqrt(g / np.maximum(across + along, _TINY)) * (1.0 - 2.0 * kappa1 / g)
        held = np.sqrt((g - 1.0) / np.maximum(across, 1e-30)) * (1.0 - change / g)
        held += (change - 2.0 * kappa1) / g / np.sqrt(np.maximum(along, 1e-30))
        found += 0.5 * roots * np.where(np.isnan(change), inside, held)
        return np.asarray(found - curve[:, None] * (2.0 * first / m - 1.0))

    def law_at(self, kappa: Array, gamma: Array, first: Array, curve: Array) -> CentredLaw:
        """The law with these κ₁, and the worst κ₂ for them."""
        second = self._second(first[:, None], kappa[:, None])[0][:, 0]
        return CentredLaw(self, kappa, gamma, first, second, curve)

    @cached_property
    def sizes(self) -> Array:
        """About √T, part by part."""
        worth = self.spread**2 + (self.w * (self.r**2 + self.mid**2)).sum(axis=1) + self.w0
        return np.asarray(np.sqrt(self.g * self.m * worth))

    def omega(self, gamma: Array) -> Array:
        return np.asarray((self.w * (self.mid - gamma) ** 2).sum(axis=1) + self.w0)

    def _second(self, first: Array, kappa: Array) -> tuple[Array, Array]:
        """The best κ₂ for κ₁, and how it changes with κ₁ where a limit holds it (not a number elsewhere)."""
        g, m = self.g[:, None], self.m[:, None]
        floor = np.minimum(np.floor(first), m - 1.0)
        least = (2.0 * floor + 1.0) * first - floor * (floor + 1.0)
        most = m * first
        spare = first - (2.0 * kappa * first - kappa**2) / g  # E_ac + E_al
        free = g * first - spare * (g - 1.0)
        found = np.minimum(np.maximum(free, least), most)
        change = np.where(free <= least, 2.0 * floor + 1.0, np.where(free >= most, m, np.nan))
        return found, change

    def levels(self, first: Array, second: Array, kappa: Array) -> tuple[Array, Array]:
        """E_ac and E_al."""
        g = self.g[:, None]
        across = np.where(g > 1, np.maximum(first - second / g, 0.0), 0.0)
        return across, np.maximum((second - 2.0 * kappa * first + kappa**2) / g, 0.0)


_GRID, _ROUNDS = 64, 5
"""Places in a grid, and how often it is refined: 2⁻³⁰ of the number of groups."""


@dataclass(frozen=True, eq=False)
class CentredLaw:
    """The worst moments of the number of groups at some centres, part by part."""

    batch: Batch
    kappa: Array
    gamma: Array
    first: Array
    second: Array
    curve: Array

    @cached_property
    def bent(self) -> Array:
        """What the bend adds to √T."""
        return np.asarray(self.curve * self.first * (1.0 - self.first / self.batch.m))

    @cached_property
    def levels(self) -> tuple[Array, Array]:
        across, along = self.batch.levels(self.first[:, None], self.second[:, None], self.kappa[:, None])
        return across[:, 0], along[:, 0]

    @cached_property
    def column_roots(self) -> Array:
        """√(g w_j E_j)."""
        b = self.batch
        E = self.first[:, None] * b.r**2 + (b.g - self.first)[:, None] * self.gamma**2
        return np.asarray(np.sqrt(b.g[:, None] * b.w * E))

    @cached_property
    def count_roots(self) -> tuple[Array, Array]:
        """√((g−1) E_ac) and √E_al."""
        across, along = self.levels
        return np.sqrt((self.batch.g - 1.0) * across), np.sqrt(along)

    @cached_property
    def roots(self) -> Array:
        """√T."""
        b = self.batch
        turned = b.spread * np.sqrt(b.g * self.first)
        count = np.sqrt(b.omega(self.gamma)) * sum(self.count_roots)
        return np.asarray(turned + self.column_roots.sum(axis=1) + count)

    @cached_property
    def energies(self) -> Array:
        """‖c‖²."""
        b = self.batch
        return np.asarray(b.g * (b.w * self.centres**2).sum(axis=1) + b.w0 * self.kappa**2 / b.g)

    @cached_property
    def centres(self) -> Array:
        b = self.batch
        return np.asarray((b.mid - self.gamma) * (self.kappa / b.g)[:, None] + self.gamma)

    def slopes(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Of √T and of ‖c‖², each in κ and in γ."""
        b = self.batch
        alpha, omega = b.mid - self.gamma, np.sqrt(b.omega(self.gamma))
        across, along = self.count_roots
        in_kappa = omega * (self.kappa - self.first) / b.g / np.maximum(along, 1e-30)
        flat = self.column_roots > 0
        in_gamma = np.where(
            flat,
            b.g[:, None] * b.w * (b.g - self.first)[:, None] * self.gamma / np.where(flat, self.column_roots, 1.0),
            0.0,
        )
        in_gamma = in_gamma - (across + along)[:, None] * b.w * alpha / np.maximum(omega, 1e-30)[:, None]
        c = self.centres
        energy_in_kappa = 2.0 * (b.w * c * alpha).sum(axis=1) + 2.0 * b.w0 * self.kappa / b.g
        energy_in_gamma = 2.0 * b.g[:, None] * b.w * c * (1.0 - self.kappa / b.g)[:, None]
        return (in_kappa, in_gamma), (energy_in_kappa, energy_in_gamma)


def find_centres(batch: Batch, copies: Array, outside: float) -> CentredLaw:
    """The law at the centres with the least F = Σ copies · √T + √E, E with `outside` from elsewhere."""
    from scipy.optimize import minimize

    n, width = batch.w.shape
    units = np.maximum(np.abs(batch.mid), batch.r)
    free = batch.w > 0

    def unpack(x: Array) -> tuple[Array, Array]:
        gamma = np.zeros((n, width))
        gamma[free] = x[n:]
        return x[:n] * batch.m, gamma * units

    def value(x: Array, bend: float) -> tuple[float, Array]:
        law = batch.law(*unpack(x), bend)
        (root_k, root_c), (energy_k, energy_c) = law.slopes()
        root = math.sqrt(outside + float(copies @ law.energies))
        F = float(copies @ (law.roots + law.bent)) + root
        in_kappa = copies * (root_k + energy_k / (2.0 * max(root, 1e-150))) * batch.m
        in_gamma = copies[:, None] * (root_c + energy_c / (2.0 * max(root, 1e-150))) * units
        return F, np.concatenate([in_kappa, in_gamma[free]])

    laws: dict[Hashable, CentredLaw] = {}

    def exactly(x: Array) -> float:
        law = recall(laws, x.tobytes(), lambda: batch.law(*unpack(x)), 16)
        return float(copies @ law.roots) + math.sqrt(outside + float(copies @ law.energies))

    bounds = [(0.0, 1.0)] * n + [(-1.0, 1.0)] * int(free.sum())
    tried = []
    for x in _starts(batch, free, units):
        tried.append(x)
        for bend, ftol in ((_BEND, 1e-7), (_BEND / 30.0, 1e-8)):
            options = {"maxiter": 80, "ftol": ftol}
            x = minimize(value, x, (bend,), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        tried.append(x)
    if outside == 0:
        tried.append(np.zeros(n + int(free.sum())))
    half = tried[-1 - (outside == 0)].copy()
    half[:n] = np.where(batch.m == batch.g, 0.5, half[:n])  # by symmetry often the best, and a corner of F
    best = min((*tried, half), key=exactly)
    # Where a sum's count hardly takes part it should not at all: next to this corner of F the noise is ill-defined.
    gamma = unpack(best)[1]
    bare = (batch.w0 == 0) & (np.abs(batch.mid - gamma) <= 1e-3 * np.abs(batch.mid)).all(axis=1)
    snapped = best.copy()
    snapped[n:] = np.where(bare[:, None], batch.mid, gamma)[free] / units[free]
    best = snapped if exactly(snapped) <= exactly(best) * (1.0 + 1e-6) else best
    return laws[best.tobytes()]


_BEND = 3e-3


def _starts(batch: Batch, free: npt.NDArray[np.bool_], units: Array) -> list[Array]:
    """Where to search from: a person in most of its groups; and, where sums are without counts, counts set aside."""
    inner = np.sign(batch.mid) * np.minimum(batch.r, np.abs(batch.mid)) / units
    share = (batch.m / batch.g)[:, None]
    kappa = np.where(batch.m == batch.g, 0.5, 0.8)
    found = [np.concatenate([kappa, (0.7 * share * inner)[free]])]
    if free.any() and (batch.w0 == 0).any():
        bare = (batch.w0 == 0)[:, None]
        found.append(np.concatenate([kappa, np.where(bare, batch.mid / units, 0.7 * share * inner)[free]]))
    return found


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Rows of a part in closed form: what they see of a core, of sums and of the constant; not yet at μ = 1."""

    own: Array
    ties: Array
    constant: Array
    squares: Array
    """The largest squared norm for each number of groups, from the fewest on."""
    cost: float
    energy: float


def make_block(member: int, part: JointPart, law: CentredLaw, q: int) -> LiftBlock:
    """The lift of part q of a batch at the centres and moments of a law, at μ = 1 for every number of groups."""
    rows = make_rows(part, law, q, float(law.roots[q]))
    norm = float(rows.squares.max())
    scale = 1.0 / math.sqrt(norm)
    root = math.sqrt(rows.cost * norm)
    return LiftBlock((member,), (rows.own * scale,), rows.ties * scale, rows.constant * scale, root, rows.energy)


def make_rows(part: JointPart, law: CentredLaw, q: int, root: float) -> CentredRows:
    """The rows of part q of a batch at the centres and moments of a law, `root` being √T of all that is noised."""
    g, p = part.groups, part.columns
    first, kappa = law.first[q], law.kappa[q]
    gamma = np.zeros(p)
    gamma[law.batch.moving[q]] = law.gamma[q, : len(law.batch.moving[q])]
    omega = float((part.weights * (part.centre - gamma) ** 2).sum() + part.count_weight)
    E = first * part.radius**2 + (g - first) * gamma**2
    b = 1.0 / np.sqrt(root * np.sqrt(E / (g * part.weights)))
    across, along = (float(each[q]) for each in law.levels)
    counted = omega > 1e-18 * float((part.weights * part.centre**2).sum() + part.count_weight)
    s = level = e = 0.0
    if counted:
        inverse_along = 1.0 / math.sqrt(root * math.sqrt(max(along, 1e-12 * g) / omega))
        s = inverse_along if g == 1 else 1.0 / math.sqrt(root * math.sqrt(max(across, 1e-12 * g) / (omega * (g - 1))))
        level, e = (inverse_along - s) / g, kappa * inverse_along / g
    own = np.zeros((p + counted, p + 1))
    own[np.arange(p), np.arange(p)] = b * part.radius
    own[:p, p] = b * gamma
    ties, constant = np.zeros_like(own), np.append(-b * gamma, [-e] * counted)
    if counted:
        own[p, p], ties[p, p] = s, level
    cost = g * float(part.weights @ (1.0 / b**2))
    if counted:
        cost += omega * ((g - 1) / s**2 + 1.0 / (s + g * level) ** 2)
    energy = float(law.energies[q])
    if not counted:
        energy = g * float((part.weights * gamma**2).sum())
    return CentredRows(own, ties, constant, _squares(part, b, gamma, s, level, e), cost, energy)


def _squares(part: JointPart, b: Array, gamma: Array, s: float, level: float, e: float) -> Array:
    """The largest squared norm of these rows for each number of groups: a parabola."""
    g = part.groups
    active = float((b**2 * (part.radius**2)).sum())
    idle = float((b**2 * gamma**2).sum())
    k = np.arange(part.fewest, part.most + 1.0)
    count = (s + level * k - e) ** 2 * k + (level * k - e) ** 2 * (g - k)
    return np.asarray(k * active + (g - k) * idle + count)


def everybody(member: int, part: JointPart) -> LiftBlock:
    """The lift of a part that everybody is in: a box around its middle."""
    roots = np.sqrt(part.weights) * part.radius
    root = float(roots.sum())
    own = np.diag(np.sqrt(roots / root)) if root else np.zeros((0, 0))
    energy = float((part.weights * part.centre**2).sum()) + part.count_weight
    return LiftBlock((member,), (own,), np.zeros_like(own), np.zeros(part.columns), root, energy)
