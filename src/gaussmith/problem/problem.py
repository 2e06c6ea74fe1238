"""A problem: what one record can be, what is asked, and what is protected; and everything that follows from these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array
from gaussmith.problem.domain import Domain

if TYPE_CHECKING:
    from gaussmith.problem.answers import Answers

D_co = TypeVar("D_co", bound=Domain, covariant=True)
Other = TypeVar("Other", bound=Domain)


@dataclass(frozen=True, eq=False)
class Problem(Generic[D_co]):
    """One domain, the answers asked of it, and the neighbours under which it is protected.

    In the formulas ω_j is the weight of coordinate j over all answers, and E what the number of records is worth.

    >>> import gaussmith as gm
    >>> problem = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), count=True).block.problem
    >>> problem.secret_count, problem.asks_secret_count, problem.offset_weight
    (True, True, 2501.0)
    """

    domain: D_co
    answers: Answers
    neighbours: str

    def over(self, domain: Other) -> Problem[Other]:
        """The same question about another domain."""
        return Problem(domain, self.answers, self.neighbours)

    def asking(self, answers: Answers) -> Problem[D_co]:
        """Another question about the same domain."""
        return replace(self, answers=answers)

    # -- the number of records ------------------------------------------------------------------------------------

    @cached_property
    def secret_count(self) -> bool:
        """Whether the number of records is secret: it is public under replace-one."""
        return self.neighbours == ADD_REMOVE

    @cached_property
    def asks_secret_count(self) -> bool:
        """Whether the number of records is an answer that needs noise."""
        return self.answers.count and self.secret_count

    @cached_property
    def count_weight(self) -> float:
        """How much the squared error of the number of records matters where no centre enters: means and the count."""
        means = self.answers.means
        spread = self.answers.weights[means] * self.domain.spread[self.answers.index[means]]
        return float(spread.sum()) + (1.0 if self.answers.count else 0.0)

    @cached_property
    def offset_weight(self) -> float:
        """E: how much the squared error of the number of records matters, through centres, means and the count."""
        answers = self.answers
        if answers.matrix is not None:
            at_centre = answers.matrix @ self.domain.centre
            return self.count_weight + float(answers.weights @ (at_centre * at_centre))
        sums = ~answers.means
        centres = self.domain.centre[answers.index[sums]]
        return self.count_weight + float(answers.weights[sums] @ (centres * centres))

    # -- what answers take from a record --------------------------------------------------------------------------

    @cached_property
    def coordinate_weights(self) -> Array:
        """ω_j: how much the squared error of coordinate j matters over all answers."""
        return self.answers.coordinate_weights(self.domain.dimension)

    @cached_property
    def asks_each_once(self) -> bool:
        """Whether the answers are the coordinates themselves, each once and in order."""
        answers = self.answers
        return not answers.is_linear and np.array_equal(answers.index, np.arange(self.domain.dimension))

    @cached_property
    def asks_no_coordinate_twice(self) -> bool:
        """Whether every answer is about a coordinate of its own."""
        answers = self.answers
        return answers.matrix is None and len(np.unique(answers.index)) == answers.size

    @cached_property
    def common_weight(self) -> float | None:
        """The weight of every coordinate, if each is asked once and all weigh the same."""
        weights = self.answers.weights
        even = len(weights) > 0 and self.asks_each_once and bool((weights == weights[0]).all())
        return float(weights[0]) if even else None

    @property
    def rows(self) -> Array:
        """The answers as a matrix over what is counted of a record, not weighted."""
        return self.domain.answer_rows(self.answers)

    @property
    def root_weights(self) -> Array:
        """The root of each answer's weight, as a column."""
        return np.sqrt(self.answers.weights)[:, None]

    @property
    def weighted_rows(self) -> Array:
        """The rows, each scaled to its weight; where the count needs noise one more, of a last coordinate that is 1."""
        rows = self.rows * self.root_weights
        if self.asks_secret_count:
            rows = np.pad(rows, ((0, 1), (0, 1)))
            rows[-1, -1] = 1.0
        return np.asarray(rows)

    @property
    def core_rows(self) -> Array:
        """What each answer takes from the core z, scaled to its weight; the number of records is public."""
        return np.asarray(self.rows * self.domain.radius * self.root_weights)

    @property
    def lifted_rows(self) -> Array:
        """What each answer takes from the core (z, 1), scaled to its weight; then the count, where it has a worth."""
        answers, domain, d = self.answers, self.domain, self.domain.dimension
        if answers.matrix is not None:
            rows = np.column_stack([answers.matrix * domain.radius, answers.matrix @ domain.centre])
        else:
            rows = np.zeros((answers.size, d + 1))
            at = np.arange(answers.size)
            rows[at, answers.index] = domain.radius[answers.index]
            rows[at, -1] = np.where(answers.means, 0.0, domain.centre[answers.index])
        rows = rows * self.root_weights
        if self.count_weight:
            tail = np.zeros((1, d + 1))
            tail[0, -1] = np.sqrt(self.count_weight)
            rows = np.vstack([rows, tail])
        return rows
