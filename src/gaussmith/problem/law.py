"""Laws on the differences of neighbours: each proves that no Gaussian noise has a total below (tr M^{1/2})².

M = E[s sᵀ] for a difference s drawn from the law, each answer scaled to its weight. A law is written down so that
somebody else can compute M from it; the kinds are listed in `gaussmith.proofs`.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.values import dataclass

KINDS = (
    "cells", "closed", "corners", "crossed", "even", "gaussian signs", "levels", "listed", "moments", "pairs",
    "patterns", "rankings", "signs", "together", "types",
)  # fmt: skip

TOGETHER = "together"
"""The kind of a law on what a person is in all draws of a plan at once."""


@dataclass(frozen=True, eq=False)
class Law:
    """A law of one kind and its numbers; `lower` is the bound it proves at μ = 1, rounded down."""

    kind: str
    lower: float
    numbers: dict[str, Array] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        numbers = {name: pack(values) for name, values in self.numbers.items()}
        return {"kind": self.kind, "lower": self.lower, "numbers": numbers}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Law:
        if fields["kind"] not in KINDS:
            what, rule = f"law kind = {fields['kind']!r}", "this version does not know it"
            raise PlanError(what, rule, "plan again", code="unknown-law-kind", kind=fields["kind"])
        numbers = {str(name): unpack(values) for name, values in fields["numbers"].items()}
        return cls(str(fields["kind"]), float(fields["lower"]), numbers)


def even_moment(law: Law, dimension: int, secret_count: bool, counted: bool) -> Array:
    """E[s sᵀ] of a law that is symmetric in all coordinates; with the number of records as one more if asked for."""
    d = dimension
    if law.kind == "rankings":
        size, total = (d - 1) * (2 * d - 1) / 6, d * (d - 1) / 2  # E x_j², Σ x_j
        own, other = size, (total * total - d * size) / (d * (d - 1))
        if not secret_count:  # s = 2 (x − mean)
            own, other = 4 * (size - (total / d) ** 2), 4 * (other - (total / d) ** 2)
        first = total / d
    else:
        p, q, share = law.numbers["levels"].T
        own = float(share @ (p + q)) / d
        other = float(share @ ((p - q) ** 2 - (p + q))) / (d * (d - 1)) if d > 1 else 0.0
        first = float(share @ p) / d
    M = np.full((d, d), other)
    np.fill_diagonal(M, own)
    if counted:
        M = np.pad(M, ((0, 1), (0, 1)))
        M[-1, :d] = M[:d, -1] = first
        M[-1, -1] = 1.0
    return M


def price_over_bound(price: float, lower: float) -> float:
    """The ratio of a total error to the bound: infinite if nothing is proven, 1 if both are zero.

    >>> price_over_bound(3.0, 2.0), price_over_bound(3.0, 0.0), price_over_bound(0.0, 0.0)
    (1.5, inf, 1.0)
    """
    if lower > 0:
        return price / lower
    return math.inf if price > 0 else 1.0


def check_law(holds: bool) -> None:
    """Refuse a law that is not one of differences of neighbours."""
    if not holds:
        raise refused_law()


def refused_law() -> PlanError:
    """The reason for refusing a law."""
    what = "a law that is not a law of differences"
    return PlanError(what, "its numbers must fit the domain", "plan again", code="law-not-of-differences")
