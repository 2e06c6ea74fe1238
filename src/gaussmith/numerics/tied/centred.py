"""The closed form of a part: noise around a centre, found without listing types, whatever the groups and columns.

Column j of a group is noised as x_ij − α_j a_i − γ_j n, the count a_i of the group two-level around κ/g · n, with
α_j = mid_j − γ_j: to the person it costs, with k the number of its groups,

    √T(κ, γ) = max over laws on k of Σ_j √(g w_j E_j) + √Ω (√((g−1) E_ac) + √E_al),     Ω = Σ w_j α_j² + w₀,
    E_j = κ₁ r_j² + (g−κ₁) γ_j²,   E_ac = κ₁ − κ₂/g,   E_al = (κ₂ − 2κκ₁ + κ²)/g,       κ₁ = E k,  κ₂ = E k².

Only the two moments of k matter. For given κ₁ the best κ₂ is known, and what is left is concave in κ₁. All parts are
searched at once: F = Σ_q √T_q + √E is smooth in the centres nearly everywhere, and its gradient is that of the worst law.
Columns centred at 0 have γ = 0 and count together, as in `reduced`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.blocks import Block
from gaussmith.numerics.tied.parts import Part

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Batch:
    """Parts side by side as arrays, a row each; columns are padded with weight 0. None of them is everybody's."""

    parts: Sequence[Part]

    @cached_property
    def g(self) -> Array:
        return np.array([part.groups for part in self.parts], float)

    @cached_property
    def m(self) -> Array:
        return np.array([part.most for part in self.parts], float)

    @cached_property
    def w0(self) -> Array:
        return np.array([part.count_weight for part in self.parts], float)

    @cached_property
    def spread(self) -> Array:
        """Σ √w_j r_j of the columns centred at 0."""
        found = [np.sqrt(p.weights) * p.radius * (p.centre == 0) for p in self.parts]
        return np.array([each.sum() for each in found])

    @cached_property
    def moving(self) -> list[Array]:
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

    # -- the worst law on the number of groups ----------------------------------------------------------------------

    def law(self, kappa: Array, gamma: Array, steps: int = 26) -> Law:
        """The worst κ₁, κ₂ for these centres, by bisection of the slope in κ₁."""
        omega = self.omega(gamma)

        def at(first: Array, right: bool) -> tuple[Array, Array]:
            second, slope = self._second(first, kappa, right)
            return second, self._slope(first, second, slope, kappa, gamma, omega)

        high = self.m.copy()
        second, slope = at(high, False)
        if (slope < 0).any():
            low, top = np.zeros_like(high), np.where(slope < 0, high, 0.0)
            for _ in range(steps):
                middle = 0.5 * (low + top)
                rises = at(middle, True)[1] > 0
                low, top = np.where(rises, middle, low), np.where(rises, top, middle)
            whole = np.round(top)  # the slope jumps at whole numbers: a law on one number of groups
            top = np.where((np.abs(whole - top) <= 4.0 * self.m * 0.5**steps) & (whole >= 1), whole, top)
            high = np.where(slope < 0, top, high)
            second = at(high, True)[0]
        return Law(self, kappa, gamma, high, second)

    def omega(self, gamma: Array) -> Array:
        return np.asarray((self.w * (self.mid - gamma) ** 2).sum(axis=1) + self.w0)

    def _second(self, first: Array, kappa: Array, right: bool) -> tuple[Array, Array]:
        """The best κ₂ for κ₁, and how it changes with κ₁ where a limit holds it (not a number elsewhere)."""
        g = self.g
        floor = np.minimum(np.floor(first) if right else np.ceil(first) - 1.0, self.m - 1.0)
        least = (2.0 * floor + 1.0) * first - floor * (floor + 1.0)
        most = self.m * first
        spare = first - (2.0 * kappa * first - kappa**2) / g  # E_ac + E_al
        free = g * first - spare * (g - 1.0)
        found = np.clip(free, least, most)
        slope = np.where(free <= least, 2.0 * floor + 1.0, np.where(free >= most, self.m, np.nan))
        return found, slope

    def _slope(self, first: Array, second: Array, change: Array, kappa: Array, gamma: Array, omega: Array) -> Array:
        g, r2, c2 = self.g, self.r**2, gamma**2
        E = first[:, None] * r2 + (g - first)[:, None] * c2
        found = 0.5 * self.spread * np.sqrt(g / np.maximum(first, _TINY))
        found += (0.5 * np.sqrt(g[:, None] * self.w / np.maximum(E, _TINY)) * (r2 - c2)).sum(axis=1)
        across, along = self._levels(first, second, kappa)
        spare = np.maximum(across + along, _TINY)
        inside = 0.5 * np.sqrt(g / spare) * (1.0 - 2.0 * kappa / g)
        across, along = np.maximum(across, 1e-30), np.maximum(along, 1e-30)
        held = 0.5 * (np.sqrt((g - 1.0) / across) * (1.0 - change / g) + (change - 2.0 * kappa) / g / np.sqrt(along))
        return np.asarray(found + np.sqrt(omega) * np.where(np.isnan(change), inside, held))

    def _levels(self, first: Array, second: Array, kappa: Array) -> tuple[Array, Array]:
        """E_ac and E_al."""
        g = self.g
        across = np.where(g > 1, np.maximum(first - second / g, 0.0), 0.0)
        return across, np.maximum((second - 2.0 * kappa * first + kappa**2) / g, 0.0)


