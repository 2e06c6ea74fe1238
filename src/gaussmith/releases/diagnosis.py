"""What a diagnosis says about the answers beside it: who was clipped or dropped, and what that does; in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.plans.error_distribution import normal_width
from gaussmith.plans.limit_cells import ABOVE, BELOW, BOTH, PARTS, few_rows
from gaussmith.plans.row_rule import RowRule
from gaussmith.problem.features import CHECKED_GROUPS, CHECKED_ROWS, CHECKED_TOTAL
from gaussmith.statistics.diagnosis import Diagnosis
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.releases import Release

NEARLY = 0.05
"""Nearly everybody: all but this share, at the ends of the intervals."""

SOMEBODY = 0.5
"""The lower end of an interval from which on it tells that there is somebody."""

Estimate = tuple[float, float, float]
Sum = Callable[[Sequence[int]], Estimate]


def is_diagnosis(release: Release) -> bool:
    """Whether the only question of a release is its diagnosis."""
    statistics = (each for piece in release.plan.pieces for each in piece.answers.statistics)
    return len(release.plan) == 1 and any(each.kind == Diagnosis.kind for each in statistics)


def diagnosis_sentences(release: Release) -> list[str]:
    """What the diagnosis of a release tells, one sentence for each finding; none where it has no diagnosis."""
    found: list[str] = []
    for question in [release] if len(release.plan) == 1 else list(release):
        if is_diagnosis(question) and question.view.answer is None:
            for piece in question.pieces:
                rule = piece.row_rule
                assert rule is not None
                found += [printable(each) for each in _told(rule, sums_of(piece), len(piece.names))]
    return found


def diagnosis_legend(release: Release) -> list[str]:
    """What the names of a diagnosis say, for a table that shows them; none where the question is no diagnosis."""
    if not is_diagnosis(release) or release.view.answer is not None:
        return []
    return [
        printable(line)
        for piece in release.pieces
        if piece.row_rule is not None
        for line in _legend(piece.row_rule, [str(name) for name in piece.names])
    ]


def cell_rules(rule: RowRule, cells: int) -> list[str]:
    """Who is counted in each cell of a diagnosis, in a few words."""
    kind, column = rule.features[0]
    every, some_group = _groups_in_words(rule)
    if kind == CHECKED_GROUPS:
        limit = rule.groups_per_unit
        more = f"people with more, and at most {_so_many(limit, 'group')}"
        return ["people in 1 group", more, f"people in more than {_so_many(limit, 'group')}"]
    if kind == CHECKED_ROWS:
        limit = rule.rows_per_unit or 1
        few, rows = _so_many(few_rows(limit), "row"), _so_many(limit, "row")
        more = f"people with more than that, and at most {rows}{every}"
        return [f"people with at most {few}{every}", more, f"people with more than {rows}{some_group}"]
    cut = rule.cut_of(column)
    assert cut is not None and cut.ends is not None
    edges, several = [_number(edge) for edge in _edges(*cut.ends)], cells > BOTH
    what = f"a total of {column}" if kind == CHECKED_TOTAL else f"all {column}" if several else column
    some = f"a total of {column}" if kind == CHECKED_TOTAL else column
    inside = [f"people with {what} between {low} and {high}{every}" for low, high in pairwise(edges)]
    sides = (f"below {edges[0]}", f"above {edges[-1]}")
    if not several:
        return [f"people with {some} {sides[0]}{every}", *inside, f"people with {some} {sides[1]}{every}"]
    beyond = [f"people with {some} {side}{some_group}, and none {other}" for side, other in (sides, sides[::-1])]
    mixed = f"people with {some} in several of these parts{_over(every)}"
    return [beyond[0], *inside, beyond[1], mixed, f"people with {some} {' and '.join(sides)}{_over(every)}"]


def _groups_in_words(rule: RowRule) -> tuple[str, str]:
    """Behind what holds for a person in all groups, and behind what holds in some group; empty without groups."""
    if not rule.by or rule.unit is None or rule.person_columns:
        return "", ""
    if rule.groups_per_unit == 1:
        return (" in the group they count in",) * 2
    return " in all groups they count in", " in a group they count in"


def _over(every: str) -> str:
    """The same, of groups taken together."""
    return every.replace(" in all", " over all", 1)


def _so_many(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"


def _legend(rule: RowRule, names: Sequence[str]) -> list[str]:
    """What the names of the cells say, of bounds by example; nothing for numbers of groups, which tell themselves."""
    if rule.features[0][0] == CHECKED_GROUPS:
        return []
    rules = dict(zip(names, cell_rules(rule, len(names)), strict=True))
    if rule.features[0][0] == CHECKED_ROWS:
        return [f"{names[0]} counts {rules[names[0]]}"]
    told = f"names say percent of the width of the bounds: {names[2]} counts {rules[names[2]]}"
    more = "; …_mixed: in several of these parts; …_both: below and above" if len(names) > BOTH else ""
    return [told + more]


def sums_of(piece: Release) -> Sum:
    """How many people are in some cells together: the value, and the ends of its 95 % interval."""
    values, covariance, width = np.ravel(piece.values), piece.covariance(), normal_width(0.95)

    def add(places: Sequence[int]) -> Estimate:
        at = list(places)
        value, error = float(values[at].sum()), math.sqrt(max(0.0, float(covariance[np.ix_(at, at)].sum())))
        return value, max(0.0, value - width * error), max(0.0, value + width * error)

    return add


def _told(rule: RowRule, add: Sum, cells: int) -> list[str]:
    kind, column = rule.features[0]
    if kind == CHECKED_ROWS:
        return _of_rows(rule.rows_per_unit or 1, add, " in a group" if rule.by else "")
    if kind == CHECKED_GROUPS:
        return _of_groups(rule.groups_per_unit, add)
    cut = rule.cut_of(column)
    assert cut is not None and cut.ends is not None
    return _of_bounds(kind, column, cut.ends, add, cells, " in a group" if rule.by and rule.unit else "")


def _of_bounds(kind: str, column: str, ends: tuple[float, float], add: Sum, cells: int, where: str) -> list[str]:
    low, high = ends
    what = f"a total of {column}" if kind == CHECKED_TOTAL else column
    answers = "sum is" if kind == CHECKED_TOTAL else "sum and mean are"
    each = "their total counts" if kind == CHECKED_TOTAL else "it counts"
    lines, unseen = [], []
    for side, place, end, effect in (("above", ABOVE, high, "larger"), ("below", BELOW, low, "smaller")):
        several = [place, BOTH] if cells > BOTH else [place]
        found = add(several)
        if found[1] >= SOMEBODY:
            bounds, then = f"{what} {side} {_number(end)}", f"by this alone the true {answers} {effect}"
            lines.append(f"{people_of(found)} had {bounds}{where}: {each} as {_number(end)}; {then}")
        else:
            unseen.append(f"{side} {_number(end)} (at most about {found[2]:,.0f})")
    if unseen:
        lines.append(f"no sign of people with {what} {' or '.join(unseen)}")
    everybody = add(range(cells))
    edges = _edges(low, high)
    for place in (1, 3, 5):
        others = add([i for i in range(cells) if i != place])
        if others[2] < NEARLY * everybody[1]:
            between = f"{_number(edges[place - 1])} and {_number(edges[place])}"
            lines.append(
                f"nearly everybody had {what} between {between}, a tenth of the bounds: bounds that are closer to this "
                "need less noise, in proportion"
            )
    return lines


def _edges(low: float, high: float) -> list[float]:
    """The edges of the parts that bounds are cut into."""
    return [low, *(low + float(part) * (high - low) for part in PARTS), high]


def _of_rows(limit: int, add: Sum, where: str) -> list[str]:
    more = add([2])
    lines = []
    if more[1] >= SOMEBODY:
        had = f"had more than {_so_many(limit, 'row')}{where}, rows without a value included"
        lines.append(
            f"{people_of(more)} {had}: those that count in an answer are scaled down to {limit:,} if they are more"
        )
    else:
        lines.append(f"no sign of people with more than {limit:,} rows{where}: at most about {more[2]:,.0f}")
    if limit > 1 and add([1, 2])[2] < NEARLY * add([0, 1, 2])[1]:
        few = few_rows(limit)
        had = "1 row" if few == 1 else f"at most {few:,} rows"
        lines.append(f"nearly everybody had {had}{where}: a smaller rows_per_unit needs less noise")
    return lines


def _of_groups(limit: int, add: Sum) -> list[str]:
    more = add([2])
    groups = "1 group" if limit == 1 else f"{limit:,} groups"
    lines = []
    if more[1] >= SOMEBODY:
        lines.append(
            f"{people_of(more)} were in more than {groups}: they count in {groups} only, so the true counts and sums "
            "of groups are larger"
        )
    else:
        lines.append(f"no sign of people in more than {groups}: at most about {more[2]:,.0f}")
    if limit > 1 and add([1, 2])[2] < NEARLY * add([0, 1, 2])[1]:
        lines.append("nearly everybody was in 1 group: a smaller groups_per_unit needs less noise")
    return lines


def people_of(found: Estimate) -> str:
    """An estimated number of people with its interval."""
    value, lower, upper = found
    return f"about {value:,.0f} people ({lower:,.0f} to {upper:,.0f})"


def _number(value: float) -> str:
    return f"{value:,.12g}"
