"""What one record can be. Each domain knows its codes and its largest lifted difference."""

from __future__ import annotations

from typing import Any

from gaussmith.domains.ball import Ball
from gaussmith.domains.box import Box
from gaussmith.domains.cells import Cells
from gaussmith.domains.counts import Counts
from gaussmith.domains.gaussian import GaussianData
from gaussmith.domains.groups import Groups
from gaussmith.domains.people import People
from gaussmith.domains.points import Points
from gaussmith.domains.protocol import Domain
from gaussmith.domains.records import Records
from gaussmith.domains.sparse import SparseSum
from gaussmith.domains.tallied import Tallied
from gaussmith.domains.votes import Votes
from gaussmith.errors import PlanError

_KINDS: dict[str, Any] = {
    "ball": Ball,
    "box": Box,
    "cells": Cells,
    "counts": Counts,
    "gaussian": GaussianData,
    "people": People,
    "points": Points,
    "records": Records,
    "sparse": SparseSum,
    "votes": Votes,
}


def domain_from_dict(fields: dict[str, Any]) -> Domain:
    """The domain that `to_dict` described; refuses what it does not know."""
    kind = fields.get("kind")
    if kind not in _KINDS:
        raise PlanError(f"domain kind = {kind!r}", "this version does not know it", "upgrade gaussmith, or plan again")
    domain: Domain = _KINDS[kind].from_dict(fields)
    return domain


__all__ = [
    "Ball", "Box", "Cells", "Counts", "Domain", "GaussianData", "Groups", "People", "Points", "Records", "SparseSum",
    "Tallied", "Votes", "domain_from_dict",
]  # fmt: skip
