"""The guarantee of several questions: Σ μ² of the queries within μ², exactly; shares follow from it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from planting import plant
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.errors import GaussmithError, PlanError
from gaussmith.planning.certificate import verify
from gaussmith.planning.plan import Plan, Slot

ASKED = [{"name": "spending", "sums": {"spent": (0, 500)}}, {"name": "north", "count": True, "where": "region == 'n'"}]
SHARES = [{**question, "share": 1} for question in ASKED]  # so that each query has noise of its own
JOINT = gm.Request("visits.csv", unit="person", questions=SHARES, guarantee=gm.Guarantee(mu=5)).plan
DRAW = JOINT.queries[0]
TIED = gm.Request("visits.csv", unit="person", questions=ASKED, guarantee=gm.Guarantee(mu=5)).plan


def joint(total: float, mus: Sequence[float]) -> Plan:
    """A plan of as many queries as there are μ, each a question."""
    queries = []
    for mu in mus:
        block = replace(DRAW.block, guarantee=gm.Guarantee(mu=mu))
        queries.append(replace(DRAW, block=block, guarantee=block.guarantee))
    slots = tuple(Slot.of(f"q{i}", [(i, 0)]) for i in range(len(mus)))
    return Plan(gm.Guarantee(mu=total), JOINT.neighbours, tuple(queries), slots)


def kept(total: float, mus: Sequence[float]) -> bool:
    """Whether the queries are accepted, in memory and from a file, and by whoever verifies their certificates."""
    plan = joint(total, mus)
    try:
        plan.certify()
    except PlanError as error:
        assert "queries that spend too much" in str(error)
        with refused(damaged("queries that spend too much")):
            Plan.from_json(plan.to_json())
        return False
    assert Plan.from_json(plan.to_json()) == plan
    return True


UP, DOWN = math.inf, 0.0
EXACT = [
    (5.0, [3.0, 4.0]),
    (1.0, [0.5] * 4),
    (1.0, [1.0]),
    (13.0, [3.0, 4.0, 12.0]),
    (0.25, [2.0**-5] * 64),
]


def check_sums() -> None:
    # In doubles this sum is 1: the excess is 2^-106.
    assert math.nextafter(1.0, 0.0) ** 2 + 2.0**-52 <= 1.0
    assert not kept(1.0, [math.nextafter(1.0, 0.0), 2.0**-26])
    for total, mus in EXACT:
        assert sum(Fraction(mu) ** 2 for mu in mus) == Fraction(total) ** 2
        assert kept(total, mus)
        assert not kept(math.nextafter(total, DOWN), mus)
        assert kept(math.nextafter(total, UP), mus)
        assert not kept(total, [math.nextafter(mus[0], UP), *mus[1:]])
        assert kept(total, [math.nextafter(mus[0], DOWN), *mus[1:]])
        assert not kept(total, [*mus, 1e-9])
        assert kept(100 * total, mus) and not kept(total / 100, mus)


def test_queries_keep_the_guarantee_together() -> None:
    check_sums()


SPENDS = "self.spent + before > Fraction(self.guarantee.mu) ** 2"


@pytest.mark.parametrize(
    ("where", "right", "wrong"),
    [
        (Plan.certify, SPENDS, "False"),
        (Plan.certify, "+ before > Fraction(self.guarantee.mu) ** 2", "+ before >= Fraction(self.guarantee.mu) ** 2"),
        (Plan.certify, SPENDS, "float(self.spent) > self.guarantee.mu ** 2"),
        (Plan.spent.fget, "for query in self.untied", "for query in self.untied[1:]"),
        (Plan.spent.fget, "Fraction(guarantee.mu) ** 2 for", "Fraction(guarantee.mu ** 2) for"),
    ],
)  # fmt: skip
def test_planted_faults_are_found(where: Any, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, where, right, wrong)
    with pytest.raises((AssertionError, PlanError)):
        check_sums()


def test_a_tie_spends_its_guarantee_once_beside_the_queries() -> None:
    TIED.certify()
    (tie,) = TIED.ties
    assert tie.guarantee.mu == TIED.guarantee.mu and len(TIED.queries) == 2
    beside = replace(DRAW, guarantee=gm.Guarantee(mu=1e-3), block=replace(DRAW.block, guarantee=gm.Guarantee(mu=1e-3)))
    with refused(damaged("queries that spend too much")):
        replace(TIED, queries=(*TIED.queries, beside)).certify()


def test_a_tie_that_is_not_counted_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, Plan.spent.fget, "*(tie.guarantee for tie in self.ties)", "*()")
    with pytest.raises(pytest.fail.Exception):
        test_a_tie_spends_its_guarantee_once_beside_the_queries()


def test_what_was_planned_is_kept_and_verified() -> None:
    for shares in ([1.0, 1.0], [1e-3, 1.0], [0.1, 0.7]):
        asked = [{**question, "share": share} for question, share in zip(ASKED, shares, strict=True)]
        plan = gm.Request("visits.csv", unit="person", questions=asked, guarantee=gm.Guarantee(mu=0.3)).plan
        assert len(plan.queries) == 2
        spent = sum(Fraction(query.guarantee.mu) ** 2 for query in plan.queries)
        assert 1 - Fraction(1, 10**15) <= spent / Fraction(0.3) ** 2 <= 1
        assert verify(plan, plan.certificate).problems == ()
        query = plan.queries[0]
        more = gm.Guarantee(mu=math.nextafter(query.guarantee.mu * (1 + 1e-12), 1))
        more_query = replace(query, guarantee=more, block=replace(query.block, guarantee=more))
        over = replace(plan, queries=(more_query, *plan.queries[1:]))
        assert any("spend too much" in problem for problem in verify(over, over.certificate).problems)


def test_shares_are_what_the_queries_have_and_no_file_states_others() -> None:
    plan = joint(5.0, [3.0, 4.0])
    assert plan.shares() == {"q0": pytest.approx(0.36), "q1": pytest.approx(0.64)}
    fields = plan.to_dict()
    fields["queries"][0]["share"] = 0.36
    with refused(damaged("a query that cannot be read")):
        Plan.from_json(json.dumps(fields))


@pytest.mark.parametrize("factor", [1 + 2.0**-52, 1.5, 4 / 3])
def test_a_block_with_more_than_its_query_is_refused(factor: float) -> None:
    """The noise is made for the block's guarantee; the query's is what is added up."""
    plan = joint(5.0, [3.0, 4.0])
    more = replace(plan.queries[0].block, guarantee=gm.Guarantee(mu=3.0 * factor))
    with refused(damaged("is too large")):
        replace(plan, queries=(replace(plan.queries[0], block=more), plan.queries[1])).certify()
    fields = plan.to_dict()
    fields["queries"][0]["block"]["guarantee"] = {"mu": 3.0 * factor}
    with refused(damaged("is too large")):
        Plan.from_json(json.dumps(fields))


@pytest.mark.parametrize("mu", [math.nan, -3.0, 0.0, math.inf, None, "3", True, [3.0]])
def test_a_query_whose_guarantee_is_no_number_is_refused(mu: Any) -> None:
    for place in (lambda f: f, lambda f: f["queries"][0], lambda f: f["queries"][0]["block"]):
        fields = joint(5.0, [3.0, 4.0]).to_dict()
        place(fields)["guarantee"] = {"mu": mu}
        with pytest.raises(GaussmithError):
            Plan.from_json(json.dumps(fields))


@pytest.mark.parametrize("share", [math.nan, -1.0, 0.0, math.inf, "1", True])
def test_questions_that_ask_for_no_share_are_refused(share: Any) -> None:
    asked = [{**ASKED[0], "share": share}, ASKED[1]]
    with refused("share-not-positive"):
        gm.Request("visits.csv", unit="person", questions=asked, guarantee=gm.Guarantee(mu=5)).plan  # noqa: B018


def test_queries_with_other_neighbours_are_refused() -> None:
    plan = joint(5.0, [3.0, 4.0])
    with refused(damaged("queries whose neighbours differ from the plan's")):
        replace(plan, neighbours="replace-one").certify()
