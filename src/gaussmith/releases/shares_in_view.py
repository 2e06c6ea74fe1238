"""Shares among the answers of a release: where a question asks for proportions, each value has one, by its name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.plans.row_rule import RowRule
    from gaussmith.releases.contrasts import Contrasts
    from gaussmith.releases.release import Release

SHARE = "{}_share"
"""What the share of a value is called."""


@dataclass(frozen=True, eq=False)
class ShareInView:
    """One share, of each group in view or of all people; it has what a release shows of an answer."""

    each: tuple[Contrasts, ...]
    grouped: bool

    @property
    def values(self) -> Array:
        return self._shaped([share.value for share in self.each])

    @property
    def standard_errors(self) -> Array:
        return self._shaped([share.standard_error for share in self.each])

    @property
    def limits(self) -> tuple[Array, Array]:
        return np.zeros(1), np.ones(1)

    def ends(self, width: float) -> tuple[Array, Array]:
        """`width` standard errors of the normal law to either side, not cut."""
        found = [share.each[0].ends(width) for share in self.each]
        return self._shaped([low for low, _ in found]), self._shaped([high for _, high in found])

    def _shaped(self, numbers: list[float]) -> Array:
        return np.array(numbers).reshape(-1, 1) if self.grouped else np.array(numbers)


def shows_shares(release: Release) -> bool:
    """Whether the only question of a release shows shares beside its answers."""
    statistics = (each for piece in release.plan.pieces for each in piece.answers.statistics)
    return len(release.plan) == 1 and any(each.shows_shares for each in statistics)


def share_names(release: Release) -> list[str]:
    """The names of the shares of the only question."""
    if not shows_shares(release):
        return []
    return [
        SHARE.format(name)
        for piece in release.plan.pieces
        for each in piece.answers.statistics
        if each.shows_shares
        for name in each.names
    ]


def share_rules(release: Release) -> list[str]:
    """What each of these shares is a share of, in a few words; empty for plain data."""
    return [
        "" if piece.row_rule is None else share_rule(piece.row_rule)
        for piece in release.pieces
        for each in piece.plan.pieces[0].answers.statistics
        if each.shows_shares
        for _ in each.names
    ]


def share_notes(release: Release) -> list[str]:
    """The same as notes below a table, each once."""
    if not shows_shares(release) or release.view.answer is not None:
        return []
    rules = [
        piece.row_rule
        for piece in release.pieces
        if any(each.shows_shares for each in piece.plan.pieces[0].answers.statistics)
    ]
    return list(dict.fromkeys(_share_note(rule) for rule in rules if rule is not None))


def share_rule(rule: RowRule) -> str:
    """What the shares of a histogram's values are shares of, in a few words.

    >>> from gaussmith.plans.row_rule import RowRule
    >>> share_rule(RowRule((("values", "site"),), unit="person", values_per_unit=3))
    'of all pairs of a person and a value'
    """
    if _counts_pairs(rule):
        return "of all pairs of a person and a value"
    return "of people with a value" if dict(rule.cuts) else "of people with a declared value"


def _counts_pairs(rule: RowRule) -> bool:
    """Whether a person may count several times, once for each value of theirs."""
    return rule.unit is not None and not rule.person_columns and not rule.by and rule.values_per_unit > 1


def _share_note(rule: RowRule) -> str:
    if not _counts_pairs(rule):
        return f"shares are {share_rule(rule)} of {rule.histogram}"
    return (
        f"shares are {share_rule(rule)} of {rule.histogram}, and add up to 1; the share of people who have a value is "
        f"the mean of a person column, such as any({rule.histogram} == 'a')"
    )


def shares_of_groups(release: Release) -> list[tuple[tuple[Any, ...], Contrasts]]:
    """The shares of all values, in each group in view with its label; of all people where there are no groups."""
    whole = replace(release, view=replace(release.view, answer=None))
    return [(label, whole.of_group(label).shares()) for label in whole.labels] or [((), whole.shares())]


def share_in_view(release: Release) -> ShareInView | None:
    """The share that a release was narrowed to; None where it is an ordinary answer, or several."""
    name = release.view.answer
    if name is None or name in release.plan.names or name not in (known := share_names(release)):
        return None
    at = known.index(name)
    return ShareInView(tuple(shares[at] for _, shares in shares_of_groups(release)), bool(release.labels))
