"""Codes of counts, ballots and sparse vectors: whatever a record holds, its integers lie in the domain planned for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import gaussmith as gm
from gaussmith.sums import open_source, total

anything = st.floats(allow_nan=True, allow_infinity=True)
likely = st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, -0.0, -1.0, 0.5, 1e-300, np.nan, np.inf, -np.inf])
rows = arrays(np.float64, st.tuples(st.integers(0, 6), st.just(4)), elements=anything | likely)


@given(rows, st.integers(1, 4))
def test_counts_have_at_most_k_ones_and_keep_the_first(X, k):
    K = gm.Counts(4, at_most=k).codes().encode(X)
    assert set(np.unique(K)) <= {0, 1}
    assert (K.sum(axis=1) <= k).all()
    for x, found in zip(X, K, strict=True):
        ones = [j for j in range(4) if x[j] > 0]
        assert np.flatnonzero(found).tolist() == ones[:k]


@given(rows)
def test_ballots_are_rankings_or_without_preference(X):
    K = gm.Votes(4).codes().encode(X)
    assert (K.sum(axis=1) == 12).all()
    for x, found in zip(X, K, strict=True):
        if sorted(x.tolist()) == [1, 2, 3, 4]:
            assert found.tolist() == [2 * (4 - int(rank)) for rank in x]
        else:
            assert found.tolist() == [3, 3, 3, 3]


@given(rows, st.integers(1, 4), st.lists(st.floats(1e-3, 1e6), min_size=4, max_size=4))
def test_sparse_vectors_stay_within_their_bounds_and_keep_the_largest(X, k, bounds):
    domain = gm.SparseSum(4, at_most=k, bound=bounds)
    codes = domain.codes()
    K = codes.encode(X)
    assert (np.abs(K) <= codes.extents).all()
    assert (np.count_nonzero(K, axis=1) <= k).all()
    clipped = np.clip(np.nan_to_num(X, nan=0.0, posinf=np.inf, neginf=-np.inf), -domain.bounds, domain.bounds)
    for c, found in zip(clipped, K / codes.sizes.scale, strict=True):
        kept = found != 0
        assert np.abs(found[kept] - c[kept]).max(initial=0.0) <= (1 / codes.sizes.scale).max()
        dropped = np.abs(c[~kept])
        dropped = dropped[dropped * codes.sizes.scale[~kept] >= 0.5]  # the others are coded 0
        assert not len(dropped) or dropped.max() <= np.abs(c[kept]).min() or len(dropped) == 0
    mirrored = codes.encode(-X)
    assert (mirrored == -K).all()


@given(rows, st.randoms(use_true_random=False))
def test_totals_do_not_depend_on_the_order_of_records(X, chance):
    order = list(range(len(X)))
    chance.shuffle(order)
    for domain in (gm.Counts(4, at_most=2), gm.Votes(4), gm.SparseSum(4, at_most=2, bound=1.0)):
        once, again = (total(open_source(x), domain.codes()) for x in (X, X[order]))
        assert once == again
        assert once.records == len(X)
        assert once.sums == domain.codes().encode(X).sum(axis=0).tolist()
