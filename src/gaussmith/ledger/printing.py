"""Ledgers in plain words and tables: what they are for, every charge, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gaussmith.errors import printable
from gaussmith.ledger.protection import describe_unit
from gaussmith.ledger.units import UNIT_BITS, is_pure, round_down
from gaussmith.numerics.exact import fraction_down
from gaussmith.report.tables import (
    MAX_ROWS,
    framed,
    heading,
    html_table,
    paragraph,
)

if TYPE_CHECKING:
    from gaussmith.ledger.book import Ledger


SPENT = "nothing: the budget is spent, and no further release fits"
BAR = 16


def describe_terms(ledger: Ledger) -> list[str]:
    """What a ledger was created for, in plain words, one item per line."""
    whole, lines = ledger.guarantee, [f"may spend {ledger.guarantee}"]
    parts = [f"ε = {float(ledger.pure_epsilon):g} is reserved for pure noise"] if ledger.pure_epsilon else []
    parts += [f"δ = {float(ledger.keys_delta):g} is reserved for keys found in the data"] if ledger.keys_delta else []
    if is_pure(whole):
        lines = [f"may spend ε = {whole.epsilon:g} with δ = 0, all of it for pure noise"]
    elif parts:
        budget = f"{lines[0]}; in addition,"
        if whole.epsilon is not None and whole.delta is not None:  # "that is μ" would be too much: κ has its part
            budget = f"may spend ε = {whole.epsilon:g} at δ = {whole.delta:g}, of which"
        lines = [f"{budget} {' and '.join(parts)}"]
    if ledger.dataset is not None:
        lines.append(f"only for the dataset {printable(ledger.dataset)}")
    unit = ledger.unit
    lines.append("unit: not set yet" if unit is None else f"unit: {printable(describe_unit(unit))}")
    return lines


def describe_left(ledger: Ledger, epsilon: float | None) -> str:
    """What is left, in one line. `epsilon` is the ledger's `remaining_epsilon`, which is slow to compute."""
    pure, noisy = ledger.remaining_pure, _left_of_noise(ledger, epsilon)
    if not noisy and not pure:
        return SPENT
    rest = noisy
    if ledger.pure_epsilon:
        of_pure = f"ε = {round_down(pure, 4):g}" if pure else "nothing"
        rest = f"{noisy or 'nothing for Gaussian noise'}; {of_pure} for pure noise"
        if not ledger.budget:
            rest = f"{100 * ledger.left:.3g} % of the budget, {of_pure} for pure noise"
    if ledger.keys_delta:
        keys = part(ledger.keys_budget - ledger.keys_spent)
        rest += f"; δ = {round_down(keys, 4) if keys > 0 else 0:g} for keys found in the data"
    return rest


def _left_of_noise(ledger: Ledger, epsilon: float | None) -> str:
    """What is left for Gaussian noise; empty where that is nothing."""
    rest = ledger.remaining_guarantee
    if rest is None or epsilon == 0:
        return ""
    said = f"{100 * ledger.left:.3g} % of the budget, one more release of "
    if epsilon is not None:
        return said + f"ε = {round_down(epsilon, 4):g} at δ = {ledger.guarantee.delta:g}"
    return said + f"μ = {round_down(rest.mu, 4):g}"


def part(units: int) -> float:
    """Units of κ as a probability, rounded down."""
    return fraction_down(Fraction(units, 1 << UNIT_BITS))


def charge_table(ledger: Ledger, history: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The header of the table of charges, and a row for each."""
    columns = {"μ": "mu", "ε": "epsilon"} if ledger.budget else {}
    columns |= {"pure ε": "pure_epsilon"} if ledger.pure_epsilon else {}
    columns |= {"κ": "keys_delta"} if ledger.keys_delta else {}
    header = ["time (UTC)", "release", "state", *columns, "share"]
    rows = [
        [
            datetime.fromtimestamp(row["time"], UTC).strftime("%Y-%m-%d %H:%M"),
            printable(str(row["id"])),
            row["state"],
            *(_amount(name, row) for name in columns.values()),
            f"{100 * row['share']:.3g} %",
        ]
        for row in history
    ]
    return [*header, "spent so far"], [
        [*cells, bar(row["spent"] - row["share"], row["spent"])] for cells, row in zip(rows, history, strict=True)
    ]


def _amount(name: str, row: dict[str, Any]) -> str:
    """One amount of a charge; empty where it took none of that."""
    if name == "keys_delta":
        return f"{row[name]:.3g}"
    return f"{row[name]:.4g}" if row[name] else ""


def bar(before: float, after: float) -> str:
    """A bar with what was spent before this release and by it, out of the whole budget.

    >>> bar(0.25, 0.5)
    '━━━━╸╸╸╸────────  50 %'
    """
    first, last = round(BAR * before), round(BAR * after)
    return f"{'━' * first}{'╸' * (last - first)}{'─' * (BAR - last)} {100 * after:3.0f} %"


def ledger_html(ledger: Ledger) -> str:
    """A ledger for a notebook: its terms, what is left, and its latest charges."""
    history = ledger.history()
    header, rows = charge_table(ledger, history[-MAX_ROWS:])
    cells = [[*row[:-1], f"{100 * each['spent']:.3g} %"] for row, each in zip(rows, history[-MAX_ROWS:], strict=True)]
    left = describe_left(ledger, ledger.remaining_epsilon)
    earlier = len(history) - len(rows)
    body = "".join(paragraph(line) for line in describe_terms(ledger)) + paragraph(f"left: {left}", left == SPENT)
    if rows:
        foot = [f"… and {earlier:,} earlier charges: ledger.history()"] if earlier else []
        body += html_table(header, cells, foot, left=3)
    return framed(heading(f"Ledger {ledger.where}") + body)
