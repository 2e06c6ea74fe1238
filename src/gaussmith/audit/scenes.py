"""Tables for an audit: a few made-up rows, and one person who is added to them or replaced, as awkward as possible.

No data of anybody is read. The person is sought step by step: every column takes bounds, odd numbers, declared and
undeclared values, and what changes the exact integers below the noise the most is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from gaussmith import mechanism
from gaussmith.audit.recording import Seen, watch
from gaussmith.errors import GaussmithError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.plans import Plan
from gaussmith.plans.certified_grid import NOISE_BITS
from gaussmith.plans.found_draws import threshold_of
from gaussmith.releases import Release
from gaussmith.requests.made_up_rows import bounds_of, made_up_table

OTHERS = 12
"""Rows of other people."""

MANY = 5_000
"""The same where stages must find something before they go on."""

FOUND_ROWS = 24
"""The same for each person that a found key needs to be shown: made-up rows have five keys, and people several rows."""

STEPS = 160
"""Releases that the search for the worst person makes at most."""

ODD = (0.0, math.inf, -math.inf, 1e308, -1e308, math.nan, None)
"""Numbers that no bounds allow, and missing ones."""

MAX_VALUES = 24
"""Declared values of a column that are tried."""

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Scene:
    """A plan, the rows of others, and what one person may be. `release` is the whole path, from a table to a record."""

    plan: Plan
    others: tuple[Row, ...]
    choices: Mapping[str, tuple[Any, ...]]
    seeds: tuple[Row, ...]
    prepare: Callable[[Sequence[Row]], mechanism.Prepared]
    staged: Callable[[Sequence[Row]], Release] | None = None
    unit: str | None = None
    rows: int = 1
    keys: tuple[str, ...] = ()

    @property
    def elsewhere(self) -> tuple[Scene, ...]:
        """The same with other people: all of them close to one bound, and nobody at all."""
        small = []
        for row in self.others:
            near = {name: _near(values, row[name]) for name, values in self.choices.items()}
            small.append({**row, **near})
        return replace(self, others=tuple(small)), replace(self, others=())

    @property
    def is_staged(self) -> bool:
        """Whether later noise is planned when earlier noise was seen."""
        return self.staged is not None

    def make(self, rows: Sequence[Row]) -> Release:
        """One release of these rows, along the whole path."""
        return mechanism.release(self.prepare(rows)) if self.staged is None else self.staged(rows)

    def watch(self, rows: Sequence[Row], **how: Any) -> Seen:
        """One release of these rows."""
        return watch(lambda: self.make(rows), **how)

    def persons(self) -> Iterator[tuple[Row, ...]]:
        """People to begin with."""
        for seed in self.seeds:
            yield self.person(seed)

    def person(self, row: Row, rows: int | None = None) -> tuple[Row, ...]:
        """Somebody with so many rows alike; columns of keys take one declared value after the other."""
        found = []
        for i in range(self.rows if rows is None else rows):
            each = dict(row)
            if self.unit is not None:
                each[self.unit] = -1
            for name in self.keys:
                values = [value for value in self.choices[name] if value is not None]
                if i and values and row[name] in values:
                    each[name] = values[(values.index(row[name]) + i) % len(values)]
            found.append(each)
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two tables that differ in one person, and how far apart their integers are: (‖ΔY‖ / μ 2^52)², exactly."""

    one: tuple[Row, ...]
    other: tuple[Row, ...]
    square: Fraction
    tried: int
    problem: str = field(default="")

    @property
    def ratio(self) -> float:
        """For people; every decision is made on `square`."""
        return math.sqrt(self.square)


def worst_pair(scene: Scene, steps: int | None = None) -> Pair:
    """The pair of neighbours that a search from every seed finds, with the largest difference of integers."""
    search = _Search(scene, STEPS if steps is None else steps)
    best: Pair | None = None
    for i, seed in enumerate(scene.seeds):
        for other in _partners(scene, i):
            found = search.climb(seed, other)
            best = found if best is None or found.square > best.square or found.problem else best
            if best.problem:
                return best
    assert best is not None
    tried = search.tried
    for other_scene in scene.elsewhere:
        again = _Search(other_scene, 0)
        for seed in scene.seeds:
            found = again.climb(seed, None if scene.plan.neighbours == ADD_REMOVE else scene.seeds[0])
            best = found if found.square > best.square else best
        tried += again.tried
    return replace(best, tried=tried)


