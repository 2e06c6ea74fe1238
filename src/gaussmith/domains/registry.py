"""The kinds of domains: one line each."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Any

from gaussmith.domains.domain import Domain
from gaussmith.errors import PlanError


class Kinds(UserDict[str, Any]):
    """Classes by what they are called in saved plans. Each is named by its place and imported when it is asked for,
    so that domains which stand apart cost nothing until a plan needs one.

    >>> Kinds({"box": "gaussmith.domains.box.Box"})["box"].kind
    'box'
    """

    def __getitem__(self, kind: str) -> Any:
        found = self.data[kind]
        if isinstance(found, str):
            module, _, name = found.rpartition(".")
            found = self.data[kind] = getattr(import_module(module), name)
        return found


DOMAINS = Kinds(
    {
        "ball": "gaussmith.papers.ball.Ball",
        "box": "gaussmith.domains.box.Box",
        "cells": "gaussmith.domains.cells.Cells",
        "chosen cells": "gaussmith.domains.chosen_cells.ChosenCells",
        "column-cells": "gaussmith.papers.looks.ColumnCells",
        "counts": "gaussmith.domains.counts.Counts",
        "gaussian": "gaussmith.papers.gaussian.GaussianData",
        "length-cells": "gaussmith.papers.looks.LengthCells",
        "moments": "gaussmith.domains.moments.Moments",
        "people": "gaussmith.domains.people.People",
        "points": "gaussmith.papers.points.Points",
        "records": "gaussmith.domains.box.Records",
        "row moments": "gaussmith.domains.row_moments.RowMoments",
        "sparse": "gaussmith.papers.sparse.SparseSum",
        "unknown-gaussian": "gaussmith.papers.gaussian.UnknownGaussianData",
        "votes": "gaussmith.papers.votes.Votes",
    }
)


def domain_from_dict(fields: dict[str, Any]) -> Domain:
    """The domain described by `to_dict`; refuses unknown kinds."""
    kind = str(fields.get("kind"))
    if kind not in DOMAINS:
        what, rule = f"domain kind = {fields.get('kind')!r}", "this version does not know it"
        raise PlanError(what, rule, "upgrade gaussmith, or plan again", code="unknown-domain-kind", kind=kind)
    domain: Domain = DOMAINS[kind].from_dict(fields)
    return domain
