"""Groups found in the data: what one person can change, what is shown, and what the intervals cover."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from planting import plant
from scipy.stats import binom, norm

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.noise.gaussian import normal_integers
from gaussmith.planning.discovered_groups import FAR, LOOK, Threshold, threshold_of
from gaussmith.planning.error_distribution import normal_width
from gaussmith.privacy import thresholds as found_keys
from gaussmith.releases.readout import shown_intervals

GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-5)


def _request(data: Any, m: int = 2, **more: Any) -> gm.Request:
    given = {"unit": "person", "by": {"key": "found"}, "groups_per_unit": m, "count": True, "guarantee": GUARANTEE}
    return gm.Request(data, **given | more)


def _threshold(m: int, kappa: str = "1e-5", at_least: int = 1) -> Threshold:
    request = _request("visits.csv", m)
    return Threshold(request.plan.queries[0].block, m, Fraction(kappa), at_least)


@pytest.mark.parametrize("m", [4, 10, 100])
def test_spare_numbers_use_what_is_left_and_no_more(m: int) -> None:
    threshold = _threshold(m)
    assert threshold.holds()
    R = threshold._length
    used = [float(j * (R * R + (s * threshold.step) ** 2) / (m * R * R)) for j, s in enumerate(threshold.spares, 1)]
    assert max(used) <= 1 and min(used) > 0.999
    larger = [*threshold.spares[:-1], threshold.spares[-1] + 1]
    object.__setattr__(threshold, "spares", tuple(larger))
    threshold.__dict__["spares"] = tuple(larger)
    assert not threshold.holds()


@pytest.mark.parametrize(("m", "at_least"), [(1, 1), (3, 1), (10, 1), (10, 4)])
def test_a_person_alone_is_shown_no_more_often_than_stated(m: int, at_least: int) -> None:
    """With κ = 0.2, so that it can be counted: a person makes j groups reach the floor, and none may be shown."""
    threshold = _threshold(m, "0.2", at_least)
    repeats = 20_000
    for j in {1, 2, m} & set(range(1, m + 1)):
        noise, spare_noise = normal_integers(2 * repeats * j, 52).reshape(2, repeats * j)
        people = np.full(repeats * j, at_least, np.int64)
        spare = np.zeros(repeats * j, np.int64)
        if threshold.has_spare:
            spare += threshold.spares[j - 1] + (at_least - 1) * threshold.spares[0]
        shown = threshold.shows(people, noise, spare, spare_noise).reshape(repeats, j).any(axis=1).sum()
        assert binom.sf(shown - 1, repeats, 0.2) > 1e-6
        if j == m and not threshold.has_spare:
            assert binom.cdf(shown, repeats, 0.2) > 1e-6  # attained, not only kept


@pytest.mark.parametrize("at_least", [1, 40_000])
def test_few_people_are_looked_up_and_many_are_lifted(at_least: int) -> None:
    """Small numbers go by a table, others one by one: with the same integers."""
    threshold = _threshold(2, "1e-5", at_least)
    people = np.array([0, 1, 7, 7, 39_999, 40_000, 40_001, 50_000, (1 << 20) - 1], np.int64)
    origin = threshold._origin[0]
    lifted = [min(max(threshold.people(int(n)) - origin, -FAR), FAR) for n in people]
    assert threshold._counts(people).tolist() == lifted
    more = threshold._counts(np.append(people, 1 << 20))
    assert more[:-1].tolist() == lifted and more[-1] > FAR // 2
    assert threshold._counts(people[:0]).tolist() == []


def test_a_floor_without_a_higher_threshold_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """`HAVING n >= 5` with the threshold of one person: too many groups of five would be shown."""
    right = _threshold(3, "0.2", 5)
    wrong = _threshold(3, "0.2", 1)
    noise = normal_integers(20_000 * 3, 52)
    people = np.full(60_000, 5, np.int64)
    shown = [each.shows(people, noise, people, noise).reshape(-1, 3).any(axis=1).sum() for each in (right, wrong)]
    assert binom.sf(shown[0] - 1, 20_000, 0.2) > 1e-6
    assert binom.sf(shown[1] - 1, 20_000, 0.2) < 1e-6


def test_a_floor_that_a_threshold_forgets_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Threshold, "bar", _threshold(3, "0.2", 1).bar)
    with pytest.raises(AssertionError):
        test_a_person_alone_is_shown_no_more_often_than_stated(3, 5)


def _released(data: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, size: int, **more: Any) -> gm.Release:
    """A release whose noise is the same for the same key, whatever other keys there are."""
    monkeypatch.setattr(mechanism, "normal_integers", lambda n, bits: np.full(n, size, np.int64))
    return gm.release(_request(data, **more))


def _people(keys: dict[str, int]) -> pl.DataFrame:
    rows = [(f"{key}-{i}", key) for key, n in keys.items() for i in range(n)]
    return pl.DataFrame({"person": [p for p, _ in rows], "key": [k for _, k in rows]})


def test_hidden_keys_change_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"north": 400, "south": 300}
    data = _people(known)
    more = _people({**known, "east": 1, "a": 2, "zz": 5}).sample(fraction=1.0, shuffle=True, seed=1)
    one = _released(data, monkeypatch, 0)
    other = _released(more, monkeypatch, 0)
    assert one.labels == (("north",), ("south",))
    assert one.to_json() == other.to_json()


def test_a_person_with_a_key_of_its_own_changes_nothing_unless_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _people({"north": 400, "south": 300})
    alone = pl.concat([data, pl.DataFrame({"person": ["ada"], "key": ["ada's own"]})])
    assert _released(data, monkeypatch, 0).to_json() == _released(alone, monkeypatch, 0).to_json()
    lucky = 6 << 52  # noise of six standard deviations: what κ stands for
    assert ("ada's own",) in _released(alone, monkeypatch, lucky).labels


def test_an_empty_result_is_a_release(tmp_path: Any) -> None:
    ledger = gm.Ledger.create(tmp_path / "l.ledger", gm.Guarantee(epsilon=3, delta=1e-4), "data", keys_delta=5e-5)
    request = _request(_people({"a": 1, "b": 2}))
    release = gm.release(request, ledger=ledger, id="first")
    assert release.labels == () and release.rows() == []
    assert gm.read(release.to_json()) == release
    assert ledger.keys_spent > 0 and ledger.spent > 0


def test_the_largest_few(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _people({"a": 100, "b": 300, "c": 200, "d": 400})
    release = _released(data, monkeypatch, 0, top=2)
    assert release.labels == (("d",), ("b",))
    low, _ = release["b"]["count"].interval()
    assert 100 < low <= 300


def test_counts_take_the_people_that_were_kept() -> None:
    """A person in many groups counts in m of them, chosen by own rows alone; others change nothing of that."""
    rows = [("ada", f"k{i}") for i in range(50)] + [("ada", "k7")]
    data = pl.DataFrame({"person": [p for p, _ in rows], "key": [k for _, k in rows]})
    request = _request(data, 3)
    (opened,) = mechanism.prepare_request(request.plan, data).sources
    kept = {row[0] for batch in opened.summation.stream(opened.source, (), 1) for row in batch.rows()}
    assert len(kept) == 3 and "k7" in kept
    crowd = pl.DataFrame({"person": [f"p{i}" for i in range(500)], "key": [f"k{i % 50}" for i in range(500)]})
    both = pl.concat([crowd, data])
    (opened,) = mechanism.prepare_request(request.plan, both).sources
    counts = {row[0]: row[1] for batch in opened.summation.stream(opened.source, (), 1) for row in batch.rows()}
    assert {key for key, n in counts.items() if n == 11} == kept
    assert set(counts.values()) == {10, 11}


@pytest.mark.parametrize("people", [10, 30, 60, 300])
def test_intervals_of_shown_groups_cover(people: int) -> None:
    request = _request(
        "visits.csv", 1, sums={"spent": (0, 60)}, means={"age": (0, 100)}, mean_of="units", complete=["age"]
    )
    (query,) = request.plan.queries
    threshold, block = threshold_of(query), query.block
    assert threshold is not None
    rng, repeats = np.random.default_rng(people), 4000
    F, L = block.shape.features.dense(), block.shape.lift.dense()
    centred = L @ np.array([people * 0.4, people * -0.7, people])
    noise = rng.normal(size=(repeats, len(centred))) * block.noise_scale
    least = norm.cdf((threshold.at_half - people) * L[-1, -1] / block.noise_scale)
    noise[:, -1] = block.noise_scale * norm.ppf(least + (1 - least) * rng.uniform(size=repeats))
    features = (centred + noise) @ F.T
    bars = np.full(repeats, threshold.at_half)
    low, high = shown_intervals(block, features, bars, 1, normal_width(0.95), "fieller")
    truth = np.array([people * (30 + 0.4 * 30), 50 - 0.7 * 50, people])
    covered = ((low <= truth) & (truth <= high)).sum(axis=0)
    assert (binom.cdf(covered, repeats, 0.95) > 1e-6).all()
    assert binom.sf(covered[-1] - 1, repeats, 0.95) > 1e-6  # of counts not more either


def test_a_request_keeps_its_guarantee_with_other_questions_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = [{"name": "keys", "by": {"key": "found"}, "groups_per_unit": 2, "count": True}]
    ask += [{"name": "more", "count": True}]
    request = gm.Request("visits.csv", unit="person", questions=ask, guarantee=GUARANTEE)
    assert 0 < request.plan.keys_delta < Fraction(1, 10**5)
    plant(monkeypatch, found_keys.largest_kappa, "if fits(delta):", "if True:")
    with pytest.raises(gm.GaussmithError):  # the corner beside other questions
        gm.Request("visits.csv", unit="person", questions=ask, guarantee=GUARANTEE)


def test_plan_and_release_are_saved_and_read(tmp_path: Any) -> None:
    request = _request(_people({"a": 500, "b": 400}), keys_at_least=3)
    plan = gm.read(request.plan.to_json())
    assert isinstance(plan, gm.Plan) and plan == request.plan
    assert plan.threshold == request.plan.threshold
    release = gm.release(request)
    again = gm.read(json.loads(json.dumps(release.to_json())))
    assert again == release and again.labels == release.labels


def test_the_second_look_is_sixty_degrees() -> None:
    a, b = LOOK
    assert math.degrees(math.atan2(b, a)) == pytest.approx(60, abs=0.01)
