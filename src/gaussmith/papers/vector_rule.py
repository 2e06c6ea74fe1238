"""The rule for means of columns with unknown range: look at the columns three times, at lengths once, then sum.

    locate ──▶ zoom ──▶ zoom again ──▶ lengths ──▶ answers

Every look is a Gaussian release of counts in cells. The rule says where the next cells are, and at the end the centre
and the half axes of the ellipsoid to which records are clipped. It sees noisy numbers alone.

- `vector_shares`: how the stages divide the budget, from public numbers alone
- `scale`: by how much each column is multiplied once its spread is known
- `choose_level`: where to clip
- `VectorRule`: the stages themselves
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gaussmith.numerics.exact import Array
from gaussmith.papers import locating
from gaussmith.papers.locating import ANY, NORMAL_ONLY, Fit, ValueLaw, quantiles
from gaussmith.papers.scaling import improved_shares
from gaussmith.planning.staging import ANSWERS, NOTHING, Seen, StageStep

PRECISIONS = (0.05, 0.05, 0.035)
"""The standard deviation of a cell in stages 1 to 3 that is aimed at, as a part of all people."""
LEVEL_PRECISION = 0.01
LEAST, MOST = 0.003, 0.08
LEVEL_LEAST, LEVEL_MOST = 0.01, 0.02


@dataclass(frozen=True)
class VectorShares:
    """Shares of μ²: of the three looks at the columns, and of the histogram of Q; the rest is for the sum."""

    columns: tuple[float, float, float]
    level: float

    @property
    def left(self) -> float:
        return 1.0 - sum(self.columns) - self.level


def vector_shares(dimension: int, mu: float, rows: float, public: bool) -> VectorShares:
    """s_i = k² d/(μ w_i n₀)² within limits; k² is 2 where the number of people is public (replace-one), else 1.

    >>> vector_shares(16, 1.0, 4000.0, public=True)
    VectorShares(columns=(0.003, 0.003, 0.003), level=0.01)
    """
    squared = 2.0 if public else 1.0
    first, second, third = (min(max(squared * dimension / (mu * w * rows) ** 2, LEAST), MOST) for w in PRECISIONS)
    last = min(max(squared / (mu * LEVEL_PRECISION * rows) ** 2, LEVEL_LEAST), LEVEL_MOST)
    return VectorShares((first, second, third), last)


TAIL = 0.03
"""The part of normal records that the shares are made for clipping: the best level cuts off about so many."""
LEAST_SHARE = 1e-30


@dataclass(frozen=True, eq=False)
class Scaling:
    """b_j, by which column j is multiplied; the shares λ_j = b_j² reach_j², which add up to 1; what errors weigh."""

    multipliers: Array
    shares: Array
    weights: Array

    @property
    def noise(self) -> float:
        """Σ w_j/b_j²: the weighted total variance of round noise of variance 1 once it is scaled back."""
        return float((self.weights * self.multipliers**-2.0).sum())


def scale(reach: Array, weights: Array) -> Scaling:
    """The scaling for values that lie about `reach` from the centre, whose squared errors have these weights.

    >>> scale(np.array([1.0, 1.0]), np.ones(2)).shares
    array([0.5, 0.5])
    """
    values = weights * reach**2
    shares, _ = improved_shares(np.maximum(values / values.max(), LEAST_SHARE), TAIL)
    return Scaling(np.sqrt(shares) / reach, shares, weights)


# Where to clip: the level of Q = Σ b_j² (x_j − c_j)² at which noise and clipping together cost least.
#
# With cut(Q) = (1 − √(α/Q))₊, the part of a record's offset that clipping at level α takes away, the weighted squared
# error of the summed vector is taken to be
#
#     noise(α) + n E[cut² Q u] + n² Σ w_j τ_j² E[cut]² + n² Σ w_j shift_j² + κ (n E[cut √(Q u)])².
#
# u(Q) is the weighted squared length of a record per unit of Q. Each expectation is the larger of two: the one
# measured by a noisy histogram of Q, and the one of made-up records with the laws that were fitted to the columns.
# Either alone is misled, the first by its noise, the second by columns that move together. shift_j is what clipping
# takes from the mean of skewed laws. The last term guards against skew that nothing shows: Q does not tell on which
# side a record lies.

EDGES: Array = 2.0 ** np.arange(-2.0, 6.01, 0.25)
"""Of Q: 33 edges, 34 cells."""
MIDDLES: Array = np.concatenate([[EDGES[0] / 1.2], np.sqrt(EDGES[1:] * EDGES[:-1]), [EDGES[-1] * 1.2]])
LEVELS: Array = 2.0 ** np.arange(-2.0, 5.01, 0.0625)
FAR = 4.0
"""A measured cell beyond so many times the level counts half in E[cut], and not in the loss: it is mostly noise."""
GUARD = 0.0025
"""κ unless the data are declared normal. Since skewed laws are fitted, 0.01 gains nothing on skewed data, and it costs
10 % on normal data at d = 16."""
RECORDS = 2048
"""Made-up records; each comes with its mirror image, in which every quantile u is 1 − u."""


@dataclass(frozen=True, eq=False)
class Costs:
    """What each level costs, in squared error of the summed vector."""

    noise: Array
    loss: Array
    drift: Array
    skew: Array
    guard: Array

    @property
    def total(self) -> Array:
        return self.noise + self.loss + self.drift + self.skew + self.guard


@dataclass(frozen=True, eq=False)
class Level:
    """The chosen level, and what it costs: the squared error of the summed vector, if the laws fit."""

    value: float
    cost: float


def made_up_records(weights: Array, laws: tuple[ValueLaw, ...], records: int = RECORDS) -> Array:
    """Records with mean 0 and standard deviation 1 in every coordinate, 2·records × coordinates; always the same.

    Column j has each of the quantiles of its law once, in an order given by a fixed mixing of whole numbers.
    """
    nodes = weights @ quantiles(laws, 2 * records)
    size = len(weights)
    order = np.argsort(_mixed(np.arange(size * records, dtype=np.uint64)).reshape(size, records), axis=1)
    upper = _mixed(np.arange(size * records, 2 * size * records, dtype=np.uint64)).reshape(size, records) % 2 == 1
    place = np.where(upper, 2 * records - 1 - order, order)  # one of each pair of mirrored quantiles
    first = np.take_along_axis(nodes, place, axis=1)
    second = np.take_along_axis(nodes, 2 * records - 1 - place, axis=1)
    return np.concatenate([first, second], axis=1).T


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Whole numbers mixed by multiplications and shifts (the finaliser of splitmix64)."""
    x = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def lengths_per_unit(scaling: Scaling, values: Array) -> Array:
    """u(q) = Σ w_j share_j/b_j² at every value of Q; share_j ∝ λ_j/(1 − 2λ_j s) with s the saddle point of q."""
    shares = scaling.shares
    top = float(shares.max())
    low, high = np.full(len(values), -1e6 / top), np.full(len(values), 0.5 / top * (1 - 1e-9))
    for _ in range(60):
        s = (low + high) / 2
        below = (shares / (1 - 2 * shares * s[:, None])).sum(axis=1) < values
        low, high = np.where(below, s, low), np.where(below, high, s)
    parts = shares / (1 - 2 * shares * s[:, None])
    return np.asarray((parts / parts.sum(axis=1, keepdims=True)) @ (scaling.weights * scaling.multipliers**-2.0))


