"""How the fields of a request and of its questions are read: their form, without any data.

Bounds and declared values may stand once, in `bounds`, `total_bounds` and `values`. A field that names a column alone
is completed from there by `Question.settled`; until then such a column is mapped to None.
"""

from __future__ import annotations

import datetime
import math
import os
import re
import tomllib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from gaussmith.checks import check_whole, is_list, is_number, repeated
from gaussmith.domains.groups import FOUND
from gaussmith.engines.addresses import nearest_file, without_secrets
from gaussmith.errors import DomainError, RequestError, meant_names, nearest, nearest_name, wrong_value
from gaussmith.expressions.grammar import parse
from gaussmith.notations import TOML, notation, setting
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.requests.bins import (
    Bins,
    SettledQuantiles,
    SettledTables,
    is_binned,
    read_bins,
)
from gaussmith.requests.fields import MEANS_OF, NOISES, PRIVATE, STATED, QuestionFields, entries_of
from gaussmith.statistics.asking import check_regression

EXAMPLE = ["good", "fair", "poor"]
"""Values of a column, where an error has none to name."""

KNOWN = "every column needs two numbers, known without looking at the data"
"""The rule of bounds."""

Pair = tuple[float, float]


# Columns with what is said of each: a mapping, or a list of names where it is said elsewhere.


def read_bounds(which: str, bounds: Any) -> Any:
    """Columns with their bounds, or with the word for private ones."""
    if bounds == PRIVATE and which in ("bounds", "total_bounds"):
        return bounds  # bounds are put in by `requests.private_bounds` before a question is settled
    if not isinstance(bounds, Mapping):
        example = {_column(bounds, "age"): [0, 100]}
        raise wrong_value(which, bounds, "it must map columns to bounds", example, code="bounds-not-a-mapping")
    return {str(column): _pair(which, str(column), pair) for column, pair in bounds.items()}


def _pair(which: str, column: str, pair: Any) -> Pair | str:
    if isinstance(pair, list | tuple) and len(pair) == 2 and all(map(is_plain, pair)):
        return float(pair[0]), float(pair[1])
    if is_private(pair):
        return PRIVATE
    what = f"bounds of {column!r} = {pair!r}"[:120]
    remedy = f"write {setting(which, {column: [0, 100]})}, or {setting(which, {column: PRIVATE})}"
    raise DomainError(what, KNOWN, remedy, code="request-bounds-not-two-numbers", column=column, bounds=pair)


def read_bounded(which: str, columns: Any) -> dict[str, Any]:
    """Columns with their bounds; a list of names, or a column with None, where these are said in `bounds`."""
    return _read_columns(which, columns, read_bounds, {"age": [0, 100]}, "bounds")


def read_medians(which: str, columns: Any) -> dict[str, Any]:
    """As `read_bounded`."""
    if not isinstance(columns, Mapping) and not is_list(columns):
        column = _column(columns, "income")
        what, rule = f"{which}={columns!r}"[:120], "it must list columns, or map columns to bounds"
        remedy = f"write {setting('medians', [column])}, or {setting('medians', {column: [0, 200000]})}"
        raise RequestError(what, rule, remedy, code="medians-not-listed", medians=columns)
    return read_bounded(which, columns)


def read_several(which: str, columns: Any) -> dict[str, Any]:
    """Two columns or more, as `read_bounded`."""
    found = read_bounded(which, columns)
    if len(found) == 1:
        what, rule = f"{which} of one column, {next(iter(found))!r}", "it needs two columns or more"
        remedy = f"write {setting(which, ['age', 'bmi'])}, or variances for one column"
        raise RequestError(what, rule, remedy, code="covariance-of-one-column", which=which)
    return found


