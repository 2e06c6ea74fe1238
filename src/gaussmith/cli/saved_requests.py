"""What was asked by flags, as a request file: `--save-request FILE`."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.cli.flags import asked_fields
from gaussmith.cli.parser import Parser, wrapped
from gaussmith.engines.addresses import without_password, without_secrets
from gaussmith.errors import GaussmithError, RequestError, printable
from gaussmith.notations import named, setting, write_toml

if TYPE_CHECKING:
    from gaussmith.requests.request import Request


def add_save_flag(parser: Parser) -> None:
    """Add `--save-request`."""
    parser.add_argument("--save-request", metavar="FILE", help="write what these flags ask for as a .toml request")


def save_request(arguments: Namespace, sources: Sequence[str], request: Request) -> None:
    """Write the request file, if one is wished for; refuses what exists. Nothing in it is from data."""
    if not arguments.save_request:
        return
    from gaussmith.pipeline.learning import schema_address

    file = Path(arguments.save_request)
    if sources and sources[0].endswith(".toml"):
        raise _refused(file, "the request is a file already", "copy it, or leave --save-request out")
    if file.suffix != ".toml":
        raise _refused(file, "a request is a .toml file", f"write --save-request {without_secrets(f'{file}.toml')}")
    fields = _written(asked_fields(arguments, sources), file.parent)
    fields["guarantee"] = {name: _plain(value) for name, value in request.guarantee.to_dict().items()}
    text = f"#:schema {schema_address()}\n{write_toml(fields)}"
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise _refused(file, "there is such a file, which stays as it is", "choose another name") from None
    except OSError as error:
        raise _refused(file, f"it cannot be written: {error.strerror}", "choose a path you can write to") from None


def _refused(file: Path, rule: str, remedy: str) -> RequestError:
    name = without_secrets(file)
    return RequestError(f"--save-request {name}", rule, remedy, code="request-not-saved", file=name)


def _written(asked: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The fields as a file states them: names without bounds are a list."""
    written: dict[str, Any] = {"source": _source(asked["source"], folder)}
    for name in sorted(asked, key="unit".__ne__):  # whose rows these are comes first
        value = asked[name]
        if name != "source":
            written[name] = _plain(_named(name, value) if isinstance(value, Mapping) else value)
    return written


def _source(source: Any, folder: Path) -> Any:
    said = dict(source) if isinstance(source, Mapping) else {"path": source}
    path = without_password(str(said["path"]))
    if "://" not in path and not os.path.isabs(os.path.expanduser(path)):
        path = os.path.relpath(path, folder)
    kept = {key: value for key, value in said.items() if key != "path" and value}
    return {"path": path, **kept} if kept else path


def _named(field: str, value: Mapping[str, Any]) -> Any:
    """A table of columns; where all are named alone, a list of them."""
    if not any(each is None for each in value.values()):
        return value
    if all(each is None for each in value.values()):
        return list(value)
    alone = next(name for name, each in value.items() if each is None)
    what = f"{alone!r} in {field} beside columns with more than their name"
    rule = "in a request file either all of a table state it, or none"
    remedy = f"state it for {alone!r} too, or for none"
    raise RequestError(what, rule, remedy, code="request-not-written", field=field, column=alone)


def _plain(value: Any) -> Any:
    """Whole numbers without a point; what is inside of tables and lists too."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


# Lines above a printed table: what a newcomer may have meant otherwise. They depend on names only, never on values.

WITH_HEADER = (".csv", ".tsv", ".parquet")
"""Files that state the names of their columns themselves."""

PEOPLE = (
    "client", "customer", "employee", "id", "member", "participant", "patient", "person", "pid", "student", "subject",
    "uid", "user", "userid",
)  # fmt: skip
"""Names of columns that may identify people."""

MAX_NAMED = 3


def hints_for(request: Request, columns: Sequence[str] | None = None) -> str:
    """What may have been meant otherwise, or ""; `columns` are the names in the table, if it is open."""
    lines = [_unit_hint(request, columns), _rows_hint(request), *_edges_hints(request)]
    lines = [line for line in lines if line]
    return wrapped("\n".join(map(printable, lines))) + "\n\n" if lines else ""


def ids_among(columns: Iterable[str]) -> list[str]:
    """The columns whose names say that they may identify people.

    >>> ids_among(["courier_id", "city", "Person", "userId", "paid", "grid"])
    ['courier_id', 'Person', 'userId']
    """
    ending = re.compile(r".*([_ -][iI][dD]|[a-z]I[dD])")
    return [name for name in columns if name.lower() in PEOPLE or ending.fullmatch(name)]


def _unit_hint(request: Request, columns: Sequence[str] | None) -> str:
    if request.unit is not None:
        return ""
    likely = ids_among(_columns_of(request, columns))
    if not likely or len(likely) > MAX_NAMED:
        return ""
    if len(likely) == 1:
        return f"each row counts as one person; if {likely[0]} names the person, add {setting('unit', likely[0])}"
    add = named("unit")
    return f"each row counts as one person; if one of {', '.join(likely)} names the person, add {add} with its name"


def _columns_of(request: Request, columns: Sequence[str] | None) -> Sequence[str]:
    """The names in the header of a file on this machine; none where they are not stated there, or it cannot be read."""
    from gaussmith.engines.addresses import is_here, read_source
    from gaussmith.mechanism import read_kinds

    data = read_source(request.source).data
    if not isinstance(data, str | os.PathLike):
        return []
    path = os.fspath(data)
    with suppress(GaussmithError):  # the release itself says why
        if path.endswith(WITH_HEADER) and is_here(path):
            return columns if columns is not None else list(read_kinds(request.source)[0])
    return []


def _edges_hints(request: Request) -> list[str]:
    """Values of a histogram that look like the edges of ranges: increasing numbers with gaps between them."""
    parts = [request, *(each for each in request.questions if not isinstance(each, Mapping))]
    asked = [counted for part in parts for counted in (part.histograms, part.proportions)]
    return [
        _edges_hint(column, values)
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


def _edges_hint(column: str, values: Sequence[object]) -> str:
    ranges = setting("histograms", {column: {"bins": list(values)}})
    shown = f"{', '.join(map(str, values[:2]))}{', …' if values[3:] else ''} or {values[-1]}"
    return f"{column} counts people with exactly {shown}; if ranges between these are meant, write {ranges}"


def _rows_hint(request: Request) -> str:
    """Quantiles are over people: a limit on rows does nothing where nothing else is asked."""
    others = (request.sums, request.means, request.variances, request.covariance, request.regression)
    if request.rows_per_unit is None or request.unit is None or request.questions or any(others):
        return ""
    if request.count == "rows" or not (request.medians or request.quantiles):
        return ""
    limit = named("rows_per_unit")
    return f"{limit} has no effect here: medians and quantiles are of each person's own mean or total of all rows"
