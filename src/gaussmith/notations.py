"""How a field with a value is written: in Python, in a request file (TOML), or in one that others add: flags.

Errors and notes say what to write by `setting`, in the notation in which the request was written. That is Python,
unless they are made inside `written_in`: while a file is read or its request is released, and in every command.
An ellipsis stands for a value that is left to the reader.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import EllipsisType
from typing import Any

PYTHON, TOML, FLAGS = "python", "toml", "flags"

_notation: ContextVar[str] = ContextVar("notation", default=PYTHON)

PAIRS = ("bounds", "total_bounds", "sums", "means", "medians", "variances", "covariance", "mean_within")
"""Fields whose lists of two numbers are bounds: tuples in Python."""

INNER = ("between", "equal", "log")
"""Keys of a table inside a field, which are written alone."""

MORE = "…"


@contextmanager
def written_in(notation: str) -> Iterator[None]:
    """Errors and notes made inside say what to write in this notation."""
    token = _notation.set(notation)
    try:
        yield
    finally:
        _notation.reset(token)


def notation() -> str:
    """The notation that errors are told in now."""
    return _notation.get()


def setting(name: str, value: Any = ...) -> str:
    """A field with a value, in the notation of now; without a name a value that stands in a field.

    >>> setting("means", {"age": [0, 100]}), setting("count", True), setting("by", ...), setting("question")
    ('means={"age": (0, 100)}', 'count=True', 'by=…', 'gaussmith.Question(…)')
    >>> with written_in(TOML):
    ...     print(setting("means", {"age": [0, 100]}), setting("count", True), setting("question"), sep="; ")
    means = { age = [0, 100] }; count = true; [[question]]
    """
    return WRITERS[_notation.get()](name, value)


def named(field: str) -> str:
    """The name of a field in the notation of now."""
    return f"--{field.replace('_', '-')}" if _notation.get() == FLAGS else field


def _python(name: str, value: Any) -> str:
    if name == "question":
        return "gaussmith.Question(…)"
    if name == "guarantee" and isinstance(value, Mapping):
        return f"guarantee=gaussmith.Guarantee({', '.join(f'{each}={_shown(v)}' for each, v in value.items())})"
    shown = _shown(value, name in PAIRS)
    return f'"{name}": {shown}' if name in INNER else f"{name}={shown}" if name else shown


def _shown(value: Any, pairs: bool = False) -> str:
    """A value as Python writes it, with texts in double quotes."""
    if value is ...:
        return MORE
    if isinstance(value, int | float):
        return str(value) if isinstance(value, bool) else number_text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_shown(key)}: {_shown(each, pairs)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_shown, value))
        return f"({inner})" if pairs and len(value) == 2 else f"[{inner}]"
    return f'"{value}"' if '"' not in str(value) else repr(str(value))


def number_text(value: float) -> str:
    """A number as people write it.

    >>> number_text(1e-6), number_text(100.0), number_text(0.5), number_text(12)
    ('1e-6', '100', '0.5', '12')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value).replace("e-0", "e-")


def toml_text(name: str, value: Any) -> str:
    """A field with a value as a request file has it."""
    if name == "question":
        return "[[question]]"
    return f"{toml_key(name)} = {toml_value(value)}" if name else toml_value(value)


WRITERS: dict[str, Callable[[str, Any], str]] = {PYTHON: _python, TOML: toml_text}
"""How each notation writes a field with a value."""


# A request as TOML: what the page and `--save-request` write.


def write_toml(fields: Mapping[str, Any], comments: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """These fields as a TOML document; `comments` stand behind a key of a table: comments[table][key].

    >>> print(write_toml({"source": "a.csv", "count": True, "sums": {"age": (0, 100)}}, {"sums": {"age": "years"}}))
    source = "a.csv"
    count = true
    <BLANKLINE>
    [sums]
    age = [0, 100]  # years
    <BLANKLINE>
    """
    comments = comments or {}
    lines = [toml_text(name, value) for name, value in fields.items() if not _is_table(name, value)]
    for name, value in fields.items():
        if not _is_table(name, value):
            continue
        if isinstance(value, Mapping):
            said = comments.get(name, {})
            lines += ["", f"[{toml_key(name)}]"]
            lines += [toml_text(str(key), each) + _comment(said.get(key)) for key, each in value.items()]
        else:
            for question in value:
                lines += ["", f"[[{toml_key(name)}]]"]
                lines += [toml_text(str(key), each) for key, each in question.items()]
    return "\n".join(lines) + "\n"


def _is_table(name: str, value: Any) -> bool:
    """Whether a value is written below the others: tables, except the short ones that read better on a line."""
    if isinstance(value, Mapping):
        return name not in ("guarantee", "source")
    listed = isinstance(value, Sequence) and not isinstance(value, str) and bool(value)
    return listed and name == "question" and all(isinstance(each, Mapping) for each in value)


def _comment(text: str | None) -> str:
    if not text:
        return ""
    return "  # " + "".join(sign if sign.isprintable() else " " for sign in text)


def toml_key(name: str) -> str:
    """A name before an equals sign, in quotes where it needs them."""
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else toml_string(name)


def toml_value(value: Any) -> str:
    for kinds, write in _TOML:
        if isinstance(value, kinds):
            return write(value)
    raise TypeError(f"a request file holds numbers, texts, dates, lists and tables, not {type(value).__name__}")


def _toml_table(value: Mapping[Any, Any]) -> str:
    inside = ", ".join(f"{toml_key(str(key))} = {toml_value(each)}" for key, each in value.items())
    return f"{{ {inside} }}" if inside else "{}"


def toml_string(text: str) -> str:
    r"""A string in quotes.

    >>> print(toml_string('a "b" \x7f'))
    "a \"b\" \U0000007f"
    """
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted) + '"'


_TOML: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (EllipsisType, lambda value: MORE),
    (bool, lambda value: "true" if value else "false"),
    (int, str),
    (float, lambda value: repr(value).replace("e-0", "e-")),  # inf and nan are written alike in both
    ((datetime.date, datetime.time), lambda value: value.isoformat()),
    (str, toml_string),
    (Mapping, _toml_table),
    (Sequence, lambda value: f"[{', '.join(map(toml_value, value))}]"),
)
"""How values are written, by the first type that fits."""
