"""The rules of a ledger, independent of its storage.

The order of a release is reserve → open the data → add noise → store → return what is stored. A charge is on disk
before any data is read, and a value is only ever returned as the bytes stored under its release id. So a crash can
waste a charge but never lose one, a retry continues under the charge already made, and one id never shows two values.
"""

from __future__ import annotations

import functools
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, cast

from gaussmith.checks import check_whole, checks_arguments
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import BudgetError, DataError, GuaranteeError, LedgerError
from gaussmith.ledger.chain import LedgerEntry, Receipt, broken, check_seal, digest, follow, number_of, periods_of
from gaussmith.ledger.pages import FORMAT, Pages, Storage, unreadable
from gaussmith.ledger.protection import Protection, Unit, check_protection, find_protection, read_unit
from gaussmith.ledger.units import (
    PURE_UNITS,
    UNIT_BITS,
    Units,
    budget_square,
    budget_units,
    charge_of,
    charge_units,
    check_keys_delta,
    check_pure_epsilon,
    guarantee_of,
    is_charge_of,
    is_pure,
    largest_mu,
    largest_pure,
    pure_budget_units,
    round_down,
    square_units,
    stated_down,
    taken_pure_units,
    units_of,
)
from gaussmith.ledger.verification import Verification, verify_pages
from gaussmith.numerics.exact import fraction_down, fraction_up, smaller_reading, sqrt_upward, stated_up
from gaussmith.privacy.composition import Charge

if TYPE_CHECKING:
    from gaussmith.privacy.guarantee import Guarantee


# The charges of a ledger as rows, for tables and charts.


def charge_rows(entries: Iterable[LedgerEntry], whole: Guarantee, budget: Units) -> list[dict[str, Any]]:
    """One row per charge, oldest first, against the `budget` of a ledger for `whole`; ε is rounded up."""
    from gaussmith.privacy.guarantee import Guarantee

    entries = list(entries)
    done = {entry.release_id: entry for entry in entries if entry.kind == "store"}
    periods = Counter(entry.parent for entry in entries if entry.kind == "period")
    delta = whole.delta

    @functools.cache
    def epsilon(mu: float) -> float | None:
        return Guarantee(mu=mu).epsilon_at(delta=delta) if delta and mu else None

    rows = []
    for entry in entries:
        if entry.kind == "reserve":
            body = json.loads(entry.body)
            stated, stored = body["guarantee"], done.get(entry.release_id)
            square, pure = entry.charge, entry.pure_charge
            if stored is not None:  # 0, or what was given back
                square, pure = square + stored.charge, pure + stored.pure_charge
            mu = body["mu"] if "mu" in body else sqrt_upward(Fraction(body["mu_squared"]))
            shares = part_of(square, budget.square), part_of(pure, budget.pure)
            of_pure = shares[1] > shares[0]
            spent = part_of(entry.pure_spent, budget.pure) if of_pure else part_of(entry.spent, budget.square)
            rows.append(
                {
                    "time": entry.time,
                    "id": entry.release_id,
                    "state": _state(body, stored is not None, periods[entry.release_id]),
                    "mu": mu,
                    "epsilon": stated["epsilon"] if stated.get("delta") == delta is not None else epsilon(mu),
                    "pure_epsilon": stated_up(Fraction(body.get("pure", 0))),
                    "of_pure": of_pure,
                    "share": max(shares),
                    "spent": spent,
                    "keys_delta": fraction_up(Fraction(body["keys_delta"])),
                    "unit": body.get("unit"),
                    "software": entry.software,
                    "receipt": str(entry.receipt),
                }
            )
    return rows


def part_of(units: int, whole: int) -> float:
    """So many units as a part of a cap, which may be 0."""
    return units / whole if whole else 0.0


