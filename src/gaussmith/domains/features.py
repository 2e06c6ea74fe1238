"""Features: the linear numbers of a record that receive noise, and what the squared error of each is worth.

Statistics say which features they need (`One`, `Value`) and what their errors are worth; nothing here knows how
answers are read, named or shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gaussmith.domains.workloads import Marginals, Runs, workload_from_dict
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import Array
from gaussmith.numerics.packed_arrays import pack, unpack

if TYPE_CHECKING:
    from gaussmith.domains.domain import Domain

Places = npt.NDArray[np.int64]

MAX_WRITTEN = 1 << 24
"""Limit on the numbers of a matrix of answers that is written down."""

TOTAL, MEAN, ROW_SUM, ROWS, VALUES = "total", "mean", "row sum", "rows", "values"
"""What a coordinate is made of: a person's total, the mean of a person's rows, a sum over rows, the number of rows; or
which declared values of a column a person has, one coordinate for each."""

OWN_VALUE, OWN_MEAN, OWN_TOTAL = "own value", "own mean", "own total"
"""The one number of a person whose cell is counted: the value of its row, the mean of its rows, or their total."""

TABLED = "tabled"
"""A column of tables: which cell of all columns together a person is in."""

VECTOR = "vector"
"""A column of a vector: a number of the one row that a person is, read together with the other columns."""

CHECKED_VALUE, CHECKED_TOTAL = "checked value", "checked total"
CHECKED_ROWS, CHECKED_GROUPS = "checked rows", "checked groups"
CHECKED = (CHECKED_VALUE, CHECKED_TOTAL, CHECKED_ROWS, CHECKED_GROUPS)
"""What of a person is compared with the limits of a question: the values of its rows, their total, how many rows it has
and in how many groups."""


class BoundedColumn(NamedTuple):
    """A column and the bounds of its values."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class One:
    """A feature that is 1 for each record, so that it counts them; or for each row of a person that counts."""

    of_rows: bool = False

    column: None = field(default=None, init=False, repr=False)
    """It is about no column."""


@dataclass(frozen=True)
class Value:
    """A feature that is a number of the record: what it is made of, and whether it is the distance from the centre."""

    column: BoundedColumn
    made: str = TOTAL
    centred: bool = False

    @staticmethod
    def made_of(of: str) -> str:
        """What a number within bounds is made of: a row itself, a person's own mean, or a sum over its rows."""
        return {"records": TOTAL, "rows": ROW_SUM}.get(of, MEAN)


@dataclass(frozen=True)
class FeatureProduct:
    """A feature that is the product of two numbers of the record, each measured from the middle of its bounds."""

    first: BoundedColumn
    second: BoundedColumn
    made: str = TOTAL

    column: None = field(default=None, init=False, repr=False)
    """It is about two columns, or about the square of one."""
    of_rows: bool = field(default=False, init=False, repr=False)


Need = One | Value | FeatureProduct
"""What a statistic may need of a record."""


