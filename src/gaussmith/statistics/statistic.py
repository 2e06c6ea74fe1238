"""A statistic: some answers of one kind, which features they need, what these are worth, and how answers are read.

The statistic of this file is linear: each answer is one combination of a few features. Others say what differs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from gaussmith.domains.features import BoundedColumn, Need, Places
from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Matrix

ONE = -1
"""The place of the number of records among features, wherever it is: noisy, or public."""

NUMBERS, VALUES, CELLS, TABLES, MOMENTS = "numbers", "values", "cells", "tables", "moments"
"""What answers are about: numbers of records within bounds, declared values of a column, the cells of a number, the
cells of several columns together, or squares and products of numbers within bounds."""

LIMITS = "limits"
"""Answers about the limits of a question themselves: who is beyond them."""


COUNT = "count"
"""The kind of a number of records or of rows."""


class AskedAnswer(NamedTuple):
    """What is asked of one kind: the columns with their bounds, and whatever else tells it from others of its kind.

    `arguments` are hashable: the level of a quantile, the declared values of a histogram.
    """

    kind: str
    columns: tuple[BoundedColumn, ...]
    arguments: tuple[Any, ...] = ()
    present: tuple[str, ...] = ()
    """The columns that must have a value: rows without one are left out, unless something stands in for it."""
    size: int = 1
    """How many answers are shown for it."""


Ground = tuple[Callable[[Places], Array], Callable[[Places], Array]]
"""For features by their places: what their values are measured from, and the mean square distance of a mean from it."""


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy features, on the last axis of `features`; axes before it are groups.

    `rows` are the features as combinations of independent noises, each of variance `unit`. If the number of records
    is secret and counted, it is the last feature; if it is public, `records` is that number.
    """

    features: Array
    rows: Matrix
    unit: float
    counted: bool
    records: int | None = None

    @property
    def has_noisy_count(self) -> bool:
        """Whether the number of records is known with noise."""
        return self.counted and self.records is None

    @cached_property
    def kept(self) -> dict[Statistic, Any]:
        """What a statistic reads once for values, errors and intervals."""
        return {}

    @cached_property
    def variances(self) -> Array:
        """The variance of the noise in each feature."""
        norms = self.rows.row_norms()
        return norms * norms * self.unit

    @cached_property
    def count(self) -> Array:
        """The number of records; NaN if it was neither asked for nor needed."""
        groups = self.features.shape[:-1]
        if self.records is not None:
            return np.full(groups, float(self.records))
        return np.asarray(self.features[..., -1]) if self.counted else np.full(groups, np.nan)

    def at(self, places: Places) -> Array:
        """Features by their places: groups × places."""
        if (places >= 0).all():
            return np.asarray(self.features[..., places])
        if (places < 0).all():
            return np.broadcast_to(self.count[..., None], (*self.features.shape[:-1], len(places)))
        return np.where(places < 0, self.count[..., None], self.features[..., np.maximum(places, 0)])

    def variance(self, places: Places) -> Array:
        """Of the noise in these features; a public number has none."""
        return self._noise(self.variances, places)

    def covariance(self, first: Places, second: Places) -> Array:
        """Of the noise in each of the first features with that in the second one beside it."""
        found = np.zeros(len(first))
        for place in np.unique(second):
            if place >= 0 or self.has_noisy_count:
                beside = np.asarray(self.rows.times(self.rows.row(int(place) % self.rows.shape[0])) * self.unit)
                at = second == place
                found[at] = self._noise(beside, first[at])
        return found

    def rows_at(self, dense: Array, places: Places) -> Array:
        """The rows of a matrix that has one for each feature; of a public number a row of zeros."""
        return self._noise(dense, places)

    def _noise(self, numbers: Array, places: Places) -> Array:
        if self.has_noisy_count:
            return numbers[places]
        found = np.zeros((len(places), *numbers.shape[1:]))
        found[places >= 0] = numbers[places[places >= 0]]
        return found


