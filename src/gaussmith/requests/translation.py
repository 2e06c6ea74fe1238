"""From a part of a question to its query and the row rule of the table that feeds it. Sees bounds and rules, never
data.

One person adds a vector of numbers. Sums are totals over a person's rows, clamped to their bounds; means over people
are each person's own mean. Means over rows are two sums, over all rows that count: the distances from the middle of
the bounds, and the rows themselves, of which a person has at most `rows_per_unit` (see `domains.people`). Which domain
holds what is asked is the matter of `plans.assembly`.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith.checks import is_number
from gaussmith.domains.domain import Domain, Problem, WorstCase, free_marks, records_are_rows, rows_of
from gaussmith.domains.groups import FOUND, FoundGroups, Groups
from gaussmith.errors import RequestError
from gaussmith.expressions.grammar import split_filter
from gaussmith.expressions.keys import Cut
from gaussmith.notations import setting
from gaussmith.numerics.exact import Array, fraction_down
from gaussmith.numerics.kept import recall
from gaussmith.planning.assembly import ASSEMBLIES, Assembled, PersonRule, assemble_choice
from gaussmith.planning.block import Block
from gaussmith.planning.choice import at_guarantee, plan_problem
from gaussmith.planning.plan import Slot
from gaussmith.planning.query import UNTOLD, Query, query_filtered, query_groups, query_public
from gaussmith.planning.row_rule import RowRule
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE
from gaussmith.requests.bins import CELLS, Bins, cuts_of, equal_cells, plain_keys
from gaussmith.requests.question import Question
from gaussmith.requests.readers import is_found, is_plain, without
from gaussmith.statistics.asking import read_weights
from gaussmith.statistics.registry import STATISTICS, asked_by_field
from gaussmith.statistics.statistic import CELLS as CELLS_OF
from gaussmith.statistics.statistic import MOMENTS, NUMBERS, VALUES, AskedAnswer

# The parts of questions: answers that are read from the same rows over one domain, and so from one query.
#
#     question ──parts_of──▶ parts ──merge──▶ parts that read the same rows together, each a query
#
# A statistic that leaves missing values out reads the rows in which its columns have a value: its part says which
# columns must be `present`. All other answers over numbers are one part; each histogram is one.

Key = tuple[str, Any, tuple[str, ...]]
"""What answers of one part have in common: how its domain is made, of what, and which columns must have a value."""

Within = tuple[tuple[AskedAnswer, tuple[float, float]], ...]


@dataclass(frozen=True, eq=False)
class Part:
    """Some answers of a question, which says how rows are read for them.

    question: the one that asks; of several parts that are one query any, as they read the same rows
    asked:    what is asked, in the order of the query's answers
    over:     which of `plans.assembly.ASSEMBLIES` makes the domain
    present:  columns in which a row must have a value
    missing:  what stands in for missing values of its own columns
    complete: those of its own columns that were promised to have a value in every row
    complete_by_type: columns that cannot be missing by their type, of those that would else have to be present
    within:   where means are stated to lie
    """

    question: Question
    asked: tuple[AskedAnswer, ...]
    over: str
    count: bool | str
    present: tuple[str, ...]
    weights: Any
    by: Any
    by_cuts: tuple[tuple[str, Cut], ...]
    """The cells of columns of groups."""
    missing: Mapping[str, float]
    complete: tuple[str, ...] = ()
    complete_by_type: tuple[str, ...] = ()
    within: Within = ()
    key: Any = field(default=None, repr=False)
    """What answers over one domain have in common."""

    @property
    def is_filtered(self) -> bool:
        """Whether some rows may be left out."""
        return self.question.where is not None or bool(self.present)

    @property
    def ways(self) -> dict[str, set[str]]:
        """The columns that are read, each with the kinds of answers about it."""
        found: dict[str, set[str]] = {}
        for each in self.asked:
            for column in each.columns:
                found.setdefault(column.name, set()).add(each.kind)
        return found

    @property
    def limit(self) -> float | None:
        """The largest standard error allowed, where some answer has one that is known beforehand."""
        plain = self.count or any(not STATISTICS[asked.kind].divided for asked in self.asked)
        return self.question.error_at_most if plain else None

    def place_of(self, asked: AskedAnswer) -> list[int]:
        """Where the answers to this are in the query."""
        start = sum(each.size for each in self.asked[: self.asked.index(asked)])
        return list(range(start, start + asked.size))

    @property
    def count_place(self) -> int:
        """Where the count is in the query: after all that is asked."""
        return sum(each.size for each in self.asked)

    @property
    def reading(self) -> Any:
        """What decides which rows are read, and how: parts that agree in it can be one query."""
        said = self.question
        return (
            self.over, self.key, self.present, self.weights, self.by, self.by_cuts, said.rows_per_unit,
            said.groups_per_unit or 1, said.group_weights, said.mean_of, said.where, tuple(said.columns.items()),
            tuple(said.person_columns.items()),
        )  # fmt: skip

    @property
    def content(self) -> Any:
        """All that it says, but for how the question is called and what else it asks."""
        said = self.question
        return (
            self.reading, self.asked, self.count, said.values_per_unit, tuple(self.missing.items()), self.complete,
            self.complete_by_type, self.within, said.error_at_most,
        )  # fmt: skip


def asked_of(question: Question) -> list[AskedAnswer]:
    """What a question asks for, in the order in which it is shown."""
    return [
        asked
        for name, known in asked_by_field().items()
        if getattr(question, name, None)
        for asked in known.asked(getattr(question, name))
    ]


def parts_of(question: Question, never_missing: Container[str] = ()) -> list[Part]:
    """The parts of a question. The count is in the first one that leaves out no rows for missing values.

    `never_missing` are columns of the source that cannot be missing by their type.
    """
    asked = asked_of(question)
    keys = [_domain_of(each, question, never_missing) for each in asked]
    if not question.by or (question.groups_per_unit or 1) == 1:  # groups of a person share their noise for means alone
        keys = _beside_moments(asked, keys)
    weights = _weights_of(question, asked)
    found = []
    counted = question.count
    for key in dict.fromkeys(keys):
        at = [i for i, other in enumerate(keys) if other == key]
        own = [asked[i] for i in at]
        counts = counted if _counts_beside(question, key, own) else False
        part = _part(question, key, own, _some(weights, at), counts)
        skipped = dict.fromkeys(name for each in own for name in present_for(each, question))
        found.append(replace(part, complete_by_type=tuple(without(skipped, key[2]))))
        counted = False if counts else counted
    return [*found, count_alone(question, counted)] if counted else found


def _counts_beside(question: Question, key: Key, asked: Sequence[AskedAnswer]) -> bool:
    """Whether the number of people can be counted beside these answers: no rows are left out for them."""
    over, _, present = key
    counts_rows = over == MOMENTS and question.is_over_rows
    return not present and not counts_rows and all(STATISTICS[each.kind].counts_beside for each in asked)


def _beside_moments(asked: Sequence[AskedAnswer], keys: Sequence[Key]) -> list[Key]:
    """The domains of answers, that of a mean being the one of second moments of its column where these are asked too.

    The mean needs no number that they do not need, and one person's value is the same in both.
    """
    found = list(keys)
    for i, each in enumerate(asked):
        if each.kind == "mean":
            moments = (j for j, key in enumerate(keys) if key[0] == MOMENTS and key[2] == keys[i][2])
            found[i] = next((keys[j] for j in moments if each.columns[0] in asked[j].columns), keys[i])
    return found


def count_alone(question: Question, count: bool | str) -> Part:
    """A part with nothing but the number of people or rows."""
    return _part(question, (NUMBERS, None, ()), [], _some(_weights_of(question, asked_of(question)), []), count)


def _domain_of(asked: AskedAnswer, question: Question, never_missing: Container[str]) -> Key:
    known = STATISTICS[asked.kind]
    present = tuple(name for name in present_for(asked, question) if name not in never_missing)
    alone = None if known.over in (NUMBERS, MOMENTS) else asked.arguments  # others have a domain of their own
    return known.over, alone, present


def present_for(asked: AskedAnswer, question: Question) -> tuple[str, ...]:
    """The columns in which a row must have a value to be read for this, unless their type says that it has one."""
    return tuple(sorted({name for name in asked.present if question.skips(name)}))


def never_missing_in(question: Question, source: Any) -> frozenset[str]:
    """The columns that cannot be missing by their type, of those of the source whose missing values are left out.

    The schema of a source that is at hand is read; no data value is. Of any other source none are known.
    """
    asked = {name for each in asked_of(question) for name in present_for(each, question)} - {*question.columns}
    if not asked or question.person_columns:
        return frozenset()
    from gaussmith.engines.complete_columns import never_missing

    return never_missing(source, asked)


def _part(question: Question, key: tuple[Any, ...], asked: Sequence[AskedAnswer], weights: Any, count: Any) -> Part:
    over, common, present = key
    columns = {column.name for each in asked for column in each.columns}
    within = [(each, question.where_means_lie.get(each.columns[0].name)) for each in asked if each.kind == "mean"]
    return Part(
        question,
        tuple(asked),
        over,
        count,
        present,
        weights,
        plain_keys(question.by) if question.by else question.by,
        cuts_of(question.by) if question.by else (),
        {column: value for column, value in question.missing.items() if column in columns},
        tuple(column for column in question.complete if column in columns),
        within=tuple((each, where) for each, where in within if where is not None),
        key=common,
    )


def _weights_of(question: Question, asked: Sequence[AskedAnswer]) -> Any:
    """Weights by rule, or for each number asked its own, by its place."""
    if isinstance(question.weights, str):
        return question.weights
    numbers = [i for i, each in enumerate(asked) if STATISTICS[each.kind].over == NUMBERS]
    given, _ = read_weights(question.weights, np.ones(len(numbers)), len(numbers))
    return dict(zip(numbers, given.tolist(), strict=True))


def _some(weights: Any, at: Sequence[int]) -> Any:
    return [weights.get(i, 1.0) for i in at] if isinstance(weights, dict) else weights


def merge(parts: Sequence[Part], unit: str | None) -> list[list[int]]:
    """Which parts are one query: those that read the same rows for the same domain; in order.

    A person's total and mean of one column go together, so that no law on one query may take them as independent.
    """
    sets: list[list[int]] = []
    near: dict[Hashable, list[list[int]]] = {}
    for i, part in enumerate(parts):
        asked = part.question
        rivals = near.setdefault((part.over, part.present, asked.where, tuple(asked.columns.items())), [])
        alike = (members for members in rivals if all(_alike(part, parts[j], unit) for j in members))
        members = next(alike, None)
        if members is None:
            sets.append([i])
            rivals.append(sets[-1])
        else:
            members.append(i)
    return sets


def _alike(one: Part, other: Part, unit: str | None) -> bool:
    """Whether two parts can be one query: the same rows read alike, weights by rule, counts of one kind."""
    limited = any(part.question.error_at_most for part in (one, other))
    if limited or one.over != NUMBERS or not isinstance(one.weights, str):
        return False
    if one.reading != other.reading or len({one.count, other.count} - {False}) > 1:
        return False
    shared = one.ways.keys() & other.ways.keys()
    if unit is not None and any(len(one.ways[column] | other.ways[column]) > 1 for column in shared):
        return False
    promised = [{*part.complete, *part.complete_by_type} & shared for part in (one, other)]
    return all(one.missing.get(c) == other.missing.get(c) for c in shared) and promised[0] == promised[1]


def unite(parts: Sequence[Part]) -> Part:
    """One part that asks what all of them ask, each once, in the order in which one question would have it."""
    if len(parts) == 1:
        return parts[0]
    kinds = list(STATISTICS)
    asked = dict.fromkeys(each for part in parts for each in part.asked)
    promised = dict.fromkeys(column for part in parts for column in part.complete)
    by_type = dict.fromkeys(column for part in parts for column in part.complete_by_type)
    return replace(
        parts[0],
        asked=tuple(sorted(asked, key=lambda each: kinds.index(each.kind))),
        count=next((part.count for part in parts if part.count), False),
        missing={column: value for part in parts for column, value in part.missing.items()},
        complete=tuple(promised),
        complete_by_type=tuple(without(by_type, promised)),
        within=_widest(parts),
    )


def _widest(parts: Sequence[Part]) -> Within:
    """Where means lie that all parts about them state, as far as any says."""
    stated = [dict(part.within) for part in parts]
    found = []
    for asked in dict.fromkeys(each for own in stated for each in own):
        pairs = [own.get(asked) for part, own in zip(parts, stated, strict=True) if asked in part.asked]
        known = [pair for pair in pairs if pair is not None]
        if len(known) == len(pairs):
            found.append((asked, (min(low for low, _ in known), max(high for _, high in known))))
    return tuple(found)


def slot_of(question: Question, own: Sequence[Part], parts: Sequence[tuple[int, Part]]) -> Slot:
    """Where the answers of a question are; `parts` has for each of its own the query, and all that is asked there."""
    places = []
    for asked in asked_of(question):
        k = next(k for k, part in enumerate(own) if asked in part.asked)
        places += [(parts[k][0], place) for place in parts[k][1].place_of(asked)]
    if question.count:
        k = next(k for k, part in enumerate(own) if part.count == question.count)
        places.append((parts[k][0], parts[k][1].count_place))
    return Slot.of(question.name, places)


def may_choose(part: Part) -> bool:
    """Whether a part is one quantile over the cells that bounds are cut into where none are declared."""
    if part.over != CELLS_OF or len(part.asked) != 1 or part.question.error_at_most is not None:
        return False
    _, levels, cut, _ = part.asked[0].arguments
    return len(levels) == 1 and cut.ends is not None and cut == equal_cells(cut.ends[0], cut.ends[1], CELLS)


def assemble_part(part: Part, unit: str | None, chooses: bool = False) -> Assembled:
    """Domain, answers and coordinates of a part."""
    said = part.question
    rows, values = said.rows_per_unit or 1, said.values_per_unit or 1
    rule = PersonRule(unit is not None, rows, said.mean_of, part.count, values)
    made = (assemble_choice if chooses else ASSEMBLIES[part.over])(part.asked, rule, part.weights, part.missing)
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
    """Whether who is in the records is secret, though n is public, and nobody's absence is a record of the domain."""
    drawn: dict[Hashable, Query] = field(default_factory=dict)
    """The query at the last guarantee."""

    def plan(self, guarantee: Guarantee) -> Query:
        """The query of the part at a guarantee."""
        made = recall(self.drawn, guarantee, lambda: replace(self._plan(guarantee), row_rule=self.row_rule), most=1)
        return replace(made)  # two parts that ask the same are two queries

    def _plan(self, guarantee: Guarantee) -> Query:
        """The query; where a cell is chosen the noise has a part of μ², and the choice what that leaves."""
        domain = self.made.domain
        if not domain.chosen:
            return self._plan_noise(guarantee)
        from gaussmith.domains.chosen_cells import ChosenCells
        from gaussmith.privacy.choices import choice_within, spread_of_ranks
        from gaussmith.statistics.chosen import FOR_VALUE, ChosenQuantiles

        assert isinstance(domain, ChosenCells)
        part = Guarantee(mu=fraction_down(Fraction(guarantee.mu) * Fraction(math.sqrt(1 - FOR_VALUE))))
        query, groups = self._plan_noise(part), self.groups
        left = guarantee.mu_squared - part.mu_squared
        most = 1 if groups is None else groups.at_most
        chosen = domain.at(choice_within(left, domain.level, query.neighbours, most, groups is not None))
        spread = spread_of_ranks(chosen.epsilon, chosen.sensitivity_of_ranks(query.neighbours))
        (read,) = (each for each in self.made.answers.statistics if isinstance(each, ChosenQuantiles))
        block = query.block
        answers = replace(block.answers, statistics=(replace(read, spread=spread),))
        return replace(
            query, guarantee=guarantee, block=replace(block, problem=block.problem.over(chosen), answers=answers)
        )

    def _plan_noise(self, guarantee: Guarantee) -> Query:
        made = self.made
        if isinstance(self.groups, FoundGroups):
            from gaussmith.planning.discovered_groups import query_found

            query = query_found(self.groups, guarantee, made.answers, self.missing)
            return replace(query, block=_standing_in(query.block, made.stand_ins))
        if self.groups is not None:
            return query_groups(self.groups, guarantee, self.neighbours, self._plan_block)
        if made.domain.dimension == 0 and not self.problem.secret_count:
            return query_public(made.domain, made.answers, guarantee, self.neighbours)
        query = Query(self._plan_block(guarantee), guarantee, self.problem.neighbours)
        return query_filtered(query, self.neighbours, self._plan_block) if self.filtered else query

    def bare(self, guarantee: Guarantee) -> Query:
        """The query of the part without any noise: what is asked, and how rows are read."""
        made, problem = self.made, self.problem
        problem.domain.check(problem)
        given = problem.domain.substitutes(problem.features, self.missing)
        stand_ins = given if made.stand_ins is None else made.stand_ins
        block = Block(problem, made.answers, guarantee, UNTOLD, stand_ins)
        return Query(block, guarantee, self.neighbours, self.groups, self.row_rule)

    @cached_property
    def problem(self) -> Problem[Domain]:
        """The problem of all records, or of those of a group."""
        secret = self.filtered or self.groups is not None
        return Problem(self.made.domain, self.made.answers.features, ADD_REMOVE if secret else self.neighbours)

    def _plan_block(self, share: Guarantee) -> Block:
        last = next(iter(list(self.drawn.values())), None)
        if last is not None and not self.made.domain.shape_follows_mu:
            return at_guarantee(last.block, share)
        block = _standing_in(plan_problem(self.problem, self.made.answers, share, self.missing), self.made.stand_ins)
        return replace(block, law=UNKNOWN_LIMIT) if self._promises_a_cell else block

    @property
    def _promises_a_cell(self) -> bool:
        """Whether replaced people have a value by promise, while noise also hides those without one.

        No bound is known then: that of the domain is for people who may be in no cell, and lies above the least.
        """
        rule, domain = self.row_rule, self.made.domain
        in_none = free_marks(domain) == 1 and getattr(domain, "or_none", False)
        promised = {*rule.complete, *rule.complete_by_type}
        is_quantile = in_none and self.made.answers.any_inverted  # others leave out values that are not declared, too
        return self.neighbours != ADD_REMOVE and is_quantile and promised.issuperset(rule.names)