@dataclass(frozen=True, eq=False)
class Features:
    """Sums of coordinates, rows of a matrix or answers of a workload; and the number of records, if it has a weight.

    `index[i]` is the coordinate that feature i adds up, measured from the centre of the domain where `centred[i]`. A
    matrix or a workload stands instead of both.
    """

    index: Places
    centred: npt.NDArray[np.bool_]
    weights: Array
    """What the squared error of each is worth; the number of records, which is the last feature, has its own below."""
    count_weight: float = 0.0
    """What the squared error of the number of records is worth; 0: it is not needed."""
    matrix: Array | None = None
    workload: Runs | Marginals | None = None
    targets: Array | None = None
    """Standard errors to aim at, where the worst feature matters (in units of its target) and not the weighted total;
    the number of records has the target count_weight^−½."""

    @property
    def size(self) -> int:
        """How many features there are beside the number of records."""
        return len(self.weights)

    @property
    def objective(self) -> str:
        """What is made small: the weighted "total" of squared errors, or the "worst" one in units of its target."""
        return "total" if self.targets is None else "worst"

    @property
    def is_linear(self) -> bool:
        """Whether features mix coordinates, so that none has one of its own."""
        return self.matrix is not None or self.workload is not None

    @property
    def runs(self) -> Runs | None:
        """The runs of neighbouring cells that are asked, if they are."""
        return self.workload if isinstance(self.workload, Runs) else None

    @property
    def marginals(self) -> Marginals | None:
        """The tables over some attributes of a product that are asked, if they are."""
        return self.workload if isinstance(self.workload, Marginals) else None

    def coordinate_weights(self, dimension: int) -> Array:
        """ω_j: how much the squared error of coordinate j matters over all features."""
        if self.matrix is not None:
            return np.asarray(self.weights @ (self.matrix * self.matrix))
        assert self.workload is None
        return np.bincount(self.index, weights=self.weights, minlength=dimension).astype(float)

    def check_written(self, columns: int) -> None:
        """Refuse a matrix of answers that is too large to be solved for."""
        if self.size * columns > MAX_WRITTEN:
            what = f"{self.size} answers over {columns} cells"
            rule = f"a matrix of at most {MAX_WRITTEN:,} numbers is solved"
            remedy = "ask for fewer answers, or for a workload such as gaussmith.workloads.ranges"
            raise PlanError(what, rule, remedy, code="too-many-answers-over-cells", answers=self.size, cells=columns)

    def rows(self, dimension: int) -> Array:
        """The features as a matrix, one a row, one column per coordinate."""
        if self.workload is not None:
            return self.workload.rows
        return self.matrix if self.matrix is not None else np.eye(dimension)[self.index]

    def row(self, i: int, dimension: int) -> Array:
        """One row of that matrix."""
        if self.workload is not None:
            return self.workload.row(i)
        if self.matrix is not None:
            return np.asarray(self.matrix[i])
        row = np.zeros(dimension)
        row[self.index[i]] = 1.0
        return row

    def picked(self, places: Places, weights: Array, count_weight: float) -> Features:
        """Some of the features, in this order, at other weights."""
        assert self.workload is None and self.targets is None, "a workload is a question of its own"
        if self.matrix is not None:
            return replace(self, weights=weights, count_weight=count_weight, matrix=self.matrix[places])
        return replace(
            self,
            index=self.index[places],
            centred=self.centred[places],
            weights=weights,
            count_weight=count_weight,
        )

    def fits(self, domain: Domain) -> bool:
        """Whether all lists are of one length, and every index is that of a coordinate."""
        if self.targets is not None and not (self.targets.shape == (self.size,) and (self.targets > 0).all()):
            return False
        if self.workload is not None:
            return len(self.index) == len(self.centred) == 0 and self.size == self.workload.size
        if self.matrix is not None:
            return len(self.index) == len(self.centred) == 0 and self.matrix.shape == (self.size, domain.dimension)
        inside = bool(((self.index >= 0) & (self.index < domain.dimension)).all())
        return len(self.index) == len(self.centred) == self.size and inside

    def to_dict(self) -> dict[str, Any]:
        """What the features are made of; their weights follow from the statistics that need them."""
        fields: dict[str, Any] = {}
        if self.targets is not None:
            fields["targets"] = self.targets.tolist()
        if self.workload is not None:
            return fields | {"workload": self.workload.to_dict()}
        if self.matrix is not None:
            return fields | {"matrix": pack(self.matrix)}
        return fields | {"index": self.index.tolist(), "centred": self.centred.tolist()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Features:
        """The features that `to_dict` described, still without weights."""
        targets = np.array(fields["targets"], float) if "targets" in fields else None
        if "workload" in fields:
            return of_workload(workload_from_dict(fields["workload"]), targets)
        if "matrix" in fields:
            return of_matrix(unpack(fields["matrix"]), targets)
        return of_coordinates(np.array(fields["index"], np.int64), np.array(fields["centred"], bool), targets)


_NONE: tuple[Places, npt.NDArray[np.bool_]] = (np.zeros(0, np.int64), np.zeros(0, bool))
NOTHING = Features(*_NONE, np.zeros(0))
"""No feature at all."""


def of_coordinates(index: Places, centred: npt.NDArray[np.bool_], targets: Array | None = None) -> Features:
    """Sums of coordinates, still without weights."""
    return Features(index, centred, np.zeros(len(index)), targets=targets)


def of_matrix(matrix: Array, targets: Array | None = None) -> Features:
    """Linear combinations of coordinates, one a row, still without weights."""
    return Features(*_NONE, np.zeros(len(matrix)), matrix=matrix, targets=targets)


def of_workload(workload: Runs | Marginals, targets: Array | None = None) -> Features:
    """The answers of a workload, still without weights."""
    return Features(*_NONE, np.broadcast_to(0.0, (workload.size,)), workload=workload, targets=targets)
