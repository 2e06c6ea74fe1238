"""Ledgers in files: made once, shared, and where they cannot be used refused in words of their own."""

from __future__ import annotations

import os
import sqlite3
import threading
import warnings
from pathlib import Path

import pytest
from refusals import refused

from gaussmith.errors import DataError, LedgerError
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import VARIABLE, Receipt, failpoint
from gaussmith.privacy.guarantee import Guarantee

EIGHTH = Guarantee(mu=0.125)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    """Room for exactly 100 releases at μ = 1/8."""
    return Ledger.create(path, Guarantee(mu=1.25))


def test_no_ledger(path: Path) -> None:
    says = f'gaussmith.Ledger.create("{path}", gaussmith.Guarantee(epsilon=3, delta=1e-6))'
    with refused("no-such-ledger", LedgerError, says=says, ledger=str(path)) as error:
        Ledger(path)
    assert error.value.exit_code == 2
    assert not path.exists()


def test_the_home_of_nobody_is_a_path_like_any_other() -> None:
    with refused("no-such-ledger"):
        Ledger("~nobody-of-this-name/study.ledger")


def test_a_ledger_is_not_overwritten(ledger: Ledger, path: Path) -> None:
    ledger.reserve("r", "request", EIGHTH)
    with refused("ledger-exists", LedgerError, ledger=str(path)):
        Ledger.create(path, Guarantee(mu=9))
    assert Ledger(path).spent > 0


def test_of_many_who_create_it_one_does(path: Path) -> None:
    outcomes: list[str] = []

    def create() -> None:
        try:
            Ledger.create(path, EIGHTH)
            outcomes.append("made")
        except LedgerError as error:
            outcomes.append(error.rule)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["a ledger is never overwritten: the record of what was spent would be lost"] * 7 + [
        "made"
    ]
    assert sorted(file.name for file in path.parent.iterdir()) == ["study.ledger", "study.ledger.head"]
    Ledger(path).verify()


def test_a_spent_ledger_that_was_deleted_is_not_started_afresh(ledger: Ledger, path: Path) -> None:
    path.unlink()
    Ledger.create(path, EIGHTH)  # nothing had been charged
    Ledger(path).reserve("r", "request", EIGHTH)
    path.unlink()
    with refused("ledger-lost-but-head-kept", LedgerError, head="study.ledger.head"):
        Ledger.create(path, EIGHTH)


def test_a_crash_while_creating_leaves_a_ledger_or_none(path: Path) -> None:
    Ledger.create(path, EIGHTH)
    path.with_name("study.ledger.head").unlink()  # killed after the file was put in place, before its head was
    Ledger(path).reserve("r", "request", EIGHTH)
    assert path.with_name("study.ledger.head").read_text() == f"{Ledger(path).head}\n"


def test_no_place_for_a_ledger(tmp_path: Path) -> None:
    with refused("ledger-not-writable", reason="unable to open database file"):
        Ledger.create(tmp_path / "nowhere" / "study.ledger", EIGHTH)


