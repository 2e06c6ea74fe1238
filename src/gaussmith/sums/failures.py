"""What is said when an engine fails: nothing of the engine's own words, which may quote data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gaussmith.errors import DataError

T = TypeVar("T")


def attempt(work: Callable[[], T], problem: Exception) -> T:
    """What `work` returns; if it fails, the problem is raised instead and nothing of the engine's own words is kept.

    Raised outside the handler, so that not even the context of the exception carries them: they may quote data.
    """
    try:
        return work()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # an engine's panic is no Exception
        pass
    raise problem


def data_error() -> DataError:
    """The one thing said when data cannot be read to its end: the same whatever happened."""
    return DataError(
        "the data could not be read to its end",
        "nothing more is said, because the reason may speak of the data",
        "check that every file or table can be read completely with its own tools",
    )
