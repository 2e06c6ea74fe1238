"""The fields that a request and its questions share, and how each is read: its form, without any data.

Bounds and declared values may be said once, in `bounds`, `total_bounds` and `values`; a field that names a column alone
is then completed by `settle` (requests.bounds). Until then such a column is mapped to None.
"""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, field
from dataclasses import fields as dataclass_fields
from typing import Any

from gaussmith.checks import is_number
from gaussmith.domains import FOUND
from gaussmith.errors import DomainError, RequestError
from gaussmith.requests.bins import PRIVATE, is_binned, read_all_bins, read_bins
from gaussmith.requests.marginals import read_marginals
from gaussmith.requests.quantiles import read_medians, read_quantiles
from gaussmith.requests.toml_text import toml_key, toml_keys
from gaussmith.statistics.asking_moments import check_regression
from gaussmith.values import dataclass

EXAMPLE = '["good", "fair", "poor"]'
"""Values of a column, where an error has none to name."""

Bounds = Mapping[str, Any] | str
"""Columns with their bounds, or with the word for bounds that are learned; or this word for all columns."""


class FieldSignature:
    """What help, notebooks and editors show of a class whose `__new__` takes any word, to refuse wrong ones in ours."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        several = sorted((each for each in dataclass_fields(owner) if each.init), key=lambda each: bool(each.kw_only))
        return inspect.Signature([_parameter(each) for each in several])


def _parameter(each: Field[Any]) -> inspect.Parameter:
    default = each.default if each.default_factory is MISSING else each.default_factory()
    kind = inspect.Parameter.KEYWORD_ONLY if each.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(each.name, kind, default=inspect.Parameter.empty if default is MISSING else default)


@dataclass(frozen=True, eq=False, kw_only=True)
class Fields:
    """What may stand in a request itself, for all its questions, or in a question. `Question` says what each means."""

    __signature__ = FieldSignature()

    bounds: Bounds = field(default_factory=dict)
    total_bounds: Bounds = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    bins: Mapping[str, Any] = field(default_factory=dict)
    sums: Any = field(default_factory=dict)
    means: Any = field(default_factory=dict)
    variances: Any = field(default_factory=dict)
    covariance: Any = field(default_factory=dict)
    regression: Any = field(default_factory=dict)
    count: bool | str = False
    by: Any = field(default_factory=dict)
    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    group_weights: Any = None
    mean_of: str = "rows"
    where: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    person_columns: Mapping[str, str] = field(default_factory=dict)
    missing: Any = "skip"
    complete: Sequence[str] = ()
    mean_within: Mapping[str, Any] | float = field(default_factory=dict)
    weights: Any = "relative"
    quantiles: Mapping[str, Any] = field(default_factory=dict)
    medians: Any = field(default_factory=dict)
    histograms: Any = field(default_factory=dict)
    proportions: Any = field(default_factory=dict)
    marginals: Any = field(default_factory=tuple)
    values_per_unit: int | None = None
    keys_at_least: int = 1
    top: int | None = None


def read_bounds(which: str, bounds: Any) -> Any:
    """Columns with their bounds, or with the word for private ones."""
    if bounds == PRIVATE and which in ("bounds", "total_bounds"):
        return bounds  # bounds are put in by `requests.private_bounds` before a question is settled
    if not isinstance(bounds, Mapping):
        column = toml_key(bounds) if isinstance(bounds, str) and bounds else "age"
        rule, remedy = "it must map columns to bounds", f"write {which} = {{ {column} = [0, 100] }}"
        raise RequestError(f"{which}={bounds!r}", rule, remedy, code="bounds-not-a-mapping", which=which, bounds=bounds)
    checked: dict[str, Any] = {}
    for column, pair in bounds.items():
        if isinstance(pair, str) and pair == PRIVATE:
            checked[str(column)] = PRIVATE
            continue
        if not (isinstance(pair, list | tuple) and len(pair) == 2 and all(is_plain(b) for b in pair)):
            key = toml_key(str(column))
            raise DomainError(
                f"bounds of {column!r} = {pair!r}",
                "every column needs two numbers, known without looking at the data",
                f'write {which} = {{ {key} = [0, 100] }}, or {which} = {{ {key} = "{PRIVATE}" }}',
                code="request-bounds-not-two-numbers",
                column=column,
                bounds=pair,
            )
        checked[str(column)] = (float(pair[0]), float(pair[1]))
    return checked


def read_bounded(which: str, columns: Any) -> dict[str, tuple[float, float] | None]:
    """Columns with their bounds; a list of names, or a column with None, where these are said in `bounds`."""
    if isinstance(columns, Mapping):
        known = {name: pair for name, pair in columns.items() if pair is not None}
        found = read_bounds(which, known)
        return {str(name): found.get(str(name)) for name in columns}
    if not _is_list(columns):
        read_bounds(which, columns)  # refuses it
    return dict.fromkeys(_names(which, columns, f"{which} = {{ age = [0, 100] }}", "bounds"))


def read_several(which: str, columns: Any) -> dict[str, tuple[float, float] | None]:
    """Two columns or more, as `read_bounded`."""
    found = read_bounded(which, columns)
    if len(found) == 1:
        raise RequestError(
            f"{which} of one column, {next(iter(found))!r}",
            "it needs two columns or more",
            f'write {which} = ["age", "bmi"], or variances for one column',
            code="covariance-of-one-column",
            which=which,
        )
    return found


def read_regression(which: str, wanted: Any) -> dict[str, tuple[float, float] | None]:
    """The column that is explained, then those that explain; their bounds are in `bounds`."""
    if isinstance(wanted, Mapping) and not isinstance(wanted.get("of"), str):
        if all(
            pair is None or (_is_list(pair) and not any(isinstance(end, str) for end in pair))
            for pair in wanted.values()
        ):  # nothing is asked, or this was read before
            return read_bounded(which, wanted)
    on = wanted.get("on") if isinstance(wanted, Mapping) else None
    on = [on] if isinstance(on, str) else on
    named = isinstance(wanted, Mapping) and set(wanted) == {"of", "on"} and isinstance(wanted["of"], str)
    if not (named and _is_list(on) and on and all(isinstance(name, str) and name for name in on)):
        raise RequestError(
            f"{which}={wanted!r}"[:120],
            "it must say which column is explained, and by which others",
            'write regression = { of = "income", on = ["age", "bmi"] }',
            code="request-regression-malformed",
            regression=wanted,
        )
    names = [wanted["of"], *on]
    check_regression(names)
    return dict.fromkeys(names)


def read_values(which: str, columns: Any) -> dict[str, list[Any]]:
    """Columns with their declared values; the rules of values are those of `Cells`."""
    if not isinstance(columns, Mapping):
        column = toml_key(columns) if isinstance(columns, str) and columns else "health"
        shown = f'write {which} = {{ {column} = ["good", "fair", "poor"] }}'
        what, rule = f"{which}={columns!r}"[:120], "it must map columns to lists of values"
        raise RequestError(what, rule, shown, code="values-not-a-mapping", which=which, given=columns)
    found = {}
    for column, values in columns.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise DomainError(
                f"values of {column!r} = {values!r}"[:120],
                "list at least one value, chosen without looking at the data",
                f"write {which} = {{ {toml_key(str(column))} = {toml_keys(values, EXAMPLE)} }}",
                code="histogram-values-not-listed",
                column=column,
                values=values,
            )
        found[str(column)] = read_dates(values)
    return found


def read_counted(which: str, columns: Any) -> dict[str, Any]:
    """Columns with their declared values or bins; names alone (or None) where these are in `values` or `bins`.

    The values of a histogram may be found in the data.
    """
    if isinstance(columns, Mapping):
        cells = {str(name): read_bins(str(name), given) for name, given in columns.items() if is_binned(given)}
        keys = {str(name): given for name, given in columns.items() if which == "histograms" and is_found(given)}
        known = (*cells, *keys)
        listed = {name: given for name, given in columns.items() if given is not None and str(name) not in known}
        found: dict[str, Any] = {**read_values(which, listed), **cells, **keys}
        return {str(name): found.get(str(name)) for name in columns}
    if not _is_list(columns):
        read_values(which, columns)  # refuses it
    return dict.fromkeys(_names(which, columns, f"{which} = {{ health = {EXAMPLE} }}", "values"))


def is_found(keys: Any) -> bool:
    """Whether this stands for keys that are found in the data."""
    return isinstance(keys, str) and keys == FOUND


def read_keys(which: str, by: Any) -> Any:
    """Declared keys with dates as texts; names alone where keys are in `values`. Their rules are those of `Groups`."""
    if isinstance(by, Mapping):
        cells = {str(c): read_bins(str(c), keys) for c, keys in by.items() if is_binned(keys)}
        for column, keys in by.items():
            if isinstance(keys, str) and not is_found(keys) and column not in cells:
                remedy = f"write by = {{ {toml_key(str(column))} = {toml_keys(keys, EXAMPLE)} }}"
                what = f"keys of {column!r} = {keys!r}"[:120]
                raise DomainError(
                    what,
                    "its keys are a list of at least one",
                    remedy,
                    code="keys-not-listed",
                    column=column,
                    values=keys,
                )
        read = {str(c): read_dates(keys) if isinstance(keys, list | tuple) else keys for c, keys in by.items()}
        return {**read, **cells}
    if isinstance(by, str) and by:
        return {by: None}
    if isinstance(by, Sequence) and not isinstance(by, str):
        if by and all(isinstance(name, str) for name in by):
            return dict.fromkeys(by)
        if all(isinstance(group, Mapping) for group in by):
            return [dict(zip(group, read_dates(list(group.values())), strict=True)) for group in by]
    rule = "it must map columns to lists of keys, or list combinations of keys"
    remedy = 'write by = { region = ["north", "south"] }'
    raise RequestError(f"by={by!r}"[:120], rule, remedy, code="by-malformed", by=by)


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


def read_expressions(which: str, texts: Any) -> dict[str, str]:
    """Names with their expressions."""
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        what, rule = f"{which}={texts!r}", "it must map names to expressions"
        remedy = f'write {which} = {{ bmi = "weight / (height * height)" }}'
        raise RequestError(what, rule, remedy, code="expressions-not-a-mapping", which=which, texts=texts)
    return {str(name): text for name, text in texts.items()}


SKIP = "skip"
"""What `missing` says of values that are left out."""


def read_missing(which: str, missing: Any) -> dict[str, float]:
    """What stands in for missing values, by column; nothing where they are left out."""
    example = "write missing = { age = 40 }"
    if missing == SKIP:
        return {}
    if not isinstance(missing, Mapping):
        what, rule = f"missing={missing!r}", 'it must be "skip", or map columns to numbers'
        raise RequestError(what, rule, example, code="missing-not-a-mapping", missing=missing)
    for column, value in missing.items():
        if not is_plain(value) and value != SKIP:
            what, rule = f"missing of {column!r} = {value!r}", 'it must be a number, or "skip"'
            raise RequestError(what, rule, example, code="missing-not-a-number", column=column, missing=value)
    return {str(column): value for column, value in missing.items() if value != SKIP}


def read_complete(which: str, columns: Any) -> tuple[str, ...]:
    """The columns that are promised to have a value in every row."""
    if not _is_list(columns) or not all(isinstance(name, str) for name in columns):
        what, rule = f"{which}={columns!r}"[:120], "it must list columns that have a value in every row"
        remedy = "write complete = " + toml_keys(columns, '["age"]')
        raise RequestError(what, rule, remedy, code="complete-not-listed", complete=columns)
    return tuple(dict.fromkeys(columns))


READERS: dict[str, Callable[[str, Any], Any]] = {
    "bounds": read_bounds,
    "total_bounds": read_bounds,
    "values": read_values,
    "bins": read_all_bins,
    "sums": read_bounded,
    "means": read_bounded,
    "quantiles": read_quantiles,
    "medians": read_medians,
    "variances": read_bounded,
    "covariance": read_several,
    "regression": read_regression,
    "histograms": read_counted,
    "proportions": read_counted,
    "marginals": read_marginals,
    "by": read_keys,
    "group_weights": read_group_weights,
    "columns": read_expressions,
    "person_columns": read_expressions,
    "missing": read_missing,
    "complete": read_complete,
}
"""What reads a field that has a form of its own: one line for each."""


OF_BOUNDED = (read_bounded, read_several, read_regression)
"""What reads columns that need bounds of one row."""


def _is_list(names: Any) -> bool:
    return isinstance(names, Sequence) and not isinstance(names, str)


def _names(which: str, names: Sequence[Any], example: str, said: str) -> list[str]:
    """Names of columns, each once."""
    if not all(isinstance(name, str) and name for name in names):
        rule = f"it must map columns to their {said}, or list columns whose {said} are in {said}"
        what = f"{which}={names!r}"[:120]
        raise RequestError(what, rule, f"write {example}", code="columns-not-listed", which=which, given=names)
    for name in names:
        if list(names).count(name) > 1:
            what, rule = f"{name!r} twice in {which}", "each column is asked once"
            raise RequestError(what, rule, "leave one out", code="column-listed-twice", which=which, column=name)
    return list(names)


def is_plain(value: Any) -> bool:
    """Whether this is a number that a request file can hold."""
    return isinstance(value, int | float) and is_number(value)
