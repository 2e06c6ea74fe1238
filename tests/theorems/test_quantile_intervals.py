"""Intervals of quantiles: what they hold, where they are open, and how often they are right."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.numerics.matrices import Dense
from gaussmith.planning.error_distribution import normal_width
from gaussmith.statistics.quantile import Quantiles
from gaussmith.statistics.statistic import Noisy

PATH = Path(__file__).parents[2] / "proofs" / "coverage" / "quantiles.py"
SPEC = importlib.util.spec_from_file_location("coverage_of_quantiles", PATH)
assert SPEC is not None and SPEC.loader is not None
coverage = sys.modules["coverage_of_quantiles"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(coverage)


def noisy_of(y: list[float], sd: float) -> Noisy:
    """Prefix counts with independent noise."""
    return Noisy(np.array(y, float), Dense(np.eye(len(y))), sd * sd, False)


def read(levels: list[float], limits: list[float]) -> Quantiles:
    return Quantiles.reading([f"q{q}" for q in levels], levels, limits)


def test_without_noise_the_interval_is_the_cell_of_the_quantile() -> None:
    values = [0.5, 1.5, 1.6, 2.5, 2.5, 2.6, 3.9]
    y = [float(sum(v < edge for v in values)) for edge in (1, 2, 3, 4)]
    for q in (0.1, 0.3, 0.5, 0.9):
        low, high = read([q], [0, 1, 2, 3, 4]).intervals(noisy_of(y, 1e-9), 2.0)
        truth = sorted(values)[int(np.ceil(q * 7)) - 1]
        assert high[0] - low[0] == 1 and low[0] <= truth < high[0]


def test_the_estimate_lies_inside_every_interval() -> None:
    random = np.random.default_rng()
    limits = [float(k) for k in range(13)]
    statistic = read([0.05, 0.3, 0.5, 0.77], limits)
    for _ in range(300):
        noisy = noisy_of((np.sort(random.uniform(0, 50, 12)) + random.normal(0, 6, 12)).tolist(), 6.0)
        values = statistic.values(noisy)
        for width in (1e-12, 0.5, 2.0):
            low, high = statistic.intervals(noisy, width)
            known = np.isfinite(values)
            assert ((low <= values) & (values <= high))[known].all()


def test_open_cells_and_few_records_are_unknown() -> None:
    limits = [-np.inf, 0.0, 1.0, np.inf]
    assert np.isnan(read([0.5], limits).values(noisy_of([60, 80, 100], 1))).all()  # in the open cell
    assert read([0.5], limits).intervals(noisy_of([60, 80, 100], 1), 2)[0][0] == -np.inf
    low, high = read([0.5], limits).intervals(noisy_of([20, 80, 100], 1), 2)
    assert (low[0], high[0]) == (0.0, 1.0)
    low, high = read([0.5], [0, 1, 2]).intervals(noisy_of([1, 1.9], 1), 2)  # perhaps there is nobody
    assert (low[0], high[0]) == (-np.inf, np.inf)
    assert np.isnan(read([0.5], [0, 1, 2]).values(noisy_of([1, -1], 1))).all()


@pytest.mark.parametrize("case", coverage.cases(), ids=lambda case: case.name)
def test_intervals_hold_as_often_as_they_say(case) -> None:
    """Few releases of each case; `./run prove statistics` makes 20 000."""
    from scipy.stats import binom

    repeats = 400
    assert binom.cdf(case.covered(repeats), repeats, 0.95) > 1e-9


def test_too_narrow_intervals_would_be_found() -> None:
    """The same cases with half the width fail."""
    random = np.random.default_rng()
    data = coverage.people(2000, 0.0, random)
    request = coverage.request_for(data, False)
    statistic, counts = coverage.statistic_of(request), coverage.exact_counts(request)
    noisy = coverage.released(request, np.broadcast_to(counts[0], (2000, 256)), random)
    truth = coverage.true_quantiles(data["income"])
    low, high = statistic.intervals(noisy, normal_width(0.95) / 4)
    assert ((low <= truth) & (truth <= high)).mean(axis=0).min() < 0.9


def test_rank_errors_are_those_of_the_best_prefix_noise() -> None:
    """Known cells: 2 to 3.2 people times 1/μ, within 20 %."""
    for error in coverage.rank_errors(2_000, repeats=600).values():
        assert 0.8 * 2.0 < error < 1.2 * 3.2


@pytest.mark.parametrize(("cells", "known"), [(16, 1.690), (64, 2.100), (256, 2.525)])
def test_the_noise_is_the_best_for_prefix_sums(cells: int, known: float) -> None:
    request = gm.Request(
        "t.csv", quantiles={"x": [0.5]}, bins={"x": list(range(cells - 1))}, guarantee=gm.Guarantee(mu=1)
    )
    block = request.plan.queries[0].block
    assert np.sqrt(block.noise.variances.mean()) == pytest.approx(known, abs=2e-3)
    assert request.plan.optimality < 1.001
