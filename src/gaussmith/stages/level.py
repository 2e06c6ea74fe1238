"""Where to clip: the level of Q = Σ b_j² (x_j − c_j)² at which noise and clipping together cost least.

With cut(Q) = (1 − √(α/Q))₊, the part of a record's offset that clipping at level α takes away, the weighted
squared error of the summed vector is taken to be

    noise(α) + n E[cut² Q u] + n² Σ w_j τ_j² E[cut]² + n² Σ w_j shift_j² + κ (n E[cut √(Q u)])².

u(Q) is the weighted squared length of a record per unit of Q. Each expectation is the larger of two: the one measured
by a noisy histogram of Q, and the one of made-up records with the laws that were fitted to the columns. Either alone is
misled, the first by its noise, the second by columns that move together. shift_j is what clipping takes from the mean
of skewed laws. The last term guards against skew that nothing shows: Q does not tell on which side a record lies.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gaussmith.stages.laws import Law, quantiles
from gaussmith.stages.scale import Scaling
from gaussmith.stages.zoom import Fit
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]

EDGES: Array = 2.0 ** np.arange(-2.0, 6.01, 0.25)
"""Of Q: 33 edges, 34 cells."""
MIDDLES: Array = np.concatenate([[EDGES[0] / 1.2], np.sqrt(EDGES[1:] * EDGES[:-1]), [EDGES[-1] * 1.2]])
LEVELS: Array = 2.0 ** np.arange(-2.0, 5.01, 0.0625)
FAR = 4.0
"""A measured cell beyond so many times the level counts half in E[cut], and not in the loss: it is mostly noise."""
GUARD = 0.0025
"""κ unless the data are declared normal. Since skewed laws are fitted, 0.01 gains nothing on skewed data, and it costs
10 % on normal data at d = 16."""
RECORDS = 2048
"""Made-up records; each comes with its mirror image, in which every quantile u is 1 − u."""


@dataclass(frozen=True, eq=False)
class Costs:
    """What each level costs, in squared error of the summed vector."""

    noise: Array
    loss: Array
    drift: Array
    skew: Array
    guard: Array

    @property
    def total(self) -> Array:
        return self.noise + self.loss + self.drift + self.skew + self.guard


@dataclass(frozen=True, eq=False)
class Level:
    """The chosen level, and what it costs: the squared error of the summed vector, if the laws fit."""

    value: float
    cost: float


def made_up_records(weights: Array, laws: tuple[Law, ...], records: int = RECORDS) -> Array:
    """Records with mean 0 and standard deviation 1 in every coordinate, 2·records × coordinates; always the same.

    Column j has each of the quantiles of its law once, in an order given by a fixed mixing of whole numbers.
    """
    nodes = weights @ quantiles(laws, 2 * records)
    size = len(weights)
    order = np.argsort(_mixed(np.arange(size * records, dtype=np.uint64)).reshape(size, records), axis=1)
    upper = _mixed(np.arange(size * records, 2 * size * records, dtype=np.uint64)).reshape(size, records) % 2 == 1
    place = np.where(upper, 2 * records - 1 - order, order)  # one of each pair of mirrored quantiles
    first = np.take_along_axis(nodes, place, axis=1)
    second = np.take_along_axis(nodes, 2 * records - 1 - place, axis=1)
    return np.concatenate([first, second], axis=1).T


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Whole numbers mixed by multiplications and shifts (the finaliser of splitmix64)."""
    x = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def lengths_per_unit(scaling: Scaling, values: Array) -> Array:
    """u(q) = Σ w_j share_j/b_j² at every value of Q; share_j ∝ λ_j/(1 − 2λ_j s) with s the saddle point of q."""
    shares = scaling.shares
    top = float(shares.max())
    low, high = np.full(len(values), -1e6 / top), np.full(len(values), 0.5 / top * (1 - 1e-9))
    for _ in range(60):
        s = (low + high) / 2
        below = (shares / (1 - 2 * shares * s[:, None])).sum(axis=1) < values
        low, high = np.where(below, s, low), np.where(below, high, s)
    parts = shares / (1 - 2 * shares * s[:, None])
    return np.asarray((parts / parts.sum(axis=1, keepdims=True)) @ (scaling.weights * scaling.multipliers**-2.0))


def costs(
    cells: Array | None, fit: Fit, scaling: Scaling, laws: tuple[Law, ...], mu: float, public: bool, guard: float
) -> Costs:  # fmt: skip
    """What every level of LEVELS costs; `cells` are the noisy cells of Q, `public` says whether the people are."""
    n, weights = fit.people, scaling.weights
    within = float(weights @ fit.within**2)
    z = made_up_records(fit.laws, laws)
    Q = z**2 @ scaling.shares
    squares = z**2 @ (weights * fit.reach**2)
    cut = np.maximum(1 - np.sqrt(LEVELS[:, None] / Q), 0.0)
    loss, given, blind = (cut**2 * squares).mean(axis=1), cut.mean(axis=1), (cut * np.sqrt(squares)).mean(axis=1)
    shift = cut @ z / len(z) * fit.reach
    if cells is not None:
        fraction = cells / n
        unit = lengths_per_unit(scaling, MIDDLES)
        lost = np.maximum(1 - np.sqrt(LEVELS[:, None] / MIDDLES), 0.0)
        near = MIDDLES < FAR * LEVELS[:, None]
        loss = np.maximum(loss, np.where(near, lost**2 * MIDDLES * unit, 0.0) @ fraction)
        given = np.maximum(given, np.where(near, lost, 0.5) @ fraction)
        blind = np.maximum(blind, (np.where(near, lost, 0.5) * np.sqrt(MIDDLES * unit)) @ fraction)
    root = np.sqrt(LEVELS * scaling.noise)
    noise = (2 * root / mu) ** 2 if public else ((root + np.sqrt(within)) / mu) ** 2
    return Costs(noise, n * loss, n**2 * within * given**2, n**2 * (shift**2 @ weights), guard * (n * blind) ** 2)


def choose_level(
    cells: Array | None, fit: Fit, scaling: Scaling, laws: tuple[Law, ...], mu: float, public: bool,
    guard: float = GUARD,
) -> Level:  # fmt: skip
    """The level of least cost, by the noisy cells of Q; `mu` is what is left for the sum."""
    total = costs(cells, fit, scaling, laws, mu, public, guard).total
    best = int(np.argmin(total))
    return Level(float(LEVELS[best]), float(total[best]))
