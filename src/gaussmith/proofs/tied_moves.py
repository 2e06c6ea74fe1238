"""The search for people who cost more than their share, in requests with too many types to list."""

from __future__ import annotations

import math

import numpy as np

from gaussmith.numerics.products import Array, Words
from gaussmith.numerics.tied.parts import Body, Family, Part, taken
from gaussmith.numerics.tied.types import changes, states_of
from gaussmith.proofs.tied_people import Mask, People, Prices
from gaussmith.values import dataclass

MAX_ALL_CORNERS = 6
"""Columns up to which all corners of a group are considered; beyond, those of a Hadamard matrix and what is found."""


def climb_all(people: People, prices: Prices, movers: list[Mover | None]) -> People:
    """Each person made dearer, part after part: two passes. Parts without a mover find corners of their own."""
    b = people.sums.copy()
    Y = prices.along @ prices.along.T
    for _ in range(2):
        start = 0
        for q, mover in enumerate(movers):
            v, root = people.answers(q), math.sqrt(people.body.parts[q].groups)
            at = slice(start, start + v.shape[1])
            start += v.shape[1]
            own = 2.0 * (b @ Y[:, at] - b[:, at] @ Y[at, at]) / root
            X = prices.between[q]
            Q = (Y[at, at] - X) / root**2
            if mover is None:
                people = _turn(people, q, X, Q, own)
            else:
                line = ((v @ X) * v).sum(axis=1)
                climbed = mover.climb(people.counts[q], v, Q, line, own @ v.T, _room(people, q, mover.replaced))
                people = people.with_counts(q, people.corners[q], climbed)
            b[:, at] = people.counts[q] @ people.answers(q) / root
    return people


def _room(people: People, q: int, replaced: bool) -> Array | None:
    """How many groups of a part each person may take, or each of two, for what the family's others take."""
    family = people.body.family_of(q)
    if family is None:
        return None
    used = [taken(states_of(people.corners[r], people.counts[r]), replaced) for r in family.members if r != q]
    return np.asarray(family.most - sum(used, np.zeros((len(people), 1 + replaced))))


def _turn(people: People, q: int, X: Array, Q: Array, own: Array) -> People:
    """One group of each person at a better corner, sign by sign: the best for v·own + vᵀXv + (V + v)ᵀQ(V + v)."""
    part, counts, corners = people.body.parts[q], people.counts[q], people.corners[q]
    p, rows = part.columns, part.rows[:, : part.columns + 1]
    here = counts.argmax(axis=1)
    active = counts[np.arange(len(counts)), here] > 0
    last = corners[here, -1:]
    size = np.where(last == 0.0, 2.0, 1.0) * np.ones(p)
    v = people.answers(q)
    rest = counts @ v - v[here]
    G = rows.T @ (X + Q) @ rows
    h = (own + 2.0 * rest @ Q) @ rows + 2.0 * last * G[-1]
    best, value = corners[here, :-1], np.full(len(here), -np.inf)
    for t in (1.0, part.least_rows) if part.counts_rows else (1.0,):
        if part.counts_rows:
            size[:, part.of_rows.start :] = t
        x = np.sign(corners[here, :-1]) * size
        for j in (*range(part.varying), *range(part.varying)):
            slope = h[:, j] + 2.0 * (x @ G[:p, j] - x[:, j] * G[j, j])
            x[:, j] = np.where(slope != 0.0, np.sign(slope) * size[:, j], x[:, j])
        now = (x * (h[:, :p] + x @ G[:p, :p])).sum(axis=1)
        best, value = np.where((now > value)[:, None], x, best), np.maximum(now, value)
    found, at = np.unique(np.vstack([corners, np.hstack([best, last])]), axis=0, return_inverse=True)
    at = at.reshape(-1)
    turned = np.zeros((len(counts), len(found)))
    turned[:, at[: len(corners)]] = counts
    turned[active, at[here[active]]] -= 1.0
    turned[active, at[len(corners) :][active]] += 1.0
    return people.with_counts(q, found, turned)


