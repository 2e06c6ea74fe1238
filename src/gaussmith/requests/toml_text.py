"""A request as TOML: what the page and `--save-request` write, and `gaussmith plan` and `gaussmith release` read."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import Any

from gaussmith.errors import RequestError

WIDTH = 100


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
    plain = [f"{toml_key(name)} = {_value(value)}" for name, value in fields.items() if not _is_table(name, value)]
    lines = plain
    for name, value in fields.items():
        if not _is_table(name, value):
            continue
        if isinstance(value, Mapping):
            said = comments.get(name, {})
            lines += ["", f"[{toml_key(name)}]"]
            lines += [f"{toml_key(str(key))} = {_value(each)}{_comment(said.get(key))}" for key, each in value.items()]
        else:
            for question in value:
                lines += ["", f"[[{toml_key(name)}]]"]
                lines += [f"{toml_key(str(key))} = {_value(each)}" for key, each in question.items()]
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


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{toml_key(str(key))} = {_value(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    raise RequestError(
        f"a value of type {type(value).__name__}",
        "a request file holds numbers, texts, dates, lists and tables",
        "write it as text",
        code="value-not-toml",
    )


def toml_keys(given: Any, usual: str) -> str:
    """What was written as one text, as a list of keys; `usual` where there is nothing to go by.

    >>> print(toml_keys("East, West", '["a", "b"]'), toml_keys(3, '["a", "b"]'))
    ["East", "West"] ["a", "b"]
    """
    words = [word.strip() for word in given.replace(";", ",").split(",")] if isinstance(given, str) else []
    return f"[{', '.join(map(toml_string, words))}]" if all(words) and words else usual


def toml_string(text: str) -> str:
    r"""A string in quotes.

    >>> print(toml_string('a "b" \x7f'))
    "a \"b\" \U0000007f"
    """
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted) + '"'
