"""Small statements of the sources, one by one: sensitivities, pure privacy, bad sets, name-and-shame, trees, tails."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from refusals import refused
from scipy import stats

import gaussmith as gm
from gaussmith.numerics import quadratic_forms, two_level
from gaussmith.papers import quadratic_tails as tail_bounds
from gaussmith.papers.contributions import joseph_yu_total
from gaussmith.papers.correlated_noise import split_total, tree_total
from gaussmith.papers.lecture import counting_sensitivity, epsilon_of
from gaussmith.papers.lemmas import bad_set_probability, hockey_stick, name_and_shame, sensitivity, workload_sensitivity
from gaussmith.papers.quadratic_tails import imhof_tail
from gaussmith.privacy.gaussian import log_delta

UNIT = gm.Guarantee(mu=1)

# -- sensitivities --------------------------------------------------------------------------------------------------


def test_sensitivities_fall_with_the_order_of_the_norm() -> None:
    generator = np.random.default_rng()
    orders = [1.0, 1.5, 2.0, 3.0, math.inf]
    for _ in range(50):
        d, k = generator.integers(1, 6), generator.integers(1, 5)
        W = generator.normal(size=(k, d))
        box = gm.Box(-generator.exponential(size=d), generator.exponential(size=d) + 0.1)
        for neighbours in ("add-remove", "replace-one"):
            found = [workload_sensitivity(W, box, neighbours, order=p) for p in orders]
            for (p, more), (q, less) in itertools.combinations(zip(orders, found, strict=True), 2):
                assert less <= more * (1 + 1e-12)
                assert more <= k ** (1 / p - 1 / q) * less * (1 + 1e-12)
    # by hand: the corners of a box are the worst records
    corners = np.array(list(itertools.product((0.0, 2.0), (0.0, 1.0))))
    assert sensitivity(corners, order=1) == workload_sensitivity(np.eye(2), gm.Box([0, 0], [2, 1]), order=1) == 3
    assert sensitivity(corners) == workload_sensitivity(np.eye(2), gm.Box([0, 0], [2, 1])) == math.sqrt(5)
    with refused("order-of-no-norm", order=0.5):
        workload_sensitivity(np.eye(2), gm.Box([0, 0], [2, 1]), order=0.5)


def test_neighbours_that_replace_a_record_differ_by_the_widths() -> None:
    """The notes' Δ_j: coordinates in [−Δ_j/2, Δ_j/2]; by listing all pairs of corners."""
    widths = np.array([3.0, 1.0, 0.5])
    corners = np.array(list(itertools.product(*((-w / 2, w / 2) for w in widths))))
    differences = np.array([a - b for a in corners for b in corners])
    assert np.abs(differences).max(axis=0) == pytest.approx(widths)
    box = gm.Box(-widths / 2, widths / 2)
    assert sensitivity(differences) == pytest.approx(np.linalg.norm(widths))
    assert workload_sensitivity(np.eye(3), box, "replace-one") == pytest.approx(np.linalg.norm(widths))


def test_counting_queries_have_the_sensitivity_of_the_slides() -> None:
    """All pairs of rows over all answers to k = 3 queries: Δ₂ = √k/n and Δ₁ = k/n, both attained."""
    k, n = 3, 20
    rows = np.array(list(itertools.product((0, 1), repeat=k)))
    differences = np.array([(a - b) / n for a in rows for b in rows])
    assert sensitivity(differences) == pytest.approx(counting_sensitivity(k, n))
    assert sensitivity(differences, order=1) == pytest.approx(k / n)


# -- the Gaussian noise mechanism, step by step ------------------------------------------------------------------------


def test_no_gaussian_noise_is_purely_private() -> None:
    """δ(ε; μ) is above 0 however large ε is: here down to e^−(10^11)."""
    for mu in (0.01, 0.5, 3.0):
        for epsilon in (1.0, 10.0, 100.0, 1e4):
            assert gm.Guarantee(mu=mu).delta_at(epsilon) > 0
            assert math.isfinite(log_delta(epsilon, mu))
        assert bad_set_probability(mu, mu) > 0
    # and the ratio of densities grows without limit along the difference
    losses = [0.5 * ((z - 1) ** 2 - z**2) for z in (0.0, -10.0, -1e3, -1e6)]
    assert losses == sorted(losses) and losses[-1] > 1e5


