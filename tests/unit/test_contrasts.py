"""Differences, ratios, shares and contrasts: their noise is that of the plan, and bad ones are refused in words."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from noisy import noisy_release
from refusals import refused

import gaussmith as gm
from gaussmith.planning.error_distribution import normal_width
from gaussmith.planning.noise_covariances import Combination, NoiseCovariances, Term
from gaussmith.planning.pieces import Together
from gaussmith.planning.plan import Plan
from gaussmith.releases.contrasts import recovered_interval, recovered_ratio, width_of_all
from gaussmith.statistics.mean import fieller_intervals

G = gm.Guarantee(epsilon=1, delta=1e-6)
REGIONS = {"region": ["north", "south", "east"]}
QUESTIONS = [
    {"name": "all", "means": {"age": (0, 100)}, "count": True, "complete": ["age"]},
    {"name": "adults", "sums": {"spent": (0, 500)}, "count": True, "where": "age >= 18"},
    {"name": "regions", "count": True, "means": {"age": (0, 100)}, "by": REGIONS, "complete": ["age"]},
    {"name": "health", "histograms": {"health": ["good", "fair", "poor"]}},
]
TABLES = [
    {"name": "regions", "count": True, "by": REGIONS},
    {"name": "health", "histograms": {"health": ["good", "fair", "poor"]}, "count": True},
    {"name": "both", "count": True, "by": {"health": ["poor", "good", "fair"], **REGIONS}},
    {"name": "people", "count": True},
]
WEIGHTED = {"by": REGIONS, "group_weights": {"north": 9, "east": 3}, "unit": "id", "groups_per_unit": 2}
PLANS = {
    "tables": gm.Request("x.csv", questions=TABLES, guarantee=G).plan,
    "tables, replace-one": gm.Request("x.csv", questions=TABLES, guarantee=G, neighbours="replace-one").plan,
    "tables beside others": gm.Request(
        "x.csv", questions=[*TABLES, {"name": "ages", "means": {"age": (0, 100)}, "by": REGIONS}], guarantee=G
    ).plan,
    "weighted groups": gm.Request("x.csv", count=True, sums={"spent": (0, 9)}, guarantee=G, **WEIGHTED).plan,
    "weighted groups, missing values": gm.Request(
        "x.csv", count=True, means={"age": (0, 99), "bmi": (10, 60)}, mean_of="units", guarantee=G, **WEIGHTED
    ).plan,
    "public count, missing values": gm.Request(
        "x.csv", count=True, means={"age": (0, 99), "bmi": (10, 60)}, guarantee=G, neighbours="replace-one"
    ).plan,
    "groups": gm.Request("x.csv", means={"age": (0, 100)}, complete=["age"], count=True, by=REGIONS, guarantee=G).plan,
    "missing values": gm.Request(
        "x.csv", means={"age": (0, 100), "bmi": (10, 60)}, sums={"spent": (0, 9)}, count=True, by=REGIONS, guarantee=G
    ).plan,
    "same keys in other words": gm.Request(
        "x.csv",
        questions=[{"name": "h", "histograms": REGIONS}, {"name": "m", "means": {"age": (0, 9)}, "by": REGIONS}],
        guarantee=G,
    ).plan,
    "several groups each": gm.Request(
        "x.csv", count=True, sums={"spent": (0, 9)}, by=REGIONS, unit="id", groups_per_unit=2, guarantee=G
    ).plan,
    "questions": gm.Request("x.csv", questions=QUESTIONS, guarantee=G).plan,
    "replace-one": gm.Request("x.csv", questions=QUESTIONS, guarantee=G, neighbours="replace-one").plan,
    "histogram": gm.Request("x.csv", histograms={"health": list("abcdefgh")}, count=True, guarantee=G).plan,
    "several values each": gm.Request(
        "x.csv", histograms={"item": list("abcde")}, unit="id", values_per_unit=2, guarantee=G
    ).plan,
    "shares": gm.Request("x.csv", questions=[{**q, "share": 1 + i} for i, q in enumerate(QUESTIONS)], guarantee=G).plan,
    "box": gm.plan(gm.Box({"a": (0, 1), "b": (-5, 5)}), G, answers="means", count=True),
}


def pushed_through(plan: Plan) -> dict[tuple[int, int], np.ndarray]:
    """Features × independent unit noises for each query and group, by pushing every unit noise through the plan."""
    columns: list[dict[tuple[int, int], np.ndarray]] = []
    for i, query in enumerate(plan.queries):
        if query.tie is None:
            F = query.block.shape.features.dense() * query.block.noise_scale
            columns += [{(i, group): column} for group in range(query.size) for column in F.T]
    for tie in plan.ties:
        members = [tie.seen(plan.queries[i]) for i in tie.members]
        for copy, row in itertools.product(range(tie.copies), np.eye(tie.lift.size) * tie.noise_scale):
            found = dict(zip(tie.members, tie.features(members, row), strict=True))
            if tie.groups is None:
                columns.append({(i, g): one[g] for i, one in found.items() for g in range(len(one))})
            else:  # a histogram has its groups in one
                sizes = {i: plan.queries[i].block.domain.dimension for i in found}
                here = {i: (i, 0 if plan.queries[i].groups is None else copy) for i in found}
                alone = {i: plan.queries[i].groups is None for i in found}
                each = {i: np.eye(sizes[i])[copy] * one[0, 0] if alone[i] else one[0] for i, one in found.items()}
                columns.append({here[i]: one for i, one in each.items()})
    keys = [(i, g, len(query.block.noise.features)) for i, query in enumerate(plan.queries) for g in range(query.size)]
    return {(i, g): np.array([c.get((i, g), np.zeros(size)) for c in columns]).T for i, g, size in keys}


@pytest.mark.parametrize("name", PLANS)
def test_covariances_are_those_of_noise_pushed_through_the_plan(name: str) -> None:
    plan, rng = PLANS[name], np.random.default_rng(7)
    rows = pushed_through(plan)
    combinations, direct = [], []
    for _ in range(6):
        terms, row = [], 0.0
        for (i, group), matrix in rows.items():
            size = matrix.shape[0]
            places, factors = np.arange(size), rng.normal(size=size) * (rng.random(size) < 0.6)
            terms.append(Term(i, group, places, factors))
            row = row + factors @ matrix
        combinations.append(Combination(tuple(terms)))
        direct.append(row)
    wanted = np.array(direct) @ np.array(direct).T
    assert NoiseCovariances(plan).covariances(combinations) == pytest.approx(wanted, rel=1e-8, abs=1e-9 * wanted.max())


def test_plans_above_have_the_noises_that_they_are_named_after() -> None:
    hows = {name: [tie.how for tie in plan.ties] for name, plan in PLANS.items()}
    assert hows["tables"] == hows["tables, replace-one"] == ["crossed"]
    assert "crossed" in hows["tables beside others"] and len(PLANS["tables beside others"].provable) > 1
    for name in ("weighted groups", "weighted groups, missing values"):
        assert any(query.by_weight for query in PLANS[name].queries), name
    public = PLANS["public count, missing values"]
    assert [query.is_public for query in public.queries].count(True) == 1
    assert public.standard_errors[-1] == 0 < public.standard_errors[:-1].min()
    assert sum((query.guarantee.mu / G.mu) ** 2 for query in public.noises) == pytest.approx(1)


@pytest.mark.parametrize("name", ["missing values", "weighted groups, missing values"])
@pytest.mark.parametrize("chosen", ["one", "two", "all"])
def test_the_covariance_of_pieces_is_that_of_noise_pushed_through(name: str, chosen: str) -> None:
    """One group, or several added up, of a question read from several queries; noise may differ from group to group."""
    plan = PLANS[name]
    assert len(plan.slot.queries) > 1
    groups = {"one": (1,), "two": (0, 2), "all": (0, 1, 2)}[chosen]
    rows, pieces = pushed_through(plan), Together(plan, groups)
    stacked = []
    for i, kept in zip(pieces.places, pieces.kept, strict=True):
        stacked.append(sum(rows[i, group] for group in groups)[kept])
    wanted = np.vstack(stacked) @ np.vstack(stacked).T
    assert pieces.feature_covariance() == pytest.approx(wanted, rel=1e-8, abs=1e-9 * wanted.max())


@pytest.mark.parametrize("name", ["weighted groups", "weighted groups, missing values"])
def test_each_group_and_each_total_of_weighted_groups_has_its_own_errors(name: str) -> None:
    plan = PLANS[name]
    sizes = [query.block.shape.features.shape[0] for query in plan.queries]
    people = [np.tile([*[30.0] * (size - 1), 500.0], (3, 1)) for size in sizes]
    release = gm.Release(plan, tuple(people), (None,) * len(sizes), (None,) * len(sizes))
    errors = plan.errors_by_group(500)
    assert set(errors) == {(key,) for key in REGIONS["region"]}
    assert errors["north",]["count"] < errors["east",]["count"] < errors["south",]["count"]
    assert plan.errors(500)["count"] == errors["south",]["count"] == plan.standard_errors[-1]
    for key in REGIONS["region"]:
        found = release[key]
        assert np.sqrt(np.diag(found.covariance())) == pytest.approx(found.standard_errors)
        assert found["count"].standard_error == pytest.approx(errors[key,]["count"])
    total = release.total()
    assert np.sqrt(np.diag(total.covariance())) == pytest.approx(total.standard_errors)
    assert release.contrast({"north": 1, "south": 1, "east": 1}, "count").standard_error == pytest.approx(
        total["count"].standard_error
    )


def grouped() -> gm.Release:
    plan = PLANS["groups"]
    return noisy_release(plan, [[300.0 * 20, 300], [200.0 * -10, 200], [100.0 * 5, 100]])


def test_a_difference_of_groups_is_answer_by_answer() -> None:
    release = grouped()
    both = release.difference("north", "south")
    assert both.names == ("age_mean: north − south", "count: north − south")
    assert both.values == pytest.approx([30, 100])
    count = release.difference("north", "south", answer="count")
    error = release["north"]["count"].standard_error
    assert count.value == both[1].value == 100 and count.standard_error == pytest.approx(error * np.sqrt(2))
    low, high = count.interval(0.9)
    assert (high - low) / 2 == pytest.approx(normal_width(0.9) * count.standard_error)
    assert count.rows()[0]["status"] == "noisy" and count.to_polars().height == 1


def test_answers_are_compared_in_every_group_and_parts_may_be_narrowed_releases() -> None:
    release = grouped()
    ratio = release.ratio("age_mean", "count")
    assert [row["region"] for row in ratio.rows()] == ["north", "south", "east"]
    assert ratio["south"].value == pytest.approx(40 / 200)
    same = release.difference(release["north"]["count"], release["south"]["count"])
    assert same.value == release.difference("north", "south", "count").value
    turned = release.contrast({"north": 1, "south": -0.5, "east": -0.5}, answer="age_mean")
    assert turned.value == pytest.approx(70 - 20 - 27.5)
    assert turned.name == "age_mean: north − 0.5 south − 0.5 east"


def test_two_means_over_one_count_have_an_exact_interval() -> None:
    """Their difference is one ratio: Fieller's interval, not one that is recovered from two."""
    plan = gm.Request("x.csv", means={"a": (0, 1), "b": (0, 1)}, complete=["a", "b"], guarantee=G).plan
    release = noisy_release(plan, [[20.0, -10.0, 100.0]])
    found = release.difference("a_mean", "b_mean")
    F = plan.block.shape.features.dense() * plan.block.noise_scale
    above, below = F[0] - F[1], F[2]
    numbers = (30.0, 100.0, above @ above, below @ below, above @ below)
    low, high = fieller_intervals(normal_width(0.95), *(np.array([each]) for each in numbers))
    assert found.interval() == pytest.approx((low[0], high[0]))
    assert found.rows()[0]["note"] == ""