@dataclass(frozen=True, eq=False)
class Law:
    """The worst moments of the number of groups at some centres, part by part."""

    batch: Batch
    kappa: Array
    gamma: Array
    first: Array
    second: Array

    @cached_property
    def levels(self) -> tuple[Array, Array]:
        return self.batch._levels(self.first, self.second, self.kappa)

    @cached_property
    def column_roots(self) -> Array:
        """√(g w_j E_j)."""
        b = self.batch
        E = self.first[:, None] * b.r**2 + (b.g - self.first)[:, None] * self.gamma**2
        return np.sqrt(b.g[:, None] * b.w * E)

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


def find_centres(batch: Batch, copies: Array, outside: float) -> tuple[Law, float]:
    """The centres with the least F = Σ copies · √T + √E, E with `outside` from elsewhere; and that F."""
    from scipy.optimize import minimize

    n, width = batch.w.shape
    units = np.maximum(np.abs(batch.mid), batch.r)
    free = batch.w > 0

    def unpack(x: Array) -> tuple[Array, Array]:
        gamma = np.zeros((n, width))
        gamma[free] = x[n:]
        return x[:n] * batch.m, gamma * units

    def value(x: Array) -> tuple[float, Array]:
        law = batch.law(*unpack(x))
        (root_k, root_c), (energy_k, energy_c) = law.slopes()
        root = math.sqrt(outside + float(copies @ law.energies))
        F = float(copies @ law.roots) + root
        in_kappa = copies * (root_k + energy_k / (2.0 * max(root, 1e-150))) * batch.m
        in_gamma = copies[:, None] * (root_c + energy_c / (2.0 * max(root, 1e-150))) * units
        return F, np.concatenate([in_kappa, in_gamma[free]])

    bounds = [(0.0, 1.0)] * n + [(-1.0, 1.0)] * int(free.sum())
    best: tuple[float, Array] | None = None
    for x in _starts(batch, free, units, outside):
        found = minimize(value, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200, "ftol": 1e-10})
        for each in (found.x, x):
            F = value(each)[0]
            if best is None or F < best[0]:
                best = F, each
    assert best is not None
    law = batch.law(*unpack(best[1]), steps=60)
    return law, float(copies @ law.roots) + math.sqrt(outside + float(copies @ law.energies))


