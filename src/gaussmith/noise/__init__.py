"""The only place that draws random bits: exact normal integers.

- keystream: uniform words, fresh for every call
- cells: the area into which points are thrown
- normal: the fast path, blocks of points in numpy
- decide: the exact slow path, for a point that doubles cannot decide
"""

from __future__ import annotations

from gaussmith.noise.gaussian import DEFAULT_BITS, normal_integers

__all__ = ["DEFAULT_BITS", "normal_integers"]
