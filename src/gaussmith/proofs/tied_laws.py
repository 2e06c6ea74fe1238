"""Good laws for the lower bound of a whole request, found without planning it.

The bound is concave in the law. A law on listed people is improved by multiplying every weight by a power of what its
person costs the noise that the law suggests (statement 9). Where a request has few types all are listed; where it has
many, people who cost more than their share are looked for, group by group and question by question, and listed too.
A poor law only makes a poor bound, never a wrong one. Everything is deterministic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import hadamard

from gaussmith.neighbours import ADD_REMOVE, check
from gaussmith.numerics.products import Array, Words
from gaussmith.numerics.tied.law import TypesLaw
from gaussmith.numerics.tied.parts import Body, Part
from gaussmith.numerics.tied.types import changes, count_types, list_types

ALL = 3000
"""Limit on the types of a request that are all listed."""

MAX_PEOPLE = 3000
"""Limit on the people that a law lists."""

MAX_ALL_CORNERS = 6
"""Columns up to which all corners of a group are considered; beyond, rows of a Hadamard matrix."""

Mask = npt.NDArray[np.bool_]

_STARTS = 600
_ROUNDS = 14
_STEPS = 12


def find_law(body: Body, neighbours: str, gap: float = 1e-3) -> TypesLaw:
    """A law whose lower bound is near the best, within `gap` where all types are listed and usually where not."""
    if check(neighbours) == ADD_REMOVE:
        return _found(body, False, gap)
    # Questions are independent under replace-one: each has a law of its own.
    laws = [_found(Body((part,)), True, gap) for part in body.parts]
    picks = []
    for law in laws:
        chances = np.bincount(law.picks[0].astype(int), law.weights, minlength=len(law.counts[0]))
        picks.append(chances[None, :] / chances.sum())
    corners, counts = (tuple(each) for each in ([law.corners[0] for law in laws], [law.counts[0] for law in laws]))
    return TypesLaw(corners, counts, tuple(picks), np.ones(1))


def _found(body: Body, replaced: bool, gap: float) -> TypesLaw:
    sizes = [count_types(part, replaced) for part in body.parts]
    if math.prod(sizes) <= ALL:
        lists = [list_types(part, replaced) for part in body.parts]
        index = np.indices(sizes).reshape(len(sizes), -1)
        people = _People(body, tuple(corners for corners, _ in lists), _picked([n for _, n in lists], index))
        weights = _reweighed(people, np.full(len(people), 1.0), 1000, gap)
    else:
        people, weights = _generated(body, replaced, gap)
    kept = weights > 1e-9 * weights.max()
    return people.at(kept).law(weights[kept])


def _picked(types: list[Array], index: Words) -> tuple[Array, ...]:
    return tuple(each[i] for each, i in zip(types, index, strict=True))


@dataclass(frozen=True, eq=False)
class _People:
    """People of a body: for every part how many of their groups hold each corner, a row each."""

    body: Body
    corners: tuple[Array, ...]
    counts: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.counts[0]) if self.counts else 1

    def at(self, which: Mask | Words) -> _People:
        return replace(self, counts=tuple(each[which] for each in self.counts))

    def joined(self, other: _People) -> _People:
        """These and others, each of them once."""
        both = [np.vstack(pair) for pair in zip(self.counts, other.counts, strict=True)]
        _, first = np.unique(np.hstack(both), axis=0, return_index=True)
        return replace(self, counts=tuple(each[np.sort(first)] for each in both))

    def answers(self, q: int) -> Array:
        """The weighted answers of a group at each corner of part q."""
        part = self.body.parts[q]
        return np.asarray(self.corners[q] @ part.rows[:, : part.columns + 1].T)

    def sums(self) -> Array:
        """b, a row each: the sums of all answers over √groups, and the person."""
        blocks = [n @ self.answers(q) / math.sqrt(self.body.parts[q].groups) for q, n in enumerate(self.counts)]
        return np.hstack([*blocks, np.full((len(self), 1), math.sqrt(self.body.people_weight))])

    def law(self, weights: Array) -> TypesLaw:
        counts, picks = [], []
        for each in self.counts:
            types, at = np.unique(each, axis=0, return_inverse=True)
            counts.append(types)
            picks.append(at.reshape(-1).astype(float))
        return TypesLaw(self.corners, tuple(counts), tuple(picks), weights)


@dataclass(frozen=True, eq=False)
class _Prices:
    """What people cost the noise that a law suggests: Σ_q ⟨A_q, between[q]⟩ + ‖b·along‖², over `root`."""

    between: list[Array]
    along: Array
    root: float

    def of(self, people: _People) -> Array:
        price = ((people.sums() @ self.along) ** 2).sum(axis=1)
        for q, n in enumerate(people.counts):
            v, g = people.answers(q), people.body.parts[q].groups
            if g > 1:
                V, X = n @ v, self.between[q]
                price += n @ np.einsum("ci,ij,cj->c", v, X, v) - np.einsum("ni,ij,nj->n", V, X, V) / g
        return np.asarray(price / self.root)


def _prices(people: _People, weights: Array) -> _Prices:
    """The noise of statement 9 for a law, as what its inverse makes of a person."""
    weights = weights / weights.sum()
    between, root = [], 0.0
    for q, n in enumerate(people.counts):
        v, g = people.answers(q), people.body.parts[q].groups
        if g > 1:
            V = n @ v
            A = (v.T * (weights @ n)) @ v - (V.T * weights) @ V / g
            trace, inverse = _inverse_root(A / (g - 1))
            root += (g - 1) * trace
            between.append(inverse @ inverse.T)
        else:
            between.append(np.zeros((v.shape[1], v.shape[1])))
    b = people.sums()
    trace, along = _inverse_root((b.T * weights) @ b)
    return _Prices(between, along, root + trace)


def _inverse_root(M: Array) -> tuple[float, Array]:
    """tr M^½, and R with R Rᵀ = M^−½ on the range of M."""
    scale = np.sqrt(np.maximum(np.diag(M), 0.0)).max(initial=0.0)
    if scale == 0.0:
        return 0.0, np.zeros_like(M)
    values, vectors = np.linalg.eigh(M)
    values = np.maximum(values, 0.0)
    used = values > 1e-13 * values.max()
    return float(np.sqrt(values).sum()), vectors[:, used] / values[used] ** 0.25


def _reweighed(people: _People, weights: Array, rounds: int, gap: float) -> Array:
    """Weights on listed people, each multiplied by a power of its price, until no price is above 1 by more than gap."""
    best, found = 0.0, weights
    for _ in range(rounds):
        prices = _prices(people, weights)
        price = prices.of(people)
        if prices.root > best:
            best, found = prices.root, weights
        if price.max() <= 1.0 + gap:
            break
        weights = np.maximum(weights / weights.sum(), 1e-15) * np.maximum(price, 0.0) ** 1.5
    return found


# -- many types -------------------------------------------------------------------------------------------------------


def _generated(body: Body, replaced: bool, gap: float) -> tuple[_People, Array]:
    """People who matter, found by search, and their weights."""
    people = _start(body, replaced)
    movers = [_Mover.of_part(part, corners, replaced) for part, corners in zip(body.parts, people.corners, strict=True)]
    weights = np.ones(len(people))
    for turn in range(_ROUNDS):
        weights = _reweighed(people, weights, _STEPS, gap)
        prices = _prices(people, weights)
        heavy = np.argsort(-weights)[:_STARTS]
        turned = people.at(heavy[(np.arange(len(heavy)) * 7 + turn) % len(heavy)])
        seeds = replace(people.at(heavy), counts=tuple(
            (turned if (q + turn) % 3 == 0 else people.at(heavy)).counts[q] for q in range(len(body.parts))
        ))  # fmt: skip
        better = _climbed(seeds, prices, movers)
        price = prices.of(better)
        better = better.at(price > 1.0 + gap / 2)
        kept = weights > 1e-7 * weights.max()
        if not len(better):
            break
        old = people.at(kept)
        people = old.joined(better)
        new = len(people) - len(old)
        mass = weights[kept] / weights[kept].sum()
        weights = np.concatenate([mass * 0.8, np.full(new, 0.2 / max(1, new))])
        if len(people) > MAX_PEOPLE:
            order = np.argsort(-weights * prices.of(people))[:MAX_PEOPLE]
            people, weights = people.at(np.sort(order)), weights[np.sort(order)]
    return people, _reweighed(people, weights, 10 * _STEPS, gap)


def _climbed(people: _People, prices: _Prices, movers: list[_Mover]) -> _People:
    """Each person made dearer, part after part, until none can be moved for the better or two passes are over."""
    counts = list(people.counts)
    b = people.sums()
    Y = prices.along @ prices.along.T
    start = 0
    for _ in range(2):
        start = 0
        for q, mover in enumerate(movers):
            v, g = people.answers(q), people.body.parts[q].groups
            at = slice(start, start + v.shape[1])
            start += v.shape[1]
            others = b @ Y[:, at] - b[:, at] @ Y[at, at]
            Q = (Y[at, at] - prices.between[q]) / g
            line = np.einsum("ci,ij,cj->c", v, prices.between[q], v)
            counts[q] = mover.climb(counts[q], v, Q, line, 2.0 * others @ v.T / math.sqrt(g))
            b[:, at] = counts[q] @ v / math.sqrt(g)
    return replace(people, counts=tuple(counts))


@dataclass(frozen=True, eq=False)
class _Mover:
    """The small changes of a type: a group more at a corner, one fewer, or one at another corner instead."""

    part: Part
    replaced: bool
    steps: Array
    kinds: Array
    """The change of the numbers gained, lost and kept that each step makes, a row each."""
    of: Array
    """Which of gained, lost and kept each corner is, a row each."""

    @classmethod
    def of_part(cls, part: Part, corners: Array, replaced: bool) -> _Mover:
        n = len(corners)
        eye = np.eye(n)
        near = [
            (i, j)
            for i in range(n)
            for j in range(n)
            if i != j and (n <= 32 or (corners[i] != corners[j]).sum() <= 1 or (corners[i] == -corners[j]).all())
        ]
        swaps = np.array([eye[j] - eye[i] for i, j in near]).reshape(-1, n)
        of = np.stack([corners[:, -1] == sign for sign in (1.0, -1.0, 0.0)], axis=1).astype(float)
        steps = np.vstack([eye, -eye, swaps])
        return cls(part, replaced, steps, steps @ of, of)

    def climb(self, counts: Array, v: Array, Q: Array, line: Array, own: Array) -> Array:
        """Take the best step, as long as one is better, for each row of counts: of n·(line + own) + VᵀQV, V = n·v."""
        counts = counts.copy()
        moved = self.steps @ v
        fixed = self.steps @ line + np.einsum("si,ij,sj->s", moved, Q, moved)
        linear = own @ self.steps.T
        live = np.arange(len(counts))
        for _ in range(4 * self.part.most + 4):
            n = counts[live]
            gain = fixed + linear[live] + 2.0 * (n @ v) @ Q @ moved.T
            gain[~self._allowed(n)] = -np.inf
            best = gain.argmax(axis=1)
            rising = gain[np.arange(len(live)), best] > 1e-9 * np.abs(gain[np.isfinite(gain)]).max(initial=1e-300)
            live, best = live[rising], best[rising]
            if not len(live):
                break
            counts[live] += self.steps[best]
        return counts

    def _allowed(self, counts: Array) -> Mask:
        part = self.part
        ok = np.ones((len(counts), len(self.steps)), bool)
        for i, step in enumerate(self.steps.T):
            if (step < 0).any():
                ok &= counts[:, i, None] + step >= 0
        now = (counts @ self.of)[:, None, :] + self.kinds
        gained, lost, kept = now[..., 0], now[..., 1], now[..., 2]
        if not self.replaced:
            return np.asarray(ok & (gained >= part.fewest) & (gained <= part.most))
        ok &= (kept + np.maximum(gained, lost) <= part.most) & (kept + gained + lost <= part.groups)
        return np.asarray(ok & (kept + np.minimum(gained, lost) >= part.fewest))


def _start(body: Body, replaced: bool) -> _People:
    """People spread evenly over what is possible, by sequences that fill space evenly."""
    corners, counts = [], []
    for q, part in enumerate(body.parts):
        signs = _signs(part.columns)
        here = np.hstack([signs, np.ones((len(signs), 1))])
        both = np.hstack([2.0 * signs, np.zeros((len(signs), 1))])
        u = _even(_STARTS, 3 * q, 3)
        states = (
            np.array(changes(part)) if replaced else np.array([[k, 0, 0] for k in range(part.fewest, part.most + 1)])
        )
        if replaced:
            chosen = states[(u[:, 0] * len(states)).astype(int)]
        else:
            chosen = states[np.where(u[:, 0] < 0.6, len(states) - 1, (u[:, 1] * len(states)).astype(int))]
        kinds = [here, -here, both] if replaced else [here]
        kinds = [both] if part.always and replaced else kinds
        columns = chosen[:, [2]] if part.always and replaced else chosen
        corners.append(np.vstack(kinds))
        counts.append(np.hstack([_scattered(columns[:, i], len(signs), u[:, 2] + i / 3) for i in range(len(kinds))]))
    people = _People(body, tuple(corners), tuple(counts))
    return people.joined(people)


def _scattered(numbers: Words, corners: int, offset: Array) -> Array:
    """So many groups over corners, a row each: a few corners each, different from row to row."""
    found = np.zeros((len(numbers), corners))
    for j in range(int(numbers.max(initial=0))):
        at = ((offset + (j % 5) * 0.6180339887498949 * (1 + offset)) % 1.0 * corners).astype(int)
        found[np.arange(len(numbers)), at] += j < numbers
    return found


def _signs(columns: int) -> Array:
    """Corners of the cube {−1, 1}^p: all, or those of a Hadamard matrix and their negatives, uncorrelated signs."""
    if columns <= MAX_ALL_CORNERS:
        at = np.arange(2**columns)[:, None] >> np.arange(columns)[None, :] & 1
        return np.asarray(2.0 * at - 1.0)
    rows = hadamard(1 << (columns - 1).bit_length())[:, :columns].astype(float)
    return np.vstack([rows, -rows])


def _even(size: int, first: int, columns: int) -> Array:
    """Points that fill the cube evenly: multiples of the fractional parts of square roots."""
    steps = np.sqrt(np.arange(first, first + columns) * 4.0 + 2.0)  # never whole
    return np.asarray(np.arange(1, size + 1)[:, None] * steps % 1.0)
