"""Lower bounds of tr M^{1/2} in doubles, on the safe side of every rounding."""

from __future__ import annotations

import math

import numpy as np

from gaussmith.numerics.linear import Array

_UNIT = 2.0**-53


def nuclear_lower(B: Array) -> float:
    """A lower bound of the sum of the singular values of these doubles: of tr (BᵀB)^{1/2}.

        ‖B‖_*  ≥  tr(ZᵀB) / ‖Z‖   for any Z,      ‖Z‖² ≤ the largest row sum of |ZᵀZ|, or of |ZZᵀ|

    Guarantee: at most the true sum, whatever the decomposition that suggested Z returned.
    Rounding: every product and sum is bounded and given away, a relative 1e-12 or so.

    >>> 0 <= 1 - nuclear_lower(np.diag([3.0, 4.0])) / 7 < 1e-12
    True
    """
    top = float(np.abs(B).max(initial=0.0))
    if top == 0.0:
        return 0.0
    unit = math.ldexp(1.0, math.frexp(top)[1])
    # Dividing by a power of two is exact but for what underflows, which is far below what is given away.
    B = (B if len(B) >= B.shape[1] else B.T) / unit
    U, _, Vt = np.linalg.svd(B, full_matrices=False)
    Z = U @ Vt
    products = (Z * B).ravel()
    inner = math.fsum(products) - 4.0 * _UNIT * math.fsum(np.abs(products)) - B.size * 1e-300
    gram = np.abs(Z.T @ Z) + 2.0 * (len(Z) + 2) * _UNIT * (np.abs(Z).T @ np.abs(Z))
    norm = float(gram.sum(axis=1).max()) * (1.0 + 2.0 * (len(gram) + 2) * _UNIT)
    return max(0.0, inner / math.sqrt(norm) * (1.0 - 8.0 * _UNIT)) * unit


def weighted_lower(points: Array, weights: Array) -> float:
    """A lower bound of tr M^{1/2}, M = Σ λ_i s_i s_iᵀ over the rows s_i, with the weights scaled to add up to 1.

    >>> 0 <= 1 - weighted_lower(np.eye(2), np.array([1.0, 1.0])) / 2**0.5 < 1e-12
    True
    """
    p = np.sqrt(np.maximum(weights, 0.0))  # the law is that of the squares of these doubles
    B = p[:, None] * points
    # Each product is off by half a unit in its last place: its nuclear norm by √rank · ‖·‖ of that at most.
    doubt = 2.0 * _UNIT * math.sqrt(min(B.shape)) * float(np.linalg.norm(B))
    whole = math.fsum(p * p) * (1.0 + 4.0 * _UNIT)
    return max(0.0, (nuclear_lower(B) - doubt) / math.sqrt(whole) * (1.0 - 4.0 * _UNIT)) if whole else 0.0


def root_of(moment: Array) -> float:
    """tr M^{1/2} of a symmetric positive semi-definite matrix, less what rounding of its eigenvalues can add.

    Eigenvalues of a symmetric matrix are off by a few roundings of the largest one each; so much is taken off all.

    >>> 1 - root_of(np.diag([4.0, 9.0])) / 5 < 1e-12
    True
    """
    values = np.linalg.eigvalsh(moment)
    slack = 32.0 * len(values) * 2.0**-52 * float(np.abs(values).max(initial=0.0))
    return float(np.sqrt(np.clip(values - slack, 0.0, None)).sum()) * (1.0 - 2.0**-40)


def square_down(root: float) -> float:
    """The square of a number that is not negative, rounded down."""
    return root * root * (1.0 - 2.0**-52)


def square_with_slack(root: float) -> float:
    """The square of a number that plain doubles computed, less more than they can be off: a part in 10^9."""
    return root * root * (1 - 1e-9)
