"""Run a whole request on made-up rows. No data value is read, nothing is charged.

REQUEST is a .toml file, a data file, or nothing. Values are made up within the
bounds of the request. If the data is on this machine, its column names and
types are checked; no value is read. Everything that is shown or written says
"made up".

examples:
  gaussmith rehearse request.toml --rows 10000
  gaussmith rehearse request.toml --rows 10000 --out rehearsal
  gaussmith rehearse --mean age:0:100 --count --epsilon 1 --delta 1e-6
"""

from __future__ import annotations

from argparse import Namespace

from gaussmith.cli.flags import add_request_flags, request_from, rows_from
from gaussmith.cli.parser import Parser
from gaussmith.cli.release import print_written, shown_release
from gaussmith.cli.saved_requests import add_save_flag, hints_for, save_request
from gaussmith.errors import printable_json


def add_flags(parser: Parser) -> None:
    parser.add_argument("request", nargs="*", metavar="REQUEST", help="a .toml file, or a data file")
    add_request_flags(parser)
    add_save_flag(parser)
    parser.add_argument("--rows", metavar="N", default="10000", help="how many rows to make up (default: 10000)")
    parser.add_argument("--out", metavar="DIR", help="write the record, tables and a report to this folder")
    parser.add_argument("--all", action="store_true", help="print every answer, not only the first")


def run(arguments: Namespace) -> int:
    from gaussmith.pipeline.release import rehearse

    rows = rows_from(arguments.rows)
    request = request_from(arguments, arguments.request, needs_source=False)
    if arguments.out:
        from gaussmith.report.folder import check_folder

        check_folder(arguments.out)
    save_request(arguments, arguments.request, request)
    made = rehearse(request, rows or 10_000)
    text = hints_for(request) + shown_release(made, arguments.out, arguments.all)
    text = printable_json(made.to_json()) if arguments.json else text
    print_written(text, made, arguments.out, quiet=arguments.json)
    return 0
