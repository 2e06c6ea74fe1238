"""The flags for answers, people and guarantees, shared by `plan` and `release`."""

from __future__ import annotations

import math
import re
import shlex
from argparse import Namespace
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gaussmith.cli.parser import Parser, number
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import DomainError, RequestError
from gaussmith.notations import MORE, PAIRS, number_text, toml_text
from gaussmith.requests.fields import ENTRIES, PRIVATE, STATED, Flag

if TYPE_CHECKING:
    from gaussmith.privacy.guarantee import Guarantee
    from gaussmith.requests.request import Request


# How the texts of flags are read: bounds, names, keys, bins, levels, weights.


def read_bounds(flag: str, texts: Sequence[str]) -> Any:
    """NAME:LOW:HIGH, or NAME:private; of bounds also `private` alone, for all columns that have none."""
    if flag in ("--bounds", "--total-bounds") and list(texts) == [PRIVATE]:
        return PRIVATE
    found: dict[str, Any] = {}
    for text in texts:
        _check_signs(flag, text)
        name, _, word = text.rpartition(":")
        if word == PRIVATE and name and flag != "--mean-within":
            pair: Any = PRIVATE
        else:
            name, pair = _read_pair(flag, text)
        if name in found:
            what, rule = f"{flag} {name} twice", "a column has one pair of bounds for each kind of answer"
            raise RequestError(what, rule, "leave one out", code="flag-column-twice", flag=flag, name=name)
        found[name] = pair
    return found


def _read_pair(flag: str, text: str) -> tuple[str, tuple[float, float]]:
    """A column with its two bounds."""
    what = f"{flag} {text}"
    name, *ends = text.rsplit(":", 2)
    if len(ends) != 2 or not name:
        rule = "every column needs two bounds, known without looking at the data"
        column = f"{flag} {name or 'age'}"
        remedy = f"write {column}:0:100, or {column}:{PRIVATE} for bounds that are learned"
        raise DomainError(what, rule, remedy, code="flag-without-two-bounds", flag=flag, text=text)
    try:
        low, high = map(float, ends)
    except ValueError:
        low = high = math.nan
    if math.isnan(low) or math.isnan(high):
        rule, remedy = "both bounds must be numbers", f"write {flag} {name}:0:100"
        raise DomainError(what, rule, remedy, code="flag-bounds-not-numbers", flag=flag, text=text)
    if math.inf > low > high > -math.inf:
        rule, remedy = (
            "the lower bound must be below the upper bound",
            f"did you mean {flag} {name}:{ends[1]}:{ends[0]}?",
        )
        raise DomainError(what, rule, remedy, code="bounds-reversed", column=name, lower=low, upper=high)
    return name, (low, high)


_NUMBER = r"[+-]?[0-9.]+(?:e[+-]?[0-9]+)?"
_OTHER_SIGNS = rf"([^=:]+)(?:=({_NUMBER})[,:]|:({_NUMBER}),)({_NUMBER})"
"""Bounds behind an equals sign, as values are written, or with a comma between them."""


def _check_signs(flag: str, text: str) -> None:
    """Refuse `fine=0,20` where `fine:0:20` is meant."""
    if (other := re.fullmatch(_OTHER_SIGNS, text)) is not None:
        rule = "a column and its bounds are joined by colons"
        remedy = f"write {flag} {other[1]}:{other[2] or other[3]}:{other[4]}"
        raise DomainError(f"{flag} {text}", rule, remedy, code="flag-bounds-by-other-signs", flag=flag, text=text)


def read_shares(flag: str, texts: Sequence[str]) -> dict[str, float]:
    """NAME=SHARE: shares of the budget."""
    named = read_named(flag, texts, "bounds=0.1")
    return {name: number(flag, share) for name, share in named.items()}


def read_asked(flag: str, texts: Sequence[str]) -> dict[str, tuple[float, float] | None]:
    """NAME:LOW:HIGH, or NAME alone where --bounds says the rest."""
    plain = [text for text in texts if text and ":" not in text]
    for text in plain:
        _check_signs(flag, text)
    found: dict[str, tuple[float, float] | None] = {**read_bounds(flag, [text for text in texts if text not in plain])}
    for name in plain:
        if name in found:
            what, rule = f"{flag} {name} twice", "each column is asked once"
            raise RequestError(what, rule, "leave one out", code="flag-asked-twice", flag=flag, name=name)
        found[name] = None
    return found


def read_missing(flag: str, texts: Sequence[str]) -> dict[str, float]:
    found = {}
    for text in texts:
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


