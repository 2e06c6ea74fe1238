"""What was learned for a request: bounds, keys, rows and groups of a person. Noisy, public, and ready to be written."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from gaussmith.checks import checks_arguments
from gaussmith.domains.groups import RESERVED
from gaussmith.engines.addresses import without_secrets
from gaussmith.errors import RequestError, nearest_column, printable
from gaussmith.notations import PYTHON, notation, setting
from gaussmith.planning.discovered_groups import split_with_keys
from gaussmith.privacy.guarantee import Guarantee, compose
from gaussmith.releases.release import Release
from gaussmith.report.releases import key_text
from gaussmith.requests.request import Request

# Which columns a suggestion is about: decided by their names and types, or said by the analyst. Never by data.

NUMBERS = ("number", "long number")
GROUPS = ("text", "object")
ASKED_AS = {**dict.fromkeys(NUMBERS, "numbers"), **dict.fromkeys(GROUPS, "groups"), "truth": "truths"}
"""What is asked of columns, by their kind."""


@dataclass(frozen=True)
class Columns:
    """The columns that are asked about, and those that are not.

    numbers:  their bounds are learned
    groups:   their keys are learned
    truths:   their keys are known from the type: false and true
    others:   neither numbers nor text, such as dates; or with a name that no column of keys may have
    """

    numbers: tuple[str, ...]
    groups: tuple[str, ...]
    truths: tuple[str, ...]
    others: tuple[str, ...]


def choose_columns(
    kinds: Mapping[str, str],
    written: frozenset[str],
    unit: str | None,
    numbers: Sequence[str] | None,
    groups: Sequence[str] | None,
) -> Columns:
    """The columns of a source by their kinds; `written` are those of text formats, whose types nobody knows.

    >>> choose_columns({"age": "number", "place": "text", "when": "date"}, frozenset(), None, None, None)
    Columns(numbers=('age',), groups=('place',), truths=(), others=('when',))
    """
    _check_named(kinds, unit, numbers or (), groups or ())
    untyped = [name for name in kinds if name in written and name != unit]
    said = numbers is not None or groups is not None
    if said:
        known = dict.fromkeys(numbers or (), NUMBERS[0]) | dict.fromkeys(groups or (), GROUPS[0])
    else:
        typed = {name: kind for name, kind in kinds.items() if name not in written and name != unit}
        known = {name: "other" if _is_unfit(name, kind) else kind for name, kind in typed.items()}
    asked: dict[str, list[str]] = {"numbers": [], "groups": [], "truths": [], "others": []}
    for name, kind in known.items():
        asked[ASKED_AS.get(kind, "others")].append(name)
    found = Columns(**{name: tuple(columns) for name, columns in asked.items()})
    if found.numbers or found.groups or found.truths or (unit is not None and (said or not untyped)):
        return found
    raise _nothing_to_suggest(untyped)


def _check_named(kinds: Mapping[str, str], unit: str | None, numbers: Sequence[str], groups: Sequence[str]) -> None:
    """Refuse columns that the source does not have, and one that is named for two things."""
    for name in (*((unit,) if unit else ()), *numbers, *groups):
        if name not in kinds:
            what, rule = f"column {name!r}", "the source has no such column"
            raise RequestError(what, rule, nearest_column(name, kinds), code="no-such-column-to-suggest", column=name)
    twice = {*numbers} & {*groups} or {unit} & {*numbers, *groups}
    if twice:
        raise RequestError(
            f"column {min(map(str, twice))!r} named twice",
            "a column has numbers, or the keys of groups, or the ids of people",
            "name it once",
            code="suggested-column-twice",
            column=min(map(str, twice)),
        )


def _nothing_to_suggest(untyped: Sequence[str]) -> RequestError:
    if untyped:
        form = 'numbers=[…] and groups=["…"]' if notation() == PYTHON else "--numbers …,… --groups …"
        shown = ", ".join(untyped[:12]) + (", …" if untyped[12:] else "")
        return RequestError(
            "a source whose columns have no types",
            "in a text file every column is text, and only names and types decide what is asked; nothing was spent",
            f"say which hold numbers and which the keys of groups, of {shown}: {form}; or use a Parquet file",
            code="suggestion-of-untyped-columns",
        )
    return RequestError(
        "a source without a column of numbers, of text, or of true and false",
        "bounds are learned for numbers, and keys for text",
        "write the request yourself: docs/requests.md has examples",
        code="nothing-to-suggest",
    )


def _is_unfit(name: str, kind: str) -> bool:
    """Whether a table of answers could not show these keys."""
    return name in RESERVED and kind not in NUMBERS


# The releases of a suggestion: ordinary requests, whose shares of the guarantee are fixed before any data is read.
#
#     bounds   where the numbers of each column lie                           in stages
#     keys     the keys that many people have, of each column of text         found keys
#     people   who is beyond these bounds; rows and groups of a person        cells of public edges
#
# The last is planned from the noisy outputs of the others, at a share that does not depend on them.

WEIGHTS = {"bounds": 5, "keys": 3, "people": 3}
"""The shares of μ² of the releases, as far as they are made."""

STAGES = {"bounds": 0.5, "zooms": 0.13}
"""The shares of the stages that learn bounds: nearly everything, because their answers are not wanted."""

LEVEL = 0.95
"""The part of people whose rows, and whose groups, the suggested limits leave whole."""

STEPS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 50, 64, 80, 100, 128, 160, 200, 256, 365, 512, 1000)
STEPS += tuple(10**k * m for k in range(3, 7) for m in (2, 5, 10))
"""The numbers of rows that are told apart: each is the largest of its cell."""

FEW = 3
"""In how many values of a column a person counts when keys are found."""

MOST_KEYS, LONGEST_KEY = 20, 60
"""Limits on the keys of a column for which the groups of a person are counted, and on their characters."""

MOST_PEOPLE = 1_000_000
"""Refused is a guarantee under which a cell must hold more people than this to be seen."""

Bounds = Mapping[str, tuple[float, float]]
Keys = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Shares:
    """The guarantees of the releases, None where one is not made, and the part of δ for found keys."""

    bounds: Guarantee | None
    keys: Guarantee | None
    people: Guarantee | None
    keys_delta: Fraction

    @property
    def whole(self) -> Guarantee:
        """All of them together."""
        return compose(each for each in (self.bounds, self.keys, self.people) if each is not None)


def split_guarantee(
    guarantee: Guarantee, columns: Columns, unit: str | None, finds: bool, keys_delta: float | None
) -> Shares:
    """The shares of the releases that these columns need; refuses a guarantee under which nothing would be seen."""
    needed = {
        "bounds": bool(columns.numbers),
        "keys": finds,
        "people": bool(columns.numbers) or unit is not None,
    }
    names = [name for name, is_needed in needed.items() if is_needed and name != "keys"]
    rest, kappa, found = guarantee, Fraction(0), {}
    if finds:
        kappa = Fraction(keys_delta if keys_delta is not None else (guarantee.delta or 0.0) / 10)
        others = sum(WEIGHTS[name] for name in names)
        own, left, _ = split_with_keys(guarantee, [WEIGHTS["keys"]], others, kappa)
        found["keys"], rest = own[0], left or guarantee
    found |= zip(names, rest.split([WEIGHTS[name] for name in names]), strict=True) if names else ()
    shares = Shares(found.get("bounds"), found.get("keys"), found.get("people"), kappa)
    seen = people_seen(shares, columns, unit)
    if seen > MOST_PEOPLE:
        raise RequestError(
            "a guarantee too small for a suggestion",
            f"with {len(columns.numbers)} columns of numbers, about {seen:,.0f} people must lie close together "
            "to be seen through its noise",
            f"choose a larger one, such as {setting('guarantee', {'epsilon': 0.1, 'delta': 1e-7})}, or name fewer "
            "columns",
            code="suggestion-guarantee-too-small",
            people=seen,
        )
    return shares


def people_seen(shares: Shares, columns: Columns, unit: str | None) -> float:
    """How many people must have numbers within one power of two so that it is seen; 0 where no bounds are learned."""
    if shares.bounds is None:
        return 0.0
    histograms = len(columns.numbers) * (1 if unit is None else 2)
    return 6 * math.sqrt(histograms / STAGES["bounds"]) / shares.bounds.mu


def ask_bounds(source: Any, columns: Columns, unit: str | None, guarantee: Guarantee) -> Request:
    """Sums of all numbers, or of people's own means, within bounds that are learned."""
    asked = dict.fromkeys(columns.numbers, "private")
    answers: dict[str, Any] = {"sums": asked} if unit is None else {"means": asked, "mean_of": "units"}
    return Request(source, unit=unit, guarantee=guarantee, budget=STAGES, **answers)


