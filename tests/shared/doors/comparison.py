"""Two outcomes of neighbours, compared: the difference of their integers, exactly, and all that can be seen else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from doors.asks import GUARANTEE
from doors.noise import FoundDraw, Query
from doors.runs import CRASHED, FAILED, RELEASED, Outcome

INVALID_TEXT = "invalid UTF-8 in a text column of a typed format"

LIMITS: dict[str, str] = {
    INVALID_TEXT: "A Parquet or Arrow IPC file with invalid UTF-8 in a text column that is used cannot be read to its "
    "end, and nothing is released: there one record decides whether there is a release"
}
"""Limits that the project states, each with its sentence in SECURITY.md: what meets one may be refused, or fail."""

FORGIVEN = ("the release failed", "the acceptance", "the exit code", "the words", "the schema", "failed:")
SAID = "the printed text"
"""Forgiven where one of two releases failed by a stated limit, which the command line then says as an error."""


@dataclass(frozen=True)
class Finding:
    """What a pair of neighbours showed. `square` is the squared ratio of their difference to what is charged."""

    status: str
    square: Fraction
    problems: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """For people; every decision is made on `square`."""
        return math.sqrt(self.square)


def square_of(one: tuple[Query | FoundDraw, ...], other: tuple[Query | FoundDraw, ...]) -> Fraction:
    """(‖ΔY‖ / charge)² over all queries of two releases, exactly.

        Σ ‖Y − Y′‖² / 2^2p  ≤  μ²

    where 2^p is the standard deviation that reached the query. At most 1 for neighbours under the guarantee.
    """
    total = Fraction(0)
    for a, b in zip(one, other, strict=True):
        if isinstance(a, FoundDraw):
            total += Fraction(_square_by_key(a, b), min(a.deviation, b.deviation) ** 2)
            continue
        square = sum((y - z) ** 2 for y, z in zip(a.lifted, b.lifted, strict=True))
        total += Fraction(square, min(a.deviation, b.deviation) ** 2) if square else 0
    return total / Fraction(GUARANTEE.mu) ** 2


def _square_by_key(one: FoundDraw, other: FoundDraw) -> int:
    """‖ΔY‖² over all keys; a key that one of them has not is a key of nobody there."""
    total = 0
    for key in {*one.by_key, *other.by_key}:
        found = one.by_key.get(key), other.by_key.get(key)
        zeros = (0,) * len(next(each for each in found if each is not None))
        a, b = (zeros if each is None else each for each in found)
        total += sum((y - z) ** 2 for y, z in zip(a, b, strict=True))
    return total


def compare(one: Outcome, other: Outcome, same: bool = False) -> Finding:
    """What two neighbours show; with `same` their integers must be equal, as for rows of nobody."""
    problems = []
    for outcome in (one, other):
        if outcome.status == CRASHED:
            problems.append(f"an error that is not ours: {outcome.said}")
        if outcome.status == FAILED:
            problems.append("the release failed after the data was opened")
    for what, a, b in (
        ("acceptance", one.status, other.status),
        ("exit code", one.exit_code, other.exit_code),
        ("record" if one.status == other.status == RELEASED else "words", one.said, other.said),
        ("printed text", one.printed, other.printed),
        ("warnings", one.warned, other.warned),
    ):
        if a != b:
            problems.append(f"the {what} differs: {_difference(str(a), str(b))}")
    square = Fraction(0)
    if one.status == other.status == RELEASED:
        problems += noise_problems(one.queries) + noise_problems(other.queries)
        if [len(query.lifted) for query in one.queries] != [len(query.lifted) for query in other.queries]:
            problems.append("the number of noisy integers differs")
        elif not problems:
            square = square_of(one.queries, other.queries)
            if square > 1:
                problems.append(f"ratio {math.sqrt(square):.3f} is above 1")
            if same and square > 0:
                problems.append("rows of nobody change the integers")
    return Finding(one.status if one.status == other.status else "unlike", square, tuple(dict.fromkeys(problems)))


def compare_engines(one: Outcome, other: Outcome) -> tuple[str, ...]:
    """Problems of two engines or formats that read the same table: their integers are equal, if both accept it."""
    if one.status == other.status == RELEASED:
        if _integers(one) != _integers(other):
            return ("other integers",)
        return ()
    broken = [each for each in (one, other) if each.status in (CRASHED, FAILED)]
    return tuple(f"{each.status}: {each.said}" for each in broken)


def _integers(outcome: Outcome) -> tuple[list[int], list[object]]:
    """All integers below the noise in their order, and those of found keys by key.

    Where one query ends is left out: one engine lifts all groups at once, another one group after the other.
    """
    lifted = [y for query in outcome.queries for y in query.lifted]
    return lifted, [query.by_key for query in outcome.queries if isinstance(query, FoundDraw)]


def forgive(finding: Finding, limit: str | None) -> Finding:
    """A finding without the problems that a stated limit allows; that it is within the charge, no limit lifts."""
    if limit not in LIMITS:
        return finding
    forgiven = (*FORGIVEN, SAID) if finding.status == "unlike" else FORGIVEN
    kept = (each for each in finding.problems if not each.startswith(forgiven) and " and not released" not in each)
    return Finding(finding.status, finding.square, tuple(kept))


def noise_problems(queries: tuple[Query | FoundDraw, ...]) -> list[str]:
    """What is wrong with the noise of one release: none at all, or some of it used twice."""
    noise = [z for query in queries for z in query.noise]
    found = any(isinstance(query, FoundDraw) for query in queries)  # groups that are not shown tell no noise
    if not (noise or found) or not all(query.deviation for query in queries):
        return ["integers are released without noise"]
    return [] if len(set(noise)) == len(noise) else ["noise is used twice"]


def _difference(one: str, other: str) -> str:
    """The first place where two texts differ, with a little around it."""
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, at - 30)
    return f"{one[start : at + 90]!r} against {other[start : at + 90]!r}"
