"""Pairs with names: each was a violation once, or is the rule that keeps it from being one.

A case says what must be seen: `released` (both, within what is charged), `refused` (both, alike, before data is read),
or `alike` (either of them). `engines` are further ones that must give the same integers.
"""

from __future__ import annotations

import decimal
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from doors import files, frames, texts
from doors.asks import Ask
from doors.comparison import Finding, compare, compare_engines
from doors.runs import REFUSED, RELEASED, run
from doors.tables import Table, types_of
from doors.values import BROKEN, NANOSECONDS, TEXT, as_bytes

ALIKE = "alike"

WIDE = (-50, 50)
"""One person more or less changes a sum by half its width: two who are taken for one can change it by all of it."""

SUM = Ask({"unit": "person", "sums": {"x": WIDE}})
COUNT = Ask({"unit": "person", "count": True})
ROWS = Ask({"count": True})
PAIRS = Ask(pairs=2)

Make = Callable[[Path, bool], Any]
"""Makes a source in a folder, with one person or without."""


@dataclass(frozen=True)
class Case:
    """A pair with a name; `item` is where the list of doors has it. With `changes` the person must be counted."""

    name: str
    item: int
    make: Make
    ask: Ask
    expect: str = RELEASED
    engine: str | None = None
    engines: tuple[str, ...] = ()
    changes: bool = False


def try_case(case: Case, folder: Path) -> Finding:
    """What a named pair shows; a problem also where it is not what the case expects."""
    places = [folder / "without", folder / "with"]
    for place in places:
        place.mkdir(parents=True)
    sources = [case.make(place, with_person) for place, with_person in zip(places, (False, True), strict=True)]
    one, other = (run(case.ask, s, place, case.engine) for s, place in zip(sources, places, strict=True))
    found = compare(one, other)
    problems = list(found.problems)
    if case.expect != ALIKE and found.status != case.expect:
        problems.append(f"{found.status} and not {case.expect}: {(other if found.status == one.status else one).said}")
    if case.changes and found.status == RELEASED and not found.square:
        problems.append("a person is not counted")
    for engine in case.engines:
        again = [run(case.ask, s, place, engine) for s, place in zip(sources, places, strict=True)]
        problems += [f"{problem} by {engine}" for problem in compare(*again).problems]
        for a, b in zip((one, other), again, strict=True):
            problems += [f"{problem} by {engine}" for problem in compare_engines(a, b)]
    return Finding(found.status, found.square, tuple(dict.fromkeys(problems)))


def people(*several: tuple[Any, float], kind: str = TEXT, region: str = "north") -> Table:
    """A row for each id and number."""
    rows = [{"person": each, "region": region, "sex": "f", "x": float(x), "y": 1} for each, x in several]
    return Table(types_of(kind), tuple(rows))


def either(write: Callable[[Table, Path], Any], without: Table, with_person: Table) -> Make:
    return lambda folder, has: write(with_person if has else without, folder)


def two_as_one(write: Callable[[Table, Path], Any], one: Any, other: Any, kind: str = TEXT) -> Make:
    """Two people who change a sum by twice what is charged if they are taken for one."""
    return either(write, people((one, 50), kind=kind), people((one, 50), (other, -100), kind=kind))


# -- 1: folders --------------------------------------------------------------------------------------------------------


def folders(*names: str, column: str = "person") -> Callable[[Path], str]:
    """One Parquet file with one row below each folder."""

    def write(folder: Path) -> str:
        for name in names:
            place = folder / "visits" / f"{column}={name}"
            place.mkdir(parents=True)
            pyarrow.parquet.write_table(pa.table({"x": [50.0], "y": [1]}), place / "0.parquet")
        return str(folder / "visits")

    return write


def folder_pair(without: tuple[str, ...], *person: str, column: str = "person") -> Make:
    return lambda folder, has: folders(*without, *(person if has else ()), column=column)(folder)


INTEGERS = tuple(str(10**18 + i) for i in range(20))
BOTH = ("duckdb",)


