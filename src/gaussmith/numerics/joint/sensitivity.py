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
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaussmith.errors import damaged_plan
from gaussmith.numerics.exact import Array, Words
from gaussmith.numerics.joint.lift import TiedLift, in_units
from gaussmith.numerics.joint.parts import (
    MAX_STATES,
    Body,
    all_states,
    limit,
    list_states,
    one_row,
    spread_over,
    taken,
    ways,
)

# Which rows of a tied lift see which columns: what can be made as large as possible apart from the rest.
#
# Only entries that are exactly zero separate. A *cluster* is a set of rows and of columns (numbers of a core that
# vary) so that no row outside sees the columns and no row inside sees others. How many groups a person is in, part by
# part, and with how many rows, is seen by many clusters; given these numbers every cluster is at its worst on its
# own. Clusters that see no part in common, whatever else ties them, are of different *components*: at their worst
# each on its own.


@dataclass(frozen=True)
class Cluster:
    """`columns[q]` and `rows[q]` of part q, where it has any; `seen` are the parts whose numbers of groups matter.

    `last`: the row of its own is among the rows. `free`: no row sees a sum over groups of the columns, so that every
    group is at its worst on its own.
    """

    columns: dict[int, list[int]]
    rows: dict[int, list[int]]
    last: bool
    seen: tuple[int, ...]
    free: bool


def find_clusters(lift: TiedLift, body: Body) -> list[Cluster]:
    """The clusters of a lift: every row is in exactly one."""
    columns = [(q, j) for q, part in enumerate(body.parts) for j in range(part.varying)]
    rows = [(q, i) for q, own in enumerate(lift.own) for i in range(len(own))]
    rows += [(-1, 0)] if lift.last is not None else []
    union, summed, seen = _join_rows(lift, body, columns, len(rows))
    found = []
    for members in union.sets():
        inside = [columns[i] for i in members if i < len(columns)]
        among = [i - len(columns) for i in members if i >= len(columns)]
        if among:  # else a column that no row sees
            which: set[int] = {q for q, _ in inside}.union(*(seen[i] for i in among))
            own = [rows[i] for i in among if rows[i][0] >= 0]
            free = not summed.intersection(members)
            found.append(Cluster(_by_part(inside), _by_part(own), len(own) < len(among), tuple(sorted(which)), free))
    return found


def _join_rows(lift: TiedLift, body: Body, columns: list[Column], rows: int) -> tuple[_Union, set[int], list[set[int]]]:
    """Columns, then rows, each row with the columns that it sees; which columns some row sees the sum of; and of every
    row the parts whose counts matter to it."""
    at = {column: i for i, column in enumerate(columns)}
    union, summed, seen = _Union(len(columns) + rows), set[int](), []
    plain: dict[int, int] = {}
    for place, (q, alone, sums, counts) in enumerate(_sights(lift, body), len(columns)):
        summed |= {at[column] for column in sums}
        seen.append({*counts, *([q] if q >= 0 else [])})
        for column in (*alone, *sums):
            union.join(place, at[column])
        if not alone and not sums:  # rows that see no column: those of a part together
            union.join(place, plain.setdefault(q, place))
    return union, summed, seen


def find_components(clusters: list[Cluster]) -> list[list[Cluster]]:
    """The clusters that share a part, together; one that sees no part is alone."""
    parts = sorted({q for cluster in clusters for q in cluster.seen})
    at = {q: i for i, q in enumerate(parts)}
    union = _Union(len(parts) + len(clusters))
    for i, cluster in enumerate(clusters, len(parts)):
        for q in cluster.seen:
            union.join(i, at[q])
    found = [[clusters[i - len(parts)] for i in members if i >= len(parts)] for members in union.sets()]
    return [each for each in found if each]


def joined(sets: list[list[int]]) -> list[list[int]]:
    """Which of these sets have something in common, directly or by others: their places."""
    union, first = _Union(len(sets)), dict[int, int]()
    for at, each in enumerate(sets):
        for i in each:
            union.join(at, first.setdefault(i, at))
    return union.sets()


Column = tuple[int, int]
"""A part, and a number of its core."""


