"""Adding a question never makes a plan refuse, unless that question is refused by itself."""

from __future__ import annotations

import itertools
import random
from typing import Any

import polars as pl
import pytest
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.errors import GaussmithError
from gaussmith.planning.certificate import verify

Question = dict[str, Any]

KEYS = ["k", "l", "m"]
ASKED: dict[str, Question] = {
    "people": {"count": True},
    "filtered": {"count": True, "where": "x > 1"},
    "filtered otherwise": {"count": True, "where": "y > 1"},
    "sum": {"sums": {"x": (0, 1)}},
    "sum of fewer": {"sums": {"x": (0, 1), "y": (-4, 9)}, "count": True, "where": "x > 1"},
    "mean": {"means": {"y": (2, 3)}, "count": True, "mean_of": "units"},
    "mean of the same": {"means": {"x": (0, 1)}, "mean_of": "units"},
    "by a": {"count": True, "by": {"a": KEYS}},
    "by b": {"count": True, "by": {"b": KEYS}},
    "by both": {"count": True, "by": {"b": KEYS, "a": KEYS}},
    "by fewer": {"count": True, "by": {"a": KEYS[:2]}},
    "by both, filtered": {"count": True, "by": {"a": KEYS, "b": KEYS}, "where": "x > 1"},
    "sums by a": {"sums": {"x": (0, 1)}, "by": {"a": KEYS}},
    "values": {"histograms": {"a": KEYS}},
    "values and people": {"histograms": {"b": KEYS}, "count": True},
    "values, filtered": {"histograms": {"a": KEYS}, "where": "x > 1"},
    "derived": {"count": True, "by": {"a": KEYS}, "columns": {"a": "b"}},
    "weighted": {"sums": {"x": (0, 1), "y": (0, 5)}, "weights": [1, 9]},
    "limited": {"count": True, "where": "z > 1", "error_at_most": 900},
}
OF_PEOPLE: dict[str, Question] = {
    "rows": {"count": "rows", "rows_per_unit": 3},
    "mean over rows": {"means": {"x": (0, 1)}, "rows_per_unit": 3},
    "several groups": {"count": True, "by": {"c": KEYS}, "groups_per_unit": 2},
    "several values": {"histograms": {"c": KEYS}, "values_per_unit": 2},
}


def plan(questions: list[Question], neighbours: str, unit: str | None) -> gm.Plan:
    named = [{"name": f"q{i}", **question} for i, question in enumerate(questions)]
    limits = {"groups_per_unit": 1, "values_per_unit": 1}
    return gm.Request(
        "x.csv", questions=named, guarantee=gm.Guarantee(mu=1), neighbours=neighbours, unit=unit, **limits
    ).plan


def refusals(asked: dict[str, Question], neighbours: str, unit: str | None) -> set[str]:
    """What is refused alone."""
    found = set()
    for name, question in asked.items():
        try:
            plan([question], neighbours, unit)
        except GaussmithError:
            found.add(name)
    return found


@pytest.mark.parametrize("unit", [None, "person"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_adding_a_question_never_makes_a_plan_refuse(neighbours: str, unit: str | None) -> None:
    asked = ASKED if unit is None else ASKED | OF_PEOPLE
    alone = refusals(asked, neighbours, unit)
    assert alone == (set() if neighbours == "add-remove" else {"people"})
    public = {"people"} & alone  # nothing is noisy there; beside anything else it is an exact answer
    names = [name for name in asked if name not in alone]
    several = [*itertools.combinations(names, 2), *itertools.combinations(names, 3)]
    for chosen in [*itertools.product(public, names), *random.SystemRandom().sample(several, 10)]:
        found = plan([asked[name] for name in chosen], neighbours, unit)
        assert sum(found.shares().values()) > 0 and found.optimality >= 1, chosen


@pytest.mark.parametrize("unit", [None, "person"])
def test_the_number_of_people_is_exact_and_free_where_it_is_public(unit: str | None) -> None:
    table = pl.DataFrame({"person": ["u", "v", "v", "w"], "a": ["k", "l", "z", "k"], "x": [0.5, 1.5, 2.0, 3.0]})
    people = 4 if unit is None else 3
    beside: list[Question] = [
        {"name": "a", "count": True, "by": {"a": KEYS}, "groups_per_unit": 1},
        {"name": "f", "count": True, "where": "x > 1"},
    ]
    fields: dict[str, Any] = {"guarantee": gm.Guarantee(mu=1), "neighbours": "replace-one", "unit": unit}
    without = gm.Request(table, questions=beside, **fields).plan
    request = gm.Request(table, questions=[{"name": "n", "count": True}, *beside], **fields)
    assert request.plan.errors() == {"n": {"count": 0.0}, **without.errors()}
    assert request.plan.shares() == {"n": 0.0, **without.shares()}
    assert request.plan.optimality == without.optimality and request.plan.costs()["n"] == pytest.approx(1.0)
    release = gm.release(request)
    assert release["n"].value == people and release["n"].standard_error == 0.0
    assert release["n"].interval() == (people, people)
    assert release["n"].columns()["status"] == ["exact"]
    assert gm.Release.from_json(release.to_json()) == release
    assert gm.Plan.from_json(request.plan.to_json()) == request.plan
    assert "n: public, exact and without noise" in str(request.plan)
    assert not verify(request.plan, request.plan.certificate).problems
    stated = [{"name": "n", "count": True, "share": 5}, *beside]
    assert gm.Request(table, questions=stated, **fields).plan.shares() == {"n": 0.0, "a": 0.5, "f": 0.5} | {
        name: pytest.approx(0.5) for name in "af"
    }


def test_a_request_of_public_numbers_alone_is_refused() -> None:
    """There is nothing to add noise to, and nothing to charge."""
    asked: dict[str, Any] = {"guarantee": gm.Guarantee(mu=1), "neighbours": "replace-one"}
    with refused("count-alone-under-replace-one"):
        gm.Request("x.csv", count=True, **asked)
    with refused("count-alone-under-replace-one"):
        gm.Request("x.csv", questions=[{"name": "n", "count": True}], **asked)
    with refused("count-alone-under-replace-one"):
        gm.Request("x.csv", questions=[{"name": "n", "count": True, "share": 1}], **asked)


def test_a_public_number_has_no_picture_and_a_page_without_noise(tmp_path: Any) -> None:
    table = pl.DataFrame({"a": ["k", "l"]})
    questions = [{"name": "n", "count": True}, {"name": "a", "count": True, "by": {"a": KEYS}}]
    request = gm.Request(table, questions=questions, guarantee=gm.Guarantee(mu=1), neighbours="replace-one")
    with refused("picture-without-noise"):
        request.plan["n"].chart()
    page = gm.release(request).report(tmp_path / "page.html").read_text()
    assert "The shape of the noise" in page and page.count("Why this noise") == 1


def test_a_filtered_number_cannot_pass_for_a_public_one() -> None:
    """In a saved plan: a filter, or a lift without rows, does not make a secret number free."""
    questions = [{"name": "n", "count": True}, {"name": "a", "count": True, "by": {"a": KEYS}}]
    asked: dict[str, Any] = {"guarantee": gm.Guarantee(mu=1), "neighbours": "replace-one"}
    saved = gm.Request("x.csv", questions=questions, **asked).plan.to_dict()
    saved["queries"][0]["row_rule"]["where"] = "x > 1"
    with refused(damaged("a public number of those who pass a filter")):
        gm.Plan.from_dict(saved)
