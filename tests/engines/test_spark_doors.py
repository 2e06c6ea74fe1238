"""A few random pairs of neighbours on Spark, with the same integers elsewhere. `./run prove doors` tries more."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from doors.formats import ON_SPARK
from doors.runs import RELEASED
from doors.trials import Combination, try_pair, try_spark

PAIRS = 8


def test_random_neighbours_on_spark(spark: Any, tmp_path: Path) -> None:
    trials = try_spark(PAIRS, secrets.token_hex(4), tmp_path)
    assert [(trial.combination, trial.seed, trial.finding.problems) for trial in trials if trial.finding.problems] == []
    assert any(trial.finding.status == RELEASED for trial in trials)


def test_groups_of_people_in_folders_have_the_same_integers_elsewhere(spark: Any, tmp_path: Path) -> None:
    """Spark lifts one group after the other, Polars and DuckDB all groups at once."""
    combination = Combination("folders of people by Spark", "line breaks", "moments")
    assert try_pair(combination, "b183e537:6", tmp_path, formats=ON_SPARK).finding.problems == ()
