"""People, groups and keys on every engine: the integers of Polars, bit for bit, and exact at the edge of 64 bits."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import polars as pl
import pytest
from refusals import Expected, refusal, refused
from summing import engine_under, sum_groups, sum_people, total_groups, total_people

from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.duckdb import DUCKDB, plain_relation
from gaussmith.engines.engine import Totals
from gaussmith.engines.polars import POLARS
from gaussmith.engines.registry import engine_of, open_source
from gaussmith.expressions.keys import GroupKeys, declare_groups
from gaussmith.expressions.spelling import derive, kinds_of, plan_derivation
from gaussmith.totals import groups as group_rows
from gaussmith.totals.features import (
    Coding,
    Contribution,
    PersonMean,
    PersonProduct,
    PersonTotal,
    RowCount,
    RowSum,
    inputs_of,
)
from gaussmith.totals.limbs import add_up, feature_limbs, spell_person

INF, NAN = float("inf"), float("nan")
VALUES = [None, NAN, INF, -INF, 0.0, -0.0, 1.0, -2.5, 0.1, 5e-324, 1e300, 63.0, 64.0, 1e-9]
WORDS = [None, "", "north", "south", "it's", "é", "7", " 7.0", "x"]
DAYS = [None, datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]

Engine = Callable[[pl.DataFrame], Any]


def on_polars(frame: pl.DataFrame) -> Any:
    return nw.from_native(frame.lazy())


def on_eager_polars(frame: pl.DataFrame) -> Any:
    return nw.from_native(frame)


def on_chunks(frame: pl.DataFrame) -> Any:
    """The same rows in another order and in many pieces."""
    shuffled = frame.sample(fraction=1.0, shuffle=True)
    pieces = [shuffled.slice(start, 7) for start in range(0, max(1, len(frame)), 7)]
    return nw.from_native(pl.concat(pieces, rechunk=False).lazy())


def on_duckdb(frame: pl.DataFrame) -> Any:
    return nw.from_native(duckdb.connect().from_arrow(frame.to_arrow()))


ENGINES: list[Engine] = [on_eager_polars, on_chunks, on_duckdb]


def table(rows: int) -> pl.DataFrame:
    pick = random.choice
    columns: dict[str, tuple[list[Any], Any]] = {
        "i": ([pick([None, 0, -1, 5, 2**53, 2**53 + 1, 2**63 - 1]) for _ in range(rows)], pl.Int64),
        "s": ([pick(WORDS) for _ in range(rows)], pl.String),
        "f": ([pick([None, NAN, INF, 0.0, -0.0, 1.5]) for _ in range(rows)], pl.Float64),
        "d": ([pick(DAYS) for _ in range(rows)], pl.Date),
        "b": ([pick([None, True, False]) for _ in range(rows)], pl.Boolean),
        "x": ([pick(VALUES) for _ in range(rows)], pl.Float64),
        "small": ([pick([None, 3, -7, 127]) for _ in range(rows)], pl.Int8),
        "text": ([pick([None, "12", "1e2", "-inf", "5 kg", "", "nan", "0.1"]) for _ in range(rows)], pl.String),
    }
    return pl.DataFrame({name: pl.Series(values, dtype=dtype) for name, (values, dtype) in columns.items()})


def coding(low: float, high: float, substitute: float) -> Coding:
    return Coding.of(BoxEncoding.for_bounds([low], [high], [substitute]))


FEATURES = (
    PersonTotal("x", coding(-10, 64, 0)),
    PersonTotal("text", coding(0.1, 99.7, 0), missing=2.5),
    PersonMean("small", coding(-5, 100, 47.5)),
    RowSum("x", coding(0, 63.9, 30)),
    RowSum("b", coding(0, 1, 0.5)),
    PersonTotal("b", coding(0, 3, 0)),
    RowCount(),
)
KINDS = kinds_of(nw.from_native(table(1)).schema)
GROUPS = {
    "texts": declare_groups(["s"], [("north",), ("it's",), ("",), ("é",), ("never",)], KINDS),
    "numbers": declare_groups(["f", "small"], [(0, 3), (0, 127), (1.5, 3), (1.5, 127)], KINDS),
    "truths": declare_groups(["b"], [(False,), (True,)], KINDS),
    "dates": declare_groups(["d"], [(datetime.date(2024, 2, 29),), (datetime.date(1969, 12, 31),)], KINDS),
    "days as texts": declare_groups(["d"], [("2024-02-29",), ("1970-01-01",)], KINDS),
    "texts as numbers": declare_groups(["s"], [(7,), (8,)], KINDS),
    "integers": declare_groups(["i"], [(5,), (0,), (-1,), (3,)], KINDS),
    "integers far apart": declare_groups(["i"], [(0,), (2**52,), (-1,)], KINDS),
    "pairs of integers": declare_groups(["small", "i"], [(127, 0), (3, 5), (-7, -1), (3, 0), (4, 4)], KINDS),
    "integers and fractions": declare_groups(["i"], [(5,), (0.5,)], KINDS),
    "some combinations": declare_groups(["s", "b"], [("south", True), ("north", False)], KINDS),
}


@pytest.mark.parametrize("unit", [None, "i", "s", "f", "d", "b"])
@pytest.mark.parametrize("engine", ENGINES)
def test_units(engine: Engine, unit: str | None) -> None:
    units = Contribution(FEATURES, unit, max_rows=3)
    for rows in (0, 1, 300):
        frame = table(rows)
        assert sum_people(engine(frame), units) == sum_people(on_polars(frame), units)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("engine", ENGINES)
def test_groups(engine: Engine, groups: GroupKeys) -> None:
    for unit in ("i", None):
        for rows in (0, 300):
            frame = table(rows)
            totals = sum_groups(on_polars(frame), Contribution(FEATURES, unit, 3), groups, 1)
            assert len(totals) == len(groups.keys) and all(len(group.sums) == len(FEATURES) for group in totals)
            assert sum_groups(engine(frame), Contribution(FEATURES, unit, 3), groups, 1) == totals


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("engine", [on_polars, *ENGINES[1:]])
def test_groups_of_rows_are_those_of_a_join(engine: Engine, groups: GroupKeys, monkeypatch: Any) -> None:
    """What is added up here, batch by batch, against what the engine adds up."""
    whole = coding(0, 2**21, 5)
    small = (replace(FEATURES[0], coding=replace(whole, scale=1.0, steps=2**21)),)
    added = Contribution((*FEATURES, *small, PersonProduct(small[0], small[0])))
    for rows in (0, 1, 700):
        frame = table(rows)
        monkeypatch.setattr(group_rows, "MAX_COMBINATIONS", 1 << 22)
        quick = list(sum_groups(engine(frame), added, groups, 1))
        monkeypatch.setattr(group_rows, "MAX_COMBINATIONS", 0)
        assert quick == list(sum_groups(engine(frame), added, groups, 1))


def test_groups_of_rows_are_added_up_here() -> None:
    """The way that is tested above is taken: of texts by Polars alone, of numbers by DuckDB too."""
    ways = []
    for engine in (on_polars, on_duckdb):
        for name in ("texts", "numbers"):
            frame = engine(table(5))
            ways.append(group_rows.add_rows(frame, Contribution(()), GROUPS[name], engine_under(frame)) is not None)
    assert ways == [True, True, False, True]


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_hold_the_rows_they_name(engine: Engine) -> None:
    """Each kind of key against a plain count of the rows that match it in Python."""
    frame = table(400)

    def count(match: Callable[..., bool], *columns: str) -> int:
        return sum(match(*row) for row in frame.select(*columns).rows())

    expected = {
        "texts": [count(lambda s, key=key: s == key, "s") for key in ("north", "it's", "", "é", "never")],
        "numbers": [
            count(lambda f, n, a=a, c=c: f == a and n == c, "f", "small")
            for a, c in [(0, 3), (0, 127), (1.5, 3), (1.5, 127)]
        ],
        "truths": [count(lambda b, key=key: b is key, "b") for key in (False, True)],
        "dates": [count(lambda d, key=key: d == key, "d") for key in (DAYS[2], DAYS[1])],
        "days as texts": [count(lambda d: d == DAYS[2], "d"), 0],
        "texts as numbers": [count(lambda s: s in ("7", " 7.0"), "s"), 0],
        "integers": [count(lambda i, key=key: i == key, "i") for key in (5, 0, -1, 3)],
        "integers far apart": [count(lambda i, key=key: i == key, "i") for key in (0, 2**52, -1)],
        "pairs of integers": [
            count(lambda n, i, pair=pair: (n, i) == pair, "small", "i")
            for pair in [(127, 0), (3, 5), (-7, -1), (3, 0), (4, 4)]
        ],
        "integers and fractions": [count(lambda i: i == 5, "i"), 0],
        "some combinations": [
            count(lambda s, b: s == "south" and b is True, "s", "b"),
            count(lambda s, b: s == "north" and b is False, "s", "b"),
        ],
    }
    for name, groups in GROUPS.items():
        totals = sum_groups(engine(frame), Contribution((RowCount(),)), groups)
        assert [group.records for group in totals] == [group.sums[0] for group in totals] == expected[name], name


def test_spark(spark: Any) -> None:
    frame = table(40)
    schema = "i long, s string, f double, d date, b boolean, x double, small byte, text string"
    data = nw.from_native(spark.createDataFrame(frame.rows(), schema))
    units = Contribution((FEATURES[1], FEATURES[3], RowCount()), "i", 2)
    assert sum_people(data, units) == sum_people(on_polars(frame), units)
    groups = GROUPS["numbers"]
    assert sum_groups(data, units, groups, 2) == sum_groups(on_polars(frame), units, groups, 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_filters_and_derived_columns(engine: Engine) -> None:
    frame = table(300)
    derivation = plan_derivation({"q": "x / small", "year": "year(d)"}, "not (text > 50) and s != 'x'", KINDS)
    units = Contribution((PersonTotal("q", coding(-1, 1, 0)), PersonMean("q", coding(-1, 1, 0)), RowCount()), "i", 2)
    groups = declare_groups(["year"], [(2024,), (1969,), (1970,)], derivation.kinds)
    expected = sum_groups(derive(on_polars(frame), derivation), units, groups, 1)
    assert sum_groups(derive(engine(frame), derivation), units, groups, 1) == expected


@pytest.mark.parametrize("m", [1, 2, 3])
def test_most_rows_with_many_ties(m: int) -> None:
    rows = [(random.randint(0, 30), random.randint(0, 5)) for _ in range(400)]
    frame = pl.DataFrame(rows, schema={"i": pl.Int64, "g": pl.Int64}, orient="row")
    groups = declare_groups(["g"], [(4,), (0,), (5,), (1,), (2,)], {"g": "number"})
    expected = sum_groups(on_polars(frame), Contribution((RowCount(),), "i", 5), groups, m)
    assert sum(group.records for group in expected) > 30
    for engine in ENGINES:
        assert sum_groups(engine(frame), Contribution((RowCount(),), "i", 5), groups, m) == expected


def limbs_at_the_edge(features: tuple[Any, ...]) -> list[dict[str, int]]:
    """Sums of limbs as units with up to 2^40 − 1 rows can have them: all equal rows, and mixtures."""
    found = []
    for n in (1, 2, 3, 7, 2**20, 2**20 + 1, 2**31 + 11, 2**40 - 1, random.randint(1, 2**40 - 1)):
        for share in (0.0, 1.0, *(random.uniform(0.01, 0.99) for _ in range(8))):
            row = {"u": len(found), "n": n}
            for j, feature in enumerate(features):
                if isinstance(feature, PersonTotal):
                    high = round((2**23 - 1) * (2 * share - 1)) * n
                    row |= {f"h{j}": high, f"l{j}": random.randint(0, (2**23 - 1) * n)}
                else:
                    top = n if share == 1.0 else round(n * share)  # so many rows at the highest code, the rest at 0
                    steps = feature.coding.steps
                    row |= {f"h{j}": (steps >> 21) * top, f"l{j}": (steps & (2**21 - 1)) * top}
                    if 0.0 < share < 1.0:  # just below a multiple of n, where the quotient of doubles is too high
                        low = random.choice([random.randint(0, (2**21 - 1) * n), (2**20 + 1) * n - n // 2 - 1])
                        row |= {f"h{j}": random.randint(1, (steps >> 21) - 1) * n - random.randint(0, 1), f"l{j}": low}
            found.append(row)
    return found


@pytest.mark.parametrize("engine", [on_polars, on_duckdb, "spark"])
def test_units_with_a_million_million_rows(engine: Any, request: pytest.FixtureRequest) -> None:
    features = (
        PersonTotal("x", coding(-10, 64, 0)),
        PersonTotal("x", coding(1e6, 1e6 + 1, 1e6)),
        RowSum("x", coding(0, 99.9, 0)),
    )
    asked = (*features, PersonMean("x", features[2].coding), RowCount())
    units = Contribution(asked, "u", max_rows=1 << 20)
    rows = limbs_at_the_edge(features)
    frame = pl.DataFrame(rows, schema=dict.fromkeys(rows[0], pl.Int64))
    if engine == "spark":
        session = request.getfixturevalue("spark")
        fields = ", ".join(f"{name} long" for name in frame.columns)
        data = nw.from_native(session.createDataFrame(frame.rows(), fields))
    else:
        data = engine(frame)
    totals = add_up(*feature_limbs(data, units, ("u",)), engine_under(data))
    for row in rows:
        found = totals[(row["u"],)]
        assert found.sums == features_at_the_edge(row, features) and found.records == 1
        assert all(0 <= value <= ceiling for value, ceiling in zip(found.sums, units.ceilings, strict=True))
    if engine is on_duckdb:  # which adds up codes whole, in 128 bits
        codes = [spell_person(feature, inputs_of(units), units.max_rows) for feature in asked]
        for row in rows:
            sums = ((row[f"h{j}"] << 23 - 2 * (j == 2)) + row[f"l{j}"] for j in range(3))
            given = ", ".join(f"cast('{value}' as hugeint) as f{j}" for j, value in enumerate(sums))
            person = duckdb.sql(f"select cast({row['n']} as bigint) as n, {given}")
            (whole,) = person.project(", ".join(codes)).fetchall()
            assert list(whole) == features_at_the_edge(row, features)


def features_at_the_edge(row: dict[str, int], features: tuple[Any, ...]) -> list[int]:
    """What such a unit adds, in Python's integers."""
    n, expected = row["n"], []
    for j, feature in enumerate(features[:2]):
        grid = feature.grid
        whole = (row[f"h{j}"] << 23) + row[f"l{j}"]
        expected.append(min(max(whole - grid.zero, 0), grid.levels) << grid.shift)
    whole = (row["h2"] << 21) + row["l2"]
    mean = (whole + n // 2) // n
    return [*expected, whole if n <= 1 << 20 else mean << 20, mean, min(n, 1 << 20)]


def test_many_features_go_in_blocks() -> None:
    frame = table(60)
    features = tuple(PersonTotal("x", coding(-10, 10 + j, 0)) for j in range(40))
    for unit in ("i", None):
        units = Contribution(features, unit)
        totals = sum_people(on_polars(frame), units)
        assert len(totals.sums) == 40 and sum_people(on_duckdb(frame), units) == totals
        assert sum_groups(on_duckdb(frame), units, GROUPS["truths"]) == sum_groups(
            on_polars(frame), units, GROUPS["truths"]
        )


def test_columns_with_our_own_names() -> None:
    """Columns of the source may be called what the steps call theirs."""
    plain = table(200)
    names = {"i": "n", "s": "g", "x": "u", "small": "x0", "text": "h0", "b": "k0"}
    renamed = plain.rename(names)
    for engine in (on_polars, on_duckdb):
        for unit in ("i", None):
            before = Contribution(
                (PersonTotal("x", coding(0, 9, 0)), PersonMean("small", coding(0, 9, 0)), RowCount()), unit, 2
            )
            after = Contribution(
                (PersonTotal("u", coding(0, 9, 0)), PersonMean("x0", coding(0, 9, 0)), RowCount()),
                unit and names[unit],
                2,
            )
            groups = declare_groups(["g", "k0"], [("north", True)], {"g": "text", "k0": "truth"})
            same = declare_groups(["s", "b"], [("north", True)], KINDS)
            assert sum_groups(engine(renamed), after, groups) == sum_groups(engine(plain), before, same)


@pytest.mark.parametrize(
    ("column", "keys", "part"),
    [
        ("z", ["a"], "no-such-key-column"),
        ("s", ["a", "a"], "key-twice"),
        ("f", [0, -0.0], "key-twice"),
        ("s", ["a", 1], "keys-of-several-kinds"),
        ("s", ["a", None], "keys-of-several-kinds"),
        ("f", ["a"], refusal("keys-do-not-fit-column", kind="number", key="a")),
        ("b", [1, 0], refusal("keys-do-not-fit-column", key=1)),
        ("f", [NAN], "key-too-large"),
        ("i", [2**53], "key-too-large"),
        ("d", ["yesterday"], "key-not-a-date"),
    ],
)
def test_keys_refused(column: str, keys: list[Any], part: Expected) -> None:
    with refused(part):
        declare_groups([column], [(key,) for key in keys], KINDS)


def test_from_a_source_to_totals(tmp_path: Path) -> None:
    """Files, frames and relations give the same integers; a CSV file holds the same numbers as texts."""
    frame = table(100).with_columns(pl.col("s", "text").replace("", None), pl.col("x").fill_nan(None))
    frame.write_csv(tmp_path / "people.csv")
    frame.write_parquet(tmp_path / "people.parquet")
    units = Contribution((PersonTotal("q", coding(-10, 64, 0)), RowSum("text", coding(0, 50, 25)), RowCount()), "s", 2)
    relation = duckdb.connect().from_arrow(frame.to_arrow())
    found = []
    for data in (frame, frame.lazy(), relation, tmp_path / "people.csv", str(tmp_path / "people.parquet")):
        source = open_source(data)
        derivation = plan_derivation({"q": "x * small"}, "text != '12'", kinds_of(source.schema))
        yes = 1 if source.is_text else True  # the text "true" reads as 1
        groups = declare_groups(["b", "d"], [(yes, "2024-02-29")], derivation.kinds)
        totals = total_people(source, units, derivation)
        found.append((totals, total_groups(source, units, derivation, groups)))
        assert total_people(source, Contribution(()), plan_derivation({}, None, kinds_of(source.schema))) == Totals(
            [], 100
        )
    assert found[0][0].records > 3 and all(other == found[0] for other in found[1:])


def test_failing_engines_say_nothing(tmp_path: Path) -> None:
    table(50).write_parquet(tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    source = open_source(str(tmp_path / "a.parquet"))
    (tmp_path / "a.parquet").write_bytes(whole[:8])
    nothing = plan_derivation({}, None, kinds_of(source.schema))
    with refused("data-not-readable") as caught:
        total_people(source, Contribution((), "i"), nothing)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_arrays_have_no_people() -> None:
    source = open_source([[1.0], [2.0]])
    with refused("array-without-column-names"):
        total_people(source, Contribution((), None), plan_derivation({}, None, {}))


def test_every_frame_has_its_engine() -> None:
    frame = table(1)
    assert engine_of(frame) is engine_of(frame.to_arrow()) is engine_of(frame.lazy()) is POLARS
    assert engine_of(duckdb.connect().from_arrow(frame.to_arrow())) is DUCKDB
    assert engine_of(frame.to_numpy()) is engine_of(object()) is None


@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32])
def test_nan_of_a_parquet_file_is_compared_row_by_row(dtype: pl.DataType, tmp_path: Path) -> None:
    """Its ends do not speak of NaN: by them DuckDB would decide comparisons for all rows at once."""
    path = tmp_path / "numbers.parquet"
    pl.DataFrame({"x": pl.Series([*[NAN] * 20, -5.0, None], dtype=dtype)}).write_parquet(path)
    relation = duckdb.connect().read_parquet(str(path))
    counted = "count(case when x < 3 then 1 end), count(case when x > 3 then 1 end), count(*) filter (where isnan(x))"
    right, by_ends = [(1, 20, 20)], [(21, 0, 20)]  # DuckDB 1.5.0 is right by itself, 2.0.0 decides by the ends
    assert relation.aggregate(counted).fetchall() in (right, by_ends)
    assert plain_relation(relation, ["x"]).aggregate(counted).fetchall() == right
