"""What is asked of a domain: sums, means, linear answers, a workload, the count, and how much each matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.linear import Array
from gaussmith.problem import Domain, Features
from gaussmith.problem.features import BoundedColumn, Places, of_coordinates, of_matrix, of_workload
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.count import NAME, Count
from gaussmith.statistics.linear import Linear
from gaussmith.statistics.mean import read_mean_within
from gaussmith.statistics.registry import asked_of_coordinates
from gaussmith.statistics.statistic import ONE, Ground, Statistic
from gaussmith.statistics.workload import Workloads
from gaussmith.workloads import Marginals, Rows, Runs

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
    if not (asked.any_divided and domain.means_vary_alone):
        raise PlanError(
            "mean_within where there is no mean within bounds of its own",
            "it says where the means of columns with bounds lie",
            "leave it out; a ball may have a smaller radius, and GaussianData has a mean_within of its own",
            code="mean-within-without-bounds",
        )
    low, high = domain.middles - domain.mean_distances, domain.middles + domain.mean_distances
    names = [name for each in asked.statistics if each.divided for name in each.names]
    bounds = dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    return asked.stating(read_mean_within(mean_within, bounds))


def _ask(domain: Domain, answers: Any, count: bool, weights: Any) -> Answers:
    if isinstance(answers, Rows):
        domain.check_workload(answers)
        answers = answers.matrix
    if isinstance(answers, Runs | Marginals):
        return ask_workload(domain, answers, count, weights)
    domain.check_coordinates()
    counted = [Count.of_records()] if count else []
    if not isinstance(answers, str):
        matrix = _matrix(answers, domain.dimension)
        size = len(matrix)
        numbers, label = read_weights(weights, np.abs(matrix) @ domain.ranges, size)
        linear = Linear(tuple(map(str, range(size))), np.arange(size)[:, None], numbers)
        return Answers.of(of_matrix(matrix), [linear, *counted], label)
    kinds = asked_of_coordinates()
    if answers not in kinds:
        raise PlanError(
            f"answers={answers!r}",
            f"it is {', '.join(map(repr, kinds))} or a matrix with one column per coordinate".replace("'", '"'),
            nearest(answers, list(kinds)),
            code="unknown-answers",
            answers=answers,
        )
    names = domain.names if domain.names is not None else tuple(map(str, range(domain.dimension)))
    if count and NAME in names:
        raise PlanError(
            "a column named 'count' together with count=True",
            "every answer needs its own name",
            "rename the column, or use gaussmith.Request, which names its sum count_sum",
            code="column-named-count",
        )
    if not names and not count:
        raise PlanError(
            "nothing is asked for",
            "a plan has at least one answer",
            "ask for a sum, a mean or the count",
            code="no-answers",
        )
    features, places = _need_coordinates(kinds[answers], domain.dimension)
    numbers, label = read_weights(weights, domain.ranges, domain.dimension)
    asked = kinds[answers].placed(names, places, numbers, ground_of(domain, features))
    return Answers.of(features, [asked, *counted], label)


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
    return (lambda places: domain.middles[features.index[places]], lambda places: domain.spread[features.index[places]])


def ask_workload(domain: Domain, workload: Runs | Marginals, count: bool, weights: Any) -> Answers:
    """The answers of a workload over cells; of marginals, `weights` has one number per marginal."""
    domain.check_workload(workload)
    size, given = workload.size, workload.weighted
    numbers, label = read_weights(weights, np.ones(given), given)
    each = workload.spread_weights(numbers, label != "given")
    names: Sequence[str] = domain.workload_names(workload)
    names = names if size > MAX_SPELLED else tuple(names)
    asked = Workloads(names, np.arange(size)[:, None], each)
    return Answers.of(of_workload(workload), [asked, *([Count.of_records()] if count else [])], label)


def weights_for(objective: Any, weights: Any) -> Any:
    """The weights to ask with. Where the worst answer decides, targets take their place: only the default may stand."""
    if objective != "worst":
        return weights
    if not (isinstance(weights, str) and weights == BY_RANGE):
        raise PlanError(
            "weights with objective='worst'",
            "every answer has a target instead",
            "give targets= instead",
            code="weights-with-objective-worst",
        )
    return "equal"


def aim(answers: Answers, objective: Any, targets: Any) -> Answers:
    """The same answers with an objective: the weighted "total", or the "worst" answer in units of its target."""
    if objective not in ("total", "worst"):
        raise PlanError(
            f"objective={objective!r}",
            'it must be "total" or "worst"',
            nearest(str(objective), ["total", "worst"]),
            code="unknown-objective",
            objective=objective,
        )
    if objective == "total":
        if targets is not None:
            raise PlanError(
                "targets with objective='total'",
                "targets are for the worst answer",
                "use weights instead",
                code="targets-with-objective-total",
            )
        return answers
    try:
        aims = np.ones(answers.size) if targets is None else np.array(targets, float)
    except (TypeError, ValueError):
        aims = np.zeros(0)
    if aims.shape != (answers.size,) or not (np.isfinite(aims) & (aims > 0)).all():
        raise PlanError(
            f"targets of shape {aims.shape}",
            f"there must be {answers.size} positive finite numbers, one standard error per answer",
            "give them all, or none",
            code="targets-malformed",
            shape=aims.shape,
            size=answers.size,
        )
    return replace(answers, features=replace(answers.features, targets=aims))


def _matrix(answers: Any, dimension: int) -> Array:
    try:
        matrix = np.array(answers, dtype=float)
    except (TypeError, ValueError, OverflowError):
        matrix = np.zeros((0, 0, 0))
    if matrix.ndim != 2 or matrix.shape[1] != dimension or len(matrix) == 0 or not np.isfinite(matrix).all():
        raise PlanError(
            f"answers of shape {matrix.shape}",
            f"a matrix of answers has one row per answer and {dimension} columns of finite numbers",
            "give a matrix that fits the domain",
            code="answers-malformed",
            shape=matrix.shape,
            dimension=dimension,
        )
    if not matrix.any(axis=1).all():
        raise PlanError(
            "an answer that is always zero",
            "every row must use a coordinate",
            "leave that row out",
            code="answer-always-zero",
        )
    return matrix


def read_weights(weights: Any, ranges: Array, size: int) -> tuple[Array, str]:
    """One positive number per answer, and how they were chosen; `ranges` is what one record can change."""
    if isinstance(weights, str):
        if weights == "equal":
            return np.ones(size), "equal"
        if weights == BY_RANGE:
            return 1.0 / (ranges * ranges), BY_RANGE
        raise PlanError(
            f"weights={weights!r}",
            'weights are "equal", "relative" or one number per answer',
            nearest(weights, ["equal", BY_RANGE]),
            code="unknown-weights",
            weights=weights,
        )
    try:
        numbers = np.array(weights, float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.zeros(0)
    if numbers.shape != (size,) or not ((numbers >= 1e-100) & (numbers <= 1e100)).all():
        raise PlanError(
            f"weights of shape {numbers.shape}",
            f"there must be {size} positive finite numbers, one per answer, between 1e-100 and 1e100",
            "leave out what does not matter instead of giving it weight 0",
            code="weights-malformed",
            shape=numbers.shape,
            size=size,
        )
    return numbers, "given"
