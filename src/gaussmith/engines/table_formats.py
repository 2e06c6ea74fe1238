"""Folders of Delta Lake, Apache Iceberg and Apache Hudi, which hold files that are no longer part of the table.

Such a folder has a log that says which of its files count. Reading all of them would bring deleted rows back, and count
rewritten ones twice: the folder is refused, and so is any path or pattern that reaches into one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gaussmith.errors import SourceError

REMEDIES = {
    "Delta Lake": "pl.scan_delta(path), or deltalake.DeltaTable(path).to_pyarrow_dataset()",
    "Apache Iceberg": "pl.scan_iceberg(path of its metadata.json)",
    "Apache Hudi": "the frame that spark.read.format('hudi').load(path) returns",
}
"""How the table of each format becomes a frame."""


LOGS = {
    "Delta Lake": "_delta_log/*.json",
    "Apache Iceberg": "metadata/*.metadata.json",
    "Apache Hudi": ".hoodie/*",
}
"""Where each keeps its log."""

WORKERS = 8


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


def check_store(said: str, folder: str, is_there: Callable[[str], bool]) -> None:
    """The same for a folder of a store; `is_there` asks the engine whether a pattern finds anything.

    What cannot be asked, for want of a right to list, counts as not there.
    """
    scheme, _, rest = folder.partition("://")
    if scheme in ("http", "https"):  # there, folders cannot be listed
        return
    parts = rest.rstrip("/").split("/")
    folders = [f"{scheme}://{'/'.join(parts[:n])}" for n in range(len(parts), 0, -1)]
    asked = [(name, f"{folder}/{log}") for folder in folders for name, log in LOGS.items()]

    def find(question: tuple[str, str]) -> str | None:
        try:
            return question[0] if is_there(question[1]) else None
        except Exception:  # its words are the engine's, and may hold secrets
            return None

    with ThreadPoolExecutor(WORKERS) as pool:
        for found in pool.map(find, asked):
            _refuse(said, found)


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
            f"source={said!r} reaches into a table of {found}",
            "its folder also holds files that are no longer part of the table",
            f"pass a frame of the table as the source: {REMEDIES[found]}",
            code="inside-a-table-format",
            source=said,
            format=found,
        )
