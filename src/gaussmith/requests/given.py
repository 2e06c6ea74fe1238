"""The fields of a request as people write them: None for nothing, other names, columns here and above, many paths."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from gaussmith.engines.addresses import nearest_file, without_secrets
from gaussmith.errors import RequestError, nearest
from gaussmith.guarantee import Guarantee

STATED = ("epsilon", "delta", "mu", "rho")
"""The fields of a guarantee."""

OF_A_RELEASE = ("ledger", "id", "engine", "master")
"""Arguments of a release, not of a request."""

_SINGULAR = {"average": "means", "mean": "means", "sum": "sums", "total": "sums", "counts": "count", "where_": "where"}
_OF_A_NUMBER = ("median", "quantile", "percentile", "variance", "std", "correlation", "covariance", "regression")


def refuse_unknown(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse keywords that a request or a question does not have, with the one that was meant."""
    for name in given:
        if name not in names:
            what, (rule, remedy) = f"unknown field {name!r}", misnamed(name, names)
            if name in STATED:
                stated = ", ".join(f"{each}=…" for each in (("epsilon", "delta") if name in STATED[:2] else (name,)))
                rule = "the guarantee of a request is one value"
                remedy = f"write guarantee=gaussmith.Guarantee({stated}) in gaussmith.Request"
            raise RequestError(what, rule, remedy, code="unknown-field-of-request", field=name)


def misnamed(name: str, names: Sequence[str]) -> tuple[str, str]:
    """The rule that the name of a field breaks which does not exist, and what to write.

    >>> misnamed("mean", ["sums", "means"])
    ('there is no such field; one field asks for several columns', 'write means = …')
    >>> misnamed("median", ["sums", "means"])
    ('there is no such field', 'choose one of: sums, means')
    """
    meant = _SINGULAR.get(name.lower(), f"{name.lower()}s")
    if meant in names:
        return "there is no such field; one field asks for several columns", f"write {meant} = …"
    if name.lower().removesuffix("s") in _OF_A_NUMBER:  # near to other names, and far from what they mean
        return "there is no such field", nearest("", names, most=len(names))
    return "there is no such field", nearest(name, names, most=len(names))


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
    if key in STATED:
        given = {name: fields[name] for name in STATED if name in fields}
        given |= {"delta": 1e-6} if "epsilon" in given and "delta" not in given else {}
        shown = ", ".join(f"{name} = {value!r}" for name, value in given.items())
        return "the guarantee is stated in one table", f"write guarantee = {{ {shown} }}"
    if key in OF_A_RELEASE:
        return (
            "it is not part of a request; give it when you release",
            f"write gaussmith release REQUEST.toml --{key} …, or gaussmith.release(request, {key}=…)",
        )
    return misnamed(key, names)


def unknown_key(key: str, fields: Mapping[str, Any], names: Sequence[str]) -> RequestError:
    """The reason for refusing a key that no request has."""
    return RequestError(f"unknown key {key!r}", *misplaced(key, fields, names), code="unknown-key-in-request", key=key)


def read_guarantee(given: Any) -> Guarantee:
    """The guarantee of a request, or the one that a table states."""
    if isinstance(given, Guarantee):
        return given
    if not isinstance(given, Mapping):
        shown = f"={given!r}"[:100] if isinstance(given, str | int | float) else f" of type {type(given).__name__}"
        raise RequestError(
            "no guarantee" if given is None else f"guarantee{shown}",
            "a request must say how well people are protected",
            "write guarantee = { epsilon = 1, delta = 1e-6 }",
            code="request-without-guarantee",
            guarantee=given,
        )
    for key in given:
        if key not in STATED:
            what, rule = f"unknown key {key!r} in guarantee", "it has no such key"
            raise RequestError(what, rule, nearest(key, STATED), code="unknown-key-in-guarantee", key=key)
    return Guarantee(**given)


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
        raise RequestError(
            f"{what}{shown}",
            f"it is not TOML: {problem}",
            remedy,
            code="request-file-not-toml",
            file=without_secrets(path),
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


def check_truth(name: str, value: Any) -> bool:
    """The value itself; refuses what is neither true nor false."""
    if not isinstance(value, bool):
        what, rule = f"{name}={value!r}"[:120], "it must be true or false"
        raise RequestError(what, rule, f"write {name} = true", code="not-a-truth", name=name)
    return value
