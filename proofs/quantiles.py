"""Proof: quantiles without a range, over cells that are found in stages, and how far they are off.

    error       in ranks and in values, beside bounds that are learned first ("private") and bounds that are declared
                with knowledge of the data; by data set and level
    coverage    how often intervals of 95 % hold the quantile
    nothing     how often no cells are found where nobody is
    releases    the error in ranks of real releases, with exact noise, beside that of the simulation

The rule and the shapes of noise are the real ones; cells get float noise, for speed. The data sets were chosen once.
Nothing was tuned on them; the number of last cells was, on lognormal(3, 1). Writes docs/evidence/quantiles.json; leaves
with 1 if a figure is not kept.

    ./run prove quantiles                   all of it, a few minutes
    ./run prove quantiles --quick           fewer runs, nothing is written
"""

from __future__ import annotations

import argparse
import math
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "shared"))
sys.path.append(str(ROOT / "proofs"))  # at the end: statistics.py is one of them

from bounds import learn  # noqa: E402
from evidence import write_found  # noqa: E402

import gaussmith as gm  # noqa: E402
from gaussmith.planning.learned_cells import WIDTH, FindCells  # noqa: E402
from gaussmith.planning.staging import ANSWERS, NOTHING, Seen  # noqa: E402
from gaussmith.statistics.quantile import increasing  # noqa: E402

FILE = ROOT / "docs" / "evidence" / "quantiles.json"
GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-6)
CELLS = 256
LEAST = 0.95
NORMAL = 1.959964

Array = np.ndarray[Any, np.dtype[np.float64]]


class Data(NamedTuple):
    """A law of data, how many people, and the bounds that somebody who knows such data would declare."""

    make: Callable[[np.random.Generator, int], Array]
    people: int
    declared: tuple[float, float]


DATA = {
    "lognormal(10, 1)": Data(lambda r, n: r.lognormal(10, 1, n), 10_000, (0.0, 500_000.0)),
    "lognormal(10, 1), many people": Data(lambda r, n: r.lognormal(10, 1, n), 100_000, (0.0, 500_000.0)),
    "normal(1000, 1)": Data(lambda r, n: r.normal(1000, 1, n), 10_000, (990.0, 1010.0)),
    "Student t with 2 degrees × 3": Data(lambda r, n: 3 * r.standard_t(2, n), 10_000, (-100.0, 100.0)),
    "70 % zeros, else gamma(1.5) × 500": Data(
        lambda r, n: np.where(r.random(n) < 0.7, 0.0, r.gamma(1.5, 500, n)), 10_000, (0.0, 5000.0)
    ),
    "Poisson(20)": Data(lambda r, n: r.poisson(20, n).astype(float), 10_000, (0.0, 60.0)),
    "two heaps, −10⁶ and 10³": Data(
        lambda r, n: np.where(r.random(n) < 0.3, r.normal(-1e6, 1e5, n), r.normal(1e3, 50, n)), 10_000, (-2e6, 2e3)
    ),
    "shares between 0 and 1": Data(lambda r, n: r.beta(0.5, 3, n), 3_000, (0.0, 1.0)),
    "exponential × 40, few people": Data(lambda r, n: r.exponential(40, n), 300, (0.0, 400.0)),
}

ASKED = {"median": (0.5,), "0.9": (0.9,), "nine deciles": tuple(k / 10 for k in range(1, 10))}


@lru_cache
def noise_of(cells: int) -> tuple[Array, Array]:
    """Of the plan of a quantile over so many cells, μ = 1: what turns normal noise into noise below edges; C."""
    request = gm.Request(
        "x.csv", medians=["x"], bins={"x": list(range(cells - 1))}, complete=["x"], guarantee=gm.Guarantee(mu=1)
    )
    made = request.plan.queries[0].block.shape.features.dense()
    return made, made @ made.T


class Found(NamedTuple):
    """Estimates of all levels, and the ends of their intervals."""

    values: Array
    lows: Array
    highs: Array


