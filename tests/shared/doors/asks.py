"""What is asked of a table: every kind of public request, chosen at random within its kind."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import gaussmith as gm
from doors.tables import REGIONS, SEXES

GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-6)
GUARANTEE_FIELDS = {"epsilon": 1, "delta": 1e-6}

X, Y = (-20, 50), (0, 90)


@dataclass(frozen=True)
class Ask:
    """What is asked: the fields of a request, or how many regions of a person count in pairs of person and region."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    pairs: int = 0

    @property
    def unit(self) -> bool:
        """Whether a person is all rows with one id, and not a row."""
        return bool(self.pairs) or self.fields.get("unit") is not None

    @property
    def replaced(self) -> bool:
        return self.fields.get("neighbours") == "replace-one"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a list or an array, which are told by their order."""
        if self.pairs:
            return ("person", "region")
        return ("person", "region", "sex", "x", "y") if self.unit else ("x", "y")

    def release(self, source: Any, engine: str | None = None) -> Any:
        """Release it from a source, in Python."""
        if self.pairs:
            plan = gm.plan(gm.Counts(REGIONS, at_most=self.pairs), GUARANTEE, count=True)
            if engine is not None:  # a plan names no engine: a frame of it does
                source = read_parquet(source, engine)
            named = not isinstance(source, list | np.ndarray)
            return plan.release(source, ["person", "region"] if named else None, form="pairs")
        return gm.release(gm.Request(source, guarantee=GUARANTEE, **self.fields), engine=engine)

    def write(self, source: str | Mapping[str, Any], path: Path) -> None:
        """Write it as a TOML request."""
        fields = {name: value for name, value in self.fields.items() if name != "questions"}
        lines = [f"{name} = {_toml(value)}" for name, value in fields.items()]
        lines = [f"source = {_toml(source)}", f"guarantee = {_toml(GUARANTEE_FIELDS)}", *lines]
        for question in self.fields.get("questions", ()):
            lines += ["[[question]]", *(f"{name} = {_toml(value)}" for name, value in question.items())]
        path.write_text("\n".join(lines) + "\n", "utf-8")


def read_parquet(path: str, engine: str) -> Any:
    """A frame over a Parquet file that another engine reads."""
    if engine == "duckdb":
        return duckdb.connect().read_parquet(path)
    from pyspark.sql import SparkSession  # not needed where Spark is not asked for

    return SparkSession.getActiveSession().read.parquet(f"file://{path}")


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _person(**fields: Any) -> Ask:
    return Ask({"unit": "person", **fields})


def ask_sums(generator: random.Random) -> Ask:
    both = {"x": X, "y": Y} if generator.random() < 0.5 else {"x": X}
    return _person(sums=both, count=generator.random() < 0.7)


def ask_means_of_rows(generator: random.Random) -> Ask:
    count: bool | str = generator.choice([True, False, "rows"])
    return _person(means={"x": X, "y": Y}, count=count, rows_per_unit=generator.randint(1, 4))


def ask_means_of_people(generator: random.Random) -> Ask:
    return _person(means={"y": Y}, sums={"x": X}, mean_of="units", count=True)


def ask_count(generator: random.Random) -> Ask:
    if generator.random() < 0.5:
        return _person(count=True)
    return _person(count="rows", rows_per_unit=generator.randint(1, 3))


def ask_histogram(generator: random.Random) -> Ask:
    many = generator.randint(1, 3)
    return _person(histograms={"region": list(REGIONS)}, values_per_unit=many, count=generator.random() < 0.5)


def ask_one_key(generator: random.Random) -> Ask:
    groups = {"by": {"region": list(REGIONS)}, "groups_per_unit": generator.randint(1, 3)}
    if generator.random() < 0.5:
        return _person(sums={"x": X}, count=True, **groups)
    return _person(means={"y": Y}, count="rows", rows_per_unit=2, **groups)


def ask_two_keys(generator: random.Random) -> Ask:
    keys = {"region": list(REGIONS), "sex": list(SEXES)}
    return _person(sums={"y": Y}, count=True, by=keys, groups_per_unit=generator.randint(1, 3))


def ask_filtered(generator: random.Random) -> Ask:
    where = generator.choice(
        ["x > 0", "region != 'north'", "not (y > 80) or is_null(x)", "person != 'ada' and x < 1e300", "is_null(sex)"]
    )
    if "person" in where and generator.random() < 0.5:  # refused where ids are no texts
        where = "x < 1e300"
    return _person(sums={"x": X}, count=True, where=where)


def ask_derived(generator: random.Random) -> Ask:
    formula = generator.choice(["x / y", "x * 2 + y", "x * x", "y - x"])
    return _person(sums={"x": X}, means={"ratio": (0, 3)}, columns={"ratio": formula}, rows_per_unit=2, count=True)


def ask_pairs(generator: random.Random) -> Ask:
    return Ask(pairs=generator.randint(1, 3))


def ask_questions(generator: random.Random) -> Ask:
    questions: list[dict[str, Any]] = [
        {"name": "sums", "sums": {"x": X}, "count": True},
        {"name": "regions", "count": True, "by": {"region": list(REGIONS)}, "groups_per_unit": generator.randint(1, 3)},
        {"name": "rows", "means": {"y": Y}, "rows_per_unit": 2},
        {"name": "sexes", "histograms": {"sex": list(SEXES)}, "values_per_unit": 1},
    ]
    return _person(questions=generator.sample(questions, generator.randint(2, 4)))


def ask_replaced(generator: random.Random) -> Ask:
    fields: dict[str, Any] = generator.choice(
        [
            {"sums": {"x": X}, "means": {"y": Y}, "rows_per_unit": 3},
            {"means": {"y": Y}, "sums": {"x": X}, "mean_of": "units", "count": True},
            {"means": {"y": Y}, "rows_per_unit": 2, "by": {"region": list(REGIONS)}, "groups_per_unit": 2},
            {"histograms": {"region": list(REGIONS)}, "values_per_unit": 1},
        ]
    )
    return _person(neighbours="replace-one", **fields)


def ask_quantiles(generator: random.Random) -> Ask:
    groups = {"by": {"region": list(REGIONS)}, "groups_per_unit": generator.randint(1, 3)}
    fields: dict[str, Any] = {"medians": {"x": X}, "bins": {"x": [-10, 0, 20]}}
    if generator.random() < 0.5:
        fields = {"quantiles": {"y": [0.1, 0.9]}, "total_bounds": {"y": Y}, "bins": {"y": [10, 60]}, "count": True}
    return _person(**fields, **(groups if generator.random() < 0.5 else {}))


def ask_tables(generator: random.Random) -> Ask:
    fields: dict[str, Any] = {"marginals": [["x", "region"], ["sex"]], "bins": {"x": [-10, 0, 20]}}
    if generator.random() < 0.5:
        fields = {"histograms": {"x": {"equal": 3, "between": [-10, 20]}}, "values_per_unit": generator.randint(1, 3)}
        return _person(count=generator.random() < 0.5, **fields)
    return _person(values={"region": list(REGIONS), "sex": list(SEXES)}, count=True, **fields)


def ask_moments(generator: random.Random) -> Ask:
    own: dict[str, Any] = {"mean_of": "units", "count": generator.random() < 0.5}
    fields: dict[str, Any] = generator.choice(
        [
            {"variances": {"x": X}},
            {"covariance": {"x": X, "y": Y}},
            {"bounds": {"x": X, "y": Y}, "regression": {"of": "x", "on": ["y"]}},
            {"variances": {"y": Y}, "by": {"region": list(REGIONS)}, "groups_per_unit": generator.randint(1, 3)},
            {"variances": {"x": X}, "neighbours": "replace-one"},
        ]
    )
    if "neighbours" in fields:
        own["count"] = False  # that of all people is public there
    return _person(**own, **fields)


def ask_moments_of_rows(generator: random.Random) -> Ask:
    own: dict[str, Any] = {"rows_per_unit": generator.randint(2, 4), "count": generator.choice([True, False, "rows"])}
    fields: dict[str, Any] = generator.choice(
        [
            {"variances": {"x": X}},
            {"covariance": {"x": X, "y": Y}, "complete": ["x", "y"]},
            {"bounds": {"x": X, "y": Y}, "regression": {"of": "x", "on": ["y"]}, "means": ["x"]},
            {"variances": {"y": Y}, "by": {"region": list(REGIONS)}, "groups_per_unit": generator.randint(1, 3)},
            {"variances": {"x": X}, "neighbours": "replace-one", "count": False},
        ]
    )
    return _person(**{**own, **fields})


def ask_person_columns(generator: random.Random) -> Ask:
    """A person's own numbers, and statistics of them."""
    columns = {"visits": "count()", "spent": "sum(x)", "most": "max(y)", "often": "count(x > 0) / count() > 0.5"}
    columns |= {"area": "only(region)"}
    bounds = {"visits": (0, 6), "spent": X, "most": Y, "often": (0, 1)}
    fields: dict[str, Any] = generator.choice(
        [
            {"sums": ["spent"], "means": ["visits", "often"], "count": True},
            {"variances": ["spent"], "medians": ["most"], "bins": {"most": [10, 60]}},
            {"regression": {"of": "spent", "on": ["visits"]}, "where": "visits >= 2"},
            {"histograms": {"visits": [1, 2, 3]}, "count": generator.random() < 0.5},
            {"means": ["most"], "count": True, "by": {"area": list(REGIONS)}, "where": "x < 1e300 or is_null(x)"},
        ]
    )
    named = {name for value in fields.values() if isinstance(value, list) for name in value}
    named |= {"spent", "visits"} if "regression" in fields else set()
    return _person(person_columns=columns, bounds={name: bounds[name] for name in named}, **fields)


