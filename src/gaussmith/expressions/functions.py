"""The functions of the language: their names and numbers of arguments; and those that people look for in vain."""

from __future__ import annotations

DATE_FUNCTIONS = ("year", "quarter", "month", "week", "day", "weekday", "hour")
"""Functions of one column of dates."""

TEXT_TESTS = ("contains", "starts_with", "ends_with")
"""Conditions on text: the text, then what is looked for in it."""

FUNCTIONS = {
    "if": (3, 3),
    "coalesce": (2, 8),
    "is_null": (1, 1),
    **dict.fromkeys(DATE_FUNCTIONS, (1, 1)),
    "days_between": (2, 2),
    **dict.fromkeys(TEXT_TESTS, (2, 2)),
    "abs": (1, 1),
    "sqrt": (1, 1),
    "floor": (1, 1),
    "ceil": (1, 1),
    "min": (2, 8),
    "max": (2, 8),
    "number": (1, 1),
}
"""The functions of the language, with their smallest and largest number of arguments."""

AGGREGATES = {
    "count": (0, 1),
    "sum": (1, 2),
    "mean": (1, 2),
    "min": (1, 8),
    "max": (1, 8),
    "any": (1, 1),
    "all": (1, 1),
    "only": (1, 1),
}
"""Functions of all rows of a person, for `person_columns`; min and max are such functions of one value."""

_DIFFERS = "engines differ in its last bit for some numbers, so that answers would depend on the engine"
_LOGARITHM = (_DIFFERS, "bin the column itself, with edges that grow by a factor such as 1, 10, 100, 1000")
_LETTERS = ("engines differ in the case of some letters", "list the spellings: x in ('North', 'north')")
CHOICE = ("a choice is written as a function", "write if(age < 18, 'child', 'adult')")
_OF_PEOPLE = (
    "an expression looks at one row; the rows of a person are put together in person_columns",
    'write person_columns = { visits = "count()", spent_total = "sum(spent)" }',
)
ABSENT = {
    **dict.fromkeys(("log", "ln", "log2", "log10", "log1p"), _LOGARITHM),
    "exp": (_DIFFERS, "bin or filter the column itself"),
    **dict.fromkeys(("pow", "power"), (_DIFFERS, "write x * x, or sqrt(x)")),
    **dict.fromkeys(("sum", "mean", "avg", "count", "any", "all", "only"), _OF_PEOPLE),
    "round": ("engines round halves differently", "write floor(x + 0.5)"),
    **dict.fromkeys(("lower", "upper"), _LETTERS),
    **dict.fromkeys(("case", "iff", "ifelse", "where"), CHOICE),
    **dict.fromkeys(("ceiling",), ("its name is ceil", "write ceil(x)")),
    **dict.fromkeys(("datediff", "date_diff"), ("its name is days_between", "write days_between(start, end)")),
    **dict.fromkeys(("isnull", "isna"), ("its name is is_null", "write is_null(x)")),
}
"""Functions that people look for, with why they are not there and what to write."""
