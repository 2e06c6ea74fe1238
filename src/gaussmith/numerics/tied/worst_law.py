"""The law on types under which a request needs the most noise: it gives the best noise, and proves it the best.

    maximise S(λ) = Σ_q (g_q − 1) tr √(E A_q) + tr √(E b bᵀ) + Σ_q √(E t_q)        over laws λ on people

A_q is the scatter of a person's answers over the groups of part q, b what all parts and the constant add up to, t_q the
columns set aside (`reduced`). A person is a type of every part. The least total of any noise is the largest S², and the
noise is S √(E A_q) across groups and S √(E b bᵀ) along them.

As in `search`: a few rounds of λ ← λ · cost² over everybody, then Newton's method (`interior`) on those who can matter;
price everybody, take in who costs too much, repeat. Nothing here can harm privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property, partial

import numpy as np

from gaussmith.numerics.interior import View, climb, products
from gaussmith.numerics.products import Array
from gaussmith.numerics.search import singular
from gaussmith.numerics.tied.parts import Family, taken
from gaussmith.numerics.tied.reduced import Index, Reduced
from gaussmith.values import dataclass

_ALL = 400
"""So many people or fewer are all taken in from the start."""

_WAYS = 12
"""Rounds over everybody before Newton's method."""


@dataclass(frozen=True, eq=False)
class Roots:
    """The roots of a law's moments: M^{1/2} = V diag(m) Vᵀ for b, the same for every A_q, and √(E t_q)."""

    along: tuple[Array, Array]
    across: tuple[tuple[Array, Array], ...]
    turned: Array
    total: float
    """S."""


@dataclass(frozen=True, eq=False)
class People:
    """Everybody who could be in the table: all combinations of a type of each part, and √weight of the constant."""

    parts: Sequence[Reduced]
    constant: float
    families: Sequence[Family] = ()
    """Which of these parts share a limit."""

    @cached_property
    def index(self) -> Index:
        """A row per part: everybody's type of it. Nobody who adds nothing."""
        sizes = [len(part.types[1]) for part in self.parts]
        index = np.indices(sizes).reshape(len(sizes), -1)
        for family in self.families:
            used = sum(taken(self.parts[q].states, self.parts[q].replaced)[index[q]] for q in family.members)
            index = index[:, (np.asarray(used) <= family.most).all(axis=1)]
        if self.constant:
            return index
        active = np.zeros(index.shape[1], bool)
        for part, at in zip(self.parts, index, strict=True):
            active |= ((part.types[1].sum(axis=1) > 0) | (part.turned > 0))[at]
        return np.asarray(index[:, active])

    @property
    def size(self) -> int:
        return int(self.index.shape[1])

    def rows(self, at: Index | slice = slice(None)) -> Array:
        """b of these people."""
        index = self.index[:, at]
        found = self._sums(index)
        return found if self.basis is None else found @ self.basis

    def _sums(self, index: Index) -> Array:
        columns = [part.along[i] for part, i in zip(self.parts, index, strict=True)]
        if self.constant:
            columns.append(np.full((index.shape[1], 1), self.constant))
        return np.hstack(columns)

    @cached_property
    def basis(self) -> Array | None:
        """Orthonormal columns that span everybody's b, where it is known that they span less than all.

        A person who is in exactly so many groups adds the same to the sum of their counts as everybody else.
        """
        if not any(part.part.fewest and part.part.groups > 1 for part in self.parts):
            return None
        _, size, V = np.linalg.svd(self._sums(self.index), full_matrices=False)
        return np.asarray(V[size > 1e-9 * size[0]].T)

    @cached_property
    def scattered(self) -> list[tuple[int, Reduced]]:
        return [(q, part) for q, part in enumerate(self.parts) if part.part.groups > 1 and part.answers]

    @cached_property
    def turning(self) -> list[tuple[int, Array]]:
        """What the roots of the columns set aside are taken of, part by part; of sums over rows after all others."""
        found = [(q, part.spread**2 * part.part.groups * part.turned) for q, part in enumerate(self.parts)]
        rows = [(q, part.row_spread**2 * part.part.groups * part.row_turned) for q, part in enumerate(self.parts)]
        return [(q, values) for q, values in (*found, *rows) if values.any()]

    @cached_property
    def of_rows(self) -> list[bool]:
        """Which of `turning` are of sums over rows."""
        own = sum(bool(part.spread and part.turned.any()) for part in self.parts)
        return [i >= own for i in range(len(self.turning))]

    def roots(self, weights: Array, at: Index | slice = slice(None), rows: Array | None = None) -> Roots:
        """The roots of the moments of a law on these people (of any sum), each to high relative accuracy."""
        rows = self.rows(at) if rows is None else rows
        index = self.index[:, at]
        if not rows.shape[1]:
            along = np.zeros(0), np.zeros((0, 0))
        elif len(rows) > 5000:
            along = root_of_moment((rows * weights[:, None]).T @ rows)
        else:
            along = singular(np.sqrt(weights)[:, None] * rows)
        across = []
        for q, part in self.scattered:
            marginal = np.bincount(index[q], weights, minlength=len(part.across))
            across.append(root_of_moment(np.tensordot(marginal, part.across, 1)))
        turned = np.array([math.sqrt(weights @ values[index[q]]) for q, values in self.turning])
        groups = [part.part.groups - 1 for _, part in self.scattered]
        total = along[0].sum() + sum(g * m.sum() for g, (m, _) in zip(groups, across, strict=True)) + turned.sum()
        return Roots(along, tuple(across), turned, float(total))

    def costs(self, roots: Roots, at: Index | slice = slice(None), rows: Array | None = None) -> Array:
        """What each of these people costs under the noise of these roots, times S; infinite where one has no noise."""
        rows = self.rows(at) if rows is None else rows
        index = self.index[:, at]
        with np.errstate(divide="ignore", invalid="ignore"):
            m, V = roots.along
            found = ((rows @ (V / np.sqrt(m))) ** 2).sum(axis=1)
            for (q, part), (m, V) in zip(self.scattered, roots.across, strict=True):
                price = (V / m) @ V.T * (part.part.groups - 1)
                found += np.einsum("nij,ij->n", part.across, price)[index[q]]
            for (q, values), root in zip(self.turning, roots.turned, strict=True):
                found += (values / root)[index[q]]
        return np.asarray(np.where(np.isfinite(found), found, np.inf))

    def view(self, weights: Array, at: Index, rows: Array) -> View | None:
        """The problem as `interior.climb` wants to see it; None where some direction has no noise."""
        index = self.index[:, at]
        roots = self.roots(weights, at, rows)
        if len(roots.along[0]) < rows.shape[1]:
            return None
        if not all(bool((m > 0).all()) for m in (roots.along[0], roots.turned, *(m for m, _ in roots.across))):
            return None
        m, V = roots.along
        X = rows @ V
        gradient = (X**2 / m).sum(axis=1)
        features = [products(X, m)] if len(m) else []
        for (q, part), root in zip(self.scattered, roots.across, strict=True):
            slopes, bends = look_at_moments(part.across, root, part.part.groups - 1)
            gradient += slopes[index[q]]
            features.append(bends[index[q]])
        for (q, values), root in zip(self.turning, roots.turned, strict=True):
            gradient += (values / root)[index[q]]
            features.append((values / math.sqrt(2.0 * root**3))[index[q], None])
        size, S = float(weights.sum()), roots.total
        Phi = np.sqrt(weights)[:, None] * np.hstack(features)
        return View(gradient, Phi, float(gradient.max()) * size / S - 1.0, (S / size) ** 2)


