"""What is said of the bounds of the answers in view, and of counts that are not of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaussmith.plans.answer_notes import read_by
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
    shown = {*release.names}
    pieces = [
        piece
        for piece in release.pieces
        if piece.row_rules[piece.plan.slot.draw] is not None and not shown.isdisjoint(piece.names)
    ]
    counted = dict.fromkeys(name for piece in pieces for name in row_counts(piece) if name in shown)
    found: dict[tuple[str, float, float], list[str]] = {}
    for of, column, low, high in dict.fromkeys(
        each for piece in pieces for each in _bounds(piece, release.view.answer)
    ):
        found.setdefault((of, low, high), []).append(column)
    lines = [f"{', '.join(counted)} is of rows"] if counted else []
    told = [f"{of}{_some(names)} within {low:,.12g} to {high:,.12g}" for (of, low, high), names in found.items()]
    if told:
        lines.append(f"{_some(told)}: values beyond count as the nearer bound")
    return lines


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:MAX_LISTED]) + (", …" if len(texts) > MAX_LISTED else "")


def _bounds(piece: Release, answer: str | None) -> list[tuple[str, str, float, float]]:
    """The bounds of what a piece adds up, with the column and whether totals are meant; quantiles tell their own."""
    draw = piece.plan.draws[piece.plan.slot.draw]
    rule = draw.row_rule
    if rule is None or rule.is_counted or rule.counts_marks or any(kind == VECTOR for kind, _ in rule.features):
        return []
    asked = read_by(piece.plan, answer)
    return [
        ("a total of " if of == "total" else "", column, low, high)
        for i, pair in enumerate(bounds_of(draw))
        if pair is not None and pair[0][0] and (asked is None or i in asked) and truth_of(rule, pair[0][0]) is None
        for (column, of), (low, high) in [pair]
    ]