def read_regression(which: str, wanted: Any) -> dict[str, Any]:
    """The column that is explained, then those that explain; their bounds are in `bounds`."""
    if isinstance(wanted, Mapping) and all(pair is None or _is_pair(pair) for pair in wanted.values()):
        return read_bounded(which, wanted)  # nothing is asked, or this was read before
    names = named_in(wanted) if isinstance(wanted, Mapping) and {*wanted} == {"of", "on"} else []
    if len(names) < 2 or not all(isinstance(name, str) and name for name in names):
        rule, example = (
            "it must say which column is explained, and by which others",
            {"of": "income", "on": ["age", "bmi"]},
        )
        raise wrong_value(which, wanted, rule, example, code="request-regression-malformed")
    check_regression(names)
    return dict.fromkeys(names)


def named_in(regression: Mapping[str, Any]) -> list[Any]:
    """The columns of a regression: the one that is explained, then those that explain."""
    on = regression.get("on", ())
    return [regression.get("of"), *([on] if isinstance(on, str) else on if is_list(on) else ())]


def _is_pair(given: Any) -> bool:
    return is_list(given) and len(given) == 2 and all(map(is_plain, given))


def read_values(which: str, columns: Any) -> dict[str, list[Any]]:
    """Columns with their declared values; the rules of values are those of `Cells`."""
    if not isinstance(columns, Mapping):
        rule, example = "it must map columns to lists of values", {_column(columns, "health"): EXAMPLE}
        raise wrong_value(which, columns, rule, example, code="values-not-a-mapping")
    for column, values in columns.items():
        if not is_list(values) or not values:
            what, rule = (
                f"values of {column!r} = {values!r}"[:120],
                "list at least one value, chosen without looking at the data",
            )
            remedy = f"write {setting(which, {column: words_of(values, EXAMPLE)})}"
            raise DomainError(what, rule, remedy, code="histogram-values-not-listed", column=column, values=values)
    return {str(column): read_dates(values) for column, values in columns.items()}


def read_counted(which: str, columns: Any) -> dict[str, Any]:
    """Columns with their declared values or bins; names alone (or None) where these are in `values` or `bins`.

    The values of a histogram may be found in the data.
    """

    def read_cells(which: str, given: Any) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            return read_values(which, given)
        cells = {str(name): read_bins(str(name), each) for name, each in given.items() if is_binned(each)}
        cells |= {str(name): each for name, each in given.items() if which == "histograms" and is_found(each)}
        return {**read_values(which, {name: each for name, each in given.items() if str(name) not in cells}), **cells}

    return _read_columns(which, columns, read_cells, {"health": EXAMPLE}, "values")


def _read_columns(
    which: str, columns: Any, read: Callable[[str, Any], dict[str, Any]], example: Mapping[str, Any], said: str
) -> dict[str, Any]:
    """Columns with what `read` makes of what is beside each; None where it stands elsewhere."""
    if isinstance(columns, Mapping):
        found = read(which, {name: given for name, given in columns.items() if given is not None})
        return {str(name): found.get(str(name)) for name in columns}
    if not is_list(columns):
        return read(which, columns)  # which refuses it
    if not all(isinstance(name, str) and name for name in columns):
        rule = f"it must map columns to their {said}, or list columns whose {said} are in {said}"
        raise wrong_value(which, columns, rule, example, code="columns-not-listed")
    if (name := repeated(columns)) is not None:
        what, rule = f"{name!r} twice in {which}", "each column is asked once"
        raise RequestError(what, rule, "leave one out", code="column-listed-twice", which=which, column=name)
    return dict.fromkeys(columns)


def without(said: Mapping[str, Any], columns: Container[str]) -> dict[str, Any]:
    """What is said of all but these columns."""
    return {column: given for column, given in said.items() if column not in columns}


def is_private(given: Any) -> bool:
    """Whether this stands for bounds or cells that are learned."""
    return isinstance(given, str) and given == PRIVATE


def is_found(keys: Any) -> bool:
    """Whether this stands for keys that are found in the data."""
    return isinstance(keys, str) and keys == FOUND


