"""The flags for answers, people and guarantees, shared by `plan` and `release`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gaussmith.cli.flag_texts import (
    check_values,
    read_asked,
    read_bins,
    read_bounds,
    read_counted,
    read_group_weights,
    read_keys,
    read_levels,
    read_missing,
    read_named,
    read_number,
    read_regression,
    read_shares,
    read_tables,
    read_weights,
    read_whole,
    with_found,
    with_vector_options,
)
from gaussmith.cli.parser import Parser, number
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError
from gaussmith.values import dataclass

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
        told = self.help.replace("%", "%%")  # argparse formats it
        if self.metavar is None:
            group.add_argument(self.words, action="store_true", help=told)
        else:
            action = "append" if self.often else "store"
            group.add_argument(self.words, action=action, metavar=self.metavar, help=told)


FLAGS = (
    Flag(
        "sum", "NAME[:LOW:HIGH]",
        "the sum of a column; each row is clipped to [LOW, HIGH], with --unit each person's total is, with --by in "
        "each group",
        "sums", read_asked, often=True,
    ),
    Flag(
        "mean", "NAME[:LOW:HIGH]", "the mean of a column, each row clipped to [LOW, HIGH]",
        "means", read_asked, often=True,
    ),
    Flag(
        "variance", "NAME[:LOW:HIGH]", "the variance and the standard deviation of a column",
        "variances", read_asked, often=True,
    ),
    Flag(
        "covariance", "NAME,NAME,…", "covariances and correlations of these columns; their bounds by --bounds",
        "covariance", lambda flag, text: text.split(",") if text else {},
    ),
    Flag(
        "regression", "NAME~NAME+NAME…", "the linear regression of the first column on the others; bounds by --bounds",
        "regression", read_regression,
    ),
    Flag(
        "bounds", "NAME:LOW:HIGH",
        "the bounds of one row, for all answers about it; NAME:private or private: learned from the data, at a price",
        "bounds", read_bounds, often=True,
    ),
    Flag(
        "total_bounds", "NAME:LOW:HIGH",
        "the bounds of a person's total over all rows, with --by in each group; for sums with --unit",
        "total_bounds", read_bounds, often=True,
    ),
    Flag(
        "values", "NAME=VALUE,VALUE,…", "the declared values of a column, for --histogram NAME and --by NAME",
        "values", partial(read_keys, example="sex=f,m"), often=True,
    ),
    Flag(
        "bins", "NAME=EDGE,EDGE,…",
        "the cells of a column: edges, equal:20:0:100, log:10:1:1000, of dates month:2024-01:2024-12, or private",
        "bins", read_bins, often=True,
    ),
    Flag(
        "quantile", "NAME=LEVEL,…",
        "quantiles of a column with --bounds or --bins, such as income=0.1,0.9; with --unit of each person's own mean",
        "quantiles", read_levels, often=True,
    ),
    Flag(
        "median", "NAME[:LOW:HIGH]",
        "the median of a column; with --unit the median, over people, of each person's own mean",
        "medians", read_asked, often=True,
    ),
    Flag(
        "marginal", "NAME,NAME,…", "a table over columns with --values or --bins", "marginals", read_tables, often=True
    ),
    Flag(
        "vector_means", "NAME,NAME,…", "the means of columns of which nothing is known: no bounds, no spread",
        "vector_means", lambda flag, text: text.split(",") if text else (),
    ),
    Flag("vector_rows", "N", "with --vector-means: a public guess of the number of rows (default 10000)"),
    Flag("normal", None, "with --vector-means: the columns are known to be normal"),
    Flag("count", None, "the number of people"),
    Flag("count_rows", None, "the number of rows instead"),
    Flag(
        "histogram", "NAME[=VALUE,VALUE,…]",
        "how many people (not rows) have each of these values, exactly; for ranges of numbers give NAME alone, and "
        "their edges by --bins NAME=0,10,20",
        "histograms", partial(read_counted, example="health=good,fair,poor"), often=True,
    ),
    Flag(
        "proportion", "NAME[=VALUE,VALUE,…]",
        "the same, with the share of each value in the sum of these counts; a person who counts in several values is "
        "in that sum several times",
        "proportions", partial(read_counted, example="health=good,fair,poor"), often=True,
    ),
    Flag(
        "by", "NAME[=KEY,KEY,…]", "answers for each of these groups; with several --by, for all combinations",
        "by", partial(read_counted, example="region=north,south"), often=True,
    ),
    Flag(
        "by_found", "NAME", "answers for each key found in this column; groups with few people are not shown",
        often=True,
    ),
    Flag("where", "TEXT", "use only rows where this is true, such as 'age >= 18'", "where"),
    Flag(
        "column", "NAME=TEXT", "a derived column, such as 'bmi=weight / (height * height)'",
        "columns", partial(read_named, example="bmi='weight / (height * height)'"), often=True,
    ),
    Flag(
        "unit", "NAME", "the column that identifies the person (default: each row is a person)",
        "unit", of_people=True,
    ),
    Flag(
        "person_column", "NAME=TEXT", "a number of a person's own, such as 'visits=count()' or 'total=sum(spent)'",
        "person_columns", partial(read_named, example="visits='count()'"), often=True, of_people=True,
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
        "rows_per_unit", "K",
        "at most K rows per person count in means over rows (not in quantiles), with --by in each group; people with "
        "more are scaled down",
        "rows_per_unit", read_whole, of_people=True,
    ),
    Flag(
        "groups_per_unit", "M",
        "each person counts in at most M groups, those with most rows; needed with --unit and --by",
        "groups_per_unit", read_whole, of_people=True,
    ),
    Flag(
        "group_weights", "KEY=W,…", "how much the errors of these groups matter; others weigh 1, such as north=4",
        "group_weights", read_group_weights,
    ),
    Flag(
        "values_per_unit", "K",
        "each person counts in at most K values of a histogram, those with most rows; needed with --unit, but with "
        "--by it is 1 in each group",
        "values_per_unit", read_whole, of_people=True,
    ),
    Flag(
        "keys_at_least", "N", "with --by-found: keys with fewer than N people are never shown",
        "keys_at_least", read_whole, of_people=True,
    ),
    Flag(
        "top", "N", "with --by-found: show at most N groups, those with the largest noisy counts",
        "top", read_whole, of_people=True,
    ),
    Flag(
        "keys_delta", "D",
        "with --by-found: the part of δ spent on finding keys (default: the most that fits); with --mu or --rho the "
        "probability beside it",
        "keys_delta", read_number, of_people=True,
    ),
    Flag(
        "keys_first", None,
        "with --by-found: find keys in a stage of its own, and choose each person's groups among the keys shown",
        "keys_first", lambda flag, given: bool(given), of_people=True,
    ),
    Flag(
        "mean_of", "WHAT", "rows (default), or units: every person has the same weight",
        "mean_of", lambda flag, text: text or "rows", of_people=True,
    ),
    Flag(
        "mean_within", "NAME:LOW:HIGH",
        "where the mean of a column lies, for the errors stated by a plan (default: anywhere within its bounds); does "
        "not change the noise",
        "mean_within", read_bounds, often=True,
    ),
    Flag(
        "missing", "NAME=VALUE",
        "the value used where NAME is missing (default: means are over the values that are there, and a missing value "
        "adds 0 to a sum)",
        "missing", read_missing, often=True,
    ),
    Flag(
        "complete", "NAME", "promise that NAME has a value in every row: its mean then needs less noise",
        "complete", lambda flag, texts: texts or (), often=True,
    ),
    Flag(
        "weights", "W",
        "which errors matter most: relative (to the width of the bounds; default), equal, or one number per sum, then "
        "per mean: 1,1,4",
        "weights", read_weights,
    ),
    Flag(
        "diagnose", None,
        "also say how many people are beyond bounds and limits, for 2 % of the budget; in the names of its answers "
        "10_45 is from 10 % to 45 % of the width of the bounds",
        "diagnose", lambda flag, given: bool(given),
    ),
    Flag(
        "budget", "NAME=SHARE",
        "with private bounds: the share of μ² of bounds (default 0.06), zooms or clipped; with --keys-first: of keys",
        "budget", read_shares, often=True,
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
    asked = asked_fields(arguments, sources)
    return Request(asked.pop("source"), guarantee=guarantee, **asked)


def asked_fields(arguments: Namespace, sources: Sequence[str]) -> dict[str, Any]:
    """The fields of a request that the flags state, but for its guarantee."""
    if arguments.count and arguments.count_rows:
        raise RequestError(
            "--count together with --count-rows",
            "a question counts people or rows",
            "leave one out, or write a request with two questions",
            code="count-beside-count-rows",
        )
    fields = {flag.field: flag.read(flag.words, getattr(arguments, flag.name)) for flag in FLAGS if flag.field}
    for flag in FLAGS:
        if flag.field in ("by", "histograms", "proportions"):
            unsaid = [name for name, values in fields[flag.field].items() if values is None]
            check_values(flag.words, unsaid, {**fields["values"], **fields["bins"]})
    fields["by"] = with_found(fields["by"], arguments.by_found or ())
    fields["vector_means"] = with_vector_options(fields["vector_means"], arguments.vector_rows, arguments.normal)
    source: Any = sources[0] if sources else "data"
    promises = {name: getattr(arguments, name) for name in ("ids", "row_per_row", "line_per_record")}
    if any(promises.values()):
        source = {"path": source, **promises}
    return {
        "source": source,
        **fields,
        "count": "rows" if arguments.count_rows else arguments.count,
        "neighbours": arguments.neighbours or "add-remove",
    }


def rows_from(text: str | None) -> int | None:
    """The number of rows given by --rows, if any."""
    if text is None:
        return None
    rows = number("--rows", text)
    if not 1 <= rows < 1e18 or rows != int(rows):
        what, rule = f"--rows {text}", "it must be a number of records, 1 or more"
        raise RequestError(what, rule, "give an estimate, such as 10000", code="rows-flag-out-of-range", rows=text)
    return int(rows)
