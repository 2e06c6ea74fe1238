"""What planning and releasing ask of a domain."""

from __future__ import annotations

from typing import Any, Protocol

from gaussmith.codes import Codes
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

    @property
    def reading(self) -> str:
        """How records are read, in plain words: what counts, and what becomes of odd values."""

    def codes(self, substitutes: Array) -> Codes:
        """How records become integers."""

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound of ‖lift · s‖ over all differences s of neighbours, rounded up.

        A lift sees the core of a record and, under add-remove, may see a constant 1 in a last column: the record.
        `extent` is the integer that stands for core 1, coordinate by coordinate (1 by default).
        """

    def largest_change(self, lift: Matrix) -> float:
        """An upper bound of ‖lift · (s − s′)‖ over two records, with an add-remove lift; rounded up."""

    def to_dict(self) -> dict[str, Any]: ...
