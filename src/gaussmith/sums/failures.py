"""What is said when an engine fails: nothing of the engine's own words, which may quote data."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TypeVar

from gaussmith.errors import DataError

T = TypeVar("T")

TALKATIVE = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")
"""Loggers of pyspark that quote data, whatever level Spark's own log is set to."""

_hushed: ContextVar[bool] = ContextVar("hushed", default=False)


def attempt(work: Callable[[], T], problem: Exception) -> T:
    """What `work` returns; if it fails, the problem is raised instead and nothing of the engine's own words is kept.

    Raised outside the handler, so that not even the context of the exception carries them: they may quote data.
    """
    try:
        with hush():
            return work()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # an engine's panic is no Exception
        pass
    raise problem


@contextlib.contextmanager
def hush() -> Iterator[None]:
    """What the loggers of pyspark say within reaches nobody; what else runs at the time is as loud as ever."""
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
    """The one thing said when data cannot be read to its end: the same whatever happened."""
    return DataError(
        "the data could not be read to its end",
        "nothing more is said, because the reason may speak of the data",
        "check that every file or table can be read completely with its own tools",
    )
