"""What a benchmark found: every figure beside what is claimed for it, printed, and kept under .benchmarks/.

`report.py` makes tables of what is kept. A figure that misses its claim makes the benchmark fail.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parents[2] / ".benchmarks"


def machine() -> dict[str, Any]:
    """The shape of this machine, and nothing that names it."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": os.cpu_count(),
        "gigabytes": round(gigabytes),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def save(name: str, result: dict[str, Any]) -> None:
    """Keep what a benchmark found."""
    CACHE.mkdir(exist_ok=True)
    (CACHE / f"{name}.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


def holds(figure: dict[str, Any]) -> bool:
    """Whether a figure is within what is claimed for it; one without a claim always is."""
    return bool(figure.get("at_least", figure["found"]) <= figure["found"] <= figure.get("at_most", figure["found"]))


def claim(figure: dict[str, Any]) -> str:
    """What is claimed for a figure, in words."""
    sides = {"at_most": "at most", "at_least": "at least"}
    return ", ".join(f"{words} {figure[key]:g}" for key, words in sides.items() if key in figure)


class Findings:
    """The figures of one benchmark, in the order in which they are said."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.figures: list[dict[str, Any]] = []
        self.left_out: dict[str, str] = {}
        self.load, self.start = [os.getloadavg()[0]], time.perf_counter()

    def say(self, what: str, found: float, detail: str = "", **claims: float) -> None:
        """Print and remember a figure; `at_most` and `at_least` say what is claimed."""
        figure = {"what": what, "found": found, **claims}
        self.figures.append(figure)
        mark = ("✓" if holds(figure) else "✗") if claims else "·"
        claimed = f" (claimed {claim(figure)})" if claims else ""
        print(f"{mark} {what}: {found:.3g}{claimed}{f'  {detail}' if detail else ''}", flush=True)

    def leave_out(self, what: str, reason: str) -> None:
        """Print and remember what could not be measured, and why."""
        self.left_out[what] = reason
        print(f"· {what} left out: {reason}", flush=True)

    def keep(self, **more: Any) -> int:
        """Write the figures down, and more beside them; the status to leave with."""
        load = [*self.load, os.getloadavg()[0]]
        result = {"title": self.title, "date": today(), "machine": machine(), "load": load, "figures": self.figures}
        result["seconds"] = round(time.perf_counter() - self.start)
        result |= {"left_out": self.left_out} if self.left_out else {}
        result |= more
        save(self.name, result)
        print(f"{self.name}: {result['seconds']} s in all", flush=True)
        return 0 if all(map(holds, self.figures)) else 1


def in_turn(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each call in each round; forwards and backwards, so that other work falls on all alike."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
            start = time.perf_counter()
            calls[name]()
            found[name].append(time.perf_counter() - start)
    return found
