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
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from gaussmith.engines.addresses import STORES, fixed_part, location_of, nearest_file, scheme_of, without_secrets
from gaussmith.engines.csv_files import PACKED
from gaussmith.engines.frames import scan_feather
from gaussmith.engines.versions import attempt, scan_csv
from gaussmith.errors import SourceError, nearest
from gaussmith.expressions.formulas import Formula, columns_used, evaluate
from gaussmith.expressions.grammar import Literal, Operation
from gaussmith.expressions.spelling import Derivation

# Folders of Delta Lake, Apache Iceberg and Apache Hudi, which hold files that are no longer part of the table.
#
# Such a folder has a log that says which of its files count. Reading all of them would bring deleted rows back, and
# count rewritten ones twice: the folder is refused, and so is any path or pattern that reaches into one.

REMEDIES = {
    "Delta Lake": "pl.scan_delta(path), or deltalake.DeltaTable(path).to_pyarrow_dataset()",
    "Apache Iceberg": "pl.scan_iceberg(path of its metadata.json)",
    "Apache Hudi": "the frame that spark.read.format('hudi').load(path) returns",
}
"""How the table of each format becomes a frame."""


LOGS = {
    "Delta Lake": "_delta_log/*.json",
    "Apache Iceberg": "metadata/*.metadata.json",
    "Apache Hudi": ".hoodie/*",
}
"""Where each keeps its log."""

WORKERS = 8


def check_plain(said: str, paths: Iterable[str], root: str) -> None:
    """Refuse files of this machine that lie in a folder of a table format, however deep.

    Folders above `root` are looked at too. There, a JSON file must be named as Iceberg names it.
    """
    top = Path(os.path.realpath(root or "."))
    seen: set[Path] = set()
    for path in paths:
        for place in {os.path.abspath(path), os.path.realpath(path)}:
            for folder in Path(place).parents:
                if folder in seen:
                    break
                seen.add(folder)
                _refuse(said, format_of_folder(folder, is_within=folder.is_relative_to(top)))


def check_store(said: str, folder: str, is_there: Callable[[str], bool]) -> None:
    """The same for a folder of a store; `is_there` asks the engine whether a pattern finds anything.

    What cannot be asked, for want of a right to list, counts as not there.
    """
    scheme, _, rest = folder.partition("://")
    if scheme in ("http", "https"):  # there, folders cannot be listed
        return
    parts = rest.rstrip("/").split("/")
    folders = [f"{scheme}://{'/'.join(parts[:n])}" for n in range(len(parts), 0, -1)]
    asked = [(name, f"{folder}/{log}") for folder in folders for name, log in LOGS.items()]

    def find(question: tuple[str, str]) -> str | None:
        try:
            return question[0] if is_there(question[1]) else None
        except Exception:  # its words are the engine's, and may hold secrets
            return None

    with ThreadPoolExecutor(WORKERS) as pool:
        for found in pool.map(find, asked):
            _refuse(said, found)


def format_of_folder(folder: Path, is_within: bool = True) -> str | None:
    """The table format whose log a folder holds, or None."""
    if (folder / "_delta_log").is_dir():
        return "Delta Lake"
    if (folder / ".hoodie").is_dir():
        return "Apache Hudi"
    try:
        names = os.listdir(folder / "metadata")
    except OSError:
        return None
    pattern = r".*\.metadata\.json(\.gz)?" if is_within else r"v?[0-9]+[-.].*metadata\.json(\.gz)?"
    return "Apache Iceberg" if any(re.fullmatch(pattern, name) for name in names) else None


def _refuse(said: str, found: str | None) -> None:
    if found is not None:
        raise SourceError(
            f"source={said!r} is inside a table of {found}",
            "its folder also holds files that are no longer part of the table",
            f"pass a frame of the table as the source: {REMEDIES[found]}",
            code="inside-a-table-format",
            source=said,
            format=found,
        )


