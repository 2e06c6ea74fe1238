"""Cells with many edges: values come here in batches, and their edges are searched, which is faster than comparing.

The cell of a value is how many of the edges it is at least as large as, in doubles or in integers: the same as the tree
of comparisons that an engine is told (`expressions.cuts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.engines.engine import Words

if TYPE_CHECKING:
    import polars as pl

FEW_EDGES = 8
"""Up to so many edges an engine compares every value with them itself."""


def count_cells(batches: Iterator[pl.DataFrame], value: str, edges: Any, groups: int = 1) -> tuple[Words, Words]:
    """How many values are in each cell (a column) of each group (a row), and how many are missing in each group.

    The group of a value is its `g`; without that column there is one.

    >>> import polars as pl
    >>> found, missing = count_cells(iter([pl.DataFrame({"p": [1.0, 2.0, None, 9.0]})]), "p", [2.0, 5.0])
    >>> found.tolist(), missing.tolist()
    ([[1, 1, 1]], [1])
    """
    cells = len(edges) + 1
    counts, missing = np.zeros(groups * cells, np.int64), np.zeros(groups, np.int64)
    for batch in batches:
        if batch[value].null_count():
            gone = batch.filter(batch[value].is_null())
            missing += np.bincount(_groups_of(gone), minlength=groups)
            batch = batch.drop_nulls(value)
        place = np.searchsorted(np.array(edges), batch[value].to_numpy(), side="right")
        counts += np.bincount(_groups_of(batch) * cells + place, minlength=len(counts))
    return counts.reshape(groups, cells), missing


def _groups_of(batch: pl.DataFrame) -> Words:
    return batch["g"].to_numpy().astype(np.int64) if "g" in batch.columns else np.zeros(batch.height, np.int64)
