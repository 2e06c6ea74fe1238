"""The interface of all catalogue entries, and the entry for mechanisms with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from gaussmith.checks import check_number, check_whole
from gaussmith.errors import DomainError
from gaussmith.numerics.exact import Array
from gaussmith.papers.laws import NoiseLaw, normals
from gaussmith.privacy.guarantee import Guarantee, check_delta

Sound = Literal["yes", "no", "corrected"]

UP = 1.0 + 2.0**-48
"""Relative increase of standard deviations, so that rounding never costs privacy."""


class Entry(Protocol):
    """A published mechanism with its numbers filled in."""

    @property
    def name(self) -> str: ...

    @property
    def reference(self) -> str: ...

    @property
    def theorem(self) -> str: ...

    @property
    def claimed(self) -> Guarantee: ...

    @property
    def neighbours(self) -> str: ...

    @property
    def sound(self) -> Sound: ...

    @property
    def total_variance(self) -> float: ...

    @property
    def standard_errors(self) -> Array: ...

    def true_delta(self, epsilon: float) -> float: ...

    def sample(self, size: int) -> Array: ...

    @property
    def holds(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class GaussianEntry:
    """A mechanism that adds Gaussian noise of a fixed shape.

    `true_mu` is computed from the noise and from the differences of neighbours, not from the paper's formula: it is
    max √(sᵀΣ⁺s) over all differences s, so `true_delta` is exact (theory, statement 3).
    """

    name: str
    reference: str
    theorem: str
    claimed: Guarantee
    neighbours: str
    sound: Sound
    noise: NoiseLaw
    true_mu: float

    @cached_property
    def true_guarantee(self) -> Guarantee:
        """The true guarantee of the noise."""
        return Guarantee(mu=self.true_mu)

    def true_delta(self, epsilon: float) -> float:
        """The smallest δ for which the mechanism is (epsilon, δ)-DP, rounded up.

        δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ),   μ = max √(sᵀΣ⁺s)
        """
        return self.true_guarantee.delta_at(epsilon)

    @property
    def holds(self) -> bool:
        """Whether the claim is true with these numbers."""
        return claim_holds(self)

    @property
    def standard_errors(self) -> Array:
        """The standard deviation of the noise in each answer."""
        return np.sqrt(self.noise.variances)

    @property
    def total_variance(self) -> float:
        """The expected squared norm of the noise: the trace of its covariance."""
        return float(self.noise.variances.sum())

    def covariance(self) -> Array:
        """The covariance of the noise as a full matrix."""
        return self.noise.covariance()

    def sample(self, size: int) -> Array:
        """`size` independent samples of the noise, one per row, from fresh randomness."""
        return self.noise.apply(normals(check_size(size), self.noise.sources))


def claim_holds(entry: Any) -> bool:
    """Whether the true δ at the claimed ε is at most the claimed δ."""
    claimed: Guarantee = entry.claimed
    if claimed.epsilon is None or claimed.delta is None:
        return bool(entry.true_mu <= claimed.mu)
    return bool(entry.true_delta(claimed.epsilon) <= claimed.delta)


def check_size(size: int) -> int:
    """The number of draws of a sample."""
    rule = "a sample has a whole number of draws, 0 or more"
    return check_whole("size", size, 0, rule=rule, remedy="give a number in this range", error=DomainError)


def claim(epsilon: float, delta: float) -> Guarantee:
    """The (ε, δ) that an entry claims; Gaussian noise claims no δ of 0."""
    claimed = Guarantee(epsilon=epsilon, delta=delta)
    if claimed.is_pure:
        check_delta(0.0)
    return claimed


def check_dimension(dimension: Any, least: int = 1) -> int:
    """A whole number of coordinates."""
    rule = f"the dimension must be a whole number, {least} or more"
    remedy = f"give a number, say dimension={max(least, 10)}"
    return check_whole("dimension", dimension, least, rule=rule, remedy=remedy, error=DomainError)


def check_positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    rule, remedy = f"{name} must be a finite number above 0", f"give a number such as {name}=1"
    return check_number(name, value, above=0, rule=rule, remedy=remedy, error=DomainError)


def check_vector(name: str, values: Any, positive: bool = True) -> Array:
    """Finite numbers, one per coordinate; optionally required to be above 0."""
    try:
        vector = np.atleast_1d(np.array(values, dtype=float))
    except (TypeError, ValueError):
        vector = np.zeros((0, 0))
    if vector.ndim != 1 or vector.size == 0 or not np.isfinite(vector).all():
        what, rule = f"{name}={values!r}"[:120], f"{name} must hold a finite number per coordinate"
        raise DomainError(what, rule, "give a list", code="not-a-finite-vector", name=name, values=values)
    if positive and not (vector > 0).all():
        j = int(np.argmin(vector))
        what, rule = f"{name}[{j}]={vector[j]:g}", f"each number in {name} must be above 0"
        remedy = "leave out coordinates that never vary: they need no noise"
        raise DomainError(what, rule, remedy, code="vector-entry-not-positive", name=name, index=j, value=vector[j])
    return vector
