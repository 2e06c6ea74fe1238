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
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.errors import PlanError
from gaussmith.numerics.residual_sizes import (
    MAX_PATTERNS,
    Subset,
    every_pattern,
    most_moved,
    moved_by,
    prices_of,
    sizes_of,
    subsets_of,
    way_table,
)
from gaussmith.numerics.way_tables import fits_table
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]

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
    listed = np.fromiter(itertools.chain.from_iterable(asked), np.int64)
    inside = bool(((listed >= 0) & (listed < len(sizes))).all()) and all(len(set(way)) == len(way) for way in asked)
    for way in () if inside else asked:
        if len(set(way)) < len(way) or any(not 0 <= i < len(sizes) for i in way):
            rule = f"attributes must be distinct, from 0 to {len(sizes) - 1}"
            raise PlanError(
                f"marginal {way}", rule, "choose from these", code="marginal-of-unknown-attributes", marginal=way
            )
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
