"""Release answers with exact noise, from a data file or a request file.

SOURCE is data (Parquet, CSV, Arrow IPC or JSON lines; a quoted pattern for
several files; a folder of Parquet files; s3://… and other stores; a table as
duckdb://FILE?table=NAME), or a .toml file with the whole request.

examples:
  gaussmith release people.parquet --sum income:0:200000 --mean age:0:100 \\
                    --count --epsilon 1 --delta 1e-6 --out release
  gaussmith release request.toml --ledger study.ledger --id 2024-visits --json
  gaussmith release 'visits/*.csv' --count --mu 0.5
  gaussmith release request.toml --engine spark --master spark://host:7077

Without --out every answer is printed. --out DIR writes release.json (the whole
record), answers.csv, answers.parquet and report.html. A folder that already
holds a release is refused.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING

from gaussmith.cli.flags import add_request_flags, request_from
from gaussmith.cli.parser import Parser
from gaussmith.cli.progress import reading
from gaussmith.cli.terminal import wrapped
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import LedgerError
from gaussmith.texts import printable, printable_json

if TYPE_CHECKING:
    from gaussmith.releases import Release


def add_flags(parser: Parser) -> None:
    parser.add_argument("source", nargs="*", metavar="SOURCE", help="a data file, a quoted pattern, or a .toml file")
    add_request_flags(parser)
    parser.add_argument("--ledger", metavar="L", help="charge this ledger first: a file, or postgresql://…")
    parser.add_argument(
        "--id", metavar="ID", help="with --ledger: asking again with the same id returns the same answers"
    )
    parser.add_argument(
        "--engine", metavar="E", help="the engine that reads the files: polars (default), duckdb or spark"
    )
    parser.add_argument("--master", metavar="URL", help="with --engine spark: local[2], spark://host:7077, sc://host …")
    parser.add_argument("--out", metavar="DIR", help="write the record, tables and a report to this folder")


def run(arguments: Namespace) -> int:
    from gaussmith.charged_release import release

    request = request_from(arguments, arguments.source)
    if arguments.out:
        from gaussmith.report import check_folder

        check_folder(arguments.out)  # refuse now, not after the data was read
    with reading() as progress:
        released = release(
            request,
            ledger=arguments.ledger,
            id=arguments.id,
            progress=progress,
            engine=arguments.engine,
            master=arguments.master,
        )
    print(printable_json(released.to_json()) if arguments.json else _shown(released, arguments.out))
    if arguments.ledger and not arguments.json:
        _print_left(arguments.ledger)
    if arguments.out:
        sys.stdout.flush()  # show the release even if the folder cannot be written
        from gaussmith.report import write_folder

        files = write_folder(released, arguments.out)
        if not arguments.json:
            print(f"\nWritten to {printable(without_secrets(arguments.out))}: {', '.join(file.name for file in files)}")
    return 0


def _shown(released: Release, out: str | None) -> str:
    """The release as text: all of its answers, unless the others are in a folder. They are paid for."""
    from gaussmith.words.releases import release_text

    if out is None:
        return release_text(released, most=sys.maxsize)
    return release_text(released, rest_in=f"in {printable(without_secrets(out))}, answers.csv")


def _print_left(where: str) -> None:
    """Print what is left in the ledger. If it cannot be read now, print nothing: the release is already done."""
    from gaussmith.cli.ledger import describe_left
    from gaussmith.ledger import Ledger

    with suppress(LedgerError):
        ledger = Ledger(where)
        left = describe_left(ledger, ledger.remaining_epsilon)
        print(wrapped(f"left in {printable(ledger.where)}: {left}"))
