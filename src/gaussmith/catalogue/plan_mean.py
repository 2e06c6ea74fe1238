"""PLAN, by Aumüller, Lebeda, Nelson and Pagh: scale by private variances, clip at a private norm, add round noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gaussmith.catalogue.entry import Array, check_dimension, check_positive
from gaussmith.catalogue.staged import StagedEntry, Step, exponential_rho
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import ADD_REMOVE, REPLACE_ONE, check

SEARCH, CENTRE, NORM = 0.25, 0.25, 0.25
"""The part of ρ for medians and variances, the part of that for medians, and of the rest for the norm to clip at."""
COPIES = 3
"""In the published code every record is there three times, moved by −a, 0 and a, before quantiles are taken."""


def plan_mean(
    *, dimension: int, rho: float, rows: float, neighbours: str = REPLACE_ONE, as_published: bool = False
) -> StagedEntry:
    """PLAN: medians and variances by exponential mechanisms on ranks, then a scaled and clipped mean.

        a quantile of range ε = √(8ρ_j): density ∝ e^{−ε |rank − qn|/(2s)}, s the most a rank can move
        scale by (σ̂_j + mean σ̂)^{−½}, clip at a norm C that about √n records exceed, noise C √(2/ρ_3)/n

    `as_published`: what the published code does. It gives each quantile a third of its budget because of the three
    copies, as if they were three releases. But the copies of one person move a rank three times as far, and that counts
    squared: 9/3 = 3. It takes s = max(q, 1−q), which is ½ for medians; that holds if a record is added or removed. If
    one is replaced, as its noise on the mean assumes, a rank moves by 1: another factor of 4.

    >>> entry = plan_mean(dimension=64, rho=0.5, rows=10_000, as_published=True)
    >>> entry.sound, entry.holds, [round(step.true_rho / step.claimed_rho, 2) for step in entry.steps]
    ('no', False, [12.0, 12.0, 1.02, 1.0])
    """
    d, n = check_dimension(dimension), check_positive("rows", rows)
    neighbours = check(neighbours)
    claimed = Guarantee(rho=rho)
    medians, variances = SEARCH * CENTRE * rho, SEARCH * (1 - CENTRE) * rho
    norm = NORM * (1 - SEARCH) * rho
    rest = (1 - SEARCH) * rho - norm
    q = 1 - 1 / math.sqrt(n)
    copies, why = (COPIES, "three copies of each record, and ½ for the change of a rank") if as_published else (1, "")
    steps = []
    for name, part in ((f"{d} medians", medians), (f"{d} variances", variances)):
        used = d * _quantile_rho(part / d / copies, 0.5, neighbours, copies, as_published)
        steps.append(Step(name, part, used, why))
    steps.append(Step("norm to clip at", norm, _quantile_rho(norm, q, neighbours, 1, as_published)))
    steps.append(Step("clipped mean", rest, rest))
    return StagedEntry(
        name="PLAN" + (" as published" if as_published else ""),
        reference="Aumüller, Lebeda, Nelson, Pagh, PLAN: variance-aware private mean estimation (2023), "
        "and its published code",
        theorem="Scaling by privately estimated standard deviations and clipping at a private norm is ρ-zCDP.",
        needs="the number of records, and a range that holds every value",
        claimed=claimed,
        neighbours=neighbours,
        sound="no" if as_published else "corrected",
        steps=tuple(steps),
        gaussian=False,
    )


def _quantile_rho(rho: float, q: float, neighbours: str, copies: int, as_published: bool) -> float:
    """The ρ of a quantile that was given `rho`: how far a rank truly moves, over how far it is said to move."""
    moves = max(q, 1 - q) if neighbours == ADD_REMOVE else 1.0
    said = max(q, 1 - q) if as_published else moves
    return exponential_rho(math.sqrt(8 * rho) * copies * moves / said)


def quantile_log_masses(values: Any, bounds: tuple[float, float], q: float, epsilon: float, moves: float) -> Any:
    """The published quantile step as a law: points where its density jumps, and the log density between them.

    The density between the sorted values i and i + 1 is ∝ e^{−ε |i − qn|/(2 moves)}.
    """
    a = np.concatenate([[bounds[0]], np.sort(np.clip(np.asarray(values, float), *bounds)), [bounds[1]]])
    n = len(a) - 2
    log = -epsilon / (2 * moves) * np.abs(np.arange(n + 1) - q * n)
    gaps = np.diff(a)
    shown = gaps > 0
    top = log[shown].max()
    return a, log - top - math.log(float((gaps * np.exp(log - top)).sum()))


def quantile_divergence(
    first: Any, second: Any, bounds: tuple[float, float], q: float, epsilon: float, moves: float, order: float
) -> float:
    """D_α/α between the outputs of the published quantile step on two data sets: a lower bound on its true ρ.

        D_α(P‖Q) = ln ∫ p^α q^{1−α} / (α − 1)

    >>> few = [0.2, 0.4, 0.6, 0.8]
    >>> abs(quantile_divergence(few, few, (0.0, 1.0), 0.5, 1.0, 0.5, order=2.0)) < 1e-12
    True
    """
    a, log_p = quantile_log_masses(first, bounds, q, epsilon, moves)
    b, log_q = quantile_log_masses(second, bounds, q, epsilon, moves)
    edges: Array = np.unique(np.concatenate([a, b]))
    middle = (edges[1:] + edges[:-1]) / 2
    p = log_p[np.searchsorted(a, middle, side="right") - 1]
    r = log_q[np.searchsorted(b, middle, side="right") - 1]
    log = order * p + (1 - order) * r + np.log(np.diff(edges))
    top = log.max()
    return float((top + math.log(float(np.exp(log - top).sum()))) / (order - 1) / order)
