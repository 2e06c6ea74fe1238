"""The files of a release that the page hands out."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.report.page import page

if TYPE_CHECKING:
    from gaussmith.releases import Release
    from gaussmith.web.desk import Job

TYPES = {
    "report.html": "text/html; charset=utf-8",
    "release.json": "application/json",
    "answers.csv": "text/csv; charset=utf-8",
    "answers.parquet": "application/vnd.apache.parquet",
    "request.toml": "application/toml; charset=utf-8",
    "release.py": "text/x-python; charset=utf-8",
    "release.ipynb": "application/x-ipynb+json",
    "registry.json": "application/json",
}
"""The files by name, with their types, in the order in which they are offered."""

PURPOSES = {
    "report.html": "the report below, to read, print or publish",
    "release.json": "everything in one file, for archives and programs",
    "answers.csv": "the answers for a spreadsheet",
    "answers.parquet": "the answers for a program, with their types",
    "request.toml": "what was asked, to keep, review or ask again",
    "release.py": "the same in Python; needs request.toml beside it",
    "release.ipynb": "the same as a notebook; needs request.toml beside it",
    "registry.json": "a draft of an entry for a registry of deployments; [about] in the request fills it",
}
"""What each file is for."""

OF_REQUEST = ("request.toml", "release.py", "release.ipynb")
"""Those that are there only together with the request."""

SCRIPT = '''\
"""The same request in Python: its plan, and its release with a ledger."""

import gaussmith as gm

request = gm.Request.from_toml("request.toml")
print(request.plan)

# Asking with the same id returns the stored release, and is not charged again.
{call}
print(release)
'''


def content(job: Job, name: str, ledger: str | None) -> bytes:
    """The bytes of one file."""
    release = job.release
    assert release is not None
    makers: dict[str, Callable[[], bytes]] = {
        "report.html": lambda: page(release).encode("utf-8", "replace"),
        "release.json": lambda: (release.to_json() + "\n").encode("utf-8", "surrogatepass"),
        "answers.csv": lambda: _written(release, name),
        "answers.parquet": lambda: _written(release, name),
        "request.toml": job.toml.encode,
        "release.py": lambda: _script(job, ledger).encode(),
        "release.ipynb": lambda: _notebook(job, ledger).encode(),
        "registry.json": lambda: _registry(release),
    }
    return makers[name]()


def _written(release: Release, name: str) -> bytes:
    """A file as `--out` writes it."""
    from gaussmith.report import write_folder

    with tempfile.TemporaryDirectory() as folder:
        write_folder(release, folder)
        return (Path(folder) / name).read_bytes()


def _registry(release: Release) -> bytes:
    """An entry for the registry of deployments; it says what is missing where the request says nothing about itself."""
    return (json.dumps(release.registry(draft=True), ensure_ascii=False, indent=2) + "\n").encode()


def _script(job: Job, ledger: str | None) -> str:
    charged = f", ledger={ledger!r}, id={job.id!r}" if ledger and job.id else ""
    return SCRIPT.format(call=f"release = gm.release(request{charged})")


def _notebook(job: Job, ledger: str | None) -> str:
    """A notebook of the same steps; it is handed out without output."""
    body = _script(job, ledger).partition('"""\n\n')[2]
    about = "# A private release\n\nPut `request.toml` beside this notebook."
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "id": "about", "metadata": {}, "source": about}]
    parts = body.split("\n\n")
    parts = [f"{parts[0]}\n\n{parts[1]}", *parts[2:]]
    for i, text in enumerate(parts):
        cells.append({"cell_type": "code", "id": f"step-{i + 1}", "metadata": {}, "source": text.strip(),
                      "execution_count": None, "outputs": []})  # fmt: skip
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1)
