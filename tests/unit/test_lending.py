"""Quantiles, moments and tables beside other questions: they take the noisy number of everybody from a shared noise."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from whole.asks import Asked, WholeAsk
from whole.mixed import (
    Extra,
    MixedAsk,
    mixed_people,
    random_mixed,
    try_mixed_corners,
    try_mixed_optimum,
    try_mixed_pairs,
)
from whole.pairs import distances, spent, total_tables

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines.engine import Totals
from gaussmith.errors import DataError, GaussmithError
from gaussmith.planning.certificate import Certificate, verify
from gaussmith.planning.noise_covariances import Combination, NoiseCovariances, Term

G = gm.Guarantee(mu=1)
BOUNDS: dict[str, Any] = {"age": (0, 110), "income": (0, 200_000), "bmi": (10, 70)}
REGIONS = ["n", "s", "e", "w"]
EDGES = np.linspace(0, 200_000, 9).tolist()
FEW: dict[str, Any] = {"bins": {"income": EDGES, "age": [0, 20, 40, 60, 80]}}


def planned(**asked: Any) -> gm.Plan:
    return gm.Request("x", guarantee=G, **{"bounds": BOUNDS, **asked}).plan


CELLS: dict[str, Any] = {
    "bins": {"income": {"equal": 254, "between": [0, 200_000]}, "age": {"equal": 254, "between": [0, 110]}}
}
"""Declared cells, over which no quantile is chosen: 256 of them."""


EXAMPLES: dict[str, tuple[dict[str, Any], float, float]] = {
    "means, count and a median": ({"means": ["age", "bmi"], "count": True, "medians": ["income"], **CELLS},
                                  22.17, 19.005),
    "a histogram and a median": ({"count": True, "histograms": {"region": REGIONS}, "medians": ["income"], **CELLS},
                                 26.97, 23.44),
    "quantiles of two columns": ({"quantiles": {"income": [0.1, 0.5, 0.9], "age": [0.5]}, **CELLS}, 47.59, 43.63),
    "mean and variance": ({"means": ["age"], "variances": ["age"], "count": True}, 5.366, 3.438),
    "mean and variance of two": ({"means": ["age"], "variances": ["bmi"], "histograms": {"region": REGIONS}},
                                 11.16, 10.052),
    "everybody has a value": ({"means": ["age"], "variances": ["bmi"], "complete": ["bmi"], "count": True},
                              5.22, 4.357),
    "tables and a mean": ({"marginals": [["region"], ["region", "sex"]], "means": ["age"],
                           "values": {"region": REGIONS, "sex": ["f", "m"]}}, 35.43, 33.393),
}  # fmt: skip
"""What is asked, its total with separate noise for what cannot be tied, and its total now."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_mixed_requests_are_near_their_optimum(name: str) -> None:
    asked, before, now = EXAMPLES[name]
    plan = planned(**asked)
    assert plan.total_variance == pytest.approx(now, rel=1e-3)
    assert plan.total_variance < before and 1 <= plan.optimality < 1.02
    assert any(tie.lent_to for tie in plan.ties)
    shares = sum(Fraction(each.guarantee.mu) ** 2 for each in plan.noises)
    assert shares <= Fraction(plan.guarantee.mu) ** 2


def test_a_mean_is_read_from_the_moments_of_its_column() -> None:
    plan = planned(means=["age", "bmi"], variances=["age"], count=True)
    kinds = [(type(query.block.domain).__name__, query.block.answers.names) for query in plan.queries]
    assert kinds[0] == ("Moments", ("age_mean", "age_variance", "age_sd")) and kinds[1][1] == ("bmi_mean",)
    other = planned(means=["age"], variances=["bmi"], count=True)  # of another column: apart
    assert [type(query.block.domain).__name__ for query in other.queries][:2] == ["Box", "Moments"]


def test_requests_without_such_a_mix_have_no_centres() -> None:
    for asked in ({"medians": ["income"]}, {"variances": ["age"]}, {"means": ["age", "bmi"], "count": True}):
        plan = planned(**asked)
        assert not any(tie.lent_to for tie in plan.ties)
        assert all(query.block.lender is None for query in plan.queries)
        assert "people" not in plan.to_json().split('"shape"')[-1] or plan.ties


def test_under_replace_one_nothing_is_borrowed() -> None:
    plan = planned(means=["age"], medians=["income"], neighbours="replace-one", complete=["age"], **FEW)
    assert not any(tie.lent_to for tie in plan.ties)


