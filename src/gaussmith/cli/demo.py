"""A real release on the bundled health data, with a report.

The data are from the RAND Health Insurance Experiment, one record per person
and year; here every record is treated as one person.

examples:
  gaussmith demo
  gaussmith demo --out somewhere --json
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gaussmith.cli.parser import Parser, bold, dim, labelled, wrapped
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import printable, printable_json

if TYPE_CHECKING:
    from gaussmith.releases.release import Release
    from gaussmith.requests.request import Request

FOLDER = "gaussmith-demo"

SUMS = {"mdvis": (0, 80), "idp": (0, 1), "hlthf": (0, 1), "hlthp": (0, 1)}
MEANS = {"disea": (0, 60), "physlm": (0, 1)}
"""Bounds known without looking at the data: docs/bounds.md gives their sources."""

MEANINGS = {
    "mdvis_sum": "visits to a doctor",
    "idp_sum": "with an individual deductible",
    "hlthf_sum": "in fair health",
    "hlthp_sum": "in poor health",
    "disea_mean": "chronic diseases, 0–60",
    "physlm_mean": "physical limitation, 0–1",
    "count": "people",
}

NEXT = """\
  open {folder}/report.html
  gaussmith plan --mean age:0:100 --count --epsilon 1 --delta 1e-6 --rows 10000
  gaussmith release YOUR.parquet --sum COLUMN:LOW:HIGH --count \\
                    --epsilon 1 --delta 1e-6 --out DIR"""


def add_flags(parser: Parser) -> None:
    parser.add_argument("--out", metavar="DIR", default=FOLDER, help=f"where to write (default: {FOLDER})")


def demo_request() -> Request:
    """The request of the demo."""
    from importlib import resources

    from gaussmith.privacy.guarantee import Guarantee
    from gaussmith.requests.request import Request

    source = str(resources.files("gaussmith") / "data" / "randhie.parquet")
    promised = [*MEANS]  # the table has no missing values, which is public
    guarantee = Guarantee(epsilon=1, delta=1e-6)
    return Request(source, sums=SUMS, means=MEANS, count=True, complete=promised, guarantee=guarantee)


def run(arguments: Namespace) -> int:
    from gaussmith.pipeline.release import release
    from gaussmith.report.folder import check_folder, write_folder

    request = demo_request()
    check_folder(arguments.out, overwrite=True)
    released = release(request)
    print(printable_json(released.to_json()) if arguments.json else _text(released), flush=True)
    files = write_folder(released, arguments.out)
    if not arguments.json:
        folder = printable(without_secrets(Path(arguments.out)))
        print("\n" + labelled("Written", f"to {folder}: {', '.join(file.name for file in files)}"))
        print("\n" + bold("Try next") + "\n" + NEXT.format(folder=folder))
    return 0


def _text(release: Release) -> str:
    from gaussmith.planning.block import compare_release
    from gaussmith.report.releases import shown_rows
    from gaussmith.report.tables import describe_gain, describe_optimality, rounded, text_table

    promise, _, _ = release.plan.guarantee.describe().partition(". ")
    rows = [
        (*row[:3], rounded(c.standard or 0, c.error), MEANINGS[c.name])
        for row, c in zip(shown_rows(release)[1], compare_release(release), strict=True)
    ]
    table = text_table(["answer", "value", "± noise", "standard", ""], [(*row[:4], "") for row in rows])
    head, *body = table.splitlines()
    lines = [f"{line}   {dim(row[4])}" for line, row in zip(body, rows, strict=True)]
    return "\n".join(
        [
            bold("A private release of health data"),
            dim("The RAND Health Insurance Experiment, with every record treated as one person."),
            "",
            labelled("Promise", promise + "."),
            labelled("Protected", release.plan.protects + "."),
            "",
            dim(head),
            *lines,
            "",
            wrapped(
                "± noise is the standard deviation of the noise; standard is what the standard Gaussian mechanism "
                f"would have added for the same promise. Taken together, {describe_gain(release.block)}: "
                f"{describe_optimality(release.block)}. The ± covers the noise. It does not cover clipping to the "
                "bounds or the sampling of people into the data."
            ),
        ]
    )
