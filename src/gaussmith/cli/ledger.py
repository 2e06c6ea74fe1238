"""Create, show or verify the record of what was spent on a dataset.

init creates a ledger with a fixed budget; show lists every charge and what is
left; add charges a release that another tool made; verify recomputes
everything; upgrade converts a ledger of an older version.

examples:
  gaussmith ledger init study.ledger --epsilon 3 --delta 1e-6 \\
                        --keys-delta --dataset visits --unit person
  gaussmith ledger init counts.ledger --epsilon 3 --delta 1e-6 \\
                        --pure-epsilon 0.5
  gaussmith ledger show study.ledger --chart spending.svg
  gaussmith ledger add study.ledger --epsilon 0.5 --delta 1e-8 \\
                        --note "histogram by OpenDP, 2024-05"
  gaussmith ledger verify study.ledger --record out/release.json
"""

from __future__ import annotations

import json
from argparse import Namespace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.cli.flags import add_guarantee_flags, guarantee_from
from gaussmith.cli.parser import Parser, bold, number, wrapped
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError, nearest, printable, printable_json

if TYPE_CHECKING:
    from gaussmith.ledger.book import Ledger
    from gaussmith.privacy.guarantee import Guarantee

ACTIONS = ("init", "show", "add", "verify", "upgrade")
OF_ACTIONS = {
    "dataset": "init", "unit": "init", "each-row": "init", "keys-delta": "init", "pure-epsilon": "init",
    "chart": "show", "note": "add", "id": "add", "receipt": "verify", "record": "verify",
}  # fmt: skip
"""Flags that belong to a single action."""
A_TENTH = "a tenth of δ"
"""What --keys-delta stands for without a number."""

NO_KEYS = (
    "no δ is reserved for found groups: releases with --by-found, and those of other tools with a δ, cannot be charged "
    "to it; --keys-delta allows them, and can only be given when a ledger is created"
)
"""What is said of a ledger that was created without --keys-delta."""

NO_PURE = (
    "no ε is reserved for pure noise: releases of an epsilon without delta cannot be charged to it; --pure-epsilon "
    "allows them, and can only be given when a ledger is created"
)
"""What is said of a ledger that was created without --pure-epsilon."""

UNIT_BITS = 256
"""Charges are whole numbers of 2⁻²⁵⁶ (ledger.units)."""


def add_flags(parser: Parser) -> None:
    parser.add_argument("action", metavar="ACTION", help="init, show, add, verify or upgrade")
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
        help="init: the part of δ reserved for keys found in the data and for the δ of other tools (default: 0; "
        "without a number: a tenth of δ)",
    )
    parser.add_argument(
        "--pure-epsilon",
        metavar="E",
        help="init: the part of ε reserved for releases with pure noise, whose δ is 0 (default: 0, or all of an ε "
        "without --delta)",
    )
    parser.add_argument("--chart", metavar="FILE", help="show: write a chart of spending over time, .svg")
    parser.add_argument("--note", metavar="TEXT", help="add: what was released, by which tool; public")
    parser.add_argument("--id", metavar="ID", help="add: the same id is charged once")
    parser.add_argument(
        "--receipt", action="append", metavar="R", help="verify: a receipt kept elsewhere that the ledger must contain"
    )
    parser.add_argument(
        "--record", action="append", metavar="FILE", help="verify: a release.json that the ledger must contain"
    )


def run(arguments: Namespace) -> int:
    actions = {"init": _init, "show": _show, "add": _add, "verify": _verify, "upgrade": _upgrade}
    if arguments.action not in actions:
        what, rule = f"gaussmith ledger {without_secrets(arguments.action)}", "there is no such action"
        remedy = nearest(arguments.action, ACTIONS)
        raise RequestError(what, rule, remedy, code="unknown-ledger-action", action=without_secrets(arguments.action))
    for flag, action in OF_ACTIONS.items():
        if getattr(arguments, flag.replace("-", "_")) and arguments.action != action:
            what, rule = f"--{flag} with {arguments.action}", f"it is only for gaussmith ledger {action}"
            raise RequestError(
                what, rule, "leave it out", code="flag-of-another-ledger-action", flag=flag, action=arguments.action
            )
    if arguments.action not in ("init", "add") and any(
        getattr(arguments, n) for n in ("epsilon", "delta", "mu", "rho")
    ):
        what, rule = f"a guarantee with {arguments.action}", "it is only for gaussmith ledger init and add"
        raise RequestError(what, rule, "leave it out", code="guarantee-with-ledger-action", action=arguments.action)
    found, text = actions[arguments.action](arguments)
    print(printable_json(json.dumps(found, ensure_ascii=False)) if arguments.json else text)
    return 0


