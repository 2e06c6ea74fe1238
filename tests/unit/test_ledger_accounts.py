"""The accounts of a ledger, entry by entry, as verification recomputes them; and what a ledger reads of itself."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.ledger import chain as failpoints
from gaussmith.ledger import sqlite
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import LedgerEntry, canonical, check_links, follow, software
from gaussmith.ledger.protection import _check
from gaussmith.ledger.sqlite import _is_alive
from gaussmith.ledger.units import UNIT_BITS, charge_units
from gaussmith.ledger.verification import _check_accounts
from gaussmith.privacy.guarantee import Guarantee

HALF = Guarantee(mu=0.5)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a.ledger", Guarantee(mu=1), unit="person")


def charged(ledger: Ledger, *names: str) -> list[LedgerEntry]:
    for name in names:
        ledger.reserve(name, "request", HALF, neighbours="add-remove")
    return ledger.entries()


def test_an_id_is_charged_once(ledger: Ledger) -> None:
    first, second = charged(ledger, "a")
    again = follow(second, "reserve", _body(second), release_id="a", charge=second.charge)
    with refused("ledger-id-charged-twice", id="a"):
        _check_accounts([first, second, again], "here")
    other = follow(second, "reserve", _body(second), release_id="b", charge=second.charge)
    assert set(_check_accounts([first, second, other], "here")[0]) == {"a", "b"}


def _body(entry: LedgerEntry) -> dict[str, Any]:
    return dict(json.loads(entry.body))


@pytest.mark.parametrize("units", [-1, 0, 1])
def test_no_more_is_given_back_than_was_charged(ledger: Ledger, units: int) -> None:
    first, second = charged(ledger, "a")
    taken = Fraction(charge_units(HALF.mu) + units, 1 << UNIT_BITS)
    last = follow(second, "store", {"taken": str(taken)}, release_id="a", request_hash="request", charge=units)
    if units > 0:
        with refused("ledger-gives-back-too-much", entry=2):
            _check_accounts([first, second, last], "here")
    else:
        assert list(_check_accounts([first, second, last], "here")[1]) == ["a"]


def test_only_what_was_charged_gives_back(ledger: Ledger) -> None:
    first, second = charged(ledger, "a")
    last = follow(second, "store", {"taken": "1/8"}, release_id="b", request_hash="request", charge=1 << UNIT_BITS - 3)
    with refused("ledger-gives-back-too-much", entry=2):
        _check_accounts([first, second, last], "here")


@pytest.mark.parametrize(("off", "fits"), [(1e-11, True), (1e-8, False), (-1e-8, False)])
def test_a_charge_is_that_of_its_guarantee(ledger: Ledger, off: float, fits: bool) -> None:
    """But for the last digits: another version may have found them in another way."""
    first, second = charged(ledger, "a")
    mu = HALF.mu * (1 + off)
    last = follow(second, "reserve", {**_body(second), "mu": mu}, release_id="b", charge=charge_units(mu))
    if fits:
        assert list(_check_accounts([first, second, last], "here")[0]) == ["a", "b"]
    else:
        with refused("ledger-mu-wrong", entry=2):
            _check_accounts([first, second, last], "here")


def test_the_head_of_another_ledger_of_the_same_length(ledger: Ledger, tmp_path: Path) -> None:
    charged(ledger, "a")
    charged(Ledger.create(tmp_path / "other.ledger", Guarantee(mu=1)), "a")
    (tmp_path / "a.ledger.head").write_bytes((tmp_path / "other.ledger.head").read_bytes())
    with refused("ledger-history-rewritten", entry=1):
        ledger.reserve("b", "request", HALF)
    with refused("ledger-history-rewritten", entry=1):
        ledger.verify()


def test_what_is_hashed_is_ascii() -> None:
    assert canonical({"b": "é"}) == '{"b":"\\u00e9"}'


def test_only_the_failpoint_that_was_named_kills(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *each: killed.append(each))
    monkeypatch.setenv(failpoints.VARIABLE, "after-noise")
    for name in failpoints.NAMES:
        failpoints.failpoint(name)
    assert killed == [(os.getpid(), signal.SIGKILL)]


def test_a_chain_has_a_beginning() -> None:
    with refused("ledger-without-entries"):
        check_links([], "here")


def test_an_entry_names_the_version_that_wrote_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert software() == gm.__version__
    monkeypatch.setattr(gm, "__version__", "another")
    assert software.__wrapped__() == "another"


def test_a_unit_from_the_beginning_does_not_hide_the_neighbours_of_charges(ledger: Ledger) -> None:
    charged(ledger, "a")
    assert ledger.unit == ("person",)
    with refused("ledger-of-other-neighbours"):
        ledger.reserve("b", "request", HALF, neighbours="replace-one")


def test_neighbours_that_are_known_do_not_hide_a_unit_that_comes_later(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "b.ledger", Guarantee(mu=1))
    ledger.reserve("a", "request", HALF, neighbours="add-remove")
    assert ledger.unit is None
    ledger.reserve("b", "request", HALF, neighbours="add-remove", unit="person")
    assert ledger.unit == ("person",)
    with refused("ledger-of-another-unit"):
        ledger.reserve("c", "request", HALF, unit="house")


def test_a_whole_charge_with_too_much_for_keys_is_refused_for_its_keys(ledger: Ledger) -> None:
    with refused("keys-budget-exceeded"):
        ledger.reserve("a", "request", Guarantee(mu=1), keys_delta=1e-9)
    assert ledger.spent == 0


def test_a_new_head_and_its_folder_are_on_disk(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[Path] = []
    monkeypatch.setattr(sqlite, "_flush", flushed.append)
    charged(ledger, "a")
    head = Path(ledger.where + ".head")
    assert flushed == [head.with_name(f".{head.name}.new"), head.parent]


def test_what_a_ledger_protects_is_read_past_an_entry_that_is_missing(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "b.ledger", Guarantee(mu=1))
    for name, unit in (("a", None), ("b", "person")):
        ledger.reserve(name, "request", HALF, unit=unit)
    with sqlite3.connect(tmp_path / "b.ledger") as connection:
        connection.execute("DROP TRIGGER gaussmith_entries_DELETE")
        connection.execute("DELETE FROM gaussmith_entries WHERE seq = 1")
    connection.close()
    assert ledger.unit == ("person",)
    with refused("ledger-entry-missing", entry=1):
        ledger.verify()


def test_an_id_of_200_characters_is_the_longest(ledger: Ledger) -> None:
    assert ledger.reserve("x" * 200, "request", HALF).release_id == "x" * 200
    with refused("ledger-name-unusable"):
        ledger.reserve("x" * 201, "request", HALF)


def test_another_tool_may_state_an_epsilon_of_100() -> None:
    _check(100, 0.0, None, "")
    with refused("other-epsilon-out-of-range"):
        _check(100.5, 0.0, None, "")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.skipif(os.name != "posix", reason="only there a process can be looked at")
def test_a_process_is_looked_at_and_not_disturbed(sleeper: subprocess.Popen[bytes]) -> None:
    assert _is_alive(sleeper.pid)
    with pytest.raises(subprocess.TimeoutExpired):
        sleeper.wait(0.05)
    sleeper.kill()
    sleeper.wait()
    assert not _is_alive(sleeper.pid)


def test_a_process_that_cannot_be_looked_at_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def kill(process: int, signal: int) -> None:
        asked.append((process, signal))
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", kill)
        found = [_is_alive(1)]
        patch.setattr(os, "name", "nt")
        found += [_is_alive(2**70)]
    assert found == [True, True]
    assert asked == [(1, 0)]  # a signal of 0 only asks


def test_damage_beside_the_entries_is_found_too(ledger: Ledger, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.ledger") as connection:
        connection.execute("CREATE TABLE notes (x)")
        connection.execute("INSERT INTO notes VALUES (NULL)")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE notes (x NOT NULL)' WHERE name = 'notes'")
    connection.close()
    with refused("ledger-damaged"):
        ledger.verify()


def test_a_draft_that_is_gone_is_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise FileNotFoundError(2, "gone")

    monkeypatch.setattr(os, "link", link)
    with refused("ledger-not-created"):
        Ledger.create(tmp_path / "none.ledger", Guarantee(mu=1))
    assert list(tmp_path.iterdir()) == []
