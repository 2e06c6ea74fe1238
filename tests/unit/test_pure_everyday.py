"""Under pure ε everything that people do every day goes without μ: `Guarantee.mu` raises, so a forgotten reader shows.

Every step is a public call. What has no pure form is refused in words that say so, never by the error of `mu`.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from planting import plant

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.errors import GaussmithError
from gaussmith.planning.plan import HasNoises, Plan
from gaussmith.planning.query import Query
from gaussmith.releases import saved
from gaussmith.releases.release import Release
from gaussmith.requests.request import Request

REFUSED = {
    "picture-of-pure-noise",
    "error-law-under-pure-epsilon",  # rows_needed, of answers that are no means
    "question-of-several-queries",
    "plan-of-several-questions",
    "covariance-of-groups",
}
"""What some requests have no answer for, under any guarantee or under pure ε, and say so."""
FRAME = pl.DataFrame(
    {
        "x": [0.0, 0.5, 1.0, None, 0.25] * 40,
        "y": [3.0, -1.0, 0.0, 2.0, 5.0] * 40,
        "h": ["a", "b", "a", None, "c"] * 40,
        "r": ["n", "s", "n", "n", "s"] * 40,
        "u": [i // 2 for i in range(200)],
    }
)
ABOUT = {
    "name": "visits", "curator": "an office", "description": "visits by area", "purpose": "planning", "region": "EU",
    "published": "2026-11-19",
}  # fmt: skip
ASKED: dict[str, dict[str, Any]] = {
    "count": {"count": True},
    "sums": {"sums": {"x": (0, 1), "y": (-3, 5)}, "count": True},
    "means": {"means": {"x": (0, 1)}, "count": True, "where": "y > 0"},
    "groups": {"means": {"x": (0, 1)}, "count": True, "by": {"r": ["n", "s"]}},
    "people": {"sums": {"x": (0, 1)}, "unit": "u", "rows_per_unit": 2, "by": {"r": ["n", "s"]}, "groups_per_unit": 2},
    "histogram": {"histograms": {"h": ["a", "b", "c"]}},
    "shares": {"proportions": {"h": ["a", "b", "c"]}},
    "variances": {"variances": {"x": (0, 1)}},
    "covariance": {"covariance": {"x": (0, 1), "y": (-3, 5)}},
    "regression": {"regression": {"of": "y", "on": ["x"]}, "bounds": {"x": (0, 1), "y": (-3, 5)}},
    "median": {"medians": ["x"], "bins": {"x": [0, 0.25, 0.5, 1]}},
    "tables": {"marginals": [["h", "r"], ["r"]], "values": {"h": ["a", "b", "c"], "r": ["n", "s"]}},
    "diagnosis": {"sums": {"x": (0, 1)}, "diagnose": True},
    "questions": {
        "questions": [
            {"name": "spent", "sums": {"x": (0, 1)}},
            {"name": "kinds", "histograms": {"h": ["a", "b", "c"]}},
            {"name": "areas", "means": {"y": (-3, 5)}, "by": {"r": ["n", "s"]}},
        ]
    },
}

PLAN: dict[str, Callable[[Plan], Any]] = {
    "printed": str,
    "shown": lambda plan: plan._repr_html_(),
    "explained": lambda plan: plan.explain(),
    "errors": lambda plan: plan.errors(rows=1_000),
    "error_quantiles": lambda plan: [question.error_quantiles() for question in plan],
    "costs": lambda plan: plan.costs() if len(plan) > 1 else None,
    "saved": lambda plan: gm.read(plan.to_json()),
    "hash": lambda plan: plan.hash,
    "chart": lambda plan: plan.chart(),
    "total_variance": lambda plan: plan.total_variance,
    "bounds": lambda plan: (plan.lower_bound, plan.optimality),
    "standard_errors": lambda plan: plan.standard_errors,
    "rows_needed": lambda plan: plan.rows_needed(0.5) if len(plan) == 1 else None,
    "certified": lambda plan: plan.certify(),
    "shares": lambda plan: plan.shares(),
    "stages": lambda plan: plan.stages,
}
RELEASE: dict[str, Callable[[Release, Path], Any]] = {
    "printed": lambda made, _: str(made),
    "shown": lambda made, _: made._repr_html_(),
    "report": lambda made, folder: made.report(str(folder / "report.html")),
    "polars": lambda made, _: made.to_polars(),
    "pandas": lambda made, _: made.to_pandas(),
    "rows": lambda made, _: made.rows(),
    "saved": lambda made, _: gm.read(made.to_json()),
    "csv": lambda made, folder: made.to_csv(str(folder / "release.csv")),
    "parquet": lambda made, folder: made.to_parquet(str(folder / "release.parquet")),
    "registry": lambda made, _: made.registry(),
    "intervals": lambda made, _: made.intervals() if len(made.plan) == 1 else None,
    "simultaneous": lambda made, _: made.intervals(simultaneous=True) if len(made.plan) == 1 else None,
    "covariance": lambda made, _: made.covariance() if len(made.plan) == 1 else None,
    "notes": lambda made, _: made.notes,
    "diagnosis": lambda made, _: made.diagnosis(),
    "guarantee": lambda made, _: str(made.guarantee),
    "of a group": lambda made, _: (
        (made.total(), made.difference("n", "s"), made.ratio("n", "s"), made.contrasts())
        if made.labels and len(made.plan) == 1
        else None
    ),
    "distribution": lambda made, _: (made.distribution(), made.quantile(0.5)) if made.names == ("x_median",) else None,
}
REQUEST: dict[str, Callable[[Request], Any]] = {
    "printed": repr,
    "shown": lambda request: request._repr_html_(),
    "rehearsed": gm.rehearse,
    "guarantee_for": lambda request: (
        request.guarantee_for({request.plan.names[0]: 5.0}, rows=1_000)
        if len(request.plan) == 1 and request.diagnose is False
        else None
    ),
    "cost_of_missing": lambda request: request.cost_of_missing(),
    "splits": lambda request: request.splits(),
}


def walk(name: str, folder: Path) -> list[str]:
    """The steps that failed in another way than those that are allowed to: where μ was asked for, above all."""
    request = gm.Request(FRAME, guarantee=gm.Guarantee(epsilon=1), about=ABOUT, **ASKED[name])
    made = gm.release(request)
    steps: dict[str, Callable[[], Any]] = {f"request {each}": lambda f=f: f(request) for each, f in REQUEST.items()}
    steps |= {f"plan {each}": lambda f=f: f(request.plan) for each, f in PLAN.items()}
    steps |= {f"release {each}": lambda f=f: f(made, folder) for each, f in RELEASE.items()}
    forgotten = []
    for each, step in steps.items():
        try:
            step()
        except GaussmithError as error:
            if error.code not in REFUSED:
                forgotten.append(f"{each}: {error.code}")
    return forgotten


@pytest.mark.parametrize("name", ASKED)
def test_nothing_that_people_do_every_day_asks_for_mu(name: str, tmp_path: Path) -> None:
    assert walk(name, tmp_path) == []


@pytest.mark.parametrize(
    ("function", "right", "wrong"),
    [
        (HasNoises.lower_bound.func, "0.0 if self.guarantee.is_pure else", ""),
        (Query.share_of, "if self.guarantee.is_pure:", "if False:"),
        (saved._guarantee, "if g.is_pure:", "if False:"),
        (Plan.error_quantiles, "return np.concatenate", "self.spends.rho\n        return np.concatenate"),
    ],
    ids=["a bound", "shares", "a record", "errors"],
)
def test_a_forgotten_reader_is_found(
    function: Any, right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, function, right, wrong)
    assert any(each.endswith("no-mu-of-pure-epsilon") for each in walk("sums", tmp_path))


FLAGS = ["--epsilon=1", "--sum=x:0:1", "--count"]


def said(words: list[str]) -> tuple[int, str]:
    """The exit code of a command, and all that it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main(words)
    return code, printed.getvalue()


