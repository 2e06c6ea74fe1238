"""Rehearsals: what a release will ask of its engine, run once on a table without rows, before the charge.

A call that this version of an engine does not know fails here, where nothing has been read and nothing is spent.
Spark is not rehearsed, for each of its queries takes a second or more: its version alone is checked.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from gaussmith.errors import internal_error
from gaussmith.sums.databases import quote
from gaussmith.sums.failures import attempt
from gaussmith.sums.features import RowCount, Units
from gaussmith.sums.files import Files, scan_files
from gaussmith.sums.forms import Opened, total_form
from gaussmith.sums.readings import Table, total_table
from gaussmith.sums.sources import Source

SAMPLES = {"CSV": ("a.csv", "a,b\n1,2\n"), "TSV": ("a.tsv", "a\tb\n1\t2\n"), "JSON lines": ("a.ndjson", '{"a": 1}\n')}
"""A file of one record for each format that is read by rules of ours; its column a holds the text 1."""


def rehearse_table(table: Table) -> None:
    """Add up a table without rows, as `total_table` will the real one. Reads no data."""
    units = table.units if table.units is None or table.is_streamed else _one_of_each(table.units, table.source)
    _rehearse(table.source, lambda source: total_table(replace(table, source=source, units=units)))


def _one_of_each(units: Units, source: Source) -> Units:
    """The units with one feature of each kind and type of column: more of the same would be asked in the same way."""
    kinds = {(type(f), None if isinstance(f, RowCount) else source.schema.get(f.column)): f for f in units.features}
    return replace(units, features=tuple(kinds.values()))


def rehearse_form(opened: Opened) -> None:
    """Add up a form without rows, as `total_form` will the real one. Reads no data."""
    _rehearse(opened.source, lambda source: total_form(replace(opened, source=source)))


def _rehearse(source: Source, add_up: Callable[[Source], object]) -> None:
    if source.kind in ("array", "spark"):
        return
    problem = internal_error("nothing was charged")
    if source.files is not None and source.files.format in SAMPLES:
        sample = source.files.format
        if not attempt(lambda: reads_sample(sample), problem):
            raise problem
    attempt(lambda: add_up(without_rows(source)), problem)


def without_rows(source: Source) -> Source:
    """A source with the same columns and no rows. The rows of the given one are not touched.

    >>> import polars as pl
    >>> from gaussmith.sums import open_source
    >>> source = without_rows(open_source(pl.DataFrame({"age": [36, 17], "name": ["Ada", "Bob"]})))
    >>> source.native(()).collect().shape
    (0, 2)
    """
    if source.kind == "duckdb":
        return replace(source, native=_empty_relation(source.native))
    import polars as pl

    schema = {name: _polars_type(dtype) for name, dtype in source.schema.items()}
    empty = pl.LazyFrame(schema=schema)
    return replace(source, native=lambda columns: empty, files=None, once=False)


def _empty_relation(relation: Any) -> Any:
    """A relation of its own, so that what the given one is made of cannot fail here."""
    import duckdb

    columns = zip(relation.columns, relation.types, strict=True)
    nulls = ", ".join(f"cast(null as {kind}) as {quote(name)}" for name, kind in columns)
    try:
        return duckdb.connect().sql(f"select {nulls} limit 0")
    except duckdb.Error:  # a type of an extension, known to the connection of the relation alone
        return relation.limit(0)


def _polars_type(dtype: Any) -> Any:
    """The type of a column in Polars; what has none there is never added up, and may be text."""
    import narwhals as nw
    import polars as pl

    if isinstance(dtype, (nw.Object, nw.Unknown)):
        return pl.String
    return nw.Schema({"": dtype}).to_polars()[""]


@cache
def reads_sample(format: str) -> bool:
    """Whether this version of Polars reads a text file of ours as it should."""
    name, text = SAMPLES[format]
    with tempfile.TemporaryDirectory(prefix="gaussmith-") as folder:
        path = Path(folder) / name
        path.write_text(text, "utf-8")
        frame = scan_files(Files(name, format, (str(path),)), ["a"]).select("a").collect(engine="streaming")
    return frame.to_dict(as_series=False) == {"a": ["1"]}
