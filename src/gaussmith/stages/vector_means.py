"""The rule for means of vectors of which nothing is known: look at the columns three times, at lengths once, then sum.

    locate ──▶ zoom ──▶ zoom again ──▶ lengths ──▶ answers

Every look is a Gaussian release of counts in cells. The rule says where the next cells are, and at the end the centre
and the half axes of the ellipsoid to which records are clipped. It sees noisy numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.stages import level, locate, zoom
from gaussmith.stages.laws import ANY, NORMAL_ONLY, Law
from gaussmith.stages.scale import Scaling, scale
from gaussmith.stages.vector_shares import VectorShares, vector_shares

Array = npt.NDArray[np.float64]

LOCATE, ZOOM, AGAIN, LENGTHS = "locate", "zoom", "zoom again", "lengths"
LOOKS = (LOCATE, ZOOM, AGAIN, LENGTHS)


@dataclass(frozen=True, eq=False)
class Look:
    """The noisy counts of one look, cells of a column after those of another; and their standard error."""

    counts: Array
    error: float

    def by_column(self, dimension: int) -> Array:
        return self.counts.reshape(dimension, -1)


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """What the last stage is planned with: where the columns lie, and to which ellipsoid records are clipped."""

    mean: Array
    sd: Array
    within: Array
    half_axes: Array
    weights: Array
    people: float


@dataclass(frozen=True)
class VectorRule:
    """The rule with its parameters; all of them public.

    dimension: how many columns;  rows: a guess of the number of records;  mu: the whole guarantee
    public:    whether the number of records is public (replace-one)
    normal:    whether the columns are declared to be normal
    weights:   what squared errors weigh: numbers, or None for relative to the spread that is found
    """

    dimension: int
    rows: float
    mu: float
    public: bool
    normal: bool = False
    weights: tuple[float, ...] | None = None

    @property
    def shares(self) -> VectorShares:
        """The parts of μ² of the looks."""
        return vector_shares(self.dimension, self.mu, self.rows, self.public)

    @property
    def laws(self) -> tuple[Law, ...]:
        """The laws that are fitted to columns."""
        return NORMAL_ONLY if self.normal else ANY

    def log_edges(self) -> Array:
        """The edges of the first look, the same for every column."""
        return np.tile(locate.EDGES, (self.dimension, 1))

    def zoom_edges(self, looks: Sequence[Look]) -> Array:
        """The edges of the second or third look at the columns."""
        return zoom.edges_around(_frame(self, looks))

    def lengths(self, looks: Sequence[Look]) -> tuple[Array, Array, Array]:
        """Centre and factors of the lengths that are counted, and the edges between them."""
        fit, scaling = self.fitted(looks)
        return fit.mean, scaling.multipliers, np.sqrt(level.EDGES)

    def fitted(self, looks: Sequence[Look]) -> tuple[zoom.Fit, Scaling]:
        """What three looks tell of the columns, and how they are scaled."""
        fit = _fit(self, looks)
        weights = fit.reach**-2.0 if self.weights is None else np.array(self.weights)
        return fit, scale(fit.reach, weights)

    def ellipsoid(self, looks: Sequence[Look]) -> Ellipsoid:
        """What all looks tell: the last stage."""
        fit, scaling = self.fitted(looks)
        mu, guard = self.mu * np.sqrt(self.shares.left), 0.0 if self.normal else level.GUARD
        cells = looks[len(LOOKS) - 1].counts
        alpha = level.choose_level(cells, fit, scaling, self.laws, mu, self.public, guard).value
        half_axes = np.sqrt(alpha) / scaling.multipliers
        return Ellipsoid(fit.mean, fit.sd, fit.within, half_axes, scaling.weights, fit.people)

    def found(self, looks: Sequence[Look]) -> bool:
        """Whether the first look shows where the columns lie."""
        first = looks[0]
        return locate.is_found(first.by_column(self.dimension), first.error)


def _frame(rule: VectorRule, looks: Sequence[Look]) -> locate.Frame:
    """Where to look next, from the looks at columns so far."""
    if len(looks) > 1:
        return _fit(rule, looks).frame
    return _located(rule, looks[0].counts.tobytes(), looks[0].error)


def _fit(rule: VectorRule, looks: Sequence[Look]) -> zoom.Fit:
    """What the last look at columns tells; earlier ones say where it was."""
    last = min(len(looks), len(LOOKS) - 1) - 1
    told = tuple((look.counts.tobytes(), look.error) for look in looks[: last + 1])
    return _zoomed(rule, told)


@lru_cache(maxsize=4)
def _located(rule: VectorRule, counts: bytes, error: float) -> locate.Frame:
    return locate.locate(np.frombuffer(counts).reshape(rule.dimension, -1), rule.rows, error)


@lru_cache(maxsize=8)
def _zoomed(rule: VectorRule, told: tuple[tuple[bytes, float], ...]) -> zoom.Fit:
    frame = _located(rule, *told[0]) if len(told) == 2 else _zoomed(rule, told[:-1]).frame
    counts, error = told[-1]
    return zoom.zoom(np.frombuffer(counts).reshape(rule.dimension, -1), frame, error, rule.laws)


def guess(rule: VectorRule) -> dict[str, Any]:
    """What the last stage costs if every column is normal with standard deviation 1, and looks had no noise.

    The stated guess by which a plan says errors before data is seen.
    """
    one = np.ones(rule.dimension)
    fit = zoom.Fit(0 * one, one, 0 * one, np.eye(1, len(rule.laws)).repeat(rule.dimension, 0), rule.rows)
    scaling = scale(fit.reach, one)
    mu, guard = rule.mu * np.sqrt(rule.shares.left), 0.0 if rule.normal else level.GUARD
    chosen = level.choose_level(None, fit, scaling, rule.laws, mu, rule.public, guard)
    return {"level": chosen.value, "error": float(np.sqrt(chosen.cost)) / rule.rows}
