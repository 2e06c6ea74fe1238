"""A problem: what one record can be, which features of it are needed, what is protected; and all that follows."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array
from gaussmith.problem.domain import Domain
from gaussmith.problem.features import Features
from gaussmith.values import dataclass

D_co = TypeVar("D_co", bound=Domain, covariant=True)
Other = TypeVar("Other", bound=Domain)


@dataclass(frozen=True, eq=False)
class Problem(Generic[D_co]):
    """One domain, the features of a record that receive noise, and the neighbours under which it is protected.

    In the formulas ω_j is the weight of coordinate j over all features, and E what the number of records is worth.

    >>> import gaussmith as gm
    >>> plan = gm.plan(gm.Box({"age": (0, 100)}), gm.Guarantee(mu=1), count=True, weights="equal")
    >>> problem = plan.block.problem
    >>> problem.secret_count, problem.asks_secret_count, problem.offset_weight
    (True, True, 2501.0)
    """

    domain: D_co
    features: Features
    neighbours: str

    def over(self, domain: Other) -> Problem[Other]:
        """The same features of another domain."""
        return Problem(domain, self.features, self.neighbours)

    def asking(self, features: Features) -> Problem[D_co]:
        """Other features of the same domain."""
        return replace(self, features=features)

    # -- the number of records ------------------------------------------------------------------------------------

    @cached_property
    def secret_count(self) -> bool:
        """Whether the number of records is secret: it is public under replace-one."""
        return self.neighbours == ADD_REMOVE

    @cached_property
    def asks_secret_count(self) -> bool:
        """Whether the number of records is a feature that needs noise."""
        return self.count_weight > 0 and self.secret_count

    @property
    def count_weight(self) -> float:
        """How much the squared error of the number of records matters where no centre enters: means and the count."""
        return self.features.count_weight

    @property
    def secret_count_weight(self) -> float:
        """The same where the number of records is secret; else 0."""
        return self.count_weight if self.secret_count else 0.0

    @cached_property
    def offset_weight(self) -> float:
        """E: how much the squared error of the number of records matters, through centres, means and the count."""
        plain = ~self.features.centred if self.features.matrix is None else slice(None)
        centres = self.offsets[plain]
        return self.count_weight + float(self.features.weights[plain] @ (centres * centres))

    # -- what features take from a record -------------------------------------------------------------------------

    @property
    def offsets(self) -> Array:
        """What each feature takes from the number of records: where its coordinate is centred, 0 if measured there."""
        return self._measured_from(self.domain.centre)

    @property
    def coded_offsets(self) -> Array:
        """The same, as codes stand for it."""
        return self._measured_from(self.domain.coded[0])

    def _measured_from(self, centre: Array) -> Array:
        features = self.features
        if features.matrix is not None:
            return np.asarray(features.matrix @ centre)
        return np.where(features.centred, 0.0, centre[features.index])

    @cached_property
    def coordinate_weights(self) -> Array:
        """ω_j: how much the squared error of coordinate j matters over all features."""
        return self.features.coordinate_weights(self.domain.dimension)

    @cached_property
    def asks_each_once(self) -> bool:
        """Whether the features are the coordinates themselves, each once and in order."""
        features = self.features
        return not features.is_linear and np.array_equal(features.index, np.arange(self.domain.dimension))

    @cached_property
    def asks_no_coordinate_twice(self) -> bool:
        """Whether every feature is about a coordinate of its own."""
        features = self.features
        return features.matrix is None and len(np.unique(features.index)) == features.size

    @cached_property
    def common_weight(self) -> float | None:
        """The weight of every coordinate, if each is asked once and all weigh the same."""
        weights = self.features.weights
        even = len(weights) > 0 and self.asks_each_once and bool((weights == weights[0]).all())
        return float(weights[0]) if even else None

    @property
    def rows(self) -> Array:
        """The features as a matrix over what is counted of a record, not weighted."""
        return self.domain.feature_rows(self.features)

    @property
    def root_weights(self) -> Array:
        """The root of each feature's weight, as a column."""
        return np.sqrt(self.features.weights)[:, None]

    @property
    def root_count_weight(self) -> float:
        """The root of what the number of records is worth."""
        return float(np.sqrt(self.count_weight))

    @property
    def weighted_rows(self) -> Array:
        """The rows, each scaled to its weight; where the count needs noise one more, of a last coordinate that is 1."""
        rows = self.rows * self.root_weights
        if self.asks_secret_count:
            rows = np.pad(rows, ((0, 1), (0, 1)))
            rows[-1, -1] = self.root_count_weight
        return np.asarray(rows)

    @property
    def core_rows(self) -> Array:
        """What each feature takes from the core z, scaled to its weight; the number of records is public."""
        return np.asarray(self.rows * self.domain.radius * self.root_weights)

    @property
    def lifted_rows(self) -> Array:
        """What each feature takes from the core (z, 1), scaled to its weight; then the count, where it has a worth."""
        features, domain, d = self.features, self.domain, self.domain.dimension
        if features.matrix is not None:
            rows = np.column_stack([features.matrix * domain.radius, self.offsets])
        else:
            rows = np.zeros((features.size, d + 1))
            rows[np.arange(features.size), features.index] = domain.radius[features.index]
            rows[:, -1] = self.offsets
        rows = rows * self.root_weights
        if self.count_weight:
            tail = np.zeros((1, d + 1))
            tail[0, -1] = self.root_count_weight
            rows = np.vstack([rows, tail])
        return rows
