"""The largest ρ whose zCDP gives (ε, δ) by OpenDP's own conversion: its Gaussian noise is calibrated in zCDP."""

from __future__ import annotations

import opendp.prelude as dp
from child import DELTA, EPSILON

dp.enable_features("contrib")


def find_rho() -> float:
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def epsilon(rho: float) -> float:
        noise = dp.m.make_gaussian(*space, scale=(2 * rho) ** -0.5)
        return float(dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noise), delta=DELTA).map(1.0)[0])

    return float(dp.binary_search(lambda rho: epsilon(rho) <= EPSILON, bounds=(1e-6, 1.0)))
