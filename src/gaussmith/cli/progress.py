"""A progress line on a terminal while data is read or a plan is audited: elapsed time, and the share if known.

It never shows rows.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

TICK = 0.2
"""Seconds between updates of the line."""

BAR = 24


@contextmanager
def reading(stream: TextIO | None = None, word: str = "Reading") -> Iterator[Callable[[float | None], None] | None]:
    """Yield a function to call with the share done so far (None: unknown). Draws only on a terminal, then clears it."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield None
        return
    share: list[float | None] = [None]
    done = threading.Event()
    started = time.monotonic()

    def draw() -> None:
        while not done.wait(TICK):
            stream.write("\r" + line(share[0], time.monotonic() - started, word))
            stream.flush()

    def report(fraction: float | None) -> None:
        share[0] = fraction

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield report
    finally:
        done.set()
        thread.join()
        stream.write("\r\x1b[K")
        stream.flush()


def line(share: float | None, seconds: float, word: str = "Reading") -> str:
    """The line that is drawn.

    >>> line(0.5, 75)
    'Reading  ━━━━━━━━━━━━────────────   50 %  1:15'
    >>> line(None, 3)
    'Reading  0:03'
    """
    clock = f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
    if share is None:
        return f"{word}  {clock}"
    full = round(BAR * min(max(share, 0.0), 1.0))
    return f"{word}  {'━' * full}{'─' * (BAR - full)}  {100 * min(max(share, 0.0), 1.0):3.0f} %  {clock}"
