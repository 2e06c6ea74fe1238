"""The five jobs in Tumult Analytics on local Spark, with Gaussian noise; ρ gives (ε = 1, δ = 1e-6)."""

import math
import os
import sys

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, QueryBuilder, RhoZCDPBudget, Session
from told import BOUNDS, DELTA, EPSILON, REGIONS, tell

os.environ["PYSPARK_PYTHON"] = sys.executable
builder = SparkSession.builder.master("local[2]")
for setting, value in {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}.items():
    builder = builder.config(setting, value)
spark = builder.getOrCreate()


def delta_of(rho: float) -> float:
    """By the tight conversion of Canonne, Kamath and Steinke (2020): Tumult has no conversion of its own."""

    def bound(excess: float) -> float:
        power = excess * ((1 + excess) * rho - EPSILON) + (1 + excess) * math.log1p(-1 / (1 + excess))
        return power - math.log(excess)

    low, high = math.log(1e-3), math.log(1e6)
    for _ in range(200):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if bound(math.exp(first)) < bound(math.exp(second)) else (first, high)
    return math.exp(bound(math.exp(low)))


def find_rho() -> float:
    low, high = 1e-6, 1.0
    while high / low > 1 + 1e-9:
        rho = math.sqrt(low * high)
        low, high = (rho, high) if delta_of(rho) <= DELTA else (low, rho)
    return low


RHO = find_rho()
# shown from here on


def session(path):
    table = spark.read.parquet(path)
    return Session.from_dataframe(RhoZCDPBudget(RHO), "people", table, protected_change=AddOneRow())


def count_people(path):
    query = QueryBuilder("people").count(name="n")
    return session(path).evaluate(query, RhoZCDPBudget(RHO)).first()


def each_column(path, kind):
    one, third, found = session(path), RhoZCDPBudget(RHO / 3), []
    for name, (low, high) in BOUNDS.items():
        query = getattr(QueryBuilder("people"), kind)(name, low, high, name="answer")
        found.append(one.evaluate(query, third).first()["answer"])
    return found


def three_sums(path):
    return each_column(path, "sum")


def three_means(path):
    return each_column(path, "average")


def by_region(path, query):
    found = session(path).evaluate(query, RhoZCDPBudget(RHO)).collect()
    answers = {row["region"]: row["answer"] for row in found}
    return [answers[region] for region in REGIONS]


def mean_by_region(path):
    groups = QueryBuilder("people").groupby(KeySet.from_dict({"region": REGIONS}))
    return by_region(path, groups.average("wage", *BOUNDS["wage"], name="answer"))


def count_by_region(path):
    groups = QueryBuilder("people").groupby(KeySet.from_dict({"region": REGIONS}))
    return by_region(path, groups.count(name="answer"))


if __name__ == "__main__":
    tell("tmlt.analytics", globals())
