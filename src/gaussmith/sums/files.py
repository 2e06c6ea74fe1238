"""Paths, globs and directories of data files, opened without reading a data value and scanned by Polars in a stream.

Parquet, Arrow IPC (Feather), CSV, TSV, JSON lines. No type is inferred from data: the columns of text formats are text,
and `gaussmith.expressions.read_number` says which text is a number; all other text is missing. A line of a CSV file
after its header is a record, however ragged. A line of JSON that is not blank is a record; where it is no JSON object
everything is missing in it. The names of its columns are the keys of the first line.
"""

from __future__ import annotations

import glob
import os
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gaussmith.errors import SourceError

if typing.TYPE_CHECKING:
    import msgspec
    import polars as pl

FORMATS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".csv": "CSV",
    ".tsv": "TSV",
    ".ndjson": "JSON lines",
    ".jsonl": "JSON lines",
    ".arrow": "Arrow IPC",
    ".ipc": "Arrow IPC",
    ".feather": "Arrow IPC",
}

PACKED = {".gz", ".zst"}
"""CSV, TSV and JSON lines may be compressed."""

GROUPS = 64
"""Many files are read in at most so many steps, so that progress in bytes can be told in between."""


@dataclass(frozen=True)
class Files:
    """Files of one format: what a path, a glob or a directory stands for."""

    said: str
    format: str
    paths: tuple[str, ...]
    partitioned: bool = False

    @property
    def is_text(self) -> bool:
        """Whether numbers arrive as text."""
        return self.format in ("CSV", "TSV", "JSON lines")

    @property
    def sizes(self) -> list[int]:
        """Bytes of each file."""
        return [os.path.getsize(path) for path in self.paths]


def find_files(source: str | os.PathLike[str]) -> Files:
    """The files a path, a glob or a directory stands for; refuses what is not there, not readable or not known."""
    said = os.fspath(source)
    if "://" in said:
        raise SourceError(
            f"source={said!r}",
            "a path must be on this machine",
            "open it with Polars and pass the frame: polars.scan_parquet(…)",
        )
    path = os.path.expanduser(said)
    if os.path.isdir(path):
        return _find_in_directory(said, path)
    paths = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    paths = [p for p in paths if not os.path.isdir(p)]
    if not paths:
        what = "no file matches this pattern" if glob.has_magic(path) else "there is no such file or directory"
        raise SourceError(f"source={said!r}", what, "check the path; relative paths start in the current directory")
    formats = {_format_of(said, p) for p in paths}
    if len(formats) > 1:
        raise SourceError(
            f"source={said!r} matches files of {' and '.join(sorted(formats))}",
            "one source has one format",
            "narrow the pattern, for example with a suffix: *.parquet",
        )
    return _readable(Files(said, formats.pop(), tuple(paths)))


def _find_in_directory(said: str, path: str) -> Files:
    found = sorted(p for suffix in (".parquet", ".pq") for p in Path(path).rglob(f"*{suffix}") if p.is_file())
    # Writers leave unfinished and hidden files under names that begin with _ or a dot.
    kept = [str(p) for p in found if not any(part[0] in "_." for part in p.relative_to(path).parts)]
    if not kept:
        raise SourceError(
            f"source={said!r}",
            "a directory must hold Parquet files",
            "for another format give a pattern, for example 'visits/*.csv'",
        )
    return _readable(Files(said, "Parquet", tuple(kept), partitioned=True))


