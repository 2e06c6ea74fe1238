"""Each error of the sources that docs/errata.md lists, shown: `test_erratum_n_…` belongs to number n."""

from __future__ import annotations

import math
import re
from pathlib import Path

import mpmath
import numpy as np
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.numerics import quadratic_forms, two_level
from gaussmith.papers import quadratic_tails as tail_bounds
from gaussmith.papers.contributions import joseph_yu_total
from gaussmith.papers.lecture import approximate_rho, epsilon_of, rho_for, rows_needed

c = gm.papers
PAGE = Path(__file__).parents[2] / "docs" / "errata.md"


def test_erratum_1_replacing_a_clipped_record_moves_the_sum_by_twice_the_clip() -> None:
    C = 3.0
    clip = lambda x: x * min(1.0, C / np.linalg.norm(x))  # noqa: E731
    one, other = clip(np.array([40.0, 0.0])), clip(np.array([-7.0, 0.0]))
    assert np.linalg.norm(one - other) == pytest.approx(2 * C)
    assert max(np.linalg.norm(one), np.linalg.norm(other)) == pytest.approx(C)  # added or removed: C
    for entry in (
        c.clipped(dimension=2, radius=C, epsilon=1, delta=1e-5, as_published=True),
        c.gaussian_data(sd=[1, 2], rows=1000, epsilon=1, delta=1e-5, as_published=True),
    ):
        assert entry.sound == "no" and entry.neighbours == "replace-one"
        assert entry.true_mu == pytest.approx(2 * entry.claimed.mu)
        assert entry.true_delta(1) > 100 * 1e-5
    assert c.clipped(dimension=2, radius=C, epsilon=1, delta=1e-5, neighbours="add-remove").holds
    assert c.clipped(dimension=2, radius=C, epsilon=1, delta=1e-5, neighbours="replace-one").holds


def test_erratum_2_theorem_4_is_a_multiplier_and_sensitivity_is_counted_twice() -> None:
    sd = np.array([2.0, 0.5, 0.1])
    b = 1 / np.sqrt(sd * sd.sum())
    assert float(((sd * b) ** 2).sum()) == pytest.approx(1)  # multiplied: the expected squared norm is 1
    assert abs(float(((sd / b) ** 2).sum()) - 1) > 1  # divided, as section 3.1 writes it: it is not
    # Equation 9 with theorem 3's σ, which contains Δ already, against the noise there is
    entry = c.gaussian_data(sd=sd, rows=1000, epsilon=0.5, delta=1e-5, neighbours="add-remove")
    delta_f = math.sqrt(entry.level)
    noise_for_one = 1 / entry.claimed.mu
    sigma_of_theorem_3 = delta_f * noise_for_one
    right = noise_for_one**2 * delta_f**2 * sd.sum() ** 2
    assert entry.total_variance == pytest.approx(right)
    assert sigma_of_theorem_3**2 * delta_f**2 * sd.sum() ** 2 == pytest.approx(right * entry.level)


def test_erratum_3_the_conditions_of_theorem_5() -> None:
    for sd in (np.ones(1), np.ones(1000), 1 / np.arange(1.0, 50.0)):
        assert float((sd**2).sum()) / (8 * sd.sum() ** 2) <= 1 / 8 < math.log(2)
    # ln n ≤ ⅛Σσ⁴ holds for σ = 100 (a matter of units) and n = 10^6, and the bound is false there
    sd, n = np.array([100.0]), 1e6
    assert math.log(n) <= float((sd**4).sum()) / 8
    bound = 1 + math.sqrt(8 * math.log(n) * float((sd**2).sum())) / float(sd.sum())
    assert bound < quadratic_forms.quantile(sd / sd.sum(), 1 / n) / 2
    # The right condition: ln n ≤ Σσ²/(8 max σ²)
    many = np.ones(200)
    level = quadratic_forms.quantile(many / many.sum(), 1e-6)
    assert math.log(1e6) <= 200 / 8
    assert 1 + math.sqrt(8 * math.log(1e6) * 200) / 200 > level
    # Clipping is part of the error as the report defines it
    entry = c.gaussian_data(sd=[1.0, 0.1], rows=100, epsilon=1, delta=1e-5, neighbours="add-remove")
    assert entry.expected_error - entry.total_variance == pytest.approx(entry.clipping_loss) and entry.clipping_loss > 0


