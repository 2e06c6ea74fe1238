"""The outlines in the picture of a plan: what one record can change in two answers, and the noise around it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.plans import Block

MAX_PAIRED = 24
"""Limit on the answers searched for the most informative pair."""


def differences(block: Block, first: int, second: int) -> list[Array]:
    """Outlines of what one record can change in two answers: add-remove gives a body and its mirror image.

    An answer's place is its position in the plan, the count last. A mean stands for its sum of distances from the
    middle of its bounds. Empty for a domain whose outline is not known, and where an answer mixes features.
    """
    one, other = block.answers.feature_of(first), block.answers.feature_of(second)
    return [] if one is None or other is None else block.domain.outlines(block.problem, one, other)


def pair(block: Block) -> tuple[int, int] | None:
    """The two answers to draw: those whose noise is most correlated, else the first two; None if there is but one."""
    size = min(block.answers.size, MAX_PAIRED)
    if size < 2:
        return (0, 1) if len(block.answers) == 2 and not block.public_count else None
    covariance = noise_covariance(block, range(size))
    deviations = np.sqrt(np.diag(covariance))
    deviations = np.where(deviations > 0, deviations, np.inf)  # a public answer has no noise to draw
    correlations = np.triu(np.abs(covariance / np.outer(deviations, deviations)), 1)
    best = int(np.argmax(np.round(correlations, 9)))
    i, j = divmod(best, size)
    return (i, j) if i < j else (0, 1)


def noise_covariance(block: Block, answers: Sequence[int]) -> Array:
    """The covariance of the noise in some answers, by place; of a mean: in its sum of distances from the middle."""
    rows = np.array([block.answers.noise_row(i, block.shape.features) for i in answers])
    return np.asarray(rows @ rows.T * block.noise_scale**2)
