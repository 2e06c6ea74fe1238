"""Published mechanisms that spend their budget in steps: what each step is said to cost, and what it truly costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussmith.checks import checks_arguments
from gaussmith.errors import DomainError
from gaussmith.numerics.exact import Array
from gaussmith.papers.entry import Sound, check_dimension, check_positive
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE, REPLACE_ONE, check


@dataclass(frozen=True)
class Step:
    """One step of a mechanism, in zCDP: the ρ that its authors count, and the ρ that it has.

    `true_rho` is tight: attained for Gaussian noise, and for an exponential mechanism approached as its range falls.
    """

    name: str
    claimed_rho: float
    true_rho: float
    why: str = ""


@dataclass(frozen=True)
class StagedEntry:
    """A published estimator of the mean of vectors, with its steps."""

    name: str
    reference: str
    theorem: str
    needs: str
    """What it must be told beside the data."""
    claimed: Guarantee
    neighbours: str
    sound: Sound
    steps: tuple[Step, ...]
    gaussian: bool
    """Whether all noise is Gaussian: then ρ-zCDP is exactly √(2ρ)-GDP."""

    @property
    def claimed_rho(self) -> float:
        return math.fsum(step.claimed_rho for step in self.steps)

    @property
    def true_rho(self) -> float:
        """The ρ of all steps together."""
        return math.fsum(step.true_rho for step in self.steps)

    @property
    def holds(self) -> bool:
        """Whether the steps cost no more than is claimed."""
        return self.true_rho <= self.claimed_rho * (1 + 1e-12)


def exponential_rho(log_range: float) -> float:
    """The ρ of an exponential mechanism whose log-likelihood ratios span a range η: η²/8 (tight as η falls to 0).

    >>> exponential_rho(2.0)
    0.5
    """
    return log_range**2 / 8


# CoinPress: noisy means of clipped records, each in a smaller ball than the one before.

SPLITS = {
    1: (1.0,),
    2: (1 / 4, 3 / 4),
    3: (1 / 8, 1 / 8, 3 / 4),
    4: (1 / 12, 1 / 12, 1 / 12, 3 / 4),
}
"""The part of ρ that each of t steps gets in the published experiments."""


@checks_arguments
def coinpress(*, dimension: int, rho: float, rows: float, radius: float, steps: int = 4) -> StagedEntry:
    """CoinPress for the mean of vectors whose covariance is known, here the identity.

        clip at R = min(√(r² + 6r + γ²), r + γ),   γ² = d + 2√(d ln 100) + 2 ln 100,
        noise 2R/(n √(2ρ_i)) on every coordinate of the mean,   next r = γ √(1/n + noise²)

    Two records clipped to a ball of radius R change a mean of n by at most 2R/n: each step costs the ρ_i it says.

    >>> entry = coinpress(dimension=50, rho=0.5, rows=1000, radius=70)
    >>> entry.sound, entry.holds, round(entry.true_rho, 12)
    ('yes', True, 0.5)
    """
    d, n = check_dimension(dimension), check_positive("rows", rows)
    check_positive("radius", radius)
    if steps not in SPLITS:
        rule, remedy = "its budget is published for 1 to 4 steps", "write steps=4"
        raise DomainError(f"steps={steps!r}", rule, remedy, code="unknown-coinpress-steps", steps=steps)
    claimed = Guarantee(rho=rho)
    found = []
    for i, (clip, sd) in enumerate(zip(*_course(d, n, radius, rho, SPLITS[steps]), strict=True)):
        true = (2 * clip / n) ** 2 / (2 * sd**2)
        found.append(Step(f"mean {i + 1}, clipped at {clip:.4g}", SPLITS[steps][i] * rho, true))
    return StagedEntry(
        name="CoinPress",
        reference="Biswas, Dong, Kamath, Ullman, CoinPress: practical private mean and covariance estimation (2020)",
        theorem="t clipped means with noise for sensitivity 2R/n at ρ_1, …, ρ_t are Σρ_i-zCDP.",
        needs="the number of records, a ball that holds the mean, and the covariance",
        claimed=claimed,
        neighbours=REPLACE_ONE,
        sound="yes",
        steps=tuple(found),
        gaussian=True,
    )


def _course(d: int, n: float, radius: float, rho: float, parts: Any) -> tuple[Array, Array]:
    """The norm to which records are clipped in each step, and the noise of each; neither depends on data."""
    tail = math.sqrt(d + 2 * math.sqrt(d * math.log(100)) + 2 * math.log(100))
    clips, noises, r = [], [], radius
    for part in parts:
        clip = min(math.sqrt(r * r + 6 * r + tail * tail), r + tail)
        sd = 2 * clip / n / math.sqrt(2 * part * rho)
        clips.append(clip)
        noises.append(sd)
        r = math.sqrt(1 / n + sd * sd) * tail
    return np.array(clips), np.array(noises)


# IOME, by Huang, Liang and Yi: rotate, centre at noisy medians, clip at a noisy quantile of the norms.

CENTRE, NORM = 0.25, 0.01
"""The part of ρ for the medians, and of the rest for the norm to clip at."""


@checks_arguments
def iome(*, dimension: int, rho: float, steps: int = 20) -> StagedEntry:
    """Instance-optimal mean estimation: the shifted clipped mean after a random rotation.

        medians of d′ rotated coordinates (d′ the next power of two) by bisection, T noisy counts with variance T/(2ρ_j)
        norm C with about √(8d/ρ) records beyond it, by bisection;   noise 2C/(n √(2ρ_3)) on the mean

    Replacing a record changes a count by 1 and the clipped mean by 2C/n: T counts cost T·ρ_j/T, all as stated.

    >>> entry = iome(dimension=64, rho=0.5)
    >>> entry.sound, entry.holds, [round(step.true_rho, 6) for step in entry.steps]
    ('yes', True, [0.125, 0.00375, 0.37125])
    """
    d = check_dimension(dimension)
    size = 1 << (d - 1).bit_length()
    claimed = Guarantee(rho=rho)
    each, norm = CENTRE * rho / size, NORM * (1 - CENTRE) * rho
    return StagedEntry(
        name="IOME",
        reference="Huang, Liang, Yi, Instance-optimal mean estimation under differential privacy (2021)",
        theorem="Rotating, centring at private medians and clipping at a private quantile of the norms is ρ-zCDP.",
        needs="the number of records, and a range that holds every value",
        claimed=claimed,
        neighbours=REPLACE_ONE,
        sound="yes",
        steps=(
            Step(f"medians of {size} rotated coordinates", CENTRE * rho, size * _bisection_rho(each, steps)),
            Step("norm to clip at", norm, _bisection_rho(norm, steps)),
            Step("clipped mean", (1 - CENTRE) * rho - norm, (1 - CENTRE) * rho - norm),
        ),
        gaussian=True,
    )


def _bisection_rho(rho: float, steps: int) -> float:
    """T counts, each changed by 1 at most, with noise of variance T/(2ρ)."""
    variance = steps / (2 * rho)
    return steps / (2 * variance)


# PLAN, by Aumüller, Lebeda, Nelson and Pagh: scale by private variances, clip at a private norm, add round noise.

SEARCH, PLAN_CENTRE, PLAN_NORM = 0.25, 0.25, 0.25
"""The part of ρ for medians and variances, the part of that for medians, and of the rest for the norm to clip at."""
COPIES = 3
"""In the published code every record is there three times, moved by −a, 0 and a, before quantiles are taken."""


@checks_arguments
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
    medians, variances = SEARCH * PLAN_CENTRE * rho, SEARCH * (1 - PLAN_CENTRE) * rho
    norm = PLAN_NORM * (1 - SEARCH) * rho
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
