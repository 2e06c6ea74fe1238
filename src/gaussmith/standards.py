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
    from gaussmith.plans import Plan
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


def standard_plan(plan: Plan) -> Plan | None:
    """The same answers under the same guarantee by the standard Gaussian mechanism; None where it is not defined."""
    from gaussmith.shapes.straight import isotropic

    if plan.whole is not None:
        among, shown, count = plan.whole
        standard = standard_plan(among)
        return None if standard is None else standard.part(shown, count)[0]
    if plan.answers.size == 0:
        return plan  # a count alone: one number has only one shape of noise
    domain = plan.domain
    try:
        with within_doubles():
            if isinstance(domain, GaussianData):
                from gaussmith.shapes.clipped import clipped

                domain, shape = clipped(domain, plan.answers, plan.neighbours, plan.guarantee.mu, "round")
            else:
                shape = isotropic(domain, plan.answers, plan.neighbours)
            standard = replace(plan, domain=domain, shape=shape, alternatives=(), law=None)
            require_finite(standard.standard_errors, standard.total_variance)
            return standard
    except PlanError:
        return None


def standard_errors_of_standard(plan: Plan) -> Array | None:
    """What the standard Gaussian mechanism would have had, answer by answer, at the same guarantee."""
    if plan.whole is not None:
        among, shown, _ = plan.whole
        found = standard_errors_of_standard(among)
        return None if found is None else found[list(shown)]
    if isinstance(plan.domain, Tallied):
        reach = largest_change(plan.domain, plan.answers, plan.neighbours)
        return None if reach is None else reach / np.sqrt(plan.answers.weights) / plan.guarantee.mu
    if plan.answers.matrix is not None and not isinstance(plan.domain, GaussianData):
        return _standard_for_matrix(plan)
    other = standard_plan(plan)
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


def _standard_for_matrix(plan: Plan) -> Array:
    """Equal noise on every linear answer: the root of the largest weighted norm of the answers, over the guarantee."""
    W = plan.answers.matrix
    assert W is not None
    centre, radius = plan.domain.centre, plan.domain.radius
    if plan.neighbours == ADD_REMOVE:
        reach = np.abs(W @ centre) + np.abs(W) @ radius
    else:
        reach = 2 * np.abs(W) @ radius
    root = np.sqrt(plan.answers.weights)
    S = float(((root * reach) ** 2).sum()) + (1.0 if plan.answers.count and plan.neighbours == ADD_REMOVE else 0.0)
    return np.asarray(np.sqrt(S) / root / plan.guarantee.mu)


def compare_plan(
    plan: Plan, rows: int | None = None, most: int | None = None, standard_scale: float = 1.0
) -> list[Comparison]:
    """Every answer's error (of the first `most`) beside the standard one, the count last.

    For means n times the error, unless `rows` is given. In groups the standard may have another share of μ than the
    plan: its errors are `standard_scale` times those at the plan's.
    """
    answers, errors, standard = plan.answers, plan.standard_errors, standard_errors_of_standard(plan)
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
    if plan.count_standard_error is not None:
        found.append(Comparison("count", plan.count_standard_error, _standard_count_error(plan, standard), False))
    return [replace(c, standard=c.standard * standard_scale) if c.standard is not None else c for c in found]


def _standard_count_error(plan: Plan, standard: Array | None) -> float | None:
    if isinstance(plan.domain, Tallied):
        if standard is None:
            return None
        return 0.0 if plan.public_count else float(standard[0] * np.sqrt(plan.answers.weights[0]))
    other = standard_plan(plan)
    return other.count_standard_error if other else None


def compare_release(release: Release, most: int | None = None) -> list[Comparison]:
    """Every answer's error at its released value beside the standard one there, the count last."""
    plan = release.plan
    found = compare_plan(plan, most=most if isinstance(plan.domain, Tallied) else None)
    other = None if plan.answers.is_linear or isinstance(plan.domain, Tallied) else standard_plan(plan)
    if other is None:
        return found
    standard = replace(release, plan=other, features=release.features[: other.shape.features.shape[0]])
    errors = zip(_errors(release), _errors(standard), strict=True)
    return [replace(c, error=ours, standard=others) for c, (ours, others) in zip(found, errors, strict=True)]


def _errors(release: Release) -> list[float]:
    count = release.count_standard_error
    return [*release.standard_errors.tolist(), *([] if count is None else [count])]


def share_of_standard(plan: Plan) -> float | None:
    """√(total squared error / the standard Gaussian's): the errors, taken together, against the standard."""
    if isinstance(plan.domain, Tallied):
        reach = largest_change(plan.domain, plan.answers, plan.neighbours)
        noisy = plan.answers.size + (plan.answers.count and not plan.public_count)
        return None if not reach else math.sqrt(plan.total_variance * plan.guarantee.mu**2 / noisy) / reach
    if plan.answers.matrix is not None and not isinstance(plan.domain, GaussianData):
        standard = _standard_for_matrix(plan)
        extra = standard[0] ** 2 * plan.answers.weights[0] if plan.answers.count and not plan.public_count else 0.0
        return math.sqrt(plan.total_variance / (float(plan.answers.weights @ standard**2) + extra))
    other = standard_plan(plan)
    if other is None or not other.total_variance:
        return None
    return math.sqrt(plan.total_variance / other.total_variance)


MOST_DIRECTIONS = 1500
"""So many answers are decomposed into directions."""


def spectrum(plan: Plan) -> tuple[Array, float | None]:
    """Standard deviations of the noise in its own directions, the largest first; and the standard Gaussian's, in all.

    Answers are scaled to the roots of their weights, so that squared deviations add up to the total. The count, where
    it is secret and asked, is one of them.
    """
    answers = plan.answers
    counted = answers.count and not plan.public_count
    if answers.size > MOST_DIRECTIONS or answers.ratios.any():
        raise PlanError(
            f"the directions of {answers.size} answers",
            f"at most {MOST_DIRECTIONS} plain ones are decomposed",
            'use kind="errors"',
        )
    scale = np.sqrt(answers.weights)
    covariance = plan.covariance()
    if not counted:
        covariance = covariance[: answers.size, : answers.size]
    scale = np.append(scale, 1.0) if counted else scale
    values = np.linalg.eigvalsh(covariance * np.outer(scale, scale))[::-1]
    standard = standard_errors_of_standard(plan)
    even = None if standard is None or answers.size == 0 else float(standard[0] * scale[0])
    return np.sqrt(np.clip(values, 0.0, None)), even
