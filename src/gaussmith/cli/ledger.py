"""Create, show or verify the record of what was spent on a dataset.

init creates a ledger with a fixed budget; show lists every charge and what is
left; verify recomputes everything.

examples:
  gaussmith ledger init study.ledger --epsilon 3 --delta 1e-6 \\
                        --dataset visits --unit person
  gaussmith ledger show study.ledger --chart spending.svg
  gaussmith ledger verify study.ledger --record out/release.json
"""

from __future__ import annotations

import json
from argparse import Namespace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.cli.flags import add_guarantee_flags, guarantee_from
from gaussmith.cli.parser import Parser, number
from gaussmith.cli.terminal import bold
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError, nearest
from gaussmith.numerics.exact import fraction_down
from gaussmith.texts import printable, printable_json

if TYPE_CHECKING:
    from gaussmith.guarantee import Guarantee
    from gaussmith.ledger import Ledger

ACTIONS = ("init", "show", "verify")
OF_ACTIONS = {
    "dataset": "init", "unit": "init", "each-row": "init", "keys-delta": "init",
    "chart": "show", "receipt": "verify", "record": "verify",
}  # fmt: skip
"""Flags that belong to a single action."""
A_TENTH = "a tenth of δ"
"""What --keys-delta stands for without a number."""

BAR = 16


def add_flags(parser: Parser) -> None:
    parser.add_argument("action", metavar="ACTION", help="init, show or verify")
    parser.add_argument("ledger", metavar="LEDGER", help="a file, or postgresql://…")
    add_guarantee_flags(parser)
    parser.add_argument("--dataset", metavar="NAME", help="init: the only dataset that may be charged")
    parser.add_argument(
        "--unit", action="append", metavar="NAME", help="init: the column that identifies the person in every release"
    )
    parser.add_argument("--each-row", action="store_true", help="init: each row is one person in every release")
    parser.add_argument(
        "--keys-delta",
        nargs="?",
        const=A_TENTH,
        metavar="D",
        help="init: the part of δ reserved for keys found in the data (default: 0; without a number: a tenth of δ)",
    )
    parser.add_argument("--chart", metavar="FILE", help="show: write a chart of spending over time, .svg")
    parser.add_argument(
        "--receipt", action="append", metavar="R", help="verify: a receipt kept elsewhere that the ledger must contain"
    )
    parser.add_argument(
        "--record", action="append", metavar="FILE", help="verify: a release.json that the ledger must contain"
    )


def run(arguments: Namespace) -> int:
    actions = {"init": _init, "show": _show, "verify": _verify}
    if arguments.action not in actions:
        raise RequestError(
            f"gaussmith ledger {without_secrets(arguments.action)}",
            "there is no such action",
            nearest(arguments.action, ACTIONS),
            code="unknown-ledger-action",
            action=without_secrets(arguments.action),
        )
    for flag, action in OF_ACTIONS.items():
        if getattr(arguments, flag.replace("-", "_")) and arguments.action != action:
            raise RequestError(
                f"--{flag} with {arguments.action}",
                f"it is only for gaussmith ledger {action}",
                "leave it out",
                code="flag-of-another-ledger-action",
                flag=flag,
                action=arguments.action,
            )
    if arguments.action != "init" and any(getattr(arguments, n) for n in ("epsilon", "delta", "mu", "rho")):
        what, rule = f"a guarantee with {arguments.action}", "it is only for gaussmith ledger init"
        raise RequestError(what, rule, "leave it out", code="guarantee-with-ledger-action", action=arguments.action)
    found, text = actions[arguments.action](arguments)
    print(printable_json(json.dumps(found, ensure_ascii=False)) if arguments.json else text)
    return 0


