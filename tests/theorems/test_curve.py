"""The curve δ(ε; μ) and its inverses against oracles: 60 digits, an integral, dp-accounting, and published values."""

from __future__ import annotations

import decimal
import math
import threading
import time
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from gaussmith.privacy import gaussian as curve
from gaussmith.privacy.gaussian import pi, precision, scaled_erfc

# (ε, δ) → μ and (ε, μ) → δ, to 17 digits, of the decimals as written.
CALIBRATIONS = """
    0.1 1e-2  0.10480177537254446    0.1 1e-5  0.03252078405620391    0.1 1e-6  0.02754465024382762
    0.1 1e-9  0.019916423412681466   0.1 1e-12 0.016249843047932858   0.1 1e-30 0.0092267254493055372
    0.5 1e-2  0.31777172380221037    0.5 1e-5  0.14221055866926122    0.5 1e-6  0.12410614903052813
    0.5 1e-9  0.09368649681784493    0.5 1e-12 0.077856307603686395   0.5 1e-30 0.045455493588979481
    1   1e-2  0.53251664850295077    1   1e-5  0.26805112321129422    1   1e-6  0.23670438066343571
    1   1e-9  0.18197480729533226    1   1e-12 0.15248965124598128    1   1e-30 0.090227439427719406
    2   1e-2  0.89585319447800905    2   1e-5  0.50155168916965662    2   1e-6  0.44833474039519278
    2   1e-9  0.35154981589778069    2   1e-12 0.29738251262067748    2   1e-30 0.17877091362401977
    10  1e-2  2.8563537996214032     10  1e-5  2.0004456204306324     10  1e-6  1.8481322057670841
    10  1e-9  1.53787733681454       10  1e-12 1.3429807286510384     10  1e-30 0.85761605956253381
"""
DELTAS = """
    0.1 0.05 0.00044619186488471431    0.1 0.3  0.079769859668820261
    0.1 1    0.35232517168136666       0.1 2.5  0.77797322519640762
    0.5 0.05 4.797291362662317e-26     0.5 0.3  0.0075734805854631991
    0.5 1    0.23842170813487663       0.5 2.5  0.73191168928684502
    1   0.05 1.129033227097697e-91     1   0.3  5.4887496446129394e-5
    1   1    0.12693673750664395       1   2.5  0.66786006429424947
    2   0.05 1.2402835125753586e-352   2   0.3  1.5189170522989414e-12
    2   1    0.020923635821113731      2   2.5  0.52451725787862774
    10  0.05 9.5386330933985021e-8691  10  0.3  8.3750628459427595e-244
    10  1    9.8127058268469559e-23    10  2.5  0.0013046592081816139
"""


def rows(table: str) -> list[tuple[str, str, str]]:
    words = table.split()
    return list(zip(words[0::3], words[1::3], words[2::3], strict=True))


def oracle_delta(epsilon: Fraction | float, mu: Fraction | float, digits: int = 60) -> mpmath.mpf:
    """δ(ε; μ) straight from its formula, to so many digits after cancellation; written apart from the library."""
    e, m = Fraction(epsilon), Fraction(mu)
    lost = abs(math.log10(m)) + (abs(math.log10(e / m)) if e else 0) + math.log10(2 + float(e / m) + float(m)) * 2
    with mpmath.workdps(digits + 10 + math.ceil(lost)):
        E, M = mpmath.mpf(e.numerator) / e.denominator, mpmath.mpf(m.numerator) / m.denominator
        return mpmath.ncdf(M / 2 - E / M) - mpmath.exp(E) * mpmath.ncdf(-M / 2 - E / M)


def is_safe(mu: float, epsilon: Fraction | float, delta: Fraction | float, digits: int = 60) -> bool:
    d = Fraction(delta)
    with mpmath.workdps(digits + 20):
        return bool(oracle_delta(epsilon, mu, digits) <= mpmath.mpf(d.numerator) / d.denominator)


