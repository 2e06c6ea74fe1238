"""Whole requests by name, and what groups gain over noise of their own: the values of the mathematics page."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from all_people import check_law, make_part

from gaussmith.numerics.joint.ladder import solve
from gaussmith.numerics.joint.parts import Body, JointPart


def histogram(values: int) -> JointPart:
    return make_part(values, 1, count_weight=1.0)


def summed(groups: int, most: int, sums: int = 1, count: float = 0.0, always: bool = False) -> JointPart:
    """So many sums of [0, 1]."""
    return make_part(groups, most, [(0.5, 0.5, 1.0)] * sums, count, always=always)


def averaged(groups: int, most: int, means: int = 1, count: float = 0.0, always: bool = False) -> JointPart:
    """So many means of [0, 1]."""
    return make_part(groups, most, [(0.0, 0.5, 1.0)] * means, means / 12 + count, always=always)


LARGE = (
    make_part(1000, 5, count_weight=1.0),
    *(histogram(values) for values in (50, 50, 20)),
    summed(6, 6),
    averaged(1, 1, 2, always=True),
)

REQUESTS = {
    "ten filtered counts": (Body((make_part(10, 10, count_weight=1.0),)), 43.08),
    "count by twelve months": (Body((make_part(12, 12, count_weight=1.0),)), 59.68),
    "histograms and the count": (Body((histogram(5), histogram(4), histogram(3)), 1.0), 35.42),
    "sum, count, count by two": (Body((summed(1, 1, always=True), histogram(2)), 1.0), 7.015),
    "months, sums by four, count": (Body((make_part(12, 12, count_weight=1.0), summed(4, 1, count=1.0)), 1.0), 116.4),
    "a hundred filtered counts": (Body((make_part(100, 100, count_weight=1.0),)), 3025.0),
    "histograms of 50 and 2": (Body((histogram(50), histogram(2))), 69.97),
    "two filtered means, count": (Body((averaged(2, 2),), 1.0), 4.767),
    "sum, sum by four": (Body((summed(1, 1, always=True), summed(4, 1))), 7.33),
    "a large one": (Body(LARGE, 1.0), 8889.0),
    "filtered sums and a histogram": (
        Body((*(make_part(1, 1, [(u / 2, u / 2, 1.0)]) for u in (1.0, 2.0, 4.0)), histogram(20))),
        99.06,
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests(name: str) -> None:
    body, least = REQUESTS[name]
    found = solve(body, "add-remove")
    assert found.total == pytest.approx(least, rel=5e-4)
    assert found.how == "types"
    check_law(found, body)


GAINS = {  # today's variance over this plan's: every group by itself, the privacy split over the groups of a person
    "count": [1.125, 2.413, 1.055, 1.051, 1.002],
    "mean": [1.043, 1.558, 1.020, 1.018, 1.001],
    "sum and count": [1.089, 2.063, 1.040, 1.037, 1.001],
    "mean and count": [1.082, 1.999, 1.037, 1.034, 1.001],
    "2 sums": [1.067, 1.841, 1.033, 1.033, 1.001],
    "3 sums and count": [1.063, 1.766, 1.029, 1.027, 1.001],
    "4 means": [1.026, 1.340, 1.012, 1.011, 1.000],
    "rows and people": [1.091, 2.084, 1.041, 1.038, 1.001],
}
SHAPES = [(3, 2), (12, 12), (12, 3), (100, 10), (1000, 5)]


def make_kind(kind: str, groups: int, most: int) -> JointPart:
    return {
        "count": lambda: make_part(groups, most, count_weight=1.0),
        "mean": lambda: averaged(groups, most),
        "sum and count": lambda: summed(groups, most, 1, 1.0),
        "mean and count": lambda: averaged(groups, most, 1, 1.0),
        "2 sums": lambda: summed(groups, most, 2),
        "3 sums and count": lambda: summed(groups, most, 3, 1.0),
        "4 means": lambda: averaged(groups, most, 4),
        "rows and people": lambda: make_part(groups, most, [(0.0, 1.0, 1.0)], 1.0, max_rows=20),
    }[kind]()


@pytest.mark.parametrize("kind", GAINS)
@pytest.mark.parametrize("at", range(len(SHAPES)))
def test_gains_of_groups(kind: str, at: int) -> None:
    groups, most = SHAPES[at]
    one = solve(Body((make_kind(kind, 1, 1),)), "add-remove").total
    found = solve(Body((make_kind(kind, groups, most),)), "add-remove").total
    assert groups * most * one / found >= GAINS[kind][at] - 0.004


REPLACED = {
    "count": [1.440, 2.000, 1.071, 1.009, 1.001],
    "sum and count": [1.400, 1.964, 1.052, 1.007, 1.001],
    "mean": [1.262, 1.420, 1.205, 1.186, 1.183],
    "3 sums and count": [1.200, 1.499, 1.094, 1.063, 1.059],
}


@pytest.mark.parametrize("kind", REPLACED)
@pytest.mark.parametrize("at", range(len(SHAPES)))
def test_gains_of_groups_under_replace_one(kind: str, at: int) -> None:
    groups, most = SHAPES[at]
    single = Body((make_kind(kind, 1, 1),))
    one = solve(single, "add-remove")
    columns = single.parts[0].columns
    rows = one.lift.own[0][:, :columns]
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=columns))).reshape(2**columns, columns)
    change = float(((2.0 * signs @ rows.T) ** 2).sum(axis=1).max())  # of somebody in both, under today's shape
    found = solve(Body((make_kind(kind, groups, most),)), "replace-one").total
    assert groups * most * max(2.0, change) * one.total / found >= REPLACED[kind][at] - 0.004
