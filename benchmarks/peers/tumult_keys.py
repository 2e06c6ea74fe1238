"""Tumult Analytics on local Spark: keys by get_groups with half of ε and all of δ, then counts with the other half."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from keys_child import DELTA, EPSILON, measure
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    Session,
)

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "4")
    .getOrCreate()
)


def release(path: str, most: int) -> Mapping[str, float]:
    data = spark.read.parquet(path).select("person", "key")
    session = Session.from_dataframe(
        ApproxDPBudget(EPSILON, DELTA), "t", data, protected_change=AddRowsWithID("person")
    )
    limited = QueryBuilder("t").enforce(MaxGroupsPerID("key", most)).enforce(MaxRowsPerGroupPerID("key", 1))
    keys = session.evaluate(limited.get_groups(["key"]), ApproxDPBudget(EPSILON / 2, DELTA)).collect()
    found = KeySet.from_dict({"key": [row["key"] for row in keys]})
    counts = session.evaluate(limited.groupby(found).count(name="n"), session.remaining_privacy_budget).collect()
    return {row["key"]: float(row["n"]) for row in counts}


def finish() -> None:
    spark.stop()


if __name__ == "__main__":
    measure(release, "tmlt.analytics", "pyspark", finish=finish)
