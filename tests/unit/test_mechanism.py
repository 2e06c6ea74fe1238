"""Data meets noise: with the noise known, releases are the exact answers and that noise, nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.planning.discovered_groups import threshold_of
from gaussmith.releases.table import LUCKY
from gaussmith.report.page import page
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
    """Every query of noise is so many standard deviations, the first for the first query, the last for all others."""
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
    threshold = threshold_of(request.plan.queries[0])
    assert threshold is not None
    release = gm.release(request)
    one = deviation * 2.0**52 / threshold.people(1)
    for key, n in SIZES.items():
        assert release[key]["count"].value == pytest.approx(n + one, rel=1e-9)


def test_of_the_largest_few_the_bar_is_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    noise_of(monkeypatch, 0)
    release = gm.release(ask(top=2))
    assert release.labels == (("d",), ("b",))  # largest first
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
    staged = gm.papers.plan_vectors(gm.papers.GaussianData(names=["spent", "more"], rows=4000), GUARANTEE)
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
    rules = [query.row_rule for query in request.plan.queries if query.row_rule is not None]
    assert [rule.complete_by_type for rule in rules] == [("a",)]
    gm.release(request)
    later = pl.DataFrame({"a": [1.0, None]}).to_pandas()
    with refused("column-may-be-missing-now", column="a"):
        mechanism.prepare_request(request.plan, later)
    mechanism.prepare_request(request.plan, later, is_made_up=True)


def test_a_question_may_be_released_beside_a_query_that_nobody_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that counts everybody for the noise it shares is read like the question's own."""
    plan = gm.Request(TABLE, questions=[{**QUESTIONS[1], "groups_per_unit": 1}, QUESTIONS[2]], guarantee=GUARANTEE).plan
    alone = replace(plan, slots=plan.slots[:1])
    assert len(alone.queries) == 2 and len(alone.slots) == 1
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


def test_all_queries_of_a_question_about_found_keys_have_the_same_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    request = ask(means={"spent": (0, 6)}, mean_of="units")
    assert len(request.plan.queries) == 2
    noise_of(monkeypatch, 0)
    release = gm.release(request)
    assert [each and each.labels for each in release.shown] == [tuple((key,) for key in SIZES)] * 2
    for key, n in SIZES.items():
        assert release[key]["count"].value == pytest.approx(n, rel=1e-9)
        assert release[key]["spent_mean"].value == pytest.approx(SPENT[key] / n, rel=1e-9)


def test_means_over_rows_of_found_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read from more numbers than they are."""
    request = ask(means={"spent": (0, 6)}, rows_per_unit=3)
    assert request.plan.queries[1].block.shape.features.shape == (2, 3)
    noise_of(monkeypatch, 0)
    release = gm.release(request)
    for key, n in SIZES.items():
        assert release[key]["spent_mean"].value == pytest.approx(SPENT[key] / n, rel=1e-9)


def _near(monkeypatch: pytest.MonkeyPatch, **more: Any) -> gm.Release:
    """Groups of 399, 402 and 420 people, whose counts have no noise, and standard deviations of about 4."""
    table = pl.DataFrame(
        [{"person": f"{key}{i}", "key": key} for key, n in {"a": 399, "b": 402, "c": 420}.items() for i in range(n)]
    )
    noise_of(monkeypatch, 0)
    return gm.release(ask(table, **more))


def test_values_that_noise_may_have_lifted_among_the_largest_few_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    release = _near(monkeypatch, top=2)
    assert release.standard_errors.max() < 6  # 402 is within three of them of 399, and 420 is not
    assert release.shown_by_luck.tolist() == [[False], [True]]
    assert release["b"].shown_by_luck.tolist() == [True] and release["c"]["count"].shown_by_luck.tolist() == [False]
    largest, least = release.rows()
    assert largest["note"] == "" and least["note"] == LUCKY and least["lower"] < least["value"] - 15
    text = " ".join(str(release).split())
    assert re.search(r"c count 420\.0 [^†]* b count 402\.0† ", text)
    assert "† noise may have helped to show this group: such counts are too high on average." in text
    assert "at most 2 groups are shown: those with the largest noisy counts, largest first" in text
    assert "† noise may have helped" in release._repr_html_()
    view = " ".join(str(release.presented()).split())
    assert "b count 402†" in view and "† noise may have helped to show this group" in view
    told = page(release)
    assert "402.0†" in told and "stay right on average" not in told
    assert told.count("the counts of shown groups are too high on average") == 2  # beside the table, and for reviewers
    assert "Values are right on average within the bounds, but for found groups" in told


def test_values_far_above_the_bar_have_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    release = _near(monkeypatch)
    assert release.labels == (("a",), ("b",), ("c",)) and not release.shown_by_luck.any()
    assert "†" not in str(release) and "largest first" not in str(release)
    declared = gm.release(ask(TABLE, by={"key": ["a"]}))
    assert not declared.shown_by_luck.any() and "stay right on average" in page(declared)


def test_sums_of_groups_near_the_bar_are_marked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLE.filter(pl.col("key") != "d").with_columns(key=pl.col("key").replace("c", "b"))
    noise_of(monkeypatch, 0)
    both = gm.release(ask(pl.concat([table, TABLE.filter(pl.col("key") == "d")]), sums={"spent": (0, 6)}, top=2))
    assert both.names == ("spent_sum", "count") and both.shown_by_luck.tolist() == [[False, False], [False, False]]
    few = gm.release(ask(TABLE.filter(pl.col("key") == "a").head(25), sums={"spent": (0, 6)}))
    assert few.shown_by_luck.tolist() == [[True, True]]


def test_of_one_group_the_limit_is_told_in_the_singular(monkeypatch: pytest.MonkeyPatch) -> None:
    request = ask(top=1)
    assert "at most 1 group is shown: the one with the largest noisy count" in str(request.plan)
    noise_of(monkeypatch, 0)
    assert "at most 1 group is shown" in str(gm.release(request)) and "1 groups" not in str(request.plan)
    assert "1 group, each person in one group" in str(ask(by={"key": ["a"]}).plan)
    assert "1 declared group, each" in ask(by={"key": ["a"]}).plan.explain()


def test_the_page_of_counts_by_groups_does_not_say_that_no_column_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    noise_of(monkeypatch, 0)
    for request in (ask(), ask(by={"key": ["a", "b"]})):
        told = page(gm.release(request))
        assert "no column is read" not in told
        assert "columns decide who is counted and in which group, and none has bounds" in told
    filtered = page(gm.release(gm.Request(TABLE, count=True, where="spent > 1", guarantee=GUARANTEE)))
    assert "columns decide who is counted, and none has bounds" in filtered
    assert "no column is read" in page(gm.release(gm.Request(TABLE, count=True, guarantee=GUARANTEE)))
