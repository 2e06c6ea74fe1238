"""Claims: a draw of exact noise costs at most 8 of numpy's floating-point ones, and its time tells next to nothing.

Timing is not covered by the guarantee. What is measured here: how the time of a call goes with the size of the noise it
returns, and what a proposal costs that has to be settled exactly.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

import numpy as np

from gaussmith.noise import normal_integers
from gaussmith.noise.decide import settle
from gaussmith.noise.keystream import Keystream
from gaussmith.noise.normal import BLOCK, ERROR, THRESHOLDS

CLAIM = 8.0
ACCEPTANCE = 0.7148


def time_call(call: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def draw_words(size: int) -> None:
    """As many words as `size` draws take on average, in the same blocks."""
    stream = Keystream()
    for _ in range(round(size / ACCEPTANCE / BLOCK)):
        stream.words(3 * BLOCK)


def compare_samplers(size: int = 1_000_000, rounds: int = 15) -> None:
    generator, system = np.random.default_rng(), random.SystemRandom()
    samplers: dict[str, Callable[[], object]] = {
        "gaussmith normal_integers": lambda: normal_integers(size),
        "numpy standard_normal": lambda: generator.standard_normal(size),
        "the random words it takes": lambda: draw_words(size),
    }
    # In turn, so that whatever else the machine does falls on all alike.
    times = {name: [] for name in samplers}
    for _ in range(rounds):
        for name, sampler in samplers.items():
            times[name].append(time_call(sampler) / size * 1e9)
    times["Python SystemRandom.gauss"] = [time_call(lambda: [system.gauss() for _ in range(2000)]) / 2000 * 1e9]
    for name, nanoseconds in times.items():
        print(f"  {name:<28} {statistics.median(nanoseconds):8.1f} ns a draw")
    exact, plain = (times[name] for name in ("gaussmith normal_integers", "numpy standard_normal"))
    ratio = statistics.median(a / b for a, b in zip(exact, plain, strict=True))
    print(f"  exact noise costs {ratio:.2f} × numpy's (claim: at most {CLAIM:g}) {'✓' if ratio <= CLAIM else '✗'}")
    for few in (1, 10, 100, 1000):
        microseconds = statistics.median(time_call(lambda few=few: normal_integers(few)) for _ in range(300)) * 1e6
        print(f"  a call for {few:>4} draws: {microseconds:6.1f} µs")


def correlate_noise_with_time(calls: int = 20_000) -> None:
    """Rank correlation of |noise| with the time of the call that drew it, one draw a call."""
    magnitudes, seconds = np.empty(calls), np.empty(calls)
    for i in range(calls):
        start = time.perf_counter()
        drawn = normal_integers(1)
        seconds[i] = time.perf_counter() - start
        magnitudes[i] = abs(int(drawn[0]))
    ranks = [np.argsort(np.argsort(values)) for values in (magnitudes, seconds)]
    rank = np.corrcoef(*ranks)[0, 1]
    print(
        f"  rank correlation of |noise| and time over {calls} calls: {rank:+.4f} (chance alone: ±{2 / calls**0.5:.4f})"
    )


def time_slow_path(calls: int = 300) -> None:
    """What a settled proposal costs, and how seldom chance brings one."""
    more = Keystream()
    half = round(2**64 * np.exp(-1 / 8))
    doubtful = {
        "acceptance in doubt": (0, 2**63, half),
        "word on a threshold of k": (THRESHOLDS[1], 2**63, 0),
        "word beyond the last": (THRESHOLDS[-1], 0, 0),
    }
    for name, words in doubtful.items():
        once = [time_call(lambda words=words: settle(*words, lambda: int(more.words(1)[0]))) for _ in range(calls)]
        print(f"  {name:<28} {statistics.median(once) * 1e6:8.1f} µs more")
    rate = (2 * ERROR + len(THRESHOLDS) * 2.0**-64) / ACCEPTANCE
    print(f"  chance brings one of them once in {1 / rate:.1e} draws; a block with one takes so much longer")


def main() -> None:
    compare_samplers()
    correlate_noise_with_time()
    time_slow_path()


if __name__ == "__main__":
    main()
