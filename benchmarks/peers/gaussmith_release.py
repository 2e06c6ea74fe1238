"""Ours: plan and release, from the file."""

from __future__ import annotations

from collections.abc import Sequence

from child import DELTA, EPSILON, measure

import gaussmith as gm


def release(path: str, rows: int, columns: Sequence[str]) -> tuple[Sequence[float], float]:
    plan = gm.plan(gm.Box(dict.fromkeys(columns, (0, 1))), gm.Guarantee(epsilon=EPSILON, delta=DELTA))
    answers = plan.release(path)
    return [answers[name].value for name in columns], float(plan.standard_errors[0])


if __name__ == "__main__":
    measure(release, "gaussmith", "polars", "numpy")
