"""`gm.suggest`: only names and types decide what is asked, it spends what it states, and its file is one that runs.

The guarantees here are large, so that keys and limits are certain: noise of 1/20 of a person, and of 6 000 people. The
outer edge of bounds is not, however large the guarantee: cutting people off and wider noise shrink together with it.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from fixed_noise import fixed_noise
from refusals import refused
from terminal import run

import gaussmith as gm
from gaussmith.pipeline import learning
from gaussmith.pipeline.suggestion import Columns, Suggestion, split_guarantee, told_limit
from gaussmith.planning.learned_bounds import CELLS, LearnBounds, Target, equal_line, powers_of_two
from gaussmith.planning.staging import Seen
from gaussmith.privacy.thresholds import mu_beside

LARGE: dict[str, Any] = {"guarantee": gm.Guarantee(mu=100), "keys_delta": 1e-6}
SMALL = gm.Guarantee(epsilon=0.1, delta=1e-7)
PEOPLE = 6_000
EDGES = ((0.0, 128.0), (0.0, 256.0))  # the power of two beyond the largest value, or, for some noise, the next


@pytest.fixture(autouse=True)
def still() -> Iterator[None]:
    """Fixed noise: what a suggestion finds does not depend on chance."""
    with fixed_noise():
        yield


def visits(people: int = PEOPLE) -> pl.DataFrame:
    """Everybody has three rows, in two of three places."""
    rows = 3 * people
    places = ["Oslo", 'a "b"', "it's"]
    return pl.DataFrame({
        "person": np.repeat(np.arange(people), 3),
        "spent": np.tile([1.0, 0.0, 100.0], people),
        "year": np.tile([2001, 2010, 2019], people),
        "place": [places[(i // 3 + (i % 3 == 2)) % 3] for i in range(rows)],
        "vip": [i % 2 == 0 for i in range(rows)],
        "day": [datetime.date(2024, 1, 1)] * rows,
    })  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("suggested") / "visits.parquet"
    visits().write_parquet(path)
    return str(path)


def unwrapped(file: Path) -> str:
    return " ".join(line.lstrip("# ") for line in file.read_text().splitlines())


def test_the_written_file_is_a_request_that_runs(file: str, tmp_path: Path) -> None:
    found = gm.suggest(file, unit="person", **LARGE)
    assert found.bounds["spent"] in EDGES
    low, high = found.bounds["year"] or (0.0, 0.0)
    assert 0 <= low <= 2001 and 2019 <= high < 4096  # nearly always within decades; noise now and then widens them
    assert set(found.keys["place"] or ()) == {"Oslo", 'a "b"', "it's"}
    assert found.rows_per_unit is not None and found.rows_per_unit.most == 3
    assert found.groups_per_unit["place"].most == 2
    assert found.columns.others == ("day",) and found.columns.truths == ("vip",)
    assert all(each.high < 0.01 for each in found.outside.values())
    out = tmp_path / "request.toml"
    found.save(out)
    text = unwrapped(out)
    assert "rows_per_unit = 3" in text and "groups_per_unit = 2" in text
    assert "probably nobody is outside (upper estimate: " in text and "μ = 100 and δ = 1e-6 for keys" in text
    assert "Not asked about, because of their types or names: day." in text
    request = gm.Request.from_toml(out)
    assert request.plan.questions == ("numbers", "by place", "by vip")
    assert gm.release(out)["by place"].labels == tuple((key,) for key in found.keys["place"] or ())
    with refused("suggestion-not-written"):
        found.save(out)


def test_only_names_and_types_decide_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, list[str]] = {}

    def plans(table: pl.DataFrame) -> list[str]:
        asked.clear()
        real = learning.charged_release.release
        with monkeypatch.context() as patch:
            patch.setattr(
                learning.charged_release, "release",
                lambda request, *rest: asked.setdefault("", []).append(request.plan.hash) or real(request, *rest),
            )  # fmt: skip
            gm.suggest(table, unit="person", **LARGE)
        return asked[""][:2]  # the third depends on the noisy outputs of these

    full = visits(600)
    assert plans(full) == plans(full.clear())


def test_the_shares_keep_the_guarantee() -> None:
    columns = Columns(("a", "b"), ("c", "d"), (), ())
    for unit in (None, "person"):
        shares = split_guarantee(SMALL, columns, unit, True, None)
        assert shares.keys_delta == Fraction(1e-7 / 10)
        parts = [shares.bounds, shares.keys, shares.people]
        spent = sum((each.mu_squared for each in parts if each), Fraction(0))
        most = mu_beside(Fraction(1, 10), Fraction(1, 10**7), shares.keys_delta)
        assert Fraction(0.9999 * most) ** 2 < spent <= Fraction(most) ** 2
    assert split_guarantee(SMALL, columns, None, False, None).whole.mu_squared <= SMALL.mu_squared


def test_a_crash_spends_what_is_stated_and_the_same_id_goes_on(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=150), keys_delta=1e-5)
    ask: dict[str, Any] = {"unit": "person", "ledger": book, "id": "start", **LARGE}
    with monkeypatch.context() as patch:
        patch.setattr(learning, "ask_people", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            gm.suggest(file, **ask)
    assert book.spent == 0  # all releases are planned before the first charge
    with monkeypatch.context() as patch:
        patch.setattr(learning, "_keys", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            gm.suggest(file, **ask)
    half = book.spent
    assert 0 < half < 2**256 * Fraction(100) ** 2
    found = gm.suggest(file, **ask)
    assert half < book.spent <= 2**256 * Fraction(100) ** 2
    assert abs(book.spent - 2**256 * found.spent.mu_squared) < 2**220
    assert book.keys_spent == 2**256 * Fraction(1e-6)
    ids = {entry.release_id for entry in book.entries()} - {None, ""}
    assert ids == {"start-bounds", "start-keys", "start-people"}
    whole = book.spent
    assert gm.suggest(file, **ask).toml() == found.toml()
    assert book.spent == whole


def test_a_ledger_that_cannot_hold_all_is_not_charged_for_a_part(file: str, tmp_path: Path) -> None:
    book = gm.Ledger.create(tmp_path / "small.ledger", gm.Guarantee(mu=90), keys_delta=1e-5)
    with pytest.raises(gm.BudgetError):
        gm.suggest(file, unit="person", ledger=book, id="start", **LARGE)
    assert book.spent == 0


def test_a_ledger_without_keys_leaves_them_out(tmp_path: Path) -> None:
    book = gm.Ledger.create(tmp_path / "plain.ledger", gm.Guarantee(mu=150))
    found = gm.suggest(visits(600), LARGE["guarantee"], numbers=["spent"], groups=["place"], ledger=book)
    assert found.keys == {"place": None} and book.keys_spent == 0
    assert "keys were not looked for: the ledger has no δ for found keys" in str(found)


def test_what_was_not_found_is_said_and_the_file_still_runs(tmp_path: Path) -> None:
    columns = Columns(("bmi",), ("na\nme",), (), ())
    found = gm.Suggestion(
        "people.csv", None, SMALL, SMALL, 0.0, columns, {"bmi": None}, {}, {"na\nme": ()}, None, {}
    )  # fmt: skip
    out = tmp_path / "request.toml"
    found.save(out)
    text = unwrapped(out)
    assert "no bounds found for bmi" in text and "Write them from what you know, such as bmi = [0, 1]" in text
    assert r"No keys of na\nme: too few people share one" in text
    assert gm.Request.from_toml(out).plan.names == ("count",)


def test_generous_bounds_hold_what_was_seen() -> None:
    target = Target("x", "value", "x", "x")
    rule = LearnBounds((target,), Fraction(1, 2), Fraction(1, 10), 3, Fraction(1, 100))
    line = powers_of_two()

    def cells(edges: tuple[float, ...], values: list[float], stage: str) -> Seen:
        counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
        return Seen(stage, {"x": tuple(map(float, counts))}, {"x": (1.0,) * len(counts)})

    def bounds(values: list[float]) -> tuple[float, float] | None:
        return rule.generous_bounds([cells(line.edges, values, CELLS)])["x", "value"]

    assert bounds([1.0] * 50 + [100.0] * 50) == (0.0, 128.0)
    assert bounds([-100.0] * 50 + [-1.0] * 50) == (-128.0, 0.0)
    assert bounds([0.0] * 100) is None and bounds([]) is None
    first = cells(line.edges, [1000.0] * 1000, CELLS)
    zoom = equal_line(256.0, 2048.0)
    assert zoom is not None
    near = cells(zoom.edges, [1000.0] * 1000, "zoom 1")
    assert rule.generous_bounds([first, near])["x", "value"] == (815.0, 1152.0)
    ages, wide = [20.0, 40.0, 100.0] * 300, equal_line(8.0, 256.0)
    assert wide is not None and wide.lower[0] == -7.5
    young = [cells(line.edges, ages, CELLS), cells(wide.edges, [*ages, *[1.0] * 300], "zoom 1")]
    assert rule.generous_bounds(young)["x", "value"] == (0.0, 117.0)  # numbers of one sign stay so
    far = cells(zoom.edges, [1000.0] * 900, "zoom 1")
    faint = Seen("zoom 1", {"x": tuple(n + 1.5 for n in far.values["x"])}, far.errors)  # no cell stands out, all do
    assert rule.generous_bounds([first, faint])["x", "value"] == (250.0, 2050.0)


def test_refusals(tmp_path: Path) -> None:
    day = pl.DataFrame({"day": [datetime.date(2024, 1, 1)]})
    table = visits(3)
    with refused("nothing-to-suggest"):
        gm.suggest(day, SMALL)
    with refused("suggestion-guarantee-too-small"):
        gm.suggest(table, gm.Guarantee(mu=1e-5))
    with refused("no-such-column-to-suggest", says="spent"):
        gm.suggest(table, SMALL, numbers=["spend"])
    with refused("suggested-column-twice", column="person"):
        gm.suggest(table, SMALL, unit="person", numbers=["person"])
    with refused("suggestion-from-array"):
        gm.suggest(np.zeros((3, 2)), SMALL)
    with refused("suggestion-without-guarantee"):
        gm.suggest(table, 0.1)  # type: ignore[arg-type]
    csv = tmp_path / "people.csv"
    table.write_csv(csv)
    with refused("suggestion-of-untyped-columns", says='numbers=[…] and groups=["…"]'):
        gm.suggest(str(csv), SMALL)


def test_a_csv_without_named_columns_spends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has no types: with a unit alone only the rows of a person would be learned, for the whole guarantee."""
    csv, ledger = tmp_path / "people.csv", tmp_path / "study.ledger"
    visits(10).write_csv(csv)
    gm.Ledger.create(ledger, gm.Guarantee(epsilon=1, delta=1e-6))
    words = ["suggest", str(csv), "--unit", "person", "--epsilon", "0.1", "--delta", "1e-7", "--ledger", str(ledger)]
    code, _, err = run(capsys, *words, "--out", str(tmp_path / "request.toml"))
    assert code == 2 and "of spent, year, place, vip, day: --numbers …,… --groups …" in err
    assert gm.Ledger(ledger).history() == []
    assert gm.suggest(str(csv), gm.Guarantee(mu=100), unit="person", numbers=[]).rows_per_unit is not None


