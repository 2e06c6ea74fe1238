"""Releases of groups as tables, for a terminal, for a notebook and for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussmith.explanation import (
    COVERS,
    MOST_ROWS,
    RELEASE_HEADER,
    html_table,
    release_notes,
    release_rows,
    text_table,
    wrap_notes,
)
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.group_releases import GroupRelease


def group_rows(release: GroupRelease, most: int = MOST_ROWS) -> tuple[list[str], list[tuple[str, ...]]]:
    """keys · answer · value · ± standard error · 95 % interval, for the first groups; and what stands above them."""
    shown = release.labels[: max(1, most // len(release.names))]
    keys = [printable(column) for column in release.plan.groups.columns]
    rows = [(*(printable(str(key)) for key in label), *row) for label in shown for row in release_rows(release[label])]
    return [*keys, *RELEASE_HEADER], rows


def group_table(release: GroupRelease) -> str:
    """keys · answer · value · ± standard error · 95 % interval; then what it means."""
    return "\n".join([group_answers_table(release), *wrap_notes([*release_notes(release), COVERS])])


def group_answers_table(release: GroupRelease) -> str:
    """The answers of as many groups as a screen holds."""
    header, rows = group_rows(release)
    text = text_table(header, rows, left=len(header) - 3)
    return "\n".join([text, *_left_out_rows(release, len(rows))])


def group_html(release: GroupRelease) -> str:
    """The table of a release of groups for a notebook."""
    header, rows = group_rows(release)
    return html_table(header, rows, [*_left_out_rows(release, len(rows)), *release_notes(release), COVERS])


def _left_out_rows(release: GroupRelease, shown: int) -> list[str]:
    rest = len(release) * len(release.names) - shown
    return [f"… and {rest:,} more rows: release.to_polars()"] if rest > 0 else []
