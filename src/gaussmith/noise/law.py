"""What a law of pure noise offers: exact samples, and the probabilities that plans and intervals need.

Laws hold no random bits: a sample is made of the words that its caller hands over.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from gaussmith.noise.reals import Integers, Words

Floats = npt.NDArray[np.float64]

FARTHEST = 600.0
"""Tails are computed to about e^−600; farther out they are stated as there, which is above the truth."""


class Width(NamedTuple):
    """A half-width in the unit of the noise, and the probability with which it truly covers."""

    half: float
    covered: float


class Law(Protocol):
    """Integer noise with P(z) ∝ e^{−(ε/S)·N(z)} for a block of numbers; blocks are independent.

    Added to an integer statistic that changes by at most S in the norm N between neighbours, it makes the sum ε-DP.
    """

    def __hash__(self) -> int: ...

    @property
    def epsilon(self) -> Fraction: ...

    @property
    def sensitivity(self) -> int: ...

    @property
    def numbers(self) -> int: ...

    norm: ClassVar[str]
    """"1" for Σ|z_i|, "max" for max|z_i|."""

    @property
    def rate(self) -> Fraction:
        """λ = ε/S."""

    def sample(self, blocks: int, words: Words) -> Integers:
        """So many independent blocks, one row each: 64-bit integers, or Python's own if some exceed 62 bits."""

    @property
    def variance(self) -> float:
        """Of one number. Numbers of a block are uncorrelated."""

    def tail(self, beyond: float | Floats) -> Floats:
        """P(|Z| > beyond) of one number, exact on the lattice up to the rounding of doubles."""

    def quantile(self, level: float) -> Width:
        """The least whole number that covers one number with this probability."""


def least_cover(tail: Callable[[float], Floats], missed: float) -> Width:
    """The least whole number t ≥ 0 with P(|Z| > t) ≤ missed, as far as doubles tell, and 1 − P."""
    below, above = -1, 0
    while tail(above) > missed:
        below, above = above, 2 * above + 1
    while above - below > 1:
        middle = (above + below) // 2
        below, above = (middle, above) if tail(middle) > missed else (below, middle)
    return Width(above, 1 - float(tail(above)))
