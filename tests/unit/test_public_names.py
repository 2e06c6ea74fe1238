"""The public names: each can be imported, all errors are among them, and nothing heavy is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gaussmith as gm
from gaussmith import errors


def test_every_public_name_is_there() -> None:
    assert sorted(gm.__all__) == sorted(gm._HOMES)
    for name in gm.__all__:
        assert getattr(gm, name).__name__ == name
        assert name in dir(gm)


def test_research_domains_are_names_of_two_packages_and_the_face_says_where() -> None:
    for name in gm.domains.RESEARCH:
        assert getattr(gm.domains, name) is getattr(gm.papers, name) and not hasattr(gm, name)
        with pytest.raises(AttributeError, match=f"write gaussmith.domains.{name}"):
            getattr(gm, name)
    assert {name for name in gm.papers.__all__ if name in gm.domains.__all__} == set(gm.domains.RESEARCH)
    with pytest.raises(AttributeError, match=r"no attribute 'Bal'$"):
        gm.Bal  # noqa: B018


def test_every_public_name_of_the_papers_is_there() -> None:
    """Whatever modules were imported before: none of them has the name of a function."""
    for module in (gm.papers, gm.audit):
        for name in module.__all__:
            assert getattr(module, name).__module__.startswith(("gaussmith.", "functools")), name


def test_every_error_is_a_public_name() -> None:
    raised = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert raised <= set(gm.__all__)


def test_a_bare_import_loads_nothing_heavy() -> None:
    code = "import sys, gaussmith; print(sorted({'numpy', 'polars', 'scipy', 'mpmath', 'altair'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
