"""What has a table by columns, `question · keys · answer · value · …`, as rows and as a frame."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.checks import CONFIDENCE, checks_arguments
from gaussmith.errors import PlanError, RequestError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from gaussmith.releases.release import Release


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """A table by columns, row by row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _require(what: str, package: str) -> None:
    """Refuse what needs a package that is not installed."""
    try:
        import_module(package)
    except ImportError:
        rule, remedy = (
            f"such a table needs the package {package}",
            f"pip install {package}; to_polars() needs nothing more",
        )
        raise RequestError(what, rule, remedy, code="frame-package-missing", package=package) from None


class Tabled:
    """Everything that can say its table by columns."""

    def columns(self, confidence: float = CONFIDENCE) -> dict[str, list[Any]]:
        """The table by columns; each class says its own."""
        raise NotImplementedError

    @checks_arguments
    def rows(self, confidence: float = CONFIDENCE) -> list[dict[str, Any]]:
        """The same table, one row per question, group and answer."""
        return rows_of(self.columns(confidence))

    @checks_arguments
    def to_polars(self, confidence: float = CONFIDENCE) -> pl.DataFrame:
        """The same table as a Polars frame."""
        import polars as pl

        texts = dict.fromkeys(("question", "answer", "status", "note"), pl.String)
        numbers = dict.fromkeys(("value", "standard_error", "lower", "upper"), pl.Float64)
        columns = self.columns(confidence)
        kinds = {name: kind for name, kind in {**texts, **numbers}.items() if name in columns}
        return pl.DataFrame(columns, schema_overrides=kinds, strict=False)

    @checks_arguments
    def to_pandas(self, confidence: float = CONFIDENCE) -> pd.DataFrame:
        """The same table as a pandas frame, which needs pandas."""
        _require("to_pandas()", "pandas")
        import pandas as pd

        columns = self.columns(confidence)
        numbers = ("value", "standard_error", "lower", "upper")
        return pd.DataFrame(
            {name: pd.Series(values, dtype="float64" if name in numbers else None) for name, values in columns.items()}
        )

    @checks_arguments
    def to_arrow(self, confidence: float = CONFIDENCE) -> pa.Table:
        """The same table for PyArrow, which it needs; `.schema.metadata` has what the Parquet file has."""
        _require("to_arrow()", "pyarrow")
        import polars as pl

        table = self.to_polars(confidence).to_arrow(compat_level=pl.CompatLevel.oldest())  # older readers know no views
        metadata = self.table_metadata()
        return table.replace_schema_metadata(metadata) if metadata else table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The same table for whatever reads Arrow streams: pandas, DuckDB, PyArrow, Polars, R."""
        return self.to_polars().__arrow_c_stream__(requested_schema)

    @checks_arguments
    def to_csv(self, path: str | os.PathLike[str] | None = None, confidence: float = CONFIDENCE) -> str:
        """The same table as CSV for R and spreadsheets: unknown numbers are empty cells. Written to `path` if given."""
        from gaussmith.releases.saved import csv_table

        text = str(csv_table(self, confidence).write_csv())
        if path is not None:
            Path(path).write_text(text, encoding="utf-8", newline="")
        return text

    @checks_arguments
    def to_parquet(self, path: str | os.PathLike[str], confidence: float = CONFIDENCE) -> None:
        """The same table as a Parquet file, with `table_metadata` in it."""
        self.to_polars(confidence).write_parquet(Path(path), metadata=self.table_metadata() or None)

    def table_metadata(self) -> dict[str, str]:
        """What a file of this table says about it: the guarantee and more, where it is known."""
        return {}


# Wide tables: one row per group, one column per answer.


def wide_frame(release: Release, errors: bool = False) -> pl.DataFrame:
    """The values of a release, and the standard errors if asked for."""
    questions = list(release) if len(release.plan) > 1 else [release]
    answers: dict[str, list[Any]] = {}
    several = len(questions) > 1
    for question in questions:
        values, stated = (
            array.reshape(-1, len(question.names)) for array in (question.values, question.standard_errors)
        )
        for i, name in enumerate(question.names):
            shown = f"{question.questions[0]}: {name}" if several else str(name)
            answers[shown] = values[:, i].tolist()
            if errors:
                answers[f"{shown} ±"] = stated[:, i].tolist()
    return widen(questions, answers)


def widen(questions: list[Release], answers: Mapping[str, list[Any]]) -> pl.DataFrame:
    """Key columns and answers side by side; refuses questions with different groups."""
    import polars as pl

    first = questions[0]
    for other in questions[1:]:
        if other.labels != first.labels:
            raise PlanError(
                "a wide table of questions with different groups",
                "each row is a group, and all columns need the same rows",
                f"choose one question: release[{first.questions[0]!r}].wide()",
                code="wide-table-of-other-groups",
            )
    columns = first.plan.groups.columns if first.labels and first.plan.groups is not None else ()
    keys = {column: [label[i] for label in first.labels] for i, column in enumerate(columns)}
    return pl.DataFrame({**keys, **answers}, strict=False)
