"""The addresses of the workbench. Pages are plain HTML; a small script only swaps parts of them while one types."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as Asked
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from gaussmith import __version__
from gaussmith.checks import PERCENT
from gaussmith.engines.addresses import short_name
from gaussmith.errors import GaussmithError, LedgerError, printable
from gaussmith.ledger.units import round_down
from gaussmith.pipeline.release import check_source
from gaussmith.releases.release import Release
from gaussmith.report.charts import clock, spending_picture
from gaussmith.report.page import POLICY as REPORT_POLICY
from gaussmith.report.page import page, prose
from gaussmith.report.page import page as report_page
from gaussmith.report.releases import marked, shown_rows
from gaussmith.report.tables import figure
from gaussmith.workbench.bench import MAX_LISTED, Bench, Busy, DraftView
from gaussmith.workbench.desk import Confirmation, Desk, Job
from gaussmith.workbench.drafts import BOUNDED, KINDS, LINES, Ask, Draft, add_line, drop_line, read_form
from gaussmith.workbench.pictures import budget_picture
from gaussmith.workbench.places import place
from gaussmith.workbench.reading import request_toml

if TYPE_CHECKING:
    from gaussmith.ledger.book import Ledger


# The files of a release that the page hands out.

TYPES = {
    "report.html": "text/html; charset=utf-8",
    "release.json": "application/json",
    "answers.csv": "text/csv; charset=utf-8",
    "answers.parquet": "application/vnd.apache.parquet",
    "request.toml": "application/toml; charset=utf-8",
    "release.py": "text/x-python; charset=utf-8",
    "release.ipynb": "application/x-ipynb+json",
    "registry.json": "application/json",
}
"""The files by name, with their types, in the order in which they are offered."""

PURPOSES = {
    "report.html": "the report below, to read, print or publish",
    "release.json": "everything in one file, for archives and programs",
    "answers.csv": "the answers for a spreadsheet",
    "answers.parquet": "the answers for a program, with their types",
    "request.toml": "what was asked, to keep, review or ask again",
    "release.py": "the same in Python; needs request.toml beside it",
    "release.ipynb": "the same as a notebook; needs request.toml beside it",
    "registry.json": "a draft of an entry for a registry of deployments; [about] in the request fills it",
}
"""What each file is for."""

OF_REQUEST = ("request.toml", "release.py", "release.ipynb")
"""Those that are there only together with the request."""

SCRIPT = '''\
"""The same request in Python: its plan, and its release with a ledger."""

import gaussmith as gm

request = gm.Request.from_toml("request.toml")
print(request.plan)

# Asking with the same id returns the stored release, and is not charged again.
{call}
print(release)
'''


def content(job: Job, name: str, ledger: str | None) -> bytes:
    """The bytes of one file."""
    release = job.release
    assert release is not None
    makers: dict[str, Callable[[], bytes]] = {
        "report.html": lambda: page(release).encode("utf-8", "replace"),
        "release.json": lambda: (release.to_json() + "\n").encode("utf-8", "surrogatepass"),
        "answers.csv": lambda: _written(release, name),
        "answers.parquet": lambda: _written(release, name),
        "request.toml": job.toml.encode,
        "release.py": lambda: _script(job, ledger).encode(),
        "release.ipynb": lambda: _notebook(job, ledger).encode(),
        "registry.json": lambda: _registry(release),
    }
    return makers[name]()


def _written(release: Release, name: str) -> bytes:
    """A file as `--out` writes it."""
    from gaussmith.report.folder import write_folder

    with tempfile.TemporaryDirectory() as folder:
        write_folder(release, folder)
        return (Path(folder) / name).read_bytes()


def _registry(release: Release) -> bytes:
    """An entry for the registry of deployments; it says what is missing where the request says nothing about itself."""
    return (json.dumps(release.registry(draft=True), ensure_ascii=False, indent=2) + "\n").encode()


def _script(job: Job, ledger: str | None) -> str:
    charged = f", ledger={ledger!r}, id={job.id!r}" if ledger and job.id else ""
    return SCRIPT.format(call=f"release = gm.release(request{charged})")


def _notebook(job: Job, ledger: str | None) -> str:
    """A notebook of the same steps; it is handed out without output."""
    body = _script(job, ledger).partition('"""\n\n')[2]
    about = "# A private release\n\nPut `request.toml` beside this notebook."
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "id": "about", "metadata": {}, "source": about}]
    parts = body.split("\n\n")
    parts = [f"{parts[0]}\n\n{parts[1]}", *parts[2:]]
    for i, text in enumerate(parts):
        cells.append({"cell_type": "code", "id": f"step-{i + 1}", "metadata": {}, "source": text.strip(),
                      "execution_count": None, "outputs": []})  # fmt: skip
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1)


