"""The rules of a ledger, wherever it lives.

The order of a release is reserve → open the data → add noise → store → return what is stored. A charge is on disk
before any data is read, and a value leaves only as the bytes stored under its release id. So a crash can waste a charge
but never lose one, a retry continues under the charge already made, and one id never shows two values.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from gaussmith.addresses import without_secrets
from gaussmith.errors import BudgetError, DataError, GuaranteeError, LedgerError
from gaussmith.ledger.chain import Entry, Receipt, check_neighbours, check_seal, digest, follow
from gaussmith.ledger.pages import FORMAT, Pages, Storage, unreadable
from gaussmith.ledger.units import budget_square, budget_units, charge_units, guarantee_of, largest_mu, round_down
from gaussmith.ledger.verification import Verification, verify_pages

if TYPE_CHECKING:
    from gaussmith.guarantee import Guarantee


@dataclass(frozen=True)
class Reservation:
    """A charge that is on disk.

    `state` is "new" (just charged), "pending" (charged earlier, nothing stored: it crashed, or is running elsewhere) or
    "done" (`payload` holds the stored bytes). New and pending may open the data; done may not and need not.
    """

    release_id: str
    state: Literal["new", "pending", "done"]
    charge: int
    receipt: Receipt
    payload: bytes | None = None


@dataclass(frozen=True)
class Outlook:
    """What a release would take of the whole budget and what would be left; ε at the ledger's δ, None without one."""

    share: float
    left: float
    epsilon_before: float | None
    epsilon_after: float | None
    times: int
    """How many such releases would fit, this one included."""


