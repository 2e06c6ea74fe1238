"""Edited, truncated, rolled-back and forged ledgers fail verification, and most of them are not even charged."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusals import Expected, refusal, refused

from gaussmith.errors import LedgerError
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import AMOUNTS, NOTHING_BEFORE, LedgerEntry, canonical, follow, seal
from gaussmith.ledger.pages import COLUMNS
from gaussmith.privacy.guarantee import Guarantee

EIGHTH = Guarantee(mu=0.125)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Entries: 0 create · 1 reserve a · 2 store a · 3 reserve b · 4 store b · 5 reserve c."""
    path = tmp_path_factory.mktemp("original") / "study.ledger"
    ledger = Ledger.create(path, Guarantee(mu=0.25), dataset="visits", unit="person", keys_delta=2.0**-20)
    for name in "ab":
        ledger.reserve(name, f"request {name}", EIGHTH, unit="person", keys_delta=2.0**-22)
        ledger.store(name, f"release {name}".encode())
    ledger.reserve("c", "request c", EIGHTH, unit="person", keys_delta=2.0**-22)
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    """A copy of its own for every test."""
    copy(original, tmp_path / "study.ledger", "", ".head")
    return tmp_path / "study.ledger"


def copy(path: Path, place: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        shutil.copy(path.with_name(path.name + suffix), place.with_name(place.name + suffix))


def run(path: Path, *statements: str) -> None:
    """What someone with a database tool can do, the guards against accidents dropped first."""
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_the_ledger_is_in_order_to_begin_with(path: Path) -> None:
    found = Ledger(path).verify()
    assert (found.entries, found.releases, found.pending) == (6, 2, ("c",))
    assert found.spent == 3 * 2 ** (256 - 6)
    assert found.budget == 4 * 2 ** (256 - 6)
    assert (found.keys_spent, found.keys_budget) == (3 * 2 ** (256 - 22), 4 * 2 ** (256 - 22))
    assert found.unit == ("person",)
    assert found.head == Ledger(path).head
    assert sum(found.software.values()) == 3


def test_accidents_are_stopped_by_the_file_itself(path: Path) -> None:
    connection = sqlite3.connect(path)
    for table in ("gaussmith_entries", "gaussmith_results"):
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET release_id = 'x'"):
            with pytest.raises(sqlite3.IntegrityError, match="a ledger is only ever added to"):
                connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("seq", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("column", [column for column in COLUMNS if column != "seq"])
def test_an_edited_field(path: Path, seq: int, column: str) -> None:
    change = f"{column} + 1" if column == "time" else "'1'" if column in AMOUNTS else f"{column} || 'x'"
    run(path, f"UPDATE gaussmith_entries SET {column} = {change} WHERE seq = {seq}")
    with refused("ledger-entry-changed", entry=seq):
        Ledger(path).verify()


EDITS: dict[str, tuple[tuple[str, ...], str]] = {
    "first entry gone": (("DELETE FROM gaussmith_entries WHERE seq = 0",), "ledger-without-entries"),
    "middle entry gone": (("DELETE FROM gaussmith_entries WHERE seq = 2",), refusal("ledger-entry-missing", entry=2)),
    "last entry gone": (("DELETE FROM gaussmith_entries WHERE seq = 5",), "ledger-rolled-back"),
    "last entry gone, row set back": (
        (
            "DELETE FROM gaussmith_entries WHERE seq = 5",
            "UPDATE gaussmith_ledgers SET head_seq = 4, head_hash = (SELECT hash FROM gaussmith_entries WHERE seq = 4)",
        ),
        refusal("ledger-rolled-back", entry=5, last=4),
    ),
    "all entries gone": (("DELETE FROM gaussmith_entries",), "ledger-without-entries"),
    "entries swapped": (
        (
            "UPDATE gaussmith_entries SET seq = 99 WHERE seq = 1",
            "UPDATE gaussmith_entries SET seq = 1 WHERE seq = 3",
            "UPDATE gaussmith_entries SET seq = 3 WHERE seq = 99",
        ),
        refusal("ledger-entry-changed", entry=1),
    ),
    "charge erased": (
        ("UPDATE gaussmith_entries SET charge = '0' WHERE seq = 1",),
        refusal("ledger-entry-changed", entry=1),
    ),
    "unit edited": (
        ("UPDATE gaussmith_entries SET body = replace(body, 'person', 'house') WHERE seq = 3",),
        refusal("ledger-entry-changed", entry=3),
    ),
    "charge no number": (("UPDATE gaussmith_entries SET charge = 'x' WHERE seq = 1",), "ledger-damaged"),
    "head row set back": (
        ("UPDATE gaussmith_ledgers SET head_seq = 4, head_hash = (SELECT hash FROM gaussmith_entries WHERE seq = 4)",),
        refusal("ledger-entries-behind-head", entry=4),
    ),
    "head row wrong": (("UPDATE gaussmith_ledgers SET head_seq = 4",), refusal("ledger-history-rewritten", entry=4)),
    "head row ahead": (("UPDATE gaussmith_ledgers SET head_seq = 6",), "ledger-rolled-back"),
    "ledger row gone": (("DELETE FROM gaussmith_ledgers",), "ledger-damaged"),
    "table gone": (("DROP TABLE gaussmith_results",), "ledger-damaged"),
    "release changed": (
        ("UPDATE gaussmith_results SET payload = x'00' WHERE release_id = 'a'",),
        refusal("stored-release-changed", id="a"),
    ),
    "release gone": (
        ("DELETE FROM gaussmith_results WHERE release_id = 'b'",),
        refusal("stored-release-changed", id="b"),
    ),
    "release renamed": (
        ("UPDATE gaussmith_results SET release_id = 'd' WHERE release_id = 'b'",),
        refusal("stored-release-changed", id="b"),
    ),
    "release slipped in": (
        (
            "INSERT INTO gaussmith_results (ledger, release_id, payload) "
            "SELECT ledger, 'd', payload FROM gaussmith_results WHERE release_id = 'b'",
        ),
        refusal("stored-release-not-in-chain", id="d"),
    ),
}


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_an_edited_ledger(path: Path, edit: str) -> None:
    statements, message = EDITS[edit]
    run(path, *statements)
    with refused(message):
        Ledger(path).verify()


def test_changed_bytes_are_never_returned(path: Path) -> None:
    run(path, "UPDATE gaussmith_results SET payload = x'00' WHERE release_id = 'a'")
    ledger = Ledger(path)
    for attempt in (lambda: ledger.result("a"), lambda: ledger.reserve("a", "request a", EIGHTH)):
        with refused("stored-release-changed", id="a"):
            attempt()


@pytest.fixture
def rolled_back(path: Path, tmp_path: Path) -> Callable[..., Any]:
    """Spend something more, then put the older copy back: of the ledger alone, or of its head file too."""

    def roll_back(*suffixes: str) -> Any:
        copy(path, tmp_path / "old", "", ".head")
        ledger = Ledger(path)
        receipt = ledger.reserve("d", "request d", EIGHTH).receipt
        record = ledger.store("d", b"release d")
        head = ledger.head
        assert ledger.verify([str(receipt), head.hash], records=[record, b"release a"]).head == head
        copy(tmp_path / "old", path, *suffixes)
        return receipt, head, record

    return roll_back


def test_an_older_copy_is_behind_its_head_and_gets_no_charge(path: Path, rolled_back: Callable[..., Any]) -> None:
    rolled_back("")
    for attempt in (lambda: Ledger(path), lambda: Ledger(path).verify()):
        with refused("ledger-rolled-back", entry=7, last=5):
            attempt()


def test_an_open_ledger_notices_the_older_copy_too(path: Path, rolled_back: Callable[..., Any]) -> None:
    ledger = Ledger(path)
    rolled_back("")
    with refused("ledger-rolled-back"):
        ledger.reserve("e", "request e", EIGHTH)
    with refused("ledger-rolled-back"):
        ledger.reserve("a", "request a", EIGHTH)


def test_ledger_and_head_rolled_back_together_are_shown_by_receipts_and_records(
    path: Path, rolled_back: Callable[..., Any]
) -> None:
    receipt, head, record = rolled_back("", ".head")
    ledger = Ledger(path)
    ledger.verify(records=[b"release a", b"release b"])  # by itself it is a ledger like any other: docs/ledger.md
    for expected in (str(receipt), str(head), [str(ledger.head), str(head)]):
        with refused("ledger-rolled-back", last=5):
            ledger.verify(expect_head=expected)
    with refused("expected-head-not-in-ledger"):
        ledger.verify(expect_head=head.hash)
    with refused("record-not-in-ledger", record=2):
        ledger.verify(records=[b"release a", record])
    ledger.reserve("e", "another request", EIGHTH)
    with refused("ledger-history-rewritten", entry=6):
        ledger.verify(expect_head=str(receipt))


def test_another_ledger_in_its_place(path: Path, tmp_path: Path) -> None:
    other = Ledger.create(tmp_path / "other", Guarantee(mu=100))
    for _ in range(8):
        other.reserve(None, "request", EIGHTH)
    copy(tmp_path / "other", path, "")
    with refused("ledger-history-rewritten", entry=5):
        Ledger(path)


def test_a_crash_between_commit_and_head_is_no_roll_back(path: Path, tmp_path: Path) -> None:
    copy(path, tmp_path / "old", ".head")
    ledger = Ledger(path)
    ledger.reserve("d", "request d", EIGHTH)
    copy(tmp_path / "old", path, ".head")
    assert ledger.verify().entries == 7
    assert ledger.reserve("d", "request d", EIGHTH).state == "pending"
    assert path.with_name("study.ledger.head").read_text().strip() == str(ledger.head)


# Forgeries with every hash recomputed. Ledger and head agree, so only the accounts give them away.


def forge(path: Path, entries: list[LedgerEntry]) -> None:
    run(path, "DELETE FROM gaussmith_entries")
    previous = NOTHING_BEFORE
    with sqlite3.connect(path) as connection:
        for seq, entry in enumerate(entries):
            fields = {**vars(entry), "seq": seq, "previous": previous}
            sealed = seal(LedgerEntry(**fields))
            previous = sealed.hash
            values = {**vars(sealed), **{name: str(getattr(sealed, name)) for name in AMOUNTS}}
            marks = ", ".join("?" * (len(COLUMNS) + 1))
            statement = f"INSERT INTO gaussmith_entries (ledger, {', '.join(COLUMNS)}) VALUES ({marks})"
            connection.execute(statement, ["file", *(values[column] for column in COLUMNS)])
        head = (len(entries) - 1, previous)
        connection.execute("UPDATE gaussmith_ledgers SET head_seq = ?, head_hash = ?", head)
    connection.close()
    path.with_name(path.name + ".head").write_text(f"{head[0]}:{head[1]}\n")


def changed(entry: LedgerEntry, **fields: Any) -> LedgerEntry:
    return LedgerEntry(**{**vars(entry), **fields})


UNIT = 2 ** (256 - 6)
KEYS = 2 ** (256 - 22)


def body(mu: float, **more: Any) -> dict[str, Any]:
    return {"guarantee": {"mu": mu}, "mu": mu, "note": {}, "keys_delta": "1/4194304", "unit": ["person"], **more}


def last(entries: list[LedgerEntry], **fields: Any) -> list[LedgerEntry]:
    """The entries, the last of them changed."""
    return [*entries[:5], changed(entries[5], **fields)]


FORGERIES: dict[str, tuple[Callable[[list[LedgerEntry]], list[LedgerEntry]], Expected]] = {
    "honest": (lambda e: e, ""),
    "charge made small": (lambda e: [*e[:5], changed(e[5], charge=1, spent=2 * UNIT + 1)], "ledger-charge-wrong"),
    "charge made negative": (lambda e: [*e[:5], changed(e[5], charge=-UNIT, spent=UNIT)], "ledger-charge-wrong"),
    "total not moved": (lambda e: [*e[:5], changed(e[5], spent=2 * UNIT)], refusal("ledger-total-wrong", entry=5)),
    "mu made small": (
        lambda e: [
            *e[:5],
            changed(e[5], charge=UNIT // 4, spent=2 * UNIT + UNIT // 4, body=canonical(
                body(0.0625, guarantee={"mu": 0.125}))),
        ],
        refusal("ledger-mu-wrong", entry=5),
    ),
    "budget exceeded": (
        lambda e: [*e, follow(e[5], "reserve", body(0.25, keys_delta="0"), charge=4 * UNIT)],
        refusal("ledger-overdrawn", entry=6),
    ),
    "budget for keys exceeded": (
        lambda e: [*e, follow(e[5], "reserve", body(0.125, keys_delta="2/4194304"), charge=UNIT, keys_charge=2 * KEYS)],
        refusal("ledger-overdrawn", entry=6),
    ),
    "keys charge made small": (lambda e: last(e, keys_charge=1, keys_spent=2 * KEYS + 1), "ledger-charge-wrong"),
    "keys total not moved": (lambda e: last(e, keys_spent=2 * KEYS), refusal("ledger-total-wrong", entry=5)),
    "keys taken from a store": (
        lambda e: [*e[:4], changed(e[4], keys_charge=-KEYS, keys_spent=KEYS), changed(e[5], keys_spent=2 * KEYS)],
        refusal("ledger-charge-wrong", entry=4),
    ),
    "keys negative": (lambda e: last(e, body=canonical(body(0.125, keys_delta="-1"))), "ledger-entry-not-readable"),
    "keys forgotten": (
        lambda e: last(e, body=canonical({k: v for k, v in body(0.125).items() if k != "keys_delta"})),
        refusal("ledger-entry-not-readable", entry=5),
    ),
    "budget for keys raised": (
        lambda e: [changed(e[0], body=e[0].body.replace(str(4 * KEYS), str(8 * KEYS))), *e[1:]],
        "ledger-keys-budget-changed",
    ),
    "another unit": (
        lambda e: last(e, body=canonical(body(0.125, unit=[]))), refusal("ledger-units-differ", entry=5),
    ),
    "unit of the ledger changed": (
        lambda e: [changed(e[0], body=e[0].body.replace('["person"]', '["household"]')), *e[1:]],
        refusal("ledger-units-differ", entry=1),
    ),
    "unit no list": (
        lambda e: last(e, body=canonical(body(0.125, unit=7))),
        refusal("ledger-unit-not-readable", entry=5),
    ),
    "budget raised": (
        lambda e: [changed(e[0], body=e[0].body.replace(str(4 * UNIT), str(40 * UNIT))), *e[1:]],
        "ledger-budget-changed",
    ),
    "guarantee raised": (
        lambda e: [changed(e[0], body=e[0].body.replace('"mu":0.25', '"mu":2.5')), *e[1:]],
        refusal("ledger-mu-wrong", entry=0),
    ),
    "body unreadable": (lambda e: [*e[:5], changed(e[5], body="{")], refusal("ledger-entry-not-readable", entry=5)),
    "body empty": (lambda e: [*e[:5], changed(e[5], body="[]")], refusal("ledger-entry-not-readable", entry=5)),
    "mu no number": (
        lambda e: [*e[:5], changed(e[5], body=e[5].body.replace('"mu":0.125,"note"', '"mu":-1,"note"'))],
        refusal("ledger-entry-not-readable", entry=5),
    ),
    "a charge dropped": (
        lambda e: [*e[:3], *(changed(x, spent=x.spent - UNIT, keys_spent=x.keys_spent - KEYS) for x in e[4:])],
        refusal("ledger-stores-uncharged", entry=3),
    ),
    "stored for another request": (
        lambda e: [*e[:4], changed(e[4], request_hash="other"), e[5]],
        refusal("ledger-stores-uncharged", entry=4),
    ),
    "a second beginning": (
        lambda e: [*e, changed(e[0], release_id="x", spent=3 * UNIT)],
        refusal("ledger-entry-out-of-place", entry=6),
    ),
    "an unknown kind": (
        lambda e: [*e[:5], changed(e[5], kind="refund")],
        refusal("ledger-entry-out-of-place", entry=5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES, ids=str)
def test_a_forged_ledger(path: Path, forgery: str) -> None:
    make, message = FORGERIES[forgery]
    ledger = Ledger(path)
    head, entries = ledger.head, ledger.entries()
    forge(path, make(entries))
    if not message:
        assert ledger.verify(expect_head=str(head)).entries == 6
        return
    with refused(message):
        ledger.verify()
    with pytest.raises(LedgerError):
        ledger.verify(expect_head=str(head))


def test_a_forged_beginning_is_not_opened(path: Path) -> None:
    entries = Ledger(path).entries()
    forge(path, [changed(entries[0], body="{}"), *entries[1:]])
    with refused("ledger-damaged"):
        Ledger(path)


def test_an_id_cannot_be_charged_twice_even_by_hand(path: Path) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        run(
            path,
            f"INSERT INTO gaussmith_entries (ledger, {', '.join(COLUMNS)}) "
            f"SELECT ledger, 6, {', '.join(COLUMNS[1:])} FROM gaussmith_entries WHERE seq = 1",
        )
