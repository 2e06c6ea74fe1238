"""A rehearsal: what a release will ask of its engine, run once on a table without rows, before the charge.

A call that this version of an engine does not know fails here, where nothing has been read and nothing is spent.
Spark is not rehearsed, for each of its queries takes a second or more: its version alone is checked.
What Polars or DuckDB has passed once, for the same codes, row rule and columns, is not asked again.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from pathlib import Path
from weakref import WeakKeyDictionary

from gaussmith.engines.failures import attempt
from gaussmith.engines.files import Files, scan_files
from gaussmith.errors import internal_error
from gaussmith.problem.codes import Codes
from gaussmith.totals.opened import Opened

SAMPLES = {"CSV": ("a.csv", "a,b\n1,2\n"), "TSV": ("a.tsv", "a\tb\n1\t2\n"), "JSON lines": ("a.ndjson", '{"a": 1}\n')}
"""A file of one record for each format that is read by rules of ours; its column a holds the text 1."""

REMEMBERED = ("polars", "duckdb")
"""Engines that are decided by the types of columns: what they have passed once they pass again."""

_passed: WeakKeyDictionary[Codes, set[Hashable]] = WeakKeyDictionary()


def rehearse(opened: Opened) -> None:
    """Add up a source without rows, as `total` will the real one. Reads no data."""
    source = opened.source
    written = source.files and source.files.format
    types = tuple(map(str, source.native.types)) if source.engine.name == "duckdb" else ()  # it has more than narwhals
    key = (opened.rule, tuple(source.schema.items()), types, source.texts, source.objects, written)
    passed = _passed.setdefault(opened.codes, set()) if source.engine.name in REMEMBERED else None
    if passed is not None and key in passed:
        return
    problem = internal_error("nothing was charged")
    if source.files is not None and source.files.format in SAMPLES:
        sample = source.files.format
        if not attempt(lambda: reads_sample(sample), problem):
            raise problem
    empty = attempt(lambda: source.engine.without_rows(source), problem)
    if empty is not None:
        attempt(lambda: opened.summation.rehearsed(source).total(empty, opened.codes, None), problem)
    if passed is not None:
        passed.add(key)


@cache
def reads_sample(format: str) -> bool:
    """Whether this version of Polars reads a text file of ours as it should."""
    import tempfile

    name, text = SAMPLES[format]
    with tempfile.TemporaryDirectory(prefix="gaussmith-") as folder:
        path = Path(folder) / name
        path.write_text(text, "utf-8")
        frame = scan_files(Files(name, format, (str(path),)), ["a"]).select("a").collect(engine="streaming")
    return frame.to_dict(as_series=False) == {"a": ["1"]}
