"""Golden cases of plans: every domain, both neighbours, every kind of question, every way to hand data over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from strategies import stored_plan
from tables import SOURCES, plain_source

import gaussmith as gm

NEIGHBOURS = ("add-remove", "replace-one")
ADD_REMOVE = ("add-remove",)
HEALTH = ["good", "fair", "poor"]
REGIONS = ["north", "south", "island"]
WIDE = ["x", "y", "n", "s1", "s2", "s3", "s4", "a", "b", "c", "r1", "r2"]
BOX = {"x": (0, 50), "y": (-10, 10), "n": (0, 20)}


@dataclass(frozen=True)
class Family:
    """A domain, the columns its records are in, and the questions asked of it."""

    domain: Any
    columns: list[str] | None
    questions: dict[str, dict[str, Any]]
    form: str | None = None
    plain: tuple[str, ...] = ("numpy", "lists")
    """Ways to hand it over without names of columns."""
    neighbours: tuple[str, ...] = NEIGHBOURS
    everywhere: bool = True
    """Its first question is asked of every source."""


SUMS: dict[str, dict[str, Any]] = {"sums": {}, "sums, count": {"count": True}}
WEIGHTS: dict[str, dict[str, Any]] = {
    "relative": {"weights": "relative"},
    "relative, count": {"weights": "relative", "count": True},
}
MEANS: dict[str, dict[str, Any]] = {
    "means": {"answers": "means"},
    "means, count": {"answers": "means", "count": True},
    "means, relative": {"answers": "means", "weights": "relative", "count": True},
}
WORST: dict[str, dict[str, Any]] = {
    "worst": {"objective": "worst"},
    "worst, count": {"objective": "worst", "count": True},
}


def shapes(*names: str) -> dict[str, dict[str, Any]]:
    return {f"shape {name}{', count' * c}": {"shape": name, "count": bool(c)} for name in names for c in (0, 1)}


def families() -> dict[str, Family]:
    """Every domain of the public face."""
    runs = gm.workloads
    W = [[1, 1, 0], [0, 1, -1], [1, 1, 1], [0.5, 0, 2]]
    linear = {
        "linear": {"answers": W},
        "linear, count": {"answers": W, "count": True},
        "linear, weighted": {"answers": W, "weights": [1, 2, 3, 4]},
        "linear, relative": {"answers": W, "weights": "relative"},
    }
    tables = {"health": HEALTH, "sex": ["f", "m"], "band": 4}
    return {
        "box": Family(
            gm.Box(BOX),
            ["x", "y", "n"],
            SUMS
            | WEIGHTS
            | MEANS
            | linear
            | shapes("isotropic", "elliptical", "lifted")
            | {
                "weighted": {"weights": [1, 4, 0.5]},
                "gap": {"gap": 1e-6, "count": True},
                "missing": {"missing": {"x": 20, "n": 3.5}},
                "means, missing": {"answers": "means", "missing": {"y": -4.25}},
                "means, isotropic": {"answers": "means", "shape": "isotropic"},
                "means, lifted": {"answers": "means", "shape": "lifted", "count": True},
            },
        ),
        "box, solved": Family(gm.Box(BOX), ["x", "y", "n"], shapes("solved"), neighbours=ADD_REMOVE, everywhere=False),
        "box of one": Family(
            gm.Box({"x": (0, 50)}), ["x"], SUMS | MEANS | shapes("isotropic", "lifted"), everywhere=False
        ),
        "box around zero": Family(
            gm.Box([-3, -3], [3, 3]), ["s1", "s2"], SUMS | MEANS | shapes("lifted", "elliptical"), everywhere=False
        ),
        "box far away": Family(gm.Box([1000, 5], [1001, 6.5]), ["x", "y"], SUMS | WEIGHTS | MEANS, everywhere=False),
        "box, wide": Family(
            gm.Box([0, -10, 0, -3, -3, 0, -1, 0, 0, 0, 1, 1], [50, 10, 20, 3, 2, 3, 1, 1, 1, 2, 3, 4]),
            WIDE,
            SUMS | WEIGHTS | MEANS | {"linear": {"answers": [[1] * 12, [1, -1] * 6]}},
            everywhere=False,
        ),
        "ball": Family(
            gm.domains.Ball(3, 25, centre=[10, 0, 5]),
            ["x", "y", "n"],
            SUMS | WEIGHTS | MEANS | linear | shapes("isotropic", "lifted"),
        ),
        "ball around zero": Family(
            gm.domains.Ball(2, 4, names=["s1", "s2"]), ["s1", "s2"], SUMS | MEANS, everywhere=False
        ),
        "records": Family(gm.Records(), [], {"count": {"count": True}}, plain=(), neighbours=ADD_REMOVE),
        "gaussian data": Family(
            gm.domains.GaussianData([20, 0], [10, 5], rows=150),
            ["x", "y"],
            SUMS
            | WEIGHTS
            | MEANS
            | {"linear": {"answers": [[1, 1], [1, -2], [0, 3]], "count": True}}
            | shapes("clipped", "lifted", "isotropic"),
        ),
        "gaussian data, clip": Family(
            gm.domains.GaussianData([20, 0], [10, 5], rows=150, clip=1e-3), ["x", "y"], SUMS | MEANS, everywhere=False
        ),
        "gaussian data, report": Family(
            gm.domains.GaussianData(3, [10, 5], scaling="report"), ["x", "y"], SUMS, everywhere=False
        ),
        "gaussian data, chebyshev": Family(
            gm.domains.GaussianData(3, [10, 5], scaling="chebyshev"), ["x", "y"], SUMS, everywhere=False
        ),
        "gaussian data, round": Family(
            gm.domains.GaussianData(3, [10, 5], scaling="round", mean_within=2), ["x", "y"], SUMS, everywhere=False
        ),
        "counts": Family(
            gm.Counts(["a", "b", "c", "d"], at_most=2),
            list("abcd"),
            SUMS
            | WEIGHTS
            | {
                "weighted": {"weights": [1, 2, 3, 4]},
                "linear": {"answers": [[1, 1, 0, 0], [0, 1, -1, 2]], "count": True},
            },
        ),
        "counts, all": Family(
            gm.Counts(["a", "b", "c", "d"], at_most=4), list("abcd"), SUMS | shapes("isotropic"), everywhere=False
        ),
        "counts, one": Family(gm.Counts(["a", "b", "c", "d"], at_most=1), list("abcd"), SUMS, everywhere=False),
        "counts, pairs": Family(
            gm.Counts(["tea", "milk", "bread"], at_most=2), ["person", "item"], SUMS, "pairs", (), ADD_REMOVE
        ),
        "sparse": Family(
            gm.domains.SparseSum(["s1", "s2", "s3", "s4"], at_most=2, bound=[1, 2, 2, 3]),
            ["s1", "s2", "s3", "s4"],
            SUMS
            | WEIGHTS
            | {"weighted": {"weights": [4, 3, 2, 1]}, "linear": {"answers": [[1, 1, 0, 0], [0, 1, -1, 2]]}}
            | shapes("isotropic"),
        ),
        "sparse, equal": Family(
            gm.domains.SparseSum(4, at_most=3, bound=1.5), ["s1", "s2", "s3", "s4"], SUMS, everywhere=False
        ),
        "votes": Family(
            gm.domains.Votes(["r1", "r2", "r3"]),
            ["r1", "r2", "r3"],
            SUMS | WEIGHTS | {"weighted": {"weights": [1, 2, 3]}, "linear": {"answers": W[:2]}} | shapes("isotropic"),
        ),
        "votes, order": Family(gm.domains.Votes(["ann", "bob", "eve"]), ["o1", "o2", "o3"], SUMS, "order", ("lists",)),
        "cells": Family(
            gm.Cells({"health": HEALTH}),
            ["health"],
            SUMS
            | WEIGHTS
            | linear
            | WORST
            | {
                "weighted": {"weights": [1, 5, 2]},
                "targets": {"objective": "worst", "targets": [1, 2, 3]},
                "gap": {"answers": W, "gap": 1e-6},
            },
            plain=("lists",),
        ),
        "cells or none": Family(
            gm.Cells(HEALTH, or_none=True), ["health"], SUMS | WEIGHTS | linear, plain=("lists",), everywhere=False
        ),
        "cells, other": Family(gm.Cells(HEALTH, other="poor"), ["health"], SUMS, plain=("lists",), everywhere=False),
        "cells, two columns": Family(
            gm.Cells({"health": HEALTH, "sex": ["f", "m"]}, or_none=True), ["health", "sex"], SUMS, plain=("lists",)
        ),
        "cells, workloads": Family(
            gm.Cells(4),
            ["band"],
            {
                f"{name}{end}": {"answers": work, **more}
                for name, work in {
                    "identity": runs.identity(4),
                    "prefix": runs.prefix(4),
                    "ranges": runs.ranges(4),
                    "tree": runs.tree(4),
                    "tree of three": runs.tree(4, branching=3),
                    "matrix": runs.matrix([[1, 1, 0, 0], [0, 1, 2, -1]]),
                }.items()
                for end, more in {"": {}, ", count": {"count": True}, ", worst": {"objective": "worst"}}.items()
            },
        ),
        "cells, long": Family(
            gm.Cells(size=32),
            ["band"],
            {"prefix": {"answers": runs.prefix(32)}, "ranges": {"answers": runs.ranges(32)}},
            everywhere=False,
        ),
        "marginals": Family(
            gm.Cells(tables),
            ["health", "sex", "band"],
            {
                "pairs": {"answers": runs.marginals([3, 2, 4], 2)},
                "up to two": {"answers": runs.marginals([3, 2, 4], range(3))},
                "listed": {"answers": runs.marginals([3, 2, 4], [(0,), (1, 2)]), "weights": [3, 1]},
                "pairs, count": {"answers": runs.marginals([3, 2, 4], 2), "count": True},
            },
            plain=("lists",),
        ),
        "points": Family(
            gm.domains.Points([[0, 0], [1, 0], [1, 2], [-2, 1]], names=["s1", "s2"]),
            ["s1", "s2"],
            SUMS
            | WEIGHTS
            | WORST
            | {
                "linear": {"answers": [[1, 1], [1, -1], [0, 3]]},
                "targets": {"objective": "worst", "targets": [1, 0.5]},
            },
        ),
        "groups": Family(gm.Groups({"region": REGIONS}, gm.Box(BOX)), None, SUMS | WEIGHTS | MEANS, plain=()),
        "groups, two": Family(
            gm.Groups({"region": REGIONS, "year": [2021, 2020]}, gm.Box({"x": (0, 50)}), at_most=2),
            None,
            SUMS | MEANS | shapes("isotropic"),
            plain=(),
        ),
        "groups, listed": Family(
            gm.Groups([{"sex": "f", "year": 2020}, {"sex": "m", "year": 2023}], gm.Records()),
            None,
            {"count": {"count": True}},
            plain=(),
            everywhere=False,
        ),
    }


FAMILIES = families()


@cache
def planned(family: str, neighbours: str, question: str) -> Any:
    """The plan with its stored strategy."""
    return stored_plan(plan_name(family, neighbours, question), newly_planned(family, neighbours, question))


def plan_name(family: str, neighbours: str, question: str) -> str:
    return f"{family} | {neighbours} | {question}"


def newly_planned(family: str, neighbours: str, question: str) -> Any:
    """The plan as the solver finds it here."""
    chosen = FAMILIES[family]
    guarantee = gm.Guarantee(epsilon=1, delta=1e-6) if "count" in question else gm.Guarantee(mu=1)
    asked = chosen.questions[question]
    asked = asked if asked.get("objective") == "worst" else {"weights": "equal", **asked}  # nothing rests on a default
    return gm.plan(chosen.domain, guarantee, neighbours=neighbours, **asked)


def plan_cases() -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Names of all questions, and what to plan for them."""
    for family, chosen in FAMILIES.items():
        for neighbours in chosen.neighbours:
            for question in chosen.questions:
                yield plan_name(family, neighbours, question), (family, neighbours, question)


def sources_of(family: str, question: str) -> list[str]:
    """All sources for the first question of most families, one or two for the others."""
    chosen = FAMILIES[family]
    everywhere = chosen.everywhere and question == next(iter(chosen.questions))
    return [*chosen.plain, *SOURCES] if everywhere else [*chosen.plain[:1], "polars"]


def release_plan(plan: Any, family: str, source: str, folder: Path) -> Any:
    chosen = FAMILIES[family]
    more = {"form": chosen.form} if chosen.form else {}
    if source in chosen.plain:
        return plan.release(plain_source(source, chosen.columns or []), **more)
    data = SOURCES[source](folder)
    return plan.release(data, **more) if chosen.columns is None else plan.release(data, columns=chosen.columns, **more)
