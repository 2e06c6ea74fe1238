"""Places where a test may kill the process, to show that a crash there neither loses nor doubles a charge.

If the environment variable GAUSSMITH_FAILPOINT names one of `NAMES`, the process kills itself there (SIGKILL: no
cleanup, no flush). An unknown name is refused, so that a misspelled test cannot pass.
"""

from __future__ import annotations

import os
import signal

from gaussmith.errors import LedgerError, nearest

VARIABLE = "GAUSSMITH_FAILPOINT"

NAMES = (
    "before-reserve-commit",
    "after-reserve-commit",
    "before-reserve-head",
    "after-reserve-head",
    "before-data",
    "after-noise",
    "before-store-commit",
    "after-store-commit",
    "before-store-head",
    "after-store-head",
)


def failpoint(name: str) -> None:
    """Kill the process here if the environment says so; otherwise do nothing."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    if wanted not in NAMES:
        what = f"{VARIABLE}={wanted} is no failpoint"
        raise LedgerError(what, "it must name one", nearest(wanted, NAMES), code="unknown-failpoint", failpoint=wanted)
    if wanted == name:
        os.kill(os.getpid(), signal.SIGKILL)
