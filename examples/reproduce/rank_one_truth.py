"""R1SMG: the true δ of the rank-one singular mechanism against the δ it claims, over the number of coordinates."""

from __future__ import annotations

from pathlib import Path

from drawing import Numbers, check, draw, run

import gaussmith as gm

CLAIMED = 1e-5
COMPUTED = {
    "true δ, M = 3": 1.736e-6,
    "true δ, M = 4": 9.044e-4,
    "true δ, M = 10": 0.18141,
    "true δ, M = 100": 0.97099,
    "true δ, M = 1000": 0.999994,
    "nearest-centre guess right, M = 100": 0.991,
}


def main(out: Path, fast: bool = False) -> Numbers:
    """At the claimed (1, 1e-5): the smallest δ that truly holds, and how often the nearer centre is the true one."""
    found: Numbers = {}
    values = []
    for M in (3, 4, 10, 100, 1000) if fast else (3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000):
        entry = gm.papers.rank_one(dimension=M, epsilon=1, delta=CLAIMED)
        found[f"true δ, M = {M}"] = entry.true_delta(1)
        values.append({"x": M, "y": entry.true_delta(1), "series": "true δ at ε = 1"})
        values.append({"x": M, "y": CLAIMED, "series": "claimed δ"})
        values.append({"x": M, "y": entry.attack_success, "series": "nearest-centre guess is right"})
    found["nearest-centre guess right, M = 100"] = gm.papers.rank_one(
        dimension=100, epsilon=1, delta=CLAIMED
    ).attack_success
    draw(out, values, "coordinates M", "probability", log="xy")
    return check(found, COMPUTED, within=1e-3)


if __name__ == "__main__":
    run(main, "rank_one_truth")
