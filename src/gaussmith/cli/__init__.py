"""The command line: a thin layer over the library, one file per command.

To add a command, write `cli/NAME.py` with `add_flags(parser)` and `run(arguments) -> int`, and add it to `COMMANDS`.
The commands of what stands apart from the core live there (`ELSEWHERE`).
Only the command that is called is imported, so that `gaussmith --help` is fast.

Exit codes: 0 done · 2 wrong request (no data value read, nothing spent) · 3 budget refused · 4 engine or data failure.
`audit` alone exits with 1: the claim is refuted.
With `--json` stdout holds one JSON document, the result; an error is one JSON object on stderr, and stdout stays empty.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from itertools import pairwise

from gaussmith.notations import FLAGS, TOML, WRITERS, written_in

COMMANDS = {
    "demo": "a real release on the bundled health data, with a report",
    "calibrate": "what a guarantee means, and how much noise it needs",
    "suggest": "bounds and keys learned under a small guarantee, as a request file",
    "plan": "the errors of a release, before any data is touched",
    "rehearse": "a whole request on made-up rows; nothing is charged",
    "release": "answers with exact noise, from a file or a request",
    "ledger": "init, show, add and verify: the record of what was spent",
    "verify": "check a plan against its certificate",
    "audit": "attempts to refute what a plan or a request claims",
    "workbench": "a local page that shows the noise before it is spent",
    "compare": "published mechanisms: their errors, and whether they are private",
}
"""Each command and what it does, in the order of the help text."""

ELSEWHERE = {
    "audit": "gaussmith.audit.command",
    "workbench": "gaussmith.workbench.command",
    "compare": "gaussmith.papers.command",
}
"""Commands of what stands apart from the core, by their modules."""


def module_of(name: str) -> str:
    """The module of a command."""
    return ELSEWHERE.get(name, f"gaussmith.cli.{name}")


_HELP = """\
Gaussmith releases statistics of sensitive tables (counts, sums, means, medians,
histograms, regressions) under differential privacy, with Gaussian noise shaped
to the question.

usage: gaussmith COMMAND [OPTION…]

{commands}

  gaussmith COMMAND --help   the options of a command, with examples
  gaussmith --version        the version

Every command takes --json. Start with: gaussmith demo
"""


def _flag_text(field: str, value: object) -> str:
    from gaussmith.cli.flags import flag_text  # where an error or a note is written

    return flag_text(field, value)


WRITERS[FLAGS] = _flag_text

UNFORESEEN = "unexpected error; details are hidden because they could contain data"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. Prints no traceback, and no data except released values."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:  # a process of our own
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting threads of linear algebra takes 0.2 s
        gc.set_threshold(200_000)  # modules are no garbage: looking for it while they are imported takes 0.05 s
        atexit.register(gc.freeze)  # nor at the end, another 0.08 s
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows ? for them
    try:
        with warnings.catch_warnings():
            if not os.environ.get("GAUSSMITH_DEBUG"):
                warnings.showwarning = _say_nothing
            with written_in(TOML if _names_request(words) else FLAGS):
                code = _run(words)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except SystemExit:
        raise
    except BaseException as error:  # an engine's panic is not an Exception
        return _refuse(error, words)


def _say_nothing(*_: object, **__: object) -> None:
    """Drop a warning: warnings are for programmers, and an engine's text could contain data."""


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_HELP.format(commands="\n".join(f"  {name:<10} {what}" for name, what in COMMANDS.items())), end="")
        return 0
    if words[0] in ("-V", "--version"):
        from gaussmith import __version__

        print(f"gaussmith {__version__}")
        return 0
    name = words[0]
    if name not in COMMANDS:
        from gaussmith.engines.addresses import without_secrets
        from gaussmith.errors import RequestError, nearest

        what, rule = f"command {without_secrets(name)!r}", "gaussmith has no such command"
        raise RequestError(what, rule, nearest(name, COMMANDS), code="unknown-command", command=without_secrets(name))
    from importlib import import_module

    from gaussmith.cli.parser import Parser

    command = import_module(module_of(name))
    parser = Parser(name, command.__doc__ or "")
    command.add_flags(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    return int(command.run(parser.parse(words[1:])))


def _names_request(words: list[str]) -> bool:
    """Whether a command reads a request file; one that it writes is asked for by flags."""
    written = ("--out", "--save-request")
    return any(word.endswith(".toml") and before not in written for before, word in pairwise(words))


def _refuse(error: BaseException, words: list[str]) -> int:
    """Print the error on stderr, and return the exit code."""
    from gaussmith.cli.parser import error_text
    from gaussmith.errors import GaussmithError, InternalError

    if os.environ.get("GAUSSMITH_DEBUG") and (
        isinstance(error, InternalError) or not isinstance(error, GaussmithError)
    ):
        import traceback

        traceback.print_exception(error)
    if not isinstance(error, GaussmithError):
        error = InternalError(
            UNFORESEEN,
            "",
            "set GAUSSMITH_DEBUG=1 to see them where nobody else can: they are not private",
            code="unexpected-error",
        )
    if "--json" in words:
        import json

        from gaussmith.errors import printable_json

        fields = {
            "kind": type(error).__name__,
            "code": error.code,
            "what": error.what,
            "rule": error.rule,
            "remedy": error.remedy,
        }
        document = json.dumps({"error": fields, "exit_code": error.exit_code}, ensure_ascii=False)
        print(printable_json(document), file=sys.stderr)
    else:
        print(error_text(error), file=sys.stderr)
    return error.exit_code
