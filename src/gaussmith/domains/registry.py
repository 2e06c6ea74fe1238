"""The kinds of domains: one line each."""

from __future__ import annotations

from typing import Any

from gaussmith.domains.ball import Ball
from gaussmith.domains.ball_moments import BallMoments
from gaussmith.domains.box import Box
from gaussmith.domains.cells import Cells
from gaussmith.domains.counts import Counts
from gaussmith.domains.gaussian import GaussianData
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

DOMAINS: dict[str, Any] = {
    Ball.kind: Ball,
    BallMoments.kind: BallMoments,
    Box.kind: Box,
    Cells.kind: Cells,
    ColumnCells.kind: ColumnCells,
    Counts.kind: Counts,
    GaussianData.kind: GaussianData,
    LengthCells.kind: LengthCells,
    Moments.kind: Moments,
    People.kind: People,
    Points.kind: Points,
    Records.kind: Records,
    RowMoments.kind: RowMoments,
    SparseSum.kind: SparseSum,
    UnknownGaussianData.kind: UnknownGaussianData,
    Votes.kind: Votes,
}
"""By what they are called in saved plans."""


def domain_from_dict(fields: dict[str, Any]) -> Domain:
    """The domain described by `to_dict`; refuses unknown kinds."""
    kind = fields.get("kind")
    if kind not in DOMAINS:
        what, rule = f"domain kind = {kind!r}", "this version does not know it"
        raise PlanError(what, rule, "upgrade gaussmith, or plan again", code="unknown-domain-kind", kind=kind)
    domain: Domain = DOMAINS[kind].from_dict(fields)
    return domain
