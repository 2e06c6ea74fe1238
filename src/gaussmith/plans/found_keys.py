"""What a plan says of keys that are found in the data: what they cost, and how large a group must be to be shown."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.numerics.exact import sqrt_upward

if TYPE_CHECKING:
    from gaussmith.domains import Groups
    from gaussmith.numerics.found_keys import Found
    from gaussmith.plans.draw import Draw
    from gaussmith.plans.plan import Plan
    from gaussmith.plans.staging import Staging
    from gaussmith.plans.threshold import Threshold


class FindsKeys:
    """The part of a plan that is about found keys."""

    if TYPE_CHECKING:
        guarantee: Guarantee
        draws: tuple[Draw, ...]
        staging: Staging | None
        keys_before: tuple[Found, ...]

        @property
        def spent(self) -> Fraction: ...

        @property
        def questions(self) -> tuple[str, ...]: ...

        @property
        def groups(self) -> Groups | None: ...

    def certify_keys(self) -> None:
        """Check that thresholds hold, and that keys fit into the guarantee beside all noise; or raise PlanError."""
        if self.finds_keys:
            from gaussmith.plans.found_draws import check_keys, check_threshold

            check_keys(self.draws, self.guarantee)
            for draw in self.draws:
                check_threshold(draw)
        if before := self._found_before:
            from gaussmith.plans.found_draws import check_keys_before

            check_keys_before(before, self._after_keys, self.finds_keys, self.guarantee)

    @property
    def finds_keys(self) -> bool:
        """Whether some groups are found in the data."""
        return any(draw.groups is not None and draw.groups.is_found for draw in self.draws)

    @property
    def keys_found(self) -> tuple[Found, ...]:
        """What each question about found keys spends: μ over all of a person's groups, and κ. Without stages before."""
        if not self.finds_keys:
            return ()
        from gaussmith.plans.found_draws import found_of

        return tuple(found_of(self.draws))

    @property
    def _found_before(self) -> tuple[Found, ...]:
        """The same of a stage before this plan, released or not."""
        return self.keys_before if self.staging is None else self.staging.first.keys_found

    @property
    def _after_keys(self) -> Fraction:
        """What is spent of μ² after keys were found, at most."""
        return self.spent if self.staging is None else self.staging.most_after(self.guarantee)

    @property
    def as_guessed(self: Any) -> Plan:
        """The answers of a plan in stages, as they are guessed, without the stages before."""
        made: Plan = replace(self, staging=None, keys_before=self._found_before)
        return made

    @property
    def pays_for_keys(self) -> bool:
        """Whether keys are found in the data, by this plan or by a stage before it: then κ is spent beside μ."""
        return self.finds_keys or bool(self._found_before)

    @property
    def keys_delta(self) -> Fraction:
        """κ: the probability that is spent on found keys, over all questions and stages; 0 where there are none."""
        return sum((each.kappa for each in (*self.keys_found, *self._found_before)), Fraction(0))

    @property
    def spends(self) -> Guarantee:
        """What a ledger is charged for noise: the guarantee; where κ is charged for keys beside it, the μ of all."""
        if before := self._found_before:
            return Guarantee(mu=sqrt_upward(sum((Fraction(each.mu) ** 2 for each in before), self._after_keys)))
        if not self.finds_keys:
            return self.guarantee
        from gaussmith.plans.found_draws import spent_by

        return spent_by(self.draws)

    @property
    def threshold(self) -> float:
        """The number of people at which a found group is shown half of the time, by its count alone."""
        return self._threshold.at_half

    def shown(self, people: float) -> float:
        """The probability that a found group of so many people, each in as many groups as may count, is shown."""
        return self._threshold.chance(people)

    @cached_property
    def _threshold(self) -> Threshold:
        from gaussmith.plans.found_draws import threshold_of

        if self.staging is not None and self.staging.first.finds_keys:
            return self.staging.finder(self.questions)._threshold
        which = getattr(self.groups, "which", None)
        alike = [draw for draw in self.draws if getattr(draw.groups, "which", None) == which]
        found = next((each for each in map(threshold_of, alike) if which is not None and each is not None), None)
        if found is None:
            raise PlanError(
                "the threshold of a plan without found keys",
                "declared groups are always shown",
                'ask for found keys: by = { airport = "found" }',
                code="threshold-without-found-keys",
            )
        return found
