"""Codes of counts, ballots and sparse vectors: whatever a record holds, its integers lie in the domain planned for."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from summing import total_records

import gaussmith as gm
from gaussmith.domains.cells import CellEncoding
from gaussmith.engines.registry import open_source
from gaussmith.papers.points import PointEncoding

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
    K = gm.domains.Votes(4).codes().encode(X)
    assert (K.sum(axis=1) == 12).all()
    for x, found in zip(X, K, strict=True):
        if sorted(x.tolist()) == [1, 2, 3, 4]:
            assert found.tolist() == [2 * (4 - int(rank)) for rank in x]
        else:
            assert found.tolist() == [3, 3, 3, 3]


@given(rows, st.integers(1, 4), st.lists(st.floats(1e-3, 1e6), min_size=4, max_size=4))
def test_sparse_vectors_stay_within_their_bounds_and_keep_the_largest(X, k, bounds):
    domain = gm.domains.SparseSum(4, at_most=k, bound=bounds)
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
    for domain in (gm.Counts(4, at_most=2), gm.domains.Votes(4), gm.domains.SparseSum(4, at_most=2, bound=1.0)):
        once, again = (total_records(open_source(x), domain.codes()) for x in (X, X[order]))
        assert once == again
        assert once.records == len(X)
        assert once.sums == domain.codes().encode(X).sum(axis=0).tolist()


@given(st.data())
def test_a_record_is_in_one_cell_of_each_marginal_or_in_none(data):
    """Whatever its places: an undeclared value (−1) counts as another, or takes the record out of all cells."""
    sizes = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    subsets = [A for n in range(1, len(sizes) + 1) for A in itertools.combinations(range(len(sizes)), n)]
    ways = tuple(data.draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=3, unique=True)))
    others = data.draw(st.none() | st.tuples(*(st.integers(0, n - 1) for n in sizes)))
    record = st.tuples(*(st.integers(-1, n - 1) for n in sizes))
    places = data.draw(st.lists(record, min_size=1, max_size=6))
    weights = data.draw(st.lists(st.integers(0, 5), min_size=len(places), max_size=len(places)))
    codes = CellEncoding(sizes, ways, others)
    found = codes.encode(np.array(places))
    added, weighed = np.zeros(codes.width, np.int64), np.zeros(codes.width, np.int64)
    codes.add_places(added, np.array(places))
    codes.add_places(weighed, np.array(places), np.array(weights))
    assert added.tolist() == found.sum(axis=0).tolist()
    assert weighed.tolist() == (np.array(weights) @ found).tolist()
    for place, row in zip(places, found.tolist(), strict=True):
        inside = others is not None or min(place) >= 0
        whole = [v if v >= 0 or others is None else others[i] for i, v in enumerate(place)]
        expected = []
        for way in ways:
            cells = itertools.product(*(range(sizes[i]) for i in way))
            expected += [int(inside and cell == tuple(whole[i] for i in way)) for cell in cells]
        assert row == expected


@given(arrays(np.float64, (4, 2), elements=st.sampled_from([0.0, 0.5, 1.0, 2.0, -3.0, 1e308, np.inf, -np.inf, np.nan])))
def test_a_record_is_the_nearest_point_the_earlier_of_two_the_first_where_anything_is_missing(X):
    points = [(0.0, 0.0), (1.0, 0.0), (1.0, 4.0), (0.0, 4.0), (0.5, 2.0)]
    K = PointEncoding(np.array(points)).encode(X)
    assert (K.sum(axis=1) == 1).all()
    for x, found in zip(X.tolist(), K.argmax(axis=1), strict=True):
        if any(map(math.isnan, x)):
            assert found == 0
            continue
        steps = [[min(abs(a - b) / unit, 1e150) for a, b, unit in zip(x, p, (1.0, 4.0), strict=True)] for p in points]
        distances = [math.fsum(step * step for step in each) for each in steps]
        assert found == distances.index(min(distances))
