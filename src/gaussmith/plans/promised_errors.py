"""What is promised about means: the law of their errors where these are largest.

With numerators' noise a, noise b of the number below, and u the distance of the mean from the middle of its bounds,

    error of the mean · (n + b) = a − u b,    |u| ≤ the largest distance,

exactly, however few records there are. Three cases (docs/theory.md, statement 23):

    a independent, one b       given b, |a − u b| is the larger the larger |u| is: all means at an end of their bounds
    the same, u in a ball      the worst mean lies on the ball, on the axis of one answer
    any other noise            each answer at its own worst, by itself; eigenvalues by interlacing
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array
from gaussmith.plans.error_distribution import ErrorLaw
from gaussmith.problem import Domain
from gaussmith.problem.features import Places
from gaussmith.statistics import ONE, Answers, Noisy, Statistic

MAX_COVARIANCES = 20_000
"""Limit on the answers for an explicit covariance matrix."""


def promised_law(answers: Answers, noisy: Noisy, domain: Domain) -> ErrorLaw:
    """The law of the errors of all answers but the count, wherever within their bounds the means lie.

    Guarantee: no statement of the law (a quantile, a chance, an expectation) is exceeded by any means in the bounds.
    """
    size = answers.size
    below = _divisor_places(answers.statistics, noisy)[:size]
    distances = np.where(below >= 0, answers.largest_distances(domain)[:size], 0.0)
    found = _common_law(answers, noisy, below, distances, domain.means_vary_alone)
    return found or law_apart(answers.statistics, noisy, distances, domain.means_vary_alone, size)


def check_covariances(size: int) -> None:
    """Refuse so many answers that their covariance matrix is too large."""
    if size > MAX_COVARIANCES:
        raise PlanError(
            f"{size} answers",
            f"a covariance matrix is computed for at most {MAX_COVARIANCES}",
            "use plan.standard_errors, or plan fewer answers",
            code="covariance-too-large",
            answers=size,
        )


def _divisor_places(statistics: Sequence[Statistic], noisy: Noisy) -> Places:
    """The feature below each answer; −1 where nothing noisy is."""
    last = noisy.rows.shape[0] - 1 if noisy.has_noisy_count else -1
    places = [
        np.where(each.places[:, -1] == ONE, last, each.places[:, -1])
        if each.divided
        else np.full(len(each.weights), -1)
        for each in statistics
    ]
    return np.concatenate(places)


def _common_law(answers: Answers, noisy: Noisy, below: Places, distances: Array, vary_alone: bool) -> ErrorLaw | None:
    """The exact law where every answer has noise of its own, and all else is one draw; None elsewhere."""
    size = answers.size
    rows = noisy.rows.as_bordered()
    if rows is None or any(answers.feature_of(i) is None for i in range(size)):
        return None
    leads = answers.leads[:size]
    own, border, divided = rows.inner[leads], rows.border[leads], np.unique(below[below >= 0])
    last = rows.columns - 1
    shared = {*rows.index[divided][rows.inner[divided] != 0].tolist()}
    shared |= {last} if border.any() or rows.border[divided].any() else set()
    places = rows.index[leads]
    if len(shared) > 1 or len(np.unique(places)) < size or bool(np.isin(places, list(shared)).any()):
        return None
    unit = np.sqrt(noisy.unit)
    sizes = np.where(rows.index == last, np.abs(rows.inner + rows.border), np.abs(rows.inner) + np.abs(rows.border))
    divisors = np.where(below >= 0, sizes[below], 0.0) * unit
    own, shares = np.abs(own) * unit, np.where(below >= 0, np.abs(border), border) * unit
    largest = shares + distances * divisors
    if vary_alone or not divisors.any():
        return ErrorLaw(own, largest, divisors=divisors if divisors.any() else None)
    if shares.any() or not (np.ptp(own) == np.ptp(distances) == 0):
        return None
    shares[0] = largest[0]
    return ErrorLaw(own, shares, divisors=divisors, alone=largest)


def law_apart(
    statistics: Sequence[Statistic], noisy: Noisy, distances: Array, vary_alone: bool, size: int | None = None
) -> ErrorLaw:
    """A law that is never too small for any noise: each answer at its own worst, and bounds of the eigenvalues.

    It is about the first `size` answers, by default all of them.
    """
    below = _divisor_places(statistics, noisy)[:size]
    size = len(below)
    distances = np.where(below >= 0, distances, 0.0)
    check_covariances(size)
    dense = noisy.rows.dense() * np.sqrt(noisy.unit)
    above = np.vstack([each.combined_rows(noisy, dense) for each in statistics])[:size]
    held, places = np.unique(below[below >= 0], return_inverse=True)
    weights, basis = _basis(dense[held])
    # a = C g + a′ with g the noises below, of which mean j sees u_j · weights
    C = above @ basis.T
    rest = above - C @ basis
    seen = np.zeros((size, len(basis)))
    seen[below >= 0] = weights[places]
    spectrum = np.clip(np.linalg.eigvalsh(rest @ rest.T)[::-1], 0.0, None)
    for part, beside in zip(seen.T, np.abs(C).T, strict=True):
        moved = distances * np.abs(part)
        together = np.linalg.norm(beside + moved)
        bump = together if vary_alone else np.linalg.norm(beside) + moved.max(initial=0.0)
        spectrum = np.concatenate([[spectrum[0] + float(bump) ** 2], spectrum[:-1]])
    # each by itself: the part of its numerator that its own divisor does not explain, and the share of that divisor
    divisors = np.linalg.norm(seen, axis=1)
    crossed = np.abs((above * (seen @ basis)).sum(axis=1))
    beside = np.divide(crossed, divisors, out=np.zeros(size), where=divisors > 0)
    own = np.sqrt(np.maximum((above * above).sum(axis=1) - beside**2, 0.0))
    shares = beside + distances * divisors
    return ErrorLaw(own, shares, None, spectrum, divisors if divisors.any() else None, common=False)


def _basis(rows: Array) -> tuple[Array, Array]:
    """Rows as combinations of orthonormal ones."""
    if not len(rows):
        return np.zeros((0, 0)), np.zeros((0, rows.shape[1]))
    left, sizes, right = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > 1e-14 * sizes[0] if sizes[0] else np.zeros(len(sizes), bool)
    return left[:, kept] * sizes[kept], right[kept]
