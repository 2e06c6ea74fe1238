"""Paths, globs, directories and addresses of data files, opened without reading a data value and scanned by Polars.

Parquet, Arrow IPC (Feather), CSV, TSV, JSON lines. No type is inferred from data: the columns of text formats are text,
and `gaussmith.expressions.read_number` says which text is a number; all other text is missing. A line of a CSV file
after its header is a record, however ragged, unless it goes on in quotes (see `quotes`). A line of JSON that is not
blank is a record; where it is no JSON object everything is missing in it. The names of its columns are the keys of the
first line.

Directories named key=value below a directory or below the fixed part of a pattern are columns of text (see
`partitions`). Each file is read once, whatever links lead to it.
"""

from __future__ import annotations

import glob
import os
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gaussmith.addresses import STORES, fixed_part, scheme_of, without_secrets
from gaussmith.errors import SourceError, nearest
from gaussmith.sums.partitions import PATH, Values, attach_values, read_folders
from gaussmith.sums.quotes import check_quotes
from gaussmith.sums.table_formats import check_plain

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

LONGEST_HEADER = 64
"""Lines that the header of a text file spans, at most: names of columns may hold line breaks in quotes."""


@dataclass(frozen=True)
class Files:
    """Files of one format: what a path, a glob, a directory or an address stands for."""

    said: str
    format: str
    paths: tuple[str, ...] = field(repr=False)
    root: str = ""
    """Where partitions begin: a directory, or the part of a pattern before its first wildcard."""
    keys: tuple[str, ...] = ()
    """The columns that names of directories hold."""
    values: Mapping[str, Values] = field(default_factory=dict, repr=False)
    """For each path the values of these columns, where there are any (see `partitions`)."""
    remote: bool = False
    """Whether paths are addresses of a store, which the engine opens."""
    is_listed: bool = False
    """Whether an engine has listed a store; until then the only address is a pattern or a folder."""

    @property
    def is_unknown(self) -> bool:
        """Whether these are Parquet files of a store that was not yet listed: their folders may hold columns."""
        return self.remote and not self.is_listed and self.format == "Parquet"

    @property
    def is_text(self) -> bool:
        """Whether numbers arrive as text."""
        return self.format in ("CSV", "TSV", "JSON lines")

    @property
    def sizes(self) -> list[int]:
        """Bytes of each file."""
        return [os.path.getsize(path) for path in self.paths]


def find_files(source: str | os.PathLike[str]) -> Files:
    """The files a path, a glob, a directory or an address stands for; refuses what is not there or not known."""
    said = os.fspath(source)
    scheme = scheme_of(said)
    if scheme == "file":
        said, scheme = unquote(urlsplit(said).path), None
    if scheme is not None:
        return _find_elsewhere(said, scheme)
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
    root = os.path.dirname(path) if paths == [path] else fixed_part(path)
    return _located(Files(said, formats.pop(), tuple(paths), root), has_folders=paths != [path])


def _find_elsewhere(address: str, scheme: str) -> Files:
    """An address, for the engine to open: nothing is looked at here."""
    said = without_secrets(address)
    if scheme not in STORES:
        raise SourceError(
            f"source={said!r}",
            f"addresses begin with duckdb, file or a store: {', '.join(STORES)}",
            nearest(scheme, (*STORES, "duckdb", "file")),
        )
    is_directory = "." not in said.rstrip("/").rsplit("/", 1)[-1]
    if is_directory:  # engines take an address without a last stroke for that of a file
        return Files(said, "Parquet", (address.rstrip("/") + "/",), said.rstrip("/"), remote=True)
    root = fixed_part(said) if glob.has_magic(said) else ""
    return Files(said, _format_of(said, said), (address,), root, remote=True)


def _find_in_directory(said: str, path: str) -> Files:
    found = sorted(p for p in Path(path).rglob("*") if p.suffix.lower() in (".parquet", ".pq") and p.is_file())
    # Writers leave unfinished and hidden files under names that begin with _ or a dot.
    kept = [str(p) for p in found if not any(part[0] in "_." for part in p.relative_to(path).parts)]
    if not kept:
        raise SourceError(
            f"source={said!r}",
            "a directory must hold Parquet files",
            "for another format give a pattern, for example 'visits/*.csv'",
        )
    return _located(Files(said, "Parquet", tuple(kept), path), has_folders=True)


def _located(files: Files, has_folders: bool) -> Files:
    """The files, each of them once, with the values of their folders if these hold columns."""
    files = _readable(files)
    names = _once(list(files.paths), files.root)
    files = replace(files, paths=tuple(names))
    if files.format != "Parquet":
        return files
    check_plain(files.said, files.paths, files.root)
    return read_folders(files, names) if has_folders else files


