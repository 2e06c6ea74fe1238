"""The forms of published Gaussian noise, each as a function of independent standard normals.

Independent(scales)         noise_j = scales_j · Z_j
Shared(scales, shares)      noise_j = scales_j · Z_j + shares_j · Z₀        (one draw is shared by all answers)
Even(dimension, a1, a2)     a₂ orthogonal to the direction 1, a₁ along it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gaussmith.noise.gaussian import normal_integers
from gaussmith.numerics.exact import Array


class NoiseLaw(Protocol):
    """A Gaussian vector, made of `sources` standard normals."""

    @property
    def sources(self) -> int: ...

    @property
    def variances(self) -> Array: ...

    def covariance(self) -> Array: ...

    def apply(self, normals: Array) -> Array:
        """Rows of standard normals become rows of noise."""


def normals(size: int, columns: int) -> Array:
    """Standard normals from the library's own source, as doubles: for experiments, not for releases."""
    return normal_integers(size * columns).astype(float).reshape(size, columns) * 2.0**-52


@dataclass(frozen=True, eq=False)
class Independent:
    """Independent noise, each answer with its own standard deviation."""

    scales: Array

    @property
    def sources(self) -> int:
        return len(self.scales)

    @property
    def variances(self) -> Array:
        return self.scales * self.scales

    def covariance(self) -> Array:
        return np.diag(self.variances)

    def apply(self, normals: Array) -> Array:
        return normals * self.scales


@dataclass(frozen=True, eq=False)
class Shared:
    """Independent noise plus one draw that all answers share."""

    scales: Array
    shares: Array

    @property
    def sources(self) -> int:
        return len(self.scales) + 1

    @property
    def variances(self) -> Array:
        return self.scales * self.scales + self.shares * self.shares

    def covariance(self) -> Array:
        return np.diag(self.scales * self.scales) + np.outer(self.shares, self.shares)

    def apply(self, normals: Array) -> Array:
        return normals[:, :-1] * self.scales + normals[:, -1:] * self.shares


@dataclass(frozen=True, eq=False)
class Even:
    """Noise that is symmetric in all coordinates: Σ = a₂² (I − 11ᵀ/d) + a₁² 11ᵀ/d."""

    dimension: int
    a1: float
    a2: float

    @property
    def sources(self) -> int:
        return self.dimension

    @property
    def variances(self) -> Array:
        d = self.dimension
        return np.full(d, (self.a1**2 + (d - 1) * self.a2**2) / d)

    def covariance(self) -> Array:
        d = self.dimension
        return self.a2**2 * np.eye(d) + (self.a1**2 - self.a2**2) / d

    def apply(self, normals: Array) -> Array:
        return np.asarray(self.a2 * normals + (self.a1 - self.a2) * normals.mean(axis=1, keepdims=True))
