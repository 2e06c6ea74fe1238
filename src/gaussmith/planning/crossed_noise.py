"""A crossed tie: one noise for tables of the same keys, because a person is in them in one and the same cell.

People by a, by b, and by a and b are three queries, with their own questions. A person in the table by both is in
the two others as well, so that noise made for the three together is smaller than noise that takes them for independent.

What a person may add follows from the queries alone (`plans.crossed_keys`), also when a plan is read from a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.domains.domain import WorstCase, check_law, free_marks
from gaussmith.domains.groups import TypedKey, places_of
from gaussmith.domains.strategies import Strategy
from gaussmith.errors import PlanError, damaged_plan
from gaussmith.expressions.formulas import columns_used, same_meaning
from gaussmith.expressions.grammar import parse
from gaussmith.numerics.crossed import Counts, CrossedLift, Tables, Way, largest, solve
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.numerics.exact import Array, sqrt_upward
from gaussmith.numerics.matrices import Dense, Matrix
from gaussmith.numerics.threads import single_threaded
from gaussmith.planning.certified_grid import NOISE_BITS, SharedNoise, certified_lift
from gaussmith.planning.joint_noise import alike_features
from gaussmith.planning.joint_people import NAME, Place, columns_behind
from gaussmith.planning.query import Query, tied
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE, check

if TYPE_CHECKING:
    from gaussmith.numerics.crossed import CrossedSolution
    from gaussmith.planning.row_rule import RowRule


# Which queries count people by the same keys, and what one person adds to all of them: from the queries alone.
#
# Every row is a person here, and every table is read from all rows that pass one filter. A row is in the cell of its
# keys where all of them are declared; it has one key of each column. So a person in a table by two columns is in the
# tables by one of them too, in the row and the column of that cell. Privacy rests on this, also when a plan is read
# from a file.

Attribute = tuple[str, frozenset[TypedKey]]
"""A column and its declared keys; the same column with other keys is another attribute."""


@dataclass(frozen=True, eq=False)
class Keyed:
    """What a query counts people by: the attributes of its table and the key of every cell; none for all people."""

    attributes: tuple[Attribute, ...]
    keys: list[list[TypedKey]]
    """The keys of each attribute in the order in which they are declared."""
    cells: npt.NDArray[np.int64]
    """The places of the keys of each cell in that order."""
    counted: bool
    """Whether all people are counted too, those with other keys included."""


@dataclass(frozen=True, eq=False)
class Cross:
    """Queries that count people by keys: their tables, where each query is among them, and its cells there.

    `parts[i]` is the table of query i, None where it only counts all people; `cells[i]` has the places of the keys of
    each of its groups or values.
    """

    tables: Tables
    parts: tuple[int | None, ...]
    cells: tuple[npt.NDArray[np.int64], ...]
    possible: tuple[Tables, ...] = ()
    """The tables in sets of which a law may speak at once: all of them, unless two attributes are made of one column.

    Noise for all tables is private all the same, but nobody has such keys of both attributes as a law would say."""

    @property
    def everybody(self) -> int | None:
        """The table of all people."""
        return self.tables.ways.index(()) if () in self.tables.ways else None

    def places(self, scales: Sequence[float]) -> tuple[Place, ...]:
        """The place of each query; where it starts is its number among them, as several may have one table."""
        return tuple(Place(part, k, scale) for k, (part, scale) in enumerate(zip(self.parts, scales, strict=True)))


def keyed_of(query: Query, weighted: bool = False) -> Keyed | None:
    """What a query counts people by; None where it is anything else, or a person may have several rows.

    Groups that weigh differently are not such a table, as keys cannot be permuted there, unless `weighted` asks for it.
    """
    rule, block = query.row_rule, query.block
    if rule is None or not _reads_all_rows(rule) or block.problem.features.targets is not None:
        return None
    if query.groups is not None and query.groups.is_found:
        return None
    public = query.neighbours != ADD_REMOVE and rule.where is None
    if rule.histogram is not None:
        values = block.domain.input.values
        one = free_marks(block.domain) == 1 and query.groups is None and block.problem.common_weight is not None
        if not one or values is None or (block.answers.count and query.neighbours != ADD_REMOVE):
            return None
        return _keyed((rule.histogram,), *places_of([(value,) for value in values], 1), block.answers.count)
    if block.domain.dimension or not block.answers.count or rule.features:
        return None
    if query.groups is None:
        return None if public else Keyed((), [], np.zeros((0, 0), np.int64), True)
    if len(query.groups.classes) > 1 and not weighted:
        return None
    return _keyed(query.groups.columns, *query.groups.places, False)


def _reads_all_rows(rule: RowRule) -> bool:
    """Whether every row is a person, in a table read from all rows that pass its filter, by keys as they stand.

    Rows without a value, people whose rows are put together, and cells of numbers are read by rules of their own.
    """
    return not (rule.unit or rule.form or rule.present or rule.person_columns or rule.person_where or rule.cuts)


def _keyed(
    columns: Sequence[str], keys: list[list[TypedKey]], cells: npt.NDArray[np.int64], counted: bool
) -> Keyed | None:
    attributes = tuple((column, frozenset(own)) for column, own in zip(columns, keys, strict=True))
    sizes = tuple(map(len, keys))
    distinct = len(np.unique(np.ravel_multi_index(tuple(cells.T), sizes)))
    whole = len(cells) == math.prod(sizes) == distinct and len(set(columns)) == len(columns)
    return Keyed(attributes, keys, cells, counted) if whole else None  # else some combinations are left out


def cross_of(queries: Sequence[Query], scales: Sequence[float], neighbours: str) -> Cross:
    """The tables of queries that count people by keys; raises PlanError where they are not of that kind."""
    found = [keyed_of(query) for query in queries]
    kept = [each for each in found if each is not None]
    if len(kept) < len(queries) or not _same_rows(queries):
        raise damaged_plan("queries that are not tables of the same people")
    if not all(np.isfinite(scale) and scale > 0 for scale in scales):
        raise damaged_plan("a tie with a scale that is not positive")
    order = list(dict.fromkeys(attribute for each in kept for attribute in each.attributes))
    keys = [_ordered(attribute, kept) for attribute in order]
    ways = [tuple(sorted(order.index(attribute) for attribute in each.attributes)) for each in kept]
    worth: dict[Way, float] = {}
    for query, each, way, scale in zip(queries, kept, ways, scales, strict=True):
        problem = query.block.problem
        if way:
            own = problem.common_weight if query.groups is None else problem.count_weight
            worth[way] = worth.get(way, 0.0) + scale * float(own or 0.0)
        if each.counted:
            worth[()] = worth.get((), 0.0) + scale * problem.count_weight
    rule = queries[0].row_rule
    hidden = rule is not None and rule.where is not None
    listed = tuple(worth)
    tables = Tables(tuple(map(len, keys)), listed, np.array(list(worth.values())), neighbours, hidden)
    parts = tuple(listed.index(way) if way else None for way in ways)
    sets = _possible(queries, kept)
    possible: tuple[Tables, ...] = (tables,)
    if len(sets) > 1:
        parted = [cross_of([queries[i] for i in held], [scales[i] for i in held], neighbours) for held in sets]
        possible = tuple(each.tables for each in parted)
    return Cross(tables, parts, tuple(_cells(each, order, keys) for each in kept), possible)


def _possible(queries: Sequence[Query], kept: Sequence[Keyed]) -> list[list[int]]:
    """Tables in sets: in each, different attributes are made of different columns."""
    sets: list[tuple[dict[Attribute, set[str]], list[int]]] = []
    for i, (query, each) in enumerate(zip(queries, kept, strict=True)):
        meanings = {} if query.row_rule is None else dict(query.row_rule.columns)
        own = {attribute: columns_behind([attribute[0]], meanings) for attribute in each.attributes}
        for known, held in sets:
            pairs = ((one, other) for one in own for other in known if one != other)
            if all(own[one].isdisjoint(known[other]) for one, other in pairs):
                known |= own
                held.append(i)
                break
        else:
            sets.append((own, [i]))
    return [held for _, held in sets]


def _same_rows(queries: Sequence[Query]) -> bool:
    """Whether all queries read the same rows, and their keys and filter mean the same in all of them."""
    rules = [query.row_rule for query in queries if query.row_rule is not None]
    filters = {rule.where for rule in rules}
    if len(rules) < len(queries) or len(filters) > 1:
        return False
    (where,) = filters
    named = set() if where is None else set(columns_used(parse(where)))
    for query, rule in zip(queries, rules, strict=True):
        named |= {rule.histogram} if rule.histogram is not None else set()
        named |= set() if query.groups is None else set(query.groups.columns)
    return same_meaning(named, [dict(rule.columns) for rule in rules])


def _ordered(attribute: Attribute, kept: Sequence[Keyed]) -> list[TypedKey]:
    """The keys of an attribute in the order in which they were first declared."""
    first = next(each for each in kept if attribute in each.attributes)
    return first.keys[first.attributes.index(attribute)]


def _cells(each: Keyed, order: Sequence[Attribute], keys: Sequence[Sequence[TypedKey]]) -> npt.NDArray[np.int64]:
    """The places of the keys of each cell, by the attributes in their order in the tables."""
    found = np.zeros_like(each.cells)
    where = sorted(range(len(each.attributes)), key=lambda i: order.index(each.attributes[i]))
    for j, i in enumerate(where):
        known = {key: at for at, key in enumerate(keys[order.index(each.attributes[i])])}
        found[:, j] = np.array([known[key] for key in each.keys[i]], np.int64)[each.cells[:, i]]
    return found


KIND = "crossed"
"""What a crossed tie and its law are called in saved plans."""

_FIELDS = {"kind", "members", "scales", "lift", "guarantee", "neighbours", "law", "apart"}


def proven_of_tables(sets: Sequence[Tables], law: WorstCase) -> float:
    """What a law on people proves of each set of tables, added up; rounded down."""
    from gaussmith.domains.crossed_bounds import lower_bound

    if len(sets) == 1:
        return lower_bound(sets[0], law.numbers["weights"])
    each = (lower_bound(tables, law.numbers[f"weights {k}"]) for k, tables in enumerate(sets))
    return math.fsum(each) * (1.0 - 2.0**-52)


@dataclass(frozen=True, eq=False)
class CrossedNoise(SharedNoise):
    """The noise of several tables of one plan: `members` are their places among its queries."""

    members: tuple[int, ...]
    places: tuple[Place, ...]
    people: int | None
    """Which member counts all people that pass the filter; None where none does."""
    where: str | None
    lift: CrossedLift
    guarantee: Guarantee
    neighbours: str
    law: WorstCase
    """The law on people that bounds every noise."""
    apart: float
    """What the total would be if every query had noise of its own, at the best shares."""
    cross: Cross = field(repr=False)
    """What one person adds, from the queries."""
    how = "crossed"

    @classmethod
    def of(cls, queries: Sequence[Query], scales: Sequence[float], **fields: Any) -> CrossedNoise:
        """The tie of these queries, its members in order; refuses a lift that is not one of theirs."""
        cross = cross_of(queries, scales, fields["neighbours"])
        lift = fields["lift"]
        if (lift.sizes, lift.ways) != (cross.tables.sizes, cross.tables.ways):
            raise damaged_plan("a lift that does not fit its tables")
        counts = [i for i, query in enumerate(queries) if query.groups is None and query.block.answers.count]
        rule = queries[0].row_rule
        where = None if rule is None else rule.where
        return cls(**fields, places=cross.places(scales), people=next(iter(counts), None), where=where, cross=cross)

    # -- privacy ----------------------------------------------------------------------------------------------------

    @cached_property
    @single_threaded()
    def grid(self) -> tuple[CrossedLift, float]:
        """The certified integer lift, and how many grid steps one lifted unit is; refuses what cannot be certified."""
        norm, size = self._largest(self.lift), self.lift.size
        return certified_lift(self.guarantee.mu, size, norm, self.lift_at, self._largest)

    def lift_at(self, scale: float) -> CrossedLift:
        """The integer lift of this scale, not certified."""
        return self.lift.scaled(scale)

    def certify(self, queries: Sequence[Query]) -> None:
        """Check in exact arithmetic that the queries of a plan keep the guarantee; raises PlanError otherwise."""
        same = [query.tie is self for query in queries] == [i in self.members for i in range(len(queries))]
        if same:
            members = [queries[i] for i in self.members]
            cross = cross_of(members, [place.scale for place in self.places], self.neighbours)
            mine, theirs = self.cross, cross
            same = mine.parts == theirs.parts and mine.tables.hidden == theirs.tables.hidden
            same = same and (mine.tables.sizes, mine.tables.ways) == (theirs.tables.sizes, theirs.tables.ways)
            same = same and all(np.array_equal(a, b) for a, b in zip(mine.cells, theirs.cells, strict=True))
        if not same:
            raise damaged_plan("a tie of other queries")
        self.grid  # noqa: B018 (made here, or refused)

    def _largest(self, lift: CrossedLift) -> float:
        return largest(lift, self.cross.tables)

    @property
    def reach(self) -> float:
        """The largest difference of neighbours over what the guarantee allows, on the grid: at most 1."""
        found = self._largest(self.grid[0]) + sqrt_upward(float(self.lift.size))
        return found / (self.guarantee.mu * 2.0**NOISE_BITS)

    @property
    def unit(self) -> float:
        """How many grid steps one lifted unit is."""
        return self.grid[1]

    # -- how good it is ---------------------------------------------------------------------------------------------

    @cached_property
    @single_threaded()
    def total_variance(self) -> float:
        """The weighted total of all answers of all queries, each query's taken by its scale."""
        tables = self.cross.tables
        each = [
            weight * tables.cells(way) * self.lift.covariance(w, w, way)
            for w, (way, weight) in enumerate(zip(tables.ways, tables.weights.tolist(), strict=True))
        ]
        return math.fsum(each) * self.noise_scale**2

    @property
    def bounding_law(self) -> WorstCase:
        """The law on people that proves the lower bound."""
        return self.law

    def proven(self, law: WorstCase) -> float:
        """The bound that a law proves at μ = 1, computed apart from the choice of the lift; rounded down."""
        check_law(law.kind == KIND)
        return proven_of_tables(self.cross.possible, law)

    def root_without(self, queries: Sequence[Query], gone: Sequence[int]) -> float:
        """√T at μ = 1 of the best noise for all members but some."""
        kept = [j for j in range(len(queries)) if j not in gone]
        if not kept:
            return 0.0
        cross = cross_of([queries[j] for j in kept], [self.places[j].scale for j in kept], self.neighbours)
        return math.sqrt(solve(cross.tables).total)

    # -- from sums to answers ---------------------------------------------------------------------------------------

    def tables(self, members: Sequence[Sequence[Sequence[int]]], people: int) -> list[Counts]:
        """The exact tables, from the counts of every member and the number of people."""
        found: list[Counts] = [np.zeros(shape, object) for shape in self.lift.shapes]
        for part, cells, groups in zip(self.cross.parts, self.cross.cells, members, strict=True):
            if part is not None:
                found[part][tuple(cells.T)] = [int(count) for (count,) in groups]
        if self.cross.everybody is not None:
            found[self.cross.everybody][()] = people
        return found

    def lifted(self, queries: Sequence[Query], members: Sequence[Sequence[Sequence[int]]], people: int) -> list[int]:
        """The integers to which the noise is added, from the counts of every member and the number of people."""
        return self.grid[0].exact_times(self.tables(members, people))

    def is_steady(self, members: Sequence[Sequence[Sequence[int]]], people: int) -> bool:
        """Whether the tables of all members can be of the same rows: who is in one is in all by fewer keys."""
        ways, tables = self.lift.ways, self.tables(members, people)
        for way, table in zip(ways, tables, strict=True):
            for other, fewer in zip(ways, tables, strict=True):
                if set(other) < set(way):
                    away = tuple(axis for axis, i in enumerate(way) if i not in other)
                    if (np.asarray(table.sum(axis=away)) > fewer).any():
                        return False
        return True

    def features(self, queries: Sequence[Query], noisy: Array) -> list[Array]:
        """What is read from the noisy rows of the lift: for each member groups × features."""
        tables = self.lift.undone(noisy)
        everybody = None if self.cross.everybody is None else float(tables[self.cross.everybody])
        found = []
        for query, part, cells in zip(queries, self.cross.parts, self.cross.cells, strict=True):
            if part is None:
                found.append(np.array([[everybody]], float))
                continue
            counts = tables[part][tuple(cells.T)]
            if query.groups is not None:
                found.append(counts[:, None])
            else:
                found.append(np.append(counts, [everybody] if query.block.shape.counted else [])[None].astype(float))
        return found

    def shapes_of(self, query: Query, place: Place) -> list[Strategy]:
        """The noise in one group of a query; all groups weigh the same."""
        return [self.shape_of_sum(query, place, (0,))]

    def shape_of_sum(self, query: Query, place: Place, groups: Sequence[int]) -> Strategy:
        """The noise in several groups of a query added up, or in one."""
        none: Matrix = Dense(np.zeros((0, 0)))
        part, all_people = place.part, self.cross.everybody
        counted = bool(query.block.problem.count_weight)
        people = 0.0 if all_people is None else self.lift.covariance(all_people, all_people, ())
        if part is None:
            return Strategy(NAME, none, Dense(np.array([[math.sqrt(people)]])), counted)
        way = self.lift.ways[part]
        if query.groups is not None:
            chosen = self.cross.cells[place.start][list(groups)]
            root = math.sqrt(self.lift.summed_variance(part, chosen.tolist()))
            return Strategy(NAME, none, Dense(np.array([[root]])), counted)
        variance, between = self.lift.covariance(part, part, way), self.lift.covariance(part, part, ())
        beside = self.lift.covariance(part, all_people, ()) if counted and all_people is not None else 0.0
        size = query.block.domain.dimension
        return Strategy(NAME, none, alike_features(size, variance, between, counted, beside, people), counted)

    def covariance_of(self, one: Query, other: Query, same_keys: bool, classes: tuple[int, int] = (0, 0)) -> Array:
        """Of the noise in the features of a cell of one query with those of another's, of the same keys or of others.

        The groups of each query weigh the same: there is one of `classes`.
        """
        left, right = self._read(one), self._read(other)
        found = np.zeros((len(left), len(right)))
        for i, a in enumerate(left):
            for j, b in enumerate(right):
                shared = set(self.lift.ways[a]) & set(self.lift.ways[b]) if same_keys else ()
                found[i, j] = self.lift.covariance(a, b, shared)
        return found * self.noise_scale**2

    def _read(self, query: Query) -> list[int]:
        """The tables that the features of a query are read from: its own, and that of all people."""
        part = None if query.place is None else query.place.part
        people = [self.cross.everybody] if self.cross.everybody is not None and query.groups is None else []
        own = [] if part is None else [part]
        return own + (people if part is None or query.block.shape.counted else [])

    def to_dict(self) -> dict[str, Any]:
        """All but what follows from the queries."""
        return {
            "kind": KIND,
            "members": list(self.members),
            "scales": [place.scale for place in self.places],
            "lift": self.lift.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "law": self.law.to_dict(),
            "apart": self.apart,
        }