def folder_cases() -> Iterator[Case]:
    for odd in ("1e5", "1.5", "x", "01", "2024-01-01", "true", "%31", "__HIVE_DEFAULT_PARTITION__"):
        yield Case(f"folders of integers and one {odd}", 1, folder_pair(INTEGERS, odd), COUNT, engines=BOTH)
    halves = tuple(name for i in range(1, 10) for name in (str(i), f"0{i}"))
    yield Case("folders 1 and 01 and one x", 1, folder_pair(halves, "x"), COUNT, engines=BOTH)
    days = tuple(f"2024-01-{i:02d}" for i in range(1, 10)) + ("20240101",)
    yield Case("folders of days and one that is none", 1, folder_pair(days, "2024-13-01"), COUNT, engines=BOTH)
    escaped = ("a%20b", "a b", "a%20%62")
    yield Case("three spellings of one folder are one person", 1, folder_pair(("c",), *escaped), COUNT, engines=BOTH)
    years = Ask({"count": True, "by": {"year": [2021, 2022]}})
    some = ("2021", "2022", "2023")
    yield Case("folders of years and one x", 1, folder_pair(some, "x", column="year"), years, engines=BOTH)
    later = Ask({"count": True, "where": "year >= 2022"})
    yield Case("a filter on folders of years and one x", 1, folder_pair(some, "x", column="year"), later, engines=BOTH)


# -- 2: bytes ----------------------------------------------------------------------------------------------------------

MUELLER, MOELLER = "M\udcfcller", "M\udcf6ller"
TEXT_WRITERS = {
    "CSV": texts.write_csv, "TSV": texts.write_tsv, "CSV.gz": texts.write_packed_csv, "JSON lines": texts.write_json_lines,
}  # fmt: skip


def byte_cases() -> Iterator[Case]:
    for name, write in TEXT_WRITERS.items():
        yield Case(f"Müller and Möller in Latin-1 in {name}", 2, two_as_one(write, MOELLER, MUELLER), SUM)
        one = people((MOELLER, 1), region="south")
        both = one.with_rows([*one.rows, *people((MUELLER, 1), region="north").rows])
        yield Case(f"pairs of Müller and Möller in Latin-1 in {name}", 2, either(write, one, both), Ask(pairs=1))
    typed = {"Parquet": files.write_parquet, "Feather": files.write_feather}
    for name, write in typed.items():
        make = two_as_one(write, "Mller", MUELLER, BROKEN)
        yield Case(f"bytes that are not UTF-8 in {name}", 2, make, SUM, engines=BOTH if name == "Parquet" else ())
    yield Case("a key that is not UTF-8 in CSV", 2, _odd_key, Ask({"count": True, "by": {"region": ["M\ufffdller"]}}))


def _odd_key(folder: Path, has: bool) -> str:
    """A key in Latin-1 is none of those declared, whatever a reader puts for its bytes."""
    table = people(("a", 1), region="M\ufffdller")
    rows = [*table.rows, *(people(("b", 1), region=MUELLER).rows if has else ())]
    return texts.write_csv(table.with_rows(rows), folder)


# -- 3, 5, 9: what is the table ----------------------------------------------------------------------------------------


def table_format(log: str, content: str) -> Make:
    """A folder of a table format, whose dead files are files too."""

    def make(folder: Path, has: bool) -> str:
        place = folder / "visits"
        place.mkdir()
        for number in range(2):
            table = people(("a", 1), *([("b", 1)] if has else ()))
            pyarrow.parquet.write_table(frames.arrow_table(table), place / f"{number}.parquet")
        (place / log).parent.mkdir(parents=True, exist_ok=True)
        (place / log).write_text(content)
        return str(place)

    return make


def linked(pattern: str, write: Callable[[Table, Path], str]) -> Make:
    """The same file under two names."""

    def make(folder: Path, has: bool) -> str:
        place = folder / "visits"
        place.mkdir()
        path = write(people(("a", 1), *([("b", 1)] if has else ())), place)
        os.link(path, place / f"again{''.join(Path(path).suffixes)}")
        return str(folder / pattern)

    return make


def query(text: str, **options: Any) -> Make:
    """A query of a database of DuckDB."""

    def make(folder: Path, has: bool) -> Any:
        path = folder / "study.db"
        with duckdb.connect(str(path)) as connection:
            frames.fill_database(connection, people(("a", 1), *([("b", 40)] if has else ())), "visits")
        address = f"duckdb://{path}?query={text}"
        return {"path": address, **options} if options else address

    return make


