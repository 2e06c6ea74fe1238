"""Proof: whatever people reach (files of every kind) is refused with an error of ours, or read; never anything else.

    request        request files (TOML)                 plan, record, certificate    their JSON files
    expression     filters and derived columns          ledger                       the file of a ledger
    csv, jsonl, parquet    data files of a release charged to a ledger
    form           forms of the workbench, with a release charged to a ledger

Each target gets so many seconds. Cases are made from valid ones: truncated, bytes and tokens changed, lines doubled and
swapped, values of JSON replaced, columns doubled, huge and odd numbers, unicode. A finding is an error that is not
ours, a case that takes more than 20 seconds, a release that is not in its ledger, or a ledger that does not verify
afterwards. Files lie in memory where the machine has such a folder: a disk would take most of the time.
Writes docs/evidence/fuzz.json; leaves with 1 on a finding.

    ./run prove fuzz                        five minutes per target
    ./run prove fuzz --processes 2          the same in half of the time
    ./run prove fuzz --only csv,jsonl       some targets anew; what was found of others is kept
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "shared"), str(ROOT / "proofs" / "fuzzed")]

import polars as pl  # noqa: E402
from evidence import commit, write_found  # noqa: E402
from forms import fuzz_form  # noqa: E402
from tables import fuzz_data, fuzz_ledger  # noqa: E402

import gaussmith as gm  # noqa: E402
from gaussmith.errors import GaussmithError, InternalError  # noqa: E402
from gaussmith.planning.certificate import Certificate, verify  # noqa: E402

FILE = ROOT / "docs" / "evidence" / "fuzz.json"
CLAIM = (
    "No fuzzed request, expression, saved file, ledger, data file or form causes an error that is not ours, or a hang."
)
MOST = 20
MEMORY = Path("/dev/shm")
G = gm.Guarantee(epsilon=1, delta=1e-6)

TOKENS = [
    "", "0", "-1", "1e308", "1e999", "-0.0", "nan", "inf", "null", "true", "[]", "{}", '"', "'", "\\", "\n", "\r", "\t",
    ",", ";", "=", "[", "]", "{", "}", "(", ")", "#", "9" * 400, "é", "\u202e", "\x00", "\ufeff", "😀", "age", "people",
    "private", "found", "1_000", "0x10", "1979-05-27", '"""', "..", "a.b", "[[a]]", "-", "--", "%s", "{0}", "$HOME",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**63, -(2**70), 10**400, 1e308, 0.1, "", "x", "é\u202e", "nan", [], {}, [[]],
    {"a": 1}, [None] * 3, "9" * 500, ["x"] * 50,
]  # fmt: skip

REQUESTS = [
    'source = "people.csv"\nsums = { spent = [0, 500] }\ncount = true\nwhere = "age >= 18"\n'
    "guarantee = { epsilon = 1, delta = 1e-6 }\n",
    'source = "people.csv"\nunit = "person"\nrows_per_unit = 3\ngroups_per_unit = 1\nmeans = { age = [0, 100] }\n'
    'by = { region = ["n", "s"] }\nneighbours = "replace-one"\nguarantee = { mu = 1 }\n[columns]\nb = "age / 2"\n',
    'source = { path = "people.csv", ids = "text" }\nmedians = { age = [0, 100] }\n'
    'histograms = { region = ["n", "s"] }\nbounds = "private"\n'
    'guarantee = { rho = 0.1 }\n[[question]]\nname = "a"\ncount = true\n',
]
EXPRESSIONS = [
    "age >= 18 and not (spent < 3 or region == 'n')", "age / 2 + spent * -1.5e3 - 7", "is_missing(age) or age != 3",
    "if(age > 3, 1, 0)", "min(age, spent) * max(1, abs(age))", "region in ['n', 's'] and lower(region) == 'n'",
]  # fmt: skip


class Slow(Exception):
    """A case took too long."""


