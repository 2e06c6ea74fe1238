"""Counts, votes and sparse sums: what they refuse, how they print, their pages and groups."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refusal, refused

import gaussmith as gm
from gaussmith.errors import DomainError, PlanError

G = gm.Guarantee(epsilon=1, delta=1e-6)
ITEMS = gm.Counts(["bread", "milk", "tea", "salt"], at_most=2)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            lambda: gm.Counts(3, at_most=4),
            DomainError,
            refusal("whole-number-out-of-range", name="at_most", value=4),
        ),
        (lambda: gm.Counts(3, at_most=0), DomainError, refusal("whole-number-out-of-range", name="at_most", value=0)),
        (
            lambda: gm.Counts(3, at_most=1.5),
            DomainError,
            refusal("whole-number-out-of-range", name="at_most", value=1.5),
        ),
        (lambda: gm.Counts(0, at_most=1), DomainError, refusal("too-many-labels", number=0, kind="item")),
        (lambda: gm.Counts([], at_most=1), DomainError, refusal("no-labels", kind="item")),
        (lambda: gm.Counts("bread", at_most=1), DomainError, "labels-not-listed"),
        (lambda: gm.Counts(["a", "b", "a"], at_most=1), DomainError, refusal("label-twice", label="a", kind="item")),
        (lambda: gm.Counts(["a", None], at_most=1), DomainError, refusal("label-of-unknown-type", kind="item")),
        (lambda: gm.domains.Votes(1), DomainError, "only-one-candidate"),
        (
            lambda: gm.domains.Votes(["ann", "\ud800"]),
            DomainError,
            refusal("label-with-broken-characters", label="\ud800", kind="candidate"),
        ),
        (
            lambda: gm.Groups({"k": ["a", "\udc00b"]}, gm.Box({"a": (0, 1)})),
            DomainError,
            refusal("label-with-broken-characters", label="\udc00b", kind="key"),
        ),
        (lambda: gm.domains.Votes(["ann", "ann"]), DomainError, refusal("label-twice", label="ann", kind="candidate")),
        (
            lambda: gm.domains.SparseSum(3, at_most=4, bound=1),
            DomainError,
            refusal("whole-number-out-of-range", name="at_most", value=4),
        ),
        (
            lambda: gm.domains.SparseSum(3, at_most=2, bound=-1),
            DomainError,
            refusal("sparse-bound-out-of-range", bound=-1),
        ),
        (
            lambda: gm.domains.SparseSum(3, at_most=2, bound=[1, 2]),
            DomainError,
            refusal("sparse-bound-out-of-range", size=3),
        ),
        (lambda: gm.domains.SparseSum(3, at_most=2, bound=[1, 0, 2]), DomainError, "sparse-bound-out-of-range"),
        (lambda: gm.domains.SparseSum(3, at_most=2, bound=float("inf")), DomainError, "sparse-bound-out-of-range"),
        (lambda: gm.domains.SparseSum(3, at_most=2, bound="wide"), DomainError, "sparse-bound-out-of-range"),
        (lambda: gm.domains.SparseSum(3, at_most=2, bound=1e-310), DomainError, "sparse-bound-out-of-range"),
        (lambda: gm.plan(ITEMS, G, answers="means"), PlanError, "means-of-counted-records"),
        (lambda: gm.plan(ITEMS, G, missing={"tea": 1}), PlanError, "missing-not-for-this-domain"),
        (lambda: gm.plan(ITEMS, G, shape="elliptical"), PlanError, "shape-not-for-this-problem"),
        (lambda: gm.plan(ITEMS, G, answers=[[1, 2]]), PlanError, refusal("answers-malformed", dimension=4)),
        (
            lambda: gm.plan(ITEMS, G, weights=[1, 2, 3, 4], gap=1e-20),
            PlanError,
            refusal("number-out-of-range", name="gap", value=1e-20),
        ),
    ],
)
def test_wrong_domains_and_plans_are_refused_in_words(arguments, error, words):
    with refused(words, error):
        arguments()


@pytest.mark.parametrize(
    "domain", [ITEMS, gm.domains.Votes(["ann", "bob", "eve"]), gm.domains.SparseSum(4, at_most=2, bound=[1, 2, 3, 4])]
)
@pytest.mark.parametrize("options", [{}, {"count": True}, {"neighbours": "replace-one"}, {"shape": "isotropic"}])
def test_plans_survive_json_and_releases_do_too(domain, options, tmp_path):
    plan = gm.plan(domain, G, **options)
    again = gm.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.domain == plan.domain
    assert (again.standard_errors == plan.standard_errors).all()
    assert again.lower_bound == plan.lower_bound > 0
    released = plan.release(np.ones((30, domain.dimension)))
    assert gm.Release.from_json(released.to_json()).values == pytest.approx(released.values)
    page = released.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert domain.words.reading.split(".")[0] in page
    assert str(plan) and plan.explain() and plan.chart()


def test_answers_have_the_names_of_the_items():
    released = gm.plan(ITEMS, G, count=True).release(np.eye(4))
    assert released.names == ("bread", "milk", "tea", "salt", "count")
    assert repr(ITEMS) == "Counts(4 items, at most 2 of them)"


def test_isotropic_noise_by_name_has_the_same_bound():
    best, standard = gm.plan(ITEMS, G), gm.plan(ITEMS, G, shape="isotropic")
    assert standard.lower_bound == best.lower_bound
    assert standard.optimality > best.optimality


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_groups_of_counts_keep_the_guarantee_over_all_groups(neighbours):
    for domain in (ITEMS, gm.domains.Votes(3), gm.domains.SparseSum(3, at_most=1, bound=2.0)):
        plan = gm.plan(gm.Groups({"shop": ["a", "b"]}, domain, at_most=2), G, neighbours=neighbours, count=True)
        A = plan.block.shape.lift.dense() * plan.block.guarantee.mu
        d = domain.dimension
        X = domain.records(10_000)
        full = np.hstack([X, np.ones((len(X), 1))])[:, : A.shape[1]]
        if neighbours == "add-remove":
            worst = 2 * (np.linalg.norm(full @ A.T, axis=1) ** 2).max()
        else:
            changed = (X[:, None] - X[None]).reshape(-1, d)
            moved = 4 * (np.linalg.norm(full @ A.T, axis=1) ** 2).max()
            worst = max(moved, 2 * (np.linalg.norm(changed @ A[:, :d].T, axis=1) ** 2).max())
        assert worst <= G.mu**2 * (1 + 1e-9)
