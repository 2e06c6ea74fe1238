"""Large tables of people and keys, and what it takes to find the keys in them: each figure from a fresh process.

    python tables.py TABLE ENGINE WHAT

WHAT is "keys" or "people": the engine's plain count of rows by key, or of people by key; or "rows" or a number m: a
release of found keys where a row is a person, or people are in at most m groups. With "forced" after it the noise is
nothing, and what is told is a digest of all that is released.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

PLAIN = ("keys", "people")
SLICE = 1_000_000


def make_table(file: Path, rows: int, keys: int, seed: str) -> None:
    """Rows of people, 8 each on average: three in ten have one of 1000 common keys, the others any of `keys`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(int(seed, 16))
    schema = pa.schema({"person": pa.int64(), "key": pa.string()})
    with pq.ParquetWriter(file, schema) as writer:
        for start in range(0, rows, SLICE):
            size = min(SLICE, rows - start)
            common = random.zipf(1.2, size) % 1000
            key = np.where(random.random(size) < 0.3, common, random.integers(0, keys, size))
            person = random.integers(0, rows // 8, size)
            text = pl.select(pl.format("k{}", pl.Series(key))).to_series().to_arrow().cast(pa.string())
            writer.write_table(pa.table([pa.array(person), text], schema=schema))


def measure(file: Path, engine: str, *what: str) -> dict[str, Any]:
    """What a fresh process found: seconds, seconds of processors, megabytes at most, and the number of keys."""
    done = subprocess.run(
        [sys.executable, __file__, str(file), engine, *what], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def count_plainly(file: str, engine: str, what: str) -> int:
    """The number of keys, after all rows, or people, have been counted by key."""
    if engine == "polars":
        lazy = pl.scan_parquet(file)
        if what == "people":
            lazy = lazy.group_by("person", "key").agg(pl.len())
        return lazy.group_by("key").agg(pl.len()).collect(engine="streaming").height
    import duckdb

    rows = f"'{file}'"
    if what == "people":
        rows = f"(select person, key, count(*) from {rows} group by person, key)"
    (found,) = duckdb.sql(f"select count(*) from (select key, count(*) from {rows} group by key)").fetchall()[0]
    return int(found)


def release(file: str, engine: str, what: str, forced: bool) -> Any:
    import gaussmith as gm
    from gaussmith import mechanism

    people: dict[str, Any] = {} if what == "rows" else {"unit": "person", "groups_per_unit": int(what)}
    guarantee = gm.Guarantee(epsilon=1, delta=1e-5)
    request = gm.Request(file, by={"key": "found"}, count=True, guarantee=guarantee, **people)
    if forced:
        mechanism.normal_integers = lambda size, bits: np.zeros(size, np.int64)  # type: ignore[attr-defined]
    found = gm.release(request, engine=engine, master="local[2]" if engine == "spark" else None)
    if not forced:
        return len(found.labels)
    told = [found.labels, found.values.tolist(), np.asarray(found.intervals()).tolist()]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def main(file: str, engine: str, what: str, *more: str) -> None:
    start, before = time.perf_counter(), time.process_time()
    found = count_plainly(file, engine, what) if what in PLAIN else release(file, engine, what, "forced" in more)
    print(
        json.dumps(
            {
                "found": found,
                "seconds": round(time.perf_counter() - start, 2),
                "processor": round(time.process_time() - before, 2),
                "megabytes": _peak(),
            }
        )
    )


def _peak() -> int:
    """The most memory of this process, in megabytes; not what it was forked from had."""
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text("utf-8").splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform != "darwin" else 1 << 20)


if __name__ == "__main__":
    main(*sys.argv[1:])
