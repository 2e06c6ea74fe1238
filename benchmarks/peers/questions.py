"""The jobs of several questions that `jobs.py` gives to every tool, and what each peer's script does with them.

Standard library only, because it also runs inside the environment of each peer. Every question is about people with
many rows: a person adds at most `width` to each of at most `most` groups. The tables have one row or more for a person
in each month, and one value of every other column for a person, so that all tools count the same.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from child import version

PERSON = "person"
ROWS_PER_MONTH = 2


@dataclass(frozen=True)
class Question:
    """The number of people, or the sum of one person's total of a column, for each key or for all people."""

    name: str
    column: str = ""
    """The column of the keys; without one there is one answer."""
    keys: tuple[object, ...] = ()
    most: int = 1
    """The number of keys that a person counts in."""
    total: str = ""
    """The column to sum; without one people are counted."""
    width: float = 1.0
    """What one person can change in an answer: the bound of a total, or 1."""
    where: str = ""
    """A column of 0 and 1 to filter by."""

    @property
    def answers(self) -> int:
        return max(1, len(self.keys))

    @property
    def need(self) -> float:
        """Its total squared error, relative to `width`, for round noise with the whole budget at μ = 1."""
        return float(self.answers * self.most)


JOBS: dict[str, tuple[Question, ...]] = {
    "counts by 12 months, sums by four regions and the number of people": (
        Question("months", "month", tuple(range(1, 13)), most=12),
        Question("regions", "region", ("north", "south", "east", "west"), total="spent", width=500.0),
        Question("people"),
    ),
    "histograms of 5, 4 and 3 values and the number of people": (
        Question("health", "health", tuple(range(5))),
        Question("work", "work", tuple(range(4))),
        Question("home", "home", tuple(range(3))),
        Question("people"),
    ),
    "ten filtered counts": tuple(Question(f"yes{i}", where=f"yes{i}") for i in range(10)),
}

CHECK = "sums and counts by 1000 areas"
"""Not compared: it has enough answers to tell whether the noise of a tool is as large as the tool states."""
AREAS = tuple(range(1000))
CHECKS = {CHECK: (Question("sums", "area", AREAS, total="spent", width=500.0), Question("counts", "area", AREAS))}

Release = Callable[[str, Sequence[Question], Sequence[float]], list[tuple[list[float], float]]]
"""From a Parquet file, questions and their weights in the budget: for every question its answers, in the order of its
keys, and the standard deviation of their noise that the tool itself states."""


def weigh(questions: Sequence[Question], power: float) -> list[float]:
    """Weights that sum to one. The power 0 is an equal split."""
    weights = [question.need**power for question in questions]
    return [weight / sum(weights) for weight in weights]


def measure(release: Release, power: float, *packages: str) -> None:
    """Print one JSON object: the stated errors, the answers of several releases, versions.

    Arguments: a Parquet file, the name of a job, "equal" or "weighted", and the seconds after which to stop.
    The power is the one that makes the total squared error smallest under the tool's rule of composition.
    """
    path, job, split, seconds = sys.argv[1], (JOBS | CHECKS)[sys.argv[2]], sys.argv[3], float(sys.argv[4])
    weights = weigh(job, 0.0 if split == "equal" else power)
    values, stated = [], []
    start = time.perf_counter()
    while not values or (len(values) < 200 and time.perf_counter() - start < seconds):
        answered = release(path, job, weights)
        values.append([value for answers, _ in answered for value in answers])
        stated = [error for answers, error in answered for _ in answers]
    print(json.dumps({"stated": stated, "values": values, "versions": {name: version(name) for name in packages}}))
