"""The rules of a ledger, independent of its storage.

The order of a release is reserve → open the data → add noise → store → return what is stored. A charge is on disk
before any data is read, and a value is only ever returned as the bytes stored under its release id. So a crash can
waste a charge but never lose one, a retry continues under the charge already made, and one id never shows two values.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, cast

from gaussmith.checks import checks_arguments
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import BudgetError, DataError, GuaranteeError, LedgerError
from gaussmith.ledger.chain import LedgerEntry, Receipt, check_seal, digest, follow
from gaussmith.ledger.pages import FORMAT, Pages, Storage, unreadable
from gaussmith.ledger.protection import Protection, Unit, check_protection, find_protection, read_unit
from gaussmith.ledger.units import (
    UNIT_BITS,
    budget_square,
    budget_units,
    charge_units,
    check_keys_delta,
    guarantee_of,
    keys_units,
    largest_mu,
    round_down,
    square_units,
)
from gaussmith.ledger.verification import Verification, verify_pages
from gaussmith.numerics.exact import fraction_down, fraction_up, smaller_reading, sqrt_upward

if TYPE_CHECKING:
    from gaussmith.privacy.guarantee import Guarantee


# The charges of a ledger as rows, for tables and charts.


def charge_rows(entries: Iterable[LedgerEntry], whole: Guarantee, budget: int) -> list[dict[str, Any]]:
    """One row per charge, oldest first, against the `budget` of a ledger for `whole`; ε is rounded up."""
    from gaussmith.privacy.guarantee import Guarantee

    entries = list(entries)
    done = {entry.release_id: entry.charge for entry in entries if entry.kind == "store"}  # 0, or what was given back
    delta = whole.delta

    @functools.cache
    def epsilon(mu: float) -> float | None:
        return None if delta is None else Guarantee(mu=mu).epsilon_at(delta=delta)

    rows = []
    for entry in entries:
        if entry.kind == "reserve":
            body = json.loads(entry.body)
            stated = body["guarantee"]
            rows.append(
                {
                    "time": entry.time,
                    "id": entry.release_id,
                    "state": _state(body, entry.release_id in done),
                    "mu": body["mu"],
                    "epsilon": stated["epsilon"] if stated.get("delta") == delta is not None else epsilon(body["mu"]),
                    "share": (entry.charge + done.get(entry.release_id, 0)) / budget,
                    "spent": entry.spent / budget,
                    "keys_delta": fraction_up(Fraction(body["keys_delta"])),
                    "unit": body.get("unit"),
                    "software": entry.software,
                    "receipt": str(entry.receipt),
                }
            )
    return rows


def _state(body: dict[str, Any], is_done: bool) -> str:
    if body.get("note", {}).get("made by") is not None:
        return "other tool"
    return "done" if is_done else "pending"


# How a ledger is printed; one that is spent says so in every form.

if TYPE_CHECKING:
    pass


class Printed:
    """The part of a ledger that prints it."""

    @property
    def is_spent(self) -> bool:
        """Whether no further release fits."""
        ledger = cast("Ledger", self)
        return ledger.remaining_guarantee is None or ledger.remaining_epsilon == 0

    def __repr__(self) -> str:
        ledger = cast("Ledger", self)
        try:
            left = "spent" if self.is_spent else f"{100 * ledger.remaining / ledger.budget:.3g} % left"
        except LedgerError:  # it was moved or is busy; what prints must not fail
            return f"Ledger({ledger.where!r})"
        return f"Ledger({ledger.where!r}, {left})"

    def _repr_html_(self) -> str:
        from gaussmith.ledger.printing import ledger_html

        return ledger_html(cast("Ledger", self))


# What is left in a ledger, as a privacy guarantee, and the errors for charges that do not fit.


@dataclass(frozen=True)
class Outlook:
    """What a release would take of the whole budget and what would be left; ε at the ledger's δ, None without one."""

    share: float
    left: float
    epsilon_before: float | None
    epsilon_after: float | None
    times: int
    """The number of such releases that would fit, including this one."""


