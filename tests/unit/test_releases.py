"""Releases as values: names, intervals, tables, records."""

from __future__ import annotations

import base64
import json

import numpy as np
import polars as pl
import pytest
from noisy import noisy_release
from refusals import refused

import gaussmith as gm
from gaussmith.errors import PlanError
from gaussmith.planning.error_distribution import normal_width
from gaussmith.releases.release import Release

G = gm.Guarantee(epsilon=1, delta=1e-6)
PEOPLE = gm.Box({"age": (0, 100), "visits": (0, 80)})
ROWS = np.tile([40.0, 3.0], (1000, 1))


def test_a_release_names_its_answers():
    r = gm.plan(PEOPLE, G, count=True).release(ROWS)
    assert r.names == ("age", "visits", "count")
    assert r["age"].value == r.values[0] == r[0].value
    assert r["count"].value == r.values[2] == r[-1].value
    assert [a.name for a in r] == ["age", "visits", "count"]
    assert len(r) == 3
    with refused("no-such-answer", says="did you mean 'visits'", answer="visit"):
        r["visit"]


def test_intervals_surround_their_values_and_widen():
    r = gm.plan(PEOPLE, G, count=True).release(ROWS)
    for answer in r:
        low, high = answer.interval(0.95)
        assert low < answer.value < high
        assert high - low == pytest.approx(2 * normal_width(0.95) * answer.standard_error)
        wide = answer.interval(0.95, simultaneous=True)
        assert wide[0] < low < high < wide[1]


def test_confidence_and_method_are_checked():
    r = gm.plan(PEOPLE, G).release(ROWS)
    for confidence in (0, 1, 1.5, float("nan"), True, "95%"):
        with refused("probability-out-of-range", PlanError):
            r.intervals(confidence)
        with refused("probability-out-of-range", PlanError):
            r["age"].interval(confidence)
    with refused("unknown-interval-method", says="did you mean 'fieller'"):
        r.intervals(0.95, method="fiellr")
    with refused("unknown-interval-method", says="did you mean 'fieller'"):
        r["age"].interval(0.95, method="fiellr")


def test_the_count_is_no_answer_unless_asked():
    for answers in ("sums", "means"):
        r = gm.plan(PEOPLE, G, answers=answers).release(ROWS)
        assert r.names == ("age", "visits") and r.values.shape == (2,)
        with refused("no-such-answer"):
            r["count"]


def test_one_answer_has_a_value_and_several_are_named_instead():
    r = gm.plan(PEOPLE, G, count=True).release(ROWS)
    for several in (lambda: r.name, lambda: r.value, lambda: r.standard_error, lambda: r.interval()):
        with refused("release-of-several-answers", answers=("age", "visits", "count")):
            several()
    lower, upper = r.intervals(0.9)
    for i, name in enumerate(r.names):
        assert (r[name].value, r[name].standard_error) == (r.values[i], r.standard_errors[i])
        assert r[name].interval(0.9) == (lower[i], upper[i])
        assert r[name].guarantee == r.guarantee and r[name].rows() == [r.rows()[i]]


def test_replace_one_gives_the_count_exactly():
    r = gm.plan(PEOPLE, G, neighbours="replace-one", answers="means", count=True).release(ROWS)
    assert r["count"].value == 1000
    assert r["count"].standard_error == 0
    assert (r.rows()[-1]["status"], r.rows()[-1]["note"]) == ("exact", "public")
    assert "exact: public" in str(r)


def test_fieller_of_an_empty_table_is_the_whole_line_and_says_so():
    """With no records the count's sign is open: most of the time nothing can be said about a mean."""
    plan = gm.plan(PEOPLE, G, answers="means")
    open_ended = [plan.release(np.zeros((0, 2))) for _ in range(40)]
    unknown = [r for r in open_ended if r.rows()[0]["status"] == "unknown"]
    assert unknown
    assert np.isinf(unknown[0]["age"].raw_intervals(1.96)).all()
    assert unknown[0]["age"].interval(0.95) == (0, 100)  # all that is known are the bounds
    assert "unknown: too few records" in str(unknown[0])
    assert unknown[0].to_polars()["lower"][0] == 0
    assert json.loads(unknown[0].to_json())["answers"][0]["status"] == "unknown"


def test_fieller_and_delta_agree_where_the_count_is_large():
    r = gm.plan(PEOPLE, G, answers="means").release(np.tile([40.0, 3.0], (1_000_000, 1)))
    fieller, delta = r.intervals(0.95), r.intervals(0.95, method="delta")
    assert fieller[0] == pytest.approx(delta[0], rel=1e-3)
    assert fieller[1] == pytest.approx(delta[1], rel=1e-3)


def test_tables_have_the_promised_columns():
    table = gm.plan(PEOPLE, G, count=True).release(ROWS).to_polars()
    assert table.columns == ["answer", "value", "standard_error", "lower", "upper", "status", "note"]
    assert table["status"].to_list() == ["noisy"] * 3 and table["note"].to_list() == [""] * 3
    assert table["answer"].to_list() == ["age", "visits", "count"]
    assert table.schema["value"] == pl.Float64


def test_a_record_holds_the_guarantee_the_plan_and_the_answers_and_comes_back():
    r = gm.plan(PEOPLE, G, answers="means", count=True).release(ROWS)
    record = json.loads(r.to_json())
    assert record["plan_hash"] == r.plan.hash
    assert record["guarantee"] == {"epsilon": 1, "delta": 1e-6, "mu": G.mu, "rho": G.rho}
    assert record["gaussmith"] == gm.__version__
    again = Release.from_json(r.to_json())
    assert (again.values == r.values).all()
    assert again["count"].value == r["count"].value
    assert again.to_json() == r.to_json()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}'])