def read_keys(which: str, by: Any) -> Any:
    """Declared keys with dates as texts; names alone where keys are in `values`. Their rules are those of `Groups`."""
    if isinstance(by, Mapping):
        return {str(column): _keys_of(str(column), keys) for column, keys in by.items()}
    names = [by] if isinstance(by, str) else by
    if is_list(names) and names and all(isinstance(name, str) and name for name in names):
        return dict.fromkeys(names)
    if is_list(by) and all(isinstance(group, Mapping) for group in by):
        return [dict(zip(group, read_dates(list(group.values())), strict=True)) for group in by]
    rule = "it must map columns to lists of keys, or list combinations of keys"
    raise wrong_value(which, by, rule, {"region": ["north", "south"]}, code="by-malformed")


def _keys_of(column: str, keys: Any) -> Any:
    """The declared keys of one column."""
    if is_binned(keys):
        return read_bins(column, keys)
    if isinstance(keys, str) and not is_found(keys):
        what, rule = f"keys of {column!r} = {keys!r}"[:120], "its keys are a list of at least one"
        remedy = f"write {setting('by', {column: words_of(keys, EXAMPLE)})}"
        raise DomainError(what, rule, remedy, code="keys-not-listed", column=column, values=keys)
    return read_dates(keys) if isinstance(keys, list | tuple) else keys


def read_group_weights(which: str, weights: Any) -> Any:
    """Weights of groups by key, by column and key, or in the order of groups; None where all weigh the same.

    Their rules are those of `Groups`, which knows the keys.
    """
    if isinstance(weights, Mapping):
        return {key: dict(each) if isinstance(each, Mapping) else each for key, each in weights.items()} or None
    return list(weights) if isinstance(weights, tuple) else weights


def read_dates(keys: Sequence[Any]) -> list[Any]:
    """Keys with dates as texts."""
    for key in keys:
        if isinstance(key, datetime.datetime) and key.time() != datetime.time():
            what, rule = f"key {key.isoformat()}", "dates are matched without a time of day"
            raise DomainError(what, rule, "write a date without a time", code="key-date-with-time", key=key.isoformat())
    return [key.isoformat()[:10] if isinstance(key, datetime.date) else key for key in keys]


def read_all_bins(which: str, given: Any) -> dict[str, Bins]:
    """The cells of columns, said once."""
    if not isinstance(given, Mapping):
        rule, example = "it must map columns to edges", {"age": [18, 40, 65]}
        raise wrong_value(which, given, rule, example, code="bins-not-a-mapping")
    return {str(column): read_bins(str(column), each) for column, each in given.items()}


def read_marginals(which: str, given: Any) -> Any:
    """Tables by their columns, in order; refuses all else in words of its own."""
    if isinstance(given, SettledTables) or given == {}:
        return given or ()
    if not is_list(given):
        rule, example = "it must list tables, each a list of columns", [["age", "sex"], ["region"]]
        raise wrong_value(which, given, rule, example, code="marginals-not-listed")
    for table in given:
        _check_table(table)
    if (twice := repeated([frozenset(table) for table in given])) is not None:
        table = next(table for table in given if {*table} == twice)
        what, rule = f"marginal {list(table)!r} twice"[:120], "each table is asked once"
        raise RequestError(what, rule, "leave one out", code="table-twice", marginal=table)
    return tuple(map(tuple, given))


def _check_table(table: Any) -> None:
    what = f"marginal {table!r}"[:120]
    if not is_list(table) or not all(isinstance(column, str) for column in table):
        remedy = f"write {setting('marginals', [[table] if isinstance(table, str) else ['age', 'sex']])}"
        raise RequestError(what, "a table is a list of columns", remedy, code="marginal-not-a-list", marginal=table)
    if not table:
        rule, remedy = "a table has at least one column", f"ask for {setting('count', True)} instead"
        raise RequestError("a marginal of no columns", rule, remedy, code="marginal-without-columns")
    if repeated(table) is not None:
        rule = "a column is in a table once"
        raise RequestError(what, rule, "leave one out", code="marginal-column-twice", marginal=table)


