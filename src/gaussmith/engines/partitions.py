"""Folders named key=value: columns of text, read by one rule that is ours, the same on every engine.

    visits/person=17/year=2024/0.parquet     →     person = "17", year = "2024" on every row of that file

**The rule.** The value of a folder depends on the name of that folder alone. It is text: `1` and `01` are two values.
Percent-escapes stand for the bytes of UTF-8. A value is missing when it is empty, when it is
`__HIVE_DEFAULT_PARTITION__`, and when its escapes are malformed (`%zz`) or not UTF-8 (`%FF`): different texts are never
merged. No type is inferred, and no engine's own reader of such names is used, because engines disagree: the values are
attached by a join with a small table of files. The rules for text then say which values are numbers, truths and dates.

A filter that speaks of keys alone is decided here, once for each folder, so that whole folders are left unread.
"""

from __future__ import annotations

import os
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from urllib.parse import unquote_to_bytes

from gaussmith.engines.addresses import fixed_part
from gaussmith.engines.failures import attempt
from gaussmith.engines.table_formats import check_store
from gaussmith.engines.versions import scan_csv
from gaussmith.errors import SourceError
from gaussmith.expressions import Derivation, Formula, columns_used, evaluate
from gaussmith.expressions.nodes import Literal, Operation

if typing.TYPE_CHECKING:
    import polars as pl

    from gaussmith.engines.files import Files

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
            "partitions have the same keys, in the same order, everywhere: year=2024/month=5",
            "narrow the pattern, or move the other files away",
            code="partitions-with-different-keys",
            source=files.said,
        )
    raw = keys.pop()
    known = tuple(decode_name(key) for key in raw)
    for written, key in zip(raw, known, strict=True):
        if key is None or [(other or "").casefold() for other in known].count(key.casefold()) > 1:
            raise SourceError(
                f"source={files.said!r}: the key {written!r} of its partitions",
                "keys are well-formed, distinct names of columns, whatever their capital letters",
                "rename the directories",
                code="partition-key-malformed",
                source=files.said,
                key=written,
            )
    values = {path: _agreed([[v for _, v in pairs] for pairs in found]) for path, found in folders.items()}
    return replace(files, keys=tuple(key for key in known if key is not None), values=values)


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
                "a name stands for one column, whatever its capital letters",
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
    conditions = [Formula(where.text, "truth", node) for node in where.tree.conditions]
    decided = [each for each in conditions if columns_used(each) and keys.issuperset(columns_used(each))]
    holds = {
        values: all(evaluate(each, dict(zip(files.keys, values, strict=True))) for each in decided)
        for values in set(files.values.values())
    }
    kept = tuple(path for path in files.paths if holds[files.values[path]])
    if not kept:
        nothing = Formula(where.text, "truth", Literal(False))
        return replace(files, paths=files.paths[:1]), replace(derivation, where=nothing)
    left = [each.tree for each in conditions if each not in decided]
    rest = reduce(lambda one, other: Operation("and", (one, other)), left) if left else None
    remaining = None if rest is None else Formula(where.text, "truth", rest)
    return replace(files, paths=kept), replace(derivation, where=remaining)
