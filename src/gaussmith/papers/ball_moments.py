"""Second moments of a ball: the squares and products of records x with ‖x‖ ≤ radius, Σ xxᵀ.

With z = x / radius a record is v = (z_i z_j), i ≤ j, and ‖zzᵀ‖ = ‖z‖² ≤ 1 in the norm of matrices (Frobenius). All
rotations keep this set, so the best noise has one variance on the trace and one on all that is orthogonal to it:

    ‖lift v‖² = (β + γ) ‖z‖⁴   for a lift with   liftᵀ lift = β·(1 for squares, 2 for products) + γ·(trace)(trace)ᵀ.

The difference of two records has ‖zzᵀ − z′z′ᵀ‖² ≤ ‖z‖⁴ + ‖z′‖⁴, and is longest where both have length 0 or 1:
‖lift (v − v′)‖² ≤ max(2β, β + γ). Other lifts are bounded by what they differ from such a one (docs/theory.md, 59).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.checks import check_coordinate_names, checks_arguments
from gaussmith.domains.domain import Domain, DomainWords, MeanRange, Problem, RecordInput, WorstCase
from gaussmith.domains.encoding import BallEncoding, Encoding, Step, literal
from gaussmith.domains.extremes import Extremes, check_columns
from gaussmith.domains.strategies import Candidate, Candidates, Search, Strategy, Way, try_ways
from gaussmith.domains.workloads import Workload
from gaussmith.errors import DomainError, PlanError, counted, damaged_plan
from gaussmith.numerics.exact import Array, Words, norm_upward, sqrt_upward
from gaussmith.numerics.matrices import Dense, Matrix
from gaussmith.papers.ball import Ball
from gaussmith.privacy.neighbours import ADD_REMOVE

# Codes of the second moments of a ball: columns are cut into about 2^21 steps, and products are of those codes.
#
# With y the code of a ball, ‖y‖ ≤ 2^42, and F = 2^21 − ⌈√d⌉ a column becomes c = floor(y·F/2^42 + ½): rounding adds
# √d/2 at most to the norm, so that ‖c‖ ≤ 2^21 and ‖ccᵀ‖ ≤ 2^42. A product stands for radius²·c_i c_j / F².

STEPS = 1 << 21
EXACT_ROWS = 1 << 11
"""Limit on the products that add up exactly in doubles: 2^11 · 2^42 = 2^53."""


@dataclass(frozen=True, eq=False)
class BallMomentEncoding(Encoding):
    """The coding of products of two numbers of a record; `pairs` says of which.

    >>> codes = BallMomentEncoding(BallEncoding(np.zeros(2), 5.0), ((0, 0), (0, 1), (1, 1)))
    >>> (codes.encode(np.array([[3.0, -4.0]])) / codes.full**2 * 25).round(4)
    array([[  9., -12.,  16.]])
    """

    base: BallEncoding
    pairs: tuple[tuple[int, int], ...]

    @property
    def columns(self) -> int:
        return self.base.columns

    @property
    def width(self) -> int:
        return len(self.pairs)

    @property
    def full(self) -> float:
        """F: the code of a column that is as long as the radius."""
        return float(STEPS - math.isqrt(self.base.columns - 1) - 1)

    @property
    def stretch(self) -> float:
        """What core 1 stands for, in units of radius²."""
        return (STEPS / self.full) ** 2

    @property
    def extents(self) -> Array:
        return np.full(self.width, float(STEPS) ** 2)

    def _columns_of(self, rows: Array) -> Array:
        return np.asarray(np.floor(self.base.encode(rows).astype(float) * (self.full * 2.0**-42) + 0.5))

    def encode(self, rows: Array) -> Words:
        c = self._columns_of(rows).astype(np.int64)
        first, second = np.array(self.pairs, np.int64).T
        return np.asarray(c[:, first] * c[:, second])

    def sum_rows(self, rows: Array) -> Words:
        c = self._columns_of(rows)
        table = np.zeros((self.columns,) * 2, np.int64)
        for start in range(0, len(c), EXACT_ROWS):
            piece = c[start : start + EXACT_ROWS]
            table += (piece.T @ piece).astype(np.int64)
        first, second = np.array(self.pairs, np.int64).T
        return np.asarray(table[first, second])

    def spell(self, which: range) -> list[Step]:
        """As `encode`: the codes of the ball in all columns that are needed, these rounded, then products."""
        ends = {j: self.pairs[j] for j in which}
        needed = sorted({i for pair in ends.values() for i in pair})
        factor = literal(self.full * 2.0**-42)
        *steps, coded = self.base.spell(range(self.columns))
        kept = [text for text in coded if int(text.rpartition(" c")[2]) in needed]
        rounded = [f"floor(c{i} * {factor} + 0.5D) v{i}" for i in needed]
        made = [f"cast(cast(v{i} as double) * cast(v{k} as double) as bigint) c{j}" for j, (i, k) in ends.items()]
        return [*steps, kept, rounded, made]


# Noise for Σ xxᵀ over a ball that rotations do not change: variance a on the trace, b on all that is orthogonal to
# it.
#
# In the orthonormal basis of matrices (squares, √2 times products) a record of length 1 has the part 1/√d along the
# trace and √(1 − 1/d) across it. With A and B what the variances are worth along and across,
#
#     min aA + bB   such that   (1/d)/a + (1 − 1/d)/b ≤ 1,   and b ≥ 2 where a record is replaced (d ≥ 2):
#     a = S √(1/(dA)),  b = S √((1 − 1/d)/B),  S = √(A/d) + √(B(1 − 1/d)),  and the total is S².


def worths_of(problem: Problem[BallMoments]) -> tuple[float, float]:
    """A and B: what noise along the trace, and across it, is worth in each direction together."""
    unit, trace = problem.domain.basis
    rows = problem.features.rows(problem.domain.dimension) * problem.domain.radius / unit
    weighted = np.sqrt(problem.features.weights)[:, None] * rows
    along = float(((weighted @ trace) ** 2).sum())
    return along, max(0.0, float((weighted**2).sum()) - along)


def invariant_shape(problem: Problem[BallMoments]) -> Strategy:
    """The best shape of this form."""
    return _shape(problem, "invariant", *best_variances(problem))


def best_variances(problem: Problem[BallMoments]) -> tuple[float, float]:
    """a and b at μ = 1."""
    A, B = worths_of(problem)
    part = 1.0 / problem.domain.columns_count
    if part == 1.0:
        return 1.0, 1.0
    floor = 1e-12 * (A + B)  # what is not asked for needs no small noise
    A, B = max(A, floor), max(B, floor)
    b = (math.sqrt(A * part) + math.sqrt(B * (1 - part))) * math.sqrt((1 - part) / B)
    if not problem.secret_count:
        b = max(b, 2.0)
    return part / (1 - (1 - part) / b), b


def isotropic_invariant(problem: Problem[BallMoments]) -> Strategy:
    """Equal noise in all directions of matrices."""
    size = 1.0 if problem.secret_count or problem.domain.columns_count == 1 else 2.0
    return _shape(problem, "isotropic", size, size)


def _shape(problem: Problem[BallMoments], name: str, a: float, b: float) -> Strategy:
    domain, (unit, trace) = problem.domain, problem.domain.basis
    eye, outer = np.eye(domain.dimension), np.outer(trace, trace)
    root = eye / math.sqrt(b) + outer * (1 / math.sqrt(a) - 1 / math.sqrt(b))
    inverse = eye * math.sqrt(b) + outer * (math.sqrt(a) - math.sqrt(b))
    lift = root * unit
    if problem.secret_count:
        lift = np.column_stack([lift, np.zeros(len(lift))])
    rows = problem.features.rows(domain.dimension) * domain.coded[1] / unit
    public = None if problem.secret_count else problem.coded_offsets
    return Strategy(name, Dense(lift), Dense(rows @ inverse), False, public)


# The optimum for Σ xxᵀ over a ball: laws on differences that rotations do not change bound every noise.
#
# A record on the sphere, evenly: E vvᵀ = 1/d along the trace and (1 − 1/d)/(D − 1) in each direction across it, v
# being the matrix in an orthonormal basis. Two records at right angles, one in place of the other: 0 along, 2/(D − 1)
# across. For any law no Gaussian noise has a smaller total than (tr (W M Wᵀ)^½)², W the answers scaled to the roots
# of their weights. Where a record is replaced, the law takes the second with probability λ; every λ gives a bound.

TRIED = 401
"""How many λ are tried."""


def ball_moment_bound(problem: Problem[BallMoments]) -> float:
    """No Gaussian noise at μ = 1 has a smaller weighted total; rounded down by 1e-9 of it."""
    domain = problem.domain
    unit, trace = domain.basis
    part, across = 1.0 / domain.columns_count, domain.dimension - 1
    rows = problem.features.rows(domain.dimension) * domain.radius / unit
    W = np.sqrt(problem.features.weights)[:, None] * rows
    along = W @ trace
    rest = W - np.outer(along, trace)
    shares = [0.0] if problem.secret_count or not across else np.linspace(0.0, 1.0, TRIED).tolist()
    found = 0.0
    gram_along, gram_rest = np.outer(along, along), rest @ rest.T
    for share in shares:
        own = (1 - share) * (1 - part) + 2 * share
        M = (1 - share) * part * gram_along + (own / across if across else 0.0) * gram_rest
        roots = np.sqrt(np.clip(np.linalg.eigvalsh(M), 0.0, None))
        found = max(found, float(roots.sum()) ** 2)
    return found * (1.0 - 1e-9)


MAX_COLUMNS = 32
"""Limit on the columns: 528 squares and products, whose lift is written down."""


@dataclass(frozen=True)
class BallProducts(Extremes):
    """The products x_i x_j, i ≤ j, of so many numbers of Euclidean norm 1."""

    columns: int

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.columns * (self.columns + 1) // 2

    @property
    def is_square(self) -> Any:
        """Which coordinates are squares."""
        return np.array([i == j for i, j in itertools.combinations_with_replacement(range(self.columns), 2)])

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Array | None = None) -> float:
        """√(β + γ + doubt), or √(max(2β, β + γ) + 2·doubt) for two records, times the reach; rounded up.

        The strategy has no constant to see.
        """
        two = neighbours != ADD_REMOVE
        check_columns(lift, self.size + (not two))
        L = lift.exact_entries()
        if not two and L[:, -1].any():
            raise damaged_plan("a lift of ball moments that counts")
        L, reach = L[:, : self.size], Fraction(1 if extent is None else float(np.max(extent)))
        scale = float(np.abs(L).max(initial=0.0))
        if scale == 0:
            return 0.0
        unit = 2.0 ** math.floor(math.log2(scale))
        A = L / unit  # exact: a power of two
        G = A.T @ A
        doubt = (len(A) + 8) * 2.0**-52 * (np.abs(A).T @ np.abs(A)) * 1.01
        square, d = self.is_square, self.columns
        beta = float(np.diag(G)[~square].mean()) / 2 if d > 1 else 0.0
        beside = G[np.ix_(square, square)]
        gamma = float(beside[~np.eye(d, dtype=bool)].mean()) if d > 1 else float(beside[0, 0])
        model = np.diag(np.where(square, beta, 2 * beta)) + gamma * np.outer(square, square)
        rest = (np.abs(G - model) + doubt + 2.0**-50 * (np.abs(G) + np.abs(model))) * (1 + 2.0**-40)
        most = Fraction(beta) + Fraction(gamma)
        most = max(2 * Fraction(beta), most) if two else most
        found = max(most, Fraction(0)) + (2 if two else 1) * Fraction(norm_upward(rest.ravel()))
        return sqrt_upward(found * (Fraction(unit) * reach) ** 2)


@dataclass(frozen=True, eq=False, init=False)
class BallMoments(Domain):
    """Records x with ‖x‖ ≤ radius, of which x_i x_j is added up for all i ≤ j: the matrix Σ xxᵀ.

    "relative" weights count every entry of the symmetric matrix: a product of two columns stands there twice.

    >>> import gaussmith as gm
    >>> plan = gm.plan(BallMoments(10, radius=1), gm.Guarantee(mu=1), weights="relative")
    >>> round(plan.total_variance, 1), plan.names[:2]                # round noise: 55
    (53.1, ('0²', '0·1'))
    """

    kind = "ball moments"

    ball: Ball

    @checks_arguments
    def __init__(self, dimension: int, radius: float, names: Sequence[str] | None = None) -> None:
        ball = Ball(dimension, radius, names=check_coordinate_names(names, dimension) if names is not None else None)
        if ball.dimension > MAX_COLUMNS:
            raise DomainError(
                f"moments of {ball.dimension} columns of a ball",
                f"at most {MAX_COLUMNS} columns have their squares and products released together",
                "ask for fewer columns",
                code="too-many-columns-of-ball-moments",
                columns=ball.dimension,
            )
        if not 1e-70 <= ball.ball_radius <= 1e70:
            what, rule = f"radius={ball.ball_radius!r} of moments", "the fourth power of the radius must be a double"
            raise DomainError(what, rule, "rescale the columns", code="radius-of-moments-out-of-range")
        object.__setattr__(self, "ball", ball)

    # -- coordinates ------------------------------------------------------------------------------------------------

    @property
    def columns_count(self) -> int:
        """d: how many columns are read."""
        return self.ball.dimension

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The two columns of every coordinate."""
        return tuple(itertools.combinations_with_replacement(range(self.columns_count), 2))

    @cached_property
    def is_square(self) -> Any:
        return self.extremes().is_square

    @property
    def basis(self) -> tuple[Array, Array]:
        """By what coordinates are multiplied to be orthonormal among matrices, and the unit vector of the trace."""
        d = self.columns_count
        return np.where(self.is_square, 1.0, math.sqrt(2)), np.where(self.is_square, 1 / math.sqrt(d), 0.0)

    @property
    def dimension(self) -> int:
        return len(self.pairs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        own = [self.ball.name(j) for j in range(self.columns_count)]
        return tuple(f"{own[i]}²" if i == j else f"{own[i]}·{own[j]}" for i, j in self.pairs)

    @property
    def input(self) -> RecordInput:
        return RecordInput(self.ball.names, made_of=self.pairs.__getitem__)

    @cached_property
    def centre(self) -> Array:
        return np.zeros(self.dimension)

    @cached_property
    def radius(self) -> Array:
        return np.full(self.dimension, self.ball.ball_radius**2)

    @cached_property
    def coded(self) -> tuple[Array, Array]:
        return self.centre, self.radius * self.codes(self.centre).stretch

    @property
    def means(self) -> MeanRange:
        return replace(super().means, vary_alone=False, words="anywhere in the ball")

    @property
    def ranges(self) -> Array:
        """What weights are relative to: a product of two columns stands twice in the matrix."""
        return np.where(self.is_square, self.radius, self.radius / math.sqrt(2))

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> BallMomentEncoding:
        return BallMomentEncoding(self.ball.codes(), self.pairs)

    def extremes(self) -> BallProducts:
        return BallProducts(self.columns_count)

    def check(self, problem: Problem[Any]) -> None:
        super().check(problem)
        if problem.count_weight or problem.features.centred.any():
            raise PlanError(
                "the number of records, or means, with the moments of a ball",
                "their sums are released alone",
                "ask for sums; count in a plan of its own, or use gaussmith.Moments",
                code="ball-moments-with-count",
            )

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        ways = [Way("invariant", lambda: Candidate(invariant_shape(problem)))]
        ways.append(Way("isotropic", lambda: Candidate(isotropic_invariant(problem))))
        return try_ways(ways, problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Strategy]:
        return self, isotropic_invariant(problem)

    def bounding_law(self, problem: Problem[Any]) -> WorstCase:
        return WorstCase("closed", ball_moment_bound(problem))

    # -- words ------------------------------------------------------------------------------------------------------

    @property
    def words(self) -> DomainWords:
        rest = "What is added up is the square of every number and the product of every two."
        return DomainWords(f"{self.ball.words.reading} {rest}")

    def to_dict(self) -> dict[str, Any]:
        names = None if self.ball.names is None else list(self.ball.names)
        return {"kind": self.kind, "columns": self.columns_count, "radius": self.ball.ball_radius, "names": names}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> BallMoments:
        return cls(fields["columns"], fields["radius"], fields["names"])

    def __hash__(self) -> int:
        return hash((self.kind, self.ball))

    def __repr__(self) -> str:
        return f"BallMoments({counted(self.columns_count, 'column')}, radius {self.ball.ball_radius:.6g})"
