"""The poster's main result: with correlated noise the error of a sum grows as (√d + 1)/2 instead of √d."""

from __future__ import annotations

from pathlib import Path

from drawing import Numbers, check, draw, run

import gaussmith as gm


def main(out: Path, fast: bool = False) -> Numbers:
    """Standard error of one of d sums of records in [0, 1]^d under add-remove, at μ = 1."""
    mu = gm.Guarantee(epsilon=1, delta=1e-6).mu
    values, found = [], {}
    for d in (1, 4, 16, 64, 256) if fast else (1, 2, 4, 9, 16, 25, 36, 64, 100, 144, 256, 400, 1024):
        entries = {
            "standard Gaussian": gm.papers.analytic(dimension=d, epsilon=1, delta=1e-6, sensitivity=d**0.5),
            "correlated noise": gm.papers.correlated(dimension=d, epsilon=1, delta=1e-6),
        }
        for name, entry in entries.items():
            assert entry.holds
            error = float(entry.standard_errors[0]) * mu
            values.append({"x": d, "y": error, "series": name})
            found[f"{name}, d = {d}"] = error
    draw(out, values, "dimension d", "standard error of one sum (μ = 1)", log="xy")
    published = {f"correlated noise, d = {d}": (d**0.5 + 1) / 2 for d in (1, 4, 16, 64, 256)}
    return check(found, published | {"standard Gaussian, d = 256": 16.0}, within=1e-9)


if __name__ == "__main__":
    run(main, "correlated_noise")
