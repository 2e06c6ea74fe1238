"""Proof: intervals of statistics hold as often as they say, with the noise that plans have.

Every file in proofs/coverage has `cases()`: a name, the coverage that is promised, and a function that makes so many
releases and says in how many the interval held the truth. A 95 % interval must hold at least 94 % of the time, and no
less often than an exact binomial test allows. Fewer than 20 000 releases cannot tell 94 from 95 %: then the binomial
test alone decides, and nothing is written. Writes docs/evidence/statistics.json; leaves with 1 if a case fails.

    ./run prove statistics                                     20 000 releases of each case
    ./run prove statistics --repeats 2000 --only quantiles     fewer, of one file
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != HERE]  # Python has a `statistics` too

sys.path.insert(0, str(HERE.parent / "tests" / "shared"))
from evidence import write_found  # noqa: E402

EVIDENCE = HERE.parent / "docs" / "evidence" / "statistics.json"
PACKAGES = ("gaussmith", "numpy", "scipy", "polars")
ALLOWED = 0.01
"""How far below what is promised coverage may be found."""
ENOUGH = 20_000
"""From so many releases on, what is found is compared with what is allowed: it is then known to ± 0.0015."""
ALARM = 1e-6
"""The probability with which a case that keeps its promise fails the binomial test."""


def every_case(only: str | None) -> Iterator[Any]:
    """The cases of every file, or of one."""
    for path in sorted((HERE / "coverage").glob("*.py")):
        if only in (None, path.stem):
            name = f"coverage_of_{path.stem}"
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None and spec.loader is not None
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            yield from module.cases()


def main(words: Sequence[str] | None = None) -> int:
    from scipy.stats import binom  # it needs Python's own `statistics`

    parser = argparse.ArgumentParser(prog="./run prove statistics", description="How often intervals hold.")
    parser.add_argument("--repeats", type=int, default=ENOUGH, help="releases of each case (20000)")
    parser.add_argument("--only", help="the cases of one file")
    chosen = parser.parse_args(words)
    failed, found, began = 0, [], time.perf_counter()
    for case in every_case(chosen.only):
        start = time.perf_counter()
        held = case.covered(chosen.repeats)
        tail = float(binom.cdf(held, chosen.repeats, case.nominal))
        enough = chosen.repeats >= ENOUGH
        passes = tail > ALARM and (not enough or held / chosen.repeats >= case.nominal - ALLOWED)
        failed += not passes
        told = f"{held / chosen.repeats:.4f} of {case.nominal:.2f}, p = {tail:.2g}, {time.perf_counter() - start:.1f} s"
        print(f"{'ok  ' if passes else 'FAIL'} {case.name}: {told}", flush=True)
        found.append({"case": case.name, "nominal": case.nominal, "repeats": chosen.repeats, "held": held})
    if chosen.only is None and chosen.repeats >= ENOUGH:
        write_evidence(found, failed, time.perf_counter() - began)
    print(f"{failed} of {len(found)} cases fail")
    return 1 if failed or not found else 0


def write_evidence(found: list[dict[str, Any]], failed: int, seconds: float) -> None:
    """Every case, and of each kind of answer the least and the most that was found."""
    kinds: dict[str, dict[str, Any]] = {}
    for case in found:
        held = case["held"] / case["repeats"]
        kind = kinds.setdefault(case["case"].split(", n =")[0], {"cases": 0, "smallest": 1.0, "largest": 0.0})
        kind["cases"] += 1
        kind["smallest"], kind["largest"] = min(kind["smallest"], held), max(kind["largest"], held)
    parts = {"tried": len(found), "failed": failed, "releases": ENOUGH, "coverage": kinds, "cases": found}
    claim = "intervals that promise 95 % hold in at least 94 % of releases, by an exact binomial test"
    write_found(EVIDENCE, claim, None, seconds, parts, PACKAGES)


if __name__ == "__main__":
    sys.exit(main())
