"""Linear regression of one column on others and a constant: coefficients in the columns' own units.

With A = n Cov(x, x) and b = n Cov(x, y), both read with noise, the slopes are A⁻¹b. One slope is a ratio: of y with the
part of its column that no other column explains, over that part's own square. Where A is not positive definite with its
noise, every coefficient is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gaussmith.domains.features import BoundedColumn, FeatureProduct, Need, One, Places, Value
from gaussmith.numerics.exact import Array
from gaussmith.statistics.moment import (
    MEAN_SQUARE,
    NUMBER_SQUARE,
    REFERENCE,
    Covariance,
    Moment,
    Ratio,
    bounded,
    number_slopes,
)
from gaussmith.statistics.statistic import AskedAnswer, Noisy, linear_variances

SLOPE_SQUARE = 0.6
"""The sum of squared slopes, in units of the half ranges, for which noise is chosen."""


@dataclass(frozen=True, eq=False)
class Slopes(Moment):
    """The slope of the first of the columns that explain, the others held fixed.

    The needs are Σy, Σx_1 …, Σyx_1 …, Σx_i x_j for i ≤ j, and the number of records: of every slope its own column is
    x_1.
    """

    kind = "slope"
    field: ClassVar[str | None] = "regression"
    coefficients = (1.0, 0.0)  # and more zeros: as many as there are needs

    @classmethod
    def asked(cls, wanted: Any) -> list[AskedAnswer]:
        """The slope of each column that explains, then the constant; the first column is the one explained."""
        y, *xs = bounded(wanted)
        every = tuple(wanted)
        slopes = [AskedAnswer("slope", (y, x, *(each for each in xs if each != x)), present=every) for x in xs]
        return [*slopes, AskedAnswer("constant", (y, *xs), present=every)]

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        """The first column is explained by the others."""
        y, *xs = columns
        made = Value.made_of(of)
        values = (Value(column, made, centred=True) for column in columns)
        explained = (FeatureProduct(y, x, made) for x in xs)
        among = (FeatureProduct(a, b, made) for i, a in enumerate(xs) for b in xs[i:])
        return *values, *explained, *among, One()

    @classmethod
    def name_of(cls, columns: Sequence[BoundedColumn], *arguments: Any) -> str:
        return f"{columns[0].name}_on_{columns[1].name}"

    @classmethod
    def has_width(cls, needs: int) -> bool:
        p = _columns_of(needs)
        return p >= 1 and needs == _needs_of(p)

    @property
    def columns(self) -> int:
        """p: how many columns explain."""
        return _columns_of(self.places.shape[1])

    @property
    def needs_spread(self) -> slice:
        return slice(1, 2)

    @property
    def leads(self) -> npt.NDArray[np.int64]:
        return np.full(len(self.weights), 1 + self.columns)

    @property
    def squares(self) -> Array:
        p, found = self.columns, np.zeros(self.places.shape)
        y, x = self.halves[:, 0] ** 2, self.halves[:, 1] ** 2
        found[:, 0], found[:, 1], found[:, 1 + p] = MEAN_SQUARE * x, MEAN_SQUARE * y, 1.0
        for j in range(p):  # the products of its own column with each that explains
            found[:, 1 + 2 * p + j] = SLOPE_SQUARE / p * y / self.halves[:, 1 + j] ** 2
        found[:, -1] = NUMBER_SQUARE / 5 * x * y
        return found

    @property
    def lead_scales(self) -> Array:
        return np.asarray(1.0 / (REFERENCE * self.halves[:, 1]) ** 2)

    def ratio(self, x: Array, covariance: Covariance) -> Ratio:
        """N = β₁D and D = 1/(A⁻¹)₁₁: dD = aᵀ dA a/(A⁻¹)₁₁², dβ = A⁻¹(db − dA β), a the first column of A⁻¹."""
        found = _Solved.of(self, x, covariance)
        top = found.inverse[..., 0, 0]
        below = 1.0 / top
        weight = found.inverse[..., 0, :] / top[..., None]  # the part of x₁ that the others do not explain
        below_slopes = found.matrix_slopes(weight, weight)
        over = found.slopes[..., 0] * below
        # d(β₁D) = β₁ dD + Σ_i weight_i (db_i − Σ_j dA_ij β_j)
        over_slopes = found.slopes[..., 0, None] * below_slopes - found.matrix_slopes(weight, found.slopes)
        over_slopes = over_slopes + found.explained_slopes(weight)
        scale = self.halves[:, 0] / self.halves[:, 1]
        return Ratio(over * scale, below, over_slopes * scale[:, None], below_slopes, found.known)


@dataclass(frozen=True, eq=False)
class Intercepts(Slopes):
    """The constant: the mean of y less the slopes times the means of the columns that explain."""

    kind = "constant"
    field = None

    @classmethod
    def name_of(cls, columns: Sequence[BoundedColumn], *arguments: Any) -> str:
        return f"{columns[0].name}_on_constant"

    @property
    def needs_spread(self) -> slice:
        return slice(1, 1 + self.columns)

    @property
    def leads(self) -> npt.NDArray[np.int64]:
        return np.zeros(len(self.weights), np.int64)

    @property
    def lead_scales(self) -> Array:
        return np.ones(len(self.weights))

    @property
    def squares(self) -> Array:
        return np.zeros(self.places.shape)

    def largest_variances(self, noisy: Noisy, limits: Callable[[Places], Array]) -> Array:
        """With the slopes' errors at the reference, as far as the middles of the columns are from zero."""
        p, found = self.columns, linear_variances(self, noisy)
        for j in range(p):
            reach = self.middles[:, 1 + j] / (REFERENCE * self.halves[:, 1 + j]) ** 2
            found = found + reach**2 * noisy.variance(self.places[:, 1 + p + j])
        return found

    def ratio(self, x: Array, covariance: Covariance) -> Ratio:
        """N = β₀D and D = 1/(1/n + mᵀA⁻¹m), the part of the number of records that no column explains.

        m are the means of the columns that explain. Where their spread may be nothing, so may D: the constant is then
        unknown, as the slopes are.
        """
        found = _Solved.of(self, x, covariance)
        p, n = self.columns, found.x[..., -1]
        own = self.middles / self.halves
        y_middle, middles = own[:, 0], own[:, 1 : 1 + p]
        beta, means = found.slopes, found.distances + middles
        constant = found.x[..., 0] / n + y_middle - (beta * means).sum(axis=-1)
        weight = np.einsum("...i,...ij->...j", means, found.inverse)
        # n dβ₀, with A⁻¹(db − dA β) for the slopes
        slopes = number_slopes(x) * (y_middle - (beta * middles).sum(axis=-1) - constant)[..., None]
        slopes[..., 0] += 1.0 / self.halves[:, 0]
        slopes[..., 1 : 1 + p] -= beta / self.halves[:, 1 : 1 + p]
        slopes = slopes + n[..., None] * (found.matrix_slopes(weight, beta) - found.explained_slopes(weight))
        # d(1/D) = −dn/n² + 2 wᵀdm − wᵀ dA w with w = A⁻¹m and n dm = dS − m dn
        part = -number_slopes(x) * (1.0 / n + 2.0 * (weight * (means - middles)).sum(axis=-1))[..., None]
        part[..., 1 : 1 + p] += 2.0 * weight / self.halves[:, 1 : 1 + p]
        part = part / n[..., None] - found.matrix_slopes(weight, weight)
        below = 1.0 / (1.0 / n + (means * weight).sum(axis=-1))
        below_slopes = -(below**2)[..., None] * part
        over_slopes = constant[..., None] * below_slopes + (below / n)[..., None] * slopes
        scale = self.halves[:, 0]
        return Ratio(constant * below * scale, below, over_slopes * scale[:, None], below_slopes, found.known)


