"""Data meets noise: with the noise known, releases are the exact answers and that noise, nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.plans.found_draws import threshold_of
from gaussmith.totals.people import FoundPeople

GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-5)
SIZES = {"a": 100, "b": 300, "c": 200, "d": 400}
TABLE = pl.DataFrame(
    [
        {"person": f"{key}{i}", "key": key, "spent": float(i % 7), "sex": "fm"[i % 2]}
        for key, n in SIZES.items()
        for i in range(n)
    ]
)
SPENT = {key: sum(i % 7 for i in range(n)) for key, n in SIZES.items()}


def ask(table: Any = TABLE, **more: Any) -> gm.Request:
    usual = {"unit": "person", "by": {"key": "found"}, "groups_per_unit": 1, "count": True, "guarantee": GUARANTEE}
    return gm.Request(table, **usual | more)


def noise_of(monkeypatch: pytest.MonkeyPatch, *deviations: float) -> None:
    """Every draw of noise is so many standard deviations, the first for the first draw, the last for all others."""
    left = list(deviations)

    def draw(size: int, bits: int) -> Any:
        each = left.pop(0) if len(left) > 1 else left[0]
        return np.full(size, int(each * 2**bits), np.int64)

    monkeypatch.setattr(mechanism, "normal_integers", draw)


def test_found_groups_have_their_exact_answers_below_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    noise_of(monkeypatch, 0)
    release = gm.release(ask(sums={"spent": (0, 6)}))
    assert release.labels == tuple((key,) for key in SIZES)
    for key, n in SIZES.items():
        assert release[key]["count"].value == pytest.approx(n, rel=1e-9)
        assert release[key]["spent_sum"].value == pytest.approx(SPENT[key], rel=1e-9)


@pytest.mark.parametrize("deviation", [-1, 2])
def test_the_noise_that_showed_a_group_is_that_of_its_count(monkeypatch: pytest.MonkeyPatch, deviation: int) -> None:
    noise_of(monkeypatch, deviation, 0)
    request = ask(sums={"spent": (0, 6)})
    threshold = threshold_of(request.plan.draws[0])
    assert threshold is not None
    release = gm.release(request)
    one = deviation * 2.0**52 / threshold.people(1)
    for key, n in SIZES.items():
        assert release[key]["count"].value == pytest.approx(n + one, rel=1e-9)


def test_of_the_largest_few_the_bar_is_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    noise_of(monkeypatch, 0)
    release = gm.release(ask(top=2))
    assert release.labels == (("b",), ("d",))
    (shown,) = release.shown
    assert shown is not None and shown.bars == pytest.approx([200, 200], rel=1e-9)
    every = gm.release(ask(top=4)).shown[0]
    assert every is not None and len(every.bars) == 4 and max(every.bars) < 100


@pytest.mark.parametrize("rows", [0, 1000])
def test_no_keys_are_no_groups(rows: int) -> None:
    release = gm.release(ask(TABLE[:rows].with_columns(key=pl.lit(None, pl.String))))
    assert release.labels == () and release.rows() == []
    (shown,) = release.shown
    assert shown is not None and len(shown.bars) == 0


def test_counts_of_found_groups_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(*_: Any) -> Any:
        raise AssertionError("read again")

    monkeypatch.setattr(FoundPeople, "shown", shown)
    assert gm.release(ask()).labels == tuple((key,) for key in SIZES)
    with pytest.raises(AssertionError, match="read again"):
        gm.release(ask(sums={"spent": (0, 6)}))


def test_groups_that_change_while_they_are_read_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = FoundPeople.shown

    def one_more(self: FoundPeople, *arguments: Any) -> Any:
        first, *others = right(self, *arguments)
        return [type(first)(first.sums, first.records + 1), *others]

    gm.release(ask(sums={"spent": (0, 6)}))
    monkeypatch.setattr(FoundPeople, "shown", one_more)
    with refused("data-not-readable"):
        gm.release(ask(sums={"spent": (0, 6)}))


QUESTIONS: list[dict[str, Any]] = [
    {"name": "keys", "by": {"key": "found"}, "groups_per_unit": 1, "count": True},
    {"name": "sex", "by": {"sex": ["f", "m"]}, "groups_per_unit": 1, "count": True},
    {"name": "everybody", "count": True},
]


@pytest.mark.parametrize("questions", [QUESTIONS, [QUESTIONS[0], QUESTIONS[2]]], ids=["shared noise", "own noise"])
def test_beside_found_keys_sums_must_fit_the_plan(monkeypatch: pytest.MonkeyPatch, questions: list[Any]) -> None:
    plan = gm.Request(TABLE, unit="person", questions=questions, guarantee=GUARANTEE).plan
    assert bool(plan.ties) == (questions is QUESTIONS)
    prepared = mechanism.prepare_request(plan, TABLE)
    totals = mechanism.add_up(prepared)
    noise_of(monkeypatch, 0)
    release = mechanism.release(prepared)
    assert release["everybody"]["count"].value == pytest.approx(1000, rel=1e-9)
    assert release["keys"]["d"]["count"].value == pytest.approx(400, rel=1e-9)
    for i, right in enumerate(totals):
        for wrong in ([], [*right, right[0]]) if right else ():
            damaged = [wrong if j == i else each for j, each in enumerate(totals)]
            monkeypatch.setattr(mechanism, "add_up", lambda *_, damaged=damaged: damaged)
            with refused("sums-do-not-match-groups"):
                mechanism.release(prepared)


def test_a_stream_is_too_short_for_stages() -> None:
    """Each stage reads it once."""
    staged = gm.plan(gm.GaussianData(names=["spent", "more"], rows=4000), GUARANTEE)
    assert staged.staging is not None
    rows = pl.DataFrame({"spent": np.arange(1000.0), "more": np.arange(1000.0)})
    assert len(staged.release(rows).values) == 2
    with refused("reader-read-several-times", queries=2):
        staged.release(rows.to_arrow().to_reader())
    with refused("staged-plan-released-alone"):
        mechanism.refuse_stages(staged)


def test_pairs_are_refused_where_the_number_of_people_is_public() -> None:
    domain = gm.Counts(["x", "y"], at_most=1)
    pairs = pl.DataFrame({"person": [1, 2], "item": ["x", "y"]})
    with refused("pairs-under-replace-one"):
        gm.plan(domain, GUARANTEE, neighbours="replace-one").release(pairs, form="pairs")
    assert len(gm.plan(domain, GUARANTEE).release(pairs, form="pairs").values) == 2


def test_a_column_that_may_be_missing_by_now_is_refused() -> None:
    """What a type promised when the request was planned must hold when its table is read."""
    request = gm.Request(pl.DataFrame({"a": [1] * 10}).to_pandas(), means={"a": (0, 2)}, guarantee=GUARANTEE)
    rules = [draw.row_rule for draw in request.plan.draws if draw.row_rule is not None]
    assert [rule.complete_by_type for rule in rules] == [("a",)]
    gm.release(request)
    later = pl.DataFrame({"a": [1.0, None]}).to_pandas()
    with refused("column-may-be-missing-now", column="a"):
        mechanism.prepare_request(request.plan, later)
    mechanism.prepare_request(request.plan, later, is_made_up=True)


def test_a_question_may_be_released_beside_a_draw_that_nobody_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw that counts everybody for the noise it shares is read like the question's own."""
    plan = gm.Request(TABLE, questions=[{**QUESTIONS[1], "groups_per_unit": 1}, QUESTIONS[2]], guarantee=GUARANTEE).plan
    alone = replace(plan, slots=plan.slots[:1])
    assert len(alone.draws) == 2 and len(alone.slots) == 1
    noise_of(monkeypatch, 0)
    release = alone.release(TABLE)
    assert [release[key].value for key in "fm"] == pytest.approx([500, 500], rel=1e-9)