def largest_epsilon(units: int, whole: Guarantee) -> float | None:
    """The largest ε of one release that fits in `units` at the δ of `whole`, rounded down; None without a δ."""
    from gaussmith.privacy.guarantee import Guarantee

    if whole.delta is None:
        return None
    if units >= charge_units(whole.mu):
        return whole.epsilon
    rest = guarantee_of(units)
    if rest is None:
        return 0.0
    # ε for a given μ is rounded up and μ for a given ε down: the answer is at, or just below, the first guess.
    guess, step = rest.epsilon_at(delta=whole.delta), 2.0**-52
    while guess > 0 and step < 1:
        with suppress(GuaranteeError):
            if charge_units(Guarantee(epsilon=guess, delta=whole.delta).mu) <= units:
                return guess
        guess, step = guess * (1 - step), step * 4
    return 0.0


def refuse_charge(guarantee: Guarantee, left: int, whole: Guarantee, where: str) -> BudgetError:
    """The error for a release that takes more μ² than is left."""
    mu, epsilon, delta = largest_mu(left), largest_epsilon(left, whole), whole.delta
    asked = f"mu={guarantee.mu:.6g}"
    if guarantee.epsilon is not None:
        asked = f"epsilon={guarantee.epsilon:g} at delta={guarantee.delta:g} ({asked})"
    fits = f"mu={round_down(mu):g}"
    if mu == 0:
        remedy = "no budget is left: no further release fits"
    elif epsilon is None:
        remedy = f"at most {fits} fits"
    elif epsilon > 0:
        remedy = f"at most epsilon={round_down(epsilon):g} at delta={delta:g} fits, which is {fits}"
    else:
        remedy = f"at most {fits} fits, which is no epsilon above 0 at delta={delta:g}"
    return BudgetError(
        f"the release asks for {asked}, more than is left in ledger={where}",
        "charges add up as μ² and never exceed the ledger's guarantee; nothing was charged",
        remedy,
        requested=guarantee,
        remaining=guarantee_of(left),
        epsilon=epsilon,
        mu=mu,
        code="budget-exceeded",
        ledger=where,
    )


def refuse_keys(keys_delta: Fraction, left: int, where: str) -> BudgetError:
    """The error for a release that takes more κ than is left."""
    rest = fraction_down(Fraction(left, 1 << UNIT_BITS))
    fits = (
        "no release that finds keys in the data fits, and none of another tool with a δ: declare the keys, or "
        "ask for a ledger that reserves a part of δ (keys_delta)"
    )
    if rest > 0:
        fits = f"at most keys_delta={round_down(rest):g} fits: state in the request how much it takes"
    return BudgetError(
        f"the release asks for keys_delta={float(keys_delta):.6g}, more than is left for it in ledger={where}",
        "spending on found keys and on the δ of other tools never exceeds the part reserved when the ledger was "
        "created; nothing was charged",
        fits,
        requested=keys_delta,
        remaining=rest,
        code="keys-budget-exceeded",
        ledger=where,
    )


@dataclass(frozen=True)
class Reservation:
    """A charge that is on disk.

    `state` is "new" (just charged), "pending" (charged earlier, nothing stored: it crashed, or is running elsewhere) or
    "done" (`payload` holds the stored bytes). New and pending may open the data; done may not and need not.
    `charge` is in units of μ², `keys_charge` in units of κ.
    """

    release_id: str
    state: Literal["new", "pending", "done"]
    charge: int
    receipt: Receipt
    payload: bytes | None = None
    keys_charge: int = 0