def test_the_command_line_goes_without_mu(tmp_path: Path) -> None:
    data, plan, page = (str(tmp_path / name) for name in ("people.parquet", "plan.json", "page"))
    FRAME.write_parquet(data)
    commands = {
        "calibrate": ["calibrate", "--epsilon=1"],
        "plan": ["plan", data, *FLAGS, "--save", plan],
        "plan, json": ["plan", data, *FLAGS, "--json"],
        "rehearse": ["rehearse", data, *FLAGS],
        "release": ["release", data, *FLAGS],
        "release, json": ["release", data, *FLAGS, "--json"],
        "release, report": ["release", data, *FLAGS, "--out", page],
        "least": ["plan", data, "--epsilon=1", "--delta=1e-6", "--sum=x:0:1", "--noise=least"],
        "pure": ["plan", data, "--epsilon=1", "--delta=1e-6", "--sum=x:0:1", "--noise=pure"],
    }
    for name, words in commands.items():
        code, text = said(words)
        assert code == 0, (name, text)
        assert "μ" not in text or "calibrate" in name, (name, text)
    assert json.loads(said(["release", data, *FLAGS, "--json"])[1])["guarantee"] == {"epsilon": 1.0, "delta": 0.0}
    code, text = said(["release", data, "--epsilon=1", "--sum=x:0:1", "--noise=gaussian"])
    assert code == 2 and "δ = 0" in text


def test_a_ledger_without_room_for_pure_noise_refuses_it(tmp_path: Path) -> None:
    """Never a charge of 0 or of another law: what a ledger cannot charge is not released."""
    ledger = gm.Ledger.create(tmp_path / "people.ledger", gm.Guarantee(mu=1))
    request = gm.Request(FRAME, guarantee=gm.Guarantee(epsilon=1), count=True)
    with pytest.raises(GaussmithError):
        gm.release(request, ledger=ledger, id="first")
    assert ledger.spent == 0