UNKNOWN_LIMIT = WorstCase("closed", 0.0)
"""What bounds noise where no bound is known."""


def plan_part(
    part: Part,
    unit: str | None,
    guarantee: Guarantee,
    neighbours: str,
    find: Callable[[Domain], FoundGroups] | None = None,
) -> Query:
    """The query of a part of a question, with the row rule of its table; `find` makes groups whose keys are found.

    The last parts are kept: a request that is changed a little has most of its parts in common with the one before.
    One quantile is chosen where that states a smaller error than noisy cells do.
    """
    if find is None and not guarantee.is_pure and may_choose(part):
        queries = [translate(part, unit, neighbours, chooses=each).plan(guarantee) for each in (True, False)]
        return min(queries, key=lambda query: float(query.block.standard_errors.max()))
    content = None if find is not None else _content(part)
    if content is None:
        return translate(part, unit, neighbours, find).plan(guarantee)
    key = content, unit, neighbours
    return recall(_KEPT, key, lambda: translate(part, unit, neighbours), MAX_KEPT).plan(guarantee)


def bare_part(part: Part, unit: str | None, guarantee: Guarantee, neighbours: str) -> Query:
    """The query of a part without any noise, for laws that plan all queries at once. One quantile is chosen."""
    return translate(part, unit, neighbours, chooses=may_choose(part)).bare(guarantee)


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
        return pickle.dumps(part.content) if small else None
    except (TypeError, AttributeError, pickle.PicklingError):  # what was asked is no plain value
        return None


