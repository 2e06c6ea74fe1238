"""A block: what one person adds, what is asked of it, and the noise that fits, with its errors and its limit.

A block is a value. It never sees data; it is certified before every release.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import check_number
from gaussmith.domains.domain import Domain, Problem, WorstCase, price_over_bound
from gaussmith.domains.encoding import Encoding
from gaussmith.domains.features import NOTHING, Places
from gaussmith.domains.strategies import Strategy, has_standard_shape, price_of, standard_reach, total_of
from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.numerics.exact import Array, sqrt_upward
from gaussmith.numerics.threads import single_threaded
from gaussmith.planning.certified_grid import Grid, make_grid
from gaussmith.planning.error_distribution import ErrorLaw, law_of_features
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import check, protects
from gaussmith.statistics.answers import Answers, check_fewest
from gaussmith.statistics.asking import answers_from_dict, answers_to_dict
from gaussmith.statistics.statistic import ONE, Noisy, Statistic, combined_rows, standard_factors

if TYPE_CHECKING:
    from gaussmith.noise.law import Law
    from gaussmith.planning.certificate import Proof
    from gaussmith.planning.joint_noise import JointNoise
    from gaussmith.planning.plan import Plan
    from gaussmith.planning.pure_lattice import Drawn
    from gaussmith.planning.query import AnyTie
    from gaussmith.releases.release import Release


# What is promised about means: the law of their errors where these are largest.
#
# With numerators' noise a, noise b of the number below, and u the distance of the mean from the middle of its bounds,
#
#     error of the mean · (n + b) = a − u b,    |u| ≤ the largest distance,
#
# exactly, however few records there are. Three cases (docs/theory.md, statement 23):
#
#     a independent, one b       given b, |a − u b| is the larger the larger |u| is: all means at an end of their bounds
#     the same, u in a ball      the worst mean lies on the ball, on the axis of one answer
#     any other noise            each answer at its own worst, by itself; eigenvalues by interlacing

MAX_COVARIANCES = 20_000
"""Limit on the answers for an explicit covariance matrix."""


def promised_law(answers: Answers, noisy: Noisy, domain: Domain) -> ErrorLaw:
    """The law of the errors of all answers but the count, wherever within their bounds the means lie.

    Guarantee: no statement of the law (a quantile, a chance, an expectation) is exceeded by any means in the bounds.
    """
    size = answers.size
    below = _divisor_places(answers.statistics, noisy)[:size]
    distances = np.where(below >= 0, answers.largest_distances(domain)[:size], 0.0)
    found = _common_law(answers, noisy, below, distances, domain.means.vary_alone)
    return found or law_apart(answers.statistics, noisy, distances, domain.means.vary_alone, size)


def check_covariances(size: int) -> None:
    """Refuse so many answers that their covariance matrix is too large."""
    if size > MAX_COVARIANCES:
        raise PlanError(
            f"{size} answers",
            f"a covariance matrix is computed for at most {MAX_COVARIANCES}",
            "use plan.standard_errors, or plan fewer answers",
            code="covariance-too-large",
            answers=size,
        )


def _divisor_places(statistics: Sequence[Statistic], noisy: Noisy) -> Places:
    """The feature below each answer; −1 where nothing noisy is."""
    last = noisy.rows.shape[0] - 1 if noisy.has_noisy_count else -1
    places = [
        np.where(each.places[:, -1] == ONE, last, each.places[:, -1])
        if each.divided
        else np.full(len(each.weights), -1)
        for each in statistics
    ]
    return np.concatenate(places)


def _common_law(answers: Answers, noisy: Noisy, below: Places, distances: Array, vary_alone: bool) -> ErrorLaw | None:
    """The exact law where every answer has noise of its own, and all else is one query; None elsewhere."""
    size = answers.size
    rows = noisy.rows.as_bordered()
    if rows is None or any(answers.feature_of(i) is None for i in range(size)):
        return None
    leads = answers.leads[:size]
    own, border, divided = rows.inner[leads], rows.border[leads], np.unique(below[below >= 0])
    last = rows.columns - 1
    shared = {*rows.index[divided][rows.inner[divided] != 0].tolist()}
    shared |= {last} if border.any() or rows.border[divided].any() else set()
    places = rows.index[leads]
    if len(shared) > 1 or len(np.unique(places)) < size or bool(np.isin(places, list(shared)).any()):
        return None
    unit = np.sqrt(noisy.unit)
    sizes = np.where(rows.index == last, np.abs(rows.inner + rows.border), np.abs(rows.inner) + np.abs(rows.border))
    divisors = np.where(below >= 0, sizes[below], 0.0) * unit
    own, shares = np.abs(own) * unit, np.where(below >= 0, np.abs(border), border) * unit
    largest = shares + distances * divisors
    if vary_alone or not divisors.any():
        return ErrorLaw(own, largest, divisors=divisors if divisors.any() else None)
    if shares.any() or not (np.ptp(own) == np.ptp(distances) == 0):
        return None
    shares[0] = largest[0]
    return ErrorLaw(own, shares, divisors=divisors, alone=largest)


def law_apart(
    statistics: Sequence[Statistic], noisy: Noisy, distances: Array, vary_alone: bool, size: int | None = None
) -> ErrorLaw:
    """A law that is never too small for any noise: each answer at its own worst, and bounds of the eigenvalues.

    It is about the first `size` answers, by default all of them.
    """
    below = _divisor_places(statistics, noisy)[:size]
    size = len(below)
    distances = np.where(below >= 0, distances, 0.0)
    check_covariances(size)
    dense = noisy.rows.dense() * np.sqrt(noisy.unit)
    above = np.vstack([combined_rows(each, noisy, dense) for each in statistics])[:size]
    held, places = np.unique(below[below >= 0], return_inverse=True)
    weights, basis = _basis(dense[held])
    # a = C g + a′ with g the noises below, of which mean j sees u_j · weights
    C = above @ basis.T
    rest = above - C @ basis
    seen = np.zeros((size, len(basis)))
    seen[below >= 0] = weights[places]
    spectrum = np.clip(np.linalg.eigvalsh(rest @ rest.T)[::-1], 0.0, None)
    for part, beside in zip(seen.T, np.abs(C).T, strict=True):
        moved = distances * np.abs(part)
        together = np.linalg.norm(beside + moved)
        bump = together if vary_alone else np.linalg.norm(beside) + moved.max(initial=0.0)
        spectrum = np.concatenate([[spectrum[0] + float(bump) ** 2], spectrum[:-1]])
    # each by itself: the part of its numerator that its own divisor does not explain, and the share of that divisor
    divisors = np.linalg.norm(seen, axis=1)
    crossed = np.abs((above * (seen @ basis)).sum(axis=1))
    beside = np.divide(crossed, divisors, out=np.zeros(size), where=divisors > 0)
    own = np.sqrt(np.maximum((above * above).sum(axis=1) - beside**2, 0.0))
    shares = beside + distances * divisors
    return ErrorLaw(own, shares, None, spectrum, divisors if divisors.any() else None, common=False)


def _basis(rows: Array) -> tuple[Array, Array]:
    """Rows as combinations of orthonormal ones."""
    if not len(rows):
        return np.zeros((0, 0)), np.zeros((0, rows.shape[1]))
    left, sizes, right = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > 1e-14 * sizes[0] if sizes[0] else np.zeros(len(sizes), bool)
    return left[:, kept] * sizes[kept], right[kept]


_FIELDS = {"domain", "guarantee", "neighbours", "answers", "shape", "substitutes", "alternatives", "law"}


@dataclass(frozen=True, eq=False)
class Block:
    """One problem, and the shape of the noise that fits it at the block's own guarantee.

    >>> import gaussmith as gm
    >>> block = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), count=True, weights="equal").block
    >>> block.standard_errors.round(2)
    array([100.  ,   1.41])
    """

    problem: Problem[Domain]
    answers: Answers
    """What is read from the features of the problem, in the order in which it is shown."""
    guarantee: Guarantee
    shape: Strategy
    substitutes: Array
    alternatives: tuple[tuple[str, float], ...] = ()
    law: WorstCase | None = None
    """The law on differences that bounds every shape, known from planning; else one is found when asked."""
    whole: tuple[Block, tuple[int, ...], bool] | None = field(default=None, repr=False)
    """Of a question planned together with others: the block of all, its answers' places there, whether it counts."""
    tie: AnyTie | None = field(default=None, repr=False)
    """The noise that this block shares with others; None where it has its own."""
    lender: JointNoise | None = field(default=None, repr=False)
    """The noise whose noisy number of everybody the features of this block take; None where they take none."""
    drawn: Drawn | None = None
    """How the noise is drawn where the guarantee is pure; None for Gaussian noise."""

    domain: Domain = field(init=False, repr=False)
    """What one record can be, from the problem; so are the neighbours."""
    neighbours: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("domain", "neighbours"):
            object.__setattr__(self, name, getattr(self.problem, name))

    @property
    def width(self) -> int:
        """How many numbers are released: noisy features, and after them what is chosen."""
        return self.shape.features.shape[0] + self.domain.chosen

    # -- errors ---------------------------------------------------------------------------------------------------

    @cached_property
    def noise(self) -> Noisy:
        """The noise of the features, without any value of theirs."""
        shape, public = self.shape, 0 if self.public_count else None
        empty = np.zeros(shape.features.shape[0])
        return Noisy(empty, shape.features, self.noise_scale**2, shape.counted, public)

    @cached_property
    def standard_errors(self) -> Array:
        """Of the answers, in order; of a mean: n times its error, at most, wherever within its bounds it lies."""
        found = np.sqrt(self.answers.largest_variances(self.noise, self.domain))
        found.flags.writeable = False
        return found

    @property
    def count_standard_error(self) -> float | None:
        """Of the number of records, if it is asked; 0 where it is public."""
        return float(self.standard_errors[-1]) if self.answers.count else None

    @cached_property
    def total_variance(self) -> float:
        """The weighted total over all features: what the shape was chosen to make small."""
        return total_of(self.noise.variances, self.shape.counted, self.problem.features)

    @property
    def price(self) -> float:
        """What was made small: the weighted total, or the worst squared error in units of its target squared."""
        return price_of(self.noise.variances, self.shape.counted, self.problem.features)

    @cached_property
    def lower_bound(self) -> float:
        """No Gaussian noise with this guarantee has a smaller price; 0 where no bound is known."""
        return 0.0 if self.drawn is not None else self.bounding_law.lower / self.bound_mu**2

    @cached_property
    def bound_mu(self) -> float:
        """μ of all noise that the answers are read from: its own, and that of the lender."""
        if self.lender is None:
            return self.guarantee.mu
        both = (Fraction(each.guarantee.mu) ** 2 for each in (self, self.lender))
        return sqrt_upward(sum(both, Fraction(0)))

    @cached_property
    @single_threaded()
    def bounding_law(self) -> WorstCase:
        """The law on differences that proves the lower bound."""
        return self.law or self.domain.bounding_law(self.problem)

    @cached_property
    def standard(self) -> Block | None:
        """The same answers under the same guarantee by the standard Gaussian mechanism; None where there is none."""

        return make_standard(self)

    @cached_property
    def proof(self) -> Proof:
        """A law on differences that bounds every Gaussian noise, and the block's own price: for others to check."""
        from gaussmith.planning.certificate import prove_block

        return prove_block(self)

    @property
    def is_bound_quick(self) -> bool:
        """Whether the lower bound takes no longer than the plan did, by its size alone: only then it is printed."""
        return self.tie is None or self.tie.is_bound_quick

    @property
    def optimality(self) -> float:
        """price / lower_bound: 1 is the best any Gaussian noise can do, infinity where no bound is known.

        Of a part: of the whole, whose noise it is; of tied noise: of all that share it.
        """
        if self.drawn is not None:
            return math.inf
        if self.tie is not None:
            return self.tie.optimality
        if self.whole is not None:
            return self.whole[0].optimality
        return max(1.0, price_over_bound(self.price, self.lower_bound))

    def covariance(self) -> Array:
        """Of the noise in the answers, the count last if asked; squares of `standard_errors` are on its diagonal.

        Of n times a mean: at an end of its bounds, as likely the one as the other.
        """
        found = self.averaged_covariance()
        np.fill_diagonal(found, self.answers.largest_variances(self.noise, self.domain))
        return found

    def averaged_covariance(self) -> Array:
        """The same on average over the bounds of means: by it the noise was chosen."""
        check_covariances(len(self.answers))
        return self.answers.averaged_covariance(self.noise)

    def errors(self, rows: int | None = None) -> dict[str, float]:
        """The standard error of each answer in its own units; means need an estimate of the number of rows or people.

        That of a mean is the largest, wherever within its bounds (or `mean_within`) the mean lies.

        >>> import gaussmith as gm
        >>> plan = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), answers="means")
        >>> round(plan.errors(rows=10_000)["age"], 4)
        0.0104
        """
        errors = self.standard_errors
        if self.answers.any_divided:
            rule, remedy = "the error of a mean depends on the number of rows", "give an estimate, such as rows=10_000"
            guess = check_number("rows", rows, above=0, rule=rule, remedy=remedy, error=PlanError)
            check_fewest(self.answers, guess)
            errors = np.where(self.answers.divided, errors / guess, errors)
        return dict(zip(self.answers.names, errors.tolist(), strict=True))

    def narrowed(self, shown: Sequence[int], count: bool) -> tuple[Block, Sequence[int]]:
        """The block as far as some of its answers go, and which features these are read from. The noise is the same."""
        size = self.answers.size
        every = shown == range(size) if isinstance(shown, range) else tuple(shown) == tuple(range(size))
        if every and count == self.answers.count:
            return self, range(self.width)
        answers, kept = self.answers.picked([*shown, *([self.answers.size] if count else [])])
        if self.shape.counted:
            kept.append(self.problem.features.size)
        shape = self.shape
        public = None if shape.public is None else shape.public[kept]
        shape = replace(shape, features=shape.features.picked(kept), public=public)
        if shape.people is not None:
            shape = replace(shape, people=shape.people[kept])
        whole = (self, tuple(shown), count)
        problem = self.problem.asking(answers.features)
        made = replace(self, problem=problem, answers=answers, shape=shape, alternatives=(), law=None, whole=whole)
        return made, kept

    # -- the distribution of the errors ----------------------------------------------------------------------------

    @cached_property
    @single_threaded()
    def error_law(self) -> ErrorLaw:
        """The law of the errors of all answers together, the count left out.

        Of a mean: of its error times the noisy number that it is divided by, where that error is largest.
        """
        if self.drawn is not None:
            raise PlanError(
                "how errors go together under pure ε",
                "the law of all errors at once is known for Gaussian noise only",
                "use plan.standard_errors, or plan.error_quantiles() for each answer by itself",
                code="error-law-under-pure-epsilon",
            )
        size = self.answers.size
        if self.answers.any_divided:
            return promised_law(self.answers, self.noise, self.domain)
        if np.array_equal(self.answers.leads[:size], np.arange(self.problem.features.size)):
            law = law_of_features(self.shape.features, size, self.noise_scale)
            if law is not None:
                return law
        return ErrorLaw(np.zeros(size), np.zeros(size), self.covariance()[:size, :size])

    # -- the integer mechanism --------------------------------------------------------------------------------------

    @cached_property
    def codes(self) -> Encoding:
        """How records become integers."""
        return self.domain.codes(self.substitutes, self.problem.features.workload)

    @cached_property
    @single_threaded()
    def grid(self) -> Grid:
        """The certified integer lift; refused where the noise is tied, which is certified for all queries at once."""
        if self.tie is not None:
            raise PlanError(
                "a block with tied noise",
                "it is released with all that it is tied to",
                "plan it apart",
                code="block-with-tied-noise",
            )
        if self.drawn is not None:
            from gaussmith.planning.pure_lattice import pure_grid

            return pure_grid(self.shape.lift, self.codes, self.drawn.scale)
        mu, absent = self.guarantee.mu, self.shape.absent
        return make_grid(self.shape.lift, self.domain, self.codes, self.neighbours, mu, absent)

    def certify(self) -> None:
        """Check, with all rounding upward, that neighbours' integers differ by no more than the guarantee allows.

        Raises PlanError otherwise; every release does this before it opens any data.
        """
        if self.drawn is not None:
            from gaussmith.planning.pure_lattice import certify_block

            certify_block(self)
        elif self.tie is None:
            self.grid  # noqa: B018 (made here, or refused)

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise on a lifted coordinate."""
        if self.noise_law is not None:
            return math.sqrt(self.noise_law.variance) / self.grid.scale
        return self.grid.noise_scale if self.tie is None else self.tie.noise_scale

    @cached_property
    def noise_law(self) -> Law | None:
        """The law of pure noise, of all numbers that are drawn with this block's; None where it is Gaussian."""
        return None if self.drawn is None else self.drawn.law(self.guarantee.pure_epsilon)

    @property
    def objective(self) -> str:
        """What was made small."""
        return self.problem.features.objective

    @property
    def reach(self) -> float:
        """The largest difference of neighbours over what the guarantee allows, on the grid: at most 1."""
        if self.drawn is not None:
            from gaussmith.planning.pure_lattice import certified_sensitivity

            return certified_sensitivity(self.grid, self.drawn.norm, self.domain, self.codes) / self.drawn.sensitivity
        return self.grid.reach(self.domain, self.codes, self.neighbours) / (self.guarantee.mu * 2.0**52)

    def proven(self, law: WorstCase) -> float:
        """The bound that a law proves at μ = 1, computed apart from the choice of the shape; rounded down."""
        from gaussmith.domains.worst_cases import prove

        return prove(self.problem, law)

    # -- words ------------------------------------------------------------------------------------------------------

    @property
    def protects(self) -> str:
        """What is protected, in plain words."""
        return protects(self.neighbours)

    @property
    def public_count(self) -> bool:
        """Whether the number of records is public."""
        return not self.problem.secret_count

    # -- saved form -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        return {
            "domain": self.domain.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "answers": answers_to_dict(self.answers),
            "shape": self.shape.to_dict() if self.tie is None else None,
            "substitutes": self.substitutes.tolist(),
            "alternatives": [[name, value] for name, value in self.alternatives],
            "law": None if self.law is None else self.law.to_dict(),
            **({} if self.drawn is None else {"drawn": self.drawn.to_dict()}),
        }

    @classmethod
    def from_dict(cls, fields: Any, shape: Strategy | None = None) -> Block:
        """The block that `to_dict` described, its privacy certified anew; refuses what it does not know.

        `shape` stands for that of a block whose noise is tied: it follows from the tie, and is certified with it.
        """
        from gaussmith.domains.registry import domain_from_dict

        if not isinstance(fields, dict) or set(fields) - {"drawn"} != _FIELDS:
            odd = sorted(set(fields) ^ _FIELDS) if isinstance(fields, dict) else []
            raise damaged_plan(f"fields {odd} that are missing or not known")
        domain = domain_from_dict(fields["domain"])
        answers = answers_from_dict(fields["answers"], domain)
        block = cls(
            Problem(domain, answers.features, check(fields["neighbours"])),
            answers,
            Guarantee.from_dict(fields["guarantee"]),
            shape or Strategy.from_dict(fields["shape"]),
            np.array(fields["substitutes"], float),
            tuple((str(name), float(value)) for name, value in fields["alternatives"]),
            None if fields["law"] is None else WorstCase.from_dict(fields["law"]),
            drawn=_read_drawn(fields["drawn"]) if "drawn" in fields else None,
        )
        if shape is None:
            block.certify()
            block._check_fit()
        return block

    def _check_fit(self) -> None:
        """Refuse parts that do not fit each other now, not when answers are read from noisy numbers."""
        self.domain.check(self.problem)
        self.check_numbers()
        rows, public = self.shape.features.shape[0], self.shape.public
        if rows != self.problem.features.size + self.shape.counted:
            raise damaged_plan(f"{rows} features for other answers")
        fits = self.shape.features.shape[1] == self.shape.lift.shape[0]
        given = (public, self.shape.people)
        if not fits or not all(each is None or each.shape == (rows,) for each in given):
            raise damaged_plan("parts of a plan that do not fit together")

    def check_numbers(self) -> None:
        """Refuse answers and stand-ins that do not fit the domain."""
        asked = self.problem.features.fits(self.domain) and self.answers.fits()
        if not (asked and self.substitutes.shape == self.domain.substitutes(NOTHING, {}).shape):
            raise damaged_plan("parts of a plan that do not fit together")

    @cached_property
    def _identity(self) -> str:
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True, allow_nan=False).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


