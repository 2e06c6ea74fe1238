"""Lines above a printed table: what a newcomer may have meant otherwise. They depend on names only, never on values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from gaussmith.cli.terminal import wrapped
from gaussmith.errors import GaussmithError
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.requests.request import Request

WITH_HEADER = (".csv", ".tsv", ".parquet")
"""Files that state the names of their columns themselves."""

PEOPLE = (
    "client", "customer", "employee", "id", "member", "participant", "patient", "person", "pid", "student", "subject",
    "uid", "user", "userid",
)  # fmt: skip
"""Names of columns that may identify people."""

MAX_NAMED = 3


def hints_for(request: Request, in_file: bool) -> str:
    """What may have been meant otherwise, or ""; `in_file` if the request is a file, and flags do not apply."""
    lines = [line for line in (_unit_hint(request, in_file), _rows_hint(request, in_file)) if line]
    return wrapped("\n".join(map(printable, lines))) + "\n\n" if lines else ""


def notes_in_flags(text: str) -> str:
    """A note with flags for what a request file writes as fields.

    >>> notes_in_flags('17 and 017 are two people (ids = "integer": one)')
    '17 and 017 are two people (--ids integer: one)'
    >>> notes_in_flags('What may help: a smaller rows_per_unit, mean_of = "units", a larger ε.')
    'What may help: a smaller --rows-per-unit, --mean-of units, a larger ε.'
    """
    text = re.sub(r'\b(ids|mean_of) = "(\w+)"', lambda found: f"{_flag(found[1])} {found[2]}", text)
    return re.sub(r"(?<=a smaller )(rows|groups)_per_unit\b", lambda found: _flag(found[0]), text)


def _flag(field: str) -> str:
    return "--" + field.replace("_", "-")


def ids_among(columns: Iterable[str]) -> list[str]:
    """The columns whose names say that they may identify people.

    >>> ids_among(["courier_id", "city", "Person", "userId", "paid", "grid"])
    ['courier_id', 'Person', 'userId']
    """
    ending = re.compile(r".*([_ -][iI][dD]|[a-z]I[dD])")
    return [name for name in columns if name.lower() in PEOPLE or ending.fullmatch(name)]


def _unit_hint(request: Request, in_file: bool) -> str:
    if request.unit is not None:
        return ""
    named = ids_among(_columns_of(request))
    if not named or len(named) > MAX_NAMED:
        return ""
    if len(named) == 1:
        add = f'unit = "{named[0]}"' if in_file else f"--unit {named[0]}"
        return f"each row counts as one person; if {named[0]} names the person, add {add}"
    add = "unit = …" if in_file else "--unit"
    return f"each row counts as one person; if one of {', '.join(named)} names the person, add {add} with its name"


def _columns_of(request: Request) -> list[str]:
    """The names in the header of a file on this machine; none where they are not stated there, or it cannot be read."""
    from gaussmith.engines.addresses import is_here
    from gaussmith.engines.source_description import read_source
    from gaussmith.mechanism import read_kinds

    data = read_source(request.source).data
    if not isinstance(data, str | os.PathLike):
        return []
    path = os.fspath(data)
    with suppress(GaussmithError):  # the release itself says why
        if path.endswith(WITH_HEADER) and is_here(path):
            return list(read_kinds(request.source)[0])
    return []


def _rows_hint(request: Request, in_file: bool) -> str:
    """Quantiles are over people: a limit on rows does nothing where nothing else is asked."""
    others = (request.sums, request.means, request.variances, request.covariance, request.regression)
    if request.rows_per_unit is None or request.unit is None or request.questions or any(others):
        return ""
    if request.count == "rows" or not (request.medians or request.quantiles):
        return ""
    name = "rows_per_unit" if in_file else "--rows-per-unit"
    return f"{name} has no effect here: medians and quantiles are of each person's own mean or total of all rows"