def look_at_moments(moments: Array, root: tuple[Array, Array], times: float) -> tuple[Array, Array]:
    """The gradient of 2 · times · tr √(E X) at its root, and a root of minus its Hessian: a row each for every X."""
    m, V = root
    turned = np.einsum("ia,nij,jb->nab", V, moments, V, optimize=True)
    gradient = times * (np.einsum("naa->na", turned) / m).sum(axis=1)
    a, b = np.triu_indices(len(m))
    double = np.where(a == b, 1.0, math.sqrt(2.0)) * math.sqrt(times)
    return gradient, np.asarray(turned[:, a, b] * (double / np.sqrt(m[a] * m[b] * (m[a] + m[b]))))


def root_of_moment(moment: Array) -> tuple[Array, Array]:
    """m and V with M^{1/2} = V diag(m) Vᵀ; small ones to high relative accuracy also where units lie far apart."""
    e, V = np.linalg.eigh(moment)
    units = np.sqrt(np.maximum(np.diag(moment), 0.0))
    if len(e) and not e[0] > 1e-9 * e[-1] and (units > 0).all():
        try:
            factor = np.linalg.cholesky(moment / np.outer(units, units)).T * units
        except np.linalg.LinAlgError:
            return np.sqrt(np.maximum(e, 0.0)), V
        return singular(factor)
    return np.sqrt(np.maximum(e, 0.0)), V


@dataclass(frozen=True, eq=False)
class WorstLaw:
    """Weights on some people (`at`) that add up to 1, the roots of their moments, and by how much the noise of these
    roots must grow so that everybody is hidden (a little over 1): S² ≤ least total ≤ excess · S²."""

    people: People
    at: Index
    weights: Array
    roots: Roots = field(repr=False)
    excess: float

    @property
    def lower(self) -> float:
        return self.roots.total**2


def find_worst_law(people: People, gap: float = 1e-6) -> WorstLaw:
    """The worst law to a relative gap, or the best that was found."""
    rows = people.rows()
    everybody = np.arange(people.size)
    weights = np.full(people.size, 1.0 / people.size)
    at: Index = everybody
    if people.size > _ALL:
        for _ in range(_WAYS):
            costs = people.costs(people.roots(weights, rows=rows), rows=rows)
            weights = weights * np.minimum(costs, 1e100) ** 2
            weights /= weights.sum()
        at = np.argsort(-weights, kind="stable")[:_ALL]
    best: WorstLaw | None = None
    for _ in range(30):
        start = np.maximum(weights[at], 1e-3 / len(at))
        part_rows = rows[at]
        found = climb(start / start.sum(), partial(people.view, at=at, rows=part_rows), lambda _, now: now <= 0.2 * gap)
        found = found / found.sum()
        roots = people.roots(found, at, part_rows)
        costs = people.costs(roots, rows=rows) / roots.total
        law = WorstLaw(people, at, found, roots, float(costs.max()))
        if best is None or law.excess < best.excess:
            best = law
        if len(at) == people.size or law.excess <= 1.0 + gap:
            break
        weights = np.zeros(people.size)
        weights[at] = found
        kept = at[(found > 1e-6 / len(at)) | (costs[at] > 1.0 - 1e-3)]
        costs[kept] = 0.0
        dear = np.flatnonzero(costs > 1.0 + 0.3 * gap)
        if not len(dear):
            break
        at = np.union1d(kept, dear[np.argsort(-costs[dear], kind="stable")][: max(_ALL // 2, len(kept))])
    assert best is not None
    return best
