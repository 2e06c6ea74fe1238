"""What was asked is the same on every processor, whatever noise a solver finds there: retries return what is stored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refused
from strategies import shaken, shaken_requests

import gaussmith as gm
from gaussmith.pipeline.release import hash_of, request_hash

G = gm.Guarantee(epsilon=1, delta=1e-6)
BY = {"region": ["north", "south"]}

REQUESTS: dict[str, dict[str, Any]] = {
    "sums": {"sums": {"x": (0, 50), "y": (-10, 10)}, "count": True},
    "groups": {
        "unit": "person", "rows_per_unit": 3, "means": {"x": (0, 50)}, "count": True, "by": BY, "groups_per_unit": 2,
    },
    "found groups beside others": {
        "unit": "person", "groups_per_unit": 1, "keys_delta": 1e-7,
        "questions": [
            {"name": "found", "count": True, "by": {"region": "found"}},
            {"name": "sums", "sums": {"x": (0, 50)}, "count": True},
            {"name": "means", "means": {"y": (-10, 10)}, "mean_of": "units"},
        ],
    },
    "shares": {
        "unit": "person",
        "questions": [
            {"name": "sums", "sums": {"x": (0, 50), "y": (-10, 10)}, "share": 3},
            {"name": "regions", "histograms": {"region": ["north", "south"]}, "values_per_unit": 1, "share": 1},
        ],
    },
    "private bounds": {"unit": "person", "sums": ["x"], "count": True, "bounds": "private"},
    "medians": {"medians": {"x": (0, 50)}, "count": True},
    "marginals": {"marginals": [["region", "x"]], "values": BY, "bins": {"x": [0, 10, 30, 50]}},
    "variances": {"variances": {"x": (0, 50), "y": (-10, 10)}},
}  # fmt: skip
"""Requests whose noise is solved, chosen or found in stages."""

OTHERS: dict[str, dict[str, Any]] = {
    "sums": {"sums": {"x": (0, 51), "y": (-10, 10)}, "count": True},
    "groups": {**REQUESTS["groups"], "groups_per_unit": 1},
    "shares": {**REQUESTS["shares"], "questions": [{**q, "share": 1} for q in REQUESTS["shares"]["questions"]]},
}
"""Requests that differ from those of the same name in one thing."""


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "visits.parquet"
    regions = ["north", "south"] * 20
    pl.DataFrame({"person": range(40), "region": regions, "x": [1.0] * 40, "y": [2.0] * 40}).write_parquet(path)
    return str(path)


@pytest.fixture
def ledger(tmp_path: Path) -> gm.Ledger:
    return gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(epsilon=8, delta=1e-5))


@pytest.mark.parametrize("name", ["sums", "groups", "shares", "marginals", "variances"])
def test_a_retry_on_another_processor_returns_what_is_stored(name: str, table: str, ledger: gm.Ledger) -> None:
    request = gm.Request(table, guarantee=G, **REQUESTS[name])
    first = gm.release(request, ledger=ledger, id="a")
    with shaken_requests():
        elsewhere = gm.Request(table, guarantee=G, **REQUESTS[name])
    assert elsewhere.plan.hash != request.plan.hash
    assert gm.release(elsewhere, ledger=ledger, id="a").to_json() == first.to_json()
    assert len(ledger.history()) == 1


@pytest.mark.parametrize("name", OTHERS)
def test_another_request_is_refused_under_the_same_id(name: str, table: str, ledger: gm.Ledger) -> None:
    gm.release(gm.Request(table, guarantee=G, **REQUESTS[name]), ledger=ledger, id="a")
    with refused("id-of-another-request", id="a"):
        gm.release(gm.Request(table, guarantee=G, **OTHERS[name]), ledger=ledger, id="a")


PLAN: dict[str, Any] = {"domain": gm.Box({"x": (0, 50), "y": (-10, 10)}), "guarantee": G, "count": True}


def test_a_plan_is_known_by_what_it_answers(table: str, ledger: gm.Ledger) -> None:
    plan = gm.plan(**PLAN)
    first = plan.release(table, ledger=ledger, id="a")
    elsewhere = shaken(plan)
    assert elsewhere.hash != plan.hash
    assert elsewhere.release(table, ledger=ledger, id="a").to_json() == first.to_json()


@pytest.mark.parametrize(
    "other",
    [
        {"domain": gm.Box({"x": (0, 50), "y": (-10, 11)})},
        {"guarantee": gm.Guarantee(epsilon=1.5, delta=1e-6)},
        {"count": False},
        {"answers": "means"},
        {"answers": [[1, 1]]},
        {"weights": "equal"},
        {"weights": [1, 2]},
        {"missing": {"x": 3}},
        {"neighbours": "replace-one"},
    ],
    ids=str,
)
def test_another_plan_is_refused_under_the_same_id(other: dict[str, Any], table: str, ledger: gm.Ledger) -> None:
    gm.plan(**PLAN).release(table, ledger=ledger, id="a")
    with refused("id-of-another-request", id="a"):
        gm.plan(**{**PLAN, **other}).release(table, ledger=ledger, id="a")


def test_an_ellipsoid_that_was_chosen_is_not_what_was_asked() -> None:
    def asked(mu: float) -> Any:
        return gm.plan(gm.domains.GaussianData([20, 0], [10, 5], rows=150), gm.Guarantee(mu=mu)).asked()

    here, there = asked(1), asked(1 + 1e-9)  # the ellipsoid follows μ, by a solver
    assert here["queries"] == there["queries"] and here != there


KERNELS = [
    {"OPENBLAS_CORETYPE": "Haswell"},
    {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3,X86_V4"},
]
"""Two kernels of linear algebra whose last digits differ. Other processors than x86 have only their own."""


def test_requests_have_the_same_hash_under_every_kernel() -> None:
    hashes = []
    for kernel in KERNELS:
        words = [sys.executable, "-W", "ignore", __file__]
        path = os.pathsep.join(part for part in sys.path if part)
        env = {**os.environ, **kernel, "PYTHONPATH": path, "GAUSSMITH_CACHE": "off"}
        hashes.append(json.loads(subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout))
    assert set(hashes[0]) == {*REQUESTS, "vectors"}
    assert hashes[0] == hashes[1]


if __name__ == "__main__":
    made = {name: gm.Request("visits.parquet", guarantee=G, **fields) for name, fields in REQUESTS.items()}
    found = {name: request_hash(request) for name, request in made.items()}
    vectors = gm.papers.plan_vectors(gm.papers.GaussianData(names=["x", "y"]), G)
    print(json.dumps({**found, "vectors": hash_of(vectors, "visits.parquet", [])}))
