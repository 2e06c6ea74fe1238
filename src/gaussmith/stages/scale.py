"""How to scale the columns of a clipped sum once their spread is known: improved shares for a tail that is clipped."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.scaling import improved_shares
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]

TAIL = 0.03
"""The part of normal records that the shares are made for clipping: the best level cuts off about so many."""
LEAST_SHARE = 1e-30


@dataclass(frozen=True, eq=False)
class Scaling:
    """b_j, by which column j is multiplied; the shares λ_j = b_j² reach_j², which add up to 1; what errors weigh."""

    multipliers: Array
    shares: Array
    weights: Array

    @property
    def noise(self) -> float:
        """Σ w_j/b_j²: the weighted total variance of round noise of variance 1 once it is scaled back."""
        return float((self.weights * self.multipliers**-2.0).sum())


def scale(reach: Array, weights: Array) -> Scaling:
    """The scaling for values that lie about `reach` from the centre, whose squared errors have these weights.

    >>> scale(np.array([1.0, 1.0]), np.ones(2)).shares
    array([0.5, 0.5])
    """
    values = weights * reach**2
    shares, _ = improved_shares(np.maximum(values / values.max(), LEAST_SHARE), TAIL)
    return Scaling(np.sqrt(shares) / reach, shares, weights)
