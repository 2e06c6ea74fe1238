"""A lift that ties questions: a small matrix for every group, and one that sees the sums over groups.

With u_{q,i} the summed core of group i of part q, U_q = Σ_i u_{q,i} and n the number of people,

    y_{q,i} = own_q · u_{q,i} + ties_q · (U_1, U_2, …, n)        R_q rows for every group
    y_0     = last · (U_1, U_2, …, n)                            where the number of people has noise of its own

so that a lift of many thousand rows is kept in a few small matrices, and is undone by one small system: the sums first
(add the rows of each part up), then every group from its own rows.

A part may have fewer rows than its core has numbers (R_q ≤ P_q): sums alone, for instance, need no noise on the count
of their group. Then the core that comes back is one of many, but whatever the rows determine is read from it rightly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array, Words, integer_rows, largest_of, multiply_rows, shift
from gaussmith.numerics.joint.parts import Body
from gaussmith.numerics.packed_arrays import pack, unpack


@dataclass(frozen=True, eq=False)
class TiedLift:
    """`groups[q]` groups of part q; `own[q]` is R_q × P_q. `ties` has R_1 + R_2 + … rows and P_1 + P_2 + … columns, and
    one more where the number of people takes part (`counted`); `last`, where there is one, is a row over the same."""

    groups: tuple[int, ...]
    own: tuple[Array, ...]
    ties: Array
    last: Array | None

    def __post_init__(self) -> None:
        fits = all(each.ndim == 2 and each.shape[0] <= each.shape[1] for each in self.own)
        fits = fits and len(self.groups) == len(self.own) and min(self.groups, default=1) >= 1
        fits = fits and self.ties.ndim == 2 and self.ties.shape[0] == sum(len(each) for each in self.own)
        fits = fits and self.ties.shape[1] - sum(self.widths) in (0, 1)
        fits = fits and (self.last is None or (self.counted and self.last.shape == (self.ties.shape[1],)))
        arrays = (*self.own, self.ties, *(() if self.last is None else (self.last,)))
        if not (fits and all(bool(np.isfinite(each).all()) for each in arrays)):
            raise PlanError(
                "a lift with an entry that is not finite or out of range",
                "a plan's matrices must hold finite numbers, each in its row and column",
                "plan again; if this persists, the scales of bounds or weights are too far apart",
                code="tied-lift-not-finite",
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """How many numbers the core of a group has, part by part."""
        return tuple(each.shape[1] for each in self.own)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each part begins in the vector of sums; the end last."""
        return tuple(int(at) for at in np.cumsum([0, *self.widths]))

    @cached_property
    def row_starts(self) -> tuple[int, ...]:
        """Where each part begins among the rows of `ties`; the end last."""
        return tuple(int(at) for at in np.cumsum([0, *map(len, self.own)]))

    @property
    def counted(self) -> bool:
        """Whether the number of people takes part."""
        return bool(self.ties.shape[1] > self.starts[-1])

    @property
    def size(self) -> int:
        """How many rows the lift has: how many draws of noise it takes."""
        return sum(g * len(own) for g, own in zip(self.groups, self.own, strict=True)) + (self.last is not None)

    def rows_of(self, part: int) -> slice:
        """The rows of a part in `ties`."""
        return slice(self.row_starts[part], self.row_starts[part + 1])

    def columns_of(self, part: int) -> slice:
        """The columns of a part in `ties`."""
        return slice(self.starts[part], self.starts[part + 1])

    def scaled(self, columns: Sequence[Array], constant: float, factor: float) -> TiedLift:
        """Every entry times `factor`, and each core number of part q divided into units: column j by columns[q][j]."""
        stacked = np.concatenate([*columns, np.full(int(self.counted), constant)])
        own = tuple(each * (units * factor) for each, units in zip(self.own, columns, strict=True))
        last = None if self.last is None else self.last * (stacked * factor)
        return TiedLift(self.groups, own, self.ties * (stacked * factor), last)

    # -- products ---------------------------------------------------------------------------------------------------

    def exact_times(self, cores: Sequence[Sequence[Sequence[int]]], people: int) -> list[int]:
        """round(lift · cores), halves up, each row rounded once: for every part the cores of its groups, in order."""
        sums = [sum(values) for part in cores for values in zip(*part, strict=True)]
        sums += [people] if self.counted else []
        found: list[int] = []
        for q, part in enumerate(cores):
            ties = self.ties[self.rows_of(q)]
            used = np.flatnonzero(ties.any(axis=0))
            rows, exponents = integer_rows(np.hstack([self.own[q], ties[:, used]]))
            width = self.widths[q]
            shared = [sum(m * sums[j] for m, j in zip(row[width:], used, strict=True)) for row in rows]
            lines = [(row[:width], rest, e) for row, rest, e in zip(rows, shared, exponents, strict=True)]
            for core in part:
                found += [shift(sum(m * k for m, k in zip(row, core, strict=True)) + rest, e) for row, rest, e in lines]
        if self.last is not None:
            (row,), (e,) = integer_rows(self.last[None, :])
            found.append(shift(sum(m * k for m, k in zip(row, sums, strict=True)), e))
        return found

    def exact_times_rows(self, cores: Sequence[Words], people: Words) -> Words | None:
        """As `exact_times`, of many copies: cores[q] is copies × groups × width. None where words might not hold it."""
        if any(largest_of(core) * core.shape[1] >= 1 << 62 for core in cores):
            return None
        sums = np.hstack([*(core.sum(axis=1) for core in cores), *([people[:, None]] if self.counted else [])])
        found = [np.zeros((len(people), 0), np.int64)]
        for q, core in enumerate(cores):
            copies, groups, width = core.shape
            matrix = np.hstack([self.own[q], self.ties[self.rows_of(q)]])
            lifted = multiply_rows(
                matrix, np.hstack([core.reshape(copies * groups, width), np.repeat(sums, groups, axis=0)])
            )
            if lifted is None:
                return None
            found.append(lifted.reshape(copies, groups * len(matrix)))
        if self.last is not None:
            lifted = multiply_rows(self.last[None, :], sums)
            if lifted is None:
                return None
            found.append(lifted)
        return np.hstack(found)

    def times(self, cores: Sequence[Array], people: float = 0.0) -> Array:
        """The same in doubles: cores[q] is groups × width."""
        sums = np.concatenate([core.sum(axis=0) for core in cores] + [[people]] * self.counted)
        parts = [(core @ self.own[q].T + self.ties[self.rows_of(q)] @ sums).ravel() for q, core in enumerate(cores)]
        return np.concatenate([*parts, *([] if self.last is None else [[self.last @ sums]])])

    # -- back to the cores ------------------------------------------------------------------------------------------

    @cached_property
    def _backs(self) -> tuple[Array, ...]:
        """For each part a matrix B with own · B = I."""
        return tuple(_right_inverse(own) for own in self.own)

    @cached_property
    def _sums(self) -> Array:
        """What the sums of the parts' rows, and the last row, are of the sums: (ΣY_1, …, y_0) = M · (U_1, …, n)."""
        M = np.zeros((self.row_starts[-1] + (self.last is not None), self.ties.shape[1]))
        for q, (g, own) in enumerate(zip(self.groups, self.own, strict=True)):
            at = self.rows_of(q)
            M[at] += g * self.ties[at]
            M[at, self.columns_of(q)] += own
        if self.last is not None:
            M[-1] = self.last
        return M

    @cached_property
    def _system(self) -> Array:
        """R with M · R = I: it undoes what the sums of the rows are of the sums."""
        return _right_inverse(self._sums)

    @cached_property
    def is_undone(self) -> bool:
        """Whether doubles can undo the lift: what comes back differs by less than a part in 10⁸ from what went in."""
        pairs = [(self._sums, self._system), *zip(self.own, self._backs, strict=True)]
        size = [float(np.abs(matrix @ inverse - np.eye(len(matrix))).max(initial=0.0)) for matrix, inverse in pairs]
        return max(size) < 1e-8

    def undone(self, noisy: Array) -> tuple[list[Array], Array | None]:
        """The cores of each part, groups × width, and the number of people where it takes part, from all rows.

        Noisy rows of several copies have the cores of several copies.
        """
        rows, at, copies = [], 0, noisy.shape[:-1]
        for g, own in zip(self.groups, self.own, strict=True):
            rows.append(noisy[..., at : at + g * len(own)].reshape(*copies, g, len(own)))
            at += g * len(own)
        sums = np.concatenate([each.sum(axis=-2) for each in rows] + [noisy[..., at:]], axis=-1)
        sums = sums @ self._system.T
        cores = [
            (each - (sums @ self.ties[self.rows_of(q)].T)[..., None, :]) @ back.T
            for q, (back, each) in enumerate(zip(self._backs, rows, strict=True))
        ]
        return cores, (sums[..., -1] if self.counted else None)

    # -- the noise that comes back ----------------------------------------------------------------------------------

    @cached_property
    def _sums_covariance(self) -> Array:
        """Of the noise in (U_1, U_2, …, n), with unit noise on every row."""
        counts = np.repeat(np.array(self.groups, float), [len(own) for own in self.own])
        counts = counts if self.last is None else np.append(counts, 1.0)
        return np.asarray((self._system * counts) @ self._system.T)

    def covariance(self, one: int, other: int) -> tuple[Array, Array]:
        """Of the noise in the cores of a group of part `one` with that of part `other`: of the same group (where the
        parts differ: as between groups), and between two different groups."""
        if one != other:
            return self._covariance(one, other)
        if one not in self._known:
            self._known[one] = self._covariance(one, one)
        return self._known[one]

    @cached_property
    def _known(self) -> dict[int, tuple[Array, Array]]:
        """The covariances of parts with themselves, which are asked for several times."""
        return {}

    def _covariance(self, one: int, other: int) -> tuple[Array, Array]:
        a, b = self.rows_of(one), self.rows_of(other)
        shared = self.ties[a] @ self._sums_covariance @ self.ties[b].T
        shared -= self.ties[a] @ self._system[:, b]
        shared -= (self.ties[b] @ self._system[:, a]).T
        left, right = self._backs[one], self._backs[other]
        between = left @ shared @ right.T
        same = left @ (shared + np.eye(left.shape[1])) @ right.T if one == other else between
        return same, between

    def people_covariance(self, part: int) -> Array:
        """Of the noise in the core of a group of a part with that in the number of people."""
        at = self.rows_of(part)
        with_people = self._system[-1, at] - self.ties[at] @ self._sums_covariance[:, -1]
        return np.asarray(self._backs[part] @ with_people)

    @property
    def people_variance(self) -> float:
        """Of the noise in the number of people."""
        return float(self._sums_covariance[-1, -1])

    # -- saved form -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        return {
            "groups": list(self.groups),
            "own": [pack(each) for each in self.own],
            "ties": pack(self.ties),
            "last": None if self.last is None else self.last.tolist(),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> TiedLift:
        """The lift that `to_dict` described."""
        last, ties = fields["last"], unpack(fields["ties"])
        if not len(ties) and not fields["own"]:  # without parts, the number of people alone
            ties = np.zeros((0, 0 if last is None else len(last)))
        return cls(
            tuple(int(g) for g in fields["groups"]),
            tuple(unpack(each) for each in fields["own"]),
            ties,
            None if last is None else np.array(last, float),
        )


