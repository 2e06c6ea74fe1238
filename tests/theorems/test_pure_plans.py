"""Statement 82: noise of a pure ε, against probabilities that are written out, and shares against a minimiser."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import gaussmith as gm
from gaussmith.domains.box import Box
from gaussmith.noise.cube import Cube
from gaussmith.noise.geometric import Geometric
from gaussmith.noise.law import Law
from gaussmith.planning.pure_noise import shares_of

LAWS = [Cube(Fraction(1), 1, 2), Cube(Fraction(1, 2), 3, 3), Geometric(Fraction(1), 2, 2), Geometric(Fraction(3), 1, 3)]


def norm(law: Law, z: tuple[int, ...]) -> int:
    return max(map(abs, z)) if law.norm == "max" else sum(map(abs, z))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_neighbours_are_as_likely_as_epsilon_says_and_no_more_alike(law: Law) -> None:
    """ln P(z − s) − ln P(z) over every change s of norm S: at most ε, and ε for some z."""
    reach = range(-3, 4)
    places = list(itertools.product(reach, repeat=law.numbers))
    changes = [s for s in places if norm(law, s) == law.sensitivity]
    lost = [
        float(law.rate) * (norm(law, z) - norm(law, tuple(a - b for a, b in zip(z, s, strict=True))))
        for s in changes
        for z in places
    ]
    assert max(lost) == pytest.approx(float(law.epsilon), abs=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_one_number_has_the_law_that_all_of_them_give(law: Law) -> None:
    """Tails and variance of one number, added up over all of them."""
    most = math.ceil(60 / float(law.rate))
    q, found = math.exp(-float(law.rate)), np.zeros(most + 1)
    if law.norm == "1":
        found = np.array([q**k * (1 if k == 0 else 2) for k in range(most + 1)])
    else:
        for radius in range(most + 1):  # (2K+1)^D q^K, and then uniform
            found[: radius + 1] += (2 * radius + 1) ** (law.numbers - 1) * q**radius * np.array([1] + [2] * radius)
    found /= found.sum()
    for t in range(8):
        assert float(law.tail(t)) == pytest.approx(1 - found[: t + 1].sum(), rel=1e-6, abs=1e-9)
    assert law.variance == pytest.approx(float(found @ np.arange(most + 1) ** 2), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5), st.floats(0.1, 5))
def test_shares_are_the_best_ones(costs: list[float], epsilon: float) -> None:
    """Σ c_i/ε_i² with Σ ε_i = ε: no other shares have less, and no ε is left over."""
    whole = gm.Guarantee(epsilon=epsilon)
    shares = shares_of(whole.pure_epsilon, costs, [0.0] * len(costs))
    assert sum(each.pure_epsilon for each in shares) <= whole.pure_epsilon

    def total(logs: np.ndarray) -> float:
        parts = np.exp(logs - logs.max())
        return float(np.log(np.sum(np.array(costs) / (epsilon * parts / parts.sum()) ** 2)))

    ours = total(np.log([float(each.pure_epsilon) for each in shares]))
    assert float(sum(each.pure_epsilon for each in shares)) >= epsilon * (1 - 1e-9)
    assert ours <= minimize(total, np.zeros(len(costs)), method="Nelder-Mead").fun + 1e-9


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-20, 120), min_size=2, max_size=30), st.floats(-20, 120))
def test_rounding_is_charged(values: list[float], value: float) -> None:
    """Integers with and without one record lie at most S apart, each rounded by itself."""
    block = gm.plan(Box({"x": (0, 100)}), gm.Guarantee(epsilon=1), answers="means", count=True).block
    assert block.drawn is not None
    tables = ([*values, value], values)
    with_it, without = (block.codes.encode(np.array(v)[:, None]).sum(axis=0).tolist() for v in tables)
    one = block.grid.lifted(block.codes, with_it, len(values) + 1)
    other = block.grid.lifted(block.codes, without, len(values))
    assert max(abs(int(a) - int(b)) for a, b in zip(one, other, strict=True)) <= block.drawn.sensitivity
