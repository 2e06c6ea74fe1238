"""Releases as tables for a terminal, a notebook and the report, all from the one table of a release."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gaussmith.checks import PERCENT
from gaussmith.domains.features import ROW_SUM
from gaussmith.errors import counted, printable
from gaussmith.notations import named, setting
from gaussmith.releases.diagnosis import diagnosis_legend, diagnosis_sentences
from gaussmith.releases.path import learned_sentences
from gaussmith.releases.table import (
    EXACT,
    FIXED,
    NUMBERS,
    RECORDS,
    SPREAD,
    UNKNOWN,
    Reason,
    share_names,
    unknown_reasons,
)
from gaussmith.releases.table import LUCKY as LUCKY_NOTE
from gaussmith.releases.table import MADE_UP as MADE_UP_NOTE
from gaussmith.report.keys import guess_of, statement_notes
from gaussmith.report.tables import (
    MAX_ROWS,
    decimals,
    figure,
    framed,
    html_table,
    note_lines,
    rounded,
    text_table,
    wrap_notes,
)

if TYPE_CHECKING:
    from gaussmith.planning.row_rule import RowRule
    from gaussmith.releases.release import Release


# Answers that are unknown everywhere: what may help. It depends on the request and on noisy answers, never on data.

MAX_NAMED = 4


def unknown_hints(release: Release) -> list[str]:
    """For the only question of a release, a line about the answers that are unknown in every group; else nothing."""
    if release.taken_less is not None or release.path is not None:
        return []  # it says itself what was not found
    columns = release.columns()
    status: dict[str, set[str]] = {}
    for name, each in zip(columns["answer"], columns["status"], strict=True):
        status.setdefault(name, set()).add(each)
    lost = [name for name, seen in status.items() if seen == {UNKNOWN}]
    if not lost:
        return []
    groups = len(columns["answer"]) > len(status) and any(name not in FIXED for name in columns)
    where, reasons = " in every group" if groups else "", unknown_reasons(release)
    found: dict[str, dict[str, Reason]] = {}
    for name in lost:
        reason = reasons.get(name, Reason(RECORDS))
        found.setdefault(reason.what, {})[name] = reason
    return [_told(release, what, each, where) for what, each in found.items()]


def _told(release: Release, what: str, found: Mapping[str, Reason], where: str) -> str:
    """Some answers that are unknown for want of the same thing."""
    lost = list(found)
    named = printable(", ".join(lost[:MAX_NAMED])) + (", …" if lost[MAX_NAMED:] else "")
    columns = dict.fromkeys(column for reason in found.values() for column in reason.columns)
    why = str(Reason(what, tuple(columns))) if what != RECORDS else "the noise is as large as the number of records"
    why = why.replace("in it", "in them") if len(lost) > 1 else why
    return f"{named} {'is' if len(lost) == 1 else 'are'} unknown{where}: {printable(why)}. {_remedies(release, what)}"


def _remedies(release: Release, what: str) -> str:
    """What of this request may be otherwise, the cheapest first."""
    rules = [rule for piece in release.pieces if (rule := piece.own_rule) is not None]
    limited = any((rule.rows_per_unit or 1) > 1 for rule in rules)
    tries = [
        (what == SPREAD, "narrower bounds, data of more people, or that vary more"),
        (any(len(rule.by) > len(rule.found) for rule in rules), "keys spelt as in the data"),
        (any(rule.where is not None for rule in rules), "a filter (where) that keeps more rows"),
        (limited, f"a smaller {named('rows_per_unit')}"),
        (limited and any(map(_is_over_rows, rules)), setting("mean_of", "units")),
        (any(rule.by and rule.groups_per_unit > 1 for rule in rules), f"a smaller {named('groups_per_unit')}"),
        (True, "a larger ε"),
    ]
    help = f"What may help: {', '.join(each for applies, each in tries if applies)}."
    if what != NUMBERS:
        return help
    return f"{help} Texts such as yes and no are no numbers: a column made of a condition has 1 where it holds, else 0."


def _is_over_rows(rule: RowRule) -> bool:
    return any(kind == ROW_SUM for kind, _ in rule.features)


RELEASE_HEADER = ("answer", "value", "± error", f"{PERCENT} interval")

MADE_UP = "MADE UP: a rehearsal on invented rows. No data was read and nothing was charged."

COVERS = "Intervals cover the noise, not clipping to bounds, limits on rows and groups, or the sampling of people."

DASH = "–"
"""What is shown for a number that is unknown."""

HALF = "± of a quantile is half the length of its 68 % interval"
"""What stands below a table with quantiles: their errors have no one size."""

BEYOND = "* noise took this value beyond what is possible; its interval is cut there, and short for that reason alone"
"""What the mark behind a value says."""

LUCKY = (
    "† noise may have helped to show this group: such counts are too high on average. The interval allows for this, "
    "and can reach far down; ± does not"
)
"""What the mark says behind values of found groups with counts near the least that is shown."""

MARKS = {"*": BEYOND, "†": LUCKY}


def release_text(
    release: Release,
    most: int = MAX_ROWS,
    rest_in: str = "release.to_polars()",
) -> str:
    """keys · answer · value · ± standard error · 95 % interval; then notes on their meaning.

    Of each question `most` rows are shown, and where the others are (`rest_in`).
    """
    told = _release_text(release, most, rest_in)
    return f"{MADE_UP}\n\n{told}\n\n{MADE_UP}" if release.made_up else told


def _release_text(release: Release, most: int, rest_in: str) -> str:
    if len(release.plan) == 1:
        notes = [*learned_sentences(release), *release_notes(release), COVERS]
        return "\n".join([_answers_text(release, most, rest_in), *wrap_notes(notes)])
    from gaussmith.report.plans import INDENT, sharing

    texts = []
    questions = list(release)
    common = _common_notes(questions)
    for question in questions:
        own = [printable(note) for note in question.notes() if note not in common]
        told = (*diagnosis_legend(question), *diagnosis_sentences(question), *own)
        notes = wrap_notes(told, 80 - len(INDENT))
        body = "\n".join([_answers_text(question, most, rest_in, 80 - len(INDENT)), *notes])
        texts.append(f"{printable(question.questions[0])}\n{textwrap.indent(body, INDENT)}\n")
    notes = [*learned_sentences(release), *map(printable, common), *sharing(release.plan), *_charged(release), COVERS]
    return "\n".join([*texts, *wrap_notes(notes)])


def _common_notes(questions: Sequence[Release]) -> list[str]:
    """What holds for all questions is told once."""
    first, *others = [question.notes() for question in questions]
    return [note for note in first if all(note in each for each in others)]


def release_html(release: Release) -> str:
    """The same for a notebook."""
    from gaussmith.report.tables import paragraph

    return framed((paragraph(MADE_UP, warning=True) if release.made_up else "") + _release_body(release))


def _release_body(release: Release) -> str:
    from gaussmith.report.plans import sharing
    from gaussmith.report.tables import heading

    if len(release.plan) == 1:
        header, rows, rest = shown_rows(release, shares_first=True)
        told = [*learned_sentences(release), *release_notes(release), COVERS]
        notes = [*_left_out(release, rest), *marked(rows), *_half(release), *unknown_hints(release), *told]
        return html_table(header, rows, notes, left=len(header) - 3)
    tables = []
    for question in release:
        header, rows, rest = shown_rows(question, shares_first=True)
        notes = [*_left_out(question, rest), *marked(rows), *_half(question), *unknown_hints(question)]
        notes += [*diagnosis_legend(question), *diagnosis_sentences(question)]
        tables.append(heading(question.questions[0]) + html_table(header, rows, notes, left=len(header) - 3))
    notes = [*learned_sentences(release), *sharing(release.plan), *_charged(release), COVERS]
    return "".join(tables) + note_lines(notes)


def _answers_text(release: Release, most: int, rest_in: str, width: int = 80) -> str:
    header, rows, rest = shown_rows(release, most, shares_first=True)
    notes = [*_left_out(release, rest, rest_in), *marked(rows), *_half(release), *unknown_hints(release)]
    return "\n".join([text_table(header, rows, left=len(header) - 3), *wrap_notes(notes, width)])


def marked(rows: Sequence[Sequence[str]]) -> list[str]:
    """What the marks mean that shown values have."""
    return [told for mark, told in MARKS.items() if any(mark in row[-3] for row in rows)]


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
    of_all = release.view.answer is None
    counted = of_all and release.plan.pieces[-1].answers.count
    shares = share_names(release) if shares_first and of_all else []
    if shares:
        shown = _shares_first(release, columns["answer"], shares, bool(keys), counted, most)
    elif keys:
        shown = list(range(min(size, _whole_groups(len(release.names), most))))
    else:
        shown = [*range(min(most, size - counted)), *([size - 1] if counted else [])]
    rows = [(*(key_text(columns[key][i]) for key in keys), *_row(columns, i)) for i in shown]
    marks = [len(row[-3]) - len(row[-3].rstrip("*†")) for row in rows]
    widest = max(marks, default=0)  # digits stay below digits
    rows = [(*row[:-3], row[-3] + " " * (widest - mark), *row[-2:]) for row, mark in zip(rows, marks, strict=True)]
    return [*map(printable, keys), *RELEASE_HEADER], rows, size - len(shown)


def _shares_first(
    release: Release, answers: Sequence[str], shares: Sequence[str], keyed: bool, counted: bool, most: int
) -> list[int]:
    """The places of the rows that are shown: shares, then what they are made of where all fit."""
    asked, size = set(shares), len(answers)
    order = sorted(range(size), key=lambda i: answers[i] not in asked)
    if size <= most:
        return order
    first = order[: size // (len(release.names) + len(shares)) * len(shares)]
    return first[: _whole_groups(len(shares), most)] if keyed else [*first[:most], *(order[-1:] if counted else [])]


def _whole_groups(answers: int, most: int) -> int:
    """The rows of as many groups as fit, each with so many answers; of one group at least."""
    return answers * max(1, most // answers)


def key_text(key: Any) -> str:
    """A key as it is shown: in quotes where nobody would see it, or its blanks, otherwise.

    >>> key_text("north"), key_text("north "), key_text(""), key_text(7)
    ('north', '"north "', '""', '7')
    """
    text = printable(str(key))
    return text if text and text == text.strip() else f'"{text}"'


def _row(columns: dict[str, list[Any]], i: int) -> tuple[str, ...]:
    """answer · value · ± standard error · 95 % interval, each with two digits of its error.

    A value that noise took beyond what is possible has a mark, and one of a group that noise helped to be shown.
    """
    name = printable(columns["answer"][i])
    value, error, lower, upper = (columns[c][i] for c in ("value", "standard_error", "lower", "upper"))
    if columns["status"][i] == EXACT:
        return name, figure(value, 12), "exact: public", ""
    if columns["status"][i] == UNKNOWN:
        return name, DASH, DASH, f"unknown: {why_unknown(columns['note'][i])}"
    digits = decimals(error)
    mark = "" if round(lower, digits) <= round(value, digits) <= round(upper, digits) else "*"
    mark += "†" if LUCKY_NOTE in columns["note"][i] else ""
    shown, half, low, high = (rounded(number, error) for number in (value, error, lower, upper))
    return name, shown + mark, half, f"{low} to {high}"


def why_unknown(note: str) -> str:
    """The reason in a note on an unknown answer, without what the note says beside it.

    >>> why_unknown("made up; too few records for this noise; missing values left out")
    'too few records for this noise'
    """
    return next(part for part in note.split("; ") if part != MADE_UP_NOTE).removesuffix(", or too much noise")


def _left_out(release: Release, rest: int, rest_in: str = "release.to_polars()") -> list[str]:
    what = "more row" if release.labels else "more answer"
    return [f"… and {counted(rest, what)}: {rest_in}"] if rest > 0 else []


def release_notes(release: Release) -> list[str]:
    """The guarantee of a release of one question, and how its table was read."""
    notes = [printable(note) for note in release.notes()]
    shown = [piece for piece in release.plan.pieces if not {*release.names}.isdisjoint(piece.names)]
    undeclared = dict.fromkeys(piece.domain.words.undeclared for piece in shown)
    notes += [text for text in undeclared if text]
    stated = [*statement_notes(release.plan), f"protects {release.plan.protects}", guess_of(release.plan)]
    return [*stated, *notes, *_charged(release)]


def _charged(release: Release) -> list[str]:
    return [] if release.id is None else [f"release id {printable(release.id)}", f"receipt {release.receipt}"]
