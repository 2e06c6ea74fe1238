"""The order of a release: validate → charge → mechanism → store once. Nothing is read before it is paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gaussmith.plans import Plan
from gaussmith.releases import Release
from gaussmith.request import Request

Progress = Callable[[float | None], None]


def release(request: Request, ledger: Any = None, id: str | None = None, progress: Progress | None = None) -> Release:
    """Release what a request asks.

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
    """Release a plan from data."""
    from gaussmith import mechanism

    return mechanism.release(plan, data, columns, progress)
