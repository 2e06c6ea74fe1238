"""Several questions in one engine of PipelineDP: an aggregation for each, declared partitions, Gaussian noise.

This is its documented accountant, which adds up ε and δ. `pipelinedp_jobs_pld.py` is the experimental one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pipeline_dp
import pipeline_dp.report_generator
import polars as pl
from child import DELTA, EPSILON
from questions import PERSON, ROWS_PER_MONTH, Question, measure

ALL = "all"


def describe(question: Question, weight: float) -> pipeline_dp.AggregateParams:
    """A person's total is clipped as a whole; its rows are limited to more than anybody has."""
    limits = {"max_partitions_contributed": question.most, "max_contributions_per_partition": 1}
    if question.total:
        limits["max_contributions_per_partition"] = 12 * ROWS_PER_MONTH
        limits |= {"min_sum_per_partition": 0.0, "max_sum_per_partition": question.width}
    return pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.SUM if question.total else pipeline_dp.Metrics.PRIVACY_ID_COUNT],
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
        budget_weight=weight,
        **limits,
    )


def extract(question: Question) -> pipeline_dp.DataExtractors:
    return pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[PERSON],
        partition_extractor=lambda row: row[question.column] if question.column else ALL,
        value_extractor=lambda row: row[question.total] if question.total else 0,
    )


def release(
    path: str, job: Sequence[Question], weights: Sequence[float], accountant: Any = pipeline_dp.NaiveBudgetAccountant
) -> list[tuple[list[float], float]]:
    rows = pl.read_parquet(path).rows(named=True)
    budget = accountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    asked = []
    for question, weight in zip(job, weights, strict=True):
        kept = [row for row in rows if row[question.where] == 1] if question.where else rows
        report = pipeline_dp.report_generator.ExplainComputationReport()
        keys = list(question.keys) or [ALL]
        answers = engine.aggregate(
            kept, describe(question, weight), extract(question), keys, out_explain_computation_report=report
        )
        asked.append((keys, answers, report))
    budget.compute_budgets()
    found = []
    for keys, answers, report in asked:
        values = {key: float(metrics[0]) for key, metrics in answers}
        (stated,) = re.findall(r"Gaussian mechanism:  parameter=([\d.e+-]+)", report.text())
        found.append(([values[key] for key in keys], float(stated)))
    return found


if __name__ == "__main__":
    measure(release, 1 / 3, "pipeline-dp")  # the squared error is nearly inverse to ε²
