"""What proofs leave in docs/evidence: which commit was proved, when, with which packages, and what was found."""

from __future__ import annotations

import json
import platform
import subprocess
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evidence_page import write_page

ROOT = Path(__file__).parents[2]


def write_found(
    file: Path, claim: str, seed: str | None, seconds: float, found: dict[str, Any], names: Sequence[str]
) -> None:
    """Write what a proof found, with the versions of the packages named, and make docs/evidence.md anew.

    `seed` is None where nothing can be made again: releases draw their noise from the operating system.
    """
    fields = {
        "claim": claim,
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **({} if seed is None else {"seed": seed}),
        "seconds": round(seconds, 1),
        **found,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in names}},
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(fields, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if file.parent == ROOT / "docs" / "evidence":
        write_page()


def kept_found(file: Path, *names: str) -> dict[str, Any]:
    """Fields that were written by hand, or by another proof, and stay."""
    fields = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return {name: fields[name] for name in names if name in fields}


def commit() -> str:
    """The commit that was proved, marked where the tree has changes of its own."""

    def ask(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = ask("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/evidence", ":!docs/evidence.md")
    return (ask("rev-parse", "HEAD") or "unknown") + ("-dirty" if changed else "")
