"""The totals of groups on the grid of a draw: the exact integers to which noise is added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.engines.engine import GroupTotals, Totals
from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Integers, Words
from gaussmith.plans import Draw
from gaussmith.values import dataclass

WORD = 1 << 61
"""Lifted integers in words stay below this, so that noise can be added to them."""


@dataclass(frozen=True, eq=False)
class RepeatedTotals(Sequence[Totals]):
    """The totals of one group many times over: for samples of its noise, never for a release."""

    totals: Totals = field(repr=False)
    times: int

    def __len__(self) -> int:
        return self.times

    def __getitem__(self, i: Any) -> Any:
        chosen = range(self.times)[i]  # refuses what is out of range: that ends a loop over it
        return self.totals if isinstance(chosen, int) else [self.totals] * len(chosen)


def check_sums(draw: Draw, totals: Sequence[Totals]) -> None:
    """Refuse sums of other groups or other coordinates."""
    if len(totals) != draw.size:
        raise PlanError(
            "sums that do not fit the groups",
            "there must be one for every declared group",
            "sum by group",
            code="sums-do-not-match-groups",
        )
    widths = {totals.sums.shape[1]} if isinstance(totals, GroupTotals) else {len(found.sums) for found in totals}
    if widths - {draw.block.codes.width}:
        raise PlanError(
            "sums that do not fit the plan",
            "there must be one per coordinate",
            "sum with the plan's codes",
            code="sums-do-not-match-plan",
        )


def lift_groups(draw: Draw, totals: Sequence[Totals]) -> Words | list[Integers]:
    """The integers to which the noise of every group is added: in words, if all are known to fit."""
    grid, codes = draw.block.grid, draw.block.codes
    if isinstance(totals, GroupTotals):
        lifted = grid.lifted_rows(codes, totals.sums, totals.records)
        if lifted is not None:
            return lifted
    if isinstance(totals, RepeatedTotals):
        return repeat_lifted(grid.lifted(codes, totals.totals.sums, totals.totals.records), totals.times)
    return [grid.lifted(codes, found.sums, found.records) for found in totals]


def repeat_lifted(lifted: Integers, times: int) -> npt.NDArray[Any]:
    """The same lifted integers so many times, one row for each: in words where they fit, else as Python's integers."""
    fits = all(-WORD < y < WORD for y in lifted)
    row = np.array([int(y) for y in lifted], dtype=np.int64 if fits else object)
    return np.tile(row, (times, 1))
