"""Exact products in words of 64 bits: the integers of Python's own arithmetic, or none at all."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.cells import CellEncoding
from gaussmith.domains.encoding import BoxEncoding, PeopleEncoding
from gaussmith.engines.engine import GroupTotals, Totals
from gaussmith.numerics.exact import LONGEST, MAX_ADDED, map_integers, multiply_rows, sum_exactly
from gaussmith.numerics.matrices import Bordered, Dense, Diagonal, Exchangeable, Matrix
from gaussmith.totals.opened import in_words, lift_groups


def some_number() -> float:
    if random.random() < 0.3:
        return random.choice([0.0, 1.0, -1.0, 1.5, 2.0**-52, 2.0**52])
    return random.gauss(0, 1) * 2.0 ** random.randint(-60, 50)


def test_products_are_those_of_rationals() -> None:
    kept = 0
    for _ in range(600):
        bits = random.randint(1, 62)
        matrix = np.array([[some_number() for _ in range(3)] for _ in range(2)])
        vectors = np.array(
            [[random.randint(-(2**bits), 2**bits) >> random.randint(0, bits) for _ in range(3)] for _ in "ab"]
        )
        found = multiply_rows(matrix, vectors)
        if found is None:
            continue
        kept += 1
        for v, out in zip(vectors.tolist(), found.tolist(), strict=True):
            exact = [sum(Fraction(a) * n for a, n in zip(row, v, strict=True)) for row in matrix.tolist()]
            assert out == [math.floor(value + Fraction(1, 2)) for value in exact]
    assert kept > 200  # about six in ten fit


def test_halves_are_rounded_up_on_both_sides_of_zero() -> None:
    found = multiply_rows(np.array([[0.5]]), np.array([[-3], [-1], [1], [3]]))
    assert found is not None and found.ravel().tolist() == [-1, 0, 1, 2]


def test_what_words_cannot_hold_is_left_to_python() -> None:
    assert multiply_rows(np.array([[2.0**40]]), np.array([[2**40]])) is None
    assert multiply_rows(np.array([[1e308]]), np.array([[2**61]])) is None
    assert multiply_rows(np.array([[2.0**-1]]), np.array([[2**62]])) is None
    assert multiply_rows(np.array([[2.0**-1]]), np.array([[-(2**63)]])) is None
    assert multiply_rows(np.array([[1.0, 2.0**-1000]]), np.array([[1, 1]])) is None
    assert multiply_rows(np.zeros((1, MAX_ADDED + 1)), np.ones((1, MAX_ADDED + 1), np.int64)) is None
    assert sum_exactly(np.full(64, 2**62)) == 64 * 2**62
    assert map_integers(lambda n: n << 70, np.zeros(64, np.int64) + 1)[5] == 1 << 70


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_results_are_exact_and_what_is_larger_is_refused(sign: int) -> None:
    """Results below 2^61 leave room for noise below 2^60; an entry and all numbers at their largest come to that."""
    for bits in (20, 30, 31, 32, 45, 61):
        number, entry = 2**bits - 1, 2.0 ** (LONGEST - bits) * (1 - 2.0**-40)
        found = multiply_rows(np.array([[sign * entry]]), np.array([[number], [-number], [1]]))
        assert found is not None
        assert found.ravel().tolist() == [math.floor(sign * Fraction(entry) * n + Fraction(1, 2))
                                          for n in (number, -number, 1)]  # fmt: skip
        assert abs(int(found[0, 0])) > 2**60
        assert multiply_rows(np.array([[sign * 2.0 ** (LONGEST - bits)]]), np.array([[number]])) is None


def test_entries_far_apart_lose_nothing() -> None:
    """A carry from the lowest limb decides how a half is rounded."""
    entries = np.array([[0.5, 2.0**-400], [0.5, -(2.0**-400)], [-0.5, -(2.0**-400)]])
    found = multiply_rows(entries, np.array([[1, 1], [1, -1], [3, 1], [1, 0]]))
    assert found is not None and found.tolist() == [[1, 0, -1], [0, 1, 0], [2, 1, -2], [1, 1, 0]]


def test_a_large_matrix_multiplies_many_rows_as_one() -> None:
    """The lift of a median: every entry of doubles, counts of every size that a group can have."""
    random_numbers = np.random.default_rng()
    matrix = Dense(random_numbers.normal(size=(60, 60)) * 2.0 ** random_numbers.integers(-20, 30, (60, 60)))
    for top in (2, 1000, 2**20, 2**25):
        counts = random_numbers.integers(0, top, (7, 60))
        found = matrix.exact_times_rows(counts)
        assert found is not None
        assert found.tolist() == [list(map(int, matrix.exact_times(row.tolist()))) for row in counts]


def test_each_kind_of_matrix_multiplies_many_rows_as_one() -> None:
    vectors = np.array([[random.randint(-(2**40), 2**40) for _ in range(3)] for _ in range(50)])
    kinds: list[Matrix] = [
        Diagonal(np.array([1.25, -3.0, 1e-3])),
        Bordered(np.array([0, 1]), np.array([0.3, -7.0]), np.array([1e3, 0.1]), 3),
        Dense(np.array([[0.1, 2.0, -3.0], [10.0, 0.01, 0.7]])),
        Exchangeable(2, 0.7, -0.2, 0.3, (1.5, 0.25)),
        Exchangeable(2, 0.7, -0.2, 0.3),
        Exchangeable(3, -0.7, 2**-60),
        Exchangeable(3, 0.7, -1.2, None, (0.3, 7.0)),
    ]
    for matrix in kinds:
        noisy = vectors + 0.5
        assert np.array_equal(matrix.times_rows(noisy), np.array([matrix.times(v) for v in noisy]))
        found = matrix.exact_times_rows(vectors)
        assert found is not None
        assert found.tolist() == [list(map(int, matrix.exact_times(v.tolist()))) for v in vectors]


def test_dense_products_of_doubles_are_rounded_as_each_alone() -> None:
    random_numbers = np.random.default_rng()
    for rows, columns in ((1, 1), (2, 2), (3, 2), (12, 17), (40, 5)):
        matrix, vectors = Dense(random_numbers.normal(size=(rows, columns))), random_numbers.normal(size=(300, columns))
        assert np.array_equal(matrix.times_rows(vectors), np.array([matrix.times(v) for v in vectors]))


def test_entries_that_meet_in_one_column_are_not_put_together() -> None:
    meets = Bordered(np.array([1]), np.array([1.0]), np.array([2.0**-60]), 2)
    assert meets.exact_times_rows(np.array([[1, 1]])) is None


def test_a_sum_that_words_do_not_hold_is_left_to_python() -> None:
    lift = Exchangeable(4, 2.0**-9, 2.0**-9)
    found = lift.exact_times_rows(np.full((1, 4), 2**60 - 1))
    assert found is not None and found.tolist() == [lift.exact_times([2**60 - 1] * 4)]
    assert lift.exact_times_rows(np.full((1, 4), 2**60)) is None
    assert lift.exact_times_rows(np.full((1, 4), -(2**60))) is None


def test_many_equal_counts_are_lifted_as_each_alone() -> None:
    lift = Exchangeable(5000, 12345.678, -0.3, 7.7, (0.1, 0.2))
    counts = np.random.default_rng().integers(0, 30, 5001)
    found = lift.exact_times(counts)
    assert isinstance(found, np.ndarray) and found.tolist() == list(lift.exact_times(counts.tolist()))


def test_cores_of_many_groups_are_those_of_each() -> None:
    box = BoxEncoding.for_bounds([0, -5], [100, 7], [0, 0])
    people = PeopleEncoding(*(getattr(BoxEncoding.for_bounds([0, 0, 0], [9, 9, 9], [0] * 3), f) for f in
                           ("low", "top", "scale", "steps", "substitute")), rows=1, max_rows=4)  # fmt: skip
    for codes in (box, people):
        sums = np.random.default_rng().integers(0, 2**50, (20, codes.width))
        sums[:, -1] %= 2**10  # of people it is their rows
        records = np.random.default_rng().integers(0, 2**10, 20)
        found = codes.centred_rows(sums, records)
        assert found is not None
        each = [list(map(int, codes.centred(s, r))) for s, r in zip(sums.tolist(), records.tolist(), strict=True)]
        assert found.tolist() == each
        assert codes.centred_rows(sums + 2**62, records) is None
    cells = CellEncoding((3,), ((0,),), None)
    assert cells.centred_rows(sums, records).tolist() == [list(cells.centred(s, 9)) for s in sums.tolist()]


def test_totals_that_words_do_not_hold_are_told() -> None:
    few = [Totals([1, -2], 5), Totals(np.array([3, 4]), 6)]
    found = in_words(few)
    assert found is not None and found == [Totals([1, -2], 5), Totals([3, 4], 6)]
    for beyond in (2**62, -(2**62), -(2**63), 2**63, 2**70):
        assert in_words([*few, Totals([0, beyond], 7)]) is None
    assert in_words([*few, Totals([2**62 - 1, 1 - 2**62], 7)]) is not None


def test_totals_of_groups_are_a_sequence_that_shows_nothing() -> None:
    totals = GroupTotals(np.array([[1, 2], [3, 4]]), np.array([5, 6]))
    assert list(totals) == [Totals([1, 2], 5), Totals([3, 4], 6)] == totals[:]
    assert "1" not in repr(totals) and totals != [Totals([1, 2], 5)]


@pytest.mark.parametrize("asked", [{"sums": {"x": (0, 100)}, "count": True, "missing": {"x": 0}},
                                   {"quantiles": {"x": [0.2, 0.7]}, "bounds": {"x": (0, 100)}},
                                   {"histograms": {"k": [1, 2, 3]}}])  # fmt: skip
def test_the_lifted_totals_of_many_groups_are_those_of_each(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pl.DataFrame({"k": [i % 40 for i in range(400)], "x": [i * 0.37 for i in range(400)]})
    request = gm.Request(rows, **asked, by={"k": list(range(45))}, guarantee=gm.Guarantee(mu=1))
    prepared = mechanism.prepare_request(request.plan, rows)
    plain, seen_by_audits = mechanism.add, []

    def watched(lifted: Any, noise: Any) -> Any:
        seen_by_audits.append((len(lifted), bool(np.all(noise != 0))))
        return plain(lifted, noise)

    monkeypatch.setattr(mechanism, "add", watched)
    mechanism.release(prepared)
    coordinates = sum(query.size * query.block.grid.lift.shape[0] for query in request.plan.queries)
    assert sum(size for size, _ in seen_by_audits) == coordinates and all(noisy for _, noisy in seen_by_audits)
    for query, opened in zip(request.plan.queries, prepared.sources, strict=True):
        totals = opened.summation.total(opened.source, opened.codes, None)
        lifted = lift_groups(query, totals)
        assert isinstance(lifted, np.ndarray)
        grid, codes = query.block.grid, query.block.codes
        assert lifted.tolist() == [list(map(int, grid.lifted(codes, each.sums, each.records))) for each in totals]
        assert len({*map(tuple, lifted.tolist())}) > 3
