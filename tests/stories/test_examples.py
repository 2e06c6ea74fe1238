"""The stories in examples/, run as a reader would run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import gaussmith as gm
from gaussmith import cli

EXAMPLES = Path(__file__).parents[2] / "examples"
SRC = Path(gm.__file__).parents[1]


def python(file: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(SRC), "PYTHONUTF8": "1"}
    command = [sys.executable, str(EXAMPLES / file), *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


def test_health_visits_by_self_rated_health(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = str(EXAMPLES / "health_by_status.toml")
    assert cli.main(["plan", request, "--rows", "1000"]) == 0
    plan = capsys.readouterr().out
    assert "visits by health: 75 % of the budget" in plan
    assert cli.main(["release", request, "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "only rows where physlm > 0.5 and idp == 1" in out
    table = pl.read_parquet(tmp_path / "out" / "answers.parquet")
    data = pl.read_parquet(SRC / "gaussmith" / "data" / "randhie.parquet")
    truth = {
        **{("visits by health", key[0], "count"): len(rows) for key, rows in data.group_by("health")},
        **{("visits by health", key[0], "mdvis_sum"): rows["mdvis"].sum() for key, rows in data.group_by("health")},
        ("limited people with a deductible", None, "count"): data.filter(
            pl.col("physlm") > 0.5, pl.col("idp") == 1
        ).height,
    }
    for (question, health, answer), exact in truth.items():
        row = table.filter(
            pl.col("question") == question, pl.col("health").eq_missing(health), pl.col("answer") == answer
        ).row(0, named=True)
        assert abs(row["value"] - exact) < 8 * row["standard_error"], (question, health, answer)
    record = json.loads((tmp_path / "out" / "release.json").read_text())
    assert record["shares"] == pytest.approx({"visits by health": 0.75, "limited people with a deductible": 0.25})


def test_trips_with_many_rows_per_rider(tmp_path: Path) -> None:
    done = python("trips.py", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    printed = " ".join(done.stdout.split())
    assert "a person is all rows with the same rider; rows without one are dropped" in printed
    assert "at most 20 rows per person count" in done.stdout
    zones = pl.read_csv(tmp_path / "zones.csv")
    assert zones["zone"].unique(maintain_order=True).to_list() == ["centre", "harbour", "hills", "airport", "islands"]
    trips = pl.read_parquet(tmp_path / "trips.parquet")
    row = zones.filter(pl.col("zone") == "centre", pl.col("answer") == "km_mean").row(0, named=True)
    exact = trips.filter(pl.col("zone") == "centre")["km"].clip(0, 30).mean()
    assert abs(row["value"] - exact) < 8 * row["standard_error"] + 0.1  # what scaling down may add


def test_the_weekly_job_stops_at_the_week_that_would_overdraw_the_ledger(tmp_path: Path) -> None:
    done = python("weekly_job.py", str(tmp_path))
    lines = done.stdout.splitlines()
    assert done.returncode == 3
    assert len(lines) == 8
    assert all(line.startswith(f"2024-W{week:02d}: ") for week, line in enumerate(lines, start=1))
    assert lines[-1].startswith("2024-W08: refused. the release asks for epsilon=1 at delta=1e-06")
    assert "at most epsilon=0.680055 at delta=1e-06 fits" in lines[-1]
    assert not (tmp_path / "2024-W08.json").exists()
    before = (tmp_path / "2024-W03.json").read_bytes()
    again = python("weekly_job.py", str(tmp_path), "2024-W03")  # started again: the same bytes, no charge
    assert again.returncode == 0
    assert (tmp_path / "2024-W03.json").read_bytes() == before
    ledger = gm.Ledger(tmp_path / "year.ledger")
    records = [file.read_bytes().removesuffix(b"\n") for file in sorted(tmp_path.glob("2024-*.json"))]
    found = ledger.verify(records=records)
    assert (found.releases, found.pending, len(records)) == (7, (), 7)
    assert python("weekly_job.py").returncode == 1
