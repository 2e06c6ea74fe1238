"""The steps of a release: validate → charge → open data → add noise → store once → return what is stored.

No data is read before the charge, and only stored results are shown. A crash after the charge keeps the charge;
asking again with the same id continues under it and then always returns the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Never

from gaussmith.checks import checks_arguments
from gaussmith.engines.addresses import is_here, read_source, without_password, without_secrets
from gaussmith.errors import LedgerError, RequestError, meant_names, nearest_name
from gaussmith.notations import named, written_in
from gaussmith.planning.plan import Plan
from gaussmith.planning.row_rule import RowRule
from gaussmith.releases.release import Release
from gaussmith.releases.saved import read_record
from gaussmith.requests.fields import STATED
from gaussmith.requests.request import Request

if TYPE_CHECKING:
    from gaussmith.engines.source import Source
    from gaussmith.ledger.book import Ledger
    from gaussmith.mechanism import Prepared
    from gaussmith.planning.certificate import Certificate

Progress = Callable[[float | None], None]

log = logging.getLogger("gaussmith")
"""Steps of releases, for those who ask for them. Nothing logged depends on data."""


@checks_arguments
def release(
    request: Request | str | os.PathLike[str],
    ledger: Any = None,
    id: str | None = None,
    progress: Progress | None = None,
    engine: str | None = None,
    master: str | None = None,
    **asked: Never,
) -> Release:
    """Release the answers to a request, charged to a ledger if one is given (a path, a URL or a `Ledger`).

    A request may be given as its .toml file. The source's column names and types are public and are checked before
    anything is charged. Several questions are charged together, once. Files are read by `engine`: "polars" (default),
    "duckdb", or "spark" at `master`; answers and release ids do not depend on it.
    """
    _refuse_fields(request, asked, "release", ("ledger", "id", "progress", "engine", "master"))
    request = read_request(request)
    read = request.splits()
    with written_in(request.notation):
        return release_table(request.plan, request.source, read, request.unit, ledger, id, progress, engine, master)


def release_table(
    plan: Plan,
    source: Any,
    read: Any,
    unit: str | None,
    ledger: Any = None,
    id: str | None = None,
    progress: Progress | None = None,
    engine: str | None = None,
    master: str | None = None,
) -> Release:
    """Release a plan from the table that its row rules read; `read` is what the hash of a request says of it too."""
    book = open_ledger(ledger, id)
    return release_opened(plan, open_table(plan, source, engine, master), source, read, unit, book, id, progress)


def open_table(plan: Plan, source: Any, engine: str | None = None, master: str | None = None) -> Source:
    """The table of a plan, opened for all its stages: names and types of columns. Reads no data value."""
    from gaussmith import mechanism

    plans = [plan] if plan.staging is None else [plan, plan.staging.first]
    return mechanism.open_table(plans, source, engine, master)


def release_opened(
    plan: Plan,
    table: Source,
    source: Any,
    read: Any,
    unit: str | None,
    book: Ledger | None,
    id: str | None,
    progress: Progress | None,
) -> Release:
    """Release a plan from its opened table; `source` is what the user named, and `read` as in `release_table`."""
    from gaussmith import mechanism

    def prepare(one: Plan) -> Prepared:
        return mechanism.prepare_request(one, table)

    staging = plan.staging
    prepared = prepare(plan if staging is None else staging.first)
    if staging is not None:  # what the last stage reads is refused now or never
        from gaussmith.pipeline.staged_release import last_plan

        mechanism.check_stages(prepared, prepare(last_plan(plan, prepared)))

    def make() -> Release:
        if staging is None:
            return mechanism.release(prepared, progress)
        from gaussmith.pipeline.staged_release import release_stages

        return release_stages(plan, prepared, prepare, progress)

    return _release(plan, make, source, lambda: hash_of(plan, source, read), book, id, unit)


@checks_arguments
def rehearse(request: Request | str | os.PathLike[str], rows: int = 10_000, **asked: Never) -> Release:
    """The release of a request on made-up rows within its bounds: it says "made up" on everything, and costs nothing.

    If the source is on this machine, its column names and types are checked as in a release; no value of it is read.

    >>> import gaussmith as gm
    >>> request = gm.Request("nowhere.csv", count=True, guarantee=gm.Guarantee(epsilon=1, delta=1e-6))
    >>> rehearse(request, rows=1_000).rows()[0]["note"]
    'made up'
    """
    _refuse_fields(request, asked, "rehearse", ("rows",))
    request = read_request(request, "rehearse")
    with written_in(request.notation):
        return release_made_up(request.plan, request.source, rows)


def release_made_up(plan: Plan, source: Any, rows: int) -> Release:
    """The release of a plan on made-up rows; a source on this machine is opened for its column names and types."""
    from gaussmith import mechanism
    from gaussmith.requests.made_up_rows import made_up_table

    kinds = _opened(plan, source).sources[0].source.kinds if _is_here(source) else None
    table = made_up_table(plan, rows, kinds)

    def prepare(one: Plan) -> Prepared:
        return mechanism.prepare_request(one, table, is_made_up=True)

    if plan.staging is None:
        made = mechanism.release(prepare(plan))
    else:
        from gaussmith.pipeline.staged_release import release_stages

        made = release_stages(plan, prepare(plan.staging.first), prepare)
    return replace(made, made_up=True)


def _release(
    plan: Plan,
    make: Callable[[], Release],
    data: Any,
    asked: Callable[[], str],
    book: Ledger | None,
    id: str | None,
    unit: str | Sequence[str] | None,
) -> Release:
    """Make the release of a plan; with a ledger, charge first and store the result."""
    if book is None:
        heard = log.isEnabledFor(logging.INFO)  # else nobody needs the hash, which takes longer than a small release
        if heard:
            log.info("release of plan %s without a ledger: reading", plan.hash[:12])
        made = make()
        if heard:
            log.info("release of plan %s: made", plan.hash[:12])
        return made
    return Release.from_json(charged(book, id, plan, data, asked(), make, unit))


def read_request(request: Any, use: str = "release") -> Request:
    """The request itself, or the one in a .toml file; refuses anything else with an error that shows its `use`."""
    if isinstance(request, Request):
        return request
    example = f"gaussmith.{use}(gaussmith.Request({{}}, count=True, guarantee=…))"
    if isinstance(request, str | os.PathLike):
        path = os.fspath(request)
        if path.endswith(".toml"):
            return Request.from_toml(path)
        said = repr(without_secrets(path))
        what, remedy = f"source {said} without a question", example.format(said)
    else:
        what = f"{type(request).__name__} instead of a request"
        is_plan = use == "release" and hasattr(request, "release")
        remedy = "plan.release(data)" if is_plan else example.format('"people.parquet"')
    raise RequestError(
        what, "a request names a source and what to release from it", f"write {remedy}", code="not-a-request"
    )


def _refuse_fields(request: Any, asked: Mapping[str, Any], use: str, arguments: Sequence[str]) -> None:
    """Refuse what belongs into a request, given beside it; and names that nothing has."""
    known = (*Request.__dataclass_fields__, *STATED)
    for name in asked:
        if name in known or (meant_names(name, known) and not meant_names(name, arguments)):
            path = isinstance(request, str | os.PathLike)
            source = repr(without_secrets(request)) if path else '"people.parquet"'
            meant = [each if each in known else next(iter(meant_names(each, known)), "") for each in asked]
            fields = ", ".join(f"{each}=…" for each in meant if each not in ("", *STATED, "guarantee", "source"))
            remedy = f"gaussmith.Request({source}, {fields or 'count=True'}, guarantee=gaussmith.Guarantee(…))"
            raise RequestError(
                f"{name} given to gaussmith.{use}",
                "what is asked, and under which guarantee, is part of a request",
                f"make a request first: gaussmith.{use}({remedy})",
                code="field-beside-request",
                field=name,
            )
        what, rule = f"{name} given to gaussmith.{use}", "it has no such argument"
        remedy = nearest_name(name, arguments)
        raise RequestError(what, rule, remedy, code="no-such-argument", argument=name)


def check_source(request: Request) -> bool:
    """Whether the source is on this machine; if so, its columns are checked and refused as in a release.

    Reads column names and types, no data values. Object stores are not contacted.
    """
    return read_schema(request) is not None


def read_schema(request: Request) -> tuple[RowRule | None, ...] | None:
    """The row rules of a request, completed from the source's schema; None if the source is not on this machine."""
    from gaussmith import mechanism

    if not _is_here(request.source):
        return None
    with written_in(request.notation):
        told = mechanism.told_rules(_opened(request.plan, request.source))
    return told if len(told) == len(request.plan.queries) else tuple(query.row_rule for query in request.plan.queries)


