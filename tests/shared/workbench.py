"""A workbench in a process of its own, and the system's Chromium that opens it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

COMPILED = tempfile.TemporaryDirectory(prefix="compiled-")
"""Where servers keep compiled modules, as an installed package does, also where tests are run without."""

REQUEST = """\
source = "health.parquet"
guarantee = { epsilon = 1, delta = 1e-6 }
count = true

[sums]
mdvis = [0, 80]  # visits to a doctor in a year

[means]
disea = [0, 60]  # index of chronic diseases
"""


def make_folder(folder: Path) -> Path:
    """The health data, a request about it, and a ledger."""
    from importlib import resources

    from gaussmith.ledger.book import Ledger
    from gaussmith.privacy.guarantee import Guarantee

    shutil.copy(str(resources.files("gaussmith") / "data" / "randhie.parquet"), folder / "health.parquet")
    (folder / "request.toml").write_text(REQUEST)
    Ledger.create(folder / "study.ledger", Guarantee(epsilon=3, delta=1e-6))
    return folder


class Workbench:
    """A running server; `address` holds its key."""

    def __init__(self, folder: Path, *words: str, **variables: str) -> None:
        source = str(Path(__file__).parents[2] / "src")
        environment = {**os.environ, "PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1", **variables}
        environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": COMPILED.name}
        command = [sys.executable, "-m", "gaussmith", "workbench", *words, "--json"]
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = str(json.loads(self.process.stdout.readline())["address"])
        self.home = self.address.partition("?")[0]

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.terminate()
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()
