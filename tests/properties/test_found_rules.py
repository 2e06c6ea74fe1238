"""Rules of found keys: whose rows count, what is left out, in which order groups stand, and what nobody may see."""

from __future__ import annotations

import datetime
import logging
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from scipy.stats import binom, norm

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.planning.discovered_groups import Threshold
from gaussmith.privacy.thresholds import interval

GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-5)


def _request(data: Any, m: int = 1, **more: Any) -> gm.Request:
    given = {"unit": "person", "by": {"key": "found"}, "groups_per_unit": m, "count": True, "guarantee": GUARANTEE}
    return gm.Request(data, **given | more)


def _table(keys: list[Any], kind: Any = None, rows_each: int = 1) -> pl.DataFrame:
    """Each key with a person of its own in each row."""
    people = [f"p{i}" for i in range(len(keys))]
    return pl.DataFrame({"person": people, "key": pl.Series(keys, dtype=kind, strict=False)})


def _counts(request: gm.Request, at_least: int = 1) -> dict[Any, tuple[int, int]]:
    """The people and the spare number of every key."""
    from gaussmith.totals.found_keys import keys_of

    opened = mechanism.prepare_request(request.plan, request.source).sources[0]
    spares = request.plan._threshold.spares
    found: dict[Any, tuple[int, int]] = {}
    for batch in opened.summation.stream(opened.source, spares, at_least):
        found |= zip(keys_of(batch, opened.summation.keys), batch.select("n", "s").rows(), strict=True)
    return found


def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of 0, so that what is released depends on the data alone."""
    monkeypatch.setattr(mechanism, "normal_integers", lambda n, bits: np.zeros(n, np.int64))


def test_missing_and_long_keys_are_left_out() -> None:
    long, short = "x" * 1001, "é" * 1000
    assert _counts(_request(_table(["a", None, "", long, short]))) == {
        ("a",): (1, 0),
        ("",): (1, 0),
        (short,): (1, 0),
    }


def test_a_missing_key_is_a_group_if_it_is_derived_as_one() -> None:
    columns = {"place": "coalesce(key, 'none')"}
    assert _counts(_request(_table(["a", None, None]), columns=columns, by={"place": "found"})) == {
        ("a",): (1, 0),
        ("none",): (2, 0),
    }


def test_a_key_with_a_found_part_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole tuple is thresholded: a declared value beside a rare key is not shown. There is no total."""
    _quiet(monkeypatch)
    data = pl.DataFrame(
        {"person": range(202), "key": ["a"] * 200 + ["b"] * 2, "sex": ["f", "m"] * 50 + ["f"] * 100 + ["m", "x"]}
    )
    release = gm.release(_request(data, by={"key": "found", "sex": ["f", "m"]}))
    assert release.labels == (("a", "f"), ("a", "m"))
    with refused("total-over-found-groups"):
        release.total()


@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32, pl.Decimal(9, 2), pl.Datetime, pl.Duration, pl.Binary])
def test_keys_that_engines_may_write_in_many_ways_are_refused(kind: Any) -> None:
    data = pl.DataFrame({"person": ["ada"], "key": pl.Series([None], dtype=kind)})
    if kind == pl.Datetime:  # the day of it is a key like any other
        assert _counts(_request(data)) == {}
        return
    with refused("found-keys-of-unknown-type", column="key"):
        gm.release(_request(data))


