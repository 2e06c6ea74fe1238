"""Bounded contribution: each person touches at most k of d coordinates (counts, sums), or ranks d candidates."""

from __future__ import annotations

import math

import numpy as np

from gaussmith.checks import check_whole, checks_arguments
from gaussmith.errors import DomainError, nearest
from gaussmith.numerics import two_level
from gaussmith.papers.entry import UP, GaussianEntry, check_dimension, check_positive, claim
from gaussmith.papers.laws import Even, Independent, NoiseLaw
from gaussmith.privacy.neighbours import ADD_REMOVE, check

KINDS = ("counts", "votes", "sums")


@checks_arguments
def bounded_contribution(
    *,
    dimension: int,
    epsilon: float,
    delta: float,
    at_most: int | None = None,
    kind: str = "counts",
    bound: float = 1.0,
    neighbours: str = "add-remove",
) -> GaussianEntry:
    """The best Gaussian noise for people who contribute to few coordinates, rounded up.

        counts, k ≤ d/2:   total (k/d)(√k + √((d−k)(d−1)))²/μ²          votes:  (‖w₁‖ + ‖w₂‖√(d−1))²/μ²
        sums of at most k values up to b:   equal noise √k·b, total d·k·b²/μ²  (twice the noise under replace-one)

    The paper covers counts up to k = d/2 and add-remove; outside this range, our optimum for k and replace-one is used.

    >>> entry = bounded_contribution(dimension=100, at_most=10, epsilon=1, delta=1e-6)
    >>> round(entry.total_variance * entry.claimed.mu**2, 6)
    951.699246
    """
    d = check_dimension(dimension, least=2)
    if kind not in KINDS:
        what, rule = f"kind={kind!r}", "it must be counts, votes or sums"
        raise DomainError(what, rule, nearest(str(kind), KINDS), code="unknown-contribution-kind", kind=kind)
    neighbours = check(neighbours)
    k = d if kind == "votes" and at_most is None else _check_most(at_most, d)
    claimed = claim(epsilon, delta)
    noise: NoiseLaw
    if kind == "sums":
        reach = check_positive("bound", bound) * math.sqrt(k) * (1 if neighbours == ADD_REMOVE else 2)
        sigma = reach / claimed.mu * UP
        noise, true_mu = Independent(np.full(d, sigma)), reach / sigma
    else:
        shape = two_level.counts(d, k, neighbours) if kind == "counts" else two_level.votes(d, neighbours)
        a1, a2 = shape.a1 / claimed.mu * UP, shape.a2 / claimed.mu * UP
        noise, true_mu = Even(d, a1, a2), math.sqrt(_largest_cost(kind, d, k, neighbours, a1, a2))
    return GaussianEntry(
        name=f"bounded contribution, {kind}",
        reference="Joseph and Yu, Some Constructions of Private, Efficient, and Optimal K-Norm and Elliptic Gaussian "
        "Noise (2024)",
        theorem="For sums, counts (k ≤ d/2) and votes the elliptic Gaussian noise of least expected squared norm has a "
        "closed form.",
        claimed=claimed,
        neighbours=neighbours,
        sound="yes",
        noise=noise,
        true_mu=true_mu,
    )


@checks_arguments
def joseph_yu_total(dimension: int, at_most: int) -> float:
    """λ_k, the published total for counts at μ = 1: (k/d)(√k + √((d−k)(d−1)))²; proved for k ≤ d/2.

    >>> joseph_yu_total(100, 50).__round__(6)
    2997.493719
    """
    d, k = dimension, at_most
    return k / d * (math.sqrt(k) + math.sqrt((d - k) * (d - 1))) ** 2


def _check_most(at_most: int | None, d: int) -> int:
    rule = f"a person changes between 1 and {d} coordinates"
    return check_whole(
        "at_most", at_most, 1, d, rule=rule, remedy="give a whole number in this range", error=DomainError
    )


def _largest_cost(kind: str, d: int, k: int, neighbours: str, a1: float, a2: float) -> float:
    """max sᵀΣ⁺s over all differences, by checking every possible (size, sum)."""
    if kind == "votes":
        if neighbours == ADD_REMOVE:
            size, total = np.array([(d - 1) * d * (2 * d - 1) / 6]), np.array([d * (d - 1) / 2])
        else:  # the reversed ranking is the farthest
            size, total = np.array([d * (d * d - 1) / 3]), np.zeros(1)
    elif neighbours == ADD_REMOVE:
        size = total = np.arange(1.0, k + 1)
    else:  # a coordinates gained and b lost: a, b ≤ k, a + b ≤ d; costs grow with b for given a − b, so b is largest
        difference = np.arange(0, k + 1)
        lost = np.minimum(k - difference, (d - difference) // 2)
        size, total = (difference + 2.0 * lost), difference.astype(float)
    along = total**2 / d
    cost = (size - along) / a2**2 if a2 else np.zeros_like(along)
    return float((cost + (along / a1**2 if a1 else 0.0)).max())
