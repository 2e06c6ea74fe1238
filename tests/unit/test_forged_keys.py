"""Saved plans of found keys that were changed by hand: refused, whatever they say of themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from refusals import damaged, refused

import gaussmith as gm

GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-5)

Change = Callable[[dict[str, Any]], None]


def _plan(**more: Any) -> gm.Plan:
    """Two queries of one question: one decides, the other has the mean of the values that are there."""
    given: dict[str, Any] = {"unit": "person", "by": {"key": "found"}, "groups_per_unit": 3, "count": True}
    given |= {"means": {"x": (0, 60)}, "mean_of": "units", "where": "x < 50 or is_null(x)", "guarantee": GUARANTEE}
    return gm.Request("visits.csv", **given | more).plan


def _kappa(over: int, under: int) -> Change:
    return lambda saved: saved["queries"][0]["groups"].update(kappa=[over, under])


def _groups(query: int, **fields: Any) -> Change:
    return lambda saved: saved["queries"][query]["groups"].update(fields)


def _rule(query: int, **fields: Any) -> Change:
    return lambda saved: saved["queries"][query]["row_rule"].update(fields)


FORGED: dict[str, tuple[Change, str]] = {
    "more κ than fits": (_kappa(2, 100_000), damaged("found keys that spend too much")),
    "κ of nothing": (_kappa(1, 0), damaged("cannot be read")),
    "κ of 0": (_kappa(0, 1), damaged("found keys that are shown too easily")),
    "κ below 0": (_kappa(-1, 100_000), damaged("found keys that are shown too easily")),
    "nobody decides": (_groups(0, kappa=None), damaged("found keys that no query decides, or several do")),
    "both decide": (_groups(1, kappa=[1, 10**6]), damaged("found keys that no query decides, or several do")),
    "another question decides": (_groups(1, which=7), damaged("found keys that no query decides, or several do")),
    "fewer groups than people keep": (_groups(0, at_most=1), damaged("people in more groups than planned")),
    "people keep more groups": (_rule(0, groups_per_unit=4), damaged("people in more groups than planned")),
    "fewer groups in one query": (
        _rule(1, groups_per_unit=1),
        damaged("that count other people than the one that decides"),
    ),
    "another floor": (
        _groups(1, at_least=9),
        damaged("that count other people than the one that decides"),
    ),
    "another filter": (
        _rule(1, where="x < 9"),
        damaged("that count other people than the one that decides"),
    ),
    "no filter where it is decided": (
        _rule(0, where=None),
        damaged("that count other people than the one that decides"),
    ),
    "another person": (
        _rule(1, unit="visit"),
        damaged("that count other people than the one that decides"),
    ),
    "rows left out where it is decided": (
        _rule(0, present=["x"]),
        damaged("that count other people than the one that decides"),
    ),
    "keys said to be declared": (_rule(0, found=[]), damaged("other found keys than planned")),
    "another column of keys": (_groups(1, columns=["name"]), damaged("whose answers are not in the plan")),
    "a floor of no people": (_groups(0, at_least=0), "whole-number-out-of-range"),
}


def test_the_plan_itself_is_read() -> None:
    plan = _plan()
    assert gm.read(plan.to_json()) == plan
    assert len(plan.queries) == 2


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_plan_is_refused(name: str) -> None:
    change, code = FORGED[name]
    saved = json.loads(_plan().to_json())
    change(saved)
    with refused(code):
        gm.read(json.dumps(saved))


def test_a_kappa_beside_mu_has_a_limit() -> None:
    """A stated μ says nothing about keys, so that any κ would fit: not one that protects nobody."""
    saved = json.loads(_plan(guarantee=gm.Guarantee(mu=1), keys_delta=1e-6).to_json())
    _kappa(1, 2)(saved)
    with refused(damaged("found keys that are shown too easily")):
        gm.read(json.dumps(saved))


def test_a_count_of_people_that_weighs_more_is_refused() -> None:
    """One person's integer decides about the threshold; a larger one would need more noise."""
    saved = json.loads(_plan().to_json())
    saved["queries"][0]["block"]["guarantee"] = {"mu": 10.0}
    with refused(damaged("is too large")):
        gm.read(json.dumps(saved))


def test_spare_numbers_are_not_stored() -> None:
    """They are made from the certified lift whenever a plan is read: there is nothing to forge."""
    plan = _plan(groups_per_unit=10)
    assert "spare" not in plan.to_json()
    saved = json.loads(plan.to_json())
    saved["queries"][0]["groups"]["spares"] = [1 << 40]
    assert gm.read(json.dumps(saved))._threshold.spares == plan._threshold.spares


def test_found_keys_under_replace_one_are_refused() -> None:
    saved = json.loads(_plan().to_json())
    saved["neighbours"] = "replace-one"
    for query in saved["queries"]:
        query["neighbours"] = "replace-one"
    with pytest.raises(gm.PlanError):
        gm.read(json.dumps(saved))
