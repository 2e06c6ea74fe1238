"""Releases as tables for a terminal, a notebook and the report, all from the one table of a release."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gaussmith.releases.diagnosis import diagnosis_legend, diagnosis_sentences
from gaussmith.releases.learned import learned_sentences
from gaussmith.releases.shares_in_view import share_names
from gaussmith.releases.table import EXACT, FIXED, UNKNOWN
from gaussmith.releases.table import MADE_UP as MADE_UP_NOTE
from gaussmith.texts import printable
from gaussmith.words.blocks import MAX_ROWS
from gaussmith.words.keys import statement_notes
from gaussmith.words.numbers import decimals, figure
from gaussmith.words.tables import html_table, note_lines, text_table, wrap_notes
from gaussmith.words.unknowns import unknown_hints

if TYPE_CHECKING:
    from gaussmith.releases import Release

RELEASE_HEADER = ("answer", "value", "± error", "95 % interval")

MADE_UP = "MADE UP: a rehearsal on invented rows. No data was read and nothing was charged."

COVERS = "Intervals cover the noise, not clipping to bounds, limits on rows and groups, or the sampling of people."

DASH = "–"
"""What is shown for a number that is unknown."""

HALF = "± of a quantile is half the length of its 68 % interval"
"""What stands below a table with quantiles: their errors have no one size."""

BEYOND = "* noise took this value beyond what is possible; its interval is cut there, and short for that reason alone"
"""What the mark behind a value says."""


def release_text(
    release: Release,
    most: int = MAX_ROWS,
    rest_in: str = "release.to_polars()",
    spelled: Callable[[str], str] = str,
) -> str:
    """keys · answer · value · ± standard error · 95 % interval; then notes on their meaning.

    Of each question `most` rows are shown, and where the others are (`rest_in`); notes are `spelled` for their reader.
    """
    told = _release_text(release, most, rest_in, spelled)
    return f"{MADE_UP}\n\n{told}\n\n{MADE_UP}" if release.made_up else told


def _release_text(release: Release, most: int, rest_in: str, spelled: Callable[[str], str]) -> str:
    if len(release.plan) == 1:
        notes = [*learned_sentences(release), *release_notes(release), COVERS]
        return "\n".join([_answers_text(release, most, rest_in, spelled), *wrap_notes(list(map(spelled, notes)))])
    from gaussmith.words.plans import INDENT, sharing

    texts = []
    questions = list(release)
    common = _common_notes(questions)
    for question in questions:
        own = [printable(note) for note in question.notes() if note not in common]
        told = (*diagnosis_legend(question), *diagnosis_sentences(question), *own)
        notes = wrap_notes([spelled(note) for note in told], 80 - len(INDENT))
        body = "\n".join([_answers_text(question, most, rest_in, spelled, 80 - len(INDENT)), *notes])
        texts.append(f"{printable(question.questions[0])}\n{textwrap.indent(body, INDENT)}\n")
    notes = [*learned_sentences(release), *map(printable, common), *sharing(release.plan), *_charged(release), COVERS]
    return "\n".join([*texts, *wrap_notes(list(map(spelled, notes)))])


def _common_notes(questions: Sequence[Release]) -> list[str]:
    """What holds for all questions is told once."""
    first, *others = [question.notes() for question in questions]
    return [note for note in first if all(note in each for each in others)]


def release_html(release: Release) -> str:
    """The same for a notebook."""
    from gaussmith.words.displays import framed, paragraph

    return framed((paragraph(MADE_UP, warning=True) if release.made_up else "") + _release_body(release))


def _release_body(release: Release) -> str:
    from gaussmith.words.displays import heading
    from gaussmith.words.plans import sharing

    if len(release.plan) == 1:
        header, rows, rest = shown_rows(release, shares_first=True)
        told = [*learned_sentences(release), *release_notes(release), COVERS]
        notes = [*_left_out(release, rest), *_marked(rows), *_half(release), *unknown_hints(release), *told]
        return html_table(header, rows, notes, left=len(header) - 3)
    tables = []
    for question in release:
        header, rows, rest = shown_rows(question, shares_first=True)
        notes = [*_left_out(question, rest), *_marked(rows), *_half(question), *unknown_hints(question)]
        notes += [*diagnosis_legend(question), *diagnosis_sentences(question)]
        tables.append(heading(question.questions[0]) + html_table(header, rows, notes, left=len(header) - 3))
    notes = [*learned_sentences(release), *sharing(release.plan), *_charged(release), COVERS]
    return "".join(tables) + note_lines(notes)


def _answers_text(release: Release, most: int, rest_in: str, spelled: Callable[[str], str], width: int = 80) -> str:
    header, rows, rest = shown_rows(release, most, shares_first=True)
    notes = [*_left_out(release, rest, rest_in), *_marked(rows), *_half(release), *map(spelled, unknown_hints(release))]
    return "\n".join([text_table(header, rows, left=len(header) - 3), *wrap_notes(notes, width)])


def _marked(rows: Sequence[Sequence[str]]) -> list[str]:
    """What the mark means, where a shown value has it."""
    return [BEYOND] if any(row[-3].endswith("*") for row in rows) else []


def _half(release: Release) -> list[str]:
    """What ± means, where an answer in view is a quantile."""
    inverted = {
        name for piece in release.plan.pieces if piece.block.answers.any_inverted for name in piece.block.answers.names
    }
    return [HALF] if inverted.intersection(release.names) else []


def shown_rows(
    release: Release, most: int = MAX_ROWS, shares_first: bool = False
) -> tuple[list[str], list[tuple[str, ...]], int]:
    """For one question: the header of its table, the rows that are shown, and the number of rows that are not.

    The count, which is last, is always shown; groups are shown as far as they fit. With `shares_first` shares, which
    were asked for, come before the counts that they are made of.
    """
    columns = release.columns()
    size = len(columns["answer"])
    keys = [name for name in columns if name not in FIXED]
    answers, shares = len(release.names), share_names(release) if shares_first and release.view.answer is None else []
    counted = release.plan.pieces[-1].answers.count and release.view.answer is None
    if shares:
        order = sorted(range(size), key=lambda i: columns["answer"][i] not in shares)
        first = order[: size // (answers + len(shares)) * len(shares)]
        cut = first[: len(shares) * max(1, most // len(shares))] if keys else first[:most]
        shown = order if size <= most else [*cut, *([order[-1]] if counted and not keys else [])]
    elif keys:
        shown = list(range(min(size, answers * max(1, most // answers))))
    else:
        shown = [*range(min(most, size - counted)), *([size - 1] if counted else [])]
    rows = [(*(key_text(columns[key][i]) for key in keys), *_row(columns, i)) for i in shown]
    if _marked(rows):  # digits stay below digits
        rows = [(*row[:-3], row[-3] if row[-3].endswith("*") else f"{row[-3]} ", *row[-2:]) for row in rows]
    return [*map(printable, keys), *RELEASE_HEADER], rows, size - len(shown)


def key_text(key: Any) -> str:
    """A key as it is shown: in quotes where nobody would see it, or its blanks, otherwise.

    >>> key_text("north"), key_text("north "), key_text(""), key_text(7)
    ('north', '"north "', '""', '7')
    """
    text = printable(str(key))
    return text if text and text == text.strip() else f'"{text}"'


def _row(columns: dict[str, list[Any]], i: int) -> tuple[str, ...]:
    """answer · value · ± standard error · 95 % interval, each with two digits of its error.

    A value that noise took beyond what is possible has a mark.
    """
    name = printable(columns["answer"][i])
    value, error, lower, upper = (columns[c][i] for c in ("value", "standard_error", "lower", "upper"))
    if columns["status"][i] == EXACT:
        return name, figure(value, 12), "exact: public", ""
    if columns["status"][i] == UNKNOWN:
        return name, DASH, DASH, f"unknown: {why_unknown(columns['note'][i])}"
    digits = decimals(error)
    mark = "" if round(lower, digits) <= round(value, digits) <= round(upper, digits) else "*"
    return name, f"{value:z,.{digits}f}{mark}", f"{error:,.{digits}f}", f"{lower:z,.{digits}f} to {upper:z,.{digits}f}"


def why_unknown(note: str) -> str:
    """The reason in a note on an unknown answer, without what the note says beside it.

    >>> why_unknown("made up; too few records for this noise; missing values left out")
    'too few records for this noise'
    """
    return next(part for part in note.split("; ") if part != MADE_UP_NOTE).removesuffix(", or too much noise")


def _left_out(release: Release, rest: int, rest_in: str = "release.to_polars()") -> list[str]:
    what = "rows" if release.labels else "answers"
    return [f"… and {rest:,} more {what}: {rest_in}"] if rest > 0 else []


def release_notes(release: Release) -> list[str]:
    """The guarantee of a release of one question, and how its table was read."""
    notes = [printable(note) for note in release.notes()]
    shown = [piece for piece in release.plan.pieces if not {*release.names}.isdisjoint(piece.names)]
    undeclared = dict.fromkeys(piece.domain.undeclared for piece in shown)
    notes += [text for text in undeclared if text]
    return [*statement_notes(release.plan), f"protects {release.plan.protects}", *notes, *_charged(release)]


def _charged(release: Release) -> list[str]:
    return [] if release.id is None else [f"release id {printable(release.id)}", f"receipt {release.receipt}"]
