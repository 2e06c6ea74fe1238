"""Errors of the standard Gaussian mechanism: the same guarantee, equal noise on every answer.

Measured in units of its weight every answer gets the same noise, as much as the largest norm of all answers together
can change: σ_i = Δ/√w_i at μ = 1.

A question that was planned together with others is compared within the whole: the standard mechanism, too, has to
answer all of them under the one guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.numerics.linear import Array

if TYPE_CHECKING:
    from gaussmith.plans import Block
    from gaussmith.releases import Release


@dataclass(frozen=True)
class Comparison:
    """The error of one answer, and that of the standard Gaussian mechanism at the same guarantee (None: unknown)."""

    name: str
    error: float
    standard: float | None
    mean: bool

    @property
    def share(self) -> float | None:
        """The error as a share of the standard one."""
        return self.error / self.standard if self.standard else None


def standard_block(block: Block) -> Block | None:
    """The same answers under the same guarantee by the standard Gaussian mechanism; None where it is not defined."""
    if block.whole is not None:
        among, shown, count = block.whole
        standard = standard_block(among)
        return None if standard is None else standard.narrowed(shown, count)[0]
    if block.answers.size == 0:
        return block  # a count alone: one number has only one shape of noise
    problem = block.problem
    try:
        with within_doubles():
            domain, shape = problem.domain.standard(problem, block.guarantee.mu)
            standard = replace(block, problem=problem.over(domain), shape=shape, alternatives=(), law=None)
            require_finite(standard.standard_errors, standard.total_variance)
            return standard
    except PlanError:
        return None


def standard_errors_of_standard(block: Block) -> Array | None:
    """What the standard Gaussian mechanism would have had, answer by answer, at the same guarantee."""
    if block.whole is not None:
        among, shown, _ = block.whole
        found = standard_errors_of_standard(among)
        return None if found is None else found[list(shown)]
    if not block.domain.has_standard_shape(block.problem):
        reach = block.domain.standard_reach(block.problem)
        return None if reach is None else reach / np.sqrt(block.answers.weights) / block.guarantee.mu
    other = standard_block(block)
    return None if other is None else other.standard_errors


def compare_block(
    block: Block, rows: int | None = None, most: int | None = None, standard_scale: float = 1.0
) -> list[Comparison]:
    """Every answer's error (of the first `most`) beside the standard one, the count last.

    For means n times the error, unless `rows` is given. In groups the standard may have another share of μ than the
    plan: its errors are `standard_scale` times those at the plan's.
    """
    answers, errors, standard = block.answers, block.standard_errors, standard_errors_of_standard(block)
    shown = answers.visible if most is None else min(most, answers.visible)
    divided = answers.means[:shown] | answers.ratios[:shown]
    scale = np.where(divided, 1.0 / rows, 1.0) if rows else np.ones(shown)
    found = [
        Comparison(
            answers.names[i],
            float(errors[i] * scale[i]),
            None if standard is None else float(standard[i] * scale[i]),
            bool(divided[i]),
        )
        for i in range(shown)
    ]
    if block.count_standard_error is not None:
        found.append(Comparison("count", block.count_standard_error, _standard_count_error(block, standard), False))
    return [replace(c, standard=c.standard * standard_scale) if c.standard is not None else c for c in found]


def _standard_count_error(block: Block, standard: Array | None) -> float | None:
    if not block.domain.has_standard_shape(block.problem):
        if standard is None:
            return None
        return 0.0 if block.public_count else float(standard[0] * np.sqrt(block.answers.weights[0]))
    other = standard_block(block)
    return other.count_standard_error if other else None


def compare_release(release: Release, most: int | None = None) -> list[Comparison]:
    """Every answer's error at its released value beside the standard one there, the count last; without groups."""
    block = release.block
    has_shape = block.domain.has_standard_shape(block.problem)
    found = compare_block(block, most=None if has_shape else most)
    other = standard_block(block) if has_shape and not block.answers.is_linear else None
    if other is None:
        return found
    readout = release.readout
    standard = replace(readout, block=other, features=readout.features[: other.shape.features.shape[0]])
    errors = zip(readout.standard_errors.tolist(), standard.standard_errors.tolist(), strict=True)
    return [replace(c, error=ours, standard=others) for c, (ours, others) in zip(found, errors, strict=True)]


def share_of_standard(block: Block) -> float | None:
    """√(total squared error / the standard Gaussian's): the errors, taken together, against the standard."""
    if not block.domain.has_standard_shape(block.problem):
        reach = block.domain.standard_reach(block.problem)
        noisy = block.answers.size + block.problem.asks_secret_count
        return None if not reach else math.sqrt(block.total_variance * block.guarantee.mu**2 / noisy) / reach
    other = standard_block(block)
    if other is None or not other.total_variance:
        return None
    return math.sqrt(block.total_variance / other.total_variance)


MAX_DIRECTIONS = 1500
"""Limit on the answers for a decomposition into directions."""


def spectrum(block: Block) -> tuple[Array, float | None]:
    """Standard deviations of the noise in its own directions, the largest first; and the standard Gaussian's, in all.

    Answers are scaled to the roots of their weights, so that squared deviations add up to the total. The count, where
    it is secret and asked, is one of them.
    """
    answers = block.answers
    counted = block.problem.asks_secret_count
    if answers.size > MAX_DIRECTIONS or answers.ratios.any():
        raise PlanError(
            f"the directions of {answers.size} answers",
            f"at most {MAX_DIRECTIONS} can be decomposed",
            'use kind="errors"',
            code="too-many-directions",
            answers=answers.size,
        )
    scale = np.sqrt(answers.weights)
    covariance = block.covariance()
    if not counted:
        covariance = covariance[: answers.size, : answers.size]
    scale = np.append(scale, 1.0) if counted else scale
    values = np.linalg.eigvalsh(covariance * np.outer(scale, scale))[::-1]
    standard = standard_errors_of_standard(block)
    even = None if standard is None or answers.size == 0 else float(standard[0] * scale[0])
    return np.sqrt(np.clip(values, 0.0, None)), even
