"""What is tried with a random request: its total beside the optimum, and its neighbours beside what is charged."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gaussmith.planning.plan import Plan
from whole.asks import WholeAsk
from whole.optimum import differences_of, least_total, total_of
from whole.pairs import distances, in_numbers, spent, total_alone, total_tables
from whole.people import Table, everyone, neighbours_of, rows_at, schema_of

ALONE = 2
"""So many pairs are also taken one by one, the way a release takes them."""


@dataclass(frozen=True)
class Beside:
    """The total of a plan over the least of any Gaussian noise: at least and at most, from what cvxpy proves."""

    least: float
    most: float
    said: float
    """What the plan itself says."""


def try_optimum(ask: WholeAsk) -> Beside:
    best = least_total(differences_of(ask))
    plan = ask.request().plan
    total = total_of(plan)
    if best.upper == 0.0:
        return Beside(*((1.0, 1.0) if total == 0.0 else (2.0, 2.0)), plan.optimality)
    return Beside(total / best.upper, total / best.lower, plan.optimality)


@dataclass(frozen=True)
class Pairs:
    """Squared distances of neighbours: the largest of one noise, and of all noises together."""

    largest: Fraction
    together: Fraction
    differ: int
    """How many tables gave other integers alone than among others."""
    violations: int


def try_pairs(ask: WholeAsk, generator: random.Random, count: int) -> Pairs:
    """Random neighbours, from rows to integers."""
    plan, schema = ask.request(mu=generator.choice([0.1, 1.0, 5.0])).plan, schema_of(ask)
    return compare_pairs(plan, [table for _ in range(count) for table in neighbours_of(ask, generator)], schema)


def compare_pairs(plan: Plan, tables: Sequence[Table], schema: dict[str, Any]) -> Pairs:
    """How far apart the integers of neighbours are: of the first table and the second, the third and the fourth, …"""
    totals = total_tables(plan, tables, schema)
    alone = range(min(2 * ALONE, len(tables)))
    differ = sum(in_numbers(total_alone(plan, tables[i], schema)) != in_numbers(totals[i]) for i in alone)
    found = [distances(plan, one, other) for one, other in zip(totals[0::2], totals[1::2], strict=True)]
    together = [spent(plan, each) for each in found]
    violations = sum(max(each) > 1 or all_of > 1 for each, all_of in zip(found, together, strict=True))
    return Pairs(max(map(max, found)), max(together), differ, violations)


def try_corners(ask: WholeAsk, pairs: int = 3000) -> list[Fraction]:
    """Of each noise the largest squared distance of people at the corners: of all types, or of so many pairs."""
    plan, schema = ask.request().plan, schema_of(ask)
    added = ask.neighbours == "add-remove"
    tables = [rows_at(ask, corners) for corners in everyone(ask, alike=added)]
    if added:
        nobody, *people = total_tables(plan, [[], *tables], schema)
        both = [(nobody, each) for each in people]
    else:
        people = total_tables(plan, tables, schema)
        both = list(itertools.islice(itertools.combinations(people, 2), pairs))
    found = [distances(plan, one, other) for one, other in both]
    return [max(each[i] for each in found) for i in range(len(plan.noises))]
