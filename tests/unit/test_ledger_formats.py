"""A ledger of format 2, as it was written before format 3: read as it is, converted on demand, nothing lost."""

from __future__ import annotations

import json
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from planting import plant
from refusals import refused
from terminal import run

import gaussmith as gm
from gaussmith.ledger.chain import follow
from gaussmith.ledger.pages import Pages
from gaussmith.ledger.sqlite import GUARDS
from gaussmith.privacy.composition import Charge
from gaussmith.privacy.guarantee import Guarantee

OLD = Path(__file__).parents[1] / "shared" / "ledgers" / "format-2.ledger"
EIGHTH = Guarantee(mu=0.125)
LATER = {"neighbours": "add-remove", "unit": "person"}

RECEIPTS = (
    "0:e0ffdf68de9c39aa0d038a9ab23dc7010747ab9801af6fb48d32def40a04d6f2",
    "1:e06f8277663d1b9772841bb24fd6039cd2ef01b4ea723ca9aad50a385b26535f",
    "6:a7ded60f78f74f1c702f70e98d23eaee58de20b1b396d4534506302defb12a0e",
    "9:70612bc32e8585b8f4bc89d58dbdc2bcb9189a045073e78e183e0269102f9e3a",
)
"""As they were given out by the version that wrote it."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A copy: 10 entries, four stored releases, one of them of another tool, one that gave something back."""
    for suffix in ("", ".head"):
        shutil.copy(OLD.with_name(OLD.name + suffix), tmp_path / f"study.ledger{suffix}")
    return tmp_path / "study.ledger"