def _right_inverse(matrix: Array) -> Array:
    """B with matrix · B = I, for full row rank; rows and columns are brought to one size first."""
    rows = np.abs(matrix).max(axis=1, initial=0.0)
    columns = np.abs(matrix / rows[:, None]).max(axis=0, initial=0.0)
    columns = np.where(columns > 0, columns, 1.0)
    scaled = matrix / rows[:, None] / columns
    inverse = np.linalg.inv(scaled) if matrix.shape[0] == matrix.shape[1] else np.linalg.pinv(scaled)
    return np.asarray(inverse / columns[:, None] / rows)


def total_of(lift: TiedLift, body: Body) -> float:
    """The weighted total of all answers at unit noise."""
    total = body.people_weight * lift.people_variance if body.people_weight else 0.0
    for q, part in enumerate(body.parts):
        covariance = core_covariance(lift, q, part.always)
        rows = part.rows if part.always else part.rows[:, :-1]
        rows = rows[:, : len(covariance)]
        total += part.groups * float(np.einsum("ij,jk,ik->", rows, covariance, rows))
    return total


def core_covariance(lift: TiedLift, part: int, always: bool) -> Array:
    """Of the noise in the core of a group, its count last: where everybody is in, that is the number of people."""
    same, _ = lift.covariance(part, part)
    if not always or not lift.counted:
        return same
    beside = lift.people_covariance(part)[:, None]
    return np.block([[same, beside], [beside.T, np.array([[lift.people_variance]])]])


