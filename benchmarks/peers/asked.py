"""The statistics that `statistics.py` asks of every tool, and what each peer's script does with them.

Standard library only, because it also runs inside the environment of each peer. The table holds the same people many
times, each time with another number in the column `copy`: a tool that answers by group, with nobody in two groups,
gives independent answers for every copy at the full guarantee, so that one query has an error for each copy.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable

from child import version

COPY = "copy"
COLUMNS = {"wage": (0.0, 100.0), "school": (0.0, 20.0), "age": (18.0, 68.0), "hours": (0.0, 60.0), "kids": (0.0, 8.0)}
FIRST = "wage"
AREAS = tuple(range(10))
VALUES = tuple(range(5))
DECILES = tuple(k / 10 for k in range(1, 10))
CANDIDATES = 4096
"""Equal parts of the bounds for those who need candidates for a quantile: so many that rounding to one is no matter."""
SPREAD = ("wage", "school", "age")
"""The columns of the three variances; the first is regressed on the others."""

JOBS = (
    "one count",
    "one sum",
    "one mean",
    "five sums",
    "five means",
    "a mean in each of 10 areas",
    "a histogram of 10 values",
    "shares of five values",
    "one median",
    "nine deciles",
    "one variance",
    "three variances",
    "a regression on two columns",
)

Answers = list[list[float]]
Ask = Callable[[str], Answers | None]
"""From the name of a job, the answers of every copy, in the order of the declared columns, keys and levels; None where
a tool does not have such a thing."""


def between(column: str, parts: int = CANDIDATES) -> list[float]:
    """Candidates for a quantile: equally far from each other."""
    low, high = COLUMNS[column]
    return [low + (high - low) * k / parts for k in range(parts + 1)]


def centred(total: float, squares: float, number: float) -> float:
    """A variance from noisy sums: none where the number is not above 0."""
    return squares / number - (total / number) ** 2 if number > 0 else float("nan")


def report(ways: Iterable[tuple[str, Ask]], *packages: str) -> None:
    """Print one JSON object: by way and job the answers, or why there are none; and versions."""
    wanted, answers, failed = json.loads(sys.argv[2]), {}, {}
    for way, ask in ways:
        for job in wanted:
            try:
                found = ask(job)
            except Exception as error:  # of a peer, whose own rules are not known here
                failed[f"{way}: {job}"] = f"it ended with {type(error).__name__}"
                print(f"{way}: {job}: {error}"[:400], file=sys.stderr)
                continue
            if found is not None:
                answers.setdefault(way, {})[job] = found
    told = {"answers": answers, "failed": failed, "versions": {name: version(name) for name in packages}}
    print(json.dumps(told))