def _init(arguments: Namespace) -> tuple[dict[str, Any], str]:
    from gaussmith.ledger import EACH_ROW, Ledger

    if arguments.unit and arguments.each_row:
        raise RequestError(
            "--unit and --each-row", "both say what a person is", "leave one out", code="unit-beside-each-row"
        )
    unit = EACH_ROW if arguments.each_row else arguments.unit
    guarantee = guarantee_from(arguments)
    ledger = Ledger.create(
        arguments.ledger,
        guarantee,
        arguments.dataset,
        unit=unit,
        keys_delta=_keys_delta(arguments.keys_delta, guarantee),
    )
    found = {**_document(ledger), "head": str(ledger.head)}
    budget, *terms = _terms(ledger)
    return found, "\n".join([f"{bold(printable(ledger.where))} {budget}", *terms, f"receipt {ledger.head}"])


def _keys_delta(text: str | None, guarantee: Guarantee) -> float:
    """What is reserved for found keys: nothing, a number, or a tenth of δ."""
    if text is None:
        return 0
    if text != A_TENTH:
        return number("--keys-delta", text)
    if guarantee.delta is None:
        raise RequestError(
            "--keys-delta without a number, beside --mu or --rho",
            "it stands for a tenth of δ, and no δ is stated",
            "write --keys-delta 1e-7, or state --epsilon and --delta",
            code="keys-delta-of-no-delta",
        )
    return float(f"{guarantee.delta / 10:.12g}")  # the number that a request would state: 1e-7 of 1e-6


def _document(ledger: Ledger) -> dict[str, Any]:
    """What a ledger was created for, as a document."""
    unit = ledger.unit
    return {
        "ledger": ledger.where,
        "dataset": ledger.dataset,
        "unit": None if unit is None else list(unit),
        "guarantee": ledger.guarantee.to_dict(),
        "keys_delta": float(ledger.keys_delta),
    }


def _terms(ledger: Ledger) -> list[str]:
    """What a ledger was created for, in plain words, one item per line."""
    from gaussmith.ledger.protection import describe_unit

    whole, lines = ledger.guarantee, [f"may spend {ledger.guarantee}"]
    if ledger.keys_delta:
        budget = f"{lines[0]}; in addition,"
        if whole.epsilon is not None and whole.delta is not None:  # "that is μ" would be too much: κ has its part
            budget = f"may spend ε = {whole.epsilon:g} at δ = {whole.delta:g}, of which"
        lines = [f"{budget} δ = {float(ledger.keys_delta):g} is reserved for keys found in the data"]
    if ledger.dataset is not None:
        lines.append(f"only for the dataset {printable(ledger.dataset)}")
    unit = ledger.unit
    lines.append("unit: not set yet" if unit is None else f"unit: {printable(describe_unit(unit))}")
    return lines


def _show(arguments: Namespace) -> tuple[dict[str, Any], str]:
    from gaussmith.ledger import Ledger

    ledger = Ledger(arguments.ledger)
    history = ledger.history()
    epsilon = ledger.remaining_epsilon
    found = {
        **_document(ledger),
        "left": ledger.remaining / ledger.budget,
        "keys_left": _part(ledger.keys_budget - ledger.keys_spent),
        "remaining_epsilon": epsilon,
        "remaining_mu": None if ledger.remaining_guarantee is None else ledger.remaining_guarantee.mu,
        "head": str(ledger.head),
        "releases": history,
    }
    text = _text(ledger, history, epsilon)
    if arguments.chart:
        _draw(history, ledger, arguments.chart)
        text += f"\n\nWritten to {arguments.chart}"
    return found, text


def _text(ledger: Ledger, history: list[dict[str, Any]], epsilon: float | None) -> str:
    from gaussmith.report import clock
    from gaussmith.words.tables import text_table

    lines = [bold(printable(ledger.where)), *_terms(ledger)]
    rows = [
        (
            clock(row["time"])[:16],
            printable(str(row["id"])),
            row["state"],
            f"{row['mu']:.4g}",
            "" if row["epsilon"] is None else f"{row['epsilon']:.4g}",
            *([f"{row['keys_delta']:.3g}"] if ledger.keys_delta else []),
            f"{100 * row['share']:.3g} %",
            bar(row["spent"] - row["share"], row["spent"]),
        )
        for row in history
    ]
    if rows:
        kappa = ["κ"] if ledger.keys_delta else []
        header = ("time (UTC)", "release", "state", "μ", "ε", *kappa, "share", "spent so far")
        lines += ["", text_table(header, rows, left=3), ""]
    lines += [f"left: {describe_left(ledger, epsilon)}", f"head {ledger.head}"]
    return "\n".join(lines)