def test_erratum_4_products_moments_and_norms() -> None:
    def odd(k: int) -> int:
        return math.prod(range(1, 2 * k, 2))

    for k in range(2, 12):
        assert math.prod(2 * i for i in range(2, k + 1)) == 2 ** (k - 1) * math.factorial(k)
    assert [k for k in range(2, 40) if odd(k) > 2 ** (k - 2) * math.factorial(k)] == [2, 3, 4]
    for k in range(2, 8):  # the lemma's inequality itself, for |Z − 1| with Z = x²
        moment = mpmath.quad(lambda x, k=k: 2 * mpmath.npdf(x) * abs(x * x - 1) ** k, [0, 1, 3, 6, 12, 20, 30])
        assert moment <= 2 ** (k - 2) * math.factorial(k) * (1 + 1e-12)
    sigma = 1.7
    fourth = mpmath.quad(lambda x: x**4 * mpmath.npdf(x, 0, sigma), [-30, 0, 30])
    assert float(fourth) == pytest.approx(3 * sigma**4) and float(fourth) < 8 * sigma**4
    # E Z^m is not the generating function, which is (1 − 2t)^{−1/2}
    assert float(mpmath.quad(lambda x: mpmath.exp(x * x / 4) * mpmath.npdf(x), [-40, 0, 40])) == pytest.approx(2**0.5)
    # Corollary 1.1: E‖X‖² is Σσ²; the expected norm is not
    assert float(mpmath.quad(lambda x: abs(x) * mpmath.npdf(x), [-30, 0, 30])) == pytest.approx(math.sqrt(2 / math.pi))


def test_erratum_5_the_poster_as_printed_is_not_private() -> None:
    printed = c.correlated(dimension=4, epsilon=1, delta=1e-5, as_printed=True)
    assert (printed.true_mu / printed.claimed.mu) ** 2 == pytest.approx(1.10, abs=0.005)
    assert not printed.holds and printed.sound == "no"
    right = c.correlated(dimension=4, epsilon=1, delta=1e-5)
    assert right.true_mu / right.claimed.mu == pytest.approx(1) and right.holds
    with_count = c.correlated(dimension=4, epsilon=1, delta=1e-5, count=True)
    assert with_count.standard_errors[-1] ** 2 * with_count.claimed.mu**2 == pytest.approx(math.sqrt(4) + 1)


def test_erratum_6_the_rank_one_mechanism_is_not_private_as_claimed() -> None:
    truths = {M: c.rank_one(dimension=M, epsilon=1, delta=1e-5).true_delta(1) for M in (3, 4, 10, 100, 1000, 10_000)}
    assert truths[3] < 1e-5 < 80e-5 < truths[4]
    assert truths[10] == pytest.approx(0.18, abs=0.005) and truths[100] == pytest.approx(0.97, abs=0.005)
    assert truths[10_000] > 0.9999999


def test_erratum_7_the_closed_form_of_counts_holds_beyond_half() -> None:
    for d in (16, 100, 1000):
        k = math.floor((d + math.sqrt(d)) / 2)
        assert k > d / 2
        assert two_level.counts(d, k, "add-remove").total == pytest.approx(joseph_yu_total(d, k), rel=1e-9)
        far = two_level.counts(d, d, "add-remove")
        assert joseph_yu_total(d, d) < 0.5 * far.lower  # nothing private can be so accurate


