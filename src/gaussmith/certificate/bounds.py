"""How close to the limit a plan is: lower bounds on the total error of *any* Gaussian noise with the same guarantee.

For any law on the differences s (scaled to the weights), M = E[s sᵀ] gives: no noise covariance at μ = 1 has a weighted
total below (tr M^{1/2})². Each bound here is one such law, so it is valid whatever shape the plan has.

    box, add-remove     signs of a Gaussian vector with the correlations of the answers' columns:
                        M = W′ (2/π) arcsin(R) W′ᵀ; and the best law on a few well chosen corners
    box, replace-one    independent signs: M diagonal, the bound equals the elliptical shape's total
    ball                a direction with a preferred mean; the preference is searched
    Gaussian data       a direction of its ellipsoid, each axis as often as its share of the noise
    people              the signs of a box, with one row or with all that count; the chance of either is searched
"""

from __future__ import annotations

import numpy as np

from gaussmith.answers import Answers
from gaussmith.domains import Ball, Box, Domain, GaussianData, People, Tallied
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array
from gaussmith.shapes.laws import Law, root_of
from gaussmith.shapes.lifted import offset_weight

_DENSE = 1500
_ROUNDS = 50

MOST_CHOSEN = 48
"""Up to so many coordinates chosen corners give a better bound than the law of signs."""

_ROUNDING = 1e-9


def lower_bound(domain: Domain, answers: Answers, neighbours: str) -> float:
    """No Gaussian noise at μ = 1 has a smaller weighted total; rounded down."""
    private = neighbours == ADD_REMOVE
    if isinstance(domain, Tallied):
        return 0.0  # their shapes come with a law, which bounds every shape
    if isinstance(domain, Ball):
        root = _ball_root(domain, answers) if private else _ball_replace_root(domain, answers)
    elif isinstance(domain, Box):
        root = _box_root(domain, answers) if private else _box_replace_root(domain, answers)
    elif isinstance(domain, GaussianData):
        root = _ellipsoid_root(domain, answers, private)
    elif isinstance(domain, People):
        root = _people_root(domain, answers) if private else _people_replace_root(domain, answers)
    else:
        root = float(np.sqrt(offset_weight(domain, answers))) if private else 0.0
    return root * root * (1 - _ROUNDING)


def _ellipsoid_root(domain: GaussianData, answers: Answers, private: bool) -> float:
    """Directions of the ellipsoid with E zz^T = diag(q), q_j ∝ ω_j a_j², either way equally often.

    Then tr M^{1/2} = √S, S = Σ ω_j a_j², without a centre or a count; with them M has one more rank.
    """
    shares = answers.coordinate_weights(domain.dimension) * domain.radius**2
    S = float(shares.sum())
    if not private:
        return 2 * float(np.sqrt(S))
    plain = float(np.sqrt(max(S, offset_weight(domain, answers))))
    if answers.matrix is not None or len(np.unique(answers.index)) < answers.size or not S:
        return plain
    from gaussmith.numerics.traces import trace_sqrt_lower

    i = answers.index
    away = np.sqrt(answers.weights) * np.where(answers.means, 0.0, domain.centre[i])
    v = np.append(away, np.sqrt(answers.count_weight(domain)))[:, None]
    return max(plain, float(trace_sqrt_lower(np.append(shares[i] * (shares[i] / S), 0.0), v, np.ones((1, 1)))))


def _ball_replace_root(domain: Ball, answers: Answers) -> float:
    return float(2 * domain.ball_radius * np.sqrt(answers.coordinate_weights(domain.dimension).sum()))


def _box_replace_root(domain: Box, answers: Answers) -> float:
    if answers.matrix is None:
        return float(np.sqrt(answers.coordinate_weights(domain.dimension)) @ (2 * domain.radius))
    columns = answers.matrix * np.sqrt(answers.weights)[:, None] * (2 * domain.radius)
    return _signs_root(columns)


def _signs_root(columns: Array) -> float:
    """tr M^{1/2} for M = W (2/π) arcsin(R) Wᵀ, R the cosines between the columns of W; rounded down."""
    return root_of(_signs_moment(columns))


def _signs_moment(columns: Array) -> Array:
    columns = columns[:, np.linalg.norm(columns, axis=0) > 0]
    norms = np.linalg.norm(columns, axis=0)
    cosines = np.clip((columns / norms).T @ (columns / norms), -1.0, 1.0)
    H = (2 / np.pi) * np.arcsin(cosines)
    return np.asarray(columns @ H @ columns.T)