def translate(
    part: Part,
    unit: str | None,
    neighbours: str,
    find: Callable[[Domain], FoundGroups] | None = None,
    chooses: bool = False,
) -> Translated:
    """A part as far as no guarantee matters; `find` makes groups whose keys are found, `chooses`: a quantile's cell."""
    filtered = part.is_filtered and neighbours != ADD_REMOVE  # who passes is secret, though n is public
    if filtered and part.over == VALUES and part.count:
        raise RequestError(
            "the count of a filtered histogram under replace-one",
            "the number of all people is public there, and that of those who pass the filter is not",
            f"make it a question of its own: {setting('count', True)}, {setting('where', ...)}",
            code="filtered-histogram-count-under-replace-one",
        )
    rows_are_people = bool(part.question.person_columns)
    made = assemble_part(part, None if rows_are_people else unit, chooses)
    if find is not None and records_are_rows(made.domain):
        raise RequestError(
            "variances, covariances or a regression over rows in groups that are found",
            "they are over rows in declared groups only",
            f"declare the groups, or write {setting('mean_of', 'units')}",
            code="row-moments-in-found-groups",
        )
    groups = find(made.domain) if find is not None else _groups_of(part, made.domain) if part.by else None
    found = () if find is None else tuple(name for name, keys in part.by.items() if keys == FOUND)
    row_rule = replace(_rule_of(part, made, unit, () if groups is None else groups.columns, found), **made.rule)
    none = free_marks(made.domain) is not None and not made.answers.count  # who is left out is a record in no cell
    return Translated(made, groups, row_rule, _stand_ins(part, made), neighbours, filtered and not none)


