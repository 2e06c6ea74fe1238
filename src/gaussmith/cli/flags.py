"""The flags that say what is asked and how well people are protected, shared by `plan` and `release`."""

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
"""Flags that a request file takes the place of."""


def add_guarantee_flags(parser: Parser) -> None:
    """ε and δ, or μ, or ρ."""
    group = parser.add_argument_group("how well people are protected (one of the three)")
    group.add_argument("--epsilon", metavar="E", help="with --delta: (ε, δ)-differential privacy")
    group.add_argument("--delta", metavar="D", help="far below 1 / (number of people), such as 1e-6")
    group.add_argument("--mu", metavar="M", help="μ-Gaussian differential privacy")
    group.add_argument("--rho", metavar="R", help="ρ-zero-concentrated differential privacy")


def add_request_flags(parser: Parser) -> None:
    """Everything a request holds but its source."""
    group = parser.add_argument_group("what is asked")
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
        help="answers for each of these groups; several --by: for all combinations",
    )  # fmt: skip
    group.add_argument("--where", metavar="TEXT", help="only rows for which this holds, such as 'age >= 18'")
    group.add_argument(
        "--column",
        action="append",
        metavar="NAME=TEXT",
        help="a derived column, such as 'bmi=weight / (height * height)'",
    )
    people = parser.add_argument_group("whose rows they are")
    people.add_argument("--unit", metavar="NAME", help="the column that names the person (else each row is a person)")
    people.add_argument(
        "--ids", metavar="KIND", help="what ids are: text, or integer (17, 017 and 17.0 are one person)"
    )
    people.add_argument(
        "--row-per-row", action="store_true",
        help="promise that each row of a query (duckdb://…?query=…) depends on the rows of one person alone",
    )  # fmt: skip
    people.add_argument(
        "--line-per-record", action="store_true",
        help="each line of a CSV file is one record, whatever quotes it holds",
    )  # fmt: skip
    people.add_argument("--rows-per-unit", metavar="K", help="how many rows of a person count, for means over rows")
    people.add_argument("--groups-per-unit", metavar="M", help="how many groups a person counts in (default: 1)")
    people.add_argument("--values-per-unit", metavar="K", help="how many values of a histogram a person counts in")
    people.add_argument("--mean-of", metavar="WHAT", help="rows (the default), or units: everyone has the same weight")
    group.add_argument(
        "--missing", action="append", metavar="NAME=VALUE",
        help="stands in for a missing value (else the bound nearest 0 for sums, the middle for means)",
    )  # fmt: skip
    group.add_argument(
        "--weights", metavar="W",
        help="which errors matter: relative (to the width of the bounds; the default), equal, "
        "or one number per sum, then per mean: 1,1,4",
    )  # fmt: skip
    add_guarantee_flags(parser)
    parser.add_argument(
        "--neighbours", "--neighbors", metavar="N",
        help="what is protected: add-remove (one record more or less; the default) or replace-one (the number of "
        "records is public)",
    )  # fmt: skip


def guarantee_from(arguments: Namespace) -> Guarantee:
    """The guarantee in the flags."""
    from gaussmith.guarantee import Guarantee

    stated = {
        name: number(f"--{name}", getattr(arguments, name))
        for name in ("epsilon", "delta", "mu", "rho")
        if getattr(arguments, name) is not None
    }
    if not stated:
        rule = "say how well people are protected"
        raise RequestError("no guarantee", rule, "add --epsilon 1 --delta 1e-6", code="no-guarantee-flags")
    return Guarantee(**stated)


def request_from(arguments: Namespace, sources: Sequence[str], needs_source: bool = True) -> Request:
    """The request in a .toml file, or in the flags."""
    from gaussmith.requests.request import Request

    if len(sources) > 1:
        raise RequestError(
            f"{len(sources)} sources",
            "one release reads one source",
            "quote the pattern, so that the shell leaves it alone: 'visits/*.parquet'",
            code="several-sources",
            sources=len(sources),
        )
    if sources and sources[0].endswith(".toml"):
        for name in ASKING:
            if getattr(arguments, name):
                raise RequestError(
                    f"--{name.replace('_', '-')} beside {without_secrets(sources[0])!r}",
                    "a request file holds everything that is asked",
                    "write it into the file, or give the data file instead",
                    code="flag-beside-request-file",
                    source=without_secrets(sources[0]),
                    flag=name,
                )
        return Request.from_toml(sources[0])
    if not sources and needs_source:
        remedy = "name a data file or a request, such as people.parquet"
        raise RequestError("no source", "a release reads a file", remedy, code="no-source-argument")
    guarantee = guarantee_from(arguments)
    if arguments.count and arguments.count_rows:
        raise RequestError(
            "--count beside --count-rows",
            "a question counts people or rows",
            "leave one out, or write a request with two questions",
            code="count-beside-count-rows",
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
                code="flag-without-two-bounds",
                flag=flag,
                text=text,
            )
        try:
            low, high = (float(end) for end in ends)
        except ValueError:
            low = high = math.nan
        if math.isnan(low) or math.isnan(high):
            rule, remedy = "both bounds must be numbers", f"write {flag} {name}:0:100"
            raise DomainError(f"{flag} {text}", rule, remedy, code="flag-bounds-not-numbers", flag=flag, text=text)
        if name in found:
            what, rule = f"{flag} {name} twice", "a column has one pair of bounds for each kind of answer"
            raise RequestError(what, rule, "leave one out", code="flag-column-twice", flag=flag, name=name)
        found[name] = (low, high)
    return found


def _missing(texts: Sequence[str] | None) -> dict[str, float]:
    found = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            what, rule = f"--missing {text}", "it names a column and a number"
            raise RequestError(what, rule, "write --missing age=40", code="missing-flag-without-column", missing=text)
        try:
            found[name] = float(value)
        except ValueError:
            what, remedy = f"--missing {text}", f"write --missing {name}=40"
            raise RequestError(what, "it is a number", remedy, code="missing-flag-not-a-number", missing=text) from None
    return found


def _named(flag: str, texts: Sequence[str] | None, example: str) -> dict[str, str]:
    """NAME=TEXT, split at the first equals sign."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            what, rule = f"{flag} {text}", "it is written NAME=…"
            raise RequestError(what, rule, f"write {flag} {example}", code="flag-without-name", flag=flag, text=text)
        if name.strip() in found:
            what, rule = f"{flag} {name.strip()} twice", "every name is given once"
            raise RequestError(what, rule, "leave one out", code="flag-name-twice", flag=flag, name=name.strip())
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
        rule, remedy = "it is a whole number", f"write for example {flag} 1"
        raise RequestError(f"{flag} {text}", rule, remedy, code="flag-not-a-whole-number", flag=flag, text=text)
    return int(value)


def _weights(text: str | None) -> Any:
    if text is None:
        return "relative"
    if text[:1].isalpha():
        return text
    return [number("--weights", part) for part in text.split(",")]
