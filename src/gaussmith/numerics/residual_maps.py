"""The two maps of a plan for marginals: counts to noisy residuals, and back; by structure, never as matrices.

The core of the records is the counts of all requested marginals, concatenated. The lift takes them to the
contrasts of every residual, each scaled by one double (`gaussmith.numerics.residuals`); decoding puts every marginal
together from the residuals below it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array, Integers, Matrix, NormBounds
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.numerics.products import scale_exactly
from gaussmith.numerics.residual_sizes import Subset, way_table
from gaussmith.numerics.residuals import MarginalPlan, largest_residual_norm
from gaussmith.numerics.way_tables import fits_table
from gaussmith.values import dataclass

MAX_WRITTEN = 4096
"""Limit on the columns of a map that is written as a matrix."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """What both maps share: the sizes of the attributes, the marginals, the residuals and the variance of each."""

    sizes: tuple[int, ...]
    ways: tuple[Subset, ...]
    subsets: tuple[Subset, ...]
    variances: Array

    def __post_init__(self) -> None:
        listed = np.fromiter(itertools.chain.from_iterable(self.ways), np.int64)
        sound = bool(((listed >= 0) & (listed < len(self.sizes))).all())
        if not sound or self.variances.shape != (len(self.subsets),) or not (self.variances > 0).all():
            rule = "each must have valid attributes and a variance above zero"
            raise PlanError("residuals out of range", rule, "plan again", code="residuals-out-of-place")
        # Their norm is added up one by one: none may be there twice, or for cells that are not counted.
        if fits_table(self.sizes, self.ways):
            every = way_table(self.sizes, self.ways).subsets
            sound = list(self.subsets) in (every, every[1:])
        else:
            sound = sorted(self.subsets) == sorted(A for A in self.plan.above if A != () or A in self.subsets)
        if not sound:
            rule = "each one below those asked for must be there once"
            raise PlanError("residuals of other marginals", rule, "plan again", code="residuals-of-other-marginals")

    @cached_property
    def plan(self) -> MarginalPlan:
        """The numbers as `residuals` computes with them."""
        one = np.ones(len(self.ways))
        return MarginalPlan(self.sizes, self.ways, one, "add-remove", self.subsets, self.variances, 0.0, 0.0)

    @cached_property
    def cells(self) -> list[int]:
        """The cells of each marginal."""
        return [math.prod(self.sizes[i] for i in way) for way in self.ways]

    @cached_property
    def lengths(self) -> list[int]:
        """The contrasts of each residual."""
        return [math.prod(self.sizes[i] - 1 for i in A) for A in self.subsets]

    def to_dict(self) -> dict[str, Any]:
        return {
            "sizes": list(self.sizes),
            "ways": [list(way) for way in self.ways],
            "subsets": [list(A) for A in self.subsets],
            "variances": pack(self.variances),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Residuals:
        ways, subsets = (tuple(tuple(int(i) for i in A) for A in fields[name]) for name in ("ways", "subsets"))
        return cls(tuple(int(n) for n in fields["sizes"]), ways, subsets, unpack(fields["variances"]))


@dataclass(frozen=True, eq=False)
class ResidualLift(Matrix):
    """Counts of the marginals, one after the other, to scaled contrasts of the residuals, one after the other."""

    residuals: Residuals

    @property
    def shape(self) -> tuple[int, int]:
        return sum(self.residuals.lengths), sum(self.residuals.cells)

    @property
    def ways(self) -> tuple[Subset, ...]:
        return self.residuals.ways

    def largest(self, bounds: NormBounds) -> float:
        return self._refuse_kind() if bounds.residual is None else bounds.residual(self)

    def largest_norm(self, neighbours: str) -> float:
        """The largest norm of a lifted difference of neighbours, rounded up."""
        r = self.residuals
        return largest_residual_norm(r.sizes, r.subsets, r.variances, neighbours)

    def _contrasts(self, vector: Any) -> Any:
        r = self.residuals
        parts = np.split(np.asarray(vector), np.cumsum(r.cells)[:-1])
        shaped = {way: x.reshape([r.sizes[i] for i in way]) for way, x in zip(r.ways, parts, strict=True)}
        return r.plan.lift(shaped)

    def times(self, vector: Array) -> Array:
        # Contrasts are formed in Python's numbers so that doubles stay doubles.
        parts = [
            np.asarray(x, float).ravel() * self.residuals.plan.scales(A).ravel()
            for A, x in self._contrasts(np.asarray(vector, float).astype(object))
        ]
        return np.concatenate(parts)

    def exact_times(self, vector: Integers) -> Integers:
        wide = np.asarray(vector)
        if wide.dtype != np.int64:
            wide = np.array(list(vector), object)
            if wide.size and max(map(abs, wide.tolist())) < 1 << 41:
                wide = wide.astype(np.int64)
        parts = [
            scale_exactly(
                self.residuals.plan.scales(A).ravel(), x.ravel() if x.dtype == np.int64 else x.ravel().tolist()
            )
            for A, x in self._contrasts(wide)
        ]
        if all(isinstance(part, np.ndarray) for part in parts):
            return np.concatenate(parts)
        return [int(y) for part in parts for y in part]

    def scaled(self, columns: Array) -> ResidualLift:
        unit = float(columns[0])
        if not (columns == unit).all():
            rule = "counts of marginals have one scale for all columns"
            raise PlanError("columns with different scales", rule, "plan again", code="marginal-columns-scaled-apart")
        return ResidualLift(replace(self.residuals, variances=self.residuals.variances / unit / unit))

    def row_norms(self) -> Array:
        return np.asarray(np.linalg.norm(self.dense(), axis=1))

    def row(self, i: int) -> Array:
        return np.asarray(self.dense()[i])

    def dense(self) -> Array:
        return _columns(self.times, self.shape[1])

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "residual lift", **self.residuals.to_dict()}


@dataclass(frozen=True, eq=False)
class ResidualDecode(Matrix):
    """Noisy residuals, one after the other, to the cells of the marginals; then their count, if asked.

    Where the residual of () is not among them the number of records is public, and what it adds is put in elsewhere.
    """

    residuals: Residuals
    counted: bool

    @property
    def shape(self) -> tuple[int, int]:
        return sum(self.residuals.cells) + self.counted, sum(self.residuals.lengths)

    def _noisy(self, vector: Array) -> tuple[dict[Subset, Array], float | None]:
        r = self.residuals
        parts = np.split(vector, np.cumsum(r.lengths)[:-1])
        shaped = {A: y.reshape([r.sizes[i] - 1 for i in A]) for A, y in zip(r.subsets, parts, strict=True)}
        return shaped, None if r.subsets[0] == () else 0.0

    def times(self, vector: Array) -> Array:
        noisy, count = self._noisy(vector)
        plan = self.residuals.plan if count is None else replace(self.residuals.plan, neighbours="replace-one")
        parts = [plan.decode_one(way, noisy, count).ravel() for way in self.residuals.ways]
        if self.counted:
            parts.append(np.atleast_1d(noisy[()] / plan.scales(())).ravel())
        return np.concatenate(parts)

    def exact_times(self, vector: Integers) -> Integers:
        raise PlanError(
            "decoding as a lift", "it only computes answers, in doubles", "plan again", code="decoding-as-lift"
        )

    def scaled(self, columns: Array) -> ResidualDecode:
        raise PlanError("decoding with a scale", "its residuals set its scale", "plan again", code="decoding-scaled")

    def row_norms(self) -> Array:
        r = self.residuals
        norms = np.repeat(np.sqrt(r.plan.variances_of_ways), r.cells)
        return np.append(norms, math.sqrt(r.variances[0])) if self.counted else norms

    def row(self, i: int) -> Array:
        """One row: the way back of one cell, by structure."""
        rows, columns = self.shape
        i = range(rows)[i]
        r = self.residuals
        starts = dict(zip(r.subsets, [0, *np.cumsum(r.lengths)[:-1].tolist()], strict=True))
        out = np.zeros(columns)
        if i == sum(r.cells):
            out[0] = math.sqrt(r.variances[0])
            return out
        k = int(np.searchsorted(np.cumsum(r.cells), i, side="right"))
        way = r.ways[k]
        place = np.unravel_index(i - sum(r.cells[:k]), [r.sizes[j] for j in way])
        for A, start in starts.items():
            if set(A) <= set(way):
                factor = np.full((), math.sqrt(r.variances[r.subsets.index(A)]))
                for j, value in zip(way, place, strict=True):
                    n = r.sizes[j]
                    if j in A:
                        factor = np.multiply.outer(factor, _contrast_column(n, int(value)))
                    else:
                        factor = factor / n
                out[start : start + factor.size] = factor.ravel()
        return out

    def dense(self) -> Array:
        return _columns(self.times, self.shape[1])

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "residual decode", "counted": self.counted, **self.residuals.to_dict()}


def _contrast_column(size: int, value: int) -> Array:
    """What the unit contrasts of an attribute say about one of its values: the column of an orthonormal basis."""
    steps = np.arange(1.0, size)
    column = np.where(steps - 1 >= value, 1.0, np.where(steps == value, -steps, 0.0))
    return np.asarray(column / np.sqrt(steps * (steps + 1.0)))


def _columns(times: Any, columns: int) -> Array:
    if columns > MAX_WRITTEN:
        what, rule = f"a map of {columns} columns", f"at most {MAX_WRITTEN} can be written out"
        raise PlanError(what, rule, "use its structure instead", code="map-too-wide", columns=columns)
    return np.column_stack([times(unit) for unit in np.eye(columns)])


def map_from_dict(fields: dict[str, Any]) -> ResidualLift | ResidualDecode:
    """The map described by `to_dict`."""
    residuals = Residuals.from_dict(fields)
    if fields["kind"] == "residual lift":
        return ResidualLift(residuals)
    return ResidualDecode(residuals, bool(fields["counted"]))


__all__: Sequence[str] = ["ResidualDecode", "ResidualLift", "Residuals", "map_from_dict"]
