"""Production noise against exact null laws, unseeded; and planted faults, each of which the same checks must reject.

A check takes a sampler and returns a p-value that is exact or too large. Noise passes when it exceeds `LEVEL`; there
are fewer than 50 such comparisons in this file, so a false alarm has probability below 50 · LEVEL = 1e-9.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import mpmath
import numpy as np
import pytest
from planting import plant
from scipy import stats

from gaussmith.errors import GaussmithError
from gaussmith.noise import gaussian as decide
from gaussmith.noise import gaussian as normal
from gaussmith.noise.gaussian import normal_integers
from gaussmith.noise.keystream import Keystream

LEVEL = 2e-11
Sampler = Callable[[int, int], np.ndarray]


def two_sided(below: float, above: float) -> float:
    """The p-value of a statistic with these two exact tail probabilities."""
    return min(1.0, 2 * min(below, above))


def count_p(count: int, trials: int, probability: float) -> float:
    law = stats.binom(trials, probability)
    return two_sided(law.cdf(count), law.sf(count - 1))


def smallest(p_values: Iterable[float]) -> float:
    """The p-value of the worst of several (Bonferroni)."""
    p_values = list(p_values)
    return min(1.0, len(p_values) * min(p_values))


# ── checks ──────────────────────────────────────────────────────────────────────────────────────────────────────


def check_scale(draw: Sampler) -> float:
    """Σ z² is χ² with as many degrees of freedom as draws (rounding to 2^−52 moves it by nothing that shows)."""
    n = 4_000_000
    z = draw(n, 52) / 2.0**52
    law = stats.chi2(n)
    return two_sided(law.cdf(z @ z), law.sf(z @ z))


def check_centre(draw: Sampler) -> float:
    n = 2_000_000
    mean = draw(n, 52).astype(float).sum() / 2.0**52 / np.sqrt(n)
    return two_sided(stats.norm.cdf(mean), stats.norm.sf(mean))


@lru_cache
def probabilities(bits: int) -> tuple[np.ndarray, np.ndarray]:
    """The values round(2^bits Z) within 4½ standard deviations and their probabilities, right to 30 digits."""
    top = 9 * 2**bits // 2
    values = np.arange(-top, top + 1)
    with mpmath.workdps(30):
        root = mpmath.sqrt(2) * 2 ** (bits + 1)
        tails = [mpmath.erfc((2 * int(abs(j)) + side) / root) / 2 for j in values for side in (-1, 1)]
        return values, np.array([float(a - b) for a, b in zip(tails[::2], tails[1::2], strict=True)])


def check_values(bits: int) -> Callable[[Sampler], float]:
    """How often each single value comes, and any value beyond, are binomial counts."""

    def check(draw: Sampler) -> float:
        n = 4_000_000
        values, p = probabilities(bits)
        drawn = draw(n, bits)
        inside = np.abs(drawn) <= values[-1]
        counts = np.bincount(drawn[inside] - values[0], minlength=len(values))
        each = [count_p(int(c), n, q) for c, q in zip(counts, p, strict=True)]
        return smallest([*each, count_p(int(n - counts.sum()), n, 1 - p.sum())])

    check.__name__ = f"check_values_at_{bits}_bits"
    return check


def check_pairs(draw: Sampler) -> float:
    """Given b, Σ a·b / ‖b‖ is standard normal: for a draw with the next, with a far one, and with another call's."""
    n = 2_000_000
    z, other = draw(n, 52) / 2.0**52, draw(n, 52) / 2.0**52
    pairs = [(z[::2], z[1::2]), (z[: n // 2], z[n // 2 :]), (z, other)]
    scores = [a @ b / np.sqrt(b @ b) for a, b in pairs]
    return smallest(two_sided(stats.norm.cdf(s), stats.norm.sf(s)) for s in scores)


def check_magnitudes(draw: Sampler) -> float:
    """Whether |z| exceeds its median is a fair coin, unrelated to the next draw's and to another call's."""
    n = 1_000_000
    median = stats.norm.ppf(0.75) * 2.0**52
    large, other = np.abs(draw(n, 52)) > median, np.abs(draw(n, 52)) > median
    events = [large, large[::2] ^ large[1::2], large[: n // 2] ^ large[n // 2 :], large ^ other]
    return smallest(count_p(int(event.sum()), len(event), 0.5) for event in events)


def check_signs(draw: Sampler) -> float:
    """The sign is a fair coin, unrelated to the draw's size, to its last bit, to the next sign and to its place."""
    # Calls of 150 · 64 draws, each made in one block.
    drawn = np.concatenate([draw(9600, 52) for _ in range(100)])
    plus, size = drawn > 0, np.abs(drawn)
    events = [plus, plus[::2] ^ plus[1::2], plus ^ (size & 1 == 1)]
    events += [plus[(low <= size) & (size < low + 2**51)] for low in range(0, 2**53 + 2**52, 2**51)]
    events += list(plus.reshape(-1, 64).T)
    return smallest(count_p(int(event.sum()), len(event), 0.5) for event in events)


def check_low_bits(draw: Sampler) -> float:
    """At a resolution of 2^−52 all bits below 2^−7 are fair coins, and the last byte is uniform."""
    n = 1_000_000
    drawn = draw(n, 52)
    bits = [count_p(int((drawn >> i & 1).sum()), n, 0.5) for i in range(45)]
    last = [count_p(int(c), n, 1 / 256) for c in np.bincount(drawn & 255, minlength=256)]
    # Doubles thin out as they grow, so a fault of theirs shows where the draw is large.
    large = drawn[np.abs(drawn) >= 2**53]
    return smallest([*bits, *last, *(count_p(int((large >> i & 1).sum()), len(large), 0.5) for i in range(8))])


def check_repeats(draw: Sampler) -> float:
    """Magnitudes at 52 bits almost never meet: pairs that do are as good as Poisson with mean n²/2 · Σ p²."""
    n = 1_000_000
    drawn = np.concatenate([draw(n // 2, 52), draw(n // 2, 52)])
    meetings = n - len(np.unique(np.abs(drawn)))
    return float(stats.poisson.sf(meetings - 1, n * n / 2 * 2.0**-52 / np.sqrt(np.pi)))


CHECKS = [
    check_scale,
    check_centre,
    *(check_values(bits) for bits in (0, 1, 2, 3)),
    check_pairs,
    check_magnitudes,
    check_signs,
    check_low_bits,
    check_repeats,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_production_noise_passes(check):
    assert check(normal_integers) > LEVEL


# ── planted faults ──────────────────────────────────────────────────────────────────────────────────────────────


def scale_by(factor: float) -> Sampler:
    def draw(size: int, bits: int) -> np.ndarray:
        return np.rint(normal_integers(size, 52) * (factor * 2.0 ** (bits - 52))).astype(np.int64)

    return draw


def shift(size: int, bits: int) -> np.ndarray:
    return normal_integers(size, bits) + int(0.01 * 2**bits)


def round_down(size: int, bits: int) -> np.ndarray:
    return normal_integers(size, bits + 4) >> 4


def cut_tails(size: int, bits: int) -> np.ndarray:
    drawn = normal_integers(size + size // 100 + 1000, bits)
    return drawn[np.abs(drawn) <= 3 * 2**bits][:size]


def repeat_blocks(size: int, bits: int) -> np.ndarray:
    return np.resize(normal_integers(-(-size // 2), bits), size)


def repeat_pairs(size: int, bits: int) -> np.ndarray:
    return np.repeat(normal_integers(-(-size // 2), bits), 2)[:size]


def repeat_magnitudes(size: int, bits: int) -> np.ndarray:
    return repeat_pairs(size, bits) * (1 - 2 * (normal_integers(size) & 1))


def repeat_calls() -> Sampler:
    """What a generator does after a fork: the second call gives what the first gave."""
    kept: dict[tuple[int, int], np.ndarray] = {}
    return lambda size, bits: kept.setdefault((size, bits), normal_integers(size, bits))


def repeat_few(size: int, bits: int) -> np.ndarray:
    drawn = normal_integers(size, bits)
    drawn[-5:] = drawn[:5]
    return drawn


def lean_on_the_last(size: int, bits: int) -> np.ndarray:
    z = normal_integers(size + 1, bits) * 1.0
    return np.rint(np.sqrt(1 - 0.02**2) * z[1:] + 0.02 * z[:-1]).astype(np.int64)


def favour_plus(size: int, bits: int) -> np.ndarray:
    drawn = normal_integers(size, bits)
    return np.where(np.arange(size) % 50 == 0, np.abs(drawn), drawn)


def alternate_signs(size: int, bits: int) -> np.ndarray:
    return np.abs(normal_integers(size, bits)) * (1 - 2 * (np.arange(size) & 1))


def sign_from_last_bit(size: int, bits: int) -> np.ndarray:
    magnitude = np.abs(normal_integers(size, bits))
    return np.where(magnitude & 1, magnitude, -magnitude)


def sign_from_size(size: int, bits: int) -> np.ndarray:
    magnitude = np.abs(normal_integers(size, bits))
    return np.where((magnitude >> max(bits - 1, 0)) & 1, magnitude, -magnitude)


def stick_one_sign_bit(size: int, bits: int) -> np.ndarray:
    drawn = normal_integers(size, bits)
    drawn[17::64] = np.abs(drawn[17::64])
    return drawn


def round_doubles(size: int, bits: int) -> np.ndarray:
    """The naive mechanism: a double, scaled. Its last bits tell how large it is."""
    return np.rint(np.random.default_rng().standard_normal(size) * 2.0**bits).astype(np.int64)


def drop_last_bit(size: int, bits: int) -> np.ndarray:
    return normal_integers(size, bits) & ~1


FAULTS = [
    (check_scale, scale_by(0.98)),
    (check_scale, scale_by(1.02)),
    (check_scale, scale_by(0.995)),
    (check_scale, cut_tails),
    (check_centre, shift),
    (check_centre, favour_plus),
    (check_values(0), scale_by(0.98)),
    (check_values(2), scale_by(0.98)),
    (check_values(0), cut_tails),
    (check_values(3), cut_tails),
    (check_values(0), round_down),
    (check_values(3), round_down),
    (check_values(0), favour_plus),
    (check_pairs, repeat_blocks),
    (check_pairs, repeat_pairs),
    (check_pairs, repeat_calls()),
    (check_pairs, lean_on_the_last),
    (check_magnitudes, repeat_magnitudes),
    (check_magnitudes, repeat_calls()),
    (check_magnitudes, scale_by(0.98)),
    (check_signs, favour_plus),
    (check_signs, alternate_signs),
    (check_signs, sign_from_last_bit),
    (check_signs, sign_from_size),
    (check_signs, stick_one_sign_bit),
    (check_low_bits, round_doubles),
    (check_low_bits, drop_last_bit),
    (check_repeats, repeat_few),
    (check_repeats, repeat_calls()),
    (check_repeats, repeat_magnitudes),
]


@pytest.mark.parametrize(
    ("check", "fault"), [pytest.param(*pair, id=f"{pair[0].__name__}-{pair[1].__qualname__}") for pair in FAULTS]
)
def test_planted_faults_are_rejected(check, fault):
    assert check(fault) < LEVEL


SAMPLER_FAULTS = {
    "every point of an edge cell": (normal._throw, "edge[~accepted]", "edge[:0]", check_values(2)),
    "no point of an edge cell": (normal._throw, "edge[~accepted]", "edge", check_values(2)),
    "heights not looked at": (normal._compute_margins, "heights * 2.0**-48", "0.0", check_values(2)),
    "levels not looked at": (normal._compute_margins, "margins -= levels", "pass", check_values(2)),
    "half of the exponent": (normal._compute_margins, "-0.5", "-0.25", check_values(2)),
    "places rounded down": (normal._draw, "1 << MOST_BITS - bits", "0", check_values(0)),
    "rejected points kept": (normal._close, "block[gaps] = block[kept:][behind]", "pass", check_values(2)),
    "the last points twice": (normal._close, "return kept", "return len(block)", check_repeats),
}


@pytest.mark.parametrize("fault", SAMPLER_FAULTS)
def test_faults_of_the_sampler_are_rejected(fault, monkeypatch):
    function, right, wrong, check = SAMPLER_FAULTS[fault]
    plant(monkeypatch, function, right, wrong)
    assert check(normal_integers) < LEVEL


# ── the far tail, which chance does not reach: forced ───────────────────────────────────────────────────────────


Settler = Callable[[int, Callable[[], int]], int | None]


def check_far_tail(settle_far: Settler) -> float:
    """Of points in the lowest part of the far cell so many are accepted, on each side, nearer and farther."""
    n, stream = 20_000, Keystream()
    settled = [settle_far(height >> 25, lambda: int(stream.words(1)[0])) for height in stream.words(n).tolist()]
    z = np.array([place / 2.0**53 for place in settled if place is not None])
    with mpmath.workdps(30):
        area = 2**9 * 2**6 * 803 * mpmath.sqrt(2 * mpmath.pi)  # of a strip's lowest part, over the curve's
        beyond = {edge: float(area * mpmath.ncdf(-edge)) for edge in (6, mpmath.mpf("6.15"), mpmath.mpf("6.5"))}
    counts = [count_p(int((np.abs(z) >= float(edge)).sum()), n, p) for edge, p in beyond.items()]
    return smallest([*counts, count_p(int((z > 0).sum()), len(z), 0.5), 1.0 if (np.abs(z) >= 6).all() else 0.0])


def test_the_far_tail_has_its_weight():
    assert check_far_tail(decide.settle_far) > LEVEL


def cut(settled: int | None) -> int | None:
    return None if settled is None or abs(settled) > 6.5 * 2**53 else settled


def test_a_support_that_is_cut_or_lopsided_is_rejected():
    assert check_far_tail(lambda height, more: None) < LEVEL
    assert check_far_tail(lambda height, more: cut(decide.settle_far(height, more))) < LEVEL
    assert check_far_tail(lambda height, more: decide.settle_far(height, lambda: more() & ~1)) < LEVEL


# ── freshness ───────────────────────────────────────────────────────────────────────────────────────────────────


# Python 3.12 and later warn that a fork leaves other threads (numpy's own) behind; here that is the point.
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


def all_distinct(draws: list[np.ndarray]) -> bool:
    """No magnitude twice, in one draw or in two (by chance below 1e-10 for a few hundred values)."""
    flat = np.abs(np.concatenate(draws))
    return len(flat) > 64 and len(np.unique(flat)) == len(flat)


@FORKS
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_four_workers_draw_different_noise(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    context = multiprocessing.get_context(method)
    before = normal_integers(64)
    with context.Pool(1) as a, context.Pool(1) as b, context.Pool(1) as c, context.Pool(1) as d:
        theirs = [pool.apply_async(normal_integers, (64,)) for pool in (a, b, c, d)]
        again = [pool.apply_async(normal_integers, (64,)) for pool in (a, b, c, d)]
        draws = [result.get(timeout=60) for result in theirs + again]
    assert all_distinct([before, *draws, normal_integers(64)])


def test_threads_draw_different_noise():
    with ThreadPoolExecutor(4) as pool:
        assert all_distinct(list(pool.map(normal_integers, [64] * 16)))


def test_a_draw_repeated_by_a_worker_is_noticed():
    drawn = normal_integers(64)
    assert not all_distinct([drawn, normal_integers(64), drawn])
    assert not all_distinct([drawn, -drawn])


@FORKS
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_keystream_carried_into_a_fork_refuses():
    stream = Keystream()
    stream.words(1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # leave by _exit: nothing of the test runner may run twice
        try:
            stream.words(1)
            os.write(write, b"words")
        except GaussmithError:
            os.write(write, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 16) == b"refused"
    os.close(read), os.close(write)
    assert len(stream.words(1)) == 1  # and still serves its own process
