"""The input of every statistic, and the methods it must provide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from gaussmith.numerics.linear import Array, Matrix


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy features, on the last axis of `features`; axes before it are groups.

    `rows` are the features as combinations of independent noises, each of variance `unit`. If the number of records
    is secret and counted, it is the last feature; if it is public, `records` is that number.
    """

    features: Array
    rows: Matrix
    unit: float
    counted: bool
    records: int | None = None

    @cached_property
    def variances(self) -> Array:
        """The variance of the noise in each feature."""
        norms = self.rows.row_norms()
        return norms * norms * self.unit

    def covariances(self, i: int) -> Array:
        """The covariance of the noise in every feature with the noise in feature i."""
        return np.asarray(self.rows.times(self.rows.row(i)) * self.unit)

    @cached_property
    def count(self) -> Array:
        """The number of records; NaN if it was neither asked for nor needed."""
        groups = self.features.shape[:-1]
        if self.records is not None:
            return np.full(groups, float(self.records))
        return np.asarray(self.features[..., -1]) if self.counted else np.full(groups, np.nan)


class Statistic(Protocol):
    """A set of answers of one kind."""

    def values(self, noisy: Noisy) -> Array:
        """The answers: groups × answers."""

    def errors(self, noisy: Noisy) -> Array:
        """Their standard errors; for non-linear answers to first order."""

    def intervals(self, noisy: Noisy, width: float, method: str) -> tuple[Array, Array]:
        """The ends of their intervals, `width` normal standard errors to either side."""

    def gradient(self, noisy: Noisy) -> Array:
        """The derivative of each answer with respect to each feature, at the released values of one group."""