def signs_moment(domain: Box, answers: Answers, neighbours: str) -> Array:
    """M for the signs of a Gaussian vector with the cosines of the answers' columns."""
    from gaussmith.shapes.solved import replaced_rows, weighted_rows

    if neighbours == ADD_REMOVE:
        return _signs_moment(weighted_rows(domain, answers))
    return _signs_moment(2 * replaced_rows(domain, answers))


def law_of(domain: Domain, answers: Answers, neighbours: str) -> Law:
    """A law that proves a bound, for domains whose shapes come without one."""
    if not isinstance(domain, Box) or max(domain.dimension, answers.size) > _DENSE:
        return Law("closed", lower_bound(domain, answers, neighbours))
    if neighbours != ADD_REMOVE:
        return Law("gaussian signs", lower_bound(domain, answers, neighbours))
    from gaussmith.shapes.solved import weighted_rows

    W = weighted_rows(domain, answers)
    signs = _signs_root(W)
    if domain.dimension <= MOST_CHOSEN:
        root, z, weights = _best_corners(W)
        if root > signs:
            return Law("corners", root * root * (1 - _ROUNDING), {"corners": z, "weights": weights})
    return Law("gaussian signs", signs * signs * (1 - _ROUNDING))


def _best_corners(W: Array) -> tuple[float, Array, Array]:
    """tr M^{1/2} for the best law on a few chosen corners of the box: any corners do, well chosen ones come close.

    Near the optimum the signs z_j are uncorrelated and agree with the count's as often as the cosine h_j of their
    columns says, so that Σ h_j z_j has mean q = Σ h_j² and variance q − q². Corners are spread evenly with these
    frequencies (by fractional parts of multiples of √2, √3, √5 …: a certificate needs no chance) and moved, sign by
    sign, to where Σ h_j z_j is nearest 1, or for a share 1 − q of them nearest 0.
    """
    norms = np.linalg.norm(W, axis=0)
    columns = W / np.where(norms > 0, norms, 1.0)
    h = columns[:, :-1].T @ columns[:, -1]
    d = len(h)
    size = min(48 * d, 1500)
    even = np.modf(np.outer(np.arange(1, size + 1), np.sqrt(_primes(d + 1))))[0]
    z = np.where(even[:, :-1] < (1 + h) / 2, 1.0, -1.0)
    goal = np.where(even[:, -1] < h @ h, 1.0, 0.0)
    rows = np.arange(size)
    for _ in range(2 * d):
        reach = z @ h
        after = np.abs((reach - goal)[:, None] - 2 * z * h)
        j = after.argmin(axis=1)
        better = after[rows, j] < np.abs(reach - goal) - 1e-12
        if not better.any():
            break
        z[better, j[better]] *= -1
    root, weights = _best_law(np.column_stack([z, np.ones(size)]) @ W.T)
    return root, z, weights


def _best_law(points: Array) -> tuple[float, Array]:
    """The largest tr M^{1/2} found in a few rounds over laws on these points; each round's value is a valid bound.

    M = Σ λ_i s_i s_iᵀ; the singular values of √λ·S are the roots of its eigenvalues. A point weighs more in the next
    round the less the noise of this one would hide it: λ_i ← λ_i (s_iᵀ M^{−1/2} s_i)².
    """
    law = np.full(len(points), 1.0 / len(points))
    best, kept_law = 0.0, law
    for _ in range(_ROUNDS):
        _, sizes, directions = np.linalg.svd(np.sqrt(law)[:, None] * points, full_matrices=False)
        if float(sizes.sum()) > best:
            best, kept_law = float(sizes.sum()), law
        kept = sizes > sizes[0] * 1e-9
        reach = points @ directions[kept].T
        law = law * ((reach * reach) @ (1.0 / sizes[kept])) ** 2
        law = np.maximum(law / law.sum(), 1e-15)  # subnormal weights would slow the decomposition down
        law = law / law.sum()
    return best, kept_law


def _primes(count: int) -> Array:
    """The first primes."""
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return np.array(found, float)


