"""Found keys: every reference value, by the functions that releases use; and the curve by an independent quadrature."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planting import plant
from scipy.integrate import quad
from scipy.stats import norm

from gaussmith.numerics import two_level
from gaussmith.papers.correlated_noise import delta_across_keys, spent_on_keys
from gaussmith.privacy import thresholds as found_keys
from gaussmith.privacy.gaussian import delta_upward, mu_downward
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.thresholds import (
    Found,
    delta_of_case,
    delta_upper,
    hides,
    integer_threshold,
    interval,
    largest_kappa,
    mu_beside,
    normal_quantile,
    people_at,
    shown_alone,
    standard_threshold,
    upper_tail,
)

VALUES: dict[str, list[Any]] = json.loads(Path(__file__).with_name("found_values.json").read_text())


def _case(given: dict[str, Any]) -> float:
    hidden = 1 - upper_tail(given["x"])
    epsilon = Fraction(str(given["epsilon"]))
    return float(delta_of_case(epsilon, given["m"], given["mu"], hidden, given["new"], given.get("mu0", 0.0)))


def _exact(given: dict[str, Any]) -> float:
    return max(_case({**given, "new": new}) for new in range(given["m"] + 1))


def _mu(given: dict[str, Any]) -> float:
    return mu_downward(Fraction(str(given["epsilon"])), Fraction(str(given["delta"])))


def _sigma(given: dict[str, Any]) -> float:
    return math.sqrt(given["m"]) / _mu(given)


def _tau(given: dict[str, Any]) -> float:
    return 1 + _sigma(given) * standard_threshold(Fraction(str(given["delta"])), given["m"])


def _published(added: bool) -> float:
    """The threshold of the published example less one person, at its least noise + 50: exact, or by adding both δ."""
    epsilon, delta, m = Fraction("0.349"), Fraction("1e-5"), 51914
    sigma = math.sqrt(m) / mu_downward(epsilon, delta) + 50
    spent = Fraction(delta_upward(epsilon, math.sqrt(m) / sigma)) if added else Fraction(0)
    return sigma * standard_threshold(delta - spent, m)


def _look(given: dict[str, Any]) -> float:
    m, angle, kappa = given["m"], math.radians(given["degrees"]), Fraction(str(given["delta"]))
    return max(
        math.cos(angle) / math.sqrt(m)
        + math.sin(angle) * math.sqrt(1 / j - 1 / m)
        + float(normal_quantile(shown_alone(kappa, j) / 2)) / _mu(given)
        for j in range(1, m + 1)
    )


def _weighted(given: dict[str, Any]) -> float:
    """Each person adds 1/√j to each of its j groups: the published rule, for comparison."""
    kappa = Fraction(str(given["delta"]))
    return max(
        1 / math.sqrt(j) + float(normal_quantile(shown_alone(kappa, j))) / _mu(given) for j in range(1, given["m"] + 1)
    )


def _two(given: dict[str, Any]) -> float:
    found = [Found(given[f"mu{i}"], Fraction(str(given[f"kappa{i}"]))) for i in (1, 2)]
    return delta_upper(Fraction(str(given["epsilon"])), found, float(given["mu0"]))


def _ledger(given: dict[str, Any]) -> float:
    kappa = Fraction(-math.expm1(-given["minus_log_one_minus_kappa"]))
    return found_keys._beside(Fraction(str(given["epsilon"])), kappa, given["mu"])


def _share(given: dict[str, Any]) -> float:
    """t² of the lifted shape without the rule that it be at least a half."""
    parts, root = given["sums"] * 0.5, math.sqrt(given["w0"] + given["sums"] * 0.25)
    return root / (parts + root)


def _end(given: dict[str, Any], level: float) -> float:
    return float(people_at(np.array(given["observed"]), np.array(given["tau"]), np.array(given["s"]), level))


ROUTES = {
    "delta_case": _case,
    "delta_case_beside_gaussian": _case,
    "delta_exact": _exact,
    "x_of_kappa": lambda given: standard_threshold(Fraction(given["kappa"]), given["m"]),
    "sigma": _sigma,
    "tau": _tau,
    "published_sigma_min": _sigma,
    "published_t_exact": lambda given: _published(added=False),
    "published_t_add_deltas": lambda given: _published(added=True),
    "kappa_correlated": lambda g: spent_on_keys(g["a"], g["t"], g["var_own"], g["var_shared"]),
    "delta_case_correlated": lambda g: delta_across_keys(
        g["epsilon"], g["new"], g["shifted"], g["old"], g["var_own"], g["var_shared"], g["t"]
    ),
    "ledger_delta": _ledger,
    "threshold_integer": lambda g: integer_threshold(
        Fraction(str(g["kappa"])), g["m"], g["one_person"], g["noise_bits"]
    ),
    "tau_weighted": _weighted,
    "count_share_t2": _share,
    "interval_low": lambda given: _end(given, 0.025),
    "interval_high": lambda given: _end(given, 0.975),
    "look_threshold": _look,
    "two_key_questions": _two,
}


@pytest.mark.parametrize(
    ("name", "given", "value", "tolerance"),
    [(name, *each) for name, cases in VALUES.items() for each in cases],
)
def test_every_reference_value(name: str, given: dict[str, Any], value: str, tolerance: float) -> None:
    assert ROUTES[name](given) == pytest.approx(float(value), rel=max(tolerance, 1e-14))


def _quadrature(epsilon: float, m: int, mu: float, hidden: float, new: int, beside: float) -> float:
    """∫ (p − e^ε q)₊ of the whole mechanism, where a person with `new` keys of its own is added."""
    Q, shift = hidden**new, math.sqrt(mu**2 * (m - new) / m + beside**2)
    if shift == 0:
        return 1 - Q + max(Q - math.exp(epsilon), 0.0)
    edge = (epsilon - math.log(Q)) / shift + shift / 2
    more, _ = quad(lambda y: Q * norm.pdf(y - shift) - math.exp(epsilon) * norm.pdf(y), edge, edge + 40, epsabs=1e-16)
    return 1 - Q + more


def test_the_curve_of_fifty_random_settings_by_quadrature() -> None:
    rng = np.random.default_rng(20261116)
    for _ in range(50):
        m, beside = int(rng.integers(1, 40)), float(rng.choice([0.0, rng.uniform(0, 0.3)]))
        epsilon, mu = float(rng.uniform(0.05, 3)), float(rng.uniform(0.02, 0.6))
        kappa = 10.0 ** rng.uniform(-7, -2)
        hidden = (1 - kappa) ** (1 / m)
        found = [float(delta_of_case(Fraction(epsilon), m, mu, hidden, new, beside)) for new in range(m + 1)]
        expected = [_quadrature(epsilon, m, mu, hidden, new, beside) for new in range(m + 1)]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-13)
        stated = delta_upper(Fraction(epsilon), [Found(mu, Fraction(kappa))], beside)
        assert max(expected) <= stated * (1 + 1e-6)


def test_the_corner_is_attained_and_no_more_than_that() -> None:
    g = Guarantee(epsilon=1, delta=1e-5)
    epsilon, delta = Fraction(1), Fraction("1e-5")
    assert largest_kappa(epsilon, delta, [g.mu]) == delta  # noise and threshold both as if alone
    for m in (1, 2, 10, 100):
        hidden = (1 - delta) ** Fraction(1)
        cases = [delta_of_case(epsilon, m, g.mu, float(hidden) ** (1 / m), new) for new in range(m + 1)]
        assert float(max(cases)) == pytest.approx(1e-5, rel=1e-9)


def test_the_corner_is_wrong_beside_other_questions_and_across_two_releases() -> None:
    epsilon, delta = Fraction(1), Fraction("1e-5")
    mu = mu_downward(epsilon, delta)
    found, beside = mu * math.sqrt(0.1), mu * math.sqrt(0.9)
    assert delta_upper(epsilon, [Found(found, delta)], beside) == pytest.approx(1.40e-5, rel=0.01)
    two = [Found(mu / math.sqrt(2), delta)] * 2
    assert delta_upper(epsilon, two) == pytest.approx(2e-5, rel=1e-3)
    for mus, rest in (([found], beside), ([mu / math.sqrt(2)] * 2, 0.0)):
        kappa = largest_kappa(epsilon, delta, mus, rest)
        assert 0 < kappa < delta
        assert delta_upper(epsilon, [Found(each, kappa) for each in mus], rest) <= delta


def test_a_stated_part_of_delta_leaves_the_rest_to_noise() -> None:
    epsilon, delta, kappa = Fraction(1), Fraction("1e-5"), Fraction("1e-6")
    mu = mu_beside(epsilon, delta, kappa)
    whole = mu_downward(epsilon, delta)
    assert 1 < whole / mu < 1.007  # a tenth of δ costs less than 0.7 % of noise
    assert found_keys._beside(epsilon, kappa, mu) <= 1e-5
    assert found_keys._beside(epsilon, kappa, whole) > 1e-5


@pytest.mark.parametrize("m", [1, 3, 50])
@pytest.mark.parametrize("kappa", ["1e-4", "1e-9"])
def test_one_less_fails_the_certificate(m: int, kappa: str) -> None:
    spent, person = Fraction(kappa), 123_456_789_012_345
    threshold = integer_threshold(spent, m, person, 52)
    assert hides(threshold, person, spent, m, 52)
    assert not hides(threshold - 1, person, spent, m, 52)


def test_removing_a_person_gives_no_more_than_adding_one() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        m = int(rng.integers(1, 20))
        new, mu, epsilon = int(rng.integers(0, m + 1)), float(rng.uniform(0.05, 1.5)), float(rng.uniform(0, 3))
        hidden = float(rng.uniform(0.7, 1 - 1e-6))
        added = float(delta_of_case(Fraction(epsilon), m, mu, hidden, new))
        shift, Q = mu * math.sqrt((m - new) / m), hidden**new
        level = epsilon + math.log(Q)
        removed = max(0.0, 1 - math.exp(level))
        if shift > 0:
            removed = norm.cdf(shift / 2 - level / shift) - math.exp(level) * norm.cdf(-shift / 2 - level / shift)
        assert removed <= added + 1e-12


@pytest.mark.parametrize("people", [8, 12, 15, 25, 40, 200])
def test_intervals_know_that_a_group_was_shown(people: int) -> None:
    bar, s, repeats = 16.91, 3.73, 20_000
    rng = np.random.default_rng(people)
    least = norm.cdf((bar - people) / s)
    counts = people + s * norm.ppf(least + (1 - least) * rng.uniform(size=repeats))
    low, high = interval(counts, np.array(bar), np.array(s), 0.95, least=1.0)
    covered = int(((low <= people) & (people <= high)).sum())
    assert abs(covered - 0.95 * repeats) < 5 * math.sqrt(0.95 * 0.05 * repeats)
    naive = (np.abs(counts - people) <= 1.96 * s).mean()
    assert naive < 0.5 if people <= 10 else naive < 0.97


def test_intervals_that_forget_it_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from gaussmith.privacy import thresholds as shown_counts

    plant(monkeypatch, shown_counts.chance, "- log_ndtr((people - bar) / s)", "")
    with pytest.raises(AssertionError):
        test_intervals_know_that_a_group_was_shown(12)


def test_noise_across_keys_fails_where_there_are_more_keys() -> None:
    mu = mu_downward(Fraction(1), Fraction("1e-5"))
    shape = two_level.counts(10, 10, "add-remove")
    own, along = shape.a2**2 / mu**2, shape.a1**2 / mu**2
    shared = (along - own) / 10
    total = own + shared
    threshold = 4.753423 * math.sqrt(total)
    found = {old: delta_across_keys(1.0, 0, 10, old, own, shared, threshold) for old in (10, 20, 50, 1000)}
    assert found[10] <= 1.001e-5
    assert found[20] > 1e-4 and found[1000] > found[50] > found[20]


def test_a_movable_rest_doubles_delta() -> None:
    """An analyst spends part of μ², looks at the likelihood ratio, and then buys noise or keys with what is left."""
    epsilon, delta = 1.0, 1e-5
    whole = mu_downward(Fraction(1), Fraction("1e-5"))
    first = math.sqrt(0.65) * whole
    left = delta - delta_upward(Fraction(1), first)  # what a movable rule would still sell as keys
    rest = math.sqrt(whole**2 - first**2)

    def gain(y: float) -> float:
        """P′ − e^ε P of what follows, at its best, after the first answer y (0 or `first` is its mean)."""
        ratio = math.exp(first * y - first**2 / 2)
        more = ratio * _hockey(epsilon - math.log(ratio), rest)
        keys = left * ratio + max((1 - left) * ratio - math.exp(epsilon), 0.0)
        return max(more, keys) * norm.pdf(y)

    found, _ = quad(gain, -8, 12, epsabs=1e-12, limit=400)
    assert 1.8e-5 < found < 2.05e-5
    # With two caps fixed beforehand the same analyst stays within δ.
    kappa = Fraction("1e-6")
    fixed = mu_beside(Fraction(1), Fraction("1e-5"), kappa)
    assert found_keys._beside(Fraction(1), kappa, fixed) <= delta


def _hockey(epsilon: float, mu: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))
