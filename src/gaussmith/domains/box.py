"""A box: every number of a record lies between its own two bounds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.codes import BoxCodes
from gaussmith.errors import DomainError, PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import sqrt_upward, sum_squares_upward
from gaussmith.numerics.linear import Array, Bordered, Diagonal, Matrix, exact_entries
from gaussmith.numerics.norms import largest_norm

MOST_CORNERS = 1 << 12
"""A dense lift is certified by visiting every corner; more corners than this are refused."""


@dataclass(frozen=True, eq=False, init=False)
class Box:
    """The records x with lower ≤ x ≤ upper, coordinate by coordinate.

    >>> Box({"age": (0, 100), "income": (0, 2e5)})
    Box(age: 0 to 100, income: 0 to 200000)
    >>> Box([0, 0], [1, 1]).dimension
    2
    """

    lower: Array
    upper: Array
    names: tuple[str, ...] | None
    _codes: BoxCodes = field(repr=False)

    def __init__(
        self,
        lower: Mapping[str, tuple[float, float]] | Sequence[float] | npt.ArrayLike,
        upper: Sequence[float] | npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if isinstance(lower, Mapping):
            if upper is not None:
                raise DomainError(
                    "upper given beside a mapping",
                    "a mapping holds both bounds of each column",
                    "write Box({'age': (0, 100)})",
                )
            names = [str(name) for name in lower]
            low, high = _pairs(lower)
        else:
            if upper is None:
                raise DomainError(
                    "upper bounds are missing",
                    "a box needs two bounds for every coordinate",
                    "write Box(lower, upper) or Box({'age': (0, 100)})",
                )
            low, high = _numbers("lower", lower), _numbers("upper", upper)
        if low.shape != high.shape:
            raise DomainError(
                f"{low.size} lower and {high.size} upper bounds",
                "every coordinate has one of each",
                "give lists of the same length",
            )
        if low.size == 0:
            raise DomainError("a box without coordinates", "there must be at least one", "name the columns you want")
        if names is not None and (len(names) != low.size or len(set(names)) != len(names)):
            raise DomainError(
                f"{len(set(names))} different names for {low.size} coordinates",
                "every coordinate has its own name",
                "give one name per coordinate",
            )
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "names", tuple(names) if names is not None else None)
        self._check()
        low.flags.writeable = high.flags.writeable = False
        object.__setattr__(self, "_codes", BoxCodes.for_bounds(low, high, low, self.names))  # or refuses, here and now

    def _check(self) -> None:
        for wrong, rule in (
            (~(np.isfinite(self.lower) & np.isfinite(self.upper)), "both bounds must be finite numbers"),
            (self.lower > self.upper, "the lower bound must be below the upper bound"),
            (self.lower == self.upper, "the bounds must differ: a constant needs no release"),
        ):
            if wrong.any():
                j = int(np.argmax(wrong))
                raise DomainError(
                    f"bounds of {self.name(j)!r} = [{self.lower[j]:g}, {self.upper[j]:g}]",
                    rule,
                    "give limits that are known without looking at the data (docs/bounds.md)",
                )

        far = (np.maximum(np.abs(self.lower), np.abs(self.upper)) >= 1e100) | (self.upper / 2 - self.lower / 2 < 5e-101)
        if far.any():  # the squares of errors must be doubles too
            j = int(np.argmax(far))
            raise DomainError(
                f"bounds of {self.name(j)!r} = [{self.lower[j]:g}, {self.upper[j]:g}]",
                "bounds lie within 1e100 of zero and at least 1e-100 apart",
                "rescale the column to ordinary units",
            )

    def name(self, j: int) -> str:
        """The name of coordinate j, or its number as text."""
        return self.names[j] if self.names is not None else str(j)

    @property
    def dimension(self) -> int:
        return len(self.lower)

    @cached_property
    def centre(self) -> Array:
        return self.lower / 2 + self.upper / 2

    @cached_property
    def radius(self) -> Array:
        """Half of each range."""
        return self.upper / 2 - self.lower / 2

    @property
    def spread(self) -> Array:
        """The mean square distance of a mean from the centre, when it may lie anywhere between the bounds."""
        return self.radius * self.radius / 3

    @property
    def reading(self) -> str:
        """How records are read, in plain words."""
        return "Every value counts within its bounds: one beyond them is moved to the nearer bound."

    def codes(self, substitutes: Array) -> BoxCodes:
        """How records of this box become integers."""
        return replace(self._codes, substitute=np.clip(substitutes, self.lower, self.upper))

    @cached_property
    def coded(self) -> tuple[Array, Array]:
        """Centre and half range of the points that codes stand for: the bounds' own but for a part in 2^41."""
        half = self._codes.steps / 2 / self._codes.scale
        return self.lower + half, half

    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound of ‖lift · s‖ over all differences s, rounded up.

        `extent` is the largest absolute value of each varying core coordinate of one record (1 by default).
        Under add-remove s = ±(z, 1) with |z_j| ≤ extent_j; under replace-one s = z with |z_j| ≤ 2·extent_j.
        """
        d = self.dimension
        extent = np.ones(d) if extent is None else extent
        if neighbours == ADD_REMOVE:
            bounds = np.append(extent, 1.0)
        else:
            bounds = 2.0 * extent
        if lift.shape[1] != len(bounds):
            raise PlanError(
                f"a lift of {lift.shape[1]} columns", f"the domain has {len(bounds)} coordinates", "plan again"
            )
        if isinstance(lift, Diagonal):
            return sqrt_upward(sum_squares_upward(np.nextafter(np.abs(lift.entries) * bounds, np.inf)))
        if isinstance(lift, Bordered):  # each row sees one varying coordinate and the last one
            inner = np.nextafter(np.abs(lift.inner) * bounds[lift.index], np.inf)
            border = np.nextafter(np.abs(lift.border) * bounds[-1], np.inf)
            return sqrt_upward(sum_squares_upward(np.nextafter(inner + border, np.inf)))
        return _largest_corner(exact_entries(lift), bounds, fixed=neighbours == ADD_REMOVE)

    def largest_change(self, lift: Matrix) -> float:
        """An upper bound of ‖lift · (s − s′)‖ over two records, with an add-remove lift; rounded up."""
        bounds = np.append(np.full(self.dimension, 2.0), 0.0)
        if isinstance(lift, Diagonal | Bordered):
            inner = lift.entries if isinstance(lift, Diagonal) else lift.inner
            reach = bounds if isinstance(lift, Diagonal) else bounds[lift.index]
            return sqrt_upward(sum_squares_upward(np.nextafter(np.abs(inner) * reach, np.inf)))
        return _largest_corner(exact_entries(lift)[:, :-1], bounds[:-1], fixed=False)

    def corners(self) -> Array:
        """All 2^d corners of the centred cube {−1, 1}^d, one a row."""
        if 2**self.dimension > MOST_CORNERS:
            raise PlanError(
                f"a box of {self.dimension} coordinates", "its corners are too many to visit", "use a closed form"
            )
        return np.array(list(itertools.product((-1.0, 1.0), repeat=self.dimension)))

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"kind": "box", "lower": self.lower.tolist(), "upper": self.upper.tolist()}
        if self.names is not None:
            fields["names"] = list(self.names)
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Box:
        return cls(fields["lower"], fields["upper"], fields.get("names"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.lower.tobytes(), self.upper.tobytes(), self.names))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{self.name(j)}: {self.lower[j]:.6g} to {self.upper[j]:.6g}" for j in range(min(6, self.dimension))
        )
        return f"Box({shown}{', …' if self.dimension > 6 else ''})"


def _largest_corner(lift: Array, bounds: Array, fixed: bool) -> float:
    """max ‖lift·s‖ over the corners s of ±bounds (the last one fixed if asked), rounded up."""
    q = len(bounds)
    free = q - 1 if fixed else q
    if 2**free > MOST_CORNERS:
        raise PlanError("a dense lift over many corners", f"at most {MOST_CORNERS} can be visited", "use a closed form")
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=free))).reshape(-1, free)
    if fixed:
        signs = np.hstack([signs, np.ones((len(signs), 1))])
    return largest_norm(lift, signs * bounds)


def _numbers(which: str, values: Any) -> Array:
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise DomainError(
            f"{which} = {values!r}"[:120], "bounds are numbers, one per coordinate", "give a list or array of numbers"
        ) from None
    if array.ndim > 1:
        raise DomainError(
            f"{which} has {array.ndim} dimensions", "bounds form one list", "give one number per coordinate"
        )
    return np.atleast_1d(array)


def _pairs(bounds: Mapping[str, tuple[float, float]]) -> tuple[Array, Array]:
    low, high = [], []
    for name, pair in bounds.items():
        try:
            below, above = pair
            low.append(float(below))
            high.append(float(above))
        except (TypeError, ValueError, OverflowError):
            raise DomainError(
                f"bounds of {name!r} = {pair!r}", "every column needs two numbers", f"write {{{name!r}: (0, 100)}}"
            ) from None
    return np.array(low, float), np.array(high, float)
