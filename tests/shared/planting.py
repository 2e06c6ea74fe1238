"""Faults planted on purpose: a test that does not fail under them proves nothing."""

from __future__ import annotations
import __future__

import inspect
import textwrap
from typing import Any

import pytest


def plant(monkeypatch: pytest.MonkeyPatch, function: Any, right: str, wrong: str) -> None:
    """Let `function` run as if `wrong` stood in its source instead of `right`, wherever it was imported.

    The text must occur exactly once, so that a list of faults cannot go stale unnoticed.
    """
    function = inspect.unwrap(function)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(right) == 1, f"{right!r} occurs {source.count(right)} times in {function.__qualname__}"
    source = source[source.index("def ") :]  # without what wraps it
    code = compile(source.replace(right, wrong), f"<{wrong}>", "exec", __future__.annotations.compiler_flag)
    made: dict[str, Any] = {}
    exec(code, function.__globals__, made)
    monkeypatch.setattr(function, "__code__", made[function.__name__].__code__)
