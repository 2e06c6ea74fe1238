"""Versions of engines: which ones are supported, and the few calls that differ between them.

A version outside the range is refused before anything is read or charged. Every branch on a version is in this file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from queue import Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from gaussmith.errors import SourceError

if TYPE_CHECKING:
    import polars as pl

Version = tuple[int, ...]

RANGES: dict[str, tuple[str, str | None]] = {
    "numpy": ("2.2.0", "3"),
    "narwhals": ("2.20.0", "3"),
    "polars": ("1.36.1", "3"),
    "duckdb": ("1.5.0", "3"),
    "pyarrow": ("18.0.0", None),
    "pandas": ("2.2.2", "4"),
    "pyspark": ("4.3.0", "5"),
}
"""The oldest supported version of each engine, and the first version that is not yet supported. None: no limit.

The same as in pyproject.toml. The oldest ones are installed and tested by `./run test --lowest`.
"""

VIEWS = (25,)
"""The first version of PyArrow whose views Polars can read: earlier ones end the process with a segmentation fault."""

PATIENCE = 0.1
"""Seconds between checks whether anyone still waits for batches."""


def check_versions(packages: Iterable[str]) -> None:
    """Refuse a version of numpy or of one of these packages that is not supported."""
    for package in dict.fromkeys(["numpy", *packages]):
        check_version(package)


def check_version(package: str) -> None:
    """Refuse a version of a package that is not supported; a package that is not there is refused by who needs it."""
    if package not in sys.modules and find_spec(package) is None:
        return
    check_range(package, str(import_module(package).__version__), package)


def check_range(package: str, found: str, whose: str) -> None:
    """Refuse a version outside the range of a package; `whose` says where it was found."""
    oldest, unknown = RANGES[package]
    if parse(found) < parse(oldest) or (unknown is not None and parse(found) >= parse(unknown)):
        until = "or newer" if unknown is None else f"to below {unknown}"
        wanted = f"{package}>={oldest}" if unknown is None else f"{package}>={oldest},<{unknown}"
        raise SourceError(
            f"{whose} is version {found}",
            f"versions {oldest} {until} are supported; nothing was read and nothing was charged",
            f"install one of them: pip install '{wanted}'",
            code="unsupported-version",
            package=whose,
            found=found,
            oldest=oldest,
        )


def parse(version: str) -> Version:
    """The numbers of a version without the zeros at its end. A pre-release counts as the release it comes before.

    >>> parse("1.36.1"), parse("2.0.0"), parse("2.1.0rc1") == parse("2.1"), parse("1.9.0.post1")
    ((1, 36, 1), (2,), True, (1, 9))
    """
    numbers = [int(part) for part in re.match(r"[0-9]+(?:\.[0-9]+)*", version)[0].split(".")]  # type: ignore[index]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


@cache
def _polars() -> Version:
    import polars as pl

    return parse(pl.__version__)


# ---- what differs ----------------------------------------------------------------------------------------------------


def scan_csv(paths: Sequence[str], **options: Any) -> pl.LazyFrame:
    """`polars.scan_csv` of several files whose columns are matched by name; extra columns of later files are left out.

    Polars before 2 matches the columns of later files by their place, so there each file is scanned by itself. A column
    that a later file lacks is missing there; Polars 2 refuses to read it. Such a column is refused beforehand.
    """
    import polars as pl

    if _polars() >= (2,):
        # Only the first header is looked at now; later ones when they are read.
        return pl.scan_csv(list(paths), extra_columns="ignore", infer_schema_files=1, **options)
    if len(paths) == 1 and "schema" not in options:
        return pl.scan_csv(list(paths), **options)
    if "schema" in options:  # no header is read, and an empty file is one without lines, as in Polars 2
        options["raise_if_empty"] = False
    return pl.concat([pl.scan_csv([path], **options) for path in paths], how="diagonal")


def check_packed(paths: Sequence[str]) -> None:
    """Refuse compressed text files where an empty one is taken for a record: Polars 1.36 reads its packed bytes."""
    packed = [path for path in paths if path.lower().endswith((".gz", ".zst"))]
    if packed and _polars() < (1, 37):
        raise SourceError(
            "compressed text files with polars 1.36",
            "it takes an empty file of this kind for one record",
            "unpack the files, or install a newer one: pip install 'polars>=1.37'",
            code="compressed-text-with-old-polars",
        )


def collect_batches(lazy: pl.LazyFrame, rows: int | None = None, ordered: bool = False) -> Iterator[pl.DataFrame]:
    """The rows of a lazy frame in batches, streamed; fails if the engine does.

    In Polars 1.36 `collect_batches` ends without an error when the engine fails: the rows so far would pass for all.
    `sink_batches` does not.
    """
    if _polars() >= (1, 37):
        return lazy.collect_batches(chunk_size=rows, maintain_order=ordered, engine="streaming")
    return _pushed_batches(lazy, rows, ordered)


def _pushed_batches(lazy: pl.LazyFrame, rows: int | None, ordered: bool) -> Iterator[pl.DataFrame]:
    """Batches that Polars pushes from a thread of its own, a few of them ahead."""
    queue: Queue[pl.DataFrame | BaseException | None] = Queue(4)
    gone = Event()

    def put(item: pl.DataFrame | BaseException | None) -> bool:
        while not gone.is_set():
            try:
                queue.put(item, timeout=PATIENCE)
            except Full:
                continue
            return False
        return True  # tells Polars to stop

    def push() -> None:
        try:
            lazy.sink_batches(put, chunk_size=rows, maintain_order=ordered, engine="streaming")
        except BaseException as error:  # an engine's panic is not an Exception
            put(error)
        else:
            put(None)

    thread = Thread(target=push, daemon=True)
    thread.start()
    try:
        while (item := queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        gone.set()
        thread.join()


def arrow_batches(relation: Any, rows: int) -> Generator[Any, None, None]:
    """The rows of a DuckDB relation in record batches of PyArrow."""
    named = "to_arrow_reader" if "to_arrow_reader" in dir(type(relation)) else "fetch_record_batch"
    with getattr(relation, named)(rows) as reader:  # left open, it would end the next query of its connection
        yield from reader


def has_unreadable_views(types: Sequence[object]) -> bool:
    """Whether PyArrow's views of texts, bytes or lists are among these types, and Polars cannot read them."""
    if not any("view" in str(kind) for kind in types):
        return False
    import pyarrow

    return parse(pyarrow.__version__) < VIEWS


def check_views(types: Sequence[object]) -> None:
    """Refuse a table of PyArrow whose views Polars cannot read."""
    if has_unreadable_views(types):
        raise SourceError(
            "a table with views (string_view, binary_view or list_view)",
            f"Polars cannot read them with a pyarrow older than {VIEWS[0]}",
            "cast these columns first, for example to pyarrow.large_string(), or install a newer pyarrow",
            code="views-with-old-pyarrow",
        )
