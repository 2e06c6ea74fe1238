"""What a test expects of a refusal: its code and the values it speaks of, not its words.

The words are in `tests/sentences/errors.md`, where a change of them is reviewed. `says` is for words that the library
finds out, such as the name that was meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from gaussmith.errors import GaussmithError


@dataclass(frozen=True)
class Refusal:
    """An error that is expected, for tables of cases."""

    code: str
    says: str = ""
    fields: dict[str, object] = field(default_factory=dict)


Expected = str | Refusal
"""A code alone, or more."""


def refusal(code: str, /, says: str = "", **fields: object) -> Refusal:
    """An error with this code and these fields, whose message has these words in it."""
    return Refusal(code, says, fields)


def damaged(part: str) -> Refusal:
    """The refusal of a plan whose part with these words does not fit the others."""
    return Refusal("plan-damaged", part)


@contextmanager
def refused(
    expected: Expected, /, error: type[GaussmithError] = GaussmithError, says: str = "", **fields: object
) -> Iterator[pytest.ExceptionInfo[GaussmithError]]:
    """What is done inside raises an error of this class, with this code, these fields and these words."""
    with pytest.raises(error) as caught:
        yield caught
    check_refusal(caught.value, Refusal(expected, says, fields) if isinstance(expected, str) else expected)


def check_refusal(found: GaussmithError, expected: Expected) -> None:
    """The error is as expected."""
    wanted = Refusal(expected) if isinstance(expected, str) else expected
    assert found.code == wanted.code, f"{found.code} instead of {wanted.code}: {found}"
    seen = {name: found.fields.get(name, "(no such field)") for name in wanted.fields}
    assert seen == wanted.fields, f"other fields of {wanted.code}: {found}"
    assert wanted.says in str(found), f"other words: {found}"
    assert (found.rule and found.remedy) or wanted.code in WITHOUT_ADVICE, f"no rule, or nothing to do: {found}"


WITHOUT_ADVICE = {"malformed-arguments", "unexpected-error"}
"""Codes of errors that have no rule: argparse words them, or nobody foresaw them."""
