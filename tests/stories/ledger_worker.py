"""What the processes of the ledger stories do. Run as a script: it prints one line of JSON.

    race LOCATION ATTEMPTS            as many releases as the ledger grants
    crash LOCATION REPEATS [MUTANT]   killed at every failpoint and at any time, then retried by two at once

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
from typing import Any

from gaussmith.errors import BudgetError
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import NAMES, VARIABLE, failpoint
from gaussmith.privacy.guarantee import Guarantee

ANY_TIME = "any time"
SPEND = Guarantee(rho=2.0**-7)  # μ = 1/8 exactly


def release(ledger: Ledger, name: str, say: Callable[[str, str], None], mutant: str = "") -> None:
    """A release in the order it must have; the stored bytes are drawn afresh, as noise is."""
    if mutant == "opens before it charges":
        say("opened", "")
    reservation = ledger.reserve(name, "request", SPEND)
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


if __name__ == "__main__":
    command, location, number, *rest = sys.argv[1:]
    print(json.dumps(race(location, int(number)) if command == "race" else crash(location, int(number), *rest)))