def read(x: Array, edges: Array, ends: tuple[float, float], levels: Sequence[float], mu: float, width: float,
         rng: np.random.Generator) -> Found:  # fmt: skip
    """Quantiles of sorted x over cells, with the noise of their plan; statement 45 of docs/theory.md."""
    made, C = noise_of(len(edges) + 1)
    below = np.append(np.searchsorted(x, edges, side="left"), len(x)) + made @ rng.normal(size=made.shape[1]) / mu
    y, limits = np.append(0.0, below), np.array([ends[0], *edges, ends[1]])
    rising, n = increasing(y), y[-1]
    variance, beside = np.append(0.0, np.diag(C)) / mu**2, np.append(0.0, C[:, -1]) / mu**2
    values, lows, highs = [], [], []
    for q in levels:
        spread = width * np.sqrt(np.maximum(variance - 2 * q * beside + q * q * variance[-1], 0.0))
        starts, stops = (y - q * n <= spread)[:-1], (y - q * n >= -spread)[1:]
        starts[0] = stops[-1] = True
        kept = np.flatnonzero(starts & stops)
        some = n > width * math.sqrt(variance[-1])
        lows.append(limits[kept[0]] if some else -math.inf)
        highs.append(limits[kept[-1] + 1] if some else math.inf)
        k = int(np.clip(np.searchsorted(rising, q * n, side="left"), 1, len(limits) - 1))
        inside = (q * n - rising[k - 1]) / (rising[k] - rising[k - 1]) if rising[k] > rising[k - 1] else 0.5
        low, high = limits[k - 1], limits[k]
        is_known = n > 0 and math.isfinite(low) and math.isfinite(high)
        values.append(low + (high - low) * min(max(inside, 0.0), 1.0) if is_known else math.nan)
    return Found(np.array(values), np.array(lows), np.array(highs))


def staged(x: Array, levels: Sequence[float], rng: np.random.Generator) -> Found | None:
    """One run of the rule; None where nothing is found."""
    rule, seen, mu = FindCells((("x", tuple(levels)),)), [], GUARANTEE.mu
    left = Fraction(mu) ** 2
    whole = left
    while True:
        step = rule.step(seen, left)
        if step.stage == NOTHING:
            return None
        open_ends = (-math.inf, math.inf)
        if step.stage == ANSWERS:
            edges = np.array(step.asks["cells"]["x"])
            return read(x, edges, open_ends, levels, math.sqrt(left), NORMAL, rng)
        assert step.share is not None
        edges, spent = np.array(step.asks["edges"]["x"]), step.share * whole
        found = read(x, edges, open_ends, levels, math.sqrt(spent), WIDTH, rng)
        ends = tuple(float(end) for pair in zip(found.lows, found.highs, strict=True) for end in pair)
        seen.append(Seen(step.stage, {"x": ends}, {}))
        left -= spent


def within(x: Array, bounds: tuple[float, float], levels: Sequence[float], mu: float, rng: Any) -> Found:
    """Quantiles over equal cells within bounds: values beyond count as these."""
    edges = np.linspace(*bounds, CELLS + 1)[1:-1]
    return read(np.clip(x, *bounds), edges, bounds, levels, mu, NORMAL, rng)


def bounded(x: Array, levels: Sequence[float], rng: np.random.Generator) -> Found | None:
    """Bounds that are learned first, as `bounds = "private"` has it."""
    bounds, left = learn(x, rng)
    return None if bounds is None else within(x, bounds, levels, math.sqrt(left), rng)


def ranks_off(x: Array, values: Array, levels: Sequence[float]) -> Array:
    """How many people lie between each value and its quantile. Values within a millionth of the spread count as one."""
    near = 1e-6 * float(np.subtract(*np.quantile(x, [0.98, 0.02])))
    least, most = np.searchsorted(x, values - near, side="left"), np.searchsorted(x, values + near, side="right")
    wanted = np.array(levels) * len(x)
    return np.asarray(np.maximum(np.maximum(least - wanted, wanted - most), 0.0))


