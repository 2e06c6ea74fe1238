"""Released histograms, workloads, points and marginals have the noise that their plans claim, in every direction."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from laws import rejects, verdict

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.totals.opened import total

G = gm.Guarantee(epsilon=1, delta=1e-6)
W = gm.workloads
TIMES = 2_500
POINTS = np.random.default_rng(1).normal(size=(12, 3)) * [1.0, 100.0, 1e4]

CASES = {
    "cells": (gm.Cells(5), {"count": True}),
    "cells replaced": (gm.Cells(5), {"neighbours": "replace-one", "count": True}),
    "cells or none": (gm.Cells(5, or_none=True), {"count": True}),
    "cells or none replaced": (gm.Cells(5, or_none=True), {"neighbours": "replace-one"}),
    "weighed cells": (gm.Cells(5), {"weights": [1.0, 2, 3, 4, 5], "count": True}),
    "prefix": (gm.Cells(6), {"answers": W.prefix(6)}),
    "prefix replaced": (gm.Cells(6), {"answers": W.prefix(6), "neighbours": "replace-one"}),
    "ranges": (gm.Cells(4), {"answers": W.ranges(4), "count": True}),
    "tree": (gm.Cells(6, or_none=True), {"answers": W.tree(6, 3), "count": True}),
    "worst": (gm.Cells(5), {"answers": W.prefix(5), "objective": "worst"}),
    "matrix": (gm.Cells(4), {"answers": [[1.0, -1, 0, 0], [2, 1, 1, 1]]}),
    "points": (gm.domains.Points(POINTS), {"weights": "relative", "count": True}),
    "points replaced": (gm.domains.Points(POINTS), {"weights": "relative", "neighbours": "replace-one"}),
    "marginals": (gm.Cells(shape=(3, 2, 2)), {"answers": W.marginals([3, 2, 2], [(0, 1), (2,)]), "count": True}),
    "marginals replaced": (
        gm.Cells(shape=(3, 2, 2)),
        {"answers": W.marginals([3, 2, 2], 2), "neighbours": "replace-one"},
    ),
}


def answers_of(plan: gm.Plan, rows: np.ndarray) -> np.ndarray:
    """What the records add up to, by plain counting."""
    domain, features = plan.domain, plan.block.problem.features
    work = features.workload
    if isinstance(domain, gm.domains.Points):
        return np.array(
            [domain.points[np.abs((domain.points - r) / domain.ranges).sum(axis=1).argmin()] for r in rows]
        ).sum(0)
    table = np.zeros(domain.sizes)
    for row in rows:
        at = tuple(int(v) if 0 <= v < n else -1 for v, n in zip(row, domain.sizes, strict=True))
        if min(at) >= 0 or not domain.or_none:
            table[tuple(max(i, 0) for i in at)] += 1  # the first value stands in
    if work is None:
        matrix = np.eye(table.size) if features.matrix is None else features.matrix
        return matrix @ table.ravel()
    if isinstance(domain.sizes, tuple) and hasattr(work, "ways"):
        axes = range(len(domain.sizes))
        return np.concatenate([table.sum(axis=tuple(a for a in axes if a not in way)).ravel() for way in work.ways])
    return np.array([table[a:b].sum() for a, b in zip(*work.places, strict=True)])


@pytest.mark.parametrize("name", CASES)
def test_released_noise_is_what_the_plan_claims(name):
    domain, options = CASES[name]
    plan = gm.plan(domain, G, **options)
    rng = np.random.default_rng()
    if isinstance(domain, gm.domains.Points):
        rows = POINTS[rng.integers(0, len(POINTS), 40)] * (1 + 1e-9)
    else:
        rows = np.column_stack([rng.integers(-1, n, 40) for n in domain.sizes])
    (opened,) = mechanism.prepare(plan, rows).sources
    totals = [total(opened)]
    releases = [mechanism.release_totals(plan, totals) for _ in range(1_000 if "marginals" in name else TIMES)]
    truth = answers_of(plan, rows)
    errors = np.array([r.values for r in releases]) - (np.append(truth, len(rows)) if options.get("count") else truth)
    scale = np.where(plan.standard_errors > 0, plan.standard_errors, 1.0).max()
    errors[np.abs(errors) < 1e-12 * scale] = 0.0
    covariance = plan.covariance()
    assert not rejects(errors, covariance), verdict(errors, covariance)
    assert rejects(errors * 1.1, covariance), "10 % too much noise is caught"


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_marginals_of_one_release_agree_with_each_other(neighbours):
    shape = [4, 3, 5, 2]
    plan = gm.plan(gm.Cells(shape=shape), G, answers=W.marginals(shape, range(4)), neighbours=neighbours)
    released = plan.release(np.column_stack([np.random.default_rng().integers(0, n, 500) for n in shape]))
    for way in itertools.chain.from_iterable(itertools.combinations(range(4), k) for k in (1, 2, 3)):
        table = released.marginal(*way)
        for i, away in enumerate(way):
            smaller = released.marginal(*(j for j in way if j != away))
            assert table.sum(axis=i) == pytest.approx(smaller, abs=1e-9 * (1 + np.abs(smaller).max()))
    if neighbours == "replace-one":
        assert released.marginal() == 500


def test_parts_of_a_tree_add_up():
    plan = gm.plan(gm.Cells(12), G, answers=W.tree(12, 3))
    released = plan.release(np.random.default_rng().integers(0, 12, 1000))
    values = dict(zip(released.names, released.values, strict=True))
    assert values["0 to 3"] + values["4 to 7"] + values["8 to 11"] == pytest.approx(values["0 to 11"], abs=1e-8)
    assert sum(values[str(j)] for j in range(12)) == pytest.approx(values["0 to 11"], abs=1e-8)