def _rule_of(part: Part, made: Assembled, unit: str | None, groups: tuple[str, ...], found: tuple[str, ...]) -> RowRule:
    """How the rows of the table become records of the domain that was made of a part."""
    said, is_marks = part.question, part.over == VALUES
    where, person_where = split_filter(said.where, said.person_columns) if said.where else (None, None)
    return RowRule(
        made.made,
        unit,
        None if rows_of(made.domain) is None else said.rows_per_unit,
        groups,
        1 if is_marks and not part.by else said.groups_per_unit or 1,
        tuple(said.columns.items()),
        where,
        part.present,
        min(said.values_per_unit or 1, made.domain.dimension) if is_marks else 1,
        complete=part.complete,
        complete_by_type=part.complete_by_type,
        cuts=made.cuts,
        stand_ins=tuple((column, float(value)) for column, value in part.missing.items() if is_number(value)),
        person_columns=tuple(said.person_columns.items()),
        person_where=person_where,
        by_cuts=part.by_cuts,
        found=found,
    )


def _stand_ins(part: Part, made: Assembled) -> dict[str, float]:
    """What stands in for missing values, by the names of the domain; none where its coordinates have their own."""
    if made.stand_ins is not None:  # one column may have several coordinates, under different bounds
        return {}
    names = made.domain.names or () if part.missing else ()  # those of many cells are not listed for nothing
    named = zip(names, made.made, strict=False)
    missing = {name: part.missing[column] for name, (_, column) in named if column in part.missing}
    return {**_in_both(made), **missing}


