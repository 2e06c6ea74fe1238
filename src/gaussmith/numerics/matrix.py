"""What every kind of matrix can do, and how the largest norm of a lift is bounded by its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.products import Array, Integers, Words
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.numerics.factored import Factored
    from gaussmith.numerics.headed import Headed
    from gaussmith.numerics.levelled_maps import LevelledLift
    from gaussmith.numerics.linear import Bordered, Diagonal, Exchangeable
    from gaussmith.numerics.reflected_maps import ReflectedLift
    from gaussmith.numerics.residual_maps import ResidualLift


class Matrix(Protocol):
    """What plans ask of a matrix, whatever its structure."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def times(self, vector: Array) -> Array:
        """The product with a vector, in doubles."""

    def exact_times(self, vector: Integers) -> Integers:
        """The product with a vector of integers, exact, then rounded to the nearest integer (halves up)."""

    def times_rows(self, vectors: Array) -> Array:
        """The product with each row of an array, as `times` computes it."""
        return np.array([self.times(vector) for vector in vectors]).reshape(len(vectors), self.shape[0])

    def exact_times_rows(self, vectors: Words) -> Words | None:
        """The product with each row of an array of integers, as `exact_times` finds it; None where that must."""
        return None

    def scaled(self, columns: Array) -> Matrix:
        """Column j multiplied by columns[j] (each entry rounded to nearest)."""

    def row_norms(self) -> Array:
        """The Euclidean norm of each row."""

    def row(self, i: int) -> Array:
        """One row, written out."""

    def dense(self) -> Array:
        """All entries, for matrices small enough."""

    def to_dict(self) -> dict[str, Any]: ...

    def picked(self, rows: Sequence[int]) -> Matrix:
        """Some rows, in this order."""
        from gaussmith.numerics.linear import Dense  # one of the kinds that are made from this file

        return Dense(self.dense()[np.array(rows, np.int64)])

    @property
    def ways(self) -> tuple[tuple[int, ...], ...] | None:
        """The marginals whose counts are lifted, one after the other; None where a record's coordinates are."""
        return None

    def as_bordered(self) -> Bordered | None:
        """The same numbers as a bordered matrix, where every row has one inner entry and one in the last column."""
        return None

    def as_exchangeable(self) -> Exchangeable | None:
        """The same numbers as an exchangeable matrix, where they are kept as one."""
        return None

    def largest(self, bounds: NormBounds) -> float:
        """The largest norm of a lifted difference, by the bound for matrices of this kind."""
        self._refuse_kind()

    def exact_entries(self) -> Array:
        """The entries of a matrix that is written down; refuses the other kinds, whose entries `dense` may round."""
        self._refuse_kind()

    def without_last(self) -> Matrix:
        """The same norms without the last column, for lifts that a domain bounds this way."""
        self._refuse_kind()

    def _refuse_kind(self) -> NoReturn:
        kind, rule = type(self).__name__, "the domain cannot bound lifts of this kind"
        raise PlanError(f"a lift of kind {kind}", rule, "plan again", code="lift-kind-not-bounded", kind=kind)


@dataclass(frozen=True)
class NormBounds:
    """How a domain bounds the norm of its lifted differences, by kinds of lift: never too small.

    A lift of a kind that has no bound here is refused.
    """

    dense: Callable[[Array], float] | None = None
    diagonal: Callable[[Diagonal], float] | None = None
    bordered: Callable[[Bordered], float] | None = None
    exchangeable: Callable[[Exchangeable], float] | None = None
    residual: Callable[[ResidualLift], float] | None = None
    factored: Callable[[Factored], float] | None = None
    headed: Callable[[Headed], float] | None = None
    reflected: Callable[[ReflectedLift], float] | None = None
    levelled: Callable[[LevelledLift], float] | None = None
