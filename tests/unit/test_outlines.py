"""Outlines of what one record can change in two answers, against every record there is."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.domains.domain import Problem
from gaussmith.domains.features import Features, of_coordinates, of_matrix, of_workload
from gaussmith.domains.people import People
from gaussmith.numerics.exact import Array
from gaussmith.privacy.neighbours import ADD_REMOVE, NEIGHBOURS
from gaussmith.report.outlines import CIRCLE, _directions, ellipse, outlines, zonotope

AROUND = np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0, 2 * np.pi, 97)])


def reach(points: Array) -> Array:
    """How far some points go in every direction: two bodies that go as far have the same hull."""
    return np.asarray((AROUND @ np.asarray(points, float).T).max(axis=1))


def features(index: Sequence[int], centred: Sequence[bool] | bool = False) -> Features:
    return of_coordinates(np.array(index, np.int64), np.broadcast_to(np.array(centred, bool), (len(index),)))


def check(domain: Any, asked: Features, records: Array, first: int, second: int, neighbours: str) -> None:
    """`records` are what one record adds to every feature and, last, to the count."""
    problem = Problem(domain, asked, neighbours)
    bodies = outlines(problem, first, second)
    values = np.asarray(records, float)[:, [first, second]]
    if neighbours != ADD_REMOVE:
        (body,) = bodies
        assert reach(body) == pytest.approx(reach((values[:, None] - values).reshape(-1, 2)), abs=1e-9)
        return
    assert reach(bodies[0]) == pytest.approx(reach(values), abs=1e-9)
    if len(bodies) == 1:  # a body that is its own mirror image
        assert reach(-values) == pytest.approx(reach(values), abs=1e-9)
    else:
        assert (bodies[1] == -bodies[0]).all()


def with_count(values: Any) -> Array:
    values = np.array(values, float)
    return np.column_stack([values, np.ones(len(values))])


# -- bodies -----------------------------------------------------------------------------------------------------------


def test_an_ellipse_is_closed_and_every_point_is_one_deviation_away() -> None:
    for covariance in (np.diag([4.0, 0.25]), np.array([[2.0, 1.5], [1.5, 2.0]]), np.diag([0.09, 0.01])):
        outline = ellipse(covariance)
        assert len(outline) == CIRCLE + 1 == 73
        assert outline[0] == pytest.approx(outline[-1])
        assert np.einsum("ij,jk,ik->i", outline, np.linalg.inv(covariance), outline) == pytest.approx(1)
        assert reach(outline) == pytest.approx(np.sqrt(np.einsum("ij,jk,ik->i", AROUND, covariance, AROUND)), rel=1e-3)
    line = ellipse(np.array([[1.0, 0.0], [0.0, -1e-17]]))  # rounding may leave a variance just below 0
    assert np.isfinite(line).all() and not line[:, 1].any() and line[:, 0].max() == pytest.approx(1)


@pytest.mark.parametrize(
    ("generators", "points"),
    [
        ([[0.0], [0.0]], [[0, 0], [0, 0]]),
        (np.zeros((2, 0)), [[0, 0], [0, 0]]),
        ([[0.25, 0.0], [0.0, 0.0]], [[-0.25, 0], [0.25, 0], [-0.25, 0]]),
        ([[-1.0], [0.0]], [[-1, 0], [1, 0], [-1, 0]]),
        ([[0.5, 0.0], [0.0, -2.0]], [[-0.5, -2], [0.5, -2], [0.5, 2], [-0.5, 2], [-0.5, -2]]),
        ([[-1.0, 1.0], [0.5, 0.5]], [[0, -1], [2, 0], [0, 1], [-2, 0], [0, -1]]),
        ([[1.0, -1.0], [0.5, 0.5]], [[0, -1], [2, 0], [0, 1], [-2, 0], [0, -1]]),
        ([[-0.5, 1.0], [0.0, 1.0]], [[-1.5, -1], [-0.5, -1], [1.5, 1], [0.5, 1], [-1.5, -1]]),
    ],
)
def test_the_corners_of_a_zonotope_in_order(generators: Any, points: Any) -> None:
    assert zonotope(np.array(generators, float)).tolist() == points


def test_directions_go_once_around() -> None:
    found = np.array(_directions())
    assert found.shape == (145, 2) and np.linalg.norm(found, axis=1) == pytest.approx(1)
    assert found[0] == pytest.approx(found[-1]) and len(np.unique(found[:-1].round(6), axis=0)) == 144
    steps = np.einsum("ij,ij->i", found[1:], found[:-1])
    assert steps == pytest.approx(np.cos(2 * np.pi / 144))
    turned = found[:-1, 0] * found[1:, 1] - found[:-1, 1] * found[1:, 0]
    assert (turned > 0).all() and not (found == 0).any()


# -- domains ----------------------------------------------------------------------------------------------------------

LOWER, UPPER = np.array([1.0, -3.0, -2.0]), np.array([4.0, -1.0, 2.0])


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("pair", [(0, 1), (2, 0), (1, 3), (3, 2), (2, 2)])
def test_a_box(neighbours: str, pair: tuple[int, int]) -> None:
    corners = np.array(list(itertools.product(*zip(LOWER, UPPER, strict=True))))
    box = gm.Box(LOWER, UPPER)
    check(box, features([0, 1, 2]), with_count(corners), *pair, neighbours)
    middle = np.where([True, False, True], (LOWER + UPPER) / 2, 0.0)
    check(box, features([0, 1, 2], [True, False, True]), with_count(corners - middle), *pair, neighbours)
    matrix = np.array([[1.0, 2.0, 0.0], [0.5, 0.0, -1.0], [0.0, 0.0, 3.0]])
    check(box, of_matrix(matrix), with_count(corners @ matrix.T), *pair, neighbours)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize(
    "domain",
    [
        gm.domains.Ball(2, 3.0, centre=[1.0, -2.0]),
        gm.domains.Ball(3, 0.5),
        gm.domains.GaussianData([1.0, -2.0], [1, 2]).clipped_to(np.array([0.5, 3.0])),
    ],
)
def test_round_domains(domain: Any, neighbours: str) -> None:
    """Each point is a record of full length: in its own two coordinates it is as far from the centre as any."""
    problem = Problem(domain, features([0, 1]), neighbours)
    bodies = outlines(problem, 0, 1)
    centre = domain.centre[:2] if problem.secret_count else np.zeros(2)
    cores = (bodies[0] - centre) / domain.radius[:2]
    assert np.linalg.norm(cores, axis=1) == pytest.approx(1 if problem.secret_count else 2)
    assert len(bodies) == (2 if centre.any() else 1)
    if len(bodies) == 2:
        assert (bodies[1] == -bodies[0]).all()


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (0, 3), (3, 0), (2, 1)])
def test_counted_records(neighbours: str, pair: tuple[int, int]) -> None:
    every = np.array(list(itertools.product((0, 1), repeat=3)), float)
    few = every[every.sum(axis=1) <= 2]
    ranked = np.array(list(itertools.permutations(range(3))), float)
    cube = np.array(list(itertools.product((-1, 0, 1), repeat=3)), float)
    sparse = cube[(cube != 0).sum(axis=1) <= 2] * [1.0, 2.0, 4.0]
    points = np.array([[0.0, 1.0, 2.0], [2.0, 5.0, -1.0], [3.0, -3.0, 0.5], [-1.0, -1.0, -4.0]])
    asked = features([0, 1, 2])
    check(gm.Counts(3, 2), asked, with_count(few), *pair, neighbours)
    check(gm.Counts(3, 3), asked, with_count(every), *pair, neighbours)
    check(gm.domains.Votes(3), asked, with_count(ranked), *pair, neighbours)
    check(gm.domains.SparseSum(3, 2, [1.0, 2.0, 4.0]), asked, with_count(sparse), *pair, neighbours)
    check(gm.Cells(3), asked, with_count(np.eye(3)), *pair, neighbours)
    none = np.vstack([np.eye(3), np.zeros((1, 3))])
    check(gm.Cells(3, or_none=True), asked, with_count(none), *pair, neighbours)
    check(gm.domains.Points(points), asked, with_count(points), *pair, neighbours)
    matrix = np.array([[1.0, -1.0, 0.0], [0.0, 2.0, 1.0], [-1.0, -1.0, -1.0]])
    for domain, records in (
        (gm.domains.Points(points), points),
        (gm.Cells(3, or_none=True), none),
        (gm.Counts(3, 2), few),
    ):
        check(domain, of_matrix(matrix), with_count(records @ matrix.T), *pair, neighbours)


def test_runs_of_cells_are_drawn_and_marginals_are_not() -> None:
    runs = of_workload(gm.workloads.prefix(4))
    check(gm.Cells(4), runs, with_count(np.tri(4).T @ np.eye(4)), 0, 2, ADD_REMOVE)
    marginals = of_workload(gm.workloads.marginals((2, 2), 1))
    assert outlines(Problem(gm.Cells(shape=(2, 2)), marginals, ADD_REMOVE), 0, 1) == []


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3), (4, 1)])
def test_people_with_many_rows(neighbours: str, pair: tuple[int, int]) -> None:
    """Own numbers between their bounds, sums over T rows within ±T half ranges, T rows, and one person."""
    domain = People(gm.Box([1.0], [4.0]), gm.Box([-1.0], [5.0]), 4)
    people, measured = [], []
    for T, own, row in itertools.product(range(1, 5), (1.0, 4.0), (-3.0, 3.0)):
        people.append([own, T * row, T, own - 2.5])
        measured.append([own - 2.5, T * row, T, own])
    check(domain, features([0, 1, 2, 0], [False, True, False, True]), with_count(people), *pair, neighbours)
    check(domain, features([0, 1, 2, 0], [True, True, False, False]), with_count(measured), *pair, neighbours)
