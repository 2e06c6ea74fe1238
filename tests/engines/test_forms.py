"""Category columns, pairs of persons and items, ballots in order: the same integers on every engine."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import Expected, refusal, refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.totals.opened import total

LABELS = ["good", "fair", "poor", "ünder", "", " good"]
ODD = [*LABELS, None, "Good", "good ", "NULL", "nan", "\x00", "other"]
NUMBERS = [0, 1, 2, 7]


def table(rows: int) -> pl.DataFrame:
    random = np.random.default_rng()

    def pick(values: list[Any]) -> list[Any]:
        return [values[i] for i in random.integers(0, len(values), rows)]

    return pl.DataFrame(
        {
            "person": pl.Series(pick(["a", "b", "c", "d", "é", None, ""]), dtype=pl.String),
            "number": pl.Series(pick([1, 2, 3, 4, None]), dtype=pl.Int64),
            "health": pl.Series(pick(ODD), dtype=pl.String),
            "second": pl.Series(pick(ODD), dtype=pl.String),
            "third": pl.Series(pick(ODD), dtype=pl.String),
            "size": pl.Series(
                pick([0.0, -0.0, 1.0, 2.0, 7.0, 1.5, float("nan"), float("inf"), None]), dtype=pl.Float64
            ),
            "yes": pl.Series(pick([True, False, None]), dtype=pl.Boolean),
        }
    )


def duckdb_relation(data: pl.DataFrame) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.register("data", data.to_arrow())
    return connection.sql("select * from data")


def parquet(data: pl.DataFrame, folder: Path) -> str:
    data.write_parquet(folder / "data.parquet")
    return str(folder / "data.parquet")


ENGINES: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "polars": lambda data, _: data,
    "lazy": lambda data, _: data.lazy(),
    "pandas": lambda data, _: data.to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": lambda data, _: data.to_arrow(),
    "duckdb": lambda data, _: duckdb_relation(data),
    "parquet": parquet,
}

CELLS = {
    "one column": (gm.Cells({"health": LABELS}), None),
    "a stand-in": (gm.Cells({"health": LABELS}, other="poor"), None),
    "or none": (gm.Cells({"health": LABELS}, or_none=True), None),
    "numbers": (gm.Cells(NUMBERS), ["size"]),
    "truths": (gm.Cells([True, False], or_none=True), ["yes"]),
    "product": (gm.Cells({"health": LABELS, "size": NUMBERS, "yes": [False, True]}, other={"size": 7}), None),
    "product or none": (gm.Cells({"health": LABELS, "size": NUMBERS}, or_none=True), None),
}


def place(values: list[Any], x: Any) -> int:
    """Where a value stands among the labels, by Python's own equality within a kind; −1 for none."""
    if x is None or (isinstance(x, float) and not np.isfinite(x)):
        return -1
    kind = [v for v in values if isinstance(v, str) == isinstance(x, str)]
    return values.index(x) if x in kind else -1


def expected_cells(domain: gm.Cells, columns: list[str] | None, data: pl.DataFrame) -> tuple[list[int], int]:
    counts = np.zeros(domain.sizes, int)
    for row in data.select(columns or list(domain.attributes)).iter_rows():
        at = [place(list(values), x) for values, x in zip(domain.values, row, strict=True)]
        if domain.or_none and min(at) < 0:
            continue
        counts[tuple(o if i < 0 else i for i, o in zip(at, domain.others, strict=True))] += 1
    return counts.ravel().tolist(), data.height


def totals(data: Any, domain: Any, columns: list[str] | None = None, form: str | None = None) -> tuple[list[int], int]:
    (opened,) = mechanism.prepare(gm.plan(domain, gm.Guarantee(mu=1)), data, columns, form).sources
    (found,) = total(opened)
    return [int(s) for s in found.sums], found.records


