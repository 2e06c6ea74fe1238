"""The count: the number of records, noisy if it is secret and exact if it is public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.statistics.statistic import Noisy


@dataclass(frozen=True, eq=False)
class Count:
    """One answer: the number of records."""

    def values(self, noisy: Noisy) -> Array:
        """The number of records in every group."""
        return noisy.count[..., None]

    def _error(self, noisy: Noisy) -> float:
        return float(np.sqrt(noisy.variances[-1])) if noisy.counted and noisy.records is None else 0.0

    def errors(self, noisy: Noisy) -> Array:
        """The standard deviation of its noise; 0 if the number is public."""
        return np.full((*noisy.features.shape[:-1], 1), self._error(noisy))

    def intervals(self, noisy: Noisy, width: float, method: str) -> tuple[Array, Array]:
        """A central interval."""
        values, half = self.values(noisy), width * self._error(noisy)
        return values - half, values + half

    def gradient(self, noisy: Noisy) -> Array:
        """1 for the feature that counts records, if there is one."""
        last = np.zeros((1, noisy.features.shape[-1]))
        last[0, -1] = 1.0 if noisy.counted else 0.0
        return last
