"""Codes of domains in SQL, word by word. That Spark finds the integers of numpy with them is in tests/engines."""

from __future__ import annotations

import numpy as np

from gaussmith.domains.counts import CountEncoding
from gaussmith.domains.encoding import INFINITY, BoxEncoding
from gaussmith.domains.moments import MomentEncoding, coarse_codes
from gaussmith.papers.looks import ColumnCellEncoding, LengthCellEncoding
from gaussmith.papers.points import PointEncoding
from gaussmith.papers.sparse import SparseEncoding
from gaussmith.papers.votes import VoteEncoding


def has(j: int) -> str:
    return f"x{j} > 0D and x{j} <= {INFINITY}"


def test_counts_keep_the_first_items() -> None:
    kept = ", ".join(f"if({has(j)}, {j}, null)" for j in range(3))
    assert CountEncoding(3, 2).spell(range(1, 3)) == [
        ["x1", "x2", f"coalesce(get(array_compact(array({kept})), 1), 3) last"],
        [f"if({has(1)} and last >= 1, 1L, 0L) c1", f"if({has(2)} and last >= 2, 1L, 0L) c2"],
    ]
    assert CountEncoding(3, 3).spell(range(1, 2)) == [[f"if({has(1)}, 1L, 0L) c1"]]


def test_ballots_use_each_rank_once() -> None:
    ranks = ", ".join(f"coalesce(x{j}, double('nan'))" for j in range(3))
    assert VoteEncoding(3).spell(range(2, 3)) == [
        ["x2", f"array_sort(array({ranks})) = array(1.0D, 2.0D, 3.0D) valid"],
        ["if(valid, floor(2D * (3.0D - x2)), 2L) c2"],
    ]


def test_sparse_vectors_keep_the_largest() -> None:
    cleaned = [f"coalesce(if(x{j} <= {INFINITY}, x{j}, 0D), 0D) x{j}" for j in (0, 1)]
    sized = ["x0", "x1", "least(abs(x0), 1.0D) s0", "least(abs(x1), 8.0D) s1"]
    coded = ["floor(s0 * 2199023255552.0D + 0.5D) q0", "floor(s1 * 274877906944.0D + 0.5D) q1"]
    order = ", ".join(f"struct(if(q{j} = 0L, 0D, -s{j}) as size, {j} as place)" for j in (0, 1))
    assert SparseEncoding.for_bounds([1.0, 8.0], 1).spell(range(1, 2)) == [
        cleaned,
        sized,
        ["x1", "s0", "s1", *coded],
        ["x1", "s1", "q1", f"array_sort(array({order}))[0] last"],
        ["if(-s1 < last.size or (-s1 = last.size and 1 <= last.place), if(x1 < 0D, -q1, q1), 0L) c1"],
    ]
    every = SparseEncoding.for_bounds([1.0, 8.0], 2).spell(range(1))
    assert every == [cleaned, sized, ["x0", "s0", "s1", *coded], ["if(x0 < 0D, -q0, q0) c0"]]


def test_points_are_the_nearest() -> None:
    def far(*to: str) -> str:
        steps = (f"least(abs(x{j} - {t}), 1e150D)" for j, t in enumerate(to))
        return " + ".join(f"({step} * {step})" for step in steps)

    assert PointEncoding(np.array([[0.5, 1.0], [4.5, 1.0]])).spell_place() == [
        ["x0", "x1", "(x0 is null or isnan(x0) or x1 is null or isnan(x1)) missing"],
        ["if(missing, 0.5D, x0) / 4.0D x0", "if(missing, 1.0D, x1) / 1.0D x1"],
        [f"array({far('0.125D', '1.0D')}, {far('1.125D', '1.0D')}) far"],
        ["array_position(far, array_min(far)) - 1 place"],
    ]


def test_cells_of_columns_and_of_lengths_are_half_open() -> None:
    columns = ColumnCellEncoding(np.array([[0.0, 1.0], [2.0, 3.0]]))
    assert columns.spell(range(6)) == [
        [
            "if(x0 < 0.0D, 1L, 0L) c0",
            "if(x0 >= 0.0D and x0 < 1.0D, 1L, 0L) c1",
            f"if(x0 >= 1.0D and x0 <= {INFINITY}, 1L, 0L) c2",
            "if(x1 < 2.0D, 1L, 0L) c3",
            "if(x1 >= 2.0D and x1 < 3.0D, 1L, 0L) c4",
            f"if(x1 >= 3.0D and x1 <= {INFINITY}, 1L, 0L) c5",
        ]
    ]
    *_, lengths = LengthCellEncoding(np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])).spell(range(3))
    assert lengths == [
        "if(not odd and length < 5.0D, 1L, 0L) c0",
        "if(not odd and length >= 5.0D and length < 6.0D, 1L, 0L) c1",
        f"if(not odd and length >= 6.0D and length <= {INFINITY}, 1L, 0L) c2",
    ]


def test_boxes_are_clamped_from_below_by_a_sum_and_from_above_by_a_comparison() -> None:
    known, coded = BoxEncoding.for_bounds([0.0, -2.0], [1.0, 2.0], [0.25, 9.0]).spell(range(2))
    assert known == ["coalesce(x0, 0.25D) x0", "coalesce(x1, 2.0D) x1"]
    half, scale = 2.0**40, 2.0**41
    assert coded == [
        f"try_cast(if(x0 < 1.0D, abs(x0) * {half!r}D + x0 * {half!r}D + 0.5D, "
        f"if(isnan(x0), {scale / 4 + 0.5!r}D, {scale + 0.5!r}D)) as bigint) c0",
        f"try_cast(if(x1 < 2.0D, abs((x1 - -2.0D)) * {half / 4!r}D + (x1 - -2.0D) * {half / 4!r}D + 0.5D, "
        f"if(isnan(x1), {scale + 0.5!r}D, {scale + 0.5!r}D)) as bigint) c1",
    ]


def test_moments_multiply_the_codes_of_the_columns_they_need() -> None:
    codes = MomentEncoding(coarse_codes(np.zeros(3), np.full(3, 64.0), np.zeros(3), None), ((0, 0), (0, 2)))
    known, coded, made = codes.spell(range(1, 5))
    assert [text.split()[-1] for text in known] == ["x0", "x1", "x2"]
    assert [text.split()[-1] for text in coded] == ["v0", "v1", "v2"]
    assert all(text.startswith(f"try_cast(if(x{i} < 64.0D, abs(x{i}) * 8192.0D + ") for i, text in enumerate(coded))
    assert made == [
        "cast(cast(v1 as double) as bigint) c1",
        "cast(cast(v2 as double) as bigint) c2",
        "cast(cast(v0 as double) * cast(v0 as double) as bigint) c3",
        "cast(cast(v0 as double) * cast(v2 as double) as bigint) c4",
    ]
    assert [len(step) for step in codes.spell(range(4, 5))] == [2, 2, 1]
