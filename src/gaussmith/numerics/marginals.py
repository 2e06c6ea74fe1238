"""Marginals of a product of categorical attributes, planned and decoded without ever forming the product.

A table over n₁ × n₂ × … cells splits into *residuals*, one for every subset A of attributes: what the A-marginal adds
to all smaller marginals. Residuals of different subsets are orthogonal, and by symmetry all records are equivalent:
their residual A has squared norm p_A = ∏_{i∈A} (n_i−1)/n_i. So the best shape gives each residual its own noise size,

    minimise Σ v_A σ_A²  subject to  Σ p_A/σ_A² ≤ 1:     σ_A² = √(p_A T/v_A),   T = (Σ √(v_A p_A))² the total,

with v_A the cost over all requested marginals of a unit of noise there. No Gaussian noise has a smaller total.

Coordinates of a residual: along an attribute with n values the n−1 integer contrasts

    (x₁ + … + x_i) − i·x_{i+1},      i = 1 … n−1,

which are orthogonal with squared norms i(i+1), so that integers stay integers, each is scaled by one double at the
very end, and both directions are cumulative sums.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array, Integers, scale_exactly
from gaussmith.numerics.matrices import Diagonal, Matrix, NormBounds
from gaussmith.numerics.packed_arrays import pack, unpack

# Many marginals and the residuals below them as arrays: a million three-way tables are a million rows of numbers.
#
# The same sums as in `residuals`, in the same order of additions, for attributes that all have several values.

Words = npt.NDArray[np.int64]

MANY = 4096
"""Marginals above which they are worked on as arrays."""

_WAYS = 6
"""Limit on the attributes of one marginal: each has 2^ways residuals."""


def fits_table(shape: Sequence[int], ways: Sequence[Subset]) -> bool:
    """Whether these are many marginals of few attributes each, all of several values."""
    longest = max(map(len, ways), default=0)
    return len(ways) > MANY and longest <= _WAYS and min(shape) > 1 and (len(shape) + 1) ** longest * 8 < 2**62


@dataclass(frozen=True, eq=False)
class WayTable:
    """Marginals, and which residuals are below each: a key for every pair of the two, in the order of the marginals."""

    shape: tuple[int, ...]
    ways: tuple[Subset, ...]

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.ways))

    @cached_property
    def _lengths(self) -> Words:
        return np.array([len(way) for way in self.ways], np.int64)

    @cached_property
    def _by_length(self) -> list[tuple[Words, Words]]:
        """The marginals of each length: their places, and their attributes, one marginal a row."""
        found = []
        for length in np.unique(self._lengths).tolist():
            at = np.flatnonzero(self._lengths == length)
            rows = np.array([self.ways[i] for i in at.tolist()], np.int64).reshape(len(at), length)
            found.append((at, rows))
        return found

    @cached_property
    def cells(self) -> Array:
        """The cells of each marginal."""
        sizes, found = np.array(self.shape, float), np.ones(len(self.ways))
        for at, rows in self._by_length:
            found[at] = sizes[rows].prod(axis=1)
        return found

    @cached_property
    def _below(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Words]:
        """For every marginal and every residual below it: the places of both; then all keys in order."""
        base, longest = len(self.shape) + 1, self._longest
        starts = np.append(0, np.cumsum(2**self._lengths))
        ways, keys = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.int64)
        for at, rows in self._by_length:
            columns = range(rows.shape[1])
            chosen = [A for size in range(len(columns) + 1) for A in itertools.combinations(columns, size)]
            for k, A in enumerate(chosen):
                key = np.full(len(at), len(A), np.int64)
                for j in range(longest):
                    key = key * base + (rows[:, A[j]] + 1 if j < len(A) else 0)
                ways[starts[at] + k], keys[starts[at] + k] = at, key
        known, places = np.unique(keys, return_inverse=True)
        return ways, places.reshape(-1).astype(np.int32), known

    @cached_property
    def members(self) -> Words:
        """The attributes of each residual, one a row, −1 behind the last."""
        keys, base = self._below[2], len(self.shape) + 1
        found = np.empty((len(keys), self._longest), np.int64)
        for j in reversed(range(self._longest)):
            keys, found[:, j] = np.divmod(keys, base)
        return found - 1

    @cached_property
    def subsets(self) -> list[Subset]:
        """The residuals, smaller ones first."""
        lengths = (self.members >= 0).sum(axis=1).tolist()
        return [tuple(row[:n]) for row, n in zip(self.members.tolist(), lengths, strict=True)]

    def products(self, factors: Array) -> Array:
        """The product of one factor per attribute, for each residual."""
        return np.asarray(np.append(factors, 1.0)[self.members].prod(axis=1))

    def prices(self, weights: Array) -> Array:
        """v_A = Σ over the marginals above A of w ∏_{i∈A} (n_i−1) ∏_{j∈way∖A} 1/n_j, for each residual."""
        ways, places, keys = self._below
        above = np.bincount(places, (weights / self.cells)[ways], len(keys))
        sizes = np.array(self.shape, float)
        return np.asarray(above * self.products((sizes - 1) * sizes))

    def variances(self, of_residuals: Array, without_first: bool) -> Array:
        """Of each cell of every marginal: Σ_{A⊆way} σ_A² ∏_{i∈A} (n_i−1)/n_i ∏_{j∈way∖A} 1/n_j².

        `without_first`: the residual of no attribute has no noise and is not among those given.
        """
        known = np.append(0.0, of_residuals) if without_first else of_residuals
        sizes, (ways, places, _) = np.array(self.shape, float), self._below
        each = known * self.products((sizes - 1) / sizes) * self.products(sizes) ** 2
        return np.asarray(np.bincount(ways, each[places], len(self.ways)) / self.cells**2)


# What a record adds to the residuals of marginals, and what noise there costs: see `residuals` for the mathematics.

Subset = tuple[int, ...]

MAX_PATTERNS = 10
"""Limit on the attributes of which every way to differ is planned for."""


def subsets_of(way: Subset, shape: Sequence[int]) -> list[Subset]:
    """The subsets with a residual: an attribute with a single value has none."""
    varied = [i for i in way if shape[i] > 1]
    return [A for size in range(len(varied) + 1) for A in itertools.combinations(varied, size)]


def prices_of(shape: tuple[int, ...], ways: tuple[Subset, ...], weights: Array) -> tuple[list[Subset], Array]:
    """v_A = Σ over the marginals above A of w ∏_{i∈A} (n_i−1) ∏_{j∈way∖A} 1/n_j, for each A below one of them."""
    if fits_table(shape, ways):
        table = way_table(shape, ways)
        return table.subsets, table.prices(weights)
    above: dict[Subset, float] = {}
    for way, weight in zip(ways, weights.tolist(), strict=True):
        every = weight / math.prod(shape[i] for i in way)
        for A in subsets_of(way, shape):
            above[A] = above.get(A, 0.0) + every
    subsets = sorted(above, key=lambda A: (len(A), A))
    return subsets, np.array([above[A] * math.prod((shape[i] - 1) * shape[i] for i in A) for A in subsets])


def sizes_of(shape: tuple[int, ...], subsets: list[Subset]) -> Array:
    """p_A: the squared norm of a record's residual A."""
    if len(subsets) > MANY:
        longest = max(map(len, subsets))
        rows = np.array([(*A, *(-1,) * (longest - len(A))) for A in subsets], np.int64)
        sizes = np.array(shape, float)
        return np.asarray(np.append((sizes - 1) / sizes, 1.0)[rows].prod(axis=1))
    return np.array([math.prod((shape[i] - 1) / shape[i] for i in A) for A in subsets])


