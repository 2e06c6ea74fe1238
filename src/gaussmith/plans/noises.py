"""The noises of a plan: what they cost together, how good they are, and what proves it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

from gaussmith.plans.block import Block
from gaussmith.plans.draw import AnyTie, Draw
from gaussmith.problem.law import price_over_bound

if TYPE_CHECKING:
    from gaussmith.guarantee import Guarantee
    from gaussmith.plans.certificate import Certificate
    from gaussmith.plans.plan import Plan
    from gaussmith.problem import Law


class HasNoises:
    """The part of a plan that is about its noises."""

    if TYPE_CHECKING:
        guarantee: Guarantee
        neighbours: str
        draws: tuple[Draw, ...]
        _only: str | None

        @property
        def _narrowed(self) -> tuple[Draw, ...]: ...

        @property
        def hash(self) -> str: ...

    @property
    def is_narrowed(self) -> bool:
        """Whether the plan is narrowed to one of its questions."""
        return self._only is not None

    @property
    def untied(self) -> tuple[Draw, ...]:
        """The draws with noise of their own, in order; those of public numbers have none."""
        return tuple(draw for draw in self.draws if draw.tie is None and not draw.is_public)

    @property
    def ties(self) -> tuple[AnyTie, ...]:
        """The noises that several draws share, in order."""
        found = {id(draw.tie): draw.tie for draw in self.draws if draw.tie is not None}
        return tuple(found.values())

    @property
    def noises(self) -> tuple[Draw | AnyTie, ...]:
        """Every noise once: draws with noise of their own, then ties; of one question: its draws."""
        if self._only is not None:
            return tuple(draw for draw in self._narrowed if not draw.is_public) or self._narrowed
        return (*self.untied, *self.ties)

    def worth_of(self, noise: Draw | AnyTie) -> float:
        """What the squared errors of a noise are worth beside others; the scales of tied draws are in their total."""
        if len(self.noises if self._only is not None else self.provable) == 1:
            return 1.0
        return noise.place.scale if isinstance(noise, Draw) and noise.place is not None else noise.scale

    @property
    def total_variance(self) -> float:
        """The weighted total of all answers, the count included when asked."""
        return sum(self.worth_of(each) * each.total_variance for each in self.noises)

    @property
    def price(self) -> float:
        """What was made small: the weighted total, or the worst squared error in units of its target squared."""
        return sum(self.worth_of(each) * each.price for each in self.noises)

    @cached_property
    def lower_bound(self) -> float:
        """No Gaussian noise with this guarantee has a smaller price: each noise needs as much even with all of μ.

        Under add-remove people who are in all draws at once need more. Under replace-one the roots of the noises add
        up: what changes in several questions has independent signs.
        """
        from gaussmith.plans.joint_bound import least_price

        return least_price(cast("Plan", self))

    @cached_property
    def together(self) -> Law | None:
        """A law on what one person is in all draws at once: it bounds noise for all that it is about."""
        from gaussmith.plans.joint_bound import law_together

        return law_together(cast("Plan", self))

    @property
    def optimality(self) -> float:
        """price / lower_bound: 1 is the best any Gaussian noise can do. Of one question: that of its noise.

        Of a question that takes the number of everybody from the noise of others: that of the whole plan.
        """
        if self.is_narrowed and any(isinstance(noise, Draw) and noise.block.lender for noise in self.noises):
            whole: HasNoises = replace(cast("Plan", self), _only=None, _piece=None)
            return whole.optimality
        ties = {id(noise.tie) for noise in self.noises if isinstance(noise, Draw)}
        if len(self.noises) == 1 or (len(ties) == 1 and id(None) not in ties):
            return self.noises[0].optimality
        return max(1.0, price_over_bound(self.price, self.lower_bound))

    @cached_property
    def certificate(self) -> Certificate:
        """For each noise a law on differences that bounds every Gaussian noise, at its share of the guarantee."""
        from gaussmith.plans.certificate import Certificate, prove

        own = [draw.block.proof for draw in self.untied]
        together = self.together if len(self.provable) > 1 and not self.is_narrowed else None
        return Certificate(self.hash, (*own, *(prove(tie, {}) for tie in self.ties)), together)

    @property
    def provable(self) -> tuple[Block | AnyTie, ...]:
        """Every noise once, as a certificate has them: blocks with noise of their own, then ties."""
        return (*(draw.block for draw in self.untied), *self.ties)
