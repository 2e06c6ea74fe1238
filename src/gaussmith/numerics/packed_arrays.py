"""Arrays of doubles, and long ones of whole numbers, in JSON."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.errors import damaged_plan

if TYPE_CHECKING:
    from gaussmith.numerics.exact import Array, Words

MAX_WRITTEN_OUT = 4096
"""Limit on the numbers saved as text; larger arrays are saved as the bytes of their doubles."""


def pack(matrix: Array) -> Any:
    """A matrix for JSON: lists of numbers, or, if it is large, its shape and the bytes of its doubles in base64.

    >>> unpack(pack(np.eye(2)))
    array([[1., 0.],
           [0., 1.]])
    """
    if matrix.size <= MAX_WRITTEN_OUT:
        return matrix.tolist()
    doubles = base64.b64encode(np.ascontiguousarray(matrix, "<f8").tobytes()).decode("ascii")
    return {"shape": list(matrix.shape), "doubles": doubles}


def unpack(packed: Any) -> Array:
    """The matrix that `pack` wrote; refuses numbers that are not finite."""
    if isinstance(packed, dict):
        try:
            matrix = np.frombuffer(base64.b64decode(packed["doubles"], validate=True), "<f8").reshape(packed["shape"])
        except ValueError:
            raise damaged_plan("a damaged matrix") from None
        matrix = matrix.astype(float)
    else:
        matrix = np.array(packed, float)
    if not np.isfinite(matrix).all():
        raise damaged_plan("a matrix with NaN or infinity")
    return matrix


def pack_slow(numbers: Words) -> str:
    """Whole numbers that change slowly, as text: their differences, compressed.

    >>> unpack_slow(pack_slow(np.array([5, 5, 7]))).tolist()
    [5, 5, 7]
    """
    steps = np.diff(numbers, prepend=0).astype("<i8").tobytes()
    return base64.b64encode(zlib.compress(steps, 9)).decode("ascii")


def unpack_slow(text: str) -> Words:
    """The numbers that `pack_slow` wrote; ValueError of any other text."""
    try:
        steps = zlib.decompress(base64.b64decode(text, validate=True))
        return np.cumsum(np.frombuffer(steps, "<i8").astype(np.int64))
    except (TypeError, zlib.error) as error:
        raise ValueError("not packed numbers") from error