def _read_drawn(fields: dict[str, Any]) -> Drawn:
    from gaussmith.planning.pure_lattice import Drawn

    return Drawn.from_dict(fields)


# Errors of the standard Gaussian mechanism: the same guarantee, equal noise on every answer.
#
# Measured in units of its weight every answer gets the same noise, as much as the largest norm of all answers
# together can change: σ_i = Δ/√w_i at μ = 1.
#
# A question that was planned together with others is compared within the whole: the standard mechanism, too, has to
# answer all of them under the one guarantee.


@dataclass(frozen=True)
class ComparedStrategies:
    """The error of one answer, and that of the standard Gaussian mechanism at the same guarantee (None: unknown)."""

    name: str
    error: float
    standard: float | None
    mean: bool

    @property
    def share(self) -> float | None:
        """The error as a share of the standard one."""
        return self.error / self.standard if self.standard else None


def make_standard(block: Block) -> Block | None:
    """The same answers under the same guarantee by the standard Gaussian mechanism; None where it is not defined."""
    if block.drawn is not None:
        return None
    if block.whole is not None:
        among, shown, count = block.whole
        standard = among.standard
        return None if standard is None else standard.narrowed(shown, count)[0]
    if block.problem.features.size == 0:
        return block  # a count alone: one number has only one shape of noise
    problem = block.problem
    try:
        with within_doubles():
            domain, shape = problem.domain.standard(problem, block.guarantee.mu)
            problem = problem if domain is problem.domain else problem.over(domain)
            standard = replace(block, problem=problem, shape=shape, alternatives=(), law=None, tie=None)
            require_finite(standard.standard_errors, standard.total_variance)
            return standard
    except PlanError:
        return None


