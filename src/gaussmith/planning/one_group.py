"""Queries by the same groups, seen as queries about one group: planned once, and used anew in every group.

Under add-remove a person who is in one group at most, the same one in all queries, is e_i ⊗ x: group i, and what it
adds there. Noise Σ₁ for one group, drawn anew in each of g groups, hides everybody, and costs Σ_i w_i T₁ with group
weights w_i. No Gaussian noise costs less (docs/theory.md, statement 78). Under replace-one a person leaves one group
and enters another, or changes within its own: the same noise serves at μ/√2, or less where a change within is larger.

Privacy rests on `one_choice`: whoever is in a group for one query is in no other group for any other query. That holds
where all queries choose by the same rows: the same unit, filter, key columns and list of groups, one group for a
person. Rows that lack a value are among them: such a value is left out of that group's mean, and the person stays in
the group. Where each row is a person its keys are the choice, and filters may differ: by two filters, a person with
several rows could be in one group for one query and in another for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.box import Records
from gaussmith.domains.cells import Cells
from gaussmith.domains.domain import Problem
from gaussmith.domains.groups import Groups
from gaussmith.domains.strategies import Strategy
from gaussmith.errors import damaged_plan
from gaussmith.expressions.formulas import columns_used, same_meaning
from gaussmith.expressions.grammar import parse
from gaussmith.numerics.matrices import Diagonal
from gaussmith.planning.joint_people import columns_asked, columns_behind
from gaussmith.planning.row_rule import RowRule
from gaussmith.privacy.neighbours import ADD_REMOVE
from gaussmith.statistics.asking import ask

if TYPE_CHECKING:
    from gaussmith.planning.query import Query


def by_one_key(queries: Sequence[Query]) -> list[tuple[int, ...]]:
    """The places of queries that are about the same groups, where there are several: sets in the order of the first."""
    found: dict[Any, list[int]] = {}
    for i, query in enumerate(queries):
        key = _key(query)
        if key is not None:
            found.setdefault(key, []).append(i)
    sets = [tuple(members) for members in found.values() if len(members) > 1]
    sets = [members for members in sets if any(queries[i].groups is not None for i in members)]
    return [members for members in sets if _means_the_same([queries[i] for i in members])]


def one_choice(queries: Sequence[Query]) -> Groups:
    """The groups that all queries are about; refuses queries for which one person can be in two of them.

    Guarantee: adding or removing all rows of one person changes the totals of one group at most, the same in all
    queries; replacing them, of two groups.
    """
    groups = next((query.groups for query in queries if query.groups is not None), None)
    keys = {_key(query) for query in queries}
    if groups is None or len(keys) != 1 or None in keys or not _means_the_same(queries):
        raise damaged_plan("one noise in every group for queries that are not by the same groups")
    return groups


def _key(query: Query) -> Any:
    """What queries have in common for which a person is in the same group; None where it may be in several, or unseen.

    A histogram, a person having one value, is a count by its values.
    """
    rule, groups = query.row_rule, query.groups
    if rule is None or query.block.neighbours != ADD_REMOVE or rule.form or rule.keys:
        return None
    if query.neighbours != ADD_REMOVE and groups is None:
        return None
    if query.block.problem.features.targets is not None or rule.person_where is not None:
        return None
    if query.block.domain.chosen:  # a choice is no noise that others could share
        return None
    read = (rule.unit, rule.where, rule.person_columns) if rule.unit is not None else (None,)
    if groups is None:
        labels = _values(query)
        if labels is None:
            return None
        column = rule.features[0][1]
        cut = rule.cut_of(column)
        cuts = () if cut is None else ((column, cut),)
        return *read, (column,), cuts, (tuple(map(type, labels)), tuple(labels)), None
    if groups.is_found or groups.at_most != 1 or (rule.unit is not None and rule.groups_per_unit != 1):
        return None
    return *read, groups.columns, rule.by_cuts, groups.typed_keys, groups.weights


def _values(query: Query) -> Sequence[Any] | None:
    """The values of a histogram that is a count by groups: of a person who has one value, all weighing the same."""
    domain, rule = query.block.domain, query.row_rule
    if rule is None or rule.histogram is None or rule.by or rule.values_per_unit != 1 or rule.present:
        return None
    plain = isinstance(domain, Cells) and domain.or_none and not query.block.answers.count
    return domain.input.values if plain and query.block.problem.common_weight is not None else None


def _means_the_same(queries: Sequence[Query]) -> bool:
    """Whether keys, filter and unit are made of the same columns in all queries, and no query is about the keys."""
    rules = [query.row_rule or RowRule(()) for query in queries]
    meanings = [dict(rule.columns) for rule in rules]
    keys = next((query.groups.columns for query in queries if query.groups is not None), ())
    filters, unit = {rule.where for rule in rules}, rules[0].unit
    where = filters.pop() if len(filters) == 1 else None
    named = {*keys, *(() if where is None else columns_used(parse(where))), *(() if unit is None else (unit,))}
    if not same_meaning(named, meanings):
        return False
    seen = columns_behind(keys, meanings[0])
    return all(seen.isdisjoint(columns_asked(_rule_inside(query), where)) for query in queries)


def inside(query: Query) -> Query:
    """The query as it is in one of its groups, where people come and go. A histogram by whose values people are grouped
    is a count there."""
    if query.groups is not None:
        return replace(query, groups=None, by_weight=(), row_rule=_rule_inside(query), neighbours=ADD_REMOVE)
    weight, domain = query.block.problem.common_weight, Records()
    answers = ask(domain, count=True)
    features = replace(answers.features, count_weight=float(weight or 0.0))
    answers = replace(answers, features=features)
    block = replace(
        query.block,
        problem=Problem(domain, features, query.block.neighbours),
        answers=answers,
        shape=Strategy(query.block.shape.name, Diagonal(np.ones(1)), Diagonal(np.ones(1)), True),
        substitutes=domain.centre,
        alternatives=(),
        law=None,
    )
    return replace(query, block=block, row_rule=_rule_inside(query))


def _rule_inside(query: Query) -> RowRule:
    rule = query.row_rule
    assert rule is not None
    if query.groups is None:
        return replace(rule, features=(), cuts=())
    return replace(rule, by=(), by_cuts=(), groups_per_unit=1)


def counted_in_groups(silent: Query, like: Query) -> Query:
    """A query that counts everybody in each group, from one that counts everybody in one group."""
    assert like.groups is not None and like.row_rule is not None
    assert silent.row_rule is not None
    rule = replace(
        silent.row_rule,
        by=like.row_rule.by,
        by_cuts=like.row_rule.by_cuts,
        groups_per_unit=like.row_rule.groups_per_unit,
        person_columns=like.row_rule.person_columns,
    )
    return replace(silent, groups=like.groups.over(silent.block.domain), row_rule=rule)


def weight_of(groups: Groups) -> float:
    """Σ_i w_i over the groups."""
    return float(np.sum(groups.weights)) if groups.weights is not None else float(groups.size)
