"""Requests: what they plan, their TOML twin, what they refuse before anything is opened."""

from __future__ import annotations

import dataclasses
import inspect

import pytest
from refusals import refusal, refused

import gaussmith as gm

G = gm.Guarantee(epsilon=1, delta=1e-6)


def test_answers_are_named_by_column_and_kind():
    request = gm.Request(
        "x.csv", sums={"visits": (0, 80)}, means={"age": (0, 100)}, complete=["age"], count=True, guarantee=G
    )
    assert request.plan.answers.names == request.plan.names == ("visits_sum", "age_mean", "count")
    assert request.plan.answers.count
    assert request.plan.queries[0].row_rule.names == ("visits", "age")


def test_a_column_asked_both_ways_needs_no_stand_in():
    both = {"sums": {"age": (0, 100)}, "means": {"age": (0, 100)}, "guarantee": G}
    assert len(gm.Request("x.csv", **both).plan.queries) == 2  # the mean is over the rows with a value
    promised = gm.Request("x.csv", **both, complete=["age"]).plan
    assert promised.domain.dimension == 1 and promised.block.substitutes.tolist() == [50]


def test_a_column_asked_both_ways_is_one_coordinate_when_its_bounds_agree():
    request = gm.Request("x.csv", sums={"age": (0, 100)}, means={"age": (0, 100)}, missing={"age": 40}, guarantee=G)
    assert request.plan.domain.dimension == 1
    assert request.plan.answers.names == ("age_sum", "age_mean")
    apart = gm.Request("x.csv", sums={"age": (0, 100)}, means={"age": (18, 90)}, missing={"age": 40}, guarantee=G)
    assert apart.plan.domain.dimension == 2
    assert apart.plan.queries[0].row_rule.names == ("age", "age")


def test_the_count_alone_can_be_asked():
    request = gm.Request("x.csv", count=True, guarantee=gm.Guarantee(mu=1))
    assert request.plan.block.count_standard_error == pytest.approx(1)
    assert request.plan.queries[0].row_rule.names == ()


def test_toml_says_the_same(tmp_path):
    file = tmp_path / "request.toml"
    file.write_text(
        'source = "visits.parquet"\ncount = true\nguarantee = { epsilon = 1, delta = 1e-6 }\n'
        "sums = { visits = [0, 80] }\nmeans = { age = [0, 100] }\n"
    )
    request = gm.Request.from_toml(file)
    twin = gm.Request("x", sums={"visits": (0, 80)}, means={"age": (0, 100)}, count=True, guarantee=G)
    assert request.plan == twin.plan
    assert request.source == str(tmp_path / "visits.parquet")


TOML = 'source = "x.csv"\nguarantee = { epsilon = 1, delta = 1e-6 }\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TOML, "nothing-asked"),
        (TOML + "cuont = true", refusal("unknown-key-in-request", says="did you mean 'count'", key="cuont")),
        (TOML + "count = 1", refusal("unknown-count", count=1)),
        (TOML + "sums = { age = [0] }", refusal("request-bounds-not-two-numbers", column="age", bounds=(0,))),
        (TOML + 'sums = { age = ["0", "9"] }', "request-bounds-not-two-numbers"),
        (TOML + "sums = { age = [nan, 1] }", "request-bounds-not-two-numbers"),
        (TOML + "sums = { age = [9, 0] }", "bounds-reversed"),
        (TOML + "sums = { age = [9, 9] }", "bounds-equal"),
        (TOML + "sums = { age = [0, inf] }", "bounds-not-finite"),
        (TOML + "sums = 3", refusal("bounds-not-a-mapping", sums=3)),
        (TOML + "count = true\nmissing = 3", refusal("missing-not-a-mapping", missing=3)),
        (TOML + "count = true\nmissing = { age = 3 }", refusal("missing-of-unasked-column", column="age")),
        (
            TOML + "sums = { age = [0, 9] }\nmissing = { age = 30 }",
            refusal("missing-outside-bounds", column="age", low=0, high=9),
        ),
        (TOML + 'means = { age = [0, 9] }\nmissing = "drop"', refusal("missing-not-a-mapping", missing="drop")),
        (TOML + 'means = { age = [0, 9] }\ncomplete = "age"', refusal("complete-not-listed", complete="age")),
        (TOML + 'means = { age = [0, 9] }\ncomplete = ["ag"]', refusal("missing-of-unasked-column", column="ag")),
        (
            TOML + 'means = { age = [0, 9] }\ncomplete = ["age"]\nmissing = { age = 3 }',
            refusal("complete-beside-missing", column="age"),
        ),
        (TOML + 'count = true\nneighbours = "replace"', refusal("unknown-neighbours", neighbours="replace")),
        (TOML + 'sums = { age = [0, 9] }\nweights = "none"', refusal("unknown-weights", weights="none")),
        ("count = true\nguarantee = { epsilon = 1, delta = 1e-6 }", "request-without-source"),
        ('source = "x.csv"\ncount = true', "request-without-guarantee"),
        ('source = "x.csv"\ncount = true\nguarantee = 1', refusal("request-without-guarantee", guarantee=1)),
        ('source = "x.csv"\ncount = true\nguarantee = { eps = 1 }', refusal("unknown-key-in-guarantee", key="eps")),
        ('source = "x.csv"\ncount = true\nguarantee = { epsilon = 0, delta = 1e-6 }', "epsilon-not-positive"),
        ('source = "x.csv"\ncount = true\nguarantee = { epsilon = 1, delta = 1 }', "delta-out-of-range"),
        ("source = ", "request-file-not-toml"),
        (
            'source = "x.csv"\ncount = true\nepsilon = 2',
            refusal("unknown-key-in-request", says="write guarantee = { epsilon = 2, delta = 1e-6 }", key="epsilon"),
        ),
        (
            'source = "x.csv"\ncount = true\nmu = 0.5',
            refusal("unknown-key-in-request", says="write guarantee = { mu = 0.5 }", key="mu"),
        ),
        (
            TOML + "count = true\nledger = 'a'",
            refusal("unknown-key-in-request", says="write gaussmith release REQUEST.toml --ledger …", key="ledger"),
        ),
        (TOML + "count = true\nid = 'a'", "unknown-key-in-request"),
        (
            TOML + "zzz = 1",
            refusal(
                "unknown-key-in-request",
                says="keys_delta, keys_first, diagnose, budget, guarantee, noise, neighbours, question",
            ),
        ),
        (
            TOML + 'count = true\nneighbors = "add-remove"\nneighbours = "add-remove"',
            "request-neighbours-spelled-twice",
        ),
    ],
)
def test_wrong_requests_are_refused_in_words(tmp_path, text, words):
    file = tmp_path / "r.toml"
    file.write_text(text)
    with refused(words) as caught:
        gm.Request.from_toml(file)
    assert caught.value.exit_code == 2


