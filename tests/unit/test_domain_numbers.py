"""What the coordinates of every domain are, written out by hand: centres, radii, names, and what is saved of them."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.domains import (
    _KINDS,
    BallMoments,
    ColumnCells,
    LengthCells,
    People,
    RowMoments,
    domain_from_dict,
)
from gaussmith.problem.features import of_coordinates, of_matrix

BOX = gm.Box({"a": (1.0, 4.0), "b": (-3.0, -1.0), "c": (-2.0, 6.0)})
PEOPLE = People(gm.Box({"own": (1.0, 5.0)}), gm.Box({"p": (-1.0, 3.0), "q": (0.0, 0.5)}), 4)
ONLY_OWN, ONLY_ROWS = People(gm.Box([0], [2]), None, 3), People(None, gm.Box([1], [5]), 2)
MOMENTS = gm.Moments({"a": (1.0, 5.0), "b": (0.0, 6.0)}, around=0.25)
FEW = gm.Moments(gm.Box([0.0, 0.0, 0.0], [2.0, 4.0, 8.0]), [(2, 0), (1, 1), (0, 2)])
ROWS = RowMoments({"a": (1.0, 5.0)}, "squares", 0.5, max_rows=3)
GAUSSIAN = gm.GaussianData([1, -2], [3, 4], rows=50, mean_within=[4, 3], names=["a", "b"])
CLIPPED = gm.GaussianData([1, -2], [3, 4], rows=50).clipped_to(np.array([6.0, 2.0]))
UNKNOWN = gm.GaussianData(dimension=2, rows=30, normal=True)
BALL = gm.Ball(2, 3.0, centre=[1.0, -2.0], names=["u", "v"])
BALL_MOMENTS = BallMoments(2, 3.0, names=["u", "v"])
POINTS = gm.Points([[0, 1, 0], [2, -5, 0]], names=["a", "b", "c"])
SPARSE, EVEN = gm.SparseSum(["a", "b"], 1, [1.0, 4.0]), gm.SparseSum(3, 2, 0.5)
COUNTS, VOTES = gm.Counts(["bread", "milk", "tea"], at_most=2), gm.Votes(4)
CELLS = gm.Cells({"x": ["p", "q"], "y": 3}, other={"x": "q", "y": 2})
NONE = gm.Cells(size=3, or_none=True)
COLUMNS = ColumnCells([[0, 1], [2, 3]], names=["a", "b"])
LENGTHS = LengthCells([0, 1], [2, 3], [1, 2, 4])

EXACT: dict[str, tuple[Any, dict[str, Any]]] = {
    "box": (
        BOX,
        {
            "dimension": 3,
            "centre": [2.5, -2, 2],
            "radius": [1.5, 1, 4],
            "spread": [0.75, 1 / 3, 16 / 3],
            "ranges": [3, 2, 8],
            "mean_distances": [1.5, 1, 4],
            "largest_values": [4, 3, 6],
            "names": ("a", "b", "c"),
        },
    ),
    "ball": (
        BALL,
        {"centre": [1, -2], "radius": [3, 3], "spread": [9 / 4] * 2, "ranges": [6, 6], "means_vary_alone": False},
    ),
    "wide ball": (gm.Ball(7, 2.0), {"centre": [0] * 7, "spread": [4 / 9] * 7, "names": None, "dimension": 7}),
    "gaussian": (
        GAUSSIAN,
        {
            "dimension": 2,
            "centre": [1, -2],
            "radius": [3, 4],
            "spread": [16, 9],
            "mean_distances": [4, 3],
            "deviation": [5, 5],
            "shares": [25 / 9, 25 / 16],
            "half_axes": None,
            "rows": 50,
        },
    ),
    "clipped": (
        CLIPPED,
        {
            "radius": [6, 2],
            "spread": [9, 16],
            "mean_distances": [3, 4],
            "deviation": [3, 4],
            "shares": [0.25, 4],
            "names": None,
        },
    ),
    "unknown": (UNKNOWN, {"centre": [0, 0], "sd": [1, 1], "dimension": 2, "rows": 30, "normal": True, "names": None}),
    "people": (
        PEOPLE,
        {
            "dimension": 4,
            "centre": [3, 0, 0, 0],
            "radius": [2, 8, 1, 4],
            "spread": [4 / 3, 4 / 3, 1 / 48, 0],
            "mean_distances": [2, 2, 0.25, 0],
            "names": ("own", "p", "q", "rows"),
            "parts": (slice(0, 1), slice(1, 3), 3),
            "rows_coordinate": 3,
            "over_rows": (2, 4),
        },
    ),
    "people, own": (ONLY_OWN, {"centre": [1, 0], "radius": [1, 3], "over_rows": (0, 3), "rows_coordinate": 1}),
    "people, rows": (ONLY_ROWS, {"centre": [0, 0], "radius": [4, 2], "over_rows": (1, 2), "dimension": 2}),
    "moments": (
        MOMENTS,
        {
            "dimension": 5,
            "pairs": ((0, 0), (0, 1), (1, 1)),
            "centre": [3, 3, -1, 0, -2.25],
            "radius": [2, 3, 4, 6, 9],
            "spread": [4 / 3, 3, 16 / 3, 12, 27],
            "squares": [2, 4],
            "crossed": [3],
            "names": ("a", "b", "a²", "a·b", "b²"),
            "columns": ("a", "b"),
            "substitutes_size": 2,
        },
    ),
    "few moments": (
        FEW,
        {
            "pairs": ((0, 2), (1, 1)),
            "radius": [1, 2, 4, 4, 4],
            "squares": [4],
            "crossed": [3],
            "columns": None,
            "names": ("0", "1", "2", "0·2", "1²"),
        },
    ),
    "row moments": (ROWS, {"centre": [3, -2], "radius": [2, 4], "max_rows": 3, "pairs": ((0, 0),)}),
    "ball moments": (
        BALL_MOMENTS,
        {
            "dimension": 3,
            "centre": [0, 0, 0],
            "radius": [9, 9, 9],
            "spread": [27, 27, 27],
            "ranges": [9, 9 / 2**0.5, 9],
            "is_square": [True, False, True],
            "names": ("u²", "u·v", "v²"),
            "columns": ("u", "v"),
            "means_vary_alone": False,
        },
    ),
    "points": (
        POINTS,
        {"dimension": 3, "width": 2, "ranges": [2, 5, 1], "names": ("a", "b", "c"), "radius": [1, 1, 1]},
    ),
    "sparse": (SPARSE, {"radius": [1, 4], "ranges": [2, 8], "centre": [0, 0], "spread": [0, 0], "dimension": 2}),
    "even sparse": (EVEN, {"radius": [0.5] * 3, "ranges": [1] * 3, "declared_lists": [range(3)], "names": None}),
    "counts": (
        COUNTS,
        {
            "dimension": 3,
            "radius": [1, 1, 1],
            "ranges": [1, 1, 1],
            "names": ("bread", "milk", "tea"),
            "marks_at_most": 2,
            "substitutes_size": 0,
            "declared_lists": [("bread", "milk", "tea")],
        },
    ),
    "votes": (VOTES, {"points": 6, "ranges": [3] * 4, "names": None, "declared_lists": [range(4)]}),
    "cells": (
        CELLS,
        {
            "dimension": 6,
            "others": (1, 2),
            "names": ("p, 0", "p, 1", "p, 2", "q, 0", "q, 1", "q, 2"),
            "attribute_names": ["x", "y"],
            "marks_at_most": None,
            "declared_lists": [("p", "q"), range(3)],
            "undeclared": "a value that is missing or not declared counts as: x=q, y=2",
        },
    ),
    "cells or none": (
        NONE,
        {"dimension": 3, "names": None, "marks_at_most": 1, "undeclared": "", "attribute_names": ["0"], "others": (0,)},
    ),
    "column cells": (COLUMNS, {"dimension": 6, "cells": 3, "at_most": 2, "columns": ("a", "b"), "declared_lists": []}),
    "length cells": (LENGTHS, {"dimension": 4, "at_most": 1, "columns": None, "declared_lists": []}),
    "records": (gm.Records(), {"dimension": 0, "centre": [], "radius": [], "spread": [], "names": ()}),
}


@pytest.mark.parametrize("name", EXACT)
def test_coordinates_are_what_their_definition_says(name: str) -> None:
    domain, expected = EXACT[name]
    for attribute, value in expected.items():
        found = getattr(domain, attribute)
        if isinstance(found, np.ndarray):
            assert found.tolist() == pytest.approx(value, rel=1e-14, abs=0), attribute
        else:
            assert found == value, attribute


@pytest.mark.parametrize("name", EXACT)
def test_domains_come_back_from_what_is_saved(name: str) -> None:
    domain = EXACT[name][0]
    saved = json.loads(json.dumps(domain.to_dict()))
    again = domain_from_dict(saved)
    assert again == domain and hash(again) == hash(domain) and again.to_dict() == domain.to_dict()


@pytest.mark.parametrize(
    ("domain", "fields"),
    [
        (BOX, "lower upper"),
        (gm.Ball(2, 1.0), "centre"),
        (BALL, "centre"),
        (GAUSSIAN, "centre sd mean_within"),
        (CLIPPED, "half_axes"),
        (POINTS, "points"),
        (SPARSE, "bounds"),
        (COLUMNS, "edges"),
        (LENGTHS, "middle scale edges"),
    ],
)
def test_nobody_changes_the_numbers_of_a_domain(domain: Any, fields: str) -> None:
    for name in fields.split():
        with pytest.raises(ValueError, match="read-only"):
            getattr(domain, name)[0] = 1e9


def test_every_kind_of_domain_is_written_out() -> None:
    assert {type(domain) for domain, _ in EXACT.values()} == set(_KINDS.values())
    with refused("unknown-domain-kind", kind="sphere"):
        domain_from_dict({"kind": "sphere"})


def test_what_is_saved_is_short_where_it_can_be() -> None:
    assert SPARSE.to_dict() == {"kind": "sparse", "coordinates": ["a", "b"], "at_most": 1, "bounds": [1.0, 4.0]}
    assert EVEN.to_dict() == {"kind": "sparse", "coordinates": 3, "at_most": 2, "bounds": 0.5}
    assert COUNTS.to_dict()["items"] == ["bread", "milk", "tea"] and gm.Counts(3, 1).to_dict()["items"] == 3
    assert VOTES.to_dict() == {"kind": "votes", "candidates": 4}
    assert gm.Votes(["x", "y"]).to_dict()["candidates"] == ["x", "y"]
    assert CELLS.to_dict() == {
        "kind": "cells",
        "attributes": ["x", "y"],
        "labels": [["p", "q"], 3],
        "or_none": False,
        "others": [1, 2],
    }
    assert NONE.to_dict()["attributes"] is None and NONE.to_dict()["labels"] == [3]
    assert "names" not in gm.Ball(2, 1.0).to_dict() and "names" not in gm.Box([0], [1]).to_dict()
    assert BALL.to_dict()["names"] == ["u", "v"] and BOX.to_dict()["names"] == ["a", "b", "c"]
    assert "names" not in CLIPPED.to_dict() and GAUSSIAN.to_dict()["names"] == ["a", "b"]
    assert GAUSSIAN.to_dict()["half_axes"] is None and CLIPPED.to_dict()["half_axes"] == [6.0, 2.0]
    assert UNKNOWN.to_dict() == {"kind": "unknown-gaussian", "dimension": 2, "rows": 30, "normal": True}
    assert gm.GaussianData(names=["a"]).to_dict()["names"] == ["a"] and gm.GaussianData(names=["a"]).dimension == 1
    assert POINTS.to_dict()["names"] == ["a", "b", "c"] and gm.Points([[1]]).to_dict()["names"] is None
    assert BALL_MOMENTS.to_dict()["names"] == ["u", "v"] and BallMoments(2, 1.0).to_dict()["names"] is None
    assert ONLY_OWN.to_dict()["rows"] is None and ONLY_ROWS.to_dict()["own"] is None
    assert COLUMNS.to_dict()["edges"] == [[0, 1], [2, 3]] and COLUMNS.to_dict()["names"] == ["a", "b"]
    alike = ColumnCells([[0, 1], [0, 1], [0, 1]])
    assert alike.to_dict() == {"kind": "column-cells", "columns": 3, "edges": [[0.0, 1.0]]}
    assert alike == ColumnCells([[0, 1]], columns=3) != ColumnCells([[0, 1]], columns=2)
    assert LENGTHS.to_dict() == {"kind": "length-cells", "centre": [0, 1], "scale": [2, 3], "edges": [1, 2, 4]}


# -- codes ------------------------------------------------------------------------------------------------------------


def test_coded_points_lie_inside_their_bounds_and_nearly_fill_them() -> None:
    for domain in (BOX, PEOPLE, ONLY_OWN, ONLY_ROWS, MOMENTS, FEW, ROWS, SPARSE, EVEN):
        middle, half = domain.coded
        near = 2.0**-19 if isinstance(domain, gm.Moments) else 2.0**-40
        assert half == pytest.approx(domain.radius, rel=near, abs=0) and (half <= domain.radius).all()
        assert np.abs(middle - domain.centre) == pytest.approx(0, abs=near * float(domain.radius.max()))
    assert BALL_MOMENTS.coded[1] == pytest.approx(9 * (2**21 / (2**21 - 2)) ** 2, rel=1e-15)
    assert BALL.coded == (BALL.centre, BALL.radius)
    assert PEOPLE.middles == pytest.approx([3, 1, 0.25, 0], rel=2.0**-40) and PEOPLE.middles[-1] == 0
    assert BOX.middles is BOX.coded[0]


def test_the_codes_of_people_end_with_the_number_of_rows() -> None:
    codes = PEOPLE.codes(np.array([2.0, 0.5, 0.25, 9.0]))
    box = gm.Box([1, -1, 0], [5, 3, 0.5]).codes(np.array([2.0, 0.5, 0.25]))
    for name, last in (("low", 0.0), ("top", 4.0), ("scale", 1.0), ("steps", 4), ("substitute", 0.0)):
        assert getattr(codes, name).tolist() == [*getattr(box, name).tolist(), last], name
    assert (codes.rows, codes.max_rows) == (2, 4)


def test_what_replaces_missing_values() -> None:
    sums, means = of_coordinates(np.arange(3), np.zeros(3, bool)), of_coordinates(np.arange(3), np.ones(3, bool))
    assert BOX.substitutes(sums, {}).tolist() == [1, -1, 0]
    assert BOX.substitutes(means, {}).tolist() == [2.5, -2, 2]
    assert BOX.substitutes(of_matrix(np.ones((1, 3))), {}).tolist() == [1, -1, 0]
    assert BOX.substitutes(sums, {"b": -1, "a": 4.0, "c": -2}).tolist() == [4, -1, -2]
    some = of_coordinates(np.array([0, 2]), np.array([True, False]))
    assert BOX.substitutes(some, {}).tolist() == [2.5, -1, 0]
    both = of_coordinates(np.array([1, 1, 0]), np.array([True, False, True]))
    with refused("sum-and-mean-without-missing", column="b"):
        BOX.substitutes(both, {})
    with refused("sum-and-mean-without-missing", column="b"):
        BOX.substitutes(both, {"a": 2})
    assert BOX.substitutes(both, {"b": -2}).tolist() == [2.5, -2, 0]
    assert MOMENTS.substitutes(sums, {}).tolist() == [3, 3]
    assert MOMENTS.substitutes(sums, {"b": 6, "a": 1.0}).tolist() == [1, 6]
    assert MOMENTS.box.centre.tolist() == [3, 3], "the domain itself is left as it is"
    for domain in (BOX, MOMENTS):
        with refused("missing-names-no-column", column="z"):
            domain.substitutes(sums, {"z": 1})
        for value in (0.9, 5.1, float("nan"), "1"):
            with refused("missing-outside-bounds" if domain is BOX else "number-out-of-range"):
                domain.substitutes(sums, {"a": value})
    clipped = BOX.codes(np.array([0.0, 0.0, 0.0])).substitute
    assert clipped.tolist() == [1, -1, 0]
    assert COUNTS.substitutes(sums, {}).size == 0


def test_what_coordinates_are_made_of() -> None:
    assert [MOMENTS.read_from(j) for j in range(5)] == [(0,), (1,), (0, 0), (0, 1), (1, 1)]
    assert [BALL_MOMENTS.read_from(j) for j in range(3)] == [(0, 0), (0, 1), (1, 1)]
    assert [COLUMNS.read_from(j) for j in range(6)] == [(0,)] * 3 + [(1,)] * 3
    assert [LENGTHS.read_from(j) for j in range(4)] == [(0, 1)] * 4
    assert BOX.read_from(2) == (2,)


def test_cores_of_moments_and_of_pairs_of_them() -> None:
    values = np.array([[0.5, -1.0], [0.25, 1.0]])
    assert MOMENTS.cores(values).tolist() == [[0.5, -1, 0.25, -0.5, 1], [0.25, 1, 0.0625, 0.25, 1]]
    near = 0.5
    for kinds in np.ndindex(3, 3):
        # both ends; one end and `near` from it; the same end
        ends = [{0: (1.0, -1.0), 1: (1.0, 1 - near), 2: (1.0, 1.0)}[kind] for kind in kinds]
        (a, b), (c, d) = ends
        largest = [
            max(abs(s * (x * y) - s * (u * v)) for s in (1, -1) for x, u, y, v in options)
            for options in (
                [(a, b, a, b), (b, a, b, a)],
                [(a, b, c, d), (a, b, d, c), (b, a, c, d), (b, a, d, c)],
                [(c, d, c, d), (d, c, d, c)],
            )
        ]
        found = MOMENTS.pair_cores(np.array([kinds]), near)[0]
        assert found[:2].tolist() == [abs(a - b), abs(c - d)]
        assert (found[2:] >= np.array(largest) - 1e-15).all(), (kinds, found, largest)


def test_a_person_of_row_moments_adds_little_more_than_its_rows() -> None:
    """k times one row, and half a code of each number for a rounded mean."""
    for domain in (ROWS, RowMoments({"a": (0, 1), "b": (0, 3)}, "all", 0.0, max_rows=7)):
        steps = [int(s) for s in domain.codes(domain.box.centre).base.steps]
        off = sum(Fraction(1, s) for s in steps)
        for i, j in domain.pairs:
            # the core is 4 c_i c_j − 2 steps_j c_i − 2 steps_i c_j + …, and core 1 of a square weighs twice
            core = Fraction(4 + 2 * steps[j] + 2 * steps[i], 2)
            off += (1 + (i == j)) * core / (steps[i] * steps[j])
        assert domain.times == domain.max_rows * (1 + off)


def test_chosen_ellipsoids_and_other_means() -> None:
    domain = gm.GaussianData([1, -2], [3, 4], rows=50, clip=0.01, scaling="round", names=["a", "b"])
    other = domain.off_by(np.array([1.0, 2.0]))
    assert other.mean_within is not None and other.mean_within.tolist() == [1, 2] and other.centre.tolist() == [1, -2]
    zero = CLIPPED.around_zero()
    assert zero.centre.tolist() == [0, 0] and zero.half_axes is None and zero.sd.tolist() == [3, 4]
    for each in (other, zero, domain):
        assert each.rows == 50
    assert (other.clip, other.scaling, other.names) == (0.01, "round", ("a", "b"))
    with refused("clip-not-planned"):
        GAUSSIAN.codes()
    assert CLIPPED.codes().encode(np.array([[1.0, -2.0], [7.0, -2.0]])).tolist() == [[0, 0], [2**42 - 4, 0]]
    single = gm.GaussianData(7, [1, 2], mean_within=3)
    assert single.centre.tolist() == [7, 7] and single.spread.tolist() == [9, 9]
