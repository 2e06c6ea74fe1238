"""Errors of the standard Gaussian mechanism: the same guarantee, equal noise on every answer.

Measured in units of its weight every answer gets the same noise, as much as the largest norm of all answers together
can change: σ_i = Δ/√w_i at μ = 1.

A question that was planned together with others is compared within the whole: the standard mechanism, too, has to
answer all of them under the one guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.numerics.linear import Array
from gaussmith.statistics.answers import check_fewest
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.plans import Block, Plan
    from gaussmith.plans.draw import AnyTie
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


def make_standard(block: Block) -> Block | None:
    """The same answers under the same guarantee by the standard Gaussian mechanism; None where it is not defined."""
    if block.whole is not None:
        among, shown, count = block.whole
        standard = among.standard
        return None if standard is None else standard.narrowed(shown, count)[0]
    if block.problem.features.size == 0:
        return block  # a count alone: one number has only one shape of noise
    problem = block.problem
    try:
        with within_doubles():
            domain, shape = problem.domain.standard(problem, block.guarantee.mu)
            problem = problem if domain is problem.domain else problem.over(domain)
            standard = replace(block, problem=problem, shape=shape, alternatives=(), law=None, tie=None)
            require_finite(standard.standard_errors, standard.total_variance)
            return standard
    except PlanError:
        return None


def standard_errors_of_standard(block: Block) -> Array | None:
    """What the standard Gaussian mechanism would have had, answer by answer, at the same guarantee."""
    if block.whole is not None:
        among, shown, count = block.whole
        found = standard_errors_of_standard(among)
        return None if found is None else found[[*shown, *([among.answers.size] if count else [])]]
    if not block.domain.has_standard_shape(block.problem):
        reach = block.domain.standard_reach(block.problem)
        if reach is None:
            return None
        per = reach / block.guarantee.mu
        found = block.answers.gathered(lambda each: per * each.standard_factors(block.problem.features.weights))
        exact = block.answers.count and block.public_count
        return np.append(found[:-1], 0.0) if exact else found
    return None if block.standard is None else block.standard.standard_errors


def compare_block(
    block: Block, rows: int | None = None, most: int | None = None, standard_scale: float = 1.0
) -> list[Comparison]:
    """Every answer's error (of the first `most`) beside the standard one, the count last.

    For means n times the error, unless `rows` is given. In groups the standard may have another share of μ than the
    plan: its errors are `standard_scale` times those at the plan's.
    """
    answers, errors, standard = block.answers, block.standard_errors, standard_errors_of_standard(block)
    check_fewest(answers, rows)
    size = answers.size if most is None else min(most, answers.size)
    found = []
    for i in [*range(size), *([answers.size] if answers.count else [])]:
        divided = bool(answers.divided[i])
        scale = 1.0 / rows if rows and divided else 1.0
        other = None if standard is None else float(standard[i] * scale) * standard_scale
        found.append(Comparison(answers.names[i], float(errors[i] * scale), other, divided))
    return found


def standard_scale(plan: Plan, roots: Mapping[int, float] | None = None) -> float:
    """The standard Gaussian's errors in a group of the only question over those at the guarantee of its block.

    Where the noise is tied, the standard mechanism answers the same questions with the shares of μ² that are best for
    it: in proportion to the root of each one's total. `roots` are those of the tie, where they were made before.
    """
    draw = plan.draw
    if draw.tie is None:
        return draw.standard_scale
    roots = standard_roots(plan, draw.tie) if roots is None else roots
    own = roots.get(plan.slot.draws[0])
    return math.sqrt(sum(roots.values()) / own) * draw.held if own else 1.0


def standard_roots(plan: Plan, tie: AnyTie) -> dict[int, float]:
    """√T of the standard Gaussian for every draw of a tie, by the place of the draw in the plan."""
    roots = {}
    for i, place in zip(tie.members, tie.places, strict=True):
        member = plan.draws[i]
        standard = member.block.standard if len(member.block.answers) else None
        if standard is not None:
            roots[i] = math.sqrt(place.scale * member.size * standard.total_variance) * member.held
    return roots


def compare_pieces(question: Plan, rows: int | None = None, most: int | None = None) -> list[Comparison]:
    """The answers of all pieces of a question beside the standard ones; what they share is computed once."""
    roots: dict[int, dict[int, float]] = {}
    found = []
    for piece in question.pieces:
        tie = piece.draw.tie
        if tie is not None and id(tie) not in roots:
            roots[id(tie)] = standard_roots(piece, tie)
        scale = standard_scale(piece, None if tie is None else roots[id(tie)])
        found += compare_block(piece.block, rows, most, scale)
    return found


def compare_release(release: Release, most: int | None = None) -> list[Comparison]:
    """Every answer's error at its released value beside the standard one there, the count last; without groups."""
    if len(release.plan.pieces) > 1:
        return [each for piece in release.pieces for each in compare_release(piece, most)]
    block = release.block
    has_shape, scale = block.domain.has_standard_shape(block.problem), standard_scale(release.plan)
    found = compare_block(block, most=None if has_shape else most, standard_scale=scale)
    other = block.standard if has_shape and not block.problem.features.is_linear else None
    if other is None:
        return found
    readout = release.readout
    standard = replace(readout, block=other, features=readout.features[: other.shape.features.shape[0]])
    errors = zip(readout.standard_errors.tolist(), (scale * standard.standard_errors).tolist(), strict=True)
    return [replace(c, error=ours, standard=others) for c, (ours, others) in zip(found, errors, strict=True)]


def share_of_standard(block: Block) -> float | None:
    """√(total squared error / the standard Gaussian's): the errors, taken together, against the standard."""
    if not block.domain.has_standard_shape(block.problem):
        reach = block.domain.standard_reach(block.problem)
        noisy = block.problem.features.size + block.problem.asks_secret_count
        return None if not reach else math.sqrt(block.total_variance * block.guarantee.mu**2 / noisy) / reach
    other = block.standard
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
    if answers.size > MAX_DIRECTIONS or answers.over_rows:
        raise PlanError(
            f"the directions of {answers.size} answers",
            f"at most {MAX_DIRECTIONS} can be decomposed",
            'use kind="errors"',
            code="too-many-directions",
            answers=answers.size,
        )
    size = answers.size if block.public_count else len(answers)
    scale = np.sqrt(answers.weights[:size])
    covariance = block.averaged_covariance()[:size, :size]
    values = np.linalg.eigvalsh(covariance * np.outer(scale, scale))[::-1]
    standard = standard_errors_of_standard(block)
    even = None if standard is None or answers.size == 0 else float(standard[0] * scale[0])
    return np.sqrt(np.clip(values, 0.0, None)), even
