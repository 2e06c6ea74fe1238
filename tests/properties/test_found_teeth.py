"""Found keys: one person changes all integers that noise is added to by no more than is charged; and faults show.

All keys are looked at, shown or not: people, spare numbers, and the features of every draw of the question.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from doors.comparison import square_of
from doors.noise import found_draws
from planting import plant

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines import polars
from gaussmith.engines.engine import Unsteady
from gaussmith.pipeline import release as charged_release
from gaussmith.totals import found_keys, people

GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-6)
SEXES = ["f", "m"]
KEYS = "abcdefgh"

ASKED: dict[str, dict[str, Any]] = {
    "one group": {"by": {"key": "found"}, "groups_per_unit": 1, "sums": {"x": (0, 60)}},
    "few groups": {"by": {"key": "found"}, "groups_per_unit": 3, "means": {"x": (0, 60)}, "mean_of": "units"},
    "spare": {"by": {"key": "found"}, "groups_per_unit": 6},
    "mixed": {"by": {"sex": SEXES, "key": "found"}, "groups_per_unit": 5, "where": "x >= 5 or is_null(x)"},
    "quantiles": {"by": {"key": "found"}, "groups_per_unit": 2, "medians": {"x": (0, 60)}},
    "variances": {
        "by": {"key": "found"},
        "groups_per_unit": 2,
        "variances": {"x": (0, 60)},
        "complete": ["x"],
        "mean_of": "units",
    },
}


def _rows(name: str, generator: random.Random) -> list[dict[str, Any]]:
    many = generator.choice([1, 1, 2, 4, 9])
    values = [None, 0.0, 3.0, 30.0, 60.0, 1e9]
    pick = generator.choice
    return [{"person": name, "key": pick([*KEYS, None]), "sex": pick(SEXES), "x": pick(values)} for _ in range(many)]


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, {"person": pl.String, "key": pl.String, "sex": pl.String, "x": pl.Float64})


def _draws(rows: list[dict[str, Any]], asked: dict[str, Any]) -> tuple[Any, ...]:
    request = gm.Request(_table(rows), unit="person", count=True, guarantee=GUARANTEE, **asked)
    return tuple(found_draws(mechanism.prepare_request(request.plan, request.source)))


def largest(asked: dict[str, Any], seed: int, pairs: int = 25) -> Fraction:
    """The largest squared ratio of what a person changes to what is charged, over random tables."""
    generator, most = random.Random(seed), Fraction(0)
    for _ in range(pairs):
        crowd = [row for i in range(generator.randint(0, 6)) for row in _rows(f"p{i}", generator)]
        person = _rows("ada", generator)
        # ρ of the comparison is that of the doors, which have the same guarantee.
        most = max(most, square_of(_draws(crowd, asked), _draws(crowd + person, asked)))
    return most


@pytest.mark.parametrize("name", ASKED)
def test_a_person_changes_no_more_than_is_charged(name: str) -> None:
    assert Fraction(0) < largest(ASKED[name], random.randrange(1 << 30), 10) <= 1


def test_a_spare_number_uses_all_that_is_charged() -> None:
    """Whoever is in fewer groups uses as much: what was idle finds keys."""
    alone = [{"person": "ada", "key": "a", "sex": "f", "x": 1.0}]
    assert 0.9999 < square_of(_draws([], ASKED["spare"]), _draws(alone, ASKED["spare"])) <= 1


UNCAPPED = {
    "nobody ranked": (
        found_keys._keep,
        'engine.first_rows(many, "u", "fewest", "spelled", keys.columns, groups_per_unit)',
        "many",
    ),
    "all ranks kept": (polars.first_places, ".filter(pl.col(of).ne_missing(pl.col(of).shift(most)))", ""),
}


@pytest.mark.parametrize("fault", UNCAPPED)
def test_people_counted_before_the_cap_are_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, *UNCAPPED[fault])
    assert largest(ASKED["one group"], 1) > 1


def test_people_counted_before_the_filter_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever decides must count whom the answers are about: a release and the harness both notice."""
    right = "self._prepare(source, replace(self.derivation, present=()))\n    return streamed"
    plant(monkeypatch, people.FoundPeople.stream, right, right.replace("present=()", "present=(), where=None"))
    with pytest.raises(AssertionError, match="other people than were counted"):
        largest(ASKED["mixed"], 2)


COMMON = {
    "as the text": (
        found_keys._keep,
        'nw.concat_str(_spelled(many, keys, timed)).alias("spelled")',
        'nw.col("n").len().over(*keys.columns).cast(nw.String).alias("spelled")',
    ),
    "as the digest": (
        polars.first_places,
        'pl.Series("upper", digests[:, 0])',
        'rows.select(pl.len().over(after).cast(pl.UInt64).alias("upper")).to_series()',
    ),
}
"""Faults that rank a key by how many people have it, in place of a text of the person and the key or of its digest."""


@pytest.mark.parametrize("fault", COMMON)
def test_ties_by_how_common_a_key_is_are_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, *COMMON[fault])
    assert largest(ASKED["few groups"], 3, 60) > 1


def test_groups_counted_for_the_spare_number_are_all_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """j counts every kept group; counting those of one declared key alone spends more than is charged."""
    plant(
        monkeypatch,
        found_keys._put_kept,
        "sums.put(",
        'kept = kept.with_columns(nw.col("n").len().over("u", "k0").cast(nw.Int64).alias("held"))\n    sums.put(',
    )
    assert largest(ASKED["mixed"], 4, 60) > 1


def test_other_people_in_the_second_pass_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a source that changes between two queries: nothing is released."""
    rows = [{"person": f"p{i}", "key": "a", "sex": "f", "x": 1.0} for i in range(300)]
    request = gm.Request(_table(rows), unit="person", count=True, guarantee=GUARANTEE, **ASKED["one group"])
    assert gm.release(request).labels == (("a",),)
    real = people.FoundPeople.shown

    def fewer(self: Any, source: Any, codes: Any, shown: Any) -> Any:
        return [type(each)(each.sums, each.records - 1) for each in real(self, source, codes, shown)]

    monkeypatch.setattr(people.FoundPeople, "shown", fewer)
    with pytest.raises((Unsteady, gm.GaussmithError)):
        gm.release(request)


def _ledger_takes_two(folder: Any) -> bool:
    """Whether a ledger of (ε, δ) takes two releases, each at the corner of half of μ²: κ = δ twice is 2 δ."""
    ledger = gm.Ledger.create(folder / "l.ledger", gm.Guarantee(epsilon=1, delta=1e-6), "data", keys_delta=9e-7)
    half = gm.Guarantee(mu=ledger.guarantee.mu / 4)
    rows = [{"person": "ada", "key": "a", "sex": "f", "x": 1.0}]
    asked = {"by": {"key": "found"}, "groups_per_unit": 1, "count": True, "keys_delta": 8e-7, "unit": "person"}
    try:
        for name in ("first", "second"):
            gm.release(gm.Request(_table(rows), guarantee=half, **asked), ledger=ledger, id=name)
    except gm.BudgetError as error:
        assert error.code == "keys-budget-exceeded"
        return False
    return True


def test_the_corner_across_two_releases_is_refused_by_a_ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    assert not _ledger_takes_two(tmp_path)
    plant(monkeypatch, charged_release.charged, "keys_delta=plan.keys_delta", "keys_delta=0")
    (tmp_path / "planted").mkdir()
    assert _ledger_takes_two(tmp_path / "planted")  # what the first line would have missed
