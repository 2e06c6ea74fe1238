"""Moments from the command line and from TOML: the same plan; the page has a plot of coefficients."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.cli.flags import read_regression
from gaussmith.report.error_bars import coefficient_spec

BOUNDS = {"age": (0, 110), "bmi": (10, 70), "income": (0, 200_000)}
TOML = """
source = "people.parquet"
bounds = { age = [0, 110], bmi = [10, 70], income = [0, 200000] }
variances = ["age"]
covariance = ["age", "bmi"]
regression = { of = "income", on = ["age", "bmi"] }
guarantee = { mu = 100 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    age, bmi = rng.uniform(10, 100, 3000), rng.uniform(15, 60, 3000)
    data = {"age": age, "bmi": bmi, "income": 20_000 + 900 * age + rng.normal(0, 5_000, 3000)}
    pl.DataFrame(data).write_parquet(tmp_path / "people.parquet")
    (tmp_path / "request.toml").write_text(TOML, "utf-8")
    return tmp_path


def test_flags_and_toml_ask_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--variance", "age", "--covariance", "age,bmi", "--regression", "income~age+bmi", "--mu", "100"]
    flags += [word for name, (low, high) in BOUNDS.items() for word in ("--bounds", f"{name}:{low}:{high}")]
    assert main(["plan", str(folder / "people.parquet"), *flags, "--rows", "3000", "--json"]) == 0
    by_flags = json.loads(capsys.readouterr().out)
    assert main(["plan", str(folder / "request.toml"), "--rows", "3000", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"] == by_flags["plan"]
    assert set(by_flags["errors"]) >= {"age_variance", "age_sd", "age_bmi_correlation", "income_on_age"}


def test_a_release_from_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", str(folder / "request.toml"), "--json"]) == 0
    answers = {row["answer"]: row for row in json.loads(capsys.readouterr().out)["answers"]}
    assert answers["income_on_age"]["value"] == pytest.approx(900, abs=30)
    assert answers["age_sd"]["status"] == "noisy"


def test_the_page_has_a_plot_of_coefficients(folder: Path) -> None:
    release = gm.release(gm.Request.from_toml(folder / "request.toml"))
    spec = coefficient_spec(release)
    assert spec is not None
    rows = spec["data"]["values"]
    assert [row["answer"] for row in rows] == ["income_on_age", "income_on_bmi"]
    assert rows[0]["low"] < rows[0]["value"] < rows[0]["high"]
    assert rows[0]["value"] == pytest.approx(release["income_on_age"].value * 110 / 200_000 * 100)
    assert "when a column moves across its whole range" in release.report(folder / "page.html").read_text("utf-8")
    other = gm.release(
        gm.Request(str(folder / "people.parquet"), variances={"age": (0, 110)}, guarantee=gm.Guarantee(mu=1))
    )
    assert coefficient_spec(other) is None


@pytest.mark.parametrize("text", ["income", "~age", "income~", "income~age+"])
def test_a_regression_that_is_none_is_refused(text: str) -> None:
    with refused("regression-flag-malformed", text=text):
        read_regression("--regression", text)
