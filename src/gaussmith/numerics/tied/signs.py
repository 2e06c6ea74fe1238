"""Worst laws written out as laws on whole people: the columns that were set aside get signs.

A column centred at 0 has an independent fair sign in every group. Two of them are uncorrelated, and no more is needed:
the rows of a Hadamard matrix, each with the same chance, give every (group, column) of a person signs of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.law import TypesLaw
from gaussmith.numerics.tied.reduced import Index, Reduced
from gaussmith.numerics.tied.worst_law import WorstLaw

_LIGHT = 1e-13
"""People with less weight are left out."""

_MOST = 4_000_000
"""Numbers in a law's tables, at most."""


def law_of_people(law: WorstLaw) -> TypesLaw | None:
    """The law as a list of people, their signs drawn part by part; None where it would be too large."""
    kept = np.flatnonzero(law.weights > _LIGHT)
    weights, index = law.weights[kept], law.people.index[:, law.at[kept]]
    parts = [_signed(part, np.unique(types)) for part, types in zip(law.people.parts, index, strict=True)]
    if any(each is None for each in parts):
        return None
    corners, counts, picks = [], [], []
    for each, types in zip(parts, index, strict=True):
        assert each is not None
        held, rows, start = each
        corners.append(held)
        counts.append(rows)
        number = np.searchsorted(np.unique(types), types)
        sizes = np.diff(start)
        if (sizes == 1).all():
            picks.append(number.astype(float))
            continue
        if len(types) * len(rows) > _MOST:
            return None
        chances = np.zeros((len(types), len(rows)))
        for line, i in zip(chances, number, strict=True):
            line[start[i] : start[i + 1]] = 1.0 / sizes[i]
        picks.append(chances)
    return TypesLaw(tuple(corners), tuple(counts), tuple(picks), weights)


def law_of_parts(laws: Sequence[WorstLaw]) -> TypesLaw | None:
    """Independent laws of the parts under replace-one, each with either sign: one component."""
    corners, counts, picks = [], [], []
    for law in laws:
        kept = np.flatnonzero(law.weights > _LIGHT)
        (types,) = law.people.index[:, law.at[kept]]
        order = np.argsort(types)
        each = _signed(law.people.parts[0], types[order])
        if each is None:
            return None
        held, rows, start = each
        sizes = np.diff(start)
        chances = np.repeat(law.weights[kept][order] / sizes, sizes)
        nothing = np.zeros_like(rows)
        corners.append(np.vstack([held, -held]))
        counts.append(np.vstack([np.hstack([rows, nothing]), np.hstack([nothing, rows])]))
        picks.append(np.concatenate([chances, chances])[None, :] / 2.0)
    return TypesLaw(tuple(corners), tuple(counts), tuple(picks), np.ones(1))


def _signed(part: Reduced, types: Index) -> tuple[Array, Array, Index] | None:
    """Corners of all columns, counts of each type with signs, and where each of `types` begins among them."""
    held, counts = part.types
    turning = part.turning
    wide = np.zeros((len(held), part.part.columns + 1))
    wide[:, part.moving] = held[:, :-1]
    wide[:, -1] = held[:, -1]
    people, start = [], [0]
    for i in types:
        rows = np.repeat(wide, counts[i].astype(int), axis=0)
        if part.replaced and len(turning) and not part.part.always and not (held[:, -1] == 0).any():
            gained, lost = (counts[i, held[:, -1] == sign].sum() for sign in (1.0, -1.0))
            rows = np.vstack([rows, np.zeros((int(part.shared(gained, lost)), wide.shape[1]))])
        if 2 * len(rows) * len(turning) * (rows.size + 1) > _MOST or start[-1] > 20_000:
            return None
        signs = _signs(len(rows) * len(turning))
        for line in signs:
            person = rows.copy()
            size = np.where(rows[:, -1:] == 0, 2.0, 1.0)
            size = np.where(part.of_rows, rows[:, -2:-1], size)  # sums over rows are as long as there are rows
            person[:, turning] = line[: len(rows) * len(turning)].reshape(len(rows), len(turning)) * size
            people.append(person)
        start.append(len(people))
    stacked = np.vstack(people)
    corners, which = np.unique(stacked, axis=0, return_inverse=True)
    if len(corners) * len(people) > _MOST:
        return None
    found = np.zeros((len(people), len(corners)))
    owner = np.repeat(np.arange(len(people)), [len(person) for person in people])
    np.add.at(found, (owner, which.ravel()), 1.0)
    return corners, found, np.array(start)


def _signs(size: int) -> Array:
    """Rows of signs whose `size` columns have mean 0 and are uncorrelated."""
    found = np.ones((1, 1))
    while size and len(found) <= size:
        found = np.block([[found, found], [found, -found]])
    return found[:, 1:]
