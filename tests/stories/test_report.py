"""The report page: everything a reader needs, nothing fetched, no script, and hostile names stay names."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from noisy import noisy_release

import gaussmith as gm
from gaussmith.report.charts import plan_spec
from gaussmith.report.page import page

G = gm.Guarantee(epsilon=1, delta=1e-6)
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Tags(HTMLParser):
    """Collects tags and attributes, and checks that what is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def released(plan: gm.Plan) -> gm.Release:
    """A release of made-up sums: reports see nothing else of data."""
    features = np.linspace(200.0, 900.0, plan.block.shape.features.shape[0])
    return noisy_release(plan, features, records=1000 if plan.block.public_count else None)


PEOPLE = gm.Box({"age": (0, 100), "visits": (0, 80), "smokes": (0, 1)})


@pytest.fixture(scope="module")
def text() -> str:
    return page(released(gm.plan(PEOPLE, G, answers="sums", count=True, weights="relative")))


def test_the_page_says_all_that_a_reader_needs(text: str) -> None:
    words = " ".join(" ".join(Tags(text).words).split())
    for needed in (
        "One person's record makes no result more than 2.72 times as likely",
        "adding or removing one person; the number of people is secret",
        "95 % interval",
        "standard Gaussian",
        "The shape of the noise",
        "(ε, δ)-differential privacy with ε = 1 and δ = 10",
        "Why this noise",
        "never the data",
        "Clipping: values outside the bounds",
        "Sampling: how well",
        "a missing value becomes",
        "a small count can be negative",
    ):
        assert needed in words, needed
    for name in ("age", "visits", "smokes", "count"):
        assert name in words


def test_the_page_says_what_truly_happens_to_missing_values() -> None:
    rows = {
        "person": [1, 1, 2, 3],
        "tip": [2.0, None, 4.0, 1.0],
        "spent": [1.0, 2.0, None, 4.0],
        "age": [30, None, 50, 60],
    }
    asked: dict[str, Any] = {
        "means": {"tip": (0, 20), "age": (0, 90)},
        "sums": {"spent": (0, 9)},
        "missing": {"age": 40},
    }
    for more in ({}, {"unit": "person", "rows_per_unit": 3}):
        text = page(gm.release(gm.Request(pl.DataFrame(rows), **asked, **more, guarantee=G)))
        words = " ".join(" ".join(Tags(text).words).split())
        assert "a missing value becomes" not in words
        cells = re.findall(r"<tr>.*?</tr>", text, flags=re.S)
        for column, rule in (("tip", "left out"), ("spent", "adds 0"), ("age", "counts as 40")):
            row = [cell for cell in cells if f">{column}<" in cell and rule in cell]
            assert row, (column, rule, more)


def test_the_page_is_self_contained_and_without_scripts(text: str) -> None:
    tags = Tags(text)
    assert not tags.tags & {"script", "link", "iframe", "img", "object", "embed", "form", "image", "foreignobject"}
    assert not {name for name in tags.attributes if name.startswith("on") or name in ("src", "href", "xlink:href")}
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "default-src 'none'" in text
    assert "url(" not in text and "@import" not in text


def test_charts_are_well_formed_and_labelled(text: str) -> None:
    drawings = re.findall(r"<svg.*?</svg>", text, flags=re.S)
    assert len(drawings) == 4
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img" and len(root.get("aria-label") or "") > 20


HOSTILE = [
    '<script>alert("x")</script>',
    '"><img src=x onerror=alert(1)>',
    "</title></style></svg><b>",
    "{{constructor}} ${x} datum.x ]]> --> &lt;",
    "tab\tline\nescape\x1b[2J\u202ertl",
]


def test_hostile_names_of_columns_stay_names() -> None:
    plan = gm.plan(gm.Box(dict.fromkeys(HOSTILE, (0, 1))), G, count=True)
    text = page(released(plan), columns=(HOSTILE[0], HOSTILE[1]))
    tags = Tags(text)
    assert not tags.tags & {"script", "img", "b"} - {"b"}
    assert not {name for name in tags.attributes if name.startswith("on") or name == "src"}
    words = "".join(tags.words)
    assert all(name in words for name in HOSTILE[:4])
    assert "\x1b" not in text and "\u202e" not in text
    for drawing in re.findall(r"<svg.*?</svg>", text, flags=re.S):
        assert ElementTree.fromstring(drawing) is not None


def test_what_was_done_to_the_data_comes_before_the_noise(text: str) -> None:
    order = re.findall(r'<section id="(\w+)"', text)
    assert order == ["answers", "people", "bounds", "covers", "noise", "shape", "why", "review", "cite"]


