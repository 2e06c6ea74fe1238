"""The rule of ids: codes of Python objects, what a source may say, and what is told of it."""

from __future__ import annotations

import datetime
import itertools
import json
import random
import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from refusals import Expected, refusal, refused

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.errors import GaussmithError, LedgerError
from gaussmith.expressions.identity import object_code
from gaussmith.pipeline.release import request_hash

G = gm.Guarantee(mu=1e6)
AS_TEXT = 'ids in person are text: 17 and 017 are two people (ids="integer": one)'
AS_INTEGERS = "ids in person are whole numbers: 17, 017 and 17.0 are one person; rows with other ids are dropped"
UTC = datetime.UTC


class Odd:
    """Everything that can be overridden, is."""

    def _fail(self, *_: object) -> Any:
        raise SystemExit

    __str__ = __repr__ = __eq__ = __int__ = __float__ = __index__ = __bool__ = __len__ = __iter__ = _fail
    __hash__ = object.__hash__


class OddText(Odd, str):
    __slots__ = ()
    __hash__ = str.__hash__


class OddInteger(Odd, int):
    __hash__ = int.__hash__


class OddFloat(Odd, float):
    __hash__ = float.__hash__
    as_integer_ratio = Odd._fail


SAME: list[list[Any]] = [
    [1, 1.0, True, np.int8(1), np.float32(1), np.longdouble(1), np.True_, Decimal("1.00"), Fraction(1), OddInteger(1)],
    [0, 0.0, -0.0, False, Decimal("-0"), np.float64(-0.0)],
    [0.5, np.float16(0.5), Decimal("0.50"), Fraction(1, 2), OddFloat(0.5)],
    ["1", np.str_("1"), OddText("1")],
    ["1.0"],
    [2**53, 2.0**53],
    [2**53 + 1],
    [10**5000, Decimal(10) ** 5000],
    [10**5000 + 1],
    [0.1],
    [Decimal("0.1"), Fraction(1, 10)],
    [np.float32(0.1)],
    [""],
    ["\0"],
    ["\0n1"],
    ["\0t\0n1"],
    [b"1", np.bytes_(b"1")],
    [b""],
    [uuid.UUID(int=1)],
    [datetime.date(1970, 1, 1)],
    [datetime.datetime(1970, 1, 1), pd.Timestamp(0), np.datetime64(0, "ns"), np.datetime64("1970-01-01")],
    [pd.Timestamp(1), np.datetime64(1, "ns")],
    [datetime.datetime(1970, 1, 1, tzinfo=UTC), pd.Timestamp(0, tz="UTC")],
    [datetime.datetime(9999, 12, 31)],
    [datetime.time(), datetime.time(0, 0, fold=1)],
    [datetime.time(23, 59, 59, 999_999)],
]
NOBODY: list[Any] = [
    None, float("nan"), float("inf"), -np.float32("inf"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"),
    Decimal("1e999999999"), pd.NA, pd.NaT, np.datetime64("NaT"), np.datetime64(2**61, "s"), "\ud800", "a\udfff",
    Odd(), object(), 1j, [], (1,), {}, int, datetime.time(tzinfo=UTC), datetime.timedelta(1),
]  # fmt: skip


def test_objects_are_the_same_by_the_rule_and_by_nothing_else() -> None:
    codes = [{object_code(value) for value in same} for same in SAME]
    assert all(len(found) == 1 and None not in found for found in codes)
    assert len(set.union(*codes)) == len(SAME)
    assert {object_code(value) for value in NOBODY} == {None}


def test_codes_of_random_numbers_are_equal_exactly_where_the_numbers_are() -> None:
    def draw() -> Any:
        number = random.choice([random.randint(-3, 3), random.getrandbits(70), random.randint(-6, 6) / 4])
        return random.choice([lambda x: x, float, Fraction, lambda x: Decimal(float(x))])(number)

    numbers = [draw() for _ in range(300)]
    for one, other in itertools.combinations(numbers, 2):
        assert (object_code(one) == object_code(other)) == (Fraction(one) == Fraction(other))


def release(source: Any, **asked: Any) -> dict[str, float]:
    return {
        answer.name: round(answer.value, 2) + 0.0 for answer in gm.release(gm.Request(source, guarantee=G, **asked))
    }


def test_persons_and_items_in_lists() -> None:
    plan = gm.plan(gm.Counts([1, 2, 3], at_most=3), G, count=True)
    pairs = [[1, 1], [1.0, 1.0], ["1", "1"], [Odd(), 2], [OddInteger(1), Decimal(2)], ["\ud800", 3], [10**5000, 3]]
    found = plan.release(pairs, form="pairs")
    assert (found.values.round(2) + 0.0).tolist() == [1, 1, 1, 3]
    told = plan.release({"path": pairs, "ids": "integer"}, form="pairs")
    assert (told.values.round(2) + 0.0).tolist() == [1, 1, 1, 2]


def test_categories_in_lists() -> None:
    cells = gm.plan(gm.Cells(["1", 1.5, "x"], or_none=True), G)
    found = cells.release(["1", 1, 1.0, 1.5, "1.5", Fraction(3, 2), "x", OddText("x"), Odd(), "\ud800"])
    assert (found.values.round(2) + 0.0).tolist() == [1, 2, 2]
    numbers = gm.plan(gm.Cells([0, 1], or_none=True), G).release([0, -0.0, False, "0", 1, "1", True, 10**5000])
    assert (numbers.values.round(2) + 0.0).tolist() == [3, 2]
    box = gm.plan(gm.Box([0], [1]), G, count=True).release([[OddFloat(1)], [OddInteger(1)], [Odd()], [10**5000]])
    assert round(float(box.values[0]), 2) == 3 + 0  # missing counts as 0, what is too large as 1


def test_columns_of_odd_objects() -> None:
    objects = pd.Index([1, "1", 10**5000, Odd(), "\ud800", OddText("a")], dtype=object)
    frame = pd.DataFrame({"o": pd.Categorical.from_codes([0, 1, 2, 3, 4, 5, -1], dtype=pd.CategoricalDtype(objects))})
    frame["s"] = pd.array(["a", "a", "\ud800", "b\udfff", None, "b", "c"], dtype="string[python]")
    frame["odd"] = [Odd()] * 7
    frame["x"] = 1.0
    assert release(frame, unit="o", count=True) == {"count": 4}
    assert release(frame, unit="s", count=True) == {"count": 3}
    assert release(frame[["odd"]], count=True) == {"count": 7}
    groups = gm.release(gm.Request(frame, count=True, by={"o": [1, "a", "x"]}, guarantee=G))
    assert (groups.values[:, -1].round(2) + 0.0).tolist() == [1, 1, 0]
    with refused("keys-written-alike"):
        gm.release(gm.Request(frame, count=True, by={"o": [1, "1"]}, guarantee=G))


def wide_decimals() -> dict[str, Any]:
    wide = pa.array([Decimal(1), None], pa.decimal256(50, 3))
    table = pa.table({"wide": wide, "nested": pa.array([[Decimal(1)], None], pa.list_(wide.type)), "x": [1.0, 1.0]})
    return {
        "pandas": pd.DataFrame({"wide": pd.array(wide, dtype=pd.ArrowDtype(wide.type)), "x": [1.0, 1.0]}),
        "table": table,
        "batch": table.to_batches()[0],
        "reader": table.to_reader(),
        "dataset": ds.dataset(table),
    }


@pytest.mark.parametrize("which", wide_decimals())
def test_a_column_that_cannot_be_converted_is_in_nobodys_way(which: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Polars panics at decimals of 256 bits, and its panic is no Exception and is printed."""
    assert release(wide_decimals()[which], sums={"x": (0, 1)}, count=True) == {"x_sum": 2, "count": 2}
    assert release(wide_decimals()[which], count=True) == {"count": 2}
    for asked in ({"sums": {"wide": (0, 1)}}, {"unit": "wide", "count": True}, {"count": True, "by": {"wide": [1]}}):
        with pytest.raises(GaussmithError):
            release(wide_decimals()[which], **asked)
    assert capfd.readouterr() == ("", "")


def test_a_column_of_arrow_is_converted_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    converted: set[str] = set()
    convert = pl.from_arrow

    def watch(table: Any) -> Any:
        converted.update(table.schema.names if len(table) else ())
        return convert(table)

    monkeypatch.setattr(pl, "from_arrow", watch)
    table = pa.table({"other": ["a"], "x": [1.0]})
    for source in (table, table.to_batches()[0]):
        assert release(source, sums={"x": (0, 1)}, unit="x", count=True) == {"x_sum": 1, "count": 1}
    assert converted == {"x"}


def test_times_of_a_day_are_the_same_ids_in_every_format(tmp_path: Path) -> None:
    times = [datetime.time(9, 30), datetime.time(9, 30), datetime.time(0), datetime.time(23, 59, 59, 999_999), None]
    table = pa.table({"who": pa.array(times, pa.time64("us")), "x": [1.0] * 5})
    pq.write_table(table, tmp_path / "a.parquet")
    with duckdb.connect(str(tmp_path / "a.db")) as connection:
        connection.register("table_of", table)
        connection.execute("create table visits as from table_of")
        connection.execute("create table odd as select * from visits union all select time '24:00:00', 1")
    sources: list[Any] = [
        table, pl.from_arrow(table), table.to_pandas(), table.to_pandas(types_mapper=pd.ArrowDtype),
        tmp_path / "a.parquet", f"duckdb://{tmp_path}/a.db?table=visits", f"duckdb://{tmp_path}/a.db?table=odd",
    ]  # fmt: skip
    for source in sources:
        asked = {"unit": "who", "count": True, "sums": {"x": (0, 2)}}
        assert release(source, **asked) == {"x_sum": 4, "count": 3}, source
        assert release(source, unit="who", by={"x": [1]}, groups_per_unit=1, count=True) == {"count": 3}, source
        for code, more in {
            "keys-do-not-fit-column": {"by": {"who": ["09:30:00"]}},
            "column-kind-not-usable": {"where": "who == '09:30:00'"},
        }.items():
            if not isinstance(source, pd.DataFrame) or str(source.dtypes["who"]) != "object":
                with refused(code):
                    release(source, count=True, **more)


# ---- what a source may say -------------------------------------------------------------------------------------------


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    path.write_text("person,spent\n17,1\n17.0,1\n017,1\n+17,1\n18,1\nx,1\n")
    return path


def test_a_source_says_what_its_ids_are(visits: Path) -> None:
    asked = {"unit": "person", "sums": {"spent": (0, 1)}, "count": True}
    lines = visits.with_suffix(".jsonl")
    lines.write_text('{"person": 17}\n{"person": "17.0"}\n{"person": 17.0}\n{"person": 18}\n{"person": "x"}\n')
    for source, texts in ((visits, 6), (lines, 4)):
        assert release(source, unit="person", count=True) == {"count": texts}
        assert release({"path": source, "ids": "text"}, unit="person", count=True) == {"count": texts}
        assert release({"path": str(source), "ids": "integer"}, unit="person", count=True) == {"count": 2}
    assert release({"path": visits, "ids": "integer"}, **asked) == {"spent_sum": 2, "count": 2}


def test_ids_in_toml_and_on_the_command_line(visits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = visits.with_suffix(".toml")
    file.write_text(
        'source = { path = "visits.csv", ids = "integer" }\nunit = "person"\ncount = true\nguarantee = { mu = 1e6 }\n'
    )
    assert round(gm.release(file)["count"].value) == 2
    flags = ["--unit", "person", "--count", "--mu", "1e6"]
    for said, note, people in (([], AS_TEXT, 6), (["--ids", "integer"], AS_INTEGERS, 2)):
        for command in ("plan", "release"):
            assert main([command, str(visits), *flags, *said]) == 0
            shown = note.replace('ids="integer"', "--ids integer")  # in flags, as it was asked
            assert shown in " ".join(capsys.readouterr().out.split())
        assert main(["release", str(visits), *flags, *said, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["queries"][0]["row_rule"]["ids"] == (said[1] if said else "as text")
        assert round(gm.Release.from_json(json.dumps(document))["count"].value) == people
    assert main(["release", str(file), "--ids", "text"]) == 2
    assert "--ids together with" in capsys.readouterr().err


def test_what_is_told_of_ids(visits: Path) -> None:
    def notes(source: Any) -> list[str]:
        made = gm.release(gm.Request(source, unit="person", count=True, guarantee=G))
        assert gm.read(made.to_json()).row_rule == made.row_rule
        return list(made.row_rule.notes())

    assert AS_TEXT in notes(visits) and AS_INTEGERS in notes({"path": visits, "ids": "integer"})
    assert '(ids="text"): the same characters are the same person' in str(notes({"path": visits, "ids": "text"}))
    typed = pl.DataFrame({"person": ["17", "17.0"]})
    assert not any("ids in" in note for note in notes(typed))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"path": "a.csv", "id": "text"}, refusal("unknown-source-key", says="did you mean 'ids'", key="id")),
        ({"ids": "text"}, "source-without-path"),
        ({"path": {"path": "a.csv"}}, "source-without-path"),
        ({"path": "a.csv", "ids": "int"}, refusal("unknown-ids", ids="int")),
        ({"path": "a.csv", "row_per_row": 1}, refusal("source-promise-not-boolean", name="row_per_row", value=1)),
    ],
)
def test_sources_that_say_what_cannot_be(source: Any, message: Expected) -> None:
    with refused(message):
        gm.Request(source, count=True, guarantee=G)


def test_ids_without_a_unit_are_refused(visits: Path) -> None:
    for asked in ({"count": True}, {"count": True, "where": "spent > 0"}, {"histograms": {"spent": [1]}}):
        with refused("ids-without-unit", ids="integer"):
            release({"path": visits, "ids": "integer"}, **asked)


def test_a_request_says_what_its_source_says(visits: Path) -> None:
    plain = gm.Request(str(visits), unit="person", count=True, guarantee=G)
    told = gm.Request({"path": str(visits), "ids": "integer"}, unit="person", count=True, guarantee=G)
    assert "ids='integer'" in repr(told) and str(visits) in repr(told)
    same = gm.Request({"path": str(visits)}, unit="person", count=True, guarantee=G)
    assert request_hash(plain) == request_hash(same) != request_hash(told)
    ledger = gm.Ledger.create(visits.with_suffix(".ledger"), gm.Guarantee(mu=2e6))
    first = gm.release(told, ledger=ledger, id="a")
    assert gm.release(told, ledger=ledger, id="a").to_json() == first.to_json()
    with pytest.raises(LedgerError):
        gm.release(plain, ledger=ledger, id="a")
