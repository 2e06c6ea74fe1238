"""Claims: tables of DuckDB, histograms, marginals, people and groups cost little more than the engine's plain work.

Each release stands beside what the same engine does without privacy: a sum, a count by group, `bincount`, sums by
person and group. Calls take turns; the ratio is that of processor seconds, which other work on the machine hardly
touches, best of the rounds; elapsed seconds stand beside. Releases are planned before; all else is measured, from
opening the source to the noisy answers.

    ./run bench tables
    ./run python benchmarks/tables.py --only numpy DuckDB

Some rows miss their aim, and the benchmark fails there. A plain sum of DuckDB takes 0.85 ns for a double in memory; to
hand it over takes 0.8 ns, to code it 0.5 ns and more, and SQL takes 2.6 ns for one bound alone. Decision 0005 has the
figures.
The noise of a million cells takes a third as long as counting eight million records, 3.6 ns for each exact integer;
rows without noise stand beside. Doubles must be cast before they can be counted, so a cast is part of the plain work.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import gaussmith as gm
from gaussmith import mechanism

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from beside import measure
from findings import Findings

ROWS, PEOPLE = 4_000_000, 400_000
GUARANTEE = gm.Guarantee(mu=1)
SUMS, COUNTS, GROUPED = 1.5, 2.0, 2.0
Call = Callable[[], object]
Row = tuple[str, Call, Call, float]
"""What is measured: its name, the release, the plain work, and what is claimed of the ratio."""


def release_call(source: Any, **asked: Any) -> Call:
    """A release that was planned before, from opening the source on."""
    request = gm.Request(source, guarantee=GUARANTEE, **asked)
    plan = request.plan
    return lambda: mechanism.release(mechanism.prepare_request(plan, source))


def domain_call(domain: Any, source: Any, **asked: Any) -> Call:
    """The same of plain data, whose plan is made from a domain."""
    plan = gm.plan(domain, GUARANTEE, **asked)
    return lambda: plan.release(source)


def count_call(domain: Any, source: Any) -> Call:
    """The exact counts alone: neither lifted nor with noise."""
    plan = gm.plan(domain, GUARANTEE)
    return lambda: [
        each.summation.total(each.source, each.codes, None) for each in mechanism.prepare(plan, source).sources
    ]


# ---- sums of DuckDB --------------------------------------------------------------------------------------------------


def duckdb_sums(folder: Path) -> Iterator[Row]:
    """Tables of eight columns: in memory, where a plain sum does next to nothing, and in a database file."""
    import duckdb

    random = np.random.default_rng(7)
    names = [f"x{j}" for j in range(8)]
    kinds: dict[str, Any] = {"float64": pl.Float64, "int32": pl.Int32}
    for kind, dtype in kinds.items():
        frame = pl.DataFrame({n: pl.Series(random.normal(50, 40, ROWS)).cast(dtype, strict=False) for n in names})
        for where in ("file", "memory"):
            connection = duckdb.connect(str(folder / f"{kind}.duckdb") if where == "file" else ":memory:")
            connection.register("frame", frame)
            connection.execute("create table t as select * from frame")
            if where == "file":
                connection.execute("checkpoint")
            table = connection.table("t")
            sums = ", ".join(f"sum({n})" for n in names)
            plain = lambda t=table, s=sums: t.aggregate(s).fetchall()  # noqa: E731
            asked = {"sums": dict.fromkeys(names, (0, 100)), "missing": dict.fromkeys(names, 0)}
            yield f"DuckDB, {kind} in {where}: sums", release_call(table, **asked), plain, SUMS
            if kind == "float64":
                clipped = ", ".join(f"sum(least(greatest({n}, 0), 100))" for n in names)
                clip = lambda t=table, s=clipped: t.aggregate(s).fetchall()  # noqa: E731
                yield f"DuckDB, {kind} in {where}: sums beside clip and sum", release_call(table, **asked), clip, SUMS


# ---- histograms and marginals ----------------------------------------------------------------------------------------


def counted(frame: pl.DataFrame, names: list[str]) -> Call:
    return lambda: [frame.lazy().group_by(n).agg(pl.len()).collect(engine="streaming") for n in names]


def counted_by_duckdb(table: Any, names: list[str]) -> Call:
    return lambda: [table.aggregate(f"{n}, count(*)", n).fetchall() for n in names]


def histograms(folder: Path) -> Iterator[Row]:
    """Text and integer columns of a few values, of frames and tables: plain data and requests."""
    import duckdb

    random = np.random.default_rng(8)
    labels = [f"region {i}" for i in range(20)]
    names = [f"a{j}" for j in range(6)]
    columns: dict[str, Any] = {"region": pl.Series(labels)[random.integers(0, 20, ROWS)]}
    columns |= {n: random.integers(0, 8, ROWS) for n in names}
    frame = pl.DataFrame(columns)
    connection = duckdb.connect()
    connection.register("frame", frame)
    connection.execute("create table t as select * from frame")
    table = connection.table("t")
    cells = {n: list(range(8)) for n in names}
    ways = gm.workloads.marginals((8,) * len(names), 1)
    for engine, data, count in (("Polars", frame, counted), ("DuckDB", table, counted_by_duckdb)):
        plain = count(data, ["region"])  # type: ignore[operator]
        yield (
            f"{engine}: histogram of text of 20 values",
            domain_call(gm.Cells({"region": labels}), data),
            plain,
            COUNTS,
        )
        yield (
            f"{engine}: histogram of 20 values by request",
            release_call(data, histograms={"region": labels}),
            plain,
            COUNTS,
        )
        plain = count(data, names)  # type: ignore[operator]
        yield f"{engine}: one-way marginals", domain_call(gm.Cells(cells), data, answers=ways), plain, COUNTS
        asked = {"marginals": [[n] for n in names], "values": cells}
        yield f"{engine}: marginals by request", release_call(data, **asked), plain, COUNTS


def arrays(folder: Path) -> Iterator[Row]:
    """Arrays of the places of cells, beside `bincount`; the noise of a million cells is part of the release."""
    random = np.random.default_rng(9)
    for size in (1_000, 1_000_000):
        for kind in (np.int64, np.float64):
            array = random.integers(0, size, 2 * ROWS).astype(kind)
            plain = lambda a=array, n=size: np.bincount(a.astype(np.int64, copy=False), minlength=n)  # noqa: E731
            name = f"numpy, {np.dtype(kind)}: histogram of {size:,} cells"
            yield name, domain_call(gm.Cells(size=size), array), plain, COUNTS
            yield f"{name}, without noise", count_call(gm.Cells(size=size), array), plain, COUNTS


# ---- people and groups -----------------------------------------------------------------------------------------------


def people(folder: Path) -> Iterator[Row]:
    """Rows of people in declared groups, beside sums by person and group and then by group."""
    import duckdb

    random = np.random.default_rng(10)
    for groups in (100, 100_000):
        frame = pl.DataFrame(
            {
                "person": random.integers(0, PEOPLE, ROWS),
                "region": random.integers(0, groups, ROWS),
                "spent": random.gamma(2, 10, ROWS),
            }
        )
        connection = duckdb.connect()
        connection.register("frame", frame)
        connection.execute("create table t as select * from frame")
        table = connection.table("t")
        plain: dict[str, Call] = {
            "Polars": lambda f=frame: add_by_polars(f),
            "DuckDB": lambda t=table: add_by_duckdb(t),
        }
        alone: dict[str, Call] = {
            "Polars": lambda f=frame: (
                f.lazy().group_by("region").agg(pl.col("spent").sum()).collect(engine="streaming")
            ),
            "DuckDB": lambda t=table: t.aggregate("region, sum(spent)", "region").fetchall(),
        }
        by = {"region": list(range(groups))}
        asked: dict[str, Any] = {"sums": {"spent": (0, 200)}, "count": True, "missing": {"spent": 0}}
        for engine, data in (("Polars", frame), ("DuckDB", table)):
            call = release_call(data, unit="person", groups_per_unit=1, by=by, **asked)
            yield f"{engine}: people in {groups:,} groups", call, plain[engine], GROUPED
            yield f"{engine}: rows in {groups:,} groups", release_call(data, by=by, **asked), alone[engine], GROUPED
            if groups == 100:
                call = release_call(data, unit="person", **asked)
                yield f"{engine}: people", call, plain_people(data), GROUPED


def add_by_polars(frame: pl.DataFrame) -> object:
    by_person = frame.lazy().group_by("person", "region").agg(pl.col("spent").sum())
    return by_person.group_by("region").agg(pl.col("spent").sum()).collect(engine="streaming")


def add_by_duckdb(table: Any) -> object:
    by_person = table.aggregate("person, region, sum(spent) spent", "person, region")
    return by_person.aggregate("region, sum(spent)", "region").fetchall()


def plain_people(data: Any) -> Call:
    if isinstance(data, pl.DataFrame):
        by_person = data.lazy().group_by("person").agg(pl.col("spent").sum())
        return lambda: by_person.select(pl.col("spent").sum(), pl.len()).collect(engine="streaming")
    by = data.aggregate("person, sum(spent) spent", "person")
    return lambda: by.aggregate("sum(spent), count(*)").fetchall()


def main() -> int:
    parser = argparse.ArgumentParser(description="Tables, histograms, people and groups, beside plain work.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="words, one of which a name must hold")
    options = parser.parse_args()
    found = Findings("tables", f"Tables: {ROWS / 1e6:g} million rows")
    with tempfile.TemporaryDirectory() as name:
        for make in (duckdb_sums, histograms, arrays, people):
            for row in make(Path(name)):
                if not options.only or any(word in row[0] for word in options.only):
                    measure(found, *row, options.rounds)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())
