"""What is particular to a ledger on PostgreSQL: addresses, passwords, locks, rights, edits, a server that crashes."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal, refused

import gaussmith
from gaussmith.errors import LedgerError
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import UPGRADE_NAMES, VARIABLE
from gaussmith.ledger.postgres import split
from gaussmith.ledger.protection import EACH_ROW
from gaussmith.privacy.guarantee import Guarantee

EIGHTH = Guarantee(mu=0.125)


@pytest.fixture
def ledger(postgres_location: str) -> Ledger:
    return Ledger.create(postgres_location, Guarantee(mu=0.25), dataset="visits", keys_delta=2.0**-20)


def run(postgres: Any, statement: str, *values: object) -> list[Any]:
    """What someone with the rights of the owner can do."""
    import psycopg

    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        cursor = connection.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def name_of(location: str) -> str:
    return split(location)[1]


def test_the_same_protocol(ledger: Ledger, postgres_location: str) -> None:
    assert ledger.reserve("r", "request", EIGHTH, note={"a": "ü%?"}).state == "new"
    assert ledger.reserve("r", "request", EIGHTH).state == "pending"
    assert ledger.store("r", b"\0first") == b"\0first"
    assert ledger.store("r", b"second") == b"\0first"
    again = Ledger(postgres_location)
    assert again.reserve("r", "request", EIGHTH).payload == again.result("r") == b"\0first"
    assert again.dataset == "visits"
    assert json.loads(again.entries()[1].body)["note"] == {"a": "ü%?"}
    with refused("id-of-another-request", id="r"):
        again.reserve("r", "another", EIGHTH)
    with refused("budget-exceeded", mu=0.21650635094610965):
        again.reserve("s", "request", Guarantee(mu=0.3))
    found = again.verify(expect_head=str(ledger.head), records=[b"\0first"])
    assert (found.entries, found.releases, found.spent) == (3, 1, 2 ** (256 - 6))


def test_one_unit_and_two_caps(ledger: Ledger, postgres_location: str) -> None:
    assert (ledger.unit, ledger.keys_budget) == (None, 2 ** (256 - 20))
    ledger.reserve("a", "request", EIGHTH, unit=["person", "house \ud800"], keys_delta=2.0**-20)
    entries = ledger.entries()
    again = Ledger(postgres_location)
    for other in ("person", EACH_ROW):
        with refused("ledger-of-another-unit"):
            again.reserve("b", "request", EIGHTH, unit=other)
    with refused("keys-budget-exceeded", says="no release that finds keys"):
        again.reserve("b", "request", EIGHTH, unit=("house \ud800", "person"), keys_delta=Fraction(1, 2**999))
    assert again.entries() == entries
    found = again.verify()
    assert (found.unit, found.keys_spent) == (("house \ud800", "person"), ledger.keys_budget)
    told = Ledger.create(postgres_location + "-rows", EIGHTH, unit=EACH_ROW)
    assert told.unit == EACH_ROW
    with refused("ledger-of-another-unit", kept="each row"):
        told.reserve("a", "request", EIGHTH, unit="person")


def test_tables_of_the_first_format_are_refused_in_words(postgres: Any) -> None:
    import psycopg

    run(postgres, "CREATE DATABASE older")
    address = postgres.address.replace("/postgres?", "/older?")
    try:
        Ledger.create(f"{address}&ledger=first", EIGHTH)
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("ALTER TABLE gaussmith_entries DROP COLUMN keys_charge, DROP COLUMN keys_spent")
            connection.execute("UPDATE gaussmith_ledgers SET format = 1")
        with refused("ledger-of-other-format", format=1):
            Ledger(f"{address}&ledger=first")
        with refused("postgres-tables-of-other-version", ledger="postgresql:///older?ledger=second"):
            Ledger.create(f"{address}&ledger=second", EIGHTH)
    finally:
        run(postgres, "DROP DATABASE older")


FORMAT_2 = (
    """CREATE TABLE gaussmith_ledgers (
        name TEXT PRIMARY KEY, format BIGINT NOT NULL, head_seq BIGINT NOT NULL, head_hash TEXT NOT NULL)""",
    """CREATE TABLE gaussmith_entries (
        ledger TEXT NOT NULL, seq BIGINT NOT NULL, time BIGINT NOT NULL, kind TEXT NOT NULL, release_id TEXT NOT NULL,
        request_hash TEXT NOT NULL, plan_hash TEXT NOT NULL, charge TEXT NOT NULL, spent TEXT NOT NULL,
        keys_charge TEXT NOT NULL, keys_spent TEXT NOT NULL,
        software TEXT NOT NULL, payload_hash TEXT NOT NULL, body TEXT NOT NULL,
        previous TEXT NOT NULL, hash TEXT NOT NULL,
        PRIMARY KEY (ledger, seq), UNIQUE (ledger, kind, release_id))""",
    """CREATE TABLE gaussmith_results (
        ledger TEXT NOT NULL, release_id TEXT NOT NULL, payload BYTEA NOT NULL, PRIMARY KEY (ledger, release_id))""",
)
"""The tables as the version that wrote format 2 made them."""


@pytest.fixture
def older(postgres: Any) -> Iterator[str]:
    """The address of a database with two ledgers of format 2, `study` and `other`, as that version wrote them."""
    import psycopg

    run(postgres, "CREATE DATABASE older")
    address = postgres.address.replace("/postgres?", "/older?")
    stored = Path(__file__).parents[1] / "shared" / "ledgers" / "format-2.ledger"
    try:
        with psycopg.connect(address) as connection, sqlite3.connect(f"file:{stored}?immutable=1", uri=True) as file:
            for statement in FORMAT_2:
                connection.execute(statement)
            for table in ("gaussmith_ledgers", "gaussmith_entries", "gaussmith_results"):
                for _, *row in file.execute(f"SELECT * FROM {table}"):
                    for name in ("study", "other"):
                        marks = ", ".join(["%s"] * (len(row) + 1))
                        connection.execute(f"INSERT INTO {table} VALUES ({marks})", (name, *row))
        file.close()
        yield address
    finally:
        run(postgres, "DROP DATABASE older WITH (FORCE)")


def test_an_older_ledger_is_read_and_converted(older: str) -> None:
    ledger = Ledger(f"{older}&ledger=study")
    before = (ledger.verify(), ledger.entries(), ledger.result("march"))
    with refused("ledger-to-be-upgraded", format=2):
        ledger.reserve("april", "request", EIGHTH)
    after = Ledger.upgrade(f"{older}&ledger=study")
    assert (after.verify(), after.entries(), after.result("march")) == before
    assert after.reserve("april", "request", EIGHTH, periods=2).state == "new"
    assert after.store_period("april", "march", 1, b"week") == b"week" != after.result("march")
    assert after.verify().periods == 1
    other = Ledger(f"{older}&ledger=other")  # stays in format 2, in tables that have more columns now
    assert (other.verify(), other.entries(), other.result("march")) == before
    with refused("ledger-to-be-upgraded", format=2):
        other.reserve("april", "request", EIGHTH)
    assert Ledger.upgrade(f"{older}&ledger=other").verify() == before[0]
    pure = Ledger.create(f"{older}&ledger=new", Guarantee(epsilon=1, delta=1e-6), pure_epsilon=0.5)
    assert pure.verify().pure_budget == pure.pure_budget > 0


def test_a_new_ledger_beside_older_ones_converts_the_tables_and_not_them(older: str) -> None:
    import psycopg

    Ledger.create(f"{older}&ledger=new", EIGHTH).reserve("a", "request", EIGHTH)
    with psycopg.connect(older, autocommit=True) as connection:
        formats = dict(connection.execute("SELECT name, format FROM gaussmith_ledgers").fetchall())
        assert formats == {"study": 2, "other": 2, "new": 3}
        # What the older version writes, it can go on to write.
        connection.execute("INSERT INTO gaussmith_results (ledger, release_id, payload) VALUES ('study', 'x', 'x')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO gaussmith_results (ledger, release_id, payload) VALUES ('study', 'x', 'y')")
    assert Ledger(f"{older}&ledger=other").verify().releases == 4


@pytest.mark.parametrize("place", UPGRADE_NAMES)
def test_a_conversion_that_is_killed_loses_nothing(older: str, place: str) -> None:
    address = f"{older}&ledger=study"
    before = Ledger(address).verify()
    program = "import sys; from gaussmith.ledger.book import Ledger; Ledger.upgrade(sys.argv[1])"
    path = os.pathsep.join([str(Path(gaussmith.__path__[0]).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, VARIABLE: place, "PYTHONPATH": path}
    killed = subprocess.run([sys.executable, "-c", program, address], env=environment, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert Ledger(address).verify() == before
    assert Ledger.upgrade(address).verify() == before
    assert Ledger(address).reserve("april", "request", EIGHTH).state == "new"


def test_several_ledgers_share_a_database(postgres: Any, ledger: Ledger, postgres_location: str) -> None:
    other = Ledger.create(postgres_location + "-other", EIGHTH)
    other.reserve("r", "request", EIGHTH)
    assert (ledger.spent, other.remaining) == (0, 0)
    assert ledger.reserve("r", "another request", EIGHTH).state == "new"
    ledger.verify()
    other.verify()


def test_missing_and_existing(postgres: Any, ledger: Ledger, postgres_location: str) -> None:
    where = "postgresql:///postgres?ledger=nowhere"
    with refused("no-such-ledger", says=f'gaussmith.Ledger.create("{where}", ', ledger=where):
        Ledger(f"{postgres.address}&ledger=nowhere")
    with refused("ledger-exists"):
        Ledger.create(postgres_location, EIGHTH)


def test_a_database_without_tables(postgres: Any) -> None:
    with refused("no-such-ledger", ledger="postgresql:///template1?ledger=default"):
        Ledger(postgres.address.replace("/postgres?", "/template1?"))


def test_of_many_who_create_it_one_does(postgres: Any, postgres_location: str) -> None:
    outcomes: list[str] = []

    def create() -> None:
        try:
            Ledger.create(postgres_location, EIGHTH)
            outcomes.append("made")
        except LedgerError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["ledger-exists"] * 5 + ["made"]


def test_no_password_in_any_message(postgres: Any, postgres_location: str) -> None:
    wrong = postgres_location.replace("postgres:s3cret-Passw0rd", "stranger:wr0ng-Passw0rd")
    nowhere = "postgresql://ana:wr0ng-Passw0rd@127.0.0.1:1/x?ledger=y&password=wr0ng-Passw0rd"
    odd = postgres_location.replace("s3cret-Passw0rd", "wr0ng-Passw0rd") + "&wr0ng=wr0ng-Passw0rd"
    open_it: Callable[[str], Ledger] = partial(Ledger, timeout=3)
    create_it: Callable[[str], Ledger] = partial(Ledger.create, guarantee=EIGHTH, timeout=3)
    for location, attempt in itertools.product((wrong, nowhere, odd), (open_it, create_it)):
        with pytest.raises(LedgerError) as error:
            attempt(location)
        assert "wr0ng" not in f"{error.value} {error.value.fields}"
        assert error.value.__cause__ is None
        assert error.value.__suppress_context__
    with refused("postgres-not-reached", ledger="postgresql://127.0.0.1:1/x?ledger=y"):
        Ledger(nowhere, timeout=3)
    assert "s3cret" not in repr(Ledger.create(postgres_location, EIGHTH))


def test_a_locked_ledger(postgres: Any, ledger: Ledger, postgres_location: str) -> None:
    import psycopg

    ledger.reserve("before", "request", EIGHTH)
    impatient = Ledger(postgres_location, timeout=0.1)
    with psycopg.connect(postgres.address) as connection:
        name = name_of(postgres_location)
        connection.execute("SELECT 1 FROM gaussmith_ledgers WHERE name = %s FOR UPDATE", (name,))
        assert impatient.spent > 0  # reading goes on
        with refused("ledger-locked", timeout=0.1):
            impatient.reserve("r", "request", EIGHTH)
        with refused("release-not-stored", id="before", cause="ledger-locked"):
            impatient.store("before", b"bytes")
    assert impatient.store("before", b"bytes") == b"bytes"


def test_the_rights_that_suffice_and_those_that_do_not(postgres: Any, ledger: Ledger, postgres_location: str) -> None:
    run(postgres, "DROP ROLE IF EXISTS clerk")
    run(postgres, "CREATE ROLE clerk LOGIN PASSWORD 'clerk'")
    location = postgres_location.replace("postgres:s3cret-Passw0rd@", "clerk:clerk@")
    try:
        with refused("postgres-not-permitted"):
            Ledger(location)
        run(postgres, "GRANT SELECT, INSERT ON gaussmith_entries, gaussmith_results TO clerk")
        run(postgres, "GRANT SELECT, UPDATE ON gaussmith_ledgers TO clerk")
        clerk = Ledger(location)
        clerk.reserve("r", "request", EIGHTH)
        assert clerk.store("r", b"bytes") == b"bytes"
        assert clerk.verify().releases == 1
        with refused("postgres-not-permitted"):
            Ledger.create(location + "-new", EIGHTH)
    finally:
        run(postgres, "DROP OWNED BY clerk")
        run(postgres, "DROP ROLE clerk")


def test_a_charge_does_not_trust_the_settings_of_the_session(postgres: Any, ledger: Ledger) -> None:
    run(postgres, "ALTER ROLE postgres SET synchronous_commit = off")
    run(postgres, "ALTER ROLE postgres SET default_transaction_isolation = 'serializable'")
    run(postgres, "ALTER ROLE postgres SET default_transaction_read_only = on")
    try:
        ledger.reserve("r", "request", EIGHTH)
        ledger.verify()
        with ledger._storage.writing("store") as pages:
            assert list(pages._execute("SHOW synchronous_commit")) == [("on",)]
            assert list(pages._execute("SHOW transaction_isolation")) == [("read committed",)]
    finally:
        run(postgres, "ALTER ROLE postgres RESET ALL")


def test_a_server_that_does_not_flush_is_refused(postgres: Any, ledger: Ledger) -> None:
    run(postgres, "ALTER SYSTEM SET fsync = off")
    run(postgres, "SELECT pg_reload_conf()")
    try:
        # The server takes a moment to read its settings again.
        with refused("postgres-without-fsync"):
            for _ in range(1000):
                ledger.reserve("r", "request", EIGHTH)
    finally:
        run(postgres, "ALTER SYSTEM RESET fsync")
        run(postgres, "SELECT pg_reload_conf()")
    while run(postgres, "SHOW fsync") != [("on",)]:
        time.sleep(0.01)


def test_charges_survive_a_crash_of_the_server(postgres: Any, ledger: Ledger) -> None:
    ledger.reserve("a", "request", EIGHTH)
    ledger.store("a", b"bytes")
    head = ledger.reserve("b", "request", EIGHTH).receipt
    postgres.stop(signal.SIGQUIT)
    try:
        with refused("postgres-not-reached"):
            ledger.reserve("c", "request", EIGHTH)
        with refused("release-not-stored", id="b", cause="postgres-not-reached"):
            ledger.store("b", b"bytes")
    finally:
        postgres.start()
    assert ledger.verify(expect_head=str(head), records=[b"bytes"]).pending == ("b",)
    assert ledger.reserve("b", "request", EIGHTH).state == "pending"


EDITS = {
    "edited": (
        "UPDATE gaussmith_entries SET charge = '0' WHERE ledger = %s AND seq = 1",
        refusal("ledger-entry-changed", entry=1),
    ),
    "truncated": ("DELETE FROM gaussmith_entries WHERE ledger = %s AND seq = 3", "ledger-rolled-back"),
    "release changed": (
        "UPDATE gaussmith_results SET payload = 'x' WHERE ledger = %s",
        refusal("stored-release-changed", id="a"),
    ),
    "release gone": (
        "DELETE FROM gaussmith_results WHERE ledger = %s",
        refusal("stored-release-changed", id="a"),
    ),
    "unit changed": (
        """UPDATE gaussmith_entries SET body = replace(body, '["person"]', '[]') WHERE ledger = %s AND seq = 1""",
        refusal("ledger-entry-changed", entry=1),
    ),
    "κ erased": (
        "UPDATE gaussmith_entries SET keys_charge = '0' WHERE ledger = %s AND seq = 1",
        refusal("ledger-entry-changed", entry=1),
    ),
    "newer format": (
        "UPDATE gaussmith_ledgers SET format = 4 WHERE name = %s",
        refusal("ledger-of-other-format", format=4),
    ),
    "older format": (
        "UPDATE gaussmith_ledgers SET format = 1 WHERE name = %s",
        refusal("ledger-of-other-format", format=1),
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_ledger(postgres: Any, ledger: Ledger, postgres_location: str, edit: str) -> None:
    ledger.reserve("a", "request", EIGHTH, unit="person", keys_delta=2.0**-30)
    ledger.store("a", b"bytes")
    ledger.reserve("b", "request", EIGHTH)
    ledger.verify()
    statement, expected = EDITS[edit]
    run(postgres, statement, name_of(postgres_location))
    with refused(expected, LedgerError):
        ledger.verify()


def test_a_ledger_rolled_back_with_its_head_is_shown_by_receipts(
    postgres: Any, ledger: Ledger, postgres_location: str
) -> None:
    older = ledger.reserve("a", "request", EIGHTH).receipt
    newer = ledger.reserve("b", "request", EIGHTH).receipt
    name = name_of(postgres_location)
    run(postgres, "DELETE FROM gaussmith_entries WHERE ledger = %s AND seq = 2", name)
    statement = "UPDATE gaussmith_ledgers SET head_seq = %s, head_hash = %s WHERE name = %s"
    run(postgres, statement, older.seq, older.hash, name)
    assert ledger.verify(expect_head=str(older)).entries == 2
    with refused("ledger-rolled-back", entry=2, last=1):
        ledger.verify(expect_head=str(newer))


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with refused("psycopg-not-installed", says="pip install gaussmith[postgres]"):
        Ledger("postgresql://db.example/study")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ana:se/cret@db/study",
        "postgresql://ana:se?cret@db/study",
        "postgresql://ana:se?c=ret@db/study",
        "postgresql://ana:se#cret@db/study",
        "postgresql://ana:secret@[db/study",
        "postgresql://db/study?ledger=a&ledger=b",
        "postgresql://db/study?secret",
        "http://db/study",
    ],
)
def test_an_address_that_cannot_be_read(address: str) -> None:
    with refused("postgres-address-malformed", LedgerError) as error:
        Ledger(address)
    assert "secret" not in str(error.value) and not error.value.fields


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "ü", "a;b"])
def test_a_name_that_no_ledger_may_have(name: str) -> None:
    with refused("postgres-ledger-name-malformed"):
        split(f"postgresql://db/study?ledger={name}")


def test_what_goes_to_the_driver() -> None:
    assert split("postgres://a:b%40c@h:5/d?sslmode=require&ledger=x&host=/run/pg") == (
        "postgres://a:b%40c@h:5/d?sslmode=require&host=%2Frun%2Fpg",
        "x",
        "postgres://h:5/d?ledger=x",
    )
    assert split("postgresql:///d") == ("postgresql:///d", "default", "postgresql:///d?ledger=default")
