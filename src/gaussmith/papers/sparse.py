"""Sparse sums: long vectors in which each record changes only a few coordinates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import checks_arguments
from gaussmith.domains.domain import DomainWords, Problem, WorstCase, check_law
from gaussmith.domains.encoding import INFINITY, BoxEncoding, Encoding, Step, literal
from gaussmith.domains.exchangeable import solved_records
from gaussmith.domains.extremes import MAX_LISTED, Extremes, check_lift, largest_few, largest_listed
from gaussmith.domains.strategies import Candidate, Search, Strategy, read_features
from gaussmith.domains.uncentred import Label, Listed, check_at_most, read_labels
from gaussmith.domains.workloads import Workload
from gaussmith.errors import DomainError, PlanError, counted
from gaussmith.numerics.exact import Array, Words, sqrt_downward
from gaussmith.numerics.matrices import Diagonal, Matrix, NormBounds
from gaussmith.numerics.trace_roots import root_of, square_down
from gaussmith.privacy.neighbours import ADD_REMOVE

# The best diagonal shape when a record touches only a few of many parts: sparse sums, and groups of blocks.
#
# A record moves at most k of d coordinates, coordinate j by at most b_j. Signs are free, so the best shape is
# diagonal:
#
#     minimise Σ w_j v_j   subject to   Σ_{j in J} b_j²/v_j ≤ 1  for every J of size k.
#
# The dual spreads k units of weight π over the coordinates, at most one on each, to make V = Σ √w_j b_j √π_j large:
# the largest coordinates get a whole one, the rest a share in proportion to their squared size, as in water-filling.
# For blocks: scaling the best shape of block b (total T_b) by a number plays the part of v_b with b_b² = T_b.

_ROUNDING = 1e-14
"""Relative error of a pairwise sum of up to 2³⁰ quotients, several times over."""


def diagonal(bounds: npt.ArrayLike, weights: npt.ArrayLike, at_most: int) -> tuple[Array, float]:
    """Variances of the best noise for sums of sparse vectors, and their weighted total; both rounded up.

        v_j = b_j² √π_j V / a_j,   a_j = √w_j b_j,   V = Σ a_j √π_j,   total Σ w_j v_j = V²

    Add-remove at μ = 1; four times that under replace-one. A bound of zero needs no noise (0); a weight of zero is not
    released at all (inf).
    Guarantee: the k largest b_j²/v_j add up to at most 1; no Gaussian noise has a smaller weighted total.
    Requires (checked): finite bounds ≥ 0 and weights ≥ 0, 1 ≤ k.
    Rounding: the variances grow by the certified excess of that sum.

    >>> variances, total = diagonal([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], at_most=2)
    >>> round(total, 9)
    8.0
    """
    b, w = np.asarray(bounds, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if b.ndim != 1 or b.shape != w.shape:
        what = f"bounds of shape {b.shape}, weights of shape {w.shape}"
        raise PlanError(
            what, "there must be one bound and one weight per sum", "match them", code="bounds-and-weights-do-not-match"
        )
    if not (np.isfinite(b).all() and np.isfinite(w).all() and (b >= 0).all() and (w >= 0).all()):
        what = "bounds or weights that are negative or not finite"
        raise PlanError(
            what, "they must be finite and ≥ 0", "bound every coordinate", code="bounds-or-weights-out-of-range"
        )
    variances = np.where(w > 0, 0.0, np.inf)
    active = (b > 0) & (w > 0)
    if not active.any():
        return variances, 0.0
    b, w = b[active], w[active]
    a = np.sqrt(w) * b
    roots = _roots(a, at_most)
    V = float((a * a * roots).sum())
    v = b * b * (roots * V)
    if not (v > 1e-290).all() or not np.isfinite(v).all():
        what = "bounds too small or too large for doubles"
        raise PlanError(
            what, "their squares must be representable as doubles", "change the unit", code="bounds-beyond-doubles"
        )
    v *= _excess(b * b / v, at_most)
    variances[active] = v
    return variances, float((w * v).sum()) * (1.0 + _ROUNDING)


def blocks(totals: npt.ArrayLike, at_most: int) -> tuple[Array, float]:
    """Multipliers of the blocks' own best shapes when a record is in at most m of them, and the total; both rounded up.

        Σ_b = multiplier_b · Σ_b*,   multiplier_b = √π_b V / √T_b,   V = Σ √(T_b π_b),   total V²

    Guarantee: the m largest 1/multiplier_b add up to at most 1; optimal under add-remove.
    Requires (checked): finite totals ≥ 0, 1 ≤ m. A block with total 0 has nothing to hide (multiplier 1).

    >>> multipliers, total = blocks([100.0, 1.0, 1.0], at_most=2)
    >>> round(total, 6)
    130.284271
    """
    T = np.asarray(totals, dtype=np.float64)
    if T.ndim != 1 or not (np.isfinite(T).all() and (T >= 0).all()):
        what = "totals that are negative or not finite"
        raise PlanError(
            what, "there must be one total ≥ 0 per block", "plan the blocks first", code="totals-out-of-range"
        )
    multipliers, total = diagonal(np.ones(len(T)), T, at_most)
    multipliers[T == 0] = 1.0
    return multipliers, total


def _roots(a: Array, at_most: int) -> Array:
    """√π_j / a_j: 1/a_j for the t largest, √((k−t)/R) for the rest, R = Σ a_j² over the rest.

    t is the least number with (k−t) a²_{t+1} ≤ R; t = k−1 always has it. Dividing by a_j first keeps coordinates whose
    square is too small for a double.
    """
    if at_most < 1:
        rule = "a record contributes to at least one part"
        raise PlanError(f"at_most={at_most}", rule, "use at_most=1 or more", code="at-most-below-one", at_most=at_most)
    k = min(at_most, len(a))
    order = np.argsort(-a, kind="stable")
    unit = float(a[order[0]])
    squares = (a[order] / unit) ** 2
    rest = np.cumsum(squares[::-1])[::-1]  # from the smallest up, so that small ones count
    t = int(np.argmax((k - np.arange(k)) * squares[:k] <= rest[:k]))
    roots = np.empty(len(a))
    roots[order[:t]] = 1.0 / a[order[:t]]
    roots[order[t:]] = math.sqrt((k - t) / rest[t]) / unit
    return roots


def _excess(ratios: Array, at_most: int) -> float:
    """The sum of the k largest ratios, rounded up: what the variances must grow by."""
    k = min(at_most, len(ratios))
    largest = np.partition(ratios, len(ratios) - k)[len(ratios) - k :]
    return float(largest.sum()) * (1.0 + _ROUNDING)


# The shape for sparse sums: independent noise by water-filling.
#
# A record changes at most k coordinates, each by at most its bound b_j; signs are free. With a_j = √ω_j b_j the k
# units of weight π (at most 1 on each coordinate) that make V = Σ a_j √π_j largest give
#
#     variance_j = b_j² √π_j V / a_j,    total V²;    with a secret number of records of weight e: (V + √e)².
#
# Optimal for sums with any weights. For linear answers ω_j = Σ w_i W_ij², and the same signs bound every shape.

if TYPE_CHECKING:
    pass

NAME = "water-filled"
MAX_DENSE = 1500
"""Limit on coordinates and answers for an explicit moment matrix."""


def water_filled(problem: Problem[SparseSum], gap: float | None = None) -> list[Candidate]:
    """The shapes that fit, the closed form first."""
    domain, omega = problem.domain, problem.coordinate_weights
    b = domain.radius
    variances, total = diagonal(b, omega, domain.at_most)
    entries = b / np.sqrt(variances)  # 0 where nothing is asked
    e = problem.secret_count_weight
    V = np.sqrt(total)
    T = V + np.sqrt(e)
    entries = entries * np.sqrt(V / T) / (1.0 if problem.secret_count else 2.0)
    if e:
        last = float(np.sqrt(np.sqrt(e) / T))
        shape = Strategy(NAME, Diagonal(np.append(entries, last)), *read_features(problem, entries, last))
    else:
        shape = Strategy(NAME, Diagonal(entries), *read_features(problem, entries, None))
    found = [Candidate(shape, _law(problem, variances))]
    if problem.features.matrix is not None:
        found += solved_records(problem, gap)
    return found


def _law(problem: Problem[SparseSum], variances: Array) -> WorstCase:
    """Inclusion chances π and independent signs: M = W diag(π b²) Wᵀ, and the number of records beside it."""
    domain, omega = problem.domain, problem.coordinate_weights
    b = domain.radius
    asked = np.isfinite(variances)
    V = float(np.sqrt(omega[asked] @ variances[asked]))
    share = np.zeros(domain.dimension)
    share[asked] = np.minimum((variances[asked] * np.sqrt(omega[asked]) / (b[asked] * V)) ** 2, 1.0)
    share *= min(1.0, domain.at_most / share.sum())
    reach = b * (1.0 if problem.secret_count else 2.0)
    if problem.asks_no_coordinate_twice:
        root = float(np.sqrt(omega) * reach @ np.sqrt(share)) * (1.0 - 2.0**-40)
    elif max(problem.features.size, domain.dimension) <= MAX_DENSE:
        rows = problem.root_weights * problem.rows * (reach * np.sqrt(share))
        root = root_of(rows @ rows.T)
    else:
        root = 0.0
    root += float(np.sqrt(problem.secret_count_weight))
    return WorstCase("signs", root * root, {"shares": share})


@dataclass(frozen=True, eq=False)
class SparseEncoding(Encoding):
    """A sparse vector: each value clamped to ±bound and rounded to a whole number of steps, a power of two each.

    If there are more than `at_most` non-zero codes, those with the largest absolute values after clipping are kept;
    ties go to the earlier coordinate. Missing values are 0; ±inf is clipped.

    >>> codes = SparseEncoding.for_bounds([1.0, 1.0, 8.0], 2)
    >>> (codes.encode(np.array([[0.5, -2.0, 3.0], [0.25, np.nan, 0.0]])) / codes.sizes.scale).tolist()
    [[0.0, -1.0, 3.0], [0.25, 0.0, 0.0]]
    """

    sizes: BoxEncoding
    at_most: int

    @classmethod
    def for_bounds(cls, bounds: npt.ArrayLike, at_most: int, names: Sequence[str] | None = None) -> SparseEncoding:
        """The codes of coordinates within ±bounds; refuses bounds that doubles cannot divide."""
        b = np.array(bounds, float)
        return cls(BoxEncoding.for_bounds(np.zeros(len(b)), b, np.zeros(len(b)), names), at_most)

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


@dataclass(frozen=True)
class SparseSigns(Extremes):
    """So many numbers, of which `at_most` are −1 or 1 and the others 0."""

    size: int
    at_most: int

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """The set of vectors is symmetric around zero, so two of them differ by at most twice the largest."""
        check_lift(lift, self.size, neighbours)
        reach = np.ones(self.size) if extent is None else extent
        if neighbours != ADD_REMOVE:
            reach = 2.0 * reach
        return lift.sensitivity(
            NormBounds(
                dense=lambda matrix: largest_listed(matrix, self.listed(reach), ADD_REMOVE),
                diagonal=lambda lift: largest_few(lift, reach, self.at_most),
            )
        )

    def listed(self, reach: Array, most: int = MAX_LISTED) -> Array | None:
        """Every extreme record, one per row; None if there are more than `most`."""
        d, k = self.size, self.at_most
        if math.comb(d, k) * 2**k > most:
            return None
        rows = []
        for chosen in itertools.combinations(range(d), k):
            for signs in itertools.product((-1.0, 1.0), repeat=k):
                row = np.zeros(d)
                row[list(chosen)] = signs
                rows.append(row * reach)
        return np.array(rows)


@dataclass(frozen=True, eq=False, init=False)
class SparseSum(Listed):
    """The vectors with at most k non-zero coordinates, coordinate j within ±bound_j.

    Values outside ±bound are clipped. If a vector has more than `at_most` non-zero coordinates, the largest in absolute
    value after clipping are kept; ties go to the earlier coordinate.

    >>> SparseSum(1000, at_most=5, bound=1.0)
    SparseSum(1,000 coordinates, at most 5 of them, within ±1)
    """

    kind = "sparse"

    dimension: int
    labels: tuple[Label, ...] | None
    at_most: int
    bounds: Array

    @checks_arguments
    def __init__(self, dimension: int | Sequence[Label], at_most: int, bound: float | npt.ArrayLike) -> None:
        size, labels = read_labels("coordinate", dimension)
        try:
            given = np.array(bound, float)
        except (TypeError, ValueError, OverflowError):
            given = np.full(1, np.nan)
        if given.shape not in ((), (size,)) or not ((given > 1e-100) & (given < 1e100)).all():
            what = f"bound={bound!r}"[:120]
            rule = f"it must be a number between 1e-100 and 1e100, or {size} of them, one per coordinate"
            remedy = "give the largest absolute value that should count in full"
            raise DomainError(what, rule, remedy, code="sparse-bound-out-of-range", bound=bound, size=size)
        bounds = np.broadcast_to(given, (size,)).copy()
        bounds.flags.writeable = False
        object.__setattr__(self, "dimension", size)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "at_most", check_at_most("coordinate", at_most, size))
        object.__setattr__(self, "bounds", bounds)
        assert len(self._codes.sizes.low) == size  # refuses bounds that cannot be encoded right away

    @property
    def words(self) -> DomainWords:
        return DomainWords(
            f"A record is a vector of {counted(self.dimension, 'number')}, at most {self.at_most} of them non-zero. "
            f"Values outside their bounds are clipped, missing values count as zero, and if a record has more than "
            f"{self.at_most} non-zero values, the largest are kept."
        )

    @cached_property
    def _codes(self) -> SparseEncoding:
        return SparseEncoding.for_bounds(self.bounds, self.at_most, self.names)

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> SparseEncoding:
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
        return self.extremes().listed(np.ones(self.dimension), most)

    def farthest(self, direction: Array) -> Array:
        """The farthest record in a direction, in units of the bounds."""
        found = np.zeros(self.dimension)
        best = np.argsort(-np.abs(direction), kind="stable")[: self.at_most]
        found[best] = np.sign(direction[best])
        return found

    def extremes(self) -> SparseSigns:
        return SparseSigns(self.dimension, self.at_most)

    def shapes(self, problem: Problem[Any], search: Search) -> list[Candidate]:
        return water_filled(problem, search.gap)

    def proven(self, problem: Problem[Any], law: WorstCase) -> float:
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

    def __repr__(self) -> str:
        low, high = self.bounds.min(), self.bounds.max()
        within = f"±{low:.6g}" if low == high else f"±{low:.6g} to ±{high:.6g}"
        return f"SparseSum({counted(self.dimension, 'coordinate')}, at most {self.at_most} of them, within {within})"


def proven_signs(problem: Problem[SparseSum], law: WorstCase) -> float:
    """The bound from independent signs, with each coordinate included as often as the law says."""
    check_law(law.kind == "signs")
    domain, share = problem.domain, law.numbers["shares"]
    check_law(len(share) == domain.dimension and bool(((share >= 0) & (share <= 1)).all()))
    share = share * min(1.0, domain.at_most / (math.fsum(share) * (1.0 + 2.0**-50)))
    reach = domain.radius * (1.0 if problem.secret_count else 2.0)
    if problem.asks_no_coordinate_twice:
        root = math.fsum(np.sqrt(problem.coordinate_weights) * reach * np.sqrt(share)) * (1.0 - 2.0**-48)
    else:
        rows = problem.root_weights * problem.rows * (reach * np.sqrt(share))
        root = root_of(rows @ rows.T)
    return square_down(root + sqrt_downward(Fraction(problem.secret_count_weight)))
