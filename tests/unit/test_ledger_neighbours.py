"""One ledger adds up one kind of promise: μ under add-remove and μ under replace-one are not the same thing."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refused

import gaussmith as gm

BOX = gm.Box([0], [1])
SPEND = gm.Guarantee(mu=0.1)
ROWS = [[0.5], [0.25]]


def test_a_ledger_keeps_to_the_neighbours_of_its_first_charge(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1))
    gm.plan(BOX, SPEND).release(ROWS, ledger=ledger)
    spent = ledger.spent
    with refused("ledger-of-other-neighbours", neighbours="replace-one", kept="add-remove"):
        gm.plan(BOX, SPEND, neighbours="replace-one").release(ROWS, ledger=ledger)
    assert ledger.spent == spent
    gm.plan(BOX, SPEND).release(ROWS, ledger=ledger)
    assert ledger.verify().releases == 2


def test_charges_that_say_no_neighbours_do_not_let_both_kinds_in(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1))
    ledger.reserve("a", "request", SPEND)  # says nothing of neighbours: a charge by hand
    gm.plan(BOX, SPEND).release(ROWS, ledger=ledger)
    with refused("ledger-of-other-neighbours", neighbours="replace-one", kept="add-remove"):
        gm.plan(BOX, SPEND, neighbours="replace-one").release(ROWS, ledger=ledger)
    ledger.reserve("b", "request", SPEND)
    assert ledger.verify().releases == 1


def test_a_ledger_of_mixed_neighbours_fails_verification(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1))
    monkeypatch.setattr("gaussmith.ledger.book.check_protection", lambda *_: None)  # as a faulty version would
    ledger.reserve("b", "request", SPEND, neighbours="add-remove")
    ledger.reserve("c", "request", SPEND, neighbours="replace-one")
    with refused("ledger-neighbours-differ"):
        ledger.verify()


def test_neighbours_that_the_newest_charge_says_first_are_kept(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1))
    for name in "ab":
        ledger.reserve(name, "request", SPEND)  # says nothing
    ledger.reserve("c", "request", SPEND, neighbours="add-remove")
    with refused("ledger-of-other-neighbours", neighbours="replace-one", kept="add-remove"):
        ledger.reserve("d", "request", SPEND, neighbours="replace-one")
    ledger.reserve("e", "request", SPEND, neighbours="add-remove")
    assert ledger.spent == 4 * ledger.reserve("a", "request", SPEND).charge
