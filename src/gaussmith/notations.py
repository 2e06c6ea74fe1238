"""What an error tells to write, in the notation in which the request was written: Python, a TOML file or flags.

The sentences in the source are those for a file: `write means = { age = [0, 100] }`. An error says them in Python,
unless it is made inside `written_in(TOML)`: while a file is read or its request is released, and in every command.
The command line turns them into flags at the end, where there is no file (`in_flags` of `cli/terminal.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

PYTHON, TOML = "python", "toml"

_notation: ContextVar[str] = ContextVar("notation", default=PYTHON)

PAIRS = ("bounds", "total_bounds", "sums", "means", "medians", "variances", "covariance", "mean_within")
"""Fields whose lists of two numbers are bounds: tuples in Python."""

Write = Callable[[str, Any], str | None]
"""How a field with its value is written; None where it has no form of its own, and stays as it is."""

_SAID = (  # compiled when there is an error to tell: that takes 0.4 ms
    r'"[^"\n]*"|(?<![\w"\'])(?<!of )(?P<name>[a-z]+(?:_[a-z]+)*) = (?=[\[{"\d.…-]|true\b|false\b)|(?P<bare>{ )'
)
_WORD = r"true|false|[-+\d][\w.+-]*(?<![.])|…"
REST = "\ue000"
"""What stands for a bare …, more of the same, while a value is read."""

_INNER = ("between", "equal", "log")
"""Keys of a table inside a field, which are told alone."""


@contextmanager
def written_in(notation: str) -> Iterator[None]:
    """Errors made inside tell what to write in this notation."""
    token = _notation.set(notation)
    try:
        yield
    finally:
        _notation.reset(token)


def notation() -> str:
    """The notation that errors are told in now."""
    return _notation.get()


def in_notation(text: str) -> str:
    """A sentence of the source, in the notation that errors are told in now."""
    return in_python(text) if _notation.get() == PYTHON and ("= " in text or "[[" in text) else text


def in_python(text: str) -> str:
    """A sentence with the fields of a request file as arguments of Python.

    >>> print(in_python('write means = { age = [0, 100] }, or bins = { age = [18, 40, 65] }; rows_per_unit = 12, say'))
    write means={"age": (0, 100)}, or bins={"age": [18, 40, 65]}; rows_per_unit=12, say
    >>> print(in_python('write guarantee = { epsilon = 1, delta = 1e-6 } and count = true, in a [[question]]'))
    write guarantee=gaussmith.Guarantee(epsilon=1, delta=1e-6) and count=True, in a gaussmith.Question(…)
    """
    return rewritten(text, _python).replace("[[question]]", "gaussmith.Question(…)")


def rewritten(text: str, write: Write) -> str:
    """A sentence in which each `name = value` of a request file is written in another way; a bare table has no name."""
    done, at = [], 0
    while (found := re.compile(_SAID).search(text, at)) is not None:
        begin, value = found.end(), None
        if found["name"] or found["bare"]:
            begin = found.end() - (2 if found["bare"] else 0)
            value = _value_at(text, begin)
        told = None if value is None else _read(value)
        shown = None if told is None else write(found["name"] or "", told[0])
        end = found.end() if value is None else begin + len(value)
        done += [text[at : found.start()], text[found.start() : end] if shown is None else shown]
        at = end
    return "".join([*done, text[at:]])


def _value_at(text: str, begin: int) -> str | None:
    """The value that begins there: a text, a number, or brackets to the end of them; None where they do not end."""
    if text[begin] == '"':
        end = text.find('"', begin + 1)
        return None if end < 0 else text[begin : end + 1]
    if text[begin] not in "[{":
        word = re.compile(_WORD).match(text, begin)
        return word and word[0]
    depth = 0
    for token in re.finditer(r'"[^"\n]*"|[\[{]|[\]}]', text[begin:]):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return text[begin : begin + token.end()]
    return None


class Number(str):
    """A number as it was written: 1e-6, not 1e-06."""


def _read(value: str) -> tuple[Any] | None:
    """What a TOML value says, with … for more; None where it is not TOML."""
    import tomllib  # where an error is made

    rest = f'"{REST}"'
    text = re.sub(r'"[^"\n]*"|…', lambda found: rest if found[0] == "…" else found[0], value)
    text = re.sub(rf"(?<=[{{,] ){rest} }}", f"{rest} = {rest} }}", text)  # more keys with their values
    try:
        return (tomllib.loads(f"x = {text}", parse_float=Number)["x"],)
    except ValueError:
        return None


def _python(name: str, value: Any) -> str:
    if name == "guarantee" and isinstance(value, Mapping):
        return f"guarantee=gaussmith.Guarantee({', '.join(f'{each}={_shown(v)}' for each, v in value.items())})"
    shown = _shown(value, name in PAIRS)
    return f'"{name}": {shown}' if name in _INNER else f"{name}={shown}" if name else shown


def _shown(value: Any, pairs: bool = False) -> str:
    """A value as Python writes it, with texts in double quotes."""
    if value == REST or isinstance(value, bool | int | Number):
        return "…" if value == REST else str(value)
    if isinstance(value, Mapping):
        several = [(_shown(key), _shown(each, pairs)) for key, each in value.items()]
        return "{" + ", ".join("…" if key == each == "…" else f"{key}: {each}" for key, each in several) + "}"
    if isinstance(value, list):
        inner = ", ".join(map(_shown, value))
        return f"({inner})" if pairs and len(value) == 2 else f"[{inner}]"
    return f'"{value}"' if '"' not in str(value) else repr(str(value))
