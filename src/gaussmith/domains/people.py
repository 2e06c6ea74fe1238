"""People with many rows: what one person adds to sums over people, to sums over rows, and to the number of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_whole
from gaussmith.domains.box import ODD_VALUES, Box
from gaussmith.domains.box_strategies import is_worth_solving, solved
from gaussmith.domains.domain import (
    BoundsTable,
    Differences,
    Domain,
    DomainWords,
    MeanRange,
    Problem,
    WorstCase,
    check_law,
)
from gaussmith.domains.encoding import BoxEncoding, PeopleEncoding
from gaussmith.domains.extremes import PersonRows, Product, Signs
from gaussmith.domains.strategies import Candidate, Candidates, Search, Strategy, Way, isotropic, try_ways
from gaussmith.domains.workloads import Workload
from gaussmith.errors import DomainError, PlanError
from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Bordered, Diagonal
from gaussmith.numerics.trace_roots import root_of, square_with_slack

# The cone of people with many rows: bounds from laws on the number of their rows.
#
# In `domains/people.py` a, b, D and E are explained; p is the probability of a person with all k rows.


def total(a: Array, b: Array, D: float, E: float, k: int, p: float) -> float:
    """T for one law: its square bounds every Gaussian noise from below, at own numbers centred at zero."""
    q = p + (1 - p) / k**2
    tied = D * q + E + 2 * (1 - 1 / k) * math.sqrt(D * E * p * (1 - p))
    return float(a.sum() + math.sqrt(q) * b.sum()) + math.sqrt(tied)


def replaced_total(a: Array, b: Array, D: float, k: int, p: float) -> float:
    """The same under replace-one."""
    q, r = pair_moments(k, p)
    return float(2 * a.sum() + math.sqrt(q) * b.sum() + math.sqrt(D * r))


def pair_moments(k: int, p: float) -> tuple[float, float]:
    """E (t + t′)² and E (t − t′)² of two people with k rows each, with chance p, else with k rows and one."""
    return 4 * p + (1 - p) * (1 + 1 / k) ** 2, (1 - p) * (1 - 1 / k) ** 2


def best_share(value: Callable[[float], float]) -> float:
    """The p in [0, 1] at which a concave function is largest, by golden sections of the angle with sin² = p."""
    golden = (math.sqrt(5) - 1) / 2
    low, high = 0.0, math.pi / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    f, g = value(math.sin(left) ** 2), value(math.sin(right) ** 2)
    for _ in range(80):
        if f < g:
            low, left, f = left, right, g
            right = low + golden * (high - low)
            g = value(math.sin(right) ** 2)
        else:
            high, right, g = right, left, f
            left = high - golden * (high - low)
            f = value(math.sin(left) ** 2)
    return math.sin((low + high) / 2) ** 2


# The shape for people with many rows: noise for a cone.
#
# A person's core is (x, y, t, 1): own numbers |x_i| ≤ 1, sums over rows |y_j| ≤ t, the rows t in [τ, 1] with τ = 1/k,
# and the person. Let a_i, b_j be the square roots of the weights times the half ranges, D the weight of t and E the
# weight of the person. Let t be 1 with probability p and τ otherwise, so that E t² = q = p + (1−p)τ², with
# independent signs of x and y: each p bounds every Gaussian noise from below, and the best p gives the shape that
# attains it (for own numbers centred at zero; otherwise E includes the centres, as in a lifted box):
#
#     T = max over p of  Σ a_i + √q Σ b_j + √( D q + E + 2 (1−τ) √(D E p (1−p)) ),      total variance T².
#
# The lift is a_i^½, (b_j/√q)^½, each over T^½, and for (t, 1) a factor of D^½ (D^½ M D^½)^−½ D^½ / T, M = E
# (t,1)(t,1)ᵀ. Under replace-one two people with k and k rows, or k and one, take the place of 1 and τ, and E drops
# out.

NAME = "people"


def lifted_people(problem: Problem[People]) -> Strategy:
    """The best shape for people with many rows, scaled to a largest norm of 1."""
    domain, neighbours = problem.domain, problem.neighbours
    a, b, D = domain.worths(problem.coordinate_weights)
    k = domain.max_rows
    if not problem.secret_count:
        p = best_share(lambda p: replaced_total(a, b, D, k, p))
        q, r = pair_moments(k, p)
        entries = np.concatenate([np.sqrt(a), np.sqrt(b / math.sqrt(q)), [D**0.25 / r**0.25 if r > 0 else 0.0]])
        entries[: len(a)] /= math.sqrt(2.0)
        entries = entries / domain.sensitivity(Diagonal(entries), neighbours)
        return Strategy(NAME, Diagonal(entries), *_public_features(problem, entries))
    E = problem.offset_weight
    p = best_share(lambda p: total(a, b, D, E, k, p)) if E else 1.0
    q = p + (1 - p) / k**2
    inner = np.append(np.sqrt(np.concatenate([a, b / math.sqrt(q)])), [0.0, 0.0])
    border = np.zeros(len(inner))
    d = domain.dimension
    if E:
        inner[-2], border[-2], inner[-1] = _factor(D, E, k, p)
    else:
        inner[-2] = (D / q) ** 0.25
    lift = Bordered(np.arange(d + 1), inner, border, d + 1)
    norm = domain.sensitivity(lift, neighbours)
    lift = Bordered(lift.index, inner / norm, border / norm, d + 1)
    return Strategy(NAME, lift, *_features(problem, lift))


def _factor(D: float, E: float, k: int, p: float) -> tuple[float, float, float]:
    """The triangular factor ((u, v), (0, w)) of D^½ (D^½ M D^½)^−½ D^½ over (t, 1)."""
    tau = 1 / k
    root = np.diag([math.sqrt(D), math.sqrt(E)])
    mean = p + (1 - p) * tau
    M = np.array([[p + (1 - p) * tau**2, mean], [mean, 1.0]])
    X = root @ M @ root
    # The square root of a 2 × 2 matrix is (X + √det · I)/√(trace + 2√det); √det is known without cancellation.
    det = math.sqrt(D * E * p * (1 - p)) * (1 - tau)
    inverse = np.array([[X[1, 1] + det, -X[0, 1]], [-X[1, 0], X[0, 0] + det]])
    P = root @ inverse @ root / (det * math.sqrt(X[0, 0] + X[1, 1] + 2 * det))
    u = math.sqrt(P[0, 0])
    v = float(P[0, 1]) / u
    # P₁₁ − v² = det P / P₀₀, and det P = DE/√det X, again without cancellation.
    w = math.sqrt(D * E / det) / u
    return u, v, w


def _features(problem: Problem[People], lift: Bordered) -> tuple[Bordered, bool, None]:
    """What reads the answers back from the noisy lifted sums, and whether the number of people is among them."""
    domain, radius = problem.domain, problem.domain.coded[1]
    last = domain.parts[2]
    u, v, w = float(lift.inner[last]), float(lift.border[last]), float(lift.inner[-1])
    counted = w > 0
    per_person = 1.0 / w if counted else 0.0
    index = problem.features.index
    inner = radius[index] / lift.inner[index]
    border = problem.coded_offsets * per_person
    border = np.where(index == last, -radius[last] * v / u * per_person, border)
    if counted:
        index = np.append(index, domain.dimension)
        inner, border = np.append(inner, per_person), np.append(border, 0.0)
    return Bordered(index, inner, border, domain.dimension + 1), counted, None


def _public_features(problem: Problem[People], entries: Array) -> tuple[Bordered, bool, Array]:
    """The same where the number of people is public: own numbers get their centre's part from it."""
    domain, radius, index = problem.domain, problem.domain.coded[1], problem.features.index
    inner = radius[index] / entries[index]
    return Bordered(index, inner, np.zeros(len(index)), domain.dimension), False, problem.coded_offsets


