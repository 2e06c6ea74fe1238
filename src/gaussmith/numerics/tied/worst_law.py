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
from collections.abc import Hashable, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from gaussmith.numerics.interior import View, climb, pairs_of, products
from gaussmith.numerics.kept import recall
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

    @property
    def content(self) -> Hashable:
        """All that a law on them depends on."""
        return self.constant, tuple(self.families), tuple(part.content for part in self.parts)

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

    def everybody(self) -> Some:
        """All of them."""
        rows = self._sums(self.index)
        return self.some(slice(None), rows if self.basis is None else rows @ self.basis)

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

    def some(self, at: Index | slice, rows: Array) -> Some:
        """Some of these people; `rows` are their b."""
        index = self.index[:, at]
        return Some(self, index, rows, [values[index[q]] for q, values in self.turning])


@dataclass(frozen=True, eq=False)
class Some:
    """Some people: a row of `index` per part, a row of `rows` each, and for each of `turning` what they turn."""

    people: People
    index: Index
    rows: Array
    turned: list[Array]

    def roots(self, weights: Array) -> Roots:
        """The roots of the moments of a law on these people (of any sum), each to high relative accuracy."""
        rows, scattered = self.rows, self.people.scattered
        if not rows.shape[1]:
            along = np.zeros(0), np.zeros((0, 0))
        elif len(rows) > 5000:
            along = root_of_moment((rows * weights[:, None]).T @ rows)
        else:
            along = singular(np.sqrt(weights)[:, None] * rows)
        across = []
        for q, part in scattered:
            marginal = np.bincount(self.index[q], weights, minlength=len(part.across))
            across.append(root_of_moment(expected(np.asarray(marginal, float), part.across)))
        turned = np.array([math.sqrt(weights @ values) for values in self.turned])
        groups = [part.part.groups - 1 for _, part in scattered]
        total = along[0].sum() + sum(g * m.sum() for g, (m, _) in zip(groups, across, strict=True)) + turned.sum()
        return Roots(along, tuple(across), turned, float(total))

    def costs(self, roots: Roots) -> Array:
        """What each of these people costs under the noise of these roots, times S; infinite where one has no noise."""
        with np.errstate(divide="ignore", invalid="ignore"):
            m, V = roots.along
            found = ((self.rows @ (V / np.sqrt(m))) ** 2).sum(axis=1)
            for (q, part), (m, V) in zip(self.people.scattered, roots.across, strict=True):
                price = (V / m) @ V.T * (part.part.groups - 1)
                found += np.einsum("nij,ij->n", part.across, price)[self.index[q]]
            for values, root in zip(self.turned, roots.turned, strict=True):
                found += values / root
        return np.asarray(np.where(np.isfinite(found), found, np.inf))

    def view(self, weights: Array) -> View | None:
        """The problem as `interior.climb` wants to see it; None where some direction has no noise."""
        roots = self.roots(weights)
        if len(roots.along[0]) < self.rows.shape[1]:
            return None
        if not all(bool((m > 0).all()) for m in (roots.along[0], roots.turned, *(m for m, _ in roots.across))):
            return None
        m, V = roots.along
        X = self.rows @ V
        gradient = (X**2 / m).sum(axis=1)
        features = [products(X, m)] if len(m) else []
        for (q, part), root in zip(self.people.scattered, roots.across, strict=True):
            slopes, bends = look_at_moments(part.across, root, part.part.groups - 1)
            gradient += slopes[self.index[q]]
            features.append(bends[self.index[q]])
        for values, root in zip(self.turned, roots.turned, strict=True):
            gradient += values / root
            features.append((values / math.sqrt(2.0 * root**3))[:, None])
        size, S = float(weights.sum()), roots.total
        Phi = np.sqrt(weights)[:, None] * np.hstack(features)
        return View(gradient, Phi, float(gradient.max()) * size / S - 1.0, (S / size) ** 2)


def expected(weights: Array, moments: Array) -> Array:
    """Σ weights · moments, a matrix each."""
    return np.asarray(np.dot(weights[None, :], moments.reshape(len(moments), -1)).reshape(moments.shape[1:]))


def look_at_moments(moments: Array, root: tuple[Array, Array], times: float) -> tuple[Array, Array]:
    """The gradient of 2 · times · tr √(E X) at its root, and a root of minus its Hessian: a row each for every X."""
    m, V = root
    # Of one answer every moment is a number, which nothing turns.
    turned = moments if len(m) == 1 else np.einsum("ia,nij,jb->nab", V, moments, V, optimize=True)
    gradient = times * (np.einsum("naa->na", turned) / m).sum(axis=1)
    a, b, double = pairs_of(len(m))
    return gradient, np.asarray(turned[:, a, b] * (double * math.sqrt(times) / np.sqrt(m[a] * m[b] * (m[a] + m[b]))))


def root_of_moment(moment: Array) -> tuple[Array, Array]:
    """m and V with M^{1/2} = V diag(m) Vᵀ; small ones to high relative accuracy also where units lie far apart."""
    if len(moment) == 1:
        return np.sqrt(np.maximum(moment[0], 0.0)), np.ones((1, 1))
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


MAX_KEPT = 16
"""Limit on the laws that are kept."""

_KEPT: dict[Hashable, tuple[Index, Array, Roots, float]] = {}


def find_worst_law(people: People, gap: float = 1e-6) -> WorstLaw:
    """The worst law to a relative gap, or the best that was found; the last ones are kept."""
    return WorstLaw(people, *recall(_KEPT, (people.content, gap), lambda: _find_worst_law(people, gap), MAX_KEPT))


def _find_worst_law(people: People, gap: float) -> tuple[Index, Array, Roots, float]:
    everybody = people.everybody()
    weights = np.full(people.size, 1.0 / people.size)
    at: Index = np.arange(people.size)
    if people.size > _ALL:
        for _ in range(_WAYS):
            costs = everybody.costs(everybody.roots(weights))
            weights = weights * np.minimum(costs, 1e100) ** 2
            weights /= weights.sum()
        at = np.argsort(-weights, kind="stable")[:_ALL]
    best: WorstLaw | None = None
    for _ in range(30):
        start = np.maximum(weights[at], 1e-3 / len(at))
        some = people.some(at, everybody.rows[at])
        found = climb(start / start.sum(), some.view, lambda _, now: now <= 0.2 * gap)
        found = found / found.sum()
        roots = some.roots(found)
        costs = everybody.costs(roots) / roots.total
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
    return best.at, best.weights, best.roots, best.excess
