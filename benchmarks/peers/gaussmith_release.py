"""Ours: plan and release, from the file."""

from __future__ import annotations

from collections.abc import Sequence

from child import DELTA, EPSILON, GROUPS, measure

import gaussmith as gm


def release(path: str, rows: int, columns: Sequence[str]) -> tuple[Sequence[float], float]:
    guarantee = gm.Guarantee(epsilon=EPSILON, delta=DELTA)
    if columns[0] == "key":
        return release_groups(path, columns[1], guarantee)
    plan = gm.plan(gm.Box(dict.fromkeys(columns, (0, 1))), guarantee)
    answers = plan.release(path)
    return [answers[name].value for name in columns], float(plan.standard_errors[0])


def release_groups(path: str, column: str, guarantee: gm.Guarantee) -> tuple[Sequence[float], float]:
    request = gm.Request(path, sums={column: (0, 1)}, by={"key": list(range(GROUPS))}, guarantee=guarantee)
    answers = gm.release(request)
    return answers.values[:, 0].tolist(), float(request.plan.standard_errors[0])


if __name__ == "__main__":
    measure(release, "gaussmith", "polars", "numpy")
