"""The flags for answers, people and guarantees, shared by `plan` and `release`."""

from __future__ import annotations

import math
import re
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gaussmith.cli.parser import Parser, number
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import DomainError, RequestError

if TYPE_CHECKING:
    from gaussmith.guarantee import Guarantee
    from gaussmith.requests.request import Request


@dataclass(frozen=True)
class Flag:
    """One flag of a request: what it is called, the field that it fills and how its text is read.

    `metavar` is None for a flag without a value; `field` is "" where several flags fill one field.
    """

    name: str
    metavar: str | None
    help: str
    field: str = ""
    read: Callable[[str, Any], Any] = lambda flag, text: text
    often: bool = False
    of_people: bool = False

    @property
    def words(self) -> str:
        return "--" + self.name.replace("_", "-")

    def add_to(self, group: Any) -> None:
        if self.metavar is None:
            group.add_argument(self.words, action="store_true", help=self.help)
        else:
            action = "append" if self.often else "store"
            group.add_argument(self.words, action=action, metavar=self.metavar, help=self.help)


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


def _asked(flag: str, texts: Sequence[str] | None) -> dict[str, tuple[float, float] | None]:
    """NAME:LOW:HIGH, or NAME alone where --bounds says the rest."""
    plain = [text for text in texts or () if text and ":" not in text]
    for name in plain:
        if plain.count(name) > 1:
            what, rule = f"{flag} {name} twice", "each column is asked once"
            raise RequestError(what, rule, "leave one out", code="flag-column-twice", flag=flag, name=name)
    found = _bounds(flag, [text for text in texts or () if text not in plain])
    return {**dict.fromkeys(plain), **found}


def _missing(flag: str, texts: Sequence[str] | None) -> dict[str, float]:
    found = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            what, rule = f"{flag} {text}", "it needs a column and a number"
            raise RequestError(what, rule, "write --missing age=40", code="missing-flag-without-column", missing=text)
        try:
            found[name] = float(value)
        except ValueError:
            what, remedy = f"{flag} {text}", f"write --missing {name}=40"
            raise RequestError(
                what, "it must be a number", remedy, code="missing-flag-not-a-number", missing=text
            ) from None
    return found


