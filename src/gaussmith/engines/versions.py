"""Versions of engines: which ones are supported, and the few calls that differ between them.

A version outside the range is refused before anything is read or charged. Every branch on a version is in this file.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from gaussmith.errors import DataError, GaussmithError, InternalError, RequestError, SourceError, internal_error

if TYPE_CHECKING:
    import polars as pl


Version = tuple[int, ...]

RANGES: dict[str, tuple[str, str | None]] = {
    "numpy": ("2.2.0", "3"),
    "narwhals": ("2.20.0", "3"),
    "polars": ("1.37.0", "3"),
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

    >>> parse("1.37.1"), parse("2.0.0"), parse("2.1.0rc1") == parse("2.1"), parse("1.9.0.post1")
    ((1, 37, 1), (2,), True, (1, 9))
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


def collect_batches(lazy: pl.LazyFrame, rows: int | None = None, ordered: bool = False) -> Iterator[pl.DataFrame]:
    """The rows of a lazy frame in batches, streamed; fails if the engine does."""
    return lazy.collect_batches(chunk_size=rows, maintain_order=ordered, engine="streaming")


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


# Errors for failing engines, without the engine's own text, which may quote data.
#
# A call that is itself wrong (an unknown keyword, method, module or name) is reported as an internal error.

T = TypeVar("T")

TALKATIVE = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")
"""Loggers of pyspark that quote data at any log level of Spark."""

OURS = (TypeError, AttributeError, ImportError, NameError)
"""Errors of a program, not of data."""

ENGINES = {"polars", "narwhals", "duckdb", "_duckdb", "pyarrow", "pandas", "pyspark", "py4j", "numpy", "msgspec"}
"""Packages that run the functions of a user who passes a frame made with them."""

_hushed: ContextVar[bool] = ContextVar("hushed", default=False)


def attempt(work: Callable[[], T], problem: GaussmithError | None = None, theirs: bool = False) -> T:
    """The result of `work`; if it fails, `problem` is raised instead and the engine's own text is dropped.

    Without a problem the work reads data, and what is said is `data_error`.

    An error of ours is raised as an `InternalError`, unless `theirs` says that the work is done by an object of the
    user's; an `InternalError` that was found within stays what it is.
    Raised outside the handler, so that not even the context of the exception carries them: they may quote data.
    """
    try:
        with hush():
            return work()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # an engine's panic is no Exception
        found = _judge(error, problem or data_error(), theirs)
    raise found


def _judge(error: BaseException, problem: GaussmithError, theirs: bool) -> GaussmithError:
    """What is raised instead of an error."""
    found, cause = problem, error
    if isinstance(error, InternalError) and error.__cause__ is not None:
        cause = error.__cause__
    if not isinstance(problem, InternalError) and not theirs:
        if isinstance(error, InternalError):
            found = error
        elif is_ours(error):
            found = internal_error("nothing was charged" if isinstance(problem, RequestError) else "a charge stays")
    if isinstance(found, InternalError) and os.environ.get("GAUSSMITH_DEBUG"):
        found.__cause__ = cause
    return found


def is_ours(error: BaseException) -> bool:
    """Whether an error is one of the program, and not of a function of the user's that an engine ran on the data."""
    if not isinstance(error, OURS):
        return False
    before, frame = "", error.__traceback__
    while frame is not None:
        package = str(frame.tb_frame.f_globals.get("__name__", "")).split(".")[0]
        known = package in ENGINES or package == "gaussmith" or package in sys.stdlib_module_names
        if not known and before in ENGINES:
            return False
        before, frame = package, frame.tb_next
    return True


@contextlib.contextmanager
def hush() -> Iterator[None]:
    """Silence the loggers of pyspark within this context; other loggers are not affected."""
    if "pyspark.logger" in sys.modules:
        from pyspark.logger import PySparkLogger  # made by it: they take words that other loggers do not

        for name in TALKATIVE:
            PySparkLogger.getLogger(name).addFilter(_pass)
    before = _hushed.set(True)
    try:
        yield
    finally:
        _hushed.reset(before)


def _pass(record: logging.LogRecord) -> bool:
    return not _hushed.get()


def data_error() -> DataError:
    """The error for data that cannot be read to its end: always the same."""
    return DataError(
        "the data could not be read to the end",
        "details are hidden because they could contain data",
        "check that other tools can read every file or table completely",
        code="data-not-readable",
    )


def streamed(work: Callable[[], Iterator[T]]) -> Iterator[T]:
    """What `work` yields, step by step, each as `attempt` would: no error speaks of the data."""
    batches = attempt(work)
    end = object()
    while True:
        batch = attempt(lambda: next(batches, end))
        if batch is end:
            return
        yield batch  # type: ignore[misc]  # the end alone is not of this type
