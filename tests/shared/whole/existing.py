"""Whole requests beside the least noise for all people who can exist, found through the release itself.

Every extreme person becomes rows of a table, which go from a table to integers as a release takes them. What one unit
of noise does to the features is seen by putting it in the place of each random number. So what a person adds to the
answers is known without any of the plan's notions of a body, a part or a law; only what an error weighs is the plan's.

Of several rows of one person all pairs of kinds are tried, and each kind repeated. People who are left out make the
least total smaller than it is: a certificate above it is then looked at, never one that is below.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import polars as pl

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.noise import gaussian as normal
from gaussmith.planning.certificate import verify
from gaussmith.planning.plan import Plan
from whole.pairs import Found, total_tables
from whole.people import ODD
from whole.trials import Pairs, compare_pairs

SCHEMA = {
    "person": pl.String, "a": pl.Float64, "b": pl.Float64, "q": pl.Float64, "c": pl.String, "d": pl.String,
    "f": pl.Boolean, "h": pl.Boolean,
}  # fmt: skip
KEYS = {"c": ["c0", "c1", "c2", "c3"], "d": ["d0", "d1"]}
BOUNDS = {"a": (0.0, 10.0), "b": (-2.0, 6.0), "q": (0.0, 8.0)}
EDGES = [0.0, 4.0, 8.0]
ROWS = 3
"""How many rows of a person count."""
MOST_PAIRS = 400
"""Limit on the people with rows of two kinds."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Stated:
    """What a plan states of a request, and what is true: in units of the least total of any Gaussian noise.

    price:  the plan's total over the least total, at least and at most
    bound:  the largest lower bound that the plan or `verify` states, over the least total at most: wrong above 1
    """

    price_from: float
    price_to: float
    bound: float
    optimality: float
    people: int


def examine(fields: dict[str, Any], rows: Sequence[Row]) -> Stated:
    """A request beside the least noise for people made of these kinds of rows."""
    frame = pl.DataFrame([], schema=SCHEMA)
    plan = gm.Request(frame, guarantee=gm.Guarantee(mu=1), **fields).plan
    people = [[row | {"person": "p"} for row in person] for person in everyone(rows, bool(fields.get("unit")))]
    nobody, *totals = total_tables(plan, [[], *people], SCHEMA)
    roots = np.sqrt(weights_of(plan))
    price = float(sum(((roots * each) ** 2).sum() for each in effects(plan, nobody)))
    assert abs(price / plan.price - 1) < 1e-6, "the weights are those of the plan's total"
    plain, _ = features_of(plan, nobody)
    added = np.array([features_of(plan, each)[0] - plain for each in totals]) * roots
    if fields.get("neighbours") == "replace-one":
        added = np.unique(np.round(added, 10), axis=0)
        one, other = np.triu_indices(len(added), 1)
        added = added[one] - added[other]
    lower, upper = least_total(distinct(added))
    verdict = verify(plan, plan.certificate)
    assert not verdict.problems, verdict.problems
    proven = max(verdict.least, verdict.lower_bound if len(plan.provable) == 1 else 0.0)
    bound = max(proven, plan.lower_bound, plan.price / plan.optimality)
    return Stated(price / upper, price / lower, bound / upper, plan.optimality, len(people))


def features_of(plan: Plan, totals: Found, place: int = -1) -> tuple[np.ndarray, int]:
    """The features that a release without noise reads from totals, and how many random numbers it would draw.

    The number at a `place`, in the order in which they are drawn, is one standard deviation instead of 0.
    """
    drawn = 0

    def draw(size: int, bits: int, _: object) -> np.ndarray:
        nonlocal drawn
        found = np.zeros(size, np.int64)
        if drawn <= place < drawn + size:
            found[place - drawn] = 1 << bits
        drawn += size
        return found

    with mock.patch.object(normal, "_draw", draw):
        noisy = mechanism.release_totals(plan, totals).noisy
    return np.concatenate([np.asarray(each, float).ravel() for each in noisy]), drawn


def effects(plan: Plan, nobody: Found) -> list[np.ndarray]:
    """What one standard deviation of each random number adds to the features."""
    plain, size = features_of(plan, nobody)
    return [features_of(plan, nobody, place)[0] - plain for place in range(size)]