def test_under_replace_one_questions_of_one_column_are_bound_together() -> None:
    """What is replaced changes both, without signs of their own: only the totals of their bounds add up."""
    median = {"name": "a", "medians": ["income"], "bins": FEW["bins"]}
    plans = [
        gm.Request(
            "x", guarantee=G, questions=[median, {"name": "b", "variances": {column: (0, 9)}}], neighbours="replace-one"
        ).plan
        for column in ("income", "age")
    ]
    same, other = (plan.lower_bound for plan in plans)
    alone = [query.lower_bound * query.guarantee.mu**2 for query in plans[0].queries]
    assert same == pytest.approx(sum(alone), rel=1e-9)
    assert other == pytest.approx(sum(np.sqrt(alone)) ** 2, rel=1e-9)


# -- the optimum and neighbours, small requests -----------------------------------------------------------------------


@pytest.mark.parametrize("number", range(6))
def test_small_mixed_requests_beside_everybody(number: int) -> None:
    """Within 6 % of cvxpy's optimum, never below it; no neighbours further apart than charged, and bounds attained."""
    generator = random.Random(f"mixed {number}")
    ask = random_mixed(generator)
    found = try_mixed_optimum(ask)
    assert found.most >= 1 - 1e-6 and found.least < 1.06
    assert found.said >= found.least * (1 - 1e-6)  # what the plan says of itself is never too good
    each, together = try_mixed_corners(ask)
    assert max(each) <= 1 and together <= 1 and float(min(each)) > 1 - 1e-9
    pairs = try_mixed_pairs(ask, generator, 8)
    assert pairs.violations == pairs.differ == 0


# -- noise that goes together -----------------------------------------------------------------------------------------


def read_noise(plan: gm.Plan) -> tuple[np.ndarray, list[np.ndarray]]:
    """What each integer of noise adds to the features of all queries, a row each: a release of an empty table."""
    sizes = [noise.block.grid.lift.shape[0] if hasattr(noise, "block") else noise.lift.size for noise in plan.noises]
    totals = [[Totals([0] * query.block.codes.width, 0) for _ in range(query.size)] for query in plan.queries]

    def features_with(at: int) -> list[np.ndarray]:
        drawn = 0

        def draw(size: int, bits: int) -> np.ndarray:
            nonlocal drawn
            drawn += size
            noise = np.zeros(size, np.int64)
            if drawn - size <= at < drawn:
                noise[at - drawn + size] = 1 << bits
            return noise

        with mock.patch.object(mechanism, "normal_integers", draw):
            return [each[0] for each in mechanism.release_totals(plan, totals).noisy]

    each = [features_with(i) for i in range(sum(sizes))]
    return np.array([np.concatenate(one) for one in each]), each[0]


@pytest.mark.parametrize(
    "asked",
    [
        {"means": ["bmi"], "count": True, "medians": ["income"], "variances": ["age"], **FEW},
        {"quantiles": {"income": [0.1, 0.5], "age": [0.5]}, **FEW},
        {"marginals": [["region"], ["region", "sex"]], "values": {"region": REGIONS, "sex": ["f", "m"]},
         "means": ["age"]},
    ],
    ids=["quantiles and moments", "two columns", "tables"],
)  # fmt: skip
def test_covariances_are_those_of_the_noise_that_is_added(asked: dict[str, Any]) -> None:
    """Every integer of noise by itself, through the release: the covariances follow, and the plan says the same."""
    plan = planned(**asked)
    rows, first = read_noise(plan)
    added = rows.T @ rows
    noise, terms = NoiseCovariances(plan), []
    for i, features in enumerate(first):
        terms += [Combination((Term(i, 0, np.array([k]), np.ones(1)),)) for k in range(len(features))]
    said = noise.covariances(terms)
    scale = np.sqrt(np.diag(added))
    assert np.abs(said - added).max() <= 1e-9 * scale.max() ** 2
    own = [query.block.noise.variances for query in plan.queries]
    assert np.concatenate(own) == pytest.approx(np.diag(added), rel=1e-9)
    lent = [i for tie in plan.ties for i in tie.lent_to]
    starts = np.cumsum([0, *map(len, first)])
    across = [np.abs(said[starts[i] : starts[i + 1], : starts[i]]).max() for i in lent if i]
    assert not across or max(across) > 0  # they are correlated


def test_errors_of_one_question_know_what_its_queries_share() -> None:
    plan = planned(means=["bmi"], count=True, variances=["age"])
    covariance = plan.covariance()
    assert covariance.shape == (4, 4) and np.diag(covariance) == pytest.approx(plan.standard_errors**2)
    assert abs(covariance[1, 3]) > 1e-3 * np.sqrt(covariance[1, 1] * covariance[3, 3])
    assert plan.maximum_error(0.95) >= plan.maximum_error(0.5) > 0


