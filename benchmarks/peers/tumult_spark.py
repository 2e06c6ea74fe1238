"""Tumult Analytics on local Spark: a query per column with its share of ρ, for (ε, δ) alone gives no Gaussian noise."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence

from child import DELTA, EPSILON, measure
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, QueryBuilder, RhoZCDPBudget, Session

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()


def find_rho() -> float:
    """The largest ρ that gives (ε, δ), by the tight conversion of Canonne, Kamath and Steinke (2020)."""
    low, high = 1e-6, 1.0
    while high / low > 1 + 1e-9:
        rho = math.sqrt(low * high)
        low, high = (rho, high) if delta_of(rho) <= DELTA else (low, rho)
    return low


def delta_of(rho: float) -> float:
    def bound(excess: float) -> float:  # the order α = 1 + excess
        power = excess * ((1 + excess) * rho - EPSILON) + (1 + excess) * math.log1p(-1 / (1 + excess))
        return power - math.log(excess)

    low, high = math.log(1e-3), math.log(1e6)  # convex in the logarithm of the order near its only minimum
    for _ in range(200):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if bound(math.exp(first)) < bound(math.exp(second)) else (first, high)
    return math.exp(bound(math.exp(low)))


def release(path: str, rows: int, columns: Sequence[str]) -> tuple[Sequence[float], float]:
    rho, d = find_rho(), len(columns)
    session = Session.from_dataframe(RhoZCDPBudget(rho), "t", spark.read.parquet(path), protected_change=AddOneRow())
    share = RhoZCDPBudget(rho / d)
    answers = []
    for j, name in enumerate(columns):
        query = QueryBuilder("t").sum(name, 0.0, 1.0, name="total")
        budget = session.remaining_privacy_budget if j == d - 1 else share
        answers.append(session.evaluate(query, budget).collect()[0]["total"])
    return answers, math.sqrt(d / (2 * rho))


def finish() -> None:
    """Spark's own process is stopped and waited for, so that its memory is known."""
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)


if __name__ == "__main__":
    measure(release, "tmlt.analytics", "pyspark", finish=finish)
