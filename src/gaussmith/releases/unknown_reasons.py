"""Why an answer is unknown: what the noise hides. It depends on the kind of answer and on names, never on data."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gaussmith.plans.row_notes import truth_of
from gaussmith.statistics.mean import Means

if TYPE_CHECKING:
    from gaussmith.plans.row_rule import RowRule
    from gaussmith.releases.release import Release
    from gaussmith.statistics import Statistic


class Reason(NamedTuple):
    """What there is too little of, and of which columns."""

    what: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.what == SPREAD:
            return f"the spread of {' or '.join(self.columns) or 'a column'} is too small for this noise"
        if self.what == NUMBERS:
            return "too few rows with a number in it, or too much noise"
        return "too few records for this noise"


RECORDS, SPREAD, NUMBERS = "records", "spread", "numbers"


def unknown_reasons(release: Release) -> dict[str, Reason]:
    """By answer of the only question why it would be unknown; those that are not here: too few records."""
    found: dict[str, Reason] = {}
    for piece in release.pieces:
        rule = piece.row_rules[piece.plan.slot.draw]
        for statistic in piece.block.answers.statistics:
            if statistic.needs_spread or (statistic.kind == Means.kind and rule is not None and rule.is_text):
                found |= {name: _reason(piece, rule, statistic, at) for at, name in enumerate(statistic.names)}
    return found


def _reason(piece: Release, rule: RowRule | None, statistic: Statistic, at: int) -> Reason:
    places = statistic.places[at, statistic.needs_spread or slice(0, 1)]
    index, domain = piece.block.problem.features.index, piece.block.domain
    read = dict.fromkeys(i for place in places.tolist() for i in domain.read_from(int(index[place])))
    columns = () if rule is None else tuple(dict.fromkeys(rule.features[i][1] for i in read if rule.features[i][1]))
    if statistic.needs_spread:
        return Reason(SPREAD, columns)
    numbers = rule is not None and all(name in rule.present and truth_of(rule, name) is None for name in columns)
    return Reason(NUMBERS, columns) if numbers and columns else Reason(RECORDS)
