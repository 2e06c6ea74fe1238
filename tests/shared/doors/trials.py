"""Random pairs of neighbours through every door, and the table of what was found."""

from __future__ import annotations

import itertools
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from doors.asks import ASKS, Ask
from doors.comparison import INVALID_TEXT, Finding, compare, compare_engines, forgive
from doors.formats import FORMATS, ON_SPARK, Format
from doors.runs import RELEASED, Outcome, run
from doors.tables import Table, neighbours
from doors.values import BROKEN, IDS

COMMANDS, PEERS, TWINS, SCHEMAS = 0.15, 0.3, 0.1, 0.04
"""How often a pair also goes through the command line, another engine, another format, or has its columns compared."""

Change = Callable[[Table], Table]
Formats = dict[str, Format]


@dataclass(frozen=True)
class Combination:
    """One cell of the table."""

    format: str
    ids: str
    ask: str


@dataclass(frozen=True)
class Trial:
    """One pair of neighbours and what it showed. `seed` makes the same pair again."""

    combination: Combination
    seed: str
    finding: Finding
    ask: Ask = field(repr=False, default_factory=Ask)


def every_combination(formats: Iterable[str] = FORMATS) -> list[Combination]:
    return [Combination(*names) for names in itertools.product(formats, IDS, ASKS)]


def choose_combinations(count: int, generator: random.Random) -> Iterator[Combination]:
    """So many combinations in random order; each comes once before any comes again."""
    found: list[Combination] = []
    while len(found) < count:
        several = every_combination()
        generator.shuffle(several)
        found += several
    yield from found[:count]


def try_pair(
    combination: Combination,
    seed: str,
    folder: Path,
    change: Change | None = None,
    formats: Formats = FORMATS,
) -> Trial:
    """Write two neighbours in one format, release both, compare them. `change` plants a fault in what is written."""
    generator = random.Random(seed)
    form, ask = formats[combination.format], ASKS[combination.ask](generator)
    pair = neighbours(
        combination.ids,
        generator,
        form.identity,
        is_text=form.is_text,
        single=not ask.unit,
        replaced=ask.replaced,
    )
    adapted = tuple(form.adapt(table) for table in pair)
    nobody = ask.unit and _same_people(adapted, form)
    if change is not None:
        adapted = tuple(map(change, adapted))
    places = [folder / name for name in ("one", "other")]
    for place in places:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    sources = [form.write(table, place, ask.columns) for table, place in zip(adapted, places, strict=True)]
    by_command = form.is_file and not ask.pairs and generator.random() < COMMANDS
    one, other = (
        run(ask, source, place, form.engine, by_command) for source, place in zip(sources, places, strict=True)
    )
    finding = compare(one, other, same=nobody and not ask.replaced)
    more = list(_elsewhere(ask, form, adapted[0], sources[0], places[0], one, generator))
    if not ask.pairs and generator.random() < SCHEMAS:
        more += compare_schemas(sources, places, form)
    found = Finding(finding.status, finding.square, (*finding.problems, *more))
    limit = INVALID_TEXT if IDS[combination.ids].type == BROKEN and not form.is_text else None
    return Trial(combination, seed, forgive(found, limit), ask)


def _same_people(pair: tuple[Table, ...], form: Format) -> bool:
    """Whether two tables differ in rows of nobody only."""
    one, other = (
        Counter(repr(row) for row in table.rows if form.identity(table.types["person"], row["person"]) is not None)
        for table in pair
    )
    return one == other


def _elsewhere(
    ask: Ask, form: Format, table: Table, source: Any, place: Path, found: Outcome, generator: random.Random
) -> Iterator[str]:
    """The same table through another engine, and in another format of its family."""
    often = 1.0 if form.engine == "spark" else PEERS
    for engine in form.peers if not ask.pairs and generator.random() < often else ():
        for problem in compare_engines(found, run(ask, source, place, engine)):
            yield f"{problem} by {engine}"
    if form.family is None or found.status != RELEASED or generator.random() >= TWINS:
        return
    name = generator.choice([n for n, each in FORMATS.items() if each.family == form.family and each is not form])
    twin = FORMATS[name]
    beside = place / "twin"
    beside.mkdir()
    for problem in compare_engines(found, run(ask, twin.write(table, beside, ask.columns), beside, twin.engine)):
        yield f"{problem} as {name}"


def compare_schemas(sources: list[Any], places: list[Path], form: Format) -> list[str]:
    """Whether the columns and their types are the same: what is refused, and in which words, tells both."""
    wrong = [Ask({"sums": {name: (0, 1)}}) for name in ("nonesuch", "person", "region", "x", "y")]
    problems = []
    for each in wrong:
        one, other = (run(each, source, place, form.engine) for source, place in zip(sources, places, strict=True))
        if (one.status, one.said) != (other.status, other.said):
            problems.append(f"the schema differs: {one.said[:90]!r} against {other.said[:90]!r}")
    return problems


@dataclass
class Tally:
    """What all pairs of a run showed."""

    accepted: Counter[Combination] = field(default_factory=Counter)
    refused: Counter[Combination] = field(default_factory=Counter)
    violations: list[Trial] = field(default_factory=list)
    largest: Fraction = Fraction(0)

    def add(self, trial: Trial) -> None:
        finding = trial.finding
        (self.accepted if finding.status == RELEASED else self.refused)[trial.combination] += 1
        self.largest = max(self.largest, finding.square)
        if finding.problems:
            self.violations.append(trial)

    @property
    def pairs(self) -> int:
        return self.accepted.total() + self.refused.total()

    @property
    def empty(self) -> list[Combination]:
        """Combinations that no pair tried."""
        return [each for each in every_combination() if not self.accepted[each] + self.refused[each]]

    def lines(self) -> Iterator[str]:
        """For each format a table of ids by requests: accepted/refused pairs."""
        wide = max(map(len, IDS))
        for name in FORMATS:
            yield ""
            yield f"{name:<{wide}}  " + "  ".join(ASKS)
            for ids in IDS:
                cells = (Combination(name, ids, ask) for ask in ASKS)
                shown = (f"{self.accepted[c]}/{self.refused[c]}".rjust(len(c.ask)) for c in cells)
                yield f"{ids:<{wide}}  " + "  ".join(shown)


def try_spark(count: int, seed: str, folder: Path) -> list[Trial]:
    """So many random pairs on a session of Spark that runs already."""
    generator = random.Random(seed)
    # Folders as a frame of Spark would be typed by Spark, from the names of all of them.
    several = [each for each in every_combination(ON_SPARK) if each.ask != "pairs" or each.format == "Parquet by Spark"]
    # Pairs are opened by the caller as a frame of Spark, which cannot read times in nanoseconds at all.
    several = [each for each in several if (each.ask, each.ids) != ("pairs", "datetime ns")]
    chosen = generator.sample(several, min(count, len(several)))
    return [try_pair(each, f"{seed}:{i}", folder, formats=ON_SPARK) for i, each in enumerate(chosen)]


def try_pairs(count: int, seed: str, folder: Path, say: Callable[[Trial], None] = lambda trial: None) -> Tally:
    """So many random pairs; `say` is told each."""
    tally = Tally()
    generator = random.Random(seed)
    for number, combination in enumerate(choose_combinations(count, generator)):
        trial = try_pair(combination, f"{seed}:{number}", folder)
        tally.add(trial)
        say(trial)
    return tally
