"""Groups that matter more than others: how it is said, what is refused, and what plans and releases state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from planting import plant
from refusals import refused

import gaussmith as gm
from gaussmith.planning.certificate import bound_together
from gaussmith.report.charts import shared_answers

MONTHS = [f"m{i}" for i in range(6)]
ROWS = pl.DataFrame(
    {
        "person": [f"p{i % 7}" for i in range(60)],
        "month": [MONTHS[i * i % 6] for i in range(60)],
        "sex": ["fm"[i % 2] for i in range(60)],
        "spent": [float(i % 11) for i in range(60)],
    }
)


def ask(**fields: Any) -> gm.Request:
    usual: dict[str, Any] = {
        "count": True,
        "by": {"month": MONTHS},
        "groups_per_unit": 4,
        "guarantee": gm.Guarantee(mu=1),
    }
    return gm.Request(ROWS, unit="person", **usual | fields)


def test_weights_are_said_by_key_by_column_or_in_order(tmp_path: Path) -> None:
    plan = ask(group_weights={"m1": 4}).plan
    assert plan.hash == ask(group_weights={"month": {"m1": 4}}).plan.hash
    assert plan.hash == ask(group_weights=[1, 4, 1, 1, 1, 1]).plan.hash
    assert plan.hash == ask(group_weights={"m1": 1, **dict.fromkeys(["m0", *MONTHS[2:]], 0.25)}).plan.hash  # ratios
    assert plan.hash != ask().plan.hash == ask(group_weights=[3] * 6).plan.hash
    ROWS.write_parquet(tmp_path / "visits.parquet")
    (tmp_path / "request.toml").write_text(
        'source = "visits.parquet"\nunit = "person"\nguarantee = { mu = 1 }\n[[question]]\ncount = true\n'
        f"by = {{ month = {MONTHS} }}\ngroups_per_unit = 4\ngroup_weights = {{ m1 = 4 }}\n"
    )
    assert gm.Request.from_toml(tmp_path / "request.toml").plan["1"].errors() == plan.errors()


def test_weights_of_several_columns_multiply_and_keys_that_are_no_text_are_named_by_it() -> None:
    by = {"month": MONTHS[:2], "sex": ["f", "m"]}
    groups = ask(by=by, group_weights={"month": {"m0": 2}, "sex": {"m": 3}}).plan.groups
    assert groups is not None and groups.weights is not None
    assert np.array(groups.weights) * 3 == pytest.approx([2, 6, 1, 3])
    numbered = gm.Groups({"year": [2023, 2024], "paid": [True, False]}, gm.Records(), 2, {"year": {"2024": 7}})
    named = gm.Groups({"year": [2023, 2024], "paid": [True, False]}, gm.Records(), 2, {"paid": {"true": 7}})
    assert numbered.weights == (0.25, 0.25, 1.75, 1.75) and named.weights == (1.75, 0.25, 1.75, 0.25)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"m9": 4}, "group weight of 'm9' · it is not a declared key"),
        ({"sex": {"f": 4}}, "group weights of 'sex' · groups have no such column"),
        ({"m1": 0}, "group weight 0 · it must be a number above 0"),
        ({"m1": "4"}, "group weight '4' · it must be a number above 0"),
        ({"m1": float("inf")}, "group weight inf · it must be a number above 0"),
        ([1, 2], r"group_weights=\[1, 2\] · it names keys, or lists a number for each of 6 groups"),
        ("m1", "group_weights='m1' · it names keys"),
        ({"m0": 1e308, "m1": 1e-308}, "it must be a number above 0"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights: Any, said: str) -> None:
    with pytest.raises(gm.errors.DomainError, match=said):
        ask(group_weights=weights)


def test_other_refusals() -> None:
    with pytest.raises(gm.errors.RequestError, match="group_weights without groups"):
        gm.Request(ROWS, count=True, group_weights={"m1": 2}, guarantee=gm.Guarantee(mu=1))
    with pytest.raises(gm.errors.DomainError, match=r"13 different group weights · .* at most 12 · round them"):
        gm.Groups({"k": list(range(13))}, gm.Records(), 2, list(range(1, 14)))
    with pytest.raises(gm.errors.DomainError, match="group weights without key columns"):
        ask(by={"month": MONTHS[:2], "sex": ["f", "m"]}, group_weights={"m0": 2})


def test_heavier_groups_have_smaller_errors_and_the_plan_states_the_largest() -> None:
    plan, alike = ask(group_weights={"m1": 9, "m2": 4}).plan, ask().plan
    found = {label[0]: errors["count"] for label, errors in plan.errors_by_group().items()}
    same = alike.errors()["count"]
    assert found["m1"] < found["m2"] < same < found["m0"] == found["m5"]
    assert plan.errors()["count"] == plan.standard_errors[-1] == found["m0"]
    weights = dict(zip(MONTHS, (each * 6 / 17 for each in (1, 9, 4, 1, 1, 1)), strict=True))
    assert sum(weights[key] * found[key] ** 2 for key in MONTHS) == pytest.approx(plan.total_variance)
    assert plan.total_variance < 0.97 * alike.total_variance and plan.optimality < 1.001
    assert {label: errors["count"] for label, errors in alike.errors_by_group().items()} == {
        (key,): same for key in MONTHS
    }
    assert "in the groups with the largest errors (all: plan.errors_by_group)" in " ".join(str(plan).split())


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("beside", [False, True])
def test_releases_are_of_the_right_groups_with_their_own_errors(neighbours: str, beside: bool) -> None:
    question = {"name": "months", "count": True, "sums": {"spent": (0, 100)}, "by": {"month": MONTHS}}
    question |= {"groups_per_unit": 4, "group_weights": {"m1": 9, "m4": 4}}
    questions = [question, {"name": "sexes", "count": True, "by": {"sex": ["f", "m"]}, "groups_per_unit": 1}]
    questions = questions[: 1 + beside]
    request = gm.Request(
        ROWS, unit="person", questions=questions, guarantee=gm.Guarantee(mu=1e6), neighbours=neighbours
    )
    plain = [{key: value for key, value in each.items() if key != "group_weights"} for each in questions]
    other = gm.Request(ROWS, unit="person", questions=plain, guarantee=gm.Guarantee(mu=1e6), neighbours=neighbours)
    release, expected = gm.release(request), gm.release(other)
    release, expected = (each["months"] if beside else each for each in (release, expected))
    assert release.values == pytest.approx(expected.values, abs=1e-2)
    errors = request.plan["months"].errors_by_group() if beside else request.plan.errors_by_group()
    for i, (label, own) in enumerate(errors.items()):
        assert release.standard_errors[i] == pytest.approx(list(own.values()))
        assert release[label[0]].standard_errors == pytest.approx(list(own.values()))
        (lower,), (upper,) = release[label[0]]["count"].raw_intervals(1.959963985)
        assert upper - lower == pytest.approx(2 * 1.959963985 * own["count"])
        assert [each[i, -1] for each in release.raw_intervals(1.959963985)] == pytest.approx([lower, upper])
    assert release.total()["count"].value == pytest.approx(release.values[:, -1].sum())
    again = gm.Release.from_json(release.to_json())
    assert again == release and np.array_equal(again.standard_errors, release.standard_errors)


def test_the_error_of_a_total_is_that_of_its_parts_together() -> None:
    """The noise of many releases from the exact covariance: totals over groups of several weights."""
    plan = ask(group_weights={"m1": 9, "m4": 4}).plan
    (tie,) = plan.ties
    release = gm.release(ask(group_weights={"m1": 9, "m4": 4}))
    rows = np.vstack([np.array(tie.lift.times(cores, people)) for cores, people in _units(tie)]).T
    queries = np.linalg.inv(rows) @ np.eye(len(rows)) * tie.noise_scale  # a column of noise for each row of the lift
    order = [i for _, places in plan.groups.classes for i in places] if plan.groups is not None else []
    seen = queries[: len(order)]
    total = seen.sum(axis=0)
    assert release.total()["count"].standard_error == pytest.approx(float(np.sqrt(total @ total)))
    for place, i in enumerate(order):
        error = float(np.sqrt(seen[place] @ seen[place]))
        assert release[MONTHS[i]]["count"].standard_error == pytest.approx(error)


def _units(tie: Any) -> list[tuple[list[np.ndarray], float]]:
    """Every number of every core by itself, and the number of people."""
    found = []
    for q, part in enumerate(tie.body.parts):
        for i in range(part.groups):
            cores = [np.zeros((each.groups, each.width)) for each in tie.body.parts]
            cores[q][i] = 1.0
            found.append((cores, 0.0))
    if tie.lift.counted:
        found.append(([np.zeros((each.groups, each.width)) for each in tie.body.parts], 1.0))
    return found


def test_a_limit_on_the_error_holds_in_every_group() -> None:
    fields: dict[str, Any] = {"count": True, "by": {"month": MONTHS}, "groups_per_unit": 4, "error_at_most": 1.98}
    questions = [fields | {"group_weights": {"m1": 9}}, {"sums": {"spent": (0, 100)}}]
    plan = gm.Request(ROWS, unit="person", questions=questions, guarantee=gm.Guarantee(mu=1)).plan
    assert max(each["count"] for each in plan["1"].errors_by_group().values()) == pytest.approx(1.98, rel=2e-3)


def test_saved_plans_keep_their_weights_and_refuse_others() -> None:
    plan = ask(group_weights={"m1": 9}).plan
    assert gm.Plan.from_json(plan.to_json()) == plan
    fields = plan.to_dict()
    fields["queries"][0]["groups"]["weights"] = [1.0, 9.0, 9.0, 1.0, 1.0, 1.0]
    with pytest.raises(gm.errors.PlanError, match="a lift that does not fit its queries"):
        gm.Plan.from_dict(fields)
    fields["queries"][0]["groups"]["weights"] = [
        1.0,
        1.0,
        9.0,
        1.0,
        1.0,
        1.0,
    ]  # another group: as private, not the same
    assert gm.Plan.from_dict(fields).errors_by_group()["m2",]["count"] == plan.errors_by_group()["m1",]["count"]
    fields["queries"][0]["groups"]["at_most"] = 6
    assert gm.Plan.from_dict(fields).ties[0].noise_scale > 1.05 * plan.ties[0].noise_scale  # charged for six groups


def test_the_picture_of_shared_noise_has_one_group_of_each_weight() -> None:
    plan = ask(group_weights={"m1": 9, "m4": 4}).plan
    names, found = shared_answers(plan, plan.ties[0])
    assert names == ["count (weight 0.353)", "count (weight 3.18)", "count (weight 1.41)"]
    assert np.diag(found) == pytest.approx(1.0) and (np.abs(found[0, 1:]) < 1).all()


def test_noise_that_is_not_shared_is_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stated shares: the bound is that of the noise which all questions could share, and no more."""
    questions: list[dict[str, Any]] = [
        {"name": "months", "count": True, "by": {"month": MONTHS}, "groups_per_unit": 4, "group_weights": {"m1": 9}},
        {"name": "spent", "sums": {"spent": (0, 100)}},
        {"name": "men", "count": True, "where": "sex == 'm'"},
    ]
    usual: dict[str, Any] = {"unit": "person", "guarantee": gm.Guarantee(mu=2)}
    shared = gm.Request(ROWS, questions=questions, **usual).plan
    apart = gm.Request(ROWS, questions=[each | {"share": 1} for each in questions], **usual).plan
    assert len(shared.noises) == 1 and len(apart.noises) == 3
    assert 0.998 * shared.total_variance <= apart.lower_bound <= shared.total_variance
    alone = sum(each.lower_bound * each.guarantee.mu**2 for each in apart.noises) / 4
    assert apart.lower_bound > 1.3 * alone
    plant(monkeypatch, bound_together, "lower + apart", "lower * 1.01 + apart")
    assert gm.Plan.from_json(apart.to_json()).lower_bound > shared.total_variance  # the test above would see it