def measure(data: Data, levels: Sequence[float], runs: int, rng: np.random.Generator) -> dict[str, Any]:
    """The errors of three ways on one data set, and how often intervals of the staged one hold."""
    tools: dict[str, Callable[[Array], Found | None]] = {
        "staged": lambda x: staged(x, levels, rng),
        "private bounds": lambda x: bounded(x, levels, rng),
        "declared bounds": lambda x: within(x, data.declared, levels, GUARANTEE.mu, rng),
    }
    ranks: dict[str, list[float]] = {name: [] for name in tools}
    values: dict[str, list[float]] = {name: [] for name in tools}
    held, tested, unknown = 0, 0, 0
    for _ in range(runs):
        x = np.sort(data.make(rng, data.people))
        truth = x[np.ceil(np.array(levels) * len(x)).astype(int) - 1]
        spread = float(np.subtract(*np.quantile(x, [0.9, 0.1])))
        for name, tool in tools.items():
            found = tool(x)
            known = np.zeros(len(levels), bool) if found is None else np.isfinite(found.values)
            if found is not None:
                off = ranks_off(x, np.where(known, found.values, 0.0), levels)
                ranks[name].append(float(np.sqrt(np.mean(off[known] ** 2))) if known.any() else math.nan)
                values[name].append(float(np.sqrt(np.mean((found.values - truth)[known] ** 2))) / spread)
            if name == "staged":
                unknown += int((~known).sum())
                tested += len(levels)
                held += len(levels) if found is None else int(((found.lows <= truth) & (truth <= found.highs)).sum())
    row: dict[str, Any] = {"people": data.people, "runs": runs}
    for name in tools:
        row[f"{name}: ranks"] = float(f"{_size(ranks[name]):.3g}")
        row[f"{name}: values"] = float(f"{_size(values[name]):.3g}")
    return {**row, "coverage": round(held / tested, 4), "unknown": round(unknown / tested, 4)}


def _size(errors: Sequence[float]) -> float:
    known = [each for each in errors if math.isfinite(each)]
    return math.sqrt(np.mean(np.square(known))) if known else math.nan


def prove_releases(runs: int, rng: np.random.Generator) -> dict[str, Any]:
    """The error in ranks of real releases, and of the simulation on the same numbers."""
    import polars as pl

    x = np.sort(DATA["lognormal(10, 1)"].make(rng, 10_000))
    request = gm.Request(pl.DataFrame({"x": x}), medians=["x"], bins={"x": "private"}, complete=["x"],
                         guarantee=GUARANTEE)  # fmt: skip
    real = [gm.release(request)["x_median"].value for _ in range(runs)]
    made = [staged(x, (0.5,), rng) for _ in range(20 * runs)]
    numbers = [np.array(real), np.array([each.values[0] for each in made if each is not None])]
    errors = [_size((np.searchsorted(x, each) - 5000.0).tolist()) for each in numbers]
    print(f"{runs} releases: off by {errors[0]:.2f} ranks; simulated {errors[1]:.2f}", flush=True)
    return {"releases": runs, "released": round(errors[0], 2), "simulated": round(errors[1], 2)}


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="./run prove quantiles", description="How good quantiles without a range are."
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs; nothing is written")
    parser.add_argument("--seed", default=secrets.token_hex(8), help="hex digits; without, a fresh one")
    chosen = parser.parse_args(words)
    start, rng = time.perf_counter(), np.random.default_rng(int(chosen.seed, 16))
    runs = 30 if chosen.quick else 400
    tables: dict[str, dict[str, Any]] = {}
    problems = []
    for asked, levels in ASKED.items():
        tables[asked] = {}
        for name, data in DATA.items():
            row = tables[asked][name] = measure(data, levels, runs, rng)
            print(asked, name, row, flush=True)
            slack = 0.0 if chosen.quick is False else 0.2
            if row["coverage"] < LEAST - 3 * math.sqrt(LEAST * (1 - LEAST) / runs) - slack:
                problems.append(f"{asked} of {name}: intervals hold {row['coverage']}")
    nothing = {
        str(n): np.mean([staged(np.full(n, 7.0), (0.5,), rng) is None for _ in range(10 * runs)]) for n in (0, 1)
    }
    problems += [f"{n} people: cells found" for n, share in nothing.items() if share < 0.99]
    releases = prove_releases(20 if chosen.quick else 150, rng)
    if not 1 / 1.5 < releases["released"] / releases["simulated"] < 1.5 and not chosen.quick:
        problems.append("releases are not as simulated")
    if not chosen.quick:
        found = {"error": tables, "nothing_found_by_people": {n: float(v) for n, v in nothing.items()}}
        claim = "quantiles without a range, over cells found in stages, have intervals that hold, and errors as stated"
        parts = {**found, "releases": releases, "problems": problems}
        write_found(FILE, claim, chosen.seed, time.perf_counter() - start, parts, ("gaussmith", "numpy", "polars"))
    print("\n".join(problems) or "all kept", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
