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
    "gaussmith.catalogue": ("compare",),
    "gaussmith.domains": (
        "Ball", "BallMoments", "Box", "Cells", "Counts", "GaussianData", "Groups", "Moments", "Points", "Records",
        "SparseSum", "Votes",
    ),
    "gaussmith.errors": (
        "BudgetError", "DataError", "DomainError", "ExpressionError", "GaussmithError", "GuaranteeError",
        "InternalError", "LedgerError", "PlanError", "RequestError", "SourceError",
    ),
    "gaussmith.guarantee": ("Guarantee",),
    "gaussmith.charged_release": ("rehearse", "release"),
    "gaussmith.ledger": ("Ledger",),
    "gaussmith.plans": ("Plan",),
    "gaussmith.plans.planner": ("plan",),
    "gaussmith.requests.question": ("Question",),
    "gaussmith.reading": ("read",),
    "gaussmith.releases": ("Release",),
    "gaussmith.requests.request": ("Request",),
    "gaussmith.suggestions": ("Suggestion", "suggest"),
}  # fmt: skip
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}
"""Where each public name is; imported when it is used, so that a start costs little."""

_ROOMS = {"audit", "catalogue", "workloads"}
"""Modules that are public words themselves."""

if TYPE_CHECKING:
    from gaussmith.catalogue import compare
    from gaussmith.charged_release import rehearse, release
    from gaussmith.domains import (
        Ball,
        BallMoments,
        Box,
        Cells,
        Counts,
        GaussianData,
        Groups,
        Moments,
        Points,
        Records,
        SparseSum,
        Votes,
    )
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
    from gaussmith.guarantee import Guarantee
    from gaussmith.ledger import Ledger
    from gaussmith.plans import Plan
    from gaussmith.plans.planner import plan
    from gaussmith.reading import read
    from gaussmith.releases import Release
    from gaussmith.requests.question import Question
    from gaussmith.requests.request import Request
    from gaussmith.suggestions import Suggestion, suggest

__all__ = [
    "Ball", "BallMoments", "Box", "BudgetError", "Cells", "Counts", "DataError", "DomainError", "ExpressionError",
    "GaussianData", "GaussmithError", "Groups", "Guarantee", "GuaranteeError", "InternalError", "Ledger",
    "LedgerError", "Moments",
    "Plan", "PlanError", "Points", "Question", "Records", "Release", "Request", "RequestError", "SourceError",
    "SparseSum", "Suggestion", "Votes", "compare", "plan", "read", "rehearse",
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

        return import_module(f"gaussmith.{name}")
    raise AttributeError(f"module 'gaussmith' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
