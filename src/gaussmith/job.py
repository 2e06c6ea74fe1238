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

from gaussmith.errors import LedgerError
from gaussmith.plans import Plan
from gaussmith.releases import Release
from gaussmith.request import Request

if TYPE_CHECKING:
    from gaussmith.ledger import Ledger

Progress = Callable[[float | None], None]


def release(request: Request, ledger: Any = None, id: str | None = None, progress: Progress | None = None) -> Release:
    """Release what a request asks, charged to a ledger if one is given (a path, a URL or a `Ledger`).

    The source's column names and types are public and are checked before anything is charged.
    """
    return release_plan(request.plan, request.source, request.columns, ledger, id, progress)


def release_plan(
    plan: Plan,
    data: Any,
    columns: Sequence[str] | None = None,
    ledger: Any = None,
    id: str | None = None,
    progress: Progress | None = None,
) -> Release:
    """Release a plan from data, charged to a ledger if one is given."""
    from gaussmith import mechanism

    book = open_ledger(ledger, id)
    source, used = mechanism.prepare(plan, data, columns)
    if book is None:
        return mechanism.release_source(plan, source, used, progress)
    from gaussmith.ledger.failpoints import failpoint

    name = source_name(data)
    book.check_dataset(name)
    reservation = book.reserve(id, request_hash(plan, name, used), plan.guarantee, plan_hash=plan.hash)
    if reservation.payload is not None:
        return Release.from_json(reservation.payload)
    failpoint("before-data")
    made = mechanism.release_source(plan, source, used, progress).named(reservation.release_id)
    failpoint("after-noise")
    stored = book.store(reservation.release_id, made.to_json().encode(), plan_hash=plan.hash)
    return Release.from_json(stored)


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


def source_name(data: Any) -> str:
    """What a source is called in a ledger: its path, or the kind of thing it is. Never anything of its contents."""
    return (
        os.fspath(data) if isinstance(data, str | os.PathLike) else f"<{type(data).__module__}.{type(data).__name__}>"
    )


def request_hash(plan: Plan, source: str, columns: Sequence[str] | None) -> str:
    """SHA-256 of what is asked and of which source: the same id with another one is refused."""
    fields = {"plan": plan.hash, "source": source, "columns": list(columns or [])}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
