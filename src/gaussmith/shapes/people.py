"""The shape for people with many rows: noise for a cone.

A person's core is (x, y, t, 1): own numbers |x_i| ≤ 1, sums over rows |y_j| ≤ t, the rows t in [τ, 1] with τ = 1/k,
and the person. Let a_i, b_j be the roots of the weights times the half ranges, D what t is worth and E what the person
is. Let t be 1 with chance p and τ otherwise, so that E t² = q = p + (1−p)τ², with independent signs of x and y: each p
bounds every Gaussian noise from below, and the best p gives the shape that attains it (for own numbers centred at zero;
else E takes in the centres, as in a lifted box):

    T = max over p of  Σ a_i + √q Σ b_j + √( D q + E + 2 (1−τ) √(D E p (1−p)) ),      total variance T².

The lift is a_i^½, (b_j/√q)^½, each over T^½, and for (t, 1) a factor of D^½ (D^½ M D^½)^−½ D^½ / T, M = E (t,1)(t,1)ᵀ.
Under replace-one two people with k and k rows, or k and one, take the place of 1 and τ, and E drops out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gaussmith.answers import Answers
from gaussmith.domains import People
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array, Bordered, Diagonal
from gaussmith.shapes import Shape
from gaussmith.shapes.lifted import offset_weight

NAME = "people"


def lifted_people(domain: People, answers: Answers, neighbours: str) -> Shape:
    """The best shape for people with many rows, scaled to a largest norm of 1."""
    a, b, D = worths(domain, answers)
    k = domain.rows_per_unit
    if neighbours != ADD_REMOVE:
        p = best_share(lambda p: replaced_total(a, b, D, k, p))
        q, r = pair_moments(k, p)
        entries = np.concatenate([np.sqrt(a), np.sqrt(b / math.sqrt(q)), [D**0.25 / r**0.25 if r > 0 else 0.0]])
        entries[: len(a)] /= math.sqrt(2.0)
        entries = entries / domain.largest(Diagonal(entries), neighbours)
        return Shape(NAME, Diagonal(entries), *_public_features(domain, answers, entries))
    E = offset_weight(domain, answers)
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
    return Shape(NAME, lift, *_features(domain, answers, lift))


def worths(domain: People, answers: Answers) -> tuple[Array, Array, float]:
    """Roots of the weights times the half ranges, of own numbers and of sums over rows; and the worth of t."""
    own, over, last = domain.parts
    roots = np.sqrt(answers.coordinate_weights(domain.dimension)) * domain.radius
    return roots[own], roots[over], float(roots[last] ** 2)


def total(a: Array, b: Array, D: float, E: float, k: int, p: float) -> float:
    """T for one law: its square bounds every Gaussian noise from below, at own numbers centred at zero."""
    q = p + (1 - p) / k**2
    tied = D * q + E + 2 * (1 - 1 / k) * math.sqrt(D * E * p * (1 - p))
    return float(a.sum() + math.sqrt(q) * b.sum()) + math.sqrt(tied)


def replaced_total(a: Array, b: Array, D: float, k: int, p: float) -> float:
    """The same under replace-one."""
    q, r = pair_moments(k, p)
    return float(2 * a.sum() + math.sqrt(q) * b.sum() + math.sqrt(D * r))


def pair_moments(k: int, p: float) -> tuple[float, float]:
    """E (t + t′)² and E (t − t′)² of two people with k rows each, with chance p, else with k rows and one."""
    return 4 * p + (1 - p) * (1 + 1 / k) ** 2, (1 - p) * (1 - 1 / k) ** 2


def best_share(value: Callable[[float], float]) -> float:
    """The p in [0, 1] at which a concave function is largest, by golden sections of the angle with sin² = p."""
    golden = (math.sqrt(5) - 1) / 2
    low, high = 0.0, math.pi / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    f, g = value(math.sin(left) ** 2), value(math.sin(right) ** 2)
    for _ in range(80):
        if f < g:
            low, left, f = left, right, g
            right = low + golden * (high - low)
            g = value(math.sin(right) ** 2)
        else:
            high, right, g = right, left, f
            left = high - golden * (high - low)
            f = value(math.sin(left) ** 2)
    return math.sin((low + high) / 2) ** 2


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


def _features(domain: People, answers: Answers, lift: Bordered) -> tuple[Bordered, bool, None]:
    """What reads the answers back from the noisy lifted sums, and whether the number of people is among them."""
    centre, radius = domain.coded
    last = domain.parts[2]
    u, v, w = float(lift.inner[last]), float(lift.border[last]), float(lift.inner[-1])
    counted = w > 0
    per_person = 1.0 / w if counted else 0.0
    index = answers.index
    inner = radius[index] / lift.inner[index]
    border = np.where(answers.means, 0.0, centre[index]) * per_person
    border = np.where(index == last, -radius[last] * v / u * per_person, border)
    if counted:
        index = np.append(index, domain.dimension)
        inner, border = np.append(inner, per_person), np.append(border, 0.0)
    return Bordered(index, inner, border, domain.dimension + 1), counted, None


def _public_features(domain: People, answers: Answers, entries: Array) -> tuple[Bordered, bool, Array]:
    """The same where the number of people is public: own numbers get their centre's part from it."""
    centre, radius = domain.coded
    inner = radius[answers.index] / entries[answers.index]
    public = np.where(answers.means, 0.0, centre[answers.index])
    return Bordered(answers.index, inner, np.zeros(answers.size), domain.dimension), False, public
