"""The shape for people with many rows: noise for a cone.

A person's core is (x, y, t, 1): own numbers |x_i| ≤ 1, sums over rows |y_j| ≤ t, the rows t in [τ, 1] with τ = 1/k,
and the person. Let a_i, b_j be the square roots of the weights times the half ranges, D the weight of t and E the
weight of the person. Let t be 1 with probability p and τ otherwise, so that E t² = q = p + (1−p)τ², with independent
signs of x and y: each p bounds every Gaussian noise from below, and the best p gives the shape that attains it (for own
numbers centred at zero; otherwise E includes the centres, as in a lifted box):

    T = max over p of  Σ a_i + √q Σ b_j + √( D q + E + 2 (1−τ) √(D E p (1−p)) ),      total variance T².

The lift is a_i^½, (b_j/√q)^½, each over T^½, and for (t, 1) a factor of D^½ (D^½ M D^½)^−½ D^½ / T, M = E (t,1)(t,1)ᵀ.
Under replace-one two people with k and k rows, or k and one, take the place of 1 and τ, and E drops out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.cone import best_share, pair_moments, replaced_total, total
from gaussmith.numerics.linear import Array, Bordered, Diagonal
from gaussmith.problem import Problem
from gaussmith.shapes import Shape

if TYPE_CHECKING:
    from gaussmith.domains import People

NAME = "people"


def lifted_people(problem: Problem[People]) -> Shape:
    """The best shape for people with many rows, scaled to a largest norm of 1."""
    domain, neighbours = problem.domain, problem.neighbours
    a, b, D = domain.worths(problem.coordinate_weights)
    k = domain.max_rows
    if not problem.secret_count:
        p = best_share(lambda p: replaced_total(a, b, D, k, p))
        q, r = pair_moments(k, p)
        entries = np.concatenate([np.sqrt(a), np.sqrt(b / math.sqrt(q)), [D**0.25 / r**0.25 if r > 0 else 0.0]])
        entries[: len(a)] /= math.sqrt(2.0)
        entries = entries / domain.largest(Diagonal(entries), neighbours)
        return Shape(NAME, Diagonal(entries), *_public_features(problem, entries))
    E = problem.offset_weight
    p = best_share(lambda p: total(a, b, D, E, k, p)) if E else 1.0
    q = p + (1 - p) / k**2
    inner = np.append(np.sqrt(np.concatenate([a, b / math.sqrt(q)])), [0.0, 0.0])
    border = np.zeros(len(inner))
    d = domain.dimension
    if E:
        inner[-2], border[-2], inner[-1] = _factor(D, E, k, p)
    else:
        inner[-2] = (D / q) ** 0.25
    lift = Bordered(np.arange(d + 1), inner, border, d + 1)
    norm = domain.largest(lift, neighbours)
    lift = Bordered(lift.index, inner / norm, border / norm, d + 1)
    return Shape(NAME, lift, *_features(problem, lift))


def _factor(D: float, E: float, k: int, p: float) -> tuple[float, float, float]:
    """The triangular factor ((u, v), (0, w)) of D^½ (D^½ M D^½)^−½ D^½ over (t, 1)."""
    tau = 1 / k
    root = np.diag([math.sqrt(D), math.sqrt(E)])
    mean = p + (1 - p) * tau
    M = np.array([[p + (1 - p) * tau**2, mean], [mean, 1.0]])
    X = root @ M @ root
    # The square root of a 2 × 2 matrix is (X + √det · I)/√(trace + 2√det); √det is known without cancellation.
    det = math.sqrt(D * E * p * (1 - p)) * (1 - tau)
    inverse = np.array([[X[1, 1] + det, -X[0, 1]], [-X[1, 0], X[0, 0] + det]])
    P = root @ inverse @ root / (det * math.sqrt(X[0, 0] + X[1, 1] + 2 * det))
    u = math.sqrt(P[0, 0])
    v = float(P[0, 1]) / u
    # P₁₁ − v² = det P / P₀₀, and det P = DE/√det X, again without cancellation.
    w = math.sqrt(D * E / det) / u
    return u, v, w


def _features(problem: Problem[People], lift: Bordered) -> tuple[Bordered, bool, None]:
    """What reads the answers back from the noisy lifted sums, and whether the number of people is among them."""
    domain, radius = problem.domain, problem.domain.coded[1]
    last = domain.parts[2]
    u, v, w = float(lift.inner[last]), float(lift.border[last]), float(lift.inner[-1])
    counted = w > 0
    per_person = 1.0 / w if counted else 0.0
    index = problem.features.index
    inner = radius[index] / lift.inner[index]
    border = problem.coded_offsets * per_person
    border = np.where(index == last, -radius[last] * v / u * per_person, border)
    if counted:
        index = np.append(index, domain.dimension)
        inner, border = np.append(inner, per_person), np.append(border, 0.0)
    return Bordered(index, inner, border, domain.dimension + 1), counted, None


def _public_features(problem: Problem[People], entries: Array) -> tuple[Bordered, bool, Array]:
    """The same where the number of people is public: own numbers get their centre's part from it."""
    domain, radius, index = problem.domain, problem.domain.coded[1], problem.features.index
    inner = radius[index] / entries[index]
    return Bordered(index, inner, np.zeros(len(index)), domain.dimension), False, problem.coded_offsets
