"""Domains: what one record can be. Each domain defines how records become integers, how large their lifted differences
are, which noise fits them, a lower bound on any noise, and their description in words and pictures.

A new domain is a file here, with a class that implements `gaussmith.problem.Domain`, and a line below.
"""

from __future__ import annotations

from typing import Any

from gaussmith.domains.ball import Ball
from gaussmith.domains.ball_moments import BallMoments
from gaussmith.domains.box import Box
from gaussmith.domains.cells import Cells
from gaussmith.domains.counts import Counts
from gaussmith.domains.found_groups import FOUND, FoundGroups
from gaussmith.domains.gaussian import GaussianData
from gaussmith.domains.groups import Groups
from gaussmith.domains.looks import ColumnCells, LengthCells
from gaussmith.domains.moments import Moments
from gaussmith.domains.people import People
from gaussmith.domains.points import Points
from gaussmith.domains.records import Records
from gaussmith.domains.row_moments import RowMoments
from gaussmith.domains.sparse import SparseSum
from gaussmith.domains.unknown_gaussian import UnknownGaussianData
from gaussmith.domains.votes import Votes
from gaussmith.errors import PlanError
from gaussmith.problem import Domain

_DOMAINS: tuple[Any, ...] = (
    Ball,
    BallMoments,
    Box,
    Cells,
    ColumnCells,
    Counts,
    GaussianData,
    LengthCells,
    Moments,
    People,
    Points,
    Records,
    RowMoments,
    SparseSum,
    UnknownGaussianData,
    Votes,
)

_KINDS = {domain.kind: domain for domain in _DOMAINS}


def domain_from_dict(fields: dict[str, Any]) -> Domain:
    """The domain described by `to_dict`; refuses unknown kinds."""
    kind = fields.get("kind")
    if kind not in _KINDS:
        what, rule = f"domain kind = {kind!r}", "this version does not know it"
        raise PlanError(what, rule, "upgrade gaussmith, or plan again", code="unknown-domain-kind", kind=kind)
    domain: Domain = _KINDS[kind].from_dict(fields)
    return domain


__all__ = [
    "FOUND", "Ball", "BallMoments", "Box", "Cells", "ColumnCells", "Counts", "Domain", "FoundGroups", "GaussianData",
    "Groups", "LengthCells", "Moments", "People", "Points", "Records", "RowMoments", "SparseSum", "UnknownGaussianData",
    "Votes", "domain_from_dict",
]  # fmt: skip
