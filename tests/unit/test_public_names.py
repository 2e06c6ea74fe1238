"""The public names: each can be imported, all errors are among them, and nothing heavy is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys

import gaussmith as gm
from gaussmith import errors


def test_every_public_name_is_there() -> None:
    assert sorted(gm.__all__) == sorted(gm._HOMES)
    for name in gm.__all__:
        assert getattr(gm, name).__name__ == name
        assert name in dir(gm)


def test_every_error_is_a_public_name() -> None:
    raised = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert raised <= set(gm.__all__)


def test_a_bare_import_loads_nothing_heavy() -> None:
    code = "import sys, gaussmith; print(sorted({'numpy', 'polars', 'scipy', 'mpmath', 'altair'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