# The answers of a release as tables for the page, before its report.

MAX_ROWS = 12
"""Rows of one question; all are in the report and the files."""


@dataclass(frozen=True)
class AnswerTable:
    """The first answers of one question: its name if there are several, header, rows, and how many more there are."""

    question: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    rest: int

    @property
    def marked(self) -> list[str]:
        """What the marks mean that its values have."""
        return marked(self.rows)


def answer_tables(release: Release) -> list[AnswerTable]:
    """One for each question."""
    if len(release.plan) == 1:
        return [AnswerTable("", *shown_rows(release, MAX_ROWS))]
    return [AnswerTable(printable(each.questions[0]), *shown_rows(each, MAX_ROWS)) for each in release]


# What the page of a ledger shows: entries, spending over time, and how many more releases fit.

MOST = 100
"""Limit on the releases that the rest is shared among."""


@dataclass(frozen=True)
class Spending:
    """A ledger in numbers and words. `each` is what every one of `more` further releases could have."""

    where: str
    dataset: str | None
    whole: str
    is_spent: bool
    left: float
    epsilon: float | None
    delta: float | None
    history: tuple[dict[str, Any], ...]
    picture: str
    bar: str
    more: int
    each: str
    like_last: int | None


def spending(book: Ledger, more: int) -> Spending:
    """The ledger, with what is left shared among some more releases."""
    history = book.history()
    rows = tuple({**row, "clock": clock(row["time"])} for row in reversed(history))
    spent, last = 1 - book.left, history[-1] if history else {"share": 0}
    more = min(MOST, max(1, more))
    like_last = None
    if last["share"] and last["of_pure"] == (not book.budget):
        like_last = int(book.left / last["share"] + 1e-9)
    return Spending(
        book.where, book.dataset, str(book.guarantee), book.is_spent, 100 * book.left,
        book.remaining_epsilon, book.guarantee.delta, rows, spending_picture(history) if history else "",
        budget_picture(0.0, spent), more, _each(book, more), like_last,
    )  # fmt: skip


def _each(book: Ledger, more: int) -> str:
    rest = book.remaining_guarantee
    if rest is None and book.remaining_pure:
        return f"ε = {round_down(book.remaining_pure / more, 4):g} of pure noise each"
    if rest is None:
        return "nothing: the budget is spent"
    part = rest.split(more)[0]
    if book.guarantee.delta is None:
        return f"μ = {round_down(part.mu, 4):g} each"
    epsilon = part.epsilon_at(book.guarantee.delta)
    return f"ε = {round_down(epsilon, 4) if epsilon > 0 else 0:g} each, at δ = {book.guarantee.delta:g}"


MAX_FIELDS = 3000
"""Limit on the fields of a form."""

STATIC = {"page.css": "text/css", "live.js": "text/javascript"}


