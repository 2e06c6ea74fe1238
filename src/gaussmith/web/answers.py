"""The answers of a release as tables for the page, before its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaussmith.texts import printable
from gaussmith.values import dataclass
from gaussmith.words.releases import shown_rows

if TYPE_CHECKING:
    from gaussmith.releases import Release

MAX_ROWS = 12
"""Rows of one question; all are in the report and the files."""


@dataclass(frozen=True)
class AnswerTable:
    """The first answers of one question: its name if there are several, header, rows, and how many more there are."""

    question: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    rest: int

    @property
    def has_mark(self) -> bool:
        """Whether a value is marked as beyond what is possible."""
        return any(row[-3].rstrip().endswith("*") for row in self.rows)


def answer_tables(release: Release) -> list[AnswerTable]:
    """One for each question."""
    if len(release.plan) == 1:
        return [AnswerTable("", *shown_rows(release, MAX_ROWS))]
    return [AnswerTable(printable(each.questions[0]), *shown_rows(each, MAX_ROWS)) for each in release]
