"""The exact product of doubles and integers, against rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from gaussmith.errors import PlanError
from gaussmith.numerics.exact import FEW
from gaussmith.numerics.matrices import Bordered, Dense, Diagonal, Factored, matrix_from_dict

doubles = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e40, max_value=1e40)
integers = st.integers(-(2**90), 2**90)


def rounded(x: Fraction) -> int:
    return (x + Fraction(1, 2)).__floor__()


@given(st.lists(st.tuples(doubles, integers), min_size=1, max_size=6))
def test_diagonal_products_are_exact(pairs):
    entries, vector = zip(*pairs, strict=True)
    product = Diagonal(np.array(entries)).exact_times(vector)
    assert product == [rounded(Fraction(a) * k) for a, k in pairs]


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(-(2**62), 2**62)), min_size=1, max_size=6))
def test_words_give_the_same_integers_as_python(pairs):
    pairs = pairs * FEW  # fewer are multiplied in Python's integers
    entries, vector = zip(*pairs, strict=True)
    words = Diagonal(np.array(entries)).exact_times(np.array(vector, np.int64))
    assert [int(k) for k in words] == [rounded(Fraction(a) * k) for a, k in pairs]


@pytest.mark.parametrize(
    "entry", [0.5, 0.25, 2.0**-10, 2.0**-64, 2.0**-65, 3 * 2.0**-12, 2.0**-11, 0.1, 1e-19, 1.0, 0.0]
)
def test_words_round_halves_up_on_both_sides_of_zero(entry):
    vector = np.array([0, 1, -1, 2, -2, 3, -3, 512, -512, 2**52 + 1, -(2**52) - 1, 2**61 - 1, 1 - 2**61], np.int64)
    vector = np.tile(vector, FEW)
    words = Diagonal(np.full(len(vector), entry)).exact_times(vector)
    assert isinstance(words, np.ndarray) == (entry != 1.0)  # 1 · 2^61 is left to Python
    assert [int(k) for k in words] == [rounded(Fraction(entry) * int(k)) for k in vector]


@given(st.lists(st.tuples(doubles, doubles, integers), min_size=2, max_size=5))
def test_dense_and_bordered_products_are_exact(triples):
    first, second, vector = zip(*triples, strict=True)
    dense = Dense(np.array([first, second]))
    assert dense.exact_times(vector) == [
        rounded(sum((Fraction(a) * k for a, k in zip(row, vector, strict=True)), Fraction(0)))
        for row in (first, second)
    ]
    n = len(vector)
    bordered = Bordered(np.arange(n), np.array(first), np.array(second), n)
    assert bordered.exact_times(vector) == [
        rounded(Fraction(a) * vector[i] + Fraction(b) * vector[-1])
        for i, (a, b) in enumerate(zip(first, second, strict=True))
    ]


@pytest.mark.parametrize(
    "matrix",
    [
        Diagonal(np.array([1.0, -2.0, 0.5])),
        Bordered(np.array([0, 1, 2]), np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, 4.0]), 3),
        Dense(np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]])),
        Factored(
            np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([[1.0, 0.0, 3.0], [2.0, 1.0, 0.0]]), np.arange(1.0, 4.0)
        ),
    ],
)
def test_every_structure_agrees_with_its_dense_form(matrix):
    full = matrix.dense()
    v = np.array([3.0, -1.0, 2.0])
    assert matrix.shape == full.shape
    assert matrix.times(v) == pytest.approx(full @ v)
    assert matrix.row_norms() == pytest.approx(np.linalg.norm(full, axis=1))
    assert matrix.scaled(v).dense() == pytest.approx(full * v)
    assert all((matrix.row(i) == full[i]).all() for i in range(len(full)))
    assert (matrix_from_dict(matrix.to_dict()).dense() == full).all()


@given(st.data(), st.integers(1, 3), st.integers(1, 3), st.integers(2, 4))
def test_factored_products_are_exact(data, m, p, q):
    def draw(*size):
        values = data.draw(st.lists(doubles, min_size=math.prod(size), max_size=math.prod(size)))
        return np.array(values).reshape(size)

    left, inner, columns = draw(m, p), draw(p, q), draw(q)
    vector = data.draw(st.lists(integers, min_size=q, max_size=q))
    middle = [sum(Fraction(h) * Fraction(c) * k for h, c, k in zip(row, columns, vector, strict=True)) for row in inner]
    assert Factored(left, inner, columns).exact_times(vector) == [
        rounded(sum(Fraction(a) * y for a, y in zip(row, middle, strict=True))) for row in left
    ]


def test_parts_that_do_not_fit_are_refused():
    one = np.ones((1, 1))
    for odd in (
        lambda: Factored(one, np.ones((2, 2)), np.ones(2)),
        lambda: Factored(one, np.ones((1, 2)), np.ones(3)),
        lambda: Factored(one, np.ones(2), np.ones(2)),
        lambda: Factored(one, np.array([[np.nan]]), np.ones(1)),
    ):
        with pytest.raises(PlanError, match="out of range"):
            odd()


def test_unknown_kinds_are_refused():
    with refused("unknown-matrix-kind", kind="sparse"):
        matrix_from_dict({"kind": "sparse"})
