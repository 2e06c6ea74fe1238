"""The five jobs in OpenDP's Context, with Gaussian noise; ρ is the largest whose zCDP gives (ε = 1, δ = 1e-6)."""

import opendp.prelude as dp
import polars as pl
from told import BOUNDS, DELTA, EPSILON, REGIONS, tell

dp.enable_features("contrib")


def find_rho() -> float:
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def epsilon(rho: float) -> float:
        noise = dp.m.make_gaussian(*space, scale=(2 * rho) ** -0.5)
        return float(dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noise), delta=DELTA).map(1.0)[0])

    return float(dp.binary_search(lambda rho: epsilon(rho) <= EPSILON, bounds=(1e-6, 1.0)))


RHO = find_rho()
# shown from here on


def context(path: str, by: list[str]):
    return dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=RHO),  # the ρ that gives ε = 1 at δ = 1e-6
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=by, max_length=100_000, max_groups=len(REGIONS))],
    )


def count_people(path):
    return context(path, []).query().select(dp.len()).release().collect().row(0)


def three_sums(path):
    sums = [pl.col(name).fill_null(0.0).fill_nan(0.0).dp.sum(bounds) for name, bounds in BOUNDS.items()]
    return context(path, []).query().select(sums).release().collect().row(0)


def three_means(path):
    means = [pl.col(name).fill_null(0.0).fill_nan(0.0).dp.mean(bounds) for name, bounds in BOUNDS.items()]
    return context(path, []).query().select(means).release().collect().row(0)


def by_region(path, answer):
    keys = pl.LazyFrame({"region": REGIONS})
    query = context(path, ["region"]).query().group_by("region").agg(answer).with_keys(keys)
    found = dict(query.release().collect().rows())
    return [found[region] for region in REGIONS]


def mean_by_region(path):
    return by_region(path, pl.col("wage").fill_null(0.0).fill_nan(0.0).dp.mean(BOUNDS["wage"]))


def count_by_region(path):
    return by_region(path, dp.len())


if __name__ == "__main__":
    tell("opendp", globals())
