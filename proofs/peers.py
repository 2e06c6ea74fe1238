"""Five jobs in five other libraries and here, on the same people: what each answers, and how far off it is.

    ./run prove peers                      makes an environment for each library, and runs it
    ./run prove peers --only opendp        keeps what is there of the others
    ./run prove peers --pages              makes the page docs/coming-from.md anew from what is there

The scripts are in proofs/jobs; the pages show their code and our own. Errors are root mean squares over all answers and
repetitions, of counts in people, of sums in units of the upper bound, of means in percent of the width of the bounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "shared"), str(ROOT / "benchmarks"), str(ROOT / "proofs" / "jobs")]

import evidence  # noqa: E402
import peers_pages  # noqa: E402
from peers_pages import LIBRARIES, OURS  # noqa: E402
from told import BOUNDS, NAMES, REGIONS  # noqa: E402

import gaussmith as gm  # noqa: E402

FILE = ROOT / "docs" / "evidence" / "peers.json"
CLAIM = "The same five jobs in five other libraries and here: errors at (ε = 1, δ = 1e-6), on the same 5 000 people."
PEOPLE, MOST, SECONDS = 5_000, 100, 25


def make_people() -> pl.DataFrame:
    rng = np.random.default_rng()
    return pl.DataFrame(
        {
            "region": rng.choice(REGIONS, PEOPLE, p=[0.5, 0.3, 0.2]),
            "age": rng.integers(18, 90, PEOPLE).astype(float),
            "wage": np.clip(rng.lognormal(3, 0.4, PEOPLE), 0, 100).round(2),
            "hours": np.clip(rng.normal(35, 8, PEOPLE), 0, 60).round(1),
        }
    )


def true_answers(people: pl.DataFrame, job: str) -> np.ndarray:
    by = [people.filter(pl.col("region") == region) for region in REGIONS]
    found: dict[str, list[Any]] = {
        "count_people": [len(people)],
        "three_sums": [people[name].sum() for name in BOUNDS],
        "three_means": [people[name].mean() for name in BOUNDS],
        "mean_by_region": [part["wage"].mean() for part in by],
        "count_by_region": [len(part) for part in by],
    }
    return np.array(found[job], float)


def units(job: str) -> np.ndarray:
    highs = np.array([high for _, high in BOUNDS.values()])
    return {"three_sums": highs, "three_means": highs / 100, "mean_by_region": highs[1:2] / 100}.get(job, np.ones(1))


def error_of(job: str, answers: list[list[float]], people: pl.DataFrame) -> float:
    errors = (np.array(answers, float) - true_answers(people, job)) / units(job)
    return float(np.sqrt(np.mean(errors**2)))


def our_answers(path: Path) -> dict[str, list[list[float]]]:
    """The snippets of the pages, run as they are shown."""
    names = {"gm": gm, "sure": gm.Guarantee(epsilon=1, delta=1e-6), "bounds": BOUNDS}
    os.chdir(path.parent)
    requests = {job: eval(code, dict(names)) for job, code in OURS.items()}
    return {
        job: [np.ravel(gm.release(request).values).tolist() for _ in range(MOST)] for job, request in requests.items()
    }


def run(python: str, script: str, path: Path, seconds: float) -> dict[str, Any]:
    """What a library told, in a process and an environment of its own."""
    command = [
        python,
        "-W",
        "ignore",
        str(ROOT / "proofs" / "jobs" / f"{script}.py"),
        str(path),
        str(MOST),
        str(seconds),
    ]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, env=environment)
    for line in done.stderr.strip().splitlines()[-3:] if done.returncode else ():
        print(f"    {line}"[:200])
    if done.returncode:
        return {"skipped": "it ended with an error"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Five jobs in five other libraries and here.")
    parser.add_argument("--only", nargs="*", default=[each.name for each in LIBRARIES], metavar="LIBRARY")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each job of a library")
    parser.add_argument("--pages", action="store_true", help="make the pages from what is there")
    options = parser.parse_args()
    if options.pages:
        peers_pages.write_pages()
        return 0
    import peers as benchmark  # of benchmarks/, which comes before this file on the path of imports

    start, people = time.perf_counter(), make_people()
    kept = evidence.kept_found(FILE, "errors", "repetitions", "left_out", "libraries")
    found: dict[str, dict[str, Any]] = {
        name: dict(kept.get(name, {})) for name in ("errors", "repetitions", "left_out", "libraries")
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "people.parquet"
        people.write_parquet(path)
        ours = our_answers(path)
        found["errors"]["Gaussmith"] = {job: error_of(job, answers, people) for job, answers in ours.items()}
        found["repetitions"]["Gaussmith"] = MOST
        for library in [each for each in LIBRARIES if each.name in options.only]:
            tool = benchmark.Tool(library.script, library.title, "", library.packages)
            python, reason = benchmark.prepare(tool)
            told = {"skipped": reason} if reason else run(python, library.script, path, options.seconds)
            for kind in found.values():
                kind.pop(library.title, None)
            if "skipped" in told:
                found["left_out"][library.title] = told["skipped"]
                continue
            found["errors"][library.title] = {
                job: error_of(job, told["answers"][job], people) for job in NAMES if job in told["answers"]
            }
            found["repetitions"][library.title] = min(map(len, told["answers"].values()), default=0)
            found["libraries"][library.title] = told["version"]
            for job, why in told["failed"].items():
                found["left_out"][f"{library.title}, {job}"] = why
            print(f"  {library.title}: {found['errors'][library.title]}", flush=True)
        os.chdir(ROOT)
    evidence.write_found(FILE, CLAIM, None, time.perf_counter() - start, found, ["gaussmith"])
    peers_pages.write_pages()
    print(f"{version('gaussmith')}: {found['errors']['Gaussmith']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
