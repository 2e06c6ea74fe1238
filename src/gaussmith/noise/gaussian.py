"""Exact normal integers, the fast path: a block of points at a time in numpy, the rare doubtful one by `decide`.

A point is thrown evenly into an area that covers the bell curve c · e^{−z²/2}, and kept when it lies below the curve:
its place z is then exactly a standard normal. The area is made of 2^16 cells (`cells`). A word of 64 random bits is a
cell and the first 48 binary digits of the place within it; in 31 of 32 cells every point lies below the curve, and
nothing more is needed. In a cell that the curve crosses a second word gives the height of the point.

Why the law is exact although few digits are drawn: whether a point is kept is a function of two real numbers. Here it
is read off their first digits only when all reals that begin with these agree (a sure cell; a height farther from the
computed curve than `ERROR`); otherwise `decide` draws further digits of the same reals until they agree. So each point
is decided as the reals would decide it, and the result needs no digit of a place beyond the first 48: it is the exact
function of the exact reals. See docs/decisions.md (2).
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gaussmith.errors import GaussmithError, RequestError
from gaussmith.noise.keystream import Keystream
from gaussmith.noise.reals import Words, enclose_exponential

# Cells that cover the bell curve: 2^16 rectangles of one area, each told by a number of 16 bits.
#
# The curve is c · e^{−z²/2} with c = `HEIGHT`. From −6 to 6 it is cut into bins, bin j from j/32 to (j+1)/32, and
# each bin into cells of height 1, at level l from l to l+1:
#
# - sure cells lie below the curve. They come first, and nothing of a point in one need be known but its bin; - edge
# cells are crossed by the curve. Whatever lies below it and in no sure cell lies in one of these; - one cell stands
# for all that lies beyond ±6: `decide.settle_far` says how; - the numbers that are left stand for cells above the
# curve, in which no point is accepted.

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


# The exact slow path: one point decided by integer arithmetic and as many random bits as it takes.
#
# A point has a place z and a height, both uniform reals of which some binary digits are drawn. Whether it lies below
# the curve c · e^{−z²/2} is decided between integers that enclose both sides. While the enclosures overlap, place and
# height are given 64 more random digits and the enclosures are made 64 bits narrower, which leaves a doubt about once
# in 2^55. There is no floating point here and no last place, so nothing is truncated.

DIGITS = 48
"""Binary digits of a place within its bin, and of a height within its cell, with which a decision begins."""

WORD = 64
GUARD = 16
"""Enclosures are this many bits narrower than the random real they are compared with."""

LARGEST = 126
"""The largest whole part that is returned, which keeps noise of 52 binary places below 2^59."""


def settle(place: int, level: int, height: int, more: Callable[[], int]) -> bool:
    """Whether a point of an edge cell lies below the curve: what the exact reals say.

    Its place begins with `place`, in units of 2^−53; its height above the bottom of the cell with `height`, in units of
    2^−48; `more()` gives the next random word when they must be known more precisely.

    >>> settle(0, HEIGHT - 1, 0, more=lambda: 0), settle(31 << DIGITS, HEIGHT - 1, 0, more=lambda: 0)
    (True, False)
    """
    return decide(place, (level << DIGITS) + height, DIGITS, PLACES, more)


def settle_far(height: int, more: Callable[[], int]) -> int | None:
    """The place of a point of the far cell in units of 2^−53, or None when it is not below the curve.

    The cell is cut into strips without end: to the right and to the left one for each whole part k = 6, 7, …, with a
    width of 1 and a height of 2^−(k+1). All of them together are as large as one cell, and the curve is below the top
    of each. Coins choose a strip by its area; then the point is decided as any other.

    >>> coins = iter([1, 1, 0, 1, 0, 0])  # k = 8, to the left, then the digits of the place and the height
    >>> settle_far(0, more=lambda: next(coins)) == -(8 << 53) - 1
    True
    """
    if height >> DIGITS - 9:  # above 2^−9 of its height a strip is above the curve, whichever it is
        return None
    k = FAR
    while more() & 1:
        k += 1
    left = more() & 1
    place, height = k << WORD | more(), height << WORD - DIGITS | more() >> DIGITS
    if not decide(place, height, WORD, 0, more, lowered=k + 1):
        return None
    if k > LARGEST:
        raise GaussmithError(
            "a draw beyond 127 standard deviations",
            "noise must fit in 64 bits",
            "draw again: this never happens by chance",
            code="draw-too-large",
        )
    place >>= WORD - DIGITS - PLACES
    return ~place if left else place


def decide(place: int, height: int, digits: int, places: int, more: Callable[[], int], lowered: int = 0) -> bool:
    """Whether 2^−lowered · y < c · e^{−z²/2}, where z begins with `place` and y with `height`.

    Both are known to `digits` binary digits and go on with `more()`; z is in units of 2^−places.

    >>> decide(0, 0, 64, 0, more=lambda: 0)
    True
    """
    while True:
        # z lies between `place` and `place` + 1, both on one side of 0, and the exponent z²/2 grows with its size.
        nearest, farthest = sorted((place * place, (place + 1) ** 2))
        shift, precision = 2 * (digits + places) + 1, digits + lowered + GUARD
        low, _ = enclose_exponential(farthest, shift, precision)
        if height + 1 << GUARD <= HEIGHT * low:
            return True
        _, high = enclose_exponential(nearest, shift, precision)
        if height << GUARD >= HEIGHT * high:
            return False
        place, height, digits = place << WORD | more(), height << WORD | more(), digits + WORD


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
