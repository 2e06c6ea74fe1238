"""What a process keeps of its last plans makes the next one faster, and no plan other than it would be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from forgetting import forget_plans
from refusals import refused

import gaussmith as gm
from gaussmith.numerics.joint import ladder
from gaussmith.numerics.joint import reduced as worst_law
from gaussmith.planning import choice
from gaussmith.requests import translation

GROUPS = {"place": [f"g{i}" for i in range(20)]}


def make(highest: dict[int, float] | None = None, mu: float = 1.0, **fields: Any) -> gm.Request:
    """Means of twenty columns with rows of their own, in groups."""
    bounds = {f"c{i}": (0, (highest or {}).get(i, 10 + i)) for i in range(20)}
    return gm.Request("a.csv", guarantee=gm.Guarantee(mu=mu), **{"means": bounds, "count": True, "by": GROUPS} | fields)


def told(request: gm.Request) -> tuple[str, list[float]]:
    """The plan, and the certified numbers that it does not say."""
    plan = request.plan
    return plan.to_json(), [float(tie.unit) for tie in plan.ties] + plan.standard_errors.tolist()


CHANGED: list[dict[str, Any]] = [
    *({"highest": {3: high}} for high in (30, 31, 33, 0.3, 1e6)),
    *({"highest": {17: high}} for high in (30, 77.7)),
    *({"mu": mu} for mu in (0.5, 2.0)),
    {"by": {"place": ["g1", "g2"]}},
    {"by": GROUPS, "unit": "id", "groups_per_unit": 2, "mean_of": "units"},
    {"neighbours": "replace-one"},
    {"weights": "equal"},
    {"where": "c1 > 2"},
]


def test_a_changed_request_has_the_plan_it_would_have_had() -> None:
    expected = []
    for change in CHANGED:
        forget_plans()
        expected.append(told(make(**change)))
    forget_plans()
    _ = make().plan
    for _ in range(2):
        assert [told(make(**change)) for change in CHANGED] == expected


def test_another_guarantee_or_bound_plans_only_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    _ = make().plan
    calls: list[str] = []
    for module, name in ((choice, "_plan_problem"), (translation, "translate"), (worst_law, "_find_worst_law")):
        usual = getattr(module, name)

        def count(*given: Any, name: str = name, usual: Any = usual) -> Any:
            calls.append(name)
            return usual(*given)

        monkeypatch.setattr(module, name, count)
    _ = make(mu=2.0).plan
    assert calls == []
    _ = make({4: 56}, mu=2.0).plan  # in units of its own the part is what it was
    assert calls == ["translate", "_plan_problem"]


def test_parts_that_ask_the_same_are_two_queries() -> None:
    again = [{"name": name, "means": {"a": (0, 1)}, "share": 1} for name in "xy"]
    plan = gm.Request("a.csv", questions=again, guarantee=gm.Guarantee(mu=1)).plan
    assert plan.queries[0] is not plan.queries[1] and len({id(query) for query in plan.queries}) == len(plan.queries)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"by": {"k": [0, 1]}}, {"by": {"k": [False, True]}}),
        ({"means": {"a": (0.0, 1)}}, {"means": {"a": (-0.0, 1)}}),
        ({"by": {"k": ["1"]}}, {"by": {"k": [1]}}),
    ],
)
def test_what_python_takes_for_equal_is_told_apart(one: dict[str, Any], other: dict[str, Any]) -> None:
    def plan(fields: dict[str, Any]) -> str:
        return gm.Request("a.csv", guarantee=gm.Guarantee(mu=1), **{"means": {"a": (0, 1)}} | fields).plan.to_json()

    alone = []
    for fields in (one, other):
        forget_plans()
        alone.append(plan(fields))
    assert [plan(fields) for fields in (one, other, one)] == [*alone, alone[0]]
    assert alone[0] != alone[1]


def test_long_lists_and_odd_values_are_not_kept() -> None:
    keys = {"k": list(range(translation.MAX_SIZE + 1))}
    _ = gm.Request("a.csv", count=True, by=keys, guarantee=gm.Guarantee(mu=1)).plan
    assert not translation._KEPT
    odd: list[tuple[str, Any]] = [("keys-not-listed", 5), ("key-of-unknown-type", [lambda: 0])]
    for code, listed in odd:
        with refused(code):
            gm.Request("a.csv", count=True, by={"k": listed}, guarantee=gm.Guarantee(mu=1))
    assert not translation._KEPT


def test_few_are_kept() -> None:
    for i in range(10):
        _ = make({k: 100 + 20 * i + k for k in range(20)}).plan
    assert len(translation._KEPT) == translation.MAX_KEPT
    assert len(ladder._CENTRES) <= ladder.MAX_CENTRES and len(worst_law._KEPT) <= worst_law.MAX_KEPT


def test_a_shape_that_follows_the_guarantee_is_planned_anew() -> None:
    domain = gm.domains.GaussianData(mean=[0.0], sd=[1.0], rows=1000)
    block = gm.plan(domain, gm.Guarantee(mu=1)).block
    assert domain.shape_follows_mu and not gm.Box([0], [1]).shape_follows_mu
    with pytest.raises(AssertionError):
        choice.at_guarantee(block, gm.Guarantee(mu=2))


def test_stated_errors_cannot_be_written_over() -> None:
    block = gm.plan(gm.Box([0, 0], [1, 2]), gm.Guarantee(mu=1)).block
    with pytest.raises(ValueError, match="read-only"):
        block.standard_errors[0] = 0.0
    assert np.array_equal(block.standard_errors, block.standard_errors)
