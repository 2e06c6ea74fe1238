"""Tables and notes as text and as HTML."""

from __future__ import annotations

import html
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


def wrap_notes(notes: Sequence[str]) -> list[str]:
    """Notes in lines of at most 80 characters; what has no blanks stays whole."""
    return [line for note in notes for line in textwrap.wrap(note, 80, break_long_words=False, break_on_hyphens=False)]


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], foot: Sequence[str] = ()) -> str:
    """A table for a page; every cell escaped."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    notes = "".join(f"<div>{html.escape(line)}</div>" for line in foot)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"