@pytest.mark.parametrize(("epsilon", "mu"), [(1, 1), (0.1, 2.5), (10, 2), (0, 0.3), (3, 0.5), (1e-3, 1e-2), (50, 8)])
def test_the_oracle_itself_equals_the_integral_of_the_density(epsilon: float, mu: float) -> None:
    with mpmath.workdps(40):
        E, M = mpmath.mpf(epsilon), mpmath.mpf(mu)
        cuts = [M * k / 8 for k in range(9)]
        integral = mpmath.quad(lambda m: mpmath.npdf(m / 2 - E / m) if m else mpmath.npdf(0) * (epsilon == 0), cuts)
        assert mpmath.almosteq(integral, oracle_delta(epsilon, mu), rel_eps=mpmath.mpf(10) ** -20)


@pytest.mark.parametrize(("epsilon", "delta", "mu"), rows(CALIBRATIONS))
def test_published_calibrations_are_met_from_below(epsilon: str, delta: str, mu: str) -> None:
    e, d = Fraction(epsilon), Fraction(delta)
    answer = curve.mu_downward(e, d)
    assert is_safe(answer, e, d)
    assert not is_safe(math.nextafter(answer, math.inf), e, d)
    assert abs(Fraction(answer) / Fraction(mu) - 1) < Fraction(1, 10**15)


@pytest.mark.parametrize(("epsilon", "mu", "delta"), rows(DELTAS))
def test_published_deltas_are_met_to_all_their_digits(epsilon: str, mu: str, delta: str) -> None:
    e, m, d = Fraction(epsilon), Fraction(mu), Fraction(delta)
    assert abs(Fraction(curve.delta_digits(e, m, digits=20)) / d - 1) < Fraction(1, 10**15)
    answer = curve.delta_upward(e, m)
    assert answer >= oracle_delta(e, m)
    assert answer == 5e-324 or abs(Fraction(answer) / d - 1) < Fraction(1, 10**15)
    with mpmath.workdps(30):
        assert curve.log_delta(e, m) == pytest.approx(float(mpmath.log(mpmath.mpf(delta))), rel=1e-15, abs=0)


@pytest.mark.parametrize("part", range(2))
def test_random_calibrations_are_safe_and_tight(part: int) -> None:
    """Fresh ones each time: a few thousand a day."""
    generator = np.random.default_rng()
    unsafe = loose = 0
    for _ in range(2_000):
        epsilon = math.exp(generator.uniform(math.log(1e-6), math.log(100)))
        usual, tiny, any_delta = (
            10 ** -generator.uniform(0, 30),
            10 ** -generator.uniform(0, 300),
            generator.uniform(0, 1),
        )
        delta = (usual, tiny, any_delta)[generator.integers(3)]
        mu = curve.mu_downward(epsilon, delta)
        unsafe += not is_safe(mu, epsilon, delta)
        loose += is_safe(mu * (1 + 1e-9), epsilon, delta, digits=20)
    assert (part, unsafe, loose) == (part, 0, 0)


def test_the_grid_would_see_answers_one_unit_too_large() -> None:
    pairs = [(1, 1e-6), (0.3, 1e-9), (7, 1e-3), (20, 0.5), (1e-6, 1e-12)]
    assert not any(is_safe(math.nextafter(curve.mu_downward(e, d), math.inf), e, d) for e, d in pairs)


@pytest.mark.parametrize("epsilon", [1e-90, 1e-20, 1e-6, 1.0, 99.0, 100.0])
@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-18, 0.25, 0.5, 0.75, 1 - 1e-9, 1 - 2.0**-53])
def test_the_corners_are_safe_and_within_two_units(epsilon: float, delta: float) -> None:
    mu = curve.mu_downward(epsilon, delta)
    assert is_safe(mu, epsilon, delta)
    assert not is_safe(math.nextafter(mu, math.inf), epsilon, delta)
    answer = curve.epsilon_upward(delta, mu)
    assert is_safe(mu, answer, delta)
    assert answer <= epsilon


