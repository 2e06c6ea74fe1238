"""Releases as tables for a terminal, a notebook and the report, all from the one table of a release."""

from __future__ import annotations

import textwrap
from html import escape
from typing import TYPE_CHECKING, Any

from gaussmith.releases.diagnosis import diagnosis_sentences
from gaussmith.releases.learned import learned_sentences
from gaussmith.releases.table import EXACT, FIXED, UNKNOWN
from gaussmith.texts import printable
from gaussmith.words.blocks import MAX_ROWS
from gaussmith.words.keys import statement_notes
from gaussmith.words.numbers import decimals, figure
from gaussmith.words.plans import note_lines, sharing
from gaussmith.words.tables import html_table, text_table, wrap_notes

if TYPE_CHECKING:
    from gaussmith.releases import Release

RELEASE_HEADER = ("answer", "value", "± error", "95 % interval")

MADE_UP = "MADE UP: a rehearsal on invented rows. No data was read and nothing was charged."

COVERS = "Intervals cover the noise. They do not cover clipping to the bounds or the sampling of people into the data."


def release_text(release: Release, most: int = MAX_ROWS, rest_in: str = "release.to_polars()") -> str:
    """keys · answer · value · ± standard error · 95 % interval; then notes on their meaning.

    Of each question `most` rows are shown, and where the others are (`rest_in`).
    """
    told = _release_text(release, most, rest_in)
    return f"{MADE_UP}\n\n{told}\n\n{MADE_UP}" if release.made_up else told


def _release_text(release: Release, most: int, rest_in: str) -> str:
    if len(release.plan) == 1:
        notes = [*learned_sentences(release), *release_notes(release), COVERS]
        return "\n".join([_answers_text(release, most, rest_in), *wrap_notes(notes)])
    texts = []
    for question in release:
        notes = [*diagnosis_sentences(question), *(printable(note) for note in question.notes())]
        body = "\n".join([_answers_text(question, most, rest_in), *notes])
        texts.append(f"{printable(question.questions[0])}\n{textwrap.indent(body, '  ')}\n")
    notes = [*learned_sentences(release), *sharing(release.plan), *_charged(release), COVERS]
    return "\n".join([*texts, *wrap_notes(notes)])


def release_html(release: Release) -> str:
    """The same for a notebook."""
    return f"<p><b>{escape(MADE_UP)}</b></p>{_release_html(release)}" if release.made_up else _release_html(release)


def _release_html(release: Release) -> str:
    if len(release.plan) == 1:
        header, rows, rest = shown_rows(release)
        notes = [*_left_out(release, rest), *learned_sentences(release), *release_notes(release), COVERS]
        return html_table(header, rows, notes)
    tables = []
    for question in release:
        header, rows, rest = shown_rows(question)
        title, notes = escape(printable(question.questions[0])), _left_out(question, rest)
        notes += diagnosis_sentences(question)
        tables.append(f"<h4>{title}</h4>{html_table(header, rows, notes)}")
    notes = [*learned_sentences(release), *sharing(release.plan), *_charged(release), COVERS]
    return "".join(tables) + note_lines(notes)


def _answers_text(release: Release, most: int, rest_in: str) -> str:
    header, rows, rest = shown_rows(release, most)
    return "\n".join([text_table(header, rows, left=len(header) - 3), *_left_out(release, rest, rest_in)])


def shown_rows(release: Release, most: int = MAX_ROWS) -> tuple[list[str], list[tuple[str, ...]], int]:
    """For one question: the header of its table, the rows that are shown, and the number of rows that are not.

    The count, which is last, is always shown; groups are shown as far as they fit.
    """
    columns = release.columns()
    size = len(columns["answer"])
    keys = [name for name in columns if name not in FIXED]
    answers = len(release.names)
    if keys:
        shown = list(range(min(size, answers * max(1, most // answers))))
    else:
        counted = release.plan.pieces[-1].answers.count and release.view.answer is None
        shown = [*range(min(most, size - counted)), *([size - 1] if counted else [])]
    rows = [(*(printable(str(columns[key][i])) for key in keys), *_row(columns, i)) for i in shown]
    return [*map(printable, keys), *RELEASE_HEADER], rows, size - len(shown)


def _row(columns: dict[str, list[Any]], i: int) -> tuple[str, ...]:
    """answer · value · ± standard error · 95 % interval, each with two digits of its error."""
    name = printable(columns["answer"][i])
    value, error, lower, upper = (columns[c][i] for c in ("value", "standard_error", "lower", "upper"))
    if columns["status"][i] == EXACT:
        return name, figure(value, 12), "exact: public", ""
    if columns["status"][i] == UNKNOWN:
        return name, figure(value), figure(error, 2), f"unknown: {columns['note'][i]}"
    digits = decimals(error)
    return name, f"{value:z,.{digits}f}", f"{error:,.{digits}f}", f"{lower:z,.{digits}f} to {upper:z,.{digits}f}"


def _left_out(release: Release, rest: int, rest_in: str = "release.to_polars()") -> list[str]:
    what = "rows" if release.labels else "answers"
    return [f"… and {rest:,} more {what}: {rest_in}"] if rest > 0 else []


def release_notes(release: Release) -> list[str]:
    """The guarantee of a release of one question, and how its table was read."""
    notes = [printable(note) for note in release.notes()]
    undeclared = dict.fromkeys(piece.domain.undeclared for piece in release.plan.pieces)
    notes += [text for text in undeclared if text]
    return [*statement_notes(release.plan), f"protects {release.plan.protects}", *notes, *_charged(release)]


def _charged(release: Release) -> list[str]:
    return [] if release.id is None else [f"release id {printable(release.id)}", f"receipt {release.receipt}"]
