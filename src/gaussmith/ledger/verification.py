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
from gaussmith.ledger.chain import LedgerEntry, Receipt, broken, check_links, digest, number_of, periods_of
from gaussmith.ledger.pages import Pages
from gaussmith.ledger.protection import Protection, Unit, find_protection, read_unit
from gaussmith.ledger.units import (
    NO_UNITS,
    Units,
    budget_square,
    budget_units,
    check_keys_delta,
    check_mu,
    is_charge_of,
    is_part_of,
    pure_budget_units,
    square_units,
    taken_pure_units,
    units_of,
)
from gaussmith.privacy.composition import Charge


@dataclass(frozen=True)
class Verification:
    """The summary of a verified ledger.

    `unit` holds the columns that identify the person, empty if each row is one person, and is None if not set.
    `keys_spent` and `keys_budget` are units of κ, `pure_spent` and `pure_budget` of pure ε. `periods` counts what was
    stored for the periods of series. `software` counts the charges made by each version of Gaussmith.
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
    pure_spent: int
    pure_budget: int
    periods: int


def verify_pages(pages: Pages, expected: Iterable[str], records: Iterable[bytes]) -> Verification:
    """Recompute every hash, charge, total, stored release and head of a ledger, and return a summary."""
    entries, where = list(pages.entries()), pages.where
    check_links(entries, where)
    with_charge, stored, periods = _check_accounts(entries, where)
    first, last = json.loads(entries[0].body), entries[-1]
    _check_receipt(entries, pages.head(), where, "its head")
    if pages.head() != last.receipt:
        what = f"its head is entry {pages.head().seq}, and more entries follow it"
        raise broken(where, what, code="ledger-entries-behind-head", entry=pages.head().seq)
    if pages.pinned is not None:
        _check_receipt(entries, pages.pinned, where, "its head")
    _check_results(pages, [*stored.values(), *periods], where)
    for text in expected:
        _check_expected(entries, text, where)
    known = {entry.payload_hash for entry in (*stored.values(), *periods)}
    for number, record in enumerate(records, start=1):
        if digest(record) not in known:
            what = f"record {number} was not stored in it: the ledger was rolled back, or the record is from elsewhere"
            raise broken(where, what, code="record-not-in-ledger", record=number)
    return Verification(
        head=last.receipt,
        entries=len(entries),
        releases=len(stored),
        pending=tuple(name for name in with_charge if name not in {*stored, *(entry.parent for entry in periods)}),
        spent=last.spent,
        budget=int(first["budget"]),
        keys_spent=last.keys_spent,
        keys_budget=int(first["keys_budget"]),
        unit=find_protection(lambda _: entries, where).unit,
        software=dict(Counter(entry.software for entry in with_charge.values())),
        pure_spent=last.pure_spent,
        pure_budget=int(first.get("pure_budget", 0)),
        periods=len(periods),
    )


class _Accounts:
    """The accounts of a ledger, followed from its first entry on: what is due by each, and what may follow it."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.reserved: dict[str, LedgerEntry] = {}
        self.stored: dict[str, LedgerEntry] = {}
        self.periods: dict[tuple[str, str], LedgerEntry] = {}
        self.closed: Counter[str] = Counter()
        self.budget = self.spent = NO_UNITS
        self.told = Protection()

    def follow(self, entry: LedgerEntry) -> None:
        """Take one more entry into account; refuses one that does not fit, or whose body cannot be read."""
        try:
            self._follow(entry, json.loads(entry.body))
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            if isinstance(error, LedgerError):
                raise
            what = f"entry {entry.seq} has a body that cannot be read"
            raise broken(self.where, what, code="ledger-entry-not-readable", entry=entry.seq) from None

    def _follow(self, entry: LedgerEntry, body: dict[str, Any]) -> None:
        due, where = self._due(entry, body), self.where
        self.spent = Units(*(one + two for one, two in zip(self.spent, due, strict=True)))
        if (entry.charge, entry.keys_charge, entry.pure_charge) != due:
            what = f"entry {entry.seq} charges an amount that does not match its guarantee"
            raise broken(where, what, code="ledger-charge-wrong", entry=entry.seq)
        if (entry.spent, entry.keys_spent, entry.pure_spent) != self.spent:
            raise broken(where, f"entry {entry.seq} has a wrong total", code="ledger-total-wrong", entry=entry.seq)
        if not self.spent.fits(self.budget):
            raise broken(where, f"entry {entry.seq} exceeds the budget", code="ledger-overdrawn", entry=entry.seq)
        if bool(entry.parent) != (entry.kind == "period"):
            what = f"entry {entry.seq} belongs to a series and is no period of it, or the other way round"
            raise broken(where, what, code="ledger-period-without-series", entry=entry.seq)
        if entry.kind == "reserve":
            if entry.release_id in self.reserved:
                what = f"id={entry.release_id!r} is charged twice"
                raise broken(where, what, code="ledger-id-charged-twice", id=entry.release_id)
            self.reserved[entry.release_id] = entry
        elif entry.kind in ("store", "period"):
            self._keep(entry)

    def _due(self, entry: LedgerEntry, body: dict[str, Any]) -> Units:
        """What the body of an entry says that it charges."""
        if entry.kind in ("create", "reserve"):
            self.told = _follow_protection(self.told, body, entry, self.where)
        if entry.kind == "create":
            self.budget = _budget(body, entry, self.where)
        elif entry.kind == "reserve":
            return _charged(body, entry, self.where)
        elif entry.kind == "store" and ("taken" in body or "taken_pure" in body):
            return _given_back(body, self.reserved.get(entry.release_id), entry, self.where)
        return NO_UNITS

    def _keep(self, entry: LedgerEntry) -> None:
        """Take in what was stored: once for each release, and once for each period of a series."""
        origin = self.reserved.get(entry.parent or entry.release_id)
        key = (entry.parent, entry.release_id)
        again = key in self.periods if entry.parent else entry.release_id in self.stored
        if origin is None or origin.request_hash != entry.request_hash or again:
            what = f"entry {entry.seq} stores a release that was not charged, or was already stored"
            raise broken(self.where, what, code="ledger-stores-uncharged", entry=entry.seq)
        if bool(periods_of(origin)) != bool(entry.parent):
            what = f"entry {entry.seq} stores a series at once, or a period of what is none"
            raise broken(self.where, what, code="ledger-period-without-series", entry=entry.seq)
        if entry.parent:
            if not self.closed[entry.parent] < number_of(entry) <= periods_of(origin):
                what = f"entry {entry.seq} stores a period that was closed"
                raise broken(self.where, what, code="ledger-period-closed", entry=entry.seq)
            self.periods[key], self.closed[entry.parent] = entry, number_of(entry)
        else:
            self.stored[entry.release_id] = entry


