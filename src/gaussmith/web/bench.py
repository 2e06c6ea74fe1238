"""What the pages are made from: a draft read, planned, checked and put beside its ledger. Nothing here opens data."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from gaussmith.charged_release import ledger_unit, open_ledger, request_hash, source_name
from gaussmith.errors import BudgetError, GaussmithError, SourceError, nearest_column
from gaussmith.values import dataclass
from gaussmith.web.drafts import Draft
from gaussmith.web.figures import Meaning, Table, curve, meaning, tables
from gaussmith.web.pictures import budget_picture, curve_picture, shape_picture
from gaussmith.web.places import Said, place
from gaussmith.web.reading import read_request, read_rows
from gaussmith.web.sources import Reach, read_columns, written_at
from gaussmith.web.what_ifs import WhatIfs, what_ifs
from gaussmith.words.numbers import figure

if TYPE_CHECKING:
    from gaussmith.ledger import Ledger
    from gaussmith.ledger.remainder import Outlook
    from gaussmith.requests.request import Request

MAX_WAITING = 16
"""Limit on the plans that wait for each other: others are told to come again."""

MAX_LISTED = 300
"""Limit on the columns that a page lists."""


class Busy(Exception):
    """Too many plans are asked for at once."""


@dataclass(frozen=True)
class View:
    """All that a page shows of a draft."""

    draft: Draft
    said: tuple[Said, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    request: Request | None = None
    tables: tuple[Table, ...] = ()
    meaning: Meaning | None = None
    curve: str = ""
    curve_of: str = ""
    shape: str = ""
    pair: tuple[str, str] | None = None
    names: tuple[str, ...] = ()
    outlook: Outlook | None = None
    budget: str = ""
    what_ifs: WhatIfs | None = None
    stages: tuple[str, ...] = ()
    earlier: str = ""
    """The id under which exactly this request was charged before; empty where it was not."""
    other_delta: str = ""
    """A sentence about a δ that is not the ledger's."""


