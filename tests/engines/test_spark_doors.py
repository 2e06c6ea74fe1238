"""A few random pairs of neighbours on Spark, with the same integers elsewhere. `./run prove doors` tries more."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from doors.runs import RELEASED
from doors.trials import try_spark

PAIRS = 8


def test_random_neighbours_on_spark(spark: Any, tmp_path: Path) -> None:
    trials = try_spark(PAIRS, secrets.token_hex(4), tmp_path)
    assert [(trial.combination, trial.seed, trial.finding.problems) for trial in trials if trial.finding.problems] == []
    assert any(trial.finding.status == RELEASED for trial in trials)
