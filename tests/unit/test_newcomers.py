"""What users of other libraries write first: it does what they expect, or the error says what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from noisy import noisy_release
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main

G = gm.Guarantee(epsilon=1, delta=1e-6)

MU = gm.Guarantee(mu=1e6)


@pytest.mark.parametrize(
    ("field", "says"), [("mean", "write means = …"), ("sum", "write sums = …"), ("histogram", "write histograms = …")]
)
def test_fields_are_plural(field: str, says: str) -> None:
    given: dict[str, Any] = {field: {"age": (0, 100)}}
    with refused("unknown-field-of-request", says=says, field=field):
        gm.Request("people.csv", guarantee=MU, **given)
    with refused("unknown-field-of-request", says=says, field=field):
        gm.Question(**given)
    with refused("unknown-key-in-request", says=says, key=field):
        gm.Request.from_dict({"source": "people.csv", "guarantee": {"mu": 1}, **given})


def test_a_near_name_is_not_offered_for_another_statistic() -> None:
    if "medians" in gm.Question.field_names():
        with refused("unknown-field-of-request", says="write medians = …", field="median"):
            gm.Request("people.csv", guarantee=MU, median=["age"])  # type: ignore[call-arg]
        return
    with refused("unknown-field-of-request", says="choose one of: ", field="median"):
        gm.Request("people.csv", guarantee=MU, median=["age"])  # type: ignore[call-arg]


def test_none_is_nothing() -> None:
    none: dict[str, Any] = dict.fromkeys(name for name in gm.Question.field_names() if name not in ("name", "count"))
    del none["share"], none["error_at_most"]
    request = gm.Request("people.csv", count=True, guarantee=MU, neighbours=None, questions=None, **none)  # type: ignore[arg-type]
    assert repr(request) == repr(gm.Request("people.csv", count=True, guarantee=MU))
    assert gm.Question(count=True, **none).given() == gm.Question(count=True).given()


def test_a_list_of_paths_is_not_a_table_of_two_people(tmp_path: Path) -> None:
    for source in (["a.csv", "b.csv"], (Path("a.csv"),), {"path": ["a.csv", "b.csv"]}):
        with refused("source-is-a-list-of-paths", says="a pattern such as 'visits/*.parquet'"):
            gm.Request(source, count=True, guarantee=MU)
    rows = gm.Request([[1.0], [2.0]], count=True, guarantee=MU)
    assert round(gm.release(rows)["count"].value) == 2


def test_reading_data_as_a_release(tmp_path: Path) -> None:
    (tmp_path / "people.json").write_text('[{"age": 1}]')
    with refused("not-a-record", says='write gaussmith.Request("people.csv", …)'):
        gm.read(tmp_path / "people.json")


def test_equal_parts() -> None:
    assert gm.Guarantee(mu=1).split(52) == gm.Guarantee(mu=1).split([1.0] * 52)
    assert gm.Guarantee(mu=1).split(np.int64(2)) == gm.Guarantee(mu=1).split([1, 1])
    for parts in (0, -1, 2.5, True):
        with pytest.raises(gm.GuaranteeError, match="split"):
            gm.Guarantee(mu=1).split(parts)  # type: ignore[arg-type]


def test_marginals_by_place_and_by_name() -> None:
    cells = gm.Cells({"age": 3, "sex": ["f", "m"]})
    plan = gm.plan(cells, MU, answers=gm.workloads.marginals([3, 2], 2))
    release = plan.release([[0, "f"], [2, "m"]])
    assert np.array_equal(release.marginal(0, 1), release.marginal("age", "sex"))
    assert np.array_equal(release.marginal(np.int64(1), "age"), release.marginal("sex", "age"))
    for wrong in (2, -1, "0", True, 1.0):
        with refused("no-such-attribute", says="choose one of: age, sex"):
            release.marginal(wrong)


def test_objects_of_pandas_are_ids_keys_and_categories() -> None:
    people = pd.DataFrame({"p": np.array(["a", "b", "a", None, 1, 1.0, "1", object()], object), "x": range(8)})

    def counted(**fields: Any) -> list[int]:
        release = gm.release(gm.Request(people, guarantee=MU, **fields))
        return [round(value) for value in np.ravel(release.values)]

    assert people.dtypes["p"].kind == "O"
    assert counted(unit="p", count=True) == [4]  # a, b, the number 1, the text 1
    assert counted(by={"p": ["a", "b", "zz"]}, count=True) == [2, 1, 0]
    assert counted(histograms={"p": ["a", "1"]}) == [2, 1]
    assert counted(histograms={"p": [1]}) == [2]
    assert counted(where="p == 'a' or starts_with(p, 'b')", count=True) == [3]
    assert counted(where="is_null(p)", count=True) == [2]
    with refused("column-of-objects", column="p"):
        counted(sums={"p": (0, 1)})


def test_one_object_does_not_change_how_others_are_read() -> None:
    texts = ["a", "b", "17", "é", "a"]
    for odd in (1, None, b"a", 2.5, "\ud800"):
        frame = pd.DataFrame({"p": pd.Series([*texts, odd], dtype=object)})
        release = gm.release(gm.Request(frame, by={"p": ["a", "b", "17", "é"]}, count=True, guarantee=MU))
        assert [round(value) for value in np.ravel(release.values)] == [2, 1, 1, 1]


def test_all_answers_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.csv"
    path.write_text("code\n" + "".join(f"{k}\n" for k in range(300)))
    codes = ",".join(map(str, range(300)))
    asked = ["release", str(path), "--histogram", f"code={codes}", "--mu", "1"]
    assert main(asked) == 0
    printed = capsys.readouterr().out
    assert all(f"code={k} " in printed for k in range(300))
    assert "more answers" not in printed
    assert main([*asked, "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "more answers: in " in printed
    assert "answers.csv" in printed
    assert len((tmp_path / "out" / "answers.csv").read_text().splitlines()) == 301


def test_a_regression_by_other_names_is_told_how_to_be_written() -> None:
    with refused("request-regression-malformed"):
        gm.Request("a.csv", regression={"y": "wage", "x": ["age"]}, guarantee=G)
    with refused("column-without-bounds") as error:
        gm.Request("a.csv", regression={"of": "wage", "on": ["age"]}, bounds={"wage": (0, 9)}, guarantee=G)
    assert str(error.value).endswith("write bounds = { age = [0, 100] }")  # a regression has no place for bounds


def test_one_column_of_groups_by_its_name() -> None:
    fields: dict[str, Any] = {"count": True, "values": {"sex": ["f", "m"]}, "guarantee": G}
    assert gm.Request("a.csv", by="sex", **fields).plan.groups == gm.Request("a.csv", by=["sex"], **fields).plan.groups


def test_bins_are_written_as_flags_where_flags_are_used(capsys: pytest.CaptureFixture[str]) -> None:
    for flags, says in (
        (["--median", "wage"], "write --bounds wage:0:100, or --bins wage=0,10,20"),
        (["--histogram", "wage", "--bins", "wage=30,20"], "write --bins wage=20,30"),
    ):
        assert main(["plan", *flags, "--epsilon", "1", "--delta", "1e-6"]) == 2
        assert says in capsys.readouterr().err


def test_each_noise_of_a_question_is_named_by_its_answers() -> None:
    request = gm.Request(
        "a.csv", medians={"wage": (0, 9)}, variances={"age": (0, 99)}, histograms={"sex": ["f", "m"]}, guarantee=G
    )
    told = str(request.plan)
    assert "\nanswers (age_variance, age_sd): " in told and "\nanswers (wage_median): " in told


def test_nothing_is_printed_as_minus_zero() -> None:
    plan = gm.Request("a.csv", histograms={"sex": ["f", "m"]}, guarantee=G).plan
    text = str(noisy_release(plan, [-0.001, 10.0]))
    assert "sex=f     0.0 " in text and " -0" not in text


def test_more_coefficients_than_people_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    bounds = dict.fromkeys("yabc", (0, 1))
    request = gm.Request("t.csv", regression={"of": "y", "on": ["a", "b", "c"]}, bounds=bounds, guarantee=G)
    assert request.plan.errors(rows=4)["y_on_a"] > 1
    with refused("fewer-rows-than-coefficients", rows=3, coefficients=4):
        request.plan.errors(rows=3)
    with refused("fewer-rows-than-coefficients"):
        request.guarantee_for({"y_on_a": 0.1}, rows=2)
    flags = [f"--bounds={name}:0:1" for name in "yabc"]
    assert main(["plan", "--regression", "y~a+b+c", *flags, "--epsilon=1", "--delta=1e-6", "--rows=3"]) == 2
    assert "a regression with 4 coefficients over rows=3" in capsys.readouterr().err
