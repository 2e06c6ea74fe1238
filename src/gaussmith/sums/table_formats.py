"""Folders of Delta Lake, Apache Iceberg and Apache Hudi, which hold files that are no longer part of the table.

Such a folder has a log that says which of its files count. Reading all of them would bring deleted rows back, and count
rewritten ones twice: the folder is refused, and so is any path or pattern that reaches into one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from gaussmith.errors import SourceError

REMEDIES = {
    "Delta Lake": "pl.scan_delta(path), or deltalake.DeltaTable(path).to_pyarrow_dataset()",
    "Apache Iceberg": "pl.scan_iceberg(path of its metadata.json)",
    "Apache Hudi": "the frame that spark.read.format('hudi').load(path) returns",
}
"""How the table of each format becomes a frame."""


def check_plain(said: str, paths: Iterable[str], root: str) -> None:
    """Refuse files of this machine that lie in a folder of a table format, however deep.

    Folders above `root` are looked at too. There, a JSON file must be named as Iceberg names it.
    """
    top = Path(os.path.realpath(root or "."))
    seen: set[Path] = set()
    for path in paths:
        for place in {os.path.abspath(path), os.path.realpath(path)}:
            for folder in Path(place).parents:
                if folder in seen:
                    break
                seen.add(folder)
                _refuse(said, format_of_folder(folder, is_within=folder.is_relative_to(top)))


def check_addresses(said: str, paths: Iterable[str]) -> None:
    """Refuse addresses that lie in the log of a table format: all that is known of a store."""
    for path in paths:
        parts = path.split("/")
        _refuse(said, "Delta Lake" if "_delta_log" in parts else "Apache Hudi" if ".hoodie" in parts else None)


def format_of_folder(folder: Path, is_within: bool = True) -> str | None:
    """The table format whose log a folder holds, or None."""
    if (folder / "_delta_log").is_dir():
        return "Delta Lake"
    if (folder / ".hoodie").is_dir():
        return "Apache Hudi"
    try:
        names = os.listdir(folder / "metadata")
    except OSError:
        return None
    pattern = r".*\.metadata\.json(\.gz)?" if is_within else r"v?[0-9]+[-.].*metadata\.json(\.gz)?"
    return "Apache Iceberg" if any(re.fullmatch(pattern, name) for name in names) else None


def _refuse(said: str, found: str | None) -> None:
    if found is not None:
        raise SourceError(
            f"source={said!r} lies in a table of {found}",
            "its folder also holds files that are no longer part of the table",
            f"pass a frame of the table as the source: {REMEDIES[found]}",
        )
