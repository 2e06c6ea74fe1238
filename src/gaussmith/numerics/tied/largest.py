"""The largest norm of a lifted person, rounded up: the number on which the privacy of a tied lift rests.

The squared norm is a sum of squares of rows, and a row of a group sees its own core, sums over groups and the constant:

    Σ_q [ Σ_i ‖own_q u_{q,i} + t_q‖² + (groups without the person) · ‖t_q‖² ] + y_0²,     t_q = ties_q · (U_1, …, n)

It is convex in every column, so that its largest value is at corners. For fixed numbers of groups the rows fall into
clusters that share no column (clusters.py), each at its worst on its own:

    no row sees a sum of the columns    every group at its worst on its own: the corners of the cluster's columns, two
                                        for a column alone. This is the closed form of lifted plans, over all numbers
                                        of groups.
    a row does                          all types (how many groups hold each corner), of several parts jointly where a
                                        row sees columns of several

and the largest sum over the numbers of groups is taken jointly for the parts of a component, apart for the others.
Where rows are counted, the groups of a person with all of its rows and those with one row are counted apart: given both
numbers t is known, and the sums over rows vary by themselves.

Every step is exact, so that the bound is attained but for rounding. A lift that would take more than `MAX_TYPES` types
is refused.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.products import Array, Words
from gaussmith.numerics.tied.clusters import Cluster, find_clusters, find_components, joined
from gaussmith.numerics.tied.lift import TiedLift
from gaussmith.numerics.tied.parts import Body, Part, taken
from gaussmith.numerics.tied.types import changes, spread_over, ways
from gaussmith.numerics.tied.units import in_units
from gaussmith.values import dataclass

MAX_TYPES = 200_000
"""Limit on the types that are listed, of several parts jointly where they are tied."""

MAX_STATES = 2_000_000
"""Limit on the numbers of groups, of several parts jointly where they are tied."""

MAX_SPENT = 4_000_000
"""Limit on the ways to take from the limits of families."""

MAX_WORK = 400_000_000
"""Limit on the squares that are computed for one cluster: a few seconds."""

_UNIT = 2.0**-53
_TINY = float(np.finfo(float).tiny)
_CHUNK = 1 << 21


def largest(lift: TiedLift, body: Body, neighbours: str, extents: Sequence[Array] | None = None) -> float:
    """An upper bound of ‖lift · s‖ over all differences s of neighbours, rounded up.

    Under add-remove s is the core of one person, with the constant 1 where the lift has a column for it; under
    replace-one the difference of two, the lift has no such column, and no part counts rows. `extents[q][j]` is what
    stands for 1 in column j of part q (1 by default); counts and the constant are in ones.

    Guarantee: at least the exact maximum for these doubles, for any lift. Requires (checked): the lift fits the body.
    Rounding: above the true value by a relative 1e-13 or so; infinite beyond the largest double.

    >>> part = Part(2, 0, 2, np.zeros(0), np.zeros(0), np.zeros(0), 1.0)
    >>> lift = TiedLift((2,), (np.eye(1),), np.array([[0.5]]), None)      # y_i = a_i + (a_1 + a_2)/2
    >>> 0 <= largest(lift, Body((part,)), "add-remove") / 8**0.5 - 1 < 1e-13
    True
    """
    _check(lift, body, neighbours)
    scaled, exponent = in_units(lift, body, extents)
    if not math.isfinite(exponent):
        return math.inf if exponent > 0 else 0.0
    search = _Search(scaled, body, neighbours == "replace-one", find_clusters(scaled, body))
    total = search.total()
    root = math.sqrt(total * (1.0 + 2.0 * (search.terms + 32) * _UNIT) + 1e-290) * (1.0 + 4.0 * _UNIT)
    try:
        return math.nextafter(math.ldexp(root, int(exponent)), math.inf) if math.isfinite(root) else math.inf
    except OverflowError:
        return math.inf


def largest_by_groups(lift: TiedLift, body: Body, neighbours: str) -> Array:
    """The largest squared norm by how many groups a person takes of the limit of the only family, or each of two; in
    doubles, for a search."""
    search = _Search(lift, body, neighbours == "replace-one", find_clusters(lift, body))
    return search.by_spending(find_components(search.clusters))


@dataclass(frozen=True, eq=False)
class _Options:
    """What one part can do in a cluster, a row each: the numbers of groups of each kind, what a row elsewhere sees.

    `state` is the state it belongs to; `numbers[:, i]` groups hold one of `kinds[i]`, cores (…, 1) a row each, at
    choice, t before the 1 where rows are counted; `sums` are those of t, the net number of groups and, where they are
    seen, the sums of the columns.
    """

    state: Words
    numbers: Array
    sums: Array
    kinds: list[Array]


@dataclass(frozen=True, eq=False)
class _Search:
    """The largest squared norm of each component of a lift whose entries are at most 1, before the last roundings.

    What a group holds is of one of three kinds: a core gained (z, 1), a core lost −(z, 1), or one kept that changes by
    (2z, 0). A *state* of a part says how many groups are of each kind; under add-remove all are gained. Where rows are
    counted there are two kinds: gained with all rows, and with one row.
    """

    lift: TiedLift
    body: Body
    replaced: bool
    clusters: list[Cluster]

    def total(self) -> float:
        """The largest squared norm of all components: each at its worst on its own, but for families, whose limit is
        spent where it is worth most."""
        components = find_components(self.clusters)
        found = [math.fsum(float(self._table_of(each).max()) for each in components if not self._families(each))]
        shared = [each for each in components if self._families(each)]
        for some in joined([self._families(each) for each in shared]):
            found.append(float(self.by_spending([shared[at] for at in some]).max()))
        return math.fsum(found)

    def by_spending(self, components: list[list[Cluster]]) -> Array:
        """The largest value of components by how much they take of the limits of their families."""
        families = sorted({i for each in components for i in self._families(each)})
        found = [self._by_spending(each, families) for each in components]
        return functools.reduce(add_spent, found)

    def _families(self, component: list[Cluster]) -> list[int]:
        """The families that a component sees parts of."""
        seen = {q for cluster in component for q in cluster.seen}
        return [i for i, family in enumerate(self.body.families) if seen.intersection(family.members)]

    def _by_spending(self, component: list[Cluster], families: list[int]) -> Array:
        """The largest value of a component by how much it takes of the limit of each family: an axis for each, or two
        where a person is replaced by another."""
        seen = sorted({q for cluster in component for q in cluster.seen})
        value = self._table_of(component)
        sides = 1 + self.replaced
        most = [self.body.families[i].most for i in families for _ in range(sides)]
        _limit(math.prod(n + 1.0 for n in most), MAX_SPENT)
        spent = np.zeros((len(most), *value.shape), int)
        for i, family in enumerate(families):
            for axis, q in enumerate(seen):
                if q in self.body.families[family].members:
                    use = taken(self.states[q], self.replaced).astype(int)
                    along = [len(use) if a == axis else 1 for a in range(len(seen))]
                    spent[sides * i : sides * i + sides] += use.T.reshape(sides, *along)
        kept = (spent <= np.reshape(most, (-1, *[1] * value.ndim))).all(axis=0)
        found = np.full([n + 1 for n in most], -np.inf)
        np.maximum.at(found, tuple(each[kept] for each in spent), value[kept])
        return found

    def _table_of(self, component: list[Cluster]) -> Array:
        """The value of a component at all states of the parts that its clusters see."""
        seen = sorted({q for cluster in component for q in cluster.seen})
        shape = [len(self.states[q]) for q in seen]
        _limit(math.prod(shape) if len(shape) <= 32 else math.inf, MAX_STATES)  # as many axes as arrays have
        total = np.zeros(shape)
        for cluster in component:
            total += self._table(cluster).reshape(
                [n if q in cluster.seen else 1 for q, n in zip(seen, shape, strict=True)]
            )
        return total

    @cached_property
    def states(self) -> list[Array]:
        """Of every part: how many groups are gained, lost and kept, a row each."""
        typed = {q for cluster in self.clusters if not cluster.free for q in cluster.columns}
        shared = {q for family in self.body.families for q in family.members}
        return [
            _all_states(part) if q in shared and self.replaced else _states(part, self.replaced, q not in typed)
            for q, part in enumerate(self.body.parts)
        ]

    @cached_property
    def terms(self) -> int:
        """More than the squares that are added up one after the other anywhere."""
        deep = [len(rows) * 3 * 2 ** len(c.columns.get(q, ())) for c in self.clusters for q, rows in c.rows.items()]
        return sum(map(len, self.lift.own)) + 8 * len(self.clusters) + max(deep, default=0)

    def _table(self, cluster: Cluster) -> Array:
        """The largest value of a cluster at every state of the parts that it sees."""
        options = [self._options(cluster, q) for q in cluster.seen]
        sizes = [len(each.state) for each in options]
        size = math.prod(sizes)
        _limit(size, MAX_STATES if cluster.free else MAX_TYPES)
        squares = 1 + sum(
            len(rows) * sum(map(len, options[cluster.seen.index(q)].kinds)) for q, rows in cluster.rows.items()
        )
        _limit(size * squares, MAX_WORK)
        found = np.zeros([len(self.states[q]) for q in cluster.seen])
        step = max(1, _CHUNK // squares)
        for start in range(0, size, step):
            at = np.unravel_index(np.arange(start, min(start + step, size)), sizes) if sizes else ()
            value = self._values(cluster, options, at)
            if cluster.free:  # an option for every state, in order
                found.reshape(-1)[start : start + step] = value
                continue
            np.maximum.at(found, tuple(each.state[i] for each, i in zip(options, at, strict=True)), value)
        return found

    def _values(self, cluster: Cluster, options: list[_Options], at: tuple[Words, ...]) -> Array:
        """The sum of squares of a cluster's rows, from above, at the chosen options of the parts that it sees."""
        sums = np.hstack(
            [np.zeros((len(at[0]) if at else 1, 0)), *(o.sums[i] for o, i in zip(options, at, strict=True))]
        )
        places = [
            place
            for q, each in zip(cluster.seen, options, strict=True)
            for place in (*self._known_places(q), *self._column_places(cluster, q))[: each.sums.shape[1]]
        ]
        gamma = 2.0 * (len(places) + max(self.lift.widths, default=0) + 6) * _UNIT
        value = np.zeros(len(sums))
        if cluster.last:
            assert self.lift.last is not None
            t, doubt = self._ties(self.lift.last[None, :], places, sums, gamma)
            value += _squares(t, doubt).sum(axis=-1)
        for q, rows in cluster.rows.items():
            t, doubt = self._ties(self.lift.ties[self.lift.rows_of(q)][rows], places, sums, gamma)
            own = self._own(q, rows, cluster.columns.get(q, []))
            each, i = options[cluster.seen.index(q)], at[cluster.seen.index(q)]
            numbers = each.numbers[i]
            value += (self.body.parts[q].groups - numbers.sum(axis=1)) * _squares(t, doubt).sum(axis=-1)
            for kind, number in zip(each.kinds, numbers.T, strict=True):
                if number.any():
                    held = _squares(t[:, None] + kind @ own.T, doubt[:, None] + gamma * (np.abs(kind) @ np.abs(own).T))
                    value += number * held.sum(axis=-1).max(axis=1)
        return value

    def _options(self, cluster: Cluster, q: int) -> _Options:
        columns, states = cluster.columns.get(q, []), self.states[q]
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(columns)))).reshape(2 ** len(columns), -1)
        kinds = self._kinds(q, columns, signs)
        known = kinds[0].shape[1] - len(columns)  # t, where rows are counted, and the count
        if cluster.free or not columns:
            net = states @ np.array([kind[0, -known:] for kind in kinds])
            return _Options(np.arange(len(states)), states, net, kinds)
        _limit(sum(math.prod(ways(int(n), len(signs)) for n in row) for row in states), MAX_TYPES)
        state, numbers = [], []
        for i, row in enumerate(states):
            lists = [spread_over(int(n), len(signs)) for n in row]
            at = np.indices([len(each) for each in lists]).reshape(len(lists), -1)
            numbers.append(np.hstack([each[i] for each, i in zip(lists, at, strict=True)]))
            state.append(np.full(len(at[0]), i))
        counts, cores = np.vstack(numbers), np.vstack(kinds)
        sums = counts @ cores  # exactly: whole numbers, or multiples of the last place of t
        sums = np.hstack([sums[:, -known:], sums[:, :-known]])
        return _Options(np.concatenate(state), counts, sums, [core[None, :] for core in cores])

    def _kinds(self, q: int, columns: list[int], signs: Array) -> list[Array]:
        """The cores of each kind, at every corner of these columns."""
        part, one = self.body.parts[q], np.ones((len(signs), 1))
        if part.counts_rows:
            over = np.array([j >= part.of_rows.start for j in columns], bool)
            return [np.hstack([signs * np.where(over, t, 1.0), t * one, one]) for t in (1.0, _one_row(part))]
        here = np.hstack([signs, one])
        return [here, -here, np.hstack([2.0 * signs, 0.0 * one])]

    # -- what rows see ------------------------------------------------------------------------------------------------

    def _known_places(self, q: int) -> list[int]:
        """Where t and the count of a part are in the vector of sums; beyond its end for a part without count."""
        part, start = self.body.parts[q], self.lift.starts[q]
        count = self.lift.ties.shape[1] if part.always else start + part.columns
        return [*range(start + part.varying, start + part.columns), count]

    def _column_places(self, cluster: Cluster, q: int) -> list[int]:
        return [self.lift.starts[q] + j for j in cluster.columns.get(q, [])]

    def _ties(self, rows: Array, places: list[int], sums: Array, gamma: float) -> tuple[Array, Array]:
        """What rows see of sums and constant, and a bound of how far that is off."""
        G = np.hstack([rows, np.zeros((len(rows), 1))])[:, places]
        constant = rows[:, -1] if self.lift.counted else np.zeros(len(rows))
        return sums @ G.T + constant, gamma * (np.abs(sums) @ np.abs(G).T + np.abs(constant))

    def _own(self, q: int, rows: list[int], columns: list[int]) -> Array:
        """What rows see of the core of their group: the cluster's columns, t where rows are counted, and the count."""
        own, part = self.lift.own[q][rows], self.body.parts[q]
        count = np.zeros((len(rows), 1)) if part.always else own[:, -1:]
        return np.hstack([own[:, columns], own[:, part.varying : part.columns], count])


