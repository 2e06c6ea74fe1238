"""Contrasts and presentations as tables for a terminal and a notebook; each presentation says that it is a view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaussmith.checks import PERCENT
from gaussmith.errors import counted, printable
from gaussmith.releases.contrasts import HELD, HOW, RECOVERED
from gaussmith.releases.presentation import SUPPRESSED, VIEW
from gaussmith.releases.table import (
    EXACT,
    FIXED,
    UNKNOWN,
)
from gaussmith.releases.table import LUCKY as LUCKY_NOTE
from gaussmith.report.releases import COVERS, DASH, LUCKY, why_unknown
from gaussmith.report.tables import (
    LARGE,
    MAX_ROWS,
    framed,
    html_table,
    rounded,
    text_table,
    wrap_notes,
)

if TYPE_CHECKING:
    from gaussmith.releases.contrasts import Contrasts
    from gaussmith.releases.presentation import Presentation


FREE = "Read from one release: it spends nothing more. Intervals cover the noise."


def contrasts_text(contrasts: Contrasts) -> str:
    """keys · contrast · value · ± standard error · 95 % interval; then notes on their meaning."""
    header, rows, rest = _shown_rows(contrasts)
    return "\n".join([text_table(header, rows, left=len(header) - 3), *rest, *wrap_notes(_notes(contrasts))])


def contrasts_html(contrasts: Contrasts) -> str:
    """The same for a notebook."""
    header, rows, rest = _shown_rows(contrasts)
    return framed(html_table(header, rows, [*rest, *_notes(contrasts)], left=len(header) - 3))


def _notes(contrasts: Contrasts) -> list[str]:
    columns = contrasts.columns()
    notes = [FREE]
    if HOW[HELD] in columns["note"]:
        notes.append("Intervals with quantiles hold all that the parts can be within intervals that hold together.")
    if HOW[RECOVERED] in columns["note"]:
        notes.append("Intervals of parts with different denominators are recovered from those of the parts.")
    if contrasts.simultaneous and len(contrasts) > 1:
        notes.append(f"All {len(contrasts):,} intervals hold at once with {PERCENT} confidence.")
    return notes


def _shown_rows(contrasts: Contrasts) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
    columns, size = contrasts.columns(), len(contrasts)
    keys = list(contrasts.columns_of_keys)
    rows = []
    for i in range(min(size, MAX_ROWS)):
        value, error, lower, upper = (columns[c][i] for c in ("value", "standard_error", "lower", "upper"))
        named = (*(printable(str(columns[key][i])) for key in keys), printable(columns["contrast"][i]))
        if columns["status"][i] == UNKNOWN:
            rows.append((*named, DASH, DASH, f"unknown: {why_unknown(columns['note'][i])}"))
            continue
        shown, half, low, high = (rounded(number, error) for number in (value, error, lower, upper))
        rows.append((*named, shown, half, f"{low} to {high}"))
    rest = [f"… and {counted(size - MAX_ROWS, 'more row')}: .to_polars()"] if size > MAX_ROWS else []
    return [*map(printable, keys), "contrast", "value", "± error", f"{PERCENT} interval"], rows, rest


ADDING = "Rounded numbers may not add up."


def presentation_text(view: Presentation) -> str:
    """keys · answer · value · 95 % interval; then what was done to them."""
    header, rows, rest = _presented_rows(view)
    notes = wrap_notes([VIEW, view.rule, ADDING, COVERS])
    return "\n".join([text_table(header, rows, left=len(header) - 2), *wrap_notes(rest), *notes])


def presentation_html(view: Presentation) -> str:
    """The same for a notebook."""
    header, rows, rest = _presented_rows(view)
    return framed(html_table(header, rows, [*rest, VIEW, view.rule, ADDING, COVERS], left=len(header) - 2))


def _presented_rows(view: Presentation) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
    columns = view.columns()
    size = len(columns["answer"])
    keys = [name for name in columns if name == "question" or name not in FIXED]
    rows = []
    for i in range(min(size, MAX_ROWS)):
        named = (*("" if columns[k][i] is None else printable(str(columns[k][i])) for k in keys),)
        named = (*named, printable(columns["answer"][i]))
        if columns["status"][i] == SUPPRESSED:
            rows.append((*named, "—", columns["note"][i]))
        elif columns["status"][i] == EXACT:
            rows.append((*named, *_alike([columns["value"][i]]), "exact: public"))
        else:
            value, lower, upper = _alike([columns[c][i] for c in ("value", "lower", "upper")])
            mark = "†" if LUCKY_NOTE in columns["note"][i] else ""
            rows.append((*named, value + mark, f"{lower} to {upper}"))
    rest = [LUCKY] if any(row[-2].endswith("†") for row in rows) else []
    rest += [f"… and {counted(size - MAX_ROWS, 'more row')}: .to_polars()"] if size > MAX_ROWS else []
    return [*map(printable, keys), "answer", "value", f"{PERCENT} interval"], rows, rest


def _alike(numbers: Sequence[float]) -> list[str]:
    """Rounded numbers of one answer, all with the decimals that one of them needs."""
    written = [f"{number:.10f}".rstrip("0").partition(".")[2] for number in numbers]
    digits = max(map(len, written))
    return [f"{number:z,.{digits}f}" if abs(number) < LARGE else f"{number:.6g}" for number in numbers]
