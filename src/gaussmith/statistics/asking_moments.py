"""Which answers are asked of moments: variances, covariances, regressions, and sums and means beside them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.errors import PlanError, RequestError, nearest
from gaussmith.problem.features import BoundedColumn, Need, Places, Product, Value, of_coordinates
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.asking import ground_of, read_weights
from gaussmith.statistics.count import Count
from gaussmith.statistics.covariance import Covariances
from gaussmith.statistics.registry import STATISTICS
from gaussmith.statistics.regression import Slopes
from gaussmith.statistics.statistic import ONE, AskedAnswer, Statistic
from gaussmith.statistics.variance import Variances

if TYPE_CHECKING:
    from gaussmith.domains import Moments

Number = tuple[BoundedColumn, str]
"""A number of a record: its column and what it is made of."""

MOMENT_ANSWERS = VARIANCES, COVARIANCE = "variances", "covariance"


def numbers_of(needed: Sequence[Sequence[Need]]) -> tuple[list[Number], list[tuple[Number, Number]]]:
    """The numbers of a record that features are made of, and the pairs whose products are needed."""
    numbers: dict[Number, None] = {}
    pairs: dict[tuple[Number, Number], None] = {}
    for need in itertools.chain.from_iterable(needed):
        if isinstance(need, Value):
            numbers[need.column, need.made] = None
        elif isinstance(need, Product):
            ends = ((need.first, need.made), (need.second, need.made))
            numbers |= dict.fromkeys(ends)
            pairs[ends] = None
    return list(numbers), list(pairs)


def ask_moments(
    domain: Moments,
    asked: Sequence[AskedAnswer],
    needed: Sequence[Sequence[Need]],
    at: Mapping[Number, int],
    weights: Any,
    count: bool,
) -> Answers:
    """The answers of a domain of moments; `at` says which of its columns a number is."""
    places = {pair: domain.columns_count + k for k, pair in enumerate(domain.pairs)}
    features: dict[tuple[int, bool], int] = {}

    def place_of(need: Need) -> int:
        if isinstance(need, Value):
            return features.setdefault((at[need.column, need.made], need.centred), len(features))
        if not isinstance(need, Product):
            return ONE
        i, j = sorted((at[need.first, need.made], at[need.second, need.made]))
        return features.setdefault((places[i, j], False), len(features))

    read = [[place_of(need) for need in needs] for needs in needed]
    index = np.array([j for j, _ in features], np.int64)
    made = of_coordinates(index, np.array([centred for _, centred in features], bool))
    leads = np.array([_lead(each.kind, places) for each, places in zip(asked, read, strict=True)], np.int64)
    numbers, label = read_weights(weights, domain.ranges[index[leads]], len(asked))
    ground = ground_of(domain, made)
    statistics: list[Statistic] = []
    for (kind, _), members in itertools.groupby(range(len(asked)), key=lambda i: (asked[i].kind, len(read[i]))):
        some, known = list(members), STATISTICS[kind]
        names = tuple(known.name_of(asked[i].columns, *asked[i].arguments) for i in some)
        taken: Places = np.array([read[i] for i in some], np.int64)
        statistics.append(known.placed(names, taken, numbers[some], ground))
    return Answers.of(made, [*statistics, *([Count.of_records()] if count else [])], label)


def _lead(kind: str, places: Sequence[int]) -> int:
    """The feature that an answer is mostly about: of a slope the product of its column with what it explains."""
    if kind != "slope":
        return places[0]
    p = next(p for p in itertools.count(1) if 2 + 2 * p + p * (p + 1) // 2 >= len(places))
    return places[1 + p]


def ask_of_moments(domain: Moments, answers: Any, count: bool, weights: Any) -> Answers:
    """The answers of `gaussmith.plan` over moments: "variances", "covariance", or {"of": "y", "on": ["x"]}."""
    box = domain.box
    names = [box.name(j) for j in range(domain.columns_count)]
    wanted = {name: (float(box.lower[j]), float(box.upper[j])) for j, name in enumerate(names)}
    if isinstance(answers, Mapping):
        asked = Slopes.asked({name: _named(name, wanted) for name in _explained(answers)})
    else:
        asked = Variances.asked(wanted) + (Covariances.asked(wanted) if answers == COVARIANCE else [])
    needed = [STATISTICS[each.kind].needs(each.columns, "records") for each in asked]
    have = set(domain.pairs)
    at = {number: names.index(number[0].name) for number in numbers_of(needed)[0]}
    for first, second in numbers_of(needed)[1]:
        if tuple(sorted((at[first], at[second]))) not in have:
            raise PlanError(
                f"the product of {first[0].name!r} and {second[0].name!r}",
                "the domain does not have it, and the answers need it",
                'write Moments(…, products="all")',
                code="product-not-in-domain",
                first=first[0].name,
                second=second[0].name,
            )
    return ask_moments(domain, asked, needed, at, weights, count)


def _explained(answers: Mapping[str, Any]) -> list[str]:
    """The column that is explained, then those that explain."""
    on = answers.get("on")
    if set(answers) != {"of", "on"} or isinstance(on, str) or not isinstance(on, Sequence) or not on:
        raise PlanError(
            f"answers={dict(answers)!r}"[:120],
            "a regression is of one column on one or more others",
            'write answers={"of": "income", "on": ["age"]}',
            code="regression-malformed",
            answers=dict(answers),
        )
    names = [str(answers["of"]), *map(str, on)]
    check_regression(names)
    return names


def check_regression(names: Sequence[str]) -> None:
    """Refuse a column that explains itself, or that is named twice; the first is explained by the others."""
    of, *on = names
    if of in on:
        raise RequestError(
            f"a regression of {of!r} on itself",
            "a column explains itself with slope 1",
            f"leave {of} out of on",
            code="regression-on-itself",
            column=of,
        )
    for name in on:
        if on.count(name) > 1:
            raise RequestError(
                f"a regression on {name!r} twice",
                "two equal columns have no slopes of their own",
                "leave one out",
                code="regression-on-column-twice",
                column=name,
            )


def _named(name: str, known: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    if name not in known:
        what, rule = f"column {name!r}", "the domain has no such column"
        raise PlanError(what, rule, nearest(name, list(known)), code="no-such-coordinate", column=name)
    return known[name]