def _groups_of(part: Part, domain: Domain) -> Groups:
    """The declared groups of a part; parts of one question have theirs in common."""
    limits = part.question.groups_per_unit or 1, part.question.group_weights

    def make() -> Groups:
        return Groups(part.by, domain, *limits)

    try:
        said = pickle.dumps((part.by, *limits))
    except (TypeError, AttributeError, pickle.PicklingError):  # a key is no plain value: refused, or converted
        return make()
    return recall(_GROUPS, said, make, most=4).over(domain)


_GROUPS: dict[Hashable, Groups] = {}


def _in_both(made: Assembled) -> dict[str, float]:
    """The middle of a column that is in a sum and in a mean: it stands in only where a promise is broken."""
    features, domain = made.answers.features, made.domain
    if features.is_linear or not features.size:
        return {}
    ways = ({*features.index[features.centred].tolist()}, {*features.index[~features.centred].tolist()})
    return {domain.name(j): float(domain.means.middles[j]) for j in ways[0] & ways[1]}


def _standing_in(block: Block, stand_ins: Array | None) -> Block:
    return block if stand_ins is None else replace(block, substitutes=stand_ins)


# Questions about groups that are found in the data: their queries, and what noise and keys each may spend.
#
# Such a question never shares its noise with others. One of its queries decides which groups are shown: the one that
# counts people, with all answers that are read from the same rows. The others tell more about the groups that are
# shown.


