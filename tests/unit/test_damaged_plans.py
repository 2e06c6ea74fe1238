"""Plans from files that were changed by hand: whatever they say, none releases with less noise than its guarantee."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.errors import GaussmithError, PlanError
from gaussmith.numerics.matrices import Bordered, Dense, Diagonal
from gaussmith.numerics.norms import largest_distance, largest_norm

UNIT = gm.Guarantee(mu=1)
SOLVED = gm.plan(gm.Box([0, 0], [1, 3]), UNIT, shape="solved", count=True).to_dict()
LIFTED = gm.plan(gm.Box([-1, -1], [1, 1]), UNIT, shape="lifted", count=True).to_dict()
BALL = gm.plan(gm.domains.Ball(3, 1.0), UNIT, shape="isotropic").to_dict()
FEW = gm.plan(gm.Box([0] * 12, [1] * 12), UNIT, answers=[[1] * 12, list(range(12))]).to_dict()
MOMENTS = gm.plan(gm.Moments({"a": (0, 1), "b": (0, 2), "c": (0, 1)}), UNIT, answers="variances").to_dict()
CELLS = gm.plan(gm.Cells(shape=(2, 2)), UNIT).to_dict()
MARGINALS = gm.plan(gm.Cells(shape=(2, 2)), UNIT, answers=gm.workloads.marginals([2, 2], 1)).to_dict()
NAN, INF = math.nan, math.inf


def changed(fields: dict[str, Any], *path: str | int, to: Any) -> str:
    """The plan as JSON with one field of its block changed."""
    fields = copy.deepcopy(fields)
    place = fields["queries"][0]["block"]
    for name in path[:-1]:
        place = place[name]  # type: ignore[index]
    place[path[-1]] = to  # type: ignore[index]
    return json.dumps(fields)


def without_law(fields: dict[str, Any]) -> dict[str, Any]:
    """The plan without what was known of other noise."""
    (draw,) = fields["queries"]
    return {**fields, "queries": [{**draw, "block": {**draw["block"], "law": None, "alternatives": []}}]}


@pytest.mark.parametrize("fields", [SOLVED, LIFTED, BALL, FEW, MOMENTS, CELLS, MARGINALS, without_law(CELLS)])
def test_unchanged_they_are_read(fields: dict[str, Any]) -> None:
    assert gm.Plan.from_json(json.dumps(fields)).to_dict() == fields


@pytest.mark.parametrize(
    "text",
    [
        changed(SOLVED, "shape", "lift", "matrix", 0, to=[NAN, NAN, NAN]),
        changed(SOLVED, "shape", "lift", "matrix", 0, to=[INF, INF, 1.0]),
        changed(SOLVED, "shape", "lift", "matrix", 0, to=[1.0]),
        changed(SOLVED, "shape", "lift", "matrix", to=[[[1.0], [1.0], [1.0]]]),
        changed(SOLVED, "shape", "features", "matrix", 0, to=[NAN, 1.0, 1.0]),
        changed(LIFTED, "shape", "lift", "entries", to=[[0.1, 0.1, 0.1]] * 3),  # rows that would share their noise
        changed(LIFTED, "shape", "lift", "entries", to=[NAN, 0.1, 0.1]),
        changed(LIFTED, "shape", "lift", "entries", to=10**400),
        changed(LIFTED, "shape", "features", to={"kind": "diagonal", "entries": [1.0] * 9}),
        changed(LIFTED, "substitutes", to=[NAN, 0.0]),
        changed(SOLVED, "substitutes", to=[INF, 0.0]),
        changed(LIFTED, "substitutes", to=[0.0, -INF]),
        changed(BALL, "substitutes", to=[0.0, INF, 0.0]),
        changed(FEW, "alternatives", 0, 1, to=INF),
        changed(SOLVED, "law", "lower", to=NAN),
        changed(LIFTED, "answers", "statistics", 0, "weights", to=[1.0, INF]),
        changed(LIFTED, "substitutes", to=[[0.0, 0.0], [0.0, 0.0]]),
        changed(LIFTED, "substitutes", to=[0.0]),
        changed(LIFTED, "domain", "upper", to=[10**400, 1]),
        changed(LIFTED, "answers", "features", "index", to=[0, 7]),
        changed(LIFTED, "answers", "features", "centred", to=[False]),
        changed(LIFTED, "answers", "features", "targets", to=[1.0]),
        changed(LIFTED, "answers", "features", "over", to=[5, 5]),
        changed(LIFTED, "answers", "statistics", 0, "names", to=["a"]),
        changed(LIFTED, "answers", "statistics", 0, "kind", to="magic"),
        changed(LIFTED, "answers", "statistics", 0, "places", to=[[0], [2]]),
        changed(LIFTED, "answers", "statistics", 0, "places", to=[[0], [-2]]),
        changed(LIFTED, "answers", "statistics", 0, "places", to=[[0, 1]]),
        changed(LIFTED, "answers", "statistics", 0, "weights", to=[1.0, NAN]),
        changed(LIFTED, "answers", "statistics", 0, "weights", to=[1.0, -1.0]),
        changed(LIFTED, "answers", "statistics", 0, "other", to=1),
        changed(LIFTED, "answers", "statistics", to=[]),
        changed(LIFTED, "answers", "other", to=1),
        changed(BALL, "shape", "lift", "index", to=[0, 1, -1]),
        changed(BALL, "shape", "lift", "index", to=[0, 1, 9]),
        changed(BALL, "shape", "lift", "border", to=[0.0]),
        changed(BALL, "shape", "lift", "inner", to=[[1.0, 1.0]] * 3),
        changed(FEW, "shape", "lift", "inner", to=[[1.0] * 12, [0.0] * 12, [0.0] * 12]),
        changed(FEW, "shape", "lift", "inner", 0, 3, to=NAN),
        changed(FEW, "shape", "lift", "columns", to=[1.0] * 12),
        changed(FEW, "shape", "lift", "columns", to=[]),
        changed(FEW, "shape", "lift", "left", to=[]),
        changed(FEW, "shape", "lift", "inner", to=np.random.default_rng(1).normal(size=(9, 13)).tolist()),
        changed(MOMENTS, "shape", "lift", "matrix", 3, 0, to=0.5),  # a row that sees a value and its square
        changed(MOMENTS, "shape", "lift", "matrix", 0, 1, to=0.5),  # or two values
        changed(MOMENTS, "shape", "lift", "matrix", 0, 0, to=NAN),
        changed(MOMENTS, "shape", "lift", "matrix", to=[[1.0] * 13] * 13),
        changed(MOMENTS, "shape", "features", "matrix", to=[[1.0] * 13] * 13),
        # each record is in a cell of both marginals, and the lift was made for one cell
        changed(without_law(CELLS), "answers", to=MARGINALS["queries"][0]["block"]["answers"]),
        changed(MARGINALS, "shape", "lift", "subsets", to=[[], [0], [0, 0]]),
        changed(MARGINALS, "shape", "lift", "subsets", to=[[], [0], [0]]),
        changed(MARGINALS, "shape", "lift", "subsets", to=[[], [0], [0, 1]]),
        changed(MARGINALS, "shape", "lift", "subsets", to=[[], [0], [7]]),
        "[" * 100_000,
    ],
)
def test_refused_when_read(text: str) -> None:
    with pytest.raises(GaussmithError):
        gm.Plan.from_json(text)


def test_rows_on_one_coordinate_of_a_ball_are_certified_together() -> None:
    text = changed(BALL, "shape", "lift", "index", to=[0, 0, 0])
    plan = gm.Plan.from_json(text)
    core = [*plan.block.codes.encode(np.array([[1.0, 0.0, 0.0]]))[0].tolist(), 1]
    lifted = np.array(plan.block.grid.lift.exact_times(core), float)
    assert np.linalg.norm(lifted) <= 2.0**52
    assert plan.domain.extremes().replacement_sensitivity(plan.block.shape.lift) >= 2 * math.sqrt(3)


@pytest.mark.parametrize(
    ("fields", "path", "to"),
    [
        (FEW, ("left",), [[1.0, 2.0, 3.0], [4.0, -5.0, 6.0]]),
        (FEW, ("columns",), list(range(-6, 7))),
        (FEW, ("inner", 1), [float(7 * j % 5) for j in range(13)]),
    ],
)
def test_other_numbers_in_a_lift_are_certified_as_they_are(
    fields: dict[str, Any], path: tuple[str | int, ...], to: Any
) -> None:
    """The grid is made for what the lift says now: no corner leaves the guarantee."""
    plan = gm.Plan.from_json(changed(without_law(fields), "shape", "lift", *path, to=to))
    extents = plan.block.codes.extents
    for signs in np.random.default_rng(2).choice([-1.0, 1.0], (200, 12)):
        core = [*(signs * extents).astype(np.int64).tolist(), 1]
        lifted = np.array(plan.block.grid.lift.exact_times(core), float)
        assert np.linalg.norm(lifted) <= 2.0**52


def test_border_of_a_ball_under_replace_one_is_refused() -> None:
    fields = gm.plan(gm.domains.Ball(3, 1.0), UNIT, shape="isotropic", neighbours="replace-one").to_dict()
    with refused(damaged("a ball with a border under replace-one")):
        gm.Plan.from_json(changed(fields, "shape", "lift", "border", to=[50.0] * 3))


def test_norms_of_what_is_not_finite_are_infinite() -> None:
    for lift in ([[NAN, 1.0]], [[INF, INF]], [[1e200, 1e200]]):
        points = np.array([[1.0, -1.0], [1.0, 1.0]])
        with np.errstate(all="ignore"):
            assert largest_norm(np.array(lift), points) == INF
            assert largest_distance(np.array(lift), points) == INF


def test_matrices_hold_finite_numbers_in_their_places() -> None:
    one = np.ones(2)
    for make in (
        lambda: Diagonal(np.ones((2, 2))),
        lambda: Diagonal(np.array([1.0, NAN])),
        lambda: Dense(np.ones(3)),
        lambda: Dense(np.array([[INF]])),
        lambda: Bordered(np.array([0, -1]), one, one, 3),
        lambda: Bordered(np.array([0, 3]), one, one, 3),
        lambda: Bordered(np.array([0, 1]), one, np.ones(1), 3),
    ):
        with pytest.raises(PlanError):
            make()


def test_reading_certifies_without_assertions() -> None:
    """`python -O` leaves assertions out; reading a plan must refuse all the same."""
    fields = gm.plan(gm.domains.Ball(2, 1.0), gm.Guarantee(mu=1e-14)).to_dict()
    for each in (fields, fields["queries"][0], fields["queries"][0]["block"]):
        each["guarantee"] = {"mu": 1e-17}  # no room for rounding
    code = "import sys, gaussmith as gm\ntry: gm.Plan.from_json(sys.argv[1])\nexcept ValueError: print('refused')"
    found = subprocess.run([sys.executable, "-O", "-c", code, json.dumps(fields)], capture_output=True, text=True)
    assert found.stdout == "refused\n"


def test_a_groups_own_plan_keeps_the_number_of_people_private() -> None:
    by = gm.Groups({"region": ["north", "south"]}, gm.Box([-1], [1]))
    fields = gm.plan(by, UNIT).to_dict()
    public = gm.plan(gm.Box([-1], [1]), UNIT, neighbours="replace-one").to_dict()
    fields["queries"][0]["block"] = public["queries"][0]["block"]
    with refused(damaged("a group planned with a public number of people")):
        gm.Plan.from_dict(fields)
