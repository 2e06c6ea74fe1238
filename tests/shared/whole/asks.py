"""Random small requests. Every question reads columns of its own, so that one person can be anything in each of them.

Question q has the columns x{q}a, x{q}b, … (numbers), f{q} (its filter), g{q} (its keys) or h{q} (its histogram).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gaussmith as gm

ALL, FILTER, GROUPS, HISTOGRAM = "all", "filter", "groups", "histogram"
KEYS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Asked:
    """One question: whom it is about, its sums and means with their bounds, and in how many groups one can be."""

    kind: str
    sums: dict[str, tuple[float, float]] = field(default_factory=dict)
    means: dict[str, tuple[float, float]] = field(default_factory=dict)
    count: bool = False
    groups: int = 1
    most: int = 1
    worth: tuple[float, ...] = ()
    """The weights of the groups, where they differ."""

    @property
    def columns(self) -> dict[str, tuple[float, float]]:
        return {**self.sums, **self.means}

    def question(self, q: int) -> dict[str, Any]:
        """The question as a request has it, number q."""
        said: dict[str, Any] = {"name": f"q{q}"}
        said |= {name: value for name in ("sums", "means", "count") if (value := getattr(self, name))}
        if self.kind == FILTER:
            said["where"] = f"f{q} == 1"
        if self.kind == GROUPS:
            said |= {"by": {f"g{q}": list(KEYS[: self.groups])}, "groups_per_unit": self.most}
        if self.worth:
            said["group_weights"] = dict(zip(KEYS, self.worth, strict=False))
        if self.kind == HISTOGRAM:
            said |= {"histograms": {f"h{q}": list(KEYS[: self.groups])}, "values_per_unit": self.most}
        return said


@dataclass(frozen=True)
class WholeAsk:
    """A request of several questions; without a unit each row is a person."""

    asked: tuple[Asked, ...]
    unit: bool
    neighbours: str
    weights: str = "relative"

    @property
    def people(self) -> int:
        """How many corners the body of one person has, those of a part times those of another."""
        return math.prod(count_corners(each) for each in self.asked)

    @property
    def answers(self) -> int:
        """How many different numbers a person adds."""
        found = sum(each.groups * (len(each.columns) + counts_own(each)) for each in self.asked)
        return found + any(each.count and each.kind in (ALL, HISTOGRAM) for each in self.asked)

    def request(self, mu: float = 1.0, source: Any = "people.parquet", **fields: Any) -> gm.Request:
        return gm.Request(
            source,
            questions=[complete(each.question(q)) for q, each in enumerate(self.asked)],
            unit="person" if self.unit else None,
            mean_of="units",
            guarantee=gm.Guarantee(mu=mu),
            neighbours=self.neighbours,
            weights=self.weights,
            **fields,
        )


def complete(question: dict[str, Any]) -> dict[str, Any]:
    """The question about columns that have a value in every row, so that nobody is left out of it."""
    asked = dict.fromkeys([*question.get("sums", {}), *question.get("means", {})])
    return {**question, "complete": [*asked]} if asked else question


@dataclass(frozen=True)
class Size:
    """Limits on random requests: corners of one person, answers, questions, groups, groups of one person, columns."""

    people: int = 200
    answers: int = 8
    questions: int = 4
    groups: int = 4
    most: int = 3
    columns: int = 2


SMALL = Size()
"""Everybody can be listed, and a cone solver finds the optimum."""

WIDE = Size(people=10**60, answers=120, questions=7, groups=12, most=12, columns=3)
"""As people ask; not everybody can be listed."""


def counts_own(asked: Asked) -> bool:
    """Whether a question needs the number of people in each of its groups."""
    return asked.kind == HISTOGRAM or (asked.kind != ALL and (asked.count or bool(asked.means)))


def count_corners(asked: Asked) -> int:
    """How many different vectors a person at bounds can add to a question."""
    corners = 2 ** len(asked.columns)
    if asked.kind == ALL:
        return corners
    return sum(math.comb(asked.groups, k) * corners**k for k in range(asked.most + 1))


def random_bounds(generator: random.Random, sizes: Sequence[float]) -> tuple[float, float]:
    """Around zero, from zero, off zero, all below it; of many sizes."""
    size = generator.choice(sizes) * generator.uniform(0.5, 2.0)
    low, high = generator.choice([(0.0, 1.0), (-1.0, 1.0), (-0.3, 1.0), (0.4, 1.0), (0.9, 1.0), (-1.0, -0.2)])
    return low * size, high * size


SIZES = {"relative": (1.0, 1.0, 10.0, 1e-3, 2e5), "equal": (1.0, 1.0, 3.0, 10.0)}
"""Of bounds; with equal weights a cone solver would lose the small ones beside large ones."""


def random_question(generator: random.Random, q: int, unit: bool, weights: str, size: Size) -> Asked:
    kind = generator.choice([ALL, FILTER, FILTER, GROUPS, GROUPS, HISTOGRAM])
    if kind == HISTOGRAM:
        groups = generator.randint(2, size.groups)
        most = generator.randint(1, min(size.most, groups)) if unit else 1
        return Asked(kind, groups=groups, most=most, count=generator.random() < 0.3)
    groups = generator.randint(2, size.groups) if kind == GROUPS else 1
    most = generator.randint(1, min(size.most, groups)) if unit and kind == GROUPS else 1
    names = [f"x{q}{letter}" for letter in KEYS[: generator.choice([0, 1, 1, size.columns])]]
    means = {name: random_bounds(generator, SIZES[weights]) for name in names if generator.random() < 0.4}
    sums = {name: random_bounds(generator, SIZES[weights]) for name in names if name not in means}
    return Asked(kind, sums, means, not names or generator.random() < 0.5, groups, most)


def random_ask(generator: random.Random, size: Size) -> WholeAsk:
    """One to a few questions of at most this size."""
    while True:
        unit, neighbours = generator.random() < 0.7, generator.choice(["add-remove", "add-remove", "replace-one"])
        weights = generator.choice(["relative", "relative", "equal"])
        questions = range(generator.randint(1, size.questions))
        asked = tuple(random_question(generator, q, unit, weights, size) for q in questions)
        found = WholeAsk(asked, unit, neighbours, weights)
        if neighbours == "replace-one" and not _allowed_replaced(found):
            continue
        limit = size.people if neighbours == "add-remove" else size.people // 4  # differences are of pairs
        if found.people <= limit and found.answers <= size.answers:
            return found


def random_worth(ask: WholeAsk, generator: random.Random) -> WholeAsk:
    """The same request with random weights for the groups of its questions."""
    asked = [
        replace(each, worth=tuple(generator.choice([1.0, 1.0, 2.0, 9.0, 0.3]) for _ in range(each.groups)))
        if each.kind == GROUPS
        else each
        for each in ask.asked
    ]
    return replace(ask, asked=tuple(asked))


def _allowed_replaced(ask: WholeAsk) -> bool:
    """Under replace-one the number of all people is public: something else is asked too."""
    return any(each.columns or each.kind != ALL for each in ask.asked)
