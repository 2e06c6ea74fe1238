"""A request: which answers, of which table, under which guarantee; in Python or in TOML. It is planned without data."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gaussmith.answers import MEAN, SUM, ask
from gaussmith.domains import Box, Domain, Records
from gaussmith.errors import DomainError, RequestError, nearest
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, check
from gaussmith.planner import plan_answers
from gaussmith.plans import Plan

Bounds = Mapping[str, tuple[float, float]]

KEYS = ("source", "sums", "means", "count", "missing", "weights", "guarantee", "neighbours")
"""What a TOML request may hold."""


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked of one table.

    >>> import gaussmith as gm
    >>> request = gm.Request("people.parquet", sums={"income": (0, 200_000)}, means={"age": (0, 100)}, count=True,
    ...                      guarantee=gm.Guarantee(epsilon=1, delta=1e-6))
    >>> request.plan.answers.names
    ('income_sum', 'age_mean')
    """

    source: Any
    sums: Bounds = field(default_factory=dict)
    means: Bounds = field(default_factory=dict)
    count: bool = False
    missing: Mapping[str, float] = field(default_factory=dict)
    weights: Any = "relative"
    guarantee: Guarantee | None = None
    neighbours: str = ADD_REMOVE

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise RequestError(
                "no guarantee",
                "a request says how well people are protected",
                "add guarantee: epsilon = 1, delta = 1e-6",
            )
        if not isinstance(self.count, bool):
            raise RequestError(f"count={self.count!r}", "it is true or false", "write count = true")
        object.__setattr__(self, "neighbours", check(self.neighbours))
        object.__setattr__(self, "sums", _bounds("sums", self.sums))
        object.__setattr__(self, "means", _bounds("means", self.means))
        if not isinstance(self.missing, Mapping):
            raise RequestError(
                f"missing={self.missing!r}", "it maps columns to numbers", "write missing = { age = 40 }"
            )
        if not (self.sums or self.means or self.count):
            raise RequestError(
                "nothing is asked", "a request has at least one answer", "add sums, means or count, e.g. --count"
            )
        object.__setattr__(self, "plan", self._plan())

    plan: Plan = field(init=False, repr=False)
    """The plan of this request; made without data."""

    def _coordinates(self) -> dict[tuple[str, float, float], str]:
        """Each (column, bounds) once, with its name: the column's, or one that tells two bounds apart."""
        coordinates: dict[tuple[str, float, float], str] = {}
        for bounds in (self.sums, self.means):
            for column, (low, high) in bounds.items():
                key = (column, low, high)
                if key not in coordinates:
                    taken = column in coordinates.values()
                    coordinates[key] = f"{column} within {low:g} to {high:g}" if taken else column
        return coordinates

    @property
    def columns(self) -> list[str]:
        """The columns to read, one per coordinate of the plan."""
        return [column for column, _, _ in self._coordinates()]

    def _plan(self) -> Plan:
        coordinates = self._coordinates()
        names = list(coordinates.values())
        keys = list(coordinates)
        kinds = [
            (keys.index((column, low, high)), kind, f"{column}_{kind}")
            for kind, bounds in ((SUM, self.sums), (MEAN, self.means))
            for column, (low, high) in bounds.items()
        ]
        domain: Domain = (
            Box({n: (low, high) for n, (_, low, high) in zip(names, keys, strict=True)}) if keys else Records()
        )
        answers = ask(domain, count=self.count, weights=self.weights, kinds=kinds)
        missing = self._missing(coordinates)
        assert self.guarantee is not None
        return plan_answers(domain, self.guarantee, answers, self.neighbours, missing)

    def _missing(self, coordinates: Mapping[tuple[str, float, float], str]) -> dict[str, float]:
        """`missing` by coordinate; a column asked both ways must be named in it."""
        asked = [column for column, _, _ in coordinates]
        for column in self.missing:
            if column not in asked:
                raise RequestError(
                    f"missing names {column!r}", "it must be a column that is asked", nearest(column, asked)
                )
        for column in self.sums:
            if column in self.means and column not in self.missing:
                raise RequestError(
                    f"column {column!r} is asked both as a sum and as a mean",
                    "a missing value has a different stand-in for each",
                    f"say which one: missing = {{ {column} = 0 }}",
                )
        return {name: self.missing[c] for (c, _, _), name in coordinates.items() if c in self.missing}

    @classmethod
    def from_toml(cls, path: str | Path) -> Request:
        """The request in a TOML file. A relative source is found beside the file."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise RequestError(f"request file {str(path)!r}", "it does not exist", "check the name") from None
        except (OSError, UnicodeDecodeError):
            raise RequestError(f"request file {str(path)!r}", "it cannot be read as text", "check the file") from None
        try:
            fields = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise RequestError(f"request file {str(path)!r}", f"it is not TOML: {error}", "mend that line") from None
        return cls.from_dict(fields, beside=file.parent)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], beside: Path | None = None) -> Request:
        """The request in a mapping with the keys of a TOML request."""
        for key in fields:
            if key not in KEYS:
                raise RequestError(f"unknown key {key!r}", "a request has no such key", nearest(key, KEYS))
        if "source" not in fields:
            raise RequestError("no source", "a request names its data", 'add source = "people.parquet"')
        source = fields["source"]
        if beside is not None and isinstance(source, str) and "://" not in source and not Path(source).is_absolute():
            source = str(beside / source)
        known = {key: fields[key] for key in KEYS if key in fields and key not in ("source", "guarantee")}
        return cls(source, guarantee=_guarantee(fields.get("guarantee")), **known)


def _guarantee(fields: Any) -> Guarantee | None:
    if fields is None or isinstance(fields, Guarantee):
        return fields
    allowed = ("epsilon", "delta", "mu", "rho")
    if not isinstance(fields, Mapping):
        raise RequestError(f"guarantee={fields!r}", "it is a table", "write guarantee = { epsilon = 1, delta = 1e-6 }")
    for key in fields:
        if key not in allowed:
            raise RequestError(f"unknown key {key!r} in guarantee", "it has no such key", nearest(key, allowed))
    return Guarantee(**fields)


def _bounds(which: str, bounds: Any) -> dict[str, tuple[float, float]]:
    if not isinstance(bounds, Mapping):
        raise RequestError(
            f"{which}={bounds!r}", "it maps columns to their bounds", f"write {which} = {{ age = [0, 100] }}"
        )
    checked = {}
    for column, pair in bounds.items():
        if not (isinstance(pair, list | tuple) and len(pair) == 2 and all(_is_number(b) for b in pair)):
            raise DomainError(
                f"bounds of {column!r} = {pair!r}",
                "every column needs two numbers, known without looking at the data",
                f"write {which} = {{ {column} = [0, 100] }}",
            )
        checked[str(column)] = (float(pair[0]), float(pair[1]))
    return checked


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