def _init(arguments: Namespace) -> tuple[dict[str, Any], str]:
    from gaussmith.ledger.book import Ledger
    from gaussmith.ledger.printing import describe_terms
    from gaussmith.ledger.protection import EACH_ROW

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
        pure_epsilon=0 if arguments.pure_epsilon is None else number("--pure-epsilon", arguments.pure_epsilon),
    )
    found = {**_document(ledger), "head": str(ledger.head)}
    budget, *terms = describe_terms(ledger)
    lines = [f"{bold(printable(ledger.where))} {budget}", *terms]
    lines += [wrapped(NO_KEYS)] if ledger.budget and not ledger.keys_delta else []
    lines += [] if ledger.pure_epsilon else [wrapped(NO_PURE)]
    return found, "\n".join([*lines, f"receipt {ledger.head}"])


def _keys_delta(text: str | None, guarantee: Guarantee) -> float:
    """What is reserved for found keys: nothing, a number, or a tenth of δ."""
    if text is None:
        return 0
    if text != A_TENTH:
        return number("--keys-delta", text)
    if guarantee.delta is None:
        what = "--keys-delta without a number, beside --mu or --rho"
        rule = "it stands for a tenth of δ, and no δ is stated"
        remedy = "write --keys-delta 1e-7, or state --epsilon and --delta"
        raise RequestError(what, rule, remedy, code="keys-delta-of-no-delta")
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
        "pure_epsilon": float(ledger.pure_epsilon),
    }


