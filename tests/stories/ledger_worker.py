"""What the processes of the ledger stories do. Run as a script: it prints one line of JSON.

    race LOCATION ATTEMPTS            as many releases as the ledger grants
    race-pure LOCATION ATTEMPTS       the same of releases with pure noise, every other one with Gaussian noise
    crash LOCATION REPEATS [MUTANT]   killed at every failpoint and at any time, then retried by two at once
    upgrade FILE REPEATS              copies of a ledger of an older format, killed while they are converted

A mutant breaks the order of a release on purpose, to show that the stories notice.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from gaussmith.errors import BudgetError
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import NAMES, UPGRADE_NAMES, VARIABLE, failpoint
from gaussmith.privacy.composition import Charge
from gaussmith.privacy.guarantee import Guarantee

ANY_TIME = "any time"
SPEND = Guarantee(rho=2.0**-7)  # μ = 1/8 exactly
STATED = Guarantee(epsilon=0.1, delta=1e-6)
PURE = Charge(pure=Fraction(1, 10))


def asked_of(number: int) -> dict[str, Any]:
    """Every other release has pure noise."""
    return {"guarantee": STATED, "charge": PURE} if number % 2 else {"guarantee": SPEND}


def release(ledger: Ledger, name: str, say: Callable[[str, str], None], mutant: str = "") -> None:
    """A release in the order it must have; the stored bytes are drawn afresh, as noise is."""
    if mutant == "opens before it charges":
        say("opened", "")
    reservation = ledger.reserve(name, "request", **asked_of(int(name.split()[-1])))
    if reservation.payload is not None and mutant != "shows its own":
        say("shown", reservation.payload.hex())
        return
    failpoint("before-data")
    say("opened", "")
    payload = os.urandom(16)
    if mutant == "shows before it stores":
        say("shown", payload.hex())
    failpoint("after-noise")
    stored = ledger.store(name, payload)
    say("shown", payload.hex() if mutant == "shows its own" else stored.hex())


def start(ledger: Ledger, name: str, mutant: str, place: str = "") -> tuple[int, int]:
    """The same in a process of its own, to be killed at `place`; what it says goes through a pipe."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        code = 1
        try:
            os.environ[VARIABLE] = place
            release(ledger, name, lambda what, value: tell(sink, what, value), mutant)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(sink)
    return child, source


def tell(sink: int, what: str, value: str) -> None:
    """Past any buffer, so that a kill does not swallow it."""
    os.write(sink, f"{what} {value}\n".encode())


def finish(child: int, source: int) -> tuple[int, list[list[str]]]:
    with os.fdopen(source) as pipe:
        said = [line.rstrip("\n").split(" ", 1) for line in pipe]
    return os.waitpid(child, 0)[1], said


def crash(location: str, repeats: int, mutant: str = "") -> list[dict[str, Any]]:
    ledger = Ledger(location, timeout=30)
    cases = []
    for place in (*NAMES, ANY_TIME):
        for number in range(repeats):
            name = f"{place} {number}"
            child = start(ledger, name, mutant, place if place in NAMES else "")
            if place == ANY_TIME:
                time.sleep(0.002 * number)
                os.kill(child[0], signal.SIGKILL)
            status, first = finish(*child)
            charged = [entry.release_id for entry in ledger.entries() if entry.kind == "reserve"].count(name)
            if number == 0:
                ledger.verify()  # what a crash leaves is in order
            retries = [finish(*retry) for retry in [start(ledger, name, mutant) for _ in range(2)]]
            values = {value for _, said in ((0, first), *retries) for what, value in said if what == "shown"}
            result = ledger.result(name)
            cases.append(
                {
                    "place": place,
                    "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
                    "failed": sum(code != 0 for code, _ in retries),
                    "opened uncharged": ["opened", ""] in first and not charged,
                    "values": sorted(values | ({result.hex()} if result is not None else set())),
                }
            )
    return cases


def race(location: str, attempts: int) -> list[str]:
    ledger = Ledger(location, timeout=60)
    granted = []
    for _ in range(attempts):
        try:
            granted.append(ledger.reserve(None, "request", SPEND).release_id)
        except BudgetError:
            continue
    return granted


def race_pure(location: str, attempts: int) -> list[str]:
    ledger = Ledger(location, timeout=60)
    granted = []
    for attempt in range(attempts):
        try:
            name = ledger.reserve(None, "request", **asked_of(attempt)).release_id
        except BudgetError:
            continue
        granted.append(f"{'pure' if attempt % 2 else 'noise'} {name}")
    return granted


def upgrade(location: str, repeats: int) -> list[dict[str, Any]]:
    """Copies of an older ledger, each killed in its conversion, and what was found then and after another attempt."""
    original = Path(location)
    files = {name: (original.parent / name).read_bytes() for name in (original.name, f"{original.name}.head")}
    before = told(Ledger(original))
    cases = []
    for place in (*UPGRADE_NAMES, ANY_TIME):
        for number in range(repeats):
            folder = original.parent / f"{place} {number}"
            folder.mkdir()
            for name, content in files.items():
                (folder / name).write_bytes(content)
            path = folder / original.name
            child = os.fork()
            if child == 0:
                try:
                    os.environ[VARIABLE] = place if place in UPGRADE_NAMES else ""
                    Ledger.upgrade(path)
                finally:
                    os._exit(1)
            if place == ANY_TIME:
                time.sleep(0.003 * number)
                os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            found = told(Ledger(path))
            again = told(Ledger.upgrade(path))
            charged = Ledger(path).reserve("new", "request", Guarantee(mu=0.125)).state
            left = sorted(file.name for file in folder.iterdir())
            cases.append(
                {
                    "place": place,
                    "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
                    "same": found == before == again,
                    "charged": charged,
                    "left": left,
                }
            )
    return cases


def told(ledger: Ledger) -> Any:
    """All that must outlive a conversion; it is verified, too."""
    entries = ledger.entries()
    stored = [ledger.result(entry.release_id) for entry in entries if entry.kind == "reserve"]
    return ledger.verify(), entries, stored, ledger.guarantee, ledger.budget, ledger.keys_budget, ledger.pure_budget


COMMANDS: dict[str, Callable[..., Any]] = {"race": race, "race-pure": race_pure, "crash": crash, "upgrade": upgrade}

if __name__ == "__main__":
    command, location, number, *rest = sys.argv[1:]
    print(json.dumps(COMMANDS[command](location, int(number), *rest)))
