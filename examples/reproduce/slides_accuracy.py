"""The slides' last exercise corrected: how many rows k counting queries need, exactly and by the slides' bounds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from drawing import Numbers, check, draw, run

from gaussmith.papers.lecture import approximate_rho, counting_queries, rho_for, rows_needed

ASKED: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "failure": 0.05}


def main(out: Path, fast: bool = False) -> Numbers:
    """n for which all k fractions are within 0.01 with probability 0.95, under (1, 1e-6) and replace-one."""
    values: list[dict[str, Any]] = []
    for k in (1, 100, 10_000) if fast else (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000):
        for bound, series in (("exact", "exact"), ("slides", "the slides' bounds, put right")):
            n = rows_needed(queries=k, error=0.01, bound=bound, **ASKED)
            values.append({"x": k, "y": n, "series": series})
        # as printed: √(k log 1/δ)/(ε δ), with ε doing double duty and δ for ε; read as the error in place of δ
        values.append({"x": k, "y": math.sqrt(k * math.log(1e6)) / 0.01, "series": "√(k ln(1/δ))/(ε · error), no ln k"})
    draw(out, values, "counting queries k", "rows needed for an error of 0.01", log="xy")
    found = {
        "rows needed, k = 100, exact": float(rows_needed(queries=100, error=0.01, **ASKED)),
        "rows needed, k = 100, slides": float(rows_needed(queries=100, error=0.01, bound="slides", **ASKED)),
        "ρ ≈ over the exact ρ": approximate_rho(1, 1e-6) / rho_for(1, 1e-6),
    }
    law = counting_queries(queries=100, rows=int(found["rows needed, k = 100, exact"]), **ASKED)
    assert law.maximum_error <= 0.01 < law.union_bound
    # 10·w/(0.01 μ) with w = 3.4739 (the simultaneous width of 100 at 95 %) and μ = 0.23670438066343571
    width = 3.47394
    published = {
        "rows needed, k = 100, exact": 10 * width / (0.01 * 0.23670438066343571),
        "rows needed, k = 100, slides": 10 * math.sqrt(2 * math.log(4000)) / (0.01 * math.sqrt(rho_for(1, 1e-6))),
        "ρ ≈ over the exact ρ": 2.07,
    }
    return check(found, published, within=5e-3)


if __name__ == "__main__":
    run(main, "slides_accuracy")
