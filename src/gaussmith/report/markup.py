"""Pieces of a page: escaped text, sections, tables and figures."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from gaussmith.texts import printable
from gaussmith.words.tables import html_table

PAGE = 50
"""How many rows of a long table are opened at once."""


def escaped(text: str) -> str:
    """External text, escaped."""
    return html.escape(printable(text))


def prose(text: str) -> str:
    """A sentence, escaped, with typeset powers of ten and percent signs kept next to their numbers."""
    powers = re.sub(r"\b(\d(?:\.\d+)?)e([+-]\d+)\b", _power, escaped(text))
    return re.sub(r"(\d) %", "\\1\u00a0%", powers)


def _power(match: re.Match[str]) -> str:
    factor, exponent = match.groups()
    front = "" if float(factor) == 1 else f"{factor}\u00a0·\u00a0"
    return f'<span class="number">{front}10<sup>{str(int(exponent)).replace("-", "−")}</sup></span>'


def section(name: str, title: str, body: str) -> str:
    return (
        f'<section id="{name}" class="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{title}</h2>\n{body}\n</section>'
    )


def listed(notes: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escaped(note)}</li>' for note in notes)}</ul>"


def boxed_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f'<div class="table">{html_table(header, rows)}</div>'


def paged_table(header: Sequence[str], rows: Sequence[Sequence[str]], rows_per_page: int = PAGE) -> str:
    """A table; a longer one in pages that open one by one, without a script."""
    cut = range(0, max(len(rows), 1), rows_per_page)
    return in_pages([boxed_table(header, rows[i : i + rows_per_page]) for i in cut], len(rows), rows_per_page)


def in_pages(pages: Sequence[str], size: int, rows_per_page: int) -> str:
    """Pages of so many rows each, the first one open; a single page stays as it is."""
    if len(pages) == 1:
        return pages[0]
    return "\n".join(
        f'<details class="page"{" open" if i == 0 else ""}><summary>Rows {i * rows_per_page + 1:,} to '
        f"{min((i + 1) * rows_per_page, size):,} of {size:,}</summary>\n{body}\n</details>"
        for i, body in enumerate(pages)
    )


def figure_with(svg: str, caption: str) -> str:
    words = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{svg}{words}</figure>"
