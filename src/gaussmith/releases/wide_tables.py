"""Wide tables: one row per group, one column per answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaussmith.errors import PlanError

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.releases.release import Release


def wide_frame(release: Release, errors: bool = False) -> pl.DataFrame:
    """The values of a release, and the standard errors if asked for."""
    questions = list(release) if len(release.plan) > 1 else [release]
    answers: dict[str, list[Any]] = {}
    several = len(questions) > 1
    for question in questions:
        values, stated = (
            array.reshape(-1, len(question.names)) for array in (question.values, question.standard_errors)
        )
        for i, name in enumerate(question.names):
            shown = f"{question.questions[0]}: {name}" if several else str(name)
            answers[shown] = values[:, i].tolist()
            if errors:
                answers[f"{shown} ±"] = stated[:, i].tolist()
    return widen(questions, answers)


def widen(questions: list[Release], answers: Mapping[str, list[Any]]) -> pl.DataFrame:
    """Key columns and answers side by side; refuses questions with different groups."""
    import polars as pl

    first = questions[0]
    for other in questions[1:]:
        if other.labels != first.labels:
            raise PlanError(
                "a wide table of questions with different groups",
                "each row is a group, and all columns need the same rows",
                f"choose one question: release[{first.questions[0]!r}].wide()",
                code="wide-table-of-other-groups",
            )
    columns = first.plan.groups.columns if first.labels and first.plan.groups is not None else ()
    keys = {column: [label[i] for label in first.labels] for i, column in enumerate(columns)}
    return pl.DataFrame({**keys, **answers}, strict=False)