def ask_found(generator: random.Random) -> Ask:
    """Groups whose keys are found; a person keeps few of its own, and a spare number uses what they leave."""
    keys: dict[str, Any] = generator.choice(
        [{"region": "found"}, {"region": "found", "sex": list(SEXES)}, {"region": "found", "sex": "found"}]
    )
    fields: dict[str, Any] = generator.choice(
        [
            {"count": True},
            {"count": True, "sums": {"x": X, "y": Y}},
            {"means": {"y": Y}, "mean_of": "units"},
            {"means": {"x": X}, "count": "rows", "rows_per_unit": 2},
            {"variances": {"x": X}, "sums": {"y": Y}, "mean_of": "units", "complete": ["x"]},
            {"medians": {"x": X}, "bins": {"x": [-10, 0, 20]}, "count": True},
            {"count": True, "where": "x > 0 or is_null(x)", "keys_at_least": 2},
        ]
    )
    return _person(by=keys, groups_per_unit=generator.choice([1, 2, 4, 6]), **fields)


def ask_rows(generator: random.Random) -> Ask:
    means = generator.choice([{}, {"means": {"x": X}}, {"means": {"y": Y, "x": X}}])
    return Ask({"sums": {"x": X, "y": Y}, "count": True, **means})


ASKS: dict[str, Callable[[random.Random], Ask]] = {
    "sums": ask_sums,
    "means of rows": ask_means_of_rows,
    "means of people": ask_means_of_people,
    "count": ask_count,
    "histogram": ask_histogram,
    "one key": ask_one_key,
    "two keys": ask_two_keys,
    "where": ask_filtered,
    "derived": ask_derived,
    "pairs": ask_pairs,
    "questions": ask_questions,
    "replace-one": ask_replaced,
    "moments": ask_moments,
    "moments of rows": ask_moments_of_rows,
    "person columns": ask_person_columns,
    "rows": ask_rows,
    "quantiles": ask_quantiles,
    "tables": ask_tables,
    "found keys": ask_found,
}
"""The kinds of requests."""
