"""Contrasts as tables for a terminal and a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussmith.releases.contrast import HELD, RECOVERED
from gaussmith.releases.contrasts import HOW
from gaussmith.releases.table import UNKNOWN
from gaussmith.texts import printable
from gaussmith.words.blocks import MAX_ROWS
from gaussmith.words.displays import framed
from gaussmith.words.numbers import decimals
from gaussmith.words.releases import DASH, why_unknown
from gaussmith.words.tables import html_table, text_table, wrap_notes

if TYPE_CHECKING:
    from gaussmith.releases.contrasts import Contrasts

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
        notes.append(f"All {len(contrasts)} intervals hold at once with 95 % confidence.")
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
        digits = decimals(error)
        rows.append(
            (*named, f"{value:z,.{digits}f}", f"{error:,.{digits}f}", f"{lower:z,.{digits}f} to {upper:z,.{digits}f}")
        )
    rest = [f"… and {size - MAX_ROWS:,} more rows: .to_polars()"] if size > MAX_ROWS else []
    return [*map(printable, keys), "contrast", "value", "± error", "95 % interval"], rows, rest
