"""Outlines of what one record can change in two answers, for pictures: bodies by the extreme units of a domain.

Answers are given by places of features, the count last.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from gaussmith.domains.domain import Domain, Problem
from gaussmith.domains.extremes import PersonRows, Product, Signs, Sphere
from gaussmith.domains.features import Features
from gaussmith.domains.uncentred import Uncentred
from gaussmith.numerics.exact import Array

CIRCLE = 72
"""Number of points on a smooth outline."""


def ellipse(covariance: Array) -> Array:
    """The outline {x : xᵀ covariance⁻¹ x = 1}: one standard deviation in every direction; rows are points.

    >>> ellipse(np.diag([4.0, 1.0])).max(axis=0)
    array([2., 1.])
    """
    values, vectors = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, CIRCLE + 1)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(circle * np.sqrt(np.clip(values, 0, None)) @ vectors.T)


def zonotope(generators: Array) -> Array:
    """The outline of { Σ tₖ gₖ : −1 ≤ tₖ ≤ 1 }, closed; `generators` has one column per g.

    >>> zonotope(np.array([[1.0, 0.0], [0.0, 2.0]])).tolist()
    [[-1.0, -2.0], [1.0, -2.0], [1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0]]
    """
    g = generators.T[np.abs(generators).max(axis=0, initial=0.0) > 0]
    if len(g) == 0:
        return np.zeros((2, 2))
    g = np.where(((g[:, 1] < 0) | ((g[:, 1] == 0) & (g[:, 0] < 0)))[:, None], -g, g)
    g = g[np.argsort(np.arctan2(g[:, 1], g[:, 0]), kind="stable")]
    steps = np.vstack([2 * g, -2 * g])
    return np.vstack([-g.sum(axis=0), -g.sum(axis=0) + np.cumsum(steps, axis=0)])


def centred_outlines(problem: Problem[Domain], body: Callable[[Array], Array], first: int, second: int) -> list[Array]:
    """Outlines around a centre; under add-remove a body and its mirror image.

    `body` draws the possible values of two answers (rows over the core). A mean is represented by its sum of
    distances from the middle of its bounds.
    """
    domain, features = problem.domain, problem.features
    centre = np.zeros(2)
    rows = np.zeros((2, domain.dimension))
    for axis, i in enumerate((first, second)):
        if i == features.size:  # the count
            centre[axis] = 1.0
            continue
        rows[axis] = features.row(i, domain.dimension)
        centre[axis] = 0.0 if not features.is_linear and features.centred[i] else rows[axis] @ domain.centre
    drawn = body(rows * domain.radius)
    if problem.secret_count:
        return [drawn + centre, -(drawn + centre)] if centre.any() else [drawn]
    return [2 * drawn]


def corner_outlines(problem: Problem[Domain], corners: Array) -> list[Array]:
    """The outline of the hull of some points and, under add-remove, its mirror image."""
    if not problem.secret_count:
        corners = (corners[:, None] - corners).reshape(-1, 2)
    directions = np.array(_directions())
    body = corners[np.argmax(directions @ corners.T, axis=1)]
    return [body, -body] if problem.secret_count else [body]


def hull_outlines(
    problem: Problem[Domain],
    farthest: Callable[[Array], Array],
    core_row: Callable[[Features, int], Array],
    first: int,
    second: int,
) -> list[Array]:
    """Outlines of the hull of all records, from those that go farthest in each direction."""
    features = problem.features
    if features.marginals is not None:
        return []
    rows, count = np.zeros((2, problem.domain.extremes().size)), np.zeros(2)
    for axis, i in enumerate((first, second)):
        if i == features.size:
            count[axis] = 1.0
        else:
            rows[axis] = core_row(features, i)
    outline = []
    for angle in _directions():
        direction = angle @ rows
        here = rows @ farthest(direction) + count
        there = 0.0 if problem.secret_count else rows @ farthest(-direction) + count
        outline.append(here - there)
    body = np.array(outline)
    return [body, -body] if problem.secret_count else [body]


def _directions() -> list[Array]:
    """Directions around the circle, slightly offset to avoid ties at corners."""
    return [np.array([np.cos(a), np.sin(a)]) for a in np.linspace(0, 2 * np.pi, 2 * CIRCLE + 1) + 1e-3]


def outlines(problem: Problem[Any], first: int, second: int) -> list[Array]:
    """Outlines of what one record can change in two answers; empty if they are not known."""
    domain = problem.domain
    if isinstance(domain, Uncentred):
        return hull_outlines(problem, domain.farthest, domain.core_row, first, second)
    match domain.extremes():
        case Signs(n) if n:
            return centred_outlines(problem, zonotope, first, second)
        case Sphere():
            return centred_outlines(problem, lambda rows: ellipse(rows @ rows.T), first, second)
        case Product((Signs(own), PersonRows() as rows)):
            choices = itertools.product((1 / rows.at_most, 1.0), (-1, 1), (-1, 1))
            corners = [
                [_end(problem, own, rows, i, share, sign) for i, sign in ((first, one), (second, two))]
                for share, one, two in choices
            ]
            return corner_outlines(problem, np.array(corners))
    return []


def _end(problem: Problem[Any], own: int, rows: PersonRows, i: int, share: float, sign: int) -> float:
    """One end of what a person with this share of the rows adds to a feature."""
    features, domain = problem.features, problem.domain
    if i == features.size:
        return 1.0  # the person
    j = int(features.index[i])
    if j == own + rows.sums:
        return share * rows.at_most
    if j >= own:
        return float(sign * share * domain.radius[j])
    return float(sign * domain.radius[j] + (0.0 if features.centred[i] else domain.centre[j]))
