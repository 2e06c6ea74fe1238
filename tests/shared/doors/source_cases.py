"""Named cases of what the table is: folders, table formats, files under two names, queries, lines of text."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet

from doors import files, frames, texts
from doors.asks import Ask
from doors.pairs import BY_DUCKDB, COUNT, ROWS, SUM, TOGETHER, Case, Make, people
from doors.runs import REFUSED
from doors.tables import Table
from doors.values import as_bytes

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


def folder_cases() -> Iterator[Case]:
    for odd in ("1e5", "1.5", "x", "01", "2024-01-01", "true", "%31", "__HIVE_DEFAULT_PARTITION__"):
        yield Case(f"folders of integers and one {odd}", 1, folder_pair(INTEGERS, odd), COUNT, engines=BY_DUCKDB)
    halves = tuple(name for i in range(1, 10) for name in (str(i), f"0{i}"))
    yield Case("folders 1 and 01 and one x", 1, folder_pair(halves, "x"), COUNT, engines=BY_DUCKDB)
    days = (*(f"2024-01-{i:02d}" for i in range(1, 10)), "20240101")
    yield Case("folders of days and one that is none", 1, folder_pair(days, "2024-13-01"), COUNT, engines=BY_DUCKDB)
    escaped = ("a%20b", "a b", "a%20%62")
    yield Case(
        "three spellings of one folder are one person", 1, folder_pair(("c",), *escaped), COUNT, engines=BY_DUCKDB
    )
    years = Ask({"count": True, "by": {"year": [2021, 2022]}})
    some = ("2021", "2022", "2023")
    keys = folder_pair(some, "x", column="year")
    yield Case("folders of years and one x", 1, keys, years, engines=BY_DUCKDB)
    later = Ask({"count": True, "where": "year >= 2022"})
    yield Case(
        "a filter on folders of years and one x", 1, folder_pair(some, "x", column="year"), later, engines=BY_DUCKDB
    )


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


def missing_numbers(folder: Path, has: bool) -> str:
    """Twenty people without a number, as NaN; in the end of a Parquet file there is no word of NaN."""
    table = people(*((f"o{i}", math.nan) for i in range(20)), ("a", -5), *([("b", 7)] if has else ()))
    return files.write_parquet(table, folder)


def missing_in_relation(folder: Path, has: bool) -> Any:
    return duckdb.connect().read_parquet(missing_numbers(folder, has))


def source_cases() -> Iterator[Case]:
    yield Case("NaN in Parquet", 0, missing_numbers, SUM, engines=BY_DUCKDB)
    yield Case("NaN in a relation over Parquet", 0, missing_in_relation, SUM)
    for name, log in {
        "Delta": "_delta_log/00000000000000000000.json",
        "Iceberg": "metadata/v1.metadata.json",
        "Hudi": ".hoodie/hoodie.properties",
    }.items():
        yield Case(f"a folder of {name}", 3, table_format(log, "{}"), ROWS, REFUSED)
    yield Case("hard links in a folder", 5, linked("visits", files.write_parquet), ROWS, engines=BY_DUCKDB)
    yield Case("hard links of a pattern", 5, linked("visits/*.csv", texts.write_csv), ROWS)
    for name, text in {
        "with an aggregate": "SELECT max(x) AS x FROM visits",
        "with groups": "SELECT region, sum(x) AS x FROM visits GROUP BY region",
        "with a window": "SELECT x - avg(x) OVER () AS x FROM visits",
        "with a limit": "SELECT x FROM visits ORDER BY x LIMIT 1",
        "with a subquery": "SELECT x FROM visits WHERE x < (SELECT max(x) FROM visits)",
        "with distinct rows": "SELECT DISTINCT region FROM visits",
        "row by row": "SELECT x FROM visits WHERE x > 0",
    }.items():
        yield Case(f"a query {name}", 9, query(text), ROWS, REFUSED)
    told = query("SELECT x FROM visits WHERE x > 0", row_per_row=True)
    yield Case("a query that is said to be row by row", 9, told, ROWS, changes=True)


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
    for name, line in strays.items():
        for last in (True, False):
            if name == "at the end" and not last:
                continue
            where = "last" if last else "first"
            yield Case(f"a stray quote {name}, {where}", 8, lines(".csv", QUOTED, line, last), TOGETHER)
            forced = lines(".csv", QUOTED, line, last, line_per_record=True)
            yield Case(f"a stray quote {name}, {where}, line by line", 8, forced, TOGETHER)
    ragged = b"ann\nann,,,,,,,,,\n\n,\n"
    yield Case("ragged lines", 8, lines(".csv", QUOTED, ragged, False), TOGETHER)
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
        yield Case(f"a first record of JSON that {name}", 12, lines(".jsonl", good, line, last=False), TOGETHER)
    yield Case("no record of JSON at all", 12, lines(".jsonl", b"", good.splitlines()[0]), TOGETHER)


def every_case() -> Iterator[Case]:
    yield from folder_cases()
    yield from source_cases()
    yield from line_cases()
