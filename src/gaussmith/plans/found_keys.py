"""What a plan says of keys that are found in the data: what they cost, and how large a group must be to be shown."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee

if TYPE_CHECKING:
    from gaussmith.domains import Groups
    from gaussmith.plans.draw import Draw
    from gaussmith.plans.threshold import Threshold


class FindsKeys:
    """The part of a plan that is about found keys."""

    if TYPE_CHECKING:
        guarantee: Guarantee
        draws: tuple[Draw, ...]

        @property
        def groups(self) -> Groups | None: ...

    def certify_keys(self) -> None:
        """Check that thresholds hold, and that keys fit into the guarantee beside all noise; or raise PlanError."""
        if self.finds_keys:
            from gaussmith.plans.found_draws import check_keys, check_threshold

            check_keys(self.draws, self.guarantee)
            for draw in self.draws:
                check_threshold(draw)

    @property
    def finds_keys(self) -> bool:
        """Whether some groups are found in the data."""
        return any(draw.groups is not None and draw.groups.is_found for draw in self.draws)

    @property
    def keys_delta(self) -> Fraction:
        """κ: the probability that is spent on found keys, over all questions; 0 where there are none."""
        if not self.finds_keys:
            return Fraction(0)
        from gaussmith.plans.found_draws import keys_delta_of

        return keys_delta_of(self.draws)

    @property
    def spends(self) -> Guarantee:
        """What a ledger is charged for noise: the guarantee; where κ is charged for keys beside it, the μ of all."""
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