class Bench:
    """One source or request, one ledger, and what may be opened."""

    def __init__(self, reach: Reach, ledger: str | None, engine: str | None = None, master: str | None = None) -> None:
        self.reach, self.ledger, self.engine, self.master = reach, ledger, engine, master
        self._planning, self._waiting = threading.Lock(), 0
        self._columns: OrderedDict[tuple[str, int], dict[str, str]] = OrderedDict()
        self._requests: OrderedDict[Draft, Request] = OrderedDict()
        self._charged: tuple[str, dict[str, str]] = "", {}

    def book(self) -> Ledger | None:
        """The ledger, opened anew: another process may have charged it."""
        return open_ledger(self.ledger, None)

    def unit(self) -> str | None:
        """The column that names the people of the ledger; "" where each row is one, None where nothing is set."""
        book = self.book()
        unit = None if book is None else book.unit
        return None if unit is None or len(unit) > 1 else "".join(unit)

    @property
    def protected(self) -> str:
        """A sentence about the people of the ledger; empty where it names none."""
        unit = self.unit()
        if unit is None:
            return ""
        return (
            f"This ledger protects people by the column {unit}." if unit else "In this ledger each row is one person."
        )

    def request(self, draft: Draft) -> Request:
        """The request of a draft, about a source that may be opened; the last ones are kept."""
        known = self._requests.get(draft)
        if known is None:
            known = read_request(replace(draft, source=self.reach.resolve(draft.source)))
            self._requests[draft] = known
            while len(self._requests) > 8:
                self._requests.popitem(last=False)
        return known

    def columns(self, draft: Draft) -> dict[str, str]:
        """The columns of the source, by name; read anew where another source is named, or its file was written anew."""
        source = self.reach.resolve(draft.source)
        key = source, written_at(source)
        if key not in self._columns:
            self._columns[key] = read_columns(source, self.engine, self.master)
            while len(self._columns) > 4:
                self._columns.popitem(last=False)
        return self._columns[key]

    def view(self, draft: Draft, later: bool = False) -> View:
        """What a page shows of a draft; `later` adds what takes more time."""
        if self._waiting >= MAX_WAITING:
            raise Busy
        self._waiting += 1
        try:
            with self._planning:
                return self._view(draft, later)
        finally:
            self._waiting -= 1

    def _view(self, draft: Draft, later: bool) -> View:
        columns: dict[str, str] = {}
        try:
            if draft.source:
                columns = self.columns(draft)
        except GaussmithError as error:
            return View(draft, (place(error, draft),))
        try:
            self._check_columns(draft, columns)
            request = self.request(draft)
            rows = read_rows(draft)
        except GaussmithError as error:
            return View(draft, (place(error, draft),), columns)
        plan = request.plan
        shown = tables(plan, draft, rows)
        said: list[Said] = []
        outlook, budget, earlier = None, "", ""
        try:
            earlier = self.earlier(request)
            outlook, budget = self.budget(request)
        except GaussmithError as error:
            if not (earlier and isinstance(error, BudgetError)):  # what was charged before is not charged again
                said.append(place(error, draft))
        view = View(
            draft, tuple(said), columns, request, tuple(shown), meaning(plan), outlook=outlook, budget=budget,
            names=tuple(dict.fromkeys(a.name for table in shown for a in table.answers)), stages=plan.stages,
            earlier=earlier, other_delta=self.other_delta(request),
        )  # fmt: skip
        return self._with_later(self._with_pictures(view), later)

    def _with_pictures(self, view: View) -> View:
        assert view.request is not None
        plan, draft = view.request.plan, view.draft
        noisy = [answer for table in view.tables for answer in table.answers if answer.error > 0]
        picture = name = ""
        if noisy:
            chosen = next((a for a in noisy if a.name == draft.first), noisy[0])
            name = chosen.name
            picture = curve_picture(*curve(plan, chosen.error), name)
        first = next((q for q in plan if draft.first in q.names and draft.second in q.names), None)
        pair = (draft.first, draft.second) if first is not None and draft.first != draft.second else None
        if pair is None and len(view.names) > 1:
            first = next((q for q in plan if len(q.names) > 1), None)
            pair = None if first is None else (str(first.names[0]), str(first.names[1]))
        shape = shape_picture(first, *pair) if first is not None and pair is not None else ""
        return replace(view, curve=picture, curve_of=name, shape=shape, pair=pair)

    def _with_later(self, view: View, later: bool) -> View:
        if not later or view.request is None:
            return view
        return replace(view, what_ifs=what_ifs(view.draft, view.request, self.request, lambda: self._waiting <= 1))

    def _check_columns(self, draft: Draft, columns: dict[str, str]) -> None:
        """Refuse a column that the source has not, beside its field; derived ones are known by their names."""
        known = {*columns, *(each.name for each in draft.derived)}
        if "columns" in draft.more or not columns:
            return
        asked = [(f"asks-{i}-column", ask.column) for i, ask in enumerate(draft.asks)]
        asked += [(f"by-{i}-column", by.column) for i, by in enumerate(draft.by)] + [("unit", draft.unit)]
        for where, name in asked:
            if name and name not in known:
                what, rule = f"column {name!r}", "the source has no such column"
                remedy = nearest_column(name, columns)
                raise SourceError(what, rule, remedy, code="no-such-column", field=where, column=name)

    def budget(self, request: Request) -> tuple[Outlook | None, str]:
        """What a release would take of the ledger, and a picture of it; refuses what does not fit."""
        book = self.book()
        if book is None:
            return None, ""
        plan = request.plan
        book.check_dataset(source_name(request.source))
        book.check_protection(plan.neighbours, ledger_unit(request.unit))
        outlook = book.afford(plan.spends, plan.keys_delta)
        return outlook, budget_picture(1 - outlook.left - outlook.share, 1 - outlook.left)

    def release(self, request: Request, id: str | None, progress: Any) -> Any:
        """The release itself: validate → charge → mechanism → store once."""
        from gaussmith.charged_release import release

        return release(request, ledger=self.ledger, id=id, progress=progress, engine=self.engine, master=self.master)

    def earlier(self, request: Request) -> str:
        """The id under which exactly this request was charged last; empty where it was not."""
        book = self.book()
        if book is None:
            return ""
        head = str(book.head)
        if self._charged[0] != head:
            charges = {each.request_hash: each.release_id for each in book.entries() if each.kind == "reserve"}
            self._charged = head, charges
        return self._charged[1].get(request_hash(request), "") if self._charged[1] else ""

    def other_delta(self, request: Request) -> str:
        """A sentence where δ is not the ledger's: which ε the ledger counts then."""
        book, stated = self.book(), request.guarantee.delta
        whole = None if book is None else book.guarantee.delta
        if stated is None or whole is None or stated == whole:
            return ""
        counted = figure(request.plan.spends.epsilon_at(delta=whole))
        return f"This request states δ = {stated:g}, and the ledger δ = {whole:g}: there it counts as ε = {counted}."

    def state_of(self, id: str | None) -> str:
        """What the ledger knows of an id: "pending", "done", or "" where it is new."""
        book = self.book()
        rows = [] if book is None else book.history()
        return next((str(row["state"]) for row in rows if row["id"] == id), "")

    def share(self, request: Request) -> float | None:
        """The part of the budget that a release takes; None without a ledger."""
        try:
            outlook, _ = self.budget(request)
        except BudgetError:
            return None
        return None if outlook is None else outlook.share
