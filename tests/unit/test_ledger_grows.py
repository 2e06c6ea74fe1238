"""A charge, and the record of its release, cost the same in a long ledger as in a short one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from growing import calls
from refusals import refused

import gaussmith as gm
from gaussmith.ledger.book import standing_of
from gaussmith.ledger.chain import digest, follow
from gaussmith.ledger.pages import Pages
from gaussmith.ledger.units import charge_units

MU = 2.0**-10
SPEND = gm.Guarantee(mu=MU)
STATED = {"neighbours": "add-remove", "unit": []}
PLAN = gm.plan(gm.Box([0], [1]), SPEND)


def filled(path: Path, releases: int, **stated: Any) -> gm.Ledger:
    """A ledger with so many releases, written in one transaction."""
    ledger = gm.Ledger.create(path, gm.Guarantee(mu=1))
    body = {"guarantee": SPEND.to_dict(), "mu": MU, "note": {}, "keys_delta": "0", **stated}
    with ledger._storage.writing("reserve") as pages:
        _, last = pages.ends()
        for i in range(releases):
            named = {"release_id": f"old {i}", "request_hash": "r"}
            last = follow(last, "reserve", body, **named, charge=charge_units(MU))
            pages.append(last)
            last = follow(last, "store", {}, **named, payload_hash=digest(b"kept"), time=last.time)
            pages.append(last, b"kept")
    return ledger


def read_by(ledger: gm.Ledger, id: str) -> tuple[int, int]:
    """The entries that one more release reads, and the calls that it makes."""
    with mock.patch.object(Pages, "_entry", autospec=True, side_effect=Pages._entry) as entry:
        PLAN.release([[0.5]], ledger=ledger, id=id)
    return entry.call_count, calls(lambda: PLAN.release([[0.5]], ledger=ledger, id=f"{id} again"))


@pytest.mark.parametrize("stated", [STATED, {}], ids=["stated at once", "stated late"])
def test_a_release_costs_the_same_in_a_long_ledger(tmp_path: Path, stated: dict[str, Any]) -> None:
    short, long = filled(tmp_path / "short", 10, **stated), filled(tmp_path / "long", 600, **stated)
    for ledger in (short, long):
        PLAN.release([[0.5]], ledger=ledger, id="first")
    (few, work), (many, more) = read_by(short, "a"), read_by(long, "a")
    assert few == many < 20
    assert more < 1.02 * work
    assert long.verify().releases == 603


def test_the_record_counts_what_was_charged_up_to_its_own_charge(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "l", 3)
    made = [ledger.reserve(f"new {i}", "r", SPEND) for i in range(3)]
    ledger.store("new 1", b"kept")
    for i, each in enumerate(made):
        entry, releases = ledger.up_to(each.receipt)
        assert (entry.release_id, releases) == (f"new {i}", 4 + i)
        assert entry.spent == (4 + i) * charge_units(MU)
        told = standing_of(ledger, each.receipt)
        assert told["releases"] == 4 + i
        assert told["mu"] == pytest.approx(MU * (4 + i) ** 0.5, rel=1e-12)
    assert [ledger.is_charged(id) for id in ("old 0", "new 2", "new 3")] == [True, True, False]


def test_a_note_that_names_unit_and_neighbours_states_neither(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "l", gm.Guarantee(mu=1))
    note = {"unit": "house", "neighbours": "replace-one", "text": '"unit":["house"]'}
    ledger.reserve("a", "r", SPEND, note=note)
    assert ledger.unit is None
    ledger.reserve("b", "r", SPEND, note=note, unit="person")
    ledger.reserve("c", "r", SPEND, neighbours="add-remove")
    assert ledger.unit == ("person",) == ledger.verify().unit
    with refused("ledger-of-another-unit"):
        ledger.reserve("d", "r", SPEND, unit="house")
    with refused("ledger-of-other-neighbours"):
        ledger.reserve("d", "r", SPEND, neighbours="replace-one")