def _partners(scene: Scene, i: int) -> list[Row | None]:
    """Who is replaced by the seed of this number: nobody under add-remove, else those at the bounds and the next."""
    if scene.plan.neighbours == ADD_REMOVE:
        return [None]
    seeds, own = scene.seeds, scene.seeds[i]
    return [each for each in (seeds[0], seeds[1], seeds[(i + 1) % len(seeds)]) if each != own]


@dataclass
class _Search:
    scene: Scene
    steps: int
    tried: int = 0

    @cached_property
    def _before(self) -> Seen:
        return self.scene.watch(self.scene.others, zero=True)

    def climb(self, seed: Row, other: Row | None) -> Pair:
        """From one person on: column by column the value that changes the integers the most."""
        row, more = dict(seed), self.scene.rows
        best = self._pair(row, other, more)
        if self.scene.unit is not None:
            for many in (1, 3 * more):
                best, more = self._better(best, row, other, many, more)
        for name, values in self.scene.choices.items():
            for value in values:
                if self.tried >= self.steps * max(1, len(self.scene.seeds)) or best.problem:
                    return best
                changed = {**row, name: value}
                found = self._pair(changed, other, more)
                if found.square > best.square or found.problem:
                    best, row = found, changed
        return best

    def _better(self, best: Pair, row: Row, other: Row | None, many: int, more: int) -> tuple[Pair, int]:
        found = self._pair(row, other, many)
        return (found, many) if found.square > best.square else (best, more)

    def _pair(self, row: Row, other: Row | None, many: int) -> Pair:
        scene = self.scene
        own = (*scene.others, *scene.person(row, many))
        before = scene.others if other is None else (*scene.others, *scene.person(other))
        self.tried += 1
        try:
            first = self._before if other is None else scene.watch(before, zero=True)
            second = scene.watch(own, zero=True)
        except GaussmithError as error:
            return Pair(before, own, Fraction(0), self.tried, f"a release failed for one person's rows: {error}")
        return Pair(before, own, square_between(scene.plan, first, second), self.tried)


def square_between(plan: Plan, one: Seen, other: Seen) -> Fraction:
    """(‖ΔY‖ / μ 2^52)² over all additions of two releases; 0 where they took different paths, which have their own
    check."""
    if [len(each) for each in one.lifted] != [len(each) for each in other.lifted]:
        return Fraction(0)
    square: int = sum(
        (y - z) ** 2 for a, b in zip(one.lifted, other.lifted, strict=True) for y, z in zip(a, b, strict=True)
    )
    room = Fraction(plan.spends.mu) * 2**NOISE_BITS
    ratio: Fraction = Fraction(square) / (room * room)
    return ratio


# -- making scenes ----------------------------------------------------------------------------------------------------


def scene_of(plan: Plan, made: Callable[[Any], Release] | None = None) -> Scene:
    """The scene of a plan: of a request's plan on a made-up table, of any other on rows of its domain.

    `made` releases a table of a plan in stages.
    """
    if any(draw.row_rule is not None for draw in plan.draws):
        return _scene_of_request(plan, made)
    return _scene_of_domain(plan)


def _scene_of_request(plan: Plan, made: Callable[[Any], Release] | None) -> Scene:
    import polars as pl

    table = made_up_table(plan, _others(plan) if made is None else MANY)
    rules = [draw.row_rule for draw in plan.draws if draw.row_rule is not None]
    unit = next((rule.unit for rule in rules if rule.unit is not None), None)
    rows = min(8, max((rule.rows_per_unit or 3 for rule in rules if rule.unit is not None), default=1))
    bounds: dict[str, tuple[float, float]] = {}
    for draw in plan.draws:
        bounds |= bounds_of(draw, 1)
    keys = tuple(dict.fromkeys(name for rule in rules for name in rule.by if name in table.columns))
    choices = {
        name: _choices(table[name].to_list(), bounds.get(name), whole=table[name].dtype.is_integer())
        for name in table.columns
        if name != unit
    }
    seeds = _seeds(choices)
    schema = dict(table.schema)

    def frame_of(found: Sequence[Row]) -> Any:
        return pl.DataFrame({name: [row[name] for row in found] for name in schema}, schema=schema, strict=False)

    def prepare(found: Sequence[Row]) -> mechanism.Prepared:
        return mechanism.prepare_request(plan, frame_of(found), is_made_up=True)

    staged = None if made is None else lambda found: made(frame_of(found))
    return Scene(plan, tuple(table.to_dicts()), choices, seeds, prepare, staged, unit, rows, keys)


def _others(plan: Plan) -> int:
    """Rows of other people; where keys are found so many that some keys are shown without noise."""
    needed = [threshold.at_half for draw in plan.draws if (threshold := threshold_of(draw)) is not None]
    return min(MANY, max([OTHERS, *(FOUND_ROWS * math.ceil(each) for each in needed)]))


