"""Published estimators of means of vectors, written from their formulas, with honest accounting at ρ-zCDP.

All of them are for replace-one, need a public range of the values and know the number of records. CoinPress also takes
the covariance to be the identity. See `gaussmith.papers` for what each claims and what its published code spends.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import hadamard

Array = Any
Generator = np.random.Generator


def quantile_of(values: Array, low: float, high: float, q: float, rho: float, rng: Generator, change: float) -> float:
    """One quantile by the exponential mechanism on ranks, of range √(8ρ); a person moves ranks by `change`."""
    a = np.concatenate([[low], np.sort(np.clip(values, low, high)), [high]])
    n = len(values)
    gaps = np.clip(np.diff(a), 1e-30, None)
    weight = np.log(gaps) - np.sqrt(8 * rho) / (2 * change) * np.abs(np.arange(n + 1) - q * n)
    i = int(np.argmax(weight + rng.gumbel(size=n + 1)))
    return float(rng.uniform(a[i], a[i + 1]))


def plan(x: Array, rho: float, bounds: tuple[float, float], rng: Generator, published: bool = False) -> Array:
    """PLAN. Medians and variances by quantiles with ρ/4, the norm to clip at with 3ρ/16, noise with the rest.

    As `published`, every record is there three times (moved by ±0.1) at a third of the budget, and the rank of a
    median is taken to move by ½ where a record is replaced.
    """
    n, d = x.shape
    low, high = bounds
    beta, each, data = 0.1, 0.25 * rho / d, x
    if published:
        data, each = np.clip(np.concatenate([x + 0.1, x, x - 0.1]), low, high), each / 3
    half = 0.5 if published else 1.0
    centre = np.array([quantile_of(column, low, high, 0.5, each / 4, rng, half) for column in data.T])
    mixed = data[rng.permutation(len(data))][: len(data) // 2 * 2]
    squares = 0.5 * (mixed[::2] - mixed[1::2]) ** 2
    top = 0.5 * (high - low) ** 2
    found = np.array([quantile_of(column, 0.0, top, 0.5, 0.75 * each, rng, half) for column in squares.T])
    sd = np.clip(np.sqrt(found / (1 - 2 / 9) ** 3), 1e-30, None)
    spread = 2 * sd
    scale = 1 / np.sqrt(spread + spread.mean())
    z = (x - centre) * scale
    norms = np.linalg.norm(z, axis=1)
    left = 0.75 * rho
    steps = np.log(high - low)
    out = (np.sqrt(n) + np.sqrt(steps / 2 * np.log(steps / beta) / (left / 4))) / n
    limit = np.sqrt(np.log(d) * np.log(1 / beta) * sd.sum())
    q = 1 - out
    clip = quantile_of(norms, 0.0, limit, q, left / 4, rng, max(q, 1 - q) if published else 1.0)
    kept = z * np.minimum(1, clip / norms)[:, None]
    return (kept.mean(axis=0) + rng.normal(0, np.sqrt(2 * clip**2 / (0.75 * left)) / n, d)) / scale + centre


def iome(x: Array, rho: float, bounds: tuple[float, float], rng: Generator, steps: int = 20) -> Array:
    """Huang, Liang and Yi: rotate, centre at medians found by noisy bisection, clip at a norm found alike."""
    n, d = x.shape
    size = 1 << (d - 1).bit_length()
    rotation = np.eye(size)
    for _ in range(3):
        rotation = rotation @ (_hadamard(size) * rng.choice([-1.0, 1.0], size))
    y = np.pad(x, ((0, 0), (0, size - d))) @ rotation.T
    low, high = (bound / np.sqrt(size) for bound in bounds)
    centre = _bisect(y, 0.5 * n, low, high, 0.25 * rho / size, steps, rng)
    z = y - centre
    norm_rho, rest = 0.0075 * rho, 0.7425 * rho
    norms = np.linalg.norm(z, axis=1)
    rank = int(n - 4 * np.sqrt(size / (2 * rest)) - 2 * np.sqrt(steps / (2 * norm_rho)))
    clip = _bisect(norms[:, None], rank, 0.0, bounds[1], norm_rho, steps, rng)[0]
    kept = z * np.minimum(1, clip / norms)[:, None]
    return ((kept.mean(axis=0) + rng.normal(0, 2 * clip / np.sqrt(2 * rest) / n, size) + centre) @ rotation)[:d]


@lru_cache(maxsize=8)
def _hadamard(size: int) -> Array:
    return hadamard(size) / np.sqrt(size)


def _bisect(x: Array, rank: float, low: float, high: float, rho: float, steps: int, rng: Generator) -> Array:
    d = x.shape[1]
    left, right = np.full(d, low), np.full(d, high)
    for _ in range(steps):
        middle = (left + right) / 2
        count = (x <= middle).sum(axis=0) + rng.normal(0, np.sqrt(steps / (2 * rho)), d)
        more = count <= rank
        left, right = np.where(more, middle, left), np.where(more, right, middle)
    return (left + right) / 2


SPLITS = {2: (1 / 4, 3 / 4), 3: (1 / 8, 1 / 8, 3 / 4), 4: (1 / 12, 1 / 12, 1 / 12, 3 / 4)}
"""CoinPress: the parts of ρ for t steps."""


def coinpress(x: Array, rho: float, radius: float, t: int, rng: Generator) -> Array:
    """CoinPress: t noisy clipped means, each in a smaller ball; the covariance is taken to be the identity."""
    n, d = x.shape
    centre, r = np.zeros(d), radius
    tail = np.sqrt(d + 2 * np.sqrt(d * np.log(100)) + 2 * np.log(100))
    for part in SPLITS[t]:
        clip = min(np.sqrt(r * r + 6 * r + tail * tail), r + tail)
        z = x - centre
        x = centre + z * np.minimum(1, clip / np.linalg.norm(z, axis=1))[:, None]
        sd = 2 * clip / n / np.sqrt(2 * part * rho)
        centre, r = x.mean(axis=0) + rng.normal(0, sd, d), np.sqrt(1 / n + sd * sd) * tail
    return centre