def test_erratum_8_approximations_of_the_slides() -> None:
    for epsilon, delta, private in ((0.1, 1e-5, True), (1.0, 1e-6, False), (3.0, 1e-9, False)):
        rho = approximate_rho(epsilon, delta)
        # where ε is small, what the tail bound gives away is more than the lost factor
        assert (gm.Guarantee(mu=math.sqrt(rho)).delta_at(epsilon) <= delta) == private
        assert epsilon_of(rho, delta) > math.sqrt(2) * math.sqrt(rho * -math.log(delta))  # and why: the factor 2
        assert gm.Guarantee(mu=math.sqrt(rho_for(epsilon, delta))).delta_at(epsilon) < delta
    asked = {"error": 0.01, "epsilon": 1, "delta": 1e-6, "failure": 0.05}
    printed = math.sqrt(100 * math.log(1e6)) / (1 * 1e-6)
    assert printed > 1000 * rows_needed(queries=100, **asked)  # divided by δ
    few, many = (rows_needed(queries=k, **asked) / math.sqrt(k) for k in (10, 100_000))
    assert many > 1.5 * few  # beyond √k there is a logarithm of k


def test_erratum_9_the_rank_one_error_is_less_stable() -> None:
    entry = c.rank_one(dimension=100, epsilon=1, delta=1e-5)
    laws = entry.error_law(tails=(0.001,))
    ours, gaussian = laws["rank-one"], laws["analytic Gaussian"]
    assert ours.relative_spread / gaussian.relative_spread == pytest.approx(10)  # √M
    assert ours.quantiles[0.001] / ours.mean > 10 > 2 > gaussian.quantiles[0.001] / gaussian.mean
    assert (ours.skewness, ours.kurtosis) == (pytest.approx(math.sqrt(8)), 12)
    assert ours.mean == entry.total_variance  # an equality, not a bound


def test_erratum_10_the_variance_of_the_loss() -> None:
    rho, delta = 0.3, 5.0
    s = np.array([3.0, 4.0])  # as long as Δ
    loss = rho / delta**2 * s  # ⟨Z, loss⟩ is the random part of ln p/p′
    variance = delta**2 / rho
    assert float(loss @ loss) * variance == pytest.approx(rho)
    assert rho**2 / delta**2 * float(s @ s) * delta**2 / rho == pytest.approx(rho * delta**2)  # as printed: Δ² too much


def test_erratum_11_noise_in_one_direction_hides_one_difference() -> None:
    one = np.diag([1.0, 0.0])
    assert float(np.array([1.0, 0]) @ np.linalg.pinv(one) @ np.array([1.0, 0])) == 1  # hidden at μ = 1
    across = np.array([0.0, 1.0])
    assert np.abs(one @ np.linalg.pinv(one) @ across - across).max() == 1  # outside the range: released as it is
    for M in (2, 10):
        plan = gm.plan(gm.domains.Ball(M, 3.0), gm.Guarantee(mu=1), weights="equal")
        assert plan.total_variance == pytest.approx(9 * M) and plan.optimality == pytest.approx(1)
    for domain in (gm.domains.Votes(4), gm.Cells(4)):
        covariance = gm.plan(domain, gm.Guarantee(mu=1), neighbours="replace-one").block.covariance()
        assert np.linalg.matrix_rank(covariance, tol=1e-9) == 3
        assert np.abs(covariance @ np.ones(4)).max() < 1e-9


def test_erratum_12_clipping_a_fraction_by_uncentred_squares() -> None:
    def level(lam: np.ndarray, p: float) -> float:
        return 2 * math.sqrt(p * math.log(10)) * math.sqrt(8 * float(lam @ lam))

    many = np.full(200, 1 / 200)
    assert level(many, 1) == pytest.approx(0.607, abs=1e-3) and quadratic_forms.tail(many, level(many, 1)) > 0.999
    # The condition that its own L = 2 and E X⁴ = 8σ⁴ give: t ≤ √(Σλ²/2) ≤ √½, so that p ln 10 ≤ ½
    assert 0.5 / math.log(10) == pytest.approx(0.217, abs=1e-3)
    # As printed: t ≤ 2√Σλ² ≤ 2, so that p = 1 at most
    assert 4 / math.log(10) < 2
    for top in (0.76, 0.8, 0.9, 0.97, 1.0):
        for others in (1, 3, 50):
            lam = np.array([top, *[(1 - top) / others] * others])
            assert math.log(10) <= 4 * float(lam @ lam)
            bound = tail_bounds.uncentred_bernstein(lam, 0.1)
            assert bound == pytest.approx(level(lam, 1))
            assert quadratic_forms.tail(lam, bound) < 0.02 and bound > 2 * quadratic_forms.quantile(lam, 0.1)
    few = np.full(30, 1 / 30)
    assert quadratic_forms.tail(few, tail_bounds.uncentred_bernstein(few, 0.88)) > 0.999 > 0.88
    with refused("tail-below-uncentred-rule"):
        tail_bounds.uncentred_bernstein(many, 0.1)
    # What survives: lemma 3.2 at n = 10^p
    assert math.log(10) <= 200 / 8
    sd = np.ones(200)
    alpha = 1 + math.sqrt(8 * math.log(10) * float(sd @ sd)) / float(sd.sum())
    assert tail_bounds.bernstein(many, 0.1) == pytest.approx(alpha)
    assert quadratic_forms.tail(many, alpha) < 0.1