def test_plain_data_in_groups_that_weigh_differently() -> None:
    by = gm.Groups({"k": [0, 1, 2, 3]}, gm.Box({"a": (0, 1)}), 3, {"2": 25})
    plan = gm.plan(by, gm.Guarantee(mu=1e6), count=True)
    release = plan.release(pl.DataFrame({"k": [1, 2, 2], "a": [0.25, 0.5, 0.75]}))
    assert release.values == pytest.approx(np.array([[0, 0], [0.25, 1], [1.25, 2], [0, 0]]), abs=1e-3)
    assert release.standard_errors[2, 1] < release.standard_errors[1, 1]


def test_a_question_of_several_queries_has_its_weights_in_each() -> None:
    """Means that leave out missing values are read from queries of their own, with the same weights of groups."""
    request = gm.Request(
        ROWS, unit="person", means={"spent": (0, 100)}, mean_of="units", count=True, by={"month": MONTHS},
        groups_per_unit=4, group_weights={"m1": 9, "m4": 4}, guarantee=gm.Guarantee(mu=1e6),
    )  # fmt: skip
    plan = request.plan
    assert len(plan.slot.queries) == 2 and all(query.by_weight for query in plan.queries if len(query.block.answers))
    errors = plan.errors_by_group(4)
    assert errors["m1",]["spent_mean"] < errors["m4",]["spent_mean"] < errors["m0",]["spent_mean"]
    release = gm.release(request)
    assert [each["count"] for each in errors.values()] == pytest.approx(release.standard_errors[:, -1].tolist())
    again = gm.Release.from_json(release.to_json())
    assert again == release and np.array_equal(again.standard_errors, release.standard_errors)
    assert "in the groups with the largest errors (all: plan.errors_by_group)" in " ".join(str(plan).split())


def test_questions_of_other_weights_are_not_one_query() -> None:
    asked = {"count": True, "by": {"month": MONTHS}}
    questions = [{"name": "a", **asked}, {"name": "b", **asked, "group_weights": {"m1": 9}}]
    plan = gm.Request("x.csv", questions=questions, guarantee=gm.Guarantee(mu=1)).plan
    assert plan["a"].slot.queries != plan["b"].slot.queries
    assert [query.groups.weights is None for query in (plan["a"].query, plan["b"].query) if query.groups] == [
        True,
        False,
    ]


def test_weights_of_found_groups_are_refused() -> None:
    with refused("group-weights-of-found-keys"):
        gm.Request(
            "x.csv",
            count=True,
            by={"month": "found"},
            group_weights={"m1": 9},
            guarantee=gm.Guarantee(epsilon=1, delta=1e-6),
        )
