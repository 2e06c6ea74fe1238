"""Requests that are refused, before anything is opened or by the schema alone, and how."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from visits import LOUD, VISITS, G, ask, rounded

import gaussmith as gm
from gaussmith.errors import GaussmithError, RequestError

REFUSED = {
    "count": (
        {"count": "people"},
        "count='people' · it is true, false or \"rows\" · write count = true",
    ),
    "mean_of": (
        {"means": {"a": (0, 1)}, "mean_of": "unit"},
        "mean_of='unit' · it is \"rows\" or \"units\" · did you mean 'units'?",
    ),
    "rows without a limit": (
        {"means": {"a": (0, 1)}, "unit": "p"},
        "means over rows without rows_per_unit · it must be said how many rows of one person count · "
        'write rows_per_unit = 12, or mean_of = "units" for the mean over people',
    ),
    "rows counted without a limit": (
        {"count": "rows", "unit": "p"},
        'count="rows" without rows_per_unit · it must be said how many rows of one person count · '
        'write rows_per_unit = 12, or mean_of = "units" for the mean over people',
    ),
    "a limit without people": (
        {"count": True, "rows_per_unit": 3},
        "rows_per_unit=3 without a unit · without a unit each row is a person · "
        'name the column that tells people apart: unit = "person"',
    ),
    "groups without people": (
        {"count": True, "by": {"r": ["a", "b"]}, "groups_per_unit": 2},
        "groups_per_unit=2 without a unit · without a unit each row is a person · "
        'name the column that tells people apart: unit = "person"',
    ),
    "limit zero": (
        {"count": True, "unit": "p", "rows_per_unit": 0},
        "rows_per_unit=0 · it is a whole number from 1 to 1048576 · write rows_per_unit = 1",
    ),
    "limit half": (
        {"count": True, "unit": "p", "rows_per_unit": 1.5},
        "rows_per_unit=1.5 · it is a whole number from 1 to 1048576 · write rows_per_unit = 1",
    ),
    "m zero": (
        {"count": True, "unit": "p", "groups_per_unit": 0},
        "groups_per_unit=0 · it is a whole number of at least 1 · write groups_per_unit = 1",
    ),
    "m without groups": (
        {"count": True, "unit": "p", "groups_per_unit": 2},
        "groups_per_unit=2 without groups · it is about groups · declare them: by = …",
    ),
    "m too large": (
        {"count": True, "unit": "p", "by": {"r": ["a", "b"]}, "groups_per_unit": 3},
        "groups_per_unit=3 · only 2 groups are declared · write groups_per_unit = 2, or less",
    ),
    "keys twice": (
        {"count": True, "by": {"r": ["a", "b", "a"]}},
        "group ('a',) is declared twice · every group has its own key · leave one out",
    ),
    "keys not listed": (
        {"count": True, "by": {"r": "a"}},
        "keys of 'r' = 'a' · they are listed, at least one · write {'r': [\"north\", \"south\"]}",
    ),
    "no keys": (
        {"count": True, "by": 3},
        "by=3 · it maps columns to lists of keys, or lists combinations of keys · "
        'write by = { region = ["north", "south"] }',
    ),
    "keys without a column": (
        {"count": True, "by": ["region"]},
        "by=['region'] · it maps columns to lists of keys, or lists combinations of keys · "
        'write by = { region = ["north", "south"] }',
    ),
    "key with a time": (
        {"count": True, "by": {"day": [datetime.datetime(2024, 5, 31, 3)]}},
        "key 2024-05-31T03:00:00 · dates are matched by their day · write a date without a time",
    ),
    "too many values": (
        {"histograms": {"r": ["a", "b"]}, "unit": "p", "values_per_unit": 3},
        "values_per_unit=3 · only 2 values are declared · write values_per_unit = 2, or less",
    ),
    "too many values of all": (
        {"histograms": {"r": ["a", "b"], "s": ["a"]}, "unit": "p", "values_per_unit": 3},
        "values_per_unit=3 · only 2 values are declared · write values_per_unit = 2, or less",
    ),
    "half a filter": (
        {"count": True, "where": "age >="},
        "in the expression\n    age >=\n          ^\nsomething is missing at the end · "
        "an operator stands between two values · complete the expression",
    ),
    "half a column": (
        {"sums": {"a": (0, 1)}, "columns": {"a": "b +"}},
        "in the expression\n    b +\n       ^\nsomething is missing at the end · "
        "an operator stands between two values · complete the expression",
    ),
    "brackets across filters": (
        {"where": "a > 1", "questions": [{"count": True, "where": "b > 1) or (c > 1"}]},
        "in the expression\n    b > 1) or (c > 1\n         ^\n')' cannot stand here · "
        "an operator stands between two values · take it out, or add what is missing",
    ),
    "unknown function": (
        {"sums": {"x": (0, 1)}, "columns": {"x": "exec(age)"}},
        "in the expression\n    exec(age)\n    ^\nthere is no function 'exec' · "
        "the language has + - * / == != < <= > >= in, and or not, is_null year month day abs floor min max number · "
        "use one of these",
    ),
    "missing in letters": (
        {"sums": {"a": (5, 9)}, "missing": {"a": "x"}},
        "missing of 'a' = 'x' · it is a number · write missing = { age = 40 }",
    ),
    "two spellings": (
        {"sums": {"a": (5, 9)}, "neighbours": "replace-one", "neighbors": "add-remove"},
        "neighbours='replace-one' and neighbors='add-remove' · they are one and the same · leave one out",
    ),
    "key of a fraction": (
        {"count": True, "by": {"r": [0.5]}},
        "key 0.5 · a key is text, a whole number or a truth value · round it to one",
    ),
    "unit": ({"count": True, "unit": 3}, 'unit=3 · it names a column · write unit = "person"'),
    "where": ({"count": True, "where": True}, 'where=True · a filter is written as text · write where = "age >= 18"'),
    "columns": (
        {"count": True, "columns": ["a"]},
        "columns=['a'] · it maps names to expressions · write columns = { bmi = \"weight / (height * height)\" }",
    ),
    "replace-one with a filter": (
        {"count": True, "where": "a > 1", "sums": {"a": (0, 1)}, "neighbours": "replace-one"},
        "where under replace-one · there the number of people is public, and a filter would give away who passes it · "
        'leave neighbours out, which is "add-remove"',
    ),
    "missing outside": (
        {"sums": {"a": (5, 9)}, "unit": "p", "missing": {"a": 10}},
        "missing = { a = 10 } · a stand-in lies between 0 and 9 · choose a value inside them",
    ),
    "missing not asked": (
        {"sums": {"a": (5, 9)}, "missing": {"b": 1}},
        "missing names 'b' · it must be a column that is asked · choose one of: a",
    ),
    "both": (
        {"count": True, "questions": [{"count": True}]},
        "count beside questions · with questions everything is asked in them · make it a question",
    ),
    "names twice": (
        {"questions": [{"name": "a", "count": True}, {"name": "a", "count": True}]},
        "two questions named 'a' · every question has its own name · rename one",
    ),
    "unknown key": (
        {"questions": [{"cuont": True}]},
        "unknown key 'cuont' in question 1 · a question has no such key · did you mean 'count'?",
    ),
    "unit in a question": (
        {"questions": [{"count": True, "unit": "p"}]},
        "unknown key 'unit' in question 1 · unit holds for the whole request · write it above the questions",
    ),
    "no table": (
        {"questions": [3]},
        "question 3 · a question is a table · write [[question]] and what it asks",
    ),
    "share": (
        {"questions": [{"count": True, "share": 0}]},
        "share=0 · a share is a number above 0 · write share = 2",
    ),
    "nothing": (
        {"questions": [{"name": "a"}]},
        "nothing is asked · a request has at least one answer · add sums, means or count, e.g. --count",
    ),
    "derived twice": (
        {"columns": {"a": "b"}, "questions": [{"count": True, "columns": {"a": "c"}}]},
        "column 'a' is derived twice · every derived column has its own name · rename one",
    ),
    "missing nowhere": (
        {"missing": {"z": 1}, "questions": [{"count": True}]},
        "missing names 'z' · it must be a column that is asked · leave it out, or ask for it",
    ),
    "name": (
        {"questions": [{"name": " a", "count": True}]},
        "name=' a' · a question is named by printable text · choose another name",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_before_anything_is_opened(case: str) -> None:
    fields, text = REFUSED[case]
    with pytest.raises(GaussmithError) as caught:
        gm.Request("nowhere.parquet", guarantee=G, **fields)
    assert str(caught.value) == text
    assert caught.value.exit_code == 2


SCHEMA = {
    "unknown unit": (
        {"count": True, "unit": "persn"},
        "column 'persn' · the source has no such column · did you mean 'person'?",
    ),
    "unknown column": (
        {"sums": {"spend": (0, 1)}, "unit": "person"},
        "column='spend' · the frame has no such column · did you mean 'spent'?",
    ),
    "unknown key column": (
        {"count": True, "by": {"regio": ["a"]}},
        "by: column 'regio' · the source has no such column · did you mean 'region'?",
    ),
    "keys of another kind": (
        {"count": True, "by": {"region": [1]}},
        None,
    ),
    "keys of a number": (
        {"count": True, "by": {"age": ["old"]}},
        "by: 'age' is a column of the kind 'number' · its keys are numbers, and 'old' is a text · "
        "write whole numbers, without quotes; where the column holds others, derive one: floor(…)",
    ),
    "unknown column in a filter": (
        {"count": True, "where": "ages > 1"},
        "in the expression\n    ages > 1\n    ^\nthere is no column 'ages' · "
        "an expression uses columns of the source · did you mean 'age'?",
    ),
    "keys that are numbers in quotes": (
        {"count": True, "by": {"age": ["17", "36"]}},
        "by: 'age' is a column of the kind 'number' · its keys are numbers, and '17' is a text · "
        "write whole numbers, without quotes; where the column holds others, derive one: floor(…)",
    ),
    "truths for a number": (
        {"count": True, "by": {"age": [True, False]}},
        "by: 'age' is a column of the kind 'number' · its keys are numbers, and True is none of these · mend the keys",
    ),
    "a text without quotes": (
        {"count": True, "where": "region == nroth"},
        "in the expression\n    region == nroth\n              ^\nthere is no column 'nroth' · "
        "a text is written in quotes: 'nroth' · add quotes; or is it a column? "
        "choose one of: person, region, spent, score, age",
    ),
    "text": (
        {"sums": {"region": (0, 1)}, "unit": "person"},
        "column='region' is text · numbers are needed · cast it to a number first",
    ),
    "derived name taken": (
        {"count": True, "columns": {"age": "spent"}},
        "columns: 'age' · the source has a column of this name · choose another name",
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
    with pytest.raises(RequestError) as caught:
        gm.release(request, ledger=ledger, id="a")
    assert str(caught.value) == text
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
    with pytest.raises(RequestError) as caught:
        ask(np.ones((3, 1)), count=True, **fields)
    assert str(caught.value) == (
        f"{word} for an array · an array's columns have no names · pass a frame, such as polars.DataFrame(array, names)"
    )


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
    assert [draw.row_rule.values_per_unit for draw in request.plan.draws] == [2, 1]


def test_a_key_with_a_time_of_day_is_refused() -> None:
    days = pl.DataFrame({"day": [datetime.date(2024, 5, 31)]})
    with refused("key-not-a-date", key="2024-05-31 03:00", column="day"):
        gm.release(gm.Request(days, count=True, by={"day": ["2024-05-31 03:00"]}, guarantee=G))
    midnight = gm.Request(days, count=True, by={"day": [datetime.datetime(2024, 5, 31)]}, guarantee=LOUD)
    assert gm.release(midnight).values[:, -1].round().tolist() == [1]
