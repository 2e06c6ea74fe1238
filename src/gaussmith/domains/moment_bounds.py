"""What a law on records proves about values, squares and products: signs are independent, so M is sparse.

A record has z_j² in {0, 1}, by a listed vertex or by the number of its ones at places equally likely, and independent
signs. Then E zzᵀ is diagonal, so is that of the products, and only squares and the number of records go together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.domains.domain import Problem, WorstCase, check_law
from gaussmith.domains.joint_law import Beside
from gaussmith.numerics.exact import Array
from gaussmith.numerics.trace_roots import root_of, square_down

if TYPE_CHECKING:
    from gaussmith.domains.moments import Moments


def proven_moments(problem: Problem[Moments], law: WorstCase) -> float:
    """The bound from a law on vertices, on numbers of ones, or on pairs of records; rounded down."""
    check_law(law.kind == "moments")
    if not problem.secret_count:
        check_law("pairs" in law.numbers)
        return proven_pairs(problem, law.numbers)
    weights = law.numbers["weights"]
    check_law(len(weights) > 0 and bool((weights >= 0).all()) and bool(weights.any()))
    weights = weights / weights.sum()
    domain = problem.domain
    M = _of_levels(domain, law.numbers, weights) if "levels" in law.numbers else _of_vertices(domain, law, weights)
    rows = problem.lifted_rows
    return square_down(root_of(rows @ M @ rows.T) * (1.0 - 2.0**-40))


def _of_vertices(domain: Moments, law: WorstCase, weights: Array) -> Array:
    core = _cores(domain, law, len(weights))
    return _sparse(domain, weights @ (core * core), (weights[:, None] * core).T @ core)


def _cores(domain: Moments, law: WorstCase, size: int) -> Array:
    """The cores of the people of a law on vertices, their own 1 last; those who are absent have none."""
    K, present = law.numbers["vertices"], law.numbers.get("present", np.ones(size))
    check_law(K.shape == (size, domain.columns_count) and bool(((K == 0) | (K == 1)).all()))
    check_law(present.shape == (size,) and bool(((present == 0) | (present == 1)).all()))
    return np.column_stack([domain.cores(K), np.ones(len(K))]) * present[:, None]


def moments_beside(problem: Problem[Moments], law: WorstCase) -> Beside:
    """A law on vertices beside other questions: only squares and the number of records have a mean."""
    weights = law.numbers["weights"]
    check_law(law.kind == "moments" and len(weights) > 0 and bool((weights >= 0).all()) and bool(weights.any()))
    domain, chances, rows = problem.domain, weights / weights.sum(), problem.lifted_rows
    core = _cores(domain, law, len(weights))
    inside = np.zeros(domain.dimension + 1, bool)
    inside[[*domain.squares, domain.dimension]] = True
    own = np.sqrt(chances @ (core[:, ~inside] ** 2))
    doubt = 8.0 * (domain.dimension + len(chances) + 8) * 2.0**-53
    return Beside(core[:, inside] @ rows[:, inside].T, chances, own[:, None] * rows[:, ~inside].T, doubt)


def _of_levels(domain: Moments, numbers: Mapping[str, Array], weights: Array) -> Array:
    k, d = numbers["levels"], domain.columns_count
    check_law(k.shape == weights.shape and bool(((k == np.floor(k)) & (k >= 0) & (k <= d)).all()))
    one = float(weights @ k) / d
    two = float(weights @ (k * (k - 1))) / (d * (d - 1)) if d > 1 else 0.0
    size = domain.dimension + 1
    own, together = np.full(size, one), np.full((size, size), two)
    own[domain.crossed], own[-1] = two, 1.0
    together[np.diag_indices(size)] = own
    together[-1, :-1] = together[:-1, -1] = one
    return _sparse(domain, own, together)


def _sparse(domain: Moments, own: Array, together: Array) -> Array:
    """E of products: diagonal, but for squares and the number of records."""
    M = np.diag(own)
    inside = [*domain.squares, domain.dimension]
    M[np.ix_(inside, inside)] = together[np.ix_(inside, inside)]
    return M


def proven_pairs(problem: Problem[Moments], numbers: Mapping[str, Array]) -> float:
    """The bound from a law on pairs of records, where every number of their difference has a sign of its own."""
    domain, kinds, weights = problem.domain, numbers["pairs"], numbers["weights"]
    near = float(numbers["near"][0])
    check_law(kinds.shape == (len(weights), domain.columns_count) and 0 <= near <= 2)
    check_law(bool(np.isin(kinds, (0, 1, 2)).all() and (weights >= 0).all() and weights.any()))
    moments = domain.pair_cores(kinds.astype(int), near)
    M = np.diag((weights / weights.sum()) @ (moments * moments))
    rows = problem.core_rows
    return square_down(root_of(rows @ M @ rows.T) * (1.0 - 2.0**-40))
