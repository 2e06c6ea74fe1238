"""Where the columns of a vector mean lie and how far they spread, from noisy counts in cells: locate, then zoom.

- The laws a coordinate may have, with mean 0 and standard deviation 1: normal, heavy-tailed, flat and skewed ones.
- Their fit to noisy histograms: a matched filter, with a prior learned across coordinates.
- `locate`, stage 1: cells between powers of two.
- `zoom`, stages 2 and 3: ten equal cells over centre ± 2.5 widths, and two open ends.

All of it is computed from noisy numbers. Accuracy depends on how well one of the laws fits, privacy never does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import cast

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.exact import Array


def _special() -> ModuleType:
    """The special functions, imported when a law is used: they would double the start-up of every command."""
    import scipy.special

    return cast(ModuleType, scipy.special)


@dataclass(frozen=True)
class ValueLaw:
    """A law with mean 0 and standard deviation 1: its distribution function, and the inverse of that."""

    name: str
    below: Callable[[Array], Array]
    quantile: Callable[[Array], Array]

    @property
    def mirrored(self) -> ValueLaw:
        """The law of −X."""
        return ValueLaw(f"mirrored {self.name}", lambda x: 1 - self.below(-x), lambda u: -self.quantile(1 - u))


def gamma_law(shape: float) -> ValueLaw:
    """The gamma law with this shape, whose skewness is 2/√shape.

    >>> gamma_law(1.0).below(np.array([-1.0, 0.0])).round(6)
    array([0.      , 0.632121])
    """
    root = math.sqrt(shape)
    return ValueLaw(
        f"gamma {shape:g}",
        lambda x: np.asarray(_special().gammainc(shape, np.maximum(shape + root * x, 0.0))),
        lambda u: np.asarray((_special().gammaincinv(shape, u) - shape) / root),
    )


def lognormal_law(spread: float) -> ValueLaw:
    """The law of e^(spread · Z)."""
    mean = math.exp(spread**2 / 2)
    sd = mean * math.sqrt(math.expm1(spread**2))

    def below(x: Array) -> Array:
        y = mean + sd * x
        return np.where(y > 0, _special().ndtr(np.log(np.maximum(y, 1e-300)) / spread), 0.0)

    return ValueLaw(f"lognormal {spread:g}", below, lambda u: (np.exp(spread * _special().ndtri(u)) - mean) / sd)


NORMAL = ValueLaw("normal", lambda x: np.asarray(_special().ndtr(x)), lambda u: np.asarray(_special().ndtri(u)))
HEAVY = ValueLaw(
    "t with 3 degrees of freedom",
    lambda x: np.asarray(_special().stdtr(3, x * math.sqrt(3))),
    lambda u: np.asarray(_special().stdtrit(3, u) / math.sqrt(3)),
)
FLAT = ValueLaw(
    "uniform",
    lambda x: np.clip(0.5 + x / math.sqrt(12), 0.0, 1.0),
    lambda u: math.sqrt(12) * (u - 0.5),
)
_SKEWED = (gamma_law(4.0), gamma_law(1.0), lognormal_law(1.0))

NORMAL_ONLY = (NORMAL,)
ANY = (NORMAL, HEAVY, FLAT, *_SKEWED, *(law.mirrored for law in _SKEWED))


@lru_cache(maxsize=8)
def quantiles(laws: tuple[ValueLaw, ...], nodes: int) -> Array:
    """The quantiles of each law at (i + ½)/nodes, laws × nodes, adjusted to mean 0 and standard deviation 1 exactly."""
    u = (np.arange(nodes) + 0.5) / nodes
    found = np.array([law.quantile(u) for law in laws])
    found -= found.mean(axis=1, keepdims=True)
    found /= np.sqrt((found * found).mean(axis=1, keepdims=True))
    found.flags.writeable = False
    return found


# Fitting laws to noisy histograms of many coordinates: a matched filter, with a prior learned across coordinates.
#
# A hypothesis h says which fraction p_hb of the people lies in each cell b. With noise of one standard deviation in
# all cells, the log-likelihood of the noisy cells y_j of coordinate j is, up to a constant,
#
#     ℓ_jh = −‖y_j − n p_h‖²/(2 sd²).
#
# The prior over hypotheses is the one that makes all coordinates together most likely, found by EM. It is what keeps
# a coordinate with an unlucky cell far out from being located there.

PRUNED = 0.02
"""A hypothesis whose prior weight is below this part of one coordinate's, relative to the best, is dropped …"""
FEWEST_PRUNED = 8
"""… if there are at least so many coordinates."""
LEAST = 1e-300
ROUNDS_OF_PEOPLE = 3


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Laws with a mean and a standard deviation each, and the fraction of people that each has in every cell."""

    means: Array
    sds: Array
    laws: npt.NDArray[np.int64]
    fractions: Array
    """Hypotheses × cells."""


def make_hypotheses(edges: Array, laws: Sequence[ValueLaw], means: Array, sds: Array) -> Hypotheses:
    """Every law with every mean and standard deviation (given in pairs); the outer cells are open."""
    fractions = []
    for law in laws:
        below = law.below((edges[None, :] - means[:, None]) / sds[:, None])
        ends = np.zeros((len(means), 1)), np.ones((len(means), 1))
        fractions.append(np.diff(np.concatenate([ends[0], below, ends[1]], axis=1), axis=1))
    which = np.repeat(np.arange(len(laws)), len(means))
    return Hypotheses(np.tile(means, len(laws)), np.tile(sds, len(laws)), which, np.concatenate(fractions))


def fit(cells: Array, people: float, sd: float, hypotheses: Hypotheses, rounds: int) -> Array:
    """The posterior weight of every hypothesis for every coordinate; cells is coordinates × cells.

    >>> from gaussmith.papers.locating import NORMAL
    >>> two = make_hypotheses(np.array([0.0]), [NORMAL], np.array([-9.0, 9.0]), np.ones(2))
    >>> fit(np.array([[98.0, 3.0]]), 100.0, 5.0, two, rounds=1).round(6)
    array([[1., 0.]])
    """
    P = hypotheses.fractions
    size, kinds = len(cells), int(hypotheses.laws.max()) + 1
    log = (people * (cells @ P.T) - people**2 / 2 * (P * P).sum(axis=1)) / sd**2
    log -= log.max(axis=1, keepdims=True)
    likely = np.exp(log)
    prior = np.full(len(P), 1 / len(P))
    if size > 1:
        for _ in range(rounds):
            total = likely @ prior
            prior = prior * (likely.T @ (1 / np.maximum(total, LEAST))) / size
            prior = _factored(prior / prior.sum(), kinds)
    if size >= FEWEST_PRUNED:
        prior = np.where(prior < PRUNED / size * prior.max(), 0.0, prior)
    posterior = likely * prior + LEAST
    return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))


def _factored(prior: Array, kinds: int) -> Array:
    """The prior as a product: which law a column has tells nothing of where it lies. It is the M step of that model."""
    table = prior.reshape(kinds, -1)
    return np.asarray(np.outer(table.sum(axis=1), table.sum(axis=0)).ravel())


def fit_people(cells: Array, guess: float, sd: float, hypotheses: Hypotheses, rounds: int) -> tuple[Array, float]:
    """The posterior, and the number of people in cells, fitted along with the rest.

    Given what the laws expect, n̂ = Σ y·p̄ / Σ p̄·p̄ is the best linear estimate of the number.
    """
    people = guess
    for _ in range(ROUNDS_OF_PEOPLE):
        expected = fit(cells, people, sd, hypotheses, rounds // 2) @ hypotheses.fractions
        people = max(float((cells * expected).sum() / (expected * expected).sum()), 1.0)
    return fit(cells, people, sd, hypotheses, rounds), people


# Stage 1. The edges are ±2^k, so a record's cell is decided by exact comparisons; the middle cell holds 0 and the outer
# cells are open.

LEAST_POWER, LARGEST_POWER = -20, 40
POWERS = np.ldexp(1.0, np.arange(LEAST_POWER, LARGEST_POWER + 1))
LOCATING_EDGES: Array = np.concatenate([-POWERS[::-1], POWERS])
"""122 edges, 123 cells."""
OFFSETS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)
"""|mean|/sd of the hypotheses."""
LOCATING_ROUNDS = 40
NEAR = 8.0
"""Hypotheses whose standard deviation differs by this factor at most, and whose means by so many of them, are near."""
LEAST_SCORE = 6.0
"""Φ⁻¹(1 − 10⁻⁶/1 000): below it the best of some thousand hypotheses may fit nothing but noise."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Of every coordinate a centre and a width (one standard deviation, uncertainty included); and the people."""

    centre: Array
    width: Array
    people: float


