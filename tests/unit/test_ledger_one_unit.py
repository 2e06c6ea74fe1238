"""One ledger adds up promises to the same people: a row, a person and a household are not the same unit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.errors import LedgerError
from gaussmith.ledger.protection import EACH_ROW, Protection, check_protection
from gaussmith.report.page import page

SPEND = gm.Guarantee(mu=0.1)
ROWS = [[0.5], [0.25]]
VISITS = pl.DataFrame({"person": [1, 1, 2], "house": [1, 1, 1], "item": ["a", "b", "a"], "spent": [1.0, 2.0, 3.0]})


@pytest.fixture
def ledger(tmp_path: Path) -> gm.Ledger:
    return gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1))


def ask(unit: str | None, **more: Any) -> gm.Request:
    return gm.Request(VISITS, sums={"spent": (0, 5)}, unit=unit, guarantee=SPEND, **more)


def release_rows(ledger: gm.Ledger) -> None:
    gm.plan(gm.Box([0], [1]), SPEND).release(ROWS, ledger=ledger)


@pytest.mark.parametrize(
    ("first", "others"), [("person", ("house", None)), ("house", ("person", None)), (None, ("person", "house"))]
)
def test_a_ledger_keeps_to_the_unit_of_its_first_charge(
    ledger: gm.Ledger, first: str | None, others: tuple[str | None, ...]
) -> None:
    assert ledger.unit is None
    gm.release(ask(first), ledger=ledger, id="a")
    assert ledger.unit == (EACH_ROW if first is None else (first,))
    entries = ledger.entries()
    for other in others:
        with refused("ledger-of-another-unit"):
            gm.release(ask(other), ledger=ledger, id="b")
    assert ledger.entries() == entries
    assert ledger.result("b") is None
    gm.release(ask(first, count=True), ledger=ledger, id="b")
    assert (ledger.verify().releases, ledger.verify().unit) == (2, ledger.unit)


def test_the_refusal_says_who_is_one_person_here_and_what_to_do(ledger: gm.Ledger, tmp_path: Path) -> None:
    gm.release(ask("person"), ledger=ledger)
    with pytest.raises(LedgerError) as error:
        gm.release(ask(None), ledger=ledger)
    assert str(error.value) == (
        f"unit=each row is charged to ledger={ledger.where}, whose unit is 'person' · "
        "guarantees add up only if they protect the same people; in this ledger all rows with the same person are "
        "one person · ask with unit='person', or charge another ledger"
    )
    assert error.value.exit_code == 2
    rows = gm.Ledger.create(tmp_path / "rows", gm.Guarantee(mu=1), unit=EACH_ROW)
    with pytest.raises(LedgerError) as error:
        gm.release(ask("person"), ledger=rows)
    assert str(error.value) == (
        f"unit='person' is charged to ledger={rows.where}, whose unit is each row · "
        "guarantees add up only if they protect the same people; in this ledger each row is one person · "
        "ask without a unit, or charge another ledger"
    )


def test_no_data_is_read_for_a_refused_unit(ledger: gm.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    release_rows(ledger)

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("data was read")

    monkeypatch.setattr("gaussmith.mechanism.total_all", opened)
    with refused("ledger-of-another-unit", kept="each row"):
        gm.release(ask("person"), ledger=ledger)


def test_arrays_groups_and_pairs_have_the_unit_they_are_read_by(ledger: gm.Ledger, tmp_path: Path) -> None:
    release_rows(ledger)
    grouped = gm.plan(gm.Groups({"house": [1, 2]}, gm.Box([0], [5], names=["spent"])), SPEND)
    grouped.release(VISITS, ledger=ledger)
    assert ledger.unit == EACH_ROW
    pairs = gm.plan(gm.Counts(["a", "b"], at_most=2), SPEND)
    with refused("ledger-of-another-unit", unit="'person'", kept="each row"):
        pairs.release(VISITS, columns=["person", "item"], ledger=ledger, form="pairs")
    people = gm.Ledger.create(tmp_path / "people", gm.Guarantee(mu=1))
    pairs.release(VISITS, columns=["person", "item"], ledger=people, form="pairs")
    assert people.unit == ("person",)
    gm.release(ask("person"), ledger=people)
    with refused("ledger-of-another-unit", unit="each row"):
        release_rows(people)


def test_several_questions_are_charged_under_the_unit_of_the_request(ledger: gm.Ledger) -> None:
    questions = [{"name": "n", "count": True}, {"name": "s", "sums": {"spent": (0, 5)}, "where": "spent > 1"}]
    gm.release(gm.Request(VISITS, unit="person", guarantee=SPEND, questions=questions), ledger=ledger)
    assert ledger.unit == ("person",)


def test_a_ledger_is_told_its_unit_when_it_is_made(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1), unit="person")
    assert ledger.unit == ledger.verify().unit == ("person",)
    for other in (ask("house"), ask(None)):
        with refused("ledger-of-another-unit", kept="'person'"):
            gm.release(other, ledger=ledger)
    assert ledger.spent == 0
    gm.release(ask("person"), ledger=ledger)
    assert gm.Ledger(ledger.where).unit == ("person",)


def test_several_columns_are_one_unit_in_any_order(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1), unit=["person", "house"])
    assert ledger.unit == ("house", "person")
    assert ledger.reserve("a", "h", SPEND, unit=("house", "person")).state == "new"
    for other in ("person", "house", EACH_ROW, "house, person"):
        with refused("ledger-of-another-unit", kept="['house', 'person']"):
            ledger.reserve("b", "h", SPEND, unit=other)


@pytest.mark.parametrize("unit", ["", [""], ["a", None], 7, {"person"}, True])
def test_what_is_no_unit_is_refused(ledger: gm.Ledger, tmp_path: Path, unit: Any) -> None:
    for attempt in (
        lambda: ledger.reserve("a", "h", SPEND, unit=unit),
        lambda: gm.Ledger.create(tmp_path / "other", gm.Guarantee(mu=1), unit=unit),
    ):
        with refused("ledger-unit-unusable"):
            attempt()
    assert (ledger.spent, (tmp_path / "other").exists()) == (0, False)


@pytest.mark.parametrize("unit", [" person\n", "\ud800", "each row"])
def test_odd_column_names_are_kept_as_they_are(ledger: gm.Ledger, unit: str) -> None:
    ledger.reserve("a", "h", SPEND, unit=unit)
    assert ledger.unit == ledger.verify().unit == (unit,)
    with refused("ledger-of-another-unit", unit="each row"):
        ledger.reserve("b", "h", SPEND, unit=EACH_ROW)


def test_charges_that_say_no_unit_do_not_let_two_in(ledger: gm.Ledger) -> None:
    ledger.reserve("by hand", "request", SPEND)
    gm.release(ask("person"), ledger=ledger)
    ledger.reserve("by hand too", "request", SPEND)
    with refused("ledger-of-another-unit", kept="'person'"):
        gm.release(ask(None), ledger=ledger)
    assert ledger.verify().unit == ("person",)


def test_a_done_release_is_given_back_whatever_came_first(ledger: gm.Ledger) -> None:
    first = gm.release(ask("person"), ledger=ledger, id="a")
    assert gm.release(ask("person"), ledger=ledger, id="a").to_json() == first.to_json()
    with refused("id-of-another-request", id="a"):
        gm.release(ask("house"), ledger=ledger, id="a")


def test_a_ledger_of_mixed_units_fails_verification(ledger: gm.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gaussmith.ledger.book.check_protection", lambda *_: None)  # as a faulty version would
    ledger.reserve("b", "request", SPEND, unit="person")
    ledger.reserve("c", "request", SPEND, unit=EACH_ROW)
    with refused("ledger-units-differ", entry=2):
        ledger.verify()


def test_history_and_entries_tell_the_unit(ledger: gm.Ledger) -> None:
    ledger.reserve("by hand", "request", SPEND)
    gm.release(ask("person"), ledger=ledger)
    assert [row["unit"] for row in ledger.history()] == [None, ["person"]]
    assert json.loads(ledger.entries()[2].body)["unit"] == ["person"]


def test_neighbours_and_unit_are_checked_apart() -> None:
    told = Protection("add-remove", ("person",))
    for fits in (told, Protection(), Protection("add-remove"), Protection(None, ("person",))):
        check_protection(told, fits, "l")
        check_protection(fits, told, "l")
    with refused("ledger-of-other-neighbours", neighbours="replace-one"):
        check_protection(told, Protection("replace-one", ("person",)), "l")
    with refused("ledger-of-another-unit", unit="each row"):
        check_protection(Protection(None, ("person",)), Protection("add-remove", EACH_ROW), "l")


def test_the_report_tells_who_is_one_person() -> None:
    for unit, words in (("person", "a person is all rows with the same person"), (None, "each row is one person")):
        assert f"<li>{words}" in page(gm.release(ask(unit)))
    assert "<li>each row is one person</li>" in page(gm.plan(gm.Box([0], [1]), SPEND).release(ROWS))
    pairs = gm.plan(gm.Counts(["a", "b"], at_most=2), SPEND).release(VISITS, columns=["person", "item"], form="pairs")
    assert "in pairs of persons and items, a person is all rows with the same person" in page(pairs)
