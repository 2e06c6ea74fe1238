"""Which published mechanisms apply to a domain, with the sensitivities they need."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gaussmith.catalogue.analytic import analytic
from gaussmith.catalogue.bounded_contribution import bounded_contribution
from gaussmith.catalogue.classic import classic
from gaussmith.catalogue.clipped import clipped
from gaussmith.catalogue.correlated import correlated
from gaussmith.catalogue.elliptical import elliptical
from gaussmith.catalogue.entry import Entry
from gaussmith.catalogue.gaussian_data import gaussian_data
from gaussmith.catalogue.rank_one import rank_one
from gaussmith.catalogue.slides import slides
from gaussmith.domains import Ball, Box, Counts, GaussianData, SparseSum
from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.problem import Domain
from gaussmith.values import dataclass

Make = Callable[[], Entry]


@dataclass(frozen=True)
class Asked:
    """ε, δ and neighbours, as every entry takes them."""

    epsilon: float
    delta: float
    neighbours: str

    @property
    def private(self) -> bool:
        return self.neighbours == ADD_REMOVE

    @property
    def stated(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta}


def candidates(domain: Any, asked: Asked) -> dict[str, Make]:
    """Factories for every entry that fits the domain, by name; an entry that refuses says why when it is made."""
    if not isinstance(domain, Domain) or domain.kind not in _KINDS:
        raise PlanError(
            f"domain of type {type(domain).__name__}",
            "published mechanisms are compared on boxes, balls, counts, sparse sums, votes and Gaussian data",
            "give a gaussmith.Box, for example",
            code="domain-not-compared",
            type=type(domain).__name__,
        )
    return _KINDS[domain.kind](domain, asked)


def _plain(dimension: int, sensitivity: float, asked: Asked) -> dict[str, Make]:
    """Entries that need only a Euclidean sensitivity."""
    numbers: dict[str, Any] = {"dimension": dimension, "sensitivity": sensitivity, **asked.stated}
    return {
        "classic Gaussian": lambda: classic(neighbours=asked.neighbours, **numbers),
        "slides Gaussian": lambda: slides(neighbours=asked.neighbours, **numbers),
        "analytic Gaussian": lambda: analytic(neighbours=asked.neighbours, **numbers),
        "rank-one singular (R1SMG)": lambda: rank_one(**numbers),
    }


def _box(domain: Box, asked: Asked) -> dict[str, Make]:
    low, high = domain.lower, domain.upper
    widths = np.maximum(np.abs(low), np.abs(high)) if asked.private else high - low
    found = _plain(domain.dimension, float(np.linalg.norm(widths)), asked)
    found["elliptical Gaussian"] = lambda: elliptical(sensitivity=widths, neighbours=asked.neighbours, **asked.stated)
    if asked.private:
        found["correlated Gaussian"] = lambda: correlated(
            dimension=domain.dimension, lower=low, upper=high, **asked.stated
        )
    return found


def _ball(domain: Ball, asked: Asked) -> dict[str, Make]:
    far = float(np.linalg.norm(domain.centre)) + domain.ball_radius
    found = _plain(domain.dimension, far if asked.private else 2 * domain.ball_radius, asked)
    if not domain.centre.any() or not asked.private:
        found["clipped sum"] = lambda: clipped(
            dimension=domain.dimension, radius=domain.ball_radius, neighbours=asked.neighbours, **asked.stated
        )
    return found


def _gaussian(domain: GaussianData, asked: Asked) -> dict[str, Make]:
    """Entries measured from the centre: the papers do not cover a secret number of records."""
    numbers: dict[str, Any] = {"sd": domain.sd, "rows": domain.rows, "neighbours": asked.neighbours, **asked.stated}
    return {
        "clipped sum": lambda: gaussian_data(scaling="round", **numbers),
        "Gaussian data, report": lambda: gaussian_data(**numbers),
        "Gaussian data, Chebyshev": lambda: gaussian_data(scaling="chebyshev", **numbers),
        "Gaussian data, improved scaling": lambda: gaussian_data(scaling="improved", **numbers),
    }


def _counts(domain: Counts, asked: Asked) -> dict[str, Make]:
    d, k = domain.dimension, domain.at_most
    found = _plain(d, math.sqrt(k if asked.private else min(2 * k, d)), asked)
    if asked.private:
        found["correlated Gaussian"] = lambda: correlated(dimension=d, **asked.stated)
    found["bounded contribution"] = lambda: bounded_contribution(
        dimension=d, at_most=k, neighbours=asked.neighbours, **asked.stated
    )
    return found


def _votes(domain: Domain, asked: Asked) -> dict[str, Make]:
    d = domain.dimension
    squares = (d - 1) * d * (2 * d - 1) / 6 if asked.private else d * (d * d - 1) / 3
    found = _plain(d, math.sqrt(squares), asked)
    found["bounded contribution"] = lambda: bounded_contribution(
        dimension=d, kind="votes", neighbours=asked.neighbours, **asked.stated
    )
    return found


def _sparse(domain: SparseSum, asked: Asked) -> dict[str, Make]:
    d, k = domain.dimension, domain.at_most
    bounds = domain.bounds
    reach = float(np.linalg.norm(np.sort(bounds)[-k:])) * (1 if asked.private else 2)
    found = _plain(d, reach, asked)
    found["bounded contribution"] = lambda: bounded_contribution(
        dimension=d, at_most=k, kind="sums", bound=float(bounds.max()), neighbours=asked.neighbours, **asked.stated
    )
    return found


_KINDS: dict[str, Callable[[Any, Asked], dict[str, Make]]] = {
    "box": _box,
    "ball": _ball,
    "gaussian": _gaussian,
    "counts": _counts,
    "votes": _votes,
    "sparse": _sparse,
}