def format_of(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT format FROM gaussmith_ledgers").fetchone()[0]
    connection.close()
    return int(found)


def test_an_older_ledger_is_read_as_it_is(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = gm.Ledger(path)
    assert (ledger.dataset, ledger.unit) == ("visits", ("person",))
    assert ledger.guarantee == Guarantee(epsilon=3, delta=1e-6)
    assert (ledger.pure_epsilon, ledger.pure_budget, ledger.pure_spent, ledger.remaining_pure) == (0, 0, 0, 0)
    found = ledger.verify(expect_head=RECEIPTS, records=[b"the release of march", b"the release of stages"])
    assert (found.entries, found.releases, found.pending, found.periods) == (10, 4, ("pending",), 0)
    assert [row["state"] for row in ledger.history()] == ["done", "done", "done", "other tool", "pending"]
    assert ledger.history()[2]["share"] == pytest.approx(2**250 / ledger.budget)
    assert ledger.result("keys") == b"the release of keys"
    assert ledger.charge_of("keys") == Charge(mu_squared=Fraction(1, 64), kappa=Fraction(1, 10**8))
    code, out, _ = run(capsys, "ledger", "show", str(path))
    assert code == 0 and "march" in out and "pure" not in out
    assert format_of(path) == 2


def test_it_is_charged_only_after_its_conversion(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = gm.Ledger(path)
    with refused("ledger-to-be-upgraded", format=2, says="gaussmith.Ledger.upgrade("):
        ledger.reserve("april", "request", EIGHTH, **LATER)
    with refused("release-not-stored", cause="ledger-to-be-upgraded"):
        ledger.store("pending", b"bytes")
    code, _, err = run(capsys, "ledger", "add", str(path), "--mu", "0.1")
    assert code == 2 and f"convert it once, which loses nothing: gaussmith ledger upgrade {path}" in " ".join(
        err.split()
    )
    assert ledger.verify().entries == 10
    code, out, _ = run(capsys, "ledger", "upgrade", str(path))
    assert code == 0 and "has format 3: every entry, receipt and stored release is as it was" in out
    assert ledger.reserve("april", "request", EIGHTH, **LATER).state == "new"
    assert ledger.store("pending", b"bytes") == b"bytes"
    assert ledger.verify(expect_head=RECEIPTS).entries == 12
    with refused("id-of-another-request"):
        ledger.reserve("march", "another request", EIGHTH)


def test_nothing_is_lost_or_made_up(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = gm.Ledger(path)
    entries, found = before.entries(), before.verify()
    stored = {entry.release_id: before.result(entry.release_id) for entry in entries if entry.kind == "store"}
    after = gm.Ledger.upgrade(path)
    assert format_of(path) == 3
    assert (after.entries(), after.verify()) == (entries, found)
    assert {name: after.result(name) for name in stored} == stored and len(stored) == 4
    assert str(after.head) == RECEIPTS[-1]
    assert (after.budget, after.keys_budget, after.pure_budget) == (before.budget, before.keys_budget, 0)
    with sqlite3.connect(path) as connection:
        for guard in GUARDS:
            assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (guard.split()[2],)).fetchone()
        with pytest.raises(sqlite3.IntegrityError, match="only ever added to"):
            connection.execute("DELETE FROM gaussmith_entries")
    connection.close()
    again = json.loads(run(capsys, "ledger", "upgrade", str(path), "--json")[1])  # a second time nothing happens
    assert (again["format"], again["head"], again["pure_epsilon"]) == (3, RECEIPTS[-1], 0)
    assert sorted(file.name for file in path.parent.iterdir()) == ["study.ledger", "study.ledger.head"]


def test_a_converted_ledger_has_no_pure_part_and_never_gets_one(path: Path) -> None:
    ledger = gm.Ledger.upgrade(path)
    with refused("no-allowance-for-pure-noise", says="create a ledger with pure_epsilon"):
        ledger.reserve("a", "h", Guarantee(epsilon=0.1, delta=1e-6), charge=Charge(pure=Fraction(1, 10)), **LATER)
    assert ledger.verify().pure_budget == 0


def test_a_damaged_ledger_is_not_converted(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER gaussmith_results_UPDATE")
        connection.execute("UPDATE gaussmith_results SET payload = x'00' WHERE release_id = 'march'")
    connection.close()
    with refused("stored-release-changed", id="march"):
        gm.Ledger.upgrade(path)
    assert format_of(path) == 2
    with sqlite3.connect(path) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(gaussmith_entries)")}
    connection.close()
    assert "pure_charge" not in columns


def test_a_conversion_that_loses_something_is_undone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget = "DELETE FROM gaussmith_entries WHERE seq = 9 AND ? > 0"
    plant(
        monkeypatch, Pages.upgrade, "self.format = FORMAT",
        f'list(self._execute("DROP TRIGGER gaussmith_entries_DELETE")); list(self._execute("{forget}", (1,)));'
        " self.format = FORMAT",
    )  # fmt: skip
    with refused("ledger-rolled-back"):
        gm.Ledger.upgrade(path)
    monkeypatch.undo()
    assert format_of(path) == 2 and gm.Ledger(path).verify().entries == 10


def test_an_entry_has_one_hash_in_both_formats() -> None:
    """Format 3 seals what it added only where it says something: so older receipts stay good, and edits show."""
    plain = follow(None, "create", {}, time=0)
    assert (
        len({follow(None, "create", {}, time=0, **one).hash for one in ({}, {"pure_charge": 0}, {"parent": ""})}) == 1
    )
    for told in ({"pure_charge": 1}, {"parent": "series"}):
        assert follow(None, "create", {}, time=0, **told).hash != plain.hash


# The periods of a series, which format 3 has room for: charged once, each stored once.


@pytest.fixture
def series(path: Path) -> gm.Ledger:
    ledger = gm.Ledger.upgrade(path)
    ledger.reserve("visits-2026", "request", EIGHTH, periods=3, **LATER)
    return ledger


def test_a_series_is_charged_once_and_each_period_stored_once(series: gm.Ledger) -> None:
    spent = series.spent
    assert series.periods("visits-2026") == {}
    assert series.store_period("visits-2026", "2026-W01", 1, b"one") == b"one"
    assert series.store_period("visits-2026", "2026-W01", 1, b"another") == b"one"
    assert series.store_period("visits-2026", "2026-W03", 3, b"three") == b"three"
    assert series.periods("visits-2026") == {"2026-W01": 1, "2026-W03": 3}
    assert series.result_of_period("visits-2026", "2026-W03") == b"three"
    assert series.result_of_period("visits-2026", "2026-W02") is series.result("visits-2026") is None
    assert series.reserve("visits-2026", "request", EIGHTH).state == "pending"
    assert series.spent == spent
    found = series.verify(records=[b"one", b"three"])
    assert (found.periods, found.releases, found.pending) == (2, 4, ("pending",))
    assert series.history()[-1]["state"] == "2 periods"


def test_a_period_may_have_the_name_of_a_release(series: gm.Ledger) -> None:
    series.reserve("other", "request", EIGHTH, periods=1, **LATER)
    series.store_period("visits-2026", "march", 1, b"a week")
    series.store_period("other", "march", 1, b"another")
    assert series.result("march") == b"the release of march"
    assert series.result_of_period("visits-2026", "march") == b"a week"
    assert series.verify().periods == 2


@pytest.mark.parametrize(
    ("name", "number"), [("visits-2026", 1), ("visits-2026", 2), ("visits-2026", 4), ("no", 1), ("march", 1)]
)
def test_a_closed_period_and_what_is_no_series_are_refused(series: gm.Ledger, name: str, number: int) -> None:
    series.store_period("visits-2026", "second", 2, b"two")
    with refused("period-not-open", series=name, period="w"):
        series.store_period(name, "w", number, b"late")
    assert series.periods("visits-2026") == {"second": 2}


def test_a_series_is_not_stored_at_once(series: gm.Ledger) -> None:
    with refused("series-stored-at-once", id="visits-2026"):
        series.store("visits-2026", b"bytes")
    with refused("payload-not-bytes"):
        series.store_period("visits-2026", "w", 1, "text")  # type: ignore[arg-type]
    for wrong in (0, 1.5, "3"):
        with refused("whole-number-out-of-range"):
            series.reserve("x", "h", EIGHTH, periods=wrong)  # type: ignore[arg-type]
    assert series.verify().periods == 0
