"""Bounds, weights and answers of any size are planned, certified and explained, or refused in words: never a crash."""

from __future__ import annotations

import math

import pytest
from extremes import plan_extreme
from hypothesis import given, settings
from hypothesis import strategies as st

import gaussmith as gm
from gaussmith.errors import GaussmithError
from gaussmith.planning.certificate import verify

G = gm.Guarantee(mu=1)


def try_seed(seed: int, check: bool = True) -> bool:
    """Whether what a seed draws is planned; then everything a plan says is finite, certified and consistent."""
    try:
        plan = plan_extreme(seed)
    except GaussmithError as refused:
        assert refused.what and refused.rule and refused.remedy, refused
        return False
    plan.certify()
    errors = plan.errors(rows=1000)
    assert all(math.isfinite(error) and error >= 0 for error in errors.values())
    assert str(plan) and plan.explain()
    assert gm.Plan.from_json(plan.to_json()).to_json() == plan.to_json()
    for each in (piece.block for piece in plan.pieces):
        assert 0 <= each.lower_bound <= each.price * (1 + 1e-6) < math.inf
        assert 1 <= each.optimality < math.inf
        assert each.lower_bound > 0 or each.price == 0
    if check:
        assert not verify(plan, plan.certificate).problems
    return True


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**40))
def test_any_scale_is_planned_or_refused_in_words(seed: int) -> None:
    try_seed(seed, check=seed % 4 == 0)


@pytest.mark.parametrize("seed", [15, 141, 226, 230, 256, 381, 832, 887, 1025, 1311, 1445, 4788])
def test_what_once_crashed_or_was_infinite(seed: int) -> None:
    try_seed(seed)


def test_most_of_what_is_drawn_is_planned() -> None:
    planned = sum(try_seed(seed, check=False) for seed in range(30))
    assert 12 <= planned < 30