@pytest.mark.parametrize(
    ("keys", "kind", "expected"),
    [
        ([10, 9, -3, 2**62, 9], pl.Int64, [-3, 9, 10, 2**62]),
        ([2**64 - 1, 2**63, 1], pl.UInt64, [1, 2**63, 2**64 - 1]),
        ([True, False, True], pl.Boolean, [False, True]),
        ([datetime.date(2024, 2, 29), datetime.date(1999, 1, 1)], pl.Date, ["1999-01-01", "2024-02-29"]),
        (["b", "é", "a", "Z", "\U0001f600", "ｚ"], pl.String, ["Z", "a", "b", "é", "ｚ", "\U0001f600"]),
    ],
)
def test_groups_are_sorted_by_key_and_never_as_they_come(
    keys: list[Any], kind: Any, expected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers by size, text by its bytes: the order of an engine may depend on keys that are hidden."""
    _quiet(monkeypatch)
    monkeypatch.setattr(Threshold, "bar", 0)  # shows all
    for _ in range(3):
        data = _table(keys, kind).sample(fraction=1.0, shuffle=True)
        release = gm.release(_request(data))
        assert [key for (key,) in release.labels] == expected


def test_permuting_rows_changes_no_integer() -> None:
    random = np.random.default_rng()
    data = pl.DataFrame({"person": random.integers(0, 60, 700), "key": [f"k{i}" for i in random.integers(0, 40, 700)]})
    first = _counts(_request(data, 5))
    for _ in range(3):
        assert _counts(_request(data.sample(fraction=1.0, shuffle=True), 5)) == first


def test_ties_look_at_own_rows_alone() -> None:
    """The groups that a person keeps are the same whoever else is there, and are not the first of the alphabet."""
    keys = [f"k{i:02d}" for i in range(40)]
    people = {f"p{i}": _kept(f"p{i}", keys, []) for i in range(12)}
    assert all(len(kept) == 3 for kept in people.values())
    assert len(set(map(frozenset, people.values()))) > 6  # not all the same ones
    crowd = [("other", key) for key in keys[:9]] + [(f"q{i}", key) for i in range(5) for key in keys[30:]]
    assert {name: _kept(name, keys, crowd) for name in people} == people


def _kept(name: str, keys: list[str], crowd: list[tuple[str, str]]) -> set[str]:
    """The keys in which one more person counts."""
    rows = crowd + [(name, key) for key in keys]
    with_person, without = (
        _counts(_request(pl.DataFrame(some, {"person": pl.String, "key": pl.String}, orient="row"), 3))
        for some in (rows, crowd)
    )
    return {key for (key,), (n, _) in with_person.items() if n > without.get((key,), (0, 0))[0]}


def test_parts_of_a_key_are_told_apart() -> None:
    """("a", "bc") and ("ab", "c") are two groups, each written after its length where ties are broken."""
    data = pl.DataFrame({"person": ["ada"] * 2, "one": ["a", "ab"], "two": ["bc", "c"]})
    request = _request(data, 2, by={"one": "found", "two": "found"})
    assert set(_counts(request)) == {("a", "bc"), ("ab", "c")}
    kept = [set(_counts(_request(data[order], 1, by={"one": "found", "two": "found"}))) for order in ([0, 1], [1, 0])]
    assert kept[0] == kept[1] and len(kept[0]) == 1


@pytest.mark.parametrize("m", [1, 6])
def test_hidden_keys_leave_no_trace(
    m: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    """Everything that is written: record, page, folder, what is printed and logged, and what errors say."""
    caplog.set_level(logging.DEBUG)
    _quiet(monkeypatch)
    shown = [f"k{i % 2}" for i in range(600)]
    hidden = [None, "airfield", "another airfield", "x" * 2000, *(f"one {i}" for i in range(50))]
    seen = []
    for name, keys in (("without", shown), ("with", [*hidden, *shown])):
        place = tmp_path / name
        place.mkdir()
        data = pl.DataFrame(
            {
                "person": [f"h{i}" for i in range(len(keys) - 600)] + [f"p{i}" for i in range(600)],
                "key": keys,
                "x": [1.0] * len(keys),
            }
        )
        data.write_parquet(place / "d.parquet")
        request = _request(place / "d.parquet", m, means={"x": (0, 2)}, mean_of="units", medians={"x": (0, 2)})
        told: list[float | None] = []
        release = gm.release(request, progress=told.append)
        page = release.report(place / "r.html").read_text("utf-8")
        with pytest.raises(gm.PlanError) as error:
            release["airfield"]
        captured = capfd.readouterr()
        seen.append((release.to_json(), page, str(release), captured, caplog.text, str(error.value), told))
        caplog.clear()
    assert seen[0] == seen[1]
    assert "airfield" not in seen[1][0] and seen[0][3].err == ""


def test_an_empty_result_is_written_like_any_other(tmp_path: Path) -> None:
    release = gm.release(_request(_table(["a", "b"]), means={"x": (0, 1)}, columns={"x": "1"}, mean_of="units"))
    assert release.labels == () and release.rows() == []
    assert gm.read(release.to_json()) == release
    assert "κ=1e-05" in str(release)
    assert "Which groups are shown" in release.report(tmp_path / "r.html").read_text("utf-8")
    assert release.to_polars().height == 0
    for read in (lambda: release["count"].value, lambda: release["count"].interval()):
        with refused("release-of-no-groups"):
            read()


def test_a_floor_of_many_people_fits_into_words_of_64_bits() -> None:
    data = pl.DataFrame({"person": range(45_000), "key": ["a"] * 30_000 + ["b"] * 15_000})
    for m in (1, 10):
        request = _request(data, m, keys_at_least=20_000)
        release = gm.release(request)
        assert release.labels == (("a",),)
        assert release["a"]["count"].value == pytest.approx(30_000, abs=200)
        assert request.plan.shown(19_999) == 0


def test_declared_keys_that_are_no_whole_numbers_may_stand_beside() -> None:
    """Engines write fractions, and round them, differently: ties go by whole numbers, then by the key."""
    data = pl.DataFrame({"person": ["ada"] * 4, "key": ["a"] * 4, "size": [2.5, 2.7, -0.5, 2.0**53 - 1]})
    by = {"key": "found", "size": [2.5, 2.7, -0.5, 2**53 - 1]}
    assert len(_counts(_request(data, 2, by=by))) == 2


def test_a_release_is_rehearsed_to_its_end_before_it_is_charged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An engine that fails on the second query fails on a table without rows: nothing is spent."""
    from gaussmith.totals import people

    def fails(*arguments: Any) -> Any:
        raise RuntimeError("a call that this version of an engine does not know")

    monkeypatch.setattr(people, "sum_shown", fails)
    ledger = gm.Ledger.create(tmp_path / "l.ledger", gm.Guarantee(mu=9), keys_delta=0.1)
    data = pl.DataFrame({"person": ["ada"], "key": ["a"], "x": [1.0]})
    with pytest.raises(gm.GaussmithError):
        gm.release(_request(data, sums={"x": (0, 1)}), ledger=ledger, id="first")
    assert ledger.spent == 0 == ledger.keys_spent


@pytest.mark.parametrize("people", [8, 20, 60, 200])
def test_intervals_hold_with_two_looks(people: int) -> None:
    """Whatever the spare number says, the count is normal, cut off at the bar that it leaves."""
    threshold = _request("visits.csv", 10).plan._threshold
    assert threshold.has_spare
    random, repeats = np.random.default_rng(people), 20_000
    spare = np.full(repeats, people * threshold.spares[2], np.int64)  # each of them in three groups
    bars = threshold.bars(spare, (random.normal(size=repeats) * 2.0**52).astype(np.int64))
    above = norm.sf((bars - people) / threshold.noise)
    counts = people + threshold.noise * norm.isf(above * random.uniform(size=repeats))
    assert (counts >= bars - 1e-6).all() and np.ptp(bars) > 1
    low, high = interval(counts, bars, np.asarray(threshold.noise), 0.95, 1.0)
    covered = int(((low <= people) & (people <= high)).sum())
    assert binom.cdf(covered, repeats, 0.95) > 1e-6 and binom.sf(covered - 1, repeats, 0.95) > 1e-6