# Folders named key=value: columns of text, read by one rule that is ours, the same on every engine.
#
#     visits/person=17/year=2024/0.parquet     →     person = "17", year = "2024" on every row of that file
#
# **The rule.** The value of a folder depends on the name of that folder alone. It is text: `1` and `01` are two
# values. Percent-escapes stand for the bytes of UTF-8. A value is missing when it is empty, when it is
# `__HIVE_DEFAULT_PARTITION__`, and when its escapes are malformed (`%zz`) or not UTF-8 (`%FF`): different texts are
# never merged. No type is inferred, and no engine's own reader of such names is used, because engines disagree: the
# values are attached by a join with a small table of files. The rules for text then say which values are numbers,
# truths and dates.
#
# A filter that speaks of keys alone is decided here, once for each folder, so that whole folders are left unread.

if typing.TYPE_CHECKING:
    import polars as pl

MISSING = "__HIVE_DEFAULT_PARTITION__"
"""What writers call the folder of rows without a value."""

PATH = "gaussmith:path"
"""The column that holds the file of a row until the values of its folders are attached."""

Values = tuple[str | None, ...]


def decode_name(text: str) -> str | None:
    """The text that a key or a value in the name of a folder stands for; None where it is missing.

    >>> [decode_name(text) for text in ("17", "a%2Fb", "a+b", "%C3%A9", "")]
    ['17', 'a/b', 'a+b', 'é', None]
    >>> [decode_name(text) for text in ("100%", "%zz", "%FF", "__HIVE_DEFAULT_PARTITION__")]
    [None, None, None, None]
    """
    if text in ("", MISSING) or re.search(r"%(?![0-9A-Fa-f]{2})", text):
        return None
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        return None


def read_folders(files: Files, names: Mapping[str, Iterable[str]]) -> Files:
    """The files with the keys and values of their folders below the root. All have the same keys, in the same order.

    `names` holds for each file the paths it was found under (hard links, say). A value is missing where they disagree.
    """
    folders = {path: [list(_pairs(files, name)) for name in found] for path, found in names.items()}
    keys = {tuple(key for key, _ in pairs) for found in folders.values() for pairs in found}
    if len(keys) > 1:
        raise SourceError(
            f"source={files.said!r} holds files in directories with different keys",
            "all partitions must have the same keys in the same order: year=2024/month=5",
            "narrow the pattern, or move the other files away",
            code="partitions-with-different-keys",
            source=files.said,
        )
    values = {path: _agreed([[v for _, v in pairs] for pairs in found]) for path, found in folders.items()}
    return replace(files, keys=_decoded_keys(files.said, keys.pop()), values=values)


def _decoded_keys(said: str, written: Sequence[str]) -> tuple[str, ...]:
    """The keys of partitions; refuses those that are no names of columns, or two that differ in case alone."""
    known: dict[str, str] = {}
    for each in written:
        key = decode_name(each)
        if key is None or key.casefold() in known:
            raise SourceError(
                f"source={said!r}: the key {each!r} of its partitions",
                "keys must be valid column names, distinct ignoring case",
                "rename the directories",
                code="partition-key-malformed",
                source=said,
                key=each,
            )
        known[key.casefold()] = key
    return tuple(known.values())


def _pairs(files: Files, path: str) -> Iterator[tuple[str, str]]:
    """Keys and values, as written, in the folders of a file below the root."""
    if files.remote:
        above = sum("=" in part for part in files.root.split("/")[3:])
        parts = [part for part in path.split("/")[3:-1] if "=" in part][above:]
    else:
        parts = os.path.relpath(os.path.dirname(path) or ".", files.root or ".").split(os.sep)
    for part in parts:
        key, is_pair, value = part.partition("=")
        if is_pair:
            yield key, value


def _agreed(rows: list[list[str]]) -> Values:
    decoded = [{decode_name(value) for value in column} for column in zip(*rows, strict=True)]
    return tuple(found.pop() if len(found) == 1 else None for found in decoded)