def test_shares_add_up_to_one_and_have_the_covariance_of_the_total() -> None:
    release = noisy_release(PLANS["histogram"], [[10.0, 20, 30, 40, 50, 60, 70, 120, 410]])
    shares = release.shares()
    assert shares.values.sum() == pytest.approx(1) and shares["share of health=h"].value == pytest.approx(0.3)
    sigma = PLANS["histogram"].standard_errors[0]
    p = np.array([1, 2, 3, 4, 5, 6, 7, 12]) / 40
    rows = PLANS["histogram"].block.shape.features.dense()[:8] * PLANS["histogram"].block.noise_scale
    errors = np.linalg.norm(rows - np.outer(p, rows.sum(axis=0)), axis=1) / 400
    assert shares.standard_errors == pytest.approx(errors) and sigma > 0
    assert release.share("health=a").value == pytest.approx(10 / 400)
    low, high = release.share("health=a").interval(0.999999)
    assert low == 0.0 and 0 < high < 1


def test_a_ratio_to_what_may_be_zero_is_unknown() -> None:
    plan = PLANS["groups"]
    release = noisy_release(plan, [[0.0, 300], [0.0, 2], [0.0, 100]])
    found = release.ratio("north", "south", answer="count")
    assert found.rows()[0]["status"] == "unknown" and found.interval() == (0.0, np.inf)
    assert "unknown: too few records" in str(found)


