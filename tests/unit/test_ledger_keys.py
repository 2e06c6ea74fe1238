"""Two caps, fixed when a ledger is opened: Σ μ² and Σ κ, in whole units, and nothing moves between them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planting import plant
from refusals import refused

from gaussmith.errors import BudgetError
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.units import UNIT_BITS, Units, budget_square, budget_units, check_keys_delta, keys_units
from gaussmith.privacy.guarantee import Guarantee

SPEND = Guarantee(mu=0.125)
K = 2.0**-20


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "l", Guarantee(mu=1.25), keys_delta=K)


def delta_of(epsilon: Any, mu: Any) -> Any:
    """δ(ε; μ), by mpmath alone."""
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def test_without_found_keys_nothing_is_set_aside_and_none_may_be_spent(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", Guarantee(mu=1))
    assert (ledger.keys_delta, ledger.keys_budget, ledger.keys_spent) == (0, 0, 0)
    assert ledger.reserve("a", "h", SPEND).keys_charge == 0
    with refused("keys-budget-exceeded", BudgetError, says="no release that finds keys", ledger=ledger.where) as error:
        ledger.reserve("b", "h", SPEND, keys_delta=1e-300)
    assert error.value.fields["requested"] == Fraction(1e-300) and error.value.fields["remaining"] == 0
    assert len(ledger.entries()) == 2


def test_the_cap_is_spent_to_the_last_unit_and_not_one_further(ledger: Ledger) -> None:
    assert ledger.keys_budget == 2 ** (UNIT_BITS - 20)
    almost = Fraction(ledger.keys_budget - 1, 2**UNIT_BITS)
    assert ledger.reserve("a", "h", SPEND, keys_delta=almost).keys_charge == ledger.keys_budget - 1
    entries = ledger.entries()
    for much in (Fraction(2, 2**UNIT_BITS), Fraction(2**64 + 1, 2 ** (UNIT_BITS + 64)), K):
        with refused("keys-budget-exceeded", says="at most keys_delta="):
            ledger.reserve("b", "h", SPEND, keys_delta=much)
    assert ledger.entries() == entries
    last = ledger.reserve("b", "h", SPEND, keys_delta=Fraction(1, 2 ** (UNIT_BITS + 9)))  # less than a unit takes one
    assert (last.keys_charge, ledger.keys_spent) == (1, ledger.keys_budget)
    found = ledger.verify()
    assert (found.keys_spent, found.keys_budget) == (ledger.keys_budget, ledger.keys_budget)
    assert ledger.reserve("c", "h", SPEND).state == "new"


def test_what_is_left_of_one_cap_does_not_help_the_other(tmp_path: Path) -> None:
    keys = Ledger.create(tmp_path / "keys", SPEND, keys_delta=K)
    keys.reserve("all of μ²", "h", SPEND)
    with refused("budget-exceeded", requested=Guarantee(mu=0.125)):
        keys.reserve("b", "h", SPEND, keys_delta=K)
    rest = Ledger.create(tmp_path / "rest", Guarantee(mu=1), keys_delta=K)
    rest.reserve("all of κ", "h", SPEND, keys_delta=K)
    with refused("keys-budget-exceeded", says="no release that finds keys"):
        rest.reserve("b", "h", SPEND, keys_delta=K)
    assert (keys.keys_spent, rest.spent) == (0, keys.spent)


def _pays_keys_with_noise(place: Path) -> bool:
    """Whether a ledger whose κ is spent takes keys for what is left of μ²: twice the δ for whoever looks in between."""
    ledger = Ledger.create(place, Guarantee(mu=1), keys_delta=K)
    ledger.reserve("all of κ", "h", SPEND, keys_delta=K)
    try:
        ledger.reserve("more", "h", SPEND, keys_delta=K)
    except BudgetError:
        return False
    return True


def test_a_rest_that_moves_between_the_caps_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _pays_keys_with_noise(tmp_path / "right")
    right = "self.square <= left.square and self.keys <= left.keys"
    plant(monkeypatch, Units.fits, right, "self.square + self.keys <= left.square + left.keys")
    assert _pays_keys_with_noise(tmp_path / "planted")  # what the first line would have missed


def test_a_store_carries_the_totals_on(ledger: Ledger) -> None:
    ledger.reserve("a", "h", SPEND, keys_delta=K / 4)
    ledger.store("a", b"bytes")
    ledger.reserve("b", "h", SPEND, keys_delta=K / 2)
    units = ledger.keys_budget
    assert [entry.keys_charge for entry in ledger.entries()] == [0, units // 4, 0, units // 2]
    assert [entry.keys_spent for entry in ledger.entries()] == [0, units // 4, units // 4, 3 * units // 4]
    assert [row["keys_delta"] for row in ledger.history()] == [K / 4, K / 2]
    assert json.loads(ledger.entries()[1].body)["keys_delta"] == str(Fraction(K) / 4)


def test_a_pending_release_is_not_made_dearer(ledger: Ledger) -> None:
    ledger.reserve("a", "h", SPEND, keys_delta=K / 4)
    with refused("id-of-another-request", id="a"):
        ledger.reserve("a", "h", SPEND, keys_delta=K / 2)
    again = ledger.reserve("a", "h", SPEND, keys_delta=K / 4)
    assert (again.state, again.keys_charge) == ("pending", ledger.keys_budget // 4)


@pytest.mark.parametrize("wrong", [-1e-9, 1, 1.5, float("nan"), float("inf"), True, "1e-8", None])
def test_what_is_no_probability_is_refused(ledger: Ledger, tmp_path: Path, wrong: Any) -> None:
    for attempt in (
        lambda: ledger.reserve("a", "h", SPEND, keys_delta=wrong),
        lambda: Ledger.create(tmp_path / "other", SPEND, keys_delta=wrong),
    ):
        with refused("keys-delta-out-of-range"):
            attempt()
    assert (len(ledger.entries()), (tmp_path / "other").exists()) == (1, False)


@pytest.mark.parametrize("whole", [1e-6, 2e-6, 0.5])
def test_less_than_the_whole_delta_is_set_aside(tmp_path: Path, whole: float) -> None:
    with refused("keys-delta-exceeds-delta", says="keys_delta=1e-07", delta=1e-06):
        Ledger.create(tmp_path / "l", Guarantee(epsilon=1, delta=1e-6), keys_delta=whole)
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize(
    ("epsilon", "delta", "keys"),
    [(1, 1e-6, 1e-7), (3, 1e-6, 1e-8), (0.1, 1e-9, 9e-10), (1, 0.01, 0.001), (8, 0.3, 0.2), (100, 1e-5, 5e-6)],
)
def test_both_caps_together_keep_the_stated_guarantee_and_waste_little(
    tmp_path: Path, epsilon: float, delta: float, keys: float
) -> None:
    """K + (1 − K) δ(ε − ln(1 − K); √V) ≤ δ: one-sided, and tight, with 60 digits."""
    ledger = Ledger.create(tmp_path / "l", Guarantee(epsilon=epsilon, delta=delta), keys_delta=keys)
    with mpmath.workdps(60):
        cap = mpmath.mpf(ledger.keys_budget) / mpmath.mpf(2) ** UNIT_BITS
        mu = mpmath.sqrt(mpmath.mpf(ledger.budget) / mpmath.mpf(2) ** UNIT_BITS)
        # both readings of what was typed
        for e, d in ((mpmath.mpf(epsilon), mpmath.mpf(delta)), (mpmath.mpf(str(epsilon)), mpmath.mpf(str(delta)))):
            total = cap + (1 - cap) * delta_of(e - mpmath.log(1 - cap), mu)
            assert total <= d
        if epsilon < 100 and keys < 0.01:  # elsewhere the safe side costs more than rounding
            more = mu * (1 + mpmath.mpf(10) ** -9)
            assert cap + (1 - cap) * delta_of(e - mpmath.log(1 - cap), more) > d
    assert ledger.verify().keys_budget == ledger.keys_budget
    assert ledger.budget < budget_units(budget_square(Guarantee(epsilon=epsilon, delta=delta)))


def test_what_is_said_to_fit_beside_keys_does_fit(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", Guarantee(epsilon=1, delta=1e-6), keys_delta=1e-7)
    epsilon = ledger.remaining_epsilon
    assert epsilon is not None and 0.98 < epsilon < 1
    with refused("budget-exceeded"):
        ledger.reserve("a", "h", Guarantee(epsilon=1, delta=1e-6))
    assert ledger.reserve("a", "h", Guarantee(epsilon=epsilon, delta=1e-6)).state == "new"


@given(st.fractions(0, Fraction(999, 1000)) | st.floats(0, 0.999))
def test_a_charge_covers_kappa_and_a_cap_stays_below_it(value: float | Fraction) -> None:
    exact = check_keys_delta(value) * 2**UNIT_BITS
    assert 0 <= keys_units(Fraction(value)) - exact < 1
    assert 0 <= exact - budget_units(Fraction(value)) < 1
