"""Presentations as tables; each says that it is a view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaussmith.releases.presentation import SUPPRESSED, VIEW
from gaussmith.releases.table import EXACT, FIXED
from gaussmith.texts import printable
from gaussmith.words.blocks import MAX_ROWS
from gaussmith.words.displays import framed
from gaussmith.words.releases import COVERS
from gaussmith.words.tables import html_table, text_table, wrap_notes

if TYPE_CHECKING:
    from gaussmith.releases.presentation import Presentation

ADDING = "Rounded numbers may not add up."


def presentation_text(view: Presentation) -> str:
    """keys · answer · value · 95 % interval; then what was done to them."""
    header, rows, rest = _shown_rows(view)
    notes = wrap_notes([VIEW, view.rule, ADDING, COVERS])
    return "\n".join([text_table(header, rows, left=len(header) - 2), *rest, *notes])


def presentation_html(view: Presentation) -> str:
    """The same for a notebook."""
    header, rows, rest = _shown_rows(view)
    return framed(html_table(header, rows, [*rest, VIEW, view.rule, ADDING, COVERS], left=len(header) - 2))


def _shown_rows(view: Presentation) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
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
            rows.append((*named, value, f"{lower} to {upper}"))
    rest = [f"… and {size - MAX_ROWS:,} more rows: .to_polars()"] if size > MAX_ROWS else []
    return [*map(printable, keys), "answer", "value", "95 % interval"], rows, rest


def _alike(numbers: Sequence[float]) -> list[str]:
    """Rounded numbers of one answer, all with the decimals that one of them needs."""
    written = [f"{number:.10f}".rstrip("0").partition(".")[2] for number in numbers]
    digits = max(map(len, written))
    return [f"{number:z,.{digits}f}" for number in numbers]
