"""A request file with learned bounds and keys, under a small guarantee.

Only names and types of columns decide what is asked: bounds of numbers, keys
of text, and with --unit the rows and groups of a person. The file has comments
and is ready to edit; what was learned is paid for with the guarantee.

examples:
  gaussmith suggest people.parquet --epsilon 0.1 --delta 1e-7 --out request.toml
  gaussmith suggest visits.parquet --unit person --epsilon 0.1 --delta 1e-7 \\
                    --ledger study.ledger --id start --out request.toml
  gaussmith suggest people.csv --numbers age,income --groups region \\
                    --epsilon 0.1 --delta 1e-7 --out request.toml

With --ledger up to three releases are charged: ID-bounds, ID-keys, ID-people.
Together they never spend more than the guarantee. Asking again with the same
id continues them, and writes the same file.
"""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from gaussmith.cli.flags import add_guarantee_flags, guarantee_from
from gaussmith.cli.parser import Parser, number, reading, wrapped
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import printable, printable_json


def add_flags(parser: Parser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a data file, or a quoted pattern")
    parser.add_argument("--unit", metavar="NAME", help="the column that identifies the person (default: each row)")
    parser.add_argument("--numbers", metavar="NAME,…", help="columns of numbers (default: by their types)")
    parser.add_argument("--groups", metavar="NAME,…", help="columns whose keys are learned (default: those of text)")
    parser.add_argument("--ids", metavar="KIND", help="the type of ids: text, or integer")
    parser.add_argument(
        "--row-per-row",
        action="store_true",
        help="promise that each row of a query or a view (duckdb://…) depends on the rows of one person only",
    )
    add_guarantee_flags(parser)
    parser.add_argument("--keys-delta", metavar="D", help="the part of δ for finding keys (default: a tenth)")
    parser.add_argument("--ledger", metavar="L", help="charge this ledger first: a file, or postgresql://…")
    parser.add_argument("--id", metavar="ID", help="with --ledger: asking again with the same id charges nothing more")
    parser.add_argument("--engine", metavar="E", help="the engine that reads the files: polars, duckdb or spark")
    parser.add_argument("--master", metavar="URL", help="with --engine spark: local[2], spark://host:7077 …")
    parser.add_argument("--out", metavar="FILE", required=True, help="the request file to write, such as request.toml")


def run(arguments: Namespace) -> int:
    from gaussmith.pipeline.learning import suggest
    from gaussmith.pipeline.suggestion import check_file

    out = Path(arguments.out)
    check_file(out)
    source: Any = arguments.source
    if arguments.ids or arguments.row_per_row:
        source = {"path": source, "ids": arguments.ids, "row_per_row": arguments.row_per_row}
    with reading() as progress:
        found = suggest(
            source,
            guarantee_from(arguments),
            unit=arguments.unit,
            numbers=_names(arguments.numbers),
            groups=_names(arguments.groups),
            keys_delta=None if arguments.keys_delta is None else number("--keys-delta", arguments.keys_delta),
            ledger=arguments.ledger,
            id=arguments.id,
            progress=progress,
            engine=arguments.engine,
            master=arguments.master,
        )
    found.save(out)
    said = printable(without_secrets(out))
    if arguments.json:
        print(printable_json(json.dumps(found.to_dict(), ensure_ascii=False)))
    else:
        print(wrapped(str(found)))
        print(f"\nWritten to {said}. Read it, then: gaussmith plan {said}")
    return 0


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
