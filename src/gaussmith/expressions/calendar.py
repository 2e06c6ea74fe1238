"""Days, weekdays and ISO weeks from a year and the number of a day in it: in doubles, exact, the same on all engines.

The serial of a day is its number from 1 January of the year 1, which is day 1 and a Monday. All numbers here are whole
and below 2^22; a quotient by n is floor((x + ½)·(1/n)), whose distance from a whole number is more than any rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import narwhals as nw


def quotient(x: nw.Expr, n: int) -> nw.Expr:
    """floor(x / n) of a whole number that is not negative."""
    import narwhals as nw

    return ((x + 0.5) * (1.0 / n)).floor().cast(nw.Float64)


def days_before(year: nw.Expr) -> nw.Expr:
    """The number of days before a year."""
    y = year - 1.0
    return y * 365.0 + quotient(y, 4) - quotient(y, 100) + quotient(y, 400)


def leap_day(year: nw.Expr) -> nw.Expr:
    """1 in a leap year, else 0; null where the year is."""
    import narwhals as nw

    remainders = {n: year - quotient(year, n) * float(n) for n in (4, 100, 400)}
    leap = (remainders[4] == 0.0) & ((remainders[100] != 0.0) | (remainders[400] == 0.0))
    return nw.when(~year.is_null()).then(nw.when(leap).then(nw.lit(1.0)).otherwise(nw.lit(0.0)))


def weekday_of(serial: nw.Expr) -> nw.Expr:
    """1 for a Monday, up to 7 for a Sunday."""
    before = serial - 1.0
    return before - quotient(before, 7) * 7.0 + 1.0


def week_of(year: nw.Expr, number: nw.Expr) -> nw.Expr:
    """The ISO week of the day with this number in its year: that of its Thursday, counted in its year."""
    import narwhals as nw

    thursday = number - weekday_of(days_before(year) + number) + 4.0
    length = leap_day(year) + 365.0
    later = nw.when(thursday > length).then(thursday - length).otherwise(thursday)
    in_year = nw.when(thursday < 1.0).then(thursday + leap_day(year - 1.0) + 365.0).otherwise(later)
    return quotient(in_year - 1.0, 7) + 1.0
