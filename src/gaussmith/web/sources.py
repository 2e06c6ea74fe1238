"""Which sources the workbench may open, and the names and types of their columns. No value is read."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from gaussmith.engines.addresses import scheme_of, without_secrets
from gaussmith.errors import SourceError
from gaussmith.values import dataclass

MAX_FILES = 10_000
"""Limit on the files of a folder or a pattern that are looked at."""


@dataclass(frozen=True)
class Reach:
    """What may be opened: everything in the folder of the server, and what its command line named."""

    folder: Path
    named: str | None = None

    def resolve(self, text: str) -> str:
        """The full path of a source, or its address; refuses what lies elsewhere.

        Links are followed first, so that none leads out of the folder.
        """
        if text and self.named is not None and text in (self.named, self.shown(self.named)):
            return self.named
        if not text:
            raise _refused(text, "a request must name its data", "write a path, such as people.parquet")
        if scheme_of(text) is not None or "\0" in text:
            rule = "an address is opened only if the command line named it"
            raise _refused(text, rule, "start the workbench with it: gaussmith workbench ADDRESS")
        path = os.path.normpath(self.folder / text)
        root = os.path.realpath(self.folder)
        for place in (path, *_inside(path)):
            if not _is_below(os.path.realpath(place), root):
                rule = "only files in the folder where the workbench was started are opened"
                raise _refused(text, rule, "start it in the folder of the data, or name the data on its command line")
        return path

    def shown(self, address: str) -> str:
        """A source as the form shows it: relative to the folder where it lies in it."""
        if scheme_of(address) is not None:
            return without_secrets(address)
        inside = os.path.relpath(address, self.folder)
        return address if inside.startswith("..") else inside

    def offered(self, most: int = 50) -> list[str]:
        """Files of the folder that can be opened, for a list in the form."""
        kinds = (".parquet", ".csv", ".tsv", ".arrow", ".ipc", ".feather", ".jsonl", ".ndjson")
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries if entry.name.endswith(kinds)]
        except OSError:
            return []
        return sorted(names)[:most]


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _inside(path: str) -> list[str]:
    """The files that a pattern or a folder stands for."""
    if glob.has_magic(path):
        return [match for match, _ in zip(glob.iglob(path, recursive=True), range(MAX_FILES), strict=False)]
    if not os.path.isdir(path):
        return []
    found: list[str] = []
    for folder, folders, files in os.walk(path):
        found += [os.path.join(folder, name) for name in (*folders, *files)]
        if len(found) > MAX_FILES:
            break
    return found[:MAX_FILES]


def read_columns(source: str, engine: str | None = None, master: str | None = None) -> dict[str, str]:
    """The kind of each column of a source, empty where its format says none, as CSV. No value is read."""
    from gaussmith import mechanism

    kinds, written = mechanism.read_kinds(source, engine, master)
    return {name: "" if name in written else kind for name, kind in kinds.items()}


def written_at(source: str) -> int:
    """When a file was written last; 0 where that is not known, as for addresses and patterns."""
    try:
        return os.stat(source).st_mtime_ns
    except (OSError, ValueError):
        return 0


def _refused(text: str, rule: str, remedy: str) -> SourceError:
    what = f"source={without_secrets(text)!r}" if text else "source is empty"
    return SourceError(what, rule, remedy, code="source-out-of-reach", field="source")