def ask_keys(source: Any, columns: Columns, unit: str | None, guarantee: Guarantee, keys_delta: Fraction) -> Request:
    """How many people have each value of the columns of text; a person counts in the few values of most rows."""
    limit = {} if unit is None else {"values_per_unit": FEW}
    questions = [{"name": name, "histograms": {name: "found"}, **limit} for name in columns.groups]
    return Request(source, unit=unit, guarantee=guarantee, keys_delta=float(keys_delta), questions=questions)


def ask_people(source: Any, unit: str | None, guarantee: Guarantee, bounds: Bounds, keys: Keys) -> Request | None:
    """Who is beyond these bounds, and the rows and groups of a person; None where there is nothing to ask."""
    questions: list[dict[str, Any]] = []
    for i, (name, (low, high)) in enumerate(bounds.items()):
        edges = [low, math.nextafter(high, math.inf)]  # the bounds themselves lie inside
        if unit is None:
            questions.append({"name": f"bounds {i}", "histograms": {name: {"bins": edges}}})
            continue
        for end in ("min", "max"):
            own = f"{end} {i}"
            made = {"person_columns": {own: f"{end}({_column(name)})"}}
            questions.append({"name": own, "histograms": {own: {"bins": edges}}, **made})
    if unit is not None:
        questions.append(_ask_number("rows", "count()"))
        for i, (name, values) in enumerate(keys.items()):
            if are_countable(values):
                parts = [f"if(any({_column(name)} == {_literal(value)}), 1, 0)" for value in values]
                questions.append(_ask_number(f"groups {i}", " + ".join(parts)))
    return Request(source, unit=unit, guarantee=guarantee, questions=questions) if questions else None