def _state(body: dict[str, Any], is_done: bool, periods: int) -> str:
    if body.get("note", {}).get("made by") is not None:
        return "other tool"
    if periods:
        return f"{periods} period{'s' if periods > 1 else ''}"
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
        if ledger.remaining_pure > 0:
            return False
        return ledger.remaining_guarantee is None or ledger.remaining_epsilon == 0

    def __repr__(self) -> str:
        ledger = cast("Ledger", self)
        try:
            left = "spent" if self.is_spent else f"{100 * ledger.left:.3g} % left"
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
    of_pure: bool = False
    """Whether share, rest and ε are of the part for pure noise."""


def largest_epsilon(units: int, whole: Guarantee) -> float | None:
    """The largest ε of one release with Gaussian noise that fits in `units` at the δ of `whole`, rounded down; None
    without a δ."""
    from gaussmith.privacy.guarantee import Guarantee

    if not whole.delta:
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
        f"the release asks for {_told(guarantee)}, more than is left in ledger={where}",
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


def refuse_pure(pure: Fraction, left: Fraction, whole: Fraction, where: str) -> BudgetError:
    """The error for a release that takes more pure ε than is left, or whose law the ledger has no allowance for."""
    asked = f"the release asks for pure epsilon={fraction_up(pure):.6g}"
    rule = "pure ε adds up, in a part that is set aside when a ledger is created; nothing was charged"
    told: dict[str, Any] = {"requested": pure, "remaining": left, "ledger": where}
    if not whole:
        what = f"{asked}, and ledger={where} has no allowance for pure noise"
        remedy = "ask with epsilon and delta, so that it has Gaussian noise, or create a ledger with pure_epsilon"
        return BudgetError(what, rule, remedy, code="no-allowance-for-pure-noise", **told)
    remedy = "no pure ε is left: ask with epsilon and delta, so that it has Gaussian noise"
    if left > 0:
        remedy = f"at most epsilon={round_down(left):g} of pure noise fits"
    what = f"{asked}, more than is left in ledger={where}"
    return BudgetError(what, rule, remedy, code="pure-budget-exceeded", **told)


def refuse_gaussian(guarantee: Guarantee, where: str) -> BudgetError:
    """The error for a release with Gaussian noise where all of ε is set aside for pure noise."""
    return BudgetError(
        f"the release asks for {_told(guarantee)}, and ledger={where} has no allowance for Gaussian noise",
        "all of its ε is for pure noise, whose δ is 0; nothing was charged",
        "ask with epsilon alone, or charge another ledger",
        requested=guarantee,
        remaining=None,
        code="no-allowance-for-gaussian-noise",
        ledger=where,
    )


def _told(guarantee: Guarantee) -> str:
    if is_pure(guarantee):
        return f"epsilon={guarantee.epsilon:g} alone"
    asked = f"mu={guarantee.mu:.6g}"
    if guarantee.epsilon is not None:
        asked = f"epsilon={guarantee.epsilon:g} at delta={guarantee.delta:g} ({asked})"
    return asked


@dataclass(frozen=True)
class Reservation:
    """A charge that is on disk.

    `state` is "new" (just charged), "pending" (charged earlier, nothing stored: it crashed, or is running elsewhere) or
    "done" (`payload` holds the stored bytes). New and pending may open the data; done may not and need not.
    `charge` is in units of μ², `keys_charge` in units of κ, `pure_charge` in units of pure ε.
    """

    release_id: str
    state: Literal["new", "pending", "done"]
    charge: int
    receipt: Receipt
    payload: bytes | None = None
    keys_charge: int = 0
    pure_charge: int = 0