@pytest.mark.parametrize("content", [b"", b"hello, this is text\n" * 500, None])
def test_not_a_ledger(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "other"
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE gaussmith_ledgers (name TEXT)")
        connection.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with refused("file-not-a-ledger", LedgerError, ledger=str(path)):
        Ledger(path)
    assert path.read_bytes() == before
    with refused("file-not-a-ledger"):
        Ledger(tmp_path)


def test_a_damaged_file(ledger: Ledger, path: Path) -> None:
    for number in range(12):
        ledger.reserve(None, "request", EIGHTH, note={"number": number})
    content = bytearray(path.read_bytes())
    content[4096 : len(content)] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with refused("ledger-damaged", LedgerError, ledger=str(path)):
        Ledger(path)
    path.write_bytes(content[:5000])
    with refused("ledger-damaged"):
        Ledger(path)


def test_damage_that_sqlite_quotes_in_bytes_that_are_no_text(ledger: Ledger, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content.replace(b"CREATE TABLE gaussmith_e", b"CREATE TABL\xff gaussmith_e"))
    with refused("ledger-damaged", LedgerError, ledger=str(path)):
        Ledger(path)


def test_damage_that_makes_bytes_of_a_text(ledger: Ledger, path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER gaussmith_entries_UPDATE")
        connection.execute("UPDATE gaussmith_entries SET software = CAST(software AS BLOB)")
    connection.close()
    with refused("ledger-damaged", LedgerError, ledger=str(path)):
        Ledger(path).verify()


def test_damage_out_of_the_way_is_found_by_verify(ledger: Ledger, path: Path) -> None:
    for number in range(12):
        ledger.reserve(None, "request", EIGHTH, note={"number": number})
    content = bytearray(path.read_bytes())
    place = content.index(b'"number":10')
    content[place + 9 : place + 11] = b"11"
    path.write_bytes(content)
    Ledger(path)
    with refused("ledger-entry-changed", entry=11):
        Ledger(path).verify()


@pytest.mark.parametrize(
    ("other", "says"), [(1, "start a new ledger with the budget that is left"), (4, "or a newer one")]
)
def test_another_format(ledger: Ledger, path: Path, other: int, says: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE gaussmith_ledgers SET format = {other}")
    connection.close()
    for attempt in (lambda: Ledger(path), lambda: ledger.reserve("r", "request", EIGHTH)):
        with refused("ledger-of-other-format", LedgerError, says=says, ledger=str(path), format=other):
            attempt()


@pytest.mark.parametrize("column", ["format", "head_seq"])
@pytest.mark.parametrize("value", ["'two'", "2.5", "x'00'"])
def test_a_number_that_is_none(ledger: Ledger, path: Path, column: str, value: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE gaussmith_ledgers SET {column} = {value}")
    connection.close()
    with refused("ledger-damaged"):
        Ledger(path)


def test_a_ledger_without_its_own_row(ledger: Ledger, path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM gaussmith_ledgers")
    connection.close()
    with refused("ledger-damaged"):
        Ledger(path)


def test_the_tables_of_the_first_format_are_refused_in_words(tmp_path: Path) -> None:
    """As version 1 made them: without κ, and so without the columns that are read now."""
    path = tmp_path / "study.ledger"
    Ledger.create(path, EIGHTH)
    with sqlite3.connect(path) as connection:
        for column in ("keys_charge", "keys_spent"):
            connection.execute(f"ALTER TABLE gaussmith_entries DROP COLUMN {column}")
        connection.execute("UPDATE gaussmith_ledgers SET format = 1")
    connection.close()
    with refused("ledger-of-other-format", format=1):
        Ledger(path)


def test_a_locked_ledger(ledger: Ledger, path: Path) -> None:
    impatient = Ledger(path, timeout=0.05)
    ledger.reserve("before", "request", EIGHTH)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    assert impatient.spent > 0  # reading goes on
    with refused("ledger-locked", LedgerError, ledger=str(path), timeout=0.05):
        impatient.reserve("r", "request", EIGHTH)
    with refused("release-not-stored", DataError, id="before", cause="ledger-locked") as failure:
        impatient.store("before", b"bytes")
    assert failure.value.exit_code == 4
    connection.close()
    assert impatient.store("before", b"bytes") == b"bytes"


def test_a_charge_whose_head_fails_names_its_fresh_id(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("gaussmith.ledger.sqlite.os.replace", full)
        reason = "No space left on device"
        with refused(
            "ledger-not-writable", LedgerError, says="id='release-1'", ledger=str(path), reason=reason, id="release-1"
        ):
            ledger.reserve(None, "request", EIGHTH)
    assert ledger.reserve("release-1", "request", EIGHTH).state == "pending"
    assert Receipt.read(path.with_name("study.ledger.head").read_text()) == ledger.head


def test_a_lost_or_spoilt_head(ledger: Ledger, path: Path) -> None:
    ledger.reserve("r", "request", EIGHTH)
    head = path.with_name("study.ledger.head")
    text = head.read_text()
    for spoilt in ("", "1:abc", "x" * 100, "\xff"):
        head.write_text(spoilt, "latin-1")
        with refused("ledger-head-not-readable", head="study.ledger.head"):
            ledger.reserve("s", "request", EIGHTH)
    head.unlink()
    for attempt in (ledger.verify, lambda: Ledger(path), lambda: ledger.reserve("s", "request", EIGHTH)):
        with refused("ledger-head-lost", head="study.ledger.head"):
            attempt()
    head.write_text(text)
    assert ledger.verify().entries == 2


def test_a_link_leads_to_the_same_ledger(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(path)
    Ledger(link).reserve("r", "request", EIGHTH)
    assert ledger.verify().pending == ("r",)
    assert list(link.parent.iterdir()) == [link]


def test_a_second_hard_link_is_refused(path: Path, tmp_path: Path) -> None:
    """Charges that a crash left in SQLite's log lie beside one name and are unseen under the other."""
    ledger = Ledger.create(path, Guarantee(mu=1))
    os.link(path, tmp_path / "other.ledger")
    for name in (path, tmp_path / "other.ledger"):
        with refused("ledger-with-hard-link"):
            Ledger(name)
    with refused("ledger-with-hard-link"):
        ledger.reserve("a", "h", Guarantee(mu=1))
    (tmp_path / "other.ledger").unlink()
    os.link(path, path.with_name(f".{path.name}.1-2.new"))  # left by a `create` that was killed: taken away
    assert ledger.reserve("a", "h", Guarantee(mu=1)).state == "new"
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix == ".new") == []


def test_a_ledger_that_was_replaced_is_not_charged(path: Path) -> None:
    """One with the budget of 10 is not spent on one that has 1."""
    ledger = Ledger.create(path, Guarantee(mu=10))
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    other = Ledger.create(path, Guarantee(mu=1))
    with refused("ledger-replaced"):
        ledger.reserve("a", "h", Guarantee(mu=5))
    with refused("ledger-replaced"):
        _ = ledger.remaining
    assert other.spent == 0


def test_creating_never_moves_the_head_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process charges the ledger as soon as its file is there."""
    link = os.link

    def link_and_charge(source: Path, target: Path) -> None:
        link(source, target)
        monkeypatch.undo()
        Ledger(path).reserve("a", "h", Guarantee(mu=1))

    monkeypatch.setattr(os, "link", link_and_charge)
    Ledger.create(path, Guarantee(mu=2))
    assert path.with_name(path.name + ".head").read_text().startswith("1:")


def test_a_disk_that_fails_is_not_a_damaged_ledger(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
        raise error

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with refused("ledger-not-writable", reason="disk I/O error"):
        ledger.reserve("a", "h", Guarantee(mu=0.01))


def test_names_that_need_care_in_addresses(tmp_path: Path) -> None:
    path = tmp_path / "a ?b#c%20.ledger"
    Ledger.create(path, EIGHTH).reserve("r", "request", EIGHTH)
    assert Ledger(path).verify().pending == ("r",)


def test_threads_and_forks_share_a_ledger(ledger: Ledger) -> None:
    threads = [threading.Thread(target=ledger.reserve, args=(f"r{n}", "request", EIGHTH)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with warnings.catch_warnings():
        # Newer Pythons warn of a fork beside other threads, such as those numpy keeps for its products.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            ledger.reserve("child", "request", EIGHTH)
        finally:
            os._exit(0)
    ledger.reserve("parent", "request", EIGHTH)
    os.waitpid(child, 0)
    assert set(ledger.verify().pending) == {*(f"r{n}" for n in range(8)), "child", "parent"}


def test_a_misspelt_failpoint_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    failpoint("before-data")
    monkeypatch.setenv(VARIABLE, "before-reserve-comit")
    with refused("unknown-failpoint", says="did you mean 'before-reserve-commit'"):
        failpoint("before-data")
