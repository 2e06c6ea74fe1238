"""How much more work a larger request makes, counted in calls: a figure without a clock, the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls(work: Callable[[], Any]) -> int:
    """The number of calls that some work makes, in Python and of what is compiled."""
    seen = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return seen


def growth(work: Callable[[int], Callable[[], Any]], size: int) -> float:
    """The calls at twice the size over those at the size; `work` prepares, what it returns is counted.

    The first run at each size is not counted: what is imported or kept for good is then there.
    """
    found = []
    for each in (size, 2 * size):
        work(each)()
        found.append(calls(work(each)))
    return found[1] / found[0]
