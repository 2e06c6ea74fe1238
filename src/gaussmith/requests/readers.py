"""How the fields of a request and of its questions are read: their form, without any data.

Bounds and declared values may stand once, in `bounds`, `total_bounds` and `values`. A field that names a column alone
is completed from there by `Question.settled`; until then such a column is mapped to None.
"""

from __future__ import annotations

import datetime
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from gaussmith.checks import is_number
from gaussmith.domains.groups import FOUND
from gaussmith.engines.addresses import nearest_file, without_secrets
from gaussmith.errors import DomainError, RequestError, meant_names, nearest_name
from gaussmith.notations import TOML, notation, setting
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.requests import bins
from gaussmith.requests.bins import PRIVATE, is_binned, read_bins
from gaussmith.requests.fields import ENTRIES, STATED
from gaussmith.statistics.asking import check_regression

EXAMPLE = ["good", "fair", "poor"]
"""Values of a column, where an error has none to name."""


def read_bounds(which: str, bounds: Any) -> Any:
    """Columns with their bounds, or with the word for private ones."""
    if bounds == PRIVATE and which in ("bounds", "total_bounds"):
        return bounds  # bounds are put in by `requests.private_bounds` before a question is settled
    if not isinstance(bounds, Mapping):
        column = bounds if isinstance(bounds, str) and bounds else "age"
        rule, remedy = "it must map columns to bounds", f"write {setting(which, {column: [0, 100]})}"
        raise RequestError(f"{which}={bounds!r}", rule, remedy, code="bounds-not-a-mapping", which=which, bounds=bounds)
    checked: dict[str, Any] = {}
    for column, pair in bounds.items():
        if isinstance(pair, str) and pair == PRIVATE:
            checked[str(column)] = PRIVATE
            continue
        if not (isinstance(pair, list | tuple) and len(pair) == 2 and all(is_plain(b) for b in pair)):
            what = f"bounds of {column!r} = {pair!r}"
            rule = "every column needs two numbers, known without looking at the data"
            remedy = f"write {setting(which, {column: [0, 100]})}, or {setting(which, {column: PRIVATE})}"
            raise DomainError(what, rule, remedy, code="request-bounds-not-two-numbers", column=column, bounds=pair)
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
    return dict.fromkeys(_names(which, columns, {"age": [0, 100]}, "bounds"))


def read_several(which: str, columns: Any) -> dict[str, tuple[float, float] | None]:
    """Two columns or more, as `read_bounded`."""
    found = read_bounded(which, columns)
    if len(found) == 1:
        what = f"{which} of one column, {next(iter(found))!r}"
        remedy = f"write {setting(which, ['age', 'bmi'])}, or variances for one column"
        raise RequestError(what, "it needs two columns or more", remedy, code="covariance-of-one-column", which=which)
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
        what, rule = f"{which}={wanted!r}"[:120], "it must say which column is explained, and by which others"
        remedy = f"write {setting('regression', {'of': 'income', 'on': ['age', 'bmi']})}"
        raise RequestError(what, rule, remedy, code="request-regression-malformed", regression=wanted)
    names = [wanted["of"], *on]
    check_regression(names)
    return dict.fromkeys(names)


def read_values(which: str, columns: Any) -> dict[str, list[Any]]:
    """Columns with their declared values; the rules of values are those of `Cells`."""
    if not isinstance(columns, Mapping):
        column = columns if isinstance(columns, str) and columns else "health"
        shown = f"write {setting(which, {column: ['good', 'fair', 'poor']})}"
        what, rule = f"{which}={columns!r}"[:120], "it must map columns to lists of values"
        raise RequestError(what, rule, shown, code="values-not-a-mapping", which=which, given=columns)
    found = {}
    for column, values in columns.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            what = f"values of {column!r} = {values!r}"[:120]
            rule = "list at least one value, chosen without looking at the data"
            remedy = f"write {setting(which, {column: words_of(values, EXAMPLE)})}"
            raise DomainError(what, rule, remedy, code="histogram-values-not-listed", column=column, values=values)
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
    return dict.fromkeys(_names(which, columns, {"health": EXAMPLE}, "values"))


def is_found(keys: Any) -> bool:
    """Whether this stands for keys that are found in the data."""
    return isinstance(keys, str) and keys == FOUND


