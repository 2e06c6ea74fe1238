"""Paths, globs, directories and addresses of data files, opened without reading a data value and scanned by Polars.

Parquet, Arrow IPC (Feather), CSV, TSV, JSON lines. No type is inferred from data: the columns of text formats are text,
and `gaussmith.expressions.read_number` says which text is a number; all other text is missing. A line of a CSV file
after its header is a record, however ragged, unless it goes on in quotes (see `separated`). A line of JSON that is not
blank is a record; where it is no JSON object everything is missing in it. Its columns are those that are asked for: a
key that a record lacks is a missing value.

Directories named key=value below a directory or below the fixed part of a pattern are columns of text (see
`partitions`). Each file is read once, whatever links lead to it.
"""

from __future__ import annotations

import glob
import os
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gaussmith.engines.addresses import STORES, fixed_part, location_of, nearest_file, scheme_of, without_secrets
from gaussmith.engines.arrow_tables import scan_feather
from gaussmith.engines.partitions import PATH, Values, attach_values, read_folders
from gaussmith.engines.table_formats import check_plain
from gaussmith.engines.text_blocks import PACKED
from gaussmith.errors import SourceError, nearest
from gaussmith.values import dataclass

if typing.TYPE_CHECKING:
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

GROUPS = 64
"""Limit on the steps in which many files are read, so that progress in bytes can be shown in between."""


@dataclass(frozen=True)
class Files:
    """Files of one format, from a path, a glob, a directory or an address."""

    said: str
    format: str
    paths: tuple[str, ...] = field(repr=False)
    root: str = field(default="", repr=False)
    """Where partitions begin: a directory, or the part of a pattern before its first wildcard."""
    keys: tuple[str, ...] = ()
    """The columns that names of directories hold."""
    values: Mapping[str, Values] = field(default_factory=dict, repr=False)
    """For each path the values of these columns, where there are any (see `partitions`)."""
    remote: bool = False
    """Whether paths are addresses of a store, which the engine opens."""
    is_listed: bool = False
    """Whether an engine has listed a store; until then the only address is a pattern or a folder."""
    line_per_record: bool = False
    """Whether each line of a CSV or TSV file is a record, whatever quotes it holds."""

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
    """The files of a path, a glob, a directory or an address; refuses missing files and unknown formats."""
    address = os.fspath(source)
    scheme = scheme_of(address)
    if scheme == "file":
        address, scheme = unquote(urlsplit(address).path), None
    if scheme is not None:
        return _find_elsewhere(address, scheme)
    said, path = without_secrets(address), os.path.expanduser(address)
    if os.path.isdir(path):
        return _find_in_directory(said, path)
    paths = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    paths = [p for p in paths if not os.path.isdir(p)]
    if not paths:
        what = "no file matches this pattern" if glob.has_magic(path) else "there is no such file or directory"
        remedy = nearest_file(address) or "check the path; relative paths start in the current directory"
        raise SourceError(f"source={said!r}", what, remedy, code="no-such-file", source=said)
    formats = {_format_of(said, p) for p in paths}
    if len(formats) > 1:
        raise SourceError(
            f"source={said!r} matches files of {' and '.join(sorted(formats))}",
            "a source has one format",
            "narrow the pattern, for example with a suffix: *.parquet",
            code="files-of-several-formats",
            formats=sorted(formats),
            source=said,
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
            code="unknown-address-scheme",
            source=said,
        )
    where = location_of(address)
    is_directory = "." not in where.rstrip("/").rsplit("/", 1)[-1]
    if is_directory:  # engines take an address without a last stroke for that of a file
        return Files(said, "Parquet", (address.rstrip("/") + "/",), where.rstrip("/"), remote=True)
    root = fixed_part(where) if glob.has_magic(where) else ""
    return Files(said, _format_of(said, where), (address,), root, remote=True)


def _find_in_directory(said: str, path: str) -> Files:
    found = sorted(p for p in Path(path).rglob("*") if p.suffix.lower() in (".parquet", ".pq") and p.is_file())
    # Writers leave unfinished and hidden files under names that begin with _ or a dot.
    kept = [str(p) for p in found if not any(part[0] in "_." for part in p.relative_to(path).parts)]
    if not kept:
        raise SourceError(
            f"source={said!r}",
            "a directory must hold Parquet files",
            "for another format give a pattern, for example 'visits/*.csv'",
            code="folder-without-parquet",
            source=said,
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
            f"a file's suffix gives its format: {', '.join(FORMATS)}; text formats also with .gz or .zst",
            "rename the file, or open it with Polars and pass the frame",
            code="unknown-file-suffix",
            source=said,
        )
    return known


def _readable(files: Files) -> Files:
    for path in files.paths:
        if not path.isascii() and path.encode(errors="replace").decode() != path:
            raise SourceError(
                f"source={files.said!r}: the name of a file or directory",
                "it must be valid UTF-8",
                "rename it, or narrow the pattern",
                code="file-name-not-utf8",
                source=files.said,
            )
        if not os.access(path, os.R_OK):
            raise SourceError(
                f"source={files.said!r}: {without_secrets(path)!r} is not readable",
                "the user who runs this must be able to read the file",
                "change its permissions, or run as a user who can read it",
                code="file-not-permitted",
                source=files.said,
                path=without_secrets(path),
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
    """A lazy frame over the files, text formats as text. Text formats are read by the `names` of their columns.

    Partitions that are not among `names` are left out.

    CSV files are read through at once, for quotes in odd places: not before anything is charged.
    """
    import polars as pl

    if files.format == "Parquet":
        return _scan_parquet(files, names)
    if files.format == "Arrow IPC":
        paths = list(files.paths)
        return pl.scan_ipc(paths, glob=True) if files.remote else scan_feather(paths)
    from gaussmith.engines.text_files import scan_texts

    return scan_texts(files, names)


def _scan_parquet(files: Files, names: Sequence[str] | None) -> pl.LazyFrame:
    """Polars does not see folders as columns: their values are added here if they are used."""
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