def test_all_groups_at_once_against_one_and_against_their_mean() -> None:
    release = grouped()
    one, mean = release.contrasts("north", answer="count"), release.contrasts(answer="count")
    assert one.simultaneous and one.width(0.95) == pytest.approx(2.2121, abs=1e-3)  # Dunnett, two-sided, two groups
    assert mean.width(0.95) == pytest.approx(normal_width(0.95, 3))  # 1.9 % above what is enough for equal noises
    assert mean.values.sum() == pytest.approx(0) and one.values == pytest.approx([-100, -200])
    assert one.width(0.95, simultaneous=False) == pytest.approx(1.96, abs=1e-3)
    assert one[0].width(0.95) == pytest.approx(1.96, abs=1e-3)
    assert "All 3 intervals hold at once" in str(mean)


def test_the_width_of_all_is_sidaks_where_nothing_better_is_known() -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 5))
    assert width_of_all(0.95, A @ A.T, 5) == pytest.approx(normal_width(0.95, 5))
    assert width_of_all(0.95, np.ones((4, 4)), 4) == pytest.approx(normal_width(0.95))  # four times the same
    assert width_of_all(0.95, np.eye(4), 4) == pytest.approx(normal_width(0.95, 4))


def test_recovered_intervals_of_normal_answers_are_the_exact_ones() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        A = rng.normal(size=(2, 3))
        C = A @ A.T
        sigma, values = np.sqrt(np.diag(C)), np.array([rng.normal() * 20, 20 + rng.random()])
        R = C / np.outer(sigma, sigma)
        low, high = recovered_interval(np.array([1.0, -2.0]), values, values - 2 * sigma, values + 2 * sigma, R)
        error = np.sqrt(np.array([1, -2]) @ C @ np.array([1, -2]))
        assert (low, high) == pytest.approx((values @ [1, -2] - 2 * error, values @ [1, -2] + 2 * error))
        parts = [(v, v - 2 * s, v + 2 * s) for v, s in zip(values, sigma, strict=True)]
        found = recovered_ratio(parts[0], parts[1], R[0, 1])
        exact = fieller_intervals(2.0, *(np.array([x]) for x in (*values, C[0, 0], C[1, 1], C[0, 1])))
        assert np.ravel(found) == pytest.approx(np.ravel(exact))
        mirrored = recovered_ratio(parts[0], tuple(-x for x in (parts[1][0], parts[1][2], parts[1][1])), -R[0, 1])
        assert np.ravel(mirrored) == pytest.approx(-np.ravel(exact)[::-1])