def most_moved(shape: tuple[int, ...], subsets: list[Subset], neighbours: str) -> Array:
    """Squared norms in the residuals, never too small: a row for every kind of difference there is."""
    p = sizes_of(shape, subsets)
    if neighbours == "add-remove":
        return p[None, :] * (1.0 + 8.0 * 2.0**-50)
    attributes = {i for A in subsets for i in A}
    if len(attributes) <= MAX_PATTERNS:
        # Two records matter only by where they differ: 2^attributes patterns, all of them planned for.
        return moved_by(shape, subsets, every_pattern(len(attributes))) + 8.0 * 2.0**-50
    # Else bound each residual alone: records that differ in its smallest attribute only are furthest apart there.
    alone = [2.0 * math.prod((n - 1) / n for n in sorted(shape[i] for i in A)[1:]) for A in subsets]
    return np.array([alone]) * (1.0 + 8.0 * 2.0**-50)


def every_pattern(attributes: int) -> npt.NDArray[np.bool_]:
    """All ways to differ in some attributes, one per row."""
    return np.array(list(itertools.product((True, False), repeat=attributes))[:-1])


def moved_by(shape: tuple[int, ...], subsets: list[Subset], differs: npt.NDArray[np.bool_]) -> Array:
    """‖residual A of x − x′‖² for two records that differ in the given attributes, a row per pattern."""
    attributes = sorted({i for A in subsets for i in A})
    p = sizes_of(shape, subsets)
    moved = np.empty((len(differs), len(subsets)))
    for row, pattern in enumerate(differs):
        common = {i: -1 / shape[i] if x else 1 - 1 / shape[i] for i, x in zip(attributes, pattern, strict=True)}
        moved[row] = [2.0 * (q - math.prod(common[i] for i in A)) for q, A in zip(p, subsets, strict=True)]
    return np.maximum(moved, 0.0)


