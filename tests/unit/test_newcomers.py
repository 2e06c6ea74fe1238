"""What users of other libraries write first: it does what they expect, or the error says what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from noisy import noisy_release
from refusals import refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.cli.flags import read_keys

G = gm.Guarantee(epsilon=1, delta=1e-6)

MU = gm.Guarantee(mu=1e6)


@pytest.mark.parametrize(("field", "meant"), [("mean", "means"), ("sum", "sums"), ("histogram", "histograms")])
def test_fields_are_plural(field: str, meant: str) -> None:
    given: dict[str, Any] = {field: {"age": (0, 100)}}
    with refused("unknown-field-of-request", says=f"write {meant}=…", field=field):
        gm.Request("people.csv", guarantee=MU, **given)
    with refused("unknown-field-of-request", says=f"write {meant}=…", field=field):
        gm.Question(**given)
    with refused("unknown-key-in-request", says=f"write {meant} = …", key=field):
        gm.Request.from_dict({"source": "people.csv", "guarantee": {"mu": 1}, **given})


def test_a_near_name_is_not_offered_for_another_statistic() -> None:
    if "medians" in gm.Question.field_names():
        with refused("unknown-field-of-request", says="write medians=…", field="median"):
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
    assert "code=23 " in printed and "code=24 " not in printed
    assert "… and 276 more answers: --all prints them" in printed
    assert "has them in answers.csv and answers.parquet" in " ".join(printed.split())
    assert len((tmp_path / "out" / "answers.csv").read_text().splitlines()) == 301
    assert main([*asked, "--out", str(tmp_path / "again"), "--all"]) == 0
    printed = capsys.readouterr().out
    assert all(f"code={k} " in printed for k in range(300)) and "more answers" not in printed
    for command in ("plan", "rehearse"):
        assert main([command, *asked[1:]]) == 0
        printed = capsys.readouterr().out
        assert "… and 276 more answers: --all prints them\n" in printed and "code=24 " not in printed
        assert main([command, *asked[1:], "--all"]) == 0
        printed = capsys.readouterr().out
        assert all(f"code={k} " in printed for k in range(300)) and "more answers" not in printed


def test_a_regression_by_other_names_is_told_how_to_be_written() -> None:
    with refused("request-regression-malformed"):
        gm.Request("a.csv", regression={"y": "wage", "x": ["age"]}, guarantee=G)
    with refused("column-without-bounds") as error:
        gm.Request("a.csv", regression={"of": "wage", "on": ["age"]}, bounds={"wage": (0, 9)}, guarantee=G)
    assert str(error.value).endswith('write bounds={"age": (0, 100)}')  # a regression has no place for bounds


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


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 2) -> str:
    """What a command prints, as one line: its error, or what it shows."""
    assert main([*words, "--epsilon=1", "--delta=1e-6"]) == code
    printed = capsys.readouterr()
    return " ".join((printed.err if code else printed.out).split())


@pytest.fixture
def deliveries(tmp_path: Path) -> str:
    path = tmp_path / "deliveries.csv"
    path.write_text("courier_id,city,minutes\n1,Bonn,20\n2,Lyon,30\n")
    return str(path)


def test_a_guarantee_in_pieces_is_told_how_to_be_written() -> None:
    for given, says in (
        ({"epsilon": 1, "delta": 1e-6}, "write guarantee=gaussmith.Guarantee(epsilon=…, delta=…)"),
        ({"mu": 1}, "write guarantee=gaussmith.Guarantee(mu=…)"),
    ):
        fields: dict[str, Any] = {"count": True, **given}
        with refused("unknown-field-of-request", says=says):
            gm.Request("people.csv", **fields)
    with refused("unknown-key-in-request", says="write guarantee = { epsilon = 1, delta = 1e-6 }"):
        gm.Request.from_dict({"source": "people.csv", "count": True, "epsilon": 1})


def test_bounds_in_the_wrong_order_are_offered_in_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    for field in ("means", "sums", "medians"):
        asked: dict[str, Any] = {field: {"minutes": (1234567.5, 0)}}
        with refused("bounds-reversed", says="did you mean [0, 1234567.5]?"):
            gm.Request("a.csv", guarantee=G, **asked)
    assert "did you mean --mean minutes:0:60?" in told(capsys, "plan", "--mean", "minutes:60:0")
    assert "finite" in told(capsys, "plan", "--mean", "minutes:inf:0")


def test_bounds_after_spaces(deliveries: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["plan"], ["release", deliveries]):
        assert "write --mean minutes:0:60" in told(capsys, *words, "--mean", "minutes", "0", "60")
    assert "write --bounds warmth:-10:40" in told(capsys, "plan", "--bounds", "warmth", "-10", "40")


def test_a_missing_file_with_a_close_name(deliveries: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "release", deliveries.replace("ies.csv", "ys.csv"), "--count")
    assert f"did you mean '{deliveries}'?" in said
    far = told(capsys, "release", deliveries.replace("deliveries", "people"), "--count")
    assert "check the path" in far and "deliveries" not in far
    request = Path(deliveries).with_name("request.toml")
    request.write_text("")
    with refused("no-such-request-file", says=f"did you mean '{request}'?"):
        gm.Request.from_toml(request.with_name("reqest.toml"))


def test_groups_by_other_names_and_without_keys(capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--groupby", "--group-by", "--group_by"):
        assert "did you mean '--by'?" in told(capsys, "plan", "--count", flag, "city")
    said = told(capsys, "plan", "--count", "--by", "city")
    assert "or --by-found city to find them privately, or --bins city=0,10,20 for numbers and dates" in said
    assert "found" not in told(capsys, "plan", "--histogram", "city")


def test_a_decimal_comma(capsys: pytest.CaptureFixture[str]) -> None:
    for flags, says in (
        (["--epsilon", "1,5", "--delta", "1e-6"], "use a point: --epsilon 1.5"),
        (["--epsilon", "1", "--delta", "1e-6", "--rows", "10,000"], "write it without commas: --rows 10000"),
        (["--epsilon", "one", "--delta", "1e-6"], "write for example --epsilon 1"),
    ):
        assert main(["plan", "--count", *flags]) == 2
        assert says in capsys.readouterr().err


def test_a_release_without_a_request() -> None:
    asked: dict[str, Any] = {"count": True, "epsilon": 1}
    with refused("field-beside-request", says="gaussmith.Request('deliveries.csv', count=…, guarantee="):
        gm.release("deliveries.csv", **asked)
    with refused("no-such-argument", says="did you mean 'ledger'?"):
        gm.release(gm.Request("a.csv", count=True, guarantee=G), ledgr="a.ledger")  # type: ignore[arg-type]


def test_help_begins_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["release", "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "usage: gaussmith release SOURCE [OPTION…]"
    assert lines.index("examples:") < 12 < lines.index("options:")
    assert any("--unit person" in line for line in lines[:20])


def test_a_rehearsal_without_a_request() -> None:
    asked: dict[str, Any] = {"means": {"minutes": (0, 60)}, "epsilon": 1}
    says = "gaussmith.rehearse(gaussmith.Request('deliveries.csv', means=…, guarantee=gaussmith.Guarantee(…)))"
    with refused("field-beside-request", says=says):
        gm.rehearse("deliveries.csv", **asked)
    with refused("not-a-request", says="write gaussmith.rehearse(gaussmith.Request('deliveries.csv', count=True"):
        gm.rehearse("deliveries.csv")
    with refused("no-such-argument", says="rows"):
        gm.rehearse(gm.Request("a.csv", count=True, guarantee=G), row=10)  # type: ignore[arg-type]


def test_notes_name_flags_where_flags_are_used(deliveries: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("release", "plan"):
        shown = told(capsys, command, deliveries, "--count", "--unit", "courier_id", code=0)
        assert "(--ids integer: one)" in shown and "ids =" not in shown
    request = Path(deliveries).with_name("request.toml")
    request.write_text(f"source = '{deliveries}'\nunit = 'courier_id'\ncount = true\nguarantee = {{ mu = 1 }}\n")
    assert main(["release", str(request)]) == 0
    assert '(ids = "integer": one)' in " ".join(capsys.readouterr().out.split())


def test_rows_per_unit_beside_quantiles_alone(deliveries: str, capsys: pytest.CaptureFixture[str]) -> None:
    median = ["plan", deliveries, "--median", "minutes:0:60", "--unit", "courier_id", "--rows-per-unit", "4"]
    says = "--rows-per-unit has no effect here"
    assert says in told(capsys, *median, code=0)
    assert says not in told(capsys, *median, "--mean", "minutes:0:60", code=0)
    assert says not in told(capsys, *median, "--count-rows", code=0)
    request: dict[str, Any] = {"medians": {"minutes": (0, 60)}, "unit": "courier_id", "guarantee": G}
    with_limit, without = (gm.Request(deliveries, **request, rows_per_unit=k).plan.hash for k in (4, None))
    assert with_limit == without  # as the line says


def test_a_column_that_may_name_people(deliveries: str, capsys: pytest.CaptureFixture[str]) -> None:
    says = "each row counts as one person; if courier_id names the person, add --unit courier_id answer "
    for command in ("release", "plan"):
        assert told(capsys, command, deliveries, "--count", code=0).startswith(says)
        assert "names the person" not in told(capsys, command, deliveries, "--count", "--unit", "courier_id", code=0)
    Path(deliveries).write_text("courier_id,city,minutes\n")  # values have no say
    assert told(capsys, "release", deliveries, "--count", code=0).startswith(says)
    Path(deliveries).write_text("order_id,person,minutes\n")
    said = told(capsys, "release", deliveries, "--count", code=0)
    assert "if one of order_id, person names the person, add --unit with its name" in said
    Path(deliveries).write_text("paid,city,minutes\n")
    assert "names the person" not in told(capsys, "release", deliveries, "--count", code=0)
    assert main(["release", deliveries, "--count", "--mu", "1", "--json"]) == 0
    assert capsys.readouterr().out.startswith("{")


def test_the_bounds_of_a_sum_are_said_to_be_of_a_persons_total() -> None:
    visits = pl.DataFrame({"person": [1, 1, 2], "cost": [1.0, 2.0, 3.0]})
    asked = {"sums": {"cost": (0, 10)}, "guarantee": gm.Guarantee(mu=1)}
    said = "the bounds of cost are for the total of a person over all rows, not for one row"
    assert said in gm.release(gm.Request(visits, unit="person", **asked)).notes()
    assert said not in gm.release(gm.Request(visits, **asked)).notes()


def test_keys_of_flags_have_no_blanks_around_them() -> None:
    assert read_keys("--by", ["city=Paris, Saint Étienne ,Nice"], "") == {"city": ["Paris", "Saint Étienne", "Nice"]}
    assert read_keys("--by", ["year=2024, 2025"], "") == {"year": [2024, 2025]}


def test_a_mean_of_texts_is_told_how_to_ask(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("back\n" + "yes\nno\n" * 50, "utf-8")
    request = gm.Request(str(path), means={"back": (0, 1)}, guarantee=gm.Guarantee(mu=1e-6))
    shown = next(text for _ in range(200) if "unknown" in (text := str(gm.release(request))))
    assert "a column made of a condition has 1 where it holds" in " ".join(shown.split())
