"""What a law on differences proves, computed again from domain and answers; nothing but its numbers is believed.

| law | the difference s, in answers scaled to their weights | E[s sᵀ] |
|---|---|---|
| cells | column i of W with chance λ_i | Σ λ_i w_i w_iᵀ |
| pairs | column i less column j with chance λ_ij | Σ λ_ij (w_i−w_j)(w_i−w_j)ᵀ |
| listed | record i (or pair i, j) with chance λ_i | the same |
| corners | a listed corner of the box, chance λ_i | the same |
| levels | p ones and q minus ones, all places alike | W (own · I + other · (11ᵀ − I)) Wᵀ |
| rankings | any ranking, all alike | the same |
| signs | ± b_j with chance share_j, signs independent | W diag(share_j b_j²) Wᵀ |
| gaussian signs | signs of a normal vector with the cosines R of W's columns | W (2/π) arcsin(R) Wᵀ |
| even | any cell of the product, all alike | diagonal in the residuals: p_A |
| patterns | two records that differ in some attributes | diagonal in the residuals |
| closed | that of `gaussmith.certificate.bounds` | by its formula |
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gaussmith.answers import Answers
from gaussmith.certificate.bounds import lower_bound, signs_moment
from gaussmith.certificate.roots import weighted_lower
from gaussmith.domains import Box, Cells, Counts, Domain, People, Points, SparseSum, Votes
from gaussmith.errors import PlanError
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.exact import sqrt_downward
from gaussmith.numerics.intervals import gram
from gaussmith.numerics.linear import Array
from gaussmith.numerics.residuals import even_lower, patterns_lower
from gaussmith.shapes.alike import even_moment, scaled_rows
from gaussmith.shapes.laws import Law, root_of
from gaussmith.shapes.solved import replaced_rows, weighted_rows
from gaussmith.workloads import Marginals, Runs

Places = npt.NDArray[np.int64]

MOST_WRITTEN = 1 << 22
"""So many numbers of weighted differences are written down; more are summed to their moment first."""


def proven(domain: Domain, answers: Answers, neighbours: str, law: Law) -> float:
    """The lower bound at μ = 1 that this law proves for these answers; rounded down."""
    found = differences(domain, answers, neighbours, law)
    if found is not None:
        points, weights = found
        if answers.targets is not None:
            return _worst(answers, points, weights, law)
        return _square(weighted_lower(points, weights))
    _check(answers.targets is None)  # what follows bounds the total, which is more than the worst
    if law.kind in ("cells", "pairs"):
        return _square(root_of(_cells_moment(domain, answers, neighbours, law)))
    if law.kind in ("levels", "rankings"):
        return _alike(domain, answers, neighbours, law)
    if law.kind == "signs":
        return _signs(domain, answers, neighbours, law)
    if law.kind == "gaussian signs":
        _check(isinstance(domain, Box))
        assert isinstance(domain, Box)
        return _square(root_of(signs_moment(domain, answers, neighbours)))
    if law.kind in ("even", "patterns"):
        return _marginals(domain, answers, neighbours, law)
    _check(law.kind == "closed")
    return lower_bound(domain, answers, neighbours)


def differences(domain: Domain, answers: Answers, neighbours: str, law: Law) -> tuple[Array, Array] | None:
    """The differences of a law in answers scaled to their weights, one a row, and their weights; None if too many."""
    numbers = law.numbers
    if law.kind == "corners":
        _check(isinstance(domain, Box) and neighbours == ADD_REMOVE)
        assert isinstance(domain, Box)
        z = np.sign(numbers["corners"])
        return np.column_stack([z, np.ones(len(z))]) @ weighted_rows(domain, answers).T, numbers["weights"]
    if law.kind == "listed":
        return _listed(domain, answers, neighbours, numbers["weights"])
    if law.kind not in ("cells", "pairs") or not isinstance(domain, Cells | Points):
        return None
    _check((law.kind == "cells") == (neighbours == ADD_REMOVE))  # a record more or less, or one for another
    many = len(numbers["weights"]) * (answers.size + 1) > MOST_WRITTEN
    if many or answers.size * domain.codes().width > MOST_WRITTEN:
        _check(answers.targets is None)
        return None
    columns = _columns(domain, answers, neighbours)
    if law.kind == "cells":
        return columns[: len(numbers["weights"])], numbers["weights"]
    first, second = _ends(numbers, len(columns))
    return columns[first] - columns[second], numbers["weights"]


def _square(root: float) -> float:
    return root * root * (1.0 - 2.0**-52)


def _check(holds: bool) -> None:
    if not holds:
        raise PlanError("a law that is not one of differences", "its numbers must fit the domain", "plan again")


def _ends(numbers: dict[str, Array], size: int) -> tuple[Places, Places]:
    first, second = (numbers[end].astype(np.int64) for end in ("first", "second"))
    _check(bool(((first >= 0) & (first < size) & (second >= 0) & (second < size)).all()))
    return first, second


def _columns(domain: Cells | Points, answers: Answers, neighbours: str) -> Array:
    """What a record in each cell adds to the answers, scaled; last, where there may be none, a record in no cell."""
    from gaussmith.shapes.cells import rows_of

    rows = rows_of(domain, answers) * np.sqrt(answers.weights)[:, None]
    if isinstance(domain, Cells) and domain.or_none:
        rows = np.hstack([rows, np.zeros((len(rows), 1))])
    if answers.count and neighbours == ADD_REMOVE:
        rows = np.vstack([rows, np.ones((1, rows.shape[1]))])
    return np.asarray(rows.T)


def _cells_moment(domain: Domain, answers: Answers, neighbours: str, law: Law) -> Array:
    """√λ WᵀW √λ, or the same with the Laplacian of pairs: as many eigenvalues as cells, those of M and zeros."""
    _check(isinstance(domain, Cells) and isinstance(answers.workload, Runs))
    assert isinstance(domain, Cells) and isinstance(answers.workload, Runs)
    d = domain.dimension
    G = np.pad(gram(*answers.workload.places, d, answers.weights), (0, int(domain.or_none)))
    if answers.count and neighbours == ADD_REMOVE:
        G = G + 1.0
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


def _listed(domain: Domain, answers: Answers, neighbours: str, weights: Array) -> tuple[Array, Array]:
    if isinstance(domain, Box) and neighbours != ADD_REMOVE:
        points = 2.0 * domain.corners() @ replaced_rows(domain, answers).T
    elif isinstance(domain, Box | People):
        _check(neighbours == ADD_REMOVE)
        z = domain.corners()
        points = np.hstack([z, np.ones((len(z), 1))]) @ weighted_rows(domain, answers).T
    else:
        _check(isinstance(domain, Counts | Votes | SparseSum))
        assert isinstance(domain, Counts | Votes | SparseSum)
        records = domain.records(1 << 14)
        _check(records is not None)
        assert records is not None
        rows = scaled_rows(answers, domain.dimension, neighbours)
        records = records * domain.coded[1]
        if rows.shape[1] > domain.dimension:
            records = np.hstack([records, np.ones((len(records), 1))])
        points = records @ rows.T
        if neighbours != ADD_REMOVE:
            i, j = np.triu_indices(len(points), 1)
            points = points[i] - points[j]
    _check(len(points) == len(weights))
    return points, weights


def _worst(answers: Answers, points: Array, weights: Array, law: Law) -> float:
    """‖√λ S √w‖_*² with shares w of attention on the answers: no shape has a worst answer below it."""
    assert answers.targets is not None
    shares = np.maximum(law.numbers["shares"], 0.0)
    targets = answers.targets
    if points.shape[1] > len(targets):
        targets = np.append(targets, 1.0)
    _check(len(shares) == len(targets) == points.shape[1])
    root = np.sqrt(shares / (math.fsum(shares) * (1.0 + 2.0**-50)))
    return _square(weighted_lower(points * (root / targets), weights) * (1.0 - 2.0**-48))


def _alike(domain: Domain, answers: Answers, neighbours: str, law: Law) -> float:
    """Laws that look alike from every coordinate: in rationals where all answers weigh the same."""
    _check(isinstance(domain, Counts | Votes | Cells))
    assert isinstance(domain, Counts | Votes | Cells)
    d, private = domain.dimension, neighbours == ADD_REMOVE
    k = domain.at_most if isinstance(domain, Counts) else 1
    law = _fair(domain, law, neighbours, k)
    even = answers.matrix is None and answers.workload is None and np.array_equal(answers.index, np.arange(d))
    if not even or not (answers.weights == answers.weights[0]).all():
        _check(not isinstance(domain, Cells))
        assert isinstance(domain, Counts | Votes)
        rows = scaled_rows(answers, d, neighbours)
        return _square(root_of(rows @ even_moment(domain, law, neighbours, rows.shape[1] > d) @ rows.T))
    w = Fraction(float(answers.weights[0]))
    if law.kind == "rankings":
        t = Fraction((d - 1) * d * (2 * d - 1), 6) if private else Fraction(d * (d * d - 1), 3)
        delta2, first = (Fraction(d * (d - 1), 2) ** 2 if private else Fraction(0)), Fraction(d * (d - 1), 2)
    else:
        levels = [tuple(map(Fraction, level)) for level in law.numbers["levels"].tolist()]
        whole = sum((share for _, _, share in levels), Fraction(0))
        t = sum(((p + q) * share for p, q, share in levels), Fraction(0)) / whole
        delta2 = sum(((p - q) ** 2 * share for p, q, share in levels), Fraction(0)) / whole
        first = sum((p * share for p, _, share in levels), Fraction(0)) / whole
    alpha = delta2 / d
    across = sqrt_downward(w * (d - 1) * (t - alpha))
    if not (answers.count and private):
        return _square((across + sqrt_downward(w * alpha)) * (1.0 - 2.0**-50))
    if isinstance(domain, Votes) or (isinstance(domain, Cells) and not domain.or_none):
        per_record = Fraction(domain.points) if isinstance(domain, Votes) else Fraction(1)
        return _square((across + sqrt_downward((w + d / per_record**2) * alpha)) * (1.0 - 2.0**-50))
    determinant = max(w * (alpha - first * first / d), Fraction(0))
    block = sqrt_downward(w * alpha + 1 + 2 * Fraction(sqrt_downward(determinant)))
    return _square((across + block) * (1.0 - 2.0**-50))


def _fair(domain: Counts | Votes | Cells, law: Law, neighbours: str, k: int) -> Law:
    """The law, if its levels are those of differences."""
    if law.kind == "rankings":
        _check(isinstance(domain, Votes))
        return law
    _check(not isinstance(domain, Votes))
    p, q, share = law.numbers["levels"].T
    whole = bool(((p == np.floor(p)) & (q == np.floor(q)) & (share >= 0)).all()) and bool(share.any())
    inside = bool(((p >= 0) & (q >= 0) & (p <= k) & (q <= k) & (p + q <= domain.dimension)).all())
    _check(whole and inside and not (neighbours == ADD_REMOVE and q.any()))
    if isinstance(domain, Cells) and not domain.or_none:
        _check(bool(((p == 1) & (q == (neighbours != ADD_REMOVE))).all()))
    return law


def _signs(domain: Domain, answers: Answers, neighbours: str, law: Law) -> float:
    _check(isinstance(domain, SparseSum))
    assert isinstance(domain, SparseSum)
    private = neighbours == ADD_REMOVE
    share = law.numbers["shares"]
    _check(len(share) == domain.dimension and bool(((share >= 0) & (share <= 1)).all()))
    share = share * min(1.0, domain.at_most / (math.fsum(share) * (1.0 + 2.0**-50)))
    reach = domain.radius * (1.0 if private else 2.0)
    omega = answers.coordinate_weights(domain.dimension)
    if answers.matrix is None and len(np.unique(answers.index)) == answers.size:
        root = math.fsum(np.sqrt(omega) * reach * np.sqrt(share)) * (1.0 - 2.0**-48)
    else:
        rows = answers.matrix if answers.matrix is not None else np.eye(domain.dimension)[answers.index]
        rows = np.sqrt(answers.weights)[:, None] * rows * (reach * np.sqrt(share))
        root = root_of(rows @ rows.T)
    return _square(root + (1.0 if answers.count and private else 0.0))


def _marginals(domain: Domain, answers: Answers, neighbours: str, law: Law) -> float:
    from gaussmith.shapes.marginals import asked_ways

    work = answers.workload
    _check(isinstance(domain, Cells) and isinstance(work, Marginals))
    assert isinstance(work, Marginals)
    ways, weights = asked_ways(answers, work, neighbours)
    if law.kind == "even":
        _check(neighbours == ADD_REMOVE)
        return even_lower(work.shape, ways, weights)
    _check(neighbours != ADD_REMOVE)
    return patterns_lower(work.shape, ways, weights, law.numbers["differs"] > 0.5, law.numbers["weights"])