# A lift in units in which no square overflows, over whole cores of ±1.


def in_units(lift: TiedLift, body: Body, extents: Sequence[Array] | None) -> tuple[TiedLift, float]:
    """The lift of whole cores ±1, and in units of a power of two near its largest entry, so that no square overflows
    and none that matters vanishes; the exponent of that power, infinite where there is none."""
    units = _units_of(body, extents)
    stacked = np.concatenate([*units, [1.0] * lift.counted])
    with np.errstate(over="ignore"):
        arrays = [own * each for own, each in zip(lift.own, units, strict=True)]
        arrays += [lift.ties * stacked] + ([] if lift.last is None else [lift.last * stacked])
    top = max(float(np.abs(each).max(initial=0.0)) for each in arrays)
    if top == 0.0 or not math.isfinite(top):
        return lift, math.inf if top else -math.inf
    exponent = math.frexp(top)[1]
    arrays = [np.ldexp(each, -exponent) for each in arrays]
    q = len(lift.own)
    return TiedLift(
        lift.groups, tuple(arrays[:q]), arrays[q], arrays[q + 1] if lift.last is not None else None
    ), exponent


def _units_of(body: Body, extents: Sequence[Array] | None) -> list[Array]:
    """What stands for 1 in the core of each part; counts are in ones."""
    extents = [np.ones(part.columns) for part in body.parts] if extents is None else extents
    fits = len(extents) == len(body.parts)
    for each, part in zip(extents, body.parts, strict=False):
        fits = fits and each.shape == (part.columns,) and bool((np.isfinite(each) & (each >= 0)).all())
    if not fits:
        raise damaged_plan("extents that do not fit the columns")
    return [np.append(each, [1.0] * (not part.always)) for each, part in zip(extents, body.parts, strict=True)]
