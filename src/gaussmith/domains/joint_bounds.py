"""Good laws for the lower bound of a whole request, found without planning it.

The bound is concave in the law. A law on listed people is improved by multiplying every weight by a power of what its
person costs the noise that the law suggests (statement 9). Where a request has few types all are listed; where it has
many, people who cost more than their share are looked for, group by group and question by question, and listed too.
A poor law only makes a poor bound, never a wrong one. Everything is deterministic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.exact import Array, Words
from gaussmith.numerics.joint.law import TypesLaw
from gaussmith.numerics.joint.parts import Body, Family, JointPart, changes, count_types, list_types, states_of, taken
from gaussmith.privacy.neighbours import ADD_REMOVE, check

# People of a request, listed with their types, and what each of them costs the noise that a law on them suggests.

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LawPeople:
    """People of a body: for every part how many of their groups hold each corner, a row each."""

    body: Body
    corners: tuple[Array, ...]
    counts: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.counts[0]) if self.counts else 1

    def at(self, which: Mask | Words) -> LawPeople:
        return replace(self, counts=tuple(each[which] for each in self.counts))

    def with_counts(self, q: int, corners: Array, counts: Array) -> LawPeople:
        """Another list for part q."""
        cut = slice(q + 1, None)
        return replace(
            self,
            corners=(*self.corners[:q], corners, *self.corners[cut]),
            counts=(*self.counts[:q], counts, *self.counts[cut]),
        )

    def joined(self, other: LawPeople) -> LawPeople:
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

    def of(self, people: LawPeople) -> Array:
        price = ((people.sums @ self.along) ** 2).sum(axis=1)
        for q, n in enumerate(people.counts):
            v, g = people.answers(q), people.body.parts[q].groups
            if g > 1:
                V, X = people.whole(q), self.between[q]
                price += n @ ((v @ X) * v).sum(axis=1) - ((V @ X) * V).sum(axis=1) / g
        return np.asarray(price / self.root)


def prices_of(people: LawPeople, weights: Array) -> Prices:
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


# The search for people who cost more than their share, in requests with too many types to list.

MAX_ALL_CORNERS = 6
"""Columns up to which all corners of a group are considered; beyond, those of a Hadamard matrix and what is found."""


def climb_all(people: LawPeople, prices: Prices, movers: list[Mover | None]) -> LawPeople:
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


def _room(people: LawPeople, q: int, replaced: bool) -> Array | None:
    """How many groups of a part each person may take, or each of two, for what the family's others take."""
    family = people.body.family_of(q)
    if family is None:
        return None
    used = [taken(states_of(people.corners[r], people.counts[r]), replaced) for r in family.members if r != q]
    return np.asarray(family.most - sum(used, np.zeros((len(people), 1 + replaced))))


def _turn(people: LawPeople, q: int, X: Array, Q: Array, own: Array) -> LawPeople:
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

    part: JointPart
    replaced: bool
    steps: Array
    kinds: Array
    """The change of the numbers gained, lost and kept that each step makes, a row each."""
    of: Array
    """Which of gained, lost and kept each corner is, a row each."""

    @classmethod
    def of_part(cls, part: JointPart, corners: Array, replaced: bool) -> Mover | None:
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


def start_evenly(body: Body, replaced: bool, size: int) -> LawPeople:
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
    people = LawPeople(body, tuple(corners), tuple(counts))
    return people.joined(people)


def _chosen(part: JointPart, replaced: bool, u: Array) -> Words:
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
    whole = JointPart(sum(part.groups for part in parts), 0, family.most, none, none, none, 1.0)
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


ALL = 3000
"""Limit on the types of a request that are all listed."""

MAX_PEOPLE = 3000
"""Limit on the people that a law lists."""

_STARTS = 600
_ROUNDS = 14
_STEPS = 12


def find_law(body: Body, neighbours: str, gap: float = 1e-3) -> TypesLaw:
    """A law whose lower bound is near the best, within `gap` where all types are listed and usually where not."""
    if check(neighbours) == ADD_REMOVE:
        return _found(body, False, gap)
    # Questions are independent under replace-one: each has a law of its own.
    if body.families:
        return _found_by_family(body, gap)
    laws = [_found(Body((part,)), True, gap) for part in body.parts]
    picks = []
    for law in laws:
        chances = np.bincount(law.picks[0].astype(int), law.weights, minlength=len(law.counts[0]))
        picks.append(chances[None, :] / chances.sum())
    corners, counts = (tuple(each) for each in ([law.corners[0] for law in laws], [law.counts[0] for law in laws]))
    return TypesLaw(corners, counts, tuple(picks), np.ones(1))


