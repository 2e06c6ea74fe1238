"""Values of columns: ids that are easily taken for one another, numbers that are odd, and what makes two ids the same.

A value is a Python object of its column's type. Texts may hold lone surrogates: U+DC80 to U+DCFF stand for single
bytes that are not UTF-8 (as `os.fsdecode` has it), all others for themselves.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

TEXT, BROKEN, INTEGER, UNSIGNED, FLOAT, BOOLEAN, DECIMAL, DATE, MICROSECONDS, NANOSECONDS = (
    "text", "broken text", "integer", "unsigned", "float", "boolean", "decimal", "date", "microseconds", "nanoseconds",
)  # fmt: skip
"""Types of columns. Times are whole numbers since 1970; broken texts need not be UTF-8."""

TEXTS = (TEXT, BROKEN)

NOON = 1_700_000_000_000_000
"""A moment in microseconds since 1970."""


@dataclass(frozen=True)
class Ids:
    """A kind of id: the type of its column, and ids that a careless reader takes for one another."""

    type: str
    pool: tuple[Any, ...]


LONG = "a" * 5000
CENTURY = datetime.date(2000, 1, 1)

IDS: dict[str, Ids] = {
    "integer": Ids(INTEGER, (0, 1, -1, 17, 170, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63 - 2, -(2**63))),
    "huge integer": Ids(UNSIGNED, (1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64 - 2, 10**18, 10**18 + 1)),
    "float": Ids(
        FLOAT, (0.0, -0.0, 1.0, 1.5, 0.1, 0.1 + 2**-56, 1e308, 5e-324, math.inf, -math.inf, math.nan, 2.0**53, 1e22)
    ),
    "text": Ids(
        TEXT, ("ada", "Ada", "ADA", " ada", "ada ", "bob", "é", "e\u0301", "ß", "ss", "\ufb01", "fi", "\u202eada")
    ),
    "text of numbers": Ids(
        TEXT,
        ("17", "17.0", "017", "+17", "1.7e1", "17 ", "1_7", "٧", "7", "0", "-0", "nan", "null", "NULL", "true", "1e5"),
    ),
    "date": Ids(DATE, (CENTURY, datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(1970, 1, 1))),
    "datetime us": Ids(MICROSECONDS, (0, -1, 1, NOON, NOON + 1, NOON + 999, NOON + 1000, NOON + 1_000_000)),
    "datetime ns": Ids(NANOSECONDS, (0, -1, 1, 999, NOON * 1000, NOON * 1000 + 1, NOON * 1000 + 999, 1000)),
    "bool": Ids(BOOLEAN, (True, False)),
    "decimal": Ids(
        DECIMAL,
        tuple(map(Decimal, ("0", "1", "1.0000000001", "17", "17.0000000000", "1e27", "1000000000000000000000000001"))),
    ),
    "uuid": Ids(
        TEXT,
        (
            "9b2e0f34-0000-4000-8000-000000000001", "9B2E0F34-0000-4000-8000-000000000001",
            "9b2e0f34000040008000000000000001", "{9b2e0f34-0000-4000-8000-000000000001}",
            "9b2e0f34-0000-4000-8000-000000000002",
        ),
    ),
    "invalid bytes": Ids(
        BROKEN, ("M\udcfcller", "M\udcf6ller", "Mller", "M\ufffdller", "Müller", "\udcff", "\udcfe", "a\udce2\udc82")
    ),
    "lone surrogates": Ids(BROKEN, ("\ud800", "\udbff", "a\ud800", "a\ud801", "a\ufffd", "\udc00", "a?", "a")),
    "control characters": Ids(TEXT, ("a\0", "a\0b", "a", "\0", "a\x1b[2J", "a\x7f", "\ufeffa", "a\t", "a\x1f")),
    "quotes": Ids(TEXT, ('a"', '"a"', '"', '""', "a'b", '5\'10"', '"a,b"', "a,b", "a\tb", "a;b", "\\", 'a\\"')),
    "line breaks": Ids(TEXT, ("a\nb", "a\r\nb", "a\rb", "a", "b", "\n", "\r", "a\u2028b", "a\x0bb", "a\x85b")),
    "empty and blank": Ids(TEXT, ("", " ", "  ", "\t", "a", "\u00a0", "\u3000", "\u200b")),
    "very long": Ids(TEXT, (LONG, LONG + "1", LONG + "2", LONG[:-1], LONG + "é")),
}  # fmt: skip
"""The kinds of ids."""

ODD = (
    None,
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e308,
    -1e308,
    1 / 3,
    7.0,
    30.0,
    50.0,
    1e6,
    -1e6,
)
"""Numbers of a column of floats."""

ODD_INTEGERS = (None, 0, 1, -1, 7, 40, 90, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))

JUNK = (
    "", "abc", "1e999", "-1e999", "9" * 400, "-", "0x10", "1,5", "١", "NaN", "1_000", " 7 ", "7;", "=1+1", "nan(7)",
    "infinity", "1e-400", "−5", "True", "null", "5e", "+-3", "1.7976931348623159e308", "7\0", '7"', "\udcff7",
)  # fmt: skip
"""What text formats hold where a number is expected."""


def holds(kind: str, value: Any) -> Any:
    """What identifies the person of an id in a typed format: equal for equal ids only; None for nobody.

    Numbers are the same when they are the same number, texts when they have the same characters.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if kind in TEXTS:
        return value
    if isinstance(value, float) and math.isinf(value):
        return value
    return Fraction(value) if isinstance(value, (int, float, Decimal)) else value


def as_bytes(text: str) -> bytes:
    """A text as it is stored: UTF-8, but for the bytes that are not."""
    return b"".join(
        bytes([ord(sign) - 0xDC00]) if "\udc80" <= sign <= "\udcff" else sign.encode("utf-8", "surrogatepass")
        for sign in text
    )


def spelt(kind: str, value: Any) -> str | None:
    """A value as text formats hold it; None for a missing one."""
    if value is None or isinstance(value, str):
        return value
    if kind == FLOAT:
        return repr(float(value)).replace("nan", "NaN")
    if kind == BOOLEAN:
        return "true" if value else "false"
    if kind in (MICROSECONDS, NANOSECONDS):
        unit = 10**6 if kind == MICROSECONDS else 10**9
        seconds, rest = divmod(value, unit)
        start = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
        return f"{start.isoformat(' ')}.{rest:0{len(str(unit)) - 1}d}"
    return str(value)
