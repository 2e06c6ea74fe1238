"""Exact normal integers, the fast path: a block of proposals at a time in numpy, the rare doubtful one by `decide`.

A proposal is three uniform reals U, X, V in [0, 1), of which the first 64 binary digits are drawn. U picks the whole
part k with probability ∝ e^{−k²/2}, X is the fraction, and the proposal is accepted when V < e^{−X(2k+X)/2}. Since

    e^{−k²/2} · e^{−X(2k+X)/2} = e^{−(k+X)²/2},

an accepted k + X is exactly |Z| for a standard normal Z. A fair bit used for nothing else gives the sign.

Why the law is exact although 64 digits are drawn: k and acceptance are functions of the three reals. Here they are
read off 64 digits only when all reals that begin with these digits agree (a word of U different from every threshold,
V farther from the computed exponential than `ERROR`); otherwise `decide` draws further digits of the same reals until
they agree. So each proposal is decided as the reals would decide it, and the result needs no digit of X beyond the
first 57: it is the exact function of the exact reals. See docs/decisions/0002-exact-normal-integers.md.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gaussmith.errors import GaussmithError, RequestError
from gaussmith.noise.decide import settle
from gaussmith.noise.keystream import Keystream

Words = Callable[[int], npt.NDArray[np.uint64]]

DEFAULT_BITS = 52
MOST_BITS = 56
LARGEST = 126
"""The largest whole part that is returned: 127 · 2^56 fits a signed 64-bit integer."""

BLOCK = 1 << 14
"""Proposals at a time: their buffers stay in the processor's second cache."""

ERROR = 2.0**-40
"""No computed acceptance probability is this far from the true one; the derivation is at `_compute_margins`."""

THRESHOLDS = (
    0x92025B19482CE72B,
    0xEA91798547A0EF93,
    0xFE5415C6E9DA4BAE,
    0xFFF3523319908C11,
    0xFFFFDC31B8EF5942,
    0xFFFFFFDAA2D72344,
    0xFFFFFFFFF1A20DA4,
    0xFFFFFFFFFFFDF76C,
    0xFFFFFFFFFFFFFFE4,
    0xFFFFFFFFFFFFFFFF,
)
"""floor(2^64 · P(k ≤ j)) for j = 0 … 9. A word equal to one of them is decided by further digits; the last is the
largest word there is, so whatever lies beyond k = 9 is reached through it."""

_THRESHOLD_BELOW = np.array((0xFFFFFFFFFFFFFFFF, *THRESHOLDS), dtype=np.uint64)
# Entry 0 stands for "none": words with k = 0 lie below the first threshold and never equal it.


