"""What all answers of one record amount to, each scaled to its weight: the size of the standard Gaussian mechanism."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.domains import uncentred as uncentred_module
from gaussmith.domains.domain import Problem
from gaussmith.domains.features import Features, of_coordinates, of_matrix, of_workload
from gaussmith.domains.groups import read_group_weights
from gaussmith.domains.row_moments import RowMoments
from gaussmith.domains.strategies import Search, has_standard_shape, standard_reach
from gaussmith.numerics.exact import Array
from gaussmith.privacy.neighbours import ADD_REMOVE, NEIGHBOURS, REPLACE_ONE

CUBE = np.array(list(itertools.product((-1, 0, 1), repeat=3)), float)
ONES = np.array(list(itertools.product((0, 1), repeat=3)), float)
POINTS = np.array([[0.0, 1.0, 2.0], [2.0, 5.0, -1.0], [3.0, -3.0, 0.5], [-1.0, -1.0, -4.0]])
MATRIX = np.array([[1.0, -1.0, 0.0], [0.5, 2.0, 1.0]])
WEIGHTS = np.array([1.0, 4.0, 0.25])

RECORDS: dict[str, tuple[Any, Array]] = {
    "counts": (gm.Counts(3, 2), ONES[ONES.sum(axis=1) <= 2]),
    "votes": (gm.domains.Votes(3), np.array(list(itertools.permutations(range(3))), float)),
    "sparse": (gm.domains.SparseSum(3, 2, [1.0, 2.0, 4.0]), CUBE[(CUBE != 0).sum(axis=1) <= 2] * [1.0, 2.0, 4.0]),
    "cells": (gm.Cells(3), np.eye(3)),
    "cells or none": (gm.Cells(3, or_none=True), np.vstack([np.eye(3), np.zeros((1, 3))])),
    "points": (gm.domains.Points(POINTS), POINTS),
}


def worst(answers: Array, weights: Array, count_weight: float, neighbours: str) -> float:
    """The largest norm over all records, or over all pairs of them; each adds one to the number of records."""
    Y = answers * np.sqrt(weights)
    if neighbours == ADD_REMOVE:
        return math.sqrt((Y**2).sum(axis=1).max() + count_weight)
    return float(np.linalg.norm(Y[:, None] - Y, axis=2).max())


def asked(features: Features, weights: Array, count_weight: float) -> Features:
    return replace(features, weights=weights, count_weight=count_weight)


@pytest.mark.parametrize("count_weight", [0.0, 2.25])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("name", RECORDS)
def test_the_reach_is_that_of_the_worst_record(name: str, neighbours: str, count_weight: float) -> None:
    domain, records = RECORDS[name]
    single = asked(of_coordinates(np.arange(3), np.zeros(3, bool)), WEIGHTS, count_weight)
    twice = asked(of_coordinates(np.array([2, 0, 2]), np.zeros(3, bool)), WEIGHTS, count_weight)
    mixed = asked(of_matrix(MATRIX), WEIGHTS[:2], count_weight)
    for features, answers in ((single, records), (twice, records[:, [2, 0, 2]]), (mixed, records @ MATRIX.T)):
        found = standard_reach(Problem(domain, features, neighbours))
        assert found == pytest.approx(worst(answers, features.weights, count_weight, neighbours), rel=1e-12)


@pytest.mark.parametrize("or_none", [False, True])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_the_reach_of_workloads(neighbours: str, or_none: bool) -> None:
    cells = np.vstack([np.eye(6), np.zeros((1, 6))]) if or_none else np.eye(6)
    for workload in (gm.workloads.prefix(6), gm.workloads.ranges(6)):
        features = asked(of_workload(workload), np.linspace(1, 3, workload.size), 1.5)
        domain = gm.Cells(6, or_none=or_none)
        found = standard_reach(Problem(domain, features, neighbours))
        truth = worst(cells @ workload.rows.T, features.weights, 1.5, neighbours)
        assert found == pytest.approx(truth, rel=1e-9)
    if or_none:
        return
    tables = gm.workloads.Marginals((2, 3), ((), (0,), (0, 1)))
    weights = np.concatenate([[1.0], [4.0] * 2, [0.25] * 6])
    domain = gm.Cells(shape=(2, 3))
    found = standard_reach(Problem(domain, asked(of_workload(tables), weights, 2.0), neighbours))
    answers = np.array([[1, *np.eye(2)[i // 3], *np.eye(6)[i]] for i in range(6)])
    assert found == pytest.approx(worst(answers, weights, 2.0, neighbours), rel=1e-9)


def test_matrices_over_too_many_records_have_no_reach() -> None:
    domain = gm.Counts(40, 20)
    features = asked(of_matrix(np.ones((1, 40))), np.ones(1), 0.0)
    assert standard_reach(Problem(domain, features, ADD_REMOVE)) is None
    assert domain.candidates is not None and domain.records() is None


# -- which shapes are tried, and what they are compared with ----------------------------------------------------------


def candidates(
    domain: Any, features: Features, neighbours: str, shape: str = "best"
) -> tuple[list[str], dict[str, float]]:
    found = domain.candidates(Problem(domain, features, neighbours), Search(shape, 1.0))
    return [each.shape.name for each in found.found], dict(found.compared)


def ones(features: Features, count_weight: float = 0.0) -> Features:
    return asked(features, np.ones(features.size), count_weight)


SINGLE = ones(of_coordinates(np.arange(3), np.zeros(3, bool)))
MIXED = ones(of_matrix(MATRIX))


@pytest.mark.parametrize("name", ["counts", "votes", "sparse"])
def test_equal_noise_is_a_candidate_for_single_entries_and_a_comparison_elsewhere(name: str) -> None:
    domain, records = RECORDS[name]
    names, others = candidates(domain, SINGLE, ADD_REMOVE)
    assert names[-1] == "isotropic" and not others
    counted = asked(MIXED, MIXED.weights, 1.0)
    for neighbours in NEIGHBOURS:
        names, others = candidates(domain, counted, neighbours)
        noisy = 3 if neighbours == ADD_REMOVE else 2
        truth = worst(records @ MATRIX.T, np.ones(2), 1.0, neighbours) ** 2 * noisy
        assert "isotropic" not in names and others == {"isotropic": pytest.approx(truth, rel=1e-9)}
    assert candidates(domain, counted, ADD_REMOVE, names[0])[1] == {}
    with refused("shape-not-for-this-problem"):
        candidates(domain, SINGLE, ADD_REMOVE, "clipped")


def test_points_and_cells_are_compared_with_the_standard_mechanism() -> None:
    for name in ("points", "cells"):
        domain, records = RECORDS[name]
        for features, answers in ((SINGLE, records), (MIXED, records @ MATRIX.T)):
            names, others = candidates(domain, features, REPLACE_ONE)
            truth = worst(answers, np.ones(answers.shape[1]), 0.0, REPLACE_ONE) ** 2 * answers.shape[1]
            if "isotropic" in names:
                assert not others
            else:
                assert others == {"isotropic": pytest.approx(truth, rel=1e-9)}
        aimed = replace(SINGLE, targets=np.ones(3))
        assert candidates(domain, aimed, ADD_REMOVE)[1] == {}, "errors against targets have no total to compare"


def test_a_price_that_doubles_cannot_hold_is_not_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = gm.Counts(3, 2)
    reach = worst(RECORDS["counts"][1] @ MATRIX.T, np.ones(2), 0.0, ADD_REMOVE)
    for most, stated in ((reach * 1.01, True), (reach / 1.01, False)):
        monkeypatch.setattr(uncentred_module, "MAX_ERROR", most)
        assert bool(candidates(domain, MIXED, ADD_REMOVE)[1]) is stated
    monkeypatch.undo()
    assert uncentred_module.MAX_ERROR == 1e150
    with refused("means-of-counted-records"):
        domain.check(Problem(domain, of_coordinates(np.arange(3), np.array([False, True, False])), ADD_REMOVE))


CENTRED, AWAY = gm.Box([-1, -2, -3], [1, 2, 3]), gm.Box([0, -2, -3], [1, 2, 3])


@pytest.mark.parametrize(
    ("domain", "neighbours", "name"),
    [
        (CENTRED, ADD_REMOVE, "elliptical"),
        (CENTRED, REPLACE_ONE, "elliptical"),
        (AWAY, ADD_REMOVE, "lifted box"),
        (AWAY, REPLACE_ONE, "elliptical"),
        (gm.domains.Ball(3, 2.0), ADD_REMOVE, "round"),
        (gm.domains.Ball(3, 2.0), REPLACE_ONE, "round"),
        (gm.domains.Ball(3, 2.0, centre=[0, 1, 0]), ADD_REMOVE, "lifted ball"),
        (gm.domains.Ball(3, 2.0, centre=[0, 1, 0]), REPLACE_ONE, "round"),
    ],
)
def test_the_names_of_closed_forms(domain: Any, neighbours: str, name: str) -> None:
    names, _ = candidates(domain, SINGLE, neighbours, "lifted")
    assert names == [name]
    every, _ = candidates(domain, SINGLE, neighbours)
    assert every[0] == name and every[-1] == "isotropic" and ("elliptical" in every) == isinstance(domain, gm.Box)
    mixed, _ = candidates(domain, MIXED, neighbours)
    assert "isotropic" not in mixed and "elliptical" not in mixed[1:]


def test_row_moments_bound_the_error_by_that_of_equal_rows() -> None:
    domain = RowMoments({"a": (0, 1)}, "squares", max_rows=3)
    for bound in (1.0, 0.3, 7.5):
        found = domain._of_people(bound)
        assert 9 * bound * (1 - 2.0**-48) <= found < 9 * bound


def test_the_ways_that_are_tried_for_other_domains() -> None:
    box = gm.Box([-1, -2, -3], [1, 2, 3])
    wide = ones(of_matrix(np.random.default_rng(0).normal(size=(6, 3))))
    assert candidates(box, wide, REPLACE_ONE, "solved")[0]
    with refused("shape-not-for-this-problem"):
        candidates(box, ones(of_coordinates(np.arange(3), np.zeros(3, bool))), REPLACE_ONE, "solved")
    moments = gm.Moments({"a": (0, 1)})
    pair = ones(of_coordinates(np.arange(2), np.zeros(2, bool)), 1.0)
    assert candidates(moments, pair, ADD_REMOVE)[0][-1] == "isotropic"
    assert "isotropic" not in candidates(moments, pair, REPLACE_ONE)[0]
    data = gm.domains.GaussianData([0, 0], [1, 2])
    sums = ones(of_coordinates(np.arange(2), np.zeros(2, bool)))
    assert list(candidates(data, sums, ADD_REMOVE)[1]) == ["isotropic"]
    assert candidates(data, sums, ADD_REMOVE, "clipped")[1] == {}
    assert has_standard_shape(Problem(data, sums, ADD_REMOVE))
    runs, single = of_workload(gm.workloads.prefix(6)), of_coordinates(np.arange(6), np.zeros(6, bool))
    cells, apart = gm.Cells(6), gm.Cells(6, or_none=True)
    assert cells.bounding_law(Problem(cells, ones(runs), ADD_REMOVE)).lower > 0
    assert cells.bounding_law(Problem(cells, ones(single), ADD_REMOVE)).lower == 0
    assert apart.bounding_law(Problem(apart, ones(runs, 1.0), ADD_REMOVE)).lower == 0, "no closed form beside a count"


def test_weights_that_are_nearly_one_on_average() -> None:
    """Those of a saved plan stay as they are; others are divided by their mean."""
    labels = [("a",), ("b",)]
    saved = read_group_weights([1.0, 1.0 + 1e-9], ("g",), labels)
    assert saved == (1.0, 1.0 + 1e-9)
    mean = 1.0 + 1.5e-9
    assert read_group_weights([1.0, 1.0 + 3e-9], ("g",), labels) == pytest.approx(
        (1 / mean, (1.0 + 3e-9) / mean), abs=1e-15
    )
    assert read_group_weights({}, ("g",), labels) is None and read_group_weights(None, ("g",), labels) is None
    assert (
        read_group_weights({"a": 3}, ("g",), labels) == (1.5, 0.5)
        and read_group_weights([2, 2], ("g",), labels) is None
    )
