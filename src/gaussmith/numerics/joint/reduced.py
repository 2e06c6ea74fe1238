"""A part as far as its best noise is concerned: columns centred at 0 set aside, the types of the others listed.

The sign of a column centred at 0 can be turned in every group by itself, so its best noise is the same in all groups
and tied to nothing: all such columns together count as Σ √w_j r_j. The *answers* of a group are what is asked of the
other columns and of the count, each scaled to the root of its weight: v = asked · (z_1, …, z_p, 1).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.exact import Array
from gaussmith.numerics.joint.parts import Family, JointPart, count_types, list_types, states_of, taken, ways
from gaussmith.numerics.kept import recall
from gaussmith.numerics.solver import SolverView, climb, pairs_of, products, singular

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Reduced:
    """The part, the columns that are centred at 0 (`turning`) and the others (`moving`)."""

    part: JointPart
    replaced: bool
    limited: bool = False
    """Whether the part is in a family: under replace-one how many groups are kept is then listed."""

    @property
    def content(self) -> Hashable:
        """All that a law on its people depends on: what is asked of the other columns, and how much is set aside."""
        part = self.part
        numbers = part.groups, part.fewest, part.most, part.max_rows, len(self.moving), self.spread, self.row_spread
        return numbers, self.asked.tobytes(), self.replaced, self.limited

    @cached_property
    def free(self) -> npt.NDArray[np.bool_]:
        """Of each column whether it is free of the others: centred at 0, or under replace-one everybody's."""
        free = self.part.centre == 0.0
        free[self.part.varying :] = False  # the number of rows has one sign
        return np.asarray(free | (self.replaced and self.part.always))

    @cached_property
    def turning(self) -> Index:
        return np.flatnonzero(self.free)

    @cached_property
    def moving(self) -> Index:
        return np.flatnonzero(~self.free)

    @cached_property
    def of_rows(self) -> npt.NDArray[np.bool_]:
        """Which of the columns set aside are sums over rows."""
        return np.asarray(self.turning >= self.part.of_rows.start)

    @cached_property
    def spread(self) -> float:
        """Σ √w_j r_j over the columns set aside, sums over rows left out."""
        return self._spread(~self.of_rows)

    @cached_property
    def row_spread(self) -> float:
        """The same over sums over rows."""
        return self._spread(self.of_rows)

    def _spread(self, which: npt.NDArray[np.bool_]) -> float:
        roots = np.sqrt(self.part.weights) * self.part.radius
        return float(roots[self.turning[which]].sum())

    @cached_property
    def kept(self) -> JointPart:
        """The part with the other columns only."""
        part, at = self.part, self.moving
        return JointPart(
            part.groups,
            part.fewest,
            part.most,
            part.centre[at],
            part.radius[at],
            part.weights[at],
            part.count_weight,
            max_rows=part.max_rows,
        )

    @cached_property
    def counted(self) -> bool:
        """Whether the count of a group is among the answers."""
        return self.part.count_weight > 0 and not self.part.always

    @cached_property
    def asked(self) -> Array:
        """Answers × (moving columns, the count: the group's own, or everybody's): v = asked · (z, 1)."""
        p = len(self.moving)
        rows = self.kept.rows[: p + self.counted, : p + 1]
        return np.asarray(rows)

    @cached_property
    def answers(self) -> int:
        return len(self.moving) + self.counted

    @property
    def corners(self) -> int:
        """How many corners the moving columns of a group have."""
        return int(2 ** len(self.moving))

    @cached_property
    def size(self) -> int:
        """How many types the moving columns have, without listing them; at least so many."""
        columns, most = len(self.moving), self.part.most
        if columns > 20 or (self.replaced and columns > 8):
            return 2**20  # too many, and slow to count
        if self.replaced:
            cube = most**3 if self.limited else most**2 // 2
            return cube if most > 200 else count_types(self.kept, True, self.limited)
        size = 0
        for k in range(self.part.fewest, most + 1):
            size += ways(k, 2**columns)
            if size > 2**20:
                break
        return size

    @cached_property
    def types(self) -> tuple[Array, Array]:
        """What a group can hold, (z of the moving columns, 1) or a difference of two; and the counts of every type."""
        listed = self.kept
        if listed.most == 1 and not self.replaced:  # one group, at any corner, or none
            p = listed.columns
            signs = np.asarray(np.indices([2] * p).reshape(p, 2**p).T * 2.0 - 1.0, float)
            held = np.hstack([listed.corners(signs), np.ones((2**p, 1))])
            counts = np.vstack([np.zeros((1 - listed.fewest, 2**p)), np.eye(2**p)])
        else:
            held, counts = list_types(listed, self.replaced, self.limited)
        return held, counts

    @cached_property
    def along(self) -> Array:
        """A row per type: the sum of its answers over the groups, over √groups."""
        held, counts = self.types
        return np.asarray(counts @ (held @ self.asked.T) / math.sqrt(self.part.groups))

    @cached_property
    def across(self) -> Array:
        """A matrix per type: the scatter of its answers around their mean over all groups, over groups − 1."""
        held, counts = self.types
        v = held @ self.asked.T
        found = np.einsum("nt,ti,tj->nij", counts, v, v, optimize=True)
        found -= self.along[:, :, None] * self.along[:, None, :]
        return np.asarray(found / max(self.part.groups - 1, 1))

    @cached_property
    def turned(self) -> Array:
        """A number per type: Σ z² over the groups, for each of the columns set aside at its largest."""
        if not self.replaced:
            return np.asarray(self.types[1].sum(axis=1))
        if self.part.always:
            return np.full(len(self.types[1]), 4.0)
        gained, lost, kept = self.states.T
        return np.asarray(gained + lost + 4.0 * (kept if self.limited else self.shared(gained, lost)))

    @cached_property
    def states(self) -> Array:
        """A row per type: how many groups are gained, lost and kept, as far as that is listed."""
        return states_of(*self.types)

    @cached_property
    def row_turned(self) -> Array:
        """A number per type: Σ t² over the groups, the same for sums over rows."""
        held, counts = self.types
        return np.asarray(counts @ held[:, -2] ** 2) if self.row_spread else np.zeros(len(counts))

    def shared(self, gained: Array, lost: Array) -> Array:
        """Under replace-one: in how many groups both can be."""
        part = self.part
        return np.asarray(np.minimum(part.most - np.maximum(gained, lost), part.groups - gained - lost))