def source_cases() -> Iterator[Case]:
    for name, log in {
        "Delta": "_delta_log/00000000000000000000.json",
        "Iceberg": "metadata/v1.metadata.json",
        "Hudi": ".hoodie/hoodie.properties",
    }.items():
        yield Case(f"a folder of {name}", 3, table_format(log, "{}"), ROWS, REFUSED)
    yield Case("hard links in a folder", 5, linked("visits", files.write_parquet), ROWS, engines=BOTH)
    yield Case("hard links of a pattern", 5, linked("visits/*.csv", texts.write_csv), ROWS)
    for name, text in {
        "an aggregate": "SELECT max(x) AS x FROM visits",
        "groups": "SELECT region, sum(x) AS x FROM visits GROUP BY region",
        "a window": "SELECT x - avg(x) OVER () AS x FROM visits",
        "a limit": "SELECT x FROM visits ORDER BY x LIMIT 1",
        "a subquery": "SELECT x FROM visits WHERE x < (SELECT max(x) FROM visits)",
        "distinct rows": "SELECT DISTINCT region FROM visits",
    }.items():
        yield Case(f"a query with {name}", 9, query(text), ROWS, REFUSED)
    yield Case("a query row by row", 9, query("SELECT x FROM visits WHERE x > 0"), ROWS, changes=True)
    told = query("SELECT * FROM (SELECT x FROM visits)", row_per_row=True)
    yield Case("a query that is said to be row by row", 9, told, ROWS, changes=True)


# -- 4, 6: one id or two -----------------------------------------------------------------------------------------------


def integer_ids(write: Callable[[Table, Path], str]) -> Make:
    """Three spellings of one number, in a file whose ids are said to be integers."""

    def make(folder: Path, has: bool) -> dict[str, Any]:
        table = people((18, 1), *([("17", 1), ("17.0", 1), ("017", 1)] if has else ()))
        return {"path": write(table, folder), "ids": "integer"}

    return make


def objects(*ids: Any, category: bool = True) -> Make:
    """A pandas frame with ids of any objects, the last of which is the person."""

    def make(folder: Path, has: bool) -> pd.DataFrame:
        held = np.empty(len(ids) if has else len(ids) - 1, object)
        held[:] = ids[: len(held)]
        xs = [50.0] * (len(ids) - 1) + [-100.0]
        codes = list(range(len(held)))
        column = pd.Series(held, dtype=object)
        if category:
            column = pd.Series(pd.Categorical.from_codes(codes, pd.Index(held, dtype=object)))
        return pd.DataFrame({"person": column, "x": xs[: len(held)]})

    return make


def arrow_parquet(kind: pa.DataType, *ids: int) -> Make:
    """A Parquet file with ids of an Arrow type, told by their integers; the last is the person."""

    def make(folder: Path, has: bool) -> str:
        kept = ids if has else ids[:-1]
        storage = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        xs = ([50.0] * (len(ids) - 1) + [-100.0])[: len(kept)]
        table = pa.table({"person": pa.array(kept, storage).cast(kind), "x": xs})
        pyarrow.parquet.write_table(table, folder / "data.parquet", version="2.6")
        return str(folder / "data.parquet")

    return make


def id_cases() -> Iterator[Case]:
    for name, write in TEXT_WRITERS.items():
        yield Case(f"17 and 17.0 are two texts in {name}", 4, two_as_one(write, "17", "17.0"), SUM, changes=True)
        yield Case(f"17, 17.0 and 017 are one integer in {name}", 4, integer_ids(write), COUNT, changes=True)
    numbers: Make = lambda folder, has: [[2, "north"], *([[1, "south"], [1.0, "south"]] if has else [])]  # noqa: E731
    yield Case("1 and 1.0 are one number in a list", 4, numbers, PAIRS, changes=True)
    mixed: Make = lambda folder, has: [["1", "north"], *([[1, "south"]] if has else [])]  # noqa: E731
    yield Case("1 and '1' are two in a list", 4, mixed, PAIRS, changes=True)
    yield Case("1 and '1' are two in a category", 4, objects(1, "1"), SUM, ALIKE)
    yield Case("1 and True in a category", 4, objects(2, True), SUM, ALIKE)
    noon = 1_700_000_000_000_000_000
    moments = (noon, noon + 1)
    relation: Callable[[Table, Path], Any] = lambda table, folder: frames.make_relation(table, folder, ())  # noqa: E731
    yield Case("nanoseconds in a relation", 6, two_as_one(relation, *moments, NANOSECONDS), SUM)
    yield Case("nanoseconds in a database", 6, two_as_one(files.write_database, *moments, NANOSECONDS), SUM)
    nanoseconds = arrow_parquet(pa.timestamp("ns"), *moments)
    yield Case("nanoseconds in Parquet", 6, nanoseconds, SUM, engines=BOTH)
    far = arrow_parquet(pa.timestamp("ms"), 2**55, 2**55 + 1)
    yield Case("milliseconds beyond the microseconds", 6, far, SUM, engines=BOTH)
    yield Case("a date 263 000 years ahead", 6, arrow_parquet(pa.date32(), 7, 96_000_000), SUM, engines=BOTH)


# -- 7: Python objects -------------------------------------------------------------------------------------------------


