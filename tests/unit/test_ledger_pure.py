"""The third cap: pure ε, set aside when a ledger is opened, spent to the last unit, and never moved or raised."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planting import plant
from refusals import refused
from terminal import run

import gaussmith as gm
from gaussmith.errors import BudgetError, GuaranteeError
from gaussmith.ledger.book import standing_of
from gaussmith.ledger.protection import both_ways
from gaussmith.ledger.units import (
    PURE_UNITS,
    UNIT_BITS,
    Units,
    budget_square,
    pure_budget_units,
    pure_units,
    taken_pure_units,
    units_of,
)
from gaussmith.privacy.composition import Charge
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.pure import delta_of_mixture, gdp_of_pure, mu_beside_pure
from gaussmith.privacy.thresholds import mu_beside

WHOLE = Guarantee(epsilon=3, delta=1e-6)
TENTH = Guarantee(epsilon=0.1, delta=1e-6)
PURE = Charge(pure=Fraction(1, 10))
EIGHTH = Guarantee(mu=0.125)


@pytest.fixture
def ledger(tmp_path: Path) -> gm.Ledger:
    return gm.Ledger.create(tmp_path / "l", WHOLE, pure_epsilon=0.5, keys_delta=1e-7)


def take(ledger: gm.Ledger, name: str | None = None, charge: Charge = PURE) -> Any:
    return ledger.reserve(name, "h", Guarantee(epsilon=float(charge.pure), delta=1e-6), charge=charge)


def test_a_new_ledger_has_three_caps_that_keep_its_guarantee(ledger: gm.Ledger) -> None:
    assert (ledger.pure_epsilon, ledger.keys_delta) == (Fraction(1, 2), Fraction(1e-7))
    assert ledger.pure_budget == PURE_UNITS // 2 and ledger.remaining_pure == Fraction(1, 2)
    mu, K = ledger.guarantee.mu, ledger.keys_delta
    square = Fraction(ledger.budget, 1 << UNIT_BITS)
    own = mu_beside_pure(Fraction(3), Fraction(1e-6), K, Fraction(1, 2))
    assert square == Fraction(own) ** 2 < Fraction(mu) ** 2
    assert Fraction(delta_of_mixture(Fraction(3), [Fraction(1, 2)], own, K)) <= Fraction(1e-6)
    assert Fraction(delta_of_mixture(Fraction(3), [Fraction(1, 2)], own * (1 + 1e-12), K)) > Fraction(1e-6)
    assert budget_square(WHOLE, K, Fraction(1, 2)) == square
    assert ledger.verify().pure_budget == ledger.pure_budget


@pytest.mark.parametrize(("epsilon", "E"), [(3, 0.5), (3, 1), (1, 0.5), (1, 0.9), (1, 0.1)])
def test_noise_beside_the_part_is_less_than_at_what_is_left_of_epsilon(epsilon: float, E: float) -> None:
    """The figures of decision 11."""
    whole, part, delta = Fraction(epsilon), Fraction(E), Fraction(1, 10**6)
    gain = mu_beside_pure(whole, delta, Fraction(0), part) / mu_beside(whole - part, delta, Fraction(0))
    assert 1.01 < gain < 1.035
    by_mu = Guarantee(mu=gdp_of_pure(Fraction(1, 10))).epsilon_at(delta=1e-6)
    assert by_mu == pytest.approx(0.505, abs=5e-4)


def test_the_part_is_spent_to_the_last_unit_and_not_one_further(ledger: gm.Ledger) -> None:
    made = [take(ledger) for _ in range(5)]
    assert {each.pure_charge for each in made} == {PURE_UNITS // 10} and {each.charge for each in made} == {0}
    assert (ledger.spent, ledger.pure_spent, ledger.remaining_pure) == (0, ledger.pure_budget, 0)
    with refused("pure-budget-exceeded", BudgetError, says="no pure ε is left", remaining=Fraction(0)):
        take(ledger, charge=Charge(pure=Fraction(1, 10**50)))
    assert ledger.reserve("noise", "h", EIGHTH).state == "new"
    found = ledger.verify()
    assert (found.pure_spent, found.spent) == (ledger.pure_budget, 1 << UNIT_BITS - 6)


def test_a_third_three_times_is_the_whole(tmp_path: Path) -> None:
    for n in (3, 7, 12, 52, 97):
        ledger = gm.Ledger.create(tmp_path / f"{n}", WHOLE, pure_epsilon=0.3)
        part = Charge(pure=ledger.pure_epsilon / n)
        for _ in range(n):
            ledger.reserve(None, "h", Guarantee(epsilon=float(part.pure), delta=1e-6), charge=part)
        assert ledger.remaining_pure == 0


def test_what_is_left_of_one_part_does_not_help_another(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", WHOLE, pure_epsilon=0.1, keys_delta=1e-7)
    take(ledger)
    with refused("pure-budget-exceeded"):
        take(ledger)
    ledger.reserve("noise", "h", Guarantee(mu=ledger.remaining_guarantee.mu))  # type: ignore[union-attr]
    with refused("budget-exceeded"):
        ledger.reserve("more", "h", EIGHTH)
    other = gm.Ledger.create(tmp_path / "o", WHOLE, pure_epsilon=0.1)
    other.reserve("noise", "h", Guarantee(mu=other.remaining_guarantee.mu))  # type: ignore[union-attr]
    assert not other.is_spent
    assert take(other).state == "new"
    assert other.is_spent


def _pays_pure_noise_with_noise(place: Path) -> bool:
    """Whether a ledger whose pure part is spent takes pure noise for what is left of μ²."""
    ledger = gm.Ledger.create(place, WHOLE, pure_epsilon=0.1)
    take(ledger)
    try:
        take(ledger)
    except BudgetError:
        return False
    return True


def test_a_part_that_moves_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _pays_pure_noise_with_noise(tmp_path / "right")
    plant(monkeypatch, Units.fits, "self.pure <= left.pure", "self.pure <= left.pure + left.square * PURE_UNITS")
    assert _pays_pure_noise_with_noise(tmp_path / "planted")


def test_a_ledger_without_the_part_refuses_pure_noise_and_says_what_to_do(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", WHOLE)
    for attempt in (lambda: take(ledger), lambda: ledger.afford(TENTH, charge=PURE)):
        with refused("no-allowance-for-pure-noise", BudgetError, says="ask with epsilon and delta") as error:
            attempt()
        assert str(error.value).count(" · ") == 2 and "nothing was charged" in str(error.value)
    with refused("no-allowance-for-pure-noise"):
        gm.Ledger.create(tmp_path / "m", EIGHTH).reserve("a", "h", TENTH, charge=PURE)
    assert len(ledger.entries()) == 1


def test_where_all_of_epsilon_is_for_pure_noise_no_gaussian_noise_fits(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", Guarantee(epsilon=1, delta=1e-6), pure_epsilon=1, keys_delta=1e-7)
    assert (ledger.budget, ledger.left, ledger.remaining_guarantee) == (0, 1.0, None)
    with refused("no-allowance-for-gaussian-noise", BudgetError, says="charge another ledger"):
        ledger.reserve("a", "h", Guarantee(mu=1e-9))
    assert take(ledger, charge=Charge(pure=Fraction(1, 4), kappa=Fraction(1, 10**8))).keys_charge > 0
    assert ledger.left == 0.75 and repr(ledger).endswith("75 % left)")
    assert ledger.history()[0]["share"] == 0.25
    assert ledger.add(epsilon=0.5, delta=1e-8).charge == 0
    assert ledger.verify().pure_spent == ledger.pure_budget * 3 // 4


@pytest.mark.parametrize(
    ("guarantee", "pure", "code"),
    [
        (WHOLE, 3.1, "pure-epsilon-exceeds-epsilon"),
        (WHOLE, -0.1, "pure-epsilon-out-of-range"),
        (WHOLE, float("nan"), "pure-epsilon-out-of-range"),
        (WHOLE, "0.5", "pure-epsilon-out-of-range"),
        (WHOLE, True, "pure-epsilon-out-of-range"),
        (EIGHTH, 0.1, "pure-epsilon-without-epsilon"),
        (Guarantee(rho=1), 0.1, "pure-epsilon-without-epsilon"),
    ],
)
def test_a_part_that_cannot_be_set_aside_is_refused(tmp_path: Path, guarantee: Guarantee, pure: Any, code: str) -> None:
    with refused(code, GuaranteeError):
        gm.Ledger.create(tmp_path / "l", guarantee, pure_epsilon=pure)
    assert not (tmp_path / "l").exists()


def test_a_charge_is_that_of_its_guarantee(ledger: gm.Ledger) -> None:
    half = Charge(pure=Fraction(1, 20))
    for guarantee, charge in (
        (TENTH, half),  # less than all of ε, and nothing else
        (TENTH, Charge(pure=Fraction(1, 5))),
        (TENTH, Charge(pure=Fraction(1, 5), mu_squared=Fraction(1, 100))),
        (EIGHTH, PURE),
        (EIGHTH, Charge(mu_squared=Fraction(1, 65))),
    ):
        with refused("charge-of-another-guarantee"):
            ledger.reserve("a", "h", guarantee, charge=charge)
    with refused("charge-stated-twice"):
        ledger.reserve("a", "h", TENTH, charge=PURE, keys_delta=1e-8)
    with refused("charge-of-nothing"):
        ledger.reserve("a", "h", TENTH, charge=Charge(kappa=Fraction(1, 10**8)))
    for wrong in ({"pure": 0.1}, {"mu_squared": Fraction(-1)}, {"kappa": 1}):
        with refused("charge-not-a-fraction"):
            Charge(**wrong)  # type: ignore[arg-type]
    assert len(ledger.entries()) == 1
    mixed = half + Charge(mu_squared=Fraction(1, 1000), kappa=Fraction(1, 10**8))
    made = ledger.reserve("mixed", "h", TENTH, charge=mixed)
    assert (made.charge, made.keys_charge, made.pure_charge) == units_of(mixed)
    assert ledger.charge_of("mixed") == mixed and ledger.charge_of("none") is None
    assert ledger.verify().pending == ("mixed",)


def test_a_release_goes_on_under_the_law_of_its_charge(ledger: gm.Ledger) -> None:
    take(ledger, "a")
    assert take(ledger, "a").state == "pending"
    with refused("id-of-another-request"):
        ledger.reserve("a", "h", TENTH)
    ledger.reserve("b", "h", TENTH)
    with refused("id-of-another-request"):
        take(ledger, "b")
    assert ledger.pure_spent == PURE_UNITS // 10


def test_what_stages_did_not_take_is_given_back_once(ledger: gm.Ledger) -> None:
    take(ledger, "a", Charge(pure=Fraction(1, 4)))
    ledger.store("a", b"bytes", taken=Charge(pure=Fraction(1, 20)))
    assert ledger.remaining_pure == Fraction(9, 20)
    ledger.store("a", b"bytes", taken=Charge(pure=Fraction(1, 100)))
    assert ledger.remaining_pure == Fraction(9, 20) and ledger.history()[0]["share"] == pytest.approx(0.1)
    take(ledger, "b")
    ledger.store("b", b"bytes", taken=Fraction(1, 1000))  # of μ², of which it has none
    mixed = Charge(Fraction(1, 20), Fraction(1, 1000))
    ledger.reserve("c", "h", TENTH, charge=mixed)
    ledger.store("c", b"bytes", taken=Charge(Fraction(1, 20), Fraction(1, 2000)))
    assert ledger.remaining_pure == Fraction(3, 10)
    assert ledger.spent == units_of(Charge(mu_squared=Fraction(1, 2000))).square
    ledger.verify()
    with refused("taken-not-a-part"):
        taken_pure_units(Fraction(-1))


def test_an_outlook_speaks_of_the_part_that_is_spent_more(ledger: gm.Ledger) -> None:
    found = ledger.afford(TENTH, charge=PURE)
    assert (found.share, found.left, found.times, found.of_pure) == (0.2, 0.8, 5, True)
    assert (found.epsilon_before, found.epsilon_after) == (0.5, 0.4)
    assert not ledger.afford(TENTH).of_pure
    with refused("pure-budget-exceeded", says="at most epsilon=0.5 of pure noise fits"):
        ledger.afford(Guarantee(epsilon=1, delta=1e-6), charge=Charge(pure=Fraction(1)))


def test_a_standing_adds_pure_epsilon_to_that_of_noise(ledger: gm.Ledger) -> None:
    first = standing_of(ledger, take(ledger).receipt)
    assert (first["pure_epsilon"], first["mu"], first["epsilon"]) == (0.1, 0.0, 0.1)
    both = standing_of(ledger, ledger.reserve("b", "h", EIGHTH).receipt)
    assert both["epsilon"] == pytest.approx(0.1 + EIGHTH.epsilon_at(delta=1e-6), rel=1e-12)
    assert "pure_epsilon" not in standing_of(ledger, ledger.entries()[0].receipt)


# Releases of other tools


def test_other_releases_take_pure_epsilon_where_there_is_some(ledger: gm.Ledger, tmp_path: Path) -> None:
    made = ledger.add(epsilon=0.125, note="Laplace noise elsewhere")
    assert (made.charge, made.pure_charge) == (0, PURE_UNITS // 8)
    leaky = ledger.add(epsilon=0.125, delta=1e-8)
    extra = both_ways(WHOLE, ledger.keys_delta, ledger.pure_epsilon)
    assert extra > 0 and leaky.charge == units_of(Charge(mu_squared=extra)).square
    assert (leaky.pure_charge, leaky.keys_charge) == (PURE_UNITS // 8, units_of(Charge(kappa=Fraction(1e-8))).keys)
    with refused("no-room-for-other-pure", BudgetError, says="at most epsilon=0.25 fits; or state mu=") as error:
        ledger.add(epsilon=0.375)
    mu = error.value.fields["mu"]
    assert mu == gdp_of_pure(Fraction(3, 8))
    assert ledger.add(mu=mu).pure_charge == 0
    assert [row["state"] for row in ledger.history()] == ["other tool"] * 3
    plain = gm.Ledger.create(tmp_path / "plain", WHOLE)
    assert plain.add(epsilon=0.125).pure_charge == 0 < plain.spent
    ledger.verify()


def test_what_is_left_beside_leaks_in_both_directions_is_the_largest_that_keeps_delta() -> None:
    whole, K, E = Guarantee(epsilon=1, delta=1e-3), Fraction(1, 2000), Fraction(1, 2)
    square = budget_square(whole, K, E) - both_ways(whole, K, E)
    rest = Fraction(delta_of_mixture(Fraction(1), [E], float(square) ** 0.5))
    assert float((K + (1 - K) * rest) / Fraction(1e-3)) == pytest.approx(1, abs=1e-9)
    assert both_ways(whole, K, Fraction(1)) == 0


# Units


@given(st.fractions(0, 100) | st.floats(0, 100).map(Fraction))
def test_a_charge_covers_epsilon_and_a_cap_stays_below_it(epsilon: Fraction) -> None:
    exact = epsilon * PURE_UNITS
    assert 0 <= pure_units(epsilon) - exact < 1
    assert 0 <= exact - pure_budget_units(epsilon) < 1


@given(st.decimals(0, 100, places=12), st.integers(1, 100))
def test_parts_of_what_is_typed_are_whole_units(typed: Any, n: int) -> None:
    assert n * pure_units(Fraction(typed) / n) == pure_units(Fraction(typed)) == pure_budget_units(Fraction(typed))


# On the command line


def test_the_part_is_set_aside_shown_and_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = ["--epsilon", "3", "--delta", "1e-6"]
    code, out, _ = run(capsys, "ledger", "init", "l", *whole, "--pure-epsilon", "0.5", "--keys-delta", "1e-7")
    told = "at δ = 1e-06, of which ε = 0.5 is reserved for pure noise and δ = 1e-07 is reserved for keys found in"
    assert code == 0 and told in out and "--pure-epsilon" not in out
    assert "--pure-epsilon allows them" in " ".join(run(capsys, "ledger", "init", "plain", *whole)[1].split())
    code, out, _ = run(capsys, "ledger", "add", "l", "--epsilon", "0.125", "--note", "theirs")
    assert code == 0 and "charged as pure ε = 0.125\n" in out
    gm.Ledger("l").reserve("noise", "h", Guarantee(epsilon=1, delta=1e-6))
    code, out, _ = run(capsys, "ledger", "show", "l", "--chart", "spending.svg")
    assert "pure ε" in out and "the ε of pure noise adds up by itself" in out
    assert "ε = 0.375 for pure noise" in out and "25 %" in out
    found = json.loads(run(capsys, "ledger", "show", "l", "--json")[1])
    assert (found["pure_epsilon"], found["pure_left"]) == (0.5, 0.375)
    assert [row["of_pure"] for row in found["releases"]] == [True, False]
    assert json.loads(run(capsys, "ledger", "verify", "l", "--json")[1])["pure_left"] == 0.375
    code, _, err = run(capsys, "ledger", "add", "l", "--epsilon", "0.5")
    assert code == 3 and "at most epsilon=0.375 fits; or state --mu 0.62" in err
    assert run(capsys, "ledger", "show", "l", "--pure-epsilon", "1")[0] == 2
    assert run(capsys, "ledger", "init", "m", "--mu", "1", "--pure-epsilon", "1")[0] == 2
    assert "for pure noise" in gm.Ledger("l")._repr_html_()
