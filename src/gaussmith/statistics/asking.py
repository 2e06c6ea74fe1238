"""What is asked of a domain: sums, means, linear answers, a workload, the count, and how much each matters."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gaussmith.checks import is_number
from gaussmith.domains.domain import Domain, check_coordinates, check_workload
from gaussmith.domains.features import (
    BoundedColumn,
    FeatureProduct,
    Features,
    Need,
    Places,
    Value,
    of_coordinates,
    of_matrix,
    of_workload,
)
from gaussmith.domains.workloads import Marginals, Rows, Runs
from gaussmith.errors import PlanError, RequestError, counted, damaged_plan, nearest
from gaussmith.numerics.exact import Array
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.covariance import Covariances, Variances
from gaussmith.statistics.mean import read_mean_within, stating
from gaussmith.statistics.quantile import Quantiles
from gaussmith.statistics.registry import STATISTICS, asked_of_coordinates
from gaussmith.statistics.regression import Slopes
from gaussmith.statistics.statistic import ONE, AskedAnswer, Ground, Statistic
from gaussmith.statistics.sum import NAME, Count, Linear, Workloads

if TYPE_CHECKING:
    from gaussmith.domains.moments import Moments
    from gaussmith.domains.workloads import NamedCells


MAX_SPELLED = 10_000
"""Limit on the names of a workload's answers that are spelled at once; the others are when they are looked at."""

BY_RANGE = "relative"
"""The weights that answers have by default, in plans as in requests: each counts relative to its range."""


def ask(
    domain: Domain, answers: Any = "sums", count: bool = False, weights: Any = BY_RANGE, mean_within: Any = None
) -> Answers:
    """The answers asked of a domain: "sums", "means", a matrix with one column per coordinate, or a workload.

    `mean_within` says between which numbers means lie; stated errors hold there, and noise does not depend on it.
    """
    asked = _ask(domain, answers, count, weights)
    if mean_within is None:
        return asked
    if not (asked.any_divided and domain.means.vary_alone):
        what = "mean_within where there is no mean within bounds of its own"
        rule = "it says where the means of columns with bounds lie"
        remedy = "leave it out; a ball may have a smaller radius, and GaussianData has a mean_within of its own"
        raise PlanError(what, rule, remedy, code="mean-within-without-bounds")
    low, high = domain.means.middles - domain.means.distances, domain.means.middles + domain.means.distances
    names = [name for each in asked.statistics if each.divided for name in each.names]
    bounds = dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    return asked.stating(read_mean_within(mean_within, bounds))


def _ask(domain: Domain, answers: Any, count: bool, weights: Any) -> Answers:
    if isinstance(answers, Rows):
        check_workload(domain, answers)
        answers = answers.matrix
    if isinstance(answers, Runs | Marginals):
        return ask_workload(domain, answers, count, weights)
    check_coordinates(domain)
    counted = [Count.of_records()] if count else []
    if not isinstance(answers, str):
        matrix = _matrix(answers, domain.dimension)
        size = len(matrix)
        numbers, label = read_weights(weights, np.abs(matrix) @ domain.ranges, size)
        linear = Linear(tuple(map(str, range(size))), np.arange(size)[:, None], numbers)
        return Answers.of(of_matrix(matrix), [linear, *counted], label)
    kinds = asked_of_coordinates()
    if answers not in kinds:
        what = f"answers={answers!r}"
        rule = f"it is {', '.join(map(repr, kinds))} or a matrix with one column per coordinate".replace("'", '"')
        remedy = nearest(answers, list(kinds))
        raise PlanError(what, rule, remedy, code="unknown-answers", answers=answers)
    names = _answer_names(domain, count)
    features, places = _need_coordinates(kinds[answers], domain.dimension)
    numbers, label = read_weights(weights, domain.ranges, domain.dimension)
    asked = kinds[answers].placed(names, places, numbers, ground_of(domain, features))
    return Answers.of(features, [asked, *counted], label)


