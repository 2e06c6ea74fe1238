"""A ledger in a file: SQLite in WAL mode with full synchronisation, and a file `NAME.head` that never goes back.

The head file names the newest entry. It is written after the commit and before anything is returned. So a ledger that
is *behind* its head was truncated or replaced by an older copy, and one that is ahead of it saw a crash in between.
"""

from __future__ import annotations

import glob
import os
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import LedgerError
from gaussmith.ledger.chain import ADDED, LedgerEntry, Receipt, failpoint
from gaussmith.ledger.pages import COLUMNS, FORMAT, TABLES, Pages, existing, locked, missing, unreadable

APPLICATION_ID = 0x474D4C31  # "GML1": how a file is known to be a ledger before any table of it is read

# Against accidents only: anyone who can write the file can drop these. The chain detects edits.
GUARDS = tuple(
    f"""CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table}
        BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END"""
    for table in ("gaussmith_entries", "gaussmith_results")
    for verb in ("UPDATE", "DELETE")
)


def _conversion() -> Iterator[str]:
    """The statements that make tables of format 2 into those of format 3: a key of a table cannot be altered."""
    tables = {
        "gaussmith_entries": [c for c in COLUMNS if c not in ADDED],
        "gaussmith_results": ["release_id", "payload"],
    }
    for table, columns in tables.items():
        names = ", ".join(["ledger", *columns])
        yield f"ALTER TABLE {table} RENAME TO {table}_before"
        yield next(each for each in TABLES if f"CREATE TABLE {table} " in each).format(bytes="BLOB")
        yield f"INSERT INTO {table} ({names}) SELECT {names} FROM {table}_before"
        yield f"DROP TABLE {table}_before"
    yield from GUARDS


UNWRITABLE = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
)
"""SQLite errors for a disk that is full or not writable; the ledger itself is sound."""


