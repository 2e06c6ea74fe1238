"""The flags for answers, people and guarantees, shared by `plan` and `release`."""

from __future__ import annotations

import math
import re
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaussmith.cli.parser import Parser, number
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import DomainError, RequestError

if TYPE_CHECKING:
    from gaussmith.guarantee import Guarantee
    from gaussmith.requests.request import Request

ASKING = (
    "sum", "mean", "count", "count_rows", "histogram", "by", "unit", "rows_per_unit", "groups_per_unit",
    "values_per_unit", "mean_of", "where", "column", "missing", "weights", "epsilon", "delta", "mu", "rho",
    "neighbours", "ids", "row_per_row", "line_per_record",
)  # fmt: skip
"""Flags that a request file replaces."""


def add_guarantee_flags(parser: Parser) -> None:
    """Add the flags for ε and δ, or μ, or ρ."""
    group = parser.add_argument_group("how well people are protected (one of the three)")
    group.add_argument("--epsilon", metavar="E", help="with --delta: (ε, δ)-differential privacy")
    group.add_argument("--delta", metavar="D", help="far below 1 / (number of people), such as 1e-6")
    group.add_argument("--mu", metavar="M", help="μ-Gaussian differential privacy")
    group.add_argument("--rho", metavar="R", help="ρ-zero-concentrated differential privacy")


def add_request_flags(parser: Parser) -> None:
    """Add the flags for everything in a request except its source."""
    group = parser.add_argument_group("what to release")
    bounds = "NAME:LOW:HIGH"
    group.add_argument("--sum", action="append", metavar=bounds, help="the sum of a column, clipped to [LOW, HIGH]")
    group.add_argument("--mean", action="append", metavar=bounds, help="the mean of a column, clipped to [LOW, HIGH]")
    group.add_argument("--count", action="store_true", help="the number of people")
    group.add_argument("--count-rows", action="store_true", help="the number of rows instead")
    group.add_argument(
        "--histogram", action="append", metavar="NAME=VALUE,VALUE,…",
        help="how many people have each of these values of a column",
    )  # fmt: skip
    group.add_argument(
        "--by", action="append", metavar="NAME=KEY,KEY,…",
        help="answers for each of these groups; with several --by, for all combinations",
    )  # fmt: skip
    group.add_argument("--where", metavar="TEXT", help="use only rows where this is true, such as 'age >= 18'")
    group.add_argument(
        "--column",
        action="append",
        metavar="NAME=TEXT",
        help="a derived column, such as 'bmi=weight / (height * height)'",
    )
    people = parser.add_argument_group("people and rows")
    people.add_argument(
        "--unit", metavar="NAME", help="the column that identifies the person (default: each row is a person)"
    )
    people.add_argument(
        "--ids", metavar="KIND", help="the type of ids: text, or integer (17, 017 and 17.0 are one person)"
    )
    people.add_argument(
        "--row-per-row", action="store_true",
        help="promise that each row of a query (duckdb://…?query=…) depends on the rows of one person alone",
    )  # fmt: skip
    people.add_argument(
        "--line-per-record", action="store_true",
        help="each line of a CSV file is one record, whatever quotes it contains",
    )  # fmt: skip
    people.add_argument(
        "--rows-per-unit",
        metavar="K",
        help="at most K rows per person count in means over rows; people with more are scaled down",
    )
    people.add_argument("--groups-per-unit", metavar="M", help="each person counts in at most M groups (default: 1)")
    people.add_argument(
        "--values-per-unit", metavar="K", help="each person counts in at most K values of a histogram (default: 1)"
    )
    people.add_argument("--mean-of", metavar="WHAT", help="rows (default), or units: every person has the same weight")
    group.add_argument(
        "--missing", action="append", metavar="NAME=VALUE",
        help="the value used where NAME is missing (default: for sums the point within the bounds nearest 0, for means "
        "the middle of the bounds)",
    )  # fmt: skip
    group.add_argument(
        "--weights", metavar="W",
        help="which errors matter most: relative (to the width of the bounds; default), equal, "
        "or one number per sum, then per mean: 1,1,4",
    )  # fmt: skip
    add_guarantee_flags(parser)
    parser.add_argument(
        "--neighbours", "--neighbors", metavar="N",
        help="what is protected: add-remove (adding or removing one record; default) or replace-one (changing one; the "
        "number of records is public)",
    )  # fmt: skip


def guarantee_from(arguments: Namespace) -> Guarantee:
    """The guarantee given by the flags."""
    from gaussmith.guarantee import Guarantee

    stated = {
        name: number(f"--{name}", getattr(arguments, name))
        for name in ("epsilon", "delta", "mu", "rho")
        if getattr(arguments, name) is not None
    }
    if not stated:
        raise RequestError("no guarantee", "say how well people are protected", "add --epsilon 1 --delta 1e-6")
    return Guarantee(**stated)


