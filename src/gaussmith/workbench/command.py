"""A local page that shows the noise of a request before it is spent.

SOURCE is data, or a .toml file with a request; without it, name the data on
the page. Only names and types of columns are read until you release. The page
is served on this machine only, to whoever has the address that is printed.

examples:
  gaussmith workbench people.parquet --ledger study.ledger
  gaussmith workbench request.toml
  gaussmith workbench --read-only

It opens data in the folder it was started in, and what was named here. Stop it
with Ctrl-C.
"""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from gaussmith.cli.parser import Parser, number
from gaussmith.errors import RequestError, printable


def add_flags(parser: Parser) -> None:
    parser.add_argument(
        "source", nargs="?", metavar="SOURCE", help="a data file, a folder, an address, or a .toml file"
    )
    parser.add_argument("--ledger", metavar="L", help="charge this ledger: a file, or postgresql://…")
    parser.add_argument(
        "--row-per-row",
        action="store_true",
        help="promise that each row of a query or a view (duckdb://…) depends on the rows of one person only",
    )
    parser.add_argument("--port", metavar="P", default="0", help="the port (default 0: a free one)")
    parser.add_argument("--read-only", action="store_true", help="plans only: no release can be made")
    parser.add_argument("--engine", metavar="E", help="the engine that reads the files: polars, duckdb or spark")
    parser.add_argument("--master", metavar="URL", help="with --engine spark: local[2], spark://host:7077 …")


def run(arguments: Namespace) -> int:
    try:
        from gaussmith.workbench.server import open_bench, serve, shown_source
    except ModuleNotFoundError as error:
        what, rule = f"package {error.name!r} is not installed", "the workbench needs the extra 'workbench'"
        remedy = "install it: pip install 'gaussmith[workbench]'"
        raise RequestError(what, rule, remedy, code="workbench-not-installed") from None
    port = number("--port", arguments.port)
    if not 0 <= port < 65536 or port != int(port):
        raise RequestError(f"--port {arguments.port}", "a port is 0 to 65535", "write --port 0", code="port-not-a-port")
    bench, draft = open_bench(
        arguments.source, arguments.ledger, Path.cwd(), arguments.engine, arguments.master, arguments.row_per_row
    )

    def say(address: str) -> None:
        if arguments.json:
            print(json.dumps({"address": address}), flush=True)
            return
        print(f"The workbench is open: {printable(shown_source(bench))}\n\n  {address}\n")
        print("Open this address in a browser on this machine. Ctrl-C stops it.", flush=True)

    serve(bench, draft, int(port), arguments.read_only, say)
    return 0
