"""From a part of a question to its draw and the row rule of the table that feeds it. Sees bounds and rules, never data.

One person adds a vector of numbers. Sums are totals over a person's rows, clamped to their bounds; means over people
are each person's own mean. Means over rows are two sums, over all rows that count: the distances from the middle of
the bounds, and the rows themselves, of which a person has at most `rows_per_unit` (see `domains.people`). Which domain
holds what is asked is the matter of `plans.assembly`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Mapping
from dataclasses import field, replace
from functools import cached_property

from gaussmith.checks import is_number
from gaussmith.domains import FOUND, Domain, FoundGroups, Groups
from gaussmith.errors import RequestError
from gaussmith.expressions import split_filter
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.kept import recall
from gaussmith.numerics.linear import Array
from gaussmith.plans import Block, Draw
from gaussmith.plans.assembled import Assembled, PersonRule
from gaussmith.plans.assembly import ASSEMBLIES
from gaussmith.plans.choice import at_guarantee, plan_problem
from gaussmith.plans.draw import draw_filtered, draw_groups, draw_public
from gaussmith.plans.row_rule import RowRule
from gaussmith.problem import Problem
from gaussmith.requests.parts import Part
from gaussmith.statistics.registry import STATISTICS
from gaussmith.statistics.statistic import NUMBERS, VALUES
from gaussmith.values import dataclass


def assemble_part(part: Part, unit: str | None) -> Assembled:
    """Domain, answers and coordinates of a part."""
    rule = PersonRule(unit is not None, part.rows_per_unit or 1, part.mean_of, part.count, part.values_per_unit)
    made = ASSEMBLIES[part.over](part.asked, rule, part.weights, part.missing)
    names = [STATISTICS[asked.kind].name_of(asked.columns, *asked.arguments) for asked, _ in part.within]
    named = {name: where for name, (_, where) in zip(names, part.within, strict=True) if names.count(name) == 1}
    return replace(made, answers=made.answers.stating(named))


@dataclass(frozen=True, eq=False)
class Translated:
    """A part as far as no guarantee matters: its domain and answers, its groups, and the row rule of its table."""

    made: Assembled
    groups: Groups | None
    row_rule: RowRule
    missing: Mapping[str, float]
    neighbours: str
    filtered: bool
    """Whether who is in the records is secret, though n is public."""
    drawn: dict[Hashable, Draw] = field(default_factory=dict)
    """The draw at the last guarantee."""

    def plan(self, guarantee: Guarantee) -> Draw:
        """The draw of the part at a guarantee."""
        made = recall(self.drawn, guarantee, lambda: replace(self._plan(guarantee), row_rule=self.row_rule), most=1)
        return replace(made)  # two parts that ask the same are two draws

    def _plan(self, guarantee: Guarantee) -> Draw:
        made = self.made
        if isinstance(self.groups, FoundGroups):
            from gaussmith.plans.found_draws import draw_found

            draw = draw_found(self.groups, guarantee, made.answers, self.missing)
            return replace(draw, block=_standing_in(draw.block, made.stand_ins))
        if self.groups is not None:
            return draw_groups(self.groups, guarantee, self.neighbours, self._plan_block)
        if made.domain.dimension == 0 and not self.problem.secret_count:
            return draw_public(made.domain, made.answers, guarantee, self.neighbours)
        draw = Draw(self._plan_block(guarantee), guarantee, self.problem.neighbours)
        return draw_filtered(draw, self.neighbours, self._plan_block) if self.filtered else draw

    @cached_property
    def problem(self) -> Problem[Domain]:
        """The problem of all records, or of those of a group."""
        secret = self.filtered or self.groups is not None
        return Problem(self.made.domain, self.made.answers.features, ADD_REMOVE if secret else self.neighbours)

    def _plan_block(self, share: Guarantee) -> Block:
        last = next(iter(list(self.drawn.values())), None)
        if last is not None and not self.made.domain.shape_follows_mu:
            return at_guarantee(last.block, share)
        return _standing_in(plan_problem(self.problem, self.made.answers, share, self.missing), self.made.stand_ins)


def plan_part(
    part: Part,
    unit: str | None,
    guarantee: Guarantee,
    neighbours: str,
    find: Callable[[Domain], FoundGroups] | None = None,
) -> Draw:
    """The draw of a part of a question, with the row rule of its table; `find` makes groups whose keys are found.

    The last parts are kept: a request that is changed a little has most of its parts in common with the one before.
    """
    content = None if find is not None else _content(part)
    if content is None:
        return translate(part, unit, neighbours, find).plan(guarantee)
    key = content, unit, neighbours
    return recall(_KEPT, key, lambda: translate(part, unit, neighbours), MAX_KEPT).plan(guarantee)


MAX_KEPT = 128
"""Limit on the parts that are kept."""

MAX_SIZE = 1000
"""Limit on the answers and keys of a part that is kept."""

_KEPT: dict[Hashable, Translated] = {}


def _content(part: Part) -> bytes | None:
    """All that a part says, to tell it from any other; None of one that is not kept.

    Bytes, as `==` takes True for 1 and −0.0 for 0.0.
    """
    try:
        keys = part.by.values() if isinstance(part.by, Mapping) else [part.by or ()]
        small = part.over == NUMBERS and len(part.asked) + sum(map(len, keys)) <= MAX_SIZE
        return pickle.dumps(tuple(vars(part).items())) if small else None
    except (TypeError, AttributeError, pickle.PicklingError):  # what was asked is no plain value
        return None


def translate(
    part: Part, unit: str | None, neighbours: str, find: Callable[[Domain], FoundGroups] | None = None
) -> Translated:
    """A part as far as no guarantee matters; `find` makes groups whose keys are found."""
    person, unit = unit, None if part.person_columns else unit  # then each person is one row
    where, person_where = split_filter(part.where, dict(part.person_columns))
    is_marks = part.over == VALUES
    filtered = part.is_filtered and neighbours != ADD_REMOVE  # who passes is secret, though n is public
    if filtered and is_marks and part.count:
        raise RequestError(
            "the count of a filtered histogram under replace-one",
            "the number of all people is public there, and that of those who pass the filter is not",
            "make it a question of its own: count = true, where = …",
            code="filtered-histogram-count-under-replace-one",
        )
    made = assemble_part(part, unit)
    if find is not None and made.domain.records_are_rows:
        raise RequestError(
            "variances, covariances or a regression over rows in groups that are found",
            "they are over rows in declared groups only",
            'declare the groups, or write mean_of = "units"',
            code="row-moments-in-found-groups",
        )
    groups: Groups | None = None if find is None else find(made.domain)
    if part.by and find is None:
        groups = Groups(part.by, made.domain, part.groups_per_unit, part.group_weights)
    row_rule = RowRule(
        made.made,
        person,
        None if made.domain.rows_coordinate is None else part.rows_per_unit,
        () if groups is None else groups.columns,
        1 if is_marks and not part.by else part.groups_per_unit,
        part.columns,
        where,
        part.present,
        min(part.values_per_unit, made.domain.dimension) if is_marks else 1,
        complete=part.complete,
        complete_by_type=part.complete_by_type,
        cuts=made.cuts,
        stand_ins=tuple((column, float(value)) for column, value in part.missing.items() if is_number(value)),
        person_columns=part.person_columns,
        person_where=person_where,
        by_cuts=part.by_cuts,
        found=() if find is None else tuple(name for name, keys in part.by.items() if keys == FOUND),
    )
    row_rule = replace(row_rule, **made.rule)
    missing = {}
    if made.stand_ins is None:  # one column may have several coordinates, under different bounds
        named = zip(made.domain.names or (), made.made, strict=False)
        missing = {name: part.missing[column] for name, (_, column) in named if column in part.missing}
        missing = {**_in_both(made), **missing}
    return Translated(made, groups, row_rule, missing, neighbours, filtered)


def _in_both(made: Assembled) -> dict[str, float]:
    """The middle of a column that is in a sum and in a mean: it stands in only where a promise is broken."""
    features, domain = made.answers.features, made.domain
    if features.is_linear or not features.size:
        return {}
    ways = ({*features.index[features.centred].tolist()}, {*features.index[~features.centred].tolist()})
    return {domain.name(j): float(domain.middles[j]) for j in ways[0] & ways[1]}


def _standing_in(block: Block, stand_ins: Array | None) -> Block:
    return block if stand_ins is None else replace(block, substitutes=stand_ins)