@pytest.mark.parametrize(
    ("value", "ends", "size", "told"),
    [
        (4.0, (2.0, 50_000.0), 5, "at most about 4 of these keys (this may be 2 to 5)"),
        (20_000.0, (2.0, math.inf), 5, "at most about 5 of these keys (this may be 2 to 5)"),
        (3.0, (1.0, 50_000.0), 5, "how many of these keys people have is not known"),
        (1.0, (1.0, 2.0), 2, "at most about 1 of these keys (this may be 1 to 2)"),
        (16.0, (12.0, 1e7), None, "at most about 16 of these keys (this may be 12 or more)"),
        (16.0, (12.0, 20.0), None, "at most about 16 of these keys (this may be 12 to 20)"),
        (16.0, (1.0, 1e7), None, "how many of these keys people have is not known"),
        (16.0, (16.0, 16.0), None, "have at most about 16 of these keys"),
    ],
)
def test_limits_say_no_more_than_is_known(value: float, ends: tuple[float, float], size: int | None, told: str) -> None:
    class Answer:
        questions, values = ("groups 0",), np.array([value])

        def interval(self, confidence: float) -> tuple[float, float]:
            return ends

    assert told in told_limit(learning._limit(cast(Any, Answer()), "groups 0", size), "of these keys")


def test_a_key_that_nobody_would_see_is_quoted() -> None:
    assert Suggestion.told_keys(cast(Any, None), ("", "0.00")) == '2 keys found: "", 0.00'


def test_the_command_writes_a_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    csv, out = tmp_path / "people.csv", tmp_path / "request.toml"
    visits(1000).write_csv(csv)
    words = ("suggest", str(csv), "--numbers", "spent", "--groups", "place", "--mu", "100", "--keys-delta", "1e-6")
    code, text, err = run(capsys, *words, "--out", str(out))
    assert (code, err) == (0, "")
    assert re.search(r"spent: \[0, (128|256)\]", text) and "place: 3 keys found" in text and "Written to" in text
    assert gm.Request.from_toml(out).plan.questions == ("numbers", "by place")
    code, _, err = run(capsys, *words, "--out", str(out))
    assert code == 2 and "it exists, and is not overwritten" in err
    code, text, _ = run(capsys, *words, "--out", str(tmp_path / "second.toml"), "--json")
    assert code == 0 and tuple(json.loads(text)["bounds"]["spent"]) in EDGES
