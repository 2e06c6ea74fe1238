"""Where means lie: read, refused, kept in saved plans and told; the noise never depends on it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.errors import PlanError
from gaussmith.planning.plan import Plan

G = gm.Guarantee(epsilon=1, delta=1e-6)
BOX = gm.Box({"age": (0, 100), "height": (0, 2)})
MEANS = {"age": (0, 100), "height": (0, 2)}


def shapes(plan: gm.Plan) -> list[object]:
    return [query.block.shape.to_dict() for query in plan.queries]


def test_bounds_and_fractions_say_the_same() -> None:
    told = [
        gm.plan(BOX, G, answers="means", mean_within=where)
        for where in ({"age": (25, 75), "height": (0.5, 1.5)}, {"age": 0.5, "height": 0.5}, 0.5)
    ]
    assert told[0].errors(100) == told[1].errors(100) == told[2].errors(100)
    free, all_of_it = (gm.plan(BOX, G, answers="means", mean_within=where) for where in (None, 1))
    assert all_of_it.errors(100) == free.errors(100) and (told[0].standard_errors < free.standard_errors).all()
    assert shapes(told[0]) == shapes(free)


def test_one_side_counts_as_far_as_its_farther_end() -> None:
    one, both = (
        gm.plan(BOX, G, answers="means", mean_within={"age": where}).standard_errors for where in ((45, 80), (20, 80))
    )
    assert one == pytest.approx(both)


def test_saved_plans_keep_it() -> None:
    told = gm.plan(BOX, G, answers="means", mean_within={"age": (30, 50)})
    again = Plan.from_dict(told.to_dict())
    assert again == told and again.errors(10) == told.errors(10) and again != gm.plan(BOX, G, answers="means")
    fields = told.to_dict()
    fields["queries"][0]["block"]["answers"]["statistics"][0]["within"] = [[30, 50]]
    with pytest.raises(PlanError) as caught:
        Plan.from_dict(fields)
    assert caught.value.fields["part"] == "a statement of where means lie that does not fit them"


def test_requests_say_it_in_toml_and_for_single_questions(tmp_path: Path) -> None:
    text = 'source = "x.csv"\nmeans = { age = [0, 100], height = [0, 2] }\nguarantee = { epsilon = 1, delta = 1e-6 }\n'
    (tmp_path / "free.toml").write_text(text)
    (tmp_path / "told.toml").write_text("mean_within = { age = [30, 50] }\n" + text)
    free, told = (gm.Request.from_toml(tmp_path / f"{name}.toml").plan for name in ("free", "told"))
    assert told.errors(100)["age_mean"] < free.errors(100)["age_mean"] and shapes(told) == shapes(free)
    assert told.errors(100)["height_mean"] == free.errors(100)["height_mean"]
    several = gm.Request(
        "x.csv",
        questions=[{"name": "a", "means": MEANS, "mean_within": {"age": [30, 50]}}, {"name": "b", "means": MEANS}],
        guarantee=G,
    ).plan
    assert several["a"].errors(9) == several["b"].errors(9)  # one mean asked twice: what holds for both
    both = gm.Request("x.csv", questions=[{"means": MEANS}, {"means": MEANS}], guarantee=G, mean_within=0.5).plan
    assert both["1"].errors(9)["age_mean"] < several["a"].errors(9)["age_mean"]
    assert np.array_equal(both.queries[0].block.shape.features.dense(), several.queries[0].block.shape.features.dense())


def test_the_printed_plan_says_for_which_means() -> None:
    def note(**options: object) -> str:
        text = " ".join(str(gm.plan(BOX, G, **options)).split())  # type: ignore[arg-type]
        found = re.search("errors of means.*?(?= the noise is)", text)
        return found[0] if found else ""

    assert note(answers="means").endswith("at most these, for means anywhere within their bounds")
    assert note(answers="means", mean_within=0.5).endswith("for means where mean_within says they lie")
    assert note(answers="means", mean_within={"age": 0.5}).endswith("bounds, or where mean_within says they lie")
    assert note(answers="means", neighbours="replace-one") == note(answers="sums") == ""


@pytest.mark.parametrize("where", [(50, 30), (30, 130), (30,), (30, "x"), 0, 1.5, "age", (30, float("nan"))])
def test_places_outside_the_bounds_are_refused(where: object) -> None:
    with refused("mean-within-outside-bounds", says="within the bounds [0, 100]", column="age"):
        gm.plan(BOX, G, answers="means", mean_within={"age": where})


def test_what_has_no_mean_has_no_place() -> None:
    with refused("mean-within-of-unasked-mean", says="did you mean 'age'", column="aeg"):
        gm.plan(BOX, G, answers="means", mean_within={"aeg": (30, 50)})
    with refused("mean-within-of-unasked-mean", column="age"):
        gm.Request("x.csv", questions=[{"count": True}], guarantee=G, mean_within={"age": [30, 50]})
    with refused("mean-within-malformed"):
        gm.plan(BOX, G, answers="means", mean_within="half")  # type: ignore[arg-type]
    for domain, answers in ((BOX, "sums"), (gm.domains.Ball(2, 1), "means")):
        with refused("mean-within-without-bounds", says="leave it out"):
            gm.plan(domain, G, answers=answers, mean_within=0.5)
