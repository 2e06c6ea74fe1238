"""What Spark's Java process has used, read from the system's list of processes (Linux)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def java_of(session: Any) -> int:
    """The number of the process behind a session."""
    return int(session._jvm.ProcessHandle.current().pid())


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(process: int) -> float:
    """The most memory it ever had."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**10
