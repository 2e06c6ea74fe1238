"""How the texts of flags are read: bounds, names, keys, bins, levels, weights."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from typing import Any

from gaussmith.cli.parser import number
from gaussmith.errors import DomainError, RequestError

PRIVATE = "private"
"""What stands for bounds that are learned; said here again, because help must not wait for requests to load."""


def read_bounds(flag: str, texts: Sequence[str] | None) -> Any:
    """NAME:LOW:HIGH, or NAME:private; of bounds also `private` alone, for all columns that have none."""
    if flag in ("--bounds", "--total-bounds") and list(texts or ()) == [PRIVATE]:
        return PRIVATE
    found: dict[str, Any] = {}
    for text in texts or ():
        _check_signs(flag, text)
        private, _, word = text.rpartition(":")
        if word == PRIVATE and private and flag != "--mean-within":
            _check_once(flag, private, found)
            found[private] = PRIVATE
            continue
        name, *ends = text.rsplit(":", 2)
        if len(ends) != 2 or not name:
            raise DomainError(
                f"{flag} {text}",
                "every column needs two bounds, known without looking at the data",
                f"write {flag} {name or 'age'}:0:100, or {flag} {name or 'age'}:{PRIVATE} for bounds that are learned",
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
        if math.inf > low > high > -math.inf:
            raise DomainError(
                f"{flag} {text}",
                "the lower bound must be below the upper bound",
                f"did you mean {flag} {name}:{ends[1]}:{ends[0]}?",
                code="bounds-reversed",
                column=name,
                lower=low,
                upper=high,
            )
        _check_once(flag, name, found)
        found[name] = (low, high)
    return found


_NUMBER = r"[+-]?[0-9.]+(?:e[+-]?[0-9]+)?"
_OTHER_SIGNS = rf"([^=:]+)(?:=({_NUMBER})[,:]|:({_NUMBER}),)({_NUMBER})"
"""Bounds behind an equals sign, as values are written, or with a comma between them."""


def _check_signs(flag: str, text: str) -> None:
    """Refuse `fine=0,20` where `fine:0:20` is meant."""
    if (other := re.fullmatch(_OTHER_SIGNS, text)) is not None:
        raise DomainError(
            f"{flag} {text}",
            "a column and its bounds are joined by colons",
            f"write {flag} {other[1]}:{other[2] or other[3]}:{other[4]}",
            code="flag-bounds-by-other-signs",
            flag=flag,
            text=text,
        )


def _check_once(flag: str, name: str, found: Container[str]) -> None:
    if name in found:
        what, rule = f"{flag} {name} twice", "a column has one pair of bounds for each kind of answer"
        raise RequestError(what, rule, "leave one out", code="flag-column-twice", flag=flag, name=name)


def read_shares(flag: str, texts: Sequence[str] | None) -> dict[str, float]:
    """NAME=SHARE: shares of the budget."""
    named = read_named(flag, texts, "bounds=0.1")
    return {name: number(flag, share) for name, share in named.items()}


def read_asked(flag: str, texts: Sequence[str] | None) -> dict[str, tuple[float, float] | None]:
    """NAME:LOW:HIGH, or NAME alone where --bounds says the rest."""
    plain = [text for text in texts or () if text and ":" not in text]
    for text in plain:
        _check_signs(flag, text)
    found: dict[str, tuple[float, float] | None] = {
        **read_bounds(flag, [text for text in texts or () if text not in plain])
    }
    for name in plain:
        if name in found:
            what, rule = f"{flag} {name} twice", "each column is asked once"
            raise RequestError(what, rule, "leave one out", code="flag-asked-twice", flag=flag, name=name)
        found[name] = None
    return found


def read_missing(flag: str, texts: Sequence[str] | None) -> dict[str, float]:
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


def read_named(flag: str, texts: Sequence[str] | None, example: str) -> dict[str, str]:
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


def read_keys(flag: str, texts: Sequence[str] | None, example: str) -> dict[str, list[str | int | bool]]:
    """Declared keys, without blanks around them; whole numbers and true, false are read as such where all keys are."""
    found: dict[str, list[str | int | bool]] = {}
    for name, keys in read_named(flag, texts, example).items():
        words = [word.strip() for word in keys.split(",")]
        if all(re.fullmatch(r"0|-?[1-9][0-9]{0,14}", word) for word in words):
            found[name] = [int(word) for word in words]
        elif all(word in ("true", "false") for word in words):
            found[name] = [word == "true" for word in words]
        else:
            found[name] = list(words)
    return found


def read_counted(flag: str, texts: Sequence[str] | None, example: str) -> dict[str, list[str | int | bool] | None]:
    """NAME=VALUE,VALUE, or NAME alone where --values says the rest."""
    plain = [text for text in texts or () if text and "=" not in text]
    return {**dict.fromkeys(plain), **read_keys(flag, [text for text in texts or () if text not in plain], example)}


def check_values(flag: str, columns: Sequence[str], declared: Container[str]) -> None:
    """Refuse `branch:East,West` where `branch=East,West` is meant: no column of this name has values."""
    for text in columns:
        name, colon, values = text.partition(":")
        if name and colon and values and text not in declared:
            raise DomainError(
                f"{flag} {text}",
                "a column and its values are joined by an equals sign",
                f"write {flag} {name}={values.replace(':', ',')}",
                code="flag-values-by-other-signs",
                flag=flag,
                text=text,
            )


def read_levels(flag: str, texts: Sequence[str] | None) -> dict[str, list[float]]:
    """NAME=LEVEL,LEVEL: levels of quantiles."""
    named = read_named(flag, texts, "income=0.1,0.5,0.9")
    return {name: [number(flag, level) for level in levels.split(",")] for name, levels in named.items()}


def read_tables(flag: str, texts: Sequence[str] | None) -> list[list[str]]:
    """NAME,NAME: the columns of a table."""
    return [text.split(",") for text in texts or ()]


def read_bins(flag: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """NAME=EDGE,EDGE, or NAME=equal:20:0:100, NAME=log:10:1:1000, NAME=month:2024-01:2024-12, NAME=private."""
    found: dict[str, Any] = {}
    for name, text in read_named(flag, texts, "age=18,40,65").items():
        way, *rest = text.split(":")
        if way in ("equal", "log") and len(rest) == 3:
            count, low, high = (_digits(number(flag, part)) for part in rest)
            found[name] = {way: count, "between": [low, high]}
        elif text == PRIVATE:
            found[name] = PRIVATE
        elif len(rest) == 2:
            found[name] = {"by": way, "between": rest}
        else:
            found[name] = [_digits(number(flag, edge)) for edge in text.split(",")]
    return found


def _digits(value: float) -> float | int:
    """Whole numbers as such."""
    return int(value) if value.is_integer() else value


def read_whole(flag: str, text: str | None) -> int | None:
    if text is None:
        return None
    value = number(flag, text)
    if not value.is_integer():
        rule, remedy = "it takes a whole number", f"write for example {flag} 1"
        raise RequestError(f"{flag} {text}", rule, remedy, code="flag-not-a-whole-number", flag=flag, text=text)
    return int(value)


def read_group_weights(flag: str, text: str | None) -> dict[str, float] | None:
    if text is None:
        return None
    found = {}
    for part in text.split(","):
        key, equals, weight = part.rpartition("=")
        if not equals or not key:
            rule, remedy = "each key has a number", f"write for example {flag} north=4"
            raise RequestError(f"{flag} {text}", rule, remedy, code="flag-not-weights-of-keys", flag=flag, text=text)
        found[key] = number(flag, weight)
    return found


def read_weights(flag: str, text: str | None) -> Any:
    if text is None:
        return "relative"
    if text[:1].isalpha():
        return text
    return [number(flag, part) for part in text.split(",")]


def read_regression(flag: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    of, tilde, on = text.partition("~")
    names = [name.strip() for name in on.split("+")]
    if not tilde or not of.strip() or not all(names):
        rule, remedy = "it is one column, ~, and the columns that explain it", f"write {flag} income~age+bmi"
        raise RequestError(f"{flag} {text}", rule, remedy, code="regression-flag-malformed", flag=flag, text=text)
    return {"of": of.strip(), "on": names}


def read_number(flag: str, text: str | None) -> float | None:
    """A number, where one is given."""
    return None if text is None else number(flag, text)


def with_found(by: dict[str, Any], found: Sequence[str]) -> dict[str, Any]:
    """Declared keys, and after them the columns whose keys are found in the data."""
    for name in found:
        if not name or "=" in name or ":" in name:
            raise RequestError(
                f"--by-found {name}",
                "it takes the name of a column, whose keys are found in the data",
                f"write --by-found {name.partition('=')[0].partition(':')[0] or 'airport'}, or --by with declared keys",
                code="by-found-flag-malformed",
                name=name,
            )
        if name in by or list(found).count(name) > 1:
            what, rule = f"{name} in --by-found and again", "the keys of a column are found, or declared, once"
            raise RequestError(what, rule, "leave one out", code="by-found-column-twice", name=name)
    return {**by, **dict.fromkeys(found, "found")}


def with_vector_options(columns: Sequence[str], rows: str | None, normal: bool) -> Any:
    """The columns of --vector-means with --vector-rows and --normal."""
    if not columns:
        for flag, given in (("--vector-rows", rows is not None), ("--normal", normal)):
            if given:
                what, rule, remedy = flag, "it belongs to --vector-means", "add --vector-means height,weight"
                raise RequestError(what, rule, remedy, code="vector-option-without-vectors", flag=flag)
        return ()
    found: dict[str, Any] = {"columns": columns, "normal": normal}
    return found if rows is None else {**found, "rows": number("--vector-rows", rows)}