def check_found(questions: Sequence[Question], neighbours: str, keys_delta: float | None, first: bool = False) -> None:
    """Refuse what cannot be asked of found keys; where they are found first, answers are those of declared groups."""
    finding = [question for question in questions if question.finds]
    if finding and neighbours != ADD_REMOVE:
        raise RequestError(
            "found keys under replace-one",
            "the number of people is public there, so that a person's key would show by its absence",
            f"declare the keys, or use {setting('neighbours', 'add-remove')}",
            code="request-found-keys-under-replace-one",
        )
    if keys_delta is not None:
        _check_keys_delta(keys_delta, bool(finding))
    for question in questions:
        for name, usual in (("keys_at_least", 1), ("top", None)):
            if getattr(question, name) != usual and not question.finds:
                what, rule = f"{name} without found keys", "declared groups are always shown"
                raise RequestError(what, rule, _leave_or_find(), code="found-limit-without-found-keys", name=name)
    for question in finding:
        _check_finding(question, first)


def _leave_or_find() -> str:
    return f"leave it out, or ask for found keys: {setting('by', {'airport': 'found'})}"


def _check_keys_delta(keys_delta: Any, finds: bool) -> None:
    """Refuse what is no part of δ for finding keys."""
    from gaussmith.planning.discovered_groups import LARGEST_KAPPA

    if not finds:
        what, rule = "keys_delta without found keys", "it is the part of δ that is spent on finding keys"
        raise RequestError(what, rule, _leave_or_find(), code="keys-delta-without-found-keys")
    if not (is_plain(keys_delta) and 0 < keys_delta <= LARGEST_KAPPA):
        what, rule = f"keys_delta={keys_delta!r}", f"it is a probability above 0, and at most {float(LARGEST_KAPPA):g}"
        remedy = f"write {setting('keys_delta', 1e-7)}: far below 1 / (number of people)"
        raise RequestError(what, rule, remedy, code="keys-delta-not-a-probability", keys_delta=keys_delta)


