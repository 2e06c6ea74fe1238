"""What the processes of the release stories do. Run as a script in an empty directory.

    frozen COMMANDS            runs commands (JSON, a list of lists of words) with what noise makes of the data frozen
    crash PEOPLE ROWS REPEATS  real releases killed at every failpoint, then retried by two at once; one line of JSON.
                               PEOPLE and ROWS are ledgers, one for each unit

Frozen: noise such that the noisy sums are the same whatever the data. What is written may then not differ by a byte.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
import warnings
from typing import Any

import narwhals  # noqa: F401  # loaded, not used, before the first fork
import numpy as np
import polars  # noqa: F401

import gaussmith as gm
from gaussmith import cli, mechanism
from gaussmith.ledger.chain import NAMES, VARIABLE

SPEND = gm.Guarantee(rho=2.0**-7)  # μ = 1/8 exactly
PEOPLE: dict[str, Any] = {"sums": {"spent": (0, 500)}, "means": {"score": (0, 100)}, "count": True}
KINDS: dict[str, dict[str, Any]] = {
    "rows": PEOPLE,
    "people": {**PEOPLE, "unit": "person", "rows_per_unit": 3, "where": "score >= 0"},
    "groups": {
        **PEOPLE,
        "unit": "person",
        "groups_per_unit": 1,
        "rows_per_unit": 3,
        "by": {"region": ["north", "south", "none"]},
    },
    "questions": {
        "unit": "person",
        "groups_per_unit": 1,
        "questions": [{"sums": {"spent": (0, 500)}}, {"count": True, "by": {"region": ["north", "south"]}}],
    },
}


def frozen(commands: list[list[str]]) -> None:
    """Every command under the clock of the same second; which one speaks is said on both streams."""

    def same(lifted: Any, noise: Any) -> Any:
        return np.array([(1 << 50) + (i << 45) for i in range(len(lifted))], dtype=object)

    mechanism.add = same
    time.time = lambda: 1_700_000_000.0
    for words in commands:
        for stream in (sys.stdout, sys.stderr):
            print("$", *words, file=stream)
        print("exit code", cli.main(words), flush=True)


def start(ledger: str, asked: gm.Request, name: str, place: str) -> tuple[int, int]:
    """A release in a process of its own, to be killed at `place`; what it shows goes through a pipe."""
    source, sink = os.pipe()
    with warnings.catch_warnings():  # from Python 3.12 on: of threads that the child does not have
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(source)
        code = 1
        try:
            os.environ[VARIABLE] = place
            shown = gm.release(asked, ledger=ledger, id=name).to_json()
            with os.fdopen(sink, "w") as pipe:
                pipe.write(shown)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(sink)
    return child, source


def finish(child: int, source: int) -> tuple[int, str]:
    with os.fdopen(source) as pipe:
        said = pipe.read()
    return os.waitpid(child, 0)[1], said


def crash(people: str, rows: str, repeats: int) -> list[dict[str, Any]]:
    cases = []
    for kind, fields in KINDS.items():
        asked = gm.Request("visits.parquet", guarantee=SPEND, **fields)  # planned here, once for all its processes
        asked.plan.certify()
        ledger = people if "unit" in fields else rows
        book = gm.Ledger(ledger, timeout=30)
        for place in NAMES:
            for number in range(repeats):
                name = f"{kind} {place} {number}"
                status, first = finish(*start(ledger, asked, name, place))
                retries = [finish(*retry) for retry in [start(ledger, asked, name, "") for _ in range(2)]]
                stored = book.result(name)
                shown = {said for _, said in ((0, first), *retries) if said}
                cases.append(
                    {
                        "kind": kind,
                        "place": place,
                        "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
                        "failed": sum(code != 0 for code, _ in retries),
                        "shown": len(shown),
                        "is stored": stored is not None and shown == {stored.decode()},
                        "value": stored.decode() if stored is not None else "",
                    }
                )
    return cases


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "frozen":
        frozen(json.loads(rest[0]))
    else:
        print(json.dumps(crash(rest[0], rest[1], int(rest[2]))))
