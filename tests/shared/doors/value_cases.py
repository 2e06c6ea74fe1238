"""Named cases of what an id is: bytes, spellings, times, Python objects."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from doors import files, frames, texts
from doors.asks import Ask
from doors.comparison import INVALID_TEXT
from doors.pairs import ALIKE, BY_DUCKDB, COUNT, PAIRS, SUM, Case, Make, either, people, two_as_one
from doors.tables import Table
from doors.values import BROKEN, NANOSECONDS

# -- 2: bytes ----------------------------------------------------------------------------------------------------------

MUELLER, MOELLER = "M\udcfcller", "M\udcf6ller"
TEXT_WRITERS = {
    "CSV": texts.write_csv,
    "TSV": texts.write_tsv,
    "CSV.gz": texts.write_packed_csv,
    "JSON lines": texts.write_json_lines,
}


def byte_cases() -> Iterator[Case]:
    for name, write in TEXT_WRITERS.items():
        yield Case(f"Müller and Möller in Latin-1 in {name}", 2, two_as_one(write, MOELLER, MUELLER), SUM)
        one = people((MOELLER, 1), region="south")
        both = one.with_rows([*one.rows, *people((MUELLER, 1), region="north").rows])
        yield Case(f"pairs of Müller and Möller in Latin-1 in {name}", 2, either(write, one, both), Ask(pairs=1))
    typed = {"Parquet": (files.write_parquet, BY_DUCKDB), "Feather": (files.write_feather, ())}
    for name, (write, engines) in typed.items():
        make = two_as_one(write, "Mller", MUELLER, BROKEN)
        yield Case(f"bytes that are not UTF-8 in {name}", 2, make, SUM, engines=engines, limit=INVALID_TEXT)
    yield Case("a key that is not UTF-8 in CSV", 2, _odd_key, Ask({"count": True, "by": {"region": ["M\ufffdller"]}}))


def _odd_key(folder: Path, has: bool) -> str:
    """A key in Latin-1 is none of those declared, whatever a reader puts for its bytes."""
    table = people(("a", 1), region="M\ufffdller")
    rows = [*table.rows, *(people(("b", 1), region=MUELLER).rows if has else ())]
    return texts.write_csv(table.with_rows(rows), folder)


# -- 4, 6: one id or two -----------------------------------------------------------------------------------------------


def integer_ids(write: Callable[[Table, Path], str]) -> Make:
    """Three spellings of one number, in a file whose ids are said to be integers."""

    def make(folder: Path, has: bool) -> dict[str, Any]:
        table = people((18, 1), *([("17", 1), ("17.0", 1), ("017", 1)] if has else ()))
        return {"path": write(table, folder), "ids": "integer"}

    return make


def listed(one: Any, *person: Any) -> Make:
    """A list of pairs: someone in the north, and the spellings of one person in the south."""
    return lambda folder, has: [[one, "north"], *([each, "south"] for each in person if has)]


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
    yield Case("1 and 1.0 are one number in a list", 4, listed(2, 1, 1.0), PAIRS, changes=True)
    yield Case("1 and '1' are two in a list", 4, listed("1", 1), PAIRS, changes=True)
    yield Case("1 and '1' are two in a category", 4, objects(1, "1"), SUM, ALIKE)
    yield Case("1 and True in a category", 4, objects(2, True), SUM, ALIKE)
    noon = 1_700_000_000_000_000_000
    moments = (noon, noon + 1)
    yield Case("nanoseconds in a relation", 6, two_as_one(frames.make_relation, *moments, NANOSECONDS), SUM)
    yield Case("nanoseconds in a database", 6, two_as_one(files.write_database, *moments, NANOSECONDS), SUM)
    nanoseconds = arrow_parquet(pa.timestamp("ns"), *moments)
    yield Case("nanoseconds in Parquet", 6, nanoseconds, SUM, engines=BY_DUCKDB)
    far = arrow_parquet(pa.timestamp("ms"), 2**55, 2**55 + 1)
    yield Case("milliseconds beyond the microseconds", 6, far, SUM, engines=BY_DUCKDB)
    yield Case("a date 263 000 years ahead", 6, arrow_parquet(pa.date32(), 7, 96_000_000), SUM, engines=BY_DUCKDB)


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
        yield Case(f"{name} in a list of pairs", 7, listed("a", each), PAIRS)
    yield Case("a lone surrogate in string[python]", 7, _strings, SUM)
    yield Case("a decimal256 that is not asked for", 7, _decimals, SUM)


def _strings(folder: Path, has: bool) -> pd.DataFrame:
    ids = pd.Series(["a", "\ud800"][: 1 + has], dtype="string[python]")
    return pd.DataFrame({"person": ids, "x": [50.0, -100.0][: 1 + has]})


def _decimals(folder: Path, has: bool) -> pd.DataFrame:
    big = pa.array([decimal.Decimal("1" * 60)] * (1 + has), pa.decimal256(76, 0))
    frame = pd.DataFrame({"person": ["a", "b"][: 1 + has], "x": [50.0, -100.0][: 1 + has]})
    return frame.assign(big=pd.Series(pd.arrays.ArrowExtensionArray(big)))


def every_case() -> Iterator[Case]:
    yield from byte_cases()
    yield from id_cases()
    yield from object_cases()
