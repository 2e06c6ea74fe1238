"""Promise 12 for data: what is wrong is refused before a value is read, in words; after that, only one sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from adding import PAIR, STEP, add
from pyarrow import dataset
from refusals import Expected, refusal, refused
from summing import total_records

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import check_columns
from gaussmith.engines.versions import data_error, has_unreadable_views
from gaussmith.errors import DataError, SourceError
from gaussmith.totals.opened import total


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    pl.DataFrame({"age": [37, 45], "income": [1.5, None], "name": ["a", "b"]}).write_parquet(path)
    return path


# ---- what cannot be opened -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.parquet", refusal("no-such-file", source="nowhere.parquet")),
        ("none-*.csv", refusal("no-such-file", source="none-*.csv")),
        (
            "ftp://host/a.parquet",
            "unknown-address-scheme",
        ),
        (3.5, refusal("unknown-source-type", type="float")),
        (
            {"age": [1]},
            "source-of-dicts",
        ),
        (np.array([["a"]]), refusal("array-not-numbers", dtype="<U1")),
        (np.array([[None]]), refusal("array-not-numbers", dtype="object")),
        (np.zeros((2, 2), complex), refusal("array-not-numbers", dtype="complex128")),
        (np.zeros(2, "M8[s]"), refusal("array-not-numbers", dtype="datetime64[s]")),
        (
            np.zeros((2, 2, 2)),
            refusal("array-not-two-dimensional", dimensions=3),
        ),
        (np.float64(1), refusal("array-not-two-dimensional", dimensions=0)),
        ([[1, 2], [3]], "rows-of-different-lengths"),
        (pa.scalar(1), refusal("unknown-source-type", type="Int64Scalar")),
        (pd.Timestamp(0), refusal("unknown-source-type", type="Timestamp")),
        (pl.col("a"), refusal("unknown-source-type", type="Expr")),
        (pl.scan_parquet("nowhere.parquet"), refusal("columns-not-told", type="LazyFrame")),
    ],
)
def test_what_cannot_be_opened_is_refused(source: object, message: Expected) -> None:
    with refused(message) as caught:
        open_source(source)
    assert caught.value.__context__ is None


def test_unknown_suffix(tmp_path: Path) -> None:
    for name in ("data.xlsx", "data", "data.parquet.gz"):
        (tmp_path / name).write_text("x")
        with refused("unknown-file-suffix"):
            open_source(tmp_path / name)


def test_mixed_formats(tmp_path: Path, people: Path) -> None:
    (tmp_path / "more.csv").write_text("age\n1\n")
    with refused("files-of-several-formats", formats=("CSV", "Parquet")):
        open_source(str(tmp_path / "*"))


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_files_that_are_not_what_they_say(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data.{suffix}"
    for content in (b"", b"secret\x00value 42 {"):
        path.write_bytes(content)
        if suffix == "csv" and content:
            assert open_source(path).width == 1  # any line is a header
            continue
        with refused("file-damaged", SourceError) as caught:
            open_source(path)
        said = f"{caught.value} {caught.value.fields}".replace(str(path), "")
        assert "secret" not in said and "42" not in said
        assert caught.value.__context__ is None


def test_truncated_parquet(people: Path) -> None:
    people.write_bytes(people.read_bytes()[:-20])
    with refused("file-damaged", format="Parquet"):
        open_source(people)


def test_unreadable_file(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with refused("file-not-permitted"):
        open_source(people)


def test_directories(tmp_path: Path) -> None:
    root = tmp_path / "visits"
    for year in (2023, 2024):
        (root / f"year={year}").mkdir(parents=True)
        pl.DataFrame({"a": [year - 2000.0], "b": [1.0]}).write_parquet(root / f"year={year}" / "part.parquet")
    (root / "_temporary").mkdir()
    pl.DataFrame({"a": [99.0], "b": [99.0]}).write_parquet(root / "_temporary" / "part.parquet")
    source = open_source(root)
    assert source.names == ("a", "b", "year")
    assert add(source, ["a", "b"]) == [47.0, 2.0]
    empty = tmp_path / "empty"
    empty.mkdir()
    with refused("folder-without-parquet"):
        open_source(empty)


# ---- columns ---------------------------------------------------------------------------------------------------------


def test_schema_is_read_and_no_value(people: Path) -> None:
    source = open_source(people)
    assert (source.engine.name, source.names, source.width) == ("polars", ("age", "income", "name"), 3)
    assert source.types == {"age": "Int64", "income": "Float64", "name": "String"}
    assert "1.5" not in repr(source)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age", "incom"], refusal("no-such-column", says="did you mean 'income'", column="incom")),
        (["age", "zzz"], refusal("no-such-column", says="choose one of: age, income, name")),
        (["age", "name"], refusal("column-of-text", column="name")),
        (["age"], refusal("columns-do-not-match-domain", columns=1, coordinates=2)),
        (None, refusal("columns-do-not-match-domain", columns=3, coordinates=2)),
    ],
)
def test_wrong_columns(columns: list[str] | None, message: Expected, people: Path) -> None:
    with refused(message):
        check_columns(open_source(people), columns, 2)


def test_a_column_may_be_summed_twice_under_different_bounds_and_records_counted_without_columns(people: Path) -> None:
    for source in (people, pl.read_parquet(people), pl.read_parquet(people).to_pandas()):
        opened = open_source(source)
        whole = total_records(opened, BoxEncoding.for_bounds([0], [1000], [0]), ["age"])
        twice = total_records(opened, BoxEncoding.for_bounds([0, 0], [1000, 1000], [0, 0]), ["age", "age"])
        assert twice.sums == whole.sums * 2
        assert total_records(opened, BoxEncoding.for_bounds([], [], []), []).records == whole.records


def test_arrays_have_a_width_and_no_names() -> None:
    source = open_source(np.zeros((4, 3)))
    assert (source.engine.name, source.names, source.width, source.types) == ("numpy", None, 3, {})
    with refused("columns-do-not-match-domain", columns=3, coordinates=2):
        check_columns(source, None, 2)
    with refused("columns-of-array", columns=("a",)):
        check_columns(source, ["a"], 3)
    assert check_columns(source, None, 3) == ()
    assert check_columns(open_source([]), None, 7) == ()
    assert open_source(np.zeros(5)).width == 1


ODD_TYPES: dict[str, Any] = {
    "date": pl.Date,
    "moment": pl.Datetime("us", "UTC"),
    "time": pl.Time,
    "span": pl.Duration("us"),
    "bytes": pl.Binary,
    "list": pl.List(pl.Float64),
    "pair": pl.Array(pl.Float64, 2),
    "struct": pl.Struct({"a": pl.Int64}),
    "huge": pl.UInt128,
}


@pytest.mark.parametrize("name", ODD_TYPES)
def test_types_that_are_no_numbers(name: str) -> None:
    source = open_source(pl.DataFrame(schema={name: ODD_TYPES[name]}))
    with refused("column-not-numbers", column=name):
        check_columns(source, [name], 1)


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["a"])])
def test_text_is_no_number_in_a_typed_source(kind: Any) -> None:
    with refused("column-of-text", column="x"):
        check_columns(open_source(pl.DataFrame(schema={"x": kind})), ["x"], 1)


def test_duplicate_names(tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    sources = [
        str(tmp_path / "twice.csv"),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ]
    for source in sources:
        with refused("column-twice", column="a"):
            open_source(source)


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical([7, "secret 42"]),
        pd.Categorical([b"secret 42", ("secret", 42)]),
        pd.arrays.SparseArray([0.0, 42.0]),
        np.array([42j, 1.0]),
        pd.Series([42, "secret 42"], dtype=object),
        pd.period_range("2042", periods=2, freq="D"),
    ],
)
def test_columns_of_pandas_that_cannot_be_typed_are_in_nobodys_way(column: Any) -> None:
    frame = pd.DataFrame({"note": column, "a": [1.0, 2.0]})
    assert add(frame, ["a", "a"]) == [3.0, 3.0]
    counted = total_records(open_source(frame), BoxEncoding.for_bounds([], [], []), [])
    assert counted.records == 2  # told from the first column
    with pytest.raises(SourceError) as caught:
        check_columns(open_source(frame), ["note"], 1)
    assert caught.value.code in ("column-of-text", "column-of-objects", "column-not-numbers")
    assert caught.value.fields["column"] == "note"
    assert "42" not in f"{caught.value} {caught.value.fields}" and caught.value.__context__ is None


def test_categories_that_are_objects_are_matched_by_what_they_are() -> None:
    frame = pd.DataFrame({"k": pd.Categorical([7, "x", None], categories=pd.Index([7, "x"], dtype=object))})
    release = gm.release(gm.Request(frame, histograms={"k": [7, "x"]}, guarantee=gm.Guarantee(mu=1e6)))
    assert np.allclose(release.values, 1, atol=0.01)
    texts = gm.release(gm.Request(frame, histograms={"k": ["7", "x"]}, guarantee=gm.Guarantee(mu=1e6)))
    assert np.allclose(texts.values, [0, 1], atol=0.01)  # a text is never a number


def test_pandas_names_need_not_be_text() -> None:
    assert add(pd.DataFrame({0: [1.0, 2.0], 1: [3, 4]}), ["1", "0"]) == [7.0, 3.0]


def test_series_and_narwhals_frames() -> None:
    import narwhals as nw

    one = BoxEncoding.for_bounds([0], [100], [0])
    for source in (pl.Series("x", [1, None, 2]), pd.Series([1, 2]), nw.from_native(pl.DataFrame({"x": [1, 2]}))):
        assert add(source, codes=one) == [3.0]


def test_a_column_without_any_value_is_missing_everywhere() -> None:
    some = BoxEncoding.for_bounds([0], [100], [7])
    assert add(pl.DataFrame({"x": [None, None]}), codes=some) == [14.0]


@pytest.mark.parametrize("kind", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", ">f8", "g"])
def test_arrays_of_every_numeric_dtype(kind: str) -> None:
    rows = np.array([[0, 1], [1, 1], [1, 0]]).astype(kind)
    assert add(rows) == [2.0, 2.0]
    assert add(rows[::-1, ::-1]) == [2.0, 2.0]


def test_long_doubles_beyond_doubles_clamp() -> None:
    assert add(np.array([[np.longdouble("1e4000"), 1]], np.longdouble)) == [100.0, 1.0]


def test_masked_values_are_missing() -> None:
    rows = np.ma.array([[50.0, 1.0], [60.0, 2.0]], mask=[[True, False], [False, False]])
    assert add(rows) == [60.0, 3.0]


def test_lists_take_what_is_no_number_as_missing() -> None:
    assert add([[1, None], ["2", True], [10**400, -(10**400)], [float("nan"), 3.5]]) == [101.0, 4.5]


def test_objects_that_become_arrays() -> None:
    class Tensor:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([[1.0, 2.0]])

    assert add(Tensor()) == [1.0, 2.0]


# ---- after the data is open ------------------------------------------------------------------------------------------


def failing_sources(tmp_path: Path) -> list[Any]:
    """Each opens well and fails later, with an engine error that quotes the data."""
    (tmp_path / "secret42.csv").write_text("a,b\n1,2\nsecret 42,3\n")
    lazy = pl.scan_csv(tmp_path / "secret42.csv", schema={"a": pl.Float64, "b": pl.Float64})

    def explode(batch: pl.DataFrame) -> pl.DataFrame:
        raise RuntimeError("secret 42")

    for name in ("1.parquet", "2.parquet"):
        pl.DataFrame({"a": [1.0], "b": [2.0]}).write_parquet(tmp_path / name)
    pair = open_source(str(tmp_path / "?.parquet"))
    data = (tmp_path / "2.parquet").read_bytes()
    (tmp_path / "2.parquet").write_bytes(data[:-30])  # the second file is cut after it was opened
    relation = duckdb.sql("select error('secret 42')::double as a, 1.0 as b from range(3)")
    return [
        pair,
        lazy,
        pl.LazyFrame({"a": [1.0], "b": [1.0]}).map_batches(explode, streamable=True),
        relation,
    ]


@pytest.mark.parametrize("case", range(4))
def test_failures_after_opening_say_one_thing(case: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = open_source(failing_sources(tmp_path)[case])
    with pytest.raises(DataError) as caught:
        total_records(source, PAIR, ["a", "b"])
    assert str(caught.value) == str(data_error())
    assert (caught.value.code, dict(caught.value.fields)) == ("data-not-readable", {})
    assert str(caught.value).startswith("the data could not be read to the end · details are hidden because")
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert "secret" not in "".join(capfd.readouterr())


def test_records_are_not_counted_in_32_bits(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars' own count ends at 2^32 rows, too many for a test: it is not used."""
    import narwhals as nw

    monkeypatch.delattr(nw, "len")
    monkeypatch.delattr(pl, "len")
    nothing, frame = BoxEncoding.for_bounds([], [], []), pl.read_parquet(people)
    for source in (people, frame, frame.to_arrow(), duckdb.from_arrow(frame.to_arrow())):
        assert total_records(open_source(source), nothing, []).records == len(frame)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.string()])
