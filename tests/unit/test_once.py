"""Nothing is done twice on the way of a release, and the usual confidence is said in one place."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import damaged, refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines import registry
from gaussmith.planning.plan import Plan
from gaussmith.releases import release as releases

G = gm.Guarantee(epsilon=1, delta=1e-6)


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": [0.25, 0.5] * 2_000, "person": range(4_000)}).write_parquet(path)
    return str(path)


def counting(monkeypatch: pytest.MonkeyPatch, holder: Any, name: str) -> list[Any]:
    """What a function is called with from now on: its first argument, call by call."""
    real, seen = getattr(holder, name), []

    def counted(first: Any, *others: Any, **named: Any) -> Any:
        seen.append(first)
        return real(first, *others, **named)

    monkeypatch.setattr(holder, name, counted)
    return seen


def test_a_plan_is_certified_once_and_what_is_made_of_it_for_itself(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = counting(monkeypatch, Plan, "certify")
    request = gm.Request(table, sums={"a": (0, 1)}, guarantee=G, about={"purpose": "a study"})
    gm.release(request)
    gm.release(request)
    assert seen == [request.plan]
    smaller = replace(request.plan, guarantee=gm.Guarantee(mu=request.plan.guarantee.mu / 2))
    with refused(damaged("queries that spend too much")):
        mechanism.prepare_request(smaller, table)
    assert len(seen) == 2


@pytest.mark.parametrize(
    "asked",
    [
        {"sums": {"a": (0, 1)}, "count": True},
        {"sums": {"a": "private"}, "unit": "person"},
        {"count": True, "by": {"person": "found"}, "keys_first": True},
    ],
)
def test_a_table_is_opened_once_for_all_stages(
    asked: dict[str, Any], table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = gm.Request(table, guarantee=G, **asked)
    opened = counting(monkeypatch, registry, "find_files")
    gm.release(request)
    assert opened == [table]


def test_private_bounds_plan_the_guess_the_first_stage_and_the_answers(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = counting(monkeypatch, gm.Request, "_plan")
    gm.release(gm.Request(table, sums={"a": "private"}, unit="person", guarantee=gm.Guarantee(mu=3)))
    assert len(seen) == 3


def test_answers_are_computed_once_and_nobody_can_change_them(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = gm.release(gm.Request(table, sums={"a": (0, 1)}, guarantee=G))
    computed = counting(monkeypatch, releases, "answer_columns")
    shown = str(release)
    release.columns()["value"][0] = 0.0
    assert str(release) == shown and release.rows()[0]["value"] == release.value
    assert len(computed) == 1
    assert release.columns(0.5)["upper"][0] < release.columns()["upper"][0]
    with refused("probability-out-of-range"):
        release.columns([0.5])


OTHER = """
import gaussmith.checks as checks
checks.CONFIDENCE, checks.PERCENT = 0.9, "90 %"
import gaussmith as gm
import polars as pl
made = gm.release(gm.Request(pl.DataFrame({"a": [1.0] * 99}), sums={"a": (0, 2)}, guarantee=gm.Guarantee(mu=1)))
assert made.interval() == made.interval(0.9) != made.interval(0.95)
assert made.rows()[0]["upper"] == made.interval(0.9)[1]
assert made.to_dict()["confidence"] == 0.9
for shown in (str(made), made._repr_html_(), str(made.presented())):
    assert "90 % interval" in shown and "95 %" not in shown
"""


def test_another_usual_confidence_is_one_change() -> None:
    subprocess.run([sys.executable, "-c", OTHER], check=True)
