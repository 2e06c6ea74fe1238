"""PipelineDP with private partitions: half of the budget selects keys, half counts people, Gaussian noise."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import pipeline_dp
import polars as pl
from keys_child import DELTA, EPSILON, measure

STRATEGIES = {
    "geometric": pipeline_dp.PartitionSelectionStrategy.TRUNCATED_GEOMETRIC,
    "gaussian": pipeline_dp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING,
}


def release(path: str, most: int) -> Mapping[str, float]:
    rows = pl.read_parquet(path).select("person", "key").rows()
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    asked = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
        max_partitions_contributed=most,
        max_contributions_per_partition=1,
        partition_selection_strategy=STRATEGIES[sys.argv[5]],
    )
    columns = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda row: 0
    )
    answers = engine.aggregate(rows, asked, columns)
    budget.compute_budgets()
    return {key: float(metrics[0]) for key, metrics in answers}


if __name__ == "__main__":
    measure(release, "pipeline-dp", "dp-accounting")
