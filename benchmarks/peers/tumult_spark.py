"""Tumult Analytics on local Spark: a query per column with its share of ρ, for (ε, δ) alone gives no Gaussian noise."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence

from child import measure
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, QueryBuilder, RhoZCDPBudget, Session
from tumult_budget import find_rho

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()


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
