"""The audit of a catalogue entry: its claim against its true δ, computed here anew, and samples of its noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussmith.audit import exact
from gaussmith.audit.attacks import nearest_centre
from gaussmith.audit.bounds import at_least, lower_bound
from gaussmith.audit.effort import Effort
from gaussmith.audit.noise_tests import check_noise
from gaussmith.audit.sampling import BLOCK, NUMBERS
from gaussmith.audit.spherical import half_normal, true_delta
from gaussmith.audit.verdict import EXACT, SAMPLED, Attempt, shares
from gaussmith.catalogue import GaussianEntry, RankOne, StagedEntry

MAX_SAMPLED = 100_000
"""Draws of rank-one noise: its claim is refuted by quadrature where it is false, and guesses only show it again."""


def is_entry(target: Any) -> bool:
    """Whether it is a mechanism of the catalogue."""
    return isinstance(target, RankOne | StagedEntry) or (hasattr(target, "claimed") and hasattr(target, "true_delta"))


def audit_entry(entry: Any, error: float, effort: Effort) -> tuple[list[Attempt], float]:
    """All attempts on an entry, and the largest lower bound on μ."""
    if isinstance(entry, RankOne):
        return _audit_rank_one(entry, error, effort)
    attempts = [_check_claim(entry)]
    if isinstance(entry, GaussianEntry):
        attempts.append(_check_noise(entry, error, effort))
        return attempts, entry.true_mu
    return attempts, 0.0


def _check_claim(entry: Any) -> Attempt:
    """The claimed (ε, δ) against the curve of the true μ, to 50 digits; or the claimed ρ against the true one."""
    name, claimed = "claim against the true curve, 50 digits", entry.claimed
    true_mu = getattr(entry, "true_mu", None)
    if true_mu is None:
        said = "the sum of its steps is what is claimed" if entry.holds else "its steps spend more than is claimed"
        return Attempt("steps", EXACT, not entry.holds, said)
    if claimed.epsilon is None or claimed.delta is None:
        said = f"the true μ is {true_mu:.6g}, claimed is {claimed.mu:.6g}"
        return Attempt(name, EXACT, true_mu > claimed.mu, said, claimed.mu, true_mu)
    delta = exact.gaussian_delta(claimed.epsilon, true_mu)
    said = f"the true δ at ε={claimed.epsilon:g} is {float(delta):.6g}, claimed is {claimed.delta:g}"
    return Attempt(name, EXACT, bool(delta > claimed.delta), said, claimed.delta, float(delta))


def _check_noise(entry: GaussianEntry, error: float, effort: Effort) -> Attempt:
    n, covariance = effort.samples, entry.covariance()
    size = max(2, min(BLOCK, NUMBERS // len(covariance)))
    blocks = (entry.sample(min(size, n - at)) for at in range(0, n, size))
    return check_noise("noise, whitened", blocks, covariance, error, n, effort.report)


def _audit_rank_one(entry: RankOne, error: float, effort: Effort) -> tuple[list[Attempt], float]:
    claimed, M, sigma = entry.claimed, entry.dimension, entry.sigma
    assert claimed.epsilon is not None and claimed.delta is not None
    delta = true_delta(M, claimed.epsilon, half_normal(sigma), sigma, entry.sensitivity)
    said = f"the true δ at ε={claimed.epsilon:g} is {delta:.4g} by quadrature, claimed is {claimed.delta:g}"
    attempts = [Attempt("true δ by quadrature", EXACT, delta > claimed.delta * 1.001, said, claimed.delta, delta)]
    own = entry.true_delta(claimed.epsilon)
    differ = abs(own / delta - 1) > 1e-3
    said = f"the catalogue states {own:.6g}: {'another number' if differ else 'the same to three digits'}"
    attempts.append(Attempt("the catalogue's own δ", EXACT, differ, said, own, delta))
    (share,) = shares(error, (1,))
    n = min(MAX_SAMPLED, effort.samples) // 2
    centres = np.zeros((2, M))
    centres[1, 0] = entry.sensitivity
    one, other = entry.sample(n), entry.sample(n) + centres[1]
    found = nearest_centre(one, other, (centres[0], centres[1]), share)
    said = f"right in {100 * found.right:.2f} % of {found.trials:,} guesses: {at_least(found.mu)}"
    # A claimed (ε, δ) allows every test whose trade-off lies above its two lines: right at most (e^ε + δ)/(1 + e^ε).
    e = float(np.exp(claimed.epsilon))
    limit = (e + claimed.delta) / (1 + e)
    least = lower_bound(round(found.right * found.trials), found.trials, share)
    attempts.append(Attempt("nearest centre", SAMPLED, least > limit, said, limit, least, share, found.trials))
    return attempts, found.mu