def _show(arguments: Namespace) -> tuple[dict[str, Any], str]:
    from gaussmith.ledger.book import Ledger
    from gaussmith.ledger.printing import part
    from gaussmith.ledger.units import stated_down

    ledger = Ledger(arguments.ledger)
    history = ledger.history()
    epsilon = ledger.remaining_epsilon
    found = {
        **_document(ledger),
        "left": ledger.left,
        "keys_left": part(ledger.keys_budget - ledger.keys_spent),
        "pure_left": stated_down(ledger.remaining_pure),
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
    from gaussmith.ledger.printing import charge_table, describe_left, describe_terms
    from gaussmith.report.tables import text_table

    lines = [bold(printable(ledger.where)), *describe_terms(ledger)]
    if history:
        header, rows = charge_table(ledger, history)
        lines += ["", text_table(header, rows, left=3), ""]
        if ledger.budget:
            lines.append("charges add up as μ², so that together they take less than ε + ε + …")
        if ledger.pure_epsilon:
            lines.append("the ε of pure noise adds up by itself")
    lines += [f"left: {describe_left(ledger, epsilon)}", f"head {ledger.head}"]
    return "\n".join(lines)


def _draw(history: list[dict[str, Any]], ledger: Ledger, file: str) -> None:
    from gaussmith.report.charts import STYLE, spending_picture

    said = without_secrets(file)
    if not file.endswith(".svg"):
        what, rule = f"--chart {said}", "a chart is an .svg file"
        raise RequestError(what, rule, f"write --chart {said}.svg", code="ledger-chart-not-svg", chart=said)
    svg = spending_picture(history, STYLE)
    try:
        Path(file).write_text(svg + "\n", encoding="utf-8")
    except OSError as error:
        rule, remedy = f"it cannot be written: {error.strerror}", "choose a path you can write to"
        raise RequestError(
            f"--chart {said}", rule, remedy, code="ledger-chart-not-written", reason=error.strerror, chart=said
        ) from None


def _add(arguments: Namespace) -> tuple[dict[str, Any], str]:
    """Charge a release that another tool made."""
    from gaussmith.ledger.book import Ledger
    from gaussmith.ledger.printing import describe_left, part
    from gaussmith.ledger.units import largest_pure
    from gaussmith.numerics.exact import sqrt_upward, stated_up

    if arguments.rho is not None:
        rule = "ρ-zCDP alone does not say which μ covers a release"
        remedy = "where its noise is Gaussian write --mu with the square root of 2 ρ, else its --epsilon and --delta"
        raise RequestError("--rho with add", rule, remedy, code="other-release-with-rho")
    given = {name: getattr(arguments, name) for name in ("epsilon", "delta", "mu")}
    stated = {name: number(f"--{name}", text) for name, text in given.items() if text is not None}
    ledger = Ledger(arguments.ledger)
    made = ledger.add(**stated, note=arguments.note or "", id=arguments.id)
    kappa, pure = part(made.keys_charge), stated_up(largest_pure(made.pure_charge))
    took = {"mu": sqrt_upward(Fraction(made.charge, 1 << UNIT_BITS)), "keys_delta": kappa, "pure_epsilon": pure}
    document = {**_document(ledger), "id": made.release_id, **took, "receipt": str(made.receipt)}
    charged = [f"pure ε = {pure:.4g}"] if pure else []
    charged += [f"μ = {took['mu']:.4g}"] if took["mu"] else []
    charged += [f"κ = {kappa:.4g}"] if kappa else []
    left = describe_left(ledger, ledger.remaining_epsilon)
    lines = [
        f"{bold(printable(made.release_id))}: a release of another tool, charged as {' and '.join(charged)}",
        f"left: {left}",
        f"receipt {made.receipt}",
    ]
    return document, "\n".join(lines)


def _verify(arguments: Namespace) -> tuple[dict[str, Any], str]:
    from gaussmith.ledger.book import Ledger
    from gaussmith.ledger.printing import describe_left, part
    from gaussmith.ledger.protection import describe_unit
    from gaussmith.ledger.units import stated_down

    ledger = Ledger(arguments.ledger)
    records = [_record(file) for file in arguments.record or ()]
    found = ledger.verify(expect_head=arguments.receipt, records=records)
    document = {
        "ledger": ledger.where,
        "head": str(found.head),
        "entries": found.entries,
        "releases": found.releases,
        "pending": list(found.pending),
        "left": ledger.left,
        "keys_left": part(found.keys_budget - found.keys_spent),
        "pure_left": stated_down(ledger.remaining_pure),
        "periods": found.periods,
        "unit": None if found.unit is None else list(found.unit),
        "software": found.software,
    }
    versions = ", ".join(f"{version} ({charges})" for version, charges in found.software.items()) or "none"
    lines = [
        f"{bold(printable(ledger.where))} is valid: every hash, charge, total and stored release was recomputed",
        f"entries {found.entries} · releases {found.releases} · pending {len(found.pending)}",
        f"unit: {'not set yet' if found.unit is None else printable(describe_unit(found.unit))}",
        f"charged by gaussmith {versions}",
        f"left: {describe_left(ledger, ledger.remaining_epsilon)}",
        f"head {found.head}",
    ]
    return document, "\n".join(lines)


def _upgrade(arguments: Namespace) -> tuple[dict[str, Any], str]:
    """Convert a ledger to the format that is written now."""
    from gaussmith.ledger.book import Ledger
    from gaussmith.ledger.pages import FORMAT
    from gaussmith.ledger.printing import describe_left

    ledger = Ledger.upgrade(arguments.ledger)
    lines = [
        f"{bold(printable(ledger.where))} has format {FORMAT}: every entry, receipt and stored release is as it was",
        f"left: {describe_left(ledger, ledger.remaining_epsilon)}",
        f"head {ledger.head}",
    ]
    return {**_document(ledger), "format": FORMAT, "head": str(ledger.head)}, "\n".join(lines)


def _record(file: str) -> bytes:
    try:
        return Path(file).read_bytes().removesuffix(b"\n")
    except OSError as error:
        what, rule = f"--record {without_secrets(file)}", f"it cannot be read: {error.strerror}"
        remedy = "name the release.json of a release"
        raise RequestError(
            what, rule, remedy, code="record-not-readable", reason=error.strerror, record=without_secrets(file)
        ) from None
