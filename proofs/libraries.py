"""Proof: the auditor on functions of other libraries, each in one line. Shown whatever it finds.

    numpy          np.clip(data, 0, 1).sum() + normal(0, σ)          must be refuted by its low bits
    OpenDP         then_gaussian(σ) on a float                       must survive
    diffprivlib    GaussianAnalytic(ε, δ, sensitivity=1)             shown whatever it is

Then the σ that each needs for random (ε, δ) and sensitivities. diffprivlib searches the exact curve, as we do: ours is
the same to 1e-5 (its search stops there), and by 50 digits never too small. OpenDP goes through zCDP: its σ is never
below ours.

OpenDP and diffprivlib are no dependencies: run this in an environment that has them and gaussmith.

    PYTHONPATH=src python proofs/libraries.py --samples 100000

Writes docs/evidence/libraries.json; leaves with 1 if numpy survives, OpenDP is refuted, or a σ disagrees.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "shared"))

from evidence import write_found  # noqa: E402

import gaussmith as gm  # noqa: E402
from gaussmith.audit.auditor import audit  # noqa: E402
from gaussmith.audit.exact import gaussian_delta  # noqa: E402

FILE = ROOT / "docs" / "evidence" / "libraries.json"
CLAIM = (
    "The auditor refutes numpy's naive Gaussian by its low bits, and OpenDP's Gaussian survives. "
    "Our σ is diffprivlib's, and never above OpenDP's."
)
G = gm.Guarantee(epsilon=1, delta=1e-5)
SIGMA = 1 / G.mu


def clipped_sum(data: Any) -> float:
    return float(np.clip(data, 0, 1).sum())


def with_numpy() -> Callable[[Any], float]:
    rng = np.random.default_rng()
    return lambda data: clipped_sum(data) + rng.normal(0, SIGMA)


def with_opendp() -> Callable[[Any], float]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measure = (dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)) >> dp.m.then_gaussian(SIGMA)
    return lambda data: float(measure(clipped_sum(data)))


def with_diffprivlib() -> Callable[[Any], float]:
    from diffprivlib.mechanisms import GaussianAnalytic

    mechanism = GaussianAnalytic(epsilon=1.0, delta=1e-5, sensitivity=1.0)
    return lambda data: float(mechanism.randomise(clipped_sum(data)))


def calibration(cases: int, rng: random.Random) -> dict[str, Any]:
    """Our σ for random (ε, δ, Δ) beside theirs: the largest relative difference, and which are too small."""
    from diffprivlib.mechanisms import GaussianAnalytic

    found: dict[str, Any] = {"random (ε, δ, Δ)": cases, "ours too small by 50 digits": 0}
    apart, theirs_small, above, ratios = 0.0, 0, 0, []
    few = max(1, cases // 20)
    for case in range(cases):
        epsilon, delta, size = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-9, -2), 10 ** rng.uniform(-3, 3)
        mu = gm.Guarantee(epsilon=epsilon, delta=delta).mu
        ours = size / mu
        theirs = float(GaussianAnalytic(epsilon=epsilon, delta=delta, sensitivity=size)._scale)
        apart = max(apart, abs(ours / theirs - 1))
        theirs_small += bool(gaussian_delta(epsilon, size / theirs) > delta)
        found["ours too small by 50 digits"] += bool(gaussian_delta(epsilon, mu) > delta)
        if case < few:
            ratios.append(opendp_sigma(epsilon, delta, size) / ours)
            above += ratios[-1] < 1
    return found | {
        "largest difference from diffprivlib": apart,
        "diffprivlib's too small by 50 digits": theirs_small,
        "compared with OpenDP": few,
        "ours above OpenDP's": above,
        "OpenDP's over ours, least": min(ratios),
        "OpenDP's over ours, most": max(ratios),
    }


def opendp_sigma(epsilon: float, delta: float, size: float) -> float:
    """The least σ for which OpenDP says (ε, δ), by bisection."""
    import opendp.prelude as dp

    dp.enable_features("contrib")

    def holds(sigma: float) -> bool:
        measure = (dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)) >> dp.m.then_gaussian(sigma)
        return bool(dp.c.make_zCDP_to_approxDP(measure).map(size).delta(epsilon) <= delta)

    low, high = 0.0, size
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    began, rows, seed = time.perf_counter(), {}, secrets.token_hex(6)
    sigmas = calibration(arguments.cases, random.Random(seed))
    print(sigmas, flush=True)
    for name, make in (("numpy", with_numpy), ("opendp", with_opendp), ("diffprivlib", with_diffprivlib)):
        verdict = audit(make(), gm.Box([0], [1]), G, samples=arguments.samples)
        bits = next(each for each in verdict.attempts if each.name == "low bits")
        rows[name] = {
            "survived": verdict.survived,
            "refuted by": ", ".join(each.name for each in verdict.refuted_by),
            "μ claimed": G.mu,
            "μ at least, by low bits": bits.found,
            "samples": verdict.samples,
        }
        print(name, rows[name], flush=True)
    names = ["gaussmith", "numpy", "opendp", "diffprivlib"]
    if not arguments.dry:
        found = {"functions": rows, "calibration": sigmas}
        write_found(FILE, CLAIM, seed, time.perf_counter() - began, found, names)
    kept = rows["opendp"]["survived"] and "low bits" in rows["numpy"]["refuted by"]
    kept &= sigmas["largest difference from diffprivlib"] < 1e-5
    kept &= not sigmas["ours too small by 50 digits"] and not sigmas["ours above OpenDP's"]
    print("all kept" if kept else "NOT KEPT")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
