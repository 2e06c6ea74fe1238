"""Identity of ids: one rule for persons, keys of groups and category values, on every engine.

Texts are the same when they have the same characters, numbers when they are the same number; a text and a number are
never the same. Dates and times are the same when they are the same instant at full precision. What is missing, NaN or
infinite names nobody. With ids = "integer" a text is the whole number that it spells, and other texts name nobody.

`as_id` spells the rule for the columns of an engine. Python objects (lists, pandas categories of objects) become texts
first, by `object_code`: equal codes mean the same id, and no record changes the code of another.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import re
import sys
import uuid
import zoneinfo
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.errors import SourceError
from gaussmith.notations import setting

if TYPE_CHECKING:
    import narwhals as nw


# How text is read: as a number, a boolean, a date or a time. The same patterns are used on every engine.

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


TEXT, INTEGER = "text", "integer"
"""The types of ids that a source may declare."""

CODED_INTEGER = "integer codes"
"""As INTEGER, of a column that holds codes of Python objects."""

WHOLE_PATTERN = r"[+-]?[0-9]+(?:\.0*)?"
"""Text that is an integer once blanks around it are removed: 17, 017, +17, 17.0."""

FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999 in seconds from 1970: times outside are missing, on every engine."""

MOST_EXPONENT = 10_000
"""Python decimals with longer exponents are missing: written out they could fill the memory."""

