"""Gaussmith releases sums, means, counts and histograms of sensitive vectors under differential privacy,
with Gaussian noise forged to the shape of the data.

A tour in four steps:

1. Say what one record can be.

>>> import gaussmith as gm
>>> people = gm.Box({"age": (0, 100), "visits": (0, 80)})

2. Say how well people are protected, and plan. No data is needed: the errors are known beforehand.

>>> plan = gm.plan(people, gm.Guarantee(epsilon=1, delta=1e-6), answers="means", count=True, weights="relative")
>>> {name: round(error, 3) for name, error in plan.errors(rows=10_000).items()}
{'age': 0.046, 'visits': 0.037, 'count': 5.863}

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

_HOMES = {
    "Guarantee": "gaussmith.guarantee",
    "Box": "gaussmith.domains",
    "Ball": "gaussmith.domains",
    "Records": "gaussmith.domains",
    "GaussianData": "gaussmith.domains",
    "Groups": "gaussmith.domains",
    "Cells": "gaussmith.domains",
    "Counts": "gaussmith.domains",
    "Points": "gaussmith.domains",
    "SparseSum": "gaussmith.domains",
    "Votes": "gaussmith.domains",
    "Ledger": "gaussmith.ledger",
    "Plan": "gaussmith.plans",
    "plan": "gaussmith.plans.planner",
    "Release": "gaussmith.releases",
    "Question": "gaussmith.questions",
    "Request": "gaussmith.request",
    "read": "gaussmith.releases",
    "release": "gaussmith.job",
    "compare": "gaussmith.catalogue",
}
_ROOMS = {"catalogue", "workloads"}
"""Modules that are public words themselves."""

if TYPE_CHECKING:
    from gaussmith.catalogue import compare
    from gaussmith.domains import Ball, Box, Cells, Counts, GaussianData, Groups, Points, Records, SparseSum, Votes
    from gaussmith.guarantee import Guarantee
    from gaussmith.job import release
    from gaussmith.ledger import Ledger
    from gaussmith.plans import Plan
    from gaussmith.plans.planner import plan
    from gaussmith.questions import Question
    from gaussmith.releases import Release, read
    from gaussmith.request import Request

__all__ = [
    "Ball", "Box", "Cells", "Counts", "GaussianData", "Groups", "Guarantee", "Ledger", "Plan", "Points", "Question",
    "Records", "Release", "Request", "SparseSum", "Votes", "compare", "plan", "read", "release",
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
