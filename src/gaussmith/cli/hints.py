"""Lines above a printed table: what a newcomer may have meant otherwise. They depend on names only, never on values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
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
    lines = [_unit_hint(request, in_file), _rows_hint(request, in_file), *_edges_hints(request, in_file)]
    lines = [line for line in lines if line]
    return wrapped("\n".join(map(printable, lines))) + "\n\n" if lines else ""


def notes_in_flags(text: str) -> str:
    """A note with flags for what a request file writes as fields.

    >>> notes_in_flags('17 and 017 are two people (ids = "integer": one)')
    '17 and 017 are two people (--ids integer: one)'
    >>> notes_in_flags('What may help: a smaller rows_per_unit, mean_of = "units", a larger ε.')
    'What may help: a smaller --rows-per-unit, --mean-of units, a larger ε.'
    >>> notes_in_flags('and the row counts (where = "not is_null(kind)" leaves it out)')
    "and the row counts (--where 'not is_null(kind)' leaves it out)"
    """
    text = re.sub(r'\bwhere = "([^"]*)"(?= leaves)', lambda found: f"--where '{found[1]}'", text)
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


def _edges_hints(request: Request, in_file: bool) -> list[str]:
    """Values of a histogram that look like the edges of ranges: increasing numbers with gaps between them."""
    parts = [request, *(each for each in request.questions if not isinstance(each, Mapping))]
    asked = [counted for part in parts for counted in (part.histograms, part.proportions)]
    return [
        _edges_hint(column, values, in_file)
        for counted in asked
        for column, values in counted.items()
        if isinstance(values, list | tuple) and _look_like_edges(values)
    ]


def _look_like_edges(values: Sequence[object]) -> bool:
    """Whether they are at least three increasing numbers, each more than 1 above the one before.

    >>> _look_like_edges([0, 10, 20]), _look_like_edges([1, 2, 3, 4]), _look_like_edges(["a", "b", "c"])
    (True, False, False)
    """
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return len(numbers) == len(values) > 2 and all(high - low > 1 for low, high in pairwise(numbers))


def _edges_hint(column: str, values: Sequence[object], in_file: bool) -> str:
    listed = ",".join(map(str, values))
    ranges = (
        f"{{ bins = [{listed.replace(',', ', ')}] }}" if in_file else f"--histogram {column} --bins {column}={listed}"
    )
    shown = f"{', '.join(map(str, values[:2]))}{', …' if values[3:] else ''} or {values[-1]}"
    return f"{column} counts people with exactly {shown}; if ranges between these are meant, write {ranges}"


def _rows_hint(request: Request, in_file: bool) -> str:
    """Quantiles are over people: a limit on rows does nothing where nothing else is asked."""
    others = (request.sums, request.means, request.variances, request.covariance, request.regression)
    if request.rows_per_unit is None or request.unit is None or request.questions or any(others):
        return ""
    if request.count == "rows" or not (request.medians or request.quantiles):
        return ""
    name = "rows_per_unit" if in_file else "--rows-per-unit"
    return f"{name} has no effect here: medians and quantiles are of each person's own mean or total of all rows"