def costs(
    cells: Array | None, fit: Fit, scaling: Scaling, laws: tuple[ValueLaw, ...], mu: float, public: bool, guard: float
) -> Costs:  # fmt: skip
    """What every level of LEVELS costs; `cells` are the noisy cells of Q, `public` says whether the people are."""
    n, weights = fit.people, scaling.weights
    within = float(weights @ fit.within**2)
    z = made_up_records(fit.laws, laws)
    Q = z**2 @ scaling.shares
    squares = z**2 @ (weights * fit.reach**2)
    cut = np.maximum(1 - np.sqrt(LEVELS[:, None] / Q), 0.0)
    loss, given, blind = (cut**2 * squares).mean(axis=1), cut.mean(axis=1), (cut * np.sqrt(squares)).mean(axis=1)
    shift = cut @ z / len(z) * fit.reach
    if cells is not None:
        fraction = cells / n
        unit = lengths_per_unit(scaling, MIDDLES)
        lost = np.maximum(1 - np.sqrt(LEVELS[:, None] / MIDDLES), 0.0)
        near = MIDDLES < FAR * LEVELS[:, None]
        loss = np.maximum(loss, np.where(near, lost**2 * MIDDLES * unit, 0.0) @ fraction)
        given = np.maximum(given, np.where(near, lost, 0.5) @ fraction)
        blind = np.maximum(blind, (np.where(near, lost, 0.5) * np.sqrt(MIDDLES * unit)) @ fraction)
    root = np.sqrt(LEVELS * scaling.noise)
    noise = (2 * root / mu) ** 2 if public else ((root + np.sqrt(within)) / mu) ** 2
    return Costs(noise, n * loss, n**2 * within * given**2, n**2 * (shift**2 @ weights), guard * (n * blind) ** 2)