def read_quantiles(which: str, given: Any) -> dict[str, Any]:
    """Columns with their levels, in order; refuses all else in words of its own."""
    if not isinstance(given, Mapping):
        rule, example = "it must map columns to levels", {_column(given, "income"): LEVELS}
        raise wrong_value(which, given, rule, example, code="quantiles-not-a-mapping")
    return {str(column): _levels(str(column), levels) for column, levels in given.items()}


LEVELS = [0.1, 0.5, 0.9]
"""Levels of quantiles, where an error has none to name."""


def _levels(column: str, given: Any) -> tuple[float, ...] | SettledQuantiles:
    if isinstance(given, SettledQuantiles):
        return given
    levels = [given] if is_number(given) else given
    if not is_list(levels) or not levels:
        what, rule = f"quantiles of {column!r} = {given!r}"[:120], "list at least one level between 0 and 1"
        remedy = f"write {setting('quantiles', {column: LEVELS})}"
        raise RequestError(what, rule, remedy, code="quantile-levels-not-listed", column=column)
    for level in levels:
        _check_level(column, level)
    if (twice := repeated(levels)) is not None:
        what = f"quantile {float(twice)!r} of {column!r} twice"
        raise RequestError(what, "each level is asked once", "leave one out", code="quantile-twice", column=column)
    return tuple(map(float, levels))


def _check_level(column: str, level: Any) -> None:
    what = f"quantile {level!r} of {column!r}"[:120]
    if not is_number(level):
        remedy = f"write {setting('quantiles', {column: LEVELS})}"
        raise RequestError(what, "a level is a number", remedy, code="quantile-level-not-a-number", column=column)
    if not 0 < level < 1:
        inside = isinstance(level, int | float) and 1 < level < 100
        remedy = f"write {level / 100:g} for {level:g} %" if inside else "write 0.5 for the median"
        rule = "a level is above 0 and below 1: the smallest and the largest value belong to one person"
        raise RequestError(what, rule, remedy, code="quantile-outside-0-1", column=column, level=level)


def read_expressions(which: str, texts: Any) -> dict[str, str]:
    """Names with their expressions; names of columns and their kinds are checked when the source is there."""
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        rule, example = "it must map names to expressions", {"bmi": "weight / (height * height)"}
        raise wrong_value(which, texts, rule, example, code="expressions-not-a-mapping")
    for text in texts.values():
        parse(text, of_people=which == "person_columns")
    return {str(name): text for name, text in texts.items()}


SKIP = "skip"
"""What `missing` says of values that are left out."""


def read_missing(which: str, missing: Any) -> dict[str, float]:
    """What stands in for missing values, by column; nothing where they are left out."""
    if missing == SKIP:
        return {}
    if not isinstance(missing, Mapping):
        rule = 'it must be "skip", or map columns to numbers'
        raise wrong_value(which, missing, rule, {"age": 40}, code="missing-not-a-mapping")
    for column, value in missing.items():
        if not is_plain(value) and value != SKIP:
            what, rule = f"missing of {column!r} = {value!r}", 'it must be a number, or "skip"'
            example = f"write {setting('missing', {column: 40})}"
            raise RequestError(what, rule, example, code="missing-not-a-number", column=column, missing=value)
    return {str(column): value for column, value in missing.items() if value != SKIP}


def read_complete(which: str, columns: Any) -> tuple[str, ...]:
    """The columns that are promised to have a value in every row."""
    if not is_list(columns) or not all(isinstance(name, str) for name in columns):
        rule, example = "it must list columns that have a value in every row", words_of(columns, ["age"])
        raise wrong_value(which, columns, rule, example, code="complete-not-listed")
    return tuple(dict.fromkeys(columns))


# Fields with one value.


