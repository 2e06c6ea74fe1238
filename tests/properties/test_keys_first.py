"""Keys first (statement 75): what one person changes in each stage, in exact integers; and faults that are caught."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import narwhals as nw
import polars as pl
import pytest
from fixed_noise import fixed_noise
from planting import plant
from refusals import damaged, refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines.polars import POLARS
from gaussmith.expressions.keys import declare_groups
from gaussmith.pipeline import staged_release
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.staging import ANSWERS, KEYS, KeysFirst, Seen
from gaussmith.totals.features import Contribution
from gaussmith.totals.found_keys import KeyColumns, stream_people
from gaussmith.totals.groups import sum_groups

G = gm.Guarantee(epsilon=2, delta=1e-3)
NAMES = ("a", "b", "c", "d")
BASE = [(1, "a"), (1, "b"), (2, "a"), (2, "a"), (3, "c"), (3, "a")]


def frame(rows: list[tuple[int, str]]) -> Any:
    return nw.from_native(pl.DataFrame(rows, schema={"person": pl.Int64, "key": pl.String}, orient="row").lazy())


def everybody() -> Iterator[list[str]]:
    """Every person with at most four rows over four keys."""
    for n in range(1, 5):
        yield from map(list, itertools.combinations_with_replacement(NAMES, n))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_every_person_of_a_small_world_changes_at_most_m_counts_in_each_stage(m: int) -> None:
    """All 69 persons and all 15 sets of shown keys: brute force. A person is in as many shown keys as it may."""
    keys, added = KeyColumns(("key",), ("text",), (None,)), Contribution((), "person")

    def found(rows: list[tuple[int, str]]) -> Counter[str]:
        batches = list(stream_people(frame(rows), added, keys, POLARS, m))
        return Counter({k: n for batch in batches for k, n, _ in batch.rows()})

    def answered(rows: list[tuple[int, str]], shown: tuple[str, ...]) -> Counter[str]:
        declared = declare_groups(["key"], [(key,) for key in shown], {"key": "text"})
        totals = sum_groups(frame(rows), added, declared, POLARS, min(m, len(shown)))
        return Counter({key: each.records for key, each in zip(shown, totals, strict=True)})

    sets = [some for n in range(1, 5) for some in itertools.combinations(NAMES, n)]
    base, counts = found(BASE), {shown: answered(BASE, shown) for shown in sets}
    some = {1: sets, 2: sets[::2], 3: sets[::3]}[m]
    for person in everybody():
        rows = [*BASE, *((9, key) for key in person)]
        changed = found(rows) - base
        assert set(changed.values()) == {1} and len(changed) == min(m, len(set(person)))
        for shown in some if len(person) < 4 else some[::4]:
            changed = answered(rows, shown) - counts[shown]
            assert set(changed.values()) <= {1} and len(changed) == min(m, len(set(person) & set(shown)))


def table(extra: list[tuple[int, str, float]] = []) -> pl.DataFrame:  # noqa: B006 (never changed)
    rows = [(i, key, float(i % 7)) for i in range(120) for key in ("a", "b" if i % 2 else "c", f"own {i}")]
    return pl.DataFrame([*rows, *extra], schema={"person": pl.Int64, "key": pl.String, "x": pl.Float64}, orient="row")


ASK: dict[str, Any] = {
    "unit": "person", "by": {"key": "found"}, "groups_per_unit": 2, "count": True, "sums": {"x": (0, 6)},
    "keys_first": True, "guarantee": G,
}  # fmt: skip
SHOWN = (("a",), ("b",), ("c",), ("new",))
"""What is shown in both runs: also a key that is only the new person's, with a probability within κ."""


def answers(monkeypatch: pytest.MonkeyPatch, source: pl.DataFrame) -> tuple[gm.Plan, list[int]]:
    """The plan and the noisy integers of the answers, where the first stage has shown the same keys."""
    found: list[tuple[gm.Plan, list[int]]] = []
    real = mechanism.release

    def release(prepared: Any, progress: Any = None) -> gm.Release:
        with fixed_noise() as sums:  # of this stage alone: the one before has met one key more
            made = real(prepared, progress)
        found.append((prepared.plan, list(sums)))
        return made

    with monkeypatch.context() as patch:
        patch.setattr(mechanism, "release", release)
        patch.setattr(staged_release, "seen_of", lambda stage, _: Seen(stage, {"": (9.0,) * 4}, {}, {"": SHOWN}))
        gm.release(gm.Request(source, **ASK))
    return found[-1]


