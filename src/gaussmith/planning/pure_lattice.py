"""Where pure noise is added: a lattice of integers, how far a person moves on it, and the law of the noise.

whole numbers   counts and values as they are, on the integers: S is the largest change of one person
all others      on a lattice of 2^−40 of a person's largest change, each number rounded: S = 2^40 and a trifle
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.domain import Domain
from gaussmith.domains.encoding import Encoding
from gaussmith.domains.pure_strategies import MAX_NORM, ONE_NORM, pure_sensitivity
from gaussmith.errors import damaged_plan
from gaussmith.noise.cube import Cube
from gaussmith.noise.geometric import Geometric
from gaussmith.noise.law import Law
from gaussmith.numerics.matrices import Matrix
from gaussmith.planning.certified_grid import Grid
from gaussmith.privacy.neighbours import ADD_REMOVE

if TYPE_CHECKING:
    from gaussmith.planning.block import Block

FINE = 2.0**40
"""How many steps of the lattice a person's largest change of a number is, where numbers are not whole."""

LAWS: dict[str, Callable[[Fraction, int, int], Law]] = {MAX_NORM: Cube, ONE_NORM: Geometric}


@dataclass(frozen=True)
class Drawn:
    """How the noise of a block is drawn: the norm, the sensitivity on the lattice, and how many numbers are drawn
    together, of which the block's own begin at `start`."""

    norm: str
    sensitivity: int
    numbers: int
    start: int = 0
    scale: float = FINE

    def law(self, epsilon: Fraction) -> Law:
        """The law of what is drawn together, at this ε."""
        return LAWS[self.norm](epsilon, self.sensitivity, self.numbers)

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Drawn:
        """What `to_dict` described; refuses what no noise is."""
        found = cls(**fields)
        whole = (found.sensitivity, found.numbers, found.start)
        if found.norm not in LAWS or not all(type(each) is int for each in whole):
            raise damaged_plan("pure noise of an unknown law")
        if found.sensitivity < 1 or found.start < 0 or found.scale not in (1.0, FINE):
            raise damaged_plan("pure noise on an unknown lattice")
        return found


def pure_grid(lift: Matrix, codes: Encoding, scale: float) -> Grid:
    """The lift on the lattice: one lifted unit is `scale` steps."""
    units = 1.0 / codes.extents
    if lift.shape[1] > len(units):
        units = np.append(units, 1.0)
    return Grid(lift.scaled(units * scale), scale)


def certified_sensitivity(grid: Grid, norm: str, domain: Domain, codes: Encoding) -> int:
    """S: neighbours' integers differ by at most S in this norm, exactly, rounding included.

    Guarantee: on a fine lattice every number is rounded by at most ½ on either side, so that a difference in the ∞-norm
    grows by at most 1. In the 1-norm it would grow by 1 for each number, so there all must be whole.
    """
    codes.check_lift(grid.lift)
    largest = pure_sensitivity(grid.lift, norm, domain.extremes(), codes.extents)
    if grid.scale == 1.0:
        _check_whole(grid.lift, codes)
        return math.ceil(largest)
    if norm != MAX_NORM:
        raise damaged_plan("noise in the 1-norm of numbers that are not whole")
    return math.ceil(largest) + 1


def _check_whole(lift: Matrix, codes: Encoding) -> None:
    """Refuse a lift whose products would be rounded: then a person could move more of them than its own."""
    rows, alike = lift.as_bordered(), lift.as_exchangeable()
    if rows is not None:
        entries = np.concatenate([rows.inner, rows.border])
    elif alike is not None:
        entries = np.array([alike.inner, alike.shared, alike.border or 0.0, *(alike.tail or ())])
    else:
        raise damaged_plan("pure noise for a lift of another kind")
    if not ((entries == np.rint(entries)).all() and (codes.extents == 1.0).all()):
        raise damaged_plan("counts that are not whole")


def certify_block(block: Block) -> None:
    """Check that one person moves the integers of a block by no more than its law says; or PlanError."""
    drawn = block.drawn
    if drawn is None or block.neighbours != ADD_REMOVE or not block.guarantee.is_pure:
        raise damaged_plan("pure noise for another guarantee")
    if drawn.start + block.shape.lift.shape[0] > drawn.numbers:
        raise damaged_plan("more numbers than are drawn")
    if certified_sensitivity(block.grid, drawn.norm, block.domain, block.codes) > drawn.sensitivity:
        raise damaged_plan("pure noise for a smaller change of one person")
