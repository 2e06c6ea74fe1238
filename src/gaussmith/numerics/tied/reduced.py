"""A part as far as its best noise is concerned: columns centred at 0 set aside, the types of the others listed.

The sign of a column centred at 0 can be turned in every group by itself, so its best noise is the same in all groups
and tied to nothing: all such columns together count as Σ √w_j r_j. The *answers* of a group are what is asked of the
other columns and of the count, each scaled to the root of its weight: v = asked · (z_1, …, z_p, 1).

A lone sum that is never on both sides of 0 has one corner only, the one farther from 0: the other lies between it and
absence, also where everybody is in (rule Z).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.parts import Part
from gaussmith.numerics.tied.types import count_types, list_types, states_of, ways
from gaussmith.values import dataclass

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Reduced:
    """The part, the columns that are centred at 0 (`turning`) and the others (`moving`)."""

    part: Part
    replaced: bool
    alone: bool = False
    """Whether nothing else is asked, of this part or another: only then does everybody's lone sum have one corner."""
    limited: bool = False
    """Whether the part is in a family: under replace-one how many groups are kept is then listed."""

    @property
    def content(self) -> Hashable:
        """All that a law on its people depends on: what is asked of the other columns, and how much is set aside."""
        part = self.part
        numbers = part.groups, part.fewest, part.most, part.max_rows, len(self.moving), self.spread, self.row_spread
        return numbers, self.asked.tobytes(), self.replaced, self.limited, self.lone

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
    def kept(self) -> Part:
        """The part with the other columns only."""
        part, at = self.part, self.moving
        return Part(
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

    @cached_property
    def lone(self) -> bool:
        """Whether rule Z holds: one sum and nothing else, not even a column that was set aside."""
        one = len(self.moving) == self.part.columns == self.answers == 1 and (self.alone or not self.part.always)
        return bool(one and abs(self.kept.centre[0]) >= self.kept.radius[0])

    @property
    def corners(self) -> int:
        """How many corners the moving columns of a group have."""
        return int(2 ** len(self.moving))

    @cached_property
    def size(self) -> int:
        """How many types the moving columns have, without listing them (rule Z lists fewer); at least so many."""
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

    @property
    def _listed(self) -> Part:
        """The part whose types are listed: under rule Z one without columns."""
        if not self.lone:
            return self.kept
        none = np.zeros(0)
        return Part(self.part.groups, self.part.fewest, self.part.most, none, none, none, 1.0)

    @cached_property
    def types(self) -> tuple[Array, Array]:
        """What a group can hold, (z of the moving columns, 1) or a difference of two; and the counts of every type."""
        listed = self._listed
        if listed.most == 1 and not self.replaced:  # one group, at any corner, or none
            p = listed.columns
            signs = np.asarray(np.indices([2] * p).reshape(p, 2**p).T * 2.0 - 1.0, float)
            held = np.hstack([listed.corners(signs), np.ones((2**p, 1))])
            counts = np.vstack([np.zeros((1 - listed.fewest, 2**p)), np.eye(2**p)])
        else:
            held, counts = list_types(listed, self.replaced, self.limited)
        if self.lone:
            held = np.hstack([np.sign(self.kept.centre[0]) * held, held])
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
