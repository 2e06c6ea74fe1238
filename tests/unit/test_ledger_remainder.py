"""What is left in a ledger: told to the last bit, never more than fits, and the same in words."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.errors import BudgetError
from gaussmith.ledger.book import largest_epsilon
from gaussmith.ledger.units import budget_square, charge_units
from gaussmith.privacy.guarantee import Guarantee


def make(tmp_path: Path, keys_delta: float = 0, **guarantee: float) -> gm.Ledger:
    return gm.Ledger.create(tmp_path / "a.ledger", Guarantee(**guarantee), keys_delta=keys_delta)


@pytest.mark.parametrize("epsilon", [0.1, 1, 2, 3, 5])
@pytest.mark.parametrize("delta", [1e-6, 1e-5])
def test_of_a_new_ledger_all_is_left(tmp_path: Path, epsilon: float, delta: float) -> None:
    ledger = make(tmp_path, epsilon=epsilon, delta=delta)
    assert ledger.remaining_epsilon == epsilon
    assert not ledger.is_spent
    assert budget_square(ledger.guarantee) == Fraction(ledger.guarantee.mu) ** 2


@pytest.mark.parametrize("stated", [{"mu": 1.0}, {"epsilon": 1.0, "delta": 1e-6}])
def test_a_ledger_is_spent_when_no_release_fits(tmp_path: Path, stated: dict[str, float]) -> None:
    ledger = make(tmp_path, **stated)
    ledger.reserve("all", "hash", Guarantee(**stated))
    assert ledger.is_spent
    assert "spent" in repr(ledger)
    assert ledger.remaining_epsilon == (0 if "delta" in stated else None)
    with pytest.raises(BudgetError, match="no budget is left"):
        ledger.reserve("more", "hash", Guarantee(mu=1e-3))


def test_a_rest_that_is_no_epsilon_is_spent(tmp_path: Path) -> None:
    ledger = make(tmp_path, epsilon=1, delta=1e-6)
    almost = Fraction(ledger.guarantee.mu) ** 2 - Fraction(1, 10**14)
    ledger.reserve("a", "hash", Guarantee(mu=float(almost) ** 0.5))
    assert ledger.remaining_guarantee is not None and ledger.remaining_epsilon == 0
    assert ledger.is_spent


def test_a_first_guess_that_does_not_fit_is_lowered_until_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Guarantee(epsilon=3, delta=1e-6)
    units = charge_units(Guarantee(epsilon=2, delta=1e-6).mu)
    guess = Guarantee.epsilon_at
    for wrong in (1e-15, 1e-12, 1e-9):
        monkeypatch.setattr(Guarantee, "epsilon_at", lambda self, delta, f=1 + wrong: f * guess(self, delta=delta))
        found = largest_epsilon(units, whole)
        assert found is not None and 2 - 100 * wrong < found <= 2 + 4e-16
        assert charge_units(Guarantee(epsilon=found, delta=1e-6).mu) <= units


@pytest.mark.parametrize(
    ("stated", "asked", "says"),
    [
        ({"mu": 1.0}, {"mu": 2.0}, "at most mu=1 fits"),
        ({"epsilon": 0.5, "delta": 1e-6}, {"epsilon": 0.75, "delta": 1e-6}, "at most epsilon=0.5 at delta=1e-06 fits"),
    ],
)
def test_what_fits_is_told(tmp_path: Path, stated: dict[str, float], asked: dict[str, float], says: str) -> None:
    with pytest.raises(BudgetError, match=says):
        make(tmp_path, **stated).reserve("a", "hash", Guarantee(**asked))


def test_what_is_left_for_keys_is_told(tmp_path: Path) -> None:
    ledger = make(tmp_path, keys_delta=2.0**-20, mu=1)
    ledger.reserve("a", "hash", Guarantee(mu=0.5), keys_delta=2.0**-21)
    with refused("keys-budget-exceeded", BudgetError, remaining=2.0**-21):
        ledger.reserve("b", "hash", Guarantee(mu=0.5), keys_delta=2.0**-20)


def test_an_outlook_tells_shares_of_the_whole(tmp_path: Path) -> None:
    ledger = make(tmp_path, mu=1)
    ledger.reserve("a", "hash", Guarantee(mu=0.5))
    found = ledger.afford(Guarantee(mu=0.5))
    assert (found.share, found.left, found.times) == (0.25, 0.5, 3)


def test_an_outlook_counts_keys_too(tmp_path: Path) -> None:
    ledger = make(tmp_path, keys_delta=2.0**-20, mu=1)
    ledger.reserve("a", "hash", Guarantee(mu=0.5), keys_delta=2.0**-22)
    assert [ledger.afford(Guarantee(mu=mu), 2.0**-k).times for mu, k in ((0.5, 21), (0.8, 22), (0.25, 22))] == [1, 1, 3]
    with refused("keys-budget-exceeded"):
        ledger.afford(Guarantee(mu=0.5), 2.0**-20)


def test_an_outlook_tells_what_is_left_afterwards(tmp_path: Path) -> None:
    ledger = make(tmp_path, epsilon=3, delta=1e-6)
    part = Guarantee(epsilon=1, delta=1e-6)
    found = ledger.afford(part)
    ledger.reserve("a", "hash", part)
    assert (found.epsilon_before, found.epsilon_after) == (3, ledger.remaining_epsilon)


def test_what_fits_to_the_last_unit_is_told() -> None:
    units = charge_units(Guarantee(epsilon=1, delta=1e-6).mu)
    assert largest_epsilon(units, Guarantee(epsilon=3, delta=1e-6)) == 1
    assert largest_epsilon(units - 1, Guarantee(epsilon=3, delta=1e-6)) < 1  # type: ignore[operator]


def test_a_row_tells_what_a_release_took_after_it_gave_some_back(tmp_path: Path) -> None:
    ledger = make(tmp_path, mu=1)
    ledger.reserve("a", "hash", Guarantee(mu=0.5))
    ledger.store("a", b"release", taken=Fraction(1, 16))
    assert [row["share"] for row in ledger.history()] == [1 / 16]
    assert ledger.remaining == ledger.budget * 15 // 16
    ledger.reserve("b", "hash", Guarantee(mu=1e-100))
    assert ledger.history()[1]["share"] == 2.0**-256