def _starts(batch: Batch, free: Array, units: Array, outside: float) -> list[Array]:
    """Where to search from: a person in most of its groups, in half of them; without a centre; counts set aside."""
    inner = np.sign(batch.mid) * np.minimum(batch.r, np.abs(batch.mid)) / units
    share = (batch.m / batch.g)[:, None]
    ones = np.ones(len(batch.g))
    found = [np.concatenate([0.8 * ones, (0.7 * share * inner)[free]])]
    found.append(np.concatenate([0.5 * ones, (0.3 * share * inner)[free]]))
    if free.any() and (batch.w0 == 0).any():
        bare = (batch.w0 == 0)[:, None]
        found.append(np.concatenate([0.8 * ones, np.where(bare, batch.mid / units, 0.7 * share * inner)[free]]))
    if outside == 0:
        found.append(np.zeros(len(found[0])))
    return found


def make_block(member: int, part: Part, law: Law, q: int) -> Block:
    """The lift of part q of a batch at the centres and moments of a law, at μ = 1 for every number of groups."""
    g, p = part.groups, part.columns
    first, kappa = law.first[q], law.kappa[q]
    gamma = np.zeros(p)
    gamma[law.batch.moving[q]] = law.gamma[q, : len(law.batch.moving[q])]
    omega = float((part.weights * (part.centre - gamma) ** 2).sum() + part.count_weight)
    root = float(law.roots[q])
    E = first * part.radius**2 + (g - first) * gamma**2
    b = 1.0 / np.sqrt(root * np.sqrt(E / (g * part.weights)))
    across, along = (float(each[q]) for each in law.levels)
    counted = omega > 1e-18 * float((part.weights * part.centre**2).sum() + part.count_weight)
    s = level = e = 0.0
    if counted:
        inverse_along = 1.0 / math.sqrt(root * math.sqrt(max(along, 1e-24 * g) / omega))
        s = inverse_along if g == 1 else 1.0 / math.sqrt(root * math.sqrt(across / (omega * (g - 1))))
        level, e = (inverse_along - s) / g, kappa * inverse_along / g
    own = np.zeros((p + counted, p + 1))
    own[np.arange(p), np.arange(p)] = b * part.radius
    own[:p, p] = b * gamma
    ties, constant = np.zeros_like(own), np.append(-b * gamma, [-e] * counted)
    if counted:
        own[p, p], ties[p, p] = s, level
    norm = _largest_square(part, b, gamma, s, level, e)
    cost = g * float(part.weights @ (1.0 / b**2))
    if counted:
        cost += omega * ((g - 1) / s**2 + 1.0 / (s + g * level) ** 2)
    scale = 1.0 / math.sqrt(norm)
    energy = float(law.energies[q])
    if not counted:
        energy = g * float((part.weights * gamma**2).sum())
    return Block((member,), (own * scale,), ties * scale, constant * scale, math.sqrt(cost * norm), energy)


def _largest_square(part: Part, b: Array, gamma: Array, s: float, level: float, e: float) -> float:
    """The largest squared norm of these rows over all people: a parabola in the number of groups."""
    g = part.groups
    active = float((b**2 * (part.radius**2)).sum())
    idle = float((b**2 * gamma**2).sum())
    k = np.arange(part.fewest, part.most + 1.0)
    count = (s + level * k - e) ** 2 * k + (level * k - e) ** 2 * (g - k)
    return float((k * active + (g - k) * idle + count).max())


def everybody(member: int, part: Part) -> Block:
    """The lift of a part that everybody is in: a box around its middle."""
    roots = np.sqrt(part.weights) * part.radius
    root = float(roots.sum())
    own = np.diag(np.sqrt(roots / root)) if root else np.zeros((0, 0))
    energy = float((part.weights * part.centre**2).sum()) + part.count_weight
    return Block((member,), (own,), np.zeros_like(own), np.zeros(part.columns), root, energy)
