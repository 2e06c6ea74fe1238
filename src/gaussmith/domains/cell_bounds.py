"""Laws for records that are in one cell each, or one of a list of points: cells, pairs of cells, and marginals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.domains.domain import Problem, WorstCase, check_law, refused_law
from gaussmith.domains.exchangeable_bounds import proven_levels
from gaussmith.domains.joint_law import Beside
from gaussmith.numerics.exact import Array
from gaussmith.numerics.intervals import gram
from gaussmith.numerics.marginals import even_apart, even_lower, patterns_lower
from gaussmith.numerics.trace_roots import root_of, square_down

if TYPE_CHECKING:
    from gaussmith.domains.cells import Cells
    from gaussmith.domains.domain import Differences

Places = npt.NDArray[np.int64]

MAX_WRITTEN = 1 << 22
"""Limit on explicit weighted differences; larger sets are summed to their moment first."""


def cell_differences(problem: Problem[Any], law: WorstCase) -> Differences | None:
    """The cells of a law, or its pairs of cells."""
    if law.kind not in ("cells", "pairs"):
        return None
    check_law((law.kind == "cells") == problem.secret_count)  # a record more or less, or one for another
    size, numbers = problem.features.size, law.numbers
    many = len(numbers["weights"]) * (size + 1) > MAX_WRITTEN
    if many or size * problem.domain.extremes().size > MAX_WRITTEN:
        check_law(problem.features.targets is None)
        return None
    columns = _columns(problem)
    if law.kind == "cells":
        return columns[: len(numbers["weights"])], numbers["weights"]
    first, second = _ends(numbers, len(columns))
    return columns[first] - columns[second], numbers["weights"]


def cells_beside(problem: Problem[Cells], law: WorstCase) -> Beside:
    """A law on cells beside other questions; the uniform one where tables of several columns are asked."""
    if problem.features.marginals is not None:
        work = problem.features.marginals
        check_law(law.kind == "even" and not problem.domain.or_none and not problem.count_weight)
        number, rest = even_apart(work.shape, *work.weighted_ways(problem.features.weights, 0.0))
        return Beside(np.array([[math.sqrt(number)]]), np.ones(1), np.zeros((0, 1)), 2.0**-50, rest)
    found = cell_differences(problem, law) if law.kind == "cells" else None
    if found is None:
        raise refused_law()
    points, weights = found
    check_law(points.shape[0] == len(weights) and bool((weights >= 0).all()) and bool(weights.any()))
    return Beside(points, weights / weights.sum(), points[:0], 8.0 * (len(weights) + 8) * 2.0**-53)


def proven_cells(problem: Problem[Cells], law: WorstCase) -> float:
    """The bound from laws on cells whose differences are not explicit."""
    if law.kind in ("cells", "pairs"):
        return square_down(root_of(_moment(problem, law)))
    if law.kind == "levels":
        check_law(problem.common_weight is not None)
        return proven_levels(problem, law, 1, always_one=not problem.domain.or_none)
    return _proven_marginals(problem, law)


def _columns(problem: Problem[Any]) -> Array:
    """The scaled contribution of a record in each cell to the answers; with `or_none`, last a record in no cell."""
    rows = problem.rows * problem.root_weights
    if problem.domain.or_none:
        rows = np.hstack([rows, np.zeros((len(rows), 1))])
    if problem.asks_secret_count:
        rows = np.vstack([rows, np.full((1, rows.shape[1]), problem.root_count_weight)])
    return np.asarray(rows.T)


def _ends(numbers: dict[str, Array], size: int) -> tuple[Places, Places]:
    first, second = (numbers[end].astype(np.int64) for end in ("first", "second"))
    check_law(bool(((first >= 0) & (first < size) & (second >= 0) & (second < size)).all()))
    return first, second


def _moment(problem: Problem[Cells], law: WorstCase) -> Array:
    """√λ WᵀW √λ, or the same with the Laplacian of pairs: as many eigenvalues as cells, those of M and zeros."""
    work, domain = problem.features.runs, problem.domain
    if work is None:
        raise refused_law()
    G = np.pad(gram(*work.places, domain.dimension, problem.features.weights), (0, int(domain.or_none)))
    if problem.asks_secret_count:
        G = G + problem.count_weight
    weights = np.maximum(law.numbers["weights"], 0.0)
    weights = weights / (math.fsum(weights) * (1.0 + 2.0**-50))
    if law.kind == "cells":
        root = np.sqrt(np.append(weights, np.zeros(len(G) - len(weights))))
        return np.asarray(root[:, None] * G * root)
    first, second = _ends(law.numbers, len(G))
    L = np.zeros_like(G)
    np.add.at(L, (first, second), -weights)
    L = L + L.T
    np.fill_diagonal(L, -L.sum(axis=1))
    values, vectors = np.linalg.eigh(L)
    half = vectors * np.sqrt(np.maximum(values * (1.0 - 1e-12), 0.0))
    return np.asarray(half.T @ G @ half)


def _proven_marginals(problem: Problem[Cells], law: WorstCase) -> float:
    work = problem.features.marginals
    if work is None:
        raise refused_law()
    ways, weights = work.weighted_ways(problem.features.weights, problem.secret_count_weight)
    if law.kind == "even":
        check_law(problem.secret_count)
        return even_lower(work.shape, ways, weights)
    check_law(law.kind == "patterns" and not problem.secret_count)
    return patterns_lower(work.shape, ways, weights, law.numbers["differs"] > 0.5, law.numbers["weights"])
