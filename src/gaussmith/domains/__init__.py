"""Domains: what one record can be. Each domain defines how records become integers, how large their lifted differences
are, which noise fits them, a lower bound on any noise, and their description in words and pictures.

A new domain is a file here, with a class that implements `gaussmith.problem.Domain`, and a line in `registry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussmith.later import found_later
from gaussmith.problem import Domain

if TYPE_CHECKING:
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
    from gaussmith.domains.registry import domain_from_dict
    from gaussmith.domains.row_moments import RowMoments
    from gaussmith.domains.sparse import SparseSum
    from gaussmith.domains.unknown_gaussian import UnknownGaussianData
    from gaussmith.domains.votes import Votes
else:
    __getattr__ = found_later(
        __name__,
        {
            "ball": ["Ball"],
            "ball_moments": ["BallMoments"],
            "box": ["Box"],
            "cells": ["Cells"],
            "counts": ["Counts"],
            "found_groups": ["FOUND", "FoundGroups"],
            "gaussian": ["GaussianData"],
            "groups": ["Groups"],
            "looks": ["ColumnCells", "LengthCells"],
            "moments": ["Moments"],
            "people": ["People"],
            "points": ["Points"],
            "records": ["Records"],
            "registry": ["domain_from_dict"],
            "row_moments": ["RowMoments"],
            "sparse": ["SparseSum"],
            "unknown_gaussian": ["UnknownGaussianData"],
            "votes": ["Votes"],
        },
    )

__all__ = [
    "FOUND", "Ball", "BallMoments", "Box", "Cells", "ColumnCells", "Counts", "Domain", "FoundGroups", "GaussianData",
    "Groups", "LengthCells", "Moments", "People", "Points", "Records", "RowMoments", "SparseSum", "UnknownGaussianData",
    "Votes", "domain_from_dict",
]  # fmt: skip
