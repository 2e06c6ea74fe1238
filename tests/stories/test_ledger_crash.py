"""A ledger, in a file and on PostgreSQL, under eight processes and under SIGKILL at every failpoint."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import gaussmith
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import NAMES, UPGRADE_NAMES
from gaussmith.ledger.units import PURE_UNITS, charge_units
from gaussmith.privacy.guarantee import Guarantee

CHARGE = charge_units(0.125)


def run_workers(count: int, *arguments: str) -> list[Any]:
    """The answers of so many processes, started together."""
    worker = Path(__file__).with_name("ledger_worker.py")
    path = os.pathsep.join([str(Path(gaussmith.__path__[0]).parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(worker), *arguments]
    workers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})
        for _ in range(count)
    ]
    answers = [worker.communicate(timeout=240)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * count
    return [json.loads(answer) for answer in answers]


@pytest.fixture(params=["file", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger of its own may be made."""
    if request.param == "file":
        return str(tmp_path / "study.ledger")
    return str(request.getfixturevalue("postgres_location"))


def test_eight_processes_get_exactly_what_the_ledger_holds(location: str, tmp_path: Path) -> None:
    ledger = Ledger.create(location, Guarantee(rho=100 * 2.0**-7))
    assert ledger.budget == 100 * CHARGE
    answers = run_workers(8, "race", location, "50")
    granted = [name for answer in answers for name in answer]
    assert len(granted) == len(set(granted)) == 100
    found = ledger.verify()
    assert found.spent == ledger.budget
    assert sorted(found.pending) == sorted(granted)
    assert {file.name for file in tmp_path.iterdir()} <= {"study.ledger", "study.ledger.head"}


def test_eight_processes_get_what_each_part_of_the_ledger_holds(location: str, tmp_path: Path) -> None:
    """Pure ε and μ² are granted to the last unit, and nothing moves between them."""
    ledger = Ledger.create(location, Guarantee(epsilon=4, delta=1e-6), pure_epsilon=2)
    answers = run_workers(8, "race-pure", location, "40")
    granted = Counter(name.split()[0] for answer in answers for name in answer)
    assert granted == {"pure": 20, "noise": ledger.budget // CHARGE} and granted["noise"] < 160
    found = ledger.verify()
    assert found.pure_spent == found.pure_budget and found.spent == granted["noise"] * CHARGE


def test_a_conversion_that_is_killed_anywhere_loses_nothing(tmp_path: Path) -> None:
    """At three failpoints and at any time: 52 kills."""
    old = Path(__file__).parents[1] / "shared" / "ledgers" / "format-2.ledger"
    for suffix in ("", ".head"):
        shutil.copy(old.with_name(old.name + suffix), tmp_path / f"study.ledger{suffix}")
    (cases,) = run_workers(1, "upgrade", str(tmp_path / "study.ledger"), "13")
    assert Counter(case["place"] for case in cases) == dict.fromkeys((*UPGRADE_NAMES, "any time"), 13)
    assert all(case["killed"] for case in cases if case["place"] != "any time")  # which may come after the end
    assert all(case["same"] for case in cases)
    assert {case["charged"] for case in cases} == {"new"}
    assert {tuple(case["left"]) for case in cases} == {("study.ledger", "study.ledger.head")}


def test_a_kill_anywhere_neither_loses_a_charge_nor_doubles_a_value(location: str, tmp_path: Path) -> None:
    """Killed at every failpoint and at any time, ten times each, and retried by two at once; half with pure noise."""
    ledger = Ledger.create(location, Guarantee(epsilon=50, delta=1e-6), pure_epsilon=10)
    (cases,) = run_workers(1, "crash", location, "10")
    assert Counter(case["place"] for case in cases) == dict.fromkeys((*NAMES, "any time"), 10)
    assert all(case["killed"] for case in cases if case["place"] in NAMES)
    assert sum(case["failed"] for case in cases) == 0
    assert sum(case["opened uncharged"] for case in cases) == 0
    assert {len(case["values"]) for case in cases} == {1}
    assert len({value for case in cases for value in case["values"]}) == len(cases)
    found = ledger.verify(records=[bytes.fromhex(case["values"][0]) for case in cases])
    assert found.spent == len(cases) // 2 * CHARGE
    assert found.pure_spent == len(cases) // 2 * PURE_UNITS // 10
    assert (found.releases, found.pending) == (len(cases), ())
    assert {file.name for file in tmp_path.iterdir()} <= {"study.ledger", "study.ledger.head"}


@pytest.mark.parametrize(
    ("mutant", "notice"),
    [
        ("opens before it charges", lambda case: case["opened uncharged"]),
        ("shows before it stores", lambda case: len(case["values"]) > 1),
        ("shows its own", lambda case: len(case["values"]) > 1),
    ],
)
def test_the_story_notices_a_release_in_the_wrong_order(tmp_path: Path, mutant: str, notice: Any) -> None:
    path = tmp_path / "study.ledger"
    Ledger.create(path, Guarantee(mu=10))
    (cases,) = run_workers(1, "crash", str(path), "1", mutant)
    assert any(notice(case) for case in cases)