@dataclass(frozen=True, eq=False)
class _Solved:
    """The normal equations in units of the half ranges: A⁻¹, the slopes A⁻¹b, and how A and b change with the needs.

        A = P_xx + diag(shift) n − (S_x S_xᵀ − Cov)/n,   b = P_xy − (S_x S_y − Cov)/n

    Slopes in the needs are in the needs' own units, those of everything else in units of the half ranges.
    """

    x: Array
    halves: Array
    shifts: Array
    """What squares are measured from, with the sign turned."""
    inverse: Array
    slopes: Array
    known: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, statistic: Slopes, x: Array, covariance: Covariance) -> _Solved:
        p, halves = statistic.columns, statistic.halves
        x, own = x / halves, halves[:, : 1 + p]
        first, second, among = _products(p)
        shifts = -(statistic.middles / halves)[:, among[first == second]]
        sums, n = x[..., : 1 + p], x[..., -1, None, None]
        beside = sums[..., :, None] * sums[..., None, :]
        beside = (beside - covariance(range(1 + p)) / (own[:, :, None] * own[:, None, :])) / n
        b = x[..., 1 + p : 1 + 2 * p] - beside[..., 0, 1:]
        A = np.zeros((*x.shape[:-1], p, p))
        A[..., first, second] = A[..., second, first] = x[..., among]
        A = A + np.eye(p) * shifts[:, None, :] * n - beside[..., 1:, 1:]
        finite = np.isfinite(A).all(axis=(-1, -2)) & (x[..., -1] > 0)
        safe = np.where(finite[..., None, None], A, np.eye(p))
        known = finite & (np.linalg.eigvalsh(safe)[..., 0] > 0)
        inverse = np.linalg.inv(np.where(known[..., None, None], A, np.eye(p)))
        return cls(x, halves, shifts, inverse, np.einsum("...ij,...j->...i", inverse, b), known)

    @property
    def columns(self) -> int:
        """p: how many columns explain."""
        return int(self.inverse.shape[-1])

    @property
    def distances(self) -> Array:
        """The means of the columns that explain, from the middles of their bounds."""
        return np.asarray(self.x[..., 1 : 1 + self.columns] / self.x[..., -1, None])

    def matrix_slopes(self, left: Array, right: Array) -> Array:
        """leftᵀ dA right, as slopes in the needs: dA_ij = dP_ij + shift_ij dn − m_i dS_j − m_j dS_i + m_i m_j dn."""
        p, m, found = self.columns, self.distances, np.zeros(self.x.shape)
        first, second, among = _products(p)
        found[..., among] = left[..., first] * right[..., second]
        found[..., among] += np.where(first == second, 0.0, left[..., second] * right[..., first])
        along, across = (left * m).sum(axis=-1), (right * m).sum(axis=-1)
        found[..., 1 : 1 + p] = -left * across[..., None] - right * along[..., None]
        found[..., -1] = (left * right * self.shifts).sum(axis=-1) + along * across
        return np.asarray(found / self.halves)

    def explained_slopes(self, weight: Array) -> Array:
        """weightᵀ db, as slopes in the needs: db_i = dP_iy − m_i dS_y − m_y dS_i + m_i m_y dn."""
        p, found = self.columns, np.zeros(self.x.shape)
        along, m_y = (weight * self.distances).sum(axis=-1), self.x[..., 0] / self.x[..., -1]
        found[..., 0] = -along
        found[..., 1 : 1 + p] = -weight * m_y[..., None]
        found[..., 1 + p : 1 + 2 * p] = weight
        found[..., -1] = along * m_y
        return np.asarray(found / self.halves)


