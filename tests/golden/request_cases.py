"""Golden cases of requests: every field, every source; in Python, in TOML and on the command line."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from strategies import stored_requests
from tables import SOURCES, file, table

import gaussmith as gm

Fields = dict[str, Any]

BY = {"region": ["north", "south", "island"]}
PERSON: Fields = {"unit": "person"}
HEALTH = ["good", "fair", "poor"]

REQUESTS: dict[str, Fields] = {
    "count": {"count": True},
    "sum": {"sums": {"x": (0, 50)}},
    "sums, count": {"sums": {"x": (0, 50), "y": (-10, 10)}, "count": True},
    "mean": {"means": {"x": (0, 50)}},
    "sums, means, count": {"sums": {"x": (0, 50)}, "means": {"y": (-10, 10), "n": (0, 20)}, "count": True},
    "both of a column": {"sums": {"x": (0, 50)}, "means": {"x": (0, 50)}, "missing": {"x": 12.5}},
    "two bounds": {"sums": {"x": (0, 50)}, "means": {"x": (0, 30)}, "missing": {"x": 12.5}, "count": True},
    "equal": {"sums": {"x": (0, 50), "y": (-10, 10)}, "means": {"n": (0, 20)}, "count": True, "weights": "equal"},
    "weighted": {"sums": {"x": (0, 50), "y": (-10, 10)}, "means": {"n": (0, 20)}, "weights": [1, 2, 0.5]},
    "missing": {"sums": {"x": (0, 50)}, "means": {"y": (-10, 10)}, "missing": {"x": 7, "y": 2.5}},
    "where": {
        "sums": {"x": (0, 50)},
        "count": True,
        "where": "x > 3 and region in ('north', 'south') or is_null(number(x))",
    },
    "columns": {
        "sums": {"double": (0, 90)},
        "means": {"late": (0, 1)},
        "columns": {"double": "2 * x", "late": "year >= 2022"},
    },
    "columns of columns": {
        "sums": {"big": (0, 9)},
        "columns": {"half": "n / 2", "big": "max(half, abs(y), 1)"},
        "where": "half != 3",
    },
    "by": {"sums": {"x": (0, 50)}, "count": True, "by": BY},
    "by two columns": {"means": {"x": (0, 50)}, "count": True, "by": {"year": [2021, 2020], "sex": ["m", "f"]}},
    "by listed keys": {"count": True, "by": [{"sex": "f", "year": 2020}, {"sex": "m", "year": 2023}]},
    "by a derived column": {"sums": {"x": (0, 50)}, "by": {"late": [True, False]}, "columns": {"late": "year >= 2022"}},
    "complete": {"means": {"x": (0, 50), "y": (-10, 10)}, "complete": ["x", "y"], "count": True},
    "complete, in part": {"sums": {"x": (5, 50)}, "means": {"x": (5, 50), "y": (-10, 10)}, "complete": ["y"]},
    "bounds said once": {"bounds": {"x": (0, 50), "y": (-10, 10)}, "means": ["x", "y"], "sums": ["x"]},
    "person, count": {"count": True, **PERSON},
    "person, totals of rows": {"bounds": {"x": (-5, 50)}, "sums": ["x"], "rows_per_unit": 3, **PERSON},
    "person, means by": {"means": {"x": (0, 50), "y": (-10, 10)}, "mean_of": "units", "by": BY, **PERSON},
    "person, sum": {"sums": {"x": (0, 120), "y": (-30, 30)}, "count": True, **PERSON},
    "person, missing": {"sums": {"x": (0, 120)}, "missing": {"x": 5}, **PERSON},
    "person, mean of people": {"means": {"x": (0, 50)}, "mean_of": "units", "count": True, **PERSON},
    "person, mean of people, sum": {"sums": {"n": (0, 60)}, "means": {"x": (0, 50)}, "mean_of": "units", **PERSON},
    "person, mean of rows": {"means": {"x": (0, 50)}, "rows_per_unit": 3, **PERSON},
    "person, one row": {"means": {"x": (0, 50)}, "count": True, "rows_per_unit": 1, **PERSON},
    "person, rows": {"count": "rows", "rows_per_unit": 4, **PERSON},
    "person, all": {
        "sums": {"n": (0, 60)},
        "means": {"x": (0, 50), "y": (-10, 10)},
        "count": True,
        "rows_per_unit": 3,
        "missing": {"y": 1.5},
        **PERSON,
    },
    "person, all, rows": {
        "sums": {"n": (0, 60)},
        "means": {"x": (0, 50)},
        "count": "rows",
        "rows_per_unit": 3,
        **PERSON,
    },
    "person, all, equal": {
        "sums": {"n": (0, 60)},
        "means": {"x": (0, 50)},
        "count": "rows",
        "rows_per_unit": 3,
        "weights": "equal",
        **PERSON,
    },
    "person, means of people, rows": {
        "means": {"x": (0, 50)},
        "mean_of": "units",
        "count": "rows",
        "rows_per_unit": 5,
        **PERSON,
    },
    "person, where": {
        "sums": {"half": (0, 60)},
        "means": {"y": (-10, 10)},
        "rows_per_unit": 2,
        "columns": {"half": "x / 2"},
        "where": "year != 2021",
        "count": True,
        **PERSON,
    },
    "person, by": {"sums": {"x": (0, 120)}, "count": True, "by": BY, **PERSON},
    "person, by, two groups": {"sums": {"x": (0, 120)}, "count": True, "by": BY, "groups_per_unit": 2, **PERSON},
    "person, by two columns": {
        "means": {"x": (0, 50)},
        "count": "rows",
        "rows_per_unit": 2,
        "groups_per_unit": 3,
        "by": {"region": ["south", "north"], "year": [2020, 2021, 2022]},
        **PERSON,
    },
    "person, by, mean of people": {
        "means": {"x": (0, 50)},
        "mean_of": "units",
        "by": BY,
        "groups_per_unit": 2,
        **PERSON,
    },
    "person, by, where": {
        "sums": {"x": (0, 120)},
        "means": {"y": (-10, 10)},
        "rows_per_unit": 2,
        "by": BY,
        "where": "sex == 'f'",
        **PERSON,
    },
    "histogram": {"histograms": {"health": HEALTH}},
    "histogram, count": {"histograms": {"health": HEALTH}, "count": True, "where": "year > 2020"},
    "histogram of numbers": {"histograms": {"band": [0, 1, 2, 3]}},
    "person, histogram": {"histograms": {"health": HEALTH}, "count": True, **PERSON},
    "person, histogram, two values": {"histograms": {"health": HEALTH}, "values_per_unit": 2, **PERSON},
    "person, two histograms": {
        "histograms": {"health": HEALTH, "band": [0, 1, 2, 3]},
        "values_per_unit": 2,
        "count": True,
        **PERSON,
    },
    "person, histogram beside sums": {
        "sums": {"x": (0, 120)},
        "histograms": {"health": HEALTH},
        "count": True,
        **PERSON,
    },
    "questions": {
        "questions": [
            {"name": "spent", "sums": {"x": (0, 50)}},
            {"name": "people", "count": True},
            {"name": "regions", "count": True, "by": BY},
        ]
    },
    "questions, shares": {
        "questions": [
            {"name": "spent", "sums": {"x": (0, 50)}, "share": 3},
            {"name": "people", "count": True},
            {"name": "health", "histograms": {"health": HEALTH}, "share": 2},
        ]
    },
    "person, questions": {
        "rows_per_unit": 3,
        "where": "year < 2023",
        **PERSON,
        "questions": [
            {"name": "spent", "sums": {"x": (0, 120)}, "means": {"y": (-10, 10)}},
            {"name": "again", "means": {"y": (-10, 10), "half": (0, 25)}, "columns": {"half": "x / 2"}},
            {"name": "rows", "count": "rows"},
            {"name": "women", "means": {"x": (0, 50)}, "where": "sex == 'f'", "missing": {"x": 20}},
            {"name": "regions", "sums": {"n": (0, 60)}, "count": True, "by": BY, "groups_per_unit": 2},
        ],
    },
    "person, questions, shares": {
        **PERSON,
        "questions": [
            {"sums": {"x": (0, 120)}, "share": 0.5},
            {"means": {"x": (0, 50)}, "mean_of": "units", "count": True, "share": 1.5},
        ],
    },
}
"""Fields of requests; all of them are asked under add-remove."""

REQUESTS = {
    name: {"groups_per_unit": 1, "values_per_unit": 1, **fields} if "unit" in fields else fields
    for name, fields in REQUESTS.items()
}
"""With a unit each says how many groups and values a person counts in."""

PUBLIC = [
    name
    for name, fields in REQUESTS.items()
    if "where" not in str(fields) and name not in ("count", "person, count", "questions, shares")
]
"""Those that can be asked under replace-one too: without a filter, and never for a count alone."""

PURE = "pure"
"""In the place of neighbours: add-remove, with ε alone."""

PURE_ONES = (
    "count",
    "sums, count",
    "sums, means, count",
    "two bounds",
    "equal",
    "where",
    "by",
    "by two columns",
    "complete",
    "person, totals of rows",
    "person, all",
    "person, by, two groups",
    "histogram, count",
    "person, histogram, two values",
    "person, two histograms",
    "questions",
    "questions, shares",
    "person, questions",
)
"""Those that are asked under pure ε too: each kind of lattice, law and split."""

EVERYWHERE = (
    "sums, means, count",
    "where",
    "columns",
    "by two columns",
    "person, all",
    "person, where",
    "person, by two columns",
    "person, histogram, two values",
    "histogram of numbers",
    "person, questions",
)
"""Those that are asked of every source; the others of one or two."""


def request_cases() -> dict[str, tuple[str, str]]:
    """Names of all requests, and which fields and neighbours they have."""
    asked = [*((name, "add-remove") for name in REQUESTS), *((name, "replace-one") for name in PUBLIC)]
    asked += [(name, PURE) for name in PURE_ONES]
    return {request_name(*each): each for each in asked}


def request_name(name: str, neighbours: str) -> str:
    return f"request | {neighbours} | {name}"


def guarantee_of(name: str, neighbours: str) -> Fields:
    if neighbours == PURE:
        return {"epsilon": 1.0}
    return {"epsilon": 1.0, "delta": 1e-6} if "count" in name else {"rho": 0.5} if "histogram" in name else {"mu": 1.0}


@cache
def _fields(name: str, neighbours: str) -> Fields:
    return {**REQUESTS[name], "neighbours": _neighbours(neighbours)}


def _neighbours(neighbours: str) -> str:
    return "add-remove" if neighbours == PURE else neighbours


def sources_of(name: str, neighbours: str) -> list[str]:
    """Sources and ways of asking."""
    if name in EVERYWHERE and neighbours == "add-remove":
        return [*SOURCES, "parquet by duckdb", "toml", *(["command"] if _sayable(REQUESTS[name]) else [])]
    return ["polars", "duckdb", "toml", *(["command"] if _sayable(REQUESTS[name]) else [])]


def make_request(name: str, neighbours: str, source: Any) -> Any:
    """The request with its stored strategy."""
    with stored_requests(request_name(name, neighbours)):
        return _request(name, neighbours, source)


def newly_planned_request(name: str, neighbours: str) -> Any:
    """The plan of the request as the solver finds it here."""
    return _request(name, neighbours, table()).plan


def _request(name: str, neighbours: str, source: Any) -> Any:
    return gm.Request(source, guarantee=gm.Guarantee(**guarantee_of(name, neighbours)), **_fields(name, neighbours))


def release_request(name: str, neighbours: str, source: str, folder: Path) -> Any:
    with stored_requests(request_name(name, neighbours)):
        return _release(name, neighbours, source, folder)


def _release(name: str, neighbours: str, source: str, folder: Path) -> Any:
    if source == "toml":
        return gm.release(write_toml(name, neighbours, folder))
    if source == "command":
        return run_command(name, neighbours, folder)
    if source == "parquet by duckdb":
        return gm.release(_request(name, neighbours, file(folder, "parquet")), engine="duckdb")
    return gm.release(_request(name, neighbours, SOURCES[source](folder)))


# -- in TOML ----------------------------------------------------------------------------------------------------------


def write_toml(name: str, neighbours: str, folder: Path) -> str:
    """The request as a file beside its source."""
    file(folder, "parquet")
    fields = {"source": "golden.parquet", "guarantee": guarantee_of(name, neighbours), **_fields(name, neighbours)}
    questions = fields.pop("questions", [])
    lines = [f"{key} = {spell(value)}" for key, value in fields.items()]
    for question in questions:
        lines += ["[[question]]", *(f"{key} = {spell(value)}" for key, value in question.items())]
    path = folder / "request.toml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def spell(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {spell(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(spell, value)) + "]"
    return json.dumps(value)


# -- on the command line ----------------------------------------------------------------------------------------------


def _sayable(fields: Fields) -> bool:
    """Questions and listed keys are asked in a request alone."""
    return "questions" not in fields and isinstance(fields.get("by", {}), Mapping)


def words_of(name: str, neighbours: str) -> list[str]:
    """The request as flags."""
    fields = REQUESTS[name]
    stated = guarantee_of(name, neighbours)
    words = [f"--neighbours={_neighbours(neighbours)}", *(f"--{key}={value!r}" for key, value in stated.items())]
    for flag, key in (("sum", "sums"), ("mean", "means"), ("bounds", "bounds")):
        asked = fields.get(key, {})
        bounds = asked if isinstance(asked, Mapping) else {}
        words += [f"--{flag}={column}:{low}:{high}" for column, (low, high) in bounds.items()]
        words += [f"--{flag}={column}" for column in asked if column not in bounds]
    words += [f"--complete={column}" for column in fields.get("complete", ())]
    words += {True: ["--count"], "rows": ["--count-rows"], False: []}[fields.get("count", False)]
    for flag, key in (("by", "by"), ("histogram", "histograms")):
        words += [
            f"--{flag}={c}={','.join(json.dumps(v).strip(chr(34)) for v in vs)}"
            for c, vs in fields.get(key, {}).items()
        ]
    words += [f"--column={column}={text}" for column, text in fields.get("columns", {}).items()]
    words += [f"--missing={column}={value}" for column, value in fields.get("missing", {}).items()]
    for key in ("unit", "rows_per_unit", "groups_per_unit", "values_per_unit", "mean_of", "where"):
        words += [f"--{key.replace('_', '-')}={fields[key]}"] if key in fields else []
    weights = fields.get("weights")
    return (
        words
        if weights is None
        else [*words, f"--weights={weights if isinstance(weights, str) else ','.join(map(str, weights))}"]
    )


def run_command(name: str, neighbours: str, folder: Path) -> Any:
    """The release that the command line prints, within this process."""
    words = ["gaussmith", "release", file(folder, "parquet"), "--json", *words_of(name, neighbours)]
    printed = io.StringIO()
    with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        runpy.run_module("gaussmith", run_name="__main__")
    return gm.read(printed.getvalue())