def normal_integers(size: int, bits: int = DEFAULT_BITS) -> npt.NDArray[np.int64]:
    """Independent integers with exactly the law of a rounded standard normal, from fresh randomness at every call.

        round(2^bits · Z),   Z ~ N(0, 1)

    Guarantee: given uniform random bits the law is exact, not approximate: added to an integer y the result is the
    continuous normal 2^bits · Z + y, rounded. A draw beyond 127 standard deviations (probability below 2^−11000)
    does not fit the result and raises.
    Requires (checked): size ≥ 0, 0 ≤ bits ≤ 56. Requires (owed): what `Keystream` requires; a numpy exponential with
    error below 2^−41 on [−10, 0].
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
        rule = f"noise is drawn to between 0 and {MOST_BITS} binary places"
        raise RequestError(f"bits={bits}", rule, f"use bits={DEFAULT_BITS}", code="noise-bits-out-of-range", bits=bits)
    return _draw(size, bits, Keystream().words)


class _Desk:
    """Room for one block of proposals, used again for every block of a call: fresh pages cost more than the sums."""

    def __init__(self, size: int) -> None:
        self.whole = np.empty(size, dtype=np.uint8)
        self.exponent = np.empty(size)
        self.real = np.empty(size)
        self.flag = np.empty(size, dtype=np.bool_)
        self.doubtful = np.empty(size, dtype=np.bool_)


def _draw(size: int, bits: int, words: Words) -> npt.NDArray[np.int64]:
    """The first `size` accepted proposals made of `words`, signed and rounded.

    Words are taken block by block: n for U, n for X, n for V in one request; one at a time for further digits; then
    one bit for the sign of each accepted proposal.
    """
    noise = np.empty(size, dtype=np.int64)
    n = min(BLOCK, size + size // 2 + 16)  # about 1.4 proposals make one draw
    desk = _Desk(n)
    filled = 0
    while filled < size:
        u, x, v = words(3 * n).reshape(3, n)
        whole, accepted = _judge(u, x, v, words, desk)
        chosen = np.flatnonzero(accepted)[: size - filled]
        k = whole.take(chosen).astype(np.int64)
        fraction = x.take(chosen)
        # floor(2^bits X + ½): keep one binary place more than is asked for, add 1 there, drop it.
        fraction >>= np.uint64(63 - bits)
        fraction += np.uint64(1)
        fraction >>= np.uint64(1)
        k <<= bits
        k += fraction.view(np.int64)
        count = len(chosen)
        minus = np.unpackbits(words(-(-count // 64)).view(np.uint8), count=count).view(np.int8)
        np.multiply(k, 1 - 2 * minus, out=noise[filled : filled + count])
        filled += count
    return noise


def _judge(
    u: npt.NDArray[np.uint64],
    x: npt.NDArray[np.uint64],
    v: npt.NDArray[np.uint64],
    words: Words,
    desk: _Desk,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """The whole part of each proposal, and whether it is accepted, exactly as the reals decide."""
    whole, flag, doubtful = desk.whole, desk.flag, desk.doubtful
    whole.fill(0)
    # Ten comparisons of every word: no branch and no table look-up whose time would tell the size of k.
    for threshold in THRESHOLDS:
        whole += np.greater_equal(u, np.uint64(threshold), out=flag).view(np.uint8)
    nearest = _THRESHOLD_BELOW.take(whole, out=desk.real.view(np.uint64), mode="clip")
    np.equal(u, nearest, out=doubtful)
    margins = _compute_margins(whole, x, v, desk)
    accepted = np.greater(margins, 0, out=flag)
    doubtful |= np.abs(margins, out=margins) <= ERROR
    for i in np.flatnonzero(doubtful):
        k = settle(int(u[i]), int(x[i]), int(v[i]), more=lambda: int(words(1)[0]))
        accepted[i] = k is not None
        whole[i] = _fit(k or 0)
    return whole, accepted


def _compute_margins(
    whole: npt.NDArray[np.uint8], x: npt.NDArray[np.uint64], v: npt.NDArray[np.uint64], desk: _Desk
) -> npt.NDArray[np.float64]:
    """e^{−X(2k+X)/2} − V in doubles, each within `ERROR` of the real difference (k ≤ 9).

    Rounding, in units of 2^−53: X as a double, with its missing digits, is off by less than 1, which moves the
    exponential by less than 9 (its slope (k+X)·e^{−X(2k+X)/2} is at most max(k, 1)); sum and product in the exponent
    by less than 1 (r·e^{−r} < ½); V by less than 1; the subtraction by at most ½. Together below 2^−49: nearly all of
    `ERROR`, some four thousand units in the last place, is left to numpy's exponential.
    """
    minus_x = np.multiply(x, -(2.0**-64), out=desk.real)
    exponent = np.multiply(minus_x, -0.5, out=desk.exponent)
    exponent += whole
    exponent *= minus_x
    margins = np.exp(exponent, out=exponent)
    margins -= np.multiply(v, 2.0**-64, out=desk.real)
    return margins


def _fit(whole: int) -> int:
    if whole > LARGEST:
        raise GaussmithError(
            "a draw beyond 127 standard deviations",
            "noise must fit 64 bits",
            "draw again: this never happens by chance",
            code="draw-too-large",
        )
    return whole
