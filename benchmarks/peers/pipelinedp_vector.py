"""PipelineDP's sum of vectors, one key for all, on its local engine; half of its budget goes to the choice of keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pipeline_dp
import polars as pl
from child import DELTA, EPSILON, measure


def release(path: str, rows: int, columns: Sequence[str]) -> tuple[Sequence[float], float]:
    clipped = pl.col(columns).fill_null(0.5).fill_nan(0.5).clip(0.0, 1.0)
    table = pl.scan_parquet(path).select(clipped).collect(engine="streaming").to_numpy()
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    asked = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.VECTOR_SUM],
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        vector_size=len(columns),
        vector_norm_kind=pipeline_dp.aggregate_params.NormKind.L2,
        vector_max_norm=len(columns) ** 0.5,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: 0,
        value_extractor=lambda row: row[1],
    )
    found = engine.aggregate(list(enumerate(table)), asked, extractors)
    budget.compute_budgets()
    ((_, answers),) = found
    stated = pipeline_dp.dp_computations.compute_sigma(EPSILON / 2, DELTA / 2, len(columns) ** 0.5)
    return np.asarray(answers.vector_sum), stated


if __name__ == "__main__":
    measure(release, "pipeline-dp", "numpy", "polars")
