"""Means of vectors of which nothing is known: ours against PLAN, IOME and CoinPress at the same honest ρ.

The error is the root mean square of ‖estimate − mean of the data‖₂: noise and clipping, not sampling. Peers are for
replace-one and get a public range of the values; ours gets none. Ours is simulated in floats with the rules of the
library, and at some settings released by the library itself.

    ./run python benchmarks/unknown.py --runs 4 --rows "C d=64"

Claim: ours is ahead of every peer on normal data, and within 1.1 of the best on skewed data.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "shared"))
import unknown_means
import unknown_peers

Array = Any


@dataclass(frozen=True)
class Row:
    """A law of data, how much of it there is, the guarantee, and what the peers are told."""

    name: str
    n: int
    d: int
    draw: Callable[[np.random.Generator], Array]
    bounds: tuple[float, float]
    rho: float = 0.5
    normal: bool = True
    held_out: bool = False
    coinpress: bool = False
    runs: int = 8


def law_a(d: int, runs: int) -> Row:
    u = 25 * np.sqrt(d)
    return Row(f"A d={d}", 4000, d, lambda rng: rng.normal(size=(4000, d)), (-u, u), runs=runs)


def law_b(alpha: int, runs: int) -> Row:
    d, n = 512, 10_000
    sd = (d / np.arange(1, d + 1)) ** (alpha / 2)
    u = 50 * d * np.sqrt(sd.max())
    return Row(
        f"B α={alpha} d={d} ρ=1/16", n, d, lambda rng: 10 + rng.normal(size=(n, d)) * sd, (-u, u), 1 / 16, runs=runs
    )


def first_of_coinpress(n: int, runs: int) -> Row:
    d, u = 50, 10 * np.sqrt(50)
    return Row(f"CoinPress 1 n={n}", n, d, lambda rng: rng.normal(size=(n, d)), (-u, u), coinpress=True, runs=runs)


def law_c(d: int, runs: int, name: str = "normal", held_out: bool = False) -> Row:
    n = 10_000
    sd = d / np.arange(1, d + 1)
    u = 50 * d * np.sqrt(sd.max())
    law = LAWS[name]
    title = f"C d={d}" if name == "normal" else f"C d={d}, {name}"
    normal = name in ("normal", "correlation .5")
    return Row(title, n, d, lambda rng: 10 + law(rng, n, d) * sd, (-u, u), normal=normal, held_out=held_out, runs=runs)


def told_by_lognormals(n: int, d: int, rho: float, runs: int, name: str = "normal") -> Row:
    """The held out rows: σ_j = e^(1.5 N), means N(0, 20²), drawn anew in every run.

    The largest σ_j of all runs decides the error, so these rows need many.
    """

    def draw(rng: np.random.Generator) -> Array:
        sd, mean = np.exp(1.5 * rng.normal(size=d)), 20 * rng.normal(size=d)
        return mean + LAWS[name](rng, n, d) * sd

    title = f"held out n={n} d={d} ρ={rho:g}" + ("" if name == "normal" else f", {name}")
    return Row(title, n, d, draw, (-1000.0, 1000.0), rho, name == "normal", True, runs=runs)


def _weibull(rng: np.random.Generator, n: int, d: int) -> Array:
    return (rng.weibull(0.7, size=(n, d)) - 1.26582) / 1.85122


def _half_normal(rng: np.random.Generator, n: int, d: int) -> Array:
    return (np.abs(rng.normal(size=(n, d))) - np.sqrt(2 / np.pi)) / np.sqrt(1 - 2 / np.pi)


def _either_side(rng: np.random.Generator, n: int, d: int) -> Array:
    return (rng.gamma(2.0, size=(n, d)) - 2) / np.sqrt(2) * rng.choice([-1.0, 1.0], d)


LAWS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "correlation .5": lambda rng, n, d: np.sqrt(0.5) * (rng.normal(size=(n, 1)) + rng.normal(size=(n, d))),
    "t₃": lambda rng, n, d: rng.standard_t(3, size=(n, d)) / np.sqrt(3),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)) - 1,
    "lognormal": lambda rng, n, d: (rng.lognormal(0, 1, size=(n, d)) - np.exp(0.5)) / 2.1612,
    "Weibull .7": _weibull,
    "half normal": _half_normal,
    "Poisson 1": lambda rng, n, d: rng.poisson(1.0, size=(n, d)) - 1.0,
    "gamma 2 either side": _either_side,
    "t₄": lambda rng, n, d: rng.standard_t(4, size=(n, d)) / np.sqrt(2),
}


def every_row() -> list[Row]:
    return [
        law_a(16, 20), law_a(64, 12), law_a(256, 6), law_a(512, 4),
        first_of_coinpress(1000, 20), first_of_coinpress(10_000, 12),
        law_c(16, 12), law_c(64, 12), law_c(256, 4), law_c(512, 3), law_b(0, 2), law_b(2, 2),
        law_c(64, 40, "correlation .5"), law_c(64, 10, "t₃"), law_c(64, 10, "exponential"), law_c(64, 10, "lognormal"),
        told_by_lognormals(6000, 128, 0.2, 16), told_by_lognormals(3000, 30, 0.1, 100),
        told_by_lognormals(20_000, 100, 0.02, 16),
        law_c(64, 10, "Weibull .7"), law_c(64, 10, "half normal"),
        law_c(64, 10, "Poisson 1"), law_c(64, 10, "gamma 2 either side", held_out=True),
        law_c(64, 10, "t₄", held_out=True), told_by_lognormals(6000, 32, 0.2, 10, "Weibull .7"),
        told_by_lognormals(6000, 32, 0.2, 10, "gamma 2 either side"), law_c(16, 12, "half normal"),
    ]  # fmt: skip


def measure(row: Row, runs: int, seed: int) -> dict[str, float]:
    """The error of every estimator on the same data."""
    rng = np.random.default_rng([seed, *row.name.encode()])
    mu = np.sqrt(2 * row.rho)
    tools: dict[str, Callable[[Array], Array]] = {
        "ours": lambda x: unknown_means.estimate(x, mu, True, rng),
        "ours, normal": lambda x: unknown_means.estimate(x, mu, True, rng, normal=True),
        "ours, add-remove": lambda x: unknown_means.estimate(x, mu, False, rng),
        "ours, add-remove, normal": lambda x: unknown_means.estimate(x, mu, False, rng, normal=True),
        "PLAN honest": lambda x: unknown_peers.plan(x, row.rho, row.bounds, rng),
        "IOME": lambda x: unknown_peers.iome(x, row.rho, row.bounds, rng),
    }
    if not row.normal:
        del tools["ours, normal"], tools["ours, add-remove, normal"]
    if row.coinpress:
        for t in unknown_peers.SPLITS:
            tools[f"CoinPress t={t}"] = lambda x, t=t: unknown_peers.coinpress(x, row.rho, row.bounds[1], t, rng)
    squares: dict[str, list[float]] = {name: [] for name in tools}
    for _ in range(runs):
        x = row.draw(rng)
        mean = x.mean(axis=0)
        for name, tool in tools.items():
            squares[name].append(float(((tool(x) - mean) ** 2).sum()))
    found = {name: float(np.sqrt(np.mean(each))) for name, each in squares.items()}
    coinpress = [found.pop(name) for name in list(found) if name.startswith("CoinPress")]
    return found | ({"CoinPress, best t": min(coinpress)} if coinpress else {})


def ratio_to_best(found: dict[str, float], ours: str = "ours") -> float:
    """Our error over the least of the peers'."""
    return found[ours] / min(value for name, value in found.items() if not name.startswith("ours"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Means of vectors of which nothing is known.")
    parser.add_argument("--runs", type=int, help="of every row (its own number)")
    parser.add_argument("--rows", nargs="*", help="names, or parts of names")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    for row in every_row():
        if chosen.rows and not any(part in row.name for part in chosen.rows):
            continue
        start = time.perf_counter()
        found = measure(row, chosen.runs or row.runs, chosen.seed)
        print(row.name, {name: float(f"{value:.3g}") for name, value in found.items()}, end=" ")
        print(f"ratio {ratio_to_best(found):.2f}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
