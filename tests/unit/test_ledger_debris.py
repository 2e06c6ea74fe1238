"""What killed processes leave beside a ledger is removed under its lock; nothing that belongs to another is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import refused

import gaussmith
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import VARIABLE
from gaussmith.privacy.guarantee import Guarantee

EIGHTH = Guarantee(mu=0.125)
DEAD = 2**22 + 1  # beyond the largest process id of Linux

CHARGE = """
import sys
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.ledger import Ledger
Ledger(sys.argv[1]).reserve("killed", "request", Guarantee(mu=0.125))
"""
CREATE = """
import os, signal, sys
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.ledger import Ledger
os.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Ledger.create(sys.argv[1], Guarantee(mu=1))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


def kill(program: str, path: Path, failpoint: str = "") -> None:
    """Run a program that ends by SIGKILL."""
    place = os.pathsep.join([str(Path(gaussmith.__path__[0]).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": place, VARIABLE: failpoint}
    assert subprocess.run([sys.executable, "-c", program, path], env=environment).returncode == -signal.SIGKILL


ENTRANCES: dict[str, Callable[[Path], object]] = {
    "a new charge": lambda path: Ledger(path).reserve("next", "request", EIGHTH),
    "the same id": lambda path: Ledger(path).reserve("killed", "request", EIGHTH),
    "a store": lambda path: Ledger(path).store("killed", b"bytes"),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_the_draft_of_a_head_is_removed_by_the_next_who_writes(path: Path, entrance: str) -> None:
    Ledger.create(path, Guarantee(mu=1))
    kill(CHARGE, path, "before-reserve-head")
    assert ".study.ledger.head.new" in names(path)
    ledger = Ledger(path)
    assert (ledger.verify().pending, ledger.head.seq) == (("killed",), 1)  # ahead of its head, which is in order
    ENTRANCES[entrance](path)
    assert names(path) == ["study.ledger", "study.ledger.head"]
    assert path.with_name("study.ledger.head").read_text() == f"{ledger.head}\n"


def test_a_ledger_kept_open_removes_later_drafts_too(path: Path) -> None:
    ledger = Ledger.create(path, Guarantee(mu=1))
    for number in range(3):
        ledger.reserve(f"before {number}", "request", EIGHTH)
        draft = path.with_name(".study.ledger.head.new")
        draft.write_text("half a line")
        draft.chmod(0o400)  # not writable: by another user
        ledger.reserve(f"after {number}", "request", EIGHTH)
        assert names(path) == ["study.ledger", "study.ledger.head"]
    assert ledger.verify().entries == 7


def test_drafts_of_a_killed_creation_are_removed(path: Path) -> None:
    kill(CREATE, path)
    (left,) = names(path)
    assert left.startswith(".study.ledger.") and left.endswith(".new")
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(f".study.ledger.{DEAD}-7.new{suffix}").write_bytes(b"")
    Ledger.create(path, Guarantee(mu=1))
    assert names(path) == ["study.ledger", "study.ledger.head"]


def test_what_belongs_to_others_stays(path: Path) -> None:
    others = [
        f".study.ledger.{os.getpid()}-7.new",  # of a process that lives
        f".study.ledger.old.{DEAD}-7.new",  # of another ledger
        f".study.ledger.old.head.{DEAD}.new",
        f".study.ledger.{DEAD}-7.new.bak",
        f"study.ledger.{DEAD}-7.new",
        ".study.ledgers.head.new",
        f".studyxledger.{DEAD}-7.new",
    ]
    for other in others:
        path.with_name(other).write_text("mine")
    Ledger.create(path, Guarantee(mu=1)).reserve("a", "request", EIGHTH)
    assert names(path) == sorted([*others, "study.ledger", "study.ledger.head"])


def test_nothing_is_removed_while_another_writes(path: Path) -> None:
    """The draft of the head belongs to the holder of the lock."""
    import sqlite3

    Ledger.create(path, Guarantee(mu=1))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    path.with_name(".study.ledger.head.new").write_text("being written")
    with refused("ledger-locked"):
        Ledger(path, timeout=0.05).reserve("a", "request", EIGHTH)
    assert Ledger(path).verify().entries == 1
    assert ".study.ledger.head.new" in names(path)
    holder.close()


def test_a_creation_whose_draft_was_taken_away_says_that_another_was_first(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process was not seen from where the other ran, as from another container."""
    link = os.link

    def be_late(source: Path, target: Path) -> None:
        monkeypatch.undo()
        os.unlink(source)
        Ledger.create(path, Guarantee(mu=2))
        link(source, target)

    monkeypatch.setattr(os, "link", be_late)
    with refused("ledger-exists"):
        Ledger.create(path, Guarantee(mu=1))
    assert Ledger(path).guarantee == Guarantee(mu=2)
