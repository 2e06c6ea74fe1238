"""People of a request, listed with their types, and what each of them costs the noise that a law on them suggests."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.products import Array, Words
from gaussmith.numerics.tied.law import TypesLaw
from gaussmith.numerics.tied.parts import Body
from gaussmith.values import dataclass

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class People:
    """People of a body: for every part how many of their groups hold each corner, a row each."""

    body: Body
    corners: tuple[Array, ...]
    counts: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.counts[0]) if self.counts else 1

    def at(self, which: Mask | Words) -> People:
        return replace(self, counts=tuple(each[which] for each in self.counts))

    def with_counts(self, q: int, corners: Array, counts: Array) -> People:
        """Another list for part q."""
        cut = slice(q + 1, None)
        return replace(
            self,
            corners=(*self.corners[:q], corners, *self.corners[cut]),
            counts=(*self.counts[:q], counts, *self.counts[cut]),
        )

    def joined(self, other: People) -> People:
        """These and others, each of them once, these first; corners as they are, or those that are held."""
        corners, counts = [], []
        for mine, n, theirs, m in zip(self.corners, self.counts, other.corners, other.counts, strict=True):
            both, places = np.vstack([n, m]) if n.shape[1] == m.shape[1] else None, mine
            if both is None or not np.array_equal(mine, theirs):
                places, at = np.unique(np.vstack([mine, theirs]), axis=0, return_inverse=True)
                both = np.zeros((len(n) + len(m), len(places)))
                both[: len(n), at.reshape(-1)[: len(mine)]] = n
                both[len(n) :, at.reshape(-1)[len(mine) :]] = m
                used = both.any(axis=0)
                places, both = places[used], both[:, used]
            corners.append(places)
            counts.append(both)
        first = np.sort(_distinct(np.hstack(counts))[0])
        return replace(self, corners=tuple(corners), counts=tuple(each[first] for each in counts))

    def answers(self, q: int) -> Array:
        """The weighted answers of a group at each corner of part q."""
        part = self.body.parts[q]
        return np.asarray(self.corners[q] @ part.rows[:, : part.columns + 1].T)

    @cached_property
    def sums(self) -> Array:
        """b, a row each: the sums of all answers over √groups, and the person."""
        blocks = [n @ self.answers(q) / math.sqrt(self.body.parts[q].groups) for q, n in enumerate(self.counts)]
        return np.hstack([*blocks, np.full((len(self), 1), math.sqrt(self.body.people_weight))])

    def whole(self, q: int) -> Array:
        """The sums of the answers of part q over all groups, a row each."""
        start = sum(part.columns + 1 for part in self.body.parts[:q])
        part = self.body.parts[q]
        return np.asarray(self.sums[:, start : start + part.columns + 1] * math.sqrt(part.groups))

    def law(self, weights: Array) -> TypesLaw:
        """The law on these people, without types that repeat and corners that nobody holds."""
        corners, counts, picks = [], [], []
        for places, each in zip(self.corners, self.counts, strict=True):
            used = np.flatnonzero(each.any(axis=0)) if each.any() else np.zeros(1, int)
            first, at = _distinct(each[:, used])
            corners.append(places[used])
            counts.append(each[:, used][first])
            picks.append(at.astype(float))
        return TypesLaw(tuple(corners), tuple(counts), tuple(picks), weights)


def _distinct(rows: Array) -> tuple[Words, Words]:
    """Where each different row is first, and which of these every row is: rows are compared as bytes."""
    if not rows.shape[1]:
        return np.zeros(1, np.int64), np.zeros(len(rows), np.int64)
    known: dict[bytes, int] = {}
    at = np.array([known.setdefault(row.tobytes(), len(known)) for row in np.ascontiguousarray(rows + 0.0)], np.int64)
    return np.unique(at, return_index=True)[1], at


@dataclass(frozen=True, eq=False)
class Prices:
    """What people cost the noise that a law suggests: Σ_q ⟨A_q, between[q]⟩ + ‖b·along‖², over `root`."""

    between: list[Array]
    along: Array
    root: float

    def of(self, people: People) -> Array:
        price = ((people.sums @ self.along) ** 2).sum(axis=1)
        for q, n in enumerate(people.counts):
            v, g = people.answers(q), people.body.parts[q].groups
            if g > 1:
                V, X = people.whole(q), self.between[q]
                price += n @ ((v @ X) * v).sum(axis=1) - ((V @ X) * V).sum(axis=1) / g
        return np.asarray(price / self.root)


def prices_of(people: People, weights: Array) -> Prices:
    """The noise of statement 9 for a law, as what its inverse makes of a person."""
    weights = weights / weights.sum()
    between, root = [], 0.0
    for q, n in enumerate(people.counts):
        v, g = people.answers(q), people.body.parts[q].groups
        if g > 1:
            V = people.whole(q)
            A = (v.T * (weights @ n)) @ v - (V.T * weights) @ V / g
            trace, inverse = inverse_root(A / (g - 1))
            root += (g - 1) * trace
            between.append(inverse @ inverse.T)
        else:
            between.append(np.zeros((v.shape[1], v.shape[1])))
    b = people.sums
    trace, along = inverse_root((b.T * weights) @ b)
    return Prices(between, along, root + trace)


def inverse_root(M: Array) -> tuple[float, Array]:
    """tr M^½, and R with R Rᵀ = M^−½ on the range of M."""
    scale = np.sqrt(np.maximum(np.diag(M), 0.0)).max(initial=0.0)
    if scale == 0.0:
        return 0.0, np.zeros_like(M)
    values, vectors = np.linalg.eigh(M)
    values = np.maximum(values, 0.0)
    used = values > 1e-13 * values.max()
    return float(np.sqrt(values).sum()), vectors[:, used] / values[used] ** 0.25
