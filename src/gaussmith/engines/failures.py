"""Errors for failing engines, without the engine's own text, which may quote data.

A call that is itself wrong (an unknown keyword, method, module or name) is reported as an internal error.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TypeVar

from gaussmith.errors import DataError, GaussmithError, InternalError, RequestError, internal_error

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
