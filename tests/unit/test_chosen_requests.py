"""Quantiles of requests that are chosen: when, at what price, in every kind of request, and what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.domains.chosen_cells import ChosenCells
from gaussmith.privacy.choices import gdp_of_choice

G = gm.Guarantee(epsilon=1, delta=1e-6)
ROWS = 4040
PEOPLE = pl.DataFrame(
    {
        "x": [float(i % 101) for i in range(ROWS)],
        "gap": [None if i % 4 == 0 else 30.0 for i in range(ROWS)],
        "g": ["a" if i % 3 else "b" for i in range(ROWS)],
        "person": [i // 4 for i in range(ROWS)],
    }
)


def ask(**fields: Any) -> gm.Request:
    return gm.Request(PEOPLE, **{"guarantee": G, **fields})


def chosen_in(plan: gm.Plan) -> list[ChosenCells]:
    return [query.block.domain for query in plan.queries if isinstance(query.block.domain, ChosenCells)]


ASKED: dict[str, tuple[dict[str, Any], int]] = {
    "a median": ({"medians": {"x": (0, 100)}}, 1),
    "two columns": ({"medians": {"x": (0, 100), "gap": (0, 50)}}, 2),
    "by group": ({"medians": {"x": (0, 100)}, "by": {"g": ["a", "b"]}, "count": True}, 1),
    "means of people": ({"medians": {"x": (0, 100)}, "unit": "person"}, 1),
    "totals of people": ({"medians": ["x"], "total_bounds": {"x": (0, 400)}, "unit": "person"}, 1),
    "people in groups": ({"medians": {"x": (0, 100)}, "unit": "person", "by": {"g": ["a", "b"]},
                          "groups_per_unit": 2}, 1),
    "replaced": ({"medians": {"x": (0, 100)}, "neighbours": "replace-one"}, 1),
    "replaced in groups": ({"medians": {"x": (0, 100)}, "neighbours": "replace-one", "by": {"g": ["a", "b"]}}, 1),
    "beside others": ({"medians": {"x": (0, 100)}, "means": {"gap": (0, 50)}, "count": True}, 1),
    "derived and filtered": ({"medians": {"y": (0, 50)}, "columns": {"y": "x / 2"}, "where": "x < 90"}, 1),
    "a stand-in": ({"medians": {"gap": (0, 50)}, "missing": {"gap": 10}}, 1),
    "questions": ({"questions": [{"name": "one", "medians": {"x": (0, 100)}}, {"name": "two", "count": True}]}, 1),
    "three levels": ({"quantiles": {"x": [0.25, 0.5, 0.75]}, "bounds": {"x": (0, 100)}}, 0),
    "bins": ({"medians": ["x"], "bins": {"x": [0, 20, 40, 60, 80]}}, 0),
    "a low level": ({"quantiles": {"x": [0.1]}, "bounds": {"x": (0, 100)}}, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_what_is_chosen_and_what_it_takes(name: str) -> None:
    """The choices of all groups of a person and the noise around them stay within the μ² of their query."""
    fields, chosen = ASKED[name]
    plan = ask(**fields).plan
    assert len(chosen_in(plan)) == chosen
    for query in plan.queries:
        if query.block.domain.chosen:
            most = 1 if query.groups is None else query.groups.at_most
            noise = most * Fraction(query.block.guarantee.mu) ** 2
            choice = most * Fraction(gdp_of_choice(query.block.domain.epsilon)) ** 2
            assert noise + choice <= Fraction(query.guarantee.mu) ** 2
            assert query.taken_by_choice >= choice
            if query.neighbours == "add-remove":  # and it is all used
                assert math.isclose(noise + choice, query.guarantee.mu**2, rel_tol=1e-9)
    spent = sum(Fraction(noise.guarantee.mu) ** 2 for noise in plan.noises)
    assert spent <= Fraction(plan.guarantee.mu) ** 2


@pytest.mark.parametrize("name", ASKED)
def test_releases_are_saved_and_read(name: str) -> None:
    request = ask(**ASKED[name][0])
    release = gm.release(request)
    assert gm.read(release.to_json()) == release and gm.read(request.plan.to_json()) == request.plan
    assert len(release.rows()) == len(gm.read(release.to_json()).rows())


TRUTH: dict[str, tuple[dict[str, Any], float]] = {
    "values": ({"medians": {"x": (0, 100)}}, 50.0),
    "missing values left out": ({"medians": {"gap": (0, 50)}}, 30.0),
    "all within a bound": ({"medians": {"x": (0, 20)}}, 20.0),
    "a stand-in for most": ({"quantiles": {"gap": [0.2]}, "bounds": {"gap": (0, 50)}, "missing": {"gap": 10}}, 10.0),
    "totals": ({"medians": ["gap"], "total_bounds": {"gap": (0, 400)}, "unit": "person"}, 90.0),
    "means": ({"medians": {"gap": (0, 50)}, "unit": "person"}, 30.0),
}


@pytest.mark.parametrize("name", TRUTH)
def test_values_are_right_where_nearly_nothing_is_hidden(name: str) -> None:
    fields, truth = TRUTH[name]
    release = gm.release(ask(**fields, guarantee=gm.Guarantee(mu=8)))
    (row,) = release.rows()
    assert row["value"] == pytest.approx(truth, abs=0.5)
    assert row["lower"] <= truth <= row["upper"] and row["upper"] - row["lower"] <= 4


def test_a_plan_says_how_a_quantile_is_found() -> None:
    plan = ask(medians={"x": (0, 100)}).plan
    assert "x_median is chosen, with a third of μ²" in " ".join(str(plan).split())
    assert str(G) in " ".join(str(plan).split()) and str(G) in plan.explain()


def test_groups_of_chosen_quantiles_do_not_add_up() -> None:
    release = gm.release(ask(medians={"x": (0, 100)}, by={"g": ["a", "b"]}))
    with refused("total-over-choices"):
        release.total()
    assert release["a"]["x_median"].value > 0


def test_groups_with_nobody_are_unknown() -> None:
    empty = gm.Request(PEOPLE.head(0), medians={"x": (0, 100)}, by={"g": ["a", "b"]}, guarantee=G)
    ends = np.array([group["x_median"].interval() for _ in range(20) for group in gm.release(empty)])
    assert np.isinf(ends).all(axis=1).mean() > 0.5


FORGED: dict[str, Any] = {
    "a choice at twice its ε": {"epsilon": 2.0},
    "a choice of another level": {"level": "1/10"},
    "a choice within other bounds": {"within": [0.0, 200.0]},
}


@pytest.mark.parametrize("fault", FORGED)
def test_a_forged_choice_is_refused(fault: str) -> None:
    plan = ask(medians={"x": (0, 100)}).plan.to_dict()
    domain = plan["queries"][0]["block"]["domain"]
    change = dict(FORGED[fault])
    if "epsilon" in change:
        change["epsilon"] = str(2 * Fraction(domain["epsilon"]))
    domain |= change
    with pytest.raises(gm.PlanError) as caught:
        gm.read(json.dumps(plan))
    assert caught.value.code == "plan-damaged"


def test_noise_that_takes_the_whole_guarantee_beside_a_choice_is_refused() -> None:
    """The budget of the choice spent twice: on it, and on the noise around it."""
    plan = ask(medians={"x": (0, 100)}).plan.to_dict()
    plan["queries"][0]["block"]["guarantee"] = plan["queries"][0]["guarantee"]
    with refused(damaged("a block's guarantee is too large")):
        gm.read(json.dumps(plan))


def test_a_ledger_is_charged_all_of_it(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "l.ledger", gm.Guarantee(mu=1))
    gm.release(ask(medians={"x": (0, 100)}, guarantee=gm.Guarantee(mu=0.5)), ledger=ledger, id="m")
    assert ledger.left == pytest.approx(0.75, rel=1e-6)
