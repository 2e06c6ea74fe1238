"""What is kept in this process: the last results of a search, by all that it depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

T = TypeVar("T")


def recall(kept: dict[Hashable, T], key: Hashable, find: Callable[[], T], most: int) -> T:
    """What is kept under a key, or else what `find` makes; of more than `most` the one unused for longest goes.

    >>> kept = {}
    >>> [recall(kept, n % 3, lambda: n, most=2) for n in range(5)], kept
    ([0, 1, 2, 3, 4], {0: 3, 1: 4})
    """
    found = kept.pop(key, None)
    kept[key] = found = find() if found is None else found  # at the end
    for old in list(kept)[:-most]:  # other threads may plan too
        kept.pop(old, None)
    return found
