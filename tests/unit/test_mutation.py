"""The proof by mutants: it makes the changes it says, kills what a test sees, and lets an equivalent change survive."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "proofs" / "mutation"

SOURCE = '''"""A module."""
LIMIT = 3
TWICE = 2 * LIMIT


def clip(x: int = 0) -> int:
    """Not above the limit."""
    if x > LIMIT:
        return LIMIT
    return x


class Tally:
    def count(self, n: int) -> int:
        found = 0
        while n > 0:
            n, found = n - 1, found + 1
        if n != 0:
            raise ValueError(f"{n + 1}")
        return found

    def __repr__(self) -> str:
        return "tally" * 2
'''
TESTS = """
from toy.sums import LIMIT, TWICE, Tally, clip as held

def test_constants_belong_together():
    assert TWICE == LIMIT + 3 and held(1) == 1

def test_a_sum_is_clipped():
    assert held(1) == 1 and held(7) == 3

def test_a_number_is_counted():
    assert Tally().count(2) == 2
"""
DRIVER = """
import json, sys
from functools import partial
from pathlib import Path
import pytest
import mutant_runs
from campaign import Cover, Fates, Modules
from mutant_loading import PROBES, Hook, find_plant, with_probes
from mutants import mutate

mutant_runs.limit = lambda usual: 1.0
modules = Modules(Path("toy"), {"toy": ["sums.py"]})
tests, tried, options = Path("tests.jsonl"), Path("tried.jsonl"), ["-q", "-p", "no:cacheprovider"]
if sys.argv[1] == "record":
    lines = modules.lines["sums"]
    probes = bytearray(len(lines))
    Hook({"toy.sums": partial(with_probes, numbers=lines)}, {PROBES: probes}).install()
    sys.exit(pytest.main([*options, "test_sums.py"], plugins=[mutant_runs.Recorder(tests, probes, 10, slice(None))]))
cover, fates = Cover(tests, modules.lines), Fates(tried)
cases = {case.mutant.key: case for case in modules.cases(["toy"])}
if sys.argv[1] == "functions":
    def jobs():
        for key, case in cases.items():
            plant = find_plant(case.mutant, case.source, "toy")
            if plant is not None:
                yield key, plant, cover.tests(case.mutant, set(), 9)
    tell = lambda key, found: fates.tell(cases[key], found)
    sys.exit(pytest.main([*options, "test_sums.py"], plugins=[mutant_runs.Killer(jobs(), tell)]))
for key, case in cases.items():
    if key not in fates.known:
        install = Hook({"toy.sums": partial(mutate, mutant=case.mutant)}).install
        fates.tell(case, mutant_runs.judge_afresh(install, cover.tests(case.mutant, set(), 9), options))
"""


@pytest.fixture(scope="module")
def fates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What became of every mutant of a toy module."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy").mkdir()
    (folder / "toy" / "__init__.py").touch()
    (folder / "toy" / "sums.py").write_text(SOURCE, "utf-8")
    (folder / "test_sums.py").write_text(TESTS, "utf-8")
    (folder / "driver.py").write_text(f"import sys\nsys.path[:0] = [{str(FOLDER)!r}, '.']\n{DRIVER}", "utf-8")
    for step in ("record", "functions", "imports"):
        made = subprocess.run(
            [sys.executable, "-P", "driver.py", step], cwd=folder, capture_output=True, text=True, timeout=100
        )
        assert "Error" not in made.stderr, made.stderr
    tried = [json.loads(line) for line in (folder / "tried.jsonl").read_text("utf-8").splitlines()]
    return {each["mutant"].removeprefix("sums "): each["fate"] for each in tried}


def test_every_mutant_meets_its_fate(fates: dict[str, str]) -> None:
    assert fates == {
        "<module>: LIMIT = 3 [3 → 4]": "killed",
        "<module>: 2 * LIMIT [* → /]": "killed",
        "<module>: 2 * LIMIT [2 → 3]": "killed",
        "<module>: 0 [0 → 1]": "survived",  # no test uses the default
        "clip: x > LIMIT [> → >=]": "survived",  # equivalent: both are the limit
        "clip: x > LIMIT [> → <=]": "killed",
        "Tally.count: found = 0 [0 → 1]": "killed",
        "Tally.count: n > 0 [> → >=]": "killed",
        "Tally.count: n > 0 [> → <=]": "killed",
        "Tally.count: n > 0 [0 → 1]": "killed",
        "Tally.count: n - 1 [- → +]": "timed out",
        "Tally.count: n - 1 [1 → 2]": "killed",
        "Tally.count: found + 1 [+ → -]": "killed",
        "Tally.count: found + 1 [1 → 2]": "killed",
        "Tally.count: n != 0 [check left out]": "survived",  # never needed
        "Tally.count: n != 0 [!= → ==]": "killed",
        "Tally.count: n != 0 [0 → 1]": "killed",
    }