def _once(paths: list[str], root: str) -> dict[str, list[str]]:
    """Each file under the first of its names, with all that say in which folders it lies.

    Patterns such as **/** find a file repeatedly, and so do symbolic and hard links: its records would count as often,
    and the noise covers one. A symbolic link says nothing about folders where the file itself was found too.
    """
    found: dict[object, list[str]] = {}
    for path in paths:
        facts = os.stat(path)
        found.setdefault((facts.st_dev, facts.st_ino) if facts.st_ino else os.path.realpath(path), []).append(path)
    top = os.path.realpath(root or ".")

    def is_itself(path: str) -> bool:
        return os.path.realpath(path) == os.path.normpath(os.path.join(top, os.path.relpath(path, root or ".")))

    return {
        names[0]: names if len(names) == 1 else [name for name in names if is_itself(name)] or names
        for names in found.values()
    }


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
        if not path.isascii() and path.encode(errors="replace").decode() != path:
            raise SourceError(
                f"source={files.said!r}: the name of a file or directory",
                "it must be valid UTF-8",
                "rename it, or narrow the pattern",
            )
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
    """A lazy frame over the files, text formats as text. JSON lines need the `names` of the columns to be read.

    Partitions that are not among `names` are left out.

    CSV files are read through at once for quotes that stand astray: not before anything is charged.
    """
    import polars as pl

    paths = list(files.paths)
    if files.format == "Parquet":
        return _scan_parquet(files, names)
    if files.format == "Arrow IPC":
        return pl.scan_ipc(paths, glob=files.remote)
    if files.format == "JSON lines":
        return _scan_objects(files, names if names is not None else names_of(files))
    for path in paths:
        check_quotes(_scan_raw(replace(files, paths=(path,))), _separator(files))
    # Only the first header is looked at now; later files are matched by name when they are read.
    return _scan_separated(files, _separator(files), extra_columns="ignore", infer_schema_files=1)


def _scan_parquet(files: Files, names: Sequence[str] | None) -> pl.LazyFrame:
    """Folders are no columns for Polars: their values are attached here, where they are asked for."""
    import polars as pl

    wanted = bool(files.keys) and (names is None or not set(files.keys).isdisjoint(names))
    lazy = pl.scan_parquet(
        list(files.paths),
        hive_partitioning=False,
        glob=files.remote and not files.is_listed,
        extra_columns="ignore",
        include_file_paths=PATH if wanted else None,
    )
    return attach_values(lazy, files) if wanted else lazy


def names_of(files: Files) -> list[str]:
    """Column names of the first text file as written: its header, or the keys of the first line of JSON.

    No line after them is looked at, so that no data row can make this fail.
    """
    import msgspec
    import polars as pl

    first = replace(files, paths=files.paths[:1])
    if files.format == "JSON lines":
        lines = _scan_lines(files).head(1).collect().to_series().to_list()  # the first file may be empty
        return list(msgspec.json.decode(lines[0], type=dict[str, msgspec.Raw]))
    header = pl.read_csv(_header_of(first).encode(), separator=_separator(files), infer_schema=False, has_header=False)
    return ["" if name is None else str(name) for name in header.row(0)]


def _header_of(files: Files) -> str:
    """The first line that is not empty, with those that a quoted name in it goes on in."""
    header = ""
    for count in range(1, LONGEST_HEADER + 1):
        lines = _scan_raw(files).head(count).collect().to_series()
        header = "\n".join(lines.fill_null("")).lstrip("\n")
        if header and header.count('"') % 2 == 0:
            break
    return header


def _separator(files: Files) -> str:
    return "\t" if files.format == "TSV" else ","


def _scan_separated(files: Files, separator: str, **options: typing.Any) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_csv(
        list(files.paths),
        separator=separator,
        infer_schema=False,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        glob=files.remote,
        **options,
    )


def _scan_lines(files: Files) -> pl.LazyFrame:
    """Lines of text that are not blank, one column named `line`."""
    import polars as pl

    return _scan_raw(files).filter(pl.col("line").str.contains(r"[^ \t\r]"))


def _scan_raw(files: Files) -> pl.LazyFrame:
    """All lines of text, one column named `line`. No separator splits them: there is no line break in a line."""
    import polars as pl

    return _scan_separated(files, "\n", has_header=False, quote_char=None, schema={"line": pl.String})


def _scan_objects(files: Files, names: Sequence[str]) -> pl.LazyFrame:
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
    return _scan_lines(files).select(objects).unnest("line")


def _text(token: msgspec.Raw | None) -> str | None:
    """A JSON token as text: null is missing, strings lose their quotes, everything else stays as written."""
    import msgspec

    raw = b"null" if token is None else bytes(token)
    if raw[0] == 0x22:
        return str(msgspec.json.decode(raw))
    return None if raw == b"null" else raw.decode()
