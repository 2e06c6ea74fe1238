"""The outlines in the picture of a plan: what one record can change in two answers, and the noise around it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from gaussmith.domains import Ball, Box, Cells, Counts, GaussianData, People, Points, SparseSum, Tallied, Votes
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.linear import Array
from gaussmith.plans import Block
from gaussmith.workloads import Marginals, Runs

CIRCLE = 72
"""Points on a smooth outline."""

MOST = 24
"""So many answers are looked through for the most telling pair."""


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


def differences(block: Block, first: int, second: int) -> list[Array]:
    """Outlines of what one record can change in two answers: add-remove gives a body and its mirror image.

    An answer's place is its position in the plan, the count last. A mean stands for its sum of distances from
    the middle of its bounds. Empty for a domain whose outline is not known.
    """
    if isinstance(block.domain, Tallied):
        return _tallied_outlines(block, first, second)
    if isinstance(block.domain, People):
        return _people_outlines(block, block.domain, first, second)
    if not isinstance(block.domain, Box | Ball | GaussianData):
        return []
    centre = np.zeros(2)
    rows = np.zeros((2, block.domain.dimension))
    for axis, i in enumerate((first, second)):
        if i == block.answers.size:  # the count
            centre[axis] = 1.0
            continue
        if block.answers.matrix is not None:
            rows[axis] = block.answers.matrix[i]
        else:
            rows[axis, block.answers.index[i]] = 1.0
        centre[axis] = 0.0 if block.answers.means[i] else rows[axis] @ block.domain.centre
    if isinstance(block.domain, Ball | GaussianData):
        body = ellipse((rows * block.domain.radius) @ (rows * block.domain.radius).T)
    else:
        body = zonotope(rows * block.domain.radius)
    if block.neighbours == ADD_REMOVE:
        return [body + centre, -(body + centre)] if centre.any() else [body]
    return [2 * body]


def _people_outlines(block: Block, domain: People, first: int, second: int) -> list[Array]:
    """The same for people with many rows: with one row or with all that count, every number at either of its ends."""
    _, over_rows, rows = domain.parts
    points = []
    for share, one, two in itertools.product((1 / domain.rows_per_unit, 1.0), (-1, 1), (-1, 1)):
        point = []
        for i, sign in ((first, one), (second, two)):
            j = -1 if i == block.answers.size else int(block.answers.index[i])
            if j < 0:
                point.append(1.0)  # the person
            elif j == rows:
                point.append(share * domain.rows_per_unit)
            elif j >= over_rows.start:
                point.append(sign * share * domain.radius[j])
            else:
                point.append(sign * domain.radius[j] + (0.0 if block.answers.means[i] else domain.centre[j]))
        points.append(point)
    corners = np.array(points)
    if block.neighbours != ADD_REMOVE:
        corners = (corners[:, None] - corners).reshape(-1, 2)
    angles = np.linspace(0, 2 * np.pi, 2 * CIRCLE + 1) + 1e-3  # a little off, where corners tie
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    body = corners[np.argmax(directions @ corners.T, axis=1)]
    return [body] if block.neighbours != ADD_REMOVE else [body, -body]


def _tallied_outlines(block: Block, first: int, second: int) -> list[Array]:
    """The same for records that are counted: their hull, from the records that go farthest in each direction."""
    domain = block.domain
    assert isinstance(domain, Cells | Counts | Points | SparseSum | Votes)
    if isinstance(block.answers.workload, Marginals):
        return []
    width = block.codes.width
    rows, count = np.zeros((2, width)), np.zeros(2)
    for axis, i in enumerate((first, second)):
        if i == block.answers.size:
            count[axis] = 1.0
        else:
            rows[axis] = _core_row(block, i)
    outline = []
    for angle in np.linspace(0, 2 * np.pi, 2 * CIRCLE + 1) + 1e-3:  # a little off, where corners tie
        direction = np.array([np.cos(angle), np.sin(angle)]) @ rows
        here = rows @ domain.farthest(direction) + count
        there = rows @ domain.farthest(-direction) if block.neighbours != ADD_REMOVE else 0.0
        outline.append(here - there - (count if block.neighbours != ADD_REMOVE else 0.0))
    body = np.array(outline)
    return [body] if block.neighbours != ADD_REMOVE else [body, -body]


def _core_row(block: Block, i: int) -> Array:
    """What one answer takes from each coordinate of a record's core."""
    domain, answers = block.domain, block.answers
    if isinstance(answers.workload, Runs):
        starts, stops = answers.workload.places
        at = np.arange(block.codes.width)
        return np.asarray(((at >= starts[i]) & (at < stops[i])).astype(float))
    row = np.zeros(domain.dimension)
    if answers.matrix is not None:
        row = answers.matrix[i]
    else:
        row[answers.index[i]] = 1.0
    return np.asarray(row @ domain.points.T if isinstance(domain, Points) else row * domain.radius)


def pair(block: Block) -> tuple[int, int] | None:
    """The two answers to draw: those whose noise is most correlated, else the first two; None if there is but one."""
    size = min(block.answers.visible, MOST)
    if size < 2:
        drawn = size + (1 if block.answers.count and not block.public_count else 0)
        return (0, block.answers.size) if drawn == 2 else None
    covariance = noise_covariance(block, range(size))
    deviations = np.sqrt(np.diag(covariance))
    deviations = np.where(deviations > 0, deviations, np.inf)  # what is public has no noise to draw
    correlations = np.triu(np.abs(covariance / np.outer(deviations, deviations)), 1)
    best = int(np.argmax(np.round(correlations, 9)))
    i, j = divmod(best, size)
    return (i, j) if i < j else (0, 1)


def noise_covariance(block: Block, answers: Sequence[int]) -> Array:
    """The covariance of the noise in some answers, by place; of a mean: in its sum of distances from the middle."""
    rows = np.array([block.shape.features.row(i) for i in answers])
    return np.asarray(rows @ rows.T * block.noise_scale**2)