class Ledger(Printed):
    """A ledger that exists, in a file or at `postgresql://…/database?ledger=NAME`.

    `budget`, `spent` and `remaining` are whole units of μ² (2⁻²⁵⁶ each); `remaining_guarantee` and `remaining_epsilon`
    state the same as privacy guarantees, rounded down. `keys_budget` and `keys_spent` are units of κ, the δ for keys
    found in the data, `pure_budget` and `pure_spent` of pure ε, the ε of noise without a δ; `remaining_pure` is what is
    left of it, exactly. `timeout` is how many seconds to wait for other processes.
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
            self.pure_epsilon: Fraction = Fraction(body.get("pure_epsilon", 0))
            self.pure_budget: int = int(body.get("pure_budget", 0))
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
        pure_epsilon: float | Fraction = 0,
        timeout: float = 10.0,
    ) -> Ledger:
        """A new ledger that may spend at most `guarantee` in total; refused if one already exists.

            Σ μ_i² ≤ μ²,   Σ κ_i ≤ keys_delta,   Σ ε_i of pure noise ≤ pure_epsilon

        `unit` names the column (or columns) of the person, () means that each row is one person; by default the first
        charge that states a unit sets it. `keys_delta` is reserved for keys found in the data, `pure_epsilon` for noise
        without a δ; both are taken from `guarantee`, and neither can be changed later. In a ledger of ε alone all of it
        is for pure noise.

        Guarantee: all releases charged to it together satisfy `guarantee`. Requires: every release about these people
        is charged to this ledger (owed). Rounding: the budgets down, every charge up.
        """
        dataset = None if dataset is None else without_secrets(_check_text("dataset", dataset))
        keys, pure = check_keys_delta(keys_delta), check_pure_epsilon(pure_epsilon, guarantee)
        if keys and is_pure(guarantee):
            what, rule = f"keys_delta={float(keys):g} of an epsilon without delta", "such a ledger has no δ to reserve"
            raise GuaranteeError(what, rule, "state a delta too, or leave it out", code="keys-delta-without-delta")
        square = budget_square(guarantee, keys, pure)
        body: dict[str, Any] = {"format": FORMAT, "dataset": dataset, "unit": read_unit(unit)}
        # Also store what follows from the guarantee: a later version may compute μ for (ε, δ) more tightly.
        body |= {"guarantee": guarantee.to_dict(), "square": str(square), "budget": str(budget_units(square))}
        body |= {"keys_delta": str(keys), "keys_budget": str(budget_units(keys))}
        body |= {"pure_epsilon": str(pure), "pure_budget": str(pure_budget_units(pure))}
        _storage(path, timeout).create(follow(None, "create", body))
        return cls(path, timeout=timeout)

    @classmethod
    @checks_arguments
    def upgrade(cls, path: str | os.PathLike[str], *, timeout: float = 10.0) -> Ledger:
        """The ledger, after converting it to the format that is written now; nothing happens where it has that.

        Entries, receipts, totals and stored releases stay what they are. Its part for pure noise is 0, for good.

        Guarantee: all of it is converted in one transaction, or nothing. A ledger that fails verification is refused.
        """
        storage = _storage(path, timeout)
        with storage.upgrading() as pages:
            if pages.format != FORMAT:
                before = verify_pages(pages, (), ())
                pages.upgrade()
                if verify_pages(pages, (), ()) != before:
                    what = "it is not the same after its conversion, which was undone"
                    raise broken(storage.where, what, code="ledger-not-upgraded")
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
    def pure_spent(self) -> int:
        """What was charged so far of pure ε."""
        with self._storage.reading() as pages:
            return self._last(pages).pure_spent

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
    def remaining_pure(self) -> Fraction:
        """The pure ε that may still be charged, exactly."""
        return largest_pure(self.pure_budget - self.pure_spent) if self.pure_budget else Fraction(0)

    @property
    def left(self) -> float:
        """What is left as a part of the budget: of μ², or of pure ε where the ledger is for that alone."""
        if self.budget:
            return self.remaining / self.budget
        return part_of(self.pure_budget - self.pure_spent, self.pure_budget)

    @property
    def remaining_guarantee(self) -> Guarantee | None:
        """The most that one more release with Gaussian noise may spend, rounded down; None if nothing is left."""
        return guarantee_of(self.remaining)

    @property
    def remaining_epsilon(self) -> float | None:
        """The largest ε of one more release at the ledger's δ, rounded down; None if the ledger states no ε.

        It has Gaussian noise, but in a ledger of ε alone.
        """
        if is_pure(self.guarantee):
            return stated_down(self.remaining_pure)
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
        charge: Charge | None = None,
        periods: int | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> Reservation:
        """Charge one release; the charge is on disk on return, never too small, and never made twice for one id.

            spent + ⌈2²⁵⁶ μ²⌉ ≤ budget   and   keys_spent + ⌈2²⁵⁶ κ⌉ ≤ keys_budget   and
            pure_spent + ⌈U ε⌉ ≤ pure_budget,   or BudgetError

        By default a release takes all of its guarantee: μ², or ε where that is pure. `charge` says what it takes where
        its noise has another law, or several: pure ε, μ² and κ (which is then not given as `keys_delta`). With
        `periods` it is a series of so many, charged once for all of them (`store_period`).

        Without an id a new one is made. A known id returns its earlier charge, whatever the budget; with another
        request or guarantee it is refused. `neighbours` or a `unit` other than those set first are refused too,
        because their μ do not add up; None states nothing about them. κ is `keys_delta`, the δ of
        keys found in the data. `note` is public: nothing in it may depend on data.

        Guarantee: over all processes and machines the ledger's guarantee is never exceeded. Requires: data is opened
        only after this returns (owed). Rounding: the charge up.
        """
        taken = _charge_of(guarantee, keys_delta, charge)
        units = units_of(taken)
        if release_id is not None:
            _check_text("id", release_id)
        _check_text("request_hash", request_hash)
        asked = Protection(neighbours, read_unit(unit))
        body: dict[str, Any] = {"guarantee": guarantee.to_dict(), "note": dict(note or {})}
        body |= {"keys_delta": str(taken.kappa)}
        body |= {"mu": guarantee.mu} if charge is None and not taken.pure else _parts(taken)
        body |= {name: value for name, value in vars(asked).items() if value is not None}
        body |= {} if periods is None else {"periods": check_whole("periods", periods, 1, error=LedgerError)}
        made: Reservation | None = None
        try:
            with self._storage.writing("reserve") as pages:
                last = self._last(pages)
                earlier = None if release_id is None else pages.find("reserve", release_id)
                if earlier is not None:
                    made = self._resume(pages, earlier, request_hash, guarantee, units)
                elif units.fits(self._left_after(last)):
                    check_protection(find_protection(pages.naming, self.where), asked, self.where)
                    name = release_id or _fresh_id(pages, last)
                    entry = follow(
                        last, "reserve", body,
                        release_id=name, request_hash=request_hash, plan_hash=plan_hash,
                        charge=units.square, keys_charge=units.keys, pure_charge=units.pure,
                    )  # fmt: skip
                    pages.append(entry)
                    made = Reservation(name, "new", units.square, entry.receipt, None, units.keys, units.pure)
        except LedgerError as error:
            if made is None:
                raise
            # The commit may or may not have arrived. The caller must learn a new id, to continue under this charge.
            what = f"{error.what}, while charging id={made.release_id!r}"
            fields = {**error.fields, "id": made.release_id}
            raise LedgerError(what, error.rule, error.remedy, code=error.code, **fields) from None
        if made is None:  # formatted only now: this takes time, and others wait for the lock
            raise self._refusal(guarantee, taken, self._left_after(last))
        return made

    @property
    def _budgets(self) -> Units:
        return Units(self.budget, self.keys_budget, self.pure_budget)

    def _left_after(self, entry: LedgerEntry) -> Units:
        """What is left of each cap after an entry."""
        return self._budgets.less(Units(entry.spent, entry.keys_spent, entry.pure_spent))

    def _refusal(self, guarantee: Guarantee, charge: Charge, left: Units) -> BudgetError:
        """The error for a charge of which a part does not fit."""
        units = units_of(charge)
        if units.pure > left.pure:
            return refuse_pure(charge.pure, largest_pure(left.pure), self.pure_epsilon, self.where)
        if units.square > left.square and not self.budget:
            return refuse_gaussian(guarantee, self.where)
        if units.square > left.square:
            return refuse_charge(guarantee, left.square, self.guarantee, self.where)
        return refuse_keys(charge.kappa, left.keys, self.where)

    @checks_arguments
    def afford(self, guarantee: Guarantee, keys_delta: float | Fraction = 0, charge: Charge | None = None) -> Outlook:
        """What would be left after one more release like this; BudgetError if it does not fit. Charges nothing."""
        taken = _charge_of(guarantee, keys_delta, charge)
        units = units_of(taken)
        with self._storage.reading() as pages:
            left = self._left_after(self._last(pages))
        if not units.fits(left):
            raise self._refusal(guarantee, taken, left)
        after = left.less(units)
        whole, before, rest, asked = self.budget, left.square, after.square, units.square
        of_pure = part_of(units.pure, self.pure_budget) > part_of(asked, whole)
        if of_pure:
            whole, before, rest, asked = self.pure_budget, left.pure, after.pure, units.pure
        times = min(have // need for have, need in zip(left, units, strict=True) if need)
        epsilons = self._epsilon(before, of_pure), self._epsilon(rest, of_pure)
        return Outlook(part_of(asked, whole), part_of(rest, whole), *epsilons, times, of_pure)

    def _epsilon(self, units: int, of_pure: bool) -> float | None:
        """The largest ε of one release that takes so many units, of pure ε or of μ²."""
        return stated_down(largest_pure(units)) if of_pure else largest_epsilon(units, self.guarantee)

    @checks_arguments
    def store(
        self, release_id: str, payload: bytes, *, plan_hash: str = "", taken: Fraction | Charge | None = None
    ) -> bytes:
        """The final bytes of this release: `payload`, or what was stored before it. Show only these.

        `taken` is what a release in stages took of μ² (or of pure ε and μ²: a charge), where these ended early: the
        rest of its charge is given back in the same transaction, once. Nothing of κ is given back. It must follow from
        the payload alone, which is public (owed).

        Guarantee: every call for one id returns the same bytes. Requires: a reservation of that id (checked).
        If the ledger fails now, it raises DataError, because the data is open: the charge stays; retry with the id.
        """
        check_payload(payload)
        with self._storing(f"the release id={release_id!r}", release_id) as (pages, last):
            reserved = pages.find("reserve", release_id)
            if reserved is not None and not periods_of(check_seal(reserved, self.where)):
                earlier = pages.stored(release_id)
                if earlier is not None:
                    return earlier
                body, back = _given_back(reserved, taken)
                entry = follow(
                    last, "store", body,
                    release_id=release_id, request_hash=reserved.request_hash, plan_hash=plan_hash,
                    payload_hash=digest(payload), **back,
                    # Not the clock: how long the data took to sum depends on the data.
                    time=reserved.time,
                )  # fmt: skip
                pages.append(entry, payload)
        if reserved is None:
            what, rule = f"id={release_id!r} has no charge", "a release can be stored only after it is charged"
            raise LedgerError(what, rule, "reserve it first", code="store-without-charge", id=release_id)
        if periods_of(reserved):
            what, rule = f"id={release_id!r} is a series", "what it releases is stored for each of its periods"
            raise LedgerError(what, rule, "name the period", code="series-stored-at-once", id=release_id)
        return payload

    @checks_arguments
    def store_period(self, series: str, period: str, number: int, payload: bytes, *, plan_hash: str = "") -> bytes:
        """The final bytes of one period of a series: `payload`, or what was stored before it. Show only these.

        Periods are stored in the order of their numbers, from 1. Once one is stored, the earlier ones that were not are
        closed: DataError. Nothing is charged: the series was.

        Guarantee: every call for one period returns the same bytes. Requires: a reservation of the series (checked).
        """
        _check_text("period", period)
        check_payload(payload)
        with self._storing(f"period={period!r} of series={series!r}", series) as (pages, last):
            reserved = pages.find("reserve", series)
            before = list(pages.periods(series))
            earlier = next((entry for entry in before if entry.release_id == period), None)
            if earlier is not None:
                return pages.bytes_of(earlier)
            first = number_of(check_seal(before[-1], self.where)) + 1 if before else 1
            whole = 0 if reserved is None else periods_of(check_seal(reserved, self.where))
            if reserved is not None and first <= number <= whole:
                entry = follow(
                    last, "period", {"number": number}, release_id=period, parent=series,
                    request_hash=reserved.request_hash, plan_hash=plan_hash, payload_hash=digest(payload),
                    time=reserved.time,
                )  # fmt: skip
                pages.append(entry, payload)
                return payload
        raise DataError(
            f"period={period!r}, number {number} of series={series!r}, cannot be stored in ledger={self.where}",
            "a series is charged first, for a number of periods, and these are stored in order",
            f"numbers {first} to {whole} are open" if first <= whole else "no period is open",
            code="period-not-open",
            series=series,
            period=period,
        )

    @checks_arguments
    def result_of_period(self, series: str, period: str) -> bytes | None:
        """The stored bytes of that period; None if there are none."""
        with self._storage.reading() as pages:
            self._last(pages)
            found = (entry for entry in pages.periods(series) if entry.release_id == period)
            return next((pages.bytes_of(entry) for entry in found), None)

    def periods(self, series: str) -> dict[str, int]:
        """The periods of a series that were stored, in order, each with its number."""
        with self._storage.reading() as pages:
            self._last(pages)
            return {each.release_id: number_of(each) for each in pages.periods(series)}

    @contextmanager
    def _storing(self, what: str, release_id: str) -> Iterator[tuple[Pages, LedgerEntry]]:
        """A transaction that stores what was made from data: if the ledger fails now, that is a DataError."""
        try:
            with self._storage.writing("store") as pages:
                yield pages, self._last(pages)
        except LedgerError as error:
            raise DataError(
                f"{what} could not be stored: {error.what}",
                "a release is shown only after it is stored",
                "its charge stays; try again with the same id, which is not charged again",
                code="release-not-stored",
                cause=error.code,
                id=release_id,
            ) from None

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

    def charge_of(self, release_id: str) -> Charge | None:
        """What was charged under that id, before anything was given back; None if nothing was.

        A release that goes on under it must have noise of that law.
        """
        with self._storage.reading() as pages:
            self._last(pages)
            entry = pages.find("reserve", release_id)
            if entry is None:
                return None
            body = json.loads(check_seal(entry, self.where).body)
        square = Fraction(body["mu"]) ** 2 if "mu" in body else Fraction(body["mu_squared"])
        return Charge(Fraction(body.get("pure", 0)), square, Fraction(body["keys_delta"]))

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

        time · id · state (done, pending, other tool, or the periods of a series) · mu (0 without Gaussian noise) ·
        epsilon at the ledger's δ (or None) · pure_epsilon · of_pure (whether it takes more of that part than of μ²) ·
        share of the part · spent (of the same part, up to this one) · keys_delta · unit (its columns, None if not
        set) · software · receipt
        """
        return charge_rows(self.entries(), self.guarantee, self._budgets)

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
        self, pages: Pages, earlier: LedgerEntry, request_hash: str, guarantee: Guarantee, units: Units
    ) -> Reservation:
        check_seal(earlier, self.where)
        payload = pages.stored(earlier.release_id)
        same = earlier.request_hash == request_hash and json.loads(earlier.body)["guarantee"] == guarantee.to_dict()
        # Another version may compute a larger μ for the same (ε, δ). What is stored is still returned, but
        # nothing new is made under a charge that was too small for it.
        dearer = not units.fits(Units(earlier.charge, earlier.keys_charge, earlier.pure_charge))
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
        amounts = earlier.keys_charge, earlier.pure_charge
        return Reservation(earlier.release_id, state, earlier.charge, earlier.receipt, payload, *amounts)


