"""Keys that are integers, by their cells: one for each combination of integers between the smallest and largest keys.

The cell of a row is found by arithmetic, which costs less than to look up its keys; which cells are declared groups is
asked once the rows are added up. Rows outside all cells are left out: so there are few sums, whatever the rows hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.engines.engine import Words
from gaussmith.expressions import GroupKeys
from gaussmith.expressions.keys import columns_of_keys, holds_integers
from gaussmith.values import dataclass

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl


@dataclass(frozen=True, eq=False)
class Cells:
    """The smallest and the largest key of each column, and the cell of each declared group."""

    columns: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    places: Words

    @property
    def size(self) -> int:
        """How many cells there are."""
        return math.prod(high - low + 1 for low, high in self.spans)

    @property
    def keyed(self) -> dict[str, nw.Expr]:
        """The keys of a row as integers k0, k1 …"""
        import narwhals as nw

        return {f"k{j}": nw.col(name).cast(nw.Int64) for j, name in enumerate(self.columns)}

    def spell(self, keys: Sequence[str]) -> tuple[str, str]:
        """In SQL the cell of a row with these keys, and whether it is inside."""
        cell, inside = "", []
        for key, (low, high) in zip(keys, self.spans, strict=True):
            cell = f"({cell} * {high - low + 1} + ({key} - {low}))" if cell else f"({key} - {low})"
            inside.append(f"{key} between {low} and {high}")
        return cell, " and ".join(inside)

    def put(self, rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """The rows inside, with their cell as g."""
        import narwhals as nw

        cell = nw.lit(0)
        for j, (low, high) in enumerate(self.spans):
            rows = rows.filter(nw.col(f"k{j}").is_between(low, high))
            cell = cell * (high - low + 1) + (nw.col(f"k{j}") - low) if j else nw.col("k0") - low
        return rows.with_columns(cell.cast(nw.UInt32).alias("g"))

    def placed(self, batch: pl.DataFrame) -> pl.DataFrame:
        """The rows whose cell g is a declared group, with that group in its place."""
        import polars as pl

        if self._groups is None:
            return batch
        placed = batch.with_columns(pl.Series("g", self._groups[batch["g"].to_numpy()]))
        return placed if self.size == len(self.places) else placed.filter(pl.col("g") >= 0)

    @cached_property
    def _groups(self) -> npt.NDArray[np.int32] | None:
        """The group in each cell, −1 where none is declared; None where each cell is the group of its number."""
        found = np.full(self.size, -1, np.int32)
        found[self.places] = np.arange(len(self.places))
        return None if np.array_equal(found, np.arange(self.size)) else found


def find_cells(groups: GroupKeys, schema: Mapping[str, Any], most: int) -> Cells | None:
    """The cells of keys whose columns hold integers; None of other keys, and of more than `most` cells."""
    if not groups.codes or not all(holds_integers(groups, j, schema) for j in range(len(groups.columns))):
        return None
    columns = [np.array(column) for column in columns_of_keys(groups)]
    spans = tuple((int(column.min()), int(column.max())) for column in columns)
    sizes = [high - low + 1 for low, high in spans]
    if math.prod(sizes) > most or any((column != np.floor(column)).any() for column in columns):
        return None
    at = tuple((column - low).astype(np.int64) for column, (low, _) in zip(columns, spans, strict=True))
    return Cells(groups.columns, spans, np.ravel_multi_index(at, sizes))