def _check_finding(question: Question, first: bool) -> None:
    """Refuse what cannot be asked of the groups of a question whose keys are found, `first` before all answers."""
    if question.group_weights:
        what, rule = "group_weights of found groups", "which groups there are is not known beforehand"
        raise RequestError(what, rule, "leave them out, or declare the keys", code="group-weights-of-found-keys")
    if any(isinstance(keys, Bins) for keys in question.by.values()):
        rule = "cells are groups only where all groups are declared"
        remedy = f"derive a column of the cells, such as {setting('columns', {'decade': 'floor(age / 10)'})}"
        raise RequestError("bins beside found keys", rule, remedy, code="bins-beside-found-keys")
    cells = ("histograms", "proportions", "marginals")
    asked = next((name for name in cells if getattr(question, name)), None)
    if asked is not None and not first:
        rule = "people are counted by their values only in groups that are declared, or found first"
        remedy = f"write {setting('keys_first', True)}, declare the groups, or ask in a question without by"
        raise RequestError(f"{asked} of found groups", rule, remedy, code="cells-of-found-groups", asked=asked)
    if question.error_at_most is not None:
        what, rule = "error_at_most of found groups", "their threshold needs a noise of its own"
        raise RequestError(what, rule, "choose a share instead", code="error-limit-of-found-keys")


