"""Noise fixed by its position, and every integer it was added to: for golden files alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from gaussmith.noise import gaussian as normal
from gaussmith.noise.cube import Cube
from gaussmith.noise.geometric import Geometric
from gaussmith.noise.law import Law

WHERE = "_draw"
"""The one function of gaussmith.noise that draws: (size, bits, random words) → integers. All else may move.

Pure noise is drawn by the method `sample` of its law: (blocks, random words) → integers, a row for each block.
"""


@contextmanager
def fixed_noise() -> Iterator[list[int]]:
    """Within it noise depends on its position alone; gives the list of noisy integers, in the order they are made."""
    sums: list[int] = []
    drawn = 0

    def sample(law: Law, blocks: int, _: object) -> np.ndarray:
        return draw(blocks * law.numbers, int(1 / law.rate).bit_length() - 1, None).reshape(blocks, law.numbers)

    def draw(size: int, bits: int, _: object) -> np.ndarray:
        nonlocal drawn
        drawn += size
        noise = noise_at(np.arange(drawn - size, drawn, dtype=np.uint64), bits).view(Noted)
        noise.sums = sums
        return noise

    with (
        mock.patch.object(normal, WHERE, draw),
        mock.patch.object(Cube, "sample", sample),
        mock.patch.object(Geometric, "sample", sample),
    ):
        yield sums


def noise_at(position: np.ndarray, bits: int) -> np.ndarray:
    """Integers within two standard deviations (2^bits each): position after position a step of splitmix64."""
    bits = max(bits, 0)
    z = (position + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(62 - bits)).astype(np.int64) - (1 << bits + 1)


class Noted(np.ndarray):
    """An array that writes down what comes out when it is added to something."""

    sums: list[int] | None = None

    def __array_finalize__(self, parent: object) -> None:
        self.sums = getattr(parent, "sums", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(each) if isinstance(each, Noted) else each for each in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.add and self.sums is not None:
            self.sums.extend(map(int, result.ravel().tolist()))
        return result

    def tolist(self) -> list[Any]:
        if self.ndim != 1:
            return [row.tolist() for row in self]
        return [NotedInteger.of(each, self.sums) for each in np.asarray(self).tolist()]


class NotedInteger(int):
    """The same for one integer: sums beyond 64 bits are added one by one."""

    sums: list[int] | None

    @classmethod
    def of(cls, value: int, sums: list[int] | None) -> NotedInteger:
        made = cls(value)
        made.sums = sums
        return made

    def __add__(self, other: int) -> int:
        result = int(self) + int(other)
        if self.sums is not None:
            self.sums.append(result)
        return result

    __radd__ = __add__
