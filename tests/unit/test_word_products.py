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
from gaussmith.numerics.exact import map_integers, multiply_rows, sum_exactly
from gaussmith.numerics.matrices import Bordered, Dense, Diagonal, Exchangeable, Matrix
from gaussmith.totals.opened import lift_groups


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
    assert kept > 60  # about four in ten fit


def test_halves_are_rounded_up_on_both_sides_of_zero() -> None:
    found = multiply_rows(np.array([[0.5]]), np.array([[-3], [-1], [1], [3]]))
    assert found is not None and found.ravel().tolist() == [-1, 0, 1, 2]


def test_what_words_cannot_hold_is_left_to_python() -> None:
    assert multiply_rows(np.array([[2.0**40]]), np.array([[2**40]])) is None
    assert multiply_rows(np.array([[1.0, 2.0**-70]]), np.array([[2**50, 2**50]])) is None
    assert sum_exactly(np.full(64, 2**62)) == 64 * 2**62
    assert map_integers(lambda n: n << 70, np.zeros(64, np.int64) + 1)[5] == 1 << 70


def test_each_kind_of_matrix_multiplies_many_rows_as_one() -> None:
    vectors = np.array([[random.randint(-(2**40), 2**40) for _ in range(3)] for _ in range(50)])
    kinds: list[Matrix] = [
        Diagonal(np.array([1.25, -3.0, 1e-3])),
        Bordered(np.array([0, 1]), np.array([0.3, -7.0]), np.array([1e3, 0.1]), 3),
        Dense(np.array([[0.1, 2.0, -3.0], [10.0, 0.01, 0.7]])),
        Exchangeable(2, 0.7, -0.2, 0.3, (1.5, 0.25)),
    ]
    for matrix in kinds:
        noisy = vectors + 0.5
        assert np.array_equal(matrix.times_rows(noisy), np.array([matrix.times(v) for v in noisy]))
        found = matrix.exact_times_rows(vectors)
        if found is not None:
            assert found.tolist() == [list(map(int, matrix.exact_times(v.tolist()))) for v in vectors]
    assert all(matrix.exact_times_rows(vectors) is not None for matrix in kinds[:3])


def test_dense_products_of_doubles_are_rounded_as_each_alone() -> None:
    random_numbers = np.random.default_rng()
    for rows, columns in ((1, 1), (2, 2), (3, 2), (12, 17), (40, 5)):
        matrix, vectors = Dense(random_numbers.normal(size=(rows, columns))), random_numbers.normal(size=(300, columns))
        assert np.array_equal(matrix.times_rows(vectors), np.array([matrix.times(v) for v in vectors]))


def test_entries_that_meet_in_one_column_are_not_put_together() -> None:
    meets = Bordered(np.array([1]), np.array([1.0]), np.array([2.0**-60]), 2)
    assert meets.exact_times_rows(np.array([[1, 1]])) is None


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
    assert CellEncoding((2,), ((0,),), None).centred_rows(sums, records) is None


def test_totals_of_groups_are_a_sequence_that_shows_nothing() -> None:
    totals = GroupTotals(np.array([[1, 2], [3, 4]]), np.array([5, 6]))
    assert list(totals) == [Totals([1, 2], 5), Totals([3, 4], 6)] == totals[:]
    assert "1" not in repr(totals) and totals != [Totals([1, 2], 5)]


def test_the_lifted_totals_of_many_groups_are_those_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.DataFrame({"k": [i % 40 for i in range(400)], "x": [i * 0.37 for i in range(400)]})
    request = gm.Request(rows, sums={"x": (0, 100)}, count=True, missing={"x": 0},
                         by={"k": list(range(45))}, guarantee=gm.Guarantee(mu=1))  # fmt: skip
    prepared = mechanism.prepare_request(request.plan, rows)
    plain, seen_by_audits = mechanism.add, []

    def watched(lifted: Any, noise: Any) -> Any:
        seen_by_audits.append((len(lifted), bool(np.all(noise != 0))))
        return plain(lifted, noise)

    monkeypatch.setattr(mechanism, "add", watched)
    mechanism.release(prepared)
    coordinates = sum(query.size * query.block.grid.lift.shape[0] for query in request.plan.queries)
    assert sum(size for size, _ in seen_by_audits) == coordinates and all(noisy for _, noisy in seen_by_audits)
    seen = 0
    for query, opened in zip(request.plan.queries, prepared.sources, strict=True):
        totals = opened.summation.total(opened.source, opened.codes, None)
        if isinstance(totals, GroupTotals):
            lifted = lift_groups(query, totals)
            assert isinstance(lifted, np.ndarray)
            assert [list(map(int, y)) for y in lift_groups(query, list(totals))] == lifted.tolist()
            seen += 1
    assert seen
