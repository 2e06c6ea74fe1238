"""Where the answers of a question are in a plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """Where the answers of a question are: the draw, their places in its block, and whether the count is shown.

    The name is empty where a plan has one question without a name.
    """

    name: str
    draw: int
    shown: tuple[int, ...]
    count: bool