@lru_cache(maxsize=1)
def way_table(shape: tuple[int, ...], ways: tuple[Subset, ...]) -> WayTable:
    """The last marginals asked for as a table: a plan asks several times for the same."""
    return WayTable(shape, ways)


_INT64_CELLS = 1 << 22
"""Counts stay below 2^41 (a constant of the library), so contrasts over this many cells fit a signed 64-bit integer."""


_ROUNDING = 2.0**-46


@dataclass(frozen=True, eq=False)
class MarginalPlan:
    """The noise of every residual at μ = 1. `subsets` and `variances` (σ_A²) run in parallel, smaller subsets first.

    Guarantee: the lifted vector of one record (add-remove), or the difference of two (replace-one), with the doubles of
    `scales`, has norm at most 1; lower ≤ the least total of any Gaussian noise ≤ total.
    """

    shape: tuple[int, ...]
    ways: tuple[Subset, ...]
    weights: Array
    neighbours: str
    subsets: tuple[Subset, ...]
    variances: Array
    total: float
    lower: float
    patterns: tuple[Array, Array] | None = None
    """Under replace-one: where two records differ (a row of 0 and 1 per pattern) and the shares that prove `lower`."""

    @cached_property
    def _variance_of(self) -> dict[Subset, float]:
        return dict(zip(self.subsets, self.variances.tolist(), strict=True))

    @property
    def cells(self) -> int:
        """The number of answers: the cells of all the marginals asked for."""
        return sum(math.prod(self.shape[i] for i in way) for way in self.ways)

    @property
    def lifted_dimension(self) -> int:
        """The number of coordinates that receive noise."""
        return sum(math.prod(self.shape[i] - 1 for i in subset) for subset in self.subsets)

    @property
    def rmse(self) -> float:
        """Root of the mean variance over all the cells asked for (each cell counted once, whatever the weights)."""
        if (self.weights == self.weights[0]).all():
            return math.sqrt(self.total / self.weights[0] / self.cells)
        spent = (self.variance(way) * math.prod(self.shape[i] for i in way) for way in self.ways)
        return math.sqrt(math.fsum(spent) / self.cells)

    def variance(self, way: Sequence[int]) -> float:
        """The variance of each cell of one marginal.

        Σ_{A⊆way} σ_A² ∏_{i∈A} (n_i−1)/n_i ∏_{j∈way∖A} 1/n_j²
        """
        known = self._variance_of
        parts = []
        for A in subsets_of(tuple(way), self.shape):
            if A in known:
                inside = math.prod((self.shape[i] - 1) / self.shape[i] for i in A)
                outside = math.prod(self.shape[j] for j in way if j not in A)
                parts.append(known[A] * inside / outside**2)
            elif A != ():
                what, rule = f"marginal {tuple(way)}", "it is not part of any marginal of the plan"
                raise PlanError(what, rule, "ask for it", code="marginal-not-in-residual-plan", marginal=tuple(way))
        return math.fsum(parts)

    @property
    def variances_of_ways(self) -> Array:
        """The variance of each cell of every marginal, one after the other."""
        if fits_table(self.shape, self.ways):
            return way_table(self.shape, self.ways).variances(self.variances, self.subsets[0] != ())
        return np.array([self.variance(way) for way in self.ways])

    def scales(self, subset: Sequence[int]) -> Array:
        """The double by which each integer contrast of one residual is multiplied before unit noise is added."""
        sigma = math.sqrt(self._variance_of[tuple(subset)])
        return np.asarray(_unit_scales(tuple(self.shape[i] for i in subset)) * (1.0 / sigma))

    def contrasts(self, subset: Sequence[int], marginal: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The integer contrasts of one residual, exactly, from the integer counts of its own marginal.

        >>> plan = plan_marginals([3, 2], [(0, 1)])
        >>> plan.contrasts((0,), np.array([5, 2, 4])).tolist()
        [3, -1]
        """
        values = np.asarray(marginal)
        if values.shape != tuple(self.shape[i] for i in subset):
            what, rule = (
                f"marginal of shape {values.shape}",
                "it must have one axis per attribute of the subset",
            )
            raise PlanError(what, rule, "count again", code="marginal-of-wrong-shape", shape=values.shape)
        values = values.astype(np.int64 if values.size <= _INT64_CELLS and values.dtype != object else object)
        for axis in range(values.ndim):
            values = _contrast(values, axis)
        return values

    @cached_property
    def above(self) -> dict[Subset, Subset]:
        """The smallest marginal above each residual."""
        above: dict[Subset, Subset] = {}
        for way in sorted(self.ways, key=lambda way: math.prod(self.shape[i] for i in way), reverse=True):
            above.update(dict.fromkeys(subsets_of(way, self.shape), way))  # the smaller one wins
        return above

    def lift(self, marginals: Mapping[Subset, npt.NDArray[Any]]) -> Iterator[tuple[Subset, npt.NDArray[Any]]]:
        """The integer contrasts of every residual in order, from exact counts of (at least) the marginals asked for."""
        for A in self.subsets:
            way = self.above[A]
            away = tuple(axis for axis, i in enumerate(way) if i not in A)
            yield A, self.contrasts(A, np.asarray(marginals[way]).sum(axis=away))

    def decode(self, noisy: Mapping[Subset, Array], count: float | None = None) -> dict[Subset, Array]:
        """Every marginal asked for, consistent with each other, from the noisy lifted residuals (unit noise).

        Under replace-one the number of records is public and must be given as `count`.
        """
        return {way: self.decode_one(way, noisy, count) for way in self.ways}

    def decode_one(self, way: Subset, noisy: Mapping[Subset, Array], count: float | None = None) -> Array:
        """One marginal from the noisy lifted residuals below it."""
        if (count is None) != (self.neighbours == "add-remove"):
            rule = "the count is public, and must be given, under replace-one only"
            raise PlanError(
                "count=…", rule, f"these are residuals for {self.neighbours}", code="public-count-under-add-remove"
            )
        # Slot 0 of an axis holds what does not depend on the attribute, the others its contrasts.
        full = np.zeros(tuple(self.shape[i] for i in way))
        for A in subsets_of(way, self.shape):
            slots = tuple(slice(1, None) if i in A else slice(0, 1) for i in way)
            if A == () and count is not None:
                full[slots] = count
            else:
                residual = np.asarray(noisy[A], dtype=np.float64) / self.scales(A)
                full[slots] = residual.reshape(full[slots].shape)
        for axis in range(full.ndim):
            full = _spread(full, axis)
        return full


def plan_marginals(
    shape: Sequence[int],
    ways: Sequence[Sequence[int]],
    weights: npt.ArrayLike | None = None,
    neighbours: str = "add-remove",
) -> MarginalPlan:
    """The best noise for a set of marginals of a table with `shape` values per attribute; the total is rounded up.

    `ways` lists subsets of attribute numbers, () being the count; `weights` one number > 0 per marginal, for each of
    its cells. The product of all attributes is never formed: 100 attributes of 10 values are planned in seconds.

    Guarantee: as `MarginalPlan`. Optimal under add-remove. Under replace-one the count is public; with up to ten
    attributes the plan is within 1e-6 of the optimum, beyond that valid, and `lower` says how far it can be from it.
    Requires (checked): known attributes, no marginal twice, weights > 0.

    >>> plan = plan_marginals([50, 100, 7, 4, 2], [(i,) for i in range(5)])
    >>> round(plan.rmse, 3)
    1.744
    """
    sizes, asked, w = _check(shape, ways, weights, neighbours)
    subsets, v = prices_of(sizes, asked, w)
    if neighbours == "replace-one":
        subsets, v = (subsets[1:], v[1:]) if subsets[0] == () else (subsets, v)
        if not subsets:
            rule = "replacing a record must change some answer"
            raise PlanError("marginals that never change", rule, "ask for more", code="marginals-never-change")
    most = most_moved(sizes, subsets, neighbours)
    share, patterns = _shares(sizes, subsets, v, neighbours, most)
    if patterns is None:
        root = math.sqrt(even_lower(sizes, asked, w))
    else:
        root = math.sqrt(patterns_lower(sizes, asked, w, *patterns))
    variances = np.sqrt(share / v) * root
    variances = variances * (largest_residual_norm(sizes, subsets, variances, neighbours) ** 2 * (1.0 + _ROUNDING))
    total = math.fsum(v * variances) * (1.0 + _ROUNDING)
    lower = root * root * (1.0 - _ROUNDING)
    return MarginalPlan(sizes, asked, w, neighbours, tuple(subsets), variances, total, lower, patterns)


def even_lower(shape: tuple[int, ...], ways: Sequence[Subset], weights: Array) -> float:
    """(Σ √(v_A p_A))², rounded down: no noise has a smaller total under add-remove; proved by the uniform law."""
    subsets, v = prices_of(shape, tuple(ways), np.asarray(weights, float))
    root = math.fsum(np.sqrt(v * sizes_of(shape, subsets)))
    return root * root * (1.0 - _ROUNDING)


def even_apart(shape: tuple[int, ...], ways: Sequence[Subset], weights: Array) -> tuple[float, float]:
    """What the number of records is worth to marginals, and Σ √(v_A p_A) of all other residuals; rounded down.

    Under the uniform law the others have mean 0, and none goes together with another.
    """
    subsets, v = prices_of(shape, tuple(ways), np.asarray(weights, float))
    roots = np.sqrt(v * sizes_of(shape, subsets))
    rest = math.fsum(root for A, root in zip(subsets, roots.tolist(), strict=True) if A != ())
    number = math.fsum(price for A, price in zip(subsets, v.tolist(), strict=True) if A == ())
    return number * (1.0 - _ROUNDING), rest * (1.0 - _ROUNDING)


def patterns_lower(
    shape: tuple[int, ...], ways: Sequence[Subset], weights: Array, differs: npt.NDArray[Any], shares: Array
) -> float:
    """The same under replace-one, for two records that differ in given attributes; rounded down.

    `differs` has a row per pattern and a column per attribute that any marginal varies with.
    """
    subsets, v = prices_of(shape, tuple(ways), np.asarray(weights, float))
    subsets, v = (subsets[1:], v[1:]) if subsets[0] == () else (subsets, v)
    moved = moved_by(shape, subsets, np.asarray(differs, bool))
    lam = np.maximum(shares, 0.0) / (math.fsum(np.maximum(shares, 0.0)) * (1.0 + 2.0**-50))
    root = math.fsum(np.sqrt(v * np.maximum(lam @ moved - 16.0 * 2.0**-50, 0.0)))
    return root * root * (1.0 - _ROUNDING)


def _check(
    shape: Sequence[int], ways: Sequence[Sequence[int]], weights: npt.ArrayLike | None, neighbours: str
) -> tuple[tuple[int, ...], tuple[Subset, ...], Array]:
    if neighbours not in ("add-remove", "replace-one"):
        what, rule = f"neighbours={neighbours!r}", "it must be 'add-remove' or 'replace-one'"
        raise PlanError(what, rule, "choose one of the two", code="neighbours-not-one-of-two", neighbours=neighbours)
    sizes = tuple(int(n) for n in shape)
    if any(n < 1 for n in sizes):
        rule = "every attribute needs at least one value"
        raise PlanError(f"shape={sizes}", rule, "list its values", code="attribute-without-values", shape=sizes)
    asked = tuple(tuple(sorted(int(i) for i in way)) for way in ways)
    if not asked or len(set(asked)) < len(asked):
        what, rule = f"{len(asked)} marginals", "there must be at least one, and none twice"
        raise PlanError(what, rule, "list each subset once", code="marginals-not-distinct", marginals=len(asked))
    _check_ways(asked, sizes)
    w = np.ones(len(asked)) if weights is None else np.array(weights, dtype=np.float64)
    if w.shape != (len(asked),) or not (np.isfinite(w).all() and (w > 0).all()):
        what = "weights that are not one number > 0 per marginal"
        raise PlanError(
            what,
            "every marginal needs a weight above 0",
            "leave out marginals that do not matter",
            code="marginal-weights-not-positive",
        )
    return sizes, asked, w


def _check_ways(asked: tuple[Subset, ...], sizes: tuple[int, ...]) -> None:
    """Refuse marginals of attributes that are not there, or there twice."""
    listed = np.fromiter(itertools.chain.from_iterable(asked), np.int64)
    inside = bool(((listed >= 0) & (listed < len(sizes))).all()) and all(len(set(way)) == len(way) for way in asked)
    for way in () if inside else asked:
        if len(set(way)) < len(way) or any(not 0 <= i < len(sizes) for i in way):
            rule = f"attributes must be distinct, from 0 to {len(sizes) - 1}"
            raise PlanError(
                f"marginal {way}", rule, "choose from these", code="marginal-of-unknown-attributes", marginal=way
            )


def largest_residual_norm(
    shape: tuple[int, ...], subsets: Sequence[Subset], variances: Array, neighbours: str
) -> float:
    """The largest norm of a lifted record (add-remove) or of a difference of two (replace-one); never too small.

        Σ_A ‖residual A‖² / σ_A²,   with the doubles of `MarginalPlan.scales` for these variances

    Rounding: each lifted entry carries a few roundings per attribute of its subset; all are given away.
    """
    most = most_moved(shape, list(subsets), neighbours)
    square = float((most / variances).sum(axis=1).max())
    if not math.isfinite(square):
        return math.inf
    slack = 1.0 + 8.0 * (max(map(len, subsets)) + 16) * 2.0**-53
    return math.sqrt(square * slack * (1.0 + _ROUNDING)) * (1.0 + 2.0**-52)


def _shares(
    shape: tuple[int, ...], subsets: list[Subset], v: Array, neighbours: str, most: Array
) -> tuple[Array, tuple[Array, Array] | None]:
    """The shares to plan for, and, where records are replaced, the law of where they differ."""
    if neighbours == "add-remove":
        return sizes_of(shape, subsets), None
    attributes = len({i for A in subsets for i in A})
    if attributes <= MAX_PATTERNS:
        lam = _worst_mixture(most, v)
        return np.asarray(lam @ most), (every_pattern(attributes).astype(float), lam)
    return most[0], (np.ones((1, attributes)), np.ones(1))


def _worst_mixture(most: Array, v: Array) -> Array:
    """λ with (nearly) the largest Σ √(v λ·most): the solver's update, where all matrices are diagonal."""
    lam = np.full(len(most), 1.0 / len(most))
    for _ in range(2000):
        share = lam @ most
        cost = most @ np.sqrt(v / share)
        cost /= lam @ cost
        if cost.max() <= 1.0 + 1e-6:
            break
        lam *= cost**2
        lam /= lam.sum()
    return lam


@lru_cache(maxsize=256)
def _unit_scales(sizes: tuple[int, ...]) -> Array:
    """1/√(i(i+1)) along every axis: what makes integer contrasts orthonormal."""
    scale = np.ones(())
    for n in sizes:
        steps = np.arange(1.0, n)
        scale = np.multiply.outer(scale, 1.0 / np.sqrt(steps * (steps + 1.0)))
    scale.flags.writeable = False
    return scale


def _contrast(values: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
    """(x₁ + … + x_i) − i·x_{i+1} along an axis."""
    moved = np.moveaxis(values, axis, -1)
    steps = np.arange(1, moved.shape[-1])
    return np.moveaxis(np.cumsum(moved, axis=-1)[..., :-1] - steps * moved[..., 1:], -1, axis)


def _spread(values: Array, axis: int) -> Array:
    """The inverse: slot 0 shared out evenly, contrasts u_i/(i(i+1)) put back onto the values they compare."""
    moved = np.moveaxis(values, axis, -1)
    n = moved.shape[-1]
    steps = np.arange(1.0, n)
    t = moved[..., 1:] / (steps * (steps + 1.0))
    out = np.repeat(moved[..., :1] / n, n, axis=-1)
    out[..., :-1] += np.cumsum(t[..., ::-1], axis=-1)[..., ::-1]
    out[..., 1:] -= steps * t
    return np.asarray(np.moveaxis(out, -1, axis))


# The two maps of a plan for marginals: counts to noisy residuals, and back; by structure, never as matrices.
#
# The core of the records is the counts of all requested marginals, concatenated. The lift takes them to the contrasts
# of every residual, each scaled by one double (`gaussmith.numerics.marginals`); decoding puts every marginal together
# from the residuals below it.

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
            raise damaged_plan("residuals out of range")
        # Their norm is added up one by one: none may be there twice, or for cells that are not counted.
        if fits_table(self.sizes, self.ways):
            every = way_table(self.sizes, self.ways).subsets
            sound = list(self.subsets) in (every, every[1:])
        else:
            sound = sorted(self.subsets) == sorted(A for A in self.plan.above if A != () or A in self.subsets)
        if not sound:
            raise damaged_plan("residuals of other marginals")

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

    def sensitivity(self, bounds: NormBounds) -> float:
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
            raise damaged_plan("columns with different scales")
        return ResidualLift(replace(self.residuals, variances=self.residuals.variances / unit / unit))

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


def map_from_dict(fields: dict[str, Any]) -> ResidualLift | ResidualDecode | TableCounts:
    """The map described by `to_dict`."""
    if fields["kind"] == "table counts":
        return TableCounts(fields["tables"], int(fields["width"]), False)
    residuals = Residuals.from_dict(fields)
    if fields["kind"] == "residual lift":
        return ResidualLift(residuals)
    return ResidualDecode(residuals, bool(fields["counted"]))


@dataclass(frozen=True, eq=False)
class TableCounts(Diagonal):
    """The cells of several tables of the same people as they are, and the number of people: each is in one cell of each
    table"""

    tables: tuple[tuple[int, ...], ...]

    def __init__(self, tables: Sequence[Sequence[int]], width: int, counted: bool) -> None:
        object.__setattr__(self, "tables", tuple(map(tuple, tables)))
        Diagonal.__init__(self, np.ones(width + counted))

    @property
    def ways(self) -> tuple[tuple[int, ...], ...]:
        return self.tables

    def scaled(self, columns: Array) -> TableCounts:
        if not (columns == 1.0).all():
            raise damaged_plan("counts of tables with a scale")
        return self

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "table counts", "tables": [list(table) for table in self.tables], "width": self.shape[0]}


__all__: Sequence[str] = ["ResidualDecode", "ResidualLift", "Residuals", "TableCounts", "map_from_dict"]
