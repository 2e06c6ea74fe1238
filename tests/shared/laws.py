"""Exact tests of released errors against the covariance that was claimed. No seeds: production randomness.

Each test returns its smallest p-value times the number of looks it took (Bonferroni), so "p < 1e-9" is a false alarm at
most once in 10^9 runs. Every test here is shown to reject planted mistakes.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-9


def whiten(errors: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Errors in coordinates where the claim says: independent, variance 1; and each answer's part that no other has.

    Directions without noise must be exact. Eigenvectors of equal values are any basis of their space, another one on
    another processor, and so may spread what one answer lacks over all of them; the parts are the same everywhere.
    """
    sizes = np.sqrt(np.diag(covariance))
    assert (errors[:, sizes == 0] == 0).all(), "noise where none was claimed"
    errors, covariance = errors[:, sizes > 0], covariance[np.ix_(sizes > 0, sizes > 0)]
    sizes = sizes[sizes > 0]  # answers in their own units would hide small ones from the eigenvectors
    values, vectors = np.linalg.eigh(covariance / np.outer(sizes, sizes))
    noisy = values > values.max() * 1e-9
    assert np.abs(errors / sizes @ vectors[:, ~noisy]).max(initial=0.0) <= 1e-3, "noise where none was claimed"
    u = errors / sizes @ vectors[:, noisy] / np.sqrt(values[noisy])
    own = (vectors[:, noisy] / np.sqrt(values[noisy])).T
    return u, u @ (own / np.sqrt((own**2).sum(axis=0)))


def two_sided(statistic: float, degrees: float) -> float:
    return float(2 * min(stats.chi2.cdf(statistic, degrees), stats.chi2.sf(statistic, degrees)))


def p_scale(u: np.ndarray) -> float:
    """All directions together: Σ‖u‖² is χ² with as many degrees as there are numbers."""
    return two_sided(float((u * u).sum()), u.size)


def p_directions(u: np.ndarray) -> float:
    """Every claimed eigendirection, every pair's diagonal and antidiagonal, each an exact χ²."""
    n, k = u.shape
    squares = [(u**2).sum(axis=0)]
    for i in range(k):
        for v in (u[:, [i]] + u[:, :i], u[:, [i]] - u[:, :i]):
            squares.append((v**2).sum(axis=0) / 2)
    found = np.concatenate(squares)
    return float(2 * np.minimum(stats.chi2.cdf(found, n), stats.chi2.sf(found, n)).min()) * len(found)


def p_own(own: np.ndarray) -> float:
    """Every answer given all the others, each an exact χ²."""
    n, k = own.shape
    found = (own**2).sum(axis=0)
    return float(2 * np.minimum(stats.chi2.cdf(found, n), stats.chi2.sf(found, n)).min()) * k


def p_mean(u: np.ndarray) -> float:
    """No bias: n‖mean‖² is χ² with k degrees."""
    n, k = u.shape
    return float(stats.chi2.sf(n * float((u.mean(axis=0) ** 2).sum()), k))


def p_fresh(u: np.ndarray) -> float:
    """Consecutive releases are independent: (u_i + u_{i+1})/√2 over disjoint pairs has variance 1, exactly."""
    pairs = (u[0::2][: len(u) // 2] + u[1::2][: len(u) // 2]) / np.sqrt(2)
    return two_sided(float((pairs * pairs).sum()), pairs.size)


def p_form(u: np.ndarray) -> float:
    """Normal, by Kolmogorov–Smirnov on all numbers."""
    return float(stats.kstest(u.ravel(), "norm").pvalue)


TESTS = {"scale": p_scale, "directions": p_directions, "mean": p_mean, "fresh": p_fresh, "form": p_form}


def verdict(errors: np.ndarray, covariance: np.ndarray) -> dict[str, float]:
    """All tests at once; a right mechanism passes each except once in 10^9 runs."""
    u, own = whiten(errors, covariance)
    return {name: test(u) for name, test in TESTS.items()} | {"own": p_own(own)}


def rejects(errors: np.ndarray, covariance: np.ndarray) -> bool:
    found = verdict(errors, covariance)
    return min(found.values()) < FALSE_ALARM / len(found)
