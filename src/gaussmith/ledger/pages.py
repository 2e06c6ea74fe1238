"""The tables of a ledger and what one transaction may do with them: the same SQL for SQLite and PostgreSQL.

The storages (`sqlite.py`, `postgres.py`) open transactions; the rules (`book.py`) decide what is written in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from gaussmith.errors import LedgerError
from gaussmith.ledger.chain import ADDED, AMOUNTS, LedgerEntry, Receipt, broken, check_seal, digest
from gaussmith.notations import PYTHON, notation

FORMAT = 3
"""Format 2 added a unit, and a second amount for each charge, κ. Format 3 added a third, pure ε, and the periods of a
series, which are entries with a parent."""

READABLE = (2, FORMAT)
"""Formats that can be read; only the last can be written."""

TABLES = (
    """CREATE TABLE gaussmith_ledgers (
        name TEXT PRIMARY KEY, format BIGINT NOT NULL, head_seq BIGINT NOT NULL, head_hash TEXT NOT NULL)""",
    """CREATE TABLE gaussmith_entries (
        ledger TEXT NOT NULL, seq BIGINT NOT NULL, time BIGINT NOT NULL, kind TEXT NOT NULL, release_id TEXT NOT NULL,
        request_hash TEXT NOT NULL, plan_hash TEXT NOT NULL, charge TEXT NOT NULL, spent TEXT NOT NULL,
        keys_charge TEXT NOT NULL, keys_spent TEXT NOT NULL,
        pure_charge TEXT NOT NULL DEFAULT '0', pure_spent TEXT NOT NULL DEFAULT '0', parent TEXT NOT NULL DEFAULT '',
        software TEXT NOT NULL, payload_hash TEXT NOT NULL, body TEXT NOT NULL,
        previous TEXT NOT NULL, hash TEXT NOT NULL,
        PRIMARY KEY (ledger, seq), UNIQUE (ledger, kind, parent, release_id))""",
    """CREATE TABLE gaussmith_results (
        ledger TEXT NOT NULL, release_id TEXT NOT NULL, payload {bytes} NOT NULL, parent TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (ledger, parent, release_id))""",
)
"""What format 3 added has defaults: a version that writes format 2 can go on in the same database of PostgreSQL."""

COLUMNS = (
    "seq",
    "time",
    "kind",
    "release_id",
    "request_hash",
    "plan_hash",
    "charge",
    "spent",
    "keys_charge",
    "keys_spent",
    "pure_charge",
    "pure_spent",
    "parent",
    "software",
    "payload_hash",
    "body",
    "previous",
    "hash",
)


class Execute(Protocol):
    """Run one statement with `?` for its values and yield its rows."""

    def __call__(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]: ...


class Storage(Protocol):
    """The storage of a ledger. `where` names it in messages, without any password."""

    where: str

    def create(self, first: LedgerEntry) -> None:
        """Create a ledger whose only entry is `first`; refused if one already exists."""
        ...

    def reading(self) -> AbstractContextManager[Pages]:
        """A consistent snapshot."""
        ...

    def writing(self, step: str) -> AbstractContextManager[Pages]:
        """A transaction of the only writer: leaving it commits durably, an exception rolls back."""
        ...

    def check_file(self) -> None:
        """Check the storage itself."""
        ...

    def upgrading(self) -> AbstractContextManager[Pages]:
        """A transaction of the only writer on a ledger of any format that can be read; its tables are made ready for
        the newest format. Leaving it commits durably, an exception rolls back."""
        ...


class Pages:
    """One transaction's view of one ledger. `pinned` is a head kept outside the tables, if the storage keeps one."""

    def __init__(self, execute: Execute, name: str, where: str) -> None:
        self._execute, self._name, self.where = execute, name, where
        self.pinned: Receipt | None = None
        self.format = FORMAT

    def begin(self, first: LedgerEntry) -> None:
        """Write the first entry of a new ledger."""
        list(
            self._execute(
                "INSERT INTO gaussmith_ledgers (name, format, head_seq, head_hash) VALUES (?, ?, ?, ?)",
                (self._name, FORMAT, first.seq, first.hash),
            )
        )
        self._insert(first)

    def append(self, entry: LedgerEntry, payload: bytes | None = None) -> None:
        """Add an entry, its payload if it has one, and move the head."""
        self._insert(entry)
        if payload is not None:
            list(
                self._execute(
                    "INSERT INTO gaussmith_results (ledger, parent, release_id, payload) VALUES (?, ?, ?, ?)",
                    (self._name, entry.parent, entry.release_id, payload),
                )
            )
        list(
            self._execute(
                "UPDATE gaussmith_ledgers SET head_seq = ?, head_hash = ? WHERE name = ?",
                (entry.seq, entry.hash, self._name),
            )
        )

    def check_format(self) -> bool:
        """Whether there is a ledger with this name; a format that cannot be read is refused."""
        rows = list(self._execute("SELECT format FROM gaussmith_ledgers WHERE name = ?", (self._name,)))
        if rows and rows[0][0] not in READABLE:
            raise other_format(self.where, rows[0][0]) if isinstance(rows[0][0], int) else unreadable(self.where)
        self.format = rows[0][0] if rows else FORMAT
        return bool(rows)

    def check_writable(self) -> None:
        """Refuse to write in an older format, which can only be read."""
        if self.format != FORMAT:
            raise older_format(self.where, self.format)

    def upgrade(self) -> None:
        """Say that the ledger has the newest format. Its entries stay as they are: their hashes say the same in it."""
        list(self._execute("UPDATE gaussmith_ledgers SET format = ? WHERE name = ?", (FORMAT, self._name)))
        self.format = FORMAT

    def head(self) -> Receipt:
        """The newest entry according to the ledger's own row."""
        rows = list(self._execute("SELECT head_seq, head_hash FROM gaussmith_ledgers WHERE name = ?", (self._name,)))
        if not rows or not isinstance(rows[0][0], int):  # damaged since the format was checked, or before
            raise unreadable(self.where)
        return Receipt(rows[0][0], str(rows[0][1]))

    def last(self) -> LedgerEntry | None:
        """The newest entry."""
        return next(self._select("ORDER BY seq DESC LIMIT 1"), None)

    def at(self, seq: int) -> LedgerEntry | None:
        """The entry with that number."""
        return next(self._select("AND seq = ?", seq), None)

    def find(self, kind: str, release_id: str) -> LedgerEntry | None:
        """The one entry of that kind for that release."""
        return next(self._select("AND kind = ? AND release_id = ?", kind, release_id), None)

    def periods(self, series: str) -> Iterator[LedgerEntry]:
        """The stored periods of a series, oldest first."""
        return self._select("AND kind = 'period' AND parent = ? ORDER BY seq", series)

    def entries(self) -> Iterator[LedgerEntry]:
        """All entries, oldest first."""
        return self._select("ORDER BY seq")

    def charged(self, seq: int) -> int:
        """How many releases were charged up to and with that entry; counted where the entries are."""
        statement = "SELECT COUNT(*) FROM gaussmith_entries WHERE ledger = ? AND kind = 'reserve' AND seq <= ?"
        return int(next(self._execute(statement, (self._name, seq)))[0])

    def naming(self, field: str) -> Iterator[LedgerEntry]:
        """The entries whose body has that name in it, oldest first, each read only when it is asked for."""
        name, found = f'%"{field}":%', self.at(0)
        while found is not None:
            yield found
            found = next(self._select("AND seq > ? AND body LIKE ? ORDER BY seq LIMIT 1", found.seq, name), None)

    def ends(self) -> tuple[LedgerEntry, LedgerEntry]:
        """The first and the last entry, after checking their hashes and that they match every head.

        Every charge does this, and reads the entries that first state neighbours and unit: so few whatever the length.
        `verification.py` checks everything else.
        """
        first, last = self.at(0), self.last()
        if first is None or last is None:
            raise broken(self.where, "it has no entries", code="ledger-without-entries")
        check_seal(first, self.where)
        check_seal(last, self.where)
        for head in (self.head(), self.pinned):
            if head is not None and head != last.receipt:
                self._check_behind(head, last)
        return first, last

    def stored(self, release_id: str) -> bytes | None:
        """The stored bytes of that release, checked against the chain; None if nothing was stored."""
        entry = self.find("store", release_id)
        return None if entry is None else self.bytes_of(entry)

    def bytes_of(self, entry: LedgerEntry) -> bytes:
        """What an entry stored, checked against the chain."""
        payload = self.payload(entry)
        if payload is None or digest(payload) != check_seal(entry, self.where).payload_hash:
            what = f"the stored release id={entry.release_id!r} is missing or was changed"
            raise broken(self.where, what, code="stored-release-changed", id=entry.release_id)
        return payload

    def payload(self, entry: LedgerEntry) -> bytes | None:
        """The bytes stored with an entry."""
        statement = "SELECT payload FROM gaussmith_results WHERE ledger = ? AND release_id = ?"
        statement += " AND parent = ?" if self.format == FORMAT else ""
        values = (self._name, entry.release_id, entry.parent)
        rows = list(self._execute(statement, values[: statement.count("?")]))
        return bytes(rows[0][0]) if rows else None

    def stored_ids(self) -> set[tuple[str, str]]:
        """The releases that have stored bytes, each behind its series if it is a period."""
        parent = "parent" if self.format == FORMAT else "''"
        rows = self._execute(f"SELECT {parent}, release_id FROM gaussmith_results WHERE ledger = ?", (self._name,))
        return {(str(row[0]), str(row[1])) for row in rows}

    def _check_behind(self, head: Receipt, last: LedgerEntry) -> None:
        if head.seq > last.seq:
            what = f"its head is entry {head.seq}, its last is entry {last.seq}: it was truncated or rolled back"
            raise broken(self.where, what, code="ledger-rolled-back", entry=head.seq, last=last.seq)
        entry = self.at(head.seq)
        if entry is None or entry.receipt != head:
            what = f"entry {head.seq} is not the one its head names: the history was rewritten"
            raise broken(self.where, what, code="ledger-history-rewritten", entry=head.seq)

    def _insert(self, entry: LedgerEntry) -> None:
        values = [str(getattr(entry, c)) if c in AMOUNTS else getattr(entry, c) for c in COLUMNS]
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        list(
            self._execute(
                f"INSERT INTO gaussmith_entries (ledger, {', '.join(COLUMNS)}) VALUES ({marks})", [self._name, *values]
            )
        )

    def _select(self, rest: str, *values: Any) -> Iterator[LedgerEntry]:
        # In format 2 the tables may lack what format 3 added.
        added = {} if self.format == FORMAT else {name: f"'{value}'" for name, value in ADDED.items()}
        columns = ", ".join(added.get(column, column) for column in COLUMNS)
        statement = f"SELECT {columns} FROM gaussmith_entries WHERE ledger = ? {rest}"
        return (self._entry(row) for row in self._execute(statement, (self._name, *values)))

    def _entry(self, row: tuple[Any, ...]) -> LedgerEntry:
        fields = dict(zip(COLUMNS, row, strict=True))
        if any(isinstance(value, bytes) for value in row):  # a damaged file may say so of a text
            raise unreadable(self.where)
        try:
            return LedgerEntry(**{**fields, **{name: int(fields[name]) for name in AMOUNTS}})
        except (TypeError, ValueError):
            raise unreadable(self.where) from None


