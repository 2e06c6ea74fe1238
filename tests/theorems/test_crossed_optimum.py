"""Tables of the same keys: the noise is the best there is, over all people; and no law proves more than that."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from all_people import make_part
from planting import plant
from whole.optimum import least_total

from gaussmith.domains.crossed_bounds import lower_bound
from gaussmith.numerics import crossed as moments
from gaussmith.numerics.crossed import Tables, Way, solve, subsets
from gaussmith.numerics.joint.ladder import solve as solve_tied
from gaussmith.numerics.joint.parts import Body
from gaussmith.numerics.marginals import plan_marginals

KINDS = (("add-remove", False), ("replace-one", False), ("replace-one", True))


def differences(tables: Tables) -> np.ndarray:
    """What neighbours can differ by, in answers scaled to their weights, from keys alone."""
    people = []
    for keys in itertools.product(*([None, *range(n)] for n in tables.sizes)):
        vector = []
        for way, weight in zip(tables.ways, tables.weights, strict=True):
            table = np.zeros([tables.sizes[i] for i in way])
            if all(keys[i] is not None for i in way):
                table[tuple(keys[i] for i in way)] = np.sqrt(weight)
            vector.append(table.ravel())
        people.append(np.concatenate(vector))
    found = np.array(people)
    if tables.neighbours == "add-remove":
        return found
    found = np.vstack([found, np.zeros(found.shape[1])]) if tables.hidden else found
    one, other = np.triu_indices(len(found), 1)
    return np.unique(np.round(found[one] - found[other], 12), axis=0)


def random_tables(generator: random.Random, neighbours: str, hidden: bool) -> Tables:
    sizes = tuple(generator.randint(1, 3) for _ in range(2))
    possible = [way for way in subsets(range(2)) if way or neighbours == "add-remove" or hidden]
    ways = tuple(generator.sample(possible, generator.randint(1, len(possible))))
    ways = ways if {i for way in ways for i in way} == {0, 1} else ((0,), (0, 1))
    return Tables(sizes, ways, np.array([generator.choice([1.0, 0.3, 4.0]) for _ in ways]), neighbours, hidden)


def noise_of(tables: Tables) -> float:
    """The total, from the noise in every cell."""
    lift = solve(tables).lift
    cells = [
        weight * tables.cells(way) * lift.covariance(w, w, way)
        for w, (way, weight) in enumerate(zip(tables.ways, tables.weights, strict=True))
    ]
    return float(sum(cells))


@pytest.mark.parametrize(("neighbours", "hidden"), KINDS)
def test_random_tables_against_all_people(neighbours: str, hidden: bool) -> None:
    for _ in range(4):
        seed = str(random.SystemRandom().getrandbits(64))
        tables = random_tables(random.Random(seed), neighbours, hidden)
        best, found = least_total(differences(tables)), solve(tables)
        assert best.lower * (1 - 1e-6) <= found.total <= best.upper * (1 + 2e-4), seed
        assert noise_of(tables) == pytest.approx(found.total, rel=1e-9), seed
        assert found.total * (1 - 1e-4) <= lower_bound(tables, found.weights) <= found.total, seed


def test_no_law_proves_more_than_the_optimum() -> None:
    for i in range(30):
        generator = random.Random(f"laws {i}")
        tables = random_tables(generator, *KINDS[i % 3])
        weights = np.array([generator.random() ** 4 for _ in tables.types])
        assert lower_bound(tables, weights) <= solve(tables).total


def test_a_bound_of_people_who_add_too_much_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables((3, 3), ((0,), (1,), (0, 1)), np.ones(3), "add-remove")
    best = solve(tables)
    plant(monkeypatch, moments._added_moments, "* share)", "* share * 1.1)")
    assert lower_bound(tables, best.weights) > best.total * 1.01


def all_ways(attributes: int, *more: Way) -> tuple[Way, ...]:
    return (*((i,) for i in range(attributes)), *more)


def test_values() -> None:
    """Ten by ten: 257.6 if the tables are taken for independent; 211.1 if nobody could be without a declared key."""
    ways = all_ways(2, (0, 1))
    crossed = solve(Tables((10, 10), ways, np.ones(3), "add-remove")).total
    apart = solve_tied(Body(tuple(make_part(n, 1, count_weight=1.0) for n in (10, 10, 100))), "add-remove").total
    everybody = plan_marginals([10, 10], ways)
    assert apart == pytest.approx(257.99, abs=0.01)
    assert crossed == pytest.approx(213.74, abs=0.01)
    assert everybody.total == pytest.approx(211.07, abs=0.01)
    with_count = solve(Tables((10, 10), ((), *ways), np.ones(4), "add-remove")).total
    assert with_count == pytest.approx(233.66, abs=0.01)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_never_worse_than_independent_tables_nor_better_than_people_with_all_keys(neighbours: str) -> None:
    for sizes, ways in (((2, 3), all_ways(2, (0, 1))), ((4, 2, 3), ((0,), (0, 1), (0, 2))), ((5, 5), ((0,), (0, 1)))):
        found = solve(Tables(sizes, ways, np.ones(len(ways)), neighbours)).total
        parts = tuple(make_part(int(np.prod([sizes[i] for i in way])), 1, count_weight=1.0) for way in ways)
        assert found <= solve_tied(Body(parts), neighbours).total * (1 + 1e-5)
        assert found >= plan_marginals(sizes, ways, None, neighbours).lower


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_one_attribute_is_a_histogram(neighbours: str) -> None:
    for n in (1, 2, 7):
        found = solve(Tables((n,), ((0,),), np.ones(1), neighbours)).total
        assert found == pytest.approx(
            solve_tied(Body((make_part(n, 1, count_weight=1.0),)), neighbours).total, rel=3e-5
        )
    both = solve(Tables((7,), ((0,), ()), np.array([1.0, 2.0]), "add-remove")).total
    part = make_part(7, 1, count_weight=1.0)
    assert both == pytest.approx(solve_tied(Body((part,), 2.0), "add-remove").total, rel=3e-5)
