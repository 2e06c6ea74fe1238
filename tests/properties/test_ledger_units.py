"""Units: in exact rationals no charge is too small, no budget too large, and what is said to fit does."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from gaussmith.ledger.units import UNIT_BITS, budget_square, budget_units, charge_units, largest_mu, round_down
from gaussmith.privacy.guarantee import Guarantee

MUS = st.floats(1e-100, 1e100)
USUAL = st.floats(2.0**-75, 1e100)


@given(MUS)
def test_a_charge_covers_mu_squared_with_less_than_a_unit_to_spare(mu: float) -> None:
    surplus = charge_units(mu) - Fraction(mu) ** 2 * 2**UNIT_BITS
    assert 0 <= surplus < 1


@given(USUAL)
def test_in_the_usual_range_nothing_is_rounded(mu: float) -> None:
    assert Fraction(charge_units(mu), 2**UNIT_BITS) == Fraction(mu) ** 2
    assert budget_units(budget_square(Guarantee(mu=mu))) == charge_units(mu)


@given(st.floats(1e-200, 1e200))
def test_the_budget_of_a_stated_rho_is_never_too_large_and_takes_its_own_release(rho: float) -> None:
    guarantee = Guarantee(rho=rho)
    budget = budget_units(budget_square(guarantee))
    assert Fraction(budget, 2**UNIT_BITS) <= 2 * Fraction(rho)
    if guarantee.mu >= 2.0**-75:
        assert charge_units(guarantee.mu) <= budget


@given(st.integers(0, 2**700) | st.integers(0, 2**60))
def test_the_largest_mu_fits_and_the_next_does_not(units: int) -> None:
    mu = largest_mu(units)
    if units == 0:
        assert mu == 0
        return
    assert charge_units(mu) <= units
    assert charge_units(math.nextafter(mu, math.inf)) > units


@given(st.floats(1e-300, 1e300), st.integers(1, 17))
def test_round_down_never_rounds_up(value: float, digits: int) -> None:
    shown = round_down(value, digits)
    assert shown <= value
    assert shown >= value * (1 - 1.1 * 10.0 ** (1 - digits))