def crossed_from_dict(fields: dict[str, Any], queries: Sequence[Query]) -> CrossedNoise:
    """The tie that `to_dict` described, of these queries of its plan; refuses what does not fit them."""
    if set(fields) != _FIELDS:
        raise damaged_plan("a tie that is not understood")
    members = tuple(int(i) for i in fields["members"])
    if not members or len(set(members)) != len(members) or not all(0 <= i < len(queries) for i in members):
        raise damaged_plan("a tie of queries that are not there")
    made = CrossedNoise.of(
        [queries[i] for i in members],
        [float(scale) for scale in fields["scales"]],
        members=members,
        lift=CrossedLift.from_dict(fields["lift"]),
        guarantee=Guarantee.from_dict(fields["guarantee"]),
        neighbours=check(fields["neighbours"]),
        law=WorstCase.from_dict(fields["law"]),
        apart=float(fields["apart"]),
    )
    # A law that proves less than it says would make the plan look better than it is.
    return replace(made, law=replace(made.law, lower=min(made.law.lower, made.proven(made.law))))


# Which queries of a plan are tables of the same keys, and the noise that is best for them together.


@dataclass(frozen=True, eq=False)
class Crossing:
    """Queries that are tables of the same keys, and the noise that was found for them."""

    members: tuple[int, ...]
    scales: tuple[float, ...]
    cross: Cross
    solution: CrossedSolution

    @property
    def root(self) -> float:
        """√T of the noise, at μ = 1."""
        return math.sqrt(self.solution.total)

    @property
    def law(self) -> WorstCase:
        """The law on people that bounds every noise for these tables."""
        from gaussmith.numerics.crossed import solve

        sets = self.cross.possible
        numbers = {"weights": self.solution.weights}
        if len(sets) > 1:
            numbers = {f"weights {k}": solve(tables).weights for k, tables in enumerate(sets)}
        law = WorstCase(KIND, 0.0, numbers)
        return replace(law, lower=proven_of_tables(sets, law))

    def apart(self, roots: Sequence[float]) -> float:
        """Σ √T with noise of its own for each."""
        return sum(roots[i] for i in self.members)

    def tie(self, questions: Any, queries: list[Query], share: Guarantee, apart: float) -> None:
        """Join the queries in a list of all."""

        made = CrossedNoise.of(
            [queries[i] for i in self.members],
            self.scales,
            members=self.members,
            lift=self.solution.lift,
            guarantee=share,
            neighbours=self.cross.tables.neighbours,
            law=self.law,
            apart=apart**2 / share.mu**2,
        )
        with within_doubles():
            for i, place in zip(self.members, made.places, strict=True):
                queries[i] = tied(queries[i], made, place)
                require_finite(queries[i].block.standard_errors, queries[i].total_variance)


