"""Tables of the same keys beside groups that weigh differently: what shares a noise, and what bounds it."""

from __future__ import annotations

import itertools
from typing import Any

import polars as pl
import pytest
from planting import plant
from refusals import damaged, refused
from whole.pairs import distances_of, lifted, total_alone

import gaussmith as gm
from gaussmith.planning import certificate as joint_bound
from gaussmith.planning import crossed_noise as crossed_keys
from gaussmith.planning import joint_people as rule_columns
from gaussmith.planning.crossed_noise import CrossedNoise

Question = dict[str, Any]
A, B = ["k", "l", "m"], [1, 2]
BY_A: Question = {"name": "a", "count": True, "by": {"a": A}}
BY_B: Question = {"name": "b", "count": True, "by": {"b": B}}
BY_AB: Question = {"name": "ab", "count": True, "by": {"a": A, "b": B}}
TABLES = [BY_A, BY_B, BY_AB]
WEIGHED = {**BY_AB, "group_weights": {"a": {"m": 9}}}
BESIDE: Question = {"name": "c", "count": True, "sums": {"x": (0, 1)}, "by": {"c": [1, 2]}, "group_weights": {"1": 5}}
SCHEMA = {"a": pl.String, "b": pl.Int64, "c": pl.Int64, "x": pl.Float64}
ROWS = [
    {"a": a, "b": b, "c": c, "x": x} for a, b, c, x in itertools.product(["k", "m", "z"], [1, 9], [1, 2, 9], [0.0, 1.0])
]
NEIGHBOURS = pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])


def plan_of(questions: list[Question], **fields: Any) -> gm.Plan:
    return gm.Request("x.csv", questions=questions, **{"guarantee": gm.Guarantee(mu=1), **fields}).plan


def crossed(plan: gm.Plan) -> list[CrossedNoise]:
    return [tie for tie in plan.ties if isinstance(tie, CrossedNoise)]


def reach(plan: gm.Plan, neighbours: str) -> float:
    """The largest squared distance of neighbours, from rows to integers, over what the guarantee leaves room for."""
    rows = ROWS if neighbours == "add-remove" else ROWS[::3]
    own = [lifted(plan, total_alone(plan, [row], SCHEMA)) for row in rows]
    pairs: Any = itertools.combinations(own, 2)
    if neighbours == "add-remove":
        nobody = lifted(plan, total_alone(plan, [], SCHEMA))
        pairs = ((nobody, each) for each in own)
    return float(max(max(distances_of(plan, *pair)) for pair in pairs))


@NEIGHBOURS
def test_a_table_whose_groups_weigh_differently_is_not_crossed(neighbours: str) -> None:
    assert crossed(plan_of(TABLES, neighbours=neighbours))
    plan = plan_of([BY_A, BY_B, WEIGHED], neighbours=neighbours)
    assert all("ab" not in [plan.slots[i].name for i in tie.members] for tie in crossed(plan))
    errors = plan["ab"].errors_by_group()
    assert errors["m", 1]["count"] < errors["k", 1]["count"]
    assert gm.Plan.from_json(plan.to_json()) == plan
    assert reach(plan, neighbours) <= 1


@NEIGHBOURS
def test_tables_beside_groups_that_weigh_differently(neighbours: str) -> None:
    """Two noises of two kinds, each with its share: answers of the right groups, and nobody exceeds either."""
    asked = [*TABLES, BESIDE, {"name": "f", "count": True, "where": "x > 0.5"}]
    plan = plan_of(asked, neighbours=neighbours)
    (tie,) = crossed(plan)
    assert tie.members == (0, 1, 2) and plan.queries[3].by_weight and plan.queries[3].tie is not tie
    assert sum(each.guarantee.mu**2 for each in plan.noises) <= 1 + 1e-12
    assert 0.99 < reach(plan, neighbours) <= 1
    assert 0 < plan.lower_bound <= plan.total_variance
    table, sharp = pl.DataFrame(ROWS, schema=SCHEMA), gm.Guarantee(mu=1e6)
    release = gm.release(gm.Request(table, questions=asked, neighbours=neighbours, guarantee=sharp))
    assert release["c"].values[:, -1] == pytest.approx([12, 12], abs=1e-2)
    assert release["c"].values[:, 0] == pytest.approx([6, 6], abs=1e-2)
    assert release["a"].values[:, 0] == pytest.approx([12, 0, 12], abs=1e-2)
    assert release["ab"].values[:, 0] == pytest.approx([6, 0, 0, 0, 6, 0], abs=1e-2)


def test_weights_cannot_be_added_to_a_saved_plan_of_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of tables is as good as it says only where keys can be permuted."""
    keys, weights = list(range(8)), [1e6, *[1.0] * 63]
    asked = [{**BY_A, "by": {"a": keys}}, {**BY_AB, "by": {"a": keys, "b": keys}}]
    fields = plan_of(asked, neighbours="replace-one").to_dict()
    fields["queries"][1]["groups"]["weights"] = weights
    with refused(damaged("queries that are not tables of the same people")):
        gm.Plan.from_dict(fields)
    better = plan_of([asked[0], {**asked[1], "group_weights": weights}], neighbours="replace-one")
    plant(monkeypatch, crossed_keys.keyed_of, "len(query.groups.classes) > 1 and not weighted", "False")
    claimed = gm.Plan.from_dict(fields)
    assert crossed(claimed) and better.total_variance < 0.95 * claimed.lower_bound  # it would claim what is not true


def forget_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take all queries as read from columns of their own."""
    plant(monkeypatch, rule_columns.FreeRules._take, "if not self.seen.isdisjoint(asked):", "if False:")
    plant(monkeypatch, rule_columns.columns_changed, "return asked", "return {str(id(query))} if query else asked")


@NEIGHBOURS
def test_tables_that_do_not_share_their_noise_are_bounded_as_one_person_is_in_them(
    neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stated shares: the bound is that of the noise which the tables could share, and no more."""
    shared = plan_of(TABLES, neighbours=neighbours)
    apart = plan_of([{**each, "share": 1} for each in TABLES], neighbours=neighbours)
    assert len(shared.noises) == 1 and len(apart.noises) == 3
    assert 0.999 * shared.total_variance <= apart.lower_bound <= shared.total_variance
    weighed = plan_of([{**each, "share": 1} for each in (BY_A, BY_B, WEIGHED)], neighbours=neighbours)
    assert 0 < weighed.lower_bound < shared.total_variance
    plant(monkeypatch, joint_bound._loose_tables, "own = [", "own = [] and [")
    forget_columns(monkeypatch)
    assert gm.Plan.from_json(apart.to_json()).lower_bound > 1.05 * shared.total_variance  # this would be seen


def test_tables_that_share_their_noise_are_not_bounded_by_more_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A law of people in all of them says more than two bounds of their own; tables in a body would say too much."""
    plan = plan_of([*TABLES, BESIDE])
    least = sum(each.lower_bound * each.guarantee.mu**2 for each in plan.noises)
    assert least < plan.lower_bound <= plan.total_variance
    plant(monkeypatch, joint_bound._keyed, "if tie.how == KIND", "if not tie")
    forget_columns(monkeypatch)
    assert gm.Plan.from_json(plan.to_json()).lower_bound > 1.05 * plan.total_variance
