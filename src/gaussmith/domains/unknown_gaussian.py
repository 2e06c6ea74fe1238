"""Gaussian data of which nothing is known: neither where the columns lie nor how far they spread.

A plan for it has stages: private looks at the columns, and then a clipped sum (`stages/vector_means.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaussmith.checks import check_coordinate_names, check_whole
from gaussmith.domains.gaussian import GaussianData
from gaussmith.errors import DomainError, PlanError
from gaussmith.problem import Problem

MAX_COLUMNS = 4096
"""Limit on the columns whose cells are counted together."""


class UnknownGaussianData(GaussianData):
    """Vectors with roughly normal coordinates, of which only the number is public.

    rows:   a public estimate of the number of records (under replace-one their known number): it divides the budget.
    normal: True if the coordinates are known to be normal; else laws with skew and heavy tails are allowed for.

    Its mean 0 and standard deviation 1 are a guess, by which errors are stated before data is seen: in units of the
    true standard deviations.
    """

    kind = "unknown-gaussian"

    normal: bool

    def __init__(
        self,
        mean: None = None,
        sd: None = None,
        *,
        dimension: int | None = None,
        rows: float = 10_000,
        names: Sequence[str] | None = None,
        normal: bool = False,
        **others: Any,
    ) -> None:
        if others:
            name = next(iter(others))
            rule = "nothing is known of the data, so a plan chooses it"
            raise DomainError(
                f"{name}=", rule, "leave it out, or give mean and sd", code="unknown-data-told", name=name
            )
        if dimension is None:
            dimension = len(list(names or ()))
        rule = f"there must be a whole number of columns, from 1 to {MAX_COLUMNS}"
        remedy = "write GaussianData(dimension=16, rows=4000)"
        d = check_whole("dimension", dimension, 1, MAX_COLUMNS, rule=rule, remedy=remedy, error=DomainError)
        super().__init__([0.0] * d, [1.0] * d, rows=rows, names=check_coordinate_names(names, d))
        if not isinstance(normal, bool):
            rule = "it is True if the coordinates are known to be normal"
            raise DomainError(f"normal={normal!r}", rule, "write normal=True", code="normal-not-a-truth", normal=normal)
        object.__setattr__(self, "normal", normal)

    def check(self, problem: Problem[Any]) -> None:
        raise PlanError(
            "Gaussian data of which nothing is known",
            "only the mean of whole vectors is planned in stages, without groups",
            'write gaussmith.plan(domain, guarantee, answers="means"), or give mean and sd',
            code="unknown-data-in-one-stage",
        )

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"kind": self.kind, "dimension": self.dimension, "rows": self.rows}
        fields["normal"] = self.normal
        return fields if self.names is None else {**fields, "names": list(self.names)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> UnknownGaussianData:
        names = fields.get("names")
        return cls(dimension=fields["dimension"], rows=fields["rows"], names=names, normal=fields["normal"])

    def __hash__(self) -> int:
        return hash((self.dimension, self.rows, self.normal, self.names))

    def __repr__(self) -> str:
        plural = "s" if self.dimension > 1 else ""
        kind = "normal " if self.normal else ""
        return (
            f"GaussianData({self.dimension} {kind}coordinate{plural} of which nothing is known, "
            f"for about {self.rows:.6g} records)"
        )
