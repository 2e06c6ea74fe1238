"""All errors that Gaussmith raises, as a tree.

    GaussmithError
    ├── RequestError        the request is wrong; no data value was read, nothing was spent      exit 2
    │   ├── GuaranteeError      invalid ε, δ, μ or ρ
    │   ├── DomainError         invalid bounds, radii or labels
    │   ├── PlanError           a plan that cannot be made, read or carried out
    │   ├── SourceError         a source that does not exist, or has no such column
    │   ├── ExpressionError     a filter or derived column outside the small language
    │   └── LedgerError         a ledger that is missing, locked, damaged or not for this data
    ├── BudgetError         the ledger refuses: nothing was read, nothing was spent              exit 3
    ├── DataError           the engine or the data failed after the data was opened: generic     exit 4
    └── InternalError       an internal call failed: a fault of Gaussmith or its packages        exit 4

A message has three parts, joined by ` · `: what is wrong (name=value), the rule, what to do. Control characters in them
are escaped. What to do is told as the request was written: in Python, TOML or flags (`notations.py`).
Programs and tests read `code` and `fields`, people the message: its words may change in any version. A code is a name
for one kind of mistake, in small letters and hyphens (`no-such-column`); it stays when the words change.
`fields` holds the values that the message speaks of, by name. `tests/sentences/errors.md` lists all codes.
Once data is open neither message nor fields may carry anything that depends on it; `DataError` takes no free text from
the engine.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Mapping
from functools import partial
from numbers import Number
from types import MappingProxyType

from gaussmith.notations import in_notation
from gaussmith.texts import printable_lines

MAX_SHOWN = 100
"""Limit on the characters of a field that is kept as text, and on the members of a list that is kept."""


class GaussmithError(Exception):
    """What went wrong, the rule it broke, and what to do about it; `code` and `fields` say the same to programs.

    >>> error = PlanError("answer 'agee'", "there is none", "did you mean 'age'?", code="no-such-answer", answer="agee")
    >>> str(error), error.code, error.fields["answer"]
    ("answer 'agee' · there is none · did you mean 'age'?", 'no-such-answer', 'agee')
    """

    exit_code = 1
    fields: Mapping[str, object]

    def __init__(self, what: str, rule: str = "", remedy: str = "", *, code: str, **fields: object) -> None:
        what, rule, remedy = map(printable_lines, (what, rule, in_notation(remedy)))  # the others may quote the user
        self.what, self.rule, self.remedy, self.code = what, rule, remedy, code
        self.fields = MappingProxyType({name: _plain(value) for name, value in fields.items()})
        super().__init__(" · ".join(part for part in (what, rule, remedy) if part))

    def __reduce__(self) -> tuple[object, ...]:
        """Errors are copied and cross processes with their parts, code and fields."""
        made = partial(type(self), self.what, self.rule, self.remedy, code=self.code, **self.fields)
        return made, (), {name: value for name, value in self.__dict__.items() if name != "fields"}


class RequestError(GaussmithError, ValueError):
    """The request is wrong; no data value was read and nothing was spent."""

    exit_code = 2


class GuaranteeError(RequestError):
    """A guarantee with invalid numbers."""


class DomainError(RequestError):
    """A domain with invalid bounds, radii or labels."""


class PlanError(RequestError):
    """A plan that cannot be made, read or carried out."""


class SourceError(RequestError):
    """A source that does not exist, cannot be opened, or lacks a column."""


class ExpressionError(RequestError):
    """A filter or derived column outside the small language."""


class LedgerError(RequestError):
    """A ledger that is missing, locked, damaged or meant for other data."""


class BudgetError(GaussmithError):
    """The ledger refuses: the request exceeds what is left (`requested`, `remaining`)."""

    exit_code = 3

    @property
    def requested(self) -> object:
        """What was asked for: a guarantee, or a δ for found keys."""
        return self.fields["requested"]

    @property
    def remaining(self) -> object:
        """What is left of it."""
        return self.fields["remaining"]


class DataError(GaussmithError):
    """The engine or the data failed after the data was opened; reveals nothing about the data."""

    exit_code = 4


class InternalError(GaussmithError):
    """An internal call failed: a fault of Gaussmith, or of an unsupported version of a package.

    Its details could contain data and are not kept, unless the environment has GAUSSMITH_DEBUG=1.
    """

    exit_code = 4


def internal_error(charged: str) -> InternalError:
    """The message of every internal error: always the same."""
    return InternalError(
        "an error in Gaussmith or one of its dependencies, not in the data",
        f"{charged}; details are hidden because they could contain data",
        "install supported versions (docs/files.md) or report it; GAUSSMITH_DEBUG=1 shows details that are not private",
        code="internal-error",
    )


def _plain(value: object) -> object:
    """A field as it is kept: numbers, texts, dates, dataclasses and short lists of these; all else as its text.

    So an error never holds on to a user's object, and can cross processes.
    """
    if value is None or isinstance(value, str | Number | datetime.date):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return value
    if isinstance(value, list | tuple) and len(value) <= MAX_SHOWN:
        return tuple(map(_plain, value))
    try:
        return repr(value)[:MAX_SHOWN]
    except Exception:
        return f"(a {type(value).__name__})"


def nearest(name: str, choices: Iterable[str], most: int = 12) -> str:
    """A hint such as `did you mean 'age'?` if one choice is close to `name`, else up to `most` choices.

    >>> nearest("agee", ["age", "income"])
    "did you mean 'age'?"
    >>> nearest("zzz", ["age", "income"])
    'choose one of: age, income'
    >>> nearest("age", ["age_mean", "page"])
    "did you mean 'age_mean'?"
    >>> nearest("age", ["age", "income"])
    'choose one of: income'
    """
    from difflib import get_close_matches

    choices = [choice for choice in choices if choice != name]  # never suggest what was written
    close = get_close_matches(name, choices, n=1)
    begun = [choice for choice in choices if name and choice.startswith(f"{name}_")]
    if len(begun) == 1:
        return f"did you mean {begun[0]!r}?"
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(choices[:most]) + (", …" if len(choices) > most else "")
    return f"choose one of: {shown}" if choices else "there are none to choose from"


def nearest_column(name: str, columns: Iterable[str]) -> str:
    """As `nearest`; where the columns show that a text file is written in another way than it is read, says so.

    >>> nearest_column("age", ["person;age"])
    'columns are separated by commas, in a .tsv file by tabs: convert the file, or open it and pass the frame'
    """
    from difflib import get_close_matches

    columns = list(columns)
    readable = [column for column in columns if "\ufffd" not in column and "\0" not in column]
    if len(readable) < len(columns) and not get_close_matches(name, readable):
        return "text files are read as UTF-8, and the names of these columns are not: save the file as UTF-8"
    if len(columns) == 1 and any(sign in columns[0] for sign in ";|,\t"):
        separators = "columns are separated by commas, in a .tsv file by tabs"
        return f"{separators}: convert the file, or open it and pass the frame"
    return nearest(name, columns)
