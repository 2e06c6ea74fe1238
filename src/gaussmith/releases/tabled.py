"""What has a table by columns, `question · keys · answer · value · …`, as rows and as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """A table by columns, row by row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


class Tabled:
    """Everything that can say its table by columns."""

    def columns(self, confidence: float = 0.95) -> dict[str, list[Any]]:
        """The table by columns; each class says its own."""
        raise NotImplementedError

    def rows(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """The same table, one row per question, group and answer."""
        return rows_of(self.columns(confidence))

    def to_polars(self, confidence: float = 0.95) -> pl.DataFrame:
        """The same table as a Polars frame."""
        import polars as pl

        texts = dict.fromkeys(("question", "answer", "status", "note"), pl.String)
        numbers = dict.fromkeys(("value", "standard_error", "lower", "upper"), pl.Float64)
        columns = self.columns(confidence)
        kinds = {name: kind for name, kind in {**texts, **numbers}.items() if name in columns}
        return pl.DataFrame(columns, schema_overrides=kinds, strict=False)