def _box_root(domain: Box, answers: Answers) -> float:
    from gaussmith.shapes.solved import weighted_rows

    if domain.dimension <= _DENSE and answers.size <= _DENSE:
        W = weighted_rows(domain, answers)
        return max(_signs_root(W), _best_corners(W)[0] if domain.dimension <= MOST_CHOSEN else 0.0)
    if answers.matrix is not None or len(np.unique(answers.index)) < answers.size:
        # Independent signs: M ⪰ diag, and the square root is monotone.
        return float(np.sqrt(answers.coordinate_weights(domain.dimension)) @ domain.radius)
    # One answer per coordinate: M is diagonal plus a matrix of rank two in the columns' vector and the centre's.
    from gaussmith.numerics.traces import trace_sqrt_lower

    root = np.sqrt(answers.weights)
    extra = answers.count_weight(domain)
    D = np.append(root * domain.radius[answers.index], 0.0)
    b = np.append(root * np.where(answers.means, 0.0, domain.centre[answers.index]), np.sqrt(extra))
    length = np.linalg.norm(b)
    if length == 0:
        return float(D.sum())
    h = (2 / np.pi) * np.arcsin(np.clip(b / length, -1.0, 1.0))
    h[-1] = 0.0
    return float(trace_sqrt_lower(D * D, np.column_stack([D * h, b]), np.array([[0.0, 1.0], [1.0, 1.0]])))


def _people_root(domain: People, answers: Answers) -> float:
    """tr M^{1/2} with t = T/k equal to 1 or 1/k, and signs as for a box; any chance p of the first is a valid law."""
    from gaussmith.shapes.people import best_share, total, worths

    a, b, D = worths(domain, answers)
    k, d, (own, over, last) = domain.rows_per_unit, domain.dimension, domain.parts
    E, extra = offset_weight(domain, answers), answers.count_weight(domain)
    p = best_share(lambda p: total(a, b, D, E, k, p)) if E else 1.0
    if d > _DENSE or answers.size > _DENSE or answers.matrix is not None:
        return float(a.sum() + b.sum())  # all with k rows, signs independent
    rows = np.zeros((answers.size + 1, d + 1))
    at = np.arange(answers.size)
    rows[at, answers.index] = domain.radius[answers.index]
    rows[at, -1] = np.where(answers.means, 0.0, domain.centre[answers.index])
    rows[:-1] *= np.sqrt(answers.weights)[:, None]
    rows[-1, -1] = np.sqrt(extra)
    # One sign for t and the person together: their columns side by side tell how it should correlate with the others.
    columns = np.hstack([rows[:, :last], rows[:, last:].sum(axis=1, keepdims=True)])
    norms = np.linalg.norm(columns, axis=0)
    cosines = (columns / np.where(norms > 0, norms, 1.0)).T @ (columns / np.where(norms > 0, norms, 1.0))
    np.fill_diagonal(cosines, 1.0)
    H = (2 / np.pi) * np.arcsin(np.clip(cosines, -1.0, 1.0))
    signs = np.array([*range(last), last, last])
    scaled = np.array([False] * (over.start - own.start) + [True] * (last - over.start) + [True, False])
    moments = np.array([[1.0, p + (1 - p) / k], [p + (1 - p) / k, p + (1 - p) / k**2]])
    M = H[np.ix_(signs, signs)] * moments[np.ix_(scaled.astype(int), scaled.astype(int))]
    return root_of(rows @ M @ rows.T)


def _people_replace_root(domain: People, answers: Answers) -> float:
    from gaussmith.shapes.people import best_share, replaced_total, worths

    a, b, D = worths(domain, answers)
    k = domain.rows_per_unit
    return replaced_total(a, b, D, k, best_share(lambda p: replaced_total(a, b, D, k, p)))


def _ball_root(domain: Ball, answers: Answers) -> float:
    """The largest tr M^{1/2} over laws of directions that prefer the centre's: E cos = m, E cos² = q, even across it.

    Equal weights w: M splits into d−1 equal directions across, and a 2 × 2 block (towards the centre, and the count)
    with trace w(|c|² + 2|c|Cm + C²q) + e and determinant w·e·C²(q − m²), e the weight of the count.
    """
    C, d = domain.ball_radius, domain.dimension
    omega = answers.coordinate_weights(d)
    E, e = offset_weight(domain, answers), answers.count_weight(domain)
    plain = float(max(C * np.sqrt(omega.sum()), np.sqrt(E)))  # the spread alone, and the centre alone
    means = answers.means
    if answers.matrix is not None or answers.size != d or np.ptp(omega) > 0 or means.any() != means.all():
        return plain
    w = float(omega[0])
    length = np.sqrt(max(E - e, 0.0) / w)
    q = np.append(np.linspace(0.0, 1.0, 257), 1.0 / d)[:, None]
    m = np.sqrt(q) * np.linspace(0.0, 1.0, 129)[None, :]
    trace = w * (length**2 + 2 * length * C * m + C * C * q) + e
    determinant = w * e * C * C * np.maximum(q - m * m, 0.0)
    across = C * np.sqrt(w * (1 - q) * (d - 1))
    return max(plain, float((np.sqrt(trace + 2 * np.sqrt(determinant)) + across).max()))
