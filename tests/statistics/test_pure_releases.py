"""Releases under pure ε have the noise that their plans claim, and intervals that hold: production noise, unseeded.

A check returns a p-value that is exact or too large; there are fewer than 50 of them here, so a false alarm of the file
has probability below 50 · LEVEL. Each is shown to reject noise that is 2 % off, or intervals that are too narrow.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from planting import plant
from scipy import stats

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.noise import geometric
from gaussmith.noise.cube import Cube
from gaussmith.noise.geometric import Geometric
from gaussmith.planning import pure_intervals

LEVEL = 1e-11
PURE = gm.Guarantee(epsilon=1)


def proof_of_pure() -> Any:
    """The cases of `./run prove pure`; by path, for scripts are no package."""
    path = Path(__file__).parents[2] / "proofs" / "pure.py"
    spec = importlib.util.spec_from_file_location("proof_of_pure", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


proof = proof_of_pure()


def two_sided(below: float, above: float) -> float:
    return min(1.0, 2 * min(below, above))


def count_p(hits: int, trials: int, chance: float) -> float:
    return two_sided(stats.binom.cdf(hits, trials, chance), stats.binom.sf(hits - 1, trials, chance))


# -- what is released --------------------------------------------------------------------------------------------------

VALUES, GROUPS = 5_000, 2_500
TABLE = pl.DataFrame({"h": [3, 3, 17, 4_999], "x": [0.25, 1.0, 0.5, 0.75], "y": [3.0, -1.0, 0.0, 2.0]})


def noise_of_counts(releases: int) -> np.ndarray:
    """Released counts of many values, less the true ones: whole numbers."""
    request = gm.Request(TABLE, histograms={"h": list(range(VALUES))}, guarantee=PURE)
    truth = np.bincount(TABLE["h"].to_numpy(), minlength=VALUES)
    return np.concatenate([gm.release(request).values - truth for _ in range(releases)])


def noise_of_groups(releases: int) -> np.ndarray:
    """Released sums and counts of many groups, less the true ones: two numbers for each, in units of a person."""
    by = {"h": list(range(GROUPS))}
    request = gm.Request(TABLE, sums={"x": (0, 1)}, count=True, by=by, guarantee=PURE)
    truth = np.zeros((GROUPS, 2))
    for value, x in TABLE.select("h", "x").iter_rows():
        if value < GROUPS:
            truth[value] += (x, 1)
    found = []
    for _ in range(releases):
        sums, counts = (gm.release(request).values.reshape(GROUPS, 2) - truth).T
        found.append(np.column_stack([2 * sums - counts, counts]))  # w = 2 Σx − n, and n
    return np.concatenate(found)


def p_of_counts(errors: np.ndarray) -> float:
    """How many errors have each size, each an exact binomial."""
    assert (errors == np.rint(errors)).all()
    law = Geometric(Fraction(1), 1)
    sizes = np.abs(errors)
    found = [count_p(int((sizes > t).sum()), len(sizes), float(law.tail(t))) for t in range(12)]
    found += [count_p(int((errors > t).sum()), len(sizes), float(law.tail(t)) / 2) for t in range(6)]
    return min(1.0, min(found) * len(found))


def p_of_groups(errors: np.ndarray) -> float:
    """The larger of both numbers is Gamma(2): their sum over all groups, and how many lie beyond some ends."""
    largest = np.abs(errors).max(axis=1)
    gamma, law = stats.gamma(2 * len(largest)), Cube(Fraction(1), 2**40 + 1, 2)
    found = [two_sided(gamma.cdf(largest.sum()), gamma.sf(largest.sum()))]
    for column in np.abs(errors).T:
        ends = [law.quantile(level).half for level in (0.5, 0.9, 0.99, 0.999)]
        found += [count_p(int((column * 2**40 > end).sum()), len(column), float(law.tail(end))) for end in ends]
    return min(1.0, min(found) * len(found))


OUTPUTS: dict[str, Callable[[], float]] = {
    "counts": lambda: p_of_counts(noise_of_counts(100)),
    "groups": lambda: p_of_groups(noise_of_groups(60)),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_released_numbers_have_the_law_of_the_plan(name: str) -> None:
    assert OUTPUTS[name]() > LEVEL


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("factor", ["98, 100", "102, 100"])
def test_noise_that_is_two_percent_off_is_rejected(name: str, factor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, geometric.geometric_integers, "Split(rate)", f"Split(rate * Fraction({factor}))")
    assert OUTPUTS[name]() < LEVEL


DRAWN = "pure_integers(noise.law, noise.copies)"


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("counts", DRAWN, f"{DRAWN} // 2 * 2"),
        ("groups", "start : start + query", "1 : query"),
        ("groups", DRAWN, "np.repeat(pure_integers(noise.law, 1), noise.copies, axis=0)"),
    ],
)
def test_noise_that_is_used_in_another_way_is_rejected(
    name: str, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, mechanism._release_pure, right, wrong)
    try:
        assert OUTPUTS[name]() < LEVEL
    except ValueError:
        assert "1 :" in wrong  # there is one number too few


# -- intervals ---------------------------------------------------------------------------------------------------------

RELEASES = 10_000


@pytest.mark.parametrize("asked", proof.ASKED)
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_intervals_hold_as_often_as_they_say(asked: str, epsilon: float) -> None:
    found = list(proof.measure(asked, 1_000, epsilon, RELEASES))
    assert found and not [(each.name, each.share) for each in found if each.problem()]


def problems(asked: str) -> list[str]:
    """What is wrong with the intervals of a question at ε = 1."""
    return [each.problem() for each in proof.measure(asked, 1_000, 1.0, RELEASES) if each.problem()]


WIDTH = "half_width([(law, sizes)] * copies, level).half"


@pytest.mark.parametrize(
    ("asked", "wrong"), [("count", "-math.log(1 - level) / law.rate"), ("one sum", "1.7 * deviation")]
)
def test_intervals_of_another_law_are_noticed(asked: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tails of the limit on whole numbers (NOISE.md: 92.7 % at ε = 1), and a width that is not that of the law."""
    assert not problems(asked)
    pure_intervals._law_width.cache_clear()
    monkeypatch.setattr(pure_intervals, "_law_width", pure_intervals._law_width.__wrapped__)
    plant(monkeypatch, pure_intervals._law_width, WIDTH, wrong)
    assert problems(asked) == ["too narrow"]