def _products(p: int) -> tuple[Places, Places, Places]:
    """i, j and the place among the needs of each Σx_i x_j with i ≤ j."""
    first, second = np.triu_indices(p)
    return first, second, 1 + 2 * p + np.arange(len(first))


def _needs_of(p: int) -> int:
    return 2 + 2 * p + p * (p + 1) // 2


def _columns_of(needs: int) -> int:
    """p with 2 + 2p + p(p+1)/2 needs, rounded down."""
    return max(0, (math.isqrt(25 + 8 * max(needs - 2, 0)) - 5) // 2)


def joint_distance(slopes: Slopes, noisy: Noisy, coefficients: Array) -> Array:
    """(h − Hβ)ᵀ V(β)⁻¹ (h − Hβ) for these coefficients, slopes in the order of the first answer, then the constant.

    It is χ² with as many degrees of freedom as there are coefficients, exactly, at the true ones: those for which it is
    below a quantile of that law are an exact joint region, whatever the number of records (theory, statement 49).
    Several columns of `noisy` are groups; the result has one number for each.
    """
    p, places = slopes.columns, slopes.places[0]
    middles, halves, known = slopes.middles[0], slopes.halves[0], noisy.at(places)
    beta = np.asarray(coefficients[:p], float)
    # The constant where every column is measured from its middle.
    constant = float(coefficients[p]) - middles[0] + float(beta @ middles[1 : 1 + p])
    rows = np.zeros((p + 1, len(places)))
    rows[0, 0], rows[0, 1 : 1 + p], rows[0, -1] = 1.0, -beta, -constant
    at = 1 + 2 * p
    for i in range(p):
        rows[1 + i, 1 + p + i], rows[1 + i, 1 + i] = 1.0, -constant
        for j in range(i, p):
            rows[1 + i, at] -= beta[j]
            if i != j:
                rows[1 + j, at] -= beta[i]
            else:  # squares are measured from below zero
                rows[1 + i, -1] += beta[i] * middles[at]
            at += 1
    rows = rows / np.append(1.0, halves[1 : 1 + p])[:, None]
    factor = noisy.rows_at(noisy.rows.dense(), places)
    V = rows @ (factor @ factor.T * noisy.unit) @ rows.T
    left = known @ rows.T
    return np.asarray(np.einsum("...i,ij,...j->...", left, np.linalg.inv(V), left))