def _format_of(said: str, path: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = bool(suffixes) and suffixes[-1] in PACKED
    if packed:
        suffixes.pop()
    known = FORMATS.get(suffixes[-1]) if suffixes else None
    if known is None or (packed and known in ("Parquet", "Arrow IPC")):
        raise SourceError(
            f"source={said!r} has an unknown suffix",
            f"a file's suffix tells its format: {', '.join(FORMATS)}; text formats also with .gz or .zst",
            "rename the file, or open it with Polars and pass the frame",
        )
    return known


def _readable(files: Files) -> Files:
    for path in files.paths:
        if not os.access(path, os.R_OK):
            raise SourceError(
                f"source={files.said!r}: {path!r} may not be read",
                "the file must be readable by the user who runs this",
                "change its permissions, or run as a user who may read it",
            )
    return files


def group_files(files: Files) -> Iterator[tuple[Files, float]]:
    """The files in at most 64 groups of neighbours, each with the fraction of all bytes read after it."""
    sizes = files.sizes
    whole, done, group = max(1, sum(sizes)), 0, []
    for path, size in zip(files.paths, sizes, strict=True):
        before, done = done, done + size
        group.append(path)
        if done * GROUPS // whole > before * GROUPS // whole or path == files.paths[-1]:
            yield replace(files, paths=tuple(group)), done / whole
            group = []


def scan_files(files: Files, names: Sequence[str] | None = None) -> pl.LazyFrame:
    """A lazy frame over the files, text formats as text. JSON lines need the `names` of the columns to be read."""
    import polars as pl

    paths = list(files.paths)
    if files.format == "Parquet":
        return pl.scan_parquet(paths, hive_partitioning=files.partitioned, glob=False, extra_columns="ignore")
    if files.format == "Arrow IPC":
        return pl.scan_ipc(paths, glob=False)
    if files.format == "JSON lines":
        return _scan_objects(paths, names if names is not None else names_of(files))
    # Only the first header is looked at now; later files are matched by name when they are read.
    return _scan_separated(paths, "\t" if files.format == "TSV" else ",", extra_columns="ignore", infer_schema_files=1)


def names_of(files: Files) -> list[str]:
    """Column names of the first text file as written: its header, or the keys of its first line of JSON."""
    import msgspec

    first = list(files.paths[:1])
    if files.format == "JSON lines":
        lines = _scan_lines(first).head(1).collect().to_series().to_list()
        return list(msgspec.json.decode(lines[0], type=dict[str, msgspec.Raw]))
    header = _scan_separated(first, "\t" if files.format == "TSV" else ",", has_header=False).head(1).collect()
    return ["" if name is None else str(name) for name in header.row(0)]


def _scan_separated(paths: list[str], separator: str, **options: typing.Any) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_csv(
        paths,
        separator=separator,
        infer_schema=False,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        glob=False,
        **options,
    )


def _scan_lines(paths: list[str]) -> pl.LazyFrame:
    """Lines of text that are not blank, one column named `line`. No separator splits them: \\x01 is not legal JSON."""
    import polars as pl

    lines = _scan_separated(paths, "\x01", has_header=False, quote_char=None, new_columns=["line"])
    return lines.filter(pl.col("line").str.contains(r"[^ \t\r]"))


def _scan_objects(paths: list[str], names: Sequence[str]) -> pl.LazyFrame:
    """Named members of JSON objects, one per line, as text: numbers as they are written, strings without quotes.

    Read here and not by the engine, whose own readers raise on odd lines, round some numbers twice, or print them.
    """
    import msgspec
    import polars as pl

    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    nothing: dict[str, msgspec.Raw] = {}

    def read(line: str) -> dict[str, msgspec.Raw]:
        try:
            return decode(line)
        except (msgspec.MsgspecError, RecursionError):
            return nothing

    def parse(lines: pl.Series) -> pl.Series:
        rows = [read(line) for line in lines]
        columns = {name: pl.Series([_text(row.get(name)) for row in rows], dtype=pl.String) for name in names}
        return pl.DataFrame(columns).to_struct(lines.name)

    kind = pl.Struct(dict.fromkeys(names, pl.String))
    objects = pl.col("line").map_batches(parse, return_dtype=kind, is_elementwise=True)
    return _scan_lines(paths).select(objects).unnest("line")


def _text(token: msgspec.Raw | None) -> str | None:
    """A JSON token as text: null is missing, strings lose their quotes, everything else stays as written."""
    import msgspec

    raw = b"null" if token is None else bytes(token)
    if raw[0] == 0x22:
        return str(msgspec.json.decode(raw))
    return None if raw == b"null" else raw.decode()
