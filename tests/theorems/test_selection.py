"""Choices of a cell: private on all small tables and their neighbours, by brute force; and a sampler exact in law."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
import pytest
from planting import plant
from scipy.special import ndtr, ndtri

from gaussmith.noise import selection
from gaussmith.noise.keystream import Keystream
from gaussmith.noise.reals import Real
from gaussmith.noise.selection import BITS, Occupied, Pieces, RankSelection, draw_runs, runs_of, settle
from gaussmith.privacy.choices import (
    charge_of_choice,
    choice_at,
    choice_within,
    gdp_of_choice,
    level_of,
    rank_sensitivity,
    spread_of_ranks,
)
from gaussmith.privacy.neighbours import ADD_REMOVE, REPLACE_ONE

PEOPLE, CELLS = 6, 8
LEVELS = [Fraction(1, 2), Fraction(1, 10), Fraction(3, 4)]
NEIGHBOURS = [ADD_REMOVE, REPLACE_ONE]


# ── privacy, by brute force ─────────────────────────────────────────────────────────────────────────────────────


@lru_cache
def tables() -> np.ndarray:
    """Every table of at most six people in eight cells, as counts."""
    found = [[0] * CELLS]
    for n in range(1, PEOPLE + 1):
        for at in itertools.combinations_with_replacement(range(CELLS), n):
            found.append(np.bincount(at, minlength=CELLS).tolist())
    return np.array(found)


@lru_cache
def pairs(neighbours: str) -> np.ndarray:
    """Every pair of neighbours among the tables, in both directions, by number."""
    number = {tuple(counts): i for i, counts in enumerate(tables().tolist())}
    found = []
    for counts, i in number.items():
        for j in range(CELLS):
            more = (*counts[:j], counts[j] + 1, *counts[j + 1 :])
            if neighbours == ADD_REMOVE and more in number:
                found += [(i, number[more]), (number[more], i)]
            for k in {*range(CELLS)} - {j} if neighbours == REPLACE_ONE and counts[j] else ():
                other = list(counts)
                other[j], other[k] = other[j] - 1, other[k] + 1
                found.append((i, number[tuple(other)]))
    return np.array(found)


def distances(level: Fraction) -> np.ndarray:
    """Of every cell of every table, in people, as the sampler sees it."""
    found = []
    for counts in tables():
        runs = runs_of(Occupied.of(np.arange(CELLS), counts, CELLS), level)
        assert runs.starts.tolist() == (np.cumsum(runs.sizes) - runs.sizes).tolist() and runs.sizes.sum() == CELLS
        found.append(np.repeat(runs.distances, runs.sizes))
    return np.array(found) / level.denominator


def exponential_law(level: Fraction, epsilon: Fraction, sensitivity: Fraction) -> np.ndarray:
    weights = np.exp(-float(epsilon / (2 * sensitivity)) * distances(level))
    return weights / weights.sum(axis=1, keepdims=True)


def largest_ratio(law: np.ndarray, neighbours: str) -> float:
    logs = np.log(law)
    one, other = pairs(neighbours).T
    return float((logs[one] - logs[other]).max())


def least_gap(law: np.ndarray, neighbours: str, mu: float) -> float:
    """How far all trade-off functions lie above that of μ, at their corners: between them both are on one side.

    A trade-off function is straight between corners and that of μ is convex, so corners decide. Negative: below it.
    """
    one, other = pairs(neighbours).T
    p, q = law[one], law[other]
    order = np.argsort(-p / q, axis=1)
    missed = 1 - np.cumsum(np.take_along_axis(p, order, axis=1), axis=1)[:, :-1]
    alarms = np.cumsum(np.take_along_axis(q, order, axis=1), axis=1)[:, :-1]
    return float((missed - ndtr(ndtri(1 - alarms) - mu)).min())


def gap_at_points(law: np.ndarray, neighbours: str, mu: float, points: int = 1000) -> float:
    """The same at a thousand points, of the hundred pairs that are easiest to tell apart."""
    one, other = pairs(neighbours).T
    logs = np.log(law[one]) - np.log(law[other])
    easiest = np.argsort(np.ptp(logs, axis=1))[-100:]
    alpha, gaps = np.linspace(0.0005, 0.9995, points), []
    for i in easiest:
        order = np.argsort(-logs[i])
        p, q = np.append(0, np.cumsum(law[one[i]][order])), np.append(0, np.cumsum(law[other[i]][order]))
        gaps.append((1 - np.interp(alpha, q, p) - ndtr(ndtri(1 - alpha) - mu)).min())
    return min(gaps)


def keeps(law: np.ndarray, neighbours: str, epsilon: Fraction, mu: float) -> bool:
    """Whether all pairs keep to ε and to the charged μ, up to the rounding of doubles."""
    return (
        largest_ratio(law, neighbours) <= float(epsilon) * (1 + 1e-12)
        and min(least_gap(law, neighbours, mu), gap_at_points(law, neighbours, mu)) >= -1e-13
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_every_pair_of_neighbours_keeps_to_epsilon_and_to_mu(neighbours, level, epsilon):
    law = exponential_law(level, epsilon, rank_sensitivity(level, neighbours))
    assert keeps(law, neighbours, epsilon, gdp_of_choice(epsilon))
    logs = np.log(law)
    one, other = pairs(neighbours).T
    spread = np.ptp(logs[one] - logs[other], axis=1).max()
    # The range is ε, and is used: of a level far from ½ by nearly as much as six people allow.
    assert (0.77 if level == Fraction(1, 10) else 0.999) * epsilon <= spread <= epsilon * (1 + 1e-12)
    assert not keeps(law, neighbours, epsilon, gdp_of_choice(epsilon) / 2)


def test_rows_of_a_person_are_that_many_people():
    """Somebody with up to two rows: both are in cells, and the sensitivity is doubled."""
    level, epsilon = Fraction(1, 2), Fraction(1)
    known = {tuple(c): i for i, c in enumerate(tables().tolist())}
    twice = []
    for counts, i in known.items():
        for j, k in itertools.combinations_with_replacement(range(CELLS), 2):
            more = list(counts)
            more[j], more[k] = more[j] + 1, more[k] + 1
            twice += [(i, known[tuple(more)])] if tuple(more) in known else []

    def ratio(rows: int) -> float:
        logs = np.log(exponential_law(level, epsilon, rank_sensitivity(level, ADD_REMOVE, rows)))
        return max(abs(logs[i] - logs[j]).max() for i, j in twice)

    assert ratio(2) <= 1 < ratio(1)


WRONG = {
    "add-remove weights under replace-one": (REPLACE_ONE, Fraction(1, 2), Fraction(1, 2)),
    "the median's weights for another level": (ADD_REMOVE, Fraction(3, 4), Fraction(1, 2)),
    "weights without the two": (ADD_REMOVE, Fraction(1, 2), Fraction(1, 4)),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_weights_are_noticed(fault):
    neighbours, level, sensitivity = WRONG[fault]
    law = exponential_law(level, Fraction(1), sensitivity)
    assert not keeps(law, neighbours, Fraction(1), gdp_of_choice(Fraction(1)))


def test_permute_and_flip_costs_more_than_the_exponential_mechanism():
    """Two cells whose distances 0 and Δ swap: why a choice by permute-and-flip must not be charged so."""

    def needed(p: float, q: float) -> float:
        return float(ndtri(p) - ndtri(q))

    epsilon = 1.0
    far = math.exp(-epsilon / 2)  # e^{−εd/(2Δ)}
    charged = gdp_of_choice(Fraction(1))
    exponential = 1 / (1 + far)
    assert math.isclose(needed(exponential, 1 - exponential), charged, rel_tol=1e-12)
    flipped = 1 - far / 2  # the far cell comes first half of the time, and is taken with e^{−ε/2}
    assert needed(flipped, 1 - flipped) > 0.9 > charged


@pytest.mark.parametrize("level", LEVELS)
def test_distances_are_those_of_ranks(level):
    for counts, found in zip(tables(), distances(level), strict=True):
        n = int(counts.sum())
        for j in range(CELLS):
            below, upto = int(counts[:j].sum()), int(counts[: j + 1].sum())
            outside = max(Fraction(0), below - level * n, level * n - upto)
            assert found[j] == float(outside)
            if not counts[j]:  # as the field defines it
                assert outside == abs((1 - level) * below - level * (n - upto))


def test_a_rank_that_is_off_by_one_is_noticed(monkeypatch):
    plant(monkeypatch, selection.runs_of, "np.cumsum(table.counts)", "np.cumsum(table.counts) - 1")
    with pytest.raises(AssertionError):
        test_distances_are_those_of_ranks(Fraction(1, 2))


# ── what it costs ───────────────────────────────────────────────────────────────────────────────────────────────


def two_points(t: float, epsilon: float) -> float:
    """μ of the two outcomes with losses t and t − ε."""
    q = (1 - math.exp(t - epsilon)) / (math.exp(t) - math.exp(t - epsilon))
    return float(ndtri(math.exp(t) * q) - ndtri(q))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 6.0])
def test_no_pair_with_losses_in_a_range_needs_more(epsilon):
    found = max(two_points(t * epsilon, epsilon) for t in np.linspace(0.001, 0.999, 999))
    charged = gdp_of_choice(Fraction(epsilon))
    assert found <= charged * (1 + 1e-12) and math.isclose(found, charged, rel_tol=1e-9)


@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.2367, 1.0, 4.0])
def test_epsilon_is_the_largest_that_mu_allows(mu):
    epsilon = choice_at(mu)
    assert gdp_of_choice(epsilon) <= mu < gdp_of_choice(epsilon * (1 + Fraction(1, 10**9)))
    assert choice_at(80.0) <= 100


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("groups", [1, 3, 10])
def test_choices_of_all_groups_take_what_they_may(neighbours, level, groups):
    for grouped in (True, False):
        for square in (Fraction(1, 10**6), Fraction(1, 18), Fraction(4)):
            epsilon = choice_within(square, level, neighbours, groups, grouped)
            assert charge_of_choice(epsilon, level, neighbours, groups, grouped) <= square
            more = epsilon * (1 + Fraction(1, 10**9))
            assert charge_of_choice(more, level, neighbours, groups, grouped) > square


def test_a_person_who_moves_from_group_to_group_is_charged():
    """All pairs where a replaced person leaves one group and enters another: a product of two add-remove pairs."""
    level, epsilon = Fraction(1, 10), Fraction(1)
    law = exponential_law(level, epsilon, rank_sensitivity(level, REPLACE_ONE))
    logs = np.log(law)
    one, other = pairs(ADD_REMOVE).T
    alone = float(np.ptp(logs[one] - logs[other], axis=1).max())
    assert alone <= float(epsilon * max(level, 1 - level)) * (1 + 1e-12)
    charged = charge_of_choice(epsilon, level, REPLACE_ONE, 1, True)
    assert charged >= 2 * Fraction(gdp_of_choice(Fraction(alone) * Fraction(999, 1000))) ** 2
    assert charged > Fraction(gdp_of_choice(epsilon)) ** 2  # two groups at 0.9 ε cost more than one at ε
    assert level_of(0.025) == Fraction(1, 40)


def test_ranks_are_off_by_laplace_noise():
    """Cells finer than people: 0.886/μ for a median."""
    n, epsilon = 4000, Fraction(1, 2)
    table = Occupied.of(np.arange(n) * 256, np.ones(n), n * 256)
    drawn = RankSelection(Fraction(1, 2), epsilon, Fraction(1, 2)).sample(table, 40_000, Keystream().words)
    ranks = drawn / 256 - n / 2
    expected = spread_of_ranks(epsilon, Fraction(1, 2))
    assert math.isclose(math.sqrt((ranks**2).mean()), expected, rel_tol=0.06)  # 6 standard errors
    assert math.isclose(expected * gdp_of_choice(epsilon), 0.886, rel_tol=1e-2)


# ── the sampler ─────────────────────────────────────────────────────────────────────────────────────────────────


def true_ends(pieces: Pieces) -> list[mpmath.mpf]:
    with mpmath.workdps(80):
        rate = mpmath.mpf(pieces.rate.numerator) / pieces.rate.denominator
        each = [s * mpmath.exp(-rate * b) for s, b in zip(pieces.sizes.tolist(), pieces.beyond.tolist(), strict=True)]
        return [mpmath.fsum(each[: i + 1]) / 2**pieces.exponent for i in range(len(each))]


def pieces_of(runs: selection.EvenCells, rate: Fraction) -> Pieces:
    beyond = runs.distances - runs.distances.min()
    total = float((np.exp(-beyond * float(rate)) * runs.sizes).sum())
    return Pieces(runs.sizes, beyond, rate, math.frexp(total * (1 + 2**-30))[1])


def some_runs() -> list[tuple[selection.EvenCells, Fraction]]:
    found = []
    for people, cells in ((0, 5), (1, 1), (3, 1000), (60, 1 << 20)):
        at = np.random.default_rng().integers(0, cells, people)
        for level in (Fraction(1, 2), Fraction(1, 10)):
            runs = runs_of(Occupied.of(at, np.ones(people), cells), level)
            found += [(runs, Fraction(rate)) for rate in (Fraction(1, 3), Fraction(1, 10**4), Fraction(20))]
    return found


def test_every_end_decides_as_exact_numbers_do():
    """Words just before, at and after each end, and further digits that decide: as integers of 80 digits say."""
    for runs, rate in some_runs():
        ends = true_ends(pieces_of(runs, rate))
        assert 0.5 - 1e-9 <= ends[-1] < 1
        for _ in range(40):
            with mpmath.workdps(80):
                end = random.choice(ends) * mpmath.mpf(2) ** (BITS + 64)
                place = int(end) + random.choice([-(1 << 70), -(1 << 64), -9, -1, 0, 1, 9, 1 << 64, 1 << 70])
                place = min(max(place, 0), (1 << BITS + 64) - 1)
                real = (mpmath.mpf(place) + mpmath.mpf(1) / 2) / mpmath.mpf(2) ** (BITS + 64)
                expected = next((i for i, end in enumerate(ends) if real < end), None)
            given = iter([place >> 64 << 64 - BITS, place & (1 << 64) - 1, *[1 << 63] * 5, *[0] * 9])

            def words(size: int, given=given) -> np.ndarray:
                return np.array([next(given) for _ in range(size)], dtype=np.uint64)

            found = draw_runs(runs, rate, 1, words)
            if expected is None:  # beyond all of them: drawn again
                continue
            assert found == expected


def test_what_lies_beyond_all_weights_is_drawn_again():
    runs = runs_of(Occupied.of([0], [1], 3), Fraction(1, 2))
    last = (1 << 64) - 1
    for rate in (Fraction(1), Fraction(1, 100)):
        given = iter([last, last, 0])
        found = draw_runs(runs, rate, 1, lambda size, given=given: np.array([next(given)] * size, dtype=np.uint64))
        assert found == 0 and next(given, None) is None


def test_a_doubt_takes_further_digits():
    pieces = Pieces(np.array([3, 1]), np.array([0, 2]), Fraction(1, 2), 2)
    ends = true_ends(pieces)
    for i, end in enumerate(ends):
        with mpmath.workdps(80):
            place = int(end * mpmath.mpf(2) ** BITS)
            after = end * mpmath.mpf(2) ** (BITS + 64) - mpmath.mpf(place) * mpmath.mpf(2) ** 64
        for digits in (int(after) - 1, int(after) + 1):
            if 0 <= digits < 1 << 64:
                found = settle(Real(place, BITS, lambda digits=digits: digits), pieces, 0, 2)
                assert found == i + (digits > after)


@pytest.mark.parametrize("people", [0, 1, 7])
def test_draws_have_the_law(people):
    """Binomial counts of each of eight cells, 100 000 draws; a false alarm comes once in 10^9 runs."""
    from scipy import stats

    counts = np.bincount(np.random.default_rng().integers(0, CELLS, people), minlength=CELLS)
    choice = RankSelection(Fraction(1, 4), Fraction(2), Fraction(3, 4))
    n = 100_000
    drawn = np.bincount(choice.sample(Occupied.of(np.arange(CELLS), counts, CELLS), n, Keystream().words), minlength=8)
    weights = []
    for j in range(CELLS):
        below, upto = counts[:j].sum(), counts[: j + 1].sum()
        weights.append(math.exp(-2 / 1.5 * max(0, below - people / 4, people / 4 - upto)))
    law = np.array(weights) / sum(weights)
    tails = np.minimum(stats.binom.cdf(drawn, n, law), stats.binom.sf(drawn - 1, n, law))
    assert tails.min() > 1e-11


SAMPLER_FAULTS = {
    "a piece cut short": (draw_runs, "ends + slack", "ends + slack - 2**40"),
    "doubts decided by doubles": (draw_runs, "np.flatnonzero(first != last)", "()"),
    "digits of a doubt left out": (
        draw_runs,
        "Real(int(drawn[i]), BITS, lambda: int(words(1)[0]))",
        "Real(int(drawn[i]), BITS, lambda: 0)",
    ),
    "another rate": (Pieces.end, "self.rate * beyond", "self.rate * 2 * beyond"),
}


@pytest.mark.parametrize("fault", SAMPLER_FAULTS)
def test_a_fault_of_the_sampler_is_noticed(fault, monkeypatch):
    function, right, wrong = SAMPLER_FAULTS[fault]
    plant(monkeypatch, function, right, wrong)
    with pytest.raises((AssertionError, StopIteration, RuntimeError, IndexError)):
        for _ in range(3):
            test_every_end_decides_as_exact_numbers_do()


def test_cells_far_apart_cost_nothing():
    """2^52 cells and three people: three gaps and three cells."""
    table = Occupied.of([5, 1 << 40, 1 << 51], [1, 1, 1], 1 << 52)
    assert len(runs_of(table, Fraction(1, 2)).starts) == 7
    drawn = RankSelection(Fraction(1, 2), Fraction(100), Fraction(1, 2)).sample(table, 500, Keystream().words)
    assert ((drawn >= 0) & (drawn < 1 << 52)).all()
    assert ((drawn > 5) & (drawn < 1 << 51)).mean() > 0.99


def test_people_below_edges():
    at = np.random.default_rng().integers(0, 100, 300)
    table = Occupied.of(at, np.ones(300), 100)
    edges = np.arange(101)
    assert table.below(edges).tolist() == [(at < edge).sum() for edge in edges] and table.people == 300
