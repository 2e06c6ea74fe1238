"""CSV, TSV and JSON lines: which reader takes which file, and columns as text or, where that is quicker, as doubles.

    scan_texts       every column as text, as a lazy frame
    scan_numbers     the same, but doubles in columns that are read as numbers and nothing else
    number_batches   doubles in all columns, in batches for the kernels

Files on this machine are read in blocks of lines, by `csv_numbers` and `json_lines`. Compressed ones, those of a store
and those with quoted line breaks are scanned by Polars; those with quotes in odd places are split line by line.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from gaussmith.engines.csv_files import (
    Look,
    header_of,
    look_at_file,
    scan_line_by_line,
    scan_lines,
    scan_well_formed,
)
from gaussmith.engines.csv_numbers import read_csv_columns, read_quickly
from gaussmith.engines.json_lines import read_objects, scan_objects
from gaussmith.engines.text_blocks import PACKED
from gaussmith.engines.versions import collect_batches

if typing.TYPE_CHECKING:
    import polars as pl

    from gaussmith.engines.files import Files

Reader = Callable[[Sequence[str], Collection[str]], Iterator["pl.DataFrame"]]
"""What reads columns in batches, as doubles x0, x1 … or as text."""


def scan_texts(files: Files, names: Sequence[str] | None) -> pl.LazyFrame:
    """A lazy frame over the files, every column as text."""
    if files.format == "JSON lines":
        return scan_objects(scan_lines(files.paths, files.remote), names or ())
    return _scan_separated(files, names if names is not None else names_of(files))


def _is_native(files: Files, look: Look) -> bool:
    """Whether Polars reads a file of these."""
    return look.well_formed and not (files.line_per_record and look.spans_lines)


def _scan_separated(files: Files, names: Sequence[str], looks: Mapping[str, Look] | None = None) -> pl.LazyFrame:
    """CSV or TSV files: those in which every quote is in its place together, each of the others line by line."""
    import polars as pl

    separator = _separator(files)
    looks = looks or {path: look_at_file(path, separator, files.remote) for path in files.paths}

    def scan(paths: Sequence[str]) -> pl.LazyFrame:
        if _is_native(files, looks[paths[0]]):
            return scan_well_formed(paths, separator, files.remote, any(looks[path].replaced for path in paths))
        header = header_of(paths[0], separator, files.remote, files.line_per_record)
        return scan_line_by_line(paths[0], separator, files.remote, header, names or header.names)

    alone = [path for path in files.paths if not names or not _is_native(files, looks[path])]
    together = [path for path in files.paths if path not in set(alone)]
    scans = [scan(paths) for paths in ([together] if together else []) + [[path] for path in alone]]
    # Without names only the number of records is read.
    chosen = [each.select(*names) if names else each.select(pl.first().is_null().alias("")) for each in scans]
    return chosen[0] if len(chosen) == 1 else pl.concat(chosen)


def number_batches(files: Files, names: Sequence[str]) -> Iterator[pl.DataFrame | pl.LazyFrame]:
    """Columns of text files file by file: as doubles where they can be parsed at once, else scanned as text."""
    for path in files.paths:
        read = _reader(files, path)
        if read is not None:
            yield from read(names, ())
        elif path.lower().endswith(PACKED) and files.format != "JSON lines" and not files.remote:
            yield from _packed_batches(replace(files, paths=(path,)), names)
        else:
            yield scan_texts(replace(files, paths=(path,)), names)


def _packed_batches(files: Files, names: Sequence[str]) -> Iterator[pl.DataFrame | pl.LazyFrame]:
    """Columns of one compressed file: as doubles up to the first batch in which Polars could not parse a number.

    From there on as text. Both scans have the same rows in the same order: they differ in types alone.
    """
    import polars as pl

    separator, wanted = _separator(files), list(dict.fromkeys(names))
    (path,) = files.paths
    look = look_at_file(path, separator, remote=False)
    texts = _scan_separated(files, wanted, {path: look})
    if not _is_native(files, look):
        yield texts
        return
    numbers = scan_well_formed([path], separator, False, look.replaced, wanted)
    chosen = numbers.select(pl.col(name).alias(f"x{j}") for j, name in enumerate(names))
    done = 0
    for batch in collect_batches(chosen, ordered=True):
        if any(column.null_count() for column in batch):
            yield texts.slice(done)
            return
        done += batch.height
        yield batch


def scan_numbers(files: Files, names: Sequence[str], numbers: Collection[str]) -> pl.LazyFrame:
    """A lazy frame over text files as `scan_texts` gives it, but with doubles in some columns."""
    import polars as pl

    scans = []
    for path in files.paths:
        read = _reader(files, path)
        if read is not None:
            scans.append(_scan_blocks(read, names, numbers))
            continue
        texts = (pl.col(name) for name in names if name in numbers)
        made = (text.map_batches(read_quickly, return_dtype=pl.Float64, is_elementwise=True) for text in texts)
        scans.append(scan_texts(replace(files, paths=(path,)), names).with_columns(*made))
    return scans[0] if len(scans) == 1 else pl.concat(scans)


def _reader(files: Files, path: str) -> Reader | None:
    """What reads a text file in blocks; None for one that only the engine can read."""
    if files.remote or path.lower().endswith(PACKED):
        return None
    if files.format == "JSON lines":
        return lambda names, texts: read_objects(path, names, texts)
    separator = _separator(files)
    look = look_at_file(path, separator, remote=False)
    if not look.well_formed or look.spans_lines:
        return None
    header = header_of(path, separator, False, files.line_per_record)
    return lambda names, texts: read_csv_columns(path, separator, header, names, texts)


def _scan_blocks(read: Reader, names: Sequence[str], numbers: Collection[str]) -> pl.LazyFrame:
    """A lazy frame over the blocks of a file."""
    import polars as pl
    from polars.io.plugins import register_io_source

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(names) if columns is None else columns
        for batch in read(wanted, [name for name in wanted if name not in numbers]):
            batch.columns = wanted
            yield batch if predicate is None else batch.filter(predicate)

    schema = {name: pl.Float64 if name in numbers else pl.String for name in names}
    return register_io_source(batches, schema=schema)


def names_of(files: Files) -> tuple[str, ...]:
    """The names in the header of the first CSV or TSV file, as written."""
    return header_of(files.paths[0], _separator(files), files.remote, files.line_per_record).names


def _separator(files: Files) -> str:
    return "\t" if files.format == "TSV" else ","
