"""What the coordinates of every domain are, written out by hand: centres, radii, names, and what is saved of them."""

from __future__ import annotations

import json
from fractions import Fraction
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from refusals import refused
from sample_domains import Domains

import gaussmith as gm
from gaussmith.domains.box import Records
from gaussmith.domains.cells import CellMarks
from gaussmith.domains.chosen_cells import ChosenCells
from gaussmith.domains.domain import free_marks, records_are_rows, rows_coordinate, rows_of
from gaussmith.domains.extremes import Marks, PersonRows, Product, Signs, Sphere
from gaussmith.domains.groups import FoundGroups
from gaussmith.domains.moments import ValueProducts
from gaussmith.domains.registry import DOMAINS, domain_from_dict
from gaussmith.domains.row_moments import RowMoments
from gaussmith.papers.looks import ColumnCells


def exact() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Each domain, and what its properties are."""
    d = Domains()
    return {
        "box": (
            d.box,
            {
                "dimension": 3,
                "centre": [2.5, -2, 2],
                "radius": [1.5, 1, 4],
                "means.squares": [0.75, 1 / 3, 16 / 3],
                "ranges": [3, 2, 8],
                "means.distances": [1.5, 1, 4],
                "names": ("a", "b", "c"),
            },
        ),
        "chosen cells": (
            ChosenCells("x", Fraction(1, 4), (0.0, 64.0), Fraction(1, 3)),
            {
                "dimension": 67,
                "chosen": 1,
                "fine.cells": 2**19 + 1,
                "fine.width": 2.0**-13,
                "level": Fraction(1, 4),
                "epsilon": Fraction(1, 3),
                "attributes": ("x",),
                "or_none": True,
            },
        ),
        "ball": (
            d.ball,
            {
                "centre": [1, -2],
                "radius": [3, 3],
                "means.squares": [9 / 4] * 2,
                "ranges": [6, 6],
                "means.vary_alone": False,
            },
        ),
        "wide ball": (
            gm.domains.Ball(7, 2.0),
            {"centre": [0] * 7, "means.squares": [4 / 9] * 7, "names": None, "dimension": 7},
        ),
        "gaussian": (
            d.gaussian,
            {
                "dimension": 2,
                "centre": [1, -2],
                "radius": [3, 4],
                "means.squares": [16, 9],
                "means.distances": [4, 3],
                "deviation": [5, 5],
                "shares": [25 / 9, 25 / 16],
                "half_axes": None,
                "rows": 50,
            },
        ),
        "clipped": (
            d.clipped,
            {
                "radius": [6, 2],
                "means.squares": [9, 16],
                "means.distances": [3, 4],
                "deviation": [3, 4],
                "shares": [0.25, 4],
                "names": None,
            },
        ),
        "unknown": (
            d.unknown,
            {"centre": [0, 0], "sd": [1, 1], "dimension": 2, "rows": 30, "normal": True, "names": None},
        ),
        "people": (
            d.people,
            {
                "dimension": 4,
                "centre": [3, 0, 0, 0],
                "radius": [2, 8, 1, 4],
                "means.squares": [4 / 3, 4 / 3, 1 / 48, 0],
                "means.distances": [2, 2, 0.25, 0],
                "names": ("own", "p", "q", "rows"),
                "parts": (slice(0, 1), slice(1, 3), 3),
            },
        ),
        "people, own": (d.only_own, {"centre": [1, 0], "radius": [1, 3]}),
        "people, rows": (d.only_rows, {"centre": [0, 0], "radius": [4, 2], "dimension": 2}),
        "moments": (
            d.moments,
            {
                "dimension": 5,
                "pairs": ((0, 0), (0, 1), (1, 1)),
                "centre": [3, 3, -1, 0, -2.25],
                "radius": [2, 3, 4, 6, 9],
                "means.squares": [4 / 3, 3, 16 / 3, 12, 27],
                "squares": [2, 4],
                "crossed": [3],
                "names": ("a", "b", "a²", "a·b", "b²"),
                "input.columns": ("a", "b"),
            },
        ),
        "few moments": (
            d.few,
            {
                "pairs": ((0, 2), (1, 1)),
                "radius": [1, 2, 4, 4, 4],
                "squares": [4],
                "crossed": [3],
                "input.columns": None,
                "names": ("0", "1", "2", "0·2", "1²"),
            },
        ),
        "row moments": (d.rows, {"centre": [3, -2], "radius": [2, 4], "max_rows": 3, "pairs": ((0, 0),)}),
        "points": (
            d.points,
            {"dimension": 3, "ranges": [2, 5, 1], "names": ("a", "b", "c"), "radius": [1, 1, 1]},
        ),
        "sparse": (d.sparse, {"radius": [1, 4], "ranges": [2, 8], "centre": [0, 0], "dimension": 2}),
        "even sparse": (d.even, {"radius": [0.5] * 3, "ranges": [1] * 3, "input.labels": (range(3),), "names": None}),
        "counts": (
            d.counts,
            {
                "dimension": 3,
                "radius": [1, 1, 1],
                "ranges": [1, 1, 1],
                "names": ("bread", "milk", "tea"),
                "input.labels": (("bread", "milk", "tea"),),
            },
        ),
        "votes": (d.votes, {"points": 6, "ranges": [3] * 4, "names": None, "input.labels": (range(4),)}),
        "cells": (
            d.cells,
            {
                "dimension": 6,
                "others": (1, 2),
                "names": ("p, 0", "p, 1", "p, 2", "q, 0", "q, 1", "q, 2"),
                "input.attributes": ("x", "y"),
                "input.labels": (("p", "q"), range(3)),
                "words.undeclared": "a value that is missing or not declared counts as: x=q, y=2",
            },
        ),
        "cells or none": (
            d.none,
            {
                "dimension": 3,
                "names": None,
                "words.undeclared": "",
                "input.attributes": ("0",),
                "others": (0,),
            },
        ),
        "column cells": (
            d.columns,
            {"dimension": 6, "cells": 3, "at_most": 2, "input.columns": ("a", "b"), "input.labels": ()},
        ),
        "length cells": (d.lengths, {"dimension": 4, "at_most": 1, "input.columns": None, "input.labels": ()}),
        "records": (gm.Records(), {"dimension": 0, "centre": [], "radius": [], "means.squares": [], "names": ()}),
    }


EXACT = list(exact())


@pytest.mark.parametrize("name", EXACT)
def test_coordinates_are_what_their_definition_says(name: str) -> None:
    domain, expected = exact()[name]
    for attribute, value in expected.items():
        found = attrgetter(attribute)(domain)
        if isinstance(found, np.ndarray):
            assert found.tolist() == pytest.approx(value, rel=1e-14, abs=0), attribute
        else:
            assert found == value, attribute


@pytest.mark.parametrize("name", EXACT)
def test_domains_come_back_from_what_is_saved(name: str) -> None:
    domain = exact()[name][0]
    saved = json.loads(json.dumps(domain.to_dict()))
    again = domain_from_dict(saved)
    assert again == domain and hash(again) == hash(domain) and again.to_dict() == domain.to_dict()


def test_nobody_changes_the_numbers_of_a_domain() -> None:
    d = Domains()
    for domain, fields in (
        (d.box, "lower upper"),
        (gm.domains.Ball(2, 1.0), "centre"),
        (d.ball, "centre"),
        (d.gaussian, "centre sd mean_within"),
        (d.clipped, "half_axes"),
        (d.points, "points"),
        (d.sparse, "bounds"),
        (d.columns, "edges"),
        (d.lengths, "middle scale edges"),
    ):
        for name in fields.split():
            with pytest.raises(ValueError, match="read-only"):
                getattr(domain, name)[0] = 1e9


def test_every_kind_of_domain_is_written_out() -> None:
    assert {type(domain) for domain, _ in exact().values()} == set(DOMAINS.values())
    with refused("unknown-domain-kind", kind="sphere"):
        domain_from_dict({"kind": "sphere"})


def test_what_is_saved_is_short_where_it_can_be() -> None:
    d = Domains()
    assert d.sparse.to_dict() == {"kind": "sparse", "coordinates": ["a", "b"], "at_most": 1, "bounds": [1.0, 4.0]}
    assert d.even.to_dict() == {"kind": "sparse", "coordinates": 3, "at_most": 2, "bounds": 0.5}
    assert d.counts.to_dict()["items"] == ["bread", "milk", "tea"] and gm.Counts(3, 1).to_dict()["items"] == 3
    assert gm.domains.SparseSum(1, 1, 2.0).to_dict()["bounds"] == 2.0 and ColumnCells([[0, 1]]).to_dict()["edges"] == [
        [0.0, 1.0]
    ]
    assert d.votes.to_dict() == {"kind": "votes", "candidates": 4}
    assert gm.domains.Votes(["x", "y"]).to_dict()["candidates"] == ["x", "y"]
    assert d.cells.to_dict() == {
        "kind": "cells",
        "attributes": ["x", "y"],
        "labels": [["p", "q"], 3],
        "or_none": False,
        "others": [1, 2],
    }
    assert d.none.to_dict()["attributes"] is None and d.none.to_dict()["labels"] == [3]
    assert "names" not in gm.domains.Ball(2, 1.0).to_dict() and "names" not in gm.Box([0], [1]).to_dict()
    assert d.ball.to_dict()["names"] == ["u", "v"] and d.box.to_dict()["names"] == ["a", "b", "c"]
    assert "names" not in d.clipped.to_dict() and d.gaussian.to_dict()["names"] == ["a", "b"]
    assert d.gaussian.to_dict()["half_axes"] is None and d.clipped.to_dict()["half_axes"] == [6.0, 2.0]
    assert d.unknown.to_dict() == {"kind": "unknown-gaussian", "dimension": 2, "rows": 30, "normal": True}
    assert (
        gm.domains.GaussianData(names=["a"]).to_dict()["names"] == ["a"]
        and gm.domains.GaussianData(names=["a"]).dimension == 1
    )
    assert d.points.to_dict()["names"] == ["a", "b", "c"] and gm.domains.Points([[1]]).to_dict()["names"] is None
    assert d.only_own.to_dict()["rows"] is None and d.only_rows.to_dict()["own"] is None
    assert d.columns.to_dict()["edges"] == [[0, 1], [2, 3]] and d.columns.to_dict()["names"] == ["a", "b"]
    alike = ColumnCells([[0, 1], [0, 1], [0, 1]])
    assert alike.to_dict() == {"kind": "column-cells", "columns": 3, "edges": [[0.0, 1.0]]}
    assert alike == ColumnCells([[0, 1]], columns=3) != ColumnCells([[0, 1]], columns=2)
    assert d.lengths.to_dict() == {"kind": "length-cells", "centre": [0, 1], "scale": [2, 3], "edges": [1, 2, 4]}


def test_what_is_assumed_where_nothing_is_said() -> None:
    box = {"a": (0.0, 1.0)}
    assert gm.Groups({"g": ["x", "y"]}, gm.Records()).at_most == 1
    found = FoundGroups(["g"], gm.Records())
    assert (found.at_most, found.at_least, found.which, found.kappa, found.top) == (1, 1, 0, None, None)
    assert found.size == 1 and found.is_found and found.labels == () and found.declared == ()
    shown = found.showing([("x",), ("y",), ("z",)])
    assert shown.size == 3 and shown.labels == (("x",), ("y",), ("z",)) and found.labels == ()
    assert gm.Cells(2).or_none is False and gm.domains.Points([[0]]).or_none is False
    assert gm.Cells(["p", "q"]).others == (0,) and gm.Cells(shape=[2, 3]).others == (0, 0)
    assert gm.Cells({"x": 2, "y": 3}, other={"y": 1}).others == (0, 1)
    assert gm.domains.GaussianData(0, 1).rows == gm.domains.GaussianData(dimension=1).rows == 10_000
    assert gm.domains.GaussianData(dimension=1).to_dict()["normal"] is False
    assert gm.Moments(box).around == 0 == RowMoments(box).around and RowMoments(box).max_rows == 2
    domains = [domain for domain, _ in exact().values()]
    assert {domain.kind for domain in domains if not domain.means.holds_always} == {"gaussian", "unknown-gaussian"}
    assert {domain.kind for domain in domains if records_are_rows(domain)} == {"row moments"}


def test_the_extreme_units_of_every_domain() -> None:
    d = Domains()
    for domain, expected in (
        (d.box, Signs(3)),
        (Records(), Signs(0)),
        (d.people, Product(Signs(1), PersonRows(2, 4))),
        (d.only_own, Product(Signs(1), PersonRows(0, 3))),
        (d.only_rows, Product(Signs(0), PersonRows(1, 2))),
        (d.counts, Marks(3, 2)),
        (d.cells, CellMarks(6, 1, 1, (2, 3))),
        (d.none, CellMarks(3, 1, 0, (3,))),
        (d.points, Marks(2, 1, at_least=1)),
        (d.columns, Marks(d.columns.dimension, d.columns.at_most)),
        (d.ball, Sphere(2)),
        (d.clipped, Sphere(2)),
        (d.few, ValueProducts(3, d.few.pairs)),
    ):
        assert domain.extremes() == expected and domain.extremes().size == expected.size
    assert d.rows.extremes().rows == 3 and 0 < d.rows.extremes().rounding < 2**-10
    free = {name for name, domain in vars(d).items() if free_marks(domain) is not None}
    assert free == {"counts", "none", "columns", "lengths"}
    counted = {name: (rows.sums, rows.at_most) for name, domain in vars(d).items() if (rows := rows_of(domain))}
    assert counted == {"people": (2, 4), "only_own": (0, 3), "only_rows": (1, 2)}
    assert [rows_coordinate(domain) for domain in (d.people, d.only_own, d.box)] == [3, 1, None]


def test_found_groups_come_back_from_what_is_saved() -> None:
    made = FoundGroups(
        ["g", "h"], gm.Records(), 3, declared={"h": ["u", "v"]}, at_least=5, which=2, kappa=Fraction(3, 7), top=4
    )
    again = FoundGroups.from_dict(json.loads(json.dumps(made.to_dict())), gm.Records())
    assert again == made and again.kappa == Fraction(3, 7) and again.declared == (("h", ("u", "v")),)
    plain = FoundGroups(["g"], gm.Records())
    assert FoundGroups.from_dict(plain.to_dict(), gm.Records()) == plain
    assert plain.deciding(Fraction(1, 9)).to_dict()["kappa"] == [1, 9] and plain.to_dict()["kappa"] is None
    for under in (0, -7):
        with pytest.raises(ValueError, match="denominator"):
            FoundGroups.from_dict(made.to_dict() | {"kappa": [3, under]}, gm.Records())
    assert FoundGroups.from_dict(made.to_dict() | {"kappa": [0, 1]}, gm.Records()).kappa == 0
    for wrong in ({"at_most": 0}, {"at_least": 0}, {"at_least": (1 << 40) + 1}, {"top": 0}):
        with refused("whole-number-out-of-range"):
            FoundGroups(["g"], gm.Records(), **wrong)
    assert FoundGroups(["g"], gm.Records(), at_least=1 << 40, top=1).top == 1
    with refused("key-column-reserved"):
        FoundGroups(["value"], gm.Records())
