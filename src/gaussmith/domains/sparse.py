"""Sparse sums: long vectors in which each record changes only a few coordinates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.domains.labels import Label, check_at_most, read_labels
from gaussmith.domains.lift_norms import MAX_LISTED, check_lift, largest_few, largest_listed, without_count
from gaussmith.domains.uncentred import Listed
from gaussmith.errors import DomainError
from gaussmith.neighbours import ADD_REMOVE, REPLACE_ONE
from gaussmith.numerics.linear import Array, Matrix, NormBounds, Words
from gaussmith.problem import Law, Problem
from gaussmith.problem.codes import BoxCodes, Codes
from gaussmith.problem.sql import INFINITY, Step, literal
from gaussmith.proofs.records import proven_signs
from gaussmith.shapes.candidates import Candidate, Search
from gaussmith.shapes.water_filled import water_filled
from gaussmith.values import dataclass
from gaussmith.workloads import Workload


@dataclass(frozen=True, eq=False)
class SparseCodes(Codes):
    """A sparse vector: each value clamped to ±bound and rounded to a whole number of steps, a power of two each.

    If there are more than `at_most` non-zero codes, those with the largest absolute values after clipping are kept;
    ties go to the earlier coordinate. Missing values are 0; ±inf is clipped.

    >>> codes = SparseCodes.for_bounds([1.0, 1.0, 8.0], 2)
    >>> (codes.encode(np.array([[0.5, -2.0, 3.0], [0.25, np.nan, 0.0]])) / codes.sizes.scale).tolist()
    [[0.0, -1.0, 3.0], [0.25, 0.0, 0.0]]
    """

    sizes: BoxCodes
    at_most: int

    @classmethod
    def for_bounds(cls, bounds: npt.ArrayLike, at_most: int, names: Sequence[str] | None = None) -> SparseCodes:
        """The codes of coordinates within ±bounds; refuses bounds that doubles cannot divide."""
        b = np.array(bounds, float)
        return cls(BoxCodes.for_bounds(np.zeros(len(b)), b, np.zeros(len(b)), names), at_most)

    @property
    def columns(self) -> int:
        return len(self.sizes.low)

    @property
    def width(self) -> int:
        return self.columns

    @cached_property
    def extents(self) -> Array:
        return self.sizes.steps.astype(float)

    def encode(self, rows: Array) -> Words:
        x = np.where(np.isnan(rows), 0.0, rows)
        size = np.minimum(np.abs(x), self.sizes.top)
        codes = (size * self.sizes.scale + 0.5).astype(np.int64)
        size[codes == 0] = 0.0
        if (np.count_nonzero(size, axis=1) > self.at_most).any():
            order = np.argsort(-size, axis=1, kind="stable")
            np.put_along_axis(codes, order[:, self.at_most :], 0, axis=1)
        return np.where(x < 0, -codes, codes)

    def spell(self, which: range) -> list[Step]:
        """Clamped and rounded; of more than k those stay that are not after the k-th by size, then place."""
        d, k, top, scale = self.columns, self.at_most, self.sizes.top, self.sizes.scale
        sizes = [f"s{j}" for j in range(d)]
        kept = [f"{letter}{j}" for letter in "xsq" for j in which]
        signed = [f"if(x{j} < 0D, -q{j}, q{j})" for j in which]
        steps = [
            [f"coalesce(if(x{j} <= {INFINITY}, x{j}, 0D), 0D) x{j}" for j in range(d)],
            [*(f"x{j}" for j in range(d)), *(f"least(abs(x{j}), {literal(top[j])}) s{j}" for j in range(d))],
            [*(f"x{j}" for j in which), *sizes, *(f"floor(s{j} * {literal(scale[j])} + 0.5D) q{j}" for j in range(d))],
        ]
        if k >= d:
            return [*steps, [f"{code} c{j}" for j, code in zip(which, signed, strict=True)]]
        order = ", ".join(f"struct(if(q{j} = 0L, 0D, -s{j}) as size, {j} as place)" for j in range(d))
        stays = [f"-s{j} < last.size or (-s{j} = last.size and {j} <= last.place)" for j in which]
        return [
            *steps,
            [*kept, f"array_sort(array({order}))[{k - 1}] last"],
            [f"if({test}, {code}, 0L) c{j}" for j, test, code in zip(which, stays, signed, strict=True)],
        ]


@dataclass(frozen=True, eq=False, init=False)
class SparseSum(Listed):
    """The vectors with at most k non-zero coordinates, coordinate j within ±bound_j.

    Values outside ±bound are clipped. If a vector has more than `at_most` non-zero coordinates, the largest in absolute
    value after clipping are kept; ties go to the earlier coordinate.

    >>> SparseSum(1000, at_most=5, bound=1.0)
    SparseSum(1000 coordinates, at most 5 of them, within ±1)
    """

    kind = "sparse"

    dimension: int
    labels: tuple[Label, ...] | None
    at_most: int
    bounds: Array

    def __init__(self, dimension: int | Sequence[Label], at_most: int, bound: float | npt.ArrayLike) -> None:
        size, labels = read_labels("coordinate", dimension)
        try:
            given = np.array(bound, float)
        except (TypeError, ValueError, OverflowError):
            given = np.full(1, np.nan)
        if given.shape not in ((), (size,)) or not ((given > 1e-100) & (given < 1e100)).all():
            raise DomainError(
                f"bound={bound!r}"[:120],
                f"it must be a number between 1e-100 and 1e100, or {size} of them, one per coordinate",
                "give the largest absolute value that should count in full",
                code="sparse-bound-out-of-range",
                bound=bound,
                size=size,
            )
        bounds = np.broadcast_to(given, (size,)).copy()
        bounds.flags.writeable = False
        object.__setattr__(self, "dimension", size)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "at_most", check_at_most("coordinate", at_most, size))
        object.__setattr__(self, "bounds", bounds)
        assert len(self._codes.sizes.low) == size  # refuses bounds that cannot be encoded right away

    @property
    def reading(self) -> str:
        """The treatment of records, in plain words."""
        return (
            f"A record is a vector of {self.dimension} numbers, at most {self.at_most} of them non-zero. Values "
            f"outside their bounds are clipped, missing values count as zero, and if a record has more than "
            f"{self.at_most} non-zero values, the largest are kept."
        )

    @cached_property
    def _codes(self) -> SparseCodes:
        return SparseCodes.for_bounds(self.bounds, self.at_most, self.names)

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> SparseCodes:
        """The encoding of records as integers."""
        return self._codes

    @property
    def radius(self) -> Array:
        return self.bounds

    @property
    def ranges(self) -> Array:
        return 2 * self.bounds

    @cached_property
    def coded(self) -> tuple[Array, Array]:
        """Zero, and the bounds that codes represent: the bounds themselves up to one part in 2^41."""
        return self.centre, self._codes.sizes.steps / self._codes.sizes.scale

    def records(self, most: int = MAX_LISTED) -> Array | None:
        """Every extreme record in units of the bounds, one per row; None if there are more than `most`."""
        d, k = self.dimension, self.at_most
        if math.comb(d, k) * 2**k > most:
            return None
        rows = []
        for chosen in itertools.combinations(range(d), k):
            for signs in itertools.product((-1.0, 1.0), repeat=k):
                row = np.zeros(d)
                row[list(chosen)] = signs
                rows.append(row)
        return np.array(rows)

    def farthest(self, direction: Array) -> Array:
        """The farthest record in a direction, in units of the bounds."""
        found = np.zeros(self.dimension)
        best = np.argsort(-np.abs(direction), kind="stable")[: self.at_most]
        found[best] = np.sign(direction[best])
        return found

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound on ‖lift · s‖ over all differences s of neighbours, rounded up.

        The set of vectors is symmetric around zero, so two of them differ by at most twice the largest.
        """
        d = self.dimension
        check_lift(lift, d, neighbours)
        reach = np.ones(d) if extent is None else extent
        if neighbours != ADD_REMOVE:
            reach = 2.0 * reach
        return lift.largest(
            NormBounds(
                dense=lambda matrix: largest_listed(matrix, self._records(reach), ADD_REMOVE),
                diagonal=lambda lift: largest_few(lift, reach, self.at_most),
            )
        )

    def _records(self, reach: Array) -> Array | None:
        listed = self.records()
        return None if listed is None else listed * reach

    def largest_change(self, lift: Matrix) -> float:
        """An upper bound on ‖lift · (s − s′)‖ over two records, with an add-remove lift; rounded up."""
        return self.largest(without_count(lift, self.dimension), REPLACE_ONE)

    def shapes(self, problem: Problem[Any], search: Search) -> list[Candidate]:
        return water_filled(problem, search.gap)

    def proven(self, problem: Problem[Any], law: Law) -> float:
        return proven_signs(problem, law)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "coordinates": self.dimension if self.labels is None else list(self.labels),
            "at_most": self.at_most,
            "bounds": float(self.bounds[0]) if (self.bounds == self.bounds[0]).all() else self.bounds.tolist(),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> SparseSum:
        return cls(fields["coordinates"], fields["at_most"], fields["bounds"])

    def __hash__(self) -> int:
        return hash((self.dimension, self.labels, self.at_most, self.bounds.tobytes()))

    def __repr__(self) -> str:
        low, high = self.bounds.min(), self.bounds.max()
        within = f"±{low:.6g}" if low == high else f"±{low:.6g} to ±{high:.6g}"
        return f"SparseSum({self.dimension} coordinates, at most {self.at_most} of them, within {within})"