@dataclass(frozen=True, eq=False)
class Mover:
    """The small changes of a type: a group more at a corner, one fewer, or one at another corner instead."""

    part: Part
    replaced: bool
    steps: Array
    kinds: Array
    """The change of the numbers gained, lost and kept that each step makes, a row each."""
    of: Array
    """Which of gained, lost and kept each corner is, a row each."""

    @classmethod
    def of_part(cls, part: Part, corners: Array, replaced: bool) -> Mover | None:
        """None where a group has too many corners to list."""
        if part.columns > MAX_ALL_CORNERS:
            return None
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

    def climb(self, counts: Array, v: Array, Q: Array, line: Array, own: Array, room: Array | None = None) -> Array:
        """Take the best step, as long as one is better, for each row of counts: of n·(line + own) + VᵀQV, V = n·v.

        `room` is how many groups each may take, where that is not for the part alone to say.
        """
        counts = counts.copy()
        moved = self.steps @ v
        fixed = self.steps @ line + np.einsum("si,ij,sj->s", moved, Q, moved)
        linear = own @ self.steps.T
        live = np.arange(len(counts))
        for _ in range(4 * self.part.most + 4):
            n = counts[live]
            gain = fixed + linear[live] + 2.0 * (n @ v) @ Q @ moved.T
            gain[~self._allowed(n, None if room is None else room[live])] = -np.inf
            best = gain.argmax(axis=1)
            rising = gain[np.arange(len(live)), best] > 1e-9 * np.abs(gain[np.isfinite(gain)]).max(initial=1e-300)
            live, best = live[rising], best[rising]
            if not len(live):
                break
            counts[live] += self.steps[best]
        return counts

    def _allowed(self, counts: Array, room: Array | None) -> Mask:
        part = self.part
        ok = np.ones((len(counts), len(self.steps)), bool)
        for i, step in enumerate(self.steps.T):
            if (step < 0).any():
                ok &= counts[:, i, None] + step >= 0
        now = (counts @ self.of)[:, None, :] + self.kinds
        gained, lost, kept = now[..., 0], now[..., 1], now[..., 2]
        if room is not None:
            ok &= gained + kept <= room[:, :1]
            ok &= lost + kept <= room[:, -1:]
        if not self.replaced:
            return np.asarray(ok & (gained >= part.fewest) & (gained <= part.most))
        ok &= (kept + np.maximum(gained, lost) <= part.most) & (kept + gained + lost <= part.groups)
        return np.asarray(ok & (kept + np.minimum(gained, lost) >= part.fewest))


def start_evenly(body: Body, replaced: bool, size: int) -> People:
    """People spread evenly over what is possible, by sequences that fill space evenly."""
    corners, counts = [], []
    in_families = {q: states for family in body.families for q, states in _states_within(body, family, replaced, size)}
    for q, part in enumerate(body.parts):
        signs = _signs(part.columns)
        here = np.hstack([part.corners(signs), np.ones((len(signs), 1))])
        both = np.hstack([2.0 * signs, np.zeros((len(signs), 1))])
        u = _even(size, 3 * q, 3)
        chosen = in_families[q] if q in in_families else _chosen(part, replaced, u)
        kinds = [here, -here, both] if replaced else [here]
        kinds = [both] if part.always and replaced else kinds
        columns = chosen[:, [2]] if part.always and replaced else chosen
        corners.append(np.vstack(kinds))
        counts.append(np.hstack([_scattered(columns[:, i], len(signs), u[:, 2] + i / 3) for i in range(len(kinds))]))
    people = People(body, tuple(corners), tuple(counts))
    return people.joined(people)


def _chosen(part: Part, replaced: bool, u: Array) -> Words:
    """Groups gained, lost and kept, a row each; under add-remove the most that can be for six in ten."""
    if replaced:
        states = np.array(changes(part))
        return np.asarray(states[(u[:, 0] * len(states)).astype(int)])
    states = np.array([[k, 0, 0] for k in range(part.fewest, part.most + 1)])
    return np.asarray(states[np.where(u[:, 0] < 0.6, len(states) - 1, (u[:, 1] * len(states)).astype(int))])


def _states_within(body: Body, family: Family, replaced: bool, size: int) -> list[tuple[int, Words]]:
    """For each part of a family groups gained, lost and kept: those of one person, spread over the parts."""
    parts = [body.parts[q] for q in family.members]
    none = np.zeros(0)
    whole = Part(sum(part.groups for part in parts), 0, family.most, none, none, none, 1.0)
    chosen = _chosen(whole, replaced, _even(size, 3 * len(body.parts), 2))
    favour = np.stack([_even(size, 3 * len(body.parts) + 2 + i, 1)[:, 0] for i in range(len(parts))], axis=1) ** 2
    favour = (favour + 1e-3) * np.array([part.groups for part in parts], float) ** _even(size, family.members[0], 1)
    left = np.tile([part.groups for part in parts], (size, 1))
    found = []
    for numbers in chosen.T:
        held = np.zeros_like(left)
        for j in range(int(numbers.max(initial=0))):
            at = np.where(held < left, favour / (held + 1.0), -1.0).argmax(axis=1)
            held[np.arange(size), at] += (j < numbers) & (held < left).any(axis=1)
        found.append(held)
        left = left - held
    return [(q, np.stack([held[:, i] for held in found], axis=1)) for i, q in enumerate(family.members)]


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
    from scipy.linalg import hadamard

    rows = hadamard(1 << (columns - 1).bit_length())[:, :columns].astype(float)
    return np.vstack([rows, -rows])


def _even(size: int, first: int, columns: int) -> Array:
    """Points that fill the cube evenly: multiples of the fractional parts of square roots."""
    steps = np.sqrt(np.arange(first, first + columns) * 4.0 + 2.0)  # never whole
    return np.asarray(np.arange(1, size + 1)[:, None] * steps % 1.0)
