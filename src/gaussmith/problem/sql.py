"""The few words of SQL, as Spark reads it, that codes are spelled with."""

from __future__ import annotations

INFINITY = "double('infinity')"

Step = list[str]
"""The columns of one `select`, each with its name."""


def literal(value: float) -> str:
    """A double in SQL, read back bit for bit."""
    return f"{float(value)!r}D"
