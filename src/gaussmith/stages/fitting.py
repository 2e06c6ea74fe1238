"""Fitting laws to noisy histograms of many coordinates: a matched filter, with a prior learned across coordinates.

A hypothesis h says which fraction p_hb of the people lies in each cell b. With noise of one standard deviation in all
cells, the log-likelihood of the noisy cells y_j of coordinate j is, up to a constant,

    ℓ_jh = −‖y_j − n p_h‖²/(2 sd²).

The prior over hypotheses is the one that makes all coordinates together most likely, found by EM. It is what keeps a
coordinate with an unlucky cell far out from being located there. Everything here is post-processing of noisy numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gaussmith.stages.laws import Law
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]

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


def make_hypotheses(edges: Array, laws: Sequence[Law], means: Array, sds: Array) -> Hypotheses:
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

    >>> from gaussmith.stages.laws import NORMAL
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
