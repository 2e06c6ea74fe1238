"""Every door: whatever a user passes, a person changes no more than is charged, and nothing else that can be seen.

A hundred fresh random pairs and all named cases; `./run prove doors` tries thousands, in every combination: what it
found is in docs/evidence/doors.json.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from doors.cases import every_case
from doors.comparison import LIMITS
from doors.pairs import Case, try_case
from doors.trials import Trial, try_pairs

PAIRS = 120

ROOT = Path(__file__).parents[2]


def told(trial: Trial) -> str:
    """How to make a pair again, and what it showed."""
    each = trial.combination
    return f"./run prove doors --again '{each.format}/{each.ids}/{each.ask}/{trial.seed}': {trial.finding.problems[0]}"


def test_random_neighbours_through_every_door(tmp_path: Path) -> None:
    tally = try_pairs(PAIRS, secrets.token_hex(4), tmp_path)
    assert tally.pairs == PAIRS
    assert [told(trial) for trial in tally.violations] == []
    assert tally.accepted.total() > PAIRS / 2 and tally.largest > 0.9  # somebody comes close to what is charged


@pytest.mark.parametrize("case", every_case(), ids=lambda case: case.name)
def test_named_pairs(case: Case, tmp_path: Path) -> None:
    found = try_case(case, tmp_path)
    assert found.problems == ()


def test_every_limit_is_stated() -> None:
    stated = " ".join((ROOT / "SECURITY.md").read_text("utf-8").split())
    assert [sentence for sentence in LIMITS.values() if sentence not in stated] == []


def test_names_of_cases_are_distinct() -> None:
    names = [case.name for case in every_case()]
    assert len(set(names)) == len(names)
    assert {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12} == {case.item for case in every_case()}
