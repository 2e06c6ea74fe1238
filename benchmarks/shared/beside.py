"""A release beside the plain computation, in turn: processor time (other work hardly touches it), elapsed time."""

from __future__ import annotations

import time
from collections.abc import Callable

from findings import Findings

Call = Callable[[], object]


def measure(found: Findings, name: str, ours: Call, plain: Call, most: float | None, rounds: int) -> None:
    """Processor and elapsed seconds of both, taken in turn; the best of the rounds."""
    times: dict[str, list[tuple[float, float]]] = {"ours": [], "plain": []}
    for turn in range(rounds):
        for who, call in [("plain", plain), ("ours", ours)][:: 1 if turn % 2 == 0 else -1]:
            before, start = time.process_time(), time.perf_counter()
            call()
            times[who].append((time.process_time() - before, time.perf_counter() - start))
    used, elapsed = ([min(run[k] for run in times[who]) for who in ("ours", "plain")] for k in (0, 1))
    claims = {} if most is None else {"at_most": most}
    detail = f"{used[0]:.3f} s / {used[1]:.3f} s of the processor, {elapsed[0]:.3f} s / {elapsed[1]:.3f} s elapsed"
    found.say(f"{name}: processor time over the plain work's", used[0] / used[1], detail, **claims)
