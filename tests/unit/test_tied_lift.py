"""The lift that ties questions: written out as one matrix it does the same, forwards, backwards and exactly."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from gaussmith.errors import PlanError
from gaussmith.numerics.joint.lift import TiedLift

GROUPS, WIDTHS = (3, 1, 4), (2, 3, 1)


def some_lift(counted: bool, seed: int = 0) -> TiedLift:
    rng = np.random.default_rng(seed)
    own = tuple(rng.normal(size=(k, k)) + 3 * np.eye(k) for k in WIDTHS)
    N = sum(WIDTHS)
    return TiedLift(GROUPS, own, rng.normal(size=(N, N + counted)) / 5, rng.normal(size=N + 1) if counted else None)


def split(vector: np.ndarray) -> list[np.ndarray]:
    ends = np.cumsum([g * w for g, w in zip(GROUPS, WIDTHS, strict=True)])
    return [each.reshape(g, w) for each, g, w in zip(np.split(vector, ends)[:3], GROUPS, WIDTHS, strict=True)]


def written_out(lift: TiedLift) -> np.ndarray:
    """The lift as one matrix over all cores and the number of people."""
    eye = np.eye(lift.size)
    return np.array([lift.times(split(e), e[-1] if lift.counted else 0.0) for e in eye]).T


@pytest.mark.parametrize("counted", [True, False])
def test_undoing_gives_back_what_was_lifted(counted: bool) -> None:
    lift = some_lift(counted)
    vector = np.random.default_rng(1).normal(size=lift.size)
    cores, people = lift.undone(written_out(lift) @ vector)
    for found, given in zip(cores, split(vector), strict=True):
        np.testing.assert_allclose(found, given, atol=1e-12)
    assert people == (pytest.approx(vector[-1]) if counted else None)


@pytest.mark.parametrize("counted", [True, False])
def test_covariances_are_those_of_the_matrix_written_out(counted: bool) -> None:
    lift = some_lift(counted)
    back = np.linalg.inv(written_out(lift))
    whole = back @ back.T
    starts = np.cumsum([0, *(g * w for g, w in zip(GROUPS, WIDTHS, strict=True))])
    for a in range(3):
        for b in range(3):
            same, between = lift.covariance(a, b)
            for i in range(GROUPS[a]):
                for j in range(GROUPS[b]):
                    at, to = starts[a] + i * WIDTHS[a], starts[b] + j * WIDTHS[b]
                    found = whole[at : at + WIDTHS[a], to : to + WIDTHS[b]]
                    np.testing.assert_allclose(found, same if (a, i) == (b, j) else between, atol=1e-12)
        if counted:
            at = starts[a]
            np.testing.assert_allclose(whole[at : at + WIDTHS[a], -1], lift.people_covariance(a), atol=1e-12)
            assert whole[-1, -1] == pytest.approx(lift.people_variance)


@pytest.mark.parametrize("counted", [True, False])
def test_exact_products_are_rounded_once(counted: bool) -> None:
    lift = some_lift(counted, seed=2)
    rng = np.random.default_rng(3)
    cores = [rng.integers(-(2**60), 2**60, size=(g, w)).tolist() for g, w in zip(GROUPS, WIDTHS, strict=True)]
    people = 12_345
    vector = [Fraction(x) for part in cores for core in part for x in core] + [Fraction(people)] * counted
    sums = [sum(column) for part in cores for column in zip(*part, strict=True)] + [people] * counted
    exact = []
    for q, part in enumerate(cores):
        ties = lift.ties[lift.rows_of(q)]
        for core in part:
            for r in range(WIDTHS[q]):
                row = sum(Fraction(a) * x for a, x in zip(lift.own[q][r].tolist(), core, strict=True))
                row += sum(Fraction(a) * x for a, x in zip(ties[r].tolist(), sums, strict=True))
                exact.append(row)
    if lift.last is not None:
        exact.append(sum(Fraction(a) * x for a, x in zip(lift.last.tolist(), sums, strict=True)))
    assert len(vector) == len(exact)
    assert lift.exact_times(cores, people) == [int((2 * x + 1) // 2) for x in exact]


def copies_of(top: int, copies: int, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Cores of several copies, and their people."""
    rng = np.random.default_rng(seed)
    cores = [rng.integers(-top, top, size=(copies, g, w)) for g, w in zip(GROUPS, WIDTHS, strict=True)]
    return cores, rng.integers(0, top, copies)


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("top", [5, 2**20, 2**40, 2**57])
def test_many_copies_are_lifted_as_each_alone(counted: bool, top: int) -> None:
    lift = some_lift(counted, seed=4)
    cores, people = copies_of(top, 50, seed=top % 97)
    found = lift.exact_times_rows(cores, people)
    assert found is not None and found.dtype == np.int64
    each = [lift.exact_times([core[k].tolist() for core in cores], int(people[k])) for k in range(50)]
    assert found.tolist() == each and len({*map(tuple, each)}) == 50


def test_copies_that_words_do_not_hold_are_left_to_python() -> None:
    lift = some_lift(True)
    cores, people = copies_of(1, 2, seed=5)
    fits = [np.full_like(core, 2**55) for core in cores]
    assert lift.exact_times_rows(fits, people) is not None
    for beyond in (2**60, -(2**60)):  # the sum over four groups is 2^62
        assert lift.exact_times_rows([*cores[:2], np.full_like(cores[2], beyond)], people) is None
    assert lift.exact_times_rows(cores, np.array([0, 2**62])) is None
    large = TiedLift(lift.groups, lift.own, lift.ties * 0, np.append(np.zeros(sum(WIDTHS)), 2.0**40))
    for number, holds in ((2**21 - 2, True), (2**21, False)):  # the last row comes to 2^61
        assert (large.exact_times_rows(cores, np.array([0, number])) is not None) == holds


def test_copies_are_undone_as_each_alone() -> None:
    lift = some_lift(True)
    noisy = np.random.default_rng(6).normal(size=(7, lift.size))
    cores, people = lift.undone(noisy)
    for k in range(7):
        alone, number = lift.undone(noisy[k])
        assert people is not None and people[k] == pytest.approx(number, rel=1e-12)
        for found, given in zip(cores, alone, strict=True):
            np.testing.assert_allclose(found[k], given, rtol=1e-12, atol=1e-12)


def test_scaling_divides_the_core_into_units() -> None:
    lift = some_lift(True)
    units = [np.array([2.0, 3.0]), np.array([1.0, 0.5, 4.0]), np.array([7.0])]
    scaled = lift.scaled(units, 11.0, 0.25)
    columns = np.concatenate([np.tile(u, g) for u, g in zip(units, GROUPS, strict=True)] + [[11.0]])
    np.testing.assert_allclose(written_out(scaled), written_out(lift) * columns * 0.25)


def test_a_lift_is_read_back_as_it_was_saved() -> None:
    lift = some_lift(True)
    again = TiedLift.from_dict(json.loads(json.dumps(lift.to_dict())))
    np.testing.assert_array_equal(written_out(again), written_out(lift))


def test_a_lift_that_does_not_fit_itself_is_refused() -> None:
    lift = some_lift(True)
    for broken in (
        {"ties": lift.ties[:, :-1]},
        {"ties": lift.ties * np.nan},
        {"last": np.zeros(3)},
        {"groups": (3, 0, 4)},
        {"own": (*lift.own[:2], np.zeros((2, 1)))},
    ):
        fields = {"groups": lift.groups, "own": lift.own, "ties": lift.ties, "last": lift.last} | broken
        with pytest.raises(PlanError, match="finite"):
            TiedLift(**fields)
