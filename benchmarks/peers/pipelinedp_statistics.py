"""PipelineDP: an aggregation for each column of a job, by copy, declared partitions; Laplace or Gaussian noise."""

from __future__ import annotations

import sys
from typing import Any

import pipeline_dp
import polars as pl
from asked import AREAS, COLUMNS, COPY, DECILES, FIRST, SPREAD, VALUES, Answers, Ask, report
from child import DELTA, EPSILON

ROWS = pl.read_parquet(sys.argv[1]).with_row_index("person").rows(named=True)
COPIES = max(row[COPY] for row in ROWS) + 1
METRICS = pipeline_dp.Metrics


def release(
    noise: Any, wanted: list[tuple[str, list[Any]]], keys: tuple[str, tuple[int, ...]] | None = None
) -> Answers:
    """For each column its metrics, by copy, or by copy and key; columns share the budget equally."""
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    name, values = keys or ("", (0,))
    parts = [(copy, value) for copy in range(COPIES) for value in values]
    asked = []
    for column, metrics in wanted:
        low, high = COLUMNS[column]
        params = pipeline_dp.AggregateParams(
            metrics=metrics,
            noise_kind=noise,
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            min_value=low,
            max_value=high,
        )
        extract = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row["person"],
            partition_extractor=lambda row: (row[COPY], row[name] if name else 0),
            value_extractor=lambda row, column=column: row[column],
        )
        asked.append(engine.aggregate(ROWS, params, extract, parts))
    budget.compute_budgets()
    found: dict[int, list[float]] = {}
    for answers in asked:
        told = dict(answers)
        for copy, value in parts:
            found.setdefault(copy, []).extend(float(x) for x in told[copy, value])
    return [found[copy] for copy in range(COPIES)]


def shares(noise: Any) -> Answers:
    counts = release(noise, [(FIRST, [METRICS.COUNT])], ("health", VALUES))
    return [[count / sum(row) for count in row] for row in counts]


def ask(noise: Any, job: str) -> Answers | None:
    first, all_columns = (FIRST,), tuple(COLUMNS)
    columns = {"one sum": first, "one mean": first, "one variance": first, "three variances": SPREAD}
    columns |= {"five sums": all_columns, "five means": all_columns}
    kinds = {"sum": METRICS.SUM, "mean": METRICS.MEAN, "variance": METRICS.VARIANCE}
    if job in columns:
        kind = kinds[job.split()[-1].removesuffix("s")]
        return only(release(noise, [(name, [kind]) for name in columns[job]]), len(columns[job]))
    if job == "one count":
        return release(noise, [(FIRST, [METRICS.COUNT])])
    if job == "a mean in each of 10 areas":
        return only(release(noise, [(FIRST, [METRICS.MEAN])], ("area", AREAS)), len(AREAS))
    if job == "a histogram of 10 values":
        return release(noise, [(FIRST, [METRICS.COUNT])], ("area", AREAS))
    if job == "shares of five values":
        return shares(noise)
    if job in ("one median", "nine deciles"):
        levels = (0.5,) if job == "one median" else DECILES
        return release(noise, [(FIRST, [METRICS.PERCENTILE(100 * q) for q in levels])])
    return None


def only(answers: Answers, size: int) -> Answers:
    """The metric that was asked for: it comes first of those that are returned with it."""
    return [row[:: len(row) // size] for row in answers]


def asking(noise: Any) -> Ask:
    return lambda job: ask(noise, job)


if __name__ == "__main__":
    kinds = (("pure ε", pipeline_dp.NoiseKind.LAPLACE), ("Gaussian", pipeline_dp.NoiseKind.GAUSSIAN))
    report([(way, asking(noise)) for way, noise in kinds], "pipeline-dp")