def test_calibration_is_quick() -> None:
    curve.mu_downward(1, 1e-6)
    pairs = [(0.1 + k / 50, 10.0 ** -(1 + k % 20)) for k in range(100)]
    times = []
    for epsilon, delta in pairs:
        start = time.process_time()
        curve.mu_downward(epsilon, delta)
        times.append(time.process_time() - start)
    assert sorted(times)[50] < 0.005


@pytest.mark.parametrize("mu", [1e-100, 1e-9, 0.05, 1.0, 7.0, 40.0, 1e6, 1e100])
def test_at_epsilon_zero_delta_is_that_of_telling_two_normals_apart(mu: float) -> None:
    with mpmath.workdps(150):
        truth = mpmath.erf(mpmath.mpf(mu) / mpmath.sqrt(8))
        answer = curve.delta_upward(0, mu)
        assert math.nextafter(answer, 0) < truth <= answer


def test_delta_is_an_upper_bound_and_tight_on_random_points() -> None:
    generator = np.random.default_rng()
    for _ in range(300):
        epsilon, mu = math.exp(generator.uniform(-14, 5)), math.exp(generator.uniform(-7, 3))
        truth, answer = oracle_delta(epsilon, mu), curve.delta_upward(epsilon, mu)
        assert math.nextafter(answer, 0) < truth <= answer


@pytest.mark.parametrize(("epsilon", "mu"), [(1e308, 1e-100), (1e6, 1e-3), (500, 1.0), (1e300, 1e100)])
def test_delta_beyond_all_doubles_is_the_smallest_one(epsilon: float, mu: float) -> None:
    assert curve.delta_upward(epsilon, mu) == 5e-324
    assert curve.delta_is_at_most(5e-324, epsilon, mu)


def test_log_delta_far_out_is_half_the_square_of_the_distance() -> None:
    assert curve.log_delta(1e100, 1e-10) == pytest.approx(-5e219, rel=1e-15, abs=0)
    assert curve.log_delta(1e99, 1.0) == pytest.approx(-5e197, rel=1e-15, abs=0)
    assert curve.log_delta(1e308, 1e-100) == -math.inf


def test_log_delta_near_certainty_keeps_its_digits() -> None:
    with mpmath.workdps(60):
        truth = mpmath.log1p(-2 * mpmath.ncdf(-10))
        assert curve.log_delta(0, 20.0) == pytest.approx(float(truth), rel=1e-15, abs=0)


def test_epsilon_is_an_upper_bound_and_tight_on_random_points() -> None:
    generator = np.random.default_rng()
    zeros = 0
    for _ in range(300):
        mu = math.exp(generator.uniform(-7, 3))
        delta = [10 ** -generator.uniform(0, 300), generator.uniform(0, 1)][generator.integers(2)]
        epsilon = curve.epsilon_upward(delta, mu)
        assert is_safe(mu, epsilon, delta)
        zeros += epsilon == 0
        assert epsilon == 0 or not is_safe(mu, Fraction(epsilon) * (1 - Fraction(1, 10**15)), delta)
    assert zeros < 300


def test_epsilon_just_below_the_curve_at_zero_is_small_and_safe() -> None:
    delta = math.nextafter(curve.delta_upward(0, 1.0), 0)
    epsilon = curve.epsilon_upward(delta, 1.0)
    assert 0 < epsilon < 1e-15
    assert is_safe(1.0, epsilon, delta)


def test_epsilon_of_a_huge_mu_is_half_its_square() -> None:
    assert curve.epsilon_upward(1e-6, 1e100) == pytest.approx(5e199, rel=1e-15, abs=0)