def test_distances_add_up_where_correlations_are_not_known() -> None:
    low, high = recovered_interval(
        np.array([1.0, -1.0]), np.array([5.0, 1.0]), np.array([2.0, -3.0]), np.array([8.0, 5.0]), None
    )
    assert (low, high) == (4 - 3 - 4, 4 + 3 + 4)


def test_questions_with_tied_noise_are_compared_with_their_covariance() -> None:
    plan = PLANS["questions"]
    assert plan.ties, "the questions of this test share one noise"
    features = [np.zeros((query.size, len(query.block.noise.features))) for query in plan.queries]
    for each in features:
        each[..., -1] = 100.0
    features[3][:] = 50.0
    release = noisy_release(plan, *features)
    found = release.difference(("adults", "count"), ("all", "count"))
    rows = pushed_through(plan)
    row = rows[1, 0][-1] - rows[0, 0][-1]
    assert found.standard_error == pytest.approx(np.linalg.norm(row))
    apart = np.hypot(release["adults"]["count"].standard_error, release["all"]["count"].standard_error)
    assert found.standard_error != pytest.approx(apart, rel=1e-3)


def test_contrasts_that_make_no_sense_are_refused() -> None:
    release = grouped()
    with refused("contrast-of-unknown", says="did you mean 'north'"):
        release.difference("nort", "south")
    with refused("contrast-with-itself"):
        release.ratio("count", "count")
    with refused("contrast-with-itself"):
        release.difference(release["north"], "north")
    with refused("contrast-of-other-release"):
        release.difference(grouped()["north"], "south")
    with refused("contrast-not-a-mapping"):
        release.contrast(["north", "south"])
    with refused("contrast-weight-not-a-number"):
        release.contrast({"north": "1", "south": -1})
    with refused("contrast-without-weights"):
        release.contrast({"north": 0, "south": 0})
    with refused("no-such-answer", says="did you mean 'age_mean'"):
        release.difference("north", "south", answer="age_men")
    with refused("no-such-group"):
        release.contrasts("west")
    with refused("several-contrasts"):
        _ = release.difference("north", "south").value
    with refused("no-such-contrast"):
        release.shares("count")["west"]
    with refused("shares-of-nothing"):
        release.shares("age_mean")
    plain = noisy_release(PLANS["box"], [[1.0, 2.0, 100.0]])
    with refused("contrasts-without-groups"):
        plain.contrasts()
    with refused("shares-of-nothing"):
        plain.shares()
    features = [np.full((query.size, len(query.block.noise.features)), 100.0) for query in PLANS["questions"].queries]
    questions = noisy_release(PLANS["questions"], *features)
    with refused("contrast-of-several-questions"):
        questions.difference("count", ("all", "count"))
    with refused("contrast-without-common-answer"):
        questions.difference("health", "adults")
    with refused("contrast-of-unknown"):
        questions.difference("west", ("all", "count"))
    assert questions.ratio("spent_sum", ("all", "count")).value == 1.0


