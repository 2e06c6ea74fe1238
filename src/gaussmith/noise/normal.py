"""Exact normal integers, the fast path: a block of points at a time in numpy, the rare doubtful one by `decide`.

A point is thrown evenly into an area that covers the bell curve c · e^{−z²/2}, and kept when it lies below the curve:
its place z is then exactly a standard normal. The area is made of 2^16 cells (`cells`). A word of 64 random bits is a
cell and the first 48 binary digits of the place within it; in 31 of 32 cells every point lies below the curve, and
nothing more is needed. In a cell that the curve crosses a second word gives the height of the point.

Why the law is exact although few digits are drawn: whether a point is kept is a function of two real numbers. Here it
is read off their first digits only when all reals that begin with these agree (a sure cell; a height farther from the
computed curve than `ERROR`); otherwise `decide` draws further digits of the same reals until they agree. So each point
is decided as the reals would decide it, and the result needs no digit of a place beyond the first 48: it is the exact
function of the exact reals. See docs/decisions/0002-exact-normal-integers.md.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gaussmith.errors import RequestError
from gaussmith.noise.cells import HEIGHT, PLACES, make_cover
from gaussmith.noise.decide import DIGITS, settle, settle_far
from gaussmith.noise.keystream import Keystream

Words = Callable[[int], npt.NDArray[np.uint64]]

DEFAULT_BITS = MOST_BITS = DIGITS + PLACES - 1
"""52: one digit of the place is left for rounding."""

BLOCK = 1 << 15
"""Points at a time: their buffers stay in the processor's second cache."""

SPARE = 128
"""Points beyond those that are needed: among so many some are in edge cells, whether the one returned is or not, so
that the time of a small call does not tell."""

ERROR = 2.0**-31
"""No computed height of the curve is this far from the true one; the derivation is at `_compute_margins`."""

TOP = 3 if sys.byteorder == "little" else 0
"""Where in a word its first 16 bits are."""


def normal_integers(size: int, bits: int = DEFAULT_BITS) -> npt.NDArray[np.int64]:
    """Independent integers with exactly the law of a rounded standard normal, from fresh randomness at every call.

        round(2^bits · Z),   Z ~ N(0, 1)

    Guarantee: given uniform random bits the law is exact, not approximate: added to an integer y the result is the
    continuous normal 2^bits · Z + y, rounded. A draw beyond 127 standard deviations (probability below 2^−11000)
    does not fit the result and raises.
    Requires (checked): size ≥ 0, 0 ≤ bits ≤ 52. Requires (owed): what `Keystream` requires; a numpy exponential with
    error below 2^−41 on [−18, 0].
    Rounding: to nearest. Ties have probability 0.

    >>> noise = normal_integers(1000)
    >>> noise.dtype, bool(abs(noise).max() < 2**52 * 10)
    (dtype('int64'), True)
    """
    size, bits = operator.index(size), operator.index(bits)
    if size < 0:
        rule = "the number of draws must not be negative"
        raise RequestError(f"size={size}", rule, "ask for 0 or more draws", code="negative-number-of-draws", size=size)
    if not 0 <= bits <= MOST_BITS:
        rule = f"noise is drawn with 0 to {MOST_BITS} binary places"
        raise RequestError(f"bits={bits}", rule, f"use bits={DEFAULT_BITS}", code="noise-bits-out-of-range", bits=bits)
    return _draw(size, bits, Keystream().words)


def _draw(size: int, bits: int, words: Words) -> npt.NDArray[np.int64]:
    """So many places of accepted points made of `words`, rounded.

    Words are taken block by block: one for each point in one request; one for the height of each point in an edge cell;
    one at a time for further digits.
    """
    noise = np.empty(size + min(size, BLOCK) // 32 + SPARE, dtype=np.int64)  # room for points that will not be needed
    filled = 0
    while filled < size:
        left = size - filled
        block = noise[filled : filled + min(BLOCK, left + left // 32 + SPARE)]  # one point in 59 is rejected
        places, rejected = _throw(block, words)
        # floor(2^bits z + ½): keep one binary place more than is asked for, add 1 there, drop it.
        places += 1 << MOST_BITS - bits
        np.right_shift(places, MOST_BITS + 1 - bits, out=block)
        filled += _close(block, rejected)
    return noise[:size]


def _throw(room: npt.NDArray[np.int64], words: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Points, as many as there is room: their places in units of 2^−53, rounded down, and which of them are rejected.

    A place is the bin of the cell followed by 48 digits: the bin is written over the number of the cell.
    """
    cover = make_cover()
    drawn = words(len(room))
    cells = np.right_shift(drawn, np.uint64(DIGITS), out=room.view(np.uint64)).view(np.int64)
    edge = np.flatnonzero(drawn >= np.uint64(cover.first_edge << DIGITS))
    place_in_levels = cells.take(edge) - cover.first_edge
    drawn.view(np.int16)[TOP::4] = cover.bins.take(cells, mode="wrap")  # all are in range; this mode is the fastest
    places = drawn.view(np.int64)
    accepted = _judge(places, edge, place_in_levels, words)
    return places, edge[~accepted]


def _judge(
    places: npt.NDArray[np.int64], edge: npt.NDArray[np.intp], cells: npt.NDArray[np.int64], words: Words
) -> npt.NDArray[np.bool_]:
    """Which points of edge cells lie below the curve, exactly as the reals decide; places of the far cell are set.

    Every block goes this way, whether it has such points or not, so that they do not steer the path.
    """
    cover = make_cover()
    levels = cover.levels.take(cells)
    heights = words(len(edge)) >> np.uint64(64 - DIGITS)
    margins = _compute_margins(places.take(edge), levels, heights)
    accepted = margins > 0
    doubtful = np.abs(margins) <= ERROR
    doubtful |= cells == cover.far
    for i in np.flatnonzero(doubtful):
        where, height, more = edge[i], int(heights[i]), lambda: int(words(1)[0])
        if cells[i] == cover.far:
            far = settle_far(height, more)
            accepted[i] = far is not None
            places[where] = far or 0
        else:
            accepted[i] = settle(int(places[where]), int(levels[i]), height, more)
    return accepted


def _compute_margins(
    places: npt.NDArray[np.int64], levels: npt.NDArray[np.float64], heights: npt.NDArray[np.uint64]
) -> npt.NDArray[np.float64]:
    """The curve minus the height of a point in doubles, each within `ERROR` of the real difference.

    Rounding, in units of 2^−53: z as a double, with its missing digits, is off by less than 1 + |z|, which moves the
    curve by less than c · |z| · (1 + |z|) · e^{−z²/2} < 1.4 c; its square by less than c (r·e^{−r} < ½); the product
    and the sums by less than 3 c; the missing digits of the height by 32. Together below 6 c < 2^13, that is 2^−40.
    The rest of `ERROR`, more than c · 2^−41, is left to numpy's exponential.
    """
    z = places * 2.0**-53
    margins = np.exp(z * z * -0.5)
    margins *= HEIGHT
    margins -= levels
    margins -= heights * 2.0**-48
    return margins


def _close(block: npt.NDArray[np.int64], rejected: npt.NDArray[np.intp]) -> int:
    """Fill the gaps of rejected points with the last accepted ones; how many there are then, in front.

    Which point goes where depends on which were rejected alone, not on their places: they remain independent.
    """
    kept = len(block) - len(rejected)
    gaps = rejected[rejected < kept]
    behind = np.ones(len(rejected), dtype=np.bool_)
    behind[rejected[len(gaps) :] - kept] = False
    block[gaps] = block[kept:][behind]
    return kept
