"""Parsing of command-line words into flags: argparse, with errors in the same form as all others."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NoReturn

from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError, nearest


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
            flags = [name for name in self._option_string_actions if name.startswith("--")]
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
                raise RequestError(
                    f"{flag} {name} {low} {high}",
                    "the name of a column and its bounds are one word",
                    f"write {flag} {name}:{low}:{high}",
                    code="flag-bounds-apart",
                    flag=flag,
                    name=name,
                )

    def format_help(self) -> str:
        """Usage in one line, then summary and examples; the options are listed below them."""
        named = [str(action.metavar) for action in self._actions if not action.option_strings and action.metavar]
        self.usage = " ".join([self.prog, *named, "[OPTION…]"])
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        absent = message.partition("arguments are required: ")[2]
        if absent:
            raise RequestError(
                f"no {absent}",
                f"gaussmith {self.command} needs {'it' if ', ' not in absent else 'them'}",
                f"write for example {self._example()}",
                code="argument-missing",
                argument=absent,
            )
        flag, _, problem = message.removeprefix("argument ").partition(": ")
        raise RequestError(flag, problem, f"see gaussmith {self.command} --help", code="malformed-arguments")

    def _example(self) -> str:
        """The example of the help text that is closest to what was written: of the same action, where there is one."""
        action = next((word for word in self.words if not word.startswith("-")), "")
        return next((each for each in self.examples if f" {action} " in each), self.examples[0])


_OTHERWISE = {
    **dict.fromkeys(("groupby", "group-by", "group", "groups"), "--by"),
    **dict.fromkeys(("person", "person-id", "user", "user-id", "id-column", "privacy-unit"), "--unit"),
    **dict.fromkeys(("rows-per-person", "rows-per-user", "max-rows", "max-rows-per-person"), "--rows-per-unit"),
    **dict.fromkeys(
        ("groups-per-person", "groups-per-user", "max-groups", "max-groups-per-person"), "--groups-per-unit"
    ),
    **dict.fromkeys(("values-per-person", "values-per-user", "max-values-per-person"), "--values-per-unit"),
}
"""What other tools call a flag, where letters alone would not find it."""


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
    from difflib import get_close_matches

    word = flag.lstrip("-").replace("_", "-")
    if word in _AFTERWARDS and "--out" in flags:
        made = f'gaussmith.read("DIR/release.json").{word.rstrip("s")}("a", "b", answer="x_mean")'
        return f"release with --by and --out DIR; then {made} in Python, at no further cost"
    known = _OTHERWISE.get(word)
    if known in flags:
        return f"did you mean '{known}'?"
    close = get_close_matches(flag.lstrip("-"), [name.lstrip("-") for name in flags], n=1)
    return f"did you mean '--{close[0]}'?" if close else nearest("", flags)


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