def _sights(lift: TiedLift, body: Body) -> Iterator[tuple[int, list[Column], list[Column], list[int]]]:
    """Of every row its part (−1: the row of its own), the columns that it sees in its group, those of which it sees the
    sums, and the parts whose counts it sees."""
    varying = [part.varying for part in body.parts]
    places = [(r, j) for r, width in enumerate(lift.widths) for j in range(width)]
    above = -1
    for q, own in enumerate(lift.own):
        for row in own[:, : varying[q]].tolist():
            above += 1
            alone = [(q, j) for j, entry in enumerate(row) if entry]
            yield q, alone, *_summed(lift.ties[above], places, varying)
    if lift.last is not None:
        yield -1, [], *_summed(lift.last, places, varying)


def _summed(ties: Array, places: list[Column], varying: list[int]) -> tuple[list[Column], list[int]]:
    """The columns whose sums a row sees, and the parts whose counts it sees."""
    found = [places[at] for at in ties[: len(places)].nonzero()[0].tolist()]
    return [(r, j) for r, j in found if j < varying[r]], [r for r, j in found if j >= varying[r]]


def _by_part(pairs: list[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for q, i in pairs:
        found.setdefault(q, []).append(i)
    return found


class _Union:
    """Sets that grow together."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, i: int) -> int:
        while self._parent[i] != i:
            self._parent[i] = self._parent[self._parent[i]]
            i = self._parent[i]
        return i

    def join(self, i: int, j: int) -> None:
        self._parent[self.find(i)] = self.find(j)

    def sets(self) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for i in range(len(self._parent)):
            found.setdefault(self.find(i), []).append(i)
        return list(found.values())


MAX_TYPES = 200_000
"""Limit on the types that are listed, of several parts jointly where they are tied."""

MAX_SPENT = 4_000_000
"""Limit on the ways to take from the limits of families."""

MAX_WORK = 400_000_000
"""Limit on the squares that are computed for one cluster: a few seconds."""

_UNIT = 2.0**-53
_TINY = float(np.finfo(float).tiny)
_CHUNK = 1 << 21
_SOME = 1 << 16  # squares of clusters that are alike: what fits into a cache


def largest(lift: TiedLift, body: Body, neighbours: str, extents: Sequence[Array] | None = None) -> float:
    """An upper bound of ‖lift · s‖ over all differences s of neighbours, rounded up.

    Under add-remove s is the core of one person, with the constant 1 where the lift has a column for it; under
    replace-one the difference of two, the lift has no such column, and no part counts rows. `extents[q][j]` is what
    stands for 1 in column j of part q (1 by default); counts and the constant are in ones.

    Guarantee: at least the exact maximum for these doubles, for any lift. Requires (checked): the lift fits the body.
    Rounding: above the true value by a relative 1e-13 or so; infinite beyond the largest double.

    >>> from gaussmith.numerics.joint.parts import JointPart
    >>> part = JointPart(2, 0, 2, np.zeros(0), np.zeros(0), np.zeros(0), 1.0)
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
        limit(math.prod(n + 1.0 for n in most), MAX_SPENT)
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
        shape = self._shape_of(component)
        total = np.zeros(list(shape.values()))
        for cluster in component:
            total += self._tables[id(cluster)].reshape([n if q in cluster.seen else 1 for q, n in shape.items()])
        return total

    def _shape_of(self, component: list[Cluster]) -> dict[int, int]:
        """The parts that a component sees, in order, and how many states each has; refuses what would be too many."""
        shape = {q: len(self.states[q]) for q in sorted({q for cluster in component for q in cluster.seen})}
        limit(math.prod(shape.values()) if len(shape) <= 32 else math.inf, MAX_STATES)  # as many axes as arrays have
        return shape

    @cached_property
    def states(self) -> list[Array]:
        """Of every part: how many groups are gained, lost and kept, a row each."""
        known: dict[Hashable, Array] = {}
        for q, part in enumerate(self.body.parts):
            if (kind := self._kind_of(q)) not in known:
                few, limited = kind[-2:]
                known[kind] = all_states(part) if limited else list_states(part, self.replaced, few)
        return [known[self._kind_of(q)] for q in range(len(self.body.parts))]

    def _kind_of(self, q: int) -> tuple[int, int, int, int, int, int, bool, bool]:
        """All that the states and options of a part depend on, but for the columns."""
        part, limited = self.body.parts[q], self.replaced and q in self._shared
        return (
            part.groups, part.fewest, part.most, part.columns, part.row_columns, part.max_rows,
            q not in self._typed, limited,
        )  # fmt: skip

    @cached_property
    def _typed(self) -> set[int]:
        """The parts of whose columns some row sees a sum."""
        return {q for cluster in self.clusters if not cluster.free for q in cluster.columns}

    @cached_property
    def _shared(self) -> set[int]:
        return {q for family in self.body.families for q in family.members}

    @cached_property
    def terms(self) -> int:
        """More than the squares that are added up one after the other anywhere."""
        deep = [len(rows) * 3 * 2 ** len(c.columns.get(q, ())) for c in self.clusters for q, rows in c.rows.items()]
        return sum(map(len, self.lift.own)) + 8 * len(self.clusters) + max(deep, default=0)

    @cached_property
    def _tables(self) -> dict[int, Array]:
        """The largest value of every cluster at every state of the parts that it sees; those alike at once."""
        for component in find_components(self.clusters):
            self._shape_of(component)
        alike: dict[Hashable, list[Cluster]] = {}
        for cluster in self.clusters:
            alike.setdefault(self._likeness(cluster), []).append(cluster)
        return {id(c): table for some in alike.values() for c, table in zip(some, self._tables_of(some), strict=True)}

    def _likeness(self, cluster: Cluster) -> Hashable:
        """Clusters that agree in this have the same options, and as many rows of parts that are the same."""
        kinds = {q: (self._kind_of(q), tuple(cluster.columns.get(q, ()))) for q in cluster.seen}
        rows = [(kinds[q], len(rows)) for q, rows in cluster.rows.items()]
        return cluster.free, cluster.last, tuple(kinds.values()), tuple(rows)

    def _tables_of(self, alike: list[Cluster]) -> Array:
        """The tables of clusters that are alike, on the first axis."""
        first = alike[0]
        options = [self._options(first, q) for q in first.seen]
        sizes = [len(each.state) for each in options]
        size = math.prod(sizes)
        limit(size, MAX_STATES if first.free else MAX_TYPES)
        squares = 1 + sum(
            len(rows) * sum(map(len, options[first.seen.index(q)].kinds)) for q, rows in first.rows.items()
        )
        limit(size * squares, MAX_WORK)
        found = np.zeros([len(alike), *(len(self.states[q]) for q in first.seen)])
        step = max(1, _CHUNK // squares)
        some = max(1, _SOME // (min(step, size) * squares))
        for start, i in itertools.product(range(0, size, step), range(0, len(alike), some)):
            at = np.unravel_index(np.arange(start, min(start + step, size)), sizes) if sizes else ()
            value = self._values(alike[i : i + some], options, at)
            if first.free:  # an option for every state, in order
                found.reshape(len(alike), -1)[i : i + some, start : start + step] = value
                continue
            states = tuple(each.state[i] for each, i in zip(options, at, strict=True))
            for table, values in zip(found[i : i + some], value, strict=True):
                np.maximum.at(table, states, values)
        return found

    def _values(self, alike: list[Cluster], options: list[_Options], at: tuple[Words, ...]) -> Array:
        """The sums of squares of clusters' rows, from above, at the chosen options of the parts that they see."""
        sums = np.hstack(
            [np.zeros((len(at[0]) if at else 1, 0)), *(o.sums[i] for o, i in zip(options, at, strict=True))]
        )
        places = [self._places(cluster, options) for cluster in alike]
        gamma = 2.0 * (len(places[0]) + max(self.lift.widths, default=0) + 6) * _UNIT
        value = np.zeros((len(alike), len(sums)))
        if alike[0].last:
            t, doubt = self._ties([[-1] for _ in alike], places, sums, gamma)
            value += _squares(t, doubt).sum(axis=-1)
        for each in zip(*(cluster.rows.items() for cluster in alike), strict=True):
            rows = [[self.lift.row_starts[q] + i for i in chosen] for q, chosen in each]
            t, doubt = self._ties(rows, places, sums, gamma)
            own = np.stack([self._own(q, i, c.columns.get(q, [])) for (q, i), c in zip(each, alike, strict=True)])
            seen = [cluster.seen.index(q) for (q, _), cluster in zip(each, alike, strict=True)]
            groups = self.body.parts[each[0][0]].groups
            numbers = np.stack([options[k].numbers.sum(axis=1)[at[k]] for k in seen])
            value += (groups - numbers) * _squares(t, doubt).sum(axis=-1)
            for i, kind in enumerate(options[seen[0]].kinds):
                if any(options[k].numbers[:, i].any() for k in seen):
                    number = np.stack([options[k].numbers[:, i][at[k]] for k in seen])
                    held, off = kind @ own.mT, gamma * (np.abs(kind) @ np.abs(own).mT)
                    squares = _squares(t[:, :, None] + held[:, None], doubt[:, :, None] + off[:, None])
                    value += number * squares.sum(axis=-1).max(axis=-1)
        return value

    def _options(self, cluster: Cluster, q: int) -> _Options:
        columns, states = cluster.columns.get(q, []), self.states[q]
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(columns)))).reshape(2 ** len(columns), -1)
        kinds = self._kinds(q, columns, signs)
        known = kinds[0].shape[1] - len(columns)  # t, where rows are counted, and the count
        if cluster.free or not columns:
            net = states @ np.array([kind[0, -known:] for kind in kinds])
            return _Options(np.arange(len(states)), states, net, kinds)
        limit(sum(math.prod(ways(int(n), len(signs)) for n in row) for row in states), MAX_TYPES)
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
            return [np.hstack([signs * np.where(over, t, 1.0), t * one, one]) for t in (1.0, one_row(part))]
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

    @cached_property
    def _sights(self) -> Array:
        """What each row sees of the vector of sums, a column each, the row of its own last; then of nothing."""
        rows = self.lift.ties if self.lift.last is None else np.vstack([self.lift.ties, self.lift.last])
        return np.vstack([rows.T, np.zeros(len(rows))])

    def _places(self, cluster: Cluster, options: list[_Options]) -> list[int]:
        """Where the sums of the options are in the vector of sums."""
        return [
            place
            for q, each in zip(cluster.seen, options, strict=True)
            for place in (*self._known_places(q), *self._column_places(cluster, q))[: each.sums.shape[1]]
        ]

    def _ties(self, rows: list[list[int]], places: list[list[int]], sums: Array, gamma: float) -> tuple[Array, Array]:
        """What rows of each cluster see of sums and constant, and a bound of how far that is off."""
        of, at = np.array(rows)[:, None], np.array(places, int).reshape(len(places), -1, 1)
        G, constant = self._sights[at, of], self._sights[-2, of] * self.lift.counted
        return sums @ G + constant, gamma * (np.abs(sums) @ np.abs(G) + np.abs(constant))

    def _own(self, q: int, rows: list[int], columns: list[int]) -> Array:
        """What rows see of the core of their group: the cluster's columns, t where rows are counted, and the count."""
        own, part = self.lift.own[q][rows], self.body.parts[q]
        count = np.zeros((len(rows), 1)) if part.always else own[:, -1:]
        return np.hstack([own[:, columns], own[:, part.varying : part.columns], count])


def _squares(value: Array, doubt: Array) -> Array:
    return np.asarray((np.abs(value) + doubt + _TINY) ** 2)


def add_spent(one: Array, other: Array) -> Array:
    """The largest sum of two values by how much they take together, as far as the limits go."""
    few, many = sorted((one, other), key=lambda each: int(np.isfinite(each).sum()))
    limit(np.isfinite(few).sum() * float(many.size), MAX_WORK)
    found = np.full(one.shape, -np.inf)
    for at in zip(*np.nonzero(np.isfinite(few)), strict=True):
        there = tuple(slice(i, None) for i in at)
        rest = tuple(slice(0, n - i) for n, i in zip(few.shape, at, strict=True))
        found[there] = np.maximum(found[there], many[rest] + few[at])
    return found


def _check(lift: TiedLift, body: Body, neighbours: str) -> None:
    """Refuse a lift that is not one of this body, and neighbours that are not known."""
    counts_rows = any(part.counts_rows for part in body.parts)
    fits = neighbours == "add-remove" or (neighbours == "replace-one" and not (lift.counted or counts_rows))
    fits = fits and lift.groups == tuple(part.groups for part in body.parts)
    if not (fits and lift.widths == tuple(part.width for part in body.parts)):
        raise damaged_plan("a lift with other groups or columns than its request")
