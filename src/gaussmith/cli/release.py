"""Release answers with exact noise, from a data file or a request file.

SOURCE is data (Parquet, CSV, Arrow IPC or JSON lines; a quoted pattern for
several files; a folder of Parquet files; s3://… and other stores; a table as
duckdb://FILE?table=NAME), or a .toml file with the whole request.

examples:
  gaussmith release people.parquet --sum income:0:200000 --mean age:0:100 \\
                    --count --epsilon 1 --delta 1e-6 --out release
  gaussmith release visits.csv --unit person --rows-per-unit 12 \\
                    --groups-per-unit 1 --by region=north,south \\
                    --mean minutes:0:60 --count --epsilon 1 --delta 1e-6
  gaussmith release request.toml --ledger study.ledger --id 2024-visits --json
  gaussmith release 'visits/*.csv' --count --mu 0.5
  gaussmith release request.toml --engine spark --master spark://host:7077

Without --out every answer is printed. --out DIR writes release.json (the whole
record), answers.csv, answers.parquet and report.html, and prints the first
answers; with --all it prints all of them. A folder that already holds a release
is refused, unless --id asks for that very release again.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gaussmith.cli.flags import add_request_flags, request_from
from gaussmith.cli.parser import Parser, reading, wrapped
from gaussmith.cli.saved_requests import add_save_flag, hints_for, save_request
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import GaussmithError, LedgerError, printable, printable_json

if TYPE_CHECKING:
    from gaussmith.releases.release import Release


AGAIN = (
    " was released before: these are its stored answers. No data was read, and nothing was charged. For new answers "
    "choose another --id."
)
"""What is said of an id, printed above the answers, where these were stored before."""


def add_flags(parser: Parser) -> None:
    parser.add_argument("source", nargs="*", metavar="SOURCE", help="a data file, a quoted pattern, or a .toml file")
    add_request_flags(parser)
    add_save_flag(parser)
    parser.add_argument("--ledger", metavar="L", help="charge this ledger first: a file, or postgresql://…")
    parser.add_argument(
        "--id",
        metavar="ID",
        help="with --ledger: a name for this release; asking again with the same id returns the same answers, and "
        "charges nothing",
    )
    parser.add_argument(
        "--engine", metavar="E", help="the engine that reads the files: polars (default), duckdb or spark"
    )
    parser.add_argument("--master", metavar="URL", help="with --engine spark: local[2], spark://host:7077, sc://host …")
    parser.add_argument("--out", metavar="DIR", help="write the record, tables and a report to this folder")
    parser.add_argument("--all", action="store_true", help="with --out: print every answer, not only the first")


def run(arguments: Namespace) -> int:
    from gaussmith.pipeline.release import open_ledger, open_table, release_opened

    request = request_from(arguments, arguments.source)
    stored = _stored(arguments.ledger, arguments.id)
    again = False
    if arguments.out:
        from gaussmith.report.folder import check_folder, holds_release

        again = stored is not None and holds_release(arguments.out, stored)
        if not again:
            check_folder(arguments.out)  # refuse now, not after the data was read
    save_request(arguments, arguments.source, request)
    with reading() as progress:
        book = open_ledger(arguments.ledger, arguments.id)
        table = open_table(request.plan, request.source, arguments.engine, arguments.master)
        hints = "" if arguments.json else hints_for(request, table.names)  # before anything is paid for
        released = release_opened(
            request.plan, table, request.source, request.splits(), request.unit, book, arguments.id, progress
        )
    whole = arguments.all or not arguments.out  # the answers are paid for: what is in no file is printed
    if arguments.json:
        text = printable_json(released.to_json())
    else:
        above = hints if stored is None else f"{wrapped(printable(arguments.id) + AGAIN)}\n\n"
        left = _left(arguments.ledger) if arguments.ledger else ""
        text = above + shown_release(released, arguments.out, whole) + left
    print_written(text, released, arguments.out, quiet=arguments.json, again=again)
    return 0


def print_written(text: str, released: Release, out: str | None, quiet: bool, again: bool = False) -> None:
    """Write the folder, then print: a reader who closes the pipe cannot take the files away.

    The text is printed even if the folder cannot be written; below it which files were, unless `quiet`. If the folder
    holds this release already (`again`), only files that are absent are written.
    """
    files: list[Path] = []
    try:
        if out:
            from gaussmith.report.folder import write_folder

            files = write_folder(released, out, only_absent=again)
    finally:
        print(text, flush=True)
    if again and not files and not quiet:
        print(f"\n{printable(without_secrets(out or ''))} holds this release: nothing was written")
    elif out and not quiet:
        print(f"\nWritten to {printable(without_secrets(out))}: {', '.join(file.name for file in files)}")


def _stored(where: str | None, id: str | None) -> bytes | None:
    """The answers of this id, if a ledger holds them already. The release itself says what is wrong with a ledger."""
    if where is None or id is None:
        return None
    from gaussmith.ledger.book import Ledger

    with suppress(GaussmithError):
        return Ledger(where).result(id)
    return None


def shown_release(released: Release, out: str | None, whole: bool) -> str:
    """The release as text: the `whole` of it, or its first answers and where the others are."""
    from gaussmith.report.releases import release_text

    if whole:
        return release_text(released, most=sys.maxsize)
    files = f"; {printable(without_secrets(out))} has them in answers.csv and answers.parquet" if out else ""
    return release_text(released, rest_in=f"--all prints them{files}")


def _left(where: str) -> str:
    """What is left in the ledger, as a last line; empty if it cannot be read now: the release is already done."""
    from gaussmith.ledger.book import Ledger
    from gaussmith.ledger.printing import describe_left

    with suppress(LedgerError):
        ledger = Ledger(where)
        left = describe_left(ledger, ledger.remaining_epsilon)
        return "\n" + wrapped(f"left in {printable(ledger.where)}: {left}")
    return ""
