"""Escaping of external text (names, keys, ids, notes) for places where it could have side effects.

- `printable`: a terminal, a table, an error, a page. Control characters are escaped.
- `printable_json`: a JSON document on a terminal.
- `spreadsheet_text`: a cell of a CSV file, which spreadsheets may treat as a formula.
"""

from __future__ import annotations

import json
import re


def printable(text: str) -> str:
    r"""Text with control characters escaped, so that a name cannot move the cursor or hide or reverse nearby text.

    Control characters of ASCII (escape, line breaks, delete) and of Latin-1, marks that change the direction of text,
    invisible marks and blanks, lone surrogates: as \x1b, \n, \u202e.

    >>> print(printable("age\x1b[2J"), printable("na\u202eme"))
    age\x1b[2J na\u202eme
    """
    return text if text.isprintable() else "".join(map(_spelled, text))


def printable_lines(text: str) -> str:
    r"""Like `printable`, but keeps line breaks: for text of several lines.

    >>> printable_lines("one\ntwo\x07")
    'one\ntwo\\x07'
    """
    return "\n".join(map(printable, text.split("\n")))


def printable_json(text: str) -> str:
    r"""An equivalent JSON document that is safe on a terminal: escapes are JSON escapes.

    >>> print(printable_json('{"na\u202eme": "\x9b"}'))
    {"na\u202eme": "\u009b"}
    """
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


def _spelled(sign: str) -> str:
    return sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")


_FORMULA = r"'*\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
"""Characters that start a formula in spreadsheets: = + - @, also full-width, a tab, a line break, after any blanks."""


def spreadsheet_text(text: str) -> str:
    """A text cell that no spreadsheet evaluates: `printable`, with an apostrophe before anything like a formula.

    Removing one apostrophe from cells that begin with apostrophes and one of = + - @ restores the text.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("-5"), spreadsheet_text("north"), spreadsheet_text("'t Veld")
    ("'=1+1", "'-5", 'north', "'t Veld")
    >>> spreadsheet_text("'=1+1")
    "''=1+1"
    """
    return printable(f"'{text}" if re.match(_FORMULA, text) else text)
