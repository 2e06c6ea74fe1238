"""The solved shape: the optimum itself, to a stated gap, for boxes and people with few enough corners."""

from __future__ import annotations

import numpy as np

from gaussmith.answers import Answers
from gaussmith.domains import Box, People
from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array, Dense
from gaussmith.shapes import Candidate, Shape
from gaussmith.shapes.laws import Law

MOST_LOST = 1e-12
"""What one record may lose in decoding, in standard errors of the answer at μ = 1."""

GAP = 1e-4
"""How close to the certified optimum a small box is solved."""


def solved(domain: Box | People, answers: Answers, gap: float | None = None) -> Candidate:
    """The solved shape of a box, or of people with rows, under add-remove; and the law on corners that bounds any."""
    from gaussmith.numerics.optimum import solve

    W = weighted_rows(domain, answers)
    signs = np.hstack([domain.corners(), np.ones((2**domain.dimension, 1))])
    best = solve(signs @ W.T, gap=GAP if gap is None else gap)
    rows = best.decode
    check_lost(rows, rows @ (best.lift @ W) - W)
    size = answers.size
    counted = len(W) > size
    features = rows[:size] / np.sqrt(answers.weights)[:, None]
    if counted:
        features = np.vstack([features, rows[size:] / W[size, -1]])
    law = Law("listed", best.lower, {"weights": best.weights / best.weights.sum()})
    return Candidate(Shape("solved", Dense(best.lift @ W), Dense(features), counted), law)


def solved_replaced(domain: Box, answers: Answers, gap: float | None = None) -> Candidate:
    """The solved shape of linear answers of a box under replace-one, where differences are twice its signed corners."""
    from gaussmith.numerics.optimum import solve

    W = replaced_rows(domain, answers)
    best = solve(2.0 * domain.corners() @ W.T, gap=GAP if gap is None else gap)
    lift = best.lift @ W
    check_lost(best.decode, best.decode @ lift - W)
    features = best.decode / np.sqrt(answers.weights)[:, None]
    rows = answers.matrix if answers.matrix is not None else np.eye(domain.dimension)[answers.index]
    public = np.where(answers.means, 0.0, rows @ domain.coded[0])
    law = Law("listed", best.lower, {"weights": best.weights / best.weights.sum()})
    return Candidate(Shape("solved", Dense(lift), Dense(features), False, public), law)


def replaced_rows(domain: Box, answers: Answers) -> Array:
    """What each answer takes from the core z, scaled by the root of its weight; the number of records is public."""
    rows = answers.matrix if answers.matrix is not None else np.eye(domain.dimension)[answers.index]
    return np.asarray(rows * domain.radius * np.sqrt(answers.weights)[:, None])


def check_lost(decode: Array, errors: Array) -> None:
    """Refuse a shape whose decoding does not give back what was lifted, but for rounding far below the noise.

    `errors` has a row per answer: what it loses of each coordinate, or of each record. 10^10 records must not add that
    up to a visible bias.
    """
    sizes = np.linalg.norm(decode, axis=1)
    lost = np.abs(errors).sum(axis=1) if errors.shape[1] <= 64 else np.abs(errors).max(axis=1)
    if (lost > MOST_LOST * sizes).any():
        raise PlanError(
            "records whose answers differ too much in scale",
            "solved noise must be read back to a part in 10^12",
            "leave out shape=, or ask for answers of one unit at a time",
        )


def weighted_rows(domain: Box | People, answers: Answers) -> Array:
    """W′: what each answer takes from the core (z, 1), scaled by the root of its weight; then the count, if any."""
    d = domain.dimension
    root = np.sqrt(answers.weights)[:, None]
    if answers.matrix is not None:
        rows = np.column_stack([answers.matrix * domain.radius, answers.matrix @ domain.centre])
    else:
        rows = np.zeros((answers.size, d + 1))
        at = np.arange(answers.size)
        rows[at, answers.index] = domain.radius[answers.index]
        rows[at, -1] = np.where(answers.means, 0.0, domain.centre[answers.index])
    rows = rows * root
    extra = answers.count_weight(domain)
    if extra:
        tail = np.zeros((1, d + 1))
        tail[0, -1] = np.sqrt(extra)
        rows = np.vstack([rows, tail])
    return rows
