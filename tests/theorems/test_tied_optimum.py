"""The noise of whole requests is the least there is: against all vertices, reference values and closed forms."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from all_people import check_law, find_largest_square, list_answers, make_part

from gaussmith.numerics.joint import ladder
from gaussmith.numerics.joint.centred import LiftBlock, join, root_of_total
from gaussmith.numerics.joint.ladder import Solution, solve
from gaussmith.numerics.joint.lift import total_of
from gaussmith.numerics.joint.parts import Body, JointPart
from gaussmith.numerics.joint.replaced import _closed_form
from gaussmith.numerics.joint.sensitivity import largest
from gaussmith.numerics.solver import solve as solve_points
from gaussmith.numerics.two_level import counts

VALUES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("joint_values.json").read_text("utf-8"))["values"]
SMALL = 3000
"""People who are written out, at most."""


def read_body(value: dict[str, Any]) -> Body:
    parts = [
        make_part(
            q["groups"],
            q["most"],
            zip(q["centre"], q["radius"], q["weights"], strict=True),
            q["count_weight"],
            always=q["always"],
            fewest=q.get("fewest", 0),
        )
        for q in value["parts"]
    ]
    return Body(tuple(parts), value["people_weight"])


def count_people(body: Body, replaced: bool) -> float:
    corners = [
        sum(math.comb(p.groups, k) * 2.0 ** (k * p.columns) for k in range(p.fewest, p.most + 1)) for p in body.parts
    ]
    return math.prod(corners) ** (2 if replaced else 1)


def made(body: Body, blocks: list[LiftBlock], replaced: bool = False) -> Solution:
    lift = join(body, blocks)
    return Solution(lift, total_of(lift, body), None, "")


def test_the_least_total_around_a_centre_is_convex() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        records, (a, b) = rng.normal(size=(9, 3)), rng.normal(size=(2, 3))
        at_a, between, at_b = (solve_points(records - centre, gap=1e-4) for centre in (a, (a + b) / 2, b))
        assert 2 * math.sqrt(between.lower) <= math.sqrt(at_a.upper) + math.sqrt(at_b.upper)


def closed_forms(body: Body) -> list[LiftBlock]:
    return ladder._closed_forms(body.parts, range(len(body.parts)), body.people_weight)


def split(parts: Sequence[JointPart], people_weight: float) -> float:
    """The total of noise of its own for each part, at the best shares."""
    roots = [math.sqrt(solve(Body((part,)), "add-remove").total) for part in parts]
    return (sum(roots) + math.sqrt(people_weight)) ** 2


def check_norm(found: Solution, body: Body, replaced: bool = False) -> None:
    """The lift hides everybody, and is not larger than it must be."""
    assert find_largest_square(found.lift, body, replaced) == pytest.approx(1.0, abs=2e-9)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value["name"])
def test_reference_values(value: dict[str, Any]) -> None:
    body, replaced = read_body(value), value["neighbours"] == "replace-one"
    found = solve(body, value["neighbours"])
    assert value["least"] * (1 - 1e-5) <= found.total <= value["least"] * (1 + 1e-4)
    if count_people(body, replaced) <= SMALL:
        check_norm(found, body, replaced)
    check_law(found, body, replaced)


@pytest.mark.parametrize("value", [v for v in VALUES if "closed_form" in v], ids=lambda value: value["name"])
def test_closed_forms_reach_their_reference(value: dict[str, Any]) -> None:
    body, replaced = read_body(value), value["neighbours"] == "replace-one"
    if replaced:
        blocks = [_closed_form(part, q) for q, part in enumerate(body.parts)]
    else:
        blocks = closed_forms(body)
    found = made(body, blocks, replaced)
    assert value["least"] * (1 - 1e-5) <= found.total <= value["closed_form"] * (1 + 1e-5)
    assert found.total == pytest.approx(root_of_total(blocks, body.people_weight) ** 2, rel=1e-9)
    if count_people(body, replaced) <= SMALL:
        check_norm(found, body, replaced)
    for q, part in enumerate(body.parts):  # what certification rests on: exact zeros
        own = found.lift.own[q].copy()
        own[np.arange(part.columns), np.arange(part.columns)] = 0.0
        ties = found.lift.ties[found.lift.rows_of(q)].copy()
        if not part.always:
            own[:, -1] = 0.0
            ties[:, found.lift.starts[q + 1] - 1] = 0.0
        assert not own.any() and not ties[:, : found.lift.starts[-1]].any()


def draw_part(rng: np.random.Generator, most_groups: int = 3, rows: bool = False) -> JointPart:
    groups = int(rng.integers(1, most_groups + 1))
    most = int(rng.integers(1, groups + 1))
    always = groups == 1 and rng.random() < 0.3
    columns = []
    for _ in range(int(rng.integers(always, 3 if groups * most < 4 else 2))):
        low, high = np.sort(np.round(rng.normal(size=2) + rng.integers(2), 2))
        kind = rng.integers(3)
        centre = 0.0 if kind == 0 else (low + high) / 2
        columns.append((centre, (high - low) / 2 + 0.05, float(rng.choice([0.25, 1.0, 3.0]))))
    count = float(rng.choice([0.0, 0.5, 1.0])) if columns else 1.0
    if not rows:
        return make_part(groups, most, columns, count, always=always)
    over = int(rng.integers(0, 3 if groups == 1 else 2))
    for _ in range(over + 1):
        columns.append((0.0, float(rng.choice([0.3, 1.0, 2.0])), float(rng.choice([0.25, 1.0, 3.0]))))
    k = int(rng.choice([2, 3, 20]))
    return make_part(groups, most, columns, count * rng.integers(2), always=always, over_rows=over, max_rows=k)


def draw_body(rng: np.random.Generator, replaced: bool, rows: bool = False) -> Body:
    while True:
        counted = rng.random(int(rng.integers(1, 4))) < 0.6 if rows else np.zeros(int(rng.integers(1, 4)), bool)
        parts = tuple(draw_part(rng, rows=bool(each)) for each in counted)
        body = Body(parts, float(rng.integers(2)))
        if count_people(body, replaced) <= SMALL / 2:
            return body


@pytest.mark.parametrize("seed", range(60))
def test_random_requests_against_all_vertices(seed: int) -> None:
    body = draw_body(np.random.default_rng(seed), False)
    best = solve_points(list_answers(body), gap=1e-5)
    found = solve(body, "add-remove")
    assert best.lower * (1 - 1e-6) <= found.total <= best.upper * (1 + 1e-5)
    check_norm(found, body)
    check_law(found, body)


@pytest.mark.parametrize("seed", range(20))
def test_random_requests_under_replace_one_against_all_vertices(seed: int) -> None:
    body = draw_body(np.random.default_rng(1000 + seed), True)
    best = solve_points(list_answers(body, True), gap=1e-5)
    found = solve(body, "replace-one")
    assert best.lower * (1 - 1e-6) <= found.total <= best.upper * (1 + 1e-5)
    assert not found.lift.counted
    check_norm(found, body, True)
    check_law(found, body, True)


@pytest.mark.parametrize("seed", range(40))
def test_random_requests_with_rows_against_all_vertices(seed: int) -> None:
    body = draw_body(np.random.default_rng(3000 + seed), False, rows=True)
    best = solve_points(list_answers(body), gap=1e-5)
    found = solve(body, "add-remove")
    assert best.lower * (1 - 1e-6) <= found.total <= best.upper * (1 + 1e-5)
    check_norm(found, body)
    check_law(found, body)


FAR = [(-0.76, 0.2, 1.0)]  # a sum that is never on both sides of 0
LONE = {
    "a lone sum": (make_part(2, 2, FAR),),
    "everybody's lone sum": (make_part(1, 1, FAR, always=True),),
    "everybody's sum and number": (make_part(1, 1, FAR, 0.5, always=True),),
    "a sum beside a mean": (make_part(1, 1, [*FAR, (0.0, 1.1, 0.25)]),),
    "a sum beside a mean in groups": (make_part(2, 2, [*FAR, (0.0, 1.1, 0.25)]),),
    "a sum beside other questions": (make_part(1, 1, [*FAR, (0.0, 1.1, 0.25)]), make_part(2, 1, FAR, 0.5)),
    "two lone sums": (make_part(1, 1, FAR), make_part(2, 1, FAR)),
    "everybody's lone sum and a count": (make_part(1, 1, FAR, always=True), make_part(1, 1, count_weight=1.0)),
}


@pytest.mark.parametrize("name", LONE)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_lone_sums_against_all_vertices(name: str, neighbours: str) -> None:
    body, replaced = Body(LONE[name]), neighbours == "replace-one"
    best = solve_points(list_answers(body, replaced), gap=1e-5)
    found = solve(body, neighbours)
    assert best.lower * (1 - 1e-6) <= found.total <= best.upper * (1 + 1e-5)
    check_norm(found, body, replaced)
    check_law(found, body, replaced)


@pytest.mark.parametrize("seed", range(30))
def test_shared_constant_beside_the_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly a type listed the request is still hidden, never below the optimum, and close to it."""
    rng = np.random.default_rng(2000 + seed)
    body = Body(tuple(draw_part(rng, 5) for _ in range(int(rng.integers(2, 5)))), float(rng.integers(2)))
    best = solve(body, "add-remove")
    assert best.how == "types"
    monkeypatch.setattr(ladder, "_KEPT", {})
    monkeypatch.setattr(ladder, "_WORK", 0.0)
    monkeypatch.setattr(ladder, "_BLOCK", 300.0)
    found = solve(body, "add-remove")
    assert found.how != "types"
    assert best.total * (1 - 1e-5) <= found.total <= best.total * 1.06
    if count_people(body, False) <= SMALL:
        check_norm(found, body)


