"""Tumult Analytics on local Spark: a query for each answer, by copy; pure ε, or Gaussian noise under zCDP."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from asked import AREAS, COLUMNS, COPY, DECILES, FIRST, SPREAD, VALUES, Answers, Ask, report
from child import EPSILON
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, RhoZCDPBudget, Session
from tumult_budget import find_rho

os.environ["PYSPARK_PYTHON"] = sys.executable
settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
builder = SparkSession.builder.master("local[2]")
for setting, value in settings.items():
    builder = builder.config(setting, value)
spark = builder.getOrCreate()
TABLE = spark.read.parquet(sys.argv[1]).cache()
COPIES = TABLE.select(COPY).distinct().count()


def release(way: str, queries: list[Callable[[Any], Any]], keys: tuple[str, tuple[int, ...]] | None = None) -> Answers:
    """Queries by copy, or by copy and key, with equal shares of the budget."""
    pure = way == "pure ε"
    amount, make = (EPSILON, PureDPBudget) if pure else (find_rho(), RhoZCDPBudget)
    session = Session.from_dataframe(make(amount), "t", TABLE, protected_change=AddOneRow())
    declared = {COPY: list(range(COPIES))} | ({} if keys is None else {keys[0]: list(keys[1])})
    by = list(declared)
    found: list[list[float]] = [[] for _ in range(COPIES)]
    for k, query in enumerate(queries):
        share = session.remaining_privacy_budget if k == len(queries) - 1 else make(amount / len(queries))
        asked = query(QueryBuilder("t").groupby(KeySet.from_dict(declared)))
        for row in sorted(session.evaluate(asked, share).collect(), key=lambda row: [row[name] for name in by]):
            found[row[COPY]].append(float(row["answer"]))
    return found


def over(kind: str, names: tuple[str, ...]) -> list[Callable[[Any], Any]]:
    return [lambda grouped, name=name: getattr(grouped, kind)(name, *COLUMNS[name], name="answer") for name in names]


def levels(wanted: tuple[float, ...]) -> list[Callable[[Any], Any]]:
    return [lambda grouped, q=q: grouped.quantile(FIRST, q, *COLUMNS[FIRST], name="answer") for q in wanted]


def ask(way: str, job: str) -> Answers | None:
    count: list[Callable[[Any], Any]] = [lambda grouped: grouped.count(name="answer")]
    plain = {
        "one count": count,
        "one sum": over("sum", (FIRST,)),
        "one mean": over("average", (FIRST,)),
        "five sums": over("sum", tuple(COLUMNS)),
        "five means": over("average", tuple(COLUMNS)),
        "one median": levels((0.5,)),
        "nine deciles": levels(DECILES),
        "one variance": over("variance", (FIRST,)),
        "three variances": over("variance", SPREAD),
    }
    if job in plain:
        return release(way, plain[job])
    if job == "a mean in each of 10 areas":
        return release(way, over("average", (FIRST,)), ("area", AREAS))
    if job == "a histogram of 10 values":
        return release(way, count, ("area", AREAS))
    if job == "shares of five values":
        return [[x / sum(row) for x in row] for row in release(way, count, ("health", VALUES))]
    return None


def asking(way: str) -> Ask:
    return lambda job: ask(way, job)


if __name__ == "__main__":
    report([(way, asking(way)) for way in ("pure ε", "zCDP")], "tmlt.analytics")
