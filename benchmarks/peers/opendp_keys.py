"""OpenDP's Context with stable keys: Gaussian noise by zCDP, half of δ for the keys and half for the conversion."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import opendp.prelude as dp
import polars as pl
from keys_child import DELTA, EPSILON, measure

LAPLACE = "laplace" in sys.argv[5:]


def loss() -> object:
    if LAPLACE:
        return dp.loss_of(epsilon=EPSILON, delta=DELTA)
    space = dp.c.make_zCDP_to_approxDP  # its own conversion
    low, high = 1e-6, 1.0
    for _ in range(60):
        rho = (low * high) ** 0.5
        fits = _epsilon(space, rho) <= EPSILON
        low, high = (rho, high) if fits else (low, rho)
    return dp.loss_of(rho=low, delta=DELTA / 2)


def _epsilon(conversion: object, rho: float) -> float:
    dp.enable_features("contrib", "honest-but-curious")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    gauss = dp.m.make_gaussian(*space, scale=(1 / (2 * rho)) ** 0.5)
    profile = dp.c.make_zCDP_to_approxDP(gauss)
    return float(profile.map(1.0).epsilon(DELTA / 2))


def release(path: str, most: int) -> Mapping[str, float]:
    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_parquet(path).select("key"),
        privacy_unit=dp.unit_of(
            contributions=[dp.polars.Bound(per_group=most), dp.polars.Bound(by=["key"], per_group=1, num_groups=most)]
        ),
        privacy_loss=loss(),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=10_000_000)],
    )
    found = context.query().group_by("key").agg(dp.len()).release().collect()
    return dict(found.select("key", "len").rows())


if __name__ == "__main__":
    measure(release, "opendp", "polars")
