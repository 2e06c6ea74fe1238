"""A ledger on a PostgreSQL server, for several machines: `postgresql://user@host/database?ledger=NAME`.

One row per ledger is the lock (`SELECT … FOR UPDATE`) and holds the head. Messages never repeat the driver's
text about a connection, because it could contain passwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from gaussmith.errors import LedgerError
from gaussmith.ledger.chain import LedgerEntry, failpoint
from gaussmith.ledger.pages import FORMAT, TABLES, Pages, existing, locked, missing, unreadable

CONVERSION = (
    """ALTER TABLE gaussmith_entries ADD COLUMN pure_charge TEXT NOT NULL DEFAULT '0',
        ADD COLUMN pure_spent TEXT NOT NULL DEFAULT '0', ADD COLUMN parent TEXT NOT NULL DEFAULT '',
        DROP CONSTRAINT gaussmith_entries_ledger_kind_release_id_key, ADD UNIQUE (ledger, kind, parent, release_id)""",
    """ALTER TABLE gaussmith_results ADD COLUMN parent TEXT NOT NULL DEFAULT '',
        DROP CONSTRAINT gaussmith_results_pkey, ADD PRIMARY KEY (ledger, parent, release_id)""",
)
"""From tables of format 2 to those of format 3. Their other ledgers stay in format 2, and what writes it can go on."""

SCHEMES = ("postgresql", "postgres")
CREATION_LOCK = 0x474D4C31  # any constant works, as long as all sessions that create tables use the same one


class PostgresStorage:
    """A ledger on the server at `url`."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url, self._name, self.where = split(url)
        self._timeout = timeout

    def create(self, first: LedgerEntry) -> None:
        """Create the tables if they do not exist, then the ledger, in one transaction."""
        with self._session() as (connection, pages):
            # Two sessions creating the same table at once can fail on PostgreSQL even with IF NOT EXISTS,
            # which also asks for the right to create tables where they are all there.
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (CREATION_LOCK,))
            if connection.execute("SELECT to_regclass('gaussmith_results')").fetchone() == (None,):
                for statement in TABLES:
                    connection.execute(statement.format(bytes="BYTEA"))
            _convert(connection)
            if pages.check_format():
                raise existing(self.where)
            pages.begin(first)
            connection.commit()

    @contextmanager
    def reading(self) -> Iterator[Pages]:
        """A snapshot."""
        with self._session(snapshot=True) as (_, pages):
            self._find(pages)
            yield pages

    @contextmanager
    def writing(self, step: str) -> Iterator[Pages]:
        """The ledger's row locked from the first statement on; on leaving, commit (flushed to disk by the server)."""
        with self._session() as (connection, pages):
            connection.execute("SELECT 1 FROM gaussmith_ledgers WHERE name = %s FOR UPDATE", (self._name,))
            self._find(pages)
            pages.check_writable()
            yield pages
            failpoint(f"before-{step}-commit")
            connection.commit()
            failpoint(f"after-{step}-commit")
            failpoint(f"before-{step}-head")  # the head was in the same commit
            failpoint(f"after-{step}-head")

    @contextmanager
    def upgrading(self) -> Iterator[Pages]:
        """One transaction with the tables altered, where no other ledger of the database had that done before."""
        with self._session() as (connection, pages):
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (CREATION_LOCK,))
            connection.execute("SELECT 1 FROM gaussmith_ledgers WHERE name = %s FOR UPDATE", (self._name,))
            self._find(pages)
            failpoint("before-upgrade-tables")
            _convert(connection)
            yield pages
            failpoint("before-upgrade-commit")
            connection.commit()
            failpoint("after-upgrade-commit")

    def check_file(self) -> None:
        """Do nothing: the server checks its own pages."""

    def _find(self, pages: Pages) -> None:
        if not pages.check_format():
            raise missing(self.where)

    @contextmanager
    def _session(self, snapshot: bool = False) -> Iterator[tuple[Any, Pages]]:
        psycopg = _driver()
        with self._translated(psycopg):
            # No prepared statements: poolers that hand a server session to several clients lose track of them.
            connection = psycopg.connect(
                self._url,
                connect_timeout=max(2, round(self._timeout)),
                prepare_threshold=None,
                application_name="gaussmith",
            )
            try:
                # Once the row is locked, READ COMMITTED sees what its last holder wrote; the server's default may not.
                level = psycopg.IsolationLevel
                connection.isolation_level = level.REPEATABLE_READ if snapshot else level.READ_COMMITTED
                connection.read_only = snapshot
                # All settings end with the transaction: a pooler may hand this session to someone else afterwards.
                milliseconds = max(1, round(self._timeout * 1000))
                settings = connection.execute(
                    "SELECT current_setting('fsync'), current_setting('synchronous_commit'),"
                    " set_config('lock_timeout', %s, true),"
                    " set_config('idle_in_transaction_session_timeout', '60s', true)",
                    (f"{milliseconds}ms",),
                ).fetchone()
                if settings[0] != "on":
                    raise LedgerError(
                        f"ledger={self.where} is on a server with fsync=off",
                        "a charge must survive a power failure",
                        "switch fsync on, or keep the ledger elsewhere",
                        code="postgres-without-fsync",
                        ledger=self.where,
                    )
                if settings[1] in ("off", "local"):
                    connection.execute("SET LOCAL synchronous_commit = on")

                def execute(statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
                    cursor = connection.execute(statement.replace("?", "%s"), tuple(values))
                    return iter(cursor) if cursor.description else iter(())

                yield connection, Pages(execute, self._name, self.where)
            finally:
                # Closing rolls back what was not committed.
                connection.close()

    @contextmanager
    def _translated(self, psycopg: Any) -> Iterator[None]:
        errors = psycopg.errors
        try:
            yield
        except (errors.LockNotAvailable, errors.QueryCanceled):
            raise locked(self.where, self._timeout) from None
        except errors.UndefinedTable:
            raise missing(self.where) from None
        except errors.UndefinedColumn:
            raise LedgerError(
                f"ledger={self.where} is in a database whose tables were made by another version of Gaussmith",
                f"this version reads and writes ledgers of format {FORMAT}",
                "use the version that made them, or another database or schema",
                code="postgres-tables-of-other-version",
                ledger=self.where,
            ) from None
        except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction):
            raise LedgerError(
                f"ledger={self.where} cannot be written by this user, or its server is read-only",
                "the user needs SELECT and INSERT on gaussmith_entries and gaussmith_results, "
                "SELECT and UPDATE on gaussmith_ledgers",
                "ask for these rights (to create a ledger: CREATE on the schema as well; to upgrade one: the tables)",
                code="postgres-not-permitted",
                ledger=self.where,
            ) from None
        except psycopg.OperationalError as error:
            raise LedgerError(
                f"ledger={self.where} cannot be reached{f' (SQLSTATE {error.sqlstate})' if error.sqlstate else ''}",
                "the server must accept the connection and keep it until the charge is written",
                "check server, database, user and password; then try again with the same release id: "
                "nothing is charged twice",
                code="postgres-not-reached",
                ledger=self.where,
            ) from None
        except psycopg.Error:
            raise unreadable(self.where) from None


