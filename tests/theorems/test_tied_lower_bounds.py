"""Lower bounds for whole requests, against the best noise for all vertices, written down answer by answer.

The vertices are listed from the definition of a part, in the space of all weighted answers; the best noise for them is
found by the general solver, which knows nothing of types, groups or questions. Its price is that of a real shape, so
that no valid lower bound can lie above it.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from planting import plant

from gaussmith.domains import joint_law as tied
from gaussmith.domains.joint_bounds import _generated, find_law
from gaussmith.domains.joint_law import lower_bound
from gaussmith.errors import PlanError
from gaussmith.numerics.joint.ladder import solve as solve_body
from gaussmith.numerics.joint.law import TypesLaw
from gaussmith.numerics.joint.parts import Body, JointPart, list_types
from gaussmith.numerics.solver import solve

Array = np.ndarray
NEIGHBOURS = ("add-remove", "replace-one")
MOST = 400


def part_of(
    groups: int,
    most: int,
    columns: list[tuple[float, float, float]] | None = None,
    count: float = 0.0,
    always: bool = False,
    over_rows: int = 0,
    max_rows: int = 0,
) -> JointPart:
    """Columns are (lower, upper, weight)."""
    low, high, weights = np.array(columns or np.zeros((0, 3)), float).reshape(-1, 3).T
    return JointPart(groups, int(always), most, (low + high) / 2, (high - low) / 2, weights, count, over_rows, max_rows)


def mean_of(groups: int, most: int, always: bool = False) -> JointPart:
    """The mean of a column from 0 to 1: centre 0, and its count weighs a third of r² more."""
    return JointPart(groups, int(always), most, np.zeros(1), np.full(1, 0.5), np.ones(1), 1 / 12)


# -- all vertices, answer by answer -----------------------------------------------------------------------------------


def people(part: JointPart) -> list[Array]:
    """The weighted answers of every extreme person: √w x_j and √w₀ in each group where the person is, else 0."""
    columns = list(zip(part.centre, part.radius, strict=True))
    values = list(itertools.product(*([c - r, c + r] for c, r in columns)))
    if part.max_rows:
        own, over = columns[: -part.row_columns - 1], columns[-part.row_columns - 1 : -1]
        values = [
            (*each, t * part.radius[-1])
            for t in (1 / part.max_rows, 1.0)
            for each in itertools.product(*([c - r, c + r] for c, r in own), *([-t * r, t * r] for _, r in over))
        ]
    found = []
    for k in range(part.fewest, part.most + 1):
        for active in itertools.combinations(range(part.groups), k):
            for chosen in itertools.product(values, repeat=k):
                answers = np.zeros((part.groups, part.columns + 1))
                for group, value in zip(active, chosen, strict=True):
                    answers[group] = [*(np.sqrt(part.weights) * value), math.sqrt(part.count_weight)]
                found.append(answers.ravel())
    return found


def best_noise(body: Body, neighbours: str) -> tuple[float, float]:
    """Below and above the least total, by the general solver."""
    rows = [np.concatenate(each) for each in itertools.product(*map(people, body.parts))]
    if neighbours == "replace-one":
        rows = [one - other for one in rows for other in rows]
    else:
        rows = [np.append(row, math.sqrt(body.people_weight)) for row in rows]
    points = np.unique(rows, axis=0)
    points = points[:, np.abs(points).max(axis=0) > 0]
    found = solve(points[np.abs(points).max(axis=1) > 0], gap=1e-4)
    return found.lower, found.upper


def draw_body(rng: np.random.Generator, replaced: bool, rows: bool = False) -> Body:
    while True:
        parts, size = [], 1
        for _ in range(int(rng.integers(1, 4))):
            g, p = int(rng.integers(1, 5)), int(rng.integers(0, 3))
            always = g == 1 and p > 0 and rng.random() < 0.5
            most = 1 if always else int(rng.integers(1, g + 1))
            low = np.round(rng.normal(size=p), 1)
            columns = [
                (x, x + float(w), float(v)) for x, w, v in zip(low, *np.exp(rng.normal(size=(2, p))), strict=True)
            ]
            over, k = 0, 0
            if rows and rng.random() < 0.7:
                over, k = int(rng.integers(0, 2)), int(rng.choice([2, 5, 30]))
                columns += [(-r, r, w) for r, w in np.exp(rng.normal(size=(over + 1, 2)))]
                p += over + 1
            parts.append(part_of(g, most, columns, float(rng.integers(p == 0, 3)) / 2, always, over, k))
            size *= sum(math.comb(g, k) * 2 ** (p * k) for k in range(int(always), most + 1))
        if 1 < size <= (20 if replaced else MOST):
            return Body(tuple(parts), float(rng.integers(0, 2)))


Case = tuple[Body, str, float, float]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    rng = np.random.default_rng(7)
    found: list[Case] = []
    for turn in range(80):
        neighbours = NEIGHBOURS[turn % 2]
        body = draw_body(rng, neighbours == "replace-one")
        found.append((body, neighbours, *best_noise(body, neighbours)))
    for _ in range(30):
        body = draw_body(rng, False, rows=True)
        found.append((body, "add-remove", *best_noise(body, "add-remove")))
    return found


def test_no_bound_is_above_the_optimum_and_all_are_near(cases: list[Case]) -> None:
    for body, neighbours, lower, upper in cases:
        bound = lower_bound(body, neighbours, find_law(body, neighbours))
        assert 0.99 * lower <= bound <= upper, (body, neighbours)


def test_laws_that_are_searched_for_are_near_too(cases: list[Case]) -> None:
    """The search for people among many types, where there are few and the optimum is known."""
    for body, neighbours, lower, upper in cases:
        if neighbours == "add-remove":
            people, weights = _generated(body, False, 1e-3)
            assert 0.99 * lower <= lower_bound(body, neighbours, people.law(weights)) <= upper


def test_any_law_is_a_bound(cases: list[Case]) -> None:
    """Laws that nobody would choose: random weights on random types, with random chances given the component."""
    rng = np.random.default_rng(1)
    for body, neighbours, _, upper in cases:
        for _ in range(3):
            law = draw_law(rng, body, neighbours == "replace-one")
            assert lower_bound(body, neighbours, law) <= upper


def draw_law(rng: np.random.Generator, body: Body, replaced: bool) -> TypesLaw:
    n = int(rng.integers(1, 4))
    lists = [list_types(part, replaced) for part in body.parts]
    picks = [
        rng.integers(0, len(counts), n).astype(float) if rng.random() < 0.3 else rng.random((n, len(counts))) ** 3
        for _, counts in lists
    ]
    corners = tuple(corner * rng.choice([1.0, rng.random()]) ** (corner[:, -1:] == 0) for corner, _ in lists)
    return TypesLaw(corners, tuple(counts for _, counts in lists), tuple(picks), rng.random(n) + 0.01)


def test_components_with_chances_are_the_people_they_stand_for(cases: list[Case]) -> None:
    """A law of independent parts proves what the list of all its people proves."""
    rng = np.random.default_rng(2)
    for body, neighbours, _, _ in cases[::4]:
        lists = [list_types(part, False) for part in body.parts]
        sizes = [len(counts) for _, counts in lists]
        chances = [rng.random((2, size)) for size in sizes]
        chances = [each / each.sum(axis=1, keepdims=True) for each in chances]
        corners, counts = (tuple(each) for each in zip(*lists, strict=True))
        short = TypesLaw(corners, counts, tuple(chances), np.array([1.0, 2.0]))
        index = np.indices(sizes).reshape(len(sizes), -1)
        weights = sum(
            w * np.prod([each[i][at] for each, at in zip(chances, index, strict=True)], axis=0)
            for i, w in enumerate(short.weights)
        )
        long = TypesLaw(corners, counts, tuple(at.astype(float) for at in index), np.asarray(weights))
        one, other = (lower_bound(body, neighbours, law) for law in (short, long))
        assert one == pytest.approx(other, rel=1e-9), neighbours


FAULTS = [
    (lower_bound, "math.sqrt(answers.part.groups - 1)", "math.sqrt(answers.part.groups)"),
    (lower_bound, "if replaced:", "if False:"),
    (tied._Answers.between, "self.corners[corner] - mean[at]", "self.corners[corner] + 0 * mean[at]"),
    (tied._Answers.column, "self.sums[t] - mean[i]", "self.sums[t]"),
    (tied._joint, "math.sqrt(people_weight)", "math.sqrt(1 + people_weight)"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "right", "wrong"), FAULTS, ids=[wrong for _, _, wrong in FAULTS])
def test_a_planted_fault_is_seen(
    cases: list[Case], monkeypatch: pytest.MonkeyPatch, function: Any, right: str, wrong: str
) -> None:
    plant(monkeypatch, function, right, wrong)
    with pytest.raises(AssertionError):
        test_no_bound_is_above_the_optimum_and_all_are_near(cases)
        test_components_with_chances_are_the_people_they_stand_for(cases)


# -- requests of the issue --------------------------------------------------------------------------------------------

UNIT = [(0.0, 1.0, 1.0)]
REQUESTS = {
    "sum; count by 2; count": (Body((part_of(1, 1, UNIT, 0, True), part_of(2, 1, None, 1)), 1.0), 7.015),
    "10 filtered counts": (Body((part_of(10, 10, None, 1),)), 43.08),
    "100 filtered counts": (Body((part_of(100, 100, None, 1),)), 3025),
    "histograms 5, 4, 3; count": (Body(tuple(part_of(g, 1, None, 1) for g in (5, 4, 3)), 1.0), 35.43),
    "histograms 50, 2": (Body(tuple(part_of(g, 1, None, 1) for g in (50, 2))), 69.99),
    "12 months; sum and count by 4; count": (Body((part_of(12, 12, None, 1), part_of(4, 1, UNIT, 1)), 1.0), 116.5),
    "2 filtered means; count": (Body((mean_of(1, 1), mean_of(1, 1)), 1.0), 4.767),
    "count by 1000, at most 5; 3 histograms; 6 filtered sums; 2 means; count": (
        Body(
            (
                part_of(1000, 5, None, 1), *(part_of(g, 1, None, 1) for g in (50, 50, 20)), part_of(6, 6, UNIT),
                JointPart(1, 1, 1, np.zeros(2), np.full(2, 0.5), np.ones(2), 1 / 6),
            ),
            1.0,
        ),
        8889,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_are_within_two_in_a_hundred(name: str) -> None:
    body, total = REQUESTS[name]
    bound = lower_bound(body, "add-remove", find_law(body, "add-remove"))
    assert total / 1.02 <= bound <= total * 1.0002  # the totals are rounded to four digits


def test_replace_one_adds_up_roots() -> None:
    """Means and counts of section 4, whose totals are known: 25/3 for counts of three groups, at most two of them."""
    parts = (part_of(3, 2, None, 1), mean_of(3, 2))
    bounds = [lower_bound(Body((part,)), "replace-one", find_law(Body((part,)), "replace-one")) for part in parts]
    assert bounds == pytest.approx([25 / 3, 7.5], rel=2e-3)
    whole = lower_bound(Body(parts), "replace-one", find_law(Body(parts), "replace-one"))
    assert whole == pytest.approx(sum(map(math.sqrt, bounds)) ** 2, rel=1e-9)


# -- laws that are none -----------------------------------------------------------------------------------------------

SMALL = Body((part_of(3, 2, UNIT, 1), part_of(1, 1, UNIT, 0, True)))


def law_of(body: Body, replaced: bool) -> TypesLaw:
    corners, counts = (tuple(each) for each in zip(*(list_types(part, replaced) for part in body.parts), strict=True))
    return TypesLaw(corners, counts, tuple(np.ones((1, len(each))) for each in counts), np.ones(1))


def changed(arrays: tuple[Array, ...], place: tuple[int, ...], value: float) -> tuple[Array, ...]:
    first = arrays[0].copy()
    first[place] = value
    return (first, *arrays[1:])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda law: replace(law, corners=changed(law.corners, (0, 0), 1.5)),
        lambda law: replace(law, corners=changed(law.corners, (0, 1), 2.0)),
        lambda law: replace(law, corners=changed(law.corners, (0, 1), 0.0)),
        lambda law: replace(law, corners=changed(law.corners, (0, 0), math.nan)),
        lambda law: replace(law, counts=changed(law.counts, (0, 0), 3.0)),
        lambda law: replace(law, counts=changed(law.counts, (0, 0), 0.5)),
        lambda law: replace(law, counts=changed(law.counts, (0, 0), -1.0)),
        lambda law: replace(law, counts=changed(law.counts[::-1], (0, 1), 0.0)[::-1]),
        lambda law: replace(law, picks=changed(law.picks, (0, 0), -1.0)),
        lambda law: replace(law, picks=changed(law.picks, (0, 0), math.nan)),
        lambda law: replace(law, picks=(np.array([99.0]), law.picks[1])),
        lambda law: replace(law, picks=(np.array([0.5]), law.picks[1])),
        lambda law: replace(law, picks=(0 * law.picks[0], law.picks[1])),
        lambda law: replace(law, picks=law.picks[:1]),
        lambda law: replace(law, weights=-law.weights),
        lambda law: replace(law, weights=0 * law.weights),
        lambda law: replace(law, weights=np.ones(2)),
    ],
)
def test_laws_that_are_none_are_refused(wrong: Any) -> None:
    law = law_of(SMALL, False)
    assert lower_bound(SMALL, "add-remove", law) > 0
    with pytest.raises(PlanError, match="not one of people"):
        lower_bound(SMALL, "add-remove", wrong(law))


@pytest.mark.parametrize(
    "corner",
    [
        [0.0, 0.0, 0.2, 1.0],  # fewer rows than one
        [0.0, 0.0, math.nextafter(1 / 3, 0), 1.0],
        [0.0, 0.0, 1.5, 1.0],
        [0.0, 0.0, -0.5, 1.0],
        [0.0, 0.0, -math.inf, 1.0],
        [0.0, 0.0, math.nan, 1.0],
        [0.0, 0.6, 0.5, 1.0],  # more than so many rows can add up to
        [0.0, -0.6, 0.5, 1.0],
        [1.5, 0.0, 1.0, 1.0],
        [0.0, 0.0, 1.0, 0.5],
    ],
)
def test_people_with_other_rows_are_refused(corner: list[float]) -> None:
    body = Body((part_of(2, 2, [(-1.0, 1.0, 1.0)] * 3, 1.0, over_rows=1, max_rows=3),))

    def bound(core: list[float], neighbours: str = "add-remove") -> float:
        law = TypesLaw((np.array([core]),), (np.ones((1, 1)),), (np.zeros(1),), np.ones(1))
        return lower_bound(body, neighbours, law)

    assert all(bound(core) > 0 for core in ([1.0, 0.5, 0.5, 1.0], [-1.0, -1.0, 1.0, 1.0], [0.0, 0.0, 1 / 2, 1.0]))
    with pytest.raises(PlanError, match="not one of people"):
        bound(corner)
    with pytest.raises(PlanError, match="not one of people"):
        bound([0.0, 0.0, 1.0, 1.0], "replace-one")


@pytest.mark.parametrize(
    ("corners", "counts"),
    [
        ([[2.0, 0.0]], [[3.0]]),  # three groups kept, of at most two
        ([[2.0, 0.0], [1.0, 1.0]], [[1.0, 2.0]]),  # one kept, two gained
        ([[2.0, 0.0], [1.0, -1.0]], [[2.0, 1.0]]),  # two kept, one lost
        ([[1.0, 1.0], [1.0, -1.0]], [[2.0, 2.0]]),  # four of three groups
        ([[2.0, 1.0]], [[1.0]]),  # gained with a difference
        ([[2.5, 0.0]], [[1.0]]),
        ([[0.0, 2.0]], [[1.0]]),
    ],
)
def test_differences_that_are_none_are_refused(corners: list[list[float]], counts: list[list[float]]) -> None:
    body = Body(SMALL.parts[:1])
    law = TypesLaw((np.array(corners),), (np.array(counts),), (np.zeros(1),), np.ones(1))
    with pytest.raises(PlanError, match="not one of people"):
        lower_bound(body, "replace-one", law)
    always = TypesLaw((np.array([[1.0, 1.0]]),), (np.ones((1, 1)),), (np.zeros(1),), np.ones(1))
    with pytest.raises(PlanError, match="not one of people"):
        lower_bound(Body(SMALL.parts[1:]), "replace-one", always)


def test_a_saved_law_proves_the_same() -> None:
    for body, neighbours in ((SMALL, NEIGHBOURS[0]), (SMALL, NEIGHBOURS[1]), (wide(10), NEIGHBOURS[0])):
        law = find_law(body, neighbours)
        again = TypesLaw.from_dict(json.loads(json.dumps(law.to_dict())))
        assert lower_bound(body, neighbours, again) == lower_bound(body, neighbours, law) > 0


@pytest.mark.parametrize(
    "wrong", [{"at": [8000.0]}, {"at": [-1.0]}, {"at": [0.5]}, {"at": [1.0, 2.0]}, {"shape": [10**6] * 2}]
)
def test_counts_that_were_not_saved_are_refused(wrong: dict[str, Any]) -> None:
    counts = {"shape": [80, 100], "at": [0.0], "numbers": [1.0]}
    fields = {"corners": [np.ones((100, 2)).tolist()], "counts": [counts], "picks": [[0.0]], "weights": [1.0]}
    assert TypesLaw.from_dict(fields).counts[0].sum() == 1.0
    with pytest.raises(PlanError, match="not one of people"):
        TypesLaw.from_dict(fields | {"counts": [counts | wrong]})


# -- many columns -----------------------------------------------------------------------------------------------------


def wide(columns: int) -> Body:
    """Sums of columns from 0 to 1, 2, 3, … of everybody, and the count."""
    return Body((part_of(1, 1, [(0.0, 1.0 + j, 1.0) for j in range(columns)], 1.0, True),))


@pytest.mark.parametrize("columns", [5, 8, 12])
def test_boxes_of_many_columns_are_near_the_master_formula(columns: int) -> None:
    """Corners are searched for where there are too many to list; the master formula is a plan (statement 11)."""
    body = wide(columns)
    r = body.parts[0].radius
    total = (r.sum() + math.sqrt((r * r).sum() + 1.0)) ** 2
    bound = lower_bound(body, "add-remove", find_law(body, "add-remove"))
    assert 0.99 * total <= bound <= total


@pytest.mark.parametrize("columns", [4, 9])
def test_many_sums_over_rows_are_near_their_optimum(columns: int) -> None:
    """Corners beyond a list are searched for: with one row as with all rows."""
    sums = [(-1.0, 1.0, 0.2)] * columns
    parts = (part_of(6, 3, [*sums, (-1.0, 1.0, 4.0)], 6.0, over_rows=columns, max_rows=10), part_of(4, 1, None, 1))
    least = solve_body(Body(parts, 1.0), "add-remove")
    assert least.how == "types" and least.law is not None
    bound = lower_bound(Body(parts, 1.0), "add-remove", find_law(Body(parts, 1.0), "add-remove"))
    assert 0.97 * least.total <= bound <= least.total * (1 + 1e-9)
    held = find_law(Body(parts, 1.0), "add-remove").corners[0]
    assert set(np.round(held[:, -2], 6)) == {0.1, 1.0}