def test_the_density_and_the_loss_are_as_the_slides_write_them() -> None:
    """p(z) of N(f, σ²I), and ln p/p′ = ρ‖s‖²/2Δ² + ρ⟨z − f, s⟩/Δ² for σ² = Δ²/ρ, s = f − f′."""
    generator = np.random.default_rng()
    for _ in range(20):
        k, rho, delta = 3, float(generator.uniform(0.1, 3)), float(generator.uniform(0.5, 4))
        first, second, z = generator.normal(size=(3, k))
        sigma = delta / math.sqrt(rho)
        p, q = (stats.multivariate_normal(f, sigma**2 * np.eye(k)) for f in (first, second))
        written = math.exp(-((z - first) @ (z - first)) / (2 * sigma**2)) / ((2 * math.pi) ** (k / 2) * sigma**k)
        assert p.pdf(z) == pytest.approx(written)
        s = first - second
        loss = rho * (s @ s) / (2 * delta**2) + rho * ((z - first) @ s) / delta**2
        assert p.logpdf(z) - q.logpdf(z) == pytest.approx(loss)


def test_a_projection_of_round_noise_is_normal_with_the_length_of_the_direction() -> None:
    """⟨Z, v⟩ ~ N(0, σ²‖v‖²): the covariance of a linear map; and the variance of the loss is at most ρ."""
    sigma, v = 1.7, np.array([3.0, -4.0, 12.0])
    assert v @ (sigma**2 * np.eye(3)) @ v == pytest.approx(sigma**2 * 13**2)
    rho, delta, s = 0.3, 13.0, np.array([3.0, -4.0, 12.0])
    direction = rho / delta**2 * s
    assert direction @ (delta**2 / rho * np.eye(3)) @ direction == pytest.approx(rho)


def test_normal_tails_stay_below_their_bounds() -> None:
    """P(Z > t) < e^{−t²/2σ²} and P(|Z − m| > t) < 2e^{−t²/2σ²}, for t > 0."""
    for sigma in (0.2, 1.0, 5.0):
        for t in np.geomspace(1e-3, 30, 60) * sigma:
            bound = math.exp(-(t**2) / (2 * sigma**2))
            assert stats.norm.sf(t, scale=sigma) < bound
            assert 2 * stats.norm.sf(t, scale=sigma) < 2 * bound


def test_the_bad_set_is_enough_and_more_than_needed() -> None:
    """δ(ε; μ) ≤ P(L > ε) ≤ δ of the slides, at every ε of the slides; and none of the two is an equality."""
    for mu in (0.05, 0.3, 1.0, 4.0):
        for delta in (0.1, 1e-3, 1e-9):
            epsilon = epsilon_of(mu * mu, delta)
            bad = bad_set_probability(epsilon, mu)
            assert gm.Guarantee(mu=mu).delta_at(epsilon) < bad < delta
            # √ρ/2·(√ρ + 2√(2 ln(1/δ))) is the same ε
            assert mu / 2 * (mu + 2 * math.sqrt(-2 * math.log(delta))) == pytest.approx(epsilon)


def test_post_processing_by_any_random_map_loses_nothing() -> None:
    generator = np.random.default_rng()
    for _ in range(30):
        p, q = generator.dirichlet(np.ones(6), size=2)
        channel = generator.dirichlet(np.ones(4), size=6)
        for epsilon in (0.0, 0.3, 1.0):
            assert hockey_stick(p @ channel, q @ channel, epsilon) <= hockey_stick(p, q, epsilon) + 1e-12


