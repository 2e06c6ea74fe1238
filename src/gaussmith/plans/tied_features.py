"""What is read back from tied noise: the features of each draw, and the noise in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.linear import Array, Dense, Exchangeable, Matrix
from gaussmith.numerics.tied.lift import TiedLift
from gaussmith.numerics.tied.parts import Body
from gaussmith.plans.tied_people import NAME, Place, counts_everybody
from gaussmith.problem import Domain, Problem
from gaussmith.shapes import Shape

if TYPE_CHECKING:
    from gaussmith.plans.draw import Draw
    from gaussmith.plans.tie import Tie


def tied_total(lift: TiedLift, body: Body) -> float:
    """The weighted total of all answers at unit noise."""
    total = body.people_weight * lift.people_variance if body.people_weight else 0.0
    for q, part in enumerate(body.parts):
        covariance = core_covariance(lift, q, part.always)
        rows = part.rows if part.always else part.rows[:, :-1]
        rows = rows[:, : len(covariance)]
        total += part.groups * float(np.einsum("ij,jk,ik->", rows, covariance, rows))
    return total


def core_covariance(lift: TiedLift, part: int, always: bool) -> Array:
    """Of the noise in the core of a group, its count last: where everybody is in, that is the number of people."""
    same, _ = lift.covariance(part, part)
    if not always or not lift.counted:
        return same
    beside = lift.people_covariance(part)[:, None]
    return np.block([[same, beside], [beside.T, np.array([[lift.people_variance]])]])


def tied_shape(
    draw: Draw, tie_lift: TiedLift, place: Place, where: str | None, groups: Mapping[int, int] | None = None
) -> Shape:
    """The shape of the noise in one group of a draw, or in several added up: features of unit noise of their own.

    `groups` says how many of each part are added up; without it, one of the first. The lift of the shape is empty: a
    tied draw is lifted with all others of its tie.
    """
    none: Matrix = Dense(np.zeros((0, 0)))
    problem = draw.block.problem
    if draw.block.domain.marks_at_most is not None:
        assert place.part is not None
        same, between = tie_lift.covariance(place.part, place.part)
        counted = bool(problem.count_weight)
        people = tie_lift.people_variance if counted else 0.0
        beside = float(tie_lift.people_covariance(place.part)[0]) if counted else 0.0
        features = alike_features(
            draw.block.domain.dimension, float(same[0, 0]), float(between[0, 0]), counted, beside, people
        )
        return Shape(NAME, none, features, counted)
    everybody = counts_everybody(draw, where)
    rows, counted = feature_rows(problem), bool(problem.count_weight)
    if place.part is None:
        covariance = np.array([[tie_lift.people_variance]])
    elif groups is None:
        covariance = core_covariance(tie_lift, place.part, everybody)
    else:
        covariance = np.zeros((tie_lift.widths[place.part],) * 2)
        for one, n in groups.items():
            covariance += n * tie_lift.covariance(one, one)[0] + n * (n - 1) * tie_lift.covariance(one, one)[1]
            for other, m in groups.items():
                if other != one:
                    covariance += n * m * tie_lift.covariance(one, other)[1]
    return Shape(NAME, none, Dense(rows[:, : len(covariance)] @ _root(covariance)), counted)


def feature_rows(problem: Problem[Domain]) -> Array:
    """What each feature is of the core of a group: of its columns, then of its count."""
    features, d = problem.features, problem.domain.dimension
    rows = np.zeros((features.size + bool(problem.count_weight), d + 1))
    radius = problem.domain.coded[1]
    if features.matrix is not None:
        rows[: features.size, :d] = features.matrix * radius
    else:
        rows[np.arange(features.size), features.index] = radius[features.index]
    rows[: features.size, d] = problem.coded_offsets
    if problem.count_weight:
        rows[-1, d] = 1.0
    return rows


def _root(covariance: Array) -> Array:
    """F with F Fᵀ = covariance, which may be singular."""
    scale = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.clip(values, 0.0, None)))


def alike_features(size: int, variance: float, between: float, counted: bool, beside: float, people: float) -> Matrix:
    """Features that all have one variance and one covariance, and then the number of people."""
    inner = np.sqrt(max(variance - between, 0.0))
    border = beside / np.sqrt(people) if counted else 0.0
    rest = max(inner**2 + size * (between - border**2), 0.0)  # along the sum, what people do not explain
    shared = (np.sqrt(rest) - inner) / size
    if not counted:
        return Exchangeable(size, float(inner), float(shared))
    return Exchangeable(size, float(inner), float(shared), float(border), (0.0, float(np.sqrt(people))))


def shared_covariance(
    tie: Tie, one: Draw, other: Draw, same_group: bool = False, classes: tuple[int, int] = (0, 0)
) -> Array:
    """Of the noise in the features of a group of one tied draw with that of another draw's, or of the same group.

    `classes` says which of their weights the groups have, where they weigh differently.
    """
    left, right = (_core_rows(draw, tie) for draw in (one, other))
    places = [None if draw.place is None else draw.place.part for draw in (one, other)]
    cores = [None if q is None else q + at for q, at in zip(places, classes, strict=True)]
    people = tie.lift.people_variance if tie.lift.counted else 0.0
    found = np.zeros((left.shape[1], right.shape[1]))
    a, b = (0 if q is None else tie.lift.widths[q] for q in cores)
    if cores[0] is not None and cores[1] is not None:
        found[:a, :b] = tie.lift.covariance(cores[0], cores[1])[0 if same_group else 1]
    if left.shape[1] > a and cores[1] is not None:  # the last number of a core may be that of all people
        found[a:, :b] = tie.lift.people_covariance(cores[1])
    if right.shape[1] > b and cores[0] is not None:
        found[:a, b:] = tie.lift.people_covariance(cores[0])[:, None]
    found[a:, b:] = people
    return np.asarray(left @ found @ right.T) * tie.noise_scale**2


def _core_rows(draw: Draw, tie: Tie) -> Array:
    """What each feature of a draw takes from the core of one group, and from the number of people if it uses that."""
    if draw.block.domain.marks_at_most is None:
        return feature_rows(draw.block.problem)
    counted = bool(draw.block.problem.count_weight)
    return np.eye(2) if counted else np.eye(1)
