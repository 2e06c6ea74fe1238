"""Parsing of command-line words into flags: argparse, with errors in the same form as all others."""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import NoReturn, TextIO

from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import GaussmithError, RequestError, meant_names, nearest


class Parser(argparse.ArgumentParser):
    """The parser of one command. Its help text is the docstring of the command's module: a summary, then examples.

    They come before the options, of which some commands have more than a screen holds.
    """

    def __init__(self, command: str, text: str) -> None:
        summary, _, examples = inspect.cleandoc(text).partition("\n\n")
        super().__init__(
            prog=f"gaussmith {command}",
            description=f"{summary}\n\n{examples}",
            formatter_class=_Formatter,
            allow_abbrev=False,
        )
        self._negative_number_matcher = re.compile(r"-\.?\d|-inf", re.IGNORECASE)  # -3:3 and -1,0 are values, no flags
        self.command = command
        self.words: Sequence[str] = ()
        joined = re.sub(r" *\\\n *", " ", examples)
        self.examples: list[str] = re.findall(rf"^ *(gaussmith {command}\b.*)", joined, re.MULTILINE)

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The flags, or a RequestError that names the nearest one."""
        self.words = words
        self._refuse_spaced_bounds(words)
        arguments, unknown = self.parse_known_args(words)
        if unknown:
            flag = unknown[0].split("=")[0]
            rule = f"gaussmith {self.command} has no such {'option' if flag.startswith('-') else 'argument'}"
            flags = [name for name in self._option_string_actions if name.startswith("--") and name != "--help"]
            hint = _nearest_flag(flag, flags) if flag.startswith("-") else self._hint_for(words, unknown[0])
            raise RequestError(
                repr(flag if flag.startswith("-") else without_secrets(unknown[0])), rule, hint, code="unknown-argument"
            )
        return arguments

    def _hint_for(self, words: Sequence[str], stray: str) -> str:
        """How a word that belongs to none is given: a text with a space is one word only in quotes."""
        at = list(words).index(stray) if stray in words else 0
        flag, before = words[max(0, at - 2) : at] if at > 1 else ("", "")
        if flag in self._option_string_actions and "=" in before and not before.startswith("-"):
            rest = " ".join(takewhile(lambda word: not word.startswith("-"), words[at:]))
            return f"put what has a space in quotes: {flag} '{before} {without_secrets(rest)}'"
        return f"see gaussmith {self.command} --help"

    def _refuse_spaced_bounds(self, words: Sequence[str]) -> None:
        """Refuse `--mean minutes 0 60`: what follows the name would be read as sources."""
        for flag, name, low, high in zip(words, words[1:], words[2:], words[3:], strict=False):
            action = self._option_string_actions.get(flag)
            bounded = action is not None and "LOW:HIGH" in str(action.metavar)
            if bounded and ":" not in name and _is_number(low) and _is_number(high):
                what, rule = f"{flag} {name} {low} {high}", "the name of a column and its bounds are one word"
                remedy = f"write {flag} {name}:{low}:{high}"
                raise RequestError(what, rule, remedy, code="flag-bounds-apart", flag=flag, name=name)

    def format_help(self) -> str:
        """Usage in one line, then summary and examples; the options are listed below them."""
        named = [str(action.metavar) for action in self._actions if not action.option_strings and action.metavar]
        self.usage = " ".join([self.prog, *named, "[OPTION…]"])
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        absent = message.partition("arguments are required: ")[2]
        if absent:
            rule = f"gaussmith {self.command} needs {'it' if ', ' not in absent else 'them'}"
            remedy = f"write for example {self._example()}"
            raise RequestError(f"no {absent}", rule, remedy, code="argument-missing", argument=absent)
        flag, _, problem = message.removeprefix("argument ").partition(": ")
        raise RequestError(flag, problem, f"see gaussmith {self.command} --help", code="malformed-arguments")

    def _example(self) -> str:
        """The example of the help text that is closest to what was written: of the same action, where there is one."""
        action = next((word for word in self.words if not word.startswith("-")), "")
        return next((each for each in self.examples if f" {action} " in each), self.examples[0])


_AFTERWARDS = ("difference", "differences", "ratio", "ratios")
"""What is made of a release afterwards, by methods of the same names."""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _nearest_flag(flag: str, flags: Sequence[str]) -> str:
    """As `nearest`, by the words alone: the dashes that all flags share make none of them close.

    >>> _nearest_flag("--format", ["--master", "--where"]), _nearest_flag("--epsilom", ["--epsilon", "--delta"])
    ('choose one of: --master, --where', "did you mean '--epsilon'?")
    """
    words = {name.lstrip("-").replace("-", "_"): name for name in flags}
    word = flag.lstrip("-")
    if word in _AFTERWARDS and "--out" in flags:
        made = f'gaussmith.read("DIR/release.json").{word.rstrip("s")}("a", "b", answer="x_mean")'
        return f"release with --by and --out DIR; then {made} in Python, at no further cost"
    meant = [words[name] for name in meant_names(flag, words)]
    return f"did you mean {meant[0]!r}?" if len(meant) == 1 else nearest("", meant or flags)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Options in one column, their help in the other, within 80 characters."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=80)


EXAMPLES = {"--delta": "1e-6", "--keys-delta": "1e-7", "--rows": "10000"}
"""Example numbers for flags where 1 makes no sense."""


def number(flag: str, text: str) -> float:
    """A number typed after a flag."""
    try:
        return float(text)
    except ValueError:
        example = f"write for example {flag} {EXAMPLES.get(flag, '1')}"
        if flag == "--rows" and re.fullmatch(r"\d{1,3}(,\d{3})+", text):
            example = f"write it without commas: {flag} {text.replace(',', '')}"
        elif re.fullmatch(r"[+-]?\d*,\d+(e[+-]?\d+)?", text, re.IGNORECASE):
            example = f"use a point: {flag} {text.replace(',', '.')}"
        raise RequestError(
            f"{flag} {text}", "it takes a number", example, code="flag-not-a-number", flag=flag, text=text
        ) from None


# Terminal text: bold and dim where supported, wrapped lines, errors in three parts.

WIDTH = 80


def bold(text: str, stream: TextIO | None = None) -> str:
    return _styled(text, "1", stream)


def dim(text: str, stream: TextIO | None = None) -> str:
    return _styled(text, "2", stream)


def red(text: str, stream: TextIO | None = None) -> str:
    return _styled(text, "1;31", stream)


def struck(text: str, stream: TextIO | None = None) -> str:
    """Text struck through on a terminal."""
    return _styled(text, "9", stream)


def _styled(text: str, code: str, stream: TextIO | None) -> str:
    stream = sys.stdout if stream is None else stream
    plain = not stream.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"


def wrapped(text: str, indent: int = 0) -> str:
    """Text wrapped at 80 characters; every line of `text` is a paragraph that keeps its own indentation."""
    lines = []
    for line in text.splitlines():
        inner = len(line) - len(line.lstrip())
        first, rest = " " * (indent + inner), " " * (indent + inner + (2 if inner else 0))
        lines += textwrap.wrap(
            line.lstrip(), WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
            break_on_hyphens=False,
        ) or [""]  # fmt: skip
    return "\n".join(lines)


def labelled(label: str, text: str, column: int = 11) -> str:
    """`label`, followed by text wrapped in its own column."""
    body = wrapped(text, column)
    return bold(label.ljust(column)) + body[column:]


def error_text(error: GaussmithError) -> str:
    """What is wrong, with the expression if there is one; then the rule and what to do, one line each.

    After data was opened: one line that is always the same.
    """
    from gaussmith.errors import printable

    head = red("Error:", sys.stderr)
    if error.exit_code == 4:
        return f"{head} {printable(str(error))}"
    lines = [line for part in (error.what, error.rule, error.remedy) if part for line in part.split("\n")]
    return f"{head} " + "\n  ".join(map(printable, lines))


# A progress line on a terminal while data is read or a plan is audited: elapsed time, and the share if known.
#
# It never shows rows.

TICK = 0.2
"""Seconds between updates of the line."""

BAR = 24


@contextmanager
def reading(stream: TextIO | None = None, word: str = "Reading") -> Iterator[Callable[[float | None], None] | None]:
    """Yield a function to call with the share done so far (None: unknown). Draws only on a terminal, then clears it."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield None
        return
    share: list[float | None] = [None]
    done = threading.Event()
    started = time.monotonic()

    def draw() -> None:
        while not done.wait(TICK):
            stream.write("\r" + line(share[0], time.monotonic() - started, word))
            stream.flush()

    def report(fraction: float | None) -> None:
        share[0] = fraction

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield report
    finally:
        done.set()
        thread.join()
        stream.write("\r\x1b[K")
        stream.flush()


def line(share: float | None, seconds: float, word: str = "Reading") -> str:
    """The line that is drawn.

    >>> line(0.5, 75)
    'Reading  ━━━━━━━━━━━━────────────   50 %  1:15'
    >>> line(None, 3)
    'Reading  0:03'
    """
    clock = f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
    if share is None:
        return f"{word}  {clock}"
    full = round(BAR * min(max(share, 0.0), 1.0))
    return f"{word}  {'━' * full}{'─' * (BAR - full)}  {100 * min(max(share, 0.0), 1.0):3.0f} %  {clock}"
