"""The releases of a suggestion: ordinary requests, whose shares of the guarantee are fixed before any data is read.

    bounds   where the numbers of each column lie                           in stages
    keys     the keys that many people have, of each column of text         found keys
    people   who is beyond these bounds; rows and groups of a person        cells of public edges

The last is planned from the noisy outputs of the others, at a share that does not depend on them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gaussmith.errors import RequestError
from gaussmith.guarantee import Guarantee, compose
from gaussmith.plans.found_draws import split_with_keys
from gaussmith.requests.request import Request
from gaussmith.suggestions.columns import Columns

WEIGHTS = {"bounds": 5, "keys": 3, "people": 3}
"""The shares of μ² of the releases, as far as they are made."""

STAGES = {"bounds": 0.5, "zooms": 0.13, "clipped": 0.01}
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
            "choose a larger one, such as epsilon = 0.1 and delta = 1e-7, or name fewer columns",
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