def _found_by_family(body: Body, gap: float) -> TypesLaw:
    """A law under replace-one where groups weigh differently: its components are those of the first family.

    In other families a person does what is most likely in theirs: a bound all the same, if not the best.
    """
    fields: dict[int, tuple[Array, Array, Array]] = {}
    weights = np.ones(1)
    for i, family in enumerate(body.families):
        own = Body(tuple(body.parts[q] for q in family.members), families=(_renumbered(family),))
        law = _found(own, True, gap)
        if i == 0:
            weights = law.weights
        heaviest = int(np.argmax(law.weights))
        for at, q in enumerate(family.members):
            picks = law.picks[at] if i == 0 else np.full(len(weights), law.picks[at][heaviest])
            fields[q] = law.corners[at], law.counts[at], picks
    for q, part in enumerate(body.parts):
        if q not in fields:
            law = _found(Body((part,)), True, gap)
            chances = np.bincount(law.picks[0].astype(int), law.weights, minlength=len(law.counts[0]))
            fields[q] = law.corners[0], law.counts[0], np.tile(chances / chances.sum(), (len(weights), 1))
    corners, counts, found = (tuple(fields[q][i] for q in range(len(body.parts))) for i in range(3))
    return TypesLaw(corners, counts, found, weights)


def _renumbered(family: Family) -> Family:
    return Family(tuple(range(len(family.members))), family.most)


def _found(body: Body, replaced: bool, gap: float) -> TypesLaw:
    limited = [body.family_of(q) is not None for q in range(len(body.parts))]
    sizes = [count_types(part, replaced, limit) for part, limit in zip(body.parts, limited, strict=True)]
    few = math.prod(sizes) <= ALL and len(sizes) <= 32  # as many axes as arrays have
    if few and max((part.columns for part in body.parts), default=0) <= MAX_ALL_CORNERS:
        lists = [list_types(part, replaced, limit) for part, limit in zip(body.parts, limited, strict=True)]
        index = np.indices(sizes).reshape(len(sizes), -1)
        for family in body.families:
            used = sum(taken(states_of(*lists[q]), replaced)[index[q]] for q in family.members)
            index = index[:, (np.asarray(used) <= family.most).all(axis=1)]
        people = LawPeople(body, tuple(corners for corners, _ in lists), _picked([n for _, n in lists], index))
        weights = _reweighed(people, np.full(len(people), 1.0), 1000, gap)
    else:
        people, weights = _generated(body, replaced, gap)
    order = np.argsort(-weights)
    kept = np.sort(order[: 1 + int(np.searchsorted(np.cumsum(weights[order]), (1.0 - gap / 10) * weights.sum()))])
    return people.at(kept).law(weights[kept])  # who hardly matters is left out


def _picked(types: list[Array], index: Words) -> tuple[Array, ...]:
    return tuple(each[i] for each, i in zip(types, index, strict=True))


def _reweighed(people: LawPeople, weights: Array, rounds: int, gap: float) -> Array:
    """Weights on listed people, each multiplied by a power of its price, until no price is above 1 by more than gap."""
    best, found = 0.0, weights
    for _ in range(rounds):
        prices = prices_of(people, weights)
        price = prices.of(people)
        if prices.root > best:
            best, found = prices.root, weights
        if price.max() <= 1.0 + gap:
            break
        weights = np.maximum(weights / weights.sum(), 1e-15) * np.maximum(price, 0.0) ** 1.5
    return found


# -- many types -------------------------------------------------------------------------------------------------------


def _generated(body: Body, replaced: bool, gap: float) -> tuple[LawPeople, Array]:
    """People who matter, found by search, and their weights."""
    people = start_evenly(body, replaced, _STARTS)
    movers = [Mover.of_part(part, corners, replaced) for part, corners in zip(body.parts, people.corners, strict=True)]
    weights, before = np.ones(len(people)), 0.0
    families = [body.family_of(q) for q in range(len(body.parts))]
    leads = [q if family is None else family.members[0] for q, family in enumerate(families)]  # families stay together
    for turn in range(_ROUNDS):
        weights = _reweighed(people, weights, _STEPS, gap)
        prices = prices_of(people, weights)
        if prices.root < before * (1.0 + gap / 4):
            break  # hardly a gain
        before = prices.root
        heavy = np.argsort(-weights)[:_STARTS]
        turned = people.at(heavy[(np.arange(len(heavy)) * 7 + turn) % len(heavy)])
        seeds = replace(people.at(heavy), counts=tuple(
            (turned if (first + turn) % 3 == 0 else people.at(heavy)).counts[q] for q, first in enumerate(leads)
        ))  # fmt: skip
        better = climb_all(seeds, prices, movers)
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
    return people, _reweighed(people, weights, 5 * _STEPS, gap)
