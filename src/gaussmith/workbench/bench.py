"""What the pages are made from: a draft read, planned, checked and put beside its ledger. Nothing here opens data."""

from __future__ import annotations

import glob
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.engines.addresses import scheme_of, without_secrets
from gaussmith.errors import BudgetError, GaussmithError, SourceError, nearest_column
from gaussmith.pipeline.release import ledger_unit, open_ledger, request_hash, source_name
from gaussmith.report.tables import describe_factor, figure
from gaussmith.workbench.drafts import KINDS, Draft, read_whole
from gaussmith.workbench.pictures import (
    Meaning,
    Table,
    budget_picture,
    curve,
    curve_picture,
    meaning,
    shape_picture,
    tables,
)
from gaussmith.workbench.places import Said, place
from gaussmith.workbench.reading import read_declared, read_request, read_rows, way_of

if TYPE_CHECKING:
    from gaussmith.ledger.book import Ledger, Outlook
    from gaussmith.planning.plan import Plan
    from gaussmith.requests.request import Request


# What would change: without a question, with half a bound or limit; and how close to the best. No data is read.

Errors = dict[tuple[str, str], float]

LIMITS = {"rows_per_unit": "rows", "groups_per_unit": "groups", "values_per_unit": "values"}
"""Limits on what one person can have."""

SECONDS = 1.5
"""Limit on the time that other plans are made for."""


@dataclass(frozen=True)
class Halved:
    """The errors of a line if the width of its bounds were half."""

    line: str
    high: float
    before: float
    after: float


@dataclass(frozen=True)
class Fewer:
    """The errors, in percent of what they are, if a person could have so many rows, groups or values instead."""

    what: str
    now: int
    instead: int
    percent: float


@dataclass(frozen=True)
class WhatIfs:
    """limit: how close to the certified limit, empty where that takes longer than to plan.

    costs: how much smaller other errors were without a line, in percent.
    """

    limit: str
    costs: tuple[tuple[str, float], ...]
    halved: tuple[Halved, ...]
    fewer: tuple[Fewer, ...] = ()


def what_ifs(
    draft: Draft, request: Request, read: Callable[[Draft], Request], is_wanted: Callable[[], bool] = lambda: True
) -> WhatIfs:
    """Plans of the same request with one line changed; `read` makes a request of a draft.

    It ends early where it takes long, or is not wanted any more.
    """
    stated = _with_guarantee(draft, request)
    end = time.monotonic() + SECONDS
    now = _errors(request.plan)
    costs: list[tuple[str, float]] = []
    halved: list[Halved] = []
    fewer = [found for name in LIMITS if is_wanted() and (found := _fewer(stated, name, now, read)) is not None]
    for i, ask in enumerate(draft.asks):
        if time.monotonic() > end or not is_wanted():
            break
        if not ask.column:
            continue
        name = f"{KINDS.get(ask.kind, ask.kind)} of {ask.column}"
        ratio = _ratio(_errors_of(replace(stated, asks=draft.asks[:i] + draft.asks[i + 1 :]), read), now)
        if ratio is not None:
            costs.append((name, 100 * (1 - ratio)))
        if (half := _half(stated, i, name, now, read)) is not None:
            halved.append(half)
    costs.sort(key=lambda each: -each[1])
    plan = request.plan
    limit = describe_factor(plan.optimality) if plan.is_bound_quick else ""
    return WhatIfs(limit, tuple(costs), tuple(halved), tuple(fewer))


def _half(draft: Draft, i: int, name: str, now: Errors, read: Callable[[Draft], Request]) -> Halved | None:
    """The errors of a line with half the width of its bounds; None where it has none."""
    ask = draft.asks[i]
    if ask.kind not in ("sums", "means", "variances") or ask.how != "known" or not (ask.low and ask.high):
        return None
    high = float(ask.low) + (float(ask.high) - float(ask.low)) / 2
    lines = (*draft.asks[:i], replace(ask, high=repr(high)), *draft.asks[i + 1 :])
    errors = _errors_of(replace(draft, asks=lines), read)
    own = next((key for key in errors if key[1].startswith(f"{ask.column}_") and now.get(key)), None)
    return None if own is None else Halved(name, high, now[own], errors[own])


