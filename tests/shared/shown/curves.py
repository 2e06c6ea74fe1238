"""δ(ε) of a whole release with found keys, from the integers of its plan, by quadrature and by simulation.

Nothing here uses the formulas of `numerics.found_keys`. A person in j groups, a of which nobody else has, is shown in
the new ones with the probability of the plan's own integers, and moves the old ones by its lifted integers.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

import gaussmith as gm
from gaussmith.domains.groups import FoundGroups
from gaussmith.noise.gaussian import normal_integers
from gaussmith.numerics.exact import Array
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.discovered_groups import BITS, LOOK, Threshold, threshold_of

UNIT = 2.0**NOISE_BITS
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)


@dataclass(frozen=True)
class Found:
    """δ(ε) by quadrature, at its largest over all persons, and the δ that was stated."""

    delta: float
    stated: float
    alone: bool
    """Whether the request has one question and nothing beside it: then κ = δ and μ = μ(ε, δ) are both attained."""


def random_request(chance: random.Random) -> gm.Request:
    """One or two questions about found keys, with sums, floors, and sometimes other questions beside."""

    def ask(name: str) -> dict[str, Any]:
        m = chance.choice((1, 2, 3, 4, 5, 8, 13, 30))
        asked: dict[str, Any] = {"name": name, "by": {name: "found"}, "groups_per_unit": m, "count": True}
        if chance.random() < 0.4:
            asked["sums"] = {"spent": (0, 60)}
        if chance.random() < 0.3:
            asked["keys_at_least"] = chance.randint(2, 20)
        return asked

    questions = [ask("town")]
    if chance.random() < 0.3:
        questions.append(ask("work"))
    if chance.random() < 0.3:
        questions.append({"name": "all", "count": True})
    epsilon = round(10 ** chance.uniform(-0.7, 0.6), 3)
    delta = round(10 ** chance.uniform(-9, -3), 12)
    guarantee = gm.Guarantee(epsilon=epsilon, delta=delta)
    complete = ["spent"] if any("sums" in each for each in questions) else []
    return gm.Request("visits.csv", unit="person", questions=questions, guarantee=guarantee, complete=complete)


def largest_delta(request: gm.Request) -> Found:
    """The largest δ(ε) over all persons: j groups kept in each question, a of them new, all others large."""
    found, beside = [], 0.0
    for draw in request.plan.queries:
        threshold = threshold_of(draw)
        if threshold is None:
            assert not isinstance(draw.groups, FoundGroups)
            beside += draw.guarantee.mu**2
        else:
            found.append(_persons(threshold))
    assert request.guarantee.epsilon is not None and request.guarantee.delta is not None
    cases = [(0.0, beside)]
    for persons in found:
        cases = [(hidden + q, square + more) for hidden, square in cases for q, more in persons]
    hidden, squares = np.array(cases).T
    largest = float(curve(float(request.guarantee.epsilon), hidden, np.sqrt(squares)).max())
    alone = len(found) == 1 and not beside
    return Found(largest, float(request.guarantee.delta), alone)


def _persons(threshold: Threshold) -> list[tuple[float, float]]:
    """Of every person (j, a): the logarithm of P(no new group is shown), and the square that old ones move by."""
    cases = []
    R = float(threshold._length) / UNIT
    for j in range(1, threshold.at_most + 1):
        p = shown_alone(threshold, j)
        S = threshold.spares[j - 1] * threshold.step / UNIT if threshold.has_spare else 0.0
        cases += [(a * math.log1p(-p), (j - a) * (R * R + S * S)) for a in range(j + 1)]
    if threshold.at_most > 5:  # few of those in the middle, for two questions make many pairs
        cases = [*sorted(cases)[:: max(1, len(cases) // 60)], max(cases, key=lambda case: case[1]), min(cases)]
    return cases


def shown_alone(threshold: Threshold, j: int) -> float:
    """The probability that a group which a person in j groups makes reach the floor is shown, by quadrature."""
    k = threshold.at_least
    people = threshold.people(k)
    first = (threshold.bar - 0.5 - people) / UNIT
    if not threshold.has_spare:
        return float(ndtr(-first))
    a, b = LOOK
    spare = (threshold.spares[j - 1] + (k - 1) * threshold.spares[0]) * threshold.step
    v = _NODES * 13
    second = ((threshold.second_bar << BITS) - a * people - b * spare - b * v * UNIT) / (a * UNIT)
    passes = np.minimum(first, second)
    return float(13 * (_WEIGHTS * np.exp(log_ndtr(-passes) - v * v / 2)).sum() / math.sqrt(2 * math.pi))


def curve(epsilon: float, hidden: Array, mu: Array) -> Array:
    """1 − Q + ∫ max(0, Q φ(x − μ) − e^ε φ(x)) dx: hidden with probability Q, else moved by μ; `hidden` is ln Q."""
    shown, Q = -np.expm1(hidden), np.exp(hidden)
    mu = np.maximum(mu, 1e-12)
    least = (epsilon - hidden) / mu + mu / 2  # from here on the first is larger
    start = np.maximum(least - mu, -13.0)
    width = np.maximum(13.0 - start, 1.0)
    y = start[:, None] + width[:, None] * (_NODES + 1) / 2  # x − μ
    gain = -np.expm1(np.minimum((least - mu)[:, None] - y, 0.0) * mu[:, None])
    density = np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi)
    return np.asarray(shown + Q * (width / 2) * ((density * gain) @ _WEIGHTS))


# -- simulation ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simulated:
    """δ(ε) of one person by simulation, its standard error, and what quadrature says for large old groups."""

    name: str
    delta: float
    error: float
    exact: float


def simulate(m: int, new: int, old_people: int, epsilon: float, repeats: int) -> Simulated:
    """A person with `new` keys of its own and m − new shared with so many others, counts and sums thresholded.

    κ is 0.05 and μ is 1, so that everything that matters happens often. The likelihood ratio is that of what is seen:
    nothing of hidden groups, count and sum of those shown.
    """
    request = gm.Request(
        "visits.csv",
        unit="person",
        by={"key": "found"},
        groups_per_unit=m,
        count=True,
        sums={"spent": (0, 60)},
        complete=["spent"],
        guarantee=gm.Guarantee(mu=1),
        keys_delta=0.05,
    )
    (draw,) = request.plan.queries
    threshold = threshold_of(draw)
    assert threshold is not None and not threshold.has_spare
    codes = draw.block.codes
    person = np.array([int(y) for y in draw.block.grid.lifted(codes, [int(codes.extents[0])], 1)], float) / UNIT

    def shows(people: int, noise: Any) -> Any:
        return threshold.shows(np.full(len(noise), people, np.int64), noise, None, None)

    if abs(float(np.linalg.norm(person)) / (float(threshold._length) / UNIT) - 1) > 1e-6:
        raise AssertionError("the person is not the one that moves most")
    hidden_before = float(ndtr((threshold.bar - 0.5 - threshold.people(old_people)) / UNIT))
    hidden_after = float(ndtr((threshold.bar - 0.5 - threshold.people(old_people + 1)) / UNIT))
    stays_hidden = float(ndtr((threshold.bar - 0.5 - threshold.people(1)) / UNIT))
    seen = np.zeros(repeats, bool)  # a new group, which nobody without the person has
    log_ratio = np.zeros(repeats)  # of what is seen with the person over without
    for _ in range(new):
        seen |= shows(1, normal_integers(repeats, NOISE_BITS))
        log_ratio += math.log(stays_hidden)
    for _ in range(m - new):
        noise = normal_integers(repeats * len(person), NOISE_BITS).reshape(repeats, -1)
        shown = shows(old_people + 1, noise[:, -1].copy())
        z = noise / UNIT
        moved = z @ person + person @ person / 2
        log_ratio += np.where(shown, moved, math.log(hidden_after / hidden_before) if hidden_before else 0.0)
    gain = np.where(seen, 1.0, np.maximum(0.0, -np.expm1(epsilon - log_ratio)))
    square = (m - new) * float(person @ person)
    exact = float(curve(epsilon, np.array([new * math.log(stays_hidden)]), np.array([math.sqrt(square)]))[0])
    name = f"m = {m}, {new} new, others of {old_people} people, ε = {epsilon:g}"
    return Simulated(name, float(gain.mean()), float(gain.std() / math.sqrt(repeats)), exact)
