"""Requests that are refused, before anything is opened or by the schema alone, and how."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refusal, refused
from visits import LOUD, VISITS, G, ask, rounded

import gaussmith as gm
from gaussmith.errors import RequestError

REFUSED = {
    "count": (
        {"count": "people"},
        refusal("unknown-count", count="people"),
    ),
    "mean_of": (
        {"means": {"a": (0, 1)}, "mean_of": "unit"},
        refusal("unknown-mean-of", says="did you mean 'units'", mean_of="unit"),
    ),
    "rows without a limit": (
        {"means": {"a": (0, 1)}, "unit": "p"},
        refusal("rows-per-unit-missing", answer="means over rows"),
    ),
    "rows counted without a limit": (
        {"count": "rows", "unit": "p"},
        refusal("rows-per-unit-missing", answer='count="rows"'),
    ),
    "a limit without people": (
        {"count": True, "rows_per_unit": 3},
        refusal("limit-without-unit", name="rows_per_unit", value=3),
    ),
    "groups without people": (
        {"count": True, "by": {"r": ["a", "b"]}, "groups_per_unit": 2},
        refusal("limit-without-unit", name="groups_per_unit", value=2),
    ),
    "limit zero": (
        {"count": True, "unit": "p", "rows_per_unit": 0},
        refusal("whole-number-out-of-range", says="write rows_per_unit=1", name="rows_per_unit", value=0),
    ),
    "limit half": (
        {"count": True, "unit": "p", "rows_per_unit": 1.5},
        refusal("whole-number-out-of-range", says="write rows_per_unit=1", name="rows_per_unit", value=1.5),
    ),
    "m zero": (
        {"count": True, "unit": "p", "groups_per_unit": 0},
        refusal("whole-number-out-of-range", says="write groups_per_unit=1", name="groups_per_unit", value=0),
    ),
    "m without groups": (
        {"count": True, "unit": "p", "groups_per_unit": 2},
        refusal("groups-per-unit-without-groups", groups_per_unit=2),
    ),
    "m too large": (
        {"count": True, "unit": "p", "by": {"r": ["a", "b"]}, "groups_per_unit": 3},
        refusal(
            "limit-exceeds-declared", says="write groups_per_unit=2, or less", name="groups_per_unit", value=3, size=2
        ),
    ),
    "keys twice": (
        {"count": True, "by": {"r": ["a", "b", "a"]}},
        refusal("group-twice", group=("a",)),
    ),
    "keys not listed": (
        {"count": True, "by": {"r": "a"}},
        refusal("keys-not-listed", column="r", values="a"),
    ),
    "no keys": (
        {"count": True, "by": 3},
        refusal("by-malformed", by=3),
    ),
    "keys without a column": (
        {"count": True, "by": ["region"]},
        refusal("column-without-values", which="by", column="region"),
    ),
    "key with a time": (
        {"count": True, "by": {"day": [datetime.datetime(2024, 5, 31, 3)]}},
        refusal("key-date-with-time", key="2024-05-31T03:00:00"),
    ),
    "too many values": (
        {"histograms": {"r": ["a", "b"]}, "unit": "p", "values_per_unit": 3},
        refusal(
            "limit-exceeds-declared", says="write values_per_unit=2, or less", name="values_per_unit", value=3, size=2
        ),
    ),
    "too many values of all": (
        {"histograms": {"r": ["a", "b"], "s": ["a"]}, "unit": "p", "values_per_unit": 3},
        refusal(
            "limit-exceeds-declared", says="write values_per_unit=2, or less", name="values_per_unit", value=3, size=2
        ),
    ),
    "half a filter": (
        {"count": True, "where": "age >="},
        refusal("expression-incomplete", position=6),
    ),
    "half a column": (
        {"sums": {"a": (0, 1)}, "columns": {"a": "b +"}},
        refusal("expression-incomplete", position=3),
    ),
    "brackets across filters": (
        {"where": "a > 1", "questions": [{"count": True, "where": "b > 1) or (c > 1"}]},
        refusal("token-out-of-place", position=5, token=")"),
    ),
    "unknown function": (
        {"sums": {"x": (0, 1)}, "columns": {"x": "exec(age)"}},
        refusal("unknown-function", position=0, function="exec"),
    ),
    "missing in letters": (
        {"sums": {"a": (5, 9)}, "missing": {"a": "x"}},
        refusal("missing-not-a-number", column="a", missing="x"),
    ),
    "two spellings": (
        {"sums": {"a": (5, 9)}, "neighbours": "replace-one", "neighbors": "add-remove"},
        refusal("neighbours-spelled-twice", neighbours="replace-one", neighbors="add-remove"),
    ),
    "key of a fraction": (
        {"count": True, "by": {"r": [0.5]}},
        refusal("key-of-unknown-type", key=0.5),
    ),
    "unit": ({"count": True, "unit": 3}, refusal("unit-not-a-name", unit=3)),
    "where": ({"count": True, "where": True}, refusal("where-not-text", where=True)),
    "columns": (
        {"count": True, "columns": ["a"]},
        refusal("expressions-not-a-mapping", columns=("a",)),
    ),
    "the count of a filtered histogram, replaced": (
        {"count": True, "where": "a > 1", "histograms": {"b": ["x", "y"]}, "neighbours": "replace-one"},
        "filtered-histogram-count-under-replace-one",
    ),
    "missing outside": (
        {"sums": {"a": (5, 9)}, "unit": "p", "missing": {"a": 10}},
        refusal("request-missing-outside-bounds", column="a", value=10, lowest=0.0, highest=9.0),
    ),
    "missing not asked": (
        {"sums": {"a": (5, 9)}, "missing": {"b": 1}},
        refusal("missing-of-unasked-column", says="choose one of: a", column="b"),
    ),
    "both": (
        {"count": True, "questions": [{"count": True}]},
        refusal("answer-beside-questions", key="count"),
    ),
    "names twice": (
        {"questions": [{"name": "a", "count": True}, {"name": "a", "count": True}]},
        refusal("question-name-twice", name="a"),
    ),
    "unknown key": (
        {"questions": [{"cuont": True}]},
        refusal("unknown-key-in-question", says="did you mean 'count'", key="cuont", question=1),
    ),
    "unit in a question": (
        {"questions": [{"count": True, "unit": "p"}]},
        refusal("unknown-key-in-question", says="write unit=… above the questions", key="unit", question=1),
    ),
    "no table": (
        {"questions": [3]},
        refusal("question-not-a-table", question=3),
    ),
    "share": (
        {"questions": [{"count": True, "share": 0}]},
        refusal("share-not-positive", share=0),
    ),
    "nothing": (
        {"questions": [{"name": "a"}]},
        "nothing-asked",
    ),
    "derived twice": (
        {"columns": {"a": "b"}, "questions": [{"count": True, "columns": {"a": "c"}}]},
        refusal("column-derived-twice", column="a"),
    ),
    "missing nowhere": (
        {"missing": {"z": 1}, "questions": [{"count": True}]},
        refusal("missing-of-unasked-column", says="leave it out, or ask for it", column="z"),
    ),
    "name": (
        {"questions": [{"name": " a", "count": True}]},
        refusal("question-name-unusable", name=" a"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_before_anything_is_opened(case: str) -> None:
    fields, text = REFUSED[case]
    with refused(text) as caught:
        gm.Request("nowhere.parquet", guarantee=G, **fields)
    assert caught.value.exit_code == 2


SCHEMA = {
    "unknown unit": (
        {"count": True, "unit": "persn"},
        refusal("no-such-column", says="did you mean 'person'", column="persn"),
    ),
    "unknown column": (
        {"sums": {"spend": (0, 1)}, "unit": "person"},
        refusal("no-such-column", says="did you mean 'spent'", column="spend"),
    ),
    "unknown key column": (
        {"count": True, "by": {"regio": ["a"]}},
        refusal("no-such-key-column", says="did you mean 'region'", column="regio"),
    ),
    "keys of another kind": (
        {"count": True, "by": {"region": [1]}},
        None,
    ),
    "keys of a number": (
        {"count": True, "by": {"age": ["old"]}},
        refusal(
            "keys-do-not-fit-column",
            says="write whole numbers, without quotes; if the column holds fractions, derive a column: floor(…)",
            column="age",
            kind="number",
            key="old",
        ),
    ),
    "unknown column in a filter": (
        {"count": True, "where": "ages > 1"},
        refusal("unknown-column-in-expression", says="did you mean 'age'", position=0, column="ages"),
    ),
    "keys that are numbers in quotes": (
        {"count": True, "by": {"age": ["17", "36"]}},
        refusal(
            "keys-do-not-fit-column",
            says="write whole numbers, without quotes; if the column holds fractions, derive a column: floor(…)",
            column="age",
            kind="number",
            key="17",
        ),
    ),
    "truths for a number": (
        {"count": True, "by": {"age": [True, False]}},
        refusal("keys-do-not-fit-column", says="fix the keys", column="age", kind="number", key=True),
    ),
    "a text without quotes": (
        {"count": True, "where": "region == nroth"},
        refusal(
            "text-without-quotes", says="choose one of: person, region, spent, score, age", position=10, column="nroth"
        ),
    ),
    "text": (
        {"sums": {"region": (0, 1)}, "unit": "person"},
        refusal("column-of-text", column="region"),
    ),
    "derived name taken": (
        {"count": True, "columns": {"age": "spent"}},
        refusal("derived-name-taken", column="age"),
    ),
}


@pytest.mark.parametrize("case", SCHEMA)
def test_refused_by_the_schema_before_anything_is_charged(case: str, tmp_path: Any) -> None:
    fields, text = SCHEMA[case]
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1))
    request = gm.Request(VISITS, guarantee=gm.Guarantee(mu=0.5), **fields)
    if text is None:  # a text column may hold numbers
        assert gm.release(request, ledger=ledger).labels == ((1,),)
        return
    with refused(text):
        gm.release(request, ledger=ledger, id="a")
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"unit": "p"}, "unit"),
        ({"by": {"r": ["a"]}}, "by"),
        ({"where": "a > 1"}, "where"),
        ({"columns": {"b": "a"}}, "columns"),
    ],
)
def test_arrays_have_no_names(fields: Any, word: str) -> None:
    with refused("request-for-array", RequestError, word=word):
        ask(np.ones((3, 1)), count=True, **fields)


def test_an_array_is_a_source_like_any_other() -> None:
    assert rounded(ask(np.full((5, 2), [1.0, 3.0]), sums={"a": (0, 2)}, means={"b": (0, 4)})) == {
        "a_sum": 5,
        "b_mean": 3,
    }


def test_truths_are_keys_of_text_columns_too(tmp_path: Any) -> None:
    file = tmp_path / "people.csv"
    file.write_text("smoker\ntrue\nFALSE\n true\nperhaps\n\n")
    request = gm.Request(str(file), count=True, by={"smoker": [True, False]}, guarantee=LOUD)
    released = gm.release(request)
    assert released.labels == ((True,), (False,)) and released.values[:, -1].round().tolist() == [2, 1]


def test_a_list_of_several_histograms_limits_each_by_its_own_length() -> None:
    asked = {"region": ["north", "south"], "age": [17]}
    request = gm.Request(VISITS, histograms=asked, unit="person", values_per_unit=2, guarantee=G)
    assert [query.row_rule.values_per_unit for query in request.plan.queries] == [2, 1]


def test_a_key_with_a_time_of_day_is_refused() -> None:
    days = pl.DataFrame({"day": [datetime.date(2024, 5, 31)]})
    with refused("key-not-a-date", key="2024-05-31 03:00", column="day"):
        gm.release(gm.Request(days, count=True, by={"day": ["2024-05-31 03:00"]}, guarantee=G))
    midnight = gm.Request(days, count=True, by={"day": [datetime.datetime(2024, 5, 31)]}, guarantee=LOUD)
    assert gm.release(midnight).values[:, -1].round().tolist() == [1]