def _is_here(source: Any) -> bool:
    data = read_source(source).data
    return not isinstance(data, str | os.PathLike) or is_here(os.fspath(data))


def _opened(plan: Plan, source: Any) -> Prepared:
    """The opened source of a plan, or of what its last stage reads."""
    from gaussmith import mechanism

    table = open_table(plan, source)
    if plan.staging is not None and plan.staging.first.finds_keys:
        from gaussmith.pipeline.staged_release import last_plan

        plan = last_plan(plan, mechanism.prepare_request(plan.staging.first, table))
    return mechanism.prepare_request(plan, table)


def release_plan(
    plan: Plan,
    data: Any,
    columns: Sequence[str] | None = None,
    ledger: Any = None,
    id: str | None = None,
    progress: Progress | None = None,
    form: str | None = None,
) -> Release:
    """Release a plan from plain data, charged to a ledger if one is given."""
    from gaussmith import mechanism

    book = open_ledger(ledger, id)

    def prepare(one: Plan) -> Prepared:
        return mechanism.prepare(one, data, columns, form)

    staging = plan.staging
    if any(
        query.row_rule is not None for query in plan.queries
    ):  # it came from a request, which knows how rows are read
        mechanism.refuse_stages(plan)
    prepared = prepare(plan if staging is None else staging.first)
    if staging is not None:
        mechanism.check_stages(prepared, prepare(replace(plan, staging=None)))

    def make() -> Release:
        if staging is None:
            return mechanism.release(prepared, progress)
        from gaussmith.pipeline.staged_release import release_stages

        return release_stages(plan, prepared, prepare, progress)

    rule = prepared.sources[plan.slot.queries[0]].rule  # other queries only count people for it
    asked = partial(hash_of, plan, data, rule.to_dict())
    return _release(plan, make, data, asked, book, id, rule.unit)