@pytest.mark.parametrize("block", [300.0, 0.0], ids=["types", "boxes"])
@pytest.mark.parametrize("seed", range(15))
def test_rows_beside_a_shared_constant(seed: int, block: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part with rows solved by its types, or as a box where these are too many."""
    rng = np.random.default_rng(5000 + seed)
    parts = [draw_part(rng, 5, rows=bool(rng.random() < 0.6)) for _ in range(int(rng.integers(2, 5)))]
    body = Body((*parts[1:], draw_part(rng, 5, rows=True)), float(rng.integers(2)))
    best = solve(body, "add-remove")
    assert best.how == "types"
    monkeypatch.setattr(ladder, "_KEPT", {})
    monkeypatch.setattr(ladder, "_WORK", 0.0)
    monkeypatch.setattr(ladder, "_BLOCK", block)
    found = solve(body, "add-remove")
    assert found.how != "types"
    assert best.total * (1 - 1e-5) <= found.total <= best.total * 1.08
    assert largest(found.lift, body, "add-remove") <= 1 + 1e-9
    assert largest(found.lift, body, "add-remove") >= math.sqrt(best.total / found.total) * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_never_worse_than_the_best_split(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3000 + seed)
    body = Body(tuple(draw_part(rng, 6) for _ in range(3)))
    monkeypatch.setattr(ladder, "_WORK", 200.0)
    monkeypatch.setattr(ladder, "_BLOCK", 200.0)
    together = solve(body, "add-remove").total
    assert together <= split(body.parts, 0.0) * (1 + 1e-6)


def test_wide_parts_beside_others_are_never_worse_than_apart() -> None:
    """Many columns without a count lose in closed form what their types do not."""
    far = [(34.6, 36.6, 10.0), (1.3, 0.6, 0.01), (1.0, 0.002, 1.0), (-1.0, 5.1, 0.001), (0.01, 0.001, 1.0)]
    near = [(1.0, 0.15, 0.1), (1.1, 0.04, 0.1), (0.01, 0.002, 0.01), (-9.6, 3.6, 0.1), (-0.06, 0.02, 0.1)]
    parts = (make_part(2, 2, far), make_part(1, 1, near), make_part(3, 3, count_weight=1.0))
    found = solve(Body(parts, 1.0), "add-remove")
    assert found.how == "shared constant"
    assert found.total < 0.999 * split(parts, 1.0)


def test_fifty_questions_are_better_than_apart() -> None:
    parts = [make_part(1, 1, [(0.5 + i / 20, 0.5 + i / 20, 1.0)], 1.0) for i in range(20)]
    parts += [make_part(3 + i, 1, count_weight=1.0) for i in range(15)]
    parts += [make_part(10 + i, 3, [(0.5, 0.5, 1.0), (1.5 + i / 20, 0.5 + i / 20, 1.0)], 1.0) for i in range(15)]
    body = Body(tuple(parts), 1.0)
    found = solve(body, "add-remove")
    assert found.total < 0.98 * split(parts, 1.0)


@pytest.mark.parametrize(("groups", "most"), [(1, 1), (5, 2), (10, 10), (40, 27), (900, 600)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_counts_against_the_two_level_shape(groups: int, most: int, neighbours: str) -> None:
    found = solve(Body((make_part(groups, most, count_weight=1.0),)), neighbours)
    assert found.total == pytest.approx(counts(groups, most, neighbours).total, rel=2e-6)


SILENT = {  # parts of which nothing is asked, or only how many people there are
    "nobody": ((), 1.0, 1.0),
    "nothing": ((make_part(3, 2),), 0.0, 0.0),
    "the number of people": ((make_part(1, 1, count_weight=1.0, always=True),), 0.0, 1.0),
    "the number of people twice": ((make_part(1, 1, count_weight=1.0, always=True),), 3.0, 4.0),
    "a histogram and nothing": ((make_part(3, 2), make_part(2, 1, count_weight=1.0)), 0.0, 2.0),
}


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_parts_of_which_nothing_is_asked(name: str, neighbours: str) -> None:
    parts, weight, least = SILENT[name]
    body, replaced = Body(parts, weight), neighbours == "replace-one"
    found = solve(body, neighbours)
    if replaced:  # nobody is added; a histogram of 2 values, at most one each
        least = counts(2, 1, neighbours).total if "histogram" in name else 0.0
    assert found.total == pytest.approx(least, rel=1e-6, abs=1e-12)
    assert found.law is not None
    found.law.check(body, replaced)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_units_far_apart(scale: float) -> None:
    one = Body((make_part(1, 1, [(scale, scale, 1.0)], always=True),), 1.0)
    assert solve(one, "add-remove").total == pytest.approx((scale + math.sqrt(scale**2 + 1)) ** 2, rel=2e-6)
    body = Body((make_part(3, 2, [(scale, scale, 1.0)], 1.0), make_part(3, 1, count_weight=1.0)), 1.0)
    found = solve(body, "add-remove")
    check_norm(found, body)
    same = Body((make_part(3, 2, [(1.0, 1.0, scale**2)], 1.0), body.parts[1]), 1.0)
    assert solve(same, "add-remove").total == pytest.approx(found.total, rel=1e-6)
