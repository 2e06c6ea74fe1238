"""What an error suggests can be done: it is never what was written, and a shape that is offered can be had."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaussmith as gm
from gaussmith.errors import PlanError, nearest, nearest_column

G = gm.Guarantee(mu=1)
DOMAINS: dict[str, Any] = {
    "box": gm.Box({"a": (0, 1), "b": (1, 3)}),
    "ball": gm.domains.Ball(2, 1),
    "counts": gm.Counts(3, at_most=2),
    "votes": gm.domains.Votes(3),
    "cells": gm.Cells(3),
    "sparse": gm.domains.SparseSum(3, at_most=2, bound=1),
    "points": gm.domains.Points([[0, 1], [1, 0], [2, 2]]),
    "gaussian": gm.domains.GaussianData(0, [1, 2]),
    "groups": gm.Groups({"g": ["x", "y"]}, gm.Box({"a": (0, 1), "b": (1, 3)})),
}
NAMES = ("isotropic", "elliptical", "lifted", "solved", "clipped", "two-level", "Solved", "lifted box", "zzz", "")


def options(kind: str) -> list[dict[str, Any]]:
    columns = 2 if kind in ("box", "ball", "points", "gaussian", "groups") else 3
    asked: list[Any] = ["sums", [[1.0] * columns, [1.0] + [2.0] * (columns - 1)]]
    asked += ["means"] if kind in ("box", "ball", "gaussian", "groups") else []
    asked = asked[:1] if kind == "gaussian" else asked  # its clip takes a while
    return [{"answers": a, "neighbours": n} for a, n in itertools.product(asked, ("add-remove", "replace-one"))]


@pytest.mark.parametrize("kind", DOMAINS)
def test_a_shape_is_had_or_refused_with_those_that_can_be(kind: str) -> None:
    for rest in options(kind):
        for name in NAMES:
            try:
                plan = gm.plan(DOMAINS[kind], G, shape=name, **rest)
                plan.certify()
                continue
            except PlanError as refused:
                said = refused
            assert said.what and said.rule and said.remedy
            offered = re.findall(r"did you mean '(.+)'\?", said.remedy)
            if said.remedy.startswith("choose one of: "):
                offered = said.remedy.removeprefix("choose one of: ").split(", ")
            assert offered, said
            assert name not in offered, said
            for other in offered:
                gm.plan(DOMAINS[kind], G, shape=other, **rest).certify()


@pytest.mark.parametrize(
    ("kind", "rest", "message"),
    [
        (
            "ball",
            {},
            "shape='solved' for Ball under add-remove · this shape is for boxes under add-remove, for a "
            "matrix of answers of a box under replace-one, and for points, cells and counts without a closed form · "
            "choose one of: best, lifted, isotropic",
        ),
        (
            "box",
            {"neighbours": "replace-one"},
            "shape='solved' for Box under replace-one · this shape is for boxes under add-remove, for a "
            "matrix of answers of a box under replace-one, and for points, cells and counts without a closed form · "
            "choose one of: best, lifted, elliptical, isotropic",
        ),
    ],
)
def test_solved_where_it_cannot_be(kind: str, rest: dict[str, str], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        gm.plan(DOMAINS[kind], G, shape="solved", **rest)
    assert str(caught.value) == message


def test_solved_for_a_matrix_under_replace_one() -> None:
    plan = gm.plan(DOMAINS["box"], G, shape="solved", answers=[[1, 1], [1, 2]], neighbours="replace-one")
    assert plan.block.shape.name == "solved" and plan.optimality < 1.001


@given(st.text(max_size=6), st.lists(st.text(max_size=6)))
def test_nothing_is_suggested_that_was_written(name: str, choices: list[str]) -> None:
    for hint in (nearest(name, choices), nearest(name, [*choices, name]), nearest_column(name, [*choices, name])):
        assert hint != f"did you mean {name!r}?"
    assert nearest(name, [name]) == "there are none to choose from"