def read_count(which: str, count: Any) -> Any:
    """Whether people are counted, or "rows"."""
    if not isinstance(count, bool) and count != "rows":
        raise wrong_value(which, count, 'it must be true, false or "rows"', True, code="unknown-count")
    return count


def read_truth(which: str, value: Any) -> bool:
    """The value itself; refuses what is neither true nor false."""
    if not isinstance(value, bool):
        raise wrong_value(which, value, "it must be true or false", True, code="not-a-truth")
    return value


def read_filter(which: str, text: Any) -> str:
    """The text of a filter."""
    if not isinstance(text, str):
        raise wrong_value(which, text, "a filter must be text", "age >= 18", code="where-not-text")
    parse(text)
    return text


def read_mean_of(which: str, mean_of: Any) -> str:
    """What means are over."""
    if mean_of not in MEANS_OF:
        rule, remedy = 'it must be "rows" or "units"', nearest(str(mean_of), MEANS_OF)
        raise RequestError(f"mean_of={mean_of!r}", rule, remedy, code="unknown-mean-of", mean_of=mean_of)
    return str(mean_of)


def read_limit(which: str, limit: Any) -> int:
    """A limit as a whole number of Python's own."""
    most = MAX_ROWS if which == "rows_per_unit" else None
    return check_whole(which, limit, 1, most, remedy=lambda near: f"write {setting(which, near)}")


MAX_ROWS = 1 << 20
"""Limit on the rows of a person that count."""


def read_name(which: str, name: Any) -> str:
    """The name of a question."""
    if not isinstance(name, str) or not name.isprintable() or name != name.strip():
        what, rule = f"name={name!r}", "the name of a question must be printable text"
        raise RequestError(what, rule, "choose another name", code="question-name-unusable", name=name)
    return name


def read_share(which: str, share: Any) -> Any:
    """The share of a question."""
    if not _is_positive(share):
        raise wrong_value(which, share, "a share must be a number above 0", 2, code="share-not-positive")
    return share


def read_error(which: str, error: Any) -> Any:
    """The largest error that is allowed."""
    if not _is_positive(error):
        raise wrong_value(which, error, "it is a standard error above 0", 50, code="error-limit-not-positive")
    return error


def _is_positive(given: Any) -> bool:
    return is_plain(given) and 0 < given < math.inf


def read_unit(which: str, unit: Any) -> str:
    """The column that identifies people."""
    if not isinstance(unit, str) or not unit:
        raise wrong_value(which, unit, "it must be the name of a column", "person", code="unit-not-a-name")
    return unit


def words_of(given: Any, usual: list[str]) -> list[str]:
    """What was written as one text, as a list of words; `usual` where there is nothing to go by.

    >>> words_of("East, West", ["a", "b"]), words_of(3, ["a", "b"])
    (['East', 'West'], ['a', 'b'])
    """
    words = [word.strip() for word in given.replace(";", ",").split(",")] if isinstance(given, str) else []
    return words if words and all(words) else usual


def _column(given: Any, usual: str) -> str:
    """The column that is named where more was wanted; `usual` where none is."""
    return given if isinstance(given, str) and given else usual


def is_plain(value: Any) -> bool:
    """Whether this is a number that a request file can hold."""
    return isinstance(value, int | float) and is_number(value)


def read_noise(which: str, noise: Any) -> str | None:
    """The law of the noise, if one is asked for."""
    if noise is not None and noise not in NOISES:
        rule = f"it must be one of: {', '.join(NOISES)}"
        raise wrong_value(which, noise, rule, "least", code="unknown-noise")
    return None if noise is None else str(noise)


