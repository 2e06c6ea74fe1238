"""How text that others wrote (names, keys, ids, notes) is put where it could do more than be read.

- `printable`: a terminal, a table, an error, a page. Control characters are spelled out.
- `printable_json`: a JSON document on a terminal.
- `spreadsheet_text`: a cell of a CSV file, which spreadsheets may take for a formula.
"""

from __future__ import annotations

import json
import re


def printable(text: str) -> str:
    r"""Text with control characters spelled out, so that a name cannot move the cursor, hide or turn what is beside it.

    Control characters of ASCII (escape, line breaks, delete) and of Latin-1, marks that change the direction of text,
    marks and blanks that cannot be seen, lone surrogates: as \x1b, \n, \u202e.

    >>> print(printable("age\x1b[2J"), printable("na\u202eme"))
    age\x1b[2J na\u202eme
    """
    return text if text.isprintable() else "".join(map(_spelled, text))


def printable_lines(text: str) -> str:
    r"""As `printable`, but line breaks stay: for text that was put together in lines.

    >>> printable_lines("one\ntwo\x07")
    'one\ntwo\\x07'
    """
    return "\n".join(map(printable, text.split("\n")))


def printable_json(text: str) -> str:
    r"""A JSON document that a terminal shows as it is, and that means the same: the escapes are those of JSON.

    >>> print(printable_json('{"na\u202eme": "\x9b"}'))
    {"na\u202eme": "\u009b"}
    """
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


def _spelled(sign: str) -> str:
    return sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")


_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""What spreadsheets begin to compute at: = + - @, also in full width, a tab or a line break; blanks before are lost."""


def spreadsheet_text(text: str) -> str:
    """A text cell that no spreadsheet computes: an apostrophe in front of what could be a formula, `printable`.

    Whoever takes one apostrophe from cells that begin with apostrophes and one of = + - @ has the text as it was.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("-5"), spreadsheet_text("north"), spreadsheet_text("'t Veld")
    ("'=1+1", "'-5", 'north', "'t Veld")
    >>> spreadsheet_text("'=1+1")
    "''=1+1"
    """
    return printable(f"'{text}" if _FORMULA.match(text) else text)
