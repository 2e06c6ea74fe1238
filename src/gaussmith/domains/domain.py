"""The interface of domains: what one record can be."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from gaussmith.domains.encoding import Encoding
from gaussmith.domains.extremes import Extremes, Marks, PersonRows, Product
from gaussmith.domains.features import Features
from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Matrix
from gaussmith.numerics.packed_arrays import pack, unpack
from gaussmith.privacy.neighbours import ADD_REMOVE

if TYPE_CHECKING:
    from gaussmith.domains.strategies import Candidates, Search, Strategy
    from gaussmith.domains.workloads import Workload


# Laws on the differences of neighbours: each proves that no Gaussian noise has a total below (tr M^{1/2})².
#
# M = E[s sᵀ] for a difference s drawn from the law, each answer scaled to its weight. A law is written down so that
# somebody else can compute M from it; the kinds are listed in `gaussmith.domains.worst_cases`.

KINDS = (
    "cells", "closed", "corners", "crossed", "even", "gaussian signs", "in groups", "levels", "listed", "moments",
    "pairs", "patterns", "rankings", "signs", "together", "types",
)  # fmt: skip

TOGETHER = "together"
"""The kind of a law on what a person is in all draws of a plan at once."""

IN_GROUPS = "in groups"
"""The kind of a law for draws by the same groups: for each set of them a law on the people of one group, if any."""


@dataclass(frozen=True, eq=False)
class WorstCase:
    """A law of one kind and its numbers; `lower` is the bound it proves at μ = 1, rounded down."""

    kind: str
    lower: float
    numbers: dict[str, Array] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        numbers = {name: pack(values) for name, values in self.numbers.items()}
        return {"kind": self.kind, "lower": self.lower, "numbers": numbers}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> WorstCase:
        if fields["kind"] not in KINDS:
            raise damaged_plan(f"a law of unknown kind {fields['kind']!r}")
        numbers = {str(name): unpack(values) for name, values in fields["numbers"].items()}
        return cls(str(fields["kind"]), float(fields["lower"]), numbers)


def even_moment(law: WorstCase, dimension: int, secret_count: bool, counted: bool) -> Array:
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
    return damaged_plan("a law that is not a law of differences")


Differences = tuple[Array, Array]
"""Differences of neighbours in answers scaled to their weights, one per row, and how often each occurs."""


@dataclass(frozen=True)
class BoundsTable:
    """Bounds for a page: a header, a row for each coordinate (its name, then numbers), and a note below.

    `expected` says what a plan expects of the data, where the bounds rest on that.
    """

    header: tuple[str, ...]
    rows: list[tuple[str, list[float]]]
    note: str
    expected: str = ""


@dataclass(frozen=True)
class RecordInput:
    """What a record is read from."""

    columns: Sequence[str] | None
    """The names of the columns, if they have names."""
    labels: tuple[Sequence[Any], ...] = ()
    """The values that are declared of each column, or of all alike; a range of places where they have no labels."""
    attributes: tuple[str, ...] = ()
    """The names of the attributes whose values make a cell, in order; none where there are no cells."""
    made_of: Callable[[int], tuple[int, ...]] = lambda j: (j,)
    """The columns that a coordinate is made of, by their places."""

    @property
    def values(self) -> Sequence[Any] | None:
        """The values that are declared of the first column, where they have labels."""
        return None if not self.labels or isinstance(self.labels[0], range) else self.labels[0]


@dataclass(frozen=True, eq=False)
class MeanRange:
    """Where means of coordinates may lie: the choice of noise for means, and what is promised of them, rest on it."""

    middles: Array
    """What means are measured from, as encoded points stand for it."""
    distances: Array
    """The largest distance of a mean from its middle."""
    squares: Array
    """The mean squared distance of a mean from its middle, if it is uniform in the domain."""
    vary_alone: bool = True
    """Whether all means may be that far from their middles at once; if not, they lie in a ball."""
    holds_always: bool = True
    """Whether no data has a mean that is farther away."""
    words: str = "anywhere within their bounds"
    """Where means lie for which stated errors hold."""


@dataclass(frozen=True)
class DomainWords:
    """A domain in plain words."""

    reading: str
    """The treatment of records: what counts, and what happens to odd values."""
    person: str = "each row is one person"
    """Who is one person in a release from plain data."""
    undeclared: str = ""
    """The substitute of undeclared values; empty if there is none."""


class Domain(ABC):
    """What one record can be. Nothing here sees data.

    A record x is `centre + radius · z`, coordinate by coordinate; z is its core, at most 1 in size. A new domain
    defines what has no default here; the defaults fit records of numbers within bounds.
    """

    kind: ClassVar[str]
    """The name of the domain in saved plans."""

    forms: ClassVar[tuple[str, ...]] = ("numbers",)
    """The forms of data that are accepted, the default first."""

    has_products: ClassVar[bool] = False
    """Whether squares or products of columns are coordinates, after the columns."""

    reads_vectors: ClassVar[bool] = False
    """Whether a row rule may give it whole vectors: the numbers of a row, or of a person by `person_columns`."""

    shape_follows_mu: ClassVar[bool] = False
    """Whether the best shape, at μ = 1, is another for another guarantee."""

    compared_by_norm: ClassVar[bool] = False
    """Whether the standard Gaussian mechanism is known by the norm of all answers, and not as a shape."""

    chosen: ClassVar[int] = 0
    """How many numbers of a release are choices: they stand after the noisy features."""

    found_with_noise: ClassVar[tuple[str, ...]] = ()
    """Saved fields that a plan finds together with the noise: they are not part of what was asked."""

    core_map: Array | None = None
    """What each coordinate takes from each number of the core; None where these are the coordinates themselves."""

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
    def coded(self) -> tuple[Array, Array]:
        """Centre and radius of the points that codes represent."""
        return self.centre, self.radius

    @property
    def means(self) -> MeanRange:
        """Where means lie: by default uniform within the bounds."""
        return MeanRange(self.coded[0], self.radius, self.radius * self.radius / 3)

    @property
    def ranges(self) -> Array:
        """The largest change of each coordinate by one record, to which relative weights refer."""
        return 2 * self.radius

    # -- from records to integers ---------------------------------------------------------------------------------

    @property
    def input(self) -> RecordInput:
        """What records are read from: by default a column for each coordinate."""
        return RecordInput(self.names)

    @abstractmethod
    def codes(self, substitutes: Array, workload: Workload | None = None) -> Encoding:
        """The encoding of records as integers, with these substitutes for missing values and this workload."""

    def substitutes(self, features: Features, missing: Mapping[str, float]) -> Array:
        """What stands in for a missing value of each number that is read; refuses what `missing` cannot mean here."""
        refuse_missing(missing)
        return self.centre

    # -- privacy --------------------------------------------------------------------------------------------------

    @abstractmethod
    def extremes(self) -> Extremes:
        """The extreme units: all that privacy needs to know of what one unit can add."""

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """The sensitivity: an upper bound on ‖lift · s‖ over all differences s of neighbours, rounded up.

        A lift sees the core of a record and, under add-remove, may see a constant 1 in a last column: the record.
        `extent` is the integer that stands for core 1, coordinate by coordinate (1 by default).
        """
        return self.extremes().sensitivity(lift, neighbours, extent)

    # -- what can be asked, and the noise that fits ---------------------------------------------------------------

    def check(self, problem: Problem[Any]) -> None:
        """Refuse what cannot be asked of this domain."""
        if problem.features.targets is not None:
            what, rule = f"objective='worst' for {type(self).__name__}", "this objective is for cells and points only"
            remedy = "leave it out, or give weights"
            raise PlanError(what, rule, remedy, code="objective-worst-not-for-this-domain", type=type(self).__name__)

    @abstractmethod
    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        """The shapes of noise that fit, in order of preference, or the one requested by name."""

    @abstractmethod
    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Strategy]:
        """The standard Gaussian mechanism as a shape, and the domain it is a shape of."""

    # -- the lower bound for any Gaussian noise: independent of the candidates ------------------------------------

    def bounding_law(self, problem: Problem[Any]) -> WorstCase:
        """A law on differences that bounds every shape, if no candidate came with one; "closed" is a formula alone."""
        return WorstCase("closed", 0.0)

    def differences(self, problem: Problem[Any], law: WorstCase) -> Differences | None:
        """The differences of a law; None if there are too many to list."""
        return None

    def proven(self, problem: Problem[Any], law: WorstCase) -> float:
        """The bound from a law whose differences are not listed, at μ = 1, rounded down; refuses other laws."""
        raise refused_law()

    # -- words and saved form -------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def words(self) -> DomainWords:
        """The domain in plain words."""

    def bounds_table(self, problem: Problem[Any], places: Sequence[int], substitutes: Array) -> BoundsTable | None:
        """The bounds of some coordinates as a table; None if `words` say everything."""
        return None

    @abstractmethod
    def to_dict(self) -> dict[str, Any]: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True))


def refuse_missing(missing: Mapping[str, float]) -> None:
    """Refuse substitutes for missing values where a domain has its own rule."""
    if missing:
        what = f"missing={dict(missing)!r}"
        rule = "in a ball a record with a missing value becomes the centre; counts have their own rules"
        remedy = "leave out missing="
        raise PlanError(what, rule, remedy, code="missing-not-for-this-domain", missing=dict(missing))


def free_marks(domain: Domain) -> int | None:
    """How many numbers of a record can be 1, the others being 0; None where records are not of that kind.

    Marks of which each record has one are not free: they are bound to the number of records.
    """
    extremes = domain.extremes()
    return extremes.at_most if isinstance(extremes, Marks) and not extremes.at_least else None


def rows_of(domain: Domain) -> PersonRows | None:
    """The rows of people who have several; None where rows are not counted."""
    match domain.extremes():
        case Product((_, PersonRows() as rows)):
            return rows
    return None


def records_are_rows(domain: Domain) -> bool:
    """Whether what is counted as records are the rows of people, of whom each may have several."""
    return rows_of(domain) is None and domain.extremes().rows > 1


def check_plain(domain: Domain) -> None:
    """Refuse data that is one row for each record, where people have several rows."""
    if domain.extremes().rows > 1:
        what, rule = "a plan for people with many rows", "the plan does not say which rows belong to the same person"
        remedy = "release the request it came from: gaussmith.release(request)"
        raise PlanError(what, rule, remedy, code="people-plan-without-request")


def check_workload(domain: Domain, workload: Workload) -> None:
    """Refuse a workload that is not over the cells of this domain."""
    if not domain.input.attributes:
        what, rule = f"a workload over {type(domain).__name__}", "workloads are over the cells of a histogram"
        remedy = "plan with gaussmith.Cells, or give a matrix of answers"
        raise PlanError(what, rule, remedy, code="workload-without-cells", type=type(domain).__name__)
    workload.check_cells(tuple(map(len, domain.input.labels)))


MAX_SINGLE = 10_000_000
"""Limit on the number of cells that are planned and released individually."""


def check_coordinates(domain: Domain) -> None:
    """Refuse more cells than can be released individually."""
    d = domain.dimension
    if d > MAX_SINGLE and domain.input.attributes:
        what = f"all {d:.3g} cells" if d < 1e300 else "all cells of a product"
        rule = f"at most {MAX_SINGLE:,} are released one by one"
        remedy = "ask for marginals: answers=gaussmith.workloads.marginals(shape, 2)"
        raise PlanError(what, rule, remedy, code="too-many-cells-to-release", cells=d)


def rows_coordinate(domain: Domain) -> int | None:
    """The coordinate that is the number of a person's rows, if there is one."""
    return None if rows_of(domain) is None else domain.dimension - 1


