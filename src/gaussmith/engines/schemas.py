"""All files of a source looked at before anything is charged: their schemas, at their ends or beginnings, no values.

A truncated file is found here, and a column that is not the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from gaussmith.engines.addresses import without_secrets
from gaussmith.engines.failures import attempt
from gaussmith.engines.files import Files
from gaussmith.engines.partitions import check_keys
from gaussmith.errors import SourceError

MAX_FILES = 10_000
"""Limit on the files that are looked at before they are read."""

WORKERS = 8


def uneven_columns(files: Files) -> frozenset[str]:
    """The columns of the first file that some other lacks, holds in another type, or under other capital letters too.

    Refuses a file that is damaged, or that holds a column with the name of a partition's key. Of text formats only the
    names are compared; lines of JSON have names of their own, and stores are not looked into.
    """
    import polars as pl

    schemas: dict[str, Callable[[str], Mapping[str, Any]]] = {
        # Polars' own readers of schemas take a path for a pattern.
        "Parquet": lambda path: pl.scan_parquet(path, glob=False, hive_partitioning=False).collect_schema(),
        "Arrow IPC": lambda path: pl.scan_ipc(path, glob=False).collect_schema(),
        "CSV": lambda path: _header(replace(files, paths=(path,))),
        "TSV": lambda path: _header(replace(files, paths=(path,))),
    }
    look = schemas.get(files.format)
    if look is None or files.remote or (len(files.paths) == 1 and not files.keys):
        return frozenset()

    def read(path: str) -> Mapping[str, Any]:
        which = f"{without_secrets(path)!r}, one of its {len(files.paths)} files,"
        which = "one of its files" if files.keys else which  # names of folders are data
        what = f"source={files.said!r}: {which} cannot be opened"
        rule = "the beginning or end of each file is checked before anything is charged"
        problem = SourceError(
            f"{what} as {files.format}",
            rule,
            "check this file, or narrow the pattern",
            code="one-file-damaged",
            format=files.format,
        )
        schema = attempt(lambda: look(path), problem)
        check_keys(files, schema)
        return schema

    first, uneven = read(files.paths[0]), set()
    with ThreadPoolExecutor(WORKERS) as pool:
        for schema in pool.map(read, files.paths[1:MAX_FILES]):
            if schema != first:
                uneven |= {name for name, kind in first.items() if name not in schema or schema[name] != kind}
                written = {name.lower(): name for name in schema if name not in first}  # to some engines one name
                uneven |= {name for name in first if name.lower() in written}
    return frozenset(uneven)


def _header(files: Files) -> dict[str, None]:
    from gaussmith.engines.text_files import names_of

    return dict.fromkeys(names_of(files))