def weights_of(plan: Plan) -> np.ndarray:
    """What the squared error of each feature is worth in the plan's total."""
    found = []
    for draw in plan.queries:
        features = draw.block.problem.features
        own = [*features.weights, *([features.count_weight] if draw.block.shape.counted else [])]
        scale = plan.worth_of(draw) if draw.place is None else draw.place.scale
        groups = np.ones(draw.size)
        for weight, places in () if draw.groups is None else draw.groups.classes:
            groups[list(places)] = weight
        found.append(scale * np.outer(groups, own).ravel())
    return np.concatenate(found)


def everyone(rows: Sequence[Row], unit: bool) -> list[list[Row]]:
    """People of these kinds of rows: one row each, or several."""
    one = [[row] for row in rows]
    if not unit:
        return one
    pairs = [[x] * (ROWS - 1) + [y] * ROWS for x, y in itertools.permutations(rows, 2)]
    step = max(1, len(pairs) // MOST_PAIRS)
    return [*one, *([row] * ROWS for row in rows), *pairs[::step]]


def rows_of(values: dict[str, Sequence[Any]]) -> list[Row]:
    """A row of every kind."""
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


def distinct(vectors: np.ndarray) -> np.ndarray:
    """Each once, and one of each with its opposite."""
    size = np.abs(vectors).max(initial=0.0) or 1.0
    rounded = np.round(vectors / size, 10) + 0.0
    first = np.argmax(rounded != 0, axis=1)
    signs = np.where(rounded[np.arange(len(rounded)), first] < 0, -1.0, 1.0)
    rounded = np.unique(rounded * signs[:, None] + 0.0, axis=0)
    return rounded[np.abs(rounded).max(axis=1) > 0] * size


def least_total(vectors: np.ndarray, gap: float = 3e-4, rounds: int = 20_000) -> tuple[float, float]:
    """The least tr Σ with sᵀ Σ⁻¹ s ≤ 1 for all vectors s, from below and from above.

    For chances p_s and M = Σ p_s s sᵀ the least is at least (tr √M)². The noise tr √M · √M, widened until it hides
    every vector, is one noise, so that its total is at least the least. Vectors that it hides badly get more chance.
    """
    if not len(vectors):
        return 0.0, 0.0
    rank = int((np.linalg.svd(vectors, compute_uv=False) > 1e-9 * np.linalg.norm(vectors)).sum())
    basis = np.linalg.svd(vectors, full_matrices=False)[2][:rank]
    points = vectors @ basis.T
    chances, lower, upper = np.full(len(points), 1.0 / len(points)), 0.0, np.inf
    for step in range(rounds):
        values, axes = np.linalg.eigh((points * chances[:, None]).T @ points)
        roots = np.sqrt(np.maximum(values, 1e-30 * values[-1]))
        total = float(roots.sum())
        seen = ((points @ axes) ** 2 / roots).sum(axis=1) / total  # sᵀ Σ⁻¹ s
        lower, upper = max(lower, total**2), min(upper, total**2 * float(seen.max()))
        if upper <= lower * (1.0 + gap):
            break
        chances *= seen ** (1.5 if step < 500 else 1.0)
        chances /= chances.sum()
    return lower, upper


def try_people(fields: dict[str, Any], rows: Sequence[Row], generator: random.Random, count: int) -> tuple[Pairs, int]:
    """Random neighbours of a request, from rows to integers; and how many of them lack a value in one of their groups.

    Such a person has rows in several groups, and in one of these no value at all.
    """
    frame, unit = pl.DataFrame([], schema=SCHEMA), bool(fields.get("unit"))
    plan = gm.Request(frame, guarantee=gm.Guarantee(mu=generator.choice([0.1, 1.0, 5.0])), **fields).plan
    tables, lacking = [], 0
    for _ in range(count):
        others = [row for j in range(generator.randint(0, 2)) for row in random_person(rows, unit, generator, f"o{j}")]
        one, other = (random_person(rows, unit, generator, "p") for _ in range(2))
        lacking += lacks_a_value(other)
        tables += [others + one if fields.get("neighbours") == "replace-one" else others, others + other]
    return compare_pairs(plan, tables, SCHEMA), lacking


def random_person(rows: Sequence[Row], unit: bool, generator: random.Random, name: str) -> list[Row]:
    """Rows of any kinds, with odd values among them, or several of two kinds alone."""
    size = generator.choice([1, 2, ROWS, ROWS + 2]) if unit else 1
    kinds = generator.sample(rows, min(2, len(rows))) if generator.random() < 0.5 else rows
    found = [generator.choice(kinds) | {"person": name} for _ in range(size)]
    if generator.random() < 0.2:
        found = [row | {key: generator.choice(ODD) for key in BOUNDS if key in row} for row in found]
    return found


def lacks_a_value(person: Sequence[Row]) -> bool:
    """Whether a person in several groups has, in one of them, no value of a column."""
    groups: dict[Any, list[Row]] = {}
    for row in person:
        groups.setdefault((row.get("c"), row.get("d")), []).append(row)
    columns = [key for key in BOUNDS if key in person[0]]
    return len(groups) > 1 and any(all(row[key] is None for row in g) for g in groups.values() for key in columns)


def named_cases() -> dict[str, tuple[dict[str, Any], list[Row]]]:
    """Requests whose certificate was above the truth, and requests by groups that are planned as one group."""
    four, twelve = KEYS["c"], [f"c{i}" for i in range(12)]
    a, b = [*BOUNDS["a"], None], [*BOUNDS["b"], None]

    def by(keys: list[str], **values: Any) -> list[Row]:
        return rows_of({"c": [*keys, None], **values})

    mean = {"means": ["a"], "bounds": BOUNDS}
    tables = [{"name": "x", "histograms": {"c": four[:2]}}, {"name": "y", "histograms": {"c": four[:3]}}]
    beside = [{"name": "x", "histograms": {"c": four}}, {"name": "y", "by": {"c": four}, **mean}]
    counted = {**mean, "count": True, "complete": ["a"], "by": {"c": four}}
    middle = {"medians": ["q"], "bins": {"q": EDGES}, "by": {"c": four}}
    spread = {"variances": ["q"], "bounds": BOUNDS, "complete": ["q"], "by": {"c": four}}
    q, known = [-1.0, 2.0, 6.0, 9.0, None], [*BOUNDS["a"]]
    return {
        "mean + count by 4": ({**mean, "count": True, "by": {"c": four}}, by(four, a=a)),
        "mean + count by 12": ({**mean, "count": True, "by": {"c": twelve}}, by(twelve, a=a)),
        "two means + count by 4": (
            {"means": ["a", "b"], "bounds": BOUNDS, "count": True, "by": {"c": four}},
            by(four, a=a, b=b),
        ),
        "mean + count by 4, replace-one": (
            {**mean, "count": True, "by": {"c": four}, "neighbours": "replace-one"},
            by(four, a=a),
        ),
        "histogram of c beside mean by c": ({"questions": beside}, by(four, a=a)),
        "column tabled in two ways": ({"questions": tables}, by(four)),
        "histogram of c; mean + count by c": (
            {"questions": [beside[0], {"name": "y", **counted}]},
            by(four, a=known),
        ),
        "median + count by 4": ({**middle, "count": True}, by(four, q=q)),
        "median by 4; mean + count by 4": (
            {"questions": [{"name": "x", **middle}, {"name": "y", **counted}]},
            by(four, q=q, a=known),
        ),
        "variance by 4; mean + count by 4": (
            {"questions": [{"name": "x", **spread}, {"name": "y", **counted}]},
            by(four, q=[0.0, 4.0, 8.0], a=known),
        ),
        "sum; mean of one column by 3, of people": (
            {
                "questions": [
                    {"name": "x", "sums": ["b"], "complete": ["b"], "by": {"c": four[:3]}},
                    {"name": "y", "means": ["b"], "complete": ["b"], "by": {"c": four[:3]}},
                ],
                "bounds": BOUNDS,
                "unit": "person",
                "rows_per_unit": ROWS,
                "groups_per_unit": 1,
            },
            by(four[:3], b=[*BOUNDS["b"]]),
        ),
        "mean + count by 3, of people with several rows": (
            {
                **mean,
                "count": True,
                "by": {"c": four[:3]},
                "unit": "person",
                "rows_per_unit": ROWS,
                "groups_per_unit": 1,
            },
            by(four[:3], a=a),
        ),
    }


def random_case(generator: random.Random) -> tuple[dict[str, Any], list[Row]]:
    """One to three questions with groups, filters, missing values, histograms and quantiles, and all kinds of rows."""
    unit = generator.random() < 0.35
    keys = {"c": KEYS["c"][: generator.choice([2, 3])], "d": KEYS["d"]}
    used: set[str] = set()
    complete = [name for name in ("a", "b") if generator.random() < 0.3]
    questions = []
    wide = generator.random() < 0.5
    for i in range(generator.choice([1, 1, 2, 2, 3])):
        question: dict[str, Any] = {"name": f"x{i}"}
        kind = generator.choice(["numbers", "numbers", "numbers", "count", "histogram", "cells", "spread"])
        if kind == "numbers":
            some = generator.sample(["a", "b"], generator.choice([1, 1, 2]))
            question |= {generator.choice(["means", "means", "sums"]): some, "count": generator.random() < 0.6}
            question["complete"] = [name for name in some if name in complete]
            used |= {*some}
        elif kind == "count":
            question["count"] = True
        elif kind == "spread":
            question |= {"variances": ["q"], "mean_of": "units"} if unit else {"variances": ["q"]}
            used |= {"q"}
        elif kind == "histogram":
            column = generator.choice(["c", "d"])
            declared = keys[column] if generator.random() < 0.7 else [*keys[column][:1], "other key"]
            question["histograms"] = {column: declared}
            question |= {"values_per_unit": 1} if unit else {}
            used |= {column}
        else:
            question |= {"medians": ["q"], "bins": {"q": EDGES}}
            used |= {"q"}
        if kind != "histogram" and generator.random() < 0.6:
            by = generator.choice([["c"], ["c"], ["d"], ["c", "d"]] if wide else [["c"]])
            question["by"] = {column: keys[column] for column in by}
            used |= {*by}
        if generator.random() < 0.35:
            question["where"] = generator.choice(["f", "f", "h", "f and h"])
            used |= {*question["where"].split(" and ")}
        questions.append(question)
    fields: dict[str, Any] = {"questions": questions, "bounds": BOUNDS}
    if unit:
        fields |= {"unit": "person", "rows_per_unit": ROWS, "groups_per_unit": 1}
    more_than_public = any(set(question) - {"name", "count"} for question in questions)
    if not unit and more_than_public and generator.random() < 0.35:
        fields["neighbours"] = "replace-one"
    values: dict[str, list[Any]] = {}
    for name in ("a", "b"):
        if name in used:
            values[name] = [*BOUNDS[name], *([] if name in complete else [None])]
    if "q" in used:
        values["q"] = [-1.0, 2.0, 4.0, 6.0, 9.0, None]
    for name in ("c", "d"):
        if name in used:
            more = ["other key"] if any("other key" in q.get("histograms", {}).get(name, ()) for q in questions) else []
            values[name] = [*keys[name], *more, None]
    values |= {name: [True, False] for name in ("f", "h") if name in used}
    return fields, rows_of(values)


def random_by_groups(generator: random.Random) -> tuple[dict[str, Any], list[Row]]:
    """Two or three questions by the same groups, a person in one of them; each column is read by one question."""
    unit = generator.random() < 0.35
    keys = {"c": KEYS["c"][: generator.choice([2, 3, 4])], "d": KEYS["d"]}
    by = {column: keys[column] for column in generator.choice([["c"], ["c"], ["d"], ["c", "d"]])}
    columns = generator.sample(["a", "b", "q"], 3)
    values: dict[str, list[Any]] = {column: [*each, None] for column, each in by.items()}
    questions: list[dict[str, Any]] = []
    for i in range(generator.choice([2, 2, 3])):
        column, kind = columns[i], generator.choice(["means", "means", "sums", "medians", "variances", "count"])
        question: dict[str, Any] = {"name": f"x{i}", "by": by, "count": kind == "count" or generator.random() < 0.5}
        if kind != "count":
            question[kind] = [column]
            low, high = BOUNDS[column]
            values[column] = [low, (low + high) / 2, high, None] if kind == "variances" else [low, high, None]
        if kind == "medians":
            edges = [low, (low + high) / 2, high]
            question["bins"], values[column] = {column: edges}, [low - 1, low, (low + high) / 2, high, None]
        if kind == "variances" and unit:
            question["mean_of"] = "units"
        questions.append(question)
    filtered = generator.random()
    for question in questions:
        if filtered < 0.2 or (filtered < 0.4 and not unit and generator.random() < 0.5):
            question["where"] = "f"
            values["f"] = [True, False]
    fields: dict[str, Any] = {"questions": questions, "bounds": BOUNDS}
    if unit:
        fields |= {"unit": "person", "rows_per_unit": ROWS, "groups_per_unit": 1}
    return fields, rows_of(values)