def test_a_request_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with refused("no-such-request-file"):
        gm.Request.from_toml(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with refused("request-file-not-text"):
        gm.Request.from_toml(tmp_path / "bytes.toml")


def test_the_home_of_nobody_is_a_path_like_any_other(tmp_path):
    (tmp_path / "request.toml").write_text(
        'source = "~nobody-of-this-name/people.csv"\ncount = true\nguarantee = { mu = 1 }\n'
    )
    request = gm.Request.from_toml(tmp_path / "request.toml")
    assert request.source == str(tmp_path / "~nobody-of-this-name" / "people.csv")
    with refused("no-such-file"):
        gm.release(request)


def test_a_mark_at_the_beginning_of_a_file_is_no_part_of_it(tmp_path):
    (tmp_path / "r.toml").write_text(TOML + "count = true", encoding="utf-8-sig")
    assert gm.Request.from_toml(tmp_path / "r.toml").count is True


def test_either_spelling_of_neighbours(tmp_path):
    (tmp_path / "r.toml").write_text(TOML + 'sums = { a = [0, 1] }\nneighbors = "replace-one"')
    named = gm.Request("x.csv", sums={"a": (0, 1)}, neighbors="Replace_One", guarantee=G)
    for request in (gm.Request.from_toml(tmp_path / "r.toml"), named):
        assert request.neighbours == request.plan.neighbours == "replace-one"
        assert dataclasses.replace(request, neighbours="add-remove").plan.neighbours == "add-remove"
    assert gm.plan(gm.Box([0], [1]), G, neighbors="replace-one").neighbours == "replace-one"
    assert gm.plan(gm.Groups({"r": ["a"]}, gm.Box([0], [1])), G, neighbors="replace-one").neighbours == "replace-one"


@pytest.mark.parametrize(("guarantee", "shown"), [((1, 1e-6), "guarantee of type tuple"), (1, "guarantee=1")])
def test_what_is_no_guarantee_is_named(guarantee, shown):
    with refused("request-without-guarantee", says="guarantee=gaussmith.Guarantee(epsilon=1, delta=1e-6)") as caught:
        gm.Request("x.csv", count=True, guarantee=guarantee)
    assert caught.value.what == shown


def test_a_guarantee_may_be_given_as_a_table():
    request = gm.Request("x.csv", count=True, guarantee={"epsilon": 1, "delta": 1e-6})
    assert request.guarantee == gm.Guarantee(epsilon=1, delta=1e-6)
    with refused("unknown-key-in-guarantee", key="eps", says="epsilon"):
        gm.Request("x.csv", count=True, guarantee={"eps": 1})


def test_groups_without_columns_say_how_they_are_written():
    with refused("groups-malformed"):
        gm.Groups(["a", "b"], gm.Box([0], [1]))


def test_a_release_takes_a_request_or_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("a\n1\n2\n")
    (tmp_path / "r.toml").write_text('source = "x.csv"\ncount = true\nguarantee = { mu = 1e6 }')
    for file in ("r.toml", tmp_path / "r.toml"):
        assert round(gm.release(file)["count"].value) == 2
    plan = gm.plan(gm.Box([0], [1]), G)
    for thing, says in (
        ("x.csv", "gaussmith.release(gaussmith.Request('x.csv', count=True, guarantee=…))"),
        (plan, "plan.release(data)"),
        ({"source": "x.csv"}, "dict"),
        (None, "NoneType"),
    ):
        with refused("not-a-request", says=says) as caught:
            gm.release(thing)
        assert caught.value.exit_code == 2


def test_help_and_notebooks_name_every_field() -> None:
    shown = inspect.signature(gm.Request).parameters
    assert next(iter(shown)) == "source" and {"unit", "sums", "by", "guarantee", "questions"} <= set(shown)
    assert shown["sums"].default == {} and shown["unit"].default is None
    assert {"name", "share", "medians"} <= set(inspect.signature(gm.Question).parameters)
