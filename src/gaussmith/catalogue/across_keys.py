"""Correlated noise across found keys, and what it truly spends: it must not be used where the keys are not known.

The keys that somebody has get noise of variance own + shared, the shared part common to all. Let a person have `new`
keys of its own beside `shifted` of the `old` ones. With threshold 1 + t the truth is

    κ = 1 − E Φ((t − √shared Z)/√own)^new
    δ(ε) = 1 − E min(π(T), e^(ε − L)),    T = E[shared noise | old keys],  π(T) = E[Φ((t − η)/√own)^new | T]

where L is the normal log-likelihood ratio of the old keys. Noise made for K keys in all is too small when there are
more: how many keys there are is a property of the data, and no rule on one person's rows holds it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, ndtr

from gaussmith.numerics.linear import Array

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


def true_delta(epsilon: float, new: int, shifted: int, old: int, own: float, shared: float, threshold: float) -> float:
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
