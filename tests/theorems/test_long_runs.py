"""Prefix sums, ranges and trees of many cells: exact products, certified norms, true errors, valid limits."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.domains import cell_strategies as shapes_of_cells
from gaussmith.domains import long_runs as run_limits
from gaussmith.domains.long_runs import staircase
from gaussmith.noise import gaussian as normal
from gaussmith.numerics.levelled_maps import LevelledDecode, LevelledLift, Tree
from gaussmith.numerics.matrices import matrix_from_dict
from gaussmith.numerics.reflected_maps import ENDS, ReflectedDecode, ReflectedLift, Reflection, Staircase
from gaussmith.planning.certificate import verify

G = gm.Guarantee(mu=1)
RUNS = [
    *((kind, gm.workloads.prefix if kind == "prefix" else gm.workloads.ranges) for kind in ("prefix", "ranges")),
    ("halves", gm.workloads.tree),
    ("thirds", lambda n: gm.workloads.tree(n, 3)),
    ("many", lambda n: gm.workloads.tree(n, 16)),
]


@pytest.fixture
def few_are_many(monkeypatch):
    """Plans of few cells by the way of many, so that both can be compared."""
    monkeypatch.setattr(shapes_of_cells, "MAX_SOLVED", 2)


def _tree_by_recursion(start, stop, branching):
    yield start, stop
    if stop - start > 1:
        parts = min(branching, stop - start)
        ends = [start + (stop - start) * i // parts for i in range(parts + 1)]
        for a, b in itertools.pairwise(ends):
            yield from _tree_by_recursion(a, b, branching)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("n", [1, 2, 5, 33, 100])
def test_a_reflection_is_what_its_entries_say(n, ends):
    line, rng = Reflection(n, ends), np.random.default_rng(n)
    symbol, e, v = rng.uniform(0.5, 2, n), rng.uniform(size=n), rng.normal(size=n)
    K = line.dense(symbol)
    assert np.allclose(np.sort(np.linalg.eigvalsh(K)), np.sort(symbol))
    assert np.allclose(line.times(symbol, v), K @ v) and np.allclose(line.diagonal(symbol), np.diag(K))
    prefixes = np.diag(np.cumsum(np.cumsum(K * e * e[:, None], axis=0), axis=1))
    assert np.allclose(line.prefix_squares(symbol, e), prefixes)
    at = np.arange(n)
    low, high = np.minimum(at[:, None], at), np.maximum(at[:, None], at)
    gram = (low + 1) * (n - high) / (n + 1) if line.odd else n - high
    root = 4 * line.squared_sines
    if line.even:  # of vectors that add up to 0
        gram = (np.eye(n) - 1 / n) @ gram @ (np.eye(n) - 1 / n)
        assert root[0] == 0
        root[0] = np.inf
    assert np.allclose(line.dense(1 / root), gram)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("n", [3, 20, 61])
def test_products_of_a_staircase_are_exact(n, ends):
    rng, stairs = np.random.default_rng(n), staircase(Reflection(n, ends))
    lift = ReflectedLift(stairs, rng.integers(1 << 14, 1 << 16, n), 0.3)
    whole = np.rint(stairs.line.dense(stairs.symbol)).astype(int).tolist()
    assert np.allclose(stairs.line.dense(stairs.symbol), whole, atol=1e-6)
    for top in (10, 2**40, 2**62):
        x = rng.integers(0, top, n)
        z = [int(d) * int(v) for d, v in zip(lift.columns, x, strict=True)]
        exact = [Fraction(0.3) * sum(t * v for t, v in zip(row, z, strict=True)) for row in whole]
        want = [(value + Fraction(1, 2)).__floor__() for value in exact]
        assert list(lift.exact_times(x)) == want == list(lift.exact_times(x.tolist()))


@pytest.mark.parametrize("ends", ENDS)
def test_norms_of_reflected_columns_are_never_too_small(ends):
    rng = np.random.default_rng(7)
    for n in (2, 9, 40):
        lift = ReflectedLift(staircase(Reflection(n, ends)), rng.integers(1 << 15, 1 << 16, n), 0.7)
        gram = lift.dense().T @ lift.dense()
        sizes = np.diag(gram)
        assert np.sqrt(sizes.max()) <= lift.largest_norm(pairs=False) <= np.sqrt(sizes.max()) * (1 + 1e-8)
        apart = np.sqrt((sizes[:, None] + sizes - 2 * gram).max())
        assert apart <= lift.largest_norm(pairs=True)


@pytest.mark.parametrize("branching", [2, 3, 7, 50])
@pytest.mark.parametrize("n", [1, 2, 5, 8, 27, 33])
def test_a_tree_is_split_and_lifted_as_it_says(n, branching):
    tree, rng = Tree(n, branching), np.random.default_rng(n)
    pairs = list(_tree_by_recursion(0, n, branching))
    assert list(zip(*(each.tolist() for each in tree.ranges), strict=True)) == pairs
    lift = LevelledLift(tree, 0.7, rng.uniform(0.5, 2, tree.depth), rng.integers(1, 9, len(tree.kinds)))
    gram = lift.dense().T @ lift.dense()
    sizes = np.diag(gram)
    assert np.sqrt(sizes.max()) <= lift.largest_norm(pairs=False)
    assert np.sqrt(max(0.0, (sizes[:, None] + sizes - 2 * gram).max())) <= lift.largest_norm(pairs=True) * (1 + 1e-12)
    read, x = LevelledDecode(lift, counted=True), rng.integers(0, 2**40, n)
    sums = [int(x[a:b].sum()) for a, b in pairs]
    assert np.allclose(read.times(lift.times(x.astype(float))), [*sums, sums[0]])
    assert np.allclose(np.linalg.norm(read.dense(), axis=1), read.row_norms())
    coordinates = lift._contrasts(x.astype(object) * lift._of_cells)
    want = [
        (Fraction(float(w)) * int(c) + Fraction(1, 2)).__floor__()
        for w, c in zip(lift.entries, coordinates, strict=True)
    ]
    assert [int(y) for y in lift.exact_times(x)] == want


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize(("name", "make"), RUNS)
def test_plans_of_many_cells_state_their_errors_and_a_valid_limit(
    few_are_many, monkeypatch, name, make, count, neighbours
):
    n = 40
    given = {"answers": make(n), "neighbours": neighbours, "count": count}
    plan = gm.plan(gm.Cells(n), G, **given)
    rows, lift = plan.block.shape.features.dense(), plan.block.shape.lift
    assert np.allclose(np.linalg.norm(rows, axis=1), plan.block.shape.features.row_norms(), atol=1e-9)
    x = np.random.default_rng(3).integers(0, 9, n).astype(float)
    truth = [x[a:b].sum() for a, b in zip(*make(n).places, strict=True)]
    read = plan.block.shape.features.times(lift.times(x))
    if plan.block.shape.public is not None:
        read = read + x.sum() * plan.block.shape.public
    assert np.allclose(read[: len(truth)], truth)
    assert gm.read(plan.to_json()) == plan and not verify(plan, plan.certificate).problems
    monkeypatch.setattr(shapes_of_cells, "MAX_SOLVED", 2048)
    solved = gm.plan(gm.Cells(n), G, **given)
    assert plan.lower_bound <= solved.price * (1 + 1e-9) <= plan.price * (1 + 2e-3)
    reflected, pairs = name in ("prefix", "ranges"), neighbours == "replace-one"
    assert plan.price / solved.lower_bound < (1.03 if pairs else 1.02)
    if pairs:
        assert plan.lower_bound / solved.price > (0.97 if reflected else 0.92)
        gram = lift.dense().T @ lift.dense()
        apart = np.add.outer(np.diag(gram), np.diag(gram)) - 2 * gram
        assert 0.995 < apart.max() <= 1, "cells are as far apart as they may be"


@pytest.mark.parametrize("n", [2, 7, 40])
@pytest.mark.parametrize("make", [gm.workloads.prefix, gm.workloads.ranges])
def test_records_in_no_cell_are_in_one_more_where_their_number_is_public(few_are_many, monkeypatch, make, n):
    """Every difference of two records, one of which may be in no cell, and every answer, written out."""
    monkeypatch.setattr(shapes_of_cells, "MAX_SOLVED", 1)
    given = {"answers": make(n), "neighbours": "replace-one"}
    plan = gm.plan(gm.Cells(n, or_none=True), G, **given)
    shape = plan.block.shape
    assert shape.name == "reflected" and shape.lift.shape == (n + 1, n) and shape.public is None
    assert np.allclose(np.linalg.norm(shape.features.dense(), axis=1), shape.features.row_norms(), atol=1e-9)
    assert np.allclose(shape.lift.dense(), np.array([shape.lift.row(i) for i in range(n + 1)]))
    assert np.allclose(shape.lift.dense(), np.array([shape.lift.times(unit) for unit in np.eye(n)]).T)
    x = np.random.default_rng(3).integers(0, 9, n)
    truth = [x[a:b].sum() for a, b in zip(*make(n).places, strict=True)]
    assert np.allclose(shape.features.times(shape.lift.times(x.astype(float))), truth)
    columns = np.vstack([shape.lift.dense().T, np.zeros(n + 1)])
    apart = np.linalg.norm(columns[:, None] - columns, axis=2).max()
    assert (0.98 if n < 7 else 0.99) < apart <= 1, "records are as far apart as they may be"
    assert gm.read(plan.to_json()) == plan and not verify(plan, plan.certificate).problems
    monkeypatch.setattr(shapes_of_cells, "MAX_SOLVED", 2048)
    solved = gm.plan(gm.Cells(n, or_none=True), G, **given)
    assert plan.lower_bound <= solved.price * (1 + 1e-9) <= plan.price * (1 + 2e-3)
    assert n < 40 or (plan.price / solved.lower_bound < 1.04 and plan.lower_bound / solved.price > 0.97)


def test_lifts_with_records_in_no_cell_are_exact(monkeypatch):
    plan = gm.plan(gm.Cells(3000, or_none=True), G, answers=gm.workloads.prefix(3000), neighbours="replace-one")
    rng, lift = np.random.default_rng(4), plan.block.shape.lift
    records = rng.integers(0, 4000, 20_000)
    monkeypatch.setattr(normal, "_draw", lambda size, bits, words: np.zeros(size, np.int64))
    truth = np.cumsum(np.bincount(records, minlength=4000)[:3000])
    assert np.abs(plan.release(records).values - truth).max() < 1e-6
    for x in (rng.integers(0, 9, 3000), rng.integers(-(1 << 61), 1 << 61, 3000)):
        every = replace(lift, or_none=False).exact_times([*map(int, x), -sum(map(int, x))])
        assert lift.exact_times(x) == lift.exact_times(x.tolist()) == every


def test_a_record_in_no_cell_counts_against_every_lift():
    """Cells that hardly differ for a lift are near each other, and far from none."""
    stairs = Staircase(Reflection(20, "even"), np.array([0, 19]), np.array([600, 500]))
    lift = ReflectedLift(stairs, np.full(20, 9), 1.0)
    alone = np.linalg.norm(lift.dense(), axis=0).max()
    assert gm.Cells(20).sensitivity(lift, "replace-one") < alone / 2
    assert gm.Cells(20, or_none=True).sensitivity(lift, "replace-one") >= alone


@pytest.mark.parametrize(
    ("name", "make", "limit"), [("prefix", gm.workloads.prefix, 1.01), ("tree", gm.workloads.tree, 1.0001)]
)
def test_4096_cells_are_planned_within_a_percent_of_the_limit(monkeypatch, name, make, limit):
    plan = gm.plan(gm.Cells(4096), G, answers=make(4096))
    assert 1.0 <= plan.optimality < limit
    x = np.random.default_rng(5).integers(0, 4096, 30_000)
    counts = np.append(0, np.cumsum(np.bincount(x, minlength=4096)))
    starts, stops = make(4096).places
    monkeypatch.setattr(normal, "_draw", lambda size, bits, words: np.zeros(size, np.int64))
    release = plan.release(x)
    assert np.abs(release.values - (counts[stops] - counts[starts])).max() < 1e-6


def test_ranges_of_many_cells_are_within_a_percent_of_the_limit():
    assert gm.plan(gm.Cells(2050), G, answers=gm.workloads.ranges(2050)).optimality < 1.01


@pytest.mark.parametrize("or_none", [False, True])
@pytest.mark.parametrize(
    ("make", "n"), [(gm.workloads.prefix, 600), (gm.workloads.prefix, 100_000), (gm.workloads.ranges, 2050)]
)
def test_runs_of_a_public_number_of_records_are_within_3_percent_of_the_limit(make, n, or_none):
    """A third of the variance more than the limit is what noise for a secret number of records would take."""
    plan = gm.plan(gm.Cells(n, or_none=or_none), G, answers=make(n), neighbours="replace-one")
    assert plan.block.shape.name == "reflected" and 1.0 <= plan.optimality < 1.03


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("n", "branching"), [(600, 2), (768, 2), (5000, 2), (3000, 3), (3000, 7), (3000, 50)])
def test_trees_whose_splits_are_uneven_are_within_5_percent_of_the_limit(few_are_many, n, branching, neighbours):
    """One size for each level alone takes up to 14 % more than the best noise."""
    plan = gm.plan(gm.Cells(n), G, answers=gm.workloads.tree(n, branching), neighbours=neighbours)
    assert plan.block.shape.name == "levelled" and len(plan.block.shape.lift.columns) == 2
    assert 1.0 <= plan.optimality < 1.05


@pytest.mark.parametrize("make", [gm.workloads.prefix, gm.workloads.ranges])
def test_the_public_number_of_records_takes_all_the_noise_it_can(few_are_many, make):
    """No other share of it would leave an answer with less: its noise and that of the sum of cells are uncorrelated."""
    n = 30
    shape = gm.plan(gm.Cells(n), G, answers=make(n), neighbours="replace-one").block.shape
    cells = np.linalg.inv(shape.lift.dense())
    assert np.abs(shape.features.dense() @ cells.sum(axis=0)).max() < 1e-9 * np.linalg.norm(cells)


@pytest.mark.parametrize("n", [2, 3, 16, 17, 45])
def test_limits_of_pairs_are_those_of_their_laws(monkeypatch, n):
    """The law of each limit, written out pair by pair: the trace of the root of W L Wᵀ is never below the limit's."""
    ranges = [(a, b) for a in range(n) for b in range(a + 1, n + 1)]
    answers = {
        "prefix": [(0, b) for b in range(1, n + 1)],
        "ranges": ranges,
        "tree": list(_tree_by_recursion(0, n, 2)),
    }
    laws = []
    real = run_limits._trace_of_pairs
    monkeypatch.setattr(run_limits, "_trace_of_pairs", lambda law, *rest: laws.append(law.copy()) or real(law, *rest))
    for kind, pairs in answers.items():
        W = np.array([[float(a <= j < b) for j in range(n)] for a, b in pairs])
        laws.clear()
        limit = run_limits.limit_of_runs(kind, n, pairs=True)
        if kind == "tree":
            law = run_limits._law_of_tree(n, 2)[1]
            chances = [np.outer(law, law) * (1 - np.eye(n)) / (1 - law @ law)]
        else:
            groups = min(run_limits.GROUPS, n)
            of = np.searchsorted(np.arange(1, groups + 1) * n // groups, np.arange(n), side="right")
            sizes = np.bincount(of)
            chances = [(each / np.outer(sizes, sizes))[np.ix_(of, of)] for each in laws]
        found = []
        for chance in chances:
            assert chance.sum() == pytest.approx(1) and (np.diag(chance) == 0).all()
            L = 2 * (np.diag(chance.sum(axis=1)) - chance)
            values, vectors = np.linalg.eigh(L)
            root = vectors * np.sqrt(np.maximum(values, 0))
            found.append(np.sqrt(np.maximum(np.linalg.eigvalsh(root.T @ (W.T @ W) @ root), 0)).sum() ** 2)
        assert limit <= max(found) * (1 + 1e-9)
        assert limit >= (0.85 if kind == "tree" else 0.96) * max(found)


def test_a_tree_of_equal_splits_is_the_best_there_is(few_are_many):
    for n, b in ((81, 3), (64, 2), (256, 16)):
        assert gm.plan(gm.Cells(n), G, answers=gm.workloads.tree(n, b)).optimality < 1 + 1e-8


def test_maps_that_were_damaged_are_refused():
    stairs = staircase(Reflection(9, "mixed"))
    lift = ReflectedLift(stairs, np.full(9, 1 << 16), 1.0)
    saved = ReflectedDecode(lift, ranges=False).to_dict()
    assert matrix_from_dict(saved).shape == (9, 9)
    for field, value in (
        ("unit", -1.0),
        ("unit", float("inf")),
        ("columns", "!"),
        ("columns", saved["lift"]["columns"][:-8]),
    ):
        with refused(damaged("a reflected matrix with numbers that do not fit")):
            matrix_from_dict(saved["lift"] | {field: value})
    for steps in (
        {"heights": [-1]},
        {"heights": [2**21]},
        {"edges": [10]},
        {"ends": "round"},
        {"ends": "even", "edges": [9]},
    ):
        with refused(damaged("a reflected matrix with numbers that do not fit")):
            Staircase.from_dict({"cells": 9, "ends": "mixed", "edges": [0], "heights": [5]} | steps)
    tree = LevelledDecode(LevelledLift(Tree(9, 2), 1.0, np.ones(4), np.ones(2, np.int64))).to_dict()
    assert matrix_from_dict(tree).shape == (17, 9)
    for field, value in (
        ("sizes", [1.0]), ("sizes", [1.0, 1.0, 1.0, 0.0]), ("root", -1.0), ("columns", [1]), ("columns", [1, 0]),
        ("columns", [1, 1 << 17]),
    ):  # fmt: skip
        with refused(damaged("a lift of a tree with numbers that do not fit")):
            matrix_from_dict(tree["lift"] | {field: value})
