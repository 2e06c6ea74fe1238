"""Units of a ledger: what is charged is never too little, and what another tool promises is read on the safe side."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.ledger import units
from gaussmith.ledger.book import standing_of
from gaussmith.ledger.chain import follow
from gaussmith.ledger.protection import add_release, larger_reading
from gaussmith.ledger.units import UNIT_BITS, budget_square, charge_units, keys_units, largest_mu, square_units
from gaussmith.privacy.guarantee import Guarantee


def test_squares_are_rounded_up_to_whole_units() -> None:
    unit = Fraction(1, 1 << UNIT_BITS)
    assert [square_units(each * unit) for each in (Fraction(1, 2), Fraction(1), Fraction(3, 2))] == [1, 1, 2]
    assert square_units(Fraction(1, 4)) == charge_units(0.5) == 1 << UNIT_BITS - 2
    for wrong in (Fraction(0), Fraction(-1), 0.5):
        with refused("taken-not-positive"):
            square_units(wrong)  # type: ignore[arg-type]


def test_a_single_unit_has_a_mu_and_none_has_not() -> None:
    assert largest_mu(0) == largest_mu(-1) == 0
    assert largest_mu(1) == 2.0 ** -(UNIT_BITS // 2)


def test_no_keys_cost_nothing() -> None:
    assert keys_units(units.NO_KEYS) == 0
    assert budget_square(Guarantee(epsilon=1, delta=1e-6), units.NO_KEYS) == Guarantee(epsilon=1, delta=1e-6).charge()


def test_charges_for_keys_add_up_over_entries() -> None:
    first = follow(None, "create", {}, keys_charge=3, charge=5)
    last = follow(follow(first, "reserve", {}, keys_charge=4, charge=7), "reserve", {}, keys_charge=1)
    assert (last.seq, last.keys_spent, last.spent) == (2, 8, 12)


def test_numbers_of_other_tools_are_read_on_the_safe_side() -> None:
    assert larger_reading(0.1) == Fraction(0.1) > Fraction(1, 10)
    assert larger_reading(0.3) == Fraction(3, 10) > Fraction(0.3)


@pytest.fixture
def ledger(tmp_path: Path) -> gm.Ledger:
    return gm.Ledger.create(tmp_path / "a.ledger", Guarantee(epsilon=3, delta=1e-6), dataset="d", keys_delta=1e-7)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"epsilon": 0}, "other-epsilon-out-of-range"),
        ({"epsilon": 100.5}, "other-epsilon-out-of-range"),
        ({"epsilon": 1, "delta": 1}, "other-delta-out-of-range"),
        ({"epsilon": 1, "delta": -1e-9}, "other-delta-out-of-range"),
        ({"mu": 1, "delta": 1e-9}, "other-delta-out-of-range"),
        ({"mu": 0.1, "note": "a" * 1001}, "other-note-unusable"),
        ({"mu": 0.1, "note": "a\x00"}, "other-note-unusable"),
    ],
)
def test_what_no_tool_can_promise_is_refused(ledger: gm.Ledger, asked: dict[str, object], code: str) -> None:
    with refused(code):
        add_release(ledger, **asked)  # type: ignore[arg-type]
    assert ledger.spent == ledger.keys_spent == 0


def test_a_standing_tells_what_was_charged_up_to_an_entry(ledger: gm.Ledger) -> None:
    first = add_release(ledger, mu=0.25, id="a", note="b" * 1000)
    second = add_release(ledger, epsilon=0.1, delta=5e-8, id="b")
    told = standing_of(ledger, first.receipt)
    assert (told["releases"], told["mu"], told["keys_delta"]) == (1, 0.25, 0.0)
    last = standing_of(ledger, list(ledger.entries())[-1].receipt)
    assert standing_of(ledger, second.receipt) == last
    assert last["releases"] == 2 and 5e-8 <= last["keys_delta"] < 5.001e-8 and last["mu"] > 0.25
    expected = Guarantee(mu=last["mu"]).epsilon_at(delta=1e-6 - 5e-8)
    assert last["epsilon"] == pytest.approx(expected, rel=1e-9) and expected > told["epsilon"]