def changed_text(text: str, rng: random.Random) -> str:
    """A text with a few changes."""
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        way = rng.randrange(7)
        if way == 0:
            text = text[:at]
        elif way == 1:
            text = text[:at] + rng.choice(TOKENS) + text[at:]
        elif way == 2:
            text = text[:at] + rng.choice(TOKENS) + text[to:]
        elif way == 3:
            text = text[:to] + text[at:to] + text[to:]
        elif way == 4:
            lines = text.split("\n")
            rng.shuffle(lines)
            text = "\n".join(lines)
        elif way == 5:
            text = text[:at] + chr(rng.choice([rng.randrange(128), rng.randrange(0x3000), 0x1F600])) + text[at + 1 :]
        else:
            lines = text.split("\n")
            lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
            text = "\n".join(lines)
    return text[:100_000]


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice([1, 2, 5, 20])):
        if not made:
            break
        at, way = rng.randrange(len(made)), rng.randrange(4)
        if way == 0:
            made[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            del made[at:]
        elif way == 2:
            made[at:at] = os.urandom(rng.randrange(1, 9))
        else:
            made[at : at + 4] = rng.choice([b"\xff" * 4, b"\x00" * 4, b"\n,,,", b"\xef\xbb\xbf\n"])
    return bytes(made)


def changed_json(value: Any, rng: random.Random) -> Any:
    """A JSON value with one or several of its parts replaced, left out or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        way = rng.random()
        if way < 0.12:
            return {k: v for k, v in value.items() if k != key}
        if way < 0.2:
            return {**value, rng.choice(["x", "", "é", key + "_"]): rng.choice(VALUES)}
        return {**value, key: changed_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        way = rng.random()
        if way < 0.15:
            return value[:at] + value[at + 1 :]
        if way < 0.3:
            return [*value[:at], value[at], *value[at:]]
        return [*value[:at], changed_json(value[at], rng), *value[at + 1 :]]
    return rng.choice(VALUES)


def changed_saved(text: str, rng: random.Random) -> str:
    if rng.random() < 0.3:
        return changed_text(text, rng)
    value = json.loads(text)
    for _ in range(rng.choice([1, 1, 2, 4])):
        value = changed_json(value, rng)
    return json.dumps(value)


# -- targets ------------------------------------------------------------------------------------------------


def fuzz_request(rng: random.Random, folder: Path) -> None:
    path = folder / "request.toml"
    path.write_text(changed_text(rng.choice(REQUESTS), rng), "utf-8", errors="surrogatepass")
    request = gm.Request.from_toml(str(path))
    request.plan.errors(rows=100)


def fuzz_expression(rng: random.Random, folder: Path) -> None:
    text = changed_text(rng.choice(EXPRESSIONS), rng)
    frame = pl.DataFrame({"age": [3.0, None], "spent": [1.0, 2.0], "region": ["n", None]})
    where = rng.random() < 0.5
    more: Any = {"where": text} if where else {"columns": {"b": text}, "sums": {"b": (0, 1)}}
    gm.release(gm.Request(frame, count=True, guarantee=G, **more))


def _plan() -> gm.Plan:
    return gm.Request(
        "people.csv", sums={"spent": (0, 500)}, means={"age": (0, 100)}, by={"region": ["n", "s"]}, where="age > 3",
        guarantee=G,
    ).plan  # fmt: skip


PLAN = _plan()
SAVED = {
    "plan": [
        PLAN.to_json(),
        gm.plan(gm.Box([0, 1], [1, 3]), G, count=True).to_json(),
        gm.plan(gm.Counts(4, 2), G).to_json(),
    ],
    "record": [gm.plan(gm.Box([0, 1], [1, 3]), G, count=True).release([[0.5, 2.0]]).to_json()],
    "certificate": [PLAN.certificate.to_json()],
}


def fuzz_plan(rng: random.Random, folder: Path) -> None:
    gm.Plan.from_json(changed_saved(rng.choice(SAVED["plan"]), rng)).standard_errors  # noqa: B018


def fuzz_record(rng: random.Random, folder: Path) -> None:
    str(gm.read(changed_saved(rng.choice(SAVED["record"]), rng)))


def fuzz_certificate(rng: random.Random, folder: Path) -> None:
    verify(PLAN, Certificate.from_json(changed_saved(SAVED["certificate"][0], rng)))


TARGETS: dict[str, Callable[[random.Random, Path], None]] = {
    "request": fuzz_request,
    "expression": fuzz_expression,
    "plan": fuzz_plan,
    "record": fuzz_record,
    "certificate": fuzz_certificate,
    "ledger": partial(fuzz_ledger, change=changed_bytes),
    "csv": fuzz_data(".csv", changed_text, changed_bytes),
    "jsonl": fuzz_data(".jsonl", changed_text, changed_bytes),
    "parquet": fuzz_data(".parquet", changed_text, changed_bytes),
    "form": partial(fuzz_form, change=changed_text),
}


def run(name: str, seconds: float, seed: str) -> dict[str, Any]:
    """Cases of one target until the time is over; findings have the seed of their case."""
    counts = {"seconds": seconds, "cases": 0, "accepted": 0, "refused": 0, "findings": 0}
    findings: dict[str, str] = {}

    def late(*_: object) -> None:
        raise Slow

    signal.signal(signal.SIGALRM, late)
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        while time.monotonic() < end:
            case = f"{seed}-{name}-{counts['cases']}"
            counts["cases"] += 1
            signal.alarm(MOST)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    TARGETS[name](random.Random(case), Path(folder))
                counts["accepted"] += 1
            except InternalError as error:
                findings.setdefault(f"InternalError: {error}"[:160], case)
            except GaussmithError:
                counts["refused"] += 1
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                findings.setdefault(
                    f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"[:200], case
                )
            finally:
                signal.alarm(0)
    counts["findings"] = len(findings)
    for said, case in findings.items():
        print(f"  FOUND {said} · case {case}", flush=True)
    print(name, counts, flush=True)
    return counts


def with_others(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """These targets, and those that were fuzzed before and are not among them; each with the commit that was fuzzed."""
    before = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {"targets": {}, "commit": ""}
    rows = {name: {"commit": before["commit"][:12], **row} for name, row in before["targets"].items()}
    rows |= {name: {**row, "commit": commit()[:12]} for name, row in found.items()}
    return {name: rows[name] for name in TARGETS if name in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--only", default=",".join(TARGETS))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--case", help="run one case again, as it was told: SEED-TARGET-NUMBER")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    if arguments.case:
        with tempfile.TemporaryDirectory() as folder:
            TARGETS[arguments.case.split("-")[1]](random.Random(arguments.case), Path(folder))
        return 0
    seed = secrets.token_hex(6)
    names = arguments.only.split(",")
    with ProcessPoolExecutor(arguments.processes, get_context("spawn")) as pool:
        made = {name: pool.submit(run, name, arguments.seconds, seed) for name in names}
        found = {name: each.result() for name, each in made.items()}
    if not arguments.dry:
        together = with_others(found)
        seconds = sum(row["seconds"] for row in together.values())
        write_found(FILE, CLAIM, seed, seconds, {"targets": together}, ["gaussmith", "polars", "numpy", "msgspec"])
    return 1 if any(each["findings"] for each in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