def test_a_person_changes_the_answers_by_no_more_than_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, one = answers(monkeypatch, table())
    worst = Fraction(0)
    for rows in (
        [(999, key, x) for key in ("a", "b", "c", "new")] for x in (6.0, 0.0, 1e308, float("nan"))
    ):  # in four keys, of which two count
        other, two = answers(monkeypatch, table(rows))
        assert other.hash == plan.hash and len(one) == len(two)
        moved = sum((a - b) ** 2 for a, b in zip(one, two, strict=True))
        worst = max(worst, Fraction(moved, 1 << 2 * NOISE_BITS))
    assert Fraction(9, 10) * plan.spent < worst <= plan.spent


def test_every_path_spends_no_more_than_the_charge() -> None:
    request = gm.Request(table(), **ASK)
    rule, whole = request.plan.staging.rule, G.mu_squared  # type: ignore[union-attr]
    assert isinstance(rule, KeysFirst) and rule.keys + rule.answers <= 1
    for n in (0, 1, 2, 3, 50):
        labels = tuple((f"k{i}",) for i in range(n))
        step = rule.step([Seen(KEYS, {"": (5.0,) * n}, {}, {"": labels})], whole / 2)
        assert (step.stage == ANSWERS) == bool(n)
        if n:
            share = staged_release.share_of(G, step, whole)
            own = request.plan.staging.planner(step, share)  # type: ignore[union-attr,misc]
            assert request.plan.staging.first.spent + own.spent <= Fraction(request.plan.spends.mu) ** 2 <= whole  # type: ignore[union-attr]
            assert [each.groups.size for each in own.queries] == [n]  # type: ignore[union-attr]


def test_a_budget_that_is_spent_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, staged_release.release_stages, "share_of(plan.guarantee, step, left)", "plan.guarantee")
    with fixed_noise():
        made = gm.release(gm.Request(table(), **ASK))
    assert made.plan.spent + made.path.taken > G.mu_squared  # type: ignore[union-attr]
    with refused(damaged("queries that spend too much")):
        gm.read(made.to_json())
    text = json.loads(made.to_json())
    del text["plan"]["keys_before"]
    text["plan_hash"] = ""
    with refused("stages-of-other-keys"):
        gm.read(json.dumps(text))


def test_a_tampered_record_is_refused() -> None:
    with fixed_noise():
        release = gm.release(gm.Request(table(), **ASK))
    assert gm.read(release.to_json()).rows() == release.rows() and len(release.labels) == 3

    def changed(change: Any) -> str:
        text = json.loads(release.to_json())
        change(text)
        return json.dumps(text)

    for change, code in (
        (lambda t: t["stages"]["last"]["asks"]["keys"][""].pop(), "stages-do-not-follow"),
        (
            lambda t: t["stages"]["stages"][0]["queries"][0]["shown"]["labels"].reverse(),
            "stages-do-not-follow",
        ),
        (lambda t: t["stages"]["last"].update(share="1"), "stages-do-not-follow"),
        (lambda t: t["stages"]["rule"].update(keys="1/3"), "stages-do-not-follow"),
        (lambda t: t["plan"].update(keys_before=[[0.9, "1/1000"]]), damaged("queries that spend too much")),
        (lambda t: t["plan"].update(keys_before=[[0.1, "1/10000"]]), "stages-of-other-keys"),
        (lambda t: t["plan"].update(keys_before=[[0.1, "1/100"]]), damaged("found keys that spend too much")),
        (
            lambda t: t["plan"].update(keys_before=[[0.1, "0"]]),
            damaged("keys that a stage has found beside keys that are found later"),
        ),
    ):
        with refused(code):
            gm.read(changed(change))
