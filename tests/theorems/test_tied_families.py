"""Groups that weigh differently: the least noise there is, against all vertices; closed forms against types.

docs/theory.md, statements 41 and 42.
"""

from __future__ import annotations

import numpy as np
import pytest
from all_people import check_law, find_largest_square, list_answers, list_people, make_part
from planting import plant

from gaussmith.domains.joint_bounds import find_law
from gaussmith.domains.joint_law import lower_bound
from gaussmith.errors import PlanError
from gaussmith.numerics.joint import ladder, law, replaced
from gaussmith.numerics.joint.ladder import solve
from gaussmith.numerics.joint.law import TypesLaw
from gaussmith.numerics.joint.parts import Body, Family, JointPart
from gaussmith.numerics.joint.sensitivity import largest
from gaussmith.numerics.solver import solve as solve_points

Columns = list[tuple[float, float, float]]


def make_family(groups: list[int], weights: list[float], most: int, columns: Columns, count: float) -> list[JointPart]:
    """A part for each weight."""
    return [
        make_part(g, min(most, g), [(centre, r, w * v) for centre, r, v in columns], w * count)
        for g, w in zip(groups, weights, strict=True)
    ]


def draw_body(rng: np.random.Generator, replaced: bool) -> Body:
    """A question whose groups weigh differently, under add-remove perhaps with another one."""
    while True:
        groups = [int(g) for g in rng.integers(1, 3, int(rng.integers(2, 4)))]
        most = int(rng.integers(1, sum(groups) + 1))
        columns: Columns = [(float(rng.choice([0.0, 0.5, 1.5])), 0.5, 1.0)] * int(rng.integers(0, 3))
        count = float(rng.integers(2)) if columns else 1.0
        weights = rng.choice([0.25, 0.5, 2.0, 4.0, 9.0], len(groups), replace=False).tolist()
        parts = make_family(groups, weights, most, columns, count)
        families = (Family(tuple(range(len(parts))), most),)
        if not replaced and rng.random() < 0.5:
            parts.append(make_part(2, 1, count_weight=1.0))
        body = Body(tuple(parts), float(rng.integers(2)) * (not replaced), families)
        if len(list_people(body)[0]) <= (80 if replaced else 800):
            return body


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_random_families_against_all_vertices(seed: int, replaced: bool) -> None:
    body = draw_body(np.random.default_rng(seed), replaced)
    neighbours = "replace-one" if replaced else "add-remove"
    best = solve_points(list_answers(body, replaced), gap=1e-5)
    found = solve(body, neighbours)
    assert best.lower * (1 - 1e-6) <= found.total <= best.upper * (1 + 2e-5)
    square = find_largest_square(found.lift, body, replaced)
    assert square == pytest.approx(1.0, abs=2e-9)
    assert 0 <= largest(found.lift, body, neighbours) - square**0.5 <= 1e-12
    assert found.law is not None
    assert lower_bound(body, neighbours, found.law) == pytest.approx(found.total, rel=1e-5)
    if not replaced:
        check_law(found, body)
    bound = lower_bound(body, neighbours, find_law(body, neighbours))
    assert best.lower * (1 - 3e-3) <= bound <= best.upper


LARGE = [
    ([3, 9], [9.0, 1.0], 4, [], 1.0),
    ([2, 3, 7], [9.0, 4.0, 1.0], 6, [], 1.0),
    ([3, 9], [9.0, 1.0], 12, [(0.5, 0.5, 1.0)], 1.0),
    ([3, 97], [9.0, 1.0], 5, [(0.0, 0.5, 1.0)], 1 / 3),
    ([3] * 8, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 5, [(0.5, 0.5, 1.0)], 1.0),
    ([3, 997], [100.0, 1.0], 10, [(0.5, 0.5, 1.0)] * 3, 1.0),
]


