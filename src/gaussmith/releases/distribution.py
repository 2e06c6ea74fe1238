"""What else is in the noisy cells of quantiles: the whole distribution, and other quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from gaussmith.checks import check_number
from gaussmith.errors import PlanError
from gaussmith.plans.error_distribution import normal_width
from gaussmith.releases.readout import Readout
from gaussmith.statistics import Quantiles

if TYPE_CHECKING:
    from gaussmith.releases.release import Release


class CellReadings:
    """What a release of quantiles can say beyond them, read from the same noisy numbers: it costs nothing more."""

    def distribution(self, confidence: float = 0.95) -> dict[str, list[float]]:
        """The share of values below each edge of the cells of the quantiles in view: edge, share, lower, upper.

        Of one column, and of one group. Each interval holds by itself.
        """
        readout, quantiles = quantiles_in(cast("Release", self))
        found = quantiles.distribution(readout.noisy, normal_width(confidence))
        return dict(zip(("edge", "share", "lower", "upper"), (each.tolist() for each in found), strict=True))

    def quantile(self, level: float, confidence: float = 0.95) -> tuple[float, float, float]:
        """Another quantile of the column whose quantiles are in view: its value and the ends of its interval."""
        readout, quantiles = quantiles_in(cast("Release", self))
        rule, remedy = "a level is above 0 and below 1", "write 0.5 for the median"
        q = check_number("level", level, above=0, below=1, rule=rule, remedy=remedy, error=PlanError)
        other = quantiles.at([q])
        low, high = other.intervals(readout.noisy, normal_width(confidence))
        return float(other.values(readout.noisy)[0]), float(low[0]), float(high[0])


def quantiles_in(release: Release) -> tuple[Readout, Quantiles]:
    """The quantiles in view, and what they are read from; refuses several columns and several groups."""
    if len(release.plan) > 1:
        release.plan.slot  # noqa: B018 (refuses, with the names of the questions)
    if release.labels:
        what, remedy = "the distribution of several groups", "choose one: release[group]"
        raise PlanError(what, "each has its own", remedy, code="cells-of-several-groups")
    found = [
        (piece.readout, each)
        for piece in release.pieces
        for each in piece.block.answers.statistics
        if isinstance(each, Quantiles) and (release.view.answer is None or release.view.answer in each.names)
    ]
    if len(found) != 1:
        several = f"there are {len(found)}" if found else "no quantile is in view"
        raise PlanError(
            "the cells of a column",
            f"they are those of the quantiles of one column, and {several}",
            "choose a quantile: release['income_median']",
            code="cells-of-no-quantile",
        )
    return found[0]
