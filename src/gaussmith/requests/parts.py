"""The parts of questions: answers that are read from the same rows over one domain, and so from one draw.

    question ──parts_of──▶ parts ──merge──▶ parts that read the same rows together, each a draw

A statistic that leaves missing values out reads the rows in which its columns have a value: its part says which columns
must be `present`. All other answers over numbers are one part; each histogram is one.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from gaussmith.expressions.cuts import Cut
from gaussmith.plans import Slot
from gaussmith.requests.bins import cuts_of, plain_keys
from gaussmith.requests.question import Question
from gaussmith.statistics.asking import read_weights
from gaussmith.statistics.registry import STATISTICS, asked_by_field
from gaussmith.statistics.statistic import MOMENTS, NUMBERS, AskedAnswer
from gaussmith.values import dataclass

Key = tuple[str, Any, tuple[str, ...]]
"""What answers of one part have in common: how its domain is made, of what, and which columns must have a value."""

Within = tuple[tuple[AskedAnswer, tuple[float, float]], ...]


@dataclass(frozen=True, eq=False)
class Part:
    """Some answers of a question, and how rows are read for them; fields of the same name are those of `Question`.

    asked:    what is asked, in the order of the draw's answers
    over:     which of `plans.assembly.ASSEMBLIES` makes the domain
    present:  columns in which a row must have a value
    complete_by_type: columns that cannot be missing by their type, of those that would else have to be present
    within:   where means are stated to lie
    """

    asked: tuple[AskedAnswer, ...]
    over: str
    count: bool | str
    present: tuple[str, ...]
    weights: Any
    by: Any
    rows_per_unit: int | None
    groups_per_unit: int
    group_weights: Any
    values_per_unit: int
    mean_of: str
    where: str | None
    columns: tuple[tuple[str, str], ...]
    missing: Mapping[str, float]
    complete: tuple[str, ...] = ()
    complete_by_type: tuple[str, ...] = ()
    person_columns: tuple[tuple[str, str], ...] = ()
    within: Within = ()
    error_at_most: float | None = None
    key: Any = field(default=None, repr=False)
    """What answers over one domain have in common."""
    by_cuts: tuple[tuple[str, Cut], ...] = ()
    """The cells of columns of groups."""

    @property
    def is_filtered(self) -> bool:
        """Whether some rows may be left out."""
        return self.where is not None or bool(self.present)

    @property
    def limit(self) -> float | None:
        """The largest standard error allowed, where some answer has one that is known beforehand."""
        plain = self.count or any(not STATISTICS[asked.kind].divided for asked in self.asked)
        return self.error_at_most if plain else None

    def place_of(self, asked: AskedAnswer) -> list[int]:
        """Where the answers to this are in the draw."""
        start = sum(_size(each) for each in self.asked[: self.asked.index(asked)])
        return list(range(start, start + _size(asked)))

    @property
    def count_place(self) -> int:
        """Where the count is in the draw: after all that is asked."""
        return sum(map(_size, self.asked))

    @property
    def reading(self) -> Any:
        """What decides which rows are read, and how: parts that agree in it can be one draw."""
        return (
            self.over, self.key, self.present, self.weights, self.by, self.rows_per_unit, self.groups_per_unit,
            self.group_weights, self.mean_of, self.where, self.columns, self.person_columns, self.by_cuts,
        )  # fmt: skip


def _size(asked: AskedAnswer) -> int:
    return STATISTICS[asked.kind].size_of(asked)


def asked_of(question: Question) -> list[AskedAnswer]:
    """What a question asks for, in the order in which it is shown."""
    return [
        asked
        for name, known in asked_by_field().items()
        if getattr(question, name, None)
        for asked in known.asked(getattr(question, name))
    ]


def parts_of(question: Question, never_missing: Container[str] = ()) -> list[Part]:
    """The parts of a question. The count is in the first one that leaves out no rows for missing values.

    `never_missing` are columns of the source that cannot be missing by their type.
    """
    asked = asked_of(question)
    keys = [_domain_of(each, question, never_missing) for each in asked]
    if not question.by or (question.groups_per_unit or 1) == 1:  # groups of a person share their noise for means alone
        keys = _beside_moments(asked, keys)
    weights = _weights_of(question, asked)
    found = []
    counted = question.count
    for key in dict.fromkeys(keys):
        at = [i for i, other in enumerate(keys) if other == key]
        beside = all(STATISTICS[asked[i].kind].counts_beside for i in at)
        beside = beside and not (key[0] == MOMENTS and question.is_over_rows)  # what is counted there are rows
        counts = not key[2] and beside and counted
        part = _part(question, key, [asked[i] for i in at], _some(weights, at), counts or False)
        skipped = dict.fromkeys(name for i in at for name in present_for(asked[i], question))
        found.append(replace(part, complete_by_type=tuple(name for name in skipped if name not in key[2])))
        counted = False if counts else counted
    return [*found, count_alone(question, counted)] if counted else found


def _beside_moments(asked: Sequence[AskedAnswer], keys: Sequence[Key]) -> list[Key]:
    """The domains of answers, that of a mean being the one of second moments of its column where these are asked too.

    The mean needs no number that they do not need, and one person's value is the same in both.
    """
    found = list(keys)
    for i, each in enumerate(asked):
        if each.kind == "mean":
            moments = (j for j, key in enumerate(keys) if key[0] == MOMENTS and key[2] == keys[i][2])
            found[i] = next((keys[j] for j in moments if each.columns[0] in asked[j].columns), keys[i])
    return found


def count_alone(question: Question, count: bool | str) -> Part:
    """A part with nothing but the number of people or rows."""
    return _part(question, (NUMBERS, None, ()), [], _some(_weights_of(question, asked_of(question)), []), count)


def _domain_of(asked: AskedAnswer, question: Question, never_missing: Container[str]) -> Key:
    known = STATISTICS[asked.kind]
    present = tuple(name for name in present_for(asked, question) if name not in never_missing)
    return known.over, known.shares_domain(asked), present


def present_for(asked: AskedAnswer, question: Question) -> tuple[str, ...]:
    """The columns in which a row must have a value to be read for this, unless their type says that it has one."""
    known = STATISTICS[asked.kind]
    if not known.leaves_out(asked):
        return ()
    return tuple(sorted({name for name in known.columns_present(asked) if question.skips(name)}))


def never_missing_in(question: Question, source: Any) -> frozenset[str]:
    """The columns that cannot be missing by their type, of those of the source whose missing values are left out.

    The schema of a source that is at hand is read; no data value is. Of any other source none are known.
    """
    asked = {name for part in parts_of(question) for name in part.present} - {*question.columns}
    if not asked or question.person_columns:
        return frozenset()
    from gaussmith.engines.complete_columns import never_missing

    return never_missing(source, asked)


def _part(question: Question, key: tuple[Any, ...], asked: Sequence[AskedAnswer], weights: Any, count: Any) -> Part:
    over, common, present = key
    columns = {column.name for each in asked for column in each.columns}
    within = [(each, question.where_means_lie.get(each.columns[0].name)) for each in asked if each.kind == "mean"]
    return Part(
        tuple(asked),
        over,
        count,
        present,
        weights,
        plain_keys(question.by),
        question.rows_per_unit,
        question.groups_per_unit or 1,
        question.group_weights,
        question.values_per_unit or 1,
        question.mean_of,
        question.where,
        tuple(question.columns.items()),
        {column: value for column, value in question.missing.items() if column in columns},
        tuple(column for column in question.complete if column in columns),
        (),
        tuple(question.person_columns.items()),
        tuple((each, where) for each, where in within if where is not None),
        question.error_at_most,
        common,
        cuts_of(question.by),
    )


def _weights_of(question: Question, asked: Sequence[AskedAnswer]) -> Any:
    """Weights by rule, or for each number asked its own, by its place."""
    if isinstance(question.weights, str):
        return question.weights
    numbers = [i for i, each in enumerate(asked) if STATISTICS[each.kind].over == NUMBERS]
    given, _ = read_weights(question.weights, np.ones(len(numbers)), len(numbers))
    return dict(zip(numbers, given.tolist(), strict=True))


def _some(weights: Any, at: Sequence[int]) -> Any:
    return [weights.get(i, 1.0) for i in at] if isinstance(weights, dict) else weights


def merge(parts: Sequence[Part], apart: bool = False) -> list[list[int]]:
    """Which parts are one draw: those that read the same rows for the same domain; in order. `apart`: each is."""
    sets: list[list[int]] = []
    for i, part in enumerate(parts):
        alike = (members for members in sets if all(_alike(part, parts[j]) for j in members))
        members = None if apart else next(alike, None)
        if members is None:
            sets.append([i])
        else:
            members.append(i)
    return sets


def _alike(one: Part, other: Part) -> bool:
    """Whether two parts can be one draw: the same rows read alike, weights by rule, counts of one kind."""
    if one.over != NUMBERS or one.error_at_most or other.error_at_most or not isinstance(one.weights, str):
        return False
    if one.reading != other.reading or len({one.count, other.count} - {False}) > 1:
        return False
    shared = set.intersection(*({c.name for each in part.asked for c in each.columns} for part in (one, other)))
    promised = [{*part.complete, *part.complete_by_type} & shared for part in (one, other)]
    return all(one.missing.get(c) == other.missing.get(c) for c in shared) and promised[0] == promised[1]


def unite(parts: Sequence[Part]) -> Part:
    """One part that asks what all of them ask, each once, in the order in which one question would have it."""
    if len(parts) == 1:
        return parts[0]
    kinds = list(STATISTICS)
    asked = dict.fromkeys(each for part in parts for each in part.asked)
    promised = tuple(dict.fromkeys(column for part in parts for column in part.complete))
    by_type = [column for part in parts for column in part.complete_by_type]
    return replace(
        parts[0],
        asked=tuple(sorted(asked, key=lambda each: kinds.index(each.kind))),
        count=next((part.count for part in parts if part.count), False),
        missing={column: value for part in parts for column, value in part.missing.items()},
        complete=promised,
        complete_by_type=tuple(dict.fromkeys(name for name in by_type if name not in promised)),
        within=_widest(parts),
    )


def _widest(parts: Sequence[Part]) -> Within:
    """Where means lie that all parts about them state, as far as any says."""
    stated = [dict(part.within) for part in parts]
    found = []
    for asked in dict.fromkeys(each for own in stated for each in own):
        pairs = [own.get(asked) for part, own in zip(parts, stated, strict=True) if asked in part.asked]
        known = [pair for pair in pairs if pair is not None]
        if len(known) == len(pairs):
            found.append((asked, (min(low for low, _ in known), max(high for _, high in known))))
    return tuple(found)


def slot_of(question: Question, own: Sequence[Part], parts: Sequence[tuple[int, Part]]) -> Slot:
    """Where the answers of a question are; `parts` has for each of its own the draw, and all that is asked there."""
    places = []
    for asked in asked_of(question):
        k = next(k for k, part in enumerate(own) if asked in part.asked)
        places += [(parts[k][0], place) for place in parts[k][1].place_of(asked)]
    if question.count:
        k = next(k for k, part in enumerate(own) if part.count == question.count)
        places.append((parts[k][0], parts[k][1].count_place))
    return Slot.of(question.name, places)