def test_records_that_are_not_releases_are_refused(text):
    with pytest.raises(PlanError):
        Release.from_json(text)
    with refused("unknown-release-format", format=7):
        Release.from_json('{"format": 7}')


def test_printing_reads_as_a_table():
    text = str(gm.plan(PEOPLE, G, answers="means", count=True).release(ROWS))
    lines = text.splitlines()
    assert lines[0].split() == ["answer", "value", "±", "error", "95", "%", "interval"]
    assert lines[1].startswith("age")
    assert "Intervals cover the noise, not clipping" in text
    assert "<table>" in gm.plan(PEOPLE, G).release(ROWS)._repr_html_()


def test_covariance_of_a_release_matches_its_errors():
    for options in ({"count": True}, {"answers": "means", "count": True}):
        r = gm.plan(PEOPLE, G, **options).release(np.tile([40.0, 3.0], (100_000, 1)))
        diagonal = np.sqrt(np.diag(r.covariance()))
        assert diagonal == pytest.approx(r.standard_errors)


def test_a_release_equals_what_is_read_back() -> None:
    plan = gm.plan(gm.Box({"a": (0, 1)}), gm.Guarantee(mu=1), count=True)
    release = plan.release([[0.5], [1.0]])
    assert gm.Release.from_json(release.to_json()) == release and hash(gm.read(release.to_json())) == hash(release)
    assert plan.release([[0.5], [1.0]]) != release and release != "release"


def test_a_release_of_groups_and_its_totals_are_read_back_whole() -> None:
    by = gm.Groups({"region": ["n", "s"], "sex": ["f", "m"]}, gm.Box({"a": (0, 1)}), at_most=2)
    data = pl.DataFrame({"region": ["n", "s"], "sex": ["f", "m"], "a": [0.5, 1.0]})
    release = gm.plan(by, gm.Guarantee(mu=1), count=True).release(data)
    assert gm.read(release.to_json()) == release
    total = release.total(region="n")
    assert repr(total) == str(total) and "a " in repr(total).splitlines()[1]
    again = gm.read(total.to_json())
    assert again == total and again != release["n", "f"]
    tie = release.plan.query.tie
    assert tie is not None  # a person may be in two groups, whose errors are correlated
    same, between = tie.lift.covariance(0, 0)
    rows = np.array([[0.5, 0.5], [0.0, 1.0]])  # the sum and the count, from the core of a group
    expected = np.sqrt(np.diag(rows @ (2 * same + 2 * between) @ rows.T)) * tie.noise_scale
    assert again.standard_errors == pytest.approx(expected)
    assert np.abs(again.standard_errors / release["n", "f"].standard_errors - np.sqrt(2)).min() > 0.01
    assert again.guarantee == release.guarantee
    record = json.loads(total.to_json())
    assert record["view"] == {"question": None, "groups": [0, 1], "summed": True, "answer": None}
    for groups in ([], [0, 0], [0, 4], [-1], [True], [0.0], ["0"]):
        with refused("view-of-other-groups"):
            gm.read(json.dumps(record | {"view": record["view"] | {"groups": groups}}))
    for view in ({"summed": False}, {"answer": "b"}, {"question": "n"}, {"groups": True}):
        with pytest.raises(PlanError):
            gm.read(json.dumps(record | {"view": record["view"] | view}))


def test_a_narrowed_release_keeps_guarantee_id_and_receipt_of_the_whole() -> None:
    by = gm.Groups({"region": ["n", "s"]}, gm.Box({"a": (0, 1)}), at_most=2)
    data = pl.DataFrame({"region": ["n", "s"], "a": [0.5, 1.0]})
    release = gm.plan(by, gm.Guarantee(mu=1), count=True).release(data).named("one", "receipt")
    for part in (release["n"], release["n"]["count"], release.total(), release.total()["a"]):
        assert (part.guarantee, part.id, part.receipt) == (release.guarantee, "one", "receipt")
        assert gm.read(part.to_json()) == part and gm.read(part.to_json()).values.tolist() == part.values.tolist()
    assert [part.rows()[0]["region"] for part in release] == ["n", "s"]


def test_large_errors_of_unknown_means_are_written_out() -> None:
    plan = gm.plan(gm.Box({"a": (0, 100_000)}), gm.Guarantee(mu=1), answers="means", count=True)
    text = str(noisy_release(plan, [1e6, 1.0]))
    assert "unknown: too few records" in text and "e+0" not in text


def test_many_answers_are_saved_by_columns_and_read_back() -> None:
    size = 10_001
    release = gm.plan(gm.Cells(size), gm.Guarantee(mu=1)).release(np.arange(size))
    record = json.loads(release.to_json())
    columns = record["answers"]["columns"]
    assert columns["status"] == {"all": "noisy"} and columns["answer"][:2] == ["0", "1"]
    values = np.frombuffer(base64.b64decode(columns["value"]["doubles"]), "<f8")
    assert np.array_equal(values, release.values)
    again = gm.read(release.to_json())
    assert isinstance(again, gm.Release) and again == release
    few = gm.plan(gm.Cells(4), gm.Guarantee(mu=1)).release(np.arange(4))
    assert [row["answer"] for row in json.loads(few.to_json())["answers"]] == ["0", "1", "2", "3"]