def _check_accounts(
    entries: list[LedgerEntry], where: str
) -> tuple[dict[str, LedgerEntry], dict[str, LedgerEntry], list[LedgerEntry]]:
    """The entries that charge a release, those that store one, and those that store a period of a series."""
    accounts = _Accounts(where)
    for entry in entries:
        accounts.follow(entry)
    return accounts.reserved, accounts.stored, list(accounts.periods.values())


def _budget(body: dict[str, Any], entry: LedgerEntry, where: str) -> Units:
    """The three caps of a ledger, which must follow from its guarantee and the parts that were set aside."""
    from gaussmith.privacy.guarantee import Guarantee

    square, keys = Fraction(body["square"]), check_keys_delta(Fraction(body["keys_delta"]))
    pure = Fraction(body.get("pure_epsilon", 0))
    budget = Units(budget_units(square), budget_units(keys), pure_budget_units(pure))
    guarantee = Guarantee.from_dict(body["guarantee"])
    if not is_part_of(pure, guarantee):
        what = "its part for pure noise does not match its guarantee"
        raise broken(where, what, code="ledger-pure-budget-changed")
    _check_close(square, budget_square(guarantee, keys, pure), entry, where)
    if str(budget.square) != body["budget"]:
        raise broken(where, "its budget does not match its guarantee", code="ledger-budget-changed")
    if str(budget.keys) != body["keys_budget"]:
        what = "its budget for found keys does not match the part reserved for them"
        raise broken(where, what, code="ledger-keys-budget-changed")
    if str(budget.pure) != body.get("pure_budget", "0"):
        what = "its budget for pure noise does not match the part set aside for it"
        raise broken(where, what, code="ledger-pure-budget-changed")
    return budget


def _charged(body: dict[str, Any], entry: LedgerEntry, where: str) -> Units:
    """What a release charges by its guarantee, or by the parts of its charge."""
    from gaussmith.privacy.guarantee import Guarantee

    kappa, guarantee = check_keys_delta(Fraction(body["keys_delta"])), Guarantee.from_dict(body["guarantee"])
    if "mu" in body:
        square = Fraction(check_mu(body["mu"])) ** 2
        _check_close(square, guarantee.charge(), entry, where)
        return units_of(Charge(mu_squared=square, kappa=kappa))
    charge = Charge(Fraction(body["pure"]), Fraction(body["mu_squared"]), kappa)
    if not is_charge_of(charge, guarantee):
        what = f"entry {entry.seq} records a charge that does not match its guarantee"
        raise broken(where, what, code="ledger-charge-of-another-guarantee", entry=entry.seq)
    return units_of(charge)


def _given_back(body: dict[str, Any], reserved: LedgerEntry | None, entry: LedgerEntry, where: str) -> Units:
    """What a release in stages that ended early gives back of its charge: 0 or less, and never more than it."""
    square = pure = 0
    if reserved is not None and "taken" in body:
        square = square_units(Fraction(body["taken"])) - reserved.charge
    if reserved is not None and "taken_pure" in body:
        pure = taken_pure_units(Fraction(body["taken_pure"])) - reserved.pure_charge
    if reserved is None or square > 0 or pure > 0:
        what = f"entry {entry.seq} gives back more than was charged"
        raise broken(where, what, code="ledger-gives-back-too-much", entry=entry.seq)
    return Units(square, 0, pure)


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


def _check_results(pages: Pages, stored: list[LedgerEntry], where: str) -> None:
    for entry in stored:
        pages.bytes_of(entry)
    for _, release_id in sorted(pages.stored_ids() - {(entry.parent, entry.release_id) for entry in stored}):
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