def test_where_people_have_rows_the_page_speaks_of_people() -> None:
    asked = {"guarantee": G, "sums": {"spent": (0, 500)}, "rows_per_unit": 12}
    for request in (
        gm.Request("a.csv", unit="person", **asked),  # type: ignore[arg-type]
        gm.Request("a.csv", unit="person", count=True, means={"age": (0, 9)}, complete=["age"], **asked),  # type: ignore[arg-type]
    ):
        (query,) = request.plan.queries
        features = np.full(query.block.shape.features.shape[0], 9000.0)
        told = page(noisy_release(request.plan, features, row_rule=query.row_rule))
        words = " ".join(" ".join(Tags(told).words).split())
        assert "one record" not in told.lower() and "person's record" not in told
        assert "One person with all of their rows makes no result more than 2.72 times as likely" in words
        assert "Protected: one person with all of their rows (all rows with the same person); adding or" in words
        assert "hat one person with all rows can change in" in words
    plain = page(released(gm.plan(PEOPLE, G)))
    assert "what one record can change" in plain and "one person with all" not in plain.lower()


@pytest.mark.parametrize("mu", [0.25, 2.0])
def test_the_picture_of_a_single_answer_has_the_noise_at_its_true_size(mu: float) -> None:
    release = released(gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=mu)))
    rows = {row["kind"]: row for row in plan_spec(release.plan.block)["data"]["values"]}
    assert rows["ours"]["high"] == pytest.approx(release.standard_errors[0]) and rows["ours"]["what"] == "noise, ± 1 σ"
    assert rows["standard"]["high"] == pytest.approx(100 / mu)
    assert (rows["record"]["low"], rows["record"]["high"]) == (-100, 100)
    told = page(release)
    shape = told[told.index('<section id="shape"') : told.index('<section id="why"')]
    assert "at its true size" in shape and "one record, at most" in shape and "change in age" in shape
    assert "times as large" not in shape and "outline" not in shape


def test_two_columns_can_be_chosen_for_the_picture(tmp_path: Path) -> None:
    release = released(gm.plan(PEOPLE, G))
    assert "<b>visits</b> and <b>smokes</b>" in page(release, columns=("visits", "smokes"))
    file = release.report(tmp_path / "r.html")
    assert file.read_text("utf-8").endswith("</html>\n")


OTHERS = {
    "means, no count": gm.plan(PEOPLE, G, answers="means"),
    "public number": gm.plan(PEOPLE, gm.Guarantee(mu=1), neighbours="replace-one", count=True),
    "one answer": gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(rho=0.5)),
    "count alone": gm.plan(gm.Records(), G, count=True),
    "ball": gm.plan(gm.domains.Ball(4, 2.0), G, count=True),
    "many": gm.plan(gm.Box(np.zeros(400), np.ones(400)), G, count=True),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_kind_of_release_has_a_page(name: str) -> None:
    words = " ".join(Tags(page(released(OTHERS[name]))).words)
    assert not re.search(r"\b(undefined|null|None|NaN|nan|inf)\b", words)
    assert "How to cite" in words
    if name == "many":
        assert "Rows 1 to 50 of 401" in words and "Rows 401 to 401 of 401" in words
        assert "Compared: the first 200 answers" in words and "The first 24 of the table" in words
        assert "Rows 351 to 400 of 400" in words  # the bounds
    if name == "public number":
        assert "μ-Gaussian differential privacy with μ = 1" in words and "exact: public" in words
    if name == "one answer":
        assert "ρ-zero-concentrated differential privacy with ρ = 0.5" in words
        assert "the first" not in words.lower()


def test_groups_have_a_page_with_their_keys() -> None:
    regions = ["north", "<i>south</i>"]
    plan = gm.plan(gm.Groups({"region": regions}, gm.Box({"visits": (0, 80)}), at_most=1), G, count=True)
    release = noisy_release(plan, [[300.0, 50.0], [900.0, 100.0]])
    text = page(release)
    words = " ".join(Tags(text).words)
    assert "north" in words and "<i>south</i>" in words and "region" in words
    assert text.count(">north</text>") == 2  # a row of the axis of visits, and one of the count
    assert "All 4 intervals at once" in words
    assert plan.hash in words


