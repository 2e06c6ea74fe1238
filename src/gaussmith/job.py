"""The order of a release: validate → charge → data → noise → store once → return what is stored.

Nothing is read before it is paid for, and nothing is shown that is not stored: a crash after the charge keeps the
charge, and asking again under the same id goes on under it and returns the same bytes ever after.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gaussmith.addresses import is_here, without_password, without_secrets
from gaussmith.domains import People
from gaussmith.errors import LedgerError, PlanError, RequestError
from gaussmith.group_plans import GroupPlan
from gaussmith.group_releases import GroupRelease
from gaussmith.joint_plans import JointPlan
from gaussmith.joint_releases import JointRelease, read
from gaussmith.plans import Plan
from gaussmith.readings import TOTAL, Reading
from gaussmith.releases import Release
from gaussmith.request import Request
from gaussmith.source_tables import read_source

if TYPE_CHECKING:
    from gaussmith.ledger import Ledger
    from gaussmith.sums.readings import Table

Progress = Callable[[float | None], None]


def release(
    request: Request | str | os.PathLike[str],
    ledger: Any = None,
    id: str | None = None,
    progress: Progress | None = None,
    engine: str | None = None,
    master: str | None = None,
) -> Release | GroupRelease | JointRelease:
    """Release what a request asks, charged to a ledger if one is given (a path, a URL or a `Ledger`).

    A request may be named by its .toml file. The source's column names and types are public and are checked before
    anything is charged. Several questions are charged together, once. Files are read by `engine`: "polars" unless said,
    "duckdb", or "spark" at `master`; the answers are the same, and so is what an id stands for.
    """
    from gaussmith import mechanism

    request = read_request(request)
    book = open_ledger(ledger, id)
    tables = _open_tables(request, engine, master)

    def make() -> Release | GroupRelease | JointRelease:
        made = [mechanism.release_table(plan, table, reading, progress) for plan, reading, table in tables]
        return JointRelease(request.plan, tuple(made)) if isinstance(request.plan, JointPlan) else made[0]

    if book is None:
        return make()
    return read(charged(book, id, request.plan, request.source, request_hash(request), make, request.unit))


def read_request(request: Any) -> Request:
    """A request itself, or the one in a .toml file; refuses, in words, what else there is to release."""
    if isinstance(request, Request):
        return request
    example = "gaussmith.release(gaussmith.Request({}, count=True, guarantee=…))"
    if isinstance(request, str | os.PathLike):
        path = os.fspath(request)
        if path.endswith(".toml"):
            return Request.from_toml(path)
        said = repr(without_secrets(path))
        what, remedy = f"source {said} without a question", example.format(said)
    else:
        what = f"{type(request).__name__} instead of a request"
        remedy = "plan.release(data)" if hasattr(request, "release") else example.format('"people.parquet"')
    raise RequestError(what, "a request says what is asked of which source", f"write {remedy}")


def _open_tables(
    request: Request, engine: str | None, master: str | None
) -> list[tuple[Plan | GroupPlan, Reading, Table]]:
    """Each plan of a request with its reading and the opened table; no data value is read."""
    from gaussmith import mechanism

    data = mechanism.open_data(request.source, [reading for _, reading in request.parts], engine, master)
    return [(plan, reading, mechanism.prepare_table(plan, data, reading)) for plan, reading in request.parts]


def check_source(request: Request) -> bool:
    """Whether the source is on this machine; then its columns fit the request, or it is refused as a release would.

    Reads names and types of columns, no data value. Stores are not asked.
    """
    return read_schema(request) is not None


def read_schema(request: Request) -> tuple[Reading, ...] | None:
    """The readings of a request with what its source's schema says of them; None where it is not on this machine."""
    from gaussmith import mechanism

    data = read_source(request.source).data
    if isinstance(data, str | os.PathLike) and not is_here(os.fspath(data)):
        return None
    return tuple(mechanism.tell_source(table, reading) for _, reading, table in _open_tables(request, None, None))


def release_plan(
    plan: Plan,
    data: Any,
    columns: Sequence[str] | None = None,
    ledger: Any = None,
    id: str | None = None,
    progress: Progress | None = None,
    form: str | None = None,
) -> Release:
    """Release a plan from data, charged to a ledger if one is given."""
    from gaussmith import mechanism

    book = open_ledger(ledger, id)
    opened = mechanism.prepare(plan, data, columns, form)
    if book is None:
        return mechanism.release_opened(plan, opened, progress)
    asked = hash_of(plan.hash, data, {"columns": list(opened.columns or []), "form": opened.form})
    made = charged(book, id, plan, data, asked, lambda: mechanism.release_opened(plan, opened, progress), opened.unit)
    return Release.from_json(made)


