"""Sums of two columns with bounds 0 and 100, of whatever can be opened."""

from __future__ import annotations

from summing import total_records

from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.registry import open_source

PAIR = BoxEncoding.for_bounds([0, 0], [100, 100], [0, 0])
STEP = 2**35


def add(source: object, columns: list[str] | None = None, codes: BoxEncoding = PAIR) -> list[float]:
    """Sums in the user's units."""
    return [s / STEP for s in total_records(open_source(source, columns=columns or ["a", "b"]), codes, columns).sums]
