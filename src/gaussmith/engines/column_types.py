"""The types of columns that Polars reads: in words of narwhals, which is imported only where they are not plain."""

from __future__ import annotations

import typing
from typing import Any

from gaussmith.engines.failures import attempt
from gaussmith.engines.versions import check_version
from gaussmith.engines.whole_columns import AS_THEY_ARE
from gaussmith.errors import SourceError

if typing.TYPE_CHECKING:
    import polars as pl

PLAIN = AS_THEY_ARE | {"String"}
"""Types that go by the same names in Polars and in narwhals, and answer the same."""


def told_types(lazy: pl.LazyFrame, problem: SourceError) -> dict[str, Any]:
    """The types of columns by name, as narwhals tells them; where all are plain, as Polars does."""
    own = attempt(lambda: dict(lazy.collect_schema()), problem)
    if PLAIN.issuperset(map(str, own.values())):
        return own
    check_version("narwhals")
    import narwhals as nw

    return attempt(lambda: dict(nw.from_native(lazy).collect_schema()), problem)


def polars_type(dtype: Any) -> Any:
    """The type of a column in Polars; what has none there is never added up, and may be text."""
    import polars as pl

    if isinstance(dtype, pl.DataType):
        return dtype
    import narwhals as nw

    if isinstance(dtype, (nw.Object, nw.Unknown)):
        return pl.String
    return nw.Schema({"": dtype}).to_polars()[""]
