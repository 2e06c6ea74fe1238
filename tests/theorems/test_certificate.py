"""Certificates: what a law proves is never above the truth, every plan's is checked anew, and forged ones fall."""

from __future__ import annotations

import json

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refused

import gaussmith as gm
from gaussmith.numerics.trace_roots import nuclear_lower, weighted_lower
from gaussmith.planning.certificate import Certificate, verify

G = gm.Guarantee(epsilon=1, delta=1e-6)
W = gm.workloads
RNG = np.random.default_rng(7)

PLANS = {
    "box": (gm.Box([0, -1, 2], [1, 3, 4]), {"count": True}),
    "box by name": (gm.Box([0, -1, 2], [1, 3, 4]), {"shape": "lifted"}),
    "box of means": (gm.Box([0, -1, 2], [1, 3, 4]), {"answers": "means"}),
    "linear answers": (gm.Box([0, -1, 2], [1, 3, 4]), {"answers": [[1, 1, 1], [1, -1, 0]]}),
    "wide box": (gm.Box(np.zeros(20), np.ones(20)), {}),
    "ball": (gm.domains.Ball(3, 2, [1, 1, 1]), {}),
    "counts": (gm.Counts(6, at_most=5), {}),
    "counts and their number": (gm.Counts(30, at_most=11), {"count": True}),
    "weighed counts": (gm.Counts(5, at_most=2), {"weights": [1, 2, 3, 4, 5]}),
    "many weighed counts": (gm.Counts(40, at_most=20), {"weights": np.arange(1, 41)}),
    "votes": (gm.domains.Votes(5), {"count": True}),
    "weighed votes": (gm.domains.Votes(4), {"answers": RNG.normal(size=(2, 4))}),
    "sparse": (gm.domains.SparseSum(6, at_most=2, bound=np.arange(1, 7.0)), {"count": True}),
    "linear sparse": (gm.domains.SparseSum(5, at_most=2, bound=1.0), {"answers": RNG.normal(size=(2, 5))}),
    "cells": (gm.Cells(5), {"count": True}),
    "cells or none": (gm.Cells(5, or_none=True), {"count": True}),
    "weighed cells": (gm.Cells(5), {"weights": [1, 2, 3, 4, 5]}),
    "tree": (gm.Cells(6), {"answers": W.tree(6), "count": True}),
    "tree or none": (gm.Cells(6, or_none=True), {"answers": W.tree(6), "count": True}),
    "ranges": (gm.Cells(70), {"answers": W.ranges(70)}),
    "worst": (gm.Cells(6), {"answers": W.ranges(6), "objective": "worst"}),
    "points": (gm.domains.Points(RNG.normal(size=(20, 3))), {"count": True}),
    "marginals": (gm.Cells(shape=(3, 2, 4)), {"answers": W.marginals([3, 2, 4], 2), "count": True}),
}


def test_people_with_many_rows_have_certificates_too():
    fields = {"means": {"x": (0, 1)}, "count": "rows", "unit": "who", "rows_per_unit": 3}
    plan = gm.Request("rows.parquet", guarantee=G, **fields).plan
    found = verify(plan, Certificate.from_json(plan.certificate.to_json()))
    assert found.problems == () and found.reach <= 1 and found.optimality < 1.01


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", PLANS)
def test_every_certificate_holds_and_is_close(name, neighbours):
    domain, options = PLANS[name]
    plan = gm.plan(
        domain, G, neighbours=neighbours, **(options if "objective" in options else {"weights": "equal"} | options)
    )
    certificate = Certificate.from_json(plan.certificate.to_json())
    proof = certificate.proof
    found = verify(gm.Plan.from_json(plan.to_json()), certificate)
    assert found.problems == ()
    assert 0.99 < found.reach <= 1
    assert found.lower_bound <= found.price
    assert proof.lower_bound == pytest.approx(plan.lower_bound, rel=2e-9)
    assert proof.price == pytest.approx(plan.price, rel=1e-9)
    assert str(certificate)
    # ten lines of numpy, where the law is written out
    evidence = proof.evidence
    if "differences" in evidence and proof.objective == "total":
        S, weights, Sigma = evidence["differences"], evidence["weights"], evidence["covariance"]
        root = np.linalg.svd(np.sqrt(weights / weights.sum())[:, None] * S, compute_uv=False).sum()
        assert root**2 / G.mu**2 == pytest.approx(proof.lower_bound, rel=1e-8)
        hidden = np.einsum("ij,jk,ik->i", S, np.linalg.pinv(Sigma, rcond=1e-11, hermitian=True), S)
        assert hidden.max() <= G.mu**2 * (1 + 1e-6)
        assert np.trace(Sigma) == pytest.approx(proof.price, rel=1e-8)