@dataclass(frozen=True, eq=False)
class Statistic:
    """Answers of one kind: a row of `places` each, the features it needs, in the order in which `needs` tells them.

    Without more said an answer is Σ coefficients · features, and its noise Gaussian.
    """

    kind: ClassVar[str]
    """What the statistic is called in saved plans and in the names of answers."""
    field: ClassVar[str | None] = None
    """The field of a question that asks for it; None where it is asked otherwise."""
    over: ClassVar[str] = NUMBERS
    """Which of `plans.assembly.ASSEMBLIES` makes the domain."""
    of_columns: ClassVar[bool] = True
    """Whether it is asked of one column at a time, and so of every coordinate: gm.plan(…, answers=field)."""
    skips: ClassVar[bool] = False
    """Whether rows without a value of its columns are left out, unless something stands in for it."""
    counts_beside: ClassVar[bool] = True
    """Whether the number of people may be counted with it, where it leaves out nobody."""
    coefficients: ClassVar[tuple[float, ...]] = (1.0,)
    """By how much the answer (n times the answer, where it is divided) changes with each feature it needs."""
    counts_values: ClassVar[bool] = False
    """Whether answers are numbers of people with one of several values, so that they have shares of their sum."""
    shows_shares: ClassVar[bool] = False
    """Whether these shares are shown in every table, beside the answers."""
    divided: ClassVar[bool] = False
    """Whether the answer is over the number of records or rows, the last feature it needs."""
    inverted: ClassVar[bool] = False
    """Whether intervals come from a test, and errors from intervals: the noise to first order alone is too small."""

    names: Sequence[str]
    places: Places
    weights: Array
    """How much the squared error of each answer matters; of n times its error where it is divided."""

    @classmethod
    def asked(cls, wanted: Any) -> list[AskedAnswer]:
        """What a question asks for by `field`, in order; `wanted` is that field, as the question read it.

        Here it maps columns to their bounds, and a missing value adds 0, or where that is out of bounds is left out.
        """
        found = []
        for name, (low, high) in wanted.items():
            present = (name,) if cls.skips or not low <= 0 <= high else ()
            found.append(AskedAnswer(cls.kind, (BoundedColumn(name, low, high),), present=present))
        return found

    @classmethod
    def needs(cls, columns: Sequence[BoundedColumn], of: str) -> tuple[Need, ...]:
        """The features that one answer needs; `of` says whose: "records" (rows are people), "people" or "rows".

        Statistics without a `field` are never asked about columns, and do not say this.
        """
        raise NotImplementedError(f"{cls.kind} is not asked about columns")

    @classmethod
    def placed(cls, names: Sequence[str], places: Places, weights: Array, ground: Ground) -> Self:
        """The statistic that reads the features at these places."""
        return cls(names, places, weights)

    @classmethod
    def name_of(cls, columns: Sequence[BoundedColumn], *arguments: Any) -> str:
        """What an answer about these columns is called; `arguments` are those of its `AskedAnswer`."""
        return f"{'_'.join(column.name for column in columns)}_{cls.kind}"

    @classmethod
    def has_width(cls, needs: int) -> bool:
        """Whether an answer of this kind can have so many needs."""
        return needs == len(cls.coefficients)

    @property
    def needs_spread(self) -> slice | None:
        """Which of its needs are sums of columns that must vary by more than the noise; None where none must."""
        return None

    # -- what it is worth -----------------------------------------------------------------------------------------

    @property
    def factors(self) -> Array:
        """By how much each answer changes with each need, where errors are stated: answers × needs."""
        return np.broadcast_to(np.array(self.coefficients), self.places.shape)

    @property
    def squares(self) -> Array:
        """The mean square of these wherever the answers may lie, for which noise is chosen: answers × needs."""
        return np.broadcast_to(np.square(self.coefficients), self.places.shape)

    def worth(self, size: int) -> list[tuple[Places, Array]]:
        """What the squared errors of so many features are worth: places and numbers, need by need."""
        return list(zip(self.places.T, (self.weights[:, None] * self.squares).T, strict=True))

    def averaged_variances(self, noisy: Noisy) -> Array:
        """Of the answers, on average over where they may lie: what noise is chosen by; n times a divided one."""
        found = np.zeros(len(self.weights))
        for k, square in enumerate(self.squares.T):
            found = found + square * noisy.variance(self.places[:, k])
        terms = [(k, c) for k, c in enumerate(self.coefficients) if c]
        for (k, c), (other, d) in itertools.combinations(terms, 2):
            found = found + 2 * c * d * noisy.covariance(self.places[:, other], self.places[:, k])
        return found

    def largest_variances(self, noisy: Noisy, limits: Callable[[Places], Array]) -> Array:
        """Of the answers wherever they lie; of a divided one: of its error times the noisy number it is divided by."""
        return linear_variances(self, noisy)

    # -- how it is read -------------------------------------------------------------------------------------------

    def values(self, noisy: Noisy) -> Array:
        """The answers: groups × answers."""
        terms = [(k, c) for k, c in enumerate(self.coefficients) if c]
        return np.asarray(sum(c * noisy.at(self.places[:, k]) for k, c in terms))

    def errors(self, noisy: Noisy) -> Array:
        """Their standard errors; of what is not linear to first order."""
        plain = np.sqrt(linear_variances(self, noisy))
        return np.broadcast_to(plain, (*noisy.features.shape[:-1], len(plain)))

    def intervals(self, noisy: Noisy, width: float | Array, method: str) -> tuple[Array, Array]:
        """Ends of their intervals, `width` standard errors of the normal law to either side."""
        values, half = self.values(noisy), width * np.sqrt(linear_variances(self, noisy))
        return values - half, values + half

    def gradient(self, noisy: Noisy) -> tuple[Places, Array]:
        """The features with which each answer changes, and by how much, at the released values of one group."""
        return self.places, np.broadcast_to(np.array(self.coefficients), self.places.shape)

    def fraction(self, at: int) -> tuple[Array, Array | None, float] | None:
        """Factors of the needed features in a numerator and a denominator, and what is added to their ratio.

        The denominator is None where the answer is linear; None where the answer is no such ratio.
        """
        linear = type(self).values is Statistic.values
        return (np.array(self.coefficients), None, 0.0) if linear else None

    def limits(self, lowest: Callable[[Places], Array], highest: Callable[[Places], Array]) -> tuple[Array, Array]:
        """Between which numbers the answers lie without noise, from public knowledge alone; infinite where anywhere.

        `lowest` and `highest` are the ends of what one record adds to a feature.
        """
        anywhere = np.full(len(self.weights), np.inf)
        return -anywhere, anywhere

    # -- parts and saved form -------------------------------------------------------------------------------------

    def picked(self, at: Sequence[int], places: Places) -> Self:
        """Some of the answers, which need features at other places."""
        return replace(self, names=tuple(self.names[i] for i in at), places=places, weights=self.weights[list(at)])

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "names": list(self.names),
            "places": self.places.tolist(),
            "weights": self.weights.tolist(),
        }


