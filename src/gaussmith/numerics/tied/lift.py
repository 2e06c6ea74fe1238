"""A lift that ties questions: a small matrix for every group, and one that sees the sums over groups.

With u_{q,i} the summed core of group i of part q, U_q = Σ_i u_{q,i} and n the number of people,

    y_{q,i} = own_q · u_{q,i} + ties_q · (U_1, U_2, …, n)        a row for every number of the core
    y_0     = last · (U_1, U_2, …, n)                            where the number of people takes part

so that a lift of many thousand rows is kept in a few small matrices, and is undone by one small system: the sums first
(add the rows of each part up), then every group from its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.numerics.products import Array, integer_rows, shift


@dataclass(frozen=True, eq=False)
class TiedLift:
    """`groups[q]` groups of part q; `own[q]` is P_q × P_q, `ties` one row per number of each part's core (P_1 + P_2 + …)
    and one column more where the number of people takes part; `last` is then the row of its own."""

    groups: tuple[int, ...]
    own: tuple[Array, ...]
    ties: Array
    last: Array | None

    def __post_init__(self) -> None:
        width, counted = sum(self.widths), self.last is not None
        square = all(each.ndim == 2 and each.shape[0] == each.shape[1] for each in self.own)
        fits = len(self.groups) == len(self.own) and min(self.groups, default=1) >= 1
        fits = fits and self.ties.shape == (width, width + counted)
        fits = fits and (self.last is None or self.last.shape == (width + 1,))
        arrays = (*self.own, self.ties, *(() if self.last is None else (self.last,)))
        if not (square and fits and all(bool(np.isfinite(each).all()) for each in arrays)):
            raise PlanError(
                "a lift with a number that is not finite or has no place",
                "a plan's matrices hold finite numbers, each in its row and column",
                "plan again; if this persists, the bounds or weights lie too far apart",
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """How many numbers the core of a group has, part by part."""
        return tuple(len(each) for each in self.own)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each part begins in the vector of sums; the end last."""
        return tuple(int(at) for at in np.cumsum([0, *self.widths]))

    @property
    def counted(self) -> bool:
        """Whether the number of people takes part."""
        return self.last is not None

    @property
    def size(self) -> int:
        """How many rows the lift has: how many draws of noise it takes."""
        return sum(g * width for g, width in zip(self.groups, self.widths, strict=True)) + self.counted

    def rows_of(self, part: int) -> slice:
        """The rows (and columns) of a part in `ties`."""
        return slice(self.starts[part], self.starts[part + 1])

    def scaled(self, columns: Sequence[Array], constant: float, factor: float) -> TiedLift:
        """Every entry times `factor`, and each core number of part q divided into units: column j by columns[q][j]."""
        stacked = np.concatenate([*columns, [constant] * self.counted]) if self.own else np.zeros(0)
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

    def times(self, cores: Sequence[Array], people: float = 0.0) -> Array:
        """The same in doubles: cores[q] is groups × width."""
        sums = np.concatenate([core.sum(axis=0) for core in cores] + [[people]] * self.counted)
        parts = [(core @ self.own[q].T + self.ties[self.rows_of(q)] @ sums).ravel() for q, core in enumerate(cores)]
        return np.concatenate([*parts, *([] if self.last is None else [[self.last @ sums]])])

    # -- back to the cores ------------------------------------------------------------------------------------------

    @cached_property
    def _system(self) -> Array:
        """The inverse of what the sums of the parts' rows are of the sums: R with (U_1, …, n) = R · (ΣY_1, …, y_0)."""
        width = self.starts[-1]
        M = np.zeros((width + self.counted,) * 2)
        for q, (g, own) in enumerate(zip(self.groups, self.own, strict=True)):
            at = self.rows_of(q)
            M[at] += g * self.ties[at]
            M[at, at] += own
        if self.last is not None:
            M[-1] = self.last
        return np.asarray(np.linalg.inv(M))

    def undone(self, noisy: Array) -> tuple[list[Array], float | None]:
        """The cores of each part, groups × width, and the number of people where it takes part, from all rows."""
        rows, at = [], 0
        for g, width in zip(self.groups, self.widths, strict=True):
            rows.append(noisy[at : at + g * width].reshape(g, width))
            at += g * width
        sums = np.concatenate([each.sum(axis=0) for each in rows] + [noisy[at:]])
        sums = self._system @ sums
        cores = [
            np.linalg.solve(own, (each - self.ties[self.rows_of(q)] @ sums).T).T
            for q, (own, each) in enumerate(zip(self.own, rows, strict=True))
        ]
        return cores, (float(sums[-1]) if self.counted else None)

    # -- the noise that comes back ----------------------------------------------------------------------------------

    @cached_property
    def _sums_covariance(self) -> Array:
        """Of the noise in (U_1, U_2, …, n), with unit noise on every row."""
        counts = np.repeat(np.array(self.groups, float), self.widths)
        counts = np.append(counts, 1.0) if self.counted else counts
        return np.asarray((self._system * counts) @ self._system.T)

    def covariance(self, one: int, other: int) -> tuple[Array, Array]:
        """Of the noise in the cores of two groups of parts `one` and `other`: of the same group (None of it where the
        parts differ: then as between groups), and of two different groups."""
        a, b = self.rows_of(one), self.rows_of(other)
        shared = self.ties[a] @ self._sums_covariance @ self.ties[b].T
        shared -= self.ties[a] @ self._system[:, b]
        shared -= (self.ties[b] @ self._system[:, a]).T
        left, right = np.linalg.inv(self.own[one]), np.linalg.inv(self.own[other])
        between = left @ shared @ right.T
        same = left @ (shared + np.eye(len(left))) @ right.T if one == other else between
        return same, between

    def people_covariance(self, part: int) -> Array:
        """Of the noise in the core of a group of a part with that in the number of people."""
        at = self.rows_of(part)
        with_people = self._system[-1, at] - self.ties[at] @ self._sums_covariance[:, -1]
        return np.asarray(np.linalg.solve(self.own[part], with_people))

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
        last = fields["last"]
        return cls(
            tuple(int(g) for g in fields["groups"]),
            tuple(unpack(each) for each in fields["own"]),
            unpack(fields["ties"]),
            None if last is None else np.array(last, float),
        )
