"""Tables and notes as text and as HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table in plain text: the first `left` columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [header, *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


def wrap_notes(notes: Sequence[str], width: int = 80) -> list[str]:
    """Notes in lines of at most 80 characters; what has no blanks stays whole."""
    return [
        line for note in notes for line in textwrap.wrap(note, width, break_long_words=False, break_on_hyphens=False)
    ]


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], foot: Sequence[str] = (), left: int = 0) -> str:
    """A table for a page, with notes below; every cell escaped. The first `left` columns are marked as text."""
    head = _cells("th", header, left)
    body = "".join(f"<tr>{_cells('td', row, left)}</tr>" for row in rows)
    notes = note_lines(foot)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _cells(tag: str, cells: Sequence[str], left: int) -> str:
    """Cells of a row; on a narrow screen names that are text may go on in the next line after an underscore."""
    from html import escape

    return "".join(
        f'<{tag} class="text">{escape(cell).replace("_", "_<wbr>")}</{tag}>'
        if i < left
        else f"<{tag}>{escape(cell)}</{tag}>"
        for i, cell in enumerate(cells)
    )


def note_lines(notes: Sequence[str]) -> str:
    """Notes for a page, one per line."""
    from html import escape

    return "".join(f'<div class="notes">{escape(line)}</div>' for line in notes)