@lru_cache(maxsize=1)
def log_hypotheses() -> Hypotheses:
    """Normal laws with sd = 2^(b/2) over the whole range and a mean of up to 64 of them."""
    sds = 2.0 ** np.arange(LEAST_POWER + 1, LARGEST_POWER - 1, 0.5)
    offsets = np.array(sorted({s * r for r in OFFSETS for s in (-1.0, 1.0)}))
    means, spread = (offsets[None, :] * sds[:, None]).ravel(), np.repeat(sds, len(offsets))
    return make_hypotheses(LOCATING_EDGES, NORMAL_ONLY, means, spread)


def locate(cells: Array, people: float, sd: float) -> Frame:
    """The frame of every coordinate, from noisy cells (coordinates × 123) with noise of standard deviation `sd`.

    `people` is a guess of how many there are.
    """
    known = log_hypotheses()
    weights, found = fit_people(cells, people, sd, known, LOCATING_ROUNDS)
    weights = _near_the_best(weights, known)
    centre = weights @ known.means
    spread = weights @ (known.means**2 + known.sds**2) - centre * centre
    return Frame(centre, np.sqrt(np.maximum(spread, 1e-300)), found)


def _near_the_best(weights: Array, known: Hypotheses) -> Array:
    """The weights of hypotheses near the likeliest one of each column, adding up to 1.

    Hypotheses reach up to 2^45: a weight of 10⁻⁹ far away would move a mean over all of them.
    """
    best = weights.argmax(axis=1)
    mean, sd = known.means[best][:, None], known.sds[best][:, None]
    like = (known.sds >= sd / NEAR) & (known.sds <= sd * NEAR)
    near = like & (np.abs(known.means - mean) <= NEAR * np.maximum(known.sds, sd))
    kept = np.where(near, weights, 0.0)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def is_found(cells: Array, sd: float) -> bool:
    """Whether the cells of most columns hold more people than noise would show once in about 10⁶ columns.

    The largest matched filter of a column, in standard deviations of its noise, is compared with LEAST_SCORE.
    """
    P = log_hypotheses().fractions
    scores = cells @ (P / np.linalg.norm(P, axis=1, keepdims=True)).T / sd
    return bool(np.median(scores.max(axis=1)) > LEAST_SCORE)


