"""Cells that cover the bell curve: 2^16 rectangles of one area, each told by a number of 16 bits.

The curve is c · e^{−z²/2} with c = `HEIGHT`. From −6 to 6 it is cut into bins, bin j from j/32 to (j+1)/32, and each
bin into cells of height 1, at level l from l to l+1:

- sure cells lie below the curve. They come first, and nothing of a point in one need be known but its bin;
- edge cells are crossed by the curve. Whatever lies below it and in no sure cell lies in one of these;
- one cell stands for all that lies beyond ±6: `decide.settle_far` says how;
- the numbers that are left stand for cells above the curve, in which no point is accepted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

CELLS = 1 << 16

HEIGHT = 803
"""c, the largest whole number with which `CELLS` are enough."""

PLACES = 5
"""Bins are 2^−5 wide."""

FAR = 6
"""Where the bins end, in standard deviations."""

STRIDE = 1985
"""How far apart sure cells are that stand side by side: each line of the processor's cache, which holds 32, has bins of
every size, so that a line looked up tells next to nothing of the size of the noise."""


class Cover(NamedTuple):
    """All cells: the bin of each; from the first edge cell on also its level; the place of the far cell among these."""

    bins: npt.NDArray[np.int16]
    levels: npt.NDArray[np.float64]
    first_edge: int
    far: int


@lru_cache
def make_cover() -> Cover:
    """The cells, made when the first noise is drawn.

    Requires (tested): a numpy exponential that puts no end of a bin on the wrong side of a whole number; the nearest
    is 10^−5 away.

    >>> cover = make_cover()
    >>> cover.first_edge, cover.far, len(cover.bins), len(cover.levels)
    (63472, 1988, 65536, 2064)
    """
    curve = HEIGHT * np.exp(-(np.arange((FAR << PLACES) + 1.0) ** 2) / 2 ** (2 * PLACES + 1))
    below, top = np.floor(curve[1:]).astype(np.int64), np.ceil(curve[:-1]).astype(np.int64)
    below, top = (np.concatenate([half[::-1], half]) for half in (below, top))  # bin −1−j mirrors bin j
    each = np.arange(-(FAR << PLACES), FAR << PLACES, dtype=np.int16)
    crossed = top - below
    sure, edge = np.repeat(each, below), np.repeat(each, crossed)
    bins = np.zeros(CELLS, dtype=np.int16)
    bins[: len(sure)] = sure[np.arange(len(sure)) * STRIDE % len(sure)]
    bins[len(sure) : len(sure) + len(edge)] = edge
    levels = np.full(CELLS - len(sure), HEIGHT + 1.0)
    levels[: len(edge)] = np.arange(len(edge)) - np.repeat(np.cumsum(crossed) - crossed - below, crossed)
    return Cover(bins, levels, len(sure), len(edge))
