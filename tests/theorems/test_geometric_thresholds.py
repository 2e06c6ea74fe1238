"""Thresholds of found groups whose counts have geometric noise: (ε, κ) by brute force over all that is shown."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from gaussmith.noise.cube import Cube
from gaussmith.noise.geometric import Geometric
from gaussmith.privacy.thresholds import geometric_threshold, shows_geometric

KNOWN = {
    ("1", "1e-06", 1): 15,
    ("1", "1e-05", 1): 13,
    ("1", "1e-05", 3): 38,
    ("0.5", "1e-06", 1): 28,
    ("3", "1e-09", 10): 76,
}


@pytest.mark.parametrize("case", KNOWN)
def test_thresholds_known_beforehand(case):
    epsilon, kappa, groups = case
    assert geometric_threshold(Fraction(kappa), groups, Fraction(epsilon)) == KNOWN[case]


def shown_law(n: int, threshold: int, rate: float, top: int) -> np.ndarray:
    """Hidden, then every noisy count from T up; the last holds all beyond. A group that nobody has is hidden."""
    if n == 0:
        return np.append(1.0, np.zeros(top + 1))
    q = math.exp(-rate)
    counts = np.arange(threshold, threshold + top)
    each = (1 - q) / (1 + q) * q ** np.abs(counts - n)
    beyond = q ** (threshold + top - n) / (1 + q)
    return np.concatenate([[1 - each.sum() - beyond], each, [beyond]])


def worst_delta(epsilon: Fraction, kappa: Fraction, groups: int, threshold: int, step: int = 1) -> float:
    """The largest δ(ε) over neighbours: a person, of `step` rows, in m groups of which some are its own.

    What is shown of several groups has a product law; outcomes of one ratio are put together, group after group.
    """
    rate = float(epsilon) / (groups * step)
    top = int(40 / rate)
    others = (step, threshold - step, threshold, threshold + 3 * step)  # of whom the group is shown rarely, or often
    worst = 0.0
    for new in range(groups + 1):
        for n in others if new < groups else others[:1]:
            with_person = [shown_law(step, threshold, rate, top)] * new
            with_person += [shown_law(n + step, threshold, rate, top)] * (groups - new)
            without = [shown_law(0, threshold, rate, top)] * new
            without += [shown_law(n, threshold, rate, top)] * (groups - new)
            worst = max(worst, hockey(with_person, without, epsilon), hockey(without, with_person, epsilon))
    return worst


def hockey(p_parts: list[np.ndarray], q_parts: list[np.ndarray], epsilon: Fraction) -> float:
    """Σ (P − e^ε Q)₊ of product laws."""
    p, q = np.ones(1), np.ones(1)
    for a, b in zip(p_parts, q_parts, strict=True):
        p, q = np.outer(p, a).ravel(), np.outer(q, b).ravel()
        with np.errstate(divide="ignore"):
            ratio = np.where(q > 0, np.round(p / np.where(q > 0, q, 1), 10), np.inf)
        _, place = np.unique(ratio, return_inverse=True)
        p, q = np.bincount(place, weights=p), np.bincount(place, weights=q)
    return float(np.maximum(p - math.exp(epsilon) * q * (1 - 1e-9), 0).sum())


CASES = [
    (Fraction(1), Fraction(1, 100), 1),
    (Fraction(1), Fraction(1, 10**5), 1),
    (Fraction(1, 2), Fraction(1, 1000), 2),
    (Fraction(2), Fraction(1, 10**4), 3),
    (Fraction(1, 10), Fraction(1, 4), 1),  # the bound from removal decides
]


@pytest.mark.parametrize(("epsilon", "kappa", "groups"), CASES)
def test_what_is_shown_keeps_to_epsilon_and_kappa(epsilon, kappa, groups):
    threshold = geometric_threshold(kappa, groups, epsilon)
    assert worst_delta(epsilon, kappa, groups, threshold) <= kappa * (1 + 1e-6)
    if kappa < Fraction(1, 10):
        assert worst_delta(epsilon, kappa, groups, threshold - 1) > kappa  # the least that does


@pytest.mark.parametrize("rows", [2, 5])
def test_rows_of_a_person_hide_together(rows):
    epsilon, kappa = Fraction(1), Fraction(1, 1000)
    threshold = geometric_threshold(kappa, 1, epsilon, hidden=rows, sensitivity=rows)
    assert worst_delta(epsilon, kappa, 1, threshold, step=rows) <= kappa * (1 + 1e-6)
    without_the_person = geometric_threshold(kappa, 1, epsilon, hidden=0, sensitivity=rows)
    assert worst_delta(epsilon, kappa, 1, without_the_person, step=rows) > 1.5 * kappa


def test_a_threshold_without_the_person_is_noticed():
    epsilon, kappa = Fraction(1), Fraction(1, 10**5)
    threshold = geometric_threshold(kappa, 1, epsilon, hidden=0)
    assert worst_delta(epsilon, kappa, 1, threshold) > 1.2 * kappa


def test_a_threshold_for_all_of_epsilon_in_each_group_is_noticed():
    """With m groups each has ε/m: T of the whole ε is far too low for that noise."""
    threshold = geometric_threshold(Fraction(1, 1000), 1, Fraction(1))
    assert worst_delta(Fraction(1), Fraction(1, 1000), 2, threshold) > Fraction(1, 100)


@pytest.mark.parametrize("numbers", [2, 3, 6])
def test_a_count_of_cube_noise_needs_a_higher_threshold(numbers):
    """Released beside other numbers its own law has a heavier tail: the geometric T shows a lone person too often."""
    threshold = geometric_threshold(Fraction(1, 10**5), 1, Fraction(1))
    shown = float(Cube(Fraction(1), 1, numbers).tail(threshold - 1 - 1)) / 2
    assert shown > 3e-5
    assert float(Geometric(Fraction(1), 1).tail(threshold - 1 - 1)) / 2 <= 1e-5


def test_removal_bounds_what_may_be_shown():
    """A large κ at a small ε: a group may be shown no more often than 1 − e^{−ε}, else its absence tells too much."""
    epsilon = Fraction(1, 10)
    threshold = geometric_threshold(Fraction(1, 4), 1, epsilon)
    assert float(shows_geometric(threshold, 1, epsilon)) <= -math.expm1(-0.1)
    assert float(shows_geometric(threshold - 1, 1, epsilon)) > -math.expm1(-0.1)


@pytest.mark.parametrize("case", list(itertools.product(["0.3", "2"], [1, 4])))
def test_the_tail_is_that_of_the_noise(case):
    rate, at = Fraction(case[0]), case[1]
    law = Geometric(rate, 1)
    assert math.isclose(float(shows_geometric(at + 3, 3, rate)), float(law.tail(at - 1)) / 2, rel_tol=1e-13)


def test_floors_move_the_threshold_by_as_much():
    for floor in (2, 10):
        moved = geometric_threshold(Fraction(1, 10**6), 2, Fraction(1), hidden=floor)
        assert moved == geometric_threshold(Fraction(1, 10**6), 2, Fraction(1)) + floor - 1
