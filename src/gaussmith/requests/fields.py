"""The fields of a request and of its questions: one entry for each, from which everything else is made.

An entry says the name, type and default of a field, and in its metadata how it is read, what it means, an example, its
form in the JSON Schema, its flags and its line in the form of the workbench. To add a field, add an entry here and the
code that uses it. `requests/readers.py` reads values, `cli/flags.py` the texts of flags.

This module needs the standard library alone: completions of the shell are made where nothing else is installed. So an
entry names its reader, and `requests/readers.py` looks the names up.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gaussmith.engines.addresses import IDS
from gaussmith.privacy.neighbours import ADD_REMOVE, NEIGHBOURS

if TYPE_CHECKING:
    from gaussmith.planning.answer_notes import About
    from gaussmith.privacy.guarantee import Guarantee

PERIODS = ("day", "week", "month", "quarter", "year")
"""What dates are cut by."""

MEANS_OF = ("rows", "units")
"""What means are over."""

NOISES = ("gaussian", "pure", "least")
"""The laws of noise that may be asked for."""

STATED = ("epsilon", "delta", "mu", "rho", "guess")
"""The fields of a guarantee."""

PRIVATE = "private"
"""What stands for bounds and cells that are learned from the data, in stages."""


# The forms of values in the JSON Schema.

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
NUMBER: Schema = {"type": "number"}
POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
WHOLE: Schema = {"type": "integer", "minimum": 1}
TRUTH: Schema = {"type": "boolean"}
NAMES: Schema = {"type": "array", "items": NAME, "uniqueItems": True}
NUMBERS: Schema = {"type": "array", "items": NUMBER}
PAIR: Schema = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
PRIVATE_WORD: Schema = {"const": PRIVATE}
FOUND_WORD: Schema = {"const": "found"}
SKIP_WORD: Schema = {"const": "skip"}
VALUES: Schema = {"type": "array", "minItems": 1}


def table(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    """A table with these keys and no others."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, **needed, "properties": dict(properties)}


def mapped(*forms: Schema) -> Schema:
    """A table from columns to one of these."""
    return {"type": "object", "additionalProperties": either(*forms)}


def either(*forms: Schema) -> Schema:
    return forms[0] if len(forms) == 1 else {"anyOf": list(forms)}


CELLS = table({
    "bins": VALUES,
    "equal": WHOLE,
    "log": {"type": "number", "exclusiveMinimum": 1},
    "by": {"enum": list(PERIODS)},
    "between": {"type": "array", "minItems": 2, "maxItems": 2},
})  # fmt: skip
BOUNDED = either(NAMES, mapped(PAIR, PRIVATE_WORD))
BOUNDS = either(PRIVATE_WORD, mapped(PAIR, PRIVATE_WORD))


@dataclass(frozen=True)
class Flag:
    """A flag of the command line. The form of its text (`metavar`) says how it is read; a switch has none."""

    name: str
    metavar: str | None
    help: str
    often: bool = False
    of_people: bool = False

    @cached_property
    def words(self) -> str:
        return "--" + self.name.replace("_", "-")


@dataclass(frozen=True)
class FieldEntry:
    """What is known of a field besides its name, type and default.

    help:     what it means
    example:  a value, in Python
    schema:   its form in a request file
    flags:    the flags that fill it; the first one alone, or all of them together
    read:     the function of `requests/readers.py` that makes the value which is kept, or refuses what was given
    line:     what a line of the workbench's form that fills it is called
    """

    help: str
    example: str
    schema: Schema
    flags: tuple[Flag, ...] = ()
    read: str = ""
    line: str = ""


def entry(
    help: str,
    example: str,
    schema: Schema,
    *flags: Flag,
    read: str = "",
    line: str = "",
) -> dict[str, FieldEntry]:
    """The metadata of a field."""
    return {"entry": FieldEntry(help, example, schema, flags, read, line)}