@pytest.mark.parametrize(("mu", "delta"), [(0.25, 1e-6), (1.0, 1e-5), (1.0, 1e-9), (3.0, 1e-3)])
def test_never_more_optimistic_than_dp_accounting(mu: float, delta: float) -> None:
    from dp_accounting.pld import privacy_loss_distribution

    low, high = (
        privacy_loss_distribution.from_gaussian_mechanism(
            1 / mu, pessimistic_estimate=pessimistic, value_discretization_interval=1e-3
        ).get_epsilon_for_delta(delta)
        for pessimistic in (False, True)
    )
    assert low <= curve.epsilon_upward(delta, mu) <= high
    assert high - low < 0.01 * high


def test_the_classic_theorem_first_fails_at_8_42() -> None:
    """σ = √(2 ln(1.25/δ))/ε is proved below ε = 1; at δ = 1e-5 it happens to hold until ε = 8.42."""

    def holds(epsilon: float) -> bool:
        return is_safe(epsilon / math.sqrt(2 * math.log(1.25 / 1e-5)), epsilon, 1e-5)

    assert all(holds(e) for e in np.linspace(0.05, 8.41, 120))
    assert not any(holds(e) for e in np.linspace(8.425, 20, 60))


def test_the_slides_tail_bound_is_safe_and_not_exact() -> None:
    """ε = μ²/2 + μ√(2 ln 1/δ) holds for every μ (their ρ is μ²), and gives away 18 % of ε at μ = 1, δ = 1e-6."""

    def bound(mu: float, delta: float) -> float:
        return mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta))

    assert all(is_safe(mu, bound(mu, d), d) for mu in (0.01, 0.3, 1.0, 4.0) for d in (1e-2, 1e-6, 1e-30))
    assert bound(1, 1e-6) / curve.epsilon_upward(1e-6, 1) == pytest.approx(1.178, abs=1e-3)


def test_threads_do_not_share_precision() -> None:
    expected = {e: curve.mu_downward(e, 1e-9) for e in range(1, 9)}
    wrong: list[int] = []

    def work(e: int) -> None:
        wrong.extend(e for _ in range(10) if curve.mu_downward(e, 1e-9) != expected[e])

    threads = [threading.Thread(target=work, args=(e,)) for e in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert mpmath.mp.prec == 53


@pytest.mark.parametrize("digits", [5, 30, 70, 150, 300])
def test_scaled_tails_have_the_digits_that_are_asked_for(digits: int) -> None:
    generator = np.random.default_rng()
    points = [0.0, 1e-300, *np.exp(generator.uniform(-30, 4, 40)), math.sqrt(digits / 2), 1e3, 1e30]
    for x in map(float, points):
        with decimal.localcontext(precision(digits)):
            found = scaled_erfc(decimal.Decimal(x))
        with mpmath.workdps(digits + 20 + 2 * math.ceil(max(0, math.log10(x or 1)))):
            square = mpmath.mpf(x) ** 2
            truth = (
                mpmath.exp(square) * mpmath.erfc(x)
                if x < 1e4
                else (1 - 1 / (2 * square)) / (x * mpmath.sqrt(mpmath.pi))
            )
            near = digits if x < 1e4 else min(digits, 100)
            assert abs(mpmath.mpf(str(found)) / truth - 1) < mpmath.mpf(10) ** (1 - near)


def test_pi_has_the_digits_that_are_asked_for() -> None:
    for digits in (1, 17, 100, 1000):
        with mpmath.workdps(digits + 10):
            assert abs(mpmath.mpf(str(pi(digits))) - mpmath.pi) < mpmath.mpf(10) ** (1 - digits)


@pytest.mark.parametrize(("epsilon", "mu"), [(1e12, 1.0), (1e9, 1e-3)])
def test_digits_of_deltas_below_all_decimals_are_those_of_their_logarithm(epsilon: float, mu: float) -> None:
    mantissa, power = curve.delta_digits(epsilon, mu, digits=12).split("e")
    with mpmath.workdps(80):
        log = mpmath.log(mpmath.mpf(mantissa)) + int(power) * mpmath.log(10)
        assert abs(log - mpmath.log(oracle_delta(epsilon, mu))) < 1e-10