def standard_errors_of_standard(block: Block) -> Array | None:
    """What the standard Gaussian mechanism would have had, answer by answer, at the same guarantee."""
    if block.domain.chosen or block.drawn is not None:  # a choice adds nothing
        return None
    if block.whole is not None:
        among, shown, count = block.whole
        found = standard_errors_of_standard(among)
        return None if found is None else found[[*shown, *([among.answers.size] if count else [])]]
    if not has_standard_shape(block.problem):
        reach = standard_reach(block.problem)
        if reach is None:
            return None
        per = reach / block.guarantee.mu
        found = block.answers.gathered(lambda each: per * standard_factors(each, block.problem.features.weights))
        exact = block.answers.count and block.public_count
        return np.append(found[:-1], 0.0) if exact else found
    return None if block.standard is None else block.standard.standard_errors


def compare_block(
    block: Block, rows: int | None = None, most: int | None = None, standard_scale: float = 1.0
) -> list[ComparedStrategies]:
    """Every answer's error (of the first `most`) beside the standard one, the count last.

    For means n times the error, unless `rows` is given. In groups the standard may have another share of μ than the
    plan: its errors are `standard_scale` times those at the plan's.
    """
    answers, errors, standard = block.answers, block.standard_errors, standard_errors_of_standard(block)
    check_fewest(answers, rows)
    size = answers.size if most is None else min(most, answers.size)
    found = []
    for i in [*range(size), *([answers.size] if answers.count else [])]:
        divided = bool(answers.divided[i])
        scale = 1.0 / rows if rows and divided else 1.0
        other = None if standard is None else float(standard[i] * scale) * standard_scale
        found.append(ComparedStrategies(answers.names[i], float(errors[i] * scale), other, divided))
    return found