def test_means_with_the_width_of_one_number_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not problems("one mean")
    pivot, normal = "_means(statistic, noisy, law, level)", "statistic.intervals(noisy, 1.7, method)"
    plant(monkeypatch, pure_intervals.pure_intervals, pivot, normal)
    assert problems("one mean") == ["too narrow"]


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("asked", ["count", "histogram", "several values"])
def test_whole_half_widths_are_the_least_that_hold(asked: str, epsilon: float) -> None:
    """By the law on its lattice: so wide holds often enough, one less does not; and the ends are whole."""
    frame = proof.data_of(30)
    made = gm.release(gm.Request(frame, guarantee=gm.Guarantee(epsilon=epsilon), **proof.ASKED[asked]))
    (noise,) = made.plan.pure_noises
    low, high = made.raw_intervals(proof.normal_width(0.95), "fieller")
    halves = {float(half) for half in np.ravel(high - made.values)} | {
        float(half) for half in np.ravel(made.values - low)
    }
    (half,) = halves
    assert half == round(half)
    assert float(noise.law.tail(half)) <= 0.05 < float(noise.law.tail(half - 1))


def test_a_count_at_epsilon_one_is_told_to_three() -> None:
    made = gm.release(gm.Request(proof.data_of(30), count=True, guarantee=PURE))
    high = made.raw_intervals(proof.normal_width(0.95), "fieller")[1]
    assert float(high.item()) - made.values[0] == 3.0