def counts_records(statistic: Statistic) -> bool:
    """Whether this is the number of records itself, and not of rows."""
    return statistic.kind == COUNT and bool((statistic.places == ONE).all())


def linear_variances(statistic: Statistic, noisy: Noisy) -> Array:
    """Of Σ factors · noise, answer by answer."""
    terms = _terms(statistic)
    found = np.zeros(len(statistic.weights))
    for at, (places, c) in enumerate(terms):
        found = found + c * c * noisy.variance(places)
        for others, d in terms[:at]:
            found = found + 2 * c * d * noisy.covariance(places, others)
    return found


def combined_rows(statistic: Statistic, noisy: Noisy, dense: Array) -> Array:
    """Σ factors · rows of a matrix that has one for each feature."""
    return np.asarray(sum(c[:, None] * noisy.rows_at(dense, places) for places, c in _terms(statistic)))


def _terms(statistic: Statistic) -> list[tuple[Places, Array]]:
    """The needs with which some answer changes: their places, and by how much."""
    return [(places, c) for places, c in zip(statistic.places.T, statistic.factors.T, strict=True) if c.any()]


def standard_factors(statistic: Statistic, worth: Array) -> Array:
    """The errors that independent noise leaves in answers, where it has the size 1/√worth in every feature."""
    if statistic.inverted:
        return np.asarray(np.sqrt((statistic.factors**2).sum(axis=1) / worth[0]))
    return np.asarray(1.0 / np.sqrt(statistic.weights))