def read_keys(which: str, by: Any) -> Any:
    """Declared keys with dates as texts; names alone where keys are in `values`. Their rules are those of `Groups`."""
    if isinstance(by, Mapping):
        cells = {str(c): read_bins(str(c), keys) for c, keys in by.items() if is_binned(keys)}
        for column, keys in by.items():
            if isinstance(keys, str) and not is_found(keys) and column not in cells:
                remedy = f"write {setting('by', {column: words_of(keys, EXAMPLE)})}"
                what = f"keys of {column!r} = {keys!r}"[:120]
                rule = "its keys are a list of at least one"
                raise DomainError(what, rule, remedy, code="keys-not-listed", column=column, values=keys)
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
    remedy = f"write {setting('by', {'region': ['north', 'south']})}"
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
        remedy = f"write {setting(which, {'bmi': 'weight / (height * height)'})}"
        raise RequestError(what, rule, remedy, code="expressions-not-a-mapping", which=which, texts=texts)
    return {str(name): text for name, text in texts.items()}


SKIP = "skip"
"""What `missing` says of values that are left out."""


def read_missing(which: str, missing: Any) -> dict[str, float]:
    """What stands in for missing values, by column; nothing where they are left out."""
    if missing == SKIP:
        return {}
    if not isinstance(missing, Mapping):
        what, rule = f"missing={missing!r}", 'it must be "skip", or map columns to numbers'
        example = f"write {setting('missing', {'age': 40})}"
        raise RequestError(what, rule, example, code="missing-not-a-mapping", missing=missing)
    for column, value in missing.items():
        if not is_plain(value) and value != SKIP:
            what, rule = f"missing of {column!r} = {value!r}", 'it must be a number, or "skip"'
            example = f"write {setting('missing', {column: 40})}"
            raise RequestError(what, rule, example, code="missing-not-a-number", column=column, missing=value)
    return {str(column): value for column, value in missing.items() if value != SKIP}


def read_complete(which: str, columns: Any) -> tuple[str, ...]:
    """The columns that are promised to have a value in every row."""
    if not _is_list(columns) or not all(isinstance(name, str) for name in columns):
        what, rule = f"{which}={columns!r}"[:120], "it must list columns that have a value in every row"
        remedy = f"write {setting('complete', words_of(columns, ['age']))}"
        raise RequestError(what, rule, remedy, code="complete-not-listed", complete=columns)
    return tuple(dict.fromkeys(columns))


def words_of(given: Any, usual: list[str]) -> list[str]:
    """What was written as one text, as a list of words; `usual` where there is nothing to go by.

    >>> words_of("East, West", ["a", "b"]), words_of(3, ["a", "b"])
    (['East', 'West'], ['a', 'b'])
    """
    words = [word.strip() for word in given.replace(";", ",").split(",")] if isinstance(given, str) else []
    return words if words and all(words) else usual


def _is_list(names: Any) -> bool:
    return isinstance(names, Sequence) and not isinstance(names, str)


def _names(which: str, names: Sequence[Any], example: Mapping[str, Any], said: str) -> list[str]:
    """Names of columns, each once."""
    if not all(isinstance(name, str) and name for name in names):
        rule = f"it must map columns to their {said}, or list columns whose {said} are in {said}"
        what = f"{which}={names!r}"[:120]
        remedy = f"write {setting(which, example)}"
        raise RequestError(what, rule, remedy, code="columns-not-listed", which=which, given=names)
    for name in names:
        if list(names).count(name) > 1:
            what, rule = f"{name!r} twice in {which}", "each column is asked once"
            raise RequestError(what, rule, "leave one out", code="column-listed-twice", which=which, column=name)
    return list(names)


def is_plain(value: Any) -> bool:
    """Whether this is a number that a request file can hold."""
    return isinstance(value, int | float) and is_number(value)


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


def check_truth(name: str, value: Any) -> bool:
    """The value itself; refuses what is neither true nor false."""
    if not isinstance(value, bool):
        what, rule = f"{name}={value!r}"[:120], "it must be true or false"
        raise RequestError(what, rule, f"write {setting(name, True)}", code="not-a-truth", name=name)
    return value


# What reads which field.

_READING = {**vars(bins), **globals()}

READERS: dict[str, Callable[[str, Any], Any]] = {
    name: _READING[each.read] for name, each in ENTRIES.items() if each.read
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
    if key in STATED or meant_names(key, STATED):
        meant = {name: name if name in STATED else "".join(meant_names(name, STATED)) for name in fields}
        stated = {meant[name]: value for name, value in fields.items() if meant[name]}
        stated |= {"delta": 1e-6} if "epsilon" in stated and "delta" not in stated else {}
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