def standard_scale(plan: Plan, roots: dict[int, dict[int, float]] | None = None) -> float:
    """The standard Gaussian's errors in a group of the only question over those at the guarantee of its block.

    Where the noise is tied, the standard mechanism answers the same questions with the shares of μ² that are best for
    it: in proportion to the root of each one's total. `roots` keeps these, by the tie, for its other queries.
    """
    query, roots = plan.query, {} if roots is None else roots
    if query.tie is None:
        return query.standard_scale
    if id(query.tie) not in roots:
        roots[id(query.tie)] = standard_roots(plan, query.tie)
    known = roots[id(query.tie)]
    own = known.get(plan.slot.queries[0])
    return math.sqrt(sum(known.values()) / own) * query.held if own else 1.0


def standard_roots(plan: Plan, tie: AnyTie) -> dict[int, float]:
    """√T of the standard Gaussian for every query of a tie, by the place of the query in the plan."""
    roots = {}
    for i, place in zip(tie.members, tie.places, strict=True):
        member = plan.queries[i]
        standard = member.block.standard if len(member.block.answers) else None
        if standard is not None:
            roots[i] = math.sqrt(place.scale * member.size * standard.total_variance) * member.held
    return roots


def compare_pieces(question: Plan, rows: int | None = None, most: int | None = None) -> list[ComparedStrategies]:
    """The answers of all pieces of a question beside the standard ones; what they share is computed once."""
    roots: dict[int, dict[int, float]] = {}
    found = []
    for piece in question.pieces:
        found += compare_block(piece.block, rows, most, standard_scale(piece, roots))
    return found