def test_sums_with_noise_are_exact_beyond_words() -> None:
    noise = np.array([1, -1], np.int64)
    assert mechanism.add([2**63 - 1, 2**80], noise).tolist() == [2**63, 2**80 - 1]
    words = mechanism.add(np.array([5, 7], np.int64), noise)
    assert words.dtype == np.int64 and words.tolist() == [6, 6]


def test_questions_about_found_keys_keep_to_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [QUESTIONS[0], {"name": "sexes", "by": {"sex": "found"}, "groups_per_unit": 1, "sums": {"spent": (0, 6)}}]
    noise_of(monkeypatch, 0)
    release = gm.release(gm.Request(TABLE, unit="person", questions=asked, guarantee=GUARANTEE))
    assert release["keys"].labels == tuple((key,) for key in SIZES)
    assert release["sexes"].labels == (("f",), ("m",))
    assert release["sexes"]["f"].value + release["sexes"]["m"].value == pytest.approx(sum(SPENT.values()), rel=1e-9)


def test_all_draws_of_a_question_about_found_keys_have_the_same_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    request = ask(means={"spent": (0, 6)}, mean_of="units")
    assert len(request.plan.draws) == 2
    noise_of(monkeypatch, 0)
    release = gm.release(request)
    assert [each and each.labels for each in release.shown] == [tuple((key,) for key in SIZES)] * 2
    for key, n in SIZES.items():
        assert release[key]["count"].value == pytest.approx(n, rel=1e-9)
        assert release[key]["spent_mean"].value == pytest.approx(SPENT[key] / n, rel=1e-9)


def test_means_over_rows_of_found_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read from more numbers than they are."""
    request = ask(means={"spent": (0, 6)}, rows_per_unit=3)
    assert request.plan.draws[1].block.shape.features.shape == (2, 3)
    noise_of(monkeypatch, 0)
    release = gm.release(request)
    for key, n in SIZES.items():
        assert release[key]["spent_mean"].value == pytest.approx(SPENT[key] / n, rel=1e-9)
