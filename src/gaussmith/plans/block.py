"""A block: what one person adds, what is asked of it, and the noise that fits, with its errors and its limit.

A block is a value. It never sees data; it is certified before every release.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import check_number
from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import check, protects
from gaussmith.numerics.exact import sqrt_upward
from gaussmith.numerics.linear import Array
from gaussmith.numerics.threads import single_threaded
from gaussmith.plans.certified_grid import Grid, make_grid
from gaussmith.plans.error_distribution import ErrorLaw, law_of_features
from gaussmith.plans.promised_errors import check_covariances, promised_law
from gaussmith.problem import Domain, Law, Problem
from gaussmith.problem.codes import Codes
from gaussmith.problem.law import price_over_bound
from gaussmith.shapes import Shape, price_of, total_of
from gaussmith.statistics import Answers, Noisy
from gaussmith.statistics.answers import check_fewest
from gaussmith.statistics.saved import answers_from_dict, answers_to_dict
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.plans.certificate import Proof
    from gaussmith.plans.draw import AnyTie
    from gaussmith.plans.tie import Tie

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
    shape: Shape
    substitutes: Array
    alternatives: tuple[tuple[str, float], ...] = ()
    law: Law | None = None
    """The law on differences that bounds every shape, known from planning; else one is found when asked."""
    whole: tuple[Block, tuple[int, ...], bool] | None = field(default=None, repr=False)
    """Of a question planned together with others: the block of all, its answers' places there, whether it counts."""
    tie: AnyTie | None = field(default=None, repr=False)
    """The noise that this block shares with others; None where it has its own."""
    lender: Tie | None = field(default=None, repr=False)
    """The noise whose noisy number of everybody the features of this block take; None where they take none."""

    domain: Domain = field(init=False, repr=False)
    """What one record can be, from the problem; so are the neighbours."""
    neighbours: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("domain", "neighbours"):
            object.__setattr__(self, name, getattr(self.problem, name))

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
        """No Gaussian noise with this guarantee has a smaller price."""
        return self.bounding_law.lower / self.bound_mu**2

    @cached_property
    def bound_mu(self) -> float:
        """μ of all noise that the answers are read from: its own, and that of the lender."""
        if self.lender is None:
            return self.guarantee.mu
        both = (Fraction(each.guarantee.mu) ** 2 for each in (self, self.lender))
        return sqrt_upward(sum(both, Fraction(0)))

    @cached_property
    @single_threaded()
    def bounding_law(self) -> Law:
        """The law on differences that proves the lower bound."""
        return self.law or self.domain.bounding_law(self.problem)

    @cached_property
    def standard(self) -> Block | None:
        """The same answers under the same guarantee by the standard Gaussian mechanism; None where there is none."""
        from gaussmith.plans.standard_gaussian import make_standard

        return make_standard(self)

    @cached_property
    def proof(self) -> Proof:
        """A law on differences that bounds every Gaussian noise, and the block's own price: for others to check."""
        from gaussmith.plans.certificate import prove_block

        return prove_block(self)

    @property
    def optimality(self) -> float:
        """price / lower_bound: 1 is the best any Gaussian noise can do, infinity where no bound is known.

        Of a part: of the whole, whose noise it is; of tied noise: of all that share it.
        """
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
            return self, range(self.shape.features.shape[0])
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
    def codes(self) -> Codes:
        """How records become integers."""
        return self.domain.codes(self.substitutes, self.problem.features.workload)

    @cached_property
    @single_threaded()
    def grid(self) -> Grid:
        """The certified integer lift; refused where the noise is tied, which is certified for all draws at once."""
        if self.tie is not None:
            raise PlanError(
                "a block with tied noise",
                "it is released with all that it is tied to",
                "plan it apart",
                code="block-with-tied-noise",
            )
        mu, absent = self.guarantee.mu, self.shape.absent
        return make_grid(self.shape.lift, self.domain, self.codes, self.neighbours, mu, absent)

    def certify(self) -> None:
        """Check, with all rounding upward, that neighbours' integers differ by no more than the guarantee allows.

        Raises PlanError otherwise; every release does this before it opens any data.
        """
        if self.tie is None:
            self.grid  # noqa: B018 (made here, or refused)

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise on a lifted coordinate."""
        return self.grid.noise_scale if self.tie is None else self.tie.noise_scale

    @property
    def objective(self) -> str:
        """What was made small."""
        return self.problem.features.objective

    @property
    def reach(self) -> float:
        """The largest difference of neighbours over what the guarantee allows, on the grid: at most 1."""
        return self.grid.reach(self.domain, self.codes, self.neighbours) / (self.guarantee.mu * 2.0**52)

    def proven(self, law: Law) -> float:
        """The bound that a law proves at μ = 1, computed apart from the choice of the shape; rounded down."""
        from gaussmith.proofs import prove

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
        }

    @classmethod
    def from_dict(cls, fields: Any, shape: Shape | None = None) -> Block:
        """The block that `to_dict` described, its privacy certified anew; refuses what it does not know.

        `shape` stands for that of a block whose noise is tied: it follows from the tie, and is certified with it.
        """
        from gaussmith.domains import domain_from_dict

        if not isinstance(fields, dict) or set(fields) != _FIELDS:
            odd = sorted(set(fields) ^ _FIELDS) if isinstance(fields, dict) else []
            rule = "a plan must have exactly the fields it was saved with"
            raise PlanError(f"plan fields {odd}", rule, "plan again", code="plan-fields-differ", fields=odd)
        domain = domain_from_dict(fields["domain"])
        answers = answers_from_dict(fields["answers"], domain)
        block = cls(
            Problem(domain, answers.features, check(fields["neighbours"])),
            answers,
            Guarantee.from_dict(fields["guarantee"]),
            shape or Shape.from_dict(fields["shape"]),
            np.array(fields["substitutes"], float),
            tuple((str(name), float(value)) for name, value in fields["alternatives"]),
            None if fields["law"] is None else Law.from_dict(fields["law"]),
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
            raise PlanError(
                f"{rows} features",
                "a plan has one for each that is asked and one for the count",
                "plan again",
                code="features-do-not-match-answers",
                features=rows,
            )
        fits = self.shape.features.shape[1] == self.shape.lift.shape[0]
        given = (public, self.shape.people)
        if not fits or not all(each is None or each.shape == (rows,) for each in given):
            what = "parts of a plan that do not fit together"
            raise PlanError(what, "every field must be as it was saved", "plan again", code="plan-parts-do-not-fit")

    def check_numbers(self) -> None:
        """Refuse answers and stand-ins that do not fit the domain."""
        asked = self.problem.features.fits(self.domain) and self.answers.fits()
        if not (asked and self.substitutes.shape == (self.domain.substitutes_size,)):
            raise PlanError(
                "parts of a plan that do not fit together",
                "every field must be as it was saved",
                "plan again",
                code="plan-parts-do-not-fit",
            )

    @cached_property
    def _identity(self) -> str:
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True, allow_nan=False).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)
