"""The catalogue: every entry speaks the same words, and wrong numbers are refused with what to use instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import Expected, refusal, refused

import gaussmith as gm
from gaussmith.errors import DomainError, GaussmithError, GuaranteeError, PlanError
from gaussmith.papers.clipping import LEVELS, theorem_five_bound
from gaussmith.papers.gaussian_mechanisms import unchecked_sigma
from gaussmith.papers.lecture import counting_queries, counting_sensitivity, epsilon_of, rho_for, rows_needed
from gaussmith.papers.lemmas import expected_quadratic_form, hockey_stick, workload_sensitivity

MAKERS: dict[str, Callable[..., Any]] = {
    "classic": lambda **g: gm.papers.classic(dimension=5, sensitivity=2, **g),
    "slides": lambda **g: gm.papers.slides(dimension=5, sensitivity=2, **g),
    "analytic": lambda **g: gm.papers.analytic(dimension=5, sensitivity=2, **g),
    "elliptical": lambda **g: gm.papers.elliptical(sensitivity=[1, 2, 3, 4, 5], **g),
    "correlated": lambda **g: gm.papers.correlated(dimension=5, **g),
    "correlated, any box": lambda **g: gm.papers.correlated(
        dimension=5, lower=[-1, 0, 2, -3, 1], upper=[1, 5, 4, -1, 2], **g
    ),
    "correlated, with count": lambda **g: gm.papers.correlated(dimension=4, count=True, **g),
    "counts": lambda **g: gm.papers.bounded_contribution(dimension=5, at_most=2, **g),
    "counts, many": lambda **g: gm.papers.bounded_contribution(dimension=5, at_most=5, **g),
    "counts, replaced": lambda **g: gm.papers.bounded_contribution(
        dimension=5, at_most=3, neighbours="replace-one", **g
    ),
    "votes": lambda **g: gm.papers.bounded_contribution(dimension=5, kind="votes", **g),
    "votes, replaced": lambda **g: gm.papers.bounded_contribution(
        dimension=5, kind="votes", neighbours="replace-one", **g
    ),
    "sums": lambda **g: gm.papers.bounded_contribution(dimension=5, at_most=2, kind="sums", bound=3, **g),
    "clipped": lambda **g: gm.papers.clipped(dimension=5, radius=2, **g),
    "clipped, replaced": lambda **g: gm.papers.clipped(dimension=5, radius=2, neighbours="replace-one", **g),
    "clipped, as published": lambda **g: gm.papers.clipped(dimension=5, radius=2, as_published=True, **g),
    "gaussian_data": lambda **g: gm.papers.gaussian_data(sd=[1, 2, 3, 4, 5], rows=1000, **g),
    "gaussian_data, as published": lambda **g: gm.papers.gaussian_data(
        sd=[1, 2, 3, 4, 5], rows=1000, as_published=True, **g
    ),
    "rank_one": lambda **g: gm.papers.rank_one(dimension=5, **g),
}


@pytest.mark.parametrize("name", MAKERS)
def test_every_entry_speaks_the_same_words(name: str) -> None:
    entry = MAKERS[name](epsilon=0.5, delta=1e-5)
    assert (entry.claimed.epsilon, entry.claimed.delta) == (0.5, 1e-5)
    assert entry.sound in ("yes", "no", "corrected")
    assert entry.holds == (entry.sound != "no")
    assert entry.holds == (entry.true_delta(0.5) <= 1e-5)
    assert entry.neighbours in ("add-remove", "replace-one")
    assert all(len(text) > 20 for text in (entry.reference, entry.theorem))
    assert len(entry.name) > 5
    draws = entry.sample(3)
    assert draws.shape == (3, 5)
    assert len(np.unique(draws)) == 15
    assert entry.total_variance == pytest.approx(float((entry.standard_errors**2).sum()))
    assert entry.total_variance == pytest.approx(float(np.trace(entry.covariance())))
    assert entry.sample(0).shape == (0, 5)


def test_totals_as_published() -> None:
    g = {"epsilon": 0.5, "delta": 1e-5}
    unit = gm.Guarantee(**g).mu ** -2
    for entry, total in [
        (gm.papers.analytic(dimension=7, sensitivity=3, **g), 7 * 9),
        (gm.papers.elliptical(sensitivity=[9, 1], **g), 100),
        (gm.papers.elliptical(sensitivity=2, dimension=3, **g), 36),
        (gm.papers.correlated(dimension=9, **g), 9 * (3 + 1) ** 2 / 4),
        (gm.papers.correlated(dimension=9, count=True, **g), 9 * (3 + 1) ** 2 / 4 + 3 + 1),
        (gm.papers.correlated(dimension=2, lower=[-1, -2], upper=[1, 2], **g), 9),
        (gm.papers.bounded_contribution(dimension=10, at_most=3, **g), 28.048636250920516),
        (gm.papers.bounded_contribution(dimension=10, at_most=10, **g), 43.07692307692308),
        (gm.papers.bounded_contribution(dimension=10, kind="votes", **g), 1720.5159572826337),
        (gm.papers.bounded_contribution(dimension=10, at_most=4, kind="sums", bound=2, **g), 160),
    ]:
        assert entry.total_variance == pytest.approx(total * unit, rel=1e-9), entry.name
    classic = gm.papers.classic(dimension=2, sensitivity=3, **g)
    assert classic.total_variance == pytest.approx(2 * 9 * 2 * math.log(1.25e5) / 0.25)
    slides = gm.papers.slides(dimension=2, sensitivity=3, rho=0.09, delta=1e-5)
    assert slides.total_variance == pytest.approx(2 * 9 / 0.09)


def test_the_slides_parameter_is_mu_squared_and_its_two_directions_agree() -> None:
    for epsilon in (1e-3, 0.5, 2, 50):
        for delta in (0.3, 1e-5, 1e-30):
            assert epsilon_of(rho_for(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-12)
    entry = gm.papers.slides(dimension=1, rho=0.25, delta=1e-5)
    assert entry.true_mu == pytest.approx(0.5)
    assert entry.claimed.epsilon == pytest.approx(0.125 + math.sqrt(0.5 * math.log(1e5)))


def test_counting_queries_exact_beside_the_bounds() -> None:
    assert counting_sensitivity(100, 1000) == pytest.approx(0.01)
    asked = {"queries": 50, "epsilon": 1, "delta": 1e-6, "failure": 0.05}
    law = counting_queries(rows=1000, **asked)
    assert law.maximum_error < law.union_bound
    assert law.standard_error < law.slides_standard_error
    n = rows_needed(error=law.maximum_error, **asked)
    assert n in (1000, 1001)
    assert counting_queries(rows=n, **asked).maximum_error <= law.maximum_error * (1 + 1e-12)
    assert rows_needed(error=0.01, bound="slides", **asked) > rows_needed(error=0.01, **asked)


def test_the_error_law_of_the_rank_one_noise_beside_the_gaussian() -> None:
    entry = gm.papers.rank_one(dimension=50, epsilon=1, delta=1e-5, sensitivity=2)
    laws = entry.error_law(tails=(0.5, 0.01))
    ours, gaussian = laws["rank-one"], laws["analytic Gaussian"]
    assert ours.mean == pytest.approx(entry.total_variance)
    assert gaussian.mean == pytest.approx(
        gm.papers.analytic(dimension=50, epsilon=1, delta=1e-5, sensitivity=2).total_variance
    )
    assert ours.quantiles[0.01] == pytest.approx(6.6348966010212145 * entry.total_variance)
    # "more stable": relative to its mean the rank-one error is far less so than the Gaussian's.
    assert ours.relative_spread > 5 * gaussian.relative_spread
    assert ours.skewness == pytest.approx(math.sqrt(8)) and ours.kurtosis == 12
    assert ours.quantiles[0.01] / ours.mean > gaussian.quantiles[0.01] / gaussian.mean


def test_nothing_is_released_with_the_rank_one_mechanism() -> None:
    entry = gm.papers.rank_one(dimension=10, epsilon=1, delta=1e-5)
    g = gm.Guarantee(epsilon=1, delta=1e-5)
    with refused("rank-one-not-private"):
        gm.plan(entry, g)
    with refused("rank-one-not-private", says="0.97 for 100"):
        entry.release(np.zeros((5, 10)))
    for name in ("rank_one", "rank-one"):
        with refused("shape-not-private"):
            gm.plan(gm.Box([0] * 10, [1] * 10), g, shape=name)


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (
            lambda c: c.classic(dimension=3, epsilon=1, delta=1e-5),
            GuaranteeError,
            refusal("epsilon-beyond-classic-theorem", epsilon=1),
        ),
        (
            lambda c: c.classic(dimension=3, epsilon=0.5, delta=0),
            GuaranteeError,
            refusal("delta-out-of-range", delta=0.0),
        ),
        (
            lambda c: c.classic(dimension=0, epsilon=0.5, delta=1e-5),
            DomainError,
            refusal("whole-number-out-of-range", name="dimension", value=0),
        ),
        (
            lambda c: c.classic(dimension=3, epsilon=0.5, delta=1e-5, sensitivity=0),
            DomainError,
            refusal("number-out-of-range", name="sensitivity", value=0),
        ),
        (
            lambda c: c.analytic(dimension=3, epsilon=0.5, delta=1e-5, sensitivity=-1),
            DomainError,
            refusal("number-out-of-range", name="sensitivity"),
        ),
        (
            lambda c: c.analytic(dimension=2.5, epsilon=0.5, delta=1e-5),
            DomainError,
            refusal("whole-number-out-of-range", name="dimension"),
        ),
        (lambda c: c.slides(dimension=3, delta=1e-5), GuaranteeError, "epsilon-and-rho"),
        (lambda c: c.slides(dimension=3, delta=1e-5, rho=1, epsilon=1), GuaranteeError, "epsilon-and-rho"),
        (lambda c: c.slides(dimension=3, delta=2, rho=1), GuaranteeError, "delta-out-of-range"),
        (
            lambda c: c.elliptical(sensitivity=[1, 0], epsilon=1, delta=1e-5),
            DomainError,
            refusal("vector-entry-not-positive", name="sensitivity", index=1, value=0.0),
        ),
        (lambda c: c.elliptical(sensitivity=["a"], epsilon=1, delta=1e-5), DomainError, "not-a-finite-vector"),
        (
            lambda c: c.elliptical(sensitivity=[1, 2], dimension=3, epsilon=1, delta=1e-5),
            DomainError,
            "dimension-differs-from-sensitivities",
        ),
        (
            lambda c: c.correlated(dimension=2, epsilon=1, delta=1e-5, lower=1),
            DomainError,
            "lower-bound-not-below-upper",
        ),
        (
            lambda c: c.correlated(dimension=2, epsilon=1, delta=1e-5, lower=[0] * 3),
            DomainError,
            refusal("numbers-do-not-match-coordinates", coordinates=2),
        ),
        (
            lambda c: c.correlated(dimension=2, epsilon=1, delta=1e-5, lower=-1, count=True),
            DomainError,
            "count-of-box-around-zero",
        ),
        (
            lambda c: c.correlated(dimension=2, epsilon=1, delta=1e-5, upper=2, as_printed=True),
            DomainError,
            "printed-form-with-bounds",
        ),
        (
            lambda c: c.bounded_contribution(dimension=5, epsilon=1, delta=1e-5),
            DomainError,
            refusal("whole-number-out-of-range", name="at_most"),
        ),
        (
            lambda c: c.bounded_contribution(dimension=5, at_most=6, epsilon=1, delta=1e-5),
            DomainError,
            refusal("whole-number-out-of-range", name="at_most"),
        ),
        (
            lambda c: c.bounded_contribution(dimension=5, at_most=6, kind="vote", epsilon=1, delta=1e-5),
            DomainError,
            refusal("unknown-contribution-kind", says="did you mean 'votes'", kind="vote"),
        ),
        (
            lambda c: c.clipped(dimension=5, radius=0, epsilon=1, delta=1e-5),
            DomainError,
            refusal("number-out-of-range", name="radius", value=0),
        ),
        (
            lambda c: c.gaussian_data(sd=[1, -1], rows=10, epsilon=1, delta=1e-5),
            DomainError,
            refusal("vector-entry-not-positive", index=1, value=-1.0),
        ),
        (
            lambda c: c.gaussian_data(sd=[1], rows=1, epsilon=1, delta=1e-5),
            DomainError,
            refusal("too-few-rows-for-clip", rows=1.0),
        ),
        (
            lambda c: c.gaussian_data(sd=[1], rows=10, epsilon=1, delta=1e-5, scaling="reprot"),
            DomainError,
            refusal("unknown-gaussian-option", says="did you mean 'report'"),
        ),
        (
            lambda c: c.gaussian_data(sd=[1, 2], rows=1e6, epsilon=1, delta=1e-5, bound="bernstein"),
            DomainError,
            "tail-below-bernstein",
        ),
        (lambda c: theorem_five_bound([1, 2], 1000), DomainError, "tail-below-bernstein"),
        (lambda c: hockey_stick([1], [0.5, 0.5], 1), DomainError, "laws-of-different-outcomes"),
        (lambda c: c.rank_one(dimension=2, epsilon=1, delta=1e-5), DomainError, "rank-one-dimension-too-small"),
        (lambda c: c.rank_one(dimension=3, epsilon=1, delta=1e-200), DomainError, "rank-one-variance-too-large"),
        (
            lambda c: c.rank_one(dimension=5, epsilon=1, delta=1e-5, sensitivity=np.nan),
            DomainError,
            refusal("number-out-of-range", name="sensitivity"),
        ),
        (
            lambda c: c.rank_one(dimension=5, epsilon=1, delta=1e-5).true_delta(-1),
            DomainError,
            refusal("number-out-of-range", name="epsilon"),
        ),
        (
            lambda c: c.rank_one(dimension=5, epsilon=1, delta=1e-5).sample(-1),
            DomainError,
            refusal("whole-number-out-of-range", name="size"),
        ),
        (
            lambda c: c.analytic(dimension=5, epsilon=1, delta=1e-5).sample(1.5),
            DomainError,
            refusal("whole-number-out-of-range", name="size"),
        ),
        (
            lambda c: counting_queries(queries=5, rows=10, epsilon=1, delta=1e-5, failure=1),
            PlanError,
            refusal("probability-out-of-range", name="failure", value=1),
        ),
        (
            lambda c: rows_needed(queries=5, error=0.1, epsilon=1, delta=1e-5, failure=0.1, bound="best"),
            PlanError,
            "unknown-slides-bound",
        ),
    ],
)
def test_wrong_numbers_are_refused_with_what_to_do(call: Any, kind: type[GaussmithError], says: Expected) -> None:
    with refused(says, kind):
        call(gm.papers)


def test_the_classic_formula_first_fails_where_it_is_said_to() -> None:
    for epsilon, holds in ((1.0, True), (8.41, True), (8.43, False)):
        truth = gm.Guarantee(mu=1 / unchecked_sigma(epsilon, 1e-5)).delta_at(epsilon)
        assert (truth <= 1e-5) == holds


def test_gaussian_data_as_the_report_has_it() -> None:
    sd = 1 / np.arange(1.0, 11.0)
    g = {"epsilon": 1, "delta": 1e-5, "rows": 1e6}
    report = gm.papers.gaussian_data(sd=sd, neighbours="add-remove", **g)
    assert report.multipliers == pytest.approx(1 / np.sqrt(sd * sd.sum()))  # theorem 4
    assert report.total_variance == pytest.approx(report.level * sd.sum() ** 2 / report.claimed.mu**2)
    assert report.clipped_fraction == pytest.approx(1e-6, rel=1e-9)
    replaced = gm.papers.gaussian_data(sd=sd, **g)
    assert replaced.total_variance == pytest.approx(4 * report.total_variance)
    assert replaced.true_mu == pytest.approx(replaced.claimed.mu)
    published = gm.papers.gaussian_data(sd=sd, as_published=True, **g)
    assert published.true_mu == pytest.approx(2 * published.claimed.mu)
    improved = gm.papers.gaussian_data(sd=sd, neighbours="add-remove", scaling="improved", **g)
    assert improved.total_variance < 0.8 * report.total_variance
    chebyshev = gm.papers.gaussian_data(sd=sd, neighbours="add-remove", scaling="chebyshev", **g)
    assert 0 < chebyshev.clipped_fraction < 0.05
    plain = gm.papers.gaussian_data(sd=sd, neighbours="add-remove", scaling="round", **g)
    assert plain.total_variance > 3 * report.total_variance
    assert report.expected_error > report.total_variance  # the clipping that the report leaves out
    assert chebyshev.clipping_loss > 100 * report.clipping_loss


def test_clipped_sums_with_the_classic_noise() -> None:
    """The report's own: C√(2 ln(1.25/δ))/ε, private where records are added, not where they are replaced."""
    g = {"dimension": 3, "radius": 2.0, "epsilon": 0.5, "delta": 1e-5, "calibration": "classic"}
    added, replaced = (gm.papers.clipped(neighbours=n, **g) for n in ("add-remove", "replace-one"))
    published = gm.papers.clipped(as_published=True, **g)
    assert added.standard_errors == pytest.approx(np.full(3, 2 * math.sqrt(2 * math.log(1.25e5)) / 0.5))
    assert replaced.standard_errors == pytest.approx(2 * added.standard_errors)
    assert published.standard_errors == pytest.approx(added.standard_errors)
    assert (added.holds, replaced.holds, published.holds) == (True, True, False)
    assert (added.sound, replaced.sound, published.sound) == ("yes", "corrected", "no")
    assert added.total_variance > gm.papers.clipped(dimension=3, radius=2.0, epsilon=0.5, delta=1e-5).total_variance
    with refused("epsilon-beyond-classic-theorem"):
        gm.papers.clipped(dimension=3, radius=2.0, epsilon=1, delta=1e-5, calibration="classic")
    with refused("unknown-calibration", calibration="clasic"):
        gm.papers.clipped(dimension=3, radius=2.0, epsilon=0.5, delta=1e-5, calibration="clasic")