# Bounds for people with many rows: the signs of a box, with one row or with all that count.

MAX_DENSE = 1500
"""Limit on coordinates and answers for an explicit moment matrix."""


def people_bound(problem: Problem[People]) -> float:
    """No Gaussian noise at μ = 1 has a smaller weighted total; rounded down."""
    return square_with_slack(_root(problem) if problem.secret_count else _replaced_root(problem))


def people_differences(problem: Problem[People], law: WorstCase) -> Differences | None:
    """The extreme people, as often as the law says."""
    if law.kind != "listed":
        return None
    check_law(problem.secret_count)
    z = problem.domain.corners()
    points = np.hstack([z, np.ones((len(z), 1))]) @ problem.lifted_rows.T
    check_law(len(points) == len(law.numbers["weights"]))
    return points, law.numbers["weights"]


def _root(problem: Problem[People]) -> float:
    """tr M^{1/2} with t = T/k equal to 1 or 1/k, and signs as for a box; any chance p of the first is a valid law."""
    domain, asked = problem.domain, problem.features
    a, b, D = domain.worths(problem.coordinate_weights)
    k, d, (own, over, last) = domain.max_rows, domain.dimension, domain.parts
    E = problem.offset_weight
    p = best_share(lambda p: total(a, b, D, E, k, p)) if E else 1.0
    if d > MAX_DENSE or asked.size > MAX_DENSE or asked.matrix is not None:
        return float(a.sum() + b.sum())  # all with k rows, signs independent
    rows = problem.lifted_rows
    if not problem.count_weight:
        rows = np.vstack([rows, np.zeros((1, d + 1))])
    # One sign for t and the person together: their columns side by side tell how it should correlate with the others.
    columns = np.hstack([rows[:, :last], rows[:, last:].sum(axis=1, keepdims=True)])
    norms = np.linalg.norm(columns, axis=0)
    cosines = (columns / np.where(norms > 0, norms, 1.0)).T @ (columns / np.where(norms > 0, norms, 1.0))
    np.fill_diagonal(cosines, 1.0)
    H = (2 / np.pi) * np.arcsin(np.clip(cosines, -1.0, 1.0))
    signs = np.array([*range(last), last, last])
    scaled = np.array([False] * (over.start - own.start) + [True] * (last - over.start) + [True, False])
    moments = np.array([[1.0, p + (1 - p) / k], [p + (1 - p) / k, p + (1 - p) / k**2]])
    M = H[np.ix_(signs, signs)] * moments[np.ix_(scaled.astype(int), scaled.astype(int))]
    return root_of(rows @ M @ rows.T)