def test_name_and_shame_is_private_on_paper_and_exposes_somebody() -> None:
    """Each of 3 records is published with chance δ: exactly (0, δ)-DP. At δ = 1/n somebody is exposed in 63 %."""
    delta, n = 0.2, 3

    def law(records: tuple[int, ...]) -> dict[tuple[int | None, ...], float]:
        found: dict[tuple[int | None, ...], float] = {}
        for published in itertools.product((False, True), repeat=n):
            seen = tuple(r if p else None for r, p in zip(records, published, strict=True))
            chance = math.prod(delta if p else 1 - delta for p in published)
            found[seen] = found.get(seen, 0.0) + chance
        return found

    one, other = law((0, 1, 1)), law((0, 1, 0))
    outcomes = sorted(set(one) | set(other), key=str)
    for epsilon in (0.0, 1.0, 5.0):
        spent = hockey_stick([one.get(o, 0.0) for o in outcomes], [other.get(o, 0.0) for o in outcomes], epsilon)
        assert spent == pytest.approx(delta)  # at ε = 0, and no ε makes it less
    silent = one[None, None, None]
    assert name_and_shame(n, delta) == pytest.approx(1 - silent)
    assert name_and_shame(1e6, 1e-6) == pytest.approx(1 - math.exp(-1), rel=1e-6)
    assert name_and_shame(1e6, 1e-12) == pytest.approx(1e-6, rel=1e-5)


# -- tails from the literature on quadratic forms ----------------------------------------------------------------------

WEIGHTS = {"four": np.ones(4), "ten": np.full(10, 0.1), "1/j": 1 / np.arange(1.0, 51.0), "many": np.full(400, 1.0)}


@pytest.mark.parametrize("name", WEIGHTS)
def test_hanson_and_wright_lies_above_the_quantile_and_how_far(name: str) -> None:
    lam = WEIGHTS[name]
    for p in (0.5, 0.1, 1e-3, 1e-9, 1e-50):
        exact = quadratic_forms.quantile(lam, p)
        bound = tail_bounds.hanson_wright(lam, p)
        between = tail_bounds.laurent_massart(lam, p)
        assert 1.05 * exact < between < 2.6 * exact and between < bound
        assert 1.1 * exact < bound < 4.2 * exact
        t = bound - lam.sum()
        assert math.exp(-min(t**2 / (lam @ lam), t / lam.max()) / 8) == pytest.approx(p)
    # its first branch is the report's lemma 3.2, which holds where that branch does
    limit = math.exp(-float(lam @ lam) / (8 * lam.max() ** 2))
    if limit < 0.9:
        p = limit**0.99
        assert tail_bounds.hanson_wright(lam, p) == pytest.approx(tail_bounds.bernstein(lam, p))


@pytest.mark.parametrize("name", WEIGHTS)
def test_imhof_keeps_its_absolute_error_and_no_relative_one(name: str) -> None:
    lam = WEIGHTS[name]
    for p in (0.5, 0.05, 1e-4, 1e-9):
        q = quadratic_forms.quantile(lam, p)
        for error in (1e-3, 1e-6, 1e-9):
            assert abs(imhof_tail(lam, q, error) - p) < error
    q = quadratic_forms.quantile(lam, 1e-20)
    assert abs(imhof_tail(lam, q, 1e-9) - 1e-20) > 1e-19  # not one digit
    assert quadratic_forms.tail(lam, q) == pytest.approx(1e-20, rel=1e-11)


def test_imhof_is_refused_where_it_falls_too_slowly() -> None:
    with refused("imhof-too-slow"):
        imhof_tail([1.0], 3.84)
    for value, error in ((3.84, 0.0), (-1.0, 1e-6), (math.nan, 1e-6)):
        with refused("imhof-out-of-range"):
            imhof_tail([1.0] * 4, value, error)


def test_expected_squares_and_the_law_of_one_square() -> None:
    """Corollary 1.1 and lemma 3.1 of the report, against integrals."""
    sigma = 1.3
    second = mpmath.quad(lambda x: x * x * mpmath.npdf(x, 0, sigma), [-20, 0, 20])
    assert float(second) == pytest.approx(sigma**2)
    for x in (0.1, 1.0, 9.0):
        inside = mpmath.quad(lambda y: mpmath.npdf(y, 0, sigma), [-math.sqrt(x), 0, math.sqrt(x)])
        assert tail_bounds.square_tail(sigma**2, x) == pytest.approx(1 - float(inside))
        assert tail_bounds.square_tail(sigma**2, x) == pytest.approx(2 - 2 * stats.norm.cdf(math.sqrt(x) / sigma))


