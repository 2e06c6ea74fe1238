"""Parsing of command-line words into flags: argparse, with errors in the same form as all others."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Sequence
from typing import NoReturn

from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError, nearest


class Parser(argparse.ArgumentParser):
    """The parser of one command. Its help text is the docstring of the command's module: a summary, then examples."""

    def __init__(self, command: str, text: str) -> None:
        summary, _, examples = inspect.cleandoc(text).partition("\n\n")
        super().__init__(
            prog=f"gaussmith {command}",
            description=summary,
            epilog=examples,
            formatter_class=_Formatter,
            allow_abbrev=False,
        )
        self.command = command

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The flags, or a RequestError that names the nearest one."""
        arguments, unknown = self.parse_known_args(words)
        if unknown:
            flag = unknown[0].split("=")[0]
            rule = f"gaussmith {self.command} has no such {'option' if flag.startswith('-') else 'argument'}"
            flags = [name for name in self._option_string_actions if name.startswith("--")]
            hint = nearest(flag, flags) if flag.startswith("-") else f"see gaussmith {self.command} --help"
            raise RequestError(
                repr(flag if flag.startswith("-") else without_secrets(unknown[0])), rule, hint, code="unknown-argument"
            )
        return arguments

    def error(self, message: str) -> NoReturn:
        raise RequestError(
            message.removeprefix("argument "), "", f"see gaussmith {self.command} --help", code="malformed-arguments"
        )


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
        raise RequestError(
            f"{flag} {text}", "it takes a number", example, code="flag-not-a-number", flag=flag, text=text
        ) from None
