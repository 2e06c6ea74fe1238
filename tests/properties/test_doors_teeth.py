"""The harness itself: faults that are planted in a release, a reader or a writer must be found by it."""

from __future__ import annotations

import importlib.util
import json
import math
import random
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from doors.asks import GUARANTEE
from doors.comparison import LIMITS, compare, compare_engines, forgive
from doors.formats import FORMATS
from doors.noise import Query
from doors.pairs import COUNT, Case, try_case
from doors.runs import RELEASED, Outcome
from doors.source_cases import INTEGERS, folder_pair
from doors.tables import Table, neighbours
from doors.trials import Combination, compare_schemas, try_pair
from doors.values import IDS, spelt

from gaussmith import mechanism

ROOT = Path(__file__).parents[2]
TRIES = 100
"""Pairs until a fault must have been found; each of those planted here shows in one of twenty, or more often."""


def problems(folder: Path, combination: Combination, change: Callable[[Table], Table] | None = None) -> str:
    """What is found first in a number of random pairs; empty if nothing is."""
    for number in range(TRIES):
        found = try_pair(combination, f"planted {number}", folder, change).finding
        if found.problems:
            return found.problems[0]
    return ""


def test_nothing_is_found_where_nothing_is_planted(tmp_path: Path) -> None:
    assert problems(tmp_path, Combination("Polars", "text", "sums")) == ""


# -- planted in the release --------------------------------------------------------------------------------------------

ADD = mechanism.add


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        (lambda y, z: ADD(y, z - (3 << 52) // 10), "above 1"),
        (lambda y, z: ADD(y, z * 0), "without noise"),
        (lambda y, z: ADD(y, z * 0 + (1 << 52)), "used twice"),
        (lambda y, z: print(int(y[0])) or ADD(y, z), "printed text differs"),
        (lambda y, z: print(int(y[0]), file=sys.stderr) or ADD(y, z), "printed text differs"),
        (lambda y, z: warnings.warn(str(y[0]), stacklevel=1) or ADD(y, z), "warnings differs"),
        (lambda y, z: ADD(y, z)[: 1 if y[0] > 0 else None], "not ours"),
    ],
    ids=["0.7 of the noise", "no noise", "one noise", "stdout", "stderr", "warning", "crash"],
)
def test_a_fault_of_the_release_is_found(
    planted: Any, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanism, "add", planted)
    assert found in problems(tmp_path, Combination("Polars", "text", "sums"))


# -- planted in what is read: mistakes that a reader could make --------------------------------------------------------


def numbered(table: Table) -> Table:
    """Every row a person of its own: what one person adds is then no longer limited."""
    return table.with_rows(
        [
            {**row, "person": None if row["person"] is None else f"{row['person']} {i}"}
            for i, row in enumerate(table.rows)
        ]
    )


def casefolded(table: Table) -> Table:
    return table.mapped("person", lambda value: None if value is None else value.casefold())


def as_numbers(table: Table) -> Table:
    def read(text: Any) -> Any:
        try:
            return repr(float(text))
        except (TypeError, ValueError):
            return text

    return table.mapped("person", read)


def decoded(table: Table) -> Table:
    def read(value: Any) -> Any:
        return None if value is None else value.encode("utf-8", "replace").decode()

    return table.mapped("person", read)


