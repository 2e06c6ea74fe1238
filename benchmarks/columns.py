"""Claims: a release costs barely more than the plain sum, whatever the type of its columns and wherever they are.

Sums of numbers of every type from Parquet beside Polars' plain sum of the same columns, and from memory beside a clip
and a sum. Calls take turns; the ratio is that of processor seconds, which other work on the machine hardly touches,
best of the rounds; elapsed seconds stand beside. Every guard is on: missing values, clamping, integers of any size.

    ./run bench columns
    ./run python benchmarks/columns.py --rows 1000000 --only int8 bool
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

COLUMNS = 8
NAMES = [f"x{j}" for j in range(COLUMNS)]
CLAIMS = {
    "float64": 1.35, "float32": 1.6, "int64": 1.6, "int32": 1.6, "int16": 1.6, "int8": 1.6, "uint8": 1.6, "bool": 2.5,
    "decimal": 1.7, "mixed with nulls": 1.6, "Arrow file": 1.6,
}  # fmt: skip
IN_MEMORY = 1.1

Call = Callable[[], object]


def make_columns(kind: str, rows: int) -> pl.DataFrame:
    """Columns of one type, about a fifth of their values outside the bounds 0 to 100."""
    random = np.random.default_rng(7)
    types: dict[str, Any] = {
        "float64": pl.Float64, "float32": pl.Float32, "int64": pl.Int64, "int32": pl.Int32, "int16": pl.Int16,
        "int8": pl.Int8, "uint8": pl.UInt8, "decimal": pl.Decimal(12, 2),
    }  # fmt: skip
    found = {}
    for j, name in enumerate(NAMES):
        if kind == "bool":
            found[name] = pl.Series(random.random(rows) < 0.3)
            continue
        values = random.normal(50, 40, rows)
        own = [pl.Float64, pl.Int64, pl.Float32, pl.Int16][j % 4] if kind == "mixed with nulls" else types[kind]
        if own.is_integer():
            values = np.clip(values.round(), 0 if own.is_unsigned_integer() else -100, 120)
        column = pl.Series(values.round(2) if own.is_decimal() else values).cast(own)
        if kind == "mixed with nulls":
            column = column.set(pl.Series(random.random(rows) < 0.05), None)
        found[name] = column
    return pl.DataFrame(found)


def release_call(source: Any, **asked: Any) -> Call:
    """A release that was planned before, from opening the source on."""
    asked = asked or {"sums": dict.fromkeys(NAMES, (0, 100)), "missing": dict.fromkeys(NAMES, 0)}
    request = gm.Request(source, guarantee=gm.Guarantee(mu=1), **asked)
    return lambda: mechanism.release(mechanism.prepare_request(request.plan, source))


def from_files(folder: Path, rows: int, only: set[str]) -> Iterator[tuple[str, Call, Call]]:
    for kind in CLAIMS:
        if only and kind not in only:
            continue
        if kind == "Arrow file":
            path = folder / "x.arrow"
            make_columns("float64", rows).write_ipc(path)
            yield kind, release_call(str(path)), lambda p=path: _collect(pl.scan_ipc(p).select(pl.col(NAMES).sum()))
            continue
        path = folder / f"{kind}.parquet"
        make_columns(kind, rows).write_parquet(path, compression="zstd", row_group_size=1 << 18)
        bounds = (0, 1) if kind == "bool" else (0, 100)
        asked = {"sums": dict.fromkeys(NAMES, bounds), "missing": dict.fromkeys(NAMES, 0)}
        plain = lambda p=path: _collect(pl.scan_parquet(p).select(pl.col(NAMES).sum()))  # noqa: E731
        yield kind, release_call(str(path), **asked), plain


def _collect(lazy: pl.LazyFrame) -> object:
    return lazy.collect(engine="streaming")


def from_memory(rows: int, only: set[str]) -> Iterator[tuple[str, Call, Call]]:
    """Frames in memory, beside what each would do itself: clip and add up."""
    frame = make_columns("float64", rows)
    clipped = frame.lazy().select(pl.col(NAMES).clip(0, 100).sum())
    makers: dict[str, Callable[[], tuple[Any, Call]]] = {
        "Polars frame": lambda: (frame, lambda: _collect(clipped)),
        "pandas frame": lambda: _of_pandas(frame),
        "Arrow table": lambda: _of_arrow(frame),
        "numpy array": lambda: _of_numpy(frame),
    }
    for name, make in makers.items():
        if not only or name in only:
            source, plain = make()
            if name == "numpy array":
                plan = gm.plan(gm.Box(dict.fromkeys(NAMES, (0, 100))), gm.Guarantee(mu=1))
                yield name, lambda s=source, p=plan: p.release(s), plain
            else:
                yield name, release_call(source), plain


def _of_pandas(frame: pl.DataFrame) -> tuple[Any, Call]:
    pandas = frame.to_pandas()
    return pandas, lambda: pandas[NAMES].clip(0, 100).sum()


def _of_arrow(frame: pl.DataFrame) -> tuple[Any, Call]:
    import pyarrow.compute as pc

    table = frame.to_arrow()

    def plain() -> object:
        return [pc.sum(pc.max_element_wise(pc.min_element_wise(table[name], 100.0), 0.0)) for name in NAMES]

    return table, plain


def _of_numpy(frame: pl.DataFrame) -> tuple[Any, Call]:
    array = np.ascontiguousarray(frame.to_numpy())
    return array, lambda: np.clip(array, 0, 100).sum(axis=0)


def main() -> int:
    parser = argparse.ArgumentParser(description="Releases from columns of every type, beside plain sums.")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    found = Findings("columns", f"Types of columns: {options.rows / 1e6:g} million × {COLUMNS}")
    only = set(options.only)
    with tempfile.TemporaryDirectory() as name:
        for kind, ours, plain in from_files(Path(name), options.rows, only):
            measure(found, f"Parquet, {kind}" if kind in CLAIMS else kind, ours, plain, CLAIMS[kind], options.rounds)
        for kind, ours, plain in from_memory(options.rows, only):
            measure(found, kind, ours, plain, IN_MEMORY, options.rounds)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())