# The law on types under which a request needs the most noise: it gives the best noise, and proves it the best.
#
#     maximise S(λ) = Σ_q (g_q − 1) tr √(E A_q) + tr √(E b bᵀ) + Σ_q √(E t_q)        over laws λ on people
#
# A_q is the scatter of a person's answers over the groups of part q, b what all parts and the constant add up to, t_q
# the columns set aside (`reduced`). A person is a type of every part. The least total of any noise is the largest S²,
# and the noise is S √(E A_q) across groups and S √(E b bᵀ) along them.
#
# As in `search`: a few rounds of λ ← λ · cost² over everybody, then Newton's method (`interior`) on those who can
# matter; price everybody, take in who costs too much, repeat. Nothing here can harm privacy.

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
class ReducedPeople:
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

    people: ReducedPeople
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

    def view(self, weights: Array) -> SolverView | None:
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
        return SolverView(gradient, Phi, float(gradient.max()) * size / S - 1.0, (S / size) ** 2)


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

    people: ReducedPeople
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


def find_worst_law(people: ReducedPeople, gap: float = 1e-6) -> WorstLaw:
    """The worst law to a relative gap, or the best that was found; the last ones are kept."""
    return WorstLaw(people, *recall(_KEPT, (people.content, gap), lambda: _find_worst_law(people, gap), MAX_KEPT))


def _find_worst_law(people: ReducedPeople, gap: float) -> tuple[Index, Array, Roots, float]:
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