class Ledger:
    """A ledger that exists, in a file or at `postgresql://…/database?ledger=NAME`.

    `budget`, `spent` and `remaining` are whole units of μ² (2⁻²⁵⁶ each); `remaining_guarantee` and `remaining_epsilon`
    say the same in words of privacy, erring low. `timeout` is how many seconds to wait for other processes.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 10.0) -> None:
        from gaussmith.guarantee import Guarantee

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
        except (KeyError, TypeError, ValueError):
            raise unreadable(self.where) from None

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], guarantee: Guarantee, dataset: str | None = None, *, timeout: float = 10.0
    ) -> Ledger:
        """A new ledger that may spend `guarantee` in all, never more; refused where there is one already.

            Σ μ_i² ≤ μ²

        Guarantee: all releases charged to it together keep `guarantee`. Requires: every release about these people is
        charged to this ledger (owed). Rounding: the budget down, every charge up.
        """
        dataset = None if dataset is None else without_secrets(_check_text("dataset", dataset))
        square = budget_square(guarantee)
        body: dict[str, Any] = {"format": FORMAT, "dataset": dataset, "guarantee": guarantee.to_dict()}
        # Beside the guarantee what follows from it: a later version may compute μ for (ε, δ) more tightly.
        body |= {"square": str(square), "budget": str(budget_units(square))}
        _storage(path, timeout).create(follow(None, "create", body))
        return cls(path, timeout=timeout)

    def __repr__(self) -> str:
        return f"Ledger({self.where!r})"

    def _last(self, pages: Pages) -> Entry:
        """The newest entry; refuses a ledger that is not the one opened, whose budget is another."""
        first, last = pages.ends()
        if first.receipt != self._first:
            what = f"ledger={self.where} was replaced by another since it was opened"
            raise LedgerError(what, "a charge goes to the budget that was opened", "open it again")
        return last

    @property
    def spent(self) -> int:
        """What was charged so far."""
        with self._storage.reading() as pages:
            return self._last(pages).spent

    @property
    def remaining(self) -> int:
        """What may still be charged."""
        return self.budget - self.spent

    @property
    def remaining_guarantee(self) -> Guarantee | None:
        """The most that one more release may spend, erring low; None when nothing is left."""
        return guarantee_of(self.remaining)

    @property
    def remaining_epsilon(self) -> float | None:
        """The largest ε, erring low, of one more release at the ledger's δ; None when the ledger states no δ."""
        return self._epsilon_that_fits(self.remaining)

    @property
    def head(self) -> Receipt:
        """The newest entry's receipt: kept elsewhere, it shows later that nothing was rolled back (`verify`)."""
        with self._storage.reading() as pages:
            return self._last(pages).receipt

    def check_dataset(self, source: str) -> None:
        """Nothing, unless the ledger was made for a dataset that is neither `source` nor the name of that file."""
        path = PurePath(source)
        if self.dataset is not None and self.dataset not in (source, path.name, path.stem):
            raise LedgerError(
                f"source={source!r} is charged to ledger={self.where}, which is for dataset={self.dataset!r}",
                "a ledger adds up what is spent on one dataset",
                "use the ledger of that source; names match if the path does, or its last part, with or without suffix",
            )

    def reserve(
        self,
        release_id: str | None,
        request_hash: str,
        guarantee: Guarantee,
        *,
        plan_hash: str = "",
        neighbours: str | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> Reservation:
        """The charge for one release, on disk when this returns: never too small, and never made twice for one id.

            spent + ⌈2²⁵⁶ μ²⌉ ≤ budget,   or BudgetError

        Without an id a fresh one is given. An id seen before returns its earlier charge, whatever the budget; with
        another request, or another guarantee, it is refused; so are other `neighbours` than those of the first charge
        that says any, for their μ do not add up. `note` is public: nothing in it may depend on data.

        Guarantee: over all processes and machines the ledger's guarantee is never exceeded. Requires: data is opened
        only after this returns (owed). Rounding: the charge up.
        """
        charge = charge_units(guarantee.mu)
        if release_id is not None:
            _check_text("id", release_id)
        _check_text("request_hash", request_hash)
        body: dict[str, Any] = {"guarantee": guarantee.to_dict(), "mu": guarantee.mu, "note": dict(note or {})}
        if neighbours is not None:
            body["neighbours"] = neighbours
        made: Reservation | None = None
        try:
            with self._storage.writing("reserve") as pages:
                last = self._last(pages)
                earlier = None if release_id is None else pages.find("reserve", release_id)
                if earlier is not None:
                    made = self._resume(pages, earlier, request_hash, guarantee, charge)
                elif charge <= (left := self.budget - last.spent):
                    # One by one: nearly always the first charge says them, and a ledger may be long.
                    check_neighbours(map(pages.at, range(1, last.seq + 1)), neighbours, self.where)
                    name = release_id or _fresh_id(pages, last)
                    entry = follow(
                        last, "reserve", body,
                        release_id=name, request_hash=request_hash, plan_hash=plan_hash, charge=charge,
                    )  # fmt: skip
                    pages.append(entry)
                    made = Reservation(name, "new", charge, entry.receipt)
        except LedgerError as error:
            if made is None:
                raise
            # The commit may have arrived or not. Who was given a fresh id must learn it, to go on under this charge.
            what = f"{error.what}, while charging id={made.release_id!r}"
            raise LedgerError(what, error.rule, error.remedy) from None
        if made is None:  # worded only now, since that takes time and others wait for the lock
            raise self._refusal(guarantee, left)
        return made

    def afford(self, guarantee: Guarantee) -> Outlook:
        """What would be left after one more release like this; BudgetError where it does not fit. Charges nothing."""
        charge = charge_units(guarantee.mu)
        left = self.remaining
        if charge > left:
            raise self._refusal(guarantee, left)
        return Outlook(
            charge / self.budget,
            (left - charge) / self.budget,
            self._epsilon_that_fits(left),
            self._epsilon_that_fits(left - charge),
            left // charge,
        )

    def store(self, release_id: str, payload: bytes, *, plan_hash: str = "") -> bytes:
        """The bytes that stand for this release from now on: `payload`, or what was stored before it. Show only these.

        Guarantee: every call for one id returns the same bytes. Requires: a reservation of that id (checked).
        Where the ledger fails now, it raises DataError, for the data is open: the charge stays, the same id goes on.
        """
        if not isinstance(payload, bytes):
            raise LedgerError(f"payload is {type(payload).__name__}", "a release is stored as bytes", "encode it first")
        try:
            with self._storage.writing("store") as pages:
                last = self._last(pages)
                reserved = pages.find("reserve", release_id)
                if reserved is not None:
                    earlier = pages.stored(release_id)
                    if earlier is not None:
                        return earlier
                    entry = follow(
                        last, "store", {},
                        release_id=release_id, request_hash=reserved.request_hash, plan_hash=plan_hash,
                        payload_hash=digest(payload),
                        # Not the clock: how long the data took to sum depends on the data.
                        time=reserved.time,
                    )  # fmt: skip
                    pages.append(entry, payload)
        except LedgerError as error:
            raise DataError(
                f"the release id={release_id!r} could not be stored: {error.what}",
                "nothing is shown that is not stored",
                "its charge stays; try again with the same id, which is not charged again",
            ) from None
        if reserved is None:
            raise LedgerError(
                f"id={release_id!r} has no charge", "a release is stored under its charge", "reserve it first"
            )
        return payload

    def result(self, release_id: str) -> bytes | None:
        """The stored bytes of that release; None when there are none."""
        with self._storage.reading() as pages:
            self._last(pages)
            return pages.stored(release_id)

    def entries(self) -> list[Entry]:
        """All entries, oldest first, as they stand (`verify` is what checks them)."""
        with self._storage.reading() as pages:
            return list(pages.entries())

    def history(self) -> list[dict[str, Any]]:
        """One row per charge, oldest first, for tables and charts; ε errs high.

        time · id · state (done or pending) · mu · epsilon at the ledger's δ (None without one) · share of the budget ·
        spent (all shares up to this one) · software · receipt
        """
        from gaussmith.guarantee import Guarantee

        entries = self.entries()
        done = {entry.release_id for entry in entries if entry.kind == "store"}
        delta = self.guarantee.delta

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
                        "state": "done" if entry.release_id in done else "pending",
                        "mu": body["mu"],
                        "epsilon": stated["epsilon"]
                        if stated.get("delta") == delta is not None
                        else epsilon(body["mu"]),
                        "share": entry.charge / self.budget,
                        "spent": entry.spent / self.budget,
                        "software": entry.software,
                        "receipt": str(entry.receipt),
                    }
                )
        return rows

    def verify(self, expect_head: str | Iterable[str] | None = None, records: Iterable[bytes] = ()) -> Verification:
        """A summary, once all of the ledger has been recomputed; LedgerError at the first thing that is wrong.

        Recomputed: every hash and link, every charge from its μ, every total against the budget, every stored release
        against its hash, the head. `expect_head` (receipts or hashes kept elsewhere) and `records` (the bytes of past
        releases) must all be in it: they show a roll-back even where ledger and head were replaced together.
        """
        self._storage.check_file()
        expected = [expect_head] if isinstance(expect_head, str) else list(expect_head or ())
        with self._storage.reading() as pages:
            return verify_pages(pages, expected, records)

    def _resume(
        self, pages: Pages, earlier: Entry, request_hash: str, guarantee: Guarantee, charge: int
    ) -> Reservation:
        check_seal(earlier, self.where)
        payload = pages.stored(earlier.release_id)
        same = earlier.request_hash == request_hash and json.loads(earlier.body)["guarantee"] == guarantee.to_dict()
        # Another version may compute a larger μ for the same (ε, δ). What is stored is given back all the same, but
        # nothing new is made under a charge that was too small for it.
        if not same or (payload is None and charge > earlier.charge):
            raise LedgerError(
                f"id={earlier.release_id!r} belongs to another request in ledger={self.where}",
                "one id stands for one request and its one answer",
                "repeat that request as it was, or choose another id",
            )
        state: Literal["pending", "done"] = "pending" if payload is None else "done"
        return Reservation(earlier.release_id, state, earlier.charge, earlier.receipt, payload)

    def _refusal(self, guarantee: Guarantee, left: int) -> BudgetError:
        mu, epsilon, delta = largest_mu(left), self._epsilon_that_fits(left), self.guarantee.delta
        asked = f"mu={guarantee.mu:.6g}"
        if guarantee.epsilon is not None:
            asked = f"epsilon={guarantee.epsilon:g} at delta={guarantee.delta:g} ({asked})"
        fits = f"mu={round_down(mu):g}"
        if mu == 0:
            remedy = "nothing is left: no further release fits"
        elif epsilon is None:
            remedy = f"what fits: {fits} at most"
        elif epsilon > 0:
            remedy = f"what fits: epsilon={round_down(epsilon):g} at delta={delta:g} at most, which is {fits}"
        else:
            remedy = f"what fits: {fits} at most, which is no epsilon above 0 at delta={delta:g}"
        return BudgetError(
            f"the release asks for {asked}, more than is left in ledger={self.where}",
            "charges add up as μ² and never exceed the ledger's guarantee; nothing was charged",
            remedy,
            requested=guarantee,
            remaining=guarantee_of(left),
            epsilon=epsilon,
            mu=mu,
        )

    def _epsilon_that_fits(self, units: int) -> float | None:
        from gaussmith.guarantee import Guarantee

        delta = self.guarantee.delta
        if delta is None:
            return None
        if units == self.budget:
            return self.guarantee.epsilon
        rest = guarantee_of(units)
        if rest is None:
            return 0.0
        # ε for a given μ errs high and μ for a given ε errs low: the answer lies at, or a hair below, the first guess.
        guess, step = rest.epsilon_at(delta=delta), 2.0**-52
        while guess > 0 and step < 1:
            with suppress(GuaranteeError):
                if charge_units(Guarantee(epsilon=guess, delta=delta).mu) <= units:
                    return guess
            guess, step = guess * (1 - step), step * 4
        return 0.0


def _storage(path: str | os.PathLike[str], timeout: float) -> Storage:
    if isinstance(path, str) and "://" in path:
        from gaussmith.ledger.postgres import PostgresStorage

        return PostgresStorage(path, timeout)
    from gaussmith.ledger.sqlite import SqliteStorage

    return SqliteStorage(path, timeout)


def _fresh_id(pages: Pages, last: Entry) -> str:
    # The number of its entry: unique under the lock, without drawing anything at random.
    name = f"release-{last.seq + 1}"
    while pages.find("reserve", name) is not None:
        name += "a"
    return name


def _check_text(name: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 200 or not value.isprintable() or value != value.strip():
        raise LedgerError(
            f"{name}={str(value)[:80]!r} cannot be used",
            "it has 1 to 200 printable characters and no blanks at its ends",
            "choose another",
        )
    return value