def to_microseconds(table: Table) -> Table:
    return table.mapped("person", lambda value: None if value is None else value // 1000 * 1000)


def nobody_counted(table: Table) -> Table:
    return table.mapped("person", lambda value: "nobody" if value is None else value)


@pytest.mark.parametrize(
    ("format", "ids", "ask", "change"),
    [
        ("Polars", "text", "means of rows", numbered),
        ("CSV", "text", "count", numbered),
        ("Polars lazy", "text", "sums", casefolded),
        ("TSV", "text", "means of people", casefolded),
        ("PyArrow", "text", "pairs", casefolded),
        ("CSV", "text of numbers", "sums", as_numbers),
        ("CSV", "invalid bytes", "sums", decoded),
        ("Feather", "datetime ns", "sums", to_microseconds),
        ("Feather", "text", "count", nobody_counted),
    ],
)
def test_a_fault_of_a_reader_is_found(
    format: str, ids: str, ask: str, change: Callable[[Table], Table], tmp_path: Path
) -> None:
    found = problems(tmp_path, Combination(format, ids, ask), change)
    assert "above 1" in found or "record differs" in found or "nobody" in found


def test_types_inferred_from_names_of_folders_are_found(tmp_path: Path) -> None:
    def typed(folder: Path, has: bool) -> pl.LazyFrame:
        return pl.scan_parquet(folder_pair(INTEGERS, "1e5")(folder, has), hive_partitioning=True)

    found = try_case(Case("planted", 1, typed, COUNT), tmp_path)
    assert found.ratio > 10


def test_another_schema_is_found(tmp_path: Path) -> None:
    """A file of texts whose first record decides on the columns."""

    def write(table: Table, folder: Path, columns: Any) -> pl.DataFrame:
        frame = FORMATS["Polars"].write(table, folder, columns)
        return frame.with_columns(pl.lit(1).alias(str(spelt(IDS["text"].type, frame["person"][0]))))

    form = replace(FORMATS["Polars"], write=write)
    for number in range(20):
        pair = neighbours("text", random.Random(number), form.identity, is_text=False, single=False, replaced=False)
        sources = [write(table, tmp_path, ()) for table in pair if table.rows]
        if len(sources) == 2 and compare_schemas(sources, [tmp_path, tmp_path], form):
            return
    pytest.fail("no difference of columns was found")


# -- the comparison is exact -------------------------------------------------------------------------------------------


def outcome(*lifted: int, said: str = "{}", status: str = RELEASED) -> Outcome:
    noise = tuple((1 << 52) + i for i in range(len(lifted)))
    return Outcome(status, said, 0, queries=(Query(lifted, noise),))


def test_a_single_unit_of_the_grid_beyond_the_charge_is_found() -> None:
    most = math.floor(Fraction(GUARANTEE.mu) * 2**52)
    assert compare(outcome(0), outcome(most)).problems == ()
    assert compare(outcome(0), outcome(most + 1)).problems == ("ratio 1.000 is above 1",)
    half = math.isqrt(most**2 // 2)
    assert compare(outcome(0, 0), outcome(half, half)).problems == ()
    assert compare(outcome(0, 0), outcome(half + 1, half + 1)).square > 1


def test_rows_of_nobody_and_other_engines_leave_the_integers_alone() -> None:
    assert compare(outcome(0), outcome(1), same=True).problems == ("rows of nobody change the integers",)
    assert compare_engines(outcome(1), outcome(2)) == ("other integers",)
    assert compare_engines(outcome(1), outcome(1)) == ()


def test_no_limit_lifts_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "planted", "a sentence")
    failed = outcome(0, status="failed", said="DataError: …")
    assert compare(outcome(0), failed).problems != ()
    assert forgive(compare(outcome(0), failed), "planted").problems == ()
    assert forgive(compare(outcome(0), failed), "another").problems != ()
    assert forgive(compare(outcome(0), outcome(1 << 60)), "planted").problems != ()


# -- the proof ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def proof(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("proof_of_doors", ROOT / "proofs" / "doors.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "EVIDENCE", tmp_path / "evidence" / "doors.json")
    monkeypatch.setattr(module, "every_case", list)  # they have tests of their own
    return module


def test_the_proof_says_what_was_tried_and_fails_if_something_was_not(
    proof: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert proof.main(["--count", "4", "--seed", "abc", "--spark", "0"]) == 1
    shown = capsys.readouterr().out
    assert "seed abc" in shown and "combinations were not tried" in shown
    for name in FORMATS:
        assert f"\n{name} " in shown
    evidence = json.loads(proof.EVIDENCE.read_text("utf-8"))
    assert evidence["pairs"] == 4 == evidence["accepted"] + evidence["refused"]
    assert evidence["seed"] == "abc" and {"commit", "seconds", "versions"} <= evidence.keys()


def test_one_pair_is_tried_again(proof: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert proof.main(["--again", "Polars/text/sums/abc:1"]) == 0
    assert "released, ratio" in capsys.readouterr().out
    assert proof.main(["--again", "Polars/texts/sums/abc:1"]) == 2
