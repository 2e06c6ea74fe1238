"""How a command ends: with its code, once all of its own is done, and within another program not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
FIRST = "import atexit, sys\natexit.register(print, 'registered first')\n"
RUN = "from gaussmith.__main__ import run\nrun()"


def python(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SRC)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(("flag", "code"), [("--mu", 0), ("--nu", 2)])
def test_a_command_ends_with_its_code_once_all_of_its_own_is_done(flag: str, code: int) -> None:
    """Modules are not taken down; what was registered since the start has run, and all is printed."""
    within = f"sys.argv[1:] = ['calibrate', {flag!r}, '1']\nimport gaussmith.cli as cli\nmain = cli.main\n"
    within += "cli.main = lambda: (atexit.register(print, 'registered within'), main())[1]\n"
    done = python(FIRST + within + RUN)
    assert done.returncode == code
    assert done.stdout.endswith("registered within\n")


def test_a_command_within_another_program_leaves_its_end_alone() -> None:
    inner = "import runpy\nsys.argv[1:] = ['calibrate', '--mu', '1']\n"
    inner += "try:\n    runpy.run_module('gaussmith', run_name='__main__')\nexcept SystemExit:\n    sys.exit(7)\n"
    done = python(FIRST + inner)
    assert done.returncode == 7
    assert done.stdout.endswith("registered first\n")


def test_a_command_that_is_measured_ends_as_usual() -> None:
    watched = "sys.argv[1:] = ['--version']\nsys.settrace(lambda *_: None)\n"
    done = python(FIRST + watched + RUN)
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, ["registered first"])
