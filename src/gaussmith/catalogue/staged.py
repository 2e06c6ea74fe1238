"""Published mechanisms that spend their budget in steps: what each step is said to cost, and what it truly costs."""

from __future__ import annotations

import math

from gaussmith.catalogue.entry import Sound
from gaussmith.guarantee import Guarantee
from gaussmith.values import dataclass


@dataclass(frozen=True)
class Step:
    """One step of a mechanism, in zCDP: the ρ that its authors count, and the ρ that it has.

    `true_rho` is tight: attained for Gaussian noise, and for an exponential mechanism approached as its range falls.
    """

    name: str
    claimed_rho: float
    true_rho: float
    why: str = ""


@dataclass(frozen=True)
class StagedEntry:
    """A published estimator of the mean of vectors, with its steps."""

    name: str
    reference: str
    theorem: str
    needs: str
    """What it must be told beside the data."""
    claimed: Guarantee
    neighbours: str
    sound: Sound
    steps: tuple[Step, ...]
    gaussian: bool
    """Whether all noise is Gaussian: then ρ-zCDP is exactly √(2ρ)-GDP."""

    @property
    def claimed_rho(self) -> float:
        return math.fsum(step.claimed_rho for step in self.steps)

    @property
    def true_rho(self) -> float:
        """The ρ of all steps together."""
        return math.fsum(step.true_rho for step in self.steps)

    @property
    def holds(self) -> bool:
        """Whether the steps cost no more than is claimed."""
        return self.true_rho <= self.claimed_rho * (1 + 1e-12)


def exponential_rho(log_range: float) -> float:
    """The ρ of an exponential mechanism whose log-likelihood ratios span a range η: η²/8 (tight as η falls to 0).

    >>> exponential_rho(2.0)
    0.5
    """
    return log_range**2 / 8
