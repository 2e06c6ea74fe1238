"""The one place that touches the inside of Gaussmith: noise is set to one standard deviation and read back.

Every coordinate gets noise of one standard deviation (and a distinct small number more). What reaches the sums is
measured, so that noise that is scaled down, left out or used twice is noticed too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussmith import mechanism

SMALL_BITS = 20
"""The distinct numbers stay below 2^SMALL_BITS; a standard deviation is read without these bits."""


@dataclass(frozen=True)
class Draw:
    """One addition of noise: the exact integers below it, and the noise that reached them."""

    lifted: tuple[int, ...]
    noise: tuple[int, ...]

    @property
    def deviation(self) -> int:
        """The smallest standard deviation of a coordinate, in grid units."""
        return min((abs(z) for z in self.noise), default=0) >> SMALL_BITS << SMALL_BITS


@contextmanager
def known_noise() -> Iterator[list[Draw]]:
    """Within it releases have known noise; the list fills with what was added, in order."""
    draws: list[Draw] = []
    drawn = [0]
    draw_integers, add = mechanism.normal_integers, mechanism.add

    def one_deviation(size: int, bits: int) -> Any:
        first = drawn[0]
        drawn[0] += size
        return (1 << bits) + np.arange(first, first + size, dtype=np.int64)

    def watched(lifted: Any, noise: Any) -> Any:
        noisy = add(lifted, noise)
        exact = tuple(int(y) for y in lifted)
        draws.append(Draw(exact, tuple(int(z) - y for z, y in zip(noisy, exact, strict=True))))
        return noisy

    mechanism.normal_integers, mechanism.add = one_deviation, watched  # type: ignore[assignment]
    try:
        yield draws
    finally:
        mechanism.normal_integers, mechanism.add = draw_integers, add
