"""The parts of a body: what one person adds to each question of a request, as far as noise is concerned.

A part has g groups. A person is active in k of them, `fewest` ≤ k ≤ `most`, and each active group holds columns
x_j = centre_j + radius_j · z_j, |z_j| ≤ 1, and the number 1 (it is counted). Absent groups hold nothing.

    a filter                groups = most = 1, fewest = 0
    everybody               groups = most = fewest = 1: the group's own count is the number of people
    a histogram             one group per value, no columns
    declared groups         most: how many of them a person counts in

A part may count rows: a person has T rows in an active group, 1 ≤ T ≤ `max_rows` = k. Its last column is t = T/k, and
the `row_columns` before it are sums over the rows, centred, each within ±t. The other columns are the person's own. By
convexity only t = 1/k and t = 1 matter: the worst people have one row or all k.

The *core* of a group is (z_1, …, z_p, 1) where a person is active, 0 elsewhere; everybody adds a constant 1 besides.
A part that everybody is always in has no count of its own: its core is (z_1, …, z_p).

Groups of one question may weigh differently. Those of one weight are then a part, and the parts are a *family*: a
person is in at most so many of all their groups. Nothing else of a part changes.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array, fraction_up


@dataclass(frozen=True, eq=False)
class JointPart:
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
    row_columns: int = 0
    max_rows: int = 0
    """How many rows a person can have in a group; 0 where rows are not counted."""

    def __post_init__(self) -> None:
        p = len(self.radius)
        fits = self.centre.shape == self.radius.shape == self.weights.shape == (p,)
        assert fits and 0 <= self.fewest <= self.most <= self.groups and self.most >= 1
        assert bool((self.radius > 0).all() and (self.weights > 0).all()) and self.count_weight >= 0
        last = self.row_columns + self.counts_rows
        assert self.max_rows >= 2 if self.counts_rows else self.max_rows == self.row_columns == 0
        assert 0 <= self.row_columns and last <= p and not self.centre[p - last :].any(), "sums over rows are centred"

    @property
    def always(self) -> bool:
        """Whether everybody is in the only group."""
        return self.groups == self.fewest == 1

    @property
    def columns(self) -> int:
        return len(self.radius)

    @property
    def size(self) -> float:
        """What people can add to all groups, roughly: to compare parts."""
        return self.groups * (float(self.weights @ (np.abs(self.centre) + self.radius) ** 2) + self.count_weight)

    @property
    def counts_rows(self) -> bool:
        """Whether the last column is the number of rows, over the most a person can have."""
        return self.max_rows > 0

    @property
    def varying(self) -> int:
        """How many columns vary once the number of rows is known: the first ones."""
        return self.columns - self.counts_rows

    @property
    def of_rows(self) -> slice:
        """The sums over rows among the columns."""
        return slice(self.varying - self.row_columns, self.varying)

    @property
    def least_rows(self) -> float:
        """t of a person with one row: the first double that is not below 1/k."""
        return fraction_up(Fraction(1, self.max_rows))

    def corners(self, signs: Array) -> Array:
        """Corners of the columns, a row each, from signs: with −1 for t a person has one row, with 1 all of them."""
        if not self.counts_rows:
            return signs
        found = signs.copy()
        found[:, -1] = np.where(signs[:, -1] > 0, 1.0, self.least_rows)
        found[:, self.of_rows] *= found[:, -1:]
        return found

    @property
    def boxed(self) -> JointPart:
        """A part with more people: t and the sums over rows vary apart, as columns of a box."""
        if not self.counts_rows:
            return self
        centre, radius = self.centre.copy(), self.radius.copy()
        centre[-1], radius[-1] = (half * self.radius[-1] for half in self._halves)
        return JointPart(self.groups, self.fewest, self.most, centre, radius, self.weights, self.count_weight)

    @property
    def _halves(self) -> tuple[float, float]:
        """The middle of t, and how far it varies."""
        return (1.0 + self.least_rows) / 2.0, (1.0 - self.least_rows) / 2.0

    def unboxed(self, rows: Array) -> Array:
        """Rows over the core of `boxed` and the constant, as rows over this part's core and the constant."""
        if not self.counts_rows:
            return rows
        found, (middle, half) = rows.copy(), self._halves
        found[:, self.varying] /= half
        found[:, self.columns] -= middle * found[:, self.varying]  # the count: the group's own, or everybody's
        return found

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


@dataclass(frozen=True)
class Family:
    """Parts whose groups are those of one question: a person is in at most `most` of them, of all parts together."""

    members: tuple[int, ...]
    most: int


def taken(states: Array, replaced: bool) -> Array:
    """How many groups each state takes: of one person, or of each of two, a column each.

    A state is a row of groups gained, lost and kept; under add-remove all of its numbers are of groups gained.
    """
    if not replaced:
        return np.asarray(states.sum(axis=1, keepdims=True))
    return np.asarray(states[:, :2] + states[:, 2:])