def _charge_of(guarantee: Guarantee, keys_delta: float | Fraction, charge: Charge | None) -> Charge:
    """What a release takes: all of its guarantee and κ, or the charge that is given for it."""
    keys = check_keys_delta(keys_delta)
    if charge is None:
        return charge_of(guarantee, keys)
    if keys:
        what, rule = "a charge beside keys_delta", "a charge says all that a release takes"
        raise GuaranteeError(what, rule, "give κ as a part of the charge", code="charge-stated-twice")
    if not (charge.pure or charge.mu_squared):
        what, rule = "a charge without pure ε and without μ²", "a charge says all that a release takes"
        raise GuaranteeError(what, rule, "charge what its plan takes", code="charge-of-nothing")
    check_keys_delta(charge.kappa)
    if not is_charge_of(charge, guarantee):
        raise GuaranteeError(
            f"a charge of pure ε={float(charge.pure):.6g} and μ²={float(charge.mu_squared):.6g} for {guarantee}",
            "a release takes all of its μ² or all of its ε, or a part of each",
            "charge what its plan takes",
            code="charge-of-another-guarantee",
        )
    return charge


def _parts(charge: Charge) -> dict[str, str]:
    """The parts of a charge that its guarantee alone does not tell."""
    return {"pure": str(charge.pure), "mu_squared": str(charge.mu_squared)}


