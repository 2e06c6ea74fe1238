"""Noise for groups whose keys are found: one lifted coordinate counts people, and nothing else, so that it can decide.

A group is shown if its noisy number of people passes a threshold. With t² of the squared norm on that coordinate the
threshold lies at 1 + x√m/(tμ) people, so t² should not be small; half is the least here:

    boxes      the lifted shape itself, with √E ← max(√E, Σ √ω_j r_j), so that t² ≥ ½; its constant serves the sums too
    others     any shape with ‖lift · s‖ ≤ 1 becomes (√(1 − t²) lift ; t), t² = ½; all but the count is read as before
    people     nothing else is asked: t = 1
"""

from __future__ import annotations

import math

import numpy as np

from gaussmith.numerics.linear import Dense, Diagonal
from gaussmith.problem import Domain, Problem
from gaussmith.shapes import Shape
from gaussmith.shapes.lifted import read_features

NAME = "people first"

LEAST_SHARE = 0.5
"""The least t²: the threshold stays within √2 of that of a count alone."""


def people_first(problem: Problem[Domain], base: Shape) -> Shape:
    """The shape whose last lifted coordinate is t times the number of people; `base` is the best without that rule."""
    if problem.domain.dimension == 0:
        return Shape(NAME, Diagonal(np.ones(1)), Dense(np.ones((1, 1))), True)
    if isinstance(base.lift, Diagonal) and not problem.features.is_linear:
        return _box(problem)
    t, rest = math.sqrt(LEAST_SHARE), math.sqrt(1 - LEAST_SHARE)
    lift, features = base.lift.dense(), base.features.dense()
    if lift.shape[1] == problem.domain.dimension:  # it takes no number of people yet
        lift = np.column_stack([lift, np.zeros(len(lift))])
    last = np.zeros((1, lift.shape[1]))
    last[0, -1] = t
    read = np.column_stack([features[: problem.features.size] / rest, np.zeros(problem.features.size)])
    count = np.zeros((1, read.shape[1]))
    count[0, -1] = 1 / t
    return Shape(NAME, Dense(np.vstack([rest * lift, last])), Dense(np.vstack([read, count])), True)


def _box(problem: Problem[Domain]) -> Shape:
    parts = np.sqrt(problem.coordinate_weights) * problem.domain.radius
    root = max(math.sqrt(problem.offset_weight), float(parts.sum()))
    whole = parts.sum() + root
    entries, last = np.sqrt(parts / whole), math.sqrt(root / whole)
    return Shape(NAME, Diagonal(np.append(entries, last)), *read_features(problem, entries, last))
