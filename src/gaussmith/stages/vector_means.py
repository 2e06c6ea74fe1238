"""The rule for means of vectors of which nothing is known: look at the columns three times, at lengths once, then sum.

    locate ──▶ zoom ──▶ zoom again ──▶ lengths ──▶ answers

Every look is a Gaussian release of counts in cells. The rule says where the next cells are, and at the end the centre
and the half axes of the ellipsoid to which records are clipped. It sees noisy numbers alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gaussmith.stages import level, locate, zoom
from gaussmith.stages.laws import ANY, NORMAL_ONLY, Law
from gaussmith.stages.rule import ANSWERS, NOTHING, Seen, Step
from gaussmith.stages.scale import Scaling, scale
from gaussmith.stages.vector_shares import VectorShares, vector_shares
from gaussmith.values import dataclass

Array = npt.NDArray[np.float64]

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
    def laws(self) -> tuple[Law, ...]:
        """The laws that are fitted to columns."""
        return NORMAL_ONLY if self.normal else ANY

    def step(self, seen: Sequence[Seen], left: Fraction) -> Step:
        """The next look, or the answers; NOTHING where the first look shows nothing but noise."""
        told = tuple(_numbers(each) for each in seen)
        if len(told) == 1 and not locate.is_found(_cells(self, told[0]), told[0][1]):
            return Step(NOTHING)
        if len(told) == len(LOOKS):
            return Step(ANSWERS, None, self._answers(told))
        asks = self._lengths(told) if len(told) == len(LOOKS) - 1 else self._columns(told)
        return Step(LOOKS[len(told)], self.parts[len(told)], asks)

    def _columns(self, told: tuple[tuple[bytes, float], ...]) -> dict[str, Any]:
        """A look at the cells of every column: between powers of two first, then around what was found."""
        rows = zoom.edges_around(_frame(self, told)) if told else locate.EDGES[None, :]
        return self._asks({"kind": "column-cells", "columns": self.dimension, "edges": rows.tolist()})

    def _lengths(self, told: tuple[tuple[bytes, float], ...]) -> dict[str, Any]:
        """A look at the lengths of records once they are centred and scaled."""
        fit, scaling = self.fitted(told)
        numbers = {"centre": fit.mean.tolist(), "scale": scaling.multipliers.tolist()}
        return self._asks({"kind": "length-cells", **numbers, "edges": np.sqrt(level.EDGES).tolist()})

    def _answers(self, told: tuple[tuple[bytes, float], ...]) -> dict[str, Any]:
        """The clipped sum: its centre, and the half axes of its ellipsoid."""
        fit, scaling = self.fitted(told)
        cells = np.frombuffer(told[-1][0])
        alpha = level.choose_level(cells, fit, scaling, self.laws, self._mu_left, self.public, self.guard).value
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

    def fitted(self, told: tuple[tuple[bytes, float], ...]) -> tuple[zoom.Fit, Scaling]:
        """What three looks tell of the columns, and how they are scaled."""
        fit = _zoomed(self, told[: len(LOOKS) - 1])
        return fit, scale(fit.reach, fit.reach**-2.0 if self.weights is None else np.array(self.weights))

    @property
    def guard(self) -> float:
        """κ: 0 where the columns are declared to be normal."""
        return 0.0 if self.normal else level.GUARD

    @property
    def _mu_left(self) -> float:
        return float(self.mu * np.sqrt(self.shares.left))

    def guessed(self) -> dict[str, Any]:
        """What the last stage asks if every column is normal with mean 0 and standard deviation 1, as looks show it.

        Errors that are stated before data is seen are those of this guess: in units of the standard deviations.
        """
        one = np.ones(self.dimension)
        fit = zoom.Fit(0 * one, one, 0 * one, np.eye(1, len(self.laws)).repeat(self.dimension, 0), self.rows)
        scaling = scale(fit.reach, one if self.weights is None else np.array(self.weights))
        chosen = level.choose_level(None, fit, scaling, self.laws, self._mu_left, self.public, self.guard)
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


def _frame(rule: VectorRule, told: tuple[tuple[bytes, float], ...]) -> locate.Frame:
    """Where to look next, from the looks at columns so far."""
    return _zoomed(rule, told).frame if len(told) > 1 else _located(rule, told[0])


@lru_cache(maxsize=4)
def _located(rule: VectorRule, told: tuple[bytes, float]) -> locate.Frame:
    return locate.locate(_cells(rule, told), rule.rows, told[1])


@lru_cache(maxsize=8)
def _zoomed(rule: VectorRule, told: tuple[tuple[bytes, float], ...]) -> zoom.Fit:
    """What the last look at columns tells; earlier ones say where it was."""
    return zoom.zoom(_cells(rule, told[-1]), _frame(rule, told[:-1]), told[-1][1], rule.laws)