def check_keys(files: Files, columns: Iterable[str]) -> None:
    """Refuse a file with a column that has the name of a key: it would not be known which of the two is meant."""
    keys = {key.casefold(): key for key in files.keys}
    for column in columns:
        if column.casefold() in keys:
            raise SourceError(
                f"source={files.said!r}: {keys[column.casefold()]!r} is a key of its partitions, and a file holds a "
                f"column {column!r}",
                "a name can be used for one column only, ignoring case",
                "write the files without it, or pass pl.scan_parquet(pattern, hive_partitioning=False) as the source",
                code="partition-key-beside-column",
                source=files.said,
                key=keys[column.casefold()],
                column=column,
            )


def folder_table(files: Files) -> dict[str, list[str | None]]:
    """The table that the rows of the files are joined with: each file, and the values of its folders."""
    columns: dict[str, list[str | None]] = {PATH: list(files.paths)}
    return columns | {key: [files.values[path][j] for path in files.paths] for j, key in enumerate(files.keys)}


def attach_values(lazy: pl.LazyFrame, files: Files) -> pl.LazyFrame:
    """A Polars scan with the column `PATH`, with the values of folders instead of it."""
    import polars as pl

    table = folder_table(files)
    folders = pl.LazyFrame(table, schema=dict.fromkeys(table, pl.String))
    return lazy.join(folders, on=PATH, how="left").drop(PATH)


def list_store(files: Files, find: Callable[[str], Iterable[str]], problem: SourceError) -> Files:
    """The files of a store, as an engine finds them by a pattern, with the values of their folders.

    Without keys they are left to the engine, as they were. Refuses tables of other formats.
    """
    address = files.paths[0]
    try:
        paths = sorted(set(attempt(lambda: find(address), problem)))
    finally:  # a folder with a log in it cannot be read either, and this says why
        check_store(files.said, fixed_part(address), lambda pattern: bool(find(pattern)))
    if not files.root or not paths:
        return files
    known = read_folders(files, {path: [path] for path in paths})
    return replace(known, paths=tuple(paths), is_listed=True) if known.keys else files


def find_with_polars(pattern: str) -> list[str]:
    """The files that match a pattern in a store; for Parquet only files with rows. No column is read."""
    import polars as pl

    if not pattern.endswith(("/", ".parquet", ".pq")):
        return scan_csv([pattern], infer_schema=False, has_header=False, glob=True).collect_schema().names()
    scan = pl.scan_parquet(pattern, hive_partitioning=False, extra_columns="ignore", include_file_paths=PATH)
    found: list[str] = scan.select(pl.col(PATH).unique()).collect(engine="streaming").to_series().to_list()
    return found


def narrow_files(files: Files, derivation: Derivation) -> tuple[Files, Derivation]:
    """The files that a filter can leave rows of, and what of the filter is still to be asked of these rows.

    Conditions on keys alone are decided here, for each folder. Where none is left, one file is kept for its schema, and
    no row of it.
    """
    where, keys = derivation.where, set(files.keys)
    if where is None or not keys:
        return files, derivation
    decided: list[Formula] = []
    left: list[Formula] = []
    for node in where.tree.conditions:
        condition = Formula(where.text, "truth", node)
        used = columns_used(condition)
        (decided if used and keys.issuperset(used) else left).append(condition)
    holds = {
        values: all(evaluate(each, dict(zip(files.keys, values, strict=True))) for each in decided)
        for values in set(files.values.values())
    }
    kept = tuple(path for path in files.paths if holds[files.values[path]])
    if not kept:
        nothing = Formula(where.text, "truth", Literal(False))
        return replace(files, paths=files.paths[:1]), replace(derivation, where=nothing)
    if not left:
        return replace(files, paths=kept), replace(derivation, where=None)
    rest = reduce(lambda one, other: Operation("and", (one, other)), (each.tree for each in left))
    return replace(files, paths=kept), replace(derivation, where=Formula(where.text, "truth", rest))


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

    @property
    def stamps(self) -> list[tuple[int, int, int]]:
        """What tells each file of this machine from another one that has taken its place."""
        return [(facts.st_ino, facts.st_size, facts.st_mtime_ns) for facts in map(os.stat, self.paths)]


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
