"""What the page of a ledger shows: entries, spending over time, and how many more releases fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaussmith.ledger.units import round_down
from gaussmith.report import clock
from gaussmith.values import dataclass
from gaussmith.web.pictures import budget_picture, spending_picture

if TYPE_CHECKING:
    from gaussmith.ledger import Ledger

MOST = 100
"""Limit on the releases that the rest is shared among."""


@dataclass(frozen=True)
class Spending:
    """A ledger in numbers and words. `each` is what every one of `more` further releases could have."""

    where: str
    dataset: str | None
    whole: str
    is_spent: bool
    left: float
    epsilon: float | None
    delta: float | None
    history: tuple[dict[str, Any], ...]
    picture: str
    bar: str
    more: int
    each: str
    like_last: int | None


def spending(book: Ledger, more: int) -> Spending:
    """The ledger, with what is left shared among some more releases."""
    history = book.history()
    rows = tuple({**row, "clock": clock(row["time"])} for row in reversed(history))
    spent = 1 - book.remaining / book.budget
    more = min(MOST, max(1, more))
    like_last = None
    if history and history[-1]["share"]:
        like_last = int(book.remaining / book.budget / history[-1]["share"] + 1e-9)
    return Spending(
        book.where, book.dataset, str(book.guarantee), book.is_spent, 100 * book.remaining / book.budget,
        book.remaining_epsilon, book.guarantee.delta, rows, spending_picture(history), budget_picture(0.0, spent),
        more, _each(book, more), like_last,
    )  # fmt: skip


def _each(book: Ledger, more: int) -> str:
    rest = book.remaining_guarantee
    if rest is None:
        return "nothing: the budget is spent"
    part = rest.split(more)[0]
    if book.guarantee.delta is None:
        return f"μ = {round_down(part.mu, 4):g} each"
    epsilon = part.epsilon_at(book.guarantee.delta)
    return f"ε = {round_down(epsilon, 4) if epsilon > 0 else 0:g} each, at δ = {book.guarantee.delta:g}"