class Ledger(Printed):
    """A ledger that exists, in a file or at `postgresql://…/database?ledger=NAME`.

    `budget`, `spent` and `remaining` are whole units of μ² (2⁻²⁵⁶ each); `remaining_guarantee` and `remaining_epsilon`
    state the same as privacy guarantees, rounded down. `keys_budget` and `keys_spent` are units of κ, the δ for keys
    found in the data. `timeout` is how many seconds to wait for other processes.
    """

    @checks_arguments
    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 10.0) -> None:
        from gaussmith.privacy.guarantee import Guarantee

        self._storage = _storage(path, timeout)
        with self._storage.reading() as pages:
            first, _ = pages.ends()
        self._first = first.receipt
        self.where: str = self._storage.where
        try:
            body = json.loads(first.body)
            self.dataset: str | None = body["dataset"]
            self.guarantee: Guarantee = Guarantee.from_dict(body["guarantee"])
            self.budget: int = int(body["budget"])
            self.keys_delta: Fraction = Fraction(body["keys_delta"])
            self.keys_budget: int = int(body["keys_budget"])
        except (KeyError, TypeError, ValueError):
            raise unreadable(self.where) from None

    @classmethod
    @checks_arguments
    def create(
        cls,
        path: str | os.PathLike[str],
        guarantee: Guarantee,
        dataset: str | None = None,
        *,
        unit: str | Sequence[str] | None = None,
        keys_delta: float | Fraction = 0,
        timeout: float = 10.0,
    ) -> Ledger:
        """A new ledger that may spend at most `guarantee` in total; refused if one already exists.

            Σ μ_i² ≤ μ²,   Σ κ_i ≤ keys_delta

        `unit` names the column (or columns) of the person, () means that each row is one person; by default the first
        charge that states a unit sets it. `keys_delta` is reserved for keys found in the data.

        Guarantee: all releases charged to it together satisfy `guarantee`. Requires: every release about these people
        is charged to this ledger (owed). Rounding: the budgets down, every charge up.
        """
        dataset = None if dataset is None else without_secrets(_check_text("dataset", dataset))
        keys = check_keys_delta(keys_delta)
        square = budget_square(guarantee, keys)
        body: dict[str, Any] = {"format": FORMAT, "dataset": dataset, "unit": read_unit(unit)}
        # Also store what follows from the guarantee: a later version may compute μ for (ε, δ) more tightly.
        body |= {"guarantee": guarantee.to_dict(), "square": str(square), "budget": str(budget_units(square))}
        body |= {"keys_delta": str(keys), "keys_budget": str(budget_units(keys))}
        _storage(path, timeout).create(follow(None, "create", body))
        return cls(path, timeout=timeout)

    def _last(self, pages: Pages) -> LedgerEntry:
        """The newest entry; refuses a ledger that is no longer the one that was opened."""
        first, last = pages.ends()
        if first.receipt != self._first:
            what = f"ledger={self.where} was replaced by another since it was opened"
            rule = "a charge goes to the budget that was opened"
            raise LedgerError(what, rule, "open it again", code="ledger-replaced", ledger=self.where)
        return last

    @property
    def spent(self) -> int:
        """What was charged so far."""
        with self._storage.reading() as pages:
            return self._last(pages).spent

    @property
    def keys_spent(self) -> int:
        """What was charged so far for found keys."""
        with self._storage.reading() as pages:
            return self._last(pages).keys_spent

    @property
    def unit(self) -> Unit | None:
        """The columns that identify the person, empty if each row is one person; None if not set yet."""
        with self._storage.reading() as pages:
            self._last(pages)
            return find_protection(pages.naming, self.where).unit

    @property
    def remaining(self) -> int:
        """What may still be charged."""
        return self.budget - self.spent

    @property
    def remaining_guarantee(self) -> Guarantee | None:
        """The most that one more release may spend, rounded down; None if nothing is left."""
        return guarantee_of(self.remaining)

    @property
    def remaining_epsilon(self) -> float | None:
        """The largest ε of one more release at the ledger's δ, rounded down; None if the ledger states no δ."""
        return largest_epsilon(self.remaining, self.guarantee)

    @property
    def head(self) -> Receipt:
        """The receipt of the newest entry. Kept elsewhere, it can later show that nothing was rolled back."""
        with self._storage.reading() as pages:
            return self._last(pages).receipt

    def check_dataset(self, source: str) -> None:
        """Refuse a source that does not match the dataset of the ledger, if it has one."""
        path = PurePath(source)
        if self.dataset is not None and self.dataset not in (source, path.name, path.stem):
            raise LedgerError(
                f"source={source!r} is charged to ledger={self.where}, which is for dataset={self.dataset!r}",
                "a ledger adds up what is spent on one dataset",
                "use the ledger of that source; a name matches the path or its last part, with or without the suffix",
                code="ledger-of-another-dataset",
                source=source,
                ledger=self.where,
                dataset=self.dataset,
            )

    def check_protection(self, neighbours: str | None, unit: str | Sequence[str] | None) -> None:
        """Refuse neighbours or a unit other than those of the ledger."""
        with self._storage.reading() as pages:
            self._last(pages)
            kept = find_protection(pages.naming, self.where)
        check_protection(kept, Protection(neighbours, read_unit(unit)), self.where)

    @checks_arguments
    def reserve(
        self,
        release_id: str | None,
        request_hash: str,
        guarantee: Guarantee,
        *,
        plan_hash: str = "",
        neighbours: str | None = None,
        unit: str | Sequence[str] | None = None,
        keys_delta: float | Fraction = 0,
        note: Mapping[str, Any] | None = None,
    ) -> Reservation:
        """Charge one release; the charge is on disk on return, never too small, and never made twice for one id.

            spent + ⌈2²⁵⁶ μ²⌉ ≤ budget   and   keys_spent + ⌈2²⁵⁶ κ⌉ ≤ keys_budget,   or BudgetError

        Without an id a new one is made. A known id returns its earlier charge, whatever the budget; with another
        request or guarantee it is refused. `neighbours` or a `unit` other than those set first are refused too,
        because their μ do not add up; None states nothing about them. κ is `keys_delta`, the δ of
        keys found in the data. `note` is public: nothing in it may depend on data.

        Guarantee: over all processes and machines the ledger's guarantee is never exceeded. Requires: data is opened
        only after this returns (owed). Rounding: the charge up.
        """
        keys = check_keys_delta(keys_delta)
        charge, keys_charge = charge_units(guarantee.mu), keys_units(keys)
        if release_id is not None:
            _check_text("id", release_id)
        _check_text("request_hash", request_hash)
        asked = Protection(neighbours, read_unit(unit))
        body: dict[str, Any] = {"guarantee": guarantee.to_dict(), "mu": guarantee.mu, "note": dict(note or {})}
        body |= {"keys_delta": str(keys)}
        body |= {name: value for name, value in vars(asked).items() if value is not None}
        made: Reservation | None = None
        try:
            with self._storage.writing("reserve") as pages:
                last = self._last(pages)
                earlier = None if release_id is None else pages.find("reserve", release_id)
                if earlier is not None:
                    made = self._resume(pages, earlier, request_hash, guarantee, charge, keys_charge)
                elif charge <= self.budget - last.spent and keys_charge <= self.keys_budget - last.keys_spent:
                    check_protection(find_protection(pages.naming, self.where), asked, self.where)
                    name = release_id or _fresh_id(pages, last)
                    entry = follow(
                        last, "reserve", body,
                        release_id=name, request_hash=request_hash, plan_hash=plan_hash,
                        charge=charge, keys_charge=keys_charge,
                    )  # fmt: skip
                    pages.append(entry)
                    made = Reservation(name, "new", charge, entry.receipt, None, keys_charge)
        except LedgerError as error:
            if made is None:
                raise
            # The commit may or may not have arrived. The caller must learn a new id, to continue under this charge.
            what = f"{error.what}, while charging id={made.release_id!r}"
            fields = {**error.fields, "id": made.release_id}
            raise LedgerError(what, error.rule, error.remedy, code=error.code, **fields) from None
        if made is None:  # formatted only now: this takes time, and others wait for the lock
            if charge > self.budget - last.spent:
                raise refuse_charge(guarantee, self.budget - last.spent, self.guarantee, self.where)
            raise refuse_keys(keys, self.keys_budget - last.keys_spent, self.where)
        return made

    @checks_arguments
    def afford(self, guarantee: Guarantee, keys_delta: float | Fraction = 0) -> Outlook:
        """What would be left after one more release like this; BudgetError if it does not fit. Charges nothing."""
        charge, keys = charge_units(guarantee.mu), check_keys_delta(keys_delta)
        left, keys_left = self.remaining, self.keys_budget - self.keys_spent
        if charge > left:
            raise refuse_charge(guarantee, left, self.guarantee, self.where)
        if keys_units(keys) > keys_left:
            raise refuse_keys(keys, keys_left, self.where)
        return Outlook(
            charge / self.budget,
            (left - charge) / self.budget,
            largest_epsilon(left, self.guarantee),
            largest_epsilon(left - charge, self.guarantee),
            left // charge if not keys else min(left // charge, keys_left // keys_units(keys)),
        )

    @checks_arguments
    def store(self, release_id: str, payload: bytes, *, plan_hash: str = "", taken: Fraction | None = None) -> bytes:
        """The final bytes of this release: `payload`, or what was stored before it. Show only these.

        `taken` is what a release in stages took of μ², where these ended early: the rest of its charge is given back in
        the same transaction, once. It must follow from the payload alone, which is public (owed).

        Guarantee: every call for one id returns the same bytes. Requires: a reservation of that id (checked).
        If the ledger fails now, it raises DataError, because the data is open: the charge stays; retry with the id.
        """
        if not isinstance(payload, bytes):
            what, rule = f"payload is {type(payload).__name__}", "a release is stored as bytes"
            raise LedgerError(what, rule, "encode it first", code="payload-not-bytes", type=type(payload).__name__)
        try:
            with self._storage.writing("store") as pages:
                last = self._last(pages)
                reserved = pages.find("reserve", release_id)
                if reserved is not None:
                    earlier = pages.stored(release_id)
                    if earlier is not None:
                        return earlier
                    due = reserved.charge if taken is None else min(reserved.charge, square_units(taken))
                    entry = follow(
                        last, "store", {} if due == reserved.charge else {"taken": str(taken)},
                        release_id=release_id, request_hash=reserved.request_hash, plan_hash=plan_hash,
                        payload_hash=digest(payload), charge=due - reserved.charge,
                        # Not the clock: how long the data took to sum depends on the data.
                        time=reserved.time,
                    )  # fmt: skip
                    pages.append(entry, payload)
        except LedgerError as error:
            raise DataError(
                f"the release id={release_id!r} could not be stored: {error.what}",
                "a release is shown only after it is stored",
                "its charge stays; try again with the same id, which is not charged again",
                code="release-not-stored",
                cause=error.code,
                id=release_id,
            ) from None
        if reserved is None:
            what, rule = f"id={release_id!r} has no charge", "a release can be stored only after it is charged"
            raise LedgerError(what, rule, "reserve it first", code="store-without-charge", id=release_id)
        return payload

    def add(self, **stated: Any) -> Reservation:
        """Charge a release that another tool made: epsilon and delta, or mu; note, id, neighbours, unit."""
        from gaussmith.ledger.protection import add_release

        return add_release(self, **stated)

    @checks_arguments
    def result(self, release_id: str) -> bytes | None:
        """The stored bytes of that release; None if there are none."""
        with self._storage.reading() as pages:
            self._last(pages)
            return pages.stored(release_id)

    def is_charged(self, release_id: str) -> bool:
        """Whether a release of that id was charged, whether or not anything was stored for it."""
        with self._storage.reading() as pages:
            self._last(pages)
            return pages.find("reserve", release_id) is not None

    def up_to(self, receipt: Receipt) -> tuple[LedgerEntry, int]:
        """The entry of a receipt, which has all totals, and how many releases were charged up to and with it."""
        with self._storage.reading() as pages:
            last = self._last(pages)
            return check_seal(pages.at(receipt.seq) or last, self.where), pages.charged(receipt.seq)

    def entries(self) -> list[LedgerEntry]:
        """All entries, oldest first, unchecked (`verify` checks them)."""
        with self._storage.reading() as pages:
            return list(pages.entries())

    def history(self) -> list[dict[str, Any]]:
        """One row per charge, oldest first, for tables and charts; ε is rounded up.

        time · id · state (done, pending, other tool) · mu · epsilon at the ledger's δ (or None) · share of the budget ·
        spent (all shares up to this one) · keys_delta · unit (its columns, None if not set) · software · receipt
        """
        return charge_rows(self.entries(), self.guarantee, self.budget)

    @checks_arguments
    def verify(self, expect_head: str | Iterable[str] | None = None, records: Iterable[bytes] = ()) -> Verification:
        """Recompute the whole ledger and return a summary; LedgerError at the first problem.

        Recomputed: every hash and link, every charge from its μ, every total against the budget, every stored release
        against its hash, the head. `expect_head` (receipts or hashes kept elsewhere) and `records` (the bytes of past
        releases) must all be in it: they reveal a roll-back even if ledger and head were replaced together.
        """
        self._storage.check_file()
        expected = [expect_head] if isinstance(expect_head, str) else list(expect_head or ())
        with self._storage.reading() as pages:
            return verify_pages(pages, expected, records)

    def _resume(
        self, pages: Pages, earlier: LedgerEntry, request_hash: str, guarantee: Guarantee, charge: int, keys_charge: int
    ) -> Reservation:
        check_seal(earlier, self.where)
        payload = pages.stored(earlier.release_id)
        same = earlier.request_hash == request_hash and json.loads(earlier.body)["guarantee"] == guarantee.to_dict()
        # Another version may compute a larger μ for the same (ε, δ). What is stored is still returned, but
        # nothing new is made under a charge that was too small for it.
        dearer = charge > earlier.charge or keys_charge > earlier.keys_charge
        if not same or (payload is None and dearer):
            raise LedgerError(
                f"id={earlier.release_id!r} belongs to another request in ledger={self.where}",
                "an id belongs to one request and its answers",
                "repeat that request unchanged, or choose another id",
                code="id-of-another-request",
                id=earlier.release_id,
                ledger=self.where,
            )
        state: Literal["pending", "done"] = "pending" if payload is None else "done"
        return Reservation(earlier.release_id, state, earlier.charge, earlier.receipt, payload, earlier.keys_charge)


