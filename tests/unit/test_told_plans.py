"""What plans of groups and of several questions say of themselves, and what requests tell of stand-ins."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from visits import G, ask
from whole.existing import examine, rows_of

import gaussmith as gm
from gaussmith.domains.box import Box
from gaussmith.planning.certificate import verify
from gaussmith.planning.plan import Plan
from gaussmith.report.tables import describe_factor


def three_questions(**fields: Any) -> Plan:
    asked = [
        {"name": "spending", "sums": {"spent": (0, 500)}},
        {"name": "people", "count": True},
        {"name": "regions", "count": True, "by": {"region": ["north", "south"]}, "groups_per_unit": 1},
    ]
    return gm.Request("visits.csv", unit="person", questions=asked, guarantee=G, **fields).plan


def test_questions_planned_together_are_compared_with_the_standard_that_answers_both() -> None:
    """The same two answers as one question have the same ratios: the budget is counted once."""
    from gaussmith.planning.block import compare_block, share_of_standard

    asked = [{"name": "spending", "sums": {"spent": (0, 500)}}, {"name": "people", "count": True}]
    plan = gm.Request("visits.csv", unit="person", questions=asked, guarantee=G).plan
    alone = gm.Request("a.csv", unit="p", sums={"spent": (0, 500)}, count=True, guarantee=G).plan
    spent, count = compare_block(alone.block)
    assert compare_block(plan["spending"].block) == [spent] and compare_block(plan["people"].block) == [count]
    shares = [share_of_standard(plan[name].block) for name in ("spending", "people")]
    assert shares == [pytest.approx(spent.share), pytest.approx(count.share)]
    assert spent.share < 0.8 and count.share < 0.9
    text = str(plan)
    assert (
        text.count("planned together, the noise is as good as any Gaussian noise can be") == 2 and "108 %" not in text
    )
    assert plan["people"].optimality == plan.queries[0].optimality < 1.001
    assert "Considered and not chosen" in plan["people"].explain()  # of the plan that its noise is of


def test_tied_questions_are_compared_with_the_standard_at_its_best_shares() -> None:
    from gaussmith.planning.block import compare_block, compare_pieces, standard_scale

    plan = three_questions()
    (tie,) = plan.ties
    members = [plan.queries[i] for i in tie.members]
    roots = [np.sqrt(each.block.standard.total_variance * each.size) for each in members]
    for slot in plan.slots:
        scale = standard_scale(plan[slot.name])
        assert scale == pytest.approx(np.sqrt(sum(roots) / roots[tie.members.index(slot.queries[0])]))
    means = gm.Request("a.csv", means={"a": (0, 1), "b": (0, 2)}, count=True, guarantee=G).plan
    apart = [compare_block(piece.block, standard_scale=standard_scale(piece)) for piece in means.pieces]
    assert compare_pieces(means) == [each for some in apart for each in some] and len(apart) > 1
    text = str(plan)
    assert text.count("one noise for everything asked, as good as any Gaussian noise can be") == 3
    assert "all answers together are as good as any Gaussian noise can be" in text
    assert "Considered and not chosen" not in plan["people"].explain()


def test_questions_over_rows_are_compared_within_the_whole_too() -> None:
    from gaussmith.planning.block import compare_block

    asked = [{"name": "age", "means": {"age": (0, 100)}}, {"name": "spent", "sums": {"spent": (0, 500)}}]
    said = {"unit": "p", "rows_per_unit": 4, "complete": ["age"], "guarantee": G}
    plan = gm.Request("a.csv", questions=asked, **said).plan
    both = gm.Request("a.csv", means={"age": (0, 100)}, sums={"spent": (0, 500)}, **said).plan
    assert [*compare_block(plan["spent"].block), *compare_block(plan["age"].block)] == compare_block(both.block)


def test_a_plan_of_questions_has_errors_bounds_and_a_certificate() -> None:
    plan = three_questions()
    assert plan.errors() == {each.questions[0]: each.errors() for each in plan}
    assert plan.questions == ("spending", "people", "regions") and len(plan) == 3
    assert [each.standard_errors.tolist() for each in plan] == [list(each.errors().values()) for each in plan]
    with refused("plan-of-several-questions", questions=("spending", "people", "regions")):
        plan.standard_errors  # noqa: B018
    with refused("no-such-question", says="did you mean 'people'"):
        plan["peopel"]
    (tie,) = plan.ties
    assert (
        plan.total_variance == pytest.approx(sum(query.total_variance for query in plan.queries)) == tie.total_variance
    )
    assert plan.lower_bound == tie.lower_bound and 1 <= plan.optimality == tie.optimality < 1.001
    assert f"{tie.apart:.6g}" in plan.explain() and tie.apart > 1.3 * tie.total_variance
    assert len(plan.certificate.proofs) == 1
    shares = [{"name": name, "count": True, "where": f"{name} > 1", "share": 1} for name in ("a", "b")]
    apart = gm.Request("visits.csv", unit="person", questions=shares, guarantee=G).plan
    mu = apart.guarantee.mu
    at_full = [query.lower_bound * query.guarantee.mu**2 / mu**2 for query in apart.queries]
    assert sum(at_full) == pytest.approx(2 / mu**2)  # each with all of μ
    assert apart.lower_bound == pytest.approx(8 / 3 / mu**2, rel=1e-4)  # for people who may pass both filters
    assert apart.optimality == pytest.approx(1.5, rel=1e-4) and "within a factor 1.5 of" in apart.explain()
    assert "all answers together are within a factor 1.5 of the lower bound for any Gaussian noise" in " ".join(
        str(apart).split()
    )
    assert "at its share of μ, the noise is as good as any Gaussian noise can be" in str(
        apart
    )  # of one query among several
    html = plan._repr_html_()
    assert html.count("<table>") == 3 and f"{100 * plan.shares()['people']:.3g} % of the budget" in html
    assert repr(plan) == str(plan)
    assert plan["spending"].chart() and plan["regions"].chart()


def test_groups_say_how_good_they_are() -> None:
    one = gm.plan(gm.Groups({"region": ["a", "b", "c"]}, Box({"x": (0, 1)})), G, count=True)
    assert "the noise is as good as any" in str(one) and one.optimality == pytest.approx(1)
    by = gm.Groups({"region": ["a", "b", "c"]}, Box({"x": (0, 1)}), at_most=2)
    two = gm.plan(by, G, count=True)
    assert "one noise for everything asked, as good as any Gaussian noise can be" in str(two)
    assert two.optimality == pytest.approx(1)
    apart = gm.plan(by, G, count=True, shape="lifted")
    assert "at its share of μ, the noise is as good as any Gaussian noise can be" in str(apart)
    assert apart.total_variance == pytest.approx(two.queries[0].tie.apart)
    gain = apart.total_variance / two.total_variance
    assert apart.optimality == pytest.approx(gain, rel=1e-3) and gain > 1.05
    assert f"within a factor {apart.optimality:.3g}" in apart.explain()
    assert apart.certificate.plan_hash == apart.hash and apart.chart() and repr(apart) == str(apart)
    assert "at its share of μ" in apart._repr_html_() and "all groups together" in apart._repr_html_()
    assert np.array_equal(two.covariance(), two.block.covariance())


def test_groups_are_compared_with_a_standard_at_its_own_share() -> None:
    """Under replace-one the share depends on the shape: the standard Gaussian's may be larger than the plan's."""
    by = gm.Groups({"region": ["a", "b"]}, Box([0] * 16, [1] * 16))
    mu = 1.0
    plan = gm.plan(by, gm.Guarantee(mu=mu), neighbours="replace-one", shape="lifted")
    # 16 ones leave one group and enter another: √2 · √16 in all; a change within a group is less, √16.
    standard = np.sqrt(2) * np.sqrt(16) / mu
    row = str(plan).splitlines()[2].split()
    assert float(row[2]) == pytest.approx(standard, rel=1e-3)
    assert row[3] == f"{100 * plan.standard_errors[0] / standard:.0f}" == "79"
    assert gm.plan(by, gm.Guarantee(mu=mu)).query.standard_scale == 1


def test_a_guess_of_rows_is_not_one_of_people() -> None:
    from gaussmith.report.plans import plan_text

    asked = {"means": {"age": (0, 100)}, "count": True, "unit": "person", "complete": ["age"]}
    over_rows = gm.Request("a.csv", rows_per_unit=12, guarantee=G, **asked).plan
    assert "means over 900 rows" in plan_text(over_rows, 900) and "900 records" not in plan_text(over_rows, 900)
    of_people = gm.Request("a.csv", mean_of="units", guarantee=G, **asked).plan
    assert "relative to the largest possible total of 900 records: count" in plan_text(of_people, 900)


# -- what stands in for a missing value -------------------------------------------------------------------------------


def test_stand_ins_are_told_where_numbers_are_text_or_where_they_were_said(tmp_path: Path) -> None:
    file = tmp_path / "spent.csv"
    file.write_text("who,usd\na,$5\nb,$6\n")
    told = "a missing value, or text that is not a plain number (such as n/a, 45%, $5 or 1,5), counts as "
    text = " ".join(str(ask(str(file), means={"usd": (0, 10)})).split())
    assert "rows where usd is missing or no plain number (such as n/a, 45%, $5 or 1,5) are left out" in text
    both = {"means": {"usd": (0, 10)}, "sums": {"usd": (0, 20)}, "unit": "who", "rows_per_unit": 2}
    bounds = "the bounds of usd are for the total of a person over all rows, not for one row"
    assert f"usd_sum: {bounds}; {told}0 in usd" in " ".join(str(ask(str(file), **both)).split())
    promised = " ".join(str(ask(str(file), **both, complete=["usd"])).split())
    assert f"{told}0 in the sum of usd, 5 in the mean of usd" in promised
    assert "counts as" not in str(ask(means={"score": (0, 100)}))
    said = gm.Request("a.parquet", means={"score": (0, 100)}, missing={"score": 7}, guarantee=G)
    assert said.plan.queries[0].row_rule.notes() == ["each row is one person", "a missing value counts as 7 in score"]
    assert "a missing value counts as 7 in score" in str(ask(means={"score": (0, 100)}, missing={"score": 7}))
    asked = [{"name": "usd", "means": {"usd": (0, 10)}, "complete": ["usd"]}, {"name": "n", "count": True}]
    joint = ask(str(file), questions=asked)
    assert f"{told}5 in usd" in str(joint["usd"].row_rule) and "counts as" not in str(joint["n"].row_rule)
    again = gm.read(joint.to_json())
    assert again == joint and str(again) == str(joint)
    assert joint["usd"].row_rule.source == "spent.csv" and '"source": "spent.csv"' in joint.to_json()


def test_values_that_are_not_declared_are_told(tmp_path: Path) -> None:
    plan = gm.plan(gm.Cells(["a", "b"]), G)
    for text in (str(plan), str(plan.release(["a", "z"])), plan._repr_html_()):
        assert "a value that is missing or not declared counts as: a" in text
    several = gm.plan(gm.Cells({"sex": ["f", "m"], "age": 3}, other={"sex": "m", "age": 2}), G)
    assert "counts as: sex=m, age=2" in str(several)
    assert "not declared counts" not in str(gm.plan(gm.Cells(["a", "b"], or_none=True), G))


def test_a_large_delta_is_remarked_on() -> None:
    loose = gm.Guarantee(epsilon=1, delta=0.5)
    assert "δ = 0.5 promises little" in str(gm.plan(Box({"x": (0, 1)}), loose))
    assert "δ = 0.5 promises little" in str(ask(count=True, guarantee=loose))
    for words in (str(three_questions()), str(gm.plan(Box({"x": (0, 1)}), gm.Guarantee(epsilon=1, delta=1e-3)))):
        assert "promises little" not in words
    by = gm.Groups({"region": ["a", "b"]}, Box({"x": (0, 1)}), at_most=2)
    assert str(gm.plan(by, loose)).count("δ = 0.5 promises little") == 1


@pytest.mark.parametrize("unit", [None, "p"])
@pytest.mark.parametrize(
    "sums",
    [
        [{"x": (0, 1)}, {"x": (0, 1.00000001)}, {"x": (0, 1.00000002)}, {"x": (0, 1.00000003)}],
        [{"x": (0, 1)}, {"x within 0 to 2": (0, 8)}, {"x": (0, 2)}],
        [{"x": (0, 1)}, {"x sum": (0, 8)}, {"x": (0, 2)}, {"x sum within 0 to 2": (0, 8)}],
    ],
)
def test_coordinates_whose_names_would_meet_keep_their_own(sums: list[dict[str, Any]], unit: str | None) -> None:
    table = pl.DataFrame({"p": [1, 2], "x": [2.0, 2.0], "x within 0 to 2": [3.0, 4.0], "x sum": [5.0, 6.0],
                          "x sum within 0 to 2": [7.0, 8.0]})  # fmt: skip
    asked = [{"name": f"q{i}", "sums": each} for i, each in enumerate(sums)]
    made = gm.release(gm.Request(table, unit=unit, questions=asked, guarantee=gm.Guarantee(mu=1e6)))
    for found, each in zip(made, sums, strict=True):
        ((column, (_, high)),) = each.items()
        assert found.values == pytest.approx([table[column].clip(0, high).sum()], abs=1e-3)


def test_one_question_is_not_told_as_planned_together(tmp_path: Path) -> None:
    """A mean of rows has a denominator that is not shown: the plan is still that of its question alone."""
    request = gm.Request(
        "a.csv",
        unit="p",
        groups_per_unit=1,
        rows_per_unit=4,
        means={"age": (0, 100)},
        by={"r": ["n", "s"]},
        guarantee=G,
    )
    assert request.plan.block.whole is None and request.plan.block is request.plan.query.block
    assert "together" not in str(request.plan)
    frame = pl.DataFrame({"p": ["a", "b"], "r": ["n", "s"], "age": [30.0, 40.0]})
    released = ask(
        frame, guarantee=G, unit="p", groups_per_unit=1, rows_per_unit=4, means={"age": (0, 100)}, by={"r": ["n", "s"]}
    )
    assert "planned together" not in released.report(tmp_path / "page.html").read_text("utf-8")


def test_one_question_with_several_noises_says_how_good_they_are_together() -> None:
    """Each noise is the best at its share of μ, which says nothing of one noise for all."""
    plan = gm.Request("a.csv", sums={"a": (0, 5)}, medians=["c"], bins={"c": [0, 1, 2]}, count=True, guarantee=G).plan
    assert len(plan) == 1 and len(plan.provable) > 1
    said = f"all answers together are {describe_factor(plan.optimality)}"
    assert said in " ".join(str(plan).split()) and said in plan._repr_html_()
    assert f"within a factor {plan.optimality:.3g} of this bound" in plan.explain()
    alone = gm.Request("a.csv", sums={"a": (0, 5)}, count=True, guarantee=G).plan
    assert "all answers together" not in str(alone) and "All answers together" not in alone.explain()


INCOME: dict[str, Any] = {"medians": ["income"], "bins": {"income": [0, 1, 2, 4, 8]}}
INCOMES: dict[str, Any] = {"covariance": {"income": (0, 8), "age": (0, 90)}}
KEPT_APART = {
    "a median by groups": {**INCOME, "by": {"region": ["north", "south"]}},
    "a filter": {**INCOMES, "where": "adult"},
    "missing values": INCOMES,
}
"""What is planned for one person added or removed, where a person is replaced."""
OF_PAIRS = {"a filter": {**INCOME, "where": "adult"}, "missing values": INCOME}
"""What is planned for two people, each of whom may be in no cell."""


@pytest.mark.parametrize("how", KEPT_APART)
def test_noise_for_people_who_are_replaced_is_judged_by_all_that_it_must_hide(how: str) -> None:
    """It is planned for one person added or removed, at less than μ: neither is what the plan promises."""
    plan = gm.Request("people.csv", guarantee=G, neighbours="replace-one", **KEPT_APART[how]).plan
    assert plan.query.block.optimality < 1.01 and plan.optimality > 1.7
    told = str(plan), plan.explain()
    for text in told:
        lines = " ".join(text.split())
        assert "changing one person's record; the number of people is public" in lines and str(G) in lines
        assert "secret" not in lines and "within 0.0" not in lines
        assert f"within a factor {plan.optimality:.3g} of" in lines
    assert f"can go below {plan.lower_bound:.6g}" in told[1]
    assert f"one person added or removed with μ={plan.query.block.guarantee.mu:.4g}" in told[1]


@pytest.mark.parametrize("how", OF_PAIRS)
def test_a_median_of_people_who_are_replaced_is_planned_for_two_of_them(how: str) -> None:
    """Who is left out is a record in no cell: one μ, one kind of neighbours and one bound are told."""
    plan = gm.Request("people.csv", guarantee=G, neighbours="replace-one", **OF_PAIRS[how]).plan
    assert plan.query.block.guarantee == plan.guarantee == G
    assert plan.query.block.problem.neighbours == plan.neighbours == "replace-one"
    assert 1 < plan.optimality < 1.005 and plan.optimality == plan.query.block.optimality
    told = str(plan), plan.explain()
    for text in told:
        lines = " ".join(text.split())
        assert "changing one person's record; the number of people is public" in lines and str(G) in lines
        assert re.findall(r"μ=[0-9.]+", lines) == re.findall(r"μ=[0-9.]+", str(G))
        assert not any(words in lines for words in ("secret", "added", "removed", "enter or leave", "a factor"))
        assert f"within {100 * (plan.optimality - 1):.2g} % of the best Gaussian noise" in lines
    assert f"can go below {plan.lower_bound:.6g}" in told[1]


@pytest.mark.parametrize("how", OF_PAIRS)
def test_what_is_told_of_a_median_of_people_who_are_replaced_is_true(how: str) -> None:
    """Beside the least noise for all pairs of people, found through the release by another solver."""
    fields = {"medians": ["q"], "bins": {"q": [0, 1, 2, 4, 8]}, "neighbours": "replace-one"}
    values: dict[str, list[Any]] = {"q": [-1.0, 0.5, 1.5, 3.0, 6.0, 9.0, None]}
    fields |= {"where": "f"} if how == "a filter" else {}
    values |= {"f": [True, False]} if how == "a filter" else {}
    found = examine(fields, rows_of(values))
    assert found.bound <= 1 + 1e-6 and found.price_from <= found.optimality < 1.005


@pytest.mark.parametrize("asked", [INCOME, INCOMES], ids=["a median", "a variance"])
def test_noise_behind_a_filter_is_verified_against_the_whole_guarantee(asked: dict[str, Any]) -> None:
    plan = gm.Request("people.csv", guarantee=G, neighbours="replace-one", where="adult", **asked).plan
    found = verify(plan, plan.certificate)
    assert found.problems == () and found.optimality == pytest.approx(plan.optimality, rel=1e-6)


def test_nothing_is_said_of_the_least_noise_for_a_replaced_median_of_people_who_all_have_a_value() -> None:
    """The noise hides people without a value, too: a bound for these is above the least for those who are promised."""
    fields = {"medians": ["income"], "bins": {"income": [0, 1, 2, 4, 8]}, "neighbours": "replace-one"}
    promised = gm.Request("people.csv", guarantee=G, complete=["income"], **fields).plan
    assert promised.optimality == math.inf and promised.lower_bound == 0
    assert "an unknown distance" in str(promised) and verify(promised, promised.certificate).problems == ()
    others = gm.Request("people.csv", guarantee=G, **fields).plan
    assert others.optimality < 1.01 and others.price == promised.price
