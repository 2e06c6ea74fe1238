"""Claims: a draw of exact noise costs no more than numpy's floating-point one, and its time tells next to nothing.

Timing is not covered by the guarantee. What is measured here: how the time of a call goes with the size of the noise it
returns, and what a point costs that has to be settled exactly.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gaussmith.noise.gaussian import BLOCK, CELLS, ERROR, HEIGHT, make_cover, normal_integers, settle, settle_far
from gaussmith.noise.keystream import Keystream

sys.path.insert(0, str(Path(__file__).parent))
from peers import SCRIPTS, TOOLS, Tool, prepare

sys.path.insert(0, str(Path(__file__).parent / "shared"))
from findings import Findings, in_turn

CLAIM = 1.0
ACCEPTANCE = 0.9828
PEERS = {"opendp_vector": "opendp_noise", "diffprivlib_analytic": "diffprivlib_noise"}
"""Tools that draw noise without floats, each with its script."""


def time_call(call: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def draw_words(size: int) -> None:
    """As many words as the points of `size` draws take on average, in the same blocks."""
    stream = Keystream()
    for _ in range(round(size / ACCEPTANCE / BLOCK)):
        stream.words(BLOCK)


def compare_samplers(found: Findings, size: int = 1_000_000, rounds: int = 15) -> None:
    generator, system = np.random.default_rng(), random.SystemRandom()
    samplers: dict[str, Callable[[], object]] = {
        "ours": lambda: normal_integers(size),
        "numpy": lambda: generator.standard_normal(size),
        "words": lambda: draw_words(size),
    }
    times = {name: [seconds / size * 1e9 for seconds in runs] for name, runs in in_turn(samplers, rounds).items()}
    ours, plain, words = (statistics.median(runs) for runs in times.values())
    ratio = statistics.median(a / b for a, b in zip(times["ours"], times["numpy"], strict=True))
    found.say("a draw of exact noise / numpy's", ratio, f"{ours:.1f} ns / {plain:.1f} ns", at_most=CLAIM)
    found.say("the random words it takes / numpy's", words / plain, f"{words:.1f} ns")
    python = time_call(lambda: [system.gauss() for _ in range(2000)]) / 2000 * 1e9
    found.say("Python's SystemRandom.gauss / numpy's", python / plain, f"{python:.0f} ns")
    for tool in TOOLS:
        if tool.script in PEERS:
            compare_peer(found, tool, plain)
    for few in (1, 1000):
        microseconds = statistics.median(time_call(lambda few=few: normal_integers(few)) for _ in range(300)) * 1e6
        found.say(f"a call for {few} draws, microseconds", microseconds)


def compare_peer(found: Findings, tool: Tool, plain: float) -> None:
    """The sampler of another tool, in its own environment; left out, with the reason, where that cannot be made."""
    interpreter, reason = prepare(tool)
    if reason:
        print(f"· {tool.title} left out: {reason}")
        return
    command = [interpreter, str(SCRIPTS / f"{PEERS[tool.script]}.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        print(f"· {tool.title} left out: it ended with {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        return
    nanoseconds = float(done.stdout)
    found.say(f"exact noise of {tool.title.split()[0]} / numpy's", nanoseconds / plain, f"{nanoseconds:,.0f} ns")


def correlate_noise_with_time(found: Findings, calls: int = 20_000) -> None:
    """Rank correlation of |noise| with the time of the call that drew it, one draw a call."""
    magnitudes, seconds = np.empty(calls), np.empty(calls)
    for i in range(calls):
        start = time.perf_counter()
        drawn = normal_integers(1)
        seconds[i] = time.perf_counter() - start
        magnitudes[i] = abs(int(drawn[0]))
    ranks = [np.argsort(np.argsort(values)) for values in (magnitudes, seconds)]
    rank = np.corrcoef(*ranks)[0, 1]
    detail = f"chance alone: ±{2 / calls**0.5:.4f}"
    found.say(f"rank correlation of |noise| and time over {calls} calls", float(rank), detail)


def time_slow_path(found: Findings, calls: int = 300) -> None:
    """What a settled point costs, and how seldom chance brings one."""
    stream = Keystream()
    more = lambda: int(stream.words(1)[0])  # noqa: E731
    edge = HEIGHT * np.exp(-1 / 8)  # the curve at z = ½
    height = round(2**48 * (edge % 1))
    settled: dict[str, Callable[[], object]] = {
        "on the curve": lambda: settle(2**52, int(edge), height, more),
        "far away": lambda: settle_far(0, more),
    }
    for name, call in settled.items():
        once = [time_call(call) for _ in range(calls)]
        found.say(f"settling a point {name}, microseconds", statistics.median(once) * 1e6)
    doubted = 2 * ERROR * make_cover().far / CELLS / ACCEPTANCE
    found.say("draws for one near the curve that has to be settled", 1 / doubted)
    found.say("draws for one far away that has to be settled", 2**9 * CELLS * ACCEPTANCE)


def main() -> int:
    found = Findings("noise", "Noise")
    compare_samplers(found)
    correlate_noise_with_time(found)
    time_slow_path(found)
    return found.keep()


if __name__ == "__main__":
    sys.exit(main())
