"""Which rows of a tied lift see which columns: what can be made as large as possible apart from the rest.

Only entries that are exactly zero separate. A *cluster* is a set of rows and of columns (numbers of a core that vary)
so that no row outside sees the columns and no row inside sees others. How many groups a person is in, part by part, and
with how many rows, is seen by many clusters; given these numbers every cluster is at its worst on its own. Clusters
that see no part in common, whatever else ties them, are of different *components*: at their worst each on its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.lift import TiedLift
from gaussmith.numerics.tied.parts import Body
from gaussmith.values import dataclass


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
    at = {column: i for i, column in enumerate(columns)}
    rows = [(q, i) for q, own in enumerate(lift.own) for i in range(len(own))]
    rows += [(-1, 0)] if lift.last is not None else []
    union = _Union(len(columns) + len(rows))
    summed, seen = set(), []
    plain: dict[int, int] = {}
    for place, (q, alone, sums, counts) in enumerate(_sights(lift, body), len(columns)):
        summed |= {at[column] for column in sums}
        seen.append({*counts, *([q] if q >= 0 else [])})
        for column in (*alone, *sums):
            union.join(place, at[column])
        if not alone and not sums:  # rows that see no column: those of a part together
            union.join(place, plain.setdefault(q, place))
    found = []
    for members in union.sets():
        inside = [columns[i] for i in members if i < len(columns)]
        among = [i - len(columns) for i in members if i >= len(columns)]
        if not among:
            continue  # a column that no row sees
        which: set[int] = {q for q, _ in inside}.union(*(seen[i] for i in among))
        found.append(
            Cluster(
                _by_part(inside),
                _by_part([rows[i] for i in among if rows[i][0] >= 0]),
                any(rows[i][0] < 0 for i in among),
                tuple(sorted(which)),
                not summed.intersection(members),
            )
        )
    return found


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
