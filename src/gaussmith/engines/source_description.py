"""Declarations about a source in addition to its path: `{ path = "…", ids = "integer", row_per_row = true }`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from gaussmith.errors import SourceError, nearest
from gaussmith.values import dataclass

KEYS = ("path", "ids", "row_per_row", "line_per_record")
IDS = ("text", "integer")


@dataclass(frozen=True, eq=False)
class SourceDescription:
    """A source and what was said of it.

    data:            a path, an address or a frame
    ids:             what the ids of people are, "text" or "integer"; None: as the type of their column says
    row_per_row:     the promise that each row of a query depends on the rows of one person only
    line_per_record: whether each line of a CSV file is one record, whatever quotes it holds
    """

    data: Any = field(repr=False)
    ids: str | None = None
    row_per_row: bool = False
    line_per_record: bool = False

    @property
    def said(self) -> dict[str, Any]:
        """The declarations about the data; empty if there are none."""
        told = {"ids": self.ids, "row_per_row": self.row_per_row, "line_per_record": self.line_per_record}
        return {name: value for name, value in told.items() if value}


def read_source(source: Any) -> SourceDescription:
    """The source that a path, a frame or a table with a path (in Python also with a frame) names.

    >>> read_source({"path": "visits.csv", "ids": "integer"}).said, read_source("visits.csv").said
    ({'ids': 'integer'}, {})
    """
    if not isinstance(source, Mapping):
        return source if isinstance(source, SourceDescription) else SourceDescription(source)
    for key in source:
        if key not in KEYS:
            what, rule = f"unknown key {key!r} in source", "a source has no such key"
            raise SourceError(what, rule, nearest(str(key), KEYS), code="unknown-source-key", key=key)
    if "path" not in source or isinstance(source["path"], Mapping):
        rule = "it must say where the data is"
        raise SourceError("source without a path", rule, 'write { path = "visits.csv", … }', code="source-without-path")
    ids = source.get("ids")
    if ids is not None and ids not in IDS:
        raise SourceError(
            f"ids={ids!r} in source",
            'ids must be "text" or "integer"',
            nearest(str(ids), IDS),
            code="unknown-ids",
            ids=ids,
        )
    promises = [source.get(name, False) for name in KEYS[2:]]
    for name, promise in zip(KEYS[2:], promises, strict=True):
        if not isinstance(promise, bool):
            what, rule, remedy = f"{name}={promise!r} in source", "it must be true or false", f"write {name} = true"
            raise SourceError(what, rule, remedy, code="source-promise-not-boolean", name=name, value=promise)
    return SourceDescription(source["path"], ids, *promises)


def with_path(source: Any, path: str | os.PathLike[str]) -> Any:
    """The same source at another path."""
    return {**source, "path": path} if isinstance(source, Mapping) else path
