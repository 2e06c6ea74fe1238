"""What a reader of README and help alone asked: the printed answers say it, and what they say is true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.report.charts import cell_pictures
from gaussmith.report.error_bars import interval_specs

SURE = gm.Guarantee(mu=1e5)
"""So little noise that answers are the truth."""

SITES = ["a", "b", "c"]


def visits() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(400), rng.integers(1, 6, 400))
    return pl.DataFrame({
        "person": person,
        "region": np.array(["north", "south"])[person % 2],
        "site": rng.choice(SITES, len(person), p=[0.6, 0.3, 0.1]),
        "age": rng.integers(0, 60, 400)[person],
        "minutes": rng.gamma(4, 5, len(person)).round(),
    })  # fmt: skip


def ask(**fields: Any) -> gm.Release:
    return gm.release(gm.Request(visits(), guarantee=SURE, **{"unit": "person", **fields}))


def said(release: gm.Release) -> str:
    return " ".join(str(release).split())


# -- shares -----------------------------------------------------------------------------------------------------------


def test_shares_of_several_values_are_of_pairs_and_say_so() -> None:
    release = ask(proportions={"site": SITES}, values_per_unit=3)
    pairs = visits().unique(["person", "site"])["site"]
    for site in SITES:
        assert release[f"site={site}_share"].value == pytest.approx((pairs == site).mean(), abs=1e-3)
    assert "shares are of all pairs of a person and a value of site, and add up to 1" in said(release)
    assert {row["note"] for row in release.rows()} == {"", "of all pairs of a person and a value"}


def test_shares_of_one_value_are_of_people_who_have_one() -> None:
    most = visits().filter(pl.col("site") != "c").group_by("person", "site").len()
    kept = most.sort("person", "len", "site", descending=[False, True, False]).unique(
        "person", keep="first", maintain_order=True
    )["site"]
    for fields in ({"values_per_unit": 1}, {"by": {"region": ["north", "south"]}, "groups_per_unit": 1}):
        release = ask(proportions={"site": ["a", "b"]}, **fields)
        assert "shares are of people with a declared value of site" in said(release)
        assert release.rows()[-1]["note"] == "of people with a declared value"
        if "by" not in fields:
            assert release["site=a_share"].value == pytest.approx((kept == "a").mean(), abs=1e-3)
    binned = ask(proportions={"age": {"bins": [20, 40]}}, values_per_unit=1)
    assert "shares are of people with a value of age" in said(binned)


def test_histograms_say_that_they_count_people() -> None:
    release = ask(histograms={"site": SITES}, values_per_unit=3)
    assert "counts are of people, once for each value of site in their rows" in said(release)
    assert "shares" not in said(release)
    assert release["site=a"].value == pytest.approx(
        visits().filter(pl.col("site") == "a")["person"].n_unique(), abs=0.1
    )


# -- medians ----------------------------------------------------------------------------------------------------------


def test_medians_say_that_they_are_of_the_means_of_people() -> None:
    release = ask(medians={"minutes": (0, 64)})
    own = visits().group_by("person").agg(pl.col("minutes").mean())["minutes"]
    assert release["minutes_median"].value == pytest.approx(own.median(), abs=0.25)
    text = said(release)
    assert "each person has one value: the mean of their own minutes over all rows that count" in text
    assert "± of a quantile is half the length of its 68 % interval" in text and text in said(release)
    assert release.rows()[0]["note"].startswith("of each person's own mean")
    assert "half the length of its 68 % interval" in release._repr_html_()
    low, high = release["minutes_median"].interval(0.6827)
    assert release["minutes_median"].standard_error == pytest.approx((high - low) / 2)
    assert "half the length" not in str(ask(count=True))


def test_limits_and_bounds_say_that_they_are_those_of_one_group() -> None:
    table = pl.DataFrame({"p": [1, 1, 1], "g": ["a", "a", "b"], "x": [50.0, 30.0, 50.0]})
    request = gm.Request(table, unit="p", sums={"x": (0, 60)}, by={"g": ["a", "b"]}, groups_per_unit=2, guarantee=SURE)
    release = gm.release(request)
    assert np.round(release.values.ravel(), 1).tolist() == [60.0, 50.0]  # 80 is clipped to 60 in one group; not 130
    assert "the total of a person over all rows in a group, not for one row" in said(release)


def test_the_help_says_that_limits_are_those_of_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["release", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    own = dict(re.findall(r"(--[a-z-]+ [A-Z][^ ]*) ([a-z].*?)(?= --[a-z-]+ [A-Z])", text))
    for flag in ("--rows-per-unit K", "--total-bounds NAME:LOW:HIGH", "--sum NAME[:LOW:HIGH]"):
        assert "with --by in each group" in own[flag], flag
    assert "for ranges of numbers give NAME alone" in text


# -- edges, ids, diagnosis --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "hinted"), [("0,10,20", True), ("0,10,20,40", True), ("1,2,3", False), ("0,10", False), ("a,b,c", False)]
)
def test_edges_taken_as_values_are_told(
    values: str, hinted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    visits().write_csv("visits.csv")
    flags = ["release", "visits.csv", "--unit", "person", "--values-per-unit", "1", "--mu", "1"]
    assert main([*flags, "--histogram", f"age={values}"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert ("age counts people with exactly" in told) is hinted
    if hinted:
        remedy = re.search(r"write (--histogram age --bins age=\S+)", told)
        assert remedy is not None and main([*flags, *remedy[1].split()]) == 0
        ranges = capsys.readouterr().out
        assert "age=0 to 10" in ranges and "exactly" not in ranges


def test_a_repeated_id_says_that_nothing_was_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    visits().write_csv("visits.csv")
    gm.Ledger.create("l.ledger", gm.Guarantee(mu=2))
    flags = [
        "release",
        "visits.csv",
        "--unit",
        "person",
        "--count",
        "--mu",
        "0.5",
        "--ledger",
        "l.ledger",
        "--id",
        "one",
    ]
    assert main(flags) == 0
    first = capsys.readouterr().out
    assert main(flags) == 0
    again = " ".join(capsys.readouterr().out.split())
    assert "released before" not in first
    assert again.startswith(
        "one was released before: these are its stored answers. No data was read, and nothing was charged."
    )
    assert again.endswith(" ".join(first.split()))
    assert main([*flags, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "one"


def test_the_names_of_a_diagnosis_are_explained_with_the_bounds() -> None:
    release = ask(means={"minutes": (0, 60)}, rows_per_unit=5, diagnose=True)
    notes = {row["answer"]: row["note"] for row in release.rows()}
    assert notes["minutes 6 to 27"].endswith("people with all minutes between 6 and 27")
    assert notes["minutes below 0 and above 60"].endswith("people with minutes below 0 and above 60")
    assert notes["2 to 5 rows"].endswith("people with more than that, and at most 5 rows")
    assert "'minutes 6 to 27' counts people with all minutes between 6 and 27" in said(release)
    table = visits()
    inside = table.group_by("person").agg(((pl.col("minutes") > 6) & (pl.col("minutes") < 27)).all())["minutes"].sum()
    edges = table.group_by("person").agg(((pl.col("minutes") >= 6) & (pl.col("minutes") <= 27)).all())["minutes"].sum()
    assert inside - 1 < release["minutes 6 to 27"].value < edges + 1
    one_row = gm.release(gm.Request(visits(), means={"age": (0, 10)}, diagnose=True, guarantee=SURE))
    assert {row["answer"]: row["note"] for row in one_row.rows()}["age 0 to 1"].endswith(
        "people with age between 0 and 1"
    )


def test_bounds_learned_privately_tell_one_story() -> None:
    """A count that noise alone explains is no sign, in the diagnosis as in the sentence about bounds."""
    guarantee = gm.Guarantee(mu=1)
    fields: dict[str, Any] = {"unit": "person", "means": {"minutes": "private"}, "rows_per_unit": 5, "diagnose": True}
    request = gm.Request(visits(), guarantee=guarantee, **fields)
    text = said(gm.release(request))
    both = ("Probably nobody was clipped (upper estimate: " in text, "had values beyond these bounds" in text)
    assert sum(both) == 1
    assert both[1] == bool(re.search(r"about [\d,]+ people \([\d,]+ to [\d,]+\) had minutes (above|below)", text))


# -- differences ------------------------------------------------------------------------------------------------------


def test_parts_of_a_release_can_be_subtracted_and_divided() -> None:
    release = ask(means={"minutes": (0, 60)}, rows_per_unit=5, by={"region": ["north", "south"]}, groups_per_unit=1)
    gap = release.difference("north", "south", answer="minutes_mean")
    for made in (
        release["north"] - release["south"],
        release["minutes_mean"]["north"] - release["minutes_mean"]["south"],
    ):
        assert (made.value, made.interval()) == (gap.value, gap.interval())
    ratio = release.ratio("north", "south", answer="minutes_mean")
    assert (release["north"] / release["south"]).interval() == ratio.interval()
    with pytest.raises(TypeError):
        release["north"] - 1  # type: ignore[operator]


def test_two_releases_say_how_their_difference_is_found() -> None:
    one, other = ask(count=True), ask(count=True)
    for wrong in (lambda: one - other, lambda: one["count"] / other["count"]):
        with refused("contrast-of-other-release", says="(one.standard_error ** 2 + other.standard_error ** 2) ** 0.5"):
            wrong()


# -- report -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"means": {"minutes": (0, 60)}, "rows_per_unit": 5, "by": {"region": ["north", "south"]}, "count": True},
        {"means": {"minutes": (0, 60), "age": (0, 60)}, "rows_per_unit": 5},
        {"sums": {"minutes": (0, 60)}, "count": True},
    ],
)
def test_the_report_says_of_the_standard_noise_what_its_table_says(fields: dict[str, Any], tmp_path: Path) -> None:
    limits = {"groups_per_unit": 1} if "by" in fields else {}
    guarantee = gm.Guarantee(epsilon=1, delta=1e-6)
    release = gm.release(gm.Request(visits(), unit="person", guarantee=guarantee, **fields, **limits))
    page = release.report(tmp_path / "page.html").read_text("utf-8")
    part = page.split("Noise compared with the standard Gaussian", 1)[1].split("<h2", 1)[0]
    shares = [int(share) for share in re.findall(r"<td[^>]*>(\d+) %</td>", part)]
    told = re.search(r"Errors are (?:(\d+) % to )?(\d+) % of those", " ".join(part.replace("\u202f", " ").split()))
    assert told is not None and shares
    assert (int(told[1] or told[2]), int(told[2])) == (min(shares), max(shares))
    assert ("can have a larger error than the standard one" in part) is (max(shares) > 100)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"medians": {"minutes": (0, 60)}},
            "A row&#x27;s value beyond counts as that bound, before the mean of the person",
        ),
        ({"histograms": {"site": ["a", "b"]}, "values_per_unit": 2}, "by the declared values of site. Other values"),
        ({"histograms": {"age": {"bins": [10, 20]}}, "values_per_unit": 1}, "3 ranges of age, the outer ones open."),
        (
            {"marginals": [["site", "region"]], "values": {"site": SITES, "region": ["north"]}},
            "a table of site and region",
        ),
        ({"variances": {"minutes": (0, 60)}, "rows_per_unit": 5}, "Infinite values count as the nearer bound."),
    ],
)
def test_the_report_says_how_people_are_counted(fields: dict[str, Any], says: str, tmp_path: Path) -> None:
    page = ask(**fields).report(tmp_path / "page.html").read_text("utf-8")
    part = page.split("Bounds and missing values", 1)[1].split("<h2", 1)[0]
    assert says in part and "A record has" not in part and "more columns" not in part


def test_shares_have_an_axis_of_their_own_and_are_no_numbers_of_people(tmp_path: Path) -> None:
    release = ask(proportions={"site": SITES}, values_per_unit=3)
    titles = [spec["layer"][1]["encoding"]["x"]["axis"]["title"] for spec in interval_specs(release.rows())]
    assert titles == ["site", "share of site"]
    ((picture, _),) = cell_pictures(release)
    assert [row["cell"] for row in picture["data"]["values"]] == SITES
    assert "All 6 intervals at once" in release.report(tmp_path / "page.html").read_text("utf-8")
    page = ask(medians={"minutes": (0, 60)}).report(tmp_path / "median.html").read_text("utf-8")
    assert "can change in the rank of <b>minutes_median</b>" in page


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_request_file_is_read_like_any_other_file(tmp_path: Path) -> None:
    path = tmp_path / "ask.toml"
    path.write_text('source = "people.csv"\ncount = true\nguarantee = { mu = 1 }\n', "utf-8")
    for source in (path, str(path)):
        found = gm.read(source)
        assert isinstance(found, gm.Request) and found.plan == gm.Request.from_toml(path).plan
    with refused("no-such-request-file"):
        gm.read(tmp_path / "aks.toml")


@pytest.mark.parametrize("limit", ["groups_per_unit", "values_per_unit", "rows_per_unit"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_saved_limit_below_one_is_refused(limit: str, value: int) -> None:
    plan = gm.Request(
        visits(), unit="person", means={"minutes": (0, 60)}, rows_per_unit=5, by={"region": ["north", "south"]},
        groups_per_unit=1, guarantee=gm.Guarantee(mu=1),
    ).plan.to_dict()  # fmt: skip
    assert gm.Plan.from_json(json.dumps(plan)).to_dict() == plan
    for draw in plan["queries"]:
        draw["row_rule"][limit] = value
    with refused(damaged("a limit below 1")):
        gm.Plan.from_json(json.dumps(plan))