@dataclass(frozen=True, eq=False)
class Body:
    """The parts of a request, and what the squared error of the number of all people is worth besides."""

    parts: tuple[JointPart, ...]
    people_weight: float = 0.0
    families: tuple[Family, ...] = ()

    def __post_init__(self) -> None:
        members = [q for family in self.families for q in family.members]
        fits = len(set(members)) == len(members) and all(0 <= q < len(self.parts) for q in members)
        assert fits and not any(self.parts[q].fewest for q in members), "a part is in one family, or in none"

    def family_of(self, part: int) -> Family | None:
        """The family that a part is in."""
        return next((family for family in self.families if part in family.members), None)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the core of each part begins in the vector of all sums (Σ over groups, part after part, constant)."""
        return tuple(int(at) for at in np.cumsum([0, *(part.width for part in self.parts)]))

    @property
    def width(self) -> int:
        """How many numbers the sums of all parts are, the constant left out."""
        return self.starts[-1]


# The types of a part: how many of a person's groups hold each corner, all of them listed.
#
# By convexity only corners matter, and by symmetry only how many groups hold each. Under replace-one a group that is
# kept can differ by ±2 in every column or by anything between, so that as many are kept as can be.


def count_types(part: JointPart, replaced: bool, limited: bool = False) -> int:
    """How many rows `list_types` would list."""
    corners = 2**part.columns
    if not replaced:
        return sum(ways(k, corners) for k in range(part.fewest, part.most + 1))
    return sum(
        (ways(kept, corners) if part.columns else 1) * ways(gained, corners) * ways(lost, corners)
        for gained, lost, kept in changes(part, limited)
    )


def list_types(part: JointPart, replaced: bool, limited: bool = False) -> tuple[Array, Array]:
    """What a group can hold, a row each: (z, 1), or a difference of two such; and every type, a row of counts each.

    `limited`: the part is in a family, and under replace-one how many groups are kept is listed too.
    """
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=part.columns))).reshape(2**part.columns, -1)
    here = np.hstack([part.corners(signs), np.ones((len(signs), 1))])
    if not replaced:
        return here, np.vstack([spread_over(k, len(here)) for k in range(part.fewest, part.most + 1)])
    assert not part.counts_rows, "rows are counted under add-remove only"
    kept = np.hstack([2.0 * signs, np.zeros((len(signs), 1))])
    if part.always:
        return kept, np.eye(len(kept))
    kept = kept if part.columns or limited else kept[:0]
    types = []
    for gained, lost, both in changes(part, limited):
        lists = [spread_over(both, len(kept)) if len(kept) else np.zeros((1, 0))]
        lists += [spread_over(gained, len(here)), spread_over(lost, len(here))]
        at = np.indices([len(each) for each in lists]).reshape(3, -1)
        types.append(np.hstack([each[i] for each, i in zip(lists, at, strict=True)]))
    return np.vstack([kept, here, -here]), np.vstack(types)


def changes(part: JointPart, limited: bool = False) -> list[tuple[int, int, int]]:
    """Under replace-one: how many groups a person gains, loses, and at most keeps; where `limited`, or fewer."""
    found = []
    for gained in range(part.most + 1):
        for lost in range(min(part.most, part.groups - gained) + 1):
            kept = min(part.most - max(gained, lost), part.groups - gained - lost)
            if limited:
                found += [(gained, lost, fewer) for fewer in range(kept + 1)]
            elif kept + min(gained, lost) >= part.fewest:
                found.append((gained, lost, kept))
    return found


def states_of(corners: Array, counts: Array) -> Array:
    """A row per type: how many groups are gained, lost and kept, as far as that is listed."""
    return np.stack([counts[:, corners[:, -1] == sign].sum(axis=1) for sign in (1.0, -1.0, 0.0)], axis=1)


def spread_over(groups: int, corners: int) -> Array:
    """All ways to spread so many groups over corners, a row each.

    >>> spread_over(2, 2)
    array([[0., 2.],
           [1., 1.],
           [2., 0.]])
    """
    rows, left = np.zeros((1, 0)), np.array([groups])
    for _ in range(corners - 1):
        at = np.repeat(np.arange(len(rows)), left + 1)
        first = np.concatenate([[0], np.cumsum(left + 1)[:-1]])
        taken = np.arange(len(at)) - first[at]
        rows, left = np.hstack([rows[at], taken[:, None]]), left[at] - taken
    return np.hstack([rows, left[:, None].astype(float)])


def ways(groups: int, corners: int) -> int:
    """How many rows `spread_over` lists."""
    return math.comb(groups + corners - 1, corners - 1)


# The states of a part: how many groups a person gains, loses and keeps, all that a largest norm may need.

MAX_STATES = 2_000_000
"""Limit on the numbers of groups, of several parts jointly where they are tied."""


def list_states(part: JointPart, replaced: bool, few: bool) -> Array:
    """How many groups a person gains, loses and keeps, a row each; `few`: as many as a value linear in them needs.

    Given the net number gained, such a value is linear in the number lost up to where the groups run out (lost =
    groups − most) and from there on: its largest is at an end of one of the two.
    """
    limit(part.most + 1, MAX_STATES)
    if not replaced:
        k = np.arange(part.fewest, part.most + 1.0)[:, None]
        if not part.counts_rows:
            return np.hstack([k, 0.0 * k, 0.0 * k])
        limit(ways(part.most, 3), MAX_STATES)
        return np.vstack([spread_over(int(n), 2) for (n,) in k])  # with all rows, and with one
    if not few or part.fewest:
        limit((part.most + 1) ** 2, MAX_STATES)
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


def all_states(part: JointPart) -> Array:
    """The same of a part in a family, under replace-one: all numbers, as what is kept takes from a common limit."""
    limit((part.most + 1.0) ** 3, MAX_STATES)
    return np.array(changes(part, limited=True), float).reshape(-1, 3)


def one_row(part: JointPart) -> float:
    """t of a person with one row, rounded down so far that all sums of it over groups are exact.

    With t from here to 1 there are more people than with t from 1/k: the bound can only grow.
    """
    unit = 1 << 52 - (2 * part.most).bit_length()
    return unit // part.max_rows / unit


def limit(size: float, most: int) -> None:
    """Refuse a lift that would be certified in more ways than these."""
    if size > most:
        raise PlanError(
            f"a lift that ties questions in {size:.3g} ways",
            f"its largest norm is certified by visiting at most {most:.3g}",
            "plan the questions with fewer ties",
            code="tied-lift-too-large-to-certify",
        )
