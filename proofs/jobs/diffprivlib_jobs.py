"""The five jobs in diffprivlib: Laplace and geometric noise for pure ε = 1, the number of people public in means."""

import numpy as np
import polars as pl
from diffprivlib import tools
from told import BOUNDS, EPSILON, REGIONS, tell

# shown from here on


def count_people(path):
    return [tools.count_nonzero(np.ones(len(pl.read_parquet(path))), epsilon=EPSILON)]


def three_sums(path):
    table, share = pl.read_parquet(path), EPSILON / 3
    return [tools.sum(table[name].to_numpy(), epsilon=share, bounds=bounds) for name, bounds in BOUNDS.items()]


def three_means(path):
    table, share = pl.read_parquet(path), EPSILON / 3
    return [tools.mean(table[name].to_numpy(), epsilon=share, bounds=bounds) for name, bounds in BOUNDS.items()]


def mean_by_region(path):
    table = pl.read_parquet(path)
    parts = [table.filter(region=region)["wage"].to_numpy() for region in REGIONS]
    return [tools.mean(part, epsilon=EPSILON, bounds=BOUNDS["wage"]) for part in parts]


def count_by_region(path):
    numbers = pl.read_parquet(path)["region"].replace_strict(REGIONS, range(3)).to_numpy()
    return tools.histogram(numbers, epsilon=EPSILON, bins=3, range=(-0.5, 2.5))[0]


if __name__ == "__main__":
    tell("diffprivlib", globals())
