"""How text is read: as a number, a boolean, a date or a time. The same patterns are used on every engine."""

from __future__ import annotations

import datetime
import re

NUMBER_PATTERN = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[Ii][Nn][Ff](?:[Ii][Nn][Ii][Tt][Yy])?)"
"""Text that is a number once blanks around it are removed. All engines accept these and round them the same way."""

TRUTH_PATTERNS = {"1": "[Tt][Rr][Uu][Ee]", "0": "[Ff][Aa][Ll][Ss][Ee]"}
"""Text that counts as 1 and 0."""

BLANKS = " \t"

DATE_PATTERN = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?:[T ][0-9:.]{0,30}Z?)?"
"""Text that is a date: year-month-day, optionally followed by a time, in UTC if it has a zone."""

_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_DAYS = "(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31"

EXISTING_PATTERN = rf"(?:{_YEAR}-(?:{_DAYS})|(?:[0-9]{{2}}{_FOURTH}|{_FOURTH}00)-02-29)(?:[T ][0-9:.]{{0,30}}Z?)?"
"""Text that is a date on the calendar, of the years 1 to 9999; the last part of it is a leap day."""

LONGEST_DATE = len("2024-05-31")
"""Length of a date without a time."""

TIME_PATTERN = DATE_PATTERN.partition("(?:[T ]")[0] + "[T ](?:[01][0-9]|2[0-3])(?:[:.][0-9:.]{0,27})?Z?"
"""Text that is a date followed by a time whose hour can be read."""

DATE_PARTS = {"year": (0, 4), "month": (5, 2), "day": (8, 2)}
"""Where the parts of a date are in its text, and their lengths."""

HOUR = (11, 2)
"""Where the hour is in the text of a time."""


def read_number(text: str | None) -> float | None:
    """The number that a text reads as, else None. Infinite ones are missing in expressions and clamp in columns.

    >>> read_number(" 2.5e1 "), read_number("TRUE"), read_number("-inf"), read_number("1_000"), read_number("nan")
    (25.0, 1.0, -inf, None, None)
    """
    trimmed = "" if text is None else text.strip(BLANKS)
    for number, pattern in TRUTH_PATTERNS.items():
        if re.fullmatch(pattern, trimmed):
            return float(number)
    return float(trimmed) if re.fullmatch(NUMBER_PATTERN, trimmed) else None


def date_number(text: str | None) -> float | None:
    """The number year·10000 + month·100 + day of a text that reads as a date, else None.

    >>> date_number("2024-05-31T10:00"), date_number("31.5.2024")
    (20240531.0, None)
    """
    if text is None or re.fullmatch(DATE_PATTERN, text) is None:
        return None
    return float(int(text[0:4]) * 10000 + int(text[5:7]) * 100 + int(text[8:10]))


def existing_day(text: str | None) -> datetime.date | None:
    """The day that a text reads as; None for text that is no date, and for days that no calendar has.

    >>> existing_day("2024-02-29"), existing_day("2023-02-29"), existing_day("0000-01-01")
    (datetime.date(2024, 2, 29), None, None)
    """
    if text is None or re.fullmatch(DATE_PATTERN, text) is None:
        return None
    try:
        return datetime.date(int(text[0:4]), int(text[5:7]), int(text[8:10]))
    except ValueError:
        return None