def are_countable(keys: Sequence[Any]) -> bool:
    """Whether it is counted in how many of these groups a person is: they are few, and can be written in a formula."""
    return 1 < len(keys) <= MOST_KEYS and all(map(_is_plain, keys))


def _is_plain(key: Any) -> bool:
    is_short = isinstance(key, str) and key.isprintable() and len(key) <= LONGEST_KEY
    return is_short or isinstance(key, int)


def _ask_number(name: str, formula: str) -> dict[str, Any]:
    """The quantile of a whole number of each person."""
    own = f"{name} of a person"
    edges = [-0.5, *(step + 0.5 for step in STEPS)]
    made = {"person_columns": {own: formula}, "bins": {own: edges}}
    return {"name": name, "quantiles": {own: [LEVEL]}, **made}


def _column(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _literal(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value).lower()


FEW_VALUES = "too few people with values other than 0 to be seen"
"""Why no bounds were found."""


class Outside(NamedTuple):
    """The part of people beyond bounds, with the ends of an interval; those of all columns hold at once with 95 %."""

    share: float
    low: float
    high: float

    def told(self, bounds: tuple[float, float]) -> str:
        """Who is beyond these bounds, in words."""
        if self.low <= 0:
            return f"probably nobody is outside (upper estimate: {_percent(max(self.high, 0.0))} of people)"
        beyond = f"below {bounds[0]:,.12g} or above {bounds[1]:,.12g}"
        told = f"about {_percent(self.share)} of people are {beyond} ({_percent(self.low)} to {_percent(self.high)})"
        return told + (": widen these bounds" if self.low > 0.05 else "")


class Limit(NamedTuple):
    """How many rows or groups nearly all people have at most, with the ends of an interval; None: no end was seen."""

    most: int
    low: int
    high: int | None

    def told(self, what: str) -> str:
        high = "or more" if self.high is None else f"to {self.high:,}"
        sure = "" if self.low == self.high else f" (this may be {self.low:,} {high})"
        return f"{100 * LEVEL:.0f} of 100 people have at most about {self.most:,} {what}{sure}"


@dataclass(frozen=True, eq=False)
class Suggestion:
    """A suggested request. `toml()` is its file, `str()` says what was learned, `releases` are the records.

    bounds:           by column; None where none were found
    outside:          the part of people beyond them
    keys:             by column, those that were shown; None where keys were not looked for
    rows_per_unit:    None without a unit, and where it was not found
    groups_per_unit:  by column, where it was found
    """

    source: Any = field(repr=False)
    unit: str | None
    guarantee: Guarantee
    spent: Guarantee
    keys_delta: float
    columns: Columns = field(repr=False)
    bounds: Mapping[str, tuple[float, float] | None]
    outside: Mapping[str, Outside] = field(repr=False)
    keys: Mapping[str, tuple[Any, ...] | None]
    rows_per_unit: Limit | None
    groups_per_unit: Mapping[str, Limit]
    why_no_keys: str = ""
    charged_to: str = ""
    releases: Mapping[str, Release] = field(default_factory=dict, repr=False)

    @checks_arguments
    def toml(self, beside: str | os.PathLike[str] | None = None) -> str:
        """The request as a commented TOML file; `beside` is the folder that it will be in."""
        from gaussmith.pipeline.learning import request_text

        return request_text(self, None if beside is None else Path(beside))

    @checks_arguments
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the request file; refuses to overwrite one."""
        file = Path(path)
        check_file(file)
        try:
            file.write_text(self.toml(file.absolute().parent), encoding="utf-8")
        except OSError as error:
            raise _unwritten(file, f"it cannot be written: {error.strerror}") from None

    def to_dict(self) -> dict[str, Any]:
        """What was learned, for JSON: all noisy and public."""
        return {
            "bounds": {name: pair and list(pair) for name, pair in self.bounds.items()},
            "outside": {name: each._asdict() for name, each in self.outside.items()},
            "keys": {name: keys and [_plain(key) for key in keys] for name, keys in self.keys.items()},
            "rows_per_unit": self.rows_per_unit and self.rows_per_unit.most,
            "groups_per_unit": {name: limit.most for name, limit in self.groups_per_unit.items()},
            "spent": {**self.guarantee.to_dict(), "keys_delta": self.keys_delta},
        }

    def __str__(self) -> str:
        lines = [told for name in self.bounds for told in [self.told_bounds(name)]]
        if self.unit is not None:
            lines.append("rows of a person: " + told_limit(self.rows_per_unit, "rows"))
        for name, keys in self.keys.items():
            lines.append(f"{name}: {self.told_keys(keys)}")
            if self.unit is not None and keys and are_countable(keys):
                lines.append(f"{name}: " + told_limit(self.groups_per_unit.get(name), "of these keys"))
        lines.append(f"spent: {self.told_spent}")
        return "\n".join(map(printable, lines))

    def told_bounds(self, name: str) -> str:
        """The bounds of a column, and who is beyond them."""
        pair = self.bounds[name]
        if pair is None:
            return f"{name}: no bounds found, {FEW_VALUES}"
        outside = f"; {self.outside[name].told(pair)}" if name in self.outside else ""
        return f"{name}: [{pair[0]:,.12g}, {pair[1]:,.12g}]{outside}"

    def told_keys(self, keys: tuple[Any, ...] | None) -> str:
        if keys is None:
            return f"keys were not looked for: {self.why_no_keys}"
        if not keys:
            return "no keys found"
        shown = ", ".join(map(key_text, keys[:8]))
        return f"{len(keys)} {'key' if len(keys) == 1 else 'keys'} found: {shown}{', …' if keys[8:] else ''}"

    @property
    def told_spent(self) -> str:
        """What was spent, in the words of the guarantee, and where it was charged."""
        stated = self.guarantee.to_dict()
        signs = {"epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ"}
        told = ", ".join(f"{signs[name]} = {plain_number(value)}" for name, value in stated.items())
        if self.keys_delta:
            told += (
                f" ({plain_number(self.keys_delta)} of δ for keys)"
                if "delta" in stated
                else (f" and δ = {plain_number(self.keys_delta)} for keys")
            )
        return told + (f", charged to {self.charged_to}" if self.charged_to else "")


def told_limit(limit: Limit | None, what: str) -> str:
    """A limit in words."""
    return f"how many {what} people have is not known, too few to tell" if limit is None else limit.told(what)


def check_file(file: Path) -> None:
    """Refuse a file that is there, or that cannot be written: before anything is charged."""
    if file.exists():
        raise _unwritten(file, "it exists, and is not overwritten")
    if not os.access(file.absolute().parent, os.W_OK):
        raise _unwritten(file, "there is no such folder, or you cannot write to it")


def _unwritten(file: Path, rule: str) -> RequestError:
    said = without_secrets(file)
    what, remedy = f"suggested request {said!r}", "choose another name"
    return RequestError(what, rule, remedy, code="suggestion-not-written", file=said)


def _percent(share: float) -> str:
    return f"{100 * max(share, 0.001):.2g} %" if share < 0.995 else "100 %"


def _plain(key: Any) -> Any:
    return key if isinstance(key, str | bool | int) else str(key)


def plain_number(number: float) -> str:
    """A number as people write it.

    >>> plain_number(1e-07), plain_number(0.1)
    ('1e-7', '0.1')
    """
    return f"{number:.6g}".replace("e-0", "e-")