@pytest.fixture(scope="module", params=[0, 1, 2000])
def data(request: pytest.FixtureRequest) -> pl.DataFrame:
    return table(request.param)


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("engine", ENGINES)
def test_cells_are_counted_alike(engine: str, name: str, data: pl.DataFrame, tmp_path: Path) -> None:
    domain, columns = CELLS[name]
    assert totals(ENGINES[engine](data, tmp_path), domain, columns) == expected_cells(domain, columns, data)


def expected_pairs(data: pl.DataFrame, person: str, at_most: int) -> tuple[list[int], int]:
    held: dict[Any, set[int]] = {}
    for who, item in data.select(person, "health").iter_rows():
        if who is not None:
            held.setdefault(who, set()).update({place(LABELS, item)} - {-1})
    counts = [0] * len(LABELS)
    for items in held.values():
        for i in sorted(items)[:at_most]:
            counts[i] += 1
    return counts, len(held)


@pytest.mark.parametrize(("person", "at_most"), [("person", 2), ("number", 6), ("person", 1)])
@pytest.mark.parametrize("engine", ENGINES)
def test_pairs_are_counted_alike(engine: str, person: str, at_most: int, data: pl.DataFrame, tmp_path: Path) -> None:
    found = totals(ENGINES[engine](data, tmp_path), gm.Counts(LABELS, at_most=at_most), [person, "health"], "pairs")
    assert found == expected_pairs(data, person, at_most)


@pytest.mark.parametrize("engine", ENGINES)
def test_ballots_in_order_are_added_alike(engine: str, data: pl.DataFrame, tmp_path: Path) -> None:
    candidates = LABELS[:3]
    columns = ["health", "second", "third"]
    sums = [0, 0, 0]
    for ballot in data.select(columns).iter_rows():
        ranked = sorted(ballot, key=str) == sorted(candidates)
        for i, candidate in enumerate(candidates):
            sums[i] += 2 * (2 - ballot.index(candidate)) if ranked else 2
    found = totals(ENGINES[engine](data, tmp_path), gm.domains.Votes(candidates), columns, "order")
    assert found == (sums, data.height)


def test_spark_counts_alike(spark: Any, tmp_path: Path) -> None:
    data = table(1500)
    frame = spark.read.parquet(parquet(data, tmp_path)).repartition(3)
    domain, columns = CELLS["product"]
    assert totals(frame, domain, columns) == expected_cells(domain, columns, data)
    found = totals(frame, gm.Counts(LABELS, at_most=2), ["person", "health"], "pairs")
    assert found == expected_pairs(data, "person", 2)


def test_arrays_and_lists_of_texts_and_numbers() -> None:
    assert totals(np.array(["a", "b", "c"]), gm.Cells(["a", "b"])) == ([2, 1], 3)
    assert totals(["a", None, "b"], gm.Cells(["a", "b"], or_none=True)) == ([1, 1], 3)
    assert totals([["a", 1], ["b", 0]], gm.Cells({"x": ["a", "b"], "y": 2})) == ([0, 1, 1, 0], 2)
    assert totals(np.array([0, 2, 2, 9]), gm.Cells(3)) == ([2, 0, 2], 4)
    assert totals(np.array([[0, 1], [1, np.nan]]), gm.Cells(shape=(2, 2))) == ([0, 1, 1, 0], 2)
    assert totals(np.array([[2, 0, 1], [0, 0, 1]]), gm.domains.Votes(3), form="order") == ([4, 2, 6], 2)
    assert totals([], gm.Cells(2)) == ([0, 0], 0)
    assert totals([True, False, True], gm.Cells([False, True])) == ([1, 2], 3)
    assert totals([["p", "a"], ["p", "b"], ["q", "a"]], gm.Counts(["a", "b"], at_most=2), form="pairs") == ([2, 1], 2)
    strings = np.array([["a"], ["?"]], dtype=np.dtypes.StringDType())
    assert totals(strings, gm.Cells(["a", "b"], or_none=True)) == ([1, 0], 2)
    assert totals(np.array([], dtype=str), gm.Cells(["a", "b"])) == ([0, 0], 0)