def find_crossings(queries: Sequence[Query], scales: Sequence[float], neighbours: str) -> Iterator[list[Crossing]]:
    """Of each filter what can share a noise, with the best noise for it: all tables, or those that share a column."""
    keyed = {i: each for i, each in enumerate(map(keyed_of, queries)) if each is not None}
    for members, related in _related(keyed, queries):
        sets = dict.fromkeys((members, related))
        found = [_solved(each, queries, scales, neighbours) for each in sets]
        yield [each for each in found if each is not None]


def bound_tables(
    queries: Sequence[Query], scales: Sequence[float], neighbours: str, among: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], float | None]]:
    """Which queries among some are tables that share a column, and the least price of them together at μ = 1.

    None where no bound is known: their keys are too many, or their groups weigh differently.
    """
    keyed = {i: each for i in among if (each := keyed_of(queries[i], weighted=True)) is not None}
    for _, related in _related(keyed, queries):
        found = _solved(related, queries, scales, neighbours)
        yield related, None if found is None else found.law.lower


def _related(keyed: Mapping[int, Keyed], queries: Sequence[Query]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The tables of each filter, and those of them that share a column with another."""
    filters: dict[str | None, list[int]] = {}
    for i in keyed:
        rule = queries[i].row_rule
        assert rule is not None
        filters.setdefault(rule.where, []).append(i)
    for members in filters.values():
        related = tuple(i for i in members if any(i != j and _are_related(keyed[i], keyed[j]) for j in members))
        if related:
            yield tuple(members), related


def _are_related(one: Keyed, other: Keyed) -> bool:
    """Whether two tables have an attribute in common."""
    attributes: set[Attribute] = {*one.attributes}
    return not attributes.isdisjoint(other.attributes)


def _solved(
    members: Sequence[int], queries: Sequence[Query], scales: Sequence[float], neighbours: str
) -> Crossing | None:
    """The best noise for some tables; None where they are too many, or doubles cannot hold it."""
    from gaussmith.numerics.crossed import solve

    own = tuple(scales[i] for i in members)
    try:
        with within_doubles():
            cross = cross_of([queries[i] for i in members], own, neighbours)
            solution = solve(cross.tables)
            require_finite(solution.total)
    except (PlanError, ValueError, FloatingPointError):
        return None
    return Crossing(tuple(members), own, cross, solution)
