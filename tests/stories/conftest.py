"""A folder with a small table; and a PostgreSQL server, started by the tests themselves in a directory of their own.

The server comes from the pgserver wheel or from the path. It refuses to run as root: root's rights are dropped for it.
It listens on a socket in its directory only and is gone when the tests end. Only `stranger` is asked for a password.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest

PASSWORD = "s3cret-Passw0rd"  # to be found in no message


class Server:
    """One server. `address` is its URL, for its owner, with a password that it does not ask for."""

    def __init__(self, programs: Path, home: Path, account: dict[str, Any]) -> None:
        self._programs, self._home, self._account = programs, home, account
        self.address = f"postgresql://postgres:{quote(PASSWORD)}@/postgres?host={quote(str(home))}"

    def prepare(self) -> None:
        """An empty database cluster."""
        data = self._home / "data"
        options = ("--username=postgres", "--auth=trust", "--locale=C", "--encoding=UTF8", "--no-sync")
        self.run("initdb", "-D", str(data), *options).check_returncode()
        rules = data / "pg_hba.conf"
        rules.write_text("local all stranger scram-sha-256\n" + rules.read_text())

    def start(self) -> None:
        """The server, once it answers. fsync stays on: a ledger insists."""
        settings = ("listen_addresses=", f"unix_socket_directories={self._home}", "shared_buffers=16MB")
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", self._home / "data", *(part for s in settings for part in ("-c", s))],
            **self._account,
        )
        deadline = time.monotonic() + 60
        while self.run("pg_isready", "-h", str(self._home), "-q").returncode != 0:
            assert time.monotonic() < deadline and self._process.poll() is None, "the server did not start"
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: in order, cutting connections. SIGQUIT: at once, as in a power failure; recovered from on start."""
        self._process.send_signal(how)
        self._process.wait(60)

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([self._programs / program, *arguments], **self._account)


def find_programs(home: Path, account: dict[str, Any]) -> Path:
    """The directory of a PostgreSQL that this account may run; the wheel is copied where it lies out of its reach."""
    wheel = importlib.util.find_spec("pgserver")
    if wheel is not None and wheel.submodule_search_locations:
        package, copy = Path(wheel.submodule_search_locations[0]), home / "wheel"
        if can_run(package / "pginstall" / "bin", account):
            return package / "pginstall" / "bin"
        for part in ("pgserver/pginstall", "pgserver.libs"):
            if (package.parent / part).is_dir():
                shutil.copytree(package.parent / part, copy / part)
        if can_run(copy / "pgserver" / "pginstall" / "bin", account):
            return copy / "pgserver" / "pginstall" / "bin"
    found = shutil.which("postgres")
    if found is not None and can_run(Path(found).resolve().parent, account):
        return Path(found).resolve().parent
    pytest.skip("no PostgreSQL: neither the pgserver wheel nor postgres and initdb on the path can be run here")


def can_run(programs: Path, account: dict[str, Any]) -> bool:
    try:
        return all(
            subprocess.run([programs / name, "--version"], **account).returncode == 0
            for name in ("postgres", "initdb", "pg_isready")
        )
    except OSError:
        return False


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running server, shared by all stories."""
    # Not pytest's own directory: nobody but its owner may enter that, and the server runs as someone else.
    home = Path(tempfile.mkdtemp(prefix="gaussmith-"))
    account: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": home}
    account["env"] = {"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)}
    try:
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(home, nobody.pw_uid, nobody.pw_gid)
            account |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        server = Server(find_programs(home, account), home, account)
        server.prepare()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def postgres_location(postgres: Server, request: pytest.FixtureRequest) -> str:
    """The address of a ledger that no other test uses."""
    return f"{postgres.address}&ledger=test-{abs(hash(request.node.nodeid))}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory with a small table in it."""
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame({"age": [37.0, 41.0, None], "income": [1e4, 2e4, 3e4], "city": ["a", "b", "c"]})
    table.write_parquet("people.parquet")
    table.write_csv("people.csv")
    return tmp_path