def missing(where: str) -> LedgerError:
    """The error for a ledger that does not exist."""
    shown = f"'{where}'" if "://" in where else where
    create = f"gaussmith ledger init {shown} --epsilon 3 --delta 1e-6"
    if notation() == PYTHON:
        create = f'gaussmith.Ledger.create("{where}", gaussmith.Guarantee(epsilon=3, delta=1e-6))'
    return LedgerError(
        f"no ledger at {where}",
        "it is created once, before anything is charged to it or read from it",
        f"check the name, or create it: {create}",
        code="no-such-ledger",
        ledger=where,
    )


def existing(where: str) -> LedgerError:
    """The error for creating a ledger over another."""
    return LedgerError(
        f"ledger={where} already exists",
        "a ledger is never overwritten: the record of what was spent would be lost",
        "use it as it is, or choose another name",
        code="ledger-exists",
        ledger=where,
    )


def other_format(where: str, found: int) -> LedgerError:
    """The error for a ledger that another version wrote."""
    if found > FORMAT:
        remedy = "use the version that wrote it, or a newer one"
    else:
        remedy = "use the version that wrote it, or start a new ledger with the budget that is left"
    what, rule = f"ledger={where} has format={found}", f"this version of Gaussmith reads formats 2 and {FORMAT}"
    return LedgerError(what, rule, remedy, code="ledger-of-other-format", ledger=where, format=found)


