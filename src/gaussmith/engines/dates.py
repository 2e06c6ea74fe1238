"""Dates and times as every engine can hold them: those outside the years 1 to 9999 are missing, value by value.

Engines hold other ranges, and fail or differ beyond them. Of times in nanoseconds the first and the last that 64 bits
hold are missing: DuckDB means infinity by them.

Times with a zone are read in UTC. In other zones the day and the hour depend on tables of rules, which engines bring
along in different versions.
"""

from __future__ import annotations

import datetime
import typing
from collections.abc import Mapping, Sequence

from gaussmith.expressions import kinds_of
from gaussmith.expressions.identity import FIRST_SECOND, LAST_SECOND

if typing.TYPE_CHECKING:
    import narwhals as nw

_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6}


def dates_in(schema: Mapping[str, nw.dtypes.DType], columns: Sequence[str]) -> list[str]:
    """The columns among these that hold dates or times."""
    kinds = kinds_of({name: schema[name] for name in columns if name in schema})
    return [name for name, kind in kinds.items() if kind == "date"]


def has_zone(dtype: nw.dtypes.DType) -> bool:
    """Whether a column holds times with a zone."""
    return getattr(dtype, "time_zone", None) is not None


def bounds_of(unit: str | None) -> tuple[int, int]:
    """The first and the last time that is not missing: in days (None), or in a unit of time, from 1970."""
    if unit is None:
        return datetime.date.min.toordinal() - _EPOCH_DAY, datetime.date.max.toordinal() - _EPOCH_DAY
    if unit == "ns":
        return -(2**63 - 2), 2**63 - 2
    each = _PER_SECOND[unit]
    return FIRST_SECOND * each, (LAST_SECOND + 1) * each - 1