def _named(flag: str, texts: Sequence[str] | None, example: str) -> dict[str, str]:
    """NAME=TEXT, split at the first equals sign."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            what, rule = f"{flag} {text}", "it has the form NAME=…"
            raise RequestError(what, rule, f"write {flag} {example}", code="flag-without-name", flag=flag, text=text)
        if name.strip() in found:
            what, rule = f"{flag} {name.strip()} twice", "every name must be given once"
            raise RequestError(what, rule, "leave one out", code="flag-name-twice", flag=flag, name=name.strip())
        found[name.strip()] = value
    return found


def _keys(flag: str, texts: Sequence[str] | None, example: str) -> dict[str, list[str | int | bool]]:
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


def _counted(flag: str, texts: Sequence[str] | None, example: str) -> dict[str, list[str | int | bool] | None]:
    """NAME=VALUE,VALUE, or NAME alone where --values says the rest."""
    plain = [text for text in texts or () if text and "=" not in text]
    return {**dict.fromkeys(plain), **_keys(flag, [text for text in texts or () if text not in plain], example)}


def _levels(flag: str, texts: Sequence[str] | None) -> dict[str, list[float]]:
    """NAME=LEVEL,LEVEL: levels of quantiles."""
    named = _named(flag, texts, "income=0.1,0.5,0.9")
    return {name: [number(flag, level) for level in levels.split(",")] for name, levels in named.items()}


def _tables(flag: str, texts: Sequence[str] | None) -> list[list[str]]:
    """NAME,NAME: the columns of a table."""
    return [text.split(",") for text in texts or ()]


def _bins(flag: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """NAME=EDGE,EDGE, or NAME=equal:20:0:100, NAME=log:10:1:1000, NAME=month:2024-01:2024-12."""
    found: dict[str, Any] = {}
    for name, text in _named(flag, texts, "age=18,40,65").items():
        way, *rest = text.split(":")
        if way in ("equal", "log") and len(rest) == 3:
            count, low, high = (_digits(number(flag, part)) for part in rest)
            found[name] = {way: count, "between": [low, high]}
        elif len(rest) == 2:
            found[name] = {"by": way, "between": rest}
        else:
            found[name] = [_digits(number(flag, edge)) for edge in text.split(",")]
    return found


def _digits(value: float) -> float | int:
    """Whole numbers as such."""
    return int(value) if value.is_integer() else value


def _whole(flag: str, text: str | None) -> int | None:
    if text is None:
        return None
    value = number(flag, text)
    if not value.is_integer():
        rule, remedy = "it takes a whole number", f"write for example {flag} 1"
        raise RequestError(f"{flag} {text}", rule, remedy, code="flag-not-a-whole-number", flag=flag, text=text)
    return int(value)


def _weights(flag: str, text: str | None) -> Any:
    if text is None:
        return "relative"
    if text[:1].isalpha():
        return text
    return [number(flag, part) for part in text.split(",")]


def _regression(flag: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    of, tilde, on = text.partition("~")
    names = [name.strip() for name in on.split("+")]
    if not tilde or not of.strip() or not all(names):
        rule, remedy = "it is one column, ~, and the columns that explain it", f"write {flag} income~age+bmi"
        raise RequestError(f"{flag} {text}", rule, remedy, code="regression-flag-malformed", flag=flag, text=text)
    return {"of": of.strip(), "on": names}


FLAGS = (
    Flag("sum", "NAME[:LOW:HIGH]", "the sum of a column, clipped to [LOW, HIGH]", "sums", _asked, often=True),
    Flag("mean", "NAME[:LOW:HIGH]", "the mean of a column, clipped to [LOW, HIGH]", "means", _asked, often=True),
    Flag(
        "variance", "NAME[:LOW:HIGH]", "the variance and the standard deviation of a column",
        "variances", _asked, often=True,
    ),
    Flag(
        "covariance", "NAME,NAME,…", "covariances and correlations of these columns; their bounds by --bounds",
        "covariance", lambda flag, text: text.split(",") if text else {},
    ),
    Flag(
        "regression", "NAME~NAME+NAME…", "the linear regression of the first column on the others; bounds by --bounds",
        "regression", _regression,
    ),
    Flag("bounds", "NAME:LOW:HIGH", "the bounds of one row, for all answers about it", "bounds", _bounds, often=True),
    Flag(
        "total_bounds", "NAME:LOW:HIGH", "the bounds of a person's total over all rows, for sums with --unit",
        "total_bounds", _bounds, often=True,
    ),
    Flag(
        "values", "NAME=VALUE,VALUE,…", "the declared values of a column, for --histogram NAME and --by NAME",
        "values", partial(_keys, example="sex=f,m"), often=True,
    ),
    Flag(
        "bins", "NAME=EDGE,EDGE,…",
        "the cells of a column: edges, equal:20:0:100, log:10:1:1000, or of dates month:2024-01:2024-12",
        "bins", _bins, often=True,
    ),
    Flag(
        "quantile", "NAME=LEVEL,…", "quantiles of a column with --bounds or --bins, such as income=0.1,0.9",
        "quantiles", _levels, often=True,
    ),
    Flag("median", "NAME[:LOW:HIGH]", "the median of a column", "medians", _asked, often=True),
    Flag("marginal", "NAME,NAME,…", "a table over columns with --values or --bins", "marginals", _tables, often=True),
    Flag("count", None, "the number of people"),
    Flag("count_rows", None, "the number of rows instead"),
    Flag(
        "histogram", "NAME[=VALUE,VALUE,…]", "how many people have each of these values of a column",
        "histograms", partial(_counted, example="health=good,fair,poor"), often=True,
    ),
    Flag(
        "proportion", "NAME[=VALUE,VALUE,…]", "the same, with the share of each value in all of them",
        "proportions", partial(_counted, example="health=good,fair,poor"), often=True,
    ),
    Flag(
        "by", "NAME[=KEY,KEY,…]", "answers for each of these groups; with several --by, for all combinations",
        "by", partial(_counted, example="region=north,south"), often=True,
    ),
    Flag("where", "TEXT", "use only rows where this is true, such as 'age >= 18'", "where"),
    Flag(
        "column", "NAME=TEXT", "a derived column, such as 'bmi=weight / (height * height)'",
        "columns", partial(_named, example="bmi='weight / (height * height)'"), often=True,
    ),
    Flag(
        "unit", "NAME", "the column that identifies the person (default: each row is a person)",
        "unit", of_people=True,
    ),
    Flag(
        "person_column", "NAME=TEXT", "a number of a person's own, such as 'visits=count()' or 'total=sum(spent)'",
        "person_columns", partial(_named, example="visits='count()'"), often=True, of_people=True,
    ),
    Flag("ids", "KIND", "the type of ids: text, or integer (17, 017 and 17.0 are one person)", of_people=True),
    Flag(
        "row_per_row", None,
        "promise that each row of a query (duckdb://…?query=…) depends on the rows of one person only",
        of_people=True,
    ),
    Flag(
        "line_per_record", None, "each line of a CSV file is one record, whatever quotes it contains", of_people=True,
    ),
    Flag(
        "rows_per_unit", "K", "at most K rows per person count in means over rows; people with more are scaled down",
        "rows_per_unit", _whole, of_people=True,
    ),
    Flag(
        "groups_per_unit", "M", "each person counts in at most M groups; needed with --unit and --by",
        "groups_per_unit", _whole, of_people=True,
    ),
    Flag(
        "values_per_unit", "K", "each person counts in at most K values of a histogram; needed with --unit",
        "values_per_unit", _whole, of_people=True,
    ),
    Flag(
        "mean_of", "WHAT", "rows (default), or units: every person has the same weight",
        "mean_of", lambda flag, text: text or "rows", of_people=True,
    ),
    Flag(
        "mean_within", "NAME:LOW:HIGH",
        "where the mean of a column lies, for the errors stated by a plan (default: anywhere within its bounds); does "
        "not change the noise",
        "mean_within", _bounds, often=True,
    ),
    Flag(
        "missing", "NAME=VALUE",
        "the value used where NAME is missing (default: means are over the values that are there, and a missing value "
        "adds 0 to a sum)",
        "missing", _missing, often=True,
    ),
    Flag(
        "complete", "NAME", "promise that NAME has a value in every row: its mean then needs less noise",
        "complete", lambda flag, texts: texts or (), often=True,
    ),
    Flag(
        "weights", "W",
        "which errors matter most: relative (to the width of the bounds; default), equal, "
        "or one number per sum, then per mean: 1,1,4",
        "weights", _weights,
    ),
    Flag(
        "diagnose", None, "also say how many people are beyond bounds and limits, for 2 % of μ²",
        "diagnose", lambda flag, given: bool(given),
    ),
)  # fmt: skip
"""The flags of a request, in the order of the help; guarantee and neighbours follow them."""

GUARANTEE = ("epsilon", "delta", "mu", "rho")

ASKING = (*(flag.name for flag in FLAGS), *GUARANTEE, "neighbours")
"""Flags that a request file replaces."""

SPELLED_ALIKE = (
    *(flag.name for flag in FLAGS if flag.of_people and flag.field == flag.name),
    "by",
    *GUARANTEE,
    "neighbours",
)
"""Flags that have the name of their field, which remedies write as NAME = VALUE."""


def add_request_flags(parser: Parser) -> None:
    """Add the flags for everything in a request except its source."""
    asked = parser.add_argument_group("what to release")
    people = parser.add_argument_group("people and rows")
    for flag in FLAGS:
        flag.add_to(people if flag.of_people else asked)
    add_guarantee_flags(parser)
    parser.add_argument(
        "--neighbours", "--neighbors", metavar="N",
        help="what is protected: add-remove (adding or removing one record; default) or replace-one (changing one; the "
        "number of records is public)",
    )  # fmt: skip


def add_guarantee_flags(parser: Parser) -> None:
    """Add the flags for ε and δ, or μ, or ρ."""
    group = parser.add_argument_group("how well people are protected (one of the three)")
    group.add_argument("--epsilon", metavar="E", help="with --delta: (ε, δ)-differential privacy")
    group.add_argument("--delta", metavar="D", help="far below 1 / (number of people), such as 1e-6")
    group.add_argument("--mu", metavar="M", help="μ-Gaussian differential privacy")
    group.add_argument("--rho", metavar="R", help="ρ-zero-concentrated differential privacy")


def guarantee_from(arguments: Namespace) -> Guarantee:
    """The guarantee given by the flags."""
    from gaussmith.guarantee import Guarantee

    stated = {
        name: number(f"--{name}", getattr(arguments, name))
        for name in GUARANTEE
        if getattr(arguments, name) is not None
    }
    if not stated:
        rule = "say how well people are protected"
        raise RequestError("no guarantee", rule, "add --epsilon 1 --delta 1e-6", code="no-guarantee-flags")
    return Guarantee(**stated)


def targets_from(texts: Sequence[str] | None) -> dict[str, float]:
    """The targets given by --target NAME=ERROR."""
    found = {}
    for text in texts or ():
        name, sign, error = text.rpartition("=")
        if not (name and sign):
            rule, remedy = "it must be NAME=ERROR", "write --target age_mean=0.5"
            raise RequestError(f"--target {text}", rule, remedy, code="target-flag-malformed", target=text)
        found[name] = number(f"--target {name}", error)
    return found


def request_from(
    arguments: Namespace, sources: Sequence[str], needs_source: bool = True, guarantee: Guarantee | None = None
) -> Request:
    """The request from a .toml file or from the flags; `guarantee` stands for that of the flags."""
    from gaussmith.requests.request import Request

    if len(sources) > 1:
        raise RequestError(
            f"{len(sources)} sources",
            "a release reads one source",
            "quote the pattern, so that the shell does not expand it: 'visits/*.parquet'",
            code="several-sources",
            sources=len(sources),
        )
    if sources and sources[0].endswith(".toml"):
        for name in ASKING:
            if getattr(arguments, name):
                raise RequestError(
                    f"--{name.replace('_', '-')} together with {without_secrets(sources[0])!r}",
                    "a request file contains the whole request",
                    "write it into the file, or give the data file instead",
                    code="flag-beside-request-file",
                    source=without_secrets(sources[0]),
                    flag=name,
                )
        return Request.from_toml(sources[0])
    if not sources and needs_source:
        remedy = "name a data file or a request, such as people.parquet"
        raise RequestError("no source", "a release reads a file", remedy, code="no-source-argument")
    guarantee = guarantee_from(arguments) if guarantee is None else guarantee
    if arguments.count and arguments.count_rows:
        raise RequestError(
            "--count together with --count-rows",
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
        count="rows" if arguments.count_rows else arguments.count,
        guarantee=guarantee,
        neighbours=arguments.neighbours or "add-remove",
        **{flag.field: flag.read(flag.words, getattr(arguments, flag.name)) for flag in FLAGS if flag.field},
    )


def rows_from(text: str | None) -> int | None:
    """The number of rows given by --rows, if any."""
    if text is None:
        return None
    rows = number("--rows", text)
    if not 1 <= rows < 1e18 or rows != int(rows):
        what, rule = f"--rows {text}", "it must be a number of records, 1 or more"
        raise RequestError(what, rule, "give an estimate, such as 10000", code="rows-flag-out-of-range", rows=text)
    return int(rows)
