"""What a diagnosis says about the answers beside it: who was clipped or dropped, and what that does; in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.checks import CONFIDENCE
from gaussmith.domains.features import CHECKED_GROUPS, CHECKED_ROWS, CHECKED_TOTAL
from gaussmith.errors import counted, printable
from gaussmith.planning.error_distribution import width_together
from gaussmith.planning.row_rule import ABOVE, BELOW, BOTH, RowRule, few_rows, part_edges
from gaussmith.releases.readout import Readout
from gaussmith.statistics.histogram import Diagnosis

if TYPE_CHECKING:
    from gaussmith.planning.plan import Plan
    from gaussmith.releases.release import Release

NEARLY = 0.05
"""Nearly everybody: all but this share, at the ends of the intervals."""

SURE = CONFIDENCE
"""All intervals of a diagnosis hold at once with this probability, so that noise alone accuses one release in twenty at
most, however many columns there are."""

SOMEBODY = 0.5
"""The lower end of an interval from which on it tells that there is somebody."""

FEW_CELLS = 3
"""Cells of a diagnosis of rows or groups; one of bounds has more."""

Estimate = tuple[float, float, float]
Sum = Callable[[Sequence[int]], Estimate]


def is_diagnosis(plan: Plan) -> bool:
    """Whether the only question of a plan is its diagnosis."""
    if len(plan) > 1:
        return False
    return any(each.kind == Diagnosis.kind for piece in plan.pieces for each in piece.answers.statistics)


def diagnosis_sentences(release: Release) -> list[str]:
    """What the diagnosis of a release tells, one sentence for each finding; none where it has no diagnosis."""
    found: list[str] = []
    for question in [release] if len(release.plan) == 1 else list(release):
        if is_diagnosis(question.plan) and question.view.answer is None:
            width = joint_width(release)
            for piece in question.pieces:
                rule = piece.row_rule
                assert rule is not None
                found += [printable(each) for each in _told(rule, sums_of(piece, width), len(piece.names))]
    return found


def diagnosis_legend(release: Release) -> list[str]:
    """What the names of a diagnosis say, for a table that shows them; none where the question is no diagnosis."""
    if not is_diagnosis(release.plan) or release.view.answer is not None:
        return []
    return [
        printable(line)
        for piece in release.pieces
        if piece.row_rule is not None
        for line in _legend(piece.row_rule, [str(name) for name in piece.names])
    ]


def cell_rules(rule: RowRule, cells: int) -> list[str]:
    """Who is counted in each cell of a diagnosis, in a few words."""
    kind = rule.features[0][0]
    if kind == CHECKED_GROUPS:
        limit = rule.groups_per_unit
        most = counted(limit, "group")
        within = [f"people with more, and at most {most}"] if limit > 1 else []
        return ["people in 1 group", *within, f"people in more than {most}"]
    if kind == CHECKED_ROWS:
        every, some_group = _groups_in_words(rule)
        limit = rule.rows_per_unit or 1
        few, rows = counted(few_rows(limit), "row"), counted(limit, "row")
        more = f"people with more than that, and at most {rows}{every}"
        return [f"people with at most {few}{every}", more, f"people with more than {rows}{some_group}"]
    return _bounds_rules(rule, cells > BOTH)


def _bounds_rules(rule: RowRule, several: bool) -> list[str]:
    """The same of the parts within bounds and beyond; a person may have values in `several`."""
    kind, column = rule.features[0]
    every, some_group = _groups_in_words(rule)
    cut = rule.cut_of(column)
    assert cut is not None and cut.ends is not None
    edges = [_number(edge) for edge in part_edges(*cut.ends)]
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


def _legend(rule: RowRule, names: Sequence[str]) -> list[str]:
    """An example of who counts where people have several rows; nothing where the names of the cells say it all."""
    kind, cells = rule.features[0][0], len(names)
    if kind == CHECKED_GROUPS or (cells <= BOTH and kind != CHECKED_ROWS):
        return []
    place = 0 if kind == CHECKED_ROWS else 2
    return [f"{names[place]!r} counts {cell_rules(rule, cells)[place]}"]


def joint_width(release: Release) -> float:
    """Half the width, in standard errors, of intervals that hold for all that a release's diagnosis tells at once.

    Of bounds seven numbers of people are read, of rows and of groups three: beyond a limit, within a part, and in all.
    """
    whole = release.whole
    questions = [whole] if len(whole.plan) == 1 else list(whole)
    pieces = [piece for question in questions if is_diagnosis(question.plan) for piece in question.pieces]
    told = sum(7 if len(piece.names) > FEW_CELLS else 3 for piece in pieces) or 1
    width = width_together(SURE, told, release.plan.guarantee.is_pure)
    readouts = [each for piece in pieces for each in piece.readouts if isinstance(each, Readout)]
    return max((each.width_of_law(width) for each in readouts), default=width)


def sums_of(piece: Release, width: float) -> Sum:
    """How many people are in some cells together: the value, and the ends of its interval of this half width."""
    values, covariance = np.ravel(piece.values), piece.covariance()

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
        return _of_groups(rule.groups_per_unit, add, cells)
    cut = rule.cut_of(column)
    assert cut is not None and cut.ends is not None
    return _of_bounds(kind, column, cut.ends, add, cells, " in a group" if rule.by and rule.unit else "")


def _of_bounds(kind: str, column: str, ends: tuple[float, float], add: Sum, cells: int, where: str) -> list[str]:
    low, high = ends
    what, answers = (f"a total of {column}", "sum") if kind == CHECKED_TOTAL else (column, "sum and mean")
    lines, unseen = [], []
    for side, place, end, effect in (("above", ABOVE, high, "small"), ("below", BELOW, low, "large")):
        found = add([place, BOTH] if cells > BOTH else [place])
        if found[1] >= SOMEBODY:
            beyond = f"{people_of(found)} had {what} {side} {_number(end)}{where}"
            lines.append(f"{beyond}: it counts as {_number(end)}, which makes the {answers} too {effect}")
        else:
            unseen.append(f"{side} {_number(end)}{where} ({upper_estimate(found)})")
    if unseen:
        lines.append(f"probably nobody had {what} {' or '.join(unseen)}")
    everybody = add(range(cells))
    edges = part_edges(low, high)
    for place in (1, 3, 5):
        others = add([i for i in range(cells) if i != place])
        if others[2] < NEARLY * everybody[1]:
            between = f"{_number(edges[place - 1])} and {_number(edges[place])}"
            lines.append(
                f"nearly everybody had {what} between {between}, a tenth of the bounds: narrower bounds need less "
                "noise, in proportion"
            )
    return lines


def _of_rows(limit: int, add: Sum, where: str) -> list[str]:
    more = add([2])
    had = f"more than {counted(limit, 'row')}{where}"
    if more[1] >= SOMEBODY:
        scaled = f"if more than {limit:,} of them count in an answer, they are scaled down to {limit:,}"
        lines = [f"{people_of(more)} had {had}, rows without a value included: {scaled}"]
    else:
        lines = [f"probably nobody had {had} ({upper_estimate(more)})"]
    if add([1, 2])[2] < NEARLY * add([0, 1, 2])[1]:
        few = few_rows(limit)
        had = "1 row" if few == 1 else f"at most {few:,} rows"
        lines.append(f"nearly everybody had {had}{where}: a smaller rows_per_unit needs less noise")
    return lines


def _of_groups(limit: int, add: Sum, cells: int) -> list[str]:
    more, groups = add([cells - 1]), counted(limit, "group")
    if more[1] >= SOMEBODY:
        less = f"they count in {groups} only, which makes counts and sums of groups too small"
        lines = [f"{people_of(more)} had rows in more than {groups}: {less}"]
    else:
        lines = [f"probably nobody had rows in more than {groups} ({upper_estimate(more)})"]
    if limit > 1 and add([1, 2])[2] < NEARLY * add([0, 1, 2])[1]:
        lines.append("nearly everybody had rows in 1 group only: a smaller groups_per_unit needs less noise")
    return lines


def people_of(found: Estimate) -> str:
    """An estimated number of people with its interval."""
    value, lower, upper = found
    return f"about {counted(value, 'person', 'people')} ({lower:,.0f} to {upper:,.0f})"


def upper_estimate(found: Estimate) -> str:
    """The most people that noise may hide."""
    return f"upper estimate: {counted(found[2], 'person', 'people')}"


def _number(value: float) -> str:
    return f"{value:,.12g}"
