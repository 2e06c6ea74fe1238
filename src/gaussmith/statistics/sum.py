"""Sums: answers that are features themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.linear import Array
from gaussmith.statistics.statistic import Noisy


@dataclass(frozen=True, eq=False)
class Sums:
    """Features given by their positions: sums, counts of cells, linear answers, workloads. Their noise is Gaussian."""

    places: npt.NDArray[np.int64]

    def values(self, noisy: Noisy) -> Array:
        """The features."""
        return np.asarray(noisy.features[..., self.places])

    def errors(self, noisy: Noisy) -> Array:
        """The standard deviations of their noise, the same in every group."""
        plain = np.sqrt(noisy.variances[self.places])
        return np.broadcast_to(plain, (*noisy.features.shape[:-1], len(plain)))

    def intervals(self, noisy: Noisy, width: float, method: str) -> tuple[Array, Array]:
        """Central intervals."""
        values, half = self.values(noisy), width * np.sqrt(noisy.variances[self.places])
        return values - half, values + half

    def gradient(self, noisy: Noisy) -> Array:
        """1 for the answer's own feature."""
        return np.eye(noisy.features.shape[-1])[self.places]
