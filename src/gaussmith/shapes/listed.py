"""The solved shape for records that can be listed one by one: whatever is asked of them, at the optimum to a gap."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from gaussmith.answers import Answers
from gaussmith.domains import Counts, SparseSum, Votes
from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array, Dense
from gaussmith.shapes import Candidate, Shape
from gaussmith.shapes.laws import Law

GAP = 1e-4
MOST_SOLVED = 1024
"""So many records are solved for; beyond, the closed forms serve, and their distance from the optimum is certified."""

MOST_ANSWERS = 256


def solved_records(
    domain: Counts | Votes | SparseSum, answers: Answers, neighbours: str, gap: float | None
) -> list[Candidate]:
    """The solved shape, if the records are few and the solver can read every answer back; else nothing."""
    listed = domain.records(MOST_SOLVED)
    if listed is None or answers.size > MOST_ANSWERS:
        return []
    with suppress(PlanError):  # scales too far apart for doubles: the closed forms have no such trouble
        return [_solved(listed, domain.coded[1], answers, neighbours, GAP if gap is None else gap)]
    return []


def _solved(listed: Array, unit: Array, answers: Answers, neighbours: str, gap: float) -> Candidate:
    from gaussmith.numerics.optimum import solve
    from gaussmith.shapes.solved import check_lost

    d, size = listed.shape[1], answers.size
    root = np.sqrt(answers.weights)[:, None]
    rows = (answers.matrix if answers.matrix is not None else np.eye(d)[answers.index]) * unit * root
    counted = answers.count and neighbours == ADD_REMOVE
    if counted:
        rows = np.pad(rows, ((0, 1), (0, 1)))
        rows[-1, -1] = 1.0
        listed = np.hstack([listed, np.ones((len(listed), 1))])
    best = solve(listed @ rows.T, pairs=neighbours != ADD_REMOVE, gap=gap)
    lift = best.lift @ rows
    decoded = best.decode @ lift
    public = None
    if neighbours != ADD_REMOVE:
        # What is the same in every record needs no noise: it is filled in from the public number of records.
        middle = listed.mean(axis=0)
        public = (rows @ middle - decoded @ middle) / root[:, 0]
        check_lost(best.decode, (decoded - rows) @ (listed - middle).T)
    else:
        check_lost(best.decode, (decoded - rows) @ listed.T)
    features = best.decode / np.vstack([root, np.ones((1, 1))])[: len(rows)]
    assert len(features) == size + counted
    law = Law("listed", best.lower, {"weights": best.weights / best.weights.sum()})
    return Candidate(Shape("solved", Dense(lift), Dense(features), counted, public), law)
