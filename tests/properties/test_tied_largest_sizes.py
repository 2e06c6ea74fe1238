"""The largest norm of tied lifts at sizes that no list of people reaches, at extreme scales, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from all_people import part_of

from gaussmith.errors import PlanError
from gaussmith.numerics.joint.lift import TiedLift
from gaussmith.numerics.joint.parts import Body, JointPart
from gaussmith.numerics.joint.sensitivity import largest

Array = np.ndarray
NEIGHBOURS = ("add-remove", "replace-one")


def test_long_parts_in_the_closed_form() -> None:
    """Fifty parts of a thousand groups, as lifted plans have them; against the formula in rationals."""
    rng = np.random.default_rng(5)
    for neighbours in NEIGHBOURS:
        counted = neighbours == "add-remove"
        parts = [
            part_of(1000, int(rng.integers(1, 1001 if counted else 31)), int(rng.integers(0, 4))) for _ in range(50)
        ]
        own, ties, square = [], [], Fraction(1, 4) if counted else Fraction(0)
        for q, part in enumerate(parts):
            p = part.columns
            b, alpha, gamma = rng.random((3, p)) * 0.1
            s, along, e = rng.random(3) * (0.1, -1e-4, 0.05)
            matrix = np.diag([*b, s])
            matrix[:p, p] = -alpha
            row = np.zeros((p + 1, sum(each.width for each in parts) + counted))
            row[p, sum(each.width for each in parts[:q]) + p] = along
            if counted:
                row[:, -1] = [*-gamma, -e]
            own.append(matrix)
            ties.append(row)
            form = added if counted else changed
            square += form(part, [Fraction(x) for x in b], alpha, gamma, Fraction(s), Fraction(along), Fraction(e))
        last = np.append(np.zeros(sum(part.width for part in parts)), 0.5) if counted else None
        lift = TiedLift(tuple(part.groups for part in parts), tuple(own), np.vstack(ties), last)
        bound = Fraction(largest(lift, Body(tuple(parts)), neighbours))
        assert square <= bound**2 <= square * Fraction(1 + 1e-12) ** 2


def added(
    part: JointPart, b: list[Fraction], alpha: Array, gamma: Array, s: Fraction, along: Fraction, e: Fraction
) -> Fraction:
    """The largest over k of k·Σ_j max_z (b z − α − γ)² + (g − k)·Σ_j γ² + k (s + ℓk − e)² + (g − k)(ℓk − e)²."""
    here = sum(((x + Fraction(a) + Fraction(c)) ** 2 for x, a, c in zip(b, alpha, gamma, strict=True)), Fraction(0))
    absent = sum((Fraction(c) ** 2 for c in gamma), Fraction(0))
    return max(
        k * (here + (s + along * k - e) ** 2) + (part.groups - k) * (absent + (along * k - e) ** 2)
        for k in range(part.most + 1)
    )


def changed(
    part: JointPart, b: list[Fraction], alpha: Array, gamma: Array, s: Fraction, along: Fraction, e: Fraction
) -> Fraction:
    """The largest of 4 b² of every group kept, (b + α)² of one gained or lost, s²(gained + lost) + (2sℓ + gℓ²) net²."""
    keep = sum((4 * x**2 for x in b), Fraction(0))
    move = sum(((x + Fraction(a)) ** 2 for x, a in zip(b, alpha, strict=True)), Fraction(0)) + s**2
    g, m = part.groups, part.most
    best = Fraction(0)
    for net in range(m + 1):
        for lost in range(min(m - net, (g - net) // 2) + 1):
            kept = min(m - net - lost, g - net - 2 * lost)
            best = max(best, keep * kept + move * (net + 2 * lost) + (2 * s * along + g * along**2) * net**2)
    return best


def test_many_types_are_bounded() -> None:
    rng = np.random.default_rng(3)
    part = part_of(40, 9, 2)  # 715 types
    other = part_of(12, 14 - 2, 1)  # 91
    body = Body((part, other, part_of(1, 1, 0)))
    width = body.width
    lift = TiedLift(
        (40, 12, 1),
        (rng.normal(size=(3, 3)), rng.normal(size=(2, 2)), np.ones((1, 1))),
        rng.normal(size=(width, width + 1)),
        rng.normal(size=width + 1),
    )
    bound = largest(lift, body, "add-remove")
    heaviest = 0.0
    for _ in range(300):
        cores = [np.zeros((each.groups, each.width)) for each in body.parts]
        for core, each in zip(cores, body.parts, strict=True):
            k = each.most
            core[:k] = np.hstack([rng.choice([-1.0, 1.0], (1, each.columns)).repeat(k, 0), np.ones((k, 1))])
        heaviest = max(heaviest, float(np.linalg.norm(lift.times(cores, 1.0))))
    assert heaviest <= bound <= heaviest * 1.5


def test_what_does_not_fit_is_refused() -> None:
    body = Body((part_of(2, 1, 1),))
    counted = TiedLift((2,), (np.eye(2),), np.zeros((2, 3)), None)
    plain = TiedLift((2,), (np.eye(2),), np.zeros((2, 2)), None)
    with pytest.raises(PlanError, match="other groups or columns"):
        largest(counted, body, "replace-one")
    with pytest.raises(PlanError, match="other groups or columns"):
        largest(plain, Body((part_of(3, 1, 1),)), "add-remove")
    with pytest.raises(PlanError, match="other groups or columns"):
        largest(plain, body, "exchange")
    with pytest.raises(PlanError, match="extents that do not fit the columns"):
        largest(plain, body, "add-remove", [np.ones(2)])
    rows = Body((JointPart(2, 0, 1, np.zeros(1), np.ones(1), np.ones(1), 1.0, 0, 3),))
    with pytest.raises(PlanError, match="other groups or columns"):
        largest(plain, rows, "replace-one")
    assert largest(plain, rows, "add-remove") > 0
    wide = TiedLift((60,), (np.eye(4),), np.ones((4, 4)), None)
    with pytest.raises(PlanError, match=r"at most 2e\+05"):
        largest(wide, Body((part_of(60, 60, 3),)), "add-remove")


def test_extreme_scales() -> None:
    """Squares that are no doubles, and a norm beyond the largest double."""
    body = Body((part_of(2, 2, 1),))
    for scale in (1e-300, 1e-160, 1e160, 1e300):
        bound = largest(TiedLift((2,), (np.eye(2) * scale,), np.zeros((2, 2)), None), body, "add-remove")
        assert 0 <= Fraction(bound) / Fraction(scale) / 2 - 1 < 1e-13
    for scale, norm in ((0.0, 0.0), (1.7e308, math.inf)):
        assert largest(TiedLift((2,), (np.eye(2) * scale,), np.zeros((2, 2)), None), body, "add-remove") == norm
    assert (
        largest(TiedLift((2,), (np.eye(2) * 1e300,), np.zeros((2, 2)), None), body, "add-remove", [np.array([1e9])])
        == math.inf
    )