class SqliteStorage:
    """A ledger in the file `path`."""

    def __init__(self, path: str | os.PathLike[str], timeout: float) -> None:
        self.where = without_secrets(path)
        # Links are followed, so that the head is next to the file itself, whatever name is used.
        self._path = Path(os.path.expanduser(path)).resolve()
        self._head = self._path.with_name(self._path.name + ".head")
        self._timeout = timeout
        self._tidied = False

    def create(self, first: LedgerEntry) -> None:
        """Build the file aside, then link it into place: it appears complete or not at all; nothing is replaced."""
        if self._path.exists():
            raise existing(self.where)
        pinned = self._read_head()
        if pinned is not None and pinned.seq > 0:
            raise LedgerError(
                f"no ledger at {self.where}, but {self._head.name} shows that one with charges was there",
                "a ledger with charges cannot be started again",
                "restore it, or choose another name",
                code="ledger-lost-but-head-kept",
                ledger=self.where,
                head=self._head.name,
            )
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}-{threading.get_ident()}.new")
        try:
            with suppress(FileNotFoundError):
                draft.unlink()
            with self._translated():
                connection = sqlite3.connect(draft, isolation_level=None)
                try:
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute("PRAGMA journal_mode = WAL")
                    connection.execute("PRAGMA synchronous = FULL")
                    connection.execute("BEGIN IMMEDIATE")
                    for statement in (*(t.format(bytes="BLOB") for t in TABLES), *GUARDS):
                        connection.execute(statement)
                    _pages(connection, self.where).begin(first)
                    connection.execute("COMMIT")
                finally:
                    connection.close()
            _flush(draft)
            os.link(draft, self._path)
            with suppress(FileNotFoundError):  # a process that opens the ledger first removes it
                draft.unlink()
            with self._translated(), self._open() as made:
                made.execute("BEGIN IMMEDIATE")  # another process may have charged it already, and moved the head on
                self._tidy()
                self._write_head(_pages(made, self.where).head())
        except FileExistsError:
            raise existing(self.where) from None
        except OSError as error:
            if isinstance(error, FileNotFoundError) and self._path.exists():
                raise existing(self.where) from None  # another process created it and removed our draft
            raise LedgerError(
                f"ledger={self.where} cannot be created ({error.strerror})",
                "its directory must exist and be writable",
                "choose a path you can write to",
                code="ledger-not-created",
                reason=error.strerror,
                ledger=self.where,
            ) from None
        finally:
            with suppress(OSError):
                draft.unlink()

    @contextmanager
    def reading(self) -> Iterator[Pages]:
        """A snapshot. The head is read first; otherwise a charge made in between would look like a roll-back."""
        pinned = self._read_head()
        with self._translated(), self._open() as connection:
            connection.execute("BEGIN")
            yield self._checked(connection, pinned)

    @contextmanager
    def writing(self, step: str) -> Iterator[Pages]:
        """The write lock from the first statement on; on leaving, commit (WAL flushed to disk), then move the head."""
        with self._translated(), self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._tidy()
            pages = self._checked(connection, self._read_head())
            pages.check_writable()
            yield pages
            failpoint(f"before-{step}-commit")
            connection.execute("COMMIT")
            failpoint(f"after-{step}-commit")
            # The lock again, so that of two processes the one with the older entry cannot write the head last.
            connection.execute("BEGIN IMMEDIATE")
            self._write_head(_pages(connection, self.where).head(), step)
            failpoint(f"after-{step}-head")

    @contextmanager
    def upgrading(self) -> Iterator[Pages]:
        """One transaction that makes the tables anew; SQLite keeps the old ones until it commits. The head stays."""
        with self._translated(), self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._tidy()
            pages = self._checked(connection, self._read_head())
            failpoint("before-upgrade-tables")
            if pages.format != FORMAT:
                for statement in _conversion():
                    connection.execute(statement)
            yield pages
            failpoint("before-upgrade-commit")
            connection.execute("COMMIT")
            failpoint("after-upgrade-commit")

    def check_file(self) -> None:
        """Let SQLite check every page of the file."""
        with self._translated(), self._open() as connection:
            if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise unreadable(self.where)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # One connection per transaction: nothing to share between threads, nothing to inherit over a fork.
        if not self._path.exists():
            raise missing(self.where)
        if not self._path.is_file():
            raise self._foreign()
        self._check_only_name()
        connection = sqlite3.connect(
            self._path.as_uri() + "?mode=rw", uri=True, isolation_level=None, timeout=self._timeout
        )
        try:
            if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
                raise self._foreign()
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
            yield connection
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        finally:
            # Closing rolls back what was not committed.
            connection.close()

    def _check_only_name(self) -> None:
        """Refuse a file with a second hard link: SQLite keeps recent charges beside the name, unseen by the other."""
        if self._path.stat().st_nlink == 1:
            return
        for draft in self._path.parent.glob(f".{glob.escape(self._path.name)}.*.new"):  # left by a killed `create`
            with suppress(OSError):
                if draft.samefile(self._path):
                    draft.unlink()
        if self._path.stat().st_nlink > 1:
            raise LedgerError(
                f"ledger={self.where} has a second name, a hard link",
                "charges made under one name may not be visible under the other",
                "remove the other name; a symbolic link is fine",
                code="ledger-with-hard-link",
                ledger=self.where,
            )

    def _checked(self, connection: sqlite3.Connection, pinned: Receipt | None) -> Pages:
        pages = _pages(connection, self.where)
        if not pages.check_format():
            raise unreadable(self.where)
        pages.pinned = pinned
        if pinned is None and pages.head().seq > 0 and not self._head.exists():
            raise LedgerError(
                f"ledger={self.where} has lost its head file {self._head.name}",
                "a ledger must be moved together with its head file, which shows that it was not rolled back",
                "copy it from where the ledger came from",
                code="ledger-head-lost",
                ledger=self.where,
                head=self._head.name,
            )
        return pages

    def _read_head(self) -> Receipt | None:
        try:
            return Receipt.read(self._head.read_text("ascii"))
        except FileNotFoundError:
            return None
        except (LedgerError, ValueError, OSError):
            raise LedgerError(
                f"head={self._head.name} of ledger={self.where} cannot be read",
                "it must hold one line NUMBER:HASH",
                "copy it from where the ledger came from",
                code="ledger-head-not-readable",
                head=self._head.name,
                ledger=self.where,
            ) from None

    def _write_head(self, head: Receipt, step: str = "") -> None:
        """Replace the head atomically. Requires the write lock: only its holder writes the draft, under one name."""
        if self._read_head() == head:
            return
        draft = self._head.with_name(f".{self._head.name}.new")
        with suppress(FileNotFoundError):  # left by a process that was killed, perhaps that of another user
            draft.unlink()
        with draft.open("x", encoding="ascii") as file:
            file.write(f"{head}\n")
        _flush(draft)
        failpoint(f"before-{step}-head")
        os.replace(draft, self._head)
        if os.name == "posix":
            _flush(self._head.parent)

    def _tidy(self) -> None:
        """Remove the drafts of a ledger that killed processes left, once for each opening. Requires the write lock.

        A draft of a living process stays: it belongs to a `create` that is running and will be refused. A draft of the
        head needs no such care: the next writer replaces it.
        """
        if self._tidied:
            return
        self._tidied = True
        draft = re.compile(rf"\.{re.escape(self._path.name)}\.([0-9]+)-[0-9]+\.new(-wal|-shm|-journal)?")
        with suppress(OSError):
            for file in self._path.parent.iterdir():
                match = draft.fullmatch(file.name)
                if match is not None and not _is_alive(int(match[1])):
                    file.unlink(missing_ok=True)

    def _foreign(self) -> LedgerError:
        return LedgerError(
            f"{self.where} is not a Gaussmith ledger",
            "only a file created by `gaussmith ledger init` can be charged",
            "check the path, or create a ledger under another name",
            code="file-not-a-ledger",
            ledger=self.where,
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise locked(self.where, self._timeout) from None
            if code == sqlite3.SQLITE_NOTADB:
                raise self._foreign() from None
            if code in UNWRITABLE:
                raise self._unwritable(str(error)) from None
            raise unreadable(self.where) from None
        except UnicodeDecodeError:  # SQLite quotes the damaged bytes in its message, and Python cannot read that
            raise unreadable(self.where) from None
        except OSError as error:
            raise self._unwritable(error.strerror or "input or output failed") from None

    def _unwritable(self, reason: str) -> LedgerError:
        return LedgerError(
            f"ledger={self.where} cannot be written ({reason})",
            "its file and directory must be writable, with room on the disk",
            "check permissions and space; then try again with the same release id: nothing is charged twice",
            code="ledger-not-writable",
            reason=reason,
            ledger=self.where,
        )


def _pages(connection: sqlite3.Connection, where: str) -> Pages:
    def execute(statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        return connection.execute(statement, values)

    return Pages(execute, "file", where)


def _is_alive(process: int) -> bool:
    """Whether there is such a process; True if this cannot be determined."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
