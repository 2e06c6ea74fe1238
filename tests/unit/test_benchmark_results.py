"""What is published was measured: README and results.md are made from results.json, which names no machine."""

from __future__ import annotations

import importlib
import json
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripts import importing

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@pytest.fixture(scope="module")
def report() -> Iterator[Any]:
    with importing("benchmarks"):
        yield importlib.import_module("report")


@pytest.fixture(scope="module")
def results() -> Any:
    return json.loads((RESULTS / "results.json").read_text("utf-8"))


def words(value: Any) -> Iterator[str]:
    """Every text in a nest of lists and dictionaries."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from words(inner)
    elif isinstance(value, str):
        yield value


def test_the_readme_shows_what_was_measured(report: Any, results: Any) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert report.with_measured(readme, results) == readme
    for pattern, planted in (
        (r"(\| OpenDP Context \| )[\d.]+", r"\g<1>9.9"),
        (r"[\d.]+( times the squared error)", r"9.9\1"),
        (r"(at most )[\d.]+( times the minimum)", r"\g<1>1.000\2"),
        (r"(95 % intervals hold at least )\d+", r"\g<1>95"),
    ):
        changed = re.sub(pattern, planted, readme)
        assert changed != readme
        assert report.with_measured(changed, results) == readme


def test_the_comparison_shows_what_was_measured(report: Any, results: Any) -> None:
    page = (ROOT / "docs" / "compared.md").read_text("utf-8")
    assert report.with_tables(page, results) == page
    for pattern, planted in (
        (r"(\| OpenDP Context [\d.]+ \| )[\d.]+", r"\g<1>9.9"),
        (r"[\d.]+( times for ten filtered counts)", r"9.9\1"),
    ):
        changed = re.sub(pattern, planted, page)
        assert changed != page
        assert report.with_tables(changed, results) == page


def test_the_page_of_results_is_made_from_them(report: Any, results: Any) -> None:
    assert (RESULTS / "results.md").read_text("utf-8") == report.markdown(results)
    for chart in ("peers.svg", "growth.svg"):
        assert (RESULTS / chart).read_text("utf-8").startswith("<svg")


def test_the_page_of_keys_shows_what_was_measured(report: Any, results: Any) -> None:
    page = (ROOT / "docs" / "keys.md").read_text("utf-8")
    assert report.place(page, "keys", report.keys_table(results)) == page
    changed = page.replace("| Gaussmith | ", "| Gaussmith | 9", 1)
    assert changed != page
    assert report.place(changed, "keys", report.keys_table(results)) == page


def test_our_errors_are_the_planned_ones_and_the_measured_ones(report: Any, results: Any) -> None:
    for case, columns in report.WIDTHS.items():
        ours = results["peers"]["cases"][case][report.OURS]
        assert ours["stated"] == pytest.approx(report.our_error(columns), rel=0.01)
        # A root mean square of N errors that share one coordinate: within 8 of its own standard errors.
        assert abs(ours["measured"] / ours["stated"] - 1) < 8 / (2 * ours["samples"]) ** 0.5


def test_our_totals_of_several_questions_are_the_planned_ones(report: Any, results: Any) -> None:
    jobs = importlib.import_module("jobs")
    assert list(results["jobs"]["totals"]) == list(jobs.JOBS)
    for job, total in results["jobs"]["totals"].items():
        assert total == pytest.approx(jobs.make_request(job, "visits.parquet").plan.total_variance, rel=1e-6)
    measured = {tool for job in results["jobs"]["ratios"].values() for tool in job}
    assert measured == {tool for tools in report.LIBRARIES.values() for tool in tools} == {t.title for t in jobs.PEERS}


def test_the_table_of_jobs_has_the_answers_that_are_counted(report: Any) -> None:
    """Whatever the tools drop or clip, it is nothing: the limits that the jobs state hold in the table."""
    jobs = importlib.import_module("jobs")
    table = jobs.make_table()
    people = table.group_by("person")
    assert people.n_unique().select("region", "health", "work", "home", *(f"yes{i}" for i in range(10))).max().row(
        0
    ) == ((1,) * 14)
    for job in jobs.JOBS.values():
        for question in job:
            answers = jobs.count_exactly(table, question)
            assert len(answers) == question.answers and min(answers) > 0
            if question.total:
                assert people.agg(jobs.pl.col(question.total).sum())[question.total].max() <= question.width
                assert sum(answers) == table[question.total].sum()
    assert jobs.add_up("ten filtered counts", [3.0] * 10) == 90
    months = next(iter(jobs.JOBS))
    assert jobs.add_up(months, [2.0] * 12 + [500.0] * 4 + [1.0]) == 12 * 4 + 4 + 1


def test_a_peer_that_was_not_measured_is_named(report: Any, results: Any) -> None:
    part = results["jobs"]
    without = {
        job: {tool: found[tool] for tool in found if tool != "OpenDP Context"} for job, found in part["ratios"].items()
    }
    left_out = {"OpenDP Context": "its packages could not be made"}
    changed = {"jobs": {**part, "ratios": without, "left_out": left_out}}
    assert "OpenDP's Context could not be measured." in report.readme_jobs(changed)
    assert "| OpenDP Context | left out: its packages could not be made | | |" in report.markdown(changed)
    nothing = {"jobs": {**part, "ratios": {job: {} for job in part["ratios"]}}}
    assert report.readme_jobs(nothing).startswith("Peers could not be installed")


def test_every_benchmark_with_figures_is_published(report: Any) -> None:
    named = set()
    for file in (ROOT / "benchmarks").glob("*.py"):
        named |= set(re.findall(r'Findings\(\s*"(\w+)"', file.read_text("utf-8")))
    assert len(named) > 15 and named <= {*report.EVERY}


def test_aims_that_are_missed_are_listed_first(report: Any, results: Any) -> None:
    figures = [{"what": "slow", "found": 3.0, "at_most": 1.4}, {"what": "quick", "found": 1.0, "at_most": 1.4}]
    part = {**results["release"], "title": "Start-up", "figures": figures}
    page = report.markdown({**results, "start": part})
    assert page.index("## Aims that are missed") < page.index("## Peers")
    assert "| Start-up: slow | 3 | at most 1.4 |" in page and "| Start-up: quick" not in page
    assert "| slow | 3 | at most 1.4 | ✗ |" in page
    assert [one["what"] for _, one in report.missed({"start": part})] == ["slow"]


def test_the_published_claims_hold(report: Any, results: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert importlib.import_module("peers").judge(results["peers"]["cases"])
    assert capsys.readouterr().out.count("✓") == 5
    for found in results["growth"]["series"].values():
        assert max(found["exponents"]["all"], found["exponents"]["upper"]) <= 1.05
    assert all(found["memory"] <= 1.25 for name, found in results["growth"]["series"].items() if "rows" in name)
    findings = importlib.import_module("findings")
    judged = [one for name in report.FIGURES for one in results[name]["figures"]]
    judged += results.get("statistics", {"figures": []})["figures"]
    assert [one["what"] for one in judged if not findings.holds(one)] == []
    assert sum(bool(findings.claim(one)) for one in judged) > 40


def test_a_figure_that_misses_its_claim_is_seen(report: Any) -> None:
    holds = importlib.import_module("findings").holds
    assert holds({"found": 1.4, "at_most": 1.5}) and not holds({"found": 1.6, "at_most": 1.5})
    assert holds({"found": 6.0, "at_least": 5}) and not holds({"found": 4.0, "at_least": 5})
    assert not holds({"found": float("nan"), "at_most": 1.5})


def test_results_name_no_machine_and_no_path(results: Any) -> None:
    found = set(words(results))
    assert len(found) > 20
    assert not [word for word in found if word.startswith(("/", "~")) or platform.node() in word.split()]


def test_a_readme_without_the_marks_is_refused(report: Any, results: Any) -> None:
    with pytest.raises(ValueError, match="0 places for 'peers'"):
        report.with_tables("# Nothing", results)


def test_ratios_are_medians_over_shared_rounds(report: Any) -> None:
    def runs(*seconds: float) -> dict[str, Any]:
        return {"runs": [{"round": i, "seconds": value} for i, value in enumerate(seconds)]}

    case = {"a": runs(2.0, 9.0, 4.0), "b": runs(1.0, 1.0), "c": {"skipped": "no"}}
    assert report.ratio(case, "a", "b") == 5.5
    assert report.ratio(case, "a", "c") is None