def _replaced_root(problem: Problem[People]) -> float:
    a, b, D = problem.domain.worths(problem.coordinate_weights)
    k = problem.domain.max_rows
    return replaced_total(a, b, D, k, best_share(lambda p: replaced_total(a, b, D, k, p)))


Places = npt.NDArray[np.int64]


LIMIT = "rows_per_unit"
"""What requests and saved plans call `max_rows`."""


@dataclass(frozen=True, eq=False)
class People(Domain):
    """One person with T rows, 1 ≤ T ≤ k = `max_rows`, adds three kinds of numbers.

        own     numbers of the person as a whole (a total, a mean), each within its bounds
        rows    Σ (value − centre) over the T rows, within ±T times the half range of `rows`
        T       the number of rows

    So the sums over rows cannot be large if T is small: the set of people is a cone, not a box, and noise for the cone
    is smaller. The coordinates are those of `own`, then those of `rows`, then T.

    >>> People(Box({"fare": (0, 50)}), Box({"km": (0, 30)}), max_rows=20).names
    ('fare', 'km', 'rows')
    """

    kind = "people"

    own: Box | None
    rows: Box | None
    max_rows: int

    def __post_init__(self) -> None:
        rule = "people with several rows have a limit of 2 or more"
        remedy = "if each person has one row, use a Box"
        limit = check_whole(LIMIT, self.max_rows, 2, rule=rule, remedy=remedy, error=DomainError)
        object.__setattr__(self, "max_rows", limit)

    @cached_property
    def dimension(self) -> int:
        return len(self._own.centre) + len(self._rows.centre) + 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (*(self._own.names or ()), *(self._rows.names or ()), "rows")

    @cached_property
    def _own(self) -> _Part:
        return _Part.of(self.own)

    @cached_property
    def _rows(self) -> _Part:
        return _Part.of(self.rows)

    @cached_property
    def parts(self) -> tuple[slice, slice, int]:
        """The positions of the person's own numbers, of the sums over rows, and of T."""
        p, q = len(self._own.centre), len(self._rows.centre)
        return slice(0, p), slice(p, p + q), p + q

    @cached_property
    def centre(self) -> Array:
        return np.concatenate([self._own.centre, np.zeros_like(self._rows.centre), [0.0]])

    @cached_property
    def radius(self) -> Array:
        k = float(self.max_rows)
        return np.concatenate([self._own.radius, k * self._rows.radius, [k]])

    @cached_property
    def coded(self) -> tuple[Array, Array]:
        k = float(self.max_rows)
        return (
            np.concatenate([self._own.coded[0], np.zeros_like(self._rows.centre), [0.0]]),
            np.concatenate([self._own.coded[1], k * self._rows.coded[1], [k]]),
        )

    def worths(self, weights: Array) -> tuple[Array, Array, float]:
        """Square roots of weights times half ranges, for own numbers and sums over rows; and the weight of t."""
        own, over, last = self.parts
        roots = np.sqrt(weights) * self.radius
        return roots[own], roots[over], float(roots[last] ** 2)

    @cached_property
    def means(self) -> MeanRange:
        """Those of sums over rows are means of rows."""
        middles = np.concatenate([self._own.coded[0], self._rows.coded[0], [0.0]])
        distances = np.concatenate([self._own.radius, self._rows.radius, [0.0]])
        return MeanRange(middles, distances, distances * distances / 3)

    @property
    def words(self) -> DomainWords:
        return DomainWords("Each person's numbers are clipped to their bounds.")

    def codes(self, substitutes: Array, workload: Workload | None = None) -> PeopleEncoding:
        """The encoding of people as integers."""
        boxes = [box for box in (self.own, self.rows) if box is not None]
        k = float(self.max_rows)
        lower, upper = (np.concatenate([[], *(getattr(box, end) for box in boxes)]) for end in ("lower", "upper"))
        coded = BoxEncoding.for_bounds(lower, upper, substitutes[:-1])  # bounds that boxes took
        return PeopleEncoding(
            np.append(coded.low, 0.0),
            np.append(coded.top, k),
            np.append(coded.scale, 1.0),
            np.append(coded.steps, self.max_rows),
            np.append(coded.substitute, 0.0),
            len(self._rows.centre),
            self.max_rows,
        )

    def extremes(self) -> Product:
        return Product(Signs(len(self._own.centre)), PersonRows(len(self._rows.centre), self.max_rows))

    def corners(self) -> Array:
        """The extreme people, one per row: own numbers and sums over rows at ± their maximum, with k rows, then one."""
        found = self.extremes().vertices(np.ones(self.dimension))
        return found[np.argsort(-found[:, -1], kind="stable")]

    def check(self, problem: Problem[Any]) -> None:
        super().check(problem)
        if problem.features.matrix is not None and not problem.secret_count:
            what, rule = "a matrix of answers of people with rows under replace-one", "it is solved under add-remove"
            remedy = "leave neighbours out, or ask for sums"
            raise PlanError(what, rule, remedy, code="matrix-of-people-under-replace-one")

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        if problem.features.matrix is not None:  # closed forms read each coordinate by itself
            return try_ways([Way("solved", lambda: solved(problem, search.gap))], problem, search)
        ways = [Way("lifted", lambda: Candidate(lifted_people(problem)))]
        if problem.secret_count:
            ways.append(Way("solved", lambda: solved(problem, search.gap), is_worth_solving(problem)))
        ways.append(Way("isotropic", lambda: Candidate(isotropic(problem))))
        return try_ways(ways, problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Strategy]:
        return self, isotropic(problem)

    def bounding_law(self, problem: Problem[Any]) -> WorstCase:
        return WorstCase("closed", people_bound(problem))

    def differences(self, problem: Problem[Any], law: WorstCase) -> Differences | None:
        return people_differences(problem, law)

    def bounds_table(self, problem: Problem[Any], places: Sequence[int], substitutes: Array) -> BoundsTable:
        boxes = [box for box in (self.own, self.rows) if box is not None]
        lower, upper = (np.concatenate([[], *(getattr(box, end) for box in boxes)]) for end in ("lower", "upper"))
        numbers = (lower, upper, substitutes)
        rows = [(self.name(j), [float(each[j]) for each in numbers]) for j in places if j < len(lower)]
        return BoundsTable(("column", "from", "to", "a missing value becomes"), rows, ODD_VALUES)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "own": None if self.own is None else self.own.to_dict(),
            "rows": None if self.rows is None else self.rows.to_dict(),
            LIMIT: self.max_rows,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> People:
        own, rows = (None if fields[part] is None else Box.from_dict(fields[part]) for part in ("own", "rows"))
        return cls(own, rows, int(fields[LIMIT]))


@dataclass(frozen=True)
class _Part:
    """The values that planning needs from a box that may be absent."""

    names: tuple[str, ...]
    centre: Array
    radius: Array
    coded: tuple[Array, Array]

    @classmethod
    def of(cls, box: Box | None) -> _Part:
        if box is None:
            return cls((), np.zeros(0), np.zeros(0), (np.zeros(0), np.zeros(0)))
        return cls(tuple(box.name(j) for j in range(box.dimension)), box.centre, box.radius, box.coded)