def ask_found_values(fields: dict[str, Any], unit: str | None) -> dict[str, Any]:
    """A question with its histogram of found values as what it is: people counted in groups whose keys are found."""
    counted = fields.get("histograms")
    if not isinstance(counted, Mapping) or not any(map(is_found, counted.values())):
        return fields
    others = [name for name in (*asked_by_field(), "medians", "by", "count") if name != "histograms" and fields[name]]
    if others or len(counted) > 1:
        raise RequestError(
            f"a histogram of found values beside {others[0] if others else 'another'} in one question",
            "it counts people in groups of its own, and each is a question",
            f"write a {setting('question')} for each, or ask for them outside the questions",
            code="found-histogram-beside-other-answers",
        )
    limit = fields["values_per_unit"]
    if unit is not None and not fields["person_columns"] and limit is None:
        raise RequestError(
            "a histogram of found values with a unit, without values_per_unit",
            "a person may have several values, and counts in at most so many: those with the most of their rows",
            f"write {setting('values_per_unit', 1)}, or more: errors and the threshold grow with its square root",
            code="found-values-limit-not-given",
        )
    by = {next(iter(counted)): FOUND}
    return {**fields, "histograms": {}, "by": by, "count": True, "groups_per_unit": limit, "values_per_unit": None}


def found_parts(question: Question, unit: str | None, never_missing: Container[str] = ()) -> list[Part]:
    """The parts of a question about found keys; the one that decides comes first, and counts people.

    Sums and means over people ride along with the count in one noise. Other answers have noise of their own: what
    would serve both would count people twice, and intervals would have to know of the choice.
    """
    counting = question if question.count is True else replace(question, count=True)
    parts = parts_of(question if question.count else counting, never_missing)
    first = next((i for i, part in enumerate(parts) if not part.present and part.count), None)
    assert first is not None, "the count is in a part that leaves out no rows"
    if parts[first].over != NUMBERS or (unit is not None and _is_over_rows(parts[first])):
        others = [part if part.count == "rows" else replace(part, count=False) for part in parts]
        return [count_alone(counting, True), *others]
    return [parts[first], *parts[:first], *parts[first + 1 :]]


def _is_over_rows(part: Part) -> bool:
    """Whether the rows of people are counted or divided by."""
    means = any(STATISTICS[asked.kind].divided for asked in part.asked)
    said = part.question
    return not said.person_columns and (part.count == "rows" or (means and said.mean_of == "rows"))


def split_found(
    guarantee: Guarantee, shares: Sequence[float], others: float, keys_delta: float | None
) -> tuple[list[Guarantee], Guarantee | None, list[Fraction]]:
    """Guarantees and κ of questions about found keys, and the guarantee of all others (None: there are none)."""
    from gaussmith.planning.discovered_groups import split_with_keys

    stated = None if keys_delta is None else Fraction(keys_delta)
    return split_with_keys(guarantee, shares, others, stated)


def plan_found(
    question: Question, parts: Sequence[Part], unit: str | None, guarantee: Guarantee, kappa: Fraction, which: int
) -> list[Query]:
    """The queries of a question about found keys, the one that decides first."""
    alone = [_query(question, part, unit, guarantee, kappa if i == 0 else None, which) for i, part in enumerate(parts)]
    if len(alone) == 1:
        return alone
    roots = [math.sqrt(query.total_variance) * guarantee.mu for query in alone]
    roots[0] = max(roots[0], sum(roots[1:]))  # at least half of μ² decides
    shares = guarantee.split(roots)
    return [
        _query(question, part, unit, share, kappa if i == 0 else None, which)
        for i, (part, share) in enumerate(zip(parts, shares, strict=True))
    ]


def _query(
    question: Question, part: Part, unit: str | None, guarantee: Guarantee, kappa: Fraction | None, which: int
) -> Query:
    def find(domain: Domain) -> FoundGroups:
        return FoundGroups(
            tuple(part.by),
            domain,
            question.groups_per_unit or 1,
            declared={name: keys for name, keys in part.by.items() if keys != FOUND},
            at_least=question.keys_at_least,
            which=which,
            kappa=kappa,
            top=question.top,
        )

    return plan_part(part, unit, guarantee, ADD_REMOVE, find)
