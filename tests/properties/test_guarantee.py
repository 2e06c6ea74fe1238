"""Laws of guarantees that hold for all of them."""

from __future__ import annotations

import json
import math
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from gaussmith.privacy.guarantee import Guarantee, compose

epsilons = st.floats(1e-6, 100)
deltas = st.floats(1e-300, 1 - 1e-9)
mus = st.floats(1e-6, 1e3)
guarantees = st.one_of(
    st.builds(lambda e, d: Guarantee(epsilon=e, delta=d), epsilons, deltas),
    st.builds(lambda m: Guarantee(mu=m), mus),
    st.builds(lambda r: Guarantee(rho=r), mus),
)


@given(guarantees)
def test_json_gives_back_an_equal_guarantee(g: Guarantee) -> None:
    back = Guarantee.from_dict(json.loads(json.dumps(g.to_dict())))
    assert (back, hash(back), back.mu, back.charge()) == (g, hash(g), g.mu, g.charge())


@given(epsilons, deltas)
@settings(max_examples=200)
def test_what_is_stated_holds_and_nothing_is_wasted(epsilon: float, delta: float) -> None:
    g = Guarantee(epsilon=epsilon, delta=delta)
    assert g.delta_at(epsilon) <= delta
    assert g.epsilon_at(delta) <= epsilon
    larger = Guarantee(mu=g.mu * (1 + 1e-9))
    assert larger.epsilon_at(delta) > epsilon or larger.delta_at(epsilon) > delta


@given(epsilons, deltas, st.floats(1, 10))
@settings(max_examples=100)
def test_a_weaker_statement_allows_a_larger_mu(epsilon: float, delta: float, factor: float) -> None:
    g = Guarantee(epsilon=epsilon, delta=delta)
    assert g.mu <= Guarantee(epsilon=min(100, epsilon * factor), delta=delta).mu
    assert g.mu <= Guarantee(epsilon=epsilon, delta=min(1 - 1e-12, delta * factor)).mu


@given(mus, st.floats(0, 50), st.floats(0, 50))
@settings(max_examples=100)
def test_the_curve_falls(mu: float, first: float, second: float) -> None:
    g = Guarantee(mu=mu)
    low, high = sorted((first, second))
    assert g.delta_at(low) >= g.delta_at(high)


@given(st.lists(guarantees, min_size=1, max_size=6))
@settings(max_examples=100)
def test_composition_never_understates(parts: list[Guarantee]) -> None:
    exact = sum((g.charge() for g in parts), start=Fraction(0))
    together = compose(parts)
    assert exact <= together.charge() <= exact * (1 + Fraction(1, 2**50))
    one_by_one = parts[0]
    for g in parts[1:]:
        one_by_one = one_by_one + g
    assert exact <= one_by_one.charge() <= exact * (1 + Fraction(1, 2**48))


@given(guarantees, st.lists(st.floats(1e-12, 1e12), min_size=1, max_size=8))
def test_parts_never_exceed_the_whole(g: Guarantee, weights: list[float]) -> None:
    parts = g.split(weights)
    spent = sum((p.charge() for p in parts), start=Fraction(0))
    assert g.charge() * (1 - Fraction(1, 2**51)) <= spent <= g.charge()
    assert all(
        a.mu <= b.mu
        for (a, v) in zip(parts, weights, strict=True)
        for (b, w) in zip(parts, weights, strict=True)
        if v <= w
    )


@given(guarantees, st.integers(1, 1000), st.floats(1e-3, 1e3))
def test_groups_round_up_and_scaling_rounds_down(g: Guarantee, size: int, factor: float) -> None:
    mu = Fraction(g.mu)
    group, scaled = g.for_group(size).mu, g.scaled(factor).mu
    assert math.nextafter(group, 0) < size * mu <= group
    assert scaled <= Fraction(factor) * mu < math.nextafter(scaled, math.inf)


@given(st.floats(1e-6, 4), st.floats(1e-12, 0.999))
@settings(max_examples=100)
def test_epsilon_and_delta_are_inverse_on_the_safe_side(mu: float, share: float) -> None:
    g = Guarantee(mu=mu)
    delta = share * g.delta_at(epsilon=0)
    epsilon = g.epsilon_at(delta)
    assert epsilon > 0
    assert g.delta_at(epsilon) <= delta
    assert Guarantee(epsilon=epsilon, delta=delta).mu >= mu * (1 - 1e-12)


@given(mus)
def test_rho_said_of_a_release_allows_at_least_its_mu(mu: float) -> None:
    g = Guarantee(mu=mu)
    assert mu <= Guarantee(rho=g.rho).mu <= mu * (1 + 1e-15)
