"""What one record can be. Each domain knows its codes and its largest lifted difference."""

from __future__ import annotations

from typing import Any, Protocol

from gaussmith.codes import Codes
from gaussmith.domains.ball import Ball
from gaussmith.domains.box import Box
from gaussmith.domains.records import Records
from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array, Matrix


class Domain(Protocol):
    """What planning and releasing ask of a domain, whatever its kind. Nothing here sees data.

    A record x is `centre + radius · z`, coordinate by coordinate; z is its core, at most 1 in size.
    """

    @property
    def dimension(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...] | None: ...

    def name(self, j: int) -> str:
        """The name of coordinate j, or its number as text."""

    @property
    def centre(self) -> Array: ...

    @property
    def radius(self) -> Array: ...

    @property
    def spread(self) -> Array:
        """The mean square distance of a mean from the centre, when it may lie anywhere in the domain."""

    @property
    def coded(self) -> tuple[Array, Array]:
        """Centre and radius of the points that codes stand for."""

    def codes(self, substitutes: Array) -> Codes:
        """How records become integers."""

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound of ‖lift · s‖ over all differences s of neighbours, rounded up."""

    def to_dict(self) -> dict[str, Any]: ...


_KINDS: dict[str, Any] = {"box": Box, "ball": Ball, "records": Records}


def domain_from_dict(fields: dict[str, Any]) -> Domain:
    """The domain that `to_dict` described; refuses what it does not know."""
    kind = fields.get("kind")
    if kind not in _KINDS:
        raise PlanError(f"domain kind = {kind!r}", "this version does not know it", "upgrade gaussmith, or plan again")
    domain: Domain = _KINDS[kind].from_dict(fields)
    return domain


__all__ = ["Ball", "Box", "Domain", "Records", "domain_from_dict"]
