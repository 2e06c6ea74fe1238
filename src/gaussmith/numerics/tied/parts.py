"""The parts of a body: what one person adds to each question of a request, as far as noise is concerned.

A part has g groups. A person is active in k of them, `fewest` ≤ k ≤ `most`, and each active group holds columns
x_j = centre_j + radius_j · z_j, |z_j| ≤ 1, and the number 1 (it is counted). Absent groups hold nothing.

    a filter                groups = most = 1, fewest = 0
    everybody               groups = most = fewest = 1: the group's own count is the number of people
    a histogram             one group per value, no columns
    declared groups         most: how many of them a person counts in

The *core* of a group is (z_1, …, z_p, 1) where a person is active, 0 elsewhere; everybody adds a constant 1 besides.
A part that everybody is always in has no count of its own: its core is (z_1, …, z_p).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaussmith.numerics.products import Array


@dataclass(frozen=True, eq=False)
class Part:
    """One question: how many groups, how many of them a person is in, and the columns of each.

    `weights[j]` is what the squared error of the sum of column j is worth, in every group alike; `count_weight` that of
    the number of people in a group. A mean is a column with centre 0 whose count weighs more.
    """

    groups: int
    fewest: int
    most: int
    centre: Array
    radius: Array
    weights: Array
    count_weight: float

    def __post_init__(self) -> None:
        p = len(self.radius)
        fits = self.centre.shape == self.radius.shape == self.weights.shape == (p,)
        assert fits and 0 <= self.fewest <= self.most <= self.groups and self.most >= 1
        assert self.fewest == 0 or self.always, "a person may be absent, or the part is everybody's"
        assert bool((self.radius > 0).all() and (self.weights > 0).all()) and self.count_weight >= 0

    @property
    def always(self) -> bool:
        """Whether everybody is in the only group."""
        return self.groups == self.fewest == 1

    @property
    def columns(self) -> int:
        return len(self.radius)

    @property
    def width(self) -> int:
        """How many numbers the core of a group has."""
        return self.columns + (not self.always)

    @cached_property
    def rows(self) -> Array:
        """What is asked of the core of a group and of the constant, each row scaled to the root of its weight.

        One column per number of the core, then one for the constant, which is used only where everybody is in.
        """
        p, own = self.columns, self.width
        rows = np.zeros((p + 1, own + 1))
        root = np.sqrt(self.weights)
        rows[np.arange(p), np.arange(p)] = root * self.radius
        rows[:p, p] = root * self.centre  # the count: the group's own, or everybody's
        rows[p, p] = np.sqrt(self.count_weight)
        return rows


@dataclass(frozen=True, eq=False)
class Body:
    """The parts of a request, and what the squared error of the number of all people is worth besides."""

    parts: tuple[Part, ...]
    people_weight: float = 0.0

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the core of each part begins in the vector of all sums (Σ over groups, part after part, constant)."""
        return tuple(int(at) for at in np.cumsum([0, *(part.width for part in self.parts)]))

    @property
    def width(self) -> int:
        """How many numbers the sums of all parts are, the constant left out."""
        return self.starts[-1]