class FieldSignature:
    """What help, notebooks and editors show of a class whose `__new__` takes any word, to refuse wrong ones in ours."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        several = sorted((each for each in fields(owner) if each.init), key=lambda each: bool(each.kw_only))
        return inspect.Signature([_parameter(each) for each in several])


def usual(each: Field[Any]) -> Any:
    """What a field is where nothing is said."""
    return each.default if each.default_factory is MISSING else each.default_factory()


def _parameter(each: Field[Any]) -> inspect.Parameter:
    default = usual(each)
    kind = inspect.Parameter.KEYWORD_ONLY if each.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(each.name, kind, default=inspect.Parameter.empty if default is MISSING else default)


Bounds = Mapping[str, Any] | str
"""Columns with their bounds, or with the word for bounds that are learned; or this word for all columns."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Fields:
    """What may stand in a request itself, for all its questions, or in a question."""

    __signature__ = FieldSignature()

    sums: Any = field(default_factory=dict, metadata=entry(
        "columns; or columns with their bounds, which for a sum with a unit are those of a person's total",
        '{"income": (0, 200_000)}', BOUNDED,
        Flag("sum", "NAME[:LOW:HIGH]",
             "the sum of a column; each row is clipped to [LOW, HIGH], with --unit each person's total is, with --by "
             "in each group", often=True),
        read="read_bounded", line="sum",
    ))  # fmt: skip
    means: Any = field(default_factory=dict, metadata=entry(
        "columns, or columns with their bounds", '{"age": (0, 100)}', BOUNDED,
        Flag("mean", "NAME[:LOW:HIGH]", "the mean of a column, each row clipped to [LOW, HIGH]", often=True),
        read="read_bounded", line="mean",
    ))  # fmt: skip
    variances: Any = field(default_factory=dict, metadata=entry(
        "columns, or columns with their bounds; standard deviations come beside them", '{"age": (0, 100)}', BOUNDED,
        Flag("variance", "NAME[:LOW:HIGH]", "the variance and the standard deviation of a column", often=True),
        read="read_bounded", line="variance",
    ))  # fmt: skip
    covariance: Any = field(default_factory=dict, metadata=entry(
        "two columns or more, or with their bounds: covariances and correlations of every two", '["age", "bmi"]',
        BOUNDED,
        Flag("covariance", "NAME,NAME,…", "covariances and correlations of these columns; their bounds by --bounds"),
        read="read_several", line="covariance",
    ))  # fmt: skip
    regression: Any = field(default_factory=dict, metadata=entry(
        "one column on others: slopes and the constant; their bounds are in bounds",
        '{"of": "income", "on": ["age"]}', table({"of": NAME, "on": either(NAME, NAMES)}, ["of", "on"]),
        Flag("regression", "NAME~NAME+NAME…",
             "the linear regression of the first column on the others; bounds by --bounds"),
        read="read_regression",
    ))  # fmt: skip
    bounds: Bounds = field(default_factory=dict, metadata=entry(
        'bounds of one row, by column, for every answer about it; "private" for bounds that are learned from the data, '
        "of a column or of all (docs/bounds.md)",
        '{"age": (0, 100)}', BOUNDS,
        Flag("bounds", "NAME:LOW:HIGH",
             "the bounds of one row, for all answers about it; NAME:private or private: learned from the data, at a "
             "price", often=True),
        read="read_bounds",
    ))  # fmt: skip
    total_bounds: Bounds = field(default_factory=dict, metadata=entry(
        "bounds of a person's total over all rows, by column", '{"spent": (0, 500)}', BOUNDS,
        Flag("total_bounds", "NAME:LOW:HIGH",
             "the bounds of a person's total over all rows, with --by in each group; for sums with --unit", often=True),
        read="read_bounds",
    ))  # fmt: skip
    values: Mapping[str, Any] = field(default_factory=dict, metadata=entry(
        "the declared values of a column, for histograms and groups", '{"sex": ["f", "m"]}', mapped(VALUES),
        Flag("values", "NAME=VALUE,VALUE,…", "the declared values of a column, for --histogram NAME and --by NAME",
             often=True),
        read="read_values",
    ))  # fmt: skip
    bins: Mapping[str, Any] = field(default_factory=dict, metadata=entry(
        'the cells of a column of numbers or dates; in a request, "private" for cells that are found around quantiles '
        "(docs/quantiles.md)",
        '{"age": [18, 40, 65]}', mapped(VALUES, CELLS),
        Flag("bins", "NAME=EDGE,EDGE,…",
             "the cells of a column: edges, equal:20:0:100, log:10:1:1000, of dates month:2024-01:2024-12, or private",
             often=True),
        read="read_all_bins",
    ))  # fmt: skip
    quantiles: Mapping[str, Any] = field(default_factory=dict, metadata=entry(
        "quantiles of columns that have bounds or bins", '{"income": [0.1, 0.9]}',
        mapped(NUMBER, {**NUMBERS, "minItems": 1}),
        Flag("quantile", "NAME=LEVEL,…",
             "quantiles of a column with --bounds or --bins, such as income=0.1,0.9; with --unit of each person's own "
             "mean", often=True),
        read="read_quantiles", line="quantiles",
    ))  # fmt: skip
    medians: Any = field(default_factory=dict, metadata=entry(
        "columns, or columns with their bounds: quantiles at 0.5", '{"income": (0, 200_000)}', BOUNDED,
        Flag("median", "NAME[:LOW:HIGH]",
             "the median of a column; with --unit the median, over people, of each person's own mean", often=True),
        read="read_medians", line="median",
    ))  # fmt: skip
    marginals: Any = field(default_factory=tuple, metadata=entry(
        "tables over columns that have values or bins, which add up", '[["age", "sex"], ["region"]]',
        {"type": "array", "items": {"type": "array", "items": NAME, "minItems": 1}},
        Flag("marginal", "NAME,NAME,…", "a table over columns with --values or --bins", often=True),
        read="read_marginals", line="cross table",
    ))  # fmt: skip
    count: bool | str = field(default=False, metadata=entry(
        'true: the number of people; "rows": the number of rows', "True", {"enum": [True, False, "rows"]},
        Flag("count", None, "the number of people"), Flag("count_rows", None, "the number of rows instead"),
        read="read_count",
    ))  # fmt: skip
    histograms: Any = field(default_factory=dict, metadata=entry(
        "how many people have each of the declared values of a column, or are in each of its bins; or have each value "
        'that is found in the data: {"diagnosis": "found"}',
        '{"health": ["good", "poor"]}', either(NAMES, mapped(VALUES, CELLS, FOUND_WORD)),
        Flag("histogram", "NAME[=VALUE,VALUE,…]",
             "how many people (not rows) have each of these values, exactly; for ranges of numbers give NAME alone, "
             "and their edges by --bins NAME=0,10,20", often=True),
        read="read_counted", line="histogram",
    ))  # fmt: skip
    proportions: Any = field(default_factory=dict, metadata=entry(
        "the same as histograms, with the share of each value in all of them", '{"health": ["good", "poor"]}',
        either(NAMES, mapped(VALUES, CELLS)),
        Flag("proportion", "NAME[=VALUE,VALUE,…]",
             "the same, with the share of each value in the sum of these counts; a person who counts in several values "
             "is in that sum several times", often=True),
        read="read_counted", line="shares",
    ))  # fmt: skip
    by: Any = field(default_factory=dict, metadata=entry(
        'declared groups, or a list of combinations; or found in the data: {"airport": "found"} (docs/keys.md); or '
        'cells of numbers or dates: {"age": {"bins": [18, 40]}}',
        '{"region": ["north", "south"]}',
        either(NAME, NAMES, mapped(VALUES, FOUND_WORD, CELLS), {"type": "array", "items": {"type": "object"}}),
        Flag("by", "NAME[=KEY,KEY,…]", "answers for each of these groups; with several --by, for all combinations",
             often=True),
        Flag("by_found", "NAME", "answers for each key found in this column; groups with few people are not shown",
             often=True),
        read="read_keys",
    ))  # fmt: skip
    where: str | None = field(default=None, metadata=entry(
        "only rows where this holds (docs/expressions.md)", '"age >= 18"', TEXT,
        Flag("where", "TEXT", "use only rows where this is true, such as 'age >= 18'"),
        read="read_filter",
    ))  # fmt: skip
    columns: Mapping[str, str] = field(default_factory=dict, metadata=entry(
        "derived columns (docs/expressions.md)", '{"late": "days > 20"}', mapped(TEXT),
        Flag("column", "NAME=TEXT", "a derived column, such as 'bmi=weight / (height * height)'", often=True),
        read="read_expressions",
    ))  # fmt: skip
    person_columns: Mapping[str, str] = field(default_factory=dict, metadata=entry(
        "a person's own numbers; then each person is one row (docs/people.md)", '{"visits": "count()"}', mapped(TEXT),
        Flag("person_column", "NAME=TEXT",
             "a number of a person's own, such as 'visits=count()' or 'total=sum(spent)'", often=True, of_people=True),
        read="read_expressions",
    ))  # fmt: skip
    rows_per_unit: int | None = field(default=None, metadata=entry(
        'the limit on rows per person that count, for means over rows and for count = "rows"', "12", WHOLE,
        Flag("rows_per_unit", "K",
             "at most K rows per person count in means over rows (not in quantiles), with --by in each group; people "
             "with more are scaled down", of_people=True),
        read="read_limit",
    ))  # fmt: skip
    groups_per_unit: int | None = field(default=None, metadata=entry(
        "the number of groups a person counts in; must be given where there are groups and a unit", "2", WHOLE,
        Flag("groups_per_unit", "M",
             "each person counts in at most M groups, those with most rows; needed with --unit and --by",
             of_people=True),
        read="read_limit",
    ))  # fmt: skip
    group_weights: Any = field(default=None, metadata=entry(
        'how much the errors of a group matter; with several key columns {"region": {"north": 4}}; groups that are not '
        "named weigh 1",
        '{"north": 4}', either(mapped(NUMBER, mapped(NUMBER)), NUMBERS),
        Flag("group_weights", "KEY=W,…", "how much the errors of these groups matter; others weigh 1, such as north=4"),
        read="read_group_weights",
    ))  # fmt: skip
    values_per_unit: int | None = field(default=None, metadata=entry(
        "how many values of a histogram a person counts in; must be given where there is a unit", "2", WHOLE,
        Flag("values_per_unit", "K",
             "each person counts in at most K values of a histogram, those with most rows; needed with --unit, but "
             "with --by it is 1 in each group", of_people=True),
        read="read_limit",
    ))  # fmt: skip
    keys_at_least: int = field(default=1, metadata=entry(
        "found keys with fewer people are never shown", "20", WHOLE,
        Flag("keys_at_least", "N", "with --by-found: keys with fewer than N people are never shown", of_people=True),
        read="read_limit",
    ))  # fmt: skip
    top: int | None = field(default=None, metadata=entry(
        "show at most so many found groups, those with the largest noisy counts", "10", WHOLE,
        Flag("top", "N", "with --by-found: show at most N groups, those with the largest noisy counts",
             of_people=True),
        read="read_limit",
    ))  # fmt: skip
    mean_of: str = field(default="rows", metadata=entry(
        '"rows": means over rows; "units": means over people of each person\'s own mean', '"units"',
        {"enum": list(MEANS_OF)},
        Flag("mean_of", "WHAT", "rows (default), or units: every person has the same weight", of_people=True),
        read="read_mean_of",
    ))  # fmt: skip
    mean_within: Mapping[str, Any] | float = field(default_factory=dict, metadata=entry(
        "where means lie, for the errors stated before a release, or the middle fraction of the bounds, such as 0.5; "
        "by default anywhere within the bounds. It does not change the noise",
        '{"age": (30, 50)}', either(NUMBER, mapped(PAIR, NUMBER)),
        Flag("mean_within", "NAME:LOW:HIGH",
             "where the mean of a column lies, for the errors stated by a plan (default: anywhere within its bounds); "
             "does not change the noise", often=True),
    ))  # fmt: skip
    missing: Any = field(default="skip", metadata=entry(
        '"skip": a mean is over the values that are there; or what stands in for a missing value, by column. In a sum '
        "a missing value adds 0",
        '{"age": 40}', either(SKIP_WORD, mapped(NUMBER, SKIP_WORD)),
        Flag("missing", "NAME=VALUE",
             "the value used where NAME is missing (default: means are over the values that are there, and a missing "
             "value adds 0 to a sum)", often=True),
        read="read_missing",
    ))  # fmt: skip
    complete: Sequence[str] = field(default=(), metadata=entry(
        "columns that have a value in every row: a promise, by which their means need less noise", '["age"]', NAMES,
        Flag("complete", "NAME", "promise that NAME has a value in every row: its mean then needs less noise",
             often=True),
        read="read_complete",
    ))  # fmt: skip
    weights: Any = field(default="relative", metadata=entry(
        'which errors matter: "relative" (to what one person can change), "equal", or one number per sum, then per '
        "mean",
        '"equal"', either({"enum": ["relative", "equal"]}, NUMBERS),
        Flag("weights", "W",
             "which errors matter most: relative (to the width of the bounds; default), equal, or one number per sum, "
             "then per mean: 1,1,4"),
    ))  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class QuestionFields(Fields):
    """What may stand in a question alone."""

    name: str = field(default="", kw_only=False, metadata=entry(
        "what the question is called", '"adults"', TEXT, read="read_name",
    ))  # fmt: skip
    share: float | None = field(default=None, metadata=entry(
        "its share of μ², relative to those of the others; without any, questions are planned together", "2", POSITIVE,
        read="read_share",
    ))  # fmt: skip
    error_at_most: float | None = field(default=None, metadata=entry(
        "the largest standard error allowed in its sums, counts and cells; all else is as good as it gets", "50",
        POSITIVE,
        read="read_error",
    ))  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class RequestFields(Fields):
    """What may stand in a request alone."""

    source: Any = field(kw_only=False, repr=False, metadata=entry(  # a frame would show its values
        "the data: a path relative to the request file, an address, a frame, or a table with the path and what is "
        "known of it (docs/people.md)",
        '"visits.parquet"',
        either(NAME, table({"path": NAME, "ids": {"enum": list(IDS)}, "row_per_row": TRUTH,
                            "line_per_record": TRUTH}, ["path"])),
        Flag("ids", "KIND", "the type of ids: text, or integer (17, 017 and 17.0 are one person)", of_people=True),
        Flag("row_per_row", None,
             "promise that each row of a query or a view (duckdb://…) depends on the rows of one person only",
             of_people=True),
        Flag("line_per_record", None, "each line of a CSV file is one record, whatever quotes it contains",
             of_people=True),
    ))  # fmt: skip
    unit: str | None = field(default=None, metadata=entry(
        "the column that identifies the person; without it each row is one person", '"person"', NAME,
        Flag("unit", "NAME", "the column that identifies the person (default: each row is a person)", of_people=True),
    ))  # fmt: skip
    keys_delta: float | None = field(default=None, metadata=entry(
        "the part of δ spent on keys found in the data", "1e-7",
        {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        Flag("keys_delta", "D",
             "with --by-found: the part of δ spent on finding keys (default: the most that fits); with --mu or --rho "
             "the probability beside it", of_people=True),
    ))  # fmt: skip
    keys_first: bool = field(default=False, metadata=entry(
        "find keys in a stage of its own, and answer about the keys that were shown", "True", TRUTH,
        Flag("keys_first", None,
             "with --by-found: find keys in a stage of its own, and choose each person's groups among the keys shown",
             of_people=True),
    ))  # fmt: skip
    diagnose: bool | Sequence[str] = field(default=False, metadata=entry(
        "also say how many people are beyond bounds and limits, of all or of some columns (docs/diagnosis.md)", "True",
        either(TRUTH, NAMES),
        Flag("diagnose", None,
             "also say how many people are beyond bounds and limits, for 2 % of the budget"),
    ))  # fmt: skip
    budget: Mapping[str, float] = field(default_factory=dict, metadata=entry(
        "shares of the stages that learn private bounds or find keys first", '{"bounds": 0.1}', mapped(NUMBER),
        Flag("budget", "NAME=SHARE",
             "with private bounds: the share of μ² of bounds (default 0.06), zooms or clipped; with --keys-first: of "
             "keys", often=True),
    ))  # fmt: skip
    guarantee: Guarantee = field(default=None, metadata=entry(  # type: ignore[assignment]  # refused in words
        "how well people are protected: epsilon and delta, epsilon alone, mu, rho, or guess",
        "Guarantee(epsilon=1, delta=1e-6)",
        {**table({**dict.fromkeys(STATED, POSITIVE), "delta": {"type": "number", "minimum": 0}}),
         "oneOf": [{"required": [name]} for name in ("epsilon", "mu", "rho", "guess")],
         "dependencies": {"delta": ["epsilon"]}},
    ))  # fmt: skip
    noise: str | None = field(default=None, metadata=entry(
        'the law of the noise: "gaussian"; "pure", with ε alone and δ = 0; or "least", the one with less error. '
        "Gaussian by default, pure where ε is stated alone",
        '"least"', {"enum": list(NOISES)},
        Flag("noise", "LAW", "gaussian (default), pure (ε alone, δ = 0), or least: the one with less error"),
        read="read_noise",
    ))  # fmt: skip
    neighbours: str = field(default=ADD_REMOVE, metadata=entry(
        "add-remove: the number of people is secret; replace-one: it is public", '"add-remove"',
        {"enum": list(NEIGHBOURS)},
    ))  # fmt: skip
    questions: Sequence[Any] = field(default=(), metadata=entry(
        "several questions under one guarantee", '[Question("a", count=True)]', {"type": "array"},
    ))  # fmt: skip
    about: About | Mapping[str, Any] | None = field(default=None, metadata=entry(
        "who publishes this, for which purpose, and why with these numbers (docs/publishing.md)",
        '{"curator": "…", "purpose": "…"}', {"type": "object", "additionalProperties": False},
    ))  # fmt: skip


def entries_of(owner: type[Fields]) -> dict[str, FieldEntry]:
    """The fields of a class with their entries."""
    return {each.name: each.metadata["entry"] for each in fields(owner) if "entry" in each.metadata}


SHARED = tuple(entries_of(Fields))
"""What may stand in the request itself, or in a question."""

ENTRIES = {**entries_of(RequestFields), **entries_of(QuestionFields)}
"""All fields, by name."""

KEYS = tuple({"questions": "question"}.get(name, name) for name in entries_of(RequestFields))
"""The fields of a TOML request."""


def described(owner: type[Fields]) -> str:
    """The fields with an example and what each means, a paragraph each: for docstrings."""
    lines = []
    for name, each in entries_of(owner).items():
        told = textwrap.wrap(each.help, 110, initial_indent=" " * 8, subsequent_indent=" " * 8)
        lines += [f"    {name}={each.example}", *told]
    return "\n".join(lines)
