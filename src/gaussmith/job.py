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
    from gaussmith.group_plans import GroupPlan
    from gaussmith.group_releases import GroupRelease
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
    payload = charged(
        book,
        id,
        source_name(data),
        request_hash(plan.hash, source_name(data), used),
        plan,
        lambda: mechanism.release_source(plan, source, used, progress),
    )
    return Release.from_json(payload)


def charged(
    book: Ledger,
    id: str | None,
    source: str,
    request_hash: str,
    plan: Plan | GroupPlan,
    make: Callable[[], Release | GroupRelease],
) -> bytes:
    """The bytes stored for one release: charge first, then `make` it from data, store it once, return the stored."""
    from gaussmith.ledger.failpoints import failpoint

    book.check_dataset(source)
    reservation = book.reserve(id, request_hash, plan.guarantee, plan_hash=plan.hash)
    if reservation.payload is not None:
        return reservation.payload
    failpoint("before-data")
    made = make().named(reservation.release_id, str(reservation.receipt))
    failpoint("after-noise")
    return book.store(reservation.release_id, made.to_json().encode(), plan_hash=plan.hash)


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


def request_hash(plan_hash: str, source: str, columns: Sequence[str] | None) -> str:
    """SHA-256 of what is asked and of which source: the same id with another one is refused."""
    fields = {"plan": plan_hash, "source": source, "columns": list(columns or [])}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