def _given_back(reserved: LedgerEntry, taken: Fraction | Charge | None) -> tuple[dict[str, str], dict[str, int]]:
    """What the entry of a stored release says that it took, and the amounts of what it gives back."""
    body: dict[str, str] = {}
    back = {"charge": 0, "pure_charge": 0}
    if taken is None:
        return body, back
    square, pure = (taken.mu_squared or None, taken.pure) if isinstance(taken, Charge) else (taken, None)
    if square is not None and square_units(square) < reserved.charge:
        body["taken"], back["charge"] = str(square), square_units(square) - reserved.charge
    if pure is not None and taken_pure_units(pure) < reserved.pure_charge:
        body["taken_pure"], back["pure_charge"] = str(pure), taken_pure_units(pure) - reserved.pure_charge
    return body, back


def _storage(path: str | os.PathLike[str], timeout: float) -> Storage:
    if isinstance(path, str) and "://" in path:
        from gaussmith.ledger.postgres import PostgresStorage

        return PostgresStorage(path, timeout)
    from gaussmith.ledger.sqlite import SqliteStorage

    return SqliteStorage(path, timeout)


def check_payload(payload: object) -> None:
    """Refuse to store anything but bytes."""
    if not isinstance(payload, bytes):
        what, rule = f"payload is {type(payload).__name__}", "a release is stored as bytes"
        raise LedgerError(what, rule, "encode it first", code="payload-not-bytes", type=type(payload).__name__)


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

    releases · mu and keys_delta of all of them together, and their pure_epsilon if there is any · epsilon at the
    ledger's delta (None without one) · budget · dataset. Rounding: all up.
    """
    from gaussmith.privacy.guarantee import Guarantee

    entry, releases = ledger.up_to(receipt)
    spent, keys = (Fraction(units, 1 << UNIT_BITS) for units in (entry.spent, entry.keys_spent))
    mu, pure, delta = sqrt_upward(spent), Fraction(entry.pure_spent, PURE_UNITS), ledger.guarantee.delta
    epsilon = stated_up(pure) if is_pure(ledger.guarantee) else None
    if delta and keys < smaller_reading(delta):
        # κ + (1 − κ) δ(ε) ≤ δ wherever δ(ε) ≤ δ − κ; pure ε adds to that
        rest = fraction_down(smaller_reading(delta) - keys)
        epsilon = Guarantee(mu=mu).epsilon_at(delta=rest) if mu else 0.0
        epsilon = stated_up(pure + Fraction(epsilon)) if pure else epsilon
    return {
        "releases": releases,
        "mu": mu,
        "keys_delta": fraction_up(keys),
        **({"pure_epsilon": stated_up(pure)} if pure else {}),
        "epsilon": epsilon,
        "budget": ledger.guarantee.to_dict(),
        "dataset": ledger.dataset,
    }
