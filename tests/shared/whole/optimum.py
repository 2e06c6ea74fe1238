"""The least total of any Gaussian noise for a small request, from all corners of its body: an oracle of its own.

Nothing of a plan is used but what its total means: every error relative to what one person can change (the width of the
bounds of a sum or mean), a count's own; with equal weights all errors of a question relative to what one person can
change on average. The error of a mean is that of its offset sum plus that of its count, the mean being anywhere in its
range (a third of the squared radius, on average).
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

import gaussmith as gm
from gaussmith.planning.joining import scale_of
from whole.asks import ALL, HISTOGRAM, Asked, WholeAsk, counts_own


@dataclass(frozen=True)
class Least:
    """What cvxpy found, and proven limits on either side of it that are computed from its solution alone."""

    found: float
    lower: float
    upper: float


def weights_of(ask: WholeAsk) -> list[tuple[dict[str, float], float]]:
    """Of each question what its columns and its count weigh. Questions about everybody are one."""
    everybody = {name: pair for each in ask.asked if each.kind == ALL for name, pair in each.columns.items()}
    several = len(ask.asked) - sum(each.kind == ALL for each in ask.asked) + any(e.kind == ALL for e in ask.asked) > 1
    found = []
    for each in ask.asked:
        columns = everybody if each.kind == ALL else each.columns
        widths = {name: high - low for name, (low, high) in columns.items()}
        if ask.weights == "relative" or each.kind == HISTOGRAM or not widths:
            found.append(({name: width**-2 for name, width in widths.items()}, 1.0))
            continue
        scale = 1.0 / float(np.mean([width**2 for width in widths.values()])) if several else 1.0
        found.append((dict.fromkeys(widths, scale), scale))
    return found


def spread_of(asked: Asked, weights: dict[str, float]) -> float:
    """What a count weighs for the sake of means."""
    return sum(weights[name] * (high - low) ** 2 / 12 for name, (low, high) in asked.means.items())


def corners_of(asked: Asked, weights: dict[str, float], count: float) -> np.ndarray:
    """All vectors a person at bounds can add to the groups of a question, a row each, in weighted answers."""
    if asked.kind == HISTOGRAM:
        inside = np.ones((1, 1))
    else:
        numbers = []
        for choice in itertools.product((0, 1), repeat=len(asked.columns)):
            line = []
            for (name, (low, high)), at_top in zip(asked.columns.items(), choice, strict=True):
                x = (low, high)[at_top]
                line.append((x - (low + high) / 2 if name in asked.means else x) * math.sqrt(weights[name]))
            numbers.append(line)
        inside = np.array(numbers, float).reshape(2 ** len(asked.columns), -1)
        if counts_own(asked):
            weight = math.sqrt(asked.count * count + spread_of(asked, weights))
            inside = np.hstack([inside, np.full((len(inside), 1), weight)])
    if asked.kind == ALL:
        return inside
    found = []
    for k in range(asked.most + 1):
        for where in itertools.combinations(range(asked.groups), k):
            for which in itertools.product(range(len(inside)), repeat=k):
                person = np.zeros((asked.groups, inside.shape[1]))
                for place, corner in zip(where, which, strict=True):
                    worth = asked.worth[place] * asked.groups / sum(asked.worth) if asked.worth else 1.0
                    person[place] = inside[corner] * math.sqrt(worth)
                found.append(person.ravel())
    return np.array(found)


def differences_of(ask: WholeAsk) -> np.ndarray:
    """What neighbours can differ by, at corners: a row each, in weighted answers."""
    weights = weights_of(ask)
    parts = [corners_of(each, *own) for each, own in zip(ask.asked, weights, strict=True)]
    lines = [np.concatenate(choice) for choice in itertools.product(*parts)]
    people = np.array(lines, float).reshape(len(lines), -1)
    everybody = float(sum(each.count for each in ask.asked if each.kind == HISTOGRAM))
    own = [(each, *weight) for each, weight in zip(ask.asked, weights, strict=True) if each.kind == ALL]
    everybody += max((each.count * count for each, _, count in own), default=0.0)  # planned together: asked once
    everybody += sum(spread_of(each, columns) for each, columns, _ in own)
    if ask.neighbours == "add-remove":
        return np.hstack([people, np.full((len(people), 1), math.sqrt(everybody))]) if everybody else people
    one, other = np.triu_indices(len(people), 1)
    apart = people[one] - people[other]
    unit = np.abs(apart).max(axis=0)
    return np.unique(np.round(apart / np.where(unit > 0, unit, 1.0), 12), axis=0) * unit


def least_total(differences: np.ndarray) -> Least:
    """min tr Σ subject to sᵀ Σ⁻¹ s ≤ 1 for every difference, by its dual: max (tr √M)² over laws on differences.

    max tr X subject to [[M(λ), X], [Xᵀ, I]] ⪰ 0; what is proven is taken from λ alone.
    """
    unit = float(np.abs(differences).max(initial=0.0))
    if unit == 0.0:
        return Least(0.0, 0.0, 0.0)
    found = _solve(differences[np.abs(differences).max(axis=1) > 0] / unit)
    return Least(*(value * unit**2 for value in (found.found, found.lower, found.upper)))


def _solve(S: np.ndarray) -> Least:
    n, d = S.shape
    if d == 1:
        exact = float((S**2).max())
        return Least(exact, exact, exact)
    law = cp.Variable(n, nonneg=True)
    X = cp.Variable((d, d))
    products = np.einsum("ni,nj->ijn", S, S).reshape(d * d, n)
    M = cp.reshape(products @ law, (d, d), order="C")
    wide = cp.bmat([[M, X], [X.T, np.eye(d)]])
    problem = cp.Problem(cp.Maximize(cp.trace(X)), [(wide + wide.T) / 2 >> 0, cp.sum(law) == 1])
    with warnings.catch_warnings():  # how accurate it is, is seen from what is proven
        warnings.simplefilter("ignore", UserWarning)
        try:
            problem.solve(solver=cp.CLARABEL)
        except cp.error.SolverError:
            problem.solve(solver=cp.SCS, eps=1e-8, max_iters=100_000)
    weights = np.maximum(np.asarray(law.value, float), 0.0)
    weights = weights / weights.sum()
    return Least(float(problem.value) ** 2, *_proven(S, weights))


def total_of(plan: gm.Plan) -> float:
    """The total of a request, that of each question by its scale, whoever shares its noise."""
    own = [query for query in plan.queries if query.tie is None]
    scaled = (query.total_variance * (scale_of(query) if len(plan.queries) > 1 else 1.0) for query in own)
    return sum(tie.total_variance for tie in plan.ties) + sum(scaled)


def _proven(S: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """(tr √M)² bounds every noise from below; the shape √M, blown up until it hides everybody, from above."""
    values, vectors = np.linalg.eigh((S * weights[:, None]).T @ S)
    roots = np.sqrt(np.maximum(values, 0.0))
    lower = float(roots.sum()) ** 2
    least = np.inf
    for share in 10.0 ** -np.arange(3.0, 12.0):  # directions that the law neglects get a little noise
        widened = roots + share * roots.sum()
        cost = (((S @ vectors) ** 2) / widened).sum(axis=1).max()
        least = min(least, float(widened.sum() * cost))
    return lower, least
