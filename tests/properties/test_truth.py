"""Whatever is asked, with hardly any noise the answers are those of a plain computation.

The plain computation here knows nothing of codes, lifts and ties: numpy over the rows of each group.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest

import gaussmith as gm

SURE = gm.Guarantee(mu=1e6)
BOUNDS = {"x": (0.0, 10.0), "y": (-5.0, 5.0), "z": (2.0, 3.0)}
Rng = np.random.Generator


def agree(found: Any, truth: Any) -> None:
    """Within a small part of what the truth is; answers about nobody are anything."""
    truth = np.asarray(truth, float)
    found = np.asarray(found, float).reshape(truth.shape)
    close = np.abs(found - truth) <= 2e-3 * (1 + np.abs(truth))
    assert (close | np.isnan(truth)).all(), (found, truth)


# -- plans of plain data ----------------------------------------------------------------------------------------------


def draw_domain(rng: Rng) -> tuple[Any, Any, Any, tuple[str, ...]]:
    """A domain, records, the same as they count (clipped), and the kinds of answers that it has."""
    d, n = int(rng.integers(1, 4)), int(rng.integers(1, 30))
    kind = str(rng.choice(["box", "box", "box", "box", "ball", "counts", "cells", "sparse", "points"]))
    if kind == "box":
        low = rng.choice([0.0, -1.0, 5.0, -3.0], d)
        high = low + rng.choice([1.0, 4.0, 10.0], d)
        records = rng.uniform(low - 1, high + 1, (n, d))
        return gm.Box(low, high), records, np.clip(records, low, high), ("sums", "means", "matrix")
    if kind == "ball":
        centre, records = rng.normal(size=d), 2 * rng.normal(size=(n, d))
        away = records - centre
        length = np.linalg.norm(away, axis=1, keepdims=True)
        counted = centre + away * np.minimum(1, 2 / np.maximum(length, 1e-300))
        return gm.domains.Ball(d, 2.0, centre=centre.tolist()), records, counted, ("sums", "means", "matrix")
    if kind == "cells":
        places = rng.integers(0, d + 1, n)
        return gm.Cells(d + 1), places, np.eye(d + 1)[places], ("sums", "matrix")
    if kind == "points":
        points = rng.normal(size=(4, d))
        records = points[rng.integers(0, 4, n)]
        return gm.domains.Points(points.tolist()), records, records, ("sums",)
    most = int(rng.integers(1, d + 2))
    records = np.zeros((n, d + 1))
    for row in records:
        held = rng.choice(d + 1, rng.integers(0, most + 1), replace=False)
        row[held] = 1.0 if kind == "counts" else rng.uniform(-2, 2, len(held))
    domain = gm.Counts(d + 1, most) if kind == "counts" else gm.domains.SparseSum(d + 1, at_most=most, bound=2.0)
    return domain, records, records, ("sums", "matrix")


def draw_matrix(rng: Rng, columns: int) -> Any:
    """Rows that mix columns, or that ask each by itself, some of them twice."""
    matrix = rng.choice([-2.0, 0.0, 1.0, 3.0], (int(rng.integers(1, 5)), columns))
    if rng.random() < 0.7:
        matrix = np.abs(matrix).clip(1.0) * (np.arange(len(matrix))[:, None] % columns == np.arange(columns))
    return matrix


@pytest.mark.parametrize("seed", range(60))
def test_plans(seed: int) -> None:
    """Matrices that ask each column by itself, in groups with shared noise, were once read without their columns."""
    rng = np.random.default_rng(seed)
    domain, records, counted, ways = draw_domain(rng)
    way, count = str(rng.choice(ways)), bool(rng.random() < 0.5)
    matrix = draw_matrix(rng, domain.dimension) if way == "matrix" else np.eye(domain.dimension)
    asked: dict[str, Any] = {"answers": matrix if way == "matrix" else way, "count": count}
    asked["neighbours"] = str(rng.choice(["add-remove", "replace-one"]))
    asked["weights"] = str(rng.choice(["relative", "equal"]))
    data, places = records, np.zeros(len(records), int)
    if isinstance(domain, gm.Box) and rng.random() < 0.7:
        places = rng.integers(0, 3, len(records))
        names = [f"c{j}" for j in range(domain.dimension)]
        data = pl.DataFrame({"k": places} | dict(zip(names, records.T, strict=True)))
        domain = gm.Groups(
            {"k": [0, 1, 2]}, gm.Box(domain.lower, domain.upper, names=names), at_most=int(rng.integers(1, 4))
        )
    try:
        plan = gm.plan(domain, SURE, **asked)
    except gm.GaussmithError as refused:
        assert way == "matrix" or refused.code == "count-alone-under-replace-one", refused  # columns that nobody asks
        return
    assert plan.optimality >= 1
    truth = []
    for group in range(3 if isinstance(domain, gm.Groups) else 1):
        own = counted[places == group]
        sums = matrix @ own.sum(axis=0)
        answers = sums / len(own) if way == "means" and len(own) else sums * (np.nan if way == "means" else 1.0)
        truth.append([*answers, *([len(own)] if count else [])])
    agree(plan.release(data).values, truth)


# -- requests ---------------------------------------------------------------------------------------------------------


def draw_table(rng: Rng, size: int) -> pl.DataFrame:
    table: dict[str, Any] = {"p": rng.integers(0, rng.integers(2, 20), size), "age": rng.integers(0, 90, size)}
    table |= {"k": rng.choice(["a", "b", "c"], size), "j": rng.choice([1, 2], size)}
    for name, (low, high) in BOUNDS.items():
        beyond = (high - low) / 4
        values = rng.uniform(low - beyond, high + beyond, size)
        table[name] = pl.Series(values).set(pl.Series(rng.random(size) < 0.1), None)
    return pl.DataFrame(table)


def draw_question(rng: Rng, unit: bool, most: int) -> dict[str, Any]:
    columns = rng.permutation(list(BOUNDS)).tolist()
    sums, means = columns[: rng.integers(0, 3)], columns[rng.integers(0, 3) :]
    spreads = columns[:1] if rng.random() < 0.3 else []
    wanted = {"sums": sums, "means": means, "variances": spreads}
    asked: dict[str, Any] = {name: {c: BOUNDS[c] for c in some} for name, some in wanted.items() if some}
    if unit and (means or spreads):
        asked["mean_of"] = str(rng.choice(["units", "rows"]))
    chosen = rng.random()
    if chosen < 0.4 or not asked:
        asked["count"] = "rows" if unit and chosen < 0.1 else True
    if rng.random() < 0.5:
        asked["by"] = {"k": ["a", "b", "c"], "j": [1, 2]} if rng.random() < 0.3 else {"k": ["a", "b", "c"]}
        if unit:
            asked["groups_per_unit"] = 6 if "j" in asked["by"] else 3
    if rng.random() < 0.4:
        asked["where"] = "age >= 30"
    if unit and (asked.get("count") == "rows" or asked.get("mean_of") == "rows"):
        asked["rows_per_unit"] = most
    return asked


def compute(rows: pl.DataFrame, asked: dict[str, Any], unit: bool) -> dict[str, float]:
    """The answers of a question about these rows: clipped by row, or, in a sum over people, by person."""
    people = rows["p"].to_numpy() if unit else np.arange(len(rows))
    ids = np.unique(people)
    raw = {c: rows[c].to_numpy().astype(float) for c in BOUNDS}
    clipped = {c: np.clip(raw[c], *BOUNDS[c]) for c in BOUNDS}
    held = {c: [own for i in ids if len(own := raw[c][(people == i) & ~np.isnan(raw[c])])] for c in BOUNDS}
    found = {f"{c}_sum": float(sum(np.clip(own.sum(), *BOUNDS[c]) for own in held[c])) for c in asked.get("sums", ())}
    for c in {*asked.get("means", ()), *asked.get("variances", ())}:
        each = [np.clip(own, *BOUNDS[c]).mean() for own in held[c]]
        over = each if asked.get("mean_of") == "units" else clipped[c][~np.isnan(clipped[c])]
        if c in asked.get("means", ()):
            found[f"{c}_mean"] = float(np.mean(over)) if len(over) else np.nan
        if c in asked.get("variances", ()):
            spread = float(np.var(over)) if len(over) else 0.0
            found[f"{c}_variance"] = spread if spread > 1e-3 else np.nan  # noise may take it below 0: unknown
    if "count" in asked:
        found["count"] = len(rows) if asked["count"] == "rows" else len(ids)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_requests(seed: int) -> None:
    """A mean over rows beside a variance was once off by the middle of its bounds."""
    rng = np.random.default_rng(seed)
    table, unit = draw_table(rng, int(rng.integers(5, 60))), bool(rng.random() < 0.6)
    most = int(table["p"].value_counts()["count"].to_numpy().max())
    questions = [{"name": f"q{i}"} | draw_question(rng, unit, most) for i in range(int(rng.choice([1, 2, 3])))]
    fields: dict[str, Any] = {"neighbours": str(rng.choice(["add-remove", "add-remove", "replace-one"]))}
    fields |= {"unit": "p"} if unit else {}
    try:
        request = gm.Request(table, questions=questions, guarantee=SURE, **fields)
    except gm.GaussmithError as refused:
        assert refused.code == "count-alone-under-replace-one", refused
        return
    release = gm.release(request)
    found = {(row.get("question"), row.get("k"), row.get("j"), row["answer"]): row["value"] for row in release.rows()}
    for asked in questions:
        rows = table.filter(pl.col("age") >= 30) if "where" in asked else table
        by = asked.get("by", {})
        for keys in itertools.product(*by.values()):
            at = dict(zip(by, keys, strict=True))
            own = rows.filter(*(pl.col(name) == key for name, key in at.items())) if at else rows
            truth = compute(own, asked, unit)
            name = asked["name"] if len(questions) > 1 else None
            values = [found[name, at.get("k"), at.get("j"), answer] for answer in truth]
            agree(values, list(truth.values()))
