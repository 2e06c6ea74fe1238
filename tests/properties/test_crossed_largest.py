"""The largest norm of a person in tables of the same keys, on random lifts, against all people in exact arithmetic.

Privacy of tables that share a noise rests on this one number. What a person adds is written here anew, cell by cell.
"""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from planting import plant

from gaussmith.numerics import crossed as module
from gaussmith.numerics.crossed import CrossedLift, Tables, largest, subsets, terms_of
from gaussmith.numerics.exact import shift, sqrt_upward

Person = tuple[int | None, ...] | None
"""The place of each key, None where it is not declared; or nobody."""

KINDS = (("add-remove", False), ("replace-one", False), ("replace-one", True))


def random_tables(generator: random.Random, neighbours: str, hidden: bool) -> Tables:
    attributes = generator.randint(1, 3 if neighbours == "add-remove" else 2)
    sizes = tuple(generator.randint(1, 3) for _ in range(attributes))
    public = neighbours == "replace-one" and not hidden
    possible = [way for way in subsets(range(attributes)) if way or not public]
    while True:
        ways = tuple(generator.sample(possible, generator.randint(1, len(possible))))
        if {i for way in ways for i in way} == set(range(attributes)):
            weights = np.array([generator.choice([1.0, 0.3, 5.0]) for _ in ways])
            return Tables(sizes, ways, weights, neighbours, hidden)


def random_lift(generator: random.Random, tables: Tables) -> CrossedLift:
    numbers = [generator.choice([0.0, 1.0, generator.gauss(0, 1)]) for _ in terms_of(tables.ways)]
    return CrossedLift(tables.sizes, tables.ways, np.array(numbers))


def people_of(tables: Tables) -> list[Person]:
    found: list[Person] = list(itertools.product(*([None, *range(n)] for n in tables.sizes)))
    return [*found, None] if tables.hidden else found


def lifted(lift: CrossedLift, person: Person) -> list[Fraction]:
    """What one person adds to every lifted cell."""
    found = []
    for w, way in enumerate(lift.ways):
        for cell in itertools.product(*(range(lift.sizes[i]) for i in way)):
            keys = dict(zip(way, cell, strict=True))
            total = Fraction(0)
            for c, (at, v, B) in zip(lift.numbers.tolist(), lift.terms, strict=True):
                inside = person is not None and all(person[i] is not None for i in lift.ways[v])
                if at == w and inside and person is not None and all(person[i] == keys[i] for i in B):
                    total += Fraction(c)
            found.append(total)
    return found


def brute(lift: CrossedLift, tables: Tables) -> Fraction:
    """The largest squared norm over all neighbours."""
    vectors = [lifted(lift, person) for person in people_of(tables)]
    if tables.neighbours == "add-remove":
        return max(sum((x * x for x in vector), Fraction(0)) for vector in vectors)
    pairs = itertools.combinations(vectors, 2)
    return max(
        (sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0)) for a, b in pairs), default=Fraction(0)
    )


@pytest.mark.parametrize(("neighbours", "hidden"), KINDS)
def test_nobody_is_longer_and_somebody_is_as_long(neighbours: str, hidden: bool) -> None:
    for _ in range(25):
        seed = str(random.SystemRandom().getrandbits(64))
        generator = random.Random(seed)
        tables = random_tables(generator, neighbours, hidden)
        lift = random_lift(generator, tables)
        assert largest(lift, tables) == sqrt_upward(brute(lift, tables)), seed


FAULTS = [
    (module._shares, "size - len(own)", "size - 1 - len(own)"),
    (module._shares, "(False, False, size - 1)", "(False, False, 0)"),
    (module._square, "cells * (one.get", "(one.get"),
    (module._added, "if V <= declared", "if V < declared"),
    (module._added, "if B <= E", "if B == E"),
]


@pytest.mark.parametrize(("function", "right", "wrong"), FAULTS, ids=[wrong for _, _, wrong in FAULTS])
def test_a_planted_fault_falls_below_somebody(
    function: Any, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, function, right, wrong)

    def falls_below(i: int) -> bool:
        generator = random.Random(f"{wrong} {i}")
        tables = random_tables(generator, *KINDS[i % 3])
        lift = random_lift(generator, tables)
        return largest(lift, tables) < sqrt_upward(brute(lift, tables))

    assert any(map(falls_below, range(400)))


def test_a_type_that_is_left_out_falls_below_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """People whose keys are not declared: with them left out a lift that charges less would pass."""
    tables = Tables((2, 2), ((0,), (0, 1)), np.ones(2), "add-remove")
    lift = CrossedLift(
        tables.sizes, tables.ways, np.array([1.0 if w == v else -1.0 for w, v, _ in terms_of(tables.ways)])
    )
    right = largest(lift, tables)
    assert right == sqrt_upward(brute(lift, tables))
    everybody = tuple(moved for moved in tables.types if moved.one == frozenset({0, 1}))
    monkeypatch.setitem(tables.__dict__, "types", everybody)
    assert largest(lift, tables) < right


def test_lifts_are_multiplied_exactly_and_rounded_once() -> None:
    for i in range(20):
        generator = random.Random(f"products {i}")
        tables = random_tables(generator, "add-remove", False)
        lift = random_lift(generator, tables).scaled(2.0**52 * generator.random())
        crowd = [generator.choice(people_of(tables)) for _ in range(generator.randint(0, 30))]
        counts = [np.zeros(shape, object) for shape in lift.shapes]
        for person in crowd:
            for table, way in zip(counts, lift.ways, strict=True):
                if person is not None and all(person[i] is not None for i in way):
                    table[tuple(person[i] for i in way)] += 2**40
        sums = [sum(each, Fraction(0)) for each in zip(*(lifted(lift, person) for person in crowd), strict=True)]
        expected = [shift(int(x * 2**1140), -1100) for x in sums] or [0] * lift.size
        assert lift.exact_times(counts) == expected
