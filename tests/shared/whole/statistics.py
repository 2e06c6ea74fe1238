"""Random requests for quantiles, tables, moments and a person's own numbers, and random neighbours through them."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import polars as pl

import gaussmith as gm
from whole.pairs import distances, spent, total_alone

G = gm.Guarantee(epsilon=1, delta=1e-6)
REGIONS = ["north", "south", "east"]
SCHEMA = {"person": pl.String, "region": pl.String, "x": pl.Float64, "y": pl.Float64}
BINS = {"x": [-20, 0, 7, 30, 60], "y": [7, 40]}
X, Y = (0, 60), (-20, 90)
OWN = {"visits": "count()", "spent": "sum(x)", "most": "max(y)", "area": "only(region)"}

ASKED: dict[str, dict[str, Any]] = {
    "quantiles": {"quantiles": {"x": [0.1, 0.5]}, "bins": {"x": BINS["x"]}, "bounds": {"x": X}},
    "bins": {"histograms": {"x": {"bins": [-20, 0, 7]}}},
    "tables": {"marginals": [["x", "y"], ["y"]], "bins": BINS},
    "variances": {"variances": {"x": X, "y": Y}},
    "covariance": {"covariance": {"x": X, "y": Y}},
    "regression": {"regression": {"of": "y", "on": ["x"]}, "bounds": {"x": X, "y": Y}},
    "several": {
        "medians": ["x"], "variances": ["y"], "means": ["x"], "bins": {"x": BINS["x"]}, "bounds": {"x": X, "y": Y},
    },
}  # fmt: skip
"""What is asked, without whose rows and in which groups."""


def random_request(generator: random.Random) -> tuple[str, gm.Request]:
    """What is asked, and the request; of rows or of people, by group or not, of their own numbers now and then."""
    pick = generator.choice
    if generator.random() < 0.15:
        return "person columns", gm.Request("table", guarantee=G, unit="person", **_own(generator))
    name = pick(list(ASKED))
    fields = dict(ASKED[name])
    neighbours = "replace-one" if name not in ("several",) and generator.random() < 0.3 else "add-remove"
    if generator.random() < 0.7:
        fields["unit"] = "person"
        if name in ("variances", "covariance", "regression", "several"):
            rows = neighbours == "add-remove" and generator.random() < 0.6
            fields |= {"rows_per_unit": pick([2, 3, 5])} if rows else {"mean_of": "units"}
    if generator.random() < 0.4:
        fields |= {"by": {"region": REGIONS}} | ({"groups_per_unit": pick([1, 2, 3])} if "unit" in fields else {})
    elif name == "bins" and "unit" in fields:
        fields["values_per_unit"] = pick([1, 2])
    if generator.random() < 0.3 and name != "bins":
        fields["where"] = "y > 0 or is_null(y)"
    return name, gm.Request("table", guarantee=G, neighbours=neighbours, **fields)


def _own(generator: random.Random) -> dict[str, Any]:
    bounds = {"visits": (0, 6), "spent": (-30, 100), "most": Y}
    asked: list[dict[str, Any]] = [
        {"variances": ["spent"], "bounds": {"spent": bounds["spent"]}, "count": True},
        {"medians": ["most"], "bins": {"most": [7, 40]}, "bounds": {"most": bounds["most"]}},
        {"regression": {"of": "spent", "on": ["visits"]}, "bounds": {n: bounds[n] for n in ("spent", "visits")}},
        {"means": ["visits"], "bounds": {"visits": bounds["visits"]}, "by": {"area": REGIONS}, "count": True},
    ]
    return {"person_columns": OWN, **generator.choice(asked)}


def random_rows(name: str, generator: random.Random, single: bool) -> list[dict[str, Any]]:
    """The rows of one person: every edge and odd value, or all at one end."""
    values = [None, math.nan, math.inf, -math.inf, -20.0, 0.0, -0.0, 7.0, 30.0, 60.0, 90.0, 1e308, 6.999, 45.0]
    pick = generator.choice
    many = 1 if single else pick([1, 1, 2, 3, 6, 9])
    place, same = pick([*REGIONS, "elsewhere", None]), generator.random() < 0.4
    end = {"x": pick([0.0, 60.0, 30.0]), "y": pick([-20.0, 90.0, 35.0])}
    made = [end if same else {"x": pick(values), "y": pick(values)} for _ in range(many)]
    return [{"person": name, "region": place if same else pick([place, *REGIONS]), **row} for row in made]


def try_neighbours(request: gm.Request, generator: random.Random, pairs: int) -> tuple[Fraction, Fraction]:
    """The largest square of a noise's distance over what it leaves room for, and of all noises together."""
    plan, single, largest, together = request.plan, request.unit is None, Fraction(0), Fraction(0)
    for _ in range(pairs):
        others = [row for j in range(generator.randint(0, 2)) for row in random_rows(f"other {j}", generator, single)]
        before = [] if request.neighbours == "add-remove" else random_rows("person", generator, single)
        after = random_rows("person", generator, single)
        one, other = (total_alone(plan, others + rows, SCHEMA) for rows in (before, after))
        found = distances(plan, one, other)
        largest, together = max(largest, *found), max(together, spent(plan, found))
    return largest, together