def _convert(connection: Any) -> None:
    """Make the tables those of the newest format. Requires the lock of creation."""
    found = "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('gaussmith_results') AND attname = 'parent'"
    if connection.execute(found).fetchone() is None:
        for statement in CONVERSION:
            connection.execute(statement)


def split(url: str) -> tuple[str, str, str]:
    """The URL for the driver, the ledger's name, and the printable part (no user, no password, no other setting).

    >>> split("postgresql://ana:secret@db.example:5433/study?sslmode=require&ledger=visits")[1:]
    ('visits', 'postgresql://db.example:5433/study?ledger=visits')
    """
    try:
        parts = urlsplit(url)
        settings = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        names = [value for key, value in settings if key == "ledger"]
        # An @ behind the host is a password with an unescaped / or ?: what looks like the host would be a part of it.
        if parts.scheme not in SCHEMES or len(names) > 1 or parts.fragment or "@" in parts.path + parts.query:
            raise ValueError
    except ValueError:
        raise LedgerError(
            "the ledger's address cannot be read",
            "its form is postgresql://USER@HOST/DATABASE?ledger=NAME",
            "correct it; in a password write @ as %40, / as %2F, ? as %3F, # as %23",
            code="postgres-address-malformed",
        ) from None
    name = names[0] if names else "default"
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name):
        raise LedgerError(
            f"ledger={name[:80]!r} is not a valid name for a ledger",
            "it must have at most 64 letters, digits, _, . and -",
            "choose another name",
            code="postgres-ledger-name-malformed",
            ledger=name[:80],
        )
    rest = urlencode([(key, value) for key, value in settings if key != "ledger"], quote_via=quote)
    host = parts.netloc.rpartition("@")[2]
    address = f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{rest}" if rest else "")
    return address, name, f"{parts.scheme}://{host}{parts.path}?ledger={name}"


def _driver() -> Any:
    try:
        import psycopg
        import psycopg.errors
    except ImportError:
        what, rule = "psycopg is not installed", "a ledger on PostgreSQL needs it"
        raise LedgerError(what, rule, "pip install gaussmith[postgres]", code="psycopg-not-installed") from None
    return psycopg