def _fewer(draft: Draft, name: str, now: Errors, read: Callable[[Draft], Request]) -> Fewer | None:
    """The errors with half of a limit; None where there is none, or it is 1."""
    value = getattr(draft, name)
    limit = read_whole(name, value) if value else 1
    lower: dict[str, Any] = {name: str(limit // 2)}
    ratio = None if limit < 2 else _ratio(_errors_of(replace(draft, **lower), read), now)
    return None if ratio is None else Fewer(LIMITS[name], limit, limit // 2, 100 * ratio)


def _ratio(errors: Errors, now: Errors) -> float | None:
    """How large errors are on average, against what they are now."""
    ratios = [errors[key] / now[key] for key in errors if now.get(key)]
    return sum(ratios) / len(ratios) if ratios else None


def _with_guarantee(draft: Draft, request: Request) -> Draft:
    """The draft with the guarantee of its request, also where that was solved for."""
    guarantee = request.guarantee.to_dict()
    way = way_of(guarantee)
    said: dict[str, Any] = {"target": "", "target_error": "", "protection": way}
    said |= {name: repr(value) for name, value in guarantee.items()}
    return replace(draft, **said)


def _errors_of(draft: Draft, read: Callable[[Draft], Request]) -> Errors:
    """The errors of a draft; none where it is no request."""
    try:
        return _errors(read(draft).plan)
    except GaussmithError:
        return {}


def _errors(plan: Plan) -> Errors:
    """The standard errors by question and answer, of means n times as large."""
    return {
        (question.questions[0], str(name)): float(error)
        for question in plan
        for name, error in zip(question.names, question.standard_errors, strict=True)
        if error
    }


# Which sources the workbench may open, and the names and types of their columns. No value is read.

MAX_FILES = 10_000
"""Limit on the files of a folder or a pattern that are looked at."""


@dataclass(frozen=True)
class Reach:
    """What may be opened: everything in the folder of the server, and what its command line named."""

    folder: Path
    named: str | None = None

    def resolve(self, text: str) -> str:
        """The full path of a source, or its address; refuses what lies elsewhere.

        Links are followed first, so that none leads out of the folder.
        """
        if text and self.named is not None and text in (self.named, self.shown(self.named)):
            return self.named
        if not text:
            raise _refused(text, "a request must name its data", "write a path, such as people.parquet")
        if scheme_of(text) is not None or "\0" in text:
            rule = "an address is opened only if the command line named it"
            raise _refused(text, rule, "start the workbench with it: gaussmith workbench ADDRESS")
        path = os.path.normpath(self.folder / text)
        root = os.path.realpath(self.folder)
        for found in (path, *_inside(path)):
            if not _is_below(os.path.realpath(found), root):
                rule = "only files in the folder where the workbench was started are opened"
                raise _refused(text, rule, "start it in the folder of the data, or name the data on its command line")
        return path

    def shown(self, address: str) -> str:
        """A source as the form shows it: relative to the folder where it lies in it."""
        if scheme_of(address) is not None:
            return without_secrets(address)
        inside = os.path.relpath(address, self.folder)
        return address if inside.startswith("..") else inside

    def offered(self, most: int = 50) -> list[str]:
        """Files of the folder that can be opened, for a list in the form."""
        kinds = (".parquet", ".csv", ".tsv", ".arrow", ".ipc", ".feather", ".jsonl", ".ndjson")
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries if entry.name.endswith(kinds)]
        except OSError:
            return []
        return sorted(names)[:most]


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _inside(path: str) -> list[str]:
    """The files that a pattern or a folder stands for."""
    if glob.has_magic(path):
        return [match for match, _ in zip(glob.iglob(path, recursive=True), range(MAX_FILES), strict=False)]
    if not os.path.isdir(path):
        return []
    found: list[str] = []
    for folder, folders, files in os.walk(path):
        found += [os.path.join(folder, name) for name in (*folders, *files)]
        if len(found) > MAX_FILES:
            break
    return found[:MAX_FILES]


def read_columns(source: Any, engine: str | None = None, master: str | None = None) -> dict[str, str]:
    """The kind of each column of a source, empty where its format says none, as CSV. No value is read."""
    from gaussmith import mechanism

    kinds, written = mechanism.read_kinds(source, engine, master)
    return {name: "" if name in written else kind for name, kind in kinds.items()}


def written_at(source: str) -> int:
    """When a file was written last; 0 where that is not known, as for addresses and patterns."""
    try:
        return os.stat(source).st_mtime_ns
    except (OSError, ValueError):
        return 0


def _refused(text: str, rule: str, remedy: str) -> SourceError:
    what = f"source={without_secrets(text)!r}" if text else "source is empty"
    return SourceError(what, rule, remedy, code="source-out-of-reach", field="source")


MAX_WAITING = 16
"""Limit on the plans that wait for each other: others are told to come again."""

MAX_LISTED = 300
"""Limit on the columns that a page lists."""


class Busy(Exception):
    """Too many plans are asked for at once."""


@dataclass(frozen=True)
class DraftView:
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
        self._columns: OrderedDict[tuple[str, str, int], dict[str, str]] = OrderedDict()
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
        key = source, draft.promises, written_at(source)
        if key not in self._columns:
            declared = read_declared(replace(draft, source=source))
            self._columns[key] = read_columns(declared, self.engine, self.master)
            while len(self._columns) > 4:
                self._columns.popitem(last=False)
        return self._columns[key]

    def view(self, draft: Draft, later: bool = False) -> DraftView:
        """What a page shows of a draft; `later` adds what takes more time."""
        if self._waiting >= MAX_WAITING:
            raise Busy
        self._waiting += 1
        try:
            with self._planning:
                return self._view(draft, later)
        finally:
            self._waiting -= 1

    def _view(self, draft: Draft, later: bool) -> DraftView:
        columns: dict[str, str] = {}
        try:
            if draft.source:
                columns = self.columns(draft)
        except GaussmithError as error:
            return DraftView(draft, (place(error, draft),))
        try:
            self._check_columns(draft, columns)
            request = self.request(draft)
            rows = read_rows(draft)
        except GaussmithError as error:
            return DraftView(draft, (place(error, draft),), columns)
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
        view = DraftView(
            draft, tuple(said), columns, request, tuple(shown), meaning(plan), outlook=outlook, budget=budget,
            names=tuple(dict.fromkeys(a.name for table in shown for a in table.answers)), stages=plan.stages,
            earlier=earlier, other_delta=self.other_delta(request),
        )  # fmt: skip
        return self._with_later(self._with_pictures(view), later)

    def _with_pictures(self, view: DraftView) -> DraftView:
        assert view.request is not None
        plan, draft = view.request.plan, view.draft
        noisy = [answer for table in view.tables for answer in table.answers if answer.error > 0]
        if noisy:
            chosen = next((answer for answer in noisy if answer.name == draft.first), noisy[0])
            picture = curve_picture(*curve(plan, chosen.error), chosen.name)
            view = replace(view, curve=picture, curve_of=chosen.name)
        pair = (draft.first, draft.second)
        question = None if draft.first == draft.second else next((q for q in plan if {*pair} <= {*q.names}), None)
        if question is None:
            question = next((q for q in plan if len(q.names) > 1), None)
            pair = ("", "") if question is None else (str(question.names[0]), str(question.names[1]))
        return view if question is None else replace(view, shape=shape_picture(question, *pair), pair=pair)

    def _with_later(self, view: DraftView, later: bool) -> DraftView:
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
        from gaussmith.pipeline.release import release

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