def _answer_names(domain: Domain, count: bool) -> tuple[str, ...]:
    names = domain.names if domain.names is not None else tuple(map(str, range(domain.dimension)))
    if count and NAME in names:
        what, rule = "a column named 'count' together with count=True", "every answer needs its own name"
        remedy = "rename the column, or use gaussmith.Request, which names its sum count_sum"
        raise PlanError(what, rule, remedy, code="column-named-count")
    if not names and not count:
        what, rule = "nothing is asked for", "a plan has at least one answer"
        raise PlanError(what, rule, "ask for a sum, a mean or the count", code="no-answers")
    return names


def _need_coordinates(kind: type[Statistic], dimension: int) -> tuple[Features, Places]:
    """The features that a statistic needs of every coordinate, and their places; a record is one row."""
    index: list[Places] = []
    centred, places = [], []
    for need in kind.needs((BoundedColumn("", 0.0, 0.0),), "records"):
        if need.column is None:
            places.append(np.full(dimension, ONE))
            continue
        places.append(np.arange(dimension) + len(index) * dimension)
        index.append(np.arange(dimension))
        centred.append(np.full(dimension, need.centred))
    return of_coordinates(np.concatenate(index), np.concatenate(centred)), np.column_stack(places)


def ground_of(domain: Domain, features: Features) -> Ground:
    """What features are measured from, and how far from it a mean may lie."""
    return (
        lambda places: domain.means.middles[features.index[places]],
        lambda places: domain.means.squares[features.index[places]],
    )


def ask_workload(domain: Domain, workload: Runs | Marginals, count: bool, weights: Any) -> Answers:
    """The answers of a workload over cells; of marginals, `weights` has one number per marginal."""
    check_workload(domain, workload)
    size, given = workload.size, workload.weighted
    numbers, label = read_weights(weights, np.ones(given), given)
    each = workload.spread_weights(numbers, label != "given")
    names: Sequence[str] = workload.answer_names(cast("NamedCells", domain))  # no other domain passes the check
    names = names if size > MAX_SPELLED else tuple(names)
    asked = Workloads(names, np.arange(size)[:, None], each)
    return Answers.of(of_workload(workload), [asked, *([Count.of_records()] if count else [])], label)


def weights_for(objective: Any, weights: Any) -> Any:
    """The weights to ask with. Where the worst answer decides, targets take their place: only the default may stand."""
    if objective != "worst":
        return weights
    if not (isinstance(weights, str) and weights == BY_RANGE):
        what, rule = "weights with objective='worst'", "every answer has a target instead"
        raise PlanError(what, rule, "give targets= instead", code="weights-with-objective-worst")
    return "equal"


def aim(answers: Answers, objective: Any, targets: Any) -> Answers:
    """The same answers with an objective: the weighted "total", or the "worst" answer in units of its target."""
    if objective not in ("total", "worst"):
        what, rule = f"objective={objective!r}", 'it must be "total" or "worst"'
        remedy = nearest(str(objective), ["total", "worst"])
        raise PlanError(what, rule, remedy, code="unknown-objective", objective=objective)
    if objective == "total":
        if targets is not None:
            what, rule = "targets with objective='total'", "targets are for the worst answer"
            raise PlanError(what, rule, "use weights instead", code="targets-with-objective-total")
        return answers
    try:
        aims = np.ones(answers.size) if targets is None else np.array(targets, float)
    except (TypeError, ValueError):
        aims = np.zeros(0)
    if aims.shape != (answers.size,) or not (np.isfinite(aims) & (aims > 0)).all():
        what = f"targets of shape {aims.shape}"
        rule = f"there must be {answers.size} positive finite numbers, one standard error per answer"
        remedy = "give them all, or none"
        raise PlanError(what, rule, remedy, code="targets-malformed", shape=aims.shape, size=answers.size)
    return replace(answers, features=replace(answers.features, targets=aims))


