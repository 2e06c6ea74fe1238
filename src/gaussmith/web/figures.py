"""What the right side of the page says of a plan: errors in full precision, and the words and numbers around them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from gaussmith.guarantee import Guarantee
from gaussmith.plans.error_distribution import normal_width
from gaussmith.plans.standard_gaussian import compare_pieces
from gaussmith.values import dataclass
from gaussmith.web.drafts import Draft
from gaussmith.words.blocks import RANKS
from gaussmith.words.keys import promise
from gaussmith.words.plans import held

if TYPE_CHECKING:
    from gaussmith.plans import Plan

MAX_ANSWERS = 120
"""Limit on the answers of a question that the page shows; the file of the plan holds all."""

MAX_COMPARED = 100
"""Limit on the pieces of a question that is compared with the standard Gaussian: each takes some time."""


@dataclass(frozen=True)
class Answer:
    """The error of one answer before any data is read. `over_n`: it is to be divided by the number of people."""

    name: str
    group: str
    error: float
    interval: float
    percent: float | None
    standard: float | None
    over_n: bool

    @property
    def ratio(self) -> float | None:
        return self.error / self.standard if self.standard else None


@dataclass(frozen=True)
class Table:
    """The answers of one question, and a sentence about its groups."""

    question: str
    told: str
    answers: tuple[Answer, ...]
    left_out: int
    counted: str = "people"
    """What the answer "count" counts: people or rows."""


def tables(plan: Plan, draft: Draft, rows: int | None) -> list[Table]:
    """The errors of a plan, one table for each question; the numbers are those of `gaussmith plan --json`."""
    return [_table(question, draft, rows) for question in plan]


def _table(question: Plan, draft: Draft, rows: int | None) -> Table:
    known = rows is not None or not question.any_divided
    errors = question.errors(rows) if known else dict(zip(question.names, question.standard_errors, strict=True))
    standard = _standard(question, rows if known else None)
    divided = {
        name
        for piece in question.pieces
        for name, each in zip(piece.names, piece.answers.divided.tolist(), strict=True)
        if each
    }
    typical = _typical(draft, rows)
    name = question.questions[0]

    def answer(answer: str, error: float, group: str = "") -> Answer:
        usual = typical.get(answer) or typical.get(f"={name}") or typical.get(answer.rpartition("_q")[0])
        percent = 100 * error / abs(usual) if usual and rows and error else None
        over = answer in divided and rows is None
        return Answer(answer, group, error, error * normal_width(0.95), percent, standard.get(answer), over)

    told, groups = "", question.groups
    if groups is not None:
        keys = (
            "Groups found in the data"
            if groups.is_found
            else "1 group"
            if groups.size == 1
            else f"{groups.size:,} groups"
        )
        keys += f" by {' and '.join(groups.columns)}"
        told = f"{keys}, each person in {held(question.draws[question.slot.draws[0]])}. Errors are those in one group."
    if any(piece.answers.any_inverted for piece in question.pieces):
        told = f"{told} {RANKS[0].upper()}{RANKS[1:]}.".strip()
    apart = groups is not None and any(piece.draw.by_weight for piece in question.pieces) and known
    if groups is not None and not groups.is_found and (apart or groups.size * len(errors) <= MAX_ANSWERS // 2):
        found = [
            answer(each, float(error), " · ".join(f"{c}={key}" for c, key in zip(groups.columns, label, strict=True)))
            for label, some in (question.errors_by_group(rows) if known else {}).items()
            for each, error in some.items()
        ] or [answer(each, float(error)) for each, error in errors.items()]
    else:
        found = [answer(str(each), float(error)) for each, error in errors.items()]
    count = next((part.count for part in draft.questions if part.name == name), "") or draft.count
    counted = "rows" if count == "rows" else "people"
    return Table(name, told, tuple(found[:MAX_ANSWERS]), max(0, len(found) - MAX_ANSWERS), counted)


def _standard(question: Plan, rows: int | None) -> dict[str, float]:
    """The standard Gaussian's errors by answer, as far as they are known and quick to find."""
    if len(question.pieces) > MAX_COMPARED:
        return {}
    return {each.name: each.standard for each in compare_pieces(question, rows, MAX_ANSWERS) if each.standard}


def _typical(draft: Draft, rows: int | None) -> dict[str, float]:
    """What answers would be if all values lay in the middle of their bounds: public, and only for percentages."""
    n = float(rows or 0)
    people = 0.0 if draft.is_over_rows else n  # the guess is about rows there
    found: dict[str, float] = {"count": n if draft.count == "rows" else people}
    for ask in draft.asks:
        try:
            low, high = float(ask.low), float(ask.high)
        except ValueError:
            low, high = 0.0, 0.0
        middle = (low + high) / 2 or (high - low) / 2
        column = ask.column
        found |= {f"{column}_sum": people * middle, f"{column}_mean": middle, f"{column}_median": people}
        found |= {f"{column}_variance": (high - low) ** 2 / 12, f"{column}_sd": (high - low) / math.sqrt(12)}
        if ask.kind == "quantiles":
            found[column] = people  # errors of quantiles are in ranks
        if ask.kind in ("histograms", "proportions"):
            found[f"={column}"] = people / max(1, ask.listed.count(",") + 1)
    return found


@dataclass(frozen=True)
class Meaning:
    """What the guarantee means."""

    promise: str
    protects: str
    stated: str
    chance: float


def meaning(plan: Plan) -> Meaning:
    """The guarantee in words; the chance is that of guessing right whether one person is in the data."""
    right = 50 * math.erfc(-plan.guarantee.mu / math.sqrt(8))
    told = promise(plan).partition(". Guessing")[0].rstrip(".") + "."
    return Meaning(told, plan.protects, str(plan.guarantee), right)


@lru_cache(maxsize=4096)
def mu_of(epsilon: float, delta: float) -> float:
    """μ of a guarantee; kept, because a curve asks for the same ones again."""
    return Guarantee(epsilon=epsilon, delta=delta).mu


def curve(plan: Plan, error: float) -> tuple[str, list[tuple[float, float]], tuple[float, float]]:
    """The error of one answer against ε (or μ): the sign, points, and where the plan is. Errors fall as 1/μ."""
    guarantee = plan.guarantee
    if guarantee.epsilon is None or guarantee.delta is None:
        return "μ", [(x, error * guarantee.mu / x) for x in _steps(guarantee.mu)], (guarantee.mu, error)
    delta = guarantee.delta
    points = [(x, error * guarantee.mu / mu_of(x, delta)) for x in _steps(guarantee.epsilon)]
    return "ε", points, (guarantee.epsilon, error)


def _steps(here: float) -> Iterator[float]:
    """Round numbers around `here`, a tenth to ten times as large, so that most of them were asked for before."""
    middle = round(8 * math.log10(here))
    return (float(f"{10 ** (k / 8):.3g}") for k in range(middle - 8, middle + 9))