class Mute:
    """An object that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("not for you")

    __repr__ = __str__


def object_cases() -> Iterator[Case]:
    ids = {
        "a lone surrogate": "\ud800",
        "an integer of 5 000 digits": 10**5000,
        "an object that cannot be shown": Mute(),
        "a tuple": ("a", 1),
        "bytes": b"\xff",
    }
    for name, each in ids.items():
        yield Case(f"{name} in a category", 7, objects("a", each), SUM, ALIKE)
        yield Case(f"{name} in a column of objects", 7, objects("a", each, category=False), SUM, ALIKE)
        listed: Make = lambda folder, has, each=each: [["a", "north"], *([[each, "south"]] if has else [])]  # type: ignore[misc]  # noqa: E731
        yield Case(f"{name} in a list of pairs", 7, listed, PAIRS)
    strings: Make = lambda folder, has: pd.DataFrame(  # noqa: E731
        {"person": pd.Series(["a", "\ud800"][: 1 + has], dtype="string[python]"), "x": [50.0, -100.0][: 1 + has]}
    )
    yield Case("a lone surrogate in string[python]", 7, strings, SUM)
    yield Case("a decimal256 that is not asked for", 7, _decimals, SUM)


def _decimals(folder: Path, has: bool) -> pd.DataFrame:
    big = pa.array([decimal.Decimal("1" * 60)] * (1 + has), pa.decimal256(76, 0))
    frame = pd.DataFrame({"person": ["a", "b"][: 1 + has], "x": [50.0, -100.0][: 1 + has]})
    return frame.assign(big=pd.Series(pd.arrays.ArrowExtensionArray(big)))


# -- 8, 12: lines ------------------------------------------------------------------------------------------------------

QUOTED = b'"Doe, Jane",north,f,50,1\n"Say ""hi""",south,f,50,1\nbob,north,m,50,1\n'


def lines(suffix: str, text: bytes, person: bytes, last: bool = True, **options: Any) -> Make:
    """A text file with the lines of one person or without, at its end or at its beginning."""

    def make(folder: Path, has: bool) -> Any:
        path = folder / f"data{suffix}"
        header = b"" if suffix == ".jsonl" else b"person,region,sex,x,y\n"
        own = person if has else b""
        path.write_bytes(header + (text + own if last else own + text))
        return {"path": str(path), **options} if options else str(path)

    return make


def line_cases() -> Iterator[Case]:
    strays = {
        "inside a field": b"5'10\",south,f,-100,1\n",
        "that is never closed": b'"ann,south,f,-100,1\n',
        "after a closed field": b'"ann"x,south,f,-100,1\n',
        "in a number": b'ann,south,f,"7,1\n',
        "alone on a line": b'"\n',
        "at the end": b'ann,south,f,-100,"',
    }
    both = Ask({"unit": "person", "sums": {"x": WIDE}, "count": True})
    for name, line in strays.items():
        for last in (True, False):
            if name == "at the end" and not last:
                continue
            where = "last" if last else "first"
            yield Case(f"a stray quote {name}, {where}", 8, lines(".csv", QUOTED, line, last), both)
            forced = lines(".csv", QUOTED, line, last, line_per_record=True)
            yield Case(f"a stray quote {name}, {where}, line by line", 8, forced, both)
    ragged = b"ann\nann,,,,,,,,,\n\n,\n"
    yield Case("ragged lines", 8, lines(".csv", QUOTED, ragged, False), both)
    objects_of = [{"person": each, "region": "north", "x": 50} for each in ("a", "b", "c")]
    good = b"".join(json.dumps(each).encode() + b"\n" for each in objects_of)
    odd = {
        "lacks a key": b'{"person": "d", "region": "north"}\n',
        "has other keys": b'{"secret": 1}\n',
        "has no key": b"{}\n",
        "is a list": b"[1, 2]\n",
        "is no JSON": b"{{{\n",
        "is not UTF-8": as_bytes('{"person": "\udcff", "x": 1}') + b"\n",
        "names a key twice": b'{"person": "d", "person": "e", "x": 1}\n',
        "nests deeply": b"[" * 100_000 + b"\n",
        "has a surrogate": b'{"person": "\\ud800", "x": 1}\n',
    }
    for name, line in odd.items():
        yield Case(f"a first record of JSON that {name}", 12, lines(".jsonl", good, line, last=False), both)
    yield Case("no record of JSON at all", 12, lines(".jsonl", b"", good.splitlines()[0]), both)


def every_case() -> list[Case]:
    """All named cases, in the order of the list of doors."""
    makers = (folder_cases, byte_cases, source_cases, id_cases, object_cases, line_cases)
    return sorted((case for make in makers for case in make()), key=lambda case: case.item)