def test_published_levels_lie_above_the_exact_one() -> None:
    g = {"epsilon": 1, "delta": 1e-5, "rows": 100, "neighbours": "add-remove"}
    levels = {name: gm.papers.gaussian_data(sd=[1.0] * 200, bound=name, **g).level for name in LEVELS}
    assert levels["exact"] == min(levels.values())
    assert levels.pop("hanson-wright") == pytest.approx(levels["bernstein"])  # where the latter holds
    assert len(set(levels.values())) == len(levels)
    assert theorem_five_bound([1.0] * 200, 100) == pytest.approx(levels["bernstein"] * 200**2)


def test_lemmas() -> None:
    rng = np.random.default_rng()
    for _ in range(50):
        p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        channel = rng.dirichlet(np.ones(4), size=6)  # a random map: row i says where outcome i goes
        for epsilon in (0.0, 0.5, 2.0):
            assert hockey_stick(p @ channel, q @ channel, epsilon) <= hockey_stick(p, q, epsilon) + 1e-12
    A = rng.normal(size=(4, 4))
    draws = rng.standard_normal((200_000, 4)) @ A.T + [1, 2, 3, 4]
    form = np.diag([1.0, 2.0, 0.0, -1.0]) + 0.3
    values = np.einsum("ij,jk,ik->i", draws, form, draws)
    exact = expected_quadratic_form(form, A @ A.T, [1, 2, 3, 4])
    assert abs(values.mean() - exact) < 8 * values.std() / math.sqrt(len(values))
    # Workloads: brute force, and the bound beyond twelve coordinates
    W = rng.normal(size=(3, 4))
    box = gm.Box([-1, 0, 2, 1], [1, 3, 3, 1.5])
    xs = np.array(np.meshgrid(*zip(box.lower, box.upper, strict=True))).reshape(4, -1).T
    added = np.linalg.norm(xs @ W.T, axis=1).max()
    replaced = max(np.linalg.norm(W @ (x - y)) for x in xs for y in xs)
    assert workload_sensitivity(W, box) == pytest.approx(added)
    assert workload_sensitivity(W, box, "replace-one") == pytest.approx(replaced)
    ones = gm.Box([0] * 20, [1] * 20)
    assert workload_sensitivity(np.eye(20), ones) == pytest.approx(math.sqrt(20))
