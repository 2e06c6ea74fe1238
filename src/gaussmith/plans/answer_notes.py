"""Notes on the answers of a question: how their tables were read. What does not hold for all says for which it does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gaussmith.plans.row_notes import Definitions, columns_needed, definitions_of, notes_of, told_definitions

if TYPE_CHECKING:
    from gaussmith.plans.plan import Plan
    from gaussmith.plans.row_rule import RowRule

MAX_NAMED = 4
"""Limit on the answers named before a note."""


class Told(NamedTuple):
    """Some answers of a draw, and what the notes on them depend on.

    counts:  whether they are the number of people alone, which a note on numbers of the same draw is not about
    groups:  how many groups are declared; None where there are none, or they are found
    values:  how many values or ranges a histogram counts people in; None where it does not
    """

    draw: int
    names: Sequence[str]
    counts: bool
    rule: RowRule | None
    groups: int | None
    values: int | None

    def notes(self) -> list[str]:
        """The rules in plain words, one a line."""
        return [] if self.rule is None else notes_of(self.rule, self.groups, self.values)


def told_of(piece: Plan, rule: RowRule | None, answer: str | None = None) -> Told:
    """What is told of the answers of one piece, or of one of them, where its table is read by this rule."""
    names, groups = piece.names, piece.groups
    counted = piece.answers.count
    return Told(
        piece.slot.draw,
        names[:-1] if counted and len(names) > 1 else names,
        counted and len(names) == 1,
        rule if rule is None or answer is None else _about(piece, rule, answer),
        None if groups is None or groups.is_found else groups.size,
        piece.draw.block.domain.dimension if rule is not None and rule.histogram is not None else None,
    )


def _about(piece: Plan, rule: RowRule, answer: str) -> RowRule:
    """The rule as far as it is about one answer: its columns, and those that they are derived from."""
    if rule.counts_marks or rule.is_counted or answer not in piece.names:
        return rule
    read = read_by(piece, answer)
    if read is None:
        return rule
    own = tuple(feature for i, feature in enumerate(rule.features) if i in read)
    columns = {column for _, column in own}
    rule = replace(
        rule.about(columns),
        features=own,
        complete=tuple(name for name in rule.complete if name in columns),
        complete_by_type=tuple(name for name in rule.complete_by_type if name in columns),
    )
    needed = columns_needed(rule, columns)
    limit = None if piece.answers.count and answer == piece.names[-1] else rule.rows_per_unit
    return replace(rule, rows_per_unit=limit, columns=tuple(pair for pair in rule.columns if pair[0] in needed))


def read_by(piece: Plan, answer: str | None) -> set[int] | None:
    """The coordinates of a record that an answer of one piece is read from, or all its answers; None where they mix."""
    features = piece.block.problem.features
    if features.is_linear:
        return None
    kept = range(len(features.index)) if answer is None else piece.answers.picked([list(piece.names).index(answer)])[1]
    return {i for place in kept for i in piece.domain.read_from(int(features.index[place]))}


def notes_on(pieces: Sequence[Told]) -> list[str]:
    """How the tables of some answers were read, one note a line. A derived column is told once, for itself."""
    notes = {piece.draw: piece.notes() for piece in pieces}
    common = [line for line in next(iter(notes.values())) if all(line in each for each in notes.values())]
    derived = [definitions_of(piece.rule) for piece in pieces if piece.rule is not None]
    defined = {line for each in derived for line in told_definitions(each)}
    own = [line for line in told_definitions(_all_of(derived)) if line not in common]
    told: dict[tuple[int, ...], list[str]] = {}
    for line in dict.fromkeys(line for lines in notes.values() for line in lines if line not in (*common, *defined)):
        told.setdefault(tuple(draw for draw, lines in notes.items() if line in lines), []).append(line)
    for draws, lines in told.items():
        some = [piece for piece in pieces if piece.draw in draws]
        names = [name for piece in [each for each in some if not each.counts] or some for name in piece.names]
        shown = ", ".join(names[:MAX_NAMED]) + (", …" if names[MAX_NAMED:] else "")
        own.append(f"{shown}: {'; '.join(lines)}")
    return [*common, *own]


def _all_of(derived: Iterable[Definitions]) -> dict[str, tuple[str, str]]:
    """Derived columns of several rules, each once: as told where its own values count, not where it only filters."""
    found: dict[str, tuple[str, str]] = {}
    for each in derived:
        found |= {name: told for name, told in each.items() if name not in found or told[1]}
    return found
