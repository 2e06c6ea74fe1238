"""What one person adds to queries that share their noise: the body, from the queries alone.

How many groups there are, how many of them a person is in, and whether everybody who is counted is in a query: all
of it follows from domains, groups and row rules, also when a plan is read from a file. Privacy rests on this.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from gaussmith.domains.domain import Domain, Problem, check_law, free_marks, rows_of
from gaussmith.domains.extremes import Signs
from gaussmith.errors import PlanError, damaged_plan
from gaussmith.expressions.formulas import columns_used, common_filter, same_meaning
from gaussmith.expressions.grammar import parse
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.numerics.exact import Array
from gaussmith.numerics.joint.parts import Body, Family, JointPart
from gaussmith.planning.row_rule import RowRule
from gaussmith.privacy.neighbours import ADD_REMOVE

if TYPE_CHECKING:
    from gaussmith.domains.joint_law import Beside
    from gaussmith.numerics.joint.law import TypesLaw
    from gaussmith.planning.query import Query


NAME = "tied"
"""What the noise of a tied query is called."""

MOST_GROUPS = 1000
"""Limit on the groups of a person whose rows are counted: how many have one row and how many all is certified."""


@dataclass(frozen=True)
class Place:
    """Where a query is in the body: its part (None: it only counts people), its first group there, and its scale.

    `scale` is what its squared errors are worth against those of the other queries.
    """

    part: int | None
    start: int
    scale: float


def counts_everybody(query: Query, where: str | None) -> bool:
    """Whether the records of a query are all people that pass the common filter."""
    rule = RowRule(()) if query.row_rule is None else query.row_rule
    everyone = not rule.present and rule.person_where is None and not rule.keys
    return query.groups is None and rule.where == where and everyone


def parts_of(query: Query, where: str | None, scale: float = 1.0) -> tuple[JointPart, ...]:
    """What a person adds to a query: a part for the groups of each weight; none where the query only counts everybody.

    Raises PlanError where the query cannot be tied.
    """
    part = part_of(query, where, scale)
    if part is None or query.groups is None or len(query.groups.classes) == 1:
        return () if part is None else (part,)
    return tuple(
        replace(
            part,
            groups=len(places),
            most=min(part.most, len(places)),
            weights=part.weights * weight,
            count_weight=part.count_weight * weight,
        )
        for weight, places in query.groups.classes
    )


def body_of(query: Query) -> Body | None:
    """What one person adds to a query alone; None where it only counts everybody."""
    parts = parts_of(query, None)
    return Body(parts, families=_families(query, 0, len(parts))) if parts else None


def _families(query: Query, start: int, size: int) -> tuple[Family, ...]:
    """The limit that the parts of a query have in common, where it has several."""
    if size == 1 or query.groups is None:
        return ()
    return (Family(tuple(range(start, start + size)), query.groups.at_most),)


def part_of(query: Query, where: str | None, scale: float = 1.0) -> JointPart | None:
    """What a person adds to a query, for noise that is tied; None where the query only counts everybody.

    Raises PlanError where the query cannot be tied.
    """
    if query.groups is not None and query.groups.is_found:
        raise untied("its groups are found in the data")
    problem, domain = query.block.problem, query.block.domain
    everybody = counts_everybody(query, where)
    most_marks, rows = free_marks(domain), rows_of(domain)
    if most_marks is not None:
        weight = problem.common_weight
        if weight is None or query.groups is not None or (query.block.answers.count and not everybody):
            raise untied("its cells do not weigh the same, or are counted apart")
        none = np.zeros(0)
        return JointPart(domain.dimension, 0, most_marks, none, none, none, weight * scale)
    if rows is None and not isinstance(domain.extremes(), Signs):
        raise untied("its columns are bound together")
    sums, max_rows = (0, 0) if rows is None else (rows.sums, rows.at_most)
    if max_rows and query.neighbours != ADD_REMOVE:
        raise untied("rows of people who are replaced are not counted together")
    groups, most = (1, 1) if query.groups is None else (query.groups.size, query.groups.at_most)
    kind = groups, int(everybody), most, scale
    known = _KNOWN.get(problem)  # a tie asks for the same several times
    if known is None or known[0] != kind:
        known = _KNOWN[problem] = kind, _make_part(problem, sums, max_rows, *kind)
    return known[1] if known[1].columns or not everybody else None


_KNOWN: WeakKeyDictionary[Problem[Domain], tuple[Hashable, JointPart]] = WeakKeyDictionary()


def _make_part(
    problem: Problem[Domain], rows: int, max_rows: int, groups: int, fewest: int, most: int, scale: float
) -> JointPart:
    """The part of a query whose columns vary alone, or which counts rows; refuses one that cannot be tied."""
    with within_doubles():
        centre, radius, weights, count = _columns(problem)
        require_finite(centre, weights * scale, 1.0 / weights, count * scale)
    if max_rows and centre[len(centre) - rows - 1 :].any():
        raise untied("its sums over rows are not centred")
    if max_rows and most > MOST_GROUPS:
        raise untied("a person has rows in too many groups")
    return JointPart(groups, fewest, most, centre, radius, weights * scale, count * scale, rows, max_rows)


def untied(why: str) -> PlanError:
    """Why a query has noise of its own."""
    return PlanError("a query that cannot share its noise", why, "plan it apart", code="query-cannot-be-tied")


def _columns(problem: Problem[Domain]) -> tuple[Array, Array, Array, float]:
    """Centre, radius and weight of each column and the weight of the count, as one square for each.

    Σ over answers of w (c a + r z)²  =  Σ_j w_j (c_j a + r_j z_j)² + w_0 a²
    """
    rows = problem.lifted_rows
    gram = rows.T @ rows
    p = problem.domain.dimension
    inner = gram[:p, :p]
    diagonal = np.diag(inner).copy()
    if (inner != np.diag(diagonal)).any() or not (diagonal > 0).all():
        raise untied("its answers mix columns")
    radius = problem.domain.coded[1]
    centre = radius * gram[:p, p] / diagonal
    rest = float(gram[p, p] - (gram[:p, p] ** 2 / diagonal).sum())
    count = problem.count_weight
    rest = count if abs(rest - count) <= 1e-9 * gram[p, p] else max(rest, 0.0)  # each column asked once: exactly this
    return centre, radius, diagonal / radius**2, rest


def placed(
    found: Sequence[tuple[int, tuple[JointPart, ...]]], scales: Sequence[float]
) -> tuple[tuple[int, ...], tuple[Place, ...]]:
    """A place for each query: filters that ask the same of their people are groups of one part.

    A query whose groups weigh differently has a part for each weight, one after the other from its place on.
    """
    kinds: list[JointPart] = []
    sizes: list[int] = []
    weighted: set[int] = set()
    places = []
    for i, parts in found:
        if not parts:
            places.append(Place(None, 0, scales[i]))
            continue
        part = parts[0]
        one = len(parts) == 1 and _is_filter(part)
        alike = (q for q, kind in enumerate(kinds) if one and q not in weighted and are_alike(kind, part))
        at = next((q for q in alike if _is_filter(kinds[q])), len(kinds))
        if len(parts) > 1:
            weighted |= set(range(at, at + len(parts)))
        if at == len(kinds):
            kinds += parts
            sizes += [0] * len(parts)
        places.append(Place(at, sizes[at], scales[i]))
        sizes[at] += part.groups
    return tuple(i for i, _ in found), tuple(places)


def _is_filter(part: JointPart) -> bool:
    return part.groups == 1 and not part.always


def make_body(queries: Sequence[Query], places: Sequence[Place], where: str | None) -> Body:
    """What one person adds to all queries together; refuses places that are not those of the queries."""
    if len(places) != len(queries):
        raise _misplaced()
    parts: dict[int, list[tuple[Place, JointPart]]] = {}
    families: tuple[Family, ...] = ()
    people_weight = 0.0
    for query, place in zip(queries, places, strict=True):
        if not (np.isfinite(place.scale) and place.scale > 0):
            raise damaged_plan("a tie with a scale that is not positive")
        own = parts_of(query, where, place.scale)
        if bool(own) != (place.part is not None):
            raise _misplaced()
        cells = [part for part in own if part.columns == 0 and part.groups == query.block.domain.extremes().size]
        if not own or (cells and query.block.answers.count):
            people_weight += place.scale * query.block.problem.count_weight
        if place.part is not None:
            families += _families(query, place.part, len(own))
            for q, part in enumerate(own, place.part):
                parts.setdefault(q, []).append((place, part))
    if sorted(parts) != list(range(len(parts))):
        raise _misplaced()
    shared = [q for family in families for q in family.members]
    if any(len(parts[q]) > 1 for q in shared):
        raise _misplaced()
    return Body(tuple(_pooled(parts[q]) for q in range(len(parts))), people_weight, families)


def _misplaced() -> PlanError:
    """The error for places that are not those of the queries."""
    return damaged_plan("a tie with places that do not fit")


def _pooled(members: Sequence[tuple[Place, JointPart]]) -> JointPart:
    """Queries of one part, one after the other: a person is in as many groups as in all of them."""
    at = 0
    first = members[0][1]
    for place, part in members:
        alike = len(members) == 1 or (part.fewest == 0 and are_alike(part, first))
        if place.start != at or not alike:
            raise _misplaced()
        at += part.groups
    if len(members) == 1:
        return first
    most = sum(part.most for _, part in members)
    return replace(first, groups=at, most=most)


def same_people(one: JointPart, other: JointPart) -> bool:
    """Whether a person can add the same to two parts, as far as privacy goes."""
    return all(getattr(one, name) == getattr(other, name) for name in _PEOPLE)


_PEOPLE = ("groups", "fewest", "most", "columns", "row_columns", "max_rows")


def are_alike(one: JointPart, other: JointPart) -> bool:
    """Whether groups of two parts hold the same columns, of the same worth."""
    pairs = ((one.centre, other.centre), (one.radius, other.radius), (one.weights, other.weights))
    rows = (one.row_columns, one.max_rows) == (other.row_columns, other.max_rows)
    return rows and one.count_weight == other.count_weight and all(np.array_equal(a, b) for a, b in pairs)


def parts_by_groups(query: Query, place: Place) -> list[tuple[int, tuple[int, ...] | None]]:
    """The parts of a query, and which of its groups are in each, in order; None where all are in its only part."""
    if place.part is None:
        return []
    if query.groups is None or len(query.groups.classes) == 1:
        return [(place.part, None)]
    return list(enumerate((places for _, places in query.groups.classes), place.part))


def extents_of(queries: Sequence[Query], places: Sequence[Place], body: Body) -> tuple[Array, ...]:
    found = [np.ones(part.columns) for part in body.parts]
    for query, place in zip(queries, places, strict=True):
        if place.part is not None and free_marks(query.block.domain) is None:
            columns = query.block.codes.extents
            if place.start and not np.array_equal(found[place.part], columns):
                raise _misplaced()
            for q, _ in parts_by_groups(query, place):
                found[q] = columns
    return tuple(found)


def check_common(queries: Sequence[Query], where: str | None) -> None:
    """Refuse queries whose people need not pass the common filter, or are named by other columns."""
    rules = [RowRule(()) if query.row_rule is None else query.row_rule for query in queries]
    columns = [dict(rule.columns) for rule in rules]
    units = {rule.unit for rule in rules}
    if len(units) > 1 or not same_meaning((unit for unit in units if unit is not None), columns):
        raise damaged_plan("a tie of tables with other people")
    if not all(common_filter(where, rule.where, columns) for rule in rules):
        raise damaged_plan("a tie of queries without a common filter")


# Which columns of a source a row rule needs, and so of which queries a law on people may speak at once.
#
# A law proves something only if the people it describes can exist. A person can be anything in several queries where
# these read other columns; where they read one column, what it is in one query limits what it is in another. So a
# law speaks of
#
#     queries that read no column in common, but for a filter that all of them have
#     queries by the same keys, each person in one group, the same one in all: repeated in every group
#
# and the bounds of several laws add up. What nothing here looks at is assumed (`certificate.ASSUMED`).


def columns_asked(rule: RowRule, where: str | None) -> set[str]:
    """The columns of the source that decide what a person who passes the filter `where` adds, whoever the person is.

    >>> sorted(columns_asked(RowRule((("total", "bmi"),), columns=(("bmi", "w / 2"), ("x", "y")), where="f"), "f"))
    ['w']
    """
    meanings = dict(rule.columns)
    named = {*rule.names, *rule.present, *rule.by}
    if rule.where is not None and rule.where != where:
        named |= {*columns_used(parse(rule.where))}
    if rule.person_columns:
        named |= {name for _, text in rule.person_columns for name in columns_used(parse(text, of_people=True))}
        named -= {name for name, _ in rule.person_columns}
    return columns_behind(named, meanings)


def columns_behind(named: Iterable[str], meanings: Mapping[str, str]) -> set[str]:
    """The columns of the source that some columns are made of, where these have such meanings."""
    waiting, seen, found = set(named), set[str](), set[str]()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        if name in meanings:
            waiting |= {*columns_used(parse(meanings[name]))} - seen
            if name in columns_used(parse(meanings[name])):  # made of a column of the same name
                found.add(name)
        else:
            found.add(name)
    return found


class FreeRules:
    """Row rules under each of which a person can be anything, whatever it is under the others.

    where: the filter of all; None where they differ. Once in a group by `keys`. `hold` is whether all given ones are.
    """

    def __init__(self, rules: Sequence[RowRule], keys: Sequence[str] = ()) -> None:
        filters = {rule.where for rule in rules}
        self.where = filters.pop() if len(filters) == 1 else None
        self.keys, self.rules = keys, list[RowRule]()
        self.common = {*keys} | (set() if self.where is None else {*columns_used(parse(self.where))})
        self.seen = columns_behind(keys, dict(rules[0].columns))
        self.hold = all(self._take(rule) for rule in rules)

    def beside(self, rule: RowRule) -> FreeRules | None:
        """These with one more, taken in where the filter allows; None where they would not be free."""
        if self.where in (None, rule.where):
            return self if self._take(rule) else None
        found = FreeRules([*self.rules, rule], self.keys)
        return found if found.hold else None

    def _take(self, rule: RowRule) -> bool:
        if not same_meaning(self.common, [dict(each.columns) for each in (*self.rules[:1], rule)]):
            return False
        if rule.person_columns and any(each.person_columns for each in self.rules):  # they may be about the same rows
            return False
        asked = columns_asked(replace(rule, by=tuple(name for name in rule.by if name not in self.keys)), self.where)
        if not self.seen.isdisjoint(asked):
            return False
        self.seen |= asked
        self.rules.append(rule)
        return True


def are_free(queries: Sequence[Query], keys: Sequence[str] = ()) -> bool:
    """Whether a person can be anything in each of some queries, whatever it is in the others, once in a group by
    `keys`.

    Queries without a row rule are about plain data: each column is another number of the person.
    """
    return len(queries) < 2 or FreeRules([query.row_rule or RowRule(()) for query in queries], keys).hold


def columns_changed(query: Query) -> set[str]:
    """The columns of the source on which it depends what a replaced person changes in a query, its filter included."""
    asked = columns_asked(query.row_rule or RowRule(()), None)
    return asked | {"the number of rows"} if _is_over_rows(query) else asked


def _is_over_rows(query: Query) -> bool:
    """Whether it matters how many rows a person has."""
    return rows_of(query.block.domain) is not None or bool(query.row_rule and query.row_rule.person_columns)


@dataclass(frozen=True, eq=False)
class JointPeople:
    """People who can exist: some queries by their places, what one person adds to them, and in how many groups alike.

    times: 1, or the weights of all groups where the body is that of one of them
    full:  the parts in which a law's people have all their rows, as other parts count the same rows
    """

    members: tuple[int, ...]
    body: Body
    times: float = 1.0
    full: tuple[int, ...] = ()

    def law(self, neighbours: str) -> TypesLaw:
        """A law on these people, found apart from any noise."""
        from gaussmith.numerics.joint.ladder import NOBODY
        from gaussmith.planning.joint_noise import law_for

        if not self.body.parts:
            return NOBODY
        found = law_for(self.body, neighbours)
        corners = list(found.corners)
        for q in self.full:
            kept = corners[q] = corners[q].copy()
            kept[:, self.body.parts[q].of_rows] /= kept[:, self.body.parts[q].varying, None]
            kept[:, self.body.parts[q].varying] = 1.0
        return replace(found, corners=tuple(corners))

    def proven(self, law: TypesLaw, neighbours: str, beside: Sequence[Beside] = ()) -> float:
        """No Gaussian noise at μ = 1 for these queries has a smaller total, by a law on these people; rounded down."""
        from gaussmith.domains.joint_law import lower_bound

        check_law(all((law.corners[q][:, self.body.parts[q].varying] == 1.0).all() for q in self.full))
        found = lower_bound(self.body, neighbours, law, beside)
        return found if self.times == 1.0 else found * self.times * (1.0 - 2.0**-50)


def people_of(
    queries: Sequence[Query], scales: Sequence[float], members: Sequence[int], where: str | None
) -> JointPeople | None:
    """What one person can add to some queries at once; None where they are not of which a law may speak.

    Whoever is counted passes the filter of all of them, or `where`, the common filter of more. Requires that each can
    be part of a body (`parts_of`).

    Guarantee: no Gaussian noise for these queries has a total below what a law on these people proves.
    Proof: docs/theory.md, statement 44.
    """
    chosen, times = [queries[i] for i in members], 1.0
    filters = {(query.row_rule or RowRule(())).where for query in chosen}
    where = filters.pop() if len(filters) == 1 else where
    if len(chosen) > 1 and not are_free(chosen):
        groups = chosen[0].groups
        if groups is None or not _are_alike(chosen) or not are_free(chosen, groups.columns):
            return None
        times = sum(weight * len(at) for weight, at in groups.classes)
        chosen = [replace(query, groups=None) for query in chosen]
    found = [(k, parts_of(query, where, scales[i])) for k, (i, query) in enumerate(zip(members, chosen, strict=True))]
    _, places = placed(found, [scales[i] for i in members])
    body = make_body(chosen, places, where)
    over = [(place.part, query) for place, query in zip(places, chosen, strict=True) if rows_of(query.block.domain)]
    rules = [(part, query.row_rule or RowRule(())) for part, query in over]
    full = {part for part, rule in rules if len(over) > 1 and not rule.present and part is not None}
    return JointPeople(tuple(members), body, times, tuple(sorted(full)))


def _are_alike(queries: Sequence[Query]) -> bool:
    """Whether queries are by the same groups of the same rows."""
    kinds = [
        None
        if (by := query.groups) is None
        else (by.columns, by.at_most, by.weights, by.size, rule.where, rule.by_cuts)
        for query, rule in ((query, query.row_rule or RowRule(())) for query in queries)
    ]
    if any(kind != kinds[0] for kind in kinds):
        return False
    keys = [None if query.groups is None else (query.groups.labels, query.groups.places[0]) for query in queries]
    return all(each == keys[0] for each in keys)  # true and 1 are equal labels, but two keys


def possible_people(
    queries: Sequence[Query], scales: Sequence[float], members: Sequence[int], where: str | None
) -> list[list[JointPeople]]:
    """Some queries in sets of which a law may speak at once, in one or two ways: which proves more is seen by trying.

    Each query is in one set, and bounds of the sets add up. Queries by the same keys are a set each, after the
    others, or join others as any query does: the first set that they fit, those that weigh most first.
    """
    order = sorted(members, key=lambda i: -sum(part.size for part in parts_of(queries[i], where, scales[i])))
    alike: list[list[int]] = []
    for i in order:
        held = queries[i].groups
        if held is not None and held.at_most == 1:
            _join(alike, i, lambda some: _are_alike([queries[j] for j in some]) and _fits(queries, scales, some, where))
    alike = [some for some in alike if len(some) > 1]
    found = []
    for repeated in (alike, []) if alike else ([],):
        taken = {i for some in repeated for i in some}
        rest = _free_sets(queries, [i for i in order if i not in taken])
        sets = [people_of(queries, scales, sorted(some), where) for some in (*rest, *repeated)]
        found.append([each for each in sets if each is not None])
    return found


def _free_sets(queries: Sequence[Query], order: Sequence[int]) -> list[list[int]]:
    """Queries in sets that are free, each in the first that it fits."""
    sets: list[list[int]] = []
    free: list[FreeRules] = []
    for i in order:
        rule = queries[i].row_rule or RowRule(())
        beside = ((k, found) for k, each in enumerate(free) if (found := each.beside(rule)))
        if (joined := next(beside, None)) is None:
            sets.append([i])
            free.append(FreeRules([rule]))
        else:
            sets[joined[0]].append(i)
            free[joined[0]] = joined[1]
    return sets


def _fits(queries: Sequence[Query], scales: Sequence[float], held: Sequence[int], where: str | None) -> bool:
    try:
        return people_of(queries, scales, held, where) is not None
    except PlanError:
        return False


def _join(sets: list[list[int]], i: int, fits: Callable[[list[int]], bool]) -> None:
    """Put a query into the first set that it fits, or into one of its own."""
    for held in sets:
        if fits([*held, i]):
            held.append(i)
            return
    sets.append([i])
