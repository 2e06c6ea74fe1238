"""Joseph and Yu's ratio curves: the best elliptic noise for counts and votes against spherical noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from drawing import Numbers, check, draw, run

import gaussmith as gm

G: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
PUBLISHED = {
    "counts, d = 1000, k = 100": 0.918,
    "counts, d = 1000, k = 300": 0.729,
    "counts, d = 1000, k = 499": 0.533,
    "votes, d = 10": 0.604,
    "votes, d = 100": 0.345,
}


def main(out: Path, fast: bool = False) -> Numbers:
    """Expected squared error over that of spherical noise, for counts (by k/d) and for votes (by d)."""
    found: Numbers = {}
    values = []
    for k in (1, 100, 300, 499) if fast else (1, *range(25, 500, 25), 499):
        best = gm.papers.bounded_contribution(dimension=1000, at_most=k, **G)
        round_noise = gm.papers.analytic(dimension=1000, sensitivity=k**0.5, **G)
        ratio = best.total_variance / round_noise.total_variance
        found[f"counts, d = 1000, k = {k}"] = ratio
        values.append({"x": k / 1000, "y": ratio, "series": "counts, d = 1000 (x = k/d)"})
    for d in (10, 100) if fast else (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000):
        best = gm.papers.bounded_contribution(dimension=d, kind="votes", **G)
        longest = ((d - 1) * d * (2 * d - 1) / 6) ** 0.5
        round_noise = gm.papers.analytic(dimension=d, sensitivity=longest, **G)
        ratio = best.total_variance / round_noise.total_variance
        found[f"votes, d = {d}"] = ratio
        values.append({"x": d / 1000, "y": ratio, "series": "votes (x = d/1000)"})
    draw(out, values, "k/d of counts, d/1000 of votes", "squared error over spherical noise's")
    return check(found, PUBLISHED, within=1e-3)


if __name__ == "__main__":
    run(main, "bounded_contribution")