def _scene_of_domain(plan: Plan) -> Scene:
    import polars as pl

    draw = plan.draws[0]
    domain = draw.block.domain
    choices: dict[str, tuple[Any, ...]] = {}
    keys: tuple[str, ...] = ()
    if draw.groups is not None:
        keys = tuple(draw.groups.columns)
        for i, name in enumerate(keys):
            choices[name] = (*dict.fromkeys(label[i] for label in draw.groups.labels), None)
    seeds: tuple[Row, ...] = ()
    if domain.forms[0] == "categories":
        names = list(domain.columns or ("0",))
        for name, values in zip(names, domain.declared_lists, strict=True):
            choices[name] = (*list(values)[:MAX_VALUES], None)
    else:
        names = list(domain.columns) if domain.columns is not None else [str(j) for j in range(_columns_of(domain))]
        low, high = domain.centre - domain.radius, domain.centre + domain.radius
        for j, name in enumerate(names):
            ends = (float(low[j]), float(high[j]))
            choices[name] = tuple(dict.fromkeys((*ends, 3 * ends[1] + 1, *ODD)))
        seeds = tuple(dict(zip(names, row, strict=True)) for row in _rows_of(draw, len(names)))
    others = tuple(
        {name: values[i % max(1, min(2, len(values)))] for name, values in choices.items()} for i in range(OTHERS)
    )
    named = domain.columns is not None or draw.groups is not None
    first = {name: choices[name][0] for name in keys}
    seeds = tuple({**first, **seed} for seed in seeds)

    def prepare(found: Sequence[Row]) -> mechanism.Prepared:
        columns = {name: [row[name] for row in found] for name in choices}
        if named or domain.forms[0] == "categories":
            schema = dict.fromkeys(names, pl.Float64) if domain.forms[0] == "numbers" else None
            data: Any = pl.DataFrame(columns, schema_overrides=schema, strict=False)
        else:
            data = np.array(list(columns.values()), dtype=float).T.reshape(len(found), len(columns))
        return mechanism.prepare(plan, data)

    return Scene(plan, others, choices, (*_seeds(choices), *seeds), prepare, keys=keys)


def _near(values: tuple[Any, ...], own: Any) -> Any:
    """A number close to the lower bound; anything else stays."""
    low, high = values[0], values[min(1, len(values) - 1)]
    both = isinstance(low, float) and isinstance(high, float)
    return low + 1e-3 * (high - low) if both else own


def _columns_of(domain: Any) -> int:
    """How many numbers a record is read from: coordinates may be made of several."""
    return 1 + max(int(j) for i in range(domain.dimension) for j in domain.read_from(i))


def _rows_of(draw: Any, width: int) -> list[list[float]]:
    """Records worth a try: along the directions that the lift stretches most, and records of an order or a list."""
    domain, lift = draw.block.domain, draw.block.shape.lift
    found: list[list[float]] = []
    if max(lift.shape) <= 300 and domain.dimension == width and lift.shape[1] >= width:
        directions = np.linalg.svd(lift.dense()[:, :width])[2]
        if len(directions):
            found += [(domain.centre + sign * domain.radius * directions[0]).tolist() for sign in (1.0, -1.0)]
    points = getattr(domain, "points", None)
    if isinstance(points, np.ndarray) and points.ndim == 2 and points.shape[1] == width:
        found += points[:MAX_VALUES].tolist()
    ranks = [float(j + 1) for j in range(width)]
    found += [ranks, ranks[::-1]]
    return found


def _choices(values: Sequence[Any], bounds: tuple[float, float] | None, whole: bool) -> tuple[Any, ...]:
    """What a column is tried with."""
    if bounds is not None and not whole:
        return tuple(dict.fromkeys((*bounds, 3 * bounds[1] + 1, *ODD)))
    seen = list(dict.fromkeys(values))[:MAX_VALUES]
    if seen and isinstance(seen[0], str):
        return (*seen, "elsewhere", None)
    if seen and isinstance(seen[0], float):
        return tuple(dict.fromkeys((min(seen), max(seen), *ODD)))
    return (*seen, None)


def _seeds(choices: Mapping[str, tuple[Any, ...]]) -> tuple[Row, ...]:
    """Everybody at the first value of each column, at the second, and without any number."""
    first = {name: values[0] for name, values in choices.items()}
    second = {name: values[min(1, len(values) - 1)] for name, values in choices.items()}
    zero = {name: 0.0 if isinstance(values[0], float) else values[0] for name, values in choices.items()}
    return first, second, zero
