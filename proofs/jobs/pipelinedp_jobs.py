"""The five jobs in PipelineDP on its local backend, with Gaussian noise and declared partitions."""

import pipeline_dp
import polars as pl
from pipeline_dp import Metrics
from told import BOUNDS, DELTA, EPSILON, REGIONS, tell

# shown from here on


def release(path, columns, metric, keys=None):
    rows = pl.read_parquet(path).with_row_index("person").rows(named=True)
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    asked = []
    for column in columns:
        low, high = BOUNDS[column]
        params = pipeline_dp.AggregateParams(
            metrics=[metric],
            noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            min_value=low,
            max_value=high,
        )
        extract = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row["person"],
            partition_extractor=lambda row: row["region"] if keys else "all",
            value_extractor=lambda row, column=column: row[column],
        )
        asked.append(engine.aggregate(rows, params, extract, keys or ["all"]))
    budget.compute_budgets()
    return [dict(answers)[key][0] for answers in asked for answers in [list(answers)] for key in keys or ["all"]]


def count_people(path):
    return release(path, ["wage"], Metrics.COUNT)


def three_sums(path):
    return release(path, BOUNDS, Metrics.SUM)


def three_means(path):
    return release(path, BOUNDS, Metrics.MEAN)


def mean_by_region(path):
    return release(path, ["wage"], Metrics.MEAN, REGIONS)


def count_by_region(path):
    return release(path, ["wage"], Metrics.COUNT, REGIONS)


if __name__ == "__main__":
    tell("pipeline-dp", globals())
