"""The interface of domains: what one record can be."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.linear import Array, Matrix
from gaussmith.problem.codes import Codes
from gaussmith.problem.law import Law, refused_law
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.problem.features import Features
    from gaussmith.problem.problem import Problem
    from gaussmith.shapes import Shape
    from gaussmith.shapes.candidates import Candidates, Search
    from gaussmith.workloads import Marginals, Runs, Workload

Differences = tuple[Array, Array]
"""Differences of neighbours in answers scaled to their weights, one per row, and how often each occurs."""


@dataclass(frozen=True)
class BoundsTable:
    """Bounds for a page: a header, a row for each coordinate (its name, then numbers), and a note below."""

    header: tuple[str, ...]
    rows: list[tuple[str, list[float]]]
    note: str


class Domain(ABC):
    """What one record can be. Nothing here sees data.

    A record x is `centre + radius · z`, coordinate by coordinate; z is its core, at most 1 in size. A new domain
    defines what has no default here; the defaults fit records of numbers within bounds.
    """

    kind: ClassVar[str]
    """The name of the domain in saved plans."""

    forms: ClassVar[tuple[str, ...]] = ("numbers",)
    """The forms of data that are accepted, the default first."""

    columns_vary_alone: ClassVar[bool] = False
    """Whether each number of the core may be anything between −1 and 1, whatever the others are."""

    bounds_every_record: ClassVar[bool] = True
    """Whether no record lies outside the bounds, so that its mean cannot either."""

    records_are_rows: ClassVar[bool] = False
    """Whether what is counted as records are the rows of people, of whom each may have several."""

    shape_follows_mu: ClassVar[bool] = False
    """Whether the best shape, at μ = 1, is another for another guarantee."""

    @property
    def over_rows(self) -> tuple[int, int] | None:
        """How many sums over rows a person adds, and how many rows it has at most, k; None where rows are not counted.

        Then the core is what varies alone, the sums over rows, each within ±t, and t: the number of rows over k.
        """
        return None

    @property
    def marks_at_most(self) -> int | None:
        """How many coordinates of a record can be 1, the others being 0; None where records are not of that kind."""
        return None

    # -- coordinates ----------------------------------------------------------------------------------------------

    if TYPE_CHECKING:  # every domain has these, as fields or as properties; type checkers see that it does

        @property
        @abstractmethod
        def dimension(self) -> int: ...

        @property
        @abstractmethod
        def names(self) -> tuple[str, ...] | None: ...

        @property
        @abstractmethod
        def centre(self) -> Array: ...

        @property
        @abstractmethod
        def radius(self) -> Array: ...

    def name(self, j: int) -> str:
        """The name of coordinate j, or its number as text."""
        return str(j) if self.names is None else self.names[j]

    @property
    @abstractmethod
    def spread(self) -> Array:
        """The mean squared distance of a mean from the centre, if it is uniform in the domain."""

    @property
    def mean_distances(self) -> Array:
        """The largest distance of a mean from its middle, coordinate by coordinate: what promises about means use."""
        return self.radius

    @property
    def means_vary_alone(self) -> bool:
        """Whether all means may be that far from their middles at once; if not, they lie in a ball."""
        return True

    @property
    def means_lie(self) -> str:
        """Where means lie for which stated errors hold, in plain words."""
        return "anywhere within their bounds"

    @property
    def coded(self) -> tuple[Array, Array]:
        """Centre and radius of the points that codes represent."""
        return self.centre, self.radius

    @property
    def middles(self) -> Array:
        """What means are measured from, as codes stand for it."""
        return self.coded[0]

    @property
    def ranges(self) -> Array:
        """The largest change of each coordinate by one record, to which relative weights refer."""
        return 2 * self.radius

    @property
    def product_pairs(self) -> Sequence[tuple[int, int]] | None:
        """The pairs of columns whose products are coordinates, after the columns; None where there are no products."""
        return None

    def read_from(self, j: int) -> tuple[int, ...]:
        """The numbers of a record that coordinate j is made of: places among the columns that are read."""
        return (j,)

    @property
    def width(self) -> int:
        """The number of counted values of a record: its coordinates, or its possible points."""
        return self.dimension

    @property
    def rows_coordinate(self) -> int | None:
        """The coordinate that is the number of a person's rows, if there is one."""
        return None

    # -- from records to integers ---------------------------------------------------------------------------------

    @property
    def columns(self) -> Sequence[str] | None:
        """The columns from which records are read, if they have names."""
        return self.names

    @property
    def attribute_names(self) -> Sequence[str]:
        """The names of the attributes whose values make a cell, in order; none where there are no cells."""
        return ()

    @property
    def declared_values(self) -> Sequence[Any] | None:
        """The values that are declared of the only column, where records are counted by value."""
        return None

    @property
    def declared_lists(self) -> list[Sequence[Any]]:
        """The values that are declared of each column, or of all alike; places where they have no labels."""
        return []

    @abstractmethod
    def codes(self, substitutes: Array, workload: Workload | None = None) -> Codes:
        """The encoding of records as integers, with these substitutes for missing values and this workload."""

    def substitutes(self, features: Features, missing: Mapping[str, float]) -> Array:
        """What stands in for a missing value of each coordinate; refuses what `missing` cannot mean here."""
        self.refuse_missing(missing)
        return self.centre

    def refuse_missing(self, missing: Mapping[str, float]) -> None:
        """Refuse substitutes for missing values if the domain has its own rule."""
        if missing:
            raise PlanError(
                f"missing={dict(missing)!r}",
                "in a ball a record with a missing value becomes the centre; counts have their own rules",
                "leave out missing=",
                code="missing-not-for-this-domain",
                missing=dict(missing),
            )

    @property
    def substitutes_size(self) -> int:
        """The number of substitutes for missing values in a plan."""
        return self.dimension

    def check_plain(self) -> None:
        """Refuse data that is one row for each record, where more has to be known."""
        return

    # -- privacy --------------------------------------------------------------------------------------------------

    @abstractmethod
    def largest(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """An upper bound on ‖lift · s‖ over all differences s of neighbours, rounded up.

        A lift sees the core of a record and, under add-remove, may see a constant 1 in a last column: the record.
        `extent` is the integer that stands for core 1, coordinate by coordinate (1 by default).
        """

    @abstractmethod
    def largest_change(self, lift: Matrix) -> float:
        """An upper bound on ‖lift · (s − s′)‖ over two records, with an add-remove lift; rounded up."""

    def check_lift(self, lift: Matrix, codes: Codes) -> None:
        """Refuse a lift that does not fit these codes, if its size alone is not enough to tell."""
        return

    # -- what can be asked, and the noise that fits ---------------------------------------------------------------

    def check_workload(self, workload: Workload) -> None:
        """Refuse a workload that is not over the cells of this domain."""
        raise PlanError(
            f"a workload over {type(self).__name__}",
            "workloads are over the cells of a histogram",
            "plan with gaussmith.Cells, or give a matrix of answers",
            code="workload-without-cells",
            type=type(self).__name__,
        )

    def workload_names(self, workload: Runs | Marginals) -> Sequence[str]:
        """The names of a workload's answers."""
        self.check_workload(workload)
        return ()

    def check_coordinates(self) -> None:
        """Refuse more coordinates than can be released individually."""
        return

    def check(self, problem: Problem[Any]) -> None:
        """Refuse what cannot be asked of this domain."""
        if problem.features.targets is not None:
            raise PlanError(
                f"objective='worst' for {type(self).__name__}",
                "this objective is for cells and points only",
                "leave it out, or give weights",
                code="objective-worst-not-for-this-domain",
                type=type(self).__name__,
            )

    def feature_rows(self, features: Features) -> Array:
        """The features as a matrix over what is counted of a record, one a row, not weighted."""
        return features.rows(self.dimension)

    @abstractmethod
    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        """The shapes of noise that fit, in order of preference, or the one requested by name."""

    # -- the standard Gaussian mechanism --------------------------------------------------------------------------

    def has_standard_shape(self, problem: Problem[Any]) -> bool:
        """Whether the standard Gaussian mechanism is a shape over the coordinates, and not noise on each answer."""
        return problem.features.matrix is None

    @abstractmethod
    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Shape]:
        """The standard Gaussian mechanism as a shape, and the domain it is a shape of."""

    def standard_reach(self, problem: Problem[Any]) -> float | None:
        """Δ: the largest norm of all answers together, each scaled to its weight; None where it is not known."""
        W, root = problem.rows, np.sqrt(problem.features.weights)
        reach = np.abs(W) @ self.radius
        reach = np.abs(W @ self.centre) + reach if problem.secret_count else 2 * reach
        return float(np.sqrt(((root * reach) ** 2).sum() + problem.secret_count_weight))

    # -- the lower bound for any Gaussian noise: independent of the candidates ------------------------------------

    def closed_bound(self, problem: Problem[Any]) -> float:
        """No Gaussian noise at μ = 1 has a smaller weighted total, by a closed formula; rounded down."""
        return 0.0

    def bounding_law(self, problem: Problem[Any]) -> Law:
        """A law on differences that bounds every shape, if no candidate came with one."""
        return Law("closed", self.closed_bound(problem))

    def differences(self, problem: Problem[Any], law: Law) -> Differences | None:
        """The differences of a law; None if there are too many to list."""
        return None

    def proven(self, problem: Problem[Any], law: Law) -> float:
        """The bound from a law whose differences are not listed, at μ = 1, rounded down; refuses other laws."""
        raise refused_law()

    # -- pictures and words ---------------------------------------------------------------------------------------

    def outlines(self, problem: Problem[Any], first: int, second: int) -> list[Array]:
        """Outlines of what one record can change in two answers (the count last); empty if they are not known."""
        return []

    @property
    @abstractmethod
    def reading(self) -> str:
        """The treatment of records in plain words: what counts, and what happens to odd values."""

    @property
    def undeclared(self) -> str:
        """The substitute of undeclared values, in plain words; empty if there is none."""
        return ""

    @property
    def person(self) -> str:
        """Who is one person in a release from plain data, in plain words."""
        return "each row is one person"

    def note(self, problem: Problem[Any]) -> str:
        """An extra note on a plan for this domain; usually empty."""
        return ""

    @property
    def largest_values(self) -> Array | None:
        """The largest absolute value of each coordinate of one record, if errors are shown relative to it."""
        return None

    def bounds_table(self, problem: Problem[Any], places: Sequence[int], substitutes: Array) -> BoundsTable | None:
        """The bounds of some coordinates as a table; None if `reading` says everything."""
        return None

    @property
    def comparison_note(self) -> str:
        """An extra note on comparisons of published mechanisms on this domain; usually empty."""
        return ""

    def expected_loss(self, weights: Array) -> float:
        """The expected weighted squared error of sums in addition to the noise, if the data are as expected."""
        return 0.0

    def around_zero(self) -> Domain:
        """The same domain as in papers without a centre."""
        return self

    @abstractmethod
    def to_dict(self) -> dict[str, Any]: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True))
