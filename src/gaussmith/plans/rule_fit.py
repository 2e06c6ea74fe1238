"""Whether a row rule is that of its draw: nobody adds more by it than the noise is made for, also in saved plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussmith.domains import Box, Domain, FoundGroups
from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.plans.limit_cells import cells_of
from gaussmith.plans.row_rule import RowRule
from gaussmith.problem.features import (
    CHECKED,
    CHECKED_TOTAL,
    CHECKED_VALUE,
    MEAN,
    OWN_MEAN,
    OWN_TOTAL,
    OWN_VALUE,
    ROW_SUM,
    ROWS,
    TABLED,
    TOTAL,
    VALUES,
    VECTOR,
)

if TYPE_CHECKING:
    from gaussmith.plans.draw import Draw


def check_rule(draw: Draw) -> None:
    """Refuse a row rule by which one person could add more than the domain and the groups of its draw say."""
    rule = draw.row_rule
    if rule is None:
        return
    if rule.form:
        raise _unfit("a table of plain data", "a request says what a person is", code="rule-of-plain-data")
    if (rule.person_columns or rule.person_where) and (rule.unit is None or not rule.person_columns):
        what, why = "numbers of people without people", "a unit says whose rows are put together"
        raise _unfit(what, why, code="rule-of-nobody")
    if min(rule.groups_per_unit, rule.values_per_unit, 1 if rule.rows_per_unit is None else rule.rows_per_unit) < 1:
        raise _unfit("a limit below 1", "a person counts in at least one row, group and value", code="rule-below-one")
    if rule.unit is not None and draw.groups is not None and rule.groups_per_unit > draw.groups.at_most:
        what, why = "people in more groups than planned", "the noise is made for a fixed number of groups per person"
        raise _unfit(what, why, code="rule-of-more-groups")
    if rule.found != _found(draw):
        what, why = "other found keys than planned", "it says in which columns keys are found"
        raise _unfit(what, why, code="rule-of-other-keys")
    if not _fits(draw, rule, [kind for kind, _ in rule.features]):
        what, why = "other numbers of a person than planned", "each coordinate must be made as the plan says"
        raise _unfit(what, why, code="rule-of-other-numbers")
    public = draw.neighbours != ADD_REMOVE and draw.block.public_count and draw.tie is None
    if public and rule.is_filtered and (draw.block.answers.count or draw.block.domain.marks_at_most is None):
        what, why = "a public number of those who pass a filter", "only the number of all people is public"
        raise _unfit(what, why, code="rule-of-public-filter")


def _found(draw: Draw) -> tuple[str, ...]:
    """The columns whose keys are found."""
    groups = draw.groups
    if not isinstance(groups, FoundGroups):
        return ()
    declared = dict(groups.declared)
    return tuple(name for name in groups.columns if name not in declared)


def _fits(draw: Draw, rule: RowRule, kinds: list[str]) -> bool:
    """Whether the coordinates are made of what the domain is about: totals or means, marks, or rows of people."""
    domain = draw.block.domain
    if isinstance(domain, Box):
        return _are_numbers(domain, kinds)
    from gaussmith.domains import Cells, GaussianData, People, RowMoments
    from gaussmith.domains.looks import Look

    if kinds == [VALUES]:
        most = domain.marks_at_most
        cut = rule.cut_of(rule.names[0])
        if cut is not None and cut.cells != domain.dimension:
            return False
        if draw.groups is not None:  # one value of each person in each of its groups
            return isinstance(domain, Cells) and most == rule.values_per_unit == 1 and len(domain.sizes) == 1
        return most is not None and not rule.by and (rule.unit is None or rule.values_per_unit <= most)
    if kinds and set(kinds) & {*CHECKED}:  # one cell of each person, whatever its rows and groups
        kind, column = rule.features[0]
        ends = column and (cut := rule.cut_of(column)) is not None and cut.ends is not None
        told = bool(ends) == bool(column) == (kind in (CHECKED_VALUE, CHECKED_TOTAL))
        rows = rule.unit is not None and not rule.person_columns  # people have rows, and may be in several groups
        cells = cells_of(kind, rows and (kind == CHECKED_VALUE or rule.groups_per_unit > 1))
        held = isinstance(domain, Cells) and domain.marks_at_most == 1 and domain.dimension == len(cells)
        alone = draw.groups is None and len(kinds) == 1 and bool(rule.by) == bool(rule.keys)
        return told and held and alone and (rows or kind == CHECKED_VALUE)
    if kinds and set(kinds) == {TABLED}:  # one combination of values for each person
        if not isinstance(domain, Cells) or len(kinds) != len(domain.sizes):
            return False
        cuts = [rule.cut_of(column) for column in rule.names]
        return all(cut is None or cut.cells == n - 1 for cut, n in zip(cuts, domain.sizes, strict=True))
    if kinds and set(kinds) & {OWN_VALUE, OWN_MEAN, OWN_TOTAL}:  # one number of each person, in one cell or in none
        cut = rule.cut_of(rule.names[0])
        one_row = rule.unit is None or rule.person_columns
        whose = kinds == [OWN_VALUE] if one_row else kinds in ([OWN_MEAN], [OWN_TOTAL])
        held = isinstance(domain, Cells) and domain.marks_at_most == 1 and len(domain.sizes) == 1
        return whose and held and cut is not None and cut.cells == domain.dimension
    if isinstance(domain, RowMoments):
        rows = rule.unit is not None and not rule.person_columns and rule.rows_per_unit == domain.max_rows
        return rows and set(kinds) <= {ROW_SUM} and len(kinds) == domain.columns_count
    if VECTOR in kinds or isinstance(domain, Look):  # each row is a person: its numbers, or one cell of each
        alone = draw.groups is None and (rule.unit is None or bool(rule.person_columns))
        right = isinstance(domain, Look | GaussianData) and len(kinds) == draw.block.codes.columns
        return alone and right and set(kinds) == {VECTOR}
    if not isinstance(domain, People):
        return _are_numbers(domain, kinds)
    own, over, last = domain.parts
    right = set(kinds[own]) <= {TOTAL, MEAN} and set(kinds[over]) <= {ROW_SUM} and kinds[last:] == [ROWS]
    return right and len(kinds) == domain.dimension and rule.rows_per_unit == domain.max_rows


def _are_numbers(domain: Domain, kinds: list[str]) -> bool:
    """Whether the coordinates are totals or means of a person, each of a column of its own."""
    numbers = domain.dimension - len(domain.product_pairs or ())  # products are of the very numbers that are read
    return set(kinds) <= {TOTAL, MEAN} and domain.marks_at_most is None and len(kinds) == numbers


def _unfit(what: str, rule: str, code: str) -> PlanError:
    return PlanError(f"a row rule of {what}", rule, "plan again", code=code)