def test_erratum_13_alpha_is_the_square_already() -> None:
    entry = c.gaussian_data(sd=[1.0, 2.0], rows=1000, epsilon=1, delta=1e-5, neighbours="add-remove")
    assert entry.total_variance == pytest.approx(entry.level * 9 / entry.claimed.mu**2)
    # A record at the level, in scaled coordinates, has norm √α, and exactly uses the guarantee
    at_level = np.array([math.sqrt(entry.level), 0.0]) / entry.multipliers
    assert np.sqrt(at_level**2 @ (1 / entry.standard_errors**2)) == pytest.approx(entry.claimed.mu)


def test_erratum_14_a_clip_is_private_for_any_guess_of_the_rows() -> None:
    # For any guess of n the true μ is the claimed one: the guess moves the level, not the privacy
    for rows in (2, 100, 1e9):
        entry = c.gaussian_data(sd=[1.0, 2.0], rows=rows, epsilon=1, delta=1e-5, neighbours="add-remove")
        assert entry.true_mu == pytest.approx(entry.claimed.mu)
        assert quadratic_forms.tail(entry.shares, entry.level) == pytest.approx(1 / rows)
    # Without the clip a record beyond the level is told apart: with chance 1/n it costs more than was claimed
    beyond = 4 * entry.level
    assert math.sqrt(beyond / entry.level) * entry.claimed.mu == pytest.approx(2 * entry.claimed.mu)
    assert gm.Guarantee(mu=2 * entry.claimed.mu).delta_at(1) > 100 * 1e-5


def test_erratum_15_a_bound_on_squares_that_may_fail() -> None:
    one = tail_bounds.square_tail(1.0, 16.0)
    assert one < 1e-4 and tail_bounds.square_tail(1.0, 4.0) > 0.04  # of X² > 16σ², not of X > 16σ² or X² > 4σ²
    assert 1 - (1 - one) ** 100 > 60 * one
    for lam in (np.ones(1), np.full(50, 0.02)):
        assert tail_bounds.truncated_bernstein(lam, 1e-4) > tail_bounds.laurent_massart(lam, 1e-4)


def test_erratum_16_a_ball_is_enough_for_round_noise() -> None:
    for neighbours, total in (("add-remove", 3 * 4.0), ("replace-one", 4 * 3 * 4.0)):
        plan = gm.plan(gm.domains.Ball(3, 2.0), gm.Guarantee(mu=1), neighbours=neighbours, weights="equal")
        assert plan.total_variance == pytest.approx(total)


def test_every_erratum_has_its_test_and_every_test_its_erratum() -> None:
    numbers = [int(n) for n in re.findall(r"^\*\*(\d+)\. ", PAGE.read_text("utf-8"), flags=re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    shown = {int(n) for name in globals() if (n := (re.match(r"test_erratum_(\d+)_", name) or [None, None])[1])}
    assert shown == set(numbers)


def test_errata_that_the_sources_cite_exist() -> None:
    """Docstrings say (errata, n): n is on the page."""
    page = PAGE.read_text("utf-8")
    source = Path(gm.__file__).parent
    cited = {
        int(n)
        for path in source.rglob("*.py")
        for group in re.findall(r"\(errata, ([\d, ]+)\)", path.read_text("utf-8"))
        for n in group.split(",")
    }
    assert cited
    assert all(f"**{n}. " in page for n in cited)
