"""The limits of domains: what lies just inside is taken, what lies just outside is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.domains import domain, extremes, groups, moments
from gaussmith.domains import groups as group_weights
from gaussmith.domains import moments as moment_norms
from gaussmith.domains import uncentred as labels
from gaussmith.domains.domain import check_coordinates
from gaussmith.domains.extremes import check_lift
from gaussmith.domains.people import People
from gaussmith.domains.row_moments import RowMoments
from gaussmith.numerics.matrices import Dense
from gaussmith.papers import gaussian as unknown_gaussian
from gaussmith.papers import looks
from gaussmith.papers.looks import ColumnCells, LengthCells
from gaussmith.privacy.neighbours import ADD_REMOVE, REPLACE_ONE

INF = math.inf


def above(x: float) -> float:
    return math.nextafter(x, INF)


def below(x: float) -> float:
    return math.nextafter(x, -INF)


def test_limits_are_as_documented() -> None:
    """Each is a promise of size or time; a change is a decision."""
    assert extremes.MAX_LISTED == moment_norms.MAX_VERTICES == 4096
    assert (moments.MAX_COLUMNS, unknown_gaussian.MAX_COLUMNS) == (64, 4096)
    assert (labels.MAX_LABELS, groups.MAX_GROUPS, domain.MAX_SINGLE) == (100_000_000, 10_000_000, 10_000_000)
    assert (looks.MAX_CELLS, group_weights.MAX_WEIGHTS) == (1 << 20, 12)


TAKEN_AND_REFUSED: dict[str, tuple[str, Callable[[Any], Any], list[Any], list[Any]]] = {
    "box, far": (
        "bounds-out-of-scale",
        lambda x: gm.Box([0.0], [x]),
        [below(1e100)],
        [1e100, above(1e100), 1.5e100],
    ),
    "box, far below": ("bounds-out-of-scale", lambda x: gm.Box([x], [0.0]), [-below(1e100)], [-1e100, -1.5e100]),
    "box, near": ("bounds-out-of-scale", lambda x: gm.Box([0.0], [x]), [1e-100], [below(1e-100), 9e-101]),
    "box, near below": ("bounds-out-of-scale", lambda x: gm.Box([x], [0.0]), [-1e-100], [-9e-101]),
    "box, equal": ("bounds-equal", lambda x: gm.Box([1.0], [x]), [2.0], [1.0]),
    "box, reversed": ("bounds-reversed", lambda x: gm.Box([x], [1.0]), [0.0], [1.5]),
    "box, upper": ("bounds-not-finite", lambda x: gm.Box([0.0], [x]), [1.0], [INF, math.nan]),
    "box, lower": ("bounds-not-finite", lambda x: gm.Box([x], [1.0]), [0.0], [-INF, math.nan]),
    "box, lists": ("bounds-not-one-list", lambda x: gm.Box(x, x + 1), [np.zeros(2)], [np.zeros((1, 2))]),
    "ball, far": ("number-out-of-range", lambda x: gm.domains.Ball(1, x), [below(1e150)], [1e150, 1.5e150]),
    "ball, near": ("radius-too-small", lambda x: gm.domains.Ball(1, x), [1e-150], [below(1e-150)]),
    "ball, no radius": ("number-out-of-range", lambda x: gm.domains.Ball(1, x), [1.0], [0.0, -1.0]),
    "ball, no column": ("whole-number-out-of-range", lambda x: gm.domains.Ball(x, 1.0), [1], [0]),
    "ball, centre": (
        "centre-does-not-match-dimension",
        lambda x: gm.domains.Ball(2, 1.0, centre=x),
        [[0, 0], [below(1e150), -below(1e150)]],
        [[0], [0, 0, 0], [1e150, 0], [0, -1.5e150], [math.nan, 0], [[0, 0]], "ab", [[], []]],
    ),
    "moments": (
        "too-many-columns-of-moments",
        lambda n: gm.Moments(gm.Box([0] * n, [1] * n), "squares"),
        [64],
        [65],
    ),
    "moments, around": (
        "number-out-of-range",
        lambda x: gm.Moments({"a": (0, 1)}, around=x),
        [0, 1, 0.5],
        [below(0), above(1), 1.5],
    ),
    "moments, pairs": (
        "product-of-unknown-columns",
        lambda pair: gm.Moments({"a": (0, 1), "b": (0, 1)}, [pair]),
        [("a", "b"), ("b", "b"), (0, 1), (1, 1), ["a", 0]],
        [("a",), ("a", "b", "a"), "ab", ("a", "c"), (0, 2), (-1, 0), (0, 1.0), 1, ("c", "a"), ()],
    ),
    "moments, products": (
        "products-not-listed",
        lambda given: gm.Moments({"a": (0, 1), "b": (0, 1)}, given),
        ["all", "squares", [("a", "b")]],
        ["ab", [], 3, {"a": "b"}.items()],
    ),
    "row moments": (
        "whole-number-out-of-range",
        lambda k: RowMoments({"a": (0, 1)}, max_rows=k),
        [2, 3],
        [1, 0],
    ),
    "people": (
        "whole-number-out-of-range",
        lambda k: People(gm.Box([0], [1]), None, k),
        [2, 3],
        [1, 0],
    ),
    "gaussian, sd": (
        "sd-out-of-range",
        lambda x: gm.domains.GaussianData([0, 0], [1.0, x]),
        [above(1e-150), below(1e150)],
        [1e-150, 1e150, 0.0, -1.0, below(1e-150), above(1e150), 1.5e150, 1.5e-150 / 2],
    ),
    "gaussian, mean": (
        "mean-not-finite",
        lambda x: gm.domains.GaussianData([0, x], [1, 1]),
        [below(1e150), -below(1e150)],
        [1e150, -1e150, 1.5e150],
    ),
    "gaussian, mean within": (
        "mean-within-negative",
        lambda x: gm.domains.GaussianData([0, 0], [1, 1], mean_within=[1.0, x]),
        [0.0, 0.5, below(1e150)],
        [below(0.0), -1.0, 1e150, 1.5e150],
    ),
    "gaussian, rows": (
        "number-out-of-range",
        lambda x: gm.domains.GaussianData(0, 1, rows=x),
        [1, 1.5, below(1e15)],
        [below(1), 0, 1e15, 1.5e15],
    ),
    "gaussian, clip": ("unknown-clip", lambda x: gm.domains.GaussianData(0, 1, clip=x), ["best", 1e-4], ["most"]),
    "gaussian, scaling": (
        "unknown-scaling",
        lambda x: gm.domains.GaussianData(0, 1, scaling=x),
        ["best", "report", "chebyshev", "round"],
        ["square"],
    ),
    "gaussian, half known": (
        "gaussian-data-half-known",
        lambda given: gm.domains.GaussianData(**given),
        [{"mean": 0, "sd": 1}, {"dimension": 2}],
        [{"mean": 0}, {"sd": 1}, {"mean": 0, "sd": 1, "dimension": 1}, {"mean": 0, "sd": 1, "normal": True}, {}],
    ),
    "gaussian, numbers": (
        "not-numbers-per-coordinate",
        lambda x: gm.domains.GaussianData(0, x),
        [[1.0], 1.0],
        [[], [[1.0]], "many", [1.0, INF], [math.nan]],
    ),
    "gaussian, numbers of": (
        "numbers-do-not-match-sd",
        lambda x: gm.domains.GaussianData(x, [1, 1, 1]),
        [0, [0], [0, 1, 2]],
        [[0, 1], [0, 1, 2, 3]],
    ),
    "gaussian, half axes": (
        damaged("half_axes"),
        lambda x: gm.domains.GaussianData([0, 0], [1, 1]).clipped_to(np.array(x)),
        [[1.0, above(1e-150)], [below(1e150), 1.0]],
        [[1.0], [1.0, 0.0], [1.0, 1e-150], [1.0, 1e150], [1.5e150, 1.0], [-1.0, 1.0], [math.nan, 1.0]],
    ),
    "unknown, dimension": (
        "whole-number-out-of-range",
        lambda n: gm.domains.GaussianData(dimension=n),
        [1, 4096],
        [0, 4097],
    ),
    "unknown, told": (
        "unknown-data-told",
        lambda given: gm.domains.GaussianData(dimension=2, **given),
        [{}, {"rows": 5}],
        [{"clip": 0.1}, {"scaling": "round"}],
    ),
    "unknown, normal": (
        "normal-not-a-truth",
        lambda x: gm.domains.GaussianData(dimension=2, normal=x),
        [True, False],
        [1, "yes"],
    ),
    "labels": ("too-many-labels", lambda n: labels.read_labels("item", n), [1, 100_000_000], [0, -1, 100_000_001]),
    "labels, twice": (
        "label-twice",
        lambda x: labels.read_labels("item", x),
        [["a", "b"], ["1", 1], [0, 1]],
        [["a", "b", "a"], [1, "1", 1], [1, 1.0], [True, 1]],
    ),
    "labels, kinds": (
        "label-of-unknown-type",
        lambda x: labels.read_labels("item", ["a", x]),
        ["b", 1, 0.5, True, np.int64(3), np.float64(0.5), INF],
        [None, math.nan, (1,), 1j],
    ),
    "labels, text": (
        "label-with-broken-characters",
        lambda x: labels.read_labels("item", ["a", x]),
        ["\ud7ff", "\ue000", "b"],
        ["\ud800", "\udfff", "x\udabcy"],
    ),
    "votes": ("only-one-candidate", lambda n: gm.domains.Votes(n), [2], [1]),
    "at most": ("whole-number-out-of-range", lambda k: gm.Counts(3, k), [1, 3], [0, 4]),
    "sparse, bound": (
        "sparse-bound-out-of-range",
        lambda x: gm.domains.SparseSum(2, 1, x),
        [above(1e-100), below(1e100), [1.0, 2.0], 0.5],
        [1e-100, 1e100, 1.5e100, 0.0, -1.0, [1.0], [1.0, 2.0, 3.0], [1.0, 0.0], [1.0, INF], [[1.0, 2.0]], "wide"],
    ),
    "points": (
        "points-malformed",
        lambda x: gm.domains.Points(x),
        [[[0]], [[0, 1], [1, 2]]],
        [[0, 1], [[[0]]], [], [[]], np.zeros((0, 2)), np.zeros((2, 0)), [[math.nan]], [[INF, 0]], "ab", [[0], [1, 2]]],
    ),
    "points, twice": ("point-twice", lambda x: gm.domains.Points(x), [[[0, 1], [1, 0]]], [[[0, 1], [2, 2], [0, 1]]]),
    "groups, at most": (
        "at-most-exceeds-groups",
        lambda k: gm.Groups({"g": ["a", "b"]}, gm.Records(), k),
        [1, 2],
        [3],
    ),
    "groups, none": ("whole-number-out-of-range", lambda k: gm.Groups({"g": ["a"]}, gm.Records(), k), [1], [0, 1.5]),
    "groups, twice": (
        "group-twice",
        lambda keys: gm.Groups({"g": keys}, gm.Records()),
        [["a", "b"], ["1", 1], [True, 1]],
        [["a", "b", "a"], [1, 1]],
    ),
    "groups, keys": (
        "key-of-unknown-type",
        lambda x: gm.Groups({"g": ["a", x]}, gm.Records()),
        ["b", 1, True],
        [0.5, None, ("a",)],
    ),
    "groups, listed": (
        "keys-not-listed",
        lambda x: gm.Groups({"g": x, "h": ["a"]}, gm.Records()),
        [["a"], ("a", "b"), range(2)],
        ["ab", [], 3, {"a": 1}],
    ),
    "groups, no key": ("no-groups", lambda x: gm.Groups(x, gm.Records()), [[{"g": "a"}]], [{}, [], [{}], [{}, {}]]),
    "labels, listed": (
        "labels-not-listed",
        lambda x: labels.read_labels("item", x),
        [["a"], ("a",), np.array(["a", "b"])],
        ["ab", None, 1.5, {"a": 1}, {"a"}],
    ),
    "labels, none": ("no-labels", lambda x: labels.read_labels("item", x), [["a"]], [[], ()]),
    "groups, many": (
        "too-many-groups",
        lambda n: gm.Groups({"a": range(n), "b": range(1000), "c": range(1000)}, gm.Records()),
        [],
        [11, 20],
    ),
    "looks": ("too-many-cells-of-columns", lambda n: ColumnCells([[0.0]], columns=n), [1 << 19], [(1 << 19) + 1]),
    "looks, edges": (
        "edges-of-columns-damaged",
        lambda x: ColumnCells(x),
        [[[0.0]], [[0, 1], [2, 3]], [[1, 1]]],
        [[0.0], 0.0, [], [[]], [[1, 0]], [[0, 1], [3, 2]], [[math.nan]], [[INF]], "ab", [[[0]]], [[0], [1, 2]]],
    ),
    "lengths": (
        "scale-of-length-not-positive",
        lambda x: LengthCells([0, 0], x, [1]),
        [[1, 2], [1e-300, 1]],
        [[1], [1, 0], [1, -1], [1, 2, 3]],
    ),
    "lengths, edges": (
        "edges-of-columns-damaged",
        lambda x: LengthCells([1, 0], [2, 1], x),
        [[1], [0, 1], [1, 1]],
        [[], [1, 0], [[1]], [math.nan], "ab"],
    ),
    "lengths, centre": (
        "edges-of-columns-damaged",
        lambda x: LengthCells(x, [2], [1]),
        [[1], [-1]],
        [[], [[1]], [math.nan], "ab", 1],
    ),
    "box, one list": ("upper-missing", lambda x: gm.Box([0], x), [[1]], [None]),
    "box, mapping": ("upper-beside-mapping", lambda x: gm.Box({"a": (0, 1)}, x), [None], [[1]]),
    "box, two lists": ("lower-and-upper-differ-in-number", lambda x: gm.Box([0, 0], x), [[1, 1]], [[1], [1, 1, 1]]),
    "box, no list": ("box-without-coordinates", lambda x: gm.Box(x, x), [], [[]]),
    "box, pairs": ("bounds-not-two-numbers", lambda x: gm.Box({"a": x}), [(0, 1)], [(0,), 3, ("x", 1), (0, 1, 2)]),
    "cells": ("cells-not-given-in-one-way", lambda x: gm.Cells(**x), [{"size": 3}, {"shape": [2, 3]}], [
        {}, {"size": 3, "shape": [3]}, {"labels": 3, "size": 3}, {"labels": 3, "size": 3, "shape": [3]},
    ]),
    "cells, none": ("cells-without-attributes", lambda x: gm.Cells(x), [{"a": 2}], [{}]),
    "cells, other": (
        "other-not-declared",
        lambda x: gm.Cells({"a": ["x", "y"], "b": 3}, other=x),
        [{"a": "y"}, {"b": 2}, {"a": "x", "b": 0}],
        [{"a": "z"}, {"b": 3}, {"a": 0}, {"b": -1}],
    ),
    "cells, other's name": (
        "other-names-no-attribute",
        lambda x: gm.Cells({"a": ["x", "y"], "b": 3}, other=x),
        [{"a": "y"}],
        [{"c": 0}],
    ),
    "cells, whose other": (
        "other-without-attribute",
        lambda x: gm.Cells(shape=x, other=1),
        [[2], [3]],
        [[2, 2], [2, 2, 2]],
    ),
    "cells, or none": (
        "other-beside-or-none",
        lambda x: gm.Cells(3, or_none=x, other=1),
        [False],
        [True],
    ),
    "cells, one by one": (
        "too-many-cells-to-release",
        lambda n: check_coordinates(gm.Cells(n)),
        [10_000_000],
        [10_000_001],
    ),
    "cells, very many": (
        "too-many-cells-to-release",
        lambda shape: check_coordinates(gm.Cells(shape=shape)),
        [[10, 10]],
        [[100_000_000] * 2, [100_000_000] * 50],
    ),
    "weights, many": (
        "too-many-group-weights",
        lambda n: group_weights.read_group_weights(list(range(1, n + 1)), ("g",), [(i,) for i in range(n)]),
        [12],
        [13],
    ),
    "weights, size": (
        "group-weights-malformed",
        lambda w: group_weights.read_group_weights(w, ("g",), [("a",), ("b",)]),
        [[1, 2], (1, 1)],
        [[1], [1, 2, 3], "ab", 3, {1, 2}],
    ),
    "weights, positive": (
        "group-weight-not-positive",
        lambda w: group_weights.read_group_weights([1, w], ("g",), [("a",), ("b",)]),
        [1, 5e-324, 1e308],
        [0, -1, INF, math.nan, "1", None],
    ),
    "weights, sum": (
        "group-weight-not-positive",
        lambda w: group_weights.read_group_weights(w, ("g",), [("a",), ("b",)]),
        [[1e308, 0.5]],
        [[1e-300, 1e308], [1e308, 1.7e308]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN_AND_REFUSED)
def test_what_lies_inside_is_taken_and_what_lies_outside_refused(name: str) -> None:
    code, make, inside, outside = TAKEN_AND_REFUSED[name]
    for given in inside:
        make(given)
    for given in outside:
        with refused(code):
            make(given)


def test_a_lift_has_the_columns_of_its_domain_or_one_more_for_a_private_count() -> None:
    assert check_lift(Dense(np.ones((2, 4))), 3, ADD_REMOVE)
    for neighbours in (ADD_REMOVE, REPLACE_ONE):
        assert not check_lift(Dense(np.ones((2, 3))), 3, neighbours)
        for columns in (2, 5):
            with refused(damaged("a lift of")):
                check_lift(Dense(np.ones((2, columns))), 3, neighbours)
    with refused(damaged("a lift of")):
        check_lift(Dense(np.ones((2, 4))), 3, REPLACE_ONE)


def test_as_many_groups_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MAX_GROUPS", 6)
    made = gm.Groups({"a": [1, 2], "b": ["x", "y", "z"]}, gm.Records())
    assert made.size == 6 and made.classes == ((1.0, (0, 1, 2, 3, 4, 5)),) and not made.is_found
    with refused("too-many-groups"):
        gm.Groups({"a": [1, 2], "b": ["x", "y", "z", "w"]}, gm.Records())
    weighed = gm.Groups({"a": [1, 2, 3]}, gm.Records(), weights=[1, 4, 1])
    assert weighed.classes == ((0.5, (0, 2)), (2.0, (1,)))