@pytest.mark.parametrize(
    ("groups", "weights", "most", "columns", "count", "beside"), [(*each, i % 2 == 1) for i, each in enumerate(LARGE)]
)
def test_closed_forms_are_within_two_percent_of_their_bound(
    monkeypatch: pytest.MonkeyPatch,
    groups: list[int],
    weights: list[float],
    most: int,
    columns: Columns,
    count: float,
    beside: bool,
) -> None:
    parts = make_family(groups, weights, most, columns, count)
    families = (Family(tuple(range(len(parts))), most),)
    parts += [make_part(6, 1, count_weight=1.0)] * beside
    body = Body(tuple(parts), float(beside), families)
    monkeypatch.setattr(ladder, "_fits", lambda *_: False)
    found = solve(body, "add-remove")
    assert found.how == "shared constant"
    norm = largest(found.lift, body, "add-remove")
    assert norm == pytest.approx(1.0, abs=1e-9)
    assert 1.0 <= found.total / lower_bound(body, "add-remove", find_law(body, "add-remove")) <= 1.02


@pytest.mark.parametrize(("groups", "weights", "most", "columns", "count"), LARGE[:3])
def test_under_replace_one_groups_are_never_worse_than_with_one_noise_for_all(
    monkeypatch: pytest.MonkeyPatch, groups: list[int], weights: list[float], most: int, columns: Columns, count: float
) -> None:
    parts = make_family(groups, weights, most, columns, count)
    body = Body(tuple(parts), families=(Family(tuple(range(len(parts))), most),))
    best = solve(body, "replace-one")
    monkeypatch.setattr(replaced, "MOST_TYPES", 200)
    found = solve(body, "replace-one")
    assert largest(found.lift, body, "replace-one") == pytest.approx(1.0, abs=1e-9)
    mean = sum(g * w for g, w in zip(groups, weights, strict=True)) / sum(groups)
    (alike,) = make_family([sum(groups)], [mean], most, columns, count)
    assert best.total <= found.total * (1 + 1e-6) <= solve(Body((alike,)), "replace-one").total * (1 + 2e-6)


@pytest.mark.parametrize(("groups", "most", "centre", "count"), [(10, 3, 0.0, 0.25), (10, 3, 0.5, 1.0)])
def test_laws_of_many_columns_are_near_the_best(groups: int, most: int, centre: float, count: float) -> None:
    body = Body((make_part(groups, most, [(centre, 0.5, 1.0)] * 40, count),))
    found = solve(body, "replace-one")
    law = find_law(body, "replace-one", 1e-2)  # as plans with many columns search
    assert 1.0 <= found.total / lower_bound(body, "replace-one", law) <= 1.01


def crowd(most: int) -> TypesLaw:
    """A law of one person who is in one group of each of two parts."""
    one = np.ones((1, 1))
    return TypesLaw((one, one), (one, one), (np.zeros(1), np.zeros(1)), np.ones(1))


def test_a_law_on_people_in_too_many_groups_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = tuple(make_family([1, 1], [1.0, 4.0], 1, [], 1.0))
    lower_bound(Body(parts, families=(Family((0, 1), 2),)), "add-remove", crowd(2))
    body = Body(parts, families=(Family((0, 1), 1),))
    with pytest.raises(PlanError, match="law that is not one of people"):
        lower_bound(body, "add-remove", crowd(2))
    plant(monkeypatch, law.TypesLaw._keeps, "used <= family.most", "used >= 0")
    with pytest.raises(pytest.fail.Exception), pytest.raises(PlanError):
        lower_bound(body, "add-remove", crowd(2))


@pytest.mark.parametrize(("groups", "most", "columns"), [(3, 1, 0), (4, 2, 0), (3, 2, 1), (2, 2, 1)])
@pytest.mark.parametrize("people", [0.0, 1.0])
def test_people_in_exactly_so_many_groups(groups: int, most: int, columns: int, people: float) -> None:
    """The sum of their counts is the same for everybody, and needs next to no noise."""
    part = make_part(groups, most, [(0.5, 0.5, 1.0)] * columns, 1.0, fewest=most)
    body = Body((part, make_part(2, 1, count_weight=1.0)), people)
    best = solve_points(list_answers(body), gap=1e-6)
    found = solve(body, "add-remove")
    assert best.lower * (1 - 1e-6) <= found.total <= best.upper * (1 + 1e-5)
    square = find_largest_square(found.lift, body)
    assert square == pytest.approx(1.0, abs=1e-7)  # what cancels is 2^22 times larger than the rest
    assert 0 <= largest(found.lift, body, "add-remove") ** 2 / square - 1 <= 1e-7
    check_law(found, body)
