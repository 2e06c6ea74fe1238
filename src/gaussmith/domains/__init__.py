"""Domains: what one record can be. Each domain defines how records become integers, how large their lifted differences
are, which noise fits them, a lower bound on any noise, and their description in words and pictures.

A new domain is a file here, with a class that implements `gaussmith.domains.Domain`, and a line in `registry`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gaussmith.domains.domain import Domain

if TYPE_CHECKING:
    from gaussmith.domains.box import Box, Records
    from gaussmith.domains.cells import Cells
    from gaussmith.domains.counts import Counts
    from gaussmith.domains.groups import FOUND, FoundGroups, Groups
    from gaussmith.domains.moments import Moments
    from gaussmith.domains.people import People
    from gaussmith.domains.registry import domain_from_dict
    from gaussmith.domains.row_moments import RowMoments

_HOMES = {
    "Box": "gaussmith.domains.box",
    "Cells": "gaussmith.domains.cells",
    "Counts": "gaussmith.domains.counts",
    "FOUND": "gaussmith.domains.groups",
    "FoundGroups": "gaussmith.domains.groups",
    "Groups": "gaussmith.domains.groups",
    "Moments": "gaussmith.domains.moments",
    "People": "gaussmith.domains.people",
    "Records": "gaussmith.domains.box",
    "RowMoments": "gaussmith.domains.row_moments",
    "domain_from_dict": "gaussmith.domains.registry",
}

RESEARCH = (
    "Ball", "ColumnCells", "GaussianData", "LengthCells", "Points", "SparseSum", "UnknownGaussianData",
    "Votes",
)  # fmt: skip
"""Domains that stand apart from the core, in `gaussmith.papers`; their names work here too."""


def __getattr__(name: str) -> Any:
    """A domain is imported when it is first used."""
    if name not in _HOMES and name not in RESEARCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "gaussmith.papers")), name)


__all__ = [
    "FOUND", "Ball", "Box", "Cells", "ColumnCells", "Counts", "Domain", "FoundGroups", "GaussianData",
    "Groups", "LengthCells", "Moments", "People", "Points", "Records", "RowMoments", "SparseSum", "UnknownGaussianData",
    "Votes", "domain_from_dict",
]  # fmt: skip