@pytest.mark.parametrize("groups", [20, 49, 51, 130])
def test_every_row_is_on_the_page(groups: int) -> None:
    """Long tables are opened page by page, without a script; a group is never split."""
    keys = [f"g{i:03}" for i in range(groups)]
    plan = gm.plan(gm.Groups({"key": keys}, gm.Box({"visits": (0, 80)}), at_most=1), G, count=True)
    text = page(noisy_release(plan, np.full((groups, 2), 500.0)))
    answers = text[text.index('<section id="answers"') : text.index('<section id="people"')]
    assert re.findall(r"<tr><td>(g\d+)</td>", answers) == [key for key in keys for _ in range(2)]
    pages = answers.split("<details")[1:]
    assert len(pages) == (0 if groups <= 25 else -(-2 * groups // 50))
    assert all(len(re.findall(r"<tr><td>", each)) % 2 == 0 for each in pages)
    assert all(each.count("<svg") == 2 for each in pages)
    assert [" open" in each.split(">")[0] for each in pages] == [i == 0 for i in range(len(pages))]
    Tags(text)


def test_a_page_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gaussmith.report.page.MAX_LISTED", 60)
    words = " ".join(Tags(page(released(OTHERS["many"]))).words)
    assert "Rows 51 to 61 of 61" in words and "and 340 more answers" in words and "Error bars are drawn" not in words
    monkeypatch.setattr("gaussmith.report.page.MAX_DRAWN", 10)
    fewer = page(released(OTHERS["many"]))
    assert "Error bars are drawn for the first 50 rows." in fewer
    first, second = fewer[: fewer.index('<section id="people"')].split("<details")[1:]
    assert "<svg" in first and "<svg" not in second


def test_too_few_records_for_a_mean_are_said() -> None:
    plan = gm.plan(PEOPLE, G, answers="means", count=True)
    release = noisy_release(plan, [10.0, 5.0, 0.1, 3.0])
    words = " ".join(Tags(page(release)).words)
    assert "unknown: too few records" in words
    assert "Unknown: too much noise for an interval" in words


def test_the_page_of_one_release_is_always_the_same() -> None:
    release = released(gm.plan(PEOPLE, G))
    assert page(release) == page(gm.Release.from_json(release.to_json()))


def test_a_wide_table_pushes_its_chart_below_instead_of_hiding_its_intervals(text: str) -> None:
    """Table and chart share a line only where the whole table fits; on paper nothing scrolls."""
    assert re.search(r'<section id="answers"[^>]*>.*?<div class="fit">\s*<div><div class="table">', text, flags=re.S)
    style = text[text.index("<style>") : text.index("</style>")]
    fit = re.search(r"\.fit \{(.*?)\}\s*\.fit > div \{(.*?)\}", style, flags=re.S)
    assert fit is not None
    assert "flex-wrap: wrap" in fit[1] and "flex: 1 0 min-content" in fit[2] and "max-width: 100%" in fit[2]
    assert ".table { overflow: visible; }" in style[style.index("@media print") :]


def group_release(**fields: object) -> gm.Release:
    request = gm.Request(
        "folder/visits.csv",
        unit="person",
        groups_per_unit=1,
        by={"region": ["north", "south"]},
        guarantee=G,
        **fields,  # type: ignore[arg-type]
    )
    (query,) = request.plan.queries
    features = np.full((2, query.block.shape.features.shape[0]), 700.0)
    return noisy_release(request.plan, features, row_rule=query.row_rule)


def test_the_error_of_a_mean_in_groups_is_told_over_n() -> None:
    text = page(
        group_release(means={"age": (0, 100)}, complete=["age"], sums={"spent": (0, 500)}, rows_per_unit=12, count=True)
    )
    words = " ".join(" ".join(Tags(text).words).split())
    rows = re.findall(r"<td>age_mean</td><td>([^<]*)</td><td>([^<]*)</td><td>\d+ %</td>", text)
    assert rows and all(cell.endswith(" / n") for cell in rows[0])
    assert "n is the number of rows:" in words
    assert "n × age_mean" in words
    assert "#d9730d" in text.split('id="shape"')[1].split("</svg>")[0]  # what one person can change is drawn
    assert "For means, the division" in words


def questions(**fields: object) -> gm.Release:
    asked = [{"name": "spending", "sums": {"income": (0, 500_000)}}, {"name": "people", "count": True}]
    request = gm.Request("folder/visits.csv", unit="person", questions=asked, guarantee=G, **fields)  # type: ignore[arg-type]
    (query,) = request.plan.queries
    return noisy_release(request.plan, [7e7, 900.0], row_rule=query.row_rule)


def test_a_question_is_compared_within_what_it_was_planned_with() -> None:
    text = page(questions())
    assert re.findall(r"<td>income_sum</td><td>[^<]*</td><td>[^<]*</td><td>(\d+ %)</td>", text) == ["77 %"]
    assert re.findall(r"<td>count</td><td>[^<]*</td><td>[^<]*</td><td>(\d+ %)</td>", text) == ["85 %"]
    words = " ".join(" ".join(Tags(text).words).split())
    assert words.count("all questions that were planned together is as good as any Gaussian noise can be") == 2
    assert "of this question and the questions planned together with it" in words
    assert "For means, the division" not in words
    assert text.count("<td>income</td>") == 1  # bounds: not of what another question asks
    assert "columns decide who is counted, and none has bounds" in words


def test_the_page_is_named_after_its_source_and_says_which_version_made_it() -> None:
    release = group_release(count=True)
    assert release.row_rule is not None
    named = noisy_release(release.plan, *release.noisy, row_rule=release.row_rule.opened("visits.csv", True, []))
    text = page(named)
    assert f"<title>visits.csv · a private release · Gaussmith {gm.__version__}</title>" in text
    assert '<p class="brand">visits.csv · a private release</p>' in text
    assert "<title>A private release · Gaussmith" in page(release)
    old = noisy_release(release.plan, *release.noisy, software="0.0.9")
    assert "added by Gaussmith 0.0.9" in page(old) and "<footer>Gaussmith 0.0.9" in page(old)


def test_a_large_delta_is_remarked_on() -> None:
    loose = gm.plan(PEOPLE, gm.Guarantee(epsilon=1, delta=0.01))
    assert "δ = 0.01 promises little" in page(released(loose))
    assert "promises little" not in page(released(gm.plan(PEOPLE, G)))
