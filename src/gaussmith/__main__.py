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
    if atexit._ncallbacks() == 0:  # what was registered before, as by a tool that measures us, would come after
        atexit.register(_leave, codes)
    codes.append(main())
    sys.exit(codes[0])


def _leave(codes: list[int]) -> None:
    """End the process once all else is done: to take down its modules one by one takes 0.007 s, for nothing."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
            stream.flush()
    if codes:
        os._exit(codes[0])


if __name__ == "__main__":
    run()
