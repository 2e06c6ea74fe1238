"""What answers that share a noise say about each other: covariances between queries, and the picture of them."""

from __future__ import annotations

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.domains.domain import free_marks
from gaussmith.planning.joint_noise import shared_covariance
from gaussmith.report.charts import shared_answers, sharing_spec

ASKED = [
    {"name": "spending", "sums": {"spent": (0, 500)}, "count": True},
    {
        "name": "regions",
        "by": {"region": ["n", "s", "e"]},
        "groups_per_unit": 3,
        "sums": {"spent": (0, 9)},
        "count": True,
    },
    {"name": "months", "by": {"month": [1, 2, 3, 4]}, "groups_per_unit": 4, "count": True},
    {"name": "kinds", "histograms": {"kind": ["a", "b"]}, "values_per_unit": 1},
]
PLAN = gm.Request("x.parquet", unit="person", questions=ASKED, guarantee=gm.Guarantee(mu=2.0)).plan
(TIE,) = PLAN.ties


def simulated(queries: int = 4000) -> list[np.ndarray]:
    """Noise alone as features of each query: queries × groups × features."""
    rng = np.random.default_rng()
    members = [PLAN.queries[i] for i in TIE.members]
    found = [TIE.features(members, rng.standard_normal(TIE.lift.size) * TIE.noise_scale) for _ in range(queries)]
    return [np.array([each[k] for each in found]) for k in range(len(members))]


def test_covariances_between_queries_are_those_of_the_noise() -> None:
    samples = simulated()
    queries = [PLAN.queries[i] for i in TIE.members]
    for a, one in enumerate(queries):
        for b, other in enumerate(queries):
            left, right = samples[a][:, 0], samples[b][:, 0]
            if a == b and one.groups is not None:
                right = samples[b][:, 1]  # another group
            expected = shared_covariance(TIE, one, other, a == b and one.groups is None)
            left, right = left[:, : expected.shape[0]], right[:, : expected.shape[1]]
            if free_marks(one.block.domain) is not None or free_marks(other.block.domain) is not None:
                continue  # cells are groups of their own; the next test has them
            scale = np.outer(left.std(axis=0), right.std(axis=0))
            assert np.abs((left.T @ right / len(left) - expected) / scale).max() < 10 / np.sqrt(len(left))


def test_cells_share_noise_as_groups_do() -> None:
    samples = simulated()
    k = next(i for i, j in enumerate(TIE.members) if free_marks(PLAN.queries[j].block.domain) is not None)
    query, cells = PLAN.queries[TIE.members[k]], samples[k][:, 0]
    scale = cells.std(axis=0).prod()
    found = (cells[:, 0] * cells[:, 1]).mean()
    assert found == pytest.approx(shared_covariance(TIE, query, query)[0, 0], abs=10 * scale / np.sqrt(len(cells)))
    assert query.block.standard_errors[0] ** 2 == pytest.approx(shared_covariance(TIE, query, query, True)[0, 0])


def test_own_errors_are_on_the_diagonal() -> None:
    for query in (PLAN.queries[i] for i in TIE.members):
        errors = np.sqrt(np.diag(shared_covariance(TIE, query, query, True)))
        assert errors == pytest.approx(query.block.standard_errors[: len(errors)])


def test_the_picture_names_every_answer_once() -> None:
    names, found = shared_answers(PLAN, TIE)
    assert len(set(names)) == len(names) == len(found)
    assert names[:4] == ["spending: spent_sum", "spending: count", "regions: spent_sum (one)", "regions: count (one)"]
    assert "kinds: one value (another)" in names
    assert np.diag(found) == pytest.approx(np.ones(len(names))) and np.abs(found).max() <= 1 + 1e-9
    assert np.array_equal(found, found.T) or np.allclose(found, found.T)
    values = sharing_spec(PLAN, TIE)["data"]["values"]
    assert len(values) == len(names) ** 2
