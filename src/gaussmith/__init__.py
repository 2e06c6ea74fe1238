"""Gaussmith releases sums, means, counts and histograms of sensitive vectors under differential privacy,
with Gaussian noise forged to the shape of the data.

A tour in four steps:

1. Declare what one record can be.

>>> import gaussmith as gm
>>> people = gm.Box({"age": (0, 100), "visits": (0, 80)})

2. Say how well people are protected, and plan. No data is needed: the errors are known beforehand.

>>> plan = gm.plan(people, gm.Guarantee(epsilon=1, delta=1e-6), answers="means", count=True, weights="relative")
>>> {name: round(error, 3) for name, error in plan.errors(rows=10_000).items()}
{'age': 0.052, 'visits': 0.042, 'count': 5.863}

3. Release, from an array, a frame of any common library, or a file.

>>> import numpy as np
>>> r = plan.release(np.full((10_000, 2), [40.0, 3.0]))
>>> low, high = r["age"].interval(0.999999)
>>> low < 40 < high
True

4. Print it, save it (`r.to_json()`), make a page of it (`r.report("out.html")`).

Nothing is seeded, nothing heavy is imported until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "gaussmith.domains.box": ("Box", "Records"),
    "gaussmith.domains.cells": ("Cells",),
    "gaussmith.domains.counts": ("Counts",),
    "gaussmith.domains.groups": ("Groups",),
    "gaussmith.domains.moments": ("Moments",),
    "gaussmith.errors": (
        "BudgetError", "DataError", "DomainError", "ExpressionError", "GaussmithError", "GuaranteeError",
        "InternalError", "LedgerError", "PlanError", "RequestError", "SourceError",
    ),
    "gaussmith.ledger.book": ("Ledger",),
    "gaussmith.papers.comparison": ("compare",),
    "gaussmith.pipeline.learning": ("suggest",),
    "gaussmith.pipeline.release": ("read", "rehearse", "release"),
    "gaussmith.pipeline.suggestion": ("Suggestion",),
    "gaussmith.planning.plan": ("Plan",),
    "gaussmith.planning.planner": ("plan",),
    "gaussmith.privacy.guarantee": ("Guarantee",),
    "gaussmith.releases.release": ("Release",),
    "gaussmith.requests.question": ("Question",),
    "gaussmith.requests.request": ("Request",),
}  # fmt: skip
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}
"""Where each public name is; imported when it is used, so that a start costs little."""

_ROOMS = {
    "audit": "gaussmith.audit",
    "domains": "gaussmith.domains",
    "errors": "gaussmith.errors",
    "papers": "gaussmith.papers",
    "workloads": "gaussmith.domains.workloads",
}
"""Modules that are public names themselves."""

if TYPE_CHECKING:
    from gaussmith import audit as audit
    from gaussmith import domains as domains
    from gaussmith import errors as errors
    from gaussmith import papers as papers
    from gaussmith.domains import workloads as workloads
    from gaussmith.domains.box import Box, Records
    from gaussmith.domains.cells import Cells
    from gaussmith.domains.counts import Counts
    from gaussmith.domains.groups import Groups
    from gaussmith.domains.moments import Moments
    from gaussmith.errors import (
        BudgetError,
        DataError,
        DomainError,
        ExpressionError,
        GaussmithError,
        GuaranteeError,
        InternalError,
        LedgerError,
        PlanError,
        RequestError,
        SourceError,
    )
    from gaussmith.ledger.book import Ledger
    from gaussmith.papers.comparison import compare
    from gaussmith.pipeline.learning import suggest
    from gaussmith.pipeline.release import read, rehearse, release
    from gaussmith.pipeline.suggestion import Suggestion
    from gaussmith.planning.plan import Plan
    from gaussmith.planning.planner import plan
    from gaussmith.privacy.guarantee import Guarantee
    from gaussmith.releases.release import Release
    from gaussmith.requests.question import Question
    from gaussmith.requests.request import Request

__all__ = [
    "Box", "BudgetError", "Cells", "Counts", "DataError", "DomainError", "ExpressionError", "GaussmithError", "Groups",
    "Guarantee", "GuaranteeError", "InternalError", "Ledger", "LedgerError", "Moments", "Plan", "PlanError", "Question",
    "Records", "Release", "Request", "RequestError", "SourceError", "Suggestion", "compare", "plan", "read", "rehearse",
    "release", "suggest",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _ROOMS:
        from importlib import import_module

        return import_module(_ROOMS[name])
    hint = ""
    if name[:1].isupper():  # what may be a domain; modules such as cli are asked for where numpy may be absent
        from gaussmith.domains import RESEARCH

        hint = f"; write gaussmith.domains.{name}" if name in RESEARCH else ""
    raise AttributeError(f"module 'gaussmith' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