def _matrix(answers: Any, dimension: int) -> Array:
    try:
        matrix = np.array(answers, dtype=float)
    except (TypeError, ValueError, OverflowError):
        matrix = np.zeros((0, 0, 0))
    if matrix.ndim != 2 or matrix.shape[1] != dimension or len(matrix) == 0 or not np.isfinite(matrix).all():
        what = f"answers of shape {matrix.shape}"
        rule = f"a matrix of answers has one row per answer and {counted(dimension, 'column')} of finite numbers"
        remedy = "give a matrix that fits the domain"
        raise PlanError(what, rule, remedy, code="answers-malformed", shape=matrix.shape, dimension=dimension)
    if not matrix.any(axis=1).all():
        what, rule = "an answer that is always zero", "every row must use a coordinate"
        raise PlanError(what, rule, "leave that row out", code="answer-always-zero")
    return matrix


def read_weights(weights: Any, ranges: Array, size: int) -> tuple[Array, str]:
    """One positive number per answer, and how they were chosen; `ranges` is what one record can change."""
    if isinstance(weights, str):
        if weights == "equal":
            return np.ones(size), "equal"
        if weights == BY_RANGE:
            return 1.0 / (ranges * ranges), BY_RANGE
        what, rule = f"weights={weights!r}", 'weights are "equal", "relative" or one number per answer'
        raise PlanError(what, rule, nearest(weights, ["equal", BY_RANGE]), code="unknown-weights", weights=weights)
    try:
        numbers = np.array(weights, float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.zeros(0)
    if numbers.shape != (size,) or not ((numbers >= 1e-100) & (numbers <= 1e100)).all():
        what = f"weights of shape {numbers.shape}"
        rule = f"there must be {size} positive finite numbers, one per answer, between 1e-100 and 1e100"
        remedy = "leave out what does not matter instead of giving it weight 0"
        raise PlanError(what, rule, remedy, code="weights-malformed", shape=numbers.shape, size=size)
    return numbers, "given"


# Which answers are asked of moments: variances, covariances, regressions, and sums and means beside them.

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
        elif isinstance(need, FeatureProduct):
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
        if not isinstance(need, FeatureProduct):
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
        what, rule = f"answers={dict(answers)!r}"[:120], "a regression is of one column on one or more others"
        remedy = 'write answers={"of": "income", "on": ["age"]}'
        raise PlanError(what, rule, remedy, code="regression-malformed", answers=dict(answers))
    names = [str(answers["of"]), *map(str, on)]
    check_regression(names)
    return names


def check_regression(names: Sequence[str]) -> None:
    """Refuse a column that explains itself, or that is named twice; the first is explained by the others."""
    of, *on = names
    if of in on:
        what, rule = f"a regression of {of!r} on itself", "a column explains itself with slope 1"
        raise RequestError(what, rule, f"leave {of} out of on", code="regression-on-itself", column=of)
    for name in on:
        if on.count(name) > 1:
            what, rule = f"a regression on {name!r} twice", "two equal columns have no slopes of their own"
            raise RequestError(what, rule, "leave one out", code="regression-on-column-twice", column=name)


def _named(name: str, known: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    if name not in known:
        what, rule = f"column {name!r}", "the domain has no such column"
        raise PlanError(what, rule, nearest(name, list(known)), code="no-such-coordinate", column=name)
    return known[name]


# The saved form of answers: their features and statistics; weights follow from those of the statistics.


def answers_to_dict(answers: Answers) -> dict[str, Any]:
    """The features, the statistics in order, and how weights were chosen."""
    fields = {"weighting": answers.weighting, "features": answers.features.to_dict()}
    work = answers.features.workload
    if work is None or not isinstance(answers.statistics[0], Workloads):
        return fields | {"statistics": [statistic.to_dict() for statistic in answers.statistics]}
    given = answers.weights[work.given_at].tolist() if answers.weighting == "given" else None  # as they were given
    return fields | {"count": answers.count, "weights": given}


def answers_from_dict(fields: dict[str, Any], domain: Domain) -> Answers:
    """The answers that `answers_to_dict` described; refuses what it does not know."""
    _check_fields(fields, {"weighting", "features", "statistics"}, {"weighting", "features", "count", "weights"})
    made_of = ({"index", "centred"}, {"matrix"}, {"workload"})
    _check_fields(fields["features"], *made_of, *(names | {"targets"} for names in made_of))
    features, weighting = Features.from_dict(fields["features"]), str(fields["weighting"])
    if features.workload is not None and "statistics" in fields:
        read = [_quantiles(each, domain, features.size) for each in fields["statistics"]]
        return Answers.of(features, read, weighting)
    if features.workload is not None:
        weights = weighting if fields["weights"] is None else fields["weights"]
        asked = ask_workload(domain, features.workload, bool(fields["count"]), weights)
        return replace(asked, features=replace(asked.features, targets=features.targets))
    statistics = [_statistic(each, domain, features) for each in fields["statistics"]]
    return Answers.of(features, statistics, weighting)


def _quantiles(fields: dict[str, Any], domain: Domain, size: int) -> Quantiles:
    """What is read from all features of a workload together."""
    if domain.chosen:
        from gaussmith.domains.chosen_cells import ChosenCells
        from gaussmith.privacy.choices import level_of
        from gaussmith.statistics.chosen import ChosenQuantiles

        assert isinstance(domain, ChosenCells)
        _check_fields(fields, {"kind", "names", "levels", "limits", "spread"})
        (name,), (level,) = fields["names"], fields["levels"]
        read = ChosenQuantiles.around(str(name), float(level), domain.fine, float(fields["spread"]))
        if fields["kind"] != read.kind or level_of(float(level)) != domain.level or size != read.cells:
            raise damaged_plan("a quantile that is not the chosen one")
        return read
    _check_fields(fields, {"kind", "names", "levels", "limits"})
    return Quantiles.from_fields(fields, size)


def _statistic(fields: dict[str, Any], domain: Domain, features: Features) -> Statistic:
    own = {"kind", "names", "places", "weights"}
    _check_fields(fields, own, own | {"within"})
    kind = fields["kind"]
    if kind not in STATISTICS:
        what, rule = f"statistic {kind!r}", "this version does not know it"
        raise PlanError(what, rule, nearest(str(kind), list(STATISTICS)), code="unknown-statistic", kind=kind)
    known, names = STATISTICS[kind], tuple(map(str, fields["names"]))
    places, weights = np.array(fields["places"], np.int64), np.array(fields["weights"], float)
    inside = places.ndim == 2 and len(places) == len(names) == len(weights) and known.has_width(places.shape[1])
    if not (inside and ((places >= ONE) & (places < features.size)).all() and (weights > 0).all()):
        raise damaged_plan("a statistic without its features")
    return stating(known.placed(names, places, weights, ground_of(domain, features)), _stated(fields, names))


def _stated(fields: dict[str, Any], names: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Between which numbers means are stated to lie, by name."""
    stated = fields.get("within", [None] * len(names))
    if not isinstance(stated, list) or len(stated) != len(names) or not all(map(_is_pair, stated)):
        raise damaged_plan("a statement of where means lie that does not fit them")
    pairs = {name: pair for name, pair in zip(names, stated, strict=True) if pair is not None}
    return {name: (float(low), float(high)) for name, (low, high) in pairs.items()}


def _is_pair(stated: Any) -> bool:
    return stated is None or (isinstance(stated, list) and len(stated) == 2 and all(map(is_number, stated)))


def _check_fields(fields: dict[str, Any], *known: set[str]) -> None:
    if set(fields) not in known:
        odd = sorted(set(fields).symmetric_difference(known[0]))
        raise damaged_plan(f"fields {odd} that are missing or not known")
