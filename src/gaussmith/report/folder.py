"""A release in a folder: release.json, answers.csv, answers.parquet, report.html."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import DataError, RequestError
from gaussmith.report.page import page
from gaussmith.report.reviewers import registry_entry

if TYPE_CHECKING:
    from gaussmith.releases.release import Release

RECORD, CSV, PARQUET, PAGE = "release.json", "answers.csv", "answers.parquet", "report.html"
REGISTRY = "registry.json"
"""Written where the request has an [about]: an entry for the registry of deployments."""


def check_folder(folder: str | Path, overwrite: bool = False) -> None:
    """Refuse a folder that cannot be written or already holds a release; call this before data is read."""
    path = Path(folder)
    if (path / RECORD).exists() and not overwrite:
        what = f"folder {without_secrets(folder)!r}"
        rule = "it already holds a release"
        remedy = "choose another folder, or move that release away"
        raise RequestError(what, rule, remedy, code="folder-holds-release", folder=without_secrets(folder))
    nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise RequestError(
            f"folder {without_secrets(folder)!r}",
            f"{without_secrets(nearest)!r} cannot be written to",
            "choose a folder you can write to",
            code="folder-not-writable",
            folder=without_secrets(folder),
            parent=without_secrets(nearest),
        )


def holds_release(folder: str | Path, stored: bytes) -> bool:
    """Whether the record in a folder is this one, as a ledger stored it."""
    try:
        return (Path(folder) / RECORD).read_bytes().rstrip() == stored
    except OSError:
        return False


def write_folder(release: Release, folder: str | Path, only_absent: bool = False) -> list[Path]:
    """Write the record first, then tables and page; each file appears complete or not at all. Return those written.

    With `only_absent` files that are there stay as they are.
    """
    path = Path(folder)
    writers: dict[str, Callable[[Path], object]] = {
        RECORD: lambda file: file.write_text(release.to_json() + "\n", encoding="utf-8"),
        CSV: release.to_csv,
        PARQUET: release.to_parquet,
        PAGE: lambda file: file.write_text(page(release), encoding="utf-8"),
    }
    if release.plan.about is not None:
        entry = json.dumps(registry_entry(release, draft=True), indent=2, ensure_ascii=False)
        writers[REGISTRY] = lambda file: file.write_text(entry + "\n", encoding="utf-8")
    if only_absent:
        writers = {name: write for name, write in writers.items() if not (path / name).exists()}
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, write in writers.items():
            aside = path / f"{name}.new"
            write(aside)
            aside.replace(path / name)
    except OSError:
        raise DataError(
            f"folder {without_secrets(folder)!r}",
            "it could not be written to; the release itself is complete",
            "keep the printed output",
            code="folder-not-written",
            folder=without_secrets(folder),
        ) from None
    return [path / name for name in writers]
