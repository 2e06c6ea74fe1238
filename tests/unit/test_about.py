"""What a curator says about a release: checked, kept in plan and record, shown in the report, put into a registry."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.report.reviewers import EVENTS, review_rows

ROOT = Path(__file__).parents[2]
PEOPLE = pl.DataFrame({"person": [*range(60)] * 2, "region": ["north", "south"] * 60, "spent": [3.0] * 120})
G = gm.Guarantee(epsilon=1, delta=1e-6)
FIRST = {
    "name": "Spending by region",
    "curator": ["Ministry of Health", "Office of Statistics"],
    "purpose": "planning <of> clinics",
    "description": "What people spent",
    "region": "the north and the south",
    "published": datetime.date(2026, 11, 16),
}
SECOND = {"release_type": "many releases", "data_source": "Dynamic"}
THIRD = {
    "actors": "the ministry is trusted",
    "rationale_epsilon": "as in the last report",
    "rationale_bounds": "from the tariff",
    "preprocessing": "none",
    "security": "a vault",
}


def request(**fields: Any) -> gm.Request:
    asked = {"unit": "person", "sums": {"spent": (0, 10)}, "count": True, "guarantee": G, **fields}
    return gm.Request(PEOPLE, **asked)


def is_valid(entry: dict[str, Any]) -> bool:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is installed for development alone")
    schema = json.loads((ROOT / "docs" / "schemas" / "registry-entry.schema.json").read_text("utf-8"))
    checker = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
    return not list(checker.iter_errors(entry))


def test_about_is_kept_and_changes_no_number() -> None:
    plain, told = request(), request(about=FIRST)
    assert told.plan.errors() == plain.plan.errors() and told.plan.hash != plain.plan.hash
    assert "about" not in plain.plan.to_dict()
    release = gm.release(told)
    again = gm.read(release.to_json())
    assert isinstance(again, gm.Release)
    assert again.plan.about == told.plan.about and again.plan.to_dict()["about"]["published"] == "2026-11-16"
    assert gm.release(request(bounds="private", sums=["spent"], unit=None, about=FIRST)).plan.about == told.plan.about


@pytest.mark.parametrize(
    ("about", "code"),
    [
        ("a ministry", "about-not-a-table"),
        ({"curatro": "x"}, "unknown-key-in-about"),
        ({"curator": 3}, "about-list-malformed"),
        ({"purpose": "x\x1b[2J"}, "about-not-text"),
        ({"purpose": "x" * 4001}, "about-not-text"),
        ({"published": "16.11.2026"}, "about-not-a-date"),
        ({"deployment_model": "local"}, "about-choice-unknown"),
        ({"data_from": "2026-02-01", "data_until": "2026-01-01"}, "about-dates-reversed"),
    ],
)
def test_wrong_abouts_are_refused(about: Any, code: str) -> None:
    with refused(code):
        request(about=about)


def test_entries_fill_the_tier_that_is_complete() -> None:
    tiers = [FIRST, FIRST | SECOND, FIRST | SECOND | THIRD]
    entries = [gm.release(request(about=about)).registry() for about in tiers]
    assert [entry["tier"] for entry in entries] == [1, 2, 3]
    assert all(map(is_valid, entries))
    deployment = entries[2]["deployment"]
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert deployment["privacy_loss"]["privacy_unit"].startswith("one person with all of their rows")
    assert deployment["basic"]["data_curators"] == FIRST["curator"]
    assert "vault" in deployment["implementation"]["mechanisms"]
    rho = gm.release(request(about=FIRST, guarantee=gm.Guarantee(rho=0.1))).registry()["deployment"]
    assert rho["dp_variant"]["variant_name"] == "Zero-concentrated DP" and is_valid(entries[0])
    assert not is_valid({**entries[0], "tier": 4})


def test_incomplete_entries_are_refused_or_drafts() -> None:
    release = gm.release(request(about={"curator": "a ministry"}))
    with refused("about-incomplete", missing=("name", "description", "purpose", "region", "published")):
        release.registry()
    draft = release.registry(draft=True)
    assert draft["tier"] == 1 and draft["deployment"]["basic"]["name"] == "(write about.name)"
    assert not is_valid(draft)  # no day of publication


def test_report_has_what_reviewers_ask(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "year.ledger", gm.Guarantee(epsilon=3, delta=1e-6))
    for week in ("a", "b"):
        release = gm.release(request(about=FIRST | SECOND | THIRD), ledger=ledger, id=week)
    assert release.standing is not None and release.standing["releases"] == 2
    together = gm.Guarantee(epsilon=1, delta=1e-6) + gm.Guarantee(epsilon=1, delta=1e-6)
    assert release.standing["mu"] == together.mu
    assert release.standing["epsilon"] == together.epsilon_at(delta=1e-6)
    page = release.report(tmp_path / "report.html").read_text("utf-8")
    for said in (
        "For reviewers", "Who is protected", "One person with all of their rows", "Composition so far",
        "This is charge 2 of its ledger", "Not protected", "planning &lt;of&gt; clinics", "Why: as in the last report",
        "from the tariff", "a vault", f"plan {release.plan.hash}", "python 3.",
    ):  # fmt: skip
        assert said in page
    plain = gm.release(request()).report(tmp_path / "plain.html").read_text("utf-8")
    assert "was not charged to a ledger" in plain and "About this release" not in plain


def test_reviewers_find_what_the_docs_say_of_the_guidelines() -> None:
    docs = (ROOT / "docs" / "publishing.md").read_text("utf-8")
    table = docs.partition("| of the pyramid |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"\*([A-Z][^*]+)\*", row.split("|")[-2])}
    visits = pl.DataFrame({"p": ["a"], "region": ["n"]})
    large = gm.Guarantee(epsilon=50, delta=1e-6)
    asked: dict[str, Any] = {"by": {"region": ["n", "s"]}, "count": True, "guarantee": large}
    rows = dict(review_rows(gm.release(gm.Request(visits, unit="p", groups_per_unit=1, **asked))))
    assert len(named) > 10 and named <= set(rows)
    assert "even where nobody is in it" in rows["Groups and values"][0]
    assert any("ε = 50 hardly protects" in line for line in rows["How well"])
    assert EVENTS not in rows["Who is protected"]
    assert EVENTS in dict(review_rows(gm.release(gm.Request(visits, **asked))))["Who is protected"]
    plain = gm.release(gm.Request(visits, count=True, guarantee=gm.Guarantee(mu=1)))
    assert "Groups and values" not in dict(review_rows(plain))


def test_folder_has_an_entry_where_something_was_said(tmp_path: Path) -> None:
    from gaussmith.report.folder import write_folder

    names = [file.name for file in write_folder(gm.release(request(about=FIRST)), tmp_path / "told")]
    assert names[-1] == "registry.json" and is_valid(
        json.loads((tmp_path / "told" / "registry.json").read_text("utf-8"))
    )
    assert "registry.json" not in [file.name for file in write_folder(gm.release(request()), tmp_path / "plain")]