def request_from(arguments: Namespace, sources: Sequence[str], needs_source: bool = True) -> Request:
    """The request from a .toml file or from the flags."""
    from gaussmith.requests.request import Request

    if len(sources) > 1:
        raise RequestError(
            f"{len(sources)} sources",
            "one release reads one source",
            "quote the pattern, so that the shell leaves it alone: 'visits/*.parquet'",
        )
    if sources and sources[0].endswith(".toml"):
        for name in ASKING:
            if getattr(arguments, name):
                raise RequestError(
                    f"--{name.replace('_', '-')} beside {without_secrets(sources[0])!r}",
                    "a request file holds everything that is asked",
                    "write it into the file, or give the data file instead",
                )
        return Request.from_toml(sources[0])
    if not sources and needs_source:
        raise RequestError(
            "no source", "a release reads a file", "name a data file or a request, such as people.parquet"
        )
    guarantee = guarantee_from(arguments)
    if arguments.count and arguments.count_rows:
        raise RequestError(
            "--count beside --count-rows",
            "a question counts people or rows",
            "leave one out, or write a request with two questions",
        )
    source: Any = sources[0] if sources else "data"
    promises = {name: getattr(arguments, name) for name in ("ids", "row_per_row", "line_per_record")}
    if any(promises.values()):
        source = {"path": source, **promises}
    return Request(
        source,
        sums=_bounds("--sum", arguments.sum),
        means=_bounds("--mean", arguments.mean),
        count="rows" if arguments.count_rows else arguments.count,
        histograms=_keys(arguments.histogram, "--histogram", "health=good,fair,poor"),
        values_per_unit=_whole("--values-per-unit", arguments.values_per_unit) or 1,
        by=_keys(arguments.by, "--by", "region=north,south"),
        unit=arguments.unit,
        rows_per_unit=_whole("--rows-per-unit", arguments.rows_per_unit),
        groups_per_unit=_whole("--groups-per-unit", arguments.groups_per_unit) or 1,
        mean_of=arguments.mean_of or "rows",
        where=arguments.where,
        columns=_named("--column", arguments.column, "bmi='weight / (height * height)'"),
        missing=_missing(arguments.missing),
        weights=_weights(arguments.weights),
        guarantee=guarantee,
        neighbours=arguments.neighbours or "add-remove",
    )


def _bounds(flag: str, texts: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    found: dict[str, tuple[float, float]] = {}
    for text in texts or ():
        name, *ends = text.rsplit(":", 2)
        if len(ends) != 2 or not name:
            raise DomainError(
                f"{flag} {text}",
                "every column needs two bounds, known without looking at the data",
                f"write {flag} {name or 'age'}:0:100",
            )
        try:
            low, high = (float(end) for end in ends)
        except ValueError:
            low = high = math.nan
        if math.isnan(low) or math.isnan(high):
            raise DomainError(f"{flag} {text}", "both bounds must be numbers", f"write {flag} {name}:0:100")
        if name in found:
            raise RequestError(
                f"{flag} {name} twice", "a column has one pair of bounds for each kind of answer", "leave one out"
            )
        found[name] = (low, high)
    return found


def _missing(texts: Sequence[str] | None) -> dict[str, float]:
    found = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise RequestError(f"--missing {text}", "it names a column and a number", "write --missing age=40")
        try:
            found[name] = float(value)
        except ValueError:
            raise RequestError(f"--missing {text}", "it is a number", f"write --missing {name}=40") from None
    return found


def _named(flag: str, texts: Sequence[str] | None, example: str) -> dict[str, str]:
    """NAME=TEXT, split at the first equals sign."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise RequestError(f"{flag} {text}", "it is written NAME=…", f"write {flag} {example}")
        if name.strip() in found:
            raise RequestError(f"{flag} {name.strip()} twice", "every name is given once", "leave one out")
        found[name.strip()] = value
    return found


def _keys(texts: Sequence[str] | None, flag: str, example: str) -> dict[str, list[str | int | bool]]:
    """Declared keys; whole numbers and true, false are read as such where all keys of a column are."""
    found: dict[str, list[str | int | bool]] = {}
    for name, keys in _named(flag, texts, example).items():
        words = keys.split(",")
        if all(re.fullmatch(r"0|-?[1-9][0-9]{0,14}", word) for word in words):
            found[name] = [int(word) for word in words]
        elif all(word in ("true", "false") for word in words):
            found[name] = [word == "true" for word in words]
        else:
            found[name] = list(words)
    return found


def _whole(flag: str, text: str | None) -> int | None:
    if text is None:
        return None
    value = number(flag, text)
    if not value.is_integer():
        raise RequestError(f"{flag} {text}", "it is a whole number", f"write for example {flag} 1")
    return int(value)


def _weights(text: str | None) -> Any:
    if text is None:
        return "relative"
    if text[:1].isalpha():
        return text
    return [number("--weights", part) for part in text.split(",")]
