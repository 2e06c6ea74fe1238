"""The errors of a release, before any data is touched.

REQUEST is a .toml file, a data file, or nothing. If the data is on this
machine, column names and types are checked; no value is read. With --ledger,
also shows what the release would leave; nothing is charged.

examples:
  gaussmith plan --sum income:0:200000 --mean age:0:100 --count \\
                 --epsilon 1 --delta 1e-6 --rows 10000
  gaussmith plan request.toml --ledger study.ledger
  gaussmith plan request.toml --save plan.json --certificate proof.json
  gaussmith plan --mean age:0:100 --delta 1e-6 --rows 10000 \\
                 --target age_mean=0.5

With --target the least ε is found at which no standard error exceeds its
target (at the stated δ; or the least μ or ρ), and the plan is made with it.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.cli.flags import add_request_flags, request_from, rows_from, targets_from
from gaussmith.cli.parser import Parser, bold, number, wrapped
from gaussmith.cli.saved_requests import add_save_flag, hints_for, save_request
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError, printable, printable_json

if TYPE_CHECKING:
    from gaussmith.ledger.book import Ledger, Outlook
    from gaussmith.planning.plan import Plan
    from gaussmith.planning.row_rule import RowRule
    from gaussmith.privacy.guarantee import Guarantee
    from gaussmith.requests.request import Request


def add_flags(parser: Parser) -> None:
    parser.add_argument("request", nargs="*", metavar="REQUEST", help="a .toml file, or a data file")
    add_request_flags(parser)
    add_save_flag(parser)
    parser.add_argument(
        "--target",
        metavar="NAME=ERROR",
        action="append",
        help="find the least ε for which the standard error of NAME is at most ERROR; may be given several times",
    )
    parser.add_argument("--rows", metavar="N", help="an estimate of the number of rows (or people) that means are over")
    parser.add_argument(
        "--ledger", metavar="L", help="show what this release would leave in a ledger; nothing is charged"
    )
    parser.add_argument("--save", metavar="FILE", help="write the plan as JSON")
    parser.add_argument(
        "--certificate", metavar="FILE", help="write a proof of how close to optimal it is, for others to check"
    )
    parser.add_argument("--all", action="store_true", help="print the error of every answer, not only of the first")


def run(arguments: Namespace) -> int:
    from gaussmith.pipeline.release import ledger_unit, open_ledger, read_schema, source_name

    rows, targets = rows_from(arguments.rows), targets_from(arguments.target)
    request = request_from(arguments, arguments.request, False, _starting_guarantee(arguments) if targets else None)
    if targets:
        request = replace(request, guarantee=request.guarantee_for(targets, rows))
    plan = request.plan
    row_rules = read_schema(request) if arguments.request else tuple(query.row_rule for query in plan.queries)
    book = open_ledger(arguments.ledger, None)
    if book is not None:
        if arguments.request:
            book.check_dataset(source_name(request.source))
        book.check_protection(plan.neighbours, ledger_unit(request.unit))
    save_request(arguments, arguments.request, request)
    _save_all(plan, {"--save": arguments.save, "--certificate": arguments.certificate})
    if arguments.json:
        plain = book is None and rows is None and not targets
        print(printable_json(plan.to_json() if plain else _document(plan, rows, book)))
        return 0
    if targets:
        print(wrapped(_describe_targets(targets, plan.guarantee)) + "\n")
    _print_plan(request, rows, row_rules, arguments.all)
    if book is not None:
        outlook = book.afford(plan.spends, plan.keys_delta)  # refuses, with the plan already shown
        print("\n" + bold(f"In {printable(book.where)}"))
        print(wrapped(describe_outlook(outlook, book)))
    for file in filter(None, (arguments.save, arguments.certificate)):
        print(f"\nSaved to {printable(without_secrets(file))}")
    return 0


def _print_plan(request: Request, rows: int | None, row_rules: Sequence[RowRule | None] | None, every: bool) -> None:
    """Print the plan; `row_rules` are those of the source, None where it is not on this machine."""
    from gaussmith.pipeline.release import source_name
    from gaussmith.planning.answer_notes import notes_on, told_of
    from gaussmith.report.plans import plan_text
    from gaussmith.report.tables import MAX_ROWS, explain_choice

    plan = request.plan
    print(hints_for(request), end="")
    print(plan_text(plan, rows, sys.maxsize if every else MAX_ROWS, rest_in="--all prints them"))
    told = row_rules or [query.row_rule for query in plan.queries]
    if len(plan) == 1:
        notes = notes_on([told_of(piece, told[piece.slot.query]) for piece in plan.pieces])
        print(wrapped("\n".join(map(printable, notes))))
    cost = request.cost_of_missing()
    if cost > 1.005:
        print(wrapped(
            f"leaving out missing values makes the total squared error {cost:.3g} times as large as it would be "
            "for columns promised to have a value in every row (complete)"
        ))  # fmt: skip
    if row_rules is None:
        print(wrapped(f"columns were not checked: {printable(source_name(request.source))} is not on this machine"))
    print("\n" + bold("Why this noise"))
    plain = len(plan) == 1 and plan.groups is None and len(plan.pieces) == 1
    print(wrapped(explain_choice(plan.block) if plain else plan.explain()), flush=True)


def _starting_guarantee(arguments: Namespace) -> Guarantee | None:
    """Where the search for the least ε begins if the flags state δ alone; None where they state it all."""
    from gaussmith.privacy.guarantee import Guarantee

    if arguments.delta is None or arguments.epsilon is not None:
        return None
    return Guarantee(epsilon=1, delta=number("--delta", arguments.delta))


def _describe_targets(targets: Mapping[str, float], guarantee: Guarantee) -> str:
    """The least guarantee that keeps the targets, in plain words."""
    kept = ", ".join(f"{printable(name)} ± {target:g}" for name, target in targets.items())
    return f"Least guarantee for standard errors of at most {kept}: {guarantee}."


def describe_outlook(outlook: Outlook, book: Ledger) -> str:
    """What a release would take and leave, in plain words."""
    times = "once" if outlook.times == 1 else f"{outlook.times:,} times"
    whole = "the part for pure noise" if outlook.of_pure and book.budget else "the budget"
    text = f"This release takes {100 * outlook.share:.3g} % of {whole} and leaves"
    if not outlook.left or outlook.epsilon_after == 0:
        return f"{text} nothing: it would be the last one that fits. Nothing was charged."
    text += f" {100 * outlook.left:.3g} %"
    if outlook.epsilon_before is not None and outlook.epsilon_after is not None:
        delta = "with δ = 0" if outlook.of_pure else f"at δ = {book.guarantee.delta:g}"
        text += f": ε = {outlook.epsilon_after:.4g} of ε = {outlook.epsilon_before:.4g} {delta}"
    return f"{text}. It fits {times}. Nothing was charged."


def _document(plan: Plan, rows: int | None, book: Ledger | None) -> str:
    """The plan with the errors in the units of the answers, and what would be left in a ledger."""
    errors = {q.questions[0]: q.errors(rows) for q in plan if rows or not q.any_divided}
    document: dict[str, Any] = {"plan": plan.to_dict(), "errors": errors.get("") if len(plan) == 1 else errors}
    if book is not None:
        outlook = book.afford(plan.spends, plan.keys_delta)
        document["ledger"] = {
            "ledger": book.where,
            "share": outlook.share,
            "left": outlook.left,
            "epsilon_before": outlook.epsilon_before,
            "epsilon_after": outlook.epsilon_after,
            "times": outlook.times,
        }
    return json.dumps(document, sort_keys=True, ensure_ascii=False, allow_nan=False)


def _save_all(plan: Plan, files: dict[str, str | None]) -> None:
    """Write the plan and its certificate, or refuse before either is written."""
    given = {flag: Path(file) for flag, file in files.items() if file}
    if len({file.absolute() for file in given.values()}) < len(given):
        what = "--save and --certificate name one file"
        raise RequestError(what, "each needs its own file", "rename one", code="plan-and-certificate-in-one-file")
    for flag, file in given.items():
        if file.is_dir():
            raise _unwritten(flag, file, "it is a folder")
        if not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
            raise _unwritten(flag, file, "there is no such folder, or you cannot write to it")
    texts = {flag: (plan if flag == "--save" else plan.certificate).to_json() for flag in given}
    for flag, file in given.items():
        try:
            file.write_text(texts[flag] + "\n", encoding="utf-8")
        except OSError as error:
            raise _unwritten(flag, file, str(error.strerror)) from None


def _unwritten(flag: str, file: Path, reason: str) -> RequestError:
    what = f"{flag} {without_secrets(file)}"
    rule = f"it cannot be written: {reason}"
    remedy = "choose a path you can write to"
    return RequestError(
        what, rule, remedy, code="plan-file-not-written", reason=reason, flag=flag, file=without_secrets(file)
    )
