"""Lists in one field of a form: words, numbers and true or false, separated by commas or lines."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

from gaussmith.errors import RequestError

_ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,\n"]*))\s*(,|\n|$)')
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_list(field: str, text: str) -> list[Any]:
    r"""The items of a list; a word in quotes is a text whatever it looks like.

    >>> read_list("values", 'north, south\n3, 1.5, true, "3", "a, b"')
    ['north', 'south', 3, 1.5, True, '3', 'a, b']
    """
    items: list[Any] = []
    at = 0
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None:
            rule = "items are separated by commas, and quotes come in pairs"
            remedy = 'write north, south, or "a, b" for a text with a comma'
            raise RequestError(f"the list {text[at:][:40]!r}", rule, remedy, code="list-field-malformed", field=field)
        quoted, bare = match[1], (match[2] or "").strip()
        if quoted is not None:
            items.append(re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], quoted))
        elif ";" in bare:
            rule = "items are separated by commas, not by semicolons"
            remedy = 'write north, south, or "a; b" for a text with a semicolon'
            raise RequestError(f"the list {bare[:40]!r}", rule, remedy, code="list-field-semicolon", field=field)
        elif bare:
            items.append(read_item(bare))
        at = match.end()
    return items


def read_item(word: str) -> Any:
    """A word as what it looks like: true or false, a whole number, a number, or text.

    >>> read_item("7"), read_item("1e3"), read_item("false"), read_item("north")
    (7, 1000.0, False, 'north')
    """
    if word in ("true", "false"):
        return word == "true"
    if _WHOLE.fullmatch(word):
        return int(word)
    return float(word) if _NUMBER.fullmatch(word) else word


def write_list(items: Sequence[Any]) -> str:
    """The text that `read_list` reads as these items.

    >>> write_list(["north", 3, "3", True, "a, b"])
    'north, 3, "3", true, "a, b"'
    """
    return ", ".join(map(_item, items))


def _item(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return repr(item)
    text = item.isoformat()[:10] if isinstance(item, datetime.date) else str(item)
    plain = text and text == text.strip() and not re.search(r'[",;\n\\]', text)
    if plain and read_item(text) == text:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