def test_means_over_present_values_are_compared_by_their_own_counts() -> None:
    """A question of several queries: each mean has a sum and a count of its own, whose noise is tied."""
    plan = PLANS["missing values"]
    assert len(plan.slot.queries) == 3
    release = noisy_release(plan, *(_filled(query) for query in plan.queries))
    found = release.difference("age_mean", "bmi_mean")["south"]
    rows = pushed_through(plan)
    at = {name: i for i, query in enumerate(plan.queries) for name in query.block.answers.names}
    slopes = [rows[at[name], 1][0] / 200 - 5 / 200 * rows[at[name], 1][-1] for name in ("age_mean", "bmi_mean")]
    assert found.value == pytest.approx((50 + 5) - (35 + 5))
    assert found.standard_error == pytest.approx(np.linalg.norm(slopes[0] - slopes[1]))
    assert found.rows()[0]["note"] == "approximate interval"
    share = release.share("east", "count")
    assert share.value == pytest.approx(1 / 3)


def _filled(query: Any) -> np.ndarray:
    """Every mean 5 above its middle, every sum and count 200, in each group."""
    features = np.full((query.size, len(query.block.noise.features)), 200.0)
    for statistic in query.block.answers.statistics:
        if statistic.divided:
            features[:, statistic.places[:, 0]] = 1000.0
    return features


def test_errors_of_differences_of_medians_are_those_of_the_medians() -> None:
    people = pl.DataFrame({"wage": [i % 97 + 0.5 for i in range(4000)], "sex": ["f", "m"] * 2000})
    request = gm.Request(people, medians={"wage": (0, 100)}, by={"sex": ["f", "m"]}, guarantee=G)
    release = gm.release(request)
    own = [release[sex]["wage_median"].standard_error for sex in ("f", "m")]
    gap, ratio = release.difference("f", "m"), release.ratio("f", "m")
    assert max(own) < gap.standard_error <= sum(own)
    low, high = ratio.interval(0.6827)
    assert 0 < ratio.standard_error <= (high - low) / 2  # the interval holds all that both medians can be


def test_intervals_of_differences_of_quantiles_hold_wherever_in_its_cell_a_quantile_lies() -> None:
    """Nothing is left to chance here: both medians are known but for their cells, of which they are opposite ends."""
    wage = [10.0, 20.9999] * 20_000
    people = pl.DataFrame({"wage": wage, "sex": ["f", "m"] * 20_000})
    request = gm.Request(
        people, medians={"wage": (0, 256)}, by={"sex": ["f", "m"]}, guarantee=gm.Guarantee(epsilon=30, delta=1e-6)
    )
    release = gm.release(request)
    gap, ratio = release.difference("f", "m"), release.ratio("f", "m")
    assert gap.interval()[0] <= 10 - 20.9999 <= gap.interval()[1]
    assert ratio.interval()[0] <= 10 / 20.9999 <= ratio.interval()[1]
    (against,) = release.contrasts("m").rows()
    assert against["lower"] <= 10 - 20.9999 <= against["upper"]
    assert against["note"] == "interval of all that its parts can be"
    assert "Intervals with quantiles hold all that the parts can be" in str(gap)


def test_many_contrasts_of_quantiles_share_what_may_fail() -> None:
    people = pl.DataFrame({"wage": [i % 97 + 0.5 for i in range(4000)], "area": [i % 4 for i in range(4000)]})
    request = gm.Request(people, medians={"wage": (0, 100)}, by={"area": [0, 1, 2, 3]}, guarantee=G)
    found = gm.release(request).contrasts(0)
    assert found.width(0.95) == pytest.approx(2.393980, abs=1e-6)  # 1 − Φ = 0.025 / 3
    assert found[0].each[0].ends(found.width(0.95)) == found[0].each[0]._held_ends(found.width(0.95))
