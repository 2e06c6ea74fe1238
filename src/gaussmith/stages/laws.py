"""The laws a coordinate may have, with mean 0 and standard deviation 1: normal, heavy tailed, flat and skewed ones.

They are guesses for reading noisy histograms. Accuracy depends on how well one of them fits, privacy never does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import cast

import numpy as np
import numpy.typing as npt

from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]


def _special() -> ModuleType:
    """The special functions, imported when a law is used: they would double the start-up of every command."""
    import scipy.special

    return cast(ModuleType, scipy.special)


@dataclass(frozen=True)
class Law:
    """A law with mean 0 and standard deviation 1: its distribution function, and the inverse of that."""

    name: str
    below: Callable[[Array], Array]
    quantile: Callable[[Array], Array]

    @property
    def mirrored(self) -> Law:
        """The law of −X."""
        return Law(f"mirrored {self.name}", lambda x: 1 - self.below(-x), lambda u: -self.quantile(1 - u))


def gamma_law(shape: float) -> Law:
    """The gamma law with this shape, whose skewness is 2/√shape.

    >>> gamma_law(1.0).below(np.array([-1.0, 0.0])).round(6)
    array([0.      , 0.632121])
    """
    root = math.sqrt(shape)
    return Law(
        f"gamma {shape:g}",
        lambda x: np.asarray(_special().gammainc(shape, np.maximum(shape + root * x, 0.0))),
        lambda u: np.asarray((_special().gammaincinv(shape, u) - shape) / root),
    )


def lognormal_law(spread: float) -> Law:
    """The law of e^(spread · Z)."""
    mean = math.exp(spread**2 / 2)
    sd = mean * math.sqrt(math.expm1(spread**2))

    def below(x: Array) -> Array:
        y = mean + sd * x
        return np.where(y > 0, _special().ndtr(np.log(np.maximum(y, 1e-300)) / spread), 0.0)

    return Law(f"lognormal {spread:g}", below, lambda u: (np.exp(spread * _special().ndtri(u)) - mean) / sd)


NORMAL = Law("normal", lambda x: np.asarray(_special().ndtr(x)), lambda u: np.asarray(_special().ndtri(u)))
HEAVY = Law(
    "t with 3 degrees of freedom",
    lambda x: np.asarray(_special().stdtr(3, x * math.sqrt(3))),
    lambda u: np.asarray(_special().stdtrit(3, u) / math.sqrt(3)),
)
FLAT = Law(
    "uniform",
    lambda x: np.clip(0.5 + x / math.sqrt(12), 0.0, 1.0),
    lambda u: math.sqrt(12) * (u - 0.5),
)
_SKEWED = (gamma_law(4.0), gamma_law(1.0), lognormal_law(1.0))

NORMAL_ONLY = (NORMAL,)
ANY = (NORMAL, HEAVY, FLAT, *_SKEWED, *(law.mirrored for law in _SKEWED))


@lru_cache(maxsize=8)
def quantiles(laws: tuple[Law, ...], nodes: int) -> Array:
    """The quantiles of each law at (i + ½)/nodes, laws × nodes, adjusted to mean 0 and standard deviation 1 exactly."""
    u = (np.arange(nodes) + 0.5) / nodes
    found = np.array([law.quantile(u) for law in laws])
    found -= found.mean(axis=1, keepdims=True)
    found /= np.sqrt((found * found).mean(axis=1, keepdims=True))
    found.flags.writeable = False
    return found
