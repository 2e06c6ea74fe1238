"""A block: what one person adds, what is asked of it, and the noise that fits, with its errors and its limit.

A block is a value. It never sees data; it is certified before every release.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import check_number
from gaussmith.domains import domain_from_dict
from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import check, protects
from gaussmith.numerics.linear import Array
from gaussmith.plans.certified_grid import Grid, make_grid
from gaussmith.plans.error_distribution import ErrorLaw, law_of_features
from gaussmith.problem import Domain, Law, Problem
from gaussmith.problem.answers import Answers
from gaussmith.problem.codes import Codes
from gaussmith.problem.law import price_over_bound
from gaussmith.shapes import Shape, weighted_variances

if TYPE_CHECKING:
    from gaussmith.plans.certificate import Proof

MAX_COVARIANCES = 20_000
"""Limit on the answers for an explicit covariance matrix."""

_FIELDS = {"domain", "guarantee", "neighbours", "answers", "shape", "substitutes", "alternatives", "law"}


@dataclass(frozen=True, eq=False)
class Block:
    """One problem, and the shape of the noise that fits it at the block's own guarantee.

    >>> import gaussmith as gm
    >>> block = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), count=True).block
    >>> block.standard_errors.round(2), round(block.count_standard_error, 2)
    (array([100.]), 1.41)
    """

    problem: Problem[Domain]
    guarantee: Guarantee
    shape: Shape
    substitutes: Array
    alternatives: tuple[tuple[str, float], ...] = ()
    law: Law | None = None
    """The law on differences that bounds every shape, known from planning; else one is found when asked."""
    whole: tuple[Block, tuple[int, ...], bool] | None = field(default=None, repr=False)
    """Of a question planned together with others: the block of all, its answers' places there, whether it counts."""

    domain: Domain = field(init=False, repr=False)
    """What one record can be, from the problem; so are the answers and the neighbours."""
    answers: Answers = field(init=False, repr=False)
    neighbours: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("domain", "answers", "neighbours"):
            object.__setattr__(self, name, getattr(self.problem, name))

    # -- errors ---------------------------------------------------------------------------------------------------

    @cached_property
    def _variances(self) -> tuple[Array, float]:
        per_answer, count = weighted_variances(self.shape, self.problem)
        unit = self.noise_scale**2
        return per_answer * unit, count * unit

    @property
    def standard_errors(self) -> Array:
        """Standard errors of the answers, without the count; for a mean, n times its error, averaged over its range."""
        shown = self.answers.visible
        return np.sqrt(self._variances[0] + self._ratio_variances)[:shown]

    @cached_property
    def _ratio_variances(self) -> Array:
        """What the noise of its denominator adds to an answer over another one, wherever in its range it lies.

        The denominator's weight accounts for it already: it is part of each error, and counted once in the total.
        """
        found = np.zeros(self.answers.size)
        ratios = self.answers.ratios
        spread = self.domain.spread[self.answers.index[ratios]]
        found[ratios] = spread * self._variances[0][self.answers.over[ratios]]
        return found

    @property
    def count_standard_error(self) -> float | None:
        """The standard error of the count, if asked for; 0 if the number of records is public."""
        if not self.answers.count:
            return None
        return float(np.sqrt(self._variances[1]))

    @property
    def rows_place(self) -> int | None:
        """Where the number of rows is among the answers shown; None where it is not asked."""
        last, coordinate = self.answers.visible - 1, self.domain.rows_coordinate
        asked = coordinate is not None and last >= 0 and self.answers.index[last] == coordinate
        return last if asked else None

    @property
    def total_variance(self) -> float:
        """The weighted total, including the count if asked for: the quantity that the shape minimises."""
        per_answer, count = self._variances
        return float(self.answers.weights @ per_answer) + (count if self.answers.count else 0.0)

    @property
    def price(self) -> float:
        """The minimised quantity: the weighted total, or the worst squared error relative to its squared target."""
        if self.answers.targets is None:
            return self.total_variance
        per_answer, count = self._variances
        return max(float((per_answer / self.answers.targets**2).max()), count if self.answers.count else 0.0)

    @cached_property
    def lower_bound(self) -> float:
        """No Gaussian noise with this guarantee has a smaller price."""
        return self.bounding_law.lower / self.guarantee.mu**2

    @cached_property
    def bounding_law(self) -> Law:
        """The law on differences that proves the lower bound."""
        return self.law or self.domain.bounding_law(self.problem)

    @cached_property
    def proof(self) -> Proof:
        """A law on differences that bounds every Gaussian noise, and the block's own price: for others to check."""
        from gaussmith.plans.certificate import prove_block

        return prove_block(self)

    @property
    def optimality(self) -> float:
        """price / lower_bound: 1 is the best any Gaussian noise can do, infinity where no bound is known.

        Of a part: of the whole, whose noise it is.
        """
        if self.whole is not None:
            return self.whole[0].optimality
        return max(1.0, price_over_bound(self.price, self.lower_bound))

    def covariance(self) -> Array:
        """Of the noise in the answers, the count last if asked; of a mean: of n times the mean."""
        size = self.answers.size
        if size > MAX_COVARIANCES:
            raise PlanError(
                f"{size} answers",
                f"a covariance matrix is computed for at most {MAX_COVARIANCES}",
                "use plan.standard_errors, or plan fewer answers",
                code="covariance-too-large",
                answers=size,
            )
        F = self.shape.features.dense()
        C = F @ F.T
        if self.answers.any_mean and self.shape.counted:
            means = np.flatnonzero(self.answers.means)
            C[means, means] += self.domain.spread[self.answers.index[means]] * self.shape.variances()[-1]
        C = C * self.noise_scale**2
        at = np.arange(size)
        C[at, at] += self._ratio_variances
        keep = [*range(self.answers.visible), *([size] if self.answers.count and self.shape.counted else [])]
        C = C[np.ix_(keep, keep)]
        if self.answers.count and not self.shape.counted:  # the number of records is public
            C = np.pad(C, ((0, 1), (0, 1)))
        return np.asarray(C)

    def errors(self, rows: int | None = None) -> dict[str, float]:
        """The standard error of each answer in its own units; means need an estimate of the number of rows or people.

        >>> import gaussmith as gm
        >>> plan = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), answers="means")
        >>> round(plan.errors(rows=10_000)["age"], 4)
        0.0079
        """
        errors = self.standard_errors
        if self.answers.any_divided:
            rule, remedy = "the error of a mean depends on the number of rows", "give an estimate, such as rows=10_000"
            guess = check_number("rows", rows, above=0, rule=rule, remedy=remedy, error=PlanError)
            divided = (self.answers.means | self.answers.ratios)[: self.answers.visible]
            errors = np.where(divided, errors / guess, errors)
        named = dict(zip(self.answers.names[: self.answers.visible], errors.tolist(), strict=True))
        if self.count_standard_error is not None:
            named["count"] = self.count_standard_error
        return named

    def narrowed(self, shown: Sequence[int], count: bool) -> tuple[Block, list[int]]:
        """The block as far as some of its answers go, and which features these are read from. The noise is the same."""
        if list(shown) == list(range(self.answers.visible)) and count == self.answers.count:
            return self, list(range(self.shape.features.shape[0]))
        answers, kept = self.answers.pick(shown, count)
        if self.shape.counted:
            kept.append(self.answers.size)
        shape = self.shape
        public = None if shape.public is None else shape.public[kept]
        shape = Shape(shape.name, shape.lift, shape.features.picked(kept), shape.counted, public)
        whole = (self, tuple(shown), count)
        problem = self.problem.asking(answers)
        return replace(self, problem=problem, shape=shape, alternatives=(), law=None, whole=whole), kept

    # -- the distribution of the errors ----------------------------------------------------------------------------

    @cached_property
    def error_law(self) -> ErrorLaw:
        """The law of the errors of all answers together, the count left out; of a mean: of n times its error."""
        size, unit = self.answers.size, self.noise_scale
        if self.answers.ratios.any() or self.answers.hidden:
            shown = self.answers.visible
            return ErrorLaw(np.zeros(shown), np.zeros(shown), self.covariance()[:shown, :shown])
        extra = self._variances[0] / unit**2 - self.shape.variances()[:size]  # of means: through the count
        law = law_of_features(self.shape.features, size, unit, extra)
        return law or ErrorLaw(np.zeros(size), np.zeros(size), self.covariance()[:size, :size])

    # -- the integer mechanism --------------------------------------------------------------------------------------

    @cached_property
    def codes(self) -> Codes:
        """How records become integers."""
        return self.domain.codes(self.substitutes, self.answers.workload)

    @cached_property
    def grid(self) -> Grid:
        """The certified integer lift."""
        return make_grid(self.shape.lift, self.domain, self.codes, self.neighbours, self.guarantee.mu)

    def certify(self) -> None:
        """Check, with all rounding upward, that neighbours' integers differ by no more than the guarantee allows.

        Raises PlanError otherwise; every release does this before it opens any data.
        """
        self.grid  # noqa: B018 (made here, or refused)

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise on a lifted coordinate."""
        return self.grid.noise_scale

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
            "answers": self.answers.to_dict(),
            "shape": self.shape.to_dict(),
            "substitutes": self.substitutes.tolist(),
            "alternatives": [[name, value] for name, value in self.alternatives],
            "law": None if self.law is None else self.law.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Any) -> Block:
        """The block described by `to_dict`, with its privacy certified again; refuses unknown forms."""
        if not isinstance(fields, dict) or set(fields) != _FIELDS:
            odd = sorted(set(fields) ^ _FIELDS) if isinstance(fields, dict) else []
            rule = "a plan must have exactly the fields it was saved with"
            raise PlanError(f"plan fields {odd}", rule, "plan again", code="plan-fields-differ", fields=odd)
        domain = domain_from_dict(fields["domain"])
        answers = Answers.from_dict(fields["answers"], domain)
        block = cls(
            Problem(domain, answers, check(fields["neighbours"])),
            Guarantee.from_dict(fields["guarantee"]),
            Shape.from_dict(fields["shape"]),
            np.array(fields["substitutes"], float),
            tuple((str(name), float(value)) for name, value in fields["alternatives"]),
            None if fields["law"] is None else Law.from_dict(fields["law"]),
        )
        block.certify()
        block._check_fit()
        return block

    def _check_fit(self) -> None:
        """Refuse parts that do not fit each other now, not when answers are read from noisy numbers."""
        self.domain.check(self.problem)
        rows, public = self.shape.features.shape[0], self.shape.public
        if rows != self.answers.size + self.shape.counted:
            rule = "a plan has one per answer and one for the count"
            raise PlanError(f"{rows} features", rule, "plan again", code="features-do-not-match-answers", features=rows)
        d, m = self.domain.dimension, self.shape.lift.shape[0]
        stand_ins = (self.domain.substitutes_size,)
        fits = self.answers.fits(d) and self.substitutes.shape == stand_ins and self.shape.features.shape[1] == m
        if not fits or not (public is None or public.shape == (rows,)):
            what = "parts of a plan that do not fit together"
            raise PlanError(what, "every field must be as it was saved", "plan again", code="plan-parts-do-not-fit")

    @cached_property
    def _identity(self) -> str:
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True, allow_nan=False).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)