ZOOM_EDGES: Array = np.linspace(-2.5, 2.5, 11)
"""In widths from the centre: 11 edges, 12 cells."""
ZOOM_ROUNDS = 15
WIDER = 1.3
"""Grid and prior make the posterior of a mean too narrow; its standard deviation is widened by this."""
FLOOR = 0.05
"""The least uncertainty of a mean in standard deviations: with none at all the count would get no budget."""


@dataclass(frozen=True, eq=False)
class Fit:
    """What is known of every coordinate after a zoom."""

    mean: Array
    sd: Array
    uncertainty: Array
    """One standard deviation of the mean."""
    laws: Array
    """Coordinates × laws: the weight of each law."""
    people: float

    @property
    def frame(self) -> Frame:
        """Where to look next."""
        return Frame(self.mean, np.hypot(self.sd, self.uncertainty), self.people)

    @property
    def within(self) -> Array:
        """τ_j: how far the mean may lie from the one that was found."""
        return np.hypot(WIDER * self.uncertainty, FLOOR * self.sd)

    @property
    def reach(self) -> Array:
        """√(σ_j² + τ_j²): how far a value lies from the mean that was found."""
        return np.hypot(self.sd, self.within)


@lru_cache(maxsize=2)
def zoom_hypotheses(laws: tuple[ValueLaw, ...]) -> Hypotheses:
    """Means and standard deviations in widths from the centre."""
    means, logs = np.meshgrid(np.linspace(-2, 2, 41), np.linspace(-4, 1.5, 23))
    return make_hypotheses(ZOOM_EDGES, laws, means.ravel(), 2.0 ** logs.ravel())


def edges_around(frame: Frame) -> Array:
    """The edges of every coordinate, coordinates × 11."""
    return np.asarray(frame.centre[:, None] + frame.width[:, None] * ZOOM_EDGES)


def zoom(cells: Array, frame: Frame, sd: float, laws: tuple[ValueLaw, ...] = ANY) -> Fit:
    """Mean, standard deviation and kind of law of every coordinate, from noisy cells (coordinates × 12)."""
    known = zoom_hypotheses(laws)
    weights, people = fit_people(cells, frame.people, sd, known, ZOOM_ROUNDS)
    mean = weights @ known.means
    variance = np.maximum(weights @ known.means**2 - mean * mean, 0.0)
    spread = np.exp(weights @ np.log(known.sds))
    kinds = np.stack([weights[:, known.laws == i].sum(axis=1) for i in range(len(laws))], axis=1)
    return Fit(frame.centre + frame.width * mean, frame.width * spread, frame.width * np.sqrt(variance), kinds, people)
