"""Proof: a small change of the code that privacy rests on makes a test fail, or is written down with its reason.

A mutant is one change of an operator, a comparison, a constant or a condition in the modules below. It gets a forked
process, in which the tests that reach its line are run until one fails: those that killed a mutant of the same function
before, then the quick ones. What else a module does when it is imported is mutated in a process that imports it anew.
Survivors need a reason in proofs/mutation/reasons.toml.
Writes docs/evidence/mutants.json; leaves with 1 if a survivor has no reason, or a reason no survivor.

    ./run prove mutants                                all of it, hours; goes on where it was stopped
    ./run prove mutants --only noise,codes             those of some modules; of the others what is written stays
    ./run prove mutants --only noise --rate 0.1        a tenth of them; nothing is written
    ./run prove mutants --again --seconds 60           survivors without a reason again, with new tests and slow ones
    ./run prove mutants --report                       the evidence from what is known, and survivors without a reason
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "shared"), str(ROOT / "proofs" / "mutation")]

import pytest  # noqa: E402
from campaign import LONGEST, Case, Cover, Fates, Modules  # noqa: E402
from evidence import commit, write_found  # noqa: E402
from mutant_loading import PROBES, Hook, find_plant, with_probes  # noqa: E402
from mutant_runs import Killer, Recorder, judge_afresh, read_lines  # noqa: E402
from mutants import mutate  # noqa: E402

FILE = ROOT / "docs" / "evidence" / "mutants.json"
REASONS = ROOT / "proofs" / "mutation" / "reasons.toml"
STATE = ROOT / ".benchmarks" / "mutants"
TESTED, TRIED = STATE / "tests.jsonl", STATE / "mutants.jsonl"
CLAIM = (
    "small changes of the code that privacy rests on make tests fail; survivors have a written reason, or are counted "
    "as unexplained"
)
GROUPS = {
    "noise": ["noise/*.py"],
    "guarantee": ["privacy/guarantee.py"],
    "grid": ["planning/*grid*.py"],
    "mechanism": ["mechanism.py"],
    "codes": ["domains/encoding.py"],
    "ledger": ["ledger/*.py"],
    "domains": ["domains/*.py"],
}
UNTRIED = ("ledger.postgres",)  # its tests start a server: too slow to be repeated
MODULES = Modules(ROOT / "src" / "gaussmith", GROUPS, UNTRIED)
UNIT = [
    "noise", "grid", "guarantee", "ledger*", "plans", "releases", "moments", "cells", "edges", "damaged_plans",
    "damaged_ties", "group_weights", "uncentred_domains", "toy_domain", "neighbours", "norms", "linear", "limits",
    "lending", "fuzzed_records", "gaussian_data", "refusals", "found_requests", "forged_keys", "joint_plans",
    "shared_noise", "extreme_scales", "vector_means", "parts", "threads", "failures", "receipt", "questions", "request",
    "statistics", "weighted_tables", "tied_groups", "crossed_ties", "shared_scan", "word_products", "checks",
    "private_bounds", "suggested_requests", "complete_by_type", "keys_first", "audit", "other_tools", "codes",
    "whole_columns", "mechanism", "tied_lift", "private_bins", "bins", "quantile_requests", "cells_by_groups",
    "sharing", "mean_within", "rehearsal", "contrasts", "audit_samples", "saved_requests", "tables", "sources",
    "accuracy_first", "separated", "queries", "refused_questions", "streams", "catalogue", "presented", "told_plans",
    "identity", "hostile_texts",
    "outlines", "domain_limits", "domain_numbers", "domain_codes", "domain_words", "spelled_codes",
    "report", "moment_norms", "standard_reach", "largest_parts",
]  # fmt: skip
PROPERTIES = [
    "sensitivity", "extremes", "cell_sensitivity", "exact", "guarantee", "largest", "largest_moments",
    "largest_unlisted", "ledger_units", "person_numbers", "row_moments", "shapes_of_points", "sums",
    "uncentred_codes", "looks", "units", "found_releases", "request_sensitivity", "stages", "vector_stages",
    "longer_requests", "keys_first", "found_rules",
]  # fmt: skip
TESTS = {  # those of pages, files, engines, Spark, set-up and other programs are left out
    "golden": ["golden"],
    "unit": UNIT,
    "properties": PROPERTIES,
    "theorems": ["*"],
    "statistics": ["noise", "releases"],
    "stories": ["cli_ledger", "cli_refusals", "histograms", "moments", "verify"],
    "engines": ["forms"],
}
OPTIONS = ["-q", "--assert=plain", "--tb=native", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]


def options() -> list[str]:
    tests = [f"tests/{folder}/test_{name}.py" for folder, names in TESTS.items() for name in names]
    sources = [f"src/gaussmith/{name}" for names in GROUPS.values() for name in names]
    found = [str(file.relative_to(ROOT)) for name in (*tests, *sources) for file in sorted(ROOT.glob(name))]
    return [*found, *OPTIONS, "-k", "not spark and not Spark"]


class Fewer:
    """Of the golden releases every eighth, which ones depends on the names alone; then theorems, the slowest."""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        kept = [each for each in items if "test_golden" not in each.nodeid or crc32(each.nodeid.encode()) % 8 == 0]
        items[:] = sorted(kept, key=lambda each: (each.nodeid.startswith("tests/theorems"), "golden" in each.nodeid))


def record(asked: argparse.Namespace) -> None:
    """Run every test once, alone, and keep the lines it reaches; tests that are recorded already are passed over."""
    probes = bytearray(sum(map(len, MODULES.lines.values())))
    changes = {f"gaussmith.{name}": partial(with_probes, numbers=lines) for name, lines in MODULES.lines.items()}
    Hook(changes, {PROBES: probes}).install()
    pytest.main(options(), plugins=[Fewer(), Recorder(TESTED, probes, LONGEST, asked.share)])


def try_functions(asked: argparse.Namespace) -> None:
    """Mutants of functions and constants, in the warm process; others are left for later."""
    cover, fates = Cover(TESTED, MODULES.lines), Fates(TRIED)
    cases = [case for case in MODULES.cases(asked.only, asked.rate) if wanted(fates, case, asked)]
    waiting = {case.mutant.key: case for case in cases[asked.share]}

    def jobs() -> Iterator[tuple[str, Callable[[], None], list[tuple[str, float]]]]:
        for i, (key, case) in enumerate(waiting.items()):
            if time.time() > asked.until:
                return
            plant = find_plant(case.mutant, case.source, "gaussmith")
            if plant is None:
                fates.tell(case, {"fate": "later"})
                continue
            if i % 25 == 0:
                print(f"\n{time.strftime('%H:%M:%S')} {i} of {len(waiting)}", flush=True)
            yield key, plant, cover.tests(case.mutant, fates.killers(case.mutant), asked.seconds)

    pytest.main(options(), plugins=[Fewer(), Killer(jobs(), lambda key, found: fates.tell(waiting[key], found))])


def wanted(fates: Fates, case: Case, asked: argparse.Namespace) -> bool:
    """Whether a mutant is to be tried: those that survived again if asked, and if no reason is known."""
    found = fates.of(case)
    if found is None or found["fate"] == "later":
        return True
    return asked.again and found["fate"] == "survived" and case.mutant.key not in read_reasons()


def try_imports(asked: argparse.Namespace) -> None:
    """Mutants of what runs at import, each in a process that imports the library anew; other packages are warm."""
    import hypothesis  # noqa: F401
    import mpmath  # noqa: F401
    import polars  # noqa: F401
    import scipy.optimize
    import scipy.stats  # noqa: F401

    cover, fates = Cover(TESTED, MODULES.lines), Fates(TRIED)
    for case in MODULES.cases(asked.only, asked.rate):
        found = fates.of(case)
        if found and found["fate"] == "later" and time.time() < asked.until:
            name = f"gaussmith.{case.mutant.module}"
            install = Hook({name: partial(mutate, mutant=case.mutant)}).install
            tests = cover.tests(case.mutant, fates.killers(case.mutant), asked.seconds)
            fates.tell(case, judge_afresh(install, tests, OPTIONS))


@cache
def read_reasons() -> dict[str, str]:
    """The reason of each survivor that has one."""
    told = tomllib.loads(REASONS.read_text("utf-8"))["reason"]
    made = {key: each["why"] for each in told for key in each["mutants"]}
    assert len(made) == sum(len(each["mutants"]) for each in told), "a mutant has two reasons"
    return made


def report(asked: argparse.Namespace, seconds: float) -> int:
    """Count, write the evidence, and print what survived without a reason."""
    fates, reasons = Fates(TRIED), read_reasons()
    made, counts = Counter[str](), {group: Counter[str]() for group in asked.only}
    kept = read_others(asked.only)
    explained, open_ones, taken = kept["explained_ones"], kept["open"], kept["seconds"]
    modules = {name for group in asked.only for name in MODULES.sources[group]}
    stale = {key for key in reasons if key.split()[0] in modules}
    for case in MODULES.cases(asked.only):
        key, found = case.mutant.key, fates.of(case)
        made[case.group] += 1
        if found is None or found["fate"] == "later":
            stale.discard(key)  # not tried: the reason may still be needed
            continue
        taken += found["seconds"]
        counts[case.group][found["fate"]] += 1
        if found["fate"] == "survived" and key in reasons:
            explained.append({"mutant": key, "why": reasons[key]})
            stale.discard(key)
            counts[case.group]["explained"] += 1
        elif found["fate"] == "survived":
            open_ones.append(key)
            print(f"{found['tests']:4} tests: {key}")
    for key in sorted(stale):
        print(f"a reason without a survivor: {key}")
    tried = {group: {**_row(made[group], counts[group]), "commit": commit()[:12]} for group in asked.only}
    rows = {
        group: {**kept["modules"], **tried}[group] for group in GROUPS if group in kept["modules"] or group in tried
    }
    total = {name: sum(row[name] for row in rows.values()) for name in _row(0, Counter())}
    tests = [each for each in read_lines(TESTED) if each["code"] == 0 and each["seconds"] <= LONGEST]
    found = {
        **total,
        "tests to choose from": len(tests),
        "modules": rows,
        "explained_ones": explained,
        "open": open_ones,
    }
    if asked.write:
        write_found(FILE, CLAIM, None, max(taken, seconds), found, ["gaussmith", "numpy", "scipy", "polars", "pytest"])
    print(total)
    return 0 if not open_ones and not stale else 1


def read_others(only: list[str]) -> dict[str, Any]:
    """What is written of the modules that are not tried now, each with the commit at which it was."""
    if only == list(GROUPS) or not FILE.exists():
        return {"modules": {}, "explained_ones": [], "open": [], "seconds": 0.0}
    told = json.loads(FILE.read_text("utf-8"))
    others = [case.mutant.key for case in MODULES.cases([group for group in GROUPS if group not in only])]
    rows = {
        group: {"commit": told["commit"][:12], **row} for group, row in told["modules"].items() if group not in only
    }
    return {
        "modules": rows,
        "explained_ones": [each for each in told["explained_ones"] if each["mutant"] in others],
        "open": [key for key in told["open"] if key in others],
        "seconds": told["seconds"],
    }


def _row(made: int, counts: Counter[str]) -> dict[str, int]:
    fates = {name: counts[name] for name in ("killed", "timed out", "explained")}
    unexplained = counts["survived"] - counts["explained"]
    return {"mutants": made, "tried": sum(fates.values()) + unexplained, **fates, "unexplained": unexplained}


def _slice(text: str) -> slice:
    first, _, step = text.partition("/")
    return slice(int(first), None, int(step))


STEPS = {"record": record, "functions": try_functions, "imports": try_imports}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(GROUPS), help="groups of modules")
    parser.add_argument("--rate", type=float, default=1.0, help="which part of the mutants to try")
    parser.add_argument("--seconds", type=float, default=6.0, help="of a processor, for all tests of a mutant")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so many")
    parser.add_argument("--again", action="store_true", help="try survivors without a reason again")
    parser.add_argument("--report", action="store_true", help="try nothing")
    parser.add_argument("--share", type=_slice, default=slice(None), help="with --step: 0/2 and 1/2 are the two halves")
    parser.add_argument("--step", choices=list(STEPS), help="one part alone, in this process")
    asked = parser.parse_args()
    os.chdir(ROOT)
    STATE.mkdir(parents=True, exist_ok=True)
    began = time.time()
    asked.until = began + 60 * asked.minutes
    if asked.step:
        STEPS[asked.step](asked)
        return 0
    asked.write = asked.rate == 1
    for step in () if asked.report else STEPS:
        with (STATE / f"{step}.log").open("a", encoding="utf-8") as log:
            words = [sys.executable, "-P", __file__, *sys.argv[1:], "--step", step]
            subprocess.run(words, stdout=log, stderr=log, check=False)
    return report(asked, time.time() - began)


if __name__ == "__main__":
    sys.exit(main())