# A problem: what one record can be, which features of it are needed, what is protected; and all that follows.

D_co = TypeVar("D_co", bound=Domain, covariant=True)
Other = TypeVar("Other", bound=Domain)


@dataclass(frozen=True, eq=False)
class Problem(Generic[D_co]):
    """One domain, the features of a record that receive noise, and the neighbours under which it is protected.

    In the formulas ω_j is the weight of coordinate j over all features, and E what the number of records is worth.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), count=True, weights="equal")
    >>> problem = plan.block.problem
    >>> problem.secret_count, problem.asks_secret_count, problem.offset_weight
    (True, True, 2501.0)
    """

    domain: D_co
    features: Features
    neighbours: str

    def over(self, domain: Other) -> Problem[Other]:
        """The same features of another domain."""
        return Problem(domain, self.features, self.neighbours)

    def asking(self, features: Features) -> Problem[D_co]:
        """Other features of the same domain."""
        return replace(self, features=features)

    # -- the number of records ------------------------------------------------------------------------------------

    @cached_property
    def secret_count(self) -> bool:
        """Whether the number of records is secret: it is public under replace-one."""
        return self.neighbours == ADD_REMOVE

    @cached_property
    def asks_secret_count(self) -> bool:
        """Whether the number of records is a feature that needs noise."""
        return self.count_weight > 0 and self.secret_count

    @property
    def count_weight(self) -> float:
        """How much the squared error of the number of records matters where no centre enters: means and the count."""
        return self.features.count_weight

    @property
    def secret_count_weight(self) -> float:
        """The same where the number of records is secret; else 0."""
        return self.count_weight if self.secret_count else 0.0

    @cached_property
    def offset_weight(self) -> float:
        """E: how much the squared error of the number of records matters, through centres, means and the count."""
        plain = ~self.features.centred if self.features.matrix is None else slice(None)
        centres = self.offsets[plain]
        return self.count_weight + float(self.features.weights[plain] @ (centres * centres))

    # -- what features take from a record -------------------------------------------------------------------------

    @property
    def offsets(self) -> Array:
        """What each feature takes from the number of records: where its coordinate is centred, 0 if measured there."""
        return self._measured_from(self.domain.centre)

    @property
    def coded_offsets(self) -> Array:
        """The same, as codes stand for it."""
        return self._measured_from(self.domain.coded[0])

    def _measured_from(self, centre: Array) -> Array:
        features = self.features
        if features.matrix is not None:
            return np.asarray(features.matrix @ centre)
        return np.where(features.centred, 0.0, centre[features.index])

    @cached_property
    def coordinate_weights(self) -> Array:
        """ω_j: how much the squared error of coordinate j matters over all features."""
        return self.features.coordinate_weights(self.domain.dimension)

    @cached_property
    def asks_each_once(self) -> bool:
        """Whether the features are the coordinates themselves, each once and in order."""
        features = self.features
        return not features.is_linear and np.array_equal(features.index, np.arange(self.domain.dimension))

    @cached_property
    def asks_no_coordinate_twice(self) -> bool:
        """Whether every feature is about a coordinate of its own."""
        features = self.features
        return features.matrix is None and len(np.unique(features.index)) == features.size

    @cached_property
    def common_weight(self) -> float | None:
        """The weight of every coordinate, if each is asked once and all weigh the same."""
        weights = self.features.weights
        even = len(weights) > 0 and self.asks_each_once and bool((weights == weights[0]).all())
        return float(weights[0]) if even else None

    @property
    def rows(self) -> Array:
        """The features as a matrix over what is counted of a record, not weighted."""
        domain, made = self.domain, self.domain.core_map
        if made is not None or domain.input.attributes:
            self.features.check_written(domain.extremes().size)
        rows = self.features.rows(domain.dimension)
        return rows if made is None else rows @ made

    @property
    def root_weights(self) -> Array:
        """The root of each feature's weight, as a column."""
        return np.sqrt(self.features.weights)[:, None]

    @property
    def root_count_weight(self) -> float:
        """The root of what the number of records is worth."""
        return float(np.sqrt(self.count_weight))

    @property
    def weighted_rows(self) -> Array:
        """The rows, each scaled to its weight; where the count needs noise one more, of a last coordinate that is 1."""
        rows = self.rows * self.root_weights
        if self.asks_secret_count:
            rows = np.pad(rows, ((0, 1), (0, 1)))
            rows[-1, -1] = self.root_count_weight
        return np.asarray(rows)

    @property
    def core_rows(self) -> Array:
        """What each feature takes from the core z, scaled to its weight; the number of records is public."""
        return np.asarray(self.rows * self.domain.radius * self.root_weights)

    @property
    def lifted_rows(self) -> Array:
        """What each feature takes from the core (z, 1), scaled to its weight; then the count, where it has a worth."""
        features, domain, d = self.features, self.domain, self.domain.dimension
        if features.matrix is not None:
            rows = np.column_stack([features.matrix * domain.radius, self.offsets])
        else:
            rows = np.zeros((features.size, d + 1))
            rows[np.arange(features.size), features.index] = domain.radius[features.index]
            rows[:, -1] = self.offsets
        rows = rows * self.root_weights
        if self.count_weight:
            tail = np.zeros((1, d + 1))
            tail[0, -1] = self.root_count_weight
            rows = np.vstack([rows, tail])
        return rows