MIXED = [None, "a", "b", "1", " 2.0", "x", 0, 1, 2.0, True, np.float32(0.1), 0.1, 10**400, float("nan"), b"a", object(),
         Decimal(1), Fraction(2), datetime.date(2024, 5, 31), "half \ud800", "", [], 10**5000]  # fmt: skip


@pytest.mark.parametrize("labels", [["a", "b"], ["1", "2"], [0, 1, 2], [2, 0.1], [False, True]])
def test_every_value_of_a_list_is_read_by_itself(labels: list[Any]) -> None:
    domain = gm.Cells(labels, or_none=True)
    alone = [np.array(totals([[value]], domain)[0]) for value in MIXED]
    assert sum(alone).sum() > 0
    assert totals([[value] for value in MIXED], domain) == (sum(alone).tolist(), len(MIXED))
    for one, other in itertools.combinations(range(len(MIXED)), 2):
        found = totals([[MIXED[one]], [MIXED[other]]], domain)
        assert found == ((alone[one] + alone[other]).tolist(), 2), (MIXED[one], MIXED[other])


@pytest.mark.parametrize("rows", [[], [None], ["a"], [1], ["\ud800"]])
def test_no_value_of_a_list_is_refused(rows: list[Any]) -> None:
    assert totals(rows, gm.Cells(["a", "b"], or_none=True)) == ([int(rows == ["a"]), 0], len(rows))


def test_a_column_of_codes_in_a_text_file_is_matched_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("size\n0\n 7\nseven\n\n7.0\n")
    assert totals(str(tmp_path / "x.csv"), gm.Cells(NUMBERS, or_none=True), ["size"])[0] == [1, 0, 0, 2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (lambda f: totals(f, gm.Cells({"helth": LABELS})), refusal("no-such-column", says="did you mean 'health'")),
        (lambda f: totals(f, gm.Cells(LABELS)), refusal("wrong-number-of-columns", wanted=1)),
        (
            lambda f: totals(f, gm.Cells({"size": ["a", "b"]})),
            refusal("keys-do-not-fit-column", kind="number", key="a"),
        ),
        (
            lambda f: totals(f, gm.Counts(LABELS, at_most=1), form="pears"),
            refusal("unknown-form", says="did you mean 'pairs'"),
        ),
        (lambda f: totals(f, gm.Cells(LABELS), form="pairs"), refusal("unknown-form", type="Cells")),
        (
            lambda f: totals(f, gm.Counts(LABELS, at_most=1), ["person"], "pairs"),
            refusal("wrong-number-of-columns", wanted=2),
        ),
        (lambda f: totals(np.ones((3, 2)), gm.Counts(LABELS, at_most=1), None, "pairs"), "pairs-in-array"),
        (lambda f: totals(np.ones((3, 2)), gm.Cells(4)), refusal("array-of-wrong-width", columns=2)),
        (lambda f: totals(np.ones(3), gm.Cells(["a", "b"])), refusal("keys-do-not-fit-column", kind="number", key="a")),
        (lambda f: totals(np.ones(3), gm.Cells(2), ["x"]), "columns-of-array"),
        (lambda f: totals([["a"], ["a", "b"]], gm.Cells(["a"])), "category-rows-of-different-lengths"),
        (lambda f: totals([["a", "b"]], gm.Cells(["a"])), "category-row-of-wrong-length"),
    ],
)
def test_what_does_not_fit_is_refused_before_data_is_read(arguments: Any, words: Expected) -> None:
    with refused(words):
        arguments(table(3))


def test_pairs_do_not_tell_how_many_people_there_are() -> None:
    """Under replace-one their number is public, and a person without items would be missing from it."""
    plan = gm.plan(gm.Counts(["a", "b"], at_most=1), gm.Guarantee(mu=1), neighbours="replace-one")
    with refused("pairs-under-replace-one"):
        plan.release("no such file.csv", columns=["p", "i"], form="pairs")
