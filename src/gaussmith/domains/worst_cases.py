"""What a law on differences proves, recomputed from domain and answers; only the numbers of the law are used.

Nothing here depends on how shapes are chosen: a law that came with a shape is treated like any other.

| law | the difference s, in answers scaled to their weights | E[s sᵀ] |
|---|---|---|
| cells | column i of W with probability λ_i | Σ λ_i w_i w_iᵀ |
| pairs | column i less column j with probability λ_ij | Σ λ_ij (w_i−w_j)(w_i−w_j)ᵀ |
| listed | record i (or pair i, j) with probability λ_i | the same |
| corners | a listed corner of the box (replaced: twice it from the centre), with probability λ_i | the same |
| levels | p ones and q minus ones, all positions equally likely | W (own · I + other · (11ᵀ − I)) Wᵀ |
| rankings | any ranking, all equally likely | the same |
| signs | ± b_j with probability share_j, signs independent | W diag(share_j b_j²) Wᵀ |
| gaussian signs | signs of a normal vector with the cosines R of W's columns | W (2/π) arcsin(R) Wᵀ |
| even | any cell of the product, all equally likely | diagonal in the residuals: p_A |
| patterns | two records that differ in some attributes | diagonal in the residuals |
| closed | that of the domain's own module here | by its formula |
"""

from __future__ import annotations

import math

import numpy as np

from gaussmith.domains.domain import Domain, Problem, WorstCase, check_law
from gaussmith.numerics.exact import Array
from gaussmith.numerics.trace_roots import square_down, weighted_lower


def prove(problem: Problem[Domain], law: WorstCase) -> float:
    """The lower bound at μ = 1 that this law proves for these answers; rounded down."""
    found = problem.domain.differences(problem, law)
    if found is not None:
        points, weights = found
        if problem.features.targets is not None:
            return _worst(problem.features.targets, points, weights, law)
        return square_down(weighted_lower(points, weights))
    check_law(problem.features.targets is None)  # what follows bounds the total, which is more than the worst
    if law.kind == "closed" and (own := problem.domain.bounding_law(problem)).kind == law.kind:
        return own.lower
    return problem.domain.proven(problem, law)


def _worst(targets: Array, points: Array, weights: Array, law: WorstCase) -> float:
    """‖√λ S √w‖_*² with weights w on the answers: no shape has a worst answer below it."""
    shares = np.maximum(law.numbers["shares"], 0.0)
    if points.shape[1] > len(targets):
        targets = np.append(targets, 1.0)  # the number of records is scaled to its weight already
    check_law(len(shares) == len(targets) == points.shape[1])
    root = np.sqrt(shares / (math.fsum(shares) * (1.0 + 2.0**-50)))
    return square_down(weighted_lower(points * (root / targets), weights) * (1.0 - 2.0**-48))