def describe_left(ledger: Ledger, epsilon: float | None) -> str:
    """What is left, in one line. `epsilon` is the ledger's `remaining_epsilon`, which is slow to compute."""
    from gaussmith.ledger.units import round_down

    rest = f"{100 * ledger.remaining / ledger.budget:.3g} % of the budget"
    if epsilon is not None:
        shown = round_down(epsilon, 4) if epsilon > 0 else 0.0
        rest += f", one more release of ε = {shown:g} at δ = {ledger.guarantee.delta:g}"
    elif ledger.remaining_guarantee is not None:
        rest += f", one more release of μ = {round_down(ledger.remaining_guarantee.mu, 4):g}"
    if ledger.keys_delta:
        keys = _part(ledger.keys_budget - ledger.keys_spent)
        rest += f"; δ = {round_down(keys, 4) if keys > 0 else 0:g} for keys found in the data"
    return rest


def bar(before: float, after: float) -> str:
    """A bar with what was spent before this release and by it, out of the whole budget.

    >>> bar(0.25, 0.5)
    '━━━━╸╸╸╸────────  50 %'
    """
    first, last = round(BAR * before), round(BAR * after)
    return f"{'━' * first}{'╸' * (last - first)}{'─' * (BAR - last)} {100 * after:3.0f} %"


def _draw(history: list[dict[str, Any]], ledger: Ledger, file: str) -> None:
    from gaussmith.report import draw, spending_spec

    said = without_secrets(file)
    if not file.endswith(".svg"):
        what, rule = f"--chart {said}", "a chart is an .svg file"
        raise RequestError(what, rule, f"write --chart {said}.svg", code="ledger-chart-not-svg", chart=said)
    svg = draw(spending_spec(history), "The share of the budget spent so far, over time.")
    try:
        Path(file).write_text(svg + "\n", encoding="utf-8")
    except OSError as error:
        rule, remedy = f"it cannot be written: {error.strerror}", "choose a path you can write to"
        raise RequestError(
            f"--chart {said}", rule, remedy, code="ledger-chart-not-written", reason=error.strerror, chart=said
        ) from None


def _part(units: int) -> float:
    """Units of κ as a probability, rounded down."""
    from gaussmith.ledger.units import UNIT_BITS

    return fraction_down(Fraction(units, 1 << UNIT_BITS))


def _verify(arguments: Namespace) -> tuple[dict[str, Any], str]:
    from gaussmith.ledger import Ledger
    from gaussmith.ledger.protection import describe_unit

    ledger = Ledger(arguments.ledger)
    records = [_record(file) for file in arguments.record or ()]
    found = ledger.verify(expect_head=arguments.receipt, records=records)
    document = {
        "ledger": ledger.where,
        "head": str(found.head),
        "entries": found.entries,
        "releases": found.releases,
        "pending": list(found.pending),
        "left": (found.budget - found.spent) / found.budget,
        "keys_left": _part(found.keys_budget - found.keys_spent),
        "unit": None if found.unit is None else list(found.unit),
        "software": found.software,
    }
    versions = ", ".join(f"{version} ({charges})" for version, charges in found.software.items()) or "none"
    lines = [
        f"{bold(printable(ledger.where))} is valid: every hash, charge, total and stored release was recomputed",
        f"entries {found.entries} · releases {found.releases} · pending {len(found.pending)}",
        f"unit: {'not set yet' if found.unit is None else printable(describe_unit(found.unit))}",
        f"charged by gaussmith {versions}",
        f"head {found.head}",
    ]
    return document, "\n".join(lines)


def _record(file: str) -> bytes:
    try:
        return Path(file).read_bytes().removesuffix(b"\n")
    except OSError as error:
        raise RequestError(
            f"--record {without_secrets(file)}",
            f"it cannot be read: {error.strerror}",
            "name the release.json of a release",
            code="record-not-readable",
            reason=error.strerror,
            record=without_secrets(file),
        ) from None