_TICKS = {"W": 604_800, "D": 86_400, "h": 3600, "m": 60, "s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units of numpy: seconds in those of at least one, parts of a second in the others."""

_NUMPY = frozenset(np.dtype(code).type for code in "?bhilqBHILQefg")
"""Numbers of numpy that are no Python floats: truths, integers, floats of other sizes."""

_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def check_ids(ids: str | None, unit: str | None, kind: str, dtype: nw.dtypes.DType | None) -> None:
    """Refuse ids of a type that the source's declaration does not fit. `dtype` is None for a derived column."""
    if ids is None:
        return
    if unit is None:
        rule = "it says how ids of people are compared, and no column identifies people"
        what = f"ids={ids!r} without a unit"
        remedy = f"write {setting('unit', 'person')}, or leave ids out"
        raise SourceError(what, rule, remedy, code="ids-without-unit", ids=ids)
    accepted = ("text", "object", "number", "long number") if ids == INTEGER else ("text",)
    if kind not in accepted and not (kind in ("number", "long number") and dtype is not None and dtype.is_integer()):
        rule = f"the column must hold {'text or numbers' if ids == INTEGER else 'text or integers'}"
        what, remedy = f"ids={ids!r} for unit={unit!r}", "leave ids out, or convert the column in the source"
        raise SourceError(what, rule, remedy, code="ids-do-not-fit-unit", ids=ids, unit=unit)


def as_id(column: str, kind: str, dtype: nw.dtypes.DType, ids: str | None = None) -> nw.Expr:
    """A column as ids, null where it names nobody: equal values mean one id, on every engine."""
    import narwhals as nw

    unit = nw.col(column)
    if kind == "text":
        text = unit.cast(nw.String)
        return text if ids in (None, TEXT) else _whole_text(text, coded=ids == CODED_INTEGER)
    if dtype.is_float():  # NaN and infinities name nobody; −0.0 is 0.0
        named = unit.is_finite() & (unit != 0)
        if ids == INTEGER:
            small = named & (unit.abs() < 2.0**52)  # from there on all doubles are whole; Spark's floor is an integer
            floored = nw.when(small).then(unit.cast(nw.Float64)).otherwise(nw.lit(0.0)).floor().cast(nw.Float64)
            named = named & ((unit.abs() >= 2.0**52) | (floored == unit))
        return nw.when(named).then(unit.cast(nw.Float64)).otherwise(nw.when(unit == 0).then(nw.lit(0.0)))
    if isinstance(dtype, nw.Decimal) and ids == INTEGER:
        return _whole_text(unit.cast(nw.String), coded=False)
    return unit.cast(nw.String) if ids == TEXT else unit


def _whole_text(text: nw.Expr, coded: bool) -> nw.Expr:
    """The whole number that a text spells, in its shortest digits, of any length; null for other texts.

    Parts are taken away and never put into a pattern: engines name captured groups in different ways.
    """
    import narwhals as nw

    trimmed = text.str.strip_chars(BLANKS)
    pattern = rf"\A(?:{WHOLE_PATTERN}|0[Ee]-[0-9]+)\z"  # Spark writes a decimal 0 as 0E-18
    if coded:
        code = nw.when(text.str.contains(r"\A\x00n-?[0-9]+\z")).then(text.str.replace_all(r"\A\x00n", ""))
        trimmed = nw.when(text.str.contains(r"\A\x00")).then(code).otherwise(trimmed)
    whole = nw.when(trimmed.str.contains(pattern)).then(trimmed)
    digits = whole.str.replace_all(r"\A[+-]", "").str.replace_all(r"(?:\.|[Ee]-).*\z", "")
    digits = digits.str.replace_all(r"\A0+", "")
    sign = nw.when(whole.str.starts_with("-")).then(nw.lit("-")).otherwise(nw.lit(""))
    some = nw.when(digits != "").then(nw.concat_str([sign, digits]))
    return nw.when(digits == "").then(nw.lit("0")).otherwise(some)


# ── Python objects ──


def object_code(value: object) -> str | None:
    """A Python object as text, equal where two objects are the same id; None for all that names nobody.

    Texts stand for themselves. Codes of all else begin with NUL and a letter, and so do texts that begin with NUL: no
    text equals a number. Total: no method is called that an odd object could have overridden.

    >>> object_code(1) == object_code(1.0) == object_code(np.float32(1)), object_code(1) == object_code("1")
    (True, False)
    >>> object_code(float("nan")), object_code(object()), object_code("half a pair: \\ud800")
    (None, None, None)
    """
    try:
        return _code_of(value)
    except Exception:
        return None


def spoken_object(code: str) -> str | int:
    """What a code of `object_code` is told as: texts as they are, whole numbers as such, all else as its digits.

    >>> spoken_object(object_code("north")), spoken_object(object_code(17)), spoken_object(object_code(2.5))
    ('north', 17, '5/2')
    """
    if code[:1] != "\0":
        return code
    if code[1] == "n" and "/" not in code:
        return int(decimal.Decimal(code[2:]))
    return code[2:]


def _code_of(value: Any) -> str | None:
    kind = type(value)
    if issubclass(kind, str):
        text = str.__str__(value)
        text.encode()  # half a pair of surrogates is no text: it fails here, and is missing
        return "\0t" + text if text[:1] == "\0" else text
    number = _ratio_of(value, kind)
    if number is not None:
        numerator, denominator = number
        return f"\0n{_digits(numerator)}" + ("" if denominator == 1 else f"/{_digits(denominator)}")
    if issubclass(kind, datetime.date) or kind is np.datetime64:
        return _time_code(value, kind)
    if kind is datetime.time and value.tzinfo is None:
        return f"\0h{((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond}"
    if issubclass(kind, bytes):
        return "\0b" + bytes.hex(value)
    return f"\0u{value.int:x}" if kind is uuid.UUID else None


def _ratio_of(value: Any, kind: type) -> tuple[int, int] | None:
    """A finite number as a reduced fraction; None for all else."""
    if issubclass(kind, int):
        return int.__index__(value), 1
    if issubclass(kind, float):
        return float.as_integer_ratio(float.__float__(value))  # NaN and infinities fail here, and are missing
    if kind in _NUMPY:
        exact = value.as_integer_ratio() if value.dtype.kind == "f" else (int(value), 1)
        return int(exact[0]), int(exact[1])
    if kind is decimal.Decimal:
        exponent = value.as_tuple().exponent
        return value.as_integer_ratio() if isinstance(exponent, int) and abs(exponent) <= MOST_EXPONENT else None
    return (value.numerator, value.denominator) if kind is fractions.Fraction else None


def _digits(number: int) -> str:
    """A whole number in decimal digits; Python's own `str` refuses those of more than 4 300."""
    return str(number) if abs(number) < 10**18 else format(decimal.Decimal(number), "f")


def _time_code(value: Any, kind: type) -> str | None:
    """A date by its day, a time by its nanosecond; times with a zone are other ids than those without."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and value is pandas.NaT:
        return None
    if not issubclass(kind, datetime.datetime) and kind is not np.datetime64:
        return f"\0d{datetime.date.toordinal(value)}"
    zone = None if kind is np.datetime64 else datetime.datetime.tzinfo.__get__(value)
    if type(zone) not in (type(None), datetime.timezone, zoneinfo.ZoneInfo):
        return None
    tag = "\0i" if zone is None else "\0z"
    if kind is np.datetime64 or (pandas is not None and kind is pandas.Timestamp):
        return _instant_code(tag, value if kind is np.datetime64 else value.asm8)
    since = datetime.datetime.__sub__(value, _EPOCH if zone is None else _UTC_EPOCH)
    return f"{tag}{((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000}"


def _instant_code(tag: str, time: np.datetime64) -> str | None:
    unit, count = np.datetime_data(time.dtype)
    if np.isnat(time) or unit not in _TICKS:
        return None
    ticks, size = int(time.astype(np.int64)) * count, _TICKS[unit]
    nanoseconds = ticks * size * 10**9 if unit in ("W", "D", "h", "m", "s") else ticks * (10**9 // size)
    inside = FIRST_SECOND * 10**9 <= nanoseconds < (LAST_SECOND + 1) * 10**9
    return f"{tag}{nanoseconds}" if inside else None