def test_views_in_a_dataset(kind: Any) -> None:
    table = pa.table({"a": [1.0, 2.0, 4.0], "k": pa.array(["x", "y", None]).cast(kind)})
    if has_unreadable_views([kind]):  # of an old PyArrow
        with refused("views-with-old-pyarrow"):
            open_source(dataset.dataset(table))
        return
    for asked in ({"unit": "k"}, {"where": "is_null(k) or k == 'x'"}):
        source = dataset.dataset(table)
        request = gm.Request(source, sums={"a": (0, 9)}, guarantee=gm.Guarantee(mu=1e6), **asked)
        assert round(gm.release(request)["a_sum"].value) == (3 if "unit" in asked else 5)


def test_progress_tells_bytes_and_never_rows(tmp_path: Path) -> None:
    for i in range(5):
        pl.DataFrame({"a": np.ones(10**i), "b": np.ones(10**i)}).write_parquet(tmp_path / f"{i}.parquet")
    told: list[float | None] = []
    plan = gm.plan(gm.Box({"a": (0, 100), "b": (0, 100)}), gm.Guarantee(mu=1))
    (opened,) = mechanism.prepare(plan, str(tmp_path / "*.parquet")).sources
    (found,) = total(opened, told.append)
    assert found.records == 11111 and found.sums == [11111 * STEP] * 2
    assert told[0] is None and told[-1] == 1.0
    fractions = [f for f in told if f is not None]
    assert fractions == sorted(fractions) and all(0 < f <= 1 for f in fractions)
    told.clear()
    (opened,) = mechanism.prepare(plan, np.ones((9, 2))).sources
    assert [found.records for found in total(opened, told.append)] == [9]
    assert told == [None, 1.0]


def test_nothing_is_printed(people: Path, capfd: pytest.CaptureFixture[str]) -> None:
    total_records(open_source(people), PAIR, ["age", "income"])
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_is_not_mistaken_for_bad_data(tmp_path: Path) -> None:
    for i in range(2):
        pl.DataFrame({"a": [1.0], "b": [2.0]}).write_parquet(tmp_path / f"{i}.parquet")

    def interrupt(fraction: float | None) -> None:
        if fraction is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        total_records(open_source(str(tmp_path / "*.parquet")), PAIR, progress=interrupt)
