"""The kinds of statistics: one line each."""

from __future__ import annotations

from gaussmith.statistics.covariance import Correlations, Covariances, StandardDeviations, Variances
from gaussmith.statistics.histogram import Diagnosis, Histograms, Proportions
from gaussmith.statistics.mean import Means
from gaussmith.statistics.quantile import Quantiles
from gaussmith.statistics.regression import Intercepts, Slopes
from gaussmith.statistics.statistic import NUMBERS, Statistic
from gaussmith.statistics.sum import Count, Linear, Sums, Workloads

STATISTICS: dict[str, type[Statistic]] = {
    Sums.kind: Sums,
    Means.kind: Means,
    Variances.kind: Variances,
    StandardDeviations.kind: StandardDeviations,
    Covariances.kind: Covariances,
    Correlations.kind: Correlations,
    Slopes.kind: Slopes,
    Intercepts.kind: Intercepts,
    Count.kind: Count,
    Histograms.kind: Histograms,
    Proportions.kind: Proportions,
    Quantiles.kind: Quantiles,
    Diagnosis.kind: Diagnosis,
    Linear.kind: Linear,
    Workloads.kind: Workloads,
}
"""By what they are called in saved plans; those asked of columns in the order in which they are shown."""


def asked_of_coordinates() -> dict[str, type[Statistic]]:
    """The statistics that are asked of every coordinate of a domain, by the field of a question that does so."""
    return {field: each for field, each in asked_by_field().items() if each.over == NUMBERS and each.of_columns}


def asked_by_field() -> dict[str, type[Statistic]]:
    """The statistics that a question can ask for, by its field, in the order in which they are shown."""
    return {each.field: each for each in STATISTICS.values() if each.field is not None}
