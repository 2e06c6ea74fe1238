"""Proof: golden and theorem tests pass under every kernel of linear algebra that this processor can run.

Kernels round last digits differently, and so do numpy's loops with and without wide vectors. Each of them is another
processor to these tests. A kernel that this processor cannot run is left out, and said so.

Writes docs/evidence/processors.json after each kernel, and leaves with 1 where anything failed. One process.

    ./run prove processors                                about half an hour; begins the file anew
    ./run prove processors --only Zen Prescott            these kernels; the others stay as the file has them
    ./run prove processors --tests tests/golden/test_other_processors.py          of all kernels; writes nothing
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))
from evidence import commit, kept_found, write_found

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "docs" / "evidence" / "processors.json"
PACKAGES = ("gaussmith", "numpy", "scipy")
TESTS = ("tests/golden", "tests/theorems")

KERNELS = {
    "Haswell": ("avx2", "fma"),
    "Zen": ("avx2", "fma"),
    "SkylakeX": ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"),
    "Sandybridge": ("avx",),
    "Prescott": (),
}
"""Kernels of OpenBLAS, and what a processor must have to run them."""

NARROW = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3,X86_V4,AVX512_ICL,AVX512_SPR"}
"""A processor without wide vectors."""


def settings() -> dict[str, dict[str, str]]:
    """The environment of each kernel that this processor can run, by name."""
    cpu = Path("/proc/cpuinfo")
    features = set(cpu.read_text("utf-8").partition("flags")[2].partition("\n")[0].split()) if cpu.exists() else set()
    can_run = {name: {"OPENBLAS_CORETYPE": name} for name, needed in KERNELS.items() if features.issuperset(needed)}
    own: dict[str, dict[str, str]] = {"its own": {}}
    return own | (can_run | {"narrow vectors": NARROW} if "sse2" in features else {})


def run(setting: dict[str, str], tests: list[str]) -> dict[str, Any]:
    """How many tests passed, and which did not."""
    plain = {name: value for name, value in os.environ.items() if name not in NARROW}
    words = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    began = time.monotonic()
    done = subprocess.run(words, cwd=ROOT, env={**plain, **setting}, capture_output=True, text=True)
    passed = re.search(r"(\d+) passed", done.stdout)
    return {
        "passed": int(passed[1]) if passed else 0,
        "failed": re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.stdout, re.MULTILINE),
        "complete": done.returncode == 0,
        "seconds": round(time.monotonic() - began, 1),
        "commit": commit(),
    }


def write(found: dict[str, Any]) -> None:
    """The evidence so far; a kernel that is not in it yet, or that this processor cannot run, is named."""
    claim = "golden and theorem tests pass under every kernel of linear algebra that this processor can run"
    can_run = settings()
    fields = {
        "tests": list(TESTS),
        "cannot_run": [name for name in KERNELS if name not in can_run],
        "not_yet_run": [name for name in can_run if name not in found],
        "kernels": {name: found[name] for name in can_run if name in found},
    }
    write_found(EVIDENCE, claim, None, sum(each["seconds"] for each in found.values()), fields, PACKAGES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(settings()), help="some kernels; the file keeps the others")
    parser.add_argument("--tests", nargs="+", help="some tests; writes nothing")
    asked = parser.parse_args()
    ran = {}
    found = kept_found(EVIDENCE, "kernels").get("kernels", {}) if asked.only else {}
    for name, setting in settings().items():
        if asked.only is None or name in asked.only:
            ran[name] = found[name] = run(setting, asked.tests or list(TESTS))
            shown = f"{name}: {ran[name]['passed']} passed in {ran[name]['seconds']:.0f} s"
            print(shown, *ran[name]["failed"], sep="\n  ", flush=True)
            if asked.tests is None:
                write(found)
    sys.exit(not all(each["complete"] and each["passed"] for each in ran.values()))


if __name__ == "__main__":
    main()
