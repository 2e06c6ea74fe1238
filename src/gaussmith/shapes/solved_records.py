"""The solved shape for records that can be listed: any answers, at the optimum to a stated gap."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array, Dense
from gaussmith.problem import Law, Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.candidates import Candidate
from gaussmith.shapes.solved import check_lost

if TYPE_CHECKING:
    from gaussmith.domains.uncentred import Listed

GAP = 1e-4
"""Relative gap to the certified optimum for listed records."""

MAX_SOLVED = 1024
"""Limit on records for the numerical solver; beyond it, closed forms with a certified distance are used."""

MAX_ANSWERS = 256
"""Limit on answers for the numerical solver."""


def solved_records(problem: Problem[Listed], gap: float | None) -> list[Candidate]:
    """The solved shape, if there are few records and the solver can decode every answer; otherwise nothing."""
    listed = problem.domain.records(MAX_SOLVED)
    if listed is None or problem.features.size > MAX_ANSWERS:
        return []
    with suppress(PlanError):  # scales too far apart for doubles: the closed forms do not have this problem
        return [_solved(problem, listed, GAP if gap is None else gap)]
    return []


def _solved(problem: Problem[Listed], listed: Array, gap: float) -> Candidate:
    from gaussmith.numerics.optimum import solve

    size, root, counted = problem.features.size, problem.root_weights, problem.asks_secret_count
    rows = problem.rows * problem.domain.coded[1] * root
    if counted:
        rows = np.pad(rows, ((0, 1), (0, 1)))
        rows[-1, -1] = problem.root_count_weight
        listed = np.hstack([listed, np.ones((len(listed), 1))])
    best = solve(listed @ rows.T, pairs=not problem.secret_count, gap=gap)
    lift = best.lift @ rows
    decoded = best.decode @ lift
    public = None
    if not problem.secret_count:
        # The part that is the same in every record needs no noise: it comes from the public number of records.
        middle = listed.mean(axis=0)
        public = (rows @ middle - decoded @ middle) / root[:, 0]
        check_lost(best.decode, (decoded - rows) @ (listed - middle).T)
    else:
        check_lost(best.decode, (decoded - rows) @ listed.T)
    features = best.decode / np.vstack([root, [[problem.root_count_weight]]])[: len(rows)]
    assert len(features) == size + counted
    law = Law("listed", best.lower, {"weights": best.weights / best.weights.sum()})
    return Candidate(Shape("solved", Dense(lift), Dense(features), counted, public), law)