def _storage(path: str | os.PathLike[str], timeout: float) -> Storage:
    if isinstance(path, str) and "://" in path:
        from gaussmith.ledger.postgres import PostgresStorage

        return PostgresStorage(path, timeout)
    from gaussmith.ledger.sqlite import SqliteStorage

    return SqliteStorage(path, timeout)


def _fresh_id(pages: Pages, last: LedgerEntry) -> str:
    # The number of its entry: unique under the lock, without any randomness.
    name = f"release-{last.seq + 1}"
    while pages.find("reserve", name) is not None:
        name += "a"
    return name


def _check_text(name: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 200 or not value.isprintable() or value != value.strip():
        raise LedgerError(
            f"{name}={str(value)[:80]!r} cannot be used",
            "it must have 1 to 200 printable characters, with no spaces at either end",
            "choose another",
            code="ledger-name-unusable",
            name=name,
            value=str(value)[:80],
        )
    return value


# Where a ledger stood right after one charge: what all releases up to it took together. Nothing of it is from data.


def standing_of(ledger: Ledger, receipt: Receipt) -> dict[str, Any]:
    """What was charged up to and with this entry, for the record of its release.

    releases · mu and keys_delta of all of them together · epsilon at the ledger's delta (None without one) · budget ·
    dataset. Rounding: all up.
    """
    from gaussmith.privacy.guarantee import Guarantee

    entry, releases = ledger.up_to(receipt)
    spent, keys = (Fraction(units, 1 << UNIT_BITS) for units in (entry.spent, entry.keys_spent))
    mu, delta, epsilon = sqrt_upward(spent), ledger.guarantee.delta, None
    if delta is not None and keys < smaller_reading(delta):
        # κ + (1 − κ) δ(ε) ≤ δ wherever δ(ε) ≤ δ − κ
        epsilon = Guarantee(mu=mu).epsilon_at(delta=fraction_down(smaller_reading(delta) - keys))
    return {
        "releases": releases,
        "mu": mu,
        "keys_delta": fraction_up(keys),
        "epsilon": epsilon,
        "budget": ledger.guarantee.to_dict(),
        "dataset": ledger.dataset,
    }
