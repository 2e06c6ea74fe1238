"""What `diagnose = true` asks beside a request's own answers: who is beyond its bounds and limits.

    bounds of a row, of a person's total      how many people are below, in which part of them, above
    rows_per_unit, groups_per_unit            how many people have more

Each is a histogram of its own, in which a person has one place; together they have a fixed sliver of the guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gaussmith.domains.features import (
    CHECKED_GROUPS,
    CHECKED_ROWS,
    CHECKED_TOTAL,
    CHECKED_VALUE,
    OWN_TOTAL,
    BoundedColumn,
)
from gaussmith.domains.groups import Groups
from gaussmith.errors import RequestError, wrong_value
from gaussmith.planning.joining import placed_again
from gaussmith.planning.query import Query
from gaussmith.planning.row_rule import cell_names
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.requests.bins import plain_keys
from gaussmith.requests.question import Question
from gaussmith.requests.translation import Part, parts_of
from gaussmith.statistics.histogram import Diagnosis
from gaussmith.statistics.statistic import LIMITS, AskedAnswer

SHARE = 0.02
"""The share of μ² that a diagnosis has."""

NAME = "diagnosis"
"""The name of the question that a diagnosis is."""


class Check(NamedTuple):
    """One limit: what of a person is compared with it, and with which rows."""

    kind: str
    column: str
    ends: tuple[float, float] | None
    limit: int
    present: tuple[str, ...]
    stand_in: float | None


def read_diagnose(diagnose: Any) -> bool | list[str]:
    """Whether a request asks for a diagnosis, or of which columns alone."""
    if isinstance(diagnose, list | tuple) and diagnose and all(isinstance(column, str) for column in diagnose):
        return list(diagnose)
    if not isinstance(diagnose, bool):
        rule = "it is true, false, or a list of columns"
        raise wrong_value("diagnose", diagnose, rule, True, code="diagnose-not-boolean")
    return diagnose


def split_sliver(guarantee: Guarantee, share: float = SHARE) -> tuple[Guarantee, Guarantee]:
    """The guarantee of all else, and that of the diagnosis."""
    rest, sliver = guarantee.split([1 - share, share])
    return rest, sliver


def check_parts(questions: Sequence[Question], unit: str | None, only: Sequence[str] | None = None) -> list[Part]:
    """A part for each limit of some questions, each limit once; refuses where there is none.

    With `only`, the bounds of these columns and no other limits.
    """
    found: dict[Any, tuple[Question, Part]] = {}
    for question in questions:
        _check_question(question)
        for part in _parts(question, None if question.person_columns else unit, only):
            made = (*question.columns.items(), *question.person_columns.items())
            read = (part.asked, part.present, question.where, made)
            found.setdefault(read, (question, part))
    known = {part.asked[0].arguments[2] for _, part in found.values()}
    for column in only or ():
        if column not in known:
            what, rule = f"diagnose names {column!r}", "no answer has bounds of this column"
            remedy = "leave it out, or ask for it with bounds"
            raise RequestError(what, rule, remedy, code="diagnose-of-unbounded-column", column=column)
    if not found:
        rule, remedy = "it tells how many people are beyond bounds, rows_per_unit and groups_per_unit", "leave it out"
        raise RequestError("diagnose, where no answer has bounds or limits", rule, remedy, code="nothing-to-diagnose")
    return _named(list(found.values()))


def _check_question(question: Question) -> None:
    if question.finds:
        rule = "limits are checked in declared groups: found ones are not known beforehand"
        remedy = "leave it out, or diagnose a request with declared groups or none"
        raise RequestError("diagnose beside found groups", rule, remedy, code="diagnose-of-found-groups")
    if question.name == NAME:
        what, rule = f"a question named {NAME!r} beside diagnose", "this is what the diagnosis is called"
        raise RequestError(what, rule, "rename it", code="question-named-diagnosis")


def _parts(question: Question, unit: str | None, only: Sequence[str] | None) -> list[Part]:
    """The parts that check the limits of a question."""
    own = parts_of(question)
    columns, labels, held = _groups_of(question, unit)
    of_groups = [Check(CHECKED_GROUPS, "", None, held, (), None)] if unit is not None and held < len(labels) else []
    plain = replace(question, rows_per_unit=None, groups_per_unit=1, values_per_unit=1, error_at_most=None)
    checks = [check for part in own for check in (*_checks(part, question, unit), *of_groups)]
    found = []
    for check in dict.fromkeys(checks):
        if only is not None and check.column not in only:
            continue
        limit = check.limit if check.kind == CHECKED_ROWS else None
        rule: dict[str, Any] = {"by": columns, "keys": labels, "groups_per_unit": held, "rows_per_unit": limit}
        if check.stand_in is not None:
            rule["stand_ins"] = ((check.column, check.stand_in),)
        several = unit is not None and (check.kind == CHECKED_VALUE or held > 1)
        names = tuple(cell_names(check.kind, check.column, check.ends, check.limit, several))
        told = (names, check.kind, check.column, check.ends, tuple(rule.items()))
        asked = AskedAnswer(Diagnosis.kind, (), told, size=len(names))
        found.append(
            Part(
                plain, (asked,), LIMITS, False, check.present, "equal", {}, own[0].by_cuts, {},
                complete_by_type=own[0].complete_by_type,
            )
        )  # fmt: skip
    return found


def _groups_of(question: Question, unit: str | None) -> tuple[tuple[str, ...], Sequence[Any], int]:
    """The columns and keys of the groups of a question, and in how many of them a person may be."""
    from gaussmith.domains.box import Records

    if not question.by:
        return (), (), 1
    groups = Groups(plain_keys(question.by), Records(), 1)
    held = 1 if unit is None else min(question.groups_per_unit or 1, len(groups.labels))
    return groups.columns, groups.labels, held


def _checks(part: Part, question: Question, unit: str | None) -> list[Check]:
    """The limits of one part of a question, but for that on groups."""
    found = []
    for asked in part.asked:
        for column, made_total in _bounded(asked, part, unit):
            kind = CHECKED_TOTAL if made_total else CHECKED_VALUE
            stand_in = _stand_in(column, kind, part, question)
            present = {*part.present, *([column.name] if stand_in is None else [])}
            ends = (float(column.low), float(column.high))
            stand_in = None if column.name in present else stand_in
            found.append(Check(kind, column.name, ends, 0, tuple(sorted(present)), stand_in))
    if unit is not None and (question.rows_per_unit or 1) > 1 and _is_over_rows(part):
        found.append(Check(CHECKED_ROWS, "", None, question.rows_per_unit or 1, (), None))
    return found


def _is_over_rows(part: Part) -> bool:
    """Whether a part divides by a number of rows, or counts them."""
    means = part.over == "numbers" and any(asked.kind == "mean" for asked in part.asked)
    return part.count == "rows" or ((means or part.over == "moments") and part.question.mean_of == "rows")


def _bounded(asked: AskedAnswer, part: Part, unit: str | None) -> list[tuple[BoundedColumn, bool]]:
    """The columns of an answer with the bounds that they are clipped to, and whether these are of a total."""
    if asked.columns:
        return [(column, unit is not None and asked.kind == "sum") for column in asked.columns]
    if asked.kind == "quantile":
        column, _, cut, made = asked.arguments
        return [] if cut.ends is None else [(BoundedColumn(column, *cut.ends), made == OWN_TOTAL)]
    return []


def _stand_in(column: BoundedColumn, kind: str, part: Part, question: Question) -> float | None:
    """What a missing value counts as; None where the row is left out."""
    if column.name in question.missing:
        return float(question.missing[column.name])
    if column.name in part.present:
        return None
    if column.name in question.complete and kind == CHECKED_VALUE:
        return column.low + (column.high - column.low) / 2
    return 0.0 if column.low <= 0 <= column.high or kind == CHECKED_TOTAL else None


def _named(found: Sequence[tuple[Question, Part]]) -> list[Part]:
    """The parts, with names of answers that differ: by the question, else by a number."""
    taken: set[str] = set()
    parts = []
    for question, part in found:
        (asked,) = part.asked
        names, *rest = asked.arguments
        tried = [f"{question.name}: " if question.name else "", *(f"({i}) " for i in range(2, len(found) + 2))]
        prefix = "" if names[0] not in taken else next(t for t in tried if t and t + names[0] not in taken)
        names = tuple(prefix + name for name in names)
        taken |= {*names}
        parts.append(replace(part, asked=(asked._replace(arguments=(names, *rest)),)))
    return parts


def slot_places(parts: Sequence[Part], start: int) -> list[tuple[int, int]]:
    """Where the answers of the diagnosis are, if its queries begin there."""
    return [(start + k, place) for k, part in enumerate(parts) for place in range(part.count_place)]


def beside(queries: Sequence[Query], diagnose: Callable[[float], list[Query]], part: float = SHARE) -> list[Query]:
    """All queries, with those of the diagnosis: what its errors are worth is such that its share of μ² is the best one.

    With noise of its own for each of two totals T the best shares are in proportion to μ √T.
    """
    first = diagnose(1.0)
    share = part / (1 - part)
    worth = share * _total(queries) / _total(first)  # (share · μ √T)² of the others, over μ² T of the diagnosis
    alone = len(first) == 1 and first[0].tie is None  # its noise does not depend on what it is worth
    second = [replace(first[0], scale=worth)] if alone else diagnose(worth)
    from gaussmith.planning.pure_noise import drawn_after

    return placed_again([*queries, *drawn_after(queries, second)], [])


def _total(queries: Sequence[Query]) -> float:
    """The total of the squared errors of all noises, each by its worth."""
    noises = {id(query.tie or query): query for query in queries}
    return sum(
        query.scale * query.total_variance if query.tie is None else query.tie.total_variance
        for query in noises.values()
    )