def test_releases_are_right_on_average() -> None:
    """No answer is off by more than 8 of its standard errors: with everybody, and with people who have no value."""
    rng = np.random.default_rng(5)
    size = 4000
    table = pl.DataFrame({
        "age": rng.uniform(20, 90, size), "bmi": rng.normal(25, 4, size), "income": rng.uniform(0, 150_000, size),
    }).with_columns(pl.when(pl.int_range(size) % 5 == 0).then(None).otherwise("age").alias("age"))  # fmt: skip
    request = gm.Request(
        table, bounds=BOUNDS, guarantee=G, means=["bmi"], variances=["age"], medians=["income"], count=True
    )
    release = gm.release(request)
    found = dict(zip(release.names, release.values, strict=True))
    errors = request.plan.errors(rows=3000)
    assert abs(found["count"] - size) < 8 * errors["count"]
    assert abs(found["bmi_mean"] - table["bmi"].mean()) < 8 * errors["bmi_mean"]
    assert abs(found["age_variance"] - table["age"].var(ddof=0)) < 8 * errors["age_variance"]
    assert abs(found["income_median"] - table["income"].median()) < 4000


# -- what is saved and certified --------------------------------------------------------------------------------------

ASK = MixedAsk(
    WholeAsk((Asked("all", means={"x0a": (0.0, 1.0)}, count=True),), False, "add-remove"),
    (Extra("quantile", 0.0, 1.0, 3, (0.5,), False, False), Extra("variance", 0.0, 1.0, 0, (), False, False)),
)
SAVED = ASK.request().plan.to_dict()
Change = Callable[[dict[str, Any]], Any]


