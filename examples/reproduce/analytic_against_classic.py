"""Balle and Wang: the analytic calibration against the classic one, for every ε; and where the classic one breaks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from drawing import Numbers, check, draw, run

import gaussmith as gm
from gaussmith.papers.gaussian_mechanisms import unchecked_sigma

DELTA = 1e-5


def main(out: Path, fast: bool = False) -> Numbers:
    """Standard deviations at sensitivity 1 and δ = 1e-5; the classic theorem is proved for ε < 1 only."""
    values = []
    epsilons = [10 ** (-2 + 3.5 * i / (12 if fast else 60)) for i in range(13 if fast else 61)]
    for epsilon in epsilons:
        exact = gm.papers.analytic(dimension=1, epsilon=epsilon, delta=DELTA)
        values.append({"x": epsilon, "y": float(exact.standard_errors[0]), "series": "analytic (exact)"})
        series = "classic" if epsilon < 1 else "classic formula, beyond its proof"
        values.append({"x": epsilon, "y": unchecked_sigma(epsilon, DELTA), "series": series})
    draw(out, values, "ε", "standard deviation, sensitivity 1, δ = 1e-5", log="xy")
    half: dict[str, Any] = {"dimension": 1, "epsilon": 0.5, "delta": DELTA}
    ratio = gm.papers.classic(**half).standard_errors[0] / gm.papers.analytic(**half).standard_errors[0]
    found = {"classic over analytic, ε = 0.5": float(ratio), "classic formula first fails at ε": _first_failure()}
    # σ of the classic theorem times the reference value μ = 0.14221055866926122 at (0.5, 1e-5)
    published = {
        "classic over analytic, ε = 0.5": math.sqrt(2 * math.log(1.25 / DELTA)) / 0.5 * 0.14221055866926122,
        "classic formula first fails at ε": 8.42,
    }
    return check(found, published, within=1e-3)


def _first_failure() -> float:
    """The least ε at which the classic formula's true δ exceeds 1e-5, by halving."""
    low, high = 1.0, 20.0
    for _ in range(30):
        middle = (low + high) / 2
        fails = gm.Guarantee(mu=1 / unchecked_sigma(middle, DELTA)).delta_at(middle) > DELTA
        low, high = (low, middle) if fails else (middle, high)
    return high


if __name__ == "__main__":
    run(main, "analytic_against_classic")
