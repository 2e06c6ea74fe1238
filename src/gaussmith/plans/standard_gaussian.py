"""What the standard Gaussian mechanism would have had: the same guarantee, equal noise on every answer.

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

from gaussmith.domains import Cells, Counts, Domain, GaussianData, Points, SparseSum, Tallied, Votes
from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.numerics.intervals import gram
from gaussmith.numerics.linear import Array, Dense, Diagonal
from gaussmith.workloads import Marginals, Runs

if TYPE_CHECKING:
    from gaussmith.answers import Answers
    from gaussmith.plans import Block
    from gaussmith.releases import Release


@dataclass(frozen=True)
class Comparison:
    """The error of one answer beside that of the standard Gaussian mechanism at the same guarantee (None: unknown)."""

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
    from gaussmith.shapes.straight import isotropic

    if block.whole is not None:
        among, shown, count = block.whole
        standard = standard_block(among)
        return None if standard is None else standard.narrowed(shown, count)[0]
    if block.answers.size == 0:
        return block  # a count alone: one number has only one shape of noise
    domain = block.domain
    try:
        with within_doubles():
            if isinstance(domain, GaussianData):
                from gaussmith.shapes.clipped import clipped

                domain, shape = clipped(domain, block.answers, block.neighbours, block.guarantee.mu, "round")
            else:
                shape = isotropic(domain, block.answers, block.neighbours)
            standard = replace(block, domain=domain, shape=shape, alternatives=(), law=None)
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
    if isinstance(block.domain, Tallied):
        reach = largest_change(block.domain, block.answers, block.neighbours)
        return None if reach is None else reach / np.sqrt(block.answers.weights) / block.guarantee.mu
    if block.answers.matrix is not None and not isinstance(block.domain, GaussianData):
        return _standard_for_matrix(block)
    other = standard_block(block)
    return None if other is None else other.standard_errors


def largest_change(domain: Domain, answers: Answers, neighbours: str) -> float | None:
    """Δ: the largest norm of all answers together, each scaled to its weight; None where it is not known."""
    private = neighbours == ADD_REMOVE
    extra = 1.0 if answers.count and private else 0.0
    if isinstance(answers.workload, Marginals):  # a record is in one cell of each
        work = answers.workload
        asked = [(way, float(answers.weights[at])) for way, at in zip(work.ways, work.offsets, strict=True)]
        return math.sqrt(sum(w * (1.0 if private else 2.0 * (way != ())) for way, w in asked) + extra)
    if isinstance(answers.workload, Runs):
        G = gram(*answers.workload.places, answers.workload.cells, answers.weights)
        apart = private or (isinstance(domain, Cells) and domain.or_none)
        sizes = np.diag(G)
        widest = 0.0 if private else float((sizes[:, None] + sizes - 2 * G).max())
        return math.sqrt(max(float(sizes.max()) if apart else 0.0, widest) + extra)
    root = np.sqrt(answers.weights)[:, None]
    if isinstance(domain, Cells | Points):
        from gaussmith.shapes.cells import rows_of

        if isinstance(domain, Cells) and answers.matrix is None:
            found = domain.largest(Diagonal(np.sqrt(answers.coordinate_weights(domain.dimension))), neighbours)
        else:
            found = domain.largest(Dense(rows_of(domain, answers) * root), neighbours)
        return math.sqrt(found**2 + extra)
    assert isinstance(domain, Counts | SparseSum | Votes)
    if answers.matrix is None:
        entries = np.sqrt(answers.coordinate_weights(domain.dimension)) * domain.radius
        return math.sqrt(domain.largest(Diagonal(entries), neighbours) ** 2 + extra)
    if domain.records() is None:
        return None
    return math.sqrt(domain.largest(Dense(answers.matrix * root * domain.radius), neighbours) ** 2 + extra)


def _standard_for_matrix(block: Block) -> Array:
    """Equal noise on every linear answer: the root of the largest weighted norm of the answers, over the guarantee."""
    W = block.answers.matrix
    assert W is not None
    centre, radius = block.domain.centre, block.domain.radius
    if block.neighbours == ADD_REMOVE:
        reach = np.abs(W @ centre) + np.abs(W) @ radius
    else:
        reach = 2 * np.abs(W) @ radius
    root = np.sqrt(block.answers.weights)
    S = float(((root * reach) ** 2).sum()) + (1.0 if block.answers.count and block.neighbours == ADD_REMOVE else 0.0)
    return np.asarray(np.sqrt(S) / root / block.guarantee.mu)


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
    if isinstance(block.domain, Tallied):
        if standard is None:
            return None
        return 0.0 if block.public_count else float(standard[0] * np.sqrt(block.answers.weights[0]))
    other = standard_block(block)
    return other.count_standard_error if other else None


def compare_release(release: Release, most: int | None = None) -> list[Comparison]:
    """Every answer's error at its released value beside the standard one there, the count last; without groups."""
    block = release.block
    found = compare_block(block, most=most if isinstance(block.domain, Tallied) else None)
    other = None if block.answers.is_linear or isinstance(block.domain, Tallied) else standard_block(block)
    if other is None:
        return found
    readout = release.readout
    standard = replace(readout, block=other, features=readout.features[: other.shape.features.shape[0]])
    errors = zip(readout.all_errors.tolist(), standard.all_errors.tolist(), strict=True)
    return [replace(c, error=ours, standard=others) for c, (ours, others) in zip(found, errors, strict=True)]


def share_of_standard(block: Block) -> float | None:
    """√(total squared error / the standard Gaussian's): the errors, taken together, against the standard."""
    if isinstance(block.domain, Tallied):
        reach = largest_change(block.domain, block.answers, block.neighbours)
        noisy = block.answers.size + (block.answers.count and not block.public_count)
        return None if not reach else math.sqrt(block.total_variance * block.guarantee.mu**2 / noisy) / reach
    if block.answers.matrix is not None and not isinstance(block.domain, GaussianData):
        standard = _standard_for_matrix(block)
        extra = standard[0] ** 2 * block.answers.weights[0] if block.answers.count and not block.public_count else 0.0
        return math.sqrt(block.total_variance / (float(block.answers.weights @ standard**2) + extra))
    other = standard_block(block)
    if other is None or not other.total_variance:
        return None
    return math.sqrt(block.total_variance / other.total_variance)


MAX_DIRECTIONS = 1500
"""Limit on the answers that are decomposed into directions."""


def spectrum(block: Block) -> tuple[Array, float | None]:
    """Standard deviations of the noise in its own directions, the largest first; and the standard Gaussian's, in all.

    Answers are scaled to the roots of their weights, so that squared deviations add up to the total. The count, where
    it is secret and asked, is one of them.
    """
    answers = block.answers
    counted = answers.count and not block.public_count
    if answers.size > MAX_DIRECTIONS or answers.ratios.any():
        raise PlanError(
            f"the directions of {answers.size} answers",
            f"at most {MAX_DIRECTIONS} plain ones are decomposed",
            'use kind="errors"',
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
