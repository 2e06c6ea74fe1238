"""Releases with the noise fixed are what they were: the golden file, case by case.

A case that fails after a change that was meant to change releases: record anew (`./run python tests/golden/record.py`)
and say in the commit why. After any other change it is the change that is wrong.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import request_cases
from cases import Case, all_cases, new_plans
from comparison import differences, is_as_good, read_golden
from fixed_noise import fixed_noise
from strategies import certificate_problems, numbers_of, stored, with_numbers

import gaussmith as gm

GOLDEN = read_golden()
CASES = list(all_cases())
PLANS = dict(new_plans())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files are written once."""
    return tmp_path_factory.mktemp("golden")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_release_is_what_it_was(case: Case, folder: Path) -> None:
    assert differences(GOLDEN["cases"][case.name], case.find(folder)) == []


@pytest.mark.parametrize("name", PLANS)
def test_what_a_solver_finds_is_as_good_proven_and_private(name: str) -> None:
    plan = PLANS[name]()
    assert is_as_good(GOLDEN["found"][name], plan.price)
    assert certificate_problems(plan) == ()
    plan.certify()


def test_the_files_hold_every_case_and_no_other() -> None:
    assert set(GOLDEN["cases"]) == {case.name for case in CASES}
    assert set(GOLDEN["found"]) == set(stored()) == set(PLANS)


def test_a_strategy_of_another_domain_or_guarantee_is_refused() -> None:
    plan = gm.plan(gm.Box({"x": (0, 1)}), gm.Guarantee(mu=1))
    others = [gm.plan(gm.Box({"x": (0, 2)}), gm.Guarantee(mu=1)), gm.plan(gm.Box({"x": (0, 1)}), gm.Guarantee(mu=0.9))]
    assert with_numbers(plan, numbers_of(plan)) == plan
    for other in others:
        with pytest.raises(AssertionError):
            with_numbers(plan, numbers_of(other))


def test_every_release_has_noisy_integers() -> None:
    released = [kept for name, kept in GOLDEN["cases"].items() if "mu" in kept or "epsilon" in kept]
    assert len(released) > 400
    assert len([kept for kept in released if "epsilon" in kept]) == len(request_cases.PURE_ONES)
    assert all(kept["integers"] and kept["value"] for kept in released)


@pytest.mark.parametrize("asked", request_cases.PURE_ONES)
def test_under_pure_epsilon_noise_is_added_to_the_same_integers_by_position(asked: str, folder: Path) -> None:
    """Another guarantee changes the noise, and the lattice of what is not whole; the same one changes nothing."""
    with fixed_noise() as first:
        request_cases.release_request(asked, request_cases.PURE, "polars", folder)
    with fixed_noise() as again:
        request_cases.release_request(asked, request_cases.PURE, "polars", folder)
    assert first == again
    assert len(first) == sum(
        noise.copies * noise.law.numbers for noise in PLANS[f"request | pure | {asked}"]().pure_noises
    )


@pytest.mark.parametrize("shift", [0, 1])
def test_a_single_step_of_a_single_value_is_seen(shift: int) -> None:
    """The smallest change of one record that the codes can hold shows in the noisy integers; no change does not."""
    plan = gm.plan(gm.Box({"x": (0, 1)}), gm.Guarantee(mu=1))
    with fixed_noise() as before:
        plan.release(np.array([[0.5], [0.25]]))
    with fixed_noise() as after:
        plan.release(np.array([[0.5], [0.25 + shift * 2.0**-42]]))
    assert (before != after) == bool(shift)


def test_noise_is_fresh_again_outside() -> None:
    plan = gm.plan(gm.Box({"x": (0, 1)}), gm.Guarantee(mu=1))
    with fixed_noise():
        fixed = [float(plan.release([[0.5]]).values[0]) for _ in range(2)]
    assert fixed[0] != fixed[1]  # by position
    with fixed_noise():
        assert float(plan.release([[0.5]]).values[0]) == fixed[0]
    assert float(plan.release([[0.5]]).values[0]) not in fixed
