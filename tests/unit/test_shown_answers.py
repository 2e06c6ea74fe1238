"""What a table of answers says of values that noise spoilt: outside what is possible, or unknown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from noisy import noisy_release

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.releases.table import BEYOND

G = gm.Guarantee(mu=1)
ROWS = 'a smaller rows_per_unit, mean_of="units"'
HARDLY = "hardly protects: guessing whether a person is in the data may be right"
SEXES = {"sex": ["f", "m"]}


def test_a_value_beyond_what_is_possible_says_so() -> None:
    release = noisy_release(gm.Request("a.csv", histograms=SEXES, guarantee=G).plan, [-30.0, 10.0])
    first, second = release.rows()
    assert (first["value"], first["lower"], first["upper"], first["note"]) == (-30, 0, 0, BEYOND)
    assert first["status"] == "noisy" and BEYOND not in second["note"]
    lines = str(release).splitlines()
    assert re.match(r"sex=f +-30\.0\*  +1\.0  +0\.0 to 0\.0$", lines[1])
    assert re.match(r"sex=m +10\.0   +1\.0 ", lines[2]) and lines[1].index(".0*") == lines[2].index(".0 ")
    assert lines[3] == "* noise took this value beyond what is possible; its interval is cut there, and"
    assert lines[4] == "short for that reason alone"
    assert "-30.0*" in release._repr_html_() and "beyond what is possible" in release._repr_html_()
    assert BEYOND in release.to_polars()["note"][0]
    assert "beyond" not in str(noisy_release(release.plan, [30.0, 10.0]))


def ask(**asked: Any) -> gm.Request:
    table = pl.DataFrame({"p": ["a"], "g": ["x"], "v": [1.0]})
    common: dict[str, Any] = {"unit": "p", "rows_per_unit": 12, "means": {"v": (0, 60)}, "guarantee": G}
    return gm.Request(table, **common | asked)


def unknown_everywhere(request: gm.Request) -> str:
    """The printed release of a request with so few people that its means are unknown: at once in nearly every draw."""
    for _ in range(300):
        release = gm.release(request)
        rows = [row for row in release.rows() if row["answer"] == "v_mean"]
        if all(row["status"] == "unknown" for row in rows):
            text = str(release)
            assert len(
                re.findall(r"v_mean +– +– +unknown: too few records for this noise$", text, re.MULTILINE)
            ) == len(rows)
            return " ".join(text.split())
    raise AssertionError("no draw left all means unknown")


@pytest.mark.parametrize(
    ("asked", "helps"),
    [
        (
            {"by": {"g": ["x", "y"]}, "groups_per_unit": 2},
            f"keys spelt as in the data, {ROWS}, a smaller groups_per_unit, a larger ε.",
        ),
        (
            {"by": {"g": ["x", "y"]}, "groups_per_unit": 1, "rows_per_unit": None, "mean_of": "units"},
            "keys spelt as in the data, a larger ε.",
        ),
        ({"where": "v > 2"}, f"a filter (where) that keeps more rows, {ROWS}, a larger ε."),
    ],
)
def test_where_all_is_unknown_it_says_what_may_help(asked: dict[str, Any], helps: str) -> None:
    where = " in every group" if "by" in asked else ""
    told = f"v_mean is unknown{where}: the noise is as large as the number of records. What may help: {helps}"
    assert told in unknown_everywhere(ask(**asked))


def test_what_may_help_is_in_flags_on_the_command_line(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("p,v\n")
    words = [str(tmp_path / "a.csv"), "--unit", "p", "--rows-per-unit", "12", "--mean", "v:0:60", "--mu", "1"]
    for _ in range(300):
        assert main(["release", *words]) == 0
        told = " ".join(capsys.readouterr().out.split())
        if "unknown" in told:
            assert "What may help: a smaller --rows-per-unit, --mean-of units, a larger ε." in told
            return
    raise AssertionError("no draw left the mean unknown")


def test_keys_that_nobody_would_see_are_in_quotes() -> None:
    plan = gm.Request("a.csv", by={"topic": ["billing", "billing ", ""]}, count=True, guarantee=G).plan
    shown = [line.split("  ")[0] for line in str(noisy_release(plan, [[1.0], [2.0], [3.0]])).splitlines()[1:4]]
    assert shown == ["billing", '"billing "', '""']


def test_what_all_questions_have_in_common_is_told_once() -> None:
    request = ask(histograms={"g": ["x", "y"]}, values_per_unit=1, count=True)
    text = " ".join(str(gm.release(request)).split())
    assert len(request.plan.questions) == 2
    assert text.count("a person is all rows with the same p") == 1


def test_what_several_answers_have_in_common_is_told_once() -> None:
    request = gm.Request("a.csv", unit="p", rows_per_unit=9, means={"v": (0, 60), "w": (0, 5)}, count=True, guarantee=G)
    notes = gm.rehearse(request).notes()
    assert "v_mean, w_mean: at most 9 rows per person count; people with more are scaled down" in notes
    assert "v_mean: rows where v is missing are left out" in notes


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"epsilon": 50, "delta": 1e-6}, f"ε = 50 {HARDLY} up to 99.93 %"),
        ({"epsilon": 100, "delta": 1e-6}, f"ε = 100 {HARDLY} nearly always"),
        ({"mu": 4}, f"μ = 4 {HARDLY} up to 97.73 %"),
        ({"epsilon": 10, "delta": 1e-6}, None),
        ({"mu": 3}, None),
    ],
)
def test_a_guarantee_that_hardly_protects_says_so(stated: dict[str, float], says: str | None) -> None:
    request = ask(guarantee=gm.Guarantee(**stated), count=True)
    texts = [" ".join(str(each).split()) for each in (request.plan, gm.release(request))]
    assert all(says in text if says else "hardly" not in text for text in texts)


def test_no_number_is_longer_than_can_be_read(tmp_path: Path) -> None:
    plan = gm.Request("a.csv", by={"g": ["a", "b"]}, sums={"x": (-1e30, 1e30)}, count=True, guarantee=G).plan
    release = noisy_release(plan, [[5e30, 100.0], [-3.2e31, 1e15]])
    release.report(tmp_path / "page.html")
    texts = (
        str(release), release._repr_html_(), str(release.presented()), str(release.difference("a", "b", "x_sum")),
        str(plan), plan.explain(), (tmp_path / "page.html").read_text("utf-8").partition("<main>")[2],
    )  # fmt: skip
    for text in texts:
        assert not re.search(r"\d(,?\d){14}", re.sub(r"<svg.*?</svg>|<code>.*?</code>", "", text, flags=re.DOTALL))
    assert re.search(r"a +x_sum +5\.0e\+30 +1\.\de\+30 +", str(release))
    assert re.search(r"b +count +1\.0+e\+15 ", str(release))


def test_small_numbers_are_not_written_as_zeros() -> None:
    plan = gm.Request("a.csv", sums={"x": (0, 1e-20)}, count=True, guarantee=G).plan
    assert re.search(r"x_sum +3\.0e-20 +1\.1e-20 ", str(noisy_release(plan, [3e-20, 9.0])))
