"""The workflow of the hosting site runs what .ci/run runs, on every Python that the package declares."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="it comes with the builder of the site")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / ".github" / name).read_text("utf-8"))


def test_the_workflow_runs_every_step_of_the_script() -> None:
    jobs = read("workflows/check.yml")["jobs"]
    done = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}
    steps = set(re.findall(r"^\./run .+$", (ROOT / ".ci" / "run").read_text("utf-8"), flags=re.M))
    assert len(steps) == 4 and steps <= done and "./run package" in done


def test_the_tests_run_on_every_declared_python() -> None:
    matrix = read("workflows/check.yml")["jobs"]["tests"]["strategy"]["matrix"]["python"]
    declared = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)]
    assert len(declared) > 3 and set(declared) <= set(matrix)
    assert PROJECT["requires-python"] == f">={matrix[0]}"


def test_forms_ask_for_no_real_data_and_have_what_a_form_needs() -> None:
    for name in ("bug", "question"):
        form = read(f"ISSUE_TEMPLATE/{name}.yml")
        assert {"name", "description", "body"} <= set(form)
        assert all("label" in part["attributes"] for part in form["body"] if part["type"] != "markdown")
    assert "Never paste real data" in (ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text("utf-8")


def test_hooks_call_the_tools_of_the_checks() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    checks = (ROOT / "run").read_text("utf-8")
    for entry in re.findall(r"entry: \.venv/bin/(\S+)", text):
        assert f"$venv/{entry}" in checks, entry
