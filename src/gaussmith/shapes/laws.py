"""Laws on the differences of neighbours: each proves that no Gaussian noise has a total below (tr M^{1/2})².

M = E[s sᵀ] for a difference s drawn from the law, each answer scaled to its weight. A law is written down so that
somebody else can compute M from it; the kinds are listed in `gaussmith.certificate.proofs`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array, pack, unpack

KINDS = (
    "cells", "closed", "corners", "even", "gaussian signs", "levels", "listed", "pairs", "patterns", "rankings",
    "signs",
)  # fmt: skip


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
            raise PlanError(f"law kind = {fields['kind']!r}", "this version does not know it", "plan again")
        numbers = {str(name): unpack(values) for name, values in fields["numbers"].items()}
        return cls(str(fields["kind"]), float(fields["lower"]), numbers)


def root_of(moment: Array) -> float:
    """tr M^{1/2} of a symmetric positive semi-definite matrix, less what rounding of its eigenvalues can add.

    Eigenvalues of a symmetric matrix are off by a few roundings of the largest one each; so much is taken off all.

    >>> 1 - root_of(np.diag([4.0, 9.0])) / 5 < 1e-12
    True
    """
    values = np.linalg.eigvalsh(moment)
    slack = 32.0 * len(values) * 2.0**-52 * float(np.abs(values).max(initial=0.0))
    return float(np.sqrt(np.clip(values - slack, 0.0, None)).sum()) * (1.0 - 2.0**-40)
