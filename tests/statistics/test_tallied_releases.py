"""Released counts, rankings and sparse sums have the noise that their plans claim, in every direction."""

from __future__ import annotations

import numpy as np
import pytest
from laws import rejects, verdict
from summing import total_records

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.engines.registry import open_source

G = gm.Guarantee(epsilon=1, delta=1e-6)
TIMES = 3_000

CASES = {
    "counts": (gm.Counts(5, at_most=2), {}),
    "counts and their number": (gm.Counts(5, at_most=3), {"count": True}),
    "counts replaced": (gm.Counts(5, at_most=2), {"neighbours": "replace-one", "count": True}),
    "weighed counts": (gm.Counts(4, at_most=2), {"weights": [4.0, 1.0, 1.0, 0.5]}),
    "linear counts": (gm.Counts(4, at_most=2), {"answers": [[1.0, 1, 1, 1], [1, -1, 0, 0]], "count": True}),
    "votes": (gm.domains.Votes(4), {"count": True}),
    "votes replaced": (gm.domains.Votes(4), {"neighbours": "replace-one"}),
    "sparse": (gm.domains.SparseSum(6, at_most=2, bound=[1.0, 2, 3, 4, 5, 60]), {"count": True}),
    "sparse replaced": (gm.domains.SparseSum(6, at_most=2, bound=2.0), {"neighbours": "replace-one"}),
}


def rows_for(domain, rng: np.random.Generator) -> np.ndarray:
    """Records with something wrong in some of them."""
    d = domain.dimension
    if isinstance(domain, gm.domains.Votes):
        rows = rng.permuted(np.tile(np.arange(1.0, d + 1), (40, 1)), axis=1)
        rows[:3, 0] = np.nan
        return rows
    rows = rng.normal(size=(40, d)) * 3 * (rng.random((40, d)) < 0.4)
    return np.where(rng.random((40, d)) < 0.05, np.nan, rows)


def truth_of(domain, rows: np.ndarray) -> np.ndarray:
    """What the records add up to under the domain's rules, by a plain loop."""
    d, sums = domain.dimension, np.zeros(domain.dimension)
    for row in rows:
        if isinstance(domain, gm.domains.Votes):
            sums += (d - row) if sorted(row) == list(range(1, d + 1)) else (d - 1) / 2
        elif isinstance(domain, gm.Counts):
            sums[[j for j in range(d) if row[j] > 0][: domain.at_most]] += 1
        else:
            clipped = np.clip(np.nan_to_num(row), -domain.bounds, domain.bounds)
            kept = sorted(range(d), key=lambda j: (-abs(clipped[j]), j))[: domain.at_most]
            sums[kept] += clipped[kept]
    return sums


@pytest.mark.parametrize("name", CASES)
def test_released_noise_is_what_the_plan_claims(name):
    domain, options = CASES[name]
    plan = gm.plan(domain, G, **options)
    rows = rows_for(domain, np.random.default_rng())
    W = np.array(options.get("answers", np.eye(domain.dimension)), float)
    truth = W @ truth_of(domain, rows)
    totals = [[total_records(open_source(rows), plan.block.codes)]]
    releases = [mechanism.release_totals(plan, totals) for _ in range(TIMES)]
    errors = np.array([r.values for r in releases]) - (np.append(truth, len(rows)) if options.get("count") else truth)
    errors[np.abs(errors) < 1e-9] = 0.0  # exact answers are exact to the last float
    covariance = plan.covariance()
    assert not rejects(errors, covariance), verdict(errors, covariance)
    assert rejects(errors * 1.1, covariance), "10 % too much noise is caught"


def test_points_of_all_candidates_add_up_exactly_where_the_number_of_ballots_is_public():
    plan = gm.plan(gm.domains.Votes(5), G, neighbours="replace-one")
    ballots = np.random.default_rng().permuted(np.tile(np.arange(1.0, 6), (1000, 1)), axis=1)
    assert plan.release(ballots).values.sum() == pytest.approx(1000 * 10, abs=1e-6)