def choose_level(
    cells: Array | None, fit: Fit, scaling: Scaling, laws: tuple[ValueLaw, ...], mu: float, public: bool,
    guard: float = GUARD,
) -> Level:  # fmt: skip
    """The level of least cost, by the noisy cells of Q; `mu` is what is left for the sum."""
    total = costs(cells, fit, scaling, laws, mu, public, guard).total
    best = int(np.argmin(total))
    return Level(float(LEVELS[best]), float(total[best]))


LOOKS = ("locate", "zoom", "zoom again", "lengths")
"""The stages before the last."""


@dataclass(frozen=True)
class VectorRule:
    """The rule with its parameters; all of them public.

    dimension: how many columns;  names: their names, if they have any
    rows:      a guess of the number of records;  mu: the whole guarantee
    public:    whether the number of records is public (replace-one)
    normal:    whether the columns are declared to be normal
    weights:   what squared errors weigh, one number per column; None: relative to the spread that is found
    """

    kind: ClassVar[str] = "vector-means"

    dimension: int
    rows: float
    mu: float
    public: bool
    normal: bool = False
    weights: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None

    @property
    def shares(self) -> VectorShares:
        """The parts of μ² of the looks, and what is left for the sum."""
        return vector_shares(self.dimension, self.mu, self.rows, self.public)

    @property
    def parts(self) -> tuple[Fraction, ...]:
        """The parts of μ² of the looks, exactly."""
        return tuple(map(Fraction, (*self.shares.columns, self.shares.level)))

    @property
    def most_before(self) -> Fraction:
        return sum(self.parts, Fraction(0))

    @property
    def laws(self) -> tuple[ValueLaw, ...]:
        """The laws that are fitted to columns."""
        return NORMAL_ONLY if self.normal else ANY

    def step(self, seen: Sequence[Seen], left: Fraction) -> StageStep:
        """The next look, or the answers; NOTHING where the first look shows nothing but noise."""
        told = tuple(_numbers(each) for each in seen)
        if len(told) == 1 and not locating.is_found(_cells(self, told[0]), told[0][1]):
            return StageStep(NOTHING)
        if len(told) == len(LOOKS):
            return StageStep(ANSWERS, None, self._answers(told))
        asks = self._lengths(told) if len(told) == len(LOOKS) - 1 else self._columns(told)
        return StageStep(LOOKS[len(told)], self.parts[len(told)], asks)

    def _columns(self, told: tuple[tuple[bytes, float], ...]) -> dict[str, Any]:
        """A look at the cells of every column: between powers of two first, then around what was found."""
        rows = locating.edges_around(_frame(self, told)) if told else locating.LOCATING_EDGES[None, :]
        return self._asks({"kind": "column-cells", "columns": self.dimension, "edges": rows.tolist()})

    def _lengths(self, told: tuple[tuple[bytes, float], ...]) -> dict[str, Any]:
        """A look at the lengths of records once they are centred and scaled."""
        fit, scaling = self.fitted(told)
        numbers = {"centre": fit.mean.tolist(), "scale": scaling.multipliers.tolist()}
        return self._asks({"kind": "length-cells", **numbers, "edges": np.sqrt(EDGES).tolist()})

    def _answers(self, told: tuple[tuple[bytes, float], ...]) -> dict[str, Any]:
        """The clipped sum: its centre, and the half axes of its ellipsoid."""
        fit, scaling = self.fitted(told)
        cells = np.frombuffer(told[-1][0])
        alpha = choose_level(cells, fit, scaling, self.laws, self._mu_left, self.public, self.guard).value
        half_axes = np.sqrt(alpha) / scaling.multipliers
        domain = {
            "kind": "gaussian",
            "mean": fit.mean.tolist(),
            "sd": fit.sd.tolist(),
            "rows": float(np.clip(fit.people, 1.0, 1e14)),
            "clip": "best",
            "scaling": "best",
            "mean_within": fit.within.tolist(),
            "half_axes": half_axes.tolist(),
        }
        return self._asks(domain, scaling.weights.tolist())

    def _asks(self, domain: dict[str, Any], weights: list[float] | None = None) -> dict[str, Any]:
        named = domain if self.names is None else {**domain, "names": list(self.names)}
        return {"domain": named} if weights is None else {"domain": named, "weights": weights}

    def fitted(self, told: tuple[tuple[bytes, float], ...]) -> tuple[locating.Fit, Scaling]:
        """What three looks tell of the columns, and how they are scaled."""
        fit = _zoomed(self, told[: len(LOOKS) - 1])
        return fit, scale(fit.reach, fit.reach**-2.0 if self.weights is None else np.array(self.weights))

    @property
    def guard(self) -> float:
        """κ: 0 where the columns are declared to be normal."""
        return 0.0 if self.normal else GUARD

    @property
    def _mu_left(self) -> float:
        return float(self.mu * np.sqrt(self.shares.left))

    def guessed(self) -> dict[str, Any]:
        """What the last stage asks if every column is normal with mean 0 and standard deviation 1, as looks show it.

        Errors that are stated before data is seen are those of this guess: in units of the standard deviations.
        """
        one = np.ones(self.dimension)
        fit = locating.Fit(0 * one, one, 0 * one, np.eye(1, len(self.laws)).repeat(self.dimension, 0), self.rows)
        scaling = scale(fit.reach, one if self.weights is None else np.array(self.weights))
        chosen = choose_level(None, fit, scaling, self.laws, self._mu_left, self.public, self.guard)
        half_axes = np.sqrt(chosen.value) / scaling.multipliers
        domain = {"kind": "gaussian", "mean": (0 * one).tolist(), "sd": one.tolist(), "rows": self.rows}
        domain |= {"clip": "best", "scaling": "best", "mean_within": fit.within.tolist()}
        return self._asks({**domain, "half_axes": half_axes.tolist()}, scaling.weights.tolist())

    def describe(self) -> list[str]:
        """Its stages and their shares in plain words."""
        first, second, third, last = (f"{100 * float(part):.2g} %" for part in self.parts)
        left = f"{100 * self.shares.left:.3g} %"
        law = "normal laws" if self.normal else "normal, skewed and heavy-tailed laws"
        return [
            f"stage 1, {first} of the budget: records in each of 123 cells of every column, between powers of two",
            f"stage 2, {second}: records in 12 cells around where each column was found",
            f"stage 3, {third}: the same again, closer; {law} are fitted to all columns together",
            f"stage 4, {last}: records by length, to choose where to clip",
            f"then the clipped sum, with the {left} that are left",
        ]

    def to_dict(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in ("kind", "dimension", "rows", "mu", "public", "normal")}
        weights = None if self.weights is None else list(self.weights)
        return {**fields, "weights": weights, "names": None if self.names is None else list(self.names)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> VectorRule:
        weights, names = fields["weights"], fields["names"]
        return cls(
            int(fields["dimension"]),
            float(fields["rows"]),
            float(fields["mu"]),
            bool(fields["public"]),
            bool(fields["normal"]),
            None if weights is None else tuple(map(float, weights)),
            None if names is None else tuple(map(str, names)),
        )


def _numbers(seen: Seen) -> tuple[bytes, float]:
    """The noisy numbers of a look, and their standard error."""
    (values,), (errors,) = seen.values.values(), seen.errors.values()
    return np.array(values, float).tobytes(), float(errors[0])


def _cells(rule: VectorRule, told: tuple[bytes, float]) -> Array:
    return np.frombuffer(told[0]).reshape(rule.dimension, -1)


def _frame(rule: VectorRule, told: tuple[tuple[bytes, float], ...]) -> locating.Frame:
    """Where to look next, from the looks at columns so far."""
    return _zoomed(rule, told).frame if len(told) > 1 else _located(rule, told[0])


@lru_cache(maxsize=4)
def _located(rule: VectorRule, told: tuple[bytes, float]) -> locating.Frame:
    return locating.locate(_cells(rule, told), rule.rows, told[1])


@lru_cache(maxsize=8)
def _zoomed(rule: VectorRule, told: tuple[tuple[bytes, float], ...]) -> locating.Fit:
    """What the last look at columns tells; earlier ones say where it was."""
    return locating.zoom(_cells(rule, told[-1]), _frame(rule, told[:-1]), told[-1][1], rule.laws)
