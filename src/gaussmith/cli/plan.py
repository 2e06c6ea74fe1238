"""The errors of a release, before any data is touched.

REQUEST is a .toml file, or the name of a data file (which is not opened), or
nothing.

examples:
  gaussmith plan --sum income:0:200000 --mean age:0:100 --count \\
                 --epsilon 1 --delta 1e-6 --rows 10000
  gaussmith plan request.toml --save plan.json
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from gaussmith.cli.flags import add_request_flags, request_from
from gaussmith.cli.parser import Parser, number
from gaussmith.cli.terminal import bold, wrapped
from gaussmith.errors import RequestError


def add_flags(parser: Parser) -> None:
    parser.add_argument("request", nargs="*", metavar="REQUEST", help="a .toml file, or a data file")
    add_request_flags(parser)
    parser.add_argument("--rows", metavar="N", help="a guess of the number of records: gives the errors of means")
    parser.add_argument("--save", metavar="FILE", help="write the plan as JSON")


def run(arguments: Namespace) -> int:
    from gaussmith.explanation import explain_choice
    from gaussmith.joint_tables import any_plan_table
    from gaussmith.plans import Plan

    rows = _rows(arguments.rows)
    plan = request_from(arguments, arguments.request, needs_source=False).plan
    if arguments.save:
        try:
            Path(arguments.save).write_text(plan.to_json() + "\n", encoding="utf-8")
        except OSError as error:
            raise RequestError(
                f"--save {arguments.save}",
                f"it cannot be written: {error.strerror}",
                "name a file in a folder of yours",
            ) from None
    if arguments.json:
        print(plan.to_json())
        return 0
    print(any_plan_table(plan, rows))
    print("\n" + bold("Why this noise"))
    print(wrapped(explain_choice(plan) if isinstance(plan, Plan) else plan.explain()))
    if arguments.save:
        print(f"\nSaved to {arguments.save}")
    return 0


def _rows(text: str | None) -> int | None:
    if text is None:
        return None
    rows = number("--rows", text)
    if not 1 <= rows < 1e18 or rows != int(rows):
        raise RequestError(f"--rows {text}", "it is a number of records, 1 or more", "give a guess, such as 10000")
    return int(rows)
