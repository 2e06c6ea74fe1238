"""What neighbours lose under pure ε: the norm of the difference of their integers, times ε over the sensitivity."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import gaussmith as gm
from gaussmith.planning.plan import Plan
from gaussmith.privacy.neighbours import ADD_REMOVE
from gaussmith.totals.opened import lift_groups
from whole.asks import Size, WholeAsk, random_ask
from whole.pairs import Found, total_alone, total_tables
from whole.people import neighbours_of, schema_of
from whole.statistics import SCHEMA, random_request, random_rows

EPSILONS = (0.1, 1.0, 3.0)


def pure_integers(plan: Plan, totals: Found) -> list[list[list[int]]]:
    """The integers to which noise is added: of every noise those of each copy."""
    found = []
    for noise in plan.pure_noises:
        copies: list[list[int]] = [[] for _ in range(noise.copies)]
        for i, query in zip(noise.members, noise.queries, strict=True):
            for copy, vector in zip(copies, lift_groups(query, totals[i]), strict=True):
                copy += map(int, vector)
        found.append(copies)
    return found


def losses(plan: Plan, one: Found, other: Found) -> list[Fraction]:
    """ln of the largest ratio of probabilities, of every noise: Σ over copies of N(difference) · ε/S, exactly."""
    found = []
    for noise, a, b in zip(plan.pure_noises, pure_integers(plan, one), pure_integers(plan, other), strict=True):
        law = noise.law
        size = sum if law.norm == "1" else max
        lost = sum(size(abs(y - z) for y, z in zip(x, w, strict=True)) for x, w in zip(a, b, strict=True))
        found.append(lost * law.rate)
    return found


def try_pure_pairs(ask: WholeAsk, generator: random.Random, count: int) -> tuple[Fraction, Fraction]:
    """Random neighbours, from rows to integers: the largest loss of a noise over its ε, and of all over the whole."""
    guarantee = gm.Guarantee(epsilon=generator.choice(EPSILONS))
    plan, schema = replace(ask.request(), guarantee=guarantee).plan, schema_of(ask)
    tables = [table for _ in range(count) for table in neighbours_of(ask, generator)]
    totals = total_tables(plan, tables, schema)
    largest, together = Fraction(0), Fraction(0)
    for one, other in zip(totals[0::2], totals[1::2], strict=True):
        lost = losses(plan, one, other)
        shares = [loss / noise.epsilon for loss, noise in zip(lost, plan.pure_noises, strict=True)]
        largest, together = max([largest, *shares]), max(together, sum(lost) / guarantee.pure_epsilon)
    return largest, together


def random_pure(generator: random.Random, size: Size) -> WholeAsk:
    """A random request under add-remove."""
    while True:
        ask = random_ask(generator, size)
        if ask.neighbours == ADD_REMOVE:
            return ask


def random_pure_statistics(generator: random.Random) -> tuple[str, gm.Request]:
    """What is asked, and a request for quantiles, tables, moments or a person's own numbers under pure ε."""
    while True:
        name, request = random_request(generator)
        if request.neighbours == ADD_REMOVE:
            return name, replace(request, guarantee=gm.Guarantee(epsilon=generator.choice(EPSILONS)))


def try_pure_statistics(request: gm.Request, generator: random.Random, count: int) -> tuple[Fraction, Fraction]:
    """Random neighbours of such a request: the largest loss of a noise over its ε, and of all over the whole."""
    plan, single = request.plan, request.unit is None
    largest, together = Fraction(0), Fraction(0)
    for _ in range(count):
        others = [row for j in range(generator.randint(0, 2)) for row in random_rows(f"other {j}", generator, single)]
        person = random_rows("person", generator, single)
        lost = losses(plan, *(total_alone(plan, others + rows, SCHEMA) for rows in ([], person)))
        shares = [loss / noise.epsilon for loss, noise in zip(lost, plan.pure_noises, strict=True)]
        largest, together = max([largest, *shares]), max(together, sum(lost) / plan.guarantee.pure_epsilon)
    return largest, together
