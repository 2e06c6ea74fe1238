"""A release in a folder: release.json, answers.csv, answers.parquet, report.html."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import DataError, RequestError
from gaussmith.report.page import page
from gaussmith.texts import spreadsheet_text

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.releases import Release

RECORD, CSV, PARQUET, PAGE = "release.json", "answers.csv", "answers.parquet", "report.html"


def check_folder(folder: str | Path, overwrite: bool = False) -> None:
    """Refuse a folder that cannot be written or already holds a release; call this before data is read."""
    path = Path(folder)
    if (path / RECORD).exists() and not overwrite:
        what = f"folder {without_secrets(folder)!r}"
        rule = "it already holds a release"
        remedy = "name another folder, or move it away"
        raise RequestError(what, rule, remedy, code="folder-holds-release", folder=without_secrets(folder))
    nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise RequestError(
            f"folder {without_secrets(folder)!r}",
            f"{without_secrets(nearest)!r} cannot be written to",
            "name a folder of yours",
            code="folder-not-writable",
            folder=without_secrets(folder),
            parent=without_secrets(nearest),
        )


def _for_spreadsheets(table: pl.DataFrame) -> pl.DataFrame:
    """The table with text and column names that no spreadsheet evaluates; numbers stay as they are."""
    import polars as pl

    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    cells = [table[name].map_elements(spreadsheet_text, return_dtype=pl.String) for name in texts]
    return table.with_columns(cells).rename({name: spreadsheet_text(name) for name in table.columns})


def write_folder(release: Release, folder: str | Path) -> list[Path]:
    """Write the record first, then tables and page; each file appears complete or not at all."""
    path = Path(folder)
    table = release.to_polars()
    writers: dict[str, Callable[[Path], object]] = {
        RECORD: lambda file: file.write_text(release.to_json() + "\n", encoding="utf-8"),
        CSV: lambda file: _for_spreadsheets(table).write_csv(file),
        PARQUET: table.write_parquet,
        PAGE: lambda file: file.write_text(page(release), encoding="utf-8"),
    }
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, write in writers.items():
            aside = path / f"{name}.new"
            write(aside)
            aside.replace(path / name)
    except OSError:
        raise DataError(
            f"folder {without_secrets(folder)!r}",
            "it could not be written to; the release itself is done",
            "keep what was printed",
            code="folder-not-written",
            folder=without_secrets(folder),
        ) from None
    return [path / name for name in writers]