def read_guarantee(given: Any) -> Guarantee:
    """The guarantee of a request, or the one that a table states."""
    if isinstance(given, Guarantee):
        return given
    if not isinstance(given, Mapping):
        shown = f"={given!r}"[:100] if isinstance(given, str | int | float) else f" of type {type(given).__name__}"
        what = "no guarantee" if given is None else f"guarantee{shown}"
        rule = "a request must say how well people are protected"
        remedy = f"write {setting('guarantee', {'epsilon': 1, 'delta': 1e-6})}"
        raise RequestError(what, rule, remedy, code="request-without-guarantee", guarantee=given)
    for key in given:
        if key not in STATED:
            what, rule = f"unknown key {key!r} in guarantee", "it has no such key"
            raise RequestError(what, rule, nearest_name(key, STATED), code="unknown-key-in-guarantee", key=key)
    return Guarantee(**given)


# What reads which field.

READERS: dict[str, Callable[[str, Any], Any]] = {
    name: globals()[each.read] for name, each in entries_of(QuestionFields).items() if each.read
}
"""What reads a field that has a form of its own, as its entry says."""

OF_BOUNDED = (read_bounded, read_several, read_regression)
"""What reads columns that need bounds of one row."""


# The fields of a request as people write them: None for nothing, other names, columns here and above, many paths.

OF_A_RELEASE = ("ledger", "id", "engine", "master")
"""Arguments of a release, not of a request."""