def release_group_plan(
    plan: GroupPlan, data: Any, columns: Sequence[str] | None = None, ledger: Any = None, id: str | None = None
) -> GroupRelease:
    """Release a plan of groups from a frame or file that holds keys and numbers, each row one person."""
    from gaussmith import mechanism

    domain = plan.each.domain
    if isinstance(domain, People):
        raise PlanError(
            "a plan for people with many rows",
            "it must be said whose rows are whose",
            "release the request it came from: gaussmith.release(request)",
        )
    names = list(columns) if columns is not None else [domain.name(j) for j in range(domain.dimension)]
    reading = Reading(tuple((TOTAL, name) for name in names), by=plan.groups.columns)
    book = open_ledger(ledger, id)
    table = mechanism.prepare_table(plan, data, reading)

    def make() -> GroupRelease:
        made = mechanism.release_table(plan, table, reading)
        assert isinstance(made, GroupRelease)
        return made

    if book is None:
        return make()
    return GroupRelease.from_json(charged(book, id, plan, data, hash_of(plan.hash, data, reading.to_dict()), make))


def charged(
    book: Ledger,
    id: str | None,
    plan: Plan | GroupPlan | JointPlan,
    data: Any,
    asked: str,
    make: Callable[[], Release | GroupRelease | JointRelease],
    unit: str | Sequence[str] | None = None,
) -> bytes:
    """The bytes stored for one release: charge first, then `make` it from data, store it once, return the stored.

    `unit` is the column that names the person; None: each row is one person.
    """
    from gaussmith.ledger.failpoints import failpoint

    if isinstance(read_source(data).data, str | os.PathLike):  # a frame has no name: whoever passes it vouches for it
        book.check_dataset(source_name(data))
    reservation = book.reserve(
        id, asked, plan.guarantee, plan_hash=plan.hash, neighbours=plan.neighbours, unit=ledger_unit(unit)
    )
    if reservation.payload is not None:
        return reservation.payload
    failpoint("before-data")
    made = make().named(reservation.release_id, str(reservation.receipt))
    failpoint("after-noise")
    return book.store(reservation.release_id, made.to_json().encode("utf-8", "surrogatepass"), plan_hash=plan.hash)


def open_ledger(ledger: Any, id: str | None) -> Ledger | None:
    """The ledger that a path, a URL or a ledger names; None for none."""
    if ledger is None:
        if id is not None:
            raise LedgerError(f"id={id!r} without a ledger", "ids are kept by a ledger", "give ledger= too")
        return None
    from gaussmith.ledger import Ledger

    if isinstance(ledger, Ledger):
        return ledger
    if isinstance(ledger, str | os.PathLike):
        return Ledger(ledger)
    raise LedgerError(
        f"ledger of type {type(ledger).__name__}", "it is a path, a URL or a gaussmith.Ledger", 'write "study.ledger"'
    )


def ledger_unit(unit: str | Sequence[str] | None) -> str | Sequence[str]:
    """The unit of a request as a ledger is told it: without one, each row is one person."""
    from gaussmith.ledger import EACH_ROW

    return EACH_ROW if unit is None else unit


def source_name(data: Any) -> str:
    """What a source is called in a ledger: its path without secrets, or the kind of thing it is."""
    data = read_source(data).data
    if isinstance(data, str | os.PathLike):
        return without_secrets(os.fspath(data))
    return f"<{type(data).__module__}.{type(data).__name__}>"


def request_hash(request: Request) -> str:
    """SHA-256 of all that a request asks: the same id with another request is refused."""
    return hash_of(request.plan.hash, request.source, [reading.to_dict() for reading in request.readings])


def hash_of(plan_hash: str, data: Any, read: Any) -> str:
    """SHA-256 of a plan, of the whole address of the source (one path can answer many queries) and how it is read."""
    told = read_source(data)
    named = isinstance(told.data, str | os.PathLike)
    address = without_password(os.fspath(told.data)) if named else source_name(told.data)
    fields = {"plan": plan_hash, "source": address, "read": read, **told.said}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
