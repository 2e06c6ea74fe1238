"""The report's figure 2 with exact quantiles: what scaling by theorem 4 gains over clipping the plain norm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from drawing import Numbers, check, draw, run

import gaussmith as gm

ROWS = 1e6
PUBLISHED = {
    "σ ∝ i^-1, d = 10": 3.190,
    "σ ∝ i^-1, d = 100": 16.61,
    "σ ∝ i^-1, d = 1000": 106.6,
    "σ ∝ i^-0.5, d = 10": 1.762,
    "σ ∝ i^-0.5, d = 100": 3.443,
    "σ ∝ i^-0.5, d = 1000": 5.604,
    "σ ∝ i^-2, d = 10": 6.317,
    "σ ∝ i^-2, d = 100": 59.67,
    "σ ∝ i^-2, d = 1000": 593.2,
}


def main(out: Path, fast: bool = False) -> Numbers:
    """C_n² d / (C_t² (Σσ)²) for n = 10^6: noise of the plain clip over that of the scaled one."""
    found: Numbers = {}
    values = []
    for power in (0.5, 1, 2):
        for d in (10, 100, 1000) if fast else (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
            asked: dict[str, Any] = {"sd": np.arange(1.0, d + 1) ** -power, "epsilon": 1, "delta": 1e-5, "rows": ROWS}
            plain = gm.papers.gaussian_data(scaling="round", **asked)
            scaled = gm.papers.gaussian_data(scaling="report", **asked)
            ratio = plain.total_variance / scaled.total_variance
            found[f"σ ∝ i^-{power:g}, d = {d}"] = ratio
            values.append({"x": d, "y": ratio, "series": f"σ ∝ i^-{power:g}"})
    draw(out, values, "dimension d", "noise of the plain clip over the scaled one's", log="xy")
    return check(found, PUBLISHED, within=5e-4)


if __name__ == "__main__":
    run(main, "gaussian_data")