def refuse_unknown(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse keywords that a request or a question does not have, with the one that was meant."""
    for name in given:
        if name not in names:
            what, code = f"unknown field {name!r}", "unknown-field-of-request"
            raise RequestError(what, *misplaced(name, given, names), code=code, field=name)


def misnamed(name: str, names: Sequence[str]) -> tuple[str, str]:
    """The rule that the name of a field breaks which does not exist, and what to write.

    >>> misnamed("mean", ["sums", "means"])
    ('there is no such field; one field asks for several columns', 'write means=…')
    >>> misnamed("median", ["sums", "means"])
    ('there is no such field', 'choose one of: sums, means')
    """
    rule = "there is no such field"
    if f"{name.lower()}s" in names:
        rule += "; one field asks for several columns"
    return rule, nearest_name(name, names)


def joined_columns(above: Mapping[str, str], here: Mapping[str, str]) -> dict[str, str]:
    """The derived columns of a request and those of a question; refuses a name that both have."""
    for name in here:
        if name in above:
            what, rule = f"column {name!r} is derived twice", "every derived column needs its own name"
            raise RequestError(what, rule, "rename one", code="column-derived-twice", column=name)
    return {**above, **here}


def refuse_unasked(missing: Iterable[str], mean_within: Any, questions: Sequence[Any]) -> None:
    """Refuse columns of missing, complete and mean_within that no question asks about."""
    for column in missing:
        if not any(column in q.columns_of_numbers for q in questions):
            what = f"missing or complete names {column!r}"
            rule = "it must be a column that is asked for"
            remedy = "leave it out, or ask for it"
            raise RequestError(what, rule, remedy, code="missing-of-unasked-column", column=column)
    for column in mean_within if isinstance(mean_within, Mapping) else ():
        if not any(column in q.means for q in questions):
            what, rule = f"mean_within names {column!r}", "it must be a column whose mean is asked for"
            remedy = "leave it out, or ask for its mean"
            raise RequestError(what, rule, remedy, code="mean-within-of-unasked-mean", column=column)


def fill_absent(made: Any) -> None:
    """Give fields that were said to be None what they would be without a word; those that may be None stay."""
    for each in fields(made):
        if each.init and getattr(made, each.name, None) is None:
            if each.default_factory is not MISSING:
                object.__setattr__(made, each.name, each.default_factory())
            elif each.default not in (MISSING, None):
                object.__setattr__(made, each.name, each.default)


def refuse_paths(source: Any) -> None:
    """Refuse a list of paths as a source: its entries would be counted as rows. Says nothing of what they are."""
    if isinstance(source, list | tuple) and source and _all_paths(source):
        raise RequestError(
            "source is a list of texts",
            "a release reads one source, and the entries of a list are rows of data",
            "for several files write a pattern such as 'visits/*.parquet' or the name of their folder, "
            "or open them yourself and pass the frame: polars.scan_parquet([…])",
            code="source-is-a-list-of-paths",
        )


def _all_paths(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str | os.PathLike) for value in values)


def misplaced(key: str, fields: Mapping[str, Any], names: Sequence[str]) -> tuple[str, str]:
    """The rule that a key breaks which no request has, and where it belongs."""
    in_file = notation() == TOML
    if _stated_name(key):
        stated = {_stated_name(name): value for name, value in fields.items()}
        stated.pop("", None)
        if "epsilon" in stated:
            stated.setdefault("delta", 1e-6)
        if in_file:
            return "the guarantee is stated in one table", f"write {setting('guarantee', stated)}"
        remedy = f"write {setting('guarantee', dict.fromkeys(stated, ...))} in gaussmith.Request"
        return "the guarantee of a request is one value", remedy
    if key in OF_A_RELEASE:
        called = f"gaussmith.release(request, {key}=…)"
        called = f"gaussmith release REQUEST.toml --{key} …, or {called}" if in_file else called
        beside = f"; the column that says whose row it is: {setting('unit', ...)}" if key == "id" else ""
        return "it is not part of a request; give it when you release", f"write {called}{beside}"
    if key == "vector_means":
        rule = "means of columns with unknown range are released by a call of their own, in Python"
        return rule, 'write gaussmith.papers.vector_means("people.parquet", ["height", "weight"], guarantee=…)'
    return misnamed(key, names)


def _stated_name(key: str) -> str:
    """The number of a guarantee that is meant by a key; empty where none is."""
    return key if key in STATED else "".join(meant_names(key, STATED))


def unknown_key(key: str, fields: Mapping[str, Any], names: Sequence[str]) -> RequestError:
    """The reason for refusing a key that no request has."""
    return RequestError(f"unknown key {key!r}", *misplaced(key, fields, names), code="unknown-key-in-request", key=key)


def read_toml(path: str | Path) -> dict[str, Any]:
    """The table in a TOML file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors put a mark at the beginning
    except FileNotFoundError:
        what, rule = f"request file {without_secrets(path)!r}", "it does not exist"
        remedy = nearest_file(os.fspath(path)) or "check the name"
        raise RequestError(what, rule, remedy, code="no-such-request-file", file=without_secrets(path)) from None
    except (OSError, UnicodeDecodeError):
        what = f"request file {without_secrets(path)!r}"
        rule = "it cannot be read as text"
        remedy = "check the file"
        raise RequestError(what, rule, remedy, code="request-file-not-text", file=without_secrets(path)) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem, _, place = str(error).removesuffix(")").partition(" (at ")
        number = re.match(r"line (\d+)", place)
        line = text.split("\n")[int(number[1]) - 1].strip() if number else ""
        what = f"request file {without_secrets(path)!r}" + (f", line {number[1]}" if number else "")
        shown = f"\n    {without_secrets(line)}"[:100] if line else ""
        remedy = _meant_in_toml(line)
        rule = f"it is not TOML: {problem}"
        raise RequestError(
            f"{what}{shown}", rule, remedy, code="request-file-not-toml", file=without_secrets(path)
        ) from None


def _meant_in_toml(line: str) -> str:
    """What to write in place of a line that is not TOML.

    >>> print(_meant_in_toml("count = True"), _meant_in_toml("where = age >= 18"), sep="; ")
    true and false are written in small letters: count = true; text goes in quotes: where = "age >= 18"
    """
    name, sign, value = (part.strip() for part in line.partition("="))
    if sign and value.lower() in ("true", "false", "yes", "no"):
        meant = "true" if value.lower() in ("true", "yes") else "false"
        return f"true and false are written in small letters: {name} = {meant}"
    if sign and value[:1].isalpha() and '"' not in value and without_secrets(line) == line:
        return f'text goes in quotes: {name} = "{value}"'
    return "mend that line: text goes in quotes, true and false are written in small letters"
