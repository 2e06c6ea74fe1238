"""Limits for prefix sums, ranges and trees over many cells, in closed form: see `numerics.run_limits`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussmith.numerics.run_limits import limit_of_runs
from gaussmith.problem import Problem
from gaussmith.workloads import Runs

if TYPE_CHECKING:
    from gaussmith.domains import Cells


def long_runs_bound(problem: Problem[Cells], runs: Runs) -> float:
    """No Gaussian noise has a smaller weighted total at μ = 1; rounded down. Weights that differ count as the least."""
    least = float(problem.features.weights.min())
    pairs, or_none = not problem.secret_count, problem.domain.or_none
    found = limit_of_runs(runs.kind, runs.cells, runs.branching, pairs=pairs, or_none=or_none)
    return least * found * (1.0 - 2.0**-50)
