"""Edited, truncated, rolled-back and forged ledgers fail verification, and most of them are not even charged."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from refusals import Expected, refusal, refused

from gaussmith.errors import LedgerError
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import AMOUNTS, NOTHING_BEFORE, LedgerEntry, canonical, follow, seal
from gaussmith.ledger.pages import COLUMNS
from gaussmith.ledger.units import PURE_UNITS
from gaussmith.privacy.composition import Charge
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


# The same of a ledger with a part for pure noise, and a series.


@pytest.fixture
def pure(tmp_path: Path) -> Path:
    """Entries: 0 create · 1 reserve a, pure ε = 0.25 · 2 store a · 3 reserve s, a series of 3 · 4 and 5 its periods."""
    path = tmp_path / "pure.ledger"
    ledger = Ledger.create(path, Guarantee(epsilon=1, delta=1e-3), pure_epsilon=0.5)
    ledger.reserve("a", "request a", QUARTER, charge=Charge(pure=Fraction(1, 4)))
    ledger.store("a", b"release a", taken=Charge(pure=Fraction(1, 8)))
    ledger.reserve("s", "request s", EIGHTH, periods=3)
    ledger.store_period("s", "one", 1, b"period one")
    ledger.store_period("s", "two", 2, b"period two")
    return path


QUARTER = Guarantee(epsilon=0.25, delta=1e-6)
PIECE = PURE_UNITS // 8


def pure_body(pure: str, mu_squared: str = "0", **more: Any) -> str:
    stated = {"guarantee": {"epsilon": 0.25, "delta": 1e-6}, "note": {}, "keys_delta": "0"}
    return canonical({**stated, "pure": pure, "mu_squared": mu_squared, **more})


def whole(entry: LedgerEntry, **fields: str) -> LedgerEntry:
    """The first entry, with other words in its body."""
    return changed(entry, body=canonical({**json.loads(entry.body), **fields}))


PURE_FORGERIES: dict[str, tuple[Callable[[list[LedgerEntry]], list[LedgerEntry]], Expected]] = {
    "honest": (lambda e: e, ""),
    "charge made small": (
        lambda e: [e[0], changed(e[1], pure_charge=1, pure_spent=1), *e[2:]], refusal("ledger-charge-wrong", entry=1),
    ),
    "charge and body made small": (
        lambda e: [e[0], changed(e[1], body=pure_body("1/8"), pure_charge=PIECE, pure_spent=PIECE), *e[2:]],
        refusal("ledger-charge-of-another-guarantee", entry=1),
    ),
    "charged as noise": (
        lambda e: [e[0], changed(e[1], body=pure_body("0", "1/64"), charge=UNIT, pure_charge=0), *e[2:]],
        refusal("ledger-charge-of-another-guarantee", entry=1),
    ),
    "charge negative": (
        lambda e: [e[0], changed(e[1], body=pure_body("-1/4")), *e[2:]], refusal("ledger-entry-not-readable", entry=1),
    ),
    "total not moved": (lambda e: [e[0], changed(e[1], pure_spent=0), *e[2:]], refusal("ledger-total-wrong", entry=1)),
    "part exceeded": (
        lambda e: [
            *e,
            follow(e[5], "reserve", {**json.loads(pure_body("1/2")), "guarantee": {"epsilon": 0.5, "delta": 1e-6}},
                   release_id="b", pure_charge=4 * PIECE),
        ],
        refusal("ledger-overdrawn", entry=6),
    ),
    "more given back than taken": (
        lambda e: [*e[:2], changed(e[2], body=canonical({"taken_pure": "1/2"})), *e[3:]],
        refusal("ledger-gives-back-too-much", entry=2),
    ),
    "less than nothing taken": (
        lambda e: [*e[:2], changed(e[2], body=canonical({"taken_pure": "-1/8"})), *e[3:]],
        refusal("ledger-entry-not-readable", entry=2),
    ),
    "part raised": (lambda e: [whole(e[0], pure_epsilon="3/4"), *e[1:]], refusal("ledger-mu-wrong", entry=0)),
    "cap of the part raised": (
        lambda e: [whole(e[0], pure_budget=str(PURE_UNITS)), *e[1:]], "ledger-pure-budget-changed",
    ),
    "part beyond all of it": (
        lambda e: [whole(e[0], pure_epsilon="2", pure_budget=str(2 * PURE_UNITS), square="0", budget="0"), *e[1:]],
        "ledger-pure-budget-changed",
    ),
    "part negative": (lambda e: [whole(e[0], pure_epsilon="-1/2"), *e[1:]], "ledger-pure-budget-changed"),
    "a period charges": (
        lambda e: [*e[:5], changed(e[5], charge=1, spent=e[5].spent + 1)], refusal("ledger-charge-wrong", entry=5),
    ),
    "a period that was closed": (
        lambda e: [*e, follow(e[5], "period", {"number": 1}, release_id="x", parent="s", request_hash="request s")],
        refusal("ledger-period-closed", entry=6),
    ),
    "a period too many": (
        lambda e: [*e, follow(e[5], "period", {"number": 4}, release_id="x", parent="s", request_hash="request s")],
        refusal("ledger-period-closed", entry=6),
    ),
    "a period without a number": (
        lambda e: [*e, follow(e[5], "period", {}, release_id="x", parent="s", request_hash="request s")],
        refusal("ledger-entry-not-readable", entry=6),
    ),
    "a period of no series": (
        lambda e: [*e, follow(e[5], "period", {"number": 1}, release_id="x", parent="a", request_hash="request a")],
        refusal("ledger-period-without-series", entry=6),
    ),
    "a period of another request": (
        lambda e: [*e, follow(e[5], "period", {"number": 3}, release_id="x", parent="s", request_hash="request t")],
        refusal("ledger-stores-uncharged", entry=6),
    ),
    "a series at once": (
        lambda e: [*e, follow(e[5], "store", {}, release_id="s", request_hash="request s")],
        refusal("ledger-period-without-series", entry=6),
    ),
    "a release in a series": (
        lambda e: [*e, follow(e[5], "reserve", body(0.125, keys_delta="0"), release_id="x", parent="s", charge=UNIT)],
        refusal("ledger-period-without-series", entry=6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("forgery", PURE_FORGERIES, ids=str)
def test_a_forged_part_and_a_forged_series(pure: Path, forgery: str) -> None:
    make, message = PURE_FORGERIES[forgery]
    ledger = Ledger(pure)
    forge(pure, make(ledger.entries()))
    if not message:
        found = ledger.verify()
        assert (found.pure_spent, found.pure_budget, found.periods) == (PIECE, 4 * PIECE, 2)
        return
    with refused(message):
        ledger.verify()


@pytest.mark.parametrize("column", ["pure_charge", "pure_spent", "parent"])
@pytest.mark.parametrize("seq", range(6))
def test_what_format_3_added_is_sealed(pure: Path, seq: int, column: str) -> None:
    run(pure, f"UPDATE gaussmith_entries SET {column} = {column} || '7' WHERE seq = {seq}")
    with refused("ledger-entry-changed", entry=seq):
        Ledger(pure).verify()


def test_a_period_cannot_be_stored_twice_even_by_hand(pure: Path) -> None:
    entries = Ledger(pure).entries()
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        forge(pure, [*entries, follow(entries[5], "period", {"number": 3}, release_id="two", parent="s")])


def test_a_changed_period_is_never_returned(pure: Path) -> None:
    run(pure, "UPDATE gaussmith_results SET payload = x'00' WHERE parent = 's' AND release_id = 'two'")
    ledger = Ledger(pure)
    for attempt in (ledger.verify, lambda: ledger.result_of_period("s", "two")):
        with refused("stored-release-changed", id="two"):
            attempt()
    with refused("release-not-stored", cause="stored-release-changed"):
        ledger.store_period("s", "two", 2, b"again")