class PageRoutes:
    """The pages of one bench. `read_only` has no release."""

    def __init__(self, bench: Bench, start: Draft, read_only: bool = False) -> None:
        self.bench, self.start, self.read_only, self.desk = bench, start, read_only, Desk()
        loader = jinja2.PackageLoader("gaussmith.workbench", "templates")
        self._templates = jinja2.Environment(
            loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
        )
        self._templates.filters |= {
            "figure": figure,
            "shown": _shown,
            "percent": _percent,
            "list_twice": _twice,
            "prose": _prose,
        }
        self._templates.globals |= {
            "kinds": KINDS, "version": __version__, "questions_of": _questions_of, "percent": PERCENT,
        }  # fmt: skip

    def app(self) -> Starlette:
        routes = [
            Route("/", self.form, methods=["GET"]),
            Route("/", self.update, methods=["POST"]),
            Route("/request.toml", self.toml, methods=["GET"]),
            Route("/ledger", self.ledger, methods=["GET"]),
            Route("/releases/{name}", self.job, methods=["GET"]),
            Route("/releases/{name}/report", self.report, methods=["GET"]),
            Route("/releases/{name}/files/{file}", self.file, methods=["GET"]),
            Route("/static/{file}", self.static, methods=["GET"]),
        ]
        if not self.read_only:
            routes += [
                Route("/confirm", self.ask_to_confirm, methods=["POST"]),
                Route("/confirm/{name}", self.confirm, methods=["GET"]),
                Route("/confirm/{name}", self.release, methods=["POST"]),
                Route("/stored", self.stored, methods=["POST"]),
            ]
        handlers: dict[Any, Callable[..., Any]] = {404: self._missing, Busy: self._busy, GaussmithError: self._refused}
        return Starlette(routes=routes, exception_handlers=handlers)

    # -- the form ---------------------------------------------------------------------------------------------------

    async def form(self, asked: Asked) -> Response:
        draft, name = self.start, None
        if (kept := self.desk.draft(asked.query_params.get("draft"))) is not None:
            draft, name = kept, asked.query_params["draft"]
        elif (job := self.desk.jobs.get(asked.query_params.get("copy", ""))) is not None:
            draft = job.draft
        view = await self._view(draft, "later" in asked.query_params)
        return self._page("form.html", view=view, key=self.desk.keep_draft(draft, name))

    async def update(self, asked: Asked) -> Response:
        draft, pairs = await _read(asked)
        for name, value in pairs:
            if name == "add" and value in LINES:
                draft = add_line(draft, value)
            kind, _, number = value.partition("-")
            if name == "drop" and kind in LINES and (at := _count(number)) is not None:
                draft = drop_line(draft, kind, at)
        given = dict(pairs).get("draft")
        if "x-live" in asked.headers:  # the script of the page swaps what changed
            view = await self._view(draft, asked.headers["x-live"] == "later")
            return self._page("form.html", view=view, key=self.desk.keep_draft(draft, given))
        later = "&later=1" if ("with", "later") in pairs else ""
        return _go(f"/?draft={self.desk.keep_draft(draft, given)}{later}")

    async def toml(self, asked: Asked) -> Response:
        draft = self.desk.draft(asked.query_params.get("draft"))
        if draft is None:
            return self._told("This request is not known any more", "Open the form again.", 404)
        request = await run_in_threadpool(self.bench.request, draft)
        return _download("request.toml", request_toml(draft, request).encode())

    async def _view(self, draft: Draft, later: bool = False) -> DraftView:
        return await run_in_threadpool(self.bench.view, draft, later)

    # -- the release ------------------------------------------------------------------------------------------------

    async def ask_to_confirm(self, asked: Asked) -> Response:
        draft, pairs = await _read(asked)
        key = self.desk.keep_draft(draft, dict(pairs).get("draft"))

        def prepare() -> str | DraftView:
            view = self.bench.view(draft)
            if view.said or view.request is None:
                return view
            try:
                check_source(view.request)
            except GaussmithError as error:
                return replace(view, said=(place(error, draft),))
            return self.desk.confirm(Confirmation(draft, view.request, request_toml(draft, view.request)))

        found = await run_in_threadpool(prepare)
        if isinstance(found, DraftView):
            return self._page("form.html", 422, view=found, key=key)
        return _go(f"/confirm/{found}")

    async def confirm(self, asked: Asked) -> Response:
        name = asked.path_params["name"]
        confirmation = self.desk.confirmation(name)
        if confirmation is None or (confirmation.is_old and confirmation.released is None):
            return self._told("This confirmation is not known any more", "Each is good for one hour.", 404)
        if confirmation.released is not None:
            return _go(f"/releases/{confirmation.released}")
        return await self._confirming(name, confirmation)

    async def _confirming(self, name: str, confirmation: Confirmation, error: Any = None, id: str = "") -> Response:
        view = await self._view(confirmation.draft)
        key = self.desk.keep_draft(confirmation.draft)
        if view.request is None:  # the source is not there any more
            return self._page("form.html", 422, view=view, key=key)
        book = self.bench.book()
        stem = (short_name(confirmation.request.source) or "release").partition(".")[0]
        id = id or view.earlier or ("" if book is None else f"{stem[:60]}-{len(book.history()) + 1}")
        rules = [query.row_rule for query in confirmation.request.plan.queries if query.row_rule is not None]
        read = list(dict.fromkeys(column for rule in rules for column in rule.columns_read))
        over_n = any(answer.over_n for table in view.tables for answer in table.answers)
        given = {"view": view, "name": name, "id": id, "key": key, "error": error, "read": read, "over_n": over_n}
        given |= {"toml": confirmation.toml, "bounded": list(filter(_is_bounded, view.draft.asks))}
        return self._page("confirm.html", 200 if error is None else 422, **given)

    async def release(self, asked: Asked) -> Response:
        name = asked.path_params["name"]
        confirmation = self.desk.confirmation(name)
        if confirmation is None:
            return self._told("This confirmation is not known", "Go through the form again; nothing was charged.", 409)
        if confirmation.released is not None:
            return _go(f"/releases/{confirmation.released}")  # a second click, or a replay: never a second release
        if confirmation.is_old:
            return self._told("This confirmation is too old", "Go through the form again; nothing was charged.", 409)
        pairs = _pairs(await asked.body())
        id = dict(pairs).get("id", "").strip() if self.bench.ledger else None
        request = confirmation.request
        try:
            share = await run_in_threadpool(self.bench.share, request)
            before = await run_in_threadpool(self.bench.state_of, id)
            if self.bench.ledger and not id:
                what, rule = "id is empty", "it names this release in the ledger"
                raise LedgerError(what, rule, "write a short name", code="id-field-empty")
        except GaussmithError as error:
            return await self._confirming(name, confirmation, place(error, confirmation.draft), id or "")

        def make(job: Job) -> Release:
            def progress(fraction: float | None) -> None:
                job.read = fraction

            found: Release = self.bench.release(request, id, progress)
            return found

        started = self.desk.start(name, id, make, share, before)
        if started is None:
            return self._told("Another release is being made", "Wait until it is done, then confirm again.", 409)
        return _go(f"/releases/{started}")

    async def job(self, asked: Asked) -> Response:
        job = self.desk.jobs.get(asked.path_params["name"])
        if job is None:
            return self._told("This release is not known here", "The ledger page lists all that are stored.", 404)
        state = job.state  # it may change while the page is made
        files = {file: PURPOSES[file] for file in TYPES if job.toml or file not in OF_REQUEST}
        error = None if job.error is None else place(job.error, job.draft)
        name = asked.path_params["name"]
        tables = [] if job.release is None else answer_tables(job.release)
        return self._page("release.html", job=job, state=state, name=name, files=files, error=error, tables=tables)

    async def report(self, asked: Asked) -> Response:
        job = self.desk.jobs.get(asked.path_params["name"])
        if job is None or job.release is None:
            return self._told("There is no report", "The release is not done.", 404)
        text = await run_in_threadpool(report_page, job.release)
        policy = f"{REPORT_POLICY}; frame-ancestors 'self'; sandbox"
        headers = {"content-security-policy": policy, "x-frame-options": "SAMEORIGIN"}
        return HTMLResponse(text, headers=headers)

    async def file(self, asked: Asked) -> Response:
        job, name = self.desk.jobs.get(asked.path_params["name"]), asked.path_params["file"]
        if job is None or job.release is None or name not in TYPES:
            return self._told("There is no such file", "", 404)
        return _download(name, await run_in_threadpool(content, job, name, self.bench.ledger))

    # -- the ledger -------------------------------------------------------------------------------------------------

    async def ledger(self, asked: Asked) -> Response:
        book = await run_in_threadpool(self.bench.book)
        if book is None:
            return self._page("ledger.html", found=None)
        more = _count(asked.query_params.get("n", ""))
        return self._page("ledger.html", found=await run_in_threadpool(spending, book, 10 if more is None else more))

    async def stored(self, asked: Asked) -> Response:
        """A stored release of the ledger, opened again: nothing is read or charged."""
        book, id = self.bench.book(), dict(_pairs(await asked.body())).get("id", "")
        payload = None if book is None else book.result(id)
        if payload is None:
            return self._told("There is no stored release of this id", "", 404)
        job = Job(Draft(count=""), "", id, "done", release=Release.from_json(payload))
        return _go(f"/releases/{self.desk.keep_job(job)}")

    # -- the rest ---------------------------------------------------------------------------------------------------

    async def static(self, asked: Asked) -> Response:
        name = asked.path_params["file"]
        if name not in STATIC:
            return self._told("There is no such page", "", 404)
        body = (resources.files("gaussmith.workbench") / "static" / name).read_bytes()
        return Response(body, media_type=STATIC[name])

    def _page(self, template: str, status: int = 200, **given: Any) -> Response:
        common = {
            "told": printable(self.desk.told()), "read_only": self.read_only,
            "has_ledger": self.bench.ledger is not None, "offered": self.bench.reach.offered(),
            "most": MAX_LISTED, "folder": self.bench.reach.folder.name,
            "protected": self.bench.protected,
        }  # fmt: skip
        text = self._templates.get_template(template).render(**common, **given)
        return HTMLResponse(text, status)

    def _told(self, what: str, more: str, status: int) -> Response:
        return self._page("told.html", status, what=what, more=more)

    async def _missing(self, asked: Asked, error: Exception) -> Response:
        return self._told("There is no such page", "", 404)

    async def _busy(self, asked: Asked, error: Exception) -> Response:
        return Response("Too many requests at once. Wait a second, and try again.\n", 429, {"retry-after": "1"})

    async def _refused(self, asked: Asked, error: Exception) -> Response:
        assert isinstance(error, GaussmithError)
        return self._told(
            error.what, " ".join(part for part in (error.rule + ".", error.remedy + ".") if part[1:]), 422
        )