def read_named(flag: str, texts: Sequence[str], example: str) -> dict[str, str]:
    """NAME=TEXT, split at the first equals sign."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            what, rule = f"{flag} {text}", "it has the form NAME=…"
            raise RequestError(what, rule, f"write {flag} {example}", code="flag-without-name", flag=flag, text=text)
        if name.strip() in found:
            what, rule = f"{flag} {name.strip()} twice", "every name must be given once"
            raise RequestError(what, rule, "leave one out", code="flag-name-twice", flag=flag, name=name.strip())
        found[name.strip()] = value
    return found


def read_keys(flag: str, texts: Sequence[str], example: str) -> dict[str, list[str | int | bool]]:
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


def read_counted(flag: str, texts: Sequence[str], example: str) -> dict[str, list[str | int | bool] | None]:
    """NAME=VALUE,VALUE, or NAME alone where --values says the rest."""
    plain = [text for text in texts if text and "=" not in text]
    return {**dict.fromkeys(plain), **read_keys(flag, [text for text in texts if text not in plain], example)}


def check_values(flag: str, columns: Sequence[str], declared: Container[str]) -> None:
    """Refuse `branch:East,West` where `branch=East,West` is meant: no column of this name has values."""
    for text in columns:
        name, colon, values = text.partition(":")
        if name and colon and values and text not in declared:
            rule = "a column and its values are joined by an equals sign"
            remedy = f"write {flag} {name}={values.replace(':', ',')}"
            raise DomainError(f"{flag} {text}", rule, remedy, code="flag-values-by-other-signs", flag=flag, text=text)


def read_levels(flag: str, texts: Sequence[str]) -> dict[str, list[float]]:
    """NAME=LEVEL,LEVEL: levels of quantiles."""
    named = read_named(flag, texts, "income=0.1,0.5,0.9")
    return {name: [number(flag, level) for level in levels.split(",")] for name, levels in named.items()}


def read_names(flag: str, texts: str | Sequence[str]) -> list[Any]:
    """NAME,NAME: columns; one list for each flag where there may be several."""
    return texts.split(",") if isinstance(texts, str) else [text.split(",") for text in texts]


def read_bins(flag: str, texts: Sequence[str]) -> dict[str, Any]:
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


def read_whole(flag: str, text: str) -> int:
    value = number(flag, text)
    if not value.is_integer():
        rule, remedy = "it takes a whole number", f"write for example {flag} 1"
        raise RequestError(f"{flag} {text}", rule, remedy, code="flag-not-a-whole-number", flag=flag, text=text)
    return int(value)


def read_group_weights(flag: str, text: str) -> dict[str, float]:
    found = {}
    for part in text.split(","):
        key, equals, weight = part.rpartition("=")
        if not equals or not key:
            rule, remedy = "each key has a number", f"write for example {flag} north=4"
            raise RequestError(f"{flag} {text}", rule, remedy, code="flag-not-weights-of-keys", flag=flag, text=text)
        found[key] = number(flag, weight)
    return found


def read_weights(flag: str, text: str) -> Any:
    if text[:1].isalpha():
        return text
    return [number(flag, part) for part in text.split(",")]


def read_regression(flag: str, text: str) -> dict[str, Any]:
    of, tilde, on = text.partition("~")
    names = [name.strip() for name in on.split("+")]
    if not tilde or not of.strip() or not all(names):
        rule, remedy = "it is one column, ~, and the columns that explain it", f"write {flag} income~age+bmi"
        raise RequestError(f"{flag} {text}", rule, remedy, code="regression-flag-malformed", flag=flag, text=text)
    return {"of": of.strip(), "on": names}


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


READ: dict[str, Callable[[str, Any], Any]] = {
    "NAME[:LOW:HIGH]": read_asked,
    "NAME:LOW:HIGH": read_bounds,
    "NAME,NAME,…": read_names,
    "NAME~NAME+NAME…": read_regression,
    "NAME=VALUE,VALUE,…": partial(read_keys, example="sex=f,m"),
    "NAME=EDGE,EDGE,…": read_bins,
    "NAME=LEVEL,…": read_levels,
    "NAME[=VALUE,VALUE,…]": partial(read_counted, example="health=good,fair,poor"),
    "NAME[=KEY,KEY,…]": partial(read_counted, example="region=north,south"),
    "NAME=TEXT": partial(read_named, example="bmi='weight / (height * height)'"),
    "NAME=VALUE": read_missing,
    "NAME=SHARE": read_shares,
    "KEY=W,…": read_group_weights,
    "W": read_weights,
    "K": read_whole,
    "M": read_whole,
    "N": read_whole,
    "D": number,
}
"""How the text of a flag is read, by its form; one that is not here stays text."""


FIELD_FLAGS = {field: each.flags for field, each in ENTRIES.items() if each.flags}
"""The flags of each field of a request, in the order of the help; guarantee and neighbours follow them."""

FLAGS = [flag for flags in FIELD_FLAGS.values() for flag in flags]


def add_request_flags(parser: Parser) -> None:
    """Add the flags for everything in a request except its source."""
    asked = parser.add_argument_group("what to release")
    people = parser.add_argument_group("people and rows")
    for flag in FLAGS:
        group, told = people if flag.of_people else asked, flag.help.replace("%", "%%")  # argparse formats it
        if flag.metavar is None:
            group.add_argument(flag.words, action="store_true", help=told)
        else:
            action = "append" if flag.often else "store"
            group.add_argument(flag.words, action=action, metavar=flag.metavar, help=told)
    add_guarantee_flags(parser)
    parser.add_argument(
        "--neighbours", "--neighbors", metavar="N",
        help="what is protected: add-remove (adding or removing one record; default) or replace-one (changing one; the "
        "number of records is public)",
    )  # fmt: skip


def add_guarantee_flags(parser: Parser) -> None:
    """Add the flags for ε and δ, or μ, or ρ."""
    group = parser.add_argument_group("how well people are protected (one of these)")
    group.add_argument("--epsilon", metavar="E", help="with --delta: (ε, δ)-differential privacy; alone: pure ε")
    group.add_argument("--delta", metavar="D", help="far below 1 / (number of people), such as 1e-6")
    group.add_argument("--mu", metavar="M", help="μ-Gaussian differential privacy")
    group.add_argument("--rho", metavar="R", help="ρ-zero-concentrated differential privacy")
    group.add_argument("--guess", metavar="P", help="how often a guess who is in the table may be right: 0.5 to 1")


def guarantee_from(arguments: Namespace) -> Guarantee:
    """The guarantee given by the flags."""
    from gaussmith.privacy.guarantee import Guarantee

    stated = {
        name: number(f"--{name}", getattr(arguments, name)) for name in STATED if getattr(arguments, name) is not None
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
        what = f"{len(sources)} sources"
        remedy = "quote the pattern, so that the shell does not expand it: 'visits/*.parquet'"
        raise RequestError(what, "a release reads one source", remedy, code="several-sources", sources=len(sources))
    if sources and sources[0].endswith(".toml"):
        for name in (*(flag.name for flag in FLAGS), *STATED, "neighbours"):
            if getattr(arguments, name):
                what = f"--{name.replace('_', '-')} together with {without_secrets(sources[0])!r}"
                rule = "a request file contains the whole request"
                remedy = "write it into the file, or give the data file instead"
                raise RequestError(
                    what, rule, remedy, code="flag-beside-request-file", source=without_secrets(sources[0]), flag=name
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
        what, remedy = "--count together with --count-rows", "leave one out, or write a request with two questions"
        raise RequestError(what, "a question counts people or rows", remedy, code="count-beside-count-rows")
    stated = {name: value for name, value in vars(arguments).items() if value is not None and value is not False}
    fields = {
        field: READ.get(flag.metavar or "", _as_given)(flag.words, stated[flag.name])
        for field, (flag, *_) in FIELD_FLAGS.items()
        if flag.name in stated
    }
    declared = {**fields.get("values", {}), **fields.get("bins", {})}
    for field in ("by", "histograms", "proportions"):
        unsaid = [name for name, values in fields.get(field, {}).items() if values is None]
        check_values(FIELD_FLAGS[field][0].words, unsaid, declared)
    if "by_found" in stated:
        fields["by"] = with_found(fields.get("by", {}), stated["by_found"])
    if "count_rows" in stated:
        fields["count"] = "rows"
    if "neighbours" in stated:
        fields["neighbours"] = stated["neighbours"]
    source = sources[0] if sources else "data"
    promises = {name: stated[name] for name in PROMISES if name in stated}
    return fields | {"source": {"path": source, **promises} if promises else source}


def _as_given(flag: str, given: Any) -> Any:
    return given


def rows_from(text: str | None) -> int | None:
    """The number of rows given by --rows, if any."""
    if text is None:
        return None
    rows = number("--rows", text)
    if not 1 <= rows < 1e18 or rows != int(rows):
        what, rule = f"--rows {text}", "it must be a number of records, 1 or more"
        raise RequestError(what, rule, "give an estimate, such as 10000", code="rows-flag-out-of-range", rows=text)
    return int(rows)


# A field with a value as flags, for errors and notes (`gaussmith.notations`).

WAYS = ("equal", "log")
"""What a table of cells says before its ends."""

PROMISES = ("ids", "row_per_row", "line_per_record")
"""What a table `source` says beside its path."""


def flag_text(field: str, value: Any) -> str:
    """A field with a value as flags; what no flag says stays as a request file has it.

    >>> flag_text("bounds", {"age": [0, 100]}), flag_text("values", {"sex": ["f", "m"]}), flag_text("means", ["age"])
    ('--bounds age:0:100', '--values sex=f,m', '--mean age')
    >>> flag_text("by", {"airport": "found"}), flag_text("bins", {"age": "private"}), flag_text("count", True)
    ('--by-found airport', '--bins age=private', '--count')
    >>> flag_text("guarantee", {"epsilon": 1, "delta": 1e-6}), flag_text("share", 2)
    ('--epsilon 1 --delta 1e-6', 'share = 2')
    """
    if field in _WRITERS:
        return _WRITERS[field](field, value)
    flags = FIELD_FLAGS.get(field, ())
    if field == "source" and isinstance(value, Mapping):
        return " ".join(flag.words for flag in flags if value.get(flag.name) is True)
    if field == "guarantee" and isinstance(value, Mapping):
        return " ".join(f"--{name} {_word(number)}" for name, number in value.items())
    if field == "" and isinstance(value, Mapping) and {"bins", "by", *WAYS} & set(value):
        return f"--bins NAME={_cells(value)}"
    return _of_flag(field, flags[0], value) if flags and field != "source" else toml_text(field, value)


def _plain(field: str, value: Any) -> str:
    return f"--{field} {_word(value)}"


_WRITERS: dict[str, Callable[[str, Any], str]] = {
    **dict.fromkeys((*STATED, "neighbours", "ids"), _plain),
    **dict.fromkeys(WAYS, lambda field, value: f"{field}:{_word(value)}:…"),
    "between": lambda field, value: f"…:{_joined(value)}",
    "count": lambda field, value: "--count-rows" if value == "rows" else "--count",
}
"""How what has a form of its own is written."""


def _of_flag(field: str, flag: Flag, value: Any) -> str:
    """A field that one flag says, given once or often."""
    if flag.metavar is None:
        return flag.words
    if field == "regression" and isinstance(value, Mapping):
        return f"{flag.words} {_word(value['of'])}~{'+'.join(map(_word, value['on']))}"
    if isinstance(value, Mapping) and not flag.often:
        return f"{flag.words} {','.join(f'{_word(key)}={_word(said)}' for key, said in value.items())}"
    if isinstance(value, Mapping):
        return " ".join(_of_column(field, flag, column, said) for column, said in value.items())
    several = value if isinstance(value, list | tuple) and flag.often else [value]
    return " ".join(f"{flag.words} {_listed(each)}" for each in several)


def _of_column(field: str, flag: Flag, column: str, said: Any) -> str:
    if said == "found" and field in ("by", "histograms"):
        return f"--by-found {_word(column)}"
    if field in ("by", "histograms", "proportions") and isinstance(said, Mapping):
        return f"{flag.words} {_word(column)} --bins {_word(column)}={_cells(said)}"
    if field in PAIRS:
        return f"{flag.words} {_word(column)}:{_joined(said) if isinstance(said, list | tuple) else said}"
    return f"{flag.words} {_word(column)}={_cells(said)}"


def _cells(said: Any) -> str:
    """What stands behind the name of a column: values, edges, or how cells are made."""
    if not isinstance(said, Mapping):
        return _listed(said)
    if "bins" in said:
        return _listed(said["bins"])
    way = [said["by"]] if "by" in said else [each for name in WAYS if name in said for each in (name, said[name])]
    return _joined([*way, *said.get("between", ())])


def _listed(value: Any) -> str:
    return ",".join(map(_word, value)) if isinstance(value, list | tuple) else _word(value)


def _joined(value: Sequence[Any]) -> str:
    return ":".join(map(_word, value))


def _word(value: Any) -> str:
    """A value as the shell takes it: in quotes where it has blanks or signs of the shell."""
    if value is ... or value == MORE:
        return MORE
    if isinstance(value, bool):
        return str(value).lower()
    return number_text(value) if isinstance(value, int | float) else shlex.quote(str(value))