def forged(certificate: Certificate, change) -> Certificate:
    """The certificate with its only proof changed."""
    fields = json.loads(certificate.to_json())
    change(fields["proofs"][0])
    return Certificate.from_json(json.dumps(fields))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("tree", lambda f: f.update(lower_bound=f["lower_bound"] * 1.001), "the law proves"),
        ("tree", lambda f: f.update(price=f["price"] * 0.99), "the plan's price is"),
        ("tree", lambda f: f.update(mu=1.0), "for another guarantee"),
        ("tree", lambda f: f["law"].update(kind="levels"), "the law proves nothing"),
        ("tree", lambda f: f["law"]["numbers"].update(weights=[1.0, 0, 0, 0, 0, 0]), "the law proves"),
        ("counts", lambda f: f["law"]["numbers"].update(levels=[[7, 0, 1.0]]), "not a law of differences"),
        ("counts", lambda f: f["law"]["numbers"].update(levels=[[3, 2, 1.0]]), "not a law of differences"),
        ("counts", lambda f: f["law"]["numbers"].update(levels=[[2.5, 0, 1.0]]), "not a law of differences"),
        ("cells", lambda f: f["law"]["numbers"].update(levels=[[2, 0, 1.0]]), "not a law of differences"),
        ("sparse", lambda f: f["law"]["numbers"].update(shares=[2.0] * 6), "not a law of differences"),
        ("sparse", lambda f: f["law"]["numbers"].update(shares=[1.0] * 6), "the law proves"),
        ("weighed counts", lambda f: f["law"]["numbers"].update(weights=[1.0]), "not a law of differences"),
        ("votes", lambda f: f["law"].update(kind="signs", numbers={"shares": [1.0] * 5}), "not a law of differences"),
        ("marginals", lambda f: f["law"].update(kind="rankings"), "not a law of differences"),
    ],
)
def test_forged_certificates_fall(name, change, words):
    domain, options = PLANS[name]
    plan = gm.plan(domain, G, **(options if "objective" in options else {"weights": "equal"} | options))
    found = verify(plan, forged(plan.certificate, change))
    assert any(words in problem for problem in found.problems), found.problems


def test_a_certificate_of_another_plan_falls():
    plan = gm.plan(gm.Cells(6), G, answers=W.tree(6))
    other = Certificate.from_json(json.dumps({**plan.certificate.to_dict(), "plan_hash": "0" * 64}))
    assert verify(plan, other).problems == ("the certificate is for another plan",)


def test_a_law_of_pairs_may_only_name_pairs_there_are():
    plan = gm.plan(gm.Cells(4), G, answers=W.prefix(4), neighbours="replace-one")
    far = forged(
        plan.certificate, lambda f: f["law"]["numbers"].update(first=[9.0] * len(f["law"]["numbers"]["weights"]))
    )
    assert any("not a law of differences" in problem for problem in verify(plan, far).problems)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "certificate", "format": 9}', '{"kind": "release"}'])
def test_files_that_are_no_certificate_are_refused(text):
    with refused("not-a-certificate"):
        Certificate.from_json(text)


finite = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=finite))
def test_sums_of_singular_values_are_never_overstated(B):
    with mpmath.workdps(50):
        true = sum(mpmath.svd_r(mpmath.matrix(B.tolist()), compute_uv=False)) if B.any() else mpmath.mpf(0)
    found = nuclear_lower(B)
    assert found <= true
    assert found >= true * (1 - 1e-9) - 1e-290


@given(
    arrays(np.float64, st.tuples(st.just(4), st.integers(1, 3)), elements=finite),
    arrays(np.float64, 4, elements=st.floats(1e-6, 1)),
)
def test_weighted_bounds_are_never_overstated(points, weights):
    with mpmath.workdps(50):
        law = [mpmath.mpf(w) for w in weights.tolist()]
        rows = [
            [mpmath.sqrt(w / mpmath.fsum(law)) * x for x in row] for w, row in zip(law, points.tolist(), strict=True)
        ]
        true = sum(mpmath.svd_r(mpmath.matrix(rows), compute_uv=False)) if points.any() else mpmath.mpf(0)
    # the law is that of the squares of the weights' rounded roots: a few units in the last place away
    assert weighted_lower(points, weights) <= true * (1 + mpmath.mpf(2) ** -45)
    assert weighted_lower(points, weights) >= true * (1 - 1e-9) - 1e-290