def older_format(where: str, found: int) -> LedgerError:
    """The error for writing into a ledger that must be converted first."""
    upgrade = f"gaussmith ledger upgrade {where}"
    if "://" in where:
        upgrade = f"gaussmith ledger upgrade '{where}'"
    if notation() == PYTHON:
        upgrade = f'gaussmith.Ledger.upgrade("{where}")'
    return LedgerError(
        f"ledger={where} has format={found}",
        f"this version of Gaussmith reads it, and writes format {FORMAT} alone; nothing was charged",
        f"convert it once, which loses nothing: {upgrade}",
        code="ledger-to-be-upgraded",
        ledger=where,
        format=found,
    )


def locked(where: str, timeout: float) -> LedgerError:
    """The error for a ledger that was locked by others for too long."""
    return LedgerError(
        f"ledger={where} has been locked by another process for {timeout:g} s or more",
        "charges are made one at a time",
        "try again; with the same release id nothing is charged twice",
        code="ledger-locked",
        ledger=where,
        timeout=timeout,
    )


def unreadable(where: str) -> LedgerError:
    """The error for a ledger whose storage is damaged."""
    return LedgerError(
        f"ledger={where} is damaged and cannot be read",
        "a ledger that cannot be read in full is not charged",
        "restore the newest intact copy and check it against the receipts of past releases",
        code="ledger-damaged",
        ledger=where,
    )
