"""Verification of a whole ledger by recomputing it: `gaussmith ledger verify`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gaussmith.errors import LedgerError
from gaussmith.ledger.chain import LedgerEntry, Receipt, broken, check_links, digest
from gaussmith.ledger.pages import Pages
from gaussmith.ledger.protection import Protection, Unit, find_protection, read_unit
from gaussmith.ledger.units import budget_square, budget_units, charge_units, check_keys_delta, keys_units, square_units


@dataclass(frozen=True)
class Verification:
    """The summary of a verified ledger.

    `unit` holds the columns that identify the person, empty if each row is one person, and is None if not set.
    `keys_spent` and `keys_budget` are units of κ. `software` counts the charges made by each version of Gaussmith.
    """

    head: Receipt
    entries: int
    releases: int
    pending: tuple[str, ...]
    spent: int
    budget: int
    keys_spent: int
    keys_budget: int
    unit: Unit | None
    software: dict[str, int]


def verify_pages(pages: Pages, expected: Iterable[str], records: Iterable[bytes]) -> Verification:
    """Recompute every hash, charge, total, stored release and head of a ledger, and return a summary."""
    entries, where = list(pages.entries()), pages.where
    check_links(entries, where)
    with_charge, stored = _check_accounts(entries, where)
    first, last = json.loads(entries[0].body), entries[-1]
    _check_receipt(entries, pages.head(), where, "its head")
    if pages.head() != last.receipt:
        what = f"its head is entry {pages.head().seq}, and more entries follow it"
        raise broken(where, what, code="ledger-entries-behind-head", entry=pages.head().seq)
    if pages.pinned is not None:
        _check_receipt(entries, pages.pinned, where, "its head")
    _check_results(pages, stored, where)
    for text in expected:
        _check_expected(entries, text, where)
    known = {entry.payload_hash for entry in stored.values()}
    for number, record in enumerate(records, start=1):
        if digest(record) not in known:
            what = f"record {number} was not stored in it: the ledger was rolled back, or the record is from elsewhere"
            raise broken(where, what, code="record-not-in-ledger", record=number)
    return Verification(
        head=last.receipt,
        entries=len(entries),
        releases=len(stored),
        pending=tuple(release_id for release_id in with_charge if release_id not in stored),
        spent=last.spent,
        budget=int(first["budget"]),
        keys_spent=last.keys_spent,
        keys_budget=int(first["keys_budget"]),
        unit=find_protection(lambda _: entries, where).unit,
        software=dict(Counter(entry.software for entry in with_charge.values())),
    )


def _check_accounts(entries: list[LedgerEntry], where: str) -> tuple[dict[str, LedgerEntry], dict[str, LedgerEntry]]:
    from gaussmith.privacy.guarantee import Guarantee

    reserved: dict[str, LedgerEntry] = {}
    stored: dict[str, LedgerEntry] = {}
    budget = keys_budget = spent = keys_spent = 0
    told = Protection()
    for entry in entries:
        due = keys_due = 0
        try:
            body = json.loads(entry.body)
            if entry.kind == "create":
                square, keys = Fraction(body["square"]), check_keys_delta(Fraction(body["keys_delta"]))
                budget, keys_budget = budget_units(square), budget_units(keys)
                _check_close(square, budget_square(Guarantee.from_dict(body["guarantee"]), keys), entry, where)
                if str(budget) != body["budget"]:
                    raise broken(where, "its budget does not match its guarantee", code="ledger-budget-changed")
                if str(keys_budget) != body["keys_budget"]:
                    what = "its budget for found keys does not match the part reserved for them"
                    raise broken(where, what, code="ledger-keys-budget-changed")
            elif entry.kind == "reserve":
                due, keys_due = charge_units(body["mu"]), keys_units(check_keys_delta(Fraction(body["keys_delta"])))
                _check_close(Fraction(body["mu"]) ** 2, Guarantee.from_dict(body["guarantee"]).charge(), entry, where)
            elif "taken" in body:
                due = _given_back(body, reserved.get(entry.release_id), entry, where)
            if entry.kind != "store":
                told = _follow_protection(told, body, entry, where)
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            if isinstance(error, LedgerError):
                raise
            what = f"entry {entry.seq} has a body that cannot be read"
            raise broken(where, what, code="ledger-entry-not-readable", entry=entry.seq) from None
        spent, keys_spent = spent + due, keys_spent + keys_due
        if (entry.charge, entry.keys_charge) != (due, keys_due):
            what = f"entry {entry.seq} charges an amount that does not match its guarantee"
            raise broken(where, what, code="ledger-charge-wrong", entry=entry.seq)
        if (entry.spent, entry.keys_spent) != (spent, keys_spent):
            raise broken(where, f"entry {entry.seq} has a wrong total", code="ledger-total-wrong", entry=entry.seq)
        if spent > budget or keys_spent > keys_budget:
            raise broken(where, f"entry {entry.seq} exceeds the budget", code="ledger-overdrawn", entry=entry.seq)
        if entry.kind == "reserve":
            if entry.release_id in reserved:
                what = f"id={entry.release_id!r} is charged twice"
                raise broken(where, what, code="ledger-id-charged-twice", id=entry.release_id)
            reserved[entry.release_id] = entry
        elif entry.kind == "store":
            origin = reserved.get(entry.release_id)
            if origin is None or origin.request_hash != entry.request_hash or entry.release_id in stored:
                what = f"entry {entry.seq} stores a release that was not charged, or was already stored"
                raise broken(where, what, code="ledger-stores-uncharged", entry=entry.seq)
            stored[entry.release_id] = entry
    return reserved, stored


def _given_back(body: dict[str, Any], reserved: LedgerEntry | None, entry: LedgerEntry, where: str) -> int:
    """What a release in stages that ended early gives back of its charge: 0 or less, and never more than it."""
    due = square_units(Fraction(body["taken"])) - (0 if reserved is None else reserved.charge)
    if reserved is None or due > 0:
        what = f"entry {entry.seq} gives back more than was charged"
        raise broken(where, what, code="ledger-gives-back-too-much", entry=entry.seq)
    return due


def _follow_protection(told: Protection, body: dict[str, Any], entry: LedgerEntry, where: str) -> Protection:
    """The protection stated up to this entry, which may state nothing or the same."""
    neighbours = body.get("neighbours")
    try:
        unit = read_unit(body.get("unit"))
    except LedgerError:
        raise broken(
            where, f"entry {entry.seq} has a unit that cannot be read", code="ledger-unit-not-readable", entry=entry.seq
        ) from None
    if neighbours is not None and told.neighbours not in (None, neighbours):
        what = f"entry {entry.seq} has different neighbours from the entries before it"
        raise broken(where, what, code="ledger-neighbours-differ", entry=entry.seq)
    if unit is not None and told.unit not in (None, unit):
        what = f"entry {entry.seq} has a different unit from the entries before it"
        raise broken(where, what, code="ledger-units-differ", entry=entry.seq)
    return Protection(told.neighbours if neighbours is None else neighbours, told.unit if unit is None else unit)


def _check_close(recorded: Fraction, square: Fraction, entry: LedgerEntry, where: str) -> None:
    # Not to the last bit: the version that wrote it may have computed μ for (ε, δ) a little less tightly, or more.
    if abs(recorded - square) > square / 10**9:
        what = f"entry {entry.seq} records a μ that does not match its guarantee"
        raise broken(where, what, code="ledger-mu-wrong", entry=entry.seq)


def _check_results(pages: Pages, stored: dict[str, LedgerEntry], where: str) -> None:
    for release_id, entry in stored.items():
        payload = pages.payload(release_id)
        if payload is None or digest(payload) != entry.payload_hash:
            what = f"the stored release id={release_id!r} is missing or was changed"
            raise broken(where, what, code="stored-release-changed", id=release_id)
    for release_id in sorted(pages.stored_ids() - set(stored)):
        what = f"the stored release id={release_id!r} is not in the chain"
        raise broken(where, what, code="stored-release-not-in-chain", id=release_id)


def _check_expected(entries: list[LedgerEntry], text: str, where: str) -> None:
    if re.fullmatch(r"[0-9a-f]{64}", text.strip()):
        if all(entry.hash != text.strip() for entry in entries):
            what = f"it does not contain the expected head {text.strip()[:12]}…: it was rolled back or replaced"
            raise broken(where, what, code="expected-head-not-in-ledger")
    else:
        _check_receipt(entries, Receipt.read(text), where, "the expected head")


def _check_receipt(entries: list[LedgerEntry], receipt: Receipt, where: str, name: str) -> None:
    if receipt.seq >= len(entries):
        what = f"{name} is entry {receipt.seq}, its last is entry {len(entries) - 1}: it was truncated or rolled back"
        raise broken(where, what, code="ledger-rolled-back", entry=receipt.seq, last=len(entries) - 1)
    if entries[receipt.seq].receipt != receipt:
        what = f"entry {receipt.seq} is not the one {name} names: the history was rewritten"
        raise broken(where, what, code="ledger-history-rewritten", entry=receipt.seq)