def compare_release(release: Release, most: int | None = None) -> list[ComparedStrategies]:
    """Every answer's error at its released value beside the standard one there, the count last; without groups."""
    if len(release.plan.pieces) > 1:
        return [each for piece in release.pieces for each in compare_release(piece, most)]
    block = release.block
    has_shape, scale = has_standard_shape(block.problem), standard_scale(release.plan)
    found = compare_block(block, most=None if has_shape else most, standard_scale=scale)
    other = block.standard if has_shape and not block.problem.features.is_linear else None
    if other is None:
        return found
    readout = release.readout
    standard = replace(readout, block=other, features=readout.features[: other.shape.features.shape[0]])
    errors = zip(readout.standard_errors.tolist(), (scale * standard.standard_errors).tolist(), strict=True)
    return [replace(c, error=ours, standard=others) for c, (ours, others) in zip(found, errors, strict=True)]


def share_of_standard(block: Block) -> float | None:
    """√(total squared error / the standard Gaussian's): the errors, taken together, against the standard."""
    if block.drawn is not None:
        return None
    if not has_standard_shape(block.problem):
        reach = standard_reach(block.problem)
        noisy = block.problem.features.size + block.problem.asks_secret_count
        return None if not reach else math.sqrt(block.total_variance * block.guarantee.mu**2 / noisy) / reach
    other = block.standard
    if other is None or not other.total_variance:
        return None
    return math.sqrt(block.total_variance / other.total_variance)


MAX_DIRECTIONS = 1500
"""Limit on the answers for a decomposition into directions."""


def spectrum(block: Block) -> tuple[Array, float | None]:
    """Standard deviations of the noise in its own directions, the largest first; and the standard Gaussian's, in all.

    Answers are scaled to the roots of their weights, so that squared deviations add up to the total. The count, where
    it is secret and asked, is one of them.
    """
    answers = block.answers
    if answers.size > MAX_DIRECTIONS or answers.over_rows:
        raise PlanError(
            f"the directions of {answers.size} answers",
            f"at most {MAX_DIRECTIONS} can be decomposed",
            'use kind="errors"',
            code="too-many-directions",
            answers=answers.size,
        )
    size = answers.size if block.public_count else len(answers)
    scale = np.sqrt(answers.weights[:size])
    covariance = block.averaged_covariance()[:size, :size]
    values = np.linalg.eigvalsh(covariance * np.outer(scale, scale))[::-1]
    standard = standard_errors_of_standard(block)
    even = None if standard is None or answers.size == 0 else float(standard[0] * scale[0])
    return np.sqrt(np.clip(values, 0.0, None)), even
