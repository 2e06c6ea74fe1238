"""Laws on people with many columns in one question: a few designs, and how likely each is.

With many columns a search for single people is slow, and the best law is nearly known: in a person's groups every
column is as often at one end as at the other, independent of all others, or at the end farther from 0 in all groups
that the person enters or leaves. A *design* is such a list of people for one number of groups: signs are rows of a
Hadamard matrix, so that columns, and groups, are uncorrelated. Only the chances of the designs are searched for.

All of this is for replace-one, part by part.
"""

from __future__ import annotations

import numpy as np

from gaussmith.numerics.products import Array, Words
from gaussmith.numerics.tied.law import TypesLaw
from gaussmith.numerics.tied.parts import Part
from gaussmith.proofs.tied_people import inverse_root

KEPT = 4
"""Limit on the designs that a law has."""

_ROUNDS = 40
_TURNS = 4
"""Rows of signs by which groups are told from each other."""


def find_designed_law(part: Part, gap: float) -> TypesLaw:
    """A law on differences of two people of one part, for replace-one."""
    corners, size = _corners(part)
    biases = range(len(_biases(part)))
    designs = [_design(part, size, state, i) for state in _states(part) for i in biases]
    v = corners @ part.rows[:, : part.columns + 1].T
    heavy = np.argsort(-_chances(part, v, designs, gap), kind="stable")[:KEPT]
    designs = [designs[i] for i in heavy]
    weights = _chances(part, v, designs, gap)
    sizes = [len(design) for design in designs]
    used = np.unique(np.concatenate([design.ravel() for design in designs]))
    counts = np.zeros((sum(sizes), len(used)))
    for design, end in zip(designs, np.cumsum(sizes), strict=True):
        for held in design.T:
            counts[np.arange(end - len(design), end), np.searchsorted(used, held)] += 1.0
    chances = np.repeat(weights / sizes, sizes)
    return TypesLaw((corners[used],), (counts,), (np.arange(len(counts), dtype=float),), chances)


def _biases(part: Part) -> tuple[float, ...]:
    """How often a column is at its far end whatever the signs say."""
    return (0.0, 0.5, 1.0) if part.centre.any() else (0.0,)


def _states(part: Part) -> list[tuple[int, int, int]]:
    """How many groups are gained, lost and kept: two people with all groups in common, with none, and between."""
    g, m = part.groups, part.most
    found = {(m, 0, 0), (0, 0, m)}
    for lost in np.unique(np.round(np.linspace(0, min(m, g // 2), 4)).astype(int)).tolist():
        for net in {0, min(1, m - lost), (m - lost) // 2, m - lost}:
            gained = lost + net
            if gained + lost <= g:
                found.add((gained, lost, min(m - gained, g - gained - lost)))
    return sorted(state for state in found if sum(state))


def _corners(part: Part) -> tuple[Array, int]:
    """What a group can hold: for every bias and both signs the rows of a Hadamard matrix; and how many rows it has."""
    size = max(8, 1 << part.columns.bit_length())
    from scipy.linalg import hadamard

    rows = hadamard(size)[:, 1 : part.columns + 1].astype(float)
    far = np.sign(part.centre)
    found = []
    for bias in _biases(part):
        order = (np.arange(part.columns)[None, :] * 7 + np.arange(size)[:, None] * 5) % part.columns
        fixed = (order < round(bias * part.columns)) & (far != 0.0)
        found += [np.where(fixed, far, sign * rows) for sign in (1.0, -1.0)]
    z = np.vstack(found)
    one = np.ones((len(z), 1))
    here = np.hstack([z, one])
    even = np.vstack([rows, -rows])
    return np.vstack([here, -here, np.hstack([2.0 * even, np.zeros((len(even), 1))])]), size


def _design(part: Part, size: int, state: tuple[int, int, int], bias: int) -> Words:
    """People with so many groups gained, lost and kept: a row each, which corner every group holds."""
    block = 2 * size
    whole = block * len(_biases(part))
    kinds = (block * bias, whole + block * bias, 2 * whole)
    from scipy.linalg import hadamard

    turns = hadamard(_TURNS)[:, 1:]
    rows, turn = (each.ravel() for each in np.indices((size, len(turns))))
    found = np.zeros((len(rows), sum(state)), np.int64)
    for at, kind in enumerate(np.repeat(kinds, state)):
        negative = turns[turn, at % turns.shape[1]] < 0
        found[:, at] = kind + (rows ^ (at % size)) + size * negative
    return found


def _chances(part: Part, v: Array, designs: list[Words], gap: float) -> Array:
    """How likely each design is: multiplied by a power of its price, until no price is above 1 by more than gap."""
    g = part.groups
    between, along = [], []
    for held in designs:
        V = v[held].sum(axis=1)
        mean = np.bincount(held.ravel(), minlength=len(v)) / len(held)
        used = np.flatnonzero(mean)
        along.append(V.T @ V / (g * len(V)))
        between.append(((v[used].T * mean[used]) @ v[used] - along[-1]) / max(g - 1, 1))
    A, B = np.array(between), np.array(along)
    weights, best, found = np.full(len(A), 1.0 / len(A)), 0.0, np.zeros(len(A))
    for _ in range(_ROUNDS):
        across, X = inverse_root(np.tensordot(weights, A, 1))
        summed, Y = inverse_root(np.tensordot(weights, B, 1))
        root = (g - 1) * across + summed
        price = (g - 1) * np.tensordot(A, X @ X.T, 2) + np.tensordot(B, Y @ Y.T, 2)
        if root > best:
            best, found = root, weights
        if price.max() <= root * (1.0 + gap):
            break
        weights = np.maximum(weights, 1e-9) * np.maximum(price / root, 0.0) ** 1.5
        weights /= weights.sum()
    return found
