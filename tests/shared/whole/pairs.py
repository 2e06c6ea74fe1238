"""From the rows of many tables to the integers that noise is added to, of every noise of a plan, and how far apart the
integers of neighbours are.

All tables go through one pass for each query, their number a further key; `total_alone` takes a table the way a release
does, and gives the same integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import polars as pl

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.box import Records
from gaussmith.domains.chosen_cells import ChosenCells
from gaussmith.domains.groups import Groups
from gaussmith.engines.engine import Totals
from gaussmith.planning.certified_grid import NOISE_BITS, SharedNoise
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import AnyTie, Query
from gaussmith.privacy.choices import gdp_of_choice
from gaussmith.totals.opened import lift_groups, open_data, total

Found = list[list[Totals]]
"""The totals of one table: of every query those of its groups."""


def total_tables(plan: Plan, tables: Sequence[Sequence[dict[str, Any]]], schema: dict[str, Any]) -> list[Found]:
    """The totals of every table."""
    rows = []
    for number, table in enumerate(tables):
        for row in table:
            person = row.get("person")
            rows.append({**row, "person": None if person is None else f"{number} {person}", "table": number})
    frame = pl.DataFrame(rows, schema={**schema, "table": pl.Int64})
    each = [_total_query(query, frame, len(tables)) for query in plan.queries]
    return [[of_query[number] for of_query in each] for number in range(len(tables))]


def _total_query(query: Query, frame: pl.DataFrame, tables: int) -> Found:
    rule = query.row_rule
    assert rule is not None
    if rule.histogram is not None:  # as a release does it: declared values are groups, and then everybody
        values = query.block.domain.input.values
        assert values is not None
        keys = [{rule.histogram: value} for value in values]
        counted = _grouped(query, frame, tables, keys, rule.values_per_unit, plain=True)
        people = _grouped(query, frame, tables, None, 1, plain=True)
        return [[Totals([t.records for t in c], p[0].records)] for c, p in zip(counted, people, strict=True)]
    if query.groups is None:
        return _grouped(query, frame, tables, None, 1)
    keys = [dict(zip(query.groups.columns, label, strict=True)) for label in query.groups.labels]
    return _grouped(query, frame, tables, keys, rule.groups_per_unit)


def _grouped(
    query: Query, frame: pl.DataFrame, tables: int, keys: list[dict[str, Any]] | None, most: int, plain: bool = False
) -> Found:
    """The totals of every table, by these keys in each; `plain`: of people alone, without their numbers."""
    assert query.row_rule is not None
    labels: list[dict[str, Any]] = [{"table": number} for number in range(tables)]
    if keys is not None:
        labels = [{**table, **key} for table in labels for key in keys]
    block = query.block
    if plain:
        block = gm.plan(Records(), gm.Guarantee(mu=1), count=True).block
    by = Groups(labels, block.domain, most)
    features = () if plain else query.row_rule.features
    rule = replace(query.row_rule, by=by.columns, features=features, groups_per_unit=most)
    found = total(open_data(frame, replace(query, block=block, row_rule=rule, groups=by)))
    size = len(labels) // tables
    return [found[i * size : (i + 1) * size] for i in range(tables)]


def total_alone(plan: Plan, table: Sequence[dict[str, Any]], schema: dict[str, Any]) -> Found:
    """The totals of one table, as a release finds them; without the rehearsal, which adds up no rows."""
    frame = pl.DataFrame(list(table), schema=schema)
    with mock.patch.object(mechanism, "rehearse", lambda opened: None):
        prepared = mechanism.prepare_request(plan, frame)
    return [total(source) for source in prepared.sources]


def in_numbers(found: Found) -> list[Any]:
    """Totals as plain numbers, which are equal or not."""
    return [[([int(k) for k in each.sums], each.records) for each in query] for query in found]


def lifted(plan: Plan, totals: Found) -> list[list[int]]:
    """The integers to which noise is added, of every noise of a plan: what `release_totals` makes of totals."""
    found = []
    for noise in plan.noises:
        if isinstance(noise, SharedNoise):
            seen = mechanism.totals_seen(plan, noise, totals)
            made = mechanism.lift_copies(noise, [(noise.seen(plan.queries[i]), seen[i]) for i in noise.members])
            found.append(made.ravel().tolist())
            continue
        at = next(i for i, query in enumerate(plan.queries) if query is noise)
        block = noise.block
        if block.lender is not None:
            seen = mechanism.totals_seen(plan, block.lender, totals)
            found.append(mechanism.lift_lent(block.lender, noise, seen[at], seen).ravel().tolist())
            continue
        each = totals[at]
        if block.domain.chosen:  # given the choice
            each = [mechanism.total_in_the_middle(noise, group) for group in each]
        found.append([int(y) for vector in lift_groups(noise, each) for y in vector])
    return found


def room(noise: Query | AnyTie) -> Fraction:
    """(μ 2^52)²: noise of round(2^52 Z) hides any difference of at most this square."""
    return (Fraction(noise.guarantee.mu) * 2**NOISE_BITS) ** 2


def distances(plan: Plan, one: Found, other: Found) -> list[Fraction]:
    """Squared distances of neighbours' integers, of each noise in units of what its guarantee leaves room for."""
    found = distances_of(plan, lifted(plan, one), lifted(plan, other))
    return [each + moved_choice(plan, noise, one, other) for each, noise in zip(found, plan.noises, strict=True)]


def moved_choice(plan: Plan, noise: Query | AnyTie, one: Found, other: Found) -> Fraction:
    """What the choices of a noise take of its μ² for these neighbours, by how far each group's ranks really moved."""
    domain = None if isinstance(noise, SharedNoise) else noise.block.domain
    if not isinstance(domain, ChosenCells):
        return Fraction(0)
    at = next(i for i, query in enumerate(plan.queries) if query is noise)
    taken = Fraction(0)
    for a, b in zip(one[at], other[at], strict=True):
        moved = max(abs(x - y) for x, y in zip(*(_distances(each, a, b, domain.level) for each in (a, b)), strict=True))
        share = domain.epsilon * moved / domain.sensitivity_of_ranks(noise.neighbours)
        taken += Fraction(gdp_of_choice(share)) ** 2 if share else 0
    return taken / Fraction(noise.guarantee.mu) ** 2


def _distances(group: Any, a: Any, b: Any, level: Fraction) -> list[Fraction]:
    """How far off each cell of a group is that may differ from the others: where somebody is, and between."""
    places = sorted({int(p) + step for each in (a, b) for p in each.places for step in (-1, 0, 1)})
    n, found = group.records, []
    for place in places:
        below, upto = (
            sum(int(c) for p, c in zip(group.places, group.counts, strict=True) if p < end)
            for end in (place, place + 1)
        )
        found.append(max(Fraction(0), below - level * n, level * n - upto))
    return found or [Fraction(0)]


def distances_of(plan: Plan, one: list[list[int]], other: list[list[int]]) -> list[Fraction]:
    """The same from the integers of both."""
    found = []
    for noise, a, b in zip(plan.noises, one, other, strict=True):
        square = sum((y - z) ** 2 for y, z in zip(a, b, strict=True))
        found.append(Fraction(square) / room(noise))
    return found


def spent(plan: Plan, found: Sequence[Fraction]) -> Fraction:
    """What a pair of neighbours takes of the whole plan's μ², all noises together."""
    shares = (Fraction(noise.guarantee.mu) ** 2 for noise in plan.noises)
    return sum((d * share for d, share in zip(found, shares, strict=True)), Fraction(0)) / (
        Fraction(plan.guarantee.mu) ** 2
    )