def _shown(text: object) -> str:
    return printable(str(text))


def _prose(text: object) -> str:
    """A sentence as in the report, escaped, with powers of ten that do not break."""
    return prose(str(text))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _twice(name: str) -> tuple[str, str]:
    return name, name


def _questions_of(draft: Draft, chosen: str) -> list[tuple[str, str]]:
    """The questions that a line can be in: their keys and names, and the one that it names, also if it was removed."""
    known = {part.key: part.name or f"question {i + 1}" for i, part in enumerate(draft.questions)}
    return [*known.items(), *([(chosen, "a removed question")] if chosen and chosen not in known else [])]


def _is_bounded(ask: Ask) -> bool:
    """Whether a line states bounds, or lets them be learned."""
    return ask.kind in BOUNDED and bool(ask.column) and bool(ask.low or ask.high or ask.how == "private")


def _count(text: str) -> int | None:
    """A small number that was sent by a page; None for all else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else None


def _pairs(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        return []


async def _read(asked: Asked) -> tuple[Draft, list[tuple[str, str]]]:
    pairs = _pairs(await asked.body())
    return read_form(pairs), pairs


def _go(address: str) -> Response:
    return RedirectResponse(address, 303)


def _download(name: str, body: bytes) -> Response:
    return Response(body, media_type=TYPES[name], headers={"content-disposition": f'attachment; filename="{name}"'})
