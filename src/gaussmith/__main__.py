"""`python -m gaussmith`, and the command `gaussmith`: the command line as a process of its own."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress

from gaussmith.cli import main


def run() -> None:
    """Run the command line and exit with its code."""
    codes: list[int] = []
    if __name__ != "__main__" or vars(sys.modules["__main__"]) is globals():  # else another program runs us within it
        atexit.register(_leave, codes)  # first, so that it is called last
    codes.append(main())
    sys.exit(codes[0])


def _leave(codes: list[int]) -> None:
    """End the process once all else is done: to take down its modules one by one takes 0.007 s, for nothing.

    A tool that measures us started before, and has yet to write what it found: then Python ends as usual.
    """
    if not codes or sys.gettrace() or sys.getprofile() or "coverage" in sys.modules:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
            stream.flush()
    os._exit(codes[0])


if __name__ == "__main__":
    run()
