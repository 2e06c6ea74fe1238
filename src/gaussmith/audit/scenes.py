"""Tables for an audit: a few made-up rows, and one person who is added to them or replaced, as awkward as possible.

No data of anybody is read. The person is sought step by step: every column takes bounds, odd numbers, declared and
undeclared values, and what changes the exact integers below the noise the most is kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith import mechanism as _mechanism
from gaussmith.audit.verdict import LOCK
from gaussmith.domains.domain import Domain
from gaussmith.domains.pure_strategies import ONE_NORM
from gaussmith.errors import GaussmithError
from gaussmith.numerics.exact import Array, Words
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.discovered_groups import threshold_of
from gaussmith.planning.plan import Plan
from gaussmith.privacy.neighbours import ADD_REMOVE
from gaussmith.releases.release import Release
from gaussmith.requests.made_up_rows import bounds_of, made_up_table
from gaussmith.requests.request import Request

if TYPE_CHECKING:
    import polars as pl

    from gaussmith.noise.law import Law

# One release with its noise recorded, replayed or set to zero, and all that can be seen of it.
#
# The mechanism has no way to repeat noise, and gets none: here its functions that draw and add are replaced while
# an audit looks, in the audit's own context alone. A release in another thread at the same time has its own fresh
# noise.

VALUES = frozenset({"value", "standard_error", "lower", "upper", "features", "status", "note"})
"""The fields of a record that depend on data, through noisy integers alone."""

mechanism: Any = _mechanism
"""As anything: its functions that draw and add are replaced while an audit looks."""

_SCRIPT: ContextVar[_Script | None] = ContextVar("script", default=None)
_FIXED: ContextVar[bool] = ContextVar("fixed", default=False)


@dataclass
class _Script:
    """What is to be drawn next, and what was added to what."""

    given: list[Words] | None
    zero: bool
    drawn: list[Words] = field(default_factory=list)
    lifted: list[tuple[int, ...]] = field(default_factory=list)
    noise: list[tuple[int, ...]] = field(default_factory=list)
    laws: list[Law | None] = field(default_factory=list)
    strayed: bool = False


@dataclass(frozen=True, eq=False)
class SeenRelease:
    """One release: its noise, the exact integers below it, what reached them, and the record that is written."""

    release: Release
    drawn: tuple[Words, ...]
    lifted: tuple[tuple[int, ...], ...]
    added: tuple[tuple[int, ...], ...]
    strayed: bool
    """Whether other amounts of noise were asked for than were recorded."""
    laws: tuple[Law | None, ...] = ()
    """The law of each noise that was drawn; None of Gaussian noise."""

    @property
    def features(self) -> tuple[Array, ...]:
        """The noisy features of each draw, groups × features; what was chosen is left out."""
        found = []
        for query, each in zip(self.release.plan.queries, self.release.noisy, strict=False):
            chosen = query.block.domain.chosen if each.shape[1] == query.block.width else 0
            found.append(np.asarray(each, float)[:, : each.shape[1] - chosen])
        return tuple(found)

    @property
    def record(self) -> str:
        """The bytes that are written, without the released values."""
        return json.dumps(_blank(json.loads(self.release.to_json())), sort_keys=True, ensure_ascii=False)


def watch(make: Callable[[], Release], given: Sequence[Words] | None = None, zero: bool = False) -> SeenRelease:
    """Run a release and write down its noise; with `given` that noise is used again, with `zero` there is none."""
    script = _Script(None if given is None else list(given), zero)
    with _watched(script):
        made = make()
    seen = tuple(script.drawn), tuple(script.lifted), tuple(script.noise)
    return SeenRelease(made, *seen, script.strayed, tuple(script.laws))


@contextmanager
def _watched(script: _Script) -> Iterator[None]:
    with LOCK:
        kept = {name: getattr(mechanism, name) for name in ("normal_integers", "add", "pure_integers", "add_pure")}

        def draw(size: int, law: Law | None, fresh: Callable[[], Any]) -> Any:
            own = _SCRIPT.get()
            if own is None:
                return fresh()
            noise = _next(own, size, fresh)
            own.drawn.append(noise)
            own.laws.append(law)
            return noise.copy()

        def drawing(size: int, bits: int = 52) -> Any:
            return draw(size, None, lambda: kept["normal_integers"](size, bits))

        def drawing_pure(law: Law, blocks: int) -> Any:
            fresh = draw(blocks * law.numbers, law, lambda: kept["pure_integers"](law, blocks).ravel())
            return fresh.reshape(blocks, law.numbers)

        def see(name: str, flat: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
            def adding(lifted: Any, noise: Any) -> Any:
                noisy, own = kept[name](lifted, noise), _SCRIPT.get()
                if own is not None:
                    exact = tuple(int(y) for y in flat(lifted))
                    own.lifted.append(exact)
                    own.noise.append(tuple(int(z) - y for z, y in zip(np.ravel(noisy), exact, strict=True)))
                return noisy

            return adding

        token = _SCRIPT.set(script)
        mechanism.normal_integers, mechanism.add = drawing, see("add", iter)
        mechanism.pure_integers, mechanism.add_pure = drawing_pure, see("add_pure", chain.from_iterable)
        try:
            yield
        finally:
            for name, function in kept.items():
                setattr(mechanism, name, function)
            _SCRIPT.reset(token)


@contextmanager
def fixed_choices() -> Iterator[None]:
    """Let choices of this context fall on the cell in the middle: then what is audited is the noise around it."""
    with LOCK:
        choose = mechanism.choose

        def choosing(selection: Any, table: Any, words: Any) -> int:
            return int(table.cells // 2) if _FIXED.get() else choose(selection, table, words)

        token = _FIXED.set(True)
        mechanism.choose = choosing
        try:
            yield
        finally:
            mechanism.choose = choose
            _FIXED.reset(token)


def _next(script: _Script, size: int, draw: Callable[[], Words]) -> Words:
    if script.zero:
        return np.zeros(size, np.int64)
    if script.given is None:
        return draw()
    if script.given and len(script.given[0]) == size:
        return script.given.pop(0)
    script.strayed = True
    return draw()


def _blank(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: "·" if k in VALUES else v if k == "plan" else _blank(v) for k, v in value.items()}
    return [_blank(each) for each in value] if isinstance(value, list) else value


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
    prepare: Callable[[Sequence[Row]], _mechanism.Prepared]
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
        return _mechanism.release(self.prepare(rows)) if self.staged is None else self.staged(rows)

    def watch(self, rows: Sequence[Row], **how: Any) -> SeenRelease:
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
    """Two tables that differ in one person, and how far apart their integers are, exactly: (‖ΔY‖ / μ 2^52)², or the
    square of what a pure ε loses over ε."""

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
    search = _WorstSearch(scene, STEPS if steps is None else steps)
    pairs = []
    for seed, other in ((seed, other) for i, seed in enumerate(scene.seeds) for other in _partners(scene, i)):
        pairs.append(search.climb(seed, other))
        if pairs[-1].problem:
            return pairs[-1]
    searches = [_WorstSearch(other_scene, 0) for other_scene in scene.elsewhere]
    partner = None if scene.plan.neighbours == ADD_REMOVE else scene.seeds[0]
    pairs += [again.climb(seed, partner) for again in searches for seed in scene.seeds]
    worst = max(pairs, key=lambda pair: pair.square)  # the first of equal ones
    return replace(worst, tried=sum(each.tried for each in (search, *searches)))


def _partners(scene: Scene, i: int) -> list[Row | None]:
    """Who is replaced by the seed of this number: nobody under add-remove, else those at the bounds and the next."""
    if scene.plan.neighbours == ADD_REMOVE:
        return [None]
    seeds, own = scene.seeds, scene.seeds[i]
    return [each for each in (seeds[0], seeds[1], seeds[(i + 1) % len(seeds)]) if each != own]


@dataclass
class _WorstSearch:
    scene: Scene
    steps: int
    tried: int = 0

    @cached_property
    def _before(self) -> SeenRelease:
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


def square_between(plan: Plan, one: SeenRelease, other: SeenRelease) -> Fraction:
    """(‖ΔY‖ / μ 2^52)² over all additions of two releases; 0 where they took different paths, which have their own
    check."""
    if [len(each) for each in one.lifted] != [len(each) for each in other.lifted]:
        return Fraction(0)
    if plan.guarantee.is_pure:
        return sum(losses_between(plan, one, other), Fraction(0)) ** 2 / plan.guarantee.pure_epsilon**2
    square: int = sum(
        (y - z) ** 2 for a, b in zip(one.lifted, other.lifted, strict=True) for y, z in zip(a, b, strict=True)
    )
    room = Fraction(plan.spends.mu) * 2**NOISE_BITS
    ratio: Fraction = Fraction(square) / (room * room)
    return ratio


def losses_between(plan: Plan, one: SeenRelease, other: SeenRelease) -> list[Fraction]:
    """Under pure ε: Σ over copies of N(ΔY) · ε/S of every noise, by the law that was drawn."""
    if None in one.laws:  # Gaussian noise has no such bound
        return [Fraction(FARTHEST if one.lifted != other.lifted else 0)]
    found, at = [], 0
    for noise, law in zip(plan.pure_noises, one.laws, strict=True):
        assert law is not None
        both = zip(one.lifted[at : at + len(noise.members)], other.lifted[at:], strict=False)
        parts = [np.array([abs(y - z) for y, z in zip(*each, strict=True)], dtype=object) for each in both]
        sizes = np.hstack([part.reshape(noise.copies, -1) for part in parts])
        lost = sizes.sum(axis=1) if law.norm == ONE_NORM else sizes.max(axis=1)
        found.append(int(lost.sum()) * law.rate)
        at += len(noise.members)
    return found


FARTHEST = 10**6
"""What noise that is not pure is taken to lose."""

# -- making scenes ----------------------------------------------------------------------------------------------------


def scene_of(plan: Plan, made: Callable[[Any], Release] | None = None) -> Scene:
    """The scene of a plan: of a request's plan on a made-up table, of any other on rows of its domain.

    `made` releases a table of a plan in stages.
    """
    if any(query.row_rule is not None for query in plan.queries):
        return _scene_of_request(plan, made)
    return _scene_of_domain(plan)


def _scene_of_request(plan: Plan, made: Callable[[Any], Release] | None) -> Scene:
    import polars as pl

    table = made_up_table(plan, _others(plan) if made is None else MANY)
    rules = [query.row_rule for query in plan.queries if query.row_rule is not None]
    owned = [rule for rule in rules if rule.unit is not None]
    unit = owned[0].unit if owned else None
    rows = min(8, max((rule.rows_per_unit or 3 for rule in owned), default=1))
    bounds: dict[str, tuple[float, float]] = {}
    for query in plan.queries:
        bounds |= bounds_of(query, 1)
    grouped = (name for rule in rules for name in (*rule.by, rule.histogram) if name in table.columns)
    keys = tuple(dict.fromkeys(grouped))
    named = [table[name] for name in table.columns if name != unit]
    choices = {each.name: _choices(each.to_list(), bounds.get(each.name), each.dtype.is_integer()) for each in named}
    seeds, schema = _seeds(choices), dict(table.schema)

    def frame_of(found: Sequence[Row]) -> Any:
        return pl.DataFrame({name: [row[name] for row in found] for name in schema}, schema=schema, strict=False)

    def prepare(found: Sequence[Row]) -> _mechanism.Prepared:
        return _mechanism.prepare_request(plan, frame_of(found), is_made_up=True)

    staged = None if made is None else lambda found: made(frame_of(found))
    return Scene(plan, tuple(table.to_dicts()), choices, seeds, prepare, staged, unit, rows, keys)


def _others(plan: Plan) -> int:
    """Rows of other people; where keys are found so many that some keys are shown without noise."""
    needed = [threshold.at_half for query in plan.queries if (threshold := threshold_of(query)) is not None]
    return min(MANY, max([OTHERS, *(FOUND_ROWS * math.ceil(each) for each in needed)]))


def _scene_of_domain(plan: Plan) -> Scene:
    import polars as pl

    query = plan.queries[0]
    domain = query.block.domain
    keys = () if query.groups is None else tuple(query.groups.columns)
    labels = () if query.groups is None else zip(*query.groups.labels, strict=True)
    choices = {name: (*dict.fromkeys(found), None) for name, found in zip(keys, labels, strict=False)}
    own = _own_choices(domain)
    choices |= own
    names, first = list(own), {name: choices[name][0] for name in keys}
    rows = [] if domain.forms[0] == "categories" else _rows_of(query, len(names))
    seeds = tuple({**first, **dict(zip(names, row, strict=True))} for row in rows)
    usual = {name: values[: min(2, len(values))] for name, values in choices.items()}
    others = tuple({name: values[i % len(values)] for name, values in usual.items()} for i in range(OTHERS))
    named = domain.input.columns is not None or query.groups is not None

    def prepare(found: Sequence[Row]) -> _mechanism.Prepared:
        columns = {name: [row[name] for row in found] for name in choices}
        if named or domain.forms[0] == "categories":
            schema = dict.fromkeys(names, pl.Float64) if domain.forms[0] == "numbers" else None
            data: Any = pl.DataFrame(columns, schema_overrides=schema, strict=False)
        else:
            data = np.array(list(columns.values()), dtype=float).T.reshape(len(found), len(columns))
        return _mechanism.prepare(plan, data)

    return Scene(plan, others, choices, (*_seeds(choices), *seeds), prepare, keys=keys)


def _own_choices(domain: Domain) -> dict[str, tuple[Any, ...]]:
    """What each column of a record is tried with: declared values, or ends of bounds and odd numbers."""
    columns, labels = domain.input.columns, domain.input.labels
    if domain.forms[0] == "categories":
        return {name: (*list(each)[:MAX_VALUES], None) for name, each in zip(columns or ("0",), labels, strict=True)}
    low, high = domain.centre - domain.radius, domain.centre + domain.radius
    names = list(map(str, range(_columns_of(domain)))) if columns is None else list(columns)
    ends = [(float(low[j]), float(high[j])) for j in range(len(names))]
    return {name: tuple(dict.fromkeys((*each, 3 * each[1] + 1, *ODD))) for name, each in zip(names, ends, strict=True)}


def _near(values: tuple[Any, ...], own: Any) -> Any:
    """A number close to the lower bound; anything else stays."""
    low, high = values[0], values[min(1, len(values) - 1)]
    both = isinstance(low, float) and isinstance(high, float)
    return low + 1e-3 * (high - low) if both else own


def _columns_of(domain: Domain) -> int:
    """How many numbers a record is read from: coordinates may be made of several."""
    return 1 + max(int(j) for i in range(domain.dimension) for j in domain.input.made_of(i))


def _rows_of(query: Any, width: int) -> list[list[float]]:
    """Records worth a try: along the directions that the lift stretches most, and records of an order or a list."""
    domain, lift = query.block.domain, query.block.shape.lift
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


# Neighbours for hypothesis: two tables that differ in one person, as awkward as a request allows. For your own tests.
#
#     @given(neighbours(request))
#     def test_my_pipeline(pair):
#         one, other = pair                     # polars frames; write(one, "one.csv") makes files of them
#         …
#
# Needs hypothesis: `pip install "gaussmith[audit]"`. This module alone does.

try:
    from hypothesis import strategies as st
except ImportError as error:  # pragma: no cover (in every environment for tests there is one)
    raise ImportError('gaussmith.audit.scenes needs hypothesis: pip install "gaussmith[audit]"') from error

WHOLE_IDS = (0, -1, 1, 17, 2**53 + 1, -(2**63), 2**63 - 1)
TEXT_IDS = ("a", "A", " a", "a ", "á", "a\u0301", "17", "017", "17.0", "-0", "", "null", "NaN", "\u200b", "x" * 300)
"""Ids that sloppy readers take for one another."""

SUFFIXES = (".csv", ".jsonl", ".parquet")


def neighbours(
    target: Request | Plan, others: int = 4, text_ids: bool = False
) -> st.SearchStrategy[tuple[pl.DataFrame, pl.DataFrame]]:
    """Pairs of tables that differ in one person: one more under add-remove, another under replace-one.

    Other people, at most so many, are drawn like the person: bounds and beyond, inf, NaN, missing values, declared and
    undeclared keys, few rows and many. With `text_ids` the ids of people are texts.
    """
    plan = target.plan if isinstance(target, Request) else target
    scene = scene_of(plan)
    schema = dict(made_up_table(plan, 2).schema)
    ids = TEXT_IDS if text_ids else WHOLE_IDS
    row = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in scene.choices.items()})

    def person(name: Any, least: int = 1) -> st.SearchStrategy[list[Row]]:
        if scene.unit is None:
            return st.lists(row, min_size=1, max_size=1)
        rows = st.lists(row, min_size=least, max_size=3 * scene.rows)
        return rows.map(lambda found: [{**each, scene.unit: name} for each in found])

    def table(found: list[Row]) -> pl.DataFrame:
        import polars as pl

        own: dict[str, Any] = {**schema, **({scene.unit: pl.String} if scene.unit is not None and text_ids else {})}
        return pl.DataFrame({name: [each[name] for each in found] for name in own}, schema=own, strict=False)

    @st.composite
    def pair(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
        names = draw(st.lists(st.sampled_from(ids), min_size=1, max_size=others + 1, unique=True))
        rest = [each for name in names[1:] for each in draw(person(name))]
        if scene.unit is not None and draw(st.booleans()):
            rest += draw(person(None))  # rows of nobody
        before = [] if plan.neighbours == ADD_REMOVE else draw(person(names[0]))
        after = draw(person(names[0]))
        at = draw(st.integers(0, len(rest)))
        return table(rest[:at] + before + rest[at:]), table(rest[:at] + after + rest[at:])

    return pair()


def write(frame: pl.DataFrame, path: str | Path) -> Path:
    """Write a table as .csv, .jsonl or .parquet, by the ending of the path."""
    path = Path(path)
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        raise ValueError(f"{path.suffix!r} is not one of {', '.join(SUFFIXES)}")
    return path