def lent_queries(fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [query for query in fields["queries"] if query["block"]["shape"] and "people" in query["block"]["shape"]]


def with_shape(**fields: Any) -> Change:
    return lambda plan: lent_queries(plan)[0]["block"]["shape"].update(fields)


REFUSED: dict[str, Change] = {
    "no borrowers": lambda plan: plan["ties"][0].pop("borrowers"),
    "one borrower less": lambda plan: plan["ties"][0]["borrowers"].pop(),
    "a member that borrows": lambda plan: plan["ties"][0].update(borrowers=[0, 1, 2]),
    "a borrower that is not there": lambda plan: plan["ties"][0]["borrowers"].append(9),
    "nobody is absent": lambda plan: lent_queries(plan)[0]["block"]["shape"].pop("absent"),
    "absent people of another size": with_shape(absent=[1.0]),
    "people of another size": with_shape(people=[1.0]),
    "absent people that are no numbers": with_shape(absent=["a"]),
    "another filter": lambda plan: (
        lent_queries(plan)[0]["row_rule"].update(where="x > 1", columns=[["x", "y + 1"]])
        or plan["ties"][0].update(where="x > 2")
    ),
    "another unit": lambda plan: lent_queries(plan)[0]["row_rule"].update(unit="household"),
    "replace-one": lambda plan: [
        each.update(neighbours="replace-one") for each in (lent_queries(plan)[0], lent_queries(plan)[0]["block"])
    ],
    "more of the guarantee": lambda plan: [
        each.update(guarantee=plan["guarantee"]) for each in (lent_queries(plan)[0], lent_queries(plan)[0]["block"])
    ],
}


@pytest.mark.parametrize("name", REFUSED)
def test_damaged_plans_are_refused(name: str) -> None:
    fields = copy.deepcopy(SAVED)
    REFUSED[name](fields)
    with pytest.raises(GaussmithError):
        gm.Plan.from_dict(fields)


ACCEPTED: dict[str, Change] = {
    "as it was": lambda plan: None,
    "more for those who are absent": lambda plan: with_shape(
        absent=(5 * np.array(lent_queries(plan)[0]["block"]["shape"]["absent"])).tolist()
    )(plan),
    "nothing for those who are absent": lambda plan: with_shape(
        absent=(0 * np.array(lent_queries(plan)[0]["block"]["shape"]["absent"])).tolist()
    )(plan),
    "another centre": lambda plan: lent_queries(plan)[0]["block"]["shape"]["people"].reverse(),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_accepted_is_private(name: str) -> None:
    fields = copy.deepcopy(SAVED)
    ACCEPTED[name](fields)
    plan = gm.Plan.from_dict(fields)
    nobody, *people = total_tables(plan, [[], *mixed_people(ASK)], ASK.schema)
    farthest = max(spent(plan, distances(plan, nobody, each)) for each in people)
    assert Fraction(1, 2) < farthest <= 1


def test_saved_plans_are_the_same() -> None:
    plan = gm.Plan.from_dict(copy.deepcopy(SAVED))
    again = gm.Plan.from_json(plan.to_json())
    assert again == plan == ASK.request().plan and again.total_variance == plan.total_variance
    assert [query.block.shape.is_lent for query in again.queries] == [False, True, True]
    assert np.array_equal(again["e0"].standard_errors, plan["e0"].standard_errors)


def test_a_table_that_lost_people_while_it_was_read_is_refused() -> None:
    plan = ASK.request().plan
    rows = [{"x0a": 0.5, "y0": 0.5, "y1": 0.5}] * 3
    totals = total_tables(plan, [[{**row, "person": str(i)} for i, row in enumerate(rows)]], ASK.schema)[0]
    mechanism.release_totals(plan, totals)
    everybody = plan.ties[0].members[plan.ties[0].people or 0]
    totals[everybody] = [replace(totals[everybody][0], records=2)]
    with pytest.raises(DataError) as told:
        mechanism.release_totals(plan, totals)
    assert not any(number in str(told.value) for number in "123")  # it says nothing of the data


def test_certificates_hold_and_prove_how_little_all_queries_need() -> None:
    plan = ASK.request().plan
    certificate = Certificate.from_json(plan.certificate.to_json())
    found = verify(gm.Plan.from_json(plan.to_json()), certificate)
    assert not found.problems and found.least == pytest.approx(plan.lower_bound, rel=1e-9)
    assert found.price / found.least == pytest.approx(plan.optimality, rel=1e-9) and plan.optimality < 1.06


def tampered(**numbers: Any) -> list[str]:
    plan = ASK.request().plan
    law = plan.certificate.together
    assert law is not None
    changed = {name: change(law.numbers[name]) for name, change in numbers.items() if name in law.numbers}
    lower = numbers.get("lower", lambda value: value)(law.lower)
    law = replace(law, lower=lower, numbers={**law.numbers, **changed})
    return list(verify(plan, replace(plan.certificate, together=law)).problems)


def test_certificates_that_were_changed_do_not_hold() -> None:
    assert not tampered()
    assert any("proves" in problem for problem in tampered(lower=lambda value: value * 1.001))
    assert any("not a law" in problem for problem in tampered(members=lambda places: np.append(places, places[0])))
    assert any("not a law" in problem for problem in tampered(beside=lambda places: np.append(places, 7.0)))
    assert any("proves" in problem for problem in tampered(weights=lambda weights: weights * np.nan))
    name = next(name for name in ASK.request().plan.certificate.together.numbers if name.endswith("present"))  # type: ignore[union-attr]
    assert any("not a law" in problem for problem in tampered(**{name: lambda present: present * 2}))


def test_tables_of_the_same_keys_are_bounded_beside_other_questions() -> None:
    """They borrow nothing, and are certified with the others; where a column is in both, their bounds add up."""
    tables = [{"name": "-".join(keys), "count": True, "by": {key: list("abcd") for key in keys}}
              for keys in (["one"], ["two"], ["one", "two"])]  # fmt: skip
    mean = {"name": "mean", "means": {"x": (0, 1)}, "count": True}
    plan = gm.Request("x", guarantee=G, questions=[*tables, mean]).plan
    law = plan.together
    assert law is not None and "tables 0" in law.numbers and plan.optimality < 1.1
    assert not verify(plan, plan.certificate).problems
    filtered = gm.Request("x", guarantee=G, questions=[*tables, {**mean, "where": 'one == "a"'}]).plan
    assert filtered.together is None or "tables 0" not in filtered.together.numbers


def test_questions_of_one_column_do_not_stand_beside_each_other() -> None:
    """A person has one income: nobody is anything in both, so that the bounds of both are added up."""
    questions = [
        {"name": "a", "medians": ["income"], "bins": FEW["bins"]},
        {"name": "b", "variances": ["income"], "bounds": BOUNDS},
        {"name": "c", "count": True},
    ]
    plan = gm.Request("x", guarantee=G, questions=questions).plan
    law = plan.together
    assert law is not None and len(law.numbers["beside"]) == 1
    both = law.numbers | {"beside": np.array([0.0, 1.0])}
    own = {f"1 {name[2:]}": values for name, values in law.numbers.items() if name.startswith("0 ")}
    told = verify(plan, replace(plan.certificate, together=replace(law, numbers={**own, **both})))
    assert any("not a law" in problem for problem in told.problems)


# -- words ------------------------------------------------------------------------------------------------------------


def test_plans_tell_which_answers_use_the_number_of_everybody() -> None:
    questions = [
        {"name": "a", "medians": ["income"], "bins": FEW["bins"]},
        {"name": "c", "means": {"bmi": (10, 70)}, "count": True},
    ]
    plan = gm.Request("x", guarantee=G, questions=questions).plan
    text = " ".join(str(plan).split())
    assert "a: errors are correlated with those of other answers, through a noisy number of everybody" in text
    assert "noise of its own, and a noisy number of everybody that other answers use too" in text
    assert "it is judged with all answers together" in plan.explain()
    assert plan["a"].optimality == plan.optimality < 1.02
    shares = plan.shares()
    assert shares["a"] == pytest.approx(1.0) and 0 < shares["c"] < 1
    assert all(1 < cost < 3 for cost in plan.costs().values())
