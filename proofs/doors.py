"""Proof: whatever is passed, one person changes what noise is added to by no more than was charged.

Tries random pairs of neighbours through every format × kind of ids × kind of request, then the named cases, then a few
pairs on Spark. Prints accepted and refused pairs of every combination, writes docs/evidence/doors.json, and leaves with
1 if there was any violation or a combination that was not tried.

    ./run prove doors                                     7 500 pairs, a fresh seed
    ./run prove doors --count 500 --seed 1f2e3d4c         fewer, the same again
    ./run prove doors --again 'CSV/quotes/sums/1f2e3d4c:17'    one pair, with all that was found
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))
from doors.asks import ASKS, Ask
from doors.cases import every_case
from doors.formats import FORMATS, ON_SPARK
from doors.pairs import try_case
from doors.runs import run
from doors.tables import Table, types_of
from doors.trials import Combination, Tally, Trial, every_combination, try_pair, try_pairs, try_spark
from doors.values import IDS, TEXT
from evidence import write_found
from sessions import why_no_spark

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "docs" / "evidence" / "doors.json"
PACKAGES = ("gaussmith", "numpy", "polars", "narwhals", "duckdb", "pyarrow", "pandas", "pyspark")
SHOWN = 100
"""Violations that are written down; all are counted."""


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run prove doors", description="Random neighbours through every door.")
    parser.add_argument("--count", type=int, default=7500, help="pairs to try (7500)")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="makes the same pairs again")
    parser.add_argument("--spark", type=int, default=36, help="pairs to try on Spark (36); 0 leaves it out")
    parser.add_argument("--again", metavar="PAIR", help="one pair, as a violation is printed")
    chosen = parser.parse_args(words)
    with tempfile.TemporaryDirectory(dir=_quick_folder()) as folder:
        if chosen.again is not None:
            return try_again(chosen.again, Path(folder))
        return prove(chosen.count, chosen.seed, chosen.spark, Path(folder))


def prove(count: int, seed: str, on_spark: int, folder: Path) -> int:
    print(f"{count} pairs of neighbours, {len(every_combination())} combinations, seed {seed}", flush=True)
    start = time.perf_counter()
    tally = try_pairs(count, seed, folder / "pairs", progress(count, start))
    seconds = time.perf_counter() - start
    print(*tally.lines(), sep="\n")
    print(f"\n{tally.accepted.total()} pairs accepted, {tally.refused.total()} refused, in {seconds:.0f} s")
    print(f"largest ratio of a pair to what is charged: {float(tally.largest) ** 0.5:.6f}")

    failed = {}
    cases = every_case()
    for number, case in enumerate(cases):
        found = try_case(case, folder / "cases" / str(number))
        if found.problems:
            failed[case.name] = {"item": case.item, "ratio": round(found.ratio, 3), "problems": found.problems}
    print(f"\n{len(cases)} named cases, {len(failed)} violated")
    for name, why in failed.items():
        print(f"  {name}: {why['problems'][0][:160]}")

    reason = "left out" if on_spark == 0 else why_no_spark()
    spark = [] if reason is not None else run_spark(on_spark, seed, folder)
    print(f"\n{len(spark)} pairs on Spark" + (f": {reason}" if reason else ""))
    violations = [*tally.violations, *(trial for trial in spark if trial.finding.problems)]
    say_violations(violations)
    if tally.empty:
        print(f"\n{len(tally.empty)} combinations were not tried: at least {len(every_combination())} pairs are needed")
    write_evidence(tally, violations, failed, len(cases), spark, seed, seconds)
    print(f"written to {EVIDENCE}")
    return 1 if violations or failed or tally.empty else 0


def progress(count: int, start: float) -> Any:
    """Says now and then how far it is, to whoever looks at a terminal."""
    done = Counter[str]()

    def say(trial: Trial) -> None:
        done["pairs"] += 1
        if sys.stderr.isatty() and done["pairs"] % 100 == 0:
            seconds = time.perf_counter() - start
            print(f"\r{done['pairs']} of {count} pairs, {seconds:.0f} s", end="", file=sys.stderr, flush=True)

    return say


def run_spark(count: int, seed: str, folder: Path) -> list[Trial]:
    """Pairs on Spark; the first release starts its session, and what Spark then says is nobody's record."""
    place = folder / "first"
    place.mkdir()
    first = Table(types_of(TEXT), ())
    run(Ask({"count": True}), FORMATS["Parquet"].write(first, place, ()), place, "spark")
    return try_spark(count, seed, folder / "spark")


def spelt(trial: Trial) -> str:
    each = trial.combination
    return f"{each.format}/{each.ids}/{each.ask}/{trial.seed}"


def say_violations(violations: list[Trial]) -> None:
    """How many there are of each kind, and one of them to be made again."""
    if not violations:
        return
    kinds: dict[tuple[str, str], list[Trial]] = {}
    for trial in violations:
        kinds.setdefault((trial.combination.format, trial.combination.ids), []).append(trial)
    print(f"\n{len(violations)} VIOLATIONS")
    for several in sorted(kinds.values(), key=len, reverse=True):
        print(f"  {len(several):>4}  {spelt(several[0])}\n        {several[0].finding.problems[0][:160]}")


def try_again(pair: str, folder: Path) -> int:
    """One pair, made again from what was printed."""
    form, ids, ask, seed = pair.split("/", 3)
    if form not in {**FORMATS, **ON_SPARK} or ids not in IDS or ask not in ASKS:
        print(f"no such pair: {pair}", file=sys.stderr)
        return 2
    trial = try_pair(Combination(form, ids, ask), seed, folder, formats={**FORMATS, **ON_SPARK})
    print(f"{trial.ask}\n{trial.finding.status}, ratio {trial.finding.ratio:.6f}", *trial.finding.problems, sep="\n")
    return 1 if trial.finding.problems else 0


def write_evidence(
    tally: Tally,
    violations: list[Trial],
    failed: dict[str, Any],
    cases: int,
    spark: list[Trial],
    seed: str,
    seconds: float,
) -> None:
    claim = "one person changes what noise is added to by at most what is charged; nothing else is seen to change"
    found = {
        "pairs": tally.pairs,
        "accepted": tally.accepted.total(),
        "refused": tally.refused.total(),
        "combinations": len(every_combination()),
        "combinations_not_tried": len(tally.empty),
        "largest_ratio": round(float(tally.largest) ** 0.5, 9),
        "pairs_on_spark": len(spark),
        "violations": len(violations),
        "violated": {spelt(trial): trial.finding.problems[0] for trial in violations[:SHOWN]},
        "named_cases": cases,
        "named_cases_violated": failed,
        "by_format": {
            name: {
                "accepted": sum(many for each, many in tally.accepted.items() if each.format == name),
                "refused": sum(many for each, many in tally.refused.items() if each.format == name),
            }
            for name in FORMATS
        },
    }
    write_found(EVIDENCE, claim, seed, seconds, found, PACKAGES)


def _quick_folder() -> str | None:
    """A folder in memory, where there is one: databases wait for a disk at every write."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else None


if __name__ == "__main__":
    sys.exit(main())