def charged(
    book: Ledger,
    id: str | None,
    plan: Plan,
    data: Any,
    asked: str,
    make: Callable[[], Release],
    unit: str | Sequence[str] | None = None,
) -> bytes:
    """The stored bytes of one release: charge first, then `make` it from data, store once, return the stored bytes.

    `unit` is the column that identifies the person; None: each row is one person.
    """
    from gaussmith.ledger.book import standing_of
    from gaussmith.ledger.chain import failpoint

    if isinstance(read_source(data).data, str | os.PathLike):  # a frame has no name and cannot be checked
        book.check_dataset(source_name(data))
    reservation = book.reserve(
        id, asked, plan.spends, plan_hash=plan.hash, neighbours=plan.neighbours, unit=ledger_unit(unit),
        keys_delta=plan.keys_delta,
    )  # fmt: skip
    known = (reservation.release_id, book.where, plan.hash[:12])
    log.info("release %s in %s: charge is %s, plan %s", *known[:2], reservation.state, known[2])
    if reservation.payload is not None:
        return reservation.payload
    failpoint("before-data")
    standing = standing_of(book, reservation.receipt)
    made = make().named(reservation.release_id, str(reservation.receipt), standing)
    failpoint("after-noise")
    payload = made.to_json().encode("utf-8", "surrogatepass")
    stored = book.store(reservation.release_id, payload, plan_hash=plan.hash, taken=made.taken_less)
    log.info("release %s in %s: stored, plan %s", *known)
    return stored


def open_ledger(ledger: Any, id: str | None) -> Ledger | None:
    """The ledger given by a path, a URL or a `Ledger`; None if none is given."""
    if ledger is None:
        if id is not None:
            what = f"id={id!r} without a ledger"
            raise LedgerError(
                what, "ids are kept by a ledger", f"give {named('ledger')} too", code="id-without-ledger", id=id
            )
        return None
    from gaussmith.ledger.book import Ledger

    if isinstance(ledger, Ledger):
        return ledger
    if isinstance(ledger, str | os.PathLike):
        return Ledger(ledger)
    what, rule = f"ledger of type {type(ledger).__name__}", "it must be a path, a URL or a gaussmith.Ledger"
    raise LedgerError(what, rule, 'write "study.ledger"', code="not-a-ledger", type=type(ledger).__name__)


def ledger_unit(unit: str | Sequence[str] | None) -> str | Sequence[str]:
    """The unit of a request in the form a ledger uses; without a unit, each row is one person."""
    from gaussmith.ledger.protection import EACH_ROW

    return EACH_ROW if unit is None else unit


def source_name(data: Any) -> str:
    """The name of a source in a ledger: its path without secrets, or its type."""
    data = read_source(data).data
    if isinstance(data, str | os.PathLike):
        return without_secrets(os.fspath(data))
    return f"<{type(data).__module__}.{type(data).__name__}>"


def request_hash(request: Request) -> str:
    """SHA-256 of everything asked in a request: the same id with another request is refused."""
    return hash_of(request.plan, request.source, request.splits())


def hash_of(plan: Plan, data: Any, read: Any) -> str:
    """SHA-256 of what was asked, the full address of the source (one path can serve many queries) and how it is read.

    Nothing of the noise is in it: a request has the same hash on every processor.
    """
    told = read_source(data)
    named = isinstance(told.data, str | os.PathLike)
    address = without_password(os.fspath(told.data)) if named else source_name(told.data)
    fields = {"asked": plan.asked(), "source": address, "read": read, **told.said}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


# `gaussmith.read`: whatever a file of ours holds.


@checks_arguments
def read(source: str | bytes | os.PathLike[str]) -> Plan | Release | Request | Certificate:
    """The plan, release or certificate written by `to_json`: its text, or the path of a file; or the request in a file
    whose name ends in .toml.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Box([0], [1]), gm.Guarantee(mu=1))
    >>> gm.read(plan.to_json()) == plan
    True
    """
    if not isinstance(source, bytes) and os.fspath(source).endswith(".toml"):
        from gaussmith.requests.request import Request

        return Request.from_toml(os.fspath(source))
    return read_record(source)
