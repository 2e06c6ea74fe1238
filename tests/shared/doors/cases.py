"""All named cases. Those of each kind are in `source_cases` and `value_cases`."""

from __future__ import annotations

from doors import source_cases, value_cases
from doors.pairs import Case


def every_case() -> list[Case]:
    """All named cases, in the order of the list of doors."""
    return sorted((*source_cases.every_case(), *value_cases.every_case()), key=lambda case: case.item)