# -- the poster -----------------------------------------------------------------------------------------------------


def test_the_posters_noise_is_an_ellipse_around_the_diagonal() -> None:
    entry = gm.papers.correlated(dimension=9, epsilon=1, delta=1e-6)
    values, vectors = np.linalg.eigh(entry.covariance() * entry.claimed.mu**2)
    assert values[:8] == pytest.approx(np.full(8, (9 + 3) / 4)) and values[8] == pytest.approx(
        (9 + 3) / 4 + 9 * (3 + 1) / 4
    )
    assert np.abs(vectors[:, 8]) == pytest.approx(np.full(9, 1 / 3))
    assert entry.standard_errors * entry.claimed.mu == pytest.approx(np.full(9, (math.sqrt(9) + 1) / 2))
    standard = gm.papers.analytic(dimension=9, epsilon=1, delta=1e-6, sensitivity=math.sqrt(9))
    assert standard.standard_errors * standard.claimed.mu == pytest.approx(np.full(9, 3.0))


def test_round_noise_is_the_best_for_a_cube_where_records_are_replaced() -> None:
    for d in (2, 5, 16):
        plan = gm.plan(gm.Box([0] * d, [1] * d), UNIT, neighbours="replace-one")
        assert plan.total_variance == pytest.approx(d * d, rel=1e-9) and plan.optimality == pytest.approx(1, abs=1e-8)


def test_the_posters_noise_is_almost_optimal_from_half_of_the_coordinates_on() -> None:
    """Over the optimum for at most k ≥ ⌊d/2⌋ values: below 1 + 1/d for even d, 1.87 at worst (d = 3, k = 1)."""
    worst = {}
    for d in (2, 3, 4, 5, 8, 9, 16, 17, 50, 51, 100, 101, 1000):
        root, k = math.sqrt(d), d // 2
        poster = d * (root + 1) ** 2 / 4
        ratios = [poster / two_level.counts(d, j, "add-remove").total for j in range(k, d + 1)]
        assert all(r >= 1 - 1e-9 for r in ratios)
        assert ratios == sorted(ratios, reverse=True)  # fewer values: further from the optimum
        assert ratios[0] == pytest.approx(poster / joseph_yu_total(d, k))
        if d % 2 == 0:
            assert ratios[0] == pytest.approx(((root + 1) / (math.sqrt(d - 1) + 1)) ** 2)
            assert ratios[0] < 1 + 1 / d
        worst[d] = ratios[0]
        assert ratios[-1] < 1.1  # at k = d
    assert worst[3] == pytest.approx(1.866, abs=1e-3) and max(worst.values()) == worst[3]
    assert worst[100] < 1.01 and worst[1000] < 1.001


def test_a_tree_is_answered_best_by_one_noise_for_each_level_of_contrasts() -> None:
    for b, h in ((2, 6), (3, 4), (4, 3), (2, 1)):
        plan = gm.plan(gm.Cells(b**h), UNIT, answers=gm.workloads.tree(b**h, branching=b))
        assert plan.total_variance == pytest.approx(tree_total(b, h), rel=1e-9)
        assert plan.optimality == pytest.approx(1, abs=1e-8)
        assert split_total(b, h) > 1.4 * plan.total_variance
        assert b**h * (h + 1) >= plan.total_variance  # noisy leaves, added up
    assert split_total(2, 6) / tree_total(2, 6) == pytest.approx(2.471, abs=1e-3)
    assert 64 * 7 / tree_total(2, 6) == pytest.approx(1.786, abs=1e-3)


def test_marginals_of_one_table_share_their_noise() -> None:
    shape = [5, 4, 3]
    plan = gm.plan(gm.Cells(shape=shape), UNIT, answers=gm.workloads.marginals(shape, range(3)))
    cells = [math.prod(way) for size in range(3) for way in itertools.combinations(shape, size)]
    split = sum(math.sqrt(c) for c in cells) ** 2
    assert plan.optimality == pytest.approx(1, abs=1e-8)
    assert split / plan.total_variance == pytest.approx(1.967, abs=1e-3)
