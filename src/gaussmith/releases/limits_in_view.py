"""What is said of the bounds of the answers in view, and of counts that are not of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussmith.plans.row_notes import truth_of
from gaussmith.problem.features import VECTOR
from gaussmith.releases.path import bounds_of
from gaussmith.statistics.count import Count

if TYPE_CHECKING:
    from gaussmith.releases.release import Release

MAX_LISTED = 8
"""Limit on the bounds listed in a note."""


def row_counts(piece: Release) -> list[str]:
    """The names of the answers of a piece that are numbers of rows."""
    counts = (each for each in piece.plan.pieces[0].answers.statistics if each.kind == Count.kind)
    return [name for each in counts if not each.counts_records for name in each.names]


def limit_notes(release: Release) -> list[str]:
    """Within which bounds sums and means count, and which counts are of rows; for tables only."""
    pieces = [piece for piece in release.pieces if piece.row_rules[piece.plan.slot.draw] is not None]
    counted = dict.fromkeys(name for piece in pieces for name in row_counts(piece) if name in release.names)
    found = dict.fromkeys(each for piece in pieces for each in _bounds(piece) if set(piece.names) & set(release.names))
    lines = [f"{', '.join(counted)} is of rows"] if counted else []
    if found:
        more = ", …" if len(found) > MAX_LISTED else ""
        lines.append(f"{', '.join(list(found)[:MAX_LISTED])}{more}: values beyond count as the nearer bound")
    return lines


def _bounds(piece: Release) -> list[str]:
    """The bounds of what a piece adds up; quantiles tell their own."""
    draw = piece.plan.draws[piece.plan.slot.draw]
    rule, read = draw.row_rule, piece.block.problem.features
    if rule is None or rule.is_counted or rule.counts_marks or any(kind == VECTOR for kind, _ in rule.features):
        return []
    asked = {i for j in read.index.tolist() for i in piece.block.domain.read_from(j)} if not read.is_linear else None
    return [
        f"{'a total of ' if of == 'total' else ''}{column} within {low:,.12g} to {high:,.12g}"
        for i, pair in enumerate(bounds_of(draw))
        if pair is not None and pair[0][0] and (asked is None or i in asked) and truth_of(rule, pair[0][0]) is None
        for (column, of), (low, high) in [pair]
    ]
