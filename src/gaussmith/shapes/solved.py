"""The solved shape: the numerical optimum to a stated gap, for boxes and people with few enough corners."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array, Dense
from gaussmith.problem import Domain, Law, Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate

if TYPE_CHECKING:
    from gaussmith.domains import Box, People

MAX_LOSS = 1e-12
"""Limit on the decoding error of one record, in standard errors of the answer at μ = 1."""

MAX_CORNERS = 1024
"""Limit on corners for the numerical solver; larger boxes get the closed form with a certified distance."""

MAX_ANSWERS = 64
"""Limit on linear answers for the numerical solver, unless it is requested by name."""

GAP = 1e-4
"""Relative gap to the certified optimum for small boxes."""


def is_worth_solving(problem: Problem[Domain]) -> bool:
    """Few corners, and not a case where the closed form is already the optimum (means, or a single coordinate)."""
    d, asked = problem.domain.dimension, problem.features
    if d <= 1 or 2 ** min(d, 60) > MAX_CORNERS:
        return False
    if asked.matrix is not None:
        return asked.size <= MAX_ANSWERS
    return bool(problem.offsets.any())


def solved(problem: Problem[Box | People], gap: float | None = None) -> Candidate:
    """The solved shape of a box, or of people with rows, under add-remove; and the law on corners that bounds any."""
    from gaussmith.numerics.optimum import solve

    domain, W = problem.domain, problem.lifted_rows
    signs = np.hstack([domain.corners(), np.ones((2**domain.dimension, 1))])
    best = solve(signs @ W.T, gap=GAP if gap is None else gap)
    rows = best.decode
    check_lost(rows, rows @ (best.lift @ W) - W)
    size = problem.features.size
    counted = len(W) > size
    features = rows[:size] / problem.root_weights
    if counted:
        features = np.vstack([features, rows[size:] / W[size, -1]])
    law = Law("listed", best.lower, {"weights": best.weights / best.weights.sum()})
    return Candidate(Shape("solved", Dense(best.lift @ W), Dense(features), counted), law)


def solved_replaced(problem: Problem[Box], gap: float | None = None) -> Candidate:
    """The solved shape of linear answers of a box under replace-one, where differences are twice its signed corners."""
    from gaussmith.numerics.optimum import solve

    domain, W = problem.domain, problem.core_rows
    best = solve(2.0 * domain.corners() @ W.T, gap=GAP if gap is None else gap)
    lift = best.lift @ W
    check_lost(best.decode, best.decode @ lift - W)
    features = best.decode / problem.root_weights
    public = problem.coded_offsets
    law = Law("listed", best.lower, {"weights": best.weights / best.weights.sum()})
    return Candidate(Shape("solved", Dense(lift), Dense(features), False, public), law)


def check_lost(decode: Array, errors: Array) -> None:
    """Refuse a shape whose decoding does not invert the lift, up to rounding far below the noise.

    `errors` has one row per answer: its error in each coordinate, or for each record. Over 10^10 records this must not
    add up to a visible bias.
    """
    sizes = np.linalg.norm(decode, axis=1)
    lost = np.abs(errors).sum(axis=1) if errors.shape[1] <= 64 else np.abs(errors).max(axis=1)
    if (lost > MAX_LOSS * sizes).any():
        raise PlanError(
            "records whose answers differ too much in scale",
            "solved noise must be read back to a part in 10^12",
            "leave out shape=, or ask for answers of one unit at a time",
            code="solved-scales-too-far-apart",
        )
