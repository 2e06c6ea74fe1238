"""Try to refute what a plan or a request claims. No data is read.

TARGET is a request (.toml) or a plan that gaussmith plan wrote with --save.
Tables are made up, with one person as awkward as possible; releases are
recorded and replayed on neighbours, and their noise is sampled and tested.
Exit code 0: the claim survived; 1: it is refuted.

examples:
  gaussmith audit request.toml
  gaussmith audit plan.json --samples 1000000 --processes 2 --out audit.html
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from gaussmith.cli.parser import Parser, bold, number, reading, wrapped
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError, printable

SAMPLES_HELP = (
    "noisy samples to draw (default 400000), split between the noises of the plan or the request, fewer of a noise of "
    "more than 128 numbers; then as many again for guesses at neighbours. A table is also released up to 1500 times, "
    "whatever N is. Gross errors stop it early"
)


def add_flags(parser: Parser) -> None:
    parser.add_argument("target", metavar="TARGET", help="a request (.toml) or a plan (.json)")
    parser.add_argument("--error", metavar="P", help="the probability of refuting a true claim (default 1e-5)")
    parser.add_argument("--samples", metavar="N", help=SAMPLES_HELP)
    parser.add_argument("--processes", metavar="K", help="processes that draw samples (default 1)")
    parser.add_argument("--out", metavar="FILE", help="write the verdict as a page (.html)")


def run(arguments: Namespace) -> int:
    from gaussmith.audit.auditor import audit

    options = {}
    if arguments.error is not None:
        options["error"] = number("--error", arguments.error)
    for name in ("samples", "processes"):
        if getattr(arguments, name) is not None:
            options[name] = _whole(f"--{name}", getattr(arguments, name))
    with reading(word="Auditing") as report:
        verdict = audit(arguments.target, **options, progress=report)  # type: ignore[arg-type]
    if arguments.out is not None:
        _write(arguments.out, verdict.to_html())
    if arguments.json:
        print(verdict.to_json())
    else:
        first, *rest = map(printable, str(verdict).splitlines())
        print(bold(first))
        print(wrapped("\n".join(rest)))
    return 0 if verdict.survived else 1


def _whole(flag: str, text: str) -> int:
    value = number(flag, text)
    if not 1 <= value < 1e12 or value != int(value):
        what, rule = f"{flag} {text}", "it must be a whole number, 1 or more"
        raise RequestError(what, rule, "write a number such as 2", code="audit-flag-not-whole", flag=flag)
    return int(value)


def _write(path: str, page: str) -> None:
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError:
        shown = printable(without_secrets(path))
        what, rule = f"--out {shown!r}", "the page could not be written there"
        raise RequestError(what, rule, "name a file in a folder that exists", code="audit-page-unwritable") from None