def _squares(value: Array, doubt: Array) -> Array:
    return np.asarray((np.abs(value) + doubt + _TINY) ** 2)


def _states(part: Part, replaced: bool, few: bool) -> Array:
    """How many groups a person gains, loses and keeps, a row each; `few`: as many as a value linear in them needs.

    Given the net number gained, such a value is linear in the number lost up to where the groups run out (lost =
    groups − most) and from there on: its largest is at an end of one of the two.
    """
    _limit(part.most + 1, MAX_STATES)
    if not replaced:
        k = np.arange(part.fewest, part.most + 1.0)[:, None]
        if not part.counts_rows:
            return np.hstack([k, 0.0 * k, 0.0 * k])
        _limit(ways(part.most, 3), MAX_STATES)
        return np.vstack([spread_over(int(n), 2) for (n,) in k])  # with all rows, and with one
    if not few or part.fewest:
        _limit((part.most + 1) ** 2, MAX_STATES)
        return np.array(changes(part), float).reshape(-1, 3)
    g, m = part.groups, part.most
    net = np.repeat(np.arange(m + 1), 3)
    end = np.minimum(m - net, (g - net) // 2)
    lost = np.where(
        np.arange(len(net)) % 3 == 0, 0, np.where(np.arange(len(net)) % 3 == 1, end, np.minimum(g - m, end))
    )
    kept = np.minimum(m - net - lost, g - net - 2 * lost)
    more = np.stack([net + lost, lost, kept], axis=1).astype(float)
    return np.unique(np.vstack([more, more[:, [1, 0, 2]]]), axis=0)


def _all_states(part: Part) -> Array:
    """The same of a part in a family, under replace-one: all numbers, as what is kept takes from a common limit."""
    _limit((part.most + 1.0) ** 3, MAX_STATES)
    return np.array(changes(part, limited=True), float).reshape(-1, 3)


def add_spent(one: Array, other: Array) -> Array:
    """The largest sum of two values by how much they take together, as far as the limits go."""
    few, many = sorted((one, other), key=lambda each: int(np.isfinite(each).sum()))
    _limit(np.isfinite(few).sum() * float(many.size), MAX_WORK)
    found = np.full(one.shape, -np.inf)
    for at in zip(*np.nonzero(np.isfinite(few)), strict=True):
        there = tuple(slice(i, None) for i in at)
        rest = tuple(slice(0, n - i) for n, i in zip(few.shape, at, strict=True))
        found[there] = np.maximum(found[there], many[rest] + few[at])
    return found


def _one_row(part: Part) -> float:
    """t of a person with one row, rounded down so far that all sums of it over groups are exact.

    With t from here to 1 there are more people than with t from 1/k: the bound can only grow.
    """
    unit = 1 << 52 - (2 * part.most).bit_length()
    return unit // part.max_rows / unit


def _check(lift: TiedLift, body: Body, neighbours: str) -> None:
    """Refuse a lift that is not one of this body, and neighbours that are not known."""
    counts_rows = any(part.counts_rows for part in body.parts)
    fits = neighbours == "add-remove" or (neighbours == "replace-one" and not (lift.counted or counts_rows))
    fits = fits and lift.groups == tuple(part.groups for part in body.parts)
    if not (fits and lift.widths == tuple(part.width for part in body.parts)):
        raise PlanError(
            f"a lift of {len(lift.groups)} parts for a request of {len(body.parts)}, neighbours={neighbours!r}",
            "a lift has the groups and columns of its request, and the number of people only where that is secret",
            "plan again",
            code="tied-lift-does-not-match-body",
        )


def _limit(size: float, most: int) -> None:
    if size > most:
        raise PlanError(
            f"a lift that ties questions in {size:.3g} ways",
            f"its largest norm is certified by visiting at most {most:.3g}",
            "plan the questions with fewer ties",
            code="tied-lift-too-large-to-certify",
        )
