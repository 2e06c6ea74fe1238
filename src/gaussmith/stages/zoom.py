"""A closer look at every column: noisy counts in cells around the frame found before, fitted by laws of several kinds.

Stages 2 and 3 of a mean of vectors of which nothing is known: ten equal cells over centre ± 2.5 widths, and two open
ends.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gaussmith.stages.fitting import Hypotheses, fit_people, make_hypotheses
from gaussmith.stages.laws import ANY, Law
from gaussmith.stages.locate import Frame
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]

EDGES: Array = np.linspace(-2.5, 2.5, 11)
"""In widths from the centre: 11 edges, 12 cells."""
ROUNDS = 15
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
def zoom_hypotheses(laws: tuple[Law, ...]) -> Hypotheses:
    """Means and standard deviations in widths from the centre."""
    means, logs = np.meshgrid(np.linspace(-2, 2, 41), np.linspace(-4, 1.5, 23))
    return make_hypotheses(EDGES, laws, means.ravel(), 2.0 ** logs.ravel())


def edges_around(frame: Frame) -> Array:
    """The edges of every coordinate, coordinates × 11."""
    return np.asarray(frame.centre[:, None] + frame.width[:, None] * EDGES)


def zoom(cells: Array, frame: Frame, sd: float, laws: tuple[Law, ...] = ANY) -> Fit:
    """Mean, standard deviation and kind of law of every coordinate, from noisy cells (coordinates × 12)."""
    known = zoom_hypotheses(laws)
    weights, people = fit_people(cells, frame.people, sd, known, ROUNDS)
    mean = weights @ known.means
    variance = np.maximum(weights @ known.means**2 - mean * mean, 0.0)
    spread = np.exp(weights @ np.log(known.sds))
    kinds = np.stack([weights[:, known.laws == i].sum(axis=1) for i in range(len(laws))], axis=1)
    return Fit(frame.centre + frame.width * mean, frame.width * spread, frame.width * np.sqrt(variance), kinds, people)
