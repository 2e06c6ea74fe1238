"""Correlated noise with the count: one draw shared by all sums, for records in [0, 1]^d, and for any box."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from gaussmith.checks import check_whole, checks_arguments
from gaussmith.errors import DomainError
from gaussmith.numerics.exact import Array
from gaussmith.papers.entry import UP, GaussianEntry, check_dimension, check_vector, claim
from gaussmith.papers.laws import Shared

MAX_CORNERS = 1 << 12
"""Limit on the corners that are checked."""


@checks_arguments
def correlated(
    *,
    dimension: int,
    epsilon: float,
    delta: float,
    lower: Any = 0.0,
    upper: Any = 1.0,
    count: bool = False,
    as_printed: bool = False,
) -> GaussianEntry:
    """The poster's noise for sums of records in [0, 1]^d under add-remove, its extension to any box, and the count.

        sum_j + z_j + η,  n + 2η:     Var z_j = (d + √d)/4,  Var η = (√d + 1)/4      (at μ = 1)
        any box:  T = Σ r_j + ‖c‖,  Var z_j = r_j T,  n̂ = n + η₀ with Var η₀ = T/‖c‖,  sum_j + z_j + c_j η₀

    Guarantee: with the count exactly μ; without it at most μ. `as_printed` uses Var η = √(d+1)/4, as in the poster's
    text: not private (errata, 5).

    >>> entry = correlated(dimension=16, epsilon=1, delta=1e-6)
    >>> (entry.standard_errors * entry.claimed.mu)[:2].round(6)
    array([2.5, 2.5])
    """
    d = check_dimension(dimension)
    low, high = _bounds("lower", lower, d), _bounds("upper", upper, d)
    if not (low < high).all():
        rule = "each lower bound must be below its upper bound"
        raise DomainError("lower and upper", rule, "swap or widen the bounds", code="lower-bound-not-below-upper")
    claimed = claim(epsilon, delta)
    c, r = (low + high) / 2, (high - low) / 2
    length = math.sqrt(math.fsum(c * c))
    T = math.fsum(r) + length
    scales, share = np.sqrt(r * T), math.sqrt(T / length) if length else 0.0
    if as_printed:
        if low.any() or (high != 1).any():
            what, rule = "as_printed=True with bounds", "the poster has [0, 1]^d only"
            raise DomainError(what, rule, "leave out the bounds", code="printed-form-with-bounds")
        share = 2 * math.sqrt(math.sqrt(d + 1) / 4)
    if count and not share:
        what, rule = "count=True for a box around zero", "its noise shares no part with the count"
        raise DomainError(what, rule, "use gaussmith.plan(…, count=True)", code="count-of-box-around-zero")
    scales, share = scales / claimed.mu * UP, share / claimed.mu * UP
    shares = c * share
    if count:
        noise = Shared(np.append(scales, 0.0), np.append(shares, share))
        true_mu = math.sqrt(math.fsum((r / scales) ** 2) + 1 / share**2)
    else:
        noise = Shared(scales, shares)
        true_mu = math.sqrt(_largest_cost(low, high, scales, shares, share))
    return GaussianEntry(
        name="correlated Gaussian" + (" as printed" if as_printed else ""),
        reference="Lebeda, Better Gaussian Mechanism using Correlated Noise (poster, 2024)",
        theorem="For records in [0, 1]^d under add-remove, one shared draw makes the error of each sum (√d + 1)/2, "
        "not √d (at μ = 1).",
        claimed=claimed,
        neighbours="add-remove",
        sound="no" if as_printed else "corrected",
        noise=noise,
        true_mu=true_mu,
    )


def _bounds(name: str, value: Any, d: int) -> Array:
    vector = check_vector(name, value, positive=False)
    if len(vector) not in (1, d):
        raise DomainError(
            f"{len(vector)} numbers in {name}",
            f"there are {d} coordinates",
            "give one number for all, or one per coordinate",
            code="numbers-do-not-match-coordinates",
            numbers=len(vector),
            name=name,
            coordinates=d,
        )
    return np.full(d, vector[0]) if len(vector) == 1 else vector


def _largest_cost(low: Array, high: Array, scales: Array, shares: Array, share: float) -> float:
    """max sᵀΣ⁻¹s over the corners of the box (a convex function is largest at one); Σ = diag(scales²) + shares sharesᵀ.

    By levels if all coordinates are equal, corner by corner if there are few; otherwise the bound with the count also
    released, which is never below the true value and barely above it.
    """
    d = len(low)
    a, g = 1 / scales**2, shares / scales**2
    bend = 1 / (1 + float(shares @ g))
    if np.ptp(low) == np.ptp(high) == 0:
        j = np.arange(d + 1)  # the number of coordinates at their upper bound
        total = j * high[0] + (d - j) * low[0]
        squares = j * high[0] ** 2 + (d - j) * low[0] ** 2
        return float((squares * a[0] - (g[0] * total) ** 2 * bend).max())
    if 2**d <= MAX_CORNERS:
        corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
        return float((corners**2 @ a - (corners @ g) ** 2 * bend).max())
    r = (high - low) / 2
    return math.fsum((r / scales) ** 2) + (1 / share**2 if share else 0.0)


# Correlated noise across found keys, and what it truly spends: it must not be used where the keys are not known.
#
# The keys that somebody has get noise of variance own + shared, the shared part common to all. Let a person have
# `new` keys of its own beside `shifted` of the `old` ones. With threshold 1 + t the truth is
#
#     κ = 1 − E Φ((t − √shared Z)/√own)^new
#     δ(ε) = 1 − E min(π(T), e^(ε − L)),    T = E[shared noise | old keys],  π(T) = E[Φ((t − η)/√own)^new | T]
#
# where L is the normal log-likelihood ratio of the old keys. Noise made for K keys in all is too small when there are
# more: how many keys there are is a property of the data, and no rule on one person's rows holds it.

_NODES = 400
"""Nodes of Gauss and Hermite: the integrands are smooth and bounded."""


def spent_on_keys(new: int, threshold: float, own: float, shared: float) -> float:
    """κ: the probability that a person alone in `new` keys shows one of them; `threshold` is t, above one person.

    >>> round(spent_on_keys(2, 19.59526586662716, 11.529727619464554, 8.152748584957214), 10)
    1e-05
    """
    z, w = _normal()
    z = z + threshold / math.sqrt(own + shared)  # where the integrand lives, far out
    weights = w * np.exp(-threshold / math.sqrt(own + shared) * (2 * z - threshold / math.sqrt(own + shared)) / 2)
    shown = -np.expm1(new * log_ndtr((threshold - math.sqrt(shared) * z) / math.sqrt(own)))
    return float(weights @ shown)


@checks_arguments
def delta_across_keys(
    epsilon: float, new: int, shifted: int, old: int, own: float, shared: float, threshold: float
) -> float:
    """The exact δ(ε) where a person with `new` keys of its own and `shifted` of the `old` ones is added."""
    whole = own + old * shared
    pull = shared / whole
    spread = pull * math.sqrt(old * whole)
    left = shared * own / whole  # the variance of the shared noise that the old keys leave open
    square = shifted / own - shared * shifted**2 / (own * whole)
    slope = pull * shifted / spread if spread > 0 else 0.0
    rest = max(square - slope * slope, 0.0)
    z, w = _normal()
    hidden = _hidden(new, threshold, own, left, spread * z)
    mean = square / 2 + slope * z
    s = math.sqrt(rest) if rest > 0 else 1e-12
    level = epsilon - np.log(hidden)
    kept = hidden * ndtr((level - mean) / s)
    kept += np.exp(epsilon - mean + rest / 2 + log_ndtr(-(level - mean + rest) / s))
    return float(1 - w @ kept)


def _hidden(new: int, threshold: float, own: float, left: float, pulled: Array) -> Array:
    """π(T): all new keys stay hidden, given what the old ones say of the shared noise."""
    z, w = _normal()
    noise = pulled[:, None] + math.sqrt(left) * z
    return np.asarray(np.exp(new * log_ndtr((threshold - noise) / math.sqrt(own))) @ w)


def _normal() -> tuple[Array, Array]:
    z, w = np.polynomial.hermite_e.hermegauss(_NODES // 2)
    return z, w / math.sqrt(2 * math.pi)


# Hierarchies, which the poster asks about: all nodes of a complete tree, answered from one correlated noise.
#
# A record is one of b^h leaves; an answer is the number of records below a node, for the nodes of all h + 1 levels.
# Noise of one size on each level's contrasts (what tells the children of a node apart) is the optimum (theory,
# statement 66); noise of its own for every level, as a tree of noisy histograms has it, is two to three times as
# much.


@checks_arguments
def tree_total(branching: int, levels: int) -> float:
    """The least total variance of all nodes at μ = 1, add-remove, when there are `levels` levels below the root.

        (Σ_l D_l √(Σ_{m ≥ l} b^−m))²,   D_0 = 1, D_l = b^l − b^{l−1}

    >>> round(tree_total(2, 6), 4), round(split_total(2, 6), 4)
    (250.8778, 619.9848)
    """
    b, h = _check(branching, levels)
    widths = [1] + [b**level - b ** (level - 1) for level in range(1, h + 1)]
    below = [math.fsum(float(b) ** -m for m in range(level, h + 1)) for level in range(h + 1)]
    return math.fsum(width * math.sqrt(rest) for width, rest in zip(widths, below, strict=True)) ** 2


@checks_arguments
def split_total(branching: int, levels: int) -> float:
    """The total when every level has noise of its own, at the best split of μ² over levels: (Σ_l √(b^l))²."""
    b, h = _check(branching, levels)
    return math.fsum(math.sqrt(b**level) for level in range(h + 1)) ** 2


def _check(branching: int, levels: int) -> tuple[int, int]:
    b = check_whole("branching", branching, 2, error=DomainError)
    return b, check_whole("levels", levels, 1, error=DomainError)
